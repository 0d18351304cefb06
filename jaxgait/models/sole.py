"""The flexible sole: small rubber hemispheres that press, stick, slip and lift off one by one."""

from __future__ import annotations

from typing import Literal, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxgait.mechanics.contact import hertz_stiffness, hysteretic_hertz
from jaxgait.mechanics.friction import falling_coefficient, length, loaded_bristle, memoryless
from jaxgait.models.base import Scalar, parameter
from jaxgait.models.parameters import ParameterError

_CHOSEN = "chosen"
_PAPER = "Chen, Yan, Jin 2003"

GATE_DEPTH = 1e-4
"""Compression in m over which a stud's bristle is engaged."""


class StudForces(NamedTuple):
    """Forces on the studs."""

    normal: Float[Array, ...]
    """N, upward."""
    tangential: Float[Array, "... axes"]
    """N."""
    bristle_rate: Float[Array, "... axes"]
    """Rate of the bristles in m/s."""


class Sole(eqx.Module):
    """Rows of hemispheres under each foot, and the laws of their contact with the ground."""

    modulus: Scalar = parameter(10e6, unit="Pa", doc="Young's modulus of the studs", bounds="positive", source=_CHOSEN)
    poisson: Scalar = parameter(0.49, unit="1", doc="Poisson's ratio", bounds="nonnegative", source=_CHOSEN)
    radius: Scalar = parameter(0.010, unit="m", doc="radius of a stud", bounds="positive", source=_CHOSEN)
    restitution: Scalar = parameter(
        0.5, unit="1", doc="coefficient of restitution", bounds="nonnegative", source=_CHOSEN
    )
    approach_speed: Scalar = parameter(
        0.2, unit="m/s", doc="speed that restitution refers to", bounds="positive", source=_CHOSEN
    )
    static_friction: Scalar = parameter(0.9, unit="1", doc="at breakaway", bounds="positive", source=_CHOSEN)
    kinetic_friction: Scalar = parameter(0.7, unit="1", doc="while sliding", bounds="positive", source=_CHOSEN)
    stribeck_velocity: Scalar = parameter(
        0.006, unit="m/s", doc="from static to kinetic", bounds="positive", source=_PAPER
    )
    bristle_stiffness: Scalar = parameter(
        1500.0, unit="1/m", doc="shear stiffness per load", bounds="positive", source=_CHOSEN
    )
    bristle_damping: Scalar = parameter(
        1.0, unit="s/m", doc="shear damping per load", bounds="nonnegative", source=_CHOSEN
    )
    release_time: Scalar = parameter(0.02, unit="s", doc="bristles of a lifted stud", bounds="positive", source=_CHOSEN)
    slip_velocity: Scalar = parameter(
        0.006, unit="m/s", doc="width of the memoryless law", bounds="positive", source=_CHOSEN
    )
    drop: Scalar = parameter(0.068, unit="m", doc="stud tips below the ankle", bounds="positive", source=_CHOSEN)
    rows: tuple[Scalar, ...] = parameter(
        (-0.045, -0.003, 0.039, 0.081, 0.123, 0.165), unit="m", doc="rows ahead of the ankle", source=_CHOSEN
    )
    columns: tuple[Scalar, ...] = parameter(
        (-0.030, 0.030), unit="m", doc="columns left of the foot's midline", source=_CHOSEN
    )
    law: Literal["bristle", "memoryless"] = eqx.field(static=True, default="bristle")
    """"bristle" holds a static load; "memoryless" creeps under it."""

    @property
    def stiffness(self) -> Scalar:
        """Hertz's constant in N/m^1.5 of one stud."""
        return hertz_stiffness(self.modulus, self.poisson, self.radius)

    @property
    def dissipation(self) -> Scalar:
        """Hysteresis factor in s/m: damping force per elastic force and rate."""
        return 0.75 * (1.0 - self.restitution**2) / self.approach_speed

    @property
    def row_places(self) -> Float[Array, " rows"]:
        """Places of the rows ahead of the ankle in m."""
        return jnp.stack([jnp.asarray(x, dtype=float) for x in self.rows])

    def normal(self, depth: Float[Array, ...], rate: Float[Array, ...]) -> Float[Array, ...]:
        """Normal force in N of one stud compressed by `depth` in m at `rate` in m/s."""
        return hysteretic_hertz(depth, rate, self.stiffness, self.dissipation)

    def forces(
        self,
        depth: Float[Array, ...],
        rate: Float[Array, ...],
        velocity: Float[Array, "... axes"],
        bristle: Float[Array, "... axes"],
    ) -> StudForces:
        """Forces on single studs.

        Args:
            depth: compression in m.
            rate: its rate in m/s.
            velocity: sliding velocity of the foot's material at the contact, one or two axes, m/s.
            bristle: deflections in m.
        """
        normal = self.normal(depth, rate)
        coefficient = falling_coefficient(
            length(velocity), self.static_friction, self.kinetic_friction, self.stribeck_velocity
        )
        if self.law == "memoryless":
            tangential = memoryless(velocity, coefficient * normal, self.slip_velocity)
            return StudForces(normal, tangential, jnp.zeros_like(bristle))
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
        return StudForces(normal, tangential, rates)

    def validate(self) -> None:
        """Refuses a rubber or a friction that cannot be.

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
