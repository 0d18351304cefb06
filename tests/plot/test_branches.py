"""Bifurcation diagrams: stable and unstable parts that meet at located bifurcations, which have names."""

import equinox as eqx
import matplotlib.pyplot as plt
import numpy as np
import pytest

from jaxgait import parameter
from jaxgait.analysis.continuation import BifurcationPoint, Branch, continuation, period_doubled
from jaxgait.plot import branches
from jaxgait.plot.branches import branch_diagram


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def branch_with(*located, order=1, **changes):
    """A branch that loses its stability at 0.55, and bifurcations at these points."""
    p = np.linspace(0.0, 1.0, 11)
    points = tuple(BifurcationPoint("fold", x, np.array([z]), np.array([1.0]), np.array([1.0])) for x, z in located)
    found = Branch("slope", order, p, p[:, None] ** 2, 1.8 * p[:, None], p < 0.55, points, "")
    return found._replace(**changes)


def joined(branch, quantity):
    return branches._joined(branch, branches._heights(branch, quantity))


def names(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize(("located", "joint"), [((0.55, 0.3), [0.55]), ((0.95, 0.9), [])])
def test_a_bifurcation_joins_a_branch_where_its_stability_changes(located, joint):
    """One that is elsewhere, as of another change that was not located, would be a spike."""
    parameter, _, stable, unstable = joined(branch_with((-3.0, 2.0), located), 0)
    assert parameter[(stable == 1) & (unstable == 1)].tolist() == joint and np.all(np.diff(parameter) > 0.0)


def test_parts_and_bifurcations_have_names():
    figure = branch_diagram(branch_with((0.55, 0.3)))
    assert names(figure) == ["stable", "unstable", "fold"] and figure.axes[0].get_xlabel() == "slope"
    solid, dashed = figure.axes[0].lines[:2]
    assert (solid.get_linestyle(), dashed.get_linestyle()) == ("-", "--")
    assert np.nanmax(np.where(np.isfinite(solid.get_ydata()), solid.get_xdata(), np.nan)) == 0.55
    assert np.nanmin(np.where(np.isfinite(dashed.get_ydata()), dashed.get_xdata(), np.nan)) == 0.55
    figure = branch_diagram([branch_with(), branch_with(), branch_with(order=2)])
    assert names(figure) == ["order 1", "order 2 (one of its points)", "unstable"]
    assert names(branch_diagram(branch_with(stable=np.zeros(11, bool)))) == ["unstable"], "none is stable"
    long = branch_diagram(branch_with(), walks=(np.array([0.1, 0.2]), np.ones((2, 3))))
    assert len(long.axes[0].lines[0].get_xdata()) == 6 and names(long)[0] == "long walks"
    dots, _, line = long.axes[0].lines[:3]
    assert dots.get_markersize() / 2 > line.get_linewidth(), "the branch, which is in front, would hide few dots"
    assert branch_diagram(branch_with(), walks=(np.zeros(0), np.ones((0, 3)))).axes


def test_the_multiplier_or_any_function_of_a_branch_can_be_drawn():
    figure = branch_diagram(branch_with((0.55, 0.3)), "multiplier")
    assert figure.axes[0].get_ylabel() == "largest multiplier (magnitude)"
    (mark,) = (line for line in figure.axes[0].lines if line.get_marker() == "s" and len(line.get_xdata()))
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (0.55, 1.0)
    given = []
    period = lambda b: given.append(b) or 2.0 * b.z[:, 0]
    figure = branch_diagram(branch_with((0.55, 0.3)), period, label="period (s)")
    assert figure.axes[0].get_ylabel() == "period (s)" and np.nanmax(figure.axes[0].lines[1].get_ydata()) == 2.0
    (once,) = given
    assert {len(x) for x in (once.parameter, once.z, once.multipliers, once.stable)} == {12} and not once.bifurcations
    assert branch_diagram(branch_with(), np.int64(0)).axes[0].get_ylabel() == "coordinate 0 of the section"


class Growth(eqx.Module):
    r: float = parameter(2.8, unit="1/s", doc="growth")


@pytest.mark.slow
def test_a_branch_of_doubled_period_starts_at_its_origin():
    logistic = lambda model, z: model.r * z * (1.0 - z)
    single = continuation(logistic, Growth(), "r", np.array([0.6]), (2.8, 3.2))
    double = period_doubled(logistic, Growth(), single, single.bifurcations[0], 3.3)
    assert double.origin is single.bifurcations[0] and single.origin is None
    across, up, *_ = joined(double, 0)
    assert (across[0], up[0]) == (double.origin.parameter, double.origin.z[0])
    alone = branch_diagram(double)
    assert names(alone) == ["stable (one of its points)", "period doubling"], (
        "its origin is marked without the other branch, too"
    )
    across, up, *_ = joined(double, "multiplier")
    assert across[0] == double.origin.parameter and up[0] == pytest.approx(1.0)
    largest = lambda b: np.abs(b.multipliers).max(axis=1)
    np.testing.assert_array_equal(joined(double, largest)[1][:: branches.BETWEEN], up[:: branches.BETWEEN])
    figure = branch_diagram([single, double], model=Growth())
    assert figure.axes[0].get_xlabel() == "growth (1/s)" and "period doubling" in names(figure)
    both = branch_diagram([single, double], model=Growth(), return_map=logistic)
    assert names(both) == ["order 1", "order 2", "unstable", "period doubling"]
    drawn = [
        line for line in both.axes[0].lines if line.get_color() == branches.ORDERS[2] and line.get_linestyle() == "-"
    ]
    ends = sorted(line.get_ydata()[-1] for line in drawn if len(line.get_xdata()))
    middle, apart = (3.3 + 1.0) / 6.6, np.sqrt((3.3 + 1.0) * (3.3 - 3.0)) / 6.6
    np.testing.assert_allclose(ends, [middle - apart, middle + apart], atol=1e-6)
    with pytest.raises(ValueError, match="return_map needs the model that it maps: give model="):
        branch_diagram(double, return_map=logistic)


@pytest.mark.slow
@pytest.mark.parametrize("squared", [False, True])
def test_lines_bend_as_their_branches_do(squared):
    """Also beside a period doubling, where chords are a wedge, and of functions of the coordinate."""
    logistic = lambda model, z: model.r * z * (1.0 - z)
    single = continuation(logistic, Growth(), "r", np.array([0.6]), (2.5, 3.2))
    double = period_doubled(logistic, Growth(), single, single.bifurcations[0], 3.4)
    across, up, *_ = joined(double, (lambda b: b.z[:, 0] ** 2) if squared else 0)
    between = [0.5 * (x[1:] + x[:-1]) for x in (across, up)]  # the middle of each straight piece
    z = np.sqrt(between[1]) if squared else between[1]
    true = (1.0 - z + np.sqrt((1.0 - z) ** 2 + 4.0 * z * (1.0 - z))) / (2.0 * z * (1.0 - z))  # growth of its gait
    assert np.abs(between[0] - true).max() < 1e-3 * np.ptp(across)
    turns = np.diff(np.unwrap(np.arctan2(np.diff(up) / np.ptp(up), np.diff(across) / np.ptp(across))))
    assert np.abs(turns).max() < 0.1, "rad: no kinks"


@pytest.mark.slow
def test_the_birth_of_a_branch_is_drawn_as_it_is():
    """Where z = 1 +- 0.05 sqrt(r): the smaller the amplitude, the shorter the way in which the branch turns."""

    class Cubic(eqx.Module):
        r: float = parameter(-0.5, unit="1", doc="growth")

    odd = lambda model, z: 1.0 - (1.0 + model.r) * (z - 1.0) + (z - 1.0) ** 3 / 0.05**2
    single = continuation(odd, Cubic(), "r", np.array([1.0]), (-0.5, 1.0))
    double = period_doubled(odd, Cubic(), single, single.bifurcations[0], 1.0)
    assert len(single.parameter) < 25 and len(double.parameter) < 45
    assert np.diff(double.parameter).max() < 0.06  # step = 0.05
    drawn = branch_diagram(double).axes[0].lines[:2]
    r, z = np.concatenate([line.get_xydata() for line in drawn if len(line.get_xydata())]).T
    off = abs(z - 1.0) - 0.05 * np.sqrt(np.maximum(r, 0.0))
    assert np.nanmax(np.minimum(abs(off), abs((z - 1.0) ** 2 / 0.05**2 - r) * 0.05)) < 0.002 * 0.05


def test_lines_do_not_swing_beside_a_kink_or_across_a_gap():
    p = np.linspace(0.0, 1.0, 11)
    kinked = branch_with(parameter=p, z=np.maximum(p - 0.5, 0.0)[:, None], stable=np.full(11, True))
    across, up, *_ = joined(kinked, 0)
    np.testing.assert_allclose(up, np.maximum(across - 0.5, 0.0), atol=1e-12)
    jumping = branch_with(z=np.where(p < 0.55, 0.0, p)[:, None])  # at no bifurcation
    across, up, stable, unstable = joined(jumping, 0)
    np.testing.assert_allclose(up, np.where(across < 0.55, 0.0, across), atol=1e-12)
    assert across[stable].max() == p[5] and across[unstable].min() == p[6]


@pytest.mark.filterwarnings("error::RuntimeWarning")  # of unknown ones
def test_the_multiplier_keeps_its_kinks():
    """Where one passes zero, another becomes the largest, or a pair meets on the real axis, between two points."""
    p = np.linspace(0.0, 1.0, 12)  # no kink is at a point
    middle, square = (p - 0.5)[:, None], (p - 0.52)[:, None]
    pair = 0.6 + np.hstack([sign * np.sqrt(square.astype(complex)) for sign in (-1.0, 1.0)])
    true = {
        "V": (middle, lambda x: abs(x - 0.5)),
        "exchange": (np.hstack([middle, -0.4 * middle + 0.1]), lambda x: np.maximum(abs(x - 0.5), abs(0.3 - 0.4 * x))),
        "pair": (pair, lambda x: abs(0.6 + np.sqrt(x - 0.52 + 0j))),
    }
    for name, (multipliers, largest) in true.items():
        one = branch_with(parameter=p, z=p[:, None], stable=np.full(12, True), multipliers=multipliers)
        across, up, *_ = joined(one, "multiplier")
        np.testing.assert_allclose(up, largest(across), atol=1e-7, err_msg=name)
    unknown = np.where(p[:, None] > 0.95, np.nan, middle)
    _, up, *_ = joined(one._replace(multipliers=unknown), "multiplier")
    assert np.isnan(up[-1]) and np.isfinite(up[: -2 * branches.BETWEEN]).all(), "a gap"


def test_a_bifurcation_at_a_point_of_the_branch_is_that_point():
    branch = branch_with((0.6 - 1e-7, 0.36))
    across, _, stable, unstable = joined(branch, 0)
    assert across[stable & unstable].tolist() == [branch.parameter[6]] and np.all(np.diff(across) > 0.0)


def test_walks_are_drawn_by_the_coordinate_that_the_branches_are():
    values, reached = np.array([0.1, 0.2]), np.arange(12.0).reshape(2, 3, 2)
    two = branch_with()._replace(z=np.column_stack([np.linspace(0.0, 1.0, 11)] * 2))
    dots = branch_diagram(two, 1, walks=(values, reached)).axes[0].lines[0]
    np.testing.assert_array_equal(dots.get_ydata(), [1, 3, 5, 7, 9, 11])
    np.testing.assert_array_equal(dots.get_xdata(), np.repeat(values, 3))
    with pytest.raises(ValueError, match="walks of 2 coordinates do not hold 'multiplier': give what is drawn"):
        branch_diagram(two, "multiplier", walks=(values, reached))
    with pytest.raises(ValueError, match=r"got the shapes \(2,\) and \(3, 2\)"):
        branch_diagram(two, walks=(values, np.zeros((3, 2))))


def test_a_function_of_neighbours_is_given_the_points_in_their_order():
    located = [(0.55, 0.3025), (0.05, 0.0025), (-0.1, 0.01), (1.1, 1.21)]
    drawn = []
    along = lambda b: drawn.append(b.parameter) or np.gradient(b.z[:, 0], b.parameter)
    heights = branches._heights(branch_with(*located), along)
    assert np.all(np.diff(drawn[0]) > 0.0)
    np.testing.assert_allclose(heights.bifurcations[:2], [1.1, 0.1], atol=1e-9)
    np.testing.assert_allclose(heights.points[1:-1], 2.0 * np.linspace(0.0, 1.0, 11)[1:-1], atol=1e-9)


@pytest.mark.parametrize(
    ("drawn", "quantity", "message"),
    [
        ([branch_with(), branch_with(name="mass")], 0, "must be of one parameter, got slope, mass"),
        ([], 0, "the branches have no points"),
        (branch_with(), 1, "the number of a coordinate from 0 to 0"),
        (branch_with(), lambda b: b.z, r"a number for each of the 11 points of the branch .*, got the shape \(11, 1\)"),
    ],
)
def test_what_cannot_be_drawn_is_said(drawn, quantity, message):
    with pytest.raises(ValueError, match=message):
        branch_diagram(drawn, quantity)
