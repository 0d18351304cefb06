"""The person's mass: given, from the file, or from the force plates; and whether these agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxgait.motion.capture.ground import slanted
from jaxgait.motion.capture.leg import Leg
from jaxgait.motion.capture.plates import all_foreign
from jaxgait.motion.capture.strides import StrideCurve
from jaxgait.motion.norms import GRAVITY
from jaxgait.motion.recording import Recording, upward
from jaxgait.motion.stride import PERSON
from jaxgait.support.checks import real, shown

LIGHTEST, HEAVIEST = PERSON["mass_kg"]
"""Masses in kg of the lightest and the heaviest person."""
LEAST_WEIGHT = 100.0
"""Mean vertical force in N above which somebody stands on the plates."""
LEAST_SHARE = 0.5
"""Share of its mean above which the force of both feet remains over a stride, if no part of a contact is missing.

It is 0.74 or more in measured walks of three people, and 0.04 to 0.31 where a foot is partly off the plates.
"""
STANDING_DEVIATION = 0.05
"""Standard deviation of the vertical force over its mean below which somebody stands still on the plates."""


class MassEstimate(NamedTuple):
    """An estimate of the mass from the plates."""

    mass: float
    """In kg."""
    how: str
    within: float
    """Relative difference up to which another mass agrees with it."""


def check_mass(mass: float | None) -> float | None:
    """A person's mass in kg as a Python float; None stays None.

    Raises:
        ValueError: for a mass that no person has.

    Examples:
        >>> from jaxgait.motion.capture.weight import check_mass
        >>> check_mass(7000.0)
        Traceback (most recent call last):
        ValueError: mass must be between 2 and 300 kg, got 7000
    """
    number = real(mass)
    if mass is not None and (number is None or not LIGHTEST <= number <= HEAVIEST):
        got = shown(mass) if number is None else f"{number:g}"
        raise ValueError(f"mass must be between {LIGHTEST:g} and {HEAVIEST:g} kg, got {got}")
    return number


def person(
    recordings: Sequence[Recording],
    kept: Sequence[tuple[Leg, StrideCurve]],
    static: Recording | None,
    mass: float | None,
) -> tuple[dict[str, Any], list[str]]:
    """The person's data with `mass_kg` and `mass_from`, and a warning if the plates contradict the mass.

    `kept` are the strides of all measured legs, `static` is the standing trial, `mass` the given one in kg.
    """
    everyone = [*recordings, *([static] if static else [])]
    body: dict[str, Any] = {k: v for r in reversed(everyone) for k, v in r.subject.items()}
    carried = next(_carried(kept, static), None)
    if mass is not None:
        body |= {"mass_kg": mass, "mass_from": "given"}
    elif "mass_kg" in body:
        body |= {"mass_from": "the file"}
    elif carried is not None and carried.within < 0.2:
        return body | {"mass_kg": carried.mass, "mass_from": carried.how}, []
    if carried is None or "mass_kg" not in body:
        return body, []
    ratio = carried.mass / body["mass_kg"]
    if abs(np.log(ratio)) <= np.log1p(carried.within):
        return body, []
    source = {"given": "given", "the file": "stated in the file"}[body["mass_from"]]
    what = f"the plates carry {carried.mass:.3g} kg ({carried.how}), but {body['mass_kg']:.3g} kg is {source}"
    return body, [f"{what}: moments and powers per kg are {ratio:.2g} times those with the plates' mass"]


def _carried(kept: Sequence[tuple[Leg, StrideCurve]], static: Recording | None) -> Iterator[MassEstimate]:
    """Estimates of the mass from the plates, the best one first; forces that are not under the feet are not used."""
    odd = lambda leg: all_foreign(leg) or any(slanted(leg, plate) for plate in leg.recording.forces)
    unused = {key for key, leg in {id(leg): leg for leg, _ in kept}.items() if odd(leg)}  # once for all its strides
    own = [(leg, stride) for leg, stride in kept if id(leg) not in unused]
    spans = [np.linspace(stride.times[0], stride.times[-1], 400) for _, stride in own]
    totals = [_total(leg.recording, leg.axes.rotation[1], at) for (leg, _), at in zip(own, spans, strict=True)]
    whole = [float(x[:-1].mean()) for x in totals if x.min() > LEAST_SHARE * x.mean() > LEAST_SHARE * LEAST_WEIGHT]
    if whole:
        yield MassEstimate(float(np.median(whole)) / GRAVITY, "ground forces of both feet over a stride", 0.1)
    half = _half(kept)
    if static is not None and static.forces:
        up = kept[0][0].axes.rotation[1]
        total = _total(upward(static, up)[0], up, static.time)
        both = half is None or 1 / 1.3 < total.mean() / (2 * half) < 1.3  # one foot off the plates?
        if both and total.mean() > LEAST_WEIGHT and total.std() < STANDING_DEVIATION * total.mean():
            yield MassEstimate(float(total.mean()) / GRAVITY, "ground forces of the standing trial", 0.1)
    if half is not None:
        yield MassEstimate(2 * half / GRAVITY, "twice the mean ground force of a foot", 0.3)


def _half(kept: Sequence[tuple[Leg, StrideCurve]]) -> float | None:
    """Mean vertical force in N of a foot over its strides, of both feet if both are known; None if neither is."""
    pressed: dict[str, list[float]] = {}
    for leg, stride in kept:
        if stride.load is not None and np.isfinite(stride.load).all():
            pressed.setdefault(leg.side, []).append(float(stride.load[:-1, 1].mean()))
    mean = float(np.mean([np.mean(x) for x in pressed.values()])) if pressed else 0.0
    return mean if mean > 0 else None


def _total(recording: Recording, up: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Vertical force in N of all plates at some times in s."""
    total = np.zeros(time.size)
    for plate in recording.forces:
        first, last = np.searchsorted(plate.time, [time[0], time[-1]])
        near = slice(max(0, first - 1), last + 1)
        if plate.time[near].size:
            total += np.interp(time, plate.time[near], plate.force[near] @ up, left=0.0, right=0.0)
    return total
