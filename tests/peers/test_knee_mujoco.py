"""The four-bar leg against MuJoCo: hinges, one `connect` for the loop, a spatial tendon for the cylinder.

The thigh is held at 1 rad, the foot is far above the ground, the knee lock is off; the leg swings freely for 1 s.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from jaxgait.mechanics import fourbar
from jaxgait.models.prosthesis.leg import KneeState
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.motion.drive import FourierSeries, GaitDrive
from jaxgait.parameters import with_parameters

mujoco = pytest.importorskip("mujoco")

THIGH = 1.0  # rad
SWING = 1.0  # s
STEP = 1e-4  # s; MuJoCo's constraint has twice this time constant
AGREEMENT = 1e-7  # rad; the specification asks for 1e-3


def _still_leg(changes):
    """A leg whose thigh is held at `THIGH`, 10 m above the ground, with no lock and the ankle's rest angle zero."""
    still = lambda value: FourierSeries(value, np.zeros(1), np.zeros(1))
    drive = GaitDrive(1.0, 0.0, still(0.0), still(10.0), still(THIGH), still(0.0), still(0.0))
    return with_parameters(Prosthesis(drive=drive), {"lock.stiffness": 0.0, "lock.damping": 0.0, **changes})


def _mjcf(leg):
    """The leg below the thigh as an MJCF document: x forward, y up, pivot A at the origin."""
    k, s, m, d = leg.linkage, leg.segments, leg.masses, leg.damper
    at = lambda r, angle: f"{r * math.sin(angle)} {-r * math.cos(angle)} 0"  # length along e(angle)
    rod = lambda mass, length, pos: (
        f'<inertial pos="{pos}" mass="{mass}" diaginertia="{" ".join([repr(mass * length**2 / 12)] * 3)}"/>'
    )
    upper = THIGH + k.gamma1 - math.pi  # direction from A to B
    shank_end = f"{-k.l_DF * math.sin(k.gamma2)} {k.l_DF * math.cos(k.gamma2)} 0"
    foot = f"""
        <body pos="0 {-s.shank} 0"><joint name="ankle" axis="0 0 1" stiffness="{leg.ankle.stiffness}"
            damping="{leg.ankle.damping}"/>{rod(m.foot, s.foot, f"{(0.5 - s.ankle) * s.foot} 0 0")}</body>"""
    lower = f"""
      <body pos="0 {-k.l_AD} 0"><joint name="D" axis="0 0 1"/>{rod(m.CD, k.l_CD, at(-k.l_CD / 2, k.gamma2))}
        <site name="C_lower" pos="{at(-k.l_CD, k.gamma2)}"/>
        <body pos="{shank_end}">{rod(m.shank, s.shank, f"0 {-s.shank / 2} 0")}{foot}</body></body>"""
    return f"""
<mujoco><compiler angle="radian"/>
  <option gravity="0 -{leg.gravity} 0" timestep="{STEP}" integrator="RK4" tolerance="1e-14"/>
  <worldbody>
    <site name="G" pos="{at(d.thigh_arm, upper - d.thigh_tilt)}"/>
    <body><joint name="A" axis="0 0 1"/>{rod(m.AD, k.l_AD, f"0 {-k.l_AD / 2} 0")}
      <site name="cylinder" pos="0 {-d.link_arm} 0"/>{lower}</body>
    <body pos="{at(k.l_AB, upper)}"><joint name="B" axis="0 0 1"/>{rod(m.BC, k.l_BC, f"0 {-k.l_BC / 2} 0")}
      <site name="C_link" pos="0 {-k.l_BC} 0"/></body>
  </worldbody>
  <equality><connect site1="C_link" site2="C_lower" solref="{2 * STEP} 1" solimp="0.9999 0.9999 1e-3"/></equality>
  <tendon><spatial stiffness="{d.k}" damping="{d.c}" springlength="{d.rest_length}">
    <site site="G"/><site site="cylinder"/></spatial></tendon>
</mujoco>"""


def _angles(leg, t, y):
    """(theta_a, alpha11, theta_b, beta_1) in rad."""
    knee = fourbar.close(leg.linkage.bars, y.theta_b - THIGH)
    shank = THIGH + fourbar.shank_angle(leg.linkage.bars, knee)
    return jnp.stack([THIGH + fourbar.link_angle(knee), shank, y.theta_b, y.beta_1])


def _swing_here(leg, times):
    field = jax.jit(lambda t, y: jnp.stack(leg.vector_field(t, KneeState(*y))))
    start = jnp.stack(leg.initial_state())
    solution = solve_ivp(field, (0, SWING), start, method="DOP853", rtol=1e-9, atol=1e-10, t_eval=times)
    return np.asarray(jax.vmap(lambda t, y: _angles(leg, t, KneeState(*y)))(jnp.asarray(times), solution.y.T))


def _swing_there(leg, times, start):
    model = mujoco.MjModel.from_xml_string(_mjcf(leg))
    data = mujoco.MjData(model)
    theta_a, shank, theta_b, beta = start
    joint_angles = {"A": theta_a, "D": shank - theta_a, "ankle": beta - shank, "B": theta_b}
    for name, value in joint_angles.items():
        data.joint(name).qpos[0] = value
    rows, gap = [], 0.0
    for t in times:
        while data.time < t - STEP / 2:
            mujoco.mj_step(model, data)
        A, D, ankle, B = (float(data.joint(name).qpos[0]) for name in ("A", "D", "ankle", "B"))
        rows.append([A, A + D, B, A + D + ankle])
        mujoco.mj_forward(model, data)
        gap = max(gap, float(np.linalg.norm(data.site("C_link").xpos - data.site("C_lower").xpos)))
    return np.array(rows), gap


@pytest.mark.parametrize(
    "changes",
    [
        {"damper.k": 2e3, "damper.c": 0.0, "ankle.damping": 0.0},
        {"damper.k": 2e3, "damper.c": 100.0, "ankle.damping": 0.2},
    ],
    ids=["springs", "springs and dampers"],
)
def test_free_swing(changes):
    leg = _still_leg(changes)
    times = np.linspace(0.0, SWING, 21)
    here = _swing_here(leg, times)
    there, gap = _swing_there(leg, times, here[0])
    assert np.ptp(here[:, 1]) > 0.3  # the shank does swing
    assert gap < 1e-8  # m; MuJoCo's loop is nearly closed
    np.testing.assert_allclose(here, there, atol=AGREEMENT)
