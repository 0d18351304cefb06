"""Springs, rotors, stops and motors from MJCF: they accelerate joints as in MuJoCo, and the rest is named."""

import pytest

from jaxgait import simulate
from jaxgait.models.tree import Limits, Motor, Rotor, Stop, from_mujoco

mujoco = pytest.importorskip("mujoco")

DRIVEN = """<mujoco><compiler angle="radian"/><worldbody>
  <body name="thigh"><joint name="hip" axis="0 1 0" ref=".2" armature=".3" range="-1 2" margin=".01"/>
    <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".04" mass="3"/>
    <body name="shank" pos="0 0 -.4"><joint name="knee" axis="0 1 0" actuatorfrcrange="-3 4"/>
      <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".04" mass="2"/>
      <body name="foot" pos="0 0 -.4"><joint name="ankle" type="ball" armature=".2" range="0 1" damping="1"/>
        <geom size=".05" mass=".5"/></body></body></body>
  </worldbody><actuator>
  <position name="thigh_rotor" joint="hip" kp="30" kv="2" gear="-2" forcerange="-4 5" ctrlrange="-1 1"/>
  <motor name="push" joint="knee" gear="20" forcerange="-.1 .25" forcelimited="true"/>
  {more}
  </actuator><keyframe><key name="go" ctrl="3 .1 {controls}"/></keyframe></mujoco>"""
SEVERAL = '<motor name="pull" joint="knee"/><motor joint="ankle" gear="1 0 0"/><intvelocity joint="hip" kp="2"/>'

STOPPED = """<mujoco><compiler angle="radian"/><option timestep="5e-4"/><worldbody>
  <body pos="0 0 1"><joint name="hip" axis="0 1 0" range=".5 1.8" {}/>
    <geom type="capsule" fromto="0 0 0 0 0 -.5" size=".02" mass="1.5" contype="0" conaffinity="0"/></body>
  </worldbody><keyframe><key name="raised" qpos="1.2"/></keyframe></mujoco>"""


def driven(more="", controls=""):
    there = mujoco.MjModel.from_xml_string(DRIVEN.format(more=more, controls=controls))
    return from_mujoco(there, key="go").drives


@pytest.mark.filterwarnings("ignore:this TreeModel has nothing:UserWarning")
def test_motors_have_the_commands_of_the_keyframe_and_the_limits_of_motor_and_joint():
    drives = driven()
    assert [*drives] == ["thigh_rotor", "thigh_stop", "thigh_rotor_motor", "push"]
    stop, servo, push = (drives[name] for name in ("thigh_stop", "thigh_rotor_motor", "push"))
    assert isinstance(stop, Stop) and (stop.lowest, stop.highest) == pytest.approx((-1.19, 1.79))
    assert drives["thigh_rotor"] == Rotor("thigh", 0.3)
    assert servo == Motor("thigh", stiffness=120.0, position=-0.7, damping=8.0, limits=Limits(-10.0, 8.0))
    assert push == Motor("shank", moment=2.0, limits=Limits(-2.0, 4.0))


def test_drives_that_are_left_out_are_counted():
    several = (
        "2 actuators, 1 joint with motors of limited sum, 1 ball joint with limits, 1 ball or free joint with armature"
    )
    with pytest.warns(UserWarning, match=f"in the file: {several}, 1 spring or damper of a ball or free joint$"):
        drives = driven(SEVERAL, "1 0 0")
    assert drives["push"] == Motor("shank", moment=2.0, limits=Limits(-2.0, 5.0))


def test_nonlinear_dampers_of_motors_are_counted():
    pytest.importorskip("mujoco", "4.0")
    with pytest.warns(UserWarning, match="1 nonlinear spring or damper$"):
        driven('<motor joint="hip" damping=".3 .2"/>', "1")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("given", "ratio"),
    [("", 1.19), ('solreflimit="-20000 -200"', 0.90), ('solreflimit=".05 1"', 1.99)],
)
def test_how_deep_a_leg_rests_in_its_stop_and_sinks_into_it_relative_to_mujoco(given, ratio):
    there = mujoco.MjModel.from_xml_string(STOPPED.format(given))
    data, angles = mujoco.MjData(there), []
    mujoco.mj_resetDataKeyframe(there, data, 0)
    for _ in range(2400):
        mujoco.mj_step(there, data)
        angles.append(data.qpos[0])
    with pytest.warns(UserWarning, match="runs start with body1 beyond the ends of their ranges"):
        from_mujoco(there)
    model = from_mujoco(there, key="raised")
    (stop,) = model.drives.values()
    assert isinstance(stop, Stop) and (stop.lowest, stop.highest) == pytest.approx((0.5, 1.8))
    ours = simulate(model, duration=1.2).body1_angle.values
    sunk = 0.5 - min(angles)
    assert 0.2 * sunk < 0.5 - ours.min() < 0.35 * sunk
    assert (0.5 - ours[-1]) / (0.5 - angles[-1]) == pytest.approx(ratio, rel=0.02)


@pytest.mark.filterwarnings("ignore:this TreeModel has nothing:UserWarning")
def test_two_drives_of_one_name_raise():
    where = DRIVEN.replace('<body name="shank"', '<body name="thigh_rotor"').replace(
        '<joint name="knee"', '<joint name="knee" damping="2"'
    )
    with pytest.raises(ValueError, match="two drives would be called 'thigh_rotor': rename a body, joint or actuator"):
        from_mujoco(mujoco.MjModel.from_xml_string(where.format(more="", controls="")))
