"""How fast mechanisms made of trees are: evaluations of their vector fields per second of processor time.

    python -m experiments.benchmarks.trees [--json FILE]

Each vector field is compiled by `jax.jit(jax.vmap(...))` for many states at once; the best of several repetitions
counts. To compare two versions of the package, run it in both, one after the other and more than once.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgait import precision
from jaxgait.models.creeper.chain import CreeperChain
from jaxgait.models.exoskeleton.model import Exoskeleton
from jaxgait.models.jumper.human import Jumper
from jaxgait.models.jumper.robot import JumpingRobot
from jaxgait.models.jumper.spatial import SpatialJumper

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
