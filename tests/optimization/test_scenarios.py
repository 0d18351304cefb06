"""Robust designs: a rope for jumpers of several masses, an oscillator with several dampers, impossible requests."""

import numpy as np
import pytest
import xarray as xr

from jaxgait import ensemble, product, with_parameters
from jaxgait.ensembles import grid, single_strides, zipped
from jaxgait.models.bungee import Bungee
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.motion.capture.walk import measure
from jaxgait.motion.record import walk_record, write_record
from jaxgait.motion.recording import Recording
from jaxgait.optimization import optimize
from jaxgait.optimization.evaluate import BatchedProgram, Evaluated, Evaluator, Extra
from jaxgait.optimization.goals import Goal, at_least
from jaxgait.optimization.gradients import Task, _gaits_missing, evaluator_for
from jaxgait.optimization.methods import SearchSettings
from jaxgait.optimization.scenarios import Robust, Scenarios
from jaxgait.optimization.search import Search
from jaxgait.optimization.space import Space
from jaxgait.outcome import Outcome
from tests.motion import walker
from tests.optimization.oscillator import Oscillator, amplitude

MASSES = {"mass": [60.0, 75.0, 90.0]}
JUST_SAFE = 37.06389392
"""Stiffness in N/m at which a jumper of 90 kg just clears the ground: `bungee.measures.critical_value`."""
ROPE = {"minimize": "peak_rope_force", "over": {"stiffness": (15.0, 60.0)}, "subject_to": "clearance >= 0"}
DAMPERS = [0.4, 0.8, 1.2]
SWINGS = {
    "maximize": "excursion",
    "over": {"k": (1.2, 2.5)},
    "subject_to": ["excursion <= 1.6"],
    "starts": 2,
    "across": {"c": DAMPERS},
    "progress": False,
}
QUICK = {"duration": 12.0, "starts": 1, "progress": False}


@pytest.mark.slow
def test_the_heaviest_governs_the_worst_case():
    found = optimize(Bungee(), **ROPE, across=MASSES, robust="worst", **QUICK)
    assert found.best["stiffness"] == pytest.approx(JUST_SAFE, rel=1e-6)
    assert found.scenarios.weight.sel(mass=90.0) == pytest.approx(1.0)
    assert found.objective == pytest.approx(float(found.scenarios.objective.max()))
    assert -1e-7 < found.limits["clearance >= 0 at mass = 90"] < 1e-5 < found.limits["clearance >= 0 at mass = 75"]
    assert found.model.mass == 70.0 and found.local is None
    assert found.gradient == "through the whole run, since Bungee is not driven with a period; worst of 3 scenarios"


@pytest.mark.slow
def test_the_expected_value_is_that_of_the_single_jumps_whatever_their_order():
    weights = np.array([1.0, 2.0, 5.0])
    found = optimize(Bungee(), **ROPE, across=MASSES, weights=weights, **QUICK)
    rope = with_parameters(Bungee(), found.best)
    goal = Goal.of(rope, ROPE["minimize"], [ROPE["subject_to"]])
    single = BatchedProgram(rope, goal, ("stiffness",), {"duration": 12.0}, {})
    alone = single({"stiffness": np.full(3, rope.stiffness), "mass": np.array(MASSES["mass"])})
    np.testing.assert_allclose(found.scenarios.objective, alone["objective"], rtol=1e-9)
    np.testing.assert_allclose(found.scenarios.limited_0, alone["limited_0"], atol=1e-7)
    assert found.objective == pytest.approx(float(alone["objective"] @ (weights / 8.0)), rel=1e-9)
    assert found.local.active == ("clearance >= 0 at mass = 90",)
    other = zipped({"mass": [90.0, 60.0, 75.0]})
    again = optimize(Bungee(), **ROPE, across=other, weights=[5.0, 1.0, 2.0], robust="mean", **QUICK)
    assert again.best["stiffness"] == pytest.approx(found.best["stiffness"], rel=1e-9)
    assert again.scenarios.scenario.values.tolist() == ["mass = 90", "mass = 60", "mass = 75"]


@pytest.mark.slow
@pytest.mark.parametrize("worst", [True, False])
def test_slopes_over_all_scenarios_are_those_of_differences(worst):
    model, step = Oscillator(), 1e-3
    space, goal = Space(model, SWINGS["over"]), Goal.of(model, SWINGS["maximize"], SWINGS["subject_to"])
    scenarios = Scenarios.of(model, SWINGS["across"], "worst" if worst else "mean", None, 1.0, ["k"])
    x = np.array([[0.3], [0.3 - step], [0.3 + step]])
    found = evaluator_for(Task(model, space, goal, scenarios=scenarios), "gait", x)(np.arange(3), x)
    assert found.values.shape == (3, 7) and found.slopes.shape == (3, 7, 1) and found.valid.all()
    each = [amplitude(1.59, c) for c in DAMPERS]
    assert found.values[0] == pytest.approx([min(each) if worst else np.mean(each), *each, *each], rel=1e-6)
    differences = (found.values[2] - found.values[1]) / (2.0 * step)
    np.testing.assert_allclose(found.slopes[0, :, 0], differences, rtol=1e-4)


@pytest.mark.slow
def test_gaits_are_solved_for_in_every_scenario_and_a_search_is_continued(tmp_path):
    """The mean amplitude over three dampers, at the least stiffness at which the least damped keeps a limit."""
    file = tmp_path / "search.jsonl"
    found = optimize(Oscillator(), **SWINGS, checkpoint=file)
    k = 1.0 + np.sqrt(1.6**-2 - DAMPERS[0] ** 2)
    assert found.gradient.startswith("through the periodic gait") and found.best["k"] == pytest.approx(k, rel=1e-6)
    np.testing.assert_allclose(found.scenarios.objective, [amplitude(k, c) for c in DAMPERS], rtol=1e-6)
    slopes = [-(k - 1.0) * amplitude(k, c) ** 3 for c in DAMPERS]
    gain = found.local.multipliers["excursion <= 1.6 at c = 0.4"]
    assert gain == pytest.approx(np.mean(slopes) / slopes[0], rel=1e-4)
    assert found.history.multiplier.values[0, 0] == pytest.approx(np.exp(-0.4 * np.pi), rel=1e-5)
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:3]))
    again = optimize(Oscillator(), **SWINGS, checkpoint=file)
    assert again.best == found.best and again.history.equals(found.history)
    with pytest.raises(ValueError, match="checkpoint of another search: limits, scenarios"):
        optimize(Oscillator(), **SWINGS | {"across": {"c": [0.4, 0.8, 1.3]}}, checkpoint=file)


ONE_BURSTS = {"c": [-150.0, 0.8]}
"""With the first damping a swing grows beyond all numbers within one stride, whatever the stiffness."""


@pytest.mark.slow
def test_which_scenario_has_no_gait_is_said():
    model = Oscillator()
    space, goal = Space(model, {"k": (0.5, 2.5)}), Goal.of(model, SWINGS["maximize"], SWINGS["subject_to"])

    def by(across, *k):
        x = (np.array(k)[:, None] - 0.5) / 2.0
        scenarios = Scenarios.of(model, across, "mean", None, 1.0, ["k"])
        return evaluator_for(Task(model, space, goal, scenarios=scenarios), "auto", x)

    assert by(ONE_BURSTS, 1.0, 1.5).name == (
        "through the whole run, since no start has a periodic gait in every scenario "
        "(c = -150 has none from 2 of 2 starts); mean of 2 scenarios"
    )
    assert "since no periodic gait was found from any start" in by({"c": [-150.0]}, 1.0).name


def test_gaits_without_derivatives_are_not_said_to_be_missing():
    """Neither in every one of a single scenario, nor without scenarios."""
    one = Scenarios.of(Oscillator(), {"c": [0.8]}, "mean", None, 1.0, ["k"])
    for scenarios, values in ((None, np.ones((2, 2))), (one, np.ones((2, 3)))):
        assert _gaits_missing(values, scenarios) == "the periodic gaits that were found have no finite derivatives"
        assert _gaits_missing(np.nan * values, scenarios) == "no periodic gait was found from any start"


def test_the_scenario_in_which_a_start_fails_is_reported():
    """The squared distance from c; no run is completed beyond k = 2 c."""

    class Hollows(Evaluator):
        name = "of hollows"

        def __call__(self, searches, x):
            c, k = Extra.of(scenarios.members)(searches)["c"], 0.5 + 2.0 * x[:, 0]
            values, slopes = -((k - c) ** 2), -4.0 * (k - c)
            status = np.where(k > 2.0 * c, Outcome.NOT_CONVERGED, Outcome.COMPLETED)
            return Evaluated(values[:, None], slopes[:, None, None], status, np.full(len(x), np.nan))

        def shapes(self, x):
            return {"objective": ()}

    model = Oscillator()
    scenarios = Scenarios.of(model, {"c": [1.5, 0.8]}, "mean", None, 1.0, ["k"])
    settings = SearchSettings(1.0, scenarios.goal(Goal.of(model, "excursion")), 20, 1e-8, 0.1, 0)
    search = Search(model, Space(model, {"k": (0.5, 2.5)}), Robust(Hollows(), scenarios), "SLSQP", settings, 1.0, None)
    found = search.optimum(np.array([[0.1], [0.9]]), False)
    assert found.best["k"] == pytest.approx(1.15, rel=1e-4)
    assert found.why_stopped[1].startswith("the run at its start failed: ")
    assert found.why_stopped[1].endswith(" (c = 0.8: 1 of 2 scenarios have no result)")


@pytest.mark.slow
def test_a_knee_is_tuned_for_the_single_strides_of_a_walk(tmp_path):
    """The best damper for the worst of a person's strides: the search's value of each stride is that of its walk."""
    w = walker.walker(duration=5.0, seed=2)
    walk = measure([Recording("jo", "jo.trc", w.rate, w.time, markers=w.markers)], mass=walker.MASS)
    write_record(walk_record(walk, 6), tmp_path / "jo.json")
    soft = lambda leg: with_parameters(leg, {"ground.steepness": 1e4})
    leg, steps = single_strides(Prosthesis(), str(tmp_path / "jo.json"), then=soft)
    over = {"damper.k": (1.2e4, 3.6e4), "damper.c": (400.0, 2400.0)}
    request = {"maximize": "rho", "over": over, "across": steps, "robust": "worst", "rtol": 1e-5, "progress": False}
    found = optimize(leg, **request, starts=[{"damper.k": 2.4e4, "damper.c": 1400.0}], iterations=6)
    assert found.scenarios.objective.dims == ("stride",) and found.scenarios.sizes["stride"] == steps.size
    assert found.gradient.startswith("through the periodic gait")
    assert f"worst of {steps.size} scenarios" in found.gradient
    assert found.objective == pytest.approx(float(found.scenarios.objective.min()))
    assert found.objective > found.history.objective.values[0, 0] + 1e-4
    walks = ensemble(found.model, steps, strides=40, rtol=1e-5, observe=["rho"], progress=False)  # not yet after 20
    np.testing.assert_allclose(walks.rho, found.scenarios.objective, atol=2e-4)


def test_scenarios_have_names():
    model = Bungee()
    named = lambda members: Scenarios.of(model, members, None, None, 1.0, []).names
    both = product(grid({"mass": [60.0, 90.0]}), zipped({"ground": [40.0, 50.0], "linear_drag": [1.0, 2.0]}))
    assert named(both)[1] == "mass = 60, ground = 50, linear_drag = 2"
    assert named({"mass": xr.DataArray([6e4, 9e4], attrs={"units": "g"})}) == ["mass = 60", "mass = 90"]
    assert named({"mass": [60.0, 60.0]}) == ["scenario 0", "scenario 1"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"across": {"stiffness": [20.0]}}, "'stiffness' is in `across` and also in `over` or `initial`"),
        ({"across": {"initial.v": [0.0]}, "initial": {"v": 1.0}}, "'initial.v' is in `across` and also in `over`"),
        (
            {"across": MASSES, "continue_in": {"mass": [60.0, 70.0]}},
            "mass is searched over or in `across`: continue_in",
        ),
        ({"across": {"mas": [60.0]}}, "mass"),
        ({"across": {"mass": [-60.0]}}, "positive"),
        ({"across": {}}, "an ensemble needs at least one parameter"),
        ({"across": MASSES, "robust": "median"}, "robust must be 'mean' or 'worst'"),
        ({"robust": "worst"}, "robust needs scenarios: give across="),
        ({"weights": [1.0]}, "weights needs scenarios: give across="),
        ({"across": MASSES, "weights": [1.0, 2.0]}, "weights must be 3 positive numbers, one per scenario"),
        ({"across": MASSES, "weights": [1.0, 0.0, 2.0]}, "weights must be 3 positive numbers"),
        ({"across": MASSES, "weights": [1.0, 1.0, 2.0], "robust": "worst"}, "weights belong to robust='mean'"),
    ],
)
def test_impossible_requests_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        optimize(Bungee(), **ROPE, **changes)


def test_every_element_of_a_limited_array_is_limited_in_every_scenario():
    goal = Goal((lambda run: 0.0, lambda run: [0.0, 0.0]), (at_least("right", 0.5),), (2,))
    there = Scenarios.of(Bungee(), {"ground": [40.0, 50.0]}, "mean", None, 1.0, []).goal(goal)
    assert list(map(str, there.limits)) == [
        "right[0] >= 0.5 at ground = 40",
        "right[0] >= 0.5 at ground = 50",
        "right[1] >= 0.5 at ground = 40",
        "right[1] >= 0.5 at ground = 50",
    ]
    values = np.array([1.0, 0.6, 0.7, 0.8, 0.2, 3.0, 4.0])
    np.testing.assert_allclose(there.slack(values), [0.2, 0.4, 0.6, -0.6], rtol=1e-12)
    np.testing.assert_array_equal(there.each(values), [3.0, 4.0])
