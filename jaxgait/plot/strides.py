"""Curves over per cent of the stride: mean and spread of members or strides, next to what was measured."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxgait import checks
from jaxgait.ensembles.labels import status_codes
from jaxgait.ensembles.results import flat
from jaxgait.outcome import COMPLETED_TEXT, Outcome
from jaxgait.plot.panels import chosen, distinct, named_artists, of_known, scalar_histories
from jaxgait.plot.references import draw_reference, references, with_their_references
from jaxgait.plot.style import BLUE, axis_label, broken, displayed, style
from jaxgait.run import TRANSIENT_STRIDES, WHOLE_WITHIN

WIDTH, HIGH, LOWEST = 6.0, 2.9, 1.9
"""Of a figure and of its panels, in inches: of the only one, and at least."""
NOTE = 85
"""Characters of a line of the note above the panels."""
FAINT = 0.2
"""Opacity of bands, and of many single strides."""
Spread = Literal["sd"] | Sequence[float | int] | np.ndarray | None


class Strides(NamedTuple):
    """Curves of one variable over the stride.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.strides import Strides
        >>> Strides(np.zeros((20, 5)), "members", ()).percent
        array([  0.,  25.,  50.,  75., 100.])
    """

    values: Float[np.ndarray, "curves samples"]
    """In the unit of the variable, from 0 to 100 % of the stride; NaN where it has no value."""
    what: str
    """What each curve is of, in the plural."""
    notes: tuple[str, ...]
    """Which strides count, and how many members or strides do not; none if all count."""

    @property
    def percent(self) -> Float[np.ndarray, " samples"]:
        """Where the samples are on the stride, in %."""
        return np.linspace(0.0, 100.0, self.values.shape[1])


def stride_time(run: xr.Dataset) -> float | None:
    """The stride time in s of a run that was counted in strides; None for any other, and if it cannot be known.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.strides import stride_time
        >>> counted = {"strides": 1, "samples_per_stride": 2}
        >>> print(stride_time(xr.Dataset(coords={"time": [0.0, 0.5, 1.0]}, attrs=counted)))
        1.0
    """
    if not _has_all_samples(run, "time"):
        completed = "strides" in run.attrs and run.attrs.get("status") == Outcome.COMPLETED
        return float(run.attrs["t_end_s"]) / int(run.attrs["strides"]) if completed else None
    return float(run["time"][int(run.attrs["samples_per_stride"])] - run["time"][0])


def _has_all_samples(data: xr.Dataset, dim: str) -> bool:
    """Whether a result is counted in strides and has all their samples, none of which was left out afterwards."""
    per_stride, total = (int(data.attrs.get(name, 0)) for name in ("samples_per_stride", "strides"))
    return per_stride * total > 0 and data.sizes.get(dim) == per_stride * total + 1


def over_stride(
    data: xr.Dataset, variables: str | Sequence[str] = (), *, spread: Spread = "sd", last: int | None = None
) -> Figure:
    """Draws curves over the stride: their mean with a band of 1 SD, and the measured reference, dashed.

    A stride begins where those of the model's drive do: with the embedded gaits, at heel strike. Members of an ensemble
    that did not complete, and strides that a run did not finish, are left out; the picture says how many. Where a curve
    has no value, as a centre of pressure in swing, the others count; a variable without any value has no panel. A band
    of SD ends at zero where no curve has a value beyond it.

    Args:
        data: a whole run of one or more strides, or an ensemble with trajectories; its length must be given by
            `strides`.
        variables: names of scalar time histories; by default those with a reference, otherwise the first few.
        spread: "sd" for mean and standard deviation; two percentiles such as (5, 95) for the median and the band
            between these; or None to draw every curve, as of strides that alternate between two gaits.
        last: number of the last strides that count. By default all strides of a run but the first two, in which it
            leaves its start, and only the last one of each member; of several, a member counts with their mean.

    Raises:
        ValueError: for unknown variables, results that are not counted in strides or lack samples, impossible numbers,
            and if nothing completed or has a value.

    Examples:
        >>> import numpy as np
        >>> import xarray as xr
        >>> from jaxgait.plot.strides import over_stride
        >>> knee = ("time", 60.0 * np.sin(np.linspace(0.0, 4.0 * np.pi, 101)) ** 2, {"units": "deg"})
        >>> counted = {"strides": 2, "samples_per_stride": 50}
        >>> run = xr.Dataset({"knee": knee}, {"time": np.linspace(0.0, 2.0, 101)}, counted)
        >>> figure = over_stride(run, last=2)
        >>> print(figure.axes[0].get_xlabel(), [text.get_text() for text in figure.legends[0].get_texts()], sep=", ")
        stride (%), ['mean of 2 strides', '± 1 SD']
    """
    low_high, dim = _percentiles(spread), "time" if "time" in data.dims else "instant"
    per_stride, total = (int(data.attrs.get(name, 0)) for name in ("samples_per_stride", "strides"))
    if not (per_stride and total and dim in data.dims):
        raise ValueError(
            "nothing to draw over the stride: give a run or an ensemble with trajectories of a model with a stride, "
            "whose length is given in strides, such as simulate(Prosthesis(), strides=5)"
        )
    if not _has_all_samples(data, dim):
        raise ValueError(
            f"curves over the stride need all {per_stride * total + 1} samples of {total} strides, and there are "
            f"{data.sizes[dim]}: give the whole result, and last=1 for its last stride"
        )
    if last is not None and checks.count("last", last) > total:
        raise ValueError(f"last must be at most {total}, the number of strides, got {last}")
    measured, scalar = references(data), scalar_histories(data, dim)
    own = [name for name in scalar if name in measured] or with_their_references(data, scalar)
    dims = data[scalar[0]].dims if scalar else (dim,)
    names = with_their_references(data, chosen(data, variables, own, [str(d) for d in dims], only=True))
    data = distinct(data, names)
    found = {name: strides(data, name, last) for name in names}
    drawn = {name: curves for name, curves in found.items() if len(curves.values)}
    if not drawn:
        raise ValueError(f"nothing to draw over the stride: {checks.listed(names, 'and')} has no value in any stride")
    figure_height = max(LOWEST, HIGH - 0.25 * (len(drawn) - 1)) * len(drawn) + 0.7
    with style():
        figure, axes = plt.subplots(len(drawn), 1, figsize=(WIDTH, figure_height), sharex=True, squeeze=False)
        figure.align_ylabels(axes)
        for ax, (name, curves) in zip(axes[:, 0], drawn.items(), strict=True):
            _draw(ax, curves, low_high, spread)
            if name in measured and len((other := strides(data, measured[name], last)).values):
                look = displayed(data[measured[name]])
                over = xr.DataArray(other.values, {"stride": other.percent}, ("curve", "stride"), look.name, look.attrs)
                draw_reference(ax, over, "stride", band=True)
            ax.set_ylabel(broken(axis_label(displayed(data[name]))), fontsize=8)
        axes[-1, 0].set(xlim=(0.0, 100.0), xlabel=axis_label("stride", "%"))
        named, notes = named_artists(figure), dict.fromkeys(note for curves in found.values() for note in curves.notes)
        note = textwrap.fill("; ".join(notes), NOTE)
        figure.legend(list(named.values()), list(named), loc="outside upper left", ncols=3, title=note or None,
                      title_fontsize=8, alignment="left")  # fmt: skip
    return figure


def strides(data: xr.Dataset, name: str, last: int | None = None) -> Strides:
    """The curves of a variable over the stride that count, angles in degrees; for the arguments see `over_stride`.

    Raises:
        ValueError: if nothing completed.

    Examples:
        >>> import numpy as np
        >>> import xarray as xr
        >>> from jaxgait.plot.strides import strides
        >>> fell = {"strides": 2, "samples_per_stride": 2, "t_end_s": 1.8}
        >>> knee = ("time", [0.0, 60.0, 0.0, 50.0, np.nan], {"units": "deg"})
        >>> run = xr.Dataset({"knee": knee}, {"time": [0.0, 0.5, 1.0, 1.5, 2.0]}, fell)
        >>> found = strides(run, "knee")
        >>> print(found.percent, found.values, *found.notes)
        [  0.  50. 100.] [[ 0. 60.  0.]] 1 of 2 strides left out: not completed
    """
    x = displayed(data[name])
    x = x.broadcast_like(data["status"]) if "status" in data else x
    dim = "time" if "time" in x.dims else "instant"
    members = tuple(str(d) for d in x.dims if d != dim)
    per_stride, total = int(data.attrs["samples_per_stride"]), int(data.attrs["strides"])
    count = last or (1 if members else total - _transient(data, per_stride, total))
    first = (total - count) * per_stride
    samples = first + np.arange(count)[:, None] * per_stride + np.arange(per_stride + 1)
    curves = flat(x.transpose(*members, dim), members)[:, samples] if members else x.values[samples][:, None]
    completed = _completed(data, members, samples[:, -1], len(curves))
    what = "members" if members else "strides"
    if not completed.any():
        raise ValueError(f"no curves of {name!r}: none of {completed.size} {what} completed")
    known = np.isfinite(curves).any(axis=(1, 2))
    values = of_known(np.nanmean, curves[completed & known], axis=1)
    notes = _which(what, count, total)
    if not completed.all():
        notes.append(f"{np.sum(~completed)} of {completed.size} {what} left out: not {COMPLETED_TEXT}")
    if empty := int(np.sum(completed & ~known)):
        notes.append(f"{name} has no value" + f" in {empty} of {completed.size} {what}" * (len(values) > 0))
    return Strides(values, what, tuple(notes))


def _transient(run: xr.Dataset, per_stride: int, total: int) -> int:
    """Number of first strides of a run that do not count, as it finished others."""
    finished = np.sum(_completed(run, (), per_stride * np.arange(1, total + 1), total))
    return min(TRANSIENT_STRIDES, max(int(finished) - 1, 0))


def _completed(data: xr.Dataset, members: Sequence[str], ends: np.ndarray, size: int) -> Bool[np.ndarray, " curves"]:
    """Which members completed, or which strides, with these last samples, a run reached the end of."""
    if members:
        codes = flat(data["status"], tuple(members)) if "status" in data else np.zeros(size)
        return status_codes(codes) == Outcome.COMPLETED
    reached = float(data["t_end"]) if "t_end" in data else float(data.attrs.get("t_end_s", math.inf))
    return data["time"].values[ends] <= reached * (1.0 + WHOLE_WITHIN)


def _which(what: str, last: int, total: int) -> list[str]:
    """Which strides count, if not all do."""
    if what == "members" and total > 1:
        return [f"mean of the last {last} strides of each" if last > 1 else "last stride of each"]
    if last < total:
        return [f"last {last} of {total} strides" if last > 1 else f"last of {total} strides"]
    return []


def _percentiles(spread: Any) -> tuple[float, float] | None:
    if spread is None or (isinstance(spread, str) and spread == "sd"):
        return None
    entries = getattr(spread, "tolist", lambda: spread)()  # of an array, whichever library makes it
    ends: list[Any] = [checks.real(x) for x in entries] if isinstance(entries, Sequence) else []
    if len(ends) != 2 or None in ends or not 0.0 <= ends[0] < ends[1] <= 100.0:
        raise ValueError(f'spread must be "sd", two percentiles such as (5, 95), or None, got {checks.shown(spread)}')
    return ends[0], ends[1]


def _draw(ax: Axes, own: Strides, low_high: tuple[float, float] | None, spread: Spread) -> None:
    values, percent, number = own.values, own.percent, len(own.values)
    look: dict[str, Any] = {"color": BLUE, "lw": 1.5}
    if number == 1:
        ax.plot(percent, values[0], **look, label="simulated" if own.what == "strides" else "the only member")
        return
    if spread is None:
        lines = ax.plot(percent, values.T, color=BLUE, lw=0.8, alpha=max(FAINT, 1.0 / number**0.5))
        lines[0].set_label(f"{number} {own.what}")
        return
    if low_high is None:
        middle, apart = of_known(np.nanmean, values, axis=0), of_known(np.nanstd, values, axis=0, ddof=1)
        low, high, names = middle - apart, middle + apart, ("mean", "± 1 SD")
        if np.nanmin(values) >= 0.0:  # such as a force that only pushes
            low = np.maximum(low, 0.0)
        if np.nanmax(values) <= 0.0:
            high = np.minimum(high, 0.0)
    else:
        low, middle, high = of_known(np.nanpercentile, values, (low_high[0], 50.0, low_high[1]), axis=0)
        names = "median", f"{low_high[0]:g} to {low_high[1]:g} %"
    ax.plot(percent, middle, **look, label=f"{names[0]} of {number} {own.what}")
    ax.fill_between(percent, low, high, color=BLUE, alpha=FAINT, lw=0, label=names[1])
