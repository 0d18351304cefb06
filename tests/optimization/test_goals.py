"""What is sought and what is allowed: limits at zero, measures of runs that end early."""

from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from jaxgait.kinds import Transition
from jaxgait.measure import Measure
from jaxgait.model import Model, Scalar, Variable, parameter
from jaxgait.models.bungee import Bungee
from jaxgait.optimization import at_least, at_most, front, optimize, sensitivities
from jaxgait.optimization.evaluate import with_magnitudes
from jaxgait.optimization.goals import Goal, Limit, limit
from tests.optimization.oscillator import Oscillator
from tests.optimization.test_gradient_checks import Limited

QUICK = {"progress": False, "duration": 1.0, "samples": 20}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["SLSQP", "COBYQA"])
def test_a_limit_at_zero_holds_for_a_measure_of_any_size(method):
    tiny = Measure("tiny", lambda run: 1e-9 * (run.model.k - 1.0), "m", "a small distance")
    found = optimize(
        Oscillator(),
        minimize=lambda run: run.model.k + 2.0,
        over={"k": (0.2, 3.0)},
        subject_to=[at_least(tiny, 0.0)],
        method=method,
        starts=1,
        **QUICK,
    )
    assert found.best["k"] == pytest.approx(1.0, abs=1e-6) and found.limits["tiny >= 0"] > -1e-16


def test_elements_of_an_array_share_their_magnitude_and_other_limits_keep_their_value():
    curve = lambda run: run["x"]
    goal = Goal.of(Oscillator(), "power", [at_least(curve, 0.0), at_most("excursion", 3.0)])
    sized = goal.sized({"limited_0": (2,), "limited_1": ()})
    values = np.array([[1.0, -4e-3, 0.0, 5.0], [1.0, 4e-3, 0.0, 5.0]])
    known = sized.with_magnitudes(values)
    assert [one.scale for one in known.bounds] == [4e-3, 4e-3, 3.0]
    assert not known.met(np.array([1.0, 0.0, -1e-9, 2.0])) and sized.met(np.array([1.0, 0.0, -1e-9, 2.0]))
    assert sized.with_magnitudes(values[:0]) == sized  # no run succeeded


@pytest.mark.slow
@pytest.mark.parametrize(("method", "edge"), [("SLSQP", 1.9), ("SLSQP", 4.0), ("COBYQA", 1.9)])
def test_rounding_errors_of_zero_meet_a_limit_at_zero(method, edge):
    """A slip that is zero, but for rounding, in most of the box (up to the edge) or all of it."""
    rounding = lambda k: 1e-15 * (1.0 + jnp.floor(4.0 * k) % 2.0)
    slip = Measure("slip", lambda run: jnp.maximum(run.model.k - edge, 0.0) + rounding(run.model.k), "m", "slip")
    found = optimize(
        Oscillator(),
        minimize=lambda run: (run.model.k - 1.6) ** 2,
        over={"k": (1.0, 2.0)},
        subject_to=[at_most(slip, 0.0)],
        method=method,
        starts=1,
        **QUICK,
    )
    assert found.best["k"] == pytest.approx(1.6, abs=1e-6)


def test_failed_runs_do_not_count_for_the_magnitude_of_a_measure():
    small = lambda x: 1e-3 if x[0] < 0.5 else np.nan
    runs = Limited(lambda x: 1.0, lambda x: np.zeros(1), small, lambda x: np.zeros(1))
    goal = with_magnitudes(Goal.of(Oscillator(), "power", ["excursion >= 0"]), runs, np.array([[0.2], [0.8]]))
    assert goal.bounds[0].scale == 1e-3


class Height(NamedTuple):
    z: Scalar
    v: Scalar


class Fall(Model):
    """Falls from rest: it lands after sqrt(2 h / g)."""

    g: Scalar = parameter(10.0, unit="m/s^2", doc="gravity")
    h: Scalar = parameter(1.0, unit="m", doc="height")

    variables: ClassVar = {"z": Variable("m", "height"), "v": Variable("m/s", "velocity")}
    duration: ClassVar = 2.0

    def initial_state(self):
        return Height(self.h, 0.0 * self.h)

    def phases(self):
        return (lambda t, y: Height(y.v, -self.g),)

    def transitions(self):
        return {"landed": Transition(0, 0, lambda t, y: y.z, ends=True)}


LANDED = Measure("landed_at", lambda run: run.trajectory.t_end, "s", "time of landing", early=True)


@pytest.mark.parametrize(
    "way",
    [
        {},
        pytest.param({"method": "COBYQA"}, marks=pytest.mark.slow),
        pytest.param({"across": {"h": [0.5, 1.0]}}, marks=pytest.mark.slow),
        {"across": {"h": [0.5, 1.0]}, "robust": "worst"},
    ],
)
def test_measures_that_are_defined_for_early_ends_are_optimised(way):
    found = optimize(Fall(), maximize=LANDED, over={"g": (5.0, 20.0)}, starts=2, progress=False, **way)
    each = np.sqrt(2.0 * np.array(way.get("across", {"h": [1.0]})["h"]) / 5.0)
    assert found.best == {"g": 5.0}
    assert found.objective == pytest.approx(each.min() if "robust" in way else each.mean(), rel=1e-6)
    if not way:  # d t / d g = -t / (2 g), over a box of 15 m/s^2
        assert found.local.multipliers["g = 5"] == pytest.approx(each[0] / 10.0, rel=1e-4)


@pytest.mark.slow
def test_sensitivities_of_a_measure_for_early_ends_are_those_of_the_closed_form():
    """Of t = sqrt(2 h / g), which varies by -t / 2 and t / 2 relative to g and h."""
    found = sensitivities(Fall(), maximize=LANDED, by=["g", "h"])
    t = np.sqrt(0.2)
    np.testing.assert_allclose(found.slope.sel(parameter=["g", "h"])[0], [-t / 20.0, t / 2.0], rtol=1e-6)
    np.testing.assert_allclose(found.difference, found.change, rtol=1e-3)


@pytest.mark.slow
def test_a_limit_at_zero_holds_along_a_front():
    tiny = Measure("tiny", lambda run: 1e-9 * (run.model.k - 1.0), "m", "a small distance")
    least = Measure("least", lambda run: run.model.k, "N/m", "stiffness")
    away = Measure("away", lambda run: (run.model.k - 2.0) ** 2, "1", "distance from 2 N/m, squared")
    found = front(
        Oscillator(),
        minimize=[least, away],
        over={"k": (0.2, 3.0)},
        subject_to=[at_least(tiny, 0.0)],
        points=3,
        starts=1,
        **QUICK,
    )
    assert found.k.min() == pytest.approx(1.0, abs=1e-6) and found.k.max() == pytest.approx(2.0, abs=1e-4)


@pytest.mark.slow
def test_methods_without_gradients_count():
    """Whole seconds of the fall, and whether it is long enough: g = 2 h / t^2 with t = 0.5 s."""
    pytest.importorskip("cma")
    tenths = Measure("tenths", lambda run: jnp.floor(10.0 * run.trajectory.t_end).astype(int), "1", "", early=True)
    slow = Measure("slow", lambda run: run.trajectory.t_end > 0.5, "1", "whether it is slow", early=True)
    request = {"minimize": tenths, "over": {"g": (5.0, 20.0)}, "subject_to": [at_least(slow, 1)], "progress": False}
    found = optimize(Fall(), **request, method="CMA-ES", starts=[{"g": 9.0}], iterations=8)
    assert found.objective == 5.0 and 50.0 / 9.0 < found.best["g"] < 8.0
    with pytest.raises(ValueError, match="got bool: it has no gradient; methods without gradients take it"):
        optimize(Fall(), **request)


@pytest.mark.parametrize(
    ("text", "value", "lower"),
    [
        ("clearance >= 50 cm", 0.5, True),
        ("clearance<=9", 9.0, False),
        ("0.2e1 <= clearance", 2.0, True),
        ("50cm>=clearance", 0.5, False),
    ],
)
def test_a_limit_may_have_another_unit_and_either_order(text, value, lower):
    (found,) = Goal.of(Bungee(), "peak_rope_force", [text]).limits
    assert found == Limit("clearance", value, lower)


def test_the_value_of_a_limit_may_be_labelled_with_another_unit():
    half = at_most("clearance", xr.DataArray(50.0, attrs={"units": "cm"}))
    assert str(half) == "clearance <= 50 cm"
    assert Goal.of(Bungee(), "peak_rope_force", [half]).limits == (Limit("clearance", 0.5, at_least=False),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("clearance == 2", "got 'clearance == 2': write 'clearance >= 2' and 'clearance <= 2'"),
        ("clearance > 2m", ": write 'clearance >= 2m'"),
        ("1 <= clearance <= 2", ": write 'clearance >= 1' and 'clearance <= 2'"),
        ("1 < clearance < 2", ": write 'clearance >= 1' and 'clearance <= 2'"),
        ("clearance => 2", "got 'clearance => 2': write 'clearance >= 2'$"),
        ("2 =< clearance", ": write 'clearance >= 2'$"),
        ("clearance >= 2 m <= 3", "got 'clearance >= 2 m <= 3'$"),
        ("clearance > rope_length", "got 'clearance > rope_length'$"),
        ("clearance >= 2,5", "a number, in the measure's unit or another.*got 'clearance >= 2,5'$"),
        ("clearance >= 2 kg", "the limit 'clearance >= 2 kg': the value is in 'kg', but clearance in 'm': give it in"),
        ("rope_length <= 25", r"'rope_length' is a parameter: limit it by its bounds in `over`, or make it a measure"),
    ],
)
def test_what_is_no_limit_says_what_to_write_instead(text, message):
    with pytest.raises(ValueError, match=message):
        Goal.of(Bungee(), "peak_rope_force", [text])


def test_the_unit_of_a_limit_needs_a_model():
    assert limit("clearance >= 50").value == 50.0
    with pytest.raises(ValueError, match="the limit 'clearance >= 50 cm': without a model, give the value"):
        limit("clearance >= 50 cm")
