"""Programs that several tests compile, and what became of their loops."""

import jax
import jax.numpy as jnp

from jaxgait.native import looped, native
from jaxgait.native.looping import LOOP


def tower(x):
    """Forty operations, one after the other: enough for a kernel."""
    for _ in range(10):
        x = x * x - 0.5 * x + 0.1
    return x


def root(a):
    """Newton's square root, with the number of rounds."""
    going = lambda c: (jnp.abs(c[0] * c[0] - a) > 1e-12 * a) & (c[1] < 60)
    return jax.lax.while_loop(going, lambda c: (0.5 * (c[0] + a / c[0]), c[1] + 1), (a, 0))


def turning(x):
    """Angles that soon become too large for the usual arithmetic, and remainders."""

    def body(c):
        x, _, _, k = c
        return x * 1e7, jnp.sin(x) + jnp.tan(3.0 * x), jnp.cos(x) + jnp.fmod(x, 1.7), k + 1

    return jax.lax.while_loop(lambda c: c[3] < 3, body, (x, x, x, 0))


def kernel(function):
    """A function of one member, compiled for many as a kernel."""
    return jax.jit(native(jax.vmap(looped(function))))


def loops_left(function, *args):
    """Names of the loops in the program of a function of one member."""
    program = jax.make_jaxpr(looped(function))(*args)
    return [e.primitive.name for e in program.jaxpr.eqns if e.primitive.name in ("while", "scan", LOOP.name)]
