"""Several trials make one walk only if they are of one person who walks alike: contradictions are reported."""

import numpy as np
import pytest

from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.leg import Options
from jaxgait.motion.capture.walk import measure
from jaxgait.motion.recording import Recording
from tests.motion import walker

W = walker.walker(duration=5.0, seed=1)
AGAIN = walker.walker(duration=5.0, seed=2)
ANNA = {"name": "anna", "mass_kg": 60.0, "height_m": 1.7}


def trial(
    name: str, w: walker.Walker, subject: dict | None = None, slower: float = 1.0, taller: float = 1.0
) -> Recording:
    markers = {k: taller * x for k, x in w.markers.items()}
    return Recording(name, f"{name}.trc", w.rate / slower, slower * w.time, markers=markers, subject=subject or {})


def test_trials_of_one_person_are_one_walk():
    other = ANNA | {"name": "Anna ", "mass_kg": 62.0}
    walk = measure([trial("A", W, ANNA), trial("B", AGAIN, other, slower=1.05)])
    assert walk.warnings == () and {s.trial for s in walk.kept} == {"A", "B"}


def test_the_standing_trial_is_of_the_person_too():
    still = {k: np.repeat(x[:1], 20, axis=0) for k, x in W.markers.items()}
    static = Recording(
        "still", "still.trc", W.rate, W.time[:20], markers=still, subject={"name": "ben", "mass_kg": 80.0}
    )
    with pytest.raises(MotionFormatError, match="the subject is anna in A, ben in still; the stated mass is"):
        measure([trial("A", W, ANNA)], options=Options(static=static))


@pytest.mark.parametrize(
    ("subject", "taller", "message"),
    [
        (
            {"name": "ben", "mass_kg": 95.0, "height_m": 1.9},
            1.0,
            "the subject is anna in A, ben in B; the stated height is",
        ),
        ({"name": "ben"}, 1.06, r"the leg from hip to ankle is 0.8\d* m in A and 0.8\d* m in B"),
        (ANNA | {"mass_kg": 95.0}, 1.0, "the stated mass is 60 kg in A and 95 kg in B; measure each person alone"),
        ({}, 1.12, r"the leg from hip to ankle is 0.8\d* m in A and 0.9\d* m in B"),
    ],
)
def test_trials_of_two_people_raise(subject, taller, message):
    with pytest.raises(MotionFormatError, match=rf"B\.trc: the trials are of different people: .*{message}"):
        measure([trial("A", W, ANNA), trial("B", AGAIN, subject, taller=taller)])


@pytest.mark.parametrize(
    ("subject", "taller", "message"),
    [
        ({"name": "anna_2"}, 1.0, "the subject is anna in A, anna_2 in B"),
        (ANNA, 1.06, "the leg from hip to ankle is 0.8"),
        (ANNA | {"mass_kg": 68.0}, 1.0, "the stated mass is 60 kg in A and 68 kg in B"),
        (ANNA | {"height_m": 1.76}, 1.0, "the stated height is 1.7 m in A and 1.76 m in B"),
    ],
)
def test_one_contradiction_is_a_warning(subject, taller, message):
    walk = measure([trial("A", W, ANNA), trial("B", AGAIN, subject, taller=taller)])
    (line,) = [x for x in walk.warnings if "one person" in x]
    assert line.startswith(f"the trials may not be of one person: {message}") and line.endswith("strides are averaged")


def test_a_given_mass_replaces_those_that_contradict_each_other():
    trials = [trial("A", W, ANNA), trial("B", AGAIN, ANNA | {"mass_kg": 95.0})]
    assert measure(trials, mass=61.0).warnings == ()


def test_trials_of_different_speeds_are_warned_of():
    warnings = measure([trial("A", W), trial("B", AGAIN, slower=1.35)]).warnings
    assert any(
        line.startswith("the stride time is 1.13 s in A and 1.52 s in B: their mean represents no actual stride")
        for line in warnings
    )
    assert any(line.startswith("the speed is 0.93") and "in B and 1.26 m/s in A" in line for line in warnings)


def test_a_treadmill_and_the_floor_are_told_apart():
    belt = walker.walker(duration=5.0, treadmill=True, seed=3)
    walk = measure([trial("A", W), trial("B", belt)])
    moving = [s.belt for s in walk.kept if s.belt]
    assert 0 < len(moving) < len(walk.kept) and walk.belt == pytest.approx(np.mean(moving))
    share = f"in {len(moving)} of {len(walk.kept)} strides, else overground"
    assert walk.surface == f"treadmill, belt {walk.belt:.3f} m/s {share}"
    line = "strides on a treadmill (B) and overground are averaged together: measure them apart"
    assert line in walk.warnings
    assert measure([trial("A", W)]).surface == "overground"


def test_a_trial_whose_strides_are_all_dropped_is_compared_and_named():
    """The strides of B are too slow to be pooled with the more numerous ones of A."""
    walk = measure([trial("A", walker.walker(duration=8.0, seed=1)), trial("B", AGAIN, slower=1.35)])
    assert {s.trial for s in walk.kept} == {"A"}
    lines = " ".join(walk.warnings)
    assert "all strides of B are dropped, because they differ from those of the other trials" in lines
    assert "the stride time is 1.13 s in A and 1.52 s in B" in lines and "the speed is 0.93" in lines


def test_a_trial_without_a_stride_is_named_and_names_no_walk():
    walk = measure([trial("short", walker.walker(duration=1.9, seed=1)), trial("A", W)])
    assert walk.name == "A"
    line = "short gives no stride of the right leg: it has 1 heel strike, and a whole stride needs two"
    assert line in walk.warnings


def test_trials_without_a_whole_stride_are_all_named():
    short = [trial(name, walker.walker(duration=1.9, seed=1)) for name in "AB"]
    with pytest.raises(
        MotionFormatError, match="no whole stride of the right leg: 1 heel strike in A, 1 heel strike in B"
    ):
        measure(short)


def test_a_change_of_speed_within_a_trial_is_warned_of():
    """A treadmill that becomes slower: the time between frames is stretched in the second half."""
    w = walker.walker(duration=12.0, treadmill=True)
    warped = np.concatenate([np.arange(0.0, 6.0, 0.01), np.arange(6.0, 12.0, 0.01 / 1.18)])
    markers = {k: np.stack([np.interp(warped, w.time, c) for c in x.T], axis=1) for k, x in w.markers.items()}
    walk = measure([Recording("belt", "belt.trc", 100.0, 0.01 * np.arange(warped.size), markers=markers)])
    assert any(
        "the stride time of single strides is 1.1" in line and "standard deviation" in line for line in walk.warnings
    )
