"""Fitting the prosthesis to another measured walk: its height over the floor, and the person's segments."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from jaxgait import precision
from jaxgait.mechanics import fourbar
from jaxgait.mechanics.planar import Vec, added, down
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.motion.drive import GaitDrive
from jaxgait.motion.stride import Person
from jaxgait.parameters import with_parameters
from jaxgait.precision import float64_default

FITTED_DEPTH = 0.005
"""Distance in m by which a leg fitted to a person is lowered.

Three of four measured people walk for ten strides at 4 to 9 mm (at 3.5 mm one knee folds). The fourth, the fastest
(1.45 m/s, one recorded stride), walks at 5 mm and folds half a millimetre off: no depth makes it robust. The floor
yields by 6 mm under the mean load of stance (0.7 body weights on 1e5 N/m).
"""
LANDING_SHARE = 0.1
"""Fraction of a stride: `with_drive` keeps the mean depth of the straight leg in its deepest part of this length."""


@float64_default
def with_drive(model: Prosthesis, drive: GaitDrive) -> Prosthesis:
    """The leg driven by another measured stride, with `height_offset` set so that the leg meets the floor as before.

    Subjects differ by centimetres of leg length, and a walk changes within millimetres of hip height: if the hip is too
    high, the leg never lands (the knee folds); if too low, it walks on a bent knee. So the depth of the straight leg's
    ankle in the floor is kept over the deepest tenth (`LANDING_SHARE`) of the stride. Only the hip height and the thigh
    angle of the new stride enter, not its knee angle, which depends on marker placement. All embedded gaits walk at
    this depth; some millimetres of `height_offset` remain to be tuned. The leg is first `fitted` to the person of the
    drive.

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
    deeper, before = (0.0 if d.person is None else FITTED_DEPTH for d in (drive, model.drive))
    rise = straight_ankle_height(driven) - straight_ankle_height(model) + (deeper - before)
    return with_parameters(driven, {"height_offset": float(model.height_offset - rise / model.hip_lift)})


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
    mass, earlier = (REFERENCE_MASS if p.mass is None else float(p.mass) for p in (person, before))
    heavier = mass / earlier
    changes = {
        "segments.thigh": thigh,
        "segments.shank": shank,
        "masses.thigh": float(m.thigh) * heavier,
        "masses.inertia_thigh": float(m.inertia_thigh) * heavier * (thigh / float(s.thigh)) ** 2,
    }
    return with_parameters(leg, changes)


@float64_default
def straight_ankle_height(leg: Prosthesis) -> float:
    """Height in m of the ankle of a straight leg above the floor, in the deepest `LANDING_SHARE` of the stride.

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
