"""What is no model says so, and nothing derived from parameters outlives them."""

import jax
import numpy as np
import pytest

from jaxgait.model import System, as_model
from jaxgait.models import Bungee, Exoskeleton, Jumper
from jaxgait.models.jumper.spatial import SpatialJumper
from jaxgait.models.walker.rigid import RigidWalker, RollingWalker
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
        (RigidWalker(), "jaxgait.models.walker.measures.walk"),
        (RollingWalker(), "jaxgait.solve.hybrid.hybrid"),
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
