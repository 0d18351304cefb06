"""Friction laws: they oppose motion, saturate and dissipate; bristles hold a load and give it back when released."""

import dataclasses
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import Prosthesis, ensemble, zipped
from jaxgait.mechanics import friction
from jaxgait.mechanics.contact import HystereticHertz, ImpactHertz
from jaxgait.mechanics.friction import Bristle, Coulomb, Dahl, FrictionLaw, Incremental, Stribeck, contact_force
from jaxgait.model import Model, Numerics, Scalar, Variable, parameter
from jaxgait.parameters import ParameterError
from jaxgait.parts import with_parts

STIFFNESS, RELEASE = 3.2e4, 2e-3
EXACT = 1e-12
FORMS = ["arctan", "tanh", "algebraic"]
MEMORYLESS = [kind(regularisation=form) for kind in (Coulomb, Stribeck) for form in FORMS]


def named(law):
    return f"{type(law).__name__}-{getattr(law, 'regularisation', '')}"


def dahl(velocity, deflection, limit=1.6):
    return Dahl(1.0, STIFFNESS, 10.0, RELEASE).force(velocity, limit, deflection)


@pytest.mark.parametrize("law", MEMORYLESS, ids=named)
def test_friction_opposes_and_saturates(law):
    v = jnp.linspace(-1.0, 1.0, 201)
    force, memory_rate = law.force(v, 100.0)
    static = getattr(law, "static", 0.6)
    assert memory_rate is None and law.at_rest() is None
    assert jnp.all(force * v <= 0.0)
    assert jnp.all(jnp.abs(force) <= 100.0 * static + 1e-12)
    np.testing.assert_allclose(law.force(1.0, 100.0)[0], -60.0, rtol=1e-4)
    assert float(law.force(0.0, 100.0)[0]) == 0.0
    slope = {"arctan": 2 / np.pi, "tanh": 1.0, "algebraic": 1.0}[law.regularisation]
    found = jax.grad(lambda v: law.force(v, 100.0)[0])(0.0)
    np.testing.assert_allclose(found, -100.0 * static * slope / law.slip_velocity, rtol=1e-12)


@pytest.mark.parametrize("law", [*MEMORYLESS, Bristle()], ids=named)
def test_in_the_plane_friction_is_against_the_velocity(law):
    """Along a direction it is what it is along a line; at rest its slope is finite and the same in all directions."""
    speed, normal = jnp.array([3e-5, 0.2]), jnp.array([20.0, 30.0])
    direction = jnp.array([[0.6, -0.8]])
    bend = None if law.at_rest() is None else 1e-4 * jnp.ones(2)
    line, _ = law.force(speed, normal, bend)
    plane, _ = law.force(
        speed[:, None] * direction, normal, None if bend is None else bend[:, None] * direction, axes=True
    )
    np.testing.assert_allclose(plane, line[:, None] * direction, rtol=1e-12)
    still = law.at_rest(1, 2)
    slopes = jax.jacfwd(lambda v: law.force(v[None], jnp.ones(1), still, axes=True)[0][0])(jnp.zeros(2))
    assert np.isfinite(slopes).all() and slopes[0, 0] == slopes[1, 1] < 0.0
    np.testing.assert_array_equal(slopes[[0, 1], [1, 0]], 0.0)


@pytest.mark.parametrize("law", [*MEMORYLESS, Bristle()], ids=named)
def test_without_load_there_is_no_force(law):
    force, _ = law.force(0.3, 0.0, law.at_rest(), 0.0)
    assert float(force) == 0.0


def test_stribeck_falls_from_static_to_kinetic():
    law = Stribeck(0.8, 0.5, stribeck_velocity=0.1, slip_velocity=1e-4)
    np.testing.assert_allclose(law.force(5e-3, 10.0)[0], -8.0, rtol=5e-3)
    np.testing.assert_allclose(law.force(1.0, 10.0)[0], -5.0, rtol=1e-6)


def test_unknown_regularisation_is_named():
    with pytest.raises((ValueError, TypeError), match="cubic"):
        friction.sign(0.0, 1.0, "cubic")


def test_a_missing_memory_is_named():
    with pytest.raises(TypeError, match=r"Bristle has a memory.*Bristle\(\).at_rest\(\)"):
        Bristle().force(0.1, 10.0)


def test_steady_sliding_force_is_the_limit():
    for v in (-0.3, 1e-4, 0.02):
        force, rate = dahl(v, np.sign(v) * 1.6 / STIFFNESS)
        assert float(force) == pytest.approx(-np.sign(v) * 1.6, rel=EXACT)
        assert abs(float(rate)) < EXACT


def test_a_static_load_is_held_without_creep():
    force, rate = dahl(0.0, 0.9 * 1.6 / STIFFNESS)
    assert float(force) == pytest.approx(-0.9 * 1.6, rel=EXACT)
    assert float(rate) == 0.0


def test_a_melting_pad_gives_its_excess_back():
    held = 1.6 / STIFFNESS
    _, rate = dahl(0.0, held, limit=0.1)
    assert float(rate) == pytest.approx(-15.0 * held / RELEASE, rel=EXACT)


def test_solidifying_adds_no_force():
    assert float(dahl(0.0, 1e-6, limit=1.6)[0]) == float(dahl(0.0, 1e-6, limit=0.1)[0])


def test_small_motions_are_a_spring_and_a_damper():
    stiffness = jax.grad(lambda z: dahl(0.0, z)[0])(0.0)
    damping = jax.grad(lambda v: dahl(v, 0.0)[0])(0.0)
    np.testing.assert_allclose([stiffness, damping], [-STIFFNESS, -16.0], rtol=EXACT)


@pytest.mark.parametrize("law", [Dahl(stiffness=STIFFNESS), Bristle(stiffness=2e4)], ids=named)
def test_friction_never_feeds_energy_over_a_closed_cycle(law):
    t = jnp.linspace(0.0, 2.0, 200_001)
    v = 0.01 * jnp.cos(2.0 * jnp.pi * t)

    def step(z, v):
        force, rate = law.force(v, 1.6, z)
        return z + 1e-5 * rate, force * v

    _, power = jax.jit(lambda: jax.lax.scan(step, 0.0, v))()
    assert float(power[100_000:].sum() * 1e-5) < -1e-3


def test_loaded_bristle_sticks_below_its_limit_and_slips_at_it():
    """Steady sliding: the force is mu N whatever the speed; a small deflection holds like a spring."""
    law = Bristle(0.7, 0.7)
    velocity, normal = jnp.array([[0.3, 0.4]]), jnp.array([20.0])
    steady = 0.7 / 1500.0 * velocity / 0.5
    force, rate = law.force(velocity, normal, steady, axes=True)
    np.testing.assert_allclose(rate, 0.0, atol=1e-15)
    np.testing.assert_allclose(force, [[-0.7 * 20.0 * 0.6, -0.7 * 20.0 * 0.8]], rtol=1e-12)
    held, rate = law.force(0.0 * velocity, normal, steady / 2, axes=True)
    np.testing.assert_allclose(held, force / 2, rtol=1e-12)
    np.testing.assert_allclose(rate, 0.0, atol=1e-15)


def test_open_contact_lets_the_bristle_go():
    z = jnp.array([[1e-4, 0.0]])
    force, rate = Bristle().force(z, jnp.zeros(1), z, jnp.zeros(1), axes=True)
    np.testing.assert_array_equal(force, 0.0)
    np.testing.assert_allclose(rate, -z / 0.02, rtol=1e-12)
    with jax.numpy_dtype_promotion("standard"):
        np.testing.assert_array_equal(Bristle().force(np.int64(1), 9.0, 0.0, 0.5), Bristle().force(1.0, 9.0, 0.0, 0.5))


def test_incremental_and_bristle_laws_agree_in_slip():
    """A contact pushed under constant load slides at the kinetic limit, or between both limits."""
    normal, step = jnp.array([28.6]), 1e-5
    z, spring = jnp.zeros((1, 1)), jnp.zeros((1, 1))
    incremental = Incremental()
    bristle = Bristle(0.9, 0.7, 0.006, stiffness=incremental.stiffness / 28.6, damping=0.0)

    @jax.jit
    def advance(t, z, spring):
        v = jnp.full((1, 1), 0.2 * jnp.cos(40.0 * t))
        smooth, rate = bristle.force(v, normal, z, axes=True)
        stepped, spring = incremental.step(v, normal, spring, step)
        return z + step * rate, spring, smooth[0, 0], stepped[0, 0]

    for k in range(3000):
        z, spring, smooth, stepped = advance(k * step, z, spring)
    assert float(smooth) == pytest.approx(-0.7 * 28.6, rel=0.05)
    assert -0.9 * 28.6 <= float(stepped) <= -0.7 * 28.6  # its reset makes it chatter between both coefficients


def test_the_incremental_spring_of_a_falling_load_keeps_its_direction():
    """At rest it slips along the spring, to the static limit; sliding, along the velocity, as in the source."""
    law, spring = Incremental(stiffness=1e4), jnp.array([[3e-3, 4e-3]])  # m, 50 N
    for v in (-1e-9, 0.0, 1e-9):  # m/s
        force, left = law.step(jnp.array([[v, 0.0]]), jnp.array([10.0]), spring, 1e-5)
        np.testing.assert_allclose(force, [[-0.9 * 6.0, -0.9 * 8.0]], rtol=1e-6)
        np.testing.assert_allclose(left, -force / 1e4, rtol=1e-12)
    force, _ = law.step(jnp.array([[-0.5, 0.0]]), jnp.array([10.0]), spring, 1e-5)
    np.testing.assert_allclose(force, [[7.0, 0.0]], rtol=1e-12)
    unloaded, left = law.step(jnp.zeros((1, 2)), jnp.zeros(1), jnp.zeros((1, 2)), 1e-5)
    np.testing.assert_array_equal(jnp.stack([unloaded, left]), 0.0)


def test_every_parameter_of_every_law_has_a_finite_gradient_at_rest():
    for law in [*MEMORYLESS, Bristle(), dataclasses.replace(Bristle(), damping=0.0)]:
        slopes = jax.grad(lambda law: law.force(0.0, 10.0, law.at_rest())[0])(law)
        assert all(np.isfinite(leaf) for leaf in jax.tree.leaves(slopes))


@pytest.mark.parametrize("form", FORMS)
def test_stribecks_law_with_equal_coefficients_is_coulombs(form):
    v = jnp.linspace(-0.01, 0.01, 201)
    stribeck, coulomb = Stribeck(HERE, HERE, regularisation=form), Coulomb(HERE, regularisation=form)
    np.testing.assert_allclose(stribeck.force(v, 10.0)[0], coulomb.force(v, 10.0)[0], rtol=1e-12)


GRAVITY, HERE = 9.81, 0.6  # m/s^2; coefficient of all laws below
SLOPES = {"level": 0.0, "half the angle of friction": np.arctan(HERE / 2), "beyond it": np.arctan(2 * HERE)}


class Sliding(NamedTuple):
    x: Scalar
    v: Scalar
    lost: Scalar
    memory: Scalar | None


class Block(Model):
    """One kilogram that slides down a slope, with the energy that friction has taken."""

    law: FrictionLaw = Coulomb()
    slope: Scalar = parameter(0.0, unit="rad", doc="angle of the slope")
    speed: Scalar = parameter(1.0, unit="m/s", doc="initial speed")

    variables: ClassVar = {
        "x": Variable("m", "position"),
        "v": Variable("m/s", "velocity"),
        "lost": Variable("J", "energy taken by friction"),
        "memory": Variable("m", "deflection of the bristles"),
    }
    numerics: ClassVar = Numerics(stiff=True, rtol=1e-8, atol=1e-10, first_step=1e-5)

    def vector_field(self, t, y):
        force, rate = self.law.force(y.v, GRAVITY * jnp.cos(self.slope), y.memory)
        return Sliding(y.v, GRAVITY * jnp.sin(self.slope) + force, -force * y.v, rate)

    def initial_state(self):
        return Sliding(jnp.zeros(()), self.speed * jnp.ones(()), jnp.zeros(()), self.law.at_rest())

    @property
    def duration(self):
        return 4.0


CREEP = {"arctan": np.tan(np.pi / 4), "tanh": np.arctanh(0.5), "algebraic": 0.5 / np.sqrt(0.75)}
"""Speed over the slip velocity at which a law gives half of its limit."""


@pytest.mark.parametrize(
    "law",
    [
        *[Coulomb(HERE, regularisation=form) for form in FORMS],
        Stribeck(HERE, HERE),
        Bristle(HERE, HERE),
    ],
    ids=named,
)
def test_a_block_stops_creeps_or_holds_and_slides_according_to_its_law(law):
    """On the level, on half the angle of friction and on twice its tangent, by each law, through one ensemble."""
    slopes, speeds = np.array(list(SLOPES.values())), np.array([1.0, 0.0, 0.0])
    members = zipped({"slope": slopes, "speed": speeds})
    found = ensemble(Block(law), members, trajectories=True, samples=2, progress=False)
    assert (found.status == 0).all()
    x, v, lost = (found[name].isel(time=-1).values for name in ("x", "v", "lost"))
    np.testing.assert_allclose(lost, speeds**2 / 2 + GRAVITY * np.sin(slopes) * x - v**2 / 2, atol=1e-6)
    assert x[0] == pytest.approx(1.0 / (2 * HERE * GRAVITY), rel=1e-2)  # m: v^2 / (2 mu g)
    assert v[2] == pytest.approx(4.0 * GRAVITY * (np.sin(slopes[2]) - HERE * np.cos(slopes[2])), rel=5e-3)
    if isinstance(law, Bristle):
        assert found.memory[1, -1].item() == pytest.approx(HERE / 2 / law.stiffness, rel=1e-4)
        assert found.x[1, 1].item() == pytest.approx(x[1], abs=1e-6)  # it holds
    else:
        assert v[1] == pytest.approx(CREEP[law.regularisation] * law.slip_velocity, rel=1e-3)


@pytest.mark.parametrize("law", [Stribeck(0.3, 0.9), Bristle(0.3, 0.9)])
def test_friction_does_not_grow_as_a_contact_breaks_away(law):
    with pytest.raises(
        ParameterError, match=r"Prosthesis\.ground\.friction\.static must not be below .*, got 0\.3 and 0\.9"
    ):
        with_parts(Prosthesis(), {"ground.friction": law}).validate()


@pytest.mark.parametrize("gate", [None, 0.3])
@pytest.mark.parametrize("law", [Coulomb(), Stribeck(), Bristle()], ids=named)
def test_the_force_of_a_contact_is_that_of_its_laws(law, gate):
    """A gate weakens the load and, for bristles, the grip: where it is shut they are released as in the air."""
    ground, memory = HystereticHertz(stiffness=1e6), None if law.at_rest() is None else 1e-4
    share = 1.0 if gate is None else gate
    found = contact_force(ground, law, 1e-3, 0.1, 0.2, memory, gate=gate)
    assert found.normal == share * ground.force(1e-3, 0.1)
    expected = law.force(0.2, found.normal, memory, share * ground.engaged(1e-3))
    assert (found.tangential, found.memory_rate) == expected
    shut, aloft = (contact_force(ground, law, depth, 0.0, 0.2, memory, gate=0.0) for depth in (1e-3, -1e-3))
    assert shut.normal == 0.0 and shut == aloft


def test_the_force_of_a_contact_knows_the_speed_of_its_touch_down():
    law = ImpactHertz(HystereticHertz(stiffness=1e6, restitution=0.5))
    found = contact_force(law, Coulomb(), 1e-3, 0.1, 0.2, approach=2.0)
    assert found.normal == law.force(1e-3, 0.1, 2.0) != law.steady.force(1e-3, 0.1)
