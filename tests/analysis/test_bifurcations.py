"""Branches, curves of bifurcations, basins and gaits in one line, whatever they hold."""

import numpy as np
import pytest

from jaxgait.analysis.attractors import FELL, OTHER, REACHED, Basin
from jaxgait.analysis.bifurcations import BifurcationCurve, BifurcationPoint, Branch
from jaxgait.analysis.families import Gaits

DOUBLING = BifurcationPoint("period doubling", 0.115, np.zeros(1), np.array([-1.0]), np.ones(1))
MANY = np.linspace(0.12, 0.1, 2000)
BRANCH = Branch("slope", 2, MANY, MANY[:, None], -10 * MANY[:, None], MANY < 0.115, (DOUBLING,), "the walker falls")
EMPTY = Branch("slope", 1, *(np.zeros(shape) for shape in (0, (0, 1), (0, 1), 0)), (), "no gait was found")
CURVE = BifurcationCurve(
    "fold", ("slope", "radius"), np.ones((900, 2)), np.ones((900, 3)), np.ones((900, 3)), "the end"
)
BASIN = Basin(np.array([[REACHED, OTHER, FELL]] * 300), np.ones((300, 3), int))


def gaits(jacobian):
    found = np.broadcast_to(np.asarray(jacobian, float), (2, 40, 1, 1))
    return Gaits(np.zeros((2, 40), int), np.ones((2, 40)), found, found, found, found[..., 0, 0])


@pytest.mark.parametrize(
    ("value", "line"),
    [
        (
            BRANCH,
            "<Branch of 2000 gaits of order 2 over slope from 0.1 to 0.12, 1500 stable; period doubling at 0.115; ",
        ),
        (EMPTY, "<Branch of 0 gaits over slope; no gait was found>"),
        (CURVE, "<BifurcationCurve: fold, 900 points over slope and radius; the end>"),
        (BASIN, "<Basin of 900 starts: 300 reach the gait, 300 go on elsewhere, 300 fell>"),
        (gaits(-0.5), "<Gaits: 80 of 80 found, 80 of them stable>"),
        (gaits(np.nan), "<Gaits: 0 of 80 found, 0 of them stable>"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_results_are_one_line_in_a_notebook(value, line):
    assert repr(value).startswith(line) and "\n" not in repr(value)
