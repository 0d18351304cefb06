"""A measured stride as a periodic drive: Fourier series with analytic derivatives.

    drive = reference_gait("rajagopal_1.26ms")
    hip_x, hip_y, thigh, knee, ankle = drive.evaluate(t)       # each with value, rate and acceleration

Time is reduced modulo the period before any sine is taken, so that the hundredth stride is as accurate as the first
(also in float32).
"""

from __future__ import annotations

import csv
import math
import pathlib
from collections.abc import Mapping
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Float

from jaxgait.mechanics import elementary
from jaxgait.mechanics.planar import Vec
from jaxgait.mechanics.scalars import Scalar
from jaxgait.motion.embedded import REFERENCE_GAITS, gait_record

SIGNALS = {"hip_x_m": "m", "hip_y_m": "m", "thigh_rad": "rad", "knee_rad": "rad", "ankle_rad": "rad"}
"""The signals that a drive needs, with their units (see `GaitDrive`)."""

LOAD = {"ground_x_N": "N", "ground_y_N": "N"}
"""The signals that it may have besides: the measured ground reaction on this foot, forward and upward."""


class Jet(NamedTuple):
    """A signal at one time: value, first and second time derivative."""

    value: Scalar
    rate: Scalar
    acceleration: Scalar


class Wave(NamedTuple):
    """cos and sin of all harmonics of one phase, shared by all signals of a drive."""

    omega: Scalar
    cos: tuple[Scalar, ...]
    sin: tuple[Scalar, ...]


def wave(t: Scalar, period: Scalar, harmonics: int) -> Wave:
    """Harmonics of the phase of time `t` in s by angle addition: one sine and one cosine in all."""
    cycles = t / period
    sin1, cos1 = elementary.sincos((2.0 * math.pi) * (cycles - jnp.floor(cycles)))
    cos, sin = [cos1], [sin1]
    for _ in range(harmonics - 1):
        cos.append(cos[-1] * cos1 - sin[-1] * sin1)
        sin.append(sin[-1] * cos1 + cos[-2] * sin1)
    return Wave((2.0 * math.pi) / period, tuple(cos), tuple(sin))


class FourierSeries(eqx.Module):
    """A periodic signal ``a0 + sum_h a_h cos(h w t) + b_h sin(h w t)``."""

    a0: Scalar
    a: Float[ArrayLike, " harmonics"]
    b: Float[ArrayLike, " harmonics"]

    def jet(self, w: Wave) -> Jet:
        """Value, rate and acceleration at the phase of `w`."""
        value, rate, acceleration = self.a0, 0.0, 0.0
        for h in range(len(w.cos)):
            a, b = self.a[h], self.b[h]  # type: ignore[index]
            order = h + 1.0
            term = a * w.cos[h] + b * w.sin[h]
            value = value + term
            rate = rate + order * (b * w.cos[h] - a * w.sin[h])
            acceleration = acceleration - order**2 * term
        return Jet(value, w.omega * rate, w.omega**2 * acceleration)


class HipMotion(NamedTuple):
    """Everything a leg model takes from a drive at one time."""

    hip_x: Jet
    hip_y: Jet
    thigh: Jet
    knee: Jet
    ankle: Jet
    load: Vec | None
    """Measured ground reaction in N, forward and upward; None if it was not measured."""


class GaitDrive(eqx.Module):
    """One measured stride of one leg in the sagittal plane, heel strike to heel strike, repeated for ever.

    x is forward, y up, the floor is y = 0. Angles in rad: thigh from the downward vertical (positive: forward), knee
    flexion positive, ankle dorsiflexion positive (foot against shank). `hip_x` is the hip's progression less `speed *
    t`.
    """

    period: Scalar
    """Stride time in s."""
    speed: Scalar
    """Walking speed in m/s."""
    hip_x: FourierSeries
    hip_y: FourierSeries
    thigh: FourierSeries
    knee: FourierSeries
    ankle: FourierSeries
    load: tuple[FourierSeries, FourierSeries] | None = None
    """Measured ground reaction on this foot in N, forward and upward, if there is one."""
    name: str = eqx.field(static=True, default="unnamed")

    def evaluate(self, t: Scalar) -> HipMotion:
        """The motion at time `t` in s; `hip_x` includes the progression."""
        w = wave(t, self.period, len(self.thigh.a))  # type: ignore[arg-type]
        sway = self.hip_x.jet(w)
        hip_x = Jet(self.speed * t + sway.value, self.speed + sway.rate, sway.acceleration)
        load = None if self.load is None else Vec(*(series.jet(w).value for series in self.load))
        return HipMotion(hip_x, self.hip_y.jet(w), self.thigh.jet(w), self.knee.jet(w), self.ankle.jet(w), load)

    def knee_angle(self, t: Scalar) -> Scalar:
        """The measured knee flexion in rad at time `t` in s."""
        return self.knee.jet(wave(t, self.period, len(self.knee.a))).value  # type: ignore[arg-type]


def at_cadence(drive: GaitDrive, factor: Scalar) -> GaitDrive:
    """The same path walked `factor` times as fast: the period shrinks, the speed grows, the stride length stays."""
    return eqx.tree_at(lambda d: (d.period, d.speed), drive, (drive.period / factor, drive.speed * factor))


def reference_gait(name: str = REFERENCE_GAITS[0]) -> GaitDrive:
    """An embedded measured gait by name (see `REFERENCE_GAITS`, `gait_record` and NOTICE for source and licence).

    Raises:
        ValueError: for an unknown name.
    """
    record = gait_record(name)
    series = {k: FourierSeries(s["a0"], np.array(s["a"]), np.array(s["b"])) for k, s in record["signals"].items()}
    return _assemble(series, record["period_T_s"], record["speed_m_s"], name)


def fit_drive(
    signals: Mapping[str, np.ndarray], period: float, speed: float, *, harmonics: int = 8, name: str = "unnamed"
) -> GaitDrive:
    """Fits Fourier series to one stride of sampled signals.

    Args:
        signals: the names of `SIGNALS` and, if measured, of `LOAD`, each with n equally spaced samples of one stride;
            if the first and last samples are one period apart they must be equal up to noise and the last one is
            dropped.
        period: stride time in s.
        speed: walking speed in m/s.
        harmonics: how many to keep (6 to 8 are enough for walking).
        name: what to call it.

    Raises:
        ValueError: naming the signal that is missing, constant-length mismatched or not finite, or the number that
            cannot be.
    """
    for label, number in (("period", period), ("speed", speed)):
        if not (math.isfinite(number) and number > 0):
            raise ValueError(f"{label} must be a positive number, got {number}")
    wanted = [*SIGNALS, *(LOAD if any(k in signals for k in LOAD) else ())]
    series = {k: _fit(k, signals, harmonics) for k in wanted}
    return _assemble(series, period, speed, name)


def _fit(signal: str, signals: Mapping[str, np.ndarray], harmonics: int) -> FourierSeries:
    if signal not in signals:
        raise ValueError(
            f"the drive lacks the signal {signal!r} ({(SIGNALS | LOAD)[signal]}); it has {', '.join(signals) or 'none'}"
        )
    samples = np.asarray(signals[signal], dtype=float)
    if samples.ndim != 1 or samples.size < 2 * harmonics + 2:
        raise ValueError(
            f"{signal}: {harmonics} harmonics need at least {2 * harmonics + 2} samples, got {samples.size}"
        )
    if not np.isfinite(samples).all():
        raise ValueError(f"{signal}: sample {int(np.argmin(np.isfinite(samples)))} is not finite; fill gaps first")
    span = np.ptp(samples) or 1.0
    if signal.endswith("_rad") and np.max(np.abs(samples)) > 2 * math.pi:
        raise ValueError(
            f"{signal}: largest value {np.max(np.abs(samples)):g} is more than a turn; degrees instead of rad?"
        )
    if abs(samples[-1] - samples[0]) < 0.02 * span:  # a closed stride repeats its first sample
        samples = samples[:-1]
    c = np.fft.rfft(samples) / samples.size
    return FourierSeries(float(c[0].real), 2 * c[1 : harmonics + 1].real, -2 * c[1 : harmonics + 1].imag)


def read_drive(path: str | pathlib.Path, *, speed: float | None = None, harmonics: int = 8) -> GaitDrive:
    """Reads one stride from a CSV file with a header line and fits a drive to it.

    Columns: `time_s`, the names of `SIGNALS` and, if measured, of `LOAD` (others are ignored). Lines starting with `#`
    are comments, and `speed_m_s=...` in one of them gives the speed if `speed` is None.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: with file, line and what is wrong.
    """
    path = pathlib.Path(path)
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    comments = " ".join(line for line in lines if line.startswith("#"))
    rows = [(i, line) for i, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    if len(rows) < 2:
        raise ValueError(f"{path}: no samples: a header line and rows of numbers are wanted")
    table = csv.reader(line for _, line in rows)
    header = [name.strip() for name in next(table)]
    values = [_numbers(path, number, header, row) for (number, _), row in zip(rows[1:], table, strict=True)]
    columns = dict(zip(header, np.array(values).T, strict=True))
    if "time_s" not in columns:
        raise ValueError(f"{path}: no column 'time_s'; it has {', '.join(header)}")
    if speed is None:
        found = [word.split("=")[1] for word in comments.split() if word.startswith("speed_m_s=")]
        if not found:
            raise ValueError(f"{path}: no walking speed: pass speed= or write '# speed_m_s=1.2' into the file")
        speed = float(found[0])
    time = columns["time_s"]
    closed = (
        abs(columns["hip_y_m"][-1] - columns["hip_y_m"][0]) < 0.02 * np.ptp(columns["hip_y_m"])
        if "hip_y_m" in columns
        else True
    )
    period = float(time[-1] - time[0]) * (1.0 if closed else time.size / (time.size - 1))
    try:
        return fit_drive(columns, period, speed, harmonics=harmonics, name=path.stem)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def motion_drive(text: str) -> GaitDrive:
    """The drive that a user names: an embedded gait (see `REFERENCE_GAITS`) or a file with a stride (`read_drive`).

    Raises:
        FileNotFoundError: if it is neither.
        ValueError: if the file cannot be used.
    """
    if text in REFERENCE_GAITS:
        return reference_gait(text)
    if not pathlib.Path(text).exists():
        raise FileNotFoundError(f"{text}: no such file, nor an embedded gait (there are {', '.join(REFERENCE_GAITS)})")
    return read_drive(text)


def _numbers(path: pathlib.Path, line: int, header: list[str], row: list[str]) -> list[float]:
    if len(row) != len(header):
        raise ValueError(f"{path}, line {line}: {len(row)} values under {len(header)} column names")
    try:
        return [float(cell) for cell in row]
    except ValueError as error:
        raise ValueError(f"{path}, line {line}: {error}") from error


def _assemble(series: Mapping[str, FourierSeries], period: float, speed: float, name: str) -> GaitDrive:
    return GaitDrive(
        period=period,
        speed=speed,
        hip_x=series["hip_x_m"],
        hip_y=series["hip_y_m"],
        thigh=series["thigh_rad"],
        knee=series["knee_rad"],
        ankle=series["ankle_rad"],
        load=(series["ground_x_N"], series["ground_y_N"]) if "ground_x_N" in series else None,
        name=name,
    )
