"""The base class of every mechanism: an immutable pytree of parameters with initial state, outputs and motion."""

from __future__ import annotations

import abc
import dataclasses
import difflib
import functools
import html
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

import numpy as np
from jaxtyping import Array, Bool

from jaxgait import registry
from jaxgait.definition import Numerics, Variable, check_complete, warn_of_near_hooks, warn_of_plain_numbers
from jaxgait.fields import Immutable
from jaxgait.mechanics import Scalar
from jaxgait.parameters import ParameterError, check, parameter, parameters, with_parameters
from jaxgait.precision import float64_default
from jaxgait.support.checks import an_instance, is_concrete, shown
from jaxgait.system import System, derived

State: TypeAlias = Any
"""A model's state: a pytree, best a `NamedTuple` of scalars (each leaf becomes one batch vector under `vmap`)."""

__all__ = ["Model", "Numerics", "Scalar", "State", "System", "Variable", "as_model", "derived", "parameter"]

M = TypeVar("M", bound="Model")

MAX_UNFOLDED = 16
"""Number of parameters above which the table of a model is folded in notebooks."""


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
        UserWarning: for a name that a subclass adds and that is nearly one of this class, such as `output`; for a
            field with a plain number as its default, such as `length: float = 1.0`, which is not a parameter.

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
    """The drawing of a run in films and the explorer: a method `scene(self, run)`, or a function of model and run,
    given directly or as "module:function"; see `jaxgait.plot.scene`."""
    recording: ClassVar[str] = ""
    """The function that makes joint angles of a run, under OpenSim's names, as "module:function"; see `jaxgait.export`.

    It takes the Dataset and returns a `jaxgait.motion.recording.Recording`.
    """
    _path: ClassVar[str] = ""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Parameter sets by name; each maps dotted names to the values that differ from the defaults."""
    search: ClassVar[Mapping[str, Any]] = {}
    """Defaults of the command `jaxgait optimize`: arguments of `jaxgait.optimize`, and parameters to `set`."""

    if not TYPE_CHECKING:  # type checkers know the fields

        def __new__(cls, *args: Any, **given: Any) -> Any:
            """Raises an error for a field that the model does not have, with the nearest ones."""
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
            check_complete(cls)
            warn_of_near_hooks(cls, Model)
            warn_of_plain_numbers(cls, Model)
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
        """Rejects an impossible start, such as one deep in the ground: the model's own with these components replaced.

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
        check_complete(type(value))
        return value
    an_instance(value)
    raise TypeError(_not_a_model(value))


def _not_a_model(value: Any) -> str:
    """The error message for something that is not a model."""
    kind = type(value).__name__
    if isinstance(value, str):
        known = {name: where.partition(":")[2] for name, where in registry.models().items()}
        example = known.get(value.lower()) or next((c for c in known.values() if c.lower() == value.lower()), "Bungee")
        return f"give a model, not a name: {example}() from jaxgait.models instead of {value!r}"
    if isinstance(value, System):
        return f"give the {value.name} itself, not what its prepared() returns"
    return (
        f"give a model such as jaxgait.models.Bungee(), got {'None' if value is None else f'something of type {kind}'}"
    )
