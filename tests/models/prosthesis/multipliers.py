"""The four-bar prosthesis in the paper's own formulation, an oracle: Lagrange's equations with multipliers.

    M(q) q'' + C(q, q') q' + N(q) = F_e + F_q + Phi^T lambda,      q = (x, y, alpha1, alpha11, thetaA, thetaB, beta1)

Every position is a sum of vectors that depend on one coordinate each, so M, C and N need only those vectors and their
turned copies.

Source: Lü et al. 2020 (see `prosthesis.model`), equations (13) to (22) and appendix A, misprints corrected.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxgait.mechanics import fourbar
from jaxgait.mechanics.planar import down
from jaxgait.model import Scalar, State
from jaxgait.models.prosthesis.model import Prosthesis

PRESCRIBED = 3
"""The first three coordinates are prescribed, the other four respond."""

Part = tuple[int, Scalar, Scalar]
"""A term of a position, ``length * down(q[coordinate] + offset)``, as (coordinate, length, offset)."""


class Terms(NamedTuple):
    """The matrices of equation (13) with the constraint of equation (2)."""

    M: Float[Array, "7 7"]
    C: Float[Array, "7 7"]
    N: Float[Array, " 7"]
    Phi: Float[Array, "2 7"]
    gamma: Float[Array, " 2"]
    """Right-hand side of Phi q'' = gamma, stabilisation included."""


class MultiplierState(NamedTuple):
    """The response coordinates in rad and their rates in rad/s."""

    alpha_11: Scalar
    theta_a: Scalar
    theta_b: Scalar
    beta_1: Scalar
    alpha_11_rate: Scalar
    theta_a_rate: Scalar
    theta_b_rate: Scalar
    beta_1_rate: Scalar


def parts(leg: Prosthesis) -> dict[str, list[Part]]:
    """Positions of points and centres of mass (relative to the hip) as sums of single-coordinate terms."""
    k, s = leg.linkage, leg.segments
    E: list[Part] = [(2, s.thigh, 0.0)]
    A = [*E, (2, -k.l_AE, k.gamma1)]
    B = [*A, (2, -k.l_AB, k.gamma1)]
    D = [*A, (4, k.l_AD, 0.0)]
    F = [*D, (3, -k.l_DF, k.gamma2)]
    K = [*F, (3, s.shank, 0.0)]
    on_foot = lambda length: [*K, (6, length, math.pi / 2)]
    return {
        "thigh": [(2, s.thigh / 2, 0.0)],
        "BE": [*E, (2, -(k.l_AE + k.l_AB) / 2, k.gamma1)],
        "AD": [*A, (4, k.l_AD / 2, 0.0)],
        "BC": [*B, (5, k.l_BC / 2, 0.0)],
        "CD": [*D, (3, -k.l_CD / 2, k.gamma2)],
        "shank": [*F, (3, s.shank / 2, 0.0)],
        "foot": on_foot((0.5 - s.ankle) * s.foot),
        "heel": on_foot(-s.ankle * s.foot),
        "toe": on_foot((1.0 - s.ankle) * s.foot),
    }


def vectors(terms: list[Part], q: Float[Array, " 7"]) -> Float[Array, "7 2"]:
    """A position (relative to the hip) by coordinate, in m: row j is the part that turns with q[j]."""
    rows = [jnp.zeros(2, q.dtype)] * 7
    for j, length, offset in terms:
        rows[j] = rows[j] + length * jnp.stack(list(down(q[j] + offset)))
    return jnp.stack(rows)


def jacobian(terms: list[Part], q: Float[Array, " 7"]) -> Float[Array, "2 7"]:
    """Jacobian of a position: the hip's translation, and every part turned by 90 degrees."""
    turned = vectors(terms, q) @ jnp.array([[0.0, 1.0], [-1.0, 0.0]], q.dtype)
    return turned.at[:2].set(jnp.eye(2, dtype=q.dtype)).T


def _masses(leg: Prosthesis) -> dict[str, Scalar]:
    m = leg.masses
    return {"thigh": m.thigh, "BE": m.BE, "AD": m.AD, "BC": m.BC, "CD": m.CD, "shank": m.shank, "foot": m.foot}


def _inertias(leg: Prosthesis) -> list[Scalar]:
    m, k, s = leg.masses, leg.linkage, leg.segments
    rod = lambda mass, length: mass * length**2 / 12.0
    shank = rod(m.CD, k.l_CD) + rod(m.shank, s.shank)
    thigh = m.inertia_thigh + m.inertia_BE
    return [0.0, 0.0, thigh, shank, rod(m.AD, k.l_AD), rod(m.BC, k.l_BC), rod(m.foot, s.foot)]


def matrices(
    leg: Prosthesis, q: Float[Array, " 7"], qd: Float[Array, " 7"], appendix_shank: bool = False
) -> tuple[Float[Array, "7 7"], Float[Array, "7 7"], Float[Array, " 7"]]:
    """M, C and N of equation (13).

    Args:
        leg: the parameters.
        q: coordinates in m and rad, see the module's docstring.
        qd: their rates.
        appendix_shank: whether to drop the shank's mass as in the printed appendix (all terms except ``m_s l_s^2/4`` in
            M44 and the weight in N41), which ignores the acceleration of its upper end. For comparison only.
    """
    table, masses = parts(leg), _masses(leg)
    dtype = q.dtype
    M = jnp.diag(jnp.stack([jnp.asarray(i, dtype) for i in _inertias(leg)]))
    C, N = jnp.zeros((7, 7), dtype), jnp.zeros(7, dtype)
    if appendix_shank:
        m, half = masses.pop("shank"), leg.segments.shank / 2
        M = M.at[3, 3].add(m * half**2)
        N = N.at[3].add(m * leg.gravity * half * jnp.sin(q[3]))
    for name, mass in masses.items():
        J = jacobian(table[name], q)
        M = M + mass * (J.T @ J)
        C = C - mass * (J.T @ vectors(table[name], q).T) * qd[None, :]  # a part'' is -part
        N = N + mass * leg.gravity * J[1]
    return M, C, N


def closure(leg: Prosthesis, q: Float[Array, " 7"]) -> Float[Array, " 2"]:
    """Residual xi of the loop in m (equation 2)."""
    return jnp.sum(vectors(_loop(leg), q), axis=0)


def _loop(leg: Prosthesis) -> list[Part]:
    k = leg.linkage
    return [(2, k.l_AB, k.gamma1), (4, k.l_AD, 0.0), (3, -k.l_CD, k.gamma2), (5, -k.l_BC, 0.0)]


def terms(leg: Prosthesis, q: Float[Array, " 7"], qd: Float[Array, " 7"], baumgarte: Scalar = 0.0) -> Terms:
    """All matrices at a state; `baumgarte` (1/s) damps drift off the loop."""
    M, C, N = matrices(leg, q, qd)
    loop = _loop(leg)
    split = vectors(loop, q)
    Phi = jacobian(loop, q).at[:, :2].set(0.0)
    centripetal = -split.T @ qd**2
    gamma = -centripetal - 2.0 * baumgarte * (Phi @ qd) - baumgarte**2 * jnp.sum(split, axis=0)
    return Terms(M, C, N, Phi, gamma)


class ProsthesisMultipliers(NamedTuple):
    """`Prosthesis` with redundant coordinates and multipliers; same parameters, same motion."""

    leg: Prosthesis
    baumgarte: float = 0.0
    """Decay rate of the closure error in 1/s."""

    def state(self, t: Scalar, y: State) -> MultiplierState:
        """The redundant state of a state of `Prosthesis`."""
        leg = self.leg.leg(t, y)
        thigh, bars = leg.hip.thigh.value, self.leg.linkage.bars
        shank, link = thigh + fourbar.shank_angle(bars, leg.knee), thigh + fourbar.link_angle(leg.knee)
        rates = (leg.shank.rate, leg.link_AD.rate, y.theta_b_rate, y.beta_1_rate)
        return MultiplierState(shank, link, y.theta_b, y.beta_1, *rates)

    def vector_field(self, t: Scalar, y: State) -> State:
        """Time derivative of the state (equations 17 to 22)."""
        qdd, _ = self.accelerations(t, y)
        return MultiplierState(*y[4:], *(qdd[i] for i in range(4)))

    def accelerations(self, t: Scalar, y: State) -> tuple[Float[Array, " 4"], Float[Array, " 2"]]:
        """Accelerations of the response coordinates in rad/s^2 and multipliers in N."""
        q, qd, prescribed = self.coordinates(t, y)
        M, C, N, Phi, gamma = terms(self.leg, q, qd, self.baumgarte)
        n = PRESCRIBED
        force = (self.forces(t, y, q, qd) - C @ qd - N)[n:] - M[n:, :n] @ prescribed
        saddle = jnp.block([[M[n:, n:], -Phi[:, n:].T], [Phi[:, n:], jnp.zeros((2, 2))]])
        found = jnp.linalg.solve(saddle, jnp.concatenate([force, gamma - Phi[:, :n] @ prescribed]))
        return found[:4], found[4:]

    def forces(self, t: Scalar, y: State, q: Array, qd: Array) -> Float[Array, " 7"]:
        """F_e + F_q: ground, lock, cylinder and ankle as generalised forces."""
        leg, table = self.leg, parts(self.leg)
        lock = leg.lock_torque(y.theta_b - q[2], y.theta_b_rate - qd[2])
        _, tau = leg.damper.torque(down(y.theta_a - q[2]), y.theta_a_rate - qd[2], leg.linkage.gamma1)
        target = leg.hip(t).ankle
        ankle = leg.ankle.torque(y.beta_1 - y.alpha_11, y.beta_1_rate - y.alpha_11_rate, target)
        zero = jnp.zeros_like(tau)
        Q = jnp.stack([zero, zero, lock - tau, -ankle, tau, -lock, ankle])
        for foot in ("heel", "toe"):
            J = jacobian(table[foot], q)
            v = J @ qd
            depth = -(q[1] + jnp.sum(vectors(table[foot], q)[:, 1]))
            force, _ = leg.ground.force(depth, -v[1], v[0])
            Q = Q + J.T @ jnp.stack(list(force))
        return Q

    def hip_reaction(self, t: Scalar, y: State) -> Float[Array, " 3"]:
        """Force in N and moment in N m that the hip applies: rows 1 to 3."""
        q, qd, prescribed = self.coordinates(t, y)
        qdd, multipliers = self.accelerations(t, y)
        M, C, N, Phi, _ = terms(self.leg, q, qd)
        full = jnp.concatenate([prescribed, qdd])
        return (M @ full + C @ qd + N - self.forces(t, y, q, qd) - Phi.T @ multipliers)[:PRESCRIBED]

    def coordinates(self, t: Scalar, y: State) -> tuple[Array, Array, Array]:
        """All coordinates, their rates, and the prescribed accelerations."""
        hip = self.leg.hip(t)
        driven = (hip.hip_x, hip.hip_y, hip.thigh)
        q = jnp.stack([*(jnp.asarray(j.value) for j in driven), *y[:4]])
        qd = jnp.stack([*(jnp.asarray(j.rate) for j in driven), *y[4:]])
        return q, qd, jnp.stack([jnp.asarray(j.acceleration) for j in driven])
