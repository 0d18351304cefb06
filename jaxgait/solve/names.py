"""Checks of the names of a model's states, outputs and variables."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import jax

from jaxgait.definition import RESERVED, Variable, name_taken, parameter_names
from jaxgait.states import state_variables
from jaxgait.support.checks import first_few, not_in_files
from jaxgait.support.code_objects import codes

PHASE = "phase"
"""The variable of a result that holds the phase at each sample, if the motion has several."""


def check_names(kind: type, outputs: Mapping[str, Any], y: Any, variables: Mapping[str, Variable]) -> None:
    """Checks that outputs, components of the state and parameters have names of their own, which files can hold.

    Args:
        kind: the model's class.
        outputs: by name.
        y: the state.
        variables: what `Model.variables` describes.

    Raises:
        ValueError: naming the first name that is taken, and by what, or that files cannot hold.
    """
    name, components = kind.__name__, state_variables(y)
    if len(components) < len(jax.tree.leaves(y)):
        raise ValueError(f"two components of the state of {name} have one name: it has {', '.join(components)}")
    if wrong := not_in_files(outputs):
        raise ValueError(f"{name}.outputs: {wrong}")
    for taken, by in ((components, "a component of the state"), (RESERVED, "part of every result")):
        if both := [key for key in outputs if key in taken]:
            raise ValueError(f"{name}.outputs must not use the name {both[0]!r}: it is {by}")
    given = [*components, *outputs]
    dims = {dim for key in given if key in variables for dim in variables[key].dims}
    if why := name_taken(given, parameter_names(kind), dims):
        raise ValueError(f"{name} {why}")


def check_phase(kind: type, phases: int, given: Mapping[str, Any], variables: Mapping[str, Any]) -> None:
    """Checks that nothing of a model with several phases has the name of the phase of each sample in results.

    Args:
        kind: the model's class.
        phases: how many it has.
        given: components of the state and outputs by name.
        variables: their descriptions.

    Raises:
        ValueError: for a component, an output, a dimension or a parameter of that name.
    """
    taken = dict.fromkeys(parameter_names(kind), "a parameter")
    taken |= dict.fromkeys(given, "a component of the state or an output")
    taken |= {dim: f"a dimension of {key!r}" for key in given if key in variables for dim in variables[key].dims}
    if phases > 1 and PHASE in taken:
        what = f"{kind.__name__} must not use the name {PHASE!r} for {taken[PHASE]}"
        raise ValueError(f"{what}: it is that of the phase at each sample")


def check_described(kind: type, given: Mapping[str, Any], variables: Mapping[str, Any], model: Any) -> str:
    """Checks that no variable was meant to describe a component of the state or an output, under another name.

    Returns:
        What to warn of, a component or an output that no variable describes; empty if there is none.

    Args:
        kind: the model's class.
        given: components of the state and outputs by name.
        variables: what `Model.variables` describes.
        model: with leaves that have shapes.

    Raises:
        ValueError: for a name that nothing has, nor will have.
    """
    name, unused = kind.__name__, [key for key in variables if key not in given]
    written = _written(kind) if unused else set()
    never = [key for key in unused if key not in written]
    unknown = [key for key in given if key not in variables]
    for key in unknown:
        if near := difflib.get_close_matches(key, never, 1, _ALIKE):
            raise ValueError(
                f"{name}.variables has no {key!r} but {near[0]!r}, which no state or output has: misspelt?"
            )
    if never and not _open(kind, model):
        what = f"{never[0]!r}, which is neither a component of the state nor an output"
        raise ValueError(f"{name}.variables has {what}: it has {first_few([*given])}")
    if not unknown:
        return ""
    near = [n for key in unknown for n in difflib.get_close_matches(key, unused, 1, _ALIKE)]
    hint = f"is it a misspelt {near[0]!r}?" if near else "add it, as a Variable with its unit and long name"
    return f"{name}.variables does not describe {first_few(unknown)}, which has no unit in results: {hint}"


_ALIKE = 0.75
"""Similarity, by `difflib`, of a name and a misspelt one."""


def _open(kind: type, model: Any) -> bool:
    """Whether names of states and outputs depend on values of a model, or a scheme adds names of running totals.

    A part or a choice may decide what they are, and so may the length of an array.
    """
    plain = all("unit" in f.metadata and not (f.metadata["of"] or f.metadata["standard"]) for f in fields(kind))
    single = all(x.ndim == 0 for x in jax.tree.leaves(model))
    named = isinstance(getattr(kind, "measures", {}), Mapping)
    return not (plain and single and named) or hasattr(kind, "amounts") or hasattr(kind, "step_amounts")


def _written(kind: type) -> set[str]:
    """Names that may exist for some values of parameters: inherited ones, and those in the code of methods."""
    named = [*(getattr(base, "variables", None) for base in kind.__mro__[1:]), getattr(kind, "measures", None)]
    found = {key for one in named if isinstance(one, Mapping) for key in one}  # and not properties
    methods = (inspect.unwrap(x) for base in kind.__mro__ for x in vars(base).values() if inspect.isfunction(x))
    parts = [one for method in methods for one in codes(method.__code__)]
    own = {*dir(kind)}  # y.slip may be conditional, self.slip is not
    read = {name for one in parts for name in one.co_names} - own
    return found.union(read, *(_texts(constant) for one in parts for constant in one.co_consts))


def _texts(constant: Any) -> set[str]:
    """Texts in a constant of compiled code, without functions within it."""
    if isinstance(constant, tuple | frozenset):
        return set().union(*(_texts(one) for one in constant))
    return {constant} if isinstance(constant, str) else set()


def check_labels(name: str, values: Mapping[str, Any], variables: Mapping[str, Any], counts: dict[str, int]) -> None:
    """Checks that there are as many labels along each dimension of arrays as they have values.

    Args:
        name: the model's class.
        values: components of the state and outputs by name.
        variables: their descriptions.
        counts: number of labels of each dimension.

    Raises:
        ValueError: naming the dimension.
    """
    for key, x in values.items():
        for dim, size in zip(variables[key].dims if key in variables else (), x.shape, strict=False):
            if counts.get(dim, size) != size:
                raise ValueError(f"{name}.labels has {counts[dim]} labels of {dim!r}, but {key!r} has {size} values")
