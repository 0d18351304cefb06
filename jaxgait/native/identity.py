"""Identities of functions without running them: functions with the same identity trace to the same program.

To find a program on disk without tracing, its name must depend on everything that affects the program. This is taken
from the objects in memory: bytecode and constants of functions, what they refer to by name, closures, defaults, classes
with their methods and bases, instances by their state, arrays by their bytes. Code of this package is also identified
by its files, and its compiler (this folder) as a unit; libraries by the sizes and modification times of their files,
functions patched into them, and everything that is installed. JAX's settings and the environment variables that JAX and
equinox read are included.

Functions whose behaviour cannot be determined have no identity, and are traced: those with state (a lock, an open file,
a generator, a traced value, a cache), and in a user's own code everything that may depend on something else: `eval`,
`open`, names computed at run time, modules passed as values, random numbers and the clock
(`jaxgait.native.randomness`), and modules not known to be pure. Changes to the data of libraries from outside, such as
a coefficient in diffrax's tables, are not detected.

Within a process (`own`), such functions do have an identity, by everything else: a changed global variable of a
function that also reads a file makes another program, a changed file does not.
"""

from __future__ import annotations

import builtins
import dataclasses
import enum
import functools
import hashlib
import importlib
import itertools
import re
import sys
import threading
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any, no_type_check

import jax
import jaxtyping
import numpy as np
from jax.core import Tracer

from jaxgait.native.code_facts import facts
from jaxgait.native.dependencies import (
    COMPILER,
    LIBRARIES,
    PACKAGE,
    PURE,
    Unidentified,
    belongs_to,
    defined_there,
    file_of,
    foreign,
    has_plain_state,
    module_of,
    owner,
    scanned,
    settings,
)

MADE_OF = "__made_of__"
"""Attribute of functions with internal state: what determines their behaviour."""
_CACHE = ("code_facts", "dependencies", "disk", "identity", "lru_cache", "randomness", "stored")
_REGISTERS = ("registry", "support.libraries", "support.unpickled")
CACHE_MODULES = frozenset([f"{COMPILER}.{name}" for name in _CACHE] + [f"{PACKAGE}.{name}" for name in _REGISTERS])
"""Modules that store and find programs and classes, without affecting any."""

_PLAIN = frozenset(
    [type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range, slice]
)
_BUILT_IN = (
    *(types.BuiltinFunctionType, types.MethodWrapperType, types.MethodDescriptorType, types.WrapperDescriptorType),
    *(types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType),
)
_CONTAINERS = (tuple, list, dict, set, frozenset, types.MappingProxyType)
_MOST_SETS = 8
"""Depth to which sets within elements of sets are looked into."""
_TYPING = ("typing", "types", "jaxtyping")
_NO_PART = frozenset(
    f"__{name}__"
    for name in (
        *("doc", "module", "dict", "weakref", "firstlineno", "static_attributes", "slots", "match_args", "annotations"),
        *("orig_bases", "parameters", "dataclass_params", "no_type_check"),
        *("abstractmethods", "abstractvars", "abstractclassvars"),
        "slotnames",  # which pickling notes
    )
)
"""Attributes that describe functions and classes; what depends on them is also in other attributes."""
_CHECKING = jaxtyping.jaxtyped.__code__.co_filename
"""File of the wrappers that check types of arguments, in tests."""
_INTERNAL_STATE = (ContextVar, threading.local, type(threading.Lock()), type(threading.RLock()))
"""Types of this package's internal state, which affects no program."""

T = Callable[..., Any]


def made_of(function: T, *parts: Any) -> T:
    """Declares what determines the behaviour of a function with internal state."""
    setattr(function, MADE_OF, parts)
    return function


def identity(*things: Any, own: bool = False) -> str | None:
    """A name for what some functions and values do, the same in every process in which they do the same.

    Args:
        things: functions, values, and pytrees of them; `jax.ShapeDtypeStruct` stands for an argument.
        own: whether only the user's own code may have changed, as within a process.

    Returns:
        Hexadecimal digits; None if something has no identity or, with `own`, if nothing is the user's own code.
    """
    found = Identity(own)
    try:
        found.add(things)
        return found.digest() if found.has_own or not own else None
    except Unidentified:
        return None


@no_type_check  # (by tests: it makes a hundred thousand calls)
class Identity:
    """A growing digest. Things that may contain themselves are numbered, and written once.

    Contents wait until their container is written: no nesting is too deep. Elements of sets have digests of their own.
    """

    def __init__(self, own: bool, within: int = 0) -> None:
        self._own, self._whose, self.has_own = own, "own", False
        self._within = within
        """Number of sets around it."""
        self._tokens: list[str] = []
        self._numbers: dict[int, int] = {}
        self._alive: list[Any] = []  # an address that is free again may be another thing's
        self._waiting: deque[tuple[str, Any]] = deque()
        """Things to write, each with the owner of the code that refers to it."""
        self._libraries: set[str] = set()

    def add(self, thing: Any) -> None:
        """Adds a function or value with all that determines it.

        Raises:
            Unidentified: for what has no identity.
        """
        self._visit(thing)
        self._work()
        if self._own:
            return
        self._put("settings", *settings())
        self._whose = "package"
        for name in sorted(sys.modules):
            if _in_compiler(name):
                self._compiler_module(sys.modules[name])
        for where, function in foreign():
            self._put("put into", where)
            self._visit(function)
        self._work()

    def _work(self) -> None:
        while self._waiting:
            self._whose, one = self._waiting.popleft()
            self._put("definition")
            if type(one) in _CONTAINERS:
                self._container(one)
            elif isinstance(one, type):
                self._class(one)
            elif isinstance(one, types.FunctionType):
                self._function(one)
            else:
                self._object(one)

    def digest(self) -> str:
        """Hexadecimal digits for what was added."""
        for name in () if self._own else sorted(self._libraries):
            self._put("library", name, scanned(name))
        text = "".join([f"{len(token)}:{token}" for token in self._tokens])
        return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()

    def _put(self, *tokens: str) -> None:
        self._tokens += tokens

    def _unknown(self, x: Any) -> None:
        """Raises `Unidentified`, or skips it within a process."""
        if not self._own:
            raise Unidentified(x)
        self._put("unknown", type(x).__qualname__)

    def _visit(self, x: Any) -> None:
        if type(x) in _PLAIN:
            self._put(type(x).__name__, repr(x))
        elif isinstance(x, Tracer):
            self._unknown(x)
        elif isinstance(x, jax.ShapeDtypeStruct):
            self._put("argument", str(x.shape), str(x.dtype), str(getattr(x, "weak_type", False)))
        elif isinstance(x, types.FunctionType) and x.__code__.co_filename == _CHECKING and hasattr(x, "__wrapped__"):
            self._visit(x.__wrapped__)  # (the wrapper only checks its types)
        elif isinstance(x, types.FunctionType | type) and not isinstance(x, types.GenericAlias):
            self._known(module_of(x))
            self._later(x)
        elif isinstance(x, enum.Enum):
            self._put("member", x.name)
            self._visit(type(x))
        elif isinstance(x, np.ndarray | np.generic | jax.Array):
            self._array(x)
        elif type(x) in _CONTAINERS:
            self._later(x, numbered=type(x) in (list, dict))
        elif isinstance(x, _BUILT_IN) or _is_known_ufunc(x):
            self._built_in(x)
        elif module_of(type(x)) in _TYPING and not isinstance(x, types.MethodType | types.SimpleNamespace):
            self._put("typing", repr(x))
        else:
            self._later(x)

    def _later(self, x: Any, *, numbered: bool = True) -> None:
        """Writes a reference, and later the content; numbered content only once."""
        new = number = len(self._numbers)
        if numbered:
            number = self._numbers.setdefault(id(x), new)
            self._alive.append(x)
        self._put("reference", str(number) if numbered else "")
        if number == new:
            self._waiting.append((self._whose, x))

    def _array(self, x: Any) -> None:
        try:
            data = np.asarray(x)
        except Exception:  # random keys, arrays spread over machines
            data = None
        if data is None or data.dtype.kind == "O":
            self._unknown(x)
            return
        self._put("array", type(x).__name__, str(data.dtype), str(data.shape), str(getattr(x, "weak_type", False)))
        self._put(hashlib.sha256(np.ascontiguousarray(data).tobytes()).hexdigest())
        if isinstance(x, np.ndarray) and hasattr(x, "__dict__"):  # of a subclass
            self._container([type(x), vars(x)])

    def _container(self, x: Any) -> None:
        self._put(type(x).__name__, str(len(x)))
        if isinstance(x, set | frozenset):
            self._set(x)
            return
        for one in itertools.chain.from_iterable(x.items()) if isinstance(x, Mapping) else x:
            self._visit(one)

    def _set(self, x: set[Any] | frozenset[Any]) -> None:
        try:
            self._put(*sorted(x if all(type(one) is str for one in x) else map(self._apart, x)))
        except Unidentified:
            if self._within:  # (the outermost set is unknown as a whole)
                raise
            self.has_own = True  # as it may be
            self._unknown(x)

    def _apart(self, x: Any) -> str:
        if self._within == _MOST_SETS:  # such as one whose elements refer to it
            raise Unidentified(x)
        inner = Identity(self._own, self._within + 1)
        inner._whose = self._whose
        inner._visit(x)
        inner._work()
        self.has_own |= inner.has_own
        return inner.digest()

    def _built_in(self, x: Any) -> None:
        owner = getattr(x, "__self__", None)
        module = module_of(x) or module_of(getattr(x, "__objclass__", None))
        self._put("built in", module, getattr(x, "__qualname__", x.__name__))
        self._known(module)
        self._library(module)
        if owner is not None and not isinstance(owner, types.ModuleType):
            self._visit(owner)

    def _object(self, x: Any) -> None:
        """An instance: its class and its state, as for pickling, but by content."""
        for kind, parts in _PARTS.items():
            if isinstance(x, kind):
                self._container([type(x).__name__, *parts(x)])
                return
        if isinstance(x, types.ModuleType):
            self._whole(x)
        elif isinstance(x, types.CellType):
            self._cell(x)
        elif isinstance(x, types.CodeType):
            self._code(x)
        elif isinstance(x, _CACHED):
            self._cached(x)
        elif isinstance(x, np.ufunc):  # (made of a Python function, which it hides)
            self._unknown(x)
        elif self._whose == "package" and isinstance(x, _INTERNAL_STATE):
            self._put("internal state", type(x).__qualname__)
        elif hasattr(x, "__wrapped__") and not hasattr(x, "__dict__"):
            self._container([type(x), x.__wrapped__])
        elif has_plain_state(x):
            state = {k: v for k, v in vars(x).items() if v is not x}
            library = belongs_to(type(x)) == "library"
            self._container([type(x), dict(sorted(state.items())) if library else state])  # (equinox has no order)
        else:
            self._reduced(x)

    def _reduced(self, x: Any) -> None:
        if hasattr(x, "__wrapped__"):  # what JAX and functools make of a function
            self._container([type(x), x.__wrapped__])
            return
        try:
            reduced = x.__reduce_ex__(4)
        except Exception:  # what cannot be pickled raises what it likes
            self._unknown(x)
            return
        if isinstance(reduced, str):
            self._container([type(x), reduced])
            return
        self._alive.append(reduced)
        make, *parts = reduced
        if module_of(make) == "copyreg":  # as pickling makes instances of any class
            self._put("instance", make.__name__)
        else:
            self._visit(make)
        for part in parts:
            self._visit(list(part) if isinstance(part, Iterator) else part)

    def _cell(self, cell: types.CellType) -> None:
        try:
            content = cell.cell_contents
        except ValueError:
            self._put("empty")
            return
        self._visit(content)

    def _function(self, x: types.FunctionType) -> None:
        if hasattr(x, MADE_OF):
            self._whose = "package"
            self._visit(getattr(x, MADE_OF))
            return
        self._whose = owner(x.__code__.co_filename, x.__module__ or "")
        self._put("function", self._whose, x.__module__ or "", x.__qualname__)
        for cell in x.__closure__ or ():
            self._cell(cell)
        self.has_own |= self._whose == "own"
        if self._whose != "own" and (self._own or x.__module__ in CACHE_MODULES):
            return
        self._code(x.__code__)
        self._visit(x.__defaults__)
        self._visit(x.__kwdefaults__)
        if self._whose != "package":  # (whose functions have what decorators and test tools note on them)
            self._visit({k: v for k, v in vars(x).items() if k not in _NO_PART})
        if self._whose == "library":
            self._library(x.__module__ or "")
        else:
            self._names(x)

    def _code(self, code: types.CodeType) -> None:
        self._put("code", facts(code).digest)

    def _names(self, x: types.FunctionType) -> None:
        found = facts(x.__code__)
        if self._whose == "own" and found.elsewhere:
            self._unknown(x)
        for path in found.paths:
            if path[0] in x.__globals__:
                if _in_compiler(x.__module__) and _is_internal_state(path[0], x.__globals__[path[0]]):
                    continue
                self._put("name", *path)
                self._follow(x.__globals__[path[0]], path[1:])
            elif not hasattr(builtins, path[0]):
                self._put("missing", path[0])
        for imported, level, name in found.imports:
            self._put("import", imported, str(level), name)
            try:
                package = x.__globals__.get("__package__") or ""
                module = importlib.import_module("." * level + imported, package)
            except Exception:  # a module that is not installed, or fails
                self._unknown(x)
            else:
                self._follow(module, (name,) if name else ())

    def _follow(self, value: Any, attributes: tuple[str, ...]) -> None:
        """Adds what an expression like `module.part.function` gives, as far as it goes through modules."""
        library = False
        while isinstance(value, types.ModuleType) and attributes:
            library = self._look_into(value)
            value, attributes = getattr(value, attributes[0], None), attributes[1:]
        if library and belongs_to(type(value)) == "library":
            self._part_of_library(value)
        else:
            self._visit(value)

    def _part_of_library(self, x: Any) -> None:
        """A named part of a library: functions, classes and numbers by content, others by the library's files."""
        if hasattr(x, "__wrapped__"):
            self._visit(x.__wrapped__)
        elif (
            isinstance(x, (types.FunctionType, type, np.ndarray, np.ufunc, jax.Array, *_BUILT_IN)) or type(x) in _PLAIN
        ):
            self._visit(x)
        else:
            self._put("part of a library", type(x).__qualname__)

    def _look_into(self, module: types.ModuleType) -> bool:
        """Notes that a module's parts are used; returns whether it is a library's."""
        self._known(module.__name__)
        library = owner(file_of(module.__name__), module.__name__) == "library"
        if library:
            self._library(module.__name__)
        return library

    def _whole(self, module: types.ModuleType) -> None:
        """A module as a value: a library's by its files, any other with all of its parts."""
        self._put("module", module.__name__)
        if not self._look_into(module):
            for name, value in sorted(vars(module).items()):
                if not name.startswith("__"):
                    self._put("part", name)
                    self._visit(value)

    def _compiler_module(self, module: types.ModuleType) -> None:
        """A module of the compiler: all that it defines except internal state."""
        for name, value in sorted(vars(module).items()):
            if not (name.startswith("__") or isinstance(value, types.ModuleType) or _is_internal_state(name, value)):
                self._put("part", module.__name__, name)
                self._visit(value)

    def _cached(self, x: Any) -> None:
        if owner(x.__wrapped__.__code__.co_filename, x.__module__ or "") == "own":
            self._unknown(x)
        self._container([type(x), x.__wrapped__])

    def _class(self, x: type) -> None:
        whose = self._whose = belongs_to(x)
        self._put("class", whose, module_of(x), x.__qualname__)
        self.has_own |= whose == "own"
        if self._own and whose != "own":
            return
        if whose == "library":
            self._library(module_of(x))
            if defined_there(x):
                return
        self._visit(type(x))
        for base in x.__bases__:
            self._visit(base)
        for name, member in sorted(vars(x).items()):
            if not (name in _NO_PART or name.startswith("_abc") or (name == "scene" and _is_model(x))):
                self._put("member", name)
                self._visit(member)

    def _known(self, module: str) -> None:
        """Raises `Unidentified` if a user's own code refers to a part of libraries that are not known."""
        top = module.partition(".")[0]
        chance = "random" in module and top in ("numpy", "scipy")
        library = owner(file_of(module), module) == "library"
        pure = {top, top.removeprefix("_")} & (LIBRARIES | PURE)  # (`_collections` is a part of `collections`)
        if self._whose == "own" and library and (chance or not pure):
            self._unknown(module)

    def _library(self, module: str) -> None:
        top = module.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in ("", PACKAGE, "__main__"):
            self._libraries.add(top)


_OPTIONS = ("static_argnums", "static_argnames", "inline", "keep_unused")
_FIELD = ("name", "default", "default_factory", "init", "kw_only", "metadata")
_PARTS: dict[Any, Callable[[Any], list[Any]]] = {
    property: lambda x: [x.fget, x.fset, x.fdel],
    re.Pattern: lambda x: [x.pattern, x.flags],
    weakref.ref: lambda x: [x()],
    dataclasses.Field: lambda x: [getattr(x, name) for name in _FIELD],
    functools.cached_property: lambda x: [x.func],
    functools.partial: lambda x: [type(x), x.func, x.args, x.keywords],
    types.MethodType | staticmethod | classmethod: lambda x: [x.__func__, getattr(x, "__self__", None)],
    type(jax.jit(len)): lambda x: [x.__wrapped__, *(getattr(x._jit_info, name, None) for name in _OPTIONS)],
}
_CACHED = type(functools.cache(len))


@no_type_check
def _is_model(kind: type) -> bool:
    """Whether a class is a mechanism, whose scene affects no program."""
    return any((base.__module__, base.__qualname__) == (f"{PACKAGE}.model", "Model") for base in kind.__mro__)


@no_type_check
def _in_compiler(module: str | None) -> bool:
    """Whether a module belongs to the compiler proper, and not to what keeps and finds its programs."""
    return (module or "").startswith(COMPILER + ".") and module not in CACHE_MODULES


@no_type_check
def _is_internal_state(name: str, value: Any) -> bool:
    """Whether a name of a module of the compiler is internal state, which affects no program."""
    defined = isinstance(value, types.FunctionType | type | tuple) or hasattr(value, "__wrapped__")
    return name.startswith("_") and name.islower() and not defined


@no_type_check
def _is_known_ufunc(x: Any) -> bool:
    """Whether a value is a universal function of NumPy or SciPy, and not one of `np.frompyfunc`."""
    homes = (np, sys.modules.get("scipy.special"))
    return isinstance(x, np.ufunc) and any(getattr(home, x.__name__, None) is x for home in homes)
