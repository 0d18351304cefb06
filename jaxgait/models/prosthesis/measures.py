"""Measures of a prosthetic knee: correlation with the sound knee, flexion and its velocity, work, load, periodicity.

    ensemble(Prosthesis(), grid, strides=20, observe=["rho", "peak_flexion", "order"])

They use the last five strides of a run counted in strides, at any sampling density; for a shorter run, all after the
first two, in which the leg leaves its start, or the last one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxgait.analysis import gait
from jaxgait.measure import Expected, Measure, Measures, table
from jaxgait.precision import float64_default
from jaxgait.roots import only_if
from jaxgait.run import TRANSIENT_STRIDES, Run

ANALYSED_STRIDES = 5
"""Largest number of strides, at the end of a run, that are measured (the paper runs 20 and takes the last 5)."""
SETTLED_STRIDES = 20
"""Least number of strides for the order, as in the paper: after ten, gaits of period one have not settled and count as
irregular. `dataclasses.replace(MEASURES["order"], strides=...)` allows shorter runs."""
MIN_SAMPLES = 50
"""Least number of samples per stride: mean peak flexion is within 0.02 degrees of that at 200, with 25 within 0.2."""
VELOCITY_SAMPLES = 100
"""Least number of samples per stride for velocities: their peaks, sharp where the toe leaves the ground, are within 1 %
of those with 2000, with 50 within 3 %. The largest of 100 samples is up to 3 % too low."""
MIN_CARRIED_LOAD, MAX_CARRIED_LOAD = 0.25, 0.75
"""Mean ground force of a leg that walks, in body weights. In a symmetric gait, each leg carries half of it."""
MAX_PEAK_LOAD = 5.0
"""Largest peak of the ground force of a leg that walks, in body weights. Legs that walk have 1.1 to 1.3; the reference
leg, with a rigid hip, has 3.0 (`docs/limits.md`). Those that hammer the floor have over 5."""
ON_GROUND = 20.0
"""Vertical force in N above which the foot counts as on the ground, as with force plates."""
REFINED = 10
"""Number of values of the knee's velocity per sample, interpolated by means of its acceleration."""


@float64_default
def curves(run: Run) -> tuple[Float[Array, " samples"], Float[Array, " samples"]]:
    """Simulated and measured knee flexion in rad at the samples of a run."""
    return run.once(_curves)


def _curves(run: Run) -> tuple[Array, Array]:
    model = run.model
    return jax.vmap(model.knee_angle)(run.ts, run.ys), jax.vmap(lambda t: model.hip(t).knee.value)(run.ts)  # type: ignore[attr-defined]


def _rho(run: Run) -> Float[Array, ""]:
    simulated, measured = curves(run)
    first = -_strides(run) * run.sampling.samples - 1
    return gait.correlation(simulated[first:], measured[first:])


def _peaks(run: Run) -> Float[Array, " strides"]:
    return jax.vmap(gait.maximum)(_last_strides(run))


def _last_strides(run: Run) -> Float[Array, "strides phases"]:
    """Flexion in deg over the analysed strides."""
    return run.once(_table)[-_strides(run) :]


def _table(run: Run) -> Float[Array, "strides phases"]:
    simulated, _ = curves(run)
    return jnp.degrees(gait.stride_table(simulated[:-1], run.sampling.samples))


def _strides(run: Run) -> int:
    total = run.sampling.strides or 0
    return min(ANALYSED_STRIDES, max(total - TRANSIENT_STRIDES, min(total, 1)))


def _order(run: Run) -> Float[Array, ""]:
    strides = jnp.radians(run.once(_table)[-gait.COMPARED_STRIDES :])
    order = gait.subharmonic_order(strides)
    return only_if(order >= 0, order.astype(strides.dtype))


def _last_outputs(run: Run) -> dict[str, Array]:
    """Outputs at the samples of the analysed strides, including their end."""
    return run.outputs(-_strides(run) * run.sampling.samples - 1)


def _peak_velocities(run: Run) -> tuple[Array, Array]:
    """Means over the strides of the largest velocities of flexion and extension, in rad/s."""
    out, interval = run.once(_last_outputs), run.sampling.spacing(run.model)
    rate = gait.refined(out["knee_rate"], out["knee_acceleration"] * interval, REFINED)
    strides = gait.stride_table(rate, REFINED * run.sampling.samples)
    return jnp.mean(jnp.max(strides, axis=1)), -jnp.mean(jnp.min(strides, axis=1))


def _smallest_flexion(run: Run) -> Float[Array, ""]:
    out, interval = run.once(_last_outputs), run.sampling.spacing(run.model)
    return jnp.degrees(gait.minimum(gait.refined(out["knee_angle"], out["knee_rate"] * interval, REFINED)))


def _mean(values: Float[Array, " samples"]) -> Float[Array, ""]:
    """Mean over time, with both ends: a gait of several strides need not have closed within those analysed."""
    return jnp.mean(0.5 * (values[1:] + values[:-1]))


def _knee_work(run: Run) -> Float[Array, ""]:
    out = run.once(_last_outputs)
    return _mean(out["damper_power"] + out["lock_power"]) * run.sampling.spacing(run.model) * run.sampling.samples


def _ground_force(run: Run) -> Float[Array, " samples"]:
    """Vertical force in N at the samples of the analysed strides, including their end."""
    out = run.once(_last_outputs)
    return out["heel_force"] + out["toe_force"]


def _peak_ground_force(run: Run) -> Float[Array, ""]:
    strides = gait.stride_table(run.once(_ground_force)[:-1], run.sampling.samples)
    return jnp.mean(jax.vmap(gait.maximum)(strides))


def _rms_difference(run: Run) -> Float[Array, ""]:
    simulated, measured = curves(run)
    first = -_strides(run) * run.sampling.samples - 1
    return jnp.degrees(jnp.sqrt(_mean((simulated[first:] - measured[first:]) ** 2)))


def _body_weight(model: Any) -> tuple[float, str]:
    """The body weight in N of the person who walks, and whose it is in words."""
    from jaxgait.models.prosthesis.fitting import REFERENCE_PERSON, body_mass

    person = model.drive.person or REFERENCE_PERSON
    whose = "the body weight" if person.mass is not None else "a body weight of 85 kg, as this person's is not known"
    return body_mass(person) * float(model.gravity), whose


def _expected_load(model: Any) -> Expected:
    weight, whose = _body_weight(model)
    why = f"(a quarter to three quarters of {whose}: in a symmetric gait, each leg carries half)"
    return Expected(MIN_CARRIED_LOAD * weight, MAX_CARRIED_LOAD * weight, why)


def _expected_peak(model: Any) -> Expected:
    weight, whose = _body_weight(model)
    return Expected(
        0.0, MAX_PEAK_LOAD * weight, f"(up to {MAX_PEAK_LOAD:g} times {whose}; people walk with 1.1 to 1.3)"
    )


def _measure(
    name: str, function: Callable[[Run], Array], unit: str, long_name: str, samples: int = MIN_SAMPLES, **more: Any
) -> Measure:
    return Measure(name, function, unit, long_name, strides=1, samples_per_stride=samples, **more)


correlation = _measure("rho", _rho, "1", "gait correlation coefficient")
"""Gait correlation coefficient over the last strides: the objective of the knee's design."""
ground_force = _measure(
    "mean_ground_force",
    lambda run: _mean(run.once(_ground_force)),
    "N",
    "mean vertical ground force of the last strides, up to 5",
    expected=_expected_load,
)
"""Half the body weight in a symmetric gait. With 50 samples per stride it is within 1 % of that with 2000."""

MEASURES = table(
    correlation,
    _measure(
        "peak_flexion",
        lambda run: jnp.mean(run.once(_peaks)),
        "deg",
        "peak knee flexion, mean of the last strides, up to 5",
    ),
    _measure("peak_flexion_min", lambda run: jnp.min(run.once(_peaks)), "deg", "smallest peak knee flexion"),
    _measure("peak_flexion_max", lambda run: jnp.max(run.once(_peaks)), "deg", "largest peak knee flexion"),
    _measure(
        "smallest_flexion",
        _smallest_flexion,
        "deg",
        "smallest knee flexion (hyperextension is negative)",
    ),
    _measure(
        "peak_flexion_velocity",
        lambda run: jnp.degrees(run.once(_peak_velocities)[0]),
        "deg/s",
        "peak knee flexion velocity, mean of the last strides, up to 5",
        VELOCITY_SAMPLES,
    ),
    _measure(
        "peak_extension_velocity",
        lambda run: jnp.degrees(run.once(_peak_velocities)[1]),
        "deg/s",
        "peak knee extension velocity (positive), mean of the last strides, up to 5",
        VELOCITY_SAMPLES,
    ),
    _measure(
        "knee_work",
        _knee_work,
        "J",
        "net work of the knee per stride (negative: absorbed), mean of the last strides, up to 5",
    ),
    ground_force,
    _measure(
        "peak_ground_force",
        _peak_ground_force,
        "N",
        "peak vertical ground force, mean of the last strides, up to 5",
        expected=_expected_peak,
    ),
    _measure(
        "ground_share",
        lambda run: 100.0 * jnp.mean(run.once(_ground_force)[:-1] > ON_GROUND),
        "%",
        "share of the samples of the last strides with more than 20 N on the ground",
    ),
    _measure(
        "knee_rms_difference",
        _rms_difference,
        "deg",
        "RMS difference of the knee flexion from the measured one, in the last strides, up to 5",
    ),
    Measure(
        "order",
        _order,
        "1",
        "subharmonic order (0: irregular)",
        strides=SETTLED_STRIDES,
        samples_per_stride=MIN_SAMPLES,
    ),
)
"""The measures of the knee by name."""

measures = Measures(tuple(MEASURES.values()))
"""All of `MEASURES` together, for runs of at least `SETTLED_STRIDES` strides."""
