"""Influences on a function from outside, for its identity: settings, libraries, this package's files, who owns code."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import operator
import os
import pathlib
import sys
import threading
import time
import traceback
import types
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, no_type_check

import jax

from jaxgait.native import disk
from jaxgait.support import libraries

PURE = frozenset(
    ["abc", "bisect", "builtins", "cmath", "collections", "contextlib", "copy", "dataclasses", "decimal", "enum"]
)
PURE |= {"fractions", "functools", "heapq", "itertools", "math", "numbers", "operator", "re", "statistics", "string"}
PURE |= {"textwrap", "types", "typing", "warnings", "__future__"}
"""Modules of Python whose functions depend only on their arguments."""
LIBRARIES = frozenset(["diffrax", "equinox", "jax", "jaxlib", "jaxtyping", "lineax", "numpy", "optax", "optimistix"])
LIBRARIES |= {"scipy", "typing_extensions"}
"""Libraries whose functions depend only on their arguments, except random numbers of NumPy and SciPy."""
OUTSIDE = ("open", "os.listdir", "os.scandir", "socket.connect", "subprocess.Popen")
"""Audit events of Python by which a function may depend on something not covered here."""

COMPILER = __name__.rpartition(".")[0]
PACKAGE = __name__.partition(".")[0]
_ROOT = pathlib.Path(__file__).parents[1]
_IMPORTED = time.time_ns()
_LOOKING = (traceback.__file__, __file__, libraries.__file__)
"""Files whose code reads other files without affecting programs; equinox formats its errors while it traces."""
_NOT_READ = ("cache", "log", "dump", "traceback", "explain", "pgle")
"""Parts of the names of settings that affect no program."""


class Unidentified(Exception):
    """Something without an identity."""


@contextlib.contextmanager
def opened() -> Iterator[list[str]]:
    """Files that this thread opens within the context, except those of libraries and of this package."""
    _listen()
    files: list[str] = []
    before, _watch.now = getattr(_watch, "now", None), (files, sys._getframe(2))
    try:
        yield files
    finally:
        _watch.now = before


_watch = threading.local()


@functools.cache
def _listen() -> None:
    """Installs an audit hook for opened files, once for the process, because hooks cannot be removed."""

    def heard(event: str, arguments: tuple) -> None:
        if event in OUTSIDE and (now := getattr(_watch, "now", None)) is not None:
            _watch.now = None  # (looking at it may open files)
            files, since = now
            files += [] if _harmless(sys._getframe(1), since) else _outside(event, arguments[0])
            _watch.now = now

    sys.addaudithook(heard)


def _harmless(frame: types.FrameType | None, since: types.FrameType) -> bool:
    """Whether Python looks for a module or a traceback's lines, a library reads in its import, or `_LOOKING` reads."""
    while frame is not None and frame is not since:
        code, frame = frame.f_code, frame.f_back
        if code.co_filename in _LOOKING:
            return True
        if code.co_name in ("<module>", "_fill_cache"):  # NumPy lists all of the path
            return libraries.is_installed(code.co_filename) or code.co_filename.startswith("<frozen importlib")
    return False


def _outside(event: str, what: Any) -> list[str]:
    """The file or resource that an event is about, if it matters."""
    if event == "open" and isinstance(what, int):  # file descriptors were opened before
        return []
    path = os.fsdecode(what) if isinstance(what, str | bytes | os.PathLike) else None
    ours = path is not None and event in ("open", "os.listdir", "os.scandir") and not _counts(path)
    return [] if ours else [str(what)]


def _counts(path: str) -> bool:
    """Whether an opened file may affect a program."""
    if (
        path.endswith((".py", ".pyc", ".so"))
        or "__pycache__" in path
        or path.startswith(str(_ROOT))
        or libraries.is_installed(path)
    ):
        return False
    caches = (disk.folder(), jax.config.jax_compilation_cache_dir)  # type: ignore[attr-defined]
    return not any(path.startswith(str(folder)) for folder in caches if folder)


@no_type_check
def owner(file: str, module: str) -> str:
    """Who wrote a module's code: this "package", a "library", or the user ("own")."""
    if module.partition(".")[0] == PACKAGE and file.startswith(str(_ROOT)):
        return "package"
    if file.startswith("<frozen") or module.partition(".")[0] in sys.stdlib_module_names:
        return "library"
    return "library" if libraries.is_installed(file) else "own"


@no_type_check
def file_of(module: str) -> str:
    """File of a module; that of its package for a part of a compiled library, which has none."""
    while module:
        file = getattr(sys.modules.get(module), "__file__", None)
        if file:
            return file
        module = module.rpartition(".")[0]
    return ""


@no_type_check
def module_of(x: Any) -> str:
    """Name of the module of a function or class, "" if it has none: extensions have a descriptor there."""
    module = getattr(x, "__module__", None)
    return module if isinstance(module, str) else ""


@no_type_check
def belongs_to(x: type) -> str:
    """Who wrote a class, see `owner`; "own" if its module is unknown."""
    return owner(file_of(module_of(x)), module_of(x))


@no_type_check
def defined_there(x: type) -> bool:
    """Whether a class is what its module holds under its name.

    A class made at run time (`type(name, bases, parts)`) has the module that made it, possibly a library's with a
    metaclass, and is not part of it.
    """
    found = sys.modules.get(module_of(x))
    for name in x.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is x


@no_type_check
def has_plain_state(x: Any) -> bool:
    """Whether the state of an instance is its dictionary."""
    kind = type(x)
    slots = any(vars(base).get("__slots__") for base in kind.__mro__)
    own = any(getattr(kind, n, None) is not getattr(object, n, None) for n in ("__reduce_ex__", "__reduce__"))
    python = kind.__flags__ & (1 << 9)  # made by a class statement
    built_in = any(not base.__flags__ & (1 << 9) and base is not object for base in kind.__mro__)
    return hasattr(x, "__dict__") and bool(python) and not slots and not own and not built_in


def settings() -> list[str]:
    """Settings that affect how a program is traced."""
    names = sorted(n for n in jax.config.values if not any(part in n for part in _NOT_READ))
    chosen = [f"{n}={getattr(jax.config, n)}" for n in names if hasattr(jax.config, n)]
    variables = [f"{n}={x}" for n, x in sorted(os.environ.items()) if n.startswith(("EQX_", "JAXTYPING_"))]
    devices = [str(d) for d in jax.local_devices()]  # a program may count them; jax_default_device chooses one
    return [*chosen, *variables, *devices, sys.version, _package(), *libraries.installed(libraries.search_path())]


@functools.cache
def _package() -> str:
    """The files of this package, as they were when it was imported.

    Raises:
        Unidentified: if one has changed since.
    """
    found = hashlib.sha256()
    for path in sorted(p for p in _ROOT.rglob("*") if p.is_file() and "__pycache__" not in p.parts):
        if changed_since_import(path):
            raise Unidentified(path)
        found.update(str(path.relative_to(_ROOT)).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def changed_since_import(path: pathlib.Path) -> bool:
    """Whether a file has changed since this package was imported: what is in memory may be older."""
    return path.stat().st_mtime_ns > _IMPORTED


_theirs: dict[int, types.FunctionType] = {}
"""Functions known to be the libraries' own, by address; kept alive, so that no other function gets the address."""


class _Namespace(NamedTuple):
    """Contents of a library's module or class when last looked into; kept alive, so that `is` finds changes."""

    names: list[str]
    values: list[Any]
    classes: list[tuple[str, type]]
    """Those that a module defines, by name."""
    patched: list[tuple[str, types.FunctionType]]


_namespaces: dict[tuple[str, ...], _Namespace] = {}


@no_type_check
def foreign() -> Iterator[tuple[str, types.FunctionType]]:
    """Functions that were patched into modules and classes of libraries, with their names."""
    for name in sorted(n for n in sys.modules if n.partition(".")[0] in LIBRARIES):
        module = _looked_into((name,), vars(sys.modules[name]))
        yield from module.patched
        for key, one in module.classes:
            yield from _looked_into((name, key), vars(one)).patched


@no_type_check
def _looked_into(path: tuple[str, ...], namespace: Mapping[str, Any]) -> _Namespace:
    """The contents of a namespace, looked at again only if it has changed."""
    names, values = list(namespace), list(namespace.values())
    known = _namespaces.get(path)
    if known is not None and names == known.names and all(map(operator.is_, values, known.values)):
        return known
    found = _Namespace(names, values, [], [])
    for name, value in zip(names, values, strict=False):  # (another thread may add one meanwhile)
        if len(path) == 1 and isinstance(value, type) and value.__module__ == path[0]:
            found.classes.append((name, value))
        wrapped = len(path) > 1 and type(value) in (classmethod, staticmethod, property)
        function = (value.fget if type(value) is property else value.__func__) if wrapped else value
        if type(function) is types.FunctionType and id(function) not in _theirs and _is_foreign(function):
            found.patched.append((".".join([*path, name]), function))
    _namespaces[path] = found
    return found


@no_type_check
def _is_foreign(x: types.FunctionType) -> bool:
    file, top = x.__code__.co_filename, (x.__module__ or "").partition(".")[0]
    if file.startswith("<"):  # generated by libraries
        foreign = top == "__main__"
    else:
        foreign = (top not in LIBRARIES and top not in sys.stdlib_module_names) or not libraries.is_installed(file)
    if not foreign:
        _theirs[id(x)] = x
    return foreign


@functools.cache
def scanned(library: str) -> str:
    """Sizes and modification times of a library's files.

    Raises:
        Unidentified: if one has changed since this package was imported: what is in memory may be older.
    """
    file = getattr(sys.modules.get(library), "__file__", None)
    if file is None:
        return ""
    path = pathlib.Path(file)
    folder = path.parent if path.name.startswith("__init__.") else None
    found = [str(path)] if folder is None else [os.path.join(d, f) for d, _, files in os.walk(folder) for f in files]
    stats = [(name, os.stat(name)) for name in found if not name.endswith((".pyc", ".h", ".txt"))]
    if any(s.st_mtime_ns > _IMPORTED for _, s in stats):
        raise Unidentified(library)
    return "\n".join(sorted(f"{name} {s.st_size} {s.st_mtime_ns}" for name, s in stats))
