"""Pictures of walks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from jaxgait.plot.style import BLUE, ORANGE, axis_label
from jaxgait.support.checks import by_name, first_few


@by_name()
def phase_portrait(axis: Axes, angle: np.ndarray, rate: np.ndarray, *, label: str = "", colour: str = BLUE) -> None:
    """Rate in rad/s over angle in rad of one leg, both of the shape (samples,).

    All samples are joined; `jaxgait.plot.jumps.split_at_jumps` parts those of an event-driven run, as at heel strikes.
    """
    axis.plot(angle, rate, color=colour, lw=1.0, label=label or None)
    axis.set(xlabel=axis_label("leg angle", "rad"), ylabel=axis_label("leg rate", "rad/s"))


def contact_strip(axis: Axes, t: ArrayLike, feet: Sequence[ArrayLike] | np.ndarray) -> None:
    """Which foot is on the ground, as bars over time.

    Args:
        axis: where to draw.
        t: times in s, (samples,).
        feet: whether each foot touches the ground, (samples,), of one foot or two.

    Raises:
        ValueError: for another number of feet or of samples.
    """
    times, touching = np.asarray(t), [np.asarray(foot) for foot in feet]
    if len(touching) not in (1, 2) or any(foot.shape != times.shape for foot in touching):
        got = first_few([str(foot.shape) for foot in touching])
        raise ValueError(f"feet must be a list of one or two arrays of the shape {times.shape} of the times, got {got}")
    for i, (foot, colour) in enumerate(zip(touching, (BLUE, ORANGE), strict=False)):
        axis.fill_between(times, i + 0.1, i + 0.9, where=foot, color=colour, step="post", lw=0)
    names = [f"foot {i + 1}" for i in range(len(touching))]
    axis.set(yticks=[i + 0.5 for i in range(len(names))], yticklabels=names, ylim=(0, len(names)))
    axis.grid(False)
