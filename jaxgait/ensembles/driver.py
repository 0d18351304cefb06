"""`ensemble`: simulates many trajectories, from a model and its members to labelled results."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import diffrax
import jax
import numpy as np
from jaxtyping import Bool, Float

from jaxgait import checks, machine, xr
from jaxgait import precision as precisions
from jaxgait.ensembles.batch import FORWARD_UP_TO, Job, model_of
from jaxgait.ensembles.columns import one_of
from jaxgait.ensembles.conversion import in_own_units
from jaxgait.ensembles.gaps import warn_of_early_ends, warn_of_gaps, warn_of_gradients, warn_of_starts
from jaxgait.ensembles.labels import dataset, descriptions, with_promotions
from jaxgait.ensembles.members import DRIVE, INITIAL, Members, as_members, check_members, shape_of
from jaxgait.ensembles.plan import (
    TALLY,
    Plan,
    batch_size,
    block_shape,
    bytes_per_member,
    default_workers,
    largest_batch,
    result_shapes,
    stored_shape,
)
from jaxgait.ensembles.store import open_store, read_store
from jaxgait.ensembles.validity import valid_members
from jaxgait.ensembles.workers import Meter, run_blocks
from jaxgait.fields import declared
from jaxgait.measure import Measure, Measures, Observe, observer
from jaxgait.model import Model, Variable, as_model
from jaxgait.notes import note
from jaxgait.parameters import ParameterError, check_single, parameters
from jaxgait.run import NotRecorded, Sampling
from jaxgait.scheme import Retry, Scheme
from jaxgait.solve.checks import check_equations, warn_of_start
from jaxgait.solve.schemes import scheme_for
from jaxgait.solve.smooth import MAX_EVENTS

_MANY_PROMOTED = 0.1
"""Share of members computed in both precisions from which float32 costs more than it saves."""
_SLOWER = ": they ran in both, so that precision='float64' is probably faster here"


@checks.by_name('write ensemble(model, {"mass": [60.0, 70.0]}, duration=60.0)')
def ensemble(
    model: Model,
    members: Members | Mapping[str, Any] | Any,
    *,
    strides: int | None = None,
    duration: float | None = None,
    samples: int | None = None,
    observe: Observe | Sequence[str | Measure] | Mapping[str, Measure] | Measure | str | None = None,
    variables: Mapping[str, Variable] | None = None,
    trajectories: bool | Sequence[str] | str = False,
    gradient: Sequence[str] | str = (),
    retry: bool = True,
    invalid: Literal["raise", "mark"] = "raise",
    precision: precisions.Precision = "float64",
    scheme: Scheme | type[Scheme] | str | None = None,
    solver: diffrax.AbstractSolver | str | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    max_step: float | None = None,
    max_steps: int | None = None,
    dt: float | None = None,
    max_events: int | None = None,
    batch: int | None = None,
    workers: int | None = None,
    devices: int = 1,
    store: str | os.PathLike[str] | None = None,
    repair: bool = False,
    cluster: Any = None,
    progress: bool | None = None,
) -> xr.Dataset:
    """Runs many trajectories of a model and returns their labelled results.

        ensemble(Bungee(), {"mass": np.linspace(40, 100, 61), "stiffness": np.linspace(15, 40, 51)})
        ensemble(Bungee(), sobol({"mass": (40, 100)}, 256), observe=lambda run: {"lowest": run["x"].max()})

    Args:
        model: the mechanism; its parameters apply to all members unless `members` changes them.
        members: a set made by `grid`, `zipped`, `latin_hypercube`, `sobol`, `cloud` or `product` (see
            `jaxgait.ensembles.members`); a dict of arrays by dotted name means their full grid (not values that belong
            together, as in `zipped` and `jaxgait.analysis.families.fixed_points`), and a table of pandas (or a Dataset)
            a member for each row, as `zipped` makes them.
        strides: number of strides (periods) to run, for models that have a period.
        duration: length of the runs in s, instead of `strides`. If both are None, each member runs for the strides of
            the model's own duration with its own period, or, without a period, for its own duration.
        samples: samples per stride (100 by default) of a run counted in strides, or in total (1000 by default).
        observe: what to compute from each run: names of the model's measures, measures (`jaxgait.measure.Measure`), or
            a function from a `Run` to a dict of arrays; compiled, and run on the device together with the solve.
            Results of members that did not complete are NaN (-1 for integers), unless a measure is defined for early
            ends.
        variables: unit and long name of the results of a function `observe`; measures have their own.
        trajectories: whether to keep the time histories of all states and outputs (and of the `phase`, if an
            event-driven motion has several), or the names of those to keep.
        gradient: parameters, elements of arrays ("masses[1]") or "initial." components by which the observables are
            differentiated: for each real observable `NAME` (a warning names others) a result `NAME_gradient` along
            `parameter`, in forward mode (in reverse mode by very many, if no measure watches extremes).
            Those by parameters hold the listed components of the initial state fixed, even if these depend on them.
        retry: whether to rerun failed members with tighter tolerances (not those that reached the limit of steps), then
            with a stiff solver, then in float64; none of those that reached the limit of events.
        invalid: what to do if the model rejects some members, because a value is out of its bounds or rules between
            parameters forbid their combination. "raise" raises an error before anything runs; "mark" runs the others:
            invalid members have the status -2 and no values, and one warning counts them.
        precision: "float64" (reference) or "float32".
        scheme: the integration scheme, if several suit the model (see `jaxgait.simulate`).
        solver: a diffrax solver, or the name of one of `jaxgait.solve.solvers`; the default suits the model.
        rtol: relative tolerance; the default suits the model.
        atol: absolute tolerance, in the units of the state.
        max_step: longest step in s; see `simulate` for the default.
        max_steps: maximum number of steps of a trajectory.
        dt: step length in s, for schemes with fixed steps.
        max_events: maximum number of events of a trajectory; for smooth motion, the largest number to record (1000 if a
            measure reads events, otherwise none).
        batch: number of members that run together; by default as many as pay off on this machine and fit in its free
            memory, so give the number for a cluster of other machines. A store keeps the number it was begun with.
        workers: number of batches that run at once; by default one per core on CPUs and one on other devices.
        devices: number of local devices that share every batch.
        store: directory of a Zarr store to which results are written block by block; the same call on an existing
            store resumes it. The result is then read from there, lazily.
        repair: whether to rerun damaged blocks of the store.
        cluster: address of a Dask scheduler ("tcp://...") or a `dask.distributed.Client`: its workers run the blocks.
        progress: whether to show a progress bar; None: only on a terminal.

    Returns:
        A Dataset whose dimensions are those of `members`. Each trajectory has `status` (legend in the attribute
        `status_legend`; see `summary` and `failed`), `t_end` and the state there (`NAME_end`), `steps`,
        `rejected_steps`, `first_status` and `retries` (the number of the last attempt, 0 for the first; attempts that
        cannot help are skipped; legend in `retries_legend`), the results of `observe`, and with
        `trajectories` the time histories along `time` (along `instant`, if the members' times differ) and the events.
        If some members failed in float32, `promoted` marks those computed in float64, and the attribute `precision`
        counts them. The attribute `efficiency` is the number of steps that members took, divided by the number that
        the processor's lanes (of vectors, or the threads of a GPU) could have taken: a lane idles while it waits for a
        longer member, or holds a copy that fills a batch. For a store, it is that of the blocks that this call ran.

    Warns:
        jaxgait.outcome.IncompleteRun: if the computation of some members failed or they are invalid, or none completed;
            if some end in the model's own ways, so that a measure has no value there, or complete without what it needs
            (not for measures that are defined for early ends).
        UserWarning: if members of a scan in float32 had to be computed in float64, if a store has other batches, for
            equations that return few digits, and for runs that began at or beyond an event that never happened.
        jaxgait.plausible.ImplausibleValue: for values that are probably in another unit.

    Raises:
        TypeError: for anything but a model.
        jaxgait.parameters.ParameterError: for impossible names, shapes and values, before anything runs.
        jaxgait.measure.MeasureError: for measures that the model lacks, or that need another sampling.
        ValueError: for impossible options, and for options and gradients that the scheme does not support.
        MemoryError: for members or results that do not fit in memory, before anything runs.
        ConnectionError: if no scheduler answers at the address of a cluster.
        jaxgait.ensembles.store.StoreError: if creating, continuing or writing the store fails.
        jaxgait.outcome.NoResult: if a block cannot run at all; the blocks before it are kept in the store.

    Examples:
        >>> from jaxgait import Bungee, ensemble
        >>> scan = ensemble(Bungee(), {"mass": [60.0, 70.0, 80.0]}, duration=20.0, observe=["clearance"])
        >>> print(scan.clearance.dims, scan.clearance.values.round(2))
        ('mass',) [ -2.13 -10.46 -18.73]
    """
    if checks.flag("repair", repair) and store is None:
        raise ValueError("repair needs store: it reruns damaged blocks of a store")
    plan = plan_of(locals())
    if store is None:
        data = with_promotions(_in_memory(plan, workers, cluster, progress))
    else:
        data = _into_store(plan, store, batch, repair, workers, cluster, progress)
    early = getattr(plan.job.observe, "early", ())
    whole = [n for n, r in plan.results.items() if r.group == "observed" and n not in early]
    warn_of_early_ends(data, plan.rejection, whole)
    warn_of_gaps(data, whole)
    warn_of_gradients(data)
    if "promoted" in data:
        many = float(data["promoted"].mean()) >= _MANY_PROMOTED
        checks.warn_user(f"precision: {data.attrs['precision']}{_SLOWER if many else ''}")
    return data


def _in_memory(plan: Plan, workers: int | None, cluster: Any, progress: bool | None) -> xr.Dataset:
    machine.fits_in_memory(
        f"{plan.members.size} members with their results",
        plan.members.size * plan.result_bytes,
        "give store=..., or observe measures instead of keeping trajectories",
    )
    results = {n: np.zeros(plan.members.shape + d.shape, d.dtype) for n, d in descriptions(plan).items()}
    tallies: list[np.ndarray] = []
    try:
        with Meter(plan, show=progress) as meter:
            for block, found in run_blocks(plan, range(plan.size), workers, cluster):
                tallies.append(found[TALLY])
                region = plan.region(block)
                for name, array in results.items():
                    part = array[region]
                    part[...] = found[name].reshape(part.shape)
                meter.add(found["status"])
    except KeyboardInterrupt:
        lost = f"{len(tallies)} of {plan.size} finished blocks are lost"
        raise KeyboardInterrupt(f"stopped: {lost}; a store (store=..., --store) would keep them") from None
    return _counted(plan, dataset(plan, results), tallies)


def _counted(plan: Plan, data: xr.Dataset, tallies: Sequence[np.ndarray]) -> xr.Dataset:
    """Adds the attribute `efficiency`, if any members were run, and warns of those that began beyond an event."""
    ran = [tally for tally in tallies if tally[1]]
    if not ran:
        return data
    steps, room, *beyond = np.sum(ran, axis=0).tolist()
    warn_of_starts(plan.model, dict(zip(plan.job.scheme.event_names(plan.model), beyond, strict=False)))
    return data.assign_attrs(efficiency=round(steps / room, 4))


def _into_store(
    plan: Plan,
    path: str | os.PathLike[str],
    batch: int | None,
    repair: bool,
    workers: int | None,
    cluster: Any,
    progress: bool | None,
) -> xr.Dataset:
    tallies: list[np.ndarray] = []
    with open_store(path, plan, repair=repair) as store:
        if batch is not None and store.plan.block_shape != plan.block_shape:
            own = math.prod(store.plan.block_shape)
            checks.warn_user(f"{store.path} has blocks of {own} members, which run together: not batch={batch}")
        if store.done:
            note(f"{store.path}: {_held(len(store.done), store.plan.size)}")
        try:
            with Meter(store.plan, done=len(store.done), show=progress) as meter:
                for block, found in run_blocks(store.plan, store.missing, workers, cluster):
                    store.write(block, found)
                    tallies.append(found[TALLY])
                    meter.add(found["status"])
        except KeyboardInterrupt:
            state = f"{len(store.done)} of {store.plan.size} blocks are safe in {store.path}"
            raise KeyboardInterrupt(f"stopped: {state}; run the same command again to continue") from None
    return _counted(plan, read_store(path, check=False), tallies)  # (its blocks were checked)


def _held(done: int, blocks: int) -> str:
    """What a store holds already of a scan."""
    if done == blocks:
        return "the scan is finished, so that nothing runs"
    return f"{done} of {blocks} blocks are kept from before, the others run"


def plan_of(request: Mapping[str, Any], extent: Mapping[str, np.ndarray] | None = None) -> Plan:
    """Checks a request and decides how to run it.

    Args:
        request: arguments of `ensemble` by name; those about where the work is done are ignored.
        extent: values by name, in their units, for which the samples must be close enough and the steps short enough;
            None: those of the members.

    Raises:
        jaxgait.parameters.ParameterError: for impossible names, shapes and values.
        ValueError: for impossible options.
    """
    try:
        return _plan_of(request, extent)
    except NotRecorded:  # a measure counts the events of a smooth model
        if request.get("max_events") is not None:
            raise
        return _plan_of({**request, "max_events": MAX_EVENTS}, extent)


def check_run(caller: str, run: Mapping[str, Any], allowed: Sequence[str] = ()) -> None:
    """Checks the arguments that the function `caller` passes on to `ensemble`.

    Raises:
        ValueError: for arguments that `caller` sets itself, unless `allowed`, and those that `ensemble` does not have.
    """
    own = {"members", "observe", "variables", "gradient", "trajectories", "store", "repair", "invalid"} - {*allowed}
    if taken := sorted(own & {*run}):
        raise ValueError(f"{caller} does not take {taken[0]}: it sets that itself")
    known = inspect.signature(ensemble).parameters
    if unknown := sorted({*run} - {*known}):
        raise ValueError(f"{caller} has no argument {unknown[0]!r}: {checks.nearest(unknown[0], known, limit=1)}")


def _plan_of(request: Mapping[str, Any], extent: Mapping[str, np.ndarray] | None) -> Plan:
    request = {name: known.default for name, known in inspect.signature(ensemble).parameters.items()} | dict(request)
    model, precision = as_model(request["model"]), request["precision"]
    span = {name: request[name] for name in ("strides", "duration", "samples")}
    checks.untraced("ensemble", model, request["members"], span)
    check_single(model)
    model.validate()
    members = in_own_units(model, as_members(request["members"]))
    planned = Sampling.of(model, **span)
    valid, rejection = _validity(model, members, planned, request["invalid"])
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
        warn_of_start(cast, {n.removeprefix(INITIAL) for n in members.values if n.startswith(INITIAL)})
    sampling = spaced(planned, model, among if extent is None else extent)
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
    if request["store"] is not None and request["batch"] is None:
        workers = request["workers"] or default_workers(job.devices)
        larger = stored_shape(members.shape, batch, plan.result_bytes, workers)
        plan = replace(plan, batch=batch, block_shape=larger if request["cluster"] is None else plan.block_shape)
    _check_names(plan)
    _check_gradients(plan)
    return plan


def _validity(model: Model, members: Members, sampling: Sampling, invalid: str) -> tuple[np.ndarray | None, str]:
    """Which members the model accepts, None for all, and why it rejects the first of the others.

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
    observe = observer(model, request["observe"])
    variables = {**getattr(observe, "variables", {}), **(request["variables"] or {})}
    if isinstance(observe, Measures):  # in any order, one program and one store
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
    differentiated = bool(gradient) and (jax.default_backend() != "cpu" or _has_arrays(model))
    options = {name: request[name] for name in ("solver", "rtol", "atol", "max_step", "max_steps", "dt", "max_events")}

    def for_precision(precision: precisions.Precision) -> Scheme:
        found = scheme_for(model, request["scheme"], precision=precision, differentiated=differentiated, **options)
        return found.in_mode(mode)

    chosen, reference = for_precision(request["precision"]), for_precision("float64")
    if gradient:
        chosen.check_gradient(model)
    return chosen, chosen.retries(request["precision"], reference)


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
        batch = batch_size(most, job, bytes_per_member(model, job, precision, results), threads)
    return batch, results


def _has_arrays(model: Model) -> bool:
    """Whether the state has arrays, whose programs may be left to XLA."""
    return any(leaf.ndim for leaf in jax.tree.leaves(jax.eval_shape(model.initial_state)))


def spaced(sampling: Sampling, model: Model, values: Mapping[str, np.ndarray]) -> Sampling:
    """The sampling with the longest interval in s between samples of members with values, (members, ...), by name."""
    found = _spacings(sampling, model, values)
    if not found.size:
        return sampling
    lasting = _lasting(found)
    return replace(sampling, interval=float(np.max(found[lasting] if lasting.any() else found)))


def _spacings(sampling: Sampling, model: Model, values: Mapping[str, np.ndarray]) -> Float[np.ndarray, " members"]:
    """Times in s between samples of members with values, (members, ...), by name; none if they cannot differ."""
    varied = {name: x for name, x in values.items() if not name.startswith(INITIAL)}
    if not varied:
        return np.zeros(0)
    with precisions.use("float64"):
        return np.asarray(jax.vmap(lambda one: sampling.spacing(model_of(model, one)))(varied))


def _lasting(spacing: np.ndarray) -> Bool[np.ndarray, " members"]:
    """Whether runs with times between samples, in s, last a positive time."""
    return np.isfinite(spacing) & (spacing > 0.0)


def _check_names(plan: Plan) -> None:
    """Checks that no result shares its name with a dimension or a label of the members."""
    labels = {*plan.members.dims, *plan.members.labels}
    shared = {name for name, (dims, _) in plan.members.labels.items() if not dims}  # as after table.isel(time=-1)
    for name, described in descriptions(plan).items():
        for clash in labels & {name, *described.dims}:
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
    """The names of numbers by which observables are differentiated; a single one makes a tuple of one."""
    gradient = [gradient] if isinstance(gradient, str) else gradient
    names = tuple(gradient) if isinstance(gradient, Iterable) else ()
    if not (isinstance(gradient, Iterable) and all(isinstance(name, str) for name in names)):
        raise ValueError(f"gradient must be a list of names, such as ['mass'], got {gradient!r}")
    if isinstance(gradient, set | frozenset):
        raise ValueError(f"gradient must be a list of names, because a set has no order, got {gradient!r}")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"gradient names {', '.join(twice)} twice")
    for name in names:
        if (shape := shape_of(model, name)) != ():
            raise ParameterError(f"gradient takes single numbers only: {name!r} has the shape {shape}")
    return names


def _kept(trajectories: Any) -> bool | tuple[str, ...]:
    """Whether to keep the time histories of all states and outputs, or which, in alphabetical order, each once."""
    if isinstance(trajectories, bool | np.bool_):
        return bool(trajectories)
    names = [trajectories] if isinstance(trajectories, str) else trajectories
    names = [*names] if isinstance(names, Iterable) else names  # what only iterates can be read once
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise ValueError(f"trajectories must be True, False or names such as ['knee_angle'], got {names!r}")
    return tuple(sorted({*names})) or False


def _check_job(job: Job) -> None:
    if job.gradient and job.observe is None:
        raise ValueError("gradient needs observe: name the measures to differentiate")
    if checks.count("devices", job.devices) > jax.local_device_count():
        more = "; set XLA_FLAGS=--xla_force_host_platform_device_count=2 in the environment to split a CPU into two"
        raise ValueError(
            f"devices must be between 1 and {jax.local_device_count()}, the number that JAX finds here, "
            f"got {job.devices}{more if jax.default_backend() == 'cpu' else ''}"
        )
