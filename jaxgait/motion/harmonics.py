"""The number of harmonics that the samples of a stride support."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from jaxgait.motion.stride import POINTS_PER_STRIDE, fourier, sampled
from jaxgait.support.checks import count

RESOLUTION = {"m": 0.001, "rad": math.radians(0.5), "N": 5.0}
"""Measurement resolution: harmonics that contribute less are dropped."""
MAX_HARMONICS = 12
"""Largest number of harmonics that is chosen."""
RESOLVED_HARMONICS = (POINTS_PER_STRIDE - 1) // 2 - 1
"""Largest number of harmonics that the samples of a stride determine: of the next, they determine only the cosine."""


def choose_harmonics(curves: Mapping[str, Float[np.ndarray, " samples"]], frames: float) -> int:
    """The number of harmonics that all signals together support, by Schwarz's information criterion (BIC).

    Args:
        curves: one period of every signal in SI units, its end repeating its start.
        frames: frames of the recording per period, the most that can be independent.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.harmonics import choose_harmonics
        >>> phase = np.linspace(0.0, 2 * np.pi, 101)
        >>> knee = 0.5 + 0.4 * np.sin(phase) + 0.2 * np.cos(2 * phase)
        >>> choose_harmonics({"knee_rad": knee}, frames=100.0)
        2
    """
    largest = max(1, min(MAX_HARMONICS, int(frames) // 2 - 1))
    costs = []
    for number in range(1, largest + 1):
        cost = 2 * number * len(curves) * math.log(frames)
        for name, curve in curves.items():
            noise = RESOLUTION[name.rsplit("_", 1)[1]] ** 2
            error = float(np.mean((curve[:-1] - sampled(fourier(curve[:-1], number), curve.size - 1)) ** 2))
            cost += frames * math.log((error + noise) / noise)
        costs.append(cost)
    return int(np.argmin(costs)) + 1


def check_harmonics(harmonics: int | None) -> None:
    """Checks that the samples of a stride determine so many harmonics; None leaves the choice for later.

    Raises:
        ValueError: for anything but a whole number from 1 to `RESOLVED_HARMONICS`.

    Examples:
        >>> from jaxgait.motion.harmonics import check_harmonics
        >>> check_harmonics(60)
        Traceback (most recent call last):
        ValueError: harmonics must be at most 49, got 60; 6 to 8 are usual
    """
    few = isinstance(harmonics, int) and harmonics < 1
    if few or (harmonics is not None and count("harmonics", harmonics) > RESOLVED_HARMONICS):
        bound = "at least 1" if few else f"at most {RESOLVED_HARMONICS}"
        raise ValueError(f"harmonics must be {bound}, got {harmonics}; 6 to 8 are usual")
