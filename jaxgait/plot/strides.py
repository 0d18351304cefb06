"""Curves over per cent of the stride: mean and spread of members or strides, next to what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxgait import checks
from jaxgait.checks import nearest
from jaxgait.ensembles.labels import status_codes
from jaxgait.ensembles.results import flat
from jaxgait.outcome import COMPLETED_TEXT
from jaxgait.plot.references import LOOK, references, with_their_references
from jaxgait.plot.style import BLUE, axis_label, broken, displayed, style

MAX_PANELS = 6
"""Largest number of panels if no variables are named."""
WIDTH, HIGH, LOWEST = 6.0, 2.9, 1.9
"""Of a figure and of its panels, in inches: of the only one, and at least."""
FAINT = 0.2
"""Opacity of bands, and of many single strides."""
Spread = Literal["sd"] | tuple[float | int, float | int] | None


class Strides(NamedTuple):
    """Curves of one variable over the stride.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.strides import Strides
        >>> Strides(np.zeros((20, 5)), "members", "").percent
        array([  0.,  25.,  50.,  75., 100.])
    """

    values: Float[np.ndarray, "curves samples"]
    """In the unit of the variable, from 0 to 100 % of the stride."""
    what: str
    """What each curve is of, in the plural."""
    note: str
    """Which strides count, and how many members or strides do not; empty if all count."""

    @property
    def percent(self) -> Float[np.ndarray, " samples"]:
        """Where the samples are on the stride, in %."""
        return np.linspace(0.0, 100.0, self.values.shape[1])


def stride_time(run: xr.Dataset) -> float | None:
    """The stride time in s of a run that was counted in strides; None for any other.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait.plot.strides import stride_time
        >>> print(stride_time(xr.Dataset(coords={"time": [0.0, 0.5, 1.0]}, attrs={"samples_per_stride": 2})))
        1.0
    """
    count = int(run.attrs.get("samples_per_stride", 0))
    return float(run["time"][count] - run["time"][0]) if 0 < count < run.sizes["time"] else None


def over_stride(
    data: xr.Dataset, variables: Sequence[str] = (), *, spread: Spread = "sd", last: int | None = None
) -> Figure:
    """Draws curves over the stride: their mean with a band of 1 SD, and the measured reference, dashed.

    A stride begins where those of the model's drive do: with the embedded gaits, at heel strike. Members of an ensemble
    that did not complete, and strides that a run did not finish, are left out; the picture says how many.

    Args:
        data: a run of one or more strides, or an ensemble with trajectories; its length must be given by `strides`.
        variables: names of scalar time histories; by default those with a reference, otherwise the first few.
        spread: "sd" for mean and standard deviation; two percentiles such as (5, 95) for the median and the band
            between these; or None to draw every curve, as of strides that alternate between two gaits.
        last: number of the last strides that count. By default all strides of a run, but only the last one of each
            member; of several, a member counts with their mean.

    Raises:
        ValueError: for unknown variables, results that are not counted in strides, impossible numbers, and if nothing
            completed.

    Examples:
        >>> import numpy as np
        >>> import xarray as xr
        >>> from jaxgait.plot.strides import over_stride
        >>> knee = ("time", 60.0 * np.sin(np.linspace(0.0, 4.0 * np.pi, 101)) ** 2, {"units": "deg"})
        >>> counted = {"strides": 2, "samples_per_stride": 50}
        >>> run = xr.Dataset({"knee": knee}, {"time": np.linspace(0.0, 2.0, 101)}, counted)
        >>> figure = over_stride(run)
        >>> print(figure.axes[0].get_xlabel(), [text.get_text() for text in figure.legends[0].get_texts()], sep=", ")
        stride (%), ['mean of 2 strides', '± 1 SD']
    """
    low_high = _percentiles(spread)
    per_stride, total = (int(data.attrs.get(name, 0)) for name in ("samples_per_stride", "strides"))
    if not (per_stride and total and {"time", "instant"} & {*data.dims}):
        raise ValueError(
            "nothing to draw over the stride: give a run or an ensemble with trajectories of a model with a stride, "
            "whose length is given in strides, such as simulate(Prosthesis(), strides=5)"
        )
    if last is not None and checks.count("last", last) > total:
        raise ValueError(f"last must be at most {total}, the number of strides, got {last}")
    names = _chosen(data, variables)
    measured = references(data)
    figure_height = max(LOWEST, HIGH - 0.25 * (len(names) - 1)) * len(names) + 0.7
    with style():
        figure, axes = plt.subplots(len(names), 1, figsize=(WIDTH, figure_height), sharex=True, squeeze=False)
        figure.align_ylabels(axes)
        notes = {}
        for ax, name in zip(axes[:, 0], names, strict=True):
            own = strides(data, name, last)
            notes[own.note] = None
            _draw(ax, own, low_high, spread)
            if name in measured:
                _draw_reference(ax, strides(data, measured[name], last), data[measured[name]])
            ax.set_ylabel(broken(axis_label(displayed(data[name]))), fontsize=8)
        axes[-1, 0].set(xlim=(0.0, 100.0), xlabel=axis_label("stride", "%"))
        named = {label: line for ax in figure.axes for line, label in zip(*ax.get_legend_handles_labels(), strict=True)}
        note = "\n".join(filter(None, notes))
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
        >>> counted = {"strides": 2, "samples_per_stride": 2}
        >>> run = xr.Dataset({"knee": ("time", [0.0, 60.0, 0.0, 50.0, np.nan])}, attrs=counted)
        >>> found = strides(run, "knee")
        >>> print(found.percent, found.values, found.note)
        [  0.  50. 100.] [[ 0. 60.  0.]] 1 of 2 strides left out: not completed
    """
    x = displayed(data[name])
    dim = "time" if "time" in x.dims else "instant"
    members = tuple(str(d) for d in x.dims if d != dim)
    per_stride, total = int(data.attrs["samples_per_stride"]), int(data.attrs["strides"])
    count = last or (1 if members else total)
    first = (total - count) * per_stride
    samples = first + np.arange(count)[:, None] * per_stride + np.arange(per_stride + 1)
    curves = flat(x.transpose(*members, dim), members)[:, samples] if members else x.values[samples][:, None]
    counts = np.array(np.isfinite(curves).all(axis=(1, 2)))
    if members and "status" in data:
        counts &= flat(data["status"].copy(data=status_codes(data["status"]) == 0), members)
    what = "members" if members else "strides"
    if not counts.any():
        raise ValueError(f"no curves of {name!r}: none of {counts.size} {what} completed")
    return Strides(curves[counts].mean(axis=1), what, _note(counts, what, count, total))


def _note(counts: Bool[np.ndarray, " curves"], what: str, last: int, total: int) -> str:
    which, missing = "", counts.size - int(counts.sum())
    if what == "members" and total > 1:
        which = f"mean of the last {last} strides of each" if last > 1 else "last stride of each"
    elif last < total:
        which = f"last {last} of {total} strides" if last > 1 else f"last of {total} strides"
    left_out = f"{missing} of {counts.size} {what} left out: not {COMPLETED_TEXT}" if missing else ""
    return "; ".join(filter(None, [which, left_out]))


def _chosen(data: xr.Dataset, named: Sequence[str]) -> list[str]:
    """The named variables, or those with a reference, otherwise the first few."""
    members = {*data["status"].dims} if "status" in data else set()
    histories = [str(n) for n, x in data.data_vars.items() if {"time", "instant"} & {*x.dims} and x.dtype.kind == "f"]
    scalar = [n for n in histories if "status" not in data or {*data[n].dims} - {"time", "instant"} == members]
    if "status" not in data:
        scalar = [n for n in histories if data[n].ndim == min(data[m].ndim for m in histories)]
    for name in named:
        if name not in scalar:
            hint = nearest(name, scalar, limit=2, otherwise=f"there are {', '.join(scalar)}")
            raise ValueError(f"no scalar time history {name!r}: {hint}")
    measured = [name for name in scalar if name in references(data)]
    chosen = with_their_references(data, list(named) or measured or scalar[:MAX_PANELS])
    if not chosen:
        raise ValueError("nothing to draw over the stride: the result has no scalar time histories")
    return chosen


def _percentiles(spread: Any) -> tuple[float | int, float | int] | None:
    if spread is None or spread == "sd":
        return None
    if not (isinstance(spread, tuple) and len(spread) == 2 and 0.0 <= spread[0] < spread[1] <= 100.0):
        raise ValueError(f'spread must be "sd", two percentiles such as (5, 95), or None, got {checks.shown(spread)}')
    return spread


def _draw(ax: Axes, own: Strides, low_high: tuple[float | int, float | int] | None, spread: Spread) -> None:
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
        middle, apart = values.mean(axis=0), values.std(axis=0, ddof=1)
        low, high, names = middle - apart, middle + apart, ("mean", "± 1 SD")
    else:
        low, middle, high = np.percentile(values, (low_high[0], 50.0, low_high[1]), axis=0)
        names = "median", f"{low_high[0]:g} to {low_high[1]:g} %"
    ax.plot(percent, middle, **look, label=f"{names[0]} of {number} {own.what}")
    ax.fill_between(percent, low, high, color=BLUE, alpha=FAINT, lw=0, label=names[1])


def _draw_reference(ax: Axes, own: Strides, x: xr.DataArray) -> None:
    """The mean of the references, with a band of 1 SD where they differ, as those of several people do."""
    mean, label = own.values.mean(axis=0), str(x.attrs.get("long_name") or x.name)
    ax.plot(own.percent, mean, **LOOK, label=label)
    if np.ptp(own.values, axis=0).max() > 1e-6 * np.ptp(mean):
        apart = own.values.std(axis=0, ddof=1)
        ax.fill_between(
            own.percent, mean - apart, mean + apart, color="black", alpha=0.12, lw=0, label=f"{label}, ± 1 SD"
        )
