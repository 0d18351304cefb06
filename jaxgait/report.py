"""The report of a reproduction: figures compared with a specification and a paper, pictures, a Markdown page."""

from __future__ import annotations

import math
import os
import pathlib
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxgait.solve.dataset import made_by
from jaxgait.support import files, xr
from jaxgait.support.checks import is_number
from jaxgait.support.machine import device
from jaxgait.support.units import with_unit

Value = float | int | str | bool | None


class Expected(NamedTuple):
    """The value of one quantity in a specification: a row of an experiment's tables (`expected.py`).

    Attributes:
        value: a number in `unit`, a flag or a class.
        unit: "1" for a pure number, "" for a flag or a class.
        tolerance: absolute, in `unit`; None requires equality.
    """

    value: Value
    unit: str
    tolerance: float | None = None


@dataclass(frozen=True)
class Figure:
    """One measured number, flag or class (such as "falls"), compared with a specification and with a paper.

    The two comparisons are separate: `met` is against `expected`, `agrees_with_paper` against `paper`.

    Attributes:
        id: name in `figures.json`.
        what: description of the quantity.
        unit: of `measured`, `expected`, `tolerance` and, if it is a number, of `paper`.
        measured: the measured value.
        expected: the value in the specification, or None.
        tolerance: of `met`, absolute; None requires equality.
        paper: the value in the paper, or None: a number, best as printed text ("1.6e4"), whose last digit gives the
            precision; a flag or a class; or a sentence.
        paper_tolerance: of `agrees_with_paper`, absolute; None means half a unit of the last printed digit.
        agrees: whether the paper's sentence is true, judged by the author of the figure; None if undecided.
        input: whether it is an input that the paper prints, and no result: shown, but counted separately.
        note: why the figure differs from the paper or from the specification.
    """

    id: str
    what: str
    unit: str
    measured: Value
    expected: Value = None
    tolerance: float | None = None
    paper: Value = None
    paper_tolerance: float | None = None
    agrees: bool | None = None
    input: bool = False
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the measured value is the expected one; None without an expected value."""
        return None if self.expected is None else _alike(self.measured, self.expected, self.tolerance or 0.0)

    @property
    def agrees_with_paper(self) -> bool | None:
        """Whether the measured value is the printed one; None without a printed value."""
        printed = _printed(self.paper)
        if self.agrees is not None or printed is None:
            return self.agrees
        if isinstance(printed, str) and not isinstance(self.measured, str):
            return None
        return _alike(self.measured, printed, _precision(self.paper, self.paper_tolerance))

    def as_dict(self) -> dict[str, Value]:
        """The entry of `figures.json`."""
        names = ["id", "what", "unit", "paper", "expected", "measured", "tolerance", "met", "agrees_with_paper", "note"]
        entry = {name: getattr(self, name) for name in names} | {"paper": _printed(self.paper)}
        return files.plain(entry | ({"input": True} if self.input else {}))


@dataclass
class Report:
    """Collects the results of a reproduction and writes them to a folder."""

    title: str
    intro: str = ""
    figures: list[Figure] = field(default_factory=list)
    """Their ids are unique."""
    pictures: list[tuple[str, str]] = field(default_factory=list)
    sections: list[tuple[str, str]] = field(default_factory=list)

    def figure(self, id: str, what: str, unit: str, measured: Any, **more: Any) -> Figure:
        """Adds one figure; see `Figure` for the keywords (`expected`, `tolerance`, `paper`, `note`, ...).

        Raises:
            TypeError: for values other than one number, flag or string (or an array with one element).
            ValueError: if another figure has that id.
        """
        plain: dict[str, Any] = {k: _plain(id, v) for k, v in more.items()}
        entry = Figure(id, what, unit, _plain(id, measured), **plain)
        self._add([entry])
        return entry

    def _add(self, figures: list[Figure]) -> None:
        """Adds figures, whose ids must be new."""
        known = {figure.id: figure.what for figure in self.figures}
        for figure in figures:
            if figure.id in known:
                raise ValueError(
                    f"two figures have the id {figure.id!r}: {known[figure.id]!r} and {figure.what!r}; rename one"
                )
            known[figure.id] = figure.what
        self.figures += figures

    def compare(self, id: str, what: str, measured: Any, expected: Expected, **more: Any) -> Figure:
        """Adds one figure with its expected value, in the unit of that; see `figure`."""
        value, unit, tolerance = expected
        return self.figure(id, what, unit, measured, expected=value, tolerance=tolerance, **more)

    def section(self, heading: str, body: str) -> None:
        """Adds a Markdown section below the pictures."""
        self.sections.append((heading, body))

    def picture(self, path: pathlib.Path, caption: str) -> None:
        """Adds a picture (a file in the report's folder) with its caption."""
        self.pictures.append((path.name, caption))

    def append(self, other: Report) -> None:
        """Appends the contents of another report.

        Raises:
            ValueError: for figures with the same id.
        """
        self._add(other.figures)
        self.pictures += other.pictures
        self.sections += other.sections

    def data(self, path: pathlib.Path, results: xr.Dataset) -> None:
        """Writes results as NetCDF.

        Raises:
            ValueError: for a variable without a long name or (unless it is text) a unit.
        """
        for name, variable in results.data_vars.items():
            needed = ("long_name",) if variable.dtype.kind in "OSU" else ("units", "long_name")
            lacking = [key for key in needed if key not in variable.attrs]
            if lacking:
                hint = f"set results[{name!r}].attrs[{lacking[0]!r}], or name an output of a model in `variables`"
                raise ValueError(f"{path.name}: {name} lacks the attribute {lacking[0]!r}: {hint}")
        files.netcdf(path, results)

    def write(self, out: pathlib.Path) -> pathlib.Path:
        """Writes `figures.json` and `report.md` into `out` and returns the path of the latter."""
        out.mkdir(parents=True, exist_ok=True)
        files.text(out / "figures.json", files.as_json([f.as_dict() for f in self.figures]))
        page = out / "report.md"
        files.text(page, self.markdown())
        return page

    @property
    def unmet(self) -> list[Figure]:
        """Figures that do not meet the specification."""
        return [f for f in self.figures if f.met is False]

    @property
    def contradictions(self) -> list[Figure]:
        """Figures that differ from the paper."""
        return [f for f in self.figures if f.agrees_with_paper is False]

    def counts(self) -> str:
        """Counts of agreement with the specification and with the paper, in one line; inputs are counted apart."""
        results = [f for f in self.figures if not f.input]
        wanted = [f.met for f in results if f.met is not None]
        compared = [f.agrees_with_paper for f in results if f.agrees_with_paper is not None]
        inputs = [f.agrees_with_paper for f in self.figures if f.input]
        specification = f"{sum(wanted)} of {len(wanted)} results meet the specification"
        paper = f"{sum(compared)} of {len(compared)} that the paper states agree with it"
        given = f"; {sum(map(bool, inputs))} of {len(inputs)} inputs are the paper's" if inputs else ""
        return f"{specification}; {paper if compared else 'the paper states none of them'}{given}"

    def summary(self) -> str:
        """The counts, the figures that miss the specification, and those that contradict the paper, with reasons."""
        missed = [
            f"- **{f.what}**: expected: {_wanted(f)}; computed: {_quantity(f, f.measured)}. {f.note}".rstrip()
            for f in self.unmet
        ]
        against = [
            f"- **{f.what}**: paper: {_quantity(f, _printed(f.paper))}; computed: {_quantity(f, f.measured)}. "
            f"{f.note or 'Not explained.'}"
            for f in self.contradictions
        ]
        parts = [self.counts() + "."]
        parts += ["These miss the specification:\n\n" + "\n".join(missed)] if missed else []
        parts += ["These contradict the paper:\n\n" + "\n".join(against)] if against else []
        return "\n\n".join(parts)

    def markdown(self) -> str:
        """The report as a Markdown page: summary and pictures first, the table of digits last."""
        parts = [f"# {self.title}", self.intro, self.summary()]
        parts += [f"![{caption}]({name})\n\n*{caption}*" for name, caption in self.pictures]
        parts += [f"## {heading}\n\n{body}" for heading, body in self.sections]
        parts += [f"## All results\n\n{_table(self.figures)}", f"Made by {made()}. Machine: {machine()}."]
        return "\n\n".join(part for part in parts if part) + "\n"


def labels(unit: str, long_name: str) -> dict[str, str]:
    """The attributes of a labelled variable."""
    return {"units": unit, "long_name": long_name}


def table(headings: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown; cells must not contain `|`.

    Examples:
        >>> from jaxgait.report import table
        >>> print(table(["k (N/m)", "rho"], [["18000", "0.9965"]]))
        | k (N/m) | rho |
        | --- | --- |
        | 18000 | 0.9965 |
    """
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def made() -> str:
    """The version and the commit of jaxgait, and the date."""
    by = made_by()
    return f"jaxgait {by['jaxgait']} (commit {by['commit'][:8]}{by['commit'][40:]}), {by['created'][:10]}"


def machine() -> str:
    """The kind of machine: CPU count, architecture, JAX device and versions."""
    used = device()
    where = "the CPU" if used.platform == "cpu" else f"{used.device_kind} ({used.platform})"
    return (
        f"{os.cpu_count()} CPU cores ({platform.machine()}), JAX {jax.__version__} on {where}, "
        f"Python {platform.python_version()}"
    )


def _alike(measured: Value, wanted: Value, tolerance: float) -> bool:
    """Whether two values agree: numbers within the tolerance (NaN never does), anything else if equal."""
    if not is_number(wanted):
        return measured == wanted
    return is_number(measured) and math.isfinite(measured) and abs(measured - wanted) <= tolerance  # type: ignore


def _decimal(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _printed(paper: Value) -> Value:
    """The value in a paper; the text of a number as that number."""
    number = _decimal(paper) if isinstance(paper, str) else None
    return paper if number is None else float(number)


def _precision(paper: Value, stated: float | None) -> float:
    """Half a unit of the last digit that is printed, unless a tolerance is stated."""
    number = _decimal(str(paper))
    if stated is not None or number is None:
        return stated or 0.0
    # Rounding of binary fractions must not turn a difference of exactly half a unit into a larger one.
    return 0.5000001 * 10.0 ** int(number.as_tuple().exponent)


def _plain(id: str, value: Any) -> Value:
    """A scalar of NumPy, JAX or xarray as a Python number, flag or string, which JSON can hold."""
    if value is None or (isinstance(value, float | int | str | bool) and not isinstance(value, np.generic)):
        return value
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "biufU":
        raise TypeError(f"figure {id!r} takes one number, flag or word, not {type(value).__name__} {array.shape}")
    return array.item()


def _table(figures: list[Figure]) -> str:
    return table(["result", "unit", "expected", "computed", "met", "paper", "agrees"], map(_row, figures))


def _row(f: Figure) -> list[str]:
    mark = {True: "yes", False: "**no**", None: ""}
    paper = "" if f.paper is None else f.paper if isinstance(f.paper, str) else _show(f.paper)
    return [f.what, f.unit, _wanted(f), _show(f.measured), mark[f.met], paper, mark[f.agrees_with_paper]]


def _wanted(f: Figure) -> str:
    return "" if f.expected is None else _show(f.expected) + (f" ± {f.tolerance:g}" if f.tolerance else "")


def _quantity(f: Figure, value: Value) -> str:
    """A value with its unit, for running text."""
    return with_unit(_show(value), f.unit) if is_number(value) else _show(value)


def _show(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.8g}" if isinstance(value, float) else str(value)
