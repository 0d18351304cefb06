"""Measures every reliability gate in one call and writes the table of docs/reliability.md.

    python -m experiments.reliability.gates --quick             # five minutes of processor time
    python -m experiments.reliability.gates --page docs/reliability.md --kills 200 --members 1000000
    python -m experiments.reliability.gates --only kills traces

A gate is a function that yields rows; each row says what was measured, its bound, and whether it holds. Exit code 1 if
one does not.
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from jaxgait import precision, report

from . import damage, numerics, scans, stores
from .rows import Row

COUNTS = {
    "kills": ("times that a scan is killed", 200, 5),
    "calls": ("repeated calls whose memory is watched", 1000, 50),
    "files": ("damaged recordings that are read", 10000, 100),
    "members": ("members of the scan through a store", 10**6, 2000),
}
"""What gates count, and the counts of a full and of a quick run."""
GATES: dict[str, Callable[[Size], Iterator[Row]]] = {}
"""Gates by the name that `--only` takes."""


@dataclass(frozen=True)
class Size:
    """How much is measured, see `COUNTS`."""

    kills: int
    calls: int
    files: int
    members: int
    folder: pathlib.Path
    """Folder of the stores."""


GATES |= {
    "orders": lambda size: numerics.orders(),
    "drifts": lambda size: numerics.drifts(),
    "peers": lambda size: numerics.peers(),
    "gradients": lambda size: numerics.gradients(),
    "knee": lambda size: numerics.knee_gradients(),
    "take-off": lambda size: numerics.take_off_gradients(),
    "invariances": lambda size: scans.invariances(size.folder),
    "poison": lambda size: scans.poison(),
    "traces": lambda size: scans.traces(),
    "calls": lambda size: scans.repeated_calls(size.calls),
    "files": lambda size: damage.damaged_files(size.folder, size.files),
    "kills": lambda size: stores.kills(size.folder, size.kills),
    "writers": lambda size: stores.writers(size.folder),
    "disk": lambda size: stores.full_disk(size.folder),
    "members": lambda size: stores.many_members(size.folder, size.members),
}


def page(rows: list[Row]) -> str:
    """The table as a Markdown page.

    Args:
        rows: what was measured.
    """
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    cells = ([row.what, row.measured, row.bound, "yes" if row.holds else "**no**"] for row in rows)
    table = report.table(["check", "measured", "bound", "holds"], cells)
    intro = (
        "This page shows how accurate and how robust jaxgait is: for each check a measured value and its bound. "
        "`python -m experiments.reliability.gates --page docs/reliability.md` repeats the measurements; tests assert "
        f"the same bounds with smaller counts. Measured on {today}: {report.machine()}."
    )
    return f"# Measured reliability\n\n{intro}\n\n{table}\n"


def main(arguments: list[str] | None = None) -> None:
    """Measures the requested gates and prints their table; exits with 1 if one does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="less of everything that is not given")
    for name, (what, full, quick) in COUNTS.items():
        parser.add_argument(f"--{name}", type=int, help=f"{what} ({full}; quick: {quick})")
    parser.add_argument("--only", nargs="+", choices=list(GATES), default=list(GATES), help="these gates")
    parser.add_argument("--page", type=pathlib.Path, help="Markdown page to write")
    given = parser.parse_args(arguments)
    usual = {name: quick if given.quick else full for name, (_, full, quick) in COUNTS.items()}
    counts = {name: count if getattr(given, name) is None else getattr(given, name) for name, count in usual.items()}
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, precision.use("float64"):
        size = Size(**counts, folder=pathlib.Path(folder))
        for name in given.only:
            print(f"{name} ...", file=sys.stderr, flush=True)
            for row in GATES[name](size):
                print(f"  {row.what}: {row.measured} ({row.bound})", file=sys.stderr, flush=True)
                rows.append(row)
    print(page(rows))
    if given.page:
        given.page.write_text(page(rows), encoding="utf-8")
    if not all(row.holds for row in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
