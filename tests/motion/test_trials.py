"""What is one trial with its ground forces, and what are several trials."""

import dataclasses

import matplotlib.pyplot as plt
import numpy as np
import pytest

from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.coordinates import angle_names
from jaxgait.motion.capture.trials import together
from jaxgait.motion.capture.walk import measure
from jaxgait.motion.naming import motion_drive
from jaxgait.motion.readers import read_recording
from jaxgait.motion.recording import Recording
from tests.motion import walker
from tests.test_examples import ROOT, blocks

W = walker.walker(duration=3.0)


def test_forces_go_with_the_trial_that_has_none(tmp_path):
    (tmp_path / "a.trc").write_text(walker.trc(W))
    (tmp_path / "a.mot").write_text(walker.forces(W))
    trial, forces = read_recording(tmp_path / "a.trc"), read_recording(tmp_path / "a.mot")
    (both,) = together([forces, trial])
    assert len(both.forces) == 1 and both.markers
    for read in (lambda: together([forces]), lambda: motion_drive(str(tmp_path / "a.mot"))):
        with pytest.raises(MotionFormatError, match="contains ground forces only"):
            read()
    own = dataclasses.replace(trial, forces=forces.forces)
    with pytest.raises(MotionFormatError, match=r"a\.mot: ground forces in addition to those of .*a\.trc; leave one"):
        together([own, forces])  # else they would add up
    with pytest.raises(MotionFormatError, match="with several trials"):
        together([trial, trial, forces])
    kinematics = Recording("ik", "ik.mot", trial.rate, trial.time, angles={n: trial.time for n in angle_names("right")})
    with pytest.raises(MotionFormatError, match="joint angles in addition to markers; leave one out"):
        together([trial, kinematics, forces])  # else the strides of one walk would count twice
    assert measure([trial, forces], mass=walker.MASS).dynamics is not None


def test_the_same_recording_twice_is_told_apart_by_what_it_is():
    time = np.arange(101) / 100.0
    body = Recording("walk", "walk.trc", 100.0, time, {name: np.ones((101, 3)) for name in ("RASI", "LASI", "RHEE")})
    assert len(together([body, dataclasses.replace(body)])) == 2


@pytest.mark.parametrize("page", ["coming_from/opensim.md", "your_capture.md"])
def test_pages_measure_recordings(page, tmp_path, monkeypatch):
    """Their blocks that read recordings, with files of a synthetic walker."""
    w = walker.walker(duration=4.0)
    (tmp_path / "markers.trc").write_text(walker.trc(w))
    (tmp_path / "forces.mot").write_text(walker.forces(w))
    walker.c3d(w, tmp_path / "walk.c3d")
    monkeypatch.chdir(tmp_path)
    reading = [block for block in blocks(ROOT / "docs" / page) if "read_recording(" in block]
    assert reading
    for block in reading:
        exec(compile(block, page, "exec"), {"__name__": "page"})
        plt.close("all")
