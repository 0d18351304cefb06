"""Prescribed motions: smooth ones, whatever their speed, and those that no joint can follow."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import simulate
from jaxgait.mechanics.spatial import Link, hinge
from jaxgait.models.tree import PrescribedJoint, Sampled, TreeModel
from jaxgait.models.tree.motions import jumps
from jaxgait.parameters import ParameterError
from jaxgait.plot.scene import scene

TIME = np.linspace(0.0, 1.0, 41)
ANGLE = 0.5 * np.sin(2.0 * np.pi * TIME)
SPLINE = 2e-5
"""Error in rad of a cubic spline through these samples: 5/384 h^4 of the fourth derivative, and more at its ends."""
FOLLOWED = 1e-7
"""Error in rad of an integrated coordinate whose law is known."""


def leg(law, duration=1.0):
    rod = {"mass": 1.0, "com": (0.0, 0.0, -0.3), "inertia": np.diag([0.02, 0.02, 0.01])}
    links = [
        Link("thigh", None, hinge((0, 1, 0)), **rod),
        Link("shank", "thigh", hinge((0, 1, 0)), offset=(0, 0, -0.5), **rod),
    ]
    return TreeModel(links, drives={"knee": PrescribedJoint("shank", law)}, start={"thigh": 0.3}, duration=duration)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "message"),
    [
        (lambda t: jnp.interp(t, TIME, ANGLE), r"the rate of the motion of 'shank' jumps by 0.492 rad/s at 0.[27]5 s"),
        (lambda t: jnp.where(t < 0.5, 0.0, 0.4), "the motion of 'shank' jumps by 0.4 rad at 0.5 s"),
        (
            lambda t: jnp.maximum(t - 0.7, 0.0),
            r"the rate of the motion of 'shank' jumps by 1 rad/s at 0.7 s: .* Sampled",
        ),
        (lambda t: t - jnp.floor(t / 0.3), "the motion of 'shank' jumps by 1 rad at 0.[369] s"),
        (Sampled(0.5 * TIME, ANGLE), "the motion of 'shank' is not finite at 0.50.* s: prescribe"),
    ],
)
def test_a_motion_that_no_joint_can_follow_is_an_error(law, message):
    with pytest.raises(ParameterError, match=rf"TreeModel: drives\['knee'\]: {message}"):
        simulate(leg(law))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "duration"),
    [
        (lambda t: 0.1, 3.0),
        (lambda t: 0.1 * jnp.sin(t) ** 2 + 0.1 * jnp.cos(t) ** 2, 3.0),  # constant, but for rounding
        (lambda t: 1e5 + 0.1 * jnp.sin(t), 10.0),
        (lambda t: jnp.sin(200.0 * 2.0 * jnp.pi * t), 60.0),  # dozens of periods in each interval
        (lambda t: jnp.tanh((t - 0.31234) / 1e-5), 10.0),
        (lambda t: jnp.maximum(t - 0.7, 0.0) ** 2, 1.0),  # only the acceleration jumps
        (Sampled(TIME, ANGLE), 1.0),
        (Sampled(TIME, ANGLE, periodic=True), 7.3),
    ],
)
def test_smooth_motions_do_not_jump(law, duration):
    found = jax.jit(lambda: jumps(PrescribedJoint("a", law).at, duration))()
    assert not np.any(found.size) and found.undefined == np.inf


def test_a_law_that_is_traced_is_not_probed():
    def angle(amplitude):
        model = leg(lambda t: amplitude * jnp.sin(t))
        model.validate()
        return model.loads(1.0, model.initial_state()).q[1]

    assert float(jax.grad(angle)(0.2)) == pytest.approx(np.sin(1.0))


@pytest.mark.slow
def test_samples_are_followed():
    """In the run, its results and its film, as the function that was sampled."""
    model = leg(Sampled(TIME, ANGLE, periodic=True))
    run = simulate(model, samples=20)
    expected = 0.5 * np.sin(2.0 * np.pi * run.time)
    np.testing.assert_allclose(run.shank_angle, expected, atol=SPLINE)
    np.testing.assert_allclose(run.shank_rate, np.pi * np.cos(2.0 * np.pi * run.time), atol=1e-3)
    np.testing.assert_allclose(run.q.sel(coordinate="shank"), run.shank_angle, atol=FOLLOWED)
    np.testing.assert_allclose(run.v.sel(velocity="shank"), run.shank_rate, atol=1e-4)
    stale = run.assign(q=run.q.where(run.coordinate != "shank", 0.0))
    (angles,) = (one for one in scene(stale, model).curves if one.name == "joint angles")
    np.testing.assert_allclose(angles.values["shank"], np.degrees(run.shank_angle), atol=1e-9)


def test_the_spline_is_scipys():
    from scipy.interpolate import CubicSpline

    at = np.linspace(0.0, 1.0, 77)
    uneven = TIME**1.3
    for bc, periodic in (("not-a-knot", False), ("periodic", True)):
        x = np.append(ANGLE[:-1], ANGLE[0])
        joint, peer = PrescribedJoint("a", Sampled(uneven, x, periodic=periodic)), CubicSpline(uneven, x, bc_type=bc)
        for k, found in enumerate(jax.vmap(joint.at)(jnp.asarray(at))):
            np.testing.assert_allclose(found[:-1], peer(at, k)[:-1], atol=1e-10 * 50**k)
    assert np.isnan(Sampled(TIME, ANGLE)(1.1)) and float(Sampled(TIME, ANGLE)(1.0)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("time", "values", "message"),
    [
        (TIME, ANGLE[:-1], r"a time for each of at least four samples, got the shapes \(41,\), \(40,\)"),
        (TIME[:3], ANGLE[:3], "at least four samples"),
        (TIME[::-1], ANGLE, "their times must increase"),
        (TIME, np.full(41, np.nan), "must be finite"),
        (TIME, TIME, "must repeat the first one, 0, a period later; it is 1"),
    ],
)
def test_samples_that_make_no_spline_are_named(time, values, message):
    with pytest.raises(ParameterError, match=message):
        Sampled(time, values, periodic=True)
