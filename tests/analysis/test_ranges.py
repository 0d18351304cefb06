"""Values of a parameter within its bounds, and in its unit."""

import equinox as eqx
import numpy as np
import pytest
import xarray as xr

from jaxgait import Bungee, parameter
from jaxgait.analysis.attractors import bifurcation_diagram
from jaxgait.analysis.continuation import continuation
from jaxgait.analysis.families import fixed_points
from jaxgait.analysis.ranges import check_values
from jaxgait.parameters import ParameterError, parameter_info, within_bounds


class Growth(eqx.Module):
    r: float = parameter(2.8, unit="m", doc="growth")


def test_values_out_of_bounds_are_named():
    check_values(Bungee(), "mass", np.array([60.0, 70.0]))
    with pytest.raises(ParameterError, match=r"mass .* must be positive, got -1 kg at index \(1,\)"):
        check_values(Bungee(), "mass", np.array([60.0, -1.0]))
    within = within_bounds(np.array([60.0, 0.0, -1.0, np.nan]), parameter_info(Bungee(), "mass"))
    np.testing.assert_array_equal(within, [True] + 3 * [False])


def test_labelled_values_are_converted_to_the_unit_of_the_parameter():
    model, logistic = Growth(), lambda model, z: model.r * z * (1.0 - z)
    span = xr.DataArray([250.0, 320.0], dims="value", attrs={"units": "cm"})
    branch = continuation(logistic, model, "r", np.array([0.6]), span, step=1.0)
    np.testing.assert_allclose(branch.parameter[[0, -1]], [2.5, 3.2])
    assert bifurcation_diagram(
        logistic, model, "r", span[:1], np.array([0.6]), discard=0, keep=1
    ).item() == pytest.approx(0.6)
    np.testing.assert_allclose(fixed_points(logistic, model, {"r": span}, np.array([0.6])).z, [[0.6], [0.6875]])
    with pytest.raises(ParameterError, match="r is in 'kg', but the model's in 'm'"):
        check_values(model, "r", span.assign_attrs(units="kg"))
