"""From recordings to strides: a synthetic walker is got back, measured walks are those that were worked out before."""

import dataclasses
import json
import math
import re
import warnings

import jaxtyping
import numpy as np
import pytest

from jaxgait.ensembles import ensemble, people
from jaxgait.models import Prosthesis
from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture import ground, maps
from jaxgait.motion.capture.coordinates import HIP_IN_PELVIS, NAMES, from_angles, leg_angles, with_one_flexion
from jaxgait.motion.capture.joints import hip_centre
from jaxgait.motion.capture.leg import Options
from jaxgait.motion.capture.leg_source import leg_of
from jaxgait.motion.capture.smoothing import fill, lowpass
from jaxgait.motion.capture.walk import measure, walk_stride
from jaxgait.motion.drive import reference_gait, stride_drive, synthetic_recording
from jaxgait.motion.readers import read_recording
from jaxgait.motion.record import walk_record
from jaxgait.motion.recording import GroundReaction, Mark, Recording, with_forces
from jaxgait.motion.stride import embedded_stride, table_stride
from tests.motion import walker
from tests.motion.measured import RAW, needs_raw

EXACT = Options(cutoff=None)


def recording(w: walker.Walker, **changes) -> Recording:
    return Recording("walk", "walk.trc", w.rate, w.time, markers=w.markers, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rate": 200.0}, "column time: the times are not even at 200 Hz, but 0.01 s apart on average; give the rate"),
        ({"rate": -100.0}, "column time: the times are not even at -100 Hz"),
        ({"time": [0.0, 0.02, 0.02]}, "column time: times have to be finite, and to increase"),
        ({"time": [0.0, 0.01, 0.04]}, "column time: the times are not even at 100 Hz"),
        (
            {"markers": {"RASI": np.zeros((2, 3))}},
            r"column RASI: .* of shape \(2, 3\), where numbers of shape \(3, 3\)",
        ),
        ({"angles": {"knee_angle_r": ["a", "b", "c"]}}, "column knee_angle_r: <U1 of shape"),
        ({"forces": (GroundReaction("plate", np.arange(3), np.zeros((3, 2)), None),)}, r"column plate: .*\(3, 3\)"),
        ({"forces": (GroundReaction("plate", [0.2, 0.1], np.zeros((2, 3)), None),)}, "column plate: times have to"),
        ({"forces": (GroundReaction("plate", [0.1], np.zeros((1, 3)), None),)}, "column plate: fewer than two samples"),
    ],
)
def test_what_is_no_recording_is_an_error_when_it_is_made(changes, message, monkeypatch):
    """Such arrays failed later, without a word of which, or were measured at another rate."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # (the types of arguments are checked in tests)
    sound = {"rate": 100.0, "time": [0, 0.01, 0.02], "markers": {"RASI": np.zeros((3, 3), int)}}
    assert Recording("walk", "walk.trc", **sound).markers["RASI"].dtype == float
    with pytest.raises(MotionFormatError, match=f"walk.trc, {message}"):
        Recording("walk", "walk.trc", **(sound | changes))


def test_infinite_numbers_of_a_recording_are_gaps():
    positions, angles = {"RASI": np.array([3 * [np.inf], 3 * [0.0]])}, {"knee": np.array([0.0, -np.inf])}
    found = Recording("walk", "walk.trc", 100.0, np.array([0.0, 0.01]), positions, angles)
    np.testing.assert_array_equal(found.markers["RASI"][:, 0], [np.nan, 0.0])
    np.testing.assert_array_equal(found.angles["knee"], [0.0, np.nan])


@pytest.mark.parametrize("treadmill", [False, True])
@pytest.mark.parametrize("lab", walker.LABS)
def test_planar_angles_of_a_synthetic_walker_are_got_back(lab, treadmill):
    """In any axes of the laboratory, to 1e-6 rad and 1e-6 m; without a low-pass, which takes some of every harmonic."""
    w = walker.walker(treadmill=treadmill)
    leg = leg_of(recording(walker.turned(w, walker.LABS[lab])), "right", EXACT)
    np.testing.assert_allclose(leg.thigh, w.thigh, atol=1e-6)
    np.testing.assert_allclose(leg.thigh - leg.shank, w.knee, atol=1e-6)
    np.testing.assert_allclose(leg.hip[:, 1], w.hip[:, 1], atol=1e-6)
    foot = leg.foot - leg.shank
    np.testing.assert_allclose(foot - np.mean(foot), w.ankle - np.mean(w.ankle), atol=1e-6)
    knee, ankle = leg.points["knee"], leg.points["ankle"]
    np.testing.assert_allclose(np.linalg.norm(knee - leg.hip, axis=1), walker.THIGH, atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(ankle - knee, axis=1), walker.SHANK, atol=1e-9)
    assert any(("treadmill" if treadmill else "overground") in note for note in leg.notes)


@pytest.mark.parametrize("treadmill", [False, True])
def test_a_noisy_walker_is_got_back_to_one_degree(treadmill):
    """1 mm of noise on every marker, the low-pass of 8 Hz, the mean of the strides: 1 degree, 2 mm.

    The speed is within 1 % overground, and 3 % on a belt, where a foot that slips a little tells it.
    """
    w = walker.walker(treadmill=treadmill, duration=7.0, seed=5)
    walk = measure([recording(w)])
    start = np.mean([s.start % w.period for s in walk.kept])
    time = start + np.linspace(0, w.period, 101)
    for name, curve in (("thigh_rad", w.thigh), ("knee_rad", w.knee)):
        truth = np.interp(time % w.period, w.time, curve)
        assert math.degrees(np.sqrt(np.mean((walk.mean[name] - truth) ** 2))) < 1.0
    assert np.sqrt(np.mean((walk.mean["hip_y_m"] - np.interp(time % w.period, w.time, w.hip[:, 1])) ** 2)) < 2e-3
    assert walk.speed == pytest.approx(w.speed, rel=0.03 if treadmill else 0.01)
    assert walk.period == pytest.approx(w.period, rel=2e-3)
    assert len(walk.kept) >= 4 and set(walk.deviation) == set(walk.mean)
    assert (walk.belt > 1.0) == treadmill


@pytest.mark.parametrize(("speed", "overground"), [(0.25, False), (0.4, True), (0.6, True)])
def test_axes_and_strides_agree_on_what_is_overground(speed, overground):
    """0.4 m/s, as after a stroke, was a treadmill to the axes and overground to the strides."""
    w = walker.walker(duration=7.0, treadmill=True)
    shift = np.stack([speed * w.time, 0.0 * w.time, 0.0 * w.time], axis=1)
    trial = recording(dataclasses.replace(w, markers={name: x + shift for name, x in w.markers.items()}))
    assert any("overground" in note for note in leg_of(trial, "right").notes) == overground
    assert (measure([trial]).belt == 0.0) == overground


def test_left_and_right_are_distinguished():
    w = walker.walker(duration=5.0)
    right, left = (measure([recording(w)], side, EXACT) for side in ("right", "left"))
    np.testing.assert_allclose(right.mean["knee_rad"], left.mean["knee_rad"], atol=2e-3)
    assert abs((right.kept[0].start - left.kept[0].start) % w.period - 0.5 * w.period) < 0.01


def test_joint_angles_make_the_same_leg(tmp_path):
    w = walker.walker(duration=4.0)
    (tmp_path / "ik.mot").write_text(walker.mot(w))
    leg = leg_of(read_recording(tmp_path / "ik.mot"), "right", EXACT)
    np.testing.assert_allclose(leg.thigh, w.thigh, atol=1e-8)
    np.testing.assert_allclose(leg.thigh - leg.shank, w.knee, atol=1e-8)
    np.testing.assert_allclose(leg.hip, w.hip, atol=1e-8)
    np.testing.assert_allclose(leg.ankle_angle, w.ankle, atol=1e-8)
    walk = measure([read_recording(tmp_path / "ik.mot")])
    assert walk.period == pytest.approx(w.period, rel=5e-3) and walk.speed == pytest.approx(w.speed, rel=0.01)
    back = dataclasses.replace(
        leg.recording, angles=leg.recording.angles | {"pelvis_tx": -leg.recording.angles["pelvis_tx"]}
    )
    turned = leg_of(back, "right", EXACT)
    assert np.ptp(turned.hip[:, 0] - w.hip[:, 0]) < 1e-3 and HIP_IN_PELVIS[0] < 0


def _solved(w: walker.Walker, tilt: float, facing: float, **more: np.ndarray) -> Recording:
    """Joint angles as OpenSim has them: the pelvis turns by its tilt about the laboratory's z, then by its rotation."""
    a, b = HIP_IN_PELVIS
    ahead, up = a * np.cos(tilt) - b * np.sin(tilt), a * np.sin(tilt) + b * np.cos(tilt)
    angles = {"pelvis_tilt": facing * tilt + 0 * w.time, "hip_flexion_r": w.thigh - tilt, "knee_angle_r": w.knee}
    angles |= {"pelvis_tx": facing * (w.hip[:, 0] - ahead), "pelvis_ty": w.hip[:, 1] - up, "ankle_angle_r": w.ankle}
    return Recording("ik", "ik.mot", w.rate, w.time, angles=angles | more)


@pytest.mark.parametrize("treadmill", [False, True])
@pytest.mark.parametrize("turned", [0.0, np.pi])
def test_a_tilted_pelvis_that_faces_either_way_makes_the_same_leg(treadmill, turned):
    w = walker.walker(treadmill=treadmill)
    more = {"pelvis_rotation": turned + 0.1 * np.sin(w.time)} if treadmill else {}  # else the path shows it
    leg = leg_of(_solved(w, -0.2, np.cos(turned), **more), "right", EXACT)
    np.testing.assert_allclose(leg.hip, w.hip, atol=1e-9)
    np.testing.assert_allclose(leg.thigh, w.thigh, atol=1e-9)


def test_joint_angles_of_a_walk_across_x_raise():
    w = walker.walker()
    with pytest.raises(MotionFormatError, match="column pelvis_rotation: the pelvis is turned by -90 deg"):
        leg_of(_solved(w, 0.0, 1.0, pelvis_rotation=np.full(w.time.size, -np.pi / 2)), "right", EXACT)


def test_hip_centres_of_harrington_and_bell():
    """Numbers by hand for PW = 250 mm, PD = 150 mm: Harrington 45.9, 85.9, 89.8 mm; Bell 47.5, 75, 90 mm."""
    w = walker.walker(duration=0.1)
    found = maps.find(w.markers, "right")
    middle = 0.5 * (w.markers["RASI"] + w.markers["LASI"])
    for regression, offset in (("harrington", (-0.0459, -0.0859, 0.0898)), ("bell", (-0.0475, -0.075, 0.09))):
        np.testing.assert_allclose(hip_centre(w.markers, found, "right", regression) - middle, [offset] * 10, atol=1e-9)
    left = hip_centre(w.markers, maps.find(w.markers, "left"), "left") - middle
    np.testing.assert_allclose(left, [(-0.0459, -0.0859, -0.0898)] * 10, atol=1e-9)


def test_a_standing_trial_lets_the_cluster_carry_the_joints():
    """Knee and ankle without markers of their own, carried by three markers on the shank: exact for rigid bodies."""
    w = walker.walker()
    still = {k: np.repeat(x[:1], 20, axis=0) for k, x in w.markers.items()}
    static = Recording("static", "static.trc", w.rate, w.time[:20], markers=still)
    bare = {k: x for k, x in w.markers.items() if "KNE" not in k and "ANK" not in k}
    walking = dataclasses.replace(recording(w), markers=bare)
    with pytest.raises(MotionFormatError, match=r"knee, ankle not found.*give a standing trial \(--static\)"):
        leg_of(walking, "right", EXACT)
    leg = leg_of(walking, "right", dataclasses.replace(EXACT, static=static))
    offset = w.knee[0]  # the standing knee is straightened: it is bent by this much in the first frame
    assert abs(offset) < math.radians(12)
    np.testing.assert_allclose(np.hypot(*(leg.points["ankle"] - leg.hip).T)[0], walker.THIGH + walker.SHANK, atol=2e-3)
    np.testing.assert_allclose(
        leg.points["ankle"][:, 1], leg_of(recording(w), "right", EXACT).points["ankle"][:, 1], atol=1e-9
    )
    assert (leg.thigh - leg.shank)[0] == pytest.approx(0.0, abs=1e-6)
    assert any("straight in the standing trial" in note for note in leg.notes)
    renamed = dataclasses.replace(static, markers={f"Anna:{k.lower()}": x for k, x in still.items()})
    same = leg_of(walking, "right", dataclasses.replace(EXACT, static=renamed))  # another prefix, another case
    np.testing.assert_array_equal(same.thigh, leg.thigh)


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"static": "standing.trc"}, TypeError, "static is what read_recording returns, got 'standing.trc'"),
        ({"own_map": "map.toml"}, TypeError, "own_map is what read_map returns, got 'map.toml'"),
        ({"cutoff": "8"}, ValueError, "the cut-off must be positive .*, got '8' Hz"),
        ({"max_gap": None}, ValueError, "the longest gap that is filled must not be negative, got None s"),
    ],
)
def test_options_of_another_kind_are_named(wrong, error, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # (the types of arguments are checked in tests)
    with pytest.raises(error, match=message):
        Options(**wrong)


@pytest.mark.parametrize(("bent", "removed"), [(8.0, {"auto", "zero"}), (15.0, {"zero"})])
def test_a_knee_that_is_bent_in_standing_is_kept_or_removed_as_asked(bent, removed):
    """By default up to 12 deg are removed; beyond, a warning says that they were not."""
    w = walker.walker()
    frame = int(np.argmin(np.abs(np.degrees(w.knee) - bent)))
    still = {k: np.repeat(x[frame : frame + 1], 20, axis=0) for k, x in w.markers.items()}
    static = Recording("static", "static.trc", w.rate, w.time[:20], markers=still)
    for wanted in ("auto", "keep", "zero"):
        leg = leg_of(recording(w), "right", dataclasses.replace(EXACT, static=static, standing_knee=wanted))
        left = 0.0 if wanted in removed else w.knee[frame]
        assert (leg.thigh - leg.shank)[frame] == pytest.approx(left, abs=1e-6)
        said = "in the standing trial: not removed as an offset of markers"
        assert any(said in line for line in leg.warnings) == (bent > 12 and wanted == "auto")
        assert any("in the standing trial: kept" in line for line in leg.notes) == (wanted == "keep")
    with pytest.raises(ValueError, match="standing_knee is one of auto, keep, zero, got 'straight'"):
        Options(standing_knee="straight")


def test_gaps_are_filled_up_to_a_limit():
    w = walker.walker(rate=100.0)
    track = np.array(w.markers["RKNE"])
    track[100:110] = np.nan
    track[200:230] = np.nan
    track[:5] = np.nan
    filled = fill(track, 100.0, max_gap=0.2)
    assert (filled.filled, filled.left) == (10, 30)
    np.testing.assert_allclose(filled.values[100:110], w.markers["RKNE"][100:110], atol=2e-3)
    assert np.isnan(filled.values[:5]).all() and np.isnan(filled.values[200:230]).all()
    smooth = lowpass(filled.values, 100.0)
    np.testing.assert_array_equal(np.isnan(smooth), np.isnan(filled.values))


@pytest.mark.parametrize("rate", [20.0, 25.0, 30.0, 100.0, 1000.0])
def test_the_low_pass_has_its_cutoff_and_no_lag(rate):
    """Half the power is left at the cut-off by both passes together; 1 / (1 + (w / w_c)^4) each at other frequencies.

    The frequencies w are those that the bilinear transform makes of the digital ones.
    """
    warped = lambda frequency: np.tan(np.pi * frequency / rate)
    time = np.arange(20.0 * rate) / rate
    middle = slice(round(5.0 * rate), round(15.0 * rate))  # whole periods
    for frequency in (2.0, 8.0, 9.5):
        wave = np.exp(2j * np.pi * frequency * time)[:, None]
        smooth = (lowpass(wave.real, rate, 8.0) + 1j * lowpass(wave.imag, rate, 8.0))[middle]
        each = (np.sqrt(2.0) - 1.0) * (warped(frequency) / warped(8.0)) ** 4
        np.testing.assert_allclose(np.mean(smooth / wave[middle]), 1.0 / (1.0 + each), atol=1e-6)
        assert frequency != 8.0 or 1.0 / (1.0 + each) == pytest.approx(np.sqrt(0.5))


def _with_plate(w: walker.Walker, where: np.ndarray, name: str = "plate 1") -> Recording:
    force = np.column_stack([w.force, np.zeros(w.time.size)])
    return recording(w, forces=(GroundReaction(name, w.time, force, where),))


def test_forces_are_of_the_foot_on_the_plate():
    w = walker.walker(duration=5.0)
    foot = lambda side: 0.5 * (w.markers[f"{side}HEE"] + w.markers[f"{side}TOE"]) * np.array([1.0, 0.0, 1.0])
    right = measure([_with_plate(w, foot("R"))], mass=walker.MASS)
    assert set(right.events[0].sources) == {"force"}
    peak = right.mean["ground_y_N"].max()
    assert peak == pytest.approx(w.force[:, 1].max(), rel=0.03)
    assert np.abs(right.mean["ground_y_N"][70:98]).max() < 1.0  # nothing in swing
    starts = [s.start % w.period for s in right.kept]
    assert np.max(np.minimum(starts, w.period - np.array(starts))) < 0.03  # where the plate is loaded
    left = measure([_with_plate(w, foot("L"))])
    assert "ground_y_N" not in left.mean and set(left.events[0].sources) == {"motion"}
    far = measure([_with_plate(w, foot("R") + np.array([0.0, 0.0, 2.0]))])
    assert "ground_y_N" not in far.mean


def test_forces_without_a_centre_of_pressure_go_by_name_or_time():
    w = walker.walker(duration=5.0)
    force = np.column_stack([-w.force, np.zeros(w.time.size)])  # of the foot on the plate, not the reaction
    for name in ("ground_force_r", "Right Plate", "FP2"):
        walk = measure([recording(w, forces=(GroundReaction(name, w.time, force, None),))])
        assert walk.mean["ground_y_N"].max() > 500
        assert any("are reversed" in note for note in walk.notes)
    other = measure([recording(w, forces=(GroundReaction("ground_force_l", w.time, force, None),))])
    assert "ground_y_N" not in other.mean
    names = {
        "plate R": "right",
        "FP_R1": "right",
        "Plate L2": "left",
        "FPLeft": "left",
        "LEFT-1": "left",
        "Plate R&D": None,
        "right or left": None,
    }
    assert {name: ground._side_of(name) for name in names} == names


@pytest.mark.parametrize(
    ("force", "length", "message"),
    [
        (1e-3, 1.0, "no ground force is above 0.941 N, .* kilonewtons or body weights"),
        (0.12, 1.0, "no ground force is above 113 N, where a person .* per cent of the body weight"),
        (1.0, 1e3, "centre of pressure is .* from the laboratory's origin.* millimetres instead of m"),
    ],
)
def test_forces_in_another_unit_are_not_left_out_silently(force, length, message):
    w = walker.walker(duration=5.0)
    under = 0.5 * (w.markers["RHEE"] + w.markers["RTOE"]) * np.array([length, 0.0, length])
    walk = measure([_with_plate(dataclasses.replace(w, force=force * w.force), under)])
    assert "ground_y_N" not in walk.mean
    assert any(re.search(message, line) for line in walk.warnings), walk.warnings


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("RHEE", "RTOE")], "the toe is 0.200 m behind the heel: markers swapped"),
        ([("RASI", "RPSI"), ("LASI", "LPSI")], r"against the direction of travel.* \(ASIS and PSIS"),
        ([("RASI", "RPSI"), ("LASI", "LPSI")], "a thigh of 0.5.. m on a shank of 0.410 m"),
    ],
)
def test_swapped_markers_are_reported(pairs, message):
    w = walker.walker()
    other = {a: b for pair in pairs for a, b in (pair, pair[::-1])}
    walk = measure([recording(dataclasses.replace(w, markers={other.get(k, k): x for k, x in w.markers.items()}))])
    assert any(re.search(message, line) for line in walk.warnings), walk.warnings
    assert measure([recording(w)]).warnings == ()


def test_a_code_for_missing_values_spoils_its_own_stride_alone():
    """It used to turn later strides by 360 degrees, and to count in the lengths of the segments."""
    w = walker.walker(duration=6.0)
    lost = (w.time >= 1.495) & (w.time < 1.515)  # two frames: longer, it is a gap
    markers = {k: np.where(lost[:, None], -9999.0, x) if k == "RKNE" else x for k, x in w.markers.items()}
    walk, clean = measure([recording(dataclasses.replace(w, markers=markers))]), measure([recording(w)])
    assert len(walk.kept) == len(clean.kept) - 1
    assert walk.segments == pytest.approx(clean.segments, abs=1e-3)
    np.testing.assert_allclose(walk.mean["shank_rad"], clean.mean["shank_rad"], atol=0.01)
    assert any("markers jump within a frame: RKNE by 1.73e+04 m at 1.50 s" in line for line in walk.warnings)
    assert not any("several passes" in line for line in walk.warnings)


def test_a_code_for_missing_values_of_all_markers_is_no_second_pass():
    w = walker.walker(duration=3.0)
    markers = {k: np.where(np.arange(w.time.size)[:, None] == 150, 0.0, x) for k, x in w.markers.items()}
    walk = measure([recording(dataclasses.replace(w, markers=markers))])
    (line,) = (line for line in walk.warnings if "markers jump" in line)
    assert line.endswith("a code for missing values? leave those cells empty")


def test_passes_one_after_the_other_in_a_file_are_named():
    w = walker.walker(duration=3.0)
    markers, time = {k: np.concatenate([x, x]) for k, x in w.markers.items()}, np.arange(2 * w.time.size) / w.rate
    walk = measure([recording(dataclasses.replace(w, markers=markers, time=time))])
    (line,) = (line for line in walk.warnings if "markers jump" in line)
    assert " at 3.00 s" in line and line.endswith("several passes in one file? give each of them as a file of its own")


def test_a_given_speed_in_another_unit_is_named():
    walk = measure([recording(walker.walker(duration=3.0))], speed=4.5)
    assert "the given speed is 4.5 m/s: km/h? divide by 3.6" in walk.warnings


def test_forces_that_are_none_of_a_foot_are_left_out():
    w = walker.walker(duration=5.0)
    force = np.column_stack([0 * w.time, w.force[:, 1], 0 * w.time])  # a plate that measures vertical forces alone
    walk = measure([recording(w, forces=(GroundReaction("FP2", w.time, force, None),))])
    assert "ground_y_N" not in walk.mean and "force" in walk.events[0].sources
    assert any("used for events only: lowest value of ground_x_N is" in line for line in walk.warnings)


def test_mass_is_what_the_plates_carry():
    w = walker.walker(duration=5.0)
    vertical = np.full(w.time.size, walker.MASS * 9.81)
    force = np.column_stack([0 * vertical, vertical, 0 * vertical])
    walk = measure([recording(w, forces=(GroundReaction("belt", w.time, force, None),))])
    assert walk.subject["mass_kg"] == pytest.approx(walker.MASS, rel=1e-6)
    assert "ground forces" in str(walk.subject["mass_from"])


def test_marks_of_the_laboratory_are_events():
    w = walker.walker(duration=5.0)
    marks = (
        *tuple(Mark("right", "Foot Strike", 0.03 + i * w.period) for i in range(4)),
        Mark("left", "Foot Strike", 0.4),
    )
    walk = measure([recording(w, marks=marks)])
    assert [s.start for s in walk.kept][:3] == pytest.approx([0.03, 0.03 + w.period, 0.03 + 2 * w.period])
    assert "mark" in walk.events[0].sources


def test_events_by_the_motion_are_periodic():
    w = walker.walker(duration=6.0)
    strikes, offs = leg_of(recording(w), "right", EXACT).motion_events
    np.testing.assert_allclose(np.diff(strikes), w.period, atol=2e-3)
    np.testing.assert_allclose(np.diff(offs), w.period, atol=2e-3)
    assert all(0.5 < ((off - strikes[0]) % w.period) / w.period < 0.75 for off in offs)


@pytest.mark.parametrize("cut", [True, False], ids=["cut", "not seen"])
@pytest.mark.parametrize(("margin", "found"), [(6, True), (3, False)])
def test_events_near_the_ends_of_a_record_are_found(margin, found, cut):
    """Whether it is cut, or the markers are seen in a part of it only; a stride and a leg may depend on one of them."""
    w = walker.walker(duration=6.0)
    strikes, offs = leg_of(recording(w), "right", EXACT).motion_events
    first, last = round(offs[0] * w.rate) - margin, round(strikes[-2] * w.rate) + margin
    part = slice(first, last + 1)
    seen = ((np.arange(w.time.size) >= first) & (np.arange(w.time.size) <= last))[:, None]
    time = w.time[part] if cut else w.time
    markers = {k: x[part] if cut else np.where(seen, x, np.nan) for k, x in w.markers.items()}
    got = leg_of(recording(dataclasses.replace(w, time=time, markers=markers)), "right", EXACT).motion_events
    strikes, offs = strikes[(strikes > offs[0]) & (strikes < strikes[-2] + 0.1)], offs[offs < strikes[-2]]
    np.testing.assert_allclose(got[0], strikes if found else strikes[:-1], atol=5e-3)
    np.testing.assert_allclose(got[1], offs if found else offs[1:], atol=5e-3)


def test_bad_strides_are_dropped_with_a_reason():
    w = walker.walker(duration=11.0, treadmill=True)
    markers = {k: np.array(x) for k, x in w.markers.items()}
    markers["RKNE"][250:290] = np.nan
    for k in ("RHEE", "RTOE", "RANK", "RANKM"):
        markers[k][int(4.2 * 100) : int(4.9 * 100), 0] += 0.3 * np.sin(np.linspace(0, np.pi, 70)) ** 2
    walk = measure([dataclasses.replace(recording(w), markers=markers)])
    reasons = [s.reason for s in walk.strides if s.reason]
    assert any("markers are missing" in r for r in reasons)
    assert any("off the median stride" in r for r in reasons)
    assert len(walk.kept) >= 3
    assert np.all([np.isfinite(x).all() for x in walk.mean.values()])


def test_the_way_back_is_dropped():
    """To and fro through the laboratory: the strides of one way are kept, and are those of a walk."""
    w = walker.walker(duration=4.5)
    back = np.diag([-1.0, 1.0, -1.0])
    both = {k: np.concatenate([x, x @ back + np.array([w.speed * 4.5, 0, 0])]) for k, x in w.markers.items()}
    time = np.arange(2 * w.time.size) / w.rate
    walk = measure([Recording("walk", "walk.trc", w.rate, time, markers=both)], options=EXACT)
    assert len(walk.kept) >= 2 and any("does not go forward" in s.reason for s in walk.strides)
    assert walk.speed == pytest.approx(w.speed, rel=0.01)
    assert np.degrees(walk.mean["knee_rad"].max()) == pytest.approx(np.degrees(w.knee.max()), abs=1.0)


def test_several_trials_are_one_walk():
    w = walker.walker(duration=3.0)
    one = measure([recording(w)], options=EXACT)
    two = measure([recording(w), dataclasses.replace(recording(w), name="again")], options=EXACT)
    assert any("contains the same motion as walk.trc: its strides count twice" in line for line in two.warnings)
    assert len(two.kept) == 2 * len(one.kept) and {s.trial for s in two.kept} == {"walk", "again"}
    np.testing.assert_allclose(two.mean["knee_rad"], one.mean["knee_rad"], atol=1e-9)


def test_joint_angles_that_make_no_leg_are_named(tmp_path):
    w = walker.walker(duration=5.0)
    whole = walker.mot(w, degrees=False)
    (tmp_path / "ik.mot").write_text(whole.replace("pelvis_tilt", "tilt"))
    with pytest.raises(MotionFormatError, match=r"angles that make one, pelvis_tilt not found among tilt, .*inverse"):
        measure([read_recording(tmp_path / "ik.mot")])
    (tmp_path / "ik.mot").write_text(whole)
    with pytest.raises(MotionFormatError, match=r"ik\.mot: joint angles in addition to markers; leave one out"):
        measure([recording(w), read_recording(tmp_path / "ik.mot")])
    (tmp_path / "ik.mot").write_text(whole.replace("inDegrees=no", "inDegrees=yes"))
    with pytest.raises(MotionFormatError, match="radians in a file that states degrees"):
        measure([read_recording(tmp_path / "ik.mot")])


def test_the_missing_part_of_a_stride_is_its_own():
    w = walker.walker(duration=6.0)
    markers = {name: np.array(x) for name, x in w.markers.items()}
    for x in markers.values():
        x[300:336] = np.nan
    walk = measure([dataclasses.replace(recording(w), markers=markers)])
    share = [float(s.reason.split()[4].rstrip("%;")) for s in walk.strides if "missing" in s.reason]
    assert share and max(share) < 50.0
    assert any("longer gaps remain" in note and note.endswith("more") for note in walk.notes)


def test_what_is_wrong_is_said():
    w = walker.walker(duration=3.0)
    with pytest.raises(MotionFormatError, match=r"no right leg: knee, ankle, foot .* not found among"):
        leg_of(
            dataclasses.replace(recording(w), markers={k: w.markers[k] for k in ("RASI", "LASI", "RPSI", "LPSI")}),
            "right",
        )
    left = {k: x for k, x in w.markers.items() if k[0] == "L" or k in ("RASI", "RPSI")}
    with pytest.raises(MotionFormatError, match=r"the left leg is there .* --leg left --out walk\.json`, then"):
        leg_of(dataclasses.replace(recording(w), markers=left), "right")
    short = walker.walker(duration=0.8)
    with pytest.raises(MotionFormatError, match="no whole stride"):
        measure([recording(short)])
    mirrored = dataclasses.replace(recording(w), markers={k: x * np.array([1, 1, -1]) for k, x in w.markers.items()})
    leg = leg_of(mirrored, "right", EXACT)
    assert any("left-handed axes; z is reversed" in line for line in leg.warnings)
    np.testing.assert_allclose(leg.thigh, w.thigh, atol=1e-6)
    sunk = dataclasses.replace(recording(w), markers={k: x - np.array([0, 0.5, 0]) for k, x in w.markers.items()})
    assert any("the floor is not at the laboratory's zero" in line for line in leg_of(sunk, "right").warnings)
    with pytest.raises(ValueError, match="the leg is right or left"):
        measure([recording(w)], "both")


# --- marker maps ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in maps.known() if n != "joint_centres"])
def test_every_known_set_is_found_by_its_names(name):
    table = maps.known()[name]
    names = [options[0].replace("{S}", s) for options in table.values() for s in "RL"]
    found = maps.find(names, "right")
    assert not found.lacks(carried=False)
    assert found.roles["knee_lateral"] == table["knee_lateral"][0].replace("{S}", "R")


@pytest.mark.parametrize("spell", ["R.Knee.Lat", "Jo:R_KNEE_LAT", "r knee lat", "Knee.Lat_R", "right_knee_lat"])
def test_names_are_found_in_any_spelling(spell):
    names = ["R.ASIS", "L.ASIS", "V.Sacral", spell, "R.Ankle.Lat", "R.Heel", "R.Toe.Lat"]
    assert maps.find(names, "right").roles["knee_lateral"] == spell


def test_a_map_of_ones_own(tmp_path):
    w = walker.walker(duration=3.0)
    names = {k: f"m{i}" for i, k in enumerate(w.markers)}
    strange = dataclasses.replace(recording(w), markers={names[k]: x for k, x in w.markers.items()})
    roles = {"asis": "ASI", "psis": "PSI", "knee_lateral": "KNE", "ankle_lateral": "ANK", "heel": "HEE", "toe": "TOE"}
    sides = {"right": "R", "left": "L"}
    lines = [
        f"[{side}]\n" + "\n".join(f'{r} = "{names[s + m]}"' for r, m in roles.items()) for side, s in sides.items()
    ]
    (tmp_path / "map.toml").write_text("\n".join(lines))
    leg = leg_of(strange, "right", dataclasses.replace(EXACT, own_map=maps.read_map(tmp_path / "map.toml")))
    np.testing.assert_allclose(leg.thigh, w.thigh, atol=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("asis = ", "is not valid TOML"),
        ('knee_latteral = "RKNE"', "an unknown role 'knee_latteral'; did you mean 'knee_lateral'?"),
        ("heel = 3", "heel is not a name"),
        ("[right]\nheel = [1]", "heel is not a name"),
    ],
)
def test_a_wrong_map_is_one_line(text, message, tmp_path):
    (tmp_path / "map.toml").write_text(text)
    with pytest.raises(MotionFormatError) as error:
        maps.read_map(tmp_path / "map.toml")
    assert message in str(error.value) and str(error.value).startswith(str(tmp_path))


# --- measured walks ---------------------------------------------------------------------------------------------------


def _reference(stem: str) -> dict[str, np.ndarray]:
    lines = [line for line in (RAW.parent / f"{stem}.csv").read_text().splitlines() if not line.startswith("#")]
    return dict(zip(lines[0].split(","), np.loadtxt(lines[1:], delimiter=",").T, strict=True))


def _measured(stem: str):
    if stem.startswith("rajagopal"):
        markers = read_recording(RAW / "rajagopal_markers_walk.trc")
        return measure([with_forces(markers, read_recording(RAW / "rajagopal_grf_walk.mot"))])
    if stem.startswith("hbm07"):
        return measure([read_recording(RAW / "gatk_rawdata.txt")])
    markers = read_recording(RAW / "subject01_walk1.trc")
    static = read_recording(RAW / "subject01_static.trc")
    return measure(
        [with_forces(markers, read_recording(RAW / "subject01_walk1_grf.mot"))], options=Options(static=static)
    )


@pytest.mark.slow
@needs_raw
@pytest.mark.parametrize("stem", ["rajagopal_1.26ms", "hbm07_0.98ms", "opensim_subject01_1.13ms"])
def test_mean_strides_worked_out_before_are_reproduced(stem):
    """Knee and thigh within 2 degrees RMS, hip height within 5 mm RMS; speed, stride time and lengths within 2 %."""
    walk, reference = _measured(stem), _reference(stem)
    off = lambda k: float(np.sqrt(np.mean((walk.mean[k] - reference[k]) ** 2)))
    assert math.degrees(off("knee_rad")) < 2 and math.degrees(off("thigh_rad")) < 2 and off("hip_y_m") < 5e-3
    assert math.degrees(off("shank_rad")) < 2 and math.degrees(off("foot_rad")) < 2 and off("hip_x_m") < 5e-3
    before = json.loads((RAW.parent / f"{stem}_fourier.json").read_text())
    assert walk.speed == pytest.approx(before["speed_m_s"], rel=0.01)
    assert walk.period == pytest.approx(before["period_T_s"], rel=0.01)
    for name in ("thigh_m", "shank_m", "ankle_height_m"):
        assert walk.segments[name] == pytest.approx(before["segments"][name], rel=0.02)
    assert 0.6 < walk.toe_off < 0.7 and set(walk.events[0].sources) == {"force"}
    if stem.startswith("opensim"):
        assert walk.subject["mass_kg"] == pytest.approx(72.6, rel=0.01)  # by the plates alone


@needs_raw
@pytest.mark.parametrize("side", ["right", "left"])
def test_a_c3d_file_with_plates_is_a_walk(side):
    walk = measure([read_recording(RAW / "bmc_Gait.c3d")], side)
    knee = np.degrees(walk.mean["knee_rad"])
    assert 50 < knee.max() < 75 and knee.min() > -10 and 1.2 < walk.speed < 1.7
    assert walk.belt == 0 and len(walk.legs[0].recording.forces) == 2
    if side == "right":  # the left foot meets its plate at the end of its only stride
        assert walk.mean["ground_y_N"].max() > 700


@needs_raw
def test_a_stride_that_ends_with_the_record_is_found():
    """The left heel is farthest forward at 1.22 and 2.43 s of a record of 2.5 s, 47 mm more than at its end."""
    static = read_recording(RAW / "subject01_static.trc")
    walk = measure([read_recording(RAW / "subject01_walk1.trc")], "left", Options(static=static))
    assert [s.start for s in walk.kept] == pytest.approx([1.216], abs=1e-3)
    assert walk.period == pytest.approx(1.2, abs=0.03)  # right: 1.209 s


@needs_raw
def test_angles_of_opensim_are_near_those_of_the_markers():
    """The planar model's inverse kinematics against ours from markers, at the same instants (README: 2 to 4)."""
    ours = _measured("opensim_subject01_1.13ms").legs[0]
    theirs = leg_of(read_recording(RAW / "subject01_walk_IK.mot"), "right")
    for a, b, limit in ((ours.thigh, theirs.thigh, 3.0), (ours.thigh - ours.shank, theirs.thigh - theirs.shank, 5.0)):
        assert math.degrees(np.sqrt(np.nanmean((a - b) ** 2))) < limit


@needs_raw
@pytest.mark.slow
def test_measured_people_walk_on_a_fitted_leg():
    """Also half a millimetre and a millimetre higher and lower, with every parameter set."""
    fastest = measure([read_recording(RAW / "bmc_Gait.c3d")], mass=70.0)
    stems = ("rajagopal_1.26ms", "opensim_subject01_1.13ms", "hbm07_0.98ms")
    walks = [*(_measured(stem) for stem in stems), fastest]
    drives = [stride_drive(walk_stride(walk), check=False) for walk in walks]
    least = (0.99, 0.75, 0.95, 0.84)  # the second and the fourth press or lift the rigid leg whatever its height
    for name in Prosthesis.presets:
        leg, walkers = people(Prosthesis().preset(name), drives)
        for shift in (-0.001, -0.0005, 0.0, 0.0005, 0.001):
            heights = walkers.values["height_offset"] + shift
            values, labels = dict(walkers.values), dict(walkers.labels)
            values["height_offset"], labels["height_offset"] = heights, (walkers.dims, heights)
            moved = dataclasses.replace(walkers, values=values, labels=labels)
            data = ensemble(leg, moved, strides=20, observe=["rho"])
            assert (data.status == 0).all(), f"{name} {shift:+.3f} m: {data.status.values}"
            assert (data.rho > least).all(), f"{name} {shift:+.3f} m: {data.rho.values}"


@needs_raw
def test_a_trial_without_names_says_what_is_missing():
    with pytest.raises(MotionFormatError, match=r"no right leg: hip .* not found among RFT1, RFT2"):
        measure([read_recording(RAW / "Eb015pi.c3d")])


@pytest.mark.parametrize("value", [-5.0, np.nan])
def test_impossible_options_raise(value):
    with pytest.raises(ValueError, match="the cut-off must be positive"):
        Options(cutoff=value)
    with pytest.raises(ValueError, match="the longest gap that is filled must not be negative"):
        Options(max_gap=value)
    with pytest.raises(ValueError, match="regression must be 'harrington' or 'bell', got 'harington'"):
        Options(regression="harington")
    with pytest.raises(ValueError, match="harmonics must be at least 1, got 0"):
        walk_stride(measure([recording(walker.walker(duration=3.0))]), harmonics=0)


def test_a_low_pass_that_does_nothing_or_too_much_is_said():
    slow, w = walker.walker(rate=15.0, duration=5.0), walker.walker(duration=5.0)
    found = measure([recording(slow)])
    assert any("no low-pass: a cut-off of 8 Hz is too high" in n for n in found.notes)
    assert any("15 frames per second are few for a walk" in line for line in found.warnings)
    walk = measure([recording(w)], options=Options(cutoff=1.0))
    assert any("a low-pass of 1 Hz removes part of the gait" in line for line in walk.warnings)
    assert not any("frames per second are few" in line for line in walk.warnings)


def test_long_gaps_that_are_filled_on_request_are_warned_of():
    """A knee that was missing for half a second was wrong by 23 degrees, with a note that it is filled."""
    w = walker.walker(duration=4.0)
    lost = (w.time > 1.8) & (w.time < 2.295)
    knee = {k: np.where(lost[:, None], np.nan, w.markers[k]) for k in ("RKNE", "RKNEM")}
    trial = Recording("walk", "walk.trc", w.rate, w.time, w.markers | knee)
    joints = leg_angles(*w.hip.T, w.thigh, np.where(lost, np.nan, w.knee), w.ankle)
    solved = Recording("walk", "walk.mot", w.rate, w.time, angles=joints)
    for one, name in ((trial, "RKNE, RKNEM"), (solved, "knee_angle_r")):
        long, usual = (leg_of(one, "right", Options(max_gap=gap)).warnings for gap in (1.0, 0.2))
        (line,) = (x for x in long if "as requested" in x)
        assert line.startswith(f"gaps of more than 0.2 s are filled, as requested ({name} 0.49 s from 1.81 s)")
        assert not any("as requested" in x for x in usual)


def test_gaps_of_joint_angles_are_filled_as_far_as_they_are_said_to_be(tmp_path):
    w = walker.walker(duration=4.0)
    (tmp_path / "ik.mot").write_text(walker.mot(w))
    whole = read_recording(tmp_path / "ik.mot")
    knee = np.array(whole.angles["knee_angle_r"])
    knee[150:190] = np.nan
    holed = dataclasses.replace(whole, angles=whole.angles | {"knee_angle_r": knee})
    short, long = leg_of(holed, "right"), leg_of(holed, "right", Options(max_gap=0.5))
    assert np.isnan(short.shank).sum() == 40 and np.isfinite(long.shank).all()
    assert any("longer ones remain: 40 frames" in note for note in short.notes)
    assert any("40 frames (knee_angle_r 0.4 s from 1.5 s)" in note for note in long.notes)


@pytest.mark.parametrize(
    ("degrees", "sign", "remark"),
    [
        ((-5.0, 60.0), 1, None),
        ((-65.0, 5.0), -1, "its sign is changed"),
        ((-6.0, -3.0), 1, "is mostly -6 to -3 deg, and taken as overextension"),
    ],
)
def test_the_sign_of_a_knee_angle_is_decided_by_its_range(degrees, sign, remark):
    """An overextended knee was taken for one that is negative in flexion."""
    trial = synthetic_recording(reference_gait())
    knee = trial.angles["knee_angle_r"]
    knee = np.radians(np.interp(knee, [knee.min(), knee.max()], degrees))
    leg = leg_of(dataclasses.replace(trial, angles=trial.angles | {"knee_angle_r": knee}), "right", EXACT)
    np.testing.assert_allclose(leg.thigh - leg.shank, sign * knee, atol=1e-12)
    found = [line for line in (*leg.notes, *leg.warnings) if "knee_angle" in line]
    assert len(found) == (remark is not None) and all(remark in line for line in found)


def test_the_sign_of_knee_angles_is_that_of_the_whole_recording():
    """Knees that are negative in flexion were taken as overextended after long standing, or where one was stiff."""
    time = np.arange(2250) / 100.0
    flexion = np.where(time < 20.0, 0.02, 0.5 - 0.5 * np.cos(2 * np.pi * time))  # walks for the last 2.5 s
    values = (0.0, 0.0, 0.96, 0.3, 0.0, 0.1)
    angles = {name.format(s=s): np.full(time.size, x) for s in "rl" for name, x in zip(NAMES, values, strict=True)}
    angles |= {"knee_angle_r": -flexion, "knee_angle_l": -0.2 * flexion}
    trial = Recording("walk", "walk.mot", 100.0, time, angles=angles)
    for side, knee in (("right", flexion), ("left", 0.2 * flexion)):
        leg = from_angles(trial, side, None)
        np.testing.assert_allclose(leg.thigh - leg.shank, knee, atol=1e-12)
        assert any("its sign is changed" in note for note in leg.notes)


def test_the_sign_of_knee_angles_is_that_of_all_recordings_of_a_person():
    """A stiff knee's recording was read with the sign of its own range alone."""
    trial = synthetic_recording(reference_gait())
    turned = lambda name, factor: dataclasses.replace(
        trial, file=f"{name}.mot", angles=trial.angles | {"knee_angle_r": factor * trial.angles["knee_angle_r"]}
    )
    stiff, bent = turned("stiff", -0.25), turned("bent", -1.0)
    alone, sure = with_one_flexion([stiff, bent])
    assert sure is bent and "as in the other recordings: its sign is changed" in alone.notes[-1]
    np.testing.assert_array_equal(alone.angles["knee_angle_r"], -stiff.angles["knee_angle_r"])
    assert with_one_flexion([stiff, trial]) == [stiff, trial]
    with pytest.raises(
        MotionFormatError, match=r"bent\.mot, column knee_angle_r: the angle is negative in flexion, in .*the oppo"
    ):
        measure([trial, bent])


def test_the_signs_of_two_knees_that_differ_are_judged_each_by_itself():
    """The sign of both was changed, and the right leg was overextended by 64 deg."""
    trial = synthetic_recording(reference_gait())
    right = trial.angles["knee_angle_r"]
    left = {f"{name[:-1]}l": x for name, x in trial.angles.items() if name.endswith("_r")}
    both = dataclasses.replace(trial, angles=trial.angles | left | {"knee_angle_l": -right})
    for side in ("right", "left"):
        leg = leg_of(both, side, EXACT)
        np.testing.assert_allclose(leg.thigh - leg.shank, right, atol=1e-12)
        (line,) = (line for line in (*leg.notes, *leg.warnings) if "knee" in line)
        assert line == "the knees of the two legs have opposite signs: that of knee_angle_l is changed"


@pytest.mark.parametrize(
    ("change", "advice"),
    [
        (lambda knee: np.pi - knee, "180 degrees minus the flexion? subtract it from 180"),
        (lambda knee: knee - np.pi, "the flexion less 180 degrees? add 180"),
        (np.degrees, "degrees instead of rad?"),
    ],
)
def test_the_angle_inside_the_knee_is_no_flexion(change, advice):
    """It was a knee flexed by 180 deg, with events of strides of half their length."""
    trial = synthetic_recording(reference_gait())
    inside = trial.angles | {"knee_angle_r": change(trial.angles["knee_angle_r"])}
    joints = {name: x for name, x in inside.items() if "pelvis" not in name}
    for angles in (inside, joints):
        with pytest.raises(MotionFormatError) as caught:
            measure([dataclasses.replace(trial, angles=angles)], speed=1.25)
        assert "column knee_angle_r: the median of this knee is" in str(caught.value) and advice in str(caught.value)


@pytest.mark.parametrize(
    ("change", "advice"),
    [
        (lambda ankle: np.pi / 2 + ankle, "90 deg there? subtract 90 (pi/2 in rad), or subtract it from 90"),
        (lambda ankle: np.pi / 2 - ankle, "90 deg there? subtract 90 (pi/2 in rad), or subtract it from 90"),
        (lambda ankle: ankle - np.pi / 2, "-90 deg there? add 90 (pi/2 in rad)"),
    ],
)
def test_an_ankle_that_is_not_0_at_right_angles_is_told_from_others(change, advice):
    """That the mean stride had an impossible ankle was all that was said."""
    trial = synthetic_recording(reference_gait())
    angles = trial.angles | {"ankle_angle_r": change(trial.angles["ankle_angle_r"])}
    with pytest.raises(MotionFormatError) as caught:
        measure([dataclasses.replace(trial, angles=angles)])
    assert "column ankle_angle_r: the median of this ankle is" in str(caught.value) and advice in str(caught.value)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"pelvis_tx": 1e3, "pelvis_ty": 1e3}, "column pelvis_ty: the hip is at a mean height of 986 m, where walking"),
        ({"pelvis_ty": 100.0}, "has 0.25 to 1.5 m; cm? write the unit: pelvis_ty (cm)"),
        ({"pelvis_ty": 0.1}, "give its height above the floor"),
        ({"pelvis_tx": 1e3}, "m/s; mm? write the unit: pelvis_tx (mm)"),
        ({"pelvis_tx": 1 / 0.0254}, "m/s; in? write the unit: pelvis_tx (in)"),
    ],
)
def test_a_path_of_the_pelvis_that_is_not_in_metres_is_an_error(sizes, message):
    """Of millimetres without a unit, a walk at 1256 m/s was measured."""
    trial = synthetic_recording(reference_gait())
    angles = trial.angles | {name: size * trial.angles[name] for name, size in sizes.items()}
    with pytest.raises(MotionFormatError) as caught:
        measure([dataclasses.replace(trial, angles=angles)])
    assert message in str(caught.value)


@pytest.mark.parametrize(("mass", "guess"), [(187.0, "pounds?"), (11.0, "one too far to the left?"), (72.0, None)])
def test_a_mass_that_does_not_suit_the_leg_is_warned_of(mass, guess):
    """A mass in pounds scaled all joint moments without a word."""
    lines = [line for line in measure([synthetic_recording(reference_gait())], mass=mass).warnings if "mass" in line]
    assert len(lines) == (guess is not None)
    assert all(f"a mass of {mass:g} kg and a height of 1.7" in line and line.endswith(guess) for line in lines)
    gait = embedded_stride("rajagopal_1.26ms")
    table = {"time_s": gait.time, **gait.signals, "thigh_m": 0.42, "shank_m": 0.42, "mass_kg": mass}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        table_stride(table, speed=1.26)
    assert [guess in str(w.message) for w in caught] == [True] * len(lines)


@pytest.mark.parametrize("column", ["pelvis_tx", "knee_angle_r"])
def test_a_column_of_joint_angles_without_values_is_named(column):
    trial = synthetic_recording(reference_gait())
    empty = dataclasses.replace(trial, angles=trial.angles | {column: np.full(trial.frames, np.nan)})
    with pytest.raises(MotionFormatError, match=f"no frame has all joint angles of the right leg.*: {column};"):
        measure([empty])


def test_the_slowest_frames_decide_the_number_of_harmonics():
    """Whatever the order of the trials, of which each has its rate in the file of the walk."""
    trials = [synthetic_recording(reference_gait(), rate=rate) for rate in (100.0, 15.0)]
    walks = [measure(trials), measure(trials[::-1])]
    assert [walk_stride(walk).harmonics for walk in walks] == [5, 5]
    assert walk_record(walks[0])["source"]["rate_Hz"] == [100.0, 15.0]


@pytest.mark.slow
def test_trials_of_one_name_are_told_apart():
    """day1/walk.c3d and day2/walk.c3d: strides are looked up in their own trial; its joint moments are its own."""
    first = walker.walker(duration=4.0)
    time, force, point = walker.pressed(first)
    plate = GroundReaction("plate 1", time, force, point)
    later = {k: x[40:] for k, x in first.markers.items()}
    other = Recording(
        "walk", "day2/walk.trc", 100.0, first.time[40:] - 0.4, later, forces=(plate._replace(time=time - 0.4),)
    )
    again = dataclasses.replace(other, name="walk (2)")
    names = [leg.recording.name for leg in measure([recording(first), other, again]).legs]
    assert names == ["walk", "walk (3)", "walk (2)"]
    both = measure([recording(first, forces=(plate,)), other], mass=85.0)
    alone = measure([recording(first, forces=(plate,))], mass=85.0)
    assert {s.trial for s in both.strides} == {"walk", "walk (2)"} and not any("twice" in w for w in both.warnings)
    own = [
        c
        for start, c in zip(both.dynamics.starts, both.dynamics.strides, strict=True)
        if start in alone.dynamics.starts
    ]
    for found, expected in zip(own, alone.dynamics.strides, strict=True):
        np.testing.assert_allclose(found["ankle_moment_Nm_kg"], expected["ankle_moment_Nm_kg"], atol=0.02)


def test_a_standing_trial_that_walks_or_is_of_somebody_else_is_warned_of():
    w = walker.walker()
    warnings_of = lambda static: " ".join(leg_of(recording(w), "right", Options(static=static)).warnings)
    assert "the standing trial walk does not stand still" in warnings_of(recording(w))
    still = {k: np.repeat(x[:1], 20, axis=0) for k, x in w.markers.items()}
    stood = Recording("static", "static.trc", w.rate, w.time[:20], markers=still)
    assert "standing trial" not in warnings_of(stood)
    taller = dataclasses.replace(stood, markers={k: 1.15 * x for k, x in still.items()})
    assert "the standing trial static may show another person" in warnings_of(taller)


def test_a_standing_trial_of_somebody_else_is_warned_of_under_other_names():
    """No marker of the shank has the same name in both."""
    w, warnings = walker.walker(), []
    names = {f"{side}{old}": f"{side}.{new}.Lat" for side in "RL" for old, new in (("KNE", "Knee"), ("ANK", "Ankle"))}
    for size in (1.0, 1.15):
        still = {names.get(k, k): size * np.repeat(x[:1], 20, axis=0) for k, x in w.markers.items() if "TI" not in k}
        stood = Recording("static", "static.trc", w.rate, w.time[:20], markers=still)
        warnings.append(" ".join(leg_of(recording(w), "right", Options(static=stood)).warnings))
    assert "standing trial" not in warnings[0]
    found = r"R\.Knee\.Lat and R\.Ankle\.Lat are 4\d\d mm apart in it, and RKNE and RANK 4\d\d mm in the walk"
    assert re.search(found, warnings[1])


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_markers_of_the_shank_that_are_never_seen_together_are_not_compared():
    w = walker.walker()
    still = {k: np.repeat(x[:1], 20, axis=0) for k, x in w.markers.items()}
    still["RTIB"][:10], still["RTIAP"][10:] = np.nan, np.nan
    stood = Recording("static", "static.trc", w.rate, w.time[:20], markers=still)
    warnings = leg_of(recording(w), "right", Options(static=stood)).warnings
    assert "standing trial" not in " ".join(warnings)
