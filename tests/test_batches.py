"""A function of one member, for all members of a model."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxgait.batches import each
from jaxgait.models.exoskeleton.model import Exoskeleton
from jaxgait.parameters import with_parameters
from tests.throw import Throw


def test_every_member_is_computed_with_the_axes_of_its_parameters():
    exo = Exoskeleton()
    lengths = np.asarray(exo.lengths) * np.array([[1.0], [2.0]])
    many = with_parameters(exo, {"lengths": lengths, "gravity": np.array([9.8, 1.6])})
    total = lambda one: (jnp.sum(jnp.asarray(one.lengths)) * one.gravity, one.tracking)
    np.testing.assert_allclose(each(many, total)[0], [2.15 * 9.8, 4.3 * 1.6])
    np.testing.assert_allclose(each(many, total)[1], 60.0)
    np.testing.assert_allclose(each(exo, total)[0], [2.15 * 9.81])
    one = with_parameters(Throw(), {"shares[0]": np.array([0.2, 0.3, 0.4]), "push[1,0]": np.array([5.0, 6.0, 7.0])})
    both = each(one, lambda one: (one.shares[0] + one.shares[1], jnp.asarray(one.push).sum()))
    np.testing.assert_allclose(both, [[0.95, 1.05, 1.15], [8.0, 9.0, 10.0]])


def test_it_is_computed_at_once_where_the_caller_is_traced():
    gravity = lambda one: jnp.asarray(one.gravity) * 2.0
    many = with_parameters(Exoskeleton(), {"gravity": np.array([9.8, 1.6])})
    assert jax.jit(lambda x: x * float(each(many, gravity)[1]))(1.0) == 3.2
    assert jax.jit(lambda x: x * float(each(Exoskeleton(), gravity)[0]))(1.0) == 19.62


def test_constants_are_not_compiled_one_by_one(caplog):
    def turned(one):  # operations on constants, each of which would be a program
        return jnp.sin(jnp.linspace(0.0, 1.0, 5)[1:3]).sum() * jnp.asarray(one.gravity)

    with jax.log_compiles():
        found = each(Exoskeleton(), turned)
    np.testing.assert_allclose(found, [9.81 * np.sin([0.25, 0.5]).sum()])
    compiled = [r.getMessage() for r in caplog.records if r.getMessage().startswith("Finished XLA compilation")]
    assert [text for text in compiled if "sin" in text or "iota" in text] == [], compiled
