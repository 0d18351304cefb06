"""Long walks, basins and exponents: impossible requests raise, and no direction is left out."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.analysis.attractors import REACHED, basin, bifurcation_diagram
from jaxgait.analysis.floquet import lyapunov_exponent
from jaxgait.kinds import Transition
from jaxgait.native import explain
from jaxgait.outcome import IncompleteRun
from jaxgait.parameters import ParameterError
from jaxgait.solve.periodic import Coordinates, PoincareMap
from jaxgait.support import notes
from tests.analysis.branches_by_hand import Carried

halves = lambda model, z: 0.5 * z


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gait": [[np.nan]]}, "gait must be finite, got .*nan"),
        ({"gait": [[0.0], [np.nan]]}, "gait must be finite, got .*nan"),
        ({"z0": [[np.nan]]}, "z0 must be finite"),
        ({"z0": [[0.1, 0.2, 0.3]]}, r"gait must be its points \(points, 3\), .*, got \(1, 1\)"),
        ({"strides": -3}, "strides must be a whole number"),
        ({"tolerance": np.nan}, "tolerance must be one number"),
        ({"tolerance": 0.0}, "tolerance must be one number"),
    ],
)
def test_no_outcome_of_bad_input(arguments, message):
    given = {"z0": [[0.1]], "gait": [[0.0]]} | arguments
    z0, gait = (np.array(given.pop(name)) for name in ("z0", "gait"))
    with pytest.raises(ValueError, match=message):
        basin(halves, None, z0, gait, **given)


@pytest.mark.parametrize(
    ("values", "start", "discard", "keep", "message"),
    [
        ([-1.0, 1.0], [0.1], 1, 1, r"a \(mass\) must be positive, got -1 kg"),
        ([0.0, 1.0], [0.1], 1, 1, r"a \(mass\) must be positive, got 0 kg"),
        ([1.0, 2.0], [0.1], -2, 1, "discard must be a whole number, at least 0"),
        ([1.0, 2.0], [0.1], 1, -1, "keep must be a whole number, at least 1"),
        ([1.0, 2.0], [[0.1]], 1, 1, "one start or one per value, got the shapes"),
    ],
)
def test_no_diagram_of_bad_input(values, start, discard, keep, message):
    with pytest.raises((ValueError, ParameterError), match=message):
        bifurcation_diagram(halves, Carried(), "a", jnp.array(values), jnp.array(start), discard=discard, keep=keep)


def test_walks_that_fall_are_counted_and_those_that_follow_do_not():
    """The gait of each value is at that value, and is reached from within a distance of 1."""
    near = lambda model, z: jnp.where(jnp.abs(z - model.a) < 1.0, 0.5 * (z + model.a), jnp.nan)
    values, start, strides = jnp.array([1.0, 1.8, 2.6, 3.4, 5.0, 4.2]), jnp.array([1.0]), {"discard": 40, "keep": 2}
    with pytest.warns(
        IncompleteRun, match=r"4 of 6 walks fell \(first at a = 2.6\), and their .* give follow=True, or"
    ):
        bifurcation_diagram(near, Carried(), "a", values, start, **strides)
    with pytest.warns(IncompleteRun, match=r"1 of 6 walks fell \(first at a = 5\), .* give values in shorter steps"):
        followed = bifurcation_diagram(near, Carried(), "a", values, start, follow=True, **strides)
    expected = np.where(values == 5.0, np.nan, values)  # the next walk starts where the one before that ended
    np.testing.assert_allclose(followed[:, :, 0], np.stack([expected] * 2, axis=1), atol=1e-9)
    with pytest.raises(ValueError, match=r"with follow=True, z0 must be the start of the first walk, got the shape"):
        bifurcation_diagram(near, Carried(), "a", values, values[:, None], follow=True, **strides)


@pytest.mark.slow
def test_many_strides_from_event_to_event_are_one_kernel():
    class Ball:
        """Of 10 m/s^2, which returns with half of its speed."""

        duration = 1.0

        def initial_state(self):
            return {"z": jnp.array(1.25), "v": jnp.array(0.0)}

        def phases(self):
            return [lambda t, y: {"z": y["v"], "v": jnp.array(-10.0)}]

        def transitions(self):
            bounce = lambda t, y: {"z": 0.0 * y["z"], "v": -0.5 * y["v"]}
            return {"bounce": Transition(0, 0, guard=lambda t, y: y["z"], reset=bounce)}

    ground = Coordinates(lambda _, z: {"z": 0.0 * z[0], "v": z[0]}, lambda _, y: y["v"][None])
    bounces = PoincareMap(coordinates=ground)

    def until_slow(z):
        stride = lambda c: (bounces(Ball(), c[0]), c[1] + 1)
        return jax.lax.while_loop(lambda c: c[0][0] > 0.3, stride, (z, jnp.asarray(0)))

    assert explain(until_slow, jnp.array([4.0])).startswith("a kernel of ")
    found = basin(bounces, Ball(), jnp.array([[4.0], [2.0]]), jnp.array([[0.25]]), tolerance=0.01)
    assert found.strides.tolist() == [4, 3] and found.outcome.tolist() == [REACHED, REACHED]


def test_walks_show_how_far_they_are_and_have_derivatives_when_traced(capsys, monkeypatch):
    monkeypatch.setattr(notes, "PATIENCE", 0.0)
    near = lambda model, z: 0.5 * (z + model.a)
    ends = lambda values, **how: bifurcation_diagram(
        near, Carried(), "a", values, jnp.array([1.0]), discard=40, keep=1, follow=True, **how
    )[:, 0, 0]
    values = jnp.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(ends(values, progress=True), values, atol=1e-9)
    assert "walks" in (shown := capsys.readouterr().err) and "3/3" in shown
    ends(values, progress=False)
    assert not capsys.readouterr().err
    np.testing.assert_allclose(jax.jacfwd(ends)(values), np.eye(3), atol=1e-9)


def test_a_gait_that_motions_leave_is_not_reached_without_a_word():
    """Orbits of the period 2 repeat with the product of both slopes, here (3 * 0.2) and (3 * 0.5)."""
    swapped = lambda model, z: jnp.where(z > 0.0, -model * z, -3.0 * z)
    points = jnp.array([[0.0], [0.0]])
    with pytest.warns(UserWarning, match=r"the gait is unstable: a disturbance of 0.001 grows 1.5-fold until .* come"):
        basin(swapped, 0.5, points, points)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        basin(swapped, 0.2, points, points)


@pytest.mark.parametrize(("point", "ends"), [(0.5, "ends 0.125 away after 1 return"), (2.0, "does not make 1 return")])
def test_a_point_of_another_gait_is_no_gait_without_a_word(point, ends):
    """Instead of a basin in which all walks end elsewhere."""
    growth = lambda r, z: jnp.where(z < 1.0, r * z * (1.0 - z), jnp.nan)
    with pytest.warns(
        UserWarning, match=f"gait is not one of this model's: the motion from its first point {ends}. Few"
    ):
        basin(growth, 2.5, jnp.array([[0.2]]), jnp.array([[point]]))


@pytest.mark.parametrize("second", [(-0.5, 1.0, 1.5), (1.25, -0.75, 2.0)])
def test_the_largest_exponent_of_a_symmetric_map(second):
    """Multipliers of [own, other]: own + other, and own - other, of motions with left and right opposite."""
    own, other, largest = second
    symmetric = lambda model, z: own * z + other * z[::-1]
    exponent = lyapunov_exponent(symmetric, None, jnp.zeros(2), strides=50)
    assert float(exponent) == pytest.approx(np.log(largest), abs=1e-6)


@pytest.mark.parametrize("discard", [0, 4])
def test_a_perturbation_that_vanishes_has_no_exponent(discard):
    """In the last application: z falls from 0.5 by 0.1 and stays at 0."""
    falling = lambda model, z: jnp.where(z > 0.15, z - 0.1, 0.0)
    assert np.isnan(lyapunov_exponent(falling, None, jnp.array([0.5]), strides=5 - discard, discard=discard))


def test_a_second_exponent_compiles_nothing():
    traced = []

    def grow(model, z):
        traced.append(1)
        return model * z * (1.0 - z)

    exponents = [float(lyapunov_exponent(grow, r, jnp.array([0.3]), strides=20)) for r in (4.0, 3.9)]
    first = len(traced)
    assert len({*exponents}) == 2
    lyapunov_exponent(grow, 3.8, jnp.array([0.2]), strides=20)
    assert len(traced) == first


@pytest.mark.parametrize("arguments", [{"strides": 0}, {"strides": 5, "discard": -1}])
def test_no_exponent_over_no_strides(arguments):
    with pytest.raises(ValueError, match="must be a whole number"):
        lyapunov_exponent(halves, None, jnp.zeros(1), **arguments)
