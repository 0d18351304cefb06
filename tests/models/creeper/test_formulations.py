"""Spatial operator algebra: the identities of the operators, and the recursions against their global forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.linalg import block_diag

from jaxgait.mechanics import spatial
from jaxgait.models.creeper import formulations as soa
from jaxgait.models.creeper.chain import Bearing, CreeperChain

ROUNDING = 1e-12  # relative to the largest entry
ROUND_TRIP = 1e-9
CHAINS = {
    "four bodies": CreeperChain(),
    "ten bodies": CreeperChain(units=4, bearing=Bearing()),
}


def random_state(tree, seed=0):
    rng = np.random.default_rng(seed)
    q = rng.normal(scale=0.4, size=tree.nq)
    q[3:7] /= np.linalg.norm(q[3:7])
    return jnp.asarray(q), jnp.asarray(rng.normal(size=tree.nv)), jnp.asarray(rng.normal(size=tree.nv))


class Case:
    def __init__(self, chain):
        self.tree = chain.tree()
        self.q, self.v, self.vdot = random_state(self.tree)

        @jax.jit
        def build(q, v):
            motion = spatial.kinematics(self.tree, q, v)
            return motion, soa.operators(self.tree, motion)

        self.motion, self.ops = build(self.q, self.v)
        n = len(self.tree.names)
        rng = np.random.default_rng(1)
        self.f_ext = jnp.asarray(rng.normal(scale=0.1, size=(n, 6)))
        self.f_tip = jnp.asarray(rng.normal(scale=0.1, size=6))
        self.n = n

    def flat(self, vector):
        """A joint-space vector tip first, as the global forms want it."""
        rows = self.ops.split(vector)
        return jnp.concatenate([row[:s] for row, s in zip(rows, self.ops.sizes, strict=True)])


@pytest.fixture(scope="module", params=list(CHAINS))
def case(request):
    return Case(CHAINS[request.param])


def close(got, wanted, tolerance=ROUNDING):
    scale = float(jnp.abs(jnp.asarray(wanted)).max())
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=tolerance * max(scale, 1e-30))


def test_shift_of_forces_and_its_dual():
    l, F = jnp.array([0.1, -0.2, 0.3]), jnp.array([1.0, 2.0, 3.0, -1.0, 0.5, 2.0])
    close(soa.rigid_shift(l) @ F, jnp.concatenate([F[:3] + jnp.cross(l, F[3:]), F[3:]]))
    close(soa.rigid_shift(l).T @ F, jnp.concatenate([F[:3], F[3:] + jnp.cross(F[:3], l)]))


def test_E_is_nilpotent_and_phi_its_resolvent(case):
    E, phi = soa.E(case.ops), soa.phi(case.ops)
    power, total = jnp.eye(6 * case.n), jnp.zeros((6 * case.n, 6 * case.n))
    for _ in range(case.n):
        total, power = total + power, power @ E
    assert float(jnp.abs(power).max()) == 0.0
    close(phi, total)
    close((jnp.eye(6 * case.n) - E) @ phi, jnp.eye(6 * case.n))


def test_global_velocity_is_the_recursion(case):
    V = soa.phi(case.ops).T @ soa.H(case.ops).T @ case.flat(case.v)
    close(V.reshape(case.n, 6), case.ops.V)


def test_global_forces_are_the_recursion(case):
    ops = case.ops
    result = soa.inverse_dynamics(ops, case.vdot, case.f_ext)
    H, phi, M = soa.H(ops), soa.phi(ops), soa.M(ops)
    alpha = phi.T @ (H.T @ case.flat(case.vdot) + ops.a.reshape(-1))
    f = phi @ (M @ alpha + ops.b.reshape(-1) - case.f_ext.reshape(-1))
    close(result.alpha.reshape(-1), alpha)
    close(result.f.reshape(-1), f)
    close(case.flat(result.tau), H @ f)


def test_joint_forces_are_mass_matrix_and_bias(case):
    ops = case.ops
    Mq, H, phi = soa.mass_matrix(ops), soa.H(ops), soa.phi(ops)
    bias = H @ phi @ (soa.M(ops) @ phi.T @ ops.a.reshape(-1) + ops.b.reshape(-1) - case.f_ext.reshape(-1))
    tau = soa.inverse_dynamics(ops, case.vdot, case.f_ext).tau
    close(tau, Mq @ case.vdot + bias[ops.base_first])
    close(Mq, Mq.T)
    assert float(jnp.linalg.eigvalsh(Mq).min()) > 0.0


def test_forward_dynamics_inverts_inverse_dynamics(case):
    tau = soa.inverse_dynamics(case.ops, case.vdot, case.f_ext, case.f_tip).tau
    back = jax.jit(soa.forward_dynamics)(case.ops, tau, case.f_ext, case.f_tip)
    close(back, case.vdot, ROUND_TRIP)


def test_articulated_operators_factor_the_mass_matrix(case):
    """Innovations factorisation: Mq = (I + H phi K) D (I + H phi K)*, K = E G; and that of the inverse."""
    ops = case.ops
    art = soa.articulated(ops, jnp.zeros_like(case.v), case.f_ext)
    sizes = ops.sizes
    D = block_diag(*(d[:s, :s] for d, s in zip(art.D, sizes, strict=True)))
    G = block_diag(*(g[:, :s] for g, s in zip(art.G, sizes, strict=True)))
    P = block_diag(*art.P)
    H, E, phi = soa.H(ops), soa.E(ops), soa.phi(ops)
    eye = jnp.eye(H.shape[0])
    K = E @ G
    left = eye + H @ phi @ K
    Mq = H @ phi @ soa.M(ops) @ phi.T @ H.T
    close(left @ D @ left.T, Mq)
    psi = jnp.linalg.inv(jnp.eye(6 * case.n) - E @ (jnp.eye(6 * case.n) - G @ H))
    right = eye - H @ psi @ K
    close(right @ left, eye, ROUND_TRIP)
    close(right.T @ jnp.linalg.inv(D) @ right @ Mq, eye, ROUND_TRIP)
    close(D, H @ P @ H.T)


def test_recursions_agree_with_those_of_trees_in_body_axes(case):
    turned = jnp.einsum("nji,nkj->nki", case.ops.R, case.f_ext.reshape(-1, 2, 3)).reshape(-1, 6)
    args = case.tree, case.motion
    tau = soa.inverse_dynamics(case.ops, case.vdot, case.f_ext).tau
    close(tau, spatial.inverse_dynamics(*args, case.vdot, turned[::-1], 0.0))
    close(soa.mass_matrix(case.ops), spatial.mass_matrix(*args))


@pytest.mark.parametrize("t", [0.2, 0.8])
def test_the_chains_drive_force_is_that_of_the_operators(t):
    """In extension from the bodies ahead of the shaft, in retraction from the base behind it."""
    chain, extending = CreeperChain(manoeuvre="steer"), t < 0.5

    @jax.jit
    def both(t):
        tree, state = chain.tree(), chain.state_at(t)
        motion = spatial.kinematics(tree, state.q, state.v)
        loads = chain.loads(motion, t, jnp.asarray(extending))
        inertial = [spatial.to_world_axes(place.R, load) for place, load in zip(motion.world, loads, strict=True)]
        ops = soa.operators(tree, motion)
        f = soa.inverse_dynamics(ops, state.vdot, jnp.stack(inertial[::-1])).f[:, 3:]
        return chain.drive_force(t), ops.R[3].T @ (f[2] if extending else f[2] - f[3])

    close(*both(jnp.asarray(t)))


def test_total_momentum_changes_by_the_outside_wrench(case):
    """d/dt of the momentum of all bodies, by automatic differentiation along the motion, is the base's force."""
    tree = case.tree

    def momentum(q, v):
        ops = soa.operators(tree, spatial.kinematics(tree, q, v))
        return jnp.einsum("nij,nj->ni", ops.M, ops.V)[:, 3:].sum(axis=0)

    _, rate = jax.jit(lambda q, v, a: jax.jvp(momentum, (q, v), (tree.rate(q, v), a)))(case.q, case.v, case.vdot)
    force = soa.inverse_dynamics(case.ops, case.vdot, jnp.zeros_like(case.f_ext)).f[-1, 3:]
    close(rate, force)


def test_a_branched_tree_raises():
    bodies = [spatial.Link(n, p, spatial.hinge((0, 0, 1)), 1.0) for n, p in (("a", None), ("b", "a"), ("c", "a"))]
    tree = spatial.Tree.build(*bodies)
    motion = spatial.kinematics(tree, jnp.zeros(3), jnp.zeros(3))
    with pytest.raises(ValueError, match="serial chain"):
        soa.operators(tree, motion)


@pytest.mark.slow
def test_sixty_four_bodies():
    case = Case(CreeperChain(units=22))
    assert case.n == 64
    tau = jax.jit(soa.inverse_dynamics)(case.ops, case.vdot, case.f_ext).tau
    back = jax.jit(soa.forward_dynamics)(case.ops, tau, case.f_ext)
    close(back, case.vdot, 1e-6)  # conditioning grows with the chain
    close(
        tau - soa.inverse_dynamics(case.ops, 0.0 * case.vdot, case.f_ext).tau,
        soa.mass_matrix(case.ops) @ case.vdot,
    )
