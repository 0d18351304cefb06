"""How long one waits for help, for an import, and for the first result: with an empty cache and in the next process.

    python -m experiments.benchmarks.start
    python -m experiments.benchmarks.start --experiments    # each `jaxgait reproduce NAME` with an empty cache

In a new virtual environment with jaxgait and what it needs, as a user has it. (Where Dask is installed, xarray imports
it, in 0.6 s.)

Prints the wall and the processor time in s of every process; then, of a knee ensemble of 16 members over 3 strides with
the measure rho, the processor time after the imports, at one rtol and at another.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from jaxgait import registry
from jaxgait.cli.console import DONE, NOT_ALL

RUN = """
import json, time
import numpy as np
import jaxgait
import jaxgait.ensembles.batch
from jaxgait.models.prosthesis.model import Prosthesis

members = {"damper.k": np.linspace(1.6e4, 2.2e4, 16)}
spent, seen = [], []
for rtol in (1e-6, 1e-5):
    before = time.process_time()
    data = jaxgait.ensemble(Prosthesis(), members, strides=3, rtol=rtol, observe=["rho"], progress=False)
    spent.append(time.process_time() - before)
    seen.append(data.rho.values.tolist())
print(json.dumps([spent, seen]))
"""


TREE = """
import numpy as np
from jaxgait import simulate
from jaxgait.mechanics.contact import HuntCrossley
from jaxgait.mechanics.friction import Bristle
from jaxgait.mechanics.spatial import Link, hinge, prismatic
from jaxgait.models.tree import ContactPoint, Spring, TreeModel

rod = {"mass": 5.0, "com": (0.0, 0.0, -0.2), "inertia": np.diag([0.07, 0.07, 0.002])}
leg = TreeModel(
    [
        Link("trunk", None, prismatic((0, 0, 1)), mass=50.0),
        Link("thigh", "trunk", hinge((0, 1, 0)), **rod),
        Link("shank", "thigh", hinge((0, 1, 0)), offset=(0.0, 0.0, -0.4), **rod),
    ],
    contacts={"foot": ContactPoint("shank", HuntCrossley(5e4, 0.5, 1e4), Bristle(), position=(0.0, 0.0, -0.4))},
    drives={"hip": Spring("thigh", stiffness=500.0, damping=5.0), "knee": Spring("shank", stiffness=900.0)},
    start={"trunk": 0.9, "thigh": 0.4, "shank": -0.8},
)
simulate(leg, duration=1.0, samples=300, progress=False)
"""

COMMAND = ("-m", "jaxgait")
PROCESSES = {
    "jaxgait --help": [*COMMAND, "--help"],
    "jaxgait run --help": [*COMMAND, "run", "--help"],
    "import jaxgait": ["-c", "import jaxgait"],
    "import jax": ["-c", "import jax"],
    "from jaxgait import simulate": ["-c", "from jaxgait import simulate"],
    "jaxgait run knee, first": [*COMMAND, "run", "knee"],
    "jaxgait run knee, second": [*COMMAND, "run", "knee"],
    "jaxgait run knee, third": [*COMMAND, "run", "knee"],
    "a tree of three bodies, first": ["-c", TREE],
    "a tree of three bodies, second": ["-c", TREE],
}
"""Arguments of Python, in this order, on one cache."""


def installed(folder: str) -> str:
    """The Python of a new virtual environment in a folder, in which this checkout is installed."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = f"{folder}/bin/python"
    subprocess.run([python, "-m", "pip", "install", "-q", str(Path(__file__).parents[2])], check=True)
    return python


def processes(python: str, folder: str) -> dict[str, tuple[float, float]]:
    """Wall and processor time in s of every process of `PROCESSES`, by its name.

    Args:
        python: with jaxgait.
        folder: of the cache.
    """
    return {name: _timed([python, *arguments], folder) for name, arguments in PROCESSES.items()}


def experiments(python: str) -> Iterator[tuple[str, float, float]]:
    """Name, wall and processor time in s of every `jaxgait reproduce NAME`, each with an empty cache."""
    for name in registry.own_experiments():
        with tempfile.TemporaryDirectory() as folder:
            command = [python, *COMMAND, "reproduce", name, "--out", f"{folder}/out"]
            yield name, *_timed(command, folder, codes=(DONE, NOT_ALL))  # not all: a figure misses its target


def _timed(command: list[str], folder: str, codes: tuple[int, ...] = (DONE,)) -> tuple[float, float]:
    """Wall and processor time in s of a process with a cache, which ends with one of `codes`."""
    before, begun = _spent(), time.perf_counter()
    done = subprocess.run(command, check=False, env=_environment(folder), capture_output=True)
    if done.returncode not in codes:
        raise SystemExit(done.stderr.decode())
    return time.perf_counter() - begun, _spent() - before


def _spent() -> float:
    """Processor time in s of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _environment(folder: str) -> dict[str, str]:
    return {k: x for k, x in os.environ.items() if k != "JAX_COMPILATION_CACHE_DIR"} | {"JAXGAIT_CACHE": folder}


def _process(python: str, folder: str) -> tuple[list[float], list[list[float]]]:
    command, env = [python, "-c", RUN], _environment(folder)
    done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    return tuple(json.loads(done.stdout.splitlines()[-1]))


def measured(python: str = sys.executable) -> tuple[list[float], list[float]]:
    """Seconds of the first and of the second process: to the first result, then to one at another rtol.

    Raises:
        SystemExit: where the second process has other results.
    """
    with tempfile.TemporaryDirectory() as folder:
        for name, (clock, spent) in processes(python, folder).items():
            print(f"{name}: {clock:.2f} s, {spent:.2f} s of processor time")
    with tempfile.TemporaryDirectory() as folder:
        (first, seen), (second, again) = _process(python, folder), _process(python, folder)
    if seen != again:
        raise SystemExit("the second process has other results")
    return first, second


def main() -> None:
    """Prints the figures."""
    with tempfile.TemporaryDirectory() as folder:
        python = installed(folder)
        if "--experiments" in sys.argv[1:]:
            for name, clock, spent in experiments(python):
                minutes = f"{clock / 60:.1f} min, {spent / 60:.1f} min of processor time"
                print(f"jaxgait reproduce {name}: {minutes}", flush=True)
            return
        first, second = measured(python)
    print(f"first process: {first[0]:.2f} s, then at another rtol {first[1]:.2f} s")
    print(f"second process: {second[0]:.2f} s, then at another rtol {second[1]:.2f} s")


if __name__ == "__main__":
    main()
