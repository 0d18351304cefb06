"""From a JAX program of one member to structured code (`jaxgait.native.code`)."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import Tracer
from jax.extend.core import ClosedJaxpr, Literal

from jaxgait.native import arrays, scans
from jaxgait.native.blocks import COMMUTATIVE
from jaxgait.native.code import LONG, MAX_IN_REGISTERS, Code, Loop, Memory, Read, Statement, TooLong, Unsupported, Write
from jaxgait.native.folding import folded, shortened
from jaxgait.native.functions import FUNCTIONS, expanded
from jaxgait.native.instructions import ALIASES, SUPPORTED, TYPES, Operation, named, supports
from jaxgait.native.primitives import Branches, Call, While, passed, read

MAX_TEMPORARY_BYTES = 16_384
"""Largest number of bytes of a member's temporary arrays."""

MAX_IN_TABLE = 16_384
"""Largest number of elements of a constant array in memory."""

IDENTITIES = frozenset(["computed_once", "copy", "copy_p", "nonbatchable", "optimization_barrier", "stop_gradient"]) | {
    *("nondifferentiable", "nondifferentiable_backward", "pvary")
}
"""Operations that are the identity for one member."""

ELEMENTWISE = (SUPPORTED - ALIASES) | frozenset(FUNCTIONS)

UNVMAPPED = frozenset(["unvmap_all", "unvmap_any", "unvmap_max"])
"""Operations of equinox over all members: here, over a single one."""

INLINED = frozenset(["maybe_set", "vprim"])
"""Primitives of equinox that hold a program."""


class ArrayRef(NamedTuple):
    """An array in memory, in one of its versions: every write makes a new one."""

    memory: int
    version: int
    shape: tuple[int, ...]


Array = np.ndarray | ArrayRef
"""Values in the shape of the array, or an array in memory."""


def _number(x: Array) -> int:
    return int(_small(x))


def _small(x: Array) -> np.ndarray:
    if isinstance(x, ArrayRef):
        raise Unsupported("a large array where scalars are needed")
    return np.asarray(x)


def _same_type(equation: Any) -> bool:
    if equation.primitive.name != "convert_element_type":
        return False
    return equation.invars[0].aval.dtype == equation.outvars[0].aval.dtype


class Reader:
    """Translates a program of one member to structured code.

    Args:
        assured: see `jaxgait.native.primitives`.
        registers: largest size of an operand kept in registers.
        longest: largest number of values of a program that is read.
        parts: length of a first axis that does not count for `registers`.
        in_registers: positions of operands that are kept in registers whatever their size.
    """

    def __init__(
        self,
        assured: Sequence[str] = (),
        registers: int = MAX_IN_REGISTERS,
        longest: int = LONG,
        parts: int = 1,
        in_registers: Collection[int] = (),
    ):
        self.code, self._registers, self._longest, self._parts = Code(), registers, longest, parts
        self._in_registers = in_registers
        self.statements: list[Statement] = []
        self._assured, self._finite = assured, False
        self._known: list[dict[Any, int]] = [{}]
        self._tables: dict[Any, ArrayRef] = {}
        self._where: int | None = None
        self._versions = itertools.count(1)

    # --- values -------------------------------------------------------------------------------------------------------

    def value(self, dtype: Any) -> int:
        """A new value."""
        if named(np.dtype(dtype)) not in TYPES:
            raise Unsupported(f"values of type {dtype}")
        if len(self.code.dtypes) >= self._longest:
            raise TooLong
        self.code.dtypes.append(np.dtype(dtype))
        return len(self.code.dtypes) - 1

    def cells(self, aval: Any) -> np.ndarray:
        """New values in the shape of an array."""
        return np.array([self.value(aval.dtype) for _ in range(math.prod(aval.shape))], dtype=int).reshape(aval.shape)

    def operand(self, aval: Any, i: int, result: int | None, *, in_memory: bool = False) -> Array:
        """An operand: its values, or memory that may become a result."""
        if named(aval.dtype) not in TYPES:
            raise Unsupported(f"values of type {aval.dtype}")
        parts = self._parts if aval.shape[:1] == (self._parts,) else 1
        small = math.prod(aval.shape) <= self._registers * parts or i in self._in_registers
        if small and not in_memory:
            found = self.cells(aval)
            self.code.operands.append(tuple(found.ravel().tolist()))
            return found
        self.code.operands.append(len(self.code.memories))
        return self._memory(aval, i, result)

    def memory(self, aval: Any, result: int | None) -> ArrayRef:
        """An array that is not an operand: a result, or a temporary array on the stack."""
        if named(aval.dtype) not in TYPES:
            raise Unsupported(f"values of type {aval.dtype}")
        found = self._memory(aval, None, result)
        if (own := sum(m.size * m.dtype.itemsize for m in self.code.memories if m.own)) > MAX_TEMPORARY_BYTES:
            raise Unsupported(f"temporary arrays of {own} bytes in a loop")
        return found

    def _memory(self, aval: Any, operand: int | None, result: int | None) -> ArrayRef:
        self.code.memories.append(Memory(aval.dtype, math.prod(aval.shape), operand, result))
        return ArrayRef(len(self.code.memories) - 1, 0, aval.shape)

    def constant(self, x: Any, dtype: Any) -> int:
        """A constant."""
        number = np.asarray(x, dtype).reshape(())
        return self._once(("constant", number.dtype.str, number.tobytes()), lambda: self._constant(number))

    def _constant(self, number: np.ndarray) -> int:
        v = self.value(number.dtype)
        self.code.constants[v] = number.item()
        return v

    def array(self, x: Any) -> Array:
        """A constant array; a large one is in memory."""
        if isinstance(x, Tracer):
            raise Unsupported("an array from outside of the loop")
        whole = np.asarray(x)
        if whole.size > MAX_IN_REGISTERS:
            return self._table(whole)
        return np.array([self.constant(n, whole.dtype) for n in whole.ravel()], dtype=int).reshape(whole.shape)

    def _table(self, whole: np.ndarray) -> ArrayRef:
        if whole.size > MAX_IN_TABLE or named(whole.dtype) not in TYPES:
            raise Unsupported(f"a constant array of {whole.size} numbers of type {whole.dtype}")
        key = (whole.dtype.str, whole.shape, whole.tobytes())
        if key not in self._tables:
            self.code.memories.append(Memory(whole.dtype, whole.size, None, table=whole))
            self._tables[key] = ArrayRef(len(self.code.memories) - 1, 0, whole.shape)
        return self._tables[key]

    def _once(self, key: Any, make: Callable[[], int]) -> int:
        """The value of an expression, or of an equal one that was computed before."""
        for known in self._known:
            if (found := known.get(key)) is not None:
                return found
        where = self._known[0] if key[0] == "constant" else self._known[-1]
        where[key] = value = make()
        return value

    @contextlib.contextmanager
    def _inside(self) -> Iterator[list[Statement]]:
        """Code of a nested block, whose values are unknown outside."""
        outer, self.statements = self.statements, []
        self._known.append({})
        try:
            yield self.statements
        finally:
            self.statements = outer
            self._known.pop()

    # --- operations on numbers ----------------------------------------------------------------------------------------

    def number(self, name: str, inputs: Sequence[int], dtype: Any, params: dict[str, Any] | None = None) -> int:
        """An elementwise operation on scalars."""
        dtype = np.dtype(dtype)
        simple = folded(self, name, inputs, dtype)
        if simple is None and self._finite and dtype.kind == "f":
            simple = shortened(self, name, inputs, dtype)
        if simple is not None:
            return simple
        kept = {k: params[k] for k in ("y", "rounding_method") if k in params} if params else {}
        alike = tuple(sorted(inputs)) if name in COMMUTATIVE else tuple(inputs)
        key = (name, dtype, alike, *sorted((k, str(x)) for k, x in kept.items()))
        return self._once(key, lambda: self._compute(name, tuple(inputs), dtype, kept))

    def _compute(self, name: str, inputs: tuple[int, ...], dtype: Any, params: dict[str, Any]) -> int:
        of = [self.code.dtypes[v] for v in inputs]
        known = expanded(name, [jax.ShapeDtypeStruct((), d) for d in of]) if name in FUNCTIONS else None
        if known is not None:
            return _number(self.inline(known, [np.array(v) for v in inputs])[0])
        if of[0].kind in "iu" and name in arrays.INTEGERS:
            return arrays.INTEGERS[name](self, inputs, np.dtype(dtype))
        if not supports(name, (*of, np.dtype(dtype))):
            raise Unsupported(f"{name} of {', '.join(map(str, of))}")
        output = self.value(dtype)
        self.statements.append(Operation(name, inputs, output, params))
        return output

    def elementwise(self, equation: Any, inputs: Sequence[np.ndarray]) -> np.ndarray:
        """An operation on each scalar of arrays."""
        to = equation.outvars[0].aval
        name, params = equation.primitive.name, equation.params
        if to.shape == ():  # as most are
            return np.array(self.number(name, [int(x) for x in inputs], to.dtype, params), dtype=int)
        spread = [np.broadcast_to(x, to.shape) for x in inputs]
        found = [self.number(name, [int(x[i]) for x in spread], to.dtype, params) for i in np.ndindex(to.shape)]
        return np.array(found, dtype=int).reshape(to.shape)

    def element(self, whole: Array, index: Sequence[int]) -> int:
        """The scalar of an array at a position (integer values) within its bounds."""
        if 0 in whole.shape:
            raise Unsupported("an element of an empty array")
        if isinstance(whole, ArrayRef):
            self.check(whole)
            at, dtype = self.flat(index, whole.shape), self.code.memories[whole.memory].dtype
            key = ("read", whole.memory, whole.version, at)
            return self._once(key, lambda: self._read(whole.memory, at, dtype))
        window, rest = self._window(index)
        part = whole[window]
        found, *others = part.ravel().tolist()
        at = self.flat(rest, part.shape)
        for i, v in enumerate(others, start=1):
            hit = self.number("eq", [at, self.constant(i, np.int64)], bool)
            found = self.number("select_n", [hit, found, v], self.code.dtypes[v])
        return found

    def _window(self, index: Sequence[int]) -> tuple[tuple[int | slice, ...], list[int]]:
        """The part of an array selected by the known indices of a position, and the other indices."""
        known = [self.code.constants.get(v) for v in index]
        window = tuple(slice(None) if i is None else int(i) for i in known)
        return window, [v for v, i in zip(index, known, strict=True) if i is None]

    def _read(self, memory: int, at: int, dtype: Any) -> int:
        output = self.value(dtype)
        self.statements.append(Read(memory, at, output))
        return output

    def put(self, whole: Array, index: Sequence[int], x: int, when: int | None = None) -> Array:
        """An array with a scalar replaced at a position within its bounds, where `when` is true."""
        if isinstance(whole, ArrayRef):
            if self.code.memories[whole.memory].table is not None:
                raise Unsupported("an update of a large constant array")
            where = self._both(self._where, when)
            self.statements.append(Write(whole.memory, self.flat(index, whole.shape), x, where))
            return self.written(whole)
        window, rest = self._window(index)
        part = whole[window]
        at, found = self.flat(rest, part.shape), []
        for i, v in enumerate(part.ravel().tolist()):
            there = self.number("eq", [at, self.constant(i, np.int64)], bool) if rest else None
            hit = self._both(there, when)
            found.append(x if hit is None else self.number("select_n", [hit, v, x], self.code.dtypes[v]))
        changed = whole.copy()
        changed[window] = np.array(found, dtype=int).reshape(part.shape)
        return changed

    def _both(self, a: int | None, b: int | None) -> int | None:
        return b if a is None else a if b is None else self.number("and", [a, b], bool)

    def flat(self, index: Sequence[int], shape: Sequence[int]) -> int:
        """The position in the flattened array."""
        at = self.constant(0, np.int64)
        for v, n in zip(index, shape, strict=True):
            wide = self.number("convert_element_type", [v], np.int64)
            at = self.number("add", [self.number("mul", [at, self.constant(n, np.int64)], np.int64), wide], np.int64)
        return at

    def check(self, array: ArrayRef) -> None:
        """Raises `Unsupported` if an array is an older version."""
        if self.code.memories[array.memory].version != array.version:
            raise Unsupported("an array that is used after an updated copy was made")

    def written(self, array: ArrayRef) -> ArrayRef:
        """The next version of an array, which must be its latest: older ones are no longer in memory."""
        self.check(array)
        version = self.code.memories[array.memory].version = next(self._versions)
        return array._replace(version=version)

    # --- programs -----------------------------------------------------------------------------------------------------

    def inline(self, program: ClosedJaxpr, inputs: Sequence[Array]) -> list[Array]:
        """Translates a program and returns its results."""
        jaxpr = program.jaxpr
        constants = [self.array(c) for c in program.consts]
        known: dict[Any, Array] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*constants, *inputs), strict=True))

        def get(v: Any) -> Array:
            if isinstance(v, Literal):
                aval: Any = v.aval
                return self.array(np.asarray(v.val, aval.dtype))  # (a number of Python's own has no type)
            return known[v]

        for equation in jaxpr.eqns:
            found = self.equation(equation, [get(v) for v in equation.invars])
            known.update(zip(equation.outvars, found, strict=True))
        return [get(v) for v in jaxpr.outvars]

    def equation(self, equation: Any, inputs: list[Array]) -> Sequence[Array]:
        """Translates one equation."""
        name = equation.primitive.name
        found = read(name, equation.params, len(inputs))
        if found is not None:
            return self._structure(found, inputs)
        if name in IDENTITIES or _same_type(equation) or (name in UNVMAPPED and inputs[0].shape == ()):
            return inputs
        if name == "select_if_vmap":  # (the loop's condition covers it)
            return [inputs[1]]
        if name in INLINED:
            function = lambda *args: equation.primitive.impl(*args, **equation.params)
            return self.inline(jax.make_jaxpr(function)(*(v.aval for v in equation.invars)), inputs)
        return self._operation(equation, inputs)

    def _structure(self, found: Any, inputs: list[Array]) -> list[Array]:
        if isinstance(found, Call):
            outer, self._finite = self._finite, self._finite or found.finite
            try:
                return self.inline(found.program, inputs)
            finally:
                self._finite = outer
        if isinstance(found, While):
            return self.loop(found, inputs)
        return self.branches(found, inputs) if isinstance(found, Branches) else scans.scan(self, found, inputs)

    def _operation(self, equation: Any, inputs: list[Array]) -> Sequence[Array]:
        name = equation.primitive.name
        if equation.effects:
            raise Unsupported(f"{name}, which has an effect")
        if name in arrays.SEVERAL:
            return arrays.SEVERAL[name](self, equation, inputs)
        if name in arrays.RULES:
            return [arrays.RULES[name](self, equation, inputs)]
        small = [x for x in inputs if isinstance(x, np.ndarray)]
        if len(small) == len(inputs) and name in ELEMENTWISE:
            return [self.elementwise(equation, small)]
        raise Unsupported(name if len(small) == len(inputs) else f"{name} of a large array")

    def loop(self, loop: While, inputs: Sequence[Array]) -> list[Array]:
        """A loop, with its own number of iterations for each member, and for each element of a `jax.vmap` inside it."""
        n, m = loop.constants
        before, constants = inputs[:n], inputs[n : n + m]
        still = np.array(0)  # of each element, in the iteration that is being read

        def going(carried: list[Array]) -> int:
            nonlocal still
            still = _small(self.inline(loop.condition, [*before, *carried])[0])
            either = lambda a, b: self.number("or", [a, b], bool)
            return functools.reduce(either, still.ravel().tolist())

        def step(carried: list[Array]) -> list[Array]:
            found = self.inline(loop.body, [*constants, *carried])
            return [self._advanced(still, *pair) for pair in zip(found, carried, strict=True)] if still.shape else found

        return self.rounds(inputs[n + m :], going, step)

    def _advanced(self, still: np.ndarray, new: Array, old: Array) -> np.ndarray:
        """New values of elements whose loop continues, old ones of the others."""
        new, old = _small(new), _small(old)
        wide = np.broadcast_to(still.reshape(still.shape + (1,) * (new.ndim - still.ndim)), new.shape)
        cells = zip(wide.ravel().tolist(), old.ravel().tolist(), new.ravel().tolist(), strict=True)
        chosen = [self.number("select_n", [when, a, b], self.code.dtypes[a]) for when, a, b in cells]
        return np.array(chosen, dtype=int).reshape(new.shape)

    def rounds(
        self, initial: Sequence[Array], going: Callable[[list[Array]], int], step: Callable[[list[Array]], list[Array]]
    ) -> list[Array]:
        """A loop, from initial values and functions of the carried values: whether it continues, and what follows."""
        carried: list[Array] = [self.written(x) if isinstance(x, ArrayRef) else self._fresh(x) for x in initial]
        with self._repeated(carried), self._inside() as condition:
            still = going(carried)
            with self._inside() as body:
                found = self._enclosed(lambda: step(carried))
        following = self._returned(carried, found)
        flat = lambda xs: tuple(int(v) for x in xs if isinstance(x, np.ndarray) for v in x.ravel())
        self.statements.append(
            Loop(flat(carried), flat(initial), tuple(condition), still, tuple(body), flat(following), self._where)
        )
        return [self.written(x) if isinstance(x, ArrayRef) else y for x, y in zip(following, carried, strict=True)]

    @contextlib.contextmanager
    def _repeated(self, carried: Sequence[Array]) -> Iterator[None]:
        """Code that is read once and runs again: what it does not carry must then be as it was the first time."""
        may = {x.memory for x in carried if isinstance(x, ArrayRef)}
        before = [memory.version for memory in self.code.memories]
        yield
        for i, version in enumerate(before):
            if i not in may and self.code.memories[i].version != version:
                raise Unsupported("a large array that a loop updates, but does not carry")

    def _enclosed(self, inside: Callable[[], list[Array]]) -> list[Array]:
        """Runs `inside`, in whose code the loop's active members are all members."""
        outer, self._where = self._where, None
        try:
            return inside()
        finally:
            self._where = outer

    def _fresh(self, like: np.ndarray) -> np.ndarray:
        new = [self.value(self.code.dtypes[v]) for v in like.ravel().tolist()]
        return np.array(new, dtype=int).reshape(like.shape)

    def _returned(self, carried: list[Array], found: list[Array]) -> list[Array]:
        """Results of a body, whose arrays in memory must be updated versions of the carried ones."""
        for x, y in zip(carried, found, strict=True):
            if isinstance(x, ArrayRef) != isinstance(y, ArrayRef):
                raise Unsupported("a large array that is made in a loop")
            if isinstance(x, ArrayRef) and isinstance(y, ArrayRef):
                self.check(y)
                if x.memory != y.memory:
                    raise Unsupported("large arrays that change places in a loop")
        return found

    def branches(self, choice: Branches, inputs: Sequence[Array]) -> list[Array]:
        """All branches, from whose results each member selects."""
        taken = passed(choice.branches, self._assured)
        if taken is not None:
            return self.inline(taken, inputs[1:])
        index = _number(inputs[0])
        dtype, last = self.code.dtypes[index], len(choice.branches) - 1
        mine = [self._chosen(index, dtype, i, last) for i in range(last + 1)]
        before = [memory.version for memory in self.code.memories]
        found: list[list[Array]] = []
        written: set[int] = set()
        for branch, when in zip(choice.branches, mine, strict=True):
            self._return_to(before)  # members of this branch see none of the others' writes
            outer, self._where = self._where, self._both(self._where, when)
            found.append(self.inline(branch, inputs[1:]))
            self._where = outer
            for x in found[-1]:
                if isinstance(x, ArrayRef):
                    self.check(x)
            written |= {i for i, version in enumerate(before) if self.code.memories[i].version != version}
        self._return_to(before)
        for i in written:  # what was known of them may be outdated for some members
            self.code.memories[i].version = next(self._versions)
        return [self._merged(mine, one) for one in zip(*found, strict=True)]

    def _return_to(self, versions: Sequence[int]) -> None:
        for memory, version in zip(self.code.memories, versions, strict=False):  # (branches have arrays of their own)
            memory.version = version

    def _chosen(self, index: int, dtype: np.dtype, i: int, last: int) -> int:
        """Whether a member takes a branch; indices out of bounds are clamped."""
        if dtype.kind == "b":
            return index if i else self.number("not", [index], bool)
        name = "le" if i == 0 else "ge" if i == last else "eq"
        return self.number(name, [index, self.constant(i, dtype)], bool)

    def _merged(self, mine: Sequence[int], results: Sequence[Array]) -> Array:
        """The result of the branch that each member takes."""
        arrays = [x for x in results if isinstance(x, ArrayRef)]
        if arrays:
            if len(arrays) < len(results) or len({x.memory for x in arrays}) > 1:
                raise Unsupported("a choice between large arrays")
            return arrays[0]._replace(version=self.code.memories[arrays[0].memory].version)
        found = _small(results[0])
        for when, x in zip(mine[1:], results[1:], strict=True):
            pairs = zip(found.ravel().tolist(), _small(x).ravel().tolist(), strict=True)
            chosen = [self.number("select_n", [when, a, b], self.code.dtypes[a]) if a != b else a for a, b in pairs]
            found = np.array(chosen, dtype=int).reshape(found.shape)
        return found
