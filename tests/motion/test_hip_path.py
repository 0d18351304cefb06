"""Joint angles of many strides without the path of the pelvis: strides are found, the path is assumed."""

import dataclasses
import json
import pathlib

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from jaxgait.cli.gait_table import table_lines
from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.events import with_strikes
from jaxgait.motion.capture.tables import spatiotemporal
from jaxgait.motion.capture.walk import measure, measure_both, walk_stride
from jaxgait.motion.drive import reference_gait, synthetic_recording
from jaxgait.motion.naming import motion_drive
from jaxgait.motion.readers import read_recording
from jaxgait.motion.record import check_record, record_stride, stride_record, walk_record
from jaxgait.motion.recording import GroundReaction
from jaxgait.motion.stride import embedded_stride
from jaxgait.motion.verdict import judge
from jaxgait.plot.motion import stride
from jaxgait.plot.walk import sheet

DRIVE = reference_gait()
PERIOD = float(DRIVE.period)


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    """A table of degrees, as laboratories export them: time, hip, knee and ankle."""
    whole = synthetic_recording(DRIVE, duration=5.0)
    table = {"time_s": whole.time} | {k: np.degrees(x) for k, x in whole.angles.items() if "pelvis" not in k}
    path = tmp_path_factory.mktemp("lab") / "long.csv"
    pd.DataFrame(table).to_csv(path, index=False)
    return read_recording(path)


def test_strides_of_a_table_of_joint_angles_are_found(trial):
    walk = measure([trial], speed=1.25)
    assert (
        len(walk.kept) == 3
        and walk.speed == pytest.approx(1.25, rel=1e-4)
        and walk.period == pytest.approx(PERIOD, abs=0.01)
    )
    start, time = walk.kept[0].start, np.linspace(0.0, walk.period, 101)
    truth = np.interp(start + time, trial.time, trial.angles["knee_angle_r"])
    np.testing.assert_allclose(walk.mean["knee_rad"], truth, atol=np.radians(2.0))
    assert walk.mean["hip_y_m"].mean() == pytest.approx(float(DRIVE.hip_y.a0), abs=1e-3)
    (line,) = (line for line in walk.warnings if "the path of the hip was not recorded" in line)
    assert "rajagopal_1.26ms, 0.92 m high, and the pelvis as level" in line
    assert not any("the given speed" in note for note in walk.notes) and list(measure_both([trial], speed=1.25)) == [
        "right"
    ]


def test_there_are_no_joint_moments_on_an_assumed_path(trial):
    """The leg is not where it was in the laboratory: of a walk on a treadmill, the moment of the hip was 56 Nm/kg."""
    share = (trial.time % PERIOD / PERIOD)[:, None]
    force = np.where(share < 0.6, np.where(share < 0.3, [-100.0, 800.0, 0.0], [100.0, 800.0, 0.0]), 0.0)
    plate = GroundReaction("right plate", trial.time, force, np.zeros_like(force))
    walk = measure([dataclasses.replace(trial, forces=(plate,))], speed=1.25, mass=80.0)
    assert walk.dynamics is None and walk.kept[0].load is not None
    assert "no joint moments: the centre of pressure of the ground force is not known" in walk.notes


def test_lengths_follow_from_the_given_speed(trial):
    walk = measure([trial], speed=1.25)
    assert walk.assumed_path == ("rajagopal_1.26ms", 1.25) and walk.speed_source == "given"
    table = spatiotemporal(walk)
    assert table.speed.values.tolist() == [1.25] * 3
    np.testing.assert_allclose(table.stride_length, 1.25 * table.stride_time, rtol=1e-12)
    lines = [*table_lines([walk])]
    assert any(line.split() == ["speed", "(m/s)", "1.25", "(given)"] for line in lines)
    assert lines[-1].startswith("stride length: the given speed times the stride time")
    assert measure([synthetic_recording(DRIVE)]).assumed_path is None


def test_steps_have_no_length_where_the_path_is_assumed(trial):
    """That between the heels of a leg that is hung on an invented path is not a measured one."""
    left = {f"{k[:-2]}_l": np.roll(x, 56) for k, x in trial.angles.items()}
    walks = measure_both([dataclasses.replace(trial, angles=trial.angles | left)], speed=1.25)
    table = spatiotemporal(walks)
    assert np.isfinite(table.step_time).all() and np.isnan(table.step_length).all()
    (line,) = (line for line in table_lines([*walks.values()]) if line.startswith("step length"))
    assert line.split() == ["step", "length", "(m)", *2 * ["not", "known"]]
    (cells,) = (ax.tables[0] for ax in sheet(walks["right"], judge(walk_stride(walks["right"]))).axes if ax.tables)
    assert {"step time", "stride length"} < {cell.get_text().get_text() for cell in cells.get_celld().values()}
    assert "step length" not in {cell.get_text().get_text() for cell in cells.get_celld().values()}
    plt.close("all")


def test_an_assumed_path_is_not_forgotten(trial):
    """In a record that is read and written again, and without one."""
    walk = measure([trial], speed=1.25)
    saved = record_stride(json.loads(json.dumps(walk_record(walk))))
    for one in (saved, walk_stride(walk)):
        again = record_stride(json.loads(json.dumps(stride_record(judge(one)))))
        assert again.assumed_path == "rajagopal_1.26ms" and again.warnings == walk.warnings
    gait = embedded_stride("rajagopal_1.26ms")
    assert record_stride(stride_record(judge(gait))).assumed_path == ""
    said = lambda stride: stride_record(judge(stride))["source"]["warnings"]
    slow = record_stride(stride_record(judge(dataclasses.replace(gait, speed=0.4, file="slow.csv"))), "slow.json")
    assert slow.warnings and all(line.startswith("slow.csv: ") for line in slow.warnings)
    again = record_stride(stride_record(judge(slow)), "again.json")
    assert said(again) == said(slow), "what is unusual is not said anew for every file"
    record = walk_record(walk)
    unknown = {**record, "source": {**record["source"], "assumed_path": None}}
    check_record(unknown)
    assert record_stride(unknown).assumed_path == ""
    with pytest.raises(MotionFormatError, match=r"column source\.assumed_path: expected the name of a gait; leave it"):
        check_record({**record, "source": {**record["source"], "assumed_path": True}}, "walk.json")


def test_the_sheet_says_which_signals_are_assumed(trial):
    walk = measure([trial], speed=1.25)
    figure = sheet(walk, judge(walk_stride(walk)))
    axes = {ax.get_title().partition("\n")[0]: ax for ax in figure.axes}
    for name in ("hip position minus speed x time", "hip height"):
        assert axes[name].get_title().endswith("\nassumed, not measured: that of rajagopal_1.26ms")
        assert len(axes[name].lines) == 1 and not axes[name].collections  # no strides, no band that agrees by itself
    saved = record_stride(json.loads(json.dumps(walk_record(walk))))
    assert saved.assumed_path == "rajagopal_1.26ms" and "was not recorded" in " ".join(saved.warnings)
    titles = [ax.get_title() for ax in stride(judge(saved)).axes]
    assert titles[:2] == 2 * ["assumed, not measured: that of rajagopal_1.26ms"] and "assumed" not in titles[2]
    assert "kept strides" in [text.get_text() for text in figure.legends[0].texts]
    assert "ground reaction" not in axes and "(given)" in figure.get_suptitle()
    (table,) = axes["mean and SD of the kept strides"].tables
    assert table[2, 1].get_text().get_text() == "1.25 (given)"
    plt.close(figure)


def test_missing_angles_are_not_called_markers(trial):
    gap = dataclasses.replace(trial, angles={k: np.array(x) for k, x in trial.angles.items()})
    gap.angles["knee_angle_r"][250:300] = np.nan
    reasons = [s.reason for s in measure([gap], speed=1.25).strides if s.reason]
    assert reasons and all(reason.startswith("joint angles are missing for") for reason in reasons)


def test_given_heel_strikes_begin_the_strides(trial):
    given = np.array([0.0, 1.0, 2.0, 3.0, 4.0]) * PERIOD
    walk = measure([with_strikes(trial, "right", given)], speed=1.25)
    assert [s.start for s in walk.kept] == pytest.approx(given[:4])
    again = with_strikes(with_strikes(with_strikes(trial, "left", [1.0]), "right", given + 0.03), "right", given)
    assert [mark.time for mark in again.marks] == [1.0, *given]  # they replace those of the same foot
    with pytest.raises(ValueError, match=r"a heel strike at 7 s is outside of .*long\.csv, 0 to 4\.99 s"):
        with_strikes(trial, "right", [7.0])


def test_without_a_speed_the_call_to_make_is_named(trial):
    with pytest.raises(
        MotionFormatError, match=r"without the path of the pelvis .*`jaxgait motion .*--speed 1\.2 --out"
    ):
        motion_drive(trial.file)
    left = dataclasses.replace(trial, angles={f"{k[:-1]}l": x for k, x in trial.angles.items()})
    with pytest.raises(MotionFormatError, match=r"hip_flexion_r, .* not found; .* --leg left --speed 1\.2 --out"):
        measure([left])
    lines = pathlib.Path(trial.file).read_text().split("\n")
    for k, line in enumerate(lines[1:-1], 1):
        time, _, rest = line.partition(",")
        lines[k] = f"{1e3 * float(time):.3f},{rest}"
    slow = pathlib.Path(trial.file).with_name("ms.csv")
    slow.write_text("\n".join(lines))
    with pytest.raises(MotionFormatError, match=r"10 s apart, too far to show a walk; milliseconds\? divide by 1000"):
        motion_drive(slow)
    short = dataclasses.replace(trial, time=trial.time[:90], angles={k: x[:90] for k, x in trial.angles.items()})
    with pytest.raises(MotionFormatError, match=r"no whole stride, .* heel strike of the right leg.*with_strikes"):
        measure([short], speed=1.25)
