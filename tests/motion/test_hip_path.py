"""Joint angles of many strides without the path of the pelvis: strides are found, the path is assumed."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.events import with_strikes
from jaxgait.motion.capture.walk import measure, measure_both
from jaxgait.motion.drive import reference_gait, synthetic_recording
from jaxgait.motion.naming import motion_drive
from jaxgait.motion.readers import read_recording

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
    short = dataclasses.replace(trial, time=trial.time[:90], angles={k: x[:90] for k, x in trial.angles.items()})
    with pytest.raises(MotionFormatError, match=r"no whole stride, .* heel strike of the right leg.*with_strikes"):
        measure([short], speed=1.25)
