"""The parameters of a model: declared with unit, meaning and bounds in one place, addressed by dotted names everywhere.

class Damper(eqx.Module):
k: Scalar = parameter(1.8e4, unit="N/m", doc="spring of the damper", bounds="nonnegative")

parameters(model)                                  # {"damper.k": ParameterInfo(...), ...}
with_parameters(model, {"damper.k": 2e4})          # a new model; unknown names are refused with the nearest valid one
check(model)                                       # refuses NaN, infinities and values out of bounds
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeVar

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer

Bounds = Literal["any", "nonnegative", "positive"]
M = TypeVar("M")


class ParameterError(ValueError):
    """A parameter is unknown, has a wrong shape, or a value that cannot be."""


class ParameterInfo(NamedTuple):
    """What is declared of one parameter (see `parameter`) with its present value."""

    value: Any
    unit: str
    doc: str
    bounds: Bounds
    source: str


def parameter(default: Any, *, unit: str, doc: str, bounds: Bounds = "any", source: str = "") -> Any:
    """Declares a physical parameter of a model: an `equinox.Module` field that knows what it means.

    Args:
        default: value in SI units (the paper's); a float, or a tuple or NumPy array of floats.
        unit: unit as text, e.g. "N s/m"; "1" for numbers without dimension.
        doc: what it is, in a few words.
        bounds: "any" finite number, "nonnegative" or "positive".
        source: where the value comes from.
    """
    metadata = {"unit": unit, "doc": doc, "bounds": bounds, "source": source}
    if isinstance(default, np.ndarray):
        return eqx.field(default_factory=default.copy, metadata=metadata)
    return eqx.field(default=default, metadata=metadata)


def parameters(model: Any) -> dict[str, ParameterInfo]:
    """Lists the declared parameters of a model, nested modules included, by dotted name.

    Raises:
        ParameterError: for something that is no model, such as one that is prepared for a run.
    """
    from jaxgait.models.base import System  # which imports this module

    if isinstance(model, System):
        raise ParameterError(
            f"a prepared {model.name} has no parameters to read or replace, what follows from them is worked out: "
            "change the model and prepare it again"
        )
    if not isinstance(model, eqx.Module):
        given = (
            f"the class {model.__name__}" if isinstance(model, type) else f"something of type {type(model).__name__}"
        )
        raise ParameterError(f"only an instance of a model has parameters, got {given}")
    return dict(_walk(model, ""))


def _walk(module: Any, prefix: str) -> Iterator[tuple[str, ParameterInfo]]:
    for field in dataclasses.fields(module):
        value = getattr(module, field.name)
        name = prefix + field.name
        if "unit" in field.metadata:
            m = field.metadata
            yield name, ParameterInfo(value, m["unit"], m["doc"], m["bounds"], m["source"])
        elif isinstance(value, eqx.Module):
            yield from _walk(value, name + ".")


def parameter_info(model: Any, name: str) -> ParameterInfo:
    """Looks up one parameter by dotted name.

    Raises:
        ParameterError: for an unknown name, with the nearest valid names.
    """
    known = parameters(model)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5) or [n for n in known if n.endswith("." + name)]
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"it has {', '.join(sorted(known))}"
        raise ParameterError(f"{type(model).__name__} has no parameter {name!r}: {hint}")
    return known[name]


def get_parameter(model: Any, name: str) -> Any:
    """Returns the value at a dotted name."""
    for part in name.split("."):
        model = getattr(model, part)
    return model


def with_parameters(model: M, values: Mapping[str, Any]) -> M:
    """Returns a copy of the model with some parameters replaced, addressed by dotted names.

    Values are put in as they are: arrays with a leading axis make the model an ensemble for `jax.vmap`.

    Raises:
        ParameterError: for an unknown name, with the nearest valid names.
    """
    for name in values:
        parameter_info(model, name)
    if not values:
        return model
    return eqx.tree_at(
        lambda m: [get_parameter(m, n) for n in values],
        model,
        list(values.values()),
        is_leaf=lambda x: isinstance(x, tuple),
    )


def check(model: eqx.Module) -> None:
    """Refuses parameters that cannot be: NaN, infinite, or out of their declared bounds.

    Leaves may carry a batch axis; the first offending entry is named. Traced leaves cannot be checked.

    Raises:
        ParameterError: naming the parameter, its value and its bound.
    """
    for name, info in parameters(model).items():
        for leaf in jax.tree.leaves(info.value):
            if leaf is None or isinstance(leaf, Tracer):
                continue
            check_value(f"{type(model).__name__}.{name}", leaf, info)


def check_value(label: str, value: Any, info: ParameterInfo) -> None:
    """Refuses a value (scalar or array) that the declaration of its parameter forbids.

    Raises:
        ParameterError: naming the label, the first bad value, its index if any, and the bound.
    """
    try:
        x = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"{label} must be a number in {info.unit}, got {value!r}") from error
    bad = ~np.isfinite(x)
    wanted = "finite"
    if not bad.any() and info.bounds != "any":
        bad = x <= 0 if info.bounds == "positive" else x < 0
        wanted = info.bounds
    if bad.any():
        where = np.argwhere(np.atleast_1d(bad))[0]
        index = "" if x.ndim == 0 else f" at index {tuple(int(i) for i in where)}"
        got = float(np.atleast_1d(x)[tuple(where)])
        raise ParameterError(f"{label} ({info.doc}) must be {wanted}, got {got:g} {info.unit}{index}")
