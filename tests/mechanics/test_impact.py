"""Impacts of trees: against the impact equations of walkers, and the balances of momentum."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.mechanics.spatial import (
    Link,
    Points,
    Tree,
    fixed,
    free,
    hinge,
    kinematics,
    momentum,
    planar,
    plastic_impact,
    point_motion,
)
from jaxgait.models.tree import LockedJoint, PrescribedJoint, TreeModel

TURN = hinge((0, 1, 0))
LEG, HIP, A, B = 5.0, 10.0, 0.5, 0.5  # kg, kg, m, m
FOOT = jnp.array([[0.0, 0.0, -(A + B)]])
ROUND = 1e-11


def compass(leg=LEG, hip=HIP):
    """Two legs with point masses, and a mass at the hip."""
    return [
        Link("stance", None, planar(), mass=leg, com=(0.0, 0.0, A)),
        Link("hip", "stance", fixed(), mass=hip, offset=(0.0, 0.0, A + B)),
        Link("swing", "hip", TURN, mass=leg, com=(0.0, 0.0, -B)),
    ]


def struck(links, angle, rates, **options):
    """Rates of both legs after a foot has landed: of the one that landed, and of the other."""
    q = jnp.array([0.0, 0.0, angle, -2.0 * angle])
    v = jnp.array([0.0, 0.0, rates[0], rates[1] - rates[0]])
    found = plastic_impact(Tree.build(*links), q, v, Points((2,), FOOT), **options)
    return found.v[2] + found.v[3], found.v[2]


def test_a_compass_strikes_as_goswami_derived():
    """From the angular momenta about the new foot, and of the trailing leg about the hip (Goswami et al. 1998)."""
    angle, stance, swing = 0.27, 1.1, 0.3
    cos, length = np.cos(2 * angle), A + B
    before = np.array(
        [[-LEG * A * B, -LEG * A * B + (HIP * length**2 + 2 * LEG * A * length) * cos], [0.0, -LEG * A * B]]
    )
    after = np.array(
        [
            [LEG * B * (B - length * cos), LEG * length * (length - B * cos) + LEG * A**2 + HIP * length**2],
            [LEG * B**2, -LEG * B * length * cos],
        ]
    )
    trailing, landed = np.linalg.solve(after, before @ [swing, stance])
    np.testing.assert_allclose(struck(compass(), angle, (stance, swing)), [landed, trailing], atol=ROUND)


def test_the_simplest_walker_strikes_as_garcia_derived():
    """Feet of vanishing mass (Garcia et al. 1998): the stance rate falls by the cosine of the legs' angle."""
    angle, stance = 0.2, 0.9
    links = [
        Link("stance", None, planar(), mass=1e-7),
        Link("hip", "stance", fixed(), mass=1.0, offset=(0.0, 0.0, 1.0)),
        Link("swing", "hip", TURN, mass=1e-7, com=(0.0, 0.0, -1.0)),
    ]
    landed, trailing = struck(links, angle, (stance, -0.4))
    cos = np.cos(2 * angle)
    np.testing.assert_allclose(landed, stance * cos, rtol=1e-5)
    np.testing.assert_allclose(landed - trailing, stance * cos * (1 - cos), atol=1e-5)


@pytest.mark.slow
def test_impulses_balance_the_momentum_and_the_points_stop():
    """In space, of a floating tree with two points, sticking and on ice."""
    rod = {"mass": 2.0, "com": (0.1, 0.0, -0.2), "inertia": np.diag([0.03, 0.04, 0.02])}
    links = [Link("a", None, free(), **rod), Link("b", "a", TURN, offset=(0.0, 0.1, -0.4), **rod)]
    tree, points = Tree.build(*links), Points((0, 1), jnp.array([[0.2, 0.1, -0.3], [0.0, -0.2, -0.4]]))
    q = jnp.array([0.9, 0.1, -0.3, 0.3, 0.0, 0.0, 0.5, 0.4])
    q = q.at[:4].set(q[:4] / jnp.linalg.norm(q[:4]))
    v = jnp.array([0.3, -0.5, 0.2, 0.4, 0.1, -1.0, 0.7])
    old = momentum(tree, kinematics(tree, q, v))
    for sticking in (True, False):
        found = plastic_impact(tree, q, v, points, sticking=sticking)
        new = momentum(tree, kinematics(tree, q, found.v))
        position, velocity = point_motion(kinematics(tree, q, found.v), points)
        np.testing.assert_allclose(velocity[:, 0 if sticking else 2 :], 0.0, atol=1e-9)
        np.testing.assert_allclose(new.linear - old.linear, found.impulse.sum(axis=0), atol=1e-9)
        moments = np.cross(np.asarray(position) - np.asarray(new.com), found.impulse).sum(axis=0)
        np.testing.assert_allclose(new.angular - old.angular, moments, atol=1e-9)
        assert bool((found.impulse[:, :2] == 0.0).all()) is not sticking


@pytest.mark.slow
def test_two_points_of_one_foot_stop_it():
    """Four conditions on three velocities: the impulses are not unique, the velocities are."""
    tree = Tree.build(Link("foot", None, planar(), mass=1.0, inertia=0.01 * np.eye(3)))
    points = Points((0, 0), jnp.array([[0.1, 0.0, -0.05], [-0.1, 0.0, -0.05]]))
    v = jnp.array([0.4, -1.0, 0.3])
    found = plastic_impact(tree, jnp.array([0.0, 0.05, 0.0]), v, points)
    np.testing.assert_allclose(found.v, 0.0, atol=1e-9)
    np.testing.assert_allclose(found.impulse.sum(axis=0), [-0.4, 0.0, 1.0], atol=1e-9)


@pytest.mark.slow  # several programs of a tree are compiled
def test_impacts_have_derivatives_and_batches():
    after = lambda angle, leg: jnp.stack(struck(compass(leg), angle, (1.1, 0.3)))
    for at, index in ((0.27, 0), (LEG, 1)):
        other = lambda x, index=index: after(*((x, LEG) if index == 0 else (0.27, x)))
        difference = (other(at + 1e-6) - other(at - 1e-6)) / 2e-6
        np.testing.assert_allclose(jax.jacfwd(other)(at), difference, rtol=1e-7)
        np.testing.assert_allclose(jax.jacrev(other)(at), difference, rtol=1e-7)
    angles = jnp.array([0.1, 0.27])
    many = jax.vmap(lambda x: after(x, LEG))(angles)
    np.testing.assert_allclose(many[1], after(0.27, LEG), atol=ROUND)


@pytest.mark.slow
def test_a_model_keeps_prescribed_motions_and_frees_the_other_foot():
    pins = {"x": LockedJoint("stance.x"), "z": LockedJoint("stance.z")}
    model = TreeModel(compass(), drives=pins, start={"stance.x": 0.5, "stance.turn_y": 0.27, "swing": -0.54})
    y = model.initial_state()
    y = y._replace(v=jnp.array([0.0, 0.0, 1.1, -0.8]))
    landed, foot = model.after_impact(y, "swing", FOOT[0]), ("stance.x", "stance.z")
    assert float(y.q[0]) == 0.5 and not np.asarray(landed.v[:2]).any()
    freed = model.after_impact(y, "swing", FOOT[0], released=foot)
    np.testing.assert_allclose((freed.v[2] + freed.v[3], freed.v[2]), struck(compass(), 0.27, (1.1, 0.3)), atol=ROUND)
    np.testing.assert_array_equal(model.vector_field(0.0, y).q[:2], 0.0)
    driven = TreeModel(compass(), drives={"hip": PrescribedJoint("swing", lambda t: 0.1 + 0.2 * t)})
    assert float(driven.after_impact(driven.initial_state(), "swing", FOOT[0]).v[3]) == pytest.approx(0.2)
    with pytest.raises(ValueError, match="after_impact: no body 'foot'; choose one of stance, hip, swing"):
        model.after_impact(y, "foot")
    with pytest.raises(
        ValueError, match=r"'stance\.x' is prescribed, including its start: leave it out of start_rates"
    ):
        TreeModel(compass(), drives=pins, start_rates={"stance.x": 0.1})


@pytest.mark.slow
@pytest.mark.parametrize("form", [np.array, jnp.array])
def test_velocities_before_an_impact_may_be_whole_numbers_and_arrays_of_numpy(form):
    about_centre = np.diag([1.0, 1.0, 0.0]) / 12  # a rod of 1 kg and 1 m, level, that falls at 2 m/s on its end
    rod = Tree.build(Link("rod", None, planar(), mass=1.0, inertia=about_centre))
    found = plastic_impact(rod, form([0, 0, 0]), form([0, -2, 0]), Points((0,), jnp.array([[0.5, 0.0, 0.0]])))
    np.testing.assert_allclose(found.v, [0.0, -1.5, -3.0], atol=ROUND)
