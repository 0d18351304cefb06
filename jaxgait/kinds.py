"""What a model defines to say how it moves: one protocol per scheme; a model may meet several.

| a model with | moves by |
|---|---|
| `vector_field(t, y)` | `Smooth`: an ordinary differential equation |
| `phases()`, `transitions()` | `EventDriven`: smooth phases joined by events that are located |
| `kinetics(y)`, `contacts(y)` | `TimeStepping`: impacts and friction as complementarity, on steps of fixed length |
| `advance(t, y, dt)` | `Marching`: steps of its own |
| `state_at(t)` | `Prescribed`: a motion that is given |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from jaxtyping import Array, ArrayLike, Bool, Float

from jaxgait.mechanics.linalg import Vector
from jaxgait.mechanics.scalars import Scalar
from jaxgait.model import State

__all__ = [
    "Contact",
    "CountedSteps",
    "HybridModel",
    "Kinetics",
    "MarchingModel",
    "NonsmoothModel",
    "ObservedContacts",
    "PrescribedModel",
    "SmoothModel",
    "Step",
    "Transition",
]


@runtime_checkable
class SmoothModel(Protocol):
    """A mechanism whose state follows an ordinary differential equation.

    Examples:
        >>> from jaxgait.kinds import SmoothModel
        >>> class Oscillator:
        ...     def initial_state(self):
        ...         return 0.1, 0.0  # m, m/s
        ...     def vector_field(self, t, y):
        ...         x, v = y
        ...         return v, -4.0 * x  # 1 kg on a spring of 4 N/m
        >>> print(isinstance(Oscillator(), SmoothModel), Oscillator().vector_field(0.0, (0.1, 0.0)))
        True (0.0, -0.4)
    """

    def initial_state(self) -> State:
        """State at t = 0."""
        ...

    def vector_field(self, t: Scalar, y: State) -> State:
        """Time derivative of the state (same structure as `y`) at time `t` in s."""
        ...


class Contact(NamedTuple):
    """One possible contact: how far, in which directions, under which laws."""

    gap: Scalar
    """Distance in m; the contact is closed where it is not positive."""
    normal: Vector
    """d gap_rate / d u."""
    tangent: Vector
    """d slip velocity / d u."""
    normal_rate: Vector
    """Time derivative of `normal`."""
    tangent_rate: Vector
    friction: Scalar
    normal_restitution: Scalar
    tangent_restitution: Scalar
    enabled: Bool[ArrayLike, ""]
    """False: the contact is ignored whatever its gap."""


class Kinetics(NamedTuple):
    """What turns forces into motion."""

    solve: Callable[[Vector], Vector]
    """Accelerations from generalised forces: multiplication by the inverse mass matrix."""
    force: Vector
    """All generalised forces except those of the contacts."""


@runtime_checkable
class NonsmoothModel(Protocol):
    """A mechanism with unilateral contacts; its state lists the positions first, then as many velocities.

    Examples:
        >>> from typing import NamedTuple
        >>> from jaxgait.kinds import Contact, Kinetics, NonsmoothModel
        >>> class Block(NamedTuple):
        ...     x: float
        ...     z: float
        ...     vx: float
        ...     vz: float
        >>> class Sliding:  # 2 kg on the ground, under 10 m/s^2
        ...     def initial_state(self):
        ...         return Block(0.0, 0.0, 1.0, 0.0)
        ...     def kinetics(self, y):
        ...         return Kinetics(solve=lambda force: [f / 2.0 for f in force], force=[0.0, -20.0])
        ...     def contacts(self, y):
        ...         up, along, still = [0.0, 1.0], [1.0, 0.0], [0.0, 0.0]
        ...         return [Contact(y.z, up, along, still, still, 0.5, 0.0, 0.0, enabled=True)]
        >>> block = Sliding()
        >>> inertia = block.kinetics(block.initial_state())
        >>> print(isinstance(block, NonsmoothModel), inertia.solve(inertia.force))  # m/s^2 without the ground
        True [0.0, -10.0]
        >>> block.contacts(block.initial_state())[0].gap  # m: closed
        0.0
    """

    def initial_state(self) -> State:
        """State at t = 0, a named tuple of scalars."""
        ...

    def kinetics(self, y: State) -> Kinetics:
        """Inertia and forces in a state."""
        ...

    def contacts(self, y: State) -> Sequence[Contact]:
        """All possible contacts in a state, always as many."""
        ...


class Step(NamedTuple):
    """What happened in one time step of a mechanism with contacts."""

    t: Float[Array, ""]
    """Time in s at its end."""
    y: Any
    """State at its end."""
    impulses: tuple[Array, ...]
    """(N1, T1, N2, T2, ...) in N s."""
    slips: tuple[Array, ...]
    """Tangential velocity in m/s of each contact, mean of before and after."""
    work: tuple[Array, ...]
    """Work in J of each impulse (order of `impulses`): what friction and impacts take from the mechanism."""
    violation: Float[Array, ""]
    """Residual of the contact law, see `jaxgait.mechanics.complementarity.ContactSolution`."""


@runtime_checkable
class ObservedContacts(Protocol):
    """What a `NonsmoothModel` may tell in addition: which contacts count as events, and what adds up on the way.

    Examples:
        >>> from jaxgait import RigidWalker
        >>> from jaxgait.kinds import ObservedContacts
        >>> walker = RigidWalker()
        >>> print(isinstance(walker, ObservedContacts), walker.separation > 0.0, len(walker.event_names()))
        True True 4
    """

    @property
    def separation(self) -> float:
        """A contact that was open for less than this time in s has bounced: it neither left nor touched.

        It is not a parameter: it decides how many steps are looked at together.
        """
        ...

    def event_names(self) -> Sequence[str]:
        """Two names per contact in the order of `contacts`: how its touching and its leaving are called."""
        ...

    def amounts(self, step: Step, dt: Scalar) -> dict[str, Array]:
        """What a step of `dt` s adds to the model's running totals, by name."""
        ...


class Transition(NamedTuple):
    """An event: when `guard` falls through zero in phase `source` while `armed`, the state jumps, `target` begins.

    Examples:
        >>> from jaxgait import Transition
        >>> landing = Transition(source=0, target=1, guard=lambda t, y: y[0])
        >>> print(landing.source, landing.target, landing.ends)
        0 1 False
    """

    source: int | tuple[int, ...]
    """One phase, or several: an event that may come in any of them."""
    target: int
    guard: Callable[[Scalar, State], Array]
    """Function of time in s and state, smooth near its zero."""
    reset: Callable[[Scalar, State], State] | None = None
    """State after the event from the state before; None: it stays."""
    armed: Callable[[Scalar, State], Bool[Array, ""]] | None = None
    """Where this is false, the guard may change sign without consequence; None: always armed."""
    ends: bool = False
    """The trajectory ends here; the transition's name becomes its status."""


@runtime_checkable
class HybridModel(Protocol):
    """A mechanism whose motion is smooth in each phase and may jump between phases. All states have one structure.

    Examples:
        >>> from typing import NamedTuple
        >>> from jaxgait.kinds import HybridModel, Transition
        >>> class Ball(NamedTuple):
        ...     z: float
        ...     v: float
        >>> class Bouncing:  # a ball that returns with 8/10 of its speed
        ...     def initial_state(self):
        ...         return Ball(1.25, 0.0)  # m, m/s
        ...     def phases(self):
        ...         return [lambda t, y: Ball(y.v, -10.0)]
        ...     def transitions(self):
        ...         bounce = lambda t, y: Ball(0.0 * y.z, -0.8 * y.v)
        ...         return {"bounce": Transition(0, 0, guard=lambda t, y: y.z, reset=bounce)}
        >>> ball = Bouncing()
        >>> print(isinstance(ball, HybridModel), ball.phases()[0](0.0, ball.initial_state()))
        True Ball(z=0.0, v=-10.0)
        >>> ball.transitions()["bounce"].reset(0.5, Ball(0.0, -5.0)).v  # m/s
        4.0
    """

    def initial_state(self) -> State:
        """State at t = 0, in phase 0."""
        ...

    def phases(self) -> Sequence[Callable[[Scalar, State], State]]:
        """The vector field of each phase: rates of the state per s, of time in s and state."""
        ...

    def transitions(self) -> Mapping[str, Transition]:
        """All events by name, always in the same order."""
        ...


@runtime_checkable
class MarchingModel(Protocol):
    """A mechanism that brings its own step: its laws are not an ordinary differential equation.

    Examples:
        >>> from jaxgait.kinds import MarchingModel
        >>> class Decay:
        ...     def initial_state(self):
        ...         return 1.0
        ...     def advance(self, t, y, dt):
        ...         return y / (1.0 + dt)  # an implicit step of y' = -y
        >>> print(isinstance(Decay(), MarchingModel), Decay().advance(0.0, 1.0, 0.25))
        True 0.8
    """

    def initial_state(self) -> State:
        """State at t = 0."""
        ...

    def advance(self, t: Scalar, y: State, dt: Scalar) -> State:
        """State at t + dt (s) from state `y` at time `t`."""
        ...


@runtime_checkable
class CountedSteps(Protocol):
    """What a `MarchingModel` may tell in addition: what adds up over its steps.

    Examples:
        >>> from jaxgait.kinds import CountedSteps
        >>> class Brake:  # slides at 2 m/s under 5 N of friction
        ...     def step_amounts(self, t, y, dt):
        ...         return {"heat": 5.0 * 2.0 * dt}  # J
        >>> print(isinstance(Brake(), CountedSteps), Brake().step_amounts(0.0, None, 0.5))
        True {'heat': 5.0}
    """

    def step_amounts(self, t: Scalar, y: State, dt: Scalar) -> dict[str, Array]:
        """What the step of `dt` s from state `y` at time `t` adds to the model's running totals, by name."""
        ...


@runtime_checkable
class PrescribedModel(Protocol):
    """A mechanism whose motion is given.

    Examples:
        >>> from jaxgait.kinds import PrescribedModel
        >>> class Walking:
        ...     def state_at(self, t):
        ...         return {"x": 1.2 * t}  # m, at 1.2 m/s
        >>> print(isinstance(Walking(), PrescribedModel), Walking().state_at(5.0))
        True {'x': 6.0}
    """

    def state_at(self, t: Scalar) -> State:
        """State at time `t` in s."""
        ...
