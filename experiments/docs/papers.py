"""The results of all reproductions compared with the papers: kept as JSON with the pages that show them.

jaxgait reproduce all --out out
python -m experiments.docs out          # takes the figures over and writes the pages anew
"""

from __future__ import annotations

import functools
import json
import pathlib
import shutil
from collections.abc import Iterable, Sequence
from typing import Any

from jaxgait import registry
from jaxgait.report import machine, table

from .sources import SOURCES, Shown, Source

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
KEPT = DOCS / "papers.json"
"""The figures by experiment, and the machine that they were measured on."""
TAKEN = {"pictures/knee_map.png": "knee/map.png", "pictures/walk.gif": "knee/walk.gif"}
"""Pictures without a counterpart in a paper: where they are kept, and where reproductions write them."""
DIGITS = 8
"""Significant digits kept of measured values."""
Row = dict[str, Any]
HEADINGS = ("result", "paper", "computed", "agrees", "specification", "reason")
VERDICTS = {True: "yes", False: "**no**", None: "-"}


def gathered(out: pathlib.Path) -> dict[str, Any]:
    """The figures that `jaxgait reproduce all --out` wrote into a folder.

    Raises:
        FileNotFoundError: naming an experiment that is not there.
    """
    found = {}
    for name in registry.own_experiments():
        path = out / name / "figures.json"
        if not path.exists():
            raise FileNotFoundError(f"{path} is missing: run `jaxgait reproduce {name} --out {out / name}` first")
        found[name] = [_rounded(row) for row in json.loads(path.read_text())]
    return {"machine": machine(), "experiments": found}


def _rounded(row: Row) -> Row:
    """A figure without empty entries."""
    short = {k: float(f"{v:.{DIGITS}g}") if isinstance(v, float) else v for k, v in row.items()}
    return {k: v for k, v in short.items() if v is not None and v != ""}


def keep(found: dict[str, Any], path: pathlib.Path = KEPT) -> None:
    """Writes figures, one a line."""
    parts = [
        f"  {json.dumps(name)}: [\n" + ",\n".join(f"   {json.dumps(row)}" for row in rows) + "\n  ]"
        for name, rows in found["experiments"].items()
    ]
    head = f'{{\n "machine": {json.dumps(found["machine"])},\n "experiments": {{\n'
    path.write_text(head + ",\n".join(parts) + "\n }\n}\n")


@functools.cache
def kept() -> dict[str, list[Row]]:
    """The kept figures by experiment."""
    return json.loads(KEPT.read_text())["experiments"]


def counts(rows: Sequence[Row], key: str, *, inputs: bool = False) -> tuple[int, int]:
    """Number of results (or inputs) whose `key` ("met" or "agrees_with_paper") is true, and of those that have one."""
    judged = [row[key] for row in rows if key in row and row.get("input", False) == inputs]
    return sum(judged), len(judged)


def _agreement(rows: Sequence[Row]) -> str:
    """The results and inputs that agree with the paper, in words."""
    results, inputs = (counts(rows, "agrees_with_paper", inputs=one) for one in (False, True))
    stated = "{} of {}".format(*results) if results[1] else "no result printed"
    return stated + (" (inputs: {} of {})".format(*inputs) if inputs[1] else "")


def _of(source: Source) -> list[Row]:
    return [row for name in source.experiments for row in kept()[name]]


def sources(_: str = "") -> str:
    """The short table: one row for each source."""
    rows = [
        [
            f"[{source.mechanism}]({source.page})",
            source.short,
            _agreement(_of(source)),
            "{} of {}".format(*counts(_of(source), "met")),
            f"[{len(source.misprints)}]({source.page}#misprints-in-the-paper)",
        ]
        for source in SOURCES.values()
    ]
    headings = ["mechanism", "source", "agrees with the paper", "meets the specification", "misprints"]
    return table(headings, rows)


def _bullets(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {sentence}" for sentence in sentences)


def source(name: str) -> str:
    """One source: its citation, and what cannot be reproduced; the misprints are with the theory."""
    one = SOURCES[name]
    return f"Source: {one.citation}\n\nGaps, and what replaces them:\n\n{_bullets(one.lacking)}"


def side_by_side(name: str) -> str:
    """The figures of a paper, in words, each with ours below."""
    blocks = (
        f"**Figure{'s' * (' and ' in x.number)} {x.number}** according to the text: {x.says} "
        f"As computed:\n\n![{x.says}]({_stored(x)})"
        for x in SOURCES[name].figures
    )
    return "\n\n".join(blocks)


def _stored(one: Shown) -> str:
    """Where a picture is kept, from the folder of the documentation."""
    return f"pictures/papers/{one.experiment}_{one.file}"


def take_pictures(out: pathlib.Path, docs: pathlib.Path = DOCS) -> None:
    """Copies the pictures of the pages from the folder of `jaxgait reproduce all`."""
    papers = {_stored(one): f"{one.experiment}/{one.file}" for source in SOURCES.values() for one in source.figures}
    for stored, written in (papers | TAKEN).items():
        (docs / stored).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(out / written, docs / stored)


def misprints(name: str) -> str:
    """The misprints of one source."""
    return _bullets(SOURCES[name].misprints)


def differing(_: str = "") -> str:
    """The results that differ from the paper or from the specification, with the reasons."""
    names = [name for source in SOURCES.values() for name in source.experiments]
    found = [(name, row) for name in names for row in kept()[name]]
    wrong = [(name, row) for name, row in found if not (row.get("agrees_with_paper", True) and row.get("met", True))]
    headings = ["experiment", "result", "expected", "computed", "reason"]
    return table(headings, [[name, *_contradiction(row)] for name, row in wrong])


def _contradiction(row: Row) -> list[str]:
    """Cells of a result that differs."""
    named, paper, computed, *_ = _cells(row)
    wanted = paper if row.get("agrees_with_paper") is False else f"specification: {_wanted(row).partition(':')[0]}"
    return [named, wanted, computed, _why(row)]


def _compared(row: Row) -> bool:
    return "agrees_with_paper" in row


def _cells(row: Row) -> list[str]:
    what, unit = row["what"], row.get("unit", "")
    paper = shown(row["paper"]) if "paper" in row else ""
    agrees = VERDICTS[row.get("agrees_with_paper")]
    named = what if unit in ("", "1") else f"{what} ({unit})"
    return [named, paper, shown(row.get("measured")), agrees, _wanted(row), _why(row)]


def _why(row: Row) -> str:
    """Why a figure differs from the paper or the specification, or cannot be compared; nothing where all agree."""
    if row.get("agrees_with_paper") and row.get("met", True):
        return ""
    lacking = "no number is printed" if "paper" in row and not _compared(row) else ""
    return row.get("note", lacking)


def _wanted(row: Row) -> str:
    """What the specification expects, and whether it is met."""
    if "expected" not in row:
        return ""
    tolerance = float(f"{row.get('tolerance', 0.0):.2g}")
    within = f" ± {tolerance:g}" if tolerance else ""
    return f"{shown(row['expected'])}{within}: {'met' if row['met'] else '**not met**'}"


def figures(name: str) -> str:
    """All figures of one experiment."""
    rows = kept()[name]
    summary = "{} of {} results meet the specification".format(*counts(rows, "met"))
    lines = f"<summary>{len(rows)} rows</summary>\n\n{table(HEADINGS, map(_cells, rows))}"
    folded = f'<details markdown="1">\n{lines}\n\n</details>'
    return f"{summary}; agreement with the paper: {_agreement(rows)}.\n\n{folded}"


def shown(value: Any) -> str:
    """A value as text: "yes", "no", "-" for None, numbers to eight digits."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    return f"{value:.8g}" if isinstance(value, float) else str(value)
