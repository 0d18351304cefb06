"""The free numbers of the exoskeleton's gait, optimised for least positive work per metre at the same speed.

The paper leaves j, f, T and eps to "the synthesis of an anthropomorphic periodic gait". `JoinedGait` is periodic by
construction; six numbers remain, and limits, most of which apply throughout a step. The motion is prescribed: nothing
is integrated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float

from jaxgait import precision
from jaxgait.ensembles.spacing import Spacing
from jaxgait.ensembles.validity import accepted
from jaxgait.measure import Measure
from jaxgait.models.exoskeleton.measures import StepFigures, figures_of, step_figures
from jaxgait.models.exoskeleton.model import Exoskeleton, five_links
from jaxgait.models.exoskeleton.walking import JoinedGait
from jaxgait.optimization import Optimum, at_least, at_most, optimize
from jaxgait.parameters import get_parameter
from jaxgait.precision import float64_default
from jaxgait.run import Run
from jaxgait.support.checks import by_name

BOUNDS = {
    "gait.swing": (0.10, 0.45),
    "gait.stance_shank": (1.0, 2.1),
    "gait.thighs": (0.05, 0.80),
    "gait.swing_shank": (0.15, 1.40),
    "gait.stride_time": (0.8, 3.0),
    "gait.stretch": (-0.10, 0.10),
}
"""Bounds of the search, in rad and s; the stretch has no dimension."""
KINK_POWER = 1.5
"""Smoothing width in W of max(power, 0), whose kink would stall the search."""
MIN_CLEARANCE = 0.01
"""Least height in m of the swing foot in the middle half of the step."""
MAX_FRICTION = 0.6
"""Largest ratio of horizontal to vertical ground reaction."""
MIN_REACTION = 100.0
"""Least vertical ground reaction in N."""
START_SPREAD = 0.25
"""Largest distance of the other starts from the first one, as a fraction of the box."""
DRAWS = 8
"""Points that are drawn for each start, not all of which are gaits of a leg."""


@float64_default
def example() -> Exoskeleton:
    """The exoskeleton of five links with our example gait, given by its six free numbers."""
    return five_links(mode="gait", gait=JoinedGait())


def _rounded(run: Run) -> StepFigures:
    """Figures of the prescribed step, with rounded work."""
    return figures_of(run, KINK_POWER)


def _of_rounded(name: str, read: Callable[[StepFigures], Array], unit: str, long_name: str, *dims: str) -> Measure:
    return Measure(name, lambda run: read(run.once(_rounded)), unit, long_name, dims=dims)


def _middle(foot: Float[Array, "samples d"]) -> Float[Array, " half"]:
    n = foot.shape[0]
    return foot[n // 4 : n - n // 4, -1]


WORK = _of_rounded(
    "rounded_work_per_metre",
    lambda step: step.work_per_metre,
    "J/m",
    "positive work over the step length, its kink rounded",
)
"""Some percent more than the exact one, for the search alone: see `KINK_POWER`."""
FOOT = _of_rounded("foot_height", lambda step: step.foot[:, -1], "m", "height of the swing foot", "phase")
MIDDLE = _of_rounded("mid_swing_height", lambda step: _middle(step.foot), "m", "the same in the middle half", "middle")
FLEXION = _of_rounded("knee_flexion", lambda step: step.flexion, "rad", "knee flexion, both legs", "phase", "leg")
REACTION_RATIO = _of_rounded(
    "reaction_ratio", lambda step: step.friction, "1", "largest ratio of horizontal to vertical ground reaction"
)
"""The measure `required_friction` where that has a value, and a number for negative reactions, too, so that the search
finds its way back from these; see `MIN_REACTION`."""


@by_name()
def least_work(
    model: Exoskeleton | None = None,
    over: Mapping[str, tuple[float, float]] = BOUNDS,
    *,
    starts: int = 4,
    iterations: int = 80,
    samples: int = 200,
    **search: Any,
) -> Optimum:
    """Finds the gait with the least positive work of all actuators per metre that is no slower than the initial gait.

    The swing foot stays above the ground, and `MIN_CLEARANCE` above it in mid-swing; no knee is hyperextended; a
    friction coefficient of `MAX_FRICTION` suffices, and the vertical ground reaction is at least `MIN_REACTION`.

    The objective is `WORK`, with the kink at zero power rounded; the exact work is that of `measures.step_figures`.

    Args:
        model: the start of the search, with a `JoinedGait`; `example()` if None.
        over: parameters and their bounds, in the units of the parameters.
        starts: number of starts, the gait itself and others around it.
        iterations: largest number of iterations of each search.
        samples: samples of a step, of which at least `measures.MIN_SAMPLES` are taken; limits may be missed between few
            of them.
        search: further arguments of `jaxgait.optimize`.

    Raises:
        jaxgait.outcome.NoResult: no search ended within its limits.
    """
    model = example() if model is None else model
    with precision.use("float64"):
        speed = float(jax.jit(lambda exo: step_figures(exo, samples=samples).speed)(precision.cast(model)))
    limits = [
        at_least(FOOT, 0.0),
        at_least(MIDDLE, MIN_CLEARANCE),
        at_least(FLEXION, 0.0),
        at_most(REACTION_RATIO, MAX_FRICTION),
        at_least("least_lift", MIN_REACTION),
        at_least("speed", speed),
    ]
    options: dict[str, Any] = {"tolerance": 1e-7, "gradient": "run", "scheme": "Prescribed"} | search
    return optimize(
        model,
        minimize=WORK,
        over=over,
        subject_to=limits,
        starts=_starts(model, over, starts),
        iterations=iterations,
        samples=samples,
        **options,
    )


def _starts(exo: Exoskeleton, over: Mapping[str, tuple[float, float]], count: int) -> list[dict[str, float]]:
    """The gait itself and valid ones around it, which may be fewer than asked for."""
    own = np.array([float(get_parameter(exo, name)) for name in over])
    spacing, rng = Spacing.of(list(over.values())), np.random.default_rng(0)
    around = spacing.unit(own) + START_SPREAD * rng.uniform(-1.0, 1.0, (DRAWS * count, own.size))
    around = spacing(np.clip(around, 0.0, 1.0))
    valid = around[accepted(exo, dict(zip(over, around.T, strict=True)))]
    return [dict(zip(over, x.tolist(), strict=True)) for x in (own, *valid[: count - 1])]
