from functools import partial

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.native import explain
from jaxgait.solve import rosenbrock
from jaxgait.solve.rosenbrock import Rodas3, Rodas4, Rodas5P, Ros4
from jaxgait.solve.tableaus import RODAS3, RODAS4, RODAS5P, ROS4, textbook
from tests.solve import problems
from tests.solve.problems import SLOPE, largest_error, largest_relative_error, order_between

SOLVERS = [Rodas3, Ros4, Rodas4, Rodas5P]


@pytest.mark.parametrize("tableau", [RODAS3, ROS4, RODAS4, RODAS5P], ids=lambda t: t.name)
def test_coefficients_satisfy_the_order_conditions(tableau):
    """Conditions of order 1 to 4 (Hairer and Wanner II, table IV.7.1), consistency, damping at infinity."""
    n = tableau.stages
    lower = lambda rows: np.array([[*row, *[0.0] * (n - len(row))] for row in rows])
    alpha, gamma = textbook(tableau.gamma, lower(tableau.a), lower(tableau.c))
    b, one, beta = np.array(tableau.m) @ gamma, np.ones(n), alpha + gamma
    a = alpha @ one
    np.testing.assert_allclose(a, tableau.alpha, atol=1e-13)
    np.testing.assert_allclose(gamma @ one, tableau.d, atol=1e-13)
    up_to_3 = [b @ one - 1, b @ beta @ one - 1 / 2, b @ a**2 - 1 / 3, b @ beta @ beta @ one - 1 / 6]
    fourth = [b @ a**3 - 1 / 4, b @ (a * (alpha @ beta @ one)) - 1 / 8]
    fourth += [b @ beta @ a**2 - 1 / 12, b @ beta @ beta @ beta @ one - 1 / 24]
    np.testing.assert_allclose(up_to_3 + (fourth if tableau.order > 3 else []), 0.0, atol=1e-13)
    assert abs(1.0 - b @ np.linalg.solve(beta, one)) < (2e-5 if tableau is ROS4 else 1e-13)  # gamma has five digits
    np.testing.assert_allclose(np.sum(tableau.dense, axis=0), tableau.m, atol=1e-13)


TIMES = np.linspace(0.0, 2.0, 161)


def order_at(problem, solver, steps, chosen):
    """Order of convergence at the chosen ones of TIMES; every number of steps and choice shares one program."""
    exact = {name: x[chosen] for name, x in problem.exact(TIMES).items()}
    runs = [problem.solve(solver, steps=n, ts=TIMES).ys for n in (steps, 4 * steps)]
    errors = [largest_error({name: x[chosen] for name, x in ys.items()}, exact) for ys in runs]
    return np.log2(errors[0] / errors[1]) / 2


@problems.SMOOTH
@pytest.mark.parametrize("solver", SOLVERS)
def test_order_of_convergence(solver, problem):
    steps = 8 if solver is Rodas5P else 16
    assert order_at(problem, solver(), steps, slice(-1, None)) > solver.tableau.order - SLOPE


@pytest.mark.parametrize(("solver", "order"), [(Rodas3, 2), (Ros4, 2), (Rodas4, 3), (Rodas5P, 4)])
def test_order_of_dense_output(solver, order):
    found = order_at(problems.nonlinear(), solver(), 8, slice(None))
    assert found > order + 1 - SLOPE  # local error: one order more


@pytest.mark.parametrize(("solver", "order"), [(Rodas3, 1), (Ros4, 1), (Rodas4, 1), (Rodas5P, 3)])
def test_stiff_order(solver, order):
    """Prothero-Robinson at h L >> 1: classical methods fall back, Rodas5P keeps order 3 or more."""
    assert order_between(problems.prothero_robinson(), solver(), 10) > order - SLOPE


@pytest.mark.parametrize(("mu", "t1"), [(1e3, 2.0), pytest.param(1e6, 0.5, marks=pytest.mark.slow)])
def test_van_der_pol_against_radau(mu, t1):
    """Through both jumps of an oscillation, and on the slow branch only where SciPy's Radau cannot pass the jump."""
    problem = problems.van_der_pol(mu, t1)
    got = problem.solve(Rodas5P(), rtol=1e-10, atol=1e-12)
    assert largest_relative_error(got, problem.radau()) < 1e-8


@pytest.mark.parametrize("pivoting", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_robertson_to_the_end(pivoting):
    problem = problems.robertson()
    got = problem.solve(Rodas5P(pivoting=pivoting), rtol=1e-9, atol=1e-16)
    assert largest_relative_error(got, problem.radau(atol=1e-18)) < 1e-6
    assert abs(sum(map(float, got.values())) - 1.0) < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("solver", [Rodas3, Rodas5P])
def test_slope_that_jumps(solver):
    problem = problems.two_sided_spring()
    assert largest_error(problem.solve(solver(), rtol=1e-7), problem.exact(problem.t1)) < 2e-5


@pytest.mark.slow
def test_any_pytree_gives_the_same_answer():
    """Named scalars, an array, and a vector too long to unroll."""
    problem = problems.nonlinear()
    scalars = problem.solve(Rodas4(), steps=20)
    copies = 5

    def field(t, y, args):
        rates = jax.vmap(lambda x, z: problem.field(t, {"x": x, "z": z}, args))(y[:, 0], y[:, 1])
        return jnp.stack([rates["x"], rates["z"]], axis=1)

    for n in (1, copies):
        assert (2 * n > rosenbrock.MAX_UNROLLED) == (n == copies)
        y0 = jnp.full((n, 2), 0.5)
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(field), Rodas4(), 0.0, 2.0, 0.1, y0, adjoint=diffrax.ForwardMode()
        )
        np.testing.assert_allclose(solution.ys[0], np.tile([scalars["x"], scalars["z"]], (n, 1)), rtol=1e-12)


def final(k, mu, rtol=1e-8):
    problem = problems.touching_mass()
    solution = diffrax.diffeqsolve(
        *(diffrax.ODETerm(problem.field), Rodas3(), 0.0, problem.t1, 1e-4, problem.start, {"k": k, "mu": mu}),
        stepsize_controller=diffrax.PIDController(rtol, rtol * 1e-2, dtmax=0.01),
        adjoint=diffrax.ForwardMode(),
        max_steps=None,
    )
    return jnp.stack([solution.ys["x"][0], solution.ys["y"][0]])


@pytest.mark.slow
def test_forward_gradients_through_contact():
    """Alone, in a batch, and by finite differences."""
    k, mu = jnp.asarray([1e4, 2e4]), jnp.asarray([0.6, 0.3])
    jacobian = jax.jit(jax.vmap(jax.jacfwd(final, argnums=(0, 1))))
    forward = jnp.stack(jacobian(k, mu), axis=-1)
    np.testing.assert_allclose(forward[:1], jnp.stack(jacobian(k[:1], mu[:1]), axis=-1), rtol=1e-9, atol=1e-14)
    f = jax.jit(jax.vmap(final))
    for i, (dk, dmu) in enumerate([(1.0, 0.0), (0.0, 1e-5)]):
        difference = (f(k + dk, mu + dmu) - f(k - dk, mu - dmu)) / (2 * (dk + dmu))
        # noise of the steps over 2e-5: 6e-6 with JAX 0.8.0
        np.testing.assert_allclose(forward[..., i], difference, rtol=2e-3, atol=1e-5)


@pytest.mark.slow
def test_reverse_mode_agrees_with_forward_mode():
    def end(y0, adjoint):
        problem = problems.van_der_pol(10.0)
        solution = diffrax.diffeqsolve(
            *(diffrax.ODETerm(problem.field), Rodas4(), 0.0, 0.5, 1e-3, y0, problem.args),
            stepsize_controller=diffrax.PIDController(1e-6, 1e-8),
            adjoint=adjoint,
            max_steps=256,
        )
        return solution.ys["x"][0]

    y0 = problems.van_der_pol().start
    forward = jax.jit(jax.jacfwd(partial(end, adjoint=diffrax.ForwardMode())))(y0)
    reverse = jax.jit(jax.jacrev(partial(end, adjoint=diffrax.RecursiveCheckpointAdjoint())))(y0)
    for key in y0:
        np.testing.assert_allclose(forward[key], reverse[key], rtol=1e-10)


@pytest.mark.slow
def test_initial_state_and_span_are_differentiated():
    def end(x0, t1):
        problem = problems.nonlinear()
        y0 = {"x": x0, "z": jnp.asarray(0.5)}
        adjoint = diffrax.ForwardMode()
        return diffrax.diffeqsolve(diffrax.ODETerm(problem.field), Rodas5P(), 0.0, t1, 0.05, y0, adjoint=adjoint).ys[
            "x"
        ][0]

    by_x0, by_t1 = jax.jit(jax.jacfwd(end, argnums=(0, 1)))(jnp.asarray(0.5), jnp.asarray(2.0))
    exact = lambda x0, t: 1.0 / (1.0 / x0 + jnp.sin(t))
    np.testing.assert_allclose([by_x0, by_t1], jax.grad(exact, (0, 1))(0.5, 2.0), rtol=1e-6)


def test_a_diverging_member_changes_no_other():
    """y' = y^2 ends in infinity at t = 1 / y0; its neighbours keep their bits."""

    @jax.jit
    @jax.vmap
    def run(y0):
        return diffrax.diffeqsolve(
            *(diffrax.ODETerm(lambda t, y, a: y * y), Rodas4(), 0.0, 1.0, 1e-3, y0),
            adjoint=diffrax.ForwardMode(),
            stepsize_controller=diffrax.PIDController(1e-6, 1e-8, dtmin=1e-12),
            throw=False,
            max_steps=500,
        )

    sound, together = run(jnp.asarray([0.1, 0.3, 0.2, 0.4])), run(jnp.asarray([0.1, 1e3, 0.2, jnp.nan]))
    np.testing.assert_array_equal(sound.ys[::2], together.ys[::2])
    assert [bool(r) for r in together.result == diffrax.RESULTS.successful] == [True, False, True, False]


def test_events_stop_the_solve():
    """A ball falls until it touches the ground."""
    field = lambda t, y, a: {"x": y["v"], "v": jnp.full_like(y["v"], -9.81)}
    event = diffrax.Event(lambda t, y, args, **_: y["x"] < 0.0)
    y0 = {"x": jnp.asarray(1.0), "v": jnp.asarray(0.0)}
    solution = diffrax.diffeqsolve(diffrax.ODETerm(field), Rodas5P(), 0.0, 2.0, 1e-3, y0, event=event)
    assert abs(float(solution.ts[0]) - np.sqrt(2 / 9.81)) < 2e-3


def test_float32():
    y0 = jnp.float32(0.5)
    field = lambda t, y, a: -(y * y) * jnp.cos(t).astype(y.dtype)
    y1 = diffrax.diffeqsolve(diffrax.ODETerm(field), Rodas4(), *jnp.float32([0.0, 2.0, 0.1]), y0).ys[0]
    assert y1.dtype == jnp.float32
    np.testing.assert_allclose(y1, 1 / (2 + np.sin(2.0)), rtol=1e-5)


def swaying(scale, hidden):
    """A mechanism with a memory, its leaves in any order; `hidden`: its rates are not seen to be components."""
    mixed = np.random.default_rng(0).normal(size=(2, 5, 5))

    def rates(t, y, args):
        force = -scale * jnp.sin(mixed[0] @ y["b"]) - y["a"] @ mixed[1] * jnp.cos(t) + y["c"].sum() ** 2
        velocity = y["a"] * jnp.where(scale > 0.0, 1.0, 2.0) if hidden else y["a"]
        return {"a": 30.0 * force, "b": velocity, "c": y["b"][:2] - 3.0 * y["c"]}

    return diffrax.ODETerm(rates)


@pytest.mark.slow
@pytest.mark.parametrize("solver", [Rodas5P(), Rodas4(unrolled=False)])
def test_positions_are_eliminated_first(solver):
    """The step and its derivatives are those of all linear equations together."""
    rng = np.random.default_rng(1)
    start = {name: jnp.asarray(rng.normal(size=n)) for name, n in (("a", 5), ("b", 5), ("c", 2))}

    def step(scale, start, hidden):
        y, error, dense, *_ = solver.step(swaying(scale, hidden), 0.1, 0.15, start, None, None, False)
        return y, error, dense

    tangents = 1.0, jax.tree.map(lambda x: jnp.cos(7.0 * x), start)
    both = jax.jit(lambda *at, hidden: jax.jvp(partial(step, hidden=hidden), at, tangents), static_argnames="hidden")
    found, wanted = (jax.tree.leaves(both(2.0, start, hidden=hidden)) for hidden in (False, True))
    for x, exact in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, exact, rtol=1e-12, atol=1e-12)


def test_positions_are_leaves_whose_rates_are_leaves_too():
    y = [jnp.zeros(3), jnp.zeros(3), jnp.zeros(3)]
    of = lambda field: rosenbrock._positions(field, 0.0, y)
    assert of(lambda t, y: [y[1], y[0] * t, y[2]]) == [(0, 1)]
    assert of(lambda t, y: [-y[2], y[0], y[1]]) == [(1, 0)]  # (2, 1): in a pair already
    assert of(lambda t, y: [y[2], y[2], -y[0]]) == [(0, 2)]  # one position for each rate
    assert of(lambda t, y: [-y[0], jnp.sin(y[0]), jax.jit(lambda a, b: (a + 1, b))(y[0], y[1])[1]]) == [(2, 1)]
    assert of(lambda t, y: [y[1].at[0].set(0.0), t * y[0], 1.0 * y[0]]) == []
    assert rosenbrock._positions(lambda t, y: [t, y[0]], 0.0, [jnp.zeros(()), jnp.zeros(())]) == [(1, 0)]


@pytest.mark.slow
def test_derivatives_of_many_states_are_kernels():
    """Above `MAX_UNROLLED` numbers the factors have pivots: their tangents have a type that left robots to XLA."""

    def end(k):
        rates = lambda t, y, k: -k * jnp.sin(y) + jnp.roll(y, 1)
        controller = diffrax.PIDController(rtol=1e-6, atol=1e-8)
        start, adjoint = jnp.linspace(0.1, 0.9, rosenbrock.MAX_UNROLLED + 1), diffrax.ForwardMode()
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(rates), Ros4(), 0.0, 1.0, 0.1, start, k, stepsize_controller=controller, adjoint=adjoint
        )
        return solution.ys[-1, 0]

    assert explain(jax.jacfwd(end), 2.0).startswith("a kernel of ")
    slope, difference = jax.jit(jax.jacfwd(end))(2.0), (end(2.0 + 1e-4) - end(2.0 - 1e-4)) / 2e-4
    np.testing.assert_allclose(slope, difference, rtol=1e-4)
