"""Inverse dynamics of a walking exoskeleton: measures of a step, and labelled histories of its prescribed motion.

    ensemble(five_links(mode="gait"), {"gait.stretch": stretches}, observe=["speed", "work_per_metre", "least_lift"])

`MEASURES` are those of the prescribed step, whatever the run and its end; only `largest_tracking_error` is that of the
run itself, and of trees that do not begin with two legs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from jaxgait import precision as precisions
from jaxgait.kinds import check_kind
from jaxgait.measure import Measure, table
from jaxgait.mechanics import linalg
from jaxgait.models.exoskeleton.model import LEG_PARENTS, Exoskeleton
from jaxgait.models.exoskeleton.walking import step_numbers
from jaxgait.native import kept
from jaxgait.precision import float64_default
from jaxgait.run import Run
from jaxgait.solve.dataset import labelled
from jaxgait.support import checks
from jaxgait.support.checks import by_name

MIN_SAMPLES = 100
"""Least number of samples of a step for its measures.

With stride times of 0.9 to 2.5 s, work and ankle moment of the example's gait are within 0.1 % of those with 3200
samples, the required friction within 0.2 %, the smallest reaction within 0.1 % of the weight.
"""
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

    Examples:
        >>> from jaxgait.models.exoskeleton import five_links, histories
        >>> walk = histories(five_links(mode="gait"), strides=2, samples=20)
        >>> print(walk.sizes["time"], walk.torque.dims, walk.torque.attrs["units"])
        41 ('time', 'link', 'axis') N m
    """
    check_kind(exo, Exoskeleton, "telescopic links, Exoskeleton()")
    count = _samples(strides, samples)
    exo.validate()
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
    """Largest moment of the stance ankle in the sagittal plane, in N m."""
    friction: Float[Array, ""]
    """Largest ratio of horizontal to vertical ground reaction; without meaning unless `lift` is positive."""
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
        TypeError: for anything but an exoskeleton.
        ValueError: for an impossible number of samples or rounding, and for links other than two legs first.
        jaxgait.parameters.ParameterError: for several values of one parameter.

    Examples:
        >>> from jaxgait.models.exoskeleton import five_links, step_figures
        >>> step = step_figures(five_links(), samples=100)
        >>> print(round(float(step.length), 3), round(float(step.friction), 2))  # m, without dimension
        0.433 0.57
    """
    check_kind(exo, Exoskeleton, "telescopic links, Exoskeleton()")
    checks.count("samples", samples)
    checks.number("rounding", rounding, "W")
    if rounding < 0.0:
        raise ValueError(f"rounding must not be negative, got {rounding:g} W")
    return _figures(exo, _at_midpoints(exo, samples), rounding)


def figures_of(run: Run, rounding: float = 0.0) -> StepFigures:
    """Figures of the prescribed step, at midpoints whose number is that of the run's samples.

    These are its samples per stride, or all samples of a run that is not counted in strides; at least `MIN_SAMPLES`.

    Args:
        run: a run, by any scheme, of an exoskeleton with two legs.
        rounding: see `step_figures`.

    Examples:
        >>> from jaxgait import Measure, simulate
        >>> from jaxgait.models.exoskeleton import five_links
        >>> from jaxgait.models.exoskeleton.measures import figures_of
        >>> highest = Measure("highest", lambda run: figures_of(run).foot[:, 2].max(), "m", "height of the swing foot")
        >>> run = simulate(five_links(mode="gait"), scheme="Prescribed", samples=4, observe=highest)
        >>> print(round(float(run.highest), 3))  # m
        0.093
    """
    return _figures(run.model, run.once(_at_own_midpoints), rounding)


def _at_own_midpoints(run: Run) -> dict[str, Array]:
    exo: Any = run.model
    return _at_midpoints(exo, max(run.sampling.samples, MIN_SAMPLES))


def _at_midpoints(exo: Exoskeleton, samples: int) -> dict[str, Array]:
    """All variables of the prescribed motion at midpoints of equal parts of a step."""
    if not exo.has_legs:
        raise ValueError(f"the first four links must be two legs, with the parents {LEG_PARENTS}, got {exo.parent}")
    part = jnp.asarray((np.arange(samples) + 0.5) / samples, dtype=jnp.asarray(exo.lengths).dtype)
    return jax.vmap(exo.prescribed)(part * (exo.gait.stride_time / 2))


def _figures(exo: Any, out: dict[str, Array], rounding: float) -> StepFigures:
    duration, kinds = exo.gait.stride_time / 2, ("phi", "l") if exo.dimension == 2 else ("phi", "psi", "l")
    angle, reaction, length = out[kinds[-2]], out["reaction"], exo.landing()[0]
    ankle = out["torque"][:, 0] if exo.dimension == 2 else out["torque"][:, 0, 1]
    work = jnp.stack([jnp.sum(_positive(out[f"power_{k}"], rounding)) for k in kinds]) * duration / angle.shape[0]
    return StepFigures(
        length=length,
        speed=length / duration,
        foot=out["joints"][:, exo.exchange[0] - 1, 1],
        flexion=jnp.stack([angle[:, 1] - angle[:, 0], angle[:, 2] - angle[:, 3]], axis=1),
        work=work,
        work_per_metre=jnp.sum(work) / jnp.abs(length),
        ankle=jnp.max(jnp.abs(ankle)),
        friction=jnp.max(linalg.norm(reaction[:, :-1]) / reaction[:, -1]),
        lift=jnp.min(reaction[:, -1]),
    )


def _positive(power: Array, rounding: float) -> Array:
    if rounding == 0.0:
        return jnp.maximum(power, 0.0)
    return (power + jnp.sqrt(power**2 + rounding**2)) / 2


def _of_step(name: str, read: Callable[[StepFigures], Array], unit: str, long_name: str, early: bool = True) -> Measure:
    return Measure(name, lambda run: read(run.once(figures_of)), unit, long_name, early=early)


TREE_MEASURES = table(
    Measure(
        "largest_tracking_error",
        lambda run: run.extremes("tracking_error").largest,
        "m",
        "largest distance of a link vector from the prescribed one, over all steps of the run",
        watch=("tracking_error",),
    ),
)
"""The measures of any tree of links by name."""

MEASURES = table(
    _of_step("step_length", lambda step: step.length, "m", "length of the prescribed step (negative: backwards)"),
    _of_step("speed", lambda step: step.speed, "m/s", "mean speed of the prescribed step"),
    _of_step("work", lambda step: jnp.sum(step.work), "J", "positive work of all actuators in the prescribed step"),
    _of_step(
        "work_per_metre",
        lambda step: step.work_per_metre,
        "J/m",
        "positive work of all actuators per metre of the prescribed step",
    ),
    _of_step(
        "peak_ankle_moment",
        lambda step: step.ankle,
        "N m",
        "largest sagittal moment of the stance ankle in the prescribed step",
    ),
    _of_step(
        "required_friction",
        lambda step: jnp.where(step.lift > 0.0, step.friction, jnp.nan),
        "1",
        "friction coefficient that the prescribed step requires",
        early=False,  # so that gaps raise a warning
    ),
    _of_step("least_lift", lambda step: step.lift, "N", "smallest vertical ground reaction in the prescribed step"),
    _of_step(
        "least_knee_flexion",
        lambda step: jnp.min(step.flexion),
        "rad",
        "smallest knee flexion of both legs in the prescribed step",
    ),
    *TREE_MEASURES.values(),
)
"""The measures of an exoskeleton with two legs by name."""
