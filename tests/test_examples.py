"""Examples of docstrings run as they stand, and so do the pages of the documentation and the README.

Examples are read from the source: decorators hide functions from doctest's own finder.

Run `python -m tests.test_examples` for the share of functions on every page of the API reference that have an example,
and with `--missing` for those that have none.
"""

import ast
import doctest
import pathlib
import re
import sys
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

import matplotlib.pyplot as plt
import pytest

import jaxgait
from tests.test_docstrings import CONTRACT, bases, definitions, public

ROOT = pathlib.Path(jaxgait.__file__).parents[1]
LONG = {"ensemble", "summary", "failed", "simulate", "optimize", "animate", "Model", "continuation"}
LONG |= {"Optimum", "through_stages", "front", "paths", "convergence", "room", "fitted", "profiled", "Fit", "profile"}
LONG |= {"sample", "float32_error", "read_store", "people", "single_strides", "rolling_gait", "Sole"}
LONG |= {"aligned", "peak_load", "grip_threshold", "lowest_point", "with_drive", "straight_ankle_height", "assess"}
LONG |= {
    "Prosthesis.driven",
    "Exoskeleton",
    "Exoskeleton.prescribed",
    "Exoskeleton.exchanged",
    "step_figures",
    "figures_of",
}
LONG |= {"Exoskeleton.actuators", "WalkingGait", "JoinedGait", "CreeperChain.drive_force", "CreeperChain.loads"}
LONG |= {"CreeperChain.force_on_shaft", "TreeModel.loads", "Keyframes", "PlanarJumper", "PlanarJumper.balanced_ankle"}
LONG |= {
    "Local",
    "with_landing",
    "SpatialJumper",
    "Profile",
    "estimate",
    "floquet",
    "tornado",
    "shares",
    "bounded",
    "models/exoskeleton/vectors.py",
}
LONG |= {"bifurcation_diagram", "critical_value", "clearance", "fit", "sensitivities", "Trial", "FittedTrial"}
LONG |= {"integrate", "hybrid", "march", "PoincareMap", "StroboscopicMap"}
LONG |= {"recording", "Film.save", "PoincareMap.start", "TreeModel.after_impact", "branch_diagram", "jumps", "order"}
LONG |= {"step_mismatch", "histories", "run_columns", "export", "undefined", "Log"}
LONG |= {"locate", "period_doubled", "bifurcation_curve", "sobol_indices", "Program", "program_of"}
LONG |= {"program_for_all_values", "compiled", "warn_of_section", "PoincareMap.first_point", "PoincareMap.going_on"}
LONG |= {"periods", "plastic_impact"}
"""Examples that compile for some seconds, by function, or by the file that contains many: slow tests."""


def documented(path: pathlib.Path) -> Iterator[tuple[str, str]]:
    """Names of functions, classes and methods of a module with the docstrings that contain examples."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    top = [(node.name, node) for node in ast.parse(path.read_text()).body if isinstance(node, kinds)]
    inner = [(f"{name}.{n.name}", n) for name, node in top for n in node.body if isinstance(n, kinds)]
    for name, node in top + inner:
        if ">>>" in (text := ast.get_docstring(node) or ""):
            yield name, text


SOURCES = sorted(pathlib.Path(jaxgait.__file__).parent.rglob("*.py"))
PACKAGE = pathlib.Path(jaxgait.__file__).parent
EXAMPLES = {f"{path.relative_to(PACKAGE)}:{name}": text for path in SOURCES for name, text in documented(path)}
"""Under the file and the name: several files have a `scene` or a `Gait`."""
NEEDS = {"sample": "blackjax"}
"""Libraries of examples that no other test needs."""


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
    failures = []
    doctest.DocTestRunner(verbose=False, optionflags=doctest.IGNORE_EXCEPTION_DETAIL).run(example, out=failures.append)
    plt.close("all")
    assert not failures, "".join(failures)


def test_names_of_the_top_level_have_an_example():
    shown = {name.partition(":")[2] for name in EXAMPLES}
    functions = "cloud ensemble grid latin_hypercube product sobol zipped optimize parameter part with_parameters"
    functions += " with_parts animate simulate Measure Model Numerics Transition Variable"
    assert not set(functions.split()) - shown


FLOORS = {
    "analysis": 100,
    "ensembles": 100,
    "mechanics": 100,
    "models": 100,
    "motion": 100,
    "native": 100,
    "optimization": 100,
    "parameters": 100,
    "plot": 100,
    "solve": 100,
}
"""Percent of what a page of the API reference shows that have an example; raise them, never lower them."""
CALLED_BY_THE_LIBRARY = CONTRACT | {"__call__"}
CALLED_BY_THE_LIBRARY |= {"warn_together"}
CALLED_BY_THE_LIBRARY |= {"run", "complete_sampling", "copies", "event_names", "dense_output"}  # of schemes
CALLED_BY_THE_LIBRARY |= {"init", "func", "step", "order"}  # of solvers, by diffrax
"""Methods of classes that no user calls: for these the example of the class is enough."""
DATA = ("NamedTuple", "Warning", "Error", "Exception")
"""Bases of classes that functions return or raise: their examples show them."""


class Shown(NamedTuple):
    """A function, class or method on a page of the API reference."""

    name: str
    call: str
    """How an example calls it."""
    examples: str
    """The code of its own examples and, for a method, of its class and the class's bases."""

    @property
    def has_example(self) -> bool:
        """Whether an example calls it."""
        return bool(self.examples) and re.search(rf"{re.escape(self.call)}\b", self.examples) is not None


def code_of(doc: str | None) -> str:
    """The code of the examples of a docstring."""
    return "\n".join(re.findall(r"^\s*(?:>>>|\.\.\.) (.*)$", doc or "", flags=re.MULTILINE))


def listed(page: pathlib.Path) -> Iterator[tuple[pathlib.Path, set[str]]]:
    """The modules on a page of the API reference, and the names of those members that it shows (none: all)."""
    block = r"^::: jaxgait\.([\w.]+)(?:\n +options:\n +members: \[([^\]]*)\])?"
    for module, members in re.findall(block, page.read_text(), flags=re.MULTILINE):
        path = PACKAGE / module.replace(".", "/")
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        yield path, {name.strip() for name in members.split(",") if members}


def on_page(page: pathlib.Path) -> Iterator[Shown]:
    """What a page of the API reference shows: what has no docstring is not there."""
    for path, members in listed(page):
        for node in definitions(path):
            overloaded = [ast.unparse(one) for one in getattr(node, "decorator_list", ())] == ["overload"]
            whole = isinstance(node, ast.FunctionDef | ast.ClassDef) and not overloaded  # its function has the example
            if whole and (not members or node.name in members):
                yield from shown(node)


def shown(node: ast.FunctionDef | ast.ClassDef) -> Iterator[Shown]:
    """A function, or a class with its methods, as far as they are public and described."""
    doc = ast.get_docstring(node)
    if node.name.startswith("_") or doc is None:
        return
    if isinstance(node, ast.FunctionDef):
        yield Shown(node.name, node.name, code_of(doc))
        return
    if not any(ast.unparse(base).endswith(DATA) for base in node.bases):
        yield Shown(node.name, "", code_of(doc))
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and public(method.name) and ast.get_docstring(method):
            called = method.name in CALLED_BY_THE_LIBRARY
            own = code_of(ast.get_docstring(method))
            yield Shown(
                f"{node.name}.{method.name}",
                "" if called else f".{method.name}",
                "\n".join(filter(None, [own, *map(code_of, family(node))])),
            )


def family(node: ast.ClassDef) -> list[str]:
    """The docstrings of a class and of its bases in the package."""
    return [ast.get_docstring(node) or "", *(doc for base in bases(node) for doc in family(base))]


def counted(page: str) -> tuple[list[str], int]:
    """What a page of the API reference shows without an example, and how much it shows."""
    found = list(on_page(ROOT / "docs" / "api" / f"{page}.md"))
    return [one.name for one in found if not one.has_example], len(found)


def test_every_page_of_the_api_reference_has_a_minimum():
    pages = {page.stem for page in (ROOT / "docs" / "api").glob("*.md")} - {"index"}
    assert pages == set(FLOORS)


def test_an_example_counts_for_the_methods_that_it_calls(tmp_path):
    example = '"""A spring.\n\n    Examples:\n        >>> Spring().force(0.1)\n        2.0\n    """'
    methods = 'def force(self, x):\n        """In N."""\n    def energy(self, x):\n        """In J."""'
    (tmp_path / "springs.py").write_text(f"class Spring:\n    {example}\n    {methods}")
    (spring,) = definitions(tmp_path / "springs.py")
    found = shown(spring)
    assert {one.name: one.has_example for one in found} == {
        "Spring": True,
        "Spring.force": True,
        "Spring.energy": False,
    }


@pytest.mark.parametrize("page", FLOORS)
def test_functions_of_the_api_reference_have_examples(page):
    missing, total = counted(page)
    assert total > 4, "the walk has gone blind"
    share = 100.0 * (1.0 - len(missing) / total)
    assert share >= FLOORS[page], f"{share:.1f} % of {page} have an example, not: {', '.join(missing)}"


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ELSEWHERE = ("own_mechanism.md", "theory/", "papers.md", "explore.md", "your_capture.md", "opensim.md")
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


if __name__ == "__main__":
    for page in FLOORS:
        missing, total = counted(page)
        print(f"{page}: {100.0 * (1.0 - len(missing) / total):.1f} % of {total}")
        print(*(f"  {name}" for name in missing if "--missing" in sys.argv), sep="\n")
