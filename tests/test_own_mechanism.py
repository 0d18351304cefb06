"""The page "A mechanism of your own": its code runs as printed, and gives the known results of a running hopper."""

import pathlib
import re

import jax
import matplotlib.pyplot as plt
import nbformat
import numpy as np
import pytest

import jaxgait
from jaxgait.mechanics.contact import HuntCrossley
from jaxgait.parameters import parameters

ROOT = pathlib.Path(jaxgait.__file__).parents[1]
PAGE = (ROOT / "docs" / "own_mechanism.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
LINES = 80
"""What the page promises for the model, its twin, and everything that is shown with them."""

SMOOTHING = 5e-4  # m; the twin's touch-down is spread over 1e-5 m, and hops add it up


def test_the_hopper_and_its_use_take_less_than_eighty_lines():
    assert sum(bool(line.strip()) for block in BLOCKS[:5] for line in block.splitlines()) < LINES


def test_the_notebook_is_the_page():
    notebook = nbformat.read(ROOT / "notebooks" / "own_mechanism.ipynb", as_version=4)
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert "%pip install" in cells[0] and cells[1:] == [b.strip() for b in BLOCKS]


@pytest.mark.slow
def test_the_page():
    page = {"__name__": "own_mechanism"}
    for block in BLOCKS:
        exec(compile(block, "docs/own_mechanism.md", "exec"), page)
    assert len(plt.get_fignums()) == 3, "as one script, the page draws each plot in its own figure"
    plt.close("all")
    run, twin, scan = page["run"], page["twin"], page["scan"]
    assert run.attrs["status_text"] == twin.attrs["status_text"] == "completed"
    assert run.attrs["scheme"] == "EventDriven" and twin.attrs["scheme"] == "Smooth"
    assert float(abs(twin.z - run.z).max()) < SMOOTHING
    downs = [r.event_time[r.event_name == "touch-down"].values for r in (run, twin)]
    np.testing.assert_allclose(downs[1], downs[0], atol=1e-3)
    energy = lambda when: page["Hopper"]().mass * (0.5 * (run.vx**2 + run.vz**2) + 9.81 * run.z)[when]
    np.testing.assert_allclose(energy(run.z > 0.93), energy(0), rtol=1e-9)  # in flight

    # Seyfarth et al. 2002, figure 2 (5 m/s): at 20 kN/m runs last around 68 degrees, softer legs need flatter ones.
    lasting = (scan.hops >= 22).assign_coords(attack=np.degrees(scan.attack))
    angles = lambda stiffness: lasting.attack[lasting.sel({"leg.stiffness": stiffness}).values].values
    assert 67.0 < angles(20e3).mean() < 69.0 and angles(12.5e3).max() < angles(20e3).min()
    assert np.ptp(angles(20e3)) < 3.0 and angles(5e3).size == 0

    other = jaxgait.with_parts(page["SmoothHopper"](), {"leg": HuntCrossley(20e3, 0.1, 1e5)})
    assert "leg.dissipation" in parameters(other), "the page's statement about another leg"

    row, masses = page["row"], np.array([1.0, 2.0, 3.0])
    energy = 0.5 * (masses * row.v.values**2).sum(axis=1) + 0.5 * (row.tension.values**2).sum(axis=1) / 100.0
    np.testing.assert_allclose(energy, energy[0], rtol=1e-5)
    assert row.q.dims == ("time", "body") and page["rows"].sizes["masses[1]"] == 2
    bare = {name: jaxgait.Variable(v.unit, v.long_name) for name, v in page["Bodies"].variables.items()}
    assert "q_0" in jaxgait.simulate(type("Bare", (page["Bodies"],), {"variables": bare})(), samples=1).dims

    slide = page["slide"]
    assert slide.attrs["scheme"] == "Marching" and slide.attrs["dt_s"] == 1e-3 and float(slide.v[-1]) == 0.0
    np.testing.assert_allclose(slide.x[-1], 3.0**2 / (2 * 0.4 * 9.81), rtol=1e-6)

    drop, weight = page["drop"], 60.0 * 9.81
    assert float(drop.contact_force.max()) > 3.0 * weight and drop.contact_force.sel(axis="z").min() == 0.0
    assert 0.0 < float(drop.energy[-1]) < float(drop.energy[0])

    assert abs(float(page["gait"](1.19).jacobian[0, 0])) < 1.0
    apex, hopper = page["apex"], page["Hopper"]()
    hop = jax.jit(lambda z: apex(hopper, z))
    z, h = page["gait"](1.19).z, 1e-5
    np.testing.assert_allclose(hop(z), z, atol=1e-9)
    multiplier = (hop(z + h) - hop(z - h)) / (2 * h)
    np.testing.assert_allclose(page["gait"](1.19).jacobian[0], multiplier, rtol=1e-5)
    assert float(page["slope"]) == pytest.approx(float(page["difference"]), rel=1e-4)  # of steps of 1e-4
