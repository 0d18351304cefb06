"""The best gait of a search, judged once more with the model's own tolerances."""

import math
from typing import Any

import jax.numpy as jnp
import pytest

from jaxgait import optimize, with_parameters
from jaxgait.measure import Measure
from jaxgait.optimization import front
from jaxgait.optimization.conclusions import conclusions
from jaxgait.optimization.goals import Goal
from jaxgait.optimization.gradients import Task
from jaxgait.optimization.recheck import Finer
from jaxgait.optimization.space import Space
from jaxgait.solve.periodic import StroboscopicMap
from tests.optimization.oscillator import Oscillator


@pytest.mark.slow
def test_the_best_gait_is_judged_with_the_model_s_own_tolerances():
    """Coarse explicit steps amplify a weakly damped oscillation, so that its gait seems unstable."""
    coarse: dict[str, Any] = {"rtol": 1e-2, "atol": 1e-2, "max_step": 7.0, "stability": math.inf, "gradient": "gait"}
    weak = with_parameters(Oscillator(), {"c": 0.005})
    found = optimize(weak, maximize="power", over={"k": (1.2, 1.8)}, starts=1, method="SLSQP", **coarse)
    assert (again := found.reference) is not None and found.ends.multiplier[0] > 1.0
    assert again.rtol == 1e-8 and again.objective == pytest.approx(0.5 / 0.2**2, rel=1e-3)
    assert again.multiplier == pytest.approx(math.exp(-0.005 * math.pi))
    what = "with rtol=1e-08 instead of 0.01, the best gait has the largest Floquet multiplier 0.9844"
    assert again.disagreement.startswith(what) and again.disagreement in found.why_stopped[0]
    said = list(conclusions(found))
    assert again.disagreement in said and any("be unstable: largest Floquet multiplier 0.984" in text for text in said)


@pytest.mark.slow
def test_a_front_warns_of_gaits_that_are_unstable_with_the_model_s_own_tolerances():
    """Coarse implicit steps damp an oscillation that grows slowly."""
    growing = with_parameters(Oscillator(), {"c": -3e-4})
    coarse: dict[str, Any] = {"solver": "Rodas4", "rtol": 1e-2, "atol": 1e-2, "max_step": 7.0, "gradient": "gait"}
    task: dict[str, Any] = {"maximize": "power", "minimize": "excursion", "over": {"k": (1.5, 1.8)}}
    with pytest.warns(UserWarning, match="with rtol=1e-08 instead of 0.01, the gaits of 2 of 2 points of the front"):
        front(growing, **task, starts=1, points=2, iterations=3, **coarse)


def test_the_tolerance_that_is_coarser_is_named():
    model = Oscillator()
    task = Task(model, Space(model, {"k": (1.2, 1.8)}), Goal.of(model, "power"))
    finer = Finer.of(task._replace(run={"atol": 1e-3}))
    assert Finer.of(task) is None and finer.instead == "with atol=1e-10 instead of 0.001"


@pytest.mark.slow
def test_one_program_serves_all_tolerances_unless_code_branches_on_a_number():
    """Then it is compiled for the own numbers alone."""
    seen: list[str] = []

    def power(run):
        seen.append(type(run.sampling.duration).__name__)
        return jnp.mean(run.ys.v**2)

    def choosy(run):
        return power(run) if run.sampling.duration < 10.0 else 0.0 * run.ys.v[0]

    def best(function, rtol):
        asked: dict[str, Any] = {"duration": math.tau, "samples": 50, "rtol": rtol, "max_step": 1.0, "starts": 1}
        measure = measures.setdefault(function, Measure(function.__name__, function, "1", "mean square velocity"))
        asked |= {"return_map": StroboscopicMap(), "method": "SLSQP"}
        return optimize(Oscillator(), maximize=measure, over={"k": (1.2, 1.8)}, **asked).objective

    measures: dict[Any, Measure] = {}
    found = [best(power, rtol) for rtol in (1e-4, 1e-7)]
    assert len(seen) == 1 and len({*found}) == 2
    assert best(choosy, 1e-7) == pytest.approx(found[1], rel=1e-12)
    assert seen[-1] == "float"
