"""Says where results lie outside of what the measures of a model expect of realistic runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jaxgait.contents import restored
from jaxgait.ensembles.walks import recorded
from jaxgait.measure import Expected, Measure, Measures, known
from jaxgait.model import Model
from jaxgait.outcome import Outcome
from jaxgait.run import Sampling
from jaxgait.support import xr
from jaxgait.support.checks import first_few
from jaxgait.support.units import with_unit

NAMED = 5
"""Largest number of motions with the same expected values that a sentence names."""


def expecting(model: Model, sampling: Sampling) -> Measures | None:
    """The measures of a model with values expected of realistic runs, if the sampling allows them; None without any.

    Examples:
        >>> from jaxgait import Bungee, Prosthesis
        >>> from jaxgait.ensembles.realism import expecting
        >>> from jaxgait.run import Sampling
        >>> print([measure.name for measure in expecting(Prosthesis(), Sampling(strides=5, samples=100)).members])
        ['mean_ground_force', 'peak_ground_force']
        >>> print(expecting(Bungee(), Sampling(None, samples=100)))
        None
    """
    members = tuple(measure for measure in known(model).values() if measure.expected is not None)
    possible = Measures(members).possible(sampling)
    return possible if possible.members else None


def unrealistic(model: Model, data: xr.Dataset) -> list[str]:
    """Sentences on measures whose values in a run, or in completed members of a scan, are not those of realistic runs.

    A correlation or a timing may be excellent in a motion that has little to do with walking. Members with motions of
    different people are each compared with the values expected for that person.

    Args:
        model: the mechanism; if the members share one motion, the values are those expected for its person.
        data: a result of `simulate` or `ensemble` with some of its measures.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait import Prosthesis
        >>> from jaxgait.ensembles.realism import unrealistic
        >>> light = xr.Dataset({"mean_ground_force": ((), 50.0, {"units": "N"})}, attrs={"status": 0})
        >>> print(unrealistic(Prosthesis(), light)[0].partition(" (")[0])
        mean_ground_force is 50 N, where 209 to 626 N are expected
    """
    measures = [measure for name, measure in known(model).items() if name in data and measure.expected is not None]
    return [text for measure in measures for text in _outside(model, measure, data)]


def _outside(model: Model, measure: Measure, data: xr.Dataset) -> Iterator[str]:
    """Yields a sentence for each group of members with the same expected values, if some lie outside of these."""
    assert measure.expected is not None
    motions = recorded(data)
    if motions is None:
        yield from _sentence(measure, measure.expected(model), data)
        return
    walkers = [restored(model, {"drive": record}) for record in motions.values.flat]
    expected = [measure.expected(walker) for walker in walkers]
    alike = {one: [i for i, other in enumerate(expected) if other == one] for one in expected}
    for one, which in alike.items():
        if motions.ndim == 0 or len(alike) == 1:
            yield from _sentence(measure, one, data)
        else:
            (dim,) = motions.dims
            part = data.isel({dim: which})
            yield from _sentence(measure, one, part, f" for {dim} {first_few(list(map(str, part[dim].values)), NAMED)}")


def _sentence(measure: Measure, expected: Expected, data: xr.Dataset, of: str = "") -> Iterator[str]:
    """Yields the sentence on members, named by `of`, if some of their values are outside of the expected range."""
    values = np.asarray(data[measure.name], float)
    completed = np.asarray(data["status"] if "status" in data else data.attrs["status"]) == Outcome.COMPLETED
    known_values = completed & np.isfinite(values)
    outside = known_values & ((values < expected.low) | (values > expected.high))
    if not outside.any():
        return
    wanted = f"{expected.low:.3g} to {with_unit(f'{expected.high:.3g}', measure.unit)}"
    if values.size == 1:
        value = with_unit(f"{values.item():.3g}", measure.unit)
        yield f"{measure.name}{of} is {value}, where {wanted} are expected {expected.why}"
    else:
        counts = f"{outside.sum()} of {known_values.sum()} completed members{of}"
        yield f"{measure.name} of {counts} is not the {wanted} that are expected {expected.why}"
