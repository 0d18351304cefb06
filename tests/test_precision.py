"""Precision at the seam: what becomes an array of which dtype, and what does not compile anew."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import ensemble, precision, simulate
from jaxgait.models.base import parameter
from jaxgait.models.bungee import Bungee
from jaxgait.models.parameters import with_parameters


class Part(eqx.Module):
    length: float = parameter(1.0, unit="m", doc="a length")
    masses: tuple[float, ...] = parameter((1.0, 2.0), unit="kg", doc="masses")
    links: int = parameter(4, unit="1", doc="a declared integer")
    count: int = 3


class Whole(eqx.Module):
    parts: tuple[Part, ...]
    named: dict[str, Part]
    table: np.ndarray = parameter(np.arange(3), unit="1", doc="a table")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_declared_parameters_are_real_numbers_and_counts_stay_counts(dtype):
    part = Part(length=2, masses=(1, np.int64(2)))
    with precision.use(dtype):
        cast = precision.cast(Whole((part,), {"a": part}, np.arange(3)))
    for found in (cast.parts[0], cast.named["a"]):
        assert all(isinstance(x, jax.Array) and x.dtype == dtype for x in (found.length, *found.masses))
        assert (float(found.length), *map(float, found.masses), found.links, found.count) == (2.0, 1.0, 2.0, 4, 3)
    assert cast.table.dtype == dtype


def test_what_was_not_declared_is_left_alone():
    given = {"i": 3, "flag": True, "n": np.arange(2), "x": 1.5, "y": np.float32(2), "none": None}
    found = precision.cast(given)
    assert (found["i"], found["flag"], found["none"]) == (3, True, None)
    assert found["n"].dtype == np.int64 and found["x"].dtype == found["y"].dtype == jnp.float64


class Counted(Bungee):
    """A jumper who notes how often he is traced."""

    def vector_field(self, t, y):
        traced.append(self)
        return super().vector_field(t, y)


traced: list[Counted] = []


RUNS = {
    "simulate": lambda model: simulate(model, duration=1.0),
    "ensemble": lambda model: ensemble(model, {"mass": [60, 70]}, duration=1.0, trajectories=True),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_integers_for_parameters_compile_nothing_anew(run):
    run(with_parameters(Counted(), {"stiffness": 20}))
    traced.clear()
    found = run(with_parameters(Counted(), {"stiffness": 21}))
    expected = run(with_parameters(Counted(), {"stiffness": 21.0}))
    assert not traced
    np.testing.assert_array_equal(found.x, expected.x)
