"""How long a knee ensemble takes to its first result: with an empty cache, in the next process, at another rtol.

    python -m experiments.benchmarks.start

Processor time in s of a fresh Python after its imports; every process runs 16 members over 3 strides and reads off rho.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

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


def _process(folder: str) -> tuple[list[float], list[list[float]]]:
    env = os.environ | {"JAXGAIT_CACHE": folder}
    env.pop("JAX_COMPILATION_CACHE_DIR", None)
    done = subprocess.run([sys.executable, "-c", RUN], env=env, check=True, capture_output=True, text=True)
    return tuple(json.loads(done.stdout.splitlines()[-1]))


def measured() -> tuple[list[float], list[float]]:
    """Seconds of the first and of the second process: to the first result, then to one at another rtol.

    Raises:
        SystemExit: where the second process has other results.
    """
    with tempfile.TemporaryDirectory() as folder:
        (first, seen), (second, again) = _process(folder), _process(folder)
    if seen != again:
        raise SystemExit("the second process has other results")
    return first, second


def main() -> None:
    """Prints the figures."""
    first, second = measured()
    print(f"first process: {first[0]:.2f} s, then at another rtol {first[1]:.2f} s")
    print(f"second process: {second[0]:.2f} s, then at another rtol {second[1]:.2f} s")


if __name__ == "__main__":
    main()
