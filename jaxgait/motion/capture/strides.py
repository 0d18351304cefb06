"""Strides: cut at heel strikes, resampled to one length, outliers dropped with a reason, drift removed."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from jaxtyping import Float

from jaxgait.motion import norms
from jaxgait.motion.capture.axes import OVERGROUND_SPEED
from jaxgait.motion.capture.events import StrideEvents
from jaxgait.motion.capture.ground import Load
from jaxgait.motion.capture.leg import Leg
from jaxgait.motion.capture.smoothing import sampled_at
from jaxgait.motion.norms import inside
from jaxgait.motion.stride import POINTS_PER_STRIDE
from jaxgait.support.checks import first_few

FLAT = slice(18, 33)
"""Samples of a stride in which the foot is flat on the floor."""
MIN_SWING = 8.0
"""Least range of the thigh angle within a stride, in deg."""
SLOWEST_STRIDE = 0.03
"""Speed in m/s below which a stride does not go forward."""
LARGEST_DEVIATION = {
    "thigh_rad": math.radians(8),
    "knee_rad": math.radians(10),
    "hip_y_m": 0.03,
    "foot_rad": math.radians(10),
    "ankle_rad": math.radians(10),
}
"""Root mean square deviation from the median stride above which a stride is dropped."""
LARGEST_JUMP = {
    "thigh_rad": math.radians(6),
    "knee_rad": math.radians(7),
    "ankle_rad": math.radians(7),
    "hip_y_m": 0.02,
}
"""Jump from a stride's end to its start above which it hardly repeats; seven measured strides have less than half."""
LARGEST_JUMP_FACTOR = 1.5
"""Multiple of `LARGEST_JUMP` above which a stride is dropped if others repeat better."""
MAX_END_SHIFT = 0.03
"""Time in s by which the end of a single stride may move to where the angles repeat best."""
MAX_PERIOD_DEVIATION = 0.2
"""Relative deviation of a stride time from the median one above which a stride is dropped."""


@dataclasses.dataclass(frozen=True)
class StrideCurve:
    """One stride: its signals at 101 even times, and the reason if it was dropped.

    If a walking speed is given, `hip_speed` and `belt` are scaled to it.
    """

    trial: str
    start: float
    """Time of its heel strike in s."""
    period: float
    """Time in s after which it repeats: from its heel strike to the next one, unless its end was moved."""
    hip_speed: float
    """Mean speed of the hip in the laboratory, in m/s."""
    belt: float
    """Speed of the belt, in m/s; 0 overground."""
    signals: dict[str, Float[np.ndarray, " samples"]]
    """hip_x_m (less the progression), hip_y_m, thigh_rad, shank_rad, knee_rad, foot_rad, ankle_rad."""
    points: dict[str, Float[np.ndarray, "samples 2"]]
    """Hip, knee, ankle, heel and toe in m, as far as known; x counts from the hip's mean progression."""
    load: Float[np.ndarray, "samples 2"] | None
    """Ground reaction in N."""
    toe_off: float | None
    """As a share of the period; None if not known."""
    reason: str = ""
    moved: float = 0.0
    """Time in s by which its end was moved from the next heel strike to where its angles repeat best."""
    scale: float = 1.0
    """Factor by which `hip_speed` and `belt` were scaled to a given walking speed."""

    @property
    def speed(self) -> float:
        """Walking speed in m/s."""
        return self.hip_speed + self.belt

    @property
    def stride_time(self) -> float:
        """Time in s from heel strike to heel strike."""
        return self.period - self.moved

    @property
    def times(self) -> Float[np.ndarray, " samples"]:
        """Times in s of its samples in the trial."""
        return np.linspace(self.start, self.start + self.period, POINTS_PER_STRIDE)


def cut(
    leg: Leg, events: StrideEvents, load: Load | None, belt: float, ends: Float[np.ndarray, " strides"] | None = None
) -> list[StrideCurve]:
    """The strides from each heel strike of a leg to the next, or to `ends` in s; `belt` is the belt's speed in m/s."""
    ends = events.strikes[1:] if ends is None else ends
    pairs = zip(events.strikes.tolist(), ends.tolist(), strict=False)
    return [_forward(_stride(leg, a, b, events, load, belt)) for a, b in pairs]


def foot_speed(leg: Leg, events: StrideEvents) -> float:
    """Backward speed in m/s of the flat foot in the laboratory: the median over its strides, from heel and toe.

    It is 0 if the hip crosses the laboratory, as overground, and NaN without strides.

    Examples:
        >>> from jaxgait.motion.capture.events import events_of
        >>> from jaxgait.motion.capture.leg_source import leg_of
        >>> from jaxgait.motion.capture.strides import foot_speed
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> leg = leg_of(synthetic_recording(reference_gait()), "right")
        >>> foot_speed(leg, events_of(leg, None))  # m/s, overground
        0.0
    """
    parts = [leg.points[k] for k in ("heel", "toe") if k in leg.points] or [leg.points["ankle"]]
    drifts, speeds = [], []
    for start, end in zip(events.strikes[:-1], events.strikes[1:], strict=True):
        time = np.linspace(start, end, POINTS_PER_STRIDE)
        drifts.append(abs(_progression(_at(leg, leg.hip, time)[:, 0], time)[1]))
        speeds.append(-np.mean([np.polyfit(time[FLAT], _at(leg, x, time[FLAT])[:, 0], 1)[0] for x in parts]))
    drifts, speeds = ([float(x) for x in found if np.isfinite(x)] for found in (drifts, speeds))
    if not speeds:
        return math.nan
    return 0.0 if drifts and float(np.median(drifts)) > OVERGROUND_SPEED else float(np.median(speeds))


def _forward(stride: StrideCurve) -> StrideCurve:
    """The stride, dropped if it does not go forward, as on the way back in a trial."""
    if stride.reason or stride.speed > SLOWEST_STRIDE:
        return stride
    return dataclasses.replace(stride, reason=f"it does not go forward ({stride.speed:.2f} m/s)")


def _stride(leg: Leg, start: float, end: float, events: StrideEvents, load: Load | None, belt: float) -> StrideCurve:
    time, period = np.linspace(start, end, POINTS_PER_STRIDE), end - start
    points = {k: _at(leg, x, time) for k, x in {"hip": leg.hip, **leg.points}.items()}
    progression, speed = _progression(points["hip"][:, 0], time)
    points = {k: x - np.stack([progression, np.zeros_like(progression)], axis=1) for k, x in points.items()}
    signals = _signals(leg, points["hip"], time)
    loaded = load is not None and any(abs(c.start - start) < 0.05 and c.end < end for c in load.stances)
    return StrideCurve(
        trial=leg.recording.name,
        start=float(start),
        period=float(period),
        hip_speed=speed,
        belt=belt,
        signals=signals,
        points=points,
        load=_at(leg, load.force, time) if loaded and load is not None else None,
        toe_off=next((float((t - start) / period) for t in events.offs if start < t < end), None),
        reason=_broken(signals, period, "markers" if leg.ankle_angle is None else "joint angles"),
    )


def _progression(hip_x: np.ndarray, time: np.ndarray) -> tuple[np.ndarray, float]:
    """The hip's mean progression in m at times in s, and its speed in m/s."""
    speed = float(hip_x[-1] - hip_x[0]) / float(time[-1] - time[0])
    mean = float(np.mean(hip_x - speed * (time - time[0])))
    return mean + speed * (time - time[0]), speed


def _signals(leg: Leg, hip: np.ndarray, time: np.ndarray) -> dict[str, np.ndarray]:
    """The signals of a stride; `hip` is in m, from its mean progression."""
    signals = {f"{k}_rad": without_turns(_at(leg, x[:, None], time)[:, 0]) for k, x in leg.angles.items()}
    signals |= {"hip_x_m": hip[:, 0], "hip_y_m": hip[:, 1]}
    thigh, shank, foot = (signals[k] for k in ("thigh_rad", "shank_rad", "foot_rad"))
    return signals | {"knee_rad": thigh - shank, "ankle_rad": foot - shank}


def without_turns(angle: np.ndarray) -> np.ndarray:
    """An angle in rad, shape (samples,), less the whole turns that put its mean outside of -90 to 270 degrees.

    A marker that flies off may carry a segment around once; later strides are sound.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.strides import without_turns
        >>> print(np.degrees(without_turns(np.radians([350.0, 380.0]))).round(6))  # deg
        [-10.  20.]
    """
    mean = float(np.mean(angle))
    return angle - 2 * np.pi * round((mean - np.pi / 2) / (2 * np.pi)) if math.isfinite(mean) else angle


def _at(leg: Leg, track: np.ndarray, time: np.ndarray) -> np.ndarray:
    return sampled_at(leg.recording.time, track, time)


def _broken(signals: dict[str, np.ndarray], period: float, recorded: str) -> str:
    """Why a stride of `recorded` (markers or joint angles) is unusable on its own; empty if it is usable."""
    # the mean progression is taken from hip_x_m, so that one gap makes all of it NaN; hip_y_m has the same gaps
    missing = max(float(np.mean(~np.isfinite(x))) for name, x in signals.items() if name != "hip_x_m")
    if missing:
        return f"{recorded} are missing for {missing:.0%} of it"
    if not inside(period, norms.PERIOD.possible):
        return f"it takes {period:.2f} s"
    swing = math.degrees(float(np.ptp(signals["thigh_rad"])))
    return f"the thigh swings by {swing:.1f} deg only" if swing < MIN_SWING else ""


def best_end(leg: Leg, stride: StrideCurve) -> float:
    """The time in s, within `MAX_END_SHIFT` of a stride's end, at which thigh and shank are nearest to their start.

    Each heel strike has an error of a frame or two, which a single stride shows as a jump.
    """
    times = stride.start + stride.period + np.arange(-MAX_END_SHIFT, MAX_END_SHIFT + 1e-9, 1e-3)
    angles = np.stack([leg.thigh, leg.shank], axis=1)
    start = _at(leg, angles, np.array([stride.start]))
    apart = np.sum((_at(leg, angles, times) - start) ** 2, axis=1)
    return float(times[np.nanargmin(apart)])


def flat_line(strides: Sequence[StrideCurve]) -> float:
    """Angle in rad of the line of the flat foot, toe up, in the median over the strides that were not dropped.

    Examples:
        >>> from jaxgait.motion.capture.strides import flat_line
        >>> flat_line([])
        nan
    """
    lines = [float(np.mean(s.signals["foot_rad"][FLAT])) for s in strides if not s.reason]
    return float(np.median(lines)) if lines else math.nan


def levelled(strides: Sequence[StrideCurve], flat: float) -> list[StrideCurve]:
    """The strides with angles of foot and ankle counted from the flat foot, whose line is at an angle in rad.

    The line through a foot's markers is inclined while the foot is flat; angles that were recorded need no levelling.
    """
    level = lambda s: {k: s.signals[k] - flat for k in ("foot_rad", "ankle_rad")}
    return [dataclasses.replace(s, signals=s.signals | level(s)) for s in strides]


def by_trial(strides: Sequence[StrideCurve]) -> dict[str, list[StrideCurve]]:
    """The strides by the name of their trial."""
    return {name: [s for s in strides if s.trial == name] for name in dict.fromkeys(s.trial for s in strides)}


def judged_by_trial(strides: Sequence[StrideCurve]) -> list[StrideCurve]:
    """The strides, with a reason for those that differ from the others of their trial."""
    return [s for own in by_trial(strides).values() for s in _like_the_others(own)]


def judged(strides: list[StrideCurve]) -> list[StrideCurve]:
    """The strides, with a reason for those that differ from the others, and for those that do not repeat."""
    strides = _like_the_others(strides)
    wide = {i: _wide(jumps(s), LARGEST_JUMP_FACTOR) for i, s in enumerate(strides) if not s.reason}
    if all(wide.values()):
        return strides
    reasons = {i: f"it does not repeat: {jump} from its end to its start" for i, jump in wide.items() if jump}
    return [dataclasses.replace(s, reason=reasons[i]) if i in reasons else s for i, s in enumerate(strides)]


def _like_the_others(strides: list[StrideCurve]) -> list[StrideCurve]:
    """The strides, with a reason for those that differ from the others in time or shape; at least three are needed."""
    good = [s for s in strides if not s.reason]
    if len(good) < 3:
        return strides
    period = float(np.median([s.period for s in good]))
    middle = {k: np.median([s.signals[k] for s in good], axis=0) for k in LARGEST_DEVIATION}
    return [s if s.reason else dataclasses.replace(s, reason=_unlike(s, period, middle)) for s in strides]


def unlike(strides: list[StrideCurve]) -> str:
    """How two strides differ, if there are only two; empty if they are alike.

    It is not known which of them is wrong. Three or more are `judged`.
    """
    if len(strides) != 2:
        return ""
    one, other = strides
    return _unlike(one, other.period, other.signals, "the other stride")


def _unlike(stride: StrideCurve, period: float, middle: dict[str, np.ndarray], than: str = "the median stride") -> str:
    if abs(stride.period - period) > MAX_PERIOD_DEVIATION * period:
        return f"it takes {stride.period:.2f} s, {than} {period:.2f} s"
    for k, limit in LARGEST_DEVIATION.items():
        off = float(np.sqrt(np.mean((stride.signals[k] - middle[k]) ** 2)))
        if off > limit:
            size = f"{1e3 * off:.0f} mm" if k.endswith("_m") else f"{math.degrees(off):.0f} deg"
            return f"{k.rsplit('_', 1)[0]} is {size} (rms) off {than}"
    return ""


def jumps(stride: StrideCurve) -> dict[str, float]:
    """Jumps from the end of each of a stride's curves to its start, in its unit: what `closed` removes."""
    return {k: float(x[-1] - x[0]) for k, x in stride.signals.items()}


def unrepeated(strides: Iterable[tuple[str, float, Mapping[str, float]]]) -> list[str]:
    """A warning about strides that do not repeat, if there are any.

    Args:
        strides: trial, start in s, and `jumps` of each.

    Examples:
        >>> from jaxgait.motion.capture.strides import unrepeated
        >>> print(unrepeated([("walk", 1.3, {"knee_rad": 0.157, "hip_y_m": 0.002})])[0][:84])
        strides that do not repeat are closed by a linear drift: walk at 1.30 s (knee +9.0 d
    """
    found = [f"{trial} at {start:.2f} s ({wide})" for trial, start, g in strides if (wide := _wide(g))]
    what = f"strides that do not repeat are closed by a linear drift: {first_few(found, 4)}"
    advice = "do not use them as single strides; did a marker move, or the person turn, start or stop?"
    return [f"{what}: {advice}"] if found else []


def _wide(jumps: Mapping[str, float], factor: float = 1.0) -> str:
    """The jumps of one stride that are larger than `factor * LARGEST_JUMP`; empty if there are none."""
    wide = {k: jumps[k] for k, limit in LARGEST_JUMP.items() if abs(jumps.get(k, 0.0)) > factor * limit}
    size = lambda k, x: f"{1e3 * x:+.0f} mm" if k.endswith("_m") else f"{math.degrees(x):+.1f} deg"
    return ", ".join(
        f"{'hip height' if k == 'hip_y_m' else k.removesuffix('_rad')} {size(k, x)}" for k, x in wide.items()
    )


def closed(curve: Float[np.ndarray, " samples"]) -> tuple[Float[np.ndarray, " samples"], float]:
    """The curve without the straight line that keeps it from closing, and the jump that was removed, in its unit.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.strides import closed
        >>> curve, jump = closed(np.array([0.0, 0.5, 1.0, 0.2]))
        >>> print(curve[0].round(6), curve[-1].round(6), round(jump, 6))
        0.1 0.1 0.2
    """
    jump = float(curve[-1] - curve[0])
    return curve - jump * np.linspace(-0.5, 0.5, curve.size), jump
