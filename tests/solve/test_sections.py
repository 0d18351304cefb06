"""Coordinates of a section that do not fit together, or leave out something on which a gait depends, are noticed."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.analysis.attractors import basin, bifurcation_diagram
from jaxgait.analysis.continuation import BifurcationPoint, bifurcation_curve, continuation, locate
from jaxgait.analysis.crossings import crossings
from jaxgait.analysis.families import Family, Gaits, fixed_points, follow, gaits
from jaxgait.analysis.floquet import lyapunov_exponent
from jaxgait.kinds import Transition
from jaxgait.model import Model, Scalar, Variable, parameter
from jaxgait.parameters import with_parameters
from jaxgait.solve.periodic import CONVERGED, Coordinates, PoincareMap, fixed_point
from jaxgait.solve.sections import check_section


class Ball(NamedTuple):
    x: Scalar
    z: Scalar
    v: Scalar
    spin: Scalar


class Driven(Model):
    """Is struck at every bounce, also by its spin, which grows; it travels at 2 m/s."""

    grip: float = parameter(0.0, unit="m/rad", doc="effect of the spin", bounds="any")
    lift: float = parameter(0.0, unit="m/s", doc="speed added at each bounce", bounds="any")

    variables = {  # noqa: RUF012
        "x": Variable("m", "distance"),
        "z": Variable("m", "height"),
        "v": Variable("m/s", "speed"),
        "spin": Variable("rad/s", "spin"),
    }
    duration = 2.0

    def initial_state(self):
        return Ball(0.0, 0.0, 4.0, 0.0)

    def phases(self):
        return [lambda t, y: Ball(2.0, y.v, -10.0, 0.5)]

    def transitions(self):
        struck = lambda t, y: Ball(y.x, 0.0 * y.z, 2.0 + self.lift - 0.5 * y.v + self.grip * y.spin, 0.5 * y.spin)
        return {"bounce": Transition(0, 0, lambda t, y: y.z, reset=struck)}


def coordinates(*names: str) -> Any:
    """The named components; the others are zero."""
    zero = Ball(*(jnp.zeros(()) for _ in Ball._fields))
    return Coordinates(
        lambda model, z: zero._replace(**dict(zip(names, z, strict=True))),
        lambda model, y: jnp.stack([getattr(y, name) for name in names]),
    )


HELD, SHORT = PoincareMap(coordinates=coordinates("v", "spin")), PoincareMap(coordinates=coordinates("v"))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("model", "section"),
    [(Driven(grip=0.3), HELD), *(pytest.param(Driven(), section, marks=pytest.mark.slow) for section in (HELD, SHORT))],
)
def test_what_only_shifts_may_be_left_out(model, section):
    """The distance; and the spin, where nothing depends on it."""
    start = np.array([4.0, 0.4])[: 1 if section is SHORT else 2]
    assert fixed_point(section, model, start).status == CONVERGED


@pytest.mark.slow
def test_a_component_that_is_left_out_and_counts_is_named():
    with pytest.warns(
        UserWarning, match=r"gait of Driven does not repeat: .* other values of x .*, spin \(0\. for 0\.2128\)"
    ):
        found = fixed_point(SHORT, Driven(grip=0.3), np.array([4.0]))
    assert found.status == CONVERGED


BOTH = coordinates("v", "spin")
ORDER = PoincareMap(coordinates=BOTH._replace(point=coordinates("spin", "v").point))
UNITS = PoincareMap(coordinates=BOTH._replace(point=lambda model, y: jnp.stack([y.v, 57.3 * y.spin])))


@pytest.mark.parametrize(
    ("section", "what"),
    [
        (ORDER, r"z\[0\] = 4 becomes 0\.5.*z\[1\] = 0\.5 becomes 4"),
        (UNITS, r"z\[1\] = 0\.5 becomes 28"),
    ],
)
def test_coordinates_of_another_order_or_unit_are_rejected(section, what):
    with pytest.raises(ValueError, match=rf"section\(on_section\(z\)\) must be z, .*: {what}"):
        fixed_point(section, Driven(), np.array([4.0, 0.5]))
    with pytest.raises(ValueError, match="must be z"):
        fixed_points(section, Driven(), {"grip": np.array([0.0, 0.1])}, np.array([4.0, 0.5]))


START = np.array([4.0, 0.5])
FOLD = BifurcationPoint("fold", 0.1, START, np.ones(2), np.ones(2))


STEEPER = Gaits(
    *(np.array([[0], [0]]), np.array([[0.0], [0.1]]), np.tile(START, (2, 1, 1, 1))),
    *(np.array([[np.diag([-0.9, 0.5])], [np.diag([-1.1, 0.5])]]), np.zeros((2, 1, 1, 2)), np.zeros((2, 1))),
)
"""A branch whose gaits lose their stability between two values of the parameter."""


def family(section):
    vary = lambda model, member, value: with_parameters(model, {"grip": value})
    return Family(section, Driven(), vary, np.zeros(1), lanes=1)


@pytest.mark.parametrize(
    "analysis",
    [
        lambda section: continuation(section, Driven(), "grip", START, (0.0, 0.3)),
        lambda section: locate(section, Driven(), "grip", "fold", START, 0.1),
        lambda section: bifurcation_curve(section, Driven(), FOLD, ("grip", "lift"), (0.0, 0.3)),
        lambda section: bifurcation_diagram(section, Driven(), "grip", np.array([0.0, 0.1]), START, discard=1, keep=1),
        lambda section: basin(section, Driven(), START[None], gait=START[None], tolerance=0.1),
        lambda section: lyapunov_exponent(section, Driven(), jnp.asarray(START), strides=1),
        lambda section: gaits(family(section), np.array([0]), 0.1, START[None, None]),
        lambda section: follow(family(section), np.array([0]), np.array([0.0, 0.1]), START[None, None]),
        lambda section: crossings(family(section), STEEPER, width=1e-3),
    ],
)
def test_every_analysis_rejects_coordinates_that_do_not_fit_before_it_compiles_anything(analysis, monkeypatch):
    monkeypatch.setattr(PoincareMap, "__call__", lambda *_: pytest.fail("the map was traced"))
    with pytest.raises(ValueError, match=r"section\(on_section\(z\)\) must be z, .*z\[0\] = 4 becomes 0\.5"):
        analysis(ORDER)


def test_a_map_without_a_section_is_not_checked():
    check_section(lambda model, z: z[::-1], Driven(), jnp.array([4.0, 0.5]))
