"""Figures of jumps: in space they are those of the plane, with what the plane lacks."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.models.jumper.measures import MEASURES, SPATIAL_MEASURES, assess, lift_off_times
from jaxgait.run import Run

MASS = 700.0 / 9.81


class Histories(Run):
    """A run of known histories."""

    ts = ys = None  # not those of a trajectory
    _reads_events = False

    def __init__(self, ts, **histories):
        body = {"gravity": 9.81, "tree": lambda: SimpleNamespace(mass=np.array([MASS]))}
        self.ts, self.model = ts, SimpleNamespace(plane=SimpleNamespace(**body), **body)
        self.ys, self.histories, self._known = SimpleNamespace(pitch=histories.get("pitch")), histories, {}

    def __getitem__(self, name):
        return self.histories[name]

    def outputs(self):
        return self.histories

    def view(self):
        return self


TAKE_OFF = {
    "take_off": 0.35,
    "take_off_x": 0.3 * 0.35,
    "take_off_z": 0.9 + 0.35 - 0.5 * 0.35**2,
    "take_off_vx": 0.3,
    "take_off_vz": 1.0 - 0.35,
    "take_off_angular_momentum": -0.7,
}
"""Of the jump below, whose last stud leaves the ground at 0.35 s."""


@pytest.mark.slow
def test_figures_in_space_are_those_of_the_plane():
    @jax.jit
    def both(t):
        depth = jnp.stack([0.35 - t, 0.31 - t], axis=1)
        x, y, z = 0.3 * t, 0.2 * t**2, 0.9 + t - 0.5 * t**2
        vx, vy, vz = jnp.full_like(t, 0.3), 0.4 * t, 1.0 - t
        feet = jnp.stack([0.4 * 700.0 * jnp.sin(3.0 * t), 0.6 * 700.0 * jnp.sin(3.0 * t)], axis=1)
        zero = jnp.zeros_like(feet)
        run = Histories(
            t,
            depth=depth,
            com=jnp.stack([x, y, z], axis=1),
            com_velocity=jnp.stack([vx, vy, vz], axis=1),
            angular_momentum=jnp.stack([t, -2.0 * t, 5.0 * t], axis=1),
            grf=jnp.stack([zero, zero, feet], axis=2),
        )
        plane = {"com_x": x, "com_z": z, "com_vx": vx, "com_vz": vz, "angular_momentum": -2.0 * t, "pitch": t}
        histories = {"depth": depth, "grf_z": feet.sum(axis=1), **plane}
        expected = assess({"time": t, **histories}, MASS)
        flat = {name: MEASURES[name].function(Histories(t, **histories)) for name in [*TAKE_OFF, "take_off_pitch"]}
        return {name: measure.function(run) for name, measure in SPATIAL_MEASURES.items()}, flat, expected

    found, flat, expected = both(jnp.linspace(0.0, 1.0, 501))
    assert flat == pytest.approx({**TAKE_OFF, "take_off_pitch": 0.35}, rel=1e-9)
    assert {name: found[name] for name in [*TAKE_OFF, "take_off_vy"]} == pytest.approx(
        {**TAKE_OFF, "take_off_vy": 0.4 * 0.35}, rel=1e-9
    )
    for name, got in found.items():
        field = name if name == "take_off" else name.removeprefix("take_off_")
        value = 0.4 * 0.35 if field == "vy" else getattr(expected, field)
        assert float(got) == pytest.approx(float(value), rel=1e-9), name


def exact_take_off(p):
    """Take-off and speed where the depth is p - t - t^2 and the speed sin(5 t)."""
    t = (jnp.sqrt(1.0 + 4.0 * p) - 1.0) / 2.0
    return jnp.stack([t, jnp.sin(5.0 * t)])


@jax.jit
def take_off_and_slopes(p, known):
    """Figures of a parabola of which the first samples are known, their slopes by both modes, and exact ones."""
    t = jnp.linspace(0.0, 0.39, 40)

    def figures(p):
        lost = lambda x: jnp.where(jnp.arange(40) < known, x, jnp.nan)
        still = dict.fromkeys(("com_x", "com_vx", "grf_z", "angular_momentum", "pitch"), jnp.zeros(40))
        run = {"depth": p - t - t**2, "com_z": jnp.exp(t), "com_vz": jnp.sin(5.0 * t)}
        jump = assess({"time": t} | {name: lost(x) for name, x in (still | run).items()}, MASS)
        return jnp.stack([jump.take_off, jump.vz])

    slopes = [jax.jacfwd(figures)(p), jax.jacrev(figures)(p), jax.jacfwd(exact_take_off)(p)]
    return figures(p), exact_take_off(p), *slopes


@pytest.mark.slow
@pytest.mark.parametrize("known", [40, 24], ids=["whole", "ended right after take-off"])
def test_take_off_is_a_smooth_function_of_what_it_depends_on(known):
    """Values and derivatives against a parabola whose zero is known, sampled every 10 ms; chords where samples lack."""
    values, wanted, forward, reverse, slopes = take_off_and_slopes(0.277, known)
    whole = known == 40
    np.testing.assert_allclose(values, wanted, rtol=1e-6 if whole else 1e-3)
    for found in (forward, reverse):
        np.testing.assert_allclose(found, slopes, rtol=1e-5 if whole else 5e-2)


@pytest.mark.slow
@pytest.mark.parametrize("samples", [120, 140, 200], ids=["in the air", "landed", "bounced"])
def test_take_off_is_that_of_the_highest_flight(samples):
    """Whatever follows the jump, also in derivatives: it lands at 0.6 s and leaves the ground again at 0.8 s."""
    t = jnp.linspace(0.0, 0.995, 200)

    def figures(p):
        depth = jnp.where(t < 0.45, p - t - t**2, 0.01 - (10.0 * (t - 0.7)) ** 2 / 100.0)
        rise = jnp.where(t < 0.6, 0.3 - (t - 0.45) ** 2, 0.2 - (t - 0.9) ** 2)
        run = {"time": t, "depth": depth[:, None], "com_z": rise, "com_vz": jnp.sin(5.0 * t)}
        run |= dict.fromkeys(("com_x", "com_vx", "grf_z", "angular_momentum", "pitch"), jnp.zeros(200))
        jump = assess({name: x[:samples] for name, x in run.items()}, MASS)
        return jnp.stack([jump.take_off, jump.vz])

    both = lambda p: (figures(p), exact_take_off(p))
    (found, wanted), slopes = jax.jit(lambda p: (both(p), jax.jacfwd(both)(p)))(0.277)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    np.testing.assert_allclose(*slopes, rtol=1e-5)


def test_the_first_and_the_last_interval_have_lift_offs_too():
    t = jnp.linspace(0.0, 0.5, 6)
    depth = jnp.stack([0.04 - t, 0.47 - t, 0.6 - t, -0.1 - t], axis=1)
    np.testing.assert_allclose(lift_off_times(t, depth), [0.04, 0.47, jnp.nan, jnp.nan], atol=1e-12)


@pytest.mark.parametrize("depth", [[1.02, 1.01, 1.0, 0.999, -1.0, -3.0], [1.0, 0.9, 0.8, 0.5, -1.0, -1.001]])
def test_a_lift_off_lies_between_its_samples(depth):
    """Also where depths are nearly equal, whose inverse cubic goes anywhere."""
    (found,) = lift_off_times(np.arange(6.0), np.array(depth)[:, None])
    assert 3.0 < found < 4.0


@pytest.mark.parametrize("samples", [0, 1])
def test_one_sample_shows_no_lift_off(samples):
    assert np.isnan(lift_off_times(np.zeros(samples), np.ones((samples, 1)))).all()


def test_feet_drawn_up_while_the_body_falls_are_no_jump():
    t = np.linspace(0.0, 0.3, 31)
    run = {"time": t, "depth": 3e-3 - 0.02 * t, "grf_z": np.maximum(1500.0 - 1e4 * t, 0.0), "com_z": 1.0 - 0.4 * t}
    run |= {"com_vz": np.full_like(t, -0.4)}
    run |= dict.fromkeys(["com_x", "com_vx", "angular_momentum", "pitch"], np.zeros_like(t))
    jump = assess(run, MASS)
    assert np.isnan([jump.take_off, jump.height, jump.apex, jump.z, jump.vz]).all()
