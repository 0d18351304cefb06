"""Ranges spread and searched in the logarithm: the map, samples, gradients, results in the parameter's own unit."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from jaxgait import Bungee, Log, cloud, grid, latin_hypercube, optimize, sobol
from jaxgait.ensembles.spacing import Spacing
from jaxgait.optimization.conclusions import conclusions
from jaxgait.optimization.goals import Goal
from jaxgait.optimization.gradients import Task, evaluator_for
from jaxgait.optimization.space import Space
from jaxgait.parameters import ParameterError
from jaxgait.plot import designs
from tests.optimization.oscillator import Oscillator

SPACING = Spacing.of([(-1.0, 3.0), Log(1e-3, 10.0)])
X = np.array([0.3, 0.6])


def test_the_map_and_its_derivatives():
    assert SPACING(np.ones(2)).tolist() == pytest.approx([3.0, 10.0]) and SPACING(X)[1] == pytest.approx(10**-0.6)
    np.testing.assert_allclose(SPACING.unit(SPACING(X)), X, rtol=1e-14)
    by = np.array([-0.2, 0.1])
    np.testing.assert_allclose(SPACING.moved(X, by), SPACING(X + by) - SPACING(X))
    with jax.enable_x64(True):
        x, loss = jnp.asarray(X), lambda p: p[0] ** 2 * p[1] + jnp.sin(p[1])
        np.testing.assert_allclose(jnp.diagonal(jax.jacfwd(SPACING)(x)), SPACING.slopes(x), rtol=1e-14)
        slope, hessian = (get(lambda x: loss(SPACING(x)))(x) for get in (jax.grad, jax.hessian))
        own = jax.hessian(loss)(SPACING(x))
    np.testing.assert_allclose(SPACING.hessian(X, np.asarray(slope), np.asarray(hessian)), own, rtol=1e-12)


def test_samples_are_spread_in_the_logarithm():
    """Also of labelled ends, which are converted later."""
    for sample in (latin_hypercube, sobol):
        members = sample({"ground": Log(1e-2, 1e2), "mass": (40.0, 100.0)}, 64)
        decades = np.histogram(np.log10(members.values["ground"]), bins=4, range=(-2.0, 2.0))[0]
        assert decades.tolist() == [16] * 4 and members.values["mass"].mean() == pytest.approx(70.0, abs=1.0)
    gram = lambda x: xr.DataArray(x, attrs={"units": "g"})
    labelled = sobol({"mass": Log(gram(1.0), gram(100.0))}, 4)
    assert labelled.units == {"mass": "g"} and labelled.values["mass"].max() < 100.0


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: sobol({"mass": Log(0.0, 1.0)}, 4), "logarithmic bounds of 'mass' must be positive, got Log(0, 1)"),
        (lambda: sobol({"mass": Log(2.0, 1.0)}, 4), "the range of 'mass' must be (lowest, highest), got Log(low=2.0"),
        (
            lambda: Space(Oscillator(), {"k": Log(-1.0, 1.0)}),
            "logarithmic bounds of 'k' must be positive, got Log(-1, 1)",
        ),
        (lambda: Space(Oscillator(), {"k": Log(2.0, 1.0)}), "bounds of 'k' must be (low, high) in 1 with low < high"),
        (lambda: grid({"mass": Log(1.0, 2.0)}), "'mass' needs a list of values, got the range Log(low=1.0, high=2.0)"),
        (lambda: cloud(Bungee(), {"v": Log(1.0, 2.0)}, 4), "the spread of 'v' must be a finite number"),
    ],
)
def test_ranges_without_a_logarithm(use, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        use()


@pytest.mark.slow
def test_slopes_of_gaits_and_of_runs_are_those_of_differences():
    space, goal = Space(Oscillator(), {"k": Log(0.1, 10.0), "c": (0.3, 0.9)}), Goal.of(Oscillator(), "power")
    x = np.array([[0.6, 0.5], [0.4, 0.1]])
    task = Task(Oscillator(), space, goal, {"samples": 40})
    found = [evaluator_for(task, kind, x)(np.arange(2), x) for kind in ("gait", "run", "differences")]
    k, c = space.physical(x).T
    power = 0.5 / ((k - 1.0) ** 2 + c**2)
    by_k = -2.0 * power * (k - 1.0) / ((k - 1.0) ** 2 + c**2)
    np.testing.assert_allclose(found[0].values[:, 0], power, rtol=1e-5)
    np.testing.assert_allclose(found[0].slopes[:, 0, 0], by_k * k * np.log(100.0), rtol=1e-4)
    np.testing.assert_allclose(found[1].slopes, found[2].slopes, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(space.physical(np.array([[1.0, 1.0], [1.5, 2.0]])), [[10.0, 0.9], [100.0, 1.5]])
    own, first = space.beginning_at(np.array([3.0, 2.0])), np.zeros((1, 2))  # outside the box
    evaluate = evaluator_for(task, "gait", x)
    evaluate(np.arange(2), x)
    assert evaluate.within(own)(np.zeros(1, int), first).values.item() == pytest.approx(0.5 / 8.0, rel=1e-5)


@pytest.fixture(scope="module")
def searches():
    """The same search in both scales."""
    task = {"minimize": "peak_rope_force", "subject_to": ["clearance >= 0"], "starts": 2, "progress": False}
    return [optimize(Bungee(), over={"stiffness": box}, **task) for box in (Log(1.0, 1e3), (15.0, 40.0))]


@pytest.mark.slow
def test_the_result_is_in_the_unit_of_the_parameter(searches):
    """Its multiplier, curvature and tolerances are those of a linear search."""
    found, linear = searches
    assert found.best["stiffness"] == pytest.approx(linear.best["stiffness"], rel=1e-5)
    assert found.bounds == {"stiffness": Log(1.0, 1e3)} and found.as_dict()["logarithmic"] == ["stiffness"]
    assert "logarithmic" not in linear.as_dict()
    assert found.local.multipliers == pytest.approx(linear.local.multipliers, rel=1e-4)
    assert found.local.hessian.item() == pytest.approx(linear.local.hessian.item(), rel=0.02)
    assert found.local.room["stiffness"] == pytest.approx(linear.local.room["stiffness"], rel=1e-2, abs=1e-6)
    first, last = (found.history.isel(start=1, iteration=i) for i in (0, -1))
    assert float(first.stiffness) in found.start["stiffness"]
    by_run = linear.history["objective_gradient[stiffness]"].isel(start=0, iteration=-1)
    assert float(last["objective_gradient[stiffness]"]) == pytest.approx(float(by_run), rel=1e-4)


def test_the_surroundings_on_a_bound_are_those_of_a_linear_search():
    found, linear = (
        optimize(Bungee(), maximize="peak_rope_force", over={"stiffness": box}, starts=1, progress=False)
        for box in (Log(1.0, 25.0), (1.0, 25.0))
    )
    assert found.best["stiffness"] == linear.best["stiffness"] == 25.0
    assert list(found.local.multipliers) == ["stiffness = 25"]
    assert found.local.multipliers == pytest.approx(linear.local.multipliers, rel=1e-6)
    for name in ("room", "ridge"):
        assert getattr(found.local, name)["stiffness"] == pytest.approx(
            getattr(linear.local, name)["stiffness"], rel=0.05
        )


def test_pictures_and_conclusions_are_in_the_logarithm(searches):
    found = searches[0]
    assert designs.paths(found).axes[0].get_xscale() == "log"
    assert designs.room(found).axes[0].patches[0].get_width() < 1.0  # % of three decades
    assert not any("bound" in text and "lies" in text for text in conclusions(found))
