"""Pictures of a search: a scan behind its paths in the same colours. The other ones: tests/cli/test_optimizing.py."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PathCollection, QuadMesh

from jaxgait import Bungee, ensemble, optimize
from jaxgait.plot import designs

BOX = {"stiffness": (15.0, 40.0), "rope_length": (20.0, 32.0)}
RUN = {"duration": 10.0, "progress": False}


def test_a_scan_lies_behind_the_paths_in_their_colours():
    grid = {name: np.linspace(*bounds, 3) for name, bounds in reversed(BOX.items())}
    scan = ensemble(Bungee(), grid, observe=["peak_rope_force", "clearance"], **RUN)
    found = optimize(Bungee(), minimize="peak_rope_force", over=BOX, starts=1, iterations=2, **RUN)
    ax = designs.paths(found, BOX, scan=scan.peak_rope_force).axes[0]
    (mesh,) = (one for one in ax.collections if isinstance(one, QuadMesh))
    (points,) = (one for one in ax.collections if isinstance(one, PathCollection))
    assert mesh.norm is points.norm
    np.testing.assert_array_equal(mesh.get_array(), scan.peak_rope_force.transpose("rope_length", "stiffness"))
    with pytest.raises(ValueError, match="scan must be over two of stiffness, rope_length, it is over rope_length"):
        designs.paths(found, BOX, scan=scan.clearance.isel(stiffness=0))
    plt.close("all")
