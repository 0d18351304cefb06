"""Fourier drives: values and derivatives against the stored strides, fits, refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.motion.drive import REFERENCE_GAITS, at_cadence, fit_drive, gait_record, read_drive, reference_gait

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


def test_half_a_load_is_refused():
    signals = {k: np.array(v) for k, v in gait_record(REFERENCE_GAITS[0])["mean_stride"].items() if k != "ground_x_N"}
    with pytest.raises(ValueError, match="lacks the signal 'ground_x_N' \\(N\\)"):
        fit_drive(signals, 1.1, 1.2)


def test_derivatives_are_those_of_the_value():
    drive = reference_gait()
    t = 0.3456
    for i in range(5):
        value = lambda s, i=i: drive.evaluate(s)[i].value
        jet = drive.evaluate(t)[i]
        np.testing.assert_allclose(jax.grad(value)(t), jet.rate, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(jax.grad(jax.grad(value))(t), jet.acceleration, rtol=1e-9, atol=1e-10)


def test_time_is_reduced_modulo_the_period():
    drive = reference_gait()
    late = drive.evaluate(0.25 + 1000 * drive.period).thigh
    np.testing.assert_allclose(jnp.stack(late), jnp.stack(drive.evaluate(0.25).thigh), atol=1e-9)


def test_cadence_keeps_the_path():
    drive = reference_gait()
    fast = at_cadence(drive, 2.0)
    slow_motion, fast_motion = drive.evaluate(0.4), fast.evaluate(0.2)
    np.testing.assert_allclose(fast_motion.hip_x.value, slow_motion.hip_x.value)
    np.testing.assert_allclose(fast_motion.thigh.acceleration, 4 * slow_motion.thigh.acceleration)


def test_fit_recovers_a_drive(tmp_path):
    drive, record = reference_gait(), gait_record(REFERENCE_GAITS[0])
    signals = {k: np.array(v) for k, v in record["mean_stride"].items()}
    fitted = fit_drive(signals, drive.period, drive.speed)
    for field in JET_NAMES.values():
        np.testing.assert_allclose(getattr(fitted, field).a, getattr(drive, field).a, atol=2e-7)
    path = tmp_path / "mine.csv"
    time = np.linspace(0, drive.period, 101)
    rows = [",".join(map(repr, map(float, row))) for row in zip(time, *signals.values(), strict=True)]
    path.write_text(f"# speed_m_s={drive.speed}\n" + ",".join(["time_s", *signals]) + "\n" + "\n".join(rows) + "\n")
    read = read_drive(path)
    assert read.name == "mine"
    np.testing.assert_allclose([read.period, read.speed], [drive.period, drive.speed])
    np.testing.assert_allclose(read.thigh.b, drive.thigh.b, atol=2e-7)


HEADER = "time_s,hip_x_m,hip_y_m,thigh_rad,knee_rad,ankle_rad\n"
ROWS = "".join(f"{i / 50},{i / 500},0.9,{0.3 * np.cos(i / 8):.4f},0.5,0.1\n" for i in range(50))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no samples"),
        ("# speed_m_s=1.2\n" + HEADER, "no samples"),
        (HEADER + ROWS, "no walking speed"),
        ("# speed_m_s=1.2\n" + HEADER + "0,0,0.9\n", "line 3: 3 values under 6"),
        ("# speed_m_s=1.2\n" + HEADER + "0,0,0.9,abc,0,0\n", "line 3.*abc"),
        ("# speed_m_s=1.2\n" + (HEADER + ROWS).replace("knee_rad", "knee_deg"), "lacks the signal 'knee_rad'"),
        ("# speed_m_s=1.2\n" + (HEADER + ROWS).replace(",0.5,", ",nan,"), "knee_rad: sample 0 is not finite"),
        ("# speed_m_s=1.2\n" + (HEADER + ROWS).replace(",0.5,", ",50,"), "degrees instead of rad"),
        ("# speed_m_s=1.2\n" + HEADER + "".join(ROWS.splitlines(True)[:9]), "need at least 18 samples"),
        ("# speed_m_s=-1\n" + HEADER + ROWS, "speed must be a positive number"),
    ],
)
def test_bad_files_are_explained(tmp_path, text, message):
    path = tmp_path / "drive.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message) as error:
        read_drive(path)
    assert "drive.csv" in str(error.value)


def test_unknown_gait_is_named():
    with pytest.raises(ValueError, match="rajagopal"):
        reference_gait("nobody")
