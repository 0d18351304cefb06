"""Elementary functions in arithmetic, in kernels and by XLA, against a multiple-precision library."""

import functools
import math
import re

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from jaxgait.native import compiled, functions
from jaxgait.native.blocks import Block
from jaxgait.native.functions import EXPANSIONS
from jaxgait.native.instructions import LIBRARY, SELDOM
from jaxgait.native.kernel import Kernel
from jaxgait.native.regions import partition

COUNT = 250
"""Numbers of every kind of sample; there are three kinds."""
DTYPES = {"float64": np.float64, "float32": np.float32}
FUNCTIONS = {name: getattr(jax.lax, name) for name in EXPANSIONS} | {"softplus": jax.nn.softplus}
PAIRS = ("atan2", "nextafter", "pow")
EXACT = {
    "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
    "exp2": lambda x: mpmath.power(2, x),
    "logistic": lambda x: 1 / (1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
    "pow": mpmath.power,
}
"""Those that have another name in mpmath, or another meaning."""
NUMPY = {"pow": np.float_power, "atan2": np.arctan2, "logistic": lambda x: 1 / (1 + np.exp(-x))}
NUMPY |= {f"a{name}": getattr(np, f"arc{name}") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}
NUMPY["softplus"] = lambda x: np.where(np.isnan(x), x, np.logaddexp(x, x.dtype.type(0)))
ENDS = {
    "float64": {"exp": 708.3, "expm1": 709.7, "exp2": 1021.9, "sinh": 710.4},
    "float32": {"exp": 87.3, "expm1": 88.7, "exp2": 125.9, "sinh": 89.4},
}
"""Results are normal numbers up to here."""
LIKE = {
    "cosh": "sinh",
    "logistic": "exp",
    "softplus": "exp",
    "cos": "sin",
    "tan": "sin",
    "acos": "asin",
    "atanh": "asin",
}
"""Functions with the domain of another one."""


def stated():
    """The table of errors in the docstring: units in the last place by function and dtype."""
    rows = re.findall(r"^    (\w[\w, ]*?) {2,}(\d\S*) +(\d\S*)$", functions.__doc__, flags=re.MULTILINE)
    errors = {n: {"float64": float(a), "float32": float(b)} for names, a, b in rows for n in names.split(", ")}
    return errors | {"softplus": {"float64": 2.0, "float32": 2.0}}


def anything(rng, dtype, low=None, high=None):
    """Numbers of all normal exponents of a format between two decimal ones, of both signs."""
    info = np.finfo(dtype)
    low = np.log10(float(info.tiny)) + 1e-6 if low is None else low
    high = np.log10(float(info.max)) - 1e-6 if high is None else high
    return rng.choice([-1, 1], COUNT) * 10.0 ** rng.uniform(low, high, COUNT)


def hardest_angles(digits, powers):
    """Numbers m 2^k of so many binary digits that are nearest to a multiple of pi/2: convergents of 2^(k+1) / pi."""
    found = []
    with mpmath.workprec(400):
        for k in powers:
            left, before, m = mpmath.mpf(2) ** (k + 1) / mpmath.pi, 1, 0
            while int(left) * m + before < 2**digits:
                m, before = int(left) * m + before, m
                left = 1 / (left - int(left))
            found += [math.ldexp(m, k)]
    return found


def angles(rng, dtype):
    """Any angles, usual ones, and those next to multiples of pi/2."""
    multiples = np.floor(10.0 ** rng.uniform(0.0, 9.3 if dtype == np.float64 else 4.2, COUNT)) * (np.pi / 2)
    digits, most = np.finfo(dtype).nmant + 1, 32 if dtype == np.float64 else 15
    hardest = hardest_angles(digits, range(1 - digits, most - digits))
    return [anything(rng, dtype), rng.uniform(-4, 4, COUNT), [*hardest, *multiples[len(hardest) :]]]


def powers(rng, dtype):
    """Any bases, those next to one, and usual ones, with exponents up to where results overflow; integers, too."""
    base = np.concatenate([abs(anything(rng, dtype)), 1.0 + anything(rng, dtype, -6, -0.1), rng.uniform(0, 9, COUNT)])
    base = base.astype(dtype).astype(float)
    size = np.log(float(np.finfo(dtype).max)) - 2.0
    with np.errstate(divide="ignore"):
        exponent = rng.uniform(-1, 1, base.size) * np.minimum(size / abs(np.log(base)), 1e30)
    whole = np.arange(base.size) % 3 == 0
    exponent = np.where(whole, np.clip(np.round(exponent), -1e6, 1e6), exponent)
    return np.where(whole & (rng.uniform(size=base.size) < 0.5), -base, base), exponent


def near_one(rng, low=-15.0, high=0.0):
    """How far numbers are from one, that are close to it."""
    return 10.0 ** rng.uniform(low, high, COUNT)


def domain(kind, rng, dtype):
    """Arguments of a function of one number: three kinds of sample."""
    usual, wide, small = rng.uniform(-3, 3, COUNT), anything(rng, dtype), anything(rng, dtype, high=0)
    if kind in ENDS["float64"]:
        end = ENDS[np.dtype(dtype).name][kind]
        return [rng.uniform(-end, end, COUNT), usual / 3, small]
    special = {
        "sin": lambda: angles(rng, dtype),
        "asin": lambda: [np.tanh(usual), np.sign(usual) * (1 - near_one(rng)), small],
        "log": lambda: [abs(wide), 1 + near_one(rng), 1 - near_one(rng, high=-0.1)],
        "log1p": lambda: [abs(wide), usual / 3.1, near_one(rng) - 1],
        "acosh": lambda: [1 + abs(wide), abs(usual) + 1, 1 + near_one(rng)],
    }
    return special[kind]() if kind in special else [wide, usual, anything(rng, dtype, -1, 1)]


@functools.cache
def samples(name, dtype):
    """Arguments over all of a function's domain, with usual ones and those near its ends or zeros among them."""
    rng, short = np.random.default_rng(sum(map(ord, name))), DTYPES[dtype]
    if name == "pow":
        found = powers(rng, short)
    else:
        count = 2 if name in PAIRS else 1
        found = [np.concatenate(domain(LIKE.get(name, name), rng, short)) for _ in range(count)]
    return [x.astype(short) for x in found]


@functools.cache
def results(how, dtype):
    """All functions of all samples: in one kernel, or each by XLA."""
    table = FUNCTIONS if how == "kernel" else EXPANSIONS
    arguments = {name: samples(name, dtype) for name in table}
    run = lambda a: {name: f(*a[name]) for name, f in table.items()}
    if how == "kernel":
        steps = partition(Block(jax.make_jaxpr(run)(arguments)))
        assert [type(step) for step in steps] == [Kernel]  # none is left to XLA
        assert not {op.name for op in steps[0].operations} & (LIBRARY.keys() - SELDOM.keys())
        return jax.device_get(compiled(run, arguments)(arguments))
    return jax.device_get(jax.jit(run)(arguments))


@functools.cache
def exact(name, dtype):
    function = EXACT.get(name) or getattr(mpmath, name)
    with mpmath.workprec(250):
        rows = zip(*(x.tolist() for x in samples(name, dtype)), strict=True)
        return [function(*map(mpmath.mpf, row)) for row in rows]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("how", ["kernel", "xla"])
@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n != "nextafter"])
def test_accuracy(name, how, dtype):
    """Errors as stated; results that are no normal numbers may be zero."""
    if name not in (FUNCTIONS if how == "kernel" else EXPANSIONS):
        pytest.skip("no operation of its own")
    found, wanted = results(how, dtype)[name], exact(name, dtype)
    tiny, most = float(np.finfo(dtype).tiny), float(np.finfo(dtype).max)
    normal = np.array([tiny <= abs(w) <= most for w in wanted])
    with mpmath.workprec(250):
        miss = np.array([float(abs(mpmath.mpf(float(f)) - w)) for f, w in zip(found, wanted, strict=True)])
    size = [float(abs(w)) if fits else 1.0 for w, fits in zip(wanted, normal, strict=True)]
    error = np.where(normal, miss / np.spacing(np.array(size).astype(dtype)).astype(float), 0.0)
    worst = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
    assert error[worst] <= stated()[name][dtype], [x[worst] for x in samples(name, dtype)]
    assert normal.mean() > 0.6


def test_all_expansions_are_in_the_table():
    assert set(stated()) == set(FUNCTIONS)


SPECIAL = (0.0, 1.0, 0.5, 2.0, 3.0, 2.5, 1e-30, 1e30, 1e10, 89.5, 150.0, 711.0, 1100.0, np.inf, np.nan)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("how", ["kernel", "xla"])
def test_ends(how, dtype):
    """Zeros and their signs, infinities, NaN, integers and overflow, in all pairs, as NumPy has it."""
    ends = np.array([*SPECIAL, *(-x for x in SPECIAL), np.finfo(dtype).max, -np.finfo(dtype).max], dtype)
    first, second = (a.ravel() for a in np.meshgrid(ends, ends))
    table = FUNCTIONS if how == "kernel" else EXPANSIONS
    arguments = {name: (first, second) if name in PAIRS else (first,) for name in table}
    program = lambda a: {name: f(*a[name]) for name, f in table.items()}
    found = (compiled(program, arguments) if how == "kernel" else jax.jit(program))(arguments)
    for name, x in arguments.items():
        with np.errstate(all="ignore"):
            wanted = NUMPY.get(name, getattr(np, name, None))(*x).astype(dtype)
            flushed = (abs(wanted) < np.finfo(dtype).tiny) & (name != "nextafter")
            wanted = np.where(flushed, 0 * wanted, wanted)
        got = np.asarray(found[name])
        assert got.dtype == wanted.dtype
        many = 4.0 * np.finfo(dtype).eps
        np.testing.assert_allclose(got, wanted, rtol=many, atol=0.0, err_msg=name)
        np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(wanted[got == 0]), err_msg=name)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("how", ["kernel", "xla"])
def test_next_numbers(how, dtype):
    x, y = samples("nextafter", dtype)
    np.testing.assert_array_equal(results(how, dtype)["nextafter"], np.nextafter(x, y))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", DTYPES)
def test_one_member_as_many(dtype):
    """Single numbers, vectors and those left over give the same bits."""
    table = {name: f for name, f in FUNCTIONS.items() if name != "nextafter"}
    run = lambda *x: {name: f(*(x if name in PAIRS else x[:1])) for name, f in table.items()}
    x, y = (jnp.asarray(a, dtype) for a in ([0.3, -0.7, 2.0, 1e12, 0.9], [0.2, 3.0, -5.0, 0.5, 1.0]))
    many, one = compiled(run, x, y)(x, y), compiled(run, x[0], y[0])
    for i in range(x.size):
        for name, found in one(x[i], y[i]).items():
            np.testing.assert_array_equal(found, many[name][i], err_msg=name)
