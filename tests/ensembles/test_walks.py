"""Ensembles over people and over strides: members are the runs one by one, under names, on the command line too."""

import dataclasses
import json
import shutil
import warnings

import numpy as np
import pytest
import xarray as xr

from jaxgait import cli, ensemble
from jaxgait.cli import console
from jaxgait.ensembles import grid, people, product, single_strides
from jaxgait.ensembles.addresses import drive_number
from jaxgait.ensembles.members import check_members
from jaxgait.measure import Measure, MeasureError
from jaxgait.models import Bungee, Prosthesis
from jaxgait.models.prosthesis import fitting
from jaxgait.motion import MotionWarning
from jaxgait.motion.capture.walk import measure
from jaxgait.motion.drive import REFERENCE_GAITS, at_cadence, reference_gait
from jaxgait.motion.embedded import gait_record
from jaxgait.motion.naming import motion_drive
from jaxgait.motion.record import walk_record, write_record
from jaxgait.motion.recording import Recording
from jaxgait.parameters import ParameterError, parameters, with_parameters
from jaxgait.solve.simulate import simulate
from tests.motion import walker

TWO = ("--motion", *REFERENCE_GAITS[:2])


@pytest.fixture(scope="module")
def walk_file(tmp_path_factory):
    w = walker.walker(duration=5.0, seed=2)
    walk = measure([Recording("jo", "jo.trc", w.rate, w.time, markers=w.markers)], mass=walker.MASS)
    path = tmp_path_factory.mktemp("walks") / "jo.json"
    write_record(walk_record(walk, 6), path)
    return str(path)


@pytest.mark.usefixtures("unaligned")
def test_people_differ_in_motion_and_in_what_follows_from_it(walk_file):
    leg, who = people(Prosthesis(), [*REFERENCE_GAITS[:2], walk_file])
    assert who.dims == ("subject",) and list(who.labels["subject"][1]) == [*REFERENCE_GAITS[:2], "jo"]
    check_members(leg, who)
    assert [name for name, (_, x) in who.labels.items() if x.dtype.kind == "O"] == ["subject"], (
        "tables name each person"
    )
    assert repr(who).startswith("<Members {'subject': 3} with values of segments.thigh, ")
    assert who.values["drive.thigh.a"].shape == (3, 8) and np.all(who.values["drive.thigh.a"][2, 6:] == 0.0)
    alone = Prosthesis().driven(reference_gait(REFERENCE_GAITS[1]))
    assert who.values["height_offset"][1] == float(alone.height_offset)
    assert who.values["segments.shank"][2] != who.values["segments.shank"][0]
    fixed = people(Prosthesis(), REFERENCE_GAITS[:2], then=lambda leg: with_parameters(leg, {"height_offset": -0.1}))
    assert "height_offset" not in fixed[1].values and fixed[0].height_offset == -0.1


def test_people_of_one_name_are_numbered():
    names = ["ann (2)", "ann", "ann", "ann (slow)", "ann"]
    drives = [dataclasses.replace(reference_gait(), name=name) for name in names]
    subjects = people(Prosthesis(), drives)[1].labels["subject"][1].tolist()
    assert subjects == ["ann (2)", "ann", "ann (3)", "ann (slow)", "ann (4)"]


@pytest.mark.usefixtures("unaligned")
def test_files_of_one_recording_keep_their_names(walk_file, tmp_path):
    """Both legs of a recording have its name."""
    sides = [tmp_path / "jo.right.json", tmp_path / "jo.left.json"]
    for side in sides:
        shutil.copy(walk_file, side)
    assert people(Prosthesis(), [str(side) for side in sides])[1].labels["subject"][1].tolist() == [
        "jo.right",
        "jo.left",
    ]


@pytest.mark.usefixtures("unaligned")
def test_a_body_mass_that_only_some_walks_have_warns(walk_file):
    known = motion_drive(walk_file)
    assert known.person is not None
    unknown = dataclasses.replace(known, name="ben", person=known.person._replace(mass=None))
    with pytest.warns(MotionWarning, match="ben: the body mass is not known, as it is for others"):
        people(Prosthesis(), [known, unknown])


@pytest.mark.slow
@pytest.mark.usefixtures("unaligned")
def test_embedded_gaits_with_their_people_are_those_of_a_file(tmp_path):
    """By name alone they drive the model's own leg, with a warning."""
    name = REFERENCE_GAITS[2]
    write_record(gait_record(name), tmp_path / "hbm07.json")
    named = reference_gait(name, with_person=True)
    read = motion_drive(str(tmp_path / "hbm07.json"))
    assert named.person == read.person and read.person.mass == 67.2
    fits = [parameters(Prosthesis().driven(drive)) for drive in (named, read)]
    for part in ("segments.thigh", "segments.shank", "masses.thigh", "masses.inertia_thigh", "height_offset"):
        by_name, by_file = (float(p[part].value) for p in fits)
        assert by_name == pytest.approx(by_file, rel=1e-9) != float(parameters(Prosthesis())[part].value)
    with warnings.catch_warnings():
        warnings.simplefilter("error", MotionWarning)
        _, walkers = people(Prosthesis(), [reference_gait(n, with_person=True) for n in REFERENCE_GAITS])
    assert {"segments.thigh", "segments.shank", "masses.thigh"} <= set(walkers.values)
    with pytest.warns(MotionWarning, match=r"hbm07_0\.98ms \(2\): the leg keeps the model's segments and masses"):
        _, walkers = people(Prosthesis(), [named, name])
    assert walkers.values["segments.shank"][1] == float(Prosthesis().segments.shank)


def test_the_leg_of_people_can_be_driven_again(walk_file, monkeypatch):
    """Whatever the height to which it was aligned."""
    raised = lambda leg: with_parameters(leg, {"height_offset": leg.height_offset + 0.004})
    monkeypatch.setattr(fitting, "aligned", raised)
    leg, _ = people(Prosthesis(), [walk_file, REFERENCE_GAITS[1]])
    other = reference_gait(REFERENCE_GAITS[1])
    again, alone = (parameters(one.driven(other)) for one in (leg, Prosthesis()))
    for name, parameter in alone.items():
        assert float(again[name].value) == pytest.approx(float(parameter.value), rel=1e-12), name


def test_the_interval_between_samples_is_that_of_the_slowest_walker():
    leg, who = people(Prosthesis(), ["rajagopal_1.26ms", "hbm07_0.98ms"])  # strides of 1.127 and 1.196 s
    fine = Measure("fine", lambda run: run.ts[-1], "s", "end", interval=0.0115)
    with pytest.raises(MeasureError, match=r"they are 0\.012 s apart"):
        ensemble(leg, who, strides=1, samples=100, observe=[fine])


@pytest.mark.slow
def test_every_member_is_the_run_of_that_person(walk_file):
    """With a grid over the damper, too: the same numbers as single runs."""
    leg, who = people(Prosthesis(), [REFERENCE_GAITS[1], walk_file])
    k = np.array([1.6e4, 2.2e4])
    tight = {"strides": 2, "rtol": 1e-8}  # otherwise touch-downs amplify the last digits to the default tolerance
    data = ensemble(leg, product(who, grid({"damper.k": k})), observe=["peak_flexion"], **tight)
    assert data.peak_flexion.dims == ("subject", "damper.k")
    assert data["segments.shank"].attrs["of"] == "subject" and "of" not in data["damper.k"].attrs
    for name, motion in zip(data.subject.values, (REFERENCE_GAITS[1], walk_file), strict=True):
        one = with_parameters(Prosthesis().driven(motion_drive(motion)), {"damper.k": 2.2e4})
        run = simulate(one, **tight)
        at = data.sel({"subject": name, "damper.k": 2.2e4})
        assert float(at.t_end) == pytest.approx(float(run.time[-1]), rel=1e-9)
        assert float(at.theta_b_end) == pytest.approx(float(run.theta_b[-1]), abs=1e-6)


@pytest.mark.usefixtures("unaligned")
def test_strides_of_one_person_are_members(walk_file):
    leg, steps = single_strides(Prosthesis(), walk_file)
    assert steps.dims == ("stride",) and list(steps.labels["stride"][1]) == list(range(1, steps.size + 1))
    check_members(leg, steps)
    assert steps.size >= 3 and np.ptp(steps.values["drive.period"]) > 0
    assert steps.labels["drive.speed"][0] == ("stride",)


def test_equal_names_are_numbered():
    slow = at_cadence(reference_gait(), 0.9)
    who = people(Prosthesis(), [reference_gait(), slow])[1]
    assert list(who.labels["subject"][1]) == ["rajagopal_1.26ms", "rajagopal_1.26ms (2)"]


def test_impossible_walks_raise(walk_file):
    with pytest.raises(ParameterError, match="give a list of motions"):
        people(Prosthesis(), [])
    with pytest.raises(ParameterError, match="Bungee is not driven by measured motion"):
        people(Bungee(), list(REFERENCE_GAITS))
    with pytest.raises(ValueError, match="contains no individual strides; write a recording with"):
        single_strides(Prosthesis(), REFERENCE_GAITS[0])
    with pytest.raises(ParameterError, match=r"the motion of Bungee has no number 'drive\.period'"):
        drive_number(Bungee(), "drive.period")
    with pytest.raises(ParameterError, match=r"is an element of an array of the motion: give all of 'drive\.thigh\.a'"):
        drive_number(Prosthesis(), "drive.thigh.a[2]")


@pytest.mark.slow
def test_the_command_line_scans_people(walk_file, tmp_path, capsys):
    out, store = tmp_path / "scan.nc", tmp_path / "scan.zarr"
    command = ["scan", "knee", "--motion", REFERENCE_GAITS[1], walk_file, "--strides", "1", "--observe", "peak_flexion"]
    cli.main([*command, "--out", str(out), "--store", str(store)])
    assert f"driven by {REFERENCE_GAITS[1]}, jo (dimension subject)" in capsys.readouterr().out
    data = xr.load_dataset(out, engine="h5netcdf")
    assert list(data.subject.values) == [REFERENCE_GAITS[1], "jo"] and data["drive.speed"].units == "m/s"
    cli.main([*command, "--store", str(store)])  # continued, nothing left to do


@pytest.mark.slow
def test_the_command_line_tunes_one_damper_for_several_people(walk_file, tmp_path, capsys):
    command = ["optimize", "knee", "--motion", REFERENCE_GAITS[1], walk_file, "--robust", "worst", "--strides", "2"]
    box = ["--over", "damper.k=1.4e4:2e4", "--starts", "1", "--iterations", "2", "--gradient", "run"]
    cli.main([*command, *box, "--json", str(tmp_path / "best.json"), "--report", str(tmp_path / "report")])
    output = capsys.readouterr().out
    assert f"driven by {REFERENCE_GAITS[1]}, jo (dimension subject)" in output
    record = json.loads((tmp_path / "best.json").read_text())
    shanks, each = record["parameters"]["segments.shank"]["value"], record["scenarios"]
    assert len(shanks) == 2 and shanks[0] != shanks[1]
    assert each["scenario"] == [f"subject = {REFERENCE_GAITS[1]}", "subject = jo"]
    page = (tmp_path / "report" / "report.html").read_text()
    assert "<h2>Scenarios</h2>" in page
    worst = each["scenario"][int(np.argmin(each["objective"]))]
    assert f"before and after: {worst}, the worst of 2 scenarios at the best point." in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["knee", "--each-stride"], "--each-stride takes exactly one --motion, got 0"),
        (["bungee", "--motion", *REFERENCE_GAITS[:2]], "Bungee is not driven by measured motion"),
        (["knee", "--motion", REFERENCE_GAITS[0], "--each-stride"], "contains no individual strides"),
        (["knee"], "nothing varies in this scan: give --over"),
        (["knee", *TWO, "--over", "drive.period=1:1.2:3"], "drive.period cannot be given to --over: it follows from"),
    ],
)
def test_an_impossible_scan_is_an_error_of_one_line(arguments, message, capsys):
    assert message in _bad("scan", arguments, capsys)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*TWO, "--each-stride"], "--each-stride takes exactly one --motion, got 2"),
        ([*TWO, "--over", "drive.period=1:1.2"], "drive.period cannot be given to --over: it follows from each motion"),
        ([*TWO, "--across", "drive.speed=1,1.2"], "drive.speed cannot be given to --across: it follows from"),
        ([*TWO, "--front", "minimize", "peak_flexion", "--report", "r"], "or --across, --each-stride, other --motion"),
        (["--motion", REFERENCE_GAITS[0], "--robust", "worst"], "--robust needs scenarios: give --across"),
    ],
)
def test_an_impossible_search_over_people_is_an_error_of_one_line(arguments, message, capsys):
    assert message in _bad("optimize", ["knee", *arguments], capsys)


def _bad(command, arguments, capsys):
    """The one line that a command prints for a bad request, besides the warning of legs without a person."""
    with pytest.raises(SystemExit) as stop:
        cli.main([command, *arguments])
    assert stop.value.code == console.BAD_INPUT
    lines = [line for line in capsys.readouterr().err.splitlines() if "keeps the model's segments" not in line]
    assert len(lines) == 1
    return lines[0]
