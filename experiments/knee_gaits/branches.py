"""The knee's periodic gaits, solved for and followed over dampers, and the twenty-stride scan.

Its touch-down is soft: across the paper's 1 micrometre, multipliers are right only if the steps resolve the layer
(specification, section 10); correlation and period hardly change.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import xarray as xr

from jaxgait import ensemble, precision
from jaxgait.analysis.crossings import Crossing, crossings
from jaxgait.analysis.families import Family, Gaits, follow, gaits
from jaxgait.ensembles import zipped
from jaxgait.model import Scalar
from jaxgait.models.prosthesis.measures import measures
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.parameters import with_parameters
from jaxgait.solve.periodic import StroboscopicMap
from jaxgait.solve.smooth import Smooth

from ..knee.tune import soft

RTOL = 1e-7
"""At 1e-6 some steps miss the layer, and a multiplier may be wrong by 1."""
FINE_RTOL, FINE_TOLERANCE = 1e-8, 1e-4
"""Tolerances for locating bifurcations: at `RTOL` a multiplier may still be off by 0.1, and the bifurcation by 2 % of
k."""
TOLERANCE = 5e-4
"""Residual of a gait before its last correction in rad and rad/s; rates are about 10 rad/s."""
RATIOS = np.round(np.arange(0.03, 0.0901, 0.01), 4)
"""c/k in s."""
START = 1.8e4
"""k in N/m from which branches are followed both ways."""
DOWN, UP = np.arange(START, 1.19e4, -1e3), np.arange(START, 3.01e4, 1e3)
K = np.arange(1.2e4, 3.01e4, 1e3)
LINE, LINE_K = 0.05, np.arange(1.2e4, 3.01e4, 5e2)
"""c/k and k of the bifurcation diagram."""
DOUBLED = np.arange(1.4e4, 1.56e4, 3e2), np.arange(1.4e4, 1.24e4, -5e2)
"""k along which period-two gaits are followed, up and down, at c/k = `LINE`."""
WIDTH = 10.0
"""Interval of k in N/m within which bifurcations are located."""
KEPT = 8


def damped(leg: Prosthesis, ratio: Scalar, k: Scalar) -> Prosthesis:
    """The leg with a damper of k in N/m and c/k in s."""
    return with_parameters(leg, {"damper.k": k, "damper.c": ratio * k})


def family(rtol: float = RTOL, lanes: int = len(RATIOS), tolerance: float = TOLERANCE) -> Family:
    """Members: c/k; parameter: k. Needs float64."""
    leg = precision.cast(soft(Prosthesis()))
    strobe = StroboscopicMap(Smooth.of(leg, rtol=rtol, atol=1e-2 * rtol))
    return Family(strobe, leg, damped, RATIOS, tolerance=tolerance, corrections=6, lanes=lanes)


def _observe(run: Any) -> dict[str, Any]:
    """The measures, and the states at the last heel strikes."""
    last = -100 * KEPT - 1
    return measures(run) | {"strobe": jnp.stack([leaf[last::100] for leaf in run.ys])}


def scan(progress: bool) -> tuple[xr.Dataset, xr.Dataset]:
    """Twenty strides from the model's start: over k and c/k, and along the bifurcation diagram."""
    leg = soft(Prosthesis())
    kk, rr = (a.ravel() for a in np.meshgrid(K, RATIOS, indexing="ij"))
    k, ratio = np.append(kk, LINE_K), np.append(rr, np.full(LINE_K.size, LINE))
    options: dict[str, Any] = {"strides": 20, "observe": _observe, "retry": False, "rtol": 1e-5}
    runs = ensemble(leg, zipped({"damper.k": k, "damper.c": ratio * k}), progress=progress, **options)
    order, strobe = np.where(runs.status == 0, runs.order, np.nan), runs.strobe.values
    table = {
        "order": order[: kk.size].reshape(K.size, -1),
        "strobe": strobe[: kk.size].reshape(K.size, RATIOS.size, -1, KEPT + 1),
    }
    axes = ("k", "ratio", "component", "stride")
    over = xr.Dataset({name: (axes[: a.ndim], a) for name, a in table.items()}, {"k": K, "ratio": RATIOS})
    line = {"order": ("k", order[kk.size :]), "strobe": (("k", "component", "stride"), strobe[kk.size :])}
    return over, xr.Dataset(line, {"k": LINE_K})


def period_one(over: xr.Dataset, progress: bool) -> tuple[Gaits, list[Crossing]]:
    """The period-one gaits of every c/k along increasing k, stable or not, and where stability changes.

    The first guess is the mean of the last two heel strikes of the scan at `START`, in case strides alternate.
    """
    knee, members = family(), np.arange(RATIOS.size)
    strobe = over.strobe.sel(k=START).values
    middle = gaits(knee, members, np.full(RATIOS.size, START), strobe[:, :, -2:].mean(axis=2)[:, None, :])
    parts = [follow(knee, members, values, middle.z, progress=progress) for values in (DOWN, UP)]
    whole = Gaits(*(np.concatenate([down[:0:-1], up]) for down, up in zip(*parts, strict=True)))
    fine = family(rtol=FINE_RTOL, tolerance=FINE_TOLERANCE)
    return whole, crossings(fine, whole, width=WIDTH, progress=progress)


def period_two(line: xr.Dataset, progress: bool) -> Gaits:
    """The period-two gaits at c/k = `LINE` along k, from the end of the scan at the first k of `DOUBLED`."""
    members = np.array([int(np.argmin(np.abs(RATIOS - LINE)))])
    last = line.strobe.sel(k=DOUBLED[0][0]).values[:, -2:]
    parts = [follow(family(), members, values, last.T[None], progress=progress) for values in DOUBLED[::-1]]
    whole = Gaits(*(np.concatenate([down[:0:-1], up]) for down, up in zip(*parts, strict=True)))
    single = np.abs(whole.z[:, :, 0] - whole.z[:, :, 1]).max(axis=2) < 1e-2  # beyond the bifurcation: one stride, twice
    for field in whole[2:]:
        field[single] = np.nan
    return whole
