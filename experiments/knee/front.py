"""The knee's trade-offs between rho, the error of the peak flexion and the tolerance to k, found in three ways.

Run `python -m experiments.knee.front --out DIR`: a table (front.md), pictures (front.png, front3.png) and the fronts
(front*.nc). With two objectives the front is sought by NSGA-II and followed by gradients, which also begin from some
of the designs found: bands where gaits are not stable cut the front into pieces, at whose edges slopes are left. With
three objectives NSGA-II is compared with a fine scan.

The third objective is the width of the good range of k: how far k may go down and up together before the walk no longer
repeats every stride or loses more than 1e-3 of rho against the design. It is read off the scan: what ends the range is
mostly a bifurcation, which the curvature of rho at the design does not show.
"""

from __future__ import annotations

import pathlib
import sys
import time
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import jax.numpy as jnp
import numpy as np
import tyro
import xarray as xr
from jax.scipy.ndimage import map_coordinates
from jaxtyping import Array, Float

from experiments.knee.search import leg
from experiments.knee.tune import OVER, RTOL
from jaxgait import ensemble, report
from jaxgait.analysis import gait
from jaxgait.ensembles import grid
from jaxgait.measure import Measure
from jaxgait.models.prosthesis.measures import MEASURES, MIN_SAMPLES, SETTLED_STRIDES, curves
from jaxgait.optimization import at_least, front
from jaxgait.optimization.pareto import hypervolume, nondominated
from jaxgait.plot.fronts import trade_offs
from jaxgait.plot.style import save
from jaxgait.run import Run

STRIDES = 20
SIZE = 41, 11
"""Points of the scan in k and in c."""
LOSS = 1e-3
"""Loss of rho that ends the good range of k."""
ROUNDED = 0.05
"""Below this error in deg the peak counts as met: the distance is rounded off there, to have a slope everywhere."""
WORST = np.array([-0.98, 12.0, 0.0])
"""Corner of the hypervolumes: rho (with its sign changed), error in deg, width in N/m (with its sign changed)."""


def _error(run: Run) -> Float[Array, ""]:
    measured = gait.maximum(jnp.degrees(curves(run)[1][: run.sampling.samples]))
    return jnp.hypot(MEASURES["peak_flexion"](run) - measured, ROUNDED) - ROUNDED


ERROR = Measure("peak_flexion_error", _error, "deg", "error of the peak flexion", 1, MIN_SAMPLES)


def _repeating(measure: Measure) -> Measure:
    """The measure of walks that repeat every stride; NaN for others, whose runs then count as failed."""

    def at(run: Run) -> Array:
        return jnp.where(MEASURES["order"](run) == 1.0, measure(run), jnp.nan)

    return Measure(measure.name, at, measure.unit, measure.long_name, SETTLED_STRIDES, MIN_SAMPLES)


RHO, ERROR_OF_WALKS = _repeating(MEASURES["rho"]), _repeating(ERROR)


def width(table: Float[np.ndarray, "k c"]) -> Measure:
    """The width of the good range of k in N/m, interpolated linearly between the points of the scan."""
    size, bounds = np.array(SIZE) - 1, np.array(list(OVER.values()))

    def at(run: Run) -> Array:
        damper = run.model.damper  # type: ignore[attr-defined]
        position = (jnp.stack([damper.k, damper.c]) - bounds[:, 0]) / np.ptp(bounds, axis=1) * size
        return map_coordinates(jnp.asarray(table), list(position), order=1, mode="nearest")

    return Measure("width", at, "N/m", "width of the good range of k")


def scanned() -> xr.Dataset:
    """Rho, error and width over k and c; NaN (width: 0) where the walk does not repeat every stride."""
    members = grid({name: np.linspace(*bounds, n) for (name, bounds), n in zip(OVER.items(), SIZE, strict=True)})
    walks = ensemble(leg(), members, strides=STRIDES, rtol=RTOL, observe=[RHO, ERROR_OF_WALKS], progress=False)
    rho = walks.rho.values
    widths = np.stack([widths_along(np.linspace(*OVER["damper.k"], SIZE[0]), column) for column in rho.T], axis=1)
    return walks.assign(width=(walks.rho.dims, widths, {"units": "N/m", "long_name": "width of the good range of k"}))


def widths_along(k: Float[np.ndarray, " n"], rho: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """For each k the width of the range around it in which rho is at most `LOSS` lower, 0 where there is no rho.

    The range ends between points by linear interpolation, and half a step before a point without a rho.
    """
    step = k[1] - k[0]

    def reach(i: int, direction: int) -> float:
        floor, n = rho[i] - LOSS, 0
        while 0 <= i + (n + 1) * direction < len(rho):
            here, there = rho[i + n * direction], rho[i + (n + 1) * direction]
            if not there >= floor:
                return n + ((here - floor) / (here - there) if np.isfinite(there) else 0.5)
            n += 1
        return float(n)

    return np.array([step * (reach(i, 1) + reach(i, -1)) if np.isfinite(x) else 0.0 for i, x in enumerate(rho)])


def fronts(scan: xr.Dataset, points: int, population: int, generations: int) -> dict[str, dict[str, xr.Dataset]]:
    """The front of rho and error by gradients and by NSGA-II, and with the width by NSGA-II and by the scan."""
    own: dict[str, Any] = {"over": OVER, "rtol": RTOL, "strides": STRIDES, "progress": False}
    evolved: dict[str, Any] = {**own, "method": "NSGA-II", "population": population, "generations": generations}
    many = _timed(front, leg(), maximize=RHO, minimize=ERROR_OF_WALKS, **evolved)
    own["starts"] = [{name: float(many[name][i]) for name in OVER} for i in range(0, many.sizes["point"], 4)]
    exact = _timed(front, leg(), maximize="rho", minimize=ERROR, points=points, gradient="gait", **own)
    evolved["subject_to"] = at_least(RHO, -WORST[0])
    more = _timed(front, leg(), maximize=[RHO, width(scan.width.values)], minimize=ERROR_OF_WALKS, **evolved)
    labels = {name: more.attrs[name] for name in ("objectives", "parameters", "senses")}
    flat = scan.reset_coords(drop=True).stack(point=scan.rho.dims)
    flat = flat.where(flat.rho >= -WORST[0])
    kept = flat.isel(point=nondominated(losses(flat))).reset_index("point").assign_attrs(labels, method="scan")
    return {"rho, error": {"gradient": exact, "NSGA-II": many}, "rho, error, width": {"NSGA-II": more, "scan": kept}}


def _timed(work: Callable[..., xr.Dataset], *given: Any, **options: Any) -> xr.Dataset:
    """What is found, with the processor time in s that it took, compilation included."""
    begin = time.process_time()
    found = work(*given, **options)
    return found.assign_attrs(seconds=time.process_time() - begin)


def losses(designs: xr.Dataset) -> Float[np.ndarray, "points objectives"]:
    """Objectives, the smaller the better; the width only where it was asked for."""
    columns = [-designs.rho.values, designs.peak_flexion_error.values]
    return np.stack([*columns, *([-designs.width.values] if "width" in designs else [])], axis=1)


def behind(designs: xr.Dataset, other: xr.Dataset) -> float:
    """How far every objective must improve for one front to reach all of another, as a share of that one's span.

    The additive epsilon indicator (Zitzler et al. 2003).
    """
    own, theirs = losses(designs), losses(other)
    apart = (own[None] - theirs[:, None]) / np.ptp(theirs, axis=0)
    return float(apart.max(axis=2).min(axis=1).max())


def table(results: Mapping[str, Mapping[str, xr.Dataset]]) -> str:
    """The figures in Markdown."""
    exact = results["rho, error"]["gradient"]
    headings = {
        "rho": "rho",
        "peak_flexion_error": "error / deg",
        "damper.k": "k / (N/m)",
        "damper.c": "c / (N s/m)",
        "exchange_rate": "error saved per 1e-3 of rho / deg",
        "remaining_slope": "remaining gradient",
    }
    points = []
    for rho, error, k, c, rate, slope in zip(*(exact[name].values for name in headings), strict=True):
        points.append([f"{rho:.5f}", f"{error:.3f}", f"{k:.0f}", f"{c:.0f}", f"{1e-3 * rate:.3f}", f"{slope:.1e}"])
    costs, rows = ["front", "points", "evaluations", "hypervolume", "behind the other / span", "processor time / s"], []
    for title, pair in results.items():
        (a, one), (b, two) = pair.items()
        rows += [_row(f"{title}: {name}", *own) for name, own in ((a, (one, two)), (b, (two, one)))]
    return f"{report.table([*headings.values()], points)}\n\n{report.table(costs, rows)}"


def _row(what: str, own: xr.Dataset, other: xr.Dataset) -> list[str]:
    volume = hypervolume(losses(own), WORST[: losses(own).shape[1]])
    runs = own.sizes.get("evaluation", int(np.prod(SIZE)))
    numbers = [f"{own.sizes['point']}", f"{runs}", f"{volume:.5g}", f"{behind(own, other):.3f}"]
    return [what, *numbers, f"{own.attrs['seconds']:.0f}"]


def main(
    out: Annotated[pathlib.Path, tyro.conf.arg(help="folder for table, pictures and fronts")],
    points: int = 9,
    population: int = 24,
    generations: int = 12,
) -> None:
    """Measures, draws and writes."""
    found = fronts(_timed(scanned), points, population, generations)
    out.mkdir(parents=True, exist_ok=True)
    for file, pair in zip(("front", "front3"), found.values(), strict=True):
        save(trade_offs(pair), out / f"{file}.png", dpi=110)
        for name, one in pair.items():
            one.to_netcdf(out / f"{file}_{name}.nc", engine="h5netcdf")
    (out / "front.md").write_text(table(found) + "\n")
    print(table(found))


if __name__ == "__main__":
    sys.exit(tyro.cli(main))
