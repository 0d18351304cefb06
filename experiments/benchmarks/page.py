"""The page of results: Markdown and a work-precision picture from the JSON file of a run; no figure is typed by hand.

python -m experiments.benchmarks.page results.json RESULTS.md
"""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

from .rows import HEADINGS, TARGET_HEADINGS, cells, target_cells

ROUNDING = 1e-13
"""Errors below are rounding and not drawn: the same steps as those of the reference."""


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
        "",
        "Processor time is that of the best repeat, compilation apart; the error is the median over the members of the",
        "largest difference of the final state (knee: the two angles in rad) to a run with a much tighter tolerance.",
        "",
        f"Targets met: {sum(t['met'] for t in targets)} of {len(targets)}.",
        "",
        *_table(TARGET_HEADINGS, [target_cells(t) for t in result["targets"]]),
        "",
    ]
    if picture is not None:
        lines += [f"![Processor time of a member against its error, one line per code]({picture})", ""]
    return "\n".join(lines + _table(HEADINGS, [cells(r) for r in result["rows"]])) + "\n"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    line = lambda entries: "| " + " | ".join(entries) + " |"
    return [line(headings), line(["---"] * len(headings)), *map(line, rows)]


def work_precision(rows: list[dict[str, Any]], path: pathlib.Path) -> bool:
    """Draws processor time per member against error, a panel per problem; False if there is nothing to draw."""
    import matplotlib.pyplot as plt

    from jaxgait.plot.style import PALETTE, save, style

    points = [r for r in rows if r["error"] is not None and r["error"] > ROUNDING]
    problems = list(dict.fromkeys(r["problem"] for r in points))
    if not points:
        return False
    with style():
        figure, panels = plt.subplots(1, len(problems), figsize=(5.4 * len(problems), 4.4), squeeze=False)
        for panel, problem in zip(panels[0], problems, strict=True):
            series: dict[str, list[dict[str, Any]]] = {}
            for r in points:
                if r["problem"] == problem:
                    series.setdefault(f"{r['code']}: {r['method']}", []).append(r)
            markers = {code: m for code, m in zip(dict.fromkeys(r["code"] for r in points), "osD^v", strict=False)}
            for i, (label, entries) in enumerate(series.items()):
                line = sorted(entries, key=lambda r: r["error"])
                x, y = [r["error"] for r in line], [r["cpu_ms_per_member"] for r in line]
                style_of = dict(marker=markers[line[0]["code"]], ms=5, color=PALETTE[i % len(PALETTE)], label=label)
                panel.loglog(x, y, lw=1.2, ls="-" if i < len(PALETTE) else "--", **style_of)
            low, high = panel.get_xlim()
            panel.set_xlim(min(low, high / 100.0), max(high, low * 100.0))  # two decades at least
            panel.set(xlabel="error of the final state", ylabel="processor time of a member in ms", title=problem)
            panel.legend(fontsize=7)
        save(figure, path)
    return True


if __name__ == "__main__":
    write(json.loads(pathlib.Path(sys.argv[1]).read_text()), pathlib.Path(sys.argv[2]))
