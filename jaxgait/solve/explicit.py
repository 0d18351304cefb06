"""Explicit Runge-Kutta methods as diffrax solvers whose stages are unrolled.

diffrax runs the stages of a step in a loop over buffers, which costs more than the arithmetic of a small system. The
same methods, unrolled, are an order of magnitude faster in ensembles and take the same steps. Coefficients and dense
output are diffrax's own; events, `SaveAt`, step size controllers and adjoints work as with the originals. The last
stage of a step is the first of the next.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeAlias

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from jaxgait.model import State
from jaxgait.native.materialization import computed_once

Weights: TypeAlias = Float[np.ndarray, " _"]
Row: TypeAlias = tuple[float, Weights]


def combine(weights: Sequence[float] | Weights, stages: Sequence[State], start: State | None = None) -> State:
    """``start + sum_i weights_i stages_i``, in the units of the state; weights of zero and factors of one are left out.

    Examples:
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> from jaxgait.solve.explicit import combine
        >>> stages = [{"x": jnp.array(4.0)}, {"x": jnp.array(8.0)}]
        >>> print(combine(np.array([0.25, 0.75]), stages)["x"])
        7.0
    """
    total = start
    for w, stage in zip(weights, stages, strict=False):
        if w != 0.0:
            scaled = stage if w == 1.0 else jax.tree.map(lambda k, w=float(w): w * k, stage)
            total = scaled if total is None else jax.tree.map(operator.add, total, scaled)
    return jax.tree.map(jnp.zeros_like, stages[0]) if total is None else total


def _stages(
    terms: Any, t0: Any, t1: Any, y0: State, args: Any, rows: Iterable[Row], increments: Sequence[State]
) -> tuple[State, State, list[State]]:
    """Adds stages to those of a step so far: the state and the vector field at the last one, and all increments.

    `rows` holds for every new stage its node and the weights of the stages before it; `increments` are the stages times
    the length of the step. For the other arguments see diffrax.AbstractSolver.step.
    """
    h, increments, y, value = terms.contr(t0, t1), list(increments), y0, None
    for c, weights in rows:
        y = jax.tree.map(operator.add, y0, combine(weights, increments))
        value = computed_once(terms.vf(t0 + float(c) * (t1 - t0), y, args))
        increments.append(terms.prod(value, h))
    return y, value, increments


class AbstractUnrolled(diffrax.AbstractSolver):
    """Base class of the explicit solvers, with a tableau whose last stage is evaluated at the end of the step.

    Examples:
        >>> import diffrax
        >>> import jax.numpy as jnp
        >>> import numpy as np
        >>> from jaxgait.solve.explicit import AbstractUnrolled
        >>> rows, weights = (np.array([1.0]), np.array([0.5, 0.5])), np.array([0.5, 0.5, 0.0])
        >>> class Heun(AbstractUnrolled):  # a method of one's own: the trapezoid; the last row is the end of the step
        ...     tableau = diffrax.ButcherTableau(a_lower=rows, b_sol=weights, b_error=np.zeros(3), c=np.ones(2))
        ...     convergence_order = 2
        >>> decay, y = diffrax.ODETerm(lambda t, y, args: -y), jnp.array(1.0)
        >>> after, *_ = Heun().step(decay, 0.0, 0.1, y, None, Heun().init(decay, 0.0, 0.1, y, None), False)
        >>> print(f"{after:.6f}")  # 1 - h + h^2 / 2
        0.905000
    """

    tableau: ClassVar[diffrax.ButcherTableau]
    convergence_order: ClassVar[int]
    term_structure: ClassVar = diffrax.AbstractTerm
    interpolation_cls: ClassVar[Callable[..., diffrax.AbstractLocalInterpolation]] = (
        diffrax.ThirdOrderHermitePolynomialInterpolation.from_k
    )

    def order(self, terms: Any) -> int:
        """Order of convergence."""
        return self.convergence_order

    def init(self, terms: Any, t0: Any, t1: Any, y0: State, args: Any) -> State:
        """The vector field at the start."""
        return terms.vf(t0, y0, args)

    def func(self, terms: Any, t0: Any, y0: State, args: Any) -> State:
        """The vector field."""
        return terms.vf(t0, y0, args)

    def step(
        self, terms: Any, t0: Any, t1: Any, y0: State, args: Any, solver_state: State, made_jump: Any
    ) -> tuple[State, State | None, dict[str, Any], State, diffrax.RESULTS]:
        """One step, with its error estimate and dense output; see diffrax.AbstractSolver.step."""
        first = solver_state
        if made_jump is not False:
            first = jax.lax.cond(made_jump, lambda: terms.vf(t0, y0, args), lambda: solver_state)
        stages = functools.partial(_stages, terms, t0, t1, y0, args)
        rows = zip(self.tableau.c, self.tableau.a_lower, strict=True)
        y1, value, increments = stages(rows, [terms.prod(first, terms.contr(t0, t1))])
        adaptive = isinstance(self, diffrax.AbstractAdaptiveSolver)
        error = combine(self.tableau.b_error, increments) if adaptive else None
        dense = self.dense_output(y0, y1, increments, stages)
        return y1, error, dict(y0=y0, **dense), value, diffrax.RESULTS.successful

    def dense_output(self, y0: State, y1: State, increments: Sequence[State], stages: Any) -> dict[str, Any]:
        """Arguments of the interpolation besides `y0`; `stages` evaluates further stages (`_stages` of this step)."""
        del y0, stages
        return dict(y1=y1, k=jax.tree.map(lambda *k: jnp.stack(k), *increments))


_RK4 = diffrax.ButcherTableau(
    a_lower=(np.array([1 / 2]), np.array([0.0, 1 / 2]), np.array([0.0, 0.0, 1.0]), np.array([1, 2, 2, 1]) / 6),
    b_sol=np.array([1, 2, 2, 1, 0]) / 6,
    b_error=np.zeros(5),
    c=np.array([1 / 2, 1 / 2, 1.0, 1.0]),
)


class RK4(AbstractUnrolled):
    """The classical method of order 4, for fixed steps; dense output by cubic Hermite polynomials.

    Kutta, Beitrag zur näherungsweisen Integration totaler Differentialgleichungen, Z. Math. Phys. 46 (1901) 435.

    Examples:
        >>> import diffrax
        >>> import jax.numpy as jnp
        >>> from jaxgait.solve.explicit import RK4
        >>> decay, y = diffrax.ODETerm(lambda t, y, args: -y), jnp.array(1.0)
        >>> after, *_ = RK4().step(decay, 0.0, 1.0, y, None, -y, False)
        >>> print(f"{after:.6f}")  # 1 - 1 + 1/2 - 1/6 + 1/24
        0.375000
    """

    tableau: ClassVar[diffrax.ButcherTableau] = _RK4
    convergence_order: ClassVar[int] = 4


class Bosh3(AbstractUnrolled, diffrax.AbstractAdaptiveSolver):
    """Bogacki and Shampine's 3(2) pair: see `diffrax.Bosh3`.

    Examples:
        >>> from jaxgait.solve.explicit import Bosh3
        >>> Bosh3().order(None)
        3
    """

    tableau: ClassVar[diffrax.ButcherTableau] = diffrax.Bosh3.tableau
    convergence_order: ClassVar[int] = 3


class Tsit5(AbstractUnrolled, diffrax.AbstractAdaptiveSolver):
    """Tsitouras' 5(4) pair: see `diffrax.Tsit5`.

    Examples:
        >>> import diffrax
        >>> import jax.numpy as jnp
        >>> from jaxgait.solve.explicit import Tsit5
        >>> decay, y = diffrax.ODETerm(lambda t, y, args: -y), jnp.array(1.0)
        >>> after, error, *_ = Tsit5().step(decay, 0.0, 0.1, y, None, -y, False)
        >>> print(f"{after:.8f}", bool(abs(error) < 1e-6))  # exp(-0.1), and an estimate of the error
        0.90483742 True
    """

    tableau: ClassVar[diffrax.ButcherTableau] = diffrax.Tsit5.tableau
    convergence_order: ClassVar[int] = 5
    interpolation_cls: ClassVar[Callable[..., diffrax.AbstractLocalInterpolation]] = diffrax.Tsit5.interpolation_cls


class Dopri8(AbstractUnrolled, diffrax.AbstractAdaptiveSolver):
    """Dormand and Prince's 8(7) pair: see `diffrax.Dopri8`.

    Examples:
        >>> from jaxgait.solve.explicit import Dopri8
        >>> Dopri8().order(None)
        8
    """

    tableau: ClassVar[diffrax.ButcherTableau] = diffrax.Dopri8.tableau
    convergence_order: ClassVar[int] = 8
    interpolation_cls: ClassVar[Callable[..., diffrax.AbstractLocalInterpolation]] = diffrax.Dopri8.interpolation_cls
