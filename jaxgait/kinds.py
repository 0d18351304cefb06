"""The methods by which a model defines its motion: one protocol per scheme. A model may implement several.

| a model with | is simulated by |
|---|---|
| `vector_field(t, y)` | `Smooth`: an ordinary differential equation |
| `phases()`, `transitions()` | `EventDriven`: smooth phases, separated by events whose times are located |
| `kinetics(y)`, `contacts(y)` | `TimeStepping`: impacts and friction as complementarity, on steps of fixed length |
| `advance(t, y, dt)` | `Marching`: steps of its own |
| `state_at(t)` | `Prescribed`: a prescribed motion |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

from jaxtyping import Array, ArrayLike, Bool, Float

from jaxgait.mechanics import Scalar
from jaxgait.mechanics.linalg import Vector
from jaxgait.model import Model, State
from jaxgait.parameters import check_single
from jaxgait.support.checks import an_instance
from jaxgait.system import System


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
    """One possible contact: its gap, its directions and the coefficients of its laws."""

    gap: Scalar
    """Distance in m; the contact is closed when it is zero or negative."""
    normal: Vector
    """Derivatives of the rate of the gap with respect to the velocities."""
    tangent: Vector
    """Derivatives of the slip velocity with respect to the velocities."""
    normal_rate: Vector
    """Time derivative of `normal`."""
    tangent_rate: Vector
    friction: Scalar
    normal_restitution: Scalar
    tangent_restitution: Scalar
    enabled: Bool[ArrayLike, ""]
    """False: the contact is ignored, whatever its gap."""


class Kinetics(NamedTuple):
    """Inertia and forces of a mechanism in one state."""

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
        """All possible contacts in a state; their number is the same in every state."""
        ...


class Step(NamedTuple):
    """The result of one time step of a mechanism with contacts."""

    t: Float[Array, ""]
    """Time in s at the end of the step."""
    y: Any
    """State at its end."""
    impulses: tuple[Array, ...]
    """(N1, T1, N2, T2, ...) in N s."""
    slips: tuple[Array, ...]
    """Tangential velocity in m/s of each contact, the mean of its values before and after the step."""
    work: tuple[Array, ...]
    """Work in J of each impulse on the mechanism (order of `impulses`): negative where it dissipates energy."""
    violation: Float[Array, ""]
    """Residual in m/s of the contact law, see `jaxgait.mechanics.complementarity.ContactSolution`."""
    unsolved: Bool[Array, ""]
    """Whether it is too large for the impulses to be a solution."""


@runtime_checkable
class ObservedContacts(Protocol):
    """What a `NonsmoothModel` may define in addition: which contacts count as events, and its running totals.

    Examples:
        >>> from jaxgait import RigidWalker
        >>> from jaxgait.kinds import ObservedContacts
        >>> walker = RigidWalker()
        >>> print(isinstance(walker, ObservedContacts), float(walker.separation) > 0.1, len(walker.event_names()))
        True True 4
    """

    @property
    def separation(self) -> Scalar:
        """Shortest time in s for which a contact opens; a shorter opening is a bounce, without lift-off or touch-down.

        With zero, a plain number, every step without contact is an opening; otherwise it must last ten steps or more.
        """
        ...

    def event_names(self) -> Sequence[str]:
        """Two names per contact, in the order of `contacts`: those of its touch-down and of its lift-off."""
        ...

    def amounts(self, step: Step, dt: Scalar) -> dict[str, Array]:
        """What a step of `dt` s adds to each of the model's running totals, by name."""
        ...


class Transition(NamedTuple):
    """An event: where `guard` falls through zero in phase `source` while `armed`, the state jumps and `target` begins.

    For a clock, such as a digital controller's, let the state hold the time of the next tick: `guard` is that time less
    t,
    `reset` moves it on, and with `target=None` the motion goes on in whatever phase it was in.

    A guard that is zero or negative when its phase begins does not fire before it has been positive: a ball that starts
    below the ground falls on. Start above, or let a transition with `ends=True` catch what should not happen: a run
    that starts where its guard is negative is over at its start. An end that counts only after something else, such as
    the top of a jump that begins with a dip, needs `armed` or a phase of its own. Friction that reverses where a body
    comes to rest needs a phase of rest: the guard of its return is zero there, and falls.

    Events at the same instant happen in the order of declaration, the end of the run last. The second one happens even
    if the reset of the first one stops or turns the motion, as long as it leaves its guard at zero and itself armed.

    Examples:
        >>> from jaxgait import Transition
        >>> landing = Transition(source=0, target=1, guard=lambda t, y: y[0])
        >>> print(landing.source, landing.target, landing.ends)
        0 1 False
    """

    source: int | Sequence[int]
    """The phase in which it may happen, or several phases."""
    target: int | None
    """The phase after it; None: the same as before."""
    guard: Callable[[Scalar, State], Array]
    """Function of time in s and state, smooth near its zero."""
    reset: Callable[[Scalar, State], State] | None = None
    """State after the event, as a function of time and the state before; None: it does not change."""
    armed: Callable[[Scalar, State], Bool[Array, ""]] | None = None
    """Where this is false, a zero of the guard is not an event; None: always armed."""
    ends: bool = False
    """Whether the trajectory ends here, or at its start where the guard is negative; the name becomes its status."""

    @property
    def sources(self) -> tuple[Any, ...]:
        """The phases in which it may happen, however they are given.

        Examples:
            >>> from jaxgait.kinds import Transition
            >>> falls = lambda t, y: y
            >>> print(Transition(0, 1, guard=falls).sources, Transition([0, 2], 1, guard=falls).sources)
            (0,) (0, 2)
        """
        source: Any = self.source
        given = source.tolist() if hasattr(source, "tolist") else source
        return tuple(given) if isinstance(given, list | tuple | range) else (given,)

    @property
    def acts(self) -> bool:
        """Whether the event changes the motion, and is not only a section of it, on which a run may start.

        Examples:
            >>> from jaxgait.kinds import Transition
            >>> falls = lambda t, y: y
            >>> print(Transition(0, 1, guard=falls).acts, Transition(0, 0, guard=falls).acts)
            True False
        """
        leads_on = self.target is not None and any(source != self.target for source in self.sources)
        return self.ends or self.reset is not None or leads_on


@runtime_checkable
class HybridModel(Protocol):
    """A mechanism whose motion is smooth within each phase and may jump between phases; its state has one structure.

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
        """The vector field of each phase: the state's time derivative as a function of time in s and state."""
        ...

    def transitions(self) -> Mapping[str, Transition]:
        """All events by name, always in the same order."""
        ...


def several_phases(model: Any) -> bool:
    """Whether a model has more than one phase, so that its event-driven runs record the `phase` of each sample.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.kinds import several_phases
        >>> several_phases(Bungee())
        False
    """
    return isinstance(model, HybridModel) and len(model.phases()) > 1


@runtime_checkable
class MarchingModel(Protocol):
    """A mechanism that defines its own time step, because its laws are not an ordinary differential equation.

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
    """What a `MarchingModel` may define in addition: totals that accumulate over its steps.

    Examples:
        >>> from jaxgait.kinds import CountedSteps
        >>> class Brake:  # slides at 2 m/s under 5 N of friction
        ...     def step_amounts(self, t, y, dt):
        ...         return {"heat": 5.0 * 2.0 * dt}  # J
        >>> print(isinstance(Brake(), CountedSteps), Brake().step_amounts(0.0, None, 0.5))
        True {'heat': 5.0}
    """

    def step_amounts(self, t: Scalar, y: State, dt: Scalar) -> dict[str, Array]:
        """What the step of `dt` s from state `y` at time `t` adds to each of the model's running totals, by name."""
        ...


@runtime_checkable
class PrescribedModel(Protocol):
    """A mechanism whose motion is prescribed as a function of time.

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


def check_kind(model: Any, kind: type, what: str) -> None:
    """Checks that a model has the class, or implements the protocol, that a solver needs, and that it is a single one.

    Args:
        model: the model to check.
        kind: the class or protocol.
        what: the requirement in words, with an example, for the message.

    Raises:
        TypeError: if it does not.
        jaxgait.parameters.ParameterError: for several values of one parameter.

    Examples:
        >>> from jaxgait import Bungee, RollingWalker
        >>> from jaxgait.kinds import check_kind
        >>> check_kind(Bungee(), RollingWalker, "rolling feet, RollingWalker()")
        Traceback (most recent call last):
            ...
        TypeError: expected a model with rolling feet, RollingWalker(), got Bungee: use jaxgait.simulate
    """
    an_instance(model)
    moves = model._model if isinstance(model, System) else model  # Python 3.12 does not see what a System delegates
    if not isinstance(moves, kind):
        hint = ": use jaxgait.simulate" if isinstance(model, Model) else ""
        raise TypeError(f"expected a model with {what}, got {type(model).__name__}{hint}")
    if isinstance(moves, Model):
        check_single(moves)
