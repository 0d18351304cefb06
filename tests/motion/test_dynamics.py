"""Inverse dynamics: moments are those of an independent Lagrangian and of OpenSim, and are missing with a reason."""

import dataclasses
import functools
import json
import math
import os
import pathlib
import re
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.mechanics.anthropometry import Segment, segments
from jaxgait.motion.capture.coordinates import leg_angles
from jaxgait.motion.capture.dynamics import (
    JOINTS,
    MOMENTS,
    POWERS,
    SegmentMotion,
    Wrench,
    body_of,
    joint_moments,
    labelled,
    strides_dynamics,
)
from jaxgait.motion.capture.ground import load_of
from jaxgait.motion.capture.leg import Options
from jaxgait.motion.capture.leg_source import leg_of
from jaxgait.motion.capture.tables import stride_curves
from jaxgait.motion.capture.walk import measure
from jaxgait.motion.embedded import gait_record, joint_loads
from jaxgait.motion.norms import GRAVITY
from jaxgait.motion.readers import read_recording
from jaxgait.motion.recording import GroundReaction, Recording, with_forces
from tests.motion import walker
from tests.motion.measured import RAW, needs_raw

BODY = body_of(walker.MASS, walker.THIGH, walker.SHANK)
IN_FOOT = np.array([float(BODY["foot"].com) - 0.06, -0.04])
"""Centre of mass of the foot from the ankle in m, along and above the sole: on the line of the walker's markers."""
RECORD = gait_record("rajagopal_1.26ms")
PERIOD = RECORD["period_T_s"]
STANCE = 0.6 * PERIOD


def _coordinates(t: np.ndarray, order: int = 0) -> np.ndarray:
    """Hip in m, thigh, knee and ankle in rad at some times by the embedded series, or their derivatives."""
    h = np.arange(1.0, 9.0)
    w = 2 * math.pi * h / PERIOD
    phase = np.outer(t, w) + order * math.pi / 2
    waves = lambda s: (np.cos(phase) * w**order) @ np.array(s["a"]) + (np.sin(phase) * w**order) @ np.array(s["b"])
    names = ("hip_x_m", "hip_y_m", "thigh_rad", "knee_rad", "ankle_rad")
    q = np.stack([waves(RECORD["signals"][k]) for k in names], axis=1)
    q += np.array([RECORD["signals"][k]["a0"] for k in names]) if order == 0 else 0.0
    q[:, 0] += RECORD["speed_m_s"] * (t if order == 0 else float(order == 1))
    return q


def _points(q):
    """Hip, knee, ankle and centres of mass in m, and the segments' angles, from the coordinates."""
    along = lambda a: jnp.stack([jnp.sin(a), -jnp.cos(a)])
    angles = {"thigh": q[2], "shank": q[2] - q[3], "foot": q[2] - q[3] + q[4]}
    knee = q[:2] + walker.THIGH * along(q[2])
    ankle = knee + walker.SHANK * along(angles["shank"])
    c, s = jnp.cos(angles["foot"]), jnp.sin(angles["foot"])
    centres = {"thigh": q[:2] + BODY["thigh"].com * along(q[2])}
    centres |= {"shank": knee + BODY["shank"].com * along(angles["shank"])}
    centres |= {"foot": ankle + jnp.stack([c * IN_FOOT[0] - s * IN_FOOT[1], s * IN_FOOT[0] + c * IN_FOOT[1]])}
    return {"hip": q[:2], "knee": knee, "ankle": ankle}, centres, angles


def _ground(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ground reaction in N at some times, and its centre of pressure in m."""
    share = (t % PERIOD) / STANCE
    there = np.where(share < 1, np.sin(np.pi * np.minimum(share, 1.0)) ** 2, 0.0)
    start = RECORD["speed_m_s"] * (t - t % PERIOD) + 0.30
    return np.stack([-150.0 * np.cos(np.pi * share), 800.0 + 0 * t], axis=1) * there[:, None], start + 0.2 * share


def _lagrangian(q, rate):
    (_, moving, turning) = jax.jvp(_points, (q,), (rate,))[1]
    kinetic = sum(0.5 * p.mass * moving[k] @ moving[k] + 0.5 * p.transverse * turning[k] ** 2 for k, p in BODY.items())
    return kinetic - sum(p.mass * GRAVITY * _points(q)[1][k][1] for k, p in BODY.items())


def _by_lagrange(q, rate, acceleration, force, about):
    """Moments of hip, knee and ankle in Nm at one instant: Lagrange's equations, differentiated automatically."""
    inertial = jax.jvp(jax.grad(_lagrangian, 1), (q, rate), (rate, acceleration))[1]
    work = jax.grad(lambda q: force @ _points(q)[0]["ankle"] + about * _points(q)[2]["foot"])(q)
    return (inertial - jax.grad(_lagrangian)(q, rate) - work)[2:]


def _accelerations(q, rate, acceleration):
    moved = lambda q, rate: jax.jvp(_points, (q,), (rate,))[1]
    return jax.jvp(moved, (q, rate), (rate, acceleration))[1]


@functools.cache
def _compiled():
    return jax.jit(jax.vmap(_by_lagrange)), jax.jit(jax.vmap(_accelerations)), jax.jit(jax.vmap(_points))


def _about(t: np.ndarray, ankle: np.ndarray) -> np.ndarray:
    force, at = _ground(t)
    return (at - ankle[:, 0]) * force[:, 1] + ankle[:, 1] * force[:, 0]


def _exact(t: np.ndarray) -> np.ndarray:
    """Moments in Nm at 101 times."""
    q = [_coordinates(t, order) for order in range(3)]
    ankle = np.asarray(_compiled()[2](q[0])[0]["ankle"])
    return np.asarray(_compiled()[0](*q, _ground(t)[0], _about(t, ankle)))


def test_moments_are_those_of_lagrange():
    """Newton and Euler from exact accelerations: the same to rounding (required: 1e-6 Nm)."""
    t = np.linspace(0.0, PERIOD, 101)
    q = [_coordinates(t, order) for order in range(3)]
    ends, centres, _ = jax.tree.map(np.asarray, _compiled()[2](q[0]))
    _, moving, spin = jax.tree.map(np.asarray, _compiled()[1](*q))
    pairs = {"thigh": ("hip", "knee"), "shank": ("knee", "ankle"), "foot": ("ankle", "ankle")}
    turning = {k: SegmentMotion(ends[a], ends[b], centres[k], moving[k], spin[k]) for k, (a, b) in pairs.items()}
    found = joint_moments(BODY, turning, Wrench(_ground(t)[0], _about(t, ends["ankle"])))
    exact = _exact(t)
    assert np.abs(exact).max(axis=0).min() > 30
    np.testing.assert_allclose(np.stack([found[j] for j in JOINTS], axis=1), exact, atol=1e-6)


def _recorded(rate: float, point: bool = True) -> Recording:
    w = walker.walker(rate=rate, duration=3.2)
    force, at = _ground(w.time)
    pressed = np.column_stack([force, 0 * w.time])
    lateral = w.markers["RHEE"][:, 2]
    where = np.column_stack([at, 0 * w.time, lateral]) if point else None
    return Recording(
        "walk", "walk.trc", rate, w.time, w.markers, forces=(GroundReaction("plate 1", w.time, pressed, where),)
    )


@pytest.fixture(scope="module")
def walk():
    return measure([_recorded(500.0)], options=Options(cutoff=None), mass=walker.MASS)


def test_a_recorded_walker_gives_its_moments(walk):
    """Within 3 % of the peaks where the force fades (below 5 N there is none), within 0.2 % in most of the stride."""
    found = walk.dynamics
    assert len(found.strides) >= 1 and "joint moments of" in walk.notes[-1]
    for start, stride, curves in zip(found.starts, walk.kept, found.strides, strict=False):
        times = np.linspace(start, start + stride.period, 101)
        exact = _exact(times) / walker.MASS
        for i, name in enumerate(MOMENTS):
            assert np.median(np.abs(curves[name] - exact[:, i])) < 2e-3 * np.abs(exact[:, i]).max()
            np.testing.assert_allclose(curves[name], exact[:, i], atol=0.03 * np.abs(exact[:, i]).max())
        knee = _coordinates(times, 1)[:, 3]
        limit = 0.03 * np.abs(exact[:, 1] * knee).max()
        np.testing.assert_allclose(curves["knee_power_W_kg"], exact[:, 1] * knee, atol=limit)


def test_powers_do_the_work_that_the_leg_does(walk):
    """Their signs: an ankle that plantar-flexes under a plantar-flexing moment gives energy."""
    mean = walk.dynamics.mean
    given = (mean["ankle_moment_Nm_kg"] < 0) & (np.gradient(walk.mean["ankle_rad"]) < -1e-3)
    assert given.sum() > 5 and np.all(mean["ankle_power_W_kg"][given] > 0)


def test_the_signs_of_the_moments_of_a_person_who_stands_still(walk):
    """By hand: 400 N upward, 0.10 m ahead of the ankle of a vertical leg, less the weight of the foot at its arm.

    The calf plantar-flexes the ankle (-), the knee is kept from overextending (flexion, +), the hip extends (-).
    """
    leg, time = walk.legs[0], walk.legs[0].recording.time
    still = lambda x, y: np.tile([x, y], (time.size, 1))
    points = {"knee": still(0.0, 0.5), "ankle": still(0.0, 0.08), "heel": still(-0.05, 0.03), "toe": still(0.15, 0.03)}
    upright = {"hip": still(0.0, 0.92), "thigh": 0.0 * time, "shank": 0.0 * time, "foot": 0.0 * time}
    upright |= {"own_foot": np.zeros((time.size, 3)), "other_foot": None}
    plate = GroundReaction(
        "plate 1", time, np.tile([0.0, 400.0, 0.0], (time.size, 1)), np.tile([0.1, 0.0, 0.0], (time.size, 1))
    )
    recording = dataclasses.replace(leg.recording, forces=(plate,))
    standing = dataclasses.replace(leg, recording=recording, points=points, **upright)
    load = load_of(standing)
    (found,) = strides_dynamics(standing, load, walk.kept[:1], BODY, walker.MASS)
    foot = float(BODY["foot"].mass) * GRAVITY * (float(BODY["foot"].com) - 0.05)
    turned = (400.0 * 0.10 - foot) / walker.MASS
    assert turned == pytest.approx(0.56, abs=0.01)  # Nm/kg
    for joint, sign in (("ankle", -1.0), ("knee", 1.0), ("hip", -1.0)):
        np.testing.assert_allclose(found[f"{joint}_moment_Nm_kg"], sign * turned, atol=1e-9)


def test_moments_are_labelled(walk):
    data = labelled(walk.dynamics)
    assert data.moment.dims == ("joint", "percent") and data.stride_power.dims == ("stride", "joint", "percent")
    assert (data.moment.units, data.power.units, data.stride.units) == ("N m/kg", "W/kg", "s")
    knee = data.moment.sel(joint="knee")
    np.testing.assert_allclose(knee, walk.dynamics.mean["knee_moment_Nm_kg"])
    assert float(knee.max()) == pytest.approx(walk.dynamics.peaks["knee_moment_Nm_kg"][1])
    assert set(walk.dynamics.mean) == {*MOMENTS, *POWERS}


def test_strides_of_two_trials_at_the_same_times_have_their_own_moments():
    one = _recorded(100.0)
    half = tuple(plate._replace(force=0.5 * plate.force) for plate in one.forces)
    sway = 1e-4 * np.sin(np.arange(one.time.size))[:, None]
    other = dataclasses.replace(one, name="light", markers={k: x + sway for k, x in one.markers.items()}, forces=half)
    options = Options(cutoff=None)
    both = measure([one, other], options=options, mass=walker.MASS)
    curves, data = stride_curves(both), labelled(both.dynamics)
    assert set(data.trial.values) == {"walk", "light"}
    for trial in (one, other):
        alone = stride_curves(measure([trial], options=options, mass=walker.MASS))
        own = curves.ankle_moment[curves.trial == trial.name]
        np.testing.assert_allclose(own, alone.ankle_moment, atol=0.02)


@pytest.mark.parametrize(
    ("changes", "mass", "reason"),
    [
        ({"forces": ()}, 70.0, "no ground forces were recorded"),
        ({}, None, r"the mass is not known \(give --mass\)"),
        ({"forces": _recorded(100.0, point=False).forces}, 70.0, "the centre of pressure .* is not known"),
    ],
)
def test_moments_are_missing_with_a_reason(changes, mass, reason):
    walk = measure([dataclasses.replace(_recorded(100.0), **changes)], mass=mass)
    assert walk.dynamics is None
    assert any(re.search(f"no joint moments: .*{reason}", note) for note in walk.notes)


def test_moments_about_joints_that_were_not_measured_are_warned_of():
    """Of a person whose hip is 10 % lower than that of the table, the moment of the ankle is wrong by 0.3 Nm/kg."""
    trial = _recorded(100.0)
    leg = leg_of(trial, "right", Options(cutoff=None))
    angles = leg_angles(*leg.hip.T, leg.thigh, leg.thigh - leg.shank, leg.foot - leg.shank)
    solved = measure([dataclasses.replace(trial, markers={}, angles=angles)], mass=walker.MASS)
    said = "joint moments are about joints of generic segment lengths, which were not measured"
    assert solved.dynamics is not None and sum(said in line for line in solved.warnings) == 1
    assert not [line for line in measure([trial], mass=walker.MASS).warnings if said in line]


def test_a_wrong_mass_is_warned_of():
    walk = measure([_recorded(100.0)], mass=15.0)
    assert any("ankle moment is lowest at" in line and "check mass" in line for line in walk.warnings)


def test_the_body_is_that_of_de_leva():
    """A man of the table's size has its foot, and lengths of one's own scale inertia by their squares."""
    man = segments(80.0, 1.741)
    body = body_of(80.0, 0.4222, 0.4340)
    for name in ("thigh", "shank", "foot"):
        np.testing.assert_allclose(np.array(body[name], float), np.array(man[name], float), rtol=1e-12)
    longer = body_of(80.0, 2 * 0.4222, 0.4340)["thigh"]
    assert longer.transverse == pytest.approx(4 * man["thigh"].transverse) and isinstance(longer, Segment)


# --- measured walks ---------------------------------------------------------------------------------------------------


def _measured(mass: float):
    markers = read_recording(RAW / "rajagopal_markers_walk.trc")
    return measure([with_forces(markers, read_recording(RAW / "rajagopal_grf_walk.mot"))], mass=mass)


@needs_raw
def test_embedded_moments_are_reproduced():
    walk = _measured(85.07)
    for name, curve in joint_loads()["rajagopal_1.26ms"].items():  # stored to 0.001
        np.testing.assert_allclose(walk.dynamics.mean[name], curve, atol=5.2e-4)
    assert walk.dynamics.body["thigh"].length == walk.segments["thigh_m"]


OPENSIM = pathlib.Path(__file__).with_name("by_opensim.py")


@needs_raw
def test_moments_are_those_of_opensim(tmp_path):
    """Its inverse dynamics tool on a planar leg of rigid segments that moves as measured, under the measured force.

    From the same rigid leg ours, whose force is averaged over 10 ms, are within 4 % of the peaks everywhere; from the
    measured joint centres, whose distances vary by some mm along the stride, within 5 % (rms, and in the peaks).
    """
    walk = _measured(85.07)
    leg = walk.legs[0]
    rigid, coordinates, in_foot = _rigid(leg, walk.dynamics.body)
    plate = next(p for p in leg.recording.forces if "_r" in p.name)
    task = {
        "time": leg.recording.time.tolist(),
        "coordinates": coordinates.tolist(),
        "lengths": [walk.segments["thigh_m"], walk.segments["shank_m"]],
        "body": {k: [float(s.mass), float(s.com), float(s.transverse)] for k, s in walk.dynamics.body.items()},
        "foot": in_foot.tolist(),
        "force_time": plate.time.tolist(),
        "force": np.column_stack([plate.force, np.nan_to_num(plate.point) * [1, 0, 0]]).tolist(),
    }
    theirs, stride = _by_opensim(task, tmp_path), walk.kept[0]
    load = load_of(rigid)
    (same,) = strides_dynamics(rigid, load, [stride], walk.dynamics.body, 85.07)
    times = np.linspace(stride.start, stride.start + stride.period, 101)
    for joint, sign in zip(JOINTS, (1, -1, 1), strict=True):
        peer = sign * np.interp(times, theirs["time"], theirs[joint]) / 85.07
        name, peak = f"{joint}_moment_Nm_kg", np.abs(peer).max()
        assert np.abs(same[name] - peer).max() < 0.04 * peak
        ours = walk.dynamics.mean[name]
        assert np.sqrt(np.mean((ours - peer) ** 2)) < 0.05 * peak
        assert np.abs(ours).max() == pytest.approx(peak, rel=0.05)


def _rigid(leg, body):
    """The leg with segments of their mean lengths, its coordinates as OpenSim's model has them, and where in the foot
    the centre of mass is."""
    thigh, shank, foot = np.unwrap(np.stack([leg.thigh, leg.shank, leg.foot]), axis=1)
    along = lambda a: np.stack([np.sin(a), -np.cos(a)], axis=1)
    knee = leg.hip + float(body["thigh"].length) * along(thigh)
    ankle = knee + float(body["shank"].length) * along(shank)
    ahead, up = np.stack([np.cos(foot), np.sin(foot)], axis=1), np.stack([-np.sin(foot), np.cos(foot)], axis=1)
    back = leg.points["heel"] - leg.points["ankle"]
    at = np.array([np.nanmean(np.sum(back * axis, axis=1)) for axis in (ahead, up)])
    heel = ankle + at[0] * ahead + at[1] * up
    points = {"knee": knee, "ankle": ankle, "heel": heel, "toe": heel + 0.2 * ahead}
    coordinates = np.column_stack([thigh, leg.hip, shank - thigh, foot - shank])
    return dataclasses.replace(leg, points=points), coordinates, at + np.array([float(body["foot"].com), 0.0])


def _by_opensim(task: dict, folder: pathlib.Path) -> dict:
    """Moments in Nm by OpenSim, in a process of its own; skips where it is not."""
    (folder / "task.json").write_text(json.dumps(task))
    command = [os.environ.get("JAXGAIT_OPENSIM_PYTHON", sys.executable), str(OPENSIM)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=200, check=False)
    if "No module named 'opensim'" in done.stderr:
        pytest.skip("opensim is not installed (JAXGAIT_OPENSIM_PYTHON names a Python that has it)")
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads((folder / "moments.json").read_text())
