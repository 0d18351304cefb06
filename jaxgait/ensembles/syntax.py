"""Source code as the text of its syntax tree; the trees of functions and classes whose source is what runs."""

from __future__ import annotations

import ast
import functools
import inspect
import textwrap
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

from jaxgait.support.code_objects import codes as all_codes
from jaxgait.support.notes import without_library_warnings

F = TypeVar("F", bound=Callable[..., Any])
_PARSER = threading.Lock()


def syntax(node: Any) -> str:
    """A syntax tree as text without irrelevant parts (see the module); the same in every version of Python."""
    if isinstance(node, list):
        return "[" + ",".join(syntax(x) for x in node if not _is_docstring(x)) + "]"
    if not isinstance(node, ast.AST):
        return repr(node)
    if isinstance(node, ast.Raise):
        return "Raise"
    left_out = _LEFT_OUT.get(type(node), ())
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "parameter":
        node = ast.Call(node.func, node.args, [k for k in node.keywords if k.arg not in ("doc", "source")])
    fields = ((name, x) for name, x in ast.iter_fields(node) if name not in left_out and x not in (None, []))
    return f"{type(node).__name__}({','.join(f'{name}={syntax(x)}' for name, x in fields)})"


_LEFT_OUT: dict[type, tuple[str, ...]] = {
    ast.FunctionDef: ("returns", "type_comment"),
    ast.AsyncFunctionDef: ("returns", "type_comment"),
    ast.arg: ("annotation", "type_comment"),
    ast.Constant: ("kind",),
    ast.Name: ("ctx",),
    ast.Attribute: ("ctx",),
    ast.Subscript: ("ctx",),
    ast.Starred: ("ctx",),
    ast.List: ("ctx",),
    ast.Tuple: ("ctx",),
    ast.Module: ("type_ignores",),
}


def _is_docstring(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def alone(function: F) -> F:
    """Lets one thread at a time call functions that parse: in parallel, Python 3.11 fails (python/cpython#106905)."""

    @functools.wraps(function)
    def locked(*args: Any) -> Any:
        with _PARSER:
            return function(*args)

    return cast(F, locked)


@alone
def tree_of(x: Any, codes: Sequence[types.CodeType]) -> ast.AST | None:
    """The syntax tree of a function or class; None if there is no source, or if what runs is older than its file.

    Args:
        x: the function or class.
        codes: code objects of the function, or of the methods that the source of the class defines.
    """
    try:
        lines, number = inspect.findsource(x if isinstance(x, type) else x.__code__)
        text = "".join(lines)
        if not _codes_of(text).issuperset(codes):
            return None
        if isinstance(x, type):
            return _written(x, ast.parse(text), codes)
        if x.__name__ == "<lambda>":
            return _lambda(x, ast.parse(text))
        (definition,) = ast.parse(textwrap.dedent("".join(inspect.getblock(lines[number:])))).body
        return definition
    except (OSError, TypeError, SyntaxError, ValueError):
        return None


@functools.lru_cache(maxsize=64)
def _codes_of(text: str) -> frozenset[types.CodeType]:
    """All code objects of a text, with their lines."""
    with without_library_warnings():  # such as for an invalid escape: Python warned about that at the import
        return frozenset(all_codes(compile(text, "<source>", "exec", dont_inherit=True)))


def _lambda(x: types.FunctionType, module: ast.AST) -> ast.AST:
    """The lambda itself, without its statement; ValueError if several start on its line, as any of them may be it."""
    (found,) = (n for n in ast.walk(module) if isinstance(n, ast.Lambda) and n.lineno == x.__code__.co_firstlineno)
    return found


def _written(x: type, module: ast.AST, codes: Sequence[types.CodeType]) -> ast.AST:
    """The definition of a class; if a file has several of its name, the one with its methods.

    Until Python 3.12, `inspect` finds a class only by name. Without methods, one of several cannot be identified.
    """
    found = [*_classes(module, x.__qualname__)]
    if len(found) > 1:
        lines = [code.co_firstlineno for code in codes]
        found = [node for node in found if lines and node.lineno <= min(lines) <= max(lines) <= (node.end_lineno or 0)]
    (definition,) = found
    return definition


def _classes(node: ast.AST, name: str, within: str = "") -> Iterator[ast.ClassDef]:
    """The definitions of classes with a qualified name in a syntax tree."""
    for part in ast.iter_child_nodes(node):
        inner = within
        if isinstance(part, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            inner = f"{within}{part.name}."
            if isinstance(part, ast.ClassDef) and inner == f"{name}.":
                yield part
            inner += "" if isinstance(part, ast.ClassDef) else "<locals>."
        yield from _classes(part, name, inner)


def body(tree: Any) -> Sequence[ast.AST]:
    """The statements of a class; none without its source."""
    return getattr(tree, "body", ())


def assigned(statement: ast.AST) -> Iterator[ast.Name]:
    """The names in the values that a statement of a class assigns."""
    if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
        yield from (node for node in ast.walk(statement.value) if isinstance(node, ast.Name))
