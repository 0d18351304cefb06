"""Measured walks as tables: spatiotemporal parameters, symmetry, curves over the gait cycle and over time."""

import dataclasses
import warnings

import jaxtyping
import numpy as np
import pytest
import xarray as xr

from jaxgait.motion import MotionWarning
from jaxgait.motion.capture import tables
from jaxgait.motion.capture.coordinates import leg_angles
from jaxgait.motion.capture.leg import Options
from jaxgait.motion.capture.strides import FLAT
from jaxgait.motion.capture.tables import SPATIOTEMPORAL, side_means, spatiotemporal, stride_curves, trial_curves
from jaxgait.motion.capture.treadmill import belt_of
from jaxgait.motion.capture.trials import together
from jaxgait.motion.capture.walk import measure, measure_both
from jaxgait.motion.drive import reference_gait, synthetic_recording
from jaxgait.motion.readers import read_recording
from jaxgait.motion.recording import GroundReaction, Recording
from tests.motion import walker
from tests.motion.measured import RAW, needs_raw

W = walker.walker(duration=5.0)
WIDTH = 2 * (0.33 * walker.WIDTH + 0.0073)
"""Distance in m between the walker's feet, to the right."""


def _recording(markers=W.markers) -> Recording:
    return Recording("walk", "walk.trc", W.rate, W.time, markers=markers)


@pytest.fixture(scope="module")
def both():
    return measure_both([_recording()], Options(cutoff=None))


def test_steps_of_a_known_walk(both):
    table = spatiotemporal(*both.values())
    assert table.side.values.tolist() == ["right"] * 3 + ["left"] * 3
    np.testing.assert_allclose(table.stride_time, W.period, rtol=1e-3)
    np.testing.assert_allclose(table.cadence, 120 / W.period, rtol=1e-3)
    np.testing.assert_allclose(table.stride_length, W.speed * W.period, rtol=1e-3)
    np.testing.assert_allclose(table.speed, W.speed, rtol=2e-3)
    np.testing.assert_allclose(table.step_time, 0.5 * W.period, rtol=1e-3)
    np.testing.assert_allclose(table.step_width, WIDTH, atol=1e-4)
    np.testing.assert_allclose(table.stance + table.swing, 100.0)
    # half of the overlap of two stances that are half a stride apart is what each exceeds half a stride by
    np.testing.assert_allclose(table.double_support, 2 * (table.stance - 50.0), atol=0.1)
    for i, (side, name, other) in enumerate([("right", "RHEE", "LHEE"), ("left", "LHEE", "RHEE")]):
        stride = both[side].kept[0]
        flat = np.linspace(0.0, stride.period, 101)[FLAT]
        at = lambda marker, start, flat=flat: np.mean(np.interp(start + flat, W.time, W.markers[marker][:, 0]))
        length = at(name, stride.start + stride.period) - at(other, stride.start + 0.5 * W.period)
        assert table.step_length.values[3 * i] == pytest.approx(length, abs=2e-3)


def test_symmetry_of_known_means():
    means = side_means(spatiotemporal(*measure_both([_recording()]).values()))
    right, left = means.step_length.sel(side=["right", "left"]).values
    assert means.step_length_symmetry_index.item() == pytest.approx(200 * (right - left) / (right + left))
    assert means.step_length_ratio.item() == pytest.approx(right / left)
    assert means.strides.values.tolist() == [3, 3] and (means.stride_time_sd < 1e-3).all()


def test_a_step_to_gait_has_no_ratio_of_step_lengths():
    table = xr.Dataset({k: ("stride", [0.5, 0.0]) for k in SPATIOTEMPORAL}, {"side": ("stride", ["right", "left"])})
    assert side_means(table).step_length_ratio == np.inf and side_means(table).step_length_symmetry_index == 200.0


def test_a_path_that_is_oblique_changes_no_step(both):
    turn = np.radians(8.0)
    rotation = np.array([[np.cos(turn), 0, -np.sin(turn)], [0, 1, 0], [np.sin(turn), 0, np.cos(turn)]])
    turned = {k: x @ rotation.T for k, x in W.markers.items()}
    oblique = spatiotemporal(*measure_both([_recording(turned)], Options(cutoff=None)).values())
    for name in ("step_length", "step_width", "stride_length"):
        np.testing.assert_allclose(oblique[name], spatiotemporal(*both.values())[name], atol=1e-4)


def test_one_leg_alone_has_strides_but_no_steps():
    alone = {k: x for k, x in W.markers.items() if not k.startswith("L") or k in ("LASI", "LPSI")}
    table = spatiotemporal(measure([_recording(alone)]))
    assert np.isfinite(table.stride_length).all() and np.isnan(table.step_length).all()
    assert np.isnan(spatiotemporal(measure([synthetic_recording(reference_gait())])).double_support).all()


def test_steps_are_by_the_motion_if_only_one_foot_is_on_a_plate(both):
    plate = GroundReaction("plate", *walker.pressed(W))
    walks = measure_both([dataclasses.replace(_recording(), forces=(plate,))], Options(cutoff=None))
    table, alone = (spatiotemporal(*x.values()) for x in (walks, both))
    for name in ("step_time", "double_support"):
        np.testing.assert_allclose(table[name], alone[name], rtol=1e-6)
    for walk in walks.values():
        (line,) = [x for x in walk.warnings if "cannot be compared" in x]
        assert line.startswith("the right foot's heel strikes are by force, the left foot's by the motion")
    assert not any("cannot be compared" in x for x in both["right"].warnings)


@needs_raw
@pytest.mark.parametrize("kept", [0, 1])
def test_a_measured_walk_has_the_same_step_times_with_either_plate(kept):
    files = [read_recording(RAW / f) for f in ("rajagopal_markers_walk.trc", "rajagopal_grf_walk.mot")]
    (trial,) = together(files)
    walks = measure_both([dataclasses.replace(trial, forces=(trial.forces[kept],))])
    assert spatiotemporal(*walks.values()).step_time.values == pytest.approx([0.5755, 0.5753], abs=0.005)
    assert all(any("stance and swing of the sides cannot be compared" in x for x in w.warnings) for w in walks.values())


def test_lengths_on_a_belt_are_those_overground(both):
    """The feet of this walker move on their belt: 1.23 m/s on the right, 1.33 on the left, 1.256 in truth."""
    w = walker.walker(duration=5.0, treadmill=True)
    trial = Recording("walk", "walk.trc", w.rate, w.time, markers=w.markers)
    walks = measure_both([trial], Options(cutoff=None))
    given = measure_both([trial], Options(cutoff=None), speed=W.speed)
    assert walks["right"].belt == walks["left"].belt == pytest.approx(W.speed, rel=0.02)
    for measured, rtol in ((walks, 0.02), (given, 2e-3)):
        belt, ground = (spatiotemporal(*x.values()) for x in (measured, both))
        np.testing.assert_allclose(belt.stride_length, ground.stride_length, rtol=rtol)
        np.testing.assert_allclose(belt.step_length, ground.step_length, rtol=1.5 * rtol)
    words = "by the left foot; the mean is used: a split belt"
    assert all(any(words in x for x in walk.warnings) for walk in walks.values())
    assert not any("split belt" in x for walk in given.values() for x in walk.warnings)


def test_a_belt_whose_speed_follows_from_generic_lengths_is_warned_of():
    """In the treadmill walk of OpenSim's subject01, joint angles give 1.106 m/s, and markers 1.139 m/s."""
    w = walker.walker(treadmill=True, duration=3.0)
    angles = leg_angles(*w.hip.T, w.thigh, w.knee, w.ankle)
    trial = Recording("ik", "ik.mot", w.rate, w.time, angles=angles)
    said = lambda **given: sum("follows from generic segment lengths" in x for x in measure([trial], **given).warnings)
    assert said() == 1 and said(speed=1.26) == 0


def test_sides_on_a_split_belt_have_their_own_speeds():
    speeds = {"right": 0.5, "left": 1.0}
    assert [belt_of(side, speeds).speed for side in speeds] == [0.5, 1.0]
    assert "each side has its own speed" in belt_of("left", speeds).warnings[0]
    assert belt_of("left", {"right": 1.25, "left": np.nan}) == belt_of("left", {"right": 1.25}) == (1.25, ())


def test_a_heel_that_is_not_seen_makes_no_step_lengths():
    """An ankle is not compared with the other foot's heel; nothing is computed of markers without a position."""
    unseen = {"LHEE": np.full_like(W.markers["LHEE"], np.nan)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        table = spatiotemporal(measure([_recording(W.markers | unseen)]))
    assert np.isnan(table.step_length).all() and np.isnan(table.step_width).all()
    assert np.isfinite(table.stride_length).all() and np.isfinite(table.step_time).all()


def test_tables_take_the_walks_of_measure_both_as_they_are(both):
    for tabulated in (spatiotemporal, stride_curves):
        xr.testing.assert_identical(tabulated(both), tabulated(*both.values()))
        with pytest.raises(ValueError, match="give at least one walk"):
            tabulated()
    with pytest.raises(ValueError, match=r"there is no trial 3: walk right has 1 trial, counted from 0"):
        trial_curves(both["right"], 3)


def test_what_is_no_walk_or_trial_is_named(both, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # (the types of arguments are checked in tests)
    for tabulated in (spatiotemporal, stride_curves):
        with pytest.raises(TypeError, match=r"give walks, as from `measure` .*, one after the other, got"):
            tabulated([*both.values()])
    with pytest.raises(ValueError, match="trial must be a whole number, at least 0, got '0'"):
        trial_curves(both["right"], "0")


def test_tables_name_the_files_they_are_of():
    trials = [dataclasses.replace(_recording(), name=x, file=f"{x}.trc") for x in ("one", "two")]
    walk = measure(trials, options=Options(cutoff=None))
    assert spatiotemporal(walk).attrs["files"] == "one.trc, two.trc"
    assert trial_curves(walk, 1).attrs["files"] == "two.trc"


def test_curves_have_units_and_are_kept(both, tmp_path):
    curves = stride_curves(*both.values())
    curves.to_netcdf(tmp_path / "walk.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "walk.nc", engine="h5netcdf") as kept:
        xr.testing.assert_identical(kept.load(), curves)
    assert dict(curves.sizes) == {"stride": 6, "percent": 101} and all("units" in curves[k].attrs for k in curves)
    first = both["right"].kept[0]
    np.testing.assert_allclose(curves.knee_angle[0], np.degrees(first.signals["knee_rad"]))
    np.testing.assert_allclose(curves.pelvis_tilt, 0.0, atol=1e-9)  # its pelvis stays level
    np.testing.assert_allclose(curves.hip_flexion, curves.thigh_angle, atol=1e-9)
    assert set(both["right"].to_dataset().side.values) == {"right"} and "knee_angle" in curves.to_dataframe()


def test_a_pelvis_that_tilts_forward_flexes_the_hip():
    w, tilt = W, np.radians(10.0)
    middle = 0.5 * (w.markers["RPSI"] + w.markers["LPSI"])
    arm = {k: w.markers[k] - middle for k in ("RASI", "LASI")}
    down = np.array([[np.cos(tilt), np.sin(tilt), 0], [-np.sin(tilt), np.cos(tilt), 0], [0, 0, 1]])
    tilted = w.markers | {k: middle + x @ down.T for k, x in arm.items()}
    curves = stride_curves(measure([_recording(tilted)], options=Options(cutoff=None)))
    np.testing.assert_allclose(curves.pelvis_tilt, 10.0, atol=1e-6)
    np.testing.assert_allclose(curves.hip_flexion - curves.thigh_angle, 10.0, atol=1e-6)


def test_a_trial_over_time(both):
    trial = trial_curves(both["right"])
    np.testing.assert_allclose(trial.knee_angle, np.degrees(W.knee), atol=1e-4)
    strikes = (trial.event_name == "heel strike") & (trial.event_side == "right")
    np.testing.assert_allclose(trial.event_time[strikes], both["right"].events[0].strikes)
    stride = both["right"].kept[0]
    foot = np.interp(np.linspace(stride.start, stride.start + stride.period, 101), trial.time, trial.foot_angle)
    np.testing.assert_allclose(foot, np.degrees(stride.signals["foot_rad"]), atol=0.2)


@needs_raw
def test_a_measured_walk_has_the_steps_that_its_markers_show():
    """Cadence and footprints worked out from the raw markers and forces of Rajagopal's trial, not by this library."""
    files = ("rajagopal_markers_walk.trc", "rajagopal_grf_walk.mot")
    table = spatiotemporal(*measure_both([read_recording(RAW / file) for file in files]).values())
    assert table.cadence.values == pytest.approx([104.8, 104.3], abs=0.1)
    assert table.step_length.values == pytest.approx([0.707, 0.727], abs=0.003)
    assert table.step_width.values == pytest.approx([0.12, 0.12], abs=0.005)


@needs_raw
def test_hip_flexion_is_near_that_of_inverse_kinematics():
    """Of the same trial, less the constant difference between the line from PSIS to ASIS and OpenSim's pelvis."""
    solved = measure([read_recording(RAW / "subject01_walk_IK.mot")])
    options = Options(static=read_recording(RAW / "subject01_static.trc"))
    marked = measure([read_recording(RAW / "subject01_walk1.trc")], options=options)
    ours, theirs = (trial_curves(walk) for walk in (marked, solved))
    for name, limit in (("hip_flexion", 4.0), ("pelvis_tilt", 2.0)):
        apart = np.interp(ours.time, theirs.time, theirs[name], np.nan, np.nan) - ours[name].values
        assert np.nanstd(apart) < limit


def _turning(start: float) -> Recording:
    """The walker, who turns around after a time in s, within 0.7 s, while the hip slows down and goes back."""
    share = np.clip((W.time - start) / 0.7, 0.0, 1.0)
    angle = np.pi * share**2 * (3 - 2 * share)
    speed = W.speed * np.where(W.time > start, np.cos(angle), 1.0)
    hip = np.interp(W.time, W.time, W.hip[:, 0])
    way = np.where(
        W.time > start, np.interp(start, W.time, hip) + np.cumsum(np.where(W.time > start, speed, 0.0)) / W.rate, hip
    )
    cos, sin = np.cos(angle), np.sin(angle)
    turned = {}
    for name, at in W.markers.items():
        x, z = at[:, 0] - hip, at[:, 2]
        turned[name] = np.column_stack([way + cos * x + sin * z, at[:, 1], cos * z - sin * x])
    return _recording(turned)


def test_lengths_of_the_last_stride_before_a_turn(both):
    """The footprint at its end is of a foot that pivots: it is taken at the strike."""
    end = both["right"].kept[-1]
    last = end.start + end.period
    table = spatiotemporal(measure([_turning(last + 0.05)], options=Options(cutoff=None)))
    there = np.abs(table.start.values - end.start) < 0.01
    assert there.sum() == 1
    at = lambda marker, time: np.interp(time, W.time, W.markers[marker][:, 0])
    strike = next(t for t in both["left"].events[0].strikes if end.start < t < last)
    assert table.stride_length[there].item() == pytest.approx(W.speed * W.period, abs=3e-3)
    assert table.step_length[there].item() == pytest.approx(at("RHEE", last) - at("LHEE", strike), abs=3e-3)
    assert table.step_width[there].item() == pytest.approx(WIDTH, abs=3e-3)
    assert not table.attrs["warnings"].count("footprints and hip")


def test_a_heel_may_drift_steadily_on_a_belt_only():
    """The speed of a belt is uncertain; here it is wrong by 10 %, so that a standing heel drifts by 26 mm."""
    times = np.linspace(0.0, 0.2, 16)
    drift, pivot = (np.stack([x, 0.0 * x], axis=1) for x in (0.1 * 1.3 * times, 0.04 * np.sin(np.pi * times / 0.2)))
    assert tables._stands(drift, times, belt=1.3) and not tables._stands(drift, times, belt=0.0)
    assert not tables._stands(pivot, times, belt=1.3)
    assert not tables._stands(drift[:, ::-1], times, belt=1.3)  # to the side


def test_footprints_that_contradict_the_hip_are_warned_of(both):
    walk = both["right"]
    slow = tuple(dataclasses.replace(s, hip_speed=0.9 * s.hip_speed) for s in walk.strides)
    with pytest.warns(MotionWarning, match=r"footprints and hip show different speeds \(right at 1\.") as caught:
        table = spatiotemporal(dataclasses.replace(walk, strides=slow))
    assert caught[0].filename == __file__ and "footprints and hip" in table.attrs["warnings"]
