"""Fourier drives: values and derivatives against the stored strides, fits, what files may and may not contain."""

import dataclasses
import warnings

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jaxgait.motion import MotionFormatError, MotionWarning, drive
from jaxgait.motion.capture.walk import measure, walk_stride
from jaxgait.motion.drive import (
    REFERENCE_GAITS,
    FourierSeries,
    at_cadence,
    gait_record,
    read_drive,
    reference_gait,
    stride_drive,
    synthetic_recording,
    wave,
)
from jaxgait.motion.harmonics import check_harmonics
from jaxgait.motion.naming import motion_drive
from jaxgait.motion.stride import Series, embedded_stride, sampled
from tests.motion.bad_strides import BAD, GOOD, changed, columns, fitted, text

JET_NAMES = {"hip_x_m": "hip_x", "hip_y_m": "hip_y", "thigh_rad": "thigh", "knee_rad": "knee", "ankle_rad": "ankle"}
# Residuals of eight harmonics (README of the measured gaits: K=8 RMS of 0.33 deg at the knee, 0.24 mm at the hip); the
# ankle and the heel-strike corner are rougher than that.
TOLERANCE = {"hip_x_m": 1e-3, "hip_y_m": 1e-3, "thigh_rad": 0.01, "knee_rad": 0.025, "ankle_rad": 0.045}


@pytest.mark.parametrize("name", REFERENCE_GAITS)
def test_series_follow_the_stored_stride(name):
    drive, record = reference_gait(name), gait_record(name)
    t = jnp.linspace(0.0, drive.period, 101)
    motion = jax.vmap(drive.evaluate)(t)
    for signal, field in JET_NAMES.items():
        value = getattr(motion, field).value
        if signal == "hip_x_m":
            value = value - drive.speed * t
        np.testing.assert_allclose(value, record["mean_stride"][signal], atol=TOLERANCE[signal])


def test_the_measured_load_is_part_of_the_drive():
    drive, record = reference_gait(), gait_record(REFERENCE_GAITS[0])
    load = jax.vmap(lambda t: drive.evaluate(t).load)(jnp.linspace(0.0, drive.period, 101))
    for value, signal in zip(load, ("ground_x_N", "ground_y_N"), strict=True):
        np.testing.assert_allclose(value, record["mean_stride"][signal], atol=32.0)  # the jump at heel strike, halved
        assert np.std(value - np.array(record["mean_stride"][signal])) < 5.0
    weight = record["mass_kg"] * 9.81
    # Both feet carry the body: over a stride, one of them half of it.
    np.testing.assert_allclose(np.mean(record["mean_stride"]["ground_y_N"][:-1]), weight / 2, rtol=0.02)


def test_half_a_load_raises():
    signals = {k: np.array(v) for k, v in gait_record(REFERENCE_GAITS[0])["mean_stride"].items() if k != "ground_x_N"}
    with pytest.raises(ValueError, match="lacks the signal 'ground_x_N' \\(N\\)"):
        fitted(signals, 1.1, 1.2)


def test_derivatives_are_those_of_the_value():
    drive = reference_gait()
    values = lambda s: [jet.value for jet in drive.evaluate(s)[:5]]
    rates = jax.jacfwd(values)
    jets, first, second = jax.jit(lambda t: (drive.evaluate(t)[:5], rates(t), jax.jacfwd(rates)(t)))(0.3456)
    np.testing.assert_allclose(first, [jet.rate for jet in jets], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(second, [jet.acceleration for jet in jets], rtol=1e-9, atol=1e-10)


def test_time_is_reduced_modulo_the_period():
    drive = reference_gait()
    late = drive.evaluate(0.25 + 1000 * drive.period).thigh
    np.testing.assert_allclose(jnp.stack(late), jnp.stack(drive.evaluate(0.25).thigh), atol=1e-9)


@pytest.mark.parametrize("short", ["thigh", "knee"])
def test_series_may_have_different_numbers_of_harmonics(short):
    """Those beyond the end of a series repeated its last one, and those beyond the thigh's were left out."""
    drive = reference_gait()
    series = getattr(drive, short)
    cut = FourierSeries(series.a0, jnp.asarray(series.a[:2]), jnp.asarray(series.b[:2]))
    zeros = np.zeros(len(series.a) - 2)
    padded = FourierSeries(series.a0, np.append(series.a[:2], zeros), np.append(series.b[:2], zeros))
    motions = [dataclasses.replace(drive, **{short: one}).evaluate(0.8) for one in (cut, padded)]
    np.testing.assert_allclose(*(jnp.stack([*motion.thigh, *motion.knee]) for motion in motions), rtol=1e-12)


def test_the_motion_is_traced_once(monkeypatch):
    known = dataclasses.replace(reference_gait(), name="asked for twice")
    asked = []
    monkeypatch.setattr(drive, "wave", lambda *args: asked.append(args) or wave(*args))
    jax.make_jaxpr(lambda t: (known.evaluate(t), known.evaluate(2.0 * t)))(0.3)
    assert len(asked) == 1


def test_cadence_keeps_the_path():
    drive = reference_gait()
    fast = at_cadence(drive, 2.0)
    slow_motion, fast_motion = drive.evaluate(0.4), fast.evaluate(0.2)
    np.testing.assert_allclose(fast_motion.hip_x.value, slow_motion.hip_x.value)
    np.testing.assert_allclose(fast_motion.thigh.acceleration, 4 * slow_motion.thigh.acceleration)


def test_fit_recovers_a_drive(tmp_path):
    drive, record = reference_gait(), gait_record(REFERENCE_GAITS[0])
    signals = {k: np.array(v) for k, v in record["mean_stride"].items()}
    again = fitted(signals, drive.period, drive.speed)
    for field in JET_NAMES.values():
        np.testing.assert_allclose(getattr(again, field).a, getattr(drive, field).a, atol=2e-7)
    path = tmp_path / "mine.csv"
    time = np.linspace(0, drive.period, 101)
    rows = [",".join(map(repr, map(float, row))) for row in zip(time, *signals.values(), strict=True)]
    path.write_text(f"# speed_m_s={drive.speed}\n" + ",".join(["time_s", *signals]) + "\n" + "\n".join(rows) + "\n")
    read = read_drive(path)
    assert read.name == "mine"
    np.testing.assert_allclose([read.period, read.speed], [drive.period, drive.speed])
    np.testing.assert_allclose(read.thigh.b, drive.thigh.b, atol=2e-7)


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_explained(tmp_path, name):
    path = tmp_path / "my.csv"
    path.write_bytes(BAD[name].raw)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # an error is enough
        with pytest.raises(MotionFormatError) as error:
            read_drive(path)
    text = str(error.value)
    assert BAD[name].message in text
    assert text.startswith(str(path))
    assert "\n" not in text and len(text) < 400 + len(str(path))


def test_folders_and_missing_files_are_explained(tmp_path):
    with pytest.raises(MotionFormatError, match="is a folder; name a CSV file"):
        read_drive(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_drive(tmp_path / "nowhere.csv")
    with pytest.raises(FileNotFoundError, match=r"nor an embedded gait \(there are rajagopal"):
        motion_drive("nobody")


def _latin(text):
    return ("# Müller, Knie, °\n" + text).encode("latin-1")


GOOD_FILES = {
    "tabs": GOOD.replace(",", "\t").encode(),
    "semicolons": GOOD.replace(",", ";").encode(),
    "semicolons and decimal commas": GOOD.replace(",", ";").replace(".", ",").encode(),
    "blanks": GOOD.replace(",", "   ").encode(),
    "Windows line ends": GOOD.replace("\n", "\r\n").encode(),
    "old line ends": GOOD.replace("\n", "\r").encode(),
    "byte order mark": b"\xef\xbb\xbf" + GOOD.encode(),
    "UTF-16": GOOD.encode("utf-16"),
    "Latin-1": _latin(GOOD),
    "quotation marks": "\n".join(
        line if line.startswith("#") else ",".join(f'"{cell}"' for cell in line.split(",")) for line in GOOD.split("\n")
    ).encode(),
    "a spreadsheet's padding": (GOOD.replace("\n", ",\n") + ",,,,,,\n,,,,,,\n").encode(),
    "a column of words": GOOD.replace("\n", ",right\n").encode(),
    "milliseconds as the clock ticks": changed(time_s=lambda t: np.round(t, 3)),
    "a clock that starts late": changed(time_s=lambda t: t + 12.5),
}


@pytest.mark.parametrize("name", GOOD_FILES)
def test_the_same_stride_in_other_file_formats(tmp_path, name):
    path = tmp_path / "my.csv"
    path.write_bytes(GOOD_FILES[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_like_the_reference(read_drive(path), 1e-5)


def assert_like_the_reference(drive, tolerance, latest=0):
    """Period, and the root mean square of every signal as a share of its range, if it starts so many percent late."""
    true = reference_gait()
    assert drive.period == pytest.approx(true.period, rel=tolerance)
    fields = JET_NAMES.values()
    off = [max(_off(drive, true, field, late) for field in fields) for late in range(-latest, latest + 1)]
    assert min(off) < tolerance


def _off(drive, true, field, late):
    curve, reference = (series_at(getattr(d, field)) for d in (drive, true))
    return np.sqrt(np.mean((curve - np.roll(reference, -late)) ** 2)) / np.ptp(reference)


def series_at(series):
    return sampled(Series(series.a0, np.asarray(series.a), np.asarray(series.b)), 100)


def test_uneven_times_are_interpolated_with_a_warning(tmp_path):
    path = tmp_path / "my.csv"
    table = columns()
    phase = np.linspace(0, 1, 101) + 0.02 * np.sin(2 * np.pi * np.linspace(0, 1, 101))
    even = np.linspace(0, 1, 101)
    signals = {k: np.interp(phase, even, x) for k, x in table.items() if k != "time_s"}
    path.write_text(text({"time_s": phase * 1.127, **signals}))
    with pytest.warns(MotionWarning, match=r"time_s: times are uneven \(by up to 2 steps\); interpolated"):
        drive = read_drive(path)
    assert_like_the_reference(drive, 0.01)


@pytest.mark.parametrize("harmonics", [0, -1, 2.0, 60])
def test_impossible_numbers_of_harmonics(harmonics):
    with pytest.raises((MotionFormatError, TypeError), match="harmonics"):
        fitted({k: x for k, x in columns().items() if k != "time_s"}, 1.1, 1.2, harmonics=harmonics)


def test_arrays_are_checked_as_files_are():
    signals = {k: x for k, x in columns().items() if k != "time_s"}
    with pytest.raises(MotionFormatError, match=r"^knee_rad: lowest value .* of the opposite sign"):
        fitted(signals | {"knee_rad": -signals["knee_rad"]}, 1.127, 1.2562)
    with pytest.raises(MotionFormatError, match="1127 s; milliseconds"):
        fitted(signals, 1127.0, 1.2562)
    with pytest.raises(MotionFormatError, match=r"knee_rad: samples of shape \(100,\)"):
        fitted(signals | {"knee_rad": signals["knee_rad"][1:]}, 1.127, 1.2562)
    with pytest.raises(MotionFormatError, match="knee_rad: sample 4 is not finite"):
        fitted(signals | {"knee_rad": np.where(np.arange(101) == 4, np.nan, 0.3)}, 1.127, 1.2562)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"speed": "1.2"}, "speed must be a positive number, got '1.2'"),
        ({"period": [1.1]}, r"period must be a positive number, got \[1.1\]"),
        ({"time": np.arange(101).astype("m8[ms]")}, r"time_s: timedelta64\[ms\] instead of numbers; give them in s"),
        ({"signals": {"knee_rad": np.arange(101) > 50}}, "knee_rad: bool instead of numbers; give them in rad"),
        ({"harmonics": 2.5}, "harmonics must be a whole number, at least 1, got 2.5; 6 to 8 are usual"),
    ],
)
def test_what_is_no_number_is_said(changes, message, monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # (the types of arguments are checked in tests)
    gait = embedded_stride(REFERENCE_GAITS[0])
    changes = changes | {"signals": gait.signals | changes.get("signals", {})}
    with pytest.raises(MotionFormatError, match=message):
        stride_drive(dataclasses.replace(gait, **changes))
    with pytest.raises(ValueError, match=r"harmonics must be a whole number, at least 1, got 2\.5"):
        check_harmonics(2.5)


def test_an_unusual_stride_can_be_meant():
    signals = {k: x for k, x in columns().items() if k != "time_s"}
    locked = signals | {"knee_rad": np.zeros(101)}
    with pytest.raises(MotionFormatError, match=r"knee_rad: is 0 rad throughout; .* check=False"):
        fitted(locked, 1.127, 1.2562)
    drive = fitted(locked, 1.127, 1.2562, check=False)
    np.testing.assert_allclose(drive.knee.a, 0.0)
    with pytest.raises(MotionFormatError, match="not finite"):  # sound samples are needed in any case
        fitted(signals | {"knee_rad": np.full(101, np.nan)}, 1.127, 1.2562, check=False)


def write_csv(drive, path):
    """A drive as a file of 100 samples, the last one step before the first."""
    time = np.arange(100) / 100 * drive.period
    table = {k: series_at(getattr(drive, field)) for k, field in JET_NAMES.items()}
    path.write_text(text({"time_s": time, **table}, f"# speed_m_s={drive.speed!r}\n"))


@pytest.mark.parametrize("name", REFERENCE_GAITS)
def test_a_drive_written_and_read_is_the_same(name, tmp_path):
    drive = reference_gait(name)
    write_csv(drive, tmp_path / "again.csv")
    again = read_drive(tmp_path / "again.csv")
    np.testing.assert_allclose([again.period, again.speed], [drive.period, drive.speed], rtol=2e-5)
    for field in JET_NAMES.values():
        for part in ("a0", "a", "b"):
            np.testing.assert_allclose(
                getattr(getattr(again, field), part), getattr(getattr(drive, field), part), atol=1e-6
            )


# What a digit in one cell, or a row missing at an end, may do to period, curves and start before it is found.
MUTATION = 0.05


@st.composite
def mutations(draw):
    """A good file that something happened to: bytes, rows, scales, delimiters."""
    lines = GOOD.encode().split(b"\n")
    head, body = lines[:2], lines[2:-1]
    kind = draw(st.sampled_from(["bytes", "shuffle", "drop", "repeat", "scale", "delimiter", "cut", "encoding"]))
    if kind == "shuffle":
        body = draw(st.permutations(body))
    if kind == "drop":
        gone = draw(st.sets(st.integers(0, 100), max_size=40))
        body = [row for i, row in enumerate(body) if i not in gone]
    if kind == "repeat":
        i = draw(st.integers(0, 100))
        body.insert(draw(st.integers(0, 100)), body[i])
    if kind == "scale":
        factor, j = draw(st.sampled_from([1e3, 1e-3, 100.0, -1.0, 57.2958])), draw(st.integers(0, 5))
        cells = [row.split(b",") for row in body]
        body = [b",".join([*c[:j], b"%.9g" % (factor * float(c[j])), *c[j + 1 :]]) for c in cells]
    raw = b"\n".join([*head, *body, b""])
    if kind == "delimiter":
        raw = raw.replace(b",", draw(st.sampled_from([b";", b"\t", b" ", b"|", b":", b".", b""])))
    if kind == "cut":
        raw = raw[: draw(st.integers(0, len(raw)))]
    if kind == "encoding":
        raw = raw.decode().encode(draw(st.sampled_from(["utf-16", "utf-16-be", "utf-32", "cp500", "utf-8-sig"])))
    if kind == "bytes":
        data = bytearray(raw)
        for _ in range(draw(st.integers(1, 4))):
            data[draw(st.integers(len(head[0]) + 1, len(data) - 1))] = draw(st.integers(0, 255))
        raw = bytes(data)
    return raw


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=mutations())
def test_a_mutated_file_is_a_drive_near_the_truth_or_one_error(tmp_path, raw):
    path = tmp_path / "my.csv"
    path.write_bytes(raw)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MotionWarning)
        try:
            drive = read_drive(path)
        except MotionFormatError as error:
            assert str(error).startswith(str(path)) and "\n" not in str(error)
            return
    assert_like_the_reference(drive, MUTATION, latest=5)


def test_unknown_gait_is_named():
    with pytest.raises(ValueError, match="rajagopal"):
        reference_gait("nobody")


def test_a_recording_of_a_drive_gives_the_drive_back():
    drive = reference_gait()
    again = stride_drive(walk_stride(measure([synthetic_recording(drive, duration=6.0)])))
    assert float(again.period) == pytest.approx(float(drive.period), rel=1e-3)
    assert float(again.speed) == pytest.approx(float(drive.speed), rel=1e-3)
    motions = [jax.vmap(d.evaluate)(jnp.linspace(0.0, 1.1, 12)) for d in (drive, again)]
    for name in ("thigh", "knee", "ankle"):
        ranges = [np.ptp(getattr(motion, name).value) for motion in motions]
        assert ranges[0] == pytest.approx(ranges[1], rel=0.05)
    assert float(again.hip_y.a0) == pytest.approx(float(drive.hip_y.a0), abs=1e-4)


def test_impossible_recordings():
    with pytest.raises(ValueError, match=r"rate must be a positive number of Hz, got 0\.0"):
        synthetic_recording(reference_gait(), rate=0.0)
