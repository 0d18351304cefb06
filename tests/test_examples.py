"""Examples of docstrings run as they stand, and so do the pages of the documentation and the README.

Examples are read from the source: decorators hide functions from doctest's own finder.
"""

import ast
import doctest
import pathlib
import re
import textwrap
from collections.abc import Iterator

import matplotlib.pyplot as plt
import pytest

import jaxgait

ROOT = pathlib.Path(jaxgait.__file__).parents[1]
LONG = {"ensemble", "summary", "failed", "simulate", "optimize", "animate", "Model", "continuation"}
LONG |= {"Optimum", "through_stages", "front", "paths", "convergence", "room", "fitted", "profiled", "Fit", "profile"}
LONG |= {"sample", "float32_error", "read_store", "people", "single_strides", "drive_number", "rolling_gait", "Sole"}
LONG |= {"performance", "peak_load", "grip_threshold", "lowest_point", "with_drive", "straight_ankle_height", "assess"}
LONG |= {"Prosthesis.driven", "FactorisedExoskeleton", "Exoskeleton", "Exoskeleton.prescribed", "Exoskeleton.exchanged"}
LONG |= {"Exoskeleton.actuators", "WalkingGait", "JoinedGait", "CreeperChain.drive_force", "CreeperChain.loads"}
LONG |= {"CreeperChain.force_on_shaft", "TreeModel.loads", "Keyframes", "PlanarJumper", "PlanarJumper.balanced_ankle"}
LONG |= {"PlanarJumper.contact", "PlanarJumper.figure"}
LONG |= {"Local", "Profile", "models/exoskeleton/formulations/vectors.py"}
LONG |= {"bifurcation_diagram", "critical_value", "clearance", "fit", "sensitivities"}
"""Examples that compile for some seconds: slow tests."""
FLOOR = 105
"""Examples there are; raise it, never lower it."""


def documented(path: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Names of functions, classes and methods of a module with the docstrings that hold examples."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    top = [(node.name, node) for node in ast.parse(path.read_text()).body if isinstance(node, kinds)]
    inner = [(f"{name}.{n.name}", n) for name, node in top for n in node.body if isinstance(n, kinds)]
    for name, node in top + inner:
        if ">>>" in (text := ast.get_docstring(node) or ""):
            yield name, text


NEEDS = {"sample": "blackjax"}
"""Libraries of examples that no other test needs."""
SOURCES = sorted(pathlib.Path(jaxgait.__file__).parent.rglob("*.py"))
PACKAGE = pathlib.Path(jaxgait.__file__).parent
EXAMPLES = {f"{path.relative_to(PACKAGE)}:{name}": text for path in SOURCES for name, text in documented(path)}
"""Under the file and the name: several files have a `scene`, a `Gait`, a `Force`."""


def timed(name: str):
    """A parameter of a test, slow where its example is long."""
    file, _, function = name.partition(":")
    marks = [pytest.mark.slow] if file in LONG or function in LONG else []
    return pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", [timed(name) for name in EXAMPLES])
def test_examples_of_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if library := NEEDS.get(name.partition(":")[2]):
        pytest.importorskip(library)
    example = doctest.DocTestParser().get_doctest(EXAMPLES[name], {"__name__": "example"}, name, None, None)
    told = []
    doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(example, out=told.append)
    plt.close("all")
    assert not told, "".join(told)


def test_what_stands_at_the_top_level_has_an_example():
    shown = {name.partition(":")[2] for name in EXAMPLES}
    functions = "cloud ensemble grid latin_hypercube product sobol zipped optimize parameter part with_parameters"
    functions += " with_parts animate simulate Measure Model Numerics Transition Variable"
    assert not set(functions.split()) - shown
    assert len(EXAMPLES) >= FLOOR


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ELSEWHERE = ("own_mechanism.md", "theory/", "papers.md", "explore.md", "your_capture.md")
"""Pages with tests of their own, or without code of ours."""


def blocks(page: pathlib.Path) -> list[str]:
    """The Python of a page; what needs a machine that is not there (a cluster, a GPU) is written as `py`."""
    found = re.findall(r"^( *)```python\n(.*?)^\1```", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for _, block in found]


def name_of(page: pathlib.Path) -> str:
    return page.relative_to(ROOT).as_posix()


WITH_CODE = [page for page in PAGES if blocks(page) and not any(word in name_of(page) for word in ELSEWHERE)]


@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_what_pages_import_exists(page):
    """In seconds what `test_pages_run` does in minutes: blocks are Python, and the names that they import exist."""
    for block in blocks(page):
        tree = ast.parse(block)
        tree.body = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        exec(compile(tree, name_of(page), "exec"), {})


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_CODE, ids=name_of)
def test_pages_run(page, tmp_path, monkeypatch):
    """The blocks of a page one after the other in one namespace, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for block in blocks(page):
        exec(compile(block, name_of(page), "exec"), names)
        plt.close("all")
