"""The identity of a search: what its checkpoint must agree with to be resumed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Float

from jaxgait.ensembles.fingerprint import RUNS_A_MEMBER
from jaxgait.ensembles.source import Sources, digest, value
from jaxgait.ensembles.spacing import logarithmic
from jaxgait.optimization.evaluate import SINCE
from jaxgait.optimization.scenarios import RobustGoal
from jaxgait.optimization.search_record import SearchRecord

WHERE = ("batch", "cluster", "devices", "workers")
"""Options of runs that do not affect their results."""
OF_GAITS = ("return_map", "gait")
"""Options of the search for a gait."""


def fingerprint(
    record: SearchRecord, gradient: str, options: Mapping[str, Any], x: Float[np.ndarray, "starts n"]
) -> dict[str, Any]:
    """Everything that affects the evaluations of a search, as far as it can be written to a file.

    Args:
        record: the search.
        gradient: description of the gradient; why it was chosen does not count.
        options: options of the runs.
        x: starts in the unit box, no dimension.
    """
    s = record.settings
    numbers = {"tolerance": s.tolerance, "seed": s.seed, "sign": s.sign}  # (a search with more iterations continues it)
    space = {"names": record.space.names, "low": record.space.low.tolist(), "high": record.space.high.tolist()}
    if names := logarithmic(record.space.bounds):
        space["logarithmic"] = names
    leaves = [np.asarray(x) for x in jax.tree.leaves(record.model) if eqx.is_array_like(x)]
    values = digest(*(f"{x.shape} {x.dtype}".encode() + x.tobytes() for x in leaves))  # `repr` shows no arrays
    texts = {"model": repr(record.model), "values": values, "method": record.method}
    texts["gradient"] = gradient.partition(SINCE)[0]
    measures = [getattr(m, "name", getattr(m, "__qualname__", "")) for m in s.goal.measures]
    limits = [str(one) for one in s.goal.limits]
    scenarios = s.goal.scenarios.identity() if isinstance(s.goal, RobustGoal) else None
    wanted = {"measures": measures, "limits": limits, "scenarios": scenarios, "source": _source(record, options)}
    given = {name: value(x) for name, x in options.items() if x is not None and name not in WHERE}
    wanted |= {name: given.pop(name) for name in OF_GAITS if name in given}
    return {**texts, **numbers, **space, **wanted, "run": given, "starts": x.tolist()}


def _source(record: SearchRecord, options: Mapping[str, Any]) -> str:
    """A digest of the code of the model, the measures and the solvers, and of the values that measures enclose.

    With a return map, it includes the code of the map's coordinates.
    """
    sources = Sources()
    sources.add_module(RUNS_A_MEMBER)
    laws = eqx.filter(record.model, eqx.is_array_like, inverse=True)  # numbers are compared by themselves
    coordinates = getattr(options.get("return_map"), "coordinates", None) or ()
    measures = (getattr(m, "function", m) for m in record.settings.goal.measures)
    for used in (laws, *measures, *coordinates):
        sources.add(used, "code")
    return digest(json.dumps(sources.digests(), sort_keys=True))
