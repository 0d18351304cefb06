"""Cost of derivatives by many parameters: in groups, as `ensemble` computes them, over all of them together.

`python -m experiments.benchmarks.many` runs knees with derivatives of rho by parameters that can change and prints
processor times: the second of each pair compiles nothing. It takes ten minutes of processor time.
"""

from __future__ import annotations

import time
from unittest import mock

import numpy as np

from jaxgait import Prosthesis, ensemble, with_parameters
from jaxgait.ensembles import batch
from jaxgait.optimization.local_sensitivity import differentiable

MEMBERS, STRIDES = 8, 20


def seconds(names: list[str], together: int) -> tuple[float, float]:
    """Processor times in s of a first and a second ensemble, with up to `together` derivatives beside one run."""
    knee = with_parameters(Prosthesis(), {"ground.steepness": 1e4})
    members = {"damper.k": np.linspace(1.7e4, 2.2e4, MEMBERS)}
    found = []
    with mock.patch.object(batch, "DIRECTIONS_TOGETHER", together):
        for _ in range(2):
            begin = time.process_time()
            ensemble(knee, members, strides=STRIDES, observe=["rho"], gradient=names, progress=False)
            found.append(time.process_time() - begin)
    return found[0], found[1]


def main() -> None:
    """Prints the table."""
    names, _ = differentiable(Prosthesis(), None)
    groups = f"in groups of {batch.DIRECTIONS_PER_LANE}"
    print(f"{MEMBERS} knees, {STRIDES} strides; processor time in s of a first and of a second run")
    print("| derivatives | how | first | second |")
    print("| --- | --- | --- | --- |")
    for count in (1, 8, 12, len(names)):
        for chosen, together, how in (
            (names[:count], 8, groups),
            (names[count - 1 :: -1], count, "all beside one run"),
        ):
            if count > 8 or together == count:  # (the other order of the names is another program)
                first, second = seconds(chosen, together)
                print(f"| {count} | {how} | {first:.1f} | {second:.2f} |", flush=True)


if __name__ == "__main__":
    main()
