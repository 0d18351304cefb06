"""Ensembles: right, labelled, isolated from bad members, and the same however they are cut."""

import importlib
import json
import pickle
import re

import cloudpickle
import diffrax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from jaxgait import outcome
from jaxgait.ensembles import batch as batches
from jaxgait.ensembles import driver, ensemble, failed, float32_error, grid, latin_hypercube, product, summary, zipped
from jaxgait.ensembles import plan as plans
from jaxgait.ensembles import request as requests
from jaxgait.ensembles.batch import Job
from jaxgait.ensembles.plan import TALLY, Task, _may_complete, block_shape, run_task, task_of
from jaxgait.ensembles.store import StoreError
from jaxgait.measure import Measure
from jaxgait.model import Numerics, Variable
from jaxgait.models.bungee import Bungee
from jaxgait.outcome import IncompleteRun, Outcome
from jaxgait.parameters import ParameterError
from jaxgait.run import Sampling
from jaxgait.solve.simulate import simulate
from jaxgait.solve.smooth import Smooth
from tests.oscillator import Oscillator, peaks
from tests.solve.test_event_driven import Alternating, Hopping

QUICK = {"duration": 2.0, "samples": 20, "observe": peaks, "max_step": 0.5}
K = np.linspace(4.0, 12.0, 9)
M = np.linspace(1.0, 3.0, 5)
LOWEST = {"observe": lambda run: {"lowest": run["x"].min()}}


@pytest.fixture(scope="module")
def scan():
    return ensemble(Oscillator(), {"mass": M, "stiffness": K}, **QUICK, variables={"lowest": Variable("m", "lowest")})


def test_a_full_grid_is_labelled_and_right(scan):
    assert scan.status.dims == ("mass", "stiffness") and (scan.status == Outcome.COMPLETED).all()
    exact = np.cos(2.0 * np.sqrt(K / M[:, None]))
    np.testing.assert_allclose(scan.x_end, exact, atol=1e-6)
    np.testing.assert_allclose(scan.energy_end, np.broadcast_to(K / 2, (5, 9)), atol=1e-5)
    assert scan.lowest.attrs == {"units": "m", "long_name": "lowest"}
    assert scan.stiffness.attrs == {"units": "N/m", "long_name": "spring"}
    assert scan.x_end.attrs["units"] == "m" and scan.t_end.attrs["units"] == "s"
    assert json.loads(scan.attrs["parameters"])["limit"] == 1e9 and scan.attrs["solver"] == "Tsit5"


def test_agrees_with_one_run(scan):
    one = simulate(Oscillator(mass=M[2], stiffness=K[3]), duration=2.0, samples=20, max_step=0.5)
    np.testing.assert_allclose(scan.x_end[2, 3], one.x[-1], rtol=1e-9)
    assert int(scan.steps[2, 3]) == one.attrs["steps"] and summary(one) == {"completed": 1}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::jaxgait.outcome.IncompleteRun")
def test_samples_of_members_know_their_phase():
    speeds = [0.0, 1.0, 4.0]  # the last one hits the ceiling
    members = ensemble(Hopping(), {"speed": speeds}, samples=40, trajectories=True)
    for i, speed in enumerate(speeds):
        run = simulate(Hopping(speed=speed), samples=40)
        np.testing.assert_array_equal(members.phase[i], run.phase)
    assert (members.phase[2] == -1).any() and members.phase.dtype.kind == "i"
    attrs = {"units": "1", "long_name": "phase"}
    assert members.phase.attrs == run.phase.attrs == attrs | {"legend": '{"0": "fly", "1": "push"}'}
    kept = ensemble(Alternating(), {"initial.due": [0.5, 0.7]}, samples=20, trajectories=["phase"])
    np.testing.assert_array_equal(kept.phase[0], simulate(Alternating(), samples=20).phase)
    assert "due" not in kept and kept.phase[1].sum() > 0 and kept.phase.attrs == attrs  # phases without names
    with pytest.raises(ValueError, match="Oscillator has neither a state nor an output 'phase'"):
        ensemble(Oscillator(), {"mass": [1.0]}, duration=1.0, samples=2, trajectories=["phase"])


def test_same_bits_for_any_batch_and_order(scan):
    for size in (8, 40):
        again = ensemble(Oscillator(), {"mass": M, "stiffness": K}, **QUICK, batch=size, workers=2)
        np.testing.assert_array_equal(again.x_end, scan.x_end)
        np.testing.assert_array_equal(again.lowest, scan.lowest)
    backwards = ensemble(Oscillator(), {"mass": M, "stiffness": K[::-1]}, **QUICK)
    np.testing.assert_array_equal(backwards.x_end[:, ::-1], scan.x_end)


def test_efficiency_is_steps_over_room_for_steps(scan):
    """Members that are all alike wait only for copies that fill up their batches, to whole vectors."""
    assert 0.0 < scan.attrs["efficiency"] < 1.0
    alike = ensemble(Oscillator(), {"mass": np.full(5, 2.0), "stiffness": np.full(9, 3.0)}, **QUICK)
    vectors = 45 / alike.attrs["efficiency"] / 8
    assert vectors >= 6 and vectors == pytest.approx(round(vectors), abs=1e-2)
    assert scan.attrs["efficiency"] < alike.attrs["efficiency"]


def test_compiles_once(scan):
    before = len(batches._programs)
    ensemble(Oscillator(), {"mass": M, "stiffness": K + 1}, **QUICK)
    assert len(batches._programs) == before


@pytest.mark.slow
def test_trajectories_share_their_times_or_have_their_own():
    data = ensemble(Oscillator(), {"mass": [1.0, 2.0]}, duration=2.0, samples=20, trajectories=True)
    assert data.x.dims == ("mass", "time") and data.energy.attrs["units"] == "J"
    np.testing.assert_allclose(data.x, np.cos(data.time * np.sqrt(8.0 / data.mass)).T, atol=1e-6)
    strides = ensemble(Oscillator(), {"mass": [1.0, 2.0]}, strides=2, samples=10, trajectories=True)
    assert strides.x.dims == ("mass", "instant") and strides.time.dims == ("mass", "instant")
    np.testing.assert_allclose(strides.x[:, ::10], 1.0, atol=1e-6)
    drawn = latin_hypercube({"mass": (1.0, 2.0)}, 3)
    strides = ensemble(Oscillator(), drawn, strides=2, samples=10, trajectories=True)
    assert strides.x.dims == strides.time.dims == ("sample", "instant")


@pytest.mark.slow
def test_only_named_histories_are_kept(tmp_path):
    kept = {"members": {"mass": [1.0, 2.0]}, "duration": 2.0, "samples": 20}
    few = ensemble(Oscillator(), **kept, trajectories=["energy", "x"], store=tmp_path / "few.zarr")
    assert {n for n, x in few.items() if "time" in x.dims} == {"x", "energy"}
    every = ensemble(Oscillator(), **kept, trajectories=True)
    np.testing.assert_array_equal(few.energy, every.energy)
    again = ensemble(Oscillator(), **kept, trajectories=["x", "energy"], store=tmp_path / "few.zarr")  # in any order
    xr.testing.assert_equal(few, again)
    with pytest.raises(StoreError, match="trajectories"):
        ensemble(Oscillator(), **kept, trajectories="x", store=tmp_path / "few.zarr")


def test_initial_states_and_zipped_boxes():
    starts = product(grid({"initial.x": [1.0, 2.0, 3.0]}), zipped({"mass": [1.0, 2.0], "stiffness": [8.0, 16.0]}))
    data = ensemble(Oscillator(), starts, duration=1.0)
    np.testing.assert_allclose(
        data.x_end, (data["initial.x"] * np.cos(np.sqrt(8.0))).broadcast_like(data.x_end), atol=1e-6
    )
    assert data.mass.dims == ("member",) and data.x_end.dims == ("initial.x", "member")


def test_a_poisoned_member_changes_no_other_bit():
    clean = {"stiffness": K, "poison": np.full(9, 1e9), "growth": np.zeros(9), "limit": np.full(9, 1e9)}
    sick = {name: x.copy() for name, x in clean.items()}
    sick["poison"][1], sick["growth"][4], sick["limit"][6] = 0.5, 50.0, 0.5
    good = ensemble(Oscillator(), zipped(clean), **QUICK, retry=False)
    bad = ensemble(Oscillator(), zipped(sick), **QUICK, retry=False)
    healthy = np.array([0, 2, 3, 5, 7, 8])
    for name in good.data_vars:
        np.testing.assert_array_equal(bad[name][healthy], good[name][healthy])
    assert bad.status[6] == outcome.FIRST_TERMINATION
    np.testing.assert_allclose(bad.t_end[1], 0.5, atol=1e-3)
    assert set(bad.status.values[[1, 4]]) <= {Outcome.MAX_STEPS, Outcome.STEP_UNDERFLOW, Outcome.NONFINITE}
    report = failed(bad)
    np.testing.assert_array_equal(report.stiffness, K[[1, 4]])
    assert all("gave up" in str(s) for s in report.sentence.values)
    unfinished = bad.assign(status=bad.status.where(bad.status == 0, -1))
    assert failed(unfinished).sizes["member"] == 0, "what has not run has not failed"
    assert sum(summary(bad).values()) == 9 and summary(bad)["ended early: broke"] == 1


@pytest.mark.slow
def test_retries_complete_failed_members():
    # Explicit steps of 4e-5 s would be needed for the second member; nothing helps the third; the fourth may end so.
    members = zipped(
        {"damping": [0.0, 1e5, 0.0, 0.0], "stiffness": [8.0, 1e5, 8.0, 8.0]}
        | {"poison": [1e9, 1e9, 0.5, 1e9], "limit": [1e9, 1e9, 1e9, 0.5]}
    )
    data = ensemble(Oscillator(), members, duration=2.0, samples=4)
    first = [Outcome.COMPLETED, Outcome.MAX_STEPS, Outcome.STEP_UNDERFLOW, outcome.FIRST_TERMINATION]
    np.testing.assert_array_equal(data.first_status, first)
    np.testing.assert_array_equal(data.status[[0, 1, 3]], [first[0], Outcome.COMPLETED, first[3]])
    assert int(data.status[2]) in (Outcome.STEP_UNDERFLOW, Outcome.MAX_STEPS)
    np.testing.assert_array_equal(data.retries, [0, 2, 2, 0])
    assert json.loads(data.attrs["retries_legend"]) == {
        "0": "first attempt",
        "1": "tighter tolerance",
        "2": "stiff solver",
    }
    np.testing.assert_allclose(data.x_end[:2], [np.cos(4.0), np.exp(-2.0)], atol=1e-4)
    given_up = ensemble(Oscillator(), members, duration=2.0, samples=4, retry=False)
    np.testing.assert_array_equal(given_up.status, first)


@pytest.mark.slow
def test_tighter_tolerances_are_no_retry_at_the_limit_of_steps():
    """They need more steps; a stiff solver may need fewer."""
    request = {"duration": 2.0, "samples": 4, "max_steps": 3}
    with pytest.warns(IncompleteRun, match="step limit"):
        for solver, retries in ((None, 2), ("Ros4", 0)):
            data = ensemble(Oscillator(), {"mass": [50.0, 60.0]}, solver=solver, **request)
            assert "tighter tolerance" in data.attrs["retries_legend"] and (data.retries == retries).all()
            assert (data.first_status == Outcome.MAX_STEPS).all()


@pytest.mark.parametrize("copied", [lambda task: task, lambda task: pickle.loads(cloudpickle.dumps(task))])
@pytest.mark.parametrize("solver", ["Ros4", diffrax.Kvaerno3()])
def test_retries_at_the_limit_of_steps_are_the_same_on_a_cluster(copied, solver):
    """The numbers of a task that was sent elsewhere are equal, but not identical; float64 may help any member."""
    scheme = Smooth.of(Oscillator(), solver=solver, rtol=1e-4)
    sent = copied(Task(Oscillator(), Job(scheme, Sampling(None, 4, 2.0)), "float32", scheme.retries("float32"), {}, 8))
    status = np.array([Outcome.MAX_STEPS, Outcome.EVENT_LIMIT, Outcome.STEP_UNDERFLOW, Outcome.COMPLETED])
    (other,) = sent.retries
    for precision, helps in (("float64", [True, False, True, False]), ("float32", [False, False, True, False])):
        assert _may_complete(sent, other._replace(precision=precision), status).tolist() == helps


def test_a_retry_that_compiles_for_minutes_is_announced_once(monkeypatch, caplog):
    class Robot(Oscillator):
        numerics = Oscillator.numerics._replace(explicit_values=True)

    found = {"status": np.array([Outcome.MAX_STEPS]), TALLY: np.zeros(2)}
    monkeypatch.setattr(plans, "_run", lambda *_: {name: x.copy() for name, x in found.items()})
    plans._announce.cache_clear()
    scheme = Smooth.of(Robot())
    with caplog.at_level("INFO", logger="jaxgait"):
        for model in (Oscillator(), Robot(), Robot()):
            job = Job(scheme, Sampling(None, 4, 2.0))
            run_task(Task(model, job, "float64", scheme.retries("float64"), {"mass": M[:1]}, 8))
    (message,) = caplog.messages
    assert message.startswith("members of Robot failed in explicit steps") and "minutes to compile" in message


@pytest.fixture(scope="module")
def named():
    """Results of a function whose names mean something elsewhere."""

    def observe(run):
        x = run["x"]
        return {"part": x[:2], "part_end": x[-3:], "x": 100.0 * x[-1], "steepest_gradient": run["v"].max()}

    return ensemble(Oscillator(), {"mass": M}, **QUICK | {"observe": observe})


@pytest.mark.slow
def test_an_array_has_its_own_dimension_whatever_its_name(named):
    assert named.part.dims == ("mass", "part_0") and named.part_end.dims == ("mass", "part_end_0")


def test_results_of_a_function_do_not_take_the_unit_of_a_variable_of_the_same_name(named):
    assert "units" not in named.x.attrs and named.x_end.attrs["units"] == "m"


def test_a_result_may_be_called_a_gradient(named):
    assert named.steepest_gradient.shape == (5,)


def test_retries_that_change_nothing_are_left_out():
    single = Smooth.of(Oscillator(), rtol=1e-4)
    assert [retry.name for retry in single.retries("float32")] == ["stiff solver", "float64"]
    last = single.retries("float32", Smooth.of(Oscillator(), precision="float64"))[-1]
    assert last.scheme.rtol == 1e-8 and last.precision == "float64"  # the tolerance of a result in float64
    implicit = Smooth.of(Oscillator(), solver=diffrax.Kvaerno3())
    assert [retry.name for retry in implicit.retries("float64")] == ["tighter tolerance"]


@pytest.mark.slow
def test_float32_and_its_distance_to_float64():
    error = float32_error(Oscillator(), {"stiffness": K}, **QUICK, rtol=1e-5, atol=1e-5)
    assert 0 < float(abs(error.x_end).max()) < 1e-4 and error.x_end.attrs["units"] == "m"
    assert (error.status == -1).all() and error.attrs["precision"] == "float32"
    with pytest.warns(outcome.IncompleteRun):
        lost = float32_error(Oscillator(), {"stiffness": K}, **QUICK, max_steps=3, retry=False)
    assert np.isnan(lost.x_end).all() and np.isnan(lost.t_end).all()


def test_progress_is_shown_only_on_request(capsys):
    members = {"mass": M, "stiffness": K}
    ensemble(Oscillator(), members, **QUICK)
    assert capsys.readouterr().err == ""
    ensemble(Oscillator(), members, **QUICK, batch=40, progress=True)
    shown = capsys.readouterr().err
    assert re.search(r"\r0 failed, 100% \|\S+\| 45/45 \[.* left, 2/2 blocks\]", shown)


def exact_gradient(mass, stiffness):
    omega = np.sqrt(stiffness / mass)
    slope = -2.0 * np.sin(2.0 * omega)  # of cos(omega t) at t = 2
    return slope * omega / (2 * stiffness), -slope * omega / (2 * mass)


def end(run):
    return {"end": run["x"][-1]}


@pytest.fixture(scope="module")
def forward():
    members = zipped({"stiffness": K, "mass": np.linspace(1.0, 3.0, 9)})
    return ensemble(Oscillator(), members, duration=2.0, samples=4, observe=end, gradient=["stiffness", "mass"])


def test_gradients_of_an_ensemble_are_right(forward):
    assert forward.end_gradient.dims == ("member", "parameter")
    by_k, by_m = exact_gradient(forward.mass.values, forward.stiffness.values)
    np.testing.assert_allclose(forward.end_gradient.sel(parameter="stiffness"), by_k, atol=1e-6)
    np.testing.assert_allclose(forward.end_gradient.sel(parameter="mass"), by_m, atol=1e-6)


def test_gradient_of_an_ensemble_is_the_loop_of_gradients(forward):
    for i in (0, 8):
        alone = zipped({"stiffness": forward.stiffness.values[[i]], "mass": forward.mass.values[[i]]})
        one = ensemble(Oscillator(), alone, duration=2.0, samples=4, observe=end, gradient=["stiffness", "mass"])
        np.testing.assert_allclose(one.end_gradient[0], forward.end_gradient[i], rtol=1e-10)


@pytest.mark.slow
def test_reverse_mode_agrees_with_forward_mode(forward, monkeypatch):
    monkeypatch.setattr(requests, "FORWARD_UP_TO", 0)
    members = zipped({"stiffness": K, "mass": np.linspace(1.0, 3.0, 9)})
    reverse = ensemble(Oscillator(), members, duration=2.0, samples=4, observe=end, gradient=["stiffness", "mass"])
    np.testing.assert_allclose(reverse.end_gradient, forward.end_gradient, rtol=1e-8)


@pytest.mark.slow
def test_extremes_are_differentiated_in_forward_mode_however_many_parameters_there_are(monkeypatch):
    monkeypatch.setattr(requests, "FORWARD_UP_TO", 0)  # reverse mode is 20 % off here
    fastest = Measure("fastest", lambda run: run.extremes("v").largest, "m/s", "largest speed", watch=("v",))
    scan = ensemble(Oscillator(), {"limit": [1e9]}, rtol=1e-4, atol=1e-6, observe=fastest, gradient=["stiffness"])
    assert float(scan.fastest_gradient.squeeze()) == pytest.approx(1.0 / 8.0, rel=0.02)  # of sqrt(stiffness / mass)


@pytest.mark.slow
def test_lost_derivatives_are_warned_of_but_not_of_results_that_are_nan():
    """Of a root at zero here; explicit steps lose those of stiff motion, which the error of values does not show."""

    def observe(run):
        x = run["x"][-1]
        return {"root": jnp.sqrt(run.model.mass - 0.3), "x": x, "above": jnp.where(x > 0.0, x, jnp.nan)}

    request = {"duration": 1.0, "observe": observe, "gradient": ["mass"]}
    with pytest.warns(UserWarning, match=r"not finite or larger than 1e\+30: root \(1 of 2 members\); .*Ros4"):
        data = ensemble(Oscillator(), {"mass": [1.0, 0.3]}, **request)
    assert np.isinf(data.root_gradient[1, 0]) and np.isfinite(data.x_gradient).all()
    np.testing.assert_array_equal(np.isnan(data.above), [True, False])
    np.testing.assert_array_equal(np.isnan(data.above_gradient[:, 0]), [True, False])
    with pytest.warns(UserWarning, match=r"root \(1 of 2 members\); .* or a force has no finite second derivative"):
        ensemble(Oscillator(), {"mass": [1.0, 0.3]}, **request, solver="Ros4")


@pytest.mark.slow
def test_gradient_by_an_initial_state_and_differences():
    request = {"duration": 2.0, "samples": 4, "observe": end}
    data = ensemble(Oscillator(growth=0.1), {"mass": [2.0]}, **request, gradient=["initial.x"])
    step = 1e-4
    ends = ensemble(Oscillator(growth=0.1), {"initial.x": [1 - step, 1 + step]}, **request, rtol=1e-11, atol=1e-11).end
    np.testing.assert_allclose(data.end_gradient[0, 0], np.diff(ends)[0] / (2 * step), rtol=1e-5)


def test_a_block_takes_the_members_of_its_region():
    members = grid({"mass": M, "stiffness": K, "ground": [50.0, 60.0]})
    plan = driver.plan_of({"model": Bungee(), "members": members, "batch": 6})
    box = np.arange(plan.members.size).reshape(plan.members.shape)
    for block in range(plan.size):
        wanted = box[plan.region(block)].ravel()
        for name, x in task_of(plan, block).values.items():
            np.testing.assert_array_equal(x, plan.members.values[name][wanted])


def test_blocks_are_even_rectangles():
    assert block_shape((40, 50), 256) == (5, 50)
    assert block_shape((40, 50), 32) == (1, 25)
    assert block_shape((3, 4), 1000) == (3, 4)
    assert block_shape((7,), 3) == (3,)


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"gradient": ["mass"]}, ValueError, "needs observe"),
        ({"gradient": ["mas"], "observe": peaks}, ParameterError, "did you mean 'mass'"),
        ({"gradient": ["shape"], "observe": peaks}, ParameterError, "single numbers"),
        ({"observe": lambda run: {"status": run["x"][0]}}, ValueError, "must not use the name 'status'"),
        ({"observe": lambda run: {"promoted": run["x"][0]}}, ValueError, "must not use the name 'promoted'"),
        ({"observe": lambda run: {"a": run["nothing"]}}, KeyError, "nothing"),
        (
            LOWEST | {"variables": {"lowst": Variable("m", "low")}},
            ValueError,
            "'lowst', which .*: did you mean 'lowest'",
        ),
        ({"variables": {"low": Variable("m", "low")}}, ValueError, "'low', .*: nothing is observed"),
        ({"batch": 0}, ValueError, "batch must be"),
        ({"devices": 99}, ValueError, "devices must be"),
        ({"rtol": 0.0}, ValueError, "rtol"),
        ({"duration": np.inf}, ValueError, "duration"),
        ({"samples": 2_000_000_000_000, "duration": 1.0}, MemoryError, "one trajectory needs"),
    ],
)
def test_impossible_requests_raise(kwargs, error, message):
    with pytest.raises(error, match=message):
        ensemble(Oscillator(), {"mass": [1.0]}, **kwargs)


@pytest.mark.slow
def test_names_of_a_gradient_have_an_order():
    request = {"model": Oscillator(), "members": {"mass": M}, **QUICK}
    names = ["stiffness", "mass"]
    assert driver.plan_of({**request, "gradient": iter(names)}).job.gradient == tuple(names)
    for wrong, message in (({*names}, "because a set has no order"), (3, "list of names, such as"), ([3], "such as")):
        with pytest.raises(ValueError, match=f"gradient must be .*{message}"):
            driver.plan_of({**request, "gradient": wrong})
    assert driver.plan_of({**request, "trajectories": []}).job.trajectories is False
    with pytest.raises(ValueError, match=r"trajectories must be True, False or names .*, got \[3\]"):
        driver.plan_of({**request, "trajectories": iter([3])})


@pytest.mark.slow
def test_derivatives_that_are_all_zero_are_pointed_out():
    above = Measure("above", lambda run: jnp.mean(jnp.where(run["x"] > 0.0, 1.0, 0.0)), "1", "share of samples")
    mean = Measure("mean", lambda run: jnp.mean(run["x"]), "m", "mean position")
    request = {"duration": 2.0, "samples": 20, "observe": [above, mean], "gradient": ["mass"]}
    with pytest.warns(UserWarning, match=r"all derivatives of above are exactly 0: it is a count \(.*depend on mass"):
        found = ensemble(Oscillator(), {"mass": M}, **request)
    assert (found.above_gradient == 0.0).all() and (found.mean_gradient != 0.0).all()


@pytest.mark.slow
def test_counts_have_no_gradient():
    count = Measure("count", lambda run: jnp.sum(run["x"] > 0.0), "1", "samples beyond zero")
    end = Measure("end", lambda run: run["x"][-1], "m", "position at the end")
    request = {"model": Oscillator(), "members": {"mass": M}, **QUICK, "gradient": ["mass"]}
    with pytest.raises(ValueError, match=r"no gradient of count \(int\d+\): counts have none; observe real numbers"):
        driver.plan_of({**request, "observe": [count]})
    with pytest.warns(UserWarning, match=r"no gradient of count"):
        driver.plan_of({**request, "observe": [count, end]})


@pytest.mark.slow
def test_derivatives_through_explicit_steps_of_a_stiff_model_are_warned_of(recwarn):
    class Stiff(Oscillator):
        numerics = Numerics(stiff=True)

    request = {"model": Stiff(), "members": {"mass": M}, **QUICK, "observe": end, "max_step": None}
    stable = {"gradient": ["mass"], "solver": "Tsit5", "max_step": 1e-4}
    for others in ({"solver": "Tsit5"}, {"gradient": ["mass"]}, {"gradient": ["mass"], "solver": "Ros4"}, stable):
        driver.plan_of(request | others)
    assert not [one for one in recwarn if "explicit" in str(one.message)]
    with pytest.warns(UserWarning, match="of Stiff, which is stiff, may grow .* of Tsit5: leave out the solver"):
        driver.plan_of(request | {"gradient": ["mass"], "solver": "Tsit5"})
    with pytest.warns(UserWarning, match="of Stiff, which is stiff, may grow .* of Dopri8"):
        driver.plan_of(request | {"gradient": ["mass"], "scheme": Smooth.of(Stiff(), solver="Dopri8")})


def test_a_comparison_of_precisions_has_no_store(tmp_path):
    with pytest.raises(ValueError, match="float32_error does not take store: it runs two ensembles"):
        float32_error(Oscillator(), {"mass": M}, **QUICK, store=tmp_path / "a.zarr")


def test_a_fault_in_a_block_names_its_place(monkeypatch):
    def explode(*args):
        raise FloatingPointError("boom")

    monkeypatch.setattr(importlib.import_module("jaxgait.ensembles.plan"), "run_batch", explode)
    with pytest.raises(RuntimeError, match=r"block 0 of 1 \(mass 0\.\.1\) could not run: boom"):
        ensemble(Oscillator(), {"mass": [1.0, 2.0]}, **QUICK)


def test_the_label_of_a_parameter_needs_its_values():
    members = zipped({"stiffness": [8.0, 9.0]}, axes={"mass": [1.0, 2.0]})
    with pytest.raises(ParameterError, match="label 'mass', but no values of it"):
        ensemble(Oscillator(), members, **QUICK)


@pytest.mark.slow
def test_other_labels_of_the_same_members_are_another_scan(tmp_path):
    scan = lambda ratio: ensemble(
        Oscillator(), zipped({"mass": [1.0, 2.0]}, axes={"ratio": ratio}), **QUICK, store=tmp_path / "a.zarr"
    )
    scan([1.0, 2.0])
    with pytest.raises(StoreError, match="order of the members"):
        scan([2.0, 1.0])


@pytest.mark.slow
def test_the_error_of_float32_has_all_samples():
    error = float32_error(Oscillator(), {"mass": M}, duration=2.0, samples=70, trajectories=True)
    assert error.x.sizes["time"] == 71 and (abs(error.x) < 0.01).all()


@pytest.mark.slow
def test_members_with_unrecorded_events_are_not_complete():
    with pytest.warns(IncompleteRun, match="limit of events"):
        few = ensemble(Bungee(), {"mass": [70.0]}, duration=60.0, samples=50, trajectories=True, max_events=3)
    assert few.status.item() == Outcome.EVENT_LIMIT and few.event_time.sizes["event"] == 3
    assert few.retries.item() == 0, "they would reach the limit again"
