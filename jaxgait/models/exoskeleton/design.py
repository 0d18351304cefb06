"""The free numbers of the exoskeleton's gait chosen by optimisation: least positive work per metre at the same speed.

The paper leaves j, f, T and eps to "the synthesis of an anthropomorphic periodic gait". Periodicity (steps join without
a jump) is built into the parametrisation by `joined_amplitudes`; what remains are six numbers and inequalities.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxgait import precision
from jaxgait.models.exoskeleton.measures import Step, step_figures
from jaxgait.models.exoskeleton.model import Exoskeleton, five_links
from jaxgait.models.exoskeleton.walking import joined_amplitudes
from jaxgait.optimization.constrained import constrained_search
from jaxgait.parameters import with_parameters
from jaxgait.precision import float64_default

__all__ = ["CLEARANCE", "HIGH", "LOW", "NAMES", "START", "UNITS", "BetterGait", "least_work", "margins", "with_gait"]

NAMES = ("amplitude A", "f_1", "f_2 = f_3", "f_4", "stride time T", "stretch eps")
UNITS = ("rad", "rad", "rad", "rad", "s", "1")
START = np.array([0.28, np.pi / 2, 0.3, 0.45, 1.8, 0.03])
"""Our example."""
LOW = np.array([0.10, 1.0, 0.05, 0.15, 0.8, -0.10])
HIGH = np.array([0.45, 2.1, 0.80, 1.40, 3.0, 0.10])
FEASIBLE = 1e-8
"""By how much a margin may be missed."""
ROUNDING = 1.5
"""Power in W over which the search rounds the kink of positive work, so that its steps do not stall there."""
CLEARANCE = 0.01
"""Height in m that the swing foot keeps in the middle half of the step."""


class BetterGait(NamedTuple):
    """What the search found."""

    numbers: np.ndarray
    """The six numbers, in `UNITS`."""
    before: Step
    after: Step
    iterations: int
    """Of all starts."""


@float64_default
def with_gait(p: Float[Array, " six"]) -> Exoskeleton:
    """The exoskeleton of five links with the gait of six numbers: `NAMES`, in `UNITS` (rad, s, no dimension)."""
    phase = jnp.stack([p[1], p[2], p[2], p[3], 0.0 * p[3]])
    changes = {
        "gait.amplitude": joined_amplitudes(p[0], phase),
        "gait.phase": phase,
        "gait.stride_time": p[4],
        "gait.stretch": p[5],
    }
    return with_parameters(five_links(mode="gait"), changes)


@float64_default
def margins(step: Step, speed: float) -> Float[Array, " margins"]:
    """What must not be negative of a step, scaled to order one, for no less than a speed in m/s.

    Ten times the height of the foot in m and, in the middle half of the step, above `CLEARANCE`; knee flexion in rad;
    what is left of a friction of 0.6 and of a vertical reaction of 100 N (in 500 N); speed in m/s.
    """
    n = step.foot.shape[0]
    return jnp.concatenate(
        [
            10 * step.foot[:, 2],
            10 * (step.foot[n // 4 : n - n // 4, 2] - CLEARANCE),
            step.flexion.reshape(-1),
            jnp.stack([0.6 - step.friction, step.lift / 500.0 - 0.2, step.speed - speed]),
        ]
    )


def least_work(starts: int = 4, *, steps: int = 80, samples: int = 200) -> BetterGait:
    """Searches the gait of least positive work of all actuators per metre, no slower than our example.

    Args:
        starts: the example and gaits around it.
        steps: of each search, at most.
        samples: of a step; a search at fewer than those by which it is judged misses the margins between them.

    Raises:
        RuntimeError: no search ended within its limits.
    """
    with precision.use("float64"):
        figures = jax.jit(lambda p: step_figures(with_gait(p), samples=samples))
        before = figures(jnp.asarray(START))
        speed = float(before.speed)

        def values(p: jax.Array) -> jax.Array:
            step = step_figures(with_gait(p), samples=samples, rounding=ROUNDING)
            return jnp.concatenate([step.work_per_metre[None] / 100.0, margins(step, speed)])

        box = list(zip(LOW, HIGH, strict=True))
        runs = [constrained_search(values, p, box, steps=steps, tolerance=1e-7) for p in _starts(starts)]
        allowed = [run for run in runs if run.end.slack.min() > -FEASIBLE]
        if not allowed:
            raise RuntimeError("no search ended within its limits: allow more steps or more starts")
        best = min(allowed, key=lambda run: run.end.objective).end.x
        return BetterGait(best, before, figures(jnp.asarray(best)), sum(run.steps for run in runs))


def _starts(count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    around = [
        np.clip(START + 0.25 * rng.uniform(-1, 1, START.size) * (HIGH - LOW), LOW, HIGH) for _ in range(count - 1)
    ]
    return [START, *around]
