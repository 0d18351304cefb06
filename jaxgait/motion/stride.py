"""One recorded stride: its clock, whether it closes, and its signals at even times over one period.

    stride = read_stride("my_stride.csv")       # a file; `Stride(...)` for arrays
    cycle = close(stride)                       # one period, evenly sampled, the repeated last sample dropped

Errors are raised only if the record is not a period; `motion.verdict` decides whether it is walking.
"""

from __future__ import annotations

import dataclasses
import math
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jaxgait import plausible
from jaxgait.motion import MotionFormatError, MotionWarning
from jaxgait.motion.embedded import EMBEDDED_SIDE, gait_record
from jaxgait.motion.gaps import without_gaps
from jaxgait.motion.norms import odd_mass
from jaxgait.motion.table import Header, Table, named_columns, read_chosen_columns
from jaxgait.support.checks import as_array, count_of, real, shown, warn_user

SIGNALS = {"hip_x_m": "m", "hip_y_m": "m", "thigh_rad": "rad", "knee_rad": "rad", "ankle_rad": "rad"}
"""The signals that a drive needs, with their units (see `motion.drive.GaitDrive`)."""

LOAD = {"ground_x_N": "N", "ground_y_N": "N"}
"""The optional signals: the measured ground reaction on this foot, forward and upward."""

UNITS = SIGNALS | LOAD

POINTS_PER_STRIDE = 101
"""Points of a measured stride, both heel strikes included."""

EVEN_WITHIN = 0.1
"""Largest deviation from even sample times, in steps, that counts as rounding (to 1 ms at 100 Hz: 0.05)."""

_PATH = "no path of the hip? name angles hip_flexion_r, knee_angle_r, ankle_angle_r, with --speed"
_ADVICE = {
    "time_s": "time_s is percent / 100 * stride time",
    "hip_x_m": _PATH,
    "hip_y_m": _PATH,
    "thigh_rad": "thigh_rad is hip flexion less pelvis tilt",
}

SHANK = ("shank", "shin", "tibia", "lower_leg", "lowerleg")
"""Beginnings of names of the shank's angle from the vertical, in lower case."""

PERSON = {"thigh_m": (0.05, 1.0), "shank_m": (0.05, 1.0), "mass_kg": plausible.PERSON}
"""What a table may state about the person, and the range of each value."""

_NUMBER = re.compile(r"(?P<number>[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?)\s*(?P<unit>.*)")


class Person(NamedTuple):
    """The person who walked: the dimensions to which a prosthesis is fitted."""

    thigh: float
    """Length in m from hip to knee."""
    shank: float
    """Length in m from knee to ankle."""
    mass: float | None = None
    """In kg."""


def record_person(record: Mapping[str, Any]) -> Person | None:
    """The person of a record: segment lengths and mass; None without lengths.

    Records of walks contain the mass in `source`, those of embedded gaits next to it.

    Examples:
        >>> from jaxgait.motion.embedded import gait_record
        >>> from jaxgait.motion.stride import record_person
        >>> record_person({"segments": {"thigh_m": 0.42, "shank_m": 0.43}, "source": {"mass_kg": 72.0}})
        Person(thigh=0.42, shank=0.43, mass=72.0)
        >>> record_person(gait_record("hbm07_0.98ms"))
        Person(thigh=0.40449, shank=0.441585, mass=67.2)
    """
    lengths, source = record.get("segments") or {}, record.get("source")
    if not {"thigh_m", "shank_m"} <= set(lengths):
        return None
    stated = source.get("mass_kg") if isinstance(source, dict) else None
    mass = record.get("mass_kg") if stated is None else stated
    return Person(float(lengths["thigh_m"]), float(lengths["shank_m"]), None if mass is None else float(mass))


@dataclasses.dataclass(frozen=True)
class Stride:
    """Recorded samples of one stride.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.stride import Stride
        >>> knee = {"knee_rad": np.array([0.1, 0.3, 9.0, 0.1])}
        >>> stride = Stride("mine", np.linspace(0.0, 1.1, 4), knee, speed=1.2, file="a.csv")
        >>> print(stride.error("9 rad is off the curve", "correct it", "knee_rad"))
        a.csv, column knee_rad: 9 rad is off the curve; correct it
    """

    name: str
    time: Float[np.ndarray, " samples"]
    """Time in s; if `period` is given, only the proportions matter."""
    signals: dict[str, Float[np.ndarray, " samples"]]
    """The names of `SIGNALS` and, if measured, of `LOAD`."""
    speed: float
    """Walking speed in m/s."""
    period: float | None = None
    """Stride time in s, unless the sample times give it."""
    stated_period: float | None = None
    """Stride time in s that the file states in addition to the times."""
    file: str | None = None
    lines: Int[np.ndarray, " samples"] | None = None
    """Line of each sample in the file."""
    person: Person | None = None
    """Who walked, if known."""
    harmonics: int | None = None
    """Number of harmonics that the samples support, if known."""
    measured: bool = False
    """Whether it is the mean of a recording, whose file has no columns or lines of these samples."""
    assumed_path: str = ""
    """The gait from which the hip's path is taken, if none was recorded."""
    warnings: tuple[str, ...] = ()
    """Those of the measured walk."""
    side: str = ""
    """The leg, right or left; empty if it is not known."""

    def __post_init__(self) -> None:
        """Converts lists to arrays, and masked values (`numpy.ma`) to gaps."""
        object.__setattr__(self, "time", as_array(self.time))
        object.__setattr__(self, "signals", {name: as_array(x) for name, x in self.signals.items()})

    def error(
        self, what: str, advice: str = "", column: str | None = None, sample: int | None = None
    ) -> MotionFormatError:
        """An error about this stride, with the line of a sample if known."""
        if self.measured:
            where = "" if column in (None, "time_s") else f"{column} of the mean stride: "
            return MotionFormatError(where + what, advice, self.file)
        line = None if sample is None or self.lines is None else int(self.lines[sample])
        return MotionFormatError(what, advice, self.file, line, column)


class Cycle(NamedTuple):
    """One period of all signals at even times, without the sample that repeats the first."""

    period: float
    """Stride time in s."""
    signals: dict[str, Float[np.ndarray, " samples"]]
    jumps: dict[str, float]
    """Jump from the end of the record to its start, in the signal's unit."""
    closed: bool
    """Whether the last sample repeats the first."""
    unevenness: float
    """Largest deviation of a sample from even times, in steps."""
    resampled: bool
    """Whether the signals were interpolated to even times."""


class Series(NamedTuple):
    """Coefficients of ``a0 + sum_h a_h cos(2 pi h t / T) + b_h sin(2 pi h t / T)``."""

    a0: float
    a: Float[np.ndarray, " harmonics"]
    b: Float[np.ndarray, " harmonics"]


def fourier(samples: Float[np.ndarray, " samples"], harmonics: int) -> Series:
    """The least-squares Fourier series of one period of evenly spaced samples, in their unit.

    Raises:
        ValueError: for half as many harmonics as samples or more, which the samples do not determine.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.stride import fourier
        >>> series = fourier(2.0 + np.sin(2 * np.pi * np.arange(16) / 16), 2)
        >>> print(round(series.a0, 6), series.b.round(6))
        2.0 [1. 0.]
    """
    if not 0 <= 2 * harmonics < samples.size:
        most = count_of((samples.size - 1) // 2, "harmonic", "harmonics")
        raise ValueError(f"{count_of(samples.size, 'sample', 'samples')} determine at most {most}, got {harmonics}")
    c = np.fft.rfft(samples) / samples.size
    return Series(float(c[0].real), 2 * c[1 : harmonics + 1].real, -2 * c[1 : harmonics + 1].imag)


def sampled(series: Series, count: int) -> Float[np.ndarray, " count"]:
    """The series at `count` even times of one period, in its own unit.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.stride import Series, sampled
        >>> knee = Series(30.0, np.array([-30.0]), np.array([0.0]))  # deg: straight at heel strike, 60 in mid-stride
        >>> print(sampled(knee, 4).round(6) + 0.0)
        [ 0. 30. 60. 30.]
    """
    phase = 2 * math.pi * np.outer(np.arange(count) / count, np.arange(1, series.a.size + 1))
    return series.a0 + np.cos(phase) @ series.a + np.sin(phase) @ series.b


def read_stride(path: str | pathlib.Path, *, speed: float | None = None) -> Stride:
    """Reads one stride from a text file: columns `time_s`, `SIGNALS` and, if measured, `LOAD`.

    Angles may be in degrees instead, as `thigh_deg`, `knee_deg` and `ankle_deg`. Short gaps are filled (see
    `motion.gaps`). The comments `thigh_m=...`, `shank_m=...` and `mass_kg=...` describe the person.

    Args:
        path: the file (see `motion.table`).
        speed: walking speed in m/s; by default from a comment `speed_m_s=...` in the file.

    Raises:
        FileNotFoundError: if there is no such file.
        MotionFormatError: if it cannot be read, or has long gaps.

    Warns:
        MotionWarning: for gaps that are filled, and a mass that does not suit the lengths of thigh and shank, or comes
            without them.

    Examples:
        >>> import pandas as pd
        >>> from jaxgait.motion.stride import embedded_stride, read_stride
        >>> gait = embedded_stride("rajagopal_1.26ms")
        >>> pd.DataFrame({"time_s": gait.time, **gait.signals}).to_csv("stride.csv", index=False)
        >>> stride = read_stride("stride.csv", speed=1.26)
        >>> print(stride.name, stride.time.size, stride.lines[0])  # samples, and the line of the first
        stride 101 2
    """
    table = read_chosen_columns(path, _columns, keep_gaps=True)
    signals = _in_rad(table.columns)
    time = signals.pop("time_s")
    stated = _remark(table, "T_s")
    speed = _remark(table, "speed_m_s") if speed is None else speed
    if speed is None:
        advice = "write the line '# speed_m_s=1.2' into the file (or give speed=, --speed of `jaxgait motion`)"
        raise MotionFormatError("no walking speed", advice, table.file)
    name = pathlib.Path(path).stem
    person = _person({k: _remark(table, k) for k in PERSON}, table.file)
    origin = {"file": table.file, "lines": table.lines}
    return without_gaps(Stride(name, time, signals, speed, stated_period=stated, person=person, **origin))


def _person(stated: Mapping[str, Any], file: str) -> Person | None:
    """The person of a table, from what it states under the names of `PERSON`; None unless it has both lengths."""
    found: dict[str, float] = {}
    for name, x in stated.items():
        number, (low, high) = real(x), PERSON[name]
        if x is not None and (number is None or not low <= number <= high):
            what = f"{name} is {shown(x)}, not a number between {low:g} and {high:g}"
            raise MotionFormatError(what, f"give it in {name.rpartition('_')[2]}", file)
        found |= {} if number is None else {name: number}
    if {"thigh_m", "shank_m"} <= set(found):
        person = Person(found["thigh_m"], found["shank_m"], found.get("mass_kg"))
        odd = "" if person.mass is None else odd_mass(person.mass, person.thigh, person.shank)
        if odd:
            warn_user(f"{file}: {odd}", MotionWarning)
        return person
    if found:
        what = f"{' and '.join(found)} without {' and '.join(k for k in ('thigh_m', 'shank_m') if k not in found)}"
        warn_user(f"{file}: {what}: no leg is fitted to this person; state both lengths", MotionWarning)
    return None


def _columns(header: Header) -> dict[str, int]:
    """Positions of the columns of a stride; of each angle, the column in rad or else the one in deg."""
    if {"hip_height", "toe_off"} <= {name.partition(" (")[0] for name in header.names}:
        what = "holds the strides of a measured walk over percent of the gait cycle"
        raise MotionFormatError(what, "give the recording, the walk as .json, or in Python the Walk", header.file)
    degrees = {k: k.removesuffix("_rad") + "_deg" for k, unit in SIGNALS.items() if unit == "rad"}
    wanted = (degrees[k] if k not in header.names and degrees.get(k) in header.names else k for k in SIGNALS)
    shank, advice = _shank_hints(header.names)
    return named_columns(header, ("time_s", *wanted), tuple(LOAD), _ADVICE | advice, shank)


def _shank_hints(names: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """If there is a shank's angle, the columns that are not misspelt others, and advice by missing column."""
    shank = [name for name in names if name.lower().startswith(SHANK)]
    if not shank:
        return [], {}
    if {"hip_x_m", "hip_y_m"} <= set(names):
        return shank, {"knee_rad": "knee_rad is the angle of the thigh less that of the shank, from the vertical"}
    advice = "the angle of a shank alone moves no leg: record thigh and ankle too; that of the knee is thigh less shank"
    if any(name.lower().startswith("thigh") for name in names):
        advice = "name the angles hip_flexion_r (thigh), knee_angle_r (thigh less shank), ankle_angle_r; give --speed"
    return [*names], dict.fromkeys(("time_s", *SIGNALS, "thigh_deg", "ankle_deg"), advice)


def _in_rad(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Columns with angles in rad, under the names of `SIGNALS`."""
    converted = {k: np.radians(x) if k.endswith("_deg") else x for k, x in columns.items()}
    return {k.removesuffix("_deg") + "_rad" if k.endswith("_deg") else k: x for k, x in converted.items()}


def table_stride(table: Any, *, speed: float | None = None, name: str = "table") -> Stride:
    """One stride from the columns of a file (see `read_stride`) in memory.

    Args:
        table: a DataFrame, a Dataset or a dict of arrays, each of shape (samples,): `time_s`, `SIGNALS` and, if
            measured, `LOAD`. Other columns are ignored. Angles in degrees and gaps are treated as in a file.
        speed: walking speed in m/s; by default `attrs["speed_m_s"]`, or the entry `speed_m_s` of a dict. The person is
            described there, too, by `thigh_m`, `shank_m` and `mass_kg`.
        name: of the stride.

    Raises:
        MotionFormatError: for a column that is missing or has no numbers, columns of different lengths, long gaps,
            for a segment or a mass out of range, and without a speed.

    Warns:
        MotionWarning: for gaps that are filled, for a mass or one length without the other lengths, and for a mass that
            does not suit them.

    Examples:
        >>> import pandas as pd
        >>> from jaxgait.motion.stride import embedded_stride, table_stride
        >>> gait = embedded_stride("rajagopal_1.26ms")
        >>> table = pd.DataFrame({"time_s": gait.time, **gait.signals})
        >>> table.attrs["speed_m_s"] = 1.26
        >>> print(table_stride(table).speed, table_stride(table).time.size)  # m/s
        1.26 101
    """
    keys = [*(getattr(table, "variables", table) if isinstance(table, Mapping) else table.columns)]
    there = _columns(Header(name, 0, [*map(str, keys)]))
    columns = {column: as_array(table[keys[at]]) for column, at in there.items()}
    for column, x in columns.items():
        if x.ndim != 1 or x.dtype.kind not in "fiu" or x.size != columns["time_s"].size:
            what = f"{x.dtype} of shape {x.shape}, where {columns['time_s'].size} numbers are needed"
            raise MotionFormatError(what, "give all columns equally many numbers", name, column=column)
    facts = {**(table if isinstance(table, dict) else {}), **getattr(table, "attrs", {})}
    speed = facts.get("speed_m_s") if speed is None else speed
    if speed is not None and real(speed) is None:
        raise MotionFormatError(f"speed_m_s is {shown(speed)}, not a number", "give it in m/s", name)
    if speed is None:
        advice = "set attrs['speed_m_s'] of the table, in a dict the entry 'speed_m_s', to that of the walk"
        raise MotionFormatError("no walking speed", advice, name)
    signals = _in_rad({column: x.astype(float) for column, x in columns.items()})
    person = _person({k: facts.get(k) for k in PERSON}, name)
    return without_gaps(Stride(name, signals.pop("time_s"), signals, float(speed), person=person))


def _remark(table: Table, name: str) -> float | None:
    values = table.remarks.get(name)
    if values is None:
        return None
    text = " and ".join(values)
    if len(values) > 1:
        what = f"the comments state {name}={text[:40]}, which contradict each other"
        raise MotionFormatError(what, "keep the right one", table.file)
    found, unit = _NUMBER.fullmatch(text), name.split("_", 1)[1].replace("_", "/")
    if found is None or found["unit"] not in ("", unit):
        raise MotionFormatError(f"{name}={text[:40]} is not a number in {unit}", f"write '# {name}=1.2'", table.file)
    return float(found["number"].replace(",", "."))


def embedded_stride(name: str) -> Stride:
    """The mean stride of an embedded gait, as if read from a file.

    Raises:
        ValueError: for an unknown name.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.stride import embedded_stride
        >>> stride = embedded_stride("rajagopal_1.26ms")
        >>> print(np.degrees(stride.signals["knee_rad"].max()).round())  # deg, the peak flexion of swing
        64.0
    """
    record = gait_record(name)
    signals = {k: np.array(v) for k, v in record["mean_stride"].items() if k in UNITS}
    time = np.linspace(0.0, record["period_T_s"], signals["knee_rad"].size)
    return Stride(name, time, signals, record["speed_m_s"], side=EMBEDDED_SIDE)


def close(stride: Stride, harmonics: int = 8) -> Cycle:
    """One period of the stride at even times.

    Whether the last sample repeats the first is decided for all signals together: the assumption with the smaller
    median jump at the end holds. Uneven times are interpolated by periodic cubic splines.

    Raises:
        MotionFormatError: for signals that are missing, no numbers, of unequal length, not finite or too short, times
            that do not increase, gaps that hide a harmonic, and an impossible number of harmonics.

    Examples:
        >>> from jaxgait.motion.stride import close, embedded_stride
        >>> stride = embedded_stride("rajagopal_1.26ms")
        >>> cycle = close(stride)
        >>> print(stride.time.size, cycle.closed, cycle.signals["knee_rad"].size)
        101 True 100
    """
    _check_numbers(stride, harmonics)
    _check_signals(stride, harmonics)
    time, n = stride.time - stride.time[0], stride.time.size
    _check_clock(stride, harmonics)
    repeat = {k: x[-1] - x[0] for k, x in stride.signals.items()}
    follow = {k: 1.5 * (x[-1] - x[0]) - 0.5 * (x[-2] - x[1]) for k, x in stride.signals.items()}
    closed = _typical(repeat, stride.signals) <= _typical(follow, stride.signals)
    span = float(time[-1]) * (1.0 if closed else n / (n - 1))
    unevenness = float(np.max(np.abs(time - np.linspace(0.0, time[-1], n))) / (time[-1] / (n - 1)))
    own = slice(n - 1 if closed else n)
    resampled = unevenness > EVEN_WITHIN
    even = {k: _even(time[own], span, x[own]) if resampled else x[own] for k, x in stride.signals.items()}
    period = span if stride.period is None else stride.period
    jumps = {k: float(jump) for k, jump in (repeat if closed else follow).items()}
    return Cycle(period, even, jumps, bool(closed), unevenness, resampled)


def _typical(jumps: dict[str, float], signals: dict[str, np.ndarray]) -> float:
    return float(np.median([abs(jump) / (np.ptp(signals[k]) or 1.0) for k, jump in jumps.items()]))


def _even(time: np.ndarray, period: float, samples: np.ndarray) -> np.ndarray:
    from scipy.interpolate import CubicSpline  # slow to import, and the embedded gaits need none

    spline = CubicSpline(np.append(time, period), np.append(samples, samples[0]), bc_type="periodic")
    return spline(np.arange(time.size) / time.size * period)


def _check_signals(stride: Stride, harmonics: int) -> None:
    wanted = [*SIGNALS, *(LOAD if any(k in stride.signals for k in LOAD) else ())]
    columns = {"time_s": stride.time} | stride.signals
    for k in ("time_s", *wanted):
        if k not in columns:
            has = ", ".join(stride.signals) or "none"
            raise stride.error(f"the drive lacks the signal {k!r} ({UNITS[k]}); it has {has}")
        x = columns[k]
        if x.ndim != 1 or x.size != stride.time.size:
            what = f"samples of shape {x.shape}, where {stride.time.size} are needed"
            raise stride.error(what, "give all signals the same times", k)
        if x.dtype.kind not in "fiu":
            raise stride.error(f"{x.dtype} instead of numbers", f"give them in {UNITS.get(k, 's')}", k)
        if not np.isfinite(x).all():
            bad = int(np.argmin(np.isfinite(x)))
            raise stride.error(f"sample {bad} is not finite", "fill gaps first (without_gaps)", k, bad)
    if stride.time.size < 2 * harmonics + 2:
        what = f"{harmonics} harmonics need at least {2 * harmonics + 2} samples, got {stride.time.size}"
        raise stride.error(what, "sample the stride more finely")


def _check_numbers(stride: Stride, harmonics: int) -> None:
    if not (isinstance(harmonics, int | np.integer) and harmonics > 0):
        what = f"harmonics must be a whole number, at least 1, got {shown(harmonics)}"
        raise stride.error(what, "6 to 8 are usual")
    for label, given in {"speed": stride.speed, "period": 1.0 if stride.period is None else stride.period}.items():
        number = real(given)
        if number is None or not (math.isfinite(number) and number > 0):
            raise stride.error(f"{label} must be a positive number, got {shown(given if number is None else number)}")


def _check_clock(stride: Stride, harmonics: int) -> None:
    steps = np.diff(stride.time)
    back = int(np.argmin(steps > 0)) + 1
    if not steps[back - 1] > 0:
        before, after = stride.time[back - 1 : back + 1] + 0.0  # no minus before a zero
        what = f"time stands still at {after:g}" if before == after else f"time goes back from {before:g} to {after:g}"
        raise stride.error(what, "sort the rows by time and keep each once", "time_s", back)
    widest, span = int(np.argmax(steps)) + 1, stride.time[-1] - stride.time[0]
    # A few samples may be missing, or many of a dense record, but never half a wave of the highest harmonic.
    most = min(max(3.5 * np.median(steps), span / 50), span / (2 * harmonics))
    if steps[widest - 1] > most:
        what = f"{steps[widest - 1]:.4g} s without a sample, where the others are {np.median(steps):.4g} s apart"
        raise stride.error(what, "fill the gap, or sample evenly", "time_s", widest)
