"""Steps of a model's own: a falling ball with a rebound rule of its own, and the jumper's incremental friction."""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import ensemble, simulate
from jaxgait.measure import Measure
from jaxgait.model import Model, Scalar, Variable, derived, parameter
from jaxgait.models.jumper import Jumper
from jaxgait.outcome import IncompleteRun
from jaxgait.run import Sampling
from jaxgait.solve.marching import Marching
from jaxgait.solve.schemes import schemes

TOP = Measure("top", lambda run: run.extremes("x").largest, "m", "largest height", watch=("x",))
END = Measure("end", lambda run: run["x"][-1], "m", "height at the end")


class Ball(NamedTuple):
    x: Scalar
    v: Scalar


class Thrown(Model):
    """A ball thrown upward, by semi-implicit Euler."""

    speed: Scalar = parameter(3.0, unit="m/s", doc="speed at the start")
    variables: ClassVar = {
        "x": Variable("m", "height"),
        "v": Variable("m/s", "velocity"),
        "way": Variable("m", "distance"),
    }
    duration: ClassVar[float] = 0.5

    def initial_state(self):
        return Ball(jnp.zeros(()), jnp.asarray(self.speed, dtype=float))

    def advance(self, t, y, dt):
        v = y.v - 9.8 * dt
        return Ball(y.x + dt * v, v)

    def step_amounts(self, t, y, dt):
        return {"way": dt * jnp.abs(y.v - 9.8 * dt)}

    def terminations(self):
        return {"landed": lambda t, y: y.x < 0.0}


def test_a_start_beyond_an_end_is_over_there():
    """Also one that the first step would leave."""
    with pytest.warns(IncompleteRun, match="ended early: landed, 0 s into the run"):
        run = simulate(Thrown(), samples=5, dt=1e-3, initial_state={"x": -1e-4})
    assert run.attrs["steps"] == 0 and run.x[0] == -1e-4 and np.isnan(run.x[1:]).all()


def test_states_totals_and_extremes_are_those_of_the_steps():
    run = simulate(Thrown(), samples=5, dt=1e-3)
    t = 1e-3 * np.arange(501)
    v = 3.0 - 9.8 * t
    x = np.concatenate([[0.0], 1e-3 * np.cumsum(v[1:])])
    assert run.attrs["scheme"] == "Marching" and run.attrs["dt_s"] == 1e-3 and run.attrs["steps"] == 500
    np.testing.assert_allclose(run.x, x[::100], atol=1e-12)
    np.testing.assert_allclose(run.way, np.append(0.0, 1e-3 * np.cumsum(np.abs(v[1:])))[::100], atol=1e-12)
    np.testing.assert_array_equal(run.time, np.linspace(0.0, 0.5, 6))


def test_a_run_prepares_its_model_once():
    prepared = []

    @derived
    def count(model):
        prepared.append(model)

    model = type("Counting", (Thrown,), {"count": count})()
    jax.eval_shape(lambda: Marching(1e-3).run(model, Sampling.of(model, None, 0.5, 5)).ys)
    assert len(prepared) == 1


def test_ensembles_end_early_have_gradients_and_converge(tmp_path):
    scan = ensemble(
        Thrown(),
        {"speed": [2.0, 3.0, 4.0]},
        observe=[TOP, END],
        gradient=["speed"],
        samples=5,
        dt=1e-3,
        store=tmp_path / "thrown.zarr",
    )
    np.testing.assert_allclose(scan.top[1:], scan.speed[1:] ** 2 / 19.6, rtol=4e-3)
    np.testing.assert_allclose(scan.end_gradient.squeeze("parameter")[1:], 0.5, rtol=1e-12)
    assert np.isnan(scan.top[0]) and float(scan.t_end[0]) == pytest.approx(2 * 2.0 / 9.8, abs=2e-3)
    fine = ensemble(Thrown(), {"speed": [3.0]}, observe=[END], samples=5, dt=5e-4)
    exact = 3.0 * 0.5 - 4.9 * 0.25
    assert float(scan.end[1] - exact) == pytest.approx(2.0 * float(fine.end[0] - exact), rel=1e-6)


def test_an_early_end_is_known_to_the_step():
    with pytest.warns(IncompleteRun, match="ended early: landed"):
        run = simulate(Thrown(speed=2.0), samples=5, dt=1e-3)
    assert run.attrs["t_end_s"] == pytest.approx(0.408, abs=1.1e-3) and np.isnan(run.way[-1])


class Counting(Thrown):
    """It counts its steps, and stops at 0.3 s, when 30 steps of 10 ms are 6e-17 s less than the third of 10 samples."""

    duration: ClassVar[float] = 1.0

    def step_amounts(self, t, y, dt):
        return {"ticks": jnp.int32(1)}

    def outputs(self, t, y):
        return {"level": jnp.floor(10.0 * y.x).astype(int)}

    def terminations(self):
        return {"late": lambda t, y: t > 0.295}


def test_counts_stay_integers_and_the_sample_at_an_early_end_is_kept():
    highest = Measure("highest", lambda run: run.extremes("level").largest, "1", "", watch=("level",), early=True)
    with pytest.warns(IncompleteRun, match="ended early: late"):
        run = simulate(Counting(), samples=10, dt=1e-2, observe=highest)
    assert run.ticks.values.tolist() == [0, 10, 20, 30] + [-1] * 7 and run.t_end_s == run.time[3]
    assert run.highest == 4 and run.highest.dtype.kind == "i"


@pytest.mark.slow
def test_the_jumper_moves_by_time_steps_where_it_is_asked_for():
    assert [scheme.__name__ for scheme in schemes(Jumper())] == ["Smooth", "Marching"]
    options = {"scheme": "Marching", "duration": 0.05, "samples": 5}
    run = simulate(Jumper(), dt=1e-4, **options)
    assert run.attrs["steps"] == 500 and run.slid.dims == run.friction_impulse.dims == ("time", "row")
    momentum = 70.0 * (run.com_vx[-1] - run.com_vx[0])
    assert 4.0 * float(run.friction_impulse[-1].sum()) == pytest.approx(float(momentum), abs=1e-3)
    scan = ensemble(
        Jumper(),
        {"mass": [65.0, 70.0]},
        observe=[Measure("z", lambda r: r["com_z"][-1], "m", "height")],
        dt=1e-4,
        **options,
    )
    assert float(scan.z[1]) == pytest.approx(float(run.com_z[-1]), rel=1e-9)
