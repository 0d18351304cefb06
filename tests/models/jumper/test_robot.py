"""The four-bar robot: the planar jumper's equations against spatial recursions with the same bars."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import precision
from jaxgait.mechanics import spatial
from jaxgait.models.jumper.planar import JumperState
from jaxgait.models.jumper.robot import JumpingRobot
from jaxgait.parameters import ParameterError, with_parameters


@pytest.mark.slow
def test_base_accelerations_and_joint_moments_are_those_of_the_spatial_tree():
    robot = precision.cast(JumpingRobot())
    tree = spatial.Tree.build(*robot.links())
    y = JumperState(*(jnp.asarray(x) for x in (0.1, 0.047, 0.03, 0.2, -0.1, 0.5)), 1e-4 * jnp.ones(5))

    @jax.jit
    def both(t):
        turns, contact = robot.joint_turns(t), robot.contact(y)
        q, v, a = (jnp.stack([turn[k] for turn in turns]) for k in range(3))
        base = jnp.stack([jnp.stack([y.x, y.z, y.pitch]), jnp.stack([y.vx, y.vz, y.spin])])
        motion = spatial.kinematics(tree, jnp.concatenate([base[0], q]), jnp.concatenate([base[1], v]))
        force = 4.0 * jnp.stack([contact.studs.tangential[:, 0], 0.0 * contact.position, contact.studs.normal], axis=1)
        points = jnp.stack([contact.position, 0.0 * contact.position, 0.0 * contact.position], axis=1)
        wrenches = spatial.point_wrenches(motion, spatial.Points((0,) * 5, points), points, force)
        driven = [False] * 3 + [True] * 3
        found = spatial.hybrid_dynamics(
            tree, motion, jnp.concatenate([jnp.zeros(3), a]), jnp.zeros(6), driven, wrenches, robot.gravity
        )
        return robot.vector_field(t, y), robot.outputs(t, y)["moment"], found

    rates, moment, found = both(0.23)
    np.testing.assert_allclose([rates.vx, rates.vz, rates.spin], found.vdot[:3], rtol=1e-10)
    np.testing.assert_allclose(moment, found.tau[3:], rtol=1e-9)


@pytest.mark.slow
def test_impossible_robots_raise():
    with pytest.raises(ParameterError, match=r"hip swings to .* beyond its limits"):
        with_parameters(JumpingRobot(), {"hip.angle": 2.0}).validate()
