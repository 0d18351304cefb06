"""Labelled results: xarray Datasets with units, long names and where they come from."""

from __future__ import annotations

import datetime
import functools
import json
import pathlib
import platform
import subprocess
from collections.abc import Mapping
from typing import Any

import diffrax
import jax
import numpy as np
import xarray as xr

from jaxgait.model import Model, State, Variable
from jaxgait.parameters import parameters
from jaxgait.run import Sampling, state_variables
from jaxgait.solve import status
from jaxgait.solve.integrate import Settings


def labelled(model: Model, name: str, values: Any, dims: tuple[str, ...]) -> xr.DataArray:
    """A variable of a model with its unit and long name; see `extra_dims` for dimensions beyond `dims`."""
    array = np.asarray(values)
    extra = extra_dims(model.variables, name, array.ndim - len(dims))
    known = model.variables.get(name)
    attrs = {} if known is None else {"units": known.unit, "long_name": known.long_name}
    return xr.DataArray(array, dims=dims + extra, attrs=attrs)


def extra_dims(variables: Mapping[str, Variable], name: str, count: int) -> tuple[str, ...]:
    """Names of the dimensions of an array variable beyond time: its own if it tells them, numbered ones otherwise."""
    known = variables.get(name)
    if known is not None and len(known.dims) >= count:
        return known.dims[:count]
    return tuple(f"{name}_{i}" for i in range(count))


def model_coordinates(model: Model, sizes: Mapping[Any, int]) -> dict[str, np.ndarray]:
    """Labels of the dimensions that a result has, from the model."""
    found = {dim: np.asarray(labels) for dim, labels in model.labels.items()}
    return {dim: labels for dim, labels in found.items() if sizes.get(dim) == len(labels)}


def trajectory_dataset(
    model: Model,
    ts: np.ndarray,
    ys: State,
    outputs: dict[str, Any],
    settings: Settings,
    precision: str,
    sampling: Sampling,
) -> xr.Dataset:
    """The Dataset of one trajectory, with the dimension `time`."""
    variables = {**state_variables(ys), **outputs}
    found = xr.Dataset({name: labelled(model, name, values, ("time",)) for name, values in variables.items()})
    time = xr.DataArray(np.asarray(ts), dims="time", attrs={"units": "s", "long_name": "time"})
    coords = {"time": time, **model_coordinates(model, found.sizes)}
    return found.assign_coords(coords).assign_attrs(provenance(model, settings, precision, sampling))


def provenance(model: Model, settings: Settings, precision: str, sampling: Sampling) -> dict[str, Any]:
    """Attributes that say where a result comes from: model, parameters, sampling, solver, tolerances, versions."""
    from jaxgait import __version__

    return {
        "model": type(model).__name__,
        "parameters": json.dumps(
            {n: jax.tree.map(lambda x: np.asarray(x).tolist(), p.value) for n, p in parameters(model).items()}
        ),
        "solver": type(settings.solver).__name__,
        "rtol": settings.rtol,
        "atol": settings.atol,
        "max_step_s": settings.max_step if settings.max_step is not None else float("inf"),
        "precision": precision,
        **_sampled(sampling),
        "status_legend": json.dumps(status.legend(model)),
        "jaxgait": __version__,
        "commit": commit(),
        "versions": f"jax {jax.__version__}, diffrax {diffrax.__version__}, Python {platform.python_version()}",
        "device": jax.devices()[0].device_kind,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def _sampled(sampling: Sampling) -> dict[str, int | float]:
    if sampling.strides is None:
        return {"samples": sampling.samples} | ({} if sampling.duration is None else {"duration_s": sampling.duration})
    return {"strides": sampling.strides, "samples_per_stride": sampling.samples}


@functools.cache
def commit() -> str:
    """The commit of a checkout of jaxgait, "-dirty" if it has local changes; empty for an installed package."""
    root = pathlib.Path(__file__).parents[2]
    if not (root / ".git").exists():
        return ""
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
