"""The strides of one leg, or of both, in all trials of a person, before they are averaged."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture import agreement, foot_contact
from jaxgait.motion.capture import strides as cutting
from jaxgait.motion.capture.events import StrideEvents, events_of
from jaxgait.motion.capture.ground import Load, load_of
from jaxgait.motion.capture.leg import Leg, Options
from jaxgait.motion.capture.strides import StrideCurve
from jaxgait.motion.capture.treadmill import Belt, belt_of
from jaxgait.motion.capture.trials import check_one_kind
from jaxgait.motion.recording import Recording
from jaxgait.support import checks

MIN_KNEE_RANGE = 2.0
"""Range of the knee in deg below which joint angles are probably in rad: in walking it is above 30."""


class Foot(NamedTuple):
    """A leg and what its foot does."""

    leg: Leg
    load: Load | None
    events: StrideEvents
    speed: float
    """Backward speed while standing on a belt, in m/s, from `strides.foot_speed`."""


class Trial(NamedTuple):
    """A trial from the point of view of one leg."""

    own: Foot
    other: Foot | None
    belt: Belt

    @property
    def leg(self) -> Leg:
        """The leg that is measured."""
        return self.own.leg

    @property
    def name(self) -> str:
        """The recording's name, to which strides refer."""
        return self.leg.recording.name

    @property
    def feet(self) -> list[tuple[Leg, StrideEvents]]:
        """The legs that were recorded, and their events."""
        return [(foot.leg, foot.events) for foot in (self.own, self.other) if foot is not None]


class SideStrides(NamedTuple):
    """The strides of one leg in all trials."""

    trials: list[Trial]
    cuts: list[StrideCurve]
    """Before they are compared."""
    alone: list[StrideCurve]
    """Compared with the others of their trial."""
    judged: list[StrideCurve]
    """Compared with all others."""
    ended: list[str]
    """If there is only one, a note on where it ends."""

    @property
    def kept(self) -> list[tuple[Leg, StrideCurve]]:
        """The kept strides, each with the leg of its trial."""
        legs = {t.name: t.leg for t in self.trials}
        return [(legs[s.trial], s) for s in self.judged if not s.reason]


def sides_of(
    recordings: Sequence[Recording], sides: Sequence[str], options: Options, mass: float | None
) -> tuple[dict[str, SideStrides], dict[str, MotionFormatError]]:
    """The strides of the sides that have kept ones, and the errors of the other sides."""
    found: dict[str, SideStrides] = {}
    failed: dict[str, MotionFormatError] = {}
    for side in sides:
        try:
            trials = _trials(recordings, side, options, [t for one in found.values() for t in one.trials])
        except MotionFormatError as error:
            failed[side] = error
            continue
        check_one_kind([t.leg for t in trials])
        strides = _strides(trials)
        if strides.kept:
            found[side] = strides
        else:  # different people may be the reason
            agreement.one_person(recordings, lengths_of(strides.trials, strides.cuts), options.static, mass)
            failed[side] = _no_stride(strides.trials, strides.judged)
    return found, failed


def _trials(recordings: Sequence[Recording], side: str, options: Options, done: Sequence[Trial]) -> list[Trial]:
    """The trials for the leg of a side; `done` are those for the other leg, which have the same feet."""
    known = [(t.other, t.own) for t in done if t.other is not None]
    if len(known) == len(recordings):
        return [_trial(own, other) for own, other in known]
    legs = foot_contact.level_legs(recordings, side, options)
    return [_trial(_foot(own), None if other is None else _foot(other)) for own, other in legs]


def _foot(leg: Leg) -> Foot:
    load = load_of(leg)
    events = events_of(leg, load)
    return Foot(leg, load, events, cutting.foot_speed(leg, events))


def _trial(own: Foot, other: Foot | None) -> Trial:
    speeds = {foot.leg.side: foot.speed for foot in (own, other) if foot is not None}
    return Trial(own, other, belt_of(own.leg.side, speeds, generic=own.leg.foot is None))


def _strides(trials: list[Trial]) -> SideStrides:
    cuts = [s for t in trials for s in cutting.cut(t.leg, t.own.events, t.own.load, t.belt.speed)]
    cuts, ended = _ended(cuts, trials)
    alone = cutting.judged_by_trial(cuts)
    return SideStrides(trials, cuts, alone, cutting.judged(alone), ended)


def _ended(cuts: list[StrideCurve], trials: Sequence[Trial]) -> tuple[list[StrideCurve], list[str]]:
    """The strides, of which a single one ends where its angles repeat best, and a note on that."""
    if len([s for s in cuts if not s.reason]) != 1:
        return cuts, []
    i = next(i for i, s in enumerate(cuts) if not s.reason)
    trial = next(t for t in trials if t.name == cuts[i].trial)
    end = cutting.best_end(trial.leg, cuts[i])
    moved = end - cuts[i].start - cuts[i].period
    starts = StrideEvents(np.array([cuts[i].start]), trial.own.events.offs, (), ())
    cuts[i] = dataclasses.replace(
        cutting.cut(trial.leg, starts, trial.own.load, trial.belt.speed, np.array([end]))[0], moved=moved
    )
    return cuts, [f"the only stride ends {1e3 * moved:+.0f} ms from its heel strike, where thigh and shank repeat best"]


_LETTERS = 285
"""Most characters of the reason for having no stride, with the advice: with a file's name, the error has some 300."""


def _no_stride(trials: Sequence[Trial], strides: Sequence[StrideCurve]) -> MotionFormatError:
    recording, side = trials[0].leg.recording, trials[0].leg.side
    # marks may be of another record, as of one that was cut
    events = trials[0].own.events.notes if recording.marks else ()
    warnings = [*events, *recording.warnings, *trials[0].leg.warnings]
    if strides:
        first, *others = [f"at {s.start:.2f} s {s.reason}" for s in strides]
        knee = max(float(np.ptp(s.signals["knee_rad"])) for s in strides)  # NaN where markers are missing
        thighs = np.concatenate([t.leg.angles["thigh"] for t in trials])
        if recording.angles and not recording.markers and math.degrees(knee) < MIN_KNEE_RANGE:
            advice = "radians in a file that states degrees? correct its header"
        elif math.degrees(np.nanmax(thighs) - np.nanmin(thighs)) < cutting.MIN_SWING:
            advice = "a standing trial? give it with a walk, by --static"
        else:
            advice = "see --gap and --cutoff"
        what = [f"no stride is usable of {len(strides)}: {first}", *others[:1], *warnings, *others[1:]]
    elif trials[1:]:
        strikes = [f"{_strikes(t)} in {t.name}" for t in trials]
        what = [f"no whole stride of the {side} leg: {checks.first_few(strikes, 4)}", *warnings]
        advice = "two in one trial are needed: give longer trials, or the other leg (--leg)"
    else:
        what = [f"no whole stride: {_strikes(trials[0])} of the {side} leg", *warnings]
        advice = "two are needed: give a longer trial, or the other leg (--leg)"
    text = checks.fitting(what, _LETTERS - len(advice))
    return MotionFormatError(text, advice) if trials[1:] and not strides else recording.error(text, advice)


def _strikes(trial: Trial) -> str:
    return checks.count_of(trial.own.events.strikes.size, "heel strike", "heel strikes")


def without_strides(found: SideStrides) -> list[str]:
    """A warning about each trial that has no usable stride, with the reason."""
    sound = {s.trial for s in found.alone if not s.reason}
    return [_unused(t, found.alone) for t in found.trials if t.name not in sound]


def _unused(trial: Trial, strides: Sequence[StrideCurve]) -> str:
    name, side = trial.name, trial.leg.side
    reasons = [f"at {s.start:.2f} s {s.reason}" for s in strides if s.trial == name]
    if reasons:
        return f"{name} gives no stride of the {side} leg: {'; '.join(reasons[:2])}"
    return f"{name} gives no stride of the {side} leg: it has {_strikes(trial)}, and a whole stride needs two"


def lengths_of(trials: Sequence[Trial], strides: Sequence[StrideCurve]) -> dict[str, dict[str, float]]:
    """Lengths in m of the segments, by trial, for trials with kept strides."""
    kept = cutting.by_trial([s for s in strides if not s.reason])
    return {t.name: segments_of(kept[t.name], marked=False) for t in trials if t.name in kept}


def segments_of(kept: Sequence[StrideCurve], *, marked: bool) -> dict[str, float]:
    """Mean lengths in m over the kept strides, and if `marked`, where ankle, heel and toe are in the flat foot."""
    mean = lambda a, b: float(np.mean([np.hypot(*(s.points[a] - s.points[b]).T) for s in kept]))
    lengths = {"thigh_m": mean("hip", "knee"), "shank_m": mean("knee", "ankle")}
    flat = lambda name: np.mean([s.points[name][cutting.FLAT] for s in kept], axis=(0, 1))
    if marked:
        there, ankle = kept[0].points, flat("ankle")
        lengths["ankle_height_m"] = float(ankle[1])
        lengths |= {"ankle_to_heel_marker_back_m": float(ankle[0] - flat("heel")[0])} if "heel" in there else {}
        lengths |= {"ankle_to_toe_marker_fwd_m": float(flat("toe")[0] - ankle[0])} if "toe" in there else {}
    return lengths
