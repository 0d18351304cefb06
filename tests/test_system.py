"""What a model builds before a run: computed once, used everywhere, and never by a model with other parameters."""

import dataclasses
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import Model, Variable, parameter, simulate, with_parameters
from jaxgait.mechanics.spatial import Link, hinge
from jaxgait.model import System, derived
from jaxgait.models import Exoskeleton, Jumper
from jaxgait.models.jumper.spatial import SpatialJumper
from jaxgait.models.tree.model import TreeModel
from jaxgait.parameters import ParameterError, parameters

ROD = TreeModel([Link("rod", None, hinge((0.0, 1.0, 0.0)), mass=2.0, com=(0.0, 0.0, -0.5))], start={"rod": 0.3})


class Swing(NamedTuple):
    angle: Any
    rate: Any


class Rod(Model):
    """A pendulum that counts how often its inertia is computed."""

    mass: float = parameter(2.0, unit="kg", doc="mass", bounds="positive")
    length: float = parameter(1.5, unit="m", doc="length", bounds="positive")
    variables: ClassVar = {"angle": Variable("rad", "angle"), "rate": Variable("rad/s", "rate")}
    duration: ClassVar = 0.5
    computed: ClassVar = []

    def initial_state(self):
        return Swing(0.3, 0.0 * self.inertia())

    @derived
    def inertia(self):
        """About the hinge, in kg m^2."""
        self.computed.append("inertia")
        return self.mass * self.length**2 / 3.0

    @derived
    def stiffness(self):
        """Of gravity for small angles, relative to the inertia, in 1/s^2."""
        self.computed.append("stiffness")
        return 0.5 * self.mass * 9.81 * self.length / self.inertia()

    def vector_field(self, t, y):
        return Swing(y.rate, -self.stiffness() * jnp.sin(y.angle))

    def outputs(self, t, y):
        return {"energy": 0.5 * self.inertia() * y.rate**2, "spin": self.inertia() * y.rate}

    def terminations(self):
        return {"over": lambda t, y: self.inertia() * y.angle > 1e3}


class Heavier(Rod):
    """Changes what its base derives."""

    @derived
    def inertia(self):
        return 2.0 * super().inertia()

    def bare(self):
        """That of the base."""
        return super().inertia()


class Pair(Rod):
    """Has another mechanism in a field."""

    other: Rod = Rod()

    @derived
    def both(self):
        return self.inertia() + self.other.inertia()

    def vector_field(self, t, y):
        return Swing(y.rate, -self.both() * y.angle - self.other.stiffness() * y.angle)


@pytest.fixture
def computed():
    Rod.computed.clear()
    return Rod.computed


def inside(model):
    """The model as its own methods see it during a run."""
    return model.prepared().initial_state.__self__


@pytest.mark.parametrize(
    ("model", "name"),
    [(Jumper(), "mass"), (SpatialJumper(), "plane.mass"), (Exoskeleton(), "masses"), (ROD, "links.rod.mass")],
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


@pytest.mark.parametrize("model", [Jumper(), Exoskeleton(), ROD, Pair()], ids=lambda m: type(m).__name__)
def test_a_prepared_model_moves_as_the_model_does(model):
    y, system = model.initial_state(), model.prepared()
    for values in ((system.vector_field(0.2, y), model.vector_field(0.2, y)), (system(0.2, y), model(0.2, y))):
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12), *values)
    jax.tree.map(np.testing.assert_array_equal, system.initial_state(), y)


def test_derived_values_are_computed_once(computed):
    system = Rod().prepared()
    assert computed == ["inertia", "stiffness"]  # the second from the first
    y = system.initial_state()
    assert system.vector_field(0.0, y) and system.outputs(0.0, y) and not system.terminations()["over"](0.0, y)
    assert computed == ["inertia", "stiffness"]


def test_a_first_run_computes_them_for_the_checks_the_run_and_the_outputs(computed):
    simulate(Rod(mass=1.7), samples=4)
    assert computed.count("stiffness") <= 3
    assert computed.count("inertia") <= 4  # the start, which is checked before the run, needs it, too


CHANGES = {
    "dataclasses.replace": lambda model: dataclasses.replace(model, mass=5.0),
    "eqx.tree_at": lambda model: eqx.tree_at(lambda m: m.mass, model, 5.0),
    "with_parameters": lambda model: with_parameters(model, {"mass": 5.0}),
    "jax.tree.map": lambda model: jax.tree.map(lambda x: 5.0 if x == 2.0 else x, model),
    "jax.jit": lambda model: jax.jit(lambda m, x: with_parameters(m, {"mass": x}))(model, 5.0),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_no_model_with_another_parameter_keeps_derived_values(change):
    """Not even one that is made from the model as its methods see it during a run."""
    assert float(change(inside(Rod())).inertia()) == pytest.approx(5.0 * 1.5**2 / 3.0)


def test_bodies_and_crouch_of_jumpers_follow_a_replaced_parameter():
    jumper = inside(Jumper())
    assert jumper.tree() is jumper.tree()
    assert float(dataclasses.replace(jumper, mass=100.0).tree().mass.sum()) == pytest.approx(100.0)
    near = dataclasses.replace(jumper, com_ahead=0.05)
    assert float(near.crouch_ankle()) == pytest.approx(float(Jumper(com_ahead=0.05).crouch_ankle()))


def test_a_subclass_may_change_a_derived_value():
    assert float(Heavier().prepared().inertia()) == pytest.approx(3.0)
    assert Heavier().prepared().bare() == Heavier().bare() == pytest.approx(1.5)
    assert float(Heavier().prepared().stiffness()) == pytest.approx(0.5 * float(Rod().stiffness()))

    class Plain(Rod):
        def inertia(self):
            return 3.0 * super().inertia()

    assert float(Plain().prepared().inertia()) == pytest.approx(4.5)


def test_models_within_a_model_are_prepared_with_it(computed):
    system = Pair(other=Rod(mass=4.0)).prepared()
    count = len(computed)
    assert float(system.both()) == pytest.approx(1.5 + 3.0)
    assert float(system.other.inertia()) == pytest.approx(3.0) and len(computed) == count


def test_derivatives_and_batches_go_through_derived_values():
    def rate(mass):
        system = Rod(mass=mass).prepared()
        return jax.jit(lambda s: s.outputs(0.0, Swing(0.1, 2.0))["spin"])(system)

    assert float(jax.jacfwd(rate)(2.0)) == pytest.approx(1.5) == float(jax.grad(rate)(2.0))
    np.testing.assert_allclose(jax.vmap(rate)(jnp.array([2.0, 4.0])), [3.0, 6.0])
