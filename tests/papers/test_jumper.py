"""The jumper's published and specified figures, both joint profiles, in the plane."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.jumper.expected import END, HISTORIES, JUMP, LIFT_OFFS
from experiments.jumper.table import PROFILES, histories
from jaxgait import precision, simulate
from jaxgait.mechanics.anthropometry import segments
from jaxgait.mechanics.friction import Stribeck
from jaxgait.models.jumper.human import Jumper
from jaxgait.models.jumper.measures import assess, lift_off_times, slid
from jaxgait.models.jumper.sole import Sole
from jaxgait.parameters import ParameterError, with_parameters

MASS = 70.0
WEIGHT = MASS * 9.81
BALANCE = 1e-5  # N s and J: integrals over 3000 steps of the solver at rtol 1e-10


@pytest.fixture(scope="module")
def runs():
    """Both profiles, sampled every 0.1 ms."""
    settings = {"samples": 6000, "solver": diffrax.Dopri8(), "rtol": 1e-10, "atol": 1e-11}
    return {name: simulate(model, **settings) for name, model in PROFILES.items()}


@pytest.fixture(params=list(PROFILES))
def profile(request):
    return request.param


def meets(value, row, name):
    assert float(value) == pytest.approx(row.value, abs=row.tolerance), name


def test_segments_match_the_scaled_table():
    expected = {
        "head": (0.237180, 4.8580, 0.118637, 0.025090, 0.027117, 0.018616),
        "upper_trunk": (0.446824, 22.6030, 0.226657, 0.529246, 0.390612, 0.245857),
        "lower_trunk": (0.142269, 7.8190, 0.086997, 0.059858, 0.048048, 0.054531),
        "upper_arm": (0.275066, 1.8970, 0.158768, 0.011658, 0.010386, 0.003583),
        "forearm": (0.262567, 1.1340, 0.120098, 0.005955, 0.005490, 0.001145),
        "hand": (0.084170, 0.4270, 0.066494, 0.001193, 0.000796, 0.000486),
        "thigh": (0.412257, 9.9120, 0.168819, 0.182343, 0.182343, 0.037400),
        "shank": (0.423779, 3.0310, 0.188963, 0.035395, 0.033749, 0.005775),
        "foot": (0.252022, 0.9590, 0.111268, 0.004023, 0.003656, 0.000937),
    }
    found = segments(70.0, 1.70)
    assert set(found) == set(expected)
    for name, row in expected.items():
        np.testing.assert_allclose(found[name], row, atol=6e-7, err_msg=name)
    sides = [2 if n in ("upper_arm", "forearm", "hand", "thigh", "shank", "foot") else 1 for n in found]
    assert sum(k * s.mass for k, s in zip(sides, found.values(), strict=True)) == pytest.approx(70.0, abs=1e-12)


def test_crouch():
    model = Jumper()

    @jax.jit
    def crouched():
        y = model.initial_state()
        return model.crouch_ankle(), y, model.outputs(0.0, y)

    ankle, y, out = crouched()
    assert np.degrees(ankle) == pytest.approx(38.437853, abs=1e-6)
    assert float(y.z) == pytest.approx(0.06769394, abs=1e-8)
    assert float(y.pitch) == pytest.approx(0.00477974, abs=1e-8)
    np.testing.assert_allclose([out["com_x"], out["com_z"]], [0.113200, 0.736951], atol=1e-6)
    np.testing.assert_allclose(out["moment"][:3], [-76.83, -93.15, -76.95], atol=5e-3)


def test_figures_of_the_jump(runs, profile):
    run = runs[profile]
    jump = assess(run, MASS)
    for name, rows in JUMP.items():
        meets(getattr(jump, name), rows[profile], name)


def test_rows_lift_off_from_heel_to_toe(runs, profile):
    run = runs[profile]
    times = lift_off_times(run.time.values, run.depth.values)
    for value, row in zip(times, LIFT_OFFS[profile], strict=True):
        meets(value, row, "lift-off")


def test_forces_moments_power_and_work(runs, profile):
    run = runs[profile]
    found = histories(run, END[profile])
    for name, rows in HISTORIES.items():
        meets(found[name], rows[profile], name)
    if profile == "sequenced":
        np.testing.assert_allclose(np.abs(run.moment).max("time")[:3], [296.0, 434.0, 337.0], atol=0.5)
    assert float(np.abs(run.base_residual).max()) < 1e-9  # N m: the base rows of inverse dynamics vanish


def test_ground_reaction_curve(runs):
    run = runs["sequenced"]
    t = [0.12, 0.15, 0.18, 0.20, 0.22, 0.24, 0.26, 0.28, 0.30, 0.31, 0.32]
    curve = [1.28957, 1.69997, 1.85217, 2.19467, 2.66295, 2.96608, 2.92398, 2.39218, 1.37524, 0.75496, 0.18766]
    np.testing.assert_allclose(np.interp(t, run.time, run.grf_z) / WEIGHT, curve, atol=0.005)
    assert run.time.values[int(run.grf_z.values.argmax())] == pytest.approx(0.2484, abs=1e-3)


def test_quiet_standing_does_not_drift(runs, profile):
    quiet = runs[profile].sel(time=slice(0.0, 0.1))
    assert float(np.abs(quiet.grf_z - WEIGHT).max()) < 1e-6 * WEIGHT
    for name in ("x", "z", "com_x", "com_z"):
        assert float(np.ptp(quiet[name].values)) < 1e-9, name


def test_flight_is_a_parabola_with_constant_angular_momentum(runs, profile):
    air = runs[profile].sel(time=slice(0.34, 0.6))
    t = air.time.values - air.time.values[0]
    first = air.isel(time=0)
    path = float(first.com_z) + float(first.com_vz) * t - 0.5 * 9.81 * t**2
    np.testing.assert_allclose(air.com_z, path, atol=1e-9)
    np.testing.assert_allclose(air.com_x, float(first.com_x) + float(first.com_vx) * t, atol=1e-9)
    assert float(np.ptp(air.angular_momentum.values)) < 1e-6


@pytest.mark.slow
def test_impulses_and_works_balance():
    """Impulse = change of momentum, energy gain = joint work + contact work: integrated along with the state."""
    with precision.use("float64"):
        model = precision.cast(Jumper())

        def field(t, y, args):
            state, _ = y
            out = model.outputs(t, state)
            flows = [out["grf_x"], out["grf_z"] - WEIGHT, out["joint_power"] + out["contact_power"]]
            return model.vector_field(t, state), jnp.stack(flows)

        solution = jax.jit(
            lambda y0: (
                diffrax.diffeqsolve(
                    diffrax.ODETerm(field),
                    diffrax.Dopri8(),
                    0.0,
                    0.4,
                    1e-4,
                    (y0, jnp.zeros(3)),
                    stepsize_controller=diffrax.PIDController(1e-10, 1e-11, dtmax=5e-3),
                ).ys
            )
        )(model.initial_state())
        before = model.outputs(0.0, model.initial_state())
        after = model.outputs(0.4, jax.tree.map(lambda leaf: leaf[-1], solution[0]))
    flows = np.array(solution[1][-1])
    change = [70.0 * float(after[k] - before[k]) for k in ("com_vx", "com_vz")]
    np.testing.assert_allclose(flows, [*change, float(after["energy"] - before["energy"])], atol=BALANCE)


@pytest.mark.slow
def test_memoryless_friction_agrees_in_height():
    model = Jumper(sole=Sole(friction=Stribeck(0.9, 0.7, 0.006, 0.006, "algebraic")))
    run = simulate(model, samples=1200, solver=diffrax.Dopri8())
    jump = assess(run, MASS)
    assert float(jump.take_off) == pytest.approx(0.32607, abs=2e-4)
    assert float(jump.vz) == pytest.approx(2.0542, abs=1e-3)
    assert float(jump.peak_force) == pytest.approx(3.0012, abs=5e-3)


@pytest.mark.slow
def test_incremental_friction_by_time_steps_agrees_in_height(runs):
    """The paper's law over the full jump: same height and peak within 2 %; its spring vibrates and slips more."""
    steps = simulate(Jumper(), scheme="Marching", dt=2e-5, samples=600)
    assert steps.attrs["steps"] == 30_000
    jump = assess(steps, MASS)
    for name in ("height", "peak_force"):
        assert float(getattr(jump, name)) == pytest.approx(JUMP[name]["sequenced"].value, rel=0.02)
    np.testing.assert_allclose(steps.x[:100], 0.0, atol=1e-12)  # nothing creeps while standing
    smooth = runs["sequenced"]
    ways = np.asarray(slid(smooth))
    assert np.isfinite(ways).all() and ways[-1] == ways.max() > 1e-3
    assert float(steps.slid[-1, -1]) > ways[-1]
    # the horizontal momentum is what friction gave
    given = 4.0 * float(steps.friction_impulse[-1].sum())
    assert 70.0 * float(steps.com_vx[-1]) == pytest.approx(given, abs=0.05)  # N s, of 10: steps of first order


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"knee.angle": -3.0}, r"knee swings to .* beyond its limits"),
        ({"com_ahead": 0.13}, r"would hover 0.618 mm above"),
        ({"com_ahead": 0.16}, "cannot balance the weight"),
        ({"com_ahead": 2.0}, "no crouch"),
        ({"sole.poisson": 0.6}, "at most 0.5"),
        ({"sole.static_friction": 0.1}, "must not be below"),
        ({"mass": -1.0}, "positive"),
        pytest.param({"com_ahead": np.array([0.11, 0.13])}, r"would hover", marks=pytest.mark.slow),
        pytest.param(
            {"com_ahead": np.array([0.05, -0.3, 0.06])},
            r"com_ahead = -0\.3 m: .* cannot balance",
            marks=pytest.mark.slow,
        ),
        ({"com_ahead": np.array([0.05, -0.8, 0.06])}, r"no crouch has its centre of mass com_ahead = -0\.8 m"),
    ],
)
def test_impossible_jumpers_raise(change, match):
    with pytest.raises(ParameterError, match=match):
        with_parameters(Jumper(), change).validate()
