"""Measured walks as labelled tables: curves over the gait cycle or over time, and spatiotemporal parameters.

    walks = measure_both([read_recording("walk.c3d")])
    table = spatiotemporal(walks)               # one row per stride: table.to_dataframe()
    side_means(table)                           # mean, standard deviation, symmetry
    stride_curves(walks).to_netcdf("walk.nc")

All are xarray Datasets with units.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jaxgait.motion import MotionWarning
from jaxgait.motion.capture.dynamics import MOMENTS, POWERS
from jaxgait.motion.capture.events import only_one_by_motion
from jaxgait.motion.capture.leg import Leg
from jaxgait.motion.capture.maps import SIDES
from jaxgait.motion.capture.sides import Foot
from jaxgait.motion.capture.smoothing import sampled_at
from jaxgait.motion.capture.strides import FLAT, StrideCurve
from jaxgait.motion.capture.walk import WALK_SIGNALS, Walk
from jaxgait.motion.capture.zeni import SAME_EVENT
from jaxgait.motion.stride import POINTS_PER_STRIDE
from jaxgait.support import xr
from jaxgait.support.checks import count, count_of, first_few, shown, warn_user


class Quantity(NamedTuple):
    """Unit and meaning of a column."""

    units: str
    long_name: str


SPATIOTEMPORAL = {
    "stride_time": Quantity("s", "time between heel strikes of this foot"),
    "stride_length": Quantity("m", "distance between successive footprints of this heel"),
    "speed": Quantity("m/s", "stride length over stride time"),
    "cadence": Quantity("steps/min", "two steps per stride time"),
    "step_time": Quantity("s", "from the heel strike of the other foot to the next one of this foot"),
    "step_length": Quantity("m", "distance along the path from the other heel's footprint to this heel's next one"),
    "step_width": Quantity("m", "distance of the other heel's footprint from the line through both of this heel"),
    "stance": Quantity("%", "heel strike to toe-off of this foot"),
    "swing": Quantity("%", "toe-off to heel strike of this foot"),
    "double_support": Quantity("%", "both feet on the floor, after both heel strikes"),
}
"""Spatiotemporal parameters of a stride, as Whittle (Gait Analysis, 2007, chapter 2) and GAITRite walkways define them.

Percentages are of the stride time. Lengths are between the heels of flat feet, which are farther forward than at their
strikes; they include the travel of a treadmill's belt.
"""
MAX_HEEL_SHIFT = 0.02
"""Distance in m by which the heel of a flat foot may move in `FLAT`; it is up to 0.0025 in measured walks."""
MAX_SPEED_DIFFERENCE = 0.025
"""Warn if stride length over stride time and the speed of the hip differ by more; by up to 0.014 in measured walks."""
SYMMETRIC = ("step_time", "step_length", "stance", "swing")
"""Parameters that are compared between the sides."""
CURVES = {
    "hip_x": Quantity("m", "hip, forward of its mean progression"),
    "hip_height": Quantity("m", "hip above the floor"),
    "thigh_angle": Quantity("deg", "thigh from the vertical, forward positive"),
    "shank_angle": Quantity("deg", "shank from the vertical, forward positive"),
    "knee_angle": Quantity("deg", "knee flexion"),
    "foot_angle": Quantity("deg", "foot from flat, toe up positive"),
    "ankle_angle": Quantity("deg", "ankle dorsiflexion, 0 with the foot flat under a vertical shank"),
    "ground_x": Quantity("N", "ground reaction on this foot, forward"),
    "ground_y": Quantity("N", "ground reaction on this foot, upward"),
    "pelvis_tilt": Quantity("deg", "pelvis, forward (anterior) tilt of the line from PSIS to ASIS"),
    "hip_flexion": Quantity("deg", "thigh relative to the pelvis: thigh_angle + pelvis_tilt"),
}
"""Columns of curves; `hip_flexion` is 0 with the thigh at right angles to the line from PSIS to ASIS."""
_SIGNALS = dict(zip(tuple(CURVES)[:7], WALK_SIGNALS, strict=True))


def spatiotemporal(*walks: Walk | Mapping[str, Walk]) -> xr.Dataset:
    """Spatiotemporal parameters of all kept strides.

    Args:
        walks: of one side, or of both, also as the dict from `measure_both`.

    Returns:
        `SPATIOTEMPORAL` over `stride`, with the coordinates `side`, `trial` and `start` (heel strike in s). Steps and
        double support are NaN where the other foot's events within the stride are not known, step width also where
        joint angles were recorded; step length and width where only one foot has a marker on its heel. Where the path
        of the hip was not recorded, the speed is the given one, the stride length this times the stride time, and step
        lengths are NaN.

    Raises:
        TypeError: for anything but walks.
        ValueError: without walks.

    Warns:
        MotionWarning: if the stride length over the stride time differs from the speed of the hip by more than 2.5 %.

    Examples:
        >>> from jaxgait.motion.capture.tables import spatiotemporal
        >>> from jaxgait.motion.capture.walk import measure
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> table = spatiotemporal(measure([synthetic_recording(reference_gait())]))
        >>> print(table.cadence.values.round(), table.stride_length.values.round(2))  # steps/min, m
        [106. 106.] [1.42 1.42]
    """
    each = _each(walks)
    kept = [(walk, stride) for walk in each for stride in walk.kept]
    rows = [_parameters(walk, stride) for walk, stride in kept]
    about, odd = _about(each), _unlike_the_hip(kept, rows)
    for line in odd:
        warn_user(line, MotionWarning)
    about["warnings"] = "\n".join(line for line in (about["warnings"], *odd) if line)
    columns = {k: ("stride", np.array([row[k] for row in rows]), q._asdict()) for k, q in SPATIOTEMPORAL.items()}
    return xr.Dataset(columns, _strides(each), about)


def _unlike_the_hip(kept: Sequence[tuple[Walk, StrideCurve]], rows: Sequence[Mapping[str, float]]) -> list[str]:
    """A warning about strides whose footprints show another speed than the hip; empty if there are none."""
    pairs = [(walk.side, stride, row["speed"]) for (walk, stride), row in zip(kept, rows, strict=True)]
    odd = [
        f"{side} at {stride.start:.2f} s in {stride.trial} {speed:.3f} and {stride.speed:.3f} m/s"
        for side, stride, speed in pairs
        if abs(speed / stride.speed - 1.0) > MAX_SPEED_DIFFERENCE
    ]
    what = f"footprints and hip show different speeds ({first_few(odd, 4)})"
    return [f"{what}: do not use the lengths of these strides; did the person turn, start or stop?"] if odd else []


def side_means(table: xr.Dataset) -> xr.Dataset:
    """Means and standard deviations of spatiotemporal parameters by side, and how symmetric they are.

    Args:
        table: from `spatiotemporal`.

    Returns:
        Over `side`, the mean under the name of each parameter, its standard deviation (NaN for one stride) under
        `<name>_sd`, and `strides`, their number. If both sides are there, also `<name>_symmetry_index` in % and
        `<name>_ratio` (right over left) of the means, for `SYMMETRIC`. The index is that of Robinson et al. 1987 (J
        Manipulative Physiol Ther 10:172-176): the difference right - left over the mean of both; 0 is symmetric.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.motion.capture.tables import SPATIOTEMPORAL, side_means
        >>> lengths = [0.70, 0.72, 0.66, 0.66]  # m
        >>> columns = {name: ("stride", lengths) for name in SPATIOTEMPORAL}
        >>> table = xr.Dataset(columns, {"side": ("stride", ["right", "right", "left", "left"])})
        >>> means = side_means(table)
        >>> print(means.step_length.sel(side="right").item(), means.step_length_sd.values.round(4))  # m
        0.71 [0.0141 0.    ]
        >>> print(round(means.step_length_symmetry_index.item(), 2), round(means.step_length_ratio.item(), 3))  # %
        7.3 1.076
    """
    sides = [side for side in SIDES if side in table.side.values]
    own = {side: np.asarray(table.side == side) for side in sides}
    found: dict[str, Any] = {"strides": ("side", [int(own[side].sum()) for side in sides], {"long_name": "strides"})}
    for name, quantity in SPATIOTEMPORAL.items():
        values = [table[name].values[own[side]] for side in sides]
        values = [x[np.isfinite(x)] for x in values]
        about = {"units": quantity.units, "long_name": quantity.long_name}
        found[name] = ("side", [float(np.mean(x)) if x.size else math.nan for x in values], about)
        spread = [float(np.std(x, ddof=1)) if x.size > 1 else math.nan for x in values]
        found[f"{name}_sd"] = ("side", spread, about | {"long_name": f"standard deviation of {name}"})
        if len(sides) == 2 and name in SYMMETRIC:
            right, left = np.array(found[name][1])
            with np.errstate(divide="ignore", invalid="ignore"):  # a step-to gait has steps of length 0
                index, ratio = 200.0 * (right - left) / (right + left), right / left
            found[f"{name}_symmetry_index"] = ((), index, {"units": "%", "long_name": f"symmetry index of {name}"})
            found[f"{name}_ratio"] = ((), ratio, {"units": "", "long_name": f"{name}, right over left"})
    return xr.Dataset(found, {"side": sides}, table.attrs)


def stride_curves(*walks: Walk | Mapping[str, Walk]) -> xr.Dataset:
    """The kept strides over percent of the gait cycle, from heel strike to heel strike.

    A single stride ends where its angles repeat best instead, up to 30 ms from the heel strike: percent and `toe_off`
    refer to this period, stance and swing of `spatiotemporal` to the stride time.

    Args:
        walks: of one side, or of both, also as the dict from `measure_both`.

    Returns:
        `CURVES`, as far as they were measured, and joint moments and powers (`hip_moment` in N m/kg, `hip_power` in
        W/kg, ...; flexion and dorsiflexion positive) over (stride, percent), NaN in strides that lack them; with
        the coordinates `side`, `trial`, `start` (heel strike, s), `stride_time` (s), `speed` (m/s) and `toe_off` (%).
        Strides are as measured; means of a `Walk` and drives are closed by removing a drift.

    Raises:
        TypeError: for anything but walks.
        ValueError: without walks.

    Examples:
        >>> from jaxgait.motion.capture.tables import stride_curves
        >>> from jaxgait.motion.capture.walk import measure
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> strides = stride_curves(measure([synthetic_recording(reference_gait())]))
        >>> print(strides.knee_angle.dims, strides.knee_angle.attrs["units"], round(float(strides.knee_angle.max())))
        ('stride', 'percent') deg 64
    """
    each = _each(walks)
    rows = [_curves(walk, stride) for walk in each for stride in walk.kept]
    loads = {_plain(k): k for k in (*MOMENTS, *POWERS)}
    about = {k: q._asdict() for k, q in CURVES.items()}
    about |= {
        k: {"units": "N m/kg" if k.endswith("moment") else "W/kg", "long_name": k.replace("_", " ")} for k in loads
    }
    missing = np.full(POINTS_PER_STRIDE, np.nan)
    columns = {
        k: (("stride", "percent"), np.array([row.get(k, missing) for row in rows]), about[k])
        for k in about
        if any(k in row for row in rows)
    }
    kept = [stride for walk in each for stride in walk.kept]
    offs = np.array([math.nan if s.toe_off is None else 100.0 * s.toe_off for s in kept])
    coordinates = _strides(each) | {
        "percent": ("percent", np.linspace(0.0, 100.0, POINTS_PER_STRIDE), {"units": "%", "long_name": "gait cycle"}),
        "stride_time": ("stride", np.array([s.stride_time for s in kept]), SPATIOTEMPORAL["stride_time"]._asdict()),
        "speed": ("stride", np.array([s.speed for s in kept]), {"units": "m/s", "long_name": "speed of hip and belt"}),
        "toe_off": ("stride", offs, {"units": "%", "long_name": "toe-off of this foot, in percent as the curves"}),
    }
    return xr.Dataset(columns, coordinates, _about(each))


def trial_curves(walk: Walk, trial: int = 0) -> xr.Dataset:
    """A whole trial over time, with its events.

    Args:
        walk: of one leg.
        trial: which one, counted from 0.

    Returns:
        `CURVES` over `time` in s, without the ground reaction, `hip_x` with the progression in the laboratory; and
        `event_name` (heel strike, toe-off) with `event_side` and `event_time` in s over `event`, of both feet if the
        other one is known.

    Raises:
        ValueError: if there is no such trial.

    Examples:
        >>> from jaxgait.motion.capture.tables import trial_curves
        >>> from jaxgait.motion.capture.walk import measure
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> trial = trial_curves(measure([synthetic_recording(reference_gait())]))
        >>> print(trial.event_name.values[0], trial.event_time.values[0].round(2), trial.knee_angle.dims)  # s
        toe-off 0.75 ('time',)
    """
    if count("trial", trial, least=0) >= len(walk.trials):
        there = count_of(len(walk.trials), "trial", "trials")
        raise ValueError(f"there is no trial {trial}: {walk.name} has {there}, counted from 0")
    leg, names = walk.trials[trial].leg, []
    for one, events in walk.trials[trial].feet:
        names += [("heel strike", one.side, t) for t in events.strikes]
        names += [("toe-off", one.side, t) for t in events.offs]
    names.sort(key=lambda event: event[2])
    thigh, shank, foot = leg.angles.values()
    foot = foot - (0.0 if leg.foot is None else _flat_foot(walk))
    angles = {"thigh_angle": thigh, "shank_angle": shank, "knee_angle": thigh - shank}
    angles |= {"foot_angle": foot, "ankle_angle": foot - shank}
    if leg.pelvis is not None:
        angles |= {"pelvis_tilt": leg.pelvis, "hip_flexion": thigh + leg.pelvis}
    curves = {"hip_x": leg.hip[:, 0], "hip_height": leg.hip[:, 1]} | {k: np.degrees(x) for k, x in angles.items()}
    columns = {k: ("time", curves[k], q._asdict()) for k, q in CURVES.items() if k in curves}
    columns["hip_x"][2]["long_name"] = "hip, forward in the laboratory"
    columns["event_name"] = ("event", np.array([name for name, _, _ in names]), {"long_name": "event"})
    columns["event_side"] = ("event", np.array([side for _, side, _ in names]), {"long_name": "foot"})
    columns["event_time"] = (
        "event",
        np.array([t for *_, t in names]),
        {"units": "s", "long_name": "time of the event"},
    )
    time = ("time", leg.recording.time, {"units": "s", "long_name": "time"})
    return xr.Dataset(
        columns, {"time": time}, _about([walk]) | {"files": leg.recording.file, "trial": leg.recording.name}
    )


def _plain(name: str) -> str:
    """The name without its unit: hip_moment from hip_moment_Nm_kg."""
    return "_".join(name.split("_")[:2])


def _flat_foot(walk: Walk) -> float:
    """The angle in rad of the line of the flat foot, from which the angles of the kept strides are counted."""
    stride = walk.kept[0]
    leg = walk.legs[walk.trial_of(stride)]
    lines = sampled_at(leg.recording.time, leg.angles["foot"][:, None], stride.times)[:, 0]
    return float(np.mean(lines - stride.signals["foot_rad"]))


def _curves(walk: Walk, stride: StrideCurve) -> dict[str, np.ndarray]:
    """Curves of one stride at 101 times, in their units."""
    leg = walk.legs[walk.trial_of(stride)]
    factor = {name: 1.0 if signal.endswith("_m") else 180.0 / math.pi for name, signal in _SIGNALS.items()}
    found = {name: factor[name] * stride.signals[signal] for name, signal in _SIGNALS.items()}
    if stride.load is not None:
        found |= {"ground_x": stride.load[:, 0], "ground_y": stride.load[:, 1]}
    if leg.pelvis is not None:
        tilt = np.degrees(sampled_at(leg.recording.time, leg.pelvis[:, None], stride.times)[:, 0])
        found |= {"pelvis_tilt": tilt, "hip_flexion": found["thigh_angle"] + tilt}
    if walk.dynamics is not None:
        found |= {_plain(k): x for k, x in walk.dynamics.of(stride).items()}
    return found


def _parameters(walk: Walk, stride: StrideCurve) -> dict[str, float]:
    """The spatiotemporal parameters of one stride."""
    own, other, _ = walk.trials[walk.trial_of(stride)]
    leg = own.leg
    start, end = stride.start, stride.start + stride.stride_time
    step = None if other is None else _step(own, other, stride)
    strikes = (
        [(leg, start), (leg, end)]
        if other is None or step is None
        else [(leg, step.start), (leg, step.end), (other.leg, step.strike)]
    )
    first, last, *between = _prints(leg, strikes, stride)
    apart = float(np.linalg.norm(last - first))
    assumed = leg.recording.assumed_path
    length = apart if assumed is None else assumed.speed * stride.stride_time
    off = math.nan if stride.toe_off is None else stride.toe_off * stride.period
    stance = 100.0 * off / stride.stride_time
    found = dict.fromkeys(SPATIOTEMPORAL, math.nan) | {
        "stride_time": stride.stride_time,
        "stride_length": length,
        "speed": length / stride.stride_time if assumed is None else assumed.speed,
        "cadence": 120.0 / stride.stride_time,
        "stance": stance,
        "swing": 100.0 - stance,
    }
    if step is None:
        return found
    found["step_time"] = step.end - step.strike
    both_heels = other is not None and ("heel" in leg.points) == ("heel" in other.leg.points)  # or both ankles
    forward, arm = (last - first) / apart, between[0] - first
    if both_heels and assumed is None:
        found["step_length"] = float((last - between[0]) @ forward)
    if both_heels and np.isfinite(leg.heel[:, 2]).any():
        across = float(forward[0] * arm[1] - forward[1] * arm[0])
        found["step_width"] = -across if walk.side == "right" else across
    both = np.maximum(0.0, [step.other_off - step.start, step.off - step.strike])  # NaN if one is not known
    return found | {"double_support": 100.0 * float(np.sum(both)) / (step.end - step.start)}


class _Step(NamedTuple):
    """Times in s, of events that are comparable between the feet."""

    start: float
    end: float
    """Heel strikes of this foot."""
    strike: float
    """Heel strike of the other foot between them."""
    off: float
    """Toe-off of this foot; NaN if it is not known."""
    other_off: float
    """Toe-off of the other foot before its heel strike; NaN if it is not known."""


def _step(own: Foot, other: Foot, stride: StrideCurve) -> _Step | None:
    """The step within a stride; None unless the other foot has exactly one heel strike in it.

    If only one foot has been on a plate, the times of both are by the motion, because the two sources differ by 40 ms.
    """
    strikes, offs, others = own.events.strikes, own.events.offs, other.events[:2]
    if only_one_by_motion(own.events, other.events):
        (strikes, offs), others = own.leg.motion_events, other.leg.motion_events
    near = {t: strikes[np.abs(strikes - t) < SAME_EVENT] for t in (stride.start, stride.start + stride.stride_time)}
    if not all(x.size for x in near.values()):
        return None
    start, end = (float(min(x, key=lambda at, t=t: abs(at - t))) for t, x in near.items())
    within = [float(t) for t in others[0] if start < t < end]
    if len(within) != 1:
        return None
    strike = within[0]
    off = min((float(t) for t in offs if start < t < end), default=math.nan)
    other_off = max((float(t) for t in others[1] if strike - stride.stride_time < t < strike), default=math.nan)
    return _Step(start, end, strike, off, other_off)


def _prints(own: Leg, strikes: list[tuple[Leg, float]], stride: StrideCurve) -> list[Float[np.ndarray, " 2"]]:
    """Positions of the heels on the floor after heel strikes in s, forward and to the right, in m.

    They are taken while the foot is flat, because a striking heel is fast: 10 ms make 10 mm. If a foot is not seen
    until then, or does not stand still, as in a turn after the last stride, all are taken at their strikes.
    """
    flat = np.linspace(0.0, stride.stride_time, POINTS_PER_STRIDE)[FLAT]
    found = [_heel(own, leg, stride, time + flat) for leg, time in strikes]
    if all(_stands(track, flat, stride.belt) for track in found):
        return [track.mean(axis=0) for track in found]
    return [_heel(own, leg, stride, np.array([time]))[0] for leg, time in strikes]


def _stands(track: Float[np.ndarray, "n 2"], times: Float[np.ndarray, " n"], belt: float) -> bool:
    """Whether a heel is seen and stands still, or moves steadily on a belt (in m/s), whose speed is uncertain."""
    if not np.isfinite(track).all():
        return False
    x, z = track.T
    x = x - np.polyval(np.polyfit(times, x, 1), times) if belt else x
    return bool(max(np.ptp(x), np.ptp(z)) < MAX_HEEL_SHIFT)


def _heel(own: Leg, of: Leg, stride: StrideCurve, times: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 2"]:
    """Positions of a heel at times in s, forward and to the right (0 if unknown), in m, in the axes of the own leg.

    On a treadmill they are relative to the belt as it was at the start of the stride.
    """
    heel = np.where(np.isnan(of.heel[:, 2:]).all(), np.column_stack([of.heel[:, :2], 0.0 * of.heel[:, 0]]), of.heel)
    at = sampled_at(of.recording.time, heel, times)
    x, _, z = own.axes.rotation @ of.axes.rotation.T @ at.T
    return np.stack([stride.scale * x + stride.belt * (times - stride.start), z], axis=1)


def _each(walks: Sequence[Walk | Mapping[str, Walk]]) -> list[Walk]:
    """The walks, also those of mappings by side."""
    each = [walk for one in walks for walk in (one.values() if isinstance(one, Mapping) else [one])]
    if not each:
        raise ValueError("give at least one walk, as from `measure` or `measure_both`")
    for other in (walk for walk in each if not isinstance(walk, Walk)):
        raise TypeError(f"give walks, as from `measure` or `measure_both`, one after the other, got {shown(other)}")
    return each


def _strides(walks: Sequence[Walk]) -> dict[str, Any]:
    """The coordinates of all kept strides."""
    kept = [(walk.side, stride) for walk in walks for stride in walk.kept]
    return {
        "stride": ("stride", np.arange(1, len(kept) + 1), {"long_name": "stride"}),
        "side": ("stride", [side for side, _ in kept]),
        "trial": ("stride", [s.trial for _, s in kept]),
        "start": ("stride", np.array([s.start for _, s in kept]), {"units": "s", "long_name": "heel strike"}),
    }


def _about(walks: Sequence[Walk]) -> dict[str, Any]:
    """The attributes of a table, of types that a netCDF file can hold."""
    return {
        "files": ", ".join(dict.fromkeys(leg.recording.file for walk in walks for leg in walk.legs)),
        **{f"subject_{k}": v for k, v in walks[0].subject.items()},
        "notes": "\n".join(f"{walk.side} leg: {line}" for walk in walks for line in walk.notes),
        "warnings": "\n".join(f"{walk.side} leg: {line}" for walk in walks for line in walk.warnings),
    }
