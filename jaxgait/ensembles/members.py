"""The members of an ensemble: grids, zipped lists, samples and clouds of parameters, addressed by dotted names.

    grid({"damper.k": k, "damper.c": c})                     # every pair; dimensions damper.k and damper.c
    grid({"initial.x": x, "initial.v": v})                   # components of the initial state
    zipped({"damper.k": K, "damper.c": R * K}, axes={"damper.k": k, "ratio": r})  # K, R = meshgrid(k, r, indexing="ij")
    product(grid({"damper.k": k}), cloud(model, {"theta_b": 0.01}, 20))

`check_members` checks a set against a model, before anything is compiled.
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import jax
import numpy as np

from jaxgait import checks, memory
from jaxgait.checks import by_name, shown
from jaxgait.ensembles.columns import Axes, check_bounds, named, numbers, one_of, rows_of, units_of, warn_of_values
from jaxgait.ensembles.spacing import Log, Spacing, check_positive, sobol_points
from jaxgait.fields import array_of, declared, no_element, value_named, within_arrays
from jaxgait.model import Model, as_model
from jaxgait.parameters import ParameterError, check_value, parameter_info, parameters, with_parameters
from jaxgait.plausible import ImplausibleValue
from jaxgait.precision import cast, float64_default
from jaxgait.solve.checks import check_start_values, component_in_unit
from jaxgait.states import state_variables

INITIAL = "initial."
"""Prefix that addresses a component of the initial state instead of a parameter."""

DRIVE = "drive."
"""Prefix that addresses a number of the motion that drives a model, such as "drive.thigh.a" (see `walks`)."""
MOTION = "motion"
"""Label of members that differ in their motion: the record of each (`jaxgait.contents`), so that results hold them."""

_RENAMED = "(a table's index by table.rename_axis('row'))"


@dataclass(frozen=True, eq=False, repr=False)
class Members:
    """The members of an ensemble: a box of shape `shape` with named dimensions, and the values that differ in it.

    Attributes:
        dims: names of the dimensions of the result.
        shape: members along each dimension.
        values: for each dotted name the values of all members, shape (size, *shape of the parameter); the last
            dimension of the box varies fastest.
        labels: coordinates of the result, each with its dimensions.
        units: units of values that are labelled with one; `in_own_units` converts them to those of the model.

    Raises:
        ParameterError: for shapes that contradict each other, and for a label that differs from the values of its name.

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

    def __post_init__(self) -> None:
        if len(self.dims) != len(self.shape) or len({*self.dims}) != len(self.dims):
            raise ParameterError(f"members need one length for each of their dimensions {self.dims}, got {self.shape}")
        for name, x in self.values.items():
            if not isinstance(x, np.ndarray | jax.Array) or x.shape[:1] != (self.size,):
                got = f"an array of the shape {x.shape}" if isinstance(x, np.ndarray | jax.Array) else shown(x)
                raise ParameterError(
                    f"the values of {name!r} must be an array of NumPy or JAX with one entry per member ({self.size}), "
                    f"got {got}"
                )
        sizes = dict(zip(self.dims, self.shape, strict=True))
        for name, (dims, x) in self.labels.items():
            if np.shape(x)[: len(dims)] != tuple(sizes.get(d) for d in dims):
                raise ParameterError(f"the label {name!r} has the shape {np.shape(x)}, which is not that of {dims}")
            if name in self.values and not self._labelled(name, dims, np.asarray(x)):
                raise ParameterError(
                    f"the axis {name!r} does not label the values given for {name!r}: give it another name {_RENAMED}"
                )

    def _labelled(self, name: str, dims: tuple[str, ...], x: np.ndarray) -> bool:
        """Whether a label along some of the dimensions has the values of its name (`check_members` rejects NaN)."""
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
        return f"<Members {dict(zip(self.dims, self.shape, strict=True))} with values of {', '.join(self.values)}>"


def grid(axes: Axes) -> Members:
    """Every combination of the given values: one dimension per name.

    Args:
        axes: for each dotted name its values, shape (n,) or (n, *shape of the parameter).

    Raises:
        ParameterError: for empty, misshapen or non-numeric axes and for names given twice.

    Examples:
        >>> from jaxgait import grid
        >>> members = grid({"mass": [60.0, 70.0, 80.0], "stiffness": [15.0, 20.0]})
        >>> print(members.dims, members.shape, members.size)
        ('mass', 'stiffness') (3, 2) 6
    """
    given = named(axes)
    columns = {name: numbers(name, values) for name, values in given.items()}
    return replace(product(*(_along(name, {name: x}) for name, x in columns.items())), units=units_of(given))


@by_name()
def zipped(values: Any, *, axes: Axes | None = None) -> Members:
    """Values listed member by member, for parameters that vary together.

    Args:
        values: for each dotted name an array; all of the same shape, (members,) or the shape spanned by `axes`. A table
            of pandas, or a Dataset, is a member for each row.
        axes: name (a parameter's or any other) and values of each dimension, in order. None: one dimension, which has
            the name and the labels of the table's index (of the Dataset's coordinates), and without a name is `member`.

    Raises:
        ParameterError: for inconsistent shapes, for a label that contradicts the values of its parameter, and for
            columns that do not hold numbers or whose labels differ.

    Examples:
        >>> from jaxgait import zipped
        >>> members = zipped({"damper.k": [1e4, 2e4], "damper.c": [500.0, 1000.0]})
        >>> print(members.dims, members.size)
        ('member',) 2
    """
    table = hasattr(values, "columns") or hasattr(values, "data_vars")  # of pandas, whose import takes long, or xarray
    given = named(dict(values) if table else values)
    columns = {name: numbers(name, x, table=table) for name, x in given.items()}
    if axes is None:
        lengths = {name: len(x) for name, x in columns.items()}
        if len(set(lengths.values())) > 1:
            raise ParameterError(f"zipped parameters must be equally long, got {lengths}")
        rows = rows_of(given)
        return replace(_along(rows.dim, columns, rows.labels), units=units_of(given))
    named_axes = named(axes)
    marks = {name: numbers(name, x) for name, x in named_axes.items()}
    dims, shape = tuple(marks), tuple(len(x) for x in marks.values())
    for name, x in columns.items():
        if x.shape[: len(shape)] != shape:
            raise ParameterError(f"{name!r} must have the shape {shape} of the axes {dims}, got {x.shape}")
    flat = {name: x.reshape(-1, *x.shape[len(shape) :]) for name, x in columns.items()}
    labels = {name: ((name,), x) for name, x in marks.items()}
    labels |= {_label(name, x, dims): (dims, x) for name, x in columns.items() if name not in marks}
    return Members(dims, shape, flat, labels, units_of(named_axes) | units_of(given))


@by_name()
def latin_hypercube(over: Axes, count: int, *, seed: int = 0) -> Members:
    """Samples of a box of parameters, spread evenly along every axis; dimension `sample`.

    Args:
        over: for each dotted name its (lowest, highest) value, or `jaxgait.Log` of them to spread the logarithm.
        count: how many.
        seed: of the random numbers.

    Examples:
        >>> from jaxgait import latin_hypercube
        >>> members = latin_hypercube({"mass": (40.0, 100.0)}, 4)
        >>> sorted((members.values["mass"] // 15).astype(int).tolist())  # one in each quarter of the range
        [2, 3, 5, 6]
    """
    from scipy.stats import qmc

    given = named(over)
    box = _box(given, count, seed)
    return _sampled(given, box, qmc.LatinHypercube(len(box), rng=seed).random(count))


@by_name()
def sobol(over: Axes, count: int, *, seed: int = 0) -> Members:
    """Scrambled Sobol points in a box of parameters; dimension `sample`.

    Args:
        over: for each dotted name its (lowest, highest) value, or `jaxgait.Log` of them to spread the logarithm.
        count: how many points; best a power of two.
        seed: of the random numbers.

    Examples:
        >>> from jaxgait import sobol
        >>> members = sobol({"mass": (40.0, 100.0), "stiffness": (15.0, 40.0)}, 256)
        >>> print(members.dims, members.shape, round(float(members.values["mass"].mean()), 1))
        ('sample',) (256,) 70.0
    """
    given = named(over)
    box = _box(given, count, seed)
    return _sampled(given, box, sobol_points(len(box), count, seed))


@by_name()
@float64_default
def cloud(model: Model, spread: Axes, count: int, *, seed: int = 0) -> Members:
    """Initial states scattered normally about the model's own; dimension `start`.

    Args:
        model: its initial state is the centre.
        spread: standard deviations of components of the state, by name ("theta_b" or "initial.theta_b").
        count: how many.
        seed: of the random numbers.

    Raises:
        ParameterError: for unknown components, and for impossible spreads, counts and seeds.
        TypeError: for anything but a model.
        MemoryError: for more members than fit in memory.

    Examples:
        >>> from jaxgait import Bungee, cloud
        >>> members = cloud(Bungee(), {"v": 0.5}, 8)
        >>> print(members.dims, members.shape, list(members.values))
        ('start',) (8,) ['initial.v']
    """
    as_model(model)
    spreads = named(spread)
    _count("count", count)
    rng = np.random.default_rng(_count("seed", seed, 0))
    values = {}
    for name, sigma in spreads.items():
        component = name.removeprefix(INITIAL)
        middle = np.asarray(_initial(model, component), dtype=float)
        width = _spread(name, component_in_unit(model, component, sigma))
        if INITIAL + component in values:
            raise ParameterError(f"the spread of {component!r} is given twice")
        _check_memory((count,), [middle.size] * len(spreads), copies=2)
        values[INITIAL + component] = middle + width * rng.standard_normal((count, *middle.shape))
    return _along("start", values)


def product(*sets: Members) -> Members:
    """Every combination of the members of several sets.

    Raises:
        ParameterError: if two sets share a dimension or a parameter.
        MemoryError: if their combinations would not fit in memory.

    Examples:
        >>> from jaxgait import grid, product, sobol
        >>> members = product(grid({"mass": [60.0, 70.0]}), sobol({"stiffness": (15.0, 40.0)}, 8))
        >>> print(members.dims, members.shape)
        ('mass', 'sample') (2, 8)
    """
    for s in sets:
        if not isinstance(s, Members):
            raise ParameterError(f"product takes sets of members such as grid({{...}}), got {shown(s)}")
    if not sets:
        raise ParameterError("product needs at least one set of members")
    dims = tuple(d for s in sets for d in s.dims)
    names = [n for s in sets for n in s.values]
    for kind, all_names in (("dimension", dims), ("parameter", names)):
        twice = sorted({n for n in all_names if list(all_names).count(n) > 1})
        if twice:
            raise ParameterError(f"{kind} given twice: {', '.join(map(repr, twice))}")
    shape = tuple(n for s in sets for n in s.shape)
    _check_memory(shape, [math.prod(x.shape[1:]) for s in sets for x in s.values.values()])
    values = {}
    before = 1
    for s in sets:
        after = math.prod(shape) // (before * s.size)
        for name, x in s.values.items():
            repeated = np.repeat(x, after, axis=0)
            values[name] = np.tile(repeated, (before,) + (1,) * (x.ndim - 1))
        before *= s.size
    labels = {n: label for s in sets for n, label in s.labels.items()}
    return Members(dims, shape, values, labels, {n: unit for s in sets for n, unit in s.units.items()})


def constant(members: Members, values: Mapping[str, Any]) -> Members:
    """The members with further values that all share; each becomes a scalar label.

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
    spread = {name: np.broadcast_to(x, (members.size, *np.shape(x))) for name, x in columns.items()}
    labels = {name: ((), np.asarray(x)) for name, x in columns.items()}
    units = members.units | units_of(values)
    return Members(members.dims, members.shape, members.values | spread, members.labels | labels, units)


def as_members(members: Members | Mapping[str, Any]) -> Members:
    """Members unchanged; a dict of arrays as their full grid.

    Raises:
        ParameterError: for anything else.
    """
    return members if isinstance(members, Members) else grid(members)


def check_members(model: Model, members: Members) -> None:
    """Checks that a model accepts the names, shapes and values of members.

    Raises:
        ParameterError: naming the fault, with the nearest valid names for an unknown one.

    Warns:
        jaxgait.plausible.ImplausibleValue: for values out of their plausible range, once per parameter.
    """
    check_names(model, members)
    check_bounds(model, members.values, members.dims, members.shape, members.labels)
    try:
        check_values(model, members.values)
    except (TypeError, ValueError) as error:
        if isinstance(error, ValueError) and "ambiguous" not in str(error):
            raise
        with warnings.catch_warnings():  # the model's rules were written for single values
            warnings.simplefilter("ignore", ImplausibleValue)  # warned of above
            for i in range(members.size):
                check_values(model, one_of(members.values, i))


def check_names(model: Model, members: Members) -> None:
    """Checks that a model has the names of members, with values of these shapes.

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
            advice = "give them (those of a table's index by table.reset_index()), or the label another name"
            raise ParameterError(f"{what}: {advice} {_RENAMED}")


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
            warn_of_values(model, {name: values})
            varied[name] = values
        elif not np.isfinite(values).all():
            raise ParameterError(f"{name!r} must be finite, got {np.extract(~np.isfinite(values), values)[0]}")
    start = {n.removeprefix(INITIAL): x for n, x in given.items() if n.startswith(INITIAL)}
    own = state_variables(model.initial_state()) if any(array_of(n) != n for n in start) else {}
    check_start_values(model, within_arrays(start, own))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImplausibleValue)  # warned of above, or when the model itself was checked
        with_parameters(model, varied).validate()


def drive_number(model: Model, name: str) -> Any:
    """The number or array at a name such as "drive.thigh.a" in a driven model's motion, in its own unit.

    Raises:
        ParameterError: if the model is not driven, or its motion has no such number.
    """
    try:
        found = value_at(model, array_of(name))
    except (AttributeError, IndexError, ValueError, TypeError):
        found = None
    if not isinstance(found, float | int | np.ndarray | np.floating | jax.Array):
        raise ParameterError(
            f"the motion of {type(model).__name__} has no number {name!r}: see jaxgait.ensembles.walks"
        )
    if array_of(name) != name:
        raise ParameterError(f"{name!r} is an element of an array of the motion: give all of {array_of(name)!r}")
    return found


def value_at(model: Any, name: str) -> Any:
    """The value at a dotted name in a tree of modules and tuples, of any type and in its own unit."""
    step = lambda owner, key: owner[int(key)] if isinstance(owner, tuple) and key.isdecimal() else getattr(owner, key)
    return functools.reduce(step, name.split("."), model)


def shape_of(model: Model, name: str) -> tuple[int, ...]:
    """Shape of the value at a name: a parameter, a component of the initial state, or a number of the motion.

    Raises:
        ParameterError: for an unknown name, with the nearest valid ones, and for parameters that are not real numbers.
    """
    if not declared(parameters(model), [name]):
        if name.startswith(DRIVE):
            return np.shape(drive_number(model, name))
        if name.startswith(INITIAL):
            return np.shape(_initial(model, name.removeprefix(INITIAL)))
    value = parameter_info(model, name).value
    if not _is_real(value):
        value = parameter_info(cast(model), name).value  # integers of real parameters, such as Bungee(mass=80)
    if not _is_real(value):
        raise ParameterError(f"{name!r} is not a real number ({value!r}) and cannot vary within an ensemble")
    return np.shape(value)


def _is_real(value: Any) -> bool:
    return all(isinstance(leaf, float | np.ndarray | np.floating | jax.Array) for leaf in jax.tree.leaves(value))


def _initial(model: Model, component: str) -> Any:
    components = state_variables(model.initial_state())
    found = value_named(components, component)
    if found is None:
        if wrong := no_element("", INITIAL + component, {INITIAL + n: x for n, x in components.items()}):
            raise ParameterError(wrong)
        hint = checks.nearest(INITIAL + component, [INITIAL + name for name in sorted(components)])
        raise ParameterError(f"the state of {type(model).__name__} has no component {component!r}: {hint}")
    return found


def _count(name: str, value: Any, least: int = 1) -> int:
    try:
        return checks.count(name, value, least=least)
    except ValueError as error:
        raise ParameterError(str(error)) from error


def _spread(name: str, sigma: Any) -> float:
    number = numbers(name, [sigma])
    if number.shape != (1,) or not (np.isfinite(number[0]) and number[0] >= 0):
        raise ParameterError(f"the spread of {name!r} must be a finite number, not negative, got {shown(sigma)}")
    return float(number[0])


def _check_memory(shape: tuple[int, ...], entries: list[int], copies: int = 1) -> None:
    size = math.prod(shape)
    box = f" ({' x '.join(map(str, shape))})" if len(shape) > 1 else ""
    need = 8 * size * (copies * sum(entries) + max(entries) + 1)  # with a temporary copy of one, and their order
    memory.fits_in_memory(f"{size} members{box}", need, "ask for fewer, or split them into several scans")


def _label(name: str, values: np.ndarray, dims: tuple[str, ...]) -> str:
    """The name of a coordinate: only a one-dimensional one may have the name of its dimension."""
    return f"{name}_values" if values.ndim > 1 and name in dims else name


def _along(dim: str, values: dict[str, np.ndarray], marks: Mapping[str, np.ndarray] = MappingProxyType({})) -> Members:
    """Members along one dimension, labelled by their values and by `marks`."""
    own = {name: ((dim,), x) for name, x in marks.items()}
    labels = own | {_label(name, x, (dim,)): ((dim,), x) for name, x in values.items() if name not in own}
    return Members((dim,), (len(next(iter(values.values()))),), values, labels)


def _box(given: Mapping[str, Any], count: int, seed: int) -> dict[str, tuple[float, float]]:
    _count("count", count)
    _count("seed", seed, 0)
    box = {}
    for name, pair in given.items():
        bounds = numbers(name, [*pair] if isinstance(pair, Log) else pair if np.ndim(pair) else [pair])
        if bounds.shape != (2,) or not np.isfinite(bounds).all() or not bounds[0] < bounds[1]:
            raise ParameterError(f"the range of {name!r} must be (lowest, highest), got {shown(pair)}")
        low, high = bounds.tolist()
        box[name] = Log(low, high) if isinstance(pair, Log) else (low, high)
        check_positive(name, box[name])
    _check_memory((count,), [1] * len(box), copies=3)  # points in the unit box, scaled, and their labels
    return box


def _sampled(given: Mapping[str, Any], box: dict[str, tuple[float, float]], unit: np.ndarray) -> Members:
    values = dict(zip(box, Spacing.of([*box.values()])(unit).T, strict=True))
    return replace(_along("sample", values), units=units_of(given))
