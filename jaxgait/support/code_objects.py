"""Compiled code of Python, with that of the functions in it."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType
from typing import no_type_check


@no_type_check  # (the tests' run-time type checks would slow this down: `native.code_facts` calls it often)
def codes(code: CodeType) -> Iterator[CodeType]:
    """A code object, and those of the functions and classes within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def names_in(code: CodeType) -> set[str]:
    """Names of globals and attributes in code, also of functions within it.

    Examples:
        >>> from jaxgait.support.code_objects import names_in
        >>> print(sorted(names_in((lambda xs: [len(x.name) for x in xs]).__code__)))
        ['len', 'name']
    """
    return {name for one in codes(code) for name in one.co_names}
