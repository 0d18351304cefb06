"""What is not a model says so, and nothing derived from parameters outlives them."""

from typing import ClassVar

import jax
import numpy as np
import pytest

from jaxgait import simulate
from jaxgait.model import Model, System, Variable, as_model
from jaxgait.models import Bungee, Exoskeleton, Jumper
from jaxgait.models.jumper.spatial import SpatialJumper
from jaxgait.parameters import ParameterError, parameters, with_parameters


def test_a_model_is_a_model():
    model = Bungee()
    assert as_model(model) is model


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Bungee, r"an instance of the model, not the class: Bungee\(\)"),
        ("bungee", r"Bungee\(\) from jaxgait.models instead of 'bungee'"),
        ("knee", r"Prosthesis\(\) from jaxgait.models instead of 'knee'"),
        (None, "got None"),
        ({"mass": 70}, "something of type dict"),
        (Bungee().prepared(), "the Bungee itself"),
    ],
    ids=str,
)
def test_what_is_no_model_says_what_would_be_right(given, message):
    with pytest.raises(TypeError, match=message):
        as_model(given)


@pytest.mark.parametrize(
    ("model", "name"), [(Jumper(), "mass"), (SpatialJumper(), "plane.mass"), (Exoskeleton(), "masses")]
)
def test_parameters_of_a_prepared_model_cannot_be_replaced(model, name):
    """Its bars, its crouch, its factors were worked out before: they would not follow."""
    system = model.prepared()
    assert isinstance(system, System)
    value = 1.1 * np.asarray(parameters(model)[name].value)
    with pytest.raises(ParameterError, match="prepare it again"):
        with_parameters(system, {name: value})
    with pytest.raises(ParameterError, match="prepared"):
        parameters(system)


@pytest.mark.parametrize("model", [Jumper(), Exoskeleton()])
def test_a_prepared_model_moves_as_the_model_does(model):
    y = model.initial_state()
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12),
        model.prepared().vector_field(0.2, y),
        model.vector_field(0.2, y),
    )


@pytest.mark.parametrize("given", [Bungee, None, "bungee"])
def test_only_instances_have_parameters(given):
    with pytest.raises(ParameterError, match="only an instance"):
        with_parameters(given, {"mass": 70.0})


def test_a_class_that_lacks_something_says_so_when_it_is_defined():
    with pytest.raises(TypeError, match=r"Hopper lacks duration, .*; variables, .*; how it moves: vector_field"):

        class Hopper(Model):
            def initial_state(self):
                return np.zeros(2)


class _Branching(Model):
    variables: ClassVar = {"state": Variable("m", "position")}
    duration = 1.0

    def initial_state(self):
        return jax.numpy.zeros(2)

    def vector_field(self, t, y):
        return -y if y[0] > 0.0 else y


class _Misshapen(_Branching):
    def vector_field(self, t, y):
        return (y[1], -y[0])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            _Branching(),
            r"vector_field looks at a value .* 'return -y if y\[0\] > 0.0 else y'\): write jnp.where",
        ),
        (_Misshapen(), r"must return the rates as a .*, like the state, got a tuple"),
    ],
    ids=["branches", "another structure"],
)
def test_faults_in_equations_are_said_in_the_models_terms(model, message):
    with pytest.raises(TypeError, match=message):
        simulate(model)
