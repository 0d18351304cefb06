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
    # labelled times are converted
    ("simulate(Bungee(), duration=LABELLED(-0.1, 'min'))", "ValueError", "a positive number of seconds, got -6.0"),
    ("simulate(RigidWalker(), dt=LABELLED(-1.0, 'ms'))", "ValueError", "a positive number of seconds, got -0.001"),
    ("simulate(Bungee(), max_step=LABELLED(1.0, 'kg'))", "ValueError", "max_step is in 'kg', but a time in 's': give"),
    ("PoincareMap(max_time=LABELLED(-0.1, 'min'))", "ValueError", "a positive number of seconds, got -6.0"),
    ("integrate(Bungee(), LABELLED([0.0, 1.0], 'kg'))", "ValueError", "ts is in 'kg', but a time in 's': give"),
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
    ("hybrid(RollingWalker(slope=[0.01, 0.02]), events=1, t_end=1.0)", "ParameterError", "got [0.01, 0.02]"),
    ("hybrid(RollingWalker(), events=1, t_end=1.0, scheme='Smooth')", "TypeError", "must be an EventDriven"),
    ("hybrid(RollingWalker(), events=1, t_end=1.0, counted='fell')", "TypeError", "a list of names of transitions"),
    ("orbit(PoincareMap(), RollingWalker(slope=[0.01, 0.02]), Z, 2)", "ParameterError", "got [0.01, 0.02]"),
    ("orbit(PoincareMap(), RollingWalker(), Z, 2.5)", "ValueError", "strides must be a whole number"),
    ("orbit(PoincareMap(), RollingWalker(), 'z', 2)", "ValueError", "a vector of numbers, got 'z'"),
    ("orbit(RollingWalker(), PoincareMap(), Z, 2)", "TypeError", "a return map is a function of a model and a point"),
    ("orbit(PoincareMap, RollingWalker(), Z, 2)", "TypeError", "such as PoincareMap() or StroboscopicMap(), got"),
    ("iterated(PoincareMap(), 2.5)", "ValueError", "order must be a whole number, at least 1, got 2.5"),
    ("PoincareMap(coordinates=3)", "TypeError", "coordinates must be a Coordinates"),
    ("PoincareMap(coordinates=Coordinates(3, 3))", "TypeError", "of two functions, got Coordinates(state=3, point=3)"),
    ("basin(MAP, None, None, [[0.5]])", "ValueError", "z0 must be points, an array of numbers, got None"),
    (
        "basin(MAP, None, [[0.5]], [[1.0, 2.0], [1.0]])",
        "ValueError",
        "gait must be points, an array of numbers, got [[",
    ),
    (
        "bifurcation_diagram(MAP, Bungee(), 'mass', [70.0], None, discard=1, keep=1)",
        "ValueError",
        "z0 must be points, an array of numbers, got None",
    ),
    ("fixed_points(MAP, Bungee(), {'mass': [70.0]}, 'z')", "ValueError", "z0 must be points, an array of numbers"),
    ("continuation(MAP, Bungee(), 'mass', 'z', (60, 70))", "ValueError", "z0 must be one point, a vector of numbers"),
    ("sample(3)", "TypeError", "fit must be a Fit, such as jaxgait.fit returns, got 3"),
    ("derived(3)", "TypeError", "derived decorates a method of a model (@derived), got 3"),
    ("known(Elsewhere())", "ValueError", "'nomodule:X', the measures of Elsewhere, cannot be imported: Module"),
    ("rolling_gait(RollingWalker(), return_map=3)", "TypeError", "return_map must be a PoincareMap, such as"),
    ("periods(PoincareMap(), RollingWalker(), None)", "TypeError", "branch must be a Branch"),
    ("orbit_branches(PoincareMap(), RollingWalker(), None)", "TypeError", "branch must be a Branch"),
    ("bifurcation_curve(PoincareMap(), 0, None, ('a', 'b'), (0, 1))", "TypeError", "point must be a BifurcationPoint"),
    ("unstable_ranges(3, [], 0)", "TypeError", "branch must be a Gaits, such as follow returns, got 3"),
    # the others
    ("integrate(Bungee(mass=[60.0, 70.0]), np.linspace(0.0, 1.0, 3))", "ParameterError", "got [60.0, 70.0]"),
    ("integrate(Bungee(), 1.0)", "ValueError", "ts must be times in s, a vector of numbers"),
    ("integrate(Bungee(), np.array([1.0, 0.0]))", "ValueError", "ts must be finite times in s that do not decrease"),
    ("integrate(Bungee(), np.array([1, 0], np.uint8))", "ValueError", "ts must be finite times in s that do not"),
    (
        "orbit(lambda z: z, None, [0.5], 1)",
        "TypeError",
        "a return map is called with the model and a point, (model, z)",
    ),
    ("with_landing(Jumper(), JUMP)", "TypeError", "a jumper in the plane, such as simulate(Jumper()): it lacks z"),
    ("with_landing(Bungee(), JUMP)", "TypeError", "a model with legs in the plane, Jumper(), got Bungee"),
    ("with_landing(Jumper(), JUMP, 0.9)", "TypeError", "absorption must be an Absorption"),
    ("assess_landing(JUMP, 70.0)", "TypeError", "it lacks depth, com_x"),
    ("assess(None, 70.0)", "TypeError", "got None"),
    ("clearance(Jumper())", "TypeError", "a model with a rope, Bungee(), got Jumper"),
    ("step_figures(Bungee())", "TypeError", "a model with telescopic links, Exoskeleton(), got Bungee"),
    ("looped(3)", "TypeError", "a program is made of a function of arrays"),
    ("kept(3)", "TypeError", "a program is made of a function of arrays"),
    ("explain(3, 1.0)", "TypeError", "a program is made of a function of arrays"),
    ("looped(abs, assured='Must have')", "TypeError", "assured must be a list of beginnings of messages"),
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
    "jaxgait.analysis.attractors": ("basin", "bifurcation_diagram"),
    "jaxgait.calibration": ("sample",),
    "jaxgait.analysis.continuation": ("bifurcation_curve", "continuation", "periods"),
    "jaxgait.analysis.families": ("fixed_points",),
    "jaxgait.analysis.orbits": ("orbit_branches",),
    "jaxgait.analysis.stability": ("unstable_ranges",),
    "jaxgait.models.bungee.measures": ("clearance", "critical_value"),
    "jaxgait.models.exoskeleton.measures": ("histories", "step_figures"),
    "jaxgait.models.jumper.landing": ("assess_landing", "with_landing"),
    "jaxgait.models.jumper.measures": ("assess",),
    "jaxgait.native": ("explain", "kept", "looped"),
    "jaxgait": ("derived", "ensemble", "simulate"),
    "jaxgait.measure": ("known",),
    "jaxgait.models.walker.measures": ("rolling_gait",),
    "jaxgait.models": ("Bungee", "Jumper", "Walker"),
    "jaxgait.model": ("as_model",),
    "jaxgait.models.exoskeleton.model": ("five_links",),
    "jaxgait.parameters": ("with_parameters",),
    "jaxgait.models.walker.rigid": ("RigidWalker", "RollingWalker"),
    "jaxgait.solve.hybrid": ("hybrid",),
    "jaxgait.solve.periodic": ("Coordinates", "PoincareMap", "iterated", "orbit"),
    "jaxgait.solve.smooth": ("integrate",),
    "jaxgait.solve.time_stepping": ("march",),
}


def names() -> dict[str, Any]:
    """What the calls of `CASES` know."""
    found: dict[str, Any] = {"jax": importlib.import_module("jax"), "np": importlib.import_module("numpy")}
    found["xr"] = importlib.import_module("xarray")
    for module, wanted in _MODULES.items():
        found |= {name: getattr(importlib.import_module(module), name) for name in wanted}
    found["NAN_STATE"] = found["RigidWalker"]().initial_state()._replace(x=float("nan"))
    found["Z"] = found["np"].array([0.2, -1.4, -1.1])
    found["LABELLED"] = lambda x, unit: found["xr"].DataArray(x, attrs={"units": unit})
    found["MAP"] = lambda model, z: 0.5 * z
    found["Elsewhere"] = type("Elsewhere", (found["Bungee"],), {"measures": "nomodule:X"})
    found["JUMP"] = found["simulate"](found["Bungee"](), duration=1.0, samples=2)
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
