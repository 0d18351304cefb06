"""The standing trial of a leg: what it says about the joints, and what looks wrong with it."""

from __future__ import annotations

import itertools
import math

import numpy as np

from jaxgait.motion.capture.axes import axes_of, handed
from jaxgait.motion.capture.joints import KEEP, Standing, stand
from jaxgait.motion.capture.leg import Options
from jaxgait.motion.capture.maps import MarkerSet
from jaxgait.motion.recording import Recording, known_median

STANDING_SWAY = 0.03
"""Standard deviation in m of a marker's position above which the person does not stand still."""
SKIN_SHIFT = 0.015
"""Change in m of the distance between two markers on a shank that skin movement does not explain."""


def standing_of(marker_set: MarkerSet, side: str, options: Options, recording: Recording) -> Standing | None:
    """The joints in the standing trial, if there is one, in m and rad.

    Raises:
        jaxgait.motion.MotionFormatError: naming the markers that are missing in it.
    """
    if options.static is None:
        return None
    static = options.static
    there = options.markers(static, side)
    if there.lacks(carried=False):
        what = f"the standing trial lacks {', '.join(there.lacks(carried=False))}"
        raise static.error(what, "knee and ankle need markers in it")
    still = {n: np.nanmedian(static.markers[n], axis=0, keepdims=True) for n in there.names if n in static.markers}
    axes, _ = handed(axes_of(static, still, there), still, there)
    cluster = tuple(n for n in marker_set.clusters["shank_cluster"] if n in still)
    there = there._replace(clusters=there.clusters | {"shank_cluster": cluster})
    still |= {n: np.nanmedian(static.markers[n], axis=0, keepdims=True) for n in cluster}
    carried = any({f"{joint}_lateral", f"{joint}_centre"}.isdisjoint(marker_set.roles) for joint in ("knee", "ankle"))
    if carried and len(cluster) < 3:
        what = f"only {len(cluster)} markers of the shank's cluster are in both trials ({' '.join(cluster)})"
        raise recording.error(what, "three are needed, or markers on knee and ankle")
    turned = {name: axes.turned(x) for name, x in still.items()}
    return stand(turned, there, side, options.regression, options.standing_knee)


def standing_remarks(standing: Standing | None, wanted: str) -> tuple[list[str], list[str]]:
    """A note on a knee angle of the standing trial that is kept on request, or a warning if it is too large."""
    if standing is None or standing.forward or not standing.angle:
        return [], []
    how = "bent" if standing.angle > 0 else "overextended"
    bent = f"knee {how} by {abs(math.degrees(standing.angle)):.0f} deg in the"
    if wanted == KEEP:
        return [f"{bent} standing trial: kept"], []
    keep = "keep it if the knee cannot be straightened (--standing-knee keep)"
    advice = f"{keep}, or remove it (zero) if markers are misplaced"
    return [], [f"{bent} standing trial: not removed as an offset of markers; {advice}"]


def standing_warnings(static: Recording, recording: Recording, there: MarkerSet, here: MarkerSet) -> list[str]:
    """A warning if the person does not stand still, or may not be the one who walks; otherwise empty.

    Args:
        static: the standing trial.
        recording: the walk.
        there: the leg's markers in the standing trial, which may have other names.
        here: those in the walk.
    """
    both = [name for name in sorted(there.names) if name in static.markers]
    moved = {name: float(np.nanstd(static.markers[name], axis=0).max()) for name in both}
    most = max(moved, key=moved.__getitem__, default=None)
    if most is not None and moved[most] > STANDING_SWAY:
        where = f"{most} moves by {1e3 * moved[most]:.0f} mm (standard deviation)"
        return [f"the standing trial {static.name} does not stand still: {where}: is it the walk?"]
    roles = ("knee_lateral", "knee_centre", "ankle_lateral", "ankle_centre")
    rigid = [(name, name) for name in here.clusters["shank_cluster"] if name in static.markers]
    rigid += [(there.roles[r], here.roles[r]) for r in roles if r in there.roles and r in here.roles]
    for pair in itertools.combinations(rigid, 2):
        standing, walking = zip(*pair, strict=True)
        still, moving = _apart(static, *standing), _apart(recording, *walking)
        if abs(still - moving) > max(SKIN_SHIFT, 0.05 * moving):
            others = "" if standing == walking else f"{' and '.join(walking)} "
            what = f"the standing trial {static.name} may show another person or other marker positions"
            them = f"{' and '.join(standing)} are {1e3 * still:.0f} mm apart in it"
            return [f"{what}: {them}, and {others}{1e3 * moving:.0f} mm in the walk"]
    return []


def _apart(recording: Recording, a: str, b: str) -> float:
    """The median distance in m between two markers; NaN if they were never seen together."""
    return known_median(np.linalg.norm(recording.markers[a] - recording.markers[b], axis=1))
