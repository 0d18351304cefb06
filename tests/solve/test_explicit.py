import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.solve.explicit import RK4, Bosh3, Dopri8, Tsit5
from jaxgait.solve.verner import Verner8
from tests.solve import problems
from tests.solve.problems import SLOPE, largest_error, order_between

SOLVERS = [RK4, Bosh3, Tsit5, Dopri8, Verner8]
ORIGINALS = [
    (Bosh3, diffrax.Bosh3),
    (Tsit5, diffrax.Tsit5),
    pytest.param(Dopri8, diffrax.Dopri8, marks=pytest.mark.slow),
]


@problems.SMOOTH
@pytest.mark.parametrize("solver", SOLVERS)
def test_order_of_convergence(solver, problem):
    steps = {Dopri8: 2, Verner8: 3}.get(solver, 16)
    assert order_between(problem, solver(), steps) > solver.convergence_order - SLOPE


@pytest.mark.slow
@pytest.mark.parametrize(("ours", "original"), ORIGINALS)
def test_the_steps_are_those_of_the_original(ours, original):
    """Same steps, same states, same dense output, on Lorenz's equations."""
    problem, ts = problems.lorenz(t1=2.0), np.linspace(0.0, 2.0, 23)
    a, b = (problem.solve(solver(), rtol=1e-7, ts=ts, dt0=1e-2) for solver in (ours, original))
    assert a.stats["num_steps"] == b.stats["num_steps"]
    for key in a.ys:
        np.testing.assert_allclose(a.ys[key], b.ys[key], rtol=1e-9, atol=1e-10)


def test_slope_that_jumps():
    problem = problems.two_sided_spring()
    assert largest_error(problem.solve(Tsit5(), rtol=1e-8), problem.exact(problem.t1)) < 1e-5


def fall(height, adjoint):
    field = lambda t, y, a: {"x": y["v"], "v": jnp.full_like(y["v"], -9.81)}
    event = diffrax.Event(lambda t, y, args, **_: y["x"], root_finder=None)
    y0 = {"x": height, "v": jnp.zeros_like(height)}
    jumps = diffrax.ClipStepSizeController(diffrax.PIDController(1e-6, 1e-8), jump_ts=jnp.asarray([0.1]))
    options = dict(stepsize_controller=jumps, event=event, adjoint=adjoint, max_steps=64)
    return diffrax.diffeqsolve(diffrax.ODETerm(field), Tsit5(), 0.0, 2.0, 1e-3, y0, **options)


def test_events_and_jumps():
    solution = fall(jnp.asarray(1.0), diffrax.RecursiveCheckpointAdjoint())
    assert solution.result == diffrax.RESULTS.event_occurred
    t, x, v = float(solution.ts[0]), float(solution.ys["x"][0]), float(solution.ys["v"][0])
    assert (x, v) == pytest.approx((1.0 - 0.5 * 9.81 * t**2, -9.81 * t), abs=1e-12)  # on its parabola, across the jump


REVERSE = pytest.param(diffrax.RecursiveCheckpointAdjoint(), marks=pytest.mark.slow)


@pytest.mark.parametrize("adjoint", [diffrax.ForwardMode(), REVERSE])
def test_adjoints(adjoint):
    """Derivative of x(t1) = 1 / (1 / x0 + sin t1)."""
    problem = problems.nonlinear()

    def end(x0):
        y0 = {"x": x0, "z": jnp.asarray(0.5)}
        controller = diffrax.PIDController(1e-9, 1e-11)
        options = dict(stepsize_controller=controller, adjoint=adjoint, max_steps=256)
        return diffrax.diffeqsolve(diffrax.ODETerm(problem.field), Tsit5(), 0.0, 2.0, 0.01, y0, **options).ys["x"][0]

    derive = jax.jacfwd if isinstance(adjoint, diffrax.ForwardMode) else jax.grad
    exact = jax.grad(lambda x0: 1.0 / (1.0 / x0 + jnp.sin(2.0)))
    found = jax.jit(jax.vmap(derive(end)))(jnp.asarray([0.5, 0.7]))
    np.testing.assert_allclose(found, [exact(0.5), exact(0.7)], rtol=1e-7)
    one = jax.jit(derive(end))(jnp.asarray(0.6))
    np.testing.assert_allclose(one, exact(0.6), rtol=1e-7)


def test_a_controller_for_a_fixed_step_solver_raises():
    with pytest.raises(RuntimeError):
        problems.linear().solve(RK4(), rtol=1e-6)
