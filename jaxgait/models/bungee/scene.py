"""Film scene of the bungee jumper."""

from __future__ import annotations

import numpy as np
import xarray as xr

from jaxgait.models.bungee.model import Bungee
from jaxgait.plot.scene import Body, Curve, Force, Ground, Limb, Scene, View, points
from jaxgait.plot.style import BLUE, GREY, ORANGE

MAN_HEIGHT = 1.8
"""Height of the man in m."""
ROPE_WAVES = 12
"""Waves of a slack rope."""


def scene(model: Bungee, run: xr.Dataset) -> Scene:
    """The jump from the side; see `jaxgait.plot.scene`."""
    height = run.height.values
    ledge = float(model.ground + model.rope_length)
    lowest = min(0.0, float(height.min())) - 3.0
    tall = ledge + 4.0 - lowest
    wide = 0.8 * tall
    middle = np.array([[0.0, lowest + tall / 2]])
    deck = points((-wide, ledge), (0.0, ledge), (0.0, ledge + 1.0), (-wide, ledge + 1.0))
    return Scene(
        time=run.time.values,
        shapes=(Body(deck, GREY), Limb(_rope(model, run, ledge), 0.006 * tall, ORANGE), *_man(height, tall)),
        views=(View(middle, (wide, tall)),),
        ground=Ground(),
        forces=(Force(points((0.0, height))[:, 0], points((0.0, run.rope_force.values))[:, 0]),),
        curves=(Curve("height", "m", {"height": height}), Curve("rope", "N", {"tension": run.rope_force.values})),
        readouts={"height": (height, "m")},
    )


def _rope(model: Bungee, run: xr.Dataset, ledge: float) -> np.ndarray:
    s = np.linspace(0.0, 1.0, 16 * ROPE_WAVES + 1)
    fallen = run.x.values[:, None] + float(model.rope_length)
    spare = np.clip(1.0 - fallen / float(model.rope_length), 0.0, None)
    across = 1.2 * np.sqrt(spare) * np.sin(2 * np.pi * ROPE_WAVES * s) * np.sin(np.pi * s)
    return np.stack([across, ledge - fallen * s], axis=-1)


def _man(height: np.ndarray, tall: float) -> tuple[Limb, ...]:
    """The man, head down below the end of the rope; drawn larger than life on a high bridge."""
    size = max(MAN_HEIGHT, 0.07 * tall)
    at = lambda x, y: (x * size, height - y * size)
    parts = (
        ([at(-0.08, 0.0), at(0.0, 0.48), at(0.08, 0.0)], 0.07),
        ([at(0.0, 0.48), at(0.0, 0.82)], 0.13),
        ([at(-0.28, 1.05), at(0.0, 0.80), at(0.28, 1.05)], 0.06),
        ([at(0.0, 0.94), at(0.0, 0.96)], 0.14),
    )
    return tuple(Limb(points(*where), width * size, BLUE) for where, width in parts)
