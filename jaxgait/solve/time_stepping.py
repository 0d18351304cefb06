"""Nonsmooth mechanics by time stepping: contact, impact and friction as complementarity on midpoint steps.

One step of length dt from (q, u), everything evaluated at the midpoint q + dt/2 u:

    M (u' - u) = h dt + W^T P,        (W + dt What)(u' - u) + dt What u + (1 + e) W u  =  G P + b   complementary to P,
    q' = q + dt/2 (u + u')

with the contact rows W = [W_N; W_T], their time derivatives What, Newton's restitution e and impulses P from
`jaxgait.mechanics.complementarity`. Events are not located: any number of impacts is resolved inside a step, to first
order in dt. The model defines inertia, forces and contacts (`jaxgait.kinds.NonsmoothModel`).

`TimeStepping` is the scheme that `simulate` and `ensemble` use; `march` gives access to every step.

Touch-down and lift-off (`jaxgait.kinds.ObservedContacts`) are recorded with the accuracy of a step and without bounces:
a foot has lifted off only if it stays open for the model's `separation`. Lift-offs within that time of the end of a run
are therefore not recorded, and contacts that close within that time from the start count as closed from the start.

Derivatives (forward, and reverse with up to three contacts) are those of the discrete steps with the contact modes they
took, and exact as long as no mode changes. The time at which a contact opens, closes or changes between stick and slip
is quantised to dt, and its shift is not part of the derivative: use `jaxgait.solve.hybrid` for derivatives across
events.

Source: Duan, Wang and Wang, Chin. J. Theor. Appl. Mech. 43 (2011) 765, section 2 (with its misprints corrected).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from jaxgait.kinds import Contact, NonsmoothModel, ObservedContacts, Step, check_kind
from jaxgait.mechanics import Scalar
from jaxgait.mechanics.complementarity import ContactSolution, contact_impulses
from jaxgait.mechanics.linalg import Vector, dot
from jaxgait.model import State, System
from jaxgait.outcome import Outcome
from jaxgait.precision import float64_default
from jaxgait.run import WHOLE_WITHIN, Events, Sampling
from jaxgait.solve.checks import check_model, check_state
from jaxgait.solve.fixed import FixedSteps, Grid, Progress, division
from jaxgait.solve.steps import prepared, select, start_state
from jaxgait.support import checks
from jaxgait.support.units import seconds

T = TypeVar("T")

MAX_VIOLATION = 1e-6
"""Violation of the contact law, relative to the largest speed of closed contacts without impulses, above which impulses
are not a solution; in float32 a thousand roundings."""
STEPS_PER_SEPARATION = 10
"""Least number of steps within `ObservedContacts.separation`; so many are examined together, in a block."""


@float64_default
@dataclass(frozen=True)
class TimeStepping(FixedSteps):
    """Integrates a model with contacts by steps of fixed length; impacts and friction are resolved within a step.

    Examples:
        >>> from jaxgait import RigidWalker
        >>> from jaxgait.solve.time_stepping import TimeStepping
        >>> TimeStepping.of(RigidWalker(), dt=1e-3)
        TimeStepping(dt=0.001, max_events=1000)
    """

    max_events: int = 1000
    """Events of a trajectory; one that has more is given up."""

    kind: ClassVar[type] = NonsmoothModel
    needs: ClassVar[str] = "inertia and contacts, kinetics(y) and contacts(y)"
    no_gradient: ClassVar[str] = (
        "the moment at which a contact opens or closes is known to a step of dt, so that its shift has no derivative; "
        "EventDriven (RollingWalker) has it, and so has the smooth Walker"
    )

    def __post_init__(self) -> None:
        """Rejects impossible options.

        Raises:
            ValueError: naming the invalid option and what would be valid.
        """
        super().__post_init__()
        checks.count("max_events", self.max_events)

    def event_names(self, model: Any) -> tuple[str, ...]:
        """Two names per contact, for models that define them (see `jaxgait.kinds.ObservedContacts`)."""
        return tuple(model.event_names()) if isinstance(model, ObservedContacts) else ()

    @property
    def copies(self) -> int:
        """Copies for the events, and a few more."""
        return 4 * self.max_events + 8

    def _division(self, model: Any, sampling: Sampling) -> tuple[int, int]:
        """Blocks between two samples, and steps per block; a contact touches at most once per block."""
        if not isinstance(model, ObservedContacts):
            return division(sampling, self.dt)
        if not checks.is_concrete(model.separation):  # each run checks its own
            return division(sampling, self.dt, STEPS_PER_SEPARATION)
        most = float(model.separation) / STEPS_PER_SEPARATION
        if self.dt > most > 0.0:
            raise ValueError(
                f"dt must be at most {most:g} s for {type(model).__name__}, a {STEPS_PER_SEPARATION}th of the time "
                f"after which a contact counts as open, got {self.dt:g} s"
            )
        return division(sampling, self.dt, STEPS_PER_SEPARATION if most > 0.0 else 1)

    def _stepper(self, model: Any, grid: Grid, watch: tuple[str, ...]) -> _Stepper:
        return _Stepper(model.prepared(), grid, watch, self.max_events, isinstance(model, ObservedContacts))


class _Touch(NamedTuple):
    last: Events
    """The last step in contact: the lift-off, if the contact stays open."""
    closed: Bool[Array, ""]
    """Whether it has not lifted off since then."""


class _Contact(NamedTuple):
    """One contact during the steps of a block."""

    touched: Bool[Array, ""]
    """Whether it was closed in any of them."""
    first: Events
    """The first step in which it was closed, as an event."""
    last: Events
    """The last step in which it was closed, in this block or before."""


class _Notes(NamedTuple):
    """State of the contacts after a block, with the events so far."""

    touches: tuple[_Touch, ...]
    events: Events
    count: Int[Array, ""]


class _Stepper(NamedTuple):
    model: Any
    grid: Grid
    watch: tuple[str, ...]
    max_events: int
    observed: bool

    def start(self, y: State) -> tuple[Progress, _Notes]:
        contacts = range(len(self.model.event_names()) // 2 if self.observed else 0)
        t0, dt, _ = self.grid
        added = jax.eval_shape(lambda: self._amounts(step(self.model, t0, y, dt)))
        motion = Progress.at_start(self.model, t0, y, added, self.watch)
        if self.observed:
            apart = self.model.separation
            coarse = (apart > 0.0) & (STEPS_PER_SEPARATION * dt > apart * (1.0 + WHOLE_WITHIN))
            coarse = coarse & (motion.status == Outcome.COMPLETED)
            motion = motion._replace(status=jnp.where(coarse, jnp.int32(Outcome.EVENT_NOT_LOCATED), motion.status))
        none = Events(jnp.asarray(t0, dtype=float), jnp.int32(-1), y, y, motion.totals, motion.totals)
        touches = tuple(_Touch(none, jnp.asarray(False)) for _ in contacts)
        events = jax.tree.map(lambda x: jnp.broadcast_to(_nothing(x), (self.max_events, *x.shape)), none)
        return motion, _Notes(touches, events, jnp.int32(0))

    def block(self, motion: Progress, notes: _Notes) -> tuple[Progress, _Notes]:
        running = motion.status == Outcome.COMPLETED
        contacts = tuple(_Contact(jnp.asarray(False), touch.last, touch.last) for touch in notes.touches)
        (motion, contacts), _ = jax.lax.scan(
            lambda c, _: (self._step(*c), None), (motion, contacts), length=self.grid.steps
        )
        notes = self._after_block(notes, contacts, self.grid.time(motion.steps), running)
        many = running & (notes.count > self.max_events)
        return motion._replace(status=jnp.where(many, jnp.int32(Outcome.EVENT_LIMIT), motion.status)), notes

    def events(self, notes: _Notes) -> Events | None:
        """The events in the order of their times; None for a model that does not observe its contacts."""
        if not self.observed:
            return None
        order = jnp.argsort(notes.events.t)  # a lift-off is recorded late
        found = jax.tree.map(lambda x: x[order], notes.events)
        return dataclasses.replace(found, names=tuple(self.model.event_names()))

    def _step(self, old: Progress, contacts: tuple[_Contact, ...]) -> tuple[Progress, tuple[_Contact, ...]]:
        """Advances by one step; after an early end nothing changes."""
        before, after = self.grid.time(old.steps), self.grid.time(old.steps + 1)
        new = step(self.model, before, old.y, self.grid.dt)._replace(t=after)
        motion, amounts, counts = old.moved(self.model, after, new.y, self._amounts(new), self.watch)
        lost = counts & new.unsolved & (motion.status == Outcome.COMPLETED)
        motion = motion._replace(status=jnp.where(lost, jnp.int32(Outcome.CONTACTS_UNSOLVED), motion.status))
        events = [
            Events(after, jnp.int32(kind), old.y, new.y, old.totals, amounts) for kind in range(2 * len(contacts))
        ]
        found = []
        for i, contact in enumerate(contacts):
            touching = (new.impulses[2 * i] > 0.0) & counts
            first = select(touching & ~contact.touched, events[2 * i], contact.first)
            found.append(_Contact(contact.touched | touching, first, select(touching, events[2 * i + 1], contact.last)))
        return motion, tuple(found)

    def _amounts(self, step: Step) -> dict[str, Array]:
        return self.model.amounts(step, self.grid.dt) if self.observed else {}

    def _after_block(
        self, notes: _Notes, contacts: tuple[_Contact, ...], now: Array, running: Bool[Array, ""]
    ) -> _Notes:
        """The notes after a block that ends now (in s), with the contacts that opened and closed as events."""
        touches, (_, events, count) = [], notes
        least = jnp.maximum(self.model.separation, 1.5 * self.grid.dt) if contacts else 0.0
        for touch, (touched, first, last) in zip(notes.touches, contacts, strict=True):
            until = jnp.where(touched, first.t, now)
            opened = running & (until - touch.last.t >= least)
            left = touch.closed & opened
            events, count = _with(events, count, left, touch.last)
            events, count = _with(events, count, touched & opened, first)
            touches.append(_Touch(last, touched | (touch.closed & ~left)))
        return _Notes(tuple(touches), events, count)


def _with(events: Events, count: Array, happened: Array, event: Events) -> tuple[Events, Array]:
    room = events.t.shape[0]
    at = jnp.where(happened, count, room)
    events = jax.tree.map(lambda many, one: many.at[at].set(one, mode="drop"), events, event)
    return events, count + happened.astype(count.dtype)


def _nothing(x: Array) -> Array:
    return jnp.full_like(x, -1 if jnp.issubdtype(x.dtype, jnp.integer) else jnp.nan)


@float64_default
def step(model: NonsmoothModel | System, t: Scalar, y: State, dt: Scalar) -> Step:
    """One midpoint step from state `y` at time `t`, both of them scalars in SI units.

    Examples:
        >>> from jaxgait import RigidWalker
        >>> from jaxgait.solve.time_stepping import step
        >>> walker = RigidWalker()
        >>> after = step(walker, 0.0, walker.initial_state(), dt=1e-3)
        >>> print([round(float(P), 4) for P in after.impulses])  # N s: along the normal and tangent of each foot
        [0.0175, -0.0026, 0.0, 0.0]
    """
    n = len(y) // 2
    q, u = y[:n], y[n:]
    middle = type(y)(*(qi + 0.5 * dt * ui for qi, ui in zip(q, u, strict=True)), *u)
    kinetics, contacts = model.kinetics(middle), model.contacts(middle)
    rows = [row for c in contacts for row in (c.normal, c.tangent)]
    drift = [
        [r + dt * d for r, d in zip(row, rate, strict=True)]
        for c in contacts
        for row, rate in ((c.normal, c.normal_rate), (c.tangent, c.tangent_rate))
    ]
    responses = [kinetics.solve(row) for row in rows]
    free = [a * dt for a in kinetics.solve(kinetics.force)]
    solution, unsolved = _solve_contacts(contacts, rows, drift, responses, free, u)
    change = [f + sum(P * r[i] for P, r in zip(solution.impulses, responses, strict=True)) for i, f in enumerate(free)]
    u_new = [ui + d for ui, d in zip(u, change, strict=True)]
    q_new = [qi + 0.5 * dt * ui for qi, ui in zip(middle[:n], u_new, strict=True)]
    mean = [0.5 * (a + b) for a, b in zip(u, u_new, strict=True)]
    velocities = [dot(row, mean) for row in rows]
    work = tuple(P * v for P, v in zip(solution.impulses, velocities, strict=True))
    y_new, slips = type(y)(*q_new, *u_new), tuple(velocities[1::2])
    return Step(t + dt, y_new, solution.impulses, slips, work, solution.violation, unsolved)


def _solve_contacts(
    contacts: Sequence[Contact],
    rows: Sequence[Vector],
    drift: Sequence[Vector],
    responses: Sequence[Vector],
    free: Vector,
    u: Vector,
) -> tuple[ContactSolution, Bool[Array, ""]]:
    """The impulses, and whether the contact law is violated by more than rounding and slow convergence explain."""
    G = [[dot(left, response) for response in responses] for left in drift]
    restitution = [e for c in contacts for e in (c.normal_restitution, c.tangent_restitution)]
    b = [
        dot(left, free) + dot(left, u) + e * dot(row, u)  # dt What u + (1 + e) W u
        for left, row, e in zip(drift, rows, restitution, strict=True)
    ]
    closed = [(c.gap <= 0.0) & jnp.asarray(c.enabled) for c in contacts]
    solution = contact_impulses(G, b, [c.friction for c in contacts], closed)
    both = [is_closed for is_closed in closed for _ in range(2)]
    speeds = jnp.array([jnp.where(is_closed, jnp.abs(x), 0.0) for is_closed, x in zip(both, b, strict=True)])
    allowed = max(MAX_VIOLATION, 1000.0 * float(jnp.finfo(speeds.dtype).eps))
    return solution, jax.lax.stop_gradient(solution.violation > allowed * jnp.max(speeds, initial=0.0))


@float64_default
def march(
    model: NonsmoothModel | System,
    dt: Scalar,
    blocks: int,
    steps_per_block: int,
    summarise: Callable[[Step], T] | None = None,
    y0: State | None = None,
    t0: Scalar = 0.0,
) -> T:
    """Takes `blocks * steps_per_block` steps and returns one summary per block.

    Pure: it may be jitted, vmapped over the model's leaves or initial states, and differentiated (in reverse
    mode with up to three contacts). Times are `t0` plus a number of steps times `dt`, not sums, so that rounding does
    not accumulate in float32.

    Args:
        model: the mechanism.
        dt: step in s.
        blocks: number of blocks, and of summaries.
        steps_per_block: number of steps in each block.
        summarise: function of the `Step`s of a block (every leaf with a leading axis `steps_per_block`); by default the
            last step.
        y0: state at `t0`; the model's own initial state if None.
        t0: time in s at the start.

    Returns:
        The summaries, every leaf with a leading axis `blocks`.

    Raises:
        TypeError: for a model without inertia and contacts, and a summary that is not a function.
        ValueError: for an impossible count, step, time or state (unless they are traced).
        jaxgait.parameters.ParameterError: for impossible parameters.

    Examples:
        >>> from typing import NamedTuple
        >>> from jaxgait.kinds import Contact, Kinetics
        >>> from jaxgait.solve.time_stepping import march
        >>> class Block(NamedTuple):
        ...     x: float
        ...     z: float
        ...     vx: float
        ...     vz: float
        >>> class Sliding:  # 2 kg on the ground, under 10 m/s^2, friction coefficient 1/2, at first 1 m/s
        ...     def initial_state(self):
        ...         return Block(0.0, 0.0, 1.0, 0.0)
        ...     def kinetics(self, y):
        ...         return Kinetics(solve=lambda force: [f / 2.0 for f in force], force=[0.0, -20.0])
        ...     def contacts(self, y):
        ...         up, along, still = [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]
        ...         return [Contact(y.z, up, along, still, still, 0.5, 0.0, 0.0, enabled=True)]
        >>> steps = march(Sliding(), 0.01, blocks=3, steps_per_block=10)
        >>> print(steps.t.round(6), steps.y.vx.round(6), steps.y.x.round(6))  # it stops after v^2 / (2 mu g) = 0.1 m
        [0.1 0.2 0.3] [0.5 0.  0. ] [0.075 0.1   0.1  ]
    """
    blocks, steps_per_block = checks.count("blocks", blocks), checks.count("steps_per_block", steps_per_block)
    check_kind(model, NonsmoothModel, "inertia and contacts, such as RigidWalker()")
    check_model(model)
    dt, t0 = seconds("dt", dt), seconds("t0", t0)
    checks.number("dt", dt, "s", above=0.0)
    checks.number("t0", t0, "s")
    if y0 is not None:
        check_state("y0", y0, model.initial_state())
    reduce = (lambda steps: jax.tree.map(lambda leaf: leaf[-1], steps)) if summarise is None else summarise
    if not callable(reduce):
        what = "a function of the steps of a block, such as lambda steps: steps.violation.max()"
        raise TypeError(f"summarise must be {what}, got {checks.shown(summarise)}")

    system, grid = prepared(model), Grid(t0, dt, steps_per_block)

    def one(carry: tuple[Array, State], _: None) -> tuple[tuple[Array, State], Step]:
        index, y = carry
        after = step(system, grid.time(index), y, dt)._replace(t=grid.time(index + 1))
        return (index + 1, after.y), after

    def block(carry: tuple[Array, State], _: None) -> tuple[tuple[Array, State], T]:
        carry, steps = jax.lax.scan(one, carry, length=steps_per_block)
        return carry, reduce(steps)

    return jax.lax.scan(block, (jnp.asarray(0), start_state(model, y0)), length=blocks)[1]
