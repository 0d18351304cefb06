"""One leg in the sagittal plane: its points and angles over time, and how it is measured."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxgait.motion.capture.axes import Axes
from jaxgait.motion.capture.joints import AUTO, HARRINGTON, REGRESSIONS, STANDING_KNEE, Joints
from jaxgait.motion.capture.maps import MarkerSet, find
from jaxgait.motion.capture.smoothing import DEFAULT_CUTOFF, MAX_GAP
from jaxgait.motion.capture.zeni import MotionEvents, motion_events
from jaxgait.motion.recording import Recording
from jaxgait.support.checks import one_of, real, shown

Plane = Float[np.ndarray, "frames 2"]
Signal = Float[np.ndarray, " frames"]


@dataclasses.dataclass(frozen=True)
class Options:
    """How a leg is measured from a recording."""

    own_map: Mapping[str, Any] | None = None
    static: Recording | None = None
    regression: str = HARRINGTON
    """Regression that locates the hip joint centre: one of `REGRESSIONS`."""
    cutoff: float | None = DEFAULT_CUTOFF
    """Cut-off of the low-pass in Hz; None leaves the data unfiltered."""
    max_gap: float = MAX_GAP
    """Longest gap that is filled, in s."""
    standing_knee: str = AUTO
    """How to treat knee flexion in the standing trial: "auto" subtracts up to 12 deg as an offset of the markers,
    "keep" subtracts nothing (for people who cannot straighten the knee), and "zero" subtracts any angle."""

    def markers(self, recording: Recording, side: str) -> MarkerSet:
        """The markers of a leg in a recording; except in the standing trial, a cluster may carry knee and ankle."""
        carried = self.static is not None and recording is not self.static
        return find(seen(recording), side, carried, self.own_map)

    def __post_init__(self):
        one_of("regression", self.regression, REGRESSIONS)
        if self.standing_knee not in STANDING_KNEE:
            raise ValueError(f"standing_knee is one of {', '.join(STANDING_KNEE)}, got {self.standing_knee!r}")
        for name, kind, how in (("own_map", Mapping, "read_map"), ("static", Recording, "read_recording")):
            if not isinstance(given := getattr(self, name), kind | None):
                raise TypeError(f"{name} is what {how} returns, got {shown(given)}")
        if self.cutoff is not None and not 0.0 < (real(self.cutoff) or 0.0) < np.inf:
            what = "the cut-off must be positive (0 on the command line for none)"
            raise ValueError(f"{what}, got {shown(self.cutoff)} Hz")
        if (gap := real(self.max_gap)) is None or not gap >= 0.0:
            raise ValueError(f"the longest gap that is filled must not be negative, got {shown(self.max_gap)} s")


def seen(recording: Recording) -> list[str]:
    """The markers that have a position in some frame; others cannot be part of a leg."""
    return [name for name, x in recording.markers.items() if np.isfinite(x).all(axis=1).any()]


@dataclasses.dataclass(frozen=True)
class Leg:
    """Points in m (x forward, y up) and angles in rad of one leg; NaN in gaps."""

    recording: Recording
    side: str
    hip: Plane
    thigh: Signal
    shank: Signal
    foot: Signal | None
    """Line of the foot from the horizontal, toe up; its offset is not removed. None if the ankle angle is recorded."""
    ankle_angle: Signal | None
    """Recorded ankle angle, dorsiflexion positive; None if it follows from the foot."""
    points: dict[str, Plane]
    """Knee, ankle, heel and toe, as far as they are known."""
    other_foot: Float[np.ndarray, "frames 3"] | None
    own_foot: Float[np.ndarray, "frames 3"] | None
    """Middle of the feet in the walker's axes, to tell which one is on a plate."""
    heel: Float[np.ndarray, "frames 3"]
    """Heel, or ankle if the heel has no marker, in the walker's axes; z is NaN if joint angles were recorded."""
    pelvis: Signal | None
    """Forward (anterior) tilt of the pelvis in rad; None without pelvis markers.

    It is the angle below the horizontal, in the sagittal plane, of the line from the middle of the PSIS, or the sacrum,
    to the middle of the ASIS (the forward axis of the pelvis in Wu et al. 2002, J Biomech 35:543-548); if joint angles
    were recorded, `pelvis_tilt` of the opposite sign.
    """
    axes: Axes
    gaps: dict[str, Float[np.ndarray, " frames"]]
    """1 where a marker of the leg was missing in the recording."""
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    joints: Joints | None = None
    """The points in space that markers give; None if joint angles were recorded."""

    @property
    def foot_line(self) -> Signal:
        """The line of the foot, toe up; that of the sole if the ankle angle is recorded."""
        if self.foot is not None:
            return self.foot
        assert self.ankle_angle is not None, "a leg has the line of its foot or an ankle angle"
        return self.shank + self.ankle_angle

    @functools.cached_property
    def angles(self) -> dict[str, Signal]:
        """Angles of thigh, shank and the line of the foot in rad, without jumps by a full turn; gaps remain."""
        return {k: _unwrapped(x) for k, x in (("thigh", self.thigh), ("shank", self.shank), ("foot", self.foot_line))}

    @functools.cached_property
    def motion_events(self) -> MotionEvents:
        """Heel strikes and toe-offs by the motion alone."""
        ahead = lambda name: self.points.get(name, self.points["ankle"])[:, 0] - self.hip[:, 0]
        return motion_events(ahead("heel"), ahead("toe"), self.recording.time, self.recording.rate)


def _unwrapped(angle: np.ndarray) -> np.ndarray:
    there = np.isfinite(angle)
    result = np.array(angle)
    result[there] = np.unwrap(angle[there])
    return result
