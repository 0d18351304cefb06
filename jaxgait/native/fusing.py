"""Products and sums as one operation, rounded once: decided here, so that all widths and processors give the same bits.

LLVM's own choice would depend on the other code in the same block of machine code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from jaxgait.native.code import Alike, Code, Loop, Statement, used
from jaxgait.native.instructions import Operation

SIGNS = {"add": (False, False), "add_any": (False, False), "sub": (False, True)}
"""Of sums: which operands are subtracted."""


def fused(code: Code) -> tuple[Statement, ...]:
    """The code's statements, with a product that is used once as part of the sum that uses it, in the same block."""
    uses = Counter(v for s in code.statements for v in used(s))
    uses.update(v for held in code.results if not isinstance(held, int) for v in held)
    return _block(code.statements, uses, code)


def _block(statements: Sequence[Statement], uses: Counter[int], code: Code) -> tuple[Statement, ...]:
    products = {s.output: _factors(s) for s in statements if isinstance(s, Operation) and _is_product(s, code)}
    once = {v: factors for v, factors in products.items() if uses[v] == 1}
    found: list[Statement] = []
    taken: set[int] = set()
    for s in statements:
        if isinstance(s, Loop):
            found.append(s._replace(condition=_block(s.condition, uses, code), body=_block(s.body, uses, code)))
        elif isinstance(s, Alike):
            found.append(s._replace(body=_block(s.body, uses, code)))
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


def _factors(s: Operation) -> tuple[int, int]:
    return s.inputs[0], s.inputs[-1]
