"""Files for OpenSim and CSV: what is written is read back to the same digits, and names its units."""

import csv
import dataclasses

import numpy as np
import pytest
import xarray as xr

from jaxgait import Bungee, Prosthesis, export, simulate
from jaxgait.exporting import histories
from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.leg import Options
from jaxgait.motion.capture.walk import measure, measure_both
from jaxgait.motion.drive import reference_gait, synthetic_recording
from jaxgait.motion.readers import read_recording
from tests.motion import walker

W = walker.walker(duration=4.0)


@pytest.fixture(scope="module")
def run():
    return simulate(Prosthesis(), strides=2)


@pytest.fixture(scope="module")
def fall():
    return simulate(Bungee(), duration=2.0, samples=50)


def header(path):
    head, _, rows = path.read_text().partition("endheader\n")
    stated = dict(line.split("=") for line in head.splitlines() if "=" in line)
    return head.splitlines()[0], stated, [line.split("\t") for line in rows.splitlines()]


@pytest.mark.parametrize("ending", ["mot", "sto"])
def test_the_header_is_that_of_opensim_4(run, ending, tmp_path):
    path = tmp_path / f"gait.{ending}"
    export(run, path)
    name, stated, (labels, *rows) = header(path)
    assert name == ("Prosthesis" if ending == "mot" else "gait")
    assert stated["version"] == "1" and stated["inDegrees"] == ("yes" if ending == "mot" else "no")
    assert (int(stated["nRows"]), int(stated["nColumns"])) == (len(rows), len(labels)) == (201, len(rows[0]))
    assert labels[0] == "time" and len(set(labels)) == len(labels)
    assert f"Angles are in {'degrees' if ending == 'mot' else 'radians'}." in path.read_text()


def test_the_gait_of_a_run_is_read_back(run, tmp_path):
    """Angles, the path of the hip, and the ground force with its centre of pressure."""
    export(run, tmp_path / "gait.mot")
    found = read_recording(tmp_path / "gait.mot")
    assert not found.notes and not found.warnings
    np.testing.assert_allclose(found.time, run.time, rtol=1e-14, atol=1e-14)
    names = {"hip_flexion_r": "thigh_angle", "knee_angle_r": "knee_angle", "ankle_angle_r": "ankle_angle"}
    for label, name in names.items():
        np.testing.assert_allclose(found.angles[label], run[name], rtol=1e-14, atol=1e-15)
    hip = run.points.sel(point="H").values
    np.testing.assert_allclose(found.angles["pelvis_tx"], hip[:, 0] + 0.0707, rtol=1e-14)
    np.testing.assert_allclose(found.angles["pelvis_ty"], hip[:, 1] + 0.0661, rtol=1e-14)
    (ground,) = found.forces
    np.testing.assert_array_equal(ground.force[:, 1], run.heel_force + run.toe_force)
    np.testing.assert_array_equal(ground.force[:, 0], run.heel_friction + run.toe_friction)
    feet = run.points.sel(point=["heel", "toe"], axis="x").values
    loaded = ground.force[:, 1] > 1.0
    assert ground.point is not None and loaded.any() and not loaded.all()
    assert np.isnan(ground.point[ground.force[:, 1] == 0.0]).all()
    assert (ground.point[loaded, 0] >= feet[loaded].min(axis=1) - 1e-12).all()
    assert (ground.point[loaded, 0] <= feet[loaded].max(axis=1) + 1e-12).all()


def test_a_written_drive_is_measured_as_it_was(tmp_path):
    for ending in ("mot", "sto"):
        export("rajagopal_1.26ms", tmp_path / f"gait.{ending}")
        walk = measure([read_recording(tmp_path / f"gait.{ending}")], options=Options(cutoff=None))
        gait = reference_gait()
        assert len(walk.kept) > 1
        assert walk.period == pytest.approx(float(gait.period), abs=1e-3)
        assert walk.speed == pytest.approx(float(gait.speed), abs=1e-3)


def test_both_legs_of_a_walk_are_read_back(tmp_path):
    trial = synthetic_recording(reference_gait())
    late = lambda x: np.roll(x, 56)
    left = {f"{k[:-2]}_l": late(x) for k, x in trial.angles.items() if k.endswith("_r")}
    trial = dataclasses.replace(trial, angles=trial.angles | left)
    walks = measure_both([trial], Options(cutoff=None))
    assert set(walks) == {"right", "left"}
    for ending in ("mot", "sto"):
        export(walks, tmp_path / f"walk.{ending}")
        found = read_recording(tmp_path / f"walk.{ending}")
        assert not found.notes
        assert set(found.angles) == set(trial.angles)
        for name, x in trial.angles.items():
            np.testing.assert_allclose(found.angles[name], x, rtol=1e-12, atol=1e-12)


def test_a_walk_of_markers_becomes_joint_angles(tmp_path):
    (tmp_path / "walk.trc").write_text(walker.trc(W))
    walk = measure([read_recording(tmp_path / "walk.trc")], options=Options(cutoff=None))
    export(walk, tmp_path / "walk.mot")
    again = measure([read_recording(tmp_path / "walk.mot")], options=Options(cutoff=None))
    for name in ("thigh_rad", "knee_rad"):
        np.testing.assert_allclose(again.mean[name], walk.mean[name], atol=np.radians(0.5))
    assert again.speed == pytest.approx(walk.speed, rel=2e-3)
    with pytest.raises(ValueError, match="there is no trial 1"):
        export(walk, tmp_path / "walk.mot", trial=1)


def test_all_outputs_of_any_run_are_read_back(fall, tmp_path):
    """Of 80 m and 1000 N, no degrees are made."""
    export(fall, tmp_path / "fall.sto")
    found = read_recording(tmp_path / "fall.sto")
    assert not found.notes and set(found.angles) == {k for k in fall.data_vars if fall[k].dims == ("time",)}
    for name, x in found.angles.items():
        np.testing.assert_array_equal(x, fall[name])


def test_csv_has_units_in_its_header(run, fall, tmp_path):
    export(fall, tmp_path / "fall.csv")
    rows = list(csv.reader((tmp_path / "fall.csv").open()))
    assert rows[0][:4] == ["time (s)", "x (m)", "v (m/s)", "height (m)"]
    np.testing.assert_array_equal([float(row[3]) for row in rows[1:]], fall.height)
    export(run, tmp_path / "run.csv")
    labels = next(csv.reader((tmp_path / "run.csv").open()))
    assert {"knee_angle (rad)", "heel_force (N)", "points_heel_x (m)"} <= set(labels)


def test_a_run_that_ended_early_is_written_until_its_end(fall, tmp_path):
    cut = fall.where(fall.time <= 1.0)
    time, columns = histories(cut)
    assert time[-1] == 1.0 and np.isfinite(columns["height"].values).all()
    export(cut, tmp_path / "cut.sto")
    assert read_recording(tmp_path / "cut.sto").frames == time.size


def test_an_old_file_stays_if_nothing_can_be_written(fall, tmp_path):
    path = tmp_path / "old.mot"
    path.write_text("old")
    with pytest.raises(ValueError, match="OpenSim has no names for the joints of Bungee: write "):
        export(fall, path)
    assert path.read_text() == "old" and [*tmp_path.iterdir()] == [path]


def test_what_cannot_be_written_is_named(fall, tmp_path):
    with pytest.raises(ValueError, match=r"run\.xls: the name of a table must end in \.csv, \.mot or \.sto"):
        export(fall, tmp_path / "run.xls")
    with pytest.raises(ValueError, match=r"of one run: .* \(data\.isel\(member=0\)\)"):
        export(xr.concat([fall, fall], "member").assign(status=("member", [0, 0])), tmp_path / "a.csv")
    with pytest.raises(TypeError, match="cannot be written as a table over time: give a run, a Walk"):
        export(3.0, tmp_path / "a.mot")
    trial = synthetic_recording(reference_gait())
    marked = dataclasses.replace(trial, markers={"RASI": np.ones((trial.frames, 3))})
    with pytest.raises(MotionFormatError, match="contains markers; MOT and STO files hold joint angles"):
        export(marked, tmp_path / "a.mot")
