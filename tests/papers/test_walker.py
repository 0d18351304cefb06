"""Published and derived figures of the round-foot walker (specification, sections 6 to 8)."""

import types
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.walker import smooth
from experiments.walker.expected import (
    DOUBLING,
    FIXED_POINT,
    FLIGHT,
    IMPULSE,
    IRREGULAR,
    LYAPUNOV,
    MULTIPLIERS,
    RIGID,
    SLIP,
    TABLE_2,
)
from experiments.walker.walks import connected_range
from jaxgait import ensemble, precision, simulate
from jaxgait.analysis.continuation import bifurcation_curve, continuation, period_doubled
from jaxgait.analysis.floquet import floquet, lyapunov_exponent
from jaxgait.ensembles import zipped
from jaxgait.models.walker.measures import PAPER_POINT, RIGID_MEASURES, passing_gait, rolling_gait
from jaxgait.models.walker.rigid import RigidWalker, RollingWalker
from jaxgait.models.walker.smooth import Walker
from jaxgait.native import native
from jaxgait.outcome import Outcome
from jaxgait.parameters import with_parameters
from jaxgait.report import Report
from jaxgait.solve.periodic import PoincareMap, fixed_point

GAIT_DIGITS = 1e-7  # asked for; the reference carries 8 digits
SENSITIVITIES = {  # d(T, L, V)/d parameter of the reference, by differences
    "slope": (0.16257, 5.28154, 12.68589),
    "foot_radius": (0.14380, 0.45476, 0.97416),
    "leg_length": (-0.17169, 0.23858, 0.73599),
    "gravity": (-0.0209966, 0.0, 0.0191091),
}


VALUES = np.array([0.01, 0.1, 0.4, 9.8])
"""The paper's values of the parameters of `SENSITIVITIES`."""
IMPLICIT = 1e-6  # implicit differentiation against differences of converged gaits, relative


def observables(values):
    """(T, L, V) of the paper's gait for these parameters, and the gait."""
    model = with_parameters(precision.cast(RollingWalker()), dict(zip(SENSITIVITIES, values, strict=True)))
    gait = rolling_gait(model)
    return jnp.stack([gait.period, gait.step_length, gait.velocity]), gait


@pytest.fixture(scope="module")
def solve():
    """A compiled function from the parameters to the gait."""
    program = jax.jit(native(observables))
    return lambda values: program(values)[1]


@pytest.fixture(scope="module")
def differences(solve):
    """A function from the name of a parameter to the differences of (T, L, V) between the gaits beside the paper's."""

    def of(name):
        nudge = np.eye(4)[list(SENSITIVITIES).index(name)] * 1e-4 * VALUES
        above, below = (np.array(solve(VALUES + s * nudge)[1:4]) for s in (1, -1))
        return (above - below) / (2 * nudge.sum())

    return of


@pytest.fixture(scope="module")
def gait(solve):
    return solve(VALUES)


@pytest.fixture(scope="module")
def gradients():
    """The derivatives of (T, L, V) by the implicit function theorem, which take a minute to trace."""
    found, _ = jax.jit(native(jax.jacfwd(observables, has_aux=True)))(VALUES)
    return dict(zip(SENSITIVITIES, np.asarray(found).T, strict=True))


def test_gait(gait):
    np.testing.assert_allclose(gait.point.z, [row.value for row in FIXED_POINT], atol=GAIT_DIGITS)
    measured = [gait.period, gait.step_length, gait.velocity, gait.normal_impulse, gait.tangent_impulse]
    expected = [RIGID["period"], 0.15413457, RIGID["velocity"], 0.33523855, -0.05475237]
    np.testing.assert_allclose(measured, expected, atol=GAIT_DIGITS)
    assert float(gait.lift_off) == pytest.approx(0.14736, abs=1e-5)


def test_multipliers(gait):
    values = floquet(gait.point.jacobian).multipliers
    largest, real, imaginary = (row.value for row in MULTIPLIERS.values())
    expected = [largest, complex(real, imaginary), complex(real, -imaginary)]
    tolerance = MULTIPLIERS["multiplier_real"].tolerance
    np.testing.assert_allclose(sorted(values, key=lambda m: (-abs(m), -m.imag)), expected, atol=tolerance)


def test_the_impact_takes_what_gravity_gives(gait):
    gravity = 2 * 1.0 * 9.8 * np.sin(0.01) * float(gait.step_length)
    assert float(gait.energy_lost) == pytest.approx(gravity, abs=1e-10)
    assert float(gait.energy_lost) == pytest.approx(0.0302098726, abs=1e-9)


def test_uphill_no_gait_is_found_and_the_residual_shows_it(solve):
    """Nothing drives a walker uphill: a status and how far off the last iterate is, no exception."""
    point = solve(VALUES - np.array([0.03, 0.0, 0.0, 0.0])).point
    assert int(point.status) in (Outcome.NOT_CONVERGED, Outcome.NO_RETURN) and float(point.residual) > 1e-3


@pytest.mark.parametrize("name", SENSITIVITIES)
def test_differences_of_the_gait(differences, name):
    np.testing.assert_allclose(differences(name), SENSITIVITIES[name], rtol=2e-5, atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", SENSITIVITIES)
def test_gradients_of_the_gait(gradients, name):
    np.testing.assert_allclose(gradients[name], SENSITIVITIES[name], rtol=2e-5, atol=2e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", SENSITIVITIES)
def test_implicit_differentiation_against_converged_gaits(gradients, differences, name):
    np.testing.assert_allclose(gradients[name], differences(name), rtol=IMPLICIT, atol=IMPLICIT)


@pytest.mark.slow
def test_period_doublings_and_chaos_on_steep_slopes():
    walker, section = precision.cast(RollingWalker()), PoincareMap()
    branch = continuation(section, walker, "slope", np.array(PAPER_POINT), (0.01, 0.12))
    (first,) = branch.bifurcations
    assert first.kind == "period doubling" and first.parameter == pytest.approx(DOUBLING.value, abs=1e-5)
    assert first.z[0] == pytest.approx(0.462873, abs=1e-5)
    doubled = period_doubled(section, walker, branch, first, 0.128)
    second = [p.parameter for p in doubled.bifurcations if p.kind == "period doubling"]
    assert len(second) == 1 and 0.126 < second[0] < 0.127
    curve = bifurcation_curve(section, walker, first, ("slope", "foot_radius"), (0.1, 0.11), step=0.5)
    (slope, radius), z = curve.parameters[-1], curve.z[-1]
    assert radius == pytest.approx(0.11) and slope > first.parameter
    longer = with_parameters(walker, {"slope": slope, "foot_radius": radius})
    point = jax.jit(lambda model, z: fixed_point(section, model, z))(longer, jnp.array(z))
    assert np.abs(floquet(point.jacobian).multipliers + 1.0).min() < 1e-6

    @jax.jit
    @jax.vmap
    def exponent(slope, start):
        steep = with_parameters(walker, {"slope": slope})
        return lyapunov_exponent(section, steep, start, strides=150, discard=100)

    gait, chaos = exponent(jnp.array([0.01, 0.1325]), jnp.array([PAPER_POINT, doubled.z[-1]]))
    assert float(gait) == pytest.approx(LYAPUNOV.value, abs=1e-5) and float(chaos) > 0.1


@pytest.mark.slow
def test_smooth_walker_against_the_rigid_gait():
    """Spec section 8, recommended set: period within 0.1 % (asked for), speed within 0.3 %."""
    run = simulate(Walker(), duration=10.0, samples=10_000)
    late = run.isel(time=slice(5000, None))
    period, velocity = passing_gait(late.time.values, late.x.values, (late.theta_1 - late.theta_2).values)
    assert period == pytest.approx(RIGID["period"], rel=1e-3)
    assert velocity == pytest.approx(RIGID["velocity"], rel=3e-3)


@pytest.mark.slow
def test_parameter_sets_restitution_and_friction_of_the_smooth_walker(tmp_path):
    """Spec section 8: every row of its table, the map from restitution to damping, the sweep of friction.

    At restitution 0.8 the walk is irregular: the specification's value must be a likely one of many walks.
    """
    report = Report("smooth walker")
    smooth.parameter_sets(report, tmp_path)
    wanted = [f for f in report.figures if f.met is not None]
    assert len(wanted) > 20 and all(f.met for f in wanted)
    mean, spread = (f.measured for f in report.figures if f.id.startswith("smooth_restitution_0.8"))
    assert 0.1 < spread < 1.0 and abs(mean - IRREGULAR[2]) < 2.0 * spread


@pytest.mark.slow
def test_the_film_shows_a_walk_and_a_fall_without_a_warning(tmp_path, monkeypatch):
    shown = {}
    film = types.SimpleNamespace(save=lambda path, dpi: path)
    monkeypatch.setattr(smooth.film, "animate", lambda runs, speed: shown.update(runs) or film)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        smooth.animation(Report("walker"), tmp_path)
    ends = {title.partition(": ")[2]: run.attrs["status_text"] for title, run in shown.items()}
    assert ends == {"it walks": "completed", "it slips and falls": "ended early: fell"}


NEARBY = {f"near 0.13: {i}": 0.13 * (1.0 + 1e-10 * i) for i in range(1, 8)}
"""Frictions whose walks differ by rounding from that at 0.13."""


@pytest.fixture(scope="module")
def sweep():
    """The paper's 50 s walks: restitution and friction sweeps, in one ensemble."""
    cases = {f"e={e}": (e, 0.5) for e in (0.0, 0.2, 0.3, 0.4, 0.6, 0.8)}
    cases |= {f"mu={mu}": (0.0, mu) for mu in (0.129, 0.13, 0.14, 0.15, 0.16, 0.162, 0.165, 0.2)}
    cases |= {name: (0.0, mu) for name, mu in NEARBY.items()}
    restitution, friction = zip(*cases.values(), strict=True)
    members = zipped({"normal_restitution": restitution, "friction": friction})
    walks = ensemble(RigidWalker(), members, observe=list(RIGID_MEASURES))
    return {name: {m: walks[m].values[i] for m in RIGID_MEASURES} for i, name in enumerate(cases)}


def strikes(run):
    """Times in s and normal impulses in N s of the heel strikes of a walk."""
    struck = run.isel(event=run.event_name.str.endswith("touches"))
    first = struck.event_name == "foot 1 touches"
    impulse = [struck[f"impulse_{foot}_after"] - struck[f"impulse_{foot}_before"] for foot in (1, 2)]
    return struck.event_time.values, np.where(first, *impulse)


@pytest.mark.slow
@pytest.mark.parametrize("e", TABLE_2)
def test_table_2(sweep, e):
    s = sweep[f"e={e}"]
    for value, (row, printed) in zip((s["step_length"], s["velocity"]), TABLE_2[e], strict=True):
        assert value == pytest.approx(printed, abs=row.tolerance)


@pytest.mark.slow
def test_impulse_and_first_strikes(sweep):
    s = sweep["e=0.0"]
    assert s["impulse"] == pytest.approx(IMPULSE.paper, rel=1e-3)
    t, impulse = strikes(simulate(RigidWalker(), duration=1.5))
    np.testing.assert_allclose(t, [0.3966, 0.8037, 1.2191], atol=2e-4)
    np.testing.assert_allclose(impulse, [0.361672, 0.363833, 0.363761], atol=1e-6)


@pytest.mark.slow
def test_friction_threshold_and_slip(sweep):
    assert np.isfinite(sweep["mu=0.129"]["fell_at"]) and not np.isfinite(sweep["mu=0.13"]["fell_at"])
    assert max(sweep["mu=0.165"]["slip"]) == 0.0 and max(sweep["mu=0.162"]["slip"]) > 0.0
    expected = {0.13: 0.3530, 0.14: 0.36546, 0.15: 0.3707, 0.16: 0.3733, 0.2: 0.37343}
    for mu, velocity in expected.items():
        # Steps at 0.13 are irregular: the mean over 25 s varies by 2.4e-4 (standard deviation) with rounding.
        walks = [name for name in sweep if name == f"mu={mu}" or (mu == 0.13 and name in NEARBY)]
        assert np.mean([sweep[name]["velocity"] for name in walks]) == pytest.approx(velocity, rel=5e-4)


@pytest.mark.slow
def test_one_foot_slips_at_low_friction(sweep):
    s = sweep["mu=0.13"]
    assert 1e3 * max(s["slip"]) == pytest.approx(SLIP["one_foot"].value, rel=0.05) and min(s["slip"]) < 5e-5
    # The specification prints 0.4256 and 0.4057 s. The short steps agree. The long ones vary from step to step, between
    # 0.422 and 0.427 s (the foot's slip ends within a step of dt or the next); 0.4256 is one of them, their mean over
    # 25 s is 0.4244. Velocity and slip, which are means, agree.
    short, long = sorted(s["alternate_periods"])
    assert short == pytest.approx(0.4057, abs=3e-4) and long == pytest.approx(0.4244, abs=3e-4)
    t, _ = strikes(simulate(RigidWalker(friction=0.13)))
    steps = np.diff(t[t > 25.0])
    assert np.abs(steps - 0.4256).min() < 2e-4 and steps[steps > 0.415].min() > 0.422 and steps.max() < 0.4275


@pytest.mark.slow
@pytest.mark.parametrize("name", ["e=0.0", "e=0.4", "mu=0.13", "mu=0.15"])
def test_losses_are_what_gravity_gives(sweep, name):
    """Per step: 2 m g sin(slope) L, to the drift of the method at this step. An odd part of a step would be 0.4 %."""
    s = sweep[name]
    given = 2 * 9.8 * np.sin(0.01) * s["step_length"]
    assert s["impact_loss"] + s["friction_loss"] == pytest.approx(given, rel=1e-3)


@pytest.mark.slow
def test_bouncing_gait_flies(sweep):
    s = sweep["e=0.3"]
    assert 1e3 * s["flight"] == pytest.approx(FLIGHT.value, abs=FLIGHT.tolerance)
    assert s["impulse"] == pytest.approx(0.4308, rel=2e-3)


@pytest.mark.slow
def test_first_order_in_the_step():
    """Spec: L = 0.154135 - 4.85 dt."""
    one = {"slope": [0.01]}
    lengths = [ensemble(RigidWalker(), one, observe=["step_length"], dt=dt).step_length[0] for dt in (2e-4, 1e-4)]
    lengths = [float(length) for length in lengths]
    assert (lengths[0] - lengths[1]) / 1e-4 == pytest.approx(-4.85, rel=0.2)
    assert 2 * lengths[1] - lengths[0] == pytest.approx(0.1541346, abs=3e-5)


def test_the_walking_range_is_the_one_that_is_connected_with_rough_ground():
    walks = {0.5: True, 0.1: False, 0.11: True, 0.12: False, 0.13: True, 0.2: True}
    assert connected_range(walks) == (0.13, [0.11])
    assert connected_range({0.2: True, 0.3: True}) == (0.2, [])
    assert np.isnan(connected_range({0.2: True, 0.3: False})[0])
