"""From a JAX program of one member to structured code (`jaxgait.native.code`)."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.core import Tracer
from jax.extend.core import ClosedJaxpr, Literal

from jaxgait.native import arrays, integers, scans
from jaxgait.native.blocks import COMMUTATIVE
from jaxgait.native.checks import passed
from jaxgait.native.code import Code, Loop, Memory, Read, Statement, Write
from jaxgait.native.expansions import FUNCTIONS, expanded
from jaxgait.native.instructions import ALIASES, SUPPORTED, TYPES, Operation, named, supports
from jaxgait.native.primitives import Branches, Call, While, read

SMALL = 64
"""Numbers up to which an array is held in registers."""

OWN = 16_384
"""Bytes of a member's arrays that are made in a loop."""

LONGEST = 40_000
"""Values up to which a program becomes a kernel: LLVM takes longer than in proportion (28 000 operations: 9 s)."""

IDENTITIES = frozenset(["computed_once", "copy", "copy_p", "nonbatchable", "optimization_barrier", "stop_gradient"]) | {
    *("nondifferentiable", "nondifferentiable_backward", "pvary"),
}
"""Operations that leave the numbers of one member as they are."""

ELEMENTWISE = (SUPPORTED - ALIASES) | frozenset(FUNCTIONS)

UNVMAPPED = frozenset(["unvmap_all", "unvmap_any", "unvmap_max"])
"""Operations of equinox over all members, of which there is one."""

INLINED = frozenset(["maybe_set", "vprim"])
"""Primitives of equinox that are programs of others."""


class Unsupported(Exception):
    """The program holds what structured code cannot express; the message says what."""


def too_long() -> Unsupported:
    """An error about a program of too many values."""
    return Unsupported(f"more than {LONGEST} values")


class Place(NamedTuple):
    """An array in memory, as it is after so many writes."""

    memory: int
    version: int
    shape: tuple[int, ...]


Array = np.ndarray | Place
"""Numbers of values in the array's shape, or an array in memory."""


def _number(x: Array) -> int:
    """The value of a single number."""
    return int(_small(x))


def _small(x: Array) -> np.ndarray:
    """An array whose numbers are values."""
    if isinstance(x, Place):
        raise Unsupported("a large array where numbers are wanted")
    return np.asarray(x)


def _same_type(equation: Any) -> bool:
    """Whether it only changes what is called a weak type."""
    if equation.primitive.name != "convert_element_type":
        return False
    return equation.invars[0].aval.dtype == equation.outvars[0].aval.dtype


class Reader:
    """Writes down what a program does with numbers."""

    def __init__(self, assured: Sequence[str] = (), registers: int = SMALL, longest: int = LONGEST, parts: int = 1):
        self.code, self._registers, self._longest, self._parts = Code(), registers, longest, parts
        self.statements: list[Statement] = []
        self._assured = assured
        self._known: list[dict[Any, int]] = [{}]
        self._where: int | None = None
        self._versions = itertools.count(1)

    @staticmethod
    def unsupported(what: str) -> Unsupported:
        """An error that says what the code cannot express."""
        return Unsupported(what)

    # --- values -------------------------------------------------------------------------------------------------------

    def value(self, dtype: Any) -> int:
        """A new value."""
        if named(np.dtype(dtype)) not in TYPES:
            raise Unsupported(f"values of type {dtype}")
        if len(self.code.dtypes) >= self._longest:
            raise too_long()
        self.code.dtypes.append(np.dtype(dtype))
        return len(self.code.dtypes) - 1

    def cells(self, aval: Any) -> np.ndarray:
        """New values in the shape of an array."""
        return np.array([self.value(aval.dtype) for _ in range(math.prod(aval.shape))], dtype=int).reshape(aval.shape)

    def operand(self, aval: Any, i: int, result: int | None, *, in_memory: bool = False) -> Array:
        """An operand: its numbers, or memory that may become a result."""
        if named(aval.dtype) not in TYPES:
            raise Unsupported(f"values of type {aval.dtype}")
        parts = self._parts if aval.shape[:1] == (self._parts,) else 1
        if math.prod(aval.shape) <= self._registers * parts and not in_memory:
            found = self.cells(aval)
            self.code.operands.append(tuple(found.ravel().tolist()))
            return found
        self.code.operands.append(len(self.code.memories))
        return self._memory(aval, i, result)

    def memory(self, aval: Any, result: int | None) -> Place:
        """An array that is not an operand: a result, or the loop's own, which lies on the stack."""
        if named(aval.dtype) not in TYPES:
            raise Unsupported(f"values of type {aval.dtype}")
        found = self._memory(aval, None, result)
        if (own := sum(m.size * m.dtype.itemsize for m in self.code.memories if m.own)) > OWN:
            raise Unsupported(f"arrays of {own} bytes that are made in a loop")
        return found

    def _memory(self, aval: Any, operand: int | None, result: int | None) -> Place:
        self.code.memories.append(Memory(aval.dtype, math.prod(aval.shape), operand, result))
        return Place(len(self.code.memories) - 1, 0, aval.shape)

    def constant(self, x: Any, dtype: Any) -> int:
        """A number that is known."""
        number = np.asarray(x, dtype).reshape(())
        return self._once(("constant", number.dtype.str, number.tobytes()), lambda: self._constant(number))

    def _constant(self, number: np.ndarray) -> int:
        v = self.value(number.dtype)
        self.code.constants[v] = number.item()
        return v

    def array(self, x: Any) -> np.ndarray:
        """An array that is known."""
        if isinstance(x, Tracer):
            raise Unsupported("an array from outside of the loop that is not an operand")
        whole = np.asarray(x)
        if whole.size > SMALL:
            raise Unsupported(f"a constant array of {whole.size} numbers")
        return np.array([self.constant(n, whole.dtype) for n in whole.ravel()], dtype=int).reshape(whole.shape)

    def _once(self, key: Any, make: Callable[[], int]) -> int:
        """The value of an expression: that of an equal one, where it was computed before."""
        for known in self._known:
            if key in known:
                return known[key]
        where = self._known[0] if key[0] == "constant" else self._known[-1]
        where[key] = make()
        return where[key]

    @contextlib.contextmanager
    def _inside(self) -> Iterator[list[Statement]]:
        """Code of its own, inside of a loop: what is computed there is unknown outside."""
        outer, self.statements = self.statements, []
        self._known.append({})
        try:
            yield self.statements
        finally:
            self.statements = outer
            self._known.pop()

    # --- operations on numbers ----------------------------------------------------------------------------------------

    def number(self, name: str, inputs: Sequence[int], dtype: Any, params: dict[str, Any] | None = None) -> int:
        """An elementwise operation on numbers."""
        params = params or {}
        simple = self._folded(name, inputs, np.dtype(dtype))
        if simple is not None:
            return simple
        kept = {k: params[k] for k in ("y", "rounding_method") if k in params}
        alike = tuple(sorted(inputs)) if name in COMMUTATIVE else tuple(inputs)
        key = (name, np.dtype(dtype).str, alike, *sorted((k, str(x)) for k, x in kept.items()))
        return self._once(key, lambda: self._compute(name, tuple(inputs), dtype, kept))

    def _compute(self, name: str, inputs: tuple[int, ...], dtype: Any, params: dict[str, Any]) -> int:
        of = [self.code.dtypes[v] for v in inputs]
        known = expanded(name, [jax.ShapeDtypeStruct((), d) for d in of])
        if known is not None:
            return _number(self.inline(known, [np.array(v) for v in inputs])[0])
        if of[0].kind in "iu" and name in integers.RULES:
            return integers.RULES[name](self, inputs, np.dtype(dtype))
        if not supports(name, [*of, np.dtype(dtype)]):
            raise Unsupported(f"{name} of {', '.join(map(str, of))}")
        output = self.value(dtype)
        self.statements.append(Operation(name, inputs, output, params))
        return output

    def _folded(self, name: str, inputs: Sequence[int], dtype: np.dtype) -> int | None:
        """What an operation gives that computes nothing at run time."""
        known = [self.code.constants.get(v) for v in inputs]
        if name == "select_n" and known[0] is not None and len(inputs) == 3:
            return inputs[2] if known[0] else inputs[1]
        if name == "convert_element_type" and self.code.dtypes[inputs[0]] == dtype:
            return inputs[0]
        whole = all(x is not None and not isinstance(x, float) for x in known)
        if not whole or name not in arrays.FOLDED or dtype.kind not in "ib":
            return None
        found = arrays.FOLDED[name](*known)
        fits = dtype.kind == "b" or np.iinfo(dtype).min <= found <= np.iinfo(dtype).max
        return self.constant(found, dtype) if fits else None

    def elementwise(self, equation: Any, inputs: Sequence[np.ndarray]) -> np.ndarray:
        """An operation on each number of arrays."""
        to = equation.outvars[0].aval
        name, params = equation.primitive.name, equation.params
        if to.shape == ():  # as most are
            return np.array(self.number(name, [int(x) for x in inputs], to.dtype, params), dtype=int)
        spread = [np.broadcast_to(x, to.shape) for x in inputs]
        found = [self.number(name, [int(x[i]) for x in spread], to.dtype, params) for i in np.ndindex(to.shape)]
        return np.array(found, dtype=int).reshape(to.shape)

    def element(self, whole: Array, index: Sequence[int]) -> int:
        """The number of an array at a position (values of integers) that lies within it."""
        if 0 in whole.shape:
            raise Unsupported("a number of an empty array")
        if isinstance(whole, Place):
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
        """What a position leaves open: the part of an array that is known to hold it, and the position in that part."""
        known = [self.code.constants.get(v) for v in index]
        window = tuple(slice(None) if i is None else int(i) for i in known)
        return window, [v for v, i in zip(index, known, strict=True) if i is None]

    def _read(self, memory: int, at: int, dtype: Any) -> int:
        output = self.value(dtype)
        self.statements.append(Read(memory, at, output))
        return output

    def put(self, whole: Array, index: Sequence[int], x: int, when: int | None = None) -> Array:
        """An array with another number at a position that lies within it, where a value is true."""
        if isinstance(whole, Place):
            self.check(whole)
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
        """The position among all numbers of an array."""
        at = self.constant(0, np.int64)
        for v, n in zip(index, shape, strict=True):
            wide = self.number("convert_element_type", [v], np.int64)
            at = self.number("add", [self.number("mul", [at, self.constant(n, np.int64)], np.int64), wide], np.int64)
        return at

    def check(self, place: Place) -> None:
        """An array must be what it was when it was made."""
        if self.code.memories[place.memory].version != place.version:
            raise Unsupported("an array that is used after another one was made of it")

    def written(self, place: Place) -> Place:
        """An array after it was changed."""
        memory = self.code.memories[place.memory]
        memory.version = next(self._versions)
        if memory.result is None and not memory.own:
            raise Unsupported("a large array that is changed, but is not a carried value")
        return place._replace(version=memory.version)

    # --- programs -----------------------------------------------------------------------------------------------------

    def inline(self, program: ClosedJaxpr, inputs: Sequence[Array]) -> list[Array]:
        """Writes down a program and returns its results."""
        jaxpr = program.jaxpr
        held = [self.array(c) for c in program.consts]
        known: dict[Any, Array] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*held, *inputs), strict=True))

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
        """Writes down one equation."""
        name = equation.primitive.name
        found = read(name, equation.params, len(inputs))
        if found is not None:
            return self._structure(found, inputs)
        if name in IDENTITIES or _same_type(equation) or (name in UNVMAPPED and inputs[0].shape == ()):
            return inputs
        if name == "select_if_vmap":  # (whether it is true decides whether the loop goes on, for each member)
            return [inputs[1]]
        if name in INLINED:
            function = lambda *args: equation.primitive.impl(*args, **equation.params)
            return self.inline(jax.make_jaxpr(function)(*(v.aval for v in equation.invars)), inputs)
        return self._operation(equation, inputs)

    def _structure(self, found: Any, inputs: list[Array]) -> list[Array]:
        """A loop, a branch or a call."""
        if isinstance(found, Call):
            return self.inline(found.program, inputs)
        if isinstance(found, While):
            return self.loop(found, inputs)
        return self.branches(found, inputs) if isinstance(found, Branches) else scans.scan(self, found, inputs)

    def _operation(self, equation: Any, inputs: list[Array]) -> Sequence[Array]:
        """An operation on arrays."""
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
        """A loop, of which every member does its own number of rounds."""
        n, m = loop.constants
        before, constants = inputs[:n], inputs[n : n + m]
        going = lambda carried: _number(self.inline(loop.condition, [*before, *carried])[0])
        return self.rounds(inputs[n + m :], going, lambda carried: self.inline(loop.body, [*constants, *carried]))

    def rounds(
        self,
        initial: Sequence[Array],
        going: Callable[[list[Array]], int],
        step: Callable[[list[Array]], list[Array]],
    ) -> list[Array]:
        """A loop: what it carries, whether it goes on, and what follows, of what it carries."""
        carried: list[Array] = [self.written(x) if isinstance(x, Place) else self._fresh(x) for x in initial]
        with self._inside() as condition:
            still = going(carried)
            with self._inside() as body:
                found = self._enclosed(lambda: step(carried))
        following = self._returned(carried, found)
        flat = lambda xs: tuple(int(v) for x in xs if isinstance(x, np.ndarray) for v in x.ravel())
        self.statements.append(
            Loop(flat(carried), flat(initial), tuple(condition), still, tuple(body), flat(following), self._where)
        )
        return [self.written(x) if isinstance(x, Place) else y for x, y in zip(following, carried, strict=True)]

    def _enclosed(self, inside: Callable[[], list[Array]]) -> list[Array]:
        """What is done in a body, whose members at work are the loop's own."""
        outer, self._where = self._where, None
        try:
            return inside()
        finally:
            self._where = outer

    def _fresh(self, like: np.ndarray) -> np.ndarray:
        new = [self.value(self.code.dtypes[v]) for v in like.ravel().tolist()]
        return np.array(new, dtype=int).reshape(like.shape)

    def _returned(self, carried: list[Array], found: list[Array]) -> list[Array]:
        """Results of a body, whose arrays in memory are those that it was given, as they are now."""
        for x, y in zip(carried, found, strict=True):
            if isinstance(x, Place) != isinstance(y, Place):
                raise Unsupported("a large array that is made in a loop")
            if isinstance(x, Place) and isinstance(y, Place):
                self.check(y)
                if x.memory != y.memory:
                    raise Unsupported("large arrays that change places in a loop")
        return found

    def branches(self, choice: Branches, inputs: Sequence[Array]) -> list[Array]:
        """All branches, of whose results each member takes those of its own."""
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
            self._return_to(before)  # members of this branch have seen none of the others' writes
            outer, self._where = self._where, self._both(self._where, when)
            found.append(self.inline(branch, inputs[1:]))
            self._where = outer
            for x in found[-1]:
                if isinstance(x, Place):
                    self.check(x)
            written |= {i for i, version in enumerate(before) if self.code.memories[i].version != version}
        self._return_to(before)
        for i in written:  # whatever was known of them before holds no longer, for some members
            self.code.memories[i].version = next(self._versions)
        return [self._merged(mine, one) for one in zip(*found, strict=True)]

    def _return_to(self, versions: Sequence[int]) -> None:
        """Takes arrays in memory for what they were."""
        for memory, version in zip(self.code.memories, versions, strict=False):  # (branches have arrays of their own)
            memory.version = version

    def _chosen(self, index: int, dtype: np.dtype, i: int, last: int) -> int:
        """Whether a branch is the one of a member; indices beyond the ends mean the ends."""
        if dtype.kind == "b":
            return index if i else self.number("not", [index], bool)
        name = "le" if i == 0 else "ge" if i == last else "eq"
        return self.number(name, [index, self.constant(i, dtype)], bool)

    def _merged(self, mine: Sequence[int], results: Sequence[Array]) -> Array:
        """One of the results, by which branch is chosen."""
        places = [x for x in results if isinstance(x, Place)]
        if places:
            if len(places) < len(results) or len({x.memory for x in places}) > 1:
                raise Unsupported("a choice between large arrays")
            return places[0]._replace(version=self.code.memories[places[0].memory].version)
        found = _small(results[0])
        for when, x in zip(mine[1:], results[1:], strict=True):
            pairs = zip(found.ravel().tolist(), _small(x).ravel().tolist(), strict=True)
            chosen = [self.number("select_n", [when, a, b], self.code.dtypes[a]) if a != b else a for a, b in pairs]
            found = np.array(chosen, dtype=int).reshape(found.shape)
        return found
