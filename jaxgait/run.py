"""One run: the model, its trajectory and its sampling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxgait.model import Model, Scalar, State, as_model
from jaxgait.outcome import Outcome
from jaxgait.plausible import warn_implausible
from jaxgait.precision import float64_default
from jaxgait.states import blank, state_variables
from jaxgait.support import checks, machine, units

T = TypeVar("T")

SAMPLES_PER_STRIDE = 100
SAMPLES_PER_RUN = 1000
LONGEST_RUN = 100.0
"""Plausible length of a run, in units of the model's own duration."""
_ATTRIBUTES = {"time": "ts", "event_time": "events.t", "event_kind": "events.kind", "event_name": "happened(name)"}
"""Attributes of a run, by the names of what they hold in a dataset."""
WHOLE_WITHIN = 1e-6
"""Largest difference from a whole number, of periods or steps, that counts as rounding."""

TRANSIENT_STRIDES = 2
"""First strides of a run, in which a motion leaves its start: they count only in runs without others."""


class NotRecorded(ValueError):
    """The events of a smooth run were read, but not recorded."""


@float64_default
class Extremes(NamedTuple):
    """Least and largest value of one output over all accepted steps of the solver, including the start.

    In smooth and event-driven motion, extremes within steps are included (`jaxgait.solve.samples`); a prescribed motion
    has no steps, and its extremes are those of the samples.
    """

    least: Array
    largest: Array

    def including(self, least: Array, largest: Array) -> Extremes:
        """The extremes widened by others, in the same unit, whose shape and type they keep.

        Examples:
            >>> import jax.numpy as jnp
            >>> from jaxgait.run import Extremes
            >>> wider = Extremes(jnp.array(1), jnp.array(4)).including(jnp.array(-2), jnp.array(3))
            >>> print(wider.least, wider.largest)
            -2 4
        """
        return Extremes(jnp.minimum(self.least, least), jnp.maximum(self.largest, largest))


@float64_default
class Events(eqx.Module):
    """Events of a trajectory in chronological order; the leading axis `events` is padded.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.run import Events
        >>> found = Events(jnp.array([2.5, 5.1, jnp.nan]), jnp.array([0, 1, -1]), None, None, names=("taut", "lowest"))
        >>> [(found.names[kind], float(t)) for kind, t in zip(found.kind, found.t) if kind >= 0]  # s
        [('taut', 2.5), ('lowest', 5.1)]
    """

    t: Float[Array, "*events"]
    """Times in s; NaN after the last event."""
    kind: Int[Array, "*events"]
    """Number of the event's name in `names`; -1 after the last event."""
    before: State
    """States just before."""
    after: State
    """States just after."""
    totals: dict[str, Array] = eqx.field(default_factory=dict)
    """Running totals just before, by name (see `Trajectory.totals`)."""
    amounts: dict[str, Array] = eqx.field(default_factory=dict)
    """Additions to the totals by the step of the event."""
    missed: Int[Array, "*"] | None = None
    """Number of events beyond `max_events`; None where a run ends before that."""
    names: tuple[str, ...] = eqx.field(static=True, default=())
    """The names of the kinds."""


@float64_default
class Trajectory(NamedTuple):
    """The result of every scheme; under `vmap` every field gets a leading axis."""

    ts: Float[Array, " times"]
    """Times in s."""
    ys: State
    """States at these times; NaN after an early end."""
    status: Int[Array, ""]
    """A code of `jaxgait.outcome`."""
    t_end: Float[Array, ""]
    """Last time reached in s."""
    y_end: State
    """State at `t_end`."""
    steps: Int[Array, ""]
    rejected: Int[Array, ""]
    extremes: dict[str, Extremes] = {}  # noqa: RUF012 (never changed)
    """Extremes of the watched outputs, by name."""
    events: Events | None = None
    """Events during the run, if the scheme detects them."""
    totals: dict[str, Array] = {}  # noqa: RUF012
    """Running totals over the solver's own steps at each of the times, by name; NaN after an early end."""
    beyond: Bool[Array, " transitions"] | None = None
    """Transitions that change the motion, at or beyond which a run began and ended: none happened, and guards sank."""

    def reached(self) -> Bool[Array, " times"]:
        """Which samples the run reached, including one exactly at its end; times in s.

        Examples:
            >>> import jax.numpy as jnp
            >>> from jaxgait.run import Trajectory
            >>> ts = jnp.array([0.0, 0.1, 0.2, 0.3])
            >>> fell = Trajectory(ts, ts, jnp.array(10), jnp.array(0.15), jnp.array(0.15), jnp.array(9), jnp.array(0))
            >>> print(fell.reached())  # it ended after 0.15 s
            [ True  True False False]
        """
        return self.ts <= self.t_end

    def until_end(self) -> Trajectory:
        """The trajectory with NaN (or what `blank` has) for states and totals at samples that the run did not reach.

        Examples:
            >>> import jax.numpy as jnp
            >>> from jaxgait.run import Trajectory
            >>> ts = jnp.array([0.0, 0.1, 0.2, 0.3])
            >>> fell = Trajectory(ts, ts, jnp.array(10), jnp.array(0.15), jnp.array(0.15), jnp.array(9), jnp.array(0))
            >>> print(fell.until_end().ys)
            [0.  0.1 nan nan]
        """
        ys, totals = jax.tree.map(lambda x: blank(x, self.reached()), (self.ys, self.totals))
        return self._replace(ys=ys, totals=totals)


@float64_default
@dataclass(frozen=True)
class Sampling:
    """When a run is sampled: equally spaced from 0 to its end, both included; `Sampling.of` fills in the defaults.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.run import Sampling
        >>> walk = Sampling(strides=2, samples=100)
        >>> print(walk, walk.intervals)
        2 strides of 100 samples 200
        >>> jump = Sampling(None, samples=4, duration=2.0)
        >>> print(jump.times(Bungee()), jump.spacing(Bungee()))  # s
        [0.  0.5 1.  1.5 2. ] 0.5
    """

    strides: int | None
    """Number of strides; None: the run is not counted in strides."""
    samples: int
    """Intervals per stride; in total, if the run is not counted in strides."""
    duration: float | None = None
    """Length in s of a run that is not counted in strides; None: the model's own duration."""
    interval: float | None = None
    """Longest time in s between samples, of all members; None: unknown."""
    steps: tuple[int, int] | None = None
    """Blocks of steps between samples, and steps per block, for schemes with steps of fixed length; None: unknown."""

    @property
    def intervals(self) -> int:
        """Number of intervals in the entire run."""
        return self.samples * (self.strides or 1)

    def spacing(self, model: Model) -> Scalar:
        """Time in s between samples. The model may be traced."""
        if self.strides is None:
            return (_duration(model) if self.duration is None else self.duration) / self.samples
        assert model.period is not None
        return model.period / self.samples

    def times(self, model: Model) -> Float[Array, " times"]:
        """Sampling times in s. The model may be traced."""
        if self.strides is not None:
            return jnp.arange(self.intervals + 1, dtype=float) * self.spacing(model)
        return jnp.linspace(0.0, _duration(model) if self.duration is None else self.duration, self.intervals + 1)

    def __str__(self) -> str:
        if self.strides is None:
            return f"{self.samples} samples, not counted in strides"
        return f"{checks.count_of(self.strides, 'stride', 'strides')} of {self.samples} samples"

    @classmethod
    def of(cls, model: Model, strides: int | None, duration: float | None, samples: int | None) -> Sampling:
        """Checks the arguments and fills in the model's defaults; a periodic model runs whole strides by default.

        Args:
            model: a mechanism with concrete leaves.
            strides: number of strides.
            duration: length in s, instead of `strides`.
            samples: per stride (of a run counted in strides) or in total.

        Warns:
            jaxgait.plausible.ImplausibleValue: if the duration is over `LONGEST_RUN` times the model's own.

        Raises:
            ValueError: if the span or the number of samples is impossible.
            TypeError: for anything but a model.

        Examples:
            >>> from jaxgait import Prosthesis
            >>> from jaxgait.run import Sampling
            >>> Sampling.of(Prosthesis(), strides=2, duration=None, samples=None).intervals
            200
        """
        if strides is not None and duration is not None:
            raise ValueError("give strides or duration, not both")
        samples = None if samples is None else checks.count("samples", samples)
        check_period(as_model(model))
        if strides is None and duration is None:
            strides = _natural_strides(model)
        if strides is not None:
            strides = checks.count("strides", strides)
            if model.period is None:
                raise ValueError(
                    f"{type(model).__name__} has no period: give duration (in s) instead of strides, such as "
                    f"duration={usual_duration(model):g}, its default"
                )
            chosen = cls(strides, samples or SAMPLES_PER_STRIDE)
        else:
            duration = units.seconds("duration", duration)
            seconds = None if duration is None else checks.positive("duration", duration, "seconds")
            if seconds is not None and (longest := LONGEST_RUN * usual_duration(model)):
                warn_implausible(f"the duration of a run of {type(model).__name__}", seconds, "s", (0.0, longest))
            chosen = cls(None, samples or SAMPLES_PER_RUN, seconds)
        return replace(chosen, interval=float(np.max(np.asarray(chosen.spacing(model)))))


def usual_duration(model: Model) -> float:
    """The longest duration of the model's own, in s; zero if it has none, or if it is traced.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.run import usual_duration
        >>> usual_duration(Bungee())
        100.0
    """
    own = model.duration
    if own is None or not checks.is_concrete(own):
        return 0.0
    longest = float(np.max(np.asarray(own)))
    return longest if 0.0 < longest < np.inf else 0.0


@float64_default
def check_period(model: Model) -> None:
    """Checks that the period of a model, if it has one, is a positive number of seconds, unless it is traced.

    Raises:
        ValueError: for any other value.

    Examples:
        >>> from jaxgait import Prosthesis
        >>> from jaxgait.run import check_period
        >>> check_period(Prosthesis())
    """
    if model.period is not None and checks.is_concrete(model.period):
        for one in np.ravel(np.asarray(model.period)).tolist():  # of several members, if parameters have a leading axis
            checks.positive(f"{type(model).__name__}.period", one, "seconds")


def _duration(model: Model) -> Any:
    """The model's own duration in s, a number that may be traced."""
    if checks.is_concrete(model.duration):
        checks.positive(f"{type(model).__name__}.duration", model.duration, "seconds")
    return model.duration


def _natural_strides(model: Model) -> int | None:
    """The number of strides in the model's own duration, if it is an integer."""
    if model.period is None:
        return None
    ratio = float(_duration(model) / model.period)
    return round(ratio) if round(ratio) >= 1 and abs(ratio - round(ratio)) < WHOLE_WITHIN else None


@float64_default
class Run:
    """One trajectory for `observe` and measures: `run["knee_angle"]` is a time history, sampled at `Run.ts`.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait import Bungee
        >>> from jaxgait.models.bungee.model import BungeeState
        >>> from jaxgait.run import Events, Extremes, Run, Sampling, Trajectory
        >>> ts = jnp.array([0.0, 1.0, 2.0])  # a free fall from 30 m above the taut point, under 10 m/s^2
        >>> fall, end = BungeeState(-30.0 + 5.0 * ts**2, 10.0 * ts), BungeeState(jnp.array(-10.0), jnp.array(20.0))
        >>> watched = {"height": Extremes(jnp.array(59.5), jnp.array(80.0))}
        >>> events = Events(jnp.array([1.5, jnp.nan]), jnp.array([1, -1]), None, None, names=("taut", "lowest"))
        >>> trajectory = Trajectory(ts, fall, jnp.array(0), ts[-1], end, jnp.array(9), jnp.array(0), watched, events)
        >>> run = Run(Bungee(), trajectory, Sampling(None, 2, 2.0))
        >>> print(run.ts, run.ys.v, run["x"])  # s, m/s, m
        [0. 1. 2.] [ 0. 10. 20.] [-30. -25. -10.]
        >>> print(run.outputs()["height"], run["rope_force"], run.extremes("height").least)  # m, N, m
        [80. 75. 60.] [0. 0. 0.] 59.5
        >>> print(run.events.t, run.happened("lowest"))  # s
        [1.5 nan] [ True False]
        >>> run.once(lambda run: float(run["v"].max()))
        20.0
    """

    def __init__(self, model: Model, trajectory: Trajectory, sampling: Sampling, whole: Run | None = None) -> None:
        self.model, self.trajectory, self.sampling = model, trajectory, sampling
        self._whole = whole
        self._known: dict[Any, tuple[Any, Run]] = {} if whole is None else whole._known
        self._reads_events = False

    def __getattr__(self, name: str) -> Any:
        own = f"run.{_ATTRIBUTES[name]}" if name in _ATTRIBUTES else f'run["{name}"]'
        hint = "" if name.startswith("_") else f": write {own}"
        raise AttributeError(f"a run has no attribute {name!r}{hint}", name=name, obj=self)

    @property
    def ts(self) -> Float[Array, " times"]:
        """Sampling times in s."""
        return self.trajectory.ts

    @property
    def ys(self) -> State:
        """States at these times, in the model's own structure; NaN after an early end."""
        return self.trajectory.ys

    def __getitem__(self, name: Any) -> Any:
        """A component of the state or an output of the model, by name, with the leading axis `ts`.

        Raises:
            KeyError: for an unknown name, with the nearest ones.
        """
        found = {**self.outputs(), **state_variables(self.ys)}
        if name not in found:
            hint = f"write run.{_ATTRIBUTES[name]}" if name in _ATTRIBUTES else checks.nearest(name, sorted(found))
            raise KeyError(f"a run of {type(self.model).__name__} has no {name!r}: {hint}")
        return found[name]

    @property
    def events(self) -> Events:
        """Events during the run.

        Raises:
            ValueError: if none were recorded, or the model has none.
        """
        if self.trajectory.events is None:
            name = type(self.model).__name__
            if not self.model.events() and hasattr(self.model, "transitions"):
                raise ValueError(
                    f"this run of {name} has no events: only event-driven runs record transitions. Define `events`, or "
                    'give scheme="EventDriven"'
                )
            if not self.model.events():
                raise ValueError(f"{name} has no events: define `events` or `transitions`")
            raise NotRecorded(f"no events of {type(self.model).__name__} were recorded: give max_events")
        self._note_events()
        return self.trajectory.events

    def _note_events(self) -> None:
        """Remembers that events were read, also in the run of which this is a view."""
        self._reads_events = True
        if self._whole is not None:
            self._whole._note_events()

    def view(self) -> Run:
        """The same run, sharing cached values, for one function: its `status_as_read` records what that function reads.

        Examples:
            >>> from jaxgait import Bungee, ensemble
            >>> both = lambda run: {"same": run.view().ts[-1] - run.ts[-1]}
            >>> print(ensemble(Bungee(), {"mass": [60.0, 80.0]}, duration=20.0, observe=both).same.values)
            [0. 0.]
        """
        return Run(self.model, self.trajectory, self.sampling, self)

    @property
    def status(self) -> Int[Array, ""]:
        """How the trajectory ended, a code of `jaxgait.outcome`.

        Examples:
            >>> from jaxgait import Bungee, ensemble
            >>> code = lambda run: {"twice": 2 * run.status}
            >>> print(ensemble(Bungee(), {"mass": [60.0, 80.0]}, duration=20.0, observe=code).twice.values)  # completed
            [0 0]
        """
        return self.trajectory.status

    @property
    def status_as_read(self) -> Int[Array, ""]:
        """`status`, or `Outcome.EVENT_LIMIT` if events have been read of which not all are recorded.

        Examples:
            >>> import jax.numpy as jnp
            >>> from jaxgait import Bungee
            >>> from jaxgait.run import Events, Run, Sampling, Trajectory
            >>> ts, code, count = jnp.array([0.0, 2.0]), jnp.array(0), jnp.array(9)
            >>> first = Events(jnp.array([1.5]), jnp.array([0]), None, None, missed=jnp.array(2), names=("taut",))
            >>> trajectory = Trajectory(ts, None, code, ts[-1], None, count, count, events=first)
            >>> run = Run(Bungee(), trajectory, Sampling(None, 1, 2.0))
            >>> print(run.status_as_read, run.happened("taut"), run.status_as_read)  # two more are not recorded
            0 [ True] 4
        """
        code, events = self.trajectory.status, self.trajectory.events
        if not self._reads_events or events is None or events.missed is None:
            return code
        cut = (code == Outcome.COMPLETED) & (events.missed > 0)
        return jnp.where(cut, Outcome.EVENT_LIMIT, code).astype(code.dtype)

    def outputs(self, first: int = 0) -> dict[str, Array]:
        """All outputs of the model by name, with the leading axis `ts` from sample `first` on; NaN after an early end.

        They are computed for these samples only, unless all of them are already known. A negative `first` counts from
        the end.
        """
        if first and _outputs not in self._known:
            found = self.trajectory
            ts, ys, totals = jax.tree.map(lambda x: x[first:], (found.ts, found.ys, found.totals))
            return outputs(self.model, found._replace(ts=ts, ys=ys, totals=totals))
        return {name: x[first:] for name, x in self.once(_outputs).items()}

    def extremes(self, name: str) -> Extremes:
        """Least and largest value of a watched output over the solver's own steps (see `Extremes`).

        Raises:
            ValueError: for an output that was not watched.
        """
        watched = self.trajectory.extremes
        if name not in watched:
            raise ValueError(
                f"{name!r} was not watched during the run of {type(self.model).__name__}: name it in `watch` of the "
                "measure, and give the measure itself to `observe`"
            )
        return watched[name]

    def happened(self, name: str) -> Bool[Array, " events"]:
        """Mask of the run's `events` called `name`; its sum counts them.

        Raises:
            ValueError: if no events were recorded.
            KeyError: for an unknown name, listing the known ones.
        """
        names = self.events.names
        if name not in names:
            raise KeyError(f"a run of {type(self.model).__name__} has no event {name!r}: there are {', '.join(names)}")
        return self.events.kind == names.index(name)

    def once(self, function: Callable[[Run], T]) -> T:
        """The value of a function of this run, cached, so that measures can share it."""
        if function not in self._known:
            view = self.view()
            self._known[function] = function(view), view
        value, view = self._known[function]
        if view._reads_events:
            self._note_events()
        return value


def _outputs(run: Run) -> dict[str, Array]:
    return outputs(run.model, run.trajectory)


@float64_default
def outputs(model: Model, trajectory: Trajectory) -> dict[str, Array]:
    """Outputs of a model and its running totals along a trajectory, by name; leading axis `ts`, NaN after an early end.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait import Bungee
        >>> from jaxgait.models.bungee.model import BungeeState
        >>> from jaxgait.run import Trajectory, outputs
        >>> ts, end = jnp.array([0.0, 1.0, 2.0]), BungeeState(jnp.array(2.0), jnp.array(0.0))
        >>> hanging = BungeeState(jnp.array([-1.0, 0.0, 2.0]), jnp.zeros(3))  # m below the taut point, m/s
        >>> trajectory = Trajectory(ts, hanging, jnp.array(0), ts[-1], end, jnp.array(9), jnp.array(0))
        >>> print(outputs(Bungee(), trajectory)["rope_force"])  # N
        [ 0.  0. 40.]
    """
    found = {**_of_samples(model.prepared().outputs, trajectory.ts, trajectory.ys), **trajectory.totals}
    return {name: blank(x, trajectory.reached()) for name, x in found.items()}


def _of_samples(function: Callable[..., T], *along: Any) -> T:
    """The values of a function at all samples, the leading axis of its arguments.

    On a CPU the samples are a loop, which becomes a kernel. Batched, functions of many small vectors (trees of bodies)
    are left to XLA, which takes longer to compile them than to run them. A GPU needs the batch.
    """
    if machine.on_cpu():
        return jax.lax.map(lambda sample: function(*sample), along)
    return jax.vmap(function)(*along)
