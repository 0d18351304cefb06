"""The page of results: Markdown and a work-precision picture from the JSON file of a run; no figure is typed by hand.

python -m experiments.benchmarks.page results.json RESULTS.md
"""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

from jaxgait.report import table

from .rows import HEADINGS, TARGET_HEADINGS, cells, target_cells

ROUNDING = 1e-13
"""Errors below this are rounding (the steps are those of the reference), and not drawn."""


def write(result: dict[str, Any], page: pathlib.Path) -> None:
    """Writes the page, and next to it the picture under the page's name."""
    picture = page.with_suffix(".png")
    drawn = work_precision(result["rows"], picture)
    page.write_text(markdown(result, picture.name if drawn else None))


def markdown(result: dict[str, Any], picture: str | None) -> str:
    """The page of a run (see `bench.bench`) as Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in result["versions"].items())
    targets = [t for t in result["targets"] if t["met"] is not None]
    lines = [
        "# Benchmarks",
        "",
        f"Written by `jaxgait bench{' --quick' if result['quick'] else ''} --page` on {result['date']}.",
        "",
        f"- Machine: {result['machine']}; {result['processor']}",
        f"- Versions: {versions}",
        "- Load of the machine before and after (1.0 is one busy core): "
        + ", ".join(f"{load:.1f}" for load in result["load"])
        + f"; the run took {result['seconds'] / 60:.0f} min",
        *(f"- {note}" for note in result.get("notes", [])),
        "",
        "This page compares the speed of jaxgait with other codes. Processor time is that of the best repeat, without",
        "compilation; the error is the median over the members of the largest difference of the final state (knee: the",
        "two angles in rad) from a run with a much tighter tolerance.",
        "",
        f"Targets met: {sum(t['met'] for t in targets)} of {len(targets)} that were measured at full size.",
        "",
        table(TARGET_HEADINGS, [target_cells(t) for t in result["targets"]]),
        "",
    ]
    if picture is not None:
        lines += [f"![Processor time of a member against its error or the size of the ensemble]({picture})", ""]
    return "\n".join([*lines, table(HEADINGS, [cells(r) for r in result["rows"]])]) + "\n"


def work_precision(rows: list[dict[str, Any]], path: pathlib.Path) -> bool:
    """Draws processor time per member, a panel per problem; False if there is nothing to draw.

    Against the error; or against the size of the ensemble where the same work was run at several sizes.
    """
    import matplotlib.pyplot as plt

    from jaxgait.plot.style import axis_label, save, style

    points = [r for r in rows if r["error"] is not None and r["error"] > ROUNDING]
    problems = list(dict.fromkeys(r["problem"] for r in points))
    if not points:
        return False
    markers = dict(zip(dict.fromkeys(r["code"] for r in points), "osD^v", strict=False))
    with style():
        figure, panels = plt.subplots(1, len(problems), figsize=(5.4 * len(problems), 4.4), squeeze=False)
        for panel, problem in zip(panels[0], problems, strict=True):
            _panel(panel, [r for r in points if r["problem"] == problem], markers)
            panel.set(ylabel=axis_label("processor time of a member", "ms"), title=problem)
            panel.legend(fontsize=7)
        save(figure, path)
    return True


def _panel(panel: Any, rows: list[dict[str, Any]], markers: dict[str, str]) -> None:
    """One line per code and method against the error, or per code, method and work against the size."""
    from jaxgait.plot.style import PALETTE

    sizes: dict[tuple[str, ...], set[int]] = {}
    for r in rows:
        sizes.setdefault((r["code"], r["method"], r["work"]), set()).add(r["members"])
    by_size = any(len(found) > 1 for found in sizes.values())
    x = "members" if by_size else "error"
    series: dict[str, list[dict[str, Any]]] = {}
    for r in rows:
        name = f"{r['code']}: {r['method']}"
        series.setdefault(f"{name}, {r['work']}" if by_size else name, []).append(r)
    for i, (label, entries) in enumerate(series.items()):
        line = sorted(entries, key=lambda r: r[x])
        # Colours that come round a second time are hollow.
        color = PALETTE[i % len(PALETTE)]
        look = {"marker": markers[line[0]["code"]], "ms": 5, "mfc": color if i < len(PALETTE) else "white"}
        panel.loglog([r[x] for r in line], [r["cpu_ms_per_member"] for r in line], color=color, label=label, **look)
    low, high = panel.get_xlim()
    panel.set_xlim(min(low, high / 100.0), max(high, low * 100.0))  # two decades at least
    # An empty upper quarter for the legend.
    bottom, top = panel.get_ylim()
    panel.set_ylim(bottom, top * (top / bottom) ** 0.3)
    panel.set_xlabel("members of the ensemble" if by_size else "error of the final state")


if __name__ == "__main__":
    write(json.loads(pathlib.Path(sys.argv[1]).read_text()), pathlib.Path(sys.argv[2]))
