"""Markers that are all there and wrong: late, at another frame rate, out of their place."""

import dataclasses

import numpy as np
import pytest

from jaxgait.motion.capture.leg import Options, leg_of
from jaxgait.motion.capture.walk import measure
from jaxgait.motion.readers import read_recording
from jaxgait.motion.recording import Force, Recording
from tests.motion import walker
from tests.motion.measured import RAW, needs_raw

W = walker.walker(duration=4.0, seed=1)
FEET = ("RANK", "RANKM", "RHEE", "RTOE")
TIME, FORCE, POINT = walker.pressed(W)
WORDS = ("lags", "behind the plates", "ahead of the plates", "stance lasts", "ASIS is")


def recording(moved=(), late=0.0, low=0.0, pace=1.0, plates=True) -> Recording:
    """The walk with some markers late by a time in s, the right ASIS low by a way in m, and another frame rate."""
    after = lambda x: np.stack([np.interp(W.time - late, W.time, column) for column in x.T], axis=1)
    markers = {k: after(x) if k in moved else x for k, x in W.markers.items()}
    markers["RASI"] = markers["RASI"] - np.array([0.0, low, 0.0])
    forces = (Force("plate 1", TIME, FORCE, POINT),) if plates else ()
    return Recording("walk", "walk.trc", W.rate * pace, W.time / pace, markers, forces=forces)


MEASURED = ["bmc_Gait.c3d", "gatk_rawdata.txt", "rajagopal_markers_walk.trc", "subject01_walk_free_01.trc"]


@needs_raw
@pytest.mark.parametrize("name", MEASURED)
def test_a_floor_above_the_markers_of_the_foot_is_not_the_floor(name):
    """No marker is in the floor: one that is 45 mm too high is found from the lowest marker, to 12 mm."""
    trial = read_recording(RAW / name)
    options = Options(static=read_recording(RAW / "subject01_static.trc") if name.startswith("subject01") else None)
    whole = leg_of(trial, "right", options)
    sunk = {k: x - 0.045 * whole.axes.rotation[1] for k, x in trial.markers.items()}
    found = leg_of(dataclasses.replace(trial, markers=sunk), "right", options)
    said = [[line for line in leg.warnings if "the floor is not at" in line] for leg in (whole, found)]
    assert [len(lines) for lines in said] == [0, 1]
    np.testing.assert_allclose(found.hip[:, 1], whole.hip[:, 1], atol=0.012)


def said(trial: Recording) -> list[str]:
    return [line for line in measure([trial]).warnings if any(word in line for word in WORDS)]


@pytest.mark.parametrize("plates", [True, False])
def test_nothing_is_said_of_sound_markers(plates):
    assert not said(recording(plates=plates))


@pytest.mark.parametrize(
    ("moved", "late", "expected"),
    [
        (FEET, 0.05, "the ankle lags the knee"),
        (FEET, -0.05, "the knee lags the ankle"),
        (("RHEE", "RTOE"), 0.05, "the heel lags the ankle"),
        (("RASI", "LASI", "RPSI", "LPSI"), 0.05, "the hip lags the knee"),
    ],
)
def test_markers_that_lag_others_are_warned_of_with_the_time(moved, late, expected):
    (line,) = said(recording(moved, late, plates=False))
    assert line.startswith(f"right leg: {expected} by about ")
    assert float(line.split("about ")[1].split()[0]) == pytest.approx(50.0, abs=8.0)


@pytest.mark.parametrize(("late", "word"), [(0.06, "behind"), (-0.06, "ahead of")])
def test_markers_and_plates_that_are_out_of_step_are_warned_of(late, word):
    trial = recording()
    plate = trial.forces[0]
    (line,) = said(dataclasses.replace(trial, forces=(plate._replace(time=plate.time - late),)))
    assert f"{word} the plates" in line


@pytest.mark.parametrize("pace", [1.2, 1 / 1.2])
def test_a_frame_rate_that_plates_contradict_is_warned_of(pace):
    (line,) = (line for line in said(recording(pace=pace)) if "stance lasts" in line)
    assert float(line.split("frames at ")[1].split()[0]) == pytest.approx(W.rate, abs=10.0)


def test_an_asis_that_is_low_is_warned_of():
    (line,) = said(recording(low=0.03, plates=False))
    assert "the right ASIS is 30 mm lower than the left one" in line
    assert not said(recording(low=0.015, plates=False))
