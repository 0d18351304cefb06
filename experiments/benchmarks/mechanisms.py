"""All mechanisms as functions of one parameter of one member: what GPUs are proved and measured with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgait import precision
from jaxgait.ensembles.batch import Job, run_member
from jaxgait.models import Bungee, Creeper, Exoskeleton, Jumper, Prosthesis, RollingWalker, Walker
from jaxgait.parameters import parameters
from jaxgait.run import Run, Sampling, state_variables
from jaxgait.solve.schemes import scheme_for


class Mechanism(NamedTuple):
    """A mechanism, one of its parameters, and a run that is short but holds what it is about."""

    model: Callable[[], Any]
    parameter: str
    span: dict[str, Any]
    """Of `jaxgait.run.Sampling.of`."""


MECHANISMS = {
    "bungee": Mechanism(Bungee, "mass", {"duration": 10.0}),
    "knee": Mechanism(Prosthesis, "damper.k", {"strides": 1}),
    "walker": Mechanism(Walker, "slope", {"duration": 1.5}),
    "creeper": Mechanism(Creeper, "front_mass", {"duration": 0.8}),
    "rolling walker": Mechanism(RollingWalker, "slope", {"duration": 3.0}),
    "jumper": Mechanism(Jumper, "sole.radius", {"duration": 0.2}),
    "exoskeleton": Mechanism(Exoskeleton, "gait.stretch", {"strides": 1}),
}
SAMPLES = 20


def ends(run: Run) -> dict[str, jax.Array]:
    """The final state."""
    return {f"{name}_end": y for name, y in state_variables(run.trajectory.y_end).items()}


def member(name: str, derivative: bool = False) -> Callable[[Any], dict[str, Any]]:
    """How a run ended, and the state there, as a function of the parameter.

    Args:
        name: one of `MECHANISMS`.
        derivative: whether the final state's derivative by the parameter comes with it.
    """
    mechanism = MECHANISMS[name]
    model = precision.cast(mechanism.model())
    span = {"strides": None, "duration": None, "samples": SAMPLES, **mechanism.span}
    gradient = (mechanism.parameter,) if derivative else ()
    scheme = scheme_for(mechanism.model(), None, precision=precision.in_force())
    job = Job(scheme.in_mode("forward"), Sampling.of(mechanism.model(), **span), ends, gradient=gradient)
    return lambda value: run_member(model, {mechanism.parameter: value}, job)


def values(name: str, members: int) -> jax.Array:
    """The parameter, from 1 per cent below to 1 per cent above its own value."""
    own = float(parameters(MECHANISMS[name].model())[MECHANISMS[name].parameter].value)
    return own * jnp.linspace(0.99, 1.01, members)
