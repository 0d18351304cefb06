"""Film scene of the bungee jumper."""

from __future__ import annotations

import numpy as np
import xarray as xr

from jaxgait.models.bungee.model import Bungee
from jaxgait.plot.scene import Body, Curve, ForceArrow, Ground, Limb, Scene, View, points
from jaxgait.plot.style import BLUE, GREY, ORANGE

MAN_HEIGHT = 1.8
"""Height of the man in m."""
LEAST_SHOWN = 0.075
"""Least height of the drawn man, as a fraction of that of the bridge: he is larger than life on a high one."""
GROUND_SHOWN = 0.1
"""Least depth of the shown ground, as a fraction of the height of the bridge: the scale bar lies in it."""
HARNESS = 0.62
"""Height of the end of the rope above the man's feet, as a fraction of his height."""
LOOP = 0.05
"""Width of the loop in which a slack rope hangs, as a fraction of the rope's length."""


def scene(model: Bungee, run: xr.Dataset) -> Scene:
    """The jump from the side; the man's feet, his lowest point, are at the height. See `jaxgait.plot.scene`."""
    height = run.height.values
    ledge = float(model.ground + model.rope_length)
    lowest = min(0.0, float(height.min())) - max(3.0, GROUND_SHOWN * ledge)
    size = max(MAN_HEIGHT, LEAST_SHOWN * ledge)
    tall = ledge + size + 2.0 - lowest
    wide, far = 0.8 * tall, 4.0 * tall  # the explorer sees more than the view is wide
    middle = np.array([[0.0, lowest + tall / 2]])
    deck = points((-far, ledge - 1.0), (0.0, ledge - 1.0), (0.0, ledge), (-far, ledge))
    harness = height + HARNESS * size
    larger = f"{size / MAN_HEIGHT:.2g}"
    legend = {"jumper" if larger == "1" else f"jumper, {larger} times as large": BLUE}
    return Scene(
        time=run.time.values,
        shapes=(Body(deck, GREY), Limb(_rope(model, harness, ledge), 0.006 * tall, ORANGE), *_man(height, size)),
        views=(View(middle, (wide, tall)),),
        ground=Ground(),
        forces=(ForceArrow(points((0.0, harness))[:, 0], points((0.0, run.rope_force.values))[:, 0]),),
        legend=legend,
        curves=(Curve("height", "m", {"height": height}), Curve("rope force", "N", {"rope": run.rope_force.values})),
        readouts={"height": (height, "m")},
    )


def _rope(model: Bungee, harness: np.ndarray, ledge: float) -> np.ndarray:
    """From the ledge to the harness, at a height in m; a slack rope hangs in a loop, wide in the middle."""
    length, s = float(model.rope_length), np.linspace(0.0, 1.0, 201)
    fallen = ledge - harness[:, None]
    slack = np.clip(length - fallen, 0.0, None)
    # Where it is lowest, like the loop's width a fraction of its length; a man above the ledge pulls it up.
    turn = np.maximum(1.0 - 0.5 * slack / length, 0.05)
    wide = np.maximum(LOOP * np.sqrt(slack / length), 1e-9)
    down = (turn - np.hypot(s - turn, 0.5 * wide)) * np.maximum(length, fallen)
    back = 0.5 + 0.5 * np.cos(np.pi * np.clip((s - turn) / wide + 0.5, 0.0, 1.0))
    across = wide * length * back * np.sin(0.5 * np.pi * np.minimum(s / turn, 1.0))
    return np.stack([across, ledge - down], axis=-1)


def _man(height: np.ndarray, size: float) -> tuple[Limb, ...]:
    """The man, upright on his feet, with his arms up; sizes in m."""
    at = lambda x, y: (x * size, height + y * size)
    parts = (
        ([at(-0.08, 0.04), at(0.0, 0.48), at(0.08, 0.04)], 0.07),
        ([at(0.0, 0.48), at(0.0, 0.76)], 0.13),
        ([at(-0.28, 1.0), at(0.0, 0.74), at(0.28, 1.0)], 0.06),
        ([at(0.0, 0.91), at(0.0, 0.93)], 0.14),
    )
    return tuple(Limb(points(*where), width * size, BLUE) for where, width in parts)
