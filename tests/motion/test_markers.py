"""Markers that are missing, repeated or wrong: late, at another frame rate, out of their place, with swapped labels."""

import dataclasses

import numpy as np
import pytest

from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture import leg_warnings
from jaxgait.motion.capture.frozen_markers import frame_warnings, repeated_positions, without_repeats
from jaxgait.motion.capture.leg import Options
from jaxgait.motion.capture.leg_source import leg_of
from jaxgait.motion.capture.maps import find
from jaxgait.motion.capture.smoothing import fill, lowpass
from jaxgait.motion.capture.walk import measure
from jaxgait.motion.readers import read_recording
from jaxgait.motion.recording import GroundReaction, Recording
from tests.motion import walker
from tests.motion.measured import RAW, needs_raw

W = walker.walker(duration=4.0, seed=1)
FEET = ("RANK", "RANKM", "RHEE", "RTOE")
TIME, FORCE, POINT = walker.pressed(W)
WORDS = ("lags", "behind the plates", "ahead of the plates", "stance lasts", "ASIS is")


def recording(moved=(), late=0.0, low=0.0, pace=1.0, plates=True) -> Recording:
    """The walk with some markers late by a time in s, the right ASIS low by a way in m, and another frame rate."""
    after = lambda x: np.stack([np.interp(W.time - late, W.time, column) for column in x.T], axis=1)
    markers = {k: after(x) if k in moved else x for k, x in W.markers.items()}
    markers["RASI"] = markers["RASI"] - np.array([0.0, low, 0.0])
    forces = (GroundReaction("plate 1", TIME, FORCE, POINT),) if plates else ()
    return Recording("walk", "walk.trc", W.rate * pace, W.time / pace, markers, forces=forces)


MEASURED = ["bmc_Gait.c3d", "gatk_rawdata.txt", "rajagopal_markers_walk.trc", "subject01_walk_free_01.trc"]


@needs_raw
@pytest.mark.parametrize("name", MEASURED)
def test_a_floor_above_the_markers_of_the_foot_is_not_the_floor(name):
    """No marker is in the floor: one that is 45 mm too high is found from the lowest marker, to 12 mm."""
    trial = read_recording(RAW / name)
    options = Options(static=read_recording(RAW / "subject01_static.trc") if name.startswith("subject01") else None)
    whole = leg_of(trial, "right", options)
    sunk = {k: x - 0.045 * whole.axes.rotation[1] for k, x in trial.markers.items()}
    found = leg_of(dataclasses.replace(trial, markers=sunk), "right", options)
    floor_warnings = [[line for line in leg.warnings if "the floor is not at" in line] for leg in (whole, found)]
    assert [len(lines) for lines in floor_warnings] == [0, 1]
    np.testing.assert_allclose(found.hip[:, 1], whole.hip[:, 1], atol=0.012)


def warnings_of(trial: Recording) -> list[str]:
    return [line for line in measure([trial]).warnings if any(word in line for word in WORDS)]


@pytest.mark.parametrize("plates", [True, False])
def test_sound_markers_cause_no_warning(plates):
    assert not warnings_of(recording(plates=plates))


@pytest.mark.parametrize(
    ("moved", "late", "expected"),
    [
        (FEET, 0.05, "the ankle lags the knee"),
        (FEET, -0.05, "the knee lags the ankle"),
        (("RHEE", "RTOE"), 0.05, "the heel lags the ankle"),
        (("RASI", "LASI", "RPSI", "LPSI"), 0.05, "the hip lags the knee"),
    ],
)
def test_markers_that_lag_others_are_warned_of_with_the_time(moved, late, expected):
    (line,) = warnings_of(recording(moved, late, plates=False))
    assert line.startswith(f"right leg: {expected} by about ")
    assert float(line.split("about ")[1].split()[0]) == pytest.approx(50.0, abs=8.0)


@pytest.mark.slow
@pytest.mark.parametrize("pace", [0.5, 1.0, 2.0])
def test_a_lag_is_judged_by_the_stride(pace):
    """At half the frame rate, every lag is twice as long; markers of one stride have up to 1.3 % of it."""
    pelvis = ("RASI", "LASI", "RPSI", "LPSI")
    lags = lambda late: [
        line for line in warnings_of(recording(pelvis, late, pace=pace, plates=False)) if "lag" in line
    ]
    assert not lags(0.015) and len(lags(0.05)) == 1


def _lags(trial: Recording, side: str, options: Options) -> list[str]:
    return [x for x in leg_warnings.marker_warnings(leg_of(trial, side, options), options, 1.15) if " lags the " in x]


@pytest.mark.slow
@needs_raw
@pytest.mark.parametrize("late", [-0.03, 0.0, 0.03])
@pytest.mark.parametrize("name", [*MEASURED, "subject01_walk1.trc"])
def test_markers_of_measured_walks_that_are_late_by_30_ms_are_warned_of(name, late):
    """Those of the shank's end and the foot together; a limit of 2.5 % of the stride (29 ms) missed one in five."""
    trial = read_recording(RAW / name)
    options = Options(static=read_recording(RAW / "subject01_static.trc") if name.startswith("subject01") else None)
    for side in ("right",) if name.startswith("gatk") else ("right", "left"):
        roles = find(trial.markers, side, options.static is not None).roles
        moved = [x for k, x in roles.items() if k.startswith(("ankle", "heel", "toe"))]
        after = lambda x: np.stack([np.interp(trial.time - late, trial.time, column) for column in x.T], axis=1)
        markers = trial.markers | {k: after(trial.markers[k]) for k in moved}
        assert bool(_lags(dataclasses.replace(trial, markers=markers), side, options)) == bool(late)


@pytest.mark.parametrize(("late", "word"), [(0.06, "behind"), (-0.06, "ahead of")])
def test_markers_and_plates_that_are_out_of_step_are_warned_of(late, word):
    trial = recording()
    plate = trial.forces[0]
    (line,) = warnings_of(dataclasses.replace(trial, forces=(plate._replace(time=plate.time - late),)))
    assert f"{word} the plates" in line


@pytest.mark.parametrize("pace", [1.2, 1 / 1.2])
def test_a_frame_rate_that_plates_contradict_is_warned_of(pace):
    (line,) = (line for line in warnings_of(recording(pace=pace)) if "stance lasts" in line)
    assert float(line.split("frames at ")[1].split()[0]) == pytest.approx(W.rate, abs=10.0)


def test_an_asis_that_is_low_is_warned_of():
    (line,) = warnings_of(recording(low=0.03, plates=False))
    assert "the right ASIS is 30 mm lower than the left one" in line
    assert not warnings_of(recording(low=0.015, plates=False))


def swapped(w: walker.Walker, *pairs: tuple[str, str]) -> Recording:
    other = dict(pairs) | {b: a for a, b in pairs}
    return Recording("walk", "walk.trc", w.rate, w.time, {k: w.markers[other.get(k, k)] for k in w.markers})


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("RANK", "RHEE")], "the heel is 0.030 m ahead of the ankle: were markers of heel and ankle swapped?"),
        ([("RANK", "RTOE")], "the toe is 0.070 m behind the ankle: were markers of toe and ankle swapped?"),
        ([("RKNE", "LKNE")], "right leg are beyond the middle of the pelvis: RKNE by 140 mm: were the labels"),
        ([("RANK", "LANK")], "right leg are beyond the middle of the pelvis: RANK by 140 mm: were the labels"),
        ([("RKNE", "LKNE"), ("RANK", "LANK")], "RKNE by 140 mm, RANK by 140 mm"),
    ],
)
def test_swapped_labels_are_warned_of(pairs, expected):
    assert sum(expected in line for line in measure([swapped(W, *pairs)]).warnings) == 1


@pytest.mark.parametrize("rate", [25.0, 100.0])
@pytest.mark.parametrize("pair", [("RKNE", "RTIAP"), ("RANK", "RHEE"), ("RASI", "RPSI")])
def test_labels_that_are_swapped_for_a_while_are_warned_of(pair, rate):
    """No marker is fast, and the knee was wrong by up to 5 degrees; also where the markers are lost before."""
    w = walker.walker(rate=rate, duration=2.0, seed=1)
    one, other = (w.markers[name].copy() for name in pair)
    one[10:], other[10:] = other[10:].copy(), one[10:].copy()
    for lost in (0, 3):
        one[10 : 10 + lost] = np.nan
        trial = Recording("walk", "walk.trc", w.rate, w.time, w.markers | dict(zip(pair, (one, other), strict=True)))
        (line,) = (x for x in leg_of(trial, "right").warnings if "the distance of markers on one segment jumps" in x)
        assert any(f"{name} " in line for name in pair)
    assert not [x for x in leg_of(swapped(w), "right").warnings if "the distance of markers" in x]


def test_a_shank_without_length_is_warned_of():
    """Knee and ankle were swapped on one side of the leg only."""
    (line,) = leg_warnings.segment_warnings({"thigh_m": 0.6, "shank_m": 0.0}, None)
    assert line.startswith("a thigh of 0.600 m on a shank of 0.000 m")


@pytest.mark.parametrize("treadmill", [False, True])
@pytest.mark.parametrize("frames", [3, 15])
def test_a_marker_that_holds_its_position_is_missing_there(frames, treadmill):
    """In swing, where 0.15 s of it make the knee wrong by 13 degrees."""
    w = walker.walker(treadmill=treadmill)
    stuck = w.markers["RKNE"].copy()
    stuck[175 : 175 + frames] = stuck[174]
    leg = leg_of(Recording("walk", "walk.trc", w.rate, w.time, w.markers | {"RKNE": stuck}), "right")
    assert repeated_positions(stuck, w.rate) == [(175, 175 + frames)]
    line = f"markers repeat a position while they move: RKNE for {0.01 * frames:.2f} s from 1.75 s"
    assert sum(x.startswith(line) for x in leg.warnings) == 1
    np.testing.assert_allclose((leg.thigh - leg.shank)[150:215], w.knee[150:215], atol=np.radians(1.5))


@pytest.mark.parametrize("code", [9.999999, -0.001])
@pytest.mark.parametrize("first", [0, 175, 385])
def test_a_code_for_missing_values_is_missing_from_its_first_frame(code, first):
    knee = W.markers["RKNE"].copy()
    knee[first : first + 15] = code
    leg = leg_of(Recording("walk", "walk.trc", W.rate, W.time, W.markers | {"RKNE": knee}), "right")
    assert any(line.startswith("markers repeat a position while they move: RKNE for 0.15 s") for line in leg.warnings)
    assert not any("jump" in line for line in leg.warnings)
    error = (leg.thigh - leg.shank - W.knee)[20:-20]
    assert np.nanmax(np.abs(error)) < np.radians(2.0)


@pytest.mark.parametrize("end", ["a gap", "the last frame", "where it was lost"])
def test_a_marker_that_repeats_its_position_without_a_jump_is_left_behind_by_its_segment(end):
    stuck = W.markers["RKNE"].copy()
    last = len(stuck) if end == "the last frame" else 190
    stuck[175:last] = stuck[174]
    if end == "a gap":
        stuck[190:192] = np.nan
    if end == "where it was lost":
        stuck[190:205] = np.linspace(stuck[174], stuck[204], 16)[1:]
    leg = leg_of(Recording("walk", "walk.trc", W.rate, W.time, W.markers | {"RKNE": stuck}), "right")
    line = f"markers repeat a position while they move: RKNE for {0.01 * (last - 175):.2f} s from 1.75 s"
    assert sum(x.startswith(line) for x in leg.warnings) == 1


def test_a_marker_that_never_moves_is_left_behind():
    stuck = np.tile(W.markers["RKNE"][:1], (W.time.size, 1))
    assert repeated_positions(stuck, W.rate, neighbour=W.markers["RANK"]) == [(1, W.time.size)]


@needs_raw
@pytest.mark.parametrize("file", ["rajagopal_markers_walk.trc", "bmc_Gait.c3d"])
def test_no_marker_of_a_measured_walk_repeats_its_position(file):
    assert not [line for line in leg_of(read_recording(RAW / file), "right").warnings if "repeat a position" in line]


@pytest.mark.parametrize("rate", [50.0, 100.0, 500.0])
@pytest.mark.parametrize("digits", [2, 3])
@pytest.mark.parametrize("treadmill", [False, True])
def test_coarse_positions_of_a_standing_foot_are_not_lost(rate, digits, treadmill):
    """Files in cm or mm without decimals repeat positions, and feet that stand exactly get going smoothly."""
    w = walker.walker(rate=rate, treadmill=treadmill)
    rounded = {k: x.round(digits) for k, x in w.markers.items()}
    assert without_repeats(Recording("walk", "walk.trc", rate, w.time, rounded), list(rounded))[1] == []
    time = np.arange(0.0, 2.0, 1 / rate)
    way = np.where(time < 1.0, 0.0, 0.6 * (1 - np.cos(np.pi * np.clip((time - 1.0) / 0.4, 0.0, 1.0))))
    assert not repeated_positions(way[:, None] * [1.0, 0.2, 0.0], rate)


def test_gaps_are_filled_no_worse_at_higher_rates():
    """Gaps of 0.19 s in the knee with 1 mm of noise: 13 mm in the median at 100 Hz, and 4 mm without noise."""
    assert _filled(100.0, noise=0.0) < 4e-3
    errors = [_filled(rate, noise=1e-3) for rate in (100.0, 200.0, 500.0, 1000.0)]
    assert errors[0] < 14e-3 and max(errors) == errors[0]


def _filled(rate: float, noise: float) -> float:
    """Median over gaps at 20 times of the largest error in m."""
    track, errors = walker.walker(rate=rate, duration=3.0).markers["RKNE"], []
    for seed in range(20):
        start = int((0.6 + 0.08 * seed) * rate)
        gap = slice(start, start + int(0.19 * rate))
        holed = track + noise * np.random.default_rng(seed).standard_normal(track.shape)
        holed[gap] = np.nan
        errors.append(np.abs(fill(holed, rate).values[gap] - track[gap]).max())
    return float(np.median(errors))


@needs_raw
@pytest.mark.parametrize(("marker", "length", "limit"), [("Knee", 0.1, 2), ("Knee", 0.2, 6), ("Toe", 0.2, 14)])
def test_gaps_in_a_measured_walk_are_filled_as_well_as_by_a_spline(marker, length, limit):
    """Median over gaps in both legs of the largest error in mm, after the low-pass.

    Polynomials of degree 7 over 0.09 s on each side have 1.7, 8 and 20 mm in knee, knee and toe.
    """
    trial, errors = read_recording(RAW / "rajagopal_markers_walk.trc"), []
    for track in (trial.markers[f"{side}.{marker}"] for side in "RL"):
        for start in range(20, len(track) - 45, 4):
            gap = slice(start, start + round(length * trial.rate))
            holed = track.copy()
            holed[gap] = np.nan
            filled = lowpass(fill(holed, trial.rate).values, trial.rate)
            errors.append(np.abs(filled - lowpass(track, trial.rate))[gap].max())
    assert np.median(errors) < 1e-3 * limit


@pytest.mark.parametrize("before", [1, 2, 5])
@pytest.mark.parametrize("rate", [50.0, 500.0])
def test_a_gap_soon_after_the_first_frame_does_not_swing_out(before, rate):
    track = walker.walker(rate=rate).markers["RKNE"]
    start = int(1.45 * rate)
    holed = track[start:] + 3e-4 * np.random.default_rng(0).standard_normal(track[start:].shape)
    gap = slice(before, before + int(0.1 * rate))
    holed[gap] = np.nan
    assert np.abs(fill(holed, rate).values[gap] - track[start:][gap]).max() < 0.03


def on_a_path(w: walker.Walker, turn: float) -> Recording:
    """A walk on a treadmill as one that turns evenly by an angle in rad while it lasts."""
    heading = np.linspace(0.0, turn, w.time.size)
    way = np.cumsum(np.stack([np.cos(heading), 0 * heading, -np.sin(heading)], axis=1), axis=0) * w.speed / w.rate
    c, s = np.cos(heading), np.sin(heading)
    around = lambda x: np.stack([c * x[:, 0] + s * x[:, 2], x[:, 1], c * x[:, 2] - s * x[:, 0]], axis=1)
    return Recording("walk", "walk.trc", w.rate, w.time, {k: way + around(x) for k, x in w.markers.items()})


def test_a_walk_on_a_curve_is_warned_of():
    """A knee of 64 deg was 59 deg, because the pelvis was up to 40 deg off the plane."""
    w = walker.walker(duration=12.0, treadmill=True)
    said = lambda turn: [x for x in measure([on_a_path(w, turn)]).warnings if "faces off the direction of travel" in x]
    (line,) = said(np.pi / 2)
    assert line.startswith("the pelvis faces off the direction of travel in 6 strides (-33 deg at 1.1")
    assert not said(0.0) and not said(np.radians(25.0))


@pytest.mark.parametrize(("wide", "said"), [(0.0, True), (1.0, False), (1.7, True)])
def test_a_pelvis_of_an_unusual_width_is_warned_of(wide, said):
    """Without z, as in films, the hip joint centre was 90 mm too high. (The markers have noise of 1 mm.)"""
    flat = {k: x * [1.0, 1.0, wide] for k, x in W.markers.items()}
    leg = leg_of(Recording("walk", "walk.trc", W.rate, W.time, flat), "right")
    found = [x for x in leg_warnings.marker_warnings(leg, Options(), W.period) if "both ASIS are" in x]
    assert [x.split(" mm apart")[0] for x in found] == ([f"both ASIS are {250 * wide or 2:.0f}"] if said else [])


@pytest.mark.parametrize(
    ("moved", "by", "said"),
    [
        ((), [0, 0, 0], ""),
        (("RKNE", "RKNEM"), [0, 0.03, 0], "hip to knee 3"),
        (("LHEE",), [-0.03, 0, 0], "ankle to heel "),
    ],
)
def test_sides_that_differ_are_warned_of(moved, by, said):
    """A knee marker that is 30 mm too high makes the knee wrong by 3 degrees."""
    markers = {k: x + np.array(by) if k in moved else x for k, x in W.markers.items()}
    walk = measure([Recording("walk", "walk.trc", W.rate, W.time, markers)])
    found = [x for x in walk.warnings if x.startswith("the right leg and the left one differ: ")]
    assert [said in x for x in found] == ([True] if said else [])


@pytest.mark.parametrize(("raised", "said"), [(0.0, ""), (0.08, "falls by 22 deg"), (-0.05, "rises by 14 deg")])
def test_a_foot_that_is_not_flat_where_it_is_taken_to_be_is_warned_of(raised, said):
    """Somebody who walks on the toes had a normal ankle angle, because it counts from the foot in mid-stance."""
    markers = W.markers | {"RHEE": W.markers["RHEE"] + np.array([0.0, raised, 0.0])}
    walk = measure([Recording("walk", "walk.trc", W.rate, W.time, markers)])
    found = [x for x in walk.warnings if "where the foot is taken to be flat" in x]
    assert [said in x for x in found] == ([True] if said else [])


def test_strides_of_a_runner_are_no_walk():
    """Nothing but the times and the speed was unusual, as of a fast walk."""
    walk = measure([recording(plates=False)])
    short = [dataclasses.replace(s, toe_off=0.36) for s in walk.kept]
    (line,) = (x for x in leg_warnings.stride_warnings(short) if "stance" in x)
    assert line.startswith("stance lasts 36% of the stride, less than in any walk: running, or wrong events?")
    assert not [x for x in leg_warnings.stride_warnings(walk.kept) if "stance" in x]


@pytest.mark.parametrize("times", [1, 2, 4])
def test_frames_that_are_written_twice_are_warned_of(times):
    of = lambda x: x[np.arange(x.shape[0]) // times * times]
    angles = {"hip_flexion_r": W.thigh, "knee_angle_r": W.knee}
    for trial in (swapped(W), Recording("walk", "walk.mot", W.rate, W.time, angles=angles)):
        held = dataclasses.replace(
            trial,
            markers={k: of(x) for k, x in trial.markers.items()},
            angles={k: of(x) for k, x in trial.angles.items()},
        )
        count = W.time.size - W.time.size // times
        found = [x.split(" repeat the one")[0] for x in frame_warnings(held)]
        assert found == ([f"{count} of 400 frames"] if times > 1 else [])
    still = {k: x.round(2) for k, x in W.markers.items()}
    assert not frame_warnings(Recording("walk", "walk.trc", W.rate, W.time, still))


@needs_raw
@pytest.mark.parametrize("name", MEASURED[:3])
def test_nothing_of_this_is_said_of_measured_walks(name):
    words = (
        "faces off",
        "both ASIS",
        "stance lasts",
        "repeat the one",
        "lags",
        "nobody walks",
        "distance of markers",
        "flat",
    )
    assert not [x for x in measure([read_recording(RAW / name)]).warnings if any(word in x for word in words)]


def test_legs_that_lean_are_warned_of():
    """A laboratory whose axes are tilted by 40 degrees: its axis nearest to upward is not up."""
    tilt = np.radians(40.0)
    lab = np.array([[1.0, 0, 0], [0, np.cos(tilt), -np.sin(tilt)], [0, np.sin(tilt), np.cos(tilt)]])
    warnings = leg_of(swapped(walker.turned(W, lab)), "right").warnings
    assert any(line.startswith("the legs lean by 3") and line.endswith("is it a walk?") for line in warnings)
    assert not any("legs lean" in line for line in leg_of(swapped(W), "right").warnings)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_hip_and_a_knee_that_are_never_seen_together_make_no_stride():
    """NumPy warned of the mean of their distances."""
    late = W.time > 2.0
    lost = {k: np.where((late if k == "RASI" else ~late)[:, None], np.nan, W.markers[k]) for k in ("RASI", "RKNE")}
    trial = Recording("walk", "walk.trc", W.rate, W.time, W.markers | lost)
    with pytest.raises(MotionFormatError, match=r"no whole stride|no stride is usable"):
        measure([trial])
