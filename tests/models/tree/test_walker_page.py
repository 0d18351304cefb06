"""The page on a walker from a tree, against the published compass gait."""

import pathlib
import re

import numpy as np
import pytest

from jaxgait.analysis.floquet import floquet

PAGE = pathlib.Path(__file__).parents[3] / "docs" / "howto" / "tree_walker.md"


@pytest.mark.slow
def test_the_compass_gait_of_the_page_is_goswamis():
    """The step of 0.7343 s at 3 degrees (Goswami et al. 1998); the multipliers are those of its equations."""
    found: dict = {}
    exec(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0], found)
    np.testing.assert_allclose(np.diff(found["run"].event_time), 0.734346, atol=1e-6)
    np.testing.assert_allclose(floquet(found["gait"].jacobian).multipliers[0], -0.199726 + 0.544476j, atol=1e-5)
    step = 2.0 * np.sin(-found["gait"].z[0])
    np.testing.assert_allclose(found["run"].stance_x[-1], 4.0 * step, rtol=1e-6)
