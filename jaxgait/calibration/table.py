"""A measured curve from a text file, whose header names the quantity and the unit of each column.

    time (s),height (m),sd (m)
    0,80.1,0.2
    0.1,79.8,0.2

One column of times ("time (s)", "time (ms)") or phases of the stride ("stride (%)", "phase (1)"), one of values, under
the name of a model output, and optionally one of standard deviations ("sd (m)"). "height_m" and "height [m]" mean
"height (m)". No unit is assumed. For other properties of the file see `jaxgait.motion.table`.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Mapping
from typing import NamedTuple, NoReturn

import numpy as np
from jaxtyping import Float, Int

from jaxgait.calibration.measured import MeasuredCurve, over_phase, over_time
from jaxgait.model import Model, Variable, as_model
from jaxgait.motion import MotionFormatError
from jaxgait.motion.table import Header, Table, read_chosen_columns
from jaxgait.support.checks import nearest
from jaxgait.support.units import COMMON, factor

_EXAMPLE = "time (s),height (m)"
_AXES = {"time": "time", "t": "time"} | dict.fromkeys(("phase", "stride", "cycle", "gait cycle"), "phase")
_AXIS_UNITS = {"time": {"s": 1.0, "ms": 1e-3}, "phase": {"1": 1.0, "%": 0.01, "percent": 0.01}}
"""Units of times in s, and of phases in strides."""
_NOISE = re.compile(r"(?:^|[ _])(?:sd|std|standard deviation)$", re.IGNORECASE)
_IN_BRACKETS = re.compile(r"(.+?)\s*(?:\(([^()]*)\)|\[([^][]*)\])")


class CurveTable(NamedTuple):
    """A measured curve and its origin, with the other arguments of `jaxgait.fit` that a file contains."""

    curve: MeasuredCurve
    output: str
    """The output of the model that was measured."""
    noise: Float[np.ndarray, " points"] | None
    """Standard deviations of the values in the unit of the curve; None if the file has none."""
    file: str
    lines: Int[np.ndarray, " points"]
    """Line in the file of every point, counted from 1."""
    columns: tuple[str, ...]
    """Columns that were used: times or phases, values, standard deviations."""
    unused: tuple[str, ...]

    def check_end(self, end: float) -> None:
        r"""Checks that a run until `end` (s) reaches the last time.

        Raises:
            MotionFormatError: if not, naming the first line beyond its end.

        Examples:
            >>> import pathlib
            >>> from jaxgait import Bungee
            >>> from jaxgait.calibration import read_curve
            >>> lines = ["time (s),height (m)", "0,80", "1,75.1", "2,60.4"]
            >>> _ = pathlib.Path("jump.csv").write_text("\n".join(lines))
            >>> read_curve("jump.csv", Bungee()).check_end(2.0)
        """
        beyond = np.flatnonzero(self.curve.at > end * (1.0 + 1e-12))
        if self.curve.axis == "time" and beyond.size:
            first, last = self.curve.at[beyond[0]], self.curve.at[-1]
            advice = f"give a longer duration (--duration {last:.10g}), or leave the later rows out"
            what = f"{first:.10g} s lies beyond the end of the run, {end:.10g} s"
            raise MotionFormatError(what, advice, self.file, int(self.lines[beyond[0]]), self.columns[0])


class _Column(NamedTuple):
    text: str
    quantity: str
    unit: str | None
    position: int


class _Roles(NamedTuple):
    at: _Column
    values: _Column
    noise: _Column | None
    unused: tuple[str, ...]

    @property
    def read(self) -> list[_Column]:
        return [column for column in self[:3] if isinstance(column, _Column)]


def read_curve(path: str | pathlib.Path, model: Model, output: str | None = None) -> CurveTable:
    r"""Reads a measured curve from a text file (CSV) whose header names the columns with their units.

        read = read_curve("jump.csv", Bungee())
        fit(Bungee(), read.curve, over=box, output=read.output, noise=read.noise)

    Args:
        path: the file.
        model: the mechanism, which defines the names and units of its outputs.
        output: the measured output, if the column of values has another name, or if there are several.

    Raises:
        FileNotFoundError: if there is no such file.
        MotionFormatError: if it cannot be read.
        ValueError: for an unknown output.

    Examples:
        >>> import pathlib, tempfile
        >>> from jaxgait import Bungee
        >>> from jaxgait.calibration import read_curve
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "jump.csv"
        ...     _ = path.write_text("time (ms),height (m)\n0,80\n500,79\n1000,75.1\n")
        ...     read = read_curve(path, Bungee())
        >>> print(read.output, read.curve.at, read.curve.unit)  # s, and the unit of the values
        height [0.  0.5 1. ] m
    """
    kind, known = type(as_model(model)).__name__, model.variables
    if output is not None and output not in known:
        raise ValueError(f"{kind} has no output {output!r}: {nearest(output, known, limit=2)}")
    roles_of = lambda header: _roles(header, kind, known, output)
    table = read_chosen_columns(path, lambda header: {c.text: c.position for c in roles_of(header).read})
    roles = roles_of(table.header)
    return _checked(table, roles, roles.values.quantity if output is None else output)


def _checked(table: Table, roles: _Roles, output: str) -> CurveTable:
    axis, unit = _AXES[roles.at.quantity.lower()], str(roles.values.unit)
    at = table.columns[roles.at.text] * _AXIS_UNITS[axis][str(roles.at.unit)]
    _check_order(table, roles.at, axis, at)
    make, values = over_time if axis == "time" else over_phase, table.columns[roles.values.text]
    noise = None if roles.noise is None else _noise(table, roles.noise, unit)
    names = tuple(column.text for column in roles.read)
    return CurveTable(make(at, values, unit=unit), output, noise, table.file, table.lines, names, roles.unused)


def _check_order(table: Table, column: _Column, axis: str, at: np.ndarray) -> None:
    written = table.columns[column.text]
    steps = np.flatnonzero(np.diff(at) < 0.0)
    if steps.size:
        i = int(steps[0])
        what = f"the {axis} goes back from {written[i]:g} to {written[i + 1]:g}"
        _fault(table, i + 1, column, what, f"sort the rows by {axis}")
    outside = np.flatnonzero((at < 0.0) | (at > (np.inf if axis == "time" else 1.0)))
    if outside.size:
        i = int(outside[0])
        start = "0 is the start of the run: shift the times"
        advice = start if axis == "time" else "a stride goes from 0 to 1, or from 0 to 100 %"
        _fault(table, i, column, f"the {axis} is {written[i]:g} {column.unit}", advice)
    if axis == "phase" and column.unit != "1" and written[-1] <= 1.0:
        advice = f"fractions of the stride? name it '{column.quantity} (1)'"
        _fault(table, len(at) - 1, column, f"the phase ends at {written[-1]:g} {column.unit}", advice)


def _noise(table: Table, column: _Column, unit: str) -> Float[np.ndarray, " points"]:
    """Standard deviations in the unit of the curve."""
    written = table.columns[column.text]
    wrong = np.flatnonzero(written <= 0.0)
    if wrong.size:
        i, advice = int(wrong[0]), "give a positive one, or leave the column out to have it estimated"
        _fault(table, i, column, f"a standard deviation of {written[i]:g}", advice)
    return written * _scale(table.header, column, unit, "the values")


def _fault(table: Table, row: int, column: _Column, what: str, advice: str) -> NoReturn:
    raise MotionFormatError(what, advice, table.file, int(table.lines[row]), column.text)


# --- the header -----------------------------------------------------------------------------------------------------


def _roles(header: Header, kind: str, known: Mapping[str, Variable], output: str | None) -> _Roles:
    header.check(_EXAMPLE)
    units = {*COMMON, *(variable.unit for variable in known.values()), *_AXIS_UNITS["time"], *_AXIS_UNITS["phase"]}
    columns = [_column(text, i, units) for i, text in enumerate(header.names)]
    at = _axis(header, [c for c in columns if c.quantity.lower() in _AXES])
    others = [c for c in columns if c.quantity.lower() not in _AXES]
    values = _values(header, kind, known, output, [c for c in others if not _NOISE.search(c.quantity)])
    wanted = known[values.quantity if output is None else output]
    _scale(header, values, wanted.unit, values.quantity if output is None else output)
    noise = _noise_column(header, values, [c for c in others if _NOISE.search(c.quantity)])
    if noise is not None:
        _scale(header, noise, str(values.unit), "the values")
    used = {c.position for c in (at, values, noise) if c is not None}
    return _Roles(at, values, noise, tuple(c.text for c in columns if c.position not in used))


def _column(text: str, position: int, units: set[str]) -> _Column:
    """Quantity and unit of "height (m)", "height [m]" or "height_m"."""
    found = _IN_BRACKETS.fullmatch(text)
    if found:
        return _Column(text, found[1], (found[2] or found[3] or "").strip() or None, position)
    quantity, _, unit = text.rpartition("_")
    has_unit = bool(quantity) and unit in units
    return _Column(text, quantity if has_unit else text, unit if has_unit else None, position)


def _axis(header: Header, found: list[_Column]) -> _Column:
    if not found:
        advice = "name it 'time (s)' or 'stride (%)'"
        raise header.error(f"no column of times or phases among {_listed(header)}", advice)
    _check_single(header, found, "times or phases")
    column, units = found[0], _AXIS_UNITS[_AXES[found[0].quantity.lower()]]
    if column.unit not in units:
        what = "has no unit" if column.unit is None else f"is in {column.unit!r}"
        names = " or ".join(f"'{column.quantity} ({unit})'" for unit in list(units)[:2])
        raise header.error(f"the column {what}", f"name it {names}, and convert it if necessary", column.text)
    return column


def _values(
    header: Header, kind: str, known: Mapping[str, Variable], output: str | None, found: list[_Column]
) -> _Column:
    if not found:
        raise header.error(f"no column of values among {_listed(header)}", f"add one, as in {_EXAMPLE!r}")
    named = [c for c in found if (c.quantity in known if output is None else c.quantity == output)]
    if not named and output is None:
        first = found[0]
        advice = f"{nearest(first.quantity, known, limit=2)} (or name it by --output)"
        raise header.error(f"{kind} has no output {first.quantity!r}", advice, first.text)
    chosen = named or found
    if len({c.quantity for c in chosen}) > 1:
        texts = ", ".join(repr(c.text) for c in chosen)
        advice = "choose one by --output" if output is None else f"name one of them '{output} ({known[output].unit})'"
        raise header.error(f"several columns could be the measured curve: {texts}", advice)
    _check_single(header, chosen, "values")
    return chosen[0]


def _noise_column(header: Header, values: _Column, found: list[_Column]) -> _Column | None:
    own = [c for c in found if _NOISE.sub("", c.quantity) == values.quantity]
    free = [c for c in found if not _NOISE.sub("", c.quantity)]
    chosen = own or free
    _check_single(header, chosen, "standard deviations")
    return chosen[0] if chosen else None


def _check_single(header: Header, found: list[_Column], what: str) -> None:
    if len(found) > 1:
        texts = " and ".join(repr(c.text) for c in found)
        raise header.error(f"{len(found)} columns of {what}: {texts}", "keep one of them", found[1].text)


def _scale(header: Header, column: _Column, wanted: str, what: str) -> float:
    """The factor (no dimension) that converts a column to another unit."""
    if column.unit is None:
        advice = f"name it '{column.quantity} ({wanted})' if that is its unit"
        raise header.error("the column has no unit", advice, column.text)
    try:
        return factor(column.unit, wanted, what, of="the column")
    except ValueError as error:
        raise header.error(str(error), "", column.text) from error


def _listed(header: Header) -> str:
    texts = ", ".join(header.names)
    return repr(texts if len(texts) < 80 else texts[:77] + "...")
