"""Checks the derivatives of an ensemble: are they finite, not all 0, and consistent with the values of neighbours?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxgait.ensembles.gaps import parts_of
from jaxgait.outcome import Outcome
from jaxgait.solve.solvers import is_implicit
from jaxgait.support import xr
from jaxgait.support.checks import first_few, listed, warn_user

LARGEST_GRADIENT = 1e30
"""Magnitude, in SI units, above which a derivative counts as numerically lost."""
MAX_COMPARED = 512
"""Largest number of members that are compared with their neighbours."""
NUMBERS_COMPARED = 1 << 24
"""Most values and derivatives to compare: fewer members of long histories, which may be in a store."""
MIN_PAIRS = 4
"""Least number of pairs of neighbours; fewer prove nothing."""
MAX_DEVIATION = 0.1
"""Largest deviation of a change from what the mean slope predicts, relative to the larger of these two changes."""
IGNORED_CHANGE = 1e-3
"""Deviations up to this fraction of the range of the values are ignored."""
_MEMBER = "_member"
"""The dimension of members in a row, whatever their dimensions; no model has it."""
JUMPS = "only through where a law jumps, as jnp.where(t > onset, ...) does: make the jump a transition"
"""In words: how results may depend on a parameter by which all their derivatives are 0."""


def warn_of_gradients(data: xr.Dataset, values: Mapping[str, np.ndarray]) -> None:
    """Warns of derivatives that are not finite, all exactly 0, or at odds with the differences between members.

    Step control sees only the values; a result that is constant between jumps, such as a count, has no slope; and where
    a law jumps at a state, the derivative lacks what the jump contributes as it shifts.

    Args:
        data: result of `ensemble`.
        values: the values in which the members differ, (members, ...), in the units of the parameters.
    """
    lost, slopes, status = {}, {}, data["status"]
    for gradient in (n for n, x in data.items() if str(n).endswith("_gradient") and x.dims[-1:] == ("parameter",)):
        name, members, found = str(gradient).removesuffix("_gradient"), 0, np.zeros(data.sizes["parameter"], int)
        for part in parts_of(data, [name, str(gradient)]):
            if count := _lost(part["status"], part[name], part[gradient]):
                lost[name] = lost.get(name, 0) + count
            completed, own = part["status"] == Outcome.COMPLETED, part[gradient]
            members += int((completed & (abs(own) < np.inf)).any([d for d in own.dims if d not in status.dims]).sum())
            sloped = (own != 0.0) & (completed | own.notnull())
            found += sloped.sum([d for d in own.dims if d != "parameter"]).to_numpy()
        if members > 1:  # one may be at an extremum
            slopes[name] = found
    if slopes:
        _warn_of_zeros(slopes, [str(name) for name in data["parameter"].values])
        _warn_of_contradictions(data, values, [name for name, found in slopes.items() if found.any()])
    if lost:
        listed = ", ".join(f"{name} ({n} of {status.size} members)" for name, n in lost.items())
        why = "explicit steps lost it: try solver='Ros4'"
        if is_implicit(data.attrs.get("solver", "")):  # which differentiates forces twice
            why = "a force has no finite second derivative (as max(d, 0)**1.5 has none for d <= 0)"
        message = f"gradients are not finite or larger than {LARGEST_GRADIENT:g}: {listed}; "
        warn_user(f"{message}the measure has no derivative there, or {why}")


def _warn_of_zeros(slopes: Mapping[str, np.ndarray], parameters: Sequence[str]) -> None:
    """Warns of results without any slope, and of parameters by which no other result has one; `slopes` counts them."""
    if flat := [name for name, found in slopes.items() if not found.any()]:
        what = f"all derivatives of {', '.join(flat)} are exactly 0: it is a count (of samples, steps, events)"
        warn_user(f"{what}, which has none, or it does not depend on {', '.join(parameters)}, or {JUMPS}")
    others = [found for found in slopes.values() if found.any()]
    if still := [name for name, n in zip(parameters, np.sum(others, axis=0), strict=True) if not n] if others else []:
        what, them = f"all derivatives by {first_few(still)} are exactly 0", "them" if still[1:] else "it"
        warn_user(f"{what}: nothing observed in these runs depends on {them} to first order, or {JUMPS}")


def _lost(status: xr.DataArray, value: xr.DataArray, gradient: xr.DataArray) -> int:
    """The number of members with a value, but without a derivative."""
    wrong = ~(abs(gradient) < LARGEST_GRADIENT) & np.isfinite(value) & (status == Outcome.COMPLETED)
    return int(wrong.any([d for d in wrong.dims if d not in status.dims]).sum())


def _warn_of_contradictions(data: xr.Dataset, values: Mapping[str, np.ndarray], names: Sequence[str]) -> None:
    """Warns of results whose derivatives contradict the differences between most neighbouring members."""
    if not (names and data["status"].dims):
        return
    part, own = _completed_members(data, values, names)
    by = [str(n) for n in data["parameter"].values if n in own and values[n].ndim == 1 and len(np.unique(own[n])) > 1]
    if not by:
        return
    x, found = np.concatenate([own[n] for n in by], axis=1), {}
    distance = _distances(x, [x for n, x in own.items() if n not in by])
    for k, parameter in enumerate(by):
        pairs = _neighbours(x[:, k], distance)
        for name in names if len(pairs) >= MIN_PAIRS else ():
            value = part[name].to_numpy().reshape(len(x), -1)
            slopes = part[f"{name}_gradient"].sel(parameter=by).to_numpy().reshape(*value.shape, -1)
            if 2 * _contradicted(x, np.where(np.isfinite(value), value, np.nan), slopes, pairs).sum() > len(pairs):
                found.setdefault(name, []).append(parameter)
    if found:
        what = first_few([f"{name} by {listed(wrong, 'and')}" for name, wrong in found.items()])
        why = "as where a law jumps at a state (make it a transition), in histories that jump and in irregular motion"
        warn_user(f"derivatives disagree with the differences between neighbouring members, {why}: {what}")


def _completed_members(
    data: xr.Dataset, values: Mapping[str, np.ndarray], names: Sequence[str]
) -> tuple[xr.Dataset, dict[str, Float[np.ndarray, "members _"]]]:
    """Those of some evenly spaced members that completed: results, along their first dimension, and values."""
    dims, shape = data["status"].dims, data["status"].shape
    part = data[["status", *(one for name in names for one in (name, f"{name}_gradient"))]].reset_coords(drop=True)
    most = min(MAX_COMPARED, NUMBERS_COMPARED * math.prod(shape) // sum(x.size for x in part.values()))
    per_axis = int(most ** (1.0 / max(1, sum(n > 1 for n in shape))))
    chosen = [np.linspace(0, n - 1, min(n, per_axis)).round().astype(int) for n in shape]
    part = part.isel(dict(zip(dims, chosen, strict=True))).compute().stack({_MEMBER: dims}, create_index=False)
    completed = part["status"].to_numpy() == Outcome.COMPLETED
    part = part.isel({_MEMBER: completed}).transpose(_MEMBER, ..., "parameter")
    own = {name: x.reshape(*shape, -1)[np.ix_(*chosen)] for name, x in values.items()}
    return part, {name: x.reshape(-1, x.shape[-1])[completed] for name, x in own.items()}


def _distances(
    x: Float[np.ndarray, "members n"], others: Sequence[Float[np.ndarray, "members _"]]
) -> Float[np.ndarray, "members members"]:
    """Distances relative to the ranges of the parameters; infinite between members of which `others` differ."""
    squared = sum((one[:, None] - one) ** 2 for one in (x / np.ptp(x, axis=0)).T)
    alike = np.ones((len(x), len(x)), bool)
    for other in others:
        group = np.unique(other, axis=0, return_inverse=True)[1].ravel()
        alike &= group[:, None] == group
    return np.where(alike, np.sqrt(squared), np.inf)


def _neighbours(
    x: Float[np.ndarray, " members"], distance: Float[np.ndarray, "members members"]
) -> Int[np.ndarray, "pairs 2"]:
    """Pairs of each member and the nearest one that differs in the parameter `x`; no pair occurs twice."""
    distance = np.where(x[:, None] != x, distance, np.inf)
    first = np.flatnonzero(distance.min(axis=1) < np.inf)
    return np.unique(np.sort(np.stack([first, distance[first].argmin(axis=1)], axis=1), axis=1), axis=0)


@np.errstate(invalid="ignore")  # infinite derivatives
def _contradicted(
    x: Float[np.ndarray, "members n"],
    values: Float[np.ndarray, "members k"],
    slopes: Float[np.ndarray, "members k n"],
    pairs: Int[np.ndarray, "pairs 2"],
) -> Bool[np.ndarray, " pairs"]:
    """Whether the change between two members deviates too much from what the mean of their slopes predicts.

    It may deviate at least as much as the predictions of the two slopes differ: however far apart the members are, the
    change of a function that bends only one way lies between these.
    """
    low, high = pairs.T
    change = values[high] - values[low]
    first, last = np.einsum("epkn,pn->epk", slopes[pairs.T], x[high] - x[low])
    known = np.isfinite(change) & np.isfinite(first) & np.isfinite(last)
    size = lambda numbers: np.linalg.norm(np.where(known, numbers, 0.0), axis=-1)
    off, predicted = size(change - (first + last) / 2.0), (first + last) / 2.0
    least = np.maximum(MAX_DEVIATION * np.maximum(size(change), size(predicted)), size(last - first))
    span = np.fmax.reduce(values) - np.fmin.reduce(values)
    return off > np.maximum(least, IGNORED_CHANGE * size(span))
