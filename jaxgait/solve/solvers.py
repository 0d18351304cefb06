"""The adaptive solvers, by name."""

from __future__ import annotations

from typing import Any

import diffrax

from jaxgait.checks import nearest
from jaxgait.solve.explicit import Bosh3, Dopri8, Tsit5
from jaxgait.solve.rosenbrock import AbstractRosenbrock, Rodas3, Rodas4, Rodas5P, Ros4
from jaxgait.solve.verner import Verner8

SOLVERS: dict[str, type[diffrax.AbstractAdaptiveSolver]] = {
    solver.__name__: solver for solver in (Bosh3, Tsit5, Dopri8, Verner8, Rodas3, Ros4, Rodas4, Rodas5P)
}
"""Explicit methods first, then those for stiff problems; both by increasing order."""


def as_solver(solver: Any) -> diffrax.AbstractSolver:
    """The argument if it is a solver, or the solver of that name.

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
        return SOLVERS[solver]()
    otherwise = f"give a diffrax solver, such as diffrax.Tsit5(), or one of {', '.join(SOLVERS)}"
    raise ValueError(f"no solver {solver!r}: {nearest(solver, SOLVERS, limit=1, otherwise=otherwise)}")


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


def given_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options that are not None, with solvers given by name replaced by the solver.

    Raises:
        ValueError: for an unknown solver.

    Examples:
        >>> from jaxgait.solve.solvers import given_options
        >>> found = given_options({"rtol": 1e-8, "atol": None, "solver": "Tsit5"})
        >>> print(list(found), type(found["solver"]).__name__)
        ['rtol', 'solver'] Tsit5
    """
    found = {name: value for name, value in options.items() if value is not None}
    return found | {"solver": as_solver(found["solver"])} if "solver" in found else found
