"""Time-stepped walks: events, running totals and measures against every single step of the same walk; ensembles."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import ensemble, precision, simulate
from jaxgait.measure import Measures
from jaxgait.models.walker.measures import RIGID_MEASURES
from jaxgait.models.walker.rigid import RigidWalker
from jaxgait.native import looped
from jaxgait.outcome import IncompleteRun, Outcome
from jaxgait.parameters import with_parameters
from jaxgait.run import Run, Sampling
from jaxgait.solve.time_stepping import TimeStepping, march

DURATION, SAMPLES, STEPS = 5.0, 20, 16680  # 834 steps in a sample: 139 blocks of 6
DT = DURATION / STEPS
WALKERS = {"sticks": (0.0, 0.5), "slips": (0.0, 0.14), "bounces": (0.3, 0.5), "falls": (0.0, 0.1)}
"""Restitution, friction."""
ROUNDING = 1e-10  # sums in another order
SEPARATION = float(RigidWalker().separation)
MEASURES = Measures(tuple(RIGID_MEASURES.values()))


@pytest.fixture(scope="module")
def walks():
    """Each walk twice: as its trajectory with its measures, and every step of it with what it adds to the totals."""
    changes = dict(zip(("normal_restitution", "friction"), jnp.array(list(WALKERS.values())).T, strict=True))
    model, scheme = precision.cast(RigidWalker()), TimeStepping(dt=3e-4)
    sampling = Sampling.of(model, None, DURATION, SAMPLES)

    def both(change):
        walker = with_parameters(model, change)
        trajectory = scheme.run(walker, sampling, watch=("y", "energy"))
        every = jax.tree.map(lambda x: x[:, 0], march(walker, DT, STEPS, 1, lambda steps: steps))
        amounts = jax.vmap(lambda step: walker.amounts(step, DT))(every)
        energy = jax.vmap(lambda y: walker.observables(y)["energy"])(every.y)
        fell = jax.vmap(walker.fell)(every.y)
        return trajectory, MEASURES(Run(walker, trajectory, sampling)), every, amounts, energy, fell

    found = jax.tree.map(np.asarray, jax.jit(jax.vmap(looped(both)))(changes))
    return {name: jax.tree.map(lambda a, i=i: a[i], found) for i, name in enumerate(WALKERS)}


def changes_of(steps, until):
    """Steps at which a foot touches after `separation` without contact, and after which it leaves for as long."""
    rows = []
    for foot in (0, 1):
        touching = np.flatnonzero((steps.impulses[2 * foot] > 0.0) & (steps.t <= until))
        last = np.concatenate([[0.0], steps.t[touching]])
        opened = np.append(steps.t[touching], min(until, DURATION)) - last >= SEPARATION - ROUNDING
        rows += [(i, 2 * foot) for i in touching[opened[:-1]]]
        rows += [(i, 2 * foot + 1) for i in touching[opened[1:]]]
    return sorted(rows)


def fall(steps, fell):
    return steps.t[fell.argmax()] if fell.any() else np.inf


@pytest.mark.parametrize("name", WALKERS)
def test_events_are_those_of_the_steps(walks, name):
    trajectory, _, steps, amounts, _, fell = walks[name]
    expected = changes_of(steps, fall(steps, fell))
    found, count = trajectory.events, len(expected)
    index = [i for i, _ in expected]
    assert np.isnan(found.t[count:]).all() and (found.kind[count:] == -1).all()
    np.testing.assert_allclose(found.t[:count], steps.t[index], atol=ROUNDING)
    np.testing.assert_array_equal(found.kind[:count], [kind for _, kind in expected])
    np.testing.assert_allclose(np.stack(found.after)[:, :count], np.stack(steps.y)[:, index], atol=ROUNDING)
    np.testing.assert_allclose(
        np.stack(found.before)[:, :count], np.stack(steps.y)[:, np.array(index, int) - 1], atol=ROUNDING
    )
    for total, values in amounts.items():
        until = np.cumsum(values) - values
        np.testing.assert_allclose(found.totals[total][:count], until[index], atol=ROUNDING)
        np.testing.assert_allclose(found.amounts[total][:count], values[index], atol=ROUNDING)


@pytest.mark.parametrize("name", ["sticks", "slips", "bounces"])
def test_samples_totals_and_extremes_are_those_of_the_steps(walks, name):
    trajectory, _, steps, amounts, energy, _ = walks[name]
    assert trajectory.status == Outcome.COMPLETED and trajectory.t_end == DURATION and trajectory.steps == STEPS
    np.testing.assert_array_equal(trajectory.ts, np.linspace(0.0, DURATION, SAMPLES + 1))
    every = slice(STEPS // SAMPLES - 1, None, STEPS // SAMPLES)
    np.testing.assert_allclose(np.stack(trajectory.ys)[:, 1:], np.stack(steps.y)[:, every], atol=ROUNDING)
    for total, values in amounts.items():
        np.testing.assert_allclose(trajectory.totals[total][1:], np.cumsum(values)[every], atol=ROUNDING)
    assert trajectory.extremes["energy"].least == pytest.approx(energy.min(), abs=ROUNDING)
    assert trajectory.extremes["y"].largest == pytest.approx(steps.y.y.max(), abs=ROUNDING)


def test_a_fall_is_known_to_the_step_and_nothing_counts_after_it(walks):
    trajectory, measured, steps, _amounts, energy, fell = walks["falls"]
    first = fell.argmax()
    assert fell.any() and trajectory.t_end == pytest.approx(steps.t[first], abs=ROUNDING)
    assert measured["fell_at"] == trajectory.t_end and trajectory.steps == first + 1
    assert np.isnan([measured["step_period"], measured["velocity"], *measured["slip"], measured["flight"]]).all()
    reached = trajectory.ts <= trajectory.t_end
    assert np.isnan(trajectory.ys.x[~reached]).all() and np.isnan(trajectory.totals["impulse_1"][~reached]).all()
    assert trajectory.y_end.x == pytest.approx(steps.y.x[first], abs=ROUNDING)
    assert trajectory.extremes["energy"].least == pytest.approx(energy[: first + 1].min(), abs=ROUNDING)


@pytest.mark.parametrize("name", ["sticks", "slips", "bounces"])
def test_per_step_figures_go_from_heel_strike_to_heel_strike(walks, name):
    _, found, steps, amounts, _, _ = walks[name]
    strikes = [(i, kind) for i, kind in changes_of(steps, np.inf) if kind in (0, 2) and steps.t[i] > DURATION / 2]
    count = (len(strikes) - 1) // 2 * 2
    index = np.array([i for i, _ in strikes[: count + 1]])
    feet = np.array([kind // 2 for _, kind in strikes[:count]])
    part = slice(index[0], index[-1])
    total = {name: values[part].sum() / count for name, values in amounts.items()}
    length, period = (steps.y.x[index[-1]] - steps.y.x[index[0]]) / count, (index[-1] - index[0]) * DT / count
    impulse = np.stack(steps.impulses[::2])[feet, index[:-1]].mean()
    periods = [DT * np.diff(index)[feet == foot].mean() for foot in (0, 1)]
    expected = {
        "step_period": period,
        "step_length": length,
        "velocity": length / period,
        "impulse": impulse,
        "alternate_periods": periods,
        "slip": [2.0 * total["slipped_1"], 2.0 * total["slipped_2"]],
        "flight": total["flight_time"],
        "impact_loss": -total["impact_work"],
        "friction_loss": -total["friction_work"],
    }
    for figure, value in expected.items():
        np.testing.assert_allclose(found[figure], value, atol=ROUNDING, err_msg=figure)
    assert (name == "slips") == (max(found["slip"]) > 1e-4) and (name == "bounces") == (found["flight"] > 1e-3)


QUICK = {"duration": 3.0, "dt": 1e-3, "samples": 10}
NAMES = ["step_length", "slip", "flight", "impact_loss", "fell_at"]


@pytest.mark.slow
def test_members_that_fall_do_not_spoil_the_others():
    scan = ensemble(RigidWalker(), {"friction": [0.1, 0.5, 0.05]}, observe=NAMES, **QUICK)
    alone = ensemble(RigidWalker(), {"friction": [0.5]}, observe=NAMES, **QUICK)
    np.testing.assert_array_equal(scan.status != 0, [True, False, True])
    assert np.isfinite(scan.fell_at[[0, 2]]).all() and np.isnan(scan.step_length[[0, 2]]).all()
    assert float(scan.step_length[1]) == pytest.approx(float(alone.step_length[0]), rel=1e-12)
    assert np.isnan(scan.fell_at[1]) and scan.slip.dims == ("friction", "foot") and list(scan.foot) == [1, 2]


@pytest.mark.slow
def test_a_store_is_resumed_and_measures_do_not_depend_on_the_samples(tmp_path):
    members, store = {"friction": [0.3, 0.5]}, tmp_path / "scan.zarr"
    few = ensemble(RigidWalker(), members, observe=NAMES, store=store, batch=1, **QUICK)
    again = ensemble(RigidWalker(), members, observe=NAMES, store=store, batch=1, **QUICK)
    many = ensemble(RigidWalker(), members, observe=NAMES, **QUICK | {"samples": 300})
    for name in NAMES:
        np.testing.assert_array_equal(again[name], few[name])
        np.testing.assert_allclose(few[name], many[name], rtol=1e-6, atol=1e-9, err_msg=name)


def test_labelled_results():
    run = simulate(RigidWalker(), **QUICK)
    assert run.attrs["scheme"] == "TimeStepping" and run.attrs["dt_s"] == 1e-3 and run.attrs["steps"] == 3000
    assert list(run.event_name.values[:3]) == ["foot 1 leaves", "foot 2 touches", "foot 2 leaves"]
    struck = run.isel(event=1)
    assert float(struck.impulse_2_after - struck.impulse_2_before) == pytest.approx(0.36, abs=0.02)
    assert run.flight_time.attrs["units"] == "s" and run.impulse_1.attrs["units"] == "N s"
    weight = 2 * 9.8 * np.cos(0.01) * 3.0
    assert float(run.impulse_1[-1] + run.impulse_2[-1]) == pytest.approx(weight, rel=0.02)


def test_single_precision_walks_as_well():
    run = simulate(RigidWalker(), precision="float32", **QUICK)
    assert run.x.dtype == np.float32
    reference = simulate(RigidWalker(), **QUICK)
    np.testing.assert_allclose(run.event_time[:4], reference.event_time[:4], atol=2e-3)


def test_a_gradient_raises_with_alternatives():
    with pytest.raises(ValueError, match=r"no gradient: the moment .* EventDriven \(RollingWalker\) has it"):
        ensemble(RigidWalker(), {"slope": [0.01]}, observe=["velocity"], gradient=["slope"], **QUICK)


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "gravity"), [(10.0, 1.6), (0.02, 9.8)])
def test_similar_walkers_walk_alike(scale, gravity):
    """Lengths in units of the leg, times in units of sqrt(leg / gravity): a heel strike is one at any size."""

    def walk(scale, gravity):
        unit = np.sqrt(scale * 9.8 / gravity)
        lengths = {"leg_length": 0.4, "foot_radius": 0.1, "com_offset": 0.1, "start.y": 0.394}
        speeds = {"start.vx": 0.591 / unit, "start.vy": 0.089 / unit}
        rates = {"start.omega_1": -1.5 / unit, "start.omega_2": -1.0 / unit}
        changes = {name: scale * x for name, x in (lengths | speeds).items()} | rates
        walker = with_parameters(
            RigidWalker(), changes | {"inertia": 0.008 * scale**2, "gravity": gravity, "normal_restitution": 0.8}
        )
        seen = ("step_period", "step_length")
        run = simulate(walker, duration=4.0 * unit, samples=100, dt=5e-4 * unit, observe=seen)
        return run.sizes["event"], float(run.step_period) / unit, float(run.step_length) / scale

    events, period, length = walk(scale, gravity)
    expected = walk(1.0, 9.8)
    assert events == expected[0] > 15
    np.testing.assert_allclose((period, length), expected[1:], rtol=1e-3)  # bounces amplify rounding


@pytest.mark.slow
def test_a_member_too_fast_for_the_step_gives_up_alone():
    with pytest.warns(IncompleteRun, match="shorten the steps"):
        found = ensemble(RigidWalker(), {"gravity": [9.8, 160.0]}, duration=1.0, samples=10, dt=5e-3)
    assert found.status.values.tolist() == [Outcome.COMPLETED, Outcome.EVENT_NOT_LOCATED]
