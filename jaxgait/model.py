"""The base class of every mechanism: an immutable pytree of parameters with initial state, outputs and motion."""

from __future__ import annotations

import abc
import dataclasses
import difflib
import functools
import html
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias, TypeVar

import numpy as np
from jaxtyping import Array, Bool

from jaxgait import registry, units
from jaxgait.checks import is_concrete, shown, warn_user
from jaxgait.fields import Immutable
from jaxgait.mechanics import Scalar
from jaxgait.parameters import ParameterError, check, parameter, parameters, with_parameters
from jaxgait.precision import float64_default
from jaxgait.system import System, derived

State: TypeAlias = Any
"""A model's state: a pytree, best a `NamedTuple` of scalars (each leaf becomes one batch vector under `vmap`)."""

__all__ = ["Model", "Numerics", "Scalar", "State", "System", "Variable", "as_model", "derived", "parameter"]

M = TypeVar("M", bound="Model")

MAX_UNFOLDED = 16
"""Number of parameters above which the table of a model is folded in notebooks."""


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
    """

    stiff: bool
    """Whether contact or friction forbids explicit methods."""
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


@float64_default
class Model(Immutable):
    """A mechanism as a value.

    A subclass is a frozen dataclass of parameters (declared with `parameter`) with the methods below, and those that
    define its motion (see `jaxgait.kinds`), such as `vector_field(t, y)`. They are pure functions, written for one
    trajectory without batch axes: `vmap` over the model's leaves makes it an ensemble.

    Raises:
        TypeError: for a subclass that lacks something required, naming it; unless it declares abstract methods.
        ValueError: for a misspelt unit.

    Warns:
        UserWarning: for a name that a subclass adds and that is nearly one of this class, such as `output`.

    Examples:
        >>> from typing import NamedTuple
        >>> import jax.numpy as jnp
        >>> from jaxgait import Model, Variable, parameter, simulate
        >>> class Swing(NamedTuple):
        ...     angle: float
        ...     rate: float
        >>> class Pendulum(Model):
        ...     length: float = parameter(1.0, unit="m", doc="length of the rod", bounds="positive")
        ...     variables = {"angle": Variable("rad", "angle"), "rate": Variable("rad/s", "rate")}
        ...     duration = 1.0
        ...     def initial_state(self):
        ...         return Swing(0.1, 0.0)
        ...     def vector_field(self, t, y):
        ...         return Swing(y.rate, -9.81 / self.length * jnp.sin(y.angle))
        >>> round(float(simulate(Pendulum()).angle[-1]), 3)  # rad after 1 s
        -0.1
    """

    variables: ClassVar[Mapping[str, Variable]]
    """Unit and long name of every state component and every output."""
    numerics: ClassVar[Numerics] = Numerics(stiff=False)
    """Suitable stiffness, tolerances and steps; explicit solvers with their usual tolerances by default."""
    endings: ClassVar[Mapping[str, str]] = {}
    """What the names of `terminations` mean, in a few words; shown with them, as in "ended early: folded (...)"."""
    driven_advice: ClassVar[str] = ""
    """What to check after `driven`; shown by the command line."""
    measures: ClassVar[Mapping[str, Any] | str] = {}
    """The measures of a run (`jaxgait.measure.Measure`) by name, or "module:NAME" of the dict that holds them.

    A property, if not every model of a class has the same.
    """
    scene: ClassVar[str | Callable[..., Any]] = ""
    """What draws a run in films and the explorer: a method `scene(self, run)`, or a function of model and run, as such
    or as "module:function"; see `jaxgait.plot.scene`."""
    recording: ClassVar[str] = ""
    """The function that makes joint angles under OpenSim's names of a run, as "module:function"; see `jaxgait.export`.

    It takes the Dataset and returns a `jaxgait.motion.recording.Recording`.
    """
    _path: ClassVar[str] = ""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Parameter sets by name; each maps dotted names to the values that differ from the defaults."""
    search: ClassVar[Mapping[str, Any]] = {}
    """Defaults of the command `jaxgait optimize`: arguments of `jaxgait.optimize`, and parameters to `set`."""

    if not TYPE_CHECKING:  # type checkers know the fields

        def __new__(cls, *args: Any, **given: Any) -> Any:
            """Names the fields that come nearest where one is given that the model does not have."""
            del args
            unknown = [name for name in given if name not in cls.__dataclass_fields__]
            takes = inspect.signature(cls.__init__).parameters if unknown else {}
            if unknown and unknown[0] not in takes and all(p.kind is not p.VAR_KEYWORD for p in takes.values()):
                raise TypeError(_no_field(cls, unknown[0], list(takes)[1:]))
            return super().__new__(cls)

    def __init_subclass__(cls, **options: Any) -> None:
        """Checks the class, and makes it compute in float64 by default."""
        super().__init_subclass__(**options)
        if any(not name.startswith("__") for name in vars(cls)):  # cloudpickle fills an empty class after it is made
            _check_complete(cls)
            _warn_of_near_hooks(cls)
        float64_default(cls)
        registry.remember(cls)

    def _repr_html_(self) -> str:
        """The parameters with units and meaning, in notebooks."""
        head = "".join(f"<th>{title}</th>" for title in ("parameter", "value", "unit", "meaning"))
        found = parameters(self)
        rows = [(name, _shown(info.value), info.unit, info.doc) for name, info in found.items()]
        lines = "".join(f"<tr>{''.join(f'<td>{html.escape(text)}</td>' for text in row)}</tr>" for row in rows)
        is_open = " open" if len(found) <= MAX_UNFOLDED else ""
        title = f"<summary><b>{type(self).__name__}</b>, {len(found)} parameters</summary>"
        return f"<details{is_open}>{title}<table><tr>{head}</tr>{lines}</table></details>"

    @abc.abstractmethod
    def initial_state(self) -> State:
        """State at t = 0."""

    def outputs(self, t: Scalar, y: State) -> dict[str, Array]:
        """Observable quantities at time `t` in s and state `y`, by name (see `variables`); none by default.

        Examples:
            >>> from jaxgait import Bungee
            >>> man = Bungee()
            >>> start = man.outputs(0.0, man.initial_state())
            >>> print(start["height"], start["rope_force"])  # m, N
            80.0 0.0
        """
        del t, y
        return {}

    @property
    @abc.abstractmethod
    def duration(self) -> Scalar:
        """Default length of a run in s.

        Examples:
            >>> from jaxgait import Bungee
            >>> Bungee().duration
            100.0
        """

    @property
    def labels(self) -> Mapping[str, Sequence[Any]]:
        """Labels along the dimensions of array variables, by the dimension names used in `variables`.

        Examples:
            >>> from jaxgait import Bungee, Inchworm
            >>> print(dict(Bungee().labels), list(Inchworm().labels))
            {} ['unit', 'actuator']
        """
        return {}

    @property
    def elements(self) -> Mapping[str, Sequence[Variable]]:
        """Unit and meaning of each element of those one-dimensional components of the state whose elements differ.

        Examples:
            >>> from jaxgait import Bungee
            >>> dict(Bungee().elements)
            {}
        """
        return {}

    @property
    def period(self) -> Scalar | None:
        """Stride or forcing period in s; None for models without one.

        Examples:
            >>> from jaxgait import Bungee, Prosthesis
            >>> print(Bungee().period, round(float(Prosthesis().period), 2))  # s
            None 1.13
        """
        return None

    def terminations(self) -> Mapping[str, Callable[[Scalar, State], Bool[Array, ""]]]:
        """Conditions that end a trajectory early, by name ("folded", "fell"); the name becomes its status.

        For a model with `transitions` (see `jaxgait.kinds.Transition`), these are the transitions that end it. A scheme
        without events ends the run where such a guard is below zero and armed.

        Examples:
            >>> from jaxgait import Prosthesis
            >>> list(Prosthesis().terminations())  # the four-bar linkage may fold
            ['folded']
        """
        transitions = getattr(self, "transitions", dict)()
        return {name: functools.partial(_has_ended, tr) for name, tr in transitions.items() if tr.ends}

    def events(self) -> Mapping[str, Callable[[Scalar, State], Array]]:
        """Guards of a smooth motion, by name ("taut", "slack"): an event happens where one falls through zero.

        Guards are functions of time in s and state, smooth near their zeros. Events do not change the motion; their
        times are recorded (`jaxgait.run.Events`). Event-driven runs record the model's `transitions` instead.

        Examples:
            >>> from jaxgait import Bungee
            >>> guards = Bungee().events()
            >>> print(list(guards), guards["taut"](0.0, Bungee().initial_state()))  # m until the rope is taut
            ['taut', 'lowest', 'slack', 'top'] 30.0
        """
        return {}

    def prepared(self) -> System:
        """The model with everything derived from its parameters (`jaxgait.system.derived`), computed once before a run.

        Examples:
            >>> from jaxgait import Bungee
            >>> system = Bungee(mass=80.0).prepared()
            >>> print(system.mass, system.vector_field(0.0, Bungee().initial_state()).v)  # kg, m/s^2
            80.0 10.0
        """
        return System.of(self)

    def preset(self: M, name: str) -> M:
        """The model with one of its parameter sets, by name (see `presets`).

        Raises:
            jaxgait.parameters.ParameterError: for an unknown name, listing the known ones.

        Examples:
            >>> from jaxgait import Prosthesis
            >>> print(list(Prosthesis.presets), Prosthesis().preset("R3").masses.shank)  # kg
            ['R1', 'R2', 'R3'] 1.71
        """
        if name not in self.presets:
            there = f"there are {', '.join(self.presets)}" if self.presets else "it has none"
            raise ParameterError(f"{type(self).__name__} has no parameter set {name!r}: {there}")
        return with_parameters(self, self.presets[name])

    def driven(self, drive: Any) -> Model:
        """The model driven by another measured stride (`jaxgait.motion`), for models that support it.

        Raises:
            jaxgait.parameters.ParameterError: for a model that is not driven by measured motion.

        Examples:
            >>> from jaxgait import Bungee
            >>> Bungee().driven(None)
            Traceback (most recent call last):
                ...
            jaxgait.parameters.ParameterError: Bungee is not driven by measured motion
        """
        raise ParameterError(f"{type(self).__name__} is not driven by measured motion")

    def validate(self) -> None:
        """Rejects impossible parameters, before anything is compiled. Leaves may have a batch axis.

        Raises:
            jaxgait.parameters.ParameterError: naming the parameter, its value and what would be valid.

        Examples:
            >>> from jaxgait import Bungee
            >>> Bungee(stiffness=-20.0).validate()
            Traceback (most recent call last):
                ...
            jaxgait.parameters.ParameterError: Bungee.stiffness (rope stiffness) must be positive, got -20 N/m
        """
        check(self)

    def validate_start(self, start: Mapping[str, Any]) -> None:
        """Rejects a start that makes no sense, such as one deep in the ground: the model's own with these components.

        Args:
            start: by name, also of elements ("q[1]"), in their units; there may be a batch axis, also of the leaves.

        Raises:
            jaxgait.parameters.ParameterError: saying what is wrong; most models accept every start.

        Examples:
            >>> from jaxgait import Bungee
            >>> Bungee().validate_start({"x": -30.0})
        """
        del start

    def __call__(self, t: Scalar, y: State, args: object = None) -> State:
        """The vector field of a smooth model, in the argument order of diffrax.

        Examples:
            >>> from jaxgait import Bungee
            >>> from jaxgait.models.bungee.model import BungeeState
            >>> man = Bungee(linear_drag=0.0, quadratic_drag=0.0)
            >>> print(man(0.0, BungeeState(35.0, 0.0)).v)  # m/s^2: in equilibrium
            0.0
        """
        smooth: Any = self
        return smooth.vector_field(t, y)


def _no_field(cls: type, name: str, takes: Sequence[str]) -> str:
    """The error message for an unknown field, with the nearest ones or all of them, and their units."""
    metadata = {field.name: field.metadata for field in dataclasses.fields(cls)}
    takes = [n for n in takes if not n.startswith("_")]
    unit = {n: f"{n} ({metadata[n]['unit']})" if "unit" in metadata.get(n, ()) else n for n in takes}
    near = difflib.get_close_matches(name, takes, n=3)
    hint = f"did you mean {' or '.join(unit[n] for n in near)}?" if near else f"it has {', '.join(unit.values())}"
    return f"{cls.__name__} has no field {name!r}: {hint}"


def _has_ended(transition: Any, t: Scalar, y: State) -> Bool[Array, ""]:
    armed = True if transition.armed is None else transition.armed(t, y)
    return (transition.guard(t, y) < 0.0) & armed


RESERVED_RESULTS = (
    *("status", "t_end", "steps", "rejected_steps", "first_status", "retries", "promoted"),
    *("event_time", "event_kind", "event_name"),
)
"""Names of the results that runs and ensembles have anyway."""
RESERVED = (*RESERVED_RESULTS, "time", "instant", "sample", "parameter", "member")
"""These and the names of their dimensions."""
_ENDINGS = ("_end", "_before", "_after", "_gradient")
"""Endings of the names of results that are derived from others."""

_MOTION_METHODS = ("vector_field", "phases", "kinetics", "advance", "state_at")
"""The methods by which a model may define its motion, see `jaxgait.kinds`."""

_NEAR = 0.85
"""Least similarity of a name to one of `Model`'s for which it is probably meant."""

_REQUIRED = {
    "initial_state": "its state at t = 0",
    "duration": "the natural length in s of a run (a number or a property)",
    "variables": "unit and long name of every component of the state and every output (a dict of Variable)",
}


def _check_complete(cls: type) -> None:
    """Checks that a model's class is complete, and that its units, names and measures are valid."""
    if any(getattr(member, "__isabstractmethod__", False) for member in vars(cls).values()):
        return
    _check_required(cls)
    _check_inherited_fields(cls)
    _check_defaults(cls)
    _check_values(cls)
    _check_variables(cls)
    _check_measures(cls)


def _warn_of_near_hooks(cls: type) -> None:
    """Warns of public names that a class adds and that are nearly one of `Model`'s, which it leaves as they are."""
    optional = {name for name in vars(Model) if not name.startswith("_")} - vars(cls).keys()
    for name in vars(cls).keys() - inspect.get_annotations(cls).keys():
        near = difflib.get_close_matches(name, optional, n=1, cutoff=_NEAR)
        if near and not name.startswith("_") and not any(hasattr(base, name) for base in cls.__bases__):
            meant = f"did you mean {near[0]}? If not, give it a name less alike"
            warn_user(f"no simulation uses {name} of {cls.__name__}, as a Model has no such part: {meant}")


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


def _check_variables(cls: type) -> None:
    named = cls.__dict__.get("variables", {})
    for name, variable in named.items() if isinstance(named, Mapping) else ():
        if not (isinstance(variable, Variable) and isinstance(variable.dims, tuple)):
            what = 'a Variable, such as Variable("N", "contact force", dims=("foot",))'
            raise TypeError(f"variables[{name!r}] of {cls.__name__} must be {what}, got {shown(variable)}")
        if len({*variable.dims}) < len(variable.dims):
            what = f"different dimensions, got {variable.dims}: name them apart"
            raise TypeError(f"variables[{name!r}] of {cls.__name__} must have {what}")
        units.check(variable.unit, f"variables[{name!r}] of {cls.__name__}")
        base = named.get(variable.reference_of)
        if variable.reference_of and (base is None or (base.unit, base.dims) != (variable.unit, variable.dims)):
            what = f"name another of the variables, in the same unit, got {variable.reference_of!r}"
            raise TypeError(f"reference_of of variables[{name!r}] of {cls.__name__} must {what}")
        stems = [name.removesuffix(ending) for ending in _ENDINGS if name.endswith(ending)]
        taken = {name, *variable.dims} & {*RESERVED} or {name for stem in stems if stem in named}
        if taken:
            raise TypeError(f"variables of {cls.__name__} must not use the name {min(taken)!r}: results have it anyway")


def _check_measures(cls: type) -> None:
    brought = vars(cls).get("measures", {})
    for name, measure in brought.items() if isinstance(brought, Mapping) else ():
        if (own := getattr(measure, "name", None)) != name:
            got = f"a {type(measure).__name__}" if own is None else f"one named {own!r}"
            raise TypeError(f"measures[{name!r}] of {cls.__name__} must be a Measure with the name {name!r}, got {got}")


def _check_values(cls: type) -> None:
    """Checks that what a class gives as values has their form, unless it is a property."""
    for name in ("duration", "period", "labels", "variables", "numerics"):
        if inspect.isfunction(vars(cls).get(name)):
            raise TypeError(f"{name} of {cls.__name__} must not be a method: write @property above it")
    drawing = 'a function of model and run, or its name, "module:function"'
    forms = (("numerics", "Numerics(...)", Numerics), ("variables", "a dict by name", Mapping))
    for name, form, wanted in (*forms, ("scene", drawing, str | Callable)):
        given = vars(cls).get(name)
        if given is not None and not isinstance(given, wanted) and not hasattr(given, "__get__"):
            raise TypeError(f"{name} of {cls.__name__} must be {form}, got {shown(given)}")


def _undefined(cls: type, name: str) -> bool:
    member = getattr(cls, name, None)
    return member is None or getattr(member, "__isabstractmethod__", False)


def _shown(value: Any) -> str:
    """A parameter's value in six digits; several in short."""
    return f"{float(value):.6g}" if np.ndim(value) == 0 and is_concrete(value) else shown(value)


def as_model(value: Any) -> Model:
    """The argument, if it is a model.

    Raises:
        TypeError: for anything else (a class, a name, a prepared system), explaining what to pass instead.

    Examples:
        >>> from jaxgait.model import as_model
        >>> as_model("bungee")
        Traceback (most recent call last):
            ...
        TypeError: give a model, not a name: Bungee() from jaxgait.models instead of 'bungee'
    """
    if isinstance(value, Model):
        _check_complete(type(value))
        return value
    raise TypeError(_not_a_model(value))


def _not_a_model(value: Any) -> str:
    """The error message for something that is not a model."""
    kind = type(value).__name__
    if isinstance(value, type):
        return f"give an instance of the model, not the class: {value.__name__}()"
    if isinstance(value, str):
        known = {name: where.partition(":")[2] for name, where in registry.models().items()}
        example = known.get(value.lower()) or next((c for c in known.values() if c.lower() == value.lower()), "Bungee")
        return f"give a model, not a name: {example}() from jaxgait.models instead of {value!r}"
    if isinstance(value, System):
        return f"give the {value.name} itself, not what its prepared() returns"
    return (
        f"give a model such as jaxgait.models.Bungee(), got {'None' if value is None else f'something of type {kind}'}"
    )
