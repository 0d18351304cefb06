"""Global sensitivity of measures to parameters: variance-based indices from one ensemble, and local slopes.

Each parameter is uniform over its range, or has a distribution, and is independent of the others: among correlated
parameters no division of the variance is unique. The first-order index of a parameter is the share of a measure's
variance that fixing the parameter alone would remove; the total index is the share that remains while it alone varies,
with all interactions (Sobol', Math. Comput. Simul. 55, 2001). Their difference is due to interactions. Estimators:
Saltelli et al., Comput. Phys. Commun. 181 (2010), table 2: (b) for the first order and Jansen's (f) for the total; d
parameters and n rows are n (d + 2) members. Confidence: percentiles of a bootstrap over rows.
(`scipy.stats.sobol_indices` has the same estimators, but cannot leave out rows.) Estimates of small indices may be
negative, within the error of the sample; a warning says where that error is so large that they mean nothing.

Rows with a failed member, with a measure that is not finite there, or with one that is not defined for a member that
ended early, are left out of the indices of that measure, which then apply to the part of the sample where it is
defined; `rows` counts the remaining ones. With `invalid="mark"` so are rows with a member that the model rejects, such
as in the tail of a distribution below zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float

from jaxgait.ensembles import ensemble, sobol, zipped
from jaxgait.ensembles.columns import Axes, is_table, named
from jaxgait.ensembles.conversion import value_in_unit
from jaxgait.ensembles.driver import check_run
from jaxgait.ensembles.labels import origin
from jaxgait.ensembles.members import SAMPLED
from jaxgait.ensembles.spacing import (
    Log,
    deviations,
    is_distribution,
    range_text,
    ranges_text,
    sobol_points,
    spread,
)
from jaxgait.measure import Measure, Measures, observer
from jaxgait.model import Model, as_model
from jaxgait.outcome import NoResult, Outcome, failures
from jaxgait.parameters import ParameterError, parameter_info
from jaxgait.solve.schemes import scheme_for
from jaxgait.support import checks

MIN_ROWS = 16
"""Least number of rows for an index to be meaningful."""
NEGLIGIBLE_ROUNDINGS = 16
"""A measure whose deviation is at most this many roundings of its largest value does not vary."""


def sobol_indices(
    model: Model,
    over: Axes,
    observe: Any,
    *,
    count: int = 256,
    seed: int = 0,
    confidence: float = 0.95,
    resamples: int = 200,
    local: bool | None = None,
    **run: Any,
) -> xr.Dataset:
    """First-order and total Sobol indices of measures over parameters, with confidence intervals.

    Args:
        model: the mechanism; its other parameters stay as they are.
        over: by dotted parameter name, in the parameter's unit: a range (low, high), in which it is uniform;
            `jaxgait.Log(low, high)`, in which its logarithm is uniform; or a frozen distribution, such as
            `scipy.stats.norm(loc=70, scale=5)`. Parameters are independent of each other.
        observe: measures or their names, each one number of a run.
        count: number of rows of the sample (best a power of two); the ensemble has 2 + parameters members per row.
        seed: seed of the sample and of the bootstrap.
        confidence: confidence level of the intervals.
        resamples: number of resamples of the bootstrap.
        local: whether to also differentiate the measures at the centre, the medians of the parameters; None: if the
            scheme can.
        run: further arguments of `jaxgait.ensemble`: strides, duration, rtol, store, invalid, ...

    Returns:
        Over `measure` and `parameter`: `first`, `total` (no dimension), their intervals `first_interval` and
        `total_interval` along `bound`; with `local`, `slope` (the measure's unit per unit of the parameter) at the
        centre, and `linear`, the shares of the variance if the measure were linear with these slopes (in the logarithm
        for `Log`; no dimension). The coordinate `over` says how each parameter varied.
        Over `measure`: `mean` and `deviation` in its unit, and the number of `rows` used. The attributes are those of
        the ensemble (model, parameters, scheme, tolerances, versions, how it was `sampled`), and the arguments above.

    Warns:
        UserWarning: if rows are left out, and if the interval of an index is outside 0 to 1, or longer than that.

    Raises:
        jaxgait.parameters.ParameterError: for unknown and correlated parameters, impossible ranges, and, unless
            `invalid="mark"`, values that the model rejects.
        jaxgait.measure.MeasureError: for a measure that the model does not define.
        TypeError: for anything but a model, and for a function instead of a measure.
        ValueError: for impossible counts, for a measure that is not one number, and for arguments that `ensemble` does
            not have or that are chosen here.
        jaxgait.outcome.NoResult: if too few rows succeeded.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.analysis.sensitivity import sobol_indices
        >>> box = {"mass": (60.0, 80.0), "quadratic_drag": (0.99, 1.01)}
        >>> found = sobol_indices(Bungee(), box, "clearance", count=16, duration=20.0, local=False)
        >>> found.total.idxmax("parameter").item()
        'mass'
    """
    check_run("sobol_indices", run, allowed=("store", "repair", "invalid"))
    measures = _measures(as_model(model), observe)
    checks.count("count", count, least=MIN_ROWS)
    checks.count("resamples", resamples)
    checks.positive("confidence", confidence, below=1.0)
    given = _independent(over)
    names = list(sobol(given, 1, seed=seed).values)  # checks ranges and seed
    ranges = {name: _in_unit(model, name, given[name]) for name in names}
    _check_variances(ranges)
    columns = spread([*ranges.values()], _points(len(names), count, seed))
    members = zipped({name: columns[..., k].ravel() for k, name in enumerate(names)})
    members = replace(members, attrs={SAMPLED: f"sobol_indices({ranges_text(ranges)}, count={count}, seed={seed})"})
    centre = dict(zip(names, spread([*ranges.values()], np.full(len(names), 0.5)), strict=True))
    if local is None:
        local = not scheme_for(as_model(model), run.get("scheme")).no_gradient
    slopes = _local(model, centre, deviations([*ranges.values()]), measures, run) if local else xr.Dataset()
    found = ensemble(model, members, observe=list(measures), **run)
    seen = [_defined(m, found).reshape(2 + len(names), count) for m in measures]
    parts = [_of_one(m, values, seed, confidence, resamples) for m, values in zip(measures, seen, strict=True)]
    data = xr.concat(parts, "measure").assign_coords(measure=[m.name for m in measures], parameter=names)
    data["bound"] = ["low", "high"]
    _warn_of_rows(data, count)
    _warn_of_impossible(data)
    units = {"parameter_unit": ("parameter", [parameter_info(model, n).unit for n in names])}
    units["measure_unit"] = ("measure", [m.unit for m in measures])
    units["over"] = ("parameter", [range_text(one) for one in ranges.values()])
    own = {"members": members.size, "rows": count, "seed": seed, "confidence": confidence, "resamples": resamples}
    return data.merge(slopes).assign_coords(units).assign_attrs(origin(found) | own)


def _check_variances(ranges: Mapping[str, Any]) -> None:
    """Checks that every distribution has a variance, of which indices are the shares."""
    for name, one in ranges.items():
        if is_distribution(one) and not np.isfinite(one.std()):
            raise ParameterError(
                f"the distribution of {name!r} has no finite variance, of which Sobol indices are shares: "
                f"{range_text(one)}; give one with lighter tails, or a range"
            )


def _independent(over: Any) -> dict[str, Any]:
    """The range or the distribution of each parameter by name, from a dict or pairs as `sobol` takes them.

    Raises:
        ParameterError: for parameters without a range or distribution of their own.
    """
    parts: Any = over.items() if isinstance(over, Mapping) and not is_table(over) else over
    if not isinstance(over, Mapping | list | tuple) or not all(
        isinstance(one, tuple) and len(one) == 2 for one in parts
    ):
        parts = [(None, over)]
    if not all(isinstance(name, str) and (hasattr(x, "ppf") or not is_distribution(x)) for name, x in parts):
        raise ParameterError(
            "sobol_indices takes a range or a distribution of each parameter by name, all independent: among "
            "correlated parameters no division of the variance is unique; run their samples, ensemble(model, table), "
            "and correlate the results with them"
        )
    return named(parts)


def _in_unit(model: Model, name: str, pair: Any) -> Any:
    """A range of a parameter in its unit, logarithmic if it was, or its distribution."""
    if is_distribution(pair):
        return pair
    low, high = value_in_unit(model, name, pair)
    return Log(low, high) if isinstance(pair, Log) else (low, high)


def indices(
    first: Float[np.ndarray, " n"], second: Float[np.ndarray, " n"], mixed: Float[np.ndarray, "d n"]
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
    """First-order and total Sobol indices (no dimension) from values of a measure, in any unit.

    Args:
        first: at the points of one sample.
        second: at those of another, independent one.
        mixed: at the points of the first, with parameter i taken from the second.

    Returns:
        Zero for a measure that only varies by rounding, in the precision of `first`.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.analysis.sensitivity import indices
        >>> first, second = np.array([-1.0, 1.0, -1.0, 1.0]), np.array([-1.0, -1.0, 1.0, 1.0])
        >>> first_order, total = indices(first, second, np.stack([second, first]))  # a measure equal to parameter 1
        >>> print(first_order, total)
        [1. 0.] [1. 0.]
    """
    rounding = np.finfo(first.dtype if first.dtype.kind == "f" else float).eps
    first, second, mixed = (x.astype(float) for x in (first, second, mixed))
    centre = 0.5 * (first.mean() + second.mean())
    a, b, ab = first - centre, second - centre, mixed - centre
    variance = float(np.var(np.concatenate([a, b])))
    if variance <= (NEGLIGIBLE_ROUNDINGS * rounding * max(np.abs(first).max(), np.abs(second).max())) ** 2:
        return np.zeros(len(mixed)), np.zeros(len(mixed))
    return (b * (ab - a)).mean(axis=1) / variance, 0.5 * ((a - ab) ** 2).mean(axis=1) / variance


def _measures(model: Model, observe: Any) -> tuple[Measure, ...]:
    chosen = observer(model, observe)
    if not isinstance(chosen, Measures):
        raise TypeError(f"sobol_indices needs measures or their names, got {observe!r}: make a Measure of the function")
    arrays = [m.name for m in chosen.members if m.dims]
    if arrays:
        raise ValueError(f"{arrays[0]} is an array: sobol_indices needs measures of one number")
    return chosen.members


def _defined(measure: Measure, found: xr.Dataset) -> Float[np.ndarray, " members"]:
    """The values of a measure, NaN where it is not defined."""
    status = found.status.values
    defined = ~failures(status) if measure.early else status == Outcome.COMPLETED
    values = found[measure.name].values
    return np.where(defined, values if values.dtype.kind == "f" else values.astype(float), np.nan)


def _points(d: int, rows: int, seed: int) -> Float[np.ndarray, "sets rows d"]:
    """Points of the unit box: two samples, and the first with one parameter after the other from the second."""
    both = sobol_points(2 * d, rows, seed)
    first, second = both[:, :d], both[:, d:]
    mixed = np.where(np.eye(d, dtype=bool)[:, None], second, first)
    return np.concatenate([first[None], second[None], mixed])


def _of_one(measure: Measure, values: np.ndarray, seed: int, confidence: float, resamples: int) -> xr.Dataset:
    """The indices of one measure from its values, (sets, rows), NaN where a run failed."""
    kept = values[:, np.isfinite(values).all(axis=0)]
    n = kept.shape[1]
    if n < MIN_ROWS:
        raise NoResult(
            f"all members have {measure.name} in only {n} of {values.shape[1]} rows, {MIN_ROWS} are needed: use "
            "narrower ranges, more rows, or runs long enough to contain what it measures"
        )
    split = lambda x: indices(x[0], x[1], x[2:])
    rng = np.random.default_rng(seed)
    drawn = np.array([split(kept[:, rng.integers(n, size=n)]) for _ in range(resamples)])
    tails = 0.5 * (1.0 - confidence)
    interval = np.moveaxis(np.quantile(drawn, [tails, 1.0 - tails], axis=0), 0, -1)
    (first, total), sample = split(kept), kept[:2].astype(float)
    across, along = ("parameter",), ("parameter", "bound")
    label = lambda text: {"units": "1", "long_name": text}
    return xr.Dataset(
        {
            "first": (across, first, label("first-order Sobol index")),
            "total": (across, total, label("total Sobol index")),
            "first_interval": (along, interval[0], label("confidence interval of the first-order index")),
            "total_interval": (along, interval[1], label("confidence interval of the total index")),
            "mean": ((), sample.mean(), {"long_name": "mean over the sample, in the measure's unit"}),
            "deviation": ((), sample.std(), {"long_name": "standard deviation over the sample, in the measure's unit"}),
            "rows": ((), n, label("rows whose members all have the measure")),
        }
    )


def _warn_of_rows(data: xr.Dataset, count: int) -> None:
    """Warns of measures whose indices apply to a part of the sample only."""
    fewer = [
        f"{name} ({count - n})" for name, n in zip(data.measure.values, data.rows.values, strict=True) if n < count
    ]
    if fewer:
        checks.warn_user(
            f"of {count} rows, those with a member without a value (failed, ended early, not valid) are left out: "
            f"{', '.join(fewer)}; the indices apply to the remaining part of the ranges, in which the parameters are "
            "no longer independent"
        )


def _warn_of_impossible(data: xr.Dataset) -> None:
    """Warns of indices whose interval contains no possible value, or is longer than that of all possible ones."""
    for measure in data.measure.values:
        found = []
        for kind, order in (("first", "first-order"), ("total", "total")):
            one = data.sel(measure=measure)
            for name, value, (low, high) in zip(
                data.parameter.values, one[kind].values, one[f"{kind}_interval"].values, strict=True
            ):
                if high < 0.0 or low > 1.0 or high - low > 1.0:
                    found.append(f"the {order} index of {name} is {value:.2g} ({low:.2g} to {high:.2g})")
        if found:
            checks.warn_user(
                f"the sample does not determine the Sobol indices of {measure}, which lie between 0 and 1: "
                f"{'; '.join(found)}. Give a larger count; a measure with a few extreme values needs many rows"
            )


def _local(
    model: Model, centre: dict[str, float], deviation: np.ndarray, measures: tuple[Measure, ...], run: Mapping[str, Any]
) -> xr.Dataset:
    """Slopes at the centre, and the shares of the variance that they would give a linear measure.

    Both are NaN for a measure of integers, which has no gradient.
    """
    one = zipped({name: [x] for name, x in centre.items()})
    alone = {**run, "store": None, "repair": False}
    found = ensemble(model, one, observe=list(measures), gradient=list(centre), **alone)
    known = lambda m: found.get(f"{m.name}_gradient", xr.DataArray(np.full(len(centre), np.nan)))
    slopes = np.array([known(m).values.ravel() for m in measures])
    variance = (slopes * deviation) ** 2
    total = variance.sum(axis=1, keepdims=True)
    linear = np.divide(variance, total, out=np.zeros_like(variance), where=total != 0.0)
    across = ("measure", "parameter")
    text = "slope at the centre, in the measure's unit per unit of the parameter"
    share = {"units": "1", "long_name": "share of the variance if the measure were linear"}
    return xr.Dataset({"slope": (across, slopes, {"long_name": text}), "linear": (across, linear, share)})
