"""What a designer of a prosthetic knee wants to know of a run: correlation with the sound knee, flexion, periodicity.

All functions take a run of `jaxgait.ensemble` (anything with `model`, `ts` and `ys`) sampled from its start in whole
strides; they make good `observe` functions and objectives.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxgait.analysis import gait

ANALYSED = 5
"""Last strides of a run from which correlation and flexion are read (the paper runs 20 and takes the last 5)."""
COMPARED = 9
"""Last strides that are compared with each other for the subharmonic order."""

VARIABLES = {
    "rho": ("1", "gait correlation coefficient"),
    "peak_flexion": ("deg", "peak knee flexion, mean of the last strides"),
    "peak_flexion_min": ("deg", "smallest peak flexion"),
    "peak_flexion_max": ("deg", "largest peak flexion"),
    "smallest_flexion": ("deg", "smallest knee angle (hyperextension is negative)"),
    "order": ("1", "subharmonic order (0: irregular)"),
}
"""Units and long names of what `measures` returns."""


def curves(run: Any) -> tuple[Float[Array, " samples"], Float[Array, " samples"]]:
    """Simulated and measured knee flexion in rad at the samples of a run."""
    simulated = jax.vmap(run.model.knee_angle)(run.ts, run.ys)
    return simulated, jax.vmap(lambda t: run.model.hip(t).knee.value)(run.ts)


def correlation(run: Any) -> Float[Array, ""]:
    """Gait correlation coefficient over the last strides of a run: the objective of the knee's design."""
    simulated, measured = curves(run)
    last = _last(run)
    return gait.correlation(simulated[-last - 1 :], measured[-last - 1 :])


def measures(run: Any) -> dict[str, Array]:
    """Correlation, peak flexion (deg; mean, least, largest), smallest flexion (deg) and subharmonic order of a run."""
    simulated, measured = curves(run)
    last, per_stride = _last(run), _samples_per_stride(run)
    table = jnp.degrees(gait.stride_table(simulated[:-1], per_stride))
    peaks = gait.peak_flexion(table[-ANALYSED:])
    return {
        "rho": gait.correlation(simulated[-last - 1 :], measured[-last - 1 :]),
        "peak_flexion": jnp.mean(peaks),
        "peak_flexion_min": jnp.min(peaks),
        "peak_flexion_max": jnp.max(peaks),
        "smallest_flexion": jnp.min(table[-ANALYSED:]),
        "order": gait.subharmonic_order(jnp.radians(table[-COMPARED:])).astype(simulated.dtype),
    }


def _samples_per_stride(run: Any) -> int:
    """Samples per stride of the library's sampling (see `jaxgait.solve.simulate.sample_times`)."""
    from jaxgait.solve.simulate import SAMPLES_PER_STRIDE

    return min(SAMPLES_PER_STRIDE, run.ts.shape[0] - 1)


def _last(run: Any) -> int:
    """Samples of the analysed strides, or of all strides of a shorter run."""
    per_stride = _samples_per_stride(run)
    return per_stride * min(ANALYSED, (run.ts.shape[0] - 1) // per_stride)
