"""Joint timing of the jumper for height, under limits on peak force and angular momentum."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import diffrax
import equinox as eqx
import numpy as np

from jaxgait.model import Scalar
from jaxgait.models.jumper.human import Jumper
from jaxgait.models.jumper.swing import Swing, Turn
from jaxgait.optimization import Optimum, at_least, at_most, optimize
from jaxgait.optimization.evaluate import Boxed
from jaxgait.optimization.goals import Goal
from jaxgait.optimization.gradients import Task, evaluator_for
from jaxgait.optimization.space import Space
from jaxgait.parameters import get_parameter
from jaxgait.support.checks import by_name

TIMING = {
    "ankle.delay": (0.0, 0.2),
    "knee.delay": (0.0, 0.2),
    "hip.delay": (0.0, 0.2),
    "shoulder.delay": (0.0, 0.2),
    "ankle.duration": (0.15, 0.5),
    "knee.duration": (0.2, 0.5),
    "hip.duration": (0.2, 0.5),
    "shoulder.duration": (0.2, 0.5),
}
"""Parameters and their bounds in s; the elbow swings with the shoulder."""
SETTINGS: dict[str, Any] = {"samples": 600, "solver": diffrax.Tsit5(), "rtol": 1e-7, "atol": 1e-8}
"""Options of the runs: samples every millisecond."""
DEFAULT_STARTS = 8
"""Number of starts of `highest_jump`."""


class ArmSwinger(Jumper):
    """A jumper whose elbow swings with the shoulder: only the angle of `elbow` is used."""

    @classmethod
    def of(cls, jumper: Jumper) -> ArmSwinger:
        """The given jumper as an `ArmSwinger`."""
        return cls(**{f.name: getattr(jumper, f.name) for f in dataclasses.fields(jumper) if f.init})

    def jumper(self) -> Jumper:
        """The same motion as that of a `Jumper`, whose elbow has a delay and a duration of its own."""
        own: dict[str, Any] = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}
        own["elbow"] = self._elbow()
        return Jumper(**own)

    def joint_turns(self, t: Scalar) -> list[Turn]:
        """See `PlanarJumper.joint_turns`; time in s."""
        return Jumper.joint_turns(eqx.tree_at(lambda m: m.elbow, self, self._elbow()), t)

    def _elbow(self) -> Swing:
        return Swing(self.elbow.angle, self.shoulder.delay, self.shoulder.duration)


@by_name()
def highest_jump(
    model: Jumper,
    over: Mapping[str, tuple[float, float]] = TIMING,
    *,
    starts: int = DEFAULT_STARTS,
    iterations: int = 150,
    **search: Any,
) -> Optimum:
    """Maximises the jump height in m; peak force and angular momentum stay below those of the initial jumper.

    The peak force is a maximum over time: where another instant takes over, its derivative jumps and a search stops.
    Therefore there are several starts.

    Args:
        model: the first start of the search; its elbow is made to swing with the shoulder.
        over: parameters of the timing and their bounds in s.
        starts: number of starts.
        iterations: number of iterations of each search, which may take three times as many more from kinks.
        search: further arguments of `jaxgait.optimize`.

    Returns:
        The optimum; its model is an `ArmSwinger`, of which `jumper()` is the ordinary jumper.

    Raises:
        jaxgait.outcome.NoResult: if no jump that was evaluated meets the limits.
    """
    swinger = ArmSwinger.of(model)
    limits = lambda force, momentum: [
        at_most("peak_force", force),
        at_most("take_off_angular_momentum", momentum),
        at_least("take_off_angular_momentum", -momentum),
    ]
    space, goal = Space(swinger, over), Goal.of(swinger, "height", limits(0.0, 0.0))
    own = space.beginning_at(np.array([float(get_parameter(swinger, name)) for name in over]))  # within `over` or not
    first = np.zeros((1, len(over)))
    runs = SETTINGS | {name: search[name] for name in SETTINGS if name in search}
    evaluate = evaluator_for(Task(swinger, space, goal, runs), "run", first)  # the search's program
    assert isinstance(evaluate, Boxed)
    _, force, momentum, _ = evaluate.within(own)(np.zeros(1, int), first).values[0]  # the objective, then `limits`

    options: dict[str, Any] = {"tolerance": 1e-5, "gradient": "run"} | SETTINGS | search
    return optimize(
        swinger,
        maximize="height",
        over=over,
        subject_to=limits(force, abs(momentum)),
        starts=starts,
        iterations=iterations,
        **options,
    )
