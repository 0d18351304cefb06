"""The members of an ensemble: grids and zipped lists of parameters, addressed by dotted names (`samples`: drawn ones).

    grid({"damper.k": k, "damper.c": c})                     # every pair; dimensions damper.k and damper.c
    grid({"initial.x": x, "initial.v": v})                   # components of the initial state
    zipped({"damper.k": K, "damper.c": R * K}, axes={"damper.k": k, "ratio": r})  # K, R = meshgrid(k, r, indexing="ij")
    product(grid({"damper.k": k}), cloud(model, {"theta_b": 0.01}, 20))

`check_members` checks a set against a model, before anything is compiled.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import jax
import numpy as np

from jaxgait.elements import array_of, declared, within_arrays
from jaxgait.ensembles.addresses import DRIVE, INITIAL, member_of, parted, shape_of
from jaxgait.ensembles.columns import (
    Axes,
    aligned,
    check_apart,
    check_bounds,
    is_table,
    named,
    numbers,
    one_of,
    rows_of,
    table_columns,
    units_of,
    warn_of_values,
)
from jaxgait.model import Model
from jaxgait.parameters import ParameterError, check_value, parameters, with_parameters
from jaxgait.plausible import ImplausibleValue
from jaxgait.solve.checks import check_start_values
from jaxgait.states import state_variables
from jaxgait.support import machine, xr
from jaxgait.support.checks import by_name, shown
from jaxgait.support.notes import without_warnings

PERSON = "subject"
"""The dimension of members that walk with the motions of several people."""
MOTIONS = "motions"
"""Attribute of members that differ in their motion, and of their results: the records of the motions (see `walks`)."""
VALUES = "member_values"
"""Attribute of results: names, as JSON, of the coordinates that define their members."""
SAMPLED = "sampled"
"""Attribute of drawn members, and of their results: how they were drawn."""

_STARTS = ("start.", "start_rates.")
"""Beginnings of the names of parameters that only set the initial state."""
_MOVE = 0.1
"""Change, in its unit, by which a parameter of the start is tried."""
_RENAMED = "(a table's index by table.rename_axis('row'))"


@dataclass(frozen=True, eq=False, repr=False)
class Members:
    """The members of an ensemble: a box of shape `shape` with named dimensions, and the values that differ in it.

    Attributes:
        dims: names of the dimensions of the result.
        shape: members along each dimension.
        values: for each dotted name the values of all members, shape (size, *shape of the parameter), converted to
            float64; the last dimension of the box varies fastest.
        labels: coordinates of the result, each with its dimensions.
        units: units of values that are labelled with one; `in_own_units` converts them to those of the model.
        attrs: attributes of the result, which say where the members come from (`MOTIONS`, `SAMPLED`).

    Raises:
        ParameterError: for contradictory shapes, for no members, for values that are not real numbers, for an array
            that varies together with one of its elements, and for a label that differs from the values of its name.

    Examples:
        >>> from jaxgait import grid
        >>> members = grid({"mass": [60.0, 70.0, 80.0], "stiffness": [15.0, 20.0]})
        >>> print(members.size, members.values["stiffness"])
        6 [15. 20. 15. 20. 15. 20.]
    """

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    values: dict[str, np.ndarray]
    labels: dict[str, tuple[tuple[str, ...], np.ndarray]]
    units: dict[str, str] = field(default_factory=dict)
    attrs: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not len({*self.dims}) == len(self.dims) == len(self.shape) >= 1:
            what = f"one length for each of their dimensions {self.dims}, at least one, got {self.shape}"
            raise ParameterError(f"members need {what}")
        if not self.size:
            raise ParameterError(f"a set of the shape {self.shape} has no members: the ensemble would be empty")
        for name, x in self.values.items():
            if not isinstance(x, np.ndarray | jax.Array) or x.shape[:1] != (self.size,):
                got = f"an array of the shape {x.shape}" if isinstance(x, np.ndarray | jax.Array) else shown(x)
                raise ParameterError(
                    f"the values of {name!r} must be an array of NumPy or JAX with one entry per member ({self.size}), "
                    f"got {got}"
                )
        object.__setattr__(self, "values", {name: numbers(name, x) for name, x in self.values.items()})
        for name in self.values:  # an element may only replace that of an array which `constant` gives all members
            array = array_of(name)
            if array != name and array in self.values and self.labels.get(array, (None,))[0] != ():
                raise ParameterError(f"{array!r} is given as a whole and by its element {name!r}: give one of them")
        sizes = dict(zip(self.dims, self.shape, strict=True))
        for name, (dims, x) in self.labels.items():
            if np.shape(x)[: len(dims)] != tuple(sizes.get(d) for d in dims):
                raise ParameterError(f"the label {name!r} has the shape {np.shape(x)}, which is not that of {dims}")
            if name in self.values and not self._labelled(name, dims, np.asarray(x)):
                raise ParameterError(
                    f"the axis {name!r} does not label the values given for {name!r}: give it another name {_RENAMED}"
                )

    def _labelled(self, name: str, dims: tuple[str, ...], x: np.ndarray) -> bool:
        """Whether a label along some of the dimensions equals the values of its name (`check_members` rejects NaN)."""
        values, own = np.asarray(self.values[name]), x.shape[len(dims) :]
        order = sorted(range(len(dims)), key=lambda axis: self.dims.index(dims[axis]))
        spread = [n if d in dims else 1 for d, n in zip(self.dims, self.shape, strict=True)]
        label = x.transpose(*order, *range(len(dims), x.ndim)).reshape(*spread, *own)
        box = values.reshape(*self.shape, *values.shape[1:])
        return box.shape[len(self.dims) :] == own and bool(((box == label) | np.isnan(box)).all())

    @property
    def size(self) -> int:
        """Number of members."""
        return math.prod(self.shape)

    def __repr__(self) -> str:
        names = dict.fromkeys("the motion" if name.startswith(DRIVE) else name for name in self.values)
        return f"<Members {dict(zip(self.dims, self.shape, strict=True))} with values of {', '.join(names)}>"


def grid(axes: Axes) -> Members:
    """Every combination of the given values: one dimension per name.

    Args:
        axes: for each dotted name its values, shape (n,) or (n, *shape of the parameter).

    Raises:
        ParameterError: for empty, misshapen or non-numeric axes, for names given twice, and for columns of one table.

    Examples:
        >>> from jaxgait import grid
        >>> members = grid({"mass": [60.0, 70.0, 80.0], "stiffness": [15.0, 20.0]})
        >>> print(members.dims, members.shape, members.size)
        ('mass', 'stiffness') (3, 2) 6
    """
    given = named(axes)
    check_apart(given)
    columns = {name: numbers(name, values) for name, values in given.items()}
    return replace(_product([along(name, {name: x}) for name, x in columns.items()]), units=units_of(given))


@by_name()
def zipped(values: Any, *, axes: Axes | None = None) -> Members:
    """Values listed member by member, for parameters that vary together.

    Args:
        values: for each dotted name an array; all of the same shape, (members,) or the shape spanned by `axes`
            (dimensions labelled with the names of axes may have any order). A pandas table or a Dataset has a member in
            each row; its variables without dimensions are shared by all.
        axes: name (a parameter's or any other) and values of each dimension, in order. None: one dimension, with the
            name and the labels of the table's index (of the Dataset's coordinates); `member` if it has no name.

    Raises:
        ParameterError: for inconsistent shapes, for labels that contradict the values of their parameter or axis, and
            for columns that do not hold numbers or whose labels differ.

    Examples:
        >>> from jaxgait import zipped
        >>> members = zipped({"damper.k": [1e4, 2e4], "damper.c": [500.0, 1000.0]})
        >>> print(members.dims, members.size)
        ('member',) 2
    """
    named_axes = {} if axes is None else named(axes)
    marks = {name: numbers(name, x) for name, x in named_axes.items()}
    dims, shape = tuple(marks), tuple(len(x) for x in marks.values())
    table = is_table(values)
    listed, common = table_columns(values, dict(zip(dims, shape, strict=True))) if table else (values, {})
    given = {name: aligned(name, x, marks) for name, x in named(listed).items()}
    shared = {name: ((), x) for name, x in common.items()}
    columns = {name: numbers(name, x, table=table) for name, x in given.items()}
    if axes is None:
        lengths = {name: len(x) for name, x in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ParameterError(f"zipped parameters must be equally long, got {lengths}")
        rows = rows_of(given)
        found = along(rows.dim, columns, rows.labels)
        return replace(found, labels={**shared, **found.labels}, units=units_of(given))
    for name, x in columns.items():
        if x.shape[: len(shape)] != shape:
            raise ParameterError(f"{name!r} must have the shape {shape} of the axes {dims}, got {x.shape}")
    flat = {name: x.reshape(-1, *x.shape[len(shape) :]) for name, x in columns.items()}
    labels = shared | {name: ((name,), x) for name, x in marks.items()}
    labels |= {_label(name, x, dims): (dims, x) for name, x in columns.items() if name not in marks}
    return Members(dims, shape, flat, labels, units_of(named_axes) | units_of(given))


def product(*sets: Members | Mapping[str, Any] | Any) -> Members:
    """Every combination of the members of several sets.

    Args:
        sets: each as `ensemble` takes its members: a dict of arrays means their grid, a table its rows, a result its
            members.

    Raises:
        ParameterError: if two sets share a dimension or a parameter, or differ in a label, and for anything but sets.
        MemoryError: if their combinations would not fit in memory.

    Examples:
        >>> from jaxgait import product, sobol
        >>> members = product({"mass": [60.0, 70.0]}, sobol({"stiffness": (15.0, 40.0)}, 8))
        >>> print(members.dims, members.shape)
        ('mass', 'sample') (2, 8)
    """
    if not sets:
        raise ParameterError("product needs at least one set of members")
    return _product([as_members(one) for one in sets])


def _product(sets: Sequence[Members]) -> Members:
    dims = tuple(d for s in sets for d in s.dims)
    names = [n for s in sets for n in s.values]
    for kind, all_names in (("dimension", dims), ("parameter", names)):
        twice = sorted({n for n in all_names if list(all_names).count(n) > 1})
        if twice:
            raise ParameterError(f"{kind} given twice: {', '.join(map(repr, twice))}")
    shape = tuple(n for s in sets for n in s.shape)
    check_memory(shape, [math.prod(x.shape[1:]) for s in sets for x in s.values.values()])
    values = {}
    before = 1
    for s in sets:
        after = math.prod(shape) // (before * s.size)
        for name, x in s.values.items():
            repeated = np.repeat(x, after, axis=0)
            values[name] = np.tile(repeated, (before,) + (1,) * (x.ndim - 1))
        before *= s.size
    merged = lambda each: {name: x for own in each for name, x in own.items()}
    labels = merged(s.labels for s in sets)
    for name, own in (label for s in sets for label in s.labels.items()):
        if own is not (last := labels[name]) and not xr.Variable(*own).equals(xr.Variable(*last)):
            advice = "drop it from one of the sets, or give it another name"
            raise ParameterError(f"label given twice, with different values: {name!r}: {advice}")
    return Members(dims, shape, values, labels, merged(s.units for s in sets), merged(s.attrs for s in sets))


def constant(members: Members, values: Mapping[str, Any]) -> Members:
    """The members with further values, shared by all of them; each becomes a scalar label.

    Args:
        members: the members.
        values: for each dotted name a number or an array, in the unit of the parameter or labelled with another.

    Raises:
        ParameterError: for a name that varies, and for values that are not numbers.
    """
    columns = {name: numbers(name, np.asarray(x)[None])[0] for name, x in values.items()}
    twice = sorted({*columns} & {*members.values, *members.labels})
    if twice:
        raise ParameterError(f"{twice[0]!r} varies from member to member: it cannot be constant too")
    shared = {name: np.broadcast_to(x, (members.size, *np.shape(x))) for name, x in columns.items()}
    labels = {name: ((), np.asarray(x)) for name, x in columns.items()}
    units = members.units | units_of(values)
    return replace(members, values=members.values | shared, labels=members.labels | labels, units=units)


def as_members(members: Any) -> Members:
    """Members from: members; a result of `ensemble`, or a part of it; a table (its rows); a dict (its full grid).

    Raises:
        ParameterError: for anything else.
    """
    if isinstance(members, Members):
        return members
    if VALUES in getattr(members, "attrs", {}) and "status" in members:
        return _of_result(members)
    return zipped(members) if is_table(members) else grid(members)


def _of_result(result: xr.Dataset) -> Members:
    """The members of a result.

    Raises:
        ParameterError: for members that differ in their motion, are masked, or whose values are missing.
    """
    if MOTIONS in result.attrs:
        raise ParameterError("a result does not give the motions of its members: give those that `people` made")
    given = json.loads(result.attrs[VALUES])
    if lost := [name for name in given if name not in result.coords]:
        raise ParameterError(f"the result lacks {lost[0]!r}, a value of its members: select them without drop=True")
    if np.isnan(result["status"].values.astype(float)).any():
        raise ParameterError("members are masked, as by `where`: select some by isel or sel, or drop them when stacked")
    result = result if result["status"].dims else result.expand_dims("member")
    sizes = {str(dim): n for dim, n in result["status"].sizes.items()}
    result = listed(result)
    labels, values, units = {}, {}, {}
    for name, x in ((str(name), x) for name, x in result.coords.items()):
        own = tuple(dim for dim in sizes if dim in x.dims)
        if name not in given and (f"{name}_values" in given or (x.dims and not own)):  # numbers arrays, or results
            continue
        marks = x.transpose(*own, ...).to_numpy()
        labels[name] = own, marks.astype(object) if marks.dtype.kind in "UT" else marks
        if name in given:
            rest = marks.shape[len(own) :]
            box = marks.reshape(*(n if dim in own else 1 for dim, n in sizes.items()), *rest)
            value = name.removesuffix("_values") if rest else name
            values[value] = np.broadcast_to(box, (*sizes.values(), *rest)).reshape(-1, *rest)
            units |= {value: x.attrs["units"]} if "units" in x.attrs else {}
    return Members(tuple(sizes), tuple(sizes.values()), values, labels, units)


def listed(result: xr.Dataset) -> xr.Dataset:
    """A result with stacked members (`result.stack(member=...)`) numbered, and the levels of their index as labels."""
    return result.reset_index([dim for dim in result.dims if hasattr(result.indexes.get(dim), "levels")])


def check_members(model: Model, members: Members) -> None:
    """Checks that a model accepts the names, shapes and values of members.

    Raises:
        ParameterError: naming the fault, with the nearest valid names for an unknown one.

    Warns:
        jaxgait.plausible.ImplausibleValue: for values out of their plausible range, once per parameter.
    """
    check_names(model, members)
    _check_starts_apart(model, one_of(members.values, 0))
    check_bounds(model, members.values, members.dims, members.shape, members.labels)
    try:
        check_values(model, members.values)
    except (TypeError, ValueError) as error:
        if isinstance(error, ValueError) and "ambiguous" not in str(error):
            raise
        with without_warnings(ImplausibleValue):  # given above
            for i in range(members.size):  # the model's rules were written for single values
                check_values(model, one_of(members.values, i))


def check_names(model: Model, members: Members) -> None:
    """Checks that a model has the names that members vary, with values of these shapes.

    Raises:
        ParameterError: as `check_members`.
    """
    known = declared(parameters(model), members.labels)
    for name, values in members.values.items():
        wanted = shape_of(model, name)
        if values.shape[1:] != wanted:
            one = f"an array of shape {wanted}" if wanted else "one number"
            raise ParameterError(f"each member needs {one} for {name!r}, got the shape {values.shape[1:]}")
    labels = {_label(name, x, members.dims) for name, x in members.values.items()}
    for name in sorted({*members.labels} - {*members.values, *labels}):
        if name in known or name.startswith((INITIAL, DRIVE)):
            what = f"the members have the label {name!r}, but no values of it"
            if members.labels[name][0]:
                advice = (
                    f"give them (those of a table's index by table.reset_index()), or the label another name {_RENAMED}"
                )
            else:  # a coordinate without dimensions, as after table.sel(...)
                advice = f"make it a variable, table.reset_coords({name!r}), or drop it, table.drop_vars({name!r})"
            raise ParameterError(f"{what}: {advice}")


def _check_starts_apart(model: Model, given: Mapping[str, Any]) -> None:
    """Checks that no parameter of the start ("start.y") sets only what given components of the initial state replace.

    Args:
        model: the mechanism.
        given: values of one member by name, in their units.

    Raises:
        ParameterError: for a parameter that would have no effect.
    """
    own, start = parted(model, given)
    replacing = {INITIAL + name: x for name, x in start.items()}
    for name in own if replacing else ():
        if not name.startswith(_STARTS):
            continue
        moved = own | {name: np.asarray(own[name]) + _MOVE}
        if _same_start(model, own | replacing, moved | replacing) and not _same_start(model, own, moved):
            names = ", ".join(map(repr, replacing))
            raise ParameterError(f"{name!r} has no effect, because {names} replaces what it sets: give one of them")


def _same_start(model: Model, *members: Mapping[str, Any]) -> bool:
    first, second = (state_variables(member_of(model, one)[1]) for one in members)
    return all(np.array_equal(x, second[name]) for name, x in first.items())


def check_values(model: Model, given: Mapping[str, Any]) -> None:
    """Checks that a model accepts values by name, in their units, of one member or of several with a leading axis.

    Raises:
        ParameterError: naming the fault.

    Warns:
        jaxgait.plausible.ImplausibleValue: for values out of their plausible range, once per parameter.
    """
    known = declared(parameters(model), given)
    varied = {}
    for name, values in given.items():
        if name in known:
            check_value(name, values, known[name])
            varied[name] = values
        elif not np.isfinite(values).all():
            raise ParameterError(f"{name!r} must be finite, got {np.extract(~np.isfinite(values), values)[0]}")
    start = parted(model, given)[1]
    own = state_variables(model.initial_state()) if any(array_of(n) != n for n in start) else {}
    warn_of_values(model, varied)
    check_start_values(model, within_arrays(start, own))
    with without_warnings(ImplausibleValue):  # given above, or when the model itself was checked
        changed = with_parameters(model, varied)
        changed.validate()
        changed.validate_start(start)


def check_memory(shape: tuple[int, ...], entries: list[int], copies: int = 1) -> None:
    """Checks that a box of members fits in memory.

    Args:
        shape: members along each dimension.
        entries: how many numbers each value of a member has.
        copies: arrays of all values that exist at the same time.

    Raises:
        MemoryError: otherwise.
    """
    size = math.prod(shape)
    box = f" ({' x '.join(map(str, shape))})" if len(shape) > 1 else ""
    need = 8 * size * (copies * sum(entries) + max(entries) + 1)  # with a temporary copy of one, and their order
    machine.fits_in_memory(f"{size} members{box}", need, "ask for fewer, or split them into several scans")


def _label(name: str, values: np.ndarray, dims: tuple[str, ...]) -> str:
    """The name of a label: only a one-dimensional coordinate may have the name of its dimension."""
    return f"{name}_values" if values.ndim > 1 and name in dims else name


def along(dim: str, values: dict[str, np.ndarray], marks: Mapping[str, np.ndarray] = MappingProxyType({})) -> Members:
    """Members along one dimension, labelled by their values and by `marks`."""
    own = {name: ((dim,), x) for name, x in marks.items()}
    labels = own | {_label(name, x, (dim,)): ((dim,), x) for name, x in values.items() if name not in own}
    return Members((dim,), (len(next(iter(values.values()))),), values, labels)
