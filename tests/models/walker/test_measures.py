"""Measures of the smooth walker beside the same figures from its samples."""

import numpy as np

from jaxgait import ensemble, simulate
from jaxgait.models.walker.measures import passing_gait
from jaxgait.models.walker.smooth import Walker


def test_measures_of_a_walk_are_those_of_its_samples():
    scan = ensemble(
        Walker(), {"slope": [0.01, 0.2]}, observe=["step_period", "velocity", "fell_at"], samples=500, duration=5.0
    )
    run = simulate(Walker(), samples=500, duration=5.0)
    late = run.isel(time=run.time >= 2.5)
    period, velocity = passing_gait(late.time.values, late.x.values, (late.theta_1 - late.theta_2).values)
    np.testing.assert_allclose([scan.step_period[0], scan.velocity[0]], [period, velocity], rtol=1e-5)
    assert np.isnan(scan.fell_at[0]) and np.isnan(scan.velocity[1]) and 0.0 < float(scan.fell_at[1]) < 2.0
