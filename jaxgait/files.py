"""Files that are written whole or not at all: a disk that fills up costs neither the old file nor the new result."""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import platform
import shutil
import tempfile
import uuid
from collections.abc import Iterator

from jaxgait import xr

__all__ = ["data", "draft_beside", "netcdf", "text"]

_PER_VARIABLE, _PER_FILE = 8192, 65536
"""Bytes of a NetCDF file beside its numbers."""
_LINKS = 40
"""Links in a row that are followed, as many as Linux follows."""


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
    with _replaced(pathlib.Path(path)) as draft:
        draft.write_bytes(content)


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
        raise _told(error, f"{error}; what was to be in it is in {spare}") from error


def _netcdf(path: pathlib.Path, result: xr.Dataset) -> None:
    with _replaced(path) as draft:
        # First, since HDF5 on a disk that fills up leaves objects behind that crash the process when it ends.
        need = result.nbytes + _PER_VARIABLE * len(result.variables) + _PER_FILE
        if need > shutil.disk_usage(draft.parent).free:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        try:
            result.to_netcdf(draft, engine="h5netcdf")
        except RuntimeError as error:  # HDF5's, such as for a quota that is found exceeded when the file is closed
            raise OSError(str(error)) from error


@contextlib.contextmanager
def _replaced(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A draft beside a file, which takes its place in the end; where it must not or cannot, its content is copied."""
    target = pathlib.Path(os.path.realpath(path))  # of a link: what it leads to
    draft = None
    try:
        old = path.exists()
        if old and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, "it is read-only")
        in_place = _is_descriptor(path) or (old and not path.is_file())
        try:
            draft = _draft(pathlib.Path(tempfile.gettempdir()) if in_place else target.parent, private=old)
        except PermissionError:
            if not old:
                raise
            in_place, draft = True, _draft(pathlib.Path(tempfile.gettempdir()), private=True)
        yield draft
        if in_place:
            with open(draft, "rb") as content, open(path, "wb") as file:
                shutil.copyfileobj(content, file)
        else:
            with open(draft, "rb+") as content:
                os.fsync(content.fileno())
            if old:
                shutil.copymode(target, draft)
            os.replace(draft, target)
    except OSError as error:
        raise _told(error, f"cannot write {path}: {error.strerror or error}") from error
    finally:
        if draft is not None:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)


def draft_beside(place: pathlib.Path) -> pathlib.Path:
    """A name for the draft of a folder, beside it; drafts that killed processes of this machine left are removed."""
    mine = f".{place.name}.draft-{platform.node()}-"
    there = list(place.parent.iterdir()) if os.name == "posix" and place.parent.is_dir() else []
    for left in there:  # Windows cannot be asked which processes live
        number = left.name.removeprefix(mine)
        if number != left.name and number.isdigit() and not _lives(int(number)):
            shutil.rmtree(left, ignore_errors=True)
    return place.with_name(f"{mine}{os.getpid()}")


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True


def _draft(folder: pathlib.Path, private: bool) -> pathlib.Path:
    """A new empty file with a short name that nobody else has chosen."""
    draft = folder / f".{uuid.uuid4().hex}.draft"
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if private else 0o666))
    return draft


def _is_descriptor(path: pathlib.Path) -> bool:
    """Whether a path stands for an open file, as /dev/stdout, /dev/fd/3 and a shell's >(...) do."""
    for _ in range(_LINKS):
        path = path.parent.resolve() / path.name
        if path.parts[:2] == ("/", "proc"):
            return True
        if not path.is_symlink():
            return False
        path = path.parent / os.readlink(path)
    return False


def _told(error: OSError, message: str) -> OSError:
    """An error of the same kind that says more."""
    told = type(error)(message)
    told.errno = error.errno
    return told
