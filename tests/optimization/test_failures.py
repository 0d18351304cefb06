"""Why a search has no result: what failed, which limit was missed, and that no gait is stable."""

import numpy as np
import pytest

from jaxgait.measure import Measure
from jaxgait.models import RollingWalker
from jaxgait.optimization import at_least
from jaxgait.optimization.evaluate import Evaluated
from jaxgait.optimization.failures import ENDS, OPTIMUM, POPULATION, no_result
from jaxgait.optimization.goals import Goal
from jaxgait.optimization.scenarios import Scenarios
from jaxgait.optimization.statuses import UNSTABLE
from jaxgait.outcome import FIRST_TERMINATION, Outcome
from tests.optimization.oscillator import Oscillator


def one(status=0, values=(1.0, 2.0), multiplier=np.nan):
    return Evaluated(np.array(values), np.zeros((2, 1)), np.int32(status), np.float64(multiplier))


@pytest.mark.parametrize(
    ("found", "wording", "message"),
    [
        (
            [one(Outcome.MAX_STEPS), one(UNSTABLE)],
            POPULATION,
            r"every trajectory failed \(the gait is not stable; gave up: the step limit .*\): try other bounds",
        ),
        ([one(values=(np.nan, 0.0))], OPTIMUM, "completed, but power is not a finite number at 1 of 1 points: longer"),
        ([one(values=(1.0, np.nan))], OPTIMUM, "but excursion is not a finite number at 1 of 1 points: longer runs"),
        ([one(Outcome.MAX_STEPS)], OPTIMUM, r"\): try other bounds or more starts"),
        ([one()._replace(slopes=np.full((2, 1), np.nan))], OPTIMUM, "no gradient is finite .* try gradient='differenc"),
        ([one()._replace(slopes=np.full((2, 1), np.nan))], ENDS, "try gradient='differences' or method='NSGA-II'"),
        (
            [one(), one(values=(0.0, 3.0))],
            OPTIMUM,
            "no start met the limits: nearest to excursion >= 4 was 3; loosen it.* starts",
        ),
        ([one(values=(0.0, 5.0), multiplier=1.5)], OPTIMUM, r"\(smallest multiplier 1.5\): .* with method='COBYQA'"),
        ([one(values=(0.0, 5.0), multiplier=0.95)], OPTIMUM, r"no gait stable enough was found .* multiplier 0\.95\)"),
        ([one(values=(0.0, 5.0), multiplier=1.5)], ENDS, "use more starts or other bounds; method='NSGA-II' also"),
    ],
)
def test_the_reason_and_what_to_try_are_named(found, wording, message):
    with pytest.raises(RuntimeError, match=message):
        raise no_result(Oscillator(), Goal.of(Oscillator(), "power", ["excursion >= 4"]), found, wording)


def test_all_limits_that_the_nearest_point_misses_are_named():
    goal = Goal.of(Oscillator(), "power", ["excursion >= 4", "excursion <= 2"])
    found = [one(values=(0.0, x, x)) for x in (1.0, 3.0, 5.0)]
    text = "nearest to excursion <= 2 was 3 and to excursion >= 4 was 3, each of which some point met, but none all"
    assert text in str(no_result(Oscillator(), goal, found, OPTIMUM))


def test_a_missed_limit_is_given_in_the_unit_of_its_measure():
    for unit, text in (("1/s", "nearest to rate >= 4 was 3 1/s;"), ("1", "nearest to rate >= 4 was 3;")):
        goal = Goal.of(Oscillator(), "power", [at_least(Measure("rate", lambda run: run.model.k, unit, ""), 4.0)])
        assert text in str(no_result(Oscillator(), goal, [one(values=(0.0, 3.0))], OPTIMUM))


def test_measures_for_early_ends_are_named_where_all_runs_end_early():
    fell = [one(FIRST_TERMINATION, values=(np.nan, 1.0))]
    why = str(no_result(RollingWalker(), Goal.of(Oscillator(), "power"), fell, POPULATION))
    assert why.endswith("(ended early: fell): try other bounds; measures with early=True are defined for early ends")


def test_the_scenario_that_failed_is_named():
    scenarios = Scenarios.of(Oscillator(), {"c": [0.5, 1.0]}, None, None, 1.0, ["k"])
    found = [one(values=(np.nan, 1.0, np.nan)), one(values=(np.nan, np.nan, np.nan)), one(values=(np.nan, 1.0, np.nan))]
    why = str(no_result(Oscillator(), scenarios.goal(Goal.of(Oscillator(), "power")), found, OPTIMUM))
    assert "not a finite number at 3 of 3 points; most often in the scenario c = 1, at 3 of 3 points: " in why


def test_unstable_gaits_are_judged_where_they_were_found():
    several = Evaluated.stacked([one(multiplier=1.0), one(multiplier=0.9), one(Outcome.MAX_STEPS, multiplier=1.5)])
    assert several.judged(1.0).status.tolist() == [UNSTABLE, 0, Outcome.MAX_STEPS]
    assert several.judged(1.0).at(0).status == UNSTABLE and several.at(slice(1, 3)).valid.tolist() == [True, False]
