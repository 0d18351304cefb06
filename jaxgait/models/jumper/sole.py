"""The flexible sole: small rubber hemispheres that press, stick, slip and lift off one by one."""

from __future__ import annotations

from typing import Literal, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxgait.mechanics.contact import hertz_stiffness, hysteretic_hertz, restitution_dissipation
from jaxgait.mechanics.friction import falling_coefficient, incremental, length, loaded_bristle, memoryless
from jaxgait.model import Scalar, parameter
from jaxgait.parameters import ParameterError
from jaxgait.precision import float64_default

_CHOSEN = "chosen"
_PAPER = "Chen, Yan, Jin 2003"

GATE_DEPTH = 1e-4
"""Compression in m over which a stud's bristle is engaged."""

TRACKING_TIME = 2e-3
"""Time in s within which a lifted stud's memory of its approach speed follows it."""


class StudForces(NamedTuple):
    """Forces on the studs."""

    normal: Float[Array, ...]
    """N, upward."""
    tangential: Float[Array, "... axes"]
    """N."""
    bristle_rate: Float[Array, "... axes"]
    """Rate of the bristles in m/s."""
    approach_rate: Float[Array, ...] | None = None
    """Rate of the remembered approach speeds in m/s^2 (impact law only)."""


@float64_default
class Sole(eqx.Module):
    """Rows of hemispheres under each foot, and the laws of their contact with the ground."""

    modulus: Scalar = parameter(10e6, unit="Pa", doc="Young's modulus of the studs", bounds="positive", source=_CHOSEN)
    poisson: Scalar = parameter(0.49, unit="1", doc="Poisson's ratio", bounds="nonnegative", source=_CHOSEN)
    radius: Scalar = parameter(0.010, unit="m", doc="radius of a stud", bounds="positive", source=_CHOSEN)
    restitution: Scalar = parameter(
        0.5, unit="1", doc="coefficient of restitution", bounds="nonnegative", source=_CHOSEN
    )
    approach_speed: Scalar = parameter(
        0.2, unit="m/s", doc="least approach speed that restitution refers to", bounds="positive", source=_CHOSEN
    )
    static_friction: Scalar = parameter(
        0.9, unit="1", doc="friction coefficient at breakaway", bounds="positive", source=_CHOSEN
    )
    kinetic_friction: Scalar = parameter(
        0.7, unit="1", doc="friction coefficient while sliding", bounds="positive", source=_CHOSEN
    )
    stribeck_velocity: Scalar = parameter(
        0.006,
        unit="m/s",
        doc="slip velocity of the change from static to kinetic friction",
        bounds="positive",
        source=_PAPER,
    )
    bristle_stiffness: Scalar = parameter(
        1500.0, unit="1/m", doc="shear stiffness of the bristles per load", bounds="positive", source=_CHOSEN
    )
    bristle_damping: Scalar = parameter(
        1.0, unit="s/m", doc="shear damping of the bristles per load", bounds="nonnegative", source=_CHOSEN
    )
    release_time: Scalar = parameter(
        0.02, unit="s", doc="relaxation time of the bristles of a lifted stud", bounds="positive", source=_CHOSEN
    )
    shear_stiffness: Scalar = parameter(
        4.3e4, unit="N/m", doc="shear stiffness of a stud in the incremental law", bounds="positive", source=_CHOSEN
    )
    slip_velocity: Scalar = parameter(
        0.006, unit="m/s", doc="slip velocity at which the memoryless law saturates", bounds="positive", source=_CHOSEN
    )
    drop: Scalar = parameter(
        0.068, unit="m", doc="height of the ankle above the stud tips", bounds="positive", source=_CHOSEN
    )
    rows: tuple[Scalar, ...] = parameter(
        (-0.045, -0.003, 0.039, 0.081, 0.123, 0.165),
        unit="m",
        doc="positions of the rows of studs ahead of the ankle",
        source=_CHOSEN,
    )
    columns: tuple[Scalar, ...] = parameter(
        (-0.030, 0.030), unit="m", doc="positions of the columns of studs left of the foot's midline", source=_CHOSEN
    )
    law: Literal["bristle", "memoryless"] = eqx.field(static=True, default="bristle")
    """"bristle" holds a static load; "memoryless" creeps under it."""
    impact: bool = eqx.field(static=True, default=False)
    """Whether restitution refers to the speed at which each row came down (the paper's law) instead of to
    `approach_speed`; rows then remember that speed, see `approach_rate`."""

    @property
    def stiffness(self) -> Scalar:
        """Hertz's constant in N/m^1.5 of one stud."""
        return hertz_stiffness(self.modulus, self.poisson, self.radius)

    @property
    def row_places(self) -> Float[Array, " rows"]:
        """Places of the rows ahead of the ankle in m."""
        return jnp.stack([jnp.asarray(x, dtype=float) for x in self.rows])

    def normal(
        self, depth: Float[Array, ...], rate: Float[Array, ...], approach: Float[Array, ...] | None = None
    ) -> Float[Array, ...]:
        """Normal force in N of one stud.

        Args:
            depth: compression in m.
            rate: its rate in m/s.
            approach: speed in m/s at which it came down; `approach_speed` if None or slower.
        """
        speed = self.approach_speed if approach is None else jnp.maximum(approach, self.approach_speed)
        return hysteretic_hertz(depth, rate, self.stiffness, restitution_dissipation(self.restitution, speed))

    def approach_rate(
        self, depth: Float[Array, ...], rate: Float[Array, ...], approach: Float[Array, ...]
    ) -> Float[Array, ...]:
        """Rate of the remembered approach speed in m/s^2: it follows the speed in the air and is held on the ground."""
        return jnp.where(depth > 0.0, 0.0, (jnp.maximum(rate, self.approach_speed) - approach) / TRACKING_TIME)

    def forces(
        self,
        depth: Float[Array, ...],
        rate: Float[Array, ...],
        velocity: Float[Array, "... axes"],
        bristle: Float[Array, "... axes"],
        approach: Float[Array, ...] | None = None,
    ) -> StudForces:
        """Forces on single studs.

        Args:
            depth: compression in m.
            rate: its rate in m/s.
            velocity: sliding velocity of the foot's material at the contact, one or two axes, m/s.
            bristle: deflections in m.
            approach: remembered approach speeds in m/s, for the impact law.
        """
        normal = self.normal(depth, rate, approach)
        held = None if approach is None else self.approach_rate(depth, rate, approach)
        coefficient = self._coefficient(velocity)
        if self.law == "memoryless":
            tangential = memoryless(velocity, coefficient * normal, self.slip_velocity)
            return StudForces(normal, tangential, jnp.zeros_like(bristle), held)
        s = jnp.clip(depth / GATE_DEPTH, 0.0, 1.0)
        tangential, rates = loaded_bristle(
            velocity,
            bristle,
            normal,
            coefficient,
            s * s * (3.0 - 2.0 * s),
            self.bristle_stiffness,
            self.bristle_damping,
            self.release_time,
        )
        return StudForces(normal, tangential, rates, held)

    def step(
        self,
        depth: Float[Array, ...],
        rate: Float[Array, ...],
        velocity: Float[Array, "... axes"],
        deflection: Float[Array, "... axes"],
        dt: Scalar,
    ) -> StudForces:
        """Forces by the paper's incremental friction law, which needs time steps (of `dt` in s); see `forces`."""
        normal = self.normal(depth, rate)
        coefficient = self._coefficient(velocity)
        force, after = incremental(
            velocity, deflection, normal, self.static_friction, coefficient, self.shear_stiffness, dt
        )
        return StudForces(normal, force, (after - deflection) / dt)

    def _coefficient(self, velocity: Float[Array, "... axes"]) -> Float[Array, ...]:
        return falling_coefficient(
            length(velocity), self.static_friction, self.kinetic_friction, self.stribeck_velocity
        )

    def validate(self) -> None:
        """Rejects an impossible rubber or friction.

        Raises:
            ParameterError: naming the parameter and what would be right.
        """
        for name, upper in (("poisson", 0.5), ("restitution", 1.0)):
            worst = float(np.max(np.asarray(getattr(self, name), dtype=float)))
            if worst > upper:
                raise ParameterError(f"sole.{name} must be at most {upper:g}, got {worst:g}")
        gap = np.asarray(self.static_friction, dtype=float) - np.asarray(self.kinetic_friction, dtype=float)
        if np.min(gap) < 0.0:
            raise ParameterError("sole.static_friction must not be below sole.kinetic_friction")
        if self.law not in ("bristle", "memoryless"):
            raise ParameterError(f"sole.law must be 'bristle' or 'memoryless', got {self.law!r}")
