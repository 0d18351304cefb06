"""Everything measured about one leg's walk, from one or several trials of one person.

    walk = measure([read_recording("walk.c3d")], "right")
    walk.mean["knee_rad"], walk.speed, walk.notes

`measure_both` measures both legs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxgait.motion.capture import agreement, leg_warnings, remarks
from jaxgait.motion.capture import strides as cutting
from jaxgait.motion.capture.coordinates import with_one_flexion
from jaxgait.motion.capture.dynamics import Dynamics, dynamics_of
from jaxgait.motion.capture.events import StrideEvents
from jaxgait.motion.capture.hip_path import with_hip_path
from jaxgait.motion.capture.leg import Leg, Options
from jaxgait.motion.capture.maps import SIDES
from jaxgait.motion.capture.sides import SideStrides, Trial, lengths_of, segments_of, sides_of, without_strides
from jaxgait.motion.capture.strides import StrideCurve
from jaxgait.motion.capture.trials import together, with_own_names
from jaxgait.motion.capture.weight import check_mass, person
from jaxgait.motion.harmonics import check_harmonics, choose_harmonics
from jaxgait.motion.norms import FIGURES, SIGNAL_NORMS, SPEED, guess_speed, inside
from jaxgait.motion.recording import AssumedPath, Recording
from jaxgait.motion.stride import LOAD, POINTS_PER_STRIDE, SIGNALS, UNITS, Stride, record_person
from jaxgait.motion.verdict import judge
from jaxgait.support import checks, xr

WALK_SIGNALS = ("hip_x_m", "hip_y_m", "thigh_rad", "shank_rad", "knee_rad", "foot_rad", "ankle_rad")
"""Signals of a walk, in the order of the files."""
LOADS = tuple(LOAD)


@dataclasses.dataclass(frozen=True)
class Walk:
    """One leg's walk: strides, their mean and standard deviation, notes and warnings.

    Examples:
        >>> from jaxgait.motion.capture.walk import measure
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> walk = measure([synthetic_recording(reference_gait())])
        >>> print(len(walk.kept), walk.belt, round(walk.toe_off, 2))  # strides; overground; share of the stride
        2 0.0 0.67
        >>> print(round(walk.stride_time, 2))  # s
        1.13
        >>> print(len(walk.legs), walk.events[0].strikes.round(2))  # trials; s
        1 [1.12 2.24 3.37]
    """

    name: str
    side: str
    trials: tuple[Trial, ...]
    """The leg in every trial, with its events and, for steps and double support, the other one if it was recorded."""
    strides: tuple[StrideCurve, ...]
    """All of them; those with a `reason` were dropped."""
    mean: dict[str, Float[np.ndarray, " samples"]]
    """Mean of the kept strides at 101 even times, closed: `WALK_SIGNALS` and, if measured, `LOADS`."""
    deviation: dict[str, Float[np.ndarray, " samples"]]
    """Standard deviation of the n kept strides (dividing by n - 1); empty for one stride."""
    jumps: dict[str, float]
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

    @property
    def title(self) -> str:
        """Name and leg.

        Examples:
            >>> from jaxgait.motion.capture.walk import measure
            >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
            >>> measure([synthetic_recording(reference_gait())]).title
            'rajagopal_1.26ms, right leg'
        """
        return f"{self.name.removesuffix(f' {self.side}')}, {self.side} leg"

    @property
    def legs(self) -> tuple[Leg, ...]:
        """The leg in every trial."""
        return tuple(trial.leg for trial in self.trials)

    @property
    def events(self) -> tuple[StrideEvents, ...]:
        """The leg's events in every trial."""
        return tuple(trial.own.events for trial in self.trials)

    @property
    def kept(self) -> tuple[StrideCurve, ...]:
        """The strides over which the mean is taken."""
        return tuple(s for s in self.strides if not s.reason)

    def trial_of(self, stride: StrideCurve) -> int:
        """The trial of a stride, counted from 0.

        Examples:
            >>> from jaxgait.motion.capture.walk import measure
            >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
            >>> walk = measure([synthetic_recording(reference_gait())])
            >>> walk.trial_of(walk.kept[0])
            0
        """
        return [trial.name for trial in self.trials].index(stride.trial)

    @property
    def stride_time(self) -> float:
        """Mean time in s from heel strike to heel strike."""
        return float(np.mean([s.stride_time for s in self.kept]))

    @property
    def belt(self) -> float:
        """Mean speed of the belt in m/s during the strides on one; 0 overground."""
        return float(np.mean([s.belt for s in self.kept if s.belt] or [0.0]))

    @property
    def surface(self) -> str:
        """What the strides were taken on, in words.

        Examples:
            >>> from jaxgait.motion.capture.walk import measure
            >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
            >>> print(measure([synthetic_recording(reference_gait())]).surface)
            overground
        """
        moving = sum(s.belt != 0.0 for s in self.kept)
        if not moving:
            return "overground"
        treadmill = f"treadmill, belt {self.belt:.3f} m/s"
        return (
            treadmill
            if moving == len(self.kept)
            else f"{treadmill} in {moving} of {len(self.kept)} strides, else overground"
        )

    @property
    def assumed_path(self) -> AssumedPath | None:
        """The source of the hip's path, with the given speed; None if the path was recorded in some trial.

        Examples:
            >>> import dataclasses
            >>> from jaxgait.motion.capture.walk import measure
            >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
            >>> trial = synthetic_recording(reference_gait())
            >>> joints = {name: x for name, x in trial.angles.items() if "pelvis" not in name}
            >>> walk = measure([dataclasses.replace(trial, angles=joints)], speed=1.25)  # m/s
            >>> print(walk.assumed_path, walk.speed_source)
            AssumedPath(gait='rajagopal_1.26ms', speed=1.25) given
        """
        paths = [leg.recording.assumed_path for leg in self.legs]
        return paths[0] if all(paths) else None

    @property
    def speed_source(self) -> str:
        """What `speed` is, in words.

        Examples:
            >>> from jaxgait.motion.capture.walk import measure
            >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
            >>> walk = measure([synthetic_recording(reference_gait())])
            >>> print(round(walk.speed, 2), walk.speed_source)  # m/s
            1.26 speed of the hip
        """
        return "speed of the hip" if self.assumed_path is None else "given"

    @property
    def toe_off(self) -> float | None:
        """Mean toe-off as a share of the curves' period; no dimension. Stance is a share of `stride_time` instead."""
        shares = [s.toe_off for s in self.kept if s.toe_off is not None]
        return float(np.mean(shares)) if shares else None

    def to_dataset(self) -> xr.Dataset:
        """The kept strides over percent of the gait cycle, labelled, as from `motion.capture.tables.stride_curves`.

        Examples:
            >>> from jaxgait.motion.capture.walk import measure
            >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
            >>> strides = measure([synthetic_recording(reference_gait())]).to_dataset()
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
            foot. Joint angles without the path of the pelvis need it (see `motion.capture.hip_path`).
        mass: of the person in kg; by default from the file, or from the ground forces.

    Raises:
        TypeError: for anything but a list of recordings.
        ValueError: for another side, no recordings, a speed that is not positive, and a mass that no person has.
        MotionFormatError: if a trial has no such leg, there is no whole stride, the trials are of different people, or
            ground forces fit no trial.

    Examples:
        >>> from jaxgait.motion.capture.walk import measure
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> walk = measure([synthetic_recording(reference_gait())])
        >>> print(len(walk.kept), round(walk.period, 2), round(walk.speed, 2))  # strides, s, m/s
        2 1.13 1.26
    """
    if side not in SIDES:
        raise ValueError(f"the leg is right or left, got {side!r}; measure_both measures both")
    return _measured(recordings, (side,), options, speed, mass)[side]


def walk_stride(walk: Walk, harmonics: int | None = None) -> Stride:
    """The mean stride of a walk, for a drive; by default with as many harmonics as the data support.

    Raises:
        ValueError: as in `motion.harmonics.check_harmonics`.

    Examples:
        >>> from jaxgait.motion.capture.walk import measure, walk_stride
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> stride = walk_stride(measure([synthetic_recording(reference_gait())]))
        >>> print(stride.name, stride.time.size, round(stride.time[-1], 2))  # one period of 101 samples, s
        rajagopal_1.26ms 101 1.13
    """
    check_harmonics(harmonics)
    frames = walk.period * min(walk.legs[walk.trial_of(stride)].recording.rate for stride in walk.kept)
    return Stride(
        name=walk.name,
        time=np.linspace(0.0, walk.period, POINTS_PER_STRIDE),
        signals={k: walk.mean[k] for k in UNITS if k in walk.mean},
        speed=walk.speed,
        file=walk.legs[0].recording.file,
        person=record_person({"segments": walk.segments, "source": walk.subject}),
        harmonics=choose_harmonics({k: walk.mean[k] for k in SIGNALS}, frames) if harmonics is None else harmonics,
        measured=True,
        assumed_path="" if walk.assumed_path is None else walk.assumed_path.gait,
        warnings=walk.warnings,
        side=walk.side,
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
        The walks by side, right and left, under names that end with it: "walk right". A leg that was not recorded, or
        has no whole stride, is not among them; a warning of the other walk says why.

    Raises:
        TypeError, ValueError, MotionFormatError: as in `measure`; if neither leg can be measured, as for the right one.

    Examples:
        >>> from jaxgait.motion.capture.walk import measure_both
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> walks = measure_both([synthetic_recording(reference_gait())])
        >>> print(list(walks), walks["right"].warnings[0][:66])
        ['right'] the left leg is not measured: no left leg: hip_flexion_l, knee_ang
    """
    walks = _measured(recordings, tuple(SIDES), options, speed, mass)
    return {side: dataclasses.replace(walk, name=f"{walk.name} {side}") for side, walk in walks.items()}


def _measured(
    recordings: Sequence[Recording], sides: Sequence[str], options: Options, speed: float | None, mass: float | None
) -> dict[str, Walk]:
    """The walks of the sides that can be measured; the person has the same mass in both."""
    mass = check_mass(mass)
    speed = None if speed is None else checks.positive("speed", speed, "m/s")
    recordings, warnings = with_own_names(together(recordings))
    if speed is not None and not inside(speed, SPEED.possible):
        warnings.append(f"the given speed is {speed:.4g} m/s: {guess_speed(speed)}")
    recordings = with_one_flexion(recordings)
    moved = [with_hip_path(recording, sides, options, speed) for recording in recordings]
    if all(one is not other for one, other in zip(recordings, moved, strict=True)):
        speed = None  # the hips already move at it
    recordings = moved
    found, failed = sides_of(recordings, sides, options, mass)
    if not found:
        raise failed[sides[0]]
    warnings += [f"the {side} leg is not measured: {error.what}" for side, error in failed.items()]
    kept = [one for side in found.values() for one in side.kept]
    body, heavy = person(recordings, kept, options.static, mass)
    warnings += heavy
    return {side: _walk(one, recordings, options, speed, mass, body, warnings) for side, one in found.items()}


def _walk(
    found: SideStrides,
    recordings: Sequence[Recording],
    options: Options,
    speed: float | None,
    mass: float | None,
    body: dict[str, Any],
    general: Sequence[str],
) -> Walk:
    """The walk of one leg, with all notes and warnings; `general` are those that do not concern one leg alone."""
    trials = found.trials
    strides, notes, warnings = (found.judged, [], []) if speed is None else _at_speed(found.judged, speed)
    sound = [s for s, own in zip(strides, found.alone, strict=True) if not own.reason]
    unlikely = agreement.one_person(recordings, lengths_of(trials, strides), options.static, mass)
    walk = _averaged(trials, strides, body)
    kept = cutting.by_trial(walk.kept)
    checked = [remarks.Checked(t, options, kept.get(t.name, ()), walk.stride_time, speed) for t in trials]
    return dataclasses.replace(
        walk,
        notes=(*remarks.notes_of(checked), *found.ended, *notes, *walk.notes),
        warnings=(
            *general,
            *remarks.warnings_of(checked),
            *unlikely,
            *warnings,
            *without_strides(found),
            *agreement.one_walk(sound, walk.kept),
            *walk.warnings,
            *judge(dataclasses.replace(walk_stride(walk), file=None)).lines(),
        ),
    )


def _at_speed(strides: list[StrideCurve], given: float) -> tuple[list[StrideCurve], list[str], list[str]]:
    """The strides, with speeds scaled to a given mean in m/s of the kept ones; and notes and warnings that say so."""
    speed = float(np.mean([s.speed for s in strides if not s.reason]))
    ratio = given / speed
    scaled = [dataclasses.replace(s, hip_speed=ratio * s.hip_speed, belt=ratio * s.belt, scale=ratio) for s in strides]
    what = f"hip and feet move at {speed:.3f} m/s; the given speed of {given:.3f} m/s is used, also for single strides"
    measured = any(not s.reason and s.belt == 0.0 for s in strides)
    advice = ": leave it out to keep those that were measured overground" if measured else ""
    line = [f"{what}, and lengths of strides and steps with it, scaled by {ratio:.3f}{advice}"]
    return (scaled, [], line) if abs(given - speed) > 0.1 * given else (scaled, line, [])


def _averaged(trials: Sequence[Trial], strides: list[StrideCurve], body: dict[str, Any]) -> Walk:
    """The walk with the mean of the kept strides, and notes and warnings about these."""
    legs = tuple(t.leg for t in trials)
    marked = legs[0].foot is not None
    flat = cutting.flat_line(strides) if marked else 0.0
    strides = cutting.levelled(strides, flat) if marked else strides
    kept = [s for s in strides if not s.reason]
    closed = {k: cutting.closed(np.mean([s.signals[k] for s in kept], axis=0)) for k in WALK_SIGNALS}
    load, odd = _mean_load(kept)
    segments = segments_of(kept, marked=marked)
    loads = [t.own.load for t in trials]
    dynamics, how = dynamics_of(legs, loads, kept if load else (), body.get("mass_kg"), segments)
    found = (
        *odd,
        *leg_warnings.stride_warnings(kept),
        *leg_warnings.flat_warnings(flat),
        *leg_warnings.segment_warnings(segments, body.get("mass_kg")),
        *leg_warnings.dynamics_warnings(dynamics, legs),
    )
    walk = Walk(
        name=next(t.name for t in trials if t.name in cutting.by_trial(kept)),
        side=legs[0].side,
        trials=tuple(trials),
        strides=tuple(strides),
        mean={k: curve for k, (curve, _) in closed.items()} | load,
        deviation={k: np.std([s.signals[k] for s in kept], axis=0, ddof=1) for k in WALK_SIGNALS} if kept[1:] else {},
        jumps={k: jump for k, (_, jump) in closed.items()},
        period=float(np.mean([s.period for s in kept])),
        speed=float(np.mean([s.speed for s in kept])),
        segments=segments,
        subject=body,
        dynamics=dynamics,
        notes=(how,),
        warnings=found,
    )
    return walk if walk.assumed_path is None else dataclasses.replace(walk, speed=walk.assumed_path.speed)


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
