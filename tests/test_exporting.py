"""Files for OpenSim and CSV: what is written is read back to the same digits, and names its units."""

import csv
import dataclasses
import functools
import json
import math
import re
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import xarray as xr

import jaxgait
from jaxgait import Bungee, Prosthesis, ensemble, export, simulate, sobol
from jaxgait.contents import contents
from jaxgait.ensembles.walks import single_strides
from jaxgait.exporting import members_csv, run_columns
from jaxgait.motion import MotionFormatError, MotionWarning
from jaxgait.motion.capture.leg import Options
from jaxgait.motion.capture.walk import measure, measure_both, walk_stride
from jaxgait.motion.drive import reference_gait, synthetic_recording
from jaxgait.motion.naming import motion_drive, motion_strides, named_stride
from jaxgait.motion.readers import read_recording
from jaxgait.motion.record import walk_record, write_record
from jaxgait.motion.recording import GroundReaction, Recording
from jaxgait.motion.stride import embedded_stride
from jaxgait.plot.histories import picture
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
    assert ("The motion is planar" in path.read_text()) == (ending == "mot")
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


def _left_walk():
    trial = synthetic_recording(reference_gait())
    angles = {f"{k[:-2]}_l" if k.endswith("_r") else k: x for k, x in trial.angles.items()}
    return measure([dataclasses.replace(trial, angles=angles)], "left")


def _saved(walk, path):
    write_record(walk_record(walk), path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    "made",
    [
        lambda walk, path: walk,
        lambda walk, path: walk_stride(walk),
        lambda walk, path: motion_drive(walk),
        lambda walk, path: motion_drive(_saved(walk, path)),
        lambda walk, path: named_stride(str(_saved(walk, path))),
        lambda walk, path: motion_strides(_saved(walk, path))[0],
        lambda walk, path: simulate(Prosthesis().driven(motion_drive(walk)), strides=4),
        pytest.param(
            lambda walk, path: ensemble(
                *single_strides(Prosthesis(), _saved(walk, path)), strides=4, trajectories=True
            ).isel(stride=0),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["walk", "stride", "drive", "saved", "saved stride", "one of its strides", "run", "member"],
)
def test_a_left_leg_is_written_as_the_left_one(made, tmp_path):
    """It was hip_flexion_r, and nothing said so, from the drive on; signs are the same for both legs."""
    walk = _left_walk()
    result = made(walk, tmp_path / "walk.json")
    export(result, tmp_path / "left.mot")
    found = read_recording(tmp_path / "left.mot")
    assert [*found.angles][3:] == ["hip_flexion_l", "knee_angle_l", "ankle_angle_l"]
    if not isinstance(result, xr.Dataset):  # of the prosthesis
        again = measure([found], "left")
        for name in ("thigh_rad", "knee_rad", "ankle_rad"):
            np.testing.assert_allclose(again.mean[name], walk.mean[name], atol=np.radians(1.0))


@pytest.mark.slow
def test_a_leg_that_is_not_known_to_be_left_or_right_is_written_as_the_right_one_and_the_file_says_so(tmp_path):
    stride = dataclasses.replace(embedded_stride("rajagopal_1.26ms"), side="")
    for of, said in ((stride, True), ("rajagopal_1.26ms", False)):
        export(of, tmp_path / "gait.mot")
        text = (tmp_path / "gait.mot").read_text()
        assert ("It is not known which leg this is: it is written as the right one." in text) == said
        assert "knee_angle_r" in text
    drive = dataclasses.replace(reference_gait(), side="")
    export(simulate(Prosthesis().driven(drive), strides=1), tmp_path / "run.mot")
    assert "It is not known which leg this is" in (tmp_path / "run.mot").read_text()


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
    with pytest.raises(ValueError, match="2 walks are of the right leg: write each to a file of its own"):
        export({"before": walk, "after": walk}, tmp_path / "walk.csv")


@pytest.mark.filterwarnings("error")
def test_axes_other_than_those_of_the_laboratory_are_in_the_header(tmp_path):
    measured = lambda w: measure([Recording("W", "W.trc", w.rate, w.time, markers=w.markers)])
    export(measured(W), tmp_path / "walk.mot")
    upward = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # z up, forward along y
    said = "x is forward (+y of the laboratory), y is up (+z of the laboratory): turn the laboratory's ground forces"
    with pytest.warns(MotionWarning, match=re.escape(said)):
        export(measured(walker.turned(W, upward)), tmp_path / "turned.mot")
    assert f"X{said[1:]} likewise." in (tmp_path / "turned.mot").read_text()
    slope = math.radians(5.0)
    ramp = np.array(
        [[math.cos(slope), -math.sin(slope), 0.0], [math.sin(slope), math.cos(slope), 0.0], [0.0, 0.0, 1.0]]
    )
    with pytest.warns(
        MotionWarning, match="the ground rises by .* deg along the path: angles and heights are relative"
    ):
        export(measured(walker.turned(W, ramp)), tmp_path / "ramp.mot")


def test_one_trial_of_several_is_chosen(tmp_path):
    """And a trial that does not apply was ignored."""
    trial = synthetic_recording(reference_gait())
    names = {f"{k[:-2]}_l": x for k, x in trial.angles.items() if k.endswith("_r")}
    trial = dataclasses.replace(trial, angles=trial.angles | names)
    later = dataclasses.replace(trial, name="later", file="later.mot", time=trial.time + 1.0)
    right, left = (measure([trial, later], side, Options(cutoff=None)) for side in ("right", "left"))
    export({"right": right, "left": left}, tmp_path / "walk.sto", trial=1)
    assert read_recording(tmp_path / "walk.sto").time[0] == 1.0
    with pytest.raises(ValueError, match="has 2 trials, and a file holds one: give trial=0 to 1"):
        export(right, tmp_path / "walk.mot")
    for result, ending in ((right, "csv"), ("rajagopal_1.26ms", "mot")):
        with pytest.raises(ValueError, match=r"trial=1 selects a trial of a walk for \.mot and \.sto: leave it out"):
            export(result, tmp_path / f"walk.{ending}", trial=1)
    alone = measure([later], "left", Options(cutoff=None))
    with pytest.raises(ValueError, match=r"right leg is of the trials rajagopal_1\.26ms, later, the left one of later"):
        export({"right": right, "left": alone}, tmp_path / "walk.mot", trial=0)


def test_no_gap_is_written_for_opensim(fall, tmp_path):
    """At the first one, it stops reading."""
    trial = synthetic_recording(reference_gait())
    missing = np.isin(np.arange(trial.frames), [0, *range(100, 110), 300])
    trial.angles["knee_angle_r"] = np.where(missing, np.nan, trial.angles["knee_angle_r"])
    what = r"of knee_angle_r are missing at 0\.00 s, 1\.00 to 1\.09 s, 3\.00 s, .* only 1\.10 to 2\.99 s is written"
    with pytest.warns(MotionWarning, match=what):
        export(trial, tmp_path / "walk.mot")
    assert read_recording(tmp_path / "walk.mot").frames == 190
    export(trial, tmp_path / "walk.csv")
    cells = [row["knee_angle_r (deg)"] for row in csv.DictReader((tmp_path / "walk.csv").open())]
    assert (np.array(cells) == "").tolist() == missing.tolist()
    trial.angles["pelvis_tx"] = np.full(trial.frames, np.nan)
    with pytest.raises(MotionFormatError, match="values in all columns; without any value: pelvis_tx; fill the gaps"):
        export(trial, tmp_path / "walk.mot")
    part = fall.assign(height=fall.height.where(fall.time != 1.0))
    with pytest.warns(UserWarning, match=r"left out of fall\.sto, because OpenSim reads no gaps: height; \.csv has"):
        export(part, tmp_path / "fall.sto")
    assert "height" not in read_recording(tmp_path / "fall.sto").angles
    export(part, tmp_path / "fall.csv")
    assert len((tmp_path / "fall.csv").read_text().splitlines()) == 1 + fall.time.size


@pytest.mark.parametrize("gap", [slice(160), slice(240, None)], ids=["at the start", "at the end"])
def test_frames_that_are_cut_off_are_announced(gap, tmp_path):
    trial = synthetic_recording(reference_gait())
    trial = dataclasses.replace(trial, angles={k: np.array(x) for k, x in trial.angles.items()})
    trial.angles["knee_angle_r"][gap] = np.nan
    with pytest.warns(MotionWarning, match=r"values of knee_angle_r are missing at .* is written; fill them to keep"):
        export(trial, tmp_path / "walk.mot")
    assert read_recording(tmp_path / "walk.mot").frames == 240
    for x in trial.angles.values():
        x[gap] = np.nan
    with warnings.catch_warnings(action="error"):  # nothing is lost
        export(trial, tmp_path / "walk.mot")
    assert read_recording(tmp_path / "walk.mot").frames == 240


def test_a_marker_that_is_missing_at_first_is_announced_by_its_angle(tmp_path):
    late = walker.walker(duration=6.0)
    late.markers["RHEE"][:250] = np.nan
    (tmp_path / "late.trc").write_text(walker.trc(late))
    walk = measure([read_recording(tmp_path / "late.trc")])
    with pytest.warns(MotionWarning, match=r"late\.trc: values of ankle_angle_r are missing at 0\.00 to 2\.\d+ s, and"):
        export(walk, tmp_path / "late.mot")


@pytest.mark.parametrize("pelvis", ["measured", "taken as level"])
def test_a_walker_who_is_not_yet_there_has_no_gap(pelvis, tmp_path):
    later = walker.walker(duration=6.0)
    for x in later.markers.values():
        x[:150] = np.nan
    if pelvis == "taken as level":
        later.markers["RGTR"] = later.markers["RASI"] - np.array([0.0, 0.08, 0.0])
        for name in ("RASI", "LASI", "RPSI", "LPSI"):
            del later.markers[name]
    (tmp_path / "later.trc").write_text(walker.trc(later))
    walk = measure([read_recording(tmp_path / "later.trc")])
    assert (walk.legs[0].pelvis is None) == (pelvis == "taken as level")
    with warnings.catch_warnings(action="error"):
        export(walk, tmp_path / "later.mot")
    assert read_recording(tmp_path / "later.mot").time[0] >= 1.5


def test_a_gap_of_a_force_does_not_cut_the_motion(tmp_path):
    trial = synthetic_recording(reference_gait())
    force = np.tile([0.0, 700.0, 0.0], (trial.frames, 1))
    plates = [GroundReaction(name, trial.time, force.copy(), None) for name in ("ground_force", "other_force")]
    plates[0].force[120:, 1] = np.nan
    trial = dataclasses.replace(trial, forces=tuple(plates))
    with pytest.warns(MotionWarning, match=r"forces of ground_force are left out, because .* or write \.csv") as said:
        export(trial, tmp_path / "walk.mot")
    assert len(said) == 1
    found = read_recording(tmp_path / "walk.mot")
    assert found.frames == trial.frames and [plate.name for plate in found.forces] == ["other_force"]


def test_a_point_of_a_force_that_is_not_known_is_not_the_origin(tmp_path):
    trial = synthetic_recording(reference_gait())
    force = np.where(np.arange(trial.frames)[:, None] < 100, [0.0, 700.0, 0.0], 0.0)
    points = [np.where(np.arange(trial.frames)[:, None] < end, [0.3, 0.0, 0.1], np.nan) for end in (100, 50)]
    plates = (GroundReaction(f"{k}_force", trial.time, force, points[i]) for i, k in enumerate(("ground", "other")))
    trial = dataclasses.replace(trial, forces=tuple(plates))
    with pytest.warns(MotionWarning, match="forces of other_force are left out, because values are missing"):
        export(trial, tmp_path / "walk.mot")
    (known,) = read_recording(tmp_path / "walk.mot").forces
    np.testing.assert_array_equal(known.point[:, 0], np.where(np.arange(trial.frames) < 100, 0.3, np.nan))
    export(trial, tmp_path / "walk.csv")
    found = {plate.name: plate.point[:, 0] for plate in read_recording(tmp_path / "walk.csv").forces}
    np.testing.assert_array_equal(np.isnan(found["other_force"]), np.arange(trial.frames) >= 50)


def test_a_run_without_any_value_is_not_written(run, fall, tmp_path):
    for found, ending in ((fall, "csv"), (fall, "sto"), (run, "mot")):
        failed = found.where(found.time < -1.0).assign_attrs(status=3, status_legend='{"3": "failed: stiff"}')
        with pytest.raises(ValueError, match=r"the run has no value at any time \(failed: stiff\)"):
            export(failed, tmp_path / f"a.{ending}")


def test_a_run_of_one_sample_is_no_recording(run, tmp_path):
    begun = run.where(run.time <= 0.0).assign_attrs(status=3, status_legend='{"3": "failed: stiff"}')
    with pytest.raises(ValueError, match=r"values at one time only \(failed: stiff\), and MOT needs two: write \.csv"):
        export(begun, tmp_path / "a.mot")


def test_a_member_with_times_of_its_own_is_a_run(run, fall, tmp_path):
    own = lambda run: run.drop_indexes("time").reset_coords("time").rename_dims(time="instant").assign(status=0)
    for found, ending in ((fall, "csv"), (fall, "sto"), (run, "mot")):
        texts = []
        for one in (found, own(found)):
            export(one, path := tmp_path / f"one.{ending}")
            texts.append(path.read_text())
        assert texts[0] == texts[1]
    assert picture(own(fall), ["height"]).axes[-1].get_xlabel() == "time (s)"


def test_the_histories_that_joint_angles_need_are_named(run, tmp_path):
    with pytest.raises(ValueError, match=r"histories that the run lacks: theta_b, .*; keep them \(trajectories=True\)"):
        export(run[["knee_angle"]], tmp_path / "knee.mot")


@pytest.mark.parametrize("at", [0.0, functools.partial(math.sin, 0.0)], ids=["recorded", "with a function"])
def test_the_histories_that_a_model_of_a_script_needs_are_named(at, run, tmp_path, monkeypatch):
    """Its class is of whatever script runs, and was refused: a model could not be given."""

    class Mine(Prosthesis):
        start: Any = 0.0

    Mine.__module__, Mine.__qualname__ = "__main__", "Mine"
    monkeypatch.setattr(sys.modules["__main__"], "Mine", Mine, raising=False)
    model = Mine(start=at)
    own = run.assign_attrs(model="Mine", module="__main__", contents=json.dumps(contents(model)))
    export(own, tmp_path / "mine.mot")
    lacks = "lacks: theta_b, .*" if at == 0.0 else "may lack .*"
    with pytest.raises(ValueError, match=rf"histories that the run {lacks}; keep them \(trajectories=True\), or write"):
        export(own[["knee_angle"]], tmp_path / "mine.mot")


def test_no_file_decides_what_is_imported(run, tmp_path):
    (tmp_path / "unwanted.py").write_text("raise SystemExit('imported')")
    with pytest.raises(ValueError, match="OpenSim has no names for the joints of Leg"):
        export(run.assign_attrs(module="unwanted", model="Leg"), tmp_path / "leg.mot")


def test_all_outputs_of_any_run_are_read_back(fall, tmp_path):
    """Of 80 m and 1000 N, no degrees are made."""
    export(fall, tmp_path / "fall.sto")
    found = read_recording(tmp_path / "fall.sto")
    assert not found.notes and set(found.angles) == {k for k in fall.data_vars if fall[k].dims == ("time",)}
    for name, x in found.angles.items():
        np.testing.assert_array_equal(x, fall[name])


def test_tables_of_runs_and_scans_have_their_provenance_beside_them(fall, tmp_path):
    scan = ensemble(Bungee(), sobol({"mass": (60.0, 80.0)}, 4, seed=3), duration=1.0, observe=["clearance"], samples=5)
    for result in (fall, scan):
        export(result, tmp_path / "table.csv")
        found = json.loads((tmp_path / "table.csv-metadata.json").read_text())
        (about,) = found["notes"]
        assert found["url"] == "table.csv" and about["model"] == "Bungee" and about["rtol"] == result.attrs["rtol"]
        assert about["parameters"]["gravity"] == float(Bungee().gravity) and about["jaxgait"] == jaxgait.__version__
    assert about["sampled"] == scan.attrs["sampled"] and "seed=3" in about["sampled"]
    export(fall, tmp_path / "fall.sto")
    export("rajagopal_1.26ms", tmp_path / "gait.csv")
    assert len([*tmp_path.glob("*-metadata.json")]) == 1


def test_tables_of_selected_members_state_the_values_that_these_have(tmp_path):
    grid = {"mass": [60.0, 80.0], "stiffness": [15.0, 25.0]}
    scan = ensemble(Bungee(), grid, duration=1.0, samples=5, trajectories=["height"])
    light, one = scan.drop_vars(["time", "height"]).isel(mass=0), scan.isel(mass=1, stiffness=0)
    for result, shared in ((light, {"mass": 60.0}), (one, {"mass": 80.0, "stiffness": 15.0})):
        export(result, tmp_path / "table.csv")
        (about,) = json.loads((tmp_path / "table.csv-metadata.json").read_text())["notes"]
        assert {n: x for n, x in about["parameters"].items() if n in grid} == shared
    assert [line.split(",")[:2] for line in members_csv(light).splitlines()[1:]] == [["15.0", "60.0"], ["25.0", "60.0"]]


def test_a_table_in_the_user_s_folder_has_its_provenance_beside_it(fall, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    export(fall, "~/fall.csv")
    assert {one.name for one in tmp_path.iterdir()} == {"fall.csv", "fall.csv-metadata.json"}


def test_csv_has_units_in_its_header(run, fall, tmp_path):
    export(fall, tmp_path / "fall.csv")
    rows = list(csv.reader((tmp_path / "fall.csv").open()))
    assert rows[0][:4] == ["time (s)", "x (m)", "v (m/s)", "height (m)"]
    np.testing.assert_array_equal([float(row[3]) for row in rows[1:]], fall.height)
    export(run, tmp_path / "run.csv")
    labels = next(csv.reader((tmp_path / "run.csv").open()))
    assert {"knee_angle (rad)", "heel_force (N)", "points_heel_x (m)"} <= set(labels)


def test_a_run_that_ended_early_is_written_until_its_end(run, fall, tmp_path):
    cut = fall.where(fall.time <= 1.0)
    time, columns = run_columns(cut)
    assert time[-1] == 1.0 and np.isfinite(columns["height"].values).all()
    export(cut, tmp_path / "cut.sto")
    assert read_recording(tmp_path / "cut.sto").frames == time.size
    with warnings.catch_warnings(action="error"):  # its end is no gap
        export(run.where(run.time <= 1.0), tmp_path / "cut.mot")
    assert read_recording(tmp_path / "cut.mot").time[-1] == pytest.approx(1.0, abs=run.time.values[1])


def test_an_old_file_stays_if_nothing_can_be_written(fall, tmp_path):
    path = tmp_path / "old.mot"
    path.write_text("old")
    with pytest.raises(ValueError, match="OpenSim has no names for the joints of Bungee: write "):
        export(fall, path)
    assert path.read_text() == "old" and [*tmp_path.iterdir()] == [path]
    (path := tmp_path / "old.sto").write_text("old")
    with pytest.raises(ValueError, match=r"old\.sto is not written: .* every output has one \(x, v, .*: write \.csv"):
        export(fall.where(fall.time != 1.0), path)
    assert path.read_text() == "old"


def test_what_cannot_be_written_is_named(fall, tmp_path):
    with pytest.raises(ValueError, match=r"run\.xls: the name of a table must end in \.csv, \.mot or \.sto"):
        export(fall, tmp_path / "run.xls")
    with pytest.raises(ValueError, match=r"this scan has time histories .*, data\.isel\(member=0\)"):
        export(xr.concat([fall, fall], "member").assign(status=("member", [0, 0])), tmp_path / "a.csv")
    with pytest.raises(ValueError, match="nothing to write: the scan over mass has no members"):
        export(xr.Dataset({"status": ("mass", np.zeros(0, int))}, {"mass": np.zeros(0)}), tmp_path / "a.csv")
    with pytest.raises(TypeError, match="cannot be written as a table over time: give a run, a Walk"):
        export(3.0, tmp_path / "a.mot")
    trial = synthetic_recording(reference_gait())
    marked = dataclasses.replace(trial, markers={"RASI": np.ones((trial.frames, 3))})
    with pytest.raises(MotionFormatError, match="contains markers; MOT and STO files hold joint angles"):
        export(marked, tmp_path / "a.mot")
