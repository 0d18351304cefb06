"""Fifteen bodies in space, rooted at the trunk, against nine bars in the plane, rooted at the foot."""

from typing import Any

import diffrax
import jax
import numpy as np
import pytest

from jaxgait import precision, simulate
from jaxgait.models.jumper.human import Jumper
from jaxgait.models.jumper.spatial import SpatialJumper, SpatialState
from jaxgait.parameters import ParameterError, with_parameters

PATH = 2e-9  # m: two recursions, two choices of coordinates, one solver at rtol 1e-10
FORCE = 4e-3  # N: Hertz's stiffness times that


pytestmark = pytest.mark.slow  # the spatial jumper alone takes minutes to compile


@pytest.fixture(scope="module")
def runs():
    settings = {"samples": 300, "solver": diffrax.Dopri8(), "rtol": 1e-10, "atol": 1e-11}
    return simulate(SpatialJumper(), **settings), simulate(Jumper(), **settings)


def test_a_symmetric_jump_in_space_is_the_planar_one(runs):
    space, plane = runs
    np.testing.assert_allclose(space.com[:, 0], plane.com_x, atol=PATH)
    np.testing.assert_allclose(space.com[:, 2], plane.com_z, atol=PATH)
    np.testing.assert_allclose(space.grf.values.sum(axis=1)[:, 2], plane.grf_z, atol=FORCE)
    np.testing.assert_allclose(space.grf.values.sum(axis=1)[:, 0], plane.grf_x, atol=FORCE)
    np.testing.assert_allclose(space.angular_momentum[:, 1], plane.angular_momentum, atol=1e-5)
    np.testing.assert_allclose(space.energy, plane.energy, atol=1e-5)


def test_both_feet_carry_the_same(runs):
    left, right = runs[0].grf.values[:, 0], runs[0].grf.values[:, 1]
    np.testing.assert_allclose(left, right * [1.0, -1.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(runs[0].com[:, 1], 0.0, atol=1e-12)


def test_inverse_dynamics_of_both_roots_agree(runs):
    """Knees and elbows are hinges: their moments, both sides together, are the planar model's."""
    space, plane = runs
    columns = {"left_shank": 9, "left_forearm": 16, "right_shank": 23, "right_forearm": 30}
    assert space.moment.shape[1] == 34
    knee = space.moment[:, columns["left_shank"]] + space.moment[:, columns["right_shank"]]
    elbow = -(space.moment[:, columns["left_forearm"]] + space.moment[:, columns["right_forearm"]])
    np.testing.assert_allclose(knee, plane.moment[:, 1], atol=1e-3)
    np.testing.assert_allclose(elbow, plane.moment[:, 4], atol=1e-3)


def test_the_mirror_image_of_a_motion_is_a_motion():
    """Left and right exchanged, at a tilted, twisting pose with bent bristles: the rates are mirrored."""
    jumper = SpatialJumper()
    rng = np.random.default_rng(3)
    crouch: Any = jumper.initial_state()
    moved = np.array([0.0, 0.02, -0.002, 0.0, 0.01, 0.0, 0.02])
    parts: list[Any] = [
        np.asarray(crouch.pose) + moved,
        rng.normal(0.0, 0.3, 6),
        rng.normal(0.0, 1e-4, crouch.bristle.shape),
    ]
    y = SpatialState(*parts)
    with precision.use("float64"):
        rate = jax.jit(jumper.vector_field)
        found, image = jax.device_get((rate(0.2, y), rate(0.2, mirrored(jumper, y))))
    assert np.ptp(found.bristle[:, 1]) > 0.01 and abs(found.twist[0] * found.twist[4]) > 1.0
    for one, other in zip(mirrored(jumper, found)[:3], image[:3], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def mirrored(jumper: SpatialJumper, y: Any) -> Any:
    """At the plane y = 0; columns of studs are counted outwards on both feet."""
    sole = jumper.plane.sole
    studs = np.asarray(y.bristle).reshape(2, len(sole.rows), len(sole.columns), 2)[::-1]
    pose, twist = np.array([1.0, -1, 1, 1, -1, 1, -1]), np.array([-1.0, 1, -1, 1, -1, 1])
    parts: list[Any] = [pose * y.pose, twist * y.twist, studs.reshape(-1, 2) * [1.0, -1.0]]
    return SpatialState(*parts)


def test_a_body_that_cannot_be_raises():
    with pytest.raises(ParameterError, match="asymmetry"):
        with_parameters(SpatialJumper(), {"asymmetry": -0.1}).validate()
