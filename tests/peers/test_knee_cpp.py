import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.benchmarks import cpp, knee
from jaxgait.models.prosthesis.leg import KneeState
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.parameters import with_parameters
from jaxgait.solve.smooth import Smooth, integrate

pytestmark = pytest.mark.skipif(cpp.compiler() is None, reason="no g++")
POINTS = np.array(
    [
        [0.12, -0.4, 0.02, -1.4, 0.5],  # stance and swing: the check states of the specification
        [0.8, -1.87, -0.6, 6.1, 2.0],
        [2.3, -0.5, 0.1, 1.0, -1.0],
    ]
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["scalar", "simd"])
@pytest.mark.parametrize("name", ["R2", "R3"])
def test_hand_written_field_and_jacobian_agree(kind, name):
    """The benchmark's C++ program is an independent second opinion on the knee's equations and their derivatives."""
    model = with_parameters(Prosthesis().preset(name), {"damper.k": 2e4, "damper.c": 1000.0})
    field = lambda t, y: jnp.stack(model.vector_field(t, KneeState(*y)))
    ours = jax.jit(lambda t, y: (field(t, y), jax.jacfwd(field, argnums=(0, 1))(t, y)))
    theirs = knee.hand_written_field(kind, model, POINTS)
    for (t, *state), (value, rate, *columns) in zip(POINTS, theirs, strict=True):
        f, (f_t, J) = ours(t, jnp.asarray(state))
        np.testing.assert_allclose(value, f, rtol=1e-11)
        np.testing.assert_allclose(rate, f_t, rtol=1e-11)
        np.testing.assert_allclose(np.transpose(columns), J, rtol=1e-11)


@pytest.mark.slow
def test_hand_written_solver_takes_the_same_steps():
    """20 ms after heel strike: the same method and step control, and answers as close as two such solves can be.

    Where a foot sticks, rounding decides some steps: members differ by two per cent either way, their sum does not.
    Then the answers differ by the errors of both solves, each about the tolerance (experiments/benchmarks/RESULTS.md).
    """
    rtol, springs = 1e-7, knee.springs(16)
    settings = Smooth.of(Prosthesis(), differentiated=True, rtol=rtol, atol=1e-2 * rtol)  # compiles fastest
    ts = jnp.asarray([0.0, 0.02])
    run = jax.jit(jax.vmap(lambda k: integrate(knee.member(k, knee.RATIO * k), ts, settings)))(springs)
    ours = np.stack([run.y_end.theta_b, run.y_end.beta_1], axis=1)
    for kind in ("scalar", "simd"):
        theirs, steps = knee.hand_written(kind, springs, 0.02, rtol, 1).result
        np.testing.assert_allclose(theirs, ours, rtol=0, atol=2.0 * rtol)
        np.testing.assert_allclose(steps.sum(), np.sum(run.steps + run.rejected), rtol=0.01)


def test_what_the_program_reads_is_complete():
    text = knee.description(Prosthesis())
    assert "damper.k 18000.0\n" in text
    assert len(next(line for line in text.splitlines() if line.startswith("drive.hip_y ")).split()) == 1 + 1 + 2 * 8
