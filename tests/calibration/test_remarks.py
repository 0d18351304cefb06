"""What a fit and a profile report where their numbers are not valid: bounds, noise, samples, strides, failed runs."""

import re
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from scipy import stats
from scipy.optimize import least_squares
from scipy.special import expit

from jaxgait import fit, simulate, with_parameters
from jaxgait.calibration import Trial, over_phase, over_time, profile, sample
from jaxgait.calibration.fitting import solve_problem
from jaxgait.calibration.laplace import laplace
from jaxgait.calibration.losses import Loss
from jaxgait.calibration.outliers import outliers
from jaxgait.calibration.problem import Interpolation
from jaxgait.calibration.sampling import _starts
from jaxgait.calibration.search import Stopping
from jaxgait.calibration.trials import noise_of
from tests.calibration.test_calibration import NOISY, T, found, joined, line, line_slopes, toy, with_data
from tests.optimization.oscillator import Oscillator as Swinging
from tests.oscillator import Oscillator


def messages(got, word):
    return [text for text in got.remarks if word in text]


# --- bounds ---------------------------------------------------------------------------------------------------------


def test_a_bound_does_not_determine_what_the_data_leave_open():
    """Ratios to the mass, as in a jump; two bounds hold the corner, and 5 kg is not the only possible mass."""
    curve = lambda t: t[0] / t[1] * T + t[2] / t[1] * T**2
    slopes = lambda t: np.stack([T / t[1], -curve(t) / t[1], T**2 / t[1]], axis=1)
    box = {"stiffness": (1.0, 9.0), "mass": (1.0, 5.0), "linear_drag": (1.1, 3.0)}
    got = found(toy(curve, slopes, curve([3.0, 4.0, 0.8]), noise=0.02, box=box), start=(0.4, 0.7, 0.3))
    assert got.active == ("mass = 5", "linear_drag = 1.1") and not got.determined and got.degrees == 20
    assert all(np.isinf(error) for error in got.standard_error.values())
    assert "stiffness   = 3.67317 N/m (not" in str(got) and str(got).count("(not determined)") == 3
    assert got.remarks[-1] == "the fit lies on the bounds mass = 5, linear_drag = 1.1"
    begun = expit(_starts(got, 8, 0))
    assert (begun[:, 1] < 0.99).all()  # chains do not start in the corner


def test_errors_hold_bounds_and_tell_what_they_would_be_without():
    """Two columns of the same direction and an orthogonal one; then two at 60 degrees."""
    x, y = np.eye(3)[:2]
    same = laplace(np.stack([x, 2 * x, y], axis=1), np.array([True, False, True]))
    np.testing.assert_array_equal(np.diagonal(same.covariance), [np.inf, np.inf, 1.0])
    assert same.rank == 2 and same.growth_without_bounds[2] == pytest.approx(1.0)
    apart = laplace(np.stack([x, 0.5 * x + np.sqrt(0.75) * y], axis=1), np.array([True, False]))
    assert apart.covariance[0, 0] == pytest.approx(1.0) and np.isnan(apart.covariance[1, 1])
    assert apart.growth_without_bounds[0] == pytest.approx(2.0 / np.sqrt(3.0))


def test_the_parabola_of_many_points_takes_little_memory():
    tracemalloc.start()
    laplace(np.stack([np.linspace(0.0, 1.0, 3000), np.ones(3000)], axis=1), np.array([True, True]))
    assert tracemalloc.get_traced_memory()[1] < 3000**2  # bytes; a square matrix of the points has eight times as many
    tracemalloc.stop()


# --- the starts -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimated", [False, True])
@pytest.mark.parametrize(("bend", "alike"), [(0.0, True), (0.03, True), (1.0, False)])
def test_starts_that_end_at_fits_as_good_are_named(estimated, bend, alike):
    """(k - 5)^2 is the same at 3 and 7, where only the bend of the curve differs."""
    curve = lambda t: (t[0] - 5.0) ** 2 * T + t[1] + bend * t[0] * T**3
    slopes = lambda t: np.stack([2.0 * (t[0] - 5.0) * T + bend * T**3, np.ones_like(T)], axis=1)
    problem = toy(curve, slopes, curve([3.0, 2.0]) + 0.1 * np.cos(40.0 * T))
    got = solve_problem(problem, np.array([[0.3, 0.3], [0.2, 0.4], [0.8, 0.3]]), Stopping(), estimated=estimated)
    assert got.minimum and (got.ends.stiffness > 5.0).values.tolist() == [False, False, True]
    assert len(messages(got, "the data do not tell these fits apart")) == alike


@pytest.mark.slow
@pytest.mark.parametrize("names", [("one",), ("one", "two")])
def test_the_gait_is_judged_with_the_model_s_own_tolerances(names):
    """As in tests/optimization/test_recheck.py: coarse steps amplify a weakly damped oscillation."""
    weak, phase = with_parameters(Swinging(), {"c": 0.005}), np.arange(40) / 40
    curve = over_phase(phase, 2.0 * np.cos(2.0 * np.pi * phase), unit="1")
    trials = [Trial(curve, given={"c": 0.005 + 1e-5 * i}, name=name) for i, name in enumerate(names)]
    task = {"over": {"k": (1.45, 1.55)}, "output": "x", "noise": 0.1, "gradient": "gait", "starts": 1}
    coarse = fit(weak, trials, **task, rtol=1e-2, atol=1e-2, max_step=7.0, stability=np.inf, iterations=3)
    (text,) = messages(coarse, "with rtol=1e-08 instead of 0.01")
    of = " of one" if len(names) > 1 else ""
    assert f"the gait{of} has the largest multiplier 0.9844, not 1.0" in text and text.endswith("fit with rtol=1e-08")
    assert not messages(fit(weak, curve, **task, iterations=3), "with rtol=")


# --- the noise ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("estimated", [False, True])
def test_correlated_residuals_are_judged_by_their_number(estimated):
    """0.47 is more than 2 / sqrt(21) = 0.44, for 21 points; the factor is sqrt(1.47 / 0.53)."""
    values, noise = line([4.0, 2.0]) + 0.1 * np.cos(2 * np.pi * 3.3 * T), 1.0 if estimated else 0.1
    got = found(toy(line, line_slopes, values, noise=noise), estimated=estimated)
    text = messages(got, "neighbouring residuals are correlated (0.47;")[0]
    assert "rarely above 0.44" in text and "too small by a factor of about 1.7;" in text and "biased" in text
    few = found(toy(line, line_slopes, NOISY, noise=noise), estimated=estimated)
    assert not messages(few, "correlated")


def test_a_residual_without_a_unit_has_none():
    problem = toy(line, line_slopes, NOISY)
    (one,) = problem.trials
    bare = replace(problem, trials=(replace(one, measured=replace(one.measured, unit="1")),))
    assert re.search(r"residual: [\d.]+ \(root mean square\)", str(found(bare)))


def test_a_curve_that_the_model_does_not_explain_is_no_noisy_one():
    """Of which the noise is not known: a given one judges the misfit itself."""
    wave = lambda size, rate: line([4.0, 2.0]) + size * np.cos(2 * np.pi * rate * T)
    fitted = lambda size, estimated, rate=1.5: found(
        toy(line, line_slopes, wave(size, rate), noise=1.0), estimated=estimated
    )
    (text,) = messages(fitted(1.0, True), "does not explain the curve")
    assert re.search(r"the residual is 0.708 m \(root mean square\), \d\d% of the range of the curve, and corr", text)
    assert fitted(1.0, True).remarks[0] == text
    assert not messages(fitted(1.0, False), "explain") and not messages(fitted(0.1, True), "explain")
    assert not messages(fitted(1.0, True, 3.3), "explain"), "a correlation of 0.47 is that of many noises"
    curve = lambda t: line(t) + np.cos(3.0 * np.pi * T)
    constant = found(toy(curve, line_slopes, np.ones_like(T), noise=1.0), estimated=True)
    assert "(root mean square), and corr" in messages(constant, "does not explain the curve")[0]


def test_noise_that_is_much_larger_than_the_residual_is_noticed():
    got = found(toy(line, line_slopes, NOISY, noise=10.0))
    assert got.reduced < 1e-3 and "a variance instead of a standard deviation" in messages(got, "much smaller")[0]
    assert not found(toy(line, line_slopes, NOISY, noise=1.0), estimated=True).remarks


def test_noise_with_a_unit_is_converted():
    curve = over_time([0.0, 1.0, 2.0], [80.0, 75.0, 60.0], unit="m")
    mm = xr.DataArray([200.0, 300.0, 400.0], {"time": [0.0, 1.0, 2.0]}, attrs={"units": "mm"})
    np.testing.assert_allclose(noise_of(mm, curve), [0.2, 0.3, 0.4])
    np.testing.assert_allclose(noise_of(xr.DataArray(5.0, attrs={"units": "cm"}), curve), 0.05)
    np.testing.assert_allclose(noise_of(mm.drop_attrs(), curve), [200.0, 300.0, 400.0])  # plain numbers: of the curve
    with pytest.raises(ValueError, match="the noise is in 'kg', but the measured curve in 'm'"):
        noise_of(mm.assign_attrs(units="kg"), curve)
    with pytest.raises(ValueError, match="noise must be a number or have the coordinate time of the measured curve"):
        noise_of(mm.assign_coords(time=[0.0, 1.0, 3.0]), curve)


def test_interpolation_is_judged_at_every_point_by_its_own_noise():
    """Off by 0.008 between samples where the noise is 0.001; one point in ten has much noise."""
    noise = np.where(np.arange(len(T)) % 10 == 0, 10.0, 1e-3)
    problem = with_data(toy(line, line_slopes, line([4.0, 2.0])), noise=noise)
    coarse = with_data(problem, interpolation=Interpolation(np.eye(len(T)), 1.002 * np.eye(len(T))))
    assert messages(found(coarse), "give more samples") and not messages(found(problem), "give more samples")


# --- outliers -------------------------------------------------------------------------------------------------------


def test_a_single_value_that_stands_out_is_named_and_no_smooth_error_of_the_model():
    rng, t = np.random.default_rng(0), np.linspace(0.0, 2.0, 201)
    smooth = 3.0 * np.sin(9.0 * t) + 2.0 * np.exp(-0.5 * ((t - 0.5) / 0.01) ** 2)  # the width of one sample
    jump, late = np.where(t > 1.003, 20.0, 0.0), np.where(t > 1.013, 20.0, 0.0)
    one, noise = np.full(201, 1.0), rng.normal(size=201)
    for error in (0.0 * t, smooth, -20.0 * np.abs(t - 1.0), 0.1 * np.round(10.0 * smooth) - smooth, jump - late):
        for size in (0.0, 0.01, 0.1):
            values = late + error + size * noise
            assert not outliers(values, late, one, known=False), (error, size)
            values[120] -= 30.0
            (found,) = outliers(values, late, one, known=False)
            assert found.point == 120 and found.above == values[120] - late[120]
    assert found.deviations > 10.0 and not outliers(values, late, 10.0 * one, known=True)
    steep = np.linspace(0.0, 100.0, 20)
    (found,) = outliers(steep + 0.1 * noise[:20] + 10.0 * (np.arange(20) == 9), steep, 0.1 * one[:20], known=True)
    assert found.point == 9 and found.deviations > 50.0  # the steps of the curve are not its rounding


def test_an_outlier_is_named_by_its_trial_time_and_size():
    spiked = NOISY + 5.0 * (T == 0.5)
    got = found(joined(toy(line, line_slopes, NOISY), toy(line, line_slopes, spiked)))
    text = (
        "b: the measured curve stands out from its neighbours at 0.5 s (4.88 m above the fit, 48.8 standard deviations)"
    )
    assert got.remarks[0].startswith(f"{text}: outliers pull the parameters")
    alone = found(toy(line, line_slopes, spiked, noise=1.0), estimated=True)
    assert "fit with the noise (about 0.06 m) and a robust loss such as soft_l1" in alone.remarks[0]


@pytest.mark.parametrize("loss", ["soft_l1", "huber", "cauchy"])
def test_a_robust_loss_is_that_of_scipy_and_leaves_an_outlier_little_pull(loss):
    spiked = NOISY + 5.0 * (T == 0.5)
    problem = replace(toy(line, line_slopes, spiked), loss=Loss(loss, 1.5))
    got, plain = found(problem), found(toy(line, line_slopes, NOISY))
    residuals = lambda theta: (line(theta) - spiked) / 0.1
    scipys = least_squares(residuals, [4.0, 2.0], loss=loss, f_scale=1.5, xtol=1e-12, ftol=1e-12)
    np.testing.assert_allclose(list(got.best.values()), scipys.x, rtol=1e-5)
    assert float(got.ends.squares[0]) == pytest.approx(2.0 * scipys.cost)
    assert abs(got.best["mass"] - plain.best["mass"]) < 0.04 and got.minimum and got.fall < 1e-6
    assert got.chi_square > 2000.0 and "less with the loss" in got.remarks[0] and len(got.remarks) == 1
    assert f"  loss: {loss}, f_scale 1.5" in str(got) and got.as_dict()["loss"] == loss
    drawn = profile(got, "stiffness")
    np.testing.assert_allclose(drawn.interval, drawn.laplace, atol=0.25 * got.standard_error["stiffness"])
    assert drawn.curve.rise.attrs["long_name"] == "rise of the loss"
    with pytest.raises(ValueError, match=f"sample needs normal noise, got a fit with the robust loss {loss}"):
        sample(got)
    off = found(replace(toy(line, line_slopes, NOISY, noise=0.005), loss=problem.loss))
    assert messages(off, "half of the residuals exceed") and off.standard_error["mass"] > 0.01


def test_errors_of_a_robust_loss_hold_without_the_normal_law():
    """Against SciPy's moments of Student's law of 3 degrees, by the textbook: E psi^2 / (E psi')^2."""
    law, loss = stats.t(3), Loss("huber", 1.345)
    r = law.ppf((np.arange(100_000) + 0.5) / 100_000)
    inside = law.cdf(1.345) - law.cdf(-1.345)
    square = law.expect(lambda x: x**2, lb=-1.345, ub=1.345) + 1.345**2 * (1.0 - inside)
    assert loss.widening(r, len(r)) == pytest.approx(np.sqrt(square) / inside, rel=1e-3)
    assert loss.threshold(r, len(r)) == pytest.approx(square / inside, rel=1e-3)
    few = r[2500::5000]  # 20 points, one parameter, the mean: the loss rises by the threshold at one standard error
    error = loss.widening(few, 19) / np.sqrt(20.0)
    curvature = float(loss._bend(few).sum())
    assert curvature * error**2 == pytest.approx(loss.threshold(few, 19), rel=1e-12)
    values, slopes = loss.as_squares(r[::1000], np.ones((100, 1)))
    assert values @ slopes[:, 0] == pytest.approx(loss.psi(r[::1000]).sum(), abs=1e-9)
    step = 1e-6
    rise = (loss.total(r[::1000] + step) - loss.total(r[::1000] - step)) / (4.0 * step)
    assert rise == pytest.approx(loss.psi(r[::1000]).sum(), abs=1e-6)


# --- strides --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_gait_that_has_not_settled_is_noticed():
    """A damped oscillation shrinks from stride to stride; the last one is compared."""
    model, phase = with_parameters(Oscillator(), {"damping": 0.2}), np.arange(20) / 20
    walk = simulate(model, strides=3, samples=20, progress=False)
    data = over_phase(phase, walk.x.values[40:60], unit="m")
    box = {"damping": (0.05, 0.5)}
    got = fit(model, data, over=box, output="x", noise=0.01, gradient="run", strides=3, samples=20, starts=1)
    assert got.best["damping"] == pytest.approx(0.2, rel=1e-4)
    apart = np.sqrt(np.mean((walk.x.values[40:60] - walk.x.values[20:40]) ** 2)) / 0.01
    assert messages(got, "has not settled")[0].startswith(f"the last two strides of the runs differ by {apart:.2g} of")


# --- profiles past failed runs --------------------------------------------------------------------------------------


def test_a_step_of_a_profile_to_a_failed_run_is_halved():
    """The limit (89 %) lies at 4.054, and runs fail from 4.06; the fourth step leads to 4.083."""
    fails = lambda theta: theta[0] > 4.06
    drawn = profile(found(toy(line, line_slopes, NOISY, fails=fails), start=(0.1, 0.9)), "stiffness", level=0.89)
    np.testing.assert_allclose(drawn.interval, drawn.laplace, rtol=1e-4)
    beyond = lambda theta: theta[0] > 4.04
    drawn = profile(found(toy(line, line_slopes, NOISY, fails=beyond), start=(0.1, 0.9)), "stiffness", level=0.89)
    assert drawn.interval[1] == np.inf and drawn.why[1] == "runs failed before a limit was reached"


@pytest.mark.parametrize("gap", [(4.0795, 4.0800), (4.075, 4.0825)])
def test_failed_runs_around_the_limit_of_a_profile_are_passed_or_named(gap):
    """The limit (95 %) lies at 4.081: a gap beside it is passed; around it, the interval reaches beyond, with words."""
    fails = lambda theta: gap[0] < theta[0] < gap[1]
    drawn = profile(found(toy(line, line_slopes, NOISY, fails=fails), start=(0.1, 0.9)), "stiffness")
    true = drawn.laplace[1]
    if gap[1] < true:
        assert drawn.interval[1] == pytest.approx(true, rel=1e-4) and "failed" not in drawn.why[1]
    else:
        assert true < gap[1] <= drawn.interval[1] < true + 0.01
        assert drawn.why[1].startswith("the threshold was reached somewhere between 4.0")
        assert "; above, the threshold was reached somewhere between" in str(drawn)


COVERAGE = {"normal": (0.92, 0.98), "spike": (0.92, 0.98), "a tenth": (0.92, 0.98), "too small": (0.90, 0.96)}


@pytest.mark.slow
@pytest.mark.parametrize("size", [21, 201])
@pytest.mark.parametrize("loss", ["soft_l1", "huber", "cauchy"])
def test_intervals_of_robust_lines_hold_the_truth_as_often_as_the_docs_say(loss, size):
    """In `docs/howto/calibrate.md`: shares of nominal 95 % intervals of both parameters, by kind of noise."""
    design = np.stack([np.ones(size), np.linspace(-1.0, 1.0, size)], axis=1)
    reach = stats.t(size - 2).ppf(0.975)
    for kind, (low, high) in COVERAGE.items():
        rng, inside = np.random.default_rng(0), []
        given = 1.0 / 3.0 if kind == "too small" else 1.0
        for _ in range(1000):
            noise = rng.normal(size=size)
            if kind == "spike":
                noise[rng.integers(size)] += 15.0
            if kind == "a tenth":
                noise = np.where(rng.random(size) < 0.1, 10.0 * noise, noise)
            slopes, y = design / given, noise / given
            best = least_squares(lambda p, y=y, a=slopes: a @ p - y, [0.0, 0.0], loss=loss, xtol=1e-10).x
            errors = np.sqrt(np.diag(np.linalg.inv(slopes.T @ slopes)))
            inside.append(np.abs(best) < reach * Loss(loss).widening(slopes @ best - y, size - 2) * errors)
        least = 0.82 if (kind, loss, size) == ("too small", "cauchy", 21) else low
        assert ((least < np.mean(inside, axis=0)) & (np.mean(inside, axis=0) < high)).all(), (
            kind,
            np.mean(inside, axis=0),
        )
