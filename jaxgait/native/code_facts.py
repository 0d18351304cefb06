"""Constant facts about code objects: a digest of the code, and the names that it uses.

See `jaxgait.native.identity`.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import sys
import types
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple, no_type_check

from jaxgait.support.code_objects import codes

_BY_TEXT = ("__import__", "compile", "eval", "exec", "import_module")
_BY_NAME = ("globals", "locals", "vars")
_OUTSIDE = ("environ", "getenv", "input", "open", "read_bytes", "read_text")
_SHIFTS = {"LOAD_NAME": 0, "LOAD_GLOBAL": 1, "LOAD_METHOD": 0, "LOAD_ATTR": int(sys.version_info >= (3, 12))}
"""Number of flag bits below the index of a name in an instruction's argument
(https://docs.python.org/3/library/dis.html)."""
_NAMES = {dis.opmap[name]: shift for name, shift in _SHIFTS.items() if name in dis.opmap}
_ATTRIBUTES = frozenset(dis.opmap[name] for name in ("LOAD_ATTR", "LOAD_METHOD") if name in dis.opmap)
_CACHE, _IMPORT = dis.opmap["CACHE"], dis.opmap["IMPORT_NAME"]
ELSEWHERE = frozenset([*_BY_TEXT, *_BY_NAME, *_OUTSIDE])
"""Names by which a user's code may reach what these facts do not cover."""


class Facts(NamedTuple):
    """Facts about one code object, which never change."""

    digest: str
    paths: tuple[tuple[str, ...], ...]
    """Global names that it uses, each with the chain of attributes that is read from it directly."""
    imports: tuple[tuple[str, int, str], ...]
    """Imports in it: the module, how many levels up, and the name imported from it ("" for the module itself)."""
    elsewhere: bool
    """Whether it uses any of the names `ELSEWHERE`."""


_known_facts: dict[int, tuple[weakref.ref[types.CodeType], Facts]] = {}
"""Facts by the address of the code object, removed when the object is freed."""


@no_type_check
def facts(code: types.CodeType) -> Facts:
    """The facts about a code object, nested functions included."""
    if id(code) not in _known_facts:
        parts = list(codes(code))
        paths = sorted({path for one in parts for path in _paths(one)})
        imports = tuple(x for one in parts if _IMPORT in one.co_code[::2] for x in _imports(one))
        elsewhere = any(ELSEWHERE.intersection(one.co_names) for one in parts)
        digest = hashlib.sha256(repr([_text(one) for one in parts]).encode(errors="surrogatepass")).hexdigest()
        alive = weakref.ref(code, functools.partial(_known_facts.pop, id(code)))
        _known_facts[id(code)] = alive, Facts(digest, tuple(paths), imports, elsewhere)
    return _known_facts[id(code)][1]


@no_type_check
def _text(code: types.CodeType) -> Any:
    """Code as plain values, without nested code, name and position in the file."""
    constants = [_constant(x) for x in code.co_consts]
    table = getattr(code, "co_exceptiontable", b"")
    counts = (code.co_flags, code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return code.co_code, table, constants, names, counts


@no_type_check
def _constant(x: Any) -> Any:
    if isinstance(x, types.CodeType):
        return "code"
    if isinstance(x, tuple):
        return [_constant(one) for one in x]
    return (type(x).__name__, sorted(map(repr, x)) if isinstance(x, frozenset) else repr(x))


@no_type_check
def _paths(code: types.CodeType) -> Iterator[tuple[str, ...]]:
    """Names with their attributes, from the bytes themselves: `dis` takes ten times as long."""
    path: list[str] = []
    extended = 0
    for operation, low in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        if operation == _CACHE:
            continue
        argument, extended = extended | low, 0
        if operation == dis.EXTENDED_ARG:
            extended = argument << 8
        elif path and operation in _ATTRIBUTES:
            path.append(code.co_names[argument >> _NAMES[operation]])
        else:
            if path:
                yield tuple(path)
            named = operation in _NAMES and operation not in _ATTRIBUTES
            path = [code.co_names[argument >> _NAMES[operation]]] if named else []


@no_type_check
def _imports(code: types.CodeType) -> Iterator[tuple[str, int, str]]:
    steps = [step for step in dis.get_instructions(code) if step.opcode != dis.EXTENDED_ARG]
    for i, step in enumerate(steps):
        if step.opname == "IMPORT_NAME":
            level, names = steps[i - 2].argval, steps[i - 1].argval
            yield from ((step.argval, level, name) for name in names or ("",))
