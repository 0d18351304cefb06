"""A better gait of the exoskeleton: less work at no less speed, within its limits."""

import jax
import jax.numpy as jnp
import pytest

from jaxgait.models.exoskeleton.design import START, least_work, margins, with_gait
from jaxgait.models.exoskeleton.measures import step_figures


def test_the_example_keeps_to_the_ground_and_to_its_own_speed():
    step = jax.jit(lambda p: step_figures(with_gait(p), samples=60))(jnp.asarray(START))
    left = margins(step, float(step.speed))
    assert float(left[-1]) == 0.0 and float(margins(step, float(step.speed) + 0.1)[-1]) == pytest.approx(-0.1)
    assert left.shape == (
        step.foot.shape[0] + step.foot.shape[0] - 2 * (step.foot.shape[0] // 4) + step.flexion.size + 3,
    )


@pytest.mark.slow
def test_a_search_saves_work():
    found = least_work(1)
    assert float(found.after.work_per_metre) < 0.9 * float(found.before.work_per_metre)
    assert float(margins(found.after, float(found.before.speed)).min()) > -1e-8
