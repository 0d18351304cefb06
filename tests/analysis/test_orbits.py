"""All points of gaits that repeat after several strides: each leads to the next one, the last one to the first."""

import equinox as eqx
import numpy as np

from jaxgait import parameter
from jaxgait.analysis.continuation import continuation, period_doubled
from jaxgait.analysis.orbits import orbit_branches


class Growth(eqx.Module):
    r: float = parameter(2.8, unit="1", doc="growth")


def logistic(model, z):
    return model.r * z * (1.0 - z)


def test_a_gait_has_as_many_points_as_its_order():
    single = continuation(logistic, Growth(), "r", np.array([0.6]), (2.8, 3.2))
    assert orbit_branches(logistic, Growth(), single) == [single]
    double = period_doubled(logistic, Growth(), single, single.bifurcations[0], 3.6)
    first, second = orbit_branches(logistic, Growth(), double)
    assert first is double and np.abs(first.z - second.z).max() > 0.1
    np.testing.assert_allclose(first.parameter[:, None] * second.z * (1.0 - second.z), first.z, atol=1e-9)
    np.testing.assert_allclose(second.origin.z, double.origin.z, atol=1e-9)
    here, there = double.bifurcations[0], second.bifurcations[0]
    np.testing.assert_allclose(there.z, here.parameter * here.z * (1.0 - here.z), atol=1e-12)


def test_a_branch_without_points_has_no_others():
    empty = continuation(logistic, Growth(), "r", np.array([0.6]), (2.8, 3.2))._replace(order=2)
    empty = empty._replace(parameter=np.zeros(0), z=np.zeros((0, 1)), bifurcations=())
    assert [one.z.shape for one in orbit_branches(logistic, Growth(), empty)] == [(0, 1)] * 2
