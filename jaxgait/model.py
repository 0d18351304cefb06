"""What every mechanism is: an immutable pytree of parameters with an initial state, outputs and a law of motion."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, TypeAlias

import equinox as eqx
from jaxtyping import Array, Bool

from jaxgait.mechanics.scalars import Scalar
from jaxgait.parameters import ParameterError, Prepared, check, parameter, with_parameters
from jaxgait.precision import float64_default

State: TypeAlias = Any
"""A model's state: a pytree, best a `NamedTuple` of scalars (each leaf becomes one batch vector under `vmap`)."""

__all__ = ["Model", "Numerics", "Scalar", "State", "System", "Variable", "as_model", "parameter"]


class Variable(NamedTuple):
    """Unit and long name of a state component, an output or a measure, for labelled results.

    Examples:
        >>> from jaxgait import Variable
        >>> Variable("m/s", "speed of the hip")
        Variable(unit='m/s', long_name='speed of the hip', dims=())
    """

    unit: str
    long_name: str
    dims: tuple[str, ...] = ()
    """Names of its dimensions beyond time, if it is an array; their labels are `Model.labels`."""


class Numerics(NamedTuple):
    """What a model knows of its own time scales; `jaxgait.solve` turns it into a solver, tolerances and steps.

    Examples:
        >>> from jaxgait import Numerics
        >>> Numerics(stiff=True, rtol=1e-8).max_steps
        1000000
    """

    stiff: bool
    """True where contact or friction forbids explicit methods."""
    unrolled: bool = True
    """Whether explicit methods write out their stages: fast in ensembles, but large models take long to compile."""
    rtol: float = 1e-6
    atol: float = 1e-8
    first_step: float = 1e-5
    """First time step in s."""
    max_step: float | None = None
    """Longest time step in s, so that no touch-down is jumped over; None: no limit."""
    max_steps: int = 1_000_000
    """Steps after which a trajectory is given up with a status."""
    dt: float | None = None
    """Longest step in s of schemes with steps of fixed length; None: theirs."""


@float64_default
class Model(eqx.Module):
    """A mechanism as a value.

    A subclass is a frozen dataclass of parameters (declared with `parameter`) with the methods below, all pure, written
    for one trajectory and free of batch axes: `vmap` over the model's leaves makes an ensemble of it. Beside these it
    defines how it moves (see `jaxgait.kinds`): a smooth one by `vector_field(t, y)`.

    Raises:
        TypeError: where a class is defined that lacks something, saying what. A class that declares abstract methods
            of its own is one to be completed by others.

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
    """Stiffness, tolerances and steps that suit it; explicit solvers with their usual tolerances by default."""
    measures: ClassVar[Mapping[str, Any] | str] = {}
    """What is usually read off a run (`jaxgait.measure.Measure`) by name, or "module:NAME" where they are."""
    scene: ClassVar[str] = ""
    """What films and the explorer show of a run: "module:function", see `jaxgait.plot.scene`."""
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Parameter sets by name: of each, what differs from the defaults, by dotted name."""
    search: ClassVar[Mapping[str, Any]] = {}
    """What `jaxgait optimize` does by default: arguments of `jaxgait.optimize`, and parameters to `set`."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Every model computes in float64 unless asked, a user's own included."""
        super().__init_subclass__(**options)
        if any(not name.startswith("__") for name in vars(cls)):  # cloudpickle fills an empty class after it is made
            _check_complete(cls)
        float64_default(cls)

    @abc.abstractmethod
    def initial_state(self) -> State:
        """State at t = 0."""

    def outputs(self, t: Scalar, y: State) -> dict[str, Array]:
        """What can be observed at time `t` in s and state `y`, by name (see `variables`); nothing by default.

        Examples:
            >>> from jaxgait import Bungee
            >>> man = Bungee()
            >>> start = man.outputs(0.0, man.initial_state())
            >>> print(start["height"], start["rope_force"])  # m above the ground, on the ledge; N: the rope is slack
            80.0 0.0
        """
        del t, y
        return {}

    @property
    @abc.abstractmethod
    def duration(self) -> Scalar:
        """Natural time span in s of one run, used when the user names none.

        Examples:
            >>> from jaxgait import Bungee
            >>> Bungee().duration
            100.0
        """

    @property
    def labels(self) -> Mapping[str, Sequence[Any]]:
        """Labels along the dimensions of array variables, by the names that `variables` gives these dimensions.

        Examples:
            >>> from jaxgait import Bungee, Inchworm
            >>> print(dict(Bungee().labels), list(Inchworm().labels))
            {} ['unit', 'actuator']
        """
        return {}

    @property
    def period(self) -> Scalar | None:
        """Stride or forcing period in s for models that have one, so that users may count in strides.

        Examples:
            >>> from jaxgait import Bungee, Prosthesis
            >>> print(Bungee().period, round(float(Prosthesis().period), 2))  # none; a stride in s
            None 1.13
        """
        return None

    def terminations(self) -> Mapping[str, Callable[[Scalar, State], Bool[Array, ""]]]:
        """Conditions that end a trajectory early, by name ("folded", "fell"); the name becomes its status.

        Those of a model with `transitions` (see `jaxgait.kinds.Transition`) are the transitions that end it.

        Examples:
            >>> from jaxgait import Prosthesis
            >>> list(Prosthesis().terminations())  # the four-bar linkage may fold
            ['folded']
        """
        transitions = getattr(self, "transitions", dict)()
        return {name: functools.partial(_fallen, tr.guard) for name, tr in transitions.items() if tr.ends}

    def events(self) -> Mapping[str, Callable[[Scalar, State], Array]]:
        """Guards of a smooth motion, by name ("taut", "slack"): an event is where one falls through zero.

        Functions of time in s and state, smooth near their zeros; they change nothing, their times are recorded
        (`jaxgait.run.Events`). None by default. Those of a model with `transitions` are the transitions.

        Examples:
            >>> from jaxgait import Bungee
            >>> guards = Bungee().events()
            >>> print(list(guards), guards["taut"](0.0, Bungee().initial_state()))  # m of fall until the rope is taut
            ['taut', 'lowest', 'slack', 'top'] 30.0
        """
        return {}

    def prepared(self) -> System:
        """What moves during a run: the model and whatever follows from its parameters, worked out once.

        Examples:
            >>> from jaxgait import Bungee
            >>> system = Bungee(mass=80.0).prepared()
            >>> print(system.mass, system.vector_field(0.0, Bungee().initial_state()).v)  # m/s^2: he falls freely
            80.0 10.0
        """
        return System(self)

    def preset(self, name: str) -> Model:
        """The model with one of its parameter sets, by name (see `presets`).

        Raises:
            jaxgait.parameters.ParameterError: for an unknown name, with those there are.

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
        """The model driven by another measured stride (`jaxgait.motion`), for models that can be.

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
        """Rejects impossible parameters, before anything is compiled. Leaves may carry a batch axis.

        Raises:
            jaxgait.parameters.ParameterError: naming the parameter, its value and what would be right.

        Examples:
            >>> from jaxgait import Bungee
            >>> Bungee(stiffness=-20.0).validate()
            Traceback (most recent call last):
                ...
            jaxgait.parameters.ParameterError: Bungee.stiffness (rope stiffness) must be positive, got -20 N/m
        """
        check(self)

    def __call__(self, t: Scalar, y: State, args: object = None) -> State:
        """The vector field of a smooth model, in the argument order of diffrax.

        Examples:
            >>> from jaxgait import Bungee
            >>> from jaxgait.models.bungee.model import BungeeState
            >>> man = Bungee(linear_drag=0.0, quadratic_drag=0.0)
            >>> print(man(0.0, BungeeState(35.0, 0.0)).v)  # m/s^2: there the rope carries his weight of 700 N
            0.0
        """
        smooth: Any = self
        return smooth.vector_field(t, y)


def _fallen(guard: Callable[[Scalar, State], Array], t: Scalar, y: State) -> Bool[Array, ""]:
    return guard(t, y) <= 0.0


_MOVES = ("vector_field", "phases", "kinetics", "advance", "state_at")
"""What a model may define to say how it moves, see `jaxgait.kinds`."""

_REQUIRED = {
    "initial_state": "its state at t = 0",
    "duration": "the natural length in s of a run (a property)",
    "variables": "unit and long name of every component of the state and every output (a dict of Variable)",
}


def _check_complete(cls: type) -> None:
    """Finds out what a model's class lacks, when it is defined.

    Raises:
        TypeError: naming everything that is missing, or a measure that is none or has another name.
    """
    if any(getattr(member, "__isabstractmethod__", False) for member in vars(cls).values()):
        return
    lacks = [f"{name}, {what}" for name, what in _REQUIRED.items() if _undefined(cls, name)]
    if not any(hasattr(cls, name) for name in _MOVES):
        lacks.append("how it moves: vector_field(t, y) for a smooth model (others: see jaxgait.kinds)")
    if lacks:
        raise TypeError(f"the model {cls.__name__} lacks {'; '.join(lacks)}")
    brought = vars(cls).get("measures", {})
    for name, measure in brought.items() if isinstance(brought, Mapping) else ():
        if (own := getattr(measure, "name", None)) != name:
            got = f"a {type(measure).__name__}" if own is None else f"one named {own!r}"
            raise TypeError(f"measures[{name!r}] of {cls.__name__} must be a Measure with the name {name!r}, got {got}")


def _undefined(cls: type, name: str) -> bool:
    member = getattr(cls, name, None)
    return member is None or getattr(member, "__isabstractmethod__", False)


@float64_default
class System(Prepared):
    """What a model builds before a run: itself together with everything that follows from its parameters.

    It moves as the model does (its methods and parameters are read from here), but it is not a `Model`: its parameters
    are not replaceable, because what was derived from them would not follow.

    Examples:
        >>> from jaxgait import Bungee
        >>> system = Bungee().prepared()
        >>> start = system.initial_state()
        >>> print(system.name, system.vector_field(0.0, start).v, system(0.0, start).v)  # m/s^2
        Bungee 10.0 10.0
    """

    _model: Any

    def __getattr__(self, name: str) -> Any:
        """An attribute of the model with its derived values."""
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._model, name)

    def vector_field(self, t: Scalar, y: State) -> State:
        """As the model's own."""
        return self._model.vector_field(t, y)

    def __call__(self, t: Scalar, y: State, args: object = None) -> State:
        """The vector field, in the argument order of diffrax."""
        return self.vector_field(t, y)

    @property
    def name(self) -> str:
        """The model's class, for messages."""
        return type(self._model).__name__


def as_model(given: Any) -> Model:
    """The model that was given, or an explanation why what was given is none.

    Raises:
        TypeError: for a class, a name, a prepared system, or anything else.

    Examples:
        >>> from jaxgait.model import as_model
        >>> as_model("bungee")
        Traceback (most recent call last):
            ...
        TypeError: give a model, not a name: Bungee() from jaxgait.models instead of 'bungee'
    """
    if isinstance(given, Model):
        _check_complete(type(given))
        return given
    raise TypeError(_no_model(given))


def _no_model(given: Any) -> str:
    """Why something is not a model, and what would be right."""
    from jaxgait import registry

    kind = type(given).__name__
    if isinstance(given, type):
        return f"give an instance of the model, not the class: {given.__name__}()"
    if isinstance(given, str):
        known = {name: where.partition(":")[2] for name, where in registry.models().items()}
        example = known.get(given.lower()) or next((c for c in known.values() if c.lower() == given.lower()), "Bungee")
        return f"give a model, not a name: {example}() from jaxgait.models instead of {given!r}"
    if isinstance(given, System):
        return f"give the {given.name} itself, not what its prepared() returns"
    return (
        f"give a model such as jaxgait.models.Bungee(), got {'None' if given is None else f'something of type {kind}'}"
    )
