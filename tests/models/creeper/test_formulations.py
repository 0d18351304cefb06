"""Spatial operator algebra: the identities of the operators, and the recursions against their global forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import block_diag

from jaxgait.mechanics import spatial
from jaxgait.models.creeper import formulations as soa
from jaxgait.models.creeper.chain import Bearing, CreeperChain
from tests.compiling import quickly_compiled

ROUNDING = 1e-12  # relative to the largest entry
ROUND_TRIP = 1e-9
CHAINS = {
    "four bodies": CreeperChain(),
    "seven bodies": CreeperChain(units=3, bearing=Bearing()),
}


def random_state(tree, seed=0):
    rng = np.random.default_rng(seed)
    q = rng.normal(scale=0.4, size=tree.nq)
    q[3:7] /= np.linalg.norm(q[3:7])
    return jnp.asarray(q), jnp.asarray(rng.normal(size=tree.nv)), jnp.asarray(rng.normal(size=tree.nv))


class LoadedChain:
    """A chain in a random state, under random forces."""

    def __init__(self, chain):
        self.tree = chain.tree()
        self.q, self.v, self.vdot = random_state(self.tree)
        self.n = len(self.tree.names)
        rng = np.random.default_rng(1)
        self.f_ext = jnp.asarray(rng.normal(scale=0.1, size=(self.n, 6)))
        self.f_tip = jnp.asarray(rng.normal(scale=0.1, size=6))


class Case(LoadedChain):
    """With all that most tests compare, from one compiled program."""

    def __init__(self, chain):
        super().__init__(chain)
        tree = self.tree

        @quickly_compiled
        def build(q, v, vdot, f_ext, f_tip):
            def momentum(q, v):
                motion = spatial.kinematics(tree, q, v)
                ops = soa.operators(tree, motion)
                return jnp.einsum("nij,nj->ni", ops.M, ops.V)[:, 3:].sum(axis=0), (motion, ops)

            _, rate, (motion, ops) = jax.jvp(momentum, (q, v), (tree.rate(q, v), vdot), has_aux=True)
            turned = jnp.einsum("nji,nkj->nki", ops.R, f_ext.reshape(-1, 2, 3)).reshape(-1, 6)
            tau = soa.inverse_dynamics(ops, vdot, f_ext, f_tip).tau
            return ops, {
                "momentum_rate": rate,
                "E": soa.E(ops),
                "phi": soa.phi(ops),
                "H": soa.H(ops),
                "M": soa.M(ops),
                "mass_matrix": soa.mass_matrix(ops),
                "inverse": soa.inverse_dynamics(ops, vdot, f_ext),
                "unloaded": soa.inverse_dynamics(ops, vdot, jnp.zeros_like(f_ext)),
                "forward": soa.forward_dynamics(ops, tau, f_ext, f_tip),
                "articulated": soa.articulated(ops, jnp.zeros_like(v), f_ext),
                "flat_v": self.flat(ops, v),
                "flat_vdot": self.flat(ops, vdot),
                "flat_tau": self.flat(ops, soa.inverse_dynamics(ops, vdot, f_ext).tau),
                "tau_of_tree": spatial.inverse_dynamics(tree, motion, vdot, turned[::-1], 0.0),
                "mass_matrix_of_tree": spatial.mass_matrix(tree, motion),
            }

        self.ops, found = build(self.q, self.v, self.vdot, self.f_ext, self.f_tip)
        vars(self).update(jax.device_get(found))

    def flat(self, ops, vector):
        """A joint-space vector tip first, as the global forms want it."""
        rows = ops.split(vector)
        return jnp.concatenate([row[:s] for row, s in zip(rows, ops.sizes, strict=True)])


@pytest.fixture(scope="module", params=list(CHAINS))
def case(request):
    return Case(CHAINS[request.param])


def close(got, wanted, tolerance=ROUNDING):
    scale = float(np.abs(wanted).max())
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=tolerance * max(scale, 1e-30))


def test_shift_of_forces_and_its_dual():
    l, F = np.array([0.1, -0.2, 0.3]), np.array([1.0, 2.0, 3.0, -1.0, 0.5, 2.0])
    shift = np.asarray(soa.rigid_shift(jnp.asarray(l)))
    close(shift @ F, np.concatenate([F[:3] + np.cross(l, F[3:]), F[3:]]))
    close(shift.T @ F, np.concatenate([F[:3], F[3:] + np.cross(F[:3], l)]))


def test_E_is_nilpotent_and_phi_its_resolvent(case):
    power, total = np.eye(6 * case.n), np.zeros((6 * case.n, 6 * case.n))
    for _ in range(case.n):
        total, power = total + power, power @ case.E
    assert float(np.abs(power).max()) == 0.0
    close(case.phi, total)
    close((np.eye(6 * case.n) - case.E) @ case.phi, np.eye(6 * case.n))


def test_global_velocity_is_the_recursion(case):
    V = case.phi.T @ case.H.T @ case.flat_v
    close(V.reshape(case.n, 6), case.ops.V)


def test_global_forces_are_the_recursion(case):
    a, b = (np.asarray(x).reshape(-1) for x in (case.ops.a, case.ops.b))
    alpha = case.phi.T @ (case.H.T @ case.flat_vdot + a)
    f = case.phi @ (case.M @ alpha + b - np.asarray(case.f_ext).reshape(-1))
    close(case.inverse.alpha.reshape(-1), alpha)
    close(case.inverse.f.reshape(-1), f)
    close(case.flat_tau, case.H @ f)


def test_joint_forces_are_mass_matrix_and_bias(case):
    a, b = (np.asarray(x).reshape(-1) for x in (case.ops.a, case.ops.b))
    Mq, H, phi = case.mass_matrix, case.H, case.phi
    bias = H @ phi @ (case.M @ phi.T @ a + b - np.asarray(case.f_ext).reshape(-1))
    close(case.inverse.tau, Mq @ np.asarray(case.vdot) + bias[case.ops.base_first])
    close(Mq, Mq.T)
    assert float(np.linalg.eigvalsh(Mq).min()) > 0.0


def test_forward_dynamics_inverts_inverse_dynamics(case):
    close(case.forward, case.vdot, ROUND_TRIP)


def test_articulated_operators_factor_the_mass_matrix(case):
    """Innovations factorisation: Mq = (I + H phi K) D (I + H phi K)*, K = E G; and that of the inverse."""
    art, sizes = case.articulated, case.ops.sizes
    D = block_diag(*(d[:s, :s] for d, s in zip(art.D, sizes, strict=True)))
    G = block_diag(*(g[:, :s] for g, s in zip(art.G, sizes, strict=True)))
    P = block_diag(*art.P)
    H, E, phi = case.H, case.E, case.phi
    eye = np.eye(H.shape[0])
    K = E @ G
    left = eye + H @ phi @ K
    Mq = H @ phi @ case.M @ phi.T @ H.T
    close(left @ D @ left.T, Mq)
    psi = np.linalg.inv(np.eye(6 * case.n) - E @ (np.eye(6 * case.n) - G @ H))
    right = eye - H @ psi @ K
    close(right @ left, eye, ROUND_TRIP)
    close(right.T @ np.linalg.inv(D) @ right @ Mq, eye, ROUND_TRIP)
    close(D, H @ P @ H.T)


def test_recursions_agree_with_those_of_trees_in_body_axes(case):
    close(case.inverse.tau, case.tau_of_tree)
    close(case.mass_matrix, case.mass_matrix_of_tree)


@pytest.mark.slow
def test_the_chains_drive_force_is_that_of_the_operators():
    """In extension from the bodies ahead of the shaft, in retraction from the base behind it."""
    chain = CreeperChain(manoeuvre="steer")

    @quickly_compiled
    @jax.vmap
    def both(t, extending):
        tree, state = chain.tree(), chain.state_at(t)
        motion = spatial.kinematics(tree, state.q, state.v)
        loads = chain.loads(motion, t, extending)
        inertial = [spatial.to_world_axes(place.R, load) for place, load in zip(motion.world, loads, strict=True)]
        ops = soa.operators(tree, motion)
        f = soa.inverse_dynamics(ops, state.vdot, jnp.stack(inertial[::-1])).f[:, 3:]
        return chain.drive_force(t), ops.R[3].T @ jnp.where(extending, f[2], f[2] - f[3])

    for got, wanted in zip(*both(jnp.array([0.2, 0.8]), jnp.array([True, False])), strict=True):
        close(got, wanted)


def test_total_momentum_changes_by_the_outside_wrench(case):
    """d/dt of the momentum of all bodies, by automatic differentiation along the motion, is the base's force."""
    close(case.momentum_rate, case.unloaded.f[-1, 3:])


def test_a_branched_tree_raises():
    bodies = [spatial.Link(n, p, spatial.hinge((0, 0, 1)), 1.0) for n, p in (("a", None), ("b", "a"), ("c", "a"))]
    tree = spatial.Tree.build(*bodies)
    motion = spatial.kinematics(tree, jnp.zeros(3), jnp.zeros(3))
    with pytest.raises(ValueError, match="serial chain"):
        soa.operators(tree, motion)


@pytest.mark.slow
def test_sixty_four_bodies():
    case = LoadedChain(CreeperChain(units=22))
    assert case.n == 64

    @quickly_compiled
    def dynamics(q, v, vdot, f_ext):
        ops = soa.operators(case.tree, spatial.kinematics(case.tree, q, v))
        tau, bias = (soa.inverse_dynamics(ops, a, f_ext).tau for a in (vdot, 0.0 * vdot))
        return tau - bias, soa.mass_matrix(ops), soa.forward_dynamics(ops, tau, f_ext)

    inertial, mass_matrix, back = jax.device_get(dynamics(case.q, case.v, case.vdot, case.f_ext))
    close(back, case.vdot, 1e-6)  # conditioning grows with the chain
    close(inertial, mass_matrix @ np.asarray(case.vdot))
