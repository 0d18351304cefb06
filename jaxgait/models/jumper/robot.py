r"""A jumping robot of four bars (foot, shank, thigh, trunk): a planar jumper without arms.

      | trunk
      \ thigh
      / shank
    __/_ foot       four degrees of freedom in stance, six in flight: here one set of equations for both

The jumper's source page describes its structure (relative joint angles, Lagrange's equations) without numbers: all
parameters are chosen, for a robot of 12 kg and 0.9 m.
"""

from __future__ import annotations

from math import radians
from typing import Any, ClassVar

import jax.numpy as jnp

from jaxgait.mechanics.anthropometry import diagonal_inertia
from jaxgait.mechanics.spatial import Link
from jaxgait.mechanics.spatial.plane import SagittalVec
from jaxgait.model import Scalar, parameter
from jaxgait.models.jumper.planar import PlanarJumper, SwingJoint
from jaxgait.models.jumper.sole import Sole
from jaxgait.models.jumper.swing import Swing
from jaxgait.parameters import CHOSEN


def _length(default: float, doc: str) -> Any:
    return parameter(default, unit="m", doc=doc, bounds="positive", source=CHOSEN)


def _mass(default: float, doc: str) -> Any:
    return parameter(default, unit="kg", doc=doc, bounds="positive", source=CHOSEN)


class JumpingRobot(PlanarJumper):
    """Two legs that move together; bars are uniform rods, the foot a plate under the ankle.

    Examples:
        >>> from jaxgait.models import JumpingRobot
        >>> robot = JumpingRobot(trunk_mass=6.0)
        >>> print([link.name for link in robot.links()], len(robot.tips()), robot.duration)  # s
        ['foot', 'shank', 'thigh', 'trunk'] 4 0.45
    """

    duration: ClassVar[float] = 0.45
    """Duration in s: it ends in flight; the robot lands before 0.6 s."""
    joints: ClassVar[tuple[SwingJoint, ...]] = (
        SwingJoint("ankle", 1, 1.0, (-60.0, 60.0)),
        SwingJoint("knee", 2, -1.0, (0.0, 160.0)),
        SwingJoint("hip", 3, 1.0, (-30.0, 140.0)),
    )

    foot_mass: Scalar = _mass(0.8, "mass of both feet")
    shank_mass: Scalar = _mass(2.0, "mass of both shanks")
    thigh_mass: Scalar = _mass(3.2, "mass of both thighs")
    trunk_mass: Scalar = _mass(6.0, "mass of the trunk")
    foot_length: Scalar = _length(0.20, "length of a foot")
    shank_length: Scalar = _length(0.28, "length of a shank")
    thigh_length: Scalar = _length(0.28, "length of a thigh")
    trunk_length: Scalar = _length(0.30, "length of the trunk")
    com_ahead: Scalar = parameter(
        0.06, unit="m", doc="distance of the centre of mass ahead of the ankle", source=CHOSEN
    )
    knee_start: Scalar = parameter(radians(90), unit="rad", doc="knee flexion in the crouch", source=CHOSEN)
    hip_start: Scalar = parameter(radians(90), unit="rad", doc="hip flexion in the crouch", source=CHOSEN)
    ankle: Swing = Swing(radians(-45), 0.05, 0.22)
    knee: Swing = Swing(radians(-85), 0.06, 0.25)
    hip: Swing = Swing(radians(-85), 0.0, 0.27)
    sole: Sole = Sole(modulus=3e6, drop=0.05, rows=(-0.04, 0.0, 0.04, 0.08, 0.12))

    def links(self) -> list[Link]:
        """Four bars, with offsets and centres of mass at their ends and middles."""
        lengths = [self.foot_length, self.shank_length, self.thigh_length, self.trunk_length]
        masses = [self.foot_mass, self.shank_mass, self.thigh_mass, self.trunk_mass]
        coms = [(0.2 * self.foot_length, -0.5 * self.sole.drop), *((0.0, 0.5 * length) for length in lengths[1:])]
        offsets = [(0.0, 0.0), (0.0, 0.0), (0.0, self.shank_length), (0.0, self.thigh_length)]
        moments = [m * length**2 / 12.0 for m, length in zip(masses, lengths, strict=True)]
        tensors = [diagonal_inertia(0.0, moments[0], moments[0]), *(diagonal_inertia(m, m, 0.0) for m in moments[1:])]
        names = ("foot", "shank", "thigh", "trunk")
        bars = zip(names, (None, *names), masses, coms, tensors, offsets, strict=False)
        return [
            Link(name, parent, self.joint_to(i), m, (c[0], 0.0, c[1]), tensor, (o[0], 0.0, o[1]))
            for i, (name, parent, m, c, tensor, o) in enumerate(bars)
        ]

    def tips(self) -> list[SagittalVec]:
        """Toe tip, knee, hip and top of the trunk."""
        zero = jnp.zeros(())
        toe = SagittalVec(zero + 0.7 * self.foot_length, zero - self.sole.drop)
        return [toe, *(SagittalVec(zero, zero + x) for x in (self.shank_length, self.thigh_length, self.trunk_length))]
