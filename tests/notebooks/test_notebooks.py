"""The notebooks run, and every cell that draws shows its picture: the one place where notebooks are executed."""

import ast
import os
import pathlib
from concurrent.futures import ThreadPoolExecutor

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager
from nbclient import NotebookClient

import jaxgait

NOTEBOOKS = sorted((pathlib.Path(jaxgait.__file__).parents[1] / "notebooks").glob("*.ipynb"))
LONG = ("tuning", "design", "jumper", "your_capture")
"""Notebooks that take more than a minute, the longest first."""
INLINE = "module://matplotlib_inline.backend_inline"


def execute(notebook: nbformat.NotebookNode, timeout: float = 900.0) -> None:
    """Runs all cells as a browser's Jupyter would, with pictures inline (CI asks for another backend)."""
    client = NotebookClient(notebook, timeout=timeout, kernel_name="python3")
    client.execute(env={**os.environ, "MPLBACKEND": INLINE})


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def drawing(notebook: nbformat.NotebookNode) -> list[int]:
    """1 for every code cell that draws (calls pyplot, jaxgait.plot, or `.plot` of labelled data), 0 for the others."""
    plain = TransformerManager().transform_cell  # magics as the Python that they stand for
    trees = [ast.parse(plain(cell.source)) for cell in code_cells(notebook)]
    imports = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    tools = {
        alias.asname or alias.name
        for node in imports
        for alias in node.names
        if _draws_by_trade(getattr(node, "module", None) or alias.name, alias.name)
    }
    return [int(any(_draws(node, tools) for node in ast.walk(tree))) for tree in trees]


def _draws_by_trade(module: str, name: str) -> bool:
    """Whether a module, or what is imported from it, makes pictures; `plot.scene` only says what they contain."""
    if module == "jaxgait.plot.scene":
        return False
    return module.startswith(("matplotlib.pyplot", "jaxgait.plot")) or "pictures" in (module.rpartition(".")[-1], name)


def _draws(node: ast.AST, tools: set[str]) -> bool:
    if not isinstance(node, ast.Call):
        return False
    names = {n.id for n in ast.walk(node.func) if isinstance(n, ast.Name)}
    methods = {n.attr for n in ast.walk(node.func) if isinstance(n, ast.Attribute)}
    return bool(tools & names) or "plot" in methods


def shown(notebook: nbformat.NotebookNode) -> list[int]:
    """How many pictures or films each code cell shows."""
    data = lambda cell: [output.get("data", {}) for output in cell.outputs]
    film = lambda d: "new Animation(" in d.get("text/html", "")
    return [sum("image/png" in d or film(d) for d in data(cell)) for cell in code_cells(notebook)]


@pytest.mark.slow
def test_a_first_picture_by_jaxgait_leaves_inline_plotting_on():
    first = "import xarray as xr\nfrom jaxgait.plot.histories import histories\n"
    first += "histories(xr.Dataset({'x': ('time', [0.0, 1.0])}, {'time': [0.0, 1.0]}));"
    second = "import matplotlib.pyplot as plt\nplt.plot([0, 1]);"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in (first, second)])
    execute(notebook, timeout=120.0)
    assert shown(notebook) == drawing(notebook) == [1, 1]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_stored_pictures_are_complete(path):
    notebook = nbformat.read(path, as_version=4)
    assert any(drawing(notebook))
    if any(cell.outputs for cell in code_cells(notebook)):
        assert shown(notebook) == drawing(notebook)


def result_of(path: pathlib.Path) -> nbformat.NotebookNode:
    notebook = nbformat.read(path, as_version=4)
    execute(notebook)
    return notebook


@pytest.fixture(scope="module")
def executed(request):
    """A function from the path of a notebook to its result: two notebooks run at a time, and the long ones first."""
    if "PYTEST_XDIST_WORKER" in os.environ:  # whose tests run at a time themselves
        yield result_of
        return
    selected = {item.callspec.params["path"] for item in request.session.items if "executed" in item.fixturenames}
    order = sorted(selected, key=lambda path: LONG.index(path.stem) if path.stem in LONG else len(LONG))
    with ThreadPoolExecutor(max_workers=2) as pool:
        results = {path: pool.submit(result_of, path) for path in order}
        yield lambda path: results[path].result()
        pool.shutdown(cancel_futures=True)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_every_cell_that_draws_shows_its_picture(path, executed):
    notebook = executed(path)
    assert shown(notebook) == drawing(notebook)
