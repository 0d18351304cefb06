"""The driven knee against SciPy's LSODA on the same right-hand side: five strides over the stiff floor."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import jaxgait
from jaxgait.models.prosthesis.leg import KneeState
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.parameters import with_parameters
from jaxgait.solve.rosenbrock import Rodas4, Rodas5P, Ros4

STRIDES = 5
LEG = Prosthesis()  # set R2, k = 1.8e4 N/m, c = 900 N s/m
FLYING = with_parameters(LEG, {"height_offset": 1.0})  # the foot never comes down
AGREEMENT = 0.01  # deg, as the specification asks; see ERRORS for what is reached
ERRORS = {1e-5: 5e-3, 1e-6: 5e-4, 1e-7: 5e-5}
"""Largest difference in deg of the knee angle by relative tolerance of Ros4."""


def run_here(rtol, solver=Ros4):
    """Knee angle in deg at a hundred samples per stride."""
    data = jaxgait.simulate(LEG, strides=STRIDES, solver=solver(pivoting=False), rtol=rtol, atol=1e-2 * rtol)
    assert data.attrs["status_text"] == "completed"
    return np.degrees(data["knee_angle"].values)


def run_there(rtol):
    """The same by LSODA."""
    field = jax.jit(lambda t, y: jnp.stack(LEG.vector_field(t, KneeState(*y)))).lower(0.0, jnp.zeros(4)).compile()
    times = np.arange(100 * STRIDES + 1) * (float(LEG.period) / 100)
    solution = solve_ivp(
        lambda t, y: np.asarray(field(t, y)),
        (0.0, times[-1]),
        np.asarray(jnp.stack(LEG.initial_state())),
        method="LSODA",
        t_eval=times,
        rtol=rtol,
        atol=1e-2 * rtol,
        max_step=0.01,  # no touch-down is jumped over
    )
    angle = jax.vmap(lambda t, y: LEG.knee_angle(t, KneeState(*y)))(jnp.asarray(times), jnp.asarray(solution.y.T))
    return np.degrees(angle)


@pytest.mark.slow
def test_five_strides():
    here = run_here(1e-6)
    assert np.ptp(here) > 60.0
    np.testing.assert_allclose(here, run_there(1e-6), atol=AGREEMENT)


@pytest.mark.slow
def test_errors_follow_the_tolerance():
    reference = run_there(1e-9)
    for rtol, error in ERRORS.items():
        assert np.abs(run_here(rtol) - reference).max() < error, rtol


@pytest.mark.slow
@pytest.mark.parametrize("solver", [Rodas4, Rodas5P])
def test_other_solvers_give_the_same_motion(solver):
    np.testing.assert_allclose(run_here(1e-6, solver), run_there(1e-8), atol=AGREEMENT)


def end_of_flight(solver):
    """From a number of equal steps to the state after a tenth of a second of flight."""

    @jax.jit
    def end(steps):
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, args: FLYING.vector_field(t, y)),
            solver(pivoting=False),
            t0=0.75,
            t1=0.85,
            dt0=0.1 / steps,
            y0=KneeState(*map(jnp.asarray, (-1.87, -0.6, 6.1, 2.0))),
            stepsize_controller=diffrax.ConstantStepSize(),
        )
        return jnp.stack([leaf[-1] for leaf in solution.ys])

    return end


@pytest.mark.slow
@pytest.mark.parametrize(("solver", "order"), [(Ros4, 4), (Rodas5P, 5)])
def test_order_of_the_solver_in_flight(solver, order):
    """Halving the step gains the full order where the right-hand side is smooth."""
    end = end_of_flight(solver)
    coarse, fine, reference = end(64.0), end(128.0), end(2048.0)
    error = lambda state: float(jnp.max(jnp.abs(state - reference)))
    assert abs(np.log2(error(coarse) / error(fine)) - order) < 0.2
