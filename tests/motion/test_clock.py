"""Times of frames: uneven ones are interpolated, missing ones are gaps, and both can be true."""

import numpy as np
import pytest

from jaxgait.motion import MotionFormatError
from jaxgait.motion.readers import read_recording
from jaxgait.motion.readers.clock import clock
from tests.motion import walker

EVEN = np.arange(400) / 100.0


def wave(time):
    return np.sin(2 * np.pi * time)


@pytest.mark.parametrize("lost", [0, 1, 3])
@pytest.mark.parametrize("jitter", [0.0013, 0.002])
def test_uneven_times_are_interpolated(lost, jitter):
    """Snapped to even times, a wave of 1 Hz would be wrong by 2 pi times the jitter in s."""
    time = EVEN + jitter * np.sin(2.3 * np.arange(EVEN.size))
    time[[0, -1]] = EVEN[[0, -1]]
    time = np.delete(time, np.s_[100 : 100 + lost])
    found = clock("walk.csv", time, np.arange(1, time.size + 1))
    values = found.on(wave(time))
    assert abs(found.rate - 100.0) < 1e-9 and found.time.size == EVEN.size
    there = np.isfinite(values)
    assert np.array_equal(np.flatnonzero(~there), np.arange(100, 100 + lost))
    np.testing.assert_allclose(values[there], wave(EVEN)[there], atol=8e-4)
    assert any("resampled at 100 Hz" in note for note in found.notes)
    words = {0: "missing", 1: "1 frame is missing", 3: "3 frames are missing"}[lost]
    assert any(words in note for note in found.notes) == bool(lost)


def test_one_row_has_no_rate():
    with pytest.raises(MotionFormatError, match=r"walk\.csv: 1 time: too few for a rate"):
        clock("walk.csv", np.zeros(1), np.ones(1, int))


def test_a_rate_that_the_times_deny_is_warned_of(tmp_path):
    w = walker.walker(duration=0.6)
    (tmp_path / "walk.trc").write_text(walker.trc(w).replace("100.0\t100.0", "200.0\t200.0", 1))
    found = read_recording(tmp_path / "walk.trc")
    assert found.rate == 100 and not any("header states" in note for note in found.notes)
    assert "the header states 200 Hz, the times give 100 Hz: the latter is used" in found.warnings


def test_even_times_at_another_rate_than_the_stated_one():
    found = clock("walk.csv", np.arange(1000) / 99.9, np.arange(1, 1001), stated=100.0)
    assert found.rate == 100.0 and found.notes == ("the times give 99.9 Hz, the header 100 Hz: resampled at 100 Hz",)
    assert np.abs(found.on(wave(np.arange(1000) / 99.9)) - wave(found.time)).max() < 1e-3


@pytest.mark.parametrize("start", [0.0, 7.6543])
@pytest.mark.parametrize(("rate", "digits"), [(60, 2), (59.94, 2), (120, 2), (480, 3), (900, 3), (1080, 3), (1500, 3)])
def test_rounded_times_are_those_of_all_frames(rate, digits, start):
    """At 900 Hz in whole ms, each tenth frame seemed to be missing at 1000 Hz; at 1080 Hz some are there twice."""
    true = start + np.arange(int(3 * rate)) / rate
    found = clock("force.mot", np.round(true, digits), np.arange(true.size))
    assert found.frame is None and found.recorded is None
    assert abs(found.rate / rate - 1) < 1e-3
    np.testing.assert_allclose(found.time, true, atol=0.5 * 10.0**-digits)


def test_rounded_times_at_another_rate_than_the_stated_one_are_not_uneven():
    """Of a camera at 59.94 Hz whose header says 60, written in hundredths of a second."""
    true = np.arange(180) / 59.94
    found = clock("walk.csv", np.round(true, 2), np.arange(1, 181), stated=60.0)
    assert found.rate == 60.0 and found.notes == ("the times give 59.9 Hz, the header 60 Hz: resampled at 60 Hz",)
    assert np.abs(found.on(true) - found.time).max() < 0.005


@pytest.mark.parametrize(("rate", "lost"), [(100, 1), (1000, 150)])
def test_missing_frames_of_rounded_times_are_gaps(rate, lost):
    time = np.arange(3 * rate) / rate
    kept = np.sort(np.random.default_rng(0).permutation(np.arange(1, time.size - 1))[lost:])
    kept = np.concatenate([[0], kept, [time.size - 1]])
    found = clock("walk.csv", time[kept], np.arange(kept.size))
    assert found.frame is not None and found.frame.tolist() == kept.tolist() and abs(found.rate - rate) < 1e-9
