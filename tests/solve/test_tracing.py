"""Errors of a model's functions, in its own terms."""

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import Model, Variable, ensemble, parameter, simulate, with_parameters
from jaxgait.fields import Immutable
from jaxgait.parameters import ParameterError
from jaxgait.solve.tracing import EquationError
from jaxgait.support.checks import Place


class State(NamedTuple):
    x: jax.Array
    v: jax.Array


class Springs(Immutable):
    stiffness: jax.Array = parameter((100.0, 200.0, 300.0), unit="N/m", doc="stiffness of the springs")


class Stack(Model):
    masses: jax.Array = parameter((1.0, 2.0, 3.0), unit="kg", doc="masses", bounds="positive")
    weights: tuple[Any, ...] = parameter((1.0, 1.0), unit="1", doc="weights of any number of terms")
    springs: Springs = Springs()
    variables: ClassVar = {"x": Variable("m", "positions", ("block",)), "v": Variable("m/s", "speeds", ("block",))}
    duration = 0.1

    @property
    def labels(self):
        return {"block": ("a", "b", "c")}

    def initial_state(self):
        return State(jnp.array([0.0, 0.1, 0.2]), jnp.zeros(3))

    def vector_field(self, t, y):
        return State(y.v, -sum(self.weights) * self.springs.stiffness * y.x / self.masses)


class Columns(Stack):
    def vector_field(self, t, y):
        return State(y.v, -1.0 / self.masses)


class Torn(Stack):
    def vector_field(self, t, y):
        return State(y.v, y.x * jnp.ones(2))  # never


@pytest.mark.slow
@pytest.mark.parametrize("given", [[1.0, 2.0], [1.0, 2.0, 3.0, 4.0]])
@pytest.mark.parametrize("name", ["masses", "springs.stiffness"])
@pytest.mark.parametrize("run", [simulate, lambda model, **span: ensemble(model, {"weights[0]": [0.5, 1.0]}, **span)])
def test_an_array_of_a_length_for_which_the_equations_fail_is_named(name, given, run):
    model = with_parameters(Stack(), {name: given, "weights": (1.0, 2.0, 3.0)})
    wanted = rf"^Stack.{name} must have the shape \(3,\), got \({len(given)},\): the equations fail otherwise \("
    with pytest.raises(ParameterError, match=wanted):
        run(model, duration=0.1, samples=2)


def test_arrays_that_fail_together_are_all_named():
    changed = {"masses": [1.0, 2.0], "springs.stiffness": [100.0, 200.0]}
    with pytest.raises(ParameterError, match=r"^Stack.masses must .*; Stack.springs.stiffness must .*: the eq"):
        simulate(with_parameters(Stack(), changed), samples=2)


def test_rates_of_another_length_name_the_array():
    with pytest.raises(ParameterError, match=r"^Columns.masses must have the shape \(3,\), got \(2,\)"):
        simulate(Columns(masses=[1.0, 2.0]), samples=2)


@pytest.mark.slow
def test_an_array_of_another_length_that_the_equations_accept_is_no_error():
    run = simulate(with_parameters(Stack(), {"weights": (0.5, 0.5, 1.0)}), samples=2)
    np.testing.assert_allclose(run.x, simulate(Stack(), samples=2).x, rtol=1e-12)


def test_equations_that_fail_anyway_do_not_blame_an_array():
    with pytest.raises(TypeError, match="incompatible shapes"):
        simulate(Torn(masses=[1.0, 2.0]), samples=2)


def test_an_error_of_the_equations_has_a_note_with_model_method_file_and_line():
    with pytest.raises(TypeError) as caught:
        simulate(Torn(), samples=2)
    (place,) = [note for note in caught.value.__notes__ if isinstance(note, Place)]
    assert place.startswith("in Torn.vector_field, line ") and f"of {__file__}: 'return State(y.v, y.x * " in place


@pytest.mark.parametrize("method", ["initial_state", "vector_field"])
def test_text_for_a_number_is_named(method):
    wrong = type("Wrong", (Stack,), {method: lambda self, *at: State(jnp.zeros(3), "fast")})
    where = r" for \.v" if jax.__version_info__ >= (0, 10) else ""  # which version 0.8 does not know
    with pytest.raises(EquationError, match=rf"Wrong\.{method} must return numbers, got one of type str{where}"):
        simulate(wrong(), samples=2)


def test_a_long_line_of_code_is_cut():
    long = lambda self, t, y: State(y.v, y.x if y.x[0] > 0.0 else -y.x + 0.0 * y.x + 0.0 * y.x + 0.0 * y.x + 0.0 * y.x)
    with pytest.raises(EquationError, match=r"compiled program runs \(line .*\.\.\.'\)") as caught:
        simulate(type("Long", (Stack,), {"vector_field": long})(), samples=2)
    assert "y.x + 0.0 * y.x)" not in str(caught.value)


def test_an_error_in_the_models_terms_is_one_of_its_equations():
    with pytest.raises(EquationError, match=r"the rates with the shape \(3,\) for .v, got \(2,\)"):
        simulate(type("Short", (Stack,), {"vector_field": lambda self, t, y: State(y.v, y.x[:2])})(), samples=2)


@pytest.mark.parametrize(
    ("method", "what"),
    [
        ({"phases": lambda self: [lambda t, y: State(y.v)]}, r"phases\(\)\[0\]"),
        ({"vector_field": lambda self, t, y: State(x=y.v)}, "vector_field"),
    ],
)
def test_a_component_that_is_left_out_is_named(method, what):
    short = type(
        "Short", (Stack,), {"transitions": lambda self: {}, "phases": lambda self: [self.vector_field]} | method
    )
    with pytest.raises(EquationError, match=rf"Short\.{what} \(line .*\) must give State all .*: it lacks 'v'"):
        simulate(short(), samples=2)
