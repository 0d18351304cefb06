"""The sole's normal laws: what bounces how high, and what a row of studs remembers."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

from jaxgait.mechanics import spatial
from jaxgait.mechanics.contact import HystereticHertz, ImpactHertz
from jaxgait.models import Jumper, SpatialJumper
from jaxgait.models.jumper.sole import Sole
from jaxgait.parameters import with_parameters

SPEEDS = jnp.array([0.5, 1.0, 2.0])  # m/s
STEADY = HystereticHertz()
LAWS = {False: STEADY, True: ImpactHertz(STEADY)}
"""By whether they remember the approach speed."""
MASS, GRAVITY = 0.02, 9.81  # kg on one stud (so light that weight does not matter in the impact), m/s^2


def bounce(law, speed):
    """A mass dropped on one stud: height, velocity and remembered approach speed after the first contact."""
    fall = speed**2 / (2.0 * GRAVITY)
    remembers = isinstance(law, ImpactHertz)
    approach = law.at_rest() if remembers else None

    def field(t, y, args):
        z, v, held = y
        memory = (held,) if remembers else ()
        force = law.force(-z, -v, *memory)
        return v, force / MASS - GRAVITY, law.memory_rate(-z, -v, held) if remembers else None

    left = diffrax.Event(lambda t, y, args, **_: (y[0] > 0.0) & (y[1] > 0.0))
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        diffrax.Tsit5(),
        0.0,
        2.0,
        1e-4,
        (fall, jnp.zeros(()), approach),
        stepsize_controller=diffrax.PIDController(1e-9, 1e-11, dtmax=1e-3),
        event=left,
        max_steps=100_000,
    )
    return jax.tree.map(lambda leaf: leaf[-1], solution.ys)


@pytest.fixture(scope="module")
def bounces():
    return {flag: jax.jit(jax.vmap(lambda v, law=law: bounce(law, v)))(SPEEDS) for flag, law in LAWS.items()}


def predicted(damping):
    """Restitution e of ``m v' = -k d^n (1 + damping v / v0)``: a - ln(1 + a) = -e a - ln(1 - e a), a = damping."""
    energy = damping - np.log1p(damping)
    return brentq(lambda e: -e * damping - np.log1p(-e * damping) - energy, 0.1, 0.999)


def test_impact_law_bounces_alike_at_all_speeds(bounces):
    """The closed form of the rebound, which knows no speed; the memory lags by g tracking_time = 0.02 m/s."""
    restitution, held = np.asarray(bounces[True][1] / SPEEDS), np.asarray(bounces[True][2])
    closed = [predicted(0.75 * (1.0 - 0.5**2) * v / h) for v, h in zip(np.asarray(SPEEDS), held, strict=True)]
    assert (np.abs(restitution - closed) < 0.01 / np.asarray(SPEEDS)).all()  # weight counts in slow impacts
    assert restitution[2] == pytest.approx(0.725, abs=5e-3)


def test_steady_law_damps_fast_impacts_more(bounces):
    restitution = np.asarray(bounces[False][1] / SPEEDS)
    assert (np.diff(restitution) < -0.05).all()
    assert restitution[2] < 0.5 * float(bounces[True][1][2] / SPEEDS[2])


def test_the_approach_speed_is_followed_in_the_air_and_held_on_the_ground(bounces):
    np.testing.assert_allclose(bounces[True][2], SPEEDS, atol=2.0 * GRAVITY * LAWS[True].tracking_time)


@pytest.mark.slow
def test_every_column_of_studs_carries_in_the_plane_as_in_space():
    """Three columns under each foot: the crouch of the plane, in which the jump in space starts, is static in both."""
    plane = Jumper(sole=Sole(columns=(-0.03, 0.0, 0.03)))

    @jax.jit
    def carried():
        jumper = SpatialJumper(plane=plane)
        y, tree = jumper.initial_state(), jumper.tree()
        q, v, _ = jumper.coordinates(0.0, y)
        ground = jumper.ground(tree, spatial.kinematics(tree, q, v), y)
        return plane.studs_per_row * plane.contact(plane.initial_state()).studs.normal.sum(), ground.studs.normal.sum()

    np.testing.assert_allclose(carried(), 70.0 * 9.81, rtol=1e-9)


def test_the_right_foot_is_the_mirror_image_of_the_left_one():
    """Studs of both feet lay on the same side: a symmetric body drifted sideways."""
    jumper = with_parameters(SpatialJumper(), {"plane.sole.columns": (-0.02, 0.04)})
    left, right = jnp.split(jumper._studs(jumper.tree()).position, 2)
    np.testing.assert_array_equal(right, np.asarray(left) * np.array([1.0, -1.0, 1.0]))
