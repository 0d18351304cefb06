"""The scan that the tests of the explorer show."""

import numpy as np
import pytest

from jaxgait.ensembles import ensemble, grid
from jaxgait.models.bungee.model import Bungee
from jaxgait.outcome import IncompleteRun
from jaxgait.parameters import with_parameters
from jaxgait.plot.explorer import explore
from tests.plot.explorer import MOST_STEPS, RUN


@pytest.fixture(scope="session")
def scan():
    """Of a jumper with a rope of his own, 1 of 12 members gives up; gradients that point to the right and up."""
    model = with_parameters(Bungee(), {"rope_length": 28.0})
    members = grid({"mass": [40.0, 60.0, 80.0, 100.0], "stiffness": [15.0, 20.0, 40.0]})
    with pytest.warns(IncompleteRun):
        data = ensemble(
            model, members, observe=["clearance", "peak_rope_force"], max_steps=MOST_STEPS, retry=False, **RUN
        )
    slope = np.broadcast_to([1.0, 2.0], (4, 3, 2))
    data = data.assign(clearance_gradient=(("mass", "stiffness", "parameter"), slope))
    angles = np.linspace(0.0, np.pi, 12).reshape(4, 3, 1) * [1.0, -1.0]
    data = data.assign(multiplier_real=(("mass", "stiffness", "index"), 1.1 * np.cos(angles)))
    data = data.assign(multiplier_imag=(("mass", "stiffness", "index"), 1.1 * np.sin(angles)))
    return data.assign_coords(parameter=["mass", "stiffness"])


@pytest.fixture(scope="session")
def shown(scan):
    return explore(scan, members=6)
