"""A measured stride as a periodic drive: Fourier series with analytic derivatives.

    drive = reference_gait("rajagopal_1.26ms")
    hip_x, hip_y, thigh, knee, ankle = drive.evaluate(t)       # each with value, rate and acceleration

Time is reduced modulo the period before any sine is taken: the hundredth stride is as accurate as the first, even in
float32.
"""

from __future__ import annotations

import math
import pathlib
from collections.abc import Mapping
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Float

from jaxgait.mechanics import Scalar
from jaxgait.mechanics.planar import Vec
from jaxgait.motion import MotionWarning
from jaxgait.motion.embedded import EMBEDDED_SIDE, REFERENCE_GAITS, gait_record
from jaxgait.motion.recording import Recording
from jaxgait.motion.stride import Person, Stride, read_stride, record_person
from jaxgait.motion.verdict import Verdict, judge
from jaxgait.precision import float64_default
from jaxgait.support import checks


class Jet(NamedTuple):
    """A signal at one time: value, first and second time derivative."""

    value: Scalar
    rate: Scalar
    acceleration: Scalar


class Wave(NamedTuple):
    """cos and sin of all harmonics at one phase, shared by all signals of a drive."""

    omega: Scalar
    cos: tuple[Scalar, ...]
    sin: tuple[Scalar, ...]


@float64_default
def wave(t: Scalar, period: Scalar, harmonics: int) -> Wave:
    """Harmonics at time `t` in s by angle addition: a single sine and cosine are evaluated.

    Examples:
        >>> from jaxgait.motion.drive import wave
        >>> w = wave(0.25, 1.0, 2)
        >>> print([round(float(x), 6) for x in w.cos], [round(float(x), 6) for x in w.sin])
        [0.0, -1.0] [1.0, 0.0]
    """
    cycles = t / period
    phase = (2.0 * math.pi) * (cycles - jnp.floor(cycles))
    sin1, cos1 = jnp.sin(phase), jnp.cos(phase)
    cos, sin = [cos1], [sin1]
    for _ in range(harmonics - 1):
        cos.append(cos[-1] * cos1 - sin[-1] * sin1)
        sin.append(sin[-1] * cos1 + cos[-2] * sin1)
    return Wave((2.0 * math.pi) / period, tuple(cos), tuple(sin))


@float64_default
class FourierSeries(eqx.Module):
    """A periodic signal ``a0 + sum_h a_h cos(h w t) + b_h sin(h w t)``.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.drive import FourierSeries, wave
        >>> signal = FourierSeries(1.0, np.zeros(1), np.ones(1)).jet(wave(0.25, 1.0, 1))
        >>> print(round(float(signal.value), 6), round(float(signal.rate), 6))
        2.0 0.0
    """

    a0: Scalar
    a: Float[ArrayLike, " harmonics"]
    b: Float[ArrayLike, " harmonics"]

    def jet(self, w: Wave) -> Jet:
        """Value, rate and acceleration at the phase of `w`, which has at least as many harmonics."""
        value, rate, acceleration = self.a0, 0.0, 0.0
        for h in range(len(self.a)):  # type: ignore[arg-type]
            a, b = self.a[h], self.b[h]  # type: ignore[index]
            order = h + 1.0
            term = a * w.cos[h] + b * w.sin[h]
            value = value + term
            rate = rate + order * (b * w.cos[h] - a * w.sin[h])
            acceleration = acceleration - order**2 * term
        return Jet(value, w.omega * rate, w.omega**2 * acceleration)


class HipMotion(NamedTuple):
    """What a leg model needs from a drive at one time."""

    hip_x: Jet
    hip_y: Jet
    thigh: Jet
    knee: Jet
    ankle: Jet
    load: Vec | None
    """Measured ground reaction in N, forward and upward; None if it was not measured."""


@float64_default
class GaitDrive(eqx.Module):
    """One measured stride of one leg in the sagittal plane, heel strike to heel strike, repeated indefinitely.

    x is forward, y up, the floor is y = 0. Angles in rad: thigh from the downward vertical (positive: forward), knee
    flexion positive, ankle dorsiflexion positive (foot against shank). `hip_x` is the hip's progression less `speed *
    t`.

    Examples:
        >>> from jaxgait.motion.drive import reference_gait
        >>> drive = reference_gait()
        >>> round(float(drive.knee_angle(0.72 * drive.period)), 2)  # rad, in swing
        1.08
        >>> start, end = drive.evaluate(0.0), drive.evaluate(drive.period)
        >>> round(float(end.hip_x.value - start.hip_x.value), 2)  # m, a stride
        1.42
    """

    period: Scalar
    """Stride time in s."""
    speed: Scalar
    """Walking speed in m/s."""
    hip_x: FourierSeries = eqx.field(repr=False)
    hip_y: FourierSeries = eqx.field(repr=False)
    thigh: FourierSeries = eqx.field(repr=False)
    knee: FourierSeries = eqx.field(repr=False)
    ankle: FourierSeries = eqx.field(repr=False)
    load: tuple[FourierSeries, FourierSeries] | None = eqx.field(default=None, repr=False)
    """Measured ground reaction on this foot in N, forward and upward, if there is one."""
    person: Person | None = None
    """The person to whom a leg is fitted; None to leave the leg as it is, as `reference_gait` does by default."""
    name: str = eqx.field(static=True, default="unnamed")
    side: str = eqx.field(static=True, default="")
    """The leg that was measured, right or left; empty if it is not known. The equations do not depend on it."""

    @eqx.filter_jit  # called nine times while a run is traced
    def evaluate(self, t: Scalar) -> HipMotion:
        """The motion at time `t` in s; `hip_x` includes the progression."""
        every = (self.hip_x, self.hip_y, self.thigh, self.knee, self.ankle, *(self.load or ()))
        w = wave(t, self.period, max(len(series.a) for series in every))  # type: ignore[arg-type]
        sway = self.hip_x.jet(w)
        hip_x = Jet(self.speed * t + sway.value, self.speed + sway.rate, sway.acceleration)
        load = None if self.load is None else Vec(*(series.jet(w).value for series in self.load))
        return HipMotion(hip_x, self.hip_y.jet(w), self.thigh.jet(w), self.knee.jet(w), self.ankle.jet(w), load)

    def knee_angle(self, t: Scalar) -> Scalar:
        """The measured knee flexion in rad at time `t` in s."""
        return self.knee.jet(wave(t, self.period, len(self.knee.a))).value  # type: ignore[arg-type]


@float64_default
def at_cadence(drive: GaitDrive, factor: Scalar) -> GaitDrive:
    """The same path walked `factor` (no dimension) times as fast: period and speed change, the stride length does not.

    Examples:
        >>> from jaxgait.motion.drive import at_cadence, reference_gait
        >>> drive = reference_gait()
        >>> fast = at_cadence(drive, 1.1)
        >>> print(round(float(drive.period / fast.period), 6), round(float(fast.speed / drive.speed), 6))
        1.1 1.1
    """
    return eqx.tree_at(lambda d: (d.period, d.speed), drive, (drive.period / factor, drive.speed * factor))


@float64_default
def reference_gait(name: str = REFERENCE_GAITS[0], *, with_person: bool = False) -> GaitDrive:
    """An embedded measured gait by name (see `gait_record` and NOTICE for source and licence).

    By default a gait drives the leg as it is, as in the papers. With the person who walked, `driven` and `people` fit
    the leg to that person, as they do for a walk that is measured or read from a file.

    Args:
        name: one of `REFERENCE_GAITS`.
        with_person: whether the drive carries the person's segment lengths and mass.

    Raises:
        ValueError: for an unknown name.

    Examples:
        >>> from jaxgait.motion.drive import reference_gait
        >>> drive = reference_gait()
        >>> print(drive.name, round(float(drive.period), 3), round(float(drive.speed), 2))
        rajagopal_1.26ms 1.127 1.26
        >>> print(drive.person, reference_gait("hbm07_0.98ms", with_person=True).person.mass)  # kg
        None 67.2
    """
    record = gait_record(name)
    person = record_person(record) if with_person else None
    series = {k: FourierSeries(s["a0"], np.array(s["a"]), np.array(s["b"])) for k, s in record["signals"].items()}
    return _assemble(series, record["period_T_s"], record["speed_m_s"], name, person, EMBEDDED_SIDE)


@float64_default
def read_drive(
    path: str | pathlib.Path, *, speed: float | None = None, harmonics: int | None = None, check: bool = True
) -> GaitDrive:
    """Reads one stride from a CSV file with a header line and fits a drive to it.

    Columns: `time_s`, the names of `SIGNALS` and, if measured, of `LOAD` (others are ignored). Lines starting with `#`
    are comments, and `speed_m_s=...` in one of them gives the speed if `speed` is None.

    Args:
        path: the file (see `motion.table`).
        speed: walking speed in m/s.
        harmonics: see `stride_drive`.
        check: see `stride_drive`.

    Raises:
        FileNotFoundError: if there is no such file.
        MotionFormatError: if it cannot be read, or is not walking (see `stride_drive`).

    Warns:
        MotionWarning: for each figure that is possible but unusual.

    Examples:
        >>> import pandas as pd
        >>> from jaxgait.motion.drive import read_drive
        >>> from jaxgait.motion.stride import embedded_stride
        >>> gait = embedded_stride("rajagopal_1.26ms")
        >>> pd.DataFrame({"time_s": gait.time, **gait.signals}).to_csv("stride.csv", index=False)
        >>> print(round(float(read_drive("stride.csv", speed=1.26).period), 3))  # s
        1.127
    """
    return stride_drive(read_stride(path, speed=speed), harmonics=harmonics, check=check)


@float64_default
def stride_drive(stride: Stride, *, harmonics: int | None = None, check: bool = True) -> GaitDrive:
    """Fits Fourier series to one stride.

    Args:
        stride: samples of `SIGNALS` and, if measured, of `LOAD`. Whether the last samples repeat the first ones, one
            period later, is decided for all signals together.
        harmonics: number to keep (6 to 8 are enough for walking); by default that of the stride, otherwise 8.
        check: whether to reject what cannot be walking (see `motion.verdict`); False accepts a locked knee, a robot or
            a jump.

    Raises:
        MotionFormatError: naming the signal that is missing, mismatched, not finite, too short or impossible for
            walking, or the impossible number.

    Warns:
        MotionWarning: for each figure that is possible but unusual.

    Examples:
        >>> import dataclasses
        >>> from jaxgait.motion.drive import stride_drive
        >>> from jaxgait.motion.stride import embedded_stride
        >>> gait = embedded_stride("rajagopal_1.26ms")
        >>> drive = stride_drive(dataclasses.replace(gait, speed=1.3), harmonics=6)
        >>> print(drive.speed, drive.thigh.a.size)
        1.3 6
    """
    verdict = judge(stride, harmonics)
    if check and not verdict.usable:
        raise verdict.error()
    for line in verdict.warnings() if check else ():
        checks.warn_user(line, MotionWarning)
    return verdict_drive(verdict)


@float64_default
def verdict_drive(verdict: Verdict) -> GaitDrive:
    """The drive of a stride that has been judged, whatever the verdict.

    Examples:
        >>> from jaxgait.motion.drive import verdict_drive
        >>> from jaxgait.motion.stride import embedded_stride
        >>> from jaxgait.motion.verdict import judge
        >>> verdict = judge(embedded_stride("rajagopal_1.26ms"), harmonics=6)
        >>> print(verdict.usable, verdict_drive(verdict).knee.a.size)
        True 6
    """
    series = {k: FourierSeries(*report.series) for k, report in verdict.signals.items()}
    stride = verdict.stride
    return _assemble(series, verdict.cycle.period, stride.speed, stride.name, stride.person, stride.side)


def _assemble(
    series: Mapping[str, FourierSeries], period: float, speed: float, name: str, person: Person | None, side: str
) -> GaitDrive:
    return GaitDrive(
        period=period,
        speed=speed,
        hip_x=series["hip_x_m"],
        hip_y=series["hip_y_m"],
        thigh=series["thigh_rad"],
        knee=series["knee_rad"],
        ankle=series["ankle_rad"],
        load=(series["ground_x_N"], series["ground_y_N"]) if "ground_x_N" in series else None,
        person=person,
        name=name,
        side=side,
    )


@float64_default
def synthetic_recording(drive: GaitDrive, duration: float = 4.0, rate: float = 100.0) -> Recording:
    """A recording of a known walk: the angles of a leg that follows a drive, and its pelvis.

    The leg is the drive's, or the right one if that is not known. The duration is in s, the rate in Hz.

    Raises:
        ValueError: for a duration or rate that is not positive.

    Examples:
        >>> from jaxgait.motion.capture.walk import measure
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> walk = measure([synthetic_recording(reference_gait())])
        >>> print(round(walk.period, 3), round(float(reference_gait().period), 3))  # s
        1.127 1.127
    """
    from jaxgait.motion.capture.coordinates import leg_angles  # only recordings need the readers and filters

    time = np.arange(0.0, checks.positive("duration", duration, "s"), 1.0 / checks.positive("rate", rate, "Hz"))
    hip = jax.tree.map(np.asarray, jax.vmap(drive.evaluate)(time))
    joints = hip.hip_x.value, hip.hip_y.value, hip.thigh.value, hip.knee.value, hip.ankle.value
    angles = leg_angles(*joints, side=drive.side or "right")
    return Recording(drive.name, f"{drive.name}.mot", rate, time, angles=angles)
