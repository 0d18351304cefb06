"""Long walks, basins and exponents: impossible requests raise, and no direction is left out."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.analysis.attractors import basin, bifurcation_diagram
from jaxgait.analysis.floquet import lyapunov_exponent
from jaxgait.parameters import ParameterError
from tests.analysis.branches_by_hand import Carried

halves = lambda model, z: 0.5 * z


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gait": [[np.nan]]}, "gait must be finite, got .*nan"),
        ({"gait": [[0.0], [np.nan]]}, "gait must be finite, got .*nan"),
        ({"z0": [[np.nan]]}, "z0 must be finite"),
        ({"z0": [[0.1, 0.2, 0.3]]}, r"gait must be its points \(points, 3\), .*, got \(1, 1\)"),
        ({"strides": -3}, "strides must be a whole number"),
        ({"tolerance": np.nan}, "tolerance must be one number"),
        ({"tolerance": 0.0}, "tolerance must be one number"),
    ],
)
def test_no_outcome_of_bad_input(arguments, message):
    given = {"z0": [[0.1]], "gait": [[0.0]]} | arguments
    z0, gait = (jnp.array(given.pop(name)) for name in ("z0", "gait"))
    with pytest.raises(ValueError, match=message):
        basin(halves, None, z0, gait, **given)


@pytest.mark.parametrize(
    ("values", "start", "discard", "keep", "message"),
    [
        ([-1.0, 1.0], [0.1], 1, 1, r"a \(mass\) must be positive, got -1 kg"),
        ([0.0, 1.0], [0.1], 1, 1, r"a \(mass\) must be positive, got 0 kg"),
        ([1.0, 2.0], [0.1], -2, 1, "discard must be a whole number, at least 0"),
        ([1.0, 2.0], [0.1], 1, -1, "keep must be a whole number, at least 1"),
        ([1.0, 2.0], [[0.1]], 1, 1, "one start or one per value, got the shapes"),
    ],
)
def test_no_diagram_of_bad_input(values, start, discard, keep, message):
    with pytest.raises((ValueError, ParameterError), match=message):
        bifurcation_diagram(halves, Carried(), "a", jnp.array(values), jnp.array(start), discard=discard, keep=keep)


@pytest.mark.parametrize("second", [(-0.5, 1.0, 1.5), (1.25, -0.75, 2.0)])
def test_the_largest_exponent_of_a_symmetric_map(second):
    """Multipliers of [own, other]: own + other, and own - other, of motions with left and right opposite."""
    own, other, largest = second
    symmetric = lambda model, z: own * z + other * z[::-1]
    exponent = lyapunov_exponent(symmetric, None, jnp.zeros(2), strides=50)
    assert float(exponent) == pytest.approx(np.log(largest), abs=1e-6)


@pytest.mark.parametrize("arguments", [{"strides": 0}, {"strides": 5, "discard": -1}])
def test_no_exponent_over_no_strides(arguments):
    with pytest.raises(ValueError, match="must be a whole number"):
        lyapunov_exponent(halves, None, jnp.zeros(1), **arguments)
