r"""A creeping robot of n units, moving along its axis: a wave of strokes runs from the front to the rear.

      [unit n]==/\/\==[unit n-1]==/\/\== ... ==/\/\==[unit 1]  -> x       n - 1 actuators, one unknown position

One unit at a time releases its pad and moves forward by one stroke while the n - 1 others hold: the actuator behind it
extends, the one ahead retracts. Two units are a `Creeper`, whose parts are used. With the prescribed displacement r_k
of unit k relative to the rear unit, whose velocity v is the unknown:

    sum(m) v' = sum_k [ F_k(v + r_k') + f_k(v + r_k', z_k) - m_k r_k'' ]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxgait.fields import python_integer
from jaxgait.mechanics.linalg import stacked
from jaxgait.model import Model, Numerics, Scalar, Variable, parameter
from jaxgait.models.creeper.model import Creeper, Gait, Stroke, check_units
from jaxgait.parameters import CHOSEN
from jaxgait.support import checks


class InchwormState(NamedTuple):
    """Rear unit: position x in m, velocity v in m/s; bristle deflections of all pads in m from the front, if any."""

    x: Scalar
    v: Scalar
    z: Float[Array, " units"] | None = None


class _Forces(NamedTuple):
    displacement: Stroke
    """Displacement of each unit relative to the rear unit."""
    load: Float[Array, " units"]
    """Blood and wall on each unit, N."""
    rate: Float[Array, " units"] | None


class Inchworm(Model):
    """n units in a vessel; see the module's docstring. `robot.gait.period` is the period of a whole wave.

    Examples:
        >>> from jaxgait.models import Inchworm
        >>> robot = Inchworm(units=3)
        >>> print(list(robot.labels["actuator"]), float(robot.period), float(robot.duration))  # s
        [1, 2] 1.0 4.0
        >>> print(robot.gait == robot.robot.gait, robot.numerics.stiff, robot.coils(0.15))  # the front unit slides
        True True [0. 1. 1.]
    """

    robot: Creeper = Creeper()
    middle_mass: Scalar = parameter(
        13.6e-3,
        unit="kg",
        doc="mass of a unit between front and rear, with spring and shaft",
        bounds="positive",
        source=CHOSEN,
    )
    units: int = eqx.field(static=True, default=3, converter=python_integer)

    measures: ClassVar[str] = "jaxgait.models.creeper.measures:MEASURES"
    scene: ClassVar[str] = "jaxgait.models.creeper.scene:inchworm"
    variables: ClassVar[Mapping[str, Variable]] = {
        "x": Variable("m", "position of the rear unit's front face"),
        "v": Variable("m/s", "velocity of the rear unit"),
        "z": Variable("m", "bristle deflections, from the front", ("unit",)),
        "positions": Variable("m", "positions of the units' front faces, from the front", ("unit",)),
        "actuator_force": Variable("N", "force of each actuator on the unit ahead, from the front", ("actuator",)),
    }

    @property
    def numerics(self) -> Numerics:
        """Those of the robot with two units."""
        return self.robot.numerics

    @property
    def labels(self) -> Mapping[str, Sequence[int]]:
        """Numbers of the units and of the actuators between them, from the front."""
        return {"unit": range(1, self.units + 1), "actuator": range(1, self.units)}

    @property
    def gait(self) -> Gait:
        """The gait of one unit's stroke."""
        return self.robot.gait

    @property
    def duration(self) -> Scalar:
        """Four waves."""
        return 4.0 * self.gait.period

    @property
    def period(self) -> Scalar:
        """One wave."""
        return self.gait.period

    def initial_state(self) -> InchwormState:
        """At rest, pads undeflected."""
        return InchwormState(jnp.zeros(()), jnp.zeros(()), self.robot.pads.friction_law.at_rest(self.units))

    def vector_field(self, t: Scalar, y: InchwormState) -> InchwormState:
        """Velocity, acceleration and bristle rates."""
        forces = self._forces(t, y)
        return InchwormState(y.v, self._acceleration(forces), forces.rate)

    def outputs(self, t: Scalar, y: InchwormState) -> dict[str, Array]:
        """See `variables`."""
        f = self._forces(t, y)
        needed = self._masses() * (self._acceleration(f) + f.displacement.acceleration) - f.load
        pitch = self.robot.length + self.robot.gap
        positions = y.x + f.displacement.s + pitch * jnp.arange(self.units - 1, -1, -1, dtype=f.load.dtype)
        return {"positions": positions, "actuator_force": jnp.cumsum(needed)[:-1]}

    def _forces(self, t: Scalar, y: InchwormState) -> _Forces:
        robot, gait = self.robot, self.gait
        span = gait.period / self.units
        start = span * jnp.arange(self.units, dtype=jnp.result_type(y.v))
        move = jax.vmap(gait.move, (0, None))(jnp.mod(t, gait.period) - start, span)
        displacement = Stroke(*(part - part[-1] for part in move))
        v = y.v + displacement.speed
        friction, rate = jax.vmap(robot.pads.force)(self.coils(t), v, y.z)
        u = robot.inflow(t)
        index = np.arange(self.units)
        exposed = jnp.where(u < 0.0, index == 0, (u > 0.0) & (index == self.units - 1))
        fluid = jax.vmap(robot.fluid_force, (None, 0, 0))(u, v, exposed)
        return _Forces(displacement, fluid + friction, rate)

    def coils(self, t: Scalar) -> Float[Array, " units"]:
        """Switching levels in [0, 1] of the pads at time `t` in s, from the front; all but one are fully on."""
        span = self.gait.period / self.units
        phase = jnp.mod(t - self.gait.coil_delay, self.gait.period)
        return jax.vmap(self.gait.grip, (0, None))(phase - span * jnp.arange(self.units, dtype=phase.dtype), span)

    def _masses(self) -> Float[Array, " units"]:
        return stacked([self.robot.front_mass, *[self.middle_mass] * (self.units - 2), self.robot.rear_mass])

    def _acceleration(self, f: _Forces) -> Array:
        masses = self._masses()
        return jnp.sum(f.load - masses * f.displacement.acceleration) / jnp.sum(masses)

    def validate(self) -> None:
        """Rejects a robot of one unit, and strokes that do not fit into their share of the period.

        Raises:
            ParameterError: naming the value and its bound.

        Warns:
            UserWarning: of a `middle_mass` without a unit in the middle.
        """
        super().validate()
        check_units(self.units)
        self.robot.validate()
        self.gait.check_fits(self.units)
        if self.units == 2:
            checks.warn_unused(self, "Inchworm", ("middle_mass",), "of two units, none is in the middle")
