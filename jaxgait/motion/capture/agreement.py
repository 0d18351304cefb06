"""Checks that trials show one person and one way of walking; otherwise their mean is meaningless.

What the files state about the person and what was measured is compared between trials. One contradiction is a warning;
two of them, or one that no measurement explains, are an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxgait.motion.capture.strides import StrideCurve, by_trial
from jaxgait.motion.recording import Recording
from jaxgait.support.checks import first_few


class TrialTolerance(NamedTuple):
    """Relative differences between trials of one person."""

    doubtful: float
    """Above it, something is wrong, or they are two people."""
    impossible: float
    """Above it, they are two people."""


MASS = TrialTolerance(0.10, 0.25)
HEIGHT = TrialTolerance(0.025, 0.08)
LENGTH = TrialTolerance(0.04, 0.10)
"""For the leg from hip to ankle. A marker misplaced by 1 cm changes it by 0.012; four trials of a day vary by 0.002."""


class Spread(NamedTuple):
    """Largest relative differences within one walk."""

    trials: float
    """Between the means of trials."""
    strides: float
    """Standard deviation of all strides over their mean."""


STRIDE_TIME = Spread(0.10, 0.07)
SPEED = Spread(0.15, 0.10)


def one_person(
    recordings: Sequence[Recording],
    lengths: Mapping[str, Mapping[str, float]],
    static: Recording | None = None,
    mass: float | None = None,
) -> list[str]:
    """Warnings about trials that may not be of one person, at most one of each kind.

    Args:
        recordings: the trials, under different names.
        lengths: of the segments in m, by trial.
        static: the standing trial.
        mass: in kg, if it was given; it replaces those of the files.

    Raises:
        MotionFormatError: if the trials are of different people.
    """
    everyone = [*recordings, *([] if static is None else [static])]
    legs = {name: x["thigh_m"] + x["shank_m"] for name, x in lengths.items()}
    compared = [
        _apart("the leg from hip to ankle", "m", legs, LENGTH),
        _apart("the stated height", "m", _stated(everyone, "height_m"), HEIGHT),
        ("", 0) if mass is not None else _apart("the stated mass", "kg", _stated(everyone, "mass_kg"), MASS),
    ]
    names = _compare_names(everyone)
    found = [*([names] if names else []), *(line for line, _ in compared if line)]
    if len(found) > 1 or any(weight > 1 for _, weight in compared):
        advice = "measure each person alone, or correct what the files state"
        raise recordings[-1].error(f"the trials are of different people: {'; '.join(found)}", advice)
    return [f"the trials may not be of one person: {line}; their strides are averaged" for line in found]


def _compare_names(recordings: Sequence[Recording]) -> str:
    """The names of the subjects, if they differ by more than case; otherwise empty."""
    names = {str(r.subject["name"]).strip().casefold(): r for r in reversed(recordings) if r.subject.get("name")}
    if len(names) < 2:
        return ""
    return "the subject is " + ", ".join(f"{r.subject['name']} in {r.name}" for r in [*names.values()][::-1][:4])


def _stated(recordings: Sequence[Recording], key: str) -> dict[str, float]:
    return {r.name: float(r.subject[key]) for r in recordings if key in r.subject}


def _apart(quantity: str, unit: str, values: Mapping[str, float], limit: TrialTolerance) -> tuple[str, int]:
    """How the lowest and the highest value differ, by trial, and whether that is doubtful (1) or impossible (2)."""
    if len(values) < 2:
        return "", 0
    low, high = min(values, key=values.__getitem__), max(values, key=values.__getitem__)
    ratio = values[high] / values[low] - 1
    if ratio <= limit.doubtful:
        return "", 0
    line = f"{quantity} is {values[low]:.3g} {unit} in {low} and {values[high]:.3g} {unit} in {high}"
    return line, 2 if ratio > limit.impossible else 1


def one_walk(strides: Sequence[StrideCurve], kept: Sequence[StrideCurve]) -> list[str]:
    """Warnings about strides whose times or speeds differ so much that their mean represents no actual stride.

    Args:
        strides: those that are sound in their own trial; trials are compared by them.
        kept: those of them that resemble the others of all trials; trials without any are named.
    """
    found = [*_discarded(strides, kept), *_surfaces(kept)]
    for what, unit, limit, of in (
        ("stride time", "s", STRIDE_TIME, lambda s: s.stride_time),
        ("speed", "m/s", SPEED, lambda s: s.speed),
    ):
        values = np.array([of(s) for s in kept])
        means = {name: float(np.mean([of(s) for s in x])) for name, x in by_trial(strides).items()}
        line, weight = _apart(f"the {what}", unit, means, TrialTolerance(limit.trials, np.inf))
        scatter = float(np.std(values) / np.mean(values))
        if not weight and scatter > limit.strides:
            span = f"{values.min():.3g} to {values.max():.3g} {unit}"
            line = f"the {what} of single strides is {span}, with a standard deviation of {scatter:.0%}"
        if line:
            found.append(f"{line}: their mean represents no actual stride; measure trials of one speed together")
    return found


def _surfaces(kept: Sequence[StrideCurve]) -> list[str]:
    """A warning about a mean over strides on a treadmill and overground."""
    belts = by_trial([s for s in kept if s.belt])
    if not belts or all(s.belt for s in kept):
        return []
    return [f"strides on a treadmill ({first_few([*belts])}) and overground are averaged together: measure them apart"]


def _discarded(strides: Sequence[StrideCurve], kept: Sequence[StrideCurve]) -> list[str]:
    """A warning about trials all of whose sound strides differ from those of the others; empty if there are none."""
    lost = [name for name in by_trial(strides) if name not in by_trial(kept)]
    what = f"all strides of {first_few(lost)} are dropped, because they differ from those of the other trials"
    return [f"{what}: measure trials of one speed and person together"] if lost else []
