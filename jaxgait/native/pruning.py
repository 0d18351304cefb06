"""Dead-code elimination, and fusing of products with sums.

Derivatives leave many unused values, which keep products from fusing. Products and sums are fused here, to operations
rounded once: all widths and processors give the same bits: LLVM's choice would depend on the code around them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from jaxgait.native.code import Code, Loop, PartLoop, Read, Statement, Write, everything, used
from jaxgait.native.instructions import Operation


def pruned(code: Code) -> list[Statement]:
    """The statements that results, writes to memory and conditions need."""
    needed = _needed(code)
    return list(_block(code.statements, needed))


def _needed(code: Code) -> set[int]:
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
    """The values that each value is computed from."""
    found: dict[int, list[int]] = {}
    for s in everything(statements):
        if isinstance(s, Operation | Read):
            found[s.output] = used(s)
        elif isinstance(s, Loop):
            found |= {c: [v, f] for c, v, f in zip(s.carried, s.initial, s.following, strict=True)}
        elif isinstance(s, PartLoop):
            found |= {inner: list(outer) for inner, outer in s.inputs}
            found |= {v: [inner] for inner, outer in s.outputs for v in outer if v != inner}
    return found


def _block(statements: Sequence[Statement], needed: set[int]) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for s in statements:
        if isinstance(s, Loop):
            found.append(_loop(s, needed))
        elif isinstance(s, PartLoop):
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


# --- fusing ---------------------------------------------------------------------------------------------------------

SIGNS = {"add": (False, False), "add_any": (False, False), "sub": (False, True)}
"""Of sums: which operands are subtracted."""


def fused(code: Code) -> tuple[Statement, ...]:
    """The code's statements, with a product that is used once as part of the sum that uses it, in the same block."""
    uses = Counter(v for s in code.statements for v in used(s))
    uses.update(v for held in code.results if not isinstance(held, int) for v in held)
    return _fuse(code.statements, uses, code)


def _fuse(statements: Sequence[Statement], uses: Counter[int], code: Code) -> tuple[Statement, ...]:
    products = [s for s in statements if isinstance(s, Operation) and _is_product(s, code)]
    once = {s.output: (s.inputs[0], s.inputs[-1]) for s in products if uses[s.output] == 1}
    found: list[Statement] = []
    taken: set[int] = set()
    for s in statements:
        if isinstance(s, Loop):
            found.append(s._replace(condition=_fuse(s.condition, uses, code), body=_fuse(s.body, uses, code)))
        elif isinstance(s, PartLoop):
            found.append(s._replace(body=_fuse(s.body, uses, code)))
        elif isinstance(s, Operation) and s.name in SIGNS and (at := [i for i, v in enumerate(s.inputs) if v in once]):
            i = at[0]
            taken.add(s.inputs[i])
            signs = {"product": SIGNS[s.name][i], "addend": SIGNS[s.name][1 - i]}
            found.append(Operation("multiply_add", (*once[s.inputs[i]], s.inputs[1 - i]), s.output, signs))
        else:
            found.append(s)
    return tuple(s for s in found if not isinstance(s, Operation) or s.output not in taken)


def _is_product(s: Operation, code: Code) -> bool:
    squared = s.name == "square" or (s.name == "integer_pow" and s.params["y"] == 2)
    return (s.name == "mul" or squared) and code.dtypes[s.output].kind == "f"
