"""Guards of an event-driven run that cannot fire: events are where a guard falls through zero, never where it rises."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxgait.checks import warn_user
from jaxgait.run import Trajectory, usual_duration
from jaxgait.solve.segments import rounding
from jaxgait.solve.steps import prepared

_NEGLIGIBLE = 1e-9
"""Part of a guard's largest value that counts as zero."""
_LONG = 0.1
"""Part of a run for which a guard must be negative to be suspicious: shorter phases may have just begun."""


def guards(model: Any, trajectory: Trajectory) -> dict[str, Float[Array, " times"]]:
    """The guard of every transition at the samples, each in its own unit; NaN where the transition is not armed."""
    transitions = prepared(model).transitions()

    def at(t: Any, y: Any) -> dict[str, Any]:
        armed = {name: True if one.armed is None else one.armed(t, y) for name, one in transitions.items()}
        return {name: jnp.where(armed[name], one.guard(t, y), jnp.nan) for name, one in transitions.items()}

    return jax.vmap(at)(trajectory.ts, trajectory.ys)


def phases(model: Any, trajectory: Trajectory) -> np.ndarray:
    """The phase of each sample, (times,), which follows from the events; at one, that before it; -1 after the end."""
    transitions = list(model.transitions().values())
    after = [0]
    for kind in _events(trajectory)[0]:
        target = transitions[kind].target
        after.append(after[-1] if target is None else target)
    ts = np.asarray(trajectory.ts)
    return np.where(ts > np.asarray(trajectory.t_end), -1, np.array(after)[_past(trajectory)])


def warn_of_guards(model: Any, trajectory: Trajectory, values: Mapping[str, Any]) -> None:
    """Warns once of transitions that did not happen, although or because their guards are on the wrong side of zero.

    In a run that is shorter than the model's own duration, a guard may be negative all the time and right.

    Args:
        model: the mechanism.
        trajectory: its run.
        values: what `guards` returns of them.

    Warns:
        UserWarning: if a guard rises through zero between two samples and never falls, or is negative at all samples
            at which the transition might happen.
    """
    phase, past, (happened, _) = phases(model, trajectory), _past(trajectory), _events(trajectory)
    whole = float(trajectory.t_end) >= usual_duration(model)
    found = []
    for i, (name, one) in enumerate(model.transitions().items()):
        value = np.where(np.isin(phase, one.sources), np.asarray(values[name]), np.nan)
        known = np.isfinite(value)
        if i in happened or not known.any():
            continue
        zero = _NEGLIGIBLE * np.abs(value[known]).max()
        below = value < -zero
        rises = np.flatnonzero(below[:-1] & (value[1:] >= -zero) & (past[1:] == past[:-1]))  # not by a reset
        at = rises[0] if rises.size else np.argmax(known)
        where = f"phase {phase[at]} (at {np.asarray(trajectory.ts)[at]:.4g} s)"
        if rises.size:
            found.append(f"that of {name!r} rises through zero in {where}")
        elif whole and below[known].all() and known.sum() > _LONG * (phase >= 0).sum():
            found.append(f"that of {name!r} is negative from the start of {where}")
    if found:
        warn_user(
            f"a guard of {type(model).__name__} may have the wrong sign: {'; '.join(found)}. Its event did not happen, "
            "because events are where guards fall through zero: if it should have, return the opposite sign (or give "
            "the transition `armed`, false where the guard does not count)"
        )


def _events(trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the transitions that happened, and when, in s; both (events,)."""
    assert trajectory.events is not None
    kind, t = np.asarray(trajectory.events.kind), np.asarray(trajectory.events.t)
    return kind[kind >= 0], t[kind >= 0]


def _past(trajectory: Trajectory) -> np.ndarray:
    """How many events happened before each sample, (times,)."""
    _, instants = _events(trajectory)
    return np.searchsorted(instants + rounding(instants), np.asarray(trajectory.ts))
