"""Values of a parameter within its bounds."""

import numpy as np
import pytest

from jaxgait import Bungee
from jaxgait.analysis.ranges import check_values
from jaxgait.parameters import ParameterError, parameter_info, within_bounds


def test_values_out_of_bounds_are_named():
    check_values(Bungee(), "mass", np.array([60.0, 70.0]))
    with pytest.raises(ParameterError, match=r"mass .* must be positive, got -1 kg at index \(1,\)"):
        check_values(Bungee(), "mass", np.array([60.0, -1.0]))
    within = within_bounds(np.array([60.0, 0.0, -1.0, np.nan]), parameter_info(Bungee(), "mass"))
    np.testing.assert_array_equal(within, [True] + 3 * [False])
