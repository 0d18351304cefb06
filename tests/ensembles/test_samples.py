"""Members that are drawn: samples of ranges and distributions, clouds of starts, and errors."""

import numpy as np
import pytest
from scipy import stats

from jaxgait.ensembles import Log, cloud, grid, latin_hypercube, product, sobol
from jaxgait.ensembles.members import check_members
from jaxgait.ensembles.spacing import sobol_points
from jaxgait.parameters import ParameterError
from tests.oscillator import Oscillator


def test_samples_fill_their_box_and_repeat():
    box = {"mass": (1.0, 2.0), "stiffness": (10.0, 30.0)}
    for sample in (latin_hypercube, sobol):
        members = sample(box, 12, seed=3)
        assert members.dims == ("sample",) and members.size == 12
        for name, (lo, hi) in box.items():
            x = members.values[name]
            assert (x >= lo).all() and (x <= hi).all() and np.ptp(x) > 0.7 * (hi - lo)
            np.testing.assert_array_equal(x, sample(box, 12, seed=3).values[name])
        assert (members.values["mass"] != sample(box, 12, seed=4).values["mass"]).any()


def test_samples_follow_distributions_and_say_how_they_were_drawn():
    normal = {"mass": stats.norm(70.0, scale=5.0), "limit": Log(1.0, 10.0)}
    hypercube = latin_hypercube(normal, 8).values["mass"]
    assert np.bincount((8.0 * stats.norm.cdf(hypercube, 70.0, 5.0)).astype(int)).tolist() == [1] * 8
    members = sobol(normal, 8, seed=1)
    np.testing.assert_allclose(
        members.values["mass"], stats.norm.ppf(sobol_points(2, 8, 1)[:, 0], 70.0, 5.0), rtol=1e-9
    )
    how = "sobol({'mass': norm(loc=70.0, scale=5.0), 'limit': Log(1.0, 10.0)}, 8, seed=1)"
    again = sobol({"mass": stats.norm(scale=5, loc=70), "limit": Log(1, 10)}, 8, seed=1)
    assert members.attrs["sampled"] == again.attrs["sampled"] == how
    assert product({"stiffness": [1.0, 2.0]}, members).attrs == members.attrs
    np.testing.assert_array_equal(members.values["mass"], again.values["mass"])


def test_a_cloud_surrounds_the_initial_state_and_multiplies_with_a_grid():
    starts = cloud(Oscillator(), {"x": 0.1, "initial.v": 0.0}, 2000)
    assert abs(starts.values["initial.x"].mean() - 1) < 0.02 and abs(starts.values["initial.x"].std() - 0.1) < 0.01
    assert (starts.values["initial.v"] == 0).all()
    both = product(grid({"mass": [1.0, 2.0]}), starts)
    assert both.dims == ("mass", "start") and both.shape == (2, 2000)
    np.testing.assert_array_equal(both.values["initial.x"][:2000], both.values["initial.x"][2000:])
    check_members(Oscillator(), both)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: latin_hypercube({"mass": (2.0, 1.0)}, 4), "lowest, highest"),
        (lambda: sobol({"mass": (1.0, 2.0)}, 0), "at least 1"),
        (lambda: latin_hypercube({"mass": (1.0, 2.0)}, 4, seed=-1), "seed must be a whole number, at least 0"),
        (lambda: sobol({"mass": stats.norm(1.0, -2.0)}, 8), r"of 'mass' is impossible: norm\(loc=1\.0, scale=-2\.0\)"),
        (lambda: sobol({"mass": stats.norm([1.0], [0.1])}, 8), r"is of several numbers: norm\(loc=\[1\.0\], scale"),
        (lambda: sobol({"mass": stats.norm}, 8), "needs a frozen distribution of one number.* got norm_gen"),
        (lambda: cloud(Oscillator(), {"x": [1.0, 2.0]}, 4), "must be a finite number"),
        (lambda: cloud(Oscillator(), {"x": 1.0, "initial.x": 2.0}, 4), "given twice"),
        (lambda: cloud(Oscillator(), {"x": -1.0}, 4), "spread"),
        (lambda: cloud(Oscillator(), {"y": 1.0}, 4), "no component 'y'.*'initial.x'"),
    ],
)
def test_impossible_samples_raise(draw, message):
    with pytest.raises(ParameterError, match=message):
        draw()
