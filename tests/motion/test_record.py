"""Walks as files: what is written is read, what is wrong is named, harmonics are as many as are worth it."""

import dataclasses
import json

import numpy as np
import pytest

from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.walk import measure, walk_stride
from jaxgait.motion.drive import REFERENCE_GAITS, reference_gait, stride_drive, verdict_drive
from jaxgait.motion.harmonics import choose_harmonics
from jaxgait.motion.naming import motion_drive
from jaxgait.motion.record import (
    check_record,
    read_record,
    record_stride,
    record_strides,
    stride_record,
    walk_record,
    write_record,
)
from jaxgait.motion.recording import GroundReaction, Recording
from jaxgait.motion.stride import SIGNALS, Person, Series, embedded_stride, sampled
from jaxgait.motion.verdict import judge
from tests.motion import walker
from tests.motion.measured import GAIT


@pytest.fixture(scope="module")
def walk():
    w = walker.walker(duration=7.0, seed=2)
    return measure([Recording("walk", "walk.trc", w.rate, w.time, markers=w.markers)], mass=walker.MASS)


def test_what_is_written_is_read(walk, tmp_path):
    record = walk_record(walk)
    write_record(record, tmp_path / "walk.json")
    back = read_record(tmp_path / "walk.json")
    assert back == json.loads(json.dumps(record))
    before, after = stride_drive(walk_stride(walk)), motion_drive(str(tmp_path / "walk.json"))
    for name in ("hip_x", "hip_y", "thigh", "knee", "ankle"):
        a, b = getattr(before, name), getattr(after, name)
        np.testing.assert_allclose([a.a0, *a.a, *a.b], [b.a0, *b.a, *b.b], atol=1e-12)
    assert (before.period, before.speed, before.person) == (after.period, after.speed, after.person)
    assert after.person.mass == walker.MASS and after.person.thigh == pytest.approx(walker.THIGH, abs=2e-3)


def test_the_fields_are_those_of_the_shipped_gaits(walk):
    record = walk_record(walk, 8)
    assert {"name", "source", "convention", "period_T_s", "speed_m_s", "n_harmonics", "signals", "segments"} <= set(
        record
    )
    assert len(record["signals"]["knee_rad"]["a"]) == record["n_harmonics"] == 8
    assert len(record_strides(record)) == len(walk.kept)
    assert record["key_figures"]["n_strides"] == len(walk.kept)


def test_harmonics_are_those_that_the_samples_determine(walk):
    record = walk_record(walk, 49)
    assert len(record["signals"]["knee_rad"]["a"]) == record["n_harmonics"] == 49
    for count in (50, 60):
        with pytest.raises(ValueError, match=f"harmonics must be at most 49, got {count}; 6 to 8 are usual"):
            walk_record(walk, count)


@pytest.mark.skipif(not GAIT.is_dir(), reason="the measured files are not here")
@pytest.mark.parametrize("name", REFERENCE_GAITS)
def test_shipped_files_are_read(name):
    drive, reference = motion_drive(str(GAIT / f"{name}_fourier.json")), reference_gait(name)
    np.testing.assert_allclose(drive.knee.a, reference.knee.a, atol=1e-9)
    np.testing.assert_allclose(drive.hip_y.b, reference.hip_y.b, atol=1e-9)
    assert drive.period == pytest.approx(reference.period) and drive.person is not None


def test_joint_moments_are_written_and_checked(tmp_path):
    w = walker.walker(duration=5.0)
    foot = 0.5 * (w.markers["RHEE"] + w.markers["RTOE"]) * np.array([1.0, 0.0, 1.0])
    plate = GroundReaction("plate 1", w.time, np.column_stack([w.force, 0 * w.time]), foot)
    pressed = measure([Recording("walk", "walk.trc", w.rate, w.time, w.markers, forces=(plate,))], mass=walker.MASS)
    write_record(walk_record(pressed), tmp_path / "walk.json")
    record = read_record(tmp_path / "walk.json")
    written = record["dynamics"]
    assert written["mass_kg"] == walker.MASS and written["n_strides"] == len(pressed.dynamics.strides) > 1
    for name, curve in pressed.dynamics.mean.items():
        np.testing.assert_allclose(written["mean"][name], curve, rtol=1e-12)
        assert written["peaks"][name] == pytest.approx([curve.min(), curve.max()])
    for path, value, message in (
        ("dynamics", [], "expected an object with mean curves"),
        ("dynamics.mean.knee_moment_Nm_kg", None, "dynamics.mean.knee_moment_Nm_kg: expected a list of numbers"),
        ("dynamics.mean.ankle_power_W_kg", [1.0, 2.0], "2 samples, where hip_moment_Nm_kg has 101"),
    ):
        with pytest.raises(MotionFormatError, match=message):
            check_record(_wrong(record, path, value))


def _wrong(record: dict, path: str, value) -> dict:
    changed = json.loads(json.dumps(record))
    *folders, last = path.split(".")
    part = changed
    for folder in folders:
        part = part[folder]
    if value is None:
        del part[last]
    else:
        part[last] = value
    return changed


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("schema", "jaxgait-motion/9", "column schema: the schema 'jaxgait-motion/9'; this version reads"),
        ("speed_m_s", None, "walk.json: is not a walk: it lacks speed_m_s; `jaxgait motion` makes one"),
        ("period_T_s", -1.0, "column period_T_s: expected a positive number"),
        ("period_T_s", 1127.0, "column period_T_s: a stride of 1127 s; milliseconds? divide by 1000"),
        ("n_harmonics", 3, "column n_harmonics: is 3, but the series have 8"),
        ("closure_removed", 3, "column closure_removed: expected an object with numbers"),
        ("strides", [], "column strides: expected a list of strides; leave it out if there are none"),
        ("speed_m_s", "fast", "column speed_m_s: expected a positive number"),
        ("speed_m_s", 10**400, "column speed_m_s: expected a positive number"),
        ("signals", [], "column signals: expected an object with series"),
        ("signals.knee_rad", None, "column signals.knee_rad: expected a series with a0, a and b"),
        ("signals.knee_rad.a", [1.0], "column signals.knee_rad: expected a and b"),
        ("signals.hip_y_m.a0", True, "column signals.hip_y_m: expected a series"),
        ("signals.hip_y_m", {"a0": 1.0, "a": [0.0], "b": [0.0]}, "series of 1, 8 harmonics"),
        ("segments", 3, "column segments: expected an object with lengths"),
        ("source.mass_kg", 7000.0, "column source.mass_kg: expected a mass in kg; 2 to 300"),
        ("segments.thigh_m", 417.0, "column segments.thigh_m: expected a length in m"),
    ],
)
def test_a_wrong_field_is_named(walk, path, value, message):
    with pytest.raises(MotionFormatError) as error:
        check_record(_wrong(walk_record(walk, 8), path, value), "walk.json")
    assert str(error.value).startswith("walk.json") and message in str(error.value) and error.value.advice


def test_a_number_of_harmonics_that_is_left_open_is_that_of_the_series(walk):
    check_record(walk_record(walk, 8) | {"n_harmonics": None}, "walk.json")


@pytest.mark.parametrize("text", ["", "[1, 2]", "{", "[" * 100_000, '{"signals": NaN}', "\xff"])
def test_what_is_no_walk_is_one_line(text, tmp_path):
    (tmp_path / "walk.json").write_text(text, encoding="latin-1")
    with pytest.raises(MotionFormatError) as error:
        read_record(tmp_path / "walk.json")
    assert "\n" not in str(error.value) and str(error.value).startswith(str(tmp_path / "walk.json"))


@pytest.mark.parametrize("worth", [3, 6])
def test_harmonics_are_as_many_as_are_worth_it(worth):
    """So many harmonics well above the resolution and others far below it."""
    rng = np.random.default_rng(1)
    size = np.where(np.arange(12) < worth, 0.05, 1e-5)
    series = Series(0.0, size * rng.choice([-1, 1], 12), size * rng.choice([-1, 1], 12))
    curve = sampled(series, 100)
    curves = {k: np.append(curve, curve[0]) for k in SIGNALS}
    assert choose_harmonics(curves, 120.0) == worth


def test_a_judged_stride_is_a_drive_with_its_person(tmp_path):
    person = Person(thigh=0.42, shank=0.43, mass=68.0)
    verdict = judge(dataclasses.replace(embedded_stride("rajagopal_1.26ms"), person=person))
    write_record(stride_record(verdict), tmp_path / "anna.json")
    again, drive = motion_drive(str(tmp_path / "anna.json")), verdict_drive(verdict)
    assert again.person == person and float(again.period) == float(drive.period)
    for signal in ("hip_x", "hip_y", "thigh", "knee", "ankle"):
        one, other = getattr(again, signal), getattr(drive, signal)
        np.testing.assert_allclose([one.a0, *one.a, *one.b], [other.a0, *other.a, *other.b], atol=1e-12)


def test_a_record_is_a_stride_whose_series_comes_back(walk):
    record = walk_record(walk, 8)
    stride = record_stride(record, "walk.json")
    drive = stride_drive(stride)
    np.testing.assert_allclose(drive.knee.a, record["signals"]["knee_rad"]["a"], atol=1e-12)
    assert stride.harmonics == 8 and stride.file == "walk.json"
