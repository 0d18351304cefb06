"""Results of runs and scans: opens them from files, finds their dimensions, and rebuilds their models."""

from __future__ import annotations

import json
import math
import os
import pathlib
import sys

import jax
import numpy as np

from jaxgait import registry
from jaxgait.contents import restored
from jaxgait.elements import declared
from jaxgait.ensembles.checksums import REPAIR, damage
from jaxgait.ensembles.members import VALUES
from jaxgait.ensembles.store import read_store
from jaxgait.ensembles.walks import recorded
from jaxgait.kinds import several_phases
from jaxgait.model import Model
from jaxgait.parameters import parameters, with_parameters
from jaxgait.solve.dataset import SESSION_CLASS
from jaxgait.solve.hybrid import EventDriven
from jaxgait.solve.names import PHASE
from jaxgait.states import state_variables
from jaxgait.support import files, xr
from jaxgait.support.checks import warn_user

DAMAGED = "damaged"
"""Key in the encoding of a store's result: `open_result` has warned of damage."""


def open_result(result: xr.Dataset | str | os.PathLike[str]) -> xr.Dataset:
    """Opens a result, lazily, given the path of a NetCDF file or a Zarr store; returns a Dataset unchanged.

    Raises:
        FileNotFoundError: for a missing file.
        ValueError: for a file of another kind, and for a store with files that are cut off.

    Warns:
        UserWarning: for damaged blocks or coordinates of a store, and for an interrupted scan (see `read_store`).

    Examples:
        >>> from jaxgait import Bungee, simulate
        >>> from jaxgait.ensembles import open_result
        >>> simulate(Bungee(), duration=10.0).to_netcdf("jump.nc", engine="h5netcdf")
        >>> print(open_result("jump.nc").attrs["model"])
        Bungee
    """
    if not isinstance(result, str | os.PathLike):
        return result
    path = files.expanded(result)
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file")
    if harm := damage(path) if path.is_dir() else "":
        warn_user(f"{path} is damaged: {harm}")
    if path.suffix.lower() == ".json":
        raise ValueError(
            f"{path} is a record of numbers, not a result that can be shown: give the file or the store that --out or "
            "--store wrote; pictures of a search and a fit are in their --report, and `jaxgait motion` shows a walk"
        )
    try:
        data = read_store(path, check=False) if path.is_dir() else xr.open_dataset(path, engine="h5netcdf")
    except Warning:  # of an interrupted scan, where warnings are errors
        raise
    except Exception as error:  # the readers may raise anything
        kind = "Zarr store" if path.is_dir() else "NetCDF-4 file"
        why = f" ({error})"  # for a file of another kind, the library's message would not state what is needed
        if path.is_file() and os.access(path, os.R_OK) and not _is_hdf5(path):
            why = ": give a file or a store that --out or --store wrote; `jaxgait motion` shows recordings of a walk"
        raise ValueError(f"{path} is not the result of a run or scan: it is not a readable {kind}{why}") from error
    plain = [(name, x) for name, x in data.data_vars.items() if harm and not x.encoding.get("compressors")]
    for name, x in plain:  # uncompressed, as a scan writes them
        size = math.prod(x.encoding.get("chunks", ())) * x.dtype.itemsize
        if any(file.stat().st_size != size for file in path.glob(f"{name}/c/**/*") if file.is_file()):
            raise ValueError(f"{path} cannot be read: it is damaged, some files of {name} are cut off; {REPAIR}")
    if harm:
        data.encoding[DAMAGED] = True
    return data


def _is_hdf5(path: pathlib.Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(4) == b"\x89HDF"


def check_coordinates(scan: xr.Dataset) -> None:
    """Checks that a scan, or a member of it, still has the values of its members.

    Raises:
        ValueError: if not: after `drop=True`, an average, or renaming.
    """
    lost = [name for name in json.loads(scan.attrs.get(VALUES, "[]")) if name not in scan.coords]
    if lost:
        raise ValueError(
            f"its coordinates lack the values of {', '.join(lost)}, which its members were given: select members "
            "without drop=True and under the names of the parameters; an average over members is not a member"
        )


def is_run(data: xr.Dataset) -> bool:
    """Whether this is one run over time."""
    return "status" not in data and "time" in data.coords and data["time"].dims == ("time",)


def members_dims(scan: xr.Dataset) -> tuple[str, ...]:
    """Dimensions of the box of members: those of `status`, otherwise those that all results share.

    Raises:
        ValueError: if there are none.
    """
    if "status" in scan:
        dims = [str(d) for d in scan["status"].dims]
    else:
        results = [x for x in scan.data_vars.values() if x.dtype.kind in "fiub"]
        shared = set.intersection(*(set(x.dims) for x in results)) if results else set()
        dims = [str(d) for d in scan.dims if d in shared and d not in ("time", "instant", "event")]
    if not dims and "status" in scan:
        run_it = "`jaxgait run` with its parameters, or in Python explore(again(member)), shows a member's motion"
        raise ValueError(f"this is one member of a scan, or an average, without time histories: {run_it}")
    if not dims:
        raise ValueError("this is not a scan, its results share no dimension")
    return tuple(dims)


def flat(x: xr.DataArray, dims: tuple[str, ...]) -> np.ndarray:
    """Values of a result over all dimensions of the box, (members, ...), in its unit."""
    return x.transpose(*dims, ...).to_numpy().reshape(-1, *(n for d, n in x.sizes.items() if d not in dims))


def over_time(data: xr.Dataset) -> xr.Dataset:
    """A result along `time`, also one member of a scan whose members have times of their own.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.ensembles.results import over_time
        >>> member = xr.Dataset({"time": ("instant", [0.0, 0.5]), "height": ("instant", [80.0, 79.0])})  # s, m
        >>> over_time(member).height.dims
        ('time',)
    """
    if "time" in data and data["time"].dims == ("instant",):
        return data.set_coords("time").swap_dims(instant="time")
    return data


def missing_histories(model: Model, run: xr.Dataset) -> list[str]:
    """Names of the histories that a result lacks: states and outputs of a model, and the phase, if there are several.

    Examples:
        >>> from jaxgait import Bungee, ensemble
        >>> from jaxgait.ensembles.results import missing_histories
        >>> falls = ensemble(Bungee(), {"mass": [60.0]}, duration=1.0, samples=5, trajectories=["x", "v", "height"])
        >>> missing_histories(Bungee(), falls)
        ['acceleration', 'drag_power', 'energy', 'rope_force']
    """
    y0 = jax.eval_shape(model.initial_state)
    names = [*state_variables(y0), *jax.eval_shape(model.outputs, 0.0, y0)]
    names += [PHASE] if run.attrs.get("scheme") == EventDriven.__name__ and several_phases(model) else []
    return [name for name in names if name not in run.data_vars]


def recorded_class(run: xr.Dataset) -> type[Model] | None:
    """The model class of a result: registered, imported, or made in this session; None if it is none of these.

    A file never decides what is imported. For a result of another script or notebook (`__main__`), this is the class of
    the same name in the current one, which may have other equations.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.ensembles.results import recorded_class
        >>> recorded_class(xr.Dataset(attrs={"model": "Bungee"})).__name__
        'Bungee'
        >>> print(recorded_class(xr.Dataset(attrs={"model": "Car", "module": "not_imported"})))
        None
    """
    name, module = str(run.attrs.get("model")), str(run.attrs.get("module", ""))
    if known := registry.known_as(name, module):
        return registry.model_class(known)
    found, _ = registry.made_here(str(run.attrs.get(SESSION_CLASS, "")))
    found = found or getattr(sys.modules.get(module), name, None)
    return found if isinstance(found, type) and issubclass(found, Model) else None


def rebuilt(run: xr.Dataset) -> Model:
    """The model of a result, from its attributes: of a registered class, an imported module, or this session.

    Raises:
        ValueError: for an unknown model, also of another notebook or script, for parts that were not recorded, such as
            functions, or anything but parameters in a file of an early version, and for a member of a scan without its
            values.

    Warns:
        UserWarning: if a notebook has made the class again since the run.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.ensembles.results import rebuilt
        >>> recorded = {"model": "Bungee", "parameters": '{"mass": 80.0}', "contents": "{}"}  # as simulate writes them
        >>> print(float(rebuilt(xr.Dataset(attrs=recorded)).mass))  # kg
        80.0
    """
    if "model" not in run.attrs:
        raise ValueError("the data do not state the model that they are of: give model=...")
    kind, name = recorded_class(run), str(run.attrs["model"])
    made, again = registry.made_here(str(run.attrs.get(SESSION_CLASS, "")))
    if kind is None or (run.attrs.get("module") == "__main__" and made is None):
        if run.attrs.get("module") == "__main__":
            what = "was made in another notebook or script"
            how = f"give it, model={name}(...), in Python; commands know only classes that are entry points"
        else:
            what = "is not registered here"
            how = "register it as an entry point (see docs/own_mechanism.md); in Python, import it or give model=..."
        raise ValueError(f"the result is of the model {name!r}, which {what}: {how}")
    if again:
        warn_user(f"the class {name} was made again since this run, which is taken for one of the new {name}")
    return remade(kind, run)


def remade(kind: type[Model], run: xr.Dataset) -> Model:
    """A model of a class with the contents and parameters that a result records, whichever class the result names.

    Raises:
        ValueError: as `rebuilt`, for what was not recorded.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait import Bungee
        >>> from jaxgait.ensembles.results import remade
        >>> recorded = {"parameters": '{"mass": 60.0}', "contents": "{}"}  # as simulate writes them
        >>> print(float(remade(Bungee, xr.Dataset(attrs=recorded)).mass))  # kg
        60.0
    """
    try:
        if "contents" not in run.attrs:  # as in files of early versions: the defaults may not be what it was made with
            raise ValueError("its laws, choices and motion were not recorded")
        held = json.loads(run.attrs["contents"])
        own = {str(n): x.item() for n, x in run.coords.items() if x.ndim == 0}  # for one member of a scan
        check_coordinates(run)
        if (motion := recorded(run)) is not None:
            held["drive"] = motion.item()
        model = with_parameters(restored(kind, held), json.loads(run.attrs["parameters"]))
        known = parameters(model)
        if lost := [n for n, one in known.items() if one.value is None]:
            raise ValueError(f"its {lost[0]} was not recorded")
        return with_parameters(model, {n: own[n] for n in declared(known, own)})
    except (ValueError, KeyError, TypeError) as error:
        message = f"the {kind.__name__} of this result cannot be made from its attributes ({error}): give it, model=..."
        raise ValueError(message) from error
