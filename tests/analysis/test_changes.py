"""Which bifurcations a followed branch has, what is none, and where a branch or a curve ends: maps in closed form."""

import re

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.analysis.continuation import bifurcation_curve, continuation, locate, period_doubled
from jaxgait.model import Scalar, parameter
from jaxgait.parameters import ParameterError
from tests.analysis.branches_by_hand import Carried

LOCATED = 1e-8


class Two(eqx.Module):
    a: Scalar = parameter(0.5, unit="1", doc="first")
    b: Scalar = parameter(1.0, unit="1", doc="second")


def kinds(branch):
    return [(str(point.kind), round(point.parameter, 8)) for point in branch.bifurcations]


def jumps(branch):
    return [float(a) for a in re.findall(r"after a = ([-.\d]+) at no bifurcation", branch.why_stopped)]


logistic = lambda model, z: model.a * z * (1.0 - z)
pitchfork = lambda model, z: model.a * z - z**3


@pytest.mark.slow
@pytest.mark.parametrize("step", [0.05, 0.07, 0.25])
@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("one", [logistic, pitchfork])
def test_another_branch_crosses_one_that_goes_on(one, more, step):
    """Also where the branch is unstable on both sides, by a second coordinate."""
    both = lambda model, z: jnp.append(one(model, z[:1]), -1.5 * z[1:])
    branch = continuation(both, Two(), "a", np.zeros(1 + more), (0.5, 1.5), step=step)
    assert kinds(branch) == [("branch point", 1.0)] and branch.why_stopped == "the branch left the span"
    assert branch.parameter[-1] == 1.5


def test_a_branch_point_is_found_where_gaits_are_not_at_rest():
    """z = sqrt(a) is crossed by z = 2 - a at a = 1."""
    crossed = lambda model, z: z - 0.3 * (z - jnp.sqrt(model.a)) * (z - 2.0 + model.a)
    branch = continuation(crossed, Two(), "a", np.array([0.7]), (0.5, 2.0), step=0.1)
    ((kind, at),) = kinds(branch)
    assert kind == "branch point" and at == pytest.approx(1.0, abs=LOCATED)
    np.testing.assert_allclose(branch.z[:, 0], np.sqrt(branch.parameter), atol=LOCATED)


def test_a_branch_turns_at_a_branch_point():
    """The side branch of the pitchfork, a = 1 + z^2, is stable on both sides of it."""
    side = continuation(pitchfork, Two(), "a", np.array([0.7]), (1.49, 0.5), step=0.07)
    assert kinds(side) == [("branch point", 1.0)] and side.why_stopped == "the branch left the span"
    np.testing.assert_allclose(side.z[[0, -1], 0], [0.7, -0.7], atol=1e-6)


def test_a_jump_does_not_hide_behind_another_bifurcation():
    """The multiplier jumps at a = 0.5, and is -1 at 0.9 only."""
    jumping = lambda model, z: jnp.where(model.a < 0.5, -0.5, -1.4 + (model.a - 0.5)) * z
    short = continuation(jumping, Two(), "a", np.zeros(1), (0.1, 0.85), step=0.1)
    assert kinds(short) == [] and len(jumps(short)) == 1 and 0.4 < jumps(short)[0] < 0.5
    whole = continuation(jumping, Two(), "a", np.zeros(1), (0.1, 1.0), step=0.1)
    assert kinds(whole) == [("period doubling", 0.9)] and len(jumps(whole)) == 1


def test_a_jump_along_an_unstable_branch_is_said():
    jumping = lambda model, z: jnp.stack([-2.0 * z[0], jnp.where(model.a < 0.5, 0.5, 1.5) * z[1]])
    branch = continuation(jumping, Two(), "a", np.zeros(2), (0.1, 0.9), step=0.1)
    assert not branch.stable.any() and "a multiplier crosses the unit circle after a = " in branch.why_stopped


def test_a_branch_ends_at_its_span():
    """Beyond it the mass would be negative."""
    held = lambda model, z: jnp.where(model.a > 0.0, 0.5 * (z + model.a), jnp.nan)
    branch = continuation(held, Carried(), "a", np.ones(1), (1.0, 0.02), step=0.1)
    assert branch.parameter[-1] == pytest.approx(0.02, abs=1e-12) and (branch.parameter[:-1] > 0.02).all()
    with pytest.raises(ParameterError, match=r"a \(mass\) must be positive, got 0 kg"):
        continuation(held, Carried(), "a", np.ones(1), (1.0, 0.0))
    with pytest.raises(ValueError, match=r"start must lie within the span"):
        continuation(held, Carried(), "a", np.ones(1), (1.0, 0.5), start=2.0)


def delayed(model, z):
    """Jacobian [[0, 1], [-b, a]] at rest: at b = 1 a pair on the unit circle if |a| < 2, beyond real with product 1."""
    return jnp.stack([z[1], model.a * z[1] - model.b * z[0]]) - z**3


@pytest.mark.slow
def test_a_neimark_sacker_curve_ends_where_its_pair_is_real():
    start = locate(delayed, Two(a=1.0), "b", "Neimark-Sacker", np.zeros(2), 0.9)
    curve = bifurcation_curve(delayed, Two(), start, ("b", "a"), (1.0, 3.0))
    b, a = curve.parameters.T
    np.testing.assert_allclose(b, 1.0, atol=LOCATED)
    assert 1.8 < a[-1] < 2.0 and "the pair of multipliers is real, a neutral saddle" in curve.why_stopped
    np.testing.assert_allclose(np.abs(curve.multipliers), 1.0, atol=LOCATED)


def test_a_curve_says_why_it_stopped():
    start = locate(delayed, Two(a=0.3), "b", "Neimark-Sacker", np.zeros(2), 0.9)
    short = bifurcation_curve(delayed, Two(), start, ("b", "a"), (0.3, 0.5), step=0.01, max_points=10)
    assert len(short.parameters) == 10 and short.why_stopped == "10 points were reached"
    with pytest.warns(UserWarning, match="no Neimark-Sacker at a = 2.5: .*: the curve is empty"):
        away = bifurcation_curve(delayed, Two(), start, ("b", "a"), (2.5, 2.6))
    assert len(away.parameters) == 0 and away.why_stopped.startswith("no Neimark-Sacker at a = 2.5")


@pytest.mark.slow
def test_a_curve_ends_where_its_first_parameter_leaves_its_bounds():
    """The multiplier -(a + b) is -1 at a = 1 - b: a would be negative from b = 1."""
    sloped = lambda model, z: -(model.a + model.b) * z
    start = locate(sloped, Carried(b=0.5), "a", "period doubling", np.zeros(1), 0.4)
    curve = bifurcation_curve(sloped, Carried(), start, ("a", "b"), (0.5, 2.0))
    assert (curve.parameters > 0.0).all() and curve.parameters[-1, 1] < 1.0
    assert "a leaves its bounds" in curve.why_stopped
    assert locate(sloped, Carried(b=1.5), "a", "period doubling", np.zeros(1), 0.1) is None


def test_what_needs_another_bifurcation_says_so():
    branch = continuation(pitchfork, Two(), "a", np.zeros(1), (0.5, 1.5))
    with pytest.raises(ValueError, match="the kind of point must be 'period doubling', got 'branch point'"):
        period_doubled(pitchfork, Two(), branch, branch.bifurcations[0], 1.5)
    with pytest.raises(ValueError, match=r"kind must be 'fold' or .*, got 'branch point'"):
        locate(pitchfork, Two(), "a", "branch point", np.zeros(1), 0.9)
