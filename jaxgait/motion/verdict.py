"""Whether a recorded stride can drive a model: its values, what is wrong, and what is only unusual.

    verdict = judge(read_stride("my_stride.csv"))
    print(describe(verdict))
    verdict.usable, verdict.signals["knee_rad"].residual

What is impossible for walking (a wrong unit, sign or column, half a stride or two) makes a stride unusable; what a
pathological gait may show is a warning.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from jaxgait.motion import MotionFormatError, norms
from jaxgait.motion.embedded import REFERENCE_GAITS
from jaxgait.motion.norms import FIGURES, SIGNAL_NORMS, Norm, inside
from jaxgait.motion.stride import LOAD, SIGNALS, UNITS, Cycle, Series, Stride, close, embedded_stride, fourier, sampled

JUMP = (0.08, 0.20)
"""Closure error as a share of a signal's range: above the first unusual, above the second impossible."""
OUTLIER = (0.08, 0.15)
"""The same for the deviation of a sample from the fit."""
OPPOSITE = (-0.5, -0.8)
"""Correlation with the reference gait: below the first unusual, below the second impossible."""
EXCHANGED = (0.9, 0.5)
"""Thigh and knee are exchanged if the mean of their correlations with the reference's knee and thigh is above the first
number, and higher by the second than that with its thigh and knee.

The two numbers separate exchanged columns from slow and pathological variants of the embedded gaits, and from wrong
signs (tests/motion/test_verdict.py).
"""
REVERSED = (0.8, 0.4)
"""Time is reversed if the mean correlation of all signals with the reference gait is above the first number when they
are played backward, and higher by the second than as they are. Reversed embedded gaits have at least 0.93 and at most
0.21.
"""
DEFAULT_HARMONICS = 8
"""Number of harmonics for a stride that states none."""
MAX_STRIKE_SHIFT = 8
"""Percent of a stride by which the record may start before or after heel strike without a warning."""
ANGLES_PER_STRIDE = 100
_RINGING = 0.1
"""Overshoot of the Fourier series of a force that jumps, as a fraction of its range (Gibbs: 0.09 of the jump)."""
PATHOLOGICAL = "a pathological gait, or a mistake?"
MEASURED_ADVICE = "check the names of markers, or of joint angles and their unit, and the events (heel strikes)"
"""For the stride of a recording, whose file has no columns to correct."""

DISPLAY = {"m": ("cm", 100.0), "rad": ("deg", 180 / math.pi), "N": ("N", 1.0)}
COLUMNS = ("lowest", "highest", "mean", "jump", "residual")


class Finding(NamedTuple):
    """Something wrong or unusual about a stride."""

    what: str
    advice: str
    impossible: bool
    signal: str | None = None
    sample: int | None = None


class SignalReport(NamedTuple):
    """Figures of a signal, in its unit."""

    unit: str
    lowest: float
    highest: float
    mean: float
    jump: float
    """Jump from the end of the stride to its start."""
    residual: float
    """Root mean square deviation from the fit."""
    series: Series


@dataclasses.dataclass(frozen=True)
class Verdict:
    """A stride with its figures and findings.

    Examples:
        >>> import dataclasses
        >>> from jaxgait.motion.stride import embedded_stride
        >>> from jaxgait.motion.verdict import judge
        >>> verdict = judge(dataclasses.replace(embedded_stride("rajagopal_1.26ms"), speed=4.5))  # written in km/h
        >>> print(verdict.usable, round(verdict.stride_length, 2), verdict.warnings())  # m
        False 5.07 []
        >>> print(len(verdict.lines()))  # the speed
        1
        >>> print(verdict.error())
        a walking speed of 4.5 m/s; km/h? divide by 3.6
    """

    stride: Stride
    cycle: Cycle
    harmonics: int
    signals: dict[str, SignalReport]
    findings: tuple[Finding, ...]

    @property
    def usable(self) -> bool:
        """Whether nothing is impossible."""
        return not any(f.impossible for f in self.findings)

    @property
    def stride_length(self) -> float:
        """Walking speed times stride time, in m; of recordings, `spatiotemporal` has the one between footprints."""
        return self.stride.speed * self.cycle.period

    def error(self) -> MotionFormatError:
        """The first impossible finding as an error with file, line and column.

        Raises:
            ValueError: if the stride is usable.
        """
        wrong = [f for f in self.findings if f.impossible]
        if not wrong:
            raise ValueError(f"{self.stride.name} is usable, and has no error: ask for `warnings()`")
        others = f" (and {len(wrong) - 1} more: `jaxgait motion {self.stride.file}` lists them)"
        more = others if wrong[1:] and self.stride.file is not None else ""
        return self.stride.error(wrong[0].what, wrong[0].advice + more, wrong[0].signal, wrong[0].sample)

    def lines(self) -> list[str]:
        """What is impossible and what is unusual, one line each."""
        return [_line(self, f) for f in self.findings]

    def warnings(self) -> list[str]:
        """What is unusual, one line each."""
        return [_line(self, f) for f in self.findings if not f.impossible]


def judge(stride: Stride, harmonics: int | None = None) -> Verdict:
    """Measures a stride and compares it with walking.

    The number of harmonics is by default that of the stride, otherwise 8.

    Raises:
        MotionFormatError: if it is not one period of samples (see `motion.stride.close`).

    Examples:
        >>> from jaxgait.motion.stride import embedded_stride
        >>> from jaxgait.motion.verdict import judge
        >>> verdict = judge(embedded_stride("rajagopal_1.26ms"))
        >>> print(verdict.usable, round(verdict.stride_length, 2))
        True 1.42
    """
    with np.errstate(over="ignore", invalid="ignore"):  # absurd numbers become findings, not NumPy's warnings
        measured = _measured(stride, (stride.harmonics or DEFAULT_HARMONICS) if harmonics is None else harmonics)
        return dataclasses.replace(measured, findings=tuple(_findings(measured)))


def _measured(stride: Stride, harmonics: int) -> Verdict:
    cycle, reports = close(stride, harmonics), {}
    for k, x in cycle.signals.items():
        series = fourier(x, harmonics)
        residual = float(np.std(x - sampled(series, x.size)))
        reports[k] = SignalReport(UNITS[k], float(x.min()), float(x.max()), series.a0, cycle.jumps[k], residual, series)
    return Verdict(stride, cycle, harmonics, reports, ())


def _findings(v: Verdict) -> list[Finding]:
    """All findings; checks that need sound units and signs are made only if nothing is impossible."""
    found = [*_clock(v), *_speed(v), *(_exchanged(v) or _count(v)), *_copies(v), *_ranges(v)]
    found += _closure(v, {f.signal for f in found if f.impossible})
    wrong = {f.signal for f in found if f.impossible}
    found += _outliers(v, wrong | {k for k in v.signals if _open(v, k) > JUMP[0]})  # a jump rings on both of its sides
    if not any(f.impossible for f in found):
        reach = [*_reach(v)]
        found += [*_shape(v), *(reach or _scale(v))]
    if v.stride.measured:
        found = [f if f.advice == PATHOLOGICAL else f._replace(advice=_measured_advice(f)) for f in found]
    return sorted(found, key=lambda f: not f.impossible)


def _measured_advice(f: Finding) -> str:
    about_all = f.signal in (None, "time_s")
    return "check the frame rate, the unit of lengths and the events (heel strikes)" if about_all else MEASURED_ADVICE


def _clock(v: Verdict) -> Iterator[Finding]:
    period, cycle = v.cycle.period, v.cycle
    step = period / next(iter(cycle.signals.values())).size
    if not inside(period, norms.PERIOD.possible):
        yield Finding(f"a stride of {period:.4g} s", norms.guess_time(period, step), True, "time_s")
    elif not inside(period, norms.PERIOD.usual):
        yield Finding(f"a stride of {period:.4g} s is unusual", "is it one stride, in s?", False, "time_s")
    elif not v.stride.measured and abs(period - 1) < 1e-6:
        yield Finding("a stride of exactly 1 s", "is time_s a fraction of the stride?", False, "time_s")
    stated = v.stride.stated_period
    if stated is not None and abs(period - stated) > 0.03 * abs(stated):
        what = f"the times make a stride of {period:.4g} s, a comment states T_s={stated:g}"
        yield Finding(what, "correct the one that is wrong", True, "time_s")
    if cycle.resampled:
        what = f"times are uneven (by up to {cycle.unevenness:.2g} steps)"
        yield Finding(what, "interpolated to even ones", False, "time_s")


def _speed(v: Verdict) -> Iterator[Finding]:
    speed = v.stride.speed
    if not inside(speed, norms.SPEED.possible):
        yield Finding(f"a walking speed of {speed:.4g} m/s", norms.guess_speed(speed), True)
    elif not inside(speed, norms.SPEED.usual):
        yield Finding(f"a walking speed of {speed:.4g} m/s is unusual", "is it in m/s?", False)


def _count(v: Verdict) -> Iterator[Finding]:
    """The thigh swings once per stride, in any gait: its strongest harmonic counts the strides."""
    thigh = v.cycle.signals["thigh_rad"]
    strides = int(np.argmax(np.abs(np.fft.rfft(thigh)[1:]))) + 1
    if strides > 1 and _open(v, "thigh_rad") < JUMP[1]:
        samples = v.stride.time.size
        advice = f"cut out one, from heel strike to the next of the same foot (about {samples // strides} rows)"
        yield Finding(f"the thigh swings {strides} times: {strides} strides", advice, True, "thigh_rad")


def _exchanged(v: Verdict) -> list[Finding]:
    """A finding if the curves of thigh and knee look exchanged, and exchanging them makes no more figures unusual.

    The knee flexes twice in a stride, most in swing, a quarter of a stride before the thigh is farthest forward.
    """
    thigh, knee = pair = ("thigh_rad", "knee_rad")
    signals, reference = v.cycle.signals, _reference()
    alike = lambda names: [_likeness(signals[k], reference[n]) for k, n in zip(pair, names, strict=True)]
    best = lambda names: float(np.max(np.mean(alike(names), axis=0)))
    unusual = lambda names: sum(
        not inside(FIGURES[figure](signals[k]), norm.usual)
        for k, n in zip(pair, names, strict=True)
        for figure, norm in SIGNAL_NORMS[n].items()
    )
    as_named, exchanged = best(pair), best((knee, thigh))
    if not exchanged > max(EXCHANGED[0], as_named + EXCHANGED[1]) or unusual((knee, thigh)) > unusual(pair):
        return []
    what = "moves as a knee does, and knee_rad as a thigh: the columns look exchanged"
    return [Finding(what, "exchange their names", True, thigh)]


def _reference() -> dict[str, np.ndarray]:
    """One period of the first of the embedded gaits."""
    return close(embedded_stride(REFERENCE_GAITS[0])).signals


def _copies(v: Verdict) -> Iterator[Finding]:
    signals = list(v.cycle.signals.items())
    for i, (k, x) in enumerate(signals):
        for other, y in signals[:i]:
            if np.array_equal(x, y) and np.ptp(x) > 0:
                what = f"contains the same numbers as {other}"
                yield Finding(what, "give each signal its own column", True, k)


def _ranges(v: Verdict) -> Iterator[Finding]:
    for k, x in v.cycle.signals.items():
        if np.ptp(x) <= 1e-9 * max(1.0, np.max(np.abs(x))):
            advice = "was it measured? a joint that is kept still on purpose needs check=False"
            yield Finding(f"is {x[0] + 0.0:g} {UNITS[k]} throughout", advice, True, k)
            continue
        rings = _RINGING * float(np.ptp(x)) if k in LOAD and v.stride.harmonics and not v.stride.measured else 0.0
        outside = [(f, n) for f, n in SIGNAL_NORMS[k].items() if not inside(FIGURES[f](x), n.usual, rings)]
        impossible = [(f, norm) for f, norm in outside if not inside(FIGURES[f](x), norm.possible)]
        if impossible:
            distance = v.stride_length * np.arange(x.size) / x.size
            advice = norms.guess(k, UNITS[k], x, distance)
            yield _out_of_range(v, k, *impossible[0], advice or "check unit, sign and column", True)
        for figure, norm in () if impossible else outside:
            yield _out_of_range(v, k, figure, norm, PATHOLOGICAL, False)


def _out_of_range(v: Verdict, signal: str, figure: str, norm: Norm, advice: str, impossible: bool) -> Finding:
    x, unit = v.cycle.signals[signal], UNITS[signal]
    low, high = norm.possible if impossible else norm.usual
    sample = {"lowest": int(np.argmin(x)), "highest": int(np.argmax(x))}.get(figure)
    name = f"{figure} value" if sample is not None else figure
    what = f"{name} {FIGURES[figure](x):.4g} {unit}; walking has {low:.3g} to {high:.3g} {unit}"
    return Finding(what, advice, impossible, signal, None if sample is None else _recorded(v, sample))


def _recorded(v: Verdict, sample: int) -> int:
    if not v.cycle.resampled:
        return sample
    time = v.stride.time - v.stride.time[0]
    return int(np.argmin(np.abs(time - sample / v.cycle.signals["hip_x_m"].size * v.cycle.period)))


def _closure(v: Verdict, wrong: set[str | None]) -> Iterator[Finding]:
    share = {k: _open(v, k) for k in v.signals}
    last = v.stride.time.size - 1
    if "thigh_rad" not in wrong and share["thigh_rad"] > 0.5 and share["hip_y_m"] < 0.35:
        what = "the thigh ends at the other end of its swing: half a stride (or one and a half)"
        yield Finding(what, "record from heel strike to the next of the same foot", True, "thigh_rad", last)
        return
    for k in (k for k in SIGNALS if k not in wrong and share[k] > JUMP[0]):
        jump = v.cycle.jumps[k]
        what = f"the stride does not close: a jump of {jump:.3g} {UNITS[k]}, {share[k]:.0%} of its range"
        advice = "record from heel strike to the next of the same foot"
        if k == "hip_x_m":
            advice = f"with speed_m_s={v.stride.speed + jump / v.cycle.period:.4g} it would"
        yield Finding(what, advice, share[k] > JUMP[1], k, last)


def _open(v: Verdict, signal: str) -> float:
    """Jump between end and start as a share of the signal's range."""
    return abs(v.cycle.jumps[signal]) / float(np.ptp(v.cycle.signals[signal]) or 1.0)


def _outliers(v: Verdict, wrong: set[str | None]) -> Iterator[Finding]:
    for k in (k for k in SIGNALS if k not in wrong):
        x = v.cycle.signals[k]
        off = np.abs(x - sampled(fourier(x, min(max(v.harmonics, 8), x.size // 2 - 1)), x.size))
        worst = int(np.argmax(off))
        if off[worst] > OUTLIER[0] * np.ptp(x):
            what = f"{x[worst]:.4g} {UNITS[k]} is {off[worst]:.3g} {UNITS[k]} off the curve of the others"
            impossible = bool(off[worst] > OUTLIER[1] * np.ptp(x))
            yield Finding(what, "an outlier, or noise: correct or smooth it", impossible, k, _recorded(v, worst))


def _shape(v: Verdict) -> Iterator[Finding]:
    """Direction of time, signs and start, by correlation with the reference gait."""
    reference = _reference()
    late, likeness = _alignment(v.cycle.signals, reference)
    _, backward = _alignment({k: x[::-1] for k, x in v.cycle.signals.items()}, reference)
    as_recorded, reversed_ = (float(np.mean([*x.values()])) for x in (likeness, backward))
    if reversed_ > max(REVERSED[0], as_recorded + REVERSED[1]):
        what = (
            f"the stride runs backward in time (played so, its correlation with the reference gait is {reversed_:.2f})"
        )
        yield Finding(what, "reverse the order of the rows below the times", True, "time_s")
        return
    for k in (k for k in SIGNALS if likeness[k] < OPPOSITE[0]):
        what = f"moves against the usual direction (correlation {likeness[k]:.2f} with the reference gait)"
        advice = "of the opposite sign? multiply by -1"
        if k == "hip_y_m":  # not its sign: a negative height is out of range
            advice = "is it the height of the hip, at the times of the other signals?"
        yield Finding(what, advice, likeness[k] < OPPOSITE[1], k)
    if min(late, ANGLES_PER_STRIDE - late) > MAX_STRIKE_SHIFT:
        what = f"the record starts at about {late} % of the stride"
        yield Finding(what, "let it start at heel strike", False)


def _alignment(signals: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray]) -> tuple[int, dict[str, float]]:
    """The shift, in percent of the stride, that aligns all signals best, and the correlation of each at that shift."""
    every = {k: _likeness(signals[k], reference[k]) for k in SIGNALS}
    late = int(np.argmax(np.sum([*every.values()], axis=0)))
    return late, {k: float(x[late]) for k, x in every.items()}


def _likeness(samples: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """The correlation of two periods at every shift of the first, in percent of the stride."""
    unit = lambda x: np.fft.rfft((x - x.mean()) / (np.linalg.norm(x - x.mean()) or 1.0))
    curve = lambda x: unit(sampled(fourier(x, min(8, (x.size - 1) // 2)), ANGLES_PER_STRIDE))
    return np.fft.irfft(np.conj(curve(samples)) * curve(reference))


def _reach(v: Verdict) -> Iterator[Finding]:
    """Consistency of speed, time and lengths: a stride is about two arcs of the thigh's swing at hip height."""
    height, swing = float(np.mean(v.cycle.signals["hip_y_m"])), float(np.ptp(v.cycle.signals["thigh_rad"]))
    reach = v.stride_length / (height * swing)
    if not inside(reach, norms.REACH.usual):
        impossible = not inside(reach, norms.REACH.possible)
        what = (
            f"speed times stride time is {v.stride_length:.3g} m, where a thigh that swings by "
            f"{math.degrees(swing):.3g} deg at a hip height of {height:.3g} m makes about {2 * height * swing:.3g} m"
        )
        yield Finding(what, "check speed_m_s and time_s", impossible)


def _scale(v: Verdict) -> Iterator[Finding]:
    """Legs that are too short for so long and slow a stride: lengths are in a larger unit than was assumed."""
    height, usual = float(np.mean(v.cycle.signals["hip_y_m"])), SIGNAL_NORMS["hip_y_m"]["mean"].usual
    ratio = norms.walk_ratio(height, v.stride_length, v.cycle.period)
    if ratio > norms.MOST_WALK_RATIO and height < usual[0]:
        whole = norms.INCHES_OF_CM * height
        inches = f"; in inches that were read as cm, it is at {whole:.2f} m" if inside(whole, usual) else ""
        what = (
            f"with the hip at {height:.3g} m nobody walks strides of {v.stride_length:.2f} m in {v.cycle.period:.2f} s"
        )
        yield Finding(what + inches, "state the unit of lengths", True)


def describe(verdict: Verdict) -> str:
    """The verdict as text, with a table of the signals and their usual ranges.

    Examples:
        >>> from jaxgait.motion.stride import embedded_stride
        >>> from jaxgait.motion.verdict import describe, judge
        >>> print(describe(judge(embedded_stride("rajagopal_1.26ms"))).splitlines()[-1])
        usable as a drive: yes; the stride closes, and its values are typical of walking
    """
    v, cycle = verdict, verdict.cycle
    height = float(np.mean(cycle.signals["hip_y_m"]))
    ends = "the last repeats the first" if cycle.closed else "the last comes one step before the first"
    even = f"uneven by {cycle.unevenness:.2g} steps, resampled" if cycle.resampled else "evenly sampled"
    lines = [
        f"{v.stride.name}: T = {cycle.period:.4f} s, speed {v.stride.speed:.3f} m/s, "
        f"{travel(v)}, mean hip height {height:.3f} m",
        f"{v.stride.time.size} samples, {even}; {ends}; fit with {v.harmonics} harmonics",
        "",
        f"{'signal':11} {'unit':4}" + "".join(f"{name:>9}" for name in COLUMNS) + "  typical of walking",
    ]
    lines += [_row(k, report) for k, report in v.signals.items()]
    lines += [""] if v.findings else []
    lines += [f"{'wrong' if f.impossible else 'unusual'}: {_line(v, f)}" for f in v.findings]
    wrong = [f for f in v.findings if f.impossible]
    why = "nothing is impossible" if v.findings else "the stride closes, and its values are typical of walking"
    conclusion = f"no; errors: {len(wrong)}" if wrong else f"yes; {why}"
    return "\n".join([*lines, "", f"usable as a drive: {conclusion}"])


def travel(verdict: Verdict) -> str:
    """The distance per stride as text: of recordings, that of the hip (their stride length is between footprints).

    Examples:
        >>> from jaxgait.motion.stride import embedded_stride
        >>> from jaxgait.motion.verdict import judge, travel
        >>> travel(judge(embedded_stride("rajagopal_1.26ms")))
        'stride length 1.416 m (speed times T)'
    """
    name = "the hip travels" if verdict.stride.measured else "stride length"
    return f"{name} {verdict.stride_length:.3f} m (speed times T)"


def _row(signal: str, report: SignalReport) -> str:
    unit, factor = DISPLAY[report.unit]
    numbers = (report.lowest, report.highest, report.mean, report.jump, report.residual)
    span = lambda norm: f"{factor * norm.usual[0]:.4g} to {factor * norm.usual[1]:.4g}"
    usual = ", ".join(f"{figure} {span(norm)}" for figure, norm in SIGNAL_NORMS[signal].items())
    return f"{signal:11} {unit:4}" + "".join(f"{round(factor * x, 2) + 0.0:9.2f}" for x in numbers) + f"  {usual}"


def _line(v: Verdict, f: Finding) -> str:
    return str(v.stride.error(f.what, f.advice, f.signal, f.sample))
