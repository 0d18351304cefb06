"""States of the leg, its kinematics at one time, and the names of its points."""

from __future__ import annotations

from typing import NamedTuple

from jaxgait.mechanics.fourbar import Closure
from jaxgait.mechanics.kane import Point, Rotation
from jaxgait.model import Scalar
from jaxgait.motion.drive import HipMotion


class KneeState(NamedTuple):
    """Free angles in rad and their rates in rad/s."""

    theta_b: Scalar
    beta_1: Scalar
    theta_b_rate: Scalar
    beta_1_rate: Scalar


class SocketState(NamedTuple):
    """`KneeState` with the displacement of the hip in the socket in m and its rate in m/s."""

    theta_b: Scalar
    beta_1: Scalar
    theta_b_rate: Scalar
    beta_1_rate: Scalar
    socket_x: Scalar
    socket_y: Scalar
    socket_x_rate: Scalar
    socket_y_rate: Scalar


class BristleState(NamedTuple):
    """`KneeState` or `SocketState` with the memory of the ground's friction law, in m for `Bristle`."""

    theta_b: Scalar
    beta_1: Scalar
    theta_b_rate: Scalar
    beta_1_rate: Scalar
    socket_x: Scalar | None
    socket_y: Scalar | None
    socket_x_rate: Scalar | None
    socket_y_rate: Scalar | None
    heel_bristle: Scalar
    toe_bristle: Scalar


class Leg(NamedTuple):
    """Kinematics of the leg at one time and state."""

    hip: HipMotion
    knee: Closure
    thigh: Rotation
    plate: Rotation
    link_AD: Rotation
    link_BC: Rotation
    bar_CD: Rotation
    shank: Rotation
    foot: Rotation
    points: dict[str, Point]


class Torques(NamedTuple):
    """Torques in N m, and the length of the cylinder in m."""

    lock: Scalar
    cylinder: Scalar
    ankle: Scalar
    cylinder_length: Scalar


POINTS = ("H", "E", "A", "B", "C", "D", "F", "K", "heel", "toe")
"""Points of the output `points` (see the sketch in `prosthesis.model`)."""
