"""Searches over the gait of a return map: a bouncing ball with a kick, whose gaits are known in closed form."""

from typing import Any

import jax
import numpy as np
import pytest

from jaxgait import RollingWalker, optimize, precision, simulate, with_parameters
from jaxgait.kinds import Transition
from jaxgait.models.walker import rolling_gait
from jaxgait.optimization import front, sensitivities
from jaxgait.outcome import NoResult
from jaxgait.solve.periodic import Coordinates, PoincareMap, StroboscopicMap
from tests.optimization.kicked import BOUNCE, G, Kicked
from tests.optimization.oscillator import Oscillator

TASK: dict[str, Any] = {"minimize": "bounce_time", "return_map": BOUNCE, "samples": 10}


@pytest.mark.slow
def test_values_and_slopes_are_those_of_the_gait_without_the_transient():
    found = sensitivities(Kicked(), **TASK, subject_to="highest <= 2")
    e, kick = 0.6, 2.0
    v = kick / (1.0 - e)
    assert found.attrs["gradient"] == "through the periodic gait (implicit differentiation)" and not found.attrs["lost"]
    np.testing.assert_allclose(found.result, [2.0 * v / G, v**2 / (2.0 * G)], rtol=1e-9)
    by_speed = np.array([2.0 / G, v / G])
    np.testing.assert_allclose(found.slope.sel(parameter="e"), by_speed * kick / (1.0 - e) ** 2, rtol=1e-9)
    np.testing.assert_allclose(found.slope.sel(parameter="kick"), by_speed / (1.0 - e), rtol=1e-9)
    np.testing.assert_allclose(found.difference, found.change, rtol=1e-3)


@pytest.mark.slow
def test_the_best_gait_is_the_start_of_a_run():
    over = {"e": (0.5, 0.8), "kick": (1.0, 3.0)}
    found = optimize(Kicked(), **TASK, over=over, subject_to="highest >= 0.8", starts=2)
    v = np.sqrt(2.0 * G * 0.8)
    assert found.objective == pytest.approx(2.0 * v / G, rel=1e-7) and found.method == "SLSQP"
    np.testing.assert_allclose(found.gait, [v], rtol=1e-7)
    assert found.best["kick"] / (1.0 - found.best["e"]) == pytest.approx(v, rel=1e-7)
    np.testing.assert_allclose(found.ends.multiplier, found.ends.e, rtol=1e-7)
    run = simulate(found.model, duration=5.0, initial_state=BOUNCE.start(found.model, found.gait))
    np.testing.assert_allclose(run.event_time.diff("event"), found.objective, rtol=1e-6)


@pytest.mark.slow
def test_a_gait_is_judged_whether_it_is_stable_or_not():
    unstable = with_parameters(Kicked(), {"e": 1.2, "kick": -1.0})  # v = 5 m/s, and every other speed moves away
    search = TASK | {"over": {"kick": (-1.1, -0.9)}, "starts": 1, "duration": 4.5}
    with pytest.raises(NoResult):
        optimize(unstable, **search, gait=np.array([5.1]))
    found = optimize(unstable, **search, gait=np.array([5.1]), stability=1.5)
    assert found.best["kick"] == pytest.approx(-0.9) and found.ends.multiplier.item() == pytest.approx(1.2, rel=1e-9)
    np.testing.assert_allclose(found.gait, [4.5], rtol=1e-9)


@pytest.mark.slow
def test_methods_without_gradients_and_fronts_judge_gaits_too():
    found = optimize(Kicked(), **TASK, over={"kick": (1.0, 3.0)}, method="COBYQA", starts=1)
    assert found.objective == pytest.approx(2.0 * 2.5 / G, rel=1e-6)  # v = 1 / 0.4
    both = {"maximize": "highest", "minimize": "bounce_time", "over": {"kick": (1.0, 3.0)}, "return_map": BOUNCE}
    made = front(Kicked(), **both, points=3, starts=1, samples=10)
    np.testing.assert_allclose(made.highest, (made.kick / 0.4) ** 2 / (2.0 * G), rtol=1e-6)
    np.testing.assert_allclose(made.bounce_time, 2.0 * made.kick / 0.4 / G, rtol=1e-6)


@pytest.mark.slow
def test_the_gait_of_the_best_of_a_population_is_its_own():
    """x = ((k - 1) cos t + c sin t) / ((k - 1)^2 + c^2)"""
    task: dict[str, Any] = {"maximize": "power", "return_map": StroboscopicMap(), "strides": 1, "samples": 50}
    found = optimize(Oscillator(), **task, over={"k": (0.5, 3.8)}, method="CMA-ES", iterations=2, starts=1, seed=1)
    k, c = found.best["k"], 0.6
    np.testing.assert_allclose(found.gait, np.array([k - 1.0, c]) / ((k - 1.0) ** 2 + c**2), rtol=1e-6)


@pytest.mark.slow
def test_scenarios_have_gaits_of_their_own():
    found = sensitivities(Kicked(), **TASK, by=["kick"], across={"e": [0.5, 0.6]}, gait=np.array([[4.1], [5.1]]))
    assert found.result.item(0) == pytest.approx(np.mean([2.0 * 2.0 / (1.0 - e) / G for e in (0.5, 0.6)]), rel=1e-9)


@pytest.mark.slow
def test_over_a_period_it_is_the_gait_of_a_driven_model():
    request = {"maximize": "power", "by": ["k", "c"]}
    own, mapped = (
        sensitivities(Oscillator(), **request, **more)
        for more in ({"gradient": "gait"}, {"return_map": StroboscopicMap(), "strides": 1})
    )
    np.testing.assert_allclose(mapped.slope, own.slope, rtol=1e-9)


@pytest.mark.slow
def test_the_gait_of_a_walker_has_the_derivatives_of_its_own_search():
    over = {"slope": (0.009, 0.011), "foot_radius": (0.09, 0.11)}
    found = sensitivities(
        RollingWalker(), maximize="velocity", by=list(over), return_map=PoincareMap(), duration=4.0, samples=1
    )
    velocity = lambda name: lambda x: rolling_gait(with_parameters(RollingWalker(), {name: x})).velocity
    with precision.use("float64"):
        slopes = {name: float(jax.jacfwd(velocity(name))(float(getattr(RollingWalker(), name)))) for name in over}
    for name, slope in slopes.items():
        assert found.slope.sel(parameter=name).item() == pytest.approx(slope, rel=1e-6)


def test_impossible_requests_are_errors():
    search = TASK | {"over": {"kick": (1.0, 3.0)}}
    with pytest.raises(TypeError, match="return_map"):
        optimize(Kicked(), **search | {"return_map": lambda model, z: z})
    with pytest.raises(ValueError, match="with return_map, the gradient is that of its gait: leave out gradient='run'"):
        optimize(Kicked(), **search, gradient="run")
    with pytest.raises(ValueError, match="no gait of a return_map can be searched for: components of the"):
        optimize(Kicked(), **search, initial={"z": 2.0})
    with pytest.raises(ValueError, match="a gait is the first guess for gradient='gait' or a return_map, got"):
        optimize(Kicked(), **{**search, "return_map": None}, gait=np.array([5.0]))
    with pytest.raises(ValueError, match=r"gait must be finite numbers of the shape \(1,\)"):
        optimize(Kicked(), **search, gait=np.array([5.0, 1.0]))
    with pytest.raises(ValueError, match="section must be a transition"):
        optimize(Kicked(), **search | {"return_map": PoincareMap(section="apex")})


@pytest.mark.slow
def test_a_checkpoint_belongs_to_one_map(tmp_path):
    search = TASK | {"over": {"kick": (1.0, 3.0)}, "starts": 1, "checkpoint": tmp_path / "search"}
    first = optimize(Kicked(), **search)
    again = optimize(Kicked(), **search)
    assert again.best == first.best
    speed = Coordinates(lambda model, z: model.on_section(z), lambda model, y: model.section(y))
    for other in (PoincareMap(section="bounce", events=2), PoincareMap(section="bounce", coordinates=speed)):
        with pytest.raises(ValueError, match="return_map"):
            optimize(Kicked(), **search | {"return_map": other})


@pytest.mark.slow
def test_coordinates_that_do_not_fit_together_are_an_error():
    twice = Coordinates(Kicked.on_section, lambda model, y: 2.0 * model.section(y) / 2.5)
    with pytest.raises(ValueError, match=r"section\(on_section\(z\)\) must be z"):
        sensitivities(Kicked(), **TASK | {"return_map": PoincareMap(section="bounce", coordinates=twice)}, by=["kick"])


class Fragile(Kicked):
    """A ball that breaks where it falls more than 1 m/s faster than in its gait."""

    def transitions(self):
        speed = self.kick / (1.0 - self.e)
        return super().transitions() | {"broke": Transition(0, 0, guard=lambda t, y: speed + 1.0 + y.v, ends=True)}


@pytest.mark.slow
def test_a_start_whose_runs_find_no_gait_is_reached_from_the_gait_of_another():
    """The first fall, of 4.5 m/s, suits the gait of 5 m/s; that of 2 m/s must be followed from there."""
    task = TASK | {"minimize": "bounce_time", "over": {"kick": (0.7, 2.2)}, "progress": False, "iterations": 5}
    found = optimize(Fragile(), **task, starts=[{"kick": 2.0}, {"kick": 0.8}])
    first = found.history.isel(start=1, iteration=0)
    assert first.status == 0 and float(first.objective) == pytest.approx(2.0 * 2.0 / G, rel=1e-9)
    with pytest.raises(NoResult, match="every trajectory of every start failed"):
        optimize(Fragile(), **task, starts=[{"kick": 0.8}])
