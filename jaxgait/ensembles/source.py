"""Digests of the source code that affects a result, under readable names.

Code of jaxgait is included by file, with everything that it imports within jaxgait, except for packages that cannot
affect numbers. A user's own code is included by function and class, so that other parts of a script may change: source
(or bytecode and constants, if there is no source or its file has changed since it was imported), everything referred to
by name, and closures. Objects are included by content, as for pickling. Of libraries (JAX, NumPy, ...) only the names
of what is used are included, not the versions.

Digests are of syntax trees (see `syntax`): comments, docstrings, formatting, annotations of arguments, the texts of
errors and the descriptions of parameters may change.

Names explain differences, but may be ambiguous: they do not say which of two functions of the same name is where. A
further digest, `ARRANGEMENT`, covers everything in the order in which it is found. It decides.
"""

from __future__ import annotations

import ast
import collections
import dataclasses
import enum
import functools
import hashlib
import importlib
import inspect
import json
import pathlib
import sys
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

import jaxgait
from jaxgait.ensembles.objects import Opaque, is_plain, parts_of, state_of
from jaxgait.ensembles.syntax import alone, assigned, body, syntax, tree_of
from jaxgait.native.code_facts import facts
from jaxgait.native.dependencies import changed_since_import, defined_there
from jaxgait.support.libraries import is_installed

NO_NUMBERS = frozenset({"support", "registry", "report", "plot", "cli", "ensembles", "optimization"})
"""Parts of jaxgait that cannot affect a trajectory (in `ensembles` only `batch` can, which is added by name; values
that `support.units` converts are compared themselves)."""

ARRANGEMENT = "which function and value is where"
"""Name of the digest of everything that is found, in order."""
OF_CLASS = " of its class "
"""Marks the text of an object's values as its class's, because it has none of its own."""

_LIBRARIES = frozenset({"jax", "jaxlib", "equinox", "diffrax", "optax", "optimistix", "lineax", "numpy", "scipy"})
_ROOT = pathlib.Path(jaxgait.__file__).parent
_SHOWN = 40
"""Largest number of characters of a value that is shown in full."""


def name_of(thing: Any) -> str:
    """The readable name of a class or function: with its module if it is jaxgait's, with its package if a library's.

    Names of a user's own code have no module, so that importing or renaming a script does not change them.
    """
    thing = _bare(thing)
    name = getattr(thing, "__qualname__", type(thing).__name__).rpartition("<locals>.")[2]
    module = _module(thing)
    if module.partition(".")[0] == "jaxgait":
        return f"{module}.{name}"
    return f"{module.partition('.')[0]}.{name}" if _is_library(module) else name


class Sources:
    """Collects everything that affects a result."""

    def __init__(self) -> None:
        self._modules: set[str] = set()
        self._found: dict[str, Any] = {}
        self._own: set[str] = set()
        self._order = hashlib.sha256()
        self._seen: dict[int, tuple[int, Any]] = {}
        self._within: set[int] = set()
        self._extra_state: dict[int, Any] = {}

    def add(self, thing: Any, name: str) -> None:
        """Adds a class, a function, or a value under its name, with everything that it refers to.

        The package that it comes from counts as the user's own, even if it is installed.

        Raises:
            Opaque: for something whose content cannot be determined.
        """
        top = _module(_bare(thing)).partition(".")[0]
        if top not in _LIBRARIES | {""} | sys.stdlib_module_names:
            self._own.add(top)
        self._visit(thing, name)

    def add_module(self, module: str) -> None:
        """Adds a module of jaxgait, with everything that it imports within jaxgait."""
        self._modules.add(module)

    def digests(self) -> dict[str, Any]:
        """The digests of values and definitions by name, and for each folder of jaxgait those of its files.

        Raises:
            Opaque: if a file of jaxgait has changed since it was imported.
        """
        folders: dict[str, dict[str, str]] = {}
        for module in sorted(_closure(frozenset(self._modules))):
            path = _file(module)
            if changed_since_import(path):
                raise Opaque(f"{path} has changed since it was imported, and something older runs: start Python again")
            folder = module if path.name == "__init__.py" else module.rpartition(".")[0]
            folders.setdefault(f"source of {folder}", {})[path.name] = _read(path, path.stat().st_mtime_ns)[0]
        return {**self._found, ARRANGEMENT: self._order.hexdigest()[:16], **folders}

    def _put(self, text: str) -> None:
        self._order.update(f"{len(text)}:{text}".encode(errors="surrogatepass"))

    def _is_new(self, x: Any) -> bool:
        """Whether something is met for the first time; later, only its number counts."""
        known = len(self._seen)
        number, _ = self._seen.setdefault(id(x), (known, x))  # kept alive, so that its id is not reused
        self._put(f"number {number}")
        return number == known

    def _visit(self, x: Any, name: str) -> None:
        self._put(name)
        if id(x) not in self._extra_state:
            self._extra_state[id(x)] = x
            for key, part in _extra_state(x):
                self._visit(part, f"{name}.{key}")
        x = _bare(x)
        if isinstance(x, type | types.FunctionType):
            self._put(name_of(x))
            self._definition(x, name)
        elif id(x) in self._within:
            self._put("itself")
        else:
            self._within.add(id(x))
            self._value(x, name)
            self._within.remove(id(x))

    def _value(self, x: Any, name: str) -> None:
        """Visits a value that is neither a class nor a Python function."""
        simple = is_plain(x) or isinstance(x, jax.Array | np.ndarray | types.ModuleType)
        if not (simple and _is_library(_module(type(x)))):
            self._visit(type(x), name)  # for its methods, those of a subclass of a built-in type, too
        if isinstance(x, types.ModuleType):
            self._module(x, name)
        elif isinstance(x, enum.Enum):
            self._note(name, str(x.name))
            self._visit(x.value, f"{name}.value")
        elif is_plain(x) or _is_numeric(x):
            self._note(name, value(x))
        elif isinstance(x, set | frozenset):
            self._each(dict(enumerate(sorted(x, key=value if all(map(is_plain, x)) else self._apart))), name)
        elif (parts := parts_of(x)) is not None:
            self._each(parts, name)
        elif callable(x) and hasattr(x, "__qualname__"):  # a function that is not of Python, perhaps of an object
            self._note(name, name_of(x))
            if not isinstance(getattr(x, "__self__", None), types.ModuleType | None):
                self._visit(x.__self__, f"{name}.self")
        elif self._is_new(x):
            state = state_of(x, name)
            self._each(state, name)
            if not state:
                self._inherited(x, name)

    def _inherited(self, x: Any, name: str) -> None:
        """Shows an object without values of its own by those of its class, whose digests decide."""
        known = {n: part for kind in reversed(type(x).__mro__) for n, part in vars(kind).items() if n[:1] != "_"}
        plain = [part for item in known.items() if is_plain(item[1]) for part in item]
        if plain:
            self._found.setdefault(name, f"{value(plain)}{OF_CLASS}{name_of(type(x))}")

    def _module(self, x: types.ModuleType, name: str) -> None:
        """Visits a module as a value: everything in it, if it is the user's."""
        top = x.__name__.partition(".")[0]
        if top == "jaxgait":
            self._modules.add(x.__name__)
        if top == "jaxgait" or _is_library(x.__name__):
            self._put(x.__name__ if top == "jaxgait" else top)
        elif self._is_new(x):
            self._each({n: part for n, part in vars(x).items() if n[:2] != "__"}, name)

    def _apart(self, x: Any) -> str:
        """A digest of one thing by itself, by which to sort a set."""
        inner = Sources()
        inner._own, inner._within = self._own, self._within
        inner._visit(x, "")
        return inner.digests()[ARRANGEMENT]

    def _each(self, parts: Mapping[Any, Any], name: str) -> None:
        """Visits the parts of a value, plain ones together."""
        if parts and all(map(is_plain, parts.values())):
            numbered = list(parts) == list(range(len(parts)))
            self._note(name, value([*parts.values()] if numbered else [x for item in parts.items() for x in item]))
            return
        for key, part in parts.items():
            self._visit(part, f"{name}.{key}" if key != "" else name)

    def _definition(self, x: type | types.FunctionType, name: str) -> None:
        top = _module(x).partition(".")[0]
        library = _is_library(_module(x)) and top not in self._own
        library = library and not (isinstance(x, type) and not defined_there(x))
        own = not (library or top == "jaxgait")
        if not isinstance(x, type) and not (own and name.endswith(name_of(x))):  # the name says which one it is
            self._note(name, name_of(x))
        if library or not self._is_new(x):
            return
        if isinstance(x, type):
            self._class(x)
        elif not own:
            self._modules.add(_module(x))
            self._closure(x, name)
        else:
            tree = tree_of(x, [x.__code__])
            self._note(f"source of {name_of(x)}", digest(facts(x.__code__).digest if tree is None else syntax(tree)))
            self._references(x, name)

    def _class(self, x: type) -> None:
        own = _module(x).partition(".")[0] == "jaxgait"
        if own:
            self._modules.add(_module(x))
        tree = tree_of(x, [] if own else [m.__code__ for m in _written_methods(x)])
        for name, member in _constants(x, tree):
            self._visit(member, f"value of {name_of(x)}.{name}")
        if tree is not None:
            if not own:
                self._note(f"source of {name_of(x)}", digest(syntax(tree)))
                names = {node.id for part in body(tree) for node in assigned(part)}
                self._globals(vars(sys.modules.get(_module(x), object)), [(name,) for name in sorted(names)])
            self._members(x, own)
        elif not own:
            for member in _methods(x):
                self._definition(member, name_of(member))
        for name, member in vars(x).items() if not own else ():
            for key, part in _extra_state(member):
                self._visit(part, f"value of {name_of(x)}.{name}.{key}")
        for base in (type(x), *x.__bases__):
            if base in x.__bases__:
                self._put(name_of(base))
            self._definition(base, name_of(base))

    def _members(self, x: type, own: bool) -> None:
        """Visits the methods of a class with source; `own`: a class of jaxgait, whose modules count as a whole."""
        for member in _methods(x):
            # what `dataclass` and `NamedTuple` write follows from it; `__replace__` is the library's, from 3.13 on
            if member.__code__.co_filename != "<string>" and not _is_library(_module(member)):
                if not member.__qualname__.startswith(f"{x.__qualname__}."):  # exchanged: the source does not show it
                    self._definition(member, name_of(member))
                elif not own:
                    self._references(member, name_of(member))

    def _references(self, function: types.FunctionType, where: str) -> None:
        """Visits what a function refers to; `where`: the name under which it was found."""
        found = facts(function.__code__)
        self._globals(function.__globals__, found.paths)
        for module, level, name in found.imports:
            try:
                package = function.__globals__.get("__package__") or ""
                loaded = importlib.import_module("." * level + module, package)
            except Exception:  # a module that is not installed, or fails
                continue
            names = [name] if name else [] if _is_library(module) else [n for n in vars(loaded) if n[:1] != "_"]
            self._globals(vars(loaded), [(name,) for name in names])
        self._closure(function, where)
        for name, default in _defaults(function):  # the source shows their names, not what they are
            self._visit(default, f"default {name} of {where}")
        for name, attribute in vars(function).items():
            if not name.startswith("__"):
                self._visit(attribute, f"value of {name_of(function)}.{name}")

    def _globals(self, known: Mapping[str, Any], paths: Iterable[Sequence[str]]) -> None:
        """Visits what is used of a module: names, each with the chain of attributes accessed on it."""
        for first, *attributes in paths:
            thing, name = known.get(first, _NOTHING), first
            for attribute in attributes:
                if isinstance(thing, types.ModuleType) and not _is_library(thing.__name__):
                    thing, name = getattr(thing, attribute, _NOTHING), f"{name}.{attribute}"
            if thing is not _NOTHING:
                self._visit(thing, f"value of {name}")

    def _closure(self, function: types.FunctionType, where: str) -> None:
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        for name, cell in cells:
            try:
                content = cell.cell_contents
            except ValueError:  # not filled yet
                continue
            if name != "__class__":
                self._visit(content, f"{name} of {where}")

    def _note(self, name: str, text: Any) -> None:
        """Adds a digest; duplicate names are numbered."""
        self._put(text)
        number, free = 1, name
        while self._found.get(free, text) != text:
            number += 1
            free = f"{name} ({number})"
        self._found[free] = text


_NOTHING = object()


def _defaults(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """The default arguments of a function by name."""
    code, last = function.__code__, function.__defaults__ or ()
    yield from zip(code.co_varnames[code.co_argcount - len(last) : code.co_argcount], last, strict=True)
    yield from (function.__kwdefaults__ or {}).items()


def value(x: Any) -> str:
    """A value as text: short values in full, others as their type and digest; without memory addresses.

    Raises:
        Opaque: for something whose content cannot be determined.
    """
    if is_plain(x):
        text = repr(x.item() if isinstance(x, np.generic) else x)
        return text if len(text) <= _SHOWN else f"{type(x).__name__} ({digest(text)})"
    if isinstance(x, list | tuple) and all(map(is_plain, x)):
        text = repr([e.item() if isinstance(e, np.generic) else e for e in x])
        return text if len(text) <= _SHOWN else f"{len(x)} values ({digest(text)})"
    if _is_numeric(x):
        return _array(x)
    sources = Sources()
    sources.add(x, "")
    return f"{name_of(x)} ({digest(json.dumps(sources.digests(), sort_keys=True))})"


def _is_numeric(x: Any) -> bool:
    """Whether a value is an array of numbers, texts or random keys."""
    return isinstance(x, jax.Array) or (isinstance(x, np.ndarray) and not x.dtype.hasobject)


def _array(x: Any) -> str:
    kind, x = str(x.dtype), np.asarray(jax.random.key_data(x) if jax.numpy.issubdtype(x.dtype, _KEY) else x)
    if x.ndim == 0 and x.dtype.kind in "bifc":
        return value(x.item())
    return f"array of shape {x.shape} ({digest(kind, np.ascontiguousarray(x).tobytes())})"


_KEY = jax.dtypes.prng_key


def digest(*parts: str | bytes) -> str:
    """Sixteen hexadecimal digits for some texts."""
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(part.encode() if isinstance(part, str) else part)
        hasher.update(b"\0")
    return hasher.hexdigest()[:16]


def _bare(x: Any) -> Any:
    """Unwraps properties, static methods and decorators of libraries (`jax.jit`, `functools.cache`, ...)."""
    if isinstance(x, property):
        x = x.fget
    if isinstance(x, staticmethod | classmethod):
        x = x.__func__
    return inspect.unwrap(x, stop=_is_own) if callable(x) and not isinstance(x, type) else x


def _extra_state(x: Any) -> Iterator[tuple[str, Any]]:
    """State of a value that `_visit` does not see: attributes of subclasses of built-in types, parts of descriptors.

    For wrappers: the rules of `jax.custom_jvp` and `custom_vjp`, and the methods of `functools.singledispatch`.
    """
    while callable(x) and not isinstance(x, type) and hasattr(x, "__wrapped__") and not _is_own(x):  # see `_bare`
        yield from ((key, part) for key in ("jvp", "fwd", "bwd") if (part := getattr(x, key, None)) is not None)
        yield from ((name_of(kind), method) for kind, method in getattr(x, "registry", {}).items())
        x = x.__wrapped__
    if isinstance(x, property):
        yield from (("set", x.fset), ("delete", x.fdel))
    elif isinstance(x, functools.partialmethod):
        yield from vars(x).items()
    elif isinstance(x, collections.defaultdict):
        yield "default_factory", x.default_factory
    if (isinstance(x, Mapping | tuple | list | set | frozenset | np.ndarray) or is_plain(x)) and not isinstance(
        x, enum.Enum
    ):
        yield from getattr(x, "__dict__", {}).items()


def _is_own(x: Any) -> bool:
    """Whether a function is a user's, by its globals: `functools.wraps` changes `__module__`."""
    where = x.__globals__.get("__name__", "") if isinstance(x, types.FunctionType) else "jaxgait"
    return where.partition(".")[0] != "jaxgait" and not _is_library(where)


def _module(x: Any) -> str:
    named = x if isinstance(x, type) or hasattr(x, "__qualname__") else type(x)
    return getattr(named, "__module__", None) or ""


def _is_library(module: str) -> bool:
    """Whether a module belongs to Python or to an installed package other than jaxgait."""
    top = module.partition(".")[0]
    if top == "jaxgait" or top in ("", "__main__"):
        return False
    if top in sys.stdlib_module_names or top in _LIBRARIES:
        return True
    loaded = sys.modules.get(module) or sys.modules.get(top)
    return is_installed(getattr(loaded, "__file__", None) or "")


def _methods(x: type) -> Iterator[types.FunctionType]:
    yield from (m for m in map(_bare, vars(x).values()) if isinstance(m, types.FunctionType))


def _written_methods(x: type) -> Iterator[types.FunctionType]:
    """The methods of a class that its file defines."""
    file = getattr(sys.modules.get(_module(x)), "__file__", None)
    for member in _methods(x):
        if member.__qualname__.startswith(f"{x.__qualname__}.") and member.__code__.co_filename == file:
            yield member


def _constants(x: type, tree: Any) -> Iterator[tuple[str, Any]]:
    """Yields numbers, texts, arrays and collections of a class by name, including those set at run time.

    Private names that its source does not assign are left out: libraries set them.
    """
    targets = (getattr(statement, "targets", [getattr(statement, "target", None)]) for statement in body(tree))
    nodes = (node for part in targets for one in part if one is not None for node in ast.walk(one))
    written = {node.id for node in nodes if isinstance(node, ast.Name)}
    fields = {field.name for field in dataclasses.fields(x)} if dataclasses.is_dataclass(x) else set()
    for name, member in vars(x).items():
        if (name in written or name[0] != "_") and name not in fields and _is_value(member):
            yield name, member


def _is_value(x: Any) -> bool:
    if type(x) in (tuple, list, set, frozenset, dict):
        return all(map(_is_value, x.values() if isinstance(x, dict) else x))
    return is_plain(x) or isinstance(x, jax.Array | np.ndarray)


@functools.cache
@alone
def _read(path: pathlib.Path, changed: int) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The digest of a file, and what it imports of jaxgait: modules, each with a name in it or with none."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imports: list[tuple[str, str]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [(a.name, "") for a in node.names if a.name.startswith("jaxgait.")]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "jaxgait":
            imports += [(str(node.module), a.name) for a in node.names]
    return digest(syntax(tree)), tuple(imports)


@functools.cache
def _closure(modules: frozenset[str]) -> frozenset[str]:
    """Modules of jaxgait with everything that they import within jaxgait, without `NO_NUMBERS`."""
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting += [m for m in _imports(module) if m.split(".")[1] not in NO_NUMBERS]
    return frozenset(found)


def _imports(module: str) -> Iterator[str]:
    path = _file(module)
    for imported, name in _read(path, path.stat().st_mtime_ns)[1]:
        if name:
            yield from _imported(imported, name)
        else:
            yield imported


def _imported(module: str, name: str) -> Iterator[str]:
    """The modules behind `from module import name`."""
    if _file(f"{module}.{name}").is_file():
        yield f"{module}.{name}"
    elif module != "jaxgait":
        yield module
        behind = getattr(getattr(sys.modules.get(module), name, None), "__module__", None) or ""
        if behind.startswith("jaxgait."):  # a package's `__init__` re-exports what its modules define
            yield behind


def _file(module: str) -> pathlib.Path:
    path = _ROOT.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
