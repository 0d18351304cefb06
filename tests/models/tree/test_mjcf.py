"""Trees from MJCF and URDF: they move as MuJoCo moves them, and what is left out is named."""

import re

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.mechanics.contact import KelvinVoigt
from jaxgait.mechanics.friction import Coulomb
from jaxgait.models.tree import TreeState, from_mujoco
from tests.compiling import quickly_compiled

mujoco = pytest.importorskip("mujoco")

SCENE = """<mujoco><compiler angle="radian"/><option gravity="0.5 0 -9.7"/>
<worldbody>
  <geom name="floor" type="plane" size="5 5 .1" pos="0 0 -0.2"/>
  <body name="trunk" pos="0 0 1" quat="1 .1 .2 .3"><freejoint name="root"/>
    <geom type="box" size=".1 .15 .2" mass="8" pos="0.02 0 0.1"/>
    <body name="thigh.l" pos="0 0.1 -.2" euler=".1 .2 .3">
      <joint name="hip x" axis="1 0 0" pos="0 0 .02" damping=".3"/>
      <joint name="hip y" axis="0 1 .2" pos="0 0 .02" stiffness="3" springref=".2" armature=".1" range="-2 2"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".04" mass="3"/>
      <body name="shank" pos="0 0 -.4">
        <joint name="knee" axis="0 1 0" pos="0.01 0 .03" ref=".3" stiffness="2" damping=".1"/>
        <joint name="pylon" type="slide" axis="0 0 1" stiffness="300" damping="2" actuatorfrcrange="-3 4"/>
        <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".03" mass="2"/>
        <body name="foot" pos="0 0 -.45" euler="0 .1 0">
          <joint name="ankle y" axis="0 1 0" pos="0 0 .08"/><joint name="ankle x" axis="1 0 0.5" pos="0 0 .04"/>
          <geom name="sole" type="box" size=".1 .04 .02" pos=".04 0 0" mass="1"/>
          <geom name="heel" type="sphere" size=".03" mass=".1" pos="-.06 0 0"/>
          <geom name="toe" type="ellipsoid" size=".03 .02 .02" mass=".1" pos=".1 0 0"/>
        </body></body></body>
    <body name="arm" pos="0 -.1 .3"><joint name="shoulder" type="ball"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03" mass="1.5" contype="0" conaffinity="0"/>
      <body name="hand" pos=".3 0 0"><geom type="sphere" size=".04" mass=".4"/></body></body></body>
  <body name="pole" pos="1 0 0" euler="0.2 0 0"><geom type="cylinder" size=".1 .5"/>
    <body name="flag" pos="0 0 .5"><joint axis="1 0 0" pos="0 .1 0"/>
      <geom type="box" size=".2 .1 .01" mass=".5"/></body>
  </body>
</worldbody>
<actuator>
  <motor name="belt" joint="hip y" gear="-3" ctrlrange="-1 1"/>
  <position name="servo" joint="knee" kp="30" kv="2" gear="2" forcerange="-4 5"/>
  <position name="piston" joint="pylon" kp="300" kv="7"/>
  <velocity name="spin" joint="hip x" kv="3" gear="2"/>
  <damper name="brake" joint="knee" kv="5" ctrlrange="0 1"/>
  <general name="odd" joint="ankle y" gaintype="affine" gainprm="1 2 3" biastype="affine" biasprm=".1 .2 .3"/>
  <motor name="off" joint="ankle x" group="3" gear="100"/>
  <intvelocity name="integrator" joint="ankle x" kp="2" actrange="-9 9"/>
</actuator><option actuatorgroupdisable="3"/>
<keyframe><key name="home" qpos="0 0 1 1 0 0 0  .1 .2 .5 .01 .1 .1  1 0 0 0  .3"/></keyframe>
</mujoco>"""

LEG = """<mujoco><compiler angle="radian"/><worldbody>
  <body name="leg" pos="0 0 1"><joint name="hip" axis="0 1 0" range="-1 1" limited="{limited}"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.5" size="0.02" mass="1.5"/></body>
  {more}</worldbody>{after}</mujoco>"""

URDF = """<robot name="arm"><link name="base"/>
  <link name="rod"><inertial><origin xyz="0 0 -0.2"/><mass value="2"/>
    <inertia ixx="0.03" iyy="0.03" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/></joint>
  </robot>"""

ROUND = 1e-10  # relative to the largest acceleration: two recursions in double precision


def leg(limited="false", more="", after=""):
    return mujoco.MjModel.from_xml_string(LEG.format(limited=limited, more=more, after=after))


def random_state(there):
    rng, data = np.random.default_rng(0), mujoco.MjData(there)
    data.qpos[:] = 0.4 * rng.normal(size=there.nq) + there.qpos0
    data.qpos[2] += 3.0  # high above the ground
    mujoco.mj_normalizeQuat(there, data.qpos)
    data.qvel[:] = rng.normal(size=there.nv)
    data.ctrl[:] = 2.0 * rng.normal(size=there.nu)
    data.ctrl[-1], data.act[0] = 0.0, data.joint("ankle x").qpos[0]  # the integrator does nothing
    return data


@pytest.mark.filterwarnings("ignore:this TreeModel has nothing:UserWarning")
def test_a_scene_moves_as_in_mujoco():
    """Free and ball joints, anchors, a reference angle, springs, motors, a rotor, a static parent, inclined gravity."""
    there = mujoco.MjModel.from_xml_string(SCENE)
    there.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)  # (the flag touches its pole)
    data = random_state(there)
    model = from_mujoco(there, data=data, normal=KelvinVoigt(), touching=["foot", "hand"])
    y = model.initial_state()
    loads, rates = quickly_compiled(lambda y: (model.loads(0.0, y), model.vector_field(0.0, y)))(y)
    mujoco.mj_forward(there, data)
    turned, w, v = np.reshape(data.xmat[1], (3, 3)), np.array(y.v[:3]), np.array(y.v[3:6])
    ours = np.array(rates.v)
    ours[:6] = [*(turned @ (ours[3:6] + np.cross(w, v))), *ours[:3]]
    np.testing.assert_allclose(ours, data.qacc, atol=ROUND * np.abs(data.qacc).max())
    ground = there.geom("floor").pos[2]
    heel, hand = data.geom("heel").xpos[2] - ground, data.geom_xpos[there.body("hand").geomadr[0]][2] - ground
    depth = dict(zip(model.contacts, np.array(loads.depth), strict=True))
    assert (depth["heel"], depth["hand_geom1"]) == pytest.approx((0.03 - heel, 0.04 - hand), abs=1e-12)
    corner = data.geom("sole").xpos + np.reshape(data.geom("sole").xmat, (3, 3)) @ [0.1, 0.04, 0.02]
    assert depth["sole_8"] == pytest.approx(ground - corner[2], abs=1e-12)


def test_what_is_left_out_is_named_and_names_have_no_dots():
    there = mujoco.MjModel.from_xml_string(SCENE)
    with pytest.warns(UserWarning, match=r"what else .*: 1 actuator, 1 shape that may touch the ground, 1 fixed shape"):
        model = from_mujoco(there, key="home", normal=KelvinVoigt(), touching=["foot", "hand"])
    with pytest.warns(UserWarning, match=r"shapes? that may touch the ground \(give normal= and friction=\)"):
        from_mujoco(there, key="home", touching=["foot", "hand"])
    assert list(model.links) == ["trunk", "thigh_l", "shank", "ankle y", "foot", "arm", "hand", "flag"]
    assert list(model.contacts) == [f"sole_{i}" for i in range(1, 9)] + ["heel", "hand_geom1"]
    assert model.start["trunk.z"] == pytest.approx(1.2) and model.start["shank.turn_y"] == pytest.approx(0.2)
    assert model.slope == pytest.approx(np.arctan2(0.5, 9.7)) and not model.links["ankle y"].mass


GROUND = '<geom name="floor" type="plane" size="1 1 1"/>'


def test_shapes_whose_contact_with_the_ground_is_excluded_do_not_touch_it():
    excluded = '<contact><exclude body1="world" body2="leg"/></contact>'
    assert not from_mujoco(leg(more=GROUND, after=excluded), normal=KelvinVoigt()).contacts
    assert [*from_mujoco(leg(more=GROUND), normal=KelvinVoigt()).contacts] == ["leg_geom1_1", "leg_geom1_2"]


def test_treadmills_and_adhesion_are_counted():
    pytest.importorskip("mujoco", "4.0")
    there = leg(more=GROUND.replace("name=", 'surfacevel="1 0 0" adhesion="9" name='))
    with pytest.warns(UserWarning, match="1 shape whose surface moves, 1 shape with adhesion$"):
        from_mujoco(there, normal=KelvinVoigt())


def test_data_has_the_poses_of_mocap_bodies_and_the_active_constraints():
    crane = """<mujoco><worldbody><body name="crane" mocap="true">
      <body name="load" pos="0 0 -1"><joint axis="0 1 0"/><geom size=".1"/></body></body></worldbody>
      <equality><connect body1="load" body2="world" anchor="0 0 0"/></equality>
      <keyframe><key name="high" mpos="0 0 5"/></keyframe></mujoco>"""
    data = mujoco.MjData(there := mujoco.MjModel.from_xml_string(crane))
    with pytest.raises(ValueError, match=r"1 active equality constraint.*\(`eq_active0`\)"):
        from_mujoco(there, key="high")
    with pytest.raises(ValueError, match=r"1 active equality constraint.*\(`eq_active`\)"):
        from_mujoco(there, data=data)
    data.mocap_pos[:], data.eq_active[:] = [[2.0, 0.0, 3.0]], 0
    assert from_mujoco(there, data=data).links["crane"].offset == (2.0, 0.0, 3.0)
    there.eq_active0[:] = 0
    assert from_mujoco(there, key="high").links["crane"].offset == (0.0, 0.0, 5.0)


def test_a_urdf_swings_as_a_pendulum(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(URDF)
    model = from_mujoco(path)
    assert list(model.links) == ["rod"] and model.links["rod"].mass == 2.0
    rates = model.vector_field(0.0, TreeState(jnp.array([0.3]), jnp.zeros(1)))
    assert float(rates.v[0]) == pytest.approx(-2.0 * 9.81 * 0.2 * np.sin(0.3) / (0.03 + 2.0 * 0.2**2), rel=1e-12)


OTHER = mujoco.MjData(mujoco.MjModel.from_xml_string(SCENE))
BOX = '<geom name="step" type="box" size="1 1 .1"/>'
TWINS = """<body><joint axis="0 1 0"/><geom name="rod" type="capsule" size=".02 .2" mass="1"/>
  <geom name="rod_1" size=".1" mass="1"/></body>"""
MOTOR = '<actuator><motor joint="hip"/></actuator>'
CLOSED = '<equality><joint joint1="hip" polycoef="0 1 0 0 0"/></equality>'


@pytest.mark.parametrize(
    ("given", "options", "wrong"),
    [
        ({"after": CLOSED}, {}, "has 1 active equality constraint, and a TreeModel no loops"),
        (
            {"after": '<option gravity="0 1 -9.81"/>'},
            {},
            "gravity must point down, or down and along x, got (0, 1, -9.81)",
        ),
        ({"more": '<geom type="plane" size="1 1 1" euler="0 .1 0"/>'}, {"normal": KelvinVoigt()}, "is not horizontal"),
        ({}, {"key": "hom"}, "there is no keyframe 'hom': it has none"),
        ({}, {"touching": ["knee"]}, "no body or shape 'knee' may touch the ground"),
        (
            {"more": BOX},
            {"normal": KelvinVoigt()},
            "the ground must be a plane: 'step' is no plane",
        ),
        ({"more": TWINS}, {"normal": KelvinVoigt()}, "two contacts would be called 'rod_1': rename a shape"),
        ({}, {"friction": Coulomb()}, "friction needs normal"),
        ({}, {"data": OTHER}, "data is of another model: it has 18 positions"),
        ({"after": MOTOR}, {"data": mujoco.MjData(leg())}, "data is of another model: it has 0 commands, not 1"),
    ],
)
def test_what_a_tree_cannot_have_raises(given, options, wrong):
    with pytest.raises(ValueError, match=re.escape(wrong)):
        from_mujoco(leg(**given), **options)


def test_files_that_are_none_raise(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        from_mujoco(tmp_path / "robot.xml")
    (tmp_path / "robot.xml").write_text("<mujoco><worldbody><bod/></worldbody></mujoco>")
    with pytest.raises(ValueError, match=r"MuJoCo cannot read .*robot\.xml: .*bod"):
        from_mujoco(tmp_path / "robot.xml")
    with pytest.raises(TypeError, match=r"touching must be a list of names, got 'leg': write \['leg'\]"):
        from_mujoco(leg(), normal=KelvinVoigt(), touching="leg")
    with pytest.raises(TypeError, match=r"source must be a path or a mujoco\.MjModel, got 3"):
        from_mujoco(3)
