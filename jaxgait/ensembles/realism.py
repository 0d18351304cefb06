"""Says where results lie outside of what the measures of a model expect of realistic runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import xarray as xr

from jaxgait.ensembles.members import MOTIONS
from jaxgait.measure import Expected, Measure, Measures, known
from jaxgait.model import Model
from jaxgait.outcome import Outcome
from jaxgait.run import Sampling
from jaxgait.units import with_unit


def expecting(model: Model, sampling: Sampling) -> Measures | None:
    """The measures of a model that expect values of realistic runs, those that a sampling allows; None without any.

    Examples:
        >>> from jaxgait import Bungee, Prosthesis
        >>> from jaxgait.ensembles.realism import expecting
        >>> from jaxgait.run import Sampling
        >>> print([measure.name for measure in expecting(Prosthesis(), Sampling(strides=5, samples=100)).members])
        ['mean_ground_force']
        >>> print(expecting(Bungee(), Sampling(None, samples=100)))
        None
    """
    members = tuple(measure for measure in known(model).values() if measure.expected is not None)
    possible = Measures(members).possible(sampling)
    return possible if possible.members else None


def unrealistic(model: Model, data: xr.Dataset) -> list[str]:
    """Sentences on measures whose values in a run, or in completed members of a scan, are not those of realistic runs.

    A correlation or a timing may be excellent in a motion that has little to do with walking. Nothing is said of
    members that walk with motions of different people, for whom the model expects different values.

    Args:
        model: the mechanism, of whose person values are expected.
        data: a result of `simulate` or `ensemble` with some of its measures.

    Examples:
        >>> import xarray as xr
        >>> from jaxgait import Prosthesis
        >>> from jaxgait.ensembles.realism import unrealistic
        >>> light = xr.Dataset({"mean_ground_force": ((), 50.0, {"units": "N"})}, attrs={"status": 0})
        >>> print(unrealistic(Prosthesis(), light)[0].partition(" (")[0])
        mean_ground_force is 50 N, where 209 to 626 N are expected
    """
    if MOTIONS in data.attrs:
        return []
    measures = [measure for name, measure in known(model).items() if name in data]
    return [text for measure in measures for text in _outside(model, measure, data)]


def _outside(model: Model, measure: Measure, data: xr.Dataset) -> Iterator[str]:
    """The sentence on one measure, if it expects anything and some values are others."""
    if measure.expected is None:
        return
    expected: Expected = measure.expected(model)
    values = np.asarray(data[measure.name], float)
    completed = np.asarray(data["status"] if "status" in data else data.attrs["status"]) == Outcome.COMPLETED
    known_values = completed & np.isfinite(values)
    outside = known_values & ((values < expected.low) | (values > expected.high))
    if not outside.any():
        return
    wanted = f"{expected.low:.3g} to {with_unit(f'{expected.high:.3g}', measure.unit)}"
    if values.size == 1:
        value = with_unit(f"{values.item():.3g}", measure.unit)
        yield f"{measure.name} is {value}, where {wanted} are expected {expected.why}"
    else:
        counts = f"{outside.sum()} of {known_values.sum()} completed members"
        yield f"{measure.name} of {counts} is not the {wanted} that are expected {expected.why}"
