"""The speed of a treadmill's belt, by both feet on it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

BELT_SPEED = 0.15
"""Speed in m/s of the standing foot above which it stands on a belt."""
MAX_DIFFERENCE = 0.03
"""Warn if the speeds by both feet differ by more, relative to their mean."""
SPLIT = 0.2
"""Relative difference of the speeds by both feet above which each foot has a belt of its own."""


class Belt(NamedTuple):
    """The belt under one foot of a trial."""

    speed: float
    """In m/s, positive backward; 0 overground."""
    warnings: tuple[str, ...] = ()


def belt_of(side: str, speeds: Mapping[str, float], *, generic: bool = False) -> Belt:
    """The belt under the foot of a side: one for both feet, unless their speeds differ as on a split belt.

    Args:
        side: right or left.
        speeds: of the standing feet in m/s by side, from `strides.foot_speed`; NaN or absent where not known.
        generic: whether the legs have generic segment lengths, which causes a warning.

    Examples:
        >>> from jaxgait.motion.capture.treadmill import belt_of
        >>> print(belt_of("right", {"right": 1.24, "left": 1.26}).speed)  # m/s
        1.25
        >>> belt_of("right", {"right": 0.5, "left": 1.0}).warnings[0][:70]
        'the belt moves at 0.500 m/s by the right foot and at 1.000 m/s by the '
    """
    known = {k: speeds[k] for k in ("right", "left") if math.isfinite(speeds.get(k, math.nan))}
    moving = lambda x: x if abs(x) > BELT_SPEED else 0.0
    if not known or not any(moving(x) for x in known.values()):
        return Belt(0.0)
    mean = float(np.mean([*known.values()]))
    apart = float(np.ptp([*known.values()]))
    lengths = "the speed of the belt follows from generic segment lengths: give the true one (--speed), if it is known"
    warnings = (lengths,) if generic else ()
    if apart <= MAX_DIFFERENCE * abs(mean):
        return Belt(moving(mean), warnings)
    what = " and ".join(f"at {x:.3f} m/s by the {k} foot" for k, x in known.items())
    split = apart > SPLIT * abs(mean)
    use = "each side has its own speed" if split else "the mean is used"
    advice = "a split belt, or a marker that moves on a foot? If it is one belt, give --speed"
    differ = f"the belt moves {what}; {use}: {advice}"
    return Belt(moving(known.get(side, mean) if split else mean), (*warnings, differ))
