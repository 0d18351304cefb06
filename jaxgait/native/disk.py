"""Compiled programs and machine code on disk, so that the next process finds them.

They are in JAX's own cache folder (`jax_compilation_cache_dir`, or the environment variable JAX_COMPILATION_CACHE_DIR)
if one is set, otherwise in the user's cache folder; JAXGAIT_CACHE is another folder, or "off" ("none", "disabled"),
and JAXGAIT_CACHE_GB the number of gigabytes that they may take (2). The name of a file is derived from what was
compiled, by which versions, for which processor. A damaged file is compiled again, with a warning; without a writable
folder nothing is kept.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import math
import os
import pathlib
import re
import sys
import tempfile
import warnings

import jax
import llvmlite.binding as llvm

MAX_BYTES = 2_000_000_000
"""Largest number of bytes kept, unless JAXGAIT_CACHE_GB says otherwise."""

_DIGEST = 32
_FORMAT = "2"
"""Changed whenever older files must not be read."""
_TEMPORARY = ".jaxgait-"
_OURS = re.compile(rf"(checked|index|kernel|loops|program|ptx-\w+)-[0-9a-f]{{64}}|{re.escape(_TEMPORARY)}\w+")
"""Names of files made here: all else in the folder is the user's."""


def folder() -> pathlib.Path | None:
    """Where files are kept, None if nowhere."""
    chosen = os.environ.get("JAXGAIT_CACHE", "")
    if chosen.lower() in ("off", "0", "false", "no", "none", "disabled") or not jax.config.jax_enable_compilation_cache:  # type: ignore[attr-defined]
        return None
    if chosen:
        return pathlib.Path(chosen).expanduser()
    shared = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    if shared:
        return None if "://" in shared else pathlib.Path(shared).expanduser() / "jaxgait"  # (not in a cloud's store)
    return _user_folder()


def _user_folder() -> pathlib.Path | None:
    """The user's folder for caches, as is customary on the system; None if there is no home."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        return pathlib.Path(base).expanduser() / "jaxgait" if base else None
    except RuntimeError:
        return None


def key(kind: str, text: str) -> str:
    """Name on disk for what is made from a text, on this processor and with these versions."""
    return f"{kind}-{hashlib.sha256(f'{_origin()}{text}'.encode()).hexdigest()}"


@functools.cache
def _origin() -> str:
    names = ("jax", "jaxlib", "llvmlite")
    versions = [f"{name} {importlib.metadata.version(name)}" for name in names]
    processor = (llvm.get_default_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    return "\n".join([_FORMAT, *versions, *processor, str(sys.version_info[:2]), os.environ.get("XLA_FLAGS", ""), ""])


def load(name: str) -> bytes | None:
    """What was stored under a name; None if it is missing, damaged or cannot be read."""
    where = folder()
    if where is None:
        return None
    path = where / name
    try:
        content = path.read_bytes()
    except OSError:
        return None
    data = content[_DIGEST:]
    if hashlib.sha256(data).digest() != content[:_DIGEST]:
        warn(name, "it is damaged")
        forget(name)
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # used now
    return data


def store(name: str, data: bytes) -> None:
    """Stores data under a name, completely or not at all; errors of writing are ignored."""
    where = folder()
    if where is None:
        return
    with contextlib.suppress(OSError):
        where.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, temporary = tempfile.mkstemp(dir=where, prefix=_TEMPORARY)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(data).digest() + data)
            os.replace(temporary, where / name)  # other processes see the old file or the new one
        except OSError:
            os.unlink(temporary)
        _tidy(where)


def fault() -> str:
    """Why nothing can be stored; empty if it can."""
    where = folder()
    if where is None:
        return "there is no folder"
    try:
        where.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=where):
            return ""
    except OSError as error:
        return f"{where}: {error.strerror or error}"


def forget(name: str) -> None:
    """Deletes what was stored under a name."""
    where = folder()
    with contextlib.suppress(OSError):
        if where is not None:
            os.unlink(where / name)


@functools.cache
def warn(name: str, reason: str) -> None:
    """Warns once of an unusable file."""
    warnings.warn(
        f"jaxgait compiles a program again, as its cache entry {name[:24]} is unusable: {reason}",
        RuntimeWarning,
        stacklevel=2,
    )


def largest() -> int:
    """Bytes that are kept at most; files unused for longest go first.

    Raises:
        ValueError: if JAXGAIT_CACHE_GB is not a positive number.
    """
    chosen = os.environ.get("JAXGAIT_CACHE_GB", "")
    try:
        size = float(chosen) if chosen else MAX_BYTES / 1e9
    except ValueError:
        size = math.nan
    if not 0.0 < size < math.inf:
        raise ValueError(f"JAXGAIT_CACHE_GB must be a positive number of gigabytes, such as 0.5, got {chosen!r}")
    return int(size * 1e9)


def _tidy(where: pathlib.Path) -> None:
    found = [(p, p.stat()) for p in where.iterdir() if _OURS.fullmatch(p.name)]
    total, most = 0, largest()
    for path, about in sorted(found, key=lambda one: one[1].st_mtime, reverse=True):
        total += about.st_size
        if total > most:
            path.unlink(missing_ok=True)
