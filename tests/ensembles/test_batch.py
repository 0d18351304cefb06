"""What compiles, and what does not: numbers are arguments of a program, for every scheme."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import ensemble, simulate
from jaxgait.ensembles import batch
from jaxgait.measure import Measure, MeasureError, known
from jaxgait.models import Bungee, Creeper, RollingWalker
from jaxgait.native import stored
from jaxgait.outcome import FIRST_TERMINATION
from jaxgait.parts import with_parts
from tests.oscillator import Oscillator
from tests.solve.test_event_driven import Bouncing
from tests.solve.test_marching import Thrown
from tests.solve.test_time_stepping import Ball

END = Measure("end", lambda run: run.trajectory.t_end, "s", "end", interval=0.5)
FIXED = {"duration": 0.04, "samples": 4, "dt": 1e-3}
CASES = {
    "Smooth": (
        Oscillator(),
        {"mass": [1.0, 2.0]},
        {"duration": 1.0, "samples": 8, "rtol": 1e-5, "max_step": 0.1, "observe": [END]},
        [{"rtol": 1e-6}, {"atol": 1e-5}, {"max_step": 0.2}, {"duration": 1.5}],
    ),
    "EventDriven": (
        Bouncing(),
        {"e": [0.7, 0.8]},
        {"duration": 0.6, "samples": 8, "dt": 1e-2, "observe": [END]},
        [{"dt": 2e-2}, {"duration": 0.7}],
    ),
    "TimeStepping": (Ball(), {"height": [0.01, 0.02]}, FIXED, [{"dt": 1.01e-3}, {"duration": 0.039}]),
    "Marching": (Thrown(), {"speed": [1.0, 2.0]}, FIXED, [{"dt": 1.01e-3}, {"duration": 0.039}]),
}


@pytest.mark.parametrize("scheme", CASES)
def test_other_numbers_compile_nothing(scheme, compilations):
    model, members, request, others = CASES[scheme]
    first = ensemble(model, members, **request)
    assert first.attrs["scheme"] == scheme and len(compilations) >= 1
    compilations.clear()
    found = [ensemble(model, members, **{**request, **other}) for other in others]
    ensemble(model, {name: 1.1 * np.asarray(x) for name, x in members.items()}, **request)
    assert not compilations
    np.testing.assert_array_equal(
        [run.t_end.values[0] for run in found], [{**request, **o}["duration"] for o in others]
    )
    assert first.steps.values.tolist() == ensemble(model, members, **request).steps.values.tolist()


def test_members_are_compiled_even_if_jit_is_disabled():
    model, members, request, _ = CASES["Smooth"]
    with jax.disable_jit():
        found = ensemble(model, members, **request)
    np.testing.assert_array_equal(found.x_end, ensemble(model, members, **request).x_end)


def test_tolerances_reach_the_solver(compilations):
    model, members, request, _ = CASES["Smooth"]
    runs = [ensemble(model, members, **{**request, "max_step": 1.0, "rtol": r, "atol": r}) for r in (1e-3, 1e-7)]
    assert (runs[1].steps > 2 * runs[0].steps).all()
    exact = np.cos(np.sqrt(8.0 / np.array(members["mass"])))
    assert abs(runs[1].x_end - exact).max() < 1e-6 < abs(runs[0].x_end - exact).max()


def test_one_trajectory_compiles_nothing_for_other_numbers(compilations):
    simulate(Oscillator(), duration=1.0, samples=8, rtol=1e-5)
    compilations.clear()
    run = simulate(Oscillator(mass=1.5), duration=1.25, samples=8, rtol=1e-6)
    assert not compilations and run.time[-1] == 1.25


def test_counts_and_options_that_come_and_go_are_other_programs(compilations):
    model, members, request, _ = CASES["Marching"]
    ensemble(model, members, **request)
    for other in ({"samples": 5}, {"duration": 0.08}, {"observe": END}):
        compilations.clear()
        ensemble(model, members, **{**request, **other})
        assert compilations, other


class Tabled(Oscillator):
    """With whole numbers in an array of any shape."""

    table: np.ndarray = eqx.field(default_factory=lambda: np.arange(4))


@pytest.mark.slow
def test_the_shape_of_an_array_makes_another_program():
    observe = lambda run: {"rows": run["x"][-1] * 0.0 + len(run.model.table)}
    tables = (np.arange(4), np.arange(4).reshape(2, 2))
    found = [ensemble(Tabled(table=t), {"mass": [1.0, 2.0]}, duration=0.1, observe=observe) for t in tables]
    assert [run.rows.values.tolist() for run in found] == [[4.0, 4.0], [2.0, 2.0]]


def test_code_that_decides_by_a_number_is_compiled_for_each(compilations):
    def late(run):
        return {"late": jnp.asarray(1.0 if run.sampling.duration > 0.0395 else 0.0) + 0.0 * run["x"][0]}

    model, members, request, _ = CASES["Marching"]
    found = [ensemble(model, members, **{**request, "duration": d, "observe": late}) for d in (0.039, 0.04)]
    assert [run.late.values.tolist() for run in found] == [[0.0, 0.0], [1.0, 1.0]]
    compilations.clear()
    ensemble(model, members, **request, observe=late)
    assert not compilations


def test_a_program_is_traced_once_for_its_shapes_and_itself(compilations):
    traces = []
    observe = lambda run: {"x": run["x"][-1], **dict.fromkeys([], traces.append(1))}
    model, members, request, _ = CASES["Marching"]
    ensemble(model, members, **request, observe=observe)
    assert len(traces) == 1


class Named(Exception):
    """Stands for a program that would be traced now: its name on disk."""


@pytest.fixture
def name_of(monkeypatch, tmp_path):
    """What the program of a run is called on disk; nothing is traced."""
    monkeypatch.setenv("JAXGAIT_CACHE", str(tmp_path))

    def traced(function, given, assured, name):
        raise Named(name)

    monkeypatch.setattr(stored, "_traced", traced)

    def observe(run):
        with pytest.raises(Named) as found:
            run()
        (name,) = found.value.args
        assert name is not None
        return name

    return observe


@pytest.mark.slow
def test_programs_that_differ_have_different_names_on_disk(name_of):
    """A name that two programs share would give the results of the one for the other."""
    model, plain = Bungee(), {"duration": 1.0, "samples": 8}
    same = [{}, {"rtol": 1e-5}, {"atol": 1e-4}, {"duration": 2.0}]
    other = [{"samples": 9}, {"solver": "Verner8"}, {"solver": "Dopri8"}, {"max_steps": 77}, {"precision": "float32"}]
    other += [{"max_step": 0.1}, {"max_events": 3}, {"initial_state": model.initial_state()}]
    names = [name_of(lambda o=o: simulate(model, **(plain | o))) for o in same + other]
    assert len({*names[: len(same)]}) == 1 and len({*names}) == 1 + len(other)
    assert name_of(lambda: simulate(Bungee(mass=60.0), **plain)) == names[0]
    others = [with_parts(model, {"rope": "Hertz"}), Creeper(), RollingWalker()]
    assert len({*names, *(name_of(lambda m=m: simulate(m, **plain)) for m in others)}) == len({*names}) + len(others)


@pytest.mark.slow
def test_ensembles_that_differ_have_different_names_on_disk(name_of):
    model, members = Bungee(), {"mass": [60.0, 70.0]}
    first, second = list(known(model))[:2]
    asked = {"duration": 1.0, "samples": 8, "observe": [first]}
    changes = [{}, {"samples": 9}, {"observe": [second]}, {"gradient": ["mass"]}, {"trajectories": True}]
    changes += [{"solver": "Verner8"}, {"max_steps": 99}, {"precision": "float32"}]
    names = [name_of(lambda c=c: ensemble(model, members, **(asked | c))) for c in changes]
    names += [name_of(lambda: ensemble(model, {"stiffness": [20.0, 25.0]}, **asked))]
    assert len({*names}) == len(names)
    assert name_of(lambda: ensemble(model, members, **(asked | {"rtol": 1e-5}))) == names[0]


def test_the_error_of_a_measure_that_branches_names_the_remedy():
    request = {"duration": 1.0, "samples": 10, "observe": lambda run: {"deep": 1.0 if run["x"][-1] > 0.0 else 0.0}}
    with pytest.raises(MeasureError, match=r"the function `observe` needs a value .* \(line \d+ of .*test_batch.py"):
        ensemble(Bungee(), {"mass": [60.0, 80.0]}, **request)


def end_and_drop(run):
    return {"end": jnp.stack([run["x"][-1], run["v"][-1]]), "drop": run["x"][-1] - run["x"][0]}


@pytest.mark.slow
def test_derivatives_by_many_parameters_are_those_by_few_of_them(monkeypatch):
    """They are computed in groups, each beside a run of its own."""
    run = {"duration": 1.5, "samples": 8, "observe": end_and_drop}
    few, many = ["initial.x", "stiffness"], ["mass", "stiffness", "initial.x"]
    breaks = Oscillator(limit=0.5)  # of the members, one ends early: its results and derivatives are NaN
    some = ensemble(breaks, {"mass": [1.0, 9.0]}, **run, gradient=few)
    assert some.status.values.tolist() == [FIRST_TERMINATION, 0]
    monkeypatch.setattr(batch, "DIRECTIONS_TOGETHER", 2)
    monkeypatch.setattr(batch, "DIRECTIONS_PER_LANE", 2)
    grouped = ensemble(breaks, {"mass": [1.0, 9.0]}, **run, gradient=many)
    for name in ("end_gradient", "drop_gradient"):
        np.testing.assert_allclose(grouped[name].sel(parameter=few), some[name], rtol=1e-9)
    np.testing.assert_array_equal(grouped.x_end, some.x_end)
