"""What is missing in the results of an ensemble: members that failed, and measures without a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import jax
import numpy as np

from jaxgait.ensembles.addresses import member_of
from jaxgait.ensembles.labels import summary
from jaxgait.model import Model
from jaxgait.outcome import COMPLETED_TEXT, INVALID_TEXT, IncompleteRun, Outcome, failures
from jaxgait.solve.guards import without_event
from jaxgait.states import growth, out_of_bounds, state_variables
from jaxgait.support import xr
from jaxgait.support.checks import count_of, first_few, warn_user

NUMBERS_PER_READ = 1 << 20
"""Numbers of a result that are read from a store at a time."""


def undefined(data: xr.Dataset, names: Iterable[str]) -> dict[str, int]:
    """Number of completed members of a scan for which a result has no value, by name: means leave these members out.

    Args:
        data: result of `ensemble`.
        names: results, in their units. A result with several numbers per member has no value if all of them are
            missing; integers and booleans always have one, because a function may return -1.

    Examples:
        >>> from jaxgait import Bungee, ensemble
        >>> from jaxgait.ensembles.gaps import undefined
        >>> scan = ensemble(Bungee(), {"stiffness": [15.0, 40.0]}, duration=20.0, observe=["clearance"])
        >>> undefined(scan, ["clearance"])  # both runs reach the lowest point
        {'clearance': 0}
    """
    found = dict.fromkeys(names, 0)
    for part in parts_of(data, [name for name in found if data[name].dtype.kind in "fc"]):
        completed = part["status"] == Outcome.COMPLETED
        for name in (name for name in found if name in part and name != "status"):
            missing = part[name].isnull()
            found[name] += int((missing.all([d for d in missing.dims if d not in completed.dims]) & completed).sum())
    return found


def warn_of_early_ends(data: xr.Dataset, rejection: str, names: Sequence[str]) -> None:
    """Warns once of members that failed, or ended in their model's own ways without a value of some results.

    Args:
        data: result of `ensemble`.
        rejection: why the model rejects the first invalid member.
        names: results that only completed members have, in their units; means silently leave out the others.
    """
    ended = summary(data)
    completed, total = ended.get(COMPLETED_TEXT, 0), sum(ended.values())
    failed = bool(failures(data["status"].to_numpy()).any())
    if failed or not completed or (completed < total and names):
        why = {INVALID_TEXT: f" (the first: {rejection})"}
        others = "; ".join(f"{n}: {text}{why.get(text, '')}" for text, n in ended.items() if text != COMPLETED_TEXT)
        lost = f"; these members have no {first_few(names)}" if names else ""
        how = f"{completed} of {total} trajectories of {data.attrs['model']} completed; {others}"
        warn_user(how + lost, IncompleteRun)


def warn_of_gaps(data: xr.Dataset, names: Iterable[str]) -> None:
    """Warns once of results without a value for some completed members, which means would silently leave out."""
    found = {name: count for name, count in undefined(data, names).items() if count}
    if found:
        listed = ", ".join(f"{name} ({n} of {data['status'].size} members)" for name, n in found.items())
        why = "a longer run may contain what is measured"
        warn_user(f"not defined although the runs completed: {listed}; {why}", IncompleteRun)


def warn_of_starts(model: Model, beyond: Mapping[str, int]) -> None:
    """Warns of events that did not happen because their guards began at or below zero; `beyond` counts the members."""
    many = {name: count_of(n, "member", "members") for name, n in beyond.items() if n}
    sank = "was not above zero at the start, and lower at the end"
    found = [f"that of {name!r} {sank}, in {members}" for name, members in many.items()]
    if found:
        warn_user(without_event(type(model), "; ".join(found)))


def warn_of_grown(model: Model, values: Mapping[str, np.ndarray], grown: Mapping[str, int]) -> None:
    """Warns of the state's component that ends out of bounds in the most members; `grown` counts these by "NAME_end".

    Components that start out of bounds in some member do not count. `values`: (members, ...), in their units.
    """
    if not any(grown.values()):
        return
    start = state_variables(jax.vmap(lambda own: member_of(model, own)[1])(dict(values)))
    many = {name: grown[f"{name}_end"] for name, x in start.items() if not np.any(out_of_bounds(x))}
    if any(many.values()):
        name = max(many, key=lambda one: many[one])
        warn_user(growth(model, name, f" in {count_of(many[name], 'member', 'members')}"))


def parts_of(data: xr.Dataset, names: Sequence[str]) -> Iterator[xr.Dataset]:
    """Yields status and results of members in parts: a store is read once, piece by piece, and not kept in memory."""
    if not names:
        return iter(())
    if not data["status"].dims:
        return iter([data])
    dim, size = max(((str(d), n) for d, n in data["status"].sizes.items()), key=lambda one: one[1])
    rows = max(1, NUMBERS_PER_READ * size // max(1, *(data[name].size for name in names)))
    chosen = data[["status", *names]].reset_coords(drop=True)
    return (chosen.isel({dim: slice(start, start + rows)}) for start in range(0, size, rows))
