"""What every solver must do, whatever its method: a table of our own over states and directions of time."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from jaxgait.mechanics.spatial import Link, hinge
from jaxgait.models.tree import TreeModel
from jaxgait.solve.explicit import RK4, Tsit5
from jaxgait.solve.hybrid import EventDriven
from jaxgait.solve.rosenbrock import Ros4
from jaxgait.solve.schemes import scheme_for
from jaxgait.solve.smooth import Smooth
from jaxgait.solve.solvers import SOLVERS, as_solver
from jaxgait.solve.time_resolution import Resolving
from jaxgait.solve.verner import Verner8
from tests.oscillator import Oscillator
from tests.solve.problems import SLOPE

START = {"grows": jnp.asarray(0.7), "turns": jnp.asarray(1.0 - 0.5j), "rest": [jnp.asarray([1.0, -2.0]), None]}


def field(t, y, args):
    """y' = y cos t and the like: growth, rotation that is not an analytic function of its complex state, decay."""
    turns = y["turns"]
    rates = {
        "grows": y["grows"],
        "turns": 1j * turns + 0.3 * jnp.conj(turns),
        "rest": jax.tree.map(jnp.negative, y["rest"]),
    }
    return jax.tree.map(lambda x: x * jnp.cos(t).astype(x.dtype), rates)


def exact(t):
    """The solution: functions of sin t, the rotation as a real system for its two parts."""
    s = np.sin(t)
    turns = START["turns"]
    turned = scipy.linalg.expm(s * np.array([[0.3, -1.0], [1.0, -0.3]])) @ np.array([turns.real, turns.imag])
    rest = jax.tree.map(lambda x: x * np.exp(-s), START["rest"])
    return {"grows": START["grows"] * np.exp(s), "turns": complex(*turned), "rest": rest}


def errors(got, wanted):
    return [float(np.max(np.abs(a - b))) for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True)]


@pytest.mark.filterwarnings("ignore:Complex dtype support")
@pytest.mark.parametrize(
    "solver",
    [
        pytest.param(s, id=s.__name__, marks=[] if s.__name__ in ("Verner8", "Rodas3") else pytest.mark.slow)
        for s in (RK4, *SOLVERS.values())
    ],
)
def test_real_complex_and_nested_states_in_both_directions_of_time(solver):
    solver = solver()

    @jax.jit
    def solve(t1, steps):
        times = jnp.zeros(()), t1, t1 / steps
        solution = diffrax.diffeqsolve(diffrax.ODETerm(field), solver, *times, START, adjoint=diffrax.ForwardMode())
        return jax.tree.map(lambda x: x[-1], solution.ys)

    order = solver.order(None)
    few = {3: 64.0, 4: 32.0, 5: 16.0, 8: 3.0}[order]
    for t1 in (2.0, -2.0):
        coarse, fine = (errors(solve(t1, steps), exact(t1)) for steps in (few, 3 * few))
        assert max(fine) < 1e-5
        assert np.log(max(coarse) / max(fine)) / np.log(3) > order - SLOPE
    assert errors(solve(0.0, 1.0), START) == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_have_names(name):
    assert type(as_solver(name)).__name__ == name
    given = diffrax.Tsit5()
    assert as_solver(given) is given


def test_schemes_take_solvers_by_name():
    named = {"solver": "Verner8"}
    made = [Smooth.of(Oscillator(), **named), EventDriven.of(Oscillator(), **named), scheme_for(Oscillator(), **named)]
    for scheme in [*made, scheme_for(Oscillator(), made[0], solver="Verner8")]:
        assert isinstance(scheme.solver, Verner8)


def test_explicit_solvers_by_name_suit_long_vector_fields(monkeypatch):
    """Their stages are a loop, as by default."""
    pendulum = TreeModel([Link("leg", None, hinge((0.0, 1.0, 0.0)), mass=1.0, com=(0.0, 0.0, -0.5))])
    default, named = Smooth.of(pendulum), Smooth.of(pendulum, solver="Tsit5")
    assert type(named.solver) is type(default.solver) is type(scheme_for(pendulum, solver="Tsit5").solver)
    assert isinstance(named.solver, diffrax.Tsit5) and isinstance(Smooth.of(Oscillator(), solver="Tsit5").solver, Tsit5)
    assert isinstance(Smooth.of(pendulum, solver="Verner8").solver, Verner8)  # diffrax has none
    monkeypatch.setattr(diffrax, "Ros4", diffrax.Kvaerno4, raising=False)  # as later versions may
    assert isinstance(Smooth.of(pendulum, solver="Ros4").solver, Ros4)


@pytest.mark.parametrize("wrong", ["Vernr8", "LSODA", "adaptive", None, diffrax.Tsit5])
def test_unknown_names_raise(wrong):
    known = {"Vernr8": "did you mean 'Verner8'", "LSODA": "the one here that is most like it is 'Rodas5P'"}
    message = known.get(wrong, "give a diffrax solver, such as .* or one of Bosh3, ")
    with pytest.raises(ValueError, match=message):
        as_solver(wrong)


def test_coefficients_of_a_controller_are_used():
    given = {"pcoeff": 0.3, "icoeff": 0.4, "safety": 0.7, "factormax": 3.0, "dtmin": 1e-3, "force_dtmin": False}
    t0, t1, y, error = (jnp.asarray(x) for x in (1.0, 1.1, 2.0, 1e-7))
    last = (jnp.asarray(0.5), jnp.asarray(0.8), jnp.asarray(False))
    ours, theirs = (kind(1e-6, 1e-6, **given) for kind in (Resolving, diffrax.PIDController))
    decided = [one.adapt_step_size(t0, t1, y, y, None, error, 5.0, last)[2] for one in (ours, theirs)]
    assert float(decided[0]) == float(decided[1]) != float(t1)
