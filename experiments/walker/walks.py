"""The paper's time-stepped walks: Table 2 and Figures 4 to 7."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from jaxgait import ensemble, precision
from jaxgait.ensembles import zipped
from jaxgait.models.walker.measures import RIGID_MEASURES
from jaxgait.models.walker.pictures import contact_strip, phase_portrait
from jaxgait.models.walker.rigid import RigidWalker
from jaxgait.models.walker.round_feet import OBSERVABLES
from jaxgait.parameters import with_parameters
from jaxgait.plot.style import BLUE, FAILED, ORANGE, RED, axis_label, save, style
from jaxgait.report import Report, labels
from jaxgait.solve.time_stepping import Step, march

from . import expected

FRICTIONS = (0.1, 0.11, 0.12, 0.125, 0.129, 0.13, 0.135, 0.14, 0.145, 0.15, 0.16, 0.162, 0.165, 0.17, 0.2, 0.3)
DENSE = {"figure_4": (0.0, 0.5), "figure_5": (0.0, 0.13), "figure_6": (0.3, 0.5)}
"""Restitution and friction of the paper's figures."""
DT = 1e-4
RECORD = 1.7


Walks = Mapping[tuple[float, float], Mapping[str, Any]]
"""`RIGID_MEASURES` of walks, by restitution and friction."""


def connected_range(holds: Mapping[float, bool]) -> tuple[float, list[float]]:
    """The value of a parameter above which a condition always holds, and the islands below it.

    Args:
        holds: whether the condition holds, by the value of the parameter, in its own unit.

    Returns:
        The smallest value of the range connected to the largest value (NaN if the condition does not hold there), and
        the values below that range at which it holds.
    """
    edge = max((value for value in holds if not holds[value]), default=-np.inf)
    first = min((value for value in holds if value > edge), default=float("nan"))
    return first, [value for value in sorted(holds) if holds[value] and value < edge]


def sweeps(report: Report, out: pathlib.Path) -> None:
    """The 50 s walks of Table 2 and Figure 7."""
    walks = _sweeps()
    _table_2(report, walks)
    _figure_7(report, walks, out)


def _sweeps() -> Walks:
    cases = [(e, 0.5) for e in (*expected.TABLE_2, 0.3, 0.9)] + [(0.0, mu) for mu in FRICTIONS]
    restitution, friction = zip(*cases, strict=True)
    members = zipped({"normal_restitution": restitution, "friction": friction})
    walks = ensemble(RigidWalker(), members, observe=list(RIGID_MEASURES), dt=DT)
    return {case: {name: walks[name].values[i] for name in RIGID_MEASURES} for i, case in enumerate(cases)}


def _records() -> dict[str, Step]:
    """Every step of `RECORD` s after 30 s of walking, for Figures 4 to 6."""
    model = precision.cast(RigidWalker())
    values = jnp.array(list(DENSE.values()))

    def member(value: Any) -> Step:
        walker = with_parameters(model, {"normal_restitution": value[0], "friction": value[1]})
        settled = march(walker, DT, 30, round(1.0 / DT))
        last = jax.tree.map(lambda a: a[-1], settled)
        return march(walker, DT, round(RECORD / DT), 1, y0=last.y)

    runs = jax.tree.map(np.asarray, jax.jit(jax.vmap(member))(values))
    return {name: jax.tree.map(lambda a, i=i: a[i], runs) for i, name in enumerate(DENSE)}


def _table_2(report: Report, runs: Walks) -> None:
    """Table 2, the impulse, the friction thresholds."""
    for e, row in expected.TABLE_2.items():
        s = runs[e, 0.5]
        for name, what, value, both in (
            ("length", "step length", s["step_length"], row.length),
            ("velocity", "average velocity", s["velocity"], row.velocity),
        ):
            _beside_paper(report, f"table2_{name}_e{e}", f"{what}, e_N = {e}", value, both)
    _beside_paper(report, "impulse", "heel-strike impulse", runs[0.0, 0.5]["impulse"], expected.IMPULSE)
    report.compare(
        "table2_frequency",
        "step frequency, e_N = 0",
        1.0 / runs[0.0, 0.5]["step_period"],
        expected.FREQUENCY,
        paper=expected.PAPER_FREQUENCY,
        note="The paper's step frequencies contradict its own step lengths and velocities, whose quotient is "
        "2.43042 1/s.",
    )
    _friction(report, runs)
    flight = 1e3 * runs[0.3, 0.5]["flight"]
    what = "time with both feet in the air per step, e_N = 0.3"
    paper = {"paper": "both feet leave the ground", "agrees": bool(flight > 0.0)}
    report.compare("flight", what, flight, expected.FLIGHT, **paper)
    report.figure(
        "e09",
        "e_N = 0.9",
        "",
        "falls" if np.isfinite(runs[0.9, 0.5]["fell_at"]) else "walks",
        expected="walks",
        paper="falls",
        note="The paper does not state how it ignores the scuffing foot in mid-swing, which decides this case.",
    )


def _beside_paper(report: Report, id: str, what: str, value: float, both: expected.Printed) -> None:
    """A figure with one tolerance for the specification and for the paper."""
    row, printed = both
    report.compare(id, what, value, row, paper=printed, paper_tolerance=row.tolerance)


def _walking(runs: Walks) -> dict[float, bool]:
    """By friction coefficient whether the walker does not fall."""
    return {mu: not np.isfinite(runs[0.0, mu]["fell_at"]) for mu in FRICTIONS}


def _friction(report: Report, runs: Walks) -> None:
    """Where the walker falls, slips or rolls, and how unevenly it slips."""
    walks = _walking(runs)
    smallest, islands = connected_range(walks)
    slipping = max(mu for mu in FRICTIONS if walks[mu] and max(runs[0.0, mu]["slip"]) > 0.0)
    low, high = sorted(1e3 * slip for slip in runs[0.0, 0.13]["slip"])
    row, paper = expected.SMALLEST_FRICTION
    report.compare("mu_smallest", "smallest friction coefficient of the walking range", smallest, row, paper=paper)
    row, paper = expected.LIMPING
    report.compare(
        "mu_islands",
        "friction coefficients below that range at which it still walks, of those tried",
        len(islands),
        row,
        paper=paper,
        note="In the paper every walker falls below 0.13; here some keep limping, with every other step shorter.",
    )
    row, paper = expected.LARGEST_SLIPPING
    report.compare(
        "mu_no_slip",
        "largest friction coefficient with slip, of those tried",
        slipping,
        row,
        paper=paper,
        note="Rolling without slip needs 0.1633 (exact rigid gait); the paper does not state the spacing of its grid.",
    )
    what = "slip per stride of the slipping foot, mu = 0.13"
    report.compare("slip_one_foot", what, high, expected.SLIP["one_foot"])
    report.compare("slip_other_foot", "slip per stride of the other foot", low, expected.SLIP["other_foot"])
    what = "at mu = 0.13 one foot slips and the other does not (less than a hundredth of it)"
    report.figure("slip_one_sided", what, "", low < 0.01 * high, expected=True, paper=True)
    falls = ", ".join(f"mu = {mu:g} at {runs[0.0, mu]['fell_at']:.1f} s" for mu in FRICTIONS if not walks[mu])
    limping = ", ".join(f"{mu:g}" for mu in islands)
    report.section("Friction", f"Falls: {falls}. Below mu = {smallest:g} some keep limping in period two ({limping}).")


def _figure_7(report: Report, runs: Walks, out: pathlib.Path) -> None:
    """Velocity over friction, with the paper's three ranges."""
    mu = np.array(FRICTIONS)
    velocity = np.array([runs[0.0, m]["velocity"] for m in FRICTIONS])
    with style():
        figure, axis = plt.subplots(figsize=(6, 3.4))
        axis.axvspan(0.09, 0.13, color=FAILED, alpha=0.6, lw=0, label="paper: falls")
        axis.axvspan(0.13, 0.17, color=ORANGE, alpha=0.25, lw=0, label="paper: walks with slip")
        axis.plot(mu, velocity, "o-", color=BLUE, ms=4, label="average velocity")
        axis.plot(mu[np.isnan(velocity)], np.full(np.isnan(velocity).sum(), 0.29), "x", color=RED, label="falls here")
        for island in connected_range(_walking(runs))[1]:
            at = (island, runs[0.0, island]["velocity"])
            axis.annotate("limps", at, xytext=(0, 6), textcoords="offset points", ha="center", fontsize=8)
        axis.axhline(
            expected.TABLE_2[0.0].velocity.paper, color="black", lw=0.8, ls=":", label="paper, no slip (Table 2)"
        )
        axis.set(xlabel="friction coefficient", ylabel=axis_label("velocity", "m/s"), xlim=(0.09, 0.31))
        axis.legend(loc="lower right")
        report.picture(
            save(figure, out / "figure_7.png"),
            "Figure 7: average velocity over the coefficient of friction, with the ranges that the paper names",
        )


def figures_4_to_6(report: Report, out: pathlib.Path) -> None:
    """Dense records of three walks."""
    walker, runs = precision.cast(RigidWalker()), _records()
    for name, draw in (("figure_4", _figure_4), ("figure_5", _figure_5), ("figure_6", _figure_6)):
        run = runs[name]
        observed = {k: np.asarray(v) for k, v in jax.jit(jax.vmap(walker.observables))(run.y).items()}
        with style():
            figure = draw(run, observed)
            report.picture(save(figure, out / f"{name}.png"), _CAPTIONS[name])
        _store(report, run, observed, out / f"{name}.nc")


_CAPTIONS = {
    "figure_4": "Figure 4: plastic impacts without slip (impulses per step of 0.1 ms; the paper prints 0.3351 N s)",
    "figure_5": "Figure 5: friction 0.13; one foot slips at heel strike, the other does not, and their cycles differ",
    "figure_6": "Figure 6: restitution 0.3; several impacts per step, both feet in the air in between",
}


def _figure_4(run: Step, observed: dict[str, np.ndarray]) -> Any:
    figure, axes = plt.subplots(2, 2, figsize=(8, 5), height_ratios=(3, 2))
    t = run.t
    axes[0, 0].plot(t, run.y.omega_1, color=BLUE)
    axes[0, 0].set(xlabel=axis_label("time", "s"), ylabel=axis_label("rate of leg 1", "rad/s"), title="(a)")
    phase_portrait(axes[0, 1], run.y.theta_1, run.y.omega_1)
    axes[0, 1].set_title("(b) limit cycle of leg 1")
    for foot, colour in ((0, BLUE), (1, ORANGE)):
        impulse = np.where(run.impulses[2 * foot] > 0, run.impulses[2 * foot], np.nan)
        axes[1, 0].semilogy(t, impulse, ".", ms=1.5, color=colour, label=f"foot {foot + 1}")
        strike = impulse > 0.1
        axes[1, 0].plot(t[strike], impulse[strike], "o", ms=4, color=colour)
    paper = expected.IMPULSE.paper
    axes[1, 0].axhline(paper, color="black", lw=0.8, ls=":", label=f"paper, {paper:g}", zorder=0)
    axes[1, 0].set(
        xlabel=axis_label("time", "s"), ylabel=axis_label("normal impulse", "N s"), title="(c)", ylim=(5e-4, 1.0)
    )
    axes[1, 0].legend(loc="center right", markerscale=5)
    contact_strip(axes[1, 1], t, [run.impulses[0] > 0, run.impulses[2] > 0])
    axes[1, 1].set(xlabel=axis_label("time", "s"), title="feet on the ground")
    return figure


def _figure_5(run: Step, observed: dict[str, np.ndarray]) -> Any:
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.2))
    phase_portrait(axes[0], run.y.theta_1, run.y.omega_1, label="leg 1")
    phase_portrait(axes[0], run.y.theta_2, run.y.omega_2, label="leg 2", colour=ORANGE)
    axes[0].legend(loc="center")
    axes[0].set_title("(a) the two limit cycles")
    axes[1].plot(run.t, 1e3 * (observed["energy"] - observed["energy"][0]), color=BLUE)
    axes[1].set(
        xlabel=axis_label("time", "s"), ylabel=axis_label("mechanical energy", "mJ"), title="(b) energy, from the start"
    )
    walker = precision.cast(RigidWalker(friction=DENSE["figure_5"][1]))
    amounts = jax.jit(jax.vmap(lambda step: walker.amounts(step, DT)))(run)
    impact, friction = -np.cumsum(amounts["impact_work"]), -np.cumsum(amounts["friction_work"])
    axes[2].plot(run.t, 1e3 * impact, color=BLUE, label="impacts")
    axes[2].plot(run.t, 1e3 * friction, color=RED, label="friction")
    axes[2].set(xlabel=axis_label("time", "s"), ylabel=axis_label("energy lost", "mJ"), title="losses apart")
    axes[2].legend()
    return figure


def _figure_6(run: Step, observed: dict[str, np.ndarray]) -> Any:
    figure, axes = plt.subplots(2, 2, figsize=(8, 5.4))
    strike = int(np.argmax(np.maximum(run.impulses[0], run.impulses[2])))
    strike = max(strike, 100)
    window = slice(strike - 80, strike + 320)
    ms = 1e3 * (run.t[window] - run.t[strike])
    for foot, colour in ((1, BLUE), (2, ORANGE)):
        axes[0, 0].plot(ms, 1e3 * observed[f"gap_{foot}"][window], color=colour, label=f"foot {foot}")
    axes[0, 0].set(
        xlabel=axis_label("time from the first impact", "ms"),
        ylabel=axis_label("height of the foot", "mm"),
        title="(a) bounces",
        ylim=(-0.02, 0.6),
    )
    axes[0, 0].legend()
    axes[0, 1].plot(1e3 * run.y.y, run.y.vy, color=BLUE, lw=0.8)
    axes[0, 1].set(xlabel=axis_label("hip height", "mm"), ylabel=axis_label("hip velocity", "m/s"), title="(b)")
    phase_portrait(axes[1, 0], run.y.theta_1, run.y.omega_1)
    axes[1, 0].set_title("(c)")
    axes[1, 1].plot(ms, 1e3 * (observed["energy"][window] - observed["energy"][window][0]), color=BLUE)
    axes[1, 1].set(
        xlabel=axis_label("time from the first impact", "ms"),
        ylabel=axis_label("mechanical energy", "mJ"),
        title="(d) falls in steps",
    )
    return figure


def _store(report: Report, run: Step, observed: dict[str, np.ndarray], path: pathlib.Path) -> None:
    """Every tenth step as NetCDF, impulses as sums over ten."""
    columns = {**run.y._asdict(), **observed}
    data: dict[str, Any] = {k: ("time", np.asarray(v)[9::10], labels(*OBSERVABLES[k][:2])) for k, v in columns.items()}
    for i, values in enumerate(run.impulses):
        direction, foot = ("normal", "tangent")[i % 2], 1 + i // 2
        attributes = labels("N s", f"{direction} impulse on foot {foot} over ten steps")
        data[f"impulse_{direction}_{foot}"] = ("time", np.asarray(values).reshape(-1, 10).sum(axis=1), attributes)
    report.data(path, xr.Dataset(data, coords={"time": ("time", run.t[9::10], labels("s", "time"))}))
