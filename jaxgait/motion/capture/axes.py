"""The upward and forward directions, determined from the body, not from the names of the axes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.maps import MarkerSet
from jaxgait.motion.recording import Recording

Track = Float[np.ndarray, "frames 3"]
Markers = Mapping[str, Track]
"""Positions in m by name."""

SNAP = math.radians(10)
"""Largest angle to an axis of the laboratory at which a treadmill is taken to be aligned with it."""
OVERGROUND_SPEED = 0.3
"""Mean speed in m/s of pelvis or hip in the laboratory above which the walk is overground."""
CALIBRATION_TILT = math.radians(1.5)
"""Slope of the ground in rad up to which it is due to tilted axes of the laboratory; steeper ground is a ramp."""
SAME_AXES = math.radians(5.0)
"""Angle in rad between axes of the walker and the laboratory up to which forces need not be turned."""
MAX_LEAN = 25.0
"""Mean angle in deg between the legs and an axis of the laboratory, above which that is probably not vertical."""
BACKWARDS = (
    "pelvis or feet point against the direction of travel: walking backwards, or front and back markers swapped "
    "(ASIS and PSIS, heel and toe)?"
)


class Axes(NamedTuple):
    """Rotation into x forward, y up, z to the right, and how it was found.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.axes import Axes
        >>> axes = Axes(np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]), ())  # forward is y, up is z
        >>> print(axes.turned(np.array([[0.1, 5.0, 0.9]])))  # m: forward, up, right
        [[5.  0.9 0.1]]
    """

    rotation: Float[np.ndarray, "3 3"]
    """Its rows are forward, up and right in the axes of the laboratory."""
    notes: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    slope: float = 0.0
    """Slope of a ramp in rad, positive uphill: forward and up are along and normal to it, and gravity is inclined."""
    tilt: float = 0.0
    """Tilt of the laboratory's axes in rad, positive uphill, which was removed from forward and up."""

    def turned(self, vectors: Float[np.ndarray, "samples 3"]) -> Float[np.ndarray, "samples 3"]:
        """Vectors in the walker's axes, in their own unit."""
        return vectors @ self.rotation.T

    def levelled(self, slope: float) -> Axes:
        """The axes along and normal to a ground that rises forward by a slope in rad."""
        forward, up, right = self.rotation
        along = math.cos(slope) * forward + math.sin(slope) * up
        rotation = np.stack([along, math.cos(slope) * up - math.sin(slope) * forward, right])
        if abs(slope) <= CALIBRATION_TILT:
            return self._replace(rotation=rotation, tilt=slope)
        return self._replace(rotation=rotation, slope=slope)


def slope_text(slope: float) -> str:
    """What notes and warnings say about a slope in rad, positive uphill."""
    return f"the ground {'rises' if slope > 0 else 'falls'} by {math.degrees(abs(slope)):.1f} deg along the path"


def axes_remarks(axes: Axes) -> list[str]:
    """What the reader of positions and angles in the walker's axes must know; nothing if x is forward, y up, all level.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.axes import Axes, axes_remarks
        >>> axes_remarks(Axes(np.eye(3), ()))
        []
        >>> backward = Axes(np.diag([-1.0, 1.0, -1.0]), ())
        >>> print(axes_remarks(backward)[0].partition(": ")[0])
        x is forward (-x of the laboratory), y is up (+y of the laboratory)
    """
    forward, up, _ = axes.rotation
    found = [slope_text(axes.slope) + ": angles and heights are relative to it"] if axes.slope else []
    if min(forward[0], up[1]) < math.cos(SAME_AXES + abs(axes.slope)):
        what = f"x is forward ({_describe(forward)}), y is up ({_describe(up)})"
        found.append(f"{what}: turn the laboratory's ground forces likewise")
    return found


def find_axes(
    pelvis: Float[np.ndarray, "frames 3"],
    foot: Float[np.ndarray, "frames 3"],
    pointing: Float[np.ndarray, "frames 3"],
    rate: float,
    file: str,
) -> Axes:
    """The walker's axes.

    Up is the axis of the laboratory along which the pelvis is above the feet. Forward is where the pelvis
    travels through the laboratory, otherwise (treadmill, standing) the direction in which the foot swings or points.

    Args:
        pelvis: a point of pelvis or hip, in m.
        foot: a point of the foot.
        pointing: a vector from heel to toe, or from back to front of the pelvis.
        rate: in Hz.
        file: its name, for errors.

    Raises:
        MotionFormatError: if no axis is up.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.axes import find_axes
        >>> travel = np.linspace(0.0, 3.0, 301)[:, None] * [0.0, 1.0, 0.0]  # 3 m along y in 3 s; z is up
        >>> ahead = np.tile([0.0, 0.2, 0.0], (301, 1))
        >>> axes = find_axes(travel + [0.0, 0.0, 0.9], travel, ahead, rate=100.0, file="walk.trc")
        >>> print(axes.notes)
        ('up is +z of the laboratory', 'overground: the pelvis travels 3.00 m along +y of the laboratory')
    """
    up, lean = _up(pelvis - foot, file)
    notes = [f"up is {_describe(up)}"]
    leaning = f"the legs lean by {lean:.0f} deg on average from the vertical: is it a walk?"
    warnings = [leaning] if lean > MAX_LEAN else []
    level = lambda v: v - (v @ up)[..., None] * up if v.ndim > 1 else v - (v @ up) * up
    ahead = level(np.nanmean(pointing, axis=0))
    seen = np.flatnonzero(np.isfinite(pelvis).all(axis=1))
    travel = level(pelvis[seen[-1]] - pelvis[seen[0]])
    speed = np.linalg.norm(travel) / max((seen[-1] - seen[0]) / rate, 1e-9)
    if speed > OVERGROUND_SPEED:
        forward = travel / np.linalg.norm(travel)
        notes.append(f"overground: the pelvis travels {np.linalg.norm(travel):.2f} m along {_describe(forward)}")
        if forward @ ahead < 0:
            warnings.append(BACKWARDS)
    else:
        forward = _snap(_swing(level(foot - pelvis), ahead, rate), up)
        notes.append(f"treadmill or on the spot: the foot swings along {_describe(forward)}")
    return Axes(np.stack([forward, up, np.cross(forward, up)]), tuple(notes), tuple(warnings))


def axes_of(recording: Recording, markers: Markers, marker_set: MarkerSet) -> Axes:
    """The walker's axes from markers of pelvis (or hip) and foot, in m.

    Raises:
        jaxgait.motion.MotionFormatError: if no frame has all of them.
    """
    hips = [*marker_set.asis.values()] or marker_set.of("hip_centre", "trochanter")
    feet = marker_set.of("ankle_centre", "ankle_lateral", "heel", "toe")
    pelvis = np.mean([markers[name] for name in hips], axis=0)
    foot = np.mean([markers[name] for name in feet], axis=0)
    front = marker_set.roles.get("toe", feet[0])
    back = marker_set.roles.get("heel", feet[0])
    pointing = markers[front] - markers[back]
    if marker_set.pelvis:
        pointing = pelvis - np.mean([markers[name] for name in marker_set.back_of_pelvis], axis=0)
    if not np.isfinite(pelvis - foot).all(axis=1).any():
        raise recording.error("no frame has all markers of pelvis and foot", "fill gaps first")
    return find_axes(pelvis, foot, pointing, recording.rate, recording.file)


def handed(axes: Axes, markers: Markers, marker_set: MarkerSet) -> tuple[Axes, list[str]]:
    """The axes with z towards the right ASIS (markers in m), and a warning if the laboratory's seem left-handed."""
    if len(marker_set.asis) < 2:
        return axes, []
    apart = markers[marker_set.asis["right"]] - markers[marker_set.asis["left"]]
    if not float(np.nanmean(apart @ axes.rotation[2])) < 0:
        return axes, []
    warning = "the right ASIS is left of the left one: swapped sides or left-handed axes; z is reversed"
    return axes._replace(rotation=axes.rotation * np.array([[1.0], [1.0], [-1.0]])), [warning]


def _up(above: np.ndarray, file: str) -> tuple[np.ndarray, float]:
    """The axis of the laboratory that is up, and the mean angle of the legs to it in deg."""
    mean = np.nanmean(above, axis=0)
    if not np.isfinite(mean).all() or not np.linalg.norm(mean) > 0.1:
        raise MotionFormatError("the pelvis is not above the feet", "check the names of the markers", file)
    up = _nearest_axis(mean)
    return up, math.degrees(math.acos(min(1.0, float(mean @ up / np.linalg.norm(mean)))))


def _swing(reach: np.ndarray, ahead: np.ndarray, rate: float) -> np.ndarray:
    """The direction in which the foot moves most relative to the pelvis, pointing as the foot does.

    Uses displacements within 0.1 s: positions relative to the pelvis would change sides where the walker turns round.
    """
    lag = min(max(1, round(0.1 * rate)), max(1, reach.shape[0] // 2))
    displacements = reach[lag:] - reach[:-lag]
    displacements = displacements[np.isfinite(displacements).all(axis=1)] if reach.shape[0] > 1 else np.zeros((0, 3))
    if not displacements.shape[0]:
        return ahead / max(float(np.linalg.norm(ahead)), 1e-12)
    _, spread, directions = np.linalg.svd(displacements, full_matrices=False)
    standing = spread[0] / math.sqrt(displacements.shape[0]) < 0.03
    forward = ahead if standing else directions[0] * (np.sign(directions[0] @ ahead) or 1.0)
    return forward / max(float(np.linalg.norm(forward)), 1e-12)


def _nearest_axis(direction: np.ndarray) -> np.ndarray:
    """The unit vector of the laboratory, along an axis or against it, that is nearest to a direction."""
    axis = int(np.argmax(np.abs(direction)))
    along = np.zeros(3)
    along[axis] = np.sign(direction[axis])
    return along


def _snap(forward: np.ndarray, up: np.ndarray) -> np.ndarray:
    along = _nearest_axis(forward)
    return along if abs(forward @ along) > math.cos(SNAP) and abs(along @ up) < 0.5 else forward


def _describe(direction: np.ndarray) -> str:
    along = _nearest_axis(direction)
    axis, sign = int(np.argmax(np.abs(along))), "+" if along.sum() > 0 else "-"
    off = math.degrees(math.acos(min(1.0, float(direction @ along))))
    return f"{sign}{'xyz'[axis]} of the laboratory" + (f" ({off:.0f} deg off it)" if off > 0.5 else "")
