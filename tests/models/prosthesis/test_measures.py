"""Measures of the knee are those of the strides that they name."""

import numpy as np
import pytest

from jaxgait import simulate
from jaxgait.models import Prosthesis


@pytest.mark.parametrize(("strides", "first"), [(2, 1), (5, 2)])
def test_the_first_two_strides_count_only_without_others(strides, first):
    run = simulate(Prosthesis(), strides=strides, samples=50, observe=["knee_work", "peak_flexion_max"])
    power = (run.damper_power + run.lock_power).values[:-1].reshape(strides, 50).sum(axis=1)
    work = power * run.time.values[1]
    assert float(run.knee_work) == pytest.approx(work[first:].mean(), rel=1e-9)
    assert abs(work[first:].mean() - work.mean()) > 0.1  # the first ones absorb more


def test_loads_and_the_difference_from_the_measured_knee_are_those_of_the_histories():
    names = ["peak_ground_force", "ground_share", "knee_rms_difference", "mean_ground_force"]
    run = simulate(Prosthesis(), strides=6, samples=100, observe=names)
    force = (run.heel_force + run.toe_force).values[200:600].reshape(4, 100)  # the last four strides
    assert float(run.peak_ground_force) == pytest.approx(force.max(axis=1).mean(), rel=1e-9)
    assert float(run.ground_share) == pytest.approx(100.0 * (force > 20.0).mean(), rel=1e-9)
    assert float(run.mean_ground_force) == pytest.approx(force.mean(), rel=1e-9)
    difference = np.degrees((run.knee_angle - run.measured_knee_angle).values[200:600])
    assert float(run.knee_rms_difference) == pytest.approx(np.sqrt(np.mean(difference**2)), rel=1e-9)
