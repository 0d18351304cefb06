"""Files that are written whole or not at all: a disk that fills up costs neither the old file nor the new result."""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator

from jaxgait import xr

__all__ = ["data", "netcdf", "text"]

_PER_VARIABLE, _PER_FILE = 8192, 65536
"""Bytes of a NetCDF file beside its numbers."""


def text(path: str | os.PathLike[str], content: str) -> None:
    """Writes a text file.

    Args:
        path: of the file; an old one is replaced when the new one is complete.
        content: of the file.

    Raises:
        OSError: naming the file.

    Examples:
        >>> import pathlib
        >>> from jaxgait import files
        >>> files.text("note.txt", "all is well")
        >>> pathlib.Path("note.txt").read_text()
        'all is well'
    """
    data(path, content.encode())


def data(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes a file of any kind; see `text`."""
    with _replaced(pathlib.Path(path)) as draft, open(draft, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def netcdf(path: str | os.PathLike[str], result: xr.Dataset) -> None:
    """Writes a labelled result as NetCDF; where that fails, into a new folder for temporary files, which is said.

    Args:
        path: of the file; an old one is replaced when the new one is complete.
        result: what is written.

    Raises:
        OSError: naming the file, and the one that holds the result instead.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait import files
        >>> files.netcdf("x.nc", xr.Dataset({"x": ("time", [1.0, 2.0])}))
        >>> xr.load_dataset("x.nc").x.values
        array([1., 2.])
    """
    try:
        _netcdf(pathlib.Path(path), result)
    except OSError as error:
        spare = pathlib.Path(tempfile.mkdtemp(prefix="jaxgait-"), pathlib.Path(path).name)
        try:
            _netcdf(spare, result)
        except OSError:
            shutil.rmtree(spare.parent, ignore_errors=True)
            raise error from None
        raise OSError(f"{error}; what was to be in it is in {spare}") from error


def _netcdf(path: pathlib.Path, result: xr.Dataset) -> None:
    with _replaced(path) as draft:
        # First, since HDF5 on a disk that fills up leaves objects behind that crash the process when it ends.
        need = result.nbytes + _PER_VARIABLE * len(result.variables) + _PER_FILE
        if need > shutil.disk_usage(draft.parent).free:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        result.to_netcdf(draft, engine="h5netcdf")


@contextlib.contextmanager
def _replaced(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A draft beside a file, which takes its place in the end."""
    target = path.resolve()  # of a link: what it leads to
    draft = target.with_name(f".{target.name}.{os.getpid()}.draft")
    try:
        yield draft
        os.replace(draft, target)
    except OSError as error:
        raise OSError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
