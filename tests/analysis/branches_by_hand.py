"""Followed gaits, crossings and a model made by hand, for tests of what is read from them."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np

from jaxgait.analysis.crossings import Crossing
from jaxgait.analysis.families import Gaits
from jaxgait.model import Model, Scalar, Variable, parameter

K = np.arange(1.2e4, 3.01e4, 1e3)


def followed(multiplier, members=(0, 1)) -> Gaits:
    """Gaits along `K` of which every member has this real multiplier, and a tiny second one."""
    b = len(members)
    values = np.stack([multiplier(K), np.full(K.size, 0.01)], axis=1)
    jacobian = np.zeros((K.size, b, 2, 2))
    jacobian[:, :, [0, 1], [0, 1]] = values[:, None, :]
    points, numbers = np.zeros((K.size, b, 1, 2)), np.tile(members, (K.size, 1))
    return Gaits(numbers, np.tile(K[:, None], (1, b)), points, jacobian, points, np.zeros((K.size, b)))


def crossing(k: float, member: int = 0) -> Crossing:
    return Crossing("period doubling", member, k, 1.0, np.zeros((1, 2)), np.array([-1.0, 0.01]), 0.0)


class Carried(Model):
    """A model with a mass `a`, which must be positive, for return maps of its own."""

    a: Scalar = parameter(1.0, unit="kg", doc="mass", bounds="positive")
    b: Scalar = parameter(1.0, unit="1", doc="second")
    variables: ClassVar = {"x": Variable("m", "position")}
    duration = 1.0

    def initial_state(self):
        return {"x": jnp.array(0.0)}

    def vector_field(self, t, y):
        return {"x": -y["x"]}
