"""Detects guards of an event-driven run that are wrong: they jump, or cannot fire (again), as they rise or sink."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxgait.outcome import FIRST_TERMINATION, Outcome
from jaxgait.precision import float64_default
from jaxgait.run import WHOLE_WITHIN, Trajectory, usual_duration
from jaxgait.solve.explicit import RK4
from jaxgait.solve.steps import like_state, prepared, rounding
from jaxgait.support.checks import is_concrete, warn_user

_NEGLIGIBLE = 1e-9
"""Fraction of a guard's largest value that counts as zero."""
_JUMP = 1e-6
"""Fraction of a guard's largest value by which it must fall at one instant to jump."""
_TRIES, _HALVINGS = 64, 60
"""Points of a step at which guards are evaluated, and halvings between two of them."""
_LONG = 0.1
"""Fraction of a run for which a guard must be negative to be suspicious: shorter phases may have just begun."""


def guards(model: Any, trajectory: Trajectory) -> dict[str, Float[Array, " times"]]:
    """The guard of every transition at the samples, each in its own unit; NaN where the transition is not armed."""
    transitions = prepared(model).transitions()

    def at(t: Any, y: Any) -> dict[str, Any]:
        armed = {name: True if one.armed is None else one.armed(t, y) for name, one in transitions.items()}
        return {name: jnp.where(armed[name], one.guard(t, y), jnp.nan) for name, one in transitions.items()}

    return jax.vmap(at)(trajectory.ts, trajectory.ys)


def phases(model: Any, trajectory: Trajectory) -> Int[Any, " times"]:
    """The phase of each sample, from the events: at an event, the phase before it; after the end, -1.

    The last sample of a completed run is its end, after an event there. It is an array of NumPy, or one of JAX if the
    trajectory is traced.
    """
    events = trajectory.events
    assert events is not None
    given = (trajectory.ts, trajectory.t_end, events.t, events.kind, trajectory.status)
    ts, t_end, *happened = map(np.asarray, given) if is_concrete(given) else given
    phase = _phases_between_events(model, happened[1])[_past(ts, *happened)]
    return ts.__array_namespace__().where(ts > t_end, -1, phase)


def warn_of_guards(model: Any, trajectory: Trajectory, values: Mapping[str, Any]) -> None:
    """Warns of transitions that did not happen (again), as their guards are on the wrong side of zero.

    In a run that is shorter than the model's own duration, and does not end early, a guard may rightly be negative all
    the time, unless it only falls; so may one that is zero at the start, unless its event would have changed the motion
    (see `Trajectory.beyond`).

    Args:
        model: the mechanism.
        trajectory: its run.
        values: what `guards` returns of them.

    Warns:
        UserWarning: if a guard rises through zero between two samples and never falls, or is negative (or zero and then
            negative) at all samples at which the transition might happen; and if a reset sends it below zero for good.
    """
    beyond = np.zeros(len(values), bool) if trajectory.beyond is None else np.asarray(trajectory.beyond)
    phase, (happened, instants) = phases(model, trajectory), _events(trajectory)
    past = _past(np.asarray(trajectory.ts), instants, happened, np.asarray(trajectory.status))
    whole = float(trajectory.t_end) >= (1.0 - WHOLE_WITHIN) * usual_duration(model)
    over = int(trajectory.status) >= FIRST_TERMINATION and float(trajectory.t_end) > float(trajectory.ts[0])
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
        elif known.sum() > _LONG * (phase >= 0).sum():
            first, sinks = np.argmax(below[known]), bool((np.diff(value[known]) <= zero).all())
            if first == 0:
                begins = whole or over or sinks
            else:
                begins = (value[known][:first] <= zero).all() and (whole or beyond[i])
            if below[known][first:].all() and begins:
                found.append(f"that of {name!r} is {'zero, then ' * bool(first)}negative from the start of {where}")
    if found:
        warn_user(without_event(type(model), "; ".join(found)))
    if sunk := _sunk_guard(model, trajectory, values):
        warn_user(f"a reset of {type(model).__name__} may be wrong: {sunk}")


def without_event(kind: type, found: str) -> str:
    """What may be wrong where events did not happen: for a model of this package its start, for others a guard."""
    if kind.__module__.partition(".")[0] == "jaxgait":
        return (
            f"{kind.__name__} may have started beyond an event, which did not happen. Guards are positive before their "
            f"events, but {found}: check the start, and the units of start and parameters"
        )
    return (
        f"a guard of {kind.__name__} may have the wrong sign: {found}. Its event did not happen, because events are "
        "where guards fall through zero: if it should have, start where it is positive, or return the opposite sign "
        "(or give it `armed`, false where it does not count)"
    )


def jump_of_guard(model: Any, trajectory: Trajectory, step: float) -> str:
    """Which guard jumps through zero just after the end of a run whose next event could not be located; "" if none.

    Args:
        model: the mechanism, with leaves of the precision in force.
        trajectory: its run.
        step: how long in s to look; the motion is that of one step of `RK4`.
    """
    system, t, y = prepared(model), trajectory.t_end, trajectory.y_end
    transitions, phase = system.transitions(), int(_phases_between_events(model, _events(trajectory)[0])[-1])
    field = system.phases()[phase]
    motion = diffrax.ODETerm(lambda s, y, args: field(t + s, y))  # from 0: steps shorter than time resolves, too

    def values(s: Array) -> Array:
        after = RK4().step(motion, jnp.zeros_like(s), s, y, None, field(t, y), False)[0]
        return jnp.stack([jnp.asarray(one.guard(t + s, after), float) for one in transitions.values()])

    @jax.jit
    def search() -> tuple[Array, Array, Array]:
        """How far each guard falls at one instant: its values before and after, and whether that is a jump."""
        s = jnp.linspace(0.0, step, _TRIES + 1)
        tried = jax.vmap(values)(s)
        falls = (tried[:-1] > 0.0) & (tried[1:] <= 0.0)
        first = jnp.argmax(falls, axis=0)

        def halved(_: Any, ends: tuple[Array, Array]) -> tuple[Array, Array]:
            middle = 0.5 * (ends[0] + ends[1])
            above = jnp.diagonal(jax.vmap(values)(middle)) > 0.0
            return jnp.where(above, middle, ends[0]), jnp.where(above, ends[1], middle)

        low, high = jax.lax.fori_loop(0, _HALVINGS, halved, (s[first], s[first + 1]))
        before, after = (jnp.diagonal(jax.vmap(values)(end)) for end in (low, high))
        return before, after, falls.any(axis=0) & (before - after > _JUMP * jnp.abs(tried).max(axis=0))

    for name, before, after, jumps in zip(transitions, *map(np.asarray, search()), strict=True):
        if jumps and phase in transitions[name].sources:
            what = f"the guard of {name!r} jumps there, from {before:.3g} to {after:.3g}"
            return f"{what}: return a continuous number, such as a distance instead of its sign"
    return ""


@float64_default
def _sunk_guard(model: Any, trajectory: Trajectory, values: Mapping[str, Any]) -> str:
    """Which guard a reset has sent below zero for good, such as one that forgets to reverse a velocity; "" if none.

    The reset of its own event changed it, it stays negative up to the end of the run, and is farther below zero there
    than it ever was above. A guard that swings back, or that a reset only lets pass, does not count.
    """
    (happened, instants), phase, ts = _events(trajectory), np.asarray(phases(model, trajectory)), trajectory.ts
    for i, (name, one) in enumerate(model.transitions().items()):
        own = np.flatnonzero(happened == i)
        if one.ends or one.reset is None or not own.size:
            continue
        at, counts = instants[own[-1]], np.isin(phase, one.sources)
        past = np.asarray(ts) > at + rounding(np.asarray(at))  # scalars of NumPy 2.0 have no `__array_namespace__`
        value = np.where(counts, np.asarray(values[name]), np.nan)
        later, before = value[past & (phase >= 0)], value[~past & counts]
        above = np.max(before, initial=0.0, where=np.isfinite(before))
        sinks = later.size and (later < 0.0).all() and later[-1] == later.min()
        if sinks and later[-1] < -above < 0.0 and _is_changed(model, trajectory, one, int(own[-1])):
            return (
                f"that of {name!r} at {at:.4g} s leaves its guard at or below zero, where it sinks and cannot fire "
                "again: let the reset turn what falls (a speed), or move it above zero, or lead to another phase"
            )
    return ""


def _is_changed(model: Any, trajectory: Trajectory, transition: Any, event: int) -> bool:
    """Whether the reset of an event of a run changes its guard or how fast that falls."""
    events = trajectory.events
    assert events is not None
    phase = int(_phases_between_events(model, np.asarray(events.kind[: event + 1]))[-1])
    before, after = (
        _guard_and_rate(model, transition, phase, events.t[event], jax.tree.map(lambda x: x[event], states))
        for states in (events.before, events.after)
    )
    return bool((np.abs(after - before) > _NEGLIGIBLE * np.maximum(np.abs(before), np.abs(after)).max()).any())


def _guard_and_rate(model: Any, transition: Any, phase: int, t: Any, y: Any) -> np.ndarray:
    """The guard of a transition and its rate per s in the motion of a phase."""
    t, y = jnp.asarray(t, float), jax.tree.map(lambda x: jnp.asarray(x, float), y)
    rates = like_state(prepared(model).phases()[phase](t, y), y)
    return np.stack(jax.jvp(transition.guard, (t, y), (jnp.ones_like(t), rates)))


def _phases_between_events(model: Any, kind: Any) -> Any:
    """The phase before the first of some events, and that after each one, from their kinds; -1: no more events."""
    xp = kind.__array_namespace__()
    targets = [-1 if one.target is None else int(one.target) for one in model.transitions().values()]
    target = xp.asarray([*targets, -1], xp.int32)[kind]  # -1: the motion continues in its phase
    last = xp.maximum.accumulate(xp.where(target >= 0, xp.arange(len(kind)), -1))  # event that changed the phase
    return xp.concatenate([xp.zeros(1, xp.int32), xp.where(last >= 0, target[last], 0)])


def _past(ts: Any, instants: Any, kind: Any, status: Any) -> Any:
    """Number of events before each sample, (times,); for the last sample of a completed run, of all events."""
    xp = ts.__array_namespace__()
    at_end = (xp.arange(len(ts)) == len(ts) - 1) & (status == Outcome.COMPLETED)
    before = xp.searchsorted(instants + rounding(instants), ts)
    return xp.where(at_end, xp.sum(kind >= 0).astype(before.dtype), before)


def _events(trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the transitions that happened, and when, in s; both (events,)."""
    assert trajectory.events is not None
    kind, t = np.asarray(trajectory.events.kind), np.asarray(trajectory.events.t)
    return kind[kind >= 0], t[kind >= 0]
