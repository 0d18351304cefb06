r"""The creeping robot of two units in an artery, moving along its axis (layer 1: one unknown position).

      wall  //////////////////////////////////////////////////////
               [ N, mu_r ]                       [ N, mu_f ]        magneto-rheological pads
                _________                         _________
      u(t) ->  |  rear   |====o====/\/\/\===|  front  |  -> x
               |__ m_r __|  actuator,  spring    |__ m_f __|
                         |<------ gap + s(t) --->|
                         x

The stroke s(t) is prescribed: the rear pad holds while the front unit is pushed out, then the front pad holds while the
rear unit is pulled in. The unknowns are position x of the rear unit's front face, its velocity v, and the bristle
deflections z of both pads, if their friction law has bristles:

    (m_f + m_r) v' = F_f(v + s') + F_r(v) + f_f(v + s', z_f) + f_r(v, z_r) - m_f s''

with the fluid forces F of `creeper.artery` and the friction f of `jaxgait.mechanics.friction`, whose limit follows the
coil currents: mu(t) = mu_low + (mu_high - mu_low) c(t).

Source: Zhao, Chen, Wu, Sang, Qian, J. Anhui Univ. Sci. Tech. 30(4) (2010) 25. The paper prints no mass, size or
friction: defaults marked "chosen" are ours. The robot in space is `chain`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float

from jaxgait.batches import of_worst
from jaxgait.fields import Immutable
from jaxgait.mechanics.contact import smoothstep
from jaxgait.mechanics.friction import Bristle, Coulomb, Dahl, FrictionLaw, Stribeck
from jaxgait.model import Model, Numerics, Scalar, Variable, parameter
from jaxgait.models.creeper.artery import PAPER, Blood, Inflow
from jaxgait.parameters import CHOSEN, ParameterError, part
from jaxgait.precision import float64_default
from jaxgait.support.checks import warn_user

LONGEST_STROKE = 0.4
"""Longest plausible stroke in lengths of a unit: the shaft slides in it (see `design.BOUNDS`)."""


class Stroke(NamedTuple):
    """Prescribed extension of the actuator (m), its speed (m/s) and acceleration (m/s^2)."""

    s: Float[Array, ""]
    speed: Float[Array, ""]
    acceleration: Float[Array, ""]


@float64_default
class Gait(Immutable):
    """The timing of actuator and pads: extension in the first half of the period, retraction in the second.

    Each half: dwell, sin^2 ramp, constant speed, sin^2 ramp, dwell. (The paper's constant speed without ramps would
    need infinite forces.)

    Examples:
        >>> from jaxgait.models.creeper.model import Gait
        >>> gait = Gait(period=1.0, stroke=6e-3)
        >>> print(round(float(gait.stroke_at(0.5).s), 6))  # m
        0.006
        >>> print([float(x) for x in gait.coils(0.25)])  # the front pad slides
        [0.0, 1.0]
        >>> print(round(float(gait.move(0.25, 0.5).s), 6), float(gait.grip(0.6, 0.5)))  # m, half-way; gripping again
        0.003 1.0
        >>> gait.check_fits()
    """

    period: Scalar = parameter(1.0, unit="s", doc="period of the gait", bounds="positive", source=PAPER)
    stroke: Scalar = parameter(6e-3, unit="m", doc="stroke of the actuator", bounds="nonnegative", source=PAPER)
    dwell: Scalar = parameter(
        0.02, unit="s", doc="duration of the rest at both ends of a half period", bounds="nonnegative", source=CHOSEN
    )
    ramp: Scalar = parameter(
        0.02, unit="s", doc="duration of speeding up and of slowing down", bounds="positive", source=CHOSEN
    )
    coil_time: Scalar = parameter(0.02, unit="s", doc="switching time of a pad", bounds="positive", source=CHOSEN)
    coil_delay: Scalar = parameter(
        0.0, unit="s", doc="delay of the pads behind the actuator", plausible=(-5.0, 5.0), source=CHOSEN
    )

    def stroke_at(self, t: Scalar) -> Stroke:
        """Extension, speed and acceleration of the actuator at time `t` in s."""
        half = 0.5 * self.period
        f = jnp.mod(t, self.period)
        extending = f < half
        move = self.move(jnp.where(extending, f, f - half), half)
        sign = jnp.where(extending, 1.0, -1.0)
        s = jnp.where(extending, move.s, self.stroke - move.s)
        return Stroke(s, sign * move.speed, sign * move.acceleration)

    def move(self, g: Scalar, span: Scalar) -> Stroke:
        """One stroke within a time `span` in s, `g` in s after its start: dwell, ramp, constant speed, ramp, dwell."""
        width = span - 2.0 * self.dwell
        y = jnp.clip(g - self.dwell, 0.0, width)
        top = self.stroke / (width - self.ramp)
        up, down = jnp.minimum(y, self.ramp), jnp.minimum(width - y, self.ramp)
        rate = math.pi / self.ramp
        # A sin^2 ramp has covered (y - sin(rate y) / rate) / 2 after a time y, at unit top speed.
        sin_up, sin_down = jnp.sin(rate * up), jnp.sin(rate * down)
        travel = y - 0.5 * (up + sin_up / rate) - 0.5 * (self.ramp - down - sin_down / rate)
        speed = 0.5 * top * (1.0 - jnp.cos(rate * jnp.minimum(up, down)))
        return Stroke(top * travel, speed, 0.5 * top * rate * (sin_up - sin_down))

    def coils(self, t: Scalar) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Switching levels in [0, 1] of the front and the rear pad at time `t` in s; one is always fully on."""
        half = 0.5 * self.period
        f = jnp.mod(t - self.coil_delay, self.period)
        return self.grip(f, half), self.grip(f - half, half)

    def grip(self, g: Scalar, span: Scalar) -> Float[Array, ""]:
        """Switching level in [0, 1] of a pad that releases at g = 0 and grips again at g = span; times in s."""
        return 1.0 - smoothstep(g / self.coil_time) * smoothstep((span - g) / self.coil_time)

    def check_fits(self, moves: int = 2) -> None:
        """Rejects dwells, ramps or coil times that do not fit into their move, one of `moves` in a period.

        Raises:
            ParameterError: naming the values and the bound.
        """
        share = np.asarray(self.period) / moves
        for label, used in (
            ("2 gait.dwell + 2 gait.ramp", 2.0 * np.asarray(self.dwell) + 2.0 * np.asarray(self.ramp)),
            ("2 gait.coil_time", 2.0 * np.asarray(self.coil_time)),
        ):
            if np.any(used > share):
                value, bound = of_worst(used - share, used, share)
                part = {2: "half the period"}.get(moves, f"1/{moves} of the period")
                raise ParameterError(f"{label} is {value:g} s, longer than {part}, {bound:g} s")


@float64_default
class Pads(Immutable):
    """Friction pads: a magneto-rheological liquid that solidifies between unit and wall.

    Examples:
        >>> from jaxgait.models.creeper.model import Pads
        >>> pads = Pads(normal_force=2.0, friction_low=0.05, friction_high=0.8)
        >>> print([round(float(pads.limit(coil)), 3) for coil in (0.0, 1.0)])  # N, liquid and solid
        [0.1, 1.6]
        >>> force, rate = pads.force(coil=1.0, v=-1e-3, z=0.0)
        >>> print(type(pads.friction_law).__name__, float(force) > 0.0, float(rate) < 0.0)
        Dahl True True
        >>> pads.validate()
    """

    normal_force: Scalar = parameter(2.0, unit="N", doc="normal force N on a unit", bounds="positive", source=CHOSEN)
    friction_low: Scalar = parameter(
        0.05, unit="1", doc="friction coefficient mu_lo of a liquid pad", bounds="positive", source=CHOSEN
    )
    friction_high: Scalar = parameter(
        0.8, unit="1", doc="friction coefficient mu_hi of a solid pad", bounds="positive", source=CHOSEN
    )
    stiffness: Scalar = parameter(
        3.2e4, unit="N/m", doc="bristle stiffness of a pad", bounds="positive", source=CHOSEN, of="friction"
    )
    damping: Scalar = parameter(
        10.0, unit="s/m", doc="bristle damping of a pad, per force", bounds="nonnegative", source=CHOSEN, of="friction"
    )
    melting_time: Scalar = parameter(
        2e-3, unit="s", doc="relaxation time of a releasing pad", bounds="positive", source=CHOSEN, of="friction"
    )
    friction: Dahl | FrictionLaw | None = part(
        None,
        doc="law of the pads' friction; its coefficient is a share of the pad's limit",
        standard="Dahl",
        options=(
            Dahl(),
            Coulomb(1.0, 5e-5, "tanh"),
            Stribeck(1.0, 0.8, 1e-3, 5e-5),
            Bristle(1.0, 1.0, stiffness=2e4, damping=10.0, release_time=2e-3),
        ),
    )
    """`Dahl` and `Bristle` hold a static load; `Coulomb` and `Stribeck` creep under it at about their slip velocity."""

    @property
    def friction_law(self) -> Dahl | FrictionLaw:
        """The law of friction."""
        return self.friction or Dahl(1.0, self.stiffness, self.damping, self.melting_time)

    def limit(self, coil: Scalar) -> Float[Array, ""]:
        """Largest friction force in N at a switching level in [0, 1] of the coil."""
        friction = self.friction_low + (self.friction_high - self.friction_low) * coil
        return jnp.asarray(friction * self.normal_force)

    def force(self, coil: Scalar, v: Scalar, z: Scalar | None) -> tuple[Float[Array, ""], Float[Array, ""] | None]:
        """Force in N on a unit sliding at `v` in m/s, and the rate of the friction law's memory `z`, if any."""
        return self.friction_law.force(v, self.limit(coil), z)

    def validate(self) -> None:
        """Rejects pads that hold less when solid than when liquid.

        Raises:
            ParameterError: naming the values.
        """
        low, high = np.asarray(self.friction_low), np.asarray(self.friction_high)
        if np.any(high < low):
            low, high = of_worst(low - high, low, high)
            raise ParameterError(f"pads.friction_high is {high:g}, below pads.friction_low, {low:g}")


@float64_default
def check_units(units: int) -> None:
    """Checks a number of units (no dimension).

    Raises:
        ParameterError: unless it is a whole number, at least 2.

    Examples:
        >>> from jaxgait.models.creeper.model import check_units
        >>> check_units(1)
        Traceback (most recent call last):
            ...
        jaxgait.parameters.ParameterError: units must be a whole number, at least 2, got 1
    """
    if type(units) is not int or units < 2:
        raise ParameterError(f"units must be a whole number, at least 2, got {units!r}")


class CreeperState(NamedTuple):
    """Rear unit: position x (front face) in m, velocity v in m/s; bristle deflections in m of both pads, or None."""

    x: Scalar
    v: Scalar
    z_front: Scalar | None = None
    z_rear: Scalar | None = None


class _Forces(NamedTuple):
    stroke: Stroke
    coil_front: Array
    coil_rear: Array
    fluid_front: Array
    fluid_rear: Array
    friction_front: Array
    friction_rear: Array
    rate_front: Array | None
    rate_rear: Array | None


class Creeper(Model):
    """Two units and an actuator in a pulsating flow of blood; see the module's docstring.

    Examples:
        >>> from jaxgait.models import Creeper
        >>> robot = Creeper()
        >>> print(float(robot.period), robot.duration, robot.numerics.stiff)  # s, s
        1.0 4.0 True
        >>> front, rear = robot.fluid_forces(-1.0, 0.0, 0.0)  # blood at 1 m/s against the robot at rest
        >>> print(float(front) < float(rear) < 0.0)  # N
        True
        >>> print(bool(robot.fluid_force(-1.0, 0.0, True) == front))
        True
    """

    diameter: Scalar = parameter(12e-3, unit="m", doc="diameter D of a unit", bounds="positive", source=CHOSEN)
    clearance: Scalar = parameter(2e-3, unit="m", doc="gap h between unit and wall", bounds="positive", source=CHOSEN)
    length: Scalar = parameter(30e-3, unit="m", doc="length L of a unit", bounds="positive", source=CHOSEN)
    gap: Scalar = parameter(16e-3, unit="m", doc="gap between the retracted units", bounds="nonnegative", source=CHOSEN)
    front_mass: Scalar = parameter(
        9.6e-3, unit="kg", doc="mass m_f of the front unit with spring and shaft", bounds="positive", source=CHOSEN
    )
    rear_mass: Scalar = parameter(
        12e-3, unit="kg", doc="mass m_r of the actuator unit", bounds="positive", source=CHOSEN
    )
    inflow: Inflow = Inflow()
    blood: Blood = Blood()
    gait: Gait = Gait()
    pads: Pads = Pads()

    duration: ClassVar[float] = 4.0
    """Duration in s: the common period of gait and pulse at the defaults."""
    numerics: ClassVar[Numerics] = Numerics(stiff=True, rtol=1e-6, atol=1e-9, first_step=1e-4, max_step=2e-3)
    """Implicit: a sliding pad's bristles follow within 0.3 ms, and derivatives of explicit steps would be unstable."""

    measures: ClassVar[str] = "jaxgait.models.creeper.measures:MEASURES"
    scene: ClassVar[str] = "jaxgait.models.creeper.scene:axial"
    variables: ClassVar[Mapping[str, Variable]] = {
        "x": Variable("m", "position of the rear unit's front face"),
        "v": Variable("m/s", "velocity of the rear unit"),
        "z_front": Variable("m", "bristle deflection of the front pad"),
        "z_rear": Variable("m", "bristle deflection of the rear pad"),
        "tip": Variable("m", "position of the robot's front end"),
        "v_front": Variable("m/s", "velocity of the front unit"),
        "stroke": Variable("m", "extension of the actuator"),
        "flow": Variable("m/s", "flow velocity along the robot's axis"),
        "coil_front": Variable("1", "smoothed switch of the front coil"),
        "coil_rear": Variable("1", "smoothed switch of the rear coil"),
        "fluid_front": Variable("N", "fluid force on the front unit"),
        "fluid_rear": Variable("N", "fluid force on the rear unit"),
        "friction_front": Variable("N", "friction force on the front unit"),
        "friction_rear": Variable("N", "friction force on the rear unit"),
        "actuator_force": Variable("N", "force of the actuator on the front unit"),
        "actuator_reaction": Variable("N", "force of the actuator on the front unit, from the rear unit's balance"),
        "actuator_power": Variable("W", "mechanical power of the actuator"),
    }

    @property
    def period(self) -> Scalar:
        """One cycle of the gait."""
        return self.gait.period

    def initial_state(self) -> CreeperState:
        """At rest, pads undeflected."""
        zero, memory = jnp.zeros(()), self.pads.friction_law.at_rest()
        return CreeperState(zero, zero, memory, memory)

    def vector_field(self, t: Scalar, y: CreeperState) -> CreeperState:
        """Velocity, acceleration and bristle rates."""
        forces = self._forces(t, y)
        return CreeperState(y.v, self._acceleration(forces), forces.rate_front, forces.rate_rear)

    def outputs(self, t: Scalar, y: CreeperState) -> dict[str, Array]:
        """See `variables`."""
        f = self._forces(t, y)
        a = self._acceleration(f)
        push = self.front_mass * (a + f.stroke.acceleration) - f.fluid_front - f.friction_front
        return {
            "tip": y.x + self.gap + self.length + f.stroke.s,
            "v_front": y.v + f.stroke.speed,
            "stroke": f.stroke.s,
            "flow": self.inflow(t),
            "coil_front": f.coil_front,
            "coil_rear": f.coil_rear,
            "fluid_front": f.fluid_front,
            "fluid_rear": f.fluid_rear,
            "friction_front": f.friction_front,
            "friction_rear": f.friction_rear,
            "actuator_force": push,
            "actuator_reaction": f.fluid_rear + f.friction_rear - self.rear_mass * a,
            "actuator_power": push * f.stroke.speed,
        }

    def fluid_forces(self, u: Scalar, v_front: Scalar, v_rear: Scalar) -> tuple[Array, Array]:
        """Axial force in N of a flow `u` on the front and the rear unit moving at these speeds (m/s)."""
        return self.fluid_force(u, v_front, u < 0.0), self.fluid_force(u, v_rear, u > 0.0)

    def fluid_force(self, u: Scalar, v: Scalar, exposed: Bool[ArrayLike, ""]) -> Array:
        """Axial force in N of a flow `u` on a unit moving at `v` (m/s); an `exposed` face meets the flow head on."""
        head_on = jnp.where(exposed, self.blood.dynamic_pressure(u, v) + self.blood.wave_pressure(u), 0.0)
        gap = self.blood.gap_pressure(u, v, self.diameter, self.clearance, self.length)
        return math.pi * self.diameter**2 / 4.0 * (gap + head_on)

    def _forces(self, t: Scalar, y: CreeperState) -> _Forces:
        stroke = self.gait.stroke_at(t)
        coil_front, coil_rear = self.gait.coils(t)
        v_front = y.v + stroke.speed
        fluid = self.fluid_forces(self.inflow(t), v_front, y.v)
        friction_front, rate_front = self.pads.force(coil_front, v_front, y.z_front)
        friction_rear, rate_rear = self.pads.force(coil_rear, y.v, y.z_rear)
        return _Forces(stroke, coil_front, coil_rear, *fluid, friction_front, friction_rear, rate_front, rate_rear)

    def _acceleration(self, f: _Forces) -> Array:
        push = f.fluid_front + f.fluid_rear + f.friction_front + f.friction_rear
        return (push - self.front_mass * f.stroke.acceleration) / (self.front_mass + self.rear_mass)

    def validate(self) -> None:
        """Rejects impossible dimensions, gaits and pads; warns of a stroke too long for its unit.

        Raises:
            ParameterError: naming the value and its bound.
        """
        super().validate()
        self.inflow.validate()
        self.gait.check_fits()
        self.pads.validate()
        self._warn_of_stroke()

    def _warn_of_stroke(self) -> None:
        share = np.asarray(self.gait.stroke) / np.asarray(self.length)
        if np.any(share > LONGEST_STROKE * (1.0 + 1e-6)):
            stroke, length = of_worst(share, self.gait.stroke, self.length)
            warn_user(
                f"gait.stroke is {stroke:g} m for units {length:g} m long: the shaft slides in its unit, which leaves "
                f"room for some {LONGEST_STROKE:g} lengths, {LONGEST_STROKE * length:g} m"
            )
