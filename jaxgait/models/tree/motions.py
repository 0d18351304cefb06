"""Prescribed motions of joints: through samples, and where a motion jumps, so that no joint can follow it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from jaxgait.mechanics import Scalar
from jaxgait.parameters import ParameterError
from jaxgait.precision import float64_default

__all__ = ["Sampled"]

SAME = 1e-9
"""Relative difference between the first and the last sample of a period that is rounding; also of times at the ends."""
INTERVALS, HALVINGS = 256, 20
"""Intervals in which a jump is sought, and how often each is halved: down to 4e-9 of a run."""
JUMP = 1e-6
"""Jump, relative to the largest coordinate or rate, that is more than rounding."""
NODES, WEIGHTS = (x.tolist() for x in np.polynomial.legendre.leggauss(4))
"""Nodes and weights of Gauss's quadrature on [-1, 1]."""


@float64_default
class Sampled(eqx.Module):
    """A motion through samples, twice differentiable: a cubic spline (not-a-knot, or periodic).

    The accelerations of a spline contain the noise of its samples, so that measured ones need a filter first.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.models.tree.motions import Sampled
        >>> from jaxgait.models.tree.parts import PrescribedJoint
        >>> time = np.linspace(0.0, 1.0, 21)  # s
        >>> motion = Sampled(time, 0.5 * np.sin(2.0 * np.pi * time), periodic=True)  # rad
        >>> angle, rate, _ = PrescribedJoint("knee", motion).at(2.25)
        >>> print(round(float(angle), 4), round(abs(float(rate)), 4))  # rad, rad/s
        0.5 0.0
    """

    knots: Float[Array, " samples"]
    """Times in s."""
    coefficients: Float[Array, "4 intervals"]
    """Coefficients of the powers 3 to 0 of the time since the last knot: rad or m, divided by powers of s."""
    periodic: bool = eqx.field(static=True)

    def __init__(self, time: ArrayLike, values: ArrayLike, *, periodic: bool = False) -> None:
        """Fits the spline.

        Args:
            time: increasing times in s of at least four samples, shape (samples,).
            values: coordinates of the joint in rad (m, if it slides), of the same shape.
            periodic: whether the motion repeats; the last sample then repeats the first one. Without that, the motion
                is NaN before the first and after the last sample.

        Raises:
            ParameterError: for samples that make no such spline.
        """
        from scipy.interpolate import CubicSpline  # slow to import

        t, x = np.asarray(time, dtype=float), np.asarray(values, dtype=float)
        if t.ndim != 1 or t.shape != x.shape or t.size < 4:
            raise ParameterError(f"give a time for each of at least four samples, got the shapes {t.shape}, {x.shape}")
        if not (np.isfinite(t).all() and np.isfinite(x).all() and (np.diff(t) > 0.0).all()):
            raise ParameterError("the samples of a motion must be finite, and their times must increase")
        if periodic and abs(x[-1] - x[0]) > SAME * np.abs(x).max():
            raise ParameterError(
                f"the last sample of a periodic motion must repeat the first one, {x[0]:g}, a period later; it is "
                f"{x[-1]:g}"
            )
        x = np.append(x[:-1], x[0]) if periodic else x
        self.knots = jnp.asarray(t)
        self.coefficients = jnp.asarray(CubicSpline(t, x, bc_type="periodic" if periodic else "not-a-knot").c)
        self.periodic = periodic

    def __call__(self, t: Scalar) -> Array:
        """The coordinate in rad (m) at a time in s."""
        first, last = self.knots[0], self.knots[-1]
        span = last - first
        since = t - first - (span * jnp.floor((t - first) / span) if self.periodic else 0.0)
        i = jnp.searchsorted(self.knots[1:-1] - first, since, side="right", method="compare_all")
        h, (a, b, c, d) = since - (self.knots[i] - first), self.coefficients[:, i]
        value = ((a * h + b) * h + c) * h + d
        inside = (since >= -SAME * span) & (since <= (1.0 + SAME) * span)
        return value if self.periodic else jnp.where(inside, value, jnp.nan)


class Jumps(NamedTuple):
    """Where a motion is not twice differentiable: its largest jumps, by how far each is beyond rounding."""

    undefined: Array
    """First time in s at which the motion, its rate or its acceleration is not finite; infinite if all are."""
    size: Array
    """Jump of the coordinate (rad or m) and of its rate (per s), shape (2,); zero without one."""
    time: Array
    """Times in s of these, shape (2,)."""


@float64_default
def jumps(at: Callable[[Any], tuple[Array, Array, Array]], duration: Scalar) -> Jumps:
    """The jumps of a motion, and of its rate, within a run.

    A coordinate changes by the integral of its rate, and that by the integral of the acceleration. What is missing in
    an interval shrinks with it, unless there is a jump: intervals are therefore halved again and again.

    Args:
        at: coordinate in rad (m), its rate and its acceleration at a time in s, as computed by differentiation.
        duration: of the run in s.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.tree.motions import jumps
        >>> from jaxgait.models.tree.parts import PrescribedJoint
        >>> found = jumps(PrescribedJoint("knee", lambda t: jnp.abs(t - 0.3)).at, 1.0)
        >>> print(found.size.round(6), found.time[1].round(6), found.undefined)  # rad, rad/s; s; s
        [0. 2.] 0.3 inf
    """
    motion = jnp.vectorize(at)
    width = jnp.asarray(duration / INTERVALS, dtype=jnp.result_type(float))
    starts = width * jnp.arange(INTERVALS, dtype=width.dtype)
    whole = jnp.append(starts, duration)
    q, v, a = motion(whole)
    undefined = jnp.min(jnp.where(jnp.isfinite(q) & jnp.isfinite(v) & jnp.isfinite(a), jnp.inf, whole))

    def missing(start: Array, length: Array) -> Array:
        """What the integrals lack of the changes of coordinate and rate, each over intervals of its own."""
        found = motion(jnp.stack([start, start + length, *(start + 0.5 * length * (1.0 + x) for x in NODES)]))
        integrals = [0.5 * length * jnp.tensordot(jnp.asarray(WEIGHTS), rate[2:], 1) for rate in found[1:]]
        return jnp.abs(jnp.stack([found[k][1, k] - found[k][0, k] - integrals[k][k] for k in (0, 1)]))

    def halved(_: Any, intervals: tuple[Array, Array]) -> tuple[Array, Array]:
        start, half = intervals[0], 0.5 * intervals[1]
        former, latter = jnp.split(missing(jnp.concatenate([start, start + half], axis=1), half), 2, axis=1)
        return jnp.where(latter > former, start + half, start), half

    start, length = jax.lax.fori_loop(0, HALVINGS, halved, (jnp.stack([starts, starts]), width))
    left = missing(start, length)
    largest = jnp.max(jnp.abs(q))
    bound = JUMP * jnp.stack([largest, jnp.max(jnp.abs(v)) + largest / duration])
    worst = jnp.argmax(jnp.where(jnp.isnan(left), -1.0, left), axis=1)
    size = jnp.take_along_axis(left, worst[:, None], axis=1)[:, 0]
    time = jnp.take_along_axis(start, worst[:, None], axis=1)[:, 0] + length
    return Jumps(undefined, jnp.where(size > bound, size, 0.0), time)
