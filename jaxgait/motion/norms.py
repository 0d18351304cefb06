"""Norms of level walking: usual and possible ranges.

Usual: adults at 0.5 to 2 m/s, after the normal curves of Winter (The Biomechanics and Motor Control of Human Gait,
1991) and Perry and Burnfield (Gait Analysis, 2010), widened to include the embedded gaits. Possible: chosen here so
that children, runners, stiff, hyperextending and drop-foot gaits pass, and wrong units, signs and columns do not.

Those books do not give the mean angle of the thigh. Averaged over a stride, the ankle is about below the hip, so the
thigh's mean is near half that of the knee (20 to 25 deg); seven measured legs of four people have 5 to 10 deg.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Range = tuple[int | float, int | float]


class Norm(NamedTuple):
    """Ranges of a figure in its unit."""

    usual: Range
    possible: Range


def _degrees(usual: Range, possible: Range) -> Norm:
    return Norm(tuple(map(math.radians, usual)), tuple(map(math.radians, possible)))  # type: ignore[arg-type]


FIGURES: dict[str, Callable[[np.ndarray], float]] = {
    "mean": lambda x: float(np.mean(x)),
    "lowest": lambda x: float(np.min(x)),
    "highest": lambda x: float(np.max(x)),
    "range": lambda x: float(np.ptp(x)),
}

SIGNAL_NORMS: dict[str, dict[str, Norm]] = {
    "hip_x_m": {"range": Norm((0.01, 0.10), (0.001, 0.40))},
    "hip_y_m": {"mean": Norm((0.70, 1.15), (0.25, 1.50)), "range": Norm((0.015, 0.09), (0.001, 0.25))},
    "thigh_rad": {
        "mean": _degrees((-5, 20), (-60, 90)),
        "lowest": _degrees((-40, 0), (-90, 40)),
        "highest": _degrees((10, 50), (-20, 120)),
        "range": _degrees((20, 75), (2, 130)),
    },
    "knee_rad": {
        "lowest": _degrees((-10, 25), (-45, 90)),
        "highest": _degrees((40, 85), (0, 150)),
        "range": _degrees((35, 85), (1, 150)),
    },
    "ankle_rad": {
        "lowest": _degrees((-40, 5), (-90, 60)),
        "highest": _degrees((0, 35), (-60, 90)),
        "range": _degrees((10, 60), (0.5, 120)),
    },
    "ground_x_N": {"lowest": Norm((-500, -20), (-3000, -1)), "highest": Norm((20, 500), (1, 3000))},
    "ground_y_N": {"lowest": Norm((-30, 60), (-150, 300)), "highest": Norm((250, 2000), (40, 6000))},
}

PEAKS: dict[str, tuple[Range, Range]] = {
    "hip_moment_Nm_kg": ((-1.5, -0.15), (0.15, 1.5)),
    "knee_moment_Nm_kg": ((-1.2, -0.05), (0.05, 0.8)),
    "ankle_moment_Nm_kg": ((-2.0, -0.8), (-0.05, 0.5)),
    "hip_power_W_kg": ((-2.0, -0.05), (0.2, 2.5)),
    "knee_power_W_kg": ((-3.0, -0.3), (0.02, 1.8)),
    "ankle_power_W_kg": ((-2.0, -0.1), (1.0, 6.0)),
}
"""Usual lowest and highest values of joint moments and powers, positive in flexion: Winter 1991, widened as above."""

PERIOD = Norm((0.85, 1.6), (0.4, 4.0))
"""Stride time in s."""
SPEED = Norm((0.5, 2.0), (0.03, 3.5))
"""Walking speed in m/s."""
REACH = Norm((1.4, 3.2), (0.7, 6.0))
"""Stride length over the arc of the thigh's swing at hip height; 1.95 to 2.25 in the embedded gaits."""


MOST_WALK_RATIO = 7.3
"""Highest `walk_ratio`: the embedded gaits have 5.0 to 5.7; inches that are read as cm make it 1.6 times as large."""
INCHES_OF_CM = 2.54
"""Factor that corrects lengths in inches that were read as cm."""
GRAVITY = 9.81
"""In m/s^2."""
SEGMENTS_OF_HEIGHT = {"thigh_m": 0.245, "shank_m": 0.246}
"""Segment lengths as shares of the body height (Winter, Biomechanics and Motor Control, 2009, figure 4.1)."""
MASS_INDEX = (12.0, 50.0)
"""Possible body mass index in kg/m^2, for children and obese adults, too; 18.5 to 30 in most adults."""
_SLIPS_OF_MASS = {"pounds": 0.45359, "a decimal point too far to the right": 0.1, "one too far to the left": 10.0}


class Guess(NamedTuple):
    """A common mistake, and its correction."""

    advice: str
    unit: str
    correct: Callable[[np.ndarray, np.ndarray], np.ndarray]
    """From the samples, and the distance in m walked until each, to the corrected samples."""


GUESSES = (
    Guess("with the progression still in it? subtract speed_m_s * time_s", "m", lambda x, way: x - way),
    Guess("degrees? multiply by pi/180", "rad", lambda x, way: x * (math.pi / 180)),
    Guess("an offset of 90 degrees? subtract pi/2", "rad", lambda x, way: x - math.pi / 2),
    Guess("an offset of -90 degrees? add pi/2", "rad", lambda x, way: x + math.pi / 2),
    Guess("180 degrees minus the flexion? subtract it from pi", "rad", lambda x, way: math.pi - x),
    Guess("millimetres? divide by 1000", "m", lambda x, way: x / 1000),
    Guess("centimetres? divide by 100", "m", lambda x, way: x / 100),
    Guess(
        "millimetres with the progression in them? divide by 1000, subtract speed * t", "m", lambda x, w: x / 1e3 - w
    ),
    Guess("about its mean? the height above the floor is wanted", "m", lambda x, way: x + 0.9),
    Guess("body weights? multiply by the weight in N", "N", lambda x, way: x * 700),
    Guess("kilonewtons? multiply by 1000", "N", lambda x, way: x * 1000),
    Guess("of the opposite sign? multiply by -1", "", lambda x, way: -x),
)


def guess(signal: str, unit: str, samples: Float[np.ndarray, " n"], distance: Float[np.ndarray, " n"]) -> str:
    """The correction that would make an impossible signal usual, or at least possible; empty if there is none.

    `unit` is the one that the samples should be in, `distance` the one walked until each of them, in m.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.norms import guess
        >>> knee = 30.0 - 30.0 * np.cos(np.linspace(0.0, 2 * np.pi, 101))  # 0 to 60: no knee turns by 60 rad
        >>> guess("knee_rad", "rad", knee, np.linspace(0.0, 1.4, 101))
        'degrees? multiply by pi/180'
    """
    for kind in (0, 1):
        for candidate in GUESSES:
            corrected = candidate.correct(samples, distance)
            if candidate.unit in ("", unit) and _fits(signal, corrected, kind):
                return candidate.advice
    return ""


def _fits(signal: str, samples: np.ndarray, kind: int) -> bool:
    return all(inside(FIGURES[name](samples), norm[kind]) for name, norm in SIGNAL_NORMS[signal].items())


def inside(value: float, span: Range, margin: float = 0.0) -> bool:
    """Whether a value is in a range, or beyond it by a margin at most, all in the same unit.

    Examples:
        >>> from jaxgait.motion.norms import PERIOD, inside
        >>> print(inside(1.1, PERIOD.usual), inside(1.1e3, PERIOD.possible))  # s, and ms taken for s
        True False
    """
    return span[0] - margin <= value <= span[1] + margin


def guess_time(period: float, step: float) -> str:
    """What a column of times may be, if its stride time cannot be in s.

    Examples:
        >>> from jaxgait.motion.norms import guess_time
        >>> print(guess_time(1127.0, 10.0))  # what is 1127 long cannot be in s
        milliseconds? divide by 1000
        >>> print(guess_time(100.0, 1.0))
        percent of the stride? multiply by the stride time, divide by 100
    """
    if inside(period / 1000, PERIOD.possible):
        return "milliseconds? divide by 1000"
    if abs(period - 100) < 1.5:
        return "percent of the stride? multiply by the stride time, divide by 100"
    if abs(step - 1) < 1e-6:
        return "numbers of frames? divide by the frame rate"
    return "write one stride, in s"


def guess_speed(speed: float) -> str:
    """Units that an impossible walking speed in m/s may be in.

    Examples:
        >>> from jaxgait.motion.norms import guess_speed
        >>> guess_speed(4.5)
        'km/h? divide by 3.6'
    """
    for factor, unit in ((3.6, "km/h"), (100, "cm/s"), (1000, "mm/s")):
        if inside(speed / factor, SPEED.usual):
            return f"{unit}? divide by {factor:g}"
    return "write it in m/s"


def walk_ratio(height: float, length: float, period: float) -> float:
    """Stride length over hip height, times stride time over sqrt(hip height / g): dimensionless, from m and s.

    Step length over cadence hardly depends on a person's speed (Sekiya et al. 1996, J Hum Mov Stud 30:241-257), and
    scales with leg length as for a pendulum; wrong units of length therefore show in this ratio.

    Examples:
        >>> from jaxgait.motion.norms import walk_ratio
        >>> print(round(walk_ratio(0.92, 1.42, 1.13), 1), round(walk_ratio(0.92 / 2.54, 1.42 / 2.54, 1.13), 1))
        5.7 9.1
    """
    return length / height * period / math.sqrt(height / GRAVITY)


def odd_mass(mass: float, thigh: float, shank: float) -> str:
    """A warning if a mass in kg does not suit the body height that thigh and shank, in m, suggest; otherwise empty.

    Examples:
        >>> from jaxgait.motion.norms import odd_mass
        >>> odd_mass(187.0, 0.42, 0.43)
        'a mass of 187 kg and a height of 1.73 m (by thigh and shank) are a body mass index of 62 kg/m^2: pounds?'
        >>> odd_mass(85.0, 0.42, 0.43)
        ''
    """
    height = (thigh + shank) / sum(SEGMENTS_OF_HEIGHT.values())
    index = mass / height**2
    if inside(index, MASS_INDEX):
        return ""
    slip = next((word for word, size in _SLIPS_OF_MASS.items() if inside(size * index, MASS_INDEX)), "is it in kg")
    what = f"a mass of {mass:.3g} kg and a height of {height:.2f} m (by thigh and shank)"
    return f"{what} are a body mass index of {index:.2g} kg/m^2: {slip}?"
