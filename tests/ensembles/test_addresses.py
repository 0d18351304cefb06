"""Values by dotted name: what is a parameter, and what a component of the initial state."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import pytest

from jaxgait import Bungee, Model, Variable, ensemble, parameter, part
from jaxgait.ensembles.addresses import member_of, parted, shape_of
from jaxgait.parameters import ParameterError


class Launch(eqx.Module):
    v: float = parameter(2.0, unit="m/s", doc="speed of the launch")


class Thrown(Model):
    """A body whose part is called like the prefix of components of the initial state."""

    initial: Launch = part(Launch(), doc="how it starts")
    variables: ClassVar = {"x": Variable("m", "position"), "v": Variable("m/s", "velocity")}
    duration: ClassVar = 1.0

    def initial_state(self):
        return {"x": jnp.array(0.0), "v": 2.0 * self.initial.v}

    def vector_field(self, t, y):
        return {"x": y["v"], "v": 0.0 * y["x"]}


def test_a_parameter_of_a_part_called_initial_is_no_component():
    values = {"initial.v": 3.0, "initial.x": 1.0}
    assert parted(Thrown(), values) == ({"initial.v": 3.0}, {"x": 1.0})
    model, y0 = member_of(Thrown(), values)
    assert (float(model.initial.v), float(y0["x"]), float(y0["v"])) == (3.0, 1.0, 6.0)
    scan = ensemble(Thrown(), {"initial.v": [1.0, 3.0], "initial.x": [0.0, 5.0]}, samples=2)
    assert scan.x_end.values == pytest.approx(jnp.array([[2.0, 7.0], [6.0, 11.0]]))


def test_shapes_are_those_of_parameters_and_components():
    assert shape_of(Bungee(), "mass") == shape_of(Bungee(), "initial.v") == ()
    with pytest.raises(ParameterError, match=r"the state of Bungee has no component 'w': .*initial\.v"):
        shape_of(Bungee(), "initial.w")
