"""Writes files whole or not at all: on a full disk, neither the old file nor the new result is lost."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import pathlib
import re
import reprlib
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from jaxgait.support import xr

_PER_VARIABLE, _PER_FILE = 8192, 65536
"""Overhead of a NetCDF file in bytes."""
ABANDONED_AGE = 2 * 86400.0
"""Age in s above which a draft counts as abandoned: on a shared disk, it is unknown which processes still run."""
_AT_ONCE = 16
"""Largest number of files that are flushed in parallel."""
_LONGEST_ENDING = 50
"""Characters of the ending of a draft's name: names may have 255 bytes, and a character up to four."""
_OF_WRITING = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""Numbers of errors of full and broken disks, quotas and limits."""
_ADDRESS = re.compile(r"[A-Za-z][\w+.-]+:/")
"""The beginning of an address (pathlib keeps only one slash of it), but not of a drive such as C:/."""
_LINKS = 40
"""Largest number of links to follow, as on Linux."""


def text(path: str | os.PathLike[str], content: str) -> None:
    """Writes a text file, replacing an old one when the new one is complete.

    Raises:
        OSError: naming the file.
    """
    data(path, content.encode())


def data(path: str | os.PathLike[str], content: bytes) -> None:
    """Writes a file of any kind; see `text`."""
    with replacing(path) as draft:
        draft.write_bytes(content)


def is_address(path: str | os.PathLike[str]) -> bool:
    """Whether a path is the address of something elsewhere, for which a folder "s3:" would be made here.

    Examples:
        >>> from jaxgait.support import files
        >>> print(files.is_address("s3://bucket/scan.zarr"), files.is_address("out/scan.zarr"))
        True False
    """
    return bool(_ADDRESS.match(os.fspath(path)))


def expanded(path: str | os.PathLike[str]) -> pathlib.Path:
    """A path in which a leading "~" is the user's folder, as in a shell and in xarray.

    Raises:
        TypeError: for anything but a path.

    Examples:
        >>> from jaxgait.support import files
        >>> print(files.expanded("~/scan.zarr").is_absolute(), files.expanded("out/scan.zarr"))
        True out/scan.zarr
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"a path must be text or a pathlib.Path, such as 'run.nc', got {reprlib.repr(path)}")
    return pathlib.Path(os.path.expanduser(path))


def local(path: str | os.PathLike[str]) -> pathlib.Path:
    """The path of a file on this machine, `expanded`.

    Raises:
        TypeError: for anything but a path.
        ValueError: for an address, and for an empty path.

    Examples:
        >>> from jaxgait.support import files
        >>> files.local("s3://bucket/run.nc")
        Traceback (most recent call last):
            ...
        ValueError: cannot write s3://bucket/run.nc: it is an address, give the name of a file
    """
    here = expanded(path)
    if is_address(path):
        raise ValueError(f"cannot write {os.fspath(path)}: it is an address, give the name of a file")
    if not os.fspath(path):
        raise ValueError("cannot write '': give the name of a file")
    return here


def in_its_folder(path: str | os.PathLike[str]) -> pathlib.Path:
    """The path of a file on this machine, whose folder is made if it is missing; see `local`."""
    here = local(path)
    here.parent.mkdir(parents=True, exist_ok=True)
    return here


def flush(*paths: pathlib.Path) -> None:
    """Flushes files and folders to the disk, several in parallel, which takes hardly longer than one.

    Raises:
        OSError: if one cannot be flushed.
    """
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(_flush_one, paths))


def as_json(record: Any) -> str:
    """A record (see `plain`) as the text of a JSON file."""
    return json.dumps(plain(record), indent=1, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """A value in JSON's types: arrays become lists, non-finite numbers None, paths text."""
    if isinstance(value, Mapping):
        return {str(name): plain(x) for name, x in value.items()}
    if hasattr(value, "tolist"):  # arrays and scalars of NumPy and JAX
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(x) for x in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def netcdf(path: str | os.PathLike[str], result: xr.Dataset) -> None:
    """Writes a labelled result as NetCDF (see `text`); if that fails, into a temporary folder.

    Raises:
        OSError: naming the file, and the one that holds the result instead.
    """
    with saved_elsewhere(path, result):
        _netcdf(pathlib.Path(path), result)


@contextlib.contextmanager
def saved_elsewhere(path: str | os.PathLike[str], result: xr.Dataset) -> Iterator[None]:
    """If the block cannot write the file of a result, saves the result as NetCDF in a temporary folder.

    Raises:
        OSError: that of the block, also naming the file that holds the result instead.
    """
    try:
        yield
    except OSError as error:
        spare = pathlib.Path(tempfile.mkdtemp(prefix="jaxgait-"), pathlib.Path(path).with_suffix(".nc").name)
        try:
            _netcdf(spare, result)
        except OSError:
            shutil.rmtree(spare.parent, ignore_errors=True)
            raise error from None
        raise _with_message(error, f"{error}; instead, the result was saved to {spare}") from error


def _netcdf(path: pathlib.Path, result: xr.Dataset) -> None:
    with replacing(path) as draft:
        try:
            # First, because HDF5 on a full disk leaves objects behind that crash the process at its end.
            _check_room(draft, result.nbytes + _PER_VARIABLE * len(result.variables) + _PER_FILE)
            result.to_netcdf(draft, engine="h5netcdf")
        except RuntimeError as error:  # from HDF5, such as for a quota exceeded when the file is closed
            raise not_written(draft, str(error)) from error
        except OSError as error:  # HDF5 names no file
            if error.filename is not None:
                raise
            raise not_written(draft, error.strerror or str(error), error.errno) from error


def _check_room(draft: pathlib.Path, need: int) -> None:
    """Checks that a file can have a size in bytes: on the disk, and within quotas and the limit of the process.

    Raises:
        OSError: if it cannot.
    """
    if need > shutil.disk_usage(draft.parent).free:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if hasattr(os, "posix_fallocate"):
        with open(draft, "rb+") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, need)
            except OSError as error:
                if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):  # of disks without it
                    raise
            file.truncate(0)


def not_written(draft: pathlib.Path, why: str, number: int | None = None) -> OSError:
    """An error about a draft, which `replacing` then raises as one about the file.

    Args:
        draft: what was being written.
        why: what was wrong.
        number: of the system's error; None: unknown.

    Examples:
        >>> import pathlib
        >>> from jaxgait.support import files
        >>> print(files.not_written(pathlib.Path(".x.draft.mp4"), "the encoder failed").strerror)
        the encoder failed
    """
    return OSError(errno.EIO if number is None else number, why, str(draft))


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[pathlib.Path]:
    """A draft next to a file, for any writer; it finally replaces the file, if it is complete.

    The draft's name has the same ending. Where it must not or cannot replace the file, its content is copied.

    Raises:
        ValueError: for an address.
        OSError: naming the file, if it cannot be written. Errors of the block count as such if they name the draft (see
            `not_written`), or if they name no file and are of a full or broken disk, a quota or a limit. Others, such
            as for a missing input, are raised unchanged.

    Examples:
        >>> from jaxgait.support import files
        >>> with files.replacing("run.csv") as draft:
        ...     _ = draft.write_text("time (s),height (m)")
        >>> print(draft.suffix, draft.exists())
        .csv False
    """
    path = local(path)
    target = pathlib.Path(os.path.realpath(path))
    with _named(path):
        old = path.exists()
        if old and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, "it is read-only")
        in_place = _is_descriptor(path) or (old and not path.is_file())
        try:
            draft = _draft(pathlib.Path(tempfile.gettempdir()) if in_place else target.parent, path.suffix, old)
        except PermissionError:
            if not old:
                raise
            in_place, draft = True, _draft(pathlib.Path(tempfile.gettempdir()), path.suffix, True)
    try:
        try:
            yield draft
        except OSError as error:
            if not _is_about(draft, error):
                raise
            with _named(path):
                raise
        with _named(path):
            if in_place:
                with open(draft, "rb") as content, open(path, "wb") as file:
                    shutil.copyfileobj(content, file)
            else:
                with open(draft, "rb+") as content:
                    os.fsync(content.fileno())
                if old:
                    shutil.copymode(target, draft)
                os.replace(draft, target)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)


@contextlib.contextmanager
def _named(path: pathlib.Path) -> Iterator[None]:
    """Errors of the block say that a file cannot be written."""
    try:
        yield
    except OSError as error:
        raise _with_message(error, f"cannot write {path}: {error.strerror or error}") from error


def _is_about(draft: pathlib.Path, error: OSError) -> bool:
    """Whether an error of a writer concerns its draft: those of writing to an open file name none."""
    named = [os.fsdecode(name) for name in (error.filename, error.filename2) if isinstance(name, str | bytes)]
    return str(draft) in named if named else error.errno in _OF_WRITING


def draft_of(folder: pathlib.Path) -> pathlib.Path:
    """A new name for the draft of a folder, next to it; removes drafts that killed processes left days ago."""
    prefix = f".{folder.name}.draft-"
    for other in folder.parent.iterdir() if folder.parent.is_dir() else ():
        with contextlib.suppress(OSError):
            if other.name.startswith(prefix) and time.time() - other.stat().st_mtime > ABANDONED_AGE:
                shutil.rmtree(other, ignore_errors=True)
    return folder.with_name(prefix + uuid.uuid4().hex)


def _draft(folder: pathlib.Path, ending: str, private: bool) -> pathlib.Path:
    """A new empty file with a unique short name."""
    draft = folder / f".{uuid.uuid4().hex}.draft{ending[:_LONGEST_ENDING]}"
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if private else 0o666))
    return draft


def _is_descriptor(path: pathlib.Path) -> bool:
    """Whether a path is an open file, such as /dev/stdout, /dev/fd/3 and a shell's >(...)."""
    for _ in range(_LINKS):
        path = path.parent.resolve() / path.name
        if path.parts[:2] == ("/", "proc"):
            return True
        if not path.is_symlink():
            return False
        path = path.parent / os.readlink(path)
    return False


def _with_message(error: OSError, message: str) -> OSError:
    """An error with the same number and the class that belongs to it, but another message."""
    found = (OSError if error.errno is None else type(OSError(error.errno, "")))(message)
    found.errno = error.errno
    return found


def _flush_one(path: pathlib.Path) -> None:
    try:
        handle = os.open(path, os.O_RDWR if path.is_file() else os.O_RDONLY)
    except PermissionError:  # for folders on Windows
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
