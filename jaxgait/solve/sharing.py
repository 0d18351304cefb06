"""A pass over a whole program that decides what XLA's CPU compiler shall store instead of computing it again.

XLA fuses elementwise operations into loops over the batch, one loop per stored result, and computes anew in every loop
whatever it needs that is cheap. In the long straight-line programs of a solver step this repeats almost everything: one
Rosenbrock step of the knee takes 7000 operations per member, and XLA's loops took 38000 (jaxlib 0.10). `sharing` finds
the values that are worth storing and hides each behind a division, which XLA never repeats. The same step then takes
12000 operations and runs twice as fast; its derivatives, which did not compile at all, take half a minute.

The pass works on what JAX hands to XLA, after `vmap` and differentiation, so that no model and no solver knows of it:

1. The program is flattened into blocks of straight-line code (bodies of loops and branches), equal expressions merged.
2. In each block every value with several users starts as the result of a loop of its own.
3. Loops are merged into those that use them while computing something again costs less than storing it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from jaxgait.mechanics.fusion import computed_once

__all__ = ["compiled", "sharing"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


REPEATED = _words("""
    abs add add_any and bitcast_convert_type broadcast_in_dim ceil clamp convert_element_type copy eq expand_dims floor
    ge gt integer_pow is_finite le lt max min mul ne neg not or reshape round select_n shift_left
    shift_right_arithmetic shift_right_logical sign square squeeze stop_gradient sub xor
""")
"""Elementwise operations that XLA computes again wherever they are used."""

NEVER_REPEATED = _words("""
    acos acosh asin asinh atan atan2 atanh cbrt cos cosh div erf exp exp2 expm1 log log1p logistic pow rem rsqrt sin
    sinh sqrt tan tanh
""")
"""Elementwise operations that XLA stores if they have several users."""

FREE = _words("broadcast_in_dim convert_element_type copy expand_dims reshape squeeze stop_gradient")
"""Operations that cost nothing inside a loop."""

CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "custom_jvp_call": "call_jaxpr"}
"""Calls that are replaced by what they call, and where that is found. (Derivatives have been taken already.)"""

STORING = 8.0
"""Cost of storing and loading a value, the division included, in elementwise operations; measured on two Xeon cores."""
LOOP = 3000.0
"""Cost of starting one more loop, in elementwise operations on one number: the members of a batch share it."""
LANES = 8
"""Numbers that cost as much as one: those of a vector instruction."""


def compiled(function: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """Compiles a function for arguments of given shapes, with `sharing`.

    Args:
        function: of arrays and pytrees of arrays.
        args: arguments, or their shapes.

    Returns:
        The compiled program, to be called with arguments of the same shapes and dtypes.
    """
    return jax.jit(sharing(function)).lower(*args).compile()


def sharing(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, whose compiled program stores what is worth storing.

    It must not be differentiated any more. On other devices than CPUs nothing is changed.

    Args:
        function: of arrays and pytrees of arrays; it may hold loops and branches.
    """

    @functools.wraps(function)
    def shared(*args: Any) -> Any:
        if jax.default_backend() != "cpu":
            return function(*args)
        leaves, structure = jax.tree.flatten(args)
        flat = lambda *leaves: function(*jax.tree.unflatten(structure, leaves))
        program, shapes = jax.make_jaxpr(flat, return_shape=True)(*leaves)
        return jax.tree.unflatten(jax.tree.structure(shapes), _evaluate(program, leaves))

    return shared


class Equation(NamedTuple):
    """One operation of a block; values are numbered."""

    primitive: Any
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    params: dict[str, Any]
    effects: bool

    @property
    def elementwise(self) -> bool:
        """Whether XLA may make it part of a loop."""
        return self.primitive.name in REPEATED or self.primitive.name in NEVER_REPEATED


class Block:
    """Straight-line code with numbered values, without calls and without equal expressions."""

    def __init__(self) -> None:
        self.equations: list[Equation] = []
        self.constants: dict[int, Any] = {}
        self.avals: list[Any] = []
        self._known: dict[Any, Any] = {}

    def value(self, aval: Any) -> int:
        """A new value."""
        self.avals.append(aval)
        return len(self.avals) - 1

    def include(self, jaxpr: Jaxpr, constants: Sequence[int], inputs: Sequence[int]) -> list[int]:
        """Appends the equations of a jaxpr and returns its results."""
        number = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*constants, *inputs), strict=True))
        read = lambda v: self._literal(v) if isinstance(v, Literal) else number[v]
        for equation in jaxpr.eqns:
            results = self._append(equation, tuple(read(v) for v in equation.invars))
            number.update(zip(equation.outvars, results, strict=True))
        return [read(v) for v in jaxpr.outvars]

    def keep(self, results: Iterable[int]) -> None:
        """Drops the equations that the results (and effects) do not need."""
        needed, kept = set(results), []
        for equation in reversed(self.equations):
            if equation.effects or needed.intersection(equation.outputs):
                kept.append(equation)
                needed.update(equation.inputs)
        self.equations = kept[::-1]

    def _literal(self, literal: Any) -> int:
        key = (np.asarray(literal.val).tobytes(), str(literal.aval))
        if key not in self._known:
            self._known[key] = self._constant(literal.val, literal.aval)
        return self._known[key]

    def _constant(self, value: Any, aval: Any) -> int:
        number = self.value(aval)
        self.constants[number] = value
        return number

    def _append(self, equation: Any, inputs: tuple[int, ...]) -> Sequence[int]:
        name = equation.primitive.name
        if name in CALLS:
            inner = equation.params[CALLS[name]]
            inner = inner if isinstance(inner, ClosedJaxpr) else ClosedJaxpr(inner, ())
            held = [self._constant(c, v.aval) for c, v in zip(inner.consts, inner.jaxpr.constvars, strict=True)]
            return self.include(inner.jaxpr, held, inputs)
        make = lambda: tuple(self.value(v.aval) for v in equation.outvars)
        new = Equation(equation.primitive, inputs, (), equation.params, bool(equation.effects))
        if not new.elementwise:
            self.equations.append(new._replace(outputs=make()))
            return self.equations[-1].outputs
        key = (name, inputs, *((k, str(x)) for k, x in equation.params.items()))
        if key not in self._known:
            self._known[key] = make()
            self.equations.append(new._replace(outputs=self._known[key]))
        return self._known[key]


def _evaluate(program: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    """Runs a program (under a trace: writes it again), storing what is worth it."""
    block = Block()
    numbers = [block.value(v.aval) for v in (*program.jaxpr.constvars, *program.jaxpr.invars)]
    constants, inputs = numbers[: len(program.consts)], numbers[len(program.consts) :]
    results = block.include(program.jaxpr, constants, inputs)
    block.keep(results)
    chosen = worth_storing(block, results)
    values: dict[int, Any] = dict(zip(numbers, (*program.consts, *args), strict=True)) | block.constants
    for equation in block.equations:
        found = _run(equation, [values[v] for v in equation.inputs])
        for number, value in zip(equation.outputs, found, strict=True):
            values[number] = computed_once(value) if number in chosen else value
    return [values[v] for v in results]


def _run(equation: Equation, inputs: list[Any]) -> Sequence[Any]:
    """One equation; the blocks inside of loops and branches are treated likewise."""
    params = equation.params
    inside: Callable[[Any], Any] = lambda jaxpr: lambda *args: tuple(_evaluate(jaxpr, args))
    if equation.primitive.name == "while":
        n, m = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
        going, body = inside(params["cond_jaxpr"]), inside(params["body_jaxpr"])
        start = tuple(inputs[m:])
        return jax.lax.while_loop(lambda c: going(*inputs[:n], *c)[0], lambda c: body(*inputs[n:m], *c), start)
    if equation.primitive.name == "scan":
        n, carried = params["num_consts"], params["num_carry"]
        body = inside(params["jaxpr"])

        def step(carry: Any, x: Any) -> Any:
            found = body(*inputs[:n], *carry, *x)
            return found[:carried], found[carried:]

        carry, xs = tuple(inputs[n : n + carried]), tuple(inputs[n + carried :])
        options = {name: params[name] for name in ("length", "reverse", "unroll")}
        last, ys = jax.lax.scan(step, carry, xs, **options)
        return [*last, *ys]
    if equation.primitive.name == "cond":
        return jax.lax.switch(inputs[0], [inside(branch) for branch in params["branches"]], *inputs[1:])
    found = equation.primitive.bind(*inputs, **equation.primitive.get_bind_params(params))
    return found if equation.primitive.multiple_results else [found]


class Loop:
    """What one loop over the batch computes, and between which others it stands."""

    def __init__(self, work: int, reads: set[int]):
        self.work = work
        """Operations, as the bits of a number: the union of two loops is one machine operation per word."""
        self.reads = reads
        """Loops whose results it uses."""
        self.feeds: set[int] = set()
        """Loops that use its result."""


def worth_storing(block: Block, results: Iterable[int]) -> set[int]:
    """The values of a block that are to be stored by a division; see the module's docstring for the method."""
    equations = block.equations
    maker = {v: i for i, e in enumerate(equations) if e.elementwise for v in e.outputs}
    users: list[set[int]] = [set() for _ in equations]
    leaves = {maker[v] for v in results if v in maker}  # what is stored anyway, as a result or for another operation
    for i, equation in enumerate(equations):
        makers = {maker[v] for v in equation.inputs if v in maker}
        if not equation.elementwise:
            leaves |= makers
            continue
        for p in makers:
            users[p].add(i)
    real = lambda i: jnp.issubdtype(block.avals[equations[i].outputs[0]].dtype, jnp.inexact)
    loops, candidates = _finest_loops(equations, maker, users, leaves, real)
    width = max((block.avals[e.outputs[0]].size for e in equations if e.elementwise), default=1)
    _merge(loops, candidates, leaves, STORING + LOOP / max(width, LANES))
    return {equations[i].outputs[0] for i in candidates}


def _finest_loops(
    equations: Sequence[Equation],
    maker: Mapping[int, int],
    users: Sequence[set[int]],
    leaves: set[int],
    real: Callable[[int], bool],
) -> tuple[dict[int, Loop], set[int]]:
    """A loop for every value that is used more than once, and those of them that a division could store."""
    loops: dict[int, Loop] = {}
    candidates: set[int] = set()
    cone: dict[int, tuple[int, set[int]]] = {}  # work and reads of each operation, down to stored values
    for i, equation in enumerate(equations):
        if not equation.elementwise:
            continue
        work, reads = 0 if equation.primitive.name in FREE else 1 << i, set()
        for p in {maker[v] for v in equation.inputs if v in maker}:
            if p in loops:
                reads.add(p)
            else:
                work, reads = work | cone[p][0], reads | cone[p][1]
        cone[i] = work, reads
        several = len(users[i]) + (i in leaves) > 1
        by_xla = equation.primitive.name in NEVER_REPEATED and several
        if i in leaves or by_xla or (several and real(i)):
            loops[i] = Loop(work, reads)
            for p in reads:
                loops[p].feeds.add(i)
            if several and real(i) and not by_xla:
                candidates.add(i)
    return loops, candidates


def _merge(loops: dict[int, Loop], candidates: set[int], leaves: set[int], storing: float) -> None:
    """Merges loops into their users, dropping them from the candidates, until no merger saves anything."""
    merged = True
    while merged:
        merged = False
        for i in sorted(candidates):
            loop, also = loops[i], i in leaves
            again = sum((loop.work & ~loops[user].work).bit_count() for user in loop.feeds)
            saved = STORING if also else storing + loop.work.bit_count()
            if again > saved:
                continue
            merged = True
            candidates.discard(i)
            for user in loop.feeds:
                loops[user].work |= loop.work
                loops[user].reads = (loops[user].reads - {i}) | loop.reads
            for p in loop.reads:
                loops[p].feeds |= loop.feeds
                if not also:
                    loops[p].feeds.discard(i)
            if also:
                loop.feeds = set()
            else:
                del loops[i]
