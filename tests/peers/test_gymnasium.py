"""The robots of Gymnasium's MuJoCo environments, read from their MJCF files: they accelerate as in MuJoCo."""

import importlib.util
import pathlib

import numpy as np
import pytest

from jaxgait.models.tree import from_mujoco
from tests.compiling import quickly_compiled

mujoco = pytest.importorskip("mujoco")
FOUND = importlib.util.find_spec("gymnasium")
if FOUND is None or FOUND.origin is None:
    pytest.skip("needs gymnasium, whose files these are", allow_module_level=True)
FOLDER = pathlib.Path(FOUND.origin).parent / "envs" / "mujoco" / "assets"

LEGGED = ["hopper", "half_cheetah", "walker2d_v5", "ant", "humanoid"]
LARGE = ["ant", "humanoid", "pusher_v5"]  # (whose equations take longest to compile)
OTHERS = ["inverted_double_pendulum", "reacher", "pusher_v5"]
ROUND = 1e-11  # relative to the largest acceleration: two recursions in double precision
FORCES = mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT  # other laws there than here


def marked(names):
    return [pytest.param(name, marks=pytest.mark.slow if name in LARGE else ()) for name in names]


def moving(robot):
    """The robot high above the ground, its joints within their limits, at random rates and commands."""
    rng, data = np.random.default_rng(0), mujoco.MjData(robot)
    for joint in range(robot.njnt):
        q = data.qpos[robot.jnt_qposadr[joint] :]
        if robot.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
            q[:7] = [0.0, 0.0, 5.0, *rng.normal(size=4)]
        else:
            low, high = robot.jnt_range[joint] if robot.jnt_limited[joint] else (-0.3, 0.3)
            q[0] = low + (high - low) * rng.uniform(0.3, 0.7)
    mujoco.mj_normalizeQuat(robot, data.qpos)
    data.qvel[:], data.ctrl[:] = rng.normal(size=robot.nv), rng.uniform(-0.5, 0.5, size=robot.nu)
    robot.opt.disableflags |= FORCES
    mujoco.mj_forward(robot, data)
    return data


@pytest.mark.parametrize("name", marked(LEGGED + OTHERS))
@pytest.mark.filterwarnings("ignore:this TreeModel has nothing of:UserWarning")
def test_joints_accelerate_as_in_mujoco(name):
    robot = mujoco.MjModel.from_xml_path(str(FOLDER / f"{name}.xml"))
    data = moving(robot)
    model = from_mujoco(robot, data=data)
    found = quickly_compiled(lambda y: model.prepared().vector_field(0.0, y).v)(model.initial_state())
    free = 6 if robot.jnt_type[0] == mujoco.mjtJoint.mjJNT_FREE else 0  # whose accelerations are in other axes there
    np.testing.assert_allclose(found[free:], data.qacc[free:], rtol=0.0, atol=ROUND * np.abs(data.qacc).max())
