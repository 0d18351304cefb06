"""The parameters of a model: declared once with unit, meaning and bounds, and addressed by dotted names.

    class Damper(Immutable):
        k: Scalar = parameter(1.8e4, unit="N/m", doc="spring stiffness of the damper", bounds="nonnegative")
    parameters(model)                          # {"damper.k": ParameterInfo(...), ...}
    with_parameters(model, {"damper.k": 2e4})  # a new model; an unknown name is an error that names the nearest one
    check(model)                               # NaN, infinities and values out of bounds are errors

Values outside their plausible range are accepted with a warning (see `jaxgait.plausible`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jaxgait.elements import as_array_of, as_value, declared, entries_of, rank_of, within_arrays
from jaxgait.fields import (
    OWN,
    Immutable,
    entered,
    first_step,
    is_parameter,
    no_parameter,
    sizes_of,
    suitable_values,
    unit_of,
)
from jaxgait.plausible import Bounds, Range, plausible_range, warn_implausible, warn_of_parts
from jaxgait.support import units
from jaxgait.support.checks import an_instance, as_array, by_name, listed, shown

M = TypeVar("M")

CHOSEN = "chosen"
"""Source of a parameter whose value is our own choice."""


class ParameterError(ValueError):
    """A parameter is unknown, or has too few axes or an impossible value."""


class Prepared(eqx.Module):
    """Something derived from parameters, which can no longer be replaced.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.parameters import Prepared
        >>> system = Bungee().prepared()
        >>> print(isinstance(system, Prepared), system.name)
        True Bungee
    """

    @property
    def name(self) -> str:
        """What it was derived from, for messages."""
        return type(self).__name__


class ParameterInfo(NamedTuple):
    """The declaration of one parameter (see `parameter`) and its present value."""

    value: Any
    unit: str
    doc: str
    bounds: Bounds = "any"
    source: str = ""
    plausible: Range | None = None
    rank: int = 0
    """Number of axes of its value, without those of a batch."""
    sizes: tuple[int | None, ...] = ()  # of these axes, as far as they are stated


@by_name('write parameter(70.0, unit="kg", doc="body mass")')
def parameter(
    default: Any,
    *,
    unit: str,
    doc: str,
    bounds: Bounds = "any",
    source: str = "",
    plausible: Range | None = None,
    of: str = "",
    standard: str = "",
    rank: int = 0,
) -> Any:
    """Declares a physical parameter of a model: an `equinox.Module` field with a unit, a meaning and bounds.

    Args:
        default: value in SI units (the paper's): a number, tuple, list or array. It is real, also without a decimal
            point, unless annotated as `int`, for counts; a tuple becomes an array, unless annotated as a tuple.
            While it is None, the field is not a parameter.
        unit: unit as text, e.g. "N s/m"; "1" for numbers without dimension; with a static field n, "N/m^{n}".
        doc: the quantity in a few words ("body mass"): the long name of results that carry it.
        bounds: "any" finite number, "nonnegative", "positive", or a "fraction" (from 0 to 1).
        source: where the value comes from.
        plausible: lowest and highest plausible value; None: by the rule of `jaxgait.plausible`.
        of: name of the part (another field of the same class) whose default law uses this number; if that part is
            exchanged, this is no longer a parameter.
        standard: name of the default law that uses this number, if a module may replace the number.
        rank: number of axes of its value, if the default is None.

    Raises:
        TypeError: for a default that is not a number, and for a unit that is not text.
        ValueError: for a misspelt unit, and for other bounds.

    Examples:
        >>> import equinox as eqx
        >>> from jaxgait.parameters import parameter, parameters
        >>> class Rod(eqx.Module):
        ...     mass: float = parameter(2.0, unit="kg", doc="mass of the rod", bounds="positive")
        >>> parameters(Rod())["mass"].unit
        'kg'
    """
    if not (isinstance(unit, str) and unit):
        raise TypeError(f'the unit of a parameter must be text, such as "kg", or "1" without dimension, got {unit!r}')
    units.check(OWN.sub("1", unit), f"the parameter {doc!r}")
    numbers = np.zeros((1,) * rank) if default is dataclasses.MISSING or default is None else np.asarray(default)
    if numbers.dtype.kind not in "fiu":
        raise TypeError(f"the default of a parameter must be a number in {unit}, or several, got {default!r}")
    if bounds not in get_args(Bounds):
        pair = "" if isinstance(bounds, str) else "; a range of usual values is plausible=(lowest, highest)"
        raise ValueError(f"the bounds of a parameter must be {listed(get_args(Bounds))}, got {bounds!r}{pair}")
    metadata = {"unit": unit, "doc": doc, "bounds": bounds, "source": source, "of": of, "standard": standard}
    metadata |= {"plausible": plausible or plausible_range(numbers, unit, bounds), "rank": numbers.ndim}
    if isinstance(default, np.ndarray | jax.Array | list):
        return eqx.field(default_factory=np.array(default).copy, converter=as_array_of, metadata=metadata)
    return eqx.field(default=default, metadata=metadata)


@by_name('write part(law, doc="law of the sole")')
def part(
    default: Any,
    *,
    doc: str,
    standard: str = "",
    options: Sequence[Any] = (),
    converter: Callable[[Any], Any] | None = None,
) -> Any:
    """Declares an exchangeable part of a model: a field whose type says which modules fit; see `jaxgait.parts`.

    Args:
        default: a module; None if the default law uses numbers of the same class (see `of` in `parameter`), or if the
            part is absent by default.
        doc: its role in a few words.
        standard: name of the default law, if `default` is None.
        options: alternatives to offer, with numbers that suit the model; if empty, every class that fits is offered.
        converter: makes a module of other values that users may give, such as functions.

    Examples:
        >>> import equinox as eqx
        >>> from jaxgait.mechanics.contact import KelvinVoigt, NormalLaw
        >>> from jaxgait.parameters import parameters, part
        >>> class Foot(eqx.Module):
        ...     sole: NormalLaw = part(KelvinVoigt(5e4, 10.0), doc="law of the sole")
        >>> list(parameters(Foot()))
        ['sole.stiffness', 'sole.damping', 'sole.steepness']
    """
    made: dict[str, Any] = {} if converter is None else {"converter": converter}
    return eqx.field(default=default, metadata={"doc": doc, "standard": standard, "options": tuple(options)}, **made)


def entries(possible: Callable[[Any], Mapping[str, ParameterInfo]], *, converter: Callable[[Any], Any] = dict) -> Any:
    """Declares a mapping of parameters by name, empty by default, such as the starts of the joints of any tree.

    Args:
        possible: function of the model: declarations of all entries that there may be, by key.
        converter: makes the mapping of what users give.

    Examples:
        >>> import equinox as eqx
        >>> from jaxgait.parameters import ParameterInfo, entries, parameters
        >>> class Rig(eqx.Module):
        ...     loads: dict = entries(lambda rig: {"bag": ParameterInfo(None, "kg", "mass of the bag")})
        >>> list(parameters(Rig({"bag": 2.0})))
        ['loads.bag']
    """
    return eqx.field(default_factory=dict, converter=converter, metadata={"entries": possible})


def choice(default: Any, *, doc: str, of: str = "") -> Any:
    """Declares a static choice of a model, whose type lists the alternatives; see `jaxgait.parts`.

    Args:
        default: one of the alternatives.
        doc: what is chosen, in a few words.
        of: see `parameter`.

    Examples:
        >>> from typing import Literal
        >>> import equinox as eqx
        >>> from jaxgait.parameters import choice
        >>> from jaxgait.parts import parts
        >>> class Rod(eqx.Module):
        ...     ends: Literal["free", "clamped"] = choice("free", doc="how the ends are supported")
        >>> list(parts(Rod())["ends"].options)
        ['free', 'clamped']
    """
    return eqx.field(default=default, static=True, metadata={"doc": doc, "of": of})


def parameters(model: Any) -> dict[str, ParameterInfo]:
    """The declared parameters of a model, including nested modules, by dotted name.

    Raises:
        ParameterError: for anything but a model, even a prepared one.
        TypeError: for a class instead of an instance.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.parameters import parameters
        >>> {name: info.unit for name, info in parameters(Bungee()).items()}["stiffness"]
        'N/m'
    """
    if isinstance(model, Prepared):
        what = f"a prepared {model.name} has no parameters to read or replace, because values were derived from them"
        raise ParameterError(f"{what}: change the model and prepare it again")
    an_instance(model)
    if not isinstance(model, eqx.Module):
        raise ParameterError(f"only an instance of a model has parameters, got one of type {type(model).__name__}")
    return dict(_walk(model, ""))


def _walk(module: Any, prefix: str) -> Iterator[tuple[str, ParameterInfo]]:
    for field in dataclasses.fields(module):
        value, name = getattr(module, field.name), prefix + field.name
        if isinstance(value, eqx.Module):
            yield from _walk(value, name + ".")
        elif is_parameter(module, field):
            info = (field.metadata[key] for key in ("doc", "bounds", "source", "plausible", "rank"))
            yield name, ParameterInfo(value, unit_of(module, field), *info, sizes=sizes_of(field))
        elif isinstance(value, Mapping):
            entries = field.metadata["entries"](module) if "entries" in field.metadata else {}
            refined = field.metadata["refined"](module) if "refined" in field.metadata else lambda part, info: info
            for key, part in value.items():
                if isinstance(part, eqx.Module):
                    yield from ((f"{name}.{key}.{own}", refined(part, info)) for own, info in _walk(part, ""))
                elif key in entries:
                    yield f"{name}.{key}", entries[key]._replace(value=part)


def parameter_info(model: Any, name: str) -> ParameterInfo:
    """One parameter by dotted name, or an element of an array, such as "masses[1,0]".

    Raises:
        ParameterError: for an unknown name, with the nearest valid names, or with how to change what it names.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.parameters import parameter_info
        >>> info = parameter_info(Bungee(), "mass")
        >>> print(info.value, info.unit, info.doc, info.bounds)
        70.0 kg body mass positive
    """
    known = parameters(model)
    if not (found := declared(known, [name])):
        raise ParameterError(no_parameter(model, name, known))
    return found[name]


def get_parameter(model: Any, name: str) -> Any:
    """Returns the value at a dotted name.

    Raises:
        ParameterError: for an unknown name, with the nearest valid names.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.parameters import get_parameter
        >>> get_parameter(Bungee(mass=80.0), "mass")
        80.0
    """
    owner, rest = model, name
    try:
        while rest:
            step, rest = first_step(owner, rest)
            owner = entered(owner, step)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ParameterError(no_parameter(model, name, parameters(model))) from error
    return owner


@by_name('write with_parameters(model, {"mass": 70.0})')
def with_parameters(model: M, values: Any) -> M:
    """A copy of the model with some parameters, or elements of arrays ("masses[1,0]"), replaced by dotted names.

    Lists, and arrays of one axis, become tuples if the parameter is one; otherwise lists and tuples become arrays, and
    NumPy's numbers Python's. Arrays with a leading axis make the model an ensemble for `jax.vmap`.

    Args:
        model: the model, or a part of one.
        values: values by name, in the units of the parameters, as a dict or a row of a table of pandas. Labelled values
            with the attribute `units` are converted.

    Raises:
        ParameterError: for an unknown name, with the nearest valid names, for values that are not finite numbers or
            have too few axes, and for units of other quantities.

    Examples:
        >>> from jaxgait import Prosthesis, with_parameters
        >>> knee = with_parameters(Prosthesis(), {"damper.k": 2e4})
        >>> print(knee.damper.k, Prosthesis().damper.k)
        20000.0 18000.0
    """
    if not (isinstance(values, Mapping) or hasattr(values, "iloc")):  # pandas, whose import takes long, stays out
        raise ParameterError(f"give a dict of values by parameter name, got {shown(values)}")
    values = dict(values)
    if not values:
        return model
    every = parameters(model)
    if len(known := declared(every, values)) < len(values):
        raise ParameterError(no_parameter(model, next(name for name in values if name not in known), every))
    own = {name: in_own_unit(name, x, known[name].unit) for name, x in values.items()}
    new = {name: as_value(x, tuples=isinstance(known[name].value, tuple)) for name, x in own.items()}
    for name, x in new.items():
        _check_numbers(f"{type(model).__name__}.{name}", x, known[name])
        _check_finite(f"{type(model).__name__}.{name}", x, known[name])
    new = within_arrays(new, {name: info.value for name, info in every.items()})
    at, leaf = lambda m: [get_parameter(m, n) for n in new], lambda x: isinstance(x, tuple) or x is None
    return eqx.tree_at(at, model, list(new.values()), is_leaf=leaf)


def in_own_unit(name: str, values: Any, unit: str | None) -> Any:
    """Labelled values of a parameter, or a component of a state, in its unit (`jaxgait.support.units.in_unit`).

    Raises:
        ParameterError: for values in a unit of another quantity, or in an unknown one, and for labelled values if the
            model declares no unit (None).

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.parameters import in_own_unit
        >>> print(in_own_unit("mass", xr.DataArray(7.5e4, attrs={"units": "g"}), "kg"), in_own_unit("mass", 75.0, "kg"))
        75.0 75.0
    """
    try:
        if unit is None and (given := units.unit_of(values, name)):
            raise ValueError(f"{name} is in {given!r}, but the model declares no unit of it: give numbers without one")
        return units.in_unit(values, unit or "1", name)
    except ValueError as error:
        raise ParameterError(str(error)) from error


def _check_numbers(label: str, value: Any, info: ParameterInfo, *, single: bool = False) -> None:
    """Checks that a value (even traced) consists of real numbers with its parameter's axes; `single`: no batch axes."""
    wanted = {0: "one number", 1: "a list of numbers"}.get(info.rank, f"an array of {info.rank} axes")
    complaint = f"{label} ({info.doc}) must be {wanted} in {info.unit}, got {shown(value)}"
    if not all(map(is_real, entries_of(value))):
        raise ParameterError(complaint)
    rank = rank_of(value)
    several = single and rank > info.rank
    if rank < info.rank or several:
        raise ParameterError(complaint + ": one trajectory has one value, `ensemble` runs many" * several)
    sizes = info.sizes if len(info.sizes) == info.rank and hasattr(value, "shape") else ()  # (an element has no axes)
    own = value.shape[::-1] if sizes else ()
    if any(n is not None and n != given for n, given in zip(sizes[::-1], own, strict=False)):
        lengths = " x ".join("any" if n is None else str(n) for n in sizes)
        raise ParameterError(f"{label} ({info.doc}) must be {lengths} numbers in {info.unit}, got {shown(value)}")


def _check_finite(label: str, value: Any, info: ParameterInfo) -> None:
    """Checks that what is known of a value is finite; the `ParameterError` names the first entry that is not."""
    for leaf in jax.tree.leaves(value):
        if not isinstance(leaf, Tracer):
            check_value(label, leaf, info._replace(bounds="any"))


def is_real(leaf: Any) -> bool:
    """Whether a leaf is a real number or an array of them, traced or not.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.parameters import is_real
        >>> [is_real(x) for x in (70.0, 3, np.ones(2), True, "70 kg")]
        [True, True, True, False, False]
    """
    if isinstance(leaf, np.ndarray | np.generic | jax.Array):
        return any(jnp.issubdtype(leaf.dtype, kind) for kind in (jnp.floating, jnp.integer))
    return isinstance(leaf, float | int) and not isinstance(leaf, bool)


def check_single(model: eqx.Module) -> None:
    """Checks that no parameter has a batch axis.

    Raises:
        ParameterError: naming the first one that does.

    Examples:
        >>> import numpy as np
        >>> from jaxgait import Bungee, with_parameters
        >>> from jaxgait.parameters import check_single
        >>> check_single(with_parameters(Bungee(), {"mass": np.array([60.0, 80.0])}))
        Traceback (most recent call last):
            ...
        jaxgait.parameters.ParameterError: Bungee.mass (body mass) must be one number in kg, got ...
    """
    for name, info in parameters(model).items():
        _check_numbers(f"{type(model).__name__}.{name}", info.value, info, single=True)


def check(model: eqx.Module) -> None:
    """Checks that all parameters are finite numbers within their declared bounds.

    Leaves may have a batch axis; the first invalid entry is named. Of traced leaves only the axes are checked.

    Raises:
        ParameterError: naming the parameter, its value and its bound.

    Warns:
        ImplausibleValue: for values outside their plausible range, once per parameter or pair of them.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.parameters import check
        >>> check(Bungee(mass=-3.0))
        Traceback (most recent call last):
            ...
        jaxgait.parameters.ParameterError: Bungee.mass (body mass) must be positive, got -3 kg
    """
    kind = type(model).__name__
    _check_parts(model, kind)
    for name, info in parameters(model).items():
        label = f"{kind}.{name}"
        _check_numbers(label, info.value, info)
        leaves = [leaf for leaf in jax.tree.leaves(info.value) if not isinstance(leaf, Tracer)]
        for leaf in leaves:
            check_value(label, leaf, info)
        if leaves:
            values = np.concatenate([np.ravel(leaf) for leaf in leaves])
            warn_implausible(f"{label} ({info.doc})", values, info.unit, info.plausible)
    warn_of_parts(model, kind)


def _check_parts(module: Any, label: str) -> None:
    """Checks all parts and choices of a model."""
    for field in dataclasses.fields(module):
        value, here = getattr(module, field.name), f"{label}.{field.name}"
        wrong = suitable_values(module, field, value)
        if wrong:
            raise ParameterError(f"{here} must be {wrong}, got {shown(value)}")
        inside = value if isinstance(value, Mapping) else {"": value}
        for key, one in inside.items():
            if isinstance(one, eqx.Module):
                _check_parts(one, f"{here}.{key}".rstrip("."))
            if isinstance(one, Immutable):
                one.check_together(f"{here}.{key}".rstrip("."))


def check_value(label: str, value: Any, info: ParameterInfo) -> None:
    """Checks a value (scalar or array) against the declared bounds of its parameter.

    Raises:
        ParameterError: naming the label, the first invalid value, its index if any, and the bound.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.parameters import check_value, parameter_info
        >>> check_value("Bungee.mass", [70.0, 0.0], parameter_info(Bungee(), "mass"))
        Traceback (most recent call last):
            ...
        jaxgait.parameters.ParameterError: Bungee.mass (body mass) must be positive, got 0 kg at index (1,)
    """
    try:
        x = np.asarray(as_array(value), dtype=float)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{label} must be a number in {info.unit}, got {value!r}") from error
    bad, wanted = ~np.isfinite(x), "finite"
    if not bad.any():
        bad, wanted = ~within_bounds(x, info), "from 0 to 1" if info.bounds == "fraction" else info.bounds
    if bad.any():
        where = np.argwhere(np.atleast_1d(bad))[0]
        index = "" if x.ndim == 0 else f" at index {tuple(int(i) for i in where)}"
        got = units.with_unit(f"{float(np.atleast_1d(x)[tuple(where)]):g}", info.unit)
        raise ParameterError(f"{label} ({info.doc}) must be {wanted}, got {got}{index}")


def within_bounds(values: Any, info: ParameterInfo) -> np.ndarray:
    """Which values of a parameter, in its own unit, lie within its declared bounds; same shape, False for NaN.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.parameters import parameter_info, within_bounds
        >>> print(within_bounds([70.0, 0.0], parameter_info(Bungee(), "mass")))
        [ True False]
    """
    x, low = np.asarray(values), -np.inf if info.bounds == "any" else 0.0
    above = x > 0.0 if info.bounds == "positive" else x >= low
    return np.asarray(above & (x <= (1.0 if info.bounds == "fraction" else np.inf)))
