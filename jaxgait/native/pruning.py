"""Removal of unused values from structured code: derivatives leave many, which keep products from fusing with sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jaxgait.native.code import Alike, Code, Loop, Read, Statement, Write, everything, used
from jaxgait.native.instructions import Operation


def pruned(code: Code) -> list[Statement]:
    """The code's statements without those whose values no result, no write to memory and no condition needs."""
    needed = _needed(code)
    return list(_block(code.statements, needed))


def _needed(code: Code) -> set[int]:
    """Values that are needed."""
    found: set[int] = set()
    sources = _sources(code.statements)
    waiting = [v for held in code.results if not isinstance(held, int) for v in held]
    for s in everything(code.statements):
        if isinstance(s, Write):
            waiting += used(s)
        elif isinstance(s, Loop):
            waiting += [s.going] if s.where is None else [s.going, s.where]
    while waiting:
        v = waiting.pop()
        if v not in found:
            found.add(v)
            waiting += sources.get(v, ())
    return found


def _sources(statements: Sequence[Statement]) -> Mapping[int, Sequence[int]]:
    """What each value is made of."""
    found: dict[int, list[int]] = {}
    for s in everything(statements):
        if isinstance(s, Operation | Read):
            found[s.output] = used(s)
        elif isinstance(s, Loop):
            found |= {c: [v, f] for c, v, f in zip(s.carried, s.initial, s.following, strict=True)}
        elif isinstance(s, Alike):
            found |= {inner: list(outer) for inner, outer in s.inputs}
            found |= {v: [inner] for inner, outer in s.outputs for v in outer if v != inner}
    return found


def _block(statements: Sequence[Statement], needed: set[int]) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for s in statements:
        if isinstance(s, Loop):
            found.append(_loop(s, needed))
        elif isinstance(s, Alike):
            inputs = tuple(pair for pair in s.inputs if pair[0] in needed)
            outputs = tuple(pair for pair in s.outputs if not needed.isdisjoint(pair[1]))
            body = _block(s.body, needed)
            if body or outputs:
                found.append(s._replace(inputs=inputs, body=body, outputs=outputs))
        elif isinstance(s, Write) or s.output in needed:
            found.append(s)
    return tuple(found)


def _loop(s: Loop, needed: set[int]) -> Loop:
    kept = [i for i, c in enumerate(s.carried) if c in needed]
    values = {name: tuple(getattr(s, name)[i] for i in kept) for name in ("carried", "initial", "following")}
    return s._replace(condition=_block(s.condition, needed), body=_block(s.body, needed), **values)
