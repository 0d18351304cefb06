"""Everything measured of one leg's walk, from one or several trials of one person.

walk = measure([read_recording("walk.c3d")], "right")
walk.mean["knee_rad"], walk.speed, walk.notes
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxgait.motion.capture import plates
from jaxgait.motion.capture import strides as cutting
from jaxgait.motion.capture.dynamics import Dynamics, dynamics_of
from jaxgait.motion.capture.ground import Load, load_of
from jaxgait.motion.capture.leg import Leg, Options, Plane, leg_of
from jaxgait.motion.capture.maps import Found, find
from jaxgait.motion.capture.smoothing import sampled_at
from jaxgait.motion.capture.strides import Events, StrideCurve, by_motion, events_of
from jaxgait.motion.capture.weight import check_mass, person
from jaxgait.motion.norms import FIGURES, PEAKS, SIGNAL_NORMS, inside
from jaxgait.motion.recording import Recording
from jaxgait.motion.text import distinct

CURVES = ("hip_x_m", "hip_y_m", "thigh_rad", "shank_rad", "knee_rad", "foot_rad", "ankle_rad")
"""Signals of a walk, in the order of the files."""
LOADS = ("ground_x_N", "ground_y_N")
STIFF = 2.0
"""Range of the knee in deg below which joint angles are probably in rad: in walking it is above 30."""
THIGH_TO_SHANK = (0.75, 1.3)
"""Usual ratio of the lengths of thigh and shank, between joint centres in the sagittal plane."""


@dataclasses.dataclass(frozen=True)
class Walk:
    """One leg's walk: strides, their mean and standard deviation, notes and warnings.

    Examples:
        >>> from jaxgait.motion.capture.walk import measure
        >>> from jaxgait.motion.drive import recorded, reference_gait
        >>> walk = measure([recorded(reference_gait())])
        >>> print(len(walk.kept), walk.belt, round(walk.toe_off, 2))  # strides; overground; share of the stride
        2 0.0 0.67
    """

    name: str
    side: str
    legs: tuple[Leg, ...]
    """One for every trial."""
    events: tuple[Events, ...]
    strides: tuple[StrideCurve, ...]
    """All of them; those with a `reason` were dropped."""
    mean: dict[str, Float[np.ndarray, " samples"]]
    """Mean of the kept strides at 101 even times, closed: `CURVES` and, if measured, `LOADS`."""
    deviation: dict[str, Float[np.ndarray, " samples"]]
    """Standard deviation of the kept strides; empty for one stride."""
    gaps: dict[str, float]
    """Jumps that were removed to close the mean."""
    period: float
    """In s."""
    speed: float
    """In m/s."""
    segments: dict[str, float]
    """Lengths in m."""
    subject: dict[str, str | float]
    dynamics: Dynamics | None
    """Joint moments and powers; None unless mass, ground force and centre of pressure of a whole stride are known."""
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def kept(self) -> tuple[StrideCurve, ...]:
        """The strides that the mean is taken of."""
        return tuple(s for s in self.strides if not s.reason)

    @property
    def belt(self) -> float:
        """Speed of the belt in m/s; 0 overground."""
        return float(np.mean([s.belt for s in self.kept]))

    @property
    def toe_off(self) -> float | None:
        """Mean toe-off as a share of the stride; no dimension."""
        shares = [s.toe_off for s in self.kept if s.toe_off is not None]
        return float(np.mean(shares)) if shares else None


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
        recordings: trials of one person.
        side: right or left.
        options: marker map, standing trial, regression, cut-off and gaps.
        speed: walking speed in m/s; by default that of hip and standing foot.
        mass: of the person in kg; by default from the file, or from the ground forces.

    Raises:
        ValueError: for another side, and a mass that no person has.
        MotionFormatError: if a trial has no such leg, or there is no whole stride.

    Examples:
        >>> from jaxgait.motion.capture.walk import measure
        >>> from jaxgait.motion.drive import recorded, reference_gait
        >>> walk = measure([recorded(reference_gait())])
        >>> print(len(walk.kept), round(walk.period, 2), round(walk.speed, 2))  # strides, s, m/s
        2 1.13 1.26
    """
    if side not in ("right", "left"):
        raise ValueError(f"the leg is right or left, got {side!r}")
    check_mass(mass)
    recordings, twice = _with_own_names(recordings)
    legs = tuple(leg_of(recording, side, options) for recording in recordings)
    _check_one_kind(legs)
    moved = [by_motion(leg) for leg in legs]
    loads = tuple(load_of(leg, strikes) for leg, (strikes, _) in zip(legs, moved, strict=True))
    events = tuple(events_of(leg, load) for leg, load in zip(legs, loads, strict=True))
    cuts = [s for leg, e, load in zip(legs, events, loads, strict=True) for s in cutting.cut(leg, e, load)]
    cuts, ended = _ended(cuts, legs, events, loads)
    strides = cutting.judged(cutting.levelled(cuts))
    kept = [s for s in strides if not s.reason]
    if not kept:
        raise _no_stride(recordings[0], events, strides)
    closed = {k: cutting.closed(np.mean([s.signals[k] for s in kept], axis=0)) for k in CURVES}
    load, odd = _mean_load(kept)
    segments = _segments(legs, kept)
    walked = float(np.mean([s.speed for s in kept])) if speed is None else speed
    body, heavy = person(recordings, legs, options.static, mass, kept)
    weighed = body.get("mass_kg")
    dynamics, how = dynamics_of(legs, loads, kept if load else (), weighed if _is_number(weighed) else None)
    return Walk(
        name=recordings[0].name,
        side=side,
        legs=legs,
        events=events,
        strides=tuple(strides),
        mean={k: curve for k, (curve, _) in closed.items()} | load,
        deviation={k: np.std([s.signals[k] for s in kept], axis=0, ddof=1) for k in CURVES} if kept[1:] else {},
        gaps={k: gap for k, (_, gap) in closed.items()},
        period=float(np.mean([s.period for s in kept])),
        speed=walked,
        segments=segments,
        subject=body,
        dynamics=dynamics,
        notes=(*_collected(legs, events, loads, "notes"), *ended, how),
        warnings=(
            *_collected(legs, (), (), "warnings"),
            *plates.joined((leg, _doubtful(leg, options)) for leg in legs),
            *plates.joined((x, plates.problems(x, y, *z)) for x, y, z in zip(legs, loads, moved, strict=True)),
            *twice,
            *odd,
            *heavy,
            *_doubts(kept, speed),
            *_odd_segments(segments),
            *_odd_peaks(dynamics),
        ),
    )


def _with_own_names(recordings: Sequence[Recording]) -> tuple[list[Recording], list[str]]:
    """The trials under different names, which their strides refer to, and a warning if one is given twice."""
    twice: list[str] = []
    for i, trial in enumerate(recordings):
        same = next((other for other in recordings[:i] if _same(trial, other)), None)
        if same is not None:
            twice.append(f"{trial.file} holds the same frames as {same.file}: its strides count twice")
    names = distinct([trial.name for trial in recordings], "{} ({})")
    return [dataclasses.replace(trial, name=name) for trial, name in zip(recordings, names, strict=True)], twice


def _same(one: Recording, other: Recording) -> bool:
    columns = [(r.markers or r.angles) for r in (one, other)]
    if not columns[0] or columns[0].keys() != columns[1].keys():
        return False
    return all(np.array_equal(x, columns[1][k], equal_nan=True) for k, x in columns[0].items())


def _is_number(value: Any) -> bool:
    return isinstance(value, float | int)


def _odd_peaks(dynamics: Dynamics | None) -> list[str]:
    found, peaks = [], {} if dynamics is None else dynamics.peaks
    for name, ends in peaks.items():
        for end, value, usual in zip(("lowest", "highest"), ends, PEAKS[name], strict=True):
            if not inside(value, usual):
                joint, kind, unit = name.split("_", 2)
                what = f"{joint} {kind} is {end} at {value:.2f} {unit.replace('_', '/')}"
                found.append(f"{what}, where {usual[0]:g} to {usual[1]:g} is usual: check mass and centre of pressure")
    return found


def _ended(
    cuts: list[StrideCurve], legs: Sequence[Leg], events: Sequence[Events], loads: Sequence[Load | None]
) -> tuple[list[StrideCurve], list[str]]:
    """The strides; a single one ends where its angles repeat best, with a note."""
    if len([s for s in cuts if not s.reason]) != 1:
        return cuts, []
    i = next(i for i, s in enumerate(cuts) if not s.reason)
    trial = next(k for k, leg in enumerate(legs) if leg.recording.name == cuts[i].trial)
    end = cutting.best_end(legs[trial], cuts[i])
    moved = end - cuts[i].start - cuts[i].period
    starts = Events(np.array([cuts[i].start]), events[trial].offs, (), ())
    cuts[i] = cutting.cut(legs[trial], starts, loads[trial], np.array([end]))[0]
    return cuts, [f"the only stride ends {1e3 * moved:+.0f} ms from its heel strike, where thigh and shank repeat best"]


def _check_one_kind(legs: Sequence[Leg]) -> None:
    """Checks that all legs are from markers, or all from joint angles."""
    solved, marked = ([leg.recording for leg in legs if (leg.foot is None) == angles] for angles in (True, False))
    if solved and marked:
        what = f"holds joint angles, but {marked[0].file} markers"
        raise solved[0].error(what, "give one of them: strides of the same trial would count twice")


def _no_stride(recording: Recording, events: Sequence[Events], strides: Sequence[StrideCurve]) -> Exception:
    warnings = "".join(f"; {line}" for line in recording.warnings[:3])
    if strides:
        reasons = "; ".join(f"at {s.start:.2f} s {s.reason}" for s in strides[:4])
        what = f"no stride is usable of {len(strides)}: {reasons}{warnings}"
        knee = max(float(np.ptp(s.signals["knee_rad"])) for s in strides)  # NaN where markers are missing
        tiny = bool(recording.angles) and not recording.markers and math.degrees(knee) < STIFF
        header = "radians in a file that says degrees? correct its header"
        advice = header if tiny else "see --gap and --cutoff, or correct the file"
        return recording.error(what, advice)
    count = sum(e.strikes.size for e in events)
    what = f"no whole stride: {count} heel strikes of this leg{warnings}"
    return recording.error(what, "two are needed: give a longer trial, or the other leg (--leg)")


def _collected(
    legs: Sequence[Leg], events: Sequence[Events], loads: Sequence[Load | None], what: str
) -> tuple[str, ...]:
    lines: list[str] = []
    for i, leg in enumerate(legs):
        more = [x for group in (events, loads) if i < len(group) for x in getattr(group[i], what, ())]
        own = [*getattr(leg.recording, what), *getattr(leg, what), *more]
        lines += [line if line not in lines else "" for line in own]
    return tuple(line for line in lines if line)


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


def _odd_segments(lengths: Mapping[str, float]) -> list[str]:
    found = []
    thigh, shank = lengths["thigh_m"], lengths["shank_m"]
    if not inside(thigh / shank, THIGH_TO_SHANK):
        found.append(
            f"a thigh of {thigh:.3f} m on a shank of {shank:.3f} m: are markers of pelvis, knee or ankle swapped?"
        )
    back, front = lengths.get("ankle_to_heel_marker_back_m"), lengths.get("ankle_to_toe_marker_fwd_m")
    if back is not None and front is not None and back + front < 0:
        found.append(
            f"the toe is {-back - front:.3f} m behind the heel: markers swapped, or walking backwards? "
            "Events and angles of the foot follow them"
        )
    return found


def _doubts(kept: Sequence[StrideCurve], given: float | None) -> list[str]:
    found = []
    speed = float(np.mean([s.speed for s in kept]))
    if given is not None and abs(given - speed) > 0.1 * given:
        found.append(f"hip and feet move at {speed:.3f} m/s; the given speed of {given:.3f} m/s is used")
    if len(kept) == 1:
        found.append("only one stride: no standard deviation, and it may not be typical")
    return found


LAG = 0.02
"""Time in s by which one end of a segment may seem to lag the other; skin makes up to 0.010 of it in measured walks."""
EXPLAINED = 0.6
"""Share of a segment's change of length that a lag explains; skin makes up to 0.53 where it makes more than that."""
ASKEW = 0.02
"""Mean difference in m of the heights of both ASIS; measured walks have up to 0.013."""
SEGMENTS = (("hip", "knee"), ("knee", "ankle"), ("ankle", "heel"), ("ankle", "toe"))


def _doubtful(leg: Leg, options: Options) -> list[str]:
    """What looks wrong with the markers of a leg."""
    if leg.ankle_angle is not None:
        return []
    found = find(leg.recording.markers, leg.side, options.static is not None, options.own_map)
    return [*_late(leg), *_askew(leg, found)]


def _late(leg: Leg) -> list[str]:
    points, found = {"hip": leg.hip} | leg.points, []
    for above, below in SEGMENTS:
        if above in points and below in points:
            late, explained = _lag(points[above], points[below], leg.recording.rate)
            if abs(late) > LAG and explained > EXPLAINED:
                first, second = (below, above) if late > 0 else (above, below)
                found.append(f"the {first} lags the {second} by about {1e3 * abs(late):.0f} ms")
    what = f"{leg.side} leg: {', '.join(found)}, as their distance shows: markers on another clock, or filtered?"
    return [what] if found else []


def _askew(leg: Leg, found: Found) -> list[str]:
    if len(found.asis) < 2:
        return []
    right, left = (leg.recording.markers[found.asis[side]] @ leg.axes.rotation[1] for side in ("right", "left"))
    apart = (right - left)[np.isfinite(right - left)]
    above = float(np.sum(apart)) / max(apart.size, 1)
    word = "higher" if above > 0 else "lower"
    what = f"the right ASIS is {1e3 * abs(above):.0f} mm {word} than the left one on average"
    return [f"{what}: a misplaced marker, or an oblique pelvis?"] if abs(above) > ASKEW else []


def _lag(above: Plane, below: Plane, rate: float) -> tuple[float, float]:
    """Time in s by which a segment's lower end lags its upper end, and the share of its change of length that goes so.

    If the lower end moves at v and is recorded late by t, half the squared length of the segment d changes by t d.v.
    """
    time = np.arange(above.shape[0]) / rate
    late, explained = 0.0, 0.0
    for i in range(6):
        moved = sampled_at(time, below, time + late)
        apart, speed = above - moved, np.gradient(0.5 * (above + moved), 1.0 / rate, axis=0)
        both = np.stack([0.5 * np.sum(apart**2, axis=1), np.sum(apart * speed, axis=1)])
        both = both[:, np.isfinite(both).all(axis=0)]
        if both.shape[1] < 20 or not np.ptp(both, axis=1).all():
            return 0.0, 0.0
        (length, cross), (_, pull) = np.cov(both)
        explained = explained if i else float(cross**2 / pull / length)
        late = float(np.clip(late + cross / pull, -0.3, 0.3))
    return late, explained
