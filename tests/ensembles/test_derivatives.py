"""Derivatives that are zero, or contradict the differences between members."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from jaxgait import Measure, Model, Variable, ensemble, grid, latin_hypercube, parameter, zipped
from jaxgait.ensembles import derivatives
from jaxgait.outcome import INVALID, Outcome


def test_parameters_by_which_nothing_has_a_slope_are_named():
    """Of a law that jumps at a time, the derivative by this time is zero, though not its effect."""
    dims = ("k", "parameter")
    gone = [np.nan, np.nan]  # of a member that failed
    slopes = {"end_gradient": (dims, [[0.0, 1.0], [0.0, 2.0], gone]), "top_gradient": (dims, [*np.zeros((2, 2)), gone])}
    values = {"status": ("k", [0, 0, Outcome.MAX_STEPS]), "end": ("k", [1.0, 2.0, np.nan]), "top": ("k", np.ones(3))}
    scan = xr.Dataset(values | slopes, {"parameter": ["onset", "force"]})
    with pytest.warns(UserWarning, match="by onset are exactly 0: nothing .* or only through where a law jumps"):
        derivatives.warn_of_gradients(scan, {})
    with pytest.warns(UserWarning, match="all derivatives of top are exactly 0") as caught:
        derivatives.warn_of_gradients(scan.drop_vars("end_gradient"), {})
    assert len(caught) == 1


class Thrown(Model):
    """A body that is pushed beyond a position."""

    force: float = parameter(1.0, unit="N", doc="force ahead of the position")
    drag: float = parameter(0.3, unit="N s/m", doc="linear drag", bounds="nonnegative")
    variables: ClassVar = {"x": Variable("m", "position"), "v": Variable("m/s", "speed")}
    duration: ClassVar = 2.0

    def initial_state(self):
        return {"x": jnp.array(-1.0), "v": jnp.array(1.0)}

    def pushed(self, x):
        return jnp.where(x > 0.0, 1.0, 0.0)

    def vector_field(self, t, y):
        return {"x": y["v"], "v": self.force * self.pushed(y["x"]) - self.drag * y["v"]}


class Gradually(Thrown):
    def pushed(self, x):
        return jnp.clip(x / 0.4 + 0.5, 0.0, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("model", [Thrown(), Gradually()])
def test_derivatives_that_lack_the_motion_of_a_jump_contradict_the_values(model, recwarn):
    """The force does not change when the position is passed, but the drag does."""
    distance = Measure("distance", lambda run: run["x"][-1], "m", "distance")
    members = {"force": np.linspace(1.0, 3.0, 5), "drag": np.linspace(0.1, 0.6, 6)}
    ensemble(model, members, observe=[distance], gradient=["force", "drag"])
    told = [str(one.message) for one in recwarn if "derivatives" in str(one.message)]
    assert len(told) == (type(model) is Thrown) and all(one.endswith(": distance by drag") for one in told)


def scan_of(members, function, slopes):
    """A scan of made-up values and derivatives, from functions of all its members."""
    at = [members.values[name] for name in ("a", "b")]
    value, gradient = function(*at), np.stack(slopes(*at), axis=-1)
    columns = {
        "status": (members.dims, np.zeros(members.shape, int)),
        "y": (members.dims, value.reshape(members.shape)),
        "y_gradient": ((*members.dims, "parameter"), gradient.reshape(*members.shape, 2)),
    }
    return xr.Dataset(columns, {"parameter": ["a", "b"]})


BOX = {"a": np.linspace(0.0, 1.0, 30), "b": np.linspace(0.0, 50.0, 7)}
SETS = {
    "grid": grid(BOX),
    "samples": latin_hypercube({"a": (0.0, 1.0), "b": (0.0, 50.0)}, 100),
    "few": grid({"a": [0.0, 1.0], "b": [0.0, 5.0]}),
}
wave = lambda a, b: np.sin(6.0 * a) + np.exp(-b / 20.0)
wave_slopes = lambda a, b: (6.0 * np.cos(6.0 * a), -np.exp(-b / 20.0) / 20.0)


@pytest.mark.parametrize("kind", SETS)
def test_right_derivatives_agree_however_coarse_the_scan(kind, recwarn):
    members = SETS[kind]
    derivatives.warn_of_gradients(scan_of(members, wave, wave_slopes), members.values)
    assert not recwarn.list


@pytest.mark.parametrize("kind", ["grid", "samples"])
def test_derivatives_that_lack_a_third_disagree(kind):
    members = SETS[kind]
    wrong = lambda a, b: [slope / 1.5 for slope in wave_slopes(a, b)]
    with pytest.warns(UserWarning, match="neighbouring members, .*y by a and b"):
        derivatives.warn_of_gradients(scan_of(members, wave, wrong), members.values)


def test_a_member_without_a_value_of_a_parameter_hides_nothing():
    """As with `invalid="mark"`: it does not run."""
    values = {name: np.where(np.arange(210) == 3, np.nan, x) for name, x in SETS["grid"].values.items()}
    scan = scan_of(SETS["grid"], wave, lambda a, b: [slope / 1.5 for slope in wave_slopes(a, b)])
    scan["status"][0, 3] = INVALID
    with pytest.warns(UserWarning, match="neighbouring members, .*y by a and b"):
        derivatives.warn_of_gradients(scan, values)


def test_members_that_failed_and_parameters_that_vary_beside_the_gradient_are_left_out(recwarn):
    members = SETS["grid"]
    scan = scan_of(members, wave, wave_slopes)
    scan["y"][::2] = 7.0  # another parameter changes the values, and these runs failed
    scan["status"][::2] = Outcome.MAX_STEPS
    derivatives.warn_of_gradients(scan.sel(parameter=["b"]), members.values)
    assert not recwarn.list


@pytest.mark.parametrize("factor", [1.0, -1.0])
def test_values_that_are_missing_infinite_or_of_failed_members_do_not_matter(factor, recwarn):
    """As of events that did not happen; nor does a parameter that is constant among the members that are compared."""
    members, size = zipped({"a": np.linspace(0.0, 1.0, 600), "b": 1.0 * (np.arange(600) == 3)}), 600
    a, values, slopes = members.values["a"], np.full((size, 3), np.nan), np.full((size, 3, 2), np.nan)
    values[:, 0], slopes[:, 0] = a**2, factor * np.stack([2.0 * a, 0.0 * a], axis=-1)
    values[300:, 1], slopes[300:, 1] = np.inf, np.inf
    values[::7] = 1e9
    columns = {"status": ("k", np.where(np.arange(size) % 7, 0, Outcome.MAX_STEPS)), "y": (("k", "event"), values)}
    scan = xr.Dataset(columns | {"y_gradient": (("k", "event", "parameter"), slopes)}, {"parameter": ["a", "b"]})
    derivatives.warn_of_gradients(scan, members.values)
    found = [str(one.message) for one in recwarn if "gradients are not finite" not in str(one.message)]
    assert len(found) == (factor < 0.0) and all(one.endswith(": y by a") for one in found), found
