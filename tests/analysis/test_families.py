"""Families of gaits on the Henon map (members: contraction b; parameter: a), with answers in closed form."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.analysis import families
from jaxgait.analysis.crossings import crossings
from jaxgait.analysis.families import Family, follow, gaits, strides
from jaxgait.analysis.families import fixed_points as many_fixed_points
from jaxgait.analysis.floquet import bifurcation_functions, bifurcation_values
from jaxgait.model import Scalar, parameter
from jaxgait.models import RollingWalker
from jaxgait.outcome import Outcome
from jaxgait.parameters import ParameterError
from jaxgait.solve.periodic import CONVERGED, PoincareMap, fixed_point
from tests.oscillator import Oscillator

B = np.array([0.2, 0.3, 0.4])
WHO = np.arange(3)
LOCATED = 1e-6  # the width asked for


def henon(model, z):
    a, b = model
    return jnp.stack([1.0 - a * z[0] ** 2 + z[1], b * z[0]])


def vary(scale, b, a):
    return scale * a, b


FAMILY = Family(henon, jnp.asarray(1.0), vary, B, lanes=4)


def fixed_points(a, b):
    x = (b - 1 + np.sqrt((1 - b) ** 2 + 4 * a)) / (2 * a)
    return np.stack([x, b * x], axis=-1)


@pytest.fixture(scope="module")
def branches():
    values = np.linspace(0.1, 0.8, 15)
    return values, follow(FAMILY, WHO, values, fixed_points(0.1, B)[:, None, :] + 1e-3)


def test_branches_are_followed_beyond_their_loss_of_stability(branches):
    values, found = branches
    for i, a in enumerate(values):
        np.testing.assert_allclose(found.z[i, :, 0], fixed_points(a, B), atol=1e-9)
    assert (np.abs(found.multipliers[-1, :, 0]) > 1.0).all() and (np.abs(found.multipliers[0, :, 0]) < 1.0).all()


def test_derivative_with_respect_to_the_parameter(branches):
    values, found = branches
    nudge = 1e-6
    difference = (fixed_points(values[3] + nudge, B) - fixed_points(values[3] - nudge, B)) / (2 * nudge)
    np.testing.assert_allclose(found.rate[3, :, 0], difference, rtol=1e-6)


def test_period_doublings_are_located(branches):
    found = crossings(FAMILY, branches[1], width=LOCATED)
    assert [c.kind for c in found] == ["period doubling"] * 3
    places = {c.member: c.parameter for c in found}
    np.testing.assert_allclose([places[int(i)] for i in WHO], 3 * (1 - B) ** 2 / 4, atol=LOCATED)
    assert all(c.distance < 1e-5 and c.width < 0.1 for c in found)


def test_orbits_of_two_strides_by_multiple_shooting():
    """Born at the doubling, doubled again at a = (1 - b)^2 + (1 + b)^2 / 4."""
    guess = np.tile([[1.1, -0.1], [-0.2, 0.3]], (3, 1, 1))
    values = np.linspace(0.7, 1.1, 9)
    two = follow(FAMILY, WHO, values, guess)
    mapped = np.stack([henon((values[-1], b), z) for b, z in zip(B, two.z[-1, :, 0], strict=True)])
    np.testing.assert_allclose(mapped, two.z[-1, :, 1], atol=1e-9)
    found = crossings(FAMILY, two, width=LOCATED)
    doubled = {c.member: c.parameter for c in found if c.kind == "period doubling"}
    expected = (1 - B) ** 2 + (1 + B) ** 2 / 4
    np.testing.assert_allclose([doubled[int(i)] for i in WHO], expected, atol=LOCATED)


def test_a_branch_ends_at_its_fold():
    values = np.linspace(0.1, -0.3, 9)
    found = follow(FAMILY, WHO, values, fixed_points(0.1, B)[:, None, :])
    exists = values[:, None] > -((1 - B) ** 2) / 4
    np.testing.assert_array_equal(np.isfinite(found.z[:, :, 0, 0]), exists)


def test_a_guess_from_which_nothing_is_found_is_said():
    none = gaits(FAMILY, np.array([1]), np.array([-0.3]), np.array([[[0.5, 0.2]]]))
    assert np.isnan(none.z).all() and none.residual[0] > 1e-3


@pytest.mark.parametrize("n", [1, 4])  # one coordinate has no pairs of multipliers
def test_both_forms_of_the_test_functions_agree(n):
    matrix = np.random.default_rng(1).normal(size=(n, n))
    np.testing.assert_allclose(
        bifurcation_values(np.linalg.eigvals(matrix)), bifurcation_functions(jnp.asarray(matrix)), rtol=1e-9
    )


class Henon(eqx.Module):
    a: Scalar = parameter(0.1, unit="1", doc="nonlinearity")
    b: Scalar = parameter(0.3, unit="1", doc="contraction")


def test_fixed_points_of_many_members():
    """Batches of two; the fourth has no fixed point, the third starts on its own."""
    over = {"a": np.array([0.1, 0.2, 0.3, -0.5, 0.4]), "b": np.array([0.3, 0.3, 0.2, 0.3, 0.1])}
    z0 = np.tile([0.8, 0.2], (5, 1))
    z0[2] = fixed_points(over["a"][2], 0.2)
    map_of = lambda model, z: henon((model.a, model.b), z)
    found = many_fixed_points(map_of, Henon(), over, z0, lanes=2)
    alone = jax.jit(jax.vmap(lambda a, b, z: fixed_point(map_of, Henon(a, b), z)))(over["a"], over["b"], z0)
    np.testing.assert_array_equal(found.status, [CONVERGED] * 3 + [Outcome.NOT_CONVERGED, CONVERGED])
    np.testing.assert_allclose(found.z, alone.z, atol=1e-12)
    np.testing.assert_allclose(found.jacobian, alone.jacobian, atol=1e-9)
    np.testing.assert_array_equal(found.iterations, alone.iterations)
    assert found.iterations[2] == 1


def test_members_of_different_numbers_are_named():
    with pytest.raises(ValueError, match=r"one value of each parameter per member, in vectors .*, got the shapes"):
        many_fixed_points(henon, Henon(), {"a": np.zeros(3), "b": np.zeros(2)}, np.zeros(2))


def test_a_crossing_exactly_at_a_value_is_found_once():
    """z' = -a z has the multiplier -a."""
    family = Family(lambda a, z: -a * z, None, lambda model, member, a: a * member, np.ones(1), lanes=1)
    branch = follow(family, np.array([0]), np.array([0.5, 1.0, 1.5]), np.full((1, 1, 1), 0.1))
    (found,) = crossings(family, branch, width=LOCATED)
    assert (found.kind, found.parameter) == ("period doubling", 1.0)


def test_impossible_values_of_members_are_rejected():
    with pytest.raises(ParameterError, match="gravity"):
        many_fixed_points(
            PoincareMap(), RollingWalker(), {"gravity": np.array([9.81, -1.0])}, np.array([0.2, -0.5, 0.3])
        )


def cubic(p, z):
    """Its gaits are the roots of z^3 / 3 - z = p: at -2/3 the upper branch folds, and only z < -2 is left."""
    return z - 0.2 * (z**3 / 3.0 - z - p)


@pytest.mark.parametrize(("count", "lanes", "width"), [(3, 128, 4), (1, 128, 1), (5, 4, 4)])
def test_no_more_lanes_are_computed_than_members_need(monkeypatch, count, lanes, width):
    widths = []
    evaluate = families._closures
    monkeypatch.setattr(families, "_closures", lambda *args: widths.append(len(args[-1])) or evaluate(*args))
    found = many_fixed_points(
        lambda model, z: henon((model.a, model.b), z), Henon(), {"a": np.full(count, 0.1)}, np.full(2, 0.5), lanes=lanes
    )
    assert {*widths} == {width} and found.z.shape == (count, 2)


CUBIC = Family(cubic, None, lambda model, member, p: member * p, np.ones(1), lanes=1)


@pytest.mark.slow
@pytest.mark.parametrize("start", [-0.3, -0.6, -0.66, -0.6666])
@pytest.mark.parametrize("step", [0.1, 0.2, 0.29, 0.35, 0.4, 0.5, 0.8, 2.0])
def test_a_branch_does_not_go_over_to_another_one(start, step):
    upper = np.max(np.real(np.roots([1.0 / 3.0, 0.0, -1.0, -start])))
    branch = follow(CUBIC, np.array([0]), start - step * np.arange(4), np.full((1, 1, 1), upper))
    exists = branch.parameter[:, 0] > -2.0 / 3.0
    np.testing.assert_array_equal(np.isfinite(branch.z[:, 0, 0, 0]), exists)


def test_large_steps_along_one_branch_are_no_loss():
    values = np.array([4.0, 1.0, -0.2, -0.6])
    branch = follow(CUBIC, np.array([0]), values, np.full((1, 1, 1), 2.5))
    z = branch.z[:, 0, 0, 0]
    np.testing.assert_allclose(z**3 / 3 - z, values, atol=1e-9)
    assert (z > 1.0).all()


def test_crossings_belong_to_the_members_that_were_followed():
    """z' = -(a member) z doubles its period at a = 1 / member."""
    family = Family(lambda a, z: -a * z, None, lambda model, member, a: a * member, np.array([1.0, 2.0]), lanes=1)
    branch = follow(family, np.array([1, 0]), np.linspace(0.3, 1.2, 4), np.full((2, 1, 1), 0.1))
    found = {c.member: c.parameter for c in crossings(family, branch, width=LOCATED)}
    assert found == {0: pytest.approx(1.0), 1: pytest.approx(0.5)}
    with pytest.raises(ValueError, match=r"followed gaits \(values, b\) of members 0 to 0, got array"):
        crossings(CUBIC, branch, width=LOCATED)
    with pytest.raises(ValueError, match="width must be a positive number"):
        crossings(family, branch, width=0.0)


def test_a_branch_that_goes_on_does_not_fold():
    family = Family(lambda a, z: a * z - z**3, None, lambda model, member, a: a * member, np.ones(1), lanes=1)
    branch = follow(family, np.array([0]), np.array([0.5, 0.8, 1.2]), np.zeros((1, 1, 1)))
    assert [(c.kind, c.parameter) for c in crossings(family, branch, width=LOCATED)] == [
        ("branch point", pytest.approx(1.0))
    ]


def test_a_branch_is_followed_through_its_vertex():
    """Gaits z = 1 + p^2 lie flat at p = 0."""
    vary_square = lambda scale, _, p: scale * p
    parabola = Family(lambda p, z: 0.5 * z + 0.5 * (1.0 + p**2), jnp.asarray(1.0), vary_square, np.zeros(1))
    values = np.linspace(-1.0, 1.0, 21)
    found = follow(parabola, np.arange(1), values, np.array([[[2.0]]]))
    np.testing.assert_allclose(found.z.ravel(), 1.0 + values**2, atol=1e-9)


def test_of_no_orbits_there_are_no_points():
    family = Family(lambda r, z: r * z, None, lambda model, member, value: value, np.ones(1), lanes=1)
    found = strides(family, np.zeros(0, int), np.zeros(0), np.zeros((0, 2, 3)))
    assert [x.shape for x in found] == [(0, 2, 3), (0, 2, 3, 3), (0, 2, 3)]


def test_gaits_of_impossible_members_are_told():
    at = np.full((1, 1, 1), 0.6)
    with pytest.raises(ValueError, match=r"members must be a list of numbers from 0 to 2, got array\(\[3\]\)"):
        gaits(FAMILY, np.array([3]), 0.1, at)
    with pytest.raises(ValueError, match=r"z0 must be the points of each of 2 gaits, \(2, order, n\), got .*\(1, 1"):
        families._checked(FAMILY, np.array([0, 1]), at)
    with pytest.raises(ValueError, match=r"values must be at least one value of the parameter, got none"):
        follow(FAMILY, np.array([0]), np.array([]), at)
    with pytest.raises(ValueError, match=r"z0 must be one point, or one for each of 1 members, got the shape \(3, 1\)"):
        many_fixed_points(lambda model, z: 0.5 * z, Oscillator(), {"mass": np.ones(1)}, np.full((3, 1), 0.6))
