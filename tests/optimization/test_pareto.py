"""Fronts known in closed form, the two ways against each other, what is never on a front, and impossible requests."""

import sys
from unittest.mock import Mock

import numpy as np
import pytest
import xarray as xr

from experiments.knee import front as study
from jaxgait import Bungee
from jaxgait.models import RigidWalker
from jaxgait.optimization import front, pareto
from jaxgait.optimization.checkpoint import Row
from jaxgait.optimization.evaluate import Evaluated, Evaluator
from jaxgait.optimization.pareto import hypervolume, nondominated
from jaxgait.optimization.statuses import UNSTABLE
from jaxgait.outcome import NoResult, Outcome
from tests.optimization.oscillator import Oscillator

A, B = np.array([0.3, 0.4]), np.array([0.7, 0.6])
APART = float(np.linalg.norm(B - A))
UNIT_BOX = {"k": (0.0, 1.0), "c": (0.0, 1.0)}


def squares(x):
    """Squared distances from A and (negative) from B: sqrt(a) + sqrt(b) = APART on the front, a convex one."""
    return np.array([np.sum((x - A) ** 2), -np.sum((x - B) ** 2), x[1]])


def bells(x):
    """One minus bells around A and B (Fonseca and Fleming): the same points, a front that is concave in its middle."""
    a, b, limited = squares(x)
    return np.array([1.0 - np.exp(-6.0 * a), np.exp(6.0 * b) - 1.0, limited])


class Function(Evaluator):
    """An evaluator, by central differences, of functions of one point; NaN stands for a run that failed."""

    name = "of a function"

    failure = Outcome.NOT_CONVERGED

    def __init__(self, values, count, multiplier):
        self._values, self._multiplier = lambda x: values(x)[:count], multiplier

    def shapes(self, x):
        return {"objective": (), "limited_0": (), "limited_1": ()}

    def __call__(self, searches, x):
        h, values = 1e-6, np.array([self._values(at) for at in x])
        slope = lambda at, e: (self._values(at + h * e) - self._values(at - h * e)) / (2 * h)
        slopes = np.array([np.stack([slope(at, e) for e in np.eye(len(at))], axis=1) for at in x])
        status = np.where(np.isfinite(values).all(axis=1), Outcome.COMPLETED, self.failure)
        return Evaluated(values, slopes, status.astype(np.int32), np.array([self._multiplier(at) for at in x]))


@pytest.fixture
def front_of(monkeypatch):
    def solved(values, multiplier=lambda x: np.nan, **options):
        count = 3 if "subject_to" in options else 2
        monkeypatch.setattr(pareto, "evaluator_for", lambda *given: Function(values, count, multiplier))
        goals = {"minimize": "power", "maximize": "excursion", "over": UNIT_BOX, "tolerance": 1e-8, "progress": False}
        return front(Oscillator(), **{**goals, **options})

    return solved


def losses(found, prefix=""):
    """(members, 2), as `minimize=power, maximize=excursion` has them: what is to be made large comes first."""
    return np.stack([-found[f"{prefix}excursion"].values, found[f"{prefix}power"].values], axis=1)


@pytest.fixture
def swapped():
    """The functions above in the order in which a front asks for them: of `maximize`, then of `minimize`."""
    return lambda function: lambda x: function(x)[[1, 0, 2]]


@pytest.mark.parametrize("function", [squares, bells])
def test_points_lie_evenly_on_the_front_and_their_rates_are_its_slope(front_of, swapped, function):
    found = front_of(swapped(function), points=6, starts=2)
    x = np.stack([found.k, found.c], axis=1)
    along = (x - B) @ (A - B) / APART**2
    np.testing.assert_allclose(x, B + along[:, None] * (A - B), atol=2e-5)
    assert along[0] == pytest.approx(0.0, abs=1e-4) and along[-1] == pytest.approx(1.0, abs=1e-4)
    both = losses(found)
    steps = np.diff((both - both.min(axis=0)) / np.ptp(both, axis=0) @ [1.0, -1.0])
    np.testing.assert_allclose(steps, steps.mean(), rtol=1e-6)
    inside, bell = along[1:-1], 6.0 if function is bells else 0.0
    slope = (1 - inside) / inside * np.exp(bell * APART**2 * (inside**2 - (1 - inside) ** 2))
    np.testing.assert_allclose(found.exchange_rate[1:-1], slope, rtol=1e-5)
    assert np.isnan(found.exchange_rate[0]) and found.remaining_slope.max() < 1e-4


def test_objectives_that_hardly_vary_are_named(front_of, swapped):
    high = lambda x: squares(x) + 1e6
    with pytest.warns(
        UserWarning, match=r"excursion varies by only .* of its size: .*; power varies by only .* than 1e-08"
    ):
        front_of(swapped(high), points=3, starts=2)


def test_slopes_that_miss_what_a_parameter_does_are_named(front_of, swapped):
    stepped = lambda x: squares(np.array([x[0], np.round(x[1], 3)]))
    with pytest.warns(UserWarning, match="zero by c, although the objective changes with it at 2 of 2 starts; comp"):
        front_of(swapped(stepped), points=3, starts=2)


@pytest.mark.parametrize("value", [0.0, 5.0])
@pytest.mark.filterwarnings("error::UserWarning")
def test_of_an_objective_that_is_constant_no_smaller_tolerance_is_asked_for(front_of, value):
    found = front_of(lambda x: np.array([(x[0] - 0.7) ** 2, value, 0.0]), starts=2)
    assert found.sizes["point"] == 1


def test_the_table_of_the_case_study_is_that_of_a_front(front_of, swapped):
    names = {"excursion": "rho", "power": "peak_flexion_error", "k": "damper.k", "c": "damper.c"}
    found = front_of(swapped(squares), points=4, starts=1).rename(names).assign_attrs(seconds=1.0)
    first, *_ = study.table({"rho, error": {"gradient": found, "NSGA-II": found}}).split("\n\n")
    rows = [line.split(" | ") for line in first.splitlines()[2:]]
    assert [row[4] for row in rows] == [f"{1e-3 * rate:.3f}" for rate in found.exchange_rate.values]


def test_the_two_ways_agree(front_of, swapped):
    """No member of a population is beyond the front, and both come near to its hypervolume, known in closed form."""
    exact = front_of(swapped(squares), points=13, starts=2)
    many = front_of(swapped(squares), method="NSGA-II", population=24, generations=20)
    a, b = losses(many).T
    beyond = APART - np.sqrt(np.maximum(a, 0.0)) - np.sqrt(b)
    assert beyond.max() < 1e-9 and np.abs(beyond).max() < 0.05 * APART
    whole = (1.1**2 - 1.0 / 6.0) * APART**4  # the integral of (APART - sqrt(a))^2, taken from the box
    for found, missing in ((exact, 0.04), (many, 0.02)):
        volume = hypervolume(losses(found), 1.1 * np.full(2, APART**2))
        assert (1.0 - missing) * whole < volume < whole
    assert many.sizes["evaluation"] == 24 * 20 and many["tried.on_front"].sum() == many.sizes["point"]


@pytest.mark.slow
@pytest.mark.parametrize("method", pareto.FRONT_METHODS)
def test_failed_and_beaten_members_are_never_on_it(front_of, swapped, method):
    """Runs fail in a band across the front, and gaits are not stable in another."""
    failing = lambda x: np.full(3, np.nan) if 0.45 < x[0] < 0.5 else swapped(squares)(x)
    multiplier = lambda x: 1.2 if 0.55 < x[0] < 0.6 else 0.5
    found = front_of(failing, multiplier, method=method, points=11, starts=3, population=16, generations=12)
    k, tried, status = found.k.values, found["tried.k"].values, found["tried.status"].values
    assert found.sizes["point"] > 5 and not ((k > 0.45) & (k < 0.5)).any() and not ((k > 0.55) & (k < 0.6)).any()
    assert (status[(tried > 0.45) & (tried < 0.5)] == Outcome.NOT_CONVERGED).all()
    assert (status[(tried > 0.55) & (tried < 0.6)] == UNSTABLE).all()
    valid = losses(found, "tried.")[status == Outcome.COMPLETED]
    better = lambda one: (valid < one - 2e-6 * APART**2).all(axis=1).any()
    assert not any(better(one) for one in losses(found)) and nondominated(losses(found)).all()


@pytest.mark.parametrize("method", pareto.FRONT_METHODS)
def test_limits_are_kept_along_it(front_of, swapped, method):
    limits = ["late <= 0.5"]
    found = front_of(
        swapped(squares), subject_to=limits, method=method, points=5, starts=2, population=16, generations=16
    )
    assert found.c.max() <= 0.5 + 1e-8 and found.k.max() > 0.68


def test_of_many_optima_of_one_objective_the_best_in_the_other_is_the_end(front_of):
    """The first is best all along the circle of radius 0.3 around A, the second at B: the end is the nearest to B."""
    radius = lambda x: np.sqrt(np.sum((x - A) ** 2) + 1e-12)
    around = lambda x: np.array([-np.hypot(radius(x) - 0.3, 1e-3), np.sum((x - B) ** 2)])
    found = front_of(around, points=4)
    end = A + 0.3 * (B - A) / APART
    np.testing.assert_allclose([found.k[0], found.c[0]], end, atol=2e-3)
    assert found.sizes["point"] == 4


@pytest.mark.parametrize("share", [0.05, 0.02])
def test_what_costs_an_end_nothing_is_taken_however_little_it_gains(front_of, share):
    """The first is best for any c at one k, on a bound or not, the second there at c = 0.2, by a few percent."""
    for first in (lambda k: -k, lambda k: -((k - 0.3) ** 2)):
        both = lambda x, first=first: np.array([first(x[0]), (x[0] - 1.0) ** 2 + share * (x[1] - 0.2) ** 2])
        found = front_of(both, points=3, starts=[{"k": 0.5, "c": 1.0}])
        k = 0.3 if first(0.3) == 0.0 else 0.0
        np.testing.assert_allclose([found.k[0], found.c[0]], [k, 0.2], atol=1e-2)


@pytest.mark.slow
def test_a_piece_that_no_sweep_reaches_is_found_from_a_start_there(front_of, swapped):
    """Runs fail on both sides of a band of k; only a start inside it leads to the front there."""
    ditches = lambda x: np.full(3, np.nan) if 0.3 < x[0] < 0.49 or 0.51 < x[0] < 0.7 else swapped(squares)(x)
    begin = [{"k": 0.2, "c": 0.2}, {"k": 0.8, "c": 0.8}, {"k": 0.5, "c": 0.45}]
    without, found = (front_of(ditches, points=9, starts=begin[:n]) for n in (2, 3))
    inside = lambda one: ((one.k > 0.48) & (one.k < 0.52)).values
    assert not inside(without).any() and inside(found).any()
    beyond = np.sqrt(-found.excursion) + np.sqrt(found.power) - APART  # the middle is on the front, others at an edge
    assert beyond.values[inside(found)].min() < 1e-6 and nondominated(losses(found)).all()


def test_what_does_not_oppose_has_one_best_point(front_of):
    found = front_of(lambda x: np.array([-np.sum((x - A) ** 2), np.sum((x - A) ** 2)]))
    assert found.sizes["point"] == 1 and found.k.item() == pytest.approx(A[0], abs=1e-4)
    hinges = lambda x: np.array([min(0.0, x[0] - 0.5), max(0.0, x[0] - 0.5)])  # flat on either side, both best at 0.5
    found = front_of(hinges, starts=[{"k": 0.1, "c": 0.5}, {"k": 0.9, "c": 0.5}])
    assert found.sizes["point"] == 1 and found.k.item() == pytest.approx(0.5, abs=1e-3)


def test_searches_from_either_side_of_a_gap_that_meet_give_one_point():
    values = np.array([[0.998146, 63.2331], [0.9974410, 63.0004], [0.9974407, 63.0003], [0.995471, 62.6556]])
    rows = [Mock(spec=Row, evaluation=Mock(values=one)) for one in values]
    assert pareto._apart(rows, 2, pareto.SAME_POINT) == [rows[0], rows[1], rows[3]]


def test_that_nothing_is_found_is_said(front_of, swapped):
    fails = lambda x: np.full(3, np.nan)
    with pytest.raises(NoResult, match=r"every trajectory failed \(not found: the iteration stalled"):
        front_of(fails, method="NSGA-II", population=4, generations=2)
    with pytest.raises(NoResult, match="nearest to late >= 2 was"):
        front_of(swapped(squares), subject_to="late >= 2", method="NSGA-II", population=4, generations=2)


def test_the_objective_that_is_undefined_is_named(front_of, monkeypatch):
    """Of both, not that of the search for the first end."""
    monkeypatch.setattr(Function, "failure", Outcome.COMPLETED)
    with pytest.raises(NoResult, match="every run completed, but power is not a finite number at 2 of 2 points"):
        front_of(lambda x: np.array([x.sum(), np.nan, 0.0]), starts=2)


def test_that_no_gait_is_stable_is_said(front_of, swapped):
    unstable = lambda x: 1.2
    with pytest.raises(NoResult, match=r"smallest multiplier 1.2\): .*; method='NSGA-II' also accepts walks"):
        front_of(swapped(squares), unstable)
    with pytest.raises(NoResult, match=r"every trajectory failed \(the gait is not stable\)"):
        front_of(swapped(squares), unstable, method="NSGA-II", population=4, generations=2)


@pytest.mark.slow
def test_a_front_of_a_scheme_without_derivatives_is_nsgas():
    goals = {"maximize": "velocity", "minimize": "impact_loss", "over": {"slope": (0.008, 0.012)}}
    found = front(RigidWalker(), **goals, duration=3.0, dt=2e-3, population=4, generations=1)
    assert found.attrs["method"] == "NSGA-II" and found.sizes["point"] > 1


def test_dominance_and_hypervolume_are_those_of_pymoo():
    from pymoo.indicators.hv import HV
    from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

    for objectives in (2, 3):
        points = np.random.default_rng(0).random((60, objectives)).round(1)
        first = NonDominatedSorting().do(points, only_non_dominated_front=True)
        np.testing.assert_array_equal(np.flatnonzero(nondominated(points)), np.sort(first))
        reference = np.full(objectives, 0.95)
        assert hypervolume(points, reference) == pytest.approx(HV(ref_point=reference)(points))


@pytest.mark.slow
def test_of_a_jump_in_its_units(tmp_path):
    """The stiffer the rope, the higher above the ground and the stronger the pull: all ropes are on the front."""

    def own(run):
        return run.model.stiffness * 1.0

    found = front(
        Bungee(),
        maximize=["clearance", own],
        minimize=["peak_rope_force"],
        over={"stiffness": (15.0, 40.0)},
        method="NSGA-II",
        population=8,
        generations=2,
        duration=20.0,
        progress=False,
    )
    assert found.sizes["point"] == found.sizes["evaluation"] == 16 and found.attrs["senses"] == "max, max, min"
    np.testing.assert_array_equal(found.own, found.stiffness)
    assert (np.diff(found.clearance) <= 0).all() and (np.diff(found.peak_rope_force) < 0).all()
    assert found.clearance.attrs["units"] == "m" and found["tried.stiffness"].attrs["units"] == "N/m"
    found.to_netcdf(tmp_path / "front.nc", engine="h5netcdf")
    assert xr.load_dataset(tmp_path / "front.nc", engine="h5netcdf").equals(found)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"maximize": ()}, ValueError, "a front needs two objectives"),
        (
            {"maximize": ["late", "excursion"], "method": "gradient"},
            ValueError,
            "takes two objectives, got 3: use method='NSGA-II'",
        ),
        ({"method": "NSGA"}, ValueError, "method must be 'auto' or 'gradient' or 'NSGA-II'"),
        ({"points": 1}, ValueError, "points must be a whole number, at least 2"),
        ({"method": "NSGA-II", "population": 2}, ValueError, "population must be a whole number, at least 4"),
        ({"method": "NSGA-II", "stability": 0.9}, ValueError, "which runs do not have: use gradient='gait'"),
        ({"maximize": "excurson"}, ValueError, "has no measure 'excurson'"),
        ({"maximize": lambda run: run.ts[-1]}, ValueError, "an objective of a front needs a name"),
        ({"maximize": "power"}, ValueError, "the front has power twice"),
        ({"subject_to": ["late"]}, ValueError, "a limit is text such as"),
        ({"sample": 3}, ValueError, "front has no argument 'sample': did you mean 'samples'"),
    ],
)
def test_impossible_fronts_are_named(front_of, swapped, changes, error, message):
    with pytest.raises(error, match=message):
        front_of(swapped(squares), **changes)


def test_without_pymoo_the_error_names_what_to_install(front_of, swapped, monkeypatch):
    monkeypatch.setitem(sys.modules, "pymoo", None)
    with pytest.raises(ModuleNotFoundError, match=r'NSGA-II needs pymoo: pip install "jaxgait\[pareto\]"'):
        front_of(swapped(squares), method="NSGA-II")
