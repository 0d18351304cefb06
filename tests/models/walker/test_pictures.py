"""Pictures of walks draw what they are given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from jaxgait.models.walker import pictures


def test_a_contact_strip_is_filled_while_a_foot_touches():
    figure, axis = plt.subplots()
    t = np.linspace(0.0, 1.0, 5)
    pictures.contact_strip(axis, t, [t < 0.6, t > 0.6])
    first, second = (bars.get_paths() for bars in axis.collections)
    assert first[0].get_extents().x1 <= 0.75 and second[0].get_extents().x0 >= 0.5
    assert first[0].get_extents().y1 == 0.9 and second[0].get_extents().y0 == 1.1
    plt.close(figure)


def test_a_contact_strip_is_of_one_foot_or_two():
    figure, axis = plt.subplots()
    t = np.linspace(0.0, 1.0, 5)
    pictures.contact_strip(axis, t, [t < 0.6])
    assert [label.get_text() for label in axis.get_yticklabels()] == ["foot 1"] and axis.get_ylim() == (0.0, 1.0)
    for feet in ([t < 0.6] * 3, t < 0.6, [t[1:] < 0.6]):
        with pytest.raises(ValueError, match=r"one or two arrays of the shape \(5,\) of the times, got \("):
            pictures.contact_strip(axis, t, feet)
    plt.close(figure)


def test_a_phase_portrait_is_rate_over_angle():
    figure, axis = plt.subplots()
    angle, rate = np.array([0.1, 0.2]), np.array([1.0, -1.0])
    pictures.phase_portrait(axis, angle, rate, label="leg 1")
    np.testing.assert_array_equal(axis.lines[0].get_xydata(), np.column_stack([angle, rate]))
    plt.close(figure)
