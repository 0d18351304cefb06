"""The ensembles of the knee's reproduction."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import xarray as xr

from jaxgait import ensemble
from jaxgait.analysis import gait
from jaxgait.ensembles import zipped
from jaxgait.measure import Measure
from jaxgait.models.prosthesis.measures import ANALYSED_STRIDES, MEASURES, curves
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.report import labels

from .expected import RATIO

STRIDES = 20
"""Number of strides, as in the paper."""
SETTLED = 28
"""Strides of the time histories. With a lifted hip (set R2, k = 15.2 kN/m) they begin with a chaotic transient, whose
length depends on rounding: of 256 dampers that differ by less than 2e-6, two are still irregular after 20 strides, one
after 24, none after 28."""
RESOLVED = 12
"""Last strides whose spectrum is computed: 12 resolve 1/2, 1/3 and 1/4 of the stride frequency."""
LINES = 49
"""Spectral lines kept, up to four times the stride frequency."""
BATCH = 528
"""Members: sixteen rows of the map. Four equal batches keep two cores busy to the end."""
RTOL = 1e-5


def _amplitude(run: Any) -> Any:
    simulated, _ = curves(run)
    _, amplitude = gait.spectrum(jnp.degrees(simulated[-RESOLVED * run.sampling.samples - 1 : -1]), RESOLVED)
    return amplitude[:LINES]


def _sampled_peak(run: Any) -> Any:
    simulated, _ = curves(run)
    table = gait.stride_table(jnp.degrees(simulated[:-1]), run.sampling.samples)
    return jnp.mean(jnp.max(table[-ANALYSED_STRIDES:], axis=1))


SAMPLED_PEAK = Measure(
    "sampled_peak",
    _sampled_peak,
    "deg",
    "peak knee flexion at the samples, mean of the last strides",
    strides=ANALYSED_STRIDES,
)
"""The specification's peak: at 100 samples a stride, up to 0.07 deg below `peak_flexion`."""
AMPLITUDE = Measure(
    "amplitude",
    _amplitude,
    "deg",
    "amplitude spectrum of the knee",
    strides=RESOLVED,
    samples_per_stride=2 * LINES // RESOLVED,
    dims=("frequency",),
)


def histories(leg: Prosthesis, cases: list[tuple[float, float]], progress: bool) -> xr.Dataset:
    """Time histories for (k in N/m, hip lift) at c/k = 0.05 s, dimension `member`."""
    k, lift = (np.array(x) for x in zip(*cases, strict=True))
    members = zipped({"damper.k": k, "damper.c": RATIO * k, "hip_lift": lift})
    options: dict[str, Any] = {"observe": MEASURES, "trajectories": True, "rtol": 1e-6}
    return ensemble(leg, members, strides=SETTLED, progress=progress, **options)


def grid(k: np.ndarray, ratio: np.ndarray) -> Any:
    """Members with dimensions `k` and `ratio`."""
    kk, rr = np.meshgrid(k, ratio, indexing="ij")
    return zipped({"damper.k": kk, "damper.c": kk * rr}, axes={"k": k, "ratio": ratio})


def scan(leg: Prosthesis, k: np.ndarray, ratio: np.ndarray, progress: bool) -> xr.Dataset:
    """The map over k in N/m and c/k in s."""
    options: dict[str, Any] = {
        "observe": [*MEASURES.values(), SAMPLED_PEAK, AMPLITUDE],
        "retry": False,
        "rtol": RTOL,
        "batch": BATCH,
    }
    data = ensemble(leg, grid(k, ratio), strides=STRIDES, progress=progress, **options)
    data["k"].attrs |= labels("N/m", "stiffness of the damper")
    data["ratio"].attrs |= labels("s", "c/k of the damper")
    return data.assign_coords(frequency=("frequency", np.arange(LINES) / RESOLVED, labels("1/stride", "frequency")))


def first_fall(x: np.ndarray, y: np.ndarray, level: float) -> float:
    """Where a curve y (n,) over x (n,) first falls through a level, interpolated, in the unit of x; NaN: nowhere."""
    falls = np.flatnonzero((y[:-1] > level) & (y[1:] <= level))
    if not falls.size:
        return float("nan")
    i = int(falls[0])
    return float(x[i] + (x[i + 1] - x[i]) * (y[i] - level) / (y[i] - y[i + 1]))
