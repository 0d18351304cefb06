"""Random programs of numbers of all types, loops, branches and gathers in each other, against no compiler at all."""

import random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

from jaxgait.native import explain
from tests.native.programs import kernel

pytestmark = pytest.mark.usefixtures("short_loops")

KINDS = "fffiilbuv"
"""What a program carries: real numbers, integers of 32 and 64 bits, a truth value, one without sign, four real ones."""
EXTREMES = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, 3.7, -2.2, 1e-5]
WHOLE = [0, 1, -1, 2, 5, -7, 31, 2**31 - 1, -(2**31), 33, 64]

own = lambda x: jnp.where(jnp.isnan(x), jnp.ones_like(x), x)  # the sign of NaN is undefined
bounded = lambda x: jnp.clip(jnp.nan_to_num(x), 0.0, 1e3)
by_row = lambda f, v, i: jax.vmap(f)(v.reshape(2, 2), jnp.stack([i, i + 1]))  # a gather or scatter over batched axes
ALONE: list[Any] = [jnp.sin, jnp.tanh, jnp.log1p, jnp.sqrt, jnp.abs, jnp.floor]
ALONE += [jnp.exp, jnp.round, jnp.sign, jnp.arcsin, jnp.cbrt]
PAIRS: list[Any] = [jnp.add, jnp.multiply, jnp.floor_divide, jnp.remainder, lax.rem, jnp.maximum, jnp.minimum]
PAIRS += [jnp.bitwise_and, jnp.bitwise_xor, lax.shift_left, lax.shift_right_arithmetic, lax.shift_right_logical]
OPERATIONS = {
    **{"f+f": jnp.add, "f-f": jnp.subtract, "f*f": jnp.multiply, "f/f": jnp.divide, "f rem": lax.rem},
    **{"f max": jnp.maximum, "f min": jnp.minimum, "f atan2": jnp.arctan2},
    **{f"f {f.__name__}": lambda a, _, f=f: f(a) for f in ALONE},
    **{"f cube": lambda a, _: a**3, "f inverse": lambda a, _: a**-2, "f signed": lambda a, b: jnp.copysign(a, own(b))},
    **{"f where": lambda a, b: a / jnp.where(b == b, 1.0, 2.0).astype(a.dtype)},  # noqa: PLR0124
    **{f"{k} {f.__name__}": f for k in "ilu" for f in PAIRS},
    **{f"{k}-": lambda a, b: -a + jnp.abs(b) - jnp.sign(a) for k in "ilu"},
    **{f"{k} cube": lambda a, _: a**3 for k in "ilu"},
    **{"b and": jnp.logical_and, "b or": jnp.logical_or, "b not": lambda a, _: ~a},
    **{"v branched": lambda v, _: jax.vmap(lambda x: lax.cond(x > 0.5, jnp.floor, jnp.negative, x))(v)},
    **{"v products": lambda v, _: jnp.cumprod(v), "v highest": lambda v, _: lax.cummax(v, reverse=True)},
    **{"v*v": jnp.multiply, "v turned": lambda a, _: a[::-1] + jnp.roll(a, 1), "v max": jnp.maximum},
}
"""Of two numbers of the kind that the name begins with, which they give again."""
MIXED = {
    "b<": ("ff", jnp.less),
    "b==": ("ff", jnp.equal),
    "b!=": ("uu", jnp.not_equal),
    "b signbit": ("f", lambda a: jnp.signbit(own(a))),
    "b isnan": ("f", jnp.isnan),
    "f chosen": ("bff", jnp.where),
    "i chosen": ("bii", jnp.where),
    "f clamp": ("fff", lax.clamp),
    "i of f": ("f", lambda a: bounded(a).astype("int32")),
    "l of i": ("i", lambda a: a.astype("int64")),
    "u of l": ("l", lambda a: a.astype("uint32")),
    "f of i": ("if", lambda a, b: a.astype(b.dtype)),
    "i of b": ("b", lambda a: a.astype("int32")),
    "f gathered": ("vi", lambda v, i: v[i]),
    "f filled": ("vl", lambda v, i: v.at[i].get(mode="fill")),
    "f sliced": ("vi", lambda v, i: lax.dynamic_slice(v, (i,), (2,))[1]),
    "v set": ("vif", lambda v, i, x: v.at[i].set(x)),
    "v added": ("vlf", lambda v, i, x: v.at[i].add(x, mode="drop")),
    "v least": ("vif", lambda v, i, x: v.at[i].min(x)),
    "v rows": ("vi", lambda v, i: by_row(lambda r, j: r.at[j].multiply(2.0), v, i).ravel()),
    "f of rows": ("vi", lambda v, i: by_row(lambda r, j: r[j], v, i)[1]),
    "f of a table": ("fv", lambda x, v: jnp.interp(x, jnp.arange(4.0).astype(x.dtype), v)),
    "i searched": ("f", lambda x: jnp.searchsorted(jnp.array([-1.0, 0.5, 1e4], x.dtype), x).astype("int32")),
    "v stacked": ("fff", lambda a, b, c: jnp.stack([a, b, c, a])),
    "f sum": ("v", jnp.sum),
    "f largest": ("v", jnp.max),
    "l where": ("v", lambda v: jnp.argmin(v).astype("int64")),
    "f dot": ("vv", jnp.dot),
}
"""Of numbers of other kinds: the name begins with that of the result."""


class Programs:
    """Makes random programs: functions of a list of numbers, which return as many."""

    def __init__(self, seed):
        self.draw = random.Random(seed)

    def one_of(self, kind):
        return self.draw.choice([i for i, k in enumerate(KINDS) if k == kind])

    def operation(self):
        name = self.draw.choice([*OPERATIONS, *MIXED, *MIXED])
        kinds, function = MIXED.get(name) or (2 * name[0], OPERATIONS[name])
        to, given = self.one_of(name[0]), [self.one_of(k) for k in kinds]

        def run(v):
            return [*v[:to], function(*(v[i] for i in given)), *v[to + 1 :]]

        return run

    def structure(self, depth):
        """A loop or branch around programs of their own."""
        parts = [self.program(depth - 1) for _ in range(3)]
        x, i, truth = (self.one_of(k) for k in "fib")
        first = parts[0]
        return self.draw.choice(
            [
                lambda v: lax.cond(v[truth], *parts[:2], v),
                lambda v: lax.switch(v[i], parts, v),
                lambda v: lax.fori_loop(0, v[i] & 3, lambda _, u: first(u), v),
                lambda v: lax.scan(lambda u, _: (first(u), None), v, None, length=3)[0],
                lambda v: lax.while_loop(
                    lambda c: (c[0][x] < 10.0) & (c[1] < 3), lambda c: (first(c[0]), c[1] + 1), (v, 0)
                )[0],
            ]
        )

    def program(self, depth=2):
        inside = depth > 0
        steps = [
            self.structure(depth) if inside and self.draw.random() < 0.3 else self.operation()
            for _ in range(self.draw.randint(1, 5))
        ]

        def run(v):
            for step in steps:
                v = step(v)
            return v

        return run


def test_every_operation_becomes_part_of_a_kernel():
    zeros = {k: jnp.zeros((), dtype) for k, dtype in zip("ilbu", ("int32", "int64", "bool", "uint32"), strict=True)}
    zeros |= {"f": jnp.zeros(()), "v": jnp.zeros(4)}
    named = {name: (2 * name[0], function) for name, function in OPERATIONS.items()} | MIXED
    for name, (kinds, function) in named.items():
        start = [zeros[k] for k in (name[0], *kinds)]
        run = lambda *v, f=function: lax.fori_loop(0, 2, lambda _, c: (f(*c[1:]), *c[1:]), v)
        assert explain(run, *start).startswith("a kernel of "), name


@pytest.mark.slow
@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["float64", "float32"]))
def test_random_programs_of_all_types_are_those_of_jax(seed, dtype):
    body, rng = Programs(seed).program(), np.random.default_rng(seed)

    def function(x, y, i, l, n):
        start = [x, y, x * y, i, i + 1, l, x > y, i.astype("uint32"), jnp.stack([x, y, -x, y + 1])]
        return lax.while_loop(lambda c: c[1] < n, lambda c: (body(c[0]), c[1] + 1), (start, jnp.int32(0)))[0]

    pick = lambda numbers, kind: jnp.asarray(rng.choice(numbers, 5), kind)
    reals = pick(EXTREMES, dtype), jnp.asarray(3.0 * rng.normal(size=5), dtype)
    args = (*reals, pick(WHOLE, "int32"), pick(WHOLE, "int64"), jnp.asarray(rng.integers(0, 4, 5), "int32"))
    assert explain(function, *(x[0] for x in args)).startswith("a kernel of ")
    found = kernel(function)(*args)
    with jax.disable_jit():
        members = [function(*member) for member in zip(*args, strict=True)]
    tolerance = {"float64": 1e-9, "float32": 1e-3}[dtype]
    for a, *one in zip(found, *members, strict=True):
        b = np.stack(one)
        assert a.dtype == b.dtype and a.shape == b.shape
        if b.dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=1e-2 * tolerance)
        else:
            np.testing.assert_array_equal(a, b)
