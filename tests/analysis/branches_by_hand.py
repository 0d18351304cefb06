"""Followed gaits and crossings made by hand, for tests of what is read from them."""

import numpy as np

from jaxgait.analysis.families import Crossing, Gaits

K = np.arange(1.2e4, 3.01e4, 1e3)


def followed(multiplier, members=(0, 1)) -> Gaits:
    """Gaits along `K` of which every member has this real multiplier, and a tiny second one."""
    b = len(members)
    values = np.stack([multiplier(K), np.full(K.size, 0.01)], axis=1)
    jacobian = np.zeros((K.size, b, 2, 2))
    jacobian[:, :, [0, 1], [0, 1]] = values[:, None, :]
    points, who = np.zeros((K.size, b, 1, 2)), np.tile(members, (K.size, 1))
    return Gaits(who, np.tile(K[:, None], (1, b)), points, jacobian, points, np.zeros((K.size, b)))


def crossing(k: float, member: int = 0) -> Crossing:
    return Crossing("period doubling", member, k, 1.0, np.zeros((1, 2)), np.array([-1.0, 0.01]), 0.0)
