"""Fits to curves: known answers in closed form, truth recovered from noisy jumps, undetermined directions."""

import dataclasses
import json
import sys
from dataclasses import replace

import jax.numpy as jnp
import jaxtyping
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from scipy import stats
from scipy.special import expit

from jaxgait import Bungee, Prosthesis, fit, parameter, simulate, with_parameters
from jaxgait.calibration import as_dataset, fitting, over_phase, over_time, profile, sample, trials
from jaxgait.calibration.conditions import Conditions
from jaxgait.calibration.fitting import _misjudged, solve_problem
from jaxgait.calibration.measured import MeasuredCurve, measured_curve
from jaxgait.calibration.problem import Interpolation, Problem, TrialData
from jaxgait.calibration.sampling import _starts, _warn_of_chains
from jaxgait.calibration.search import Stopping
from jaxgait.cli.fit_page import _parameters
from jaxgait.ensembles.spacing import Log
from jaxgait.motion.drive import reference_gait
from jaxgait.motion.embedded import gait_record
from jaxgait.motion.record import write_record
from jaxgait.optimization.evaluate import Evaluated, Evaluator
from jaxgait.optimization.space import Space
from jaxgait.outcome import NoResult
from jaxgait.plot import fits
from tests.oscillator import Oscillator

# --- curves in closed form ------------------------------------------------------------------------------------------


class Known(Evaluator):
    """Values at the points of the data from a function of the parameters in their units, and its derivatives."""

    name = "in closed form"

    multiplier = staticmethod(lambda theta: np.nan)

    def __init__(self, space, curve, slopes, fails=lambda theta: False):
        self._space, self._curve, self._slopes, self._fails = space, curve, slopes, fails

    def __call__(self, searches, x):
        theta = self._space.physical(x)
        lost = np.array([self._fails(t) for t in theta])
        values = np.stack([self._curve(t) for t in theta]) * np.where(lost, np.nan, 1.0)[:, None]
        slopes = np.stack([self._slopes(t) for t in theta]) * self._space.spacing.slopes(x)[:, None]
        return Evaluated(values, slopes, np.where(lost, 3, 0), np.array([*map(self.multiplier, theta)]))

    def shapes(self, x):
        return {"curve": (len(T),)}


T = np.linspace(0.0, 1.0, 21)
BOX = {"stiffness": (1.0, 9.0), "mass": (1.0, 5.0)}


def toy(curve, slopes, values, noise=0.1, box=BOX, fails=lambda theta: False):
    space = Space(Bungee(), box)
    read, measured = Interpolation(np.eye(len(T)), np.eye(len(T))), MeasuredCurve(values, "m", T, "time")
    trial = TrialData(measured, read, np.full(len(T), noise), Bungee())
    return Problem(Bungee(), space, (Conditions(Known(space, curve, slopes, fails)),), (trial,))


def joined(*problems, names=("a", "b", "c")):
    """The problem of several toys as trials, each a group of its own."""
    groups = tuple(group for one in problems for group in one.groups)
    trials = tuple(replace(one.trials[0], name=names[i], group=i) for i, one in enumerate(problems))
    return Problem(problems[0].model, problems[0].space, groups, trials)


def with_data(problem, **changes):
    """The problem with other data of its only trial."""
    return replace(problem, trials=(replace(problem.trials[0], **changes),))


def line(theta):
    return theta[0] * T + theta[1]


def line_slopes(theta):
    return np.stack([T, np.ones_like(T)], axis=1)


def found(problem, *, estimated=False, start=(0.3, 0.7)):
    return solve_problem(problem, np.array([start]), Stopping(), estimated=estimated)


NOISY = line([4.0, 2.0]) + 0.1 * np.random.default_rng(1).normal(size=len(T))


@pytest.mark.parametrize("box", [BOX, BOX | {"stiffness": Log(1.0, 9.0)}])
def test_a_line_is_fitted_as_the_textbook_does(box):
    got = found(toy(line, line_slopes, NOISY, box=box))
    design = line_slopes(None)
    covariance = 0.01 * np.linalg.inv(design.T @ design)
    np.testing.assert_allclose(list(got.best.values()), np.linalg.lstsq(design, NOISY)[0], rtol=1e-7)
    np.testing.assert_allclose(got.covariance, covariance, rtol=1e-9)
    np.testing.assert_allclose(got.curve.band, 1.959964 * np.sqrt(np.einsum("pi,ij,pj->p", design, covariance, design)))
    assert got.degrees == 19 and not got.undetermined and not got.remarks
    assert repr(got).startswith("<Fit of Bungee: stiffness = 3.93948 ± 0.072 N/m, mass = ")
    assert got.fall < 1e-9 and got.minimum and got.determined


def test_noise_that_is_not_given_is_estimated_from_the_residual():
    got = found(toy(line, line_slopes, NOISY, noise=1.0), estimated=True)
    residual = NOISY - line(list(got.best.values()))
    assert got.noise[0] == pytest.approx(np.sqrt(residual @ residual / 19)) and got.reduced == pytest.approx(1.0)
    reach = got.interval("mass")[1] - got.best["mass"]
    assert reach == pytest.approx(stats.t(19).ppf(0.975) * got.standard_error["mass"])


def test_a_level_may_be_a_number_of_numpy(monkeypatch):
    got = found(toy(line, line_slopes, NOISY))
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # (the types of arguments are checked in tests)
    assert got.interval("mass", np.float32(0.95)) == pytest.approx(got.interval("mass"), rel=1e-6)
    with pytest.raises(ValueError, match="level must be a positive number below 1, got 95"):
        got.interval("mass", 95)


def test_a_curve_without_noise_is_no_reason_to_doubt_the_minimum():
    ripple = 1e-12 * np.linspace(-1.0, 1.0, len(T)) ** 2  # what a solver leaves; its neighbours are alike
    got = found(toy(lambda t: line(t) + ripple, line_slopes, line([4.0, 2.0]), noise=1.0), estimated=True)
    assert got.minimum and len(got.remarks) == 1 and "fitted to the accuracy of a run" in got.remarks[0]


class Started(Oscillator):
    """An oscillator that a force begins to push at a time of its own."""

    onset: float = parameter(0.5, unit="s", doc="start of the force")

    def vector_field(self, t, y):
        free = super().vector_field(t, y)
        return free._replace(v=free.v + jnp.where(t > self.onset, 4.0, 0.0) / self.mass)


@pytest.mark.slow
def test_a_time_at_which_a_law_jumps_is_fitted_although_nothing_has_a_slope_by_it():
    truth = simulate(Started(onset=1.2), samples=60).x
    box, run = {"onset": (0.0, 2.5), "stiffness": (6.0, 10.0)}, {"output": "x", "samples": 60, "starts": 2}
    with pytest.warns(UserWarning, match="derivatives of the curve by onset disagree .*fitted by differences of runs"):
        got = fit(Started(), truth, over=box, **run)
    np.testing.assert_allclose(list(got.best.values()), [1.2, 8.0], rtol=1e-5)
    assert not got.undetermined
    with pytest.warns(UserWarning, match="by onset disagree with differences.*give gradient='differences'"):
        assert fit(Started(), truth, over=box, gradient="run", **run).undetermined


class Pushed(Oscillator):
    """An oscillator that a force pushes back beyond an edge."""

    force: float = parameter(8.0, unit="N", doc="force beyond the edge")

    def vector_field(self, t, y):
        free = super().vector_field(t, y)
        return free._replace(v=free.v - jnp.where(y.x > 0.3, self.force, 0.0) / self.mass)


@pytest.mark.slow
@pytest.mark.parametrize("force", [4.0, 20.0])
def test_slopes_that_miss_a_jump_at_a_state_are_replaced_by_differences(force):
    """The motion reaches the edge at another time: slopes by all parameters, without being zero, are wrong."""
    truth = simulate(Pushed(force=force), samples=60).x
    noisy = truth + 0.02 * np.random.default_rng(0).normal(size=truth.shape)
    box, run = {"stiffness": (6.0, 10.0), "force": (1.0, 30.0)}, {"output": "x", "samples": 60, "starts": 1}
    with pytest.warns(UserWarning, match="disagree .*fitted by differences of runs"):
        got = fit(Pushed(), noisy, over=box, noise=0.02, **run)
    assert got.fall < 1e-4 and abs(got.best["force"] - force) < 2.0 * got.standard_error["force"]
    told = fit(Pushed(), noisy, over=box, noise=0.02, gradient="differences", **run)
    np.testing.assert_allclose(list(got.best.values()), list(told.best.values()), rtol=1e-6)


class Remembering(Known):
    """Finds a gait only near the one that it found last."""

    last = np.array([0.3, 0.7])
    memory = lambda self, search, x=None: self.last

    def recall(self, memories):
        self.last = memories.get(0, self.last)

    def __call__(self, searches, x):
        far = np.abs(x - self.last).max(axis=1) > 0.2
        self.last = x[-1]
        found = super().__call__(searches, x)
        return found._replace(values=np.where(far[:, None], np.nan, found.values))


def test_slopes_are_judged_at_the_gait_of_the_best_fit():
    """And not at the one at which the first search ended, from which the best one may not be found."""
    steep = toy(line, lambda theta: 1.3 * line_slopes(theta), NOISY)
    runs = Remembering(steep.space, line, lambda theta: 1.3 * line_slopes(theta))
    got = found(replace(steep, groups=(Conditions(runs),)))
    assert got.minimum
    runs.last = np.array([5.0, 5.0])
    assert _misjudged(got) == ["stiffness", "mass"]


@pytest.mark.slow
def test_a_fit_is_kept_if_the_one_by_differences_finds_nothing(monkeypatch):
    def hindered(*args, gradient, **options):
        if gradient == "differences":
            raise NoResult("no run completed")
        return trials.problem_of(*args, gradient=gradient, **options)

    monkeypatch.setattr(fitting, "problem_of", hindered)
    truth = simulate(Started(onset=1.2), samples=60).x
    with pytest.warns(UserWarning, match="the first fit is returned: no run completed"):
        got = fit(Started(), truth, over={"onset": (0.0, 2.5)}, output="x", samples=60, starts=1)
    assert got.undetermined


class Turned(Started):
    """Has no slope by `onset` where this is an extremum, or between steps."""

    step: float = parameter(0.0, unit="s", doc="step of the onset", bounds="nonnegative")

    def vector_field(self, t, y):
        steps = jnp.where(self.step > 0.0, self.step, 1.0)
        push = jnp.where(self.step > 0.0, jnp.where(t > steps * jnp.round(self.onset / steps), 4.0, 0.0), self.onset**2)
        return y._replace(x=y.v, v=(push - self.stiffness * y.x) / self.mass)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "box", "gradient"),
    [(Turned(onset=0.0), (-1.0, 1.0), "auto"), (Turned(onset=0.51, step=1.0), (0.0, 2.5), "differences")],
)
def test_not_every_zero_slope_is_that_of_a_jump(model, box, gradient, recwarn):
    truth = simulate(model, samples=60).x
    got = fit(model, truth, over={"onset": box}, output="x", samples=60, starts=1, gradient=gradient)
    assert got.undetermined and not [one for one in recwarn if "disagree" in str(one.message)]


def test_two_parameters_that_only_occur_as_a_product_are_reported():
    product = lambda t: t[0] * t[1] * T
    slopes = lambda t: np.stack([t[1] * T, t[0] * T], axis=1)
    got = found(toy(product, slopes, 8.0 * T))
    assert len(got.undetermined) == 1 and "stiffness" in got.undetermined[0] and "mass" in got.undetermined[0]
    assert got.condition > 1e6 and all(np.isinf(x) for x in got.standard_error.values())
    assert np.isfinite(got.curve.band).all() and "do not determine" in str(got)
    assert got.degrees == len(T) - 1  # the rank, not the number of parameters
    open_one = got.directions[-1] * [8.0, 4.0]  # in units: up in one, down in the other, the product stays
    assert abs(open_one @ [got.best["mass"], got.best["stiffness"]]) < 1e-6


def test_a_profile_of_a_line_is_the_parabola_of_its_standard_error():
    got = found(toy(line, line_slopes, NOISY))
    drawn = profile(got, "stiffness")
    np.testing.assert_allclose(drawn.interval, drawn.laplace, rtol=1e-4)
    assert str(drawn).startswith("profile of stiffness: 3.79") and str(drawn).endswith(" N/m (95 %)")
    rise = ((drawn.curve["value"] - got.best["stiffness"]) / got.standard_error["stiffness"]) ** 2
    np.testing.assert_allclose(drawn.curve.rise, rise, atol=1e-6)
    assert drawn.threshold == pytest.approx(3.8415, abs=1e-4) and not drawn.better


def test_parameters_called_like_columns_of_a_profile_are_kept():
    class Named(Bungee):
        rise: float = parameter(5.0, unit="m", doc="rise")
        value: float = parameter(2.0, unit="m", doc="value")

    problem = toy(line, line_slopes, NOISY)
    space = Space(Named(), {"rise": BOX["stiffness"], "value": BOX["mass"]})
    group = Conditions(Known(space, line, line_slopes))
    trials = (replace(problem.trials[0], model=Named()),)
    got = found(replace(problem, model=Named(), space=space, groups=(group,), trials=trials))
    curves = [profile(got, name).curve for name in ("rise", "value")]
    assert [{*curve.variables} for curve in curves] == [{"value", "rise", f"parameter.{n}"} for n in ("value", "rise")]


def test_a_profile_of_a_curved_problem_differs_from_the_standard_error():
    """y = mass / (stiffness + t): at a held stiffness the best mass is a linear fit, so that the profile is known."""
    curve = lambda t: t[1] / (t[0] + T)
    slopes = lambda t: np.stack([-t[1] / (t[0] + T) ** 2, 1.0 / (t[0] + T)], axis=1)
    truth, noise = curve([5.0, 4.0]), 0.05
    got = found(toy(curve, slopes, truth, noise=noise, box={"stiffness": (1.0, 40.0), "mass": (1.0, 30.0)}))
    drawn = profile(got, "stiffness")

    def rise(k):
        shape = 1.0 / (k + T)
        return (((truth @ shape) / (shape @ shape) * shape - truth) ** 2).sum() / noise**2

    for end in drawn.interval:
        assert rise(end) == pytest.approx(drawn.threshold, rel=0.01)
    below, above = got.best["stiffness"] - drawn.interval[0], drawn.interval[1] - got.best["stiffness"]
    reach = drawn.laplace[1] - got.best["stiffness"]
    assert below < 0.9 * reach and above > 1.1 * reach


def test_a_profile_along_an_open_direction_ends_where_the_box_does():
    product = lambda t: t[0] * t[1] * T
    slopes = lambda t: np.stack([t[1] * T, t[0] * T], axis=1)
    got = found(toy(product, slopes, 8.0 * T, noise=0.001))
    assert profile(got, "mass").interval == (-np.inf, np.inf)
    drawn = profile(got, "stiffness")
    np.testing.assert_allclose(drawn.interval, (8.0 / 5.0, 8.0), rtol=1e-3)  # where mass is 5 and 1
    assert drawn.why == 2 * ("the threshold was reached, with mass on its bound",)


def test_failed_runs_are_rejected_steps():
    beyond = lambda theta: theta[0] > 4.5
    got = found(toy(line, line_slopes, NOISY, fails=beyond), start=(0.1, 0.9))
    assert got.best["stiffness"] == pytest.approx(4.0, abs=0.3)
    with pytest.raises(NoResult, match="no start could be fitted"):
        found(toy(line, line_slopes, NOISY, fails=lambda theta: True))


def test_gaits_that_are_not_stable_count_as_failed_unless_they_are_wanted():
    problem = toy(line, line_slopes, NOISY)
    problem.groups[0].runs.multiplier = lambda theta: 1.5 if theta[0] > 3.5 else 0.5
    assert "not stable (largest multiplier 1.5)" in found(problem).remarks[0]
    held = found(replace(problem, stability=1.0))
    assert held.best["stiffness"] < 3.5 and "unstable" in held.why_stopped[0]
    assert held.remarks[0].startswith("this is not a minimum: another step would reduce chi-square by about")
    assert held.fall > 0.1 and not held.minimum and not held.determined
    described = str(held)
    assert (
        "stiffness" in described
        and "±" not in described
        and "95 %" not in described
        and "of the errors" not in described
    )
    assert "±" not in repr(held) and "<td>no minimum</td><td>–</td>" in _parameters(held, ())
    with pytest.raises(NoResult, match="its gait is not stable"):
        found(replace(problem, stability=1.0), start=(0.9, 0.5))
    with pytest.raises(NoResult, match=r"not stable enough \(largest multiplier 0.5, stability=0.4\)"):
        found(replace(problem, stability=0.4), start=(0.2, 0.5))


def test_a_parameter_on_its_bound_is_named_and_has_no_standard_error():
    got = found(toy(line, line_slopes, NOISY, box={"stiffness": (1.0, 3.0), "mass": (1.0, 5.0)}))
    assert got.active == ("stiffness = 3",) and np.isnan(got.standard_error["stiffness"])
    assert 0.0 < got.standard_error["mass"] < 0.1 and "does not fit the data" in got.remarks[0]
    assert "\nstiffness = 3 N/m (on its bound), was 20\nmass      = " in str(got)
    held = "the fit lies on the bound stiffness = 3: the standard errors of the other parameters assume that this value"
    assert got.remarks[-1] == f"{held} is true; without it, that of mass would be 1.9 times as large"


@pytest.mark.filterwarnings("ignore:Bungee.stiffness:jaxgait.plausible.ImplausibleValue")
def test_a_minimum_next_to_a_bound_of_a_wide_box_is_not_on_it():
    narrow = found(toy(line, line_slopes, NOISY))
    got = found(toy(line, line_slopes, NOISY, box={"stiffness": (1.0, 1e5), "mass": (1.0, 5.0)}))
    assert not got.active and got.degrees == 19 and got.minimum
    assert got.standard_error["stiffness"] == pytest.approx(narrow.standard_error["stiffness"])
    begun = got.problem.space.physical(expit(_starts(got, 50, 0)))
    apart = (begun - list(got.best.values())) / list(got.standard_error.values())
    assert np.abs(apart).max() < 5.0 and apart.std() == pytest.approx(1.0, abs=0.2)


# --- a jump ---------------------------------------------------------------------------------------------------------

TRUTH = {"stiffness": 26.0, "rope_length": 28.0, "quadratic_drag": 1.2}
JUMP = {"stiffness": (15.0, 40.0), "rope_length": (24.0, 34.0), "quadratic_drag": (0.5, 2.0)}


def test_a_curve_in_another_unit_than_it_says_is_noticed():
    """The toy's curves are in m; one in cm cannot be fitted within the bounds."""
    got = found(toy(line, line_slopes, 100.0 * NOISY, noise=1.0), estimated=True)
    assert any("spans 397 m" in text and text.endswith("is the first in cm?") for text in got.remarks), got.remarks


RUN = {"duration": 8.0, "samples": 80, "output": "height"}
NOISE = 0.2


@pytest.fixture(scope="module")
def height():
    """The height of the true jump: 81 points."""
    any_curve = over_time(np.arange(81) / 10, np.ones(81), unit="m")
    problem = fit(Bungee(), any_curve, over=JUMP, noise=NOISE, starts=1, iterations=1, **RUN).problem
    x = problem.space.unit(TRUTH)
    return problem.at(x).simulated


@pytest.fixture(scope="module")
def jump(height):
    return fit(Bungee(), over_time(np.arange(81) / 10, height, unit="m"), over=JUMP, noise=NOISE, starts=2, **RUN)


def test_an_exact_curve_gives_its_parameters_back(jump):
    for name, value in TRUTH.items():
        assert jump.best[name] == pytest.approx(value, rel=1e-6)
    assert jump.gradient == "through the whole run" and jump.ends.sizes["start"] == 2
    assert float(jump.ends.squares.max()) < 1e-6


@pytest.mark.slow
def test_replicates_weigh_as_their_means_do(jump, height):
    """Two values at each time are worth their mean with the noise over the root of two."""
    rng, at = np.random.default_rng(1), np.arange(81) / 10
    both = height + NOISE * rng.normal(size=(2, 81))
    box = {"stiffness": JUMP["stiffness"]}
    twice = over_time(np.repeat(at, 2), both.T.ravel(), unit="m")
    found = fit(Bungee(), twice, over=box, noise=NOISE, starts=1, **RUN)
    means = fit(Bungee(), over_time(at, both.mean(axis=0), unit="m"), over=box, noise=NOISE / 2**0.5, starts=1, **RUN)
    assert found.best["stiffness"] == pytest.approx(means.best["stiffness"], rel=1e-6)
    assert found.standard_error["stiffness"] == pytest.approx(means.standard_error["stiffness"], rel=1e-4)
    assert found.curve.sizes["time"] == found.degrees + 1 == 162 and as_dataset(found).time.size == 162
    fits.fitted(found, "height")
    plt.close("all")


@pytest.mark.slow
def test_noise_is_estimated_in_any_unit_of_the_curve(height):
    """Slopes of squared nanometres per box, in square metres, looked like zero at the start."""
    at, errors = np.arange(81) / 10, []
    values = height + NOISE * np.random.default_rng(2).normal(size=81)
    for size in (1.0, 1e-9):
        output, curve = (lambda run, size=size: size * run["height"]), over_time(at, size * values, unit="m")
        got = fit(Bungee(), curve, over=JUMP, starts=1, **RUN | {"output": output})
        assert got.minimum and got.noise[0] == pytest.approx(size * NOISE, rel=0.2)
        errors.append(got.standard_error["stiffness"])
    assert errors[1] == pytest.approx(errors[0], rel=1e-4)


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say(jump, height):
    """20 samples of noise: squared distances in the metric of the covariance add up to chi-square of 60 degrees.

    Bounds at a chance of 1e-4 to either side; of 20 intervals at 95 %, 15 or fewer hold the truth with one of 0.3 %.
    """
    truth, inside, distance = np.array(list(TRUTH.values())), np.zeros(3), 0.0
    for seed in range(20):
        values = height + NOISE * np.random.default_rng(seed).normal(size=height.size)
        measured = replace(jump.problem.trials[0].measured, values=values)
        got = solve_problem(
            with_data(jump.problem, measured=measured), np.full((1, 3), 0.5), Stopping(), estimated=False
        )
        apart = np.array(list(got.best.values())) - truth
        inside += [got.interval(n)[0] <= TRUTH[n] <= got.interval(n)[1] for n in TRUTH]
        distance += apart @ np.linalg.solve(got.covariance.values, apart)
    assert (inside >= 16).all()
    assert stats.chi2(60).ppf(1e-4) < distance < stats.chi2(60).isf(1e-4)


def test_the_jacobian_agrees_with_differences(jump):
    problem, x, step = jump.problem, np.array([0.4, 0.5, 0.6]), 1e-3
    exact = problem.at(x).slopes
    moved = problem([0] * 6, np.concatenate([x + step * np.eye(3), x - step * np.eye(3)])).values
    differences = (moved[:3] - moved[3:]).T / (2.0 * step)
    assert np.abs(exact - differences).max() < 1e-5 * np.abs(exact).max()


def test_a_fit_is_written_and_drawn(jump, tmp_path):
    jump.to_json(tmp_path / "fit.json")
    record = json.loads((tmp_path / "fit.json").read_text())
    assert record["best"] == jump.best and len(record["curve"]["fitted"]) == 81
    pictures = [fits.fitted(jump, "height"), fits.profiled(profile(jump, "stiffness", steps=4))]
    assert len(pictures[0].axes) == 4 and len(pictures[1].axes) == 1
    plt.close("all")


def test_an_interval_beyond_a_logarithmic_range_is_drawn_to_its_end():
    got = found(toy(line, line_slopes, NOISY, box=BOX | {"stiffness": Log(1.0, 9.0)}))
    wide = dataclasses.replace(got, standard_error=got.standard_error | {"stiffness": 3.0})
    assert wide.interval("stiffness")[0] < 0.0
    span = fits.bounded(wide).axes[0].lines[1]
    assert span.get_linestyle() == "-" and span.get_xdata() == pytest.approx([0.0, 1.0])
    plt.close("all")


def test_pairs_of_parameters_are_drawn_once(jump):
    """Of three parameters the cells below the diagonal; of two their joint region, as wide as their errors say."""
    ax = fits.fitted(jump, "height").axes[2]
    assert len(ax.texts) == 3 and "1.00" not in [text.get_text() for text in ax.texts]
    names = list(jump.best)[:2]
    two = dataclasses.replace(jump, best={n: jump.best[n] for n in names}, correlation=jump.correlation[:2, :2])
    region = fits.fitted(two, "height").axes[2]
    line = region.lines[0].get_xydata()
    widths = [np.sqrt(5.991) * jump.standard_error[n] for n in names]
    np.testing.assert_allclose(line.max(axis=0), widths, rtol=1e-3)
    share = float(jump.correlation[0, 1])
    assert f"correlation of the errors {share:+.2f}" in region.get_title()
    assert np.corrcoef(line[:-1].T)[0, 1] == pytest.approx(share, abs=1e-6)
    one = dataclasses.replace(jump, best={names[0]: jump.best[names[0]]}, correlation=jump.correlation[:1, :1])
    assert len(fits.fitted(one, "height").axes) == 2  # nothing empty beside the curves
    plt.close("all")


def test_chains_that_do_not_agree_are_named():
    with pytest.warns(UserWarning, match=r"the chains do not agree on mass \(rhat 1.43\): give more warmup"):
        _warn_of_chains(["mass", "stiffness"], np.array([1.43, 1.02]))


@pytest.mark.slow
def test_samples_agree_with_the_parabola():
    """Of a jump with little noise the curve is nearly linear; 400 draws, of which some 100 are independent."""
    pytest.importorskip("blackjax")
    time, box = np.arange(41) / 5, {name: JUMP[name] for name in ("stiffness", "rope_length")}
    run = {"over": box, "output": "height", "noise": NOISE, "starts": 1, "duration": 8.0, "samples": 40}
    problem = fit(Bungee(), over_time(time, np.ones(41), unit="m"), iterations=1, **run).problem
    height = problem.at(np.array([0.44, 0.4])).simulated + NOISE * np.random.default_rng(0).normal(size=41)
    got = fit(Bungee(), over_time(time, height, unit="m"), **run)
    draws = sample(got, draws=200, warmup=200, chains=2)
    assert (draws.rhat < 1.1).all() and (draws.ess > 50).all() and not draws.divergent.any()
    for name, error in got.standard_error.items():
        assert float(abs(draws[name].mean() - got.best[name])) < 4.0 * error / np.sqrt(50.0)
        assert float(draws[name].std()) == pytest.approx(error, rel=0.3)


def test_sampling_without_its_library_says_how_to_get_it(jump, monkeypatch):
    monkeypatch.setitem(sys.modules, "blackjax", None)
    with pytest.raises(ModuleNotFoundError, match=r"jaxgait\[bayes\]"):
        sample(jump)


# --- reports and errors ----------------------------------------------------------------------------------------------


def test_a_drive_brings_its_knee_curve():
    drive = reference_gait()
    curve = measured_curve(drive)
    assert curve.unit == "rad" and curve.axis == "phase" and len(curve.values) == 100
    assert curve.values[72] == pytest.approx(float(drive.knee_angle(0.72 * drive.period)))
    assert measured_curve("rajagopal_1.26ms").values == pytest.approx(curve.values)


def test_a_saved_walk_brings_its_knee_curve(tmp_path):
    write_record(gait_record("rajagopal_1.26ms"), tmp_path / "walk.json")
    curve = measured_curve(tmp_path / "walk.json")
    assert curve.values == pytest.approx(measured_curve("rajagopal_1.26ms").values, abs=1e-9)


LABELLED = xr.DataArray([1.0, 2.0], {"time": [0.0, 1.0]}, attrs={"units": "m"})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: over_time([0, 1, 2], [1, 2], unit="m"), "2 values at 3 points of the time"),
        (lambda: over_time([0, 2, 1], [1, 2, 3], unit="m"), "time must not decrease, but sample 2"),
        (lambda: over_time([0, 1, 2], [1, np.nan, 3], unit="m"), "must be finite, sample 1 is nan"),
        (lambda: over_time([[0, 1]], [[1, 2]], unit="m"), "must be a list of numbers"),
        (lambda: over_time([-1, 1], [1, 2], unit="m"), "from the start of the run"),
        (lambda: over_time([0, 1], ["a", 2], unit="m"), "must be numbers"),
        (lambda: over_phase([0, 50], [1, 2], unit="deg"), "not percent"),
        (lambda: over_phase([0, 1], [1, 2], unit=""), "must be text such as"),
        (lambda: measured_curve(LABELLED), "units='s'"),
        (lambda: measured_curve(LABELLED.drop_attrs()), "must have the attribute `units`"),
        (lambda: measured_curve(LABELLED.rename(time="t")), "dimension and coordinate `time` or `phase`"),
        (lambda: over_time([0.0, 0.1], np.ma.array([1.0, -9.0], mask=[0, 1]), unit="m"), "finite, sample 1 is nan"),
    ],
)
def test_curves_that_are_none_are_rejected(make, message):
    with pytest.raises(ValueError, match=message):
        make()


METRES = over_time([0.0, 1.0, 2.0], [80.0, 75.0, 60.0], unit="m")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"measured": over_time([0.0, 1.0], [1.0, 2.0], unit="deg")}, "in 'deg', but height in 'm'"),
        ({"measured": over_time([0.0, 9.0], [1.0, 2.0], unit="m")}, "the data end at 9 s, after the run"),
        ({"measured": over_phase([0.0, 0.5], [1.0, 2.0], unit="m")}, "whole strides"),
        ({"measured": reference_gait()}, "give output='knee_angle'"),
        ({"output": "heigth"}, "did you mean 'height'"),
        ({"noise": None}, "3 points are too few to estimate 3 parameters and the noise: give the noise"),
        ({"noise": -1.0}, "noise must be a positive number in m"),
        ({"noise": [1.0, 2.0]}, "one for each of the 3 points"),
        ({"gradient": "gait"}, "gradient='gait' needs data over the phase"),
        ({"durations": 8.0}, "fit has no argument 'durations': did you mean 'duration'"),
        ({"stability": 0.0}, "stability must be a positive number"),
        ({"iterations": 0}, "iterations must be a whole number"),
        ({"loss": "l1"}, "loss must be 'linear' or 'soft_l1' or 'huber' or 'cauchy', got 'l1'"),
        ({"f_scale": 0.0}, "f_scale must be a positive number"),
        ({"loss": "huber"}, "parameters and the size of the errors: give loss='linear'"),
        ({"loss": "huber", "noise": None}, "loss='huber' counts residuals in standard deviations of the noise: give"),
    ],
)
def test_impossible_requests_say_what_would_be_right(change, message):
    with pytest.raises(ValueError, match=message):
        fit(Bungee(), **{"measured": METRES, "over": JUMP, "noise": NOISE, **RUN, **change})


def test_times_that_depend_on_any_parameter_are_an_error():
    """The period is that of mass over stiffness, the same at the lowest and the highest corner of the box."""
    data = over_time([0.0, 1.0, 2.0], [1.0, 0.0, -1.0], unit="m")
    with pytest.raises(ValueError, match="the length of a run depends on the fitted parameters"):
        box = {"mass": (1.0, 4.0), "stiffness": (4.0, 16.0)}
        fit(Oscillator(), data, over=box, output="x", noise=NOISE, strides=1, samples=20, starts=1)


def test_something_else_than_a_curve_is_no_data():
    with pytest.raises(TypeError, match="must be made by over_phase or over_time"):
        fit(Bungee(), [1.0, 2.0], over=JUMP, **RUN)


# --- the knee -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_knee_gives_its_cylinder_back():
    """Synthetic gait with noise of 1 degree: the truth lies within 3.5 standard errors, by the periodic gait."""
    truth = {"damper.thigh_arm": 0.0195, "damper.link_arm": 0.1632, "ankle.stiffness": 12.0}
    box = {"damper.thigh_arm": (0.017, 0.021), "damper.link_arm": (0.160, 0.168), "ankle.stiffness": (5.0, 20.0)}
    leg = with_parameters(Prosthesis(), {"ground.steepness": 1e4})
    walk = simulate(with_parameters(leg, truth), strides=20, rtol=1e-8, progress=False)
    phase = np.arange(100) / 100
    knee = np.degrees(walk.knee_angle.values[-101:-1]) + np.random.default_rng(0).normal(size=100)
    got = fit(leg, over_phase(phase, knee, unit="deg"), over=box, output="knee_angle", noise=1.0, starts=3, rtol=1e-5)
    assert "periodic gait" in got.gradient
    for name, value in truth.items():
        assert abs(got.best[name] - value) < 3.5 * got.standard_error[name]
    assert 0.6 < got.reduced < 1.5
