"""The report of a fit to measured curves: an HTML page with all pictures."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxgait.calibration import CurveTable, Fit, Profile
from jaxgait.calibration.describe import error_text, known_error, quality, verdict
from jaxgait.cli import page
from jaxgait.parameters import get_parameter
from jaxgait.plot import fits
from jaxgait.support import files
from jaxgait.support.units import with_unit


class Known(NamedTuple):
    """A measured curve and what is known of it."""

    read: CurveTable
    stated: float | None
    """The user's standard deviation of the data, in the curve's unit."""
    noise: Any
    """Standard deviations of the data, in the curve's unit; None if they are to be estimated."""
    given: Mapping[str, float]
    """Known values of this curve by name."""
    units: Mapping[str, str]
    """Their units."""


def curve_line(one: Known) -> str:
    """A measured curve's file and contents, its noise and what is known of it."""
    known = "".join(f"; {name} = {with_unit(f'{value:.6g}', one.units[name])}" for name, value in one.given.items())
    return f"{one.read.file}: {curve_summary(one.read)}; noise: {noise_source(one.read, one.stated)}{known}"


def outputs(curves: Mapping[str, Known]) -> str:
    """The names of the measured outputs, each once."""
    return ", ".join(dict.fromkeys(one.read.output for one in curves.values()))


def curve_summary(read: CurveTable) -> str:
    """A measured curve's output, unit, number of points and range."""
    curve = read.curve
    over = "s" if curve.axis == "time" else "of the stride"
    return f"{read.output} in {curve.unit}, {len(curve.at)} points from {curve.at[0]:.6g} to {curve.at[-1]:.6g} {over}"


def noise_source(read: CurveTable, stated: float | None) -> str:
    """Where the standard deviation of the data comes from; `stated` is the user's, in the curve's unit."""
    if read.noise is not None:
        return f"of column {read.columns[2]!r}"
    return "estimated from the residual" if stated is None else with_unit(f"{stated:g}", read.curve.unit)


MAX_NAMES = 3
"""Number of parameters named for each direction."""
_CURVES = (
    "Top: each measured curve, the initial curve of the model, and the fitted one. Bottom: the residual, fitted minus "
    "measured; its band is called misfit, not noise, if the noise was estimated from the residual. Last: correlation "
    "of the parameters' errors; near 1 or -1 only a combination of them is determined. "
    "For two parameters, the joint 95 % region from their standard errors."
)
_PROFILE = "{} with {} fixed at other values and all other parameters refitted. {}."


def write(
    folder: pathlib.Path, found: Fit, curves: Mapping[str, Known], profiles: Sequence[Profile], how: str
) -> pathlib.Path:
    """Writes the pictures (PNG and PDF) and `report.html` into a folder; returns the path of the page.

    `how` says how the runs were made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    picture = lambda name, figure, caption: page.picture(figure, folder / name, caption)
    parts = [
        *(page.paragraph(f"{curve_line(one)}.") for one in curves.values()),
        page.paragraph(" ".join(map(_sentence, [*quality(found), verdict(found)]))),
        page.listed([_sentence(text) for text in (*found.undetermined, *found.remarks)]),
        page.paragraph(f"How it was computed: {how}."),
        _parameters(found, profiles),
        picture("curves", fits.fitted(found, before=found.before()), _CURVES),
        "<h2>Uncertainty</h2>",
        picture("bounds", fits.bounded(found), "Each parameter within its bounds."),
        _directions(found),
        *(picture(_file(one), fits.profiled(one), _caption(one)) for one in profiles),
        _starts(found),
    ]
    path = folder / "report.html"
    names = ", ".join(pathlib.Path(one.read.file).name for one in curves.values())
    files.text(path, page.page(f"{type(found.model).__name__}: {outputs(curves)} fitted to {names}", parts))
    return path


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _file(found: Profile) -> str:
    return f"profile_{found.parameter.replace('.', '_')}"


def _caption(found: Profile) -> str:
    rise = found.curve.rise.attrs["long_name"].capitalize()
    return _PROFILE.format(rise, found.parameter, _sentence(str(found))[:-1])


def _parameters(found: Fit, profiles: Sequence[Profile]) -> str:
    drawn, space, rows = {one.parameter: one for one in profiles}, found.problem.space, []
    for i, (name, best) in enumerate(found.best.items()):
        own, error = float(get_parameter(found.problem.model, name)), known_error(found, name)
        interval = "–" if error is None else _interval(found.interval(name))
        row = [name, f"{own:.6g}", f"{best:.6g}", error_text(error), interval]
        row += [_interval(drawn[name].interval)] if drawn else []
        rows.append([*row, f"{space.low[i]:g} to {space.high[i]:g}", found.units[name]])
    head = ["parameter", "before", "fitted", "standard error", "95 %", *(["95 %, profile"] if drawn else [])]
    return page.table([*head, "bounds", "unit"], rows)


def _interval(ends: tuple[float, float]) -> str:
    if np.isnan(ends).any():
        return "–"
    return " to ".join(f"{end:.6g}" if np.isfinite(end) else "open" for end in ends)


def _directions(found: Fit) -> str:
    """How well each direction of the parameters is determined, the best one first."""
    names, rows = list(found.best), []
    for s, direction in zip(found.singular_values, found.directions, strict=True):
        largest = np.argsort(-np.abs(direction))[:MAX_NAMES]
        what = ", ".join(f"{direction[i]:+.2f} {names[i]}" for i in largest)
        error = "–" if not found.minimum else f"{100.0 / s:.3g}" if s > 0.0 else "infinite"
        rows.append([f"{s:.3g}", error, what])
    return page.table(["singular value", "standard error (% of the bounds)", "direction"], rows)


def _starts(found: Fit) -> str:
    ends = found.ends
    columns = {name: ends[name].values for name in found.best} | {ends.squares.attrs["long_name"]: ends.squares.values}
    how = page.paragraph(f"Derivatives: {found.gradient}.")
    return page.starts_table(how, columns, ends.evaluations.values, found.why_stopped)
