"""The driver for one trajectory: a model in, labelled results out."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import diffrax
import jax
import numpy as np
import xarray as xr
from jaxtyping import Array

from jaxgait import precision as precisions
from jaxgait.model import Model, State, as_model
from jaxgait.native import kept
from jaxgait.parameters import check_single
from jaxgait.run import Sampling, Trajectory, outputs
from jaxgait.solve import status
from jaxgait.solve.checks import check_state
from jaxgait.solve.dataset import trajectory_dataset
from jaxgait.solve.integrate import ASSURED, Settings, integrate, settings_for


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
        duration: how long to run in s, instead of `strides`; the model's own duration if both are None, counted in
            strides where these are whole.
        samples: samples per stride (100 by default) of a run counted in strides, or in all (1000).
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

    Warns:
        jaxgait.solve.status.IncompleteRun: if the run did not reach its end.

    Raises:
        TypeError: for anything but a model with a smooth vector field, saying what runs it.
        jaxgait.parameters.ParameterError: for impossible parameters.
        ValueError: for an impossible time span, sample count, tolerance, precision or initial state.
    """
    model = as_model(model)
    model.validate()
    check_single(model)
    sampling = Sampling.of(model, strides, duration, samples)
    asked = {"solver": solver, "rtol": rtol, "atol": atol, "max_step": max_step, "max_steps": max_steps}
    chosen = settings_for(model, precision=precision, **asked)
    with precisions.use(precision):
        cast = precisions.cast(model)
        y0 = None if initial_state is None else precisions.cast(initial_state)
        if y0 is not None:
            check_state("initial_state", y0, jax.eval_shape(cast.initial_state))
        trajectory, outputs = _run(cast, sampling, chosen, y0, progress)
        ts = np.asarray(trajectory.ts)
        data = trajectory_dataset(model, ts, trajectory.ys, outputs, chosen, precision, sampling)
    outcome = _outcome(model, trajectory)
    if outcome["status"] != status.COMPLETED:
        warnings.warn(
            f"{type(model).__name__} {outcome['status_text']}, {outcome['t_end_s']:.6g} s into the run",
            status.IncompleteRun,
            stacklevel=2,
        )
    return data.assign_attrs(outcome)


@functools.partial(kept, assured=ASSURED)
def _run(
    model: Model, sampling: Sampling, settings: Settings, y0: State | None, progress: bool
) -> tuple[Trajectory, dict[str, Array]]:
    trajectory = integrate(model, sampling.times(model), settings, y0, progress)
    return trajectory, outputs(model, trajectory)


def _outcome(model: Model, trajectory: Trajectory) -> dict[str, Any]:
    return {
        "status": int(trajectory.status),
        "status_text": status.sentence(model, int(trajectory.status)),
        "t_end_s": float(trajectory.t_end),
        "steps": int(trajectory.steps),
        "rejected_steps": int(trajectory.rejected),
    }
