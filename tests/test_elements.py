"""Elements of arrays by name, on their own and beside the whole array."""

import numpy as np
import pytest

from jaxgait import Exoskeleton, ensemble, with_parameters
from jaxgait.elements import array_of, declared, no_element, value_named, within_arrays
from jaxgait.parameters import parameters


def test_an_element_has_the_unit_of_its_array_and_its_own_value():
    found = declared(parameters(Exoskeleton()), ["lengths[1]", "lengths[7]", "lengths[-1]", "lengths[01]"])
    assert list(found) == ["lengths[1]"] and found["lengths[1]"].unit == "m" and found["lengths[1]"].rank == 0
    assert value_named({"q": np.eye(2)}, "q[1,1]") == 1.0 and value_named({"q": np.eye(2)}, "q[1]") is None
    assert array_of("masses[1,0]") == "masses" and "'q[0]' to 'q[1]'" in no_element("", "q[2]", {"q": np.zeros(2)})


def test_elements_of_several_members_are_put_into_their_array():
    found = within_arrays({"q[0]": np.array([1.0, 2.0, 3.0]), "q[1]": 4.0}, {"q": np.zeros(2)})
    assert found["q"].tolist() == [[1.0, 4.0], [2.0, 4.0], [3.0, 4.0]]


def test_an_array_and_its_element_are_not_given_together():
    """The element would count, and the coordinate of the array would show another value."""
    given, told = {"lengths": np.full(5, 0.4), "lengths[1]": 0.5}, r"'lengths' is given as a whole and by its element"
    with pytest.raises(ValueError, match=told):
        with_parameters(Exoskeleton(), given)
    with pytest.raises(ValueError, match=told):
        ensemble(Exoskeleton(), {"lengths": np.full((2, 5), 0.4), "lengths[1]": [0.5, 0.6]}, progress=False)
