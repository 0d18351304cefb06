"""Compiling for tests."""

import jax


def quickly_compiled(function):
    """`jax.jit` without the optimisation of the code: for large programs that run once or a few times.

    Such a program, as the dynamics of a tree of bodies written out, takes far longer to compile than to run, and half
    of that is optimisation. Not for programs that run long (a solver's steps, many samples): their code is slower. Not
    where the compiled program itself is tested, its time or its digits, either: users' programs are optimised.
    """
    return jax.jit(function, compiler_options={"xla_backend_optimization_level": 0})
