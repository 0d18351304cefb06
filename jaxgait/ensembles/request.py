"""Turns a request (the arguments of `ensemble`) into a plan; everything is checked before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Bool, Float

from jaxgait import precision as precisions
from jaxgait.definition import RESERVED_RESULTS, check_variable
from jaxgait.elements import declared
from jaxgait.ensembles.addresses import DRIVE, model_of, parted, shape_of
from jaxgait.ensembles.batch import FORWARD_UP_TO, Job
from jaxgait.ensembles.columns import one_of
from jaxgait.ensembles.conversion import in_own_units
from jaxgait.ensembles.labels import descriptions
from jaxgait.ensembles.members import Members, as_members, check_members
from jaxgait.ensembles.plan import (
    Plan,
    batch_size,
    block_shape,
    bytes_per_member,
    default_workers,
    largest_batch,
    result_shapes,
    stored_shape,
)
from jaxgait.ensembles.validity import valid_members
from jaxgait.measure import Measures, observer
from jaxgait.model import Model, as_model
from jaxgait.parameters import ParameterError, check_single, parameters
from jaxgait.run import Sampling
from jaxgait.scheme import Retry, Scheme
from jaxgait.solve.checks import check_equations, warn_of_start
from jaxgait.solve.hybrid import EventDriven
from jaxgait.solve.schemes import scheme_for
from jaxgait.solve.smooth import Smooth
from jaxgait.solve.solvers import is_implicit, numerics_of
from jaxgait.support import checks, files, machine
from jaxgait.support.notes import note


def planned(request: Mapping[str, Any], extent: Mapping[str, np.ndarray] | None = None) -> Plan:
    """The plan of a request; for the arguments see `jaxgait.ensembles.driver.plan_of`.

    Raises:
        jaxgait.parameters.ParameterError: for impossible names, shapes and values.
        ValueError: for impossible options.
        TypeError: for anything but a model, and for options of another type.
        jaxgait.run.NotRecorded: if a measure reads the events of a smooth model, and `max_events` is None.
    """
    model, precision = as_model(request["model"]), request["precision"]
    span = {name: request[name] for name in ("strides", "duration", "samples")}
    checks.untraced("ensemble", model, request["members"], span)
    check_single(model)
    model.validate()
    members = in_own_units(model, as_members(request["members"]))
    unspaced = Sampling.of(model, **span)
    valid, rejection = _validity(model, members, unspaced, request["invalid"])
    among = members.values if valid is None else {name: x[valid] for name, x in members.values.items()}
    observe, variables = _observed(model, request)
    gradient = _gradient(model, request["gradient"])
    chosen, retries = _schemes(model, request, gradient, bool(getattr(observe, "watch", ())))
    for name in sorted({*members.values, *gradient} - {*declared(parameters(model), [*members.values, *gradient])}):
        if not name.startswith(DRIVE):
            chosen.check_start(model, name)
    with precisions.use(precision):
        cast = precisions.cast(model)
        check_equations(cast)
        warn_of_start(cast, {*parted(model, members.values)[1]})
    sampling = spaced(unspaced, model, among if extent is None else extent)
    observe = observe.checked(sampling) if hasattr(observe, "checked") else observe
    retry, trajectories = checks.flag("retry", request["retry"]), _kept(request["trajectories"])
    job = Job(chosen, sampling, observe, trajectories, gradient, request["devices"])
    _check_job(job)
    batch, results = _batch(model, members, job, request, variables)
    plan = Plan(
        model,
        members,
        job,
        precision,
        retries if retry else (),
        block_shape(members.shape, batch),
        results,
        variables,
        valid,
        rejection,
    )
    if request["store"] is not None:
        plan = _stored(plan, batch, request)
    _check_names(plan)
    _check_gradients(plan)
    return plan


def _stored(plan: Plan, batch: int, request: Mapping[str, Any]) -> Plan:
    """The plan with the blocks of a store: several batches each, if there would be too many and `batch` is not given.

    On a cluster a block is one batch, but a store that was begun elsewhere may have larger blocks.
    """
    workers, larger = request["workers"] or default_workers(plan.job.devices), replace(plan, batch=batch)
    if request["cluster"] is None:
        shape = stored_shape(plan.members.shape, batch, plan.result_bytes, workers)
        larger = replace(larger, block_shape=shape)
    if request["batch"] is None:
        return larger
    if larger.size < plan.size and not files.local(request["store"]).exists():  # (a store keeps its own)
        what = f"batch={batch} divides the store into {plan.size} blocks, each with a file for every result"
        note(f"{what}; where batch is not given, there are about {larger.size}")
    return plan


def _validity(model: Model, members: Members, sampling: Sampling, invalid: str) -> tuple[np.ndarray | None, str]:
    """Which members the model accepts (None: all), and why it rejects the first invalid one.

    Raises:
        ParameterError: for members that no model could run and, unless they are marked, for invalid ones.
    """
    if checks.one_of("invalid", invalid, ("raise", "mark")) == "raise":
        check_members(model, members)
        valid, why = np.ones(members.size, bool), ""
    else:
        valid, why = valid_members(model, members)
    spacing = _spacings(sampling, model, {name: x[valid] for name, x in members.values.items()})
    if not (lasting := _lasting(spacing)).all():
        first = int(np.flatnonzero(~lasting)[0])
        at = one_of(members.values, int(np.flatnonzero(valid)[first]))
        where = ", ".join(f"{name} = {checks.shown(x)}" for name, x in at.items())
        endless = f"a run must last a positive time, got {spacing[first] * sampling.intervals:.6g} s at {where}"
        if invalid == "raise" or not lasting.any():
            raise ParameterError(endless)
        valid[np.flatnonzero(valid)[~lasting]] = False
        why = why or endless
    return None if valid.all() else valid, why


def _observed(model: Model, request: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """What to observe of each run, and the units and long names of its results."""
    observe, own = observer(model, request["observe"]), request["variables"]
    if not isinstance(own, Mapping | None):
        example = '{"lowest": Variable("m", "lowest point")}'
        raise TypeError(f"variables must be a dict by name, such as {example}, got {checks.shown(own)}")
    for name, variable in (own or {}).items():
        check_variable(variable, f"variables[{name!r}]")
    variables = {**getattr(observe, "variables", {}), **(own or {})}
    if isinstance(observe, Measures):  # one program and one store, whatever their order
        observe = Measures(tuple(sorted(observe.members, key=lambda m: m.name)))
    return observe, variables


def _schemes(
    model: Model, request: Mapping[str, Any], gradient: tuple[str, ...], watched: bool
) -> tuple[Scheme, tuple[Retry, ...]]:
    """The scheme, and further attempts at members that fail; `watched`: whether extremes are observed.

    Raises:
        ValueError: for options that the scheme does not have, and a gradient that it cannot compute.
    """
    # Derivatives of extremes within steps are less accurate in reverse mode, see `jaxgait.solve.samples.snapshot`.
    mode = "forward" if watched or len(gradient) <= FORWARD_UP_TO else "reverse"
    # Derivatives of unrolled steps are long programs: `jaxgait.native` compiles them, XLA takes minutes.
    differentiated = bool(gradient) and (not machine.on_cpu() or _has_arrays(model))
    options = {name: request[name] for name in ("solver", "rtol", "atol", "max_step", "max_steps", "dt", "max_events")}

    def for_precision(precision: precisions.Precision) -> Scheme:
        ways = {"differentiated": differentiated, "values_only": not gradient, "precision": precision}
        return scheme_for(model, request["scheme"], **ways, **options).in_mode(mode)

    chosen, reference = for_precision(request["precision"]), for_precision("float64")
    if gradient:
        chosen.check_gradient(model)
        _warn_of_explicit_steps(model, chosen)
    return chosen, chosen.retries(request["precision"], reference)


def _warn_of_explicit_steps(model: Model, scheme: Scheme) -> None:
    """Warns that explicit steps at their limit of stability amplify derivatives, however accurate the values are.

    There is no warning if a `max_step` was given, which keeps the steps away from that limit.
    """
    if not isinstance(scheme, Smooth | EventDriven) or not numerics_of(model).stiff:
        return
    solver = type(getattr(scheme.solver, "solver", scheme.solver)).__name__
    if not is_implicit(solver) and scheme.max_step == type(scheme).of(model).max_step:
        what = f"derivatives of {type(model).__name__}, which is stiff, may grow without bound"
        how = "leave out the solver, give Ros4, or a max_step at which they are stable"
        checks.warn_user(f"{what} through the explicit steps of {solver}: {how}")


def _batch(
    model: Model, members: Members, job: Job, request: Mapping[str, Any], variables: dict[str, Any]
) -> tuple[int, Any]:
    """How many members run together, and the shapes of their results."""
    batch, precision = request["batch"], request["precision"]
    for name in ("batch", "workers"):
        if request[name] is not None:
            checks.count(name, request[name])
    threads = request["workers"] or default_workers(job.devices)
    most = largest_batch(members, job, threads, stored=request["store"] is not None) if batch is None else batch
    results = result_shapes(model, members, job, precision, most, variables)
    if batch is None:
        batch = batch_size(most, job, bytes_per_member(job, results), threads)
    return batch, results


def _has_arrays(model: Model) -> bool:
    """Whether the state has arrays, whose programs may be left to XLA."""
    return any(leaf.ndim for leaf in jax.tree.leaves(jax.eval_shape(model.initial_state)))


def spaced(sampling: Sampling, model: Model, values: Mapping[str, np.ndarray]) -> Sampling:
    """The sampling with the longest interval in s between samples of any member; `values` by name: (members, ...)."""
    found = _spacings(sampling, model, values)
    if not found.size:
        return sampling
    lasting = _lasting(found)
    return replace(sampling, interval=float(np.max(found[lasting] if lasting.any() else found)))


def _spacings(sampling: Sampling, model: Model, values: Mapping[str, np.ndarray]) -> Float[np.ndarray, " members"]:
    """Times in s between samples of each member; empty if they cannot differ. `values` by name: (members, ...)."""
    varied = parted(model, values)[0]
    if not varied:
        return np.zeros(0)
    with precisions.use("float64"):
        return np.asarray(jax.vmap(lambda one: sampling.spacing(model_of(model, one)))(varied))


def _lasting(spacing: np.ndarray) -> Bool[np.ndarray, " members"]:
    """Whether runs last a positive time, given their times between samples in s."""
    return np.isfinite(spacing) & (spacing > 0.0)


def _check_names(plan: Plan) -> None:
    """Checks that all `variables` are observed, and that no result has the name of a label or dimension of members."""
    observed = [name for name, one in plan.results.items() if one.group == "observed"]
    if unknown := [name for name in plan.variables if name not in observed]:
        what = f"variables describes {unknown[0]!r}, which observe does not return"
        raise ValueError(f"{what}: {checks.nearest(unknown[0], observed) if observed else 'nothing is observed'}")
    labels = {*plan.members.dims, *plan.members.labels}
    shared = {name for name, (dims, _) in plan.members.labels.items() if not dims}  # as after table.isel(time=-1)
    dims_of = dict.fromkeys(RESERVED_RESULTS, ()) | {name: one.dims for name, one in descriptions(plan).items()}
    for name, dims in dims_of.items():
        for clash in labels & {name, *dims}:
            what = "is a result" if clash == name else f"is a dimension of the result {name!r}"
            advice = f"drop it, table.drop_vars({clash!r}), or " * (clash in shared) + "give it another name"
            raise ParameterError(f"the members have the label {clash!r}, which {what}: {advice}")


def _check_gradients(plan: Plan) -> None:
    """Checks that something observed can be differentiated, and warns of what cannot."""
    observed = {name: one for name, one in plan.results.items() if one.group == "observed"}
    whole = {name: one.dtype for name, one in observed.items() if not np.issubdtype(one.dtype, np.inexact)}
    if not (plan.job.gradient and whole):
        return
    message = f"no gradient of {', '.join(f'{name} ({dtype})' for name, dtype in whole.items())}: counts have none"
    if len(whole) == len(observed):
        raise ValueError(f"{message}; observe real numbers, or leave out gradient")
    checks.warn_user(message)


def _gradient(model: Model, gradient: Any) -> tuple[str, ...]:
    """The names of the numbers by which observables are differentiated; a single name becomes a tuple."""
    gradient = [gradient] if isinstance(gradient, str) else gradient
    names = tuple(gradient) if isinstance(gradient, Iterable) else ()
    if not (isinstance(gradient, Iterable) and all(isinstance(name, str) for name in names)):
        raise ValueError(f"gradient must be a list of names, such as ['mass'], got {checks.shown(gradient)}")
    if isinstance(gradient, set | frozenset):
        raise ValueError(f"gradient must be a list of names, because a set has no order, got {checks.shown(gradient)}")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"gradient names {', '.join(twice)} twice")
    for name in names:
        if (shape := shape_of(model, name)) != ():
            raise ParameterError(f"gradient takes single numbers only: {name!r} has the shape {shape}")
    return names


def _kept(trajectories: Any) -> bool | tuple[str, ...]:
    """Whether to keep all time histories, or the names of those to keep, in alphabetical order without duplicates."""
    if isinstance(trajectories, bool | np.bool_):
        return bool(trajectories)
    names = [trajectories] if isinstance(trajectories, str) else trajectories
    names = [*names] if isinstance(names, Iterable) else names  # an iterator can be read only once
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise ValueError(f"trajectories must be True, False or names such as ['knee_angle'], got {checks.shown(names)}")
    return tuple(sorted({*names})) or False


def _check_job(job: Job) -> None:
    if job.gradient and job.observe is None:
        raise ValueError("gradient needs observe: name the measures to differentiate")
    if checks.count("devices", job.devices) > (most := len(machine.devices())):
        more = "; set XLA_FLAGS=--xla_force_host_platform_device_count=2 in the environment to split a CPU into two"
        raise ValueError(
            f"devices must be between 1 and {most}, the number that JAX finds here, "
            f"got {job.devices}{more * machine.on_cpu()}"
        )
