"""The plausible range of a parameter, and the warning for values outside it, which are probably in another unit.

The declaration states the range, or it follows from unit and default:

- angles lie within a full turn, -2 pi to 2 pi, also those of an initial state;
- lengths and accelerations within a factor of 30 of the default; masses, inertias, stiffnesses, dampings, densities and
  times within a factor of 100; other quantities with a unit within a factor of 1000 (of the smallest and largest entry
  of an array); for quantities that may be negative this applies to the magnitude;
- lengths whose default is zero within 100 m;
- zero, numbers without a unit, and other quantities whose default is zero are always plausible.

The masses of a person and of a leg have narrower ranges (`PERSON`, `limb_mass`), so that weights in N stand out. Of a
spring with a damper, the time constant has a range, so that exchanged coefficients do (`warn_slow`); bodies of trees
have ranges of people and robots (`jaxgait.mechanics.spatial.links`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Mapping
from typing import Any, Literal

import equinox as eqx
import numpy as np

from jaxgait.fields import Immutable
from jaxgait.support.checks import is_concrete, warn_user

Bounds = Literal["any", "nonnegative", "positive", "fraction"]
Range = tuple[float, float]

_HUNDRED = ("kg", "kg m^2", "N/m", "N s/m", "N m/rad", "N m s/rad", "kg/s", "kg/m", "kg/m^3", "s", "Pa")
_FACTORS: dict[str, float] = {"m": 30.0, "m/s^2": 30.0, **dict.fromkeys(_HUNDRED, 100.0)}  # 30: so that cm stand out
"""Factors by which a value may differ from the default, by unit."""
_OTHER_FACTOR = 1000.0
_WEIGHT = 9.81
"""Weight in N of 1 kg."""
_HEAVIEST, _LIGHTEST = 6.0, 0.01
"""Plausible masses of a part of a leg, as factors of the usual one."""
_SLOWEST = 10.0
"""Plausible time constant in s of a spring with a damper: some strides."""
PERSON = (2.0, 300.0)
"""Plausible mass in kg of a person."""
_FARTHEST = 100.0
"""Plausible size in m of a length whose default is zero."""
_SLIPS = {
    ("rad", False): "degrees",
    ("m", False): "mm",
    ("kg", False): "g",
    ("s", False): "ms",
    ("m/s^2", False): "mm/s^2",
    ("N/m", True): "N/mm",
    ("N s/m", True): "N s/mm",
    ("kg/m^3", True): "g/cm^3",
    ("Pa", True): "MPa",
    ("Pa s", False): "mPa s",
    ("kg m^2", False): "kg cm^2",
}
"""The unit that the value is probably in, by the parameter's unit and whether the value is too small."""


class ImplausibleValue(UserWarning):
    """A possible value of a parameter lies outside its plausible range: it is probably in another unit."""


def plausible_range(default: Any, unit: str, bounds: Bounds) -> Range | None:
    """The plausible values of a parameter that declares none; see this module's docstring.

    Examples:
        >>> from jaxgait.plausible import plausible_range
        >>> plausible_range(0.3, "m", "positive")
        (0.01, 9.0)
    """
    sizes = np.abs(np.asarray(default, dtype=float))
    sizes = sizes[sizes > 0]
    if unit == "rad":
        return -2 * math.pi, 2 * math.pi
    if unit == "1" or (not sizes.size and unit != "m"):
        return None
    factor = _FACTORS.get(unit, _OTHER_FACTOR)
    largest = factor * float(sizes.max()) if sizes.size else _FARTHEST
    return (-largest, largest) if bounds == "any" or not sizes.size else (float(sizes.min()) / factor, largest)


def limb_mass(usual: float) -> Range:
    """The plausible masses in kg of a part of a leg, around its usual one; the latter's weight in N is not among them.

    Examples:
        >>> from jaxgait.plausible import limb_mass
        >>> limb_mass(2.0)
        (0.02, 12.0)
    """
    return _LIGHTEST * usual, _HEAVIEST * usual


def warn_implausible(label: str, values: Any, unit: str, plausible: Range | None) -> None:
    """Warns once if values in a unit lie outside their plausible range, if any; zero is always plausible.

    Warns:
        ImplausibleValue: naming the label, the first such value, the range, and the probable unit.

    Examples:
        >>> import warnings
        >>> from jaxgait.plausible import warn_implausible
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     warn_implausible("Bungee.mass", 70e3, "kg", (0.7, 7000.0))
        >>> print(caught[0].message)
        Bungee.mass is 70000 kg, out of its plausible range 0.7 to 7e+03: g instead of kg?
    """
    if plausible is None:
        return
    x = np.ravel(np.asarray(values, dtype=float))
    low, high = plausible
    odd = x[((x < low) | (x > high)) & (x != 0)]
    if odd.size:
        slip = _SLIPS.get((unit, bool(abs(odd[0]) < abs(low) < high)))
        if slip in ("mm", "mm/s^2") and abs(odd[0]) < 10.0 * high:  # less than 300 times the default
            slip = slip.replace("mm", "cm")
        if slip == "g" and odd[0] < _WEIGHT * high:
            slip = "N or g"
        hint = f"{slip} instead of {unit}?" if slip else f"is it in {unit}?"
        hint += f" (On the command line: {odd[0]:g}deg)" if unit == "rad" else ""
        many = f" ({odd.size} of {x.size} values)" if x.size > 1 else ""
        what = f"{label} is {odd[0]:g} {unit}{many}, out of its plausible range {low:.3g} to {high:.3g}"
        warn_user(f"{what}: {hint}", ImplausibleValue)


def warn_slow(part: Any, label: str, spring: str, damper: str) -> None:
    """Warns once of a spring and a damper of a part, side by side, whose time constant is implausibly long.

    Without stiffness there is no time constant. Coefficients out of their ranges have their own warning, and
    traced values are not checked.

    Args:
        part: with both coefficients as parameters, whose values broadcast.
        label: what precedes the names, such as "Prosthesis.damper".
        spring: name of the stiffness, in N/m or N m/rad.
        damper: name of the damping, in N s/m or N m s/rad.

    Warns:
        ImplausibleValue: naming both, and that they may be exchanged.

    Examples:
        >>> import warnings
        >>> from jaxgait.models.prosthesis.parts import Damper
        >>> from jaxgait.plausible import warn_slow
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     warn_slow(Damper(k=900.0, c=18000.0), "Prosthesis.damper", "k", "c")  # N/m, N s/m
        >>> print(caught[0].message)
        Prosthesis.damper.c / k = 18000 / 900 is 20 s, out of its plausible range up to 10 s: are c and k exchanged?
    """
    values = getattr(part, spring), getattr(part, damper)
    if not is_concrete(values):
        return
    k, c = (np.ravel(x) for x in np.broadcast_arrays(*(np.asarray(x, float) for x in values)))
    metadata = {field.name: field.metadata for field in dataclasses.fields(part)}  # not all of them are parameters
    ranges = [metadata[name].get("plausible") or (0.0, np.inf) for name in (spring, damper)]
    usual = [(low <= x) & (x <= high) for x, (low, high) in zip((k, c), ranges, strict=True)]
    slow = np.flatnonzero((c > _SLOWEST * k) & (k > 0.0) & np.logical_and(*usual))
    if slow.size:
        first = slow[0]
        many = f" ({slow.size} of {k.size} values)" if k.size > 1 else ""
        what = f"{label}.{damper} / {spring} = {c[first]:g} / {k[first]:g} is {c[first] / k[first]:.3g} s{many}"
        hint = f"out of its plausible range up to {_SLOWEST:g} s: are {damper} and {spring} exchanged?"
        warn_user(f"{what}, {hint}", ImplausibleValue)


def warn_of_parts(module: Any, label: str, changed: Collection[str] | None = None) -> None:
    """Warns of values of the parts of a model that are implausible together (`Immutable.warn_together`).

    Args:
        module: a model or a part; its leaves may have a batch axis, and may be traced.
        label: its name, for messages.
        changed: dotted names of parameters: only parts that have some of them are checked; None: all parts.

    Warns:
        ImplausibleValue: naming the parameters.

    Examples:
        >>> from jaxgait import Prosthesis
        >>> from jaxgait.plausible import warn_of_parts
        >>> warn_of_parts(Prosthesis(), "Prosthesis")  # no warning
    """
    if isinstance(module, Immutable) and (changed is None or any("." not in name for name in changed)):
        module.warn_together(label)
    for field in dataclasses.fields(module):
        value = getattr(module, field.name)
        for key, one in value.items() if isinstance(value, Mapping) else [("", value)]:
            if isinstance(one, eqx.Module):
                inside = f"{field.name}.{key}".rstrip(".")
                own = f"{inside}."
                names = None if changed is None else [n.removeprefix(own) for n in changed if n.startswith(own)]
                if names is None or names:
                    warn_of_parts(one, f"{label}.{inside}", names)


def warn_large_angles(model: Any, start: Mapping[str, Any]) -> None:
    """Warns of angles of an initial state of a model, by component and in rad, that are beyond a full turn.

    Warns:
        ImplausibleValue: as `warn_implausible`.

    Examples:
        >>> import warnings
        >>> from jaxgait import Prosthesis
        >>> from jaxgait.plausible import warn_large_angles
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warn_large_angles(Prosthesis(), {"theta_b": 30.0})
        >>> print(caught[0].category.__name__)
        ImplausibleValue
    """
    of, full_turn = type(model).__name__, plausible_range(0.0, "rad", "any")
    for name, values in start.items():
        variable, elements = model.variables.get(name), model.elements.get(name, ())
        for i, one in enumerate(elements):
            if one.unit == "rad":
                label = f"initial.{name}[{i}] of {of} ({one.long_name})"
                warn_implausible(label, np.asarray(values)[..., i], "rad", full_turn)
        if not elements and variable is not None and variable.unit == "rad":
            warn_implausible(f"initial.{name} of {of} ({variable.long_name})", values, "rad", full_turn)
