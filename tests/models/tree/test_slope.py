"""Trees on a slope: against the equations of a walker in level axes, a sliding block, and the energy balance."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import simulate
from jaxgait.mechanics.contact import UnilateralSpring
from jaxgait.mechanics.friction import Coulomb
from jaxgait.mechanics.spatial import (
    Link,
    Tree,
    energy,
    fixed,
    forward_dynamics,
    free,
    hinge,
    kinematics,
    planar,
    prismatic,
)
from jaxgait.models.tree import ContactPoint, TreeModel
from jaxgait.models.tree.scene import ABOVE, ASIDE
from jaxgait.parameters import ParameterError, parameters
from jaxgait.plausible import ImplausibleValue
from jaxgait.plot.scene import Limb, scene, seen

G, SLOPE = 9.81, 0.2
TURN = hinge((0, 1, 0))
LEG, HIP, A, B = 5.0, 10.0, 0.5, 0.5  # kg, kg, m, m: Goswami, Thuilot and Espiau 1998
ROUND = 1e-11


def compass(**options):
    """Two legs with point masses, and a mass at the hip; the stance leg turns about its foot."""
    links = [
        Link("stance", None, TURN, mass=LEG, com=(0.0, 0.0, A)),
        Link("hip", "stance", fixed(), mass=HIP, offset=(0.0, 0.0, A + B)),
        Link("swing", "hip", TURN, mass=LEG, com=(0.0, 0.0, -B)),
    ]
    return TreeModel(links, slope=SLOPE, **options)


def test_a_walker_on_a_slope_obeys_the_equations_in_level_axes():
    """M acc + N rates + G = 0 of Goswami et al. (1998), whose angles are from the vertical, positive backward."""
    q, v = jnp.array([0.15, -0.6]), jnp.array([0.7, -1.3])
    s, ns = -(q[0] + SLOPE), -(q[0] + q[1] + SLOPE)
    ds, dns = -v[0], -(v[0] + v[1])
    length, cos, sin = A + B, jnp.cos(s - ns), jnp.sin(s - ns)
    mass = jnp.array(
        [[LEG * B**2, -LEG * length * B * cos], [-LEG * length * B * cos, (HIP + LEG) * length**2 + LEG * A**2]]
    )
    rates = LEG * length * B * sin * jnp.array([ds**2, -(dns**2)])
    weight = G * jnp.array([LEG * B * jnp.sin(ns), -(HIP * length + LEG * A + LEG * length) * jnp.sin(s)])
    acc = jnp.linalg.solve(mass, -rates - weight)
    model = compass()
    found = model.vector_field(0.0, model.initial_state()._replace(q=q, v=v)).v
    np.testing.assert_allclose([-(found[0] + found[1]), -found[0]], acc, atol=ROUND)


@pytest.mark.slow
def test_energy_is_conserved_on_a_slope():
    run = simulate(compass(start={"stance": 0.1, "swing": -0.5}), duration=1.0, samples=50)
    assert np.ptp(run.energy.values) < 1e-6 * float(run.kinetic_energy.max())
    height = run.com.values @ [-np.sin(SLOPE), 0.0, np.cos(SLOPE)]
    np.testing.assert_allclose(run.energy - run.kinetic_energy, (2 * LEG + HIP) * G * height, rtol=1e-9)


@pytest.mark.slow
def test_a_block_slides_down_with_the_force_of_its_friction():
    box = Link("box", None, planar(), mass=2.0, inertia=np.eye(3))
    sole = ContactPoint("box", UnilateralSpring(1e5), Coulomb(0.1))
    sunk = -2.0 * G * np.cos(SLOPE) / 1e5
    model = TreeModel([box], contacts={"sole": sole}, start={"box.z": sunk}, slope=SLOPE)
    run = simulate(model, duration=0.5, samples=20)
    np.testing.assert_allclose(run.sole_force, 2.0 * G * np.cos(SLOPE), rtol=1e-6)
    np.testing.assert_allclose(run.box_x_rate[-1], 0.5 * G * (np.sin(SLOPE) - 0.1 * np.cos(SLOPE)), rtol=0.02)


def test_gravity_may_be_a_vector_in_space_and_in_the_plane():
    links = [
        Link("a", None, planar(), mass=2.0, inertia=np.eye(3)),
        Link("b", "a", TURN, mass=1.0, com=(0.0, 0.0, -0.3)),
    ]
    tree, fall = Tree.build(*links), jnp.array([1.0, 0.0, -9.0])
    q, v = jnp.array([0.1, 0.5, 0.3, -0.7]), jnp.array([0.2, -0.1, 0.5, 1.1])
    flat = tree.in_plane()
    moving, drawn = kinematics(tree, q, v), kinematics(flat, list(q), list(v))
    acc = forward_dynamics(tree, moving, jnp.zeros(4), gravity=fall)
    np.testing.assert_allclose(acc, forward_dynamics(flat, drawn, [0.0] * 4, gravity=fall), atol=ROUND)
    np.testing.assert_allclose(energy(tree, moving, fall), energy(flat, drawn, fall), atol=ROUND)
    weightless = forward_dynamics(tree, moving, jnp.zeros(4), gravity=0.0)
    np.testing.assert_allclose(acc - weightless, [1.0, -9.0, 0.0, 0.0], atol=ROUND)  # all of it falls alike
    level = forward_dynamics(tree, moving, jnp.zeros(4), gravity=jnp.array([0.0, 0.0, -G]))
    np.testing.assert_allclose(level, forward_dynamics(tree, moving, jnp.zeros(4), gravity=G), atol=ROUND)


@pytest.mark.slow
def test_films_show_the_slope():
    model = compass(start={"stance": 0.1, "swing": -0.5})
    shown = scene(simulate(model, duration=0.01, samples=2), model)
    assert shown.ground is not None and (shown.ground.height, shown.ground.slope) == (0.0, SLOPE)
    leg = next(shape.points[0] for shape in shown.shapes if isinstance(shape, Limb))
    np.testing.assert_allclose(leg[1], [np.sin(0.1 + SLOPE), np.cos(0.1 + SLOPE)], atol=1e-12)
    assert float(shown.readouts["slope"][0][0]) == pytest.approx(np.degrees(SLOPE))
    box = Link("box", None, free(), mass=1.0, inertia=np.eye(3))
    foot = ContactPoint("box", UnilateralSpring(1e4), position=(0.0, 0.3, 0.0), radius=0.1)
    spatial = TreeModel([box], contacts={"foot": foot}, start={"box.z": 0.2}, slope=SLOPE)
    ground = scene(simulate(spatial, duration=0.01, samples=2), spatial).shapes[0].outline[0]
    along = np.array([np.cos(SLOPE), 0.0, -np.sin(SLOPE)])
    edge = ground[1] - ground[0]
    np.testing.assert_allclose(edge / np.linalg.norm(edge), (d := seen(along, ASIDE, ABOVE)) / np.linalg.norm(d))


def test_gravity_is_one_number_and_the_slope_an_angle():
    mass = [Link("a", None, prismatic((0, 0, 1)), mass=1.0)]
    with pytest.raises(ParameterError, match=r"downward\) must be nonnegative, got -9\.81"):
        simulate(TreeModel(mass, gravity=-G), duration=0.1)
    assert parameters(TreeModel(mass))["slope"].unit == "rad"
    with pytest.warns(ImplausibleValue, match=r"slope .* is 3 rad.*degrees instead of rad\?"):
        TreeModel(mass, slope=3.0).validate()
