"""The ground's slope follows from where the foot stands: tilted axes are levelled, ramps are named."""

import dataclasses

import numpy as np
import pytest

from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.leg import Options
from jaxgait.motion.capture.walk import measure, measure_both
from jaxgait.motion.readers import read_recording
from jaxgait.motion.recording import GroundReaction, Recording
from tests.motion import walker
from tests.motion.measured import RAW, needs_raw

W = walker.walker(duration=6.0)
EXACT = Options(cutoff=None)
ANGLES = ("thigh_rad", "knee_rad", "ankle_rad")


def uphill(slope: float) -> np.ndarray:
    """Turns rows of forward, up and right in m, so that a level ground rises by a slope in rad."""
    c, s = np.cos(slope), np.sin(slope)
    return np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])


def sloped(slope: float, w: walker.Walker = W, **changes) -> Recording:
    markers = {k: x @ uphill(slope) for k, x in w.markers.items()}
    return Recording("walk", "walk.trc", w.rate, w.time, markers=markers, **changes)


LEVEL = measure([sloped(0.0)], options=EXACT)


@pytest.mark.parametrize("slope", [np.radians(0.5), np.radians(-1.0)])
def test_tilted_axes_are_levelled_with_a_note(slope):
    walk = measure([sloped(slope)], options=EXACT)
    assert len(walk.kept) == len(LEVEL.kept) and walk.warnings == LEVEL.warnings
    np.testing.assert_allclose(walk.mean["hip_y_m"], LEVEL.mean["hip_y_m"], atol=2e-3)
    for name in ANGLES:
        np.testing.assert_allclose(walk.mean[name], LEVEL.mean[name], atol=2e-3)
    word = "rises" if slope > 0 else "falls"
    assert any(f"the ground {word} by {abs(np.degrees(slope)):.1f} deg along the path" in x for x in walk.notes)


@pytest.mark.parametrize("slope", [0.1, -0.1])
def test_a_ramp_is_named_and_heights_are_from_its_ground(slope):
    walk = measure([sloped(slope)], options=EXACT)
    assert len(walk.kept) == len(LEVEL.kept)
    assert any("by 5.7 deg along the path, a ramp or stairs" in line for line in walk.warnings)
    level, found = (x.mean["hip_y_m"] - x.segments["ankle_height_m"] for x in (LEVEL, walk))
    np.testing.assert_allclose(found, level, atol=2e-3)  # the floor is found from markers, to a centimetre
    np.testing.assert_allclose(walk.mean["thigh_rad"], LEVEL.mean["thigh_rad"], atol=2e-3)
    assert walk.speed == pytest.approx(LEVEL.speed, rel=2e-3)


def test_a_level_ground_is_left_alone():
    assert not any("the ground" in line for line in (*LEVEL.notes, *LEVEL.warnings))
    belt = walker.walker(treadmill=True)
    assert not any("the ground" in x for x in measure([sloped(0.0, belt)], options=EXACT).warnings)


@needs_raw
def test_an_inclined_belt_is_found_by_the_path_of_the_standing_foot():
    trial = dataclasses.replace(read_recording(RAW / "gatk_rawdata.txt"), forces=())
    turned = {k: x @ uphill(0.1) for k, x in trial.markers.items()}
    level, inclined = measure([trial]), measure([dataclasses.replace(trial, markers=turned)])
    assert any("a ramp or stairs" in line for line in inclined.warnings)
    assert not any("a ramp or stairs" in line for line in level.warnings)
    for name in ANGLES:
        np.testing.assert_allclose(inclined.mean[name], level.mean[name], atol=0.02)


def test_gravity_leans_on_a_ramp():
    """With the same motion and force seen from the ground, only the weights of the segments turn by the slope."""
    time, force, point = walker.pressed(W)
    plates = lambda slope: (GroundReaction("plate", time, force @ uphill(slope), point @ uphill(slope)),)
    level, ramp = (measure([sloped(x, forces=plates(x))], options=EXACT, mass=walker.MASS) for x in (0.0, 0.1))
    assert level.dynamics and ramp.dynamics
    turned = ramp.dynamics.mean["hip_moment_Nm_kg"] - level.dynamics.mean["hip_moment_Nm_kg"]
    share, arm = sum(float(part.mass) for part in ramp.dynamics.body.values()) / walker.MASS, 0.3  # m
    assert np.mean(turned) == pytest.approx(share * 9.81 * np.sin(0.1) * arm, rel=0.3)


def test_a_leg_in_the_air_does_not_stand():
    """It swings about a hip at rest, next to the other leg that stands still."""
    time, swing = W.time, np.radians(25) * np.sin(2 * np.pi * W.time / 1.2)
    still = {k: np.repeat(x[:1], time.size, axis=0) for k, x in W.markers.items()}
    hip = W.hip[0]
    turn = np.stack([np.stack([np.cos(swing), -np.sin(swing)]), np.stack([np.sin(swing), np.cos(swing)])])
    moving = dict(still)
    for name in ("RKNE", "RKNEM", "RANK", "RANKM", "RHEE", "RTOE"):
        arm = np.array([0.0, W.markers[name][0, 1] - hip[1]]) + (np.array([0.14, 0.0]) if name == "RTOE" else 0.0)
        moving[name] = np.column_stack([(hip + np.einsum("ijt,j->ti", turn, arm)), still[name][:, 2]])
    walk = measure([Recording("swing", "swing.trc", W.rate, time, markers=moving)])
    assert any("the right foot does not stand where it should" in line for line in walk.warnings)


def test_the_stride_time_is_from_heel_strike_to_heel_strike():
    """A single stride ends where it repeats best, which is its period."""
    w = walker.walker(duration=2.6, seed=3)
    (stride,) = (walk := measure([sloped(0.0, w)])).kept
    assert walk.stride_time == pytest.approx(np.diff(walk.events[0].strikes)[0], abs=1e-9)
    assert walk.period - walk.stride_time == pytest.approx(stride.moved) != 0.0
    assert LEVEL.stride_time == LEVEL.period


def test_a_marker_of_the_pelvis_that_is_never_seen_is_an_error_about_the_trial():
    markers = W.markers | {"RPSI": np.full_like(W.markers["RPSI"], np.nan)}
    with pytest.raises(MotionFormatError, match=r"no right leg: hip \(ASIS and .*; never seen: RPSI"):
        measure([Recording("walk", "walk.trc", W.rate, W.time, markers=markers)], options=EXACT)


def test_a_ramp_turns_both_legs_of_a_short_trial():
    """Only the left foot has two footholds."""
    both = measure_both([sloped(0.1, walker.walker(duration=2.6))], options=EXACT)
    for walk in both.values():
        assert any("by 5.7 deg along the path, a ramp or stairs" in line for line in walk.warnings)
        np.testing.assert_allclose(walk.mean["thigh_rad"].mean(), LEVEL.mean["thigh_rad"].mean(), atol=2e-3)


def test_slopes_of_several_trials_are_one_warning():
    trials = [dataclasses.replace(sloped(x), name=f"at {x}") for x in (0.1, 0.103)]
    walk = measure(trials, options=EXACT)
    (line,) = [x for x in walk.warnings if "the ground" in x]
    assert line.startswith("the ground rises by 5.7 deg") and line.endswith("(likewise in 1 more trial)")


def test_trials_too_short_to_show_a_tilt_have_that_of_the_others():
    lengths = {"short": 2.6, "long": 5.0}  # s
    trials = [
        dataclasses.replace(sloped(np.radians(0.5), walker.walker(duration=t)), name=n) for n, t in lengths.items()
    ]
    walk = measure(trials, options=EXACT)
    heights = [s.signals["hip_y_m"].mean() for s in walk.kept]
    assert {s.trial for s in walk.kept} == set(lengths) and np.ptp(heights) < 2e-3
