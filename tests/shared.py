"""Helpers that several test files share."""

import warnings

import numpy as np


def warnings_of(model):
    """The texts of the warnings that validating a model causes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.validate()
    return [str(one.message) for one in caught]


def flat(coordinates):
    """The arrays of a named tuple in one."""
    return np.concatenate([np.asarray(x) for x in coordinates])
