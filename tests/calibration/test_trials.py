"""Fits to several measured curves: against SciPy, what each trial shares and has of its own, and what is wrong."""

import json
import re
from dataclasses import replace

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from scipy import stats
from scipy.optimize import least_squares

from jaxgait import Bungee, Log, Prosthesis, fit, precision, simulate, with_parameters
from jaxgait.calibration import Trial, as_dataset, over_phase, over_time, profile, sample
from jaxgait.calibration.describe import quality
from jaxgait.calibration.sampling import _log_density
from jaxgait.calibration.search import Stopping
from jaxgait.ensembles import batch
from jaxgait.optimization.space import Space
from jaxgait.outcome import NoResult
from jaxgait.parameters import ParameterError
from jaxgait.plot import fits, studies
from tests.calibration.test_calibration import NOISY, T, found, joined, line, line_slopes, toy
from tests.oscillator import Oscillator
from tests.throw import Throw

# --- curves in closed form --------------------------------------------------------------------------------------------


OTHER = line([4.0, 2.0]) + 0.2 * np.random.default_rng(2).normal(size=len(T))


def two(noise=(0.1, 0.2), fails=lambda theta: False):
    """Twice the same line, with noise of two sizes."""
    return joined(toy(line, line_slopes, NOISY, noise[0]), toy(line, line_slopes, OTHER, noise[1], fails=fails))


def test_residuals_are_weighted_and_concatenated_as_the_textbook_does():
    got = found(two())
    design = np.concatenate([line_slopes(None) / 0.1, line_slopes(None) / 0.2])
    covariance = np.linalg.inv(design.T @ design)
    best = np.linalg.lstsq(design, np.concatenate([NOISY / 0.1, OTHER / 0.2]))[0]
    np.testing.assert_allclose(list(got.best.values()), best, rtol=1e-7)
    np.testing.assert_allclose(got.covariance, covariance, rtol=1e-9)
    assert got.degrees == 40 and got.minimum and not got.remarks
    for name, sigma, values in (("a", 0.1, NOISY), ("b", 0.2, OTHER)):
        one, residual = got.trials[name], (line(best) - values) / sigma
        assert one.chi_square == pytest.approx(residual @ residual) and one.curve.sizes["time"] == 21
        leverage = np.einsum("pi,ij,pj->p", line_slopes(None), covariance, line_slopes(None)) / sigma**2
        assert one.degrees == pytest.approx(21 - leverage.sum())
        np.testing.assert_allclose(one.curve.band, 1.959964 * sigma * np.sqrt(leverage))
    assert sum(one.chi_square for one in got.trials.values()) == pytest.approx(got.chi_square)
    assert sum(one.degrees for one in got.trials.values()) == pytest.approx(got.degrees)
    assert quality(got)[-1] == f"all: chi-square {got.chi_square:.4g} at 40 degrees of freedom, {got.reduced:.3g} each"
    assert " at 1 degree of freedom, " in quality(replace(got, degrees=1))[-1]
    with pytest.raises(ValueError, match="each trial has a curve: write trials"):
        _ = got.curve


def test_the_derivatives_of_all_groups_are_named():
    got = two()
    got.groups[1].name = "by differences"
    assert found(got).gradient == "in closed form and by differences"


def test_the_order_of_trials_does_not_matter():
    first, second = found(two()), found(joined(*reversed(_toys()), names=("b", "a")))
    np.testing.assert_allclose(list(first.best.values()), list(second.best.values()), rtol=Stopping().tolerance)
    np.testing.assert_allclose(first.covariance, second.covariance, rtol=1e-9)
    for name in "ab":
        assert first.trials[name].chi_square == pytest.approx(second.trials[name].chi_square)


def _toys():
    return [toy(line, line_slopes, NOISY, 0.1), toy(line, line_slopes, OTHER, 0.2)]


def test_a_profile_of_two_trials_is_the_parabola_of_their_standard_error():
    drawn = profile(found(two()), "stiffness")
    np.testing.assert_allclose(drawn.interval, drawn.laplace, rtol=1e-4)


def test_a_trial_that_fails_rejects_the_step_only():
    got = found(two(fails=lambda theta: theta[0] > 4.5), start=(0.1, 0.9))
    assert got.best["stiffness"] == pytest.approx(found(two()).best["stiffness"], rel=1e-6)
    with pytest.raises(NoResult, match=r"no start could be fitted \(the run of b at the start failed: "):
        found(two(fails=lambda theta: True))


def test_a_gait_that_is_not_stable_is_named():
    problem = two()
    problem.groups[1].runs.multiplier = lambda theta: 1.5
    assert "the gait of b is not stable (largest multiplier 1.5)" in found(problem).remarks[0]
    with pytest.raises(NoResult, match="the run of b at the start failed: its gait is not stable"):
        found(replace(problem, stability=1.0))


def test_one_common_noise_is_estimated():
    """A pooled variance: the sum of all squares over all degrees of freedom."""
    got = found(two(noise=(1.0, 1.0)), estimated=True)
    residual = np.concatenate([line(list(got.best.values())) - values for values in (NOISY, OTHER)])
    np.testing.assert_allclose(got.noise, np.sqrt(residual @ residual / 40))
    assert got.reduced == pytest.approx(1.0) and got.noise.shape == (42,)
    design = np.concatenate(2 * [line_slopes(None)])
    leverage = np.einsum("pi,ij,pj->p", design, np.linalg.inv(design.T @ design), design)
    reach = stats.t(40).ppf(0.975) * got.noise * np.sqrt(leverage)
    np.testing.assert_allclose(np.concatenate([one.curve.band for one in got.trials.values()]), reach, rtol=1e-6)
    own = [np.sqrt(r @ r / (21 - 1)) for r in np.split(residual, 2)]  # each determines half of the two parameters
    assert [text.partition(":")[0] for text in quality(got)] == ["a", "b"]  # chi-square of all is 1 by construction
    for size, text in zip(own, quality(got), strict=True):
        assert text.endswith(f"; noise, from it: {size:.3g} m, from all trials: {got.noise[0]:.3g} m")
    assert float(got.ends.squares[0]) == pytest.approx(got.chi_square)
    in_mm = joined(toy(line, line_slopes, NOISY, 1.0), toy(lambda t: 1e3 * line(t), _thousandfold, 1e3 * OTHER, 1e3))
    same = found(in_mm, estimated=True)
    np.testing.assert_allclose(list(same.best.values()), list(got.best.values()), rtol=1e-7)
    np.testing.assert_allclose(same.noise[[0, -1]], got.noise[0] * np.array([1.0, 1e3]))


def _thousandfold(theta):
    return 1e3 * line_slopes(theta)


def test_remarks_name_their_trials():
    waves = line([4.0, 2.0]) + 0.1 * np.cos(2 * np.pi * 3.3 * T)
    got = found(joined(toy(line, line_slopes, NOISY), toy(line, line_slopes, waves)))
    assert [text[:40] for text in got.remarks] == ["b: neighbouring residuals are correlated"]
    far = found(joined(toy(line, line_slopes, NOISY), toy(line, line_slopes, OTHER, 0.05)))
    assert [text[:38] for text in far.remarks] == ["b: chi-square per degree of freedom is"]  # not again of all
    together = found(joined(*(3 * [toy(line, line_slopes, NOISY, 0.0383)])))  # each 0.5 %, all together 0.0005 %
    assert together.remarks[0].startswith("chi-square per degree of freedom of all trials is 2:")


def test_trials_of_unlike_noise_are_noticed_where_one_noise_is_estimated():
    wild = line([4.0, 2.0]) + 1.0 * np.random.default_rng(2).normal(size=len(T))
    got = found(joined(toy(line, line_slopes, NOISY, 1.0), toy(line, line_slopes, wild, 1.0)), estimated=True)
    assert got.remarks[0].startswith("b: its residual is ") and "give the noise of each trial" in got.remarks[0]
    half = line([4.0, 2.0]) + 0.5 * (OTHER - line([4.0, 2.0]))
    assert not found(joined(*(toy(line, line_slopes, y, 1.0) for y in (NOISY, half))), estimated=True).remarks


def test_a_parameter_that_one_trial_determines_is_determined_by_both():
    """Each trial alone leaves one direction open."""
    constant = lambda i: toy(lambda t: np.full(len(T), t[i]), lambda _: np.eye(2)[[i] * len(T)], np.full(len(T), 3.0))
    slope, level = constant(0), constant(1)
    assert len(found(slope).undetermined) == len(found(level).undetermined) == 1
    both = found(joined(slope, level))
    assert both.determined and both.degrees == 40


# --- an oscillator ----------------------------------------------------------------------------------------------------

OVER = {"mass": (1.0, 4.0), "stiffness": (4.0, 16.0)}
TIMES = np.linspace(0.0, 3.0, 31)
RUN = {"duration": 3.0, "samples": 120, "starts": 2, "rtol": 1e-10, "atol": 1e-10}
SIZE = (0.02, 0.1)
"""Noise of the position in m and of the energy in J."""
START = (1.0, 0.5)
"""Initial positions in m."""


def position(theta, x0):
    return x0 * np.cos(np.sqrt(theta[1] / theta[0]) * TIMES)


def energy(theta, x0):
    return 0.5 * theta[1] * x0**2 * np.ones_like(TIMES)


TRUE = np.array([2.2, 9.0])
_noise = np.random.default_rng(3).normal(size=(2, len(TIMES)))
X = over_time(TIMES, position(TRUE, START[0]) + SIZE[0] * _noise[0], unit="m")
E = over_time(TIMES, energy(TRUE, START[1]) + SIZE[1] * _noise[1], unit="J")
TRIALS = [
    Trial(X, output="x", given={"initial.x": START[0]}, noise=SIZE[0], name="swing"),
    Trial(E, output="energy", given={"initial.x": START[1]}, noise=SIZE[1], name="meter"),
]


@pytest.fixture(scope="module")
def swung():
    return fit(Oscillator(), TRIALS, over=OVER, **RUN)


def _stacked(theta):
    x = (position(theta, START[0]) - X.values) / SIZE[0]
    return np.concatenate([x, (energy(theta, START[1]) - E.values) / SIZE[1]])


@pytest.mark.slow
def test_two_outputs_determine_together_what_each_leaves_open(swung):
    """The position determines the ratio of stiffness and mass, the energy the stiffness; SciPy fits the closed form."""
    for one in swung.problem.trials:
        alone = replace(swung.problem, trials=(one,))
        assert len(found(alone, start=(0.3, 0.3)).undetermined) == 1
    assert swung.determined and not swung.remarks
    exact = least_squares(_stacked, [2.0, 8.0], xtol=1e-14, ftol=1e-14, gtol=1e-14)
    np.testing.assert_allclose(list(swung.best.values()), exact.x, rtol=1e-6)
    step = 1e-5
    moved = [(_stacked(exact.x + step * d) - _stacked(exact.x - step * d)) / (2 * step) for d in np.eye(2)]
    np.testing.assert_allclose(swung.covariance, np.linalg.inv(np.array(moved) @ np.array(moved).T), rtol=1e-5)
    assert swung.chi_square == pytest.approx(2.0 * exact.cost, rel=1e-6)


def test_trials_of_one_mechanism_share_one_ensemble(swung):
    """One group with two runs: the initial positions differ, the outputs are read from both."""
    assert len(swung.problem.groups) == 1 and swung.problem.groups[0].size == 2
    assert [one.run for one in swung.problem.trials] == [0, 1]
    again = [replace(TRIALS[0]), replace(TRIALS[1], given=TRIALS[0].given), replace(TRIALS[0], name="replicate")]
    twice = fit(Oscillator(), again, over=OVER, iterations=1, **RUN).problem
    assert twice.groups[0].size == 1 and [one.run for one in twice.trials] == [0, 0, 0]
    assert twice.trials[2].samples == twice.trials[0].samples != twice.trials[1].samples


def test_a_fit_to_trials_is_written_read_and_drawn(swung, tmp_path):
    swung.to_json(tmp_path / "fit.json")
    record = json.loads((tmp_path / "fit.json").read_text())
    assert set(record["trials"]) == {"swing", "meter"} and record["trials"]["meter"]["unit"] == "J"
    assert len(record["trials"]["swing"]["curve"]["fitted"]) == 31 and "curve" not in record
    assert record["trials"]["meter"]["given"] == {"initial.x": 0.5}
    as_dataset(swung, [profile(swung, "mass", steps=3)]).to_netcdf(tmp_path / "fit.nc")
    data = xr.load_dataset(tmp_path / "fit.nc")
    np.testing.assert_array_equal(data["measured[meter]"], E.values)
    assert data["before[swing]"].attrs["units"] == "m" and data["time[swing]"].attrs["units"] == "s"
    assert data["chi_square[swing]"] == swung.trials["swing"].chi_square and "rise[mass]" in data
    assert data["fitted[meter]"].attrs["given"] == "initial.x = 0.5"
    study = studies.study(data)
    assert study is not None and len(study.draw(data).axes) == 4
    axes = fits.fitted(swung, before=swung.before()).axes
    assert [axes[0].get_ylabel(), axes[2].get_ylabel()] == ["position (m)", "energy (J)"] and len(axes) == 5
    assert axes[0].get_title(loc="right") == "swing"
    plt.close("all")
    text = str(swung)
    assert "  swing: residual: 0.0" in text and "  meter: residual: 0." in text
    assert repr(swung).startswith("<Fit of Oscillator to 2 trials: mass = ")


@pytest.mark.parametrize("own", [(2.0, 8.0), (5.0, 20.0), (2.0, 0.0)])
def test_the_curve_before_is_that_of_all_trials(swung, own):
    """Also of a model with values above the bounds, and with one that has no logarithm."""
    model = with_parameters(Oscillator(), dict(zip(OVER, own, strict=True)))
    space = Space(Oscillator(), OVER | {"stiffness": Log(4.0, 16.0)}) if own[1] == 0.0 else swung.problem.space
    groups = tuple(group.within(space) for group in swung.problem.groups)
    before = replace(swung, problem=replace(swung.problem, model=model, space=space, groups=groups)).before()
    np.testing.assert_allclose(before[swung.trials["swing"].points], position(own, START[0]), atol=1e-6)
    np.testing.assert_allclose(before[swung.trials["meter"].points], energy(own, START[1]), rtol=1e-6, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [tuple, lambda pair: Log(*pair)])
def test_the_density_of_samples_is_that_of_all_trials(swung, scale):
    """Without its library: the logarithm and its slope, in logits, beside the best fit."""
    space = Space(Oscillator(), {name: scale(pair) for name, pair in OVER.items()})
    groups = tuple(group.within(space) for group in swung.problem.groups)
    swung = replace(swung, problem=replace(swung.problem, space=space, groups=groups))
    x = space.spacing.unit(np.array([2.1, 9.5]))
    with precision.use("float64"):
        value, slope = jax.value_and_grad(_log_density(swung))(jnp.asarray(np.log(x / (1.0 - x))))
    prior, here = np.sum(np.log(x) + np.log(1.0 - x)), swung.problem.at(x)
    assert float(value) == pytest.approx(-0.5 * float(here.squares) + prior, rel=1e-6)
    np.testing.assert_allclose(slope, -here.values @ here.slopes * x * (1.0 - x) + 1.0 - 2.0 * x, rtol=1e-5)


@pytest.mark.slow
def test_models_of_trials_are_with_their_known_values(swung, monkeypatch):
    assert {type(one.model) for one in swung.trials.values()} == {Oscillator}
    light, heavy = (with_parameters(Oscillator(), {"mass": m}) for m in (1.5, 3.0))
    curves = [simulate(m, duration=3.0, samples=30, progress=False).x for m in (light, heavy)]
    over, run = {"stiffness": (4.0, 16.0)}, {"duration": 3.0, "samples": 30, "starts": 1, "noise": 0.01, "output": "x"}
    in_g = lambda m: {"mass": xr.DataArray(1e3 * m, attrs={"units": "g"})}
    given = fit(Oscillator(), [Trial(x, given=in_g(m)) for x, m in zip(curves, (1.5, 3.0), strict=True)],
                over=over, **run)  # fmt: skip
    used, program_of = [], batch._program_of
    monkeypatch.setattr(batch, "_program_of", lambda *of: used.append(program_of(*of)) or used[-1])
    models = fit(Oscillator(), [Trial(x, model=m) for x, m in zip(curves, (light, heavy), strict=True)],
                 over=over, **run)  # fmt: skip
    assert len(given.problem.groups) == 1 and len(models.problem.groups) == 2
    assert len(used) > 3 and len({id(program) for program, _, _ in used}) == 1  # compiled once for both models
    for one in (given, models):
        assert one.best["stiffness"] == pytest.approx(8.0, rel=1e-5)
        assert [float(t.model.mass) for t in one.trials.values()] == [1.5, 3.0]
    assert list(given.trials) == ["trial 0", "trial 1"]
    lone = fit(Oscillator(), Trial(curves[0], given={"mass": 1.5}), over=over, **run)
    assert lone.curve.sizes["time"] == 31 and lone.best["stiffness"] == pytest.approx(8.0, rel=1e-5)


@pytest.mark.slow
def test_phases_and_times_are_fitted_together():
    """Each trial is compared with its own run: that of the larger mass is longer, as its period is."""
    model = with_parameters(Oscillator(), {"damping": 0.2})
    heavy = with_parameters(model, {"mass": 3.0})
    run = {"strides": 2, "samples": 40}
    stride = simulate(model, progress=False, **run).x.values[40:80]
    swing = simulate(heavy, progress=False, **run).x
    trials = [Trial(over_phase(np.arange(40) / 40, stride, unit="m")), Trial(swing, given={"mass": 3.0})]
    assert float(swing.time[-1]) > 1.2 * 2 * float(Oscillator().period)
    box = {"damping": (0.05, 0.5)}
    got = fit(Oscillator(), trials, over=box, output="x", noise=0.01, gradient="run", starts=1, **run)
    assert got.best["damping"] == pytest.approx(0.2, rel=1e-4) and len(got.problem.groups) == 2
    assert [one.curve.fitted.dims for one in got.trials.values()] == [("phase",), ("time",)]
    assert sum("the gait has not settled" in text for text in got.remarks) == 1
    with pytest.raises(ValueError, match="trial 1: gradient='gait' needs data over the phase"):
        fit(Oscillator(), trials, over=box, output="x", noise=0.01, gradient="gait", **run)


@pytest.mark.slow
def test_gaits_of_two_knees_are_solved_for_as_one_ensemble():
    """Synthetic gaits on two ankles, with noise of 1 degree: the truth lies within 3.5 standard errors."""
    truth = {"damper.thigh_arm": 0.0195, "damper.link_arm": 0.1632}
    box = {"damper.thigh_arm": (0.017, 0.021), "damper.link_arm": (0.160, 0.168)}
    leg, trials = with_parameters(Prosthesis(), {"ground.steepness": 1e4}), []
    for i, ankle in enumerate((12.0, 16.0)):
        known = {"ankle.stiffness": ankle}
        walk = simulate(with_parameters(leg, truth | known), strides=20, rtol=1e-8, progress=False)
        knee = np.degrees(walk.knee_angle.values[-101:-1]) + np.random.default_rng(i).normal(size=100)
        trials.append(Trial(over_phase(np.arange(100) / 100, knee, unit="deg"), given=known))
    got = fit(leg, trials, over=box, output="knee_angle", noise=1.0, starts=2, rtol=1e-5)
    assert "periodic gait" in got.gradient and len(got.problem.groups) == 1
    for name, value in truth.items():
        assert abs(got.best[name] - value) < 3.5 * got.standard_error[name]
    assert all(0.6 < one.reduced < 1.5 for one in got.trials.values())


@pytest.mark.slow
def test_elements_of_known_arrays_are_neither_fitted_nor_replaced():
    """In a trial with a known initial position, that of the call has no effect; other elements are fitted."""
    run = {"output": lambda run: run.ys.q[:, 1], "noise": 0.1, "starts": 1, "samples": 10}
    fall = simulate(Throw(), initial_state={"q": np.array([0.0, 0.2])}, samples=10, progress=False).q[:, 1]
    with pytest.raises(ParameterError, match=re.escape("'push' is in `given` and its element 'push[1,1]' in `over`")):
        fit(Throw(), Trial(fall, given={"push": np.ones((2, 2))}), over={"push[1,1]": (0.0, 4.0)}, **run)
    known = {"initial.q": np.array([0.0, 0.2]), "push[0,1]": 1.0}
    got = fit(Throw(), Trial(fall, given=known), over={"push[1,1]": (0.0, 4.0)}, initial={"q[1]": 0.5}, **run)
    assert got.curve.fitted.values[0] == pytest.approx(0.2) and got.best["push[1,1]"] == pytest.approx(1.0)
    alike = [{"push[0,1]": 0.0}, {"push": np.array([[1.0, 2.0], [0.5, 0.0]])}]  # both push upwards with 2 m/s^2
    got = fit(
        Throw(), [Trial(fall, given=one) for one in alike], over={"gravity": (5.0, 15.0)}, initial={"q[1]": 0.2}, **run
    )
    assert got.best["gravity"] == pytest.approx(9.81) and len(got.problem.groups) == 1


# --- what is wrong ----------------------------------------------------------------------------------------------------

UNNAMED = [replace(one, name=None) for one in TRIALS]


@pytest.mark.parametrize(
    ("trials", "message"),
    [
        ([TRIALS[0], X], r"trial 1 must be a Trial, got MeasuredCurve: write Trial\(curve\)"),
        ([X, X], "trial 0 must be a Trial, got MeasuredCurve"),
        (["gait", "gait"], r"trial 0 must be a Trial, got str: write Trial\(curve\)"),
        ([], r"a fit needs at least one trial: write \[Trial\(curve\), ...\]"),
        ((one for one in TRIALS), "several trials must be a list, got generator: write"),
        ({"swing": TRIALS[0]}, r"several trials must be a list, got dict: write \[Trial\(curve, name="),
        ([TRIALS[0], replace(TRIALS[1], name="swing")], "two trials have the name 'swing'"),
        ([TRIALS[0], replace(TRIALS[1], name="a/b")], "the name of trial 1 must be text without '/'"),
        ([TRIALS[0], replace(TRIALS[1], output="enrgy")], r"trial 1 \('meter'\): Oscillator has no output 'enrgy'"),
        ([UNNAMED[0], replace(UNNAMED[1], output="x")], "trial 1: the measured curve is in 'J', but x in 'm'"),
        ([UNNAMED[0], replace(UNNAMED[1], output=None)], "trial 1: fit needs output"),
        ([UNNAMED[0], replace(UNNAMED[1], noise=-1.0)], "trial 1: noise must be a positive number in J"),
        ([UNNAMED[0], replace(UNNAMED[1], noise=None)], "trial 1 has no noise, but others have: give it, because its"),
        ([replace(one, noise=None) for one in UNNAMED], "trial 1 measures another output than trial 0: give the noise"),
        ([UNNAMED[0], replace(UNNAMED[1], given={"mass": 2.0})], "trial 1: 'mass' is in `given` and also in `over`"),
        ([UNNAMED[0], replace(UNNAMED[1], given={"masss": 2.0})], "trial 1: .*masss"),
        ([UNNAMED[0], replace(UNNAMED[1], given={"initial.z": 2.0})], "trial 1: .*'z'"),
        ([UNNAMED[0], replace(UNNAMED[1], given={"damping": -2.0})], "trial 1: .*damping"),
        ([UNNAMED[0], replace(UNNAMED[1], model=Bungee())], "trial 1: its model must be of the type Oscillator"),
        ([UNNAMED[0], replace(UNNAMED[1], measured=over_time([0.0, 9.0], [1.0, 1.0], unit="J"))],
         "trial 1: the data end at 9 s, after the run"),
        ([UNNAMED[0], replace(UNNAMED[1], measured=[1.0])], "trial 1: the measured curve must be made by over_phase"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_trial_is_said_with_its_name(trials, message):
    with pytest.raises((ValueError, TypeError), match=message):
        fit(Oscillator(), trials, over=OVER, **RUN)


@pytest.mark.slow
def test_samples_of_several_trials_agree_with_the_parabola():
    """Of two groups: one of two sets of known values, one with a model of its own."""
    pytest.importorskip("blackjax")
    run, moon = {"duration": 6.0, "samples": 60}, with_parameters(Bungee(), {"gravity": 3.7})
    rng, trials = np.random.default_rng(0), []
    for model, mass in ((None, 60.0), (None, 80.0), (moon, 70.0)):
        truth = with_parameters(model or Bungee(), {"stiffness": 26.0, "rope_length": 28.0, "mass": mass})
        height = simulate(truth, **run).height
        curve = height.copy(data=height.values + 0.2 * rng.normal(size=height.size))
        trials.append(Trial(curve, given={"mass": mass}, model=model))
    box = {"stiffness": (15.0, 40.0), "rope_length": (24.0, 34.0)}
    got = fit(Bungee(), trials, over=box, output="height", noise=0.2, starts=1, **run)
    draws = sample(got, draws=150, warmup=150, chains=2)
    assert (draws.rhat < 1.1).all() and (draws.ess > 50).all() and not draws.divergent.any()
    for name, error in got.standard_error.items():
        assert float(abs(draws[name].mean() - got.best[name])) < 4.0 * error / np.sqrt(50.0)
        assert float(draws[name].std()) == pytest.approx(error, rel=0.3)
