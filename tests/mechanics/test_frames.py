"""Orientations and twists in other people's conventions: against SciPy's Rotation and Pinocchio's frames."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxgait import precision
from jaxgait.mechanics import spatial

ROUND = 1e-14  # products of a few sines and cosines
HALF_TURN = 1e-7  # radians short of a half turn, where a quaternion's scalar part vanishes

ROTATIONS = [
    *Rotation.random(20, rng=np.random.default_rng(0)),
    Rotation.identity(),
    *(Rotation.from_rotvec((np.pi - HALF_TURN) * axis) for axis in np.eye(3)),
]


@pytest.fixture(scope="module")
def compiled():
    return jax.jit(spatial.quaternion_of_rotation), jax.jit(spatial.rpy_of_rotation)


@pytest.mark.parametrize("turn", ROTATIONS)
def test_quaternions_and_angles_are_scipys(compiled, turn):
    quaternion, rpy = compiled
    R = jnp.asarray(turn.as_matrix())
    np.testing.assert_allclose(quaternion(R), np.roll(turn.as_quat(canonical=True), 1), atol=ROUND)
    np.testing.assert_allclose(spatial.rotation_of_quaternion(quaternion(R)), R, atol=ROUND)
    np.testing.assert_allclose(rpy(R), turn.as_euler("xyz"), atol=ROUND)
    np.testing.assert_allclose(spatial.rotation_of_rpy(*turn.as_euler("xyz")), R, atol=ROUND)


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2])
def test_upright_bodies_have_a_yaw_and_no_roll(compiled, pitch):
    R = spatial.rotation_of_rpy(0.3, pitch, 0.5)
    found = compiled[1](R)
    assert float(found[0]) == 0.0
    np.testing.assert_allclose(spatial.rotation_of_rpy(*found), R, atol=1e-12)  # cos(pi / 2) is 6e-17


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "atol"), [("float64", 1e-14), ("float32", 1e-6)])
@pytest.mark.parametrize("short", [0.0, 1e-11, 1e-6])
def test_angles_near_an_upright_pitch_give_the_rotation_back(kind, atol, short):
    """Also of a rotation that has been rounded: the small numbers of which roll and yaw follow are inaccurate."""
    with precision.use(kind):
        q = spatial.quaternion_of_rotation(spatial.rotation_of_rpy(0.3, np.pi / 2 - short, -1.1))
        R = spatial.rotation_of_quaternion(q)
        np.testing.assert_allclose(spatial.rotation_of_rpy(*spatial.rpy_of_rotation(R)), R, atol=atol)


def test_derivatives_are_finite_at_every_rotation(compiled):
    R = jnp.asarray(np.stack([turn.as_matrix() for turn in ROTATIONS]))
    assert np.isfinite(jax.vmap(jax.jacfwd(compiled[0]))(R)).all()


def test_twists_in_other_frames_are_pinocchios():
    pin = pytest.importorskip("pinocchio")
    rng = np.random.default_rng(1)
    R, r, twist = ROTATIONS[3].as_matrix(), rng.normal(size=3), jnp.asarray(rng.normal(size=6))
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
    data = model.createData()
    q = np.concatenate([r, ROTATIONS[3].as_quat()])
    linear_first = np.roll(np.asarray(twist), 3)
    pin.forwardKinematics(model, data, q, linear_first)
    aligned, world = (
        np.roll(pin.getVelocity(model, data, joint, frame).vector, 3)
        for frame in (pin.ReferenceFrame.LOCAL_WORLD_ALIGNED, pin.ReferenceFrame.WORLD)
    )
    placement = spatial.Placement(jnp.asarray(R), jnp.asarray(r))
    np.testing.assert_allclose(spatial.to_world_axes(placement.R, twist), aligned, atol=ROUND)
    np.testing.assert_allclose(spatial.to_body_axes(placement.R, jnp.asarray(aligned)), twist, atol=ROUND)
    np.testing.assert_allclose(placement.motion_to_parent(twist), world, atol=10 * ROUND)
    np.testing.assert_allclose(placement.motion_to_child(jnp.asarray(world)), twist, atol=10 * ROUND)
