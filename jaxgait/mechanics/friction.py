"""Friction with a memory: elastic bristles that bend before they slip.

A bristle's deflection `z` (m) is part of the state; the laws return the friction force (N) and the rate of `z` (m/s).
Memoryless laws are in `jaxgait.mechanics.contact`.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxgait.mechanics.scalars import Real, RealArray
from jaxgait.precision import float64_default


@float64_default
def bristle(
    velocity: Real, deflection: Real, limit: Real, stiffness: Real, damping: Real, release_time: Real
) -> tuple[RealArray, RealArray]:
    """Friction of Dahl's kind with a limit that may change in time: holds a static load without creep.

    With z_s = limit / stiffness the deflection relaxes towards +-z_s while sliding:

        w = v - |v| z / z_s,    z' = w - max(0, |z| / z_s - 1) z / release_time,    f = -(stiffness z + damping limit w)

    When the limit falls (a pad melts), the excess deflection is given back within `release_time`; when it rises (a pad
    solidifies), no force appears: the bristle starts from what it holds.

    Args:
        velocity: sliding velocity in m/s.
        deflection: of the bristle in m.
        limit: largest static friction force in N, > 0.
        stiffness: in N/m.
        damping: micro-damping per unit limit in s/m.
        release_time: in s.

    Returns:
        Force in N on the sliding body, and the rate of the deflection in m/s.
    """
    velocity, deflection = jnp.asarray(velocity), jnp.asarray(deflection)
    slip = stiffness * deflection / limit  # z / z_s
    micro = velocity - jnp.abs(velocity) * slip
    excess = jnp.maximum(jnp.abs(slip) - 1.0, 0.0)
    force = -(stiffness * deflection + damping * limit * micro)
    return force, micro - excess * deflection / release_time


@float64_default
def falling_coefficient(speed: Real, static: Real, kinetic: Real, stribeck_velocity: Real) -> RealArray:
    """Friction coefficient that falls from static to kinetic with the sliding speed (Gaussian, Stribeck)."""
    return kinetic + (static - kinetic) * jnp.exp(-((speed / stribeck_velocity) ** 2))


@float64_default
def loaded_bristle(
    velocity: Float[Array, "... axes"],
    deflection: Float[Array, "... axes"],
    normal: Float[Array, ...],
    coefficient: Float[Array, ...],
    engaged: Float[Array, ...],
    stiffness: Real,
    damping: Real,
    release_time: Real,
) -> tuple[Float[Array, "... axes"], Float[Array, "... axes"]]:
    """Bristle friction whose shear stiffness grows with the load, for contacts that lift off and land (LuGre's kind).

        w = v - |v| z sigma0 / mu,    z' = G w - (1 - G) z / release_time,    F = -N (sigma0 z + sigma1 G w)

    Because the stiffness is proportional to the load, nothing becomes stiff when the load vanishes; the gate G lets the
    bristle go once the contact has opened.

    Args:
        velocity: sliding velocity in m/s, one or two tangential axes last.
        deflection: of the bristle in m, same axes.
        normal: force in N.
        coefficient: friction coefficient mu at this speed.
        engaged: gate G between 0 (open) and 1 (closed).
        stiffness: sigma0 per unit load in 1/m; the largest deflection is mu / sigma0.
        damping: sigma1 per unit load in s/m.
        release_time: in s, once the contact is open.

    Returns:
        Force in N on the sliding body, and the rate of the deflection in m/s.
    """
    speed, gate = length(velocity)[..., None], engaged[..., None]
    micro = velocity - speed * deflection * (stiffness / coefficient)[..., None]
    force = -normal[..., None] * (stiffness * deflection + damping * gate * micro)
    return force, gate * micro - (1.0 - gate) * deflection / release_time


@float64_default
def memoryless(
    velocity: Float[Array, "... axes"], limit: Float[Array, ...], slip_velocity: Real
) -> Float[Array, "... axes"]:
    """Regularised friction force in N along a sliding velocity of one or two axes; creeps under a static load.

    Args:
        velocity: in m/s, axes last.
        limit: mu N in N.
        slip_velocity: width in m/s of the transition from stick to slip.
    """
    square = jnp.sum(velocity * velocity, axis=-1)
    return -limit[..., None] * velocity / jnp.sqrt(square + slip_velocity**2)[..., None]


@float64_default
def incremental(
    velocity: Float[Array, "... axes"],
    deflection: Float[Array, "... axes"],
    normal: Float[Array, ...],
    static: Real,
    coefficient: Float[Array, ...],
    stiffness: Real,
    step: Real,
) -> tuple[Float[Array, "... axes"], Float[Array, "... axes"]]:
    """One time step of the paper's stick-slip law: a spring of constant stiffness that is cut back when it slips.

    Not an ordinary differential equation (the reset depends on the step taken), so it serves for comparison along
    a given motion only. While sliding it chatters between the kinetic and the static limit.

    Args:
        velocity: sliding velocity in m/s, axes last.
        deflection: spring deflection in m at the beginning of the step.
        normal: force in N.
        static: friction coefficient at breakaway.
        coefficient: friction coefficient at this speed while slipping.
        stiffness: K_T in N/m.
        step: time step in s.

    Returns:
        Force in N on the sliding body and the deflection at the end of the step.
    """
    trial = deflection + velocity * step
    sticks = (stiffness * length(trial) < static * normal)[..., None]
    direction = velocity / jnp.maximum(length(velocity), 1e-12)[..., None]
    slipping = -(coefficient * normal)[..., None] * direction
    force = jnp.where(sticks, -stiffness * trial, slipping)
    return force, jnp.where(sticks, trial, -slipping / stiffness)


@float64_default
def length(vectors: Float[Array, "... axes"]) -> Float[Array, ...]:
    """Length of vectors along the last axis, with a derivative of zero (not NaN) at the zero vector."""
    square = jnp.sum(vectors * vectors, axis=-1)
    moving = square > 0.0
    return jnp.where(moving, jnp.sqrt(jnp.where(moving, square, 1.0)), 0.0)
