"""Inverse dynamics of a walking exoskeleton: labelled histories of its prescribed motion, and figures of a step."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from jaxgait import checks
from jaxgait import precision as precisions
from jaxgait.checks import by_name
from jaxgait.mechanics import linalg
from jaxgait.models.exoskeleton.model import LEG_PARENTS, Exoskeleton
from jaxgait.models.exoskeleton.walking import step_numbers
from jaxgait.native import kept
from jaxgait.parameters import check_single
from jaxgait.precision import float64_default
from jaxgait.solve.checks import check_kind
from jaxgait.solve.dataset import labelled

_WHOLE = 1e-9  # tolerance of an integer number of samples


@by_name()
def histories(
    exo: Exoskeleton, *, strides: float | int = 1, samples: int = 400, precision: precisions.Precision = "float64"
) -> xr.Dataset:
    """Inverse dynamics along the prescribed motion, labelled.

    In the mode "gait" some variables jump when the feet are exchanged. A sample at that instant belongs to the step
    that ends there.

    Args:
        exo: the mechanism; its `mode` decides between one fixed foot and alternating feet.
        strides: number of strides of two steps, possibly a fraction such as 0.5.
        samples: samples per stride.
        precision: "float64" or "float32".

    Returns:
        A Dataset over `time` (s) with all variables of `Exoskeleton.prescribed`, by link (1..n) and axis.

    Raises:
        TypeError: for anything but an exoskeleton.
        ValueError: for impossible strides or samples, or a product of them that is not an integer.
        jaxgait.parameters.ParameterError: for impossible parameters, and for several values of one.
    """
    check_kind(exo, Exoskeleton, "telescopic links, Exoskeleton()")
    count = _samples(strides, samples)
    exo.validate()
    check_single(exo)
    index = np.arange(count + 1)
    step = step_numbers(index / samples, 1.0)
    with precisions.use(precision):
        cast = precisions.cast(exo)
        ts = jnp.asarray(index, dtype=float) * (cast.gait.stride_time / samples)
        values = jax.device_get(_prescribed(cast, ts, jnp.asarray(step, dtype=float)))
    time = xr.DataArray(np.asarray(ts), dims="time", attrs={"units": "s", "long_name": "time"})
    coords = {"time": time} | {dim: list(labels) for dim, labels in exo.labels.items()}
    data = {name: labelled(exo.variables, name, x, ("time",)) for name, x in values.items()}
    return xr.Dataset(data, coords=coords, attrs={"mode": exo.mode, "stride_time_s": float(exo.gait.stride_time)})


@kept
def _prescribed(exo: Exoskeleton, ts: Array, step: Array) -> dict[str, Array]:
    """All variables at each time; one program for all exoskeletons of one kind."""
    return jax.vmap(exo.prescribed)(ts, step)


def _samples(strides: float | int, samples: int) -> int:
    checks.number("strides", strides, "strides", above=0.0)
    exact = float(strides) * checks.count("samples", samples)
    if abs(exact - round(exact)) > _WHOLE * exact or exact < 0.5:
        raise ValueError(
            f"strides times samples must be a whole number of samples, got {strides:g} times {samples} = {exact:g}"
        )
    return round(exact)


class StepFigures(NamedTuple):
    """Figures of one step of the prescribed gait; all differentiable."""

    length: Float[Array, ""]
    """Step length in m; negative: backwards."""
    speed: Float[Array, ""]
    """Mean speed in m/s."""
    foot: Float[Array, "samples d"]
    """Path of the swing foot in m, at midpoints of equal parts of the step."""
    flexion: Float[Array, "samples 2"]
    """Knee flexion of stance and swing leg in rad."""
    work: Float[Array, " kinds"]
    """Positive work of the actuators in J: phi, (psi,) axial."""
    work_per_metre: Float[Array, ""]
    """All positive work over the distance of a step, in J/m: also of one backwards."""
    ankle: Float[Array, ""]
    """Largest moment of the stance ankle in N m."""
    friction: Float[Array, ""]
    """Largest ratio of horizontal to vertical ground reaction; without meaning if `lift` is negative."""
    lift: Float[Array, ""]
    """Smallest vertical ground reaction in N."""


@float64_default
def step_figures(exo: Exoskeleton, samples: int = 200, rounding: float = 0.0) -> StepFigures:
    """Figures of one step in pure JAX: `vmap` over the model for ensembles, differentiate for optimisation.

    Args:
        exo: the mechanism, with legs numbered as in the paper's examples; its leaves may be traced.
        samples: midpoints at which the step is evaluated.
        rounding: power in W over which the kink of positive work at zero power is rounded, for optimisers; 0: exact.

    Raises:
        ValueError: for an impossible number of samples or rounding, and for links other than two legs first.
    """
    if exo.parent[:4] != LEG_PARENTS:
        raise ValueError(f"the first four links must be two legs, with the parents {LEG_PARENTS}, got {exo.parent}")
    checks.count("samples", samples)
    checks.number("rounding", rounding, "W")
    if rounding < 0.0:
        raise ValueError(f"rounding must not be negative, got {rounding:g} W")
    duration = exo.gait.stride_time / 2
    part = jnp.asarray((np.arange(samples) + 0.5) / samples, dtype=jnp.asarray(exo.lengths).dtype)
    out = jax.vmap(exo.prescribed)(part * duration)
    kinds = ("phi", "l") if exo.dimension == 2 else ("phi", "psi", "l")
    work = jnp.stack([jnp.sum(_positive(out[f"power_{k}"], rounding)) for k in kinds]) * duration / samples
    angle = out[kinds[-2]]
    reaction = out["reaction"]
    length = exo.landing()[0]
    return StepFigures(
        length=length,
        speed=length / duration,
        foot=out["joints"][:, exo.exchange[0] - 1, 1],
        flexion=jnp.stack([angle[:, 1] - angle[:, 0], angle[:, 2] - angle[:, 3]], axis=1),
        work=work,
        work_per_metre=jnp.sum(work) / jnp.abs(length),
        ankle=jnp.max(jnp.abs(out["torque"][:, 0])),
        friction=jnp.max(linalg.norm(reaction[:, :-1]) / reaction[:, -1]),
        lift=jnp.min(reaction[:, -1]),
    )


def _positive(power: Array, rounding: float) -> Array:
    if rounding == 0.0:
        return jnp.maximum(power, 0.0)
    return (power + jnp.sqrt(power**2 + rounding**2)) / 2
