"""The result of a search, and what is known of the surroundings of its best point."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxgait.ensembles.spacing import logarithmic
from jaxgait.model import Model
from jaxgait.optimization.space import variable
from jaxgait.support import files, xr
from jaxgait.support.units import with_unit

OBJECTIVE, BOUND, FAILED, UNSEARCHED = "objective", "bound", "failed: ", "not searched farther"
"""What ends the tolerance of a parameter (see `Local.stops`); "failed: " precedes how runs fail."""
NO_OPTIMUM = "it is no optimum"
"""Part of `Optimum.why_stopped`: a better design was found next to the best one."""
ON_THE_WAY = "on the way, better than all ends"
"""Part of `Optimum.why_stopped`: no start ended at a design as good as the best one."""
CONSTANT = "the objective is the same at all"
"""Part of `Optimum.why_stopped`: the objective does not depend on the design."""
AGREEMENT = 0.05
"""Slopes and differences of values that differ by less, relative to the slopes, confirm each other."""


@dataclass(frozen=True)
class Local:
    """The objective around the best point, from differences of exact slopes over 2 % or 0.1 % of the bounds.

    Examples:
        >>> from jaxgait import Bungee, optimize
        >>> box, safe = {"stiffness": (15.0, 40.0)}, ["clearance >= 0"]
        >>> found = optimize(Bungee(), minimize="peak_rope_force", over=box, subject_to=safe, starts=1)
        >>> multipliers = found.local.multipliers
        >>> print({name: round(gain) for name, gain in multipliers.items()})  # N per m of clearance given up
        {'clearance >= 0': 12}
    """

    slope: float
    """Norm of the slope not balanced by bounds and limits, in units of the objective per box."""
    active: tuple[str, ...]
    """Bounds and limits on which the optimum lies."""
    multipliers: dict[str, float]
    """Gain of the objective per unit by which each of them is relaxed."""
    hessian: xr.DataArray
    """Second derivatives of the objective (with limits: of the Lagrangian) in the parameters' units."""
    curvature: Float[np.ndarray, " n"]
    """Its eigenvalues in the unit box, the flattest direction (the ridge) first."""
    directions: Float[np.ndarray, "n n"]
    """Their directions in the unit box, as rows."""
    loss: float
    """Loss of the objective for which the tolerances are computed, in its unit: a thousandth of the objective, or of a
    tenth of its variation between the starts and the best point, whichever is larger."""
    room: dict[str, tuple[float, float]]
    """By how much each parameter alone may fall and rise for that loss, in its unit, within box and limits. The ends
    were evaluated: they, or the losses there, are accurate to 10 %. Where the stop is "not searched farther", it is the
    farthest change that was evaluated and tolerated; the end lies beyond."""
    stops: dict[str, tuple[str, str]]
    """What stops each parameter alone from falling and rising further: "objective" (the loss), "bound", the text of a
    limit, "failed: ", followed by how runs or gaits fail there, or "not searched farther": the largest
    number of evaluations found no end, as where gaits are found only in short steps."""
    fails: dict[str, tuple[float, float]]
    """Where failing runs stop a parameter: the smallest evaluated changes of it alone, down and up, in its unit, at
    which runs failed, or no gait was found from the nearest one; NaN where something else stops it."""
    ridge: dict[str, tuple[float, float]]
    """As `room`, if all other free parameters follow, along the active limits (their own bounds are ignored); those on
    bounds stay, but each of them alone may move inwards. NaN for one on a bound if none can follow along the limits,
    and for all where `ridge_unknown` says why. An estimate by the second derivatives."""
    difference: float
    """Largest deviation of slopes from differences of values to either side, relative to the slopes there (up to
    1); if it is large, the gradient is wrong, or the objective bends within 0.1 % of the bounds."""
    ridge_unknown: str
    """Why the second derivatives give no `ridge`: they rest on slopes that differences of values contradict, or the
    point is not an optimum of the parabola that they describe; empty if the ridge is known."""


@dataclass(frozen=True)
class Reference:
    """The gait of the best point, computed again with the model's own tolerances because the search's are coarser.

    Examples:
        >>> from jaxgait.optimization.optimum import Reference
        >>> print(Reference(1e-6, 0.9982, 1.01, "").multiplier)
        1.01
    """

    rtol: float
    """Relative tolerance."""
    objective: float
    """In its unit; NaN if no gait was found."""
    multiplier: float
    """Modulus of the largest Floquet multiplier; NaN if no gait was found."""
    disagreement: str
    """How it differs from what the search found, if it does so in its stability or by more than the search resolves."""


@dataclass(frozen=True, repr=False)
class Optimum:
    """The result of a search.

    Examples:
        >>> from jaxgait import Bungee, optimize
        >>> box, safe = {"stiffness": (15.0, 40.0)}, ["clearance >= 0"]
        >>> found = optimize(Bungee(), minimize="peak_rope_force", over=box, subject_to=safe, starts=1)
        >>> print(round(found.objective), found.local.active, found.moved)  # N, the active limit; one stage only
        1316 ('clearance >= 0',) {}
        >>> found.to_json("best.json")
        >>> print(found.sense, found.sign, found.measure, found.unit, found.bounds, found.units)
        minimize -1.0 peak_rope_force N {'stiffness': (15.0, 40.0)} {'stiffness': 'N/m'}
        >>> sorted(found.as_dict())[:3]
        ['basins', 'best', 'bounds']
    """

    model: Model
    """The model with the best parameters; it starts at `initial`."""
    start: dict[str, list[float]]
    """The starting points, by parameter."""
    best: dict[str, float]
    objective: float
    """The objective at the best point."""
    why_stopped: list[str]
    """Why each start stopped, one sentence each."""
    history: xr.Dataset
    """Parameters, objective, limits, slopes and status over (`start`, `iteration`); ended starts repeat their end."""
    method: str = ""
    gradient: str = ""
    """Which gradient was used."""
    ends: xr.Dataset = field(default_factory=lambda: xr.Dataset())  # noqa: PLW0108 (xarray is imported on use)
    """Over `start`: where each ended, in which basin, and its number of evaluations."""
    basins: xr.Dataset = field(default_factory=lambda: xr.Dataset())  # noqa: PLW0108
    """Over `basin`: the best end of the starts that ended at the same point, and their number; the best basin first."""
    limits: dict[str, float] = field(default_factory=dict)
    """Slack of each limit at the best point, in its unit."""
    local: Local | None = None
    """The surroundings of the best point; None for a worst case (which has kinks), and without slopes there."""
    scenarios: xr.Dataset | None = None
    """Objective, limited measures and weight of each scenario at the best point; None without scenarios."""
    stages: xr.Dataset | None = None
    """With `continue_in`: over `stage`, its values, the optimum, the objective and the number of evaluations."""
    sense: str = "minimize"
    """"maximize" or "minimize"."""
    measure: str = "objective"
    """The name of what was maximised or minimised."""
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Bounds of the parameters, in their units; `jaxgait.Log` where the search was in the logarithm."""
    initial: dict[str, Any] = field(default_factory=dict)
    """Components of the initial state that were given or found, as `simulate(model, initial_state=...)` takes them."""
    gait: Float[np.ndarray, "*scenarios components"] | None = None
    """State at the beginning of the periodic gait at the best point (in each scenario), if its gradient was used."""
    reference: Reference | None = None
    """The same gait with the model's own tolerances; None if those of the search are no coarser, and without a gait."""

    def __repr__(self) -> str:
        best = ", ".join(f"{name} = {with_unit(f'{x:g}', self.units[name])}" for name, x in self.best.items())
        ends = "".join(f"\n  start {i}: {why}" for i, why in enumerate(self.why_stopped))
        what = f"{self.sense} {self.measure}: {with_unit(f'{self.objective:g}', self.unit)}"
        return f"<Optimum of {type(self.model).__name__}, {what} at {best}{ends}>"

    @property
    def sign(self) -> float:
        """1 if the objective was maximised, -1 if it was minimised; no unit."""
        return 1.0 if self.sense == "maximize" else -1.0

    @property
    def unit(self) -> str:
        """The unit of the objective; empty for a function."""
        return str(self.history["objective"].attrs.get("units", "")) if "objective" in self.history else ""

    @property
    def units(self) -> dict[str, str]:
        """The units of the parameters."""
        return {name: variable(self.model, name).unit for name in self.best}

    @property
    def moved(self) -> dict[str, float]:
        """Changes of parameters and objective from the first stage's optimum to the last one's, in their units."""
        if self.stages is None:
            return {}
        names = (*self.best, "objective")
        return {name: float(self.stages[name][-1] - self.stages[name][0]) for name in names}

    def to_json(self, path: pathlib.Path | str) -> None:
        """Writes the result of `as_dict` to a file."""
        files.text(path, files.as_json(self.as_dict()))

    def as_dict(self) -> dict[str, Any]:
        """The task (model, sense, measure, bounds, units, names of `logarithmic` bounds if any) and all results.

        The `gait`, in the units of its components, is among them if there is one.
        """
        names = ("sense", "measure", "unit", "bounds", "units", "start", "best", "initial", "objective", "why_stopped")
        record: dict[str, Any] = {"model": type(self.model).__name__}
        record |= {name: getattr(self, name) for name in (*names, "method", "gradient", "limits")}
        if spread := logarithmic(self.bounds):
            record["logarithmic"] = spread
        columns = lambda data: {name: column.values for name, column in data.data_vars.items()}
        record |= {name: columns(getattr(self, name)) for name in ("history", "ends", "basins")}
        if self.gait is not None:
            record["gait"] = self.gait
        if self.stages is not None:
            record["stages"] = columns(self.stages)
        record["reference"] = self.reference and vars(self.reference)
        local = self.local and vars(self.local) | {"hessian": self.local.hessian.values}
        each = None
        if self.scenarios is not None:
            each = {"scenario": self.scenarios.scenario, **self.scenarios.data_vars}
            each = {name: column.values.ravel() for name, column in each.items()}
        return files.plain(record | {"local": local, "scenarios": each})
