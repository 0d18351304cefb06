"""Steps that join, and warnings of those that do not."""

import jax
import numpy as np
import pytest

from jaxgait.models.exoskeleton.continuity import step_mismatch
from jaxgait.models.exoskeleton.measures import histories
from jaxgait.models.exoskeleton.model import five_links, four_links
from jaxgait.models.exoskeleton.walking import JoinedGait
from jaxgait.parameters import with_parameters
from tests.shared import warnings_of


@pytest.mark.parametrize(
    "fields", [{}, {"dimension": 2}, {"gait": JoinedGait(swing=0.2)}, {"split": "distal"}, {"mirror_swing": True}]
)
def test_our_gaits_join(fields):
    assert not warnings_of(five_links(mode="gait", **fields))
    assert not warnings_of(four_links(mode="gait"))


def test_a_jump_is_that_of_the_histories():
    exo = with_parameters(five_links(mode="gait"), {"lengths": np.array([0.4, 0.4, 0.4, 0.35, 0.55])})

    @jax.jit
    def seen():
        return step_mismatch(exo), [exo.prescribed(0.9, step=k)["joints"][4, 1] for k in (0.0, 1.0)]

    (jump, height), (before, after) = jax.device_get(seen())
    heads = after - before
    np.testing.assert_allclose(heads * [1, -1, 1], jump[4], atol=1e-12)
    np.testing.assert_allclose(1e3 * heads, [-14, 0, 48], atol=0.5)
    (message,) = warnings_of(exo)
    assert "joints jump by up to 96.1 mm" in message and f"lands {1e3 * height:+.3g} mm above" in message
    with pytest.warns(UserWarning, match="do not join") as caught:
        histories(exo, strides=1.5, samples=40)
    assert caught[0].filename == __file__


def test_a_member_that_jumps_is_found():
    exo = five_links(mode="gait")
    amplitude = np.tile(exo.gait.amplitude, (3, 1))
    amplitude[2, 1] = 0.4
    (message,) = warnings_of(with_parameters(exo, {"gait.amplitude": amplitude}))
    assert "lands -13.3 mm above" in message
    assert not warnings_of(with_parameters(five_links(), {"gait.amplitude": amplitude}))
