"""The human jumper in the sagittal plane: fifteen segments in symmetric motion, i.e. nine bars.

    0 foot - 1 shank - 2 thigh - 3 lower trunk - 4 upper trunk - 5 head
                                                       |
                                                  6 upper arm - 7 forearm - 8 hand

Limbs have twice their mass. `planar` has the equations, `spatial` the fifteen bodies in space. Source: Chen, Yan, Jin
2003 (sine swings and their amplitudes, the sole of many flexible points); segments: de Leva 1996; our own values are
marked "chosen".
"""

from __future__ import annotations

from math import radians
from typing import Any, ClassVar

import jax.numpy as jnp

from jaxgait.mechanics.anthropometry import Segment, axes, diagonal_inertia, segments, shoulder_height
from jaxgait.mechanics.spatial import Link
from jaxgait.mechanics.spatial.plane import SagittalVec
from jaxgait.model import Scalar, parameter
from jaxgait.models.jumper.planar import PlanarJumper, SwingJoint
from jaxgait.models.jumper.swing import Swing
from jaxgait.parameters import CHOSEN
from jaxgait.plausible import PERSON

_PAPER = "Chen, Yan, Jin 2003"

HEEL_BEHIND_ANKLE = 0.063 / 1.70
"""Distance of the heel behind the ankle as a fraction of the stature: a quarter of the foot's length (chosen)."""
FOOT_COM_BELOW_ANKLE = 0.034 / 1.70
"""Distance of the foot's centre of mass below the ankle, as a fraction of the stature (chosen)."""

_PARENTS = (-1, 0, 1, 2, 3, 4, 4, 6, 7)
_SIDES = (2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0)
_NAMES = ("foot", "shank", "thigh", "lower_trunk", "upper_trunk", "head", "upper_arm", "forearm", "hand")


def _swing(angle: float | int, delay: float, duration: float) -> Any:
    return Swing(radians(angle), delay, duration)


class Jumper(PlanarJumper):
    """A squat jump with an arm swing; joints extend from hips to ankles, or all at once (`Jumper.simultaneous()`).

    Examples:
        >>> from jaxgait.models import Jumper
        >>> jumper = Jumper(mass=70.0)
        >>> print(len(jumper.links()), round(sum(float(link.mass) for link in jumper.links()), 2))  # bars, kg
        9 70.0
        >>> print(len(jumper.tips()), round(float(jumper.tips()[1].z), 3))  # m: the shank
        9 0.424
    """

    joints: ClassVar[tuple[SwingJoint, ...]] = (
        SwingJoint("ankle", 1, 1.0, (-60.0, 50.0)),
        SwingJoint("knee", 2, -1.0, (-5.0, 160.0)),
        SwingJoint("hip", 3, 1.0, (-30.0, 140.0)),
        SwingJoint("shoulder", 6, -1.0, (-70.0, 190.0)),
        SwingJoint("elbow", 7, -1.0, (-5.0, 160.0)),
    )

    mass: Scalar = parameter(70.0, unit="kg", doc="body mass", bounds="positive", source=_PAPER, plausible=PERSON)
    stature: Scalar = parameter(
        1.70,
        unit="m",
        doc="body height, with which all lengths but those of the sole scale",
        bounds="positive",
        source=_PAPER,
    )
    knee_start: Scalar = parameter(radians(90), unit="rad", doc="knee flexion in the crouch", source=CHOSEN)
    hip_start: Scalar = parameter(radians(90), unit="rad", doc="hip flexion in the crouch", source=CHOSEN)
    shoulder_start: Scalar = parameter(
        radians(-30), unit="rad", doc="shoulder angle in the crouch (negative: arm behind the trunk)", source=CHOSEN
    )
    elbow_start: Scalar = parameter(0.0, unit="rad", doc="elbow flexion in the crouch", source=CHOSEN)
    ankle: Swing = _swing(-45, 0.07, 0.25)
    knee: Swing = _swing(-90, 0.10, 0.29)
    hip: Swing = _swing(-90, 0.0, 0.33)
    shoulder: Swing = _swing(54, 0.0, 0.34)
    elbow: Swing = _swing(54, 0.0, 0.34)

    @classmethod
    def simultaneous(cls, duration: float = 0.30, **parameters: Any) -> Jumper:
        """All joints start together and take the same `duration` in s, as the paper's text suggests.

        Examples:
            >>> from jaxgait.models import Jumper
            >>> jumper = Jumper.simultaneous(duration=0.25)
            >>> print(jumper.knee.delay, jumper.knee.duration, jumper.hip.duration)  # s
            0.0 0.25 0.25
        """
        own = {joint.name: getattr(cls, joint.name) for joint in cls.joints}
        return cls(**{name: Swing(swing.angle, 0.0, duration) for name, swing in own.items()}, **parameters)

    def links(self) -> list[Link]:
        """The nine bars; those of the limbs represent both sides."""
        s = segments(self.mass, self.stature)
        offsets, coms = _layout(s, self.stature)
        return [
            Link(
                *(name, None if parent < 0 else _NAMES[parent], self.joint_to(i)),
                mass=sides * s[name].mass,
                com=(com[0], 0.0, com[1]),
                inertia=diagonal_inertia(*(sides * moment for moment in axes(name, s[name]))),
                offset=(offset[0], 0.0, offset[1]),
            )
            for i, (name, parent, sides, com, offset) in enumerate(
                zip(_NAMES, _PARENTS, _SIDES, coms, offsets, strict=True)
            )
        ]

    def tips(self) -> list[SagittalVec]:
        """Toe tip, knee, hip, ..., finger tips."""
        s = segments(self.mass, self.stature)
        zero = jnp.zeros(())
        up = {name: SagittalVec(zero, jnp.asarray(s[name].length, dtype=float)) for name in _NAMES}
        toe = SagittalVec(up["foot"].z - HEEL_BEHIND_ANKLE * self.stature, zero - self.sole.drop)
        return [toe, *(up[n] for n in _NAMES[1:6]), *(SagittalVec(zero, -up[n].z) for n in _NAMES[6:])]


def _layout(s: dict[str, Segment], stature: Scalar) -> tuple[list[tuple], list[tuple]]:
    """Joints in the parents' frames and centres of mass, (x, z) in m, in the order of the bars."""
    offsets = [(0.0, 0.0), (0.0, 0.0)]
    offsets += [(0.0, s[name].length) for name in ("shank", "thigh", "lower_trunk", "upper_trunk")]
    offsets += [(0.0, shoulder_height(s, stature)), (0.0, -s["upper_arm"].length), (0.0, -s["forearm"].length)]
    coms = [(s["foot"].com - HEEL_BEHIND_ANKLE * stature, -FOOT_COM_BELOW_ANKLE * stature)]
    coms += [(0.0, s[name].length - s[name].com) for name in _NAMES[1:6]]
    coms += [(0.0, -s[name].com) for name in _NAMES[6:]]
    return offsets, coms
