"""Columns of values that users give for members: their numbers, and the labels of a table's rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from jaxgait.elements import declared
from jaxgait.ensembles.spacing import Log, is_distribution
from jaxgait.model import Model
from jaxgait.parameters import ParameterError, check_value, parameters, with_parameters, within_bounds
from jaxgait.plausible import warn_implausible, warn_of_parts
from jaxgait.support import checks, units
from jaxgait.support.checks import shown

MEMBER = "member"
"""Dimension of members that are listed one by one and have no other name."""


Axes: TypeAlias = Mapping[str, Any] | Iterable[tuple[str, Any]]
"""Values by dotted name."""


class Rows(NamedTuple):
    """The dimension of members listed one by one, and its labels, each of shape (members,)."""

    dim: str
    labels: dict[str, np.ndarray]


def is_table(values: Any) -> bool:
    """Whether these are a table of pandas, or a Dataset, with a member in each row.

    Examples:
        >>> import pandas as pd
        >>> from jaxgait.ensembles.columns import is_table
        >>> is_table(pd.DataFrame({"mass": [60.0, 75.0]})), is_table({"mass": [60.0, 75.0]})
        (True, False)
    """
    return hasattr(values, "columns") or hasattr(values, "data_vars")  # of pandas, whose import takes long, or xarray


def table_columns(table: Any, sizes: Mapping[str, int]) -> tuple[Axes, dict[str, np.ndarray]]:
    """The columns of a table of pandas or a Dataset by name, and the labels that all rows of a Dataset share.

    A variable of a Dataset without dimensions has the same value in all rows.

    Args:
        table: with values in any units.
        sizes: members along each dimension of their box; if empty, there is one dimension, the table's.

    Raises:
        ParameterError: for a Dataset whose values are all coordinates.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.ensembles.columns import table_columns
        >>> table = xr.Dataset({"mass": ("run", [60.0, 75.0]), "stiffness": 20.0}, coords={"day": "Monday"})
        >>> columns, labels = table_columns(table, {})
        >>> print(columns["stiffness"].values, labels)
        [20. 20.] {'day': array('Monday', dtype=object)}
    """
    if not hasattr(table, "data_vars"):
        return [*table.items()], {}  # a dict would lose one of two columns with the same name
    if table.coords and not table.data_vars:
        names = ", ".join(map(str, table.coords))
        first = next(iter(table.coords))
        raise ParameterError(
            f"the Dataset has coordinates ({names}) and no variables, which are the values of members: give a dict, "
            f"such as {{{first!r}: data[{first!r}]}}"
        )
    long = next((x for x in table.data_vars.values() if x.dims), None)
    rows = {}
    if not sizes and long is not None:
        sizes = {long.dims[0]: len(long)}
        rows = {name: x for name, x in long.coords.items() if x.dims == long.dims[:1]}
    repeated = lambda x: x.reset_coords(drop=True).expand_dims(sizes).assign_coords(rows)
    columns = {name: x if x.dims else repeated(x) for name, x in table.data_vars.items()}
    shared = {str(name): np.asarray(x.values) for name, x in table.coords.items() if not x.dims}
    return columns, {name: x.astype(object) if x.dtype.kind == "U" else x for name, x in shared.items()}


def named(axes: Axes) -> dict[str, Any]:
    """Values by name, from a dict or pairs.

    Raises:
        ParameterError: for anything else, for no names, for names that are not text or given twice, and for names that
            files cannot hold.

    Examples:
        >>> from jaxgait.ensembles.columns import named
        >>> named([("mass", [60, 75])])
        {'mass': [60, 75]}
    """
    if isinstance(axes, list | tuple) and any(isinstance(entry, Mapping) for entry in axes):
        raise ParameterError("dicts of single members are rows of a table: give pandas.DataFrame(rows)")
    try:
        pairs: list[Any] = [(name, values) for name, values in (axes.items() if isinstance(axes, Mapping) else axes)]
    except (TypeError, ValueError) as error:
        what = "give a dict of values by parameter name, or zipped(table) for the rows of a table"
        got = f"a {type(axes).__name__}" if is_table(axes) else shown(axes)
        raise ParameterError(f"{what}, got {got}") from error
    names = [name for name, _ in pairs]
    invalid = [name for name in names if not (isinstance(name, str) and name)]
    if invalid:
        several = "; parameters that vary together, correlated ones too, are columns of a table: see zipped"
        what = f"parameters are addressed by name, such as 'damper.k', got {shown(invalid[0])}"
        raise ParameterError(what + several * isinstance(invalid[0], tuple))
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise ParameterError(f"parameter given twice: {', '.join(map(repr, twice))}")
    if wrong := checks.not_in_files(names):
        raise ParameterError(wrong)
    if not pairs:
        raise ParameterError("an ensemble needs at least one parameter that varies")
    return dict(pairs)


def numbers(name: str, values: Any, *, table: bool = False) -> np.ndarray:
    """Values of a parameter, in its unit and of any shape but (), as floats; missing ones are NaN.

    Args:
        name: dotted name of the parameter.
        values: a list, an array, or a column of pandas or xarray.
        table: whether they are a column of a table, for the message.

    Raises:
        ParameterError: for anything but real numbers, for a single number, and for no values.

    Examples:
        >>> from jaxgait.ensembles.columns import numbers
        >>> numbers("mass", [60, 75])
        array([60., 75.])
    """
    if isinstance(values, Log) or is_distribution(values):
        advice = "give its values, such as numpy.geomspace(low, high, count), or " * isinstance(values, Log)
        what = f"the range {values!r}" if isinstance(values, Log) else f"a distribution ({type(values).__name__})"
        raise ParameterError(f"{name!r} needs a list of values, got {what}: {advice}sample it (sobol, latin_hypercube)")
    try:
        x = checks.as_array(values)
    except ValueError as error:
        raise ParameterError(f"the values of {name!r} must form an array: {error}") from error
    if x.dtype.kind not in "fiu":
        raise ParameterError(_column_message(name, values, x) if table else _not_numbers(name, values, x))
    if x.ndim == 0:
        raise ParameterError(f"{name!r} needs a list of values, got the single number {values!r}")
    if x.size == 0:
        raise ParameterError(f"{name!r} has no values: the ensemble would be empty")
    return x.astype(np.float64)


def aligned(name: str, values: Any, axes: Mapping[str, ArrayLike]) -> Any:
    """Values of a parameter, in any unit, with labelled dimensions in the order of the axes of the same names.

    Args:
        name: dotted name of the parameter.
        values: of any kind; those without labelled dimensions are returned as they are.
        axes: names and values of the dimensions of members.

    Raises:
        ParameterError: for labels that differ from the values of the axis of the same name.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.ensembles.columns import aligned
        >>> given = xr.DataArray([[60.0, 65.0], [70.0, 75.0]], {"age": [30, 40]}, ["age", "day"])
        >>> aligned("mass", given, {"day": [1, 2], "age": [30, 40]}).values.tolist()
        [[60.0, 70.0], [65.0, 75.0]]
    """
    if hasattr(values, "iloc"):  # of pandas
        labels = {values.index.name: values.index}
    elif hasattr(values, "coords"):
        values = values.transpose(*(dim for dim in axes if dim in values.dims), ...)
        labels = {dim: values[dim].values for dim in values.dims if dim in values.coords}
    else:
        return values
    for dim, own in labels.items():
        if dim in axes and not np.array_equal(own, axes[dim]):
            advice = "give it the values of the axis in their order, or the axis another name"
            raise ParameterError(f"the values of {name!r} are labelled otherwise along {dim!r} than the axis: {advice}")
    return values


def check_apart(columns: Mapping[str, Any]) -> None:
    """Checks that no two axes of a grid are columns of one table, whose values belong together row by row.

    Raises:
        ParameterError: for two axes of the same length whose xarray dimension or pandas index has the same name.

    Examples:
        >>> import pandas as pd
        >>> from jaxgait.ensembles.columns import check_apart
        >>> table = pd.DataFrame({"mass": [60, 75], "stiffness": [15, 20]}, index=pd.Index(["anna", "ben"], name="who"))
        >>> check_apart(dict(table))
        Traceback (most recent call last):
            ...
        jaxgait.parameters.ParameterError: 'mass' and 'stiffness' have the same rows, 'who': give zipped(...) of ...
    """
    first: dict[Any, str] = {}
    for name, x in columns.items():
        dim = x.index.name if hasattr(x, "iloc") else next(iter(getattr(x, "dims", ())), None)
        if dim is None or dim == "dim_0":  # without a name, or with xarray's default
            continue
        if (other := first.setdefault((dim, len(x)), name)) != name:
            how = "give zipped(...) of them, or arrays without labels for their grid"
            raise ParameterError(f"{other!r} and {name!r} have the same rows, {dim!r}: {how}")


def units_of(columns: Mapping[str, Any]) -> dict[str, str]:
    """The units, by name, of the values that are labelled with one.

    Raises:
        ParameterError: for values in different units.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.ensembles.columns import units_of
        >>> units_of({"mass": [60, 75], "slope": xr.DataArray([0.2, 0.4], attrs={"units": "deg"})})
        {'slope': 'deg'}
    """
    try:
        found = {name: units.unit_of(values, name) for name, values in columns.items()}
    except ValueError as error:
        raise ParameterError(str(error)) from error
    return {name: unit for name, unit in found.items() if unit is not None}


def _not_numbers(name: str, values: Any, x: np.ndarray) -> str:
    return f"the values of {name!r} must be real numbers, got {shown(values)}{checks.not_numbers(x)}"


def _column_message(name: str, values: Any, x: np.ndarray) -> str:
    """The message for a column of a table that does not hold numbers."""
    odd = next((entry for entry in x.flat if not checks.is_number(entry)), None)
    what = f"text, such as {odd!r}" if isinstance(odd, str) else f"values of the type {type(odd).__name__}"
    advice = f"drop it{f', or make it the index by table.set_index({name!r})' if isinstance(odd, str) else ''}"
    advice += "; to vary a choice or a part, run one ensemble per model (with_parts)"
    if isinstance(odd, str) and _is_numeral(odd):
        advice = f"make them numbers by pandas.to_numeric(table[{name!r}])"
    elif isinstance(odd, str) and _is_numeral(odd.replace(",", ".")):
        advice = 'a comma is no decimal point: read the file by pandas.read_csv(..., decimal=",")'
    kind = getattr(values, "dtype", x.dtype)
    return f"the column {name!r} (dtype {kind}) has {what}, and members need numbers: {advice}"


def _is_numeral(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def rows_of(columns: Mapping[str, Any]) -> Rows:
    """The labels that columns share: the index of pandas, or the coordinates of xarray along the first dimension.

    Args:
        columns: values by name, (members, ...); those without labels take those of the others.

    Raises:
        ParameterError: for columns whose labels differ, and for labels that files cannot hold.

    Examples:
        >>> import pandas as pd
        >>> from jaxgait.ensembles.columns import rows_of
        >>> table = pd.DataFrame({"mass": [60.0, 75.0]}, index=pd.Index(["anna", "ben"], name="subject"))
        >>> print(rows_of(dict(table)))
        Rows(dim='subject', labels={'subject': array(['anna', 'ben'], dtype=object)})
        >>> rows_of({"mass": [60.0, 75.0]}).dim
        'member'
    """
    labelled = {name: rows for name, x in columns.items() if (rows := _rows(name, x)) is not None}
    first = next(iter(labelled), None)
    if first is None:
        return Rows(MEMBER, {})
    for name, rows in labelled.items():
        if not _alike(rows, labelled[first]):
            advice = "align them, such as by pandas.concat([...], axis=1), or give arrays without labels"
            raise ParameterError(f"the rows of {first!r} and {name!r} have different labels: {advice}")
    return labelled[first]


def _rows(name: str, column: Any) -> Rows | None:
    """The dimension and the labels of one column; None for a column without labels."""
    if hasattr(column, "iloc"):  # of pandas, whose import takes long
        index = column.index
        if index.nlevels > 1:
            raise ParameterError(_levels([str(level) for level in index.names]))
        dim = MEMBER if index.name is None else index.name
        _check_name(dim)
        labels = _labels(dim, index)
        counted = index.name is None and labels.dtype.kind in "iu" and np.array_equal(labels, np.arange(labels.size))
        return Rows(dim, {} if counted else {dim: labels})
    if hasattr(column, "coords") and column.ndim:
        dim = column.dims[0]
        _check_name(dim)
        if getattr(column.indexes.get(dim), "nlevels", 1) > 1:
            raise ParameterError(_levels([str(level) for level in column.indexes[dim].names]))
        own = {n: x for n, x in column.coords.items() if x.dims == (dim,)}
        return Rows(dim, {str(n): _labels(n, x) for n, x in own.items()})
    return None


def _check_name(dim: Any) -> None:
    if not isinstance(dim, str):
        raise ParameterError(f"the index of a table must be named by text, got {dim!r}")
    if wrong := checks.not_in_files([dim]):
        raise ParameterError(f"the index of a table: {wrong}")


def _levels(names: list[str]) -> str:
    return (
        f"the rows have an index of several levels ({', '.join(names)}), which files cannot hold: make one label of "
        "them, as in table.set_axis([' '.join(map(str, row)) for row in table.index]), or number the rows by "
        "table.reset_index(drop=True)"
    )


def _labels(name: Any, given: Any) -> np.ndarray:
    """The labels of the rows: numbers, dates, booleans, or text as objects."""
    x = np.asarray(given)
    x = x.astype(object) if x.dtype.kind == "U" else x
    if x.dtype.kind == "O" and not all(isinstance(one, str) for one in x):
        x = checks.as_array(x)
        odd = next((one for one in x.tolist() if not isinstance(one, str)), None)
        if x.dtype.kind == "O":
            advice = "make them text, such as by table.set_index(table.index.astype(str))"
            raise ParameterError(
                f"the labels {name!r} of the rows must be text, numbers or dates, got {odd!r}: {advice}"
            )
    if x.dtype.kind in "fMm" and bool(np.isnan(x).any()):
        raise ParameterError(f"a label {name!r} of the rows is missing: give every row one")
    if x.dtype.kind == "M" and not (np.datetime64("1678") <= x.min() and x.max() < np.datetime64("2262")):
        raise ParameterError(f"a date {name!r} of the rows is not between 1678 and 2261, as in files: make them text")
    return x


def one_of(columns: Mapping[str, np.ndarray], i: int) -> dict[str, np.ndarray | float]:
    """The values of member i by name, in their units, from columns with a leading axis over members.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.ensembles.columns import one_of
        >>> one_of({"mass": np.array([60.0, 75.0])}, 1)
        {'mass': 75.0}
    """
    return {name: x[i] if x.ndim > 1 else float(x[i]) for name, x in columns.items()}


def check_bounds(
    model: Model,
    columns: Mapping[str, np.ndarray],
    dims: tuple[str, ...],
    shape: tuple[int, ...],
    labels: Mapping[str, tuple[tuple[str, ...], np.ndarray]],
) -> None:
    """Checks values of members by name, (members, ...), against the bounds of their parameters.

    Args:
        model: the mechanism; names other than those of its parameters are ignored.
        columns: the values, in their units, of a box of members (the last dimension fastest).
        dims: names of the dimensions of the box.
        shape: numbers of members along these.
        labels: coordinates of the box by name, with their dimensions; those of a grid are its axes.

    Raises:
        ParameterError: for the first invalid value, with its index along the dimensions on which it depends.

    Examples:
        >>> from jaxgait import Bungee, grid
        >>> from jaxgait.ensembles.columns import check_bounds
        >>> box = grid({"mass": [60.0, -1.0], "stiffness": [20.0, 25.0, 30.0]})
        >>> check_bounds(Bungee(), box.values, box.dims, box.shape, box.labels)
        Traceback (most recent call last):
            ...
        jaxgait.parameters.ParameterError: mass[1] (body mass) must be positive, got -1 kg
    """
    for name, info in declared(parameters(model), columns).items():
        x = columns[name]
        good = (np.isfinite(x) & within_bounds(x, info)).reshape(len(x), -1).all(axis=1)
        if not good.all():
            first = int(np.argmin(good))
            own = labels.get(name, (dims,))[0]
            place = [str(i) for dim, i in zip(dims, np.unravel_index(first, shape), strict=True) if dim in own]
            check_value(f"{name}[{', '.join(place)}]" if place else name, x[first], info)


def warn_of_values(model: Model, given: Mapping[str, Any]) -> None:
    """Warns of values (by name, in their units) outside their plausible range, once per parameter or pair of them.

    Args:
        model: the mechanism.
        given: numbers or arrays by name; names other than those of parameters are ignored.

    Warns:
        jaxgait.plausible.ImplausibleValue: with the values and the range.

    Examples:
        >>> import numpy as np
        >>> from jaxgait import Bungee
        >>> from jaxgait.ensembles.columns import warn_of_values
        >>> warn_of_values(Bungee(), {"mass": np.array([60.0, 80.0]), "initial.v": 1e9})  # no warning
    """
    kind, known = type(model).__name__, declared(parameters(model), given)
    for name, info in known.items():
        warn_implausible(f"{kind}.{name} ({info.doc})", given[name], info.unit, info.plausible)
    warn_of_parts(with_parameters(model, {name: given[name] for name in known}), kind, known)


def _alike(one: Rows, other: Rows) -> bool:
    same = one.dim == other.dim and one.labels.keys() == other.labels.keys()
    return same and all(np.array_equal(x, other.labels[name]) for name, x in one.labels.items())
