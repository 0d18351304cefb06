"""The exoskeleton as a model: forward runs reproduce what inverse dynamics prescribed, bad input raises."""

import dataclasses

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import simulate
from jaxgait.models.exoskeleton import dynamics, formulations, vectors
from jaxgait.models.exoskeleton.elements import Spatial
from jaxgait.models.exoskeleton.model import Exoskeleton, ExoskeletonState, five_links, four_links
from jaxgait.models.exoskeleton.tree import RodLink
from jaxgait.models.exoskeleton.walking import STANCE_SHANK, TORSO, WalkingGait, joined_amplitudes
from jaxgait.parameters import ParameterError, with_parameters

CLOSURE = 2e-12  # relative to accelerations of order 10 1/s^2
WINDOW = 1e-9  # open loop over 0.1 s, where a perturbation grows by 40


def solve(field, y0, t0, t1, ts=None):
    return diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        diffrax.Dopri8(),
        t0,
        t1,
        1e-3,
        y0,
        stepsize_controller=diffrax.PIDController(1e-12, 1e-13),
        saveat=diffrax.SaveAt(t1=True) if ts is None else diffrax.SaveAt(ts=ts),
    ).ys


def run(exo, start, duration):
    """One trajectory; always the same settings, so that all tests share one compilation."""
    return simulate(exo, duration=duration, samples=400, initial_state=start, rtol=1e-10, atol=1e-12)


def apart(a, b):
    return max(float(jnp.abs(x - y).max()) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


@pytest.fixture(scope="module")
def exo():
    return Exoskeleton()


@pytest.mark.parametrize(("build", "own"), [(five_links, (1, 2, 3, 4, 5)), (four_links, (1, 2, 3, 4))])
def test_links_may_be_exchanged_otherwise(build, own):
    assert build(exchange=own).exchange == own


def test_accelerations_close_at_an_instant(exo):
    """Forces of the motion put back give its accelerations; the torso is vertical, so its azimuth is left out."""

    @jax.jit
    @jax.vmap
    def closed(t):
        q, rate, acceleration = exo.motion(t)
        force = dynamics.inverse_dynamics(exo.chain, q, rate, acceleration, exo.gravity)
        found = formulations.forward_dynamics(exo.chain, q, rate, force, exo.gravity, drop_vertical=True)
        return *found, acceleration._replace(phi=acceleration.phi.at[4].set(0.0))

    found, vertical, wanted = jax.device_get(closed(jnp.array([0.1, 0.3, 0.6, 1.0, 1.5])))
    for i in range(5):
        assert list(np.flatnonzero(vertical[i])) == [4]
        size = max(np.abs(x[i]).max() for x in wanted)
        assert max(np.abs(a[i] - b[i]).max() for a, b in zip(found, wanted, strict=True)) < CLOSURE * size


@pytest.mark.slow
def test_open_loop_windows(exo):
    """Link vectors under the prescribed moments and axial forces, restarted every 0.1 s."""
    open_loop = dataclasses.replace(exo, tracking=0.0).prepared()

    @jax.jit
    @jax.vmap
    def run(t0):
        def at(t):
            return ExoskeletonState(*vectors.motion(*open_loop.motion(t))[:2])

        end = solve(open_loop, at(t0), t0, t0 + 0.1)
        return jax.tree.map(lambda a, b: jnp.abs(a[0] - b).max(), end, at(t0 + 0.1))

    worst = run(jnp.arange(18.0) * 0.1)
    assert max(float(x.max()) for x in worst) < WINDOW


@pytest.mark.slow
def test_tracking_holds_the_motion_for_a_stride(exo):
    data = run(exo, exo.initial_state(), duration=float(exo.duration))
    assert data.attrs["status_text"] == "completed"
    assert float(data.tracking_error.max()) < WINDOW
    expected = jax.vmap(exo.prescribed)(jnp.asarray(data.time.values))
    for name, tolerance in (("torque", 1e-5), ("reaction", 1e-5), ("F", 1e-5), ("energy", 1e-7), ("power", 1e-5)):
        np.testing.assert_allclose(data[name], expected[name], rtol=0, atol=tolerance)


@pytest.mark.slow
def test_tracking_pulls_a_perturbed_start_back(exo):
    start = exo.initial_state()
    data = run(exo, start._replace(x=start.x * 1.02), duration=0.5)
    error = data.tracking_error
    assert float(error[0]) > 5e-3 and float(error[-1]) < 1e-7


@pytest.mark.slow
def test_energy_balance_of_a_run(exo):
    """Work of the actuators is the change of energy, along a perturbed run."""
    start = exo.initial_state()
    data = run(exo, start._replace(v=start.v * 0.9), duration=0.4)
    work = np.trapezoid(data.power, data.time)
    np.testing.assert_allclose(work, data.energy[-1] - data.energy[0], atol=1e-3)


def test_angular_momentum_changes_by_the_moment_of_the_ground(exo):

    @jax.jit
    def seen():
        y = exo.initial_state()
        balance = lambda s: (exo.outputs(0.0, s)["angular_momentum"], exo.outputs(0.0, s)["com"])
        moment = jnp.sum(vectors.actuation(y.x, exo.actuators(0.0, y))[0], axis=0)
        changes = jax.jvp(balance, (y,), (exo.vector_field(0.0, y),))[1]
        return moment, exo.outputs(0.0, y), changes, vectors.centre_of_mass(exo.chain, y.v)

    moment, out, (turn, velocity), expected = jax.device_get(seen())
    np.testing.assert_allclose(turn, moment - np.cross(out["com"], out["reaction"]), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(velocity, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.slow
def test_spherical_forward_dynamics_away_from_the_vertical(exo):
    """All elevations lowered by 0.75 rad: a regular variant that angles can integrate, in windows of 0.1 s."""

    def motion(t):
        m = exo.motion(t)
        return m._replace(q=m.q._replace(psi=m.q.psi - 0.75))

    def field(t, y, args):
        q, rate = y
        force = dynamics.inverse_dynamics(exo.chain, *motion(t))
        return rate, formulations.forward_dynamics(exo.chain, q, rate, force)[0]

    @jax.jit
    @jax.vmap
    def run(t0):
        end = solve(field, tuple(motion(t0)[:2]), t0, t0 + 0.1)
        return jax.tree.map(lambda a, b: jnp.abs(a[0] - b).max(), end, tuple(motion(t0 + 0.1)[:2]))

    assert max(float(x.max()) for x in jax.tree.leaves(run(jnp.array([0.0, 0.3, 0.8])))) < WINDOW


def test_spherical_accelerations_project_from_link_vectors(exo):

    @jax.jit
    def both(t):
        q, rate, acceleration = exo.motion(t)
        q = Spatial(q.phi, q.psi - 0.75, q.l)
        _, _, a = vectors.motion(q, rate, acceleration)
        return formulations.projected(q, rate, a), acceleration

    assert apart(*both(0.2)) < 1e-11


def test_tracking_error_has_a_derivative_on_the_prescribed_motion(exo):
    def error(stretch):
        model = with_parameters(exo, {"gait.stretch": stretch})
        return model.outputs(0.0, model.initial_state())["tracking_error"]

    assert float(jax.jit(jax.jacfwd(error))(0.03)) == 0.0  # a length has none at zero by itself: it was NaN


@pytest.mark.slow
def test_planar_exoskeletons_run():
    five_links(dimension=2).validate()
    exo = four_links()
    exo.validate()
    data = simulate(exo, duration=0.3, samples=10)
    assert float(data.tracking_error.max()) < 1e-6
    out = exo.prescribed(0.2)
    assert out["M_phi"].shape == (len(exo.parent),) and "psi" not in out and out["reaction"].shape == (2,)
    actuators = jnp.sum(out["power_phi"]) + jnp.sum(out["power_l"])
    np.testing.assert_allclose(actuators, out["power"], atol=1e-10)


@pytest.mark.slow
def test_gait_mode_ends_when_the_foot_lands():
    exo = five_links(mode="gait")
    assert simulate(exo, samples=12).attrs["status_text"] == "completed"
    late = simulate(exo, duration=1.2, samples=12)
    assert late.attrs["status_text"].startswith("ended early: landed (")
    assert late.attrs["t_end_s"] == pytest.approx(0.9, abs=0.1)


@pytest.mark.slow
def test_a_collapsing_link_is_a_status():
    exo = five_links(tracking=0.0, shortest=0.5)
    start = exo.initial_state()
    pushed = start._replace(v=start.v.at[0].add(-8.0 * start.x[0]))
    data = run(exo, pushed, duration=1.0)
    assert data.attrs["status_text"] == "ended early: collapsed"
    assert float(data.l.min()) > 0.19
    assert np.isnan(data.x[-1]).all() and np.isfinite(data.x[0]).all()


def test_a_gradient_with_respect_to_the_gait(exo):
    """Forward mode through inverse dynamics against a central difference."""

    def peak(stretch, mass):
        changed = with_parameters(exo, {"gait.stretch": stretch, "masses": exo.masses * mass})
        return jnp.sum(changed.prescribed(0.35)["M_psi"] ** 2)

    args, step = (jnp.array(0.03), jnp.array(1.1)), 1e-5
    around = [[a + s * step * (k == i) for k, a in enumerate(args)] for i in range(2) for s in (1, -1)]

    @jax.jit
    def all_of_them(args, around):
        return jax.jacfwd(peak, argnums=(0, 1))(*args), jax.vmap(peak)(*around)

    slopes, peaks = jax.device_get(all_of_them(args, jnp.array(around).T))
    for i, slope in enumerate(slopes):
        np.testing.assert_allclose(slope, (peaks[2 * i] - peaks[2 * i + 1]) / (2 * step), rtol=1e-6)


def test_an_ensemble_is_the_loop(exo):
    factors = jnp.array([0.8, 1.0, 1.3])

    def end(scale):
        changed = with_parameters(exo, {"masses": exo.masses * scale, "lengths": exo.lengths * scale})
        return changed.vector_field(0.1, changed.initial_state()._replace(v=jnp.ones((5, 3)))).v

    together, one = jax.jit(jax.vmap(end))(factors), jax.jit(end)
    for i, scale in enumerate(factors):
        np.testing.assert_allclose(together[i], one(scale), rtol=1e-11, atol=1e-9)


@pytest.mark.slow
def test_single_precision_is_a_choice(exo):
    data = simulate(exo, duration=0.2, samples=4, precision="float32", rtol=1e-5, atol=1e-5)
    assert data.x.dtype == np.float32
    assert float(data.tracking_error.max()) < 1e-3


def test_joined_amplitudes_are_the_defaults():
    gait = WalkingGait()
    np.testing.assert_allclose(joined_amplitudes(0.28, gait.phase), gait.amplitude, rtol=1e-14)


@pytest.mark.slow
def test_a_table_of_ones_own():
    links = [RodLink(0, (1.0, 2.0), (0.5, 1.0), length=0.6), RodLink(1, (3.0, 1.0, 0.5), (0.2, 0.6, 1.0), length=0.4)]
    gait = WalkingGait(amplitude=np.array([0.2, 0.1]), phase=np.zeros(2), roles=(STANCE_SHANK, TORSO))
    exo = Exoskeleton.from_links(links, gait, dimension=2)
    exo.validate()
    assert simulate(exo, duration=0.2, samples=4).attrs["status_text"] == "completed"


def broken(**fields):
    return dataclasses.replace(Exoskeleton(), **fields)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: broken(lengths=np.array([0.4, 0.0, 0.4, 0.4, 0.5])), r"lengths.*positive.*index \(1,\)"),
        (lambda: with_parameters(Exoskeleton(), {"lengths": np.ones(4)}), "one entry per link"),
        (lambda: broken(masses=np.where(np.eye(5, 3)[::-1] > 0, -1.0, 1.0)), "nonnegative"),
        (lambda: broken(masses=np.array([[1.0] * 3] * 3 + [[0.0] * 3] + [[1.0] * 3])), "link 4 is a massless leaf"),
        (lambda: broken(parent=(0, 1, 4, 3, 2)), "link 3 has parent 4"),
        (lambda: broken(exchange=(1, 1, 2, 3, 4)), "permutation"),
        (lambda: broken(exchange=(1, 2, 3, 4, 5), mode="gait"), "far end lands, link 1 carries others"),
        (lambda: Exoskeleton.from_links([], WalkingGait()), "roles for 5 links, the exoskeleton has 0"),
        (lambda: broken(dimension=4), "dimension must be 2 or 3"),
        (lambda: broken(dimension=2.0), "dimension must be 2 or 3"),
        (lambda: broken(gait=WalkingGait(stretch=1.5)), "stretch"),
        (lambda: broken(gait=WalkingGait(stride_time=0.0)), "stride_time.*positive"),
        (lambda: broken(gait=four_links().gait), "roles for 4 links"),
        (lambda: broken(gait=WalkingGait(phase=np.zeros(3))), "one entry per link"),
    ],
)
def test_impossible_exoskeletons_raise(make, message):
    with pytest.raises(ParameterError, match=message):
        make().validate()


def test_every_member_of_a_batch_is_checked(exo):
    lengths = np.tile(exo.lengths, (3, 1))
    with_parameters(exo, {"lengths": lengths}).validate()
    lengths[2, 4] = np.nan
    with pytest.raises(ParameterError, match=r"finite.*\(2, 4\)"):
        with_parameters(exo, {"lengths": lengths}).validate()
