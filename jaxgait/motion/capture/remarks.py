"""Notes and warnings about the trials of a walk: a table of checks, and a rule for lines that several trials share.

A check looks at one trial of one leg, and returns a line for each thing that looks wrong; a new check is a new line in
the table. Notes and warnings from reading the trial, and from finding its leg, events and forces, come first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

from jaxgait.motion.capture import events, foot_contact, leg_warnings, plates
from jaxgait.motion.capture.leg import Leg, Options
from jaxgait.motion.capture.sides import Trial
from jaxgait.motion.capture.strides import StrideCurve
from jaxgait.support.checks import count_of

_FIGURE = r"(?<![\w.-])[-+]?\d+(?:\.\d+)?(?!\w)"
"""A number by itself, not digits in a marker's name."""


class Checked(NamedTuple):
    """A trial as checks see it."""

    trial: Trial
    options: Options
    kept: Sequence[StrideCurve]
    """Its kept strides."""
    stride_time: float
    """Mean of all kept strides in s."""
    speed: float | None
    """The given walking speed in m/s, if any, which replaces that of the belt."""


Check: TypeAlias = Callable[[Checked], Sequence[str]]

NOTES: tuple[Check, ...] = (lambda c: foot_contact.footing_notes(c.trial.leg),)
WARNINGS: tuple[Check, ...] = (
    lambda c: leg_warnings.marker_warnings(c.trial.leg, c.options, c.stride_time),
    lambda c: leg_warnings.side_warnings(c.trial.leg, None if c.trial.other is None else c.trial.other.leg),
    lambda c: leg_warnings.turn_warnings(c.trial.leg, c.options, c.kept),
    lambda c: foot_contact.footing_warnings(c.trial.leg),
    lambda c: plates.plate_warnings(c.trial.leg, c.trial.own.load),
    lambda c: events.mark_warnings(c.trial.leg, c.trial.own.events),
    lambda c: events.source_warnings(c.trial.feet),
    lambda c: () if c.speed else c.trial.belt.warnings,
)


def notes_of(trials: Sequence[Checked]) -> list[str]:
    """The notes about the trials of a walk."""
    return [*_known(trials, "notes"), *_found(trials, NOTES)]


def warnings_of(trials: Sequence[Checked]) -> list[str]:
    """The warnings of the trials of a walk."""
    return [*_known(trials, "warnings"), *_found(trials, WARNINGS)]


def _known(trials: Sequence[Checked], what: str) -> list[str]:
    """The notes or the warnings from reading and measuring the trials, each once."""
    parts = [
        part for c in trials for part in (c.trial.leg.recording, c.trial.leg, c.trial.own.events, c.trial.own.load)
    ]
    return list(dict.fromkeys(line for part in parts for line in getattr(part, what, ())))


def _found(trials: Sequence[Checked], checks: Sequence[Check]) -> list[str]:
    """The lines that the checks return, in the order of the checks."""
    return [line for check in checks for line in merged_lines((c.trial.leg, check(c)) for c in trials)]


def merged_lines(trials: Iterable[tuple[Leg, Sequence[str]]]) -> list[str]:
    """The lines of several trials, merging those of different trials that differ only in their numbers."""
    kinds: dict[tuple[str, int], list[str]] = {}
    for leg, lines in trials:
        names = sorted({plate.name for plate in leg.recording.forces}, key=len, reverse=True)
        figures = re.compile("|".join([*(f"({re.escape(name)})" for name in names), _FIGURE]))
        own = Counter[str]()
        for line in lines:
            kind = figures.sub(lambda m: m[0] if m.lastindex else "#", line)
            own[kind] += 1
            kinds.setdefault((kind, own[kind]), []).append(line)
    more = lambda n: f" (likewise in {count_of(n, 'more trial', 'more trials')})" if n else ""
    return [f"{lines[0]}{more(len(lines) - 1)}" for lines in kinds.values()]
