"""Fitting the prosthesis to another measured walk: the person's segments, and its height over the floor."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from jaxgait import precision
from jaxgait.mechanics import fourbar
from jaxgait.mechanics.planar import Vec, added, down
from jaxgait.models.prosthesis.measures import MIN_CARRIED_LOAD, correlation, ground_force
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.motion import NotAligned
from jaxgait.motion.drive import GaitDrive
from jaxgait.motion.stride import Person
from jaxgait.outcome import IncompleteRun
from jaxgait.parameters import with_parameters
from jaxgait.precision import float64_default
from jaxgait.support.notes import warn_user, without_warnings

ALIGNED_WITHIN, HEIGHT_STEP = 0.015, 0.0005
"""Heights in m that `aligned` tries: in steps of the second up to the first, above and below the reference."""
SPARE_STEPS = 2
"""The leg must also walk this many steps above and below the chosen height; an isolated height may fold at another
tolerance."""
ALIGNED_STRIDES = 20
"""Strides of each trial, as many as a knee may take to fold; measures of the gait use the last five."""
EQUAL_RHO = 0.01
"""Difference in `rho` up to which two heights count as equally good: the lower one is taken."""
OTHER_DAMPERS = (0.35, 0.5, 0.7, 1.4, 2.0)
"""Ratios of `damper.k` that are tried for a leg that walks at no height."""
LANDING_SHARE = 0.1
"""Fraction of a stride in which the ankle of the straight leg is below the height that `with_drive` keeps."""


@float64_default
def with_drive(model: Prosthesis, drive: GaitDrive) -> Prosthesis:
    """The leg driven by another measured stride, with `height_offset` set so that the leg meets the floor as before.

    Subjects differ by centimetres of leg length, and a walk changes within millimetres of hip height: if the hip is too
    high, the leg never lands (the knee folds); if too low, it walks on a bent knee. What is kept is the height below
    which the ankle of the straight leg is for a tenth (`LANDING_SHARE`) of the stride. Only the hip height and the
    thigh angle of the new stride enter, not its knee angle, which depends on marker placement. A leg that was fitted to
    a person (by the segments of its drive) meets the floor as the default leg does. The leg is first `fitted` to the
    person of the drive; `aligned` finds the last millimetres.

    Args:
        model: the leg, with a drive at which it walks well.
        drive: the new drive.

    Examples:
        >>> from jaxgait import Prosthesis
        >>> from jaxgait.models.prosthesis.fitting import with_drive
        >>> from jaxgait.motion.drive import reference_gait
        >>> leg = with_drive(Prosthesis(), reference_gait("hbm07_0.98ms"))
        >>> print(leg.drive.name, bool(leg.height_offset != Prosthesis().height_offset))
        hbm07_0.98ms True
    """
    driven = fitted(eqx.tree_at(lambda leg: leg.drive, model, drive), model.drive.person)
    walks_well = model if model.drive.person is None else Prosthesis()
    return _raised(driven, straight_ankle_height(walks_well) - straight_ankle_height(driven))


def _raised(leg: Prosthesis, rise: float) -> Prosthesis:
    """The leg with its hip higher by `rise` in m."""
    return with_parameters(leg, {"height_offset": float(_heights(leg, rise))})


def _heights(leg: Prosthesis, rise: Any) -> Any:
    """The `height_offset` of the leg with its hip higher by `rise`, both in m."""
    return float(leg.height_offset) + rise / float(leg.hip_lift)


@float64_default
def aligned(leg: Prosthesis) -> Prosthesis:
    """The leg at the height of the hip at which it walks best, found by trying.

    The measured path of the hip prescribes where the leg meets the floor, but markers locate the hip only to a
    centimetre, and two millimetres decide between a stiff stance and a knee that folds. A prosthetist tries; so does
    this function: the straight leg's ankle is at the depth of the default leg and up to 15 mm above and below it, in
    steps of 0.5 mm, in 61 runs of twenty strides (about two seconds, and some more to compile). Each height counts
    with the worst correlation (`rho`) of all heights up to a millimetre away, so that the leg also walks there. It
    takes the lowest height within 0.01 of the best one, farthest from heights at which the knee folds. A leg that
    hardly touches the floor swings well, too: heights at which the leg carries less than a quarter of the body weight,
    on average over a stride, do not count.

    Args:
        leg: a leg with its drive.

    Returns:
        The leg with another `height_offset`; the same leg if it walks at no height, nor a millimetre above and below.

    Warns:
        NotAligned: if it walks at no height; it says with which other stiffness of the damper it does.

    Examples:
        >>> from jaxgait import Prosthesis
        >>> from jaxgait.models.prosthesis.fitting import aligned, with_drive
        >>> from jaxgait.motion.drive import reference_gait
        >>> leg = with_drive(Prosthesis(), reference_gait("hbm07_0.98ms"))
        >>> print(round(1e3 * float(aligned(leg).height_offset - leg.height_offset)))  # mm
        4
    """
    leg.validate()  # here an error names the drive, which has no name below
    heights, rho = _trials(leg)
    if not np.isfinite(rho).any():
        what = f"{leg.drive.name}: the leg walks at no height_offset from {heights[0]:.4f} to {heights[-1]:.4f} m"
        text = f"{what}, with a millimetre to spare; it was not aligned: {_advice(leg)}"
        warn_user(NotAligned(text, "height_offset"))
        return leg
    return with_parameters(leg, {"height_offset": _lowest(heights, rho)})


def _lowest(heights: np.ndarray, rho: np.ndarray) -> float:
    """The lowest height in m with (nearly) the best correlation."""
    return float(heights[np.argmax(rho >= np.max(rho) - EQUAL_RHO)])


def _trials(leg: Prosthesis) -> tuple[Float[np.ndarray, " heights"], Float[np.ndarray, " heights"]]:
    """Values of `height_offset` in m, and the worst `rho` up to a millimetre away; minus infinity where it fails."""
    from jaxgait.ensembles import ensemble

    most = round(ALIGNED_WITHIN / HEIGHT_STEP)
    reference = straight_ankle_height(Prosthesis()) - straight_ankle_height(leg)  # all are counted from the default leg
    heights = _heights(leg, reference + HEIGHT_STEP * np.arange(-most, most + 1))
    anonymous = dataclasses.replace(leg.drive, name="", side="", person=None)  # one program for all people
    with without_warnings(IncompleteRun):  # those that fold are part of the search
        request = {"strides": ALIGNED_STRIDES, "observe": [correlation, ground_force], "progress": False}
        runs = ensemble(dataclasses.replace(leg, drive=anonymous), {"height_offset": heights}, **request)
    weight = body_mass(leg.drive.person or REFERENCE_PERSON) * float(leg.gravity)
    rho = runs[correlation.name]
    walks = (runs["status"] == 0) & (runs[ground_force.name] >= MIN_CARRIED_LOAD * weight) & np.isfinite(rho)
    around = np.lib.stride_tricks.sliding_window_view(np.where(walks, rho, -np.inf), 2 * SPARE_STEPS + 1)
    return heights, np.pad(around.min(axis=-1), SPARE_STEPS, constant_values=-np.inf)


def _advice(leg: Prosthesis) -> str:
    """What to change in a leg that walks at no height: the damper's stiffness decides most whether its knee folds."""
    own = float(leg.damper.k)
    found = {x * own: _trials(with_parameters(leg, {"damper.k": x * own})) for x in OTHER_DAMPERS}
    k, (heights, rho) = max(found.items(), key=lambda one: np.max(one[1][1]))
    if not np.isfinite(rho).any():
        tried = ", ".join(f"{k:.0f}" for k in found)
        return f"nor does it with damper.k = {tried} N/m; look at the hip's path and the lengths of the segments"
    at = f"damper.k = {k:.0f} N/m instead of {own:.0f} and height_offset = {_lowest(heights, rho):.4f} m"
    return f"with {at} it walks (rho {np.max(rho):.3f})"


REFERENCE_MASS = 85.07
REFERENCE_PERSON = Person(thigh=0.4175, shank=0.4151, mass=REFERENCE_MASS)
"""The person of the default drive (rajagopal_1.26ms) and of the parameter sets."""


@float64_default
def fitted(leg: Prosthesis, before: Person | None = None) -> Prosthesis:
    """The leg fitted to the person of its drive instead of the person `before`; None stands for `REFERENCE_PERSON`.

    The thigh with its socket and the pylon become longer or shorter by as much as the thighs and shanks of both differ;
    knee, foot and their masses do not change. The mass of the residual thigh scales with the person's mass, if known,
    and its moment of inertia with mass and length squared.

    Examples:
        >>> import dataclasses
        >>> from jaxgait import Prosthesis
        >>> from jaxgait.models.prosthesis.fitting import REFERENCE_PERSON, fitted
        >>> taller = REFERENCE_PERSON._replace(shank=REFERENCE_PERSON.shank + 0.03)
        >>> drive = dataclasses.replace(Prosthesis().drive, person=taller)
        >>> leg = fitted(dataclasses.replace(Prosthesis(), drive=drive))
        >>> print(round(float(leg.segments.shank - Prosthesis().segments.shank), 6))  # m: a longer pylon
        0.03
    """
    s, m = leg.segments, leg.masses
    person, before = leg.drive.person or REFERENCE_PERSON, before or REFERENCE_PERSON
    if person is before:
        return leg
    thigh = float(s.thigh) + float(person.thigh) - float(before.thigh)
    shank = float(s.shank) + float(person.shank) - float(before.shank)
    heavier = body_mass(person) / body_mass(before)
    changes = {
        "segments.thigh": thigh,
        "segments.shank": shank,
        "masses.thigh": float(m.thigh) * heavier,
        "masses.inertia_thigh": float(m.inertia_thigh) * heavier * (thigh / float(s.thigh)) ** 2,
    }
    return with_parameters(leg, changes)


@float64_default
def body_mass(person: Person) -> float:
    """The body mass in kg; if it is not known, that of the reference.

    Examples:
        >>> from jaxgait.models.prosthesis.fitting import REFERENCE_PERSON, body_mass
        >>> print(*(body_mass(REFERENCE_PERSON._replace(mass=mass)) for mass in (70.0, None)))  # kg
        70.0 85.07
    """
    return REFERENCE_MASS if person.mass is None else float(person.mass)


@float64_default
def straight_ankle_height(leg: Prosthesis) -> float:
    """Height in m above the floor below which the ankle of a straight leg is for `LANDING_SHARE` of the stride.

    It is negative, as a walking leg bends its knee.

    Examples:
        >>> from jaxgait import Prosthesis, with_parameters
        >>> from jaxgait.models.prosthesis.fitting import straight_ankle_height
        >>> raised = with_parameters(Prosthesis(), {"height_offset": float(Prosthesis().height_offset) + 0.01})
        >>> print(round(straight_ankle_height(raised) - straight_ankle_height(Prosthesis()), 6))  # m
        0.01
    """
    leg = precision.cast(leg)
    ankle = straight_ankle(leg)
    height = lambda hip: hip.hip_y.value + added(down(hip.thigh.value), ankle).y
    heights = jax.vmap(lambda t: height(leg.hip(t)))(jnp.linspace(0.0, leg.period, 200, endpoint=False))
    return float(np.quantile(np.asarray(heights), LANDING_SHARE))


@float64_default
def straight_ankle(leg: Prosthesis) -> Vec:
    """Position in m of the ankle of a straight leg relative to the hip, in the frame of the thigh.

    Examples:
        >>> from jaxgait import Prosthesis
        >>> from jaxgait.models.prosthesis.fitting import straight_ankle
        >>> print(round(float(straight_ankle(Prosthesis()).y), 2))  # m below the hip
        -0.83
    """
    k, s = leg.linkage, leg.segments
    knee = fourbar.close(k.bars, fourbar.psi_at(k.bars, 0.0))
    shank = added(knee.CD, down(-k.gamma2))
    return s.thigh * down(0.0) - k.l_AE * down(k.gamma1) + knee.D - k.l_DF * knee.CD + s.shank * shank
