"""Measures of the knee are those of the strides that they name."""

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
