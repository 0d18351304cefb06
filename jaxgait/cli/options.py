"""Groups of options, as the parser of the command line knows them. Imports nothing heavy."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Annotated, Any, Literal

import tyro

from jaxgait import registry

__all__ = ["Found", "Further", "Mechanism", "Positional", "Span", "Steps"]

Positional = tyro.conf.Positional
ModelName = Annotated[str, tyro.conf.arg(metavar=f"{{{','.join(registry.models())}}}")]
Precision = Literal["float64", "float32"]
POINTS = 7
"""Points along a front, if it is not said how many."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Found:
    """Where what was found goes, for other programs."""

    json: pathlib.Path | None = None
    """File for what was found, as JSON; "-": the standard output, while the text for people goes to stderr."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mechanism:
    """Which mechanism, with which numbers; `jaxgait run MODEL --list` shows them all."""

    model: Positional[ModelName]
    """Which mechanism."""
    preset: str | None = None
    """Parameter set of the model, by name."""
    set: tuple[str, ...] = ()
    """Parameters and choices, as name=value: damper.k=2e4 damper.c=1000; arrays as name=0.1,0.2."""
    initial: tuple[str, ...] = ()
    """Components of the initial state, as name=value."""
    motion: str | None = None
    """Measured motion for models that take it: a walk (JSON), a recording (C3D, TRC, MOT, CSV), a stride (CSV), or
    an embedded gait (`jaxgait motion` lists them)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Span:
    """Length and sampling of a run."""

    strides: int | None = None
    """Strides to run (models with a period)."""
    duration: float | None = None
    """Seconds to run."""
    samples: int | None = None
    """Samples per stride (by default 100) of a run counted in strides, or in total (1000)."""

    @property
    def sampling(self) -> dict[str, Any]:
        """As `simulate` and `ensemble` take it."""
        return {"strides": self.strides, "duration": self.duration, "samples": self.samples}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Steps:
    """How it moves. An option of a scheme is a field here, under the name that `simulate` and `ensemble` know it by."""

    scheme: str | None = None
    """Integration scheme, if several suit the model (`jaxgait run MODEL --list` shows them)."""
    dt: float | None = None
    """Length in s of the steps of schemes with fixed steps."""
    solver: str | None = None
    """Solver of smooth motion by name, such as Verner8 (`jaxgait run MODEL --list` shows them)."""
    rtol: float | None = None
    """Relative tolerance of adaptive steps."""
    atol: float | None = None
    """Absolute tolerance, in the units of the state."""
    max_step: float | None = None
    """Longest step in s."""
    max_steps: int | None = None
    """Number of steps after which a trajectory is given up."""
    max_events: int | None = None
    """Number of events after which a trajectory with events is given up."""
    precision: Precision = "float64"
    """Floating-point precision of the computation."""

    @property
    def options(self) -> dict[str, Any]:
        """As `simulate` and `ensemble` take them: those that were given."""
        found = {field.name: getattr(self, field.name) for field in dataclasses.fields(Steps)}
        return {name: value for name, value in found.items() if value is not None}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Further:
    """What `jaxgait optimize` can add to a search."""

    report: pathlib.Path | None = None
    """Folder for a report: pictures (PNG, and PDF for print), and one page (report.html) that holds them all."""
    front: tuple[str, ...] = ()
    """For the report, the best compromises of the objective with a second one: maximize MEASURE, or minimize MEASURE;
    the folder then holds front.nc too."""
    points: int | None = None
    """Points along the front, including both ends; 7 by default."""
    sensitivities: tuple[str, ...] | None = None
    """The effect of 1 % of each parameter at the optimum: of the parameters named here, or of all; in the report, and
    in sensitivities.nc next to it."""
