"""Smooth contact and friction laws: one point against one surface.

Everywhere `depth` is the penetration in m (positive inside the other body), `rate` its time derivative in m/s,
`velocity` the sliding velocity in m/s. Normal forces push (>= 0), friction opposes `velocity`. All laws are
functions of scalars or of equally shaped arrays; none has a switch that automatic differentiation cannot follow.

Switching on at touch-down is smoothed over a depth `1 / steepness` by an *activation*:

- ``"tanh"``: ``(1 + tanh s) / 2``, no force in the air beyond a few widths;
- ``"arctan"``: ``1/2 + arctan(s) / pi``, with a long tail;
- ``"softplus"``: the depth itself becomes ``softplus(s) / steepness``, the damper is switched by the logistic function.

References: Kelvin-Voigt as used by Lü et al., Chin. J. Theor. Appl. Mech. 52 (2020) 1157; Hertz (1881); Hunt and
Crossley, J. Appl. Mech. 42 (1975) 440; regularised Coulomb friction: Threlfall, Mech. Mach. Theory 13 (1978) 475.
"""

from __future__ import annotations

import math
from typing import Literal

import jax
import jax.numpy as jnp

from jaxgait.mechanics import elementary
from jaxgait.mechanics.scalars import Real, RealArray
from jaxgait.precision import float64_default
from jaxgait.roots import bisected

Activation = Literal["tanh", "arctan", "softplus"]
Regularisation = Literal["arctan", "tanh", "algebraic"]


@float64_default
def step(s: Real, activation: Activation = "tanh") -> RealArray:
    """Smooth Heaviside step of a number without dimension: 0 far below zero, 1/2 at zero, 1 far above.

    Raises:
        ValueError: for an unknown activation.
    """
    if activation == "tanh":
        return (1.0 + jnp.tanh(s)) / 2.0
    if activation == "arctan":
        return 0.5 + elementary.arctan(s) / math.pi
    if activation == "softplus":
        return jax.nn.sigmoid(s)
    raise ValueError(f"activation must be 'tanh', 'arctan' or 'softplus', got {activation!r}")


@float64_default
def penetration(depth: Real, steepness: Real, activation: Activation = "tanh") -> RealArray:
    """The depth in m that a contact spring feels: smooth, about `depth` inside and about zero outside.

    Args:
        depth: penetration in m.
        steepness: reciprocal of the smoothing depth in 1/m.
        activation: see the module's docstring.
    """
    if activation == "softplus":
        return jnp.asarray(elementary.softplus(steepness * depth) / steepness)
    return depth * step(steepness * depth, activation)


@float64_default
def kelvin_voigt(
    depth: Real, rate: Real, stiffness: Real, damping: Real, steepness: Real, activation: Activation = "tanh"
) -> RealArray:
    """Normal force in N of a spring and a damper in parallel, switched on at touch-down, never pulling.

    Args:
        depth: penetration in m.
        rate: its rate in m/s.
        stiffness: spring in N/m.
        damping: damper in N s/m.
        steepness: reciprocal of the smoothing depth in 1/m.
        activation: see the module's docstring.
    """
    if activation == "softplus":
        on = step(steepness * depth, "softplus")
        return jnp.maximum(stiffness * penetration(depth, steepness, "softplus") + damping * rate * on, 0.0)
    return jnp.maximum(stiffness * depth + damping * rate, 0.0) * step(steepness * depth, activation)


@float64_default
def hertz(
    depth: Real,
    rate: Real,
    stiffness: Real,
    damping: Real,
    steepness: Real,
    activation: Activation = "softplus",
    exponent: float = 1.5,
) -> RealArray:
    """Normal force in N of Hertz's elastic contact with a linear damper: ``k d^n + c d'``, never pulling.

    Args:
        depth: penetration in m.
        rate: its rate in m/s.
        stiffness: Hertz's constant in N/m^exponent.
        damping: damper in N s/m.
        steepness: reciprocal of the smoothing depth in 1/m.
        activation: see the module's docstring.
        exponent: 3/2 for spheres.
    """
    elastic = stiffness * _power(penetration(depth, steepness, activation), exponent)
    return jnp.maximum(elastic + damping * rate * step(steepness * depth, activation), 0.0)


@float64_default
def hunt_crossley(
    depth: Real,
    rate: Real,
    stiffness: Real,
    dissipation: Real,
    steepness: Real,
    activation: Activation = "softplus",
    exponent: float = 1.0,
    tension_width: float = 0.01,
) -> RealArray:
    """Normal force in N of Hunt and Crossley: ``k d^n (1 + a d')``, continuous at touch-down, never pulling.

    Args:
        depth: penetration in m.
        rate: its rate in m/s.
        stiffness: k in N/m^exponent.
        dissipation: a in s/m.
        steepness: reciprocal of the smoothing depth in 1/m.
        activation: see the module's docstring.
        exponent: n, 1 for a linear spring, 3/2 for spheres.
        tension_width: width (no dimension) over which the factor ``1 + a d'`` is kept above zero by a softplus.
    """
    elastic = stiffness * _power(penetration(depth, steepness, activation), exponent)
    return jnp.asarray(elastic * tension_width * elementary.softplus((1.0 + dissipation * rate) / tension_width))


@float64_default
def hunt_crossley_dissipation(restitution: Real, velocity: Real) -> RealArray:
    """Dissipation a in s/m with which `hunt_crossley` returns a given restitution e, whatever its k and exponent.

    A free mass that lands at speed v leaves at e v where, with s = a v, ``ln((1 + s) / (1 - e s)) = s (1 + e)``. Weight
    swallows small rebounds: a body that lands on a spring under its own weight needs less dissipation than this.

    Args:
        restitution: e, above 0 and below 1.
        velocity: v in m/s.
    """
    e, v = jnp.asarray(restitution, dtype=float), jnp.asarray(velocity, dtype=float)

    def excess(x: RealArray, e: RealArray) -> RealArray:  # x = e s, of which only the root between 0 and 1 is wanted
        return jnp.log1p(x / e) - jnp.log1p(-x) - x / e * (1.0 + e)

    return jnp.vectorize(lambda e: bisected(excess, 0.0, 1.0, e))(e) / (e * v)


@float64_default
def hertz_stiffness(modulus: Real, poisson: Real, radius: Real) -> Real:
    """Hertz's constant in N/m^1.5 of an elastic sphere on a rigid plane: ``4 E sqrt(R) / (3 (1 - nu^2))``.

    Args:
        modulus: Young's modulus E in Pa.
        poisson: Poisson's ratio nu.
        radius: R of the sphere in m.
    """
    return 4.0 * modulus * radius**0.5 / (3.0 * (1.0 - poisson**2))


@float64_default
def hysteretic_hertz(depth: Real, rate: Real, stiffness: Real, dissipation: Real) -> RealArray:
    """Normal force in N of a rubber sphere on a plane: ``k d^1.5 max(0, 1 + a d')``, not smoothed at touch-down.

    The force and its first derivative vanish at touch-down by themselves.

    Args:
        depth: penetration in m.
        rate: its rate in m/s.
        stiffness: see `hertz_stiffness`.
        dissipation: a in s/m, see `restitution_dissipation`.
    """
    return stiffness * _power(jnp.asarray(depth), 1.5) * jnp.maximum(1.0 + dissipation * rate, 0.0)


@float64_default
def restitution_dissipation(restitution: Real, approach: Real) -> Real:
    """Factor in s/m of hysteresis damping that gives a restitution: ``3 (1 - e^2) / (4 v)``.

    Derived for e near 1: smaller ones come out too large (0.73 for e = 0.5), but the same at all speeds v.
    Source: Lankarani and Nikravesh, J. Mech. Design 112 (1990) 369.

    Args:
        restitution: coefficient e.
        approach: speed v of the contact at touch-down in m/s.
    """
    return 0.75 * (1.0 - restitution**2) / approach


def _power(depth: RealArray, exponent: float) -> RealArray:
    """Positive part of the depth to a power, with a derivative of zero (not NaN) at and above the surface."""
    if exponent == 1.0:
        return jnp.maximum(depth, 0.0)
    inside = depth > 0.0
    return jnp.where(inside, jnp.where(inside, depth, 1.0) ** exponent, 0.0)


@float64_default
def sign(velocity: Real, slip_velocity: Real, regularisation: Regularisation = "arctan") -> RealArray:
    """Smooth sign function of a velocity: odd, between -1 and 1.

    Args:
        velocity: in m/s.
        slip_velocity: width in m/s of the transition through zero.
        regularisation: "arctan" (2/pi arctan s), "tanh" or "algebraic" (s / sqrt(1 + s^2)).

    Raises:
        ValueError: for an unknown regularisation.
    """
    s = velocity / slip_velocity
    if regularisation == "arctan":
        return (2.0 / math.pi) * elementary.arctan(s)
    if regularisation == "tanh":
        return jnp.tanh(s)
    if regularisation == "algebraic":
        return s / jnp.sqrt(1.0 + s * s)
    raise ValueError(f"regularisation must be 'arctan', 'tanh' or 'algebraic', got {regularisation!r}")


@float64_default
def coulomb(
    velocity: Real, normal: Real, friction: Real, slip_velocity: Real, regularisation: Regularisation = "arctan"
) -> RealArray:
    """Regularised Coulomb friction force in N: ``-mu N sign(v)``.

    Args:
        velocity: sliding velocity in m/s.
        normal: normal force in N.
        friction: coefficient mu, no dimension.
        slip_velocity: width in m/s of the transition from stick to slip.
        regularisation: see `sign`.
    """
    return -friction * normal * sign(velocity, slip_velocity, regularisation)


@float64_default
def stribeck(
    velocity: Real,
    normal: Real,
    static_friction: Real,
    kinetic_friction: Real,
    stribeck_velocity: Real,
    slip_velocity: Real,
    regularisation: Regularisation = "tanh",
) -> RealArray:
    """Friction force in N that falls from static to kinetic with the sliding velocity (Stribeck).

    Args:
        velocity: sliding velocity in m/s.
        normal: normal force in N.
        static_friction: coefficient at small velocity, no dimension.
        kinetic_friction: coefficient at large velocity, no dimension.
        stribeck_velocity: velocity in m/s over which it falls (Gaussian).
        slip_velocity: width in m/s of the transition from stick to slip.
        regularisation: see `sign`.
    """
    falling = jnp.exp(-((velocity / stribeck_velocity) ** 2))
    friction = kinetic_friction + (static_friction - kinetic_friction) * falling
    return coulomb(velocity, normal, friction, slip_velocity, regularisation)
