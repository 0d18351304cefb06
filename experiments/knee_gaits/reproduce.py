"""Subharmonics of the knee by following its periodic gaits: multipliers and critical k, compared with a scan."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from jaxgait.analysis import gait
from jaxgait.analysis.crossings import Crossing
from jaxgait.analysis.families import Gaits
from jaxgait.analysis.stability import Range, unstable_ranges
from jaxgait.plot.style import save
from jaxgait.report import Report, labels, table
from jaxgait.reproduction import parts

from . import branches, pictures
from .branches import DOUBLED, LINE, RATIOS, START
from .expected import CRITICAL, FIXED_POINT, NOTES, PAPER_CRITICAL, SETTLING, WINDOW

TITLE = "Periodic gaits of the four-bar prosthetic knee"
MINUTES = 3
INTRO = """The four-bar prosthetic knee (set R2) as a stroboscopic map: the state at one heel strike gives the state at
the next. Its fixed points, the period-one gaits, are solved for by Newton's method, stable or not, and followed in the
damper's stiffness k for dampers of fixed c/k. The touch-down layer is 0.1 mm (`ground.steepness` 1e4 1/m): multipliers
are derivatives, and across the paper's layer of 1 micrometre the steps would have to resolve it."""


JUMP = 0.1
"""A multiplier further than this from -1 on either side of a crossing jumps across it."""


def reproduce(out: pathlib.Path, *, progress: bool = True) -> Report:
    report = Report(TITLE, INTRO)
    with parts(report, out, 4, progress) as part:
        over, line = part.run("twenty-stride scan", branches.scan, progress)
        one, crossings = part.run("period-one gaits", branches.period_one, over, progress)
        two = part.run("gaits of two strides", branches.period_two, line, progress)
        crossings, jumps = ([c for c in crossings if (c.distance < JUMP) == flag] for flag in (True, False))
        figures(report, over, one, crossings, jumps, two)
        describe_jumps(report, jumps)
        part.run("pictures", draw, report, out, over, line, one, crossings, two)
        store(report, one, out / "period_one.nc")
    return report


def draw(
    report: Report,
    out: pathlib.Path,
    over: xr.Dataset,
    line: xr.Dataset,
    one: Gaits,
    crossings: list[Crossing],
    two: Gaits,
) -> None:
    """The pictures of the report."""

    def add(name: str, figure: Figure, caption: str) -> None:
        report.picture(save(figure, out / f"{name}.png"), caption)

    add("multipliers", pictures.multipliers(one, crossings), "The largest multiplier of the period-one gait against k")
    scanned = pictures.critical_curve(over, one, crossings)
    add("critical", scanned, "Where the multiplier is -1, over the orders of the twenty-stride scan")
    diagram = pictures.diagram(line, one, two, crossings)
    add("diagram", diagram, "Long walks at c/k = 0.05 s (grey), with the gaits of one and of two strides through them")


def describe_jumps(report: Report, jumps: list[Crossing]) -> None:
    """Reports where a multiplier jumps across -1."""
    report.figure("knee_gaits.jumps", "changes of sign where the multiplier leaps across -1", "1", len(jumps))
    rows = [[f"{RATIOS[c.member]:g}", f"{c.parameter:.0f}", f"{c.multipliers[0].real:.2f}"] for c in jumps]
    if rows:
        report.section(
            "Jumps of the multiplier",
            "Here the multiplier jumps across -1 although the gait continues: a foot just touches the ground, or a "
            "step did not resolve the touch-down; tighter tolerances would show which.\n\n"
            + table(["c/k (s)", "k (N/m)", "multiplier on one side"], rows),
        )


def figures(
    report: Report, over: xr.Dataset, one: Gaits, crossings: list[Crossing], jumps: list[Crossing], two: Gaits
) -> None:
    """Compares what was found with the specification and the scan."""
    unstable = [unstable_ranges(one, [*crossings, *jumps], i) for i in range(RATIOS.size)]
    at = int(np.flatnonzero(one.parameter[:, 0] == START)[0])
    member = int(np.argmin(np.abs(RATIOS - LINE)))
    settled = over.strobe.sel(k=START, ratio=LINE).values[:, -1]
    report.compare(
        "knee_gaits.fixed_point",
        f"fixed point and the scan's stride 20, k = {START:g} N/m, c/k = {LINE:g} s, largest difference of an angle",
        np.abs(settled - one.z[at, member, 0])[:2].max(),
        FIXED_POINT,
    )
    largest, second = (np.abs(one.multipliers[:, :, i]) for i in (0, 1))
    report.figure("knee_gaits.second", "largest second multiplier of all gaits", "1", np.nanmax(second))
    kinds = {c.kind for c in crossings}
    report.figure(
        "knee_gaits.kinds",
        "how period-one gaits lose stability",
        "",
        ", ".join(sorted(kinds)),
        expected="period doubling",
    )
    rows = []
    for i, ratio in enumerate(RATIOS):
        scanned = gait.subharmonic_limit(over.k.values, over.order.sel(ratio=ratio).values)[0]
        values = sorted(c.parameter for c in crossings if c.member == i)
        if float(ratio) in CRITICAL:
            report.compare(
                f"knee_gaits.critical.{ratio:g}",
                f"critical k at c/k = {ratio:g} s: multiplier -1",
                end_of_first(unstable[i]),
                CRITICAL[float(ratio)],
                paper=PAPER_CRITICAL.get(float(ratio), "Table 3 is lost"),
                note=NOTES.get(float(ratio), ""),
            )
        lost = one.parameter[~np.isfinite(one.residual[:, i]) | ~np.isfinite(one.z[:, i, 0, 0]), i]
        ends = f"{lost.max():g}" if lost.size else ""
        doubled = ", ".join(f"{p:.0f}" for p in values) or "none"
        critical = f"{scanned:g}" if np.isfinite(scanned) else "none"
        rows.append([f"{ratio:g}", doubled, critical, ends or "none"])
    headings = ["c/k (s)", "multiplier -1 at k (N/m)", "critical k of the scan", "no gait found at k"]
    report.section("Changes of stability", table(headings, rows))
    weak = widest_window(unstable[int(np.argmin(np.abs(RATIOS - 0.08)))])
    for (end, row), found_at in zip(WINDOW.items(), weak, strict=True):
        what = f"{end} end of the weak subharmonic window at c/k = 0.08 s"
        report.compare(f"knee_gaits.window.{end}", what, found_at, row)
    agreement(report, over, one, largest)
    k, double = two.parameter[:, 0], np.abs(two.multipliers[:, 0, 0])
    report.figure(
        "knee_gaits.doubled",
        f"largest multiplier of the gait of two strides at k = {DOUBLED[0][0]:g} N/m, c/k = {LINE:g} s",
        "1",
        double[k == DOUBLED[0][0]][0],
    )
    last = k[np.isfinite(double)].max()
    report.figure("knee_gaits.doubled.last", "largest k at which a gait of two strides was found", "N/m", last)
    slow_settling(report, over, one)


def slow_settling(report: Report, over: xr.Dataset, one: Gaits) -> None:
    """Why the scan's critical k at c/k = 0.07 s is larger: its walks have not settled."""
    k, member = 2.5e4, int(np.argmin(np.abs(RATIOS - 0.07)))
    steps = np.diff(over.strobe.sel(k=k).values[member], axis=1)
    ratio = np.sum(steps[:, 1:] * steps[:, :-1]) / np.sum(steps[:, :-1] ** 2)
    at = int(np.flatnonzero(one.parameter[:, 0] == k)[0])
    report.figure(
        "knee_gaits.settling",
        f"factor per stride by which the scan's walk settles, k = {k:g} N/m, c/k = 0.07 s (expected: the multiplier)",
        "1",
        ratio,
        expected=float(one.multipliers[at, member, 0].real),
        tolerance=SETTLING,
    )
    report.section(
        "Settling",
        f"At c/k = 0.07 s the multiplier stays near -1 for thousands of N/m above the doubling: at k = {k:g} N/m "
        f"twenty strides shrink a disturbance only to {100 * abs(ratio) ** 20:.0f} %, and in a scan of twenty strides "
        "every other stride still differs. Its critical k (26000 N/m in the specification) is that of the transient.",
    )


def agreement(report: Report, over: xr.Dataset, one: Gaits, largest: np.ndarray) -> None:
    """Where order 1 of the scan and a stable period-one gait agree."""
    size = np.stack([np.interp(over.k, one.parameter[:, 0], largest[:, i]) for i in range(RATIOS.size)], axis=1)
    stable, known = size < 1.0, np.isfinite(over.order.values) & np.isfinite(size)
    scanned = over.order.values == 1
    report.figure(
        "knee_gaits.agreement",
        "share of the map where the scan's order is 1 exactly where the period-one gait is stable",
        "%",
        100.0 * np.mean((stable == scanned)[known]),
    )
    report.section(
        "Where scan and multiplier differ",
        f"Of {known.sum()} dampers, {np.sum(stable & ~scanned & known)} have a stable period-one gait that twenty "
        "strides do not show (they have not settled, or have settled on another gait), and "
        f"{np.sum(~stable & scanned & known)} have an unstable one that the scan counts as period one (its subharmonic "
        "is smaller than the half degree that the scan resolves).",
    )


def store(report: Report, one: Gaits, path: pathlib.Path) -> None:
    """The followed gaits as NetCDF."""
    dims, (angle, foot, angle_rate, foot_rate) = ("k", "ratio"), np.moveaxis(one.z[:, :, 0], -1, 0)
    data = {
        "theta_b": (dims, angle, labels("rad", "angle of the posterior link at heel strike")),
        "beta_1": (dims, foot, labels("rad", "angle of the foot at heel strike")),
        "theta_b_rate": (dims, angle_rate, labels("rad/s", "its rate")),
        "beta_1_rate": (dims, foot_rate, labels("rad/s", "its rate")),
        "multiplier_real": ((*dims, "index"), np.real(one.multipliers), labels("1", "real part of the multipliers")),
        "multiplier_imag": ((*dims, "index"), np.imag(one.multipliers), labels("1", "their imaginary part")),
        "residual": (
            dims,
            np.where(np.isfinite(one.residual), one.residual, np.nan),
            labels("rad or rad/s", "largest distance of the mapped point from the gait before the last correction"),
        ),
    }
    coords = {
        "k": ("k", one.parameter[:, 0], labels("N/m", "stiffness of the damper")),
        "ratio": ("ratio", RATIOS, labels("s", "c/k of the damper")),
    }
    report.data(path, xr.Dataset(data, coords))


def end_of_first(ranges: Sequence[Range]) -> float:
    """The upper end of the first unstable range, in the unit of the parameter; NaN if there is none."""
    return next((high for _, high in ranges if np.isfinite(high)), float("nan"))


def widest_window(ranges: Sequence[Range]) -> Range:
    """The widest unstable range between stable ones, in the parameter's unit; NaN if there is none."""
    inner = [r for r in ranges if np.isfinite(r).all()]
    return max(inner, key=lambda r: r[1] - r[0], default=(float("nan"), float("nan")))
