"""What pictures state about their runs: names, parameter values, and how they ended."""

from __future__ import annotations

import itertools
import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from jaxgait.ensembles.columns import MEMBER
from jaxgait.ensembles.labels import status_codes, status_text
from jaxgait.outcome import COMPLETED_TEXT, Outcome
from jaxgait.plot.style import PALETTE
from jaxgait.solve.names import PHASE
from jaxgait.support import checks
from jaxgait.support.units import with_unit

Runs = xr.Dataset | Mapping[Any, xr.Dataset]
"""A result, or several by name."""
DASHES = ("-", "--", ":")
MAX_NAMED = len(DASHES) * len(PALETTE)
"""Largest number of lines in a panel with a legend; the styles of more would repeat."""
MAX_VALUES = 3
"""Largest number of parameters in the name of a line."""
NOTE = 100
"""Characters of a line of the notes above all panels."""


def looks(count: int) -> list[dict[str, Any]]:
    """Colours and dashes that tell up to `MAX_NAMED` lines apart.

    Examples:
        >>> from jaxgait.plot.runs import looks
        >>> looks(1)
        [{'color': '#0072B2', 'linestyle': '-'}]
    """
    every = itertools.cycle(itertools.product(DASHES, PALETTE))
    return [{"color": colour, "linestyle": dash} for dash, colour in itertools.islice(every, count)]


def runs_by_name(data: Runs, what: str) -> dict[str, xr.Dataset]:
    """The results to draw, by name; a single one has the name "".

    Args:
        data: one result, or several by name.
        what: the function that draws them, for messages.

    Raises:
        TypeError: for anything else.
        ValueError: if there are no results, or more than `MAX_NAMED`.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.runs import runs_by_name
        >>> list(runs_by_name({14.0: xr.Dataset(), "stiff": xr.Dataset()}, "picture"))
        ['14', 'stiff']
    """
    if isinstance(data, xr.Dataset):
        return {"": data}
    if isinstance(data, xr.DataArray):
        name = data.name or "rho"
        raise TypeError(f"{what} draws a result, got its variable {name!r} alone: write {what}(result, [{name!r}])")
    if not isinstance(data, Mapping) or not all(isinstance(run, xr.Dataset) for run in data.values()):
        raise TypeError(
            f"{what} draws a result of simulate or ensemble, or several by name ({{'soft': run, 'stiff': other}}), got "
            f"{_kinds(data)}"
        )
    if not 0 < len(data) <= MAX_NAMED:
        raise ValueError(f"{what} draws 1 to {MAX_NAMED} results by name, which colours tell apart, got {len(data)}")
    return {f"{name:g}" if isinstance(name, float | np.floating) else str(name): run for name, run in data.items()}


def _kinds(data: Any) -> str:
    inside = data.values() if isinstance(data, Mapping) else data if isinstance(data, list | tuple) else ()
    own = type(data).__name__
    return f"a {own} of {checks.listed(sorted({type(one).__name__ for one in inside}), 'and')}" if inside else own


def ending(run: xr.Dataset) -> str:
    """How a run that did not complete ended, and when; empty for any other, and for an ensemble.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.runs import ending
        >>> ending(xr.Dataset(attrs={"status": 10, "status_text": "ended early: fell", "t_end_s": 0.52809}))
        'ended early: fell, 0.528 s into the run'
    """
    if "status" in run:
        code = int(status_codes(run["status"]).flat[0]) if run["status"].ndim == 0 else Outcome.COMPLETED
        text = status_text(code, json.loads(run.attrs.get("status_legend", "{}")))
    else:
        code, text = int(run.attrs.get("status", Outcome.COMPLETED)), str(run.attrs.get("status_text", COMPLETED_TEXT))
    if code == Outcome.COMPLETED:
        return ""
    at = end_time(run)
    return text if at is None else f"{text}, {at:.3g} s into the run"


def end_time(run: xr.Dataset) -> float | None:
    """The last time that a run reached, in s; None if unknown.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.runs import end_time
        >>> end_time(xr.Dataset(attrs={"t_end_s": 0.5}))
        0.5
    """
    if "t_end" in run:
        return float(run["t_end"]) if run["t_end"].ndim == 0 else None
    return float(run.attrs["t_end_s"]) if "t_end_s" in run.attrs else None


def while_moving(x: xr.DataArray) -> xr.DataArray:
    """A history; that of the phase is NaN after the end of a run, where results have -1.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.runs import while_moving
        >>> print(while_moving(xr.DataArray([0, 1, -1], dims="time", name="phase")).values)
        [ 0.  1. nan]
    """
    return x.where(x >= 0) if x.name == PHASE and x.dtype.kind == "i" else x


def brief(text: str) -> str:
    """A status without its explanation in brackets.

    Examples:
        >>> from jaxgait.plot.runs import brief
        >>> brief("ended early: folded (a dead point of the four-bar knee), 2.3 s into the run")
        'ended early: folded, 2.3 s into the run'
    """
    before, _, rest = text.partition(" (")
    return before + rest.rpartition(")")[2]


def fixed_values(data: xr.Dataset) -> list[str]:
    """Texts of single values in a result, such as the parameters of the one member that was selected from a scan.

    The name of a person replaces the numbers that follow from who walks.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.runs import fixed_values
        >>> scan = xr.Dataset({"rho": ("k", [0.8, 0.9])}, {"k": ("k", [1.0, 2e4], {"units": "N/m"})})
        >>> fixed_values(scan.isel(k=1))
        ['k = 20000 N/m']
    """
    single = {c.name: c for c in data.coords.values() if c.ndim == 0 and c.dtype.kind in "fiuUO" and c.name != "time"}
    return [_valued(c, c.item()) for c in single.values() if c.attrs.get("of") not in single]


def member_names(data: xr.DataArray, dims: Sequence[str]) -> list[str]:
    """Names of lines by the values along dimensions, in the order of these, the last varying fastest.

    Members that were listed one by one are named by up to `MAX_VALUES` of the parameters that differ among them; by
    their numbers, if more differ.

    Examples:
        >>> import numpy as np
        >>> import xarray as xr
        >>> from jaxgait.plot.runs import member_names
        >>> k = ("member", [14e3, 3e4], {"units": "N/m"})
        >>> listed = xr.DataArray(np.zeros((2, 5)), {"member": [0, 1], "damper.k": k}, ("member", "time"))
        >>> member_names(listed, ["member"])
        ['damper.k = 14000 N/m', 'damper.k = 30000 N/m']
    """
    named = [[_line_name(data, dim, i) for i in range(data.sizes[dim])] for dim in dims]
    return [", ".join(parts) for parts in itertools.product(*named)]


def _line_name(data: xr.DataArray, dim: str, number: int) -> str:
    along = {str(n): c for n, c in data.coords.items() if c.dims == (dim,) and c.dtype.kind in "fiuUO"}
    varied = [c for n, c in along.items() if n not in (dim, MEMBER) and len(np.unique(c.values.astype(str))) > 1]
    own = along.get(dim)
    if (own is None or dim == MEMBER) and 0 < len(varied) <= MAX_VALUES:
        return ", ".join(_valued(c, c.values[number]) for c in varied)
    return f"{dim} = {number}" if own is None else _valued(own, own.values[number])


def _valued(coordinate: xr.DataArray, value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
    return with_unit(f"{coordinate.name} = {text}", str(coordinate.attrs.get("units", "1")))


def members_ending(data: xr.Dataset, dims: Sequence[str]) -> list[str]:
    """For each line over these dimensions, how its member ended; an empty string if it completed.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.runs import members_ending
        >>> scan = xr.Dataset({"status": ("k", [0, 10])}, attrs={"status_legend": '{"10": "ended early: fell"}'})
        >>> members_ending(scan, ["k"])
        ['', 'ended early: fell']
    """
    count = int(np.prod([data.sizes[dim] for dim in dims]))
    if "status" not in data or not {*data["status"].dims} <= {*dims}:
        return [""] * count
    legend = json.loads(data.attrs.get("status_legend", "{}"))
    sizes = {dim: data.sizes[dim] for dim in dims}
    codes = status_codes(data["status"].expand_dims({d: n for d, n in sizes.items() if d not in data["status"].dims})
                         .transpose(*dims)).ravel()  # fmt: skip
    return ["" if code == Outcome.COMPLETED else brief(status_text(int(code), legend)) for code in codes]


def notes(*texts: str) -> str:
    """Notes above all panels, in lines that fit; empty ones are left out.

    Examples:
        >>> from jaxgait.plot.runs import notes
        >>> notes("k = 20000 N/m", "", "the first 8 of 33 variables")
        'k = 20000 N/m; the first 8 of 33 variables'
    """
    return textwrap.fill("; ".join(filter(None, texts)), NOTE)
