"""Curves over per cent of the stride: mean and spread of members or strides, next to what was measured."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxgait.analysis.gait import COMPARED_STRIDES, IRREGULAR, MAX_ORDER, PERIODICITY_TOLERANCE, subharmonic_order
from jaxgait.ensembles.labels import status_codes
from jaxgait.ensembles.members import PERSON
from jaxgait.ensembles.results import flat
from jaxgait.outcome import COMPLETED_TEXT, Outcome
from jaxgait.plot.panels import chosen, distinct, legend, named_artists, of_known, scalar_histories
from jaxgait.plot.references import draw_reference, draw_references, references, with_their_references
from jaxgait.plot.runs import MAX_NAMED, Runs, ending, fixed_values, looks, member_names, runs_by_name
from jaxgait.plot.style import axis_label, broken, style
from jaxgait.precision import float64_default
from jaxgait.run import TRANSIENT_STRIDES, WHOLE_WITHIN
from jaxgait.support import checks
from jaxgait.support.units import displayed

WIDTH, HIGH, LOWEST = 6.0, 2.9, 1.9
"""Width of a figure, height of its only panel, and least height of several, in inches."""
NOTE = 85
"""Characters of a line of the note above the panels."""
HANDLE, SHOWN = 8, 3
"""Characters that the line of a legend's entry takes; how many strides an entry lists by number."""
FAINT = 0.2
"""Opacity of bands, and of many single strides."""
FEWEST = 50
"""Samples per stride below which curves are polygons that cut off peaks: the knee's measures need as many."""
REPEATED = 0.01
"""Largest difference of strides that count as the same, as a fraction of the range of the curve, if it is no angle."""
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
    """What the curves belong to: "members" or "strides"."""
    notes: tuple[str, ...]
    """Which strides count, how many members or strides do not, and how a run ended early; none if all count."""
    names: tuple[str, ...] = ()
    """Members by their parameters, or strides by number, from 1."""

    @property
    def percent(self) -> Float[np.ndarray, " samples"]:
        """Positions of the samples in the stride, in %."""
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


class _Group(NamedTuple):
    """Curves that become one mean and its band, or lines of one colour."""

    label: str
    names: tuple[str, ...] | None = None
    """Names of the curves; None for all of the result."""

    def of(self, curves: Strides) -> Strides:
        """The group's curves of a variable."""
        if self.names is None:
            return curves
        return curves._replace(values=curves.values[np.isin(curves.names, self.names)])


def over_stride(
    data: Runs, variables: str | Sequence[str] = (), *, spread: Spread = "sd", last: int | None = None
) -> Figure:
    """Draws curves over the stride: their mean with a band of 1 SD, and the measured reference, dashed.

    A stride begins where those of the model's drive do: with the embedded gaits, at heel strike. Members of an ensemble
    that did not complete, and strides that a run did not finish, are left out; the picture says how many, and how a run
    ended early. Where a curve has no value, as a centre of pressure in swing, the others count; a variable without any
    value has no panel. A band of SD ends at zero where no curve has a value beyond it.

    If there are several people, each with several designs, each person is drawn separately.

    Strides of one run that alternate between two to four gaits (of the order 2 to 4) are drawn separately: their mean
    would be none of these. The picture says how many members of an ensemble do so, and if there are too few samples per
    stride.

    Args:
        data: a whole run of one or more strides, or an ensemble with trajectories; its length must be given by
            `strides`. Several by name, such as {"soft": run, "stiff": other}, are compared, each in its colour.
        variables: names of scalar time histories; by default those with a reference, otherwise the first few.
        spread: "sd" for mean and standard deviation; two percentiles such as (5, 95) for the median and the band
            between these; or None to draw every curve: those of up to `MAX_NAMED` members in colours of their own, with
            their parameters in the legend.
        last: number of the last strides that count. By default all strides of a run but the first two, in which it
            leaves its start, and only the last one of each member; of several, a member counts with their mean.

    Raises:
        TypeError: for anything but results.
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
    low_high, results = _percentiles(spread), _by_person(runs_by_name(data, "over_stride"))
    for one in results.values():
        _check(one, last)
    names = _variables(results, variables)
    results = {label: distinct(one, names) for label, one in results.items()}
    found = {name: {label: strides(one, name, last) for label, one in results.items()} for name in names}
    drawn = {name: curves for name, curves in found.items() if any(len(own.values) for own in curves.values())}
    if not drawn:
        raise ValueError(f"nothing to draw over the stride: {checks.listed(names, 'and')} has no value in any stride")
    orders = {label: _orders(one, list(drawn)) for label, one in results.items()}
    some = next(iter(drawn.values()))
    groups = {label: _groups(label, some[label], orders[label], spread) for label in results}
    figure_height = max(LOWEST, HIGH - 0.25 * (len(drawn) - 1)) * len(drawn) + 0.7
    with style():
        figure, axes = plt.subplots(len(drawn), 1, figsize=(WIDTH, figure_height), sharex=True, squeeze=False)
        figure.align_ylabels(axes)
        for ax, (name, curves) in zip(axes[:, 0], drawn.items(), strict=True):
            own, firsts = iter(looks(sum(map(len, groups.values())))), []
            for label, listed in groups.items():
                own_looks = [next(own) for _ in listed]
                firsts.append(own_looks[0])
                for group, look in zip(listed, own_looks, strict=True):
                    _draw(ax, group.of(curves[label]), low_high, spread, group.label, look)
            _draw_measured(ax, results, name, last, firsts)
            ax.set_ylabel(broken(axis_label(displayed(next(iter(results.values()))[name]))), fontsize=8)
        axes[-1, 0].set(xlim=(0.0, 100.0), xlabel=axis_label("stride", "%"))
        named = named_artists(figure)
        own_notes = {label: _notes(label, one, found, orders[label], last) for label, one in results.items()}
        bands = any(ax.collections for ax in axes.flat) and _shape(low_high)[1] not in named
        note = _together(own_notes, f"bands: {_shape(low_high)[1]}" if bands else "")
        columns = max(1, min(3, NOTE // (max(map(len, named)) + HANDLE)))
        titled: dict[str, Any] = {"title": note or None, "title_fontsize": 8, "alignment": "left"}
        legend(figure, "outside upper left", ncols=columns, **titled)
    return figure


def _by_person(results: Mapping[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """The results, split by person if several people have several designs: a mean would be of no person or design.

    The name of a person replaces the numbers that follow from who walks.
    """
    found: dict[str, xr.Dataset] = {}
    for label, data in results.items():
        members = data["status"].dims if "status" in data else ()
        if PERSON not in members or all(data.sizes[d] == 1 for d in members if d != PERSON):
            found[label] = data
            continue
        own = [str(n) for n, c in data.coords.items() if c.dims == (PERSON,)]
        for i, name in enumerate(data[PERSON].values):
            found[", ".join(filter(None, (label, str(name))))] = data.isel({PERSON: i}).drop_vars(own)
    if len(found) > MAX_NAMED:
        raise ValueError(f"over_stride tells up to {MAX_NAMED} people and results apart, got {len(found)}: select some")
    return found


def _check(data: xr.Dataset, last: int | None) -> None:
    """Checks that a result is whole and counted in strides, and has as many as are asked for."""
    dim = _samples_dim(data)
    per_stride, total = (int(data.attrs.get(name, 0)) for name in ("samples_per_stride", "strides"))
    if not (per_stride and total and dim in data.dims):
        raise ValueError(
            "nothing to draw over the stride: give a run or an ensemble with trajectories of a model with a stride, "
            "whose length is given in strides, such as simulate(Prosthesis(), strides=5)"
        )
    if not _has_all_samples(data, dim):
        raise ValueError(
            f"curves over the stride need all {per_stride * total + 1} samples of {total} strides, and there are "
            f"{data.sizes[dim]}: give the whole result (a file written without --last), and last=1 for its last stride"
        )
    if last is not None and checks.count("last", last) > total:
        raise ValueError(f"last must be at most {total}, the number of strides, got {last}")


def _samples_dim(data: xr.Dataset) -> str:
    return "time" if "time" in data.dims else "instant"


def _variables(results: Mapping[str, xr.Dataset], variables: str | Sequence[str]) -> list[str]:
    """The named variables, which every result must have, or those of the first one that all have."""
    names: list[str] = []
    for data in reversed([*results.values()]):  # each must have them
        dim, measured = _samples_dim(data), references(data)
        scalar = [name for name in scalar_histories(data, dim) if all(name in other for other in results.values())]
        own = [name for name in scalar if name in measured] or with_their_references(data, scalar)
        dims = data[scalar[0]].dims if scalar else (dim,)
        names = with_their_references(data, chosen(data, variables, own, [str(d) for d in dims], only=True))
    return names


def _groups(label: str, curves: Strides, orders: Int[np.ndarray, " members"], spread: Spread) -> list[_Group]:
    """How the curves of a result are grouped: together, but alternating strides, and a few members, separately."""
    named = lambda text: ", ".join(filter(None, (label, text)))
    if curves.what == "members":
        few = spread is None and 1 < len(curves.names) <= MAX_NAMED
        return [_Group(named(name), (name,)) for name in curves.names] if few else [_Group(label)]
    apart = [curves.names[i :: orders[0]] for i in range(min(orders[0], len(curves.names)))]
    if len(apart) <= 1:
        return [_Group(label)]
    shown = [f"{', '.join(own[:SHOWN])}{', ...' * (len(own) > SHOWN)}" for own in apart]
    return [
        _Group(named(f"{'strides' if len(own) > 1 else 'stride'} {text}"), own)
        for own, text in zip(apart, shown, strict=True)
    ]


def _orders(data: xr.Dataset, names: Sequence[str]) -> Int[np.ndarray, " members"]:
    """After how many strides the run, or each member, repeats, by its last strides: the most of any variable."""
    found = np.zeros(0, dtype=int)
    for name in names:
        curves, unit = _curves(data, name), displayed(data[name]).attrs.get("units")
        done = curves.completed.sum(axis=1).max(initial=0)  # members complete all or none
        first = max(min(TRANSIENT_STRIDES, done - 1), done - COMPARED_STRIDES)
        of_one = np.full(len(curves.values), IRREGULAR)
        if done > first:
            of_one = order(curves.values[:, first:done], np.degrees(PERIODICITY_TOLERANCE) if unit == "deg" else None)
        found = np.maximum(found, of_one) if found.size else of_one
    return found


@float64_default
def order(
    table: Float[np.ndarray, "members strides samples"], tolerance: float | None = None
) -> Int[np.ndarray, " members"]:
    """The number of strides, up to `MAX_ORDER` and half of those given, after which curves repeat.

    `IRREGULAR` (0) if they do not, or have gaps. See `jaxgait.analysis.gait.subharmonic_order`.

    Args:
        table: strides of each member, in the unit of the curve.
        tolerance: largest difference of strides that count as the same, in that unit; by default `REPEATED` of the
            range of each member's curve.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.strides import order
        >>> every_other = np.tile([[0.0, 1.0], [0.0, 1.2]], (4, 1))  # eight strides of two samples
        >>> print(order(np.stack([every_other, 0.0 * every_other])))
        [2 1]
    """
    extent = np.max(table, axis=(1, 2)) - np.min(table, axis=(1, 2))
    largest = REPEATED * extent if tolerance is None else np.full(len(table), tolerance)
    most = min(MAX_ORDER, table.shape[1] // 2)
    found = jax.vmap(lambda one, own: subharmonic_order(one, own, most))(jnp.asarray(table), jnp.asarray(largest))
    return np.maximum(np.asarray(found), IRREGULAR)


def _notes(
    label: str,
    data: xr.Dataset,
    found: Mapping[str, Mapping[str, Strides]],
    orders: Int[np.ndarray, " members"],
    last: int | None,
) -> list[str]:
    """What the picture says about a result."""
    one = next(iter(found.values()))[label]
    texts = [*fixed_values(data), *dict.fromkeys(text for curves in found.values() for text in curves[label].notes)]
    if one.what == "strides" and orders[0] > 1:
        apart = "drawn apart" if len(one.names) > 1 else "this is one of them"
        texts.append(f"strides alternate between {orders[0]} gaits (order {orders[0]}), {apart}")
    elif alternating := int(np.sum(orders > 1)):
        which = "last stride is one of these" if (last or 1) == 1 else "mean is none of these"
        texts.append(f"strides of {alternating} of {orders.size} members alternate (order 2 or more): their {which}")
    if (samples := int(data.attrs["samples_per_stride"])) < FEWEST:
        texts.append(f"only {samples} samples per stride: peaks may be cut off (at least {FEWEST} show them)")
    return texts


def _together(texts: Mapping[str, Sequence[str]], last: str) -> str:
    """The notes on all results: common ones once, others with the names of their results."""
    common = [text for text in next(iter(texts.values())) if all(text in others for others in texts.values())]
    own = {label: [text for text in listed if text not in common] for label, listed in texts.items()}
    whose = [f"{label}: {', '.join(listed)}" for label, listed in own.items() if listed]
    whole = [text.replace("± 1 SD", "±\u00a01\u00a0SD") for text in (*common, *whose, last) if text]
    return textwrap.fill("; ".join(whole), NOTE).replace("\u00a0", " ")


def _draw_measured(
    ax: Axes, results: Mapping[str, xr.Dataset], name: str, last: int | None, firsts: Sequence[Mapping[str, Any]]
) -> None:
    """The measured reference of a variable: with a band, or of several results in their colours if they differ."""
    curves = []
    for data in results.values():
        reference = references(data).get(name)
        if reference is None or not len((found := strides(data, reference, last)).values):
            return
        look = displayed(data[reference])
        curves.append(xr.DataArray(found.values, {"stride": found.percent}, ("curve", "stride"), look.name, look.attrs))
    if len(curves) == 1:
        draw_reference(ax, curves[0], "stride", band=True)
    else:
        draw_references(ax, [curve.mean("curve", keep_attrs=True) for curve in curves], "stride", firsts)


def strides(data: xr.Dataset, name: str, last: int | None = None) -> Strides:
    """The curves of a variable over the stride, angles in degrees; for the arguments see `over_stride`.

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
        >>> print(found.percent, found.values, found.names)
        [  0.  50. 100.] [[ 0. 60.  0.]] ('1',)
        >>> print(*found.notes, sep="; ")
        stride 1 of 2; the motion is still leaving its start; 1 of 2 strides left out: not completed
    """
    curves, total = _curves(data, name), int(data.attrs["strides"])
    if curves.members:
        what, count = "members", last or 1
        completed, names = curves.completed[:, -1], curves.names
        own = curves.values[:, total - count :]
    else:
        what, count = "strides", last or total - _transient(curves.completed[0])
        completed, names = curves.completed[0, total - count :], [str(n) for n in range(total - count + 1, total + 1)]
        own = curves.values[0, total - count :, None]
    if not completed.any():
        raise ValueError(f"no curves of {name!r}: none of {completed.size} {what} completed")
    known = np.isfinite(own).any(axis=(1, 2))
    values = of_known(np.nanmean, own[completed & known], axis=1)
    notes = [] if curves.members else _of_run(data, np.flatnonzero(completed) + total - count + 1, last)
    if curves.members and total > 1:
        notes.append(f"mean of the last {count} strides of each" if count > 1 else "last stride of each")
    if not completed.all() and (curves.members or not ending(data)):
        notes.append(f"{np.sum(~completed)} of {completed.size} {what} left out: not {COMPLETED_TEXT}")
    if empty := int(np.sum(completed & ~known)):
        notes.append(f"{name} has no value" + f" in {empty} of {completed.size} {what}" * (len(values) > 0))
    which = tuple(n for n, shown in zip(names, completed & known, strict=True) if shown)
    return Strides(values, what, tuple(notes), which)


class _Curves(NamedTuple):
    """A variable over all strides of each member, or of one run."""

    values: Float[np.ndarray, "members strides samples"]
    completed: Bool[np.ndarray, "members strides"]
    members: tuple[str, ...]
    """Dimensions of the members; none for a run."""
    names: list[str]
    """Names of the members."""


def _curves(data: xr.Dataset, name: str) -> _Curves:
    """All strides of a variable, angles in degrees."""
    x = displayed(data[name])
    x = x.broadcast_like(data["status"]) if "status" in data else x
    dim = "time" if "time" in x.dims else "instant"
    members = tuple(str(d) for d in x.dims if d != dim)
    per_stride, total = int(data.attrs["samples_per_stride"]), int(data.attrs["strides"])
    samples = np.arange(total)[:, None] * per_stride + np.arange(per_stride + 1)
    values = (flat(x.transpose(*members, dim), members) if members else x.values[None])[:, samples].astype(float)
    completed = _completed(data, members, samples[:, -1], len(values))
    names = member_names(x, members) if len(values) <= MAX_NAMED else [str(i) for i in range(len(values))]
    return _Curves(values, completed, members, names)


def _transient(completed: Bool[np.ndarray, " strides"]) -> int:
    """Number of first strides of a run that do not count, provided that it finished others."""
    return min(TRANSIENT_STRIDES, max(int(np.sum(completed)) - 1, 0))


def _completed(
    data: xr.Dataset, members: Sequence[str], ends: np.ndarray, size: int
) -> Bool[np.ndarray, "members strides"]:
    """Which strides (`ends`: their last samples) count: all or none of each member, or those that a run finished."""
    if members:
        codes = flat(data["status"], tuple(members)) if "status" in data else np.zeros(size)
        return np.repeat(status_codes(codes)[:, None] == Outcome.COMPLETED, len(ends), axis=1)
    reached = float(data["t_end"]) if "t_end" in data else float(data.attrs.get("t_end_s", math.inf))
    return (data["time"].values[ends] <= reached * (1.0 + WHOLE_WITHIN))[None]


def _of_run(run: xr.Dataset, shown: Int[np.ndarray, " strides"], last: int | None) -> list[str]:
    """Notes on a run: which strides count (numbers from 1), if not all do, how it ended early, and if it just began."""
    total, found = int(run.attrs["strides"]), []
    if len(shown) < total:
        which = f"strides {shown[0]} to {shown[-1]}" if len(shown) > 1 else f"stride {shown[0]}"
        found.append(f"{which} of {total}")
    if ended := ending(run):
        found.append(ended)
    if last is None and shown[0] <= TRANSIENT_STRIDES:
        found.append("the motion is still leaving its start")
    return found


def _percentiles(spread: Any) -> tuple[float, float] | None:
    if spread is None or (isinstance(spread, str) and spread == "sd"):
        return None
    entries = getattr(spread, "tolist", lambda: spread)()  # of an array, whichever library makes it
    ends: list[Any] = [checks.real(x) for x in entries] if isinstance(entries, Sequence) else []
    if len(ends) != 2 or None in ends or not 0.0 <= ends[0] < ends[1] <= 100.0:
        raise ValueError(f'spread must be "sd", two percentiles such as (5, 95), or None, got {checks.shown(spread)}')
    return ends[0], ends[1]


def _shape(low_high: tuple[float, float] | None) -> tuple[str, str]:
    """Names of the line and of the band."""
    return ("mean", "± 1 SD") if low_high is None else ("median", f"{low_high[0]:g} to {low_high[1]:g} %")


def _draw(
    ax: Axes, own: Strides, low_high: tuple[float, float] | None, spread: Spread, label: str, look: Mapping[str, Any]
) -> None:
    """Draws the curves of a group, with its label in the legend, or else what they are."""
    values, percent, number = own.values, own.percent, len(own.values)
    if number == 0:
        return
    if number == 1:
        alone = "simulated" if own.what == "strides" else "the only member"
        ax.plot(percent, values[0], **look, lw=1.5, label=label or alone)
        return
    if spread is None:
        lines = ax.plot(percent, values.T, **look, lw=0.8, alpha=max(FAINT, 1.0 / number**0.5))
        lines[0].set_label(f"{label} ({number} {own.what})" if label else f"{number} {own.what}")
        return
    line, band = _shape(low_high)
    if low_high is None:
        middle, apart = of_known(np.nanmean, values, axis=0), of_known(np.nanstd, values, axis=0, ddof=1)
        low, high = middle - apart, middle + apart
        if np.nanmin(values) >= 0.0:  # such as a force that only pushes
            low = np.maximum(low, 0.0)
        if np.nanmax(values) <= 0.0:
            high = np.minimum(high, 0.0)
    else:
        low, middle, high = of_known(np.nanpercentile, values, (low_high[0], 50.0, low_high[1]), axis=0)
    named = f"{label} ({line} of {number})" if label else f"{line} of {number} {own.what}"
    ax.plot(percent, middle, **look, lw=1.5, label=named)
    ax.fill_between(percent, low, high, color=look["color"], alpha=FAINT, lw=0, label=None if label else band)
