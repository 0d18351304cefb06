"""`ensemble`: simulates many trajectories, from a model and its members to labelled results."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import diffrax
import numpy as np

from jaxgait import precision as precisions
from jaxgait.ensembles.derivatives import warn_of_gradients
from jaxgait.ensembles.gaps import warn_of_early_ends, warn_of_gaps, warn_of_grown, warn_of_starts
from jaxgait.ensembles.labels import dataset, descriptions, with_promotions
from jaxgait.ensembles.members import Members
from jaxgait.ensembles.plan import TALLY, Plan, end_names
from jaxgait.ensembles.request import planned
from jaxgait.ensembles.store import open_store, read_store
from jaxgait.ensembles.workers import Meter, run_blocks
from jaxgait.measure import Measure, Observe
from jaxgait.model import Model, Variable
from jaxgait.run import NotRecorded
from jaxgait.scheme import Scheme
from jaxgait.solve.smooth import MAX_EVENTS
from jaxgait.support import checks, machine, xr
from jaxgait.support.notes import note

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
            `jaxgait.ensembles.members`). A dict of arrays by dotted name means their full grid (in `zipped` and
            `jaxgait.analysis.families.fixed_points`, values that belong together), a pandas table or a Dataset a
            member for each row (as in `zipped`), and a result of `ensemble`, or `failed(scan)`, its members.
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
            `parameter`, in forward mode (for very many parameters in reverse mode, if no measure watches extremes).
            Gradients by parameters hold the listed components of the initial state fixed, even those that depend on
            these parameters.
        retry: whether to rerun failed members with tighter tolerances (unless they reached the limit of steps), then
            with a stiff solver, then in float64. Members that reached the limit of events are not rerun.
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
        workers: number of batches that run in parallel; by default one per core on CPUs and one on other devices.
        devices: number of local devices that share every batch.
        store: directory of a Zarr store to which results are written block by block; the same call on an existing
            store resumes it. The result is then read from there, lazily.
        repair: whether to rerun damaged blocks of the store.
        cluster: address of a Dask scheduler ("tcp://...") or a `dask.distributed.Client`: its workers run the blocks.
        progress: whether to show a progress bar; None: on a terminal and in notebooks.

    Returns:
        A Dataset whose dimensions are those of `members`. Each trajectory has `status` (legend in the attribute
        `status_legend`; see `summary` and `failed`), `t_end` and the state there (`NAME_end`), `steps`,
        `rejected_steps`, `first_status` and `retries` (the number of the last attempt, 0 for the first; attempts that
        cannot help are skipped; legend in `retries_legend`), the results of `observe`, and with
        `trajectories` the time histories along `time` (along `instant`, if the members' times differ) and the events.
        If some members failed in float32, `promoted` marks those computed in float64, and the attribute `precision`
        counts them. The attribute `efficiency` is the number of steps that members took, divided by the number that
        the processor's lanes (of vectors, or the threads of a GPU) could have taken: a lane idles while it waits for a
        longer member, or holds a copy that fills a batch. For a store, it covers the blocks that this call ran.

    Warns:
        jaxgait.outcome.IncompleteRun: if the computation of some members failed or they are invalid, or none completed;
            if some end in the model's own ways, so that a measure has no value there, or complete without what it needs
            (not for measures that are defined for early ends).
        UserWarning: if members of a scan in float32 had to be computed in float64, if a store has other batches, for
            equations that return few digits, for derivatives through explicit steps of a stiff model, for derivatives
            that are lost, all exactly 0 or at odds with the values of neighbouring members, for states that grow
            without bound, and for runs that began at or beyond an event that never happened.
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
    warn_of_gradients(data, plan.members.values)
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
        done = f"{len(tallies)} of {checks.count_of(plan.size, 'block is', 'blocks are')} done"
        raise KeyboardInterrupt(f"stopped: {done}, which only a store (store=..., --store) would keep") from None
    return _counted(plan, dataset(plan, results), tallies)


def _counted(plan: Plan, data: xr.Dataset, tallies: Sequence[np.ndarray]) -> xr.Dataset:
    """Adds the attribute `efficiency`, if any members ran; warns of those that began beyond an event, or diverged."""
    ran = [tally for tally in tallies if tally[1]]
    if not ran:
        return data
    steps, room, *counts = np.sum(ran, axis=0).tolist()
    ends = end_names(name for name, result in plan.results.items() if result.group == "outcome")
    grown, beyond = counts[: len(ends)], counts[len(ends) :]
    warn_of_grown(plan.model, plan.members.values, dict(zip(ends, grown, strict=True)))
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
    """What a store already holds of a scan, in words."""
    if done == blocks:
        return "the scan is finished, so that nothing runs"
    return f"{done} of {blocks} blocks are kept from before, the others run"


def plan_of(request: Mapping[str, Any], extent: Mapping[str, np.ndarray] | None = None) -> Plan:
    """Checks a request and decides how to run it.

    Args:
        request: arguments of `ensemble` by name; those about where the work is done are ignored.
        extent: values by name, in their units, for which samples and steps must be fine enough; None: the members'.

    Raises:
        jaxgait.parameters.ParameterError: for impossible names, shapes and values.
        ValueError: for impossible options.
    """
    request = {name: known.default for name, known in inspect.signature(ensemble).parameters.items()} | dict(request)
    try:
        return planned(request, extent)
    except NotRecorded:  # a measure counts the events of a smooth model
        if request["max_events"] is not None:
            raise
        return planned({**request, "max_events": MAX_EVENTS}, extent)


def check_run(caller: str, run: Mapping[str, Any], allowed: Sequence[str] = ()) -> None:
    """Checks the arguments that the function `caller` passes on to `ensemble`.

    Raises:
        ValueError: for arguments that `caller` sets itself, unless `allowed`, and those that `ensemble` does not have.
    """
    own = {"members", "observe", "variables", "gradient", "trajectories", "store", "repair", "invalid"} - {*allowed}
    if taken := sorted(own & {*run}):
        raise ValueError(f"{caller} does not take {taken[0]}: it sets that itself")
    known = [name for name in inspect.signature(ensemble).parameters if name not in own | {"model"}]
    if unknown := sorted({*run} - {*known}):
        raise ValueError(f"{caller} has no argument {unknown[0]!r}: {checks.nearest(unknown[0], known, limit=1)}")
