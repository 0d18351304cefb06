"""Prescribed joint motions: a sine swing from rest to rest, and polynomials through keyframes."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxgait.fields import Immutable
from jaxgait.mechanics.linalg import stacked
from jaxgait.model import Scalar, parameter
from jaxgait.parameters import ParameterError, part
from jaxgait.precision import float64_default
from jaxgait.support.checks import is_concrete

_MODEL = "see the model's swings"
_PROBES = 33  # angles in each piece, for the extremes of a joint's motion


class Turn(NamedTuple):
    """An angle in rad with its first and second time derivative."""

    angle: Scalar
    rate: Scalar
    acceleration: Scalar


@float64_default
def locked(angle: Scalar) -> Turn:
    """A joint at rest at an angle in rad.

    Examples:
        >>> from jaxgait.models.jumper.swing import locked
        >>> print(*map(float, locked(0.5)))  # rad, rad/s, rad/s^2
        0.5 0.0 0.0
    """
    return Turn(jnp.asarray(angle, dtype=float), jnp.zeros(()), jnp.zeros(()))


@float64_default
class Keyframes(Immutable):
    """A motion through keyframes of angle, rate and acceleration: quintic polynomials, smooth to second order.

    The joint rests before the first keyframe and after the last one, so that its rates there are zero; its acceleration
    may jump there.

    Examples:
        >>> from jaxgait.models.jumper.swing import Keyframes
        >>> knee = Keyframes(times=(0.0, 0.4), angles=(0.0, 1.0))
        >>> print(round(float(knee.turn(0.2).angle), 6), knee.pieces())  # rad, s
        0.5 [0.0, 0.4]
        >>> print(*map(float, knee.extremes()))  # rad
        0.0 1.0
        >>> knee.validate()
    """

    times: tuple[Scalar, ...] = parameter((0.0, 0.3), unit="s", doc="times of the keyframes, after the delay")
    angles: tuple[Scalar, ...] = parameter((0.0, 0.0), unit="rad", doc="joint angles at the keyframes")
    rates: tuple[Scalar, ...] = parameter((0.0, 0.0), unit="rad/s", doc="joint rates at the keyframes")
    accelerations: tuple[Scalar, ...] = parameter(
        (0.0, 0.0), unit="rad/s^2", doc="joint accelerations at the keyframes"
    )
    delay: Scalar = parameter(0.0, unit="s", doc="delay after the quiet phase", plausible=(-10.0, 10.0))

    def __check_init__(self) -> None:
        counts = {name: len(getattr(self, name)) for name in ("times", "angles", "rates", "accelerations")}
        if len(set(counts.values())) > 1 or counts["times"] < 2:
            raise ValueError(f"keyframes need as many {', '.join(counts)}, at least two of each, got {counts}")
        self.validate()

    def validate(self) -> None:
        """Rejects known times that do not increase, and known rates of a joint at rest.

        Raises:
            ParameterError: with the two times, or the rate.
        """
        ends = [np.asarray(self.rates[i]) for i in (0, -1) if is_concrete(self.rates[i])]
        if moving := [x[x != 0.0].flat[0] for x in ends if np.any(x != 0.0)]:
            raise ParameterError(
                f"rates of the first and the last keyframe must be zero, as the joint rests before and after them, "
                f"got {moving[0]:g} rad/s"
            )
        if not is_concrete(self.times):
            return
        times = np.stack(self.times, axis=-1) if isinstance(self.times, tuple) else np.asarray(self.times)
        if (wrong := ~(np.diff(times, axis=-1) > 0.0)).any():
            *member, i = np.argwhere(wrong)[0]
            a, b = times[(*member, slice(i, i + 2))]
            raise ParameterError(f"times of keyframes must increase, got {a:g} s before {b:g} s")

    def turn(self, t: Scalar) -> Turn:
        """Angle, rate and acceleration at time `t` in s after the quiet phase."""
        times, t = stacked(self.times), t - self.delay
        piece = jnp.clip(jnp.searchsorted(times, t, side="right") - 1, 0, times.shape[0] - 2)
        moves = (t >= times[0]) & (t <= times[-1])
        T = times[piece + 1] - times[piece]
        s = jnp.clip((t - times[piece]) / T, 0.0, 1.0)
        # With s from 0 to 1: value, slope and curvature at both ends; coefficients of s^3, s^4, s^5.
        (q0, q1), (v0, v1), (a0, a1) = (
            (scale * x[piece], scale * x[piece + 1])
            for x, scale in (
                (stacked(self.angles), 1.0),
                (stacked(self.rates), T),
                (stacked(self.accelerations), T * T),
            )
        )
        rise, slope, bend = q1 - q0 - v0 - 0.5 * a0, v1 - v0 - a0, a1 - a0
        c3 = 10.0 * rise - 4.0 * slope + 0.5 * bend
        c4 = -15.0 * rise + 7.0 * slope - bend
        c5 = 6.0 * rise - 3.0 * slope + 0.5 * bend
        return Turn(
            q0 + s * (v0 + s * (0.5 * a0 + s * (c3 + s * (c4 + s * c5)))),
            (v0 + s * (a0 + s * (3.0 * c3 + s * (4.0 * c4 + s * 5.0 * c5)))) / T,
            jnp.where(moves, (a0 + s * (6.0 * c3 + s * (12.0 * c4 + s * 20.0 * c5))) / (T * T), 0.0),
        )

    def extremes(self) -> list[Float[Array, ""]]:
        """Least and largest angle in rad."""
        return _extremes(self)

    def pieces(self) -> list[Scalar]:
        """Times in s after the quiet phase between which the motion is smooth: those of the keyframes."""
        return [self.delay + time for time in self.times]


@float64_default
class Swing(Immutable):
    """A swing by `angle` within `duration`, started `delay` after the quiet phase: q'' = (2 pi angle / T^2) sin 2 pi s.

    Examples:
        >>> from jaxgait.models.jumper.swing import Swing
        >>> hip = Swing(angle=1.0, duration=0.4)
        >>> half = hip.turn(0.2)
        >>> print(round(float(half.angle), 6), round(float(half.rate), 6))  # rad, rad/s
        0.5 5.0
        >>> print(*map(float, hip.extremes()), hip.pieces())  # rad, s
        0.0 1.0 [0.0, 0.4]
        >>> hip.validate()
    """

    angle: Scalar = parameter(0.0, unit="rad", doc="angle of the joint's whole swing", source=_MODEL)
    delay: Scalar = parameter(
        0.0,
        unit="s",
        doc="delay after the quiet phase",
        bounds="nonnegative",
        plausible=(0.0, 10.0),
        source=_MODEL,
    )
    duration: Scalar = parameter(0.3, unit="s", doc="duration of the swing", bounds="positive", source=_MODEL)
    then: Swing | Keyframes | None = part(None, doc="the motion that follows this one")
    """A further motion added to this one, e.g. the flexion that softens the landing."""

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

    def extremes(self) -> list[Float[Array, ""]]:
        """Extreme angles in rad, relative to the start, of the sum with a further motion."""
        here = jnp.asarray(self.angle, dtype=float)
        return [0.0 * here, here] if self.then is None else _extremes(self)

    def pieces(self) -> list[Scalar]:
        """Times in s after the quiet phase between which the motion is smooth: start and end, also of what follows."""
        return [self.delay, self.delay + self.duration, *(() if self.then is None else self.then.pieces())]

    def validate(self) -> None:
        """Rejects impossible keyframes (see `Keyframes.validate`) among the motions that follow.

        Raises:
            ParameterError: with the two times, or the rate.
        """
        if self.then is not None:
            self.then.validate()


def _extremes(motion: Keyframes | Swing) -> list[Float[Array, ""]]:
    """Least and largest angle in rad of a motion, sampled within its pieces."""
    times = jnp.sort(stacked(motion.pieces()))
    probes = times[None, :-1] + jnp.linspace(0.0, 1.0, _PROBES)[:, None] * jnp.diff(times)[None]
    angles = jax.vmap(lambda t: motion.turn(t).angle)(probes.ravel())
    return [jnp.min(angles), jnp.max(angles)]
