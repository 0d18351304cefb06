"""The planar form of a tree against the tree in space that it is made from."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from jaxgait.mechanics import spatial
from jaxgait.mechanics.spatial import plane
from tests.compiling import quickly_compiled

ROUND = 1e-10  # double-precision rounding through a chain of a few bodies
IN_PLANE = (1, 3, 5)  # entries of spatial vectors


def figure(first, armature=None):
    """A base with a branch: hinges of both senses, a slide, a fixed body, an oblique slide with a turn."""
    rng = np.random.default_rng(0)

    def body():
        inertia = np.diag(rng.uniform(0.1, 0.15, 3))
        return {"mass": rng.uniform(1, 3), "com": (*rng.normal(size=1), 0.1, *rng.normal(size=1)), "inertia": inertia}

    return spatial.Tree.build(
        spatial.Link("base", None, first, **body()),
        spatial.Link("thigh", "base", spatial.hinge((0, -1, 0)), offset=(0.1, 0.2, -0.3), **body()),
        spatial.Link("shank", "thigh", spatial.prismatic((0, 0, 1)), offset=(0.0, 0.0, -0.4), **body()),
        spatial.Link("plate", "shank", spatial.fixed(), offset=(0.2, 0.0, -0.1), **body()),
        spatial.Link("arm", "base", spatial.screws(("slide", (1, 0, 1)), ("turn", (0, 1, 0))), **body()),
        armature=armature,
    )


@pytest.fixture(scope="module", params=["planar", "hinge", "rotors"])
def both(request):
    """Everything of one state from the tree in space and from its planar form."""
    first = spatial.planar() if request.param == "planar" else spatial.hinge((0, 1, 0))
    tree = figure(first, {"thigh": 0.5, "shank": 3.0, "arm.turn_y": 0.2} if request.param == "rotors" else None)
    flat = tree.in_plane()
    rng = np.random.default_rng(1)
    q, v, vdot, tau = jnp.asarray(rng.normal(size=(4, tree.nv)))
    wrenches = np.zeros((5, 6))
    wrenches[:, IN_PLANE] = rng.normal(size=(5, 3))
    prescribed = [j % 2 == 1 for j in range(tree.nv)]

    def run(tree, q, v, vdot, tau, wrenches):
        motion = spatial.kinematics(tree, q, v)
        found = spatial.hybrid_dynamics(tree, motion, vdot, tau, prescribed, wrenches)
        return {
            "motion": motion,
            "hybrid": found,
            "inverse": spatial.inverse_dynamics(tree, motion, vdot, wrenches),
            "vdot": vdot,
            "passed": spatial.joint_wrenches(tree, motion, vdot, wrenches),
            "forward": spatial.forward_dynamics(tree, motion, tau, wrenches),
            "momentum": spatial.momentum(tree, motion),
            "energy": spatial.energy(tree, motion),
        }

    in_space = run(tree, q, v, vdot, tau, jnp.asarray(wrenches))
    loads = [plane.Vector(*w) for w in jnp.asarray(wrenches[:, IN_PLANE])]
    in_plane = run(flat, list(q), list(v), list(vdot), list(tau), loads)
    return tree, in_space, in_plane


def same(planar, wanted):
    np.testing.assert_allclose(np.asarray(planar), np.asarray(wanted), rtol=ROUND, atol=ROUND)


def test_motion(both):
    _, space, flat = both
    for body in range(5):
        same(flat["motion"].twist[body], space["motion"].twist[body][np.array(IN_PLANE)])
        same(flat["motion"].world[body].r, space["motion"].world[body].r[::2])


def dynamics_of(in_plane):
    """Hybrid dynamics as a function of all that it depends on, and its arguments."""
    tree = figure(spatial.planar(), {"thigh": 0.5, "arm.turn_y": 0.2})
    rng = np.random.default_rng(4)
    numbers = {name: rng.normal(size=tree.nv) for name in ("q", "v", "vdot", "tau")}
    numbers |= {"load": rng.normal(size=3), "gravity": np.array(9.0), "mass": np.array(tree.mass)}
    numbers |= {"com": np.array(tree.com), "offset": np.array(tree.offset), "armature": np.array(tree.armature)}
    prescribed = [j % 3 == 1 for j in range(tree.nv)]

    def found(n):
        own = dataclasses.replace(tree, **{name: n[name] for name in ("mass", "com", "offset", "armature")})
        own, values = (own.in_plane(), list) if in_plane else (own, jnp.asarray)
        load = plane.Vector(*n["load"]) if in_plane else jnp.zeros(6).at[np.array(IN_PLANE)].set(n["load"])
        motion = spatial.kinematics(own, values(n["q"]), values(n["v"]))
        given = values(n["vdot"]), values(n["tau"]), prescribed, [None, None, load, None, None], n["gravity"]
        return ravel_pytree(spatial.hybrid_dynamics(own, motion, *given))[0]

    return found, numbers, jax.tree.map(lambda x: rng.normal(size=np.shape(x)), numbers)


@pytest.mark.slow
@pytest.mark.parametrize("in_plane", [True, False])
def test_the_derivative_of_dynamics_is_that_of_differences(in_plane):
    found, numbers, along = dynamics_of(in_plane)
    moved, h = quickly_compiled(lambda s: found(jax.tree.map(lambda x, d: x + s * d, numbers, along))), 1e-5
    slope = jax.jvp(moved, (0.0,), (1.0,))[1]
    np.testing.assert_allclose(slope, (moved(h) - moved(-h)) / (2 * h), rtol=1e-7, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("in_plane", [True, False])
@pytest.mark.parametrize("form", [tuple, jnp.asarray, jnp.float32])
def test_derivatives_take_numbers_of_any_form_and_type(in_plane, form):
    rod = spatial.Link("rod", "cart", spatial.hinge((0, 1, 0)), mass=1.0, com=(0.0, 0.0, -0.5), inertia=np.eye(3))
    tree = spatial.Tree.build(spatial.Link("cart", None, spatial.prismatic((1, 0, 0)), mass=2.0), rod)
    tree, values = (tree.in_plane(), list) if in_plane else (tree, jnp.stack)

    def force(angle, form):
        motion = spatial.kinematics(tree, values([0.0 * angle, angle]), values([0.0 * angle, angle]))
        return spatial.hybrid_dynamics(tree, motion, form([4, 0]), form([0, 1]), (True, False), gravity=10.0).tau[0]

    slope = lambda form: quickly_compiled(jax.jacfwd(lambda angle: force(angle, form)))(0.3)
    with jax.numpy_dtype_promotion("standard"):
        found = slope(form)
    floats = lambda numbers: values([jnp.asarray(x, float) for x in numbers])
    np.testing.assert_allclose(found, slope(floats), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("in_plane", [True, False])
def test_second_and_reverse_derivatives_of_dynamics(in_plane):
    found, numbers, along = dynamics_of(in_plane)
    moved, h = lambda s: found(jax.tree.map(lambda x, d: x + s * d, numbers, along)), 1e-5
    once = lambda s: jax.jvp(moved, (s,), (1.0,))[1]
    rate = jax.jit(once)
    curvature = jax.jit(lambda s: jax.jvp(once, (s,), (1.0,))[1])(0.0)
    np.testing.assert_allclose(curvature, (rate(h) - rate(-h)) / (2 * h), rtol=1e-6, atol=1e-6)
    weights = np.random.default_rng(5).normal(size=curvature.shape)
    back = jax.jit(jax.grad(lambda numbers: weights @ found(numbers)))(numbers)
    total = sum(jnp.sum(back[name] * d) for name, d in along.items())
    np.testing.assert_allclose(total, weights @ rate(0.0), rtol=1e-12)


def test_functions_that_need_a_tree_in_space_raise_without_one():
    tree = figure(spatial.planar())
    flat = tree.in_plane()
    motion = spatial.kinematics(flat, [0.0] * flat.nq, [0.0] * flat.nv)
    with pytest.raises(TypeError, match=r"mass_matrix needs the motion of a Tree in space, got that of a PlanarTree"):
        spatial.mass_matrix(tree, motion)


def test_points_and_their_wrenches(both):
    """Forces across the plane, and their moments, are held by the joints."""
    _, space, flat = both
    rng = np.random.default_rng(2)
    points = spatial.Points((4, 2, 4), jnp.asarray(rng.normal(size=(3, 3))))
    position, velocity = spatial.point_motion(space["motion"], points)
    same(spatial.point_motion(flat["motion"], points), (position, velocity))
    assert float(jnp.abs(velocity[:, 1]).max()) < ROUND
    for found, wanted in zip(*(spatial.feet(each["motion"], points) for each in (flat, space)), strict=True):
        same(found, wanted)
    pushed = (points, position + 0.1, jnp.asarray(rng.normal(size=(3, 3))))
    wanted = np.asarray(spatial.point_wrenches(space["motion"], *pushed))[:, IN_PLANE]
    found = spatial.point_wrenches(flat["motion"], *pushed)
    assert [wrench is None for wrench in found] == [True, True, False, True, False]
    same([found[2], found[4]], wanted[[2, 4]])


def test_dynamics(both):
    _, space, flat = both
    same(flat["hybrid"].vdot, space["hybrid"].vdot)
    same(flat["hybrid"].tau, space["hybrid"].tau)
    same(flat["inverse"], space["inverse"])
    same(flat["forward"], space["forward"])
    for name in ("passed",):
        same(flat[name], np.asarray(space[name])[:, IN_PLANE])
    same(flat["hybrid"].bodies, np.asarray(space["hybrid"].bodies)[:, IN_PLANE])


def test_balances(both):
    _, space, flat = both
    whole, planar = space["momentum"], flat["momentum"]
    same(planar.com, whole.com[::2])
    same(planar.linear, whole.linear[::2])
    same(planar.angular, whole.angular[1])
    kinetic, potential = flat["energy"]
    same([kinetic, potential], space["energy"])


def test_joint_wrenches_hold_what_the_actuators_do(both):
    tree, space, _ = both
    found = [S.T @ f for S, f in zip(space["motion"].S, space["passed"], strict=True)]
    own = 0.0 if tree.armature is None else tree.armature * space["vdot"]  # they turn beside the bodies
    same(np.concatenate(found) + own, space["inverse"])


def test_trees_that_leave_the_plane_raise():
    for joint in (spatial.hinge((1, 0, 0)), spatial.prismatic((0, 1, 0)), spatial.free(), spatial.ball()):
        with pytest.raises(ValueError, match="'a' has a joint that leaves the plane"):
            spatial.Tree.build(spatial.Link("a", None, joint, 1.0)).in_plane()
    turned = spatial.Link("a", None, spatial.hinge((0, 1, 0)), 1.0, rotation=np.diag([1.0, -1.0, -1.0]))
    with pytest.raises(ValueError, match="not turned in their parents"):
        spatial.Tree.build(turned).in_plane()
    seated = spatial.Tree.build(spatial.Link("a", None, spatial.hinge((0, 1, 0)), 1.0, rotation=jnp.eye(3)))
    assert seated.in_plane().names == ("a",)
    with pytest.raises(ValueError, match="not known of a traced tree"):
        jax.eval_shape(lambda tree: tree.in_plane().mass, seated)


def test_whether_a_tree_is_planar_depends_on_its_structure_not_its_numbers():
    """So that a compiled program is right for all values."""
    link = lambda **given: spatial.Link("a", None, spatial.hinge((0, 1, 0)), 1.0, **given)
    kinds = [
        spatial.Tree.build(link(**given)).is_planar for given in ({}, {"offset": (1, 1, 1)}, {"rotation": np.eye(3)})
    ]
    assert kinds == [True, True, False]
    assert jax.eval_shape(lambda tree: tree.in_plane().mass if tree.is_planar else None, spatial.Tree.build(link()))
