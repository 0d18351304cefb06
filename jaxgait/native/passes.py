"""The passes over the code of an entire loop: reading, joining directions, dead-code elimination and fusing.

Derivatives leave many unused values, which keep products from fusing; a caller who needs only the end of a run leaves
its records of samples and events unused. Products and sums are fused here, to operations rounded once, so that all
widths and processors give the same bits: LLVM's choice would depend on the code around them.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from jaxgait.native import code, directions, reading, scans
from jaxgait.native.code import (
    MAX_IN_REGISTERS,
    Code,
    Loop,
    PartLoop,
    Read,
    Statement,
    Unsupported,
    Write,
    count,
    everything,
    inside,
    used,
)
from jaxgait.native.instructions import Operation
from jaxgait.native.primitives import Branches, Call, Scan, While, read
from jaxgait.native.reading import Array, ArrayRef, Reader

MAX_FACTOR = 9
"""A program whose directions may become a loop is read up to this multiple of `jaxgait.native.code.LONG` values."""
UNREADABLE = 2
"""A program is not read if it has more operations than this multiple of the values that may be read: programs have
fewer operations than that for each value (those of the mechanisms 0.1 to 1.4), as a test checks."""

MAX_MADE, MAX_MADE_TOGETHER = 256, 512
"""Largest number of elements, of one array that is rebuilt in each iteration and of all together, kept in registers.
The stages of a step of the exoskeleton are 210, with a derivative 420; LLVM takes 0.02 to 0.04 s for each number."""
WRITES = ("scatter", "dynamic_update_slice", "maybe_set")
"""Operations that write to an array: beginnings of their names."""
RECORD, RECORDS = 8, 128
"""Length above which arrays may be records, and total size above which records are kept in memory."""


def read_loop(
    loop: While | Scan,
    avals: Sequence[Any],
    wanted: Sequence[bool],
    derived: bool,
    assured: Sequence[str] = (),
    registers: int | None = None,
) -> Code:
    """The code of a loop, whose operands are its constants, initial values and arrays.

    Args:
        loop: of one member.
        avals: shapes and dtypes of the operands.
        wanted: which of its results are used.
        derived: whether JAX has taken a derivative of it, so that operands may be tangents.
        assured: see `jaxgait.native.primitives`.
        registers: largest size of an operand kept in registers; None: `MAX_IN_REGISTERS`, or fewer if the loop
            writes many records.

    Raises:
        Unsupported: for operations that structured code cannot express.
    """
    shapes = [aval.shape for aval in avals]
    if registers is None:
        if (fewer := _below_records(shapes)) < MAX_IN_REGISTERS:
            try:
                return read_loop(loop, avals, wanted, derived, assured, fewer)
            except Unsupported as reason:
                if _is_final(reason, derived):
                    raise
        registers = MAX_IN_REGISTERS
    most = MAX_FACTOR * code.LONG
    if _operations(loop.body.jaxpr) > UNREADABLE * most:
        raise code.TooLong
    reader = functools.partial(Reader, assured, registers)
    finished = functools.partial(_finished, loop, avals, wanted, derived)
    shorter = functools.partial(_shorter, loop, registers, reader, finished)
    try:
        whole = finished(reader(most), directions.MAX_UNROLLED, code.most_values())
    except Unsupported as reason:
        if _is_final(reason, derived) or not (found := shorter(shapes)):
            raise
        return found
    if not derived or count(whole.statements) <= code.LONG:
        return whole
    large = [shape for shape in shapes if math.prod(shape) > registers]  # directions of smaller ones have been found
    return shorter(large) or whole


def _is_final(reason: Unsupported, derived: bool) -> bool:
    """Whether no other form of a loop helps: it is too long, and there are no directions of derivatives to shorten."""
    return isinstance(reason, code.TooLong) and not derived


def _shorter(
    loop: While | Scan,
    registers: int,
    reader: Callable[..., Reader],
    finished: Callable[..., Code],
    shapes: Sequence[tuple[int, ...]],
) -> Code | None:
    """Another form of a loop: rebuilt arrays are in registers, or directions in a loop; None if neither helps."""
    lengths = directions.lengths(shapes, above=2)[:2]
    if made := _rebuilt(loop, registers, lengths):
        with contextlib.suppress(Unsupported):
            return finished(reader(in_registers=made), directions.MAX_UNROLLED)
    for n in lengths:  # all directions may be too much, but each of them not
        with contextlib.suppress(Unsupported):
            return finished(reader(MAX_FACTOR * code.LONG, n), 2)
    return None


def _operations(jaxpr: Any) -> int:
    """Number of scalar operations of a program; those of a loop in it count once."""
    total = 0
    for e in jaxpr.eqns:
        size = sum(math.prod(v.aval.shape) for v in e.outvars)
        if inside := _inside(e):
            total += sum(_operations(program.jaxpr) for program in inside)
        elif e.primitive.name in reading.ELEMENTWISE:
            total += size
        elif e.primitive.name == "dot_general":
            ((summed, _), _) = e.params["dimension_numbers"]
            total += 2 * size * math.prod(e.invars[0].aval.shape[i] for i in summed)
    return total


def _inside(equation: Any) -> tuple[Any, ...]:
    """The programs that an equation calls, repeats or chooses from."""
    found = read(equation.primitive.name, equation.params, len(equation.invars))
    if isinstance(found, While | Scan):
        return (found.body,)
    return found.branches if isinstance(found, Branches) else (found.program,) if isinstance(found, Call) else ()


def _rebuilt(loop: While | Scan, registers: int, lengths: Sequence[int]) -> frozenset[int]:
    """Operands, larger than `registers`, that a loop rebuilds, such as the stages of a step, and does not write to.

    Empty if they are too many. Those with a first axis of one of the `lengths`, which may be directions of derivatives,
    are left to loops over these. Those of the size of an array that is written to may be records of derivatives.
    """
    body = loop.body.jaxpr
    first, before = (loop.constants,) * 2 if isinstance(loop, Scan) else (loop.constants[1], sum(loop.constants))
    count = loop.carried if isinstance(loop, Scan) else len(body.outvars)
    written = _written(body)
    found = {}
    for i, (old, new) in enumerate(zip(body.invars[first : first + count], body.outvars[:count], strict=True)):
        shape = old.aval.shape
        if math.prod(shape) > registers and new is not old and math.prod(shape) not in written:
            found[before + i] = shape
    sizes = [math.prod(shape) for shape in found.values()]
    few = max(sizes, default=0) <= MAX_MADE and sum(sizes) <= MAX_MADE_TOGETHER
    return frozenset(i for i, shape in found.items() if few and shape[0] not in lengths)


def _written(jaxpr: Any) -> set[int]:
    """Sizes of arrays that a program writes to."""
    found: set[int] = set()
    for e in jaxpr.eqns:
        if e.primitive.name.startswith(WRITES):
            found.add(math.prod(e.outvars[0].aval.shape))
        found.update(*(_written(program.jaxpr) for program in _inside(e)))
    return found


def _below_records(shapes: Sequence[tuple[int, ...]]) -> int:
    """Largest size of an operand kept in registers: below that of a loop's records (samples, events).

    Records are many arrays of one length, written to one element at a time. In registers every element would be
    selected in each iteration, which takes LLVM minutes (18 arrays of 50: 440 s; in memory 2 s).
    """
    lengths = Counter(n for s in shapes if RECORD < (n := max(s, default=0)) == math.prod(s) <= MAX_IN_REGISTERS)
    return min([n - 1 for n, times in lengths.items() if n * times > RECORDS], default=MAX_IN_REGISTERS)


def _carried(loop: While | Scan) -> slice:
    """Operands that are initial values."""
    if isinstance(loop, Scan):
        return slice(loop.constants, loop.constants + loop.carried)
    return slice(sum(loop.constants), None)


def _finished(
    loop: While | Scan,
    avals: Sequence[Any],
    wanted: Sequence[bool],
    derived: bool,
    reader: Reader,
    few: int,
    longest: int | None = None,
) -> Code:
    """Code of at most `longest` statements, by default `jaxgait.native.code.LONG`."""
    results = scans.whole(reader, loop, avals) if isinstance(loop, Scan) else _results(reader, loop, avals)
    for i, x in enumerate(results):
        reader.code.results.append(x.memory if isinstance(x, ArrayRef) else tuple(x.ravel().tolist()))
        if isinstance(x, ArrayRef) and reader.code.memories[x.memory].result != i:
            raise Unsupported("an array that changes its position among the results")
    reader.code.statements = reader.statements
    reader.code.statements = pruned(reader.code)
    directions.joined(reader.code, [aval.shape for aval in avals], _carried(loop) if derived else None, few, code.LONG)
    reader.code.statements = pruned(reader.code)
    reader.code.statements = list(fused(reader.code))
    if count(reader.code.statements) > min(longest or code.LONG, code.most_values()):
        raise code.TooLong
    _narrow(reader.code, wanted)
    return reader.code


def _results(reader: Reader, loop: While, avals: Sequence[Any]) -> list[Array]:
    result = lambda i: None if i < sum(loop.constants) else i - sum(loop.constants)
    return reader.loop(loop, [reader.operand(aval, i, result(i)) for i, aval in enumerate(avals)])


def _narrow(code: Code, wanted: Sequence[bool]) -> None:
    """Drops results, and what only they need; after fusing, so that the others keep their bits.

    An array that the code itself reads remains a result: no one else owns its memory.
    """
    whole = code.results
    code.results = [result for result, used in zip(whole, wanted, strict=True) if used]
    memories = _live(code).memories
    code.given = [i for i, used in enumerate(wanted) if used or whole[i] in memories]
    code.results = [whole[i] for i in code.given]
    for memory in code.memories:
        memory.result = code.given.index(memory.result) if memory.result in code.given else None
    code.statements = pruned(code)


def pruned(code: Code) -> list[Statement]:
    """The statements that the results need."""
    return list(_block(code.statements, _live(code)))


class _Live(NamedTuple):
    """Values and memories that the results of code depend on."""

    values: set[int]
    memories: set[int]


class _Needs(NamedTuple):
    """What each value and memory of code depends on."""

    sources: dict[int, list[int]]
    """Values that each value is computed from."""
    read: dict[int, int]
    """Memories that values are read from."""
    writes: dict[int, list[int]]
    """Values that determine the writes to each memory."""


def _live(code: Code) -> _Live:
    needs, live = _Needs({}, {}, {}), _Live(set(), set())
    _gather(code.statements, (), needs)
    waiting = [v for result in code.results if not isinstance(result, int) for v in result]

    def keep(memory: int) -> None:
        if memory not in live.memories:
            live.memories.add(memory)
            waiting.extend(needs.writes.get(memory, ()))

    for result in code.results:
        if isinstance(result, int):
            keep(result)
    while waiting:
        v = waiting.pop()
        if v not in live.values:
            live.values.add(v)
            waiting += needs.sources.get(v, ())
            if v in needs.read:
                keep(needs.read[v])
    return live


def _gather(statements: Sequence[Statement], within: tuple[int, ...], needs: _Needs) -> None:
    """Adds what statements need; `within` are the conditions of the loops around them."""
    for s in statements:
        if isinstance(s, Write):
            needs.writes.setdefault(s.memory, []).extend([*used(s), *within])
        elif isinstance(s, Loop):
            ends = [s.going, *([] if s.where is None else [s.where])]
            needs.sources.update({c: [v, f, *ends] for c, v, f in zip(s.carried, s.initial, s.following, strict=True)})
            _gather(inside(s), (*within, *ends), needs)
        elif isinstance(s, PartLoop):
            needs.sources.update({inner: list(outer) for inner, outer in s.inputs})
            needs.sources.update({v: [inner] for inner, outer in s.outputs for v in outer if v != inner})
            _gather(inside(s), within, needs)
        else:
            needs.sources[s.output] = used(s)
            if isinstance(s, Read):
                needs.read[s.output] = s.memory


def _block(statements: Sequence[Statement], live: _Live) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for s in statements:
        if isinstance(s, Loop):
            loop = _loop(s, live)
            if loop.carried or any(isinstance(x, Write) for x in everything(inside(loop))):
                found.append(loop)
        elif isinstance(s, PartLoop):
            inputs = tuple(pair for pair in s.inputs if pair[0] in live.values)
            outputs = tuple(pair for pair in s.outputs if not live.values.isdisjoint(pair[1]))
            body = _block(s.body, live)
            if body or outputs:
                found.append(s._replace(inputs=inputs, body=body, outputs=outputs))
        elif s.memory in live.memories if isinstance(s, Write) else s.output in live.values:
            found.append(s)
    return tuple(found)


def _loop(s: Loop, live: _Live) -> Loop:
    kept = [i for i, c in enumerate(s.carried) if c in live.values]
    values = {name: tuple(getattr(s, name)[i] for i in kept) for name in ("carried", "initial", "following")}
    return s._replace(condition=_block(s.condition, live), body=_block(s.body, live), **values)


# --- fusing ---------------------------------------------------------------------------------------------------------

SIGNS = {"add": (False, False), "add_any": (False, False), "sub": (False, True)}
"""Which operands of a sum are subtracted."""


def fused(code: Code) -> tuple[Statement, ...]:
    """The code's statements, with a product that is used once as part of the sum that uses it, in the same block."""
    uses = Counter(v for s in code.statements for v in used(s))
    uses.update(v for result in code.results if not isinstance(result, int) for v in result)
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
