"""How fast mechanisms made of trees are: evaluations of their vector fields per second of processor time.

    python -m experiments.benchmarks.trees [--json FILE]

Each vector field is compiled by `jax.jit(jax.vmap(...))` for many states at once; the best of several repetitions
counts. To compare two versions of the package, run it in both, one after the other and more than once.

Then a leg of three links (ten states, one foot on the ground), in the plane and in space, with a kernel and left to
XLA: processor time in s of a first run of one second, with an empty cache, and of the next one; of 64 members; with a
kernel also of their derivatives by the stiffness of the knee, and the number of values of the kernels, with and without
zeros left out (`jaxgait.native.assuming_finite`); steps and error of the run at several rtol. Finally the times of a
robot with four legs, twelve motors and their stops, whose feet slip at up to 2 cm/s, also with the default
`slip_velocity`, and in implicit steps.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import time
import unittest.mock
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgait import Measure, ensemble, precision, simulate
from jaxgait.mechanics.contact import HuntCrossley
from jaxgait.mechanics.friction import Coulomb
from jaxgait.mechanics.spatial import Link, free, hinge, planar
from jaxgait.models.creeper.chain import CreeperChain
from jaxgait.models.exoskeleton.model import Exoskeleton
from jaxgait.models.jumper.human import Jumper
from jaxgait.models.jumper.robot import JumpingRobot
from jaxgait.models.jumper.spatial import SpatialJumper
from jaxgait.models.tree import ContactPoint, Motor, Spring, Stop, TreeModel
from jaxgait.native import code, disk, looping, passes, reading
from jaxgait.parameters import with_parameters

from .bench import compiled_anew

MEMBERS, REPEATS, SPREAD = 2048, 60, 1e-3


def main() -> None:
    """Prints one line for each mechanism."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="file for the figures: evaluations per second by name")
    file = parser.parse_args().json
    with precision.use("float64"):
        found = {name: _rate(*case) for name, case in _cases().items()}
    for name, rate in found.items():
        print(f"{name:24s} {rate:12,.0f} evaluations/s")
    for rotation, most in itertools.product((None, np.eye(3)), (code.MAX_VALUES, 0)):
        with unittest.mock.patch.object(code, "MAX_VALUES", most), compiled_anew(), _lengths() as values:
            # (with the same number of samples, both would use the first program)
            taken = _times(_leg(rotation), samples=301 if most else 300, derived=most > 0)
            times = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in taken.items())
        where = "in the plane" if rotation is None else "in space"
        how = f"kernels of {', '.join(map(str, values))} values" if most else "left to XLA"
        print(f"leg of three links {where}, {how}: {times}", flush=True)
    for rotation in (None, np.eye(3)):
        keep = unittest.mock.patch.object(reading, "shortened", lambda *_: None)
        with keep, unittest.mock.patch.object(disk, "folder", lambda: None), _lengths() as values:
            simulate(_leg(rotation), duration=1.0, samples=299, progress=False)
        where = "in the plane" if rotation is None else "in space"
        print(f"leg of three links {where}, with its zeros: a kernel of {values[0]} values", flush=True)
    _errors(_leg(None))
    firm = {f"contacts.{toe}.friction.slip_velocity": Coulomb().slip_velocity for toe in _quadruped().contacts}
    with compiled_anew(), _lengths() as values:
        taken = _times(_quadruped(), samples=301, derived=False)
        taken |= {"with the default slip velocity": _spent(with_parameters(_quadruped(), firm))}
    times = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in taken.items())
    print(f"robot with four legs, kernels of {', '.join(map(str, values))} values: {times}", flush=True)
    for when in ("first", "next"):
        seconds = _spent(_quadruped(), solver="Ros4")
        print(f"robot with four legs, implicit steps, {when} run: {seconds:.2f} s", flush=True)
    if file:
        with open(file, "w") as out:
            json.dump(found, out, indent=1)


def _cases() -> dict[str, tuple[Callable, Any]]:
    """For each mechanism a function of one member and the members, stacked."""
    found = {}
    for model in (Jumper(), JumpingRobot(), SpatialJumper(), Exoskeleton()):
        cast: Any = precision.cast(model)
        ready, start = jax.jit(lambda m: m.prepared())(cast), jax.jit(lambda m: m.initial_state())(cast)
        found[type(model).__name__] = (_field(ready), _around(start))
    chain = precision.cast(CreeperChain())
    found["CreeperChain.drive_force"] = (chain.drive_force, jnp.linspace(0.0, 1.0, MEMBERS))
    return found


def _leg(rotation: np.ndarray | None) -> TreeModel:
    """A leg with a foot on the ground; a rotation of its links, if given, is a parameter."""
    rod = {"mass": 5.0, "com": (0.0, 0.0, -0.2), "inertia": np.diag([0.07, 0.07, 0.002]), "rotation": rotation}
    return TreeModel(
        [
            Link("trunk", None, planar(), mass=50.0, inertia=np.eye(3)),
            Link("thigh", "trunk", hinge((0, 1, 0)), **rod),
            Link("shank", "thigh", hinge((0, 1, 0)), offset=(0.0, 0.0, -0.4), **rod),
        ],
        contacts={"foot": ContactPoint("shank", HuntCrossley(5e4, 0.5, 1e4), Coulomb(0.8), position=(0.0, 0.0, -0.4))},
        drives={"hip": Spring("thigh", stiffness=500.0, damping=5.0), "knee": Spring("shank", stiffness=900.0)},
        start={"trunk.z": 0.9, "thigh": 0.4, "shank": -0.8},
    )


def _quadruped() -> TreeModel:
    """A trunk that stands on four legs of three driven joints each; 37 states."""
    links, contacts, drives = [Link("trunk", None, free(), mass=10.0, inertia=np.diag([0.1, 0.3, 0.3]))], {}, {}
    for (end, x), (side, y) in itertools.product((("front", 0.3), ("hind", -0.3)), (("left", 0.15), ("right", -0.15))):
        above = "trunk"
        for name, axis, offset, com, bent in (
            ("hip", (1, 0, 0), (x, y, 0.0), 0.0, 0.0),
            ("thigh", (0, 1, 0), (0.0, 0.0, 0.0), -0.12, -0.6),
            ("shank", (0, 1, 0), (0.0, 0.0, -0.25), -0.12, 1.2),
        ):
            body = f"{end}_{side}_{name}"
            inertia = np.diag([3e-3, 3e-3, 1e-4])
            links.append(Link(body, above, hinge(axis), 0.5, (0.0, 0.0, com), inertia, offset=offset))
            drives[f"{body}_motor"] = Motor(body, stiffness=60.0, damping=2.0, position=bent)
            drives[f"{body}_stop"] = Stop(body, lowest=-2.0, highest=2.0, stiffness=500.0, damping=1.0)
            above = body
        toe = ContactPoint(above, HuntCrossley(1e4, 0.5, 1e3), Coulomb(0.8, 0.02), position=(0.0, 0.0, -0.25))
        contacts[f"{end}_{side}"] = toe
    start = {"trunk.z": 0.42} | {motor.joint: motor.position for motor in drives.values() if isinstance(motor, Motor)}
    return TreeModel(links, contacts=contacts, drives=drives, start=start)


def _spent(tree: TreeModel, **options: Any) -> float:
    """Processor time in s of a run."""
    before = time.process_time()
    simulate(tree, duration=1.0, samples=301, progress=False, **options)
    return time.process_time() - before


def _times(tree: TreeModel, samples: int, derived: bool) -> dict[str, float]:
    """Processor time in s of a first and a next run, ensemble and, if `derived`, ensemble with a derivative."""
    options = {"duration": 1.0, "samples": samples, "progress": False}
    stiffness = next(f"drives.{name}.stiffness" for name in reversed(tree.drives) if not name.endswith("stop"))
    gravity, height = {"gravity": np.linspace(8.0, 10.0, 64)}, Measure("height", _height, "m", "height at the end")
    work: dict[str, Callable] = {
        "run": lambda: simulate(tree, **options),
        "ensemble": lambda: ensemble(tree, gravity, trajectories=["q"], **options),
    }
    if derived:
        work["derivative"] = lambda: ensemble(tree, gravity, observe=height, gradient=[stiffness], **options)
    found = {}
    for name, run in work.items():
        for when in ("first", "next"):
            before = time.process_time()
            run()
            found[f"{when} {name}"] = time.process_time() - before
    return found


@contextlib.contextmanager
def _lengths() -> Iterator[list[int]]:
    """Collects the number of values of each loop that becomes a kernel."""
    found: list[int] = []

    def read(*args: Any, **options: Any) -> Any:
        loop = passes.read_loop(*args, **options)
        found.append(code.count(loop.statements))
        return loop

    with unittest.mock.patch.object(looping, "read_loop", read):
        yield found


def _height(run: Any) -> Any:
    return run.ys.q[-1, 1]


def _errors(leg: TreeModel) -> None:
    """Prints the steps of a run and the error of its coordinates (m and rad) at several tolerances."""
    runs = {rtol: simulate(leg, duration=1.0, rtol=rtol, atol=1e-2 * rtol) for rtol in (1e-10, 1e-8, 1e-6)}
    for rtol, run in runs.items():
        error = float(np.abs(run.q - runs[1e-10].q).max())
        print(f"leg in the plane, rtol {rtol:.0e}: {run.attrs['steps']} steps, error {error:.1e}")


def _field(ready: Any) -> Callable:
    return lambda y: ready.vector_field(0.2, y)


def _around(y: Any) -> Any:
    """Many states near one."""
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda leaf: leaf + SPREAD * rng.normal(size=(MEMBERS, *np.shape(leaf))), y)


def _rate(function: Callable, members: Any) -> float:
    """Evaluations per second of processor time."""
    compiled = jax.jit(jax.vmap(function))
    jax.block_until_ready(compiled(members))
    spent = []
    for _ in range(REPEATS):
        start = time.process_time()
        jax.block_until_ready(compiled(members))
        spent.append(time.process_time() - start)
    return MEMBERS / min(spent)


if __name__ == "__main__":
    main()
