"""Random numbers and the clock in a user's code, which are read once, while a program is traced.

Whatever such a call returns becomes a constant of the program: the same number for all members and all later runs. The
code is watched only where it refers to such functions at all, and only calls that it makes while it is traced count:
those of random-number generators that existed before, of the operating system's random bytes, and of the clock. A
generator that the code makes itself with a seed gives the same numbers every time. What the code adds up from call to
call, such as the integral of a controller, is read once as well.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
import random
import sys
import time
import types
from collections.abc import Iterator
from datetime import date
from typing import Any, no_type_check

import numpy as np
from jax.core import Tracer

from jaxgait.native.code_facts import facts
from jaxgait.native.dependencies import PACKAGE, owner
from jaxgait.native.identity import Identity

_ONCE = (
    "once, while the program is compiled: all members get the same number. Draw numbers before, and give each member "
    "its own as a parameter, or use jax.random with a key made of a parameter"
)
_NOT_KEPT = (
    "but it is called once, while the program is compiled: what is to be remembered, such as the integral of a "
    "controller, must be a component of the state, with its rate"
)
_BETWEEN = ("numpy", "random", "secrets", "uuid")
"""Modules through which a user's code reads random numbers."""
_SOURCES = frozenset(["datetime", "nt", "os", "posix", "random", "secrets", "time", "uuid"])
_CLOCKS = ("time", "monotonic", "perf_counter", "process_time", "thread_time")
_CALLS = {getattr(time, f"{name}{unit}") for name in _CLOCKS for unit in ("", "_ns") if hasattr(time, f"{name}{unit}")}
_CALLS |= {time.localtime, time.gmtime, time.ctime, os.urandom}
_NOW = ("now", "utcnow", "today")
_PROBABLE_CALLS = {"random.getrandbits()": "secrets.randbits(), or default_rng() without a seed"}
"""What the user probably wrote, by the call that Python makes."""
_GENERATED = "<@"
"""Beginning of the file names of what beartype generates, which checks a random element of a list."""
_NUMPY = (np.random.Generator, np.random.RandomState)
_GENERATORS = (random.Random, *_NUMPY)


@contextlib.contextmanager
def watched(*things: Any) -> Iterator[list[str]]:
    """Records random numbers and times that the user's own code in some functions and values reads within the context.

    While the user runs a profiler, only NumPy's generators are watched.

    Args:
        things: functions, values, and pytrees of them.

    Returns:
        A list, in which there is a warning for each in the end.
    """
    search = _Search()
    search.add(things)
    warnings: list[str] = []
    if not search.found:
        yield warnings
        return
    reads: dict[str, None] = {}
    before = {number: _state(one) for number, one in search.generators.items()}
    listening = sys.getprofile() is None
    if listening:
        sys.setprofile(functools.partial(_listen, search.generators, reads))
    try:
        yield warnings
    finally:
        if listening:
            sys.setprofile(None)
    for number, one in search.generators.items():
        if _state(one) != before[number]:
            reads[search.users.get(number, f"the user's code draws from a NumPy {type(one).__name__}")] = None
    warnings += [f"{read}, {_ONCE}" for read in reads]


def remembered(*things: Any) -> str:
    """A warning about a value that a user's own code still refers to after it was traced; empty if there is none.

    Args:
        things: functions, values, and pytrees of them.
    """
    search = _Search()
    search.add(things)
    return f"{search.traced} keeps a value beyond its call, {_NOT_KEPT}" if search.traced else ""


@no_type_check
class _Search(Identity):
    """Looks for generators, and for references to what gives random numbers or times, in a user's own code."""

    def __init__(self) -> None:
        super().__init__(own=True)
        self.found = False
        self.generators = {id(random._inst): random._inst, id(np.random.mtrand._rand): np.random.mtrand._rand}
        self.users: dict[int, str] = {}
        """The code that draws from a generator of NumPy, by the generator's address."""
        self.traced = ""
        """The code that computed a value to which the user's code still refers."""

    def _known(self, module: str) -> None:
        self.found |= self._whose == "own" and ("random" in module or module.partition(".")[0] in _SOURCES)
        super()._known(module)

    def _visit(self, x: Any) -> None:
        if isinstance(x, _GENERATORS):
            self.found = True
            self.generators[id(x)] = x
        elif isinstance(x, Tracer):
            self.traced = _origin(x)
        super()._visit(x)

    def _names(self, x: types.FunctionType) -> None:
        if self._whose == "own":
            cells = dict(zip(x.__code__.co_freevars, x.__closure__ or (), strict=True))
            for path in [*facts(x.__code__).paths, *((name,) for name in cells)]:
                value = getattr(cells.get(path[0]), "cell_contents", x.__globals__.get(path[0]))
                for attribute in path[1:]:
                    value = getattr(value, attribute, None) if isinstance(value, (types.ModuleType, *_NUMPY)) else value
                value = getattr(value, "__self__", value)
                if isinstance(value, _NUMPY):
                    self.users[id(value)] = f"{x.__qualname__} ({_place(x.__code__)}) draws from {'.'.join(path)}"
        super()._names(x)


def _origin(x: Tracer) -> str:
    """The line of the user's code that computed a value; "your code" if JAX does not say."""
    traceback = getattr(getattr(x, "_line_info", None), "traceback", None)
    own = (f for f in getattr(traceback, "frames", ()) if owner(f.file_name, PACKAGE) == "own")
    return next((f"{f.function_name} ({os.path.basename(f.file_name)}, line {f.line_num})" for f in own), "your code")


def _state(generator: Any) -> bytes:
    """The state of a NumPy generator; empty for Python's, whose calls are observed."""
    return b"" if isinstance(generator, random.Random) else pickle.dumps(generator)


@no_type_check
def _listen(
    generators: dict[int, Any], reads: dict[str, None], frame: types.FrameType, event: str, called: Any
) -> None:
    """Notes calls of built-in functions that give random numbers or times, made by a user's own code."""
    if event != "c_call" or not _reads(called, generators):
        return
    name, module = _name(called), frame.f_globals.get("__name__", "")
    while frame.f_back is not None and module.partition(".")[0] in _BETWEEN:
        name, frame = f"{module}.{frame.f_code.co_name}()", frame.f_back
        module = frame.f_globals.get("__name__", "")
    code = frame.f_code
    if owner(code.co_filename, module) == "own" and not code.co_filename.startswith(_GENERATED):
        reads[f"{code.co_qualname} ({_place(code, frame.f_lineno)}) calls {_PROBABLE_CALLS.get(name, name)}"] = None


@no_type_check
def _reads(called: Any, generators: dict[int, Any]) -> bool:
    whose, name = getattr(called, "__self__", None), called.__name__
    if isinstance(whose, random.Random):
        return id(whose) in generators and name in ("random", "getrandbits")
    if isinstance(whose, type):
        return issubclass(whose, date) and name in _NOW
    return isinstance(whose, types.ModuleType) and called in _CALLS


@no_type_check
def _name(called: Any) -> str:
    whose = called.__self__
    home = "random" if isinstance(whose, random.Random) else "os" if called is os.urandom else whose.__name__
    return f"{home}.{called.__name__}()"


def _place(code: types.CodeType, line: int | None = None) -> str:
    return f"{os.path.basename(code.co_filename)}, line {line or code.co_firstlineno}"
