"""Joint centres from markers: regressions for the hip, pairs for knee and ankle, or clusters after a standing trial."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jaxgait.motion.capture.axes import Markers, Track
from jaxgait.motion.capture.maps import MarkerSet
from jaxgait.support.checks import one_of

HARRINGTON, BELL = "harrington", "bell"
REGRESSIONS = (HARRINGTON, BELL)
STRAIGHT = math.radians(12)
"""Largest knee angle of a standing trial that is treated as an offset of the knee's markers."""
AUTO, KEEP, ZERO = "auto", "keep", "zero"
STANDING_KNEE = (AUTO, KEEP, ZERO)
"""Treatments of the knee angle of a standing trial: removed up to `STRAIGHT`, kept, or removed whatever it is."""


class Joints(NamedTuple):
    """Points of one leg in m, in the walker's axes (x forward, y up, z right); None where unknown."""

    hip: Track
    knee: Track
    ankle: Track
    heel: Track | None
    toe: Track | None
    notes: tuple[str, ...]


class Standing(NamedTuple):
    """Calibration by a standing trial: joint centres on the shank's cluster, and the knee's offset."""

    cluster: dict[str, Float[np.ndarray, " 3"]]
    """Markers of the shank's cluster."""
    knee: Float[np.ndarray, " 3"]
    ankle: Float[np.ndarray, " 3"]
    forward: float
    """Displacement in m that puts the knee between hip and ankle, forward in the shank."""
    angle: float
    """Knee angle in rad while standing, before the correction."""


def hip_centre(markers: Markers, marker_set: MarkerSet, side: str, regression: str = HARRINGTON) -> Track:
    """The hip joint centre from ASIS and PSIS (or sacrum), in the markers' axes.

    Harrington et al. 2007 (J Biomech 40:595-602): 0.24 PD + 9.9 mm behind, 0.30 PW + 10.9 mm below and 0.33 PW + 7.3 mm
    lateral of the middle of the ASIS; PW is the distance between the ASIS, PD that of their middle from the PSIS's.
    Bell et al. 1990 (J Biomech 23:617-621): 0.19 PW behind, 0.30 PW below, 0.36 PW lateral.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.capture.joints import hip_centre
        >>> from jaxgait.motion.capture.maps import find
        >>> pelvis = {"RASI": [0.0, 1.0, 0.12], "LASI": [0.0, 1.0, -0.12]}
        >>> pelvis |= {"RPSI": [-0.15, 1.0, 0.05], "LPSI": [-0.15, 1.0, -0.05]}
        >>> markers = {name: np.array([at]) for name, at in pelvis.items()}  # m: forward, up, right
        >>> print(hip_centre(markers, find(markers, "right"), "right", "bell").round(4))  # m
        [[-0.0456  0.928   0.0864]]
    """
    right, left = markers[marker_set.asis["right"]], markers[marker_set.asis["left"]]
    back = np.mean([markers[name] for name in marker_set.back_of_pelvis], axis=0)
    middle = 0.5 * (right + left)
    width = float(np.nanmedian(np.linalg.norm(right - left, axis=1)))
    depth = float(np.nanmedian(np.linalg.norm(middle - back, axis=1)))
    z = _unit(right - left)
    y = _unit(np.cross(z, middle - back))
    x = np.cross(y, z)
    behind, below, lateral = _regression(width, depth, regression)
    return middle - behind * x - below * y + (lateral if side == "right" else -lateral) * z


def _regression(width: float, depth: float, regression: str) -> tuple[float, float, float]:
    if one_of("regression", regression, REGRESSIONS) == BELL:
        return 0.19 * width, 0.30 * width, 0.36 * width
    return 0.24 * depth + 0.0099, 0.30 * width + 0.0109, 0.33 * width + 0.0073


def joints(
    markers: Markers, marker_set: MarkerSet, side: str, regression: str = HARRINGTON, standing: Standing | None = None
) -> Joints:
    """The points of one leg.

    Markers are in the walker's axes, and `marker_set` lacks nothing (see `MarkerSet.lacks`).
    """
    notes: list[str] = []
    hip = _hip(markers, marker_set, side, regression, notes)
    knee, ankle = (_joint(markers, marker_set.roles, name, notes) for name in ("knee", "ankle"))
    if standing is not None and (knee is None or ankle is None):
        carried = _carried(markers, standing)
        knee = carried[0] if knee is None else knee
        ankle = carried[1] if ankle is None else ankle
        notes.append(f"knee and ankle are carried by {' '.join(standing.cluster)} from the standing trial")
    assert knee is not None and ankle is not None, "the map lacks a knee or an ankle"
    if standing is not None and standing.forward:
        knee = knee + standing.forward * _front(knee, ankle)
        notes.append(
            f"the knee is moved by {1e3 * standing.forward:+.1f} mm forward: so it is straight in the standing trial, "
            f"where it was {math.degrees(standing.angle):+.1f} deg"
        )
    heel, toe = (markers.get(marker_set.roles.get(role, "")) for role in ("heel", "toe"))
    return Joints(hip, knee, ankle, heel, toe, tuple(notes))


def _hip(markers: Markers, marker_set: MarkerSet, side: str, regression: str, notes: list[str]) -> Track:
    if "hip_centre" in marker_set.roles:
        notes.append(f"hip: the recorded centre {marker_set.roles['hip_centre']}")
        return markers[marker_set.roles["hip_centre"]]
    if marker_set.pelvis:
        notes.append(f"hip: joint centre by the regression of {regression.capitalize()}")
        return hip_centre(markers, marker_set, side, regression)
    notes.append(
        f"hip: the marker {marker_set.roles['trochanter']} of the greater trochanter, which is not the joint centre"
    )
    return markers[marker_set.roles["trochanter"]]


def _joint(markers: Markers, roles: Mapping[str, str], name: str, notes: list[str]) -> Track | None:
    """The centre of a joint, or between its markers, or its lateral marker, which is close in the sagittal plane."""
    if f"{name}_centre" in roles:
        return markers[roles[f"{name}_centre"]]
    if f"{name}_lateral" not in roles:
        return None
    if f"{name}_medial" in roles:
        notes.append(f"{name}: between {roles[f'{name}_lateral']} and {roles[f'{name}_medial']}")
        return 0.5 * (markers[roles[f"{name}_lateral"]] + markers[roles[f"{name}_medial"]])
    notes.append(f"{name}: the lateral marker {roles[f'{name}_lateral']}, lateral of the joint centre")
    return markers[roles[f"{name}_lateral"]]


def stand(
    markers: Markers, marker_set: MarkerSet, side: str, regression: str = HARRINGTON, knee_angle: str = AUTO
) -> Standing:
    """The calibration by a standing trial, from the median of its positions in the walker's axes.

    `knee_angle` is one of `STANDING_KNEE`.
    """
    still = {name: np.nanmedian(x, axis=0, keepdims=True) for name, x in markers.items()}
    leg = joints(still, marker_set, side, regression)
    hip, knee, ankle = (x[0] for x in (leg.hip, leg.knee, leg.ankle))
    turn = lambda a, b: math.atan2(b[0] - a[0], a[1] - b[1])
    angle = turn(hip, knee) - turn(knee, ankle)
    front, line = _front(knee[None], ankle[None])[0], ankle - hip
    across = lambda a, b: a[0] * b[1] - a[1] * b[0]
    removed = knee_angle == ZERO or (knee_angle == AUTO and abs(angle) < STRAIGHT)
    forward = float(-across(knee - hip, line) / across(front, line)) if removed else 0.0
    cluster = {name: still[name][0] for name in marker_set.clusters["shank_cluster"] if np.isfinite(still[name]).all()}
    return Standing(cluster, knee, ankle, forward, angle)


def _carried(markers: Markers, standing: Standing) -> tuple[Track, Track]:
    """Knee and ankle, moved rigidly with the cluster from the standing trial to each frame (Kabsch)."""
    names = [name for name in standing.cluster if name in markers]
    before = np.stack([standing.cluster[name] for name in names])
    now = np.stack([markers[name] for name in names], axis=1)
    there = np.asarray(np.isfinite(now).all(axis=(1, 2)))
    centre, centres = before.mean(axis=0), now.mean(axis=1)
    moments = np.einsum("ka,fkb->fab", before - centre, np.where(there[:, None, None], now - centres[:, None], 0.0))
    u, _, vt = np.linalg.svd(moments)
    sign = np.sign(np.linalg.det(u) * np.linalg.det(vt))
    flip = np.stack([np.ones_like(sign), np.ones_like(sign), sign], axis=1)
    rotation = np.einsum("fba,fb,fcb->fac", vt, flip, u)
    moved = lambda p: np.where(there[:, None], centres + np.einsum("fab,b->fa", rotation, p - centre), np.nan)
    return moved(standing.knee), moved(standing.ankle)


def _front(knee: Track, ankle: Track) -> Track:
    along = _unit(np.where(np.array([True, True, False]), knee - ankle, 0.0))
    return np.stack([along[:, 1], -along[:, 0], np.zeros(along.shape[0])], axis=1)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
