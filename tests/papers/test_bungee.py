"""The bungee exercise: every figure of the specification's table."""

import diffrax
import jax
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from experiments.bungee.expected import AT_TEN_SECONDS, CLEARANCE, CRITICAL, DIGITS, LOWEST, SAMPLED, SLOPES
from experiments.bungee.reproduce import slopes
from jaxgait import precision
from jaxgait.models.bungee.measures import clearance, critical_value, lowest_point
from jaxgait.models.bungee.model import Bungee, BungeeState
from jaxgait.parameters import ParameterError, with_parameters


@pytest.fixture(scope="module")
def path():
    """Dense path (x, v) over 40 s at the defaults, as a function of time."""
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(Bungee()),
        diffrax.Dopri8(),
        0.0,
        40.0,
        1e-2,
        Bungee().initial_state(),
        stepsize_controller=diffrax.PIDController(1e-11, 1e-11),
        saveat=diffrax.SaveAt(dense=True),
    )
    return jax.jit(lambda t: solution.evaluate(t))  # noqa: PLW0108 (a solution is not hashable)


@pytest.fixture(scope="module")
def margin():
    """Clearance in m over mass in kg and stiffness in N/m."""
    return jax.jit(lambda mass, k: clearance(with_parameters(Bungee(), {"mass": mass, "stiffness": k})))


def test_rope_becomes_taut(path):
    taut = brentq(lambda t: float(path(t).x), 1.0, 4.0, xtol=1e-12)
    assert taut == pytest.approx(2.6431560, abs=DIGITS)
    assert float(path(taut).v) == pytest.approx(19.8518234, abs=DIGITS)


def test_free_fall_follows_the_closed_form(path):
    b = Bungee()
    disc = np.sqrt(b.linear_drag**2 + 4 * b.quadratic_drag * b.mass * b.gravity)
    fast, slow = (-b.linear_drag + disc) / (2 * b.quadratic_drag), (-b.linear_drag - disc) / (2 * b.quadratic_drag)
    assert fast == pytest.approx(25.962237, abs=DIGITS)
    t = np.linspace(0.0, 2.6, 14)
    decay = fast / slow * np.exp(-b.quadratic_drag / b.mass * (fast - slow) * t)
    np.testing.assert_allclose(jax.vmap(path)(t).v, (fast - slow * decay) / (1 - decay), atol=1e-9)


def test_fastest_point(path):
    def acceleration(t):
        return float(Bungee().outputs(t, path(t))["acceleration"])

    t = brentq(acceleration, 3.0, 4.0)
    assert t == pytest.approx(3.2228, abs=1e-3)
    assert float(path(t).v) == pytest.approx(20.97799, abs=1e-4)
    assert float(path(t).x) == pytest.approx(11.9473, abs=1e-4)


def test_lowest_point_and_forces_there(path):
    t, x = lowest_point(Bungee())
    assert float(t) == pytest.approx(LOWEST["time"].value, abs=DIGITS)
    assert float(x) == pytest.approx(LOWEST["position"].value, abs=DIGITS)
    assert float(clearance(Bungee())) == pytest.approx(CLEARANCE["clearance"].value, abs=DIGITS)
    bottom = Bungee().outputs(t, BungeeState(x, 0.0 * x))
    assert float(bottom["rope_force"]) == pytest.approx(1209.1825, abs=1e-3)
    assert float(bottom["acceleration"]) == pytest.approx(-7.27404, abs=1e-4)


def test_turning_points_and_taut_for_ever(path):
    expected = [(13.061440, 18.552243), (18.988606, 47.039839), (24.896219, 25.583601), (30.794103, 42.675019)]
    for t, x in expected:
        found = brentq(lambda s: float(path(s).v), t - 1.0, t + 1.0, xtol=1e-12)
        assert found == pytest.approx(t, abs=SAMPLED)
        assert float(path(found).x) == pytest.approx(x, abs=SAMPLED)
    later = jax.vmap(path)(np.linspace(2.7, 40.0, 400)).x
    assert later.min() > 0.0


def test_state_after_ten_seconds(path):
    np.testing.assert_allclose(np.array(path(10.0)), [row.value for row in AT_TEN_SECONDS.values()], atol=SAMPLED)


def test_energy_lost_is_the_integral_of_the_drag_power(path):
    t = np.linspace(0.0, 20.0, 40001)
    states = jax.vmap(path)(t)
    out = jax.vmap(Bungee().outputs)(t, states)
    lost = np.trapezoid(out["drag_power"], t)
    assert lost == pytest.approx(31813.3537, abs=1e-2)
    assert -float(out["energy"][-1]) == pytest.approx(31813.3537, abs=1e-2)


@pytest.mark.parametrize(
    ("mass", "stiffness", "expected"),
    [
        (40.0, 20.0, CLEARANCE["clearance-40kg"].value),
        (50.0, 20.0, 6.279978),
        (60.0, 20.0, -2.127767),
        (80.0, 20.0, -18.731350),
        (70.0, 22.0, -6.566581),
        (70.0, 24.0, -3.259208),
        (70.0, 25.0, -1.783385),
        (70.0, 30.0, 4.267157),
        (70.0, 20.0, CLEARANCE["clearance"].value),
        (70.0, 27.0, CLEARANCE["clearance-27"].value),
        (70.0, CRITICAL["stiffness"].value, 0.0),
    ],
)
def test_clearance_of_other_jumpers_and_ropes(margin, mass, stiffness, expected):
    assert float(margin(mass, stiffness)) == pytest.approx(expected, abs=SAMPLED)


@pytest.mark.parametrize("name", CRITICAL)
def test_critical_stiffness_and_mass(name):
    assert float(critical_value(Bungee(), name)) == pytest.approx(CRITICAL[name].value, abs=DIGITS)


def test_ordinary_gravity():
    here = Bungee(gravity=9.81)
    assert float(clearance(here)) == pytest.approx(CLEARANCE["clearance-g"].value, abs=SAMPLED)
    assert float(critical_value(here, "stiffness")) == pytest.approx(25.806039, abs=SAMPLED)
    assert float(critical_value(here, "mass")) == pytest.approx(58.264401, abs=SAMPLED)


def test_sensitivities():
    np.testing.assert_allclose(slopes(), [row.slope.value for row in SLOPES.values()], rtol=1e-6)


def test_without_drag_energy_gives_the_lowest_point():
    b = Bungee(linear_drag=0.0, quadratic_drag=0.0)
    sag = b.mass * b.gravity / b.stiffness
    expected = sag * (1 + np.sqrt(1 + 2 * b.rope_length / sag))
    assert b.ground - expected == pytest.approx(CLEARANCE["no-drag"].value, abs=DIGITS)
    assert float(lowest_point(b).x) == pytest.approx(expected, abs=DIGITS)


def test_no_rope_length_saves_the_soft_rope():
    assert float(clearance(Bungee(rope_length=1e-9))) == pytest.approx(-5.05, abs=5e-3)


def test_light_drag_lets_the_rope_go_slack_again_as_in_scipy():
    b = Bungee(linear_drag=0.1, quadratic_drag=0.01)

    def field(t, y):
        drag = b.linear_drag * y[1] + b.quadratic_drag * abs(y[1]) * y[1]
        return [y[1], b.gravity - (b.stiffness * max(y[0], 0.0) + drag) / b.mass]

    peer = solve_ivp(field, (0.0, 20.0), [-b.rope_length, 0.0], method="DOP853", rtol=1e-12, atol=1e-12, max_step=0.05)
    assert peer.y[0].min() < -20.0 and peer.y[0, -1] != 0.0
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(b),
        diffrax.Dopri8(),
        0.0,
        20.0,
        1e-2,
        b.initial_state(),
        stepsize_controller=diffrax.PIDController(1e-11, 1e-11),
    )
    np.testing.assert_allclose([solution.ys.x[-1], solution.ys.v[-1]], peer.y[:, -1], atol=1e-6)


@pytest.mark.slow
def test_single_precision_agrees_to_its_digits():
    with precision.use("float32"):
        low = clearance(with_parameters(Bungee(), {}))
    assert abs(float(low) + 10.459) < 1e-2


@pytest.mark.parametrize("name", ["rope_length", "stiffness", "mass", "ground"])
def test_impossible_parameters_raise(name):
    with pytest.raises(ParameterError, match=rf"Bungee\.{name}.*positive"):
        with_parameters(Bungee(), {name: 0.0}).validate()
