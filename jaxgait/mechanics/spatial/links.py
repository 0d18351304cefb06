"""One body of a tree: its mass, its frame, and the joint that holds it."""

from __future__ import annotations

from dataclasses import MISSING
from typing import TYPE_CHECKING, Any

import equinox as eqx
import numpy as np

from jaxgait.elements import rank_of, shape_of
from jaxgait.fields import Immutable
from jaxgait.mechanics.spatial.joints import Joint
from jaxgait.parameters import ParameterError, parameter
from jaxgait.plausible import ImplausibleValue
from jaxgait.precision import float64_default
from jaxgait.support.checks import is_concrete, shown, warn_user

_LENGTHS = (-10.0, 10.0)
"""Plausible positions in m within a body of a mechanism that walks: so that mm and cm stand out."""
_MASSES = (0.0, 1000.0)
"""Plausible masses in kg of such a body: so that g stand out."""
_SPREAD = 3.0
"""Largest plausible distance in m of a body's mass from its centre of mass (rms): that of a rod of 10 m."""
_ANY = (float("-inf"), float("inf"))  # see `Link.warn_together`
_SHAPES = (
    *((name, 1, "three numbers in m, (x, y, z)") for name in ("com", "offset")),
    ("inertia", 2, "3 x 3 numbers in kg m^2"),
    ("rotation", 2, "3 x 3 numbers"),
)
"""Vectors and tensors of a link: name, number of axes, and what it holds if it is not None."""


@float64_default
class Link(Immutable):
    """One body; its numbers are parameters.

    The joint frame sits at `offset` and `rotation` in the parent's frame; the body's own frame coincides with it at
    zero coordinates. `com` and `inertia` (about the centre of mass) are in the body's frame.

    Examples:
        >>> from jaxgait.mechanics.spatial import Link, hinge
        >>> thigh = Link("thigh", "pelvis", hinge((0, 1, 0)), mass=10.0, com=(0.0, 0.0, -0.17), offset=(0.0, 0.08, 0.0))
        >>> print(thigh.name, thigh.joint.coordinates, thigh.offset)
        thigh ('turn_y',) (0.0, 0.08, 0.0)
    """

    name: str = eqx.field(static=True)
    parent: str | None = eqx.field(static=True)
    """Name of the parent body; None: the world."""
    joint: Joint = eqx.field(static=True)
    mass: Any = parameter(MISSING, unit="kg", doc="mass of the body", bounds="nonnegative", plausible=_MASSES)
    com: tuple[Any, ...] | Any = parameter(
        (0.0, 0.0, 0.0), unit="m", doc="centre of mass in the body's frame", plausible=_LENGTHS
    )
    inertia: tuple[Any, ...] | Any = parameter(
        ((0.0, 0.0, 0.0),) * 3, unit="kg m^2", doc="inertia tensor about the centre of mass", plausible=_ANY
    )
    offset: tuple[Any, ...] | Any = parameter(
        (0.0, 0.0, 0.0), unit="m", doc="position of the joint in the parent's frame", plausible=_LENGTHS
    )
    rotation: tuple[Any, ...] | Any | None = parameter(
        None, unit="1", doc="orientation of the joint in the parent", rank=2
    )
    """Rotation matrix; None: not turned. Mechanisms that move in the sagittal plane, with no joint turned, are computed
    in it (`Tree.in_plane`), which is faster than in space."""

    if not TYPE_CHECKING:  # type checkers know the fields

        def __new__(cls, *args: Any, **given: Any) -> Any:
            """Names a link without a mass, and how to say that it has none."""
            given |= dict(zip(("name", "parent", "joint", "mass"), args, strict=False))
            if {"name", "parent", "joint"} <= given.keys() and "mass" not in given:
                whose = f"the link {given['name']!r}"
                raise TypeError(f"{whose} needs a mass in kg: give mass=0.0 if it only carries other links")
            return super().__new__(cls)

    def __check_init__(self) -> None:
        """Checks name and joint, how many numbers vectors and tensors have, and that the inertia is not a list."""
        if not isinstance(self.name, str) or not self.name:
            raise ParameterError(f"a link needs a name, such as 'thigh', got {shown(self.name)}")
        if not isinstance(self.joint, Joint):
            wanted = f"the joint of {self.name!r} must be a joint such as hinge((0, 1, 0)), or fixed() for none"
            raise ParameterError(f"{wanted}, got {shown(self.joint)}")
        if rank_of(self.inertia) == 1:
            what = f"the inertia of {self.name!r} must be a tensor of 3 x 3 numbers in kg m^2"
            raise ParameterError(f"{what}, got {shown(self.inertia)}: give np.diag(...) of its moments")
        for field, rank, wanted in _SHAPES:
            given = getattr(self, field)
            if given is not None and shape_of(given, rank) != (3,) * rank:
                raise ParameterError(f"the {field} of {self.name!r} must have {wanted}, got {shown(given)}")

    def warn_together(self, label: str) -> None:
        """Warns of an inertia that is too large for its mass: that of a body of more than 10 m.

        Warns:
            jaxgait.plausible.ImplausibleValue: with the distance of the mass from the centre of mass, in m.

        Examples:
            >>> import warnings
            >>> import numpy as np
            >>> from jaxgait.mechanics.spatial import Link, hinge
            >>> rod = Link("rod", None, hinge((0, 1, 0)), mass=2.0, inertia=np.diag([3e4, 3e4, 1e3]))
            >>> with warnings.catch_warnings(record=True) as caught:
            ...     warnings.simplefilter("always")
            ...     rod.warn_together("links.rod")
            >>> print(caught[0].message)  # doctest: +ELLIPSIS
            links.rod.inertia puts the mass of 2 kg 123 m (rms) from its centre, out of its plausible range up to 3 ...
        """
        if not is_concrete((self.mass, self.inertia)):
            return
        mass, moment = np.broadcast_arrays(np.asarray(self.mass, float), _moment(self.inertia))
        light = mass <= 0.0
        spread = np.where(light, 0.0, np.sqrt(np.maximum(moment, 0.0) / np.where(light, 1.0, mass)))
        first = int(np.argmax(spread > _SPREAD))
        if spread.flat[first] > _SPREAD:
            what = f"{label}.inertia puts the mass of {mass.flat[first]:g} kg {spread.flat[first]:.3g} m (rms) from its"
            hint = f"centre, out of its plausible range up to {_SPREAD:g} m: kg mm^2 or kg cm^2 instead of kg m^2?"
            warn_user(f"{what} {hint}", ImplausibleValue)


@float64_default
def numbers(value: Any, axes: int) -> np.ndarray:
    """A vector or tensor of a link in its unit and precision, with the batch axes of it or of its elements first.

    Args:
        value: an array, or nested tuples of numbers, of which each may have batch axes.
        axes: 1 for a vector (..., 3), 2 for a tensor (..., 3, 3).

    Examples:
        >>> import numpy as np
        >>> from jaxgait.mechanics.spatial.links import numbers
        >>> print(numbers((0.0, 0.0, np.array([-0.2, -0.3])), axes=1))  # m, of two members
        [[ 0.   0.  -0.2]
         [ 0.   0.  -0.3]]
    """
    if axes == 0 or not isinstance(value, tuple):
        return np.asarray(value)
    return np.stack(np.broadcast_arrays(*(numbers(one, axes - 1) for one in value)), axis=-axes)


def _moment(inertia: Any) -> np.ndarray:
    """The moment in kg m^2 about the centre of mass, per member: the sum of mass times distance squared."""
    return np.asarray(0.5 * np.trace(numbers(inertia, axes=2), axis1=-2, axis2=-1))
