"""Spatial recursions: against an autodiff Lagrangian, against each other, and against the balances of mechanics."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import precision
from jaxgait.mechanics import spatial
from jaxgait.mechanics.planar import Vec
from jaxgait.mechanics.spatial.vectors import quaternion_rate
from tests.compiling import quickly_compiled

ROUND = 1e-10  # double-precision rounding through a chain of a few bodies
G = 9.81


def rod(mass, length):
    return np.diag([mass * length**2 / 12] * 2 + [mass * 1e-4])


def arm():
    """Universal shoulder, hinge, slider, planar joint: every coordinate is a plain number."""
    links = [
        spatial.Link("a", None, spatial.universal((0, 0, 1), (0, 1, 0)), 2.0, (0, 0, -0.3), rod(2.0, 0.6)),
        spatial.Link("b", "a", spatial.hinge((0.3, 1, 0)), 1.5, (0, 0.1, -0.2), rod(1.5, 0.5), offset=(0, 0, -0.6)),
        spatial.Link("c", "b", spatial.prismatic((0, 0, 1)), 1.0, (0.1, 0, -0.1), rod(1.0, 0.3), offset=(0.1, 0, -0.4)),
        spatial.Link("d", "a", spatial.planar(), 0.7, (0.05, 0, 0.1), rod(0.7, 0.3), offset=(0, 0.2, -0.2)),
    ]
    return spatial.Tree.build(*links, armature={"b": 0.3, "d.z": 0.2})


def figure():
    """A free base with ball, hinge and universal limbs."""
    links = [
        spatial.Link("trunk", None, spatial.free(), 5.0, (0, 0, 0.1), np.diag([0.2, 0.25, 0.1])),
        spatial.Link("leg", "trunk", spatial.ball(), 2.0, (0, 0, -0.2), rod(2.0, 0.4), offset=(0, 0.1, -0.1)),
        spatial.Link("foot", "leg", spatial.hinge((0, 1, 0)), 0.5, (0.05, 0, 0), rod(0.5, 0.2), offset=(0, 0, -0.4)),
        spatial.Link("hand", "trunk", spatial.universal((1, 0, 0), (0, 1, 0)), 0.6, (0, 0, -0.1), rod(0.6, 0.2)),
    ]
    return spatial.Tree.build(*links, armature={"leg.w_x": 0.2, "foot": 0.05, "hand.turn_y": 0.1})


def state_of(tree, seed):
    rng = np.random.default_rng(seed)
    q, v, x = rng.normal(size=tree.nq), rng.normal(size=tree.nv), rng.normal(size=tree.nv)
    for joint, a in zip(tree.joints, tree.q_slices, strict=True):
        if joint.nq != joint.nv:
            q[a.stop - 4 : a.stop] /= np.linalg.norm(q[a.stop - 4 : a.stop])
    return jnp.asarray(q), jnp.asarray(v), jnp.asarray(x)


def test_numbers_of_numpy_scale_planar_vectors():
    assert np.float64(2.0) * Vec(1.0, 2.0) == Vec(1.0, 2.0) * np.float64(2.0) == Vec(2.0, 4.0)
    assert isinstance(np.float64(2.0) * Vec(1.0, 2.0), Vec)


def test_inverse_dynamics_is_lagranges_equation():
    tree = arm()
    q, v, a = state_of(tree, 0)

    def lagrangian(q, v):
        kinetic, potential = spatial.energy(tree, spatial.kinematics(tree, q, v), G)
        return kinetic - potential

    def momentum(q, v):
        return jax.grad(lagrangian, 1)(q, v)

    @quickly_compiled
    def both(q, v, a):
        rate = jax.jvp(momentum, (q, v), (v, a))[1] - jax.grad(lagrangian, 0)(q, v)
        motion = spatial.kinematics(tree, q, v)
        forces, at_rest = (spatial.inverse_dynamics(tree, motion, x) for x in (a, 0.0 * a))
        return rate, forces, spatial.mass_matrix(tree, motion) @ a, forces - at_rest

    lagrange, newton_euler, composite, changed = both(q, v, a)
    np.testing.assert_allclose(newton_euler, lagrange, atol=ROUND)
    np.testing.assert_allclose(composite, changed, atol=ROUND)


@pytest.fixture(scope="module")
def hybrid():
    tree = figure()
    prescribed = [False] * 6 + [True] * 3 + [False] + [True, False]

    @quickly_compiled
    def run(q, v, x, tau, wrenches):
        motion = spatial.kinematics(tree, q, v)
        found = spatial.hybrid_dynamics(tree, motion, x, tau, prescribed, wrenches)
        return found, spatial.inverse_dynamics(tree, motion, found.vdot, wrenches)

    return tree, np.array(prescribed), run


def test_hybrid_dynamics_agrees_with_inverse_dynamics(hybrid):
    tree, prescribed, run = hybrid
    q, v, x = state_of(tree, 1)
    tau = state_of(tree, 2)[2]
    wrenches = jnp.asarray(np.random.default_rng(4).normal(size=(4, 6)))
    found, needed = run(q, v, x, tau, wrenches)
    np.testing.assert_array_equal(np.array(found.vdot)[prescribed], np.array(x)[prescribed])
    np.testing.assert_array_equal(np.array(found.tau)[~prescribed], np.array(tau)[~prescribed])
    np.testing.assert_allclose(found.tau, needed, atol=ROUND)


def test_balances_of_momentum_and_energy(hybrid):
    """In the air the momenta change by gravity alone and the energy by the joints' power."""
    tree, _, run = hybrid
    q, v, x = state_of(tree, 5)
    tau = state_of(tree, 6)[2].at[:6].set(0.0)
    found, _ = run(q, v, x, tau, jnp.zeros((4, 6)))

    def quantities(q, v):
        motion = spatial.kinematics(tree, q, v)
        return spatial.momentum(tree, motion), sum(spatial.energy(tree, motion, G))

    along = quickly_compiled(lambda q, v, rates: jax.jvp(quantities, (q, v), rates)[1])
    whole, power = along(q, v, (tree.rate(q, v), found.vdot))
    np.testing.assert_allclose(whole.linear, [0.0, 0.0, -8.1 * G], atol=1e-9)
    np.testing.assert_allclose(whole.angular, np.zeros(3), atol=1e-9)
    assert float(power) == pytest.approx(float(found.tau @ v), abs=1e-9)


def test_forces_at_points_do_their_work():
    """Power of point forces = generalised forces times velocities."""
    tree = figure()
    q, v, x = state_of(tree, 7)
    points = spatial.Points((2, 2, 3), np.random.default_rng(8).normal(size=(3, 3)))
    force = np.random.default_rng(9).normal(size=(3, 3))

    @quickly_compiled
    def run(q, v, x):
        motion = spatial.kinematics(tree, q, v)
        position, velocity = spatial.point_motion(motion, points)
        wrenches = spatial.point_wrenches(motion, points, position, jnp.asarray(force))
        with_forces = spatial.inverse_dynamics(tree, motion, x, wrenches)
        place = lambda q: spatial.point_motion(spatial.kinematics(tree, q, v), points)[0]
        _, moved = jax.jvp(place, (q,), (tree.rate(q, v),))
        return velocity, moved, spatial.inverse_dynamics(tree, motion, x) - with_forces

    velocity, moved, generalised = run(q, v, x)
    assert float(generalised @ v) == pytest.approx(float((velocity * force).sum()), abs=ROUND)
    np.testing.assert_allclose(velocity, moved, atol=ROUND)


def test_a_hinged_rod_is_a_pendulum():
    tree = spatial.Tree.build(spatial.Link("rod", None, spatial.hinge((0, 1, 0)), 3.0, (0, 0, -0.5), rod(3.0, 1.0)))
    motion = spatial.kinematics(tree, jnp.array([0.4]), jnp.array([0.7]))
    vdot = spatial.forward_dynamics(tree, motion, jnp.zeros(1))
    assert float(vdot[0]) == pytest.approx(-1.5 * G * np.sin(0.4), abs=1e-12)


def test_cost_grows_in_proportion_to_the_number_of_bodies():
    """Operations of the articulated-body recursion, counted in its jaxpr: doubling the chain doubles them."""

    def operations(n):
        links = [
            spatial.Link(
                f"b{i}", f"b{i - 1}" if i else None, spatial.hinge((0, 1, 0)), 1.0, (0, 0, -0.5), rod(1.0, 1.0)
            )
            for i in range(n)
        ]
        tree = spatial.Tree.build(*links)

        def run(q, v, tau):
            return spatial.forward_dynamics(tree, spatial.kinematics(tree, q, v), tau)

        return len(jax.make_jaxpr(run)(*[jnp.zeros(n)] * 3).eqns)

    two, four, eight = map(operations, (2, 4, 8))
    assert eight - four == 2 * (four - two)


@pytest.mark.slow
def test_single_precision():
    tree = figure()
    q, v, x = state_of(tree, 1)

    @quickly_compiled
    def run(tree, q, v, x):
        return spatial.forward_dynamics(tree, spatial.kinematics(tree, q, v), x)

    double = run(precision.cast(tree), q, v, x)
    with jax.enable_x64(False):
        single = run(*precision.cast((tree, *(np.asarray(z) for z in (q, v, x)))))
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, double, atol=2e-3 * float(jnp.abs(double).max()))


@pytest.mark.parametrize(
    ("moments", "match"), [((1.0, 1.0, 2.5), "largest may not exceed"), ((-1.0, 1.0, 1.0), "no rigid body")]
)
def test_impossible_inertias_raise(moments, match):
    with pytest.raises(ValueError, match=match):
        spatial.check_inertia("shank", 1.0, np.diag(moments))


def test_impossible_masses_and_crooked_tensors_raise():
    with pytest.raises(ValueError, match=r"'shank'.*nonnegative"):
        spatial.check_inertia("shank", -1.0, np.eye(3))
    with pytest.raises(ValueError, match="symmetric"):
        spatial.check_inertia("shank", 1.0, np.eye(3) + np.eye(3, k=1))


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"mass": -1.0}, "body 'shank': its mass must be nonnegative, got -1 kg"),
        ({"mass": 1.0, "inertia": np.diag([1.0, 1.0, 5.0])}, "body 'shank': its principal moments 1, 1, 5"),
        ({"mass": 1.0, "rotation": 2.0 * np.eye(3)}, "body 'shank': its rotation must be orthonormal"),
    ],
)
def test_a_tree_is_built_of_rigid_bodies(numbers, message):
    with pytest.raises(ValueError, match=message):
        spatial.Tree.build(spatial.Link("shank", None, spatial.hinge((0, 1, 0)), **numbers))


def test_a_thin_plate_may_have_the_rounding_of_its_precision():
    widths = np.array([0.1, 0.7, 0.3, 0.9])
    with precision.use("float32"):
        for a in widths:
            moments = np.array([a, 0.3 + a, 0.3]) / 3.0
            plate = precision.cast(spatial.Link("plate", None, spatial.ball(), mass=1.0, inertia=np.diag(moments)))
            spatial.Tree.build(plate)


def test_bad_trees_raise():
    with pytest.raises(ValueError, match="parent 'b' must be one of"):
        spatial.Tree.build(spatial.Link("a", "b", spatial.ball(), 1.0))
    with pytest.raises(ValueError, match="two bodies"):
        spatial.Tree.build(spatial.Link("a", None, spatial.ball(), 1.0), spatial.Link("a", "a", spatial.ball(), 1.0))
    slider = spatial.Link("a", None, spatial.prismatic((1, 0, 0)), 1.0)
    with pytest.raises(ValueError, match=r"armature: no velocity 'a\.x'; choose one of a$"):
        spatial.Tree.build(slider, armature={"a.x": 0.1})


@pytest.mark.parametrize("axis", [(0.0, 0.0, 0.0), (0.0, float("nan"), 1.0)])
def test_bad_axes_raise(axis):
    with pytest.raises(ValueError, match="three numbers, not all zero"):
        spatial.hinge(axis)


@pytest.mark.parametrize("screw", [(0, 1, 0, 1, 0, 0), (0, 2, 0, 0, 0, 0), (0, 1, 0), (0, np.nan, 0, 0, 0, 0)])
def test_a_screw_turns_or_slides(screw):
    with pytest.raises(ValueError, match="each screw of a joint must be six numbers"):
        spatial.Joint((screw,))


def test_screws_are_tuples():
    given = [0, 1, 0, 0, 0, 0]
    for screws in ([given], np.array([given])):
        assert spatial.Joint(screws) == spatial.hinge((0, 1, 0))
        assert hash(spatial.Joint(screws)) == hash(spatial.hinge((0, 1, 0)))


def test_axes_rounded_in_float32_are_made_unit_vectors():
    axis = np.array([1.0, 2.0, 3.0], np.float32)
    axis /= np.linalg.norm(axis)
    joint = spatial.Joint(((*axis, 0.0, 0.0, 0.0),))
    assert abs(np.linalg.norm(axis.astype(float)) - 1.0) > 1e-9  # float32
    assert abs(np.linalg.norm(joint.screws) - 1.0) < 1e-15 and spatial.Joint(joint.screws) == joint


def test_vectors_of_another_length_raise():
    """A free base has seven coordinates, but six velocities."""
    tree = spatial.Tree.build(spatial.Link("a", None, spatial.free(), 1.0, inertia=np.eye(3)))
    q, v, long = jnp.asarray(tree.neutral()), jnp.zeros(6), jnp.zeros(7)
    motion = spatial.kinematics(tree, q, v)
    with pytest.raises(ValueError, match="q must have 7 entries in this tree, got 6"):
        spatial.kinematics(tree, q[:6], v)
    with pytest.raises(ValueError, match="v must have 6 entries in this tree, got 7"):
        spatial.kinematics(tree, q, long)
    with pytest.raises(ValueError, match="vdot must have 6 entries"):
        spatial.inverse_dynamics(tree, motion, long)
    with pytest.raises(ValueError, match="tau must have 6 entries"):
        spatial.hybrid_dynamics(tree, motion, v, long, (True,) * 6)
    with pytest.raises(ValueError, match="prescribed must have 6 entries"):
        spatial.hybrid_dynamics(tree, motion, v, v, (True,) * 7)


def test_a_frame_turns_at_its_angular_velocity_whatever_the_length_of_its_quaternion():
    """Which integration does not keep exactly."""
    unit, w = jnp.array([0.5, -0.5, 0.1, 0.7]), jnp.array([0.3, -0.2, 0.5])
    unit = unit / jnp.linalg.norm(unit)

    def turned(quaternion):
        rate = quaternion_rate(quaternion, w)
        np.testing.assert_allclose(quaternion @ rate, 0.0, atol=1e-15)  # the length stays
        return jax.jvp(spatial.rotation_of_quaternion, (quaternion,), (rate,))[1]

    np.testing.assert_allclose(turned(1.3 * unit), turned(unit), atol=1e-15)


def test_coordinates_may_be_whole_numbers():
    link = spatial.Link("arm", None, spatial.hinge((1, 0, 1)), mass=1.0, com=(0.0, 0.0, -0.5))
    tree = spatial.Tree.build(link)
    whole, real = (spatial.kinematics(tree, x, x) for x in (np.array([1]), np.array([1.0])))
    np.testing.assert_array_equal(whole.world[0].R, real.world[0].R)
    np.testing.assert_array_equal(whole.twist[0], real.twist[0])
