"""The page of a GPU: gpu.json, GPU.md and GPU.png from the rows of `experiments.benchmarks.gpu`."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Sequence
from typing import Any

from jaxgait.report import table
from jaxgait.support import files

from .rows import TARGET_HEADINGS, target_cells

TIMES = """Milliseconds of the best run, and seconds of the first one, which compiles; the difference is that of the
results from those of the kernel."""
SCANS = """Seconds of wall time from the call to labelled results: of the best call, and of the first one, which traces
and compiles; cores are those of the CPU."""
RESULTS = """The largest difference of a number among all members, over the largest such number; rounding is what the
CPU's own results change if the parameter changes in its last digit."""


def write(whole: dict[str, Any], folder: pathlib.Path) -> None:
    """Writes all files."""
    whole = files.plain(whole)
    files.text(folder / "gpu.json", files.as_json(whole))
    drawn = by_size(whole, folder / "GPU.png")
    (folder / "GPU.md").write_text(page(whole, "GPU.png" if drawn else None))


def joined(runs: Sequence[dict[str, Any]], notes: Sequence[str]) -> dict[str, Any]:
    """Runs of several parts as one.

    Raises:
        ValueError: if they are not of one kind of GPU and one JAX.
    """
    about = {(run["gpu"], run["jax"]) for run in runs}
    if len(about) != 1:
        raise ValueError(f"only runs on GPUs of one kind, with one JAX, become one: got {sorted(about)}")
    lists = {key: [x for run in runs for x in run.get(key, [])] for key in ("rows", "targets", "notes")}
    notes = list(dict.fromkeys([*lists["notes"], *notes]))
    return {**runs[0], "date": max(run["date"] for run in runs), **lists, "notes": notes}


def page(whole: dict[str, Any], picture: str | None) -> str:
    """The results as Markdown."""
    parts = [
        f"# On a GPU: {whole['gpu']}",
        f"By `python -m experiments.benchmarks.gpu`, {whole['date']}, jax {whole['jax']}.",
    ]
    if whole.get("notes"):
        parts.append("\n".join(f"- {note}" for note in whole["notes"]))
    targets = table(TARGET_HEADINGS, map(target_cells, whole["targets"])) if whole["targets"] else ""
    shown = f"![Strides per second of the knee by the number of members]({picture})" if picture else ""
    parts += [
        *_section(whole, "problem", "Kernels, and XLA alone", TIMES, _timed),
        targets,
        *_section(whole, "scan", "`ensemble` on the GPU and on the CPU beside it", SCANS, _scanned),
        shown,
        *_section(whole, "mechanism", "Results against those of the CPU", RESULTS, _checked),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _section(
    whole: dict[str, Any], key: str, heading: str, about: str, shown: Callable[[Sequence[dict[str, Any]]], str]
) -> list[str]:
    """Heading, introduction and table of the rows that have a key; nothing if no row has it."""
    rows = [row for row in whole["rows"] if key in row]
    return [f"## {heading}", about, shown(rows)] if rows else []


def _timed(rows: Sequence[dict[str, Any]]) -> str:
    head = ("problem", "members", "code", "ms", "first run s", "difference")
    cells = [
        (
            *(r["problem"], str(r["members"]), r["code"]),
            *(f"{1e3 * r['seconds']:.4g}", f"{r['first_s']:.1f}"),
            f"{r['difference']:.1e}" if "difference" in r else "",
        )
        for r in rows
    ]
    return table(head, cells)


def _scanned(rows: Sequence[dict[str, Any]]) -> str:
    head = ("mechanism", "in", "members", "cores", "GPU s", "CPU s", "CPU / GPU", "GPU first s", "CPU first s")
    cells = [
        (
            *(r["scan"], r["precision"], str(r["members"]), str(r["cores"])),
            *(f"{r['gpu_s']:.3g}", f"{r['cpu_s']:.3g}"),
            *(f"{r['cpu_s'] / r['gpu_s']:.2g}", f"{r['gpu_first_s']:.1f}", f"{r['cpu_first_s']:.1f}"),
        )
        for r in rows
    ]
    return table(head, cells)


def _checked(rows: Sequence[dict[str, Any]]) -> str:
    head = ("mechanism", "in", "of", "members", "difference", "rounding", "same ends", "agrees")
    size = lambda x: "infinite" if x is None else f"{x:.1e}"  # (JSON has no word for it)
    cells = [
        (
            *(r["mechanism"], r["precision"], "value and derivative" if r["derivative"] else "value"),
            *(str(r["members"]), size(r["difference"]), size(r["rounding"]), f"{r['same_status']:.0%}"),
            "yes" if r["agrees"] else "NO",
        )
        for r in rows
    ]
    return table(head, cells)


def by_size(whole: dict[str, Any], path: pathlib.Path) -> bool:
    """Draws trajectories per second against the number of members; False if it was measured at one size only."""
    rows = [r for r in whole["rows"] if r.get("scan") == "knee" and r["precision"] == "float64"]
    sizes = sorted({r["members"] for r in rows})
    if len(sizes) < 2:
        return False
    import matplotlib.pyplot as plt

    best = lambda key: [n / min(r[key] for r in rows if r["members"] == n) for n in sizes]
    figure, axes = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
    axes.loglog(sizes, best("gpu_s"), "o-", label=whole["gpu"])
    axes.loglog(sizes, best("cpu_s"), "s-", label=f"CPU, {rows[0]['cores']} cores")
    axes.set(xlabel="members of the ensemble", ylabel="strides per second")
    axes.set_title("Knee, one stride in float64, labelled results", loc="left", fontsize=10)
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return True
