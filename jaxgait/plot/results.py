"""Opens results that are given as a Dataset or as the path of a file."""

from __future__ import annotations

import math
import os
import pathlib
import warnings

import xarray as xr

from jaxgait.ensembles import damaged, read_store
from jaxgait.ensembles.store import damaged_labels

MAX_NAMED = 8
"""Largest number of damaged blocks to name."""


def opened(result: xr.Dataset | str | os.PathLike[str]) -> xr.Dataset:
    """A result, read lazily if it is the path of a NetCDF file or of a Zarr store.

    Raises:
        FileNotFoundError: for a missing file.
        ValueError: for a file of another kind, and for a store with files that are cut off.

    Warns:
        UserWarning: for damaged blocks or coordinates of a store.

    Examples:
        >>> from jaxgait import Bungee, simulate
        >>> from jaxgait.plot.results import opened
        >>> simulate(Bungee(), duration=10.0).to_netcdf("jump.nc", engine="h5netcdf")
        >>> print(opened("jump.nc").attrs["model"])
        Bungee
    """
    if not isinstance(result, str | os.PathLike):
        return result
    path = pathlib.Path(result)
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file")
    bad = damaged(path) if path.is_dir() else []
    repair = "to repair it, add --repair to the command that wrote the scan (Python: repair=True)"
    if bad:
        blocks = f"block {', '.join(map(str, bad[:MAX_NAMED]))}{', ...' if len(bad) > MAX_NAMED else ''}"
        warnings.warn(  # with stacklevel 1, only once per file
            f"{path} is damaged: do not trust {blocks}, whose files fail their checksum; {repair}", stacklevel=1
        )
    labels = damaged_labels(path) if path.is_dir() else []
    if labels:
        warnings.warn(f"{path} is damaged: {', '.join(labels)} of its coordinates; {repair}", stacklevel=1)
    if path.suffix.lower() == ".json":
        raise ValueError(
            f"{path} is a record of numbers, not a result that can be shown: give the file or the store that --out or "
            "--store wrote; pictures of a search and a fit are in their --report, and `jaxgait motion` shows a walk"
        )
    try:
        data = read_store(path) if path.is_dir() else xr.open_dataset(path, engine="h5netcdf")
    except Exception as error:  # the readers may raise anything
        kind = "Zarr store" if path.is_dir() else "NetCDF-4 file"
        why = f" ({error})"  # of a file that is none at all, the library's words would not say what is wanted
        if path.is_file() and os.access(path, os.R_OK) and not _is_hdf5(path):
            why = ": give a file or a store that --out or --store wrote; `jaxgait motion` shows recordings of a walk"
        raise ValueError(f"{path} is not a result that can be shown: it is not a readable {kind}{why}") from error
    for name, x in data.data_vars.items() if bad else ():
        size = math.prod(x.encoding.get("chunks", ())) * x.dtype.itemsize
        if any(file.stat().st_size != size for file in path.glob(f"{name}/c/**/*") if file.is_file()):
            raise ValueError(f"{path} cannot be read: it is damaged, some files of {name} are cut off; {repair}")
    return data


def _is_hdf5(path: pathlib.Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(4) == b"\x89HDF"
