"""The plan of a scan, decided before it starts: members, settings, retries, and the division into blocks.

A block is a rectangle of the box of members; its results are a pure function of its `Task`, on any machine.

Members are not sorted by cost, because on CPUs a finished member leaves its lane to the next one (`jaxgait.native`).
In their given order, this is 0.97 to 1.36 times as fast as fixed vectors of members sorted by their true cost (unknown
beforehand), and 1.07 to 1.40 times as fast as fixed vectors in the given order (bungee 256, creeper 128, knee 64, knee
over k and c 128 members, one process, interleaved).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxgait import precision as precisions
from jaxgait.definition import RESERVED_RESULTS
from jaxgait.ensembles.addresses import member_of
from jaxgait.ensembles.batch import BEYOND, DIRECTIONS_PER_LANE, Job, compile_batch, run_batch, shapes
from jaxgait.ensembles.members import Members
from jaxgait.model import Model, Variable
from jaxgait.native import Lanes
from jaxgait.outcome import INVALID, Outcome, failures
from jaxgait.run import Sampling
from jaxgait.scheme import Retry
from jaxgait.solve.smooth import STIFF_RETRY
from jaxgait.solve.solvers import numerics_of
from jaxgait.states import out_of_bounds
from jaxgait.support import machine
from jaxgait.support.notes import note

LANES = 8
"""Batches are padded to a multiple of this, so that all members run through the same vector instructions."""

LARGEST_BATCH = 256
"""Largest useful batch on CPUs; other devices take as many members as fit."""

STORED_BLOCKS, LEAST_STORED = 16, 16
"""Approximate minimum number of blocks of a scan with a store, and minimum number of members in each."""
MOST_STORED, STORED_PER_WORKER, LARGEST_STORED = 256, 16, 1 << 25
"""Maximum number of blocks of a scan with a store: in total or, if that is more, for each worker; unless the results of
a block would take more than this number of bytes. Each block has a file for each result."""

_LARGEST_ELSEWHERE = 1 << 16
_SHARE_OF_MEMORY = 0.5
_CHECKPOINTS = 256  # copies of the state that reverse mode holds, roughly
_BLOCK_OUTCOME = ("first_status", "retries")
_GROUPS = ("outcome", "trajectory", "events", "observed", "gradient")
"""The groups of results (see `batch.run_member`), in the order in which results are listed."""
TALLY = "steps taken, room for steps, runs that grew beyond all bounds, and runs beyond each event"
"""Key, among a block's results, of the counts over its members; no observable can have this name."""
_OF_INVALID = {"status": INVALID, "first_status": INVALID, "retries": 0, "steps": 0, "rejected_steps": 0}
"""Results of an invalid member, which is not run; all others are missing."""


class Shape(NamedTuple):
    """Shape and dtype of one result of one member, and the group it belongs to (see `batch.run_member`)."""

    group: str
    shape: tuple[int, ...]
    dtype: np.dtype


@dataclass(frozen=True, eq=False)
class Plan:
    """A scan; the plan alone suffices to run any of its blocks."""

    model: Model
    members: Members
    job: Job
    precision: precisions.Precision
    retries: tuple[Retry, ...]
    block_shape: tuple[int, ...]
    """Members per block along each dimension; blocks at the far edges may be smaller."""
    results: Mapping[str, Shape]
    """Shapes of the results, by name (see `result_shapes`)."""
    variables: Mapping[str, Variable] = field(default_factory=dict)
    """Unit and long name of the observables."""
    valid: np.ndarray | None = None
    """Which members the model accepts, (members,); the others are not run. None: all."""
    rejection: str = ""
    """Why the model rejects the first invalid member."""
    batch: int | None = None
    """Members of a block that run together, one batch after the other; None: all."""

    @property
    def runnable(self) -> dict[str, np.ndarray]:
        """Values by name, (members, ...), of the members that are run, in their units."""
        return _chosen(self.members.values, slice(None) if self.valid is None else self.valid)

    @property
    def result_bytes(self) -> int:
        """Bytes of the results of one member."""
        return sum(map(_bytes, self.results.values()))

    @property
    def blocks(self) -> tuple[int, ...]:
        """Number of blocks along each dimension."""
        return tuple(-(-n // b) for n, b in zip(self.members.shape, self.block_shape, strict=True))

    @property
    def batch_length(self) -> int:
        """Members that run together, including padding."""
        return _batch_length(self.members, self.block_shape, self.job, self.batch)

    @property
    def size(self) -> int:
        """Number of blocks."""
        return math.prod(self.blocks)

    @functools.cached_property
    def times(self) -> np.ndarray | None:
        """Sampling times in s, (samples,), if trajectories are kept and all have the same times; None otherwise."""
        if not self.job.trajectories:
            return None
        sampling = self.job.sampling

        with precisions.use(self.precision):
            model, values = precisions.cast((self.model, self.runnable))

            def times(values: Any, sampling: Sampling) -> Any:
                return sampling.times(member_of(model, values)[0])

            ends = np.asarray(jax.jit(jax.vmap(lambda v: times(v, replace(sampling, samples=1))[-1]))(values))
            if np.any(ends != ends[0]):
                return None
            return np.asarray(times({name: x[0] for name, x in values.items()}, sampling))

    def region(self, block: int) -> tuple[slice, ...]:
        """The part of the box that a block covers."""
        corner = np.unravel_index(block, self.blocks)
        return tuple(
            slice(int(i) * b, min((int(i) + 1) * b, n))
            for i, b, n in zip(corner, self.block_shape, self.members.shape, strict=True)
        )


@dataclass(frozen=True, eq=False)
class Task:
    """Everything needed to run one block, on any machine."""

    model: Model
    job: Job
    precision: precisions.Precision
    retries: tuple[Retry, ...]
    values: dict[str, np.ndarray]
    """Values of the block's members, by name."""
    length: int
    """Members in a full batch; smaller batches are padded, so that all blocks share one program."""


def task_of(plan: Plan, block: int) -> Task:
    """Takes the valid members of one block out of a plan."""
    index = _members_of(plan, block)
    values = _chosen(plan.members.values, index if plan.valid is None else index[plan.valid[index]])
    length = plan.batch_length
    return Task(plan.model, plan.job, plan.precision, plan.retries, values, length)


def _members_of(plan: Plan, block: int) -> np.ndarray:
    """Numbers of the members of a block."""
    along = (np.arange(part.start, part.stop) for part in plan.region(block))
    return np.ravel_multi_index(np.ix_(*along), plan.members.shape).ravel()


def _chosen(values: Mapping[str, np.ndarray], which: Any) -> dict[str, np.ndarray]:
    return {name: x[which] for name, x in values.items()}


def with_invalid(plan: Plan, block: int, results: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Results of a block, (members, ...), with those of members that the model rejects: a status, no values."""
    if plan.valid is None:
        return dict(results)
    valid = plan.valid[_members_of(plan, block)]
    found = {TALLY: results[TALLY]}
    for name, (_, shape, dtype) in plan.results.items():
        found[name] = np.full((valid.size, *shape), _OF_INVALID.get(name, fill_value(dtype)), dtype)
        if valid.any():
            found[name][valid] = results[name]
    return found


def fill_value(dtype: np.dtype) -> Any:
    """The value of results of members that are not run, or have not run yet."""
    if dtype.kind in "fc":
        return dtype.type(np.nan)
    return dtype.type(-1) if dtype.kind == "i" else dtype.type(0)


def _batch_length(members: Members, shape: tuple[int, ...], job: Job, batch: int | None = None) -> int:
    """Members in a full batch, including padding, if blocks of this shape are divided equally, by `batch` at most."""
    block = min(math.prod(shape), members.size)
    return _padded(block if batch is None else math.ceil(block / math.ceil(block / batch)), job.devices)


def run_task(task: Task) -> dict[str, np.ndarray]:
    """Runs the members of a block, and retries those that failed.

    Returns:
        Results by name, each with the block's members (flat, last dimension fastest) as leading axis. `TALLY` counts
        the steps that they took in their first attempt; the steps that their lanes could have taken; the runs that
        ended with each component of the state (see `end_names`) out of bounds; and, with an event-driven scheme, the
        runs that began and stayed beyond each event (see `Trajectory.beyond`).
    """
    members = np.arange(len(next(iter(task.values.values()))))
    if not members.size:  # the model rejects all of them
        return {TALLY: np.zeros(2, np.int64)}
    results = _run(task, task.job, task.precision, members, task.length)
    results["first_status"] = results["status"].copy()
    results["retries"] = np.zeros(len(members), dtype=np.int32)
    for number, retry in enumerate(task.retries, start=1):
        failed = np.flatnonzero(_may_complete(task, retry, results["status"]))
        if not len(failed):
            continue
        if retry.name == STIFF_RETRY and numerics_of(task.model).explicit_values:
            _announce(type(task.model).__name__)
        job = replace(task.job, scheme=retry.scheme)
        least = _padded(1, task.job.devices)
        length = least << (-(-len(failed) // least) - 1).bit_length()  # doubled, so that there are few programs
        found = _run(task, job, retry.precision, failed, min(length, task.length))
        for name in found.keys() - {TALLY}:
            results[name][failed] = found[name]
        results[TALLY][2:] += found[TALLY][2:]
        results["retries"][failed] = number
    return results


@functools.cache  # once per process
def _announce(model: str) -> None:
    """Notes that a long compilation follows, which the model's explicit steps were meant to avoid."""
    what = f"members of {model} failed in explicit steps and run again in implicit ones"
    note(f"{what}, whose program may take minutes to compile; retry=False leaves them as they are")


def _may_complete(task: Task, retry: Retry, status: np.ndarray) -> np.ndarray:
    """Which members a retry may help: none at the limit of events, nor at that of steps if it is only tighter."""
    first, again = vars(task.job.scheme), vars(retry.scheme)
    changed = {name for name in first if again.get(name) != first[name]}  # by value: workers get copies
    tighter = type(retry.scheme) is type(task.job.scheme) and changed <= {"rtol", "atol"}
    limits = [Outcome.EVENT_LIMIT, *([Outcome.MAX_STEPS] if tighter and retry.precision == task.precision else [])]
    return failures(status) & ~np.isin(status, limits)


def compile_blocks(plan: Plan) -> None:
    """Compiles the program of a plan's blocks, or loads it from disk, so that blocks need no compilation."""
    task = replace(task_of(plan, 0), values=plan.runnable)
    with precisions.use(task.precision):
        compile_batch(*_batch(task, task.precision, np.zeros(1, dtype=int), task.length), task.job)


def result_shapes(
    model: Model, members: Members, job: Job, precision: precisions.Precision, batch: int, variables: Iterable[str] = ()
) -> dict[str, Shape]:
    """All results of one member by name, by tracing the program of a batch without running it.

    They are in the order in which the model declares them, then in the order of the observables `variables`, neither of
    which compiled programs preserve.

    Raises:
        ValueError: if `observe` uses the name of another result, or of a label of the members.
    """
    length = _batch_length(members, block_shape(members.shape, batch), job)
    with precisions.use(precision):
        first = {n: np.broadcast_to(x[:1], (length, *x.shape[1:])) for n, x in members.values.items()}
        groups = shapes(*precisions.cast((model, first)), job)
    labels = {*members.dims, *members.labels}
    taken = (labels | {"time", "instant", "parameter"}) & set(groups["observed"])
    if taken:
        why = "it labels the members" if min(taken) in labels else "every ensemble has a dimension of that name"
        raise ValueError(f"observe must not use the name {min(taken)!r}: {why}")
    names = {_flat_name(group, key): group for group, results in groups.items() for key in results}
    found = {n: Shape(names[n], x.shape, np.dtype(x.dtype)) for n, x in _flat(groups).items()}
    found |= dict.fromkeys(_BLOCK_OUTCOME, Shape("outcome", (), np.dtype(np.int32)))
    rank = {name: number for number, name in enumerate(["time", *RESERVED_RESULTS, *model.variables, *variables])}

    def position(name: str) -> tuple[int, int]:
        group = found[name].group
        return _GROUPS.index(group), rank.get(name, rank.get(stem(name, group), len(rank)))

    return {name: found[name] for name in sorted(found, key=position)}


def stem(name: str, group: str) -> str:
    """The name of the variable that a result belongs to: "x" for "x_end" and for "x_gradient"."""
    return name.removesuffix({"gradient": "_gradient", "outcome": "_end"}.get(group, ""))


def _run(
    task: Task, job: Job, precision: precisions.Precision, members: np.ndarray, length: int
) -> dict[str, np.ndarray]:
    """Results, by name, of some members of a task, run in batches of `length`, and their `TALLY`."""
    batches = [members[i : i + length] for i in range(0, len(members), length)]
    found = [_run_batch(task, job, precision, batch, length) for batch in batches]
    if len(found) == 1:
        return found[0]
    results = {name: np.concatenate([batch[name] for batch in found]) for name in found[0] if name != TALLY}
    return {**results, TALLY: np.sum([batch[TALLY] for batch in found], axis=0)}


def _run_batch(
    task: Task, job: Job, precision: precisions.Precision, members: np.ndarray, length: int
) -> dict[str, np.ndarray]:
    with precisions.use(precision):
        model, values = _batch(task, precision, members, length)
        groups, lanes = run_batch(model, values, job)
    beyond = groups.pop(BEYOND, {}).get(BEYOND, np.zeros((length, 0), bool))[: len(members)]
    found = {name: np.array(x[: len(members)]) for name, x in _flat(groups).items()}
    ok = ~failures(found["status"])
    beyond_all = [out_of_bounds(found[name]) for name in end_names(groups["outcome"])]
    grown = [np.sum(ok & np.any(x, axis=tuple(range(1, x.ndim)))) for x in beyond_all]
    work = _work(found, lanes, length, job.devices)
    return {**found, TALLY: np.concatenate([work, grown, beyond[ok].sum(axis=0)]).astype(np.int64)}


def end_names(outcome: Iterable[str]) -> list[str]:
    """The outcomes, among all, that are components of the state at the end, in alphabetical order."""
    return sorted(name for name in outcome if name.endswith("_end") and name != "t_end")


def _work(results: Mapping[str, np.ndarray], lanes: Lanes, length: int, devices: int) -> np.ndarray:
    """Steps that the members of a batch took, and that their lanes could have taken; each device runs a part."""
    steps = results["steps"].astype(np.int64) + results["rejected_steps"]
    room = sum(lanes.lane_iterations(part.tolist()) for part in np.split(np.resize(steps, length), devices))
    return np.array([steps.sum(), room])


def _batch(task: Task, precision: precisions.Precision, members: np.ndarray, length: int) -> tuple[Model, Any]:
    """The model and the values of some members of a task, padded to a length."""
    padded = np.resize(members, length)
    with precisions.use(precision):
        return precisions.cast((task.model, {n: x[padded] for n, x in task.values.items()}))


def _flat(groups: dict[str, dict[str, Any]]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for group, results in groups.items():
        for key, x in results.items():
            name = _flat_name(group, key)
            if name in flat or (group == "observed" and name in RESERVED_RESULTS):
                whose = "every ensemble" if name in RESERVED_RESULTS else "this one"
                raise ValueError(f"observe must not use the name {name!r}: {whose} has a result of that name")
            flat[name] = x
    return flat


def _flat_name(group: str, key: str) -> str:
    return f"{key}_gradient" if group == "gradient" else key


def _padded(members: int, devices: int) -> int:
    lanes = LANES * devices
    return -(-members // lanes) * lanes


def block_shape(shape: tuple[int, ...], members: int) -> tuple[int, ...]:
    """The shape of a box's blocks: full length in the last dimensions, a part of one, length 1 in those before it."""
    result: list[int] = []
    room = max(1, members)
    for n in reversed(shape):
        pieces = -(-n // min(room, n))
        side = -(-n // pieces)
        result.append(side)
        room = room // side if side == n else 1
    return tuple(reversed(result))


def largest_batch(members: Members, job: Job, workers: int, *, stored: bool = False) -> int:
    """Members per block: at most as many as pay off, and few enough to occupy every worker.

    On CPUs a scan with a store has several blocks, so that an interruption loses little. Blocks of 16 members take 1.05
    to 1.2 times as long as those of 64 (128 knees, 256 walkers, one process); writing a block takes up to 0.1 s.
    """
    largest = (LARGEST_BATCH if machine.on_cpu() else _LARGEST_ELSEWHERE) * job.devices
    share = -(-members.size // workers)
    if stored and machine.on_cpu():
        share = min(share, max(-(-members.size // STORED_BLOCKS), LEAST_STORED * job.devices))
    return _padded(min(largest, share), job.devices)


def stored_shape(shape: tuple[int, ...], batch: int, member_bytes: int, workers: int) -> tuple[int, ...]:
    """The shape of the blocks of a store: several batches each, if there would otherwise be too many blocks.

    Args:
        shape: members along each dimension.
        batch: members that run together.
        member_bytes: size of a member's results in bytes.
        workers: blocks that run in parallel.
    """
    most, members = max(MOST_STORED, STORED_PER_WORKER * workers), batch
    blocks = lambda: math.prod(-(-n // b) for n, b in zip(shape, block_shape(shape, members), strict=True))
    while blocks() > most and (members + batch) * member_bytes <= LARGEST_STORED:
        members += batch
    return block_shape(shape, members)


def batch_size(largest: int, job: Job, member_bytes: int, workers: int) -> int:
    """Members per block: at most as many as fit in the free memory, and at most `largest`.

    Raises:
        MemoryError: if not even one member fits.
    """
    free = _free_bytes(job.devices)
    fitting = int(free * _SHARE_OF_MEMORY / workers // member_bytes)
    if fitting < 1:
        raise MemoryError(f"one trajectory needs {member_bytes / 1e9:.3g} GB: request fewer samples or observables")
    return min(largest, fitting)


def bytes_per_member(job: Job, results: Mapping[str, Shape]) -> int:
    """Rough memory of one member on its device: its samples, its results, and the solver's copies of the state."""
    state = sum(_bytes(r) for name, r in results.items() if r.group == "outcome" and name.endswith("_end"))
    copies = 1
    if job.gradient:
        copies += _CHECKPOINTS if not job.forward else len(job.gradient) if job.lanes == 1 else DIRECTIONS_PER_LANE
    samples = 2 * (job.sampling.intervals + 1)
    # Every lane of a member has all of its results, of which one remains.
    return job.lanes * (copies * state * (samples + job.scheme.copies) + 2 * sum(map(_bytes, results.values())))


def _bytes(x: Any) -> int:
    return math.prod(x.shape) * x.dtype.itemsize


def _free_bytes(devices: int) -> int:
    if machine.on_cpu():
        return machine.free_memory()
    stats = machine.device().memory_stats() or {}
    return devices * (stats.get("bytes_limit", machine.UNKNOWN_MEMORY) - stats.get("bytes_in_use", 0))


def default_workers(devices: int) -> int:
    """Blocks that run in parallel: one per core that this process may use on CPUs, one on other devices."""
    return max(1, machine.processors() // devices) if machine.on_cpu() else 1
