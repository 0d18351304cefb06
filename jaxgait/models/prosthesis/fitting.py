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
"""How much deeper in m a leg that is fitted to a person is set.

The middle of the shallowest range of depths at which all of four measured people walk for ten strides, in steps of
1 mm: 4 to 6 mm (10 to 12 mm is next, between them one folds). The floor yields by as much, 6 mm, under the mean load
of the stance (0.7 body weights on 1e5 N/m), and knees follow those of their persons better than at 10 mm.
"""
LANDING_SHARE = 0.1
"""Share of a stride over which the straight leg would be deepest in the floor: what `with_drive` keeps."""


@float64_default
def with_drive(model: Prosthesis, drive: GaitDrive) -> Prosthesis:
    """The leg driven by another measured stride, its `height_offset` set so that the leg meets the floor as before.

    Subjects differ by centimetres of leg, and the walk changes within millimetres of hip height: too high, and the leg
    never lands (the knee folds); too low, and it walks on a bent knee. What is kept is how deep the ankle of the
    straight leg is in the floor in the deepest tenth (`LANDING_SHARE`) of the stride. It asks the new stride only for
    hip height and thigh angle, and not for a knee angle, which depends on where markers sat. All embedded gaits walk
    with it; some millimetres of `height_offset` remain to be tuned. A drive that knows who walked fits the leg to that
    person first (see `fitted`).

    Args:
        model: the leg with the drive that it goes well with.
        drive: the new one.

    Examples:
        >>> from jaxgait import Prosthesis
        >>> from jaxgait.models.prosthesis.fitting import with_drive
        >>> from jaxgait.motion.drive import reference_gait
        >>> leg = with_drive(Prosthesis(), reference_gait("hbm07_0.98ms"))
        >>> print(leg.drive.name, bool(leg.height_offset != Prosthesis().height_offset))
        hbm07_0.98ms True
    """
    driven = fitted(eqx.tree_at(lambda leg: leg.drive, model, drive))
    deeper = 0.0 if drive.person is None else FITTED_DEPTH
    rise = straight_ankle_height(driven) - straight_ankle_height(model) + deeper
    return with_parameters(driven, {"height_offset": float(model.height_offset - rise / model.hip_lift)})


REFERENCE_MASS = 85.07
REFERENCE_PERSON = Person(thigh=0.4175, shank=0.4151, mass=REFERENCE_MASS)
"""The person of the default drive (rajagopal_1.26ms), whom the parameter sets fit."""


@float64_default
def fitted(leg: Prosthesis) -> Prosthesis:
    """The leg cut to the person of its drive; unchanged if the drive does not say who walked.

    The socket's thigh and the pylon become longer or shorter by as much as that person's thigh and shank differ from
    those of `REFERENCE_PERSON`; knee, foot and their masses come off the shelf. The residual thigh scales with the
    person's mass, if that is known, and its moment of inertia with mass and length squared.

    Examples:
        >>> import dataclasses
        >>> from jaxgait import Prosthesis
        >>> from jaxgait.models.prosthesis.fitting import REFERENCE_PERSON, fitted
        >>> taller = REFERENCE_PERSON._replace(shank=REFERENCE_PERSON.shank + 0.03)
        >>> drive = dataclasses.replace(Prosthesis().drive, person=taller)
        >>> leg = fitted(dataclasses.replace(Prosthesis(), drive=drive))
        >>> print(round(float(leg.segments.shank - Prosthesis().segments.shank), 6))  # m: a pylon 3 cm longer
        0.03
    """
    person, s, m = leg.drive.person, leg.segments, leg.masses
    if person is None:
        return leg
    thigh = float(s.thigh) + float(person.thigh) - REFERENCE_PERSON.thigh
    shank = float(s.shank) + float(person.shank) - REFERENCE_PERSON.shank
    heavier = 1.0 if person.mass is None else float(person.mass) / REFERENCE_MASS
    changes = {
        "segments.thigh": thigh,
        "segments.shank": shank,
        "masses.thigh": float(m.thigh) * heavier,
        "masses.inertia_thigh": float(m.inertia_thigh) * heavier * (thigh / float(s.thigh)) ** 2,
    }
    return with_parameters(leg, changes)


@float64_default
def straight_ankle_height(leg: Prosthesis) -> float:
    """Height in m of the ankle above the floor, were the knee straight, at the deepest `LANDING_SHARE` of the stride.

    Negative: a leg that walks is not straight all the time.

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
    """The ankle from the hip in m, were the knee straight, in the frame of the thigh.

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
