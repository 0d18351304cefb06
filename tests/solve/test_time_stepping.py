"""The LCP time stepper on the walker, digit by digit, and on a block and a bouncing disc with known answers."""

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import precision, simulate
from jaxgait.kinds import Contact, Kinetics
from jaxgait.model import Model, Scalar, Variable, parameter
from jaxgait.models.walker.rigid import RigidWalker
from jaxgait.outcome import IncompleteRun, Outcome
from jaxgait.parameters import with_parameters
from jaxgait.run import Sampling
from jaxgait.solve.time_stepping import TimeStepping, march, step

RATES = ("vx", "vy", "omega_1", "omega_2")
SCALE = 4.0  # a power of two scales every rounding error alike
DIGITS = 1e-8  # the specification's regression values carry 8 digits


@pytest.fixture(scope="module")
def walk():
    """20000 steps of six walks at once: plastic, bouncing, slippery; and the plastic one heavier, under another gravity
    (in steps half as long), with the legs swapped; sampled every 1000 steps."""
    model = precision.cast(RigidWalker())
    paper = [getattr(model.start, name) for name in RATES]
    fast, swapped = [2.0 * v for v in paper], paper[:2] + paper[3:1:-1]
    start = [paper, paper, paper, paper, fast, swapped]
    changes = {
        "normal_restitution": jnp.array([0.0, 0.3, 0.0, 0.0, 0.0, 0.0]),
        "friction": jnp.array([0.5, 0.5, 0.13, 0.5, 0.5, 0.5]),
        "mass": jnp.array([1.0, 1.0, 1.0, SCALE, 1.0, 1.0]),
        "inertia": 0.008 * jnp.array([1.0, 1.0, 1.0, SCALE, 1.0, 1.0]),
        "gravity": 9.8 * jnp.array([1.0, 1.0, 1.0, 1.0, SCALE, 1.0]),
        "start.theta_1": jnp.array([0.2, 0.2, 0.2, 0.2, 0.2, -0.2]),
        "start.theta_2": jnp.array([-0.2, -0.2, -0.2, -0.2, -0.2, 0.2]),
        **{f"start.{name}": jnp.array(column) for name, column in zip(RATES, zip(*start, strict=True), strict=True)},
    }
    dt = jnp.array([1e-4, 1e-4, 1e-4, 1e-4, 1e-4 / np.sqrt(SCALE), 1e-4])
    return jax.jit(jax.vmap(lambda c, dt: march(with_parameters(model, c), dt, 20, 1000)))(changes, dt)


def test_regression_values(walk):
    positions = np.stack(walk.y[:4], axis=-1)
    np.testing.assert_allclose(positions[0, 2], [0.11061002, 0.39907361, -0.07758063, 0.20444213], atol=DIGITS)
    expected = [
        [0.77022770, 0.39766793, -0.12431115, 0.24190278],
        [0.77045797, 0.39767212, -0.12454505, 0.24199302],
        [0.64669567, 0.39707250, -0.13968386, 0.14919346],
    ]
    np.testing.assert_allclose(positions[:3, -1], expected, atol=DIGITS)
    assert float(jnp.max(walk.violation)) < 1e-12


def test_entire_walks_scale_with_mass_and_gravity_and_are_symmetric_in_the_legs(walk):
    """Spec section 9: m, J times s changes impulses only; g times s makes everything sqrt(s) as fast."""
    q, u = np.stack(walk.y[:4], axis=-1), np.stack(walk.y[4:], axis=-1)
    impulses = np.stack(walk.impulses, axis=-1)
    plain, heavy, fast, swapped = 0, 3, 4, 5
    np.testing.assert_allclose(q[heavy], q[plain], atol=1e-12)
    np.testing.assert_allclose(impulses[heavy], SCALE * impulses[plain], atol=1e-12)
    np.testing.assert_allclose(walk.t[fast], walk.t[plain] / np.sqrt(SCALE), atol=1e-12)
    np.testing.assert_allclose(q[fast], q[plain], atol=1e-12)
    np.testing.assert_allclose(u[fast], np.sqrt(SCALE) * u[plain], atol=1e-12)
    np.testing.assert_allclose(q[swapped][:, [0, 1, 3, 2]], q[plain], atol=1e-9)
    np.testing.assert_allclose(u[swapped][:, [0, 1, 3, 2]], u[plain], atol=1e-8)


class Puck(NamedTuple):
    x: float
    y: float
    vx: float
    vy: float


class Block:
    """A point mass over rough ground y = 0."""

    def __init__(self, start, friction, restitution):
        self.start, self.friction, self.restitution = start, friction, restitution

    def initial_state(self):
        return Puck(*(jnp.asarray(z, dtype=float) for z in self.start))

    def kinetics(self, y):
        return Kinetics(lambda f: [fi / 2.0 for fi in f], [0.0, -2.0 * 9.8])

    def contacts(self, y):
        return (
            Contact(y.y, (0.0, 1.0), (1.0, 0.0), (0.0, 0.0), (0.0, 0.0), self.friction, self.restitution, 0.0, True),
        )


def test_a_sliding_block_stops_where_coulomb_says():
    end = march(Block((0.0, 0.0, 1.0, 0.0), 0.3, 0.0), 1e-4, 1, 5000)
    assert float(end.y.x[-1]) == pytest.approx(1.0 / (2 * 0.3 * 9.8), rel=1e-3)
    assert float(end.y.vx[-1]) == pytest.approx(0.0, abs=1e-12)
    assert float(end.work[1][-1]) == pytest.approx(0.0, abs=1e-12)


def test_a_body_without_contacts_falls_freely():
    falling = Block((0.0, 1.0, 0.0, 0.0), 0.3, 0.0)
    falling.contacts = lambda y: ()
    after = step(falling, 0.0, falling.initial_state(), 0.1)
    assert float(after.y.y) == pytest.approx(1.0 - 0.5 * 9.8 * 0.1**2) and not after.unsolved


def test_newton_restitution():
    """Dropped from h, it rises to e^2 h."""
    run = march(Block((0.0, 0.1, 0.0, 0.0), 0.3, 0.6), 1e-4, 3000, 1)
    bounce = int(np.argmax(np.asarray(run.impulses[0]) > 0))
    assert float(run.y.y[bounce:].max()) == pytest.approx(0.36 * 0.1, rel=5e-3)


def test_derivatives_between_contact_changes():
    """Sliding without a change of mode: the distance depends on friction as in theory, in both modes of AD."""

    def distance(mu):
        return march(Block((0.0, 0.0, 1.0, 0.0), mu, 0.0), 1e-3, 1, 100).y.x[-1]

    mu = jnp.asarray(0.3)
    exact = -0.5 * 9.8 * 0.1**2
    forward, reverse = jax.jit(lambda mu: (jax.jacfwd(distance)(mu), jax.grad(distance)(mu)))(mu)
    assert float(forward) == pytest.approx(exact, rel=2e-2)
    assert float(reverse) == pytest.approx(float(forward), rel=1e-10)


def test_times_are_multiples_of_the_step_in_float32_too():
    """Summed up, 0.1 ms would have become 39.82 s after 40 s."""
    with jax.enable_x64(False):
        block = Block((0.0, 0.0, 1.0, 0.0), 0.3, 0.0)
        end = jax.jit(lambda: march(block, 1e-4, 4, 100_000).t)()
    assert end.dtype == np.float32
    np.testing.assert_allclose(end, [10.0, 20.0, 30.0, 40.0], rtol=2e-7)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dt": 0.0}, "dt must be one number in s, finite and above 0 s, got 0.0"),
        ({"dt": np.nan}, "dt must be one number in s"),
        ({"blocks": 0}, "blocks must be a whole number, at least 1, got 0"),
        ({"steps_per_block": -3}, "steps_per_block must be a whole number"),
        ({"t0": np.inf}, "t0 must be one number in s, finite"),
        ({"y0": Puck(0.0, np.nan, 0.0, 0.0)}, "y0.y must be finite, got nan"),
        ({"y0": (0.0, 0.0, 0.0, 0.0)}, "y0 must be a Puck"),
        ({"y0": Puck(np.zeros(3), 0.0, 0.0, 0.0)}, r"y0.x must have the shape \(\), got \(3,\)"),
    ],
    ids=str,
)
def test_models_that_cannot_be_marched_raise(change, message):
    arguments = {"dt": 1e-3, "blocks": 1, "steps_per_block": 10} | change
    with pytest.raises(ValueError, match=message):
        march(Block((0.0, 0.0, 1.0, 0.0), 0.3, 0.0), **arguments)


def test_a_march_validates_its_model():
    with pytest.raises(ValueError, match=r"RigidWalker\.mass"):
        march(RigidWalker(mass=-1.0), 1e-3, 1, 1)
    with pytest.raises(ValueError, match=r"RigidWalker\.mass"):
        jax.vmap(lambda mu: march(RigidWalker(mass=-1.0, friction=mu), 1e-3, 1, 1))(jnp.array([0.1, 0.2]))


class Ball(Model):
    """A ball that bounces on the ground."""

    height: Scalar = parameter(0.1, unit="m", doc="height at the start")
    restitution: Scalar = parameter(0.5, unit="1", doc="coefficient of restitution")
    separation: float = eqx.field(static=True, default=0.0)
    duration: ClassVar[float] = 1.0
    variables: ClassVar = {name: Variable("", "") for name in Puck._fields}

    def initial_state(self):
        return Puck(0.0, jnp.asarray(self.height), 0.0, 0.0)

    def kinetics(self, y):
        return Kinetics(list, [0.0, -9.8])

    def contacts(self, y):
        return Block((0.0, 0.0, 0.0, 0.0), 0.3, self.restitution).contacts(y)

    def terminations(self):
        return {"sank": lambda t, y: y.y < -0.01, "lost": lambda t, y: y.y > 1.0}

    def event_names(self):
        return ("touches", "leaves")

    def amounts(self, step, dt):
        return {"impulse": step.impulses[0]}


FALL = np.sqrt(2 * 0.1 / 9.8)


def test_steps_are_as_few_and_as_long_as_the_samples_allow():
    run = simulate(Ball(), duration=0.1, samples=3, dt=0.01)
    assert run.attrs["steps"] == 12 and float(run.time[-1]) == 0.1
    assert simulate(Ball(), duration=0.1, samples=10, dt=0.01).attrs["steps"] == 10
    assert simulate(Ball(), duration=0.1, samples=10, dt=1.0).attrs["steps"] == 10


@pytest.mark.parametrize("dt", [2e-3, 1e-3, 5e-4])
def test_impacts_converge_with_the_step(dt):
    run = simulate(Ball(), duration=0.5, samples=10, dt=dt)
    touched = run.event_time[run.event_name == "touches"].values[:2]
    np.testing.assert_allclose(touched, [FALL, 2.0 * FALL], atol=2.0 * dt)
    first = run.isel(event=int(np.argmax(run.event_name.values == "touches")))
    assert float(first.impulse_after - first.impulse_before) == pytest.approx(1.5 * 9.8 * FALL, abs=20 * dt)


@pytest.mark.slow
def test_a_contact_that_reopens_briefly_is_not_a_lift_off():
    """Flights of 2 FALL/2^n: those below the separation are bounces."""
    names = {s: simulate(Ball(separation=s), dt=1e-3).event_name.values for s in (0.05, 0.1)}
    assert list(names[0.05]) == ["touches", "leaves"] * 2 + ["touches"]
    assert list(names[0.1]) == ["touches", "leaves", "touches"]


@pytest.mark.parametrize(("samples", "steps"), [(100, 2000), (80, 2000), (137, 2055)])
def test_blocks_do_not_shorten_the_steps(samples, steps):
    """2 s in steps of at most 1 ms: 20, 25 and 14.6 in a sample, in blocks of at most 10."""
    sampling = Sampling.of(Ball(), None, 2.0, samples)
    blocks, length = TimeStepping(dt=1e-3)._division(Ball(separation=0.05), sampling)
    assert samples * blocks * length == steps and length <= 10


@pytest.mark.slow
@pytest.mark.parametrize("separation", [0.0, 0.0105])
def test_events_do_not_depend_on_the_sampling(separation):
    """Steps between samples are examined in blocks, in which a contact must touch at most once."""
    found = [simulate(Ball(separation=separation), dt=1e-3, samples=n, max_events=100) for n in (1, 1000)]
    assert found[0].sizes["event"] == found[1].sizes["event"] > 5
    np.testing.assert_allclose(*(run.event_time for run in found), atol=1e-9)


def test_events_beyond_the_limit_end_a_run_with_a_status():
    with pytest.warns(IncompleteRun, match="raise max_events"):
        run = simulate(Ball(), dt=1e-3, max_events=3)
    assert run.attrs["status"] == Outcome.EVENT_LIMIT and run.sizes["event"] == 3 and run.attrs["t_end_s"] < 1.0


def test_the_first_of_a_models_terminations_is_the_status():
    with pytest.warns(IncompleteRun, match="ended early: lost"):
        run = simulate(Ball(height=1.1), duration=0.5, samples=10, dt=1e-3)
    assert run.attrs["t_end_s"] == 0.0 and run.attrs["steps"] == 0


def test_a_state_that_is_lost_is_a_status():
    dropped = lambda height: with_parameters(precision.cast(Ball()), {"height": height})
    run = lambda height: TimeStepping(1e-3).run(dropped(height), Sampling.of(Ball(), None, 0.1, 5))
    ball = jax.jit(run)(jnp.asarray(jnp.nan))
    assert ball.status == Outcome.NONFINITE and ball.steps == 0 and not float(ball.totals["impulse"][0])


class Pose(NamedTuple):
    x: float
    z: float
    angle: float
    vx: float
    vz: float
    omega: float


class Table(Model):
    """1 kg on four feet in a plane, 0.3 m below its centre of mass, for small angles."""

    friction: Scalar = parameter(0.3, unit="1", doc="friction coefficient")
    duration: ClassVar[float] = 0.05
    variables: ClassVar = {name: Variable("", "") for name in Pose._fields}

    def initial_state(self):
        return Pose(0.0, 0.0, 0.0, 2.0, -0.5, 1.0)

    def kinetics(self, y):
        return Kinetics(lambda f: [f[0], f[1], f[2] / 0.02], [0.0, -9.8, 0.0])

    def contacts(self, y):
        none = [0.0, 0.0, 0.0]
        feet = [([0.0, 1.0, s], [1.0, 0.0, 0.3], y.z + s * y.angle) for s in (-0.5, -0.2, 0.2, 0.5)]
        return [Contact(gap, n, t, none, none, self.friction, 0.0, 0.0, True) for n, t, gap in feet]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_feet_at_rest_are_solved(kind):
    """All speeds without impulses are then those that gravity gives in one step."""
    rest = Pose(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for mu in (0.3, 1.0):
        run = simulate(Table(friction=mu), initial_state=rest, precision=kind)
        assert run.attrs["status"] == Outcome.COMPLETED and abs(run.z[-1]) < 1e-6


@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_contacts_that_no_impulses_satisfy_end_the_run(kind):
    """With four feet and much friction, the sweeps over more than three contacts do not converge."""
    with pytest.warns(IncompleteRun, match="no impulses satisfy the contact law"):
        run = simulate(Table(friction=1.0), precision=kind, dt=5e-5)
    assert run.attrs["status"] == Outcome.CONTACTS_UNSOLVED and run.attrs["t_end_s"] < 0.05
