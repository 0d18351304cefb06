"""Branches, bifurcations, multipliers, exponents, basins and diagrams on the Henon map, with answers in closed form."""

import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import precision
from jaxgait.analysis.attractors import FELL, REACHED, basin, bifurcation_diagram
from jaxgait.analysis.continuation import bifurcation_curve, continuation, locate, period_doubled, periods
from jaxgait.analysis.floquet import bifurcation_functions, critical, crossing_mode, floquet, lyapunov_exponent
from jaxgait.analysis.ranges import check_pair
from jaxgait.model import Scalar, parameter
from jaxgait.models import Prosthesis
from jaxgait.parameters import ParameterError
from jaxgait.solve.periodic import PoincareMap
from jaxgait.support import notes

LOCATED = 1e-8


class Henon(eqx.Module):
    a: Scalar = parameter(0.1, unit="1", doc="nonlinearity")
    b: Scalar = parameter(0.3, unit="1", doc="contraction")


def henon(model, z):
    inside = jnp.abs(z[0]) < 1e6
    return jnp.where(inside, jnp.stack([1.0 - model.a * z[0] ** 2 + z[1], model.b * z[0]]), jnp.nan)


def rotation(model, z):
    """A spiral whose multiplier pair has modulus `a`: Neimark-Sacker at a = 1."""
    r2 = z @ z
    c, s = jnp.cos(1.0), jnp.sin(1.0)
    return (model.a - r2) * jnp.array([[c, -s], [s, c]]) @ z


DOUBLING = 3 * (1 - 0.3) ** 2 / 4
DOUBLING_OF_DOUBLED = (1 - 0.3) ** 2 + (1 + 0.3) ** 2 / 4
FOLD = -((1 - 0.3) ** 2) / 4


@pytest.fixture(scope="module")
def branch():
    return continuation(henon, Henon(), "a", np.array([0.9, 0.27]), (0.1, 0.7))


def test_period_doubling_is_located(branch):
    (point,) = branch.bifurcations
    assert point.kind == "period doubling" and point.parameter == pytest.approx(DOUBLING, abs=LOCATED)
    assert branch.stable[0] and not branch.stable[-1] and "left the span" in branch.why_stopped


def test_a_multiplier_that_jumps_is_not_passed_over_in_silence():
    grazing = lambda model, z: jnp.where(model.a < 0.5, 0.5, -1.5) * z
    branch = continuation(grazing, Henon(), "a", np.zeros(1), (0.1, 0.9), step=0.1)
    assert branch.bifurcations == () and branch.stable[0] and not branch.stable[-1]
    (last,) = re.findall(r"stability changes after a = ([\d.]+) at no bifurcation", branch.why_stopped)
    assert 0.4 < float(last) < 0.5


def test_branch_switching_and_the_second_doubling(branch):
    doubled = period_doubled(henon, Henon(), branch, branch.bifurcations[0], 1.0)
    assert doubled.order == 2
    points = [p.parameter for p in doubled.bifurcations if p.kind == "period doubling"]
    np.testing.assert_allclose(points, [DOUBLING_OF_DOUBLED], atol=LOCATED)


@pytest.mark.slow
@pytest.mark.parametrize("end", [0.41, 0.5, 1.5])
@pytest.mark.parametrize("steepness", [-2.0, 2.0])
def test_branches_are_switched_where_the_single_gait_depends_strongly_on_the_parameter(steepness, end):
    """The plane of the next point, across the new direction alone, cut the branch of the single gait."""

    def shifted(model, z):
        shift = steepness * model.a
        return (3.0 + model.a) * (z - shift) * (1.0 - z + shift) + shift

    single = continuation(shifted, Henon(), "a", np.array([0.6 - 0.5 * steepness]), (-0.5, 0.4))
    doubled = period_doubled(shifted, Henon(), single, single.bifurcations[0], end)
    assert len(doubled.parameter) > 10 and doubled.parameter[-1] == pytest.approx(end)
    r, z = 3.0 + doubled.parameter, doubled.z[:, 0] - steepness * doubled.parameter
    np.testing.assert_allclose((r * (z - 0.5) - 0.5) ** 2, (r - 3.0) * (r + 1.0) / 4.0, atol=1e-9)  # in closed form


def test_a_fold_is_passed_and_located():
    back = continuation(henon, Henon(), "a", np.array([0.9, 0.27]), (0.1, -0.3), max_points=80)
    folds = [p.parameter for p in back.bifurcations if p.kind == "fold"]
    np.testing.assert_allclose(folds, [FOLD], atol=LOCATED)
    assert back.parameter.min() >= FOLD - 1e-6


def test_neimark_sacker():
    spiral = continuation(rotation, Henon(), "a", np.zeros(2), (0.5, 1.3), step=0.1)
    assert [(p.kind, round(p.parameter, 8)) for p in spiral.bifurcations] == [("Neimark-Sacker", 1.0)]


def test_curve_of_period_doublings(branch):
    curve = bifurcation_curve(henon, Henon(), branch.bifurcations[0], ("a", "b"), (0.3, 0.6))
    a, b = curve.parameters.T
    np.testing.assert_allclose(a, 3 * (1 - b) ** 2 / 4, atol=1e-7)
    assert b[-1] == pytest.approx(0.6) and curve.why_stopped == "the branch left the span"
    np.testing.assert_allclose(curve.multipliers[:, 0], -1.0, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("start", [-0.40, -0.37, -0.33])
def test_a_bifurcation_at_zero_is_found(start):
    logistic = lambda model, z: (3.0 + 0.5 * jnp.sin(3.0 * model.b)) * z * (1.0 - z)
    followed = continuation(logistic, Henon(), "b", np.array([0.6]), (start, 0.42))
    assert [(p.kind, round(p.parameter, 12)) for p in followed.bifurcations] == [("period doubling", 0.0)]


@pytest.mark.slow
def test_a_branch_leaves_a_gait_at_the_origin():
    pitchfork = lambda model, z: z**3 - (1.0 + model.b) * z
    rest = continuation(pitchfork, Henon(), "b", np.zeros(1), (-0.33, 0.4))
    doubled = period_doubled(pitchfork, Henon(), rest, rest.bifurcations[0], 0.4)
    assert doubled.parameter[-1] > 0.39
    np.testing.assert_allclose(doubled.z[:, 0] ** 2, doubled.parameter, atol=1e-9)


def test_no_gait_at_the_start_is_said():
    with pytest.warns(
        UserWarning, match=r"no gait found at a = -0.3, near z0 = \[0.9  0.27\]: the branch is empty; .*own a is 0.1"
    ):
        nothing = continuation(henon, Henon(), "a", np.array([0.9, 0.27]), (-0.3, -0.5))
    assert len(nothing.parameter) == 0 and nothing.why_stopped.startswith("no gait found")


def test_multipliers_and_what_is_lost():
    modes = floquet(np.array([[[0.5, 0.0], [0.0, -1.2]], [[np.nan, 0.0], [0.0, 1.0]]]))
    np.testing.assert_allclose(modes.multipliers[0], [-1.2, 0.5])
    assert np.isnan(modes.multipliers[1]).all() and not modes.stable.any()
    assert critical(modes.multipliers[0]) == "period doubling"
    assert critical(np.array([1.01, 0.2])) == "fold"
    assert critical(np.array([0.8 + 0.7j, 0.8 - 0.7j])) == "Neimark-Sacker"


def test_functions_vanish_at_their_bifurcations():
    turn = jnp.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 0.3]])
    np.testing.assert_allclose(bifurcation_functions(turn)[2], 0.0, atol=1e-14)
    np.testing.assert_allclose(bifurcation_functions(jnp.diag(jnp.array([1.0, -1.0, 0.3])))[:2], 0.0, atol=1e-14)


def test_lyapunov_exponent_of_the_henon_attractor():
    exponent = jax.jit(lambda: lyapunov_exponent(henon, Henon(1.4, 0.3), jnp.array([0.1, 0.1]), strides=20000))()
    assert float(exponent) == pytest.approx(0.4192, abs=5e-3)  # Wolf et al., Physica D 16 (1985) 285


def test_bifurcation_diagram_counts_the_branches():
    values = jnp.array([0.2, 0.6, 1.0, 3.0])
    points = bifurcation_diagram(henon, Henon(), "a", values, jnp.zeros(2), discard=500, keep=8)
    distinct = [len(np.unique(np.round(p[:, 0], 6))) for p in points[:3]]
    assert distinct == [1, 2, 4] and np.isnan(points[3]).all()


def test_basin():
    model = Henon(0.2, 0.3)
    x = (-0.7 + np.sqrt(0.49 + 0.8)) / 0.4
    starts = np.stack(np.meshgrid(np.linspace(-20, 20, 9), [0.0, 1.0], indexing="ij"), axis=-1)
    result = basin(henon, model, jnp.asarray(starts), jnp.array([[x, 0.3 * x]]), strides=200)
    assert result.outcome.shape == (9, 2)
    assert (result.outcome[4] == REACHED).all() and (result.outcome[0] == FELL).all()


@pytest.mark.slow
@pytest.mark.parametrize("step", [0.2, 0.25])
def test_a_bifurcation_exactly_at_a_point_is_found_once(step):
    """z' = -a z has the multiplier -a: at steps of 1/4, one of the points is at a = 1."""
    found = continuation(lambda model, z: -model.a * z, Henon(), "a", np.zeros(1), (0.5, 1.5), step=step)
    assert [(point.kind, point.parameter) for point in found.bifurcations] == [("period doubling", pytest.approx(1.0))]


def test_a_pair_is_not_taken_for_a_neutral_saddle():
    """Also if a real multiplier is nearer to the unit circle than the pair, as where a pair jumps across it."""
    pair = np.array([0.9 + 0.6j, 0.9 - 0.6j, 0.97])
    index, distance = crossing_mode("Neimark-Sacker", pair)
    assert index == 0 and distance == pytest.approx(np.hypot(0.9, 0.6) - 1.0)
    assert crossing_mode("Neimark-Sacker", np.array([1.25, 0.8, 0.1 + 0.1j, 0.1 - 0.1j])) is None
    assert crossing_mode("Neimark-Sacker", np.array([1.0 + 0.0j])) is None


def test_unknown_multipliers_have_no_kind():
    with pytest.raises(ValueError, match="finite"):
        critical(np.array([np.nan, 0.2]))


@pytest.mark.parametrize("arguments", [{"step": 0.0}, {"step": np.nan}, {"order": 0}, {"max_points": 0}])
def test_impossible_arguments_are_rejected(branch, arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        continuation(henon, Henon(), "a", np.array([0.9, 0.27]), (0.1, 0.7), **arguments)
    with pytest.raises(ValueError, match=next(iter(arguments))):
        bifurcation_curve(henon, Henon(), branch.bifurcations[0], ("a", "b"), (0.3, 0.6), **arguments)


@pytest.mark.parametrize("names", ["ab", "a", ("a",), ("a", "a"), ("a", "b", "c"), (1, 2)])
def test_a_curve_needs_the_names_of_two_parameters(branch, names):
    with pytest.raises(ValueError, match="names must be two different parameters, such as "):
        check_pair("names", names)
    with pytest.raises(ValueError, match="names must be two different parameters, such as "):
        bifurcation_curve(henon, Henon(), branch.bifurcations[0], ("a", "a"), (0.3, 0.6))


def test_impossible_spans_are_rejected(branch):
    with pytest.raises(ValueError, match="span"):
        continuation(henon, Henon(), "a", np.array([0.9, 0.27]), (0.1, 0.1))
    with pytest.raises(ParameterError, match=r"ground\.steepness"):
        continuation(henon, Prosthesis(), "ground.steepness", np.zeros(2), (1e4, -1e4))
    with pytest.raises(ValueError, match="second"):
        bifurcation_curve(henon, Henon(), branch.bifurcations[0], ("a", "b"), (0.3, 0.3))
    with pytest.raises(ParameterError, match=r"ground\.steepness"):
        names = ("segments.thigh", "ground.steepness")
        bifurcation_curve(henon, Prosthesis(), branch.bifurcations[0], names, (1e4, -1e4))


def test_a_branch_that_turns_away_from_the_span_says_so(branch):
    """The doubled gait exists above the doubling only."""
    with pytest.warns(UserWarning, match="left the span, near z0 = .*: the branch is empty"):
        away = period_doubled(henon, Henon(), branch, branch.bifurcations[0], 0.1)
    assert away.why_stopped == "the branch left the span" and not len(away.parameter)


TURNED = 1.0


def turned(model, z):
    return jnp.stack([1.0 - TURNED * model.a * z[0] ** 2 + z[1], 0.3 * z[0]])


@pytest.mark.slow
def test_a_continuation_notices_what_its_map_refers_to(monkeypatch):
    """As in a notebook, where only the changed cell is run again."""
    at = lambda: locate(turned, Henon(), "a", "period doubling", np.array([0.9, 0.27]), 0.36).parameter
    assert at() == pytest.approx(0.3675, abs=1e-9)  # 3/4 (1 - b)^2
    monkeypatch.setitem(globals(), "TURNED", 0.9)
    assert at() == pytest.approx(0.3675 / 0.9, abs=1e-9)


class Drum(PoincareMap):
    """Returns after `a` s to half its speed, and counts how often it is traced."""

    traced = 0

    def timed(self, model, z):
        Drum.traced += 1
        return 0.5 * z, model.a


def test_the_periods_of_branches_are_compiled_once(branch):
    traced = []
    for _ in range(2):
        np.testing.assert_allclose(periods(Drum(), Henon(), branch._replace(order=2)), 2.0 * branch.parameter)
        traced.append(Drum.traced)
    assert traced[0] == traced[1]


def test_continuations_show_how_far_they_are(branch, capsys, monkeypatch):
    monkeypatch.setattr(notes, "PATIENCE", 0.0)
    continuation(henon, Henon(), "a", np.array([0.9, 0.27]), (0.1, 0.3), progress=True)
    assert "branch over a" in (shown := capsys.readouterr().err) and "evaluation" in shown
    period_doubled(henon, Henon(), branch, branch.bifurcations[0], 0.5, progress=True)
    assert "branch over a" in capsys.readouterr().err
    bifurcation_curve(henon, Henon(), branch.bifurcations[0], ("a", "b"), (0.3, 0.35), progress=True)
    assert "curve over b" in capsys.readouterr().err
    continuation(henon, Henon(), "a", np.array([0.9, 0.27]), (0.1, 0.3), progress=False)
    assert not capsys.readouterr().err


def test_bifurcations_need_float64():
    with precision.use("float32"), pytest.raises(ValueError, match="bifurcations need float64"):
        continuation(henon, Henon(), "a", np.array([0.9, 0.27]), (0.1, 0.7))
