"""The bungee jumper: one coordinate, a rope that only pulls, and air drag. The smallest model of the package.

        ___ ledge       x = -rope_length   (start, at rest)
         |
         | slack rope
         |
        -+-             x = 0              (rope becomes taut)
         $
         $ stretched    rope force k x
         o  v           x grows downward
        ~~~ ground      x = ground

    m x'' = m g - k max(x, 0) - a1 x' - a2 |x'| x'

Source: a Simulink exercise on the page that carries the jumper's paper. The plus sign before k x in its combined
equation is a misprint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array

from jaxgait.mechanics.contact import Hertz, KelvinVoigt, NormalLaw, UnilateralSpring
from jaxgait.model import Model, Numerics, Scalar, Variable, parameter
from jaxgait.parameters import part
from jaxgait.plausible import PERSON

_PAPER = "bungee exercise"


class BungeeState(NamedTuple):
    """Position x in m below the point where the rope becomes taut, and velocity v in m/s, both positive downward."""

    x: Scalar
    v: Scalar


class Bungee(Model):
    """A jumper on an elastic rope; see the module's docstring.

    Examples:
        >>> from jaxgait import Bungee
        >>> float(Bungee(mass=80.0).initial_state().x)  # m: the ledge is above the taut point
        -30.0
    """

    mass: Scalar = parameter(70.0, unit="kg", doc="body mass", bounds="positive", source=_PAPER, plausible=PERSON)
    stiffness: Scalar = parameter(20.0, unit="N/m", doc="rope stiffness", bounds="positive", source=_PAPER, of="rope")
    rope_length: Scalar = parameter(
        30.0, unit="m", doc="unstretched length of the rope", bounds="positive", source=_PAPER
    )
    ground: Scalar = parameter(
        50.0, unit="m", doc="depth of the ground below the taut point", bounds="positive", source=_PAPER
    )
    linear_drag: Scalar = parameter(
        1.0, unit="kg/s", doc="linear drag coefficient", bounds="nonnegative", source=_PAPER
    )
    quadratic_drag: Scalar = parameter(
        1.0, unit="kg/m", doc="quadratic drag coefficient", bounds="nonnegative", source=_PAPER
    )
    gravity: Scalar = parameter(
        10.0, unit="m/s^2", doc="gravitational acceleration (10, not 9.81)", bounds="positive", source=_PAPER
    )
    rope: NormalLaw | None = part(
        None,
        doc="law of the rope's tension over its stretch",
        standard="UnilateralSpring",
        options=(UnilateralSpring(20.0), KelvinVoigt(20.0, 20.0, 1e3), Hertz(4.0, 0.0, 1e3)),
    )

    duration: ClassVar[float] = 100.0
    """Duration in s: the fall and the settling."""
    measures: ClassVar[str] = "jaxgait.models.bungee.measures:MEASURES"
    scene: ClassVar[str] = "jaxgait.models.bungee.scene:scene"
    variables: ClassVar[Mapping[str, Variable]] = {
        "x": Variable("m", "position below the taut point"),
        "v": Variable("m/s", "velocity, downward"),
        "height": Variable("m", "height above the ground"),
        "rope_force": Variable("N", "tension of the rope"),
        "acceleration": Variable("m/s^2", "acceleration, downward"),
        "drag_power": Variable("W", "power lost to the air"),
        "energy": Variable("J", "mechanical energy, zero at the start"),
    }
    # The right-hand side has a kink where the rope becomes taut; tight tolerances make the adaptive steps resolve it.
    numerics: ClassVar[Numerics] = Numerics(stiff=False, rtol=1e-10, atol=1e-10, first_step=1e-2)

    @property
    def rope_law(self) -> NormalLaw:
        """The law of the rope's tension in N over its stretch x in m.

        Examples:
            >>> from jaxgait import Bungee
            >>> jumper = Bungee(stiffness=20.0)
            >>> print([float(jumper.rope_law.force(x, 0.0)) for x in (10.0, -1.0)])  # N
            [200.0, 0.0]
        """
        return self.rope or UnilateralSpring(self.stiffness)

    def initial_state(self) -> BungeeState:
        """At rest on the ledge."""
        return BungeeState(x=-jnp.asarray(self.rope_length, dtype=float), v=jnp.zeros(()))

    def vector_field(self, t: Scalar, y: BungeeState) -> BungeeState:
        """Velocity and acceleration."""
        return BungeeState(x=y.v, v=self._acceleration(y))

    def events(self) -> Mapping[str, Callable[[Scalar, BungeeState], Array]]:
        """The rope becomes taut or slack; the jumper turns at the lowest point or at the top of a rebound.

        Examples:
            >>> from jaxgait import Bungee
            >>> jumper = Bungee()
            >>> print(float(jumper.events()["taut"](0.0, jumper.initial_state())))  # m to fall
            30.0
        """
        return {
            "taut": lambda t, y: -y.x,
            "lowest": lambda t, y: y.v,
            "slack": lambda t, y: y.x,
            "top": lambda t, y: -y.v,
        }

    def outputs(self, t: Scalar, y: BungeeState) -> dict[str, Array]:
        """See `variables`."""
        kinetic = 0.5 * self.mass * y.v**2
        potential = self.rope_law.energy(y.x) - self.mass * self.gravity * (y.x + self.rope_length)
        return {
            "height": self.ground - y.x,
            "rope_force": self._rope_force(y),
            "acceleration": self._acceleration(y),
            "drag_power": -self._drag(y) * y.v,
            "energy": kinetic + potential,
        }

    def _acceleration(self, y: BungeeState) -> Array:
        return self.gravity + (self._drag(y) - self._rope_force(y)) / self.mass

    def _rope_force(self, y: BungeeState) -> Array:
        return self.rope_law.force(y.x, y.v)

    def _drag(self, y: BungeeState) -> Array:
        return -(self.linear_drag + self.quadratic_drag * jnp.abs(y.v)) * y.v
