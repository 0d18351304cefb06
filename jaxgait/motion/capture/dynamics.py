"""Inverse dynamics of the measured leg: planar moments and powers of hip, knee and ankle by Newton and Euler.

    walk = measure([read_recording("walk.c3d")], mass=72.0)
    walk.dynamics.mean["knee_moment_Nm_kg"]
    labelled(walk.dynamics).moment.sel(joint="knee").plot()

Moments are those of muscles and ligaments on the limb, per kg of body mass. Signs are those of the angles: positive
moments flex the hip and the knee and dorsiflex the foot; books plot extension and plantar flexion upward. Power is
moment times angular velocity of the joint, positive where the joint generates energy; at the hip it is that of the
thigh against the vertical, because the trunk is not measured. While a person stands upright with the centre of
pressure ahead of the ankle, the moments of hip and ankle are negative, and that of the knee is positive.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jaxgait.mechanics.anthropometry import Segment, segment, segments, stature_of
from jaxgait.motion.capture.ground import Load
from jaxgait.motion.capture.leg import Leg
from jaxgait.motion.capture.smoothing import sampled_at
from jaxgait.motion.capture.strides import StrideCurve
from jaxgait.motion.norms import GRAVITY
from jaxgait.motion.stride import POINTS_PER_STRIDE
from jaxgait.support import xr

JOINTS = ("hip", "knee", "ankle")
MOMENTS = tuple(f"{joint}_moment_Nm_kg" for joint in JOINTS)
POWERS = tuple(f"{joint}_power_W_kg" for joint in JOINTS)
TABLE = "de Leva 1996 (J Biomech 29:1223, table 4, males)"

Points = Float[np.ndarray, "samples 2"]
Numbers = Float[np.ndarray, " samples"]


class SegmentMotion(NamedTuple):
    """Motion of a segment at some instants."""

    proximal: Points
    """Position in m of the joint above."""
    distal: Points
    """Position in m of the joint below; for the foot the ankle, about which the ground reaction is given."""
    centre: Points
    """Position in m of the centre of mass."""
    acceleration: Points
    """Of the centre of mass in m/s^2."""
    spin: Numbers
    """Angular acceleration in rad/s^2, counter-clockwise for a walker in +x."""


class Wrench(NamedTuple):
    """A force in N and a moment in Nm at a joint."""

    force: Points
    moment: Numbers


@dataclasses.dataclass(frozen=True)
class Dynamics:
    """Moments in Nm/kg and powers in W/kg of a leg at 101 even times of the stride, under `MOMENTS` and `POWERS`."""

    strides: tuple[dict[str, Numbers], ...]
    """Curves of each stride with forces."""
    trials: tuple[str, ...]
    """Trials of these strides."""
    starts: tuple[float, ...]
    """Heel strikes of these strides in s."""
    body: dict[str, Segment]
    """Segments by name: thigh, shank, foot."""
    mass: float
    """Of the person in kg."""

    def of(self, stride: StrideCurve) -> dict[str, Numbers]:
        """The curves of one stride, by trial and start (heel strikes of two trials may coincide); empty if none."""
        keys = zip(self.trials, self.starts, strict=True)
        return dict(zip(keys, self.strides, strict=True)).get((stride.trial, stride.start), {})

    @property
    def mean(self) -> dict[str, Numbers]:
        """Means over the strides."""
        return {k: np.mean([s[k] for s in self.strides], axis=0) for k in (*MOMENTS, *POWERS)}

    @property
    def deviation(self) -> dict[str, Numbers]:
        """Standard deviations over the strides; empty for one stride."""
        if len(self.strides) < 2:
            return {}
        return {k: np.std([s[k] for s in self.strides], axis=0, ddof=1) for k in (*MOMENTS, *POWERS)}

    @property
    def peaks(self) -> dict[str, tuple[float, float]]:
        """Lowest and highest value of the mean of every moment in Nm/kg and power in W/kg."""
        return {k: (float(x.min()), float(x.max())) for k, x in self.mean.items()}


def body_of(mass: float, thigh: float, shank: float) -> dict[str, Segment]:
    """The leg's segments of a person with a mass in kg, and with lengths of thigh and shank in m.

    Masses, centres of mass and moments of inertia are those of de Leva 1996; the foot is as long as that of an adult
    male whose thigh and shank together have this length.

    Examples:
        >>> from jaxgait.motion.capture.dynamics import body_of
        >>> body = body_of(mass=70.0, thigh=0.42, shank=0.43)
        >>> print({name: round(float(part.mass) / 70.0, 4) for name, part in body.items()})  # shares
        {'thigh': 0.1416, 'shank': 0.0433, 'foot': 0.0137}
    """
    foot = segments(mass, stature_of(thigh, shank))["foot"]
    return {"thigh": segment("thigh", mass, thigh), "shank": segment("shank", mass, shank), "foot": foot}


def proximal_wrench(body: Segment, moving: SegmentMotion, below: Wrench) -> Wrench:
    """Force and moment on a segment at its proximal joint (Newton and Euler).

    `below` is the wrench at its distal joint.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.mechanics.anthropometry import segment
        >>> from jaxgait.motion.capture.dynamics import SegmentMotion, Wrench, proximal_wrench
        >>> shank = segment("shank", 70.0, 0.43)
        >>> above, below, still = np.array([[0.0, 0.5]]), np.array([[0.0, 0.1]]), np.zeros((1, 2))
        >>> hanging = SegmentMotion(above, below, 0.5 * (above + below), still, np.zeros(1))
        >>> knee = proximal_wrench(shank, hanging, Wrench(still, np.zeros(1)))
        >>> print(bool(np.isclose(knee.force[0, 1], 9.81 * float(shank.mass))), knee.moment)  # it bears the weight
        True [0.]
    """
    weight = np.array([0.0, float(body.mass) * GRAVITY])
    force = float(body.mass) * moving.acceleration + weight - below.force
    arms = (moving.distal - moving.centre, below.force), (moving.proximal - moving.centre, force)
    moment = float(body.transverse) * moving.spin - below.moment - sum(_cross(*arm) for arm in arms)
    return Wrench(force, moment)


def joint_moments(
    body: Mapping[str, Segment], moving: Mapping[str, SegmentMotion], ground: Wrench
) -> dict[str, Float[np.ndarray, " samples"]]:
    """Moments in Nm at hip, knee and ankle, positive where they flex hip and knee and lift the foot.

    `ground` is the ground reaction in N on the foot, with its moment about the ankle in Nm.
    """
    on_foot = proximal_wrench(body["foot"], moving["foot"], ground)
    on_shank = proximal_wrench(body["shank"], moving["shank"], _back(on_foot))
    on_thigh = proximal_wrench(body["thigh"], moving["thigh"], _back(on_shank))
    return {"hip": on_thigh.moment, "knee": -on_shank.moment, "ankle": on_foot.moment}


def _back(wrench: Wrench) -> Wrench:
    return Wrench(-wrench.force, -wrench.moment)


def _cross(arm: np.ndarray, force: np.ndarray) -> np.ndarray:
    return arm[:, 0] * force[:, 1] - arm[:, 1] * force[:, 0]


def strides_dynamics(
    leg: Leg, load: Load, strides: Sequence[StrideCurve], body: Mapping[str, Segment], mass: float
) -> list[dict[str, Float[np.ndarray, " samples"]] | None]:
    """Moments in Nm/kg and powers in W/kg of strides of one trial; None where forces or markers are missing.

    Accelerations are those of quintic splines through the smoothed positions and angles; forces are averaged over a
    frame and not smoothed further, as in OpenSim's inverse dynamics.

    The mass is that of the person in kg; `body` is from `body_of`.
    """
    tracks, ground = _tracks(leg, body), np.column_stack([load.force, load.moment])
    return [_one_stride(leg, stride.times, tracks, ground, body, mass) for stride in strides]


def _one_stride(
    leg: Leg,
    times: Numbers,
    tracks: Mapping[str, _Tracks],
    ground: Float[np.ndarray, "frames 3"],
    body: Mapping[str, Segment],
    mass: float,
) -> dict[str, Numbers] | None:
    at = lambda track, order=0: sampled_at(leg.recording.time, track, times, degree=5, derivative=order)
    ground = sampled_at(leg.recording.time, ground, times)
    angles = np.column_stack([*leg.angles.values()])
    rate, spin = (dict(zip(leg.angles, at(angles, order).T, strict=True)) for order in (1, 2))
    tilt = GRAVITY * np.array([np.sin(leg.axes.slope), np.cos(leg.axes.slope) - 1.0])  # gravity's, on a ramp
    moving = {
        name: SegmentMotion(
            at(points.proximal), at(points.distal), at(points.centre), at(points.centre, 2) + tilt, spin[name]
        )
        for name, points in tracks.items()
    }
    moments = joint_moments(body, moving, Wrench(ground[:, :2], ground[:, 2]))
    turn = {"hip": rate["thigh"], "knee": rate["thigh"] - rate["shank"], "ankle": rate["foot"] - rate["shank"]}
    curves = {name: moments[j] / mass for name, j in zip(MOMENTS, JOINTS, strict=True)}
    curves |= {name: moments[j] * turn[j] / mass for name, j in zip(POWERS, JOINTS, strict=True)}
    return curves if all(np.isfinite(x).all() for x in curves.values()) else None


class _Tracks(NamedTuple):
    """Positions in m at the frames."""

    proximal: np.ndarray
    distal: np.ndarray
    centre: np.ndarray


def _tracks(leg: Leg, body: Mapping[str, Segment]) -> dict[str, _Tracks]:
    """The segments' ends and centres of mass; a foot without heel or toe has its centre of mass at the ankle."""
    knee, ankle, foot = leg.points["knee"], leg.points["ankle"], leg.points["ankle"]
    thigh, shank = (float(body[k].com / body[k].length) for k in ("thigh", "shank"))
    if has_foot(leg):
        heel, line = leg.points["heel"], leg.points["toe"] - leg.points["heel"]
        foot = heel + float(body["foot"].com) * line / np.linalg.norm(line, axis=1, keepdims=True)
    return {
        "thigh": _Tracks(leg.hip, knee, leg.hip + thigh * (knee - leg.hip)),
        "shank": _Tracks(knee, ankle, knee + shank * (ankle - knee)),
        "foot": _Tracks(ankle, ankle, foot),
    }


def has_foot(leg: Leg) -> bool:
    """Whether heel and toe are known, between which the foot's centre of mass lies."""
    return {"heel", "toe"} <= set(leg.points)


def dynamics_of(
    legs: Sequence[Leg],
    loads: Sequence[Load | None],
    strides: Sequence[StrideCurve],
    mass: float | None,
    lengths: Mapping[str, float],
) -> tuple[Dynamics | None, str]:
    """The inverse dynamics of a walk, and a note on how it was done, or why not.

    Legs and loads are one per trial; the person's mass is in kg, and the `lengths` of the segments are in m.
    """
    there = {leg.recording.name: (leg, load) for leg, load in zip(legs, loads, strict=True) if load is not None}
    by_trial = {name: [s for s in strides if s.load is not None and s.trial == name] for name in there}
    measured = [s for own in by_trial.values() for s in own]
    if not any(leg.recording.forces for leg in legs):
        return None, "no joint moments: no ground forces were recorded"
    if not measured:
        return None, "no joint moments: no stride has the whole ground force of this foot"
    if mass is None:
        return None, "no joint moments: the mass is not known (give --mass)"
    body = body_of(mass, lengths["thigh_m"], lengths["shank_m"])
    found = [curves for name, own in by_trial.items() for curves in strides_dynamics(*there[name], own, body, mass)]
    done = [(s, curves) for s, curves in zip(measured, found, strict=True) if curves is not None]
    if not done:
        points = [plate.point is not None for leg, _ in there.values() for plate in leg.recording.forces]
        lacking = "is missing in a part of every stride" if any(points) else "is not known"
        return None, f"no joint moments: the centre of pressure of the ground force {lacking}"
    curves, trials, starts = zip(*((c, s.trial, s.start) for s, c in done), strict=True)
    result = Dynamics(curves, trials, starts, body, mass)
    foot = "" if all(map(has_foot, (leg for leg, _ in there.values()))) else ", the foot's at the ankle"
    centres = "of generic segment lengths" if any(leg.foot is None for leg, _ in there.values()) else "measured"
    strided = f"{len(done)} of {len(strides)} strides"
    return result, f"joint moments of {strided}: planar, joint centres {centres}, masses by {TABLE}{foot}"


def labelled(found: Dynamics) -> xr.Dataset:
    """Moments and powers as a labelled Dataset.

    Returns:
        `moment` in Nm/kg and `power` in W/kg over (joint, percent), and `stride_moment` and `stride_power` over
        (stride, joint, percent), the coordinate `stride` being the heel strike in s, and `trial` its trial.
    """
    shown = {}
    for word, names, unit in (("moment", MOMENTS, "N m/kg"), ("power", POWERS, "W/kg")):
        attributes = {"units": unit, "long_name": f"joint {word}"}
        single = np.array([[curves[k] for k in names] for curves in found.strides])
        shown[f"stride_{word}"] = (("stride", "joint", "percent"), single, attributes)
        shown[word] = (("joint", "percent"), single.mean(axis=0), attributes)
    coordinates = {
        "joint": list(JOINTS),
        "percent": ("percent", np.linspace(0.0, 100.0, POINTS_PER_STRIDE), {"units": "%", "long_name": "stride"}),
        "stride": ("stride", np.array(found.starts), {"units": "s", "long_name": "heel strike"}),
        "trial": ("stride", list(found.trials)),
    }
    signs = "positive: hip flexion, knee flexion, ankle dorsiflexion; powers positive where energy is given"
    return xr.Dataset(shown, coordinates, {"mass_kg": found.mass, "signs": signs, "segments": TABLE})
