"""A better gait of the exoskeleton: less work at no less speed, within its limits."""

import jax
import numpy as np
import pytest

from jaxgait import Log, Measure, precision
from jaxgait.models.exoskeleton import design
from jaxgait.models.exoskeleton.design import BOUNDS, FOOT, MIDDLE, _starts, example, least_work
from jaxgait.models.exoskeleton.measures import MEASURES, step_figures
from jaxgait.models.exoskeleton.walking import JoinedGait, WalkingGait
from jaxgait.parameters import ParameterError, get_parameter, with_parameters
from jaxgait.run import Run, Sampling
from jaxgait.solve.prescribed import Prescribed


def test_the_example_is_the_gait_of_the_five_links_by_six_numbers():
    ours, theirs = JoinedGait().by_link(), WalkingGait()
    np.testing.assert_allclose(ours.amplitude, theirs.amplitude, rtol=1e-14)
    np.testing.assert_allclose(ours.phase, theirs.phase, rtol=1e-14)
    assert all(low < float(get_parameter(example(), name)) < high for name, (low, high) in BOUNDS.items())
    with pytest.raises(ParameterError, match="a JoinedGait has 5 links, the exoskeleton has 4"):
        JoinedGait().validate(4)
    with pytest.raises(ParameterError, match=r"gait\.thighs=1\.5708 .* \|cos\(gait\.thighs\)\| is .* at least 0\.178"):
        with_parameters(example(), {"gait.thighs": np.array([0.3, np.pi / 2])}).validate()


def test_a_prescribed_step_is_read_at_the_midpoints_between_its_samples():
    @jax.jit
    def both(exo):
        sampling = Sampling(None, 100)
        run = Run(exo, Prescribed().run(exo, sampling), sampling)
        return run.trajectory, FOOT(run), MIDDLE(run)

    trajectory, foot, middle = both(precision.cast(example()))
    assert trajectory.status == 0 and float(trajectory.ts[-1]) == 0.9
    np.testing.assert_array_equal(middle, foot[25:75])
    assert foot.shape == (100,) and 0.0 < foot.min() < foot.max() < 0.1


def test_measures_of_the_search_are_told_apart_from_those_of_the_model():
    """Objective and limits differ from these: their names say in results which one was meant."""
    own = [one.name for one in vars(design).values() if isinstance(one, Measure)]
    assert "reaction_ratio" in own and not {*own} & {*MEASURES}


def test_all_starts_are_gaits_that_legs_can_walk():
    """The corners of the box between are not: small `swing_shank` with large `swing`."""
    found = _starts(example(), BOUNDS, 4)
    assert len(found) == 4 and found[0] == {name: float(get_parameter(example(), name)) for name in BOUNDS}
    for start in found:
        with_parameters(example(), start).validate()


def test_starts_of_a_logarithmic_range_are_spread_in_the_logarithm():
    own, *others = (
        start["gait.stride_time"] for start in _starts(example(), {"gait.stride_time": Log(0.01, 100.0)}, 8)
    )
    assert len(others) == 7 and all(0.1 <= x / own <= 10.0 for x in others)


@pytest.mark.slow
def test_a_search_saves_work():
    found = least_work(starts=1)
    with precision.use("float64"):
        figures = jax.jit(step_figures)
        before, after = (figures(precision.cast(exo)) for exo in (example(), found.model))
    assert float(after.work_per_metre) < 0.72 * float(before.work_per_metre)
    assert float(after.speed) > float(before.speed) - 1e-8 and float(after.flexion.min()) > -1e-8
    assert min(found.limits.values()) > -1e-8 and "converged" in found.why_stopped[0]
