"""Fixed points of maps with known answers: the Henon map, and a driven oscillator."""

import logging
import warnings
from typing import ClassVar, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from jaxgait import precision, simulate
from jaxgait.kinds import Transition
from jaxgait.model import Model, Numerics, Scalar, parameter
from jaxgait.models import Bungee, RigidWalker
from jaxgait.outcome import NoOrbit, Outcome, legend
from jaxgait.solve.hybrid import EventDriven, hybrid
from jaxgait.solve.periodic import (
    CONVERGED,
    TOLERANCE,
    Coordinates,
    PoincareMap,
    StroboscopicMap,
    fixed_point,
    linearised,
    orbit,
)
from jaxgait.solve.smooth import Smooth
from tests.oscillator import Oscillator


def henon(p, z):
    return jnp.stack([1.0 - p["a"] * z[0] ** 2 + z[1], p["b"] * z[0]])


def henon_point(a, b):
    return (b - 1 + np.sqrt((1 - b) ** 2 + 4 * a)) / (2 * a)


def test_fixed_point_and_its_derivative():
    solve = lambda a: fixed_point(henon, {"a": a, "b": 0.3}, np.array([0.5, 0.2]))
    a, nudge = 0.2, 1e-6
    point, slopes = jax.jit(lambda a: jax.jvp(solve, (a,), (1.0,)))(a)
    x = henon_point(a, 0.3)
    np.testing.assert_allclose(point.z, [x, 0.3 * x], atol=1e-12)
    np.testing.assert_allclose(point.jacobian, [[-2 * a * x, 1.0], [0.3, 0.0]], atol=1e-12)
    slope = float(slopes.z[0])
    assert slope == pytest.approx((henon_point(a + nudge, 0.3) - henon_point(a - nudge, 0.3)) / (2 * nudge), rel=1e-7)
    assert float(jax.jit(jax.grad(lambda a: solve(a).z[0]))(a)) == pytest.approx(slope, rel=1e-10)


def test_second_derivatives_of_a_fixed_point():
    x = lambda a: fixed_point(henon, {"a": a, "b": 0.3}, np.array([0.5, 0.2])).z[0]
    exact = jax.jacfwd(jax.jacfwd(lambda a: (-0.7 + jnp.sqrt(0.49 + 4 * a)) / (2 * a)))(0.2)
    assert float(jax.jit(jax.jacfwd(jax.jacfwd(x)))(0.2)) == pytest.approx(float(exact), rel=1e-9)


def test_orbits_of_higher_order_and_batches():
    a = jnp.array([0.5, 0.6, 0.8])
    two = jax.jit(jax.vmap(lambda a: fixed_point(henon, {"a": a, "b": 0.3}, jnp.array([1.2, -0.1]), order=2)))(a)
    assert (two.status == CONVERGED).all()
    for ai, z in zip(a, two.z, strict=True):
        there = orbit(henon, {"a": ai, "b": 0.3}, np.asarray(z), 2)
        np.testing.assert_allclose(there[1], z, atol=1e-10)
        assert abs(float(there[0, 0] - z[0])) > 0.1


@pytest.mark.slow
def test_the_tolerance_is_within_reach_of_the_precision():
    solve = lambda a: fixed_point(henon, {"a": a, "b": 0.3}, jnp.array([0.5, 0.2], jnp.float32))

    def first(a):
        point = solve(a)
        return point.z[0], point

    found, gradient = {}, {}
    for name in TOLERANCE:
        with precision.use(name):
            gradient[name], found[name] = jax.grad(first, has_aux=True)(0.2)
    assert [int(x.status) for x in found.values()] == [CONVERGED] * 2
    assert [x.z.dtype.name for x in found.values()] == list(TOLERANCE)
    np.testing.assert_allclose(found["float32"].z, found["float64"].z, rtol=1e-6)
    assert gradient["float32"] == pytest.approx(float(gradient["float64"]), rel=1e-5)


def test_a_tolerance_of_numpy_or_jax_is_a_constant_of_the_program():
    """As a traced value it would stay in JAX's caches, where the next transformed search would fail at it."""
    solve = lambda a, tolerance: fixed_point(henon, {"a": a, "b": 0.3}, jnp.array([0.5, 0.2]), tolerance=tolerance)
    found = solve(0.2, np.float64(1e-9))
    assert int(found.status) == CONVERGED
    for tolerance in (1e-9, np.float64(1e-9)):
        again = jax.jit(lambda a, tolerance=tolerance: solve(a, tolerance).z)(0.2)
        np.testing.assert_allclose(again, found.z, rtol=1e-5)


SCALE = 0.3


def scaled(model, z):
    return SCALE * z + model


def test_a_search_follows_changed_globals_of_its_map(monkeypatch):
    assert float(fixed_point(scaled, 1.4, jnp.array([0.0])).z[0]) == pytest.approx(2.0, rel=1e-12)
    monkeypatch.setitem(globals(), "SCALE", 0.5)
    assert float(fixed_point(scaled, 1.4, jnp.array([0.0])).z[0]) == pytest.approx(2.8, rel=1e-12)


@pytest.mark.parametrize("most", [1, 5])
def test_a_search_among_tiny_numbers_that_is_not_over_found_nothing(most):
    """Their residuals are below the tolerance from the start."""
    size = 1e-12
    with pytest.warns(NoOrbit, match=f"after {most} evaluations? the search is not over at a residual of"):
        gait = fixed_point(lambda a, z: z + (z**2 - a**2) / a, size, jnp.array([10.0 * size]), max_iterations=most)
    assert gait.status == Outcome.NOT_CONVERGED and np.isnan(gait.z).all()


def test_no_gait_is_a_status():
    """For a < -(1 - b)^2 / 4 the map has no fixed point; and a map that does not return gives NaN."""
    text = (
        r"no periodic orbit was found.* is NaN: after \d+ evaluations the search stalled .* \(tolerance 1e-10\): try an"
    )
    with pytest.warns(NoOrbit, match=text) as caught:
        none = fixed_point(henon, {"a": -0.3, "b": 0.3}, jnp.array([0.5, 0.2]))
    assert len(caught) == 1 and caught[0].filename == __file__
    assert int(none.status) == Outcome.NOT_CONVERGED and float(none.residual) > 1e-3
    with pytest.warns(NoOrbit, match="after 2 evaluations the search is not over .*: try more max_iterations"):
        fixed_point(henon, {"a": 0.2, "b": 0.3}, jnp.array([9.5, 0.2]), max_iterations=2)
    with pytest.warns(NoOrbit, match="after 20 evaluations the search is not over at .*: try another guess") as caught:
        fixed_point(lambda p, z: z + jnp.exp(z), None, jnp.array([5.0]), max_iterations=20)  # its steps never end
    assert str(caught[0].message).partition("try ")[2] in legend(Bungee())[Outcome.NOT_CONVERGED]
    with pytest.warns(NoOrbit, match="the motion from z0 does not return, or it or its derivative is NaN: give"):
        lost = fixed_point(lambda p, z: z * jnp.nan, None, jnp.array([0.5, 0.2]))
    assert int(lost.status) == Outcome.NO_RETURN


@pytest.mark.slow
def test_a_search_that_ends_well_or_is_traced_does_not_warn():
    """Loops in JAX handle failures themselves."""
    solve = lambda a: fixed_point(henon, {"a": a, "b": 0.3}, jnp.array([0.5, 0.2]))
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoOrbit)
        assert int(solve(0.2).status) == CONVERGED
        assert int(jax.jit(solve)(-0.3).status) == Outcome.NOT_CONVERGED
        assert np.isnan(jax.jacfwd(lambda a: solve(a).z)(-0.3)).all()


def test_an_orbit_tells_of_its_compilation(caplog):
    logistic = lambda a, z: a * z * (1.0 - z)
    with caplog.at_level(logging.INFO, "jaxgait"):
        found = [orbit(logistic, a, jnp.array([0.5]), 3)[0, 0] for a in (3.2, 3.3)]
    np.testing.assert_allclose(found, [0.8, 0.825], rtol=1e-12)
    assert caplog.text.count("compiling a new program") == 1


class Swing(NamedTuple):
    x: Scalar
    v: Scalar


class Driven(Model):
    """A damped oscillator driven by cos(w t)."""

    stiffness: Scalar = parameter(4.0, unit="N/m", doc="spring")
    damping: Scalar = parameter(0.3, unit="N s/m", doc="damper")
    frequency: Scalar = parameter(1.5, unit="rad/s", doc="drive")

    variables: ClassVar = {}
    numerics: ClassVar = Numerics(stiff=False)

    def vector_field(self, t, y):
        return Swing(y.v, jnp.cos(self.frequency * t) - self.stiffness * y.x - self.damping * y.v)

    def initial_state(self):
        return Swing(jnp.zeros(()), jnp.zeros(()))

    def outputs(self, t, y):
        return {}

    @property
    def period(self):
        return 2 * jnp.pi / self.frequency

    @property
    def duration(self):
        return 10.0


@pytest.mark.slow
def test_stroboscopic_map_of_a_driven_oscillator():
    settings = Smooth(diffrax.Dopri8(scan_kind="lax"), 1e-10, 1e-12, 1e-2, None, 4096)
    strobe, model = StroboscopicMap(settings), Driven()
    solve = jax.jit(lambda k: fixed_point(strobe, Driven(stiffness=k), jnp.zeros(2)))
    response = 1.0 / (model.stiffness - model.frequency**2 + 1j * model.damping * model.frequency)
    np.testing.assert_allclose(solve(4.0).z, [response.real, (1j * model.frequency * response).real], atol=1e-8)
    eigen = np.roots([1.0, model.damping, model.stiffness])
    expected = np.exp(eigen * 2 * np.pi / model.frequency)
    np.testing.assert_allclose(
        np.sort_complex(np.linalg.eigvals(solve(4.0).jacobian)), np.sort_complex(expected), atol=1e-8
    )
    slope = jax.jvp(lambda k: solve(k).z[0], (4.0,), (1.0,))[1]
    assert float(slope) == pytest.approx((-(response**2)).real, abs=1e-7)
    curvature = jax.jacfwd(jax.jacfwd(lambda k: solve(k).z[0]))(4.0)
    assert float(curvature) == pytest.approx((2.0 * response**3).real, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("periods", "error"), [(1, 1e-8), (10, 2e-5), (20, 2e-3)])
def test_multipliers_of_an_equilibrium_are_right(periods, error):
    """Nothing moves, so that the longest step alone resolves what a disturbance would do; errors as in docs/limits.md.

    The period of the map is that of so many undamped oscillations.
    """
    m, c, k = 2.0, 0.01, 8.0
    period = periods * 2 * np.pi * np.sqrt(m / k)

    class Repeated(Oscillator):
        @property
        def period(self):
            return period

    _, jacobian = linearised(StroboscopicMap(), Repeated(mass=m, damping=c, stiffness=k), jnp.zeros(2))
    found, eigen = np.linalg.eigvals(jacobian), np.roots([m, c, k])
    np.testing.assert_allclose(np.sort_complex(found), np.sort_complex(np.exp(eigen * period)), atol=error)


class Table(Model):
    """A ball bounces on a table that moves up and down as A sin(w t + 2)."""

    e: Scalar = parameter(0.8, unit="1", doc="restitution")
    amplitude: Scalar = parameter(0.01, unit="m", doc="amplitude of the table")
    frequency: Scalar = parameter(30.0, unit="rad/s", doc="frequency of the table")

    variables: ClassVar = {}

    @property
    def period(self):
        return 2 * jnp.pi / self.frequency

    @property
    def duration(self):
        return self.period

    def table(self, t):
        angle = self.frequency * t + 2.0
        return self.amplitude * jnp.sin(angle), self.amplitude * self.frequency * jnp.cos(angle)

    def initial_state(self):
        return Swing(0.0325, 0.72)

    def vector_field(self, t, y):
        return Swing(y.v, -G)

    def phases(self):
        return [self.vector_field]

    def transitions(self):
        def bounce(t, y):
            height, speed = self.table(t)
            return Swing(height, speed - self.e * (y.v - speed))

        return {"bounce": Transition(0, 0, lambda t, y: y.x - self.table(t)[0], bounce)}


def _one_bounce_per_period(e, amplitude, frequency):
    """The state at t = 0, and the Jacobian of the map from (time, velocity after) one impact to the next."""
    period = 2 * np.pi / frequency
    up = G * period / 2  # the velocity just after the impact, and just before it the other way round
    speed = (1 - e) / (1 + e) * up
    angle = np.arccos(speed / (amplitude * frequency))
    since = period - (angle - 2.0) % (2 * np.pi) / frequency
    z = amplitude * np.sin(angle) + up * since - G * since**2 / 2, up - G * since
    later, pull = period / (speed + up), -(1 + e) * amplitude * frequency**2 * np.sin(angle)
    return np.array(z), np.array([[1.0, later], [pull, pull * later - e * (1.0 - G * later)]])


@pytest.mark.slow
def test_a_strobe_goes_through_impacts():
    """The ball was in free fall, through the table: its vector field, which its phase calls, was integrated alone."""
    values, strobe = (0.8, 0.01, 30.0), StroboscopicMap()
    solve = jax.jit(lambda *p: fixed_point(strobe, Table(*p), jnp.array([0.0325, 0.72])))
    with precision.use("float64"):
        gait = solve(*values)
        z, jacobian = _one_bounce_per_period(*values)
        np.testing.assert_allclose(gait.z, z, atol=1e-9)
        multipliers = np.sort_complex(np.linalg.eigvals(gait.jacobian))
        np.testing.assert_allclose(multipliers, np.sort_complex(np.linalg.eigvals(jacobian)), atol=1e-8)
        np.testing.assert_allclose(abs(multipliers) ** 2, 0.8**2, atol=1e-8)  # their product is that of two impacts
        for i, slope in enumerate(jax.jacfwd(lambda *p: solve(*p).z, range(3))(*values)):  # also of the period itself
            nudge = np.where(np.arange(3) == i, 1e-6 * values[i], 0.0)
            ahead, behind = (_one_bounce_per_period(*(values + sign * nudge))[0] for sign in (1, -1))
            np.testing.assert_allclose(slope, (ahead - behind) / (2 * nudge[i]), rtol=1e-6)


@pytest.mark.slow
def test_a_strobe_ends_where_a_run_ends():
    end = simulate(Table(), strides=2, samples=1).isel(time=-1)
    with precision.use("float64"):
        z = jnp.array(Table().initial_state())
        for scheme in (None, EventDriven.of(Table())):
            np.testing.assert_allclose(StroboscopicMap(scheme, periods=2)(Table(), z), [end.x, end.v], atol=1e-12)
        assert float(StroboscopicMap("Smooth")(Table(), z)[0]) < -0.01  # without impacts, if so chosen


class Landing(Table):
    """It stays where it lands: a phase of rest."""

    def phases(self):
        return [lambda t, y: Swing(y.v, -G), lambda t, y: Swing(0.0 * y.v, 0.0)]

    def transitions(self):
        return {"bounce": super().transitions()["bounce"]._replace(target=1)}


@pytest.mark.slow
def test_a_motion_in_another_phase_has_not_returned():
    with precision.use("float64"):
        with pytest.warns(NoOrbit):
            found = fixed_point(StroboscopicMap(), Landing(), jnp.array([0.0325, 0.72]))
        assert int(found.status) == Outcome.NO_RETURN
        np.testing.assert_allclose(StroboscopicMap(phase=1)(Landing(), jnp.array([0.5, 0.0])), [0.5, 0.0])
    with pytest.raises(ValueError, match="phase must be one of the model's 2, 0 to 1, got 2"):
        StroboscopicMap(phase=2)(Landing(), jnp.zeros(2))


class Rigid(RigidWalker):
    period = 1.0


def test_schemes_without_exact_derivatives_have_no_strobe():
    what = "needs the exact derivatives of Smooth or EventDriven: Rigid is integrated by TimeStepping"
    with pytest.raises(ValueError, match=what):
        StroboscopicMap()(Rigid(), jnp.zeros(6))
    named = PoincareMap()
    object.__setattr__(named, "scheme", "EventDriven")  # past the checks of types in tests
    with pytest.raises(TypeError, match=r"scheme must be an EventDriven, such as .*, got 'EventDriven'"):
        named.__post_init__()


def test_a_motion_does_not_return_beyond_terminations_that_are_no_transitions():
    low = lambda self: {"low": lambda t, y: y.x < 0.0}
    with pytest.raises(ValueError, match=r"not at its terminations \['low'\]: make them transitions"):
        hybrid(type("Low", (Table,), {"terminations": low})(), events=1, t_end=1.0)


def test_a_model_without_a_period_has_no_strobe():
    with pytest.raises(ValueError, match="Bungee is not driven with a period: use PoincareMap"):
        StroboscopicMap()(Bungee(), jnp.zeros(2))
    with pytest.raises(ValueError, match="Driven moves smoothly, without phases: leave out phase=1"):
        StroboscopicMap(phase=1)(Driven(), jnp.zeros(2))


@pytest.mark.parametrize("periods", [1.5, 0, -1])
def test_a_strobe_takes_whole_periods(periods):
    strobe = StroboscopicMap()
    object.__setattr__(strobe, "periods", periods)  # past the checks of types in tests
    with pytest.raises(ValueError, match=f"periods must be a whole number, at least 1, got {periods}"):
        strobe.__post_init__()


def test_linearised_gives_value_and_jacobian():
    value, jacobian = linearised(henon, {"a": 1.4, "b": 0.3}, jnp.array([0.1, 0.2]))
    np.testing.assert_allclose(value, [1.186, 0.03], atol=1e-15)
    np.testing.assert_allclose(jacobian, [[-0.28, 1.0], [0.3, 0.0]], atol=1e-15)


def test_failed_searches_are_nan():
    """No fixed point (the Henon map with a < -(1 - b)^2 / 4), with a residual that looks like one and is none."""
    with pytest.warns(NoOrbit):
        point = fixed_point(henon, {"a": -0.3, "b": 0.3}, jnp.array([0.5, 0.2]))
    assert int(point.status) == Outcome.NOT_CONVERGED and np.isfinite(point.residual)
    assert np.isnan(point.z).all() and np.isnan(point.jacobian).all()
    slope = jax.jacfwd(lambda a: fixed_point(henon, {"a": a, "b": 0.3}, jnp.array([0.5, 0.2])).z)(-0.3)
    assert np.isnan(slope).all()  # not zero


@pytest.mark.parametrize(
    ("z0", "options", "message"),
    [
        ([0.5, np.nan], {}, "z0 must be finite"),
        ([0.5, 0.2, 0.1], {}, "a point on the section has 2 numbers, got 3 in z0"),
        ([0.5, 0.2], {"order": 0}, "order must be a whole number, at least 1, got 0"),
        ([0.5, 0.2], {"max_iterations": -1}, "max_iterations must be a whole number"),
        ([0.5, 0.2], {"tolerance": 0.0}, "tolerance must be one number"),
    ],
    ids=str,
)
def test_impossible_searches_raise(z0, options, message):
    with pytest.raises(ValueError, match=message):
        fixed_point(henon, {"a": 0.2, "b": 0.3}, jnp.array(z0), **options)


class HopState(NamedTuple):
    x: Scalar
    v: Scalar


class Hopper(eqx.Module):
    """A mass hops on a spring of length 1 m without loss; lifting off, it keeps a part of its speed and is given some.

    Speed at lift-off from one hop to the next: v -> keep v + give.
    """

    keep: Scalar = parameter(0.8, unit="1", doc="part of the speed that is left at lift-off")
    give: Scalar = parameter(0.5, unit="m/s", doc="speed added at lift-off")
    stiffness: Scalar = parameter(400.0, unit="N/(m kg)", doc="spring per mass")
    duration = 1.0

    def initial_state(self):
        return HopState(jnp.asarray(1.3), jnp.zeros(()))

    def phases(self):
        flight = lambda t, y: HopState(y.v, jnp.asarray(-G))
        stance = lambda t, y: HopState(y.v, self.stiffness * (1.0 - y.x) - G)
        return [flight, stance]

    def transitions(self):
        kick = lambda t, y: HopState(y.x, self.keep * y.v + self.give)
        return {
            "touch-down": Transition(0, 1, lambda t, y: y.x - 1.0),
            "lift-off": Transition(1, 0, lambda t, y: 1.0 - y.x, kick),
            "apex": Transition(0, 0, lambda t, y: y.v),
            "lost": Transition(0, 0, lambda t, y: 100.0 - y.x, ends=True),
        }


G = 9.81
AT_APEX = Coordinates(lambda model, z: HopState(z[0], jnp.zeros(())), lambda model, y: y.x[None])
AT_GROUND = Coordinates(lambda model, z: HopState(jnp.ones(()), -z[0]), lambda model, y: -y.v[None])
STEPS = EventDriven(diffrax.Dopri8(scan_kind="lax"), dt=0.01)


@pytest.mark.parametrize(
    ("section", "coordinates", "guess", "answer"),
    [("apex", AT_APEX, 1.2, 1.0 + 2.5**2 / (2 * G)), ("touch-down", AT_GROUND, 2.0, 2.5)],
)
def test_a_hopper_returns_to_the_section_that_is_named(section, coordinates, guess, answer):
    """Three events make one hop: from apex to apex, or from touch-down to touch-down, each in its own phase."""
    hop = PoincareMap(STEPS, section=section, coordinates=coordinates)
    found = jax.jit(lambda keep: fixed_point(hop, Hopper(keep=keep), jnp.array([guess])))(0.8)
    np.testing.assert_allclose(found.z, [answer], atol=1e-9)
    np.testing.assert_allclose(found.jacobian, [[0.8]], atol=1e-8)


@pytest.mark.slow
def test_a_fixed_point_through_events_has_no_second_derivative():
    hop = PoincareMap(STEPS, section="touch-down", coordinates=AT_GROUND)
    speed = lambda keep: fixed_point(hop, Hopper(keep=keep), jnp.array([2.0])).z[0]
    with pytest.raises(RuntimeError, match="first derivatives only"):
        jax.jit(jax.jacfwd(jax.jacfwd(speed)))(0.8)


@pytest.mark.slow
def test_two_returns_are_one_after_the_other():
    two = PoincareMap(STEPS, section="touch-down", coordinates=AT_GROUND, events=2)
    value, twice = jax.jit(lambda z: linearised(two, Hopper(), z))(jnp.array([2.5]))
    np.testing.assert_allclose(value, [2.5], atol=1e-9)
    np.testing.assert_allclose(twice, [[0.64]], atol=1e-8)


@pytest.mark.slow
def test_unknown_sections_raise_and_missed_returns_are_nan():
    """Two events are too few for a return to the apex; sections and phases that are not there are named."""
    z = jnp.array([1.3])
    lost = PoincareMap(STEPS, section="apex", coordinates=AT_APEX, max_events=2)
    assert all(np.isnan(x).all() for x in jax.jit(lambda z: linearised(lost, Hopper(), z))(z))
    with pytest.raises(ValueError, match=r"counted must be 'touch-down' or .*, got 'jump'"):
        hybrid(Hopper(), events=1, t_end=1.0, counted=["jump"])
    with pytest.raises(ValueError, match=r"section must be .* \['touch-down', 'lift-off', 'apex'\]: got 'lost'"):
        PoincareMap(section="lost", coordinates=AT_APEX)(Hopper(), z)
    with pytest.raises(ValueError, match=r"lead to phases \[0, 1\]: choose one by section= or phase="):
        PoincareMap(coordinates=AT_APEX)(Hopper(), z)
    with pytest.raises(TypeError, match=r"Hopper has no methods on_section and section"):
        PoincareMap(section="apex")(Hopper(), z)


class TickingState(NamedTuple):
    x: Scalar
    v: Scalar
    due: Scalar


class Ticking(Hopper):
    """With a clock, whose ticks change nothing, but are events."""

    def initial_state(self):
        return TickingState(*Hopper.initial_state(self), jnp.asarray(0.01))

    def phases(self):
        return [lambda t, y, f=f: TickingState(*f(t, HopState(y.x, y.v)), jnp.zeros(())) for f in super().phases()]

    def transitions(self):
        still = super().transitions()
        kick = still["lift-off"].reset
        still["lift-off"] = still["lift-off"]._replace(reset=lambda t, y: TickingState(*kick(t, y), y.due))
        tick = Transition((0, 1), None, lambda t, y: y.due - t, lambda t, y: y._replace(due=y.due + 0.01))
        return {"tick": tick, **still}


@pytest.mark.slow
def test_a_return_may_take_any_number_of_other_events():
    """Some hundred ticks happen from apex to apex; and only what is counted is recorded."""
    at_apex = Coordinates(
        lambda model, z: TickingState(z[0], jnp.zeros(()), jnp.asarray(0.01)), lambda model, y: y.x[None]
    )
    z, time = jax.jit(PoincareMap(section="apex", coordinates=at_apex).timed)(Ticking(), jnp.array([1.3]))
    expected, alone = PoincareMap(STEPS, section="apex", coordinates=AT_APEX).timed(Hopper(), jnp.array([1.3]))
    np.testing.assert_allclose(z, expected, atol=1e-8)
    np.testing.assert_allclose(time, alone, atol=1e-8)
    found = hybrid(Ticking(), events=3, t_end=1.2, counted=["apex"])
    assert int(found.count) == int(np.isfinite(found.ts).sum()) and set(np.asarray(found.transitions)) <= {3, -1}


class Place(NamedTuple):
    q: Array
    u: Array


class Skipping(eqx.Module):
    """A ball that bounces on, with vectors as its state."""

    e: Scalar = 0.8
    duration = 1.0

    def initial_state(self):
        return Place(jnp.array([0.0, 1.0]), jnp.array([1.0, 0.0]))

    def phases(self):
        return (lambda t, y: Place(y.u, jnp.array([0.0, -G])),)

    def transitions(self):
        bounce = lambda t, y: Place(y.q * jnp.array([1.0, 0.0]), y.u * jnp.stack([1.0, -self.e]))
        return {"bounce": Transition(0, 0, lambda t, y: y.q[1], bounce)}


def test_a_state_may_contain_arrays():
    """Its arrays were summed up to numbers."""
    whole = Coordinates(lambda model, z: Place(jnp.zeros(2), z), lambda model, y: y.u)
    twice = PoincareMap(STEPS, coordinates=whole, events=2)
    found = jax.jit(lambda z: twice(Skipping(), z))(jnp.array([1.0, 4.0]))
    np.testing.assert_allclose(found, [1.0, 4.0 * 0.8**2], rtol=1e-9)
