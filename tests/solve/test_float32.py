"""float32 completes for every mechanism at its defaults, near float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.benchmarks import float32
from jaxgait import RollingWalker, ensemble, precision, simulate
from jaxgait.ensembles import estimate, float32_error
from jaxgait.models.bungee.model import Bungee
from jaxgait.models.walker.smooth import Walker
from jaxgait.run import Sampling
from jaxgait.solve.hybrid import EventDriven
from jaxgait.solve.smooth import Smooth
from jaxgait.solve.time_resolution import Resolving
from tests.oscillator import Oscillator


def identity(case):
    return f"{type(case.model).__name__}: {case.what}"


@pytest.mark.slow
@pytest.mark.parametrize("case", float32.CASES, ids=identity)
def test_every_mechanism_completes_near_float64(case):
    found = float32.row(case)
    assert found.completed
    assert 0.0 < found.error < case.bound


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            float32.Case(Bungee(), {"duration": 20.0}, "lowest point", "m", float32.largest("x"), 0.05),
            marks=pytest.mark.slow,
        ),
        float32.Case(Walker(), {"duration": 1.0}, "hip", "m", float32.curve("x"), 1e-4),
    ],
    ids=identity,
)
def test_contact_and_free_fall_complete_near_float64(case):
    test_every_mechanism_completes_near_float64(case)


def test_default_tolerances_are_above_rounding():
    single, double = (Smooth.of(Oscillator(), precision=p) for p in ("float32", "float64"))
    assert (double.rtol, double.atol) == (1e-8, 1e-8)
    assert 1e-5 < single.rtol < 1e-3 and 1e-7 < single.atol < 1e-5
    with precision.use("float32"):
        assert Smooth.of(Oscillator()) == single
    assert Smooth.of(Oscillator(), precision="float32", rtol=1e-5).rtol == 1e-5


@pytest.mark.parametrize(("kind", "rtol"), [("float32", 1e-7), ("float64", 1e-15)])
def test_tolerances_below_rounding_raise(kind, rtol):
    with pytest.raises(ValueError, match=rf"rtol must be at least .* in {kind}, got {rtol:g}"):
        simulate(Oscillator(), precision=kind, rtol=rtol)


def test_the_tolerances_of_a_given_scheme_are_checked_too():
    with pytest.raises(ValueError, match=r"rtol must be at least .* in float32, got 1e-10"):
        simulate(Oscillator(), scheme=Smooth.of(Oscillator(), rtol=1e-10), precision="float32")


@pytest.mark.slow
@pytest.mark.parametrize(
    "scheme", [Smooth.of(Oscillator(), rtol=1e-9), EventDriven.of(RollingWalker())], ids=lambda s: type(s).__name__
)
def test_a_scheme_for_float64_raises_in_a_derivative_in_float32(scheme):
    """Its tolerance is below the rounding errors there: the derivative of an event time was 0 for a true -7.9."""
    model = Oscillator() if isinstance(scheme, Smooth) else RollingWalker()
    scaled = lambda by: jax.tree.map(lambda x: by * x, model.initial_state())
    end = lambda by: scheme.run(model, Sampling(None, 2, 0.1), scaled(by)).t_end
    with (
        jax.enable_x64(False),
        pytest.raises(ValueError, match=r"at least 3.6e-06 in float32, got 1e-0.; .*precision.use"),
    ):
        jax.jvp(end, (1.0,), (1.0,))
    with precision.use("float64"):
        assert jax.eval_shape(end, 1.0).dtype == "float64"


def test_time_loses_no_steps_in_forty_seconds():
    """cos(2 t) over 80 000 short steps: summed up with an error of half a unit each, time would be off by 0.1 s."""
    steps = {"max_step": 5e-4, "max_steps": 100_000, "rtol": 1e-5, "atol": 1e-5}
    run = simulate(Oscillator(), duration=40.0, samples=400, precision="float32", **steps)
    assert run.attrs["steps"] >= 80_000 and run.attrs["t_end_s"] == 40.0
    np.testing.assert_allclose(run.x, np.cos(2.0 * run.time), atol=5e-3)


@pytest.mark.parametrize("t", [0.9, 4.1, 7.9999995, 10.212868, 31.4])
@pytest.mark.parametrize("units", range(1, 12))
def test_a_rejected_step_becomes_shorter_until_it_is_taken(t, units):
    """Shortened by a tenth, a step of three units rounds to three units: it would be tried for ever."""
    with precision.use("float32"):
        t0, bad = jnp.float32(t), jnp.float32(1.01e-3)
        t1 = t0 + np.float32(units * np.spacing(np.float32(t)))
        state = (jnp.float32(1.0), jnp.float32(1.0), jnp.asarray(False))
        keep = False
        while not keep:
            keep, start, end, *_ = Resolving(1e-4, 1e-3).adapt_step_size(t0, t1, 0 * t0, 0 * t0, None, bad, 5.0, state)
            assert keep or start == t0 < end < t1
            t1 = end
    assert start > t0 and end > start


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Oscillator gave up")
def test_values_that_are_not_finite_still_end_a_run():
    run = simulate(Oscillator(poison=1.0), precision="float32")
    assert "gave up" in run.attrs["status_text"] and run.attrs["steps"] + run.attrs["rejected_steps"] < 200
    assert abs(run.attrs["t_end_s"] - 1.0) < 1e-2
    assert np.isfinite(run.x.sel(time=slice(0.0, 0.9))).all() and np.isnan(run.x[-1])


@pytest.mark.slow
def test_a_scan_lists_the_members_computed_in_float64():
    class Fragile(Oscillator):
        """Its force is NaN in float32 for light masses."""

        def vector_field(self, t, y):
            lost = (self.mass < 1.5) & (jnp.result_type(float) == jnp.float32)
            return type(y)(y.v, jnp.where(lost, jnp.nan, -self.stiffness * y.x / self.mass))

    members = {"mass": np.array([1.0, 2.0, 3.0])}
    request = {"duration": 1.0, "samples": 4, "observe": lambda run: {"last": run["x"][-1]}}
    with pytest.warns(UserWarning, match="float32, 1 of 3 members float64 .*float64' is probably faster"):
        scan = ensemble(Fragile(), members, precision="float32", **request)
    np.testing.assert_array_equal(scan.promoted, [True, False, False])
    assert scan.attrs["precision"] == "float32, 1 of 3 members float64 (see promoted)"
    heavy = ensemble(Fragile(), {"mass": members["mass"][1:]}, precision="float32", **request)
    assert heavy.attrs["precision"] == "float32" and "promoted" not in heavy
    cost = estimate(Fragile(), members, precision="float32", **request)
    assert cost.promoted == 1 and any("1 of 3 members ran again in float64" in line for line in cost.lines())
    assert estimate(Fragile(), members, **request).promoted == 0
    with pytest.warns(UserWarning, match="float32, 1 of 3 members float64"):
        error = float32_error(Fragile(), members, **request)
    assert np.isnan(error["last"][0]) and (abs(error["last"][1:]) < 1e-3).all()
