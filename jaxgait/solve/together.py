"""Neighbouring trajectories in common steps: derivatives of a stiff solve by differences, free of the solver's noise.

Two adaptive solves from neighbouring points take different steps; their difference is as uncertain as the tolerance.
Copies that share every step differ smoothly: their differences over 1e-7 give the derivative of the computed solution
to some 1e-6, the same derivative as forward mode gives (step sizes carry none there either). For a stiff model with a
small state this is cheaper (the knee: some fourteen times, against forward mode of the array-state solver): the copies
fill the vector units, and no derivative of a Jacobian is compiled.

Reference: Bock, Numerical treatment of inverse problems in chemical reaction kinetics, Springer Ser. Chem. Phys. 18
(1981) 102 (internal numerical differentiation).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from jaxgait.models.base import Model, Scalar, State

__all__ = ["Bundle", "Together"]


class Bundle(Model):
    """Copies of a model that are integrated as one by `Together`: the leaves of its states have a leading axis."""

    make: Callable[[Any, Any], Model] = eqx.field(static=True)
    """One copy, from (shared, own)."""
    shared: Any
    """What the copies have in common."""
    own: Any
    """What distinguishes them: leaves with a leading axis."""

    @property
    def first(self) -> Model:
        """The first copy: its times hold for all."""
        return self.make(self.shared, jax.tree.map(lambda leaf: leaf[0], self.own))

    @property
    def period(self) -> Scalar | None:
        """That of the first copy."""
        return self.first.period

    @property
    def duration(self) -> Scalar:
        """That of the first copy."""
        return self.first.duration

    def initial_state(self) -> State:
        """The initial states of the copies."""
        return jax.vmap(lambda own: self.make(self.shared, own).initial_state())(self.own)

    def vector_field(self, t: Scalar, y: State) -> State:
        """The rates of the copies."""
        return jax.vmap(lambda own, y: self.make(self.shared, own).vector_field(t, y))(self.own, y)

    def outputs(self, t: Scalar, y: State) -> dict[str, Array]:
        """The outputs of the copies."""
        return jax.vmap(lambda own, y: self.make(self.shared, own).outputs(t, y))(self.own, y)

    def terminations(self) -> Mapping[str, Callable[[Scalar, State], Bool[Array, ""]]]:
        """A bundle ends where the first of its copies does."""

        def any_of(name: str) -> Callable[[Scalar, State], Bool[Array, ""]]:
            ends = lambda t, own, y: self.make(self.shared, own).terminations()[name](t, y)
            return lambda t, y: jnp.any(jax.vmap(lambda own, y: ends(t, own, y))(self.own, y))

        return {name: any_of(name) for name in self.first.terminations()}


class Together(diffrax.AbstractAdaptiveSolver):
    """Steps the copies of a `Bundle` by another solver, all with the same step size."""

    solver: Any
    """The solver of one copy; one that carries no state from step to step."""

    @property
    def term_structure(self) -> Any:
        """That of the solver."""
        return self.solver.term_structure

    @property
    def interpolation_cls(self) -> Any:
        """That of the solver: it works on leaves with a leading axis as well."""
        return self.solver.interpolation_cls

    def order(self, terms: Any) -> Any:
        """Order of convergence."""
        return self.solver.order(terms)

    def init(self, terms: Any, t0: Any, t1: Any, y0: State, args: Bundle) -> None:
        """No state is carried from step to step."""
        return None

    def func(self, terms: Any, t0: Any, y0: State, args: Bundle) -> State:
        """The rates of the copies."""
        return terms.vf(t0, y0, args)

    def step(
        self, terms: Any, t0: Any, t1: Any, y0: State, args: Bundle, solver_state: None, made_jump: Any
    ) -> tuple[State, State, Any, None, diffrax.RESULTS]:
        """One step of every copy; see diffrax.AbstractSolver.step."""

        def one(own: Any, y: State) -> tuple[State, State, Any]:
            return self.solver.step(terms, t0, t1, y, args.make(args.shared, own), None, made_jump)[:3]

        return *jax.vmap(one)(args.own, y0), None, diffrax.RESULTS.successful
