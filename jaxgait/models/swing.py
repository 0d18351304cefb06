"""Joint motions from rest to rest: one full sine of acceleration."""

from __future__ import annotations

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxgait.mechanics.planar_tree import Turn
from jaxgait.models.base import Scalar, parameter


class Swing(eqx.Module):
    """A turn by `angle` within `duration`, begun `delay` after the quiet phase: q'' = (2 pi angle / T^2) sin 2 pi s."""

    angle: Scalar = parameter(0.0, unit="rad", doc="whole swing of the joint")
    delay: Scalar = parameter(0.0, unit="s", doc="start after the quiet phase", bounds="nonnegative")
    duration: Scalar = parameter(0.3, unit="s", doc="duration of the swing", bounds="positive")
    then: Swing | None = None
    """A further swing added to this one, e.g. the flexion that softens the landing."""

    def turn(self, t: Scalar) -> Turn:
        """Angle, rate and acceleration at time `t` in s after the quiet phase."""
        s = jnp.clip((t - self.delay) / self.duration, 0.0, 1.0)
        phase = 2.0 * math.pi * s
        own = Turn(
            self.angle * (s - jnp.sin(phase) / (2.0 * math.pi)),
            self.angle / self.duration * (1.0 - jnp.cos(phase)),
            2.0 * math.pi * self.angle / self.duration**2 * jnp.sin(phase),
        )
        return own if self.then is None else Turn(*(a + b for a, b in zip(own, self.then.turn(t), strict=True)))

    def corners(self) -> list[Float[Array, ""]]:
        """Angles in rad, relative to the start, between which the joint moves."""
        here = jnp.asarray(self.angle, dtype=float)
        return [0.0 * here, here] if self.then is None else [0.0 * here, *(here + c for c in self.then.corners())]
