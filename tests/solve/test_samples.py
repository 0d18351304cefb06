"""Extremes between the ends of steps: their values, their derivatives, and outputs that jump."""

import functools
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import Measure, Model, Numerics, Transition, Variable, ensemble, parameter, precision
from jaxgait.model import Scalar
from jaxgait.solve.samples import Snapshot, at_first, including_step
from jaxgait.solve.smooth import Smooth, integrate
from tests.solve.swing import Harmonic, Swing

CUBIC = 2e-6  # of the amplitude; steps of a tenth of a radian: (h w)^4 / 384, and what is left of the solver
SLOPE = 1e-4  # its derivative: one order lower


class Swinging(Harmonic):
    """Set out at `speed` from the middle: it turns at speed / rate, between the ends of steps."""

    rate: Scalar = parameter(10.0, unit="rad/s", doc="angular frequency")
    speed: Scalar = parameter(3.0, unit="m/s", doc="speed at the start")

    variables: ClassVar = {
        **Harmonic.variables,
        "force": Variable("N", "force"),
        "right": Variable("1", "right of the middle"),
    }
    numerics: ClassVar = Numerics(stiff=False, rtol=1e-9, atol=1e-9, max_step=0.01)
    duration: ClassVar = 0.5

    def initial_state(self):
        return Swing(jnp.asarray(0.0), self.speed)

    def outputs(self, t, y):
        return {"force": self.rate**2 * y.x, "right": y.x > 0.0}

    def phases(self):
        return (self.vector_field,)

    def transitions(self):
        return {"back": Transition(0, 0, lambda t, y: y.x - 0.05)}


PEAKS = [
    Measure("top", lambda run: run.extremes("force").largest, "N", "largest", watch=("force",)),
    Measure("low", lambda run: run.extremes("force").least, "N", "least", watch=("force",)),
]


RIGHT = Measure("right", lambda run: run.extremes("right").largest.sum(), "1", "was right", watch=("right",))


@functools.cache
def swings(scheme):
    """Peaks and a flag of three swings, with the slopes of the peaks."""
    members = {"rate": [9.9, 10.0, 10.1]}
    return ensemble(Swinging(), members, scheme=scheme, samples=2, observe=[*PEAKS, RIGHT], gradient=["speed", "rate"])


@pytest.mark.parametrize("scheme", [pytest.param("EventDriven", marks=pytest.mark.slow), "Smooth"])
def test_peaks_and_their_slopes_are_those_of_the_motion(scheme):
    found = swings(scheme)
    exact = 3.0 * np.array([9.9, 10.0, 10.1])  # N: rate * speed
    for name, sign in (("top", 1.0), ("low", -1.0)):
        np.testing.assert_allclose(found[name], sign * exact, rtol=CUBIC)
        slopes = found[f"{name}_gradient"]
        np.testing.assert_allclose(slopes.sel(parameter="speed"), sign * exact / 3.0, rtol=SLOPE)
        np.testing.assert_allclose(slopes.sel(parameter="rate"), sign * 3.0, rtol=SLOPE)


@pytest.mark.slow
def test_second_derivatives_of_a_peak_are_those_of_the_motion():
    """Of the largest sum of two swings, which turns at a time that depends on their shares."""

    def seen(share, t):
        return jax.jvp(lambda t: jnp.sin(10.0 * t) + share * jnp.cos(10.0 * t), (t,), (1.0,))

    def largest(share):
        steps = [(jnp.array(t), *seen(share, t)) for t in (0.13, 0.15)]
        before, after = (Snapshot(t, {"x": x}, {"x": rate}) for t, x, rate in steps)
        return including_step(at_first(before), before, after)["x"].largest

    exact = lambda share: jnp.sqrt(1.0 + share**2)
    np.testing.assert_allclose(jax.jacfwd(largest)(0.2), jax.jacfwd(exact)(0.2), rtol=1e-3)
    np.testing.assert_allclose(jax.jacfwd(jax.jacfwd(largest))(0.2), jax.jacfwd(jax.jacfwd(exact))(0.2), rtol=3e-2)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["EventDriven", "Smooth"])
def test_a_flag_is_watched_without_a_slope(scheme):
    assert (swings(scheme).right == 1).all()


@pytest.mark.parametrize(("before", "after"), [((0.0, 1.0), (100.0, -20.0)), ((0.0, 0.1), (100.0, -0.1))])
def test_a_jump_within_a_step_is_not_a_peak(before, after):
    one = lambda t, pair: Snapshot(jnp.asarray(t), {"f": jnp.asarray(pair[0])}, {"f": jnp.asarray(pair[1])})
    start, end = one(0.0, before), one(1.0, after)
    seen = jax.jit(including_step)(at_first(start), start, end)["f"]
    assert float(seen.largest) == 100.0 and float(seen.least) == 0.0


class Falling(Model):
    """Falls on Hertz' law as one writes it, whose second derivative is infinite out of contact."""

    stiffness: Scalar = parameter(1e4, unit="N/m^1.5", doc="of the ground")

    variables: ClassVar = {"x": Variable("m", "height"), "v": Variable("m/s", "velocity"), "f": Variable("N", "force")}
    numerics: ClassVar = Numerics(stiff=False, rtol=1e-9, atol=1e-9, max_step=0.01)
    duration: ClassVar = 0.6

    def initial_state(self):
        return Swing(0.5, 0.0)

    def force(self, x):
        return self.stiffness * jnp.maximum(-x, 0.0) ** 1.5

    def vector_field(self, t, y):
        return Swing(y.v, self.force(y.x) - 9.81)

    def outputs(self, t, y):
        return {"f": self.force(y.x)}


@pytest.mark.slow
def test_reverse_mode_has_derivatives_where_the_rates_have_none():
    def top(stiffness, mode):
        model = Falling(stiffness)
        run = integrate(model, jnp.array([0.0, 0.6]), Smooth.of(model, mode=mode), watch=("f",))
        return run.extremes["f"].largest

    with precision.use("float64"):
        forward, reverse = jax.jacfwd(top)(1e4, "forward"), jax.grad(top)(1e4, "reverse")
        by_differences = (top(1.001e4, "forward") - top(0.999e4, "forward")) / 20.0
    assert forward == pytest.approx(float(by_differences), rel=1e-3)
    assert reverse == pytest.approx(float(forward), rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["EventDriven", "Smooth"])
def test_outputs_of_another_type_are_watched(scheme):
    class Single(Swinging):
        def outputs(self, t, y):
            return {"force": jnp.asarray(y.x, jnp.float32), "right": y.x > 0.0}

    found = ensemble(Single(), {"speed": [3.0]}, observe=PEAKS, scheme=scheme, progress=False)
    assert found.top.item() == pytest.approx(0.3, rel=1e-4)


@pytest.mark.slow
def test_rates_of_another_type_are_those_of_the_state():
    class Coasting(Swinging):
        def vector_field(self, t, y):
            return Swing(y.v, 0)

    found = ensemble(Coasting(), {"speed": [3.0]}, observe=PEAKS, scheme="Smooth", progress=False)
    assert found.top.item() == pytest.approx(10.0**2 * 3.0 * 0.5)
