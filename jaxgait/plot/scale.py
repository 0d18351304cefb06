"""Colours of values most of which lie close together: unequal steps, each with a share of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from jaxtyping import Float, Num
from matplotlib.colors import BoundaryNorm, ListedColormap, to_hex

SHARES = (0.0, 0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97, 1.0)
"""Share of the values below each boundary: fine at both ends, where the optimum is."""
CROWDED = 0.04
"""The lowest or highest quarter of the values is crowded if it fills less than this fraction of a linear scale."""
MIN_VALUES = 20
"""Least number of different values: fewer can be distinguished on a linear scale, or not at all."""
MIN_STEPS = 4
"""Least number of steps: fewer, as when most values are equal, show less than a linear scale does."""


def boundaries(values: Num[np.ndarray, " members"]) -> Float[np.ndarray, " edges"] | None:
    """Rounded boundaries between steps of colour for values that are crowded at an end of their range.

    Args:
        values: of members, in any unit; those that are not finite do not count.

    Returns:
        From the lowest to the highest value; None if a linear scale suffices.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.scale import boundaries
        >>> crowded = 1.0 - np.linspace(0.0, 1.0, 101) ** 6
        >>> print(boundaries(crowded))
        [0.     0.17   0.5    0.82   0.984  0.9998 1.    ]
        >>> boundaries(np.linspace(0.0, 1.0, 101)) is None
        True
    """
    known = values[np.isfinite(values)].astype(float)
    if np.unique(known).size < MIN_VALUES:
        return None
    low, first, third, high = np.quantile(known, (0.0, 0.25, 0.75, 1.0))
    if min(first - low, high - third) >= CROWDED * (high - low):
        return None
    found = np.quantile(known, SHARES)
    found = found[np.append(True, np.diff(found) > 1e-6 * (high - low))]
    found[-1] = high
    if found.size <= MIN_STEPS:
        return None
    places = _places(found)
    inner = [round(x, n) for x, n in zip(found[1:-1].tolist(), places[1:-1], strict=True)]
    return np.array([low, *inner, high])


def texts(steps: Float[np.ndarray, " edges"]) -> list[str]:
    """The boundaries, in any unit, with digits that distinguish each from its neighbours; at least four for extremes.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.scale import texts
        >>> texts(np.array([0.7276, 0.9, 0.991, 0.99743]))
        ['0.7276', '0.9', '0.991', '0.9974']
    """
    places = _places(steps)
    for end in (0, -1):
        if steps[end] != 0.0:
            places[end] = max(places[end], 3 - int(np.floor(np.log10(abs(steps[end])))))
    return [f"{round(x, n) + 0.0:.10g}" for x, n in zip(steps.tolist(), places, strict=True)]  # (0, not -0)


def _places(steps: np.ndarray) -> list[int]:
    """Decimal places that keep each apart from its neighbours."""
    apart = np.diff(steps)
    nearest = np.minimum(np.append(np.inf, apart), np.append(apart, np.inf))
    return np.ceil(-np.log10(nearest / 2.0)).astype(int).tolist()


def colours(count: int) -> list[str]:
    """A number of colours from the sequential colour map.

    Examples:
        >>> from jaxgait.plot.scale import colours
        >>> colours(2)
        ['#440154', '#fde725']
    """
    return [to_hex(c) for c in mpl.colormaps["viridis"](np.linspace(0.0, 1.0, count))]


def stepped(steps: Float[np.ndarray, " edges"], shades: Sequence[str] = ()) -> dict[str, Any]:
    """How matplotlib draws values in steps of colour, by default those of `colours`; boundaries in any unit.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.scale import stepped
        >>> stepped(np.array([0.0, 0.9, 1.0]))["norm"].boundaries
        array([0. , 0.9, 1. ])
    """
    shades = shades or colours(len(steps) - 1)
    return {"cmap": ListedColormap(list(shades)), "norm": BoundaryNorm(steps, len(shades), clip=True)}
