"""All mechanisms as functions of one parameter of one member, for tests and benchmarks of kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from jaxgait import precision
from jaxgait.ensembles.batch import Job, run_member
from jaxgait.models import Bungee, Creeper, Exoskeleton, Jumper, Prosthesis, RollingWalker, Walker
from jaxgait.parameters import parameters
from jaxgait.run import Run, Sampling
from jaxgait.solve.schemes import scheme_for
from jaxgait.states import state_variables


class Mechanism(NamedTuple):
    """A mechanism, and a run that is short but shows what matters."""

    model: Callable[[], Any]
    parameters: tuple[str, ...]
    """By which the run is differentiated; the first one is scanned."""
    span: dict[str, Any]
    """Arguments of `jaxgait.run.Sampling.of`."""


KNEE = (
    *("damper.k", "damper.c", "damper.rest_length", "masses.foot"),
    *("ankle.stiffness", "ankle.damping", "ground.stiffness", "ground.damping"),
)
MECHANISMS = {
    "bungee": Mechanism(Bungee, ("mass", "stiffness", "rope_length", "gravity"), {"duration": 10.0}),
    "knee": Mechanism(Prosthesis, KNEE, {"strides": 1}),
    "walker": Mechanism(Walker, ("slope", "friction", "mass", "gravity"), {"duration": 1.5}),
    "creeper": Mechanism(Creeper, ("front_mass", "rear_mass", "gait.stroke", "pads.stiffness"), {"duration": 0.8}),
    "rolling walker": Mechanism(RollingWalker, ("slope", "mass"), {"duration": 3.0}),
    "jumper": Mechanism(Jumper, ("sole.radius",), {"duration": 0.2}),
    "exoskeleton": Mechanism(Exoskeleton, ("gait.stretch",), {"strides": 1}),
}
SAMPLES = 20


def _ends(run: Run) -> dict[str, jax.Array]:
    """The final state."""
    return {f"{name}_end": y for name, y in state_variables(run.trajectory.y_end).items()}


def outcome(
    model: Any, span: dict[str, Any], gradient: tuple[str, ...] = (), samples: int = SAMPLES
) -> Callable[[Any], dict[str, Any]]:
    """How a run ended, the state there and its gradient, as a function of parameters by name."""
    whole = {"strides": None, "duration": None, "samples": samples, **span}
    scheme = scheme_for(model, precision=precision.in_force()).in_mode("forward")
    job = Job(scheme, Sampling.of(model, **whole), _ends, gradient=gradient)
    cast = precision.cast(model)
    return lambda values: run_member(cast, values, job)


def member(name: str, derivative: bool = False) -> Callable[[Any], dict[str, Any]]:
    """The `outcome` of one of `MECHANISMS`, as a function of its first parameter, by which it may be differentiated."""
    model, names, span = MECHANISMS[name]
    run = outcome(model(), span, names[:1] if derivative else ())
    return lambda value: run({names[0]: value})


def values(name: str, members: int) -> jax.Array:
    """The first parameter, from 1 per cent below to 1 per cent above its own value."""
    mechanism = MECHANISMS[name]
    own = float(parameters(mechanism.model())[mechanism.parameters[0]].value)
    return own * jnp.linspace(0.99, 1.01, members)
