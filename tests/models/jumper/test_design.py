"""Joint timing: a higher jump within the limits of the one it starts from."""

import pytest

from jaxgait.models.jumper.design import TIMING, highest_jump
from jaxgait.models.jumper.human import Jumper


@pytest.mark.slow
def test_two_delays_make_a_higher_jump():
    over = {name: TIMING[name] for name in ("knee.delay", "hip.delay")}
    found = highest_jump(Jumper(), over, steps=3)
    assert found.after.height > found.before.height and set(found.values) == set(over)
    assert found.after.peak_force <= found.before.peak_force
    assert float(found.jumper.knee.delay) == found.values["knee.delay"]
