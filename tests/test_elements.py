"""Names of elements of arrays, such as "masses[1,0]": of parameters and of the initial state."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

from jaxgait import Exoskeleton, ensemble, grid, simulate, with_parameters, zipped
from jaxgait.elements import array_of, declared, no_element, value_named, within_arrays
from jaxgait.ensembles.driver import plan_of
from jaxgait.ensembles.labels import descriptions
from jaxgait.ensembles.members import check_members
from jaxgait.ensembles.recipe import again
from jaxgait.models import CreeperChain
from jaxgait.optimization import sensitivities
from jaxgait.parameters import ParameterError, get_parameter, parameter, parameter_info, parameters
from jaxgait.plausible import ImplausibleValue
from tests.throw import Throw


def test_an_element_is_read_and_replaced_by_its_name():
    throw = with_parameters(Throw(), {"push[1,0]": 3.0, "shares[0]": 0.5})
    np.testing.assert_array_equal(throw.push, [[1.0, 0.0], [3.0, 2.0]])
    assert throw.shares == (0.5, 0.75) and get_parameter(throw, "push[1,0]") == 3.0
    info = parameter_info(throw, "shares[0]")
    assert (info.value, info.unit, info.bounds, info.rank) == (0.5, "1", "fraction", 0)
    whole = with_parameters(Throw(), {"push[0,1]": 7.0, "push": np.zeros((2, 2))})
    np.testing.assert_array_equal(whole.push, [[0.0, 7.0], [0.0, 0.0]])


def test_elements_of_many_models_have_a_leading_axis_and_may_be_traced():
    several = with_parameters(Throw(), {"push[1,0]": np.array([3.0, 4.0]), "shares[1]": np.array([0.1, 0.2])})
    assert several.push.shape == (2, 2, 2) and several.push[:, 1, 0].tolist() == [3.0, 4.0]
    assert [np.shape(x) for x in several.shares] == [(2,), (2,)]
    slope = jax.jacfwd(lambda x: with_parameters(Throw(), {"push[1,0]": x}).push.sum() ** 2)(0.5)
    assert float(slope) == pytest.approx(2.0 * 3.5)
    spread = jax.jit(lambda x: with_parameters(Throw(shares=(x, x)), {"shares[1]": jnp.zeros(2)}).shares)(0.5)
    np.testing.assert_array_equal(spread, [[0.5, 0.5], [0.0, 0.0]])
    counts = with_parameters(with_parameters(Throw(), {"push": np.ones((2, 2), int)}), {"push[0,0]": 0.5})
    assert counts.push[0, 0] == 0.5


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "push[2,0]",
            "Throw.push is an array of shape (2, 2): its elements are 'push[0,0]' to 'push[1,1]', got 'push[",
        ),
        ("push[1]", "its elements are 'push[0,0]' to 'push[1,1]', got 'push[1]'"),
        ("push[-1,0]", "its elements are 'push[0,0]' to 'push[1,1]', got 'push[-1,0]'"),
        ("push[1, 0]", "its elements are 'push[0,0]' to 'push[1,1]', got 'push[1, 0]'"),
        ("shares[2]", "Throw.shares is an array of shape (2,): its elements are 'shares[0]' to 'shares[1]', got 'sh"),
        ("gravity[0]", "Throw.gravity is a single number: leave out [0]"),
        ("pash[0]", "Throw has no parameter 'pash[0]': did you mean 'push'"),
    ],
)
def test_a_wrong_element_is_an_error_that_names_the_right_ones(name, message):
    with pytest.raises(ParameterError, match=re.escape(message)):
        with_parameters(Throw(), {name: 1.0})
    with pytest.raises(ParameterError, match="its elements are 'push"):
        get_parameter(Throw(), "push[x]")
    with pytest.raises(ParameterError, match=re.escape(message)):
        ensemble(Throw(), {name: [1.0]})


@pytest.mark.slow
def test_a_scan_over_elements_has_gradients_and_can_be_rerun():
    box = {"push[1,0]": [0.5, 1.0], "initial.v[1]": [4.0, 6.0], "shares[1]": [0.75]}
    scan = ensemble(Throw(), box, observe=["miss", "height"], gradient=["push[0,1]", "initial.v[1]", "shares[1]"])
    assert scan["push[1,0]"].attrs == {"units": "m/s^2", "long_name": "pushes"}
    assert scan["initial.v[1]"].attrs == {"units": "m/s", "long_name": "velocity, at the start"}
    z = scan["initial.v[1]"] + (2.0 - 9.81) / 2.0
    x = 2.0 + (1.0 + scan["push[1,0]"]) / 2.0
    np.testing.assert_allclose(scan.miss.squeeze(), (x - 3.0) ** 2 + (z - 1.0) ** 2, rtol=1e-9, atol=1e-12)
    assert scan.height_gradient.attrs == {"long_name": "gradient of height at the end, in m per unit of the parameter"}
    by_v = plan_of({"model": Throw(), "members": box, "observe": "miss", "gradient": ["initial.v[1]", "initial.v[0]"]})
    assert descriptions(by_v)["miss_gradient"].attrs["units"] == "m^2/(m/s)"
    slopes = scan.height_gradient.isel({"push[1,0]": 0, "initial.v[1]": 1}).squeeze()
    np.testing.assert_allclose(slopes, [0.375, 0.75, float(z[1])], rtol=1e-9)
    one = scan.isel({"push[1,0]": 1, "initial.v[1]": 1, "shares[1]": 0})
    rerun = again(one, model=Throw())
    assert float(((rerun.q[-1] - np.array([3.0, 1.0])) ** 2).sum()) == pytest.approx(float(one.miss), rel=1e-12)
    start = simulate(Throw(), initial_state={"v[1]": 6.0}, samples=2).v
    assert start[0].values.tolist() == [2.0, 6.0]


@pytest.mark.slow
def test_a_scan_over_arrays_alone_has_units_and_can_be_rerun():
    scan = ensemble(Throw(), {"push": np.array([np.zeros((2, 2)), np.ones((2, 2))])})
    assert scan.push_values.attrs == {"units": "m/s^2", "long_name": "pushes"}
    assert again(scan.isel(push=1), model=Throw()).q[-1].values == pytest.approx(scan.q_end[1].values, rel=1e-12)


class Dropped(Throw):
    """A throw from a height that is a parameter: z(0) = -gravity."""

    def initial_state(self):
        return Throw.initial_state(self)._replace(q=jnp.array([0.0, -1.0]) * self.gravity)


@pytest.mark.slow
def test_derivatives_are_those_at_the_members():
    """By elements of arrays that vary, and by starts that depend on what varies."""
    push, v = np.array([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    members = zipped({"push": push, "initial.v": v, "gravity": [1.0, 10.0]})
    by = ["push[0,1]", "initial.v[1]", "initial.q[1]"]
    plain = ensemble(Dropped(), members, observe="miss")
    found = ensemble(Dropped(), members, observe="miss", gradient=by)
    np.testing.assert_allclose(found.miss, plain.miss, rtol=1e-12)
    end = v + (push.sum(axis=1) - np.array([[0.0, 1.0], [0.0, 10.0]])) / 2.0 - np.array([[0.0, 1.0], [0.0, 10.0]])
    np.testing.assert_allclose(plain.miss, ((end - [3.0, 1.0]) ** 2).sum(axis=1), rtol=1e-9)
    np.testing.assert_allclose(found.miss_gradient, 2.0 * (end[:, 1:] - 1.0) * [0.5, 1.0, 1.0], rtol=1e-9)


def test_elements_are_checked_as_whole_parameters():
    with pytest.raises(ParameterError, match=re.escape("shares[1][1] (shares) must be from 0 to 1, got 1.5")):
        ensemble(Throw(), {"shares[1]": [0.5, 1.5]}, observe="miss")
    with pytest.warns(ImplausibleValue, match=re.escape("push[0,1] (pushes)")):
        check_members(Throw(), grid({"push[0,1]": [20.0]}))


def test_elements_of_the_initial_state_that_do_not_exist_are_errors():
    elements = "initial.v is an array of shape (2,): its elements are 'initial.v[0]' to 'initial.v[1]'"
    with pytest.raises(ParameterError, match=re.escape(f"{elements}, got 'initial.v[2]'")):
        ensemble(Throw(), {"initial.v[2]": [1.0]})
    elements = "initial_state.v is an array of shape (2,): its elements are 'v[0]' to 'v[1]'"
    with pytest.raises(ValueError, match=re.escape(f"{elements}, got 'v[0,1]'")):
        simulate(Throw(), initial_state={"v[0,1]": 1.0})
    with pytest.raises(ValueError, match="must be a quaternion of length 1"):
        check_members(CreeperChain(), grid({"initial.q[4]": [0.5]}))


class Three(Throw):
    """A throw with a parameter whose annotation states its length."""

    weights: Float[Array, "3"] = parameter((1.0, 2.0, 3.0), unit="kg", doc="weights", bounds="positive")


@pytest.mark.slow
@pytest.mark.parametrize("given", [[1.0], [1.0, 2.0], [1.0, 2.0, 3.0, 4.0]])
def test_arrays_have_the_length_of_the_annotation(given):
    with pytest.raises(ParameterError, match=r"Three.weights \(weights\) must be 3 numbers in kg, got [aA]rray"):
        simulate(Three(weights=jnp.array(given)), samples=1)
    with pytest.raises(ParameterError, match=r"Three.weights \(weights\) must be 3 numbers in kg, got [aA]rray"):
        with_parameters(Three(), {"weights": given})
    assert ensemble(Three(), {"weights[1]": [1.0, 2.0]}, samples=1).sizes["weights[1]"] == 2


def test_an_element_has_the_unit_of_its_array_and_its_own_value():
    found = declared(parameters(Exoskeleton()), ["lengths[1]", "lengths[7]", "lengths[-1]", "lengths[01]"])
    assert list(found) == ["lengths[1]"] and found["lengths[1]"].unit == "m" and found["lengths[1]"].rank == 0
    assert value_named({"q": np.eye(2)}, "q[1,1]") == 1.0 and value_named({"q": np.eye(2)}, "q[1]") is None
    assert array_of("masses[1,0]") == "masses" and "'q[0]' to 'q[1]'" in no_element("", "q[2]", {"q": np.zeros(2)})


def test_elements_of_several_members_are_put_into_their_array():
    found = within_arrays({"q[0]": np.array([1.0, 2.0, 3.0]), "q[1]": 4.0}, {"q": np.zeros(2)})
    assert found["q"].tolist() == [[1.0, 4.0], [2.0, 4.0], [3.0, 4.0]]


@pytest.mark.parametrize("members", [grid, zipped])
def test_an_array_does_not_vary_beside_its_element(members):
    """The element would count, and the coordinate of the array would show another value."""
    for given in (
        {"push": np.ones((2, 2, 2)), "push[0,1]": [0.5, 0.6]},
        {"initial.v": [[1.0, 2.0]], "initial.v[1]": [3.0]},
    ):
        with pytest.raises(ParameterError, match=r"' is given as a whole and by its element '"):
            ensemble(Throw(), members(given))


@pytest.mark.slow
def test_elements_that_vary_go_over_an_array_that_all_share():
    """Of a start given whole, one element may be searched over or differentiated by."""
    given = {"initial": {"v": np.array([2.0, 5.0])}, "minimize": "miss"}
    found = sensitivities(Throw(), by=["initial.v[1]"], **given)
    np.testing.assert_allclose(found.slope.squeeze(), 2.0 * (5.0 + 2.0 / 2.0 - 9.81 / 2.0 - 1.0), rtol=1e-8)
