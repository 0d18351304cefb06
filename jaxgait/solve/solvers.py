"""The adaptive solvers, by name, and the options that users give and models suggest."""

from __future__ import annotations

import math
from typing import Any, get_origin

import diffrax
import numpy as np
from jax.core import Tracer

from jaxgait.model import Numerics, Scalar
from jaxgait.solve.explicit import Bosh3, Dopri8, Tsit5
from jaxgait.solve.rosenbrock import AbstractRosenbrock, Rodas3, Rodas4, Rodas5P, Ros4
from jaxgait.solve.verner import Verner8
from jaxgait.support import checks
from jaxgait.support.checks import nearest

SOLVERS: dict[str, type[diffrax.AbstractAdaptiveSolver]] = {
    solver.__name__: solver for solver in (Bosh3, Tsit5, Dopri8, Verner8, Rodas3, Ros4, Rodas4, Rodas5P)
}
"""Explicit methods first, then those for stiff problems; both by increasing order."""
_LIKE = {
    "Bosh3": "bs3 ode23 rk23",
    "Tsit5": "dp5 euler ode45 rk4 rk45 rkf45",
    "Dopri8": "dop853 dp8 ode113 ode78",
    "Verner8": "ode89 vern8",
    "Rodas3": "ode23s ode23t ode23tb",
    "Rodas5P": "bdf cvode implicit implicitfast lsoda ode15s radau radau5 radauiia5",
}
"""Names in SciPy, MATLAB, MuJoCo and Julia, in lower case, for each solver that is the best substitute for them."""
_DEFAULT_RTOL, _DEFAULT_ATOL, LEAST_RTOL = 1000, 10, 30
"""Lower limits of the default tolerances, and the smallest relative tolerance allowed, in units of the rounding error
(2.2e-16 or 1.2e-7)."""


def as_solver(solver: Any, *, unrolled: bool = True) -> diffrax.AbstractSolver:
    """The argument if it is a solver, or the solver of that name.

    Args:
        solver: a solver, or its name.
        unrolled: whether a solver by name has a copy of the vector field for each stage of a step. If not, explicit
            methods are those of diffrax, if it has them: long vector fields compile in a fraction of the time.

    Raises:
        ValueError: for anything else.

    Examples:
        >>> from jaxgait.solve.solvers import as_solver
        >>> type(as_solver("Rodas5P")).__name__
        'Rodas5P'
    """
    if isinstance(solver, diffrax.AbstractSolver):
        return solver
    if isinstance(solver, str) and solver in SOLVERS:
        own = SOLVERS[solver]
        return (own if unrolled or issubclass(own, AbstractRosenbrock) else getattr(diffrax, solver, own))()
    if like := [own for own, others in _LIKE.items() if str(solver).lower() in others.split()]:
        raise ValueError(f"no solver {solver!r}: the one here that is most like it is {like[0]!r}")
    if isinstance(solver, str) and isinstance(getattr(diffrax, solver, None), type(diffrax.AbstractSolver)):
        raise ValueError(f"no solver {solver!r}: to use that of diffrax, give diffrax.{solver}() itself, not its name")
    otherwise = f"give a diffrax solver, such as diffrax.Tsit5(), or one of {', '.join(SOLVERS)}"
    raise ValueError(f"no solver {checks.shown(solver)}: {nearest(solver, SOLVERS, limit=1, otherwise=otherwise)}")


def check_solver(solver: Any, *, adaptive: bool) -> None:
    """Checks that a solver of diffrax suits a vector field, and adaptive steps if these are wanted.

    Raises:
        ValueError: naming the solver, and what would suit.

    Examples:
        >>> import diffrax
        >>> from jaxgait.solve.solvers import check_solver
        >>> check_solver(diffrax.Kvaerno5(), adaptive=True)
    """
    if not isinstance(solver, diffrax.AbstractSolver):
        raise ValueError(f"solver must be a diffrax solver such as diffrax.Tsit5(), got {checks.shown(solver)}")
    name, terms = type(solver).__name__, solver.term_structure
    kind = get_origin(terms) or terms
    if not isinstance(kind, type) or issubclass(kind, diffrax.MultiTerm) or not issubclass(kind, diffrax.AbstractTerm):
        raise ValueError(f"solver {name} takes a motion in parts, and a model has one vector field: give, e.g., Tsit5")
    if adaptive and not isinstance(solver, diffrax.AbstractAdaptiveSolver):
        other = f", or diffrax.HalfSolver({name}(...))" * (not isinstance(solver, diffrax.LeapfrogMidpoint))
        raise ValueError(f"steps are adaptive, and solver {name} does not estimate its error: give Tsit5{other}")


def is_implicit(recorded: str) -> bool:
    """Whether a solver, as a result records it, solves equations with the Jacobian of the vector field in each step.

    Examples:
        >>> from jaxgait.solve.solvers import is_implicit
        >>> print(is_implicit("Ros4"), is_implicit("Kvaerno5(...)"), is_implicit("Tsit5"))
        True True False
    """
    name = recorded.partition("(")[0]
    kind = SOLVERS.get(name, getattr(diffrax, name, None))
    return isinstance(kind, type) and issubclass(kind, AbstractRosenbrock | diffrax.AbstractImplicitSolver)


def given_options(options: dict[str, Any], model: Any = None) -> dict[str, Any]:
    """The options that are not None, with solvers given by name replaced by the solver, as suits a model.

    Raises:
        ValueError: for an unknown solver.

    Examples:
        >>> from jaxgait.solve.solvers import given_options
        >>> found = given_options({"rtol": 1e-8, "atol": None, "solver": "Tsit5"})
        >>> print(list(found), type(found["solver"]).__name__)
        ['rtol', 'solver'] Tsit5
    """
    found = {name: value for name, value in options.items() if value is not None}
    unrolled = getattr(getattr(model, "numerics", None), "unrolled", True)
    return found | {"solver": as_solver(found["solver"], unrolled=unrolled)} if "solver" in found else found


def numerics_of(model: Any) -> Numerics:
    """A model's `numerics`, checked; the defaults for a mechanism that has only the methods of a protocol.

    Raises:
        ValueError: for impossible tolerances, steps in s and limits of steps, naming the model.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.solve.solvers import numerics_of
        >>> print(numerics_of(Bungee()).rtol)
        1e-10
    """
    hints = getattr(model, "numerics", None) or Numerics(stiff=False)
    name = f"{type(model).__name__}.numerics"
    checks.positive(f"{name}.rtol", hints.rtol, below=1.0)
    checks.positive(f"{name}.atol", hints.atol)
    for step in ("first_step", "max_step", "dt"):
        if getattr(hints, step) is not None:
            checks.positive(f"{name}.{step}", getattr(hints, step), "seconds")
    checks.count(f"{name}.max_steps", hints.max_steps)
    return hints


def check_tolerances(scheme: Any) -> None:
    """Checks the tolerances, and the steps in s, of a scheme with adaptive steps, unless they are traced or None.

    Raises:
        ValueError: naming the impossible option.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.solve.smooth import Smooth
        >>> from jaxgait.solve.solvers import check_tolerances
        >>> check_tolerances(Smooth.of(Bungee()))
    """
    for name, unit in {"rtol": "", "atol": "", "first_step": "seconds", "max_step": "seconds"}.items():
        value = getattr(scheme, name, None)
        if value is not None and not isinstance(value, Tracer):
            checks.positive(name, value, unit, below=1.0 if name == "rtol" else math.inf)


def check_resolved(rtol: Scalar, precision: str) -> None:
    """Checks that a relative tolerance (no dimension) is above rounding errors, unless it is traced.

    Raises:
        ValueError: naming the smallest tolerance.

    Examples:
        >>> from jaxgait.solve.solvers import check_resolved
        >>> check_resolved(1e-10, "float32")
        Traceback (most recent call last):
            ...
        ValueError: rtol must be at least 3.6e-06 in float32, got 1e-10; ...
    """
    least = LEAST_RTOL * float(np.finfo(precision).eps)
    if checks.is_concrete(rtol) and rtol < least:
        wider = '; smaller ones need float64 (around jax.jit or jax.grad: `with jaxgait.precision.use("float64"):`)'
        hint = wider if precision == "float32" else ""
        raise ValueError(f"rtol must be at least {least:.1e} in {precision}, got {rtol:g}{hint}")


def tolerances(hints: Numerics, precision: str) -> tuple[float, float]:
    """Default relative and absolute tolerance of a model, the latter in units of the state, well above rounding errors.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.solve.solvers import tolerances
        >>> print(tolerances(Bungee.numerics, "float64"))
        (1e-10, 1e-10)
    """
    eps = float(np.finfo(precision).eps)
    return max(hints.rtol, _DEFAULT_RTOL * eps), max(hints.atol, _DEFAULT_ATOL * eps)
