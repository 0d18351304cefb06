"""Bad input to the nonsmooth solvers, to what reads gaits off them, and to models: call, exception, message.

Run as a program, it makes every call in a plain interpreter (no run-time type checks, JAX's own settings) and prints
what each raised, as one line of JSON.
"""

import importlib
import json
from typing import Any

CASES = [
    # a mechanism that another function runs, or no mechanism
    ("as_model(Bungee)", "TypeError", "give an instance of the model, not the class: Bungee()"),
    ("as_model('bungee')", "TypeError", "Bungee() from jaxgait.models instead of 'bungee'"),
    ("as_model(None)", "TypeError", "got None"),
    ("as_model(Bungee().prepared())", "TypeError", "give the Bungee itself, not what its prepared() returns"),
    ("with_parameters(Jumper().prepared(), {'mass': 80.0})", "ParameterError", "change the model and prepare it again"),
    ("with_parameters(Bungee, {'mass': 80.0})", "TypeError", "not the class: Bungee()"),
    # time stepping
    ("simulate(RigidWalker(), dt=0)", "ValueError", "dt must be a positive number of seconds, got 0"),
    ("simulate(RigidWalker(), dt=float('nan'))", "ValueError", "dt must be a positive number of seconds, got nan"),
    ("simulate(RigidWalker(), dt='1e-4')", "ValueError", "dt must be a positive number of seconds, got '1e-4'"),
    ("simulate(RigidWalker(), dt=0.05)", "ValueError", "dt must be at most 0.0149503 s for RigidWalker, a 10th of"),
    ("simulate(RigidWalker(), max_events=0)", "ValueError", "max_events must be a whole number, at least 1, got 0"),
    ("simulate(RigidWalker(), rtol=1e-6)", "ValueError", "is integrated by TimeStepping, with dt and max_events"),
    ("simulate(RigidWalker(friction=-0.1))", "ParameterError", "RigidWalker.friction"),
    ("ensemble(RigidWalker(), {'slope': [0.01]}, observe=['slip'], gradient=['slope'])", "ValueError", "no gradient"),
    ("march(RollingWalker(), 1e-3, 1, 1)", "TypeError", "such as RigidWalker(), got RollingWalker: use"),
    ("march(RigidWalker(), 1e-3, 0, 10)", "ValueError", "blocks must be a whole number, at least 1, got 0"),
    ("march(RigidWalker(), 1e-3, 2.5, 10)", "ValueError", "blocks must be a whole number, at least 1, got 2.5"),
    (
        "march(RigidWalker(), 1e-3, 1, True)",
        "ValueError",
        "steps_per_block must be a whole number, at least 1, got",
    ),
    ("march(RigidWalker(), 1e-3, 1, 1, y0=(0.0, 1.0))", "ValueError", "y0 must be a WalkerState"),
    ("march(RigidWalker(), 1e-3, 1, 1, y0=NAN_STATE)", "ValueError", "y0.x must be finite, got nan"),
    (
        "integrate(Bungee(), 0.5, np.linspace(0.0, 1.0, 3))",
        "TypeError",
        "as in integrate(model, ts, scheme), got",
    ),
    # event-driven runs and periodic gaits
    ("hybrid(RigidWalker(), events=1, t_end=1.0)", "TypeError", "phases and transitions, such as RollingWalker()"),
    ("hybrid(RollingWalker(), events=0, t_end=1.0)", "ValueError", "events must be a whole number, at least 1, got 0"),
    ("hybrid(RollingWalker(), events=1, t_end=-1.0)", "ValueError", "t_end must be later than t0 = 0 s, got -1 s"),
    (
        "hybrid(RollingWalker(), events=1, t_end=1.0, phase=1)",
        "ValueError",
        "phase must be one of the model's 1",
    ),
    ("hybrid(RollingWalker(slope=float('nan')), events=1, t_end=1.0)", "ParameterError", "RollingWalker.slope"),
    (
        "jax.jit(lambda x: hybrid(RollingWalker(), events=1, t_end=1.0, y0=(x,)))(0.0)",
        "ValueError",
        "got a traced value",
    ),
    ("rolling_gait(RigidWalker())", "TypeError", "a model with rolling feet, RollingWalker(), got RigidWalker"),
    ("rolling_gait(RollingWalker(), np.zeros(2))", "ValueError", "guess must be one section point"),
    ("rolling_gait(RollingWalker(), np.array([0.2, np.nan, -1.0]))", "ValueError", "z0 must be finite"),
    ("rolling_gait(RollingWalker(gravity=-9.8))", "ParameterError", "RollingWalker.gravity"),
    # the others
    (
        "critical_value(Bungee(), 'rope_length')",
        "ValueError",
        "no rope_length from 0.3 to 3000 m makes the jump",
    ),
    ("critical_value(Bungee(), 'stifness')", "ParameterError", "did you mean 'stiffness'?"),
    ("histories(five_links(), strides=-1)", "ValueError", "strides must be one number in strides, finite and above 0"),
    ("histories(five_links(), samples=2.5)", "ValueError", "samples must be a whole number, at least 1, got 2.5"),
    ("histories(five_links(), strides=1.3, samples=7)", "ValueError", "got 1.3 times 7 = 9.1"),
    ("histories(Bungee())", "TypeError", "a model with telescopic links, Exoskeleton(), got Bungee"),
]
"""(call, class of the exception, part of its message)."""


_MODULES = {
    "jaxgait.models.bungee.measures": ("critical_value",),
    "jaxgait.models.exoskeleton.measures": ("histories",),
    "jaxgait": ("ensemble", "simulate"),
    "jaxgait.models.walker.measures": ("rolling_gait",),
    "jaxgait.models": ("Bungee", "Jumper", "Walker"),
    "jaxgait.model": ("as_model",),
    "jaxgait.models.exoskeleton.model": ("five_links",),
    "jaxgait.parameters": ("with_parameters",),
    "jaxgait.models.walker.rigid": ("RigidWalker", "RollingWalker"),
    "jaxgait.solve.hybrid": ("hybrid",),
    "jaxgait.solve.smooth": ("integrate",),
    "jaxgait.solve.time_stepping": ("march",),
}


def names() -> dict[str, Any]:
    """What the calls of `CASES` know."""
    found: dict[str, Any] = {"jax": importlib.import_module("jax"), "np": importlib.import_module("numpy")}
    for module, wanted in _MODULES.items():
        found |= {name: getattr(importlib.import_module(module), name) for name in wanted}
    found["NAN_STATE"] = found["RigidWalker"]().initial_state()._replace(x=float("nan"))
    return found


def main() -> None:
    """Makes every call and prints the class and message of what it raised."""
    known, found = names(), []
    for call, _, _ in CASES:
        try:
            eval(call, known)
            found.append(("nothing", ""))
        except Exception as error:
            found.append((type(error).__name__, str(error)))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
