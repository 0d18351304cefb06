"""The figures that were promised, each measured by a script in this folder, as a Markdown table.

    python -m experiments.benchmarks.targets [PART ...] [--quick] [--json FILE]

Parts are measured one after the other, by default all of them. Figures are ratios of processor times within this
process, or say what else they are. What needs a package, a compiler or a core that is not there is not judged and says
why; GPUs have a script of their own, `experiments.benchmarks.gpu`.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
from collections.abc import Callable, Iterable
from typing import NamedTuple

from jaxgait import precision
from jaxgait.report import table

from . import gradients, knee, loops, peers, start, stepping, threads, walker
from .bench import compiled_anew
from .rows import TARGET_HEADINGS, Row, Target, announce, target_cells

Measured = tuple[list[Row], list[Target]]


class Figure(NamedTuple):
    """A promise: which target of a part it is, by words that it is named with, and the bound that holds for it."""

    words: str
    bound: float
    at_most: bool = True


class Part(NamedTuple):
    """What is measured together."""

    measure: Callable[[bool], Measured]
    """Of whether it is quick."""
    figures: tuple[Figure, ...]


def knee_alone(quick: bool) -> Measured:
    """One member of the knee by itself, in ms of processor time."""
    rows = loops.compared("knee", 1, 0)
    ours = next(r for r in rows if r.code == "jaxgait, kernels")
    return rows, [Target("knee, one member, ms", 6.0, ours.cpu_ms_per_member, True, full_size=not quick)]


def uneven(quick: bool) -> Measured:
    """Scans whose members take different numbers of steps."""
    return [], [] if quick else [loops.waiting(name, 17) for name in loops.UNEVEN]


def directions(quick: bool) -> Measured:
    """Value and derivatives along 2 and along 32 directions, over the value."""
    rows, found = gradients.measure(quick)
    cost = {r.method: r.cpu_min_s for r in rows}
    many = cost.get("RK4, value and 32 tangents")
    ratio = None if many is None else many / cost["RK4, value"]
    what = "walker: value and derivatives by 32 parameters over value, CPU time"
    return rows, [*found, Target(what, 12.0, ratio, True, full_size=not quick)]


def first_result(quick: bool) -> Measured:
    """Seconds to the first result of a knee ensemble, in a first and in a second process."""
    if quick:
        return [], []
    (first, rate), (second, again) = start.measured()
    names = ("first process", "second process", "another rtol, first process", "another rtol, second process")
    seconds = (first, second, rate, again)
    return [], [Target(f"knee ensemble, s: {n}", 0.0, x, True) for n, x in zip(names, seconds, strict=True)]


PARTS = {
    "knee": Part(knee.measure, (Figure("knee: jaxgait over SIMD C++", 1.3), Figure("(2 parameters) over value", 2.0))),
    "alone": Part(knee_alone, (Figure("knee, one member", 6.0),)),
    "walker": Part(walker.measure, (Figure("walker: jaxgait over SIMD C++", 1.1),)),
    "gradients": Part(directions, (Figure("(2 parameters) over value", 2.0), Figure("by 32 parameters", 12.0))),
    "uneven": Part(uneven, (Figure("uneven scan", 1.05),)),
    "start": Part(
        first_result, (Figure("s: first process", 6.0), Figure("s: second process", 2.0), Figure("another rtol", 1.0))
    ),
    "heyoka": Part(peers.measure, (Figure("Lorenz", 2.0), Figure("compass swing", 2.0), Figure("van der Pol", 1.0))),
    "drjit": Part(stepping.measure, (Figure("over Dr.Jit", 1.0),)),
    "threads": Part(threads.measure, (Figure("two threads over one", 1.9, at_most=False),)),
}
"""By name."""


def judged(targets: Iterable[Target], figures: Iterable[Figure]) -> list[Target]:
    """The targets that were promised, by the bounds of the promises."""
    return [
        dataclasses.replace(t, target=figure.bound, at_most=figure.at_most)
        for figure in figures
        for t in targets
        if figure.words in t.what
    ]


def measured(name: str, quick: bool) -> list[Target]:
    """The figures of a part, not judged where it was quick.

    Raises:
        LookupError: if the part has measured nothing that goes by the words of one of its figures.
    """
    part = PARTS[name]
    announce(name)
    with precision.use("float64"), compiled_anew():
        _, found = part.measure(quick)
    lost = [figure.words for figure in part.figures if not any(figure.words in t.what for t in found)]
    if lost and not quick:
        raise LookupError(f"{name} has no target named with {', '.join(map(repr, lost))}")
    return [dataclasses.replace(t, full_size=t.full_size and not quick) for t in judged(found, part.figures)]


def markdown(targets: Iterable[Target]) -> str:
    """All of them as one table."""
    return table(TARGET_HEADINGS, [target_cells(t.as_dict()) for t in targets])


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"any of {', '.join(PARTS)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, by which nothing is judged")
    parser.add_argument("--json", type=pathlib.Path, help="file for the figures")
    given = parser.parse_args()
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"no part {min(unknown)!r}: there are {', '.join(PARTS)}")
    targets = [t for name in given.parts or PARTS for t in measured(name, given.quick)]
    if given.json is not None:
        given.json.write_text(json.dumps([t.as_dict() for t in targets], indent=1) + "\n")
    print(markdown(targets))


if __name__ == "__main__":
    main()
