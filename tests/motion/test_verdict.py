"""The verdict on a stride: what is measured of it, what is impossible, what is only unusual, what is not reported."""

import dataclasses

import jaxtyping
import numpy as np
import pytest

from jaxgait.motion import MotionFormatError, MotionWarning, norms
from jaxgait.motion.embedded import REFERENCE_GAITS
from jaxgait.motion.stride import SIGNALS, Stride, close, embedded_stride, fourier, read_stride, sampled
from jaxgait.motion.verdict import describe, judge
from tests.motion.bad_strides import BAD, GOOD, columns, fitted

PERIOD, SPEED = 1.127, 1.2562


def stride(speed=SPEED, period=PERIOD, **changes):
    """The reference stride with some signals computed from themselves."""
    signals = {k: changes.get(k, lambda x: x)(x) for k, x in columns().items() if k != "time_s"}
    return Stride("mine", np.linspace(0.0, period, 101), signals, speed)


def messages(verdict, impossible):
    return [f"{f.signal}: {f.what}; {f.advice}" for f in verdict.findings if f.impossible == impossible]


@pytest.mark.parametrize("gait", REFERENCE_GAITS)
def test_measured_walking_is_good_and_nothing_is_said(gait):
    verdict = judge(embedded_stride(gait))
    assert verdict.usable and verdict.findings == ()
    assert "usable as a drive: yes" in describe(verdict)
    # Residuals of the README of the measured gaits: below 0.33 deg at the knee with 8 harmonics.
    assert np.degrees(verdict.signals["knee_rad"].residual) < 0.34
    assert all(report.jump == pytest.approx(0.0, abs=1e-6) for report in verdict.signals.values())


def test_a_thigh_that_leans_backward_on_average_is_unusual():
    """As a pelvis tilt of the opposite sign makes it: by twice the 7 deg of OpenSim's subject01."""
    found = messages(judge(stride(thigh_rad=lambda x: x - np.radians(14))), impossible=False)
    assert any(line.startswith("thigh_rad: mean -0.15") for line in found)


def test_what_is_measured():
    verdict = judge(stride(knee_rad=lambda x: x + np.linspace(0.0, 0.02, 101)))
    knee, table = verdict.signals["knee_rad"], columns()["knee_rad"]
    assert knee.jump == pytest.approx(0.02)
    assert knee.lowest == pytest.approx(table.min(), abs=0.02) and knee.highest == pytest.approx(table.max(), abs=0.02)
    assert verdict.stride_length == pytest.approx(PERIOD * SPEED)
    assert verdict.cycle.closed


UNUSUAL = {
    "slow": (dict(period=2.2, speed=0.45), "time_s: a stride of 2.2 s is unusual"),
    "a fraction of the stride for times": (dict(period=1.0), "a stride of exactly 1 s; is time_s a fraction"),
    "very slow": (dict(period=1.6, speed=0.35, thigh_rad=lambda x: 0.6 * x), "a walking speed of 0.35 m/s is unusual"),
    "stiff knee": (dict(knee_rad=lambda x: 0.4 * x), "knee_rad: highest value 0.4448 rad; walking has 0.698 to"),
    "hyperextension": (dict(knee_rad=lambda x: x - 0.3), "knee_rad: lowest value -0.3724 rad; walking has"),
    "crouch": (dict(knee_rad=lambda x: 0.6 * x + 0.6), "knee_rad: lowest value 0.5565 rad"),
    "a child": (dict(hip_y_m=lambda y: 0.55 * y), "hip_y_m: mean 0.506 m; walking has 0.7 to 1.15 m"),
    "a limp": (dict(hip_y_m=lambda y: y + 0.06 * np.cos(np.linspace(0, 2 * np.pi, 101))), "hip_y_m: range 0."),
    "drift": (dict(hip_y_m=lambda y: y + np.linspace(0, 0.007, 101)), "hip_y_m: the stride does not close: a jump of"),
    "a late start": (
        {k: lambda x: np.append(np.roll(x[:-1], -20), x[20]) for k in SIGNALS},
        "the record starts at about 20 % of the stride",
    ),
    "backward sway": (dict(hip_x_m=lambda x: np.roll(x[:-1], 30)[np.arange(101) % 100]), "hip_x_m: moves against"),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_a_pathological_gait_is_a_warning(name):
    changes, message = UNUSUAL[name]
    verdict = judge(stride(**changes))
    assert verdict.usable, messages(verdict, True)
    assert any(message in line for line in messages(verdict, False)), messages(verdict, False)
    with pytest.warns(MotionWarning):
        fitted(verdict.stride.signals, verdict.cycle.period, verdict.stride.speed)


PATHOLOGICAL = {
    "slow": lambda thigh, knee: (0.6 * thigh, 0.8 * knee),
    "stiff knee": lambda thigh, knee: (thigh, 0.4 * knee),
    "hyperextension": lambda thigh, knee: (thigh, knee - 0.3),
    "crouch": lambda thigh, knee: (thigh + 0.2, 0.6 * knee + 0.6),
    "straight in stance": lambda thigh, knee: (thigh, np.exp(-(((np.arange(101) - 72) / 12) ** 2))),
    "contracture of the hip": lambda thigh, knee: (0.8 * thigh + 0.3, 0.7 * knee),
}


@pytest.mark.parametrize("name", PATHOLOGICAL)
@pytest.mark.parametrize("gait", REFERENCE_GAITS)
def test_exchanged_columns_of_thigh_and_knee_are_named_and_no_others(gait, name):
    record = embedded_stride(gait)
    thigh, knee = PATHOLOGICAL[name](record.signals["thigh_rad"], record.signals["knee_rad"])
    as_named, exchanged = (
        judge(dataclasses.replace(record, signals=record.signals | {"thigh_rad": x, "knee_rad": y}))
        for x, y in ((thigh, knee), (knee, thigh))
    )
    assert "look exchanged" not in describe(as_named)
    assert not exchanged.usable and "look exchanged" in describe(exchanged)


def test_curves_alone_do_not_exchange_columns_whose_values_fit_as_they_are():
    """A stiff, overextended knee under a flexed hip moves within the usual range of a thigh, and this within a knee's.

    Exchanged, more would be unusual: of the two, the names are trusted.
    """
    record = embedded_stride("opensim_subject01_1.13ms")
    thigh, knee = record.signals["thigh_rad"] + 0.15, 0.6 * record.signals["knee_rad"] - 0.3
    for pair in ((thigh, knee), (knee, thigh)):
        signals = record.signals | dict(zip(("thigh_rad", "knee_rad"), pair, strict=True))
        assert "look exchanged" not in describe(judge(dataclasses.replace(record, signals=signals)))


@pytest.mark.parametrize("change", [lambda x, y: (-x, y), lambda x, y: (x, -y), lambda x, y: (x[::-1], y[::-1])])
def test_a_wrong_sign_and_time_that_runs_backward_are_no_exchanged_columns(change):
    record = embedded_stride(REFERENCE_GAITS[0])
    thigh, knee = change(record.signals["thigh_rad"], record.signals["knee_rad"])
    found = judge(dataclasses.replace(record, signals=record.signals | {"thigh_rad": thigh, "knee_rad": knee}))
    assert "look exchanged" not in describe(found)


def test_a_rounded_speed_is_named():
    drift = (1.3 - SPEED) * np.linspace(0.0, PERIOD, 101)
    verdict = judge(stride(speed=1.3, hip_x_m=lambda x: x - drift))
    assert messages(verdict, True)[0].endswith("with speed_m_s=1.256 it would")


def test_closure_is_decided_for_all_signals_together():
    closed = stride()
    last_off = stride(hip_y_m=lambda y: y + 0.003 * (np.arange(101) == 100))
    without_last = Stride("mine", closed.time[:-1], {k: x[:-1] for k, x in closed.signals.items()}, SPEED)
    for record, repeats in ((closed, True), (last_off, True), (without_last, False)):
        cycle = close(record)
        assert cycle.closed == repeats
        assert cycle.period == pytest.approx(PERIOD, rel=1e-12)
        assert cycle.signals["knee_rad"].size == 100


def test_a_load_is_judged_too():
    load = {"ground_x_N": lambda x: x, "ground_y_N": lambda x: x}
    record = embedded_stride(REFERENCE_GAITS[0])
    assert set(load) <= set(record.signals)
    weights = dict(record.signals) | {k: record.signals[k] / 834.5 for k in load}
    with pytest.raises(MotionFormatError, match=r"body weights\? multiply by the weight in N"):
        fitted(weights, PERIOD, SPEED)


def test_the_ringing_of_a_record_is_no_wrong_force():
    """A record holds series: those of a force of 850 N ring by 34 N, which was called a mistake of the plate."""
    walk = embedded_stride(REFERENCE_GAITS[0])
    force = sampled(fourier(np.where(np.arange(100) < 58, 850.0, 0.0), 6), 100)
    of_record = dataclasses.replace(
        walk, signals={**walk.signals, "ground_y_N": np.append(force, force[0])}, harmonics=6
    )
    assert force.min() < -30.0 and not judge(of_record).lines()
    (line,) = judge(dataclasses.replace(of_record, harmonics=None)).lines()
    assert "ground_y_N: lowest value" in line


def test_a_recording_has_no_columns_to_correct():
    """Neither an advice to convert a column nor one to cut out rows, and nothing of a file's columns."""
    twice = {k: (lambda x: np.append(np.tile(x[:-1:2], 2), x[0])) for k in SIGNALS}
    for changes in (dict(knee_rad=np.degrees), twice, dict(period=4.5), dict(speed=4.5)):
        record = dataclasses.replace(stride(**changes), file="walk.trc", measured=True)
        error = str(judge(record).error())
        assert error.startswith("walk.trc: ") and "events (heel strikes)" in error
        assert not any(word in error for word in ("column", "rows", "multiply", "divide"))


def test_lines_of_the_file_are_named(tmp_path):
    path = tmp_path / "my.csv"
    path.write_bytes(BAD["an outlier"].raw)
    verdict = judge(read_stride(path))
    assert not verdict.usable
    text = describe(verdict)
    assert f"wrong: {path}, line 43, column thigh_rad" in text
    assert "usable as a drive: no" in text


def test_the_speed_may_be_given(tmp_path):
    path = tmp_path / "my.csv"
    path.write_text(GOOD.replace("speed_m_s", "velocity"))
    assert read_stride(path, speed=1.25).speed == 1.25
    with pytest.raises(MotionFormatError, match="no walking speed"):
        read_stride(path)


def test_a_speed_may_begin_with_its_point(tmp_path):
    (tmp_path / "a.csv").write_text(GOOD.replace(f"speed_m_s={SPEED}", "speed_m_s=.9"))
    assert read_stride(tmp_path / "a.csv").speed == 0.9


def test_the_fit_is_the_nearest_series():
    x = np.cos(2 * np.pi * np.arange(50) / 50) + 0.3 * np.sin(6 * np.pi * np.arange(50) / 50) + 2
    series = fourier(x, 3)
    np.testing.assert_allclose(sampled(series, 50), x, atol=1e-14)
    np.testing.assert_allclose([series.a0, series.a[0], series.b[2]], [2.0, 1.0, 0.3], atol=1e-14)


def test_samples_determine_less_than_half_as_many_harmonics():
    """The cosine of the one of half the samples was doubled, and those beyond were missing without a word."""
    assert fourier(np.array([1.0, 0.0, -1.0, 0.0]), 1).a == pytest.approx([1.0])
    with pytest.raises(ValueError, match="4 samples determine at most 1 harmonic, got 2"):
        fourier(np.array([1.0, -1.0, 1.0, -1.0]), 2)
    gait = embedded_stride(REFERENCE_GAITS[0])
    few = dataclasses.replace(gait, time=gait.time[::20], signals={k: x[::20] for k, x in gait.signals.items()})
    assert judge(few, harmonics=2).harmonics == 2


def test_a_usable_stride_of_lists_has_no_error(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # (the types of arguments are checked in tests)
    gait = embedded_stride(REFERENCE_GAITS[0])
    verdict = judge(dataclasses.replace(gait, time=list(gait.time)))
    with pytest.raises(ValueError, match="is usable, and has no error"):
        verdict.error()
    masked = np.ma.array(gait.time, mask=np.arange(101) == 50)
    with pytest.raises(MotionFormatError, match="time"):
        judge(dataclasses.replace(gait, time=masked))


def test_inches_that_were_read_as_cm_make_a_walk_that_nobody_has():
    """Only that the hip was unusually low was said. A child of that size takes shorter times."""
    inch = 0.01 / 0.0254
    shrunk = {"hip_x_m": lambda x: inch * x, "hip_y_m": lambda x: inch * x}
    (wrong,) = messages(judge(stride(speed=inch * SPEED, **shrunk)), impossible=True)
    assert "with the hip at 0.362 m nobody walks strides of 0.56 m in 1.13 s; in inches that were read as cm" in wrong
    child = judge(stride(speed=0.5**0.5 * SPEED, period=0.5**0.5 * PERIOD, **{k: lambda x: 0.5 * x for k in shrunk}))
    assert child.usable and not judge(stride()).findings


def test_usual_is_possible():
    every = [*norms.SIGNAL_NORMS.values(), {"": norms.PERIOD}, {"": norms.SPEED}, {"": norms.REACH}]
    for norm in (n for figures in every for n in figures.values()):
        assert norm.possible[0] <= norm.usual[0] < norm.usual[1] <= norm.possible[1]
