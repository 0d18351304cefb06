"""Films of trees: which bodies are drawn, where, and in which colours."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from jaxgait import animate, simulate
from jaxgait.mechanics.contact import UnilateralSpring
from jaxgait.mechanics.spatial import Link, hinge, prismatic
from jaxgait.models.tree import ContactPoint, TreeModel
from jaxgait.plot.scene import Limb, scene
from jaxgait.plot.style import RED

TURN = hinge((0, 1, 0))
TOTAL = "total, from the least potential"


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def rod(mass, com):
    return {"mass": mass, "com": (0.0, 0.0, com), "inertia": np.diag([0.1, 0.1, 0.01])}


def biped():
    """The usual planar one: two massless slides, a torso above the hip, and two legs with knees; 7 links."""
    slides = [Link("px", None, prismatic((1, 0, 0)), 0.0), Link("pz", "px", prismatic((0, 0, 1)), 0.0)]
    links = [*slides, Link("torso", "pz", TURN, **rod(30.0, 0.25))]
    for side in ("left", "right"):
        links.append(Link(f"{side}_thigh", "torso", TURN, **rod(7.0, -0.2)))
        links.append(Link(f"{side}_shank", f"{side}_thigh", TURN, offset=(0.0, 0.0, -0.4), **rod(4.0, -0.2)))
    sole = {"normal": UnilateralSpring(2e4), "position": (0.0, 0.0, -0.4), "radius": 0.03}
    contacts = {side: ContactPoint(f"{side}_shank", **sole) for side in ("left", "right")}
    return TreeModel(links, contacts=contacts, start={"px": 0.1, "pz": 0.85, "left_thigh": -0.3, "right_thigh": 0.3})


@pytest.mark.slow
def test_a_planar_biped_shows_its_bodies_and_not_its_coordinates():
    model = biped()
    run = simulate(model, duration=0.01, samples=60)
    shown = scene(run, model)
    bodies = ["torso", "left_thigh", "left_shank", "right_thigh", "right_shank"]
    assert [*shown.legend] == bodies and len({*shown.legend.values()} - {RED, "#000000"}) == 5
    limbs = {limb.colour: limb.points[0] for limb in shown.shapes if isinstance(limb, Limb)}
    assert [*limbs] == [*shown.legend.values()], "no post from the ground to the hip"
    np.testing.assert_allclose(limbs[shown.legend["torso"]], [[0.1, 0.85], [0.1, 1.35]], atol=1e-9)
    figure = animate(run, model=model).figure
    for name in ("normal forces (N)", "energy (J)", "positions (m)"):
        (panel,) = (ax for ax in figure.axes if ax.get_ylabel().replace("\n", " ") == name)
        assert len({line.get_color() for line in panel.lines[:2]}) == 2
        cursor = panel.lines[-1]
        bottom = cursor.get_window_extent().y1
        assert panel.get_legend() is None or bottom <= panel.get_legend().get_window_extent().y0 + 1.0, name
    total, kinetic = (next(one for one in shown.curves if one.name == "energy").values[n] for n in (TOTAL, "kinetic"))
    assert float((total - kinetic).min()) == pytest.approx(0.0, abs=1e-9), "as large as the kinetic energy"


@pytest.mark.slow
def test_a_massless_link_that_carries_a_load_is_drawn():
    """As the leg of a spring pendulum: it turns, and so it is more than a coordinate."""
    links = [Link("leg", None, TURN, 0.0), Link("bob", "leg", prismatic((0, 0, 1)), 1.0, offset=(0.0, 0.0, -0.6))]
    model = TreeModel(links, gravity=0.0, start={"leg": np.pi / 2})
    shown = scene(simulate(model, duration=0.01, samples=2), model)
    (leg,) = (shape.points[0] for shape in shown.shapes if isinstance(shape, Limb))
    np.testing.assert_allclose(leg, [[0.0, 0.0], [-0.6, 0.0]], atol=1e-9)
    assert [*shown.legend] == ["leg"], "the bob is a point, at the end of the leg"
