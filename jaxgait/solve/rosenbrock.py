"""Rosenbrock methods as diffrax solvers: stiff problems by linear solves alone, without Newton iterations.

A step costs one Jacobian, one factorisation and one back-substitution per stage: the same for every member of a batch.

- The state may be any pytree of scalars and arrays. Up to `MAX_UNROLLED` real numbers it is split into scalars: stages,
  Jacobian and elimination become straight-line code, in which every scalar is a batch vector under `vmap`.
- A complex number counts as two real ones, so that the vector field need not be analytic.
- The Jacobian and df/dt are exact, by forward-mode differentiation of the vector field.
- In larger states, positions whose rates are also components, as the coordinates and velocities of mechanisms, are
  eliminated first, which leaves half the equations.
- Derivatives of a step use the factors of the step itself: ``dx = W^-1 (db - dW x)``. Step sizes carry no derivative
  (diffrax's controllers stop it), so that forward and reverse mode give the derivative of the computed solution.

Example:
    diffrax.diffeqsolve(diffrax.ODETerm(f), Rodas5P(), t0, t1, dt0, y0, args=model,
                        stepsize_controller=diffrax.PIDController(rtol=1e-6, atol=1e-8))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, TypeAlias

import diffrax
import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import jax.scipy.linalg as jsl
from jax.custom_derivatives import SymbolicZero
from jax.extend.core import Literal
from jaxtyping import Array

from jaxgait.mechanics import linalg
from jaxgait.model import State
from jaxgait.native.materialization import computed_once, derivatives_once
from jaxgait.native.primitives import Call, read
from jaxgait.solve.dense import StageInterpolation
from jaxgait.solve.explicit import combine
from jaxgait.solve.tableaus import RODAS3, RODAS4, RODAS5P, ROS4, RosenbrockTableau

MAX_UNROLLED = 8
"""States with more numbers than this are handled as one vector, by LAPACK: unrolled, XLA would take too long."""

Components: TypeAlias = list[Array]
"""The state as a list: of n scalars (unrolled) or of one vector."""
Field: TypeAlias = Callable[[Any, Components], Components]


def _real(like: State, y: State) -> list[Array]:
    """The leaves of a state as real arrays, those that are complex in `like` as real and imaginary parts."""
    pairs = zip(jax.tree.leaves(like), jax.tree.leaves(y), strict=True)
    return [part for a, x in pairs for part in ((jnp.real(x), jnp.imag(x)) if jnp.iscomplexobj(a) else (x,))]


def _given(like: State, parts: Sequence[Array]) -> State:
    """The state from such real arrays: inverse of `_real`."""
    leaves, structure = jax.tree.flatten(like)
    rest = iter(parts)
    return structure.unflatten(
        [jax.lax.complex(next(rest), next(rest)) if jnp.iscomplexobj(a) else next(rest) for a in leaves]
    )


def _leaf(like: jax.ShapeDtypeStruct, scalars: Iterator[Array]) -> Array:
    """The next leaf of a state that was split into scalars."""
    if not like.shape:
        return next(scalars)
    if like.size == 0:
        return jnp.zeros(like.shape, like.dtype)
    return jnp.stack([next(scalars) for _ in range(like.size)]).reshape(like.shape)


class _Unrolled:
    """Algebra of a state of n scalars, in straight-line code."""

    def __init__(self, y: State, pivoting: bool):
        leaves, self._treedef = jax.tree.flatten(y)
        self._like = [jax.ShapeDtypeStruct(jnp.shape(leaf), jnp.result_type(leaf)) for leaf in leaves]
        self._pivoting = pivoting

    def split(self, y: State) -> Components:
        leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(y)]
        return [x for leaf in leaves for x in ([leaf] if leaf.ndim == 0 else leaf.reshape(-1))]

    def join(self, parts: Components) -> State:
        rest = iter(parts)
        return jax.tree.unflatten(self._treedef, [_leaf(like, rest) for like in self._like])

    def jacobian(self, f: Field, t: Any, y: Components) -> tuple[Components, Components, Any]:
        """Value, time derivative and Jacobian (rows of scalars) of the vector field.

        Each column is the derivative of the linearised field along one variable: terms that do not depend on it vanish
        before XLA sees them.
        """
        value, push = jax.linearize(lambda t, *y: f(t, list(y)), t, *y)
        push = derivatives_once(push)  # its leaves are the partial derivatives that all columns share
        at = [jnp.zeros_like(x) for x in (t, *y)]

        def column(k: int) -> Components:
            along = lambda x: push(*at[:k], x, *at[k + 1 :])
            return jax.jvp(along, (at[k],), (jnp.ones_like(at[k]),))[1]

        columns = [column(k) for k in range(len(at))]
        return value, columns[0], tuple(zip(*columns[1:], strict=True))

    def shifted(self, J: Any, s: Array) -> Any:
        """The matrix ``s I - J``."""
        return tuple(tuple(s - x if i == j else -x for j, x in enumerate(row)) for i, row in enumerate(J))

    def factor(self, W: Any) -> Any:
        return linalg.lu(W, pivoting=self._pivoting)

    def solve(self, factors: Any, b: Components) -> Components:
        return linalg.lu_solve(factors, b)

    def product(self, W: Any, x: Components) -> Components:
        return linalg.matvec(W, x)


class _Dense:
    """Algebra of a state of any size, as one vector."""

    def __init__(self, y: list[Array]):
        _, self._unravel = jax.flatten_util.ravel_pytree(y)

    def split(self, y: list[Array]) -> Components:
        return [jax.flatten_util.ravel_pytree(y)[0]]

    def join(self, parts: Components) -> list[Array]:
        return self._unravel(parts[0])

    def jacobian(self, f: Field, t: Any, y: Components) -> tuple[Components, Components, Any]:
        value, push = jax.linearize(lambda t, y: f(t, [y])[0], t, y[0])
        basis = jnp.eye(y[0].size, dtype=y[0].dtype)
        J = jax.vmap(lambda e: push(jnp.zeros_like(t), e), out_axes=1)(basis)
        return [value], [push(jnp.ones_like(t), jnp.zeros_like(y[0]))], J

    def shifted(self, J: Any, s: Array) -> Any:
        return s * jnp.eye(len(J), dtype=J.dtype) - J

    def factor(self, W: Any) -> Any:
        factors, _, rows = jax.lax.linalg.lu(W)  # (kernels have no operation for what `lu_solve` makes of the pivots)
        return factors, rows

    def solve(self, factors: Any, b: Components) -> Components:
        LU, rows = factors
        x = jsl.solve_triangular(LU, b[0][rows], lower=True, unit_diagonal=True)
        return [jsl.solve_triangular(LU, x)]

    def product(self, W: Any, x: Components) -> Components:
        return [W @ x[0]]


class _SecondOrder(_Dense):
    """Algebra of a state (q, z) of any size, in which the first components v of z are the rates of q.

    ``s q - v = a`` and ``W_q q + W_z z = b`` leave ``(W_z + [W_q / s, 0]) z = b - W_q a / s``, as the parameters M1 and
    M2 of Hairer and Wanner's code RODAS do. A matrix is s and the rows of z.
    """

    def __init__(self, y: list[Array], pairs: Sequence[tuple[int, int]]):
        first, second = zip(*pairs, strict=True)
        self._order = [*first, *second, *(i for i in range(len(y)) if i not in {*first, *second})]
        self._n = sum(jnp.size(y[i]) for i in first)
        super().__init__([y[i] for i in self._order])

    def split(self, y: list[Array]) -> Components:
        return super().split([y[i] for i in self._order])

    def join(self, parts: Components) -> list[Array]:
        found = dict(zip(self._order, super().join(parts), strict=True))
        return [found[i] for i in range(len(found))]

    def jacobian(self, f: Field, t: Any, y: Components) -> tuple[Components, Components, Any]:
        value, rate, J = super().jacobian(f, t, y)
        return value, rate, J[self._n :]

    def shifted(self, J: Any, s: Array) -> Any:
        return s, s * jnp.eye(*J.shape, k=self._n, dtype=J.dtype) - J

    def factor(self, W: Any) -> Any:
        (s, rows), n = W, self._n
        of_q, of_z = rows[:, :n], rows[:, n:]
        left = jnp.concatenate([of_z[:, :n] + of_q / s, of_z[:, n:]], axis=1)
        return super().factor(left), s, of_q

    def solve(self, factors: Any, b: Components) -> Components:
        (left, s, of_q), n = factors, self._n
        q = b[0][:n] / s
        (z,) = super().solve(left, [b[0][n:] - of_q @ q])
        return [jnp.concatenate([q + z[:n] / s, z])]

    def product(self, W: Any, x: Components) -> Components:
        """The product with a derivative of such a matrix, whose coefficients of v in the rows of q are constant."""
        s, rows = W
        return [jnp.concatenate([s * x[0][: self._n], rows @ x[0]])]


def _positions(field: Callable[..., Sequence[Any]], t: Any, y: Sequence[Any]) -> list[tuple[int, int]]:
    """Pairs (i, j) of leaves of a state such that y[j] is the rate of y[i], whatever their numbers are.

    No leaf is in two pairs. Only leaves that `field(t, y)` returns as they were given to it count as rates.
    """
    found: list[tuple[int, int]] = []
    for i, source in enumerate(_returned(jax.make_jaxpr(field)(t, list(y)).jaxpr)):
        j = -1 if source is None else source - 1  # after the time
        if j >= 0 and j != i and not {i, j} & {leaf for pair in found for leaf in pair}:
            found.append((i, j))
    return found


def _returned(program: Any) -> list[int | None]:
    """For each output of a program the number of the input that it is; None for others."""
    source = {v: i for i, v in enumerate(program.invars)}
    for e in program.eqns:
        call = read(e.primitive.name, e.params, len(e.invars))
        if isinstance(call, Call):
            for out, i in zip(e.outvars, _returned(call.program.jaxpr), strict=True):
                given = None if i is None else e.invars[i]
                if not (given is None or isinstance(given, Literal)) and given in source:
                    source[out] = source[given]
    return [None if isinstance(v, Literal) else source.get(v) for v in program.outvars]


def _solver(algebra: _Unrolled | _Dense, W: Any) -> Callable[[Components], Components]:
    """Factorises W once and returns ``b -> W^-1 b``, whose derivative rule uses the same factors."""
    factors = computed_once(algebra.factor(jax.lax.stop_gradient(W)))

    @jax.custom_jvp
    def solve(W: Any, factors: Any, b: Components) -> Components:
        return algebra.solve(factors, b)

    def rule(primals: Any, tangents: Any) -> tuple[Components, Components]:
        (W, factors, b), (dW, _, db) = primals, tangents
        dW, db = jax.tree.map(_instantiated, (dW, db))
        x = solve(W, factors, b)
        turned = [p - q for p, q in zip(db, algebra.product(dW, x), strict=True)]
        return x, solve(W, factors, turned)

    solve.defjvp(rule, symbolic_zeros=True)  # zeros of the pivots would be of a type that no kernel has
    return lambda b: solve(W, factors, b)


def _instantiated(tangent: Any) -> Any:
    zero: Any = tangent.aval if isinstance(tangent, SymbolicZero) else None
    return tangent if zero is None else jnp.zeros(zero.shape, zero.dtype)


def rosenbrock_stages(
    tableau: RosenbrockTableau, algebra: _Unrolled | _Dense, f: Field, t: Any, span: Any, h: Array, y: Components
) -> list[Components]:
    """The stages u_i of one step, each of the shapes of the state; see `jaxgait.solve.tableaus`.

    `span` is the step in time and `h` the factor of the vector field: for integration backward in time, diffrax lets
    time run forward and changes the sign of `h`.
    """
    value, rate, J = computed_once(algebra.jacobian(f, t, y))
    rate_of_step = 1.0 / h
    solve = _solver(algebra, algebra.shifted(J, rate_of_step / tableau.gamma))
    stages: list[Components] = []
    for i in range(tableau.stages):
        if i > 0 and not tableau.reuses_evaluation(i):
            value = computed_once(f(t + tableau.alpha[i] * span, combine(tableau.a[i], stages, y)))
        b = value
        if any(tableau.c[i]):
            b = [p + q * rate_of_step for p, q in zip(b, combine(tableau.c[i], stages), strict=True)]
        if tableau.d[i] != 0.0:
            b = [p + (tableau.d[i] * span) * q for p, q in zip(b, rate, strict=True)]
        stages.append(computed_once(solve(b)))
    return stages


class AbstractRosenbrock(diffrax.AbstractAdaptiveSolver):
    """Base class of the Rosenbrock solvers; a subclass names its `tableau`.

    Examples:
        >>> from jaxgait.solve.rosenbrock import Ros4
        >>> solver = Ros4(pivoting=False, unrolled=False)  # options of all Rosenbrock solvers
        >>> print(solver.order(None), solver.pivoting)
        4 False
    """

    pivoting: bool = True
    """Whether the unrolled elimination pivots partially. Pivoting is slower, and not needed if ``I / (gamma h) - J`` is
    diagonally dominant or J is that of a mechanism in coordinates and rates."""

    unrolled: bool = True
    """Whether a small state is split into scalars, which suits ensembles. Without it, derivatives of a large vector
    field compile several times faster where only XLA compiles (where `jaxgait.native` does not apply)."""

    tableau: ClassVar[RosenbrockTableau]
    term_structure: ClassVar = diffrax.AbstractTerm
    interpolation_cls: ClassVar[Callable[..., StageInterpolation]] = StageInterpolation

    def order(self, terms: Any) -> int:
        """Order of convergence."""
        return self.tableau.order

    def init(self, terms: Any, t0: Any, t1: Any, y0: State, args: Any) -> None:
        """Nothing is carried from step to step."""

    def func(self, terms: Any, t0: Any, y0: State, args: Any) -> State:
        """The vector field."""
        return terms.vf(t0, y0, args)

    def step(
        self, terms: Any, t0: Any, t1: Any, y0: State, args: Any, solver_state: None, made_jump: Any
    ) -> tuple[State, State, dict[str, Any], None, diffrax.RESULTS]:
        """One step, with its error estimate and dense output; see diffrax.AbstractSolver.step."""
        y1, error, powers = _step(self, terms, t0, t1, y0, args)
        return y1, error, dict(y0=y0, coefficients=powers), None, diffrax.RESULTS.successful


@eqx.filter_jit  # diffrax traces a step four times; this reuses the first trace
def _step(
    solver: AbstractRosenbrock, terms: Any, t0: Any, t1: Any, y0: State, args: Any
) -> tuple[State, State, tuple[State, ...]]:
    """The state after a step, an estimate of its error, and the coefficients of the dense output."""
    tableau, real = solver.tableau, _real(y0, y0)
    size = sum(jnp.size(leaf) for leaf in real)
    if size == 0:
        return y0, y0, (y0,) * len(tableau.dense)
    dtype = jnp.result_type(*real)
    h, t, span = (jnp.asarray(x).astype(dtype) for x in (terms.contr(t0, t1), t0, t1 - t0))
    rates = lambda t, parts: _real(y0, terms.vf(t, _given(y0, parts), args))
    if solver.unrolled and size <= MAX_UNROLLED:
        algebra = _Unrolled(real, solver.pivoting)
    else:
        rates = jax.jit(rates)  # traced once
        pairs = _positions(rates, t, real)
        algebra = _SecondOrder(real, pairs) if pairs else _Dense(real)
    join = lambda parts: _given(y0, algebra.join(parts))

    @jax.jit  # the evaluations of one step share their program
    def field(t: Any, y: Components) -> Components:
        return algebra.split(rates(t, algebra.join(y)))

    y = algebra.split(real)
    stages = rosenbrock_stages(tableau, algebra, field, t, span, h, y)
    y1 = join(combine(tableau.m, stages, y))
    error = join(jax.lax.stop_gradient(combine(tableau.e, stages)))
    return y1, error, tuple(join(combine(row, stages)) for row in tableau.dense)


class Rodas3(AbstractRosenbrock):
    """Order 3(2), four stages, three evaluations, stiffly accurate, L-stable; dense output of order 2.

    Sandu, Verwer, Blom, Spee, Carmichael and Potra, Benchmarking stiff ODE solvers for atmospheric chemistry problems
    II: Rosenbrock solvers, Atmos. Environ. 31 (1997) 3459.

    Examples:
        >>> import diffrax
        >>> import jax.numpy as jnp
        >>> from jaxgait.solve.rosenbrock import Rodas3
        >>> cooling = diffrax.ODETerm(lambda t, y, args: -1e6 * (y - 1.0))  # explicit steps: 2 us at most
        >>> y, *_ = Rodas3().step(cooling, 0.0, 1.0, jnp.array(0.0), None, None, False)
        >>> print(f"{y:.4f}")  # one step of 1 s
        1.0000
    """

    tableau: ClassVar[RosenbrockTableau] = RODAS3


class Ros4(AbstractRosenbrock):
    """Order 4(3), four stages, three evaluations, L-stable; dense output of order 2.

    Hairer and Wanner, Solving Ordinary Differential Equations II (1996), table IV.7.2 (program ROS4, L-stable method).

    Examples:
        >>> import diffrax
        >>> import jax.numpy as jnp
        >>> from jaxgait.solve.rosenbrock import Ros4
        >>> decay = diffrax.ODETerm(lambda t, y, args: -y)
        >>> y, *_ = Ros4().step(decay, 0.0, 0.1, jnp.array(1.0), None, None, False)
        >>> print(f"{y:.5f}")  # exp(-0.1)
        0.90484
    """

    tableau: ClassVar[RosenbrockTableau] = ROS4


class Rodas4(AbstractRosenbrock):
    """Order 4(3), six stages, stiffly accurate, L-stable; dense output of order 3.

    Hairer and Wanner, Solving Ordinary Differential Equations II (1996), section IV.10 (program RODAS, method 1).

    Examples:
        >>> import diffrax
        >>> import jax.numpy as jnp
        >>> from jaxgait.solve.rosenbrock import Rodas4
        >>> cooling = diffrax.ODETerm(lambda t, y, args: -1e6 * (y - 1.0))  # explicit steps: 2 us at most
        >>> y, *_ = Rodas4().step(cooling, 0.0, 1.0, jnp.array(0.0), None, None, False)
        >>> print(f"{y:.4f}")  # one step of 1 s
        1.0000
    """

    tableau: ClassVar[RosenbrockTableau] = RODAS4


class Rodas5P(AbstractRosenbrock):
    """Order 5(4), eight stages, stiffly accurate, L-stable, little order reduction; dense output of order 4.

    Steinebach, Construction of Rosenbrock-Wanner method Rodas5P and numerical benchmarks within the Julia differential
    equations package, BIT Numer. Math. 63 (2023) 27.

    Examples:
        >>> import diffrax
        >>> import jax.numpy as jnp
        >>> from jaxgait.solve.rosenbrock import Rodas5P
        >>> decay = diffrax.ODETerm(lambda t, y, args: -y)
        >>> y, *_ = Rodas5P().step(decay, 0.0, 0.1, jnp.array(1.0), None, None, False)
        >>> print(f"{y:.8f}")  # exp(-0.1)
        0.90483742
    """

    tableau: ClassVar[RosenbrockTableau] = RODAS5P
