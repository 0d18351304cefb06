"""The report of a reproduction: figures measured against a paper or a specification, pictures, a Markdown page.

An experiment collects its `Figure`s and pictures in a `Report`; `Report.write` makes `figures.json` and `report.md`.
"""

from __future__ import annotations

import json
import math
import pathlib
import platform
from dataclasses import asdict, dataclass, field
from typing import Any

import jax
import numpy as np

Value = float | int | str | bool | None


@dataclass(frozen=True)
class Figure:
    """One number (or class, such as "P2") of a paper or specification, beside what was measured.

    `tolerance` is absolute and in `unit`; None means that equality is wanted (classes, counts) or, if `expected` is
    None too, that the figure is only reported.
    """

    id: str
    what: str
    unit: str
    measured: Value
    expected: Value = None
    tolerance: float | None = None
    paper: Value = None

    @property
    def met(self) -> bool | None:
        """Whether the measured value lies within the tolerance; None where nothing is expected."""
        if self.expected is None:
            return None
        if isinstance(self.expected, float | int) and not isinstance(self.expected, bool):
            if not isinstance(self.measured, float | int) or not math.isfinite(self.measured):
                return False
            return abs(self.measured - self.expected) <= (self.tolerance or 0.0)
        return self.measured == self.expected

    def as_dict(self) -> dict[str, Value]:
        """The entry of `figures.json`."""
        plain = {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in asdict(self).items()}
        return {**plain, "met": None if self.met is None else bool(self.met)}


@dataclass
class Report:
    """Collects what a reproduction shows and writes it to a folder."""

    title: str
    intro: str = ""
    figures: list[Figure] = field(default_factory=list)
    sections: list[tuple[str, str]] = field(default_factory=list)

    def figure(self, id: str, what: str, unit: str, measured: Any, **expected: Any) -> Figure:
        """Adds one figure; see `Figure` for the keywords `expected`, `tolerance`, `paper`.

        Raises:
            TypeError: a value is not one number, flag or word (arrays with one element of any library are).
        """
        plain: dict[str, Any] = {k: _plain(id, v) for k, v in expected.items()}
        entry = Figure(id, what, unit, _plain(id, measured), **plain)
        self.figures.append(entry)
        return entry

    def section(self, heading: str, body: str) -> None:
        """Adds a Markdown section below the figures."""
        self.sections.append((heading, body))

    def picture(self, path: pathlib.Path, caption: str) -> None:
        """Adds a picture (a file in the report's folder) with its caption."""
        self.sections.append(("", f"![{caption}]({path.name})\n\n*{caption}*"))

    def write(self, out: pathlib.Path) -> pathlib.Path:
        """Writes `figures.json` and `report.md` into `out` and returns the path of the latter."""
        out.mkdir(parents=True, exist_ok=True)
        (out / "figures.json").write_text(json.dumps([f.as_dict() for f in self.figures], indent=1) + "\n")
        page = out / "report.md"
        page.write_text(self.markdown())
        return page

    def markdown(self) -> str:
        """The report as a Markdown page."""
        wanted = [f for f in self.figures if f.met is not None]
        met = sum(bool(f.met) for f in wanted)
        lines = [
            f"# {self.title}",
            "",
            self.intro,
            "",
            f"Figures met: {met} of {len(wanted)}. Machine: {machine()}.",
            "",
        ]
        lines += ["| figure | unit | paper | expected | measured | met |", "|---|---|---|---|---|---|"]
        mark = {True: "yes", False: "**no**", None: ""}
        for f in self.figures:
            expected = "" if f.expected is None else _show(f.expected) + (f" ± {f.tolerance:g}" if f.tolerance else "")
            row = [f.what, f.unit, "" if f.paper is None else _show(f.paper), expected, _show(f.measured), mark[f.met]]
            lines.append("| " + " | ".join(row) + " |")
        for heading, body in self.sections:
            lines += ["", *([f"## {heading}", ""] if heading else []), body]
        return "\n".join(lines) + "\n"


def machine() -> str:
    """The kind of machine in words: CPU count, architecture, JAX device and versions."""
    import os

    device = jax.devices()[0]
    return (
        f"{os.cpu_count()} CPU cores ({platform.machine()}), JAX {jax.__version__} on {device.device_kind} "
        f"({device.platform}), Python {platform.python_version()}"
    )


def _plain(id: str, value: Any) -> Value:
    """The Python number, flag or word in a scalar of NumPy, JAX or xarray, which is all that JSON can hold."""
    if value is None or (isinstance(value, float | int | str | bool) and not isinstance(value, np.generic)):
        return value
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "biufU":
        raise TypeError(f"figure {id!r} takes one number, flag or word, not {type(value).__name__} {array.shape}")
    return array.item()


def _show(value: Value) -> str:
    return f"{value:.8g}" if isinstance(value, float) else str(value)
