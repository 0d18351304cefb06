"""Joint timing: a higher jump within the limits of the one it starts from."""

import jax
import numpy as np
import pytest

from jaxgait import Log, simulate
from jaxgait.models.jumper import design
from jaxgait.models.jumper.design import SETTINGS, TIMING, ArmSwinger, highest_jump
from jaxgait.models.jumper.human import Jumper
from jaxgait.models.jumper.measures import assess
from jaxgait.parameters import with_parameters


@pytest.mark.slow
def test_the_elbow_swings_with_the_shoulder():
    arms = {"shoulder.delay": 0.1, "shoulder.duration": 0.25}
    turned = with_parameters(ArmSwinger.of(Jumper()), arms)
    times = {
        f"{joint}.{name}": x for joint in ("shoulder", "elbow") for name, x in (("delay", 0.1), ("duration", 0.25))
    }
    wanted = jax.tree.leaves(_turns(with_parameters(Jumper(), times)))
    for model in (turned, turned.jumper()):
        np.testing.assert_allclose(jax.tree.leaves(_turns(model)), wanted, rtol=1e-14)


def _turns(model):
    return jax.jit(type(model).joint_turns)(model, 0.3)


@pytest.mark.slow
def test_a_knee_that_is_later_and_faster_makes_a_higher_jump():
    over = {name: TIMING[name] for name in ("knee.delay", "knee.duration")}
    found = highest_jump(Jumper(), over, starts=1, iterations=5)
    own = simulate(Jumper(), observe="height", **SETTINGS)
    assert found.objective > 1.01 * float(own["height"]) and set(found.best) == set(over)
    assert min(found.limits.values()) >= -1e-7 and "through the whole run" in found.gradient
    assert float(found.model.knee.delay) == found.best["knee.delay"]


class _Stopped(Exception):
    pass


@pytest.mark.slow
def test_the_limits_are_those_of_the_initial_jumper_whatever_the_bounds(monkeypatch):
    found = []

    def search(model, *, subject_to, **options):
        found.append([one.value for one in subject_to])
        raise _Stopped

    monkeypatch.setattr(design, "optimize", search)
    own = simulate(Jumper(), observe=["peak_force", "take_off_angular_momentum"], **SETTINGS)
    spin = abs(float(own.take_off_angular_momentum))
    for bounds in ((0.0, 0.06), Log(0.01, 0.06)):  # its own delay is 0.07 s
        with pytest.raises(_Stopped):
            highest_jump(Jumper(), {"ankle.delay": bounds})
        # Of another program, with derivatives: at rtol 1e-7 the spin is accurate to 7e-6.
        assert found[-1] == pytest.approx([float(own.peak_force), spin, -spin], rel=1e-5)


@pytest.mark.slow
def test_the_peak_force_of_a_jump_is_not_that_of_its_landing():
    time = np.linspace(0.0, 0.8, 801)
    depth = np.where((time < 0.3) | (time > 0.7), 1e-3, -1e-3)
    force = np.where(depth > 0.0, np.where(time > 0.7, 9000.0, 1500.0), 0.0)
    height = 1.0 + 3.0 * (time - 0.3) - 7.5 * np.maximum(time - 0.3, 0.0) ** 2
    run = {"time": time, "depth": depth, "grf_z": force, "com_z": height, "com_vz": np.gradient(height, time)}
    jump = assess(run | dict.fromkeys(["com_x", "com_vx", "angular_momentum", "pitch"], 0.0 * time), 50.0, 10.0)
    assert float(jump.peak_force) == pytest.approx(3.0) and 0.29 < float(jump.take_off) < 0.31
