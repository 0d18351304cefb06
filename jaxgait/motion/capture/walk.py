"""Everything measured of one leg's walk, from one or several trials of one person.

walk = measure([read_recording("walk.c3d")], "right")
walk.mean["knee_rad"], walk.speed, walk.notes
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jaxgait import checks, xr
from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture import agreement, footing, leg_warnings, plates
from jaxgait.motion.capture import strides as cutting
from jaxgait.motion.capture.belt import Belt, belt_of
from jaxgait.motion.capture.dynamics import Dynamics, dynamics_of
from jaxgait.motion.capture.events import StrideEvents, by_motion, events_of, source_warnings
from jaxgait.motion.capture.ground import Load, load_of
from jaxgait.motion.capture.leg import Leg, Options
from jaxgait.motion.capture.maps import SIDES
from jaxgait.motion.capture.strides import StrideCurve
from jaxgait.motion.capture.trials import together
from jaxgait.motion.capture.weight import check_mass, person
from jaxgait.motion.harmonics import check_harmonics, choose_harmonics
from jaxgait.motion.norms import FIGURES, SIGNAL_NORMS, inside
from jaxgait.motion.recording import Recording
from jaxgait.motion.stride import SIGNALS, UNITS, Stride, record_person
from jaxgait.motion.text import distinct
from jaxgait.motion.verdict import judge

WALK_SIGNALS = ("hip_x_m", "hip_y_m", "thigh_rad", "shank_rad", "knee_rad", "foot_rad", "ankle_rad")
"""Signals of a walk, in the order of the files."""
LOADS = ("ground_x_N", "ground_y_N")
MIN_KNEE_RANGE = 2.0
"""Range of the knee in deg below which joint angles are probably in rad: in walking it is above 30."""


class OtherLeg(NamedTuple):
    """The other leg of a trial, and its events."""

    leg: Leg
    events: StrideEvents


@dataclasses.dataclass(frozen=True)
class Walk:
    """One leg's walk: strides, their mean and standard deviation, notes and warnings.

    Examples:
        >>> from jaxgait.motion.capture.walk import measure
        >>> from jaxgait.motion.drive import recorded, reference_gait
        >>> walk = measure([recorded(reference_gait())])
        >>> print(len(walk.kept), walk.belt, round(walk.toe_off, 2))  # strides; overground; share of the stride
        2 0.0 0.67
        >>> print(round(walk.stride_time, 2))  # s
        1.13
    """

    name: str
    side: str
    legs: tuple[Leg, ...]
    """One for every trial."""
    events: tuple[StrideEvents, ...]
    strides: tuple[StrideCurve, ...]
    """All of them; those with a `reason` were dropped."""
    mean: dict[str, Float[np.ndarray, " samples"]]
    """Mean of the kept strides at 101 even times, closed: `WALK_SIGNALS` and, if measured, `LOADS`."""
    deviation: dict[str, Float[np.ndarray, " samples"]]
    """Standard deviation of the kept strides; empty for one stride."""
    gaps: dict[str, float]
    """Jumps that were removed to close the mean."""
    period: float
    """Time in s after which the mean repeats; `stride_time`, unless there is only one stride, whose end is moved."""
    speed: float
    """In m/s."""
    segments: dict[str, float]
    """Lengths in m."""
    subject: dict[str, str | float]
    dynamics: Dynamics | None
    """Joint moments and powers; None unless mass, ground force and centre of pressure of a whole stride are known."""
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    others: tuple[OtherLeg | None, ...] = ()
    """The other leg of every trial, for steps and double support; None if it was not recorded."""

    @property
    def kept(self) -> tuple[StrideCurve, ...]:
        """The strides that the mean is taken of."""
        return tuple(s for s in self.strides if not s.reason)

    def trial_of(self, stride: StrideCurve) -> int:
        """The trial of a stride, counted from 0.

        Examples:
            >>> from jaxgait.motion.capture.walk import measure
            >>> from jaxgait.motion.drive import recorded, reference_gait
            >>> walk = measure([recorded(reference_gait())])
            >>> walk.trial_of(walk.kept[0])
            0
        """
        return [leg.recording.name for leg in self.legs].index(stride.trial)

    @property
    def stride_time(self) -> float:
        """Mean time in s from heel strike to heel strike."""
        return float(np.mean([s.stride_time for s in self.kept]))

    @property
    def belt(self) -> float:
        """Speed of the belt in m/s; 0 overground."""
        return float(np.mean([s.belt for s in self.kept]))

    @property
    def toe_off(self) -> float | None:
        """Mean toe-off as a share of the stride; no dimension."""
        shares = [s.toe_off for s in self.kept if s.toe_off is not None]
        return float(np.mean(shares)) if shares else None

    def to_dataset(self) -> xr.Dataset:
        """The kept strides over percent of the gait cycle, labelled, as `motion.capture.tables.stride_curves`.

        Examples:
            >>> from jaxgait.motion.capture.walk import measure
            >>> from jaxgait.motion.drive import recorded, reference_gait
            >>> strides = measure([recorded(reference_gait())]).to_dataset()
            >>> print(dict(strides.sizes), round(float(strides.knee_angle.max())))  # deg
            {'stride': 2, 'percent': 101} 64
        """
        from jaxgait.motion.capture.tables import stride_curves

        return stride_curves(self)


def measure(
    recordings: Sequence[Recording],
    side: str = "right",
    options: Options = Options(),
    *,
    speed: float | None = None,
    mass: float | None = None,
) -> Walk:
    """Measures the walk of one leg.

    Args:
        recordings: trials of one person, or one trial and the files with its ground forces (see
            `motion.capture.trials.together`).
        side: right or left.
        options: marker map, standing trial, regression, cut-off and gaps.
        speed: walking speed in m/s, to which those of single strides are scaled; by default that of hip and standing
            foot.
        mass: of the person in kg; by default from the file, or from the ground forces.

    Raises:
        ValueError: for another side, no recordings, a speed that is not positive, and a mass that no person has.
        MotionFormatError: if a trial has no such leg, there is no whole stride, the trials are of different people, or
            ground forces fit no trial.

    Examples:
        >>> from jaxgait.motion.capture.walk import measure
        >>> from jaxgait.motion.drive import recorded, reference_gait
        >>> walk = measure([recorded(reference_gait())])
        >>> print(len(walk.kept), round(walk.period, 2), round(walk.speed, 2))  # strides, s, m/s
        2 1.13 1.26
    """
    if side not in SIDES:
        raise ValueError(f"the leg is right or left, got {side!r}; measure_both measures both")
    if not recordings:
        raise ValueError("give at least one recording of a walk, got none")
    check_mass(mass)
    speed = None if speed is None else checks.positive("speed", speed, "m/s")
    recordings, twice = _with_own_names(together(recordings))
    legs = footing.level_legs(recordings, side, options)
    others = [None if other is None else _with_events(other) for _, other in legs]
    trials = _trials([own for own, _ in legs], others)
    cuts, ended = _ended([s for t in trials for s in cutting.cut(t.leg, t.events, t.load, t.belt.speed)], trials)
    alone = cutting.judged_by_trial(cuts)
    strides = cutting.judged(alone)
    if all(s.reason for s in strides):
        agreement.one_person(recordings, _lengths(trials, cuts), options.static, mass)  # else it is the reason
        raise _no_stride(trials, strides)
    strides, scaled = _at_speed(strides, speed)
    sound = [s for s, own in zip(strides, alone, strict=True) if not own.reason]
    unlikely = agreement.one_person(recordings, _lengths(trials, strides), options.static, mass)
    walk = _averaged(trials, strides, options, mass)
    return dataclasses.replace(
        walk,
        others=tuple(others),
        notes=(
            *_collected(trials, "notes"),
            *plates.joined((t.leg, footing.footing_notes(t.leg)) for t in trials),
            *ended,
            *scaled.notes,
            *walk.notes,
        ),
        warnings=(
            *_collected(trials, "warnings"),
            *plates.joined((t.leg, leg_warnings.marker_warnings(t.leg, options)) for t in trials),
            *plates.joined((t.leg, footing.footing_warnings(t.leg)) for t in trials),
            *plates.joined((t.leg, plates.plate_warnings(t.leg, t.load, *t.moved)) for t in trials),
            *plates.joined(
                (t.leg, source_warnings(_feet(t.leg, t.events, o))) for t, o in zip(trials, others, strict=True)
            ),
            *plates.joined((t.leg, [] if speed else [*t.belt.warnings]) for t in trials),
            *twice,
            *unlikely,
            *scaled.warnings,
            *agreement.one_walk(sound, walk.kept),
            *walk.warnings,
            *judge(dataclasses.replace(walk_stride(walk), file=None)).lines(),
        ),
    )


def walk_stride(walk: Walk, harmonics: int | None = None) -> Stride:
    """The mean stride of a walk, for a drive; by default with as many harmonics as the data support.

    Raises:
        ValueError: as `motion.harmonics.check_harmonics`.

    Examples:
        >>> from jaxgait.motion.capture.walk import measure, walk_stride
        >>> from jaxgait.motion.drive import recorded, reference_gait
        >>> stride = walk_stride(measure([recorded(reference_gait())]))
        >>> print(stride.name, stride.time.size, round(stride.time[-1], 2))  # one period of 101 samples, s
        rajagopal_1.26ms 101 1.13
    """
    check_harmonics(harmonics)
    frames = walk.period * walk.legs[0].recording.rate
    return Stride(
        name=walk.name,
        time=np.linspace(0.0, walk.period, cutting.POINTS_PER_STRIDE),
        signals={k: walk.mean[k] for k in UNITS if k in walk.mean},
        speed=walk.speed,
        file=walk.legs[0].recording.file,
        person=record_person({"segments": walk.segments, "source": walk.subject}),
        harmonics=choose_harmonics({k: walk.mean[k] for k in SIGNALS}, frames) if harmonics is None else harmonics,
        measured=True,
    )


def measure_both(
    recordings: Sequence[Recording],
    options: Options = Options(),
    *,
    speed: float | None = None,
    mass: float | None = None,
) -> dict[str, Walk]:
    """Measures the walk of both legs, with the arguments of `measure`.

    Returns:
        The walks by side, right and left, under names that end with it: "walk right".

    Raises:
        ValueError, MotionFormatError: as `measure`; both legs have to be there.

    Examples:
        >>> from jaxgait.motion.capture.walk import measure_both
        >>> from jaxgait.motion.drive import recorded, reference_gait
        >>> measure_both([recorded(reference_gait())])
        Traceback (most recent call last):
        MotionFormatError: rajagopal_1.26ms.mot: no left leg: of the joint angles that make one, ...
    """
    walks = {side: measure(recordings, side, options, speed=speed, mass=mass) for side in SIDES}
    return {side: dataclasses.replace(walk, name=f"{walk.name} {side}") for side, walk in walks.items()}


class _Trial(NamedTuple):
    leg: Leg
    moved: tuple[np.ndarray, np.ndarray]
    """Heel strikes and toe-offs in s by the motion alone."""
    load: Load | None
    events: StrideEvents
    belt: Belt


def _with_events(leg: Leg) -> OtherLeg:
    return OtherLeg(leg, events_of(leg, load_of(leg, by_motion(leg)[0])))


def _feet(leg: Leg, events: StrideEvents, other: OtherLeg | None) -> list[tuple[Leg, StrideEvents]]:
    """The legs of a trial that were recorded, and their events."""
    return [(leg, events), *([] if other is None else [(other.leg, other.events)])]


class _Remarks(NamedTuple):
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def _trials(legs: Sequence[Leg], others: Sequence[OtherLeg | None]) -> list[_Trial]:
    _check_one_kind(legs)
    return [_trial(leg, other) for leg, other in zip(legs, others, strict=True)]


def _trial(leg: Leg, other: OtherLeg | None) -> _Trial:
    moved = by_motion(leg)
    load = load_of(leg, moved[0])
    events = events_of(leg, load)
    speeds = {foot.side: cutting.foot_speed(foot, times) for foot, times in _feet(leg, events, other)}
    return _Trial(leg, moved, load, events, belt_of(leg.side, speeds))


def _at_speed(strides: list[StrideCurve], given: float | None) -> tuple[list[StrideCurve], _Remarks]:
    """The strides with their speeds scaled so that those of the kept ones are the given one in m/s on average."""
    if given is None:
        return strides, _Remarks()
    speed = float(np.mean([s.speed for s in strides if not s.reason]))
    ratio = given / speed
    scaled = [dataclasses.replace(s, drift=ratio * s.drift, belt=ratio * s.belt, scale=ratio) for s in strides]
    what = f"hip and feet move at {speed:.3f} m/s; the given speed of {given:.3f} m/s is used, also for single strides"
    line = (f"{what}, scaled by {ratio:.3f}",)
    return scaled, _Remarks(warnings=line) if abs(given - speed) > 0.1 * given else _Remarks(notes=line)


def _averaged(trials: Sequence[_Trial], strides: list[StrideCurve], options: Options, mass: float | None) -> Walk:
    """The walk with the mean of the kept strides, and remarks on these."""
    legs = tuple(t.leg for t in trials)
    strides = strides if legs[0].foot is None else cutting.levelled(strides)
    kept = [s for s in strides if not s.reason]
    closed = {k: cutting.closed(np.mean([s.signals[k] for s in kept], axis=0)) for k in WALK_SIGNALS}
    load, odd = _mean_load(kept)
    segments = _segments(legs, kept)
    body, heavy = person([leg.recording for leg in legs], legs, options.static, mass, kept)
    weighed = body.get("mass_kg")
    dynamics, how = dynamics_of(
        legs, [t.load for t in trials], kept if load else (), weighed if _is_number(weighed) else None
    )
    found = (
        *odd,
        *heavy,
        *leg_warnings.stride_warnings(kept),
        *leg_warnings.segment_warnings(segments),
        *leg_warnings.peak_warnings(dynamics),
    )
    return Walk(
        name=legs[0].recording.name,
        side=legs[0].side,
        legs=legs,
        events=tuple(t.events for t in trials),
        strides=tuple(strides),
        mean={k: curve for k, (curve, _) in closed.items()} | load,
        deviation={k: np.std([s.signals[k] for s in kept], axis=0, ddof=1) for k in WALK_SIGNALS} if kept[1:] else {},
        gaps={k: gap for k, (_, gap) in closed.items()},
        period=float(np.mean([s.period for s in kept])),
        speed=float(np.mean([s.speed for s in kept])),
        segments=segments,
        subject=body,
        dynamics=dynamics,
        notes=(how,),
        warnings=found,
    )


def _with_own_names(recordings: Sequence[Recording]) -> tuple[list[Recording], list[str]]:
    """The trials under different names, which their strides refer to, and a warning if one is given twice."""
    twice: list[str] = []
    for i, trial in enumerate(recordings):
        same = next((other for other in recordings[:i] if _same(trial, other)), None)
        if same is not None:
            twice.append(f"{trial.file} contains the same frames as {same.file}: its strides count twice")
    names = distinct([trial.name for trial in recordings], "{} ({})")
    return [dataclasses.replace(trial, name=name) for trial, name in zip(recordings, names, strict=True)], twice


def _same(one: Recording, other: Recording) -> bool:
    columns = [(r.markers or r.angles) for r in (one, other)]
    if not columns[0] or columns[0].keys() != columns[1].keys():
        return False
    return all(np.array_equal(x, columns[1][k], equal_nan=True) for k, x in columns[0].items())


def _is_number(value: Any) -> bool:
    return isinstance(value, float | int)


def _ended(cuts: list[StrideCurve], trials: Sequence[_Trial]) -> tuple[list[StrideCurve], list[str]]:
    """The strides; a single one ends where its angles repeat best, with a note."""
    if len([s for s in cuts if not s.reason]) != 1:
        return cuts, []
    i = next(i for i, s in enumerate(cuts) if not s.reason)
    trial = next(t for t in trials if t.leg.recording.name == cuts[i].trial)
    end = cutting.best_end(trial.leg, cuts[i])
    moved = end - cuts[i].start - cuts[i].period
    starts = StrideEvents(np.array([cuts[i].start]), trial.events.offs, (), ())
    cuts[i] = dataclasses.replace(
        cutting.cut(trial.leg, starts, trial.load, trial.belt.speed, np.array([end]))[0], moved=moved
    )
    return cuts, [f"the only stride ends {1e3 * moved:+.0f} ms from its heel strike, where thigh and shank repeat best"]


def _check_one_kind(legs: Sequence[Leg]) -> None:
    """Checks that all legs are from markers, or all from joint angles."""
    solved, marked = ([leg.recording for leg in legs if (leg.foot is None) == angles] for angles in (True, False))
    if solved and marked:
        what = f"contains joint angles, but {marked[0].file} markers"
        raise solved[0].error(what, "give one of them: strides of the same trial would count twice")


def _no_stride(trials: Sequence[_Trial], strides: Sequence[StrideCurve]) -> Exception:
    recording = trials[0].leg.recording
    warnings = "".join(f"; {line}" for line in (*recording.warnings, *trials[0].leg.warnings)[:3])
    if strides:
        reasons = "; ".join(f"at {s.start:.2f} s {s.reason}" for s in strides[:4])
        what = f"no stride is usable of {len(strides)}: {reasons}{warnings}"
        knee = max(float(np.ptp(s.signals["knee_rad"])) for s in strides)  # NaN where markers are missing
        tiny = bool(recording.angles) and not recording.markers and math.degrees(knee) < MIN_KNEE_RANGE
        header = "radians in a file that states degrees? correct its header"
        advice = header if tiny else "see --gap and --cutoff, or correct the file"
        return recording.error(what, advice)
    strikes = [checks.count_of(t.events.strikes.size, "heel strike", "heel strikes") for t in trials]
    if trials[1:]:
        each = ", ".join(f"{count} in {t.leg.recording.name}" for count, t in zip(strikes, trials, strict=True))
        what = f"no whole stride of the {trials[0].leg.side} leg: {each}{warnings}"
        return MotionFormatError(what, "two in one trial are needed: give longer trials, or the other leg (--leg)")
    what = f"no whole stride: {strikes[0]} of the {trials[0].leg.side} leg{warnings}"
    return recording.error(what, "two are needed: give a longer trial, or the other leg (--leg)")


def _collected(trials: Sequence[_Trial], what: str) -> list[str]:
    """The notes or the warnings of all trials, each once."""
    parts = [part for t in trials for part in (t.leg.recording, t.leg, t.events, t.load)]
    return list(dict.fromkeys(line for part in parts for line in getattr(part, what, ())))


def _mean_load(kept: Sequence[StrideCurve]) -> tuple[dict[str, np.ndarray], list[str]]:
    """Mean ground reaction, equal at both ends; none, with a warning, if it cannot be that of a walking foot."""
    loads = [s.load for s in kept if s.load is not None and np.isfinite(s.load).all()]
    if not loads:
        return {}, []
    mean = np.mean(loads, axis=0)
    mean[[0, -1]] = 0.5 * (mean[0] + mean[-1])  # a line over the whole stride would load the foot in swing
    curves = {k: mean[:, i] for i, k in enumerate(LOADS)}
    for k, curve in curves.items():
        for figure, norm in SIGNAL_NORMS[k].items():
            value = FIGURES[figure](curve)
            if not inside(value, norm.possible):
                low, high = norm.possible
                what = f"{figure} value of {k} is {value:.4g} N; walking has {low:g} to {high:g} N"
                return {}, [f"ground forces are used for events only: {what}"]
    return curves, []


def _lengths(trials: Sequence[_Trial], strides: Sequence[StrideCurve]) -> dict[str, dict[str, float]]:
    """Lengths in m of the segments by trial, of those that have kept strides."""
    kept = {
        t.leg.recording.name: [s for s in strides if s.trial == t.leg.recording.name and not s.reason] for t in trials
    }
    return {name: _segments([t.leg], own) for t in trials if (own := kept[name := t.leg.recording.name])}


def _segments(legs: Sequence[Leg], kept: Sequence[StrideCurve]) -> dict[str, float]:
    """Lengths in m over the kept strides, and where ankle, heel and toe are in the flat foot."""
    lengths = {k: float(np.mean([leg.segments[k] for leg in legs])) for k in legs[0].segments}
    for name, (above, below) in {"thigh_m": ("hip", "knee"), "shank_m": ("knee", "ankle")}.items():
        if name in lengths and {above, below} <= kept[0].points.keys():
            lengths[name] = float(np.mean([np.hypot(*(s.points[above] - s.points[below]).T) for s in kept]))
    flat = lambda name: np.mean([s.points[name][cutting.FLAT] for s in kept], axis=(0, 1))
    there = kept[0].points
    if "ankle" in there and legs[0].foot is not None:
        ankle = flat("ankle")
        lengths["ankle_height_m"] = float(ankle[1])
        lengths |= {"ankle_to_heel_marker_back_m": float(ankle[0] - flat("heel")[0])} if "heel" in there else {}
        lengths |= {"ankle_to_toe_marker_fwd_m": float(flat("toe")[0] - ankle[0])} if "toe" in there else {}
    return lengths
