"""The creeping robot's chain against Pinocchio and MuJoCo, its axial motion against SciPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from jaxgait.mechanics import spatial
from jaxgait.models.creeper import formulations as soa
from jaxgait.models.creeper.chain import Bearing, CreeperChain
from jaxgait.models.creeper.model import Creeper, CreeperState
from jaxgait.solve.simulate import simulate
from tests.compiling import quickly_compiled

AGREEMENT = 1e-10  # relative to the largest entry


@pytest.fixture(scope="module")
def case():
    tree = CreeperChain(bearing=Bearing()).tree()
    rng = np.random.default_rng(7)
    q = rng.normal(scale=0.5, size=tree.nq)
    q[3:7] /= np.linalg.norm(q[3:7])
    v, vdot = rng.normal(size=(2, tree.nv))

    @quickly_compiled
    def ours(q, v, vdot):
        ops = soa.operators(tree, spatial.kinematics(tree, q, v))
        none = jnp.zeros((len(tree.names), 6))
        tau = soa.inverse_dynamics(ops, vdot, none).tau
        return tau, soa.mass_matrix(ops), soa.forward_dynamics(ops, tau, none)

    return tree, q, v, vdot, *jax.device_get(ours(*map(jnp.asarray, (q, v, vdot))))


def linear_first(vector):
    """Exchanges the halves of the base's twist or wrench."""
    return np.concatenate([vector[..., 3:6], vector[..., :3], vector[..., 6:]], axis=-1)


def close(got, wanted):
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=AGREEMENT * np.abs(wanted).max())


def test_pinocchio(case):
    pin = pytest.importorskip("pinocchio")
    tree, q, v, vdot, tau, M, back = case
    model = pin.Model()
    model.gravity = pin.Motion.Zero()
    last = {}
    for i, name in enumerate(tree.names):
        p = tree.parents[i]
        parent, placement = (
            (0, pin.SE3.Identity()) if p < 0 else (last[p], pin.SE3(np.eye(3), np.array(tree.offset[i])))
        )
        kinds = {
            0: [pin.JointModelFreeFlyer()],
            1: [pin.JointModelPX()],
            2: [pin.JointModelRZ(), pin.JointModelRY()],
            3: [pin.JointModelPX(), pin.JointModelPY()],
        }[i]
        for j, kind in enumerate(kinds):
            parent = model.addJoint(parent, kind, placement, f"{name} {j}")
            placement = pin.SE3.Identity()
        inertia = pin.Inertia(float(tree.mass[i]), np.array(tree.com[i]), np.array(tree.inertia[i]))
        model.appendBodyToJoint(parent, inertia, placement)
        last[i] = parent
    data = model.createData()
    their_q = np.concatenate([q[:3], q[4:7], q[3:4], q[7:]])
    their_v, their_a = linear_first(v), linear_first(vdot)
    close(linear_first(tau), pin.rnea(model, data, their_q, their_v, their_a))
    mass = pin.crba(model, data, their_q)
    mass = np.triu(mass) + np.triu(mass, 1).T
    close(linear_first(linear_first(M).T), mass)
    close(linear_first(back), pin.aba(model, data, their_q, their_v, linear_first(tau)))


def mujoco_model(mujoco, tree):
    joints = [
        "<freejoint/>",
        '<joint type="slide" axis="1 0 0"/>',
        '<joint type="hinge" axis="0 0 1"/><joint type="hinge" axis="0 1 0"/>',
        '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>',
    ]

    def numbers(values):
        return " ".join(f"{x:.17g}" for x in np.asarray(values).ravel())

    text = '<mujoco><option gravity="0 0 0"/><compiler balanceinertia="false" boundmass="0"/><worldbody>'
    for i, joint in enumerate(joints):
        text += (
            f'<body pos="{numbers(tree.offset[i])}">{joint}<inertial pos="{numbers(tree.com[i])}" '
            f'mass="{float(tree.mass[i]):.17g}" diaginertia="{numbers(np.diag(tree.inertia[i]))}"/>'
        )
    return mujoco.MjModel.from_xml_string(text + "</body>" * len(joints) + "</worldbody></mujoco>")


def test_mujoco(case):
    mujoco = pytest.importorskip("mujoco")
    tree, q, _, _, _, M, _ = case
    model = mujoco_model(mujoco, tree)
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass) if _takes_data(mujoco) else mujoco.mj_fullM(model, mass, data.qM)
    turn = np.array(spatial.rotation_of_quaternion(jnp.asarray(q[3:7])))
    base = np.eye(tree.nv)
    base[:3, :3] = turn  # their linear velocity of the base is in world axes, ours in body axes
    close(linear_first(linear_first(M).T), base.T @ mass @ base)


def _takes_data(mujoco):
    """Newer versions of MuJoCo pass the data instead of its sparse mass matrix."""
    return "qM" not in dir(mujoco.MjData)


@pytest.mark.slow
def test_scipy_follows_the_axial_motion():
    robot = Creeper()
    field = jax.jit(lambda t, y: jnp.stack(robot.vector_field(t, CreeperState(*y))))
    peer = solve_ivp(
        lambda t, y: np.asarray(field(t, y)),
        (0.0, 0.6),
        np.zeros(4),
        method="LSODA",
        rtol=1e-8,
        atol=1e-12,
        max_step=1e-3,
    )
    ours = simulate(robot, duration=0.6, samples=10)
    np.testing.assert_allclose(ours.x[-1], peer.y[0, -1], atol=1e-7)
    np.testing.assert_allclose(ours.z_front[-1], peer.y[2, -1], atol=1e-7)
