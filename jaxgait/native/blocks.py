"""Straight-line code: a JAX program with its calls inlined, without common subexpressions or dead code."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal

from jaxgait.native.functions import expanded
from jaxgait.native.instructions import SUPPORTED
from jaxgait.native.materialization import ONCE
from jaxgait.native.primitives import CALLS, Branches, Call, passed, read

COMMUTATIVE = frozenset(["add", "add_any", "and", "eq", "max", "min", "mul", "ne", "or", "xor"])

REDUCTIONS = frozenset(["reduce_and", "reduce_max", "reduce_min", "reduce_or", "reduce_prod", "reduce_sum"])


class Equation(NamedTuple):
    """One operation; values are numbered."""

    primitive: Any
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    params: dict[str, Any]
    effects: bool


class Block:
    """Straight-line code with numbered values.

    Args:
        program: the JAX program of the block.
        expand: whether functions that processors lack are replaced by arithmetic.
        assured: messages of checks to remove, see `jaxgait.native.primitives`.
    """

    def __init__(self, program: ClosedJaxpr, *, expand: bool = True, assured: Sequence[str] = ()) -> None:
        self._expand, self._assured = expand, assured
        self.equations: list[Equation] = []
        self.constants: dict[int, Any] = {}
        self.avals: list[Any] = []
        self._known: dict[Any, Any] = {}
        self.arguments = [self._value(v.aval) for v in program.jaxpr.invars]
        self.results = self._inline(program, self.arguments)
        self._drop_unused()

    def _value(self, aval: Any) -> int:
        self.avals.append(aval)
        return len(self.avals) - 1

    def _drop_unused(self) -> None:
        needed, kept = set(self.results), []
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
        number = self._value(aval)
        self.constants[number] = value
        return number

    def _inline(self, program: ClosedJaxpr, inputs: Sequence[int]) -> list[int]:
        jaxpr = program.jaxpr
        constants = [self._constant(c, v.aval) for c, v in zip(program.consts, jaxpr.constvars, strict=True)]
        number = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*constants, *inputs), strict=True))
        read = lambda v: self._literal(v) if isinstance(v, Literal) else number[v]
        for equation in jaxpr.eqns:
            results = self._append(equation, tuple(read(v) for v in equation.invars))
            number.update(zip(equation.outvars, results, strict=True))
        return [read(v) for v in jaxpr.outvars]

    def _append(self, equation: Any, inputs: tuple[int, ...]) -> Sequence[int]:
        name, avals = equation.primitive.name, [v.aval for v in equation.invars]
        called = read(name, equation.params, len(inputs)) if name in CALLS else None
        if isinstance(called, Call):  # (derivatives have been taken already)
            return self._inline(called.program, inputs)
        choice = read(name, equation.params, len(inputs)) if name == "cond" and self._assured else None
        taken = passed(choice.branches, self._assured) if isinstance(choice, Branches) else None
        if taken is not None:
            return self._inline(taken, inputs[1:])
        if equation.primitive is ONCE:  # everything here is computed once
            return inputs
        simpler = _simpler(equation, avals)
        if simpler is not None:
            return self._inline(jax.make_jaxpr(simpler)(*avals), inputs)
        function = expanded(name, avals) if self._expand else None
        if function is not None:
            return self._inline(function, inputs)
        return self._new(equation, inputs)

    def _new(self, equation: Any, inputs: tuple[int, ...]) -> Sequence[int]:
        """Results of the equation, or of an equal one before it."""
        name = equation.primitive.name
        make = lambda: tuple(self._value(v.aval) for v in equation.outvars)
        new = Equation(equation.primitive, inputs, (), equation.params, bool(equation.effects))
        if name not in SUPPORTED or new.effects:
            self.equations.append(new._replace(outputs=make()))
            return self.equations[-1].outputs
        alike = tuple(sorted(inputs)) if name in COMMUTATIVE else inputs
        key = (name, alike, *((k, str(x)) for k, x in equation.params.items()))
        if key not in self._known:
            self._known[key] = make()
            self.equations.append(new._replace(outputs=self._known[key]))
        return self._known[key]


def _simpler(equation: Any, avals: Sequence[Any]) -> Callable[..., jax.Array] | None:
    """The elementwise form of reductions over axes of length one and of products of single numbers."""
    name = equation.primitive.name
    if name not in REDUCTIONS and name != "dot_general":
        return None
    to = equation.outvars[0].aval
    if name in REDUCTIONS and math.prod(avals[0].shape) == math.prod(to.shape):
        return lambda x: x.reshape(to.shape)
    if name == "dot_general":
        sizes = {math.prod(a.shape) for a in (*avals, to)}
        if len(sizes) == 1 and max(avals[0].shape, default=1) in sizes and avals[0].dtype == avals[1].dtype == to.dtype:
            return lambda x, y: x.reshape(to.shape) * y.reshape(to.shape)
    return None
