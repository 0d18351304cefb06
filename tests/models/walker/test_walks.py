"""Time-stepped walks: what `walk` and `walk_statistics` say against every single step of the same walk."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.walker.expected import RIGID
from jaxgait import precision
from jaxgait.models.walker.measures import SWING, heel_strikes, losses, rolling_gait, walk, walk_statistics
from jaxgait.models.walker.rigid import RigidWalker, RollingWalker
from jaxgait.parameters import ParameterError, with_parameters
from jaxgait.solve.periodic import CONVERGED
from jaxgait.solve.time_stepping import march

DT, DURATION, AFTER = 3e-4, 5.0, 2.0  # a step that divides neither a block nor the duration
STEPS = 16667  # the whole steps that reach it
WALKERS = {"sticks": (0.0, 0.5), "slips": (0.0, 0.13), "bounces": (0.3, 0.5), "falls": (0.0, 0.1)}
"""Restitution, friction."""
ROUNDING = 1e-10  # sums in another order


@pytest.fixture(scope="module")
def walks():
    """Each walk twice: as `walk` keeps it, and every step of it, with the losses."""
    changes = dict(zip(("normal_restitution", "friction"), jnp.array(list(WALKERS.values())).T, strict=True))
    model = precision.cast(RigidWalker())

    def both(change):
        walker = with_parameters(model, change)
        steps = jax.tree.map(lambda x: x[:, 0], march(walker, DT, STEPS, 1, lambda steps: steps))
        return walk(walker, DT, DURATION), steps, losses(walker, steps), jax.vmap(walker.fell)(steps.y)

    found = jax.tree.map(np.asarray, jax.jit(jax.vmap(both))(changes))
    return {name: jax.tree.map(lambda a, i=i: a[i], found) for i, name in enumerate(WALKERS)}


def strikes_of(steps, until):
    """Heel strikes step by step: a contact after `SWING` without one."""
    rows = []
    for foot in (0, 1):
        last = 0.0
        for i in np.flatnonzero((steps.impulses[2 * foot] > 0.0) & (steps.t <= until)):
            if steps.t[i] - last >= SWING:
                rows.append((i, foot + 1))
            last = steps.t[i]
    return sorted(rows)


def test_a_walk_ends_with_the_step_that_reaches_its_duration(walks):
    one, steps, _, _ = walks["sticks"]
    assert one.t[-1] == STEPS * DT
    np.testing.assert_array_equal(one.y.x[-1], steps.y.x[-1])
    assert np.diff(one.t).max() < SWING


@pytest.mark.parametrize("name", WALKERS)
def test_heel_strikes_are_those_of_the_steps(walks, name):
    one, steps, _, fell = walks[name]
    fall = steps.t[fell.argmax()] if fell.any() else np.inf
    expected = strikes_of(steps, fall)
    found = heel_strikes(one)
    index = [i for i, _ in expected]
    np.testing.assert_allclose(found[:, 0], steps.t[index], atol=ROUNDING)
    np.testing.assert_array_equal(found[:, 1], [foot for _, foot in expected])
    np.testing.assert_array_equal(found[:, 2], steps.y.x[index])


def test_a_fall_is_known_to_the_step_and_nothing_counts_after_it(walks):
    one, steps, _, fell = walks["falls"]
    statistics = walk_statistics(one)
    assert statistics.fell_at == steps.t[fell.argmax()] and fell.any()
    assert statistics.strikes.size == 0  # it falls within its first step; what touches the ground later is no stride
    assert np.isnan([statistics.period, statistics.velocity, *statistics.slip, statistics.flight]).all()
    late = one.t - np.diff(one.t, prepend=0.0) >= statistics.fell_at
    assert late.any() and all(not np.any(np.asarray(leaf)[late]) for leaf in jax.tree.leaves(one.totals))
    assert np.isinf(one.first_t[late]).all() and np.isinf(one.last_t[late]).all()


@pytest.mark.parametrize("name", ["sticks", "slips", "bounces"])
def test_per_step_figures_go_from_heel_strike_to_heel_strike(walks, name):
    one, steps, (impact, friction, slipping), _ = walks[name]
    found = walk_statistics(one, AFTER)
    index = [i for i, _ in strikes_of(steps, np.inf) if steps.t[i] > AFTER]
    count = (len(index) - 1) // 2 * 2
    part = slice(index[0], index[count])
    speed = np.abs(np.stack(steps.slips, axis=1))
    slip = DT * np.where(slipping & (speed > 1e-6), speed, 0.0)[part].sum(axis=0)
    in_the_air = (steps.impulses[0] <= 0.0) & (steps.impulses[2] <= 0.0)
    assert found.period == pytest.approx((part.stop - part.start) * DT / count, abs=ROUNDING)
    assert found.step_length == pytest.approx((steps.y.x[part.stop] - steps.y.x[part.start]) / count, abs=ROUNDING)
    assert found.slip == pytest.approx(2.0 * slip / count, abs=ROUNDING)
    assert found.flight == pytest.approx(DT * in_the_air[part].sum() / count, abs=ROUNDING)
    assert found.impact_loss == pytest.approx(-impact[part].sum() / count, abs=ROUNDING)
    assert found.friction_loss == pytest.approx(-friction[part].sum() / count, abs=ROUNDING)
    assert (name == "slips") == (max(found.slip) > 1e-4) and (name == "bounces") == (found.flight > 1e-3)


def test_walks_that_are_too_short_or_no_single_walk_are_named(walks):
    one = walks["sticks"][0]
    with pytest.raises(ValueError, match=r"ends at 5\.0001 s: give an earlier time than after = 25 s"):
        walk_statistics(one)
    assert np.isnan(walk_statistics(one, 4.9).period) and np.isinf(walk_statistics(one, 4.9).fell_at)
    with pytest.raises(ValueError, match=r"a batch of shape \(2,\)"):
        heel_strikes(jax.tree.map(lambda leaf: np.stack([leaf, leaf]), one))


def test_a_walker_that_breaks_down_has_fallen():
    """NaN is neither upright nor a gait: here a mass that tracing lets through."""
    start = jax.jit(lambda mass: walk(with_parameters(RigidWalker(), {"mass": mass}), 1e-3, 0.2))
    assert float(start(jnp.nan).fell_at) == pytest.approx(1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dt": 0.0}, "dt must be one number in s, finite and above 0 s, got 0.0"),
        ({"dt": float("nan")}, "dt must be one number in s"),
        ({"dt": 0.05}, "dt must be at most 0.015 s, a tenth of the shortest swing, got 0.05 s"),
        ({"duration": -1.0}, "duration must be one number in s"),
        ({"dt": 0.01, "duration": 0.005}, "duration must be at least one step of dt = 0.01 s, got 0.005 s"),
    ],
    ids=str,
)
def test_walks_that_cannot_be_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        walk(RigidWalker(), **arguments)


def test_a_walk_validates_its_walker():
    with pytest.raises(ParameterError, match=r"RigidWalker\.friction"):
        walk(RigidWalker(friction=-0.1), duration=0.1)
    with pytest.raises(ParameterError, match=r"RigidWalker\.mass"):
        jax.vmap(lambda mu: walk(RigidWalker(mass=-1.0, friction=mu), duration=0.1))(jnp.array([0.1, 0.2]))
    with pytest.raises(ValueError, match=r"friction has the shape \(2,\): use jax.vmap"):
        walk(with_parameters(RigidWalker(), {"friction": np.array([0.1, 0.2])}), duration=0.1)


def test_where_there_is_no_rolling_gait_its_numbers_are_nan():
    """Uphill nothing drives a walker: the iterate at which the search ended has a period all the same."""
    gaits = jax.jit(jax.vmap(lambda slope: rolling_gait(with_parameters(RollingWalker(), {"slope": slope}))))(
        jnp.array([0.01, -0.02])
    )
    assert gaits.point.status[0] == CONVERGED != gaits.point.status[1]
    found = np.stack([gaits.period, gaits.velocity, gaits.step_length, gaits.normal_impulse, gaits.lift_off])
    assert np.isfinite(found[:, 0]).all() and np.isnan(found[:, 1]).all()
    assert float(gaits.period[0]) == pytest.approx(RIGID["period"], abs=1e-7)


def test_rolling_gaits_that_cannot_be_are_named():
    with pytest.raises(ParameterError, match=r"RollingWalker\.gravity"):
        rolling_gait(RollingWalker(gravity=-9.8))
    with pytest.raises(ValueError, match="z0 must be finite"):
        rolling_gait(RollingWalker(), jnp.array([0.2, jnp.nan, -1.0]))
