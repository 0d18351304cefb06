"""One batch of members as one compiled program: integrate, observe, differentiate; only results leave the device."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, ArrayLike, Float

from jaxgait.ensembles.addresses import member_of, own_value
from jaxgait.measure import Observe, mask, observed
from jaxgait.model import Model
from jaxgait.native import Lanes, Program, lanes_of, looped, native, program_for_all_values, program_of
from jaxgait.native.identity import identity
from jaxgait.native.lru_cache import LRUCache
from jaxgait.native.stored import afresh, signature
from jaxgait.run import Run, Sampling
from jaxgait.scheme import Scheme, with_numbers, without_numbers
from jaxgait.solve.dataset import with_phase
from jaxgait.solve.guards import phases
from jaxgait.solve.names import PHASE
from jaxgait.solve.smooth import REDUNDANT_CHECKS
from jaxgait.states import state_variables
from jaxgait.support import checks, machine

FORWARD_UP_TO = 128
"""Largest number of parameters for forward mode: XLA takes many minutes for the reverse mode of the knee."""
DIRECTIONS_TOGETHER = 8
"""Largest number of parameters whose derivatives one lane computes together with the run."""
DIRECTIONS_PER_LANE = 4
"""Derivatives per lane if there are more parameters: a program with all of them would be too long for a kernel."""

BEYOND = "beyond"
"""Name of a group of results, and of the one result in it: the events beyond which a run began."""
_PROGRAMS = 16
"""Compiled programs kept in memory."""


@dataclass(frozen=True)
class Job:
    """What to do with each member. Hashable: together with the model's structure, it identifies a compiled program."""

    scheme: Scheme
    sampling: Sampling
    observe: Observe | None = None
    trajectories: bool | tuple[str, ...] = False
    """Whether to keep the time histories of all states and outputs, or the names of those to keep."""
    gradient: tuple[str, ...] = ()
    """Names with respect to which the observables are differentiated."""
    devices: int = 1
    """Local devices that share a batch."""

    @property
    def forward(self) -> bool:
        """Whether gradients are computed in forward mode."""
        return getattr(self.scheme, "mode", "forward") == "forward"

    @property
    def lanes(self) -> int:
        """Lanes in which a member runs, each with some of its derivatives."""
        n = len(self.gradient)
        return 1 if n <= DIRECTIONS_TOGETHER or not self.forward else -(-n // DIRECTIONS_PER_LANE)


def run_member(model: Model, values: dict[str, Array], job: Job) -> dict[str, dict[str, Array]]:
    """One trajectory with its results, grouped as "outcome", "observed", "gradient", "trajectory" and "events".

    Event-driven runs also have a group `BEYOND`, which is counted over members and not kept (see `Trajectory.beyond`).
    """
    if not job.gradient:
        return _results(model, values, job)[0]
    theta = _differentiated(model, values, job)
    differentiate = jax.jacfwd if job.forward else jax.jacrev
    gradient, (results, ended) = differentiate(_observables(model, values, job), has_aux=True)(theta)
    stacked = {name: jnp.stack([g[n] for n in job.gradient], axis=-1) for name, g in gradient.items()}
    return _with_gradient(stacked, results, ended, job)


def run_members(model: Model, values: dict[str, Array], job: Job) -> dict[str, dict[str, Array]]:
    """The results of `run_member` for several members, with a leading axis over them."""
    n, groups = len(job.gradient), job.lanes
    if groups == 1:
        return jax.vmap(looped(lambda own: run_member(model, own, job), assured=REDUNDANT_CHECKS))(values)
    members = len(next(iter(values.values())))
    directions = jnp.eye(groups * DIRECTIONS_PER_LANE, n).reshape(groups, DIRECTIONS_PER_LANE, n)
    lanes = ({name: jnp.repeat(x, groups, axis=0) for name, x in values.items()}, jnp.tile(directions, (members, 1, 1)))
    along = looped(lambda own: _run_along(model, own[0], own[1], job), assured=REDUNDANT_CHECKS)
    found = jax.tree.map(lambda x: x.reshape(members, groups, *x.shape[1:]), jax.vmap(along)(lanes))
    slopes = {name: jnp.moveaxis(x, 1, -2) for name, x in found.pop("gradient").items()}
    slopes = {name: x.reshape(*x.shape[:-2], -1)[..., :n] for name, x in slopes.items()}
    return {**jax.tree.map(lambda x: x[:, 0], found), "gradient": slopes}


def _run_along(
    model: Model, values: dict[str, Array], directions: Float[Array, "k n"], job: Job
) -> dict[str, dict[str, Array]]:
    """As `run_member`, but with derivatives along the given directions instead of by each parameter of the gradient."""
    theta = _differentiated(model, values, job)

    def along(steps: Array) -> Any:
        moved = zip(theta.items(), steps @ directions, strict=True)
        return _observables(model, values, job)({name: x + step for (name, x), step in moved})

    slopes, (results, ended) = jax.jacfwd(along, has_aux=True)(jnp.zeros(len(directions), directions.dtype))
    return _with_gradient(slopes, results, ended, job)


def _differentiated(model: Model, values: dict[str, Array], job: Job) -> dict[str, Array]:
    """The values of one member by which its observables are differentiated."""
    others = [n for n in job.gradient if n not in values]
    own, y0 = member_of(model, values) if others else (model, None)  # others may depend on what varies
    return {n: own_value(own, n, y0) if n in others else values[n] for n in job.gradient}


def _observables(model: Model, values: dict[str, Array], job: Job) -> Callable[[dict[str, Array]], Any]:
    """The function to differentiate: from some values of a member to its real observables (auxiliary: all results)."""

    def observables(theta: dict[str, Array]) -> tuple[dict[str, Array], tuple[dict[str, dict[str, Array]], Array]]:
        results, ended = _results(model, {**values, **theta}, job)
        real = {n: x for n, x in results["observed"].items() if jnp.issubdtype(x.dtype, jnp.inexact)}
        return real, (results, ended)

    return observables


def _with_gradient(
    slopes: dict[str, Array], results: dict[str, dict[str, Array]], ended: Array, job: Job
) -> dict[str, dict[str, Array]]:
    """The results with the derivatives that exist; `slopes` have directions as their last axis."""
    # A NaN that `jnp.where` chose has the derivative zero.
    known = {name: ~jnp.isnan(results["observed"][name])[..., None] for name in slopes}
    slopes = {name: jnp.where(known[name], slope, jnp.nan) for name, slope in slopes.items()}
    # If a scheme ends runs early at a step instead of the exact time, what is measured until then has no derivative.
    early = frozenset(slopes) if job.scheme.exact_ends else frozenset()
    return {**results, "gradient": mask(slopes, ended, early)}


def _results(model: Model, values: dict[str, Array], job: Job) -> tuple[dict[str, dict[str, Array]], Array]:
    """The results of one member, and the status of its trajectory; `values` are the parameters that vary."""
    model, y0 = member_of(model, values)
    trajectory = job.scheme.run(model, job.sampling, y0, watch=getattr(job.observe, "watch", ()))
    run = Run(model, trajectory, job.sampling)
    events = _events(run) if job.trajectories else {}  # before the status: they may not all be recorded
    histories = _histories(run, job) if job.trajectories else {}  # before the measures, which share their outputs
    found = {} if job.observe is None else observed(job.observe, run)
    outcome = {
        "status": run.status_as_read,
        "t_end": trajectory.t_end,
        "steps": trajectory.steps,
        "rejected_steps": trajectory.rejected,
        **{f"{name}_end": y for name, y in state_variables(trajectory.y_end).items()},
    }
    results = {"outcome": outcome, "observed": found, "trajectory": histories, "events": events}
    if trajectory.beyond is not None:
        results[BEYOND] = {BEYOND: trajectory.beyond}
    return results, run.status


def _histories(run: Run, job: Job) -> dict[str, Array]:
    """The time, and the histories to keep of states, outputs and, if there are several phases, of the phase.

    Raises:
        ValueError: for a name that is none of these.
    """
    found = {**state_variables(run.ys), **run.outputs()}
    if with_phase(run.model, job.scheme):
        found[PHASE] = phases(run.model, run.trajectory)
    names = [*found] if job.trajectories is True else job.trajectories or ()
    if unknown := [name for name in names if name not in found]:
        what = f"trajectories: {type(run.model).__name__} has neither a state nor an output {unknown[0]!r}"
        raise ValueError(f"{what}: {checks.nearest(unknown[0], found)}")
    return {"time": run.trajectory.ts, **{name: found[name] for name in names}}


def _events(run: Run) -> dict[str, Array]:
    """Times and kinds of the events; empty if none were recorded."""
    return {} if run.trajectory.events is None else {"event_time": run.events.t, "event_kind": run.events.kind}


def shapes(model: Model, values: Mapping[str, ArrayLike], job: Job) -> dict[str, dict[str, jax.ShapeDtypeStruct]]:
    """Shapes and dtypes of one member's results that are kept, from tracing the program of these members (cached)."""
    program, _, _ = _program_of(model, values, job)
    kept = {group: found for group, found in program.results.items() if group != BEYOND}
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), kept)


def run_batch(
    model: Model, values: Mapping[str, ArrayLike], job: Job
) -> tuple[dict[str, dict[str, np.ndarray]], Lanes]:
    """Runs members together, compiling at most once per program.

    Args:
        model: with leaves of the precision in force.
        values: by name, each with a leading axis over members, a multiple of the number of devices.
        job: what to do.

    Returns:
        Results with a leading axis over members, and how members shared lanes.
    """
    program, dynamic, arguments = _program_of(model, values, job)
    with jax.disable_jit(False):  # compiled programs do not run under disable_jit
        results = program.compile()(dynamic, *arguments)
    return jax.tree.map(np.asarray, results), program.lanes


def compile_batch(model: Model, values: Mapping[str, ArrayLike], job: Job) -> None:
    """Compiles the program of `run_batch` or loads it from disk; same arguments, leading axis over members."""
    _program_of(model, values, job)[0].compile()


def _program_of(model: Model, values: Mapping[str, ArrayLike], job: Job) -> tuple[Program, Any, tuple[Any, Any]]:
    """The program of a batch, the model's arrays, and its other arguments: members and the numbers of the settings.

    If the code of a model or an observable branches on a setting, the settings are compiled in: no numbers remain.
    """
    arrays = {name: jnp.asarray(x) for name, x in values.items()}
    job = replace(job, sampling=job.scheme.complete_sampling(model, job.sampling))
    scheme, sampling, numbers = without_numbers(job.scheme, job.sampling)
    bare = replace(job, scheme=scheme, sampling=sampling)
    dynamic, static = eqx.partition(model, eqx.is_array)
    if job.devices > 1:
        dynamic, numbers = jax.device_put((dynamic, numbers), NamedSharding(_mesh(job), PartitionSpec()))
        arrays = jax.device_put(arrays, NamedSharding(_mesh(job), PartitionSpec("members")))
    args = (dynamic, arrays, numbers)
    program = _programs.get(lambda: _key(dynamic, static, arrays, bare), lambda: _for_all_numbers(static, bare, args))
    if program is None:
        args = (dynamic, arrays, ())
        program = _programs.get(lambda: _key(dynamic, static, arrays, job), lambda: _program(static, job, args))
    return program, dynamic, args[1:]


_programs = LRUCache(_PROGRAMS)  # tracing a program takes seconds


def _key(dynamic: Any, static: Any, values: dict[str, Array], job: Job) -> Any:
    """What a program depends on: everything except the numbers."""
    return signature((dynamic, static, values)), job, identity(static, job, own=True), machine.device()


def _for_all_numbers(static: Any, job: Job, args: tuple[Any, Any, Any]) -> Program | None:
    """The program that takes the numbers of the settings as arguments; None if this is impossible."""
    if job.devices == 1:
        return program_for_all_values(_function(static, job), *args, assured=REDUNDANT_CHECKS)
    try:
        return _sharded(static, job, args)
    except jax.errors.ConcretizationTypeError:
        return None


def _program(static: Any, job: Job, args: tuple[Any, Any, Any]) -> Program:
    """The program for the job's own numbers."""
    if job.devices == 1:
        return program_of(_function(static, job), *args, assured=REDUNDANT_CHECKS)
    return _sharded(static, job, args)


def _function(static: Any, job: Job) -> Callable[[Any, dict[str, Array], Any], Any]:
    """The function that runs a batch, of the model's arrays, the members and the numbers of the settings."""

    def run(dynamic: Any, values: dict[str, Array], numbers: Any) -> Any:
        model = eqx.combine(dynamic, static)
        scheme, sampling = with_numbers(job.scheme, job.sampling, numbers)
        complete = replace(job, scheme=scheme, sampling=sampling)
        return run_members(model, values, complete)

    return run


def _sharded(static: Any, job: Job, args: tuple[Any, Any, Any]) -> Program:
    """A program for several devices."""
    run = _function(static, job)
    # Each device has its own loop: a sharded loop would wait for all devices at every step.
    specs = (PartitionSpec(), PartitionSpec("members"), PartitionSpec())
    each = jax.shard_map(
        native(run, assured=REDUNDANT_CHECKS), mesh=_mesh(job), in_specs=specs, out_specs=specs[1], check_vma=False
    )
    with afresh():
        lowered = jax.jit(each).lower(*args)
    return Program(lowered.out_info, lowered.compile, lanes=lanes_of(lowered.as_text()))


def _mesh(job: Job) -> Mesh:
    return Mesh(np.array(machine.devices()[: job.devices]), ("members",))
