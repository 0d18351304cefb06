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


def knee_alone(quick: bool) -> Measured:
    """One member of the knee by itself, in ms of processor time."""
    rows = loops.compared("knee", 1, 0)
    ours = next(r for r in rows if r.code == "jaxgait, kernels")
    what = "knee, one member, ms"
    return rows, [Target(what, 6.0, ours.cpu_ms_per_member, True, full_size=not quick, promised=True)]


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
    return rows, [*found, Target(what, 12.0, ratio, True, full_size=not quick, promised=True)]


def first_result(quick: bool) -> Measured:
    """Seconds to the first result of a knee ensemble, in a first and in a second process."""
    if quick:
        return [], []
    (first, rate), (second, again) = start.measured()
    found = {
        "first process": (6.0, first),
        "second process": (2.0, second),
        "another rtol, first process": (1.0, rate),
        "another rtol, second process": (1.0, again),
    }
    return [], [Target(f"knee ensemble, s: {name}", *x, True, promised=True) for name, x in found.items()]


class Part(NamedTuple):
    """Figures that are measured together."""

    measure: Callable[[bool], Measured]
    """Function of whether it is a quick run."""
    promises: int
    """Number of promised figures."""


PARTS = {
    "knee": Part(knee.measure, 2),
    "alone": Part(knee_alone, 1),
    "walker": Part(walker.measure, 1),
    "gradients": Part(directions, 2),
    "uneven": Part(uneven, len(loops.UNEVEN)),
    "start": Part(first_result, 4),
    "heyoka": Part(peers.measure, len(peers.PROBLEMS)),
    "drjit": Part(stepping.measure, 1),
    "threads": Part(threads.measure, 1),
}
"""All parts by name."""


def measured(name: str, quick: bool) -> list[Target]:
    """The promised figures of a part, not judged where it was quick.

    Raises:
        LookupError: unless the part has measured every figure that was promised (of a quick one some are missing).
    """
    announce(name)
    with precision.use("float64"), compiled_anew():
        _, found = PARTS[name].measure(quick)
    promised = [t for t in found if t.promised]
    if len(promised) != PARTS[name].promises and not quick:
        raise LookupError(f"{name} measured {len(promised)} of {PARTS[name].promises} promised figures")
    return [dataclasses.replace(t, full_size=t.full_size and not quick) for t in promised]


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
