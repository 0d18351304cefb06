"""Joint timing: a higher jump within the limits of the one it starts from."""

import pytest

from jaxgait.models.jumper.design import TIMING, highest_jump
from jaxgait.models.jumper.human import Jumper


@pytest.mark.slow
def test_two_delays_make_a_higher_jump():
    over = {name: TIMING[name] for name in ("knee.delay", "hip.delay")}
    best, before, after, search = highest_jump(Jumper(), over, steps=3)
    assert after.height > before.height and set(best) == set(over)
    assert after.peak_force < (1.0 + 1e-3) * before.peak_force and search.end.slack.min() > -1e-3
