"""Measures of the knee are those of the strides that they name."""

import numpy as np
import pytest

from jaxgait import simulate, with_parameters
from jaxgait.models import Prosthesis


def mean(values):
    """Over time, with both ends, by the trapezoidal rule."""
    return np.trapezoid(values, axis=-1) / (values.shape[-1] - 1)


@pytest.mark.slow
@pytest.mark.parametrize(("strides", "first"), [(2, 1), pytest.param(5, 2, marks=pytest.mark.slow)])
def test_the_first_two_strides_count_only_without_others(strides, first):
    run = simulate(Prosthesis(), strides=strides, samples=50, observe=["knee_work", "peak_flexion_max"])
    power, stride = (run.damper_power + run.lock_power).values, float(Prosthesis().period)
    assert float(run.knee_work) == pytest.approx(mean(power[50 * first :]) * stride, rel=1e-9)
    assert abs(mean(power[50 * first :]) - mean(power)) * stride > 0.1  # the first ones absorb more


@pytest.mark.slow
def test_loads_and_the_difference_from_the_measured_knee_are_those_of_the_histories():
    """Of a gait of order 3, four strides of which do not close."""
    names = ["peak_ground_force", "ground_share", "knee_rms_difference", "mean_ground_force", "smallest_flexion"]
    names += ["peak_flexion", "peak_flexion_min", "peak_flexion_max"]
    knee = with_parameters(Prosthesis(), {"damper.k": 1.4e4, "damper.c": 700.0})
    run = simulate(knee, strides=6, samples=100, observe=names)
    force = (run.heel_force + run.toe_force).values[200:]  # of the last four strides
    largest = force[:-1].reshape(4, 100).max(axis=1).mean()
    assert largest * (1 - 1e-12) <= float(run.peak_ground_force) < 1.01 * largest
    assert float(run.ground_share) == pytest.approx(100.0 * (force[:-1] > 20.0).mean(), rel=1e-9)
    assert float(run.mean_ground_force) == pytest.approx(mean(force), rel=1e-9)
    difference = np.degrees((run.knee_angle - run.measured_knee_angle).values[200:])
    assert float(run.knee_rms_difference) == pytest.approx(np.sqrt(mean(difference**2)), rel=1e-9)
    fine = simulate(knee, strides=6, samples=2000, observe=names)
    peaks = np.degrees(fine.knee_angle.values[4000:-1]).reshape(4, 2000).max(axis=1)
    assert float(run.peak_flexion_min) == pytest.approx(peaks.min(), abs=0.03)
    assert float(run.peak_flexion_max) == pytest.approx(peaks.max(), abs=0.03)
    assert peaks.min() < float(run.peak_flexion) < peaks.max() - 0.5
    assert float(run.smallest_flexion) == pytest.approx(float(fine.smallest_flexion), abs=2e-3)
    assert float(run.peak_ground_force) == pytest.approx(float(fine.peak_ground_force), rel=5e-3)
    assert abs(float(run.ground_share) - float(fine.ground_share)) < 2.5
