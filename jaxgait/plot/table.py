"""A scan as a table: one row per member, columns of parameters, measures and outcomes, and the statuses."""

from __future__ import annotations

import json
import math
from typing import NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int

from jaxgait.ensembles.columns import MEMBER
from jaxgait.ensembles.labels import status_codes, status_text
from jaxgait.ensembles.members import VALUES
from jaxgait.ensembles.results import flat, members_dims
from jaxgait.measure import with_gaps
from jaxgait.outcome import COMPLETED_TEXT, FIRST_TERMINATION
from jaxgait.plot.style import FAILED, GREY, ORANGE, PURPLE, RED, are_counts, axis_label
from jaxgait.support.units import displayed

OUTCOME = ("retries", "steps", "rejected_steps", "t_end", "promoted")
"""Variables of every scan about the computation of a trajectory."""
CODES = ("status", "first_status")
"""Variables with codes."""
COMPLETED_COLOUR = "#56B4E9"
ENDED = (ORANGE, RED, PURPLE, "#F0E442", "#B0703C", "#8C6BB1")
"""Colours of the model's own early ends."""
GAVE_UP = (GREY, "#4D4D4D", "#A6A6A6", "#6E5E5E")
"""Colours of computations that failed."""
COUNTS = ("#3B3B3B", "#BFD9EE", "#0072B2", "#009E73", "#F0E442", "#8C6BB1", "#66C2A5", "#B0703C", "#CC79A7")
"""Colours of the numbers 0, 1, 2, ... in counts, the same in all pictures."""
UNKNOWN = "no status recorded"
EVEN_WITHIN = 0.02
"""Relative difference of steps that count as even: values may have few digits."""
LARGEST_VECTOR = 16
"""Largest number of entries of a vector per member (multipliers, amplitudes) to show."""


class Column(NamedTuple):
    """One number per member."""

    name: str
    label: str
    """Its long name, or its name."""
    unit: str
    role: str
    """"axis" (varied), "measure", "end" (the last state) or "outcome"."""
    values: Float[np.ndarray, " members"]
    """In the unit; indices of `names`, if there are any."""
    names: tuple[str, ...] = ()
    """Names of categories, such as the subjects of `people`."""
    words: str = ""
    """Its long name, if no other column of its role has the same."""

    @property
    def title(self) -> str:
        """The label of an axis."""
        return axis_label(self.label, self.unit)

    @property
    def in_words(self) -> str:
        """The label of an axis of a picture in print: without the name, if there are words for it."""
        return axis_label(self.words or self.name, self.unit)

    @property
    def colours(self) -> tuple[str, ...]:
        """The colours of the numbers 0, 1, ... up to the largest, if all are small counts; otherwise none."""
        known = self.values[np.isfinite(self.values)]
        small = self.whole and known.min() >= 0 and known.max() < len(COUNTS)
        return COUNTS[: int(known.max()) + 1] if small else ()

    @property
    def whole(self) -> bool:
        """Whether all values are whole numbers without a unit, such as counts: an axis has no ticks between these."""
        return not self.names and are_counts(self.values, self.unit)

    @property
    def geometric(self) -> bool:
        """Whether values of a parameter have a constant ratio, but no constant difference: its axis is logarithmic."""
        levels = np.unique(self.values)
        if self.role != "axis" or len(levels) < 3 or not levels[0] > 0.0:
            return False
        return _even(np.log(levels)) and not _even(levels)


def _even(x: np.ndarray) -> bool:
    steps = np.diff(x)
    return bool(np.ptp(steps) < EVEN_WITHIN * steps.mean())


class Table(NamedTuple):
    """All members of a scan, flat: the last dimension of the box varies fastest."""

    dims: tuple[str, ...]
    """Dimensions of the box of members."""
    shape: tuple[int, ...]
    columns: dict[str, Column]
    status: Int[np.ndarray, " members"]
    """Index of the status in `statuses`."""
    statuses: tuple[tuple[str, str], ...]
    """Sentence and colour."""
    vectors: dict[str, Column]
    """Small vectors per member, (members, entries); multipliers for example."""
    gradients: dict[str, dict[str, Float[np.ndarray, " members"]]]
    """By measure and parameter, in units of the measure's column per unit of the parameter's."""

    @property
    def size(self) -> int:
        """Number of members."""
        return math.prod(self.shape)

    @property
    def completed(self) -> Bool[np.ndarray, " members"]:
        """Which members completed, or have no status at all; shape (members,)."""
        good = [i for i, (sentence, _) in enumerate(self.statuses) if sentence in (COMPLETED_TEXT, UNKNOWN)]
        return np.isin(self.status, good)

    @property
    def along(self) -> list[str]:
        """Names of the columns along the dimensions of the scan, otherwise of all that vary."""
        axes = {c.name: len(np.unique(c.values)) > 1 for c in self.of_role("axis")}
        return [n for n in axes if n in self.dims] or [n for n, varies in axes.items() if varies] or list(axes)

    def of_role(self, role: str) -> list[Column]:
        """The columns of one role."""
        return [c for c in self.columns.values() if c.role == role]


def table(scan: xr.Dataset) -> Table:
    """The members of a scan (any Dataset whose variables share the dimensions of a box) with all scalar results.

    Raises:
        ValueError: for a Dataset that is not a scan, or without members, and for averages over members.
    """
    dims = members_dims(scan)
    shape = tuple(scan.sizes[d] for d in dims)
    if not math.prod(shape):
        raise ValueError(f"nothing to show: the scan over {', '.join(dims)} has no members")
    codes, statuses = _statuses(scan, dims)
    columns = _distinct(_axes(scan, dims, shape) | _results(scan, dims))
    return Table(dims, shape, columns, codes, statuses, _vectors(scan, dims), _gradients(scan, dims))


def _statuses(scan: xr.Dataset, dims: tuple[str, ...]) -> tuple[np.ndarray, tuple[tuple[str, str], ...]]:
    """Each member's index of its status, and the statuses: completed, then the model's own ends, then failures."""
    if "status" not in scan:
        count = math.prod(scan.sizes[d] for d in dims)
        return np.zeros(count, dtype=np.int32), ((UNKNOWN, COMPLETED_COLOUR),)
    legend = json.loads(scan.attrs.get("status_legend", "{}"))
    codes = status_codes(flat(scan["status"], dims))
    found = sorted(set(codes.tolist()), key=lambda c: (c != 0, c < FIRST_TERMINATION, c))
    colours = {True: iter(ENDED * 10), False: iter(GAVE_UP * 10)}
    listed = []
    for code in found:
        colour = COMPLETED_COLOUR if code == 0 else FAILED if code < 0 else next(colours[code >= FIRST_TERMINATION])
        listed.append((status_text(code, legend), colour))
    number = {code: i for i, code in enumerate(found)}
    present, inverse = np.unique(codes, return_inverse=True)
    return np.array([number[c] for c in present.tolist()], dtype=np.int32)[inverse], tuple(listed)


def _axes(scan: xr.Dataset, dims: tuple[str, ...], shape: tuple[int, ...]) -> dict[str, Column]:
    """The varied numbers of every member, or its index along dimensions without them."""
    order = [*dims, *json.loads(scan.attrs.get(VALUES, "[]"))]  # as given: stores list their arrays by name
    found = {}
    for name, x in sorted(scan.coords.items(), key=lambda one: order.index(one[0]) if one[0] in order else len(order)):
        named = x.dims == (name,) and x.dtype.kind not in "fiu"
        if x.ndim and set(x.dims) <= set(dims) and (named or x.dtype.kind in "fiu"):
            numbers = x.copy(data=np.arange(x.size)) if named else x
            over = numbers.expand_dims({d: scan.sizes[d] for d in dims if d not in x.dims})
            names = tuple(map(str, x.values)) if named else ()
            found[str(name)] = _column(str(name), x, "axis", flat(over, dims))._replace(names=names)
    if len(dims) == 1 and len(found) > 1:
        found.pop(MEMBER, None)  # labels of rows without a name are no axis
    for axis, dim in enumerate(dims):
        if dim not in found and dim not in scan.coords and (len(dims) > 1 or not found):
            number = np.indices(shape)[axis].ravel().astype(float)
            found[dim] = Column(dim, f"number of the {dim}", "1", "axis", number)
    return found


def _distinct(columns: dict[str, Column]) -> dict[str, Column]:
    """The columns, without words that several of a role share, such as those of a parameter that each joint has."""
    words = [(column.role, column.words) for column in columns.values()]
    return {n: c._replace(words="") if words.count((c.role, c.words)) > 1 else c for n, c in columns.items()}


def _results(scan: xr.Dataset, dims: tuple[str, ...]) -> dict[str, Column]:
    found = {}
    for name, x in scan.data_vars.items():
        if set(x.dims) == set(dims) and x.dtype.kind in "fiub" and name not in CODES:
            role = "outcome" if name in OUTCOME else "end" if str(name).endswith("_end") else "measure"
            found[str(name)] = _column(str(name), displayed(x), role, flat(displayed(x), dims))
    return dict(sorted(found.items(), key=lambda item: ("measure", "end", "outcome").index(item[1].role)))


def _column(name: str, x: xr.DataArray, role: str, values: np.ndarray) -> Column:
    words = str(x.attrs.get("long_name") or "")
    label = ": ".join(dict.fromkeys([name, words or name]))
    values = values if role == "axis" else with_gaps(values)
    return Column(name, label, str(x.attrs.get("units", "1")), role, values, words=words)


def _vectors(scan: xr.Dataset, dims: tuple[str, ...]) -> dict[str, Column]:
    found = {}
    for name, x in scan.data_vars.items():
        extra = [d for d in x.dims if d not in dims]
        if x.dtype.kind in "fiu" and len(extra) == 1 and len(x.dims) == len(dims) + 1:
            small = 1 < x.sizes[extra[0]] <= LARGEST_VECTOR
            if small and extra[0] not in ("time", "instant", "event", "parameter"):
                found[str(name)] = _column(str(name), displayed(x), "measure", flat(displayed(x), dims))
    return found


def _gradients(scan: xr.Dataset, dims: tuple[str, ...]) -> dict[str, dict[str, np.ndarray]]:
    if "parameter" not in scan.coords:
        return {}
    names = [str(n) for n in scan["parameter"].to_numpy()]
    found = {}
    for name, x in scan.data_vars.items():
        if str(name).endswith("_gradient") and set(x.dims) == {*dims, "parameter"}:
            measure = str(name).removesuffix("_gradient")
            unit = scan[measure].attrs.get("units", "") if measure in scan else ""
            values = flat(displayed(x.transpose(*dims, "parameter").assign_attrs(units=unit)), dims)
            found[measure] = {n: values[:, i] for i, n in enumerate(names)}
    return found
