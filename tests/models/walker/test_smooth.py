"""The walker's equations, against an independent derivation, energy balances and the invariances of mechanics."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import Measure, ensemble, precision, simulate, sobol
from jaxgait.ensembles import zipped
from jaxgait.models.walker.rigid import RigidWalker, RollingState, RollingWalker, friction_limit
from jaxgait.models.walker.round_feet import Generalised, RoundFeet, WalkerStart, WalkerState
from jaxgait.models.walker.smooth import Walker
from jaxgait.outcome import FIRST_TERMINATION, IncompleteRun, Outcome
from jaxgait.parameters import ParameterError, get_parameter, with_parameters
from jaxgait.parts import with_parts

ROUNDING = 1e-12  # two derivations of the same formula
STATE = WalkerState(0.1, 0.395, 0.17, -0.23, 0.6, -0.04, -1.4, -0.9)


def legs_of(model, q):
    """Positions of hip, both COMs and both foot centres, from the geometry alone."""
    x, y, *angles = q
    axes = [jnp.array([jnp.sin(a), -jnp.cos(a)]) for a in angles]
    hip = jnp.array([x, y])
    return hip, [hip + model.com_offset * a for a in axes], [hip + model.shank * a for a in axes]


def lagrangian(model, q, u):
    """Kinetic minus potential energy of two rigid legs."""
    _, coms, _ = legs_of(model, q)
    down = jnp.array([jnp.sin(model.slope), -jnp.cos(model.slope)])
    total = 0.0
    for i, com in enumerate(coms):
        velocity = jax.jvp(lambda p, i=i: legs_of(model, p)[1][i], (q,), (u,))[1]
        total += 0.5 * model.mass * velocity @ velocity + 0.5 * model.inertia * u[2 + i] ** 2
        total += model.mass * model.gravity * down @ com
    return total


def test_mass_matrix_and_forces_follow_from_the_lagrangian():
    model = with_parameters(RoundFeet(), {"slope": 0.07, "com_offset": 0.13})
    load = np.array([0.3, -1.2, 0.05, 0.4])

    @jax.jit
    def both(q, u, load):
        momentum = jax.grad(lambda p, v: lagrangian(model, p, v), argnums=1)
        mass, momentum_rate = jax.jacfwd(momentum, argnums=1)(q, u), jax.jvp(lambda p: momentum(p, u), (q,), (u,))[1]
        force = jax.grad(lambda p: lagrangian(model, p, u))(q) - momentum_rate
        inertia, state = model.inertia_at(q[2], q[3]), WalkerState(*q, *u)
        ours = model.forces(inertia, state), inertia.times(Generalised(*load)), inertia.solve(Generalised(*load))
        return ours, mass, force

    (forces, product, solution), mass, force = both(jnp.array(STATE[:4]), jnp.array(STATE[4:]), load)
    np.testing.assert_allclose(forces, force, atol=ROUNDING)
    np.testing.assert_allclose(product, mass @ load, atol=ROUNDING)
    np.testing.assert_allclose(solution, np.linalg.solve(mass, load), atol=1e3 * ROUNDING)


def test_feet_follow_from_the_geometry():
    model, q, u = Walker(), jnp.array(STATE[:4]), jnp.array(STATE[4:])
    for i, foot in enumerate(model.feet(STATE)):
        height, rate = jax.jvp(lambda p, i=i: legs_of(model, p)[2][i][1] - model.foot_radius, (q,), (u,))
        centre_speed = jax.jvp(lambda p, i=i: legs_of(model, p)[2][i][0], (q,), (u,))[1]
        np.testing.assert_allclose([foot.gap, foot.gap_rate], [height, rate], atol=ROUNDING)
        np.testing.assert_allclose(foot.slip, centre_speed + model.foot_radius * u[2 + i], atol=ROUNDING)


def test_energy_changes_by_the_power_of_the_contacts_only():
    y = precision.cast(STATE._replace(y=0.3939, theta_2=-0.21))
    model = precision.cast(Walker())
    out, rates = jax.jit(lambda y: jax.jvp(lambda s: model.outputs(0.0, s), (y,), (model.vector_field(0.0, y),)))(y)
    assert out["normal_1"] > 1.0
    np.testing.assert_allclose(rates["energy"], out["impact_power"] + out["friction_power"], rtol=1e-9)


def test_scaling_mass_and_gravity():
    model = precision.cast(RollingWalker())
    y = precision.cast(RollingState(0.0, 0.15, -0.1, -1.3, 0.4))
    heavy = with_parameters(model, {"mass": 3.0 * model.mass, "inertia": 3.0 * model.inertia})
    for a, b in zip(heavy.roll(0.0, y), model.roll(0.0, y), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)
    np.testing.assert_allclose(
        heavy.heel_strike(y).normal_impulse, 3.0 * model.heel_strike(y).normal_impulse, rtol=1e-11
    )
    fast = with_parameters(model, {"gravity": 4.0 * model.gravity})
    doubled = y._replace(stance_rate=2.0 * y.stance_rate, swing_rate=2.0 * y.swing_rate)
    np.testing.assert_allclose(fast.roll(0.0, doubled).stance_rate, 4.0 * model.roll(0.0, y).stance_rate, rtol=1e-11)


def test_rolling_is_the_constrained_motion_of_the_full_walker():
    """With the contact force of the rolling foot, the full equations give the rolling accelerations."""
    model = precision.cast(RollingWalker())
    y = precision.cast(RollingState(0.0, 0.15, -0.1, -1.3, 0.4))
    normal, tangent = model.stance_force(y)
    full, inertia = model.standing(y), model.inertia_at(y.stance, y.swing)
    foot, _ = model.feet(full)
    np.testing.assert_allclose([foot.gap, foot.gap_rate, foot.slip], 0.0, atol=ROUNDING)
    h = model.forces(inertia, full)
    moment = foot.normal_arm * normal + foot.tangent_arm * tangent
    a = inertia.solve(Generalised(h.x + tangent, h.y + normal, h.theta_1 + moment, h.theta_2))
    rates = model.roll(0.0, y)
    np.testing.assert_allclose([a.theta_1, a.theta_2], [rates.stance_rate, rates.swing_rate], atol=1e-9)


def test_friction_limit_of_the_specification():
    limits = [friction_limit(precision.cast(RigidWalker()), theta) for theta in (0.1, 0.2, 0.3, 0.5)]
    np.testing.assert_allclose(limits, [0.73, 0.506, 0.493, 0.592], atol=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"foot_radius": np.array([0.4, 0.1]), "leg_length": np.array([0.4, 0.3])}, r"\(0\.4 m\) must .* \(0\.4 m\)"),
        ({"mass": -1.0}, "mass"),
        ({"stiffness": float("nan")}, "stiffness"),
    ],
)
def test_walkers_that_cannot_stand_raise(change, message):
    with pytest.raises(ParameterError, match=message):
        with_parameters(Walker(), change).validate()


@pytest.mark.parametrize(
    ("walker", "changes", "message"),
    [
        (
            Walker(),
            {"leg_length": np.array([0.38, 0.4, 0.42])},
            r"foot 1 19\.6 mm deep .*\(member 2\): start\.y=0\.413621",
        ),
        (Walker(), {"start.theta_1": 0.1}, r"foot 1 4\.5 mm deep in the ground: start\.y=0\.398501 puts it"),
        (RigidWalker(), {"start.y": 0.36}, r"RigidWalker starts with foot 1 34 mm deep .* with start\.on_ground=True"),
        (with_parts(RigidWalker(), {"start.on_ground": True}), {"start.theta_2": -0.1}, r"foot 2 .* instead of"),
    ],
)
def test_starts_in_the_ground_raise(walker, changes, message):
    with pytest.raises(ParameterError, match=message):
        with_parameters(walker, changes).validate()


def test_soft_ground_and_a_foot_that_swings_through_may_start_deeper():
    with_parameters(Walker(), {"stiffness": 1e4, "start.y": 0.39}).validate()  # a foot of 20 N, 4 mm deep
    with_parameters(RigidWalker(), {"start.theta_2": -0.1, "start.omega_2": 1.0}).validate()


@pytest.mark.slow
def test_long_legs_start_on_the_ground():
    tall = with_parts(Walker(), {"start.on_ground": True})
    gaps = [
        walker.feet(walker.initial_state())[0].gap for walker in (tall, with_parameters(tall, {"leg_length": 0.45}))
    ]
    np.testing.assert_allclose(gaps, 0.0, atol=ROUNDING)
    walks = ensemble(tall, {"leg_length": [0.45]}, duration=4.0, observe=["velocity", "fell_at"])
    assert float(walks.velocity[0]) > 0.4 and np.isnan(walks.fell_at[0])


@pytest.mark.slow
def test_a_rolling_walk_ends_where_its_ground_would_pull():
    fast = with_parameters(RollingWalker(), {"start.omega_1": -5.0})
    run = simulate(fast, duration=0.3, samples=300)
    assert run.attrs["status_text"].startswith("ended early: left the ground")
    assert run.normal.values[np.isfinite(run.normal)].min() > 0.0 and 0.17 < run.attrs["t_end_s"] < 0.18
    with pytest.raises(ParameterError, match=r"RollingWalker \(member 1\) needs a ground that pulls .* is -\d"):
        with_parameters(RollingWalker(), {"start.omega_1": np.array([-1.5, -8.0])}).validate()


@pytest.mark.slow
def test_a_walk_ends_where_the_old_stance_foot_would_sink_into_the_ground():
    """The swing leg comes down so fast that the hip pivots about it into the old foot."""
    start = WalkerStart(theta_1=-0.28, theta_2=0.34, omega_1=-0.107, omega_2=-3.6)
    with pytest.warns(IncompleteRun, match="double support .both feet stay on the ground after a heel strike"):
        run = simulate(RollingWalker(start=start), duration=0.05, samples=10)
    assert list(run.event_name.values) == ["heel strike", "double support"]
    before = {name: float(run[f"{name}_before"][0]) for name in RollingState._fields}
    strike = RollingWalker().heel_strike(RollingState(**before))
    assert strike.trailing_rate == pytest.approx(-0.082, abs=1e-3)
    assert np.isnan(RollingWalker().section(strike.after)).all(), "no gait goes on from there"


@pytest.mark.slow
def test_a_leg_that_tips_over_falls():
    """It loses the ground shortly before, beyond 45 degrees, and was reported to have left it."""
    walks = ensemble(RollingWalker(), {"start.omega_1": [-3.0, -0.9, 0.0]}, duration=3.0, observe=["fell_at"])
    assert list(walks.status) == [FIRST_TERMINATION] * 3 and np.isfinite(walks.fell_at).all()


@pytest.mark.parametrize("name", ["mass", "gravity", "stiffness", "dissipation", "smoothing_depth", "friction"])
def test_the_ground_of_every_member_is_that_of_its_own_parameters(name):
    own = float(get_parameter(Walker(), name))
    with_parameters(Walker(), {name: own * np.array([1.0, 1.1, 1.2])}).validate()
    with pytest.raises(ParameterError, match=r"foot 1 \d+ mm deep in the ground \(member 1\)"):
        with_parameters(Walker(), {name: np.full(3, own), "start.y": np.array([0.394, 0.36, 0.394])}).validate()


def test_stiff_ground_alone_pushes_a_foot_out():
    with pytest.raises(ParameterError, match=r"foot 1 4\.02 mm deep in the ground \(member 1\)"):
        with_parameters(Walker(), {"stiffness": np.array([1e4, 1e7]), "start.y": 0.39}).validate()


def test_friction_beyond_uniqueness_warns_and_restitution_above_one_raises():
    both = with_parameters(RigidWalker(), {"friction": np.array([0.8, 0.1]), "start.theta_1": np.array([0.2, -0.3])})
    with pytest.warns(UserWarning, match=r"friction 0\.8 exceeds 0\.506, .* at a leg angle of 0\.2 rad \(Painleve"):
        both.validate()
    with pytest.warns(UserWarning, match=r"friction 0\.5 exceeds 0\.488, .* at a leg angle of 0\.2625 rad"):
        RigidWalker(start=WalkerStart(theta_1=0.4, theta_2=-0.4)).validate()  # its limit is 0.53 at the start
    with pytest.raises(ParameterError, match="must be from 0 to 1"):
        RigidWalker(normal_restitution=1.2).validate()


@pytest.mark.slow
def test_a_foot_that_is_no_longer_ignored_creates_no_energy():
    """Below a dissipation of 0.5 s/m, seventeen of such walks gained up to 8 J, and completed."""

    def energy(walker, y):
        lead = y.theta_1 - y.theta_2
        gates = (walker._gate(y.omega_1, lead), walker._gate(y.omega_2, -lead))
        stored = (walker.normal_law.energy(-foot.gap) for foot in walker.feet(y))
        return walker.energies(y)[0] + walker.energies(y)[1] + sum(g * e for g, e in zip(gates, stored, strict=True))

    def rise(run):
        of_all = jax.vmap(lambda y: energy(run.model, y))(WalkerState(*(run[name] for name in WalkerState._fields)))
        return {"rise": jnp.max(of_all - jax.lax.cummin(of_all))}  # J

    members = sobol(
        {"slope": (0.0, 0.03), "friction": (0.2, 1.0), "stiffness": (1e5, 1e7), "dissipation": (0.0, 0.5)}, 64
    )
    walks = ensemble(Walker(), members, duration=3.0, samples=3000, observe=rise)
    completed = walks.status.values == Outcome.COMPLETED
    assert completed.sum() > 10 and walks.rise.values[completed].max() < 5e-3
    undamped = simulate(with_parameters(Walker(), {"dissipation": 0.0}), duration=2.0)
    assert undamped.attrs["status_text"].startswith("ended early: scuffed (a swing foot")
    assert undamped.attrs["t_end_s"] == pytest.approx(1.46, abs=0.01)


@pytest.mark.slow
def test_without_the_scuffing_rule_the_walker_falls_at_a_reported_time():
    """Spec: with the swing foot always in contact the walker falls within a second."""
    always_in_contact = {"clearance_angle": 1e-9, "clearance_width": 1e-9, "swing_rate": 1e9}
    run = simulate(with_parameters(Walker(), always_in_contact), duration=2.0, observe=["velocity", "fell_at"])
    assert run.attrs["status_text"] == "ended early: fell"
    assert 0.6 < run.attrs["t_end_s"] < 1.0
    assert np.isnan(run.velocity) and float(run.fell_at) == run.attrs["t_end_s"]


def test_single_precision_rolls_alike():
    with precision.use("float32"):
        y = RollingWalker().roll(0.0, precision.cast(RollingState(0.0, 0.15, -0.1, -1.3, 0.4)))
    assert all(jnp.asarray(v).dtype == jnp.float32 for v in y)


@pytest.mark.slow
def test_gradient_with_respect_to_the_slope():
    """Spec section 8, cheap set: d xH(1 s) / d slope = 3.77715, by forward mode; and differences."""
    cheap = {"stiffness": 3e5, "smoothing_depth": 3.3e-6, "slip_velocity": 1e-3}
    model = precision.cast(with_parameters(Walker(), cheap))
    term = diffrax.ODETerm(lambda t, y, slope: with_parameters(model, {"slope": slope}).vector_field(t, y))

    @jax.jit
    def distance(slope):
        return diffrax.diffeqsolve(
            term,
            diffrax.Kvaerno5(scan_kind="lax"),
            0.0,
            1.0,
            1e-6,
            model.initial_state(),
            slope,
            stepsize_controller=diffrax.PIDController(1e-8, 1e-10),
            adjoint=diffrax.ForwardMode(),
            max_steps=100_000,
        ).ys.x[-1]

    slopes = jnp.array([0.01 - 1e-5, 0.01 + 1e-5])
    low, high = distance(slopes[0]), distance(slopes[1])
    exact = jax.jit(lambda s: jax.jvp(distance, (s,), (jnp.ones_like(s),)))(jnp.asarray(0.01))[1]
    assert float(exact) == pytest.approx(3.77715, rel=1e-3)
    assert float(exact) == pytest.approx(float((high - low) / 2e-5), rel=1e-3)


@pytest.mark.slow
def test_gradient_of_a_scan_through_touch_down():
    """The default tolerance resolves the contact layer well enough for derivatives, not only for values."""
    step = 1e-6  # m
    end = [Measure(name, lambda run, name=name: run[name][-1], "1", name) for name in ("x", "theta_1", "omega_2")]
    members = zipped({"com_offset": 0.1 + step * np.array([0.0, 1.0, -1.0])})
    scan = ensemble(Walker(), members, duration=0.6, samples=10, observe=end, gradient="com_offset")
    for one in end:
        _, ahead, behind = scan[one.name].values
        assert scan[f"{one.name}_gradient"].values[0, 0] == pytest.approx((ahead - behind) / (2 * step), rel=1e-3)
