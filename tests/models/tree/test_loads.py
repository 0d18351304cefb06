"""Drives and ground act on a tree in the plane as they do on the same tree in space."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.mechanics.contact import HuntCrossley
from jaxgait.mechanics.friction import Bristle
from jaxgait.mechanics.spatial import Link, PlanarTree, hinge, planar
from jaxgait.models.tree import ContactPoint, Force, PrescribedJoint, Rotor, Spring, TreeModel
from jaxgait.parameters import parameters, with_parameters
from tests.compiling import quickly_compiled

ROUND = 1e-10  # relative to the largest: two recursions in double precision


def wind(t, r, v):
    """Stronger on one side."""
    return jnp.array([20.0, 5.0, -3.0]) * (1.0 + r[1]) - 2.0 * v


def leg(rotation=None):
    """A leg in the sagittal plane, in which its bodies, contacts and forces do not all lie."""
    rod = {"mass": 5.0, "com": (0.02, 0.03, -0.2), "inertia": np.diag([0.07, 0.07, 0.002]), "rotation": rotation}
    return TreeModel(
        [
            Link("trunk", None, planar(), mass=50.0, inertia=np.eye(3), rotation=rotation),
            Link("thigh", "trunk", hinge((0, 1, 0)), offset=(0.0, 0.1, 0.0), **rod),
            Link("shank", "thigh", hinge((0, -1, 0)), offset=(0.0, 0.0, -0.4), **rod),
            Link("foot", "shank", hinge((0, 1, 0)), offset=(0.0, 0.02, -0.4), **rod),
        ],
        contacts={
            "heel": ContactPoint("foot", HuntCrossley(5e4, 0.5, 1e4), Bristle(0.8), (-0.05, 0.04, -0.05), radius=0.02),
            "toe": ContactPoint("foot", HuntCrossley(5e4, 0.5, 1e4), Bristle(0.8), (0.15, -0.04, -0.05), radius=0.02),
        },
        drives={
            "knee": Spring("shank", stiffness=900.0, damping=5.0),
            "rotor": Rotor("shank", 0.3),
            "ankle": PrescribedJoint("foot", lambda t: 0.1 * jnp.sin(3.0 * t)),
            "wind": Force("trunk", wind, (0.1, 0.2, 0.3)),
            "reflex": lambda t, q, v: -0.1 * v,
        },
        start={"trunk.z": 0.815, "thigh": 0.3, "shank": 0.5},
        start_rates={"trunk.x": 1.0, "thigh": -2.0, "shank": 1.5},
        slope=0.05,
    )


@pytest.fixture(scope="module")
def both():
    """Rates, loads and results of one state, computed in the plane and in space."""
    found = []
    for model in (leg(), leg(rotation=np.eye(3))):
        y = model.initial_state()
        y = y._replace(memory=jnp.array([[1e-4, 0.0], [-2e-4, 0.0]]))
        ready = model.prepared()
        run = lambda y, ready=ready: (ready.vector_field(0.1, y), ready.loads(0.1, y), ready.outputs(0.1, y))
        found.append((model, *quickly_compiled(run)(y)))
    return found


@pytest.mark.slow
def test_a_tree_moves_in_the_plane_as_in_space(both):
    (flat, rates, loads, results), (_, wanted, in_space, known) = both
    assert isinstance(flat.moving(), PlanarTree) and float(loads.depth.min()) > 0.0
    for one, other in zip(jax.tree.leaves(rates), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(one, other, rtol=0.0, atol=ROUND * np.abs(other).max())
    for name in ("contact", "memory_rate", "tau", "vdot"):
        np.testing.assert_allclose(getattr(loads, name), getattr(in_space, name), rtol=ROUND, atol=1e-9)
    assert {*results} == {*known}
    for name, values in known.items():
        np.testing.assert_allclose(results[name], values, rtol=ROUND, atol=ROUND * np.abs(values).max(), err_msg=name)


def test_a_rotation_is_a_parameter_only_of_a_link_that_has_one(both):
    """So that a mechanism that is computed in the plane cannot be turned out of it."""
    assert ["links.thigh.rotation" in parameters(model) for model, *_ in both] == [False, True]
    with pytest.raises(ValueError, match=r"thigh\.rotation is None, and no parameter: give it when you make the Link"):
        with_parameters(both[0][0], {"links.thigh.rotation": np.eye(3)})
    tilted = dataclasses.replace(both[0][0].links["thigh"], rotation=np.diag([1.0, -1.0, -1.0]))
    assert not TreeModel([both[0][0].links["trunk"], tilted]).tree().is_planar
