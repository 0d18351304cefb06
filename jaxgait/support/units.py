"""Units as text, such as "N s/m", "kN/mm" and "kg m^2", and conversion between units of the same quantity."""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from xarray import DataArray

Unit: TypeAlias = "tuple[float, Counter[str]]"
"""Size in SI units, and the exponents of kg, m, s and rad (an angle is a quantity of its own)."""

_MASS, _LENGTH, _FORCE, _ENERGY = {"kg": 1}, {"m": 1}, {"kg": 1, "m": 1, "s": -2}, {"kg": 1, "m": 2, "s": -2}
_KNOWN: dict[str, tuple[float, dict[str, int]]] = {
    "1": (1.0, {}),
    "%": (0.01, {}),
    "rad": (1.0, {"rad": 1}),
    "deg": (math.pi / 180.0, {"rad": 1}),
    "°": (math.pi / 180.0, {"rad": 1}),
    "m": (1.0, _LENGTH),
    "s": (1.0, {"s": 1}),
    "g": (1e-3, _MASS),
    "t": (1e3, _MASS),
    "N": (1.0, _FORCE),
    "Nm": (1.0, _ENERGY),
    "Ns": (1.0, {"kg": 1, "m": 1, "s": -1}),
    "Pa": (1.0, {"kg": 1, "m": -1, "s": -2}),
    "J": (1.0, _ENERGY),
    "W": (1.0, {"kg": 1, "m": 2, "s": -3}),
    "Nmm": (1e-3, _ENERGY),
    "Nms": (1.0, {"kg": 1, "m": 2, "s": -1}),
    "kgf": (9.80665, _FORCE),
    "degC": (1.0, {"degC": 1}),
    "°C": (1.0, {"degC": 1}),
    "min": (60.0, {"s": 1}),
    "h": (3600.0, {"s": 1}),
    "in": (0.0254, _LENGTH),
    "ft": (0.3048, _LENGTH),
    "lb": (0.45359237, _MASS),
    "lbf": (4.4482216152605, _FORCE),
}
_PREFIXES = {"n": 1e-9, "u": 1e-6, "µ": 1e-6, "m": 1e-3, "c": 1e-2, "d": 1e-1}
_PREFIXES |= {"da": 1e1, "h": 1e2, "k": 1e3, "M": 1e6, "G": 1e9}
_WITHOUT_PREFIX = {"1", "%", "°", "degC", "°C", "min", "h", "t", "ft", "lb", "kgf"}
_LETTER = "A-Za-zµμ°%"
_SPELLINGS = str.maketrans({"μ": "µ", "⋅": "·", "−": "-", "⁻": "^-", "¹": "^1", "²": "^2", "³": "^3"})
"""Characters of other programs: the Greek letter mu, the dot operator, the minus sign and superscripts."""
_FACTOR = re.compile(rf"([{_LETTER}]+)(?:\^?(-?\d+(?:\.\d+)?))?|1")
COMMON = ("1", "%", "rad", "deg", "m", "cm", "mm", "s", "ms", "kg", "g", "N", "kN", "rad/s", "deg/s")
COMMON += ("N/m", "kN/m", "N/mm", "N s/m", "kN s/m", "N s/mm", "m/s", "m/s^2", "kg m^2", "kg cm^2", "N m", "Pa", "MPa")
"""Units to name in messages."""
_UNCONVERTED = re.compile(
    "(?:stride|step|hop|jump|cycle|beat|turn|rev|frame|sample|count|event|person|people|day|mile)s?|rpm|bpm|mph|mi|yd|px|"
    f"%?B[WH]|dB|mmHg|cmH2O|psi|S|(?:{'|'.join(_PREFIXES)})?(?:Hz|K|A|V|F|H|C|T|Wb|Wh|ohm|mol|cal|bar|l|L)"
)
"""Names that units may contain, but that are not converted."""
_WORDS = {"metre": "m", "meter": "m", "second": "s", "sec": "s", "kilogram": "kg", "gram": "g", "newton": "N"}
_WORDS |= {"radian": "rad", "degree": "deg", "joule": "J", "watt": "W", "pascal": "Pa", "hertz": "Hz", "inch": "in"}
_WORDS |= {"foot": "ft", "feet": "ft", "pound": "lb", "minute": "min", "hour": "h", "tonne": "t"}
"""Words that are not units, with those to write instead."""


NUMBER = r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
AFTER_NUMBER = rf"(?:1?/)?(?![eE][-+]?\d)[{_LETTER}].*"
QUANTITY = re.compile(rf"({NUMBER})\s*({AFTER_NUMBER}|)")
"""A number and its unit, which may be empty."""


class Partly(str):
    """The unit of some values of a list; the others are plain numbers, in the unit that is wanted."""

    __slots__ = ()


def factor(given: str, wanted: str, what: str, *, of: str) -> float:
    """The factor (no dimension) that converts values from one unit to another.

    Args:
        given: unit of the values.
        wanted: unit to convert to.
        what: the quantity in the unit `wanted`, for the message.
        of: the quantity in the unit `given`, for the message.

    Raises:
        ValueError: for units of different quantities, and unknown ones.

    Examples:
        >>> from jaxgait.support.units import factor
        >>> factor("kN/m", "N/m", "the stiffness", of="the value")
        1000.0
    """
    if given == wanted:
        return 1.0
    own, other = _parsed(given), _parsed(wanted)
    if own is None or other is None or own[1] != other[1]:
        known = ", ".join(alike(wanted) or [wanted])
        raise ValueError(f"{of} is in {given!r}, but {what} in {wanted!r}: give it in {known}")
    return own[0] / other[0]


def unit_of(values: Any, label: str) -> str | None:
    """The unit of labelled values, which xarray and pandas keep in the attribute `units`; None without one.

    Args:
        values: an array of any kind and shape, a number, or a list of these.
        label: what they are, for the message.

    Returns:
        The unit; of a list in which some values have none, as `Partly`.

    Raises:
        ValueError: for a unit that is not text, and for a list of values in different units.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.support.units import unit_of
        >>> print(unit_of(xr.DataArray([20.0, 25.0], attrs={"units": "kN/m"}), "stiffness"), unit_of([1, 2], "count"))
        kN/m None
    """
    if isinstance(values, list | tuple):
        found = [unit_of(one, label) for one in values]
        given = sorted({unit for unit in found if unit})
        if len(given) > 1:
            raise ValueError(_different(label, *map(repr, given)))
        partly = any(unit is None or isinstance(unit, Partly) for unit in found)
        return None if not given else Partly(given[0]) if partly else given[0]
    unit = getattr(values, "attrs", {}).get("units") or None
    if not isinstance(unit, str | None):
        raise ValueError(f"the attribute units of {label} must be text such as 'kg', got {unit!r}")
    return unit


def in_unit(values: Any, unit: str, label: str, *, own: str = "the model's") -> Any:
    """Labelled values (of xarray or pandas) as an array of numbers in a unit; other values are returned as they are.

    Args:
        values: an array of any kind and shape, a number, or a list of these.
        unit: the unit to convert to.
        label: what the values are, for the message.
        own: what has the unit, for the message.

    Raises:
        ValueError: for values in a unit of another quantity, or in an unknown one, and if only some have another unit
            and it is not known which; for text with a unit, such as "16 kN/m", with the number to write instead.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.support.units import in_unit
        >>> in_unit(xr.DataArray([20.0, 25.0], attrs={"units": "kN/m"}), "N/m", "stiffness")
        array([20000., 25000.])
    """
    if isinstance(values, list | tuple):
        converted = [in_unit(one, unit, label, own=own) for one in values]
        return values if all(x is one for x, one in zip(converted, values, strict=True)) else converted
    if isinstance(values, str) and (found := QUANTITY.fullmatch(values.strip())) and found[2]:
        number = float(found[1]) * factor(found[2], unit, own, of=label)
        raise ValueError(f"{label} must be a number in {unit}, not text: write {number:.12g} instead of {values!r}")
    if not hasattr(values, "attrs"):
        return values
    given = unit_of(values, label) or unit
    size = factor(given, unit, own, of=label)
    if size != 1.0 and isinstance(given, Partly):  # it is no longer known which values have the unit
        raise ValueError(_different(label, repr(str(given)), "no unit"))
    return np.asarray(values) if size == 1.0 else np.asarray(values) * size


def seconds(name: str, time: Any) -> Any:
    """A time, in s if it is labelled with another unit; `name` is for the message.

    Raises:
        ValueError: for one that is labelled with a unit of another quantity.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.support.units import seconds
        >>> print(seconds("duration", xr.DataArray(0.5, attrs={"units": "min"})), seconds("duration", 20.0))
        30.0 20.0
    """
    if not hasattr(time, "attrs"):
        return time
    found = np.asarray(in_unit(time, "s", name, own="a time"))
    found = found / np.timedelta64(1, "s") if found.dtype.kind == "m" else found  # as some versions of xarray read s
    return found.item() if found.ndim == 0 else found


def with_unit(number: str, unit: str) -> str:
    """A number with its unit, without one if the unit is "1" or empty; rounded thousands are written without exponent.

    Examples:
        >>> from jaxgait.support.units import with_unit
        >>> with_unit("0.5", "1/s"), with_unit("0.5", "1"), with_unit("4.87e+03", "N")
        ('0.5 1/s', '0.5', '4870 N')
    """
    number = re.sub(r"\d(\.\d+)?e\+0\d", lambda rounded: f"{float(rounded[0]):g}", number)
    return number if unit in ("", "1") else f"{number} {unit}"


def ratio(unit: str, by: str) -> str:
    """The unit of a quantity per another one, as `factor` and other libraries read it; empty if the first has none.

    Examples:
        >>> from jaxgait.support.units import ratio
        >>> ratio("m", "s"), ratio("m", "N/m"), ratio("1", "kg"), ratio("m", "1")
        ('m/s', 'm/(N/m)', '1/kg', 'm')
    """
    if by in ("", "1") or not unit:
        return unit
    return f"{unit}/({by})" if re.search(r"[\s*·/]", by) else f"{unit}/{by}"


def _different(label: str, *given: str) -> str:
    """The error message for values in different units."""
    return f"the values of {label} have different units ({' and '.join(given)}): give all in one"


def alike(unit: str) -> list[str]:
    """Common units of the same quantity as a unit; none for a unit that is not converted.

    Examples:
        >>> from jaxgait.support.units import alike
        >>> alike("deg"), alike("N/m")
        (['rad', 'deg'], ['N/m', 'kN/m', 'N/mm'])
    """
    own = _parsed(unit)
    if own is None:
        return []
    return [other for other in dict.fromkeys((*COMMON, unit)) if (_parsed(other) or own)[1] == own[1]]


def check(unit: str, what: str) -> None:
    """Checks that all names in a unit are known; some ("stride", "mmHg") are units without conversion.

    Args:
        unit: the unit of a declaration.
        what: that declaration, for the message.

    Raises:
        ValueError: naming the unit that was probably meant, or common ones.

    Examples:
        >>> from jaxgait.support.units import check
        >>> check("kgg m^2", "inertia")
        Traceback (most recent call last):
            ...
        ValueError: the unit 'kgg m^2' of inertia has an unknown 'kgg': did you mean 'kg'?
    """
    known = {n: n for text in COMMON for n in re.findall(r"[A-Za-z%]+", text)} | {n: n for n in _KNOWN} | _WORDS
    for name in re.findall(rf"[{_LETTER}][{_LETTER}0-9]*", unit.translate(_SPELLINGS)):
        if _base(name.rstrip("0123456789")) is not None or _UNCONVERTED.fullmatch(name):
            continue
        same = [n for n in known if n.lower() == name.lower()]
        near = same or difflib.get_close_matches(name, known, n=1, cutoff=0.75)
        listed = f"known are {', '.join(COMMON)} and their products; a count or a ratio has the unit '1'"
        hint = f"did you mean {known[near[0]]!r}?" if near else listed
        raise ValueError(f"the unit {unit!r} of {what} has an unknown {name!r}: {hint}")


def _parsed(text: str) -> Unit | None:
    """A unit from text: factors separated by spaces, "*" or "·", with exponents.

    Each "/" precedes a single factor, or a unit in parentheses.
    """
    text = text.translate(_SPELLINGS).replace("^-^", "^-").replace("**", "^")
    above, *below = _divided(f"1{text}" if text.startswith("/") else text)
    size, exponents = 1.0, Counter[str]()
    for sign, part in [(1.0, above), *((-1.0, part) for part in below)]:
        nested = re.fullmatch(r"\((.*)\)", part) if sign < 0.0 else None
        factors = re.split(r"[\s*·]+", part)
        if sign < 0.0 and not nested and len(factors) > 1:  # "N/m s" could be read in two ways
            return None
        for found in [_parsed(nested[1])] if nested else map(_one_factor, factors):
            if found is None:
                return None
            size *= found[0] ** sign
            for name, exponent in found[1].items():
                exponents[name] += sign * exponent  # pyright: ignore[reportArgumentType]
    return size, exponents


def _divided(text: str) -> list[str]:
    """The parts of a unit between the slashes that are outside parentheses."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "/" and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _one_factor(text: str) -> Unit | None:
    """A unit with a prefix and an exponent, or without."""
    found = _FACTOR.fullmatch(text)
    known = found and _base(found[1] or "1")
    if not found or not known:
        return None
    power = float(found[2] or 1.0)
    return known[0] ** power, Counter({name: exponent * power for name, exponent in known[1].items()})


def _base(name: str) -> tuple[float, dict[str, int]] | None:
    """A unit without exponent, with a prefix or without."""
    if name in _KNOWN:
        return _KNOWN[name]
    for prefix, size in _PREFIXES.items():
        rest = name.removeprefix(prefix)
        if rest != name and rest in _KNOWN and rest not in _WITHOUT_PREFIX:
            return size * _KNOWN[rest][0], _KNOWN[rest][1]
    return None


def displayed(x: DataArray) -> DataArray:
    """A result as pictures and text show it: angles and their rates in degrees, as in gait analysis; all else as it is.

    Examples:
        >>> import numpy as np
        >>> import xarray as xr
        >>> from jaxgait.support.units import displayed
        >>> rate = xr.DataArray([np.pi], dims="time", attrs={"units": "rad/s"})
        >>> print(displayed(rate).values, displayed(rate).units)
        [180.] deg/s
    """
    unit = str(x.attrs.get("units", ""))
    if unit.partition("/")[0] != "rad":
        return x
    return x.copy(data=np.degrees(x.values)).assign_attrs(units=unit.replace("rad", "deg", 1))
