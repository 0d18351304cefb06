"""A measured curve: values with their unit over the phase of a stride or over time, checked when it is made.

    over_phase(np.arange(100) / 100, knee_deg, unit="deg")     # from one heel strike (0) to the next (1)
    over_time(t, height, unit="m")                             # seconds from the start of the run

A drive (`jaxgait.motion.drive.GaitDrive`) has its own knee curve.
"""

from __future__ import annotations

import pathlib
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import xarray as xr
from jaxtyping import Float

from jaxgait.motion.drive import GaitDrive
from jaxgait.motion.naming import motion_drive
from jaxgait.motion.stride import Series, sampled
from jaxgait.support import units
from jaxgait.support.checks import as_array, by_name

DRIVE_PHASES = 100
"""Number of phases at which the knee curve of a drive is sampled: twelve per period of its eighth harmonic."""


@dataclass(frozen=True, eq=False)
class MeasuredCurve:
    """A measured curve; made by `over_phase`, `over_time` or `measured_curve`, which check it.

    Examples:
        >>> from jaxgait.calibration import over_time
        >>> curve = over_time([0.0, 0.5, 1.0], [80.0, 79.0, 75.0], unit="m")
        >>> print(curve.axis, curve.over, curve.unit)
        time s m
    """

    values: Float[np.ndarray, " points"]
    """The values, in `unit`."""
    unit: str
    at: Float[np.ndarray, " points"]
    """Phase of the stride (no dimension), or time in s."""
    axis: str
    """"phase" or "time"."""
    knee: bool = False
    """Whether it is known to be a knee's flexion."""

    @property
    def over(self) -> str:
        """Unit of `at`."""
        return "1" if self.axis == "phase" else "s"


MeasuredData: TypeAlias = "MeasuredCurve | xr.DataArray | GaitDrive | str | pathlib.Path"
"""Accepted data: a curve, a labelled array, a drive, the name of an embedded gait, a file of measured walking."""
CURVES = (MeasuredCurve, xr.DataArray, GaitDrive, str, pathlib.Path)
"""The types of accepted data."""


@by_name()
def over_phase(phase: Any, values: Any, *, unit: str) -> MeasuredCurve:
    """A curve over the phase of a stride.

    Args:
        phase: from 0 (the drive's beginning, a heel strike) to 1, in order, (points,); phases may repeat (replicates).
        values: the curve there, (points,).
        unit: of the values, such as "deg". Labelled values and phases with the attribute `units` are converted.

    Raises:
        ValueError: for invalid data, naming the sample, and for unknown or contradictory units.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.calibration import over_phase
        >>> over_phase(np.arange(4) / 4, [5.0, 20.0, 60.0, 10.0], unit="deg").at
        array([0.  , 0.25, 0.5 , 0.75])
    """
    curve = _curve(phase, values, unit, "phase")
    if curve.at[0] < 0.0 or curve.at[-1] > 1.0:
        raise ValueError(f"phases must lie between 0 and 1 (not percent), got {curve.at[0]:g} to {curve.at[-1]:g}")
    return curve


@by_name()
def over_time(time: Any, values: Any, *, unit: str) -> MeasuredCurve:
    """A curve over the time of a run.

    Args:
        time: in s from the start of the run, in order, (points,); times may repeat (replicates).
        values: the curve there, (points,).
        unit: of the values, such as "m". Labelled values and times with the attribute `units` are converted.

    Raises:
        ValueError: for invalid data, naming the sample, and for unknown or contradictory units.

    Examples:
        >>> from jaxgait.calibration import over_time
        >>> over_time([0.0, 0.5, 1.0], [80.0, 79.0, 75.0], unit="m").values
        array([80., 79., 75.])
    """
    curve = _curve(time, values, unit, "time")
    if curve.at[0] < 0.0:
        raise ValueError(f"times must count from the start of the run, got {curve.at[0]:g} s: shift them")
    return curve


def measured_curve(data: Any) -> MeasuredCurve:
    """Converts any accepted data to a curve; a drive gives its knee curve (rad, over the phase).

    Args:
        data: a curve; an `xarray.DataArray` over `time` or `phase` with the attribute `units`, as its time; a drive;
            the name of an embedded gait; the path of a stride, a walk or a recording, as `motion_drive` takes it.

    Raises:
        ValueError: for a labelled array without the necessary labels.
        TypeError: for anything else.
        FileNotFoundError: if there is no such file.
        MotionFormatError: if the file cannot be used.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.calibration.measured import measured_curve
        >>> curve = measured_curve("rajagopal_1.26ms")  # the sound knee of an embedded gait
        >>> print(curve.unit, curve.axis, np.degrees(curve.values.max()).round())  # its peak flexion in deg
        rad phase 64.0
    """
    if isinstance(data, MeasuredCurve):
        return data
    if isinstance(data, xr.DataArray):
        return _labelled(data)
    if isinstance(data, str | pathlib.Path):
        data = motion_drive(data)
    if isinstance(data, GaitDrive):
        series = Series(float(data.knee.a0), np.asarray(data.knee.a), np.asarray(data.knee.b))
        return MeasuredCurve(
            sampled(series, DRIVE_PHASES), "rad", np.arange(DRIVE_PHASES) / DRIVE_PHASES, "phase", knee=True
        )
    raise TypeError(
        "the measured curve must be made by over_phase or over_time, or be a DataArray, a drive, the name of an "
        f"embedded gait or a file of measured walking, got {type(data).__name__}"
    )


def _curve(at: Any, values: Any, unit: str, axis: str) -> MeasuredCurve:
    if not (isinstance(unit, str) and unit):
        raise ValueError(f'the unit of the values must be text such as "deg", got {unit!r}')
    units.check(unit, "the measured curve")
    at = _numbers(
        units.in_unit(at, "s" if axis == "time" else "1", f"the {axis}", own="that of a measured curve"), axis
    )
    values = _numbers(units.in_unit(values, unit, "the measured array", own="`unit`"), "values")
    if len(at) != len(values):
        raise ValueError(f"{len(values)} values at {len(at)} points of the {axis}: give equally many")
    steps = np.flatnonzero(np.diff(at) < 0.0)
    if steps.size:
        i = steps[0]
        raise ValueError(f"the {axis} must not decrease, but sample {i + 1} ({at[i + 1]:g}) follows {at[i]:g}")
    return MeasuredCurve(values, unit, at, axis)


def _numbers(values: Any, what: str) -> Float[np.ndarray, " points"]:
    try:
        found = as_array(values)
        if found.dtype.kind in "mMc":
            raise ValueError("dates and intervals have no unit here, and complex numbers no order")
        found = np.array(found, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} of a measured curve must be numbers, got {values!r}"[:200]) from error
    if found.ndim != 1 or not found.size:
        raise ValueError(f"{what} of a measured curve must be a list of numbers, got the shape {found.shape}")
    wrong = np.flatnonzero(~np.isfinite(found))
    if wrong.size:
        raise ValueError(f"{what} of a measured curve must be finite, sample {wrong[0]} is {found[wrong[0]]}: drop it")
    return found


def _labelled(array: xr.DataArray) -> MeasuredCurve:
    if array.dims not in (("time",), ("phase",)) or array.dims[0] not in array.coords:
        raise ValueError(f"a measured array must have the dimension and coordinate `time` or `phase`, got {array.dims}")
    if "units" not in array.attrs:
        raise ValueError('a measured array must have the attribute `units`: give attrs={"units": "deg"}')
    axis = str(array.dims[0])
    if axis == "time" and not array[axis].attrs.get("units"):
        raise ValueError(
            "the coordinate time of a measured array must have the attribute units='s', or another of time"
        )
    make = over_phase if axis == "phase" else over_time
    return make(array[axis], array, unit=str(array.attrs["units"]))
