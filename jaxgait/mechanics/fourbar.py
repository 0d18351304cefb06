r"""The planar four-bar linkage of a prosthetic knee: closure in closed form, rates, instantaneous centre.

    E +                 E: lower end of the thigh; A, B: upper pivots on the line through E at gamma1 to the thigh axis
      |
   B==A                 AD: anterior link (angle thetaA), BC: posterior link (angle thetaB)
   |   \
   |    \               DC: lower bar, at gamma2 to the shank axis
   C=====D

All quantities are in the frame of the thigh: origin A, the thigh pointing down, angles relative to the thigh. The
internal coordinate is ``psi``, the angle of BC. (The knee angle has an extremum where AD and BC are parallel, in
hyperextension.) No inverse trigonometric functions are needed for the motion.

Source: Lü et al., Chin. J. Theor. Appl. Mech. 52 (2020) 1157, equations (2) and (3), reconstructed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp

from jaxgait.mechanics import Scalar
from jaxgait.mechanics.planar import Vec, added, cross, dot, down, turned
from jaxgait.precision import float64_default

MAX_ANGLE = 1.5
"""Shank angles relative to the thigh lie in (MAX_ANGLE - 2 pi, MAX_ANGLE]: no knee flexes beyond 270 degrees."""


class FourBar(eqx.Module):
    """Lengths in m and angles in rad of the linkage.

    Examples:
        >>> import math
        >>> from jaxgait.mechanics.fourbar import FourBar, close, link_angle
        >>> bars = FourBar(0.05, 0.1, 0.05, 0.1, gamma1=math.pi / 2, gamma2=math.pi / 2)  # m: AB, BC, CD, AD
        >>> round(float(link_angle(close(bars, 0.3))), 6)  # rad: in a parallelogram AD turns as BC does
        0.3
    """

    l_AB: Scalar
    l_BC: Scalar
    l_CD: Scalar
    l_AD: Scalar
    gamma1: Scalar
    gamma2: Scalar


class Closure(NamedTuple):
    """The linkage at one psi, in the frame of the thigh (lengths in m, unit vectors)."""

    B: Vec
    C: Vec
    D: Vec
    AD: Vec
    """Direction from A to D."""
    BC: Vec
    """Direction from B to C."""
    CD: Vec
    """Direction from C to D."""
    cosine: Scalar
    """Cosine of the angle DAC; the linkage folds at 1 or -1."""
    rate_A: Scalar
    """d thetaA / d psi, relative to the thigh."""
    rate_S: Scalar
    """d alpha11 / d psi, relative to the thigh (the shank turns with CD)."""


@float64_default
def close(bars: FourBar, psi: Scalar) -> Closure:
    """Closes the linkage at an angle psi in rad on the branch of a working knee; NaN where it cannot be assembled.

    Examples:
        >>> import math
        >>> from jaxgait.mechanics.fourbar import FourBar, close
        >>> bars = FourBar(0.05, 0.1, 0.05, 0.1, gamma1=math.pi / 2, gamma2=math.pi / 2)  # a parallelogram, hanging
        >>> knee = close(bars, 0.0)
        >>> print(f"D at x = {knee.D.x:.2f} m, y = {knee.D.y:.2f} m; dthetaA/dpsi = {knee.rate_A:.0f}")
        D at x = 0.00 m, y = -0.10 m; dthetaA/dpsi = 1
    """
    BC = down(psi)
    B = -bars.l_AB * down(bars.gamma1)
    C = B + bars.l_BC * BC
    r2 = dot(C, C)
    cosine = (bars.l_AD**2 + r2 - bars.l_CD**2) / (2.0 * bars.l_AD * jnp.sqrt(r2))
    sine = jnp.sqrt(1.0 - cosine**2)
    AD = (cosine * C + sine * turned(C)) * (1.0 / jnp.sqrt(r2))
    D = bars.l_AD * AD
    CD = (D - C) * (1.0 / bars.l_CD)
    fold = cross(AD, CD)
    rate_A = bars.l_BC * cross(BC, CD) / (bars.l_AD * fold)
    rate_S = bars.l_BC * cross(BC, AD) / (bars.l_CD * fold)
    return Closure(B, C, D, AD, BC, CD, cosine, rate_A, rate_S)


@float64_default
def bias(bars: FourBar, knee: Closure, psi_rate: Scalar) -> tuple[Scalar, Scalar]:
    """Accelerations of thetaA and alpha11 relative to the thigh in rad/s^2 at a constant psi rate in rad/s.

    From the second derivative of the closure.

    Examples:
        >>> import math
        >>> from jaxgait.mechanics.fourbar import FourBar, bias, close
        >>> bars = FourBar(0.05, 0.1, 0.05, 0.1, gamma1=math.pi / 2, gamma2=math.pi / 2)
        >>> links = bias(bars, close(bars, 0.3), 2.0)  # in a parallelogram the other link turns with BC
        >>> [abs(round(float(a), 6)) for a in links]
        [0.0, 0.0]
    """
    a, s = knee.rate_A * psi_rate, knee.rate_S * psi_rate
    centripetal = bars.l_AD * a**2 * knee.AD - bars.l_CD * s**2 * knee.CD - bars.l_BC * psi_rate**2 * knee.BC
    fold = cross(knee.AD, knee.CD)
    return dot(centripetal, knee.CD) / (bars.l_AD * fold), dot(centripetal, knee.AD) / (bars.l_CD * fold)


@float64_default
def shank_angle(bars: FourBar, knee: Closure) -> Scalar:
    """Angle in rad of the shank relative to the thigh, minus the knee flexion, in (MAX_ANGLE - 2 pi, MAX_ANGLE].

    Examples:
        >>> import math
        >>> from jaxgait.mechanics.fourbar import FourBar, close, shank_angle
        >>> bars = FourBar(0.05, 0.1, 0.05, 0.1, gamma1=math.pi / 2, gamma2=math.pi / 2)
        >>> abs(round(float(shank_angle(bars, close(bars, 0.3))), 6))  # a parallelogram does not turn the shank
        0.0
    """
    shank = added(knee.CD, down(-bars.gamma2))
    return _wrapped(jnp.arctan2(shank.x, -shank.y))


@float64_default
def link_angle(knee: Closure) -> Scalar:
    """Angle in rad of AD relative to the thigh.

    Examples:
        >>> import math
        >>> from jaxgait.mechanics.fourbar import FourBar, close, link_angle
        >>> bars = FourBar(0.05, 0.1, 0.05, 0.1, gamma1=math.pi / 2, gamma2=math.pi / 2)
        >>> round(float(link_angle(close(bars, 0.3))), 6)  # rad: AD stays parallel to BC
        0.3
    """
    return _wrapped(jnp.arctan2(knee.AD.x, -knee.AD.y))


def _wrapped(angle: Scalar) -> Scalar:
    return jnp.where(angle > MAX_ANGLE, angle - 2.0 * math.pi, angle)


@float64_default
def instantaneous_centre(knee: Closure) -> Vec:
    """Instantaneous centre of the shank relative to the thigh, from A in the thigh frame: where AD and BC meet.

    Examples:
        >>> import math
        >>> from jaxgait.mechanics.fourbar import FourBar, close, instantaneous_centre
        >>> link = math.hypot(0.05, 0.1)  # both links lean inwards by 5 cm over 10 cm: they meet 20 cm below A and B
        >>> bars = FourBar(0.2, link, 0.1, link, gamma1=math.pi / 2, gamma2=math.pi / 2)
        >>> centre = instantaneous_centre(close(bars, math.atan(0.5)))
        >>> print(f"{centre.x:.2f} m, {centre.y:.2f} m")
        -0.10 m, -0.20 m
    """
    link = knee.C - knee.B
    return knee.D * (-cross(knee.B, link) / cross(link, knee.D))


@float64_default
def psi_at(bars: FourBar, knee_angle: Scalar) -> Scalar:
    """The psi in rad at which the knee is flexed by `knee_angle` in rad (0: straight); NaN if it cannot be assembled.

    The direction of the lower bar is known, so AD, BC and the vector from A to B plus the bar form a triangle. The
    smaller psi of its two assemblies is the working one; the other lies beyond the extremum of the knee angle.

    Examples:
        >>> from jaxgait import Prosthesis
        >>> from jaxgait.mechanics.fourbar import close, psi_at, shank_angle
        >>> bars = Prosthesis().linkage.bars
        >>> bent = close(bars, psi_at(bars, 1.0))
        >>> round(float(shank_angle(bars, bent)), 6)  # minus the flexion in rad
        -1.0
    """
    base = bars.l_CD * down(bars.gamma2 - knee_angle) - bars.l_AB * down(bars.gamma1)
    distance = jnp.sqrt(dot(base, base))
    cosine = (bars.l_AD**2 - bars.l_BC**2 - distance**2) / (2.0 * bars.l_BC * distance)
    return _wrapped(jnp.arctan2(base.x, -base.y) - jnp.arccos(cosine))
