"""Robust searches whose runs are formulas: how far a point is from the centres of three scenarios."""

import numpy as np

from jaxgait.models.bungee import Bungee
from jaxgait.optimization.evaluate import Evaluated, Evaluator
from jaxgait.optimization.goals import Goal, at_least
from jaxgait.optimization.methods import SearchSettings
from jaxgait.optimization.scenarios import Robust, Scenarios
from jaxgait.optimization.search import Search
from jaxgait.optimization.space import Space
from jaxgait.outcome import Outcome

CENTRES = np.array([[0.1, 0.2], [0.9, 0.3], [0.4, 0.8]])
"""Of the scenarios' objectives: the worst squared distance is least at the centre of the circle through them."""
MIDDLE = [0.483333, 0.383333]
BOX = {"mass": (1.0, 2.0), "stiffness": (1.0, 2.0)}
"""The unit box, moved by one."""


class Distances(Evaluator):
    """Squared distance from each scenario's centre, and how far to the right a point is, more so in the second one."""

    name = "by formulas"

    def __init__(self, sign, limited, edge):
        self.sign, self.limited, self.edge = sign, limited, edge

    def __call__(self, searches, x):
        scenario = searches % len(CENTRES)
        away = x - CENTRES[scenario]
        values, slopes = -self.sign * (away**2).sum(axis=1)[:, None], -2.0 * self.sign * away[:, None]
        if self.limited:
            right = x[:, :1] + 0.1 * CENTRES[scenario, :1]
            values = np.concatenate([values, right], axis=1)
            slopes = np.concatenate([slopes, np.tile([[[1.0, 0.0]]], (len(x), 1, 1))], axis=1)
        failed = (scenario == 1) & (x[:, 0] > self.edge)
        status = np.where(failed, Outcome.MAX_STEPS, Outcome.COMPLETED)
        return Evaluated(np.where(failed[:, None], np.nan, values), slopes, status, np.full(len(x), np.nan))

    def shapes(self, x):
        return dict.fromkeys(("objective", "limited_0")[: 1 + self.limited], ())


def task(sign, limited=False):
    """The model, the goal and the scenarios."""
    model, nothing = Bungee(), lambda run: 0.0
    limits = (at_least("right", 0.7),) if limited else ()
    scenarios = Scenarios.of(model, {"ground": [40.0, 50.0, 60.0]}, "worst", None, sign, [])
    return model, scenarios.goal(Goal((nothing,) * (1 + limited), limits)), scenarios


def searched(
    sign=1.0, method="SLSQP", limited=False, edge=2.0, starts=((0.3, 0.3), (0.7, 0.6), (0.05, 0.9)), runs=Distances
):
    model, goal, scenarios = task(sign, limited)
    settings = SearchSettings(sign, goal, 40, 1e-8, 0.06, 0)
    evaluate = Robust(runs(sign, limited, edge), scenarios)
    return Search(model, Space(model, BOX), evaluate, method, settings, 1.0, None).optimum(np.array(starts), False)
