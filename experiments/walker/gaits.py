"""Periodic gaits of the rolling walker: fixed point, slopes, bifurcation diagram with continued branches, basin."""

from __future__ import annotations

import pathlib

import diffrax
import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from jaxgait import precision
from jaxgait.analysis.attractors import REACHED, basin, bifurcation_diagram
from jaxgait.analysis.continuation import BifurcationPoint, bifurcation_curve, continuation, period_doubled
from jaxgait.analysis.floquet import floquet, lyapunov_exponent
from jaxgait.analysis.orbits import orbit_branches
from jaxgait.models.walker.measures import PAPER_POINT, rolling_gait
from jaxgait.models.walker.rigid import RollingWalker
from jaxgait.parameters import with_parameters
from jaxgait.plot.basins import basin_map
from jaxgait.plot.branches import draw_branches
from jaxgait.plot.style import BLUE, RED, axis_label, save, style
from jaxgait.report import Report, labels
from jaxgait.solve.hybrid import EventDriven
from jaxgait.solve.periodic import PoincareMap

from . import expected

COARSE = PoincareMap(EventDriven(diffrax.Tsit5(scan_kind="lax"), dt=0.02, iterations=5), max_time=2.0)
"""Map for very many strides: points within about 1e-5."""
GRID = 256


def bifurcations(report: Report, out: pathlib.Path) -> None:
    """Gaits followed in the slope with their period doublings, and long walks."""
    walker, section = precision.cast(RollingWalker()), PoincareMap()
    lower = continuation(section, walker, "slope", np.array(PAPER_POINT), (0.01, 0.0028), step=0.1)
    first = continuation(section, walker, "slope", np.array(PAPER_POINT), (0.01, 0.136))
    doubling = next(p for p in first.bifurcations if p.kind == "period doubling")
    second = period_doubled(section, walker, first, doubling, 0.134)
    again = next(p for p in second.bifurcations if p.kind == "period doubling")
    report.compare("doubling", "slope of the first period doubling", doubling.parameter, expected.DOUBLING)
    what = "slope of the second doubling (0.126 to 0.127)"
    report.compare("second_doubling", what, again.parameter, expected.SECOND_DOUBLING)
    _slope_table(report, np.concatenate([lower.parameter, first.parameter]), np.concatenate([lower.z, first.z]))
    values = jnp.linspace(0.1, 0.136, 241)
    starts = jnp.asarray(np.stack([np.interp(values, first.parameter, first.z[:, i]) for i in range(3)], axis=1))
    points = np.asarray(bifurcation_diagram(COARSE, walker, "slope", values, starts + 1e-3, discard=250, keep=48))
    exponents = _lyapunov(report, np.asarray(values), np.asarray(starts))
    with style():
        figure, (axis, below) = plt.subplots(2, 1, figsize=(7, 5.6), sharex=True, height_ratios=(3, 1))
        draw_branches(axis, [first, *orbit_branches(section, walker, second)], walks=(np.asarray(values), points))
        axis.legend(loc="upper left")
        axis.set(
            xlabel="", ylabel=axis_label("stance angle after heel strike", "rad"), xlim=(0.1, 0.136), ylim=(0.39, 0.57)
        )
        axis.set_title("Gaits of the rolling walker: long walks, and branches continued")
        below.axhline(0.0, color="black", lw=0.8)
        below.plot(values, exponents, color=BLUE, lw=1.0)
        below.set(
            xlabel=axis_label("slope", "rad"), ylabel=axis_label("Lyapunov\nexponent", "1/step"), ylim=(-1.2, 0.6)
        )
        report.picture(save(figure, out / "bifurcation_diagram.png"), "Period doublings on steep slopes")
    _doubling_curve(report, doubling, out)
    walks = xr.Dataset(
        {
            "stance_angle": (("slope", "stride"), points[:, :, 0], labels("rad", "stance angle after heel strike")),
            "lyapunov_exponent": ("slope", exponents, labels("1/step", "largest Lyapunov exponent")),
        },
        coords={"slope": ("slope", np.asarray(values), labels("rad", "inclination of the ground"))},
    )
    report.data(out / "bifurcation_diagram.nc", walks)


def _lyapunov(report: Report, slopes: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Largest exponents of long walks; on the paper's slope, the logarithm of a multiplier."""
    walker = precision.cast(RollingWalker())

    @jax.jit
    @jax.vmap
    def exponent(slope: jax.Array, start: jax.Array) -> jax.Array:
        return lyapunov_exponent(COARSE, with_parameters(walker, {"slope": slope}), start, strides=200, discard=100)

    found = np.asarray(exponent(jnp.append(slopes, 0.01), jnp.asarray(np.vstack([starts, PAPER_POINT]) + 1e-3)))
    what = "largest Lyapunov exponent, slope 0.01 rad (logarithm of the multiplier 0.689589)"
    report.compare("lyapunov_gait", what, found[-1], expected.LYAPUNOV)
    chaotic = (slopes > 0.130) & (slopes < 0.134)
    largest = float(np.nanmax(found[:-1][chaotic]))
    report.figure("lyapunov_chaos", "largest exponent for slopes of 0.130 to 0.134 rad", "1/step", largest)
    report.figure("lyapunov_positive", "largest exponent is positive: chaos", "", largest > 0.05, expected=True)
    return found[:-1]


def _doubling_curve(report: Report, doubling: BifurcationPoint, out: pathlib.Path) -> None:
    """The first period doubling over slope and foot radius; the multiplier at its end is solved for again."""
    walker, names = precision.cast(RollingWalker()), ("slope", "foot_radius")
    curves = [
        bifurcation_curve(PoincareMap(), walker, doubling, names, (0.1, end), step=0.1, max_points=40)
        for end in (0.05, 0.2)
    ]
    slope, radius = np.concatenate([curves[0].parameters[::-1], curves[1].parameters[1:]]).T
    solve = jax.jit(lambda p, z: rolling_gait(with_parameters(walker, {"slope": p[0], "foot_radius": p[1]}), z))
    last = solve(jnp.asarray(curves[1].parameters[-1]), jnp.asarray(curves[1].z[-1]))
    multipliers = floquet(last.point.jacobian).multipliers
    report.figure(
        "doubling_curve",
        f"multiplier at the end of the curve of period doublings (foot radius {radius[-1]:.3f} m)",
        "1",
        float(np.real(multipliers).min()),
        expected=-1.0,
        tolerance=1e-5,
    )
    with style():
        figure, axis = plt.subplots(figsize=(5, 3.4))
        axis.plot(radius, slope, ".-", color=RED, ms=4)
        axis.plot(0.1, doubling.parameter, "o", color="black", ms=5, label="the paper's foot")
        axis.set(
            xlabel=axis_label("foot radius", "m"),
            ylabel=axis_label("slope", "rad"),
            title="First period doubling of the rolling walker",
        )
        axis.legend()
        report.picture(save(figure, out / "doubling_curve.png"), "Period doubling in slope and foot radius")


def _slope_table(report: Report, slopes: np.ndarray, points: np.ndarray) -> None:
    """Gaits on the slopes of the specification, in one batch."""
    walker = precision.cast(RollingWalker())
    order = np.argsort(slopes)
    targets = np.array(list(expected.SLOPES))
    guesses = np.stack([np.interp(targets, slopes[order], points[order, i]) for i in range(3)], axis=1)
    solve = jax.jit(jax.vmap(lambda s, z: rolling_gait(with_parameters(walker, {"slope": s}), z)))
    gaits = solve(jnp.asarray(targets), jnp.asarray(guesses))
    for i, (slope, rows) in enumerate(expected.SLOPES.items()):
        measured = (gaits.period[i], gaits.step_length[i], gaits.velocity[i], gaits.normal_impulse[i])
        for name, value, row in zip(rows._fields, measured, rows, strict=True):
            what = f"{name.replace('_', ' ')}, slope {slope:g} rad"
            report.compare(f"{name}_slope_{slope:g}", what, value, row)
    at = list(expected.SLOPES).index(0.01)
    largest = floquet(gaits.point.jacobian).multipliers[at]
    for (name, row), value in zip(
        expected.MULTIPLIERS.items(),
        (max(m.real for m in largest), min(m.real for m in largest), max(m.imag for m in largest)),
        strict=True,
    ):
        report.compare(name, f"{name.replace('_', ' ')}, slope 0.01 rad", value, row)
    names = "angle", "stance rate", "swing rate"
    for i, (name, row) in enumerate(zip(names, expected.FIXED_POINT, strict=True)):
        report.compare(f"gait_{i}", f"fixed point, {name}", gaits.point.z[at, i], row)


def basin_picture(report: Report, out: pathlib.Path) -> None:
    """Which starts with a swing rate of -1 rad/s lead to the gait."""
    walker = precision.cast(RollingWalker())
    angle, rate = np.linspace(0.1, 0.4, GRID), np.linspace(-2.6, -0.8, GRID)
    theta, omega = np.meshgrid(angle, rate, indexing="ij")
    starts = np.stack([theta, omega, np.full_like(theta, -1.0)], axis=-1)
    result = basin(COARSE, walker, jnp.asarray(starts), jnp.asarray([PAPER_POINT]), strides=40)
    report.figure(
        "basin", "share of the starts on the map that reach the gait", "%", 100 * np.mean(result.outcome == REACHED)
    )
    axes = axis_label("stance angle", "rad"), axis_label("stance rate", "rad/s")
    figure = basin_map(result, angle, rate, labels=axes)
    with style():
        (axis,) = figure.axes
        line = {"arrowstyle": "-"}
        axis.plot(PAPER_POINT[0], PAPER_POINT[1], "*", color="black", ms=9)
        axis.annotate("the gait (swing rate -1.12 rad/s)", PAPER_POINT[:2], (0.21, -1.05), arrowprops=line, fontsize=8)
        axis.plot(0.2, -1.5, "o", color="black", mfc="white", ms=5)
        axis.annotate("the paper's start", (0.2, -1.5), (0.13, -1.8), arrowprops=line, fontsize=8)
        axis.set_title("Basin of the gait (swing rate -1 rad/s)")
        report.picture(save(figure, out / "basin.png"), "The starts that reach the periodic gait form a narrow band")
    outcome = labels("1", f"how the walk ends ({REACHED}: it reaches the gait)")
    outcomes = xr.Dataset(
        {
            "outcome": (("angle", "rate"), result.outcome, outcome),
            "strides": (("angle", "rate"), result.strides, labels("1", "strides walked")),
        },
        coords={
            "angle": ("angle", angle, labels("rad", "stance angle at the start")),
            "rate": ("rate", rate, labels("rad/s", "stance rate at the start")),
        },
    )
    report.data(out / "basin.nc", outcomes)
