"""Labelled results: xarray Datasets with units, long names and where they come from."""

from __future__ import annotations

import datetime
import functools
import json
import pathlib
import platform
import subprocess
from typing import Any

import diffrax
import equinox as eqx
import jax
import numpy as np
import xarray as xr

from jaxgait.models.base import Model, State
from jaxgait.models.parameters import parameters
from jaxgait.solve import status
from jaxgait.solve.integrate import Settings


def state_variables(y: State) -> dict[str, Any]:
    """The components of a state by name: the fields of a named tuple or module, or "state" for anything else."""
    if hasattr(y, "_asdict"):
        return {k: v for k, v in y._asdict().items() if v is not None}
    if isinstance(y, dict):
        return dict(y)
    if isinstance(y, eqx.Module):
        return {k: v for k, v in vars(y).items() if v is not None}
    return {"state": y}


def labelled(model: Model, name: str, values: Any, dims: tuple[str, ...]) -> xr.DataArray:
    """A variable of a model with its unit and long name; dimensions beyond `dims` are named after the variable."""
    array = np.asarray(values)
    extra = tuple(f"{name}_{i}" for i in range(array.ndim - len(dims)))
    known = model.variables.get(name)
    attrs = {} if known is None else {"units": known.unit, "long_name": known.long_name}
    return xr.DataArray(array, dims=dims + extra, attrs=attrs)


def trajectory_dataset(
    model: Model, ts: np.ndarray, ys: State, outputs: dict[str, Any], settings: Settings, precision: str
) -> xr.Dataset:
    """The Dataset of one trajectory, with the dimension `time`."""
    variables = {**state_variables(ys), **outputs}
    data = {name: labelled(model, name, values, ("time",)) for name, values in variables.items()}
    time = xr.DataArray(np.asarray(ts), dims="time", attrs={"units": "s", "long_name": "time"})
    return xr.Dataset(data, coords={"time": time}, attrs=provenance(model, settings, precision))


def provenance(model: Model, settings: Settings, precision: str) -> dict[str, Any]:
    """Attributes that say where a result comes from: model, parameters, solver, tolerances, versions, device."""
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
        "status_legend": json.dumps(status.legend(model)),
        "jaxgait": __version__,
        "commit": commit(),
        "versions": f"jax {jax.__version__}, diffrax {diffrax.__version__}, Python {platform.python_version()}",
        "device": jax.devices()[0].device_kind,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


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
