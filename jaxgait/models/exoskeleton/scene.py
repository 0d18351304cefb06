"""Film scene of the walking exoskeleton."""

from __future__ import annotations

import numpy as np
import xarray as xr

from jaxgait.models.exoskeleton.model import Exoskeleton
from jaxgait.models.exoskeleton.walking import step_numbers
from jaxgait.plot.scene import Body, Curve, ForceArrow, Ground, Limb, Scene, View, disc, floor, rod, seen
from jaxgait.plot.style import BLUE, GREY, ORANGE, PALETTE

AXES = {2: ("forward", "up"), 3: ("forward", "left", "up")}
"""Directions of the axes, by their number."""
ABOVE, ASIDE = 0.15, 0.35
"""Viewing direction in rad in space: above the horizon, and from the right side toward the front."""
THICKNESS = (0.055, 0.075, 0.075, 0.055, 0.12)
"""Thickness of the five links in m."""


def scene(model: Exoskeleton, run: xr.Dataset) -> Scene:
    """The walk, simulated or from `measures.histories`; see `jaxgait.plot.scene`."""
    positions = run.joints.transpose("time", "link", "end", "axis").values
    joints, force = _flat(model, positions), _flat(model, run.reaction.values)
    tall = 1.35 * float(np.nanmax(positions[..., -1]))
    below = positions[:, min(1, positions.shape[1] - 1), 1] * [*[1.0] * (model.dimension - 1), 0.0]  # the hip
    directions = {name: run.reaction.values[:, i] for i, name in enumerate(AXES[model.dimension])}
    ground = () if model.dimension == 2 else (floor(*_extent(positions), ASIDE, ABOVE),)
    return Scene(
        time=run.time.values,
        shapes=(*ground, *_links(model, run, joints)),
        views=(View(_flat(model, below) + np.array([0.0, 0.41 * tall]), (tall, tall)),),
        ground=Ground() if model.dimension == 2 else None,
        forces=(ForceArrow(joints[:, 0, 0], force),),
        curves=(Curve("ground force", "N", directions),),
        legend={"left leg": BLUE, "right leg": ORANGE} if _two_legs(model) else {},
    )


def _flat(model: Exoskeleton, positions: np.ndarray) -> np.ndarray:
    return positions if model.dimension == 2 else seen(positions, ASIDE, ABOVE)


def _extent(positions: np.ndarray) -> tuple[tuple[float, float], tuple[float, float]]:
    """Corners (forward, left) in m of ground that surrounds a walk."""
    flat = positions[..., :2].reshape(-1, 2)
    (back, right), (front, left) = (of(flat, axis=0).tolist() for of in (np.nanmin, np.nanmax))
    return (back - 0.4, right - 0.3), (front + 0.4, left + 0.3)


def _two_legs(model: Exoskeleton) -> bool:
    """Whether the links are the paper's: two per leg, with or without a torso."""
    return model.has_legs and len(model.parent) in (4, 5)


def _links(model: Exoskeleton, run: xr.Dataset, joints: np.ndarray) -> tuple[Limb | Body, ...]:
    ends = [rod(joints[:, i, 0], joints[:, i, -1]) for i in range(joints.shape[1])]
    if not _two_legs(model):
        return tuple(Limb(line, 0.06, colour) for line, colour in zip(ends, PALETTE * len(ends), strict=False))
    odd = exchanged(run, model.mode, float(model.gait.stride_time))[:, None, None]
    left = [np.where(odd, ends[j], ends[i]) for i, j in ((0, 3), (1, 2))]
    right = [np.where(odd, ends[i], ends[j]) for i, j in ((0, 3), (1, 2))]
    legs = [
        Limb(line, w, c) for leg, c in ((left, BLUE), (right, ORANGE)) for line, w in zip(leg, THICKNESS, strict=False)
    ]
    torso = [Limb(line, THICKNESS[4], GREY) for line in ends[4:]]
    return (*legs[:2], *torso, *(Body(disc(line[:, 1] + [0.0, 0.1], 0.09), GREY) for line in ends[4:]), *legs[2:])


def exchanged(run: xr.Dataset, mode: str, stride_time: float) -> np.ndarray:
    """Whether the legs have exchanged their links at each sample, (samples,): in every other step, if feet alternate.

    Args:
        run: a run over `time` in s.
        mode: that of the exoskeleton.
        stride_time: in s.
    """
    return (step_numbers(run.time.values, stride_time) % 2 == 1) & (mode == "gait")
