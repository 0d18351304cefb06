"""Simulation of one trajectory: from a model to labelled results."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import diffrax
import jax
import numpy as np
from jaxtyping import Array

from jaxgait import precision as precisions
from jaxgait.definition import RESERVED_RESULTS
from jaxgait.elements import no_element, value_named
from jaxgait.kinds import several_phases
from jaxgait.measure import Measure, Measures, Observe, observed, observer
from jaxgait.model import Model, State, as_model
from jaxgait.native import kept, looped
from jaxgait.outcome import FIRST_TERMINATION, IncompleteRun, Outcome, sentence
from jaxgait.parameters import check_single, is_real
from jaxgait.run import WHOLE_WITHIN, Run, Sampling, Trajectory
from jaxgait.scheme import Scheme, with_numbers, without_numbers
from jaxgait.solve.checks import (
    check_equations,
    check_start_values,
    check_state,
    component_in_unit,
    warn_of_start,
)
from jaxgait.solve.dataset import labelled, names_of_run, trajectory_dataset
from jaxgait.solve.forcing import reads_time, warn_of_restart
from jaxgait.solve.guards import guards, jump_of_guard, warn_of_guards
from jaxgait.solve.hybrid import EventDriven
from jaxgait.solve.names import PHASE
from jaxgait.solve.schemes import scheme_for
from jaxgait.solve.smooth import MAX_EVENTS, REDUNDANT_CHECKS, Smooth
from jaxgait.states import component_labelled, growth, out_of_bounds, state_variables, with_state_variables
from jaxgait.support import xr
from jaxgait.support.checks import as_array, by_name, nearest, shown, untraced, warn_user
from jaxgait.support.machine import fits_in_memory

_OVER_AT_START = (
    ": the guard of that is negative at the start, so start elsewhere (if it is no end yet, return the opposite sign, "
    "or give it `armed` or a phase of its own)"
)


@by_name("write simulate(model, duration=60.0, samples=600), and run.interp(time=...) for values at other times")
def simulate(
    model: Model,
    *,
    strides: int | None = None,
    duration: float | None = None,
    samples: int | None = None,
    initial_state: State | Mapping[str, Any] | None = None,
    precision: precisions.Precision = "float64",
    scheme: Scheme | type[Scheme] | str | None = None,
    solver: diffrax.AbstractSolver | str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    max_step: float | None = None,
    max_steps: int | None = None,
    dt: float | None = None,
    max_events: int | None = None,
    observe: Observe | Sequence[str | Measure] | Mapping[str, Measure] | Measure | str | None = None,
    progress: bool = False,
) -> xr.Dataset:
    """Runs one trajectory and returns its labelled time histories.

    Args:
        model: the mechanism.
        strides: number of strides (periods) to run, for models that have a period.
        duration: length of the run in s, instead of `strides`. If both are None, the model's own duration.
        samples: samples per stride (default 100) of a run counted in strides, otherwise in total (default 1000), not
            counting the start.
        initial_state: the state at the start (in the first phase, if there are several), or some of its components by
            name, as in ``{"v": 3.0}``; the rest, or everything if None, is the model's own. A sample of a run, such as
            ``run.isel(time=-1)``, continues it; as the new run begins at time 0, the equations must not depend on time,
            except with a period. For the point of a periodic gait, give ``return_map.start(model, z)``.
        precision: "float64" (reference) or "float32".
        scheme: the integration scheme, if several suit the model: "Smooth", "EventDriven", "TimeStepping", "Marching"
            or a scheme with its options (see `jaxgait.solve.schemes`).
        solver: a diffrax solver of one vector field that estimates its error (event-driven: an explicit one), or the
            name of one in `jaxgait.solve.solvers`; the default suits the model.
        rtol: relative tolerance of adaptive steps; the default suits the model.
        atol: absolute tolerance, in the units of the state.
        max_step: longest step in s; by default a two-hundredth of a smooth run, unless the model has its own. Give a
            shorter one for a load that begins while the mechanism rests, and is shorter. In an event-driven run it must
            resolve the events (by default at most 10 ms).
        max_steps: number of steps after which the run is stopped.
        dt: length in s of the steps, for schemes with fixed steps.
        max_events: number of events after which an event-driven run is stopped; for a smooth run, the largest number
            of recorded events (1000 by default).
        observe: what to compute from the run besides its histories, as for `jaxgait.ensemble`: names of the model's
            measures, measures, or a function from a `Run` to a dict of arrays.
        progress: whether to show a progress bar.

    Returns:
        A Dataset over `time` (s) with the components of the state and all outputs of the model, with units. Its
        attributes `status` and `status_text` say how the run ended; samples after an early end are NaN. For models
        with events (`Model.events`, `jaxgait.kinds.Transition`) it also has `event_time` (s), `event_name` and the
        states just before and after (`NAME_before`, `NAME_after`) over `event`. What is observed is a scalar (or has
        the dimensions of its measure), NaN if the run did not complete, or -1 for integers.

    Warns:
        jaxgait.outcome.IncompleteRun: if the run did not reach its end.
        UserWarning: if a smooth run may have had more events than are recorded, for equations that return fewer digits
            than the precision has, for a state that grows without bound, and for guards and resets of an event-driven
            run that look wrong.
        jaxgait.plausible.ImplausibleValue: for values that are probably in another unit.

    Raises:
        TypeError: for anything but a model, and within `jax.jit`, `jax.vmap` or a derivative.
        jaxgait.parameters.ParameterError: for impossible parameters.
        ValueError: for an impossible time span, sample count, tolerance, precision or initial state, and for options
            that the scheme does not have.
        MemoryError: if the samples do not fit in memory.

    Examples:
        >>> from jaxgait import Bungee, simulate
        >>> run = simulate(Bungee(), duration=20.0)
        >>> print(run.attrs["status_text"], round(float(run.height.min()), 2), run.height.attrs["units"])
        completed -10.46 m
    """
    model = as_model(model)
    untraced("simulate", model, initial_state, duration)
    check_single(model)
    model.validate()
    sampling, seen = Sampling.of(model, strides, duration, samples), observer(model, observe)
    if isinstance(seen, Measures):
        seen = seen.checked(sampling)
    numbers = (sampling.intervals + 1) * len(model.variables)  # or more, if some are arrays
    fits_in_memory(f"{sampling.intervals} samples", 8 * numbers, "take fewer, or run for a shorter time")
    options = {"solver": solver, "rtol": rtol, "atol": atol, "max_step": max_step, "max_steps": max_steps}
    chosen = scheme_for(model, scheme, values_only=True, precision=precision, dt=dt, max_events=max_events, **options)
    if max_events is None:
        chosen = _recording(model, chosen)
    if initial_state is not None:
        chosen.check_start(model, "initial_state")
    with precisions.use(precision):
        cast = precisions.cast(model)
        check_equations(cast)
        y0 = None if initial_state is None else precisions.cast(_start(cast, initial_state))
        if y0 is None:
            warn_of_start(cast)
        else:
            check_state("initial_state", y0, jax.eval_shape(cast.initial_state))
            check_start_values(model, state_variables(y0))
        model.validate_start({} if y0 is None else state_variables(y0))
        trajectory, outputs, found, values = _run(cast, sampling, chosen, y0, seen, progress)
        data = trajectory_dataset(model, trajectory, outputs, chosen, precision, sampling)
        jump = ""
        if isinstance(chosen, EventDriven) and int(trajectory.status) == Outcome.EVENT_NOT_LOCATED:
            jump = jump_of_guard(cast, trajectory, float(chosen.max_step or chosen.dt))
    variables = getattr(seen, "variables", {})
    for name in variables or found:  # in the order of the measures
        data[name] = labelled(variables, name, found[name], ())
    ended = _ended(model, trajectory)
    if ended["status"] != Outcome.COMPLETED:
        text = f"{ended['status_text']}, {ended['t_end_s']:.6g} s into the run"
        if isinstance(chosen, EventDriven) and ended["status"] >= FIRST_TERMINATION and ended["t_end_s"] == 0.0:
            text += _OVER_AT_START
        if jump:
            text = f"gave up, {ended['t_end_s']:.6g} s into the run: {jump}"
        warn_user(f"{type(model).__name__} {text}", IncompleteRun)
    _warn_of_growth(model, trajectory)
    if trajectory.events is not None and trajectory.events.missed:
        recorded = f"only the first {data.sizes['event']} events of {type(model).__name__} are recorded"
        warn_user(f"{recorded}: raise max_events")
    if values:
        warn_of_guards(model, trajectory, values)
    return data.assign_attrs(ended)


def _warn_of_growth(model: Model, trajectory: Trajectory) -> None:
    start, end = map(state_variables, (jax.tree.map(lambda y: y[0], trajectory.ys), trajectory.y_end))
    if grown := [name for name, x in end.items() if np.any(out_of_bounds(x) & ~out_of_bounds(start[name]))]:
        warn_user(growth(model, grown[0]))


def _start(model: Model, given: Any) -> State:
    """The state that is given whole, or by components."""
    shapes = jax.eval_shape(model.initial_state)
    if not isinstance(given, Mapping) or _whole(given, shapes):
        return given
    known = {name: np.zeros(one.shape, one.dtype) for name, one in state_variables(shapes).items()}
    changes: dict[Any, Any] = dict(given)
    if isinstance(given, xr.Dataset) and "status_legend" in given.attrs:
        changes = _continued(model, given, known)
    wanted = {name: value_named(known, name) for name in changes}
    for name in (name for name, one in wanted.items() if one is None):
        hint = component_labelled(model, name) or nearest(name, known)
        wrong = f"initial_state of {type(model).__name__} has no {name!r}: {hint}"
        raise ValueError(no_element("initial_state.", name, known) or wrong)
    values = {}
    for name, x in ((name, as_array(component_in_unit(model, name, x))) for name, x in changes.items()):
        if not is_real(x):
            raise ValueError(f"initial_state.{name} must be a real number, got {shown(changes[name])}")
        if x.shape != wanted[name].shape:
            raise ValueError(f"initial_state.{name} must have the shape {wanted[name].shape}, got {x.shape}")
        values[name] = x.astype(np.result_type(x, wanted[name].dtype))  # (integers become real)
    return with_state_variables(model.initial_state(), values)


def _whole(given: Mapping[Any, Any], shapes: Any) -> bool:
    """Whether a start is a whole state that is a dict, with plain numbers."""
    same = isinstance(shapes, Mapping) and given.keys() == shapes.keys()
    return same and not isinstance(given, xr.Dataset) and not any(isinstance(x, xr.DataArray) for x in given.values())


def _continued(model: Model, sample: xr.Dataset, known: Mapping[str, Any]) -> dict[str, xr.DataArray]:
    """The components of the state in one sample of a run, checked: from there, a new run must be its continuation."""
    what = f"initial_state of {type(model).__name__}"
    found = {name: sample[name] for name in known if name in sample}
    if lacking := [name for name in known if name not in found]:
        raise ValueError(f"{what} needs {', '.join(lacking)}, which the run of {sample.attrs.get('model')} has not")
    if dims := sorted({str(dim) for x in found.values() for dim in x.dims} & {"time", "instant"}):
        raise ValueError(f"{what} must be one sample of a run: give run.isel({dims[0]}=-1)")
    if not all(np.isfinite(x).all() for x in found.values()):
        why = sample.attrs.get("status_text", "failed")
        raise ValueError(f"{what} is a sample after the end of its run, which {why}: give an earlier one")
    if several_phases(model) and PHASE in sample and int(sample[PHASE]) != 0:
        raise ValueError(f"{what} is a sample in phase {int(sample[PHASE])}, and runs start in phase 0: give another")
    if model.period is not None and "time" in sample.coords:
        cycles, rounding = (float(x) / float(model.period) for x in (sample["time"], np.spacing(sample["time"])))
        if abs(cycles - round(cycles)) > WHOLE_WITHIN + 4.0 * rounding:  # (that of float32 grows with time)
            raise ValueError(
                f"{what} is a sample after {cycles:.4g} periods of the motion that drives it, and runs start with its "
                "first: give a sample after a whole number"
            )
        warn_of_restart(model, round(cycles), f"{what} is a sample")
    elif "time" in sample.coords and float(sample["time"]) != 0.0 and reads_time(model):
        raise ValueError(
            f"{what} is a sample at {float(sample['time']):.4g} s, but its equations depend on time, and runs start at "
            "0 s: make one longer run"
        )
    return found


def _recording(model: Model, scheme: Scheme) -> Scheme:
    """The scheme that records the events of a smooth model, if it has any."""
    if isinstance(scheme, Smooth) and model.events() and not scheme.max_events:
        return dataclasses.replace(scheme, max_events=MAX_EVENTS)
    return scheme


class _Found(NamedTuple):
    trajectory: Trajectory
    outputs: dict[str, Array]
    observed: dict[str, Array]
    guards: dict[str, Array]
    """Guards of event-driven runs at the samples."""


def _run(
    model: Model, sampling: Sampling, scheme: Scheme, y0: State | None, observe: Observe | None, progress: bool
) -> _Found:
    """Runs one program for all tolerances and times, unless the model or a solver branches on their values."""
    sampling = scheme.complete_sampling(model, sampling)
    *bare, numbers = without_numbers(scheme, sampling)
    kind = (type(model), *bare)
    if kind not in _by_value:
        try:
            return _program(model, *bare, numbers, y0, observe, progress)
        except jax.errors.ConcretizationTypeError:
            pass
    found = _program(model, scheme, sampling, (), y0, observe, progress)
    _by_value.add(kind)
    return found


_by_value: set[Any] = set()
"""Kinds of runs whose programs are valid only for one value of each tolerance and time."""


@functools.partial(kept, assured=REDUNDANT_CHECKS)
@functools.partial(looped, assured=REDUNDANT_CHECKS)
def _program(
    model: Model,
    scheme: Scheme,
    sampling: Sampling,
    numbers: Any,
    y0: State | None,
    observe: Observe | None,
    progress: bool,
) -> _Found:
    scheme, sampling = with_numbers(scheme, sampling, numbers)
    trajectory = scheme.run(model, sampling, y0, watch=getattr(observe, "watch", ()), progress=progress)
    run = Run(model, trajectory, sampling)
    outputs = run.outputs()  # before the measures, which share them
    seen = {} if observe is None else observed(observe, run)
    if seen:  # while the program is traced, before it runs
        _check_observed(seen, names_of_run(model, trajectory, outputs, scheme))
    return _Found(trajectory, outputs, seen, guards(model, trajectory) if isinstance(scheme, EventDriven) else {})


def _check_observed(names: Iterable[str], taken: Collection[str]) -> None:
    """Checks that what is observed has names of its own; `taken` are those of the run.

    Raises:
        ValueError: for another one.
    """
    for name in names:
        if name in RESERVED_RESULTS:
            raise ValueError(f"observe must not use the name {name!r}: every ensemble has a result of that name")
        if name in taken:
            raise ValueError(f"observe must not use the name {name!r}: the run has a variable of that name")


def _ended(model: Model, trajectory: Trajectory) -> dict[str, Any]:
    return {
        "status": int(trajectory.status),
        "status_text": sentence(model, int(trajectory.status)),
        "t_end_s": float(trajectory.t_end),
        "steps": int(trajectory.steps),
        "rejected_steps": int(trajectory.rejected),
    }
