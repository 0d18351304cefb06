"""The driver for one trajectory: a model in, labelled results out."""

from __future__ import annotations

from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float

from jaxgait import precision as precisions
from jaxgait.models.base import Model, State
from jaxgait.native import native
from jaxgait.solve import status
from jaxgait.solve.dataset import trajectory_dataset
from jaxgait.solve.integrate import Settings, Trajectory, integrate, settings_for

SAMPLES_PER_STRIDE = 100
SAMPLES_PER_RUN = 1000


def simulate(
    model: Model,
    *,
    strides: int | None = None,
    duration: float | None = None,
    samples: int | None = None,
    initial_state: State | None = None,
    precision: precisions.Precision = "float64",
    solver: diffrax.AbstractSolver | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    max_step: float | None = None,
    max_steps: int | None = None,
    progress: bool = False,
) -> xr.Dataset:
    """Runs one trajectory and returns its labelled time histories.

    Args:
        model: the mechanism.
        strides: how many strides (periods) to run, for models that have a period.
        duration: how long to run in s, instead of `strides`; the model's own duration if both are None.
        samples: samples per stride (with `strides`) or in all.
        initial_state: where to start; the model's own initial state if None.
        precision: "float64" (reference) or "float32".
        solver: any diffrax solver; the default suits the model (see `settings_for`).
        rtol: relative tolerance; the default suits the model.
        atol: absolute tolerance, in the units of the state.
        max_step: longest step in s.
        max_steps: steps after which the run is given up.
        progress: show a progress bar.

    Returns:
        A Dataset over `time` (s) with the components of the state and all outputs of the model, with units. Its
        attributes `status` and `status_text` tell how the run ended; samples that an early end did not reach are NaN.

    Raises:
        jaxgait.models.parameters.ParameterError: for parameters that cannot be.
        ValueError: for a time span, sample count, tolerance or precision that cannot be.
    """
    model.validate()
    chosen = settings_for(model, solver=solver, rtol=rtol, atol=atol, max_step=max_step, max_steps=max_steps)
    with precisions.use(precision):
        cast = precisions.cast(model)
        y0 = None if initial_state is None else precisions.cast(initial_state)
        ts = sample_times(cast, strides, duration, samples)
        trajectory, outputs = _run(cast, ts, chosen, y0, progress)
        data = trajectory_dataset(model, np.asarray(ts), trajectory.ys, outputs, chosen, precision)
    return data.assign_attrs(_outcome(model, trajectory))


def sample_times(
    model: Model, strides: int | None, duration: float | None, samples: int | None
) -> Float[Array, " times"]:
    """Sampling times in s from 0 to the end of a run, both included. The model may be traced.

    Raises:
        ValueError: if the span or the count cannot be.
    """
    if strides is not None and duration is not None:
        raise ValueError("give strides or duration, not both")
    if samples is not None and samples < 1:
        raise ValueError(f"samples must be at least 1, got {samples}")
    if strides is not None:
        if model.period is None:
            raise ValueError(f"{type(model).__name__} has no period: give duration (in s) instead of strides")
        if strides < 1:
            raise ValueError(f"strides must be at least 1, got {strides}")
        count = strides * (samples or SAMPLES_PER_STRIDE)
        return jnp.arange(count + 1, dtype=float) * (model.period / (samples or SAMPLES_PER_STRIDE))
    span = model.duration if duration is None else duration
    if duration is not None and not (np.isfinite(duration) and duration > 0):
        raise ValueError(f"duration must be a positive number of seconds, got {span}")
    return jnp.linspace(0.0, span, (samples or SAMPLES_PER_RUN) + 1)


@eqx.filter_jit
@native
def _run(
    model: Model, ts: Array, settings: Settings, y0: State | None, progress: bool
) -> tuple[Trajectory, dict[str, Array]]:
    trajectory = integrate(model, ts, settings, y0, progress)
    return trajectory, jax.vmap(model.outputs)(ts, trajectory.ys)


def _outcome(model: Model, trajectory: Trajectory) -> dict[str, Any]:
    return {
        "status": int(trajectory.status),
        "status_text": status.sentence(model, int(trajectory.status)),
        "t_end_s": float(trajectory.t_end),
        "steps": int(trajectory.steps),
        "rejected_steps": int(trajectory.rejected),
    }
