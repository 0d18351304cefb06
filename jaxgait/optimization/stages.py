"""Continuation: a search that proceeds from optimum to optimum while a smoothing parameter moves to its true value.

A smoothed law biases the position of the optimum, not only the objective. Each search starts from the previous optimum.
"""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from jaxgait.model import Model
from jaxgait.optimization.optimum import Optimum
from jaxgait.optimization.space import Starts, real
from jaxgait.parameters import ParameterError, parameter_info, with_parameters

__all__ = ["Stages", "through_stages"]

Stages = Mapping[str, Sequence[float]]
"""Successive values by dotted parameter name, each in the parameter's unit; equally many of each."""
Search = Callable[[Model, Starts, pathlib.Path | None], Optimum]


def through_stages(
    search: Search, model: Model, stages: Stages, over: Sequence[str], starts: Starts, checkpoint: Any
) -> Optimum:
    """Searches at the first values of some parameters, then from each optimum at the next values.

    Args:
        search: from a model, starts and a checkpoint to its optimum.
        model: the mechanism.
        stages: the values, the true ones last.
        over: names of the parameters that are searched over or vary between scenarios.
        starts: of the first search.
        checkpoint: a file; later stages append their number to its name.

    Returns:
        The optimum at the last values, with all stages in `Optimum.stages`.

    Raises:
        ParameterError: for invalid stages.

    Examples:
        >>> from jaxgait import Bungee, optimize
        >>> from jaxgait.optimization.stages import through_stages
        >>> task = {"minimize": "peak_rope_force", "over": {"stiffness": (15.0, 40.0)}}
        >>> search = lambda model, starts, file: optimize(model, **task, subject_to=["clearance >= 0"], starts=starts)
        >>> found = through_stages(search, Bungee(), {"quadratic_drag": [1.5, 1.0]}, ["stiffness"], 1, None)
        >>> print(found.stages.stiffness.values.round(1), found.moved["stiffness"] > 0.0)  # N/m
        [22.6 26.3] True
    """
    values = _checked(model, stages, over)
    found: list[Optimum] = []
    for number in range(len(next(iter(values.values())))):
        begin: Starts = [found[-1].best] if found else starts
        changed = with_parameters(model, {name: column[number] for name, column in values.items()})
        changed.validate()
        file = None if checkpoint is None else _numbered(pathlib.Path(checkpoint), number)
        found.append(search(changed, begin, file))
    return dataclasses.replace(found[-1], stages=_labelled(model, values, found))


def _checked(model: Model, stages: Stages, over: Sequence[str]) -> dict[str, list[float]]:
    if not (isinstance(stages, Mapping) and stages):
        raise ParameterError(f"continue_in must be a dict of values by parameter, got {stages!r}")
    for name, column in stages.items():
        parameter_info(model, name)
        if name in over:
            raise ParameterError(f"{name} is searched over or in `across`: continue_in takes another parameter")
        if isinstance(column, str) or np.ndim(column) != 1 or len(column) < 2:
            raise ParameterError(f"continue_in needs at least two values of {name}, got {column!r}")
    if len({len(column) for column in stages.values()}) > 1:
        raise ParameterError("continue_in needs the same number of values for each parameter")
    return {name: [real(x, f"a value of {name}") for x in column] for name, column in stages.items()}


def _numbered(path: pathlib.Path, number: int) -> pathlib.Path:
    return path if number == 0 else path.with_name(f"{path.name}.{number}")


def _labelled(model: Model, values: Mapping[str, list[float]], found: Sequence[Optimum]) -> xr.Dataset:
    """The stages as a Dataset over `stage`."""
    columns = {**values, **{name: [one.best[name] for one in found] for name in found[0].best}}
    data: dict[str, Any] = {}
    for name, column in columns.items():
        info = parameter_info(model, name)
        data[name] = ("stage", np.array(column), {"units": info.unit, "long_name": info.doc})
    data["objective"] = ("stage", np.array([one.objective for one in found]), {"long_name": "objective at the optimum"})
    evaluations = np.array([int(one.ends.evaluations.sum()) for one in found])
    data["evaluations"] = ("stage", evaluations, {"units": "1", "long_name": "runs that were evaluated"})
    return xr.Dataset(data)
