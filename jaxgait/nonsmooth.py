"""What mechanisms with impacts and events tell the nonsmooth solvers, beyond (or instead of) a smooth `Model`.

- `NonsmoothModel`: inertia, forces and unilateral contacts, for time stepping (`jaxgait.solve.time_stepping`);
- `HybridModel`: phases with vector fields, joined by transitions, for event-driven solves (`jaxgait.solve.hybrid`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from jaxtyping import Array, ArrayLike, Bool

from jaxgait.mechanics.linalg import Vector
from jaxgait.model import Scalar, State

__all__ = ["Contact", "HybridModel", "Kinetics", "NonsmoothModel", "Transition"]


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
    """A mechanism with unilateral contacts; its state lists the positions first, then as many velocities."""

    def initial_state(self) -> State:
        """State at t = 0, a named tuple of scalars."""
        ...

    def kinetics(self, y: State) -> Kinetics:
        """Inertia and forces in a state."""
        ...

    def contacts(self, y: State) -> Sequence[Contact]:
        """All possible contacts in a state, always as many."""
        ...


class Transition(NamedTuple):
    """An event: when `guard` falls through zero in phase `source` while `armed`, the state jumps, `target` begins."""

    source: int
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
    """A mechanism whose motion is smooth in each phase and may jump between phases. All states have one structure."""

    def initial_state(self) -> State:
        """State at t = 0, in phase 0."""
        ...

    def phases(self) -> Sequence[Callable[[Scalar, State], State]]:
        """The vector field of each phase."""
        ...

    def transitions(self) -> Mapping[str, Transition]:
        """All events by name, always in the same order."""
        ...
