"""Checks of models and states before anything is compiled; traced values are not checked.

A model's functions are traced once each, with errors in the model's own terms.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from jaxgait import precision
from jaxgait.kinds import Transition
from jaxgait.mechanics.spatial import check_quaternions
from jaxgait.model import Model, Variable
from jaxgait.native import disk
from jaxgait.native.identity import identity
from jaxgait.native.stored import signature
from jaxgait.outcome import RESERVED_ENDINGS
from jaxgait.parameters import ParameterError, check, check_single, in_own_unit, is_real, with_parameters
from jaxgait.plausible import warn_large_angles
from jaxgait.solve.names import check_described, check_labels, check_names, check_phase
from jaxgait.solve.steps import as_precise_as, start_state
from jaxgait.solve.tracing import EquationError, in_words, kind_in_words, traced, unusual_shapes
from jaxgait.states import described_component, state_variables
from jaxgait.support.checks import an_instance, as_array, is_concrete, shown, warn_user


def check_map(return_map: Any) -> None:
    """Checks that a return map can be one.

    Raises:
        TypeError: for anything but a function of two arguments, such as where map and model are exchanged.

    Examples:
        >>> from jaxgait.solve.checks import check_map
        >>> check_map(lambda model, z: 0.5 * z)
    """
    if isinstance(return_map, type | Model) or not callable(return_map):
        what = "a function of a model and a point, such as PoincareMap() or StroboscopicMap()"
        raise TypeError(f"a return map is {what}, got {shown(return_map)}")
    with contextlib.suppress(ValueError):  # functions of C have no signature
        try:
            inspect.signature(return_map).bind(None, None)
        except TypeError:
            what = "a return map is called with the model and a point, (model, z)"
            raise TypeError(f"{what}: {shown(return_map)} does not take both") from None


def check_model(model: Any) -> None:
    """Validates a model; if some leaves are traced, only the parameters that are concrete.

    Raises:
        TypeError: for a class instead of an instance.
        jaxgait.parameters.ParameterError: naming the parameter, its value and what would be right.
    """
    an_instance(model)
    if not hasattr(model, "validate"):
        return
    if is_concrete(model):
        model.validate()
    else:
        check(model)


def check_one(model: Any) -> None:
    """Validates the model of a single motion like `check_model`; each parameter must have a single value.

    Raises:
        TypeError: for a class instead of an instance.
        jaxgait.parameters.ParameterError: naming the parameter, its value and what would be right.
    """
    an_instance(model)
    if hasattr(model, "validate"):
        check_single(model)
    check_model(model)


def check_state(name: str, y: Any, like: Any) -> None:
    """Checks that a state has the structure of another one, and is finite where it is not traced.

    Args:
        name: the argument's name, for the message.
        y: the state to check.
        like: the model's own initial state.

    Raises:
        ValueError: naming the expected structure, or the component that is not finite.
    """
    wanted, given = jax.tree.structure(like), jax.tree.structure(y)
    if given != wanted:
        fields = list(state_variables(like))
        own = (
            f"such as model.initial_state()._replace({fields[0]}=...)"
            if hasattr(like, "_replace")
            else "as the model's"
        )
        if isinstance(y, list | np.ndarray | jax.Array):
            own += ", or return_map.start(model, z) of the point z of a gait"
        else:
            own += f", or a dict of some components such as {{{fields[0]!r}: ...}}"
        what = f"{name} must be a {type(like).__name__} ({', '.join(fields)}), {own}"
        if is_concrete(y):
            y = jax.tree.map(lambda x: x.item() if isinstance(x, jax.Array) and not x.shape else x, y)
        raise ValueError(f"{what}, got {shown(y)}")
    pairs = zip(jax.tree.leaves_with_path(y), jax.tree.leaves(like), strict=True)
    for (path, leaf), own in pairs:
        component = name + jax.tree_util.keystr(path)
        if np.shape(leaf) != np.shape(own):
            raise ValueError(
                f"{component} must have the shape {np.shape(own)}, got {np.shape(leaf)}: one state at a time"
            )
        if not is_real(leaf):
            raise ValueError(f"{component} must be a real number, got {shown(leaf)}")
        if is_concrete(leaf) and not np.all(np.isfinite(np.asarray(as_array(leaf), dtype=float))):
            raise ValueError(f"{component} must be finite, got {shown(leaf)}")


def component_in_unit(model: Model, name: str, values: Any) -> Any:
    """Values of a component of the state, converted to its unit if they are labelled with another one.

    Args:
        model: the mechanism.
        name: the component.
        values: a number or an array of any shape, or several.

    Raises:
        jaxgait.parameters.ParameterError: for values in a unit of another quantity, or in an unknown one, and for
            labelled values of a component without a declared unit.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait import Bungee
        >>> from jaxgait.solve.checks import component_in_unit
        >>> print(component_in_unit(Bungee(), "v", xr.DataArray(50.0, attrs={"units": "cm/s"})))  # in m/s
        0.5
    """
    known = described_component(model, name)
    return in_own_unit(f"initial.{name}", values, None if known is None else known.unit)


def check_start_values(model: Model, start: Mapping[str, Any]) -> None:
    """Checks the values of components of an initial state, by name and in their units; there may be a batch axis.

    Args:
        model: the mechanism.
        start: the components.

    Warns:
        jaxgait.plausible.ImplausibleValue: of angles beyond a full turn.

    Raises:
        ValueError: for a quaternion that is not of length 1, naming it.
    """
    warn_large_angles(model, start)
    labels, described = model.labels, model.variables
    for name, values in start.items():
        dims = described[name].dims if name in described else ()
        names = labels.get(dims[0], ()) if len(dims) == 1 else ()
        if len(names) and all(isinstance(one, str) for one in names):  # others are positions or numbers
            check_quaternions(names, values)


def warn_of_start(model: Any, given: Collection[str] = ()) -> None:
    """Warns of angles beyond a full turn in the initial state that a class of the user's own defines.

    Those that jaxgait's own models define follow from checked parameters, and may take seconds to compute.

    Args:
        model: with concrete leaves.
        given: names of components that do not start there.

    Warns:
        jaxgait.plausible.ImplausibleValue: naming the component, its value and that it may be in degrees.
    """
    angles = {name for name, one in model.variables.items() if one.unit == "rad"} - {*given}
    if angles and (type(model).initial_state.__module__ or "").partition(".")[0] != _PACKAGE:
        start = state_variables(model.initial_state())
        warn_large_angles(model, {name: x for name, x in start.items() if name in angles})


_PACKAGE = __name__.partition(".")[0]
T = TypeVar("T")


def check_equations(model: Any) -> None:
    """Traces a model's functions once per structure and reports errors in the model's own terms.

    Args:
        model: with leaves of the precision in force; their values do not matter.

    Raises:
        EquationError: if a vector field, phase or reset does not return the structure of the state, outputs are not a
            dict of numbers, a guard is not a number, or a function takes (y, t) instead of (t, y) or branches on a
            value that is known only at run time.
        ValueError: for outputs named as a component of the state, and transitions between phases that do not exist.
        jaxgait.parameters.ParameterError: naming an array whose shape is not that of its default, if the equations fail
            for that reason.

    Warns:
        UserWarning: if a state or its rates have fewer digits than the precision in force, and if no variable describes
            a component of the state or an output.
    """
    if (key := signature(model)) not in _doubts:
        try:
            _doubts[key] = _check_shapes(model)
        except Exception as error:
            _explain_shapes(model, error)
            raise
    if doubt := _doubts[key]:
        warn_user(doubt)


_doubts: dict[Any, str] = {}
"""Warnings about models without errors, by their signatures; empty if there is none."""


def _explain_shapes(model: Any, error: Exception) -> None:
    """Raises a `ParameterError` for arrays of unusual shapes, if the equations work with the usual ones."""
    odd = unusual_shapes(model)

    def works(usual: Iterable[str]) -> bool:
        try:
            _check_shapes(precision.cast(with_parameters(model, {name: odd[name].default for name in usual})))
        except Exception:  # whatever a user's function raises
            return False
        return True

    if not (odd and works(odd)):  # wrong in any case: the first error stands
        return
    guilty = [name for name in odd if not works(odd.keys() - {name})] or [*odd]
    wrong = [f"{type(model).__name__}.{n} must have the shape {odd[n].usual}, got {odd[n].own}" for n in guilty]
    why = str(error).partition("\n")[0]
    raise ParameterError(f"{'; '.join(wrong)}: the equations fail otherwise ({why})") from error


def _check_shapes(model: Any) -> str:
    """Checks a model's equations for the shapes of its leaves; returns the text of a warning, or ""."""
    dynamic, static = eqx.partition(model, eqx.is_array)
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), dynamic)
    return _check_equations(type(model), shapes, static)


def _check_equations(kind: type, shapes: Any, static: Any) -> str:
    """As `_check_shapes`, from the shapes and the static parts."""
    name, known = kind.__name__, identity(kind, shapes, static)
    passed = None if known is None else disk.key("checked", known)
    if passed is not None and disk.load(passed) is not None:  # by an earlier process
        return ""

    def whole(numbers: Any) -> Any:
        return eqx.combine(numbers, static)

    prepared, fixed = eqx.partition(_system(f"{name}.prepared", whole, shapes), _is_shape)

    def ready(numbers: Any) -> Any:
        return eqx.combine(numbers, fixed)

    y = traced(f"{name}.initial_state", lambda m: ready(m).initial_state(), prepared)
    if not jax.tree.leaves(y):
        raise EquationError(f"{name}.initial_state must return the state at the start, got {shown(y)}")
    for path, leaf in jax.tree.leaves_with_path(y):
        if not jnp.issubdtype(leaf.dtype, jnp.number):
            raise EquationError(f"{name}.initial_state must return numbers, got one of type {leaf.dtype}{_of(path)}")
    doubts = [_too_narrow(f"{name}.initial_state", y)]
    y = jax.eval_shape(lambda own: as_precise_as(0.0, start_state(None, own)), y)  # as runs have it

    def at(what: str, function: Callable[[Any], Any]) -> Any:
        """Shapes that a function of time and state returns."""
        time = jax.ShapeDtypeStruct((), jnp.result_type(float))
        return traced(f"{name}.{what}", lambda m, t, y: function(ready(m))(t, y), prepared, time, y)

    if hasattr(kind, "vector_field"):
        doubts.append(_check_rates(f"{name}.vector_field", at("vector_field", lambda m: m.vector_field), y))
    found = at("outputs", lambda m: _numeric(f"{name}.outputs", m.outputs))
    if not (isinstance(found, dict) and all(isinstance(n, str) and hasattr(x, "shape") for n, x in found.items())):
        raise EquationError(f"{name}.outputs must return a dict of numbers and arrays by name, got {shown(found)}")
    labels = lambda m: (m.variables, {dim: len(one) for dim, one in m.labels.items()})
    variables, counts = _known(lambda m: labels(whole(m)), shapes)
    check_names(kind, found, y, variables)
    given = {**state_variables(y), **found}
    doubts.append(check_described(kind, given, variables, shapes))
    check_labels(name, given, variables, counts)
    if hasattr(kind, "transitions"):
        plan = _known(lambda m: _plan(whole(m)), shapes)
        check_phase(kind, plan.phases, given, variables)
        doubts += _check_phases(name, plan, at, y)
    for group in ("terminations", "events"):
        named = _known(lambda m, group=group: getattr(ready(m), group)(), prepared)
        if not (isinstance(named, Mapping) and all(isinstance(k, str) and callable(x) for k, x in named.items())):
            got = shown(named) if isinstance(named, Mapping) else in_words(named)
            raise EquationError(f"{name}.{group} must return a dict of functions of (t, y) by name, got {got}")
        for one in named:
            if group == "terminations" and one in RESERVED_ENDINGS:
                raise ValueError(f"{name} must not name an ending {one!r}: that is the status of other runs")
            what = f"{group}()[{one!r}]"
            returned = at(what, lambda m, group=group, one=one: getattr(m, group)()[one])
            _check_number(f"{name}.{what}", returned, flag=group == "terminations")
    doubt = next(filter(None, doubts), "")
    if passed is not None and not doubt:
        disk.store(passed, b"")
    return doubt


def _is_shape(x: Any) -> bool:
    return isinstance(x, jax.ShapeDtypeStruct)


def _system(name: str, whole: Callable[[Any], Model], shapes: Any) -> Any:
    """The system that runs, with shapes instead of arrays."""
    static = []

    def numbers(m: Any) -> Any:
        dynamic, rest = eqx.partition(whole(m).prepared(), eqx.is_array)
        static.append(rest)
        return dynamic

    return eqx.combine(traced(name, numbers, shapes), static[0])


def _known(function: Callable[[Any], T], shapes: Any) -> T:
    """What a model's function returns that is known without the model's numbers, such as names."""
    found = []
    jax.eval_shape(lambda m: found.append(function(m)), shapes)
    return found[0]


def _numeric(name: str, outputs: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Outputs, with an error that names the one that JAX cannot trace."""

    def checked(t: Any, y: Any) -> Any:
        found = outputs(t, y)
        for key, x in found.items() if isinstance(found, Mapping) else ():
            if isinstance(x, Variable):
                raise EquationError(f"{name}: {key!r} is a Variable: return its value, and describe it in `variables`")
            if isinstance(x, str):
                raise EquationError(f"{name}: {key!r} must be a number or an array of numbers, got {shown(x)}")
        return found

    return checked


class _Plan(NamedTuple):
    phases: int
    transitions: dict[str, list[str]]


def _plan(model: Any) -> _Plan:
    check_transitions(model)
    has = lambda transition: [part for part in ("guard", "armed", "reset") if getattr(transition, part) is not None]
    return _Plan(len(model.phases()), {name: has(one) for name, one in model.transitions().items()})


def _check_phases(name: str, plan: _Plan, at: Callable[[str, Callable[[Any], Any]], Any], y: Any) -> list[str]:
    """Checks phases and transitions; returns texts to warn of, most of them empty."""
    doubts = []
    for i in range(plan.phases):
        rates = at(f"phases()[{i}]", lambda m, i=i: m.phases()[i])
        doubts.append(_check_rates(f"{name}.phases()[{i}]", rates, y))
    for key, parts in plan.transitions.items():
        for part in parts:
            what = f"transitions()[{key!r}].{part}"
            found = at(what, lambda m, key=key, part=part: getattr(m.transitions()[key], part))
            if part == "reset":
                _check_like(f"{name}.{what}", "the state after the event", found, y)
                doubts.append(_too_narrow(f"{name}.{what}", found))
            else:
                _check_number(f"{name}.{what}", found, flag=part == "armed")
    return doubts


def check_transitions(model: Any) -> None:
    """Checks that phases are functions, and that all transitions are `Transition`s between them.

    Raises:
        EquationError: for any other type.
        ValueError: naming the transition and the phase.
    """
    kind, fields, named = type(model).__name__, model.phases(), model.transitions()
    if not (isinstance(fields, Sequence) and len(fields) and all(map(callable, fields))):
        other = "a single function" if callable(fields) else in_words(fields)
        got = shown(fields) if isinstance(fields, Sequence) else other
        raise EquationError(f"{kind}.phases must return a list or tuple of functions of (t, y), got {got}")
    if not isinstance(named, Mapping):
        raise EquationError(f"{kind}.transitions must return a dict of transitions by name, got {in_words(named)}")
    phases = len(fields)
    for name, transition in named.items():
        if not isinstance(transition, Transition):
            raise EquationError(f"transitions()[{name!r}] must be a Transition(...), got {shown(transition)}")
        if not transition.sources:
            raise ValueError(f"the transition {name!r} can never happen: name the phases of its source, got none")
        targets = () if transition.target is None else (transition.target,)
        for end, given in [*(("source", one) for one in transition.sources), *(("target", one) for one in targets)]:
            if not (isinstance(given, int | np.integer) and 0 <= given < phases):
                raise ValueError(
                    f"the {end} of the transition {name!r} must be one of the model's {phases} phases, "
                    f"0 to {phases - 1}, got {given}"
                )


def _check_number(name: str, found: Any, *, flag: bool) -> None:
    single = isinstance(found, jax.ShapeDtypeStruct) and found.shape == ()
    if single and (found.dtype == bool) == flag:
        return
    hint = ": compare it, as in `x > 0`" if flag and single else ""
    got = f"one of type {found.dtype}{hint}" if single else in_words(found)
    raise EquationError(f"{name} must return {'a condition, true or false' if flag else 'one number'}, got {got}")


def _check_like(name: str, what: str, found: Any, y: Any) -> None:
    """Checks that a result has the structure of the state and the shapes of its components."""
    if jax.tree.structure(found) != jax.tree.structure(y):
        raise EquationError(f"{name} must return {what} as a {kind_in_words(y)}, like the state, got {_what(found, y)}")
    for (path, one), own in zip(jax.tree.leaves_with_path(found), jax.tree.leaves(y), strict=True):
        if np.shape(one) != np.shape(own):
            raise EquationError(f"{name} must return {what} with the shape {own.shape}{_of(path)}, got {one.shape}")


def _check_rates(name: str, rates: Any, y: Any) -> str:
    """Checks that rates are real and shaped like the state; returns what to warn of."""
    _check_like(name, "the rates", rates, y)
    for (path, rate), own in zip(jax.tree.leaves_with_path(rates), jax.tree.leaves(y), strict=True):
        if jnp.issubdtype(rate.dtype, jnp.complexfloating) and not jnp.issubdtype(own.dtype, jnp.complexfloating):
            raise EquationError(f"{name} must return real rates, got complex ones{_of(path)}")
    return _too_narrow(name, rates)


def _too_narrow(name: str, found: Any) -> str:
    """The warning about numbers with fewer digits than the precision in force; empty if there are none."""
    wanted = jnp.finfo(jnp.result_type(float))
    for path, leaf in jax.tree.leaves_with_path(found):
        if jnp.issubdtype(leaf.dtype, jnp.floating) and jnp.finfo(leaf.dtype).bits < wanted.bits:
            own = f"{name} returns {leaf.dtype}{_of(path)}, and the run is in {wanted.dtype}"
            digits = f"its results have {jnp.finfo(leaf.dtype).precision + 1} digits at most, whatever the tolerances"
            return f"{own}: {digits}. Leave out float32 and the like, or convert with x.astype(float)"
    return ""


def _of(path: Any) -> str:
    component = jax.tree_util.keystr(path)
    return f" for {component}" if component else ""


def _what(rates: Any, y: Any) -> str:
    if type(rates) is type(y) and hasattr(y, "_fields"):
        wrong = [n for n in y._fields if jax.tree.structure(getattr(rates, n)) != jax.tree.structure(getattr(y, n))]
        return f"one with {' and '.join(f'.{n} = {shown(getattr(rates, n))}' for n in wrong)}"
    return in_words(rates)
