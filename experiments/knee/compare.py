"""The best damper found four ways on one budget of evaluations: scan, gradients, CMA-ES, Nelder-Mead.

Run `python -m experiments.knee.compare --out DIR`: a table (compare.md) and a picture (compare.png). Once k and c are
free, once c/k is fixed to the paper's 0.05 s. An evaluation is a walk of twenty strides; for the gradient method, a
periodic gait with its slopes, in the table's processor time. Only gaits that repeat every stride count. Every winner is
walked again for forty strides, and that rho is compared.
"""

from __future__ import annotations

import pathlib
import sys
import time
from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import tyro
from jaxtyping import Float
from matplotlib.figure import Figure

from experiments.knee.expected import RATIO
from experiments.knee.search import leg
from experiments.knee.tune import OVER, RTOL
from jaxgait import ensemble, report
from jaxgait.ensembles import grid, zipped
from jaxgait.measure import Measure
from jaxgait.model import Scalar, parameter
from jaxgait.models.prosthesis.measures import MEASURES
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.models.prosthesis.parts import Damper
from jaxgait.optimization import optimize
from jaxgait.parts import with_parts
from jaxgait.plot.style import BLUE, GREEN, GREY, ORANGE, RED, save, style
from jaxgait.run import Run

MIN_DISTANCE = 1e-7
"""Smallest distance that is drawn."""
STRIDES, AGAIN = 20, 40
"""Strides of an evaluation, and of the winners' comparison."""
WITHIN = 1e-4
"""Distance from the best of all methods that counts as having reached it."""
ORDERS = 400
"""Random orders of the scan's members, over which its progress is a median."""
COLOURS = {"scan": ORANGE, "SLSQP": BLUE, "CMA-ES": GREEN, "Nelder-Mead": RED}
STARTS = {"SLSQP": 8, "CMA-ES": 1, "Nelder-Mead": 2}


class Proportional(Damper):
    """A damper whose c is a fixed multiple of its k."""

    ratio: Scalar = parameter(RATIO, unit="s", doc="c/k of the damper", bounds="nonnegative", source="paper, Table 4")

    def force(self, length: Scalar, rate: Scalar) -> Scalar:
        """Force in N at a length in m and its rate in m/s."""
        return self.k * (length - self.rest_length + self.ratio * rate)


def _repeating(run: Run) -> Any:
    return jnp.where(MEASURES["order"](run) == 1.0, MEASURES["rho"](run), 0.0)


REPEATING = Measure("rho_repeating", _repeating, "1", "rho of a walk that repeats every stride, else 0", STRIDES, 50)
"""Objective: a gait that is solved for repeats every stride, so that a walk that does not counts for nothing."""


class Case(NamedTuple):
    """What is varied."""

    name: str
    leg: Prosthesis
    over: dict[str, tuple[float, float]]


class Tried(NamedTuple):
    """What a method did."""

    method: str
    best: dict[str, float]
    rho: Float[np.ndarray, " evaluations"]
    """Best so far after each evaluation."""
    seconds: float
    """Processor time without compilation."""


def cases() -> list[Case]:
    """Both k and c free, and c/k fixed."""
    free = leg()
    k = {"damper.k": OVER["damper.k"]}
    return [Case("k and c free", free, OVER), Case(f"c/k = {RATIO} s", with_parts(free, {"damper": Proportional()}), k)]


def scanned(case: Case, budget: int) -> Tried:
    """A grid with as many points as the budget allows."""
    side = int(budget ** (1.0 / len(case.over)))
    members = grid({name: np.linspace(*bounds, side) for name, bounds in case.over.items()})
    options: dict[str, Any] = {"strides": STRIDES, "rtol": RTOL, "observe": [REPEATING], "progress": False}
    begin = time.process_time()
    rho = np.nan_to_num(ensemble(case.leg, members, **options).rho_repeating.values.ravel())
    took = time.process_time() - begin
    best = {name: float(members.values[name][np.argmax(rho)]) for name in case.over}
    return Tried("scan", best, _in_any_order(rho), took)


def searched(case: Case, method: str, budget: int) -> Tried:
    """A search whose starts share the budget; evaluations beyond it are ignored."""
    starts, n = STARTS[method], len(case.over)
    per_step = {"SLSQP": 1, "CMA-ES": 4 + int(3 * np.log(n)), "Nelder-Mead": n + 1}[method]
    options: dict[str, Any] = {"strides": STRIDES, "rtol": RTOL, "progress": False, "starts": starts}
    options["iterations"] = max(budget // (starts * per_step), 1)
    goal = "rho" if method == "SLSQP" else REPEATING
    begin = time.process_time()
    found = optimize(case.leg, maximize=goal, over=case.over, method=method, **options).history
    took = time.process_time() - begin
    asked = found.status.values.T != -1  # in the order in which the starts asked, side by side
    column = lambda name: found[name].values.T[asked][:budget]
    rho = np.where(column("allowed") == 1, column("objective"), 0.0)
    best = {name: float(column(name)[np.argmax(rho)]) for name in case.over}
    return Tried(method, best, np.maximum.accumulate(rho), took)


def _in_any_order(rho: np.ndarray) -> np.ndarray:
    """Best so far of members in random order, the median over many orders: a grid has no order of its own."""
    shuffled = np.random.default_rng(0).permuted(np.tile(rho, (ORDERS, 1)), axis=1)
    return np.median(np.maximum.accumulate(shuffled, axis=1), axis=0)


def compared(budget: int) -> dict[str, list[tuple[Tried, float]]]:
    """For each case what each method did, with rho of its winner's long walk (0 if that does not repeat)."""
    found = {}
    for case in cases():
        for method, starts in STARTS.items():
            searched(case, method, 4 * starts)  # compiles
        scanned(case, 4)
        tried = [scanned(case, budget), *(searched(case, method, budget) for method in STARTS)]
        winners = zipped({name: [one.best[name] for one in tried] for name in case.over})
        walks = ensemble(case.leg, winners, strides=AGAIN, rtol=RTOL, observe=[REPEATING], progress=False)
        found[case.name] = list(zip(tried, map(float, walks.rho_repeating.values), strict=True))
    return found


def picture(trials: dict[str, list[tuple[Tried, float]]]) -> Figure:
    """How far each method is from the best of all, over the evaluations."""
    with style():
        figure, axes = plt.subplots(1, len(trials), figsize=(9.0, 3.6), sharey=True)
        for ax, (name, tried) in zip(axes, trials.items(), strict=True):
            top = max(one.rho[-1] for one, _ in tried)
            for one, _ in tried:
                at, gap = np.arange(1, len(one.rho) + 1), np.maximum(top - one.rho, MIN_DISTANCE)
                ax.step(at, gap, where="post", color=COLOURS[one.method], label=one.method)
                ax.plot(at[-1], gap[-1], "o", color=COLOURS[one.method], ms=4)
            ax.axhline(WITHIN, color=GREY, lw=1, ls="--", label=f"within {WITHIN:g}")
            ax.set(
                title=f"{name}: best rho {top:.5f}", xlabel="evaluations", yscale="log", ylim=(MIN_DISTANCE / 2, 1.0)
            )
        axes[0].set_ylabel("rho below the best of all methods")
        axes[-1].legend(loc="upper right")
    return figure


def table(trials: dict[str, list[tuple[Tried, float]]]) -> str:
    """The figures in Markdown."""
    headings = ["case", "method", "best (N/m, N s/m)", f"rho of a walk of {AGAIN} strides", "evaluations"]
    headings += [f"until within {WITHIN:g} of the best", "processor time / s"]
    lines = []
    for name, tried in trials.items():
        top = max(one.rho[-1] for one, _ in tried)
        for one, walked in tried:
            near = np.flatnonzero(one.rho > top - WITHIN)
            until = str(near[0] + 1) if near.size else "never"
            best = ", ".join(f"{parameter} = {x:.0f}" for parameter, x in one.best.items())
            lines.append([name, one.method, best, f"{walked:.6f}", str(len(one.rho)), until, f"{one.seconds:.1f}"])
    return report.table(headings, lines)


def main(out: Annotated[pathlib.Path, tyro.conf.arg(help="folder for table and picture")], budget: int = 120) -> None:
    """Measures, draws and writes."""
    found = compared(budget)
    out.mkdir(parents=True, exist_ok=True)
    save(picture(found), out / "compare.png")
    (out / "compare.md").write_text(table(found) + "\n")
    print(table(found))


if __name__ == "__main__":
    sys.exit(tyro.cli(main))
