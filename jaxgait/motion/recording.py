"""What a laboratory recorded, in whatever format: markers, joint angles and ground forces with their clocks.

    recording = read_recording("walk.c3d")
    recording.markers["RASI"], recording.rate, recording.notes

Lengths are in m, forces in N and angles in rad, in the laboratory's axes; up and forward are found later, from the body
(`motion.capture.axes`).
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from jaxgait.motion import MotionFormatError
from jaxgait.motion.text import number
from jaxgait.support.checks import as_array, real, shown

NOISE_FORCE = 5.0
"""Force in N up to which a plate shows only noise."""


LOADED_FORCE = 30.0
"""Vertical force in N above which a foot is on a plate."""
MOST_UNEVEN = 0.5
"""Deviation from even times at the stated rate, in frames, above which the times do not belong to that rate."""


class GroundReaction(NamedTuple):
    """The ground reaction of one plate, or on one foot, as recorded."""

    name: str
    time: Float[np.ndarray, " samples"]
    """Time in s, on the clock of the markers."""
    force: Float[np.ndarray, "samples 3"]
    """Force on the walker in N."""
    point: Float[np.ndarray, "samples 3"] | None
    """Centre of pressure in m, NaN where the plate is unloaded; None if it was not recorded."""


class Mark(NamedTuple):
    """An event that the laboratory marked."""

    side: str
    """right, left or empty."""
    label: str
    time: float
    """Time in s."""


class AssumedPath(NamedTuple):
    """The source of the hip's path, if it was not recorded."""

    gait: str
    """The embedded gait."""
    speed: float
    """The walking speed that was given, in m/s."""


@dataclasses.dataclass(frozen=True)
class Recording:
    """One trial. Gaps are NaN; assumptions are in `notes`, what looks wrong in `warnings`.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.recording import Recording
        >>> trial = Recording("walk", "walk.trc", 100.0, np.linspace(0.0, 2.0, 201), {"RASI": np.zeros((201, 3))})
        >>> print(trial.frames, trial.error("no left leg", "name its markers", "LASI"))
        201 walk.trc, column LASI: no left leg; name its markers
    """

    name: str
    file: str
    rate: float
    """Frames per second of markers and angles, in Hz."""
    time: Float[np.ndarray, " frames"]
    """Time of the frames in s, evenly spaced."""
    markers: dict[str, Float[np.ndarray, "frames 3"]] = dataclasses.field(default_factory=dict)
    """Marker positions in m, in the axes of the laboratory."""
    angles: dict[str, Float[np.ndarray, " frames"]] = dataclasses.field(default_factory=dict)
    """Joint angles in rad and translations in m, under the names of the file."""
    forces: tuple[GroundReaction, ...] = ()
    marks: tuple[Mark, ...] = ()
    subject: dict[str, str | float] = dataclasses.field(default_factory=dict)
    """What the file states about the person: `name`, `mass_kg`, `height_m`."""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    assumed_path: AssumedPath | None = None
    """None if the path of the hip was recorded."""

    def __post_init__(self) -> None:
        """Converts lists to arrays, infinite or masked (`numpy.ma`) values to gaps, and mass and height to numbers.

        Raises:
            MotionFormatError: for a mass or a height that is not a number, arrays whose shape does not fit the frames
                or samples, times that do not increase, or are not even at the rate of the frames, and a plate of one
                sample.
        """
        object.__setattr__(self, "time", _numbers(self.time))
        facts = ((k, self._fact(k, x)) for k, x in self.subject.items())
        object.__setattr__(self, "subject", {k: x for k, x in facts if x is not None})
        for name, found in (("markers", self.markers), ("angles", self.angles)):
            object.__setattr__(self, name, {n: _numbers(x) for n, x in found.items()})
        point = lambda force: None if force.point is None else _numbers(force.point)
        forces = (GroundReaction(f.name, _numbers(f.time), _numbers(f.force), point(f)) for f in self.forces)
        object.__setattr__(self, "forces", tuple(forces))
        self._check_arrays()

    def _check_arrays(self) -> None:
        self._check_times(self.time, "time")
        even = self.time[:1] + np.arange(self.frames) / self.rate if self.rate > 0.0 else np.full(self.frames, np.nan)
        if not np.all(np.abs(self.time - even) * self.rate < MOST_UNEVEN):
            span = (float(self.time[-1]) - float(self.time[0])) / max(self.frames - 1, 1)
            what = f"the times are not even at {self.rate:g} Hz, but {span:.4g} s apart on average"
            raise self.error(what, "give the rate of these frames, and a row of NaN for a missing one", "time")
        for columns, shape in ((self.markers, (self.frames, 3)), (self.angles, (self.frames,))):
            for name, x in columns.items():
                self._check_numbers(x, shape, name)
        for plate in self.forces:
            self._check_times(plate.time, plate.name)
            if plate.time.size < 2:
                raise self.error("fewer than two samples of a force", "leave the plate out", plate.name)
            for x in (plate.force, *([] if plate.point is None else [plate.point])):
                self._check_numbers(x, (plate.time.size, 3), plate.name)

    def _check_times(self, time: np.ndarray, column: str) -> None:
        self._check_numbers(time, (time.size,), column)
        if not (np.isfinite(time).all() and np.all(np.diff(time) > 0.0)):
            raise self.error("times have to be finite, and to increase", "give them in s, each once", column)

    def _check_numbers(self, x: np.ndarray, shape: tuple[int, ...], column: str) -> None:
        if x.shape != shape or x.dtype.kind != "f":
            what = f"{x.dtype} of shape {x.shape}, where numbers of shape {shape} are needed"
            raise self.error(what, "give a row for each time", column)

    def _fact(self, key: str, value: Any) -> Any:
        """Mass and height as numbers, other facts as they are or as text; None for what is missing."""
        measured = key in ("mass_kg", "height_m")
        size = number(value) if measured and isinstance(value, str) else real(value)
        blank = value is None or (isinstance(value, str) and not value.strip())
        if blank or (size is not None and not math.isfinite(size)):
            return None
        if not measured:
            plain = value.item() if isinstance(value, np.generic) else value
            return plain if isinstance(plain, str | int | float) else str(plain)
        if size is None:
            raise self.error(f"{key} is {shown(value)}, not a number", "give it without a unit")
        return size

    @property
    def frames(self) -> int:
        """Number of frames."""
        return self.time.size

    def error(self, what: str, advice: str = "", column: str | None = None) -> MotionFormatError:
        """An error about this recording."""
        return MotionFormatError(what, advice, self.file, column=column)


def _numbers(values: Any) -> np.ndarray:
    """The values as an array; numbers become floats, and infinite ones gaps."""
    x = as_array(values)
    x = x.astype(float) if x.dtype.kind in "iu" else x
    return np.where(np.isfinite(x), x, np.nan) if x.dtype.kind == "f" and not np.isfinite(x).all() else x


def with_forces(recording: Recording, other: Recording) -> Recording:
    """The recording with the ground forces of another file of the same trial, on the same clock.

    Raises:
        MotionFormatError: if the other has no forces, or none during this one.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.recording import GroundReaction, Recording, with_forces
        >>> time = np.linspace(0.0, 1.0, 101)
        >>> plate = GroundReaction("plate 1", time, np.tile([0.0, 700.0, 0.0], (101, 1)), None)
        >>> forces = Recording("forces", "forces.mot", 100.0, time, forces=(plate,))
        >>> with_forces(Recording("walk", "walk.trc", 100.0, time), forces).notes
        ('ground forces of forces.mot',)
    """
    if not other.forces:
        raise other.error("contains no ground forces", "name the file with columns such as ground_force_vy")
    first, last = recording.time[0], recording.time[-1]
    if not any(np.any((f.time >= first) & (f.time <= last)) for f in other.forces):
        what = f"its forces cover {other.forces[0].time[0]:.3f} to {other.forces[0].time[-1]:.3f} s"
        raise other.error(what, f"give those for {first:.3f} to {last:.3f} s, the time of {recording.file}")
    return dataclasses.replace(
        recording,
        forces=recording.forces + other.forces,
        notes=(*recording.notes, f"ground forces of {other.file}", *other.notes),
        warnings=recording.warnings + other.warnings,
    )


def upward(recording: Recording, up: Float[np.ndarray, " 3"]) -> tuple[Recording, tuple[str, ...]]:
    """The recording with the forces of all plates as they act on the walker, and notes on those that were reversed.

    `up` is the unit vector upward (no dimension), in the axes of the laboratory.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.recording import GroundReaction, Recording, upward
        >>> time = np.linspace(0.0, 1.0, 101)
        >>> plate = GroundReaction("plate 1", time, np.tile([0.0, -700.0, 0.0], (101, 1)), None)
        >>> trial = Recording("walk", "walk.trc", 100.0, time, forces=(plate,))
        >>> turned, notes = upward(trial, np.array([0.0, 1.0, 0.0]))
        >>> print(turned.forces[0].force[0, 1], len(notes))  # N
        700.0 1
    """
    forces, notes = [], []
    for plate in recording.forces:
        vertical = plate.force @ up
        loaded = vertical[np.abs(vertical) > LOADED_FORCE]
        down = bool(loaded.size) and np.mean(loaded) < 0
        forces.append(plate._replace(force=-plate.force) if down else plate)
        what = "forces point downward and are reversed: the reaction on the foot is needed"
        notes += [f"{plate.name}: {what}"] if down else []
    return dataclasses.replace(recording, forces=tuple(forces)), tuple(notes)


def known_median(values: Float[np.ndarray, " values"]) -> float:
    """The median of the values that are known, in their unit; NaN if there are none.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.recording import known_median
        >>> print(known_median(np.array([0.4, np.nan, 0.5, 0.9])), known_median(np.full(2, np.nan)))
        0.5 nan
    """
    known = values[np.isfinite(values)]
    return float(np.median(known)) if known.size else math.nan


def runs(there: Bool[np.ndarray, " frames"]) -> list[tuple[int, int]]:
    """Stretches of True, as half-open ranges of frames; no dimension.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.recording import runs
        >>> runs(np.array([True, True, False, True]))
        [(0, 2), (3, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate(([False], there, [False])).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
