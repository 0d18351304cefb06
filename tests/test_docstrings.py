"""Docstrings of all public functions: shapes of arrays, units of quantities, errors raised; floors that only rise.

Run `python -m tests.test_docstrings` for the counts, and with `--missing` for the functions that lack something.
"""

import ast
import functools
import os
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest

import jaxgait

ROOT = pathlib.Path(jaxgait.__file__).parent
FLOORS = {"shape": 95.5, "unit": 96.5, "error": 98.5}
"""In percent; what is reached today: raise them, never lower them."""
NO_QUANTITIES = (
    *("native", "cli", "support/checks.py", "registry.py", "report.py", "precision.py", "plot/style.py"),
    *("parts.py", "ensembles", "solve/dataset.py", "analysis/branches.py"),
    *("mechanics/spatial/space.py", "mechanics/spatial/plane.py", "measure.py"),
    *("mechanics/linalg.py", "roots.py", "solve/rosenbrock.py", "solve/tableaus.py"),
)
"""Where floats are not physical quantities (code, text, names, colours) or those of any model (algebra, stores)."""
CONTRACT = {"vector_field", "initial_state", "outputs", "terminations", "jumps", "prepared", "validate"}
CONTRACT |= {"phases", "transitions", "advance", "amounts", "step_amounts", "state_at"}
"""What every model has: states and outputs have their units and dimensions in `variables`."""

_SINGLE = r"(?:kg|mm|cm|ms|Pa|kPa|MPa|Hz|rad|deg|kN|1)"
_LETTER = r"(?:m|s|N|J|W)"
_COMPOUND = rf"(?:{_SINGLE}|{_LETTER})(?:\^\d)?(?:[ /]{{1}}(?:kg|m|s|N|rad|deg|stride|step)(?:\^\d)?)+"
UNIT = re.compile(
    rf"(?<![\w.-])(?:{_COMPOUND}|(?:kg|mm|cm|Pa|Hz|rad|deg|kN|%)(?:\^\d)?"
    rf"|(?:[Ii]n|of|or|and|\d|:|,|\() ?{_LETTER}(?:\^\d)?"
    r"|SI units?|[Nn]o dimension|without (?:dimension|unit)|no unit|dimensionless|body weights?|pure numbers?"
    r"|units? of|units? (?:is|are)|(?:same|any|in the|whose|their|its|own) units?|seconds|(?:units?|unit): )(?![\w-])"
)
SHAPE = re.compile(
    r"\b(shape|scalar|one number|vector of|matrix|per (member|sample|stride)|leading axis)|\((\.\.\.|\w+),( \w+)*"
)
SIZED = re.compile(r"\b(Float|Int|Bool|Real|Inexact|Shaped|Num|Complex|Integer)\[")
PLAIN_ARRAY = re.compile(r"\b(jax\.Array|np\.ndarray|ArrayLike|Array)\b(?!\[)")
NUMBER = re.compile(r"\b(float|Scalar|Real|Float|ArrayLike|Array|ndarray)\b")


class Function(NamedTuple):
    """A public function or method, as it is written."""

    where: str
    node: ast.FunctionDef
    doc: str
    """Its docstring and, for a method, that of its class."""


def public(name: str) -> bool:
    """Whether a name is part of the interface."""
    return not name.startswith("_") or name == "__call__"


def functions(path: pathlib.Path) -> Iterator[Function]:
    """Public functions of a module, and methods of its public classes, whose docstring may be that of a base."""
    name = path.relative_to(ROOT).as_posix()
    for node in definitions(path):
        if isinstance(node, ast.FunctionDef) and public(node.name):
            yield Function(f"{name}:{node.name}", node, ast.get_docstring(node) or "")
        if isinstance(node, ast.ClassDef) and public(node.name):
            for member in node.body:
                if isinstance(member, ast.FunctionDef) and public(member.name):
                    yield Function(f"{name}:{node.name}.{member.name}", member, inherited(node, member.name))


def inherited(node: ast.ClassDef, method: str) -> str:
    """The docstrings of a class, its bases and a method."""
    own = [x for x in node.body if isinstance(x, ast.FunctionDef) and x.name == method]
    own_texts = [ast.get_docstring(x) or "" for x in [node, *own]]
    return "\n".join(own_texts + [inherited(base, method) for base in bases(node)])


@functools.cache
def definitions(path: pathlib.Path) -> tuple[ast.stmt, ...]:
    """What stands at the top level of a module; classes know where they stand."""
    found = ast.parse(path.read_text()).body
    for node in found:
        if isinstance(node, ast.ClassDef):
            node.path = path  # type: ignore[attr-defined]
    return tuple(found)


def bases(node: ast.ClassDef) -> list[ast.ClassDef]:
    """The bases of a class in the package: of several classes of one name that which stands nearest."""
    names = [ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases]
    near = lambda one: len(os.path.commonpath([one.path, node.path]))
    return [max(classes()[name], key=near) for name in names if name in classes() and name != node.name]


@functools.cache
def classes() -> dict[str, list[ast.ClassDef]]:
    """All classes of the package by name."""
    found: dict[str, list[ast.ClassDef]] = {}
    for path in sorted(ROOT.rglob("*.py")):
        for node in definitions(path):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(node)
    return found


INSIDE = ("native/functions/", "native/reading.py", "native/arrays.py")
"""What the compiler of `native` is made of: functions of numbers in arrays of any shape, and of values by number."""


@functools.cache
def everything() -> tuple[Function, ...]:
    """All public functions of the package that a user may call."""
    paths = [path for path in sorted(ROOT.rglob("*.py")) if not path.relative_to(ROOT).as_posix().startswith(INSIDE)]
    hidden = lambda path: any(part.startswith("_") and part != "__init__.py" for part in path.relative_to(ROOT).parts)
    return tuple(f for path in paths if not hidden(path) and "experiments" not in path.parts for f in functions(path))


def annotations(node: ast.FunctionDef) -> list[str]:
    """The descriptions of its arguments and its result."""
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    given = [a.annotation for a in arguments if a.annotation] + ([node.returns] if node.returns else [])
    return [ast.unparse(a) for a in given]


def raises(node: ast.FunctionDef) -> bool:
    """Whether it raises by itself."""
    return any(isinstance(x, ast.Raise) for x in ast.walk(node))


def lacks_shape(f: Function) -> bool | None:
    """Whether an array of it has a shape that neither its annotation nor its docstring gives; None without arrays."""
    found = annotations(f.node)
    plain = [a for a in found if PLAIN_ARRAY.search(re.sub(SIZED.pattern + r"[^\]]*\]", "", a))]
    if f.node.name in CONTRACT or not (plain or any(SIZED.search(a) for a in found)):
        return None
    return bool(plain) and not SHAPE.search(f.doc)


def lacks_unit(f: Function) -> bool | None:
    """Whether it takes or gives quantities and names no unit; None without quantities."""
    quantities = any(NUMBER.search(a) for a in annotations(f.node))
    if f.where.startswith(NO_QUANTITIES) or f.node.name in CONTRACT or not quantities:
        return None
    return not UNIT.search(f.doc)


def lacks_error(f: Function) -> bool | None:
    """Whether it raises without documenting it; None if it does not raise."""
    return "Raises:" not in f.doc if raises(f.node) else None


CHECKS = {"shape": lacks_shape, "unit": lacks_unit, "error": lacks_error}


def counted(check) -> tuple[list[str], int]:
    """Functions that lack something, and how many could."""
    verdicts = {f.where: check(f) for f in everything()}
    return [where for where, lacks in verdicts.items() if lacks], sum(v is not None for v in verdicts.values())


@pytest.mark.parametrize("name", CHECKS)
def test_docstrings_contain_what_a_user_needs(name):
    missing, total = counted(CHECKS[name])
    share = 100.0 * (1.0 - len(missing) / total)
    assert total > 50, "the walk has gone blind"
    assert share >= FLOORS[name], f"{share:.1f} % name the {name}: {', '.join(missing)}"


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("Length in m.", True),
        ("Rates in rad/s", True),
        ("Torque (N m) at the knee", True),
        ("Lift-off (s) and height, m", True),
        ("A pure number", True),
        ("Inertia, kg m^2", True),
        ("Slope of the clearance, in the unit of the parameter", True),
        ("The s of the thing is a matter of taste", False),
        ("What a mass m does to a model", False),
        ("The J-curve and N-body problems", False),
    ],
)
def test_units_are_recognised(text, unit):
    assert bool(UNIT.search(text)) == unit


def test_annotated_shapes_are_text():
    """jaxtyping raises for `Float[Array, 3]` as soon as annotations are evaluated (`typing.get_type_hints`)."""
    shaped = [
        (path.name, node.lineno, ast.unparse(node))
        for path in sorted(ROOT.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Subscript) and SIZED.match(ast.unparse(node)) and isinstance(node.slice, ast.Tuple)
    ]
    assert len(shaped) > 500, "the walk has gone blind"
    assert not [one for one in shaped if not one[2].endswith(("']", '"]'))]


if __name__ == "__main__":
    for name, check in CHECKS.items():
        missing, total = counted(check)
        print(f"{name}: {100.0 * (1.0 - len(missing) / total):.1f} % of {total}")
        print(*(f"  {where}" for where in missing if "--missing" in sys.argv), sep="\n")
