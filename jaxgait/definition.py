"""What defines a class of models: the descriptions of its results and its numerics; and whether it is complete."""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import numbers
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

from jaxgait.support import units
from jaxgait.support.checks import is_number, shown, warn_user
from jaxgait.support.code_objects import names_in


class Variable(NamedTuple):
    """Unit and long name of a state component, an output or a measure, for labelled results.

    Examples:
        >>> from jaxgait import Variable
        >>> Variable("m/s", "speed of the hip").attrs
        {'units': 'm/s', 'long_name': 'speed of the hip'}
    """

    unit: str
    long_name: str
    dims: tuple[str, ...] = ()
    """Names of its dimensions beyond time, if it is an array; their labels are `Model.labels`."""
    reference_of: str = ""
    """The variable that this one is measured for, with which pictures draw it, dashed."""

    @property
    def attrs(self) -> dict[str, str]:
        """The attributes of a labelled result."""
        own = {"units": self.unit, "long_name": self.long_name}
        return own | ({"reference_of": self.reference_of} if self.reference_of else {})


class Numerics(NamedTuple):
    """A model's time scales and stiffness, from which `jaxgait.solve` chooses a solver, tolerances and steps.

    Examples:
        >>> from jaxgait import Numerics
        >>> Numerics(stiff=True, rtol=1e-8).max_steps
        1000000
        >>> Numerics(dt=1e-3).stiff
        False
    """

    stiff: bool = False
    """Whether contact or friction rules out explicit methods; schemes with steps of fixed length ignore it."""
    unrolled: bool = True
    """Whether explicit methods unroll their stages: fast in ensembles, but large models take long to compile."""
    rtol: float = 1e-6
    atol: float = 1e-8
    first_step: float = 1e-5
    """First time step in s."""
    max_step: float | None = None
    """Longest time step in s, so that no touch-down is stepped over; None: a two-hundredth of the run.

    Event-driven steps are at most 10 ms long by default.
    """
    max_steps: int = 1_000_000
    """Largest number of steps of a trajectory."""
    dt: float | None = None
    """Longest step in s of schemes with steps of fixed length; None: the scheme's default."""
    explicit_values: bool = False
    """Whether runs of a stiff model take explicit steps nevertheless, if they are not differentiated.

    Derivatives through explicit steps at their limit of stability grow without bound, however right the values are.
    """


RESERVED_RESULTS = (
    *("status", "t_end", "steps", "rejected_steps", "first_status", "retries", "promoted"),
    *("event_time", "event_kind", "event_name"),
)
"""Names of the results that runs and ensembles always have."""
RESERVED = (*RESERVED_RESULTS, "time", "instant", "sample", "event", "parameter", "member")
"""These and the names of their dimensions."""
ENDINGS = ("_end", "_before", "_after", "_gradient")
"""Endings of the names of results that are derived from others."""

_MOTION_METHODS = ("vector_field", "phases", "kinetics", "advance", "state_at")
_MOTIONS = (*_MOTION_METHODS, "transitions", "contacts", "step_amounts")
"""All methods of the kinds of motion, see `jaxgait.kinds`."""

_NEAR = 0.85
"""Least similarity of a name to one of `Model`'s for which it is probably meant."""

_REQUIRED = {
    "initial_state": "its state at t = 0",
    "duration": "the natural length in s of a run (a number or a property)",
    "variables": "unit and long name of every component of the state and every output (a dict of Variable)",
}


def check_complete(cls: type) -> None:
    """Checks that a model's class, unless abstract, is complete, and that its units, names and measures are valid.

    Raises:
        TypeError: naming what is missing or wrong.
        ValueError: for a misspelt unit.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.definition import check_complete
        >>> check_complete(Bungee)
    """
    if any(getattr(member, "__isabstractmethod__", False) for member in vars(cls).values()):
        return
    _check_required(cls)
    _check_inherited_fields(cls)
    _check_defaults(cls)
    _check_values(cls)
    _check_variables(cls)
    _check_names(cls)
    _check_measures(cls)


def name_taken(variables: Collection[str], parameters: Iterable[str] = (), dims: Collection[str] = ()) -> str:
    """Why the results of a model cannot use one of its names; "" if they can.

    Results are named after variables, such as `x_end`, and members after their parameters.

    Args:
        variables: names of components of the state and outputs.
        parameters: names of parameters.
        dims: names of dimensions of variables.

    Examples:
        >>> from jaxgait.definition import name_taken
        >>> name_taken(["x", "t"])
        "must not use the name 't': results have 't_end' anyway"
        >>> name_taken(["x", "v"], parameters=["v"])
        "must not use the name 'v' for a parameter: it is that of a variable"
        >>> name_taken(["x", "v"], parameters=["mass"])
        ''
    """
    derived = {f"{name}{ending}": name for name in variables for ending in ENDINGS}
    for name in (*variables, *dims):
        if name in RESERVED or (name in derived and name in variables):
            return f"must not use the name {name!r}: results have it anyway"
    if both := sorted(derived.keys() & {*RESERVED}):
        return f"must not use the name {derived[both[0]]!r}: results have {both[0]!r} anyway"
    whose = dict.fromkeys((*derived, *RESERVED), "results have it anyway")
    whose |= dict.fromkeys(dims, "it is that of a dimension") | dict.fromkeys(variables, "it is that of a variable")
    taken = next((name for name in parameters if name in whose), None)
    return "" if taken is None else f"must not use the name {taken!r} for a parameter: {whose[taken]}"


def warn_of_near_hooks(cls: type, base: type) -> None:
    """Warns of public names that a class adds but does not use, and that resemble one which it does not override.

    The latter are the names of its base and the equations of motion that it inherits.

    Warns:
        UserWarning: naming both.

    Examples:
        >>> from jaxgait import Bungee, Model
        >>> from jaxgait.definition import warn_of_near_hooks
        >>> warn_of_near_hooks(Bungee, Model)  # no warning
    """
    inherited = {name for name in _MOTIONS if hasattr(cls, name)}
    optional = ({name for name in vars(base) if not name.startswith("_")} | inherited) - vars(cls).keys()
    for name in vars(cls).keys() - inspect.get_annotations(cls).keys():
        near = difflib.get_close_matches(name, optional, n=1, cutoff=_NEAR)
        own = not (name.startswith("_") or any(hasattr(one, name) for one in cls.__bases__))
        if near and own and name not in _read_by(vars(cls).values()):
            meant = f"did you mean {near[0]}? If not, give it a name less alike"
            warn_user(f"no simulation uses {name} of {cls.__name__}, as a Model has no such part: {meant}")


def _read_by(members: Iterable[Any]) -> set[str]:
    """Names that the code of methods, properties and measures reads."""
    found: set[str] = set()
    for member in members:
        found |= _read_by(member.values()) if isinstance(member, Mapping) else set()
        held = (getattr(member, name, None) for name in ("fget", "__func__", "function"))
        for function in (inspect.unwrap(one) for one in (member, *held) if callable(one)):
            found |= names_in(function.__code__) if hasattr(function, "__code__") else set()
    return found


def warn_of_plain_numbers(cls: type, base: type) -> None:
    """Warns of fields that a class adds with a real number as their default but does not declare: no parameters.

    Integers may be counts, and the base class uses fields with its own names.

    Warns:
        UserWarning: naming the field, and how to declare it.

    Examples:
        >>> from jaxgait import Bungee, Model
        >>> from jaxgait.definition import warn_of_plain_numbers
        >>> warn_of_plain_numbers(Bungee, Model)  # no warning
    """
    for name, annotation in inspect.get_annotations(cls).items():
        value, kind = vars(cls).get(name), str(annotation)
        real = is_number(value) and (not isinstance(value, numbers.Integral) or re.search("float|Float|Scalar", kind))
        if real and not (name.startswith("_") or hasattr(base, name) or re.search("ClassVar|Literal", kind)):
            how = f"write {name}: float = parameter({value}, unit=..., doc=...), or a ClassVar for a constant"
            warn_user(f"{name} of {cls.__name__} is no parameter, to list, scan or fit, but a plain number: {how}")


def _check_required(cls: type) -> None:
    lacks = [f"{name}, {what}" for name, what in _REQUIRED.items() if _undefined(cls, name)]
    if not any(hasattr(cls, name) for name in _MOTION_METHODS):
        lacks.append("how it moves: vector_field(t, y) for a smooth model (others: see jaxgait.kinds)")
    if hasattr(cls, "transitions") and not hasattr(cls, "phases"):
        lacks.append("phases(), which its transitions number: return [self.vector_field] for a single one")
    if lacks:
        raise TypeError(f"the model {cls.__name__} lacks {'; '.join(lacks)}")


def _check_inherited_fields(cls: type) -> None:
    """Checks that no plain attribute has the name of an inherited field, which keeps its own default."""
    bases = [base for base in cls.__mro__[1:] if dataclasses.is_dataclass(base)]
    inherited = {field.name: field for base in bases for field in dataclasses.fields(base)}
    for name in inherited.keys() & vars(cls).keys() - inspect.get_annotations(cls).keys():
        value = getattr(cls, name)
        value = value.default if isinstance(value, dataclasses.Field) else value
        value = "..." if value is dataclasses.MISSING else repr(value)
        how = f"float = parameter({value}, ...)" if "unit" in inherited[name].metadata else "its type = ..."
        raise TypeError(f"{name} of {cls.__name__} does not change the field of that name: write {name}: {how}")


def _check_defaults(cls: type) -> None:
    """Checks that no field has a default that all models of the class would share and could change, such as a list."""
    for name, annotation in inspect.get_annotations(cls).items():
        value = vars(cls).get(name)
        if value is not None and type(value).__hash__ is None and "ClassVar" not in str(annotation):
            how = "parameter((1.0, 2.0), unit=..., doc=...) for numbers, a ClassVar for a constant of the class"
            raise TypeError(f"the default of {name} of {cls.__name__} must not be {shown(value)}: write {how}")


def check_variable(variable: Any, label: str) -> None:
    """Checks the description of a result, whose label is for messages.

    Raises:
        TypeError: for anything but a `Variable`, and for dimensions of the same name.
        ValueError: for a misspelt unit.

    Examples:
        >>> from jaxgait import Variable
        >>> from jaxgait.definition import check_variable
        >>> check_variable(Variable("N", "contact force", dims=("foot",)), "variables['force']")
    """
    if not (isinstance(variable, Variable) and isinstance(variable.dims, tuple)):
        what = 'a Variable, such as Variable("N", "contact force", dims=("foot",))'
        raise TypeError(f"{label} must be {what}, got {shown(variable)}")
    if len({*variable.dims}) < len(variable.dims):
        raise TypeError(f"{label} must have different dimensions, got {variable.dims}: name them apart")
    units.check(variable.unit, label)


def _check_variables(cls: type) -> None:
    named = cls.__dict__.get("variables", {})
    for name, variable in named.items() if isinstance(named, Mapping) else ():
        check_variable(variable, f"variables[{name!r}] of {cls.__name__}")
        base = named.get(variable.reference_of)
        if variable.reference_of and (base is None or (base.unit, base.dims) != (variable.unit, variable.dims)):
            what = f"name another of the variables, in the same unit, got {variable.reference_of!r}"
            raise TypeError(f"reference_of of variables[{name!r}] of {cls.__name__} must {what}")
    if isinstance(named, Mapping) and (why := name_taken(named, dims=_dims(named))):
        raise TypeError(f"variables of {cls.__name__} {why}")


def _check_names(cls: type) -> None:
    """Checks that no parameter, also an inherited one, has the name of a result."""
    named = getattr(cls, "variables", {})
    named = named if isinstance(named, Mapping) else {}
    if why := name_taken(named, parameter_names(cls), _dims(named)):
        raise TypeError(f"{cls.__name__} {why}")


def parameter_names(cls: type) -> list[str]:
    """Names of the parameters that a class declares, whether or not it is a dataclass yet, and of inherited ones.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.definition import parameter_names
        >>> parameter_names(Bungee)[:2]
        ['mass', 'stiffness']
    """
    fields = {name: field for base in reversed(cls.__mro__) for name, field in _declared(base).items()}
    return [name for name, field in fields.items() if "unit" in getattr(field, "metadata", ())]


def _declared(cls: type) -> dict[str, Any]:
    """Values that a class gives for its own annotations, or the fields made of them if it is a dataclass already."""
    made = vars(cls).get("__dataclass_fields__", {})
    return {name: made.get(name, vars(cls).get(name)) for name in inspect.get_annotations(cls)}


def _dims(variables: Mapping[str, Variable]) -> set[str]:
    return {dim for variable in variables.values() for dim in variable.dims}


def _check_measures(cls: type) -> None:
    brought = vars(cls).get("measures", {})
    for name, measure in brought.items() if isinstance(brought, Mapping) else ():
        if (own := getattr(measure, "name", None)) != name:
            got = f"a {type(measure).__name__}" if own is None else f"one named {own!r}"
            raise TypeError(f"measures[{name!r}] of {cls.__name__} must be a Measure with the name {name!r}, got {got}")


def _check_values(cls: type) -> None:
    """Checks the types of a class's attributes, except properties."""
    for name in ("duration", "period", "labels", "variables", "numerics"):
        if inspect.isfunction(vars(cls).get(name)):
            raise TypeError(f"{name} of {cls.__name__} must not be a method: write @property above it")
    drawing = 'a function of model and run, or its name, "module:function"'
    forms = (
        ("numerics", "Numerics(...)", Numerics),
        ("labels", "a dict by dimension", Mapping),
        ("variables", "a dict by name", Mapping),
        ("measures", "a dict by name", Mapping | str),  # "module:function"
    )
    for name, form, wanted in (*forms, ("scene", drawing, str | Callable)):
        given = vars(cls).get(name)
        if given is not None and not isinstance(given, wanted) and not hasattr(given, "__get__"):
            raise TypeError(f"{name} of {cls.__name__} must be {form}, got {shown(given)}")


def _undefined(cls: type, name: str) -> bool:
    member = getattr(cls, name, None)
    return member is None or getattr(member, "__isabstractmethod__", False)
