"""`jaxgait fit` as it is typed; what it does is in `jaxgait.calibrating`. Imports nothing heavy."""

from __future__ import annotations

import dataclasses
import pathlib
from typing import Literal

from jaxgait.options import Found, Mechanism, Span, Steps

__all__ = ["Fit"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fit(Found, Steps, Span, Mechanism):
    """Fit parameters to a measured curve by least squares, with their uncertainty and what the curve leaves open.

    The curve is a CSV file whose header names the columns with their units: times as "time (s)" or "time (ms)", or
    phases as "stride (%)" or "phase (1)"; values, named as an output of the model, as "height (m)"; if they are
    known, standard deviations as "sd (m)". Units are converted where they measure the same, and never assumed.

    The exit code is 1 if the fit is no minimum, or if the curve leaves a direction of the parameters open.

    Example: `jaxgait fit bungee --measured jump.csv --over stiffness=15:40 rope_length=24:34 --report out/fit`
    """

    measured: str | None = None
    """The measured curve: a CSV file; for a knee also a walk (JSON) or an embedded gait (`jaxgait motion` lists
    them)."""
    over: tuple[str, ...] = ()
    """Bounds, as name=low:high, or name=low:high:unit where the numbers are in another unit than the parameter's."""
    output: str | None = None
    """Output that was measured, as `jaxgait run MODEL --list` shows them; without it, what the column is named."""
    noise: float | None = None
    """Standard deviation of the measured values, in their unit, if the file has none. Estimated from the residual if
    neither says it, as if the model were right."""
    gradient: Literal["auto", "gait", "run", "differences"] = "auto"
    """Of the periodic gait, through the whole run, or by central differences; auto: of the gait for data over the
    stride, if there is one."""
    starts: int = 4
    """Points to start from: the model's own values, then points spread over the box."""
    iterations: int = 50
    """Evaluations of each start at most."""
    profile: bool = False
    """Profile likelihood of every parameter as well: intervals that need no parabola, for some dozen fits each."""
    report: pathlib.Path | None = None
    """Folder for a report: pictures, and one page (report.html) that holds them all."""
    out: pathlib.Path | None = None
    """NetCDF file to write: curves, parameters, errors, profiles, with units."""

    def __call__(self) -> int:
        """Runs it."""
        from jaxgait import calibrating

        return calibrating.fitted(self)
