"""Exports of Vicon Nexus with force plates: they give what the C3D file of the trial gives, or say what is wrong."""

import dataclasses
import re

import numpy as np
import pytest

from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.walk import measure
from jaxgait.motion.readers import read_recording
from jaxgait.motion.recording import Recording
from tests.motion import walker
from tests.motion.measured import RAW, needs_raw

ROUNDED = 1e-4
"""Forces in N, and lengths in mm, of the text: four digits."""


@pytest.fixture(scope="module")
def trial(tmp_path_factory) -> Recording:
    """Of a walker on one plate, as the C3D file has it."""
    path = tmp_path_factory.mktemp("c3d") / "walk.c3d"
    walker.c3d(walker.walker(), path)
    return read_recording(path)


@pytest.fixture(scope="module")
def text(trial) -> str:
    """Half a second of it."""
    short = lambda x, frames: x[:frames]
    markers = {k: short(x, 50) for k, x in trial.markers.items()}
    forces = tuple(
        f._replace(**{k: short(getattr(f, k), 500) for k in ("time", "force", "point")}) for f in trial.forces
    )
    return walker.nexus(dataclasses.replace(trial, time=trial.time[:50], markers=markers, angles={}, forces=forces))


def read(tmp_path, text: str, name: str = "walk.csv") -> Recording:
    (tmp_path / name).write_text(text)
    return read_recording(tmp_path / name)


def same_forces(found: Recording, right: Recording):
    assert len(found.forces) == len(right.forces)
    for ours, theirs in zip(found.forces, right.forces, strict=True):
        np.testing.assert_allclose(ours.time, theirs.time, atol=1e-12)
        np.testing.assert_allclose(ours.force, theirs.force, atol=ROUNDED)
        np.testing.assert_allclose(ours.point, theirs.point, atol=1e-3 * ROUNDED)


def same(found: Recording, right: Recording, side: str):
    """Whether two recordings of a trial give one walk and its joint loads."""
    same_forces(found, right)
    walk, expected = measure([found], side, mass=70.0), measure([right], side, mass=70.0)
    assert expected.dynamics is not None and walk.dynamics is not None
    np.testing.assert_allclose(walk.speed, expected.speed, rtol=1e-6)
    for name, ends in expected.dynamics.peaks.items():
        np.testing.assert_allclose(walk.dynamics.peaks[name], ends, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(("on_the_plates", "sign"), [(True, "negative"), (False, "positive")])
def test_an_export_gives_the_walk_and_the_joint_loads_of_the_c3d_file(trial, tmp_path, on_the_plates, sign):
    found = read(tmp_path, walker.nexus(trial, on_the_plates))
    assert [plate.name for plate in found.forces] == ["Force Plate 1"]
    assert any(f"their z, the vertical one under load, is {sign}" in note for note in found.notes)
    same(found, trial, "right")


@pytest.mark.slow
@needs_raw
def test_the_export_of_a_measured_walk_on_two_plates_gives_the_joint_loads_of_its_c3d_file(tmp_path):
    right = read_recording(RAW / "bmc_Gait.c3d")
    same(read(tmp_path, walker.nexus(right)), right, "right")


def test_other_devices_other_sections_and_other_delimiters(text, tmp_path):
    """Among EMG and results of models; as spreadsheets of Europe save it; force plates in another order of columns."""
    right = read(tmp_path, text)
    assert right.forces[0].force[:, 2].max() > 100.0
    lines = text.splitlines()
    at = lines.index("Trajectories")
    emg = [*lines[:2], lines[2] + ",EMG - Voltage", lines[3] + ",Glut", lines[4] + ",V"]
    emg += [f"{line},0.1" for line in lines[5 : at - 1]]
    emg += ["", "Model Outputs", "100", ",,Jo:RKneeAngles,,", "Frame,Sub Frame,X,Y,Z", ",,deg,deg,deg", "1,0,5,0,0", ""]
    found = read(tmp_path, "\n".join([*emg, *lines[at:]]))
    same_forces(found, right)
    assert {"not read of the devices: EMG - Voltage", "not read: the sections Model outputs"} <= set(found.notes)
    spreadsheet = text.replace(",", ";").replace(".", ",").replace("N,mm", "N.mm").replace("\n\n", "\n;;;;\n")
    same_forces(read(tmp_path, spreadsheet), right)
    same_forces(read(tmp_path, text.replace(",", "\t"), "walk.txt"), right)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Trajectories\n", "Trajectories (100 Hz)\n"),
        ("Trajectories\n100\n", "Trajectories of the trial\n100,Hz\n"),
        ("Devices\n", "Devices (1000 Hz),,,\n"),
        ("Devices\n1000\n", "Devices: 1000\n1000,Hz\n"),
    ],
)
def test_headings_and_rates_with_text_behind_them(text, tmp_path, old, new):
    right, found = read(tmp_path, text), read(tmp_path, text.replace(old, new))
    assert (
        found.rate == right.rate == 100 and found.markers.keys() == right.markers.keys() and found.notes == right.notes
    )
    same_forces(found, right)


def test_a_remark_is_no_section(text, tmp_path):
    _, _, trajectories = text.partition("\n\n")
    trajectories = trajectories.replace("Trajectories", "Devices used: twelve cameras")
    assert read(tmp_path, trajectories).markers


def test_a_trimmed_trial_keeps_its_clock(trial, tmp_path):
    """From frame 51 on: forces are not shifted against the markers."""
    whole = walker.nexus(trial)
    later = re.sub(r"(?m)^([1-9]|[1-4]\d|50),.*\n", "", whole)
    assert later.count("\n") == whole.count("\n") - 50 * 11
    found = read(tmp_path, later)
    np.testing.assert_allclose(found.time, trial.time[50:])
    np.testing.assert_allclose(found.forces[0].time, trial.forces[0].time[500:])
    np.testing.assert_allclose(found.forces[0].force, trial.forces[0].force[500:], atol=ROUNDED)


def test_devices_alone_are_a_file_of_forces(text, tmp_path):
    right = read(tmp_path, text)
    devices, _, trajectories = text.partition("\n\n")
    alone = read(tmp_path, devices)
    same_forces(alone, right)
    assert alone.rate == 1000 and not alone.markers
    assert not read(tmp_path, trajectories).forces
    with pytest.raises(MotionFormatError, match="neither trajectories nor force plates"):
        read(tmp_path, devices.replace("Fx,Fy,Fz", "1,2,3"))


def test_plates_without_a_centre_of_pressure_and_of_one_name(text, tmp_path):
    found = read(tmp_path, text.replace("Cx,Cy,Cz", "1,2,3"))
    assert found.forces[0].point is None and any("has no centre of pressure" in note for note in found.notes)
    devices, _, trajectories = text.partition("\n\n")
    twice = [",".join([line, *line.split(",")[2:]]) if "," in line else line for line in devices.splitlines()]
    found = read(tmp_path, "\n".join([*twice, "", trajectories]))
    assert [plate.name for plate in found.forces] == ["Force Plate 1", "Force Plate 1 (2)"]
    np.testing.assert_array_equal(found.forces[0].point, found.forces[1].point)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "Devices\n1000\n",
            "Devices\n",
            "line 1: the devices have no rate; write it in Hz in the line below 'Devices'",
        ),
        (
            ",N,N,N,",
            ",N,,N,",
            "Fy: it has no unit; write N or kN, or delete the section Devices to use the markers alone",
        ),
        ("1,0,.*?\n3,0", "3,0", "the devices have frames 3 to 50, but the trajectories 1 to 50: cut off?"),
        ("Devices\n1000", "Devices\n1200", "the devices have 10 samples per frame and a rate of 1200 Hz, but the traj"),
        (",N,N,N,", ",V,V,V,", "line 5, column Force Plate 1 Fx: the unit 'V' is not known; write N or kN"),
        ("mm,mm,mm\n1,0", "mm,,mm\n1,0", "line 5, column Force Plate 1 Cy: it has no unit; write mm, cm or m"),
        (",,N,N,N,N.mm,N.mm,N.mm,mm,mm,mm\n", "", "line 4: the devices have no line of units"),
        (
            "\n7,3,",
            "\n7,4,",
            "line 69: frame 7, sub frame 4 follows frame 7, sub frame 2, where frames have 10 samples",
        ),
        (r"\n7,3,.*?\n", "\n", "line 69: frame 7, sub frame 4 follows frame 7, sub frame 2"),
        (r"\n40,3,.*?\n\n", "\n\n", "frame 40 has 3 of 10 sub frames: cut off?; export the trial again, or delete"),
        (r"\n40,0,.*?\n\n", "\n\n", "the devices have frames 1 to 39, but the trajectories 1 to 50: cut off?"),
        (r"(\n40,3,.*?),.*?\n\n", r"\1\n\n", "frame 40 has 3 of 10 sub frames"),
        ("Frame,Sub Frame,Fx", "Frame,Field,Fx", "the devices have no numbers of sub frames"),
        ("\n7,3,", "\n7,,", "line 69: no number of the frame or sub frame"),
        ("\n7,3,", "\n7,3,high,", "cells where"),
    ],
)
def test_what_is_wrong_with_the_devices_is_said(text, tmp_path, old, new, message):
    broken = re.sub(old, new, text, count=1, flags=re.DOTALL)
    assert broken != text
    with pytest.raises(MotionFormatError) as raised:
        read(tmp_path, broken)
    assert message in str(raised.value)
