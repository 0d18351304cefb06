"""What a search means, in plain words: how sure its best design is, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jaxgait.ensembles.spacing import Spacing
from jaxgait.optimization.optimum import (
    AGREEMENT,
    BOUND,
    CONSTANT,
    FAILED,
    NO_OPTIMUM,
    OBJECTIVE,
    ON_THE_WAY,
    UNSEARCHED,
    Local,
    Optimum,
)
from jaxgait.support.units import with_unit

RIDGE_RATIO = 10.0
"""Ratio of curvatures above which a combination of parameters is much less certain than the others."""
LEADING_SHARE = 0.3
"""Smallest component of a direction in the unit box whose parameter is named as part of it."""
BOUND_MARGIN = 1e-6
"""Distance from a bound, as a fraction of the bounds, below which a design lies on it."""
CLOSE = 0.2
"""Distance, as a fraction of the bounds, up to which failing runs are close to a design."""

HARDLY_STABLE = 0.9
"""Modulus of the largest Floquet multiplier at which a gait is too close to instability to rely on its stability."""


def conclusions(found: Optimum) -> Iterator[str]:
    """Sentences on the best design of a search within bounds: how sure it is, and what to do next."""
    yield _starts(found)
    yield from _stability(found)
    if found.local is not None:
        yield from _shape(found.local, list(found.best))
        yield from _edges(found, found.local)
    gains = {} if found.local is None else found.local.multipliers
    for name, bounds in found.bounds.items():
        best = found.best[name]
        x = Spacing.of([bounds]).unit(np.array([best])).item()
        if min(x, 1.0 - x) <= BOUND_MARGIN:
            end, unit = "lower" if x <= BOUND_MARGIN else "upper", found.units[name]
            gain = next((x for text, x in gains.items() if text.startswith(f"{name} = ") and x > 0.0), None)
            by = "" if gain is None else with_unit(f"{gain:.3g}", found.unit)
            more = "" if gain is None else f", by about {by} per {'unit' if unit == '1' else unit}"
            yield (
                f"{name} lies on its {end} bound, {with_unit(f'{best:.6g}', unit)}: if it can be built, a wider bound "
                f"may give a better design{more}"
            )


_ENDS = {
    NO_OPTIMUM: "a better design was found next to this one (see why the starts stopped): search on from there",
    CONSTANT: "no design is better than another: the objective is the same at all points that were evaluated",
    ON_THE_WAY: "no start ended at a design as good as this one, met on the way: more iterations may find a better one",
}
"""What the starts show, by a part of the sentence on why they stopped."""


def _starts(found: Optimum) -> str:
    """How many starts ended at the best design."""
    total, best = len(found.why_stopped), found.basins.isel(basin=slice(0, 1))
    same = int(best.starts.sum()) if "starts" in best else 0
    ended = next((text for mark, text in _ENDS.items() if any(mark in why for why in found.why_stopped)), "")
    if ended:
        return ended
    if total == 1:
        return "only one start: there may be better designs elsewhere within the bounds; more starts look for them"
    if same == total:
        return f"all {total} starts ended at this design: it is probably the best within the bounds"
    if same > 1:
        return f"{same} of {total} starts ended at this design: more starts make it more certain that none is better"
    return f"no more than one of {total} starts ended at this design: more starts may find a better one"


def _stability(found: Optimum) -> Iterator[str]:
    """Whether the periodic gait of the best design is stable; yields nothing for a search over entire runs."""
    if found.reference is not None and found.reference.disagreement:
        yield found.reference.disagreement
    if "multiplier" not in found.history:
        return
    again = np.nan if found.reference is None else found.reference.multiplier
    best = (found.history.objective == found.objective) & (found.history.allowed == 1)
    size = again if np.isfinite(again) else float(found.history.multiplier.where(best).max())
    what = f"largest Floquet multiplier {size:.3g}"
    if size >= 1.0:
        yield f"its gait is not stable: {what}"
    elif size >= HARDLY_STABLE:
        yield (
            f"its gait may be unstable: {what}, and 1 may be within its error; search with "
            f"stability={HARDLY_STABLE}, or compute it with a smaller rtol"
        )
    elif np.isfinite(size):
        yield f"its gait is stable: {what} (1 or more: unstable)"


def _shape(local: Local, names: list[str]) -> Iterator[str]:
    """What the shape of the objective around the best design shows."""
    for text, gain in local.multipliers.items():
        if gain > 0.0 and text.partition(" = ")[0] not in names:
            yield f"{text} holds the design back: relaxing it improves the objective by {gain:.3g} per unit"
    curved = np.abs(local.curvature)
    if len(curved) > 1 and not (local.active or local.ridge_unknown) and curved[-1] > RIDGE_RATIO * curved[0]:
        share = dict(zip(names, local.directions[0], strict=True))
        leading = [name for name, x in share.items() if abs(x) >= LEADING_SHARE]
        signs = {bool(share[name] > 0.0) for name in leading}
        how = f" together, {'in the same direction' if len(signs) == 1 else 'in opposite directions'},"
        what = f"changing {' and '.join(leading)}{how * (len(leading) > 1)}"
        yield f"{what} affects the objective least: there the best values are least certain"
    if local.difference <= AGREEMENT:
        yield f"the gradient is reliable: differences of values confirm it within {max(local.difference, 1e-3):.1%}"
    else:
        yield (
            "the gradient and differences of values next to this design disagree by "
            f"{100.0 * local.difference:.3g}% (below {AGREEMENT:.0%} is good), so that its curvature, and how far a "
            "parameter may move if the others follow, are unknown: compare with a search with the gradient by "
            "differences"
        )
        return
    if local.ridge_unknown:
        yield f"how far a parameter may move if the others follow is unknown: {local.ridge_unknown}"


def _edges(found: Optimum, local: Local) -> Iterator[str]:
    """Where runs or gaits failed close to the best design."""
    near = []
    for name, ends in local.fails.items():
        within, best = Spacing.of([found.bounds[name]]), found.best[name]
        for sign, by in zip((-1.0, 1.0), ends, strict=True):
            from_best = np.diff(within.unit(np.array([[best], [best + sign * by]])), axis=0).item()
            if abs(from_best) <= CLOSE:  # not if it is NaN
                near.append(f"{name} {'-' if sign < 0.0 else '+'} {with_unit(f'{by:.3g}', found.units[name])}")
    if near:
        yield (
            f"runs or gaits fail close to this design, with {' and with '.join(near)}: an inaccurately built one may "
            "fail, so that a worse one farther away may be the better choice"
        )


def tolerances(found: Optimum) -> Iterator[str]:
    """How far each parameter alone may change, and what stops it; nothing without known surroundings.

    Examples:
        >>> from jaxgait import Bungee, optimize
        >>> from jaxgait.optimization.conclusions import tolerances
        >>> box, safe = {"stiffness": (15.0, 40.0)}, ["clearance >= 0"]
        >>> found = optimize(Bungee(), minimize="peak_rope_force", over=box, subject_to=safe, starts=1)
        >>> print(next(tolerances(found)).partition(", and")[0])
        stiffness alone may fall by 0 N/m until clearance >= 0 is violated
    """
    if found.local is None:
        return
    loss = with_unit(f"{found.local.loss:.2g}", found.unit)
    special = {
        OBJECTIVE: f"until the objective is {loss} worse",
        BOUND: "until its bound",
        UNSEARCHED: "or more (it was not searched farther)",
    }
    for name, (down, up) in found.local.room.items():
        fall, rise = (
            f"by {with_unit(f'{by:.3g}', found.units[name])} {special.get(stop) or f'until {_beyond(stop)}'}"
            for by, stop in zip((down, up), found.local.stops[name], strict=True)
        )
        yield f"{name} alone may fall {fall}, and rise {rise}"


def _beyond(stop: str) -> str:
    """In words: runs fail, or a limit is violated."""
    return f"runs fail ({stop.removeprefix(FAILED)})" if stop.startswith(FAILED) else f"{stop} is violated"
