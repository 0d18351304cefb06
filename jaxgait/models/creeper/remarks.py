"""Warnings of a robot in space: parameters that its prescribed motion does not use, and pads that cannot hold it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from jaxgait.batches import each, of_worst
from jaxgait.model import Scalar
from jaxgait.models.creeper.measures import peak_load
from jaxgait.models.creeper.model import Creeper
from jaxgait.support import checks

SAMPLES_PER_BEAT = 65
"""Samples of a beat that give its peak load within 0.1 %."""
_PRESCRIBED = "a CreeperChain moves as prescribed, with one pad that holds and one that slides"


def warn_of_unused(chain: Any) -> None:
    """Warns of parameters of a chain (any model that has a robot) without effect on its motion and forces.

    Warns:
        UserWarning: naming them, and why.
    """
    robot = chain.robot
    own = "a CreeperChain has masses and lengths of its own bodies"
    checks.warn_unused(robot, "robot", ("front_mass", "rear_mass", "gap"), own)
    checks.warn_unused(robot.gait, "robot.gait", ("coil_time", "coil_delay"), _PRESCRIBED)
    pads = ("stiffness", "damping", "melting_time")
    checks.warn_unused(robot.pads, "robot.pads", pads, _PRESCRIBED)
    if robot.pads.friction is not None:
        checks.warn_user(f"no effect of robot.pads.friction: {_PRESCRIBED}")
    if chain.manoeuvre == "straight":
        checks.warn_unused(chain, "CreeperChain", ("turning_rate",), "a straight robot does not turn")


def warn_of_rigid(bearing: Any) -> None:
    """Warns of springs and dampers of a bearing that is rigid.

    Warns:
        UserWarning: naming them, and the model in which they act.
    """
    names = [field.name for field in dataclasses.fields(bearing)]
    checks.warn_unused(bearing, "bearing", names, "the bearing of a CreeperChain is rigid; in a SoftExtension it gives")


def warn_of_slip(robot: Creeper) -> None:
    """Warns where a solid pad holds less than the blood and the sliding pad pull: the robot would slip.

    Warns:
        UserWarning: naming both forces in N, of the member with the smallest margin.
    """
    load = each(robot, _pulled)
    grip = np.asarray(robot.pads.friction_high) * np.asarray(robot.pads.normal_force)
    if np.any(grip < load):
        load, grip = of_worst(load - grip, load, grip)
        checks.warn_user(
            f"a solid pad holds {grip:.3g} N (robot.pads.friction_high times normal_force), but blood and the sliding "
            f"pad pull with up to {load:.3g} N: the robot would slip, which a CreeperChain does not; a Creeper does"
        )


def _pulled(robot: Creeper) -> Scalar:
    """Largest force in N with which blood and the sliding pad pull a solid pad."""
    return peak_load(robot, SAMPLES_PER_BEAT) + robot.pads.friction_low * robot.pads.normal_force
