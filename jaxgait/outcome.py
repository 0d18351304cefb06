"""How a run or a search ended: codes for arrays, and sentences for messages, the same for all schemes."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from jaxgait.support.checks import count_of, is_concrete, warn_user


class Outcome(enum.IntEnum):
    """Codes of `status`. Codes from `FIRST_TERMINATION` on are the model's own terminations, in their order.

    Examples:
        >>> from jaxgait.outcome import Outcome
        >>> print(Outcome(3).name, Outcome.COMPLETED == 0)
        NONFINITE True
    """

    COMPLETED = 0
    MAX_STEPS = 1
    STEP_UNDERFLOW = 2
    NONFINITE = 3
    EVENT_LIMIT = 4
    EVENT_NOT_LOCATED = 5
    NOT_CONVERGED = 6
    NO_RETURN = 7
    EVENTS_CROWDED = 8
    CONTACTS_UNSOLVED = 9


FIRST_TERMINATION = 10
"""The code of the first of a model's own terminations."""

COMPLETED_TEXT = "completed"

INVALID = -2
"""The code of a member of an ensemble, or of a design of a search, that the model rejects, so that it is not run."""
INVALID_TEXT = "not valid: the model rejects its values"
_OTHERWISE = "another guess, such as the last point of `orbit`, and check section, guards and resets"
"""What to do if Newton's method finds no gait."""
_PLENTY = 20
"""Evaluations after which more of them hardly help: Newton's method needs fewer, or another guess."""
_SENTENCES = {
    Outcome.COMPLETED: COMPLETED_TEXT,
    Outcome.MAX_STEPS: "gave up: the step limit was reached (raise max_steps, or loosen the tolerances)",
    Outcome.STEP_UNDERFLOW: "gave up: the step size became too small (the vector field is not finite or jumps here)",
    Outcome.NONFINITE: "gave up: the state became NaN or infinite, or the guard of an event NaN",
    Outcome.EVENT_LIMIT: "gave up: the limit of events was reached (raise max_events)",
    Outcome.EVENT_NOT_LOCATED: "gave up: an event could not be located within its step (shorten the steps, or mend a "
    "guard that jumps)",
    Outcome.NOT_CONVERGED: f"not found: the iteration stalled or ran out (see the residual; try {_OTHERWISE})",
    Outcome.NO_RETURN: "not found: from the guess, the motion does not return to the section (in time: see max_time)",
    Outcome.EVENTS_CROWDED: "gave up: events follow each other too fast to be distinguished (give the mechanism a "
    "phase of rest or sliding, or a transition that ends the motion)",
    Outcome.CONTACTS_UNSOLVED: "gave up: no impulses satisfy the contact law (several contacts with much friction)",
}

RESERVED_ENDINGS = frozenset(text.partition(":")[0] for text in (*_SENTENCES.values(), INVALID_TEXT))
"""Names that no termination of a model may have: beginnings of these sentences ("completed", "gave up")."""


class IncompleteRun(UserWarning):
    """A trajectory did not reach its end."""


class NoOrbit(UserWarning):
    """A search found no periodic orbit, so that its result is NaN."""


class NoResult(RuntimeError):
    """A computation failed although its input is valid."""


def sentence(model: Any, code: int) -> str:
    """The meaning of a code, for example "ended early: fell".

    Examples:
        >>> from jaxgait import Prosthesis
        >>> from jaxgait.outcome import sentence
        >>> sentence(Prosthesis(), 0)
        'completed'
    """
    if code == INVALID:
        return INVALID_TEXT
    if code in _SENTENCES:
        return _SENTENCES[Outcome(code)]
    name = list(model.terminations())[code - FIRST_TERMINATION]
    meaning = getattr(model, "endings", {}).get(name)
    return f"ended early: {name} ({meaning})" if meaning else f"ended early: {name}"


def warn_of_search(
    found: Any, tolerance: float, max_iterations: int, lost: Callable[[], str] = str, *, singular: Any = False
) -> None:
    """Warns if a search found no periodic orbit, with the reason and what to try; not if its result is traced.

    Args:
        found: with `status`, `residual` (in the units of the point) and `iterations`.
        tolerance: largest residual of an orbit.
        max_iterations: evaluations after which it gave up.
        lost: returns how the motion from the first guess ends, if it does not return; "" if that is not known.
        singular: whether it ended because the Jacobian of the closure error is singular.

    Warns:
        NoOrbit: with the residual where the search ended.

    Examples:
        >>> import types
        >>> import warnings
        >>> from jaxgait.outcome import Outcome, warn_of_search
        >>> stalled = types.SimpleNamespace(status=Outcome.NOT_CONVERGED, residual=0.2, iterations=9)
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     warn_of_search(stalled, 1e-10, 30)
        >>> print(caught[0].message)  # doctest: +ELLIPSIS
        no periodic orbit was found, and the result is NaN: after 9 evaluations the search stalled at a residual ...
    """
    if not is_concrete(found) or found.status == Outcome.COMPLETED:
        return
    spent = int(found.iterations)
    if found.status == Outcome.NO_RETURN:
        why = "the motion from z0 does not return, or it or its derivative is NaN: give another guess, or more time"
        if ending := lost():
            why = f"the motion from z0 does not return ({ending}): give a first guess on a motion that does"
    elif found.residual <= tolerance and (singular or spent < max_iterations):
        why = (
            "where the search ended a multiplier is +1: the gait is one of many, as of a motion that keeps its energy "
            "or phase (let the section fix it), or lies at a bifurcation (change a parameter)"
        )
    elif singular:
        why = (
            f"at a residual of {float(found.residual):.2g} the search met a multiplier of +1: something in the point "
            "only shifts, such as a distance travelled (leave it out of the point), or a fold is near (another guess)"
        )
    else:
        end = "is not over" if spent >= max_iterations else "stalled"
        why = f"after {count_of(spent, 'evaluation', 'evaluations')} the search {end} at a residual of"
        more = "more max_iterations" if max_iterations <= spent < _PLENTY else _OTHERWISE
        why += f" {float(found.residual):.2g} (tolerance {float(tolerance):.2g}): try {more}"
    warn_user(f"no periodic orbit was found, and the result is NaN: {why}", NoOrbit)


def failures(codes: Any) -> Any:
    """Which status codes, of any shape, mean that the computation failed.

    The model's own terminations (a fall) do not, and neither does -1 (a member of a store that has not run yet). Codes
    below -1, `INVALID` and those of searches (`jaxgait.optimization.statuses`), do.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.outcome import failures
        >>> failures(np.array([0, 1, 10, -1, -2]))
        array([False,  True, False, False,  True])
    """
    return ((codes > Outcome.COMPLETED) | (codes < -1)) & (codes < FIRST_TERMINATION)


def code(model: Any, termination: str) -> int:
    """The code of one of the model's own terminations, by name.

    Examples:
        >>> from jaxgait import Prosthesis
        >>> from jaxgait.outcome import code, sentence
        >>> print(code(Prosthesis(), "folded"), sentence(Prosthesis(), code(Prosthesis(), "folded")))
        10 ended early: folded (a dead point of the four-bar knee: its links AD and DC are in line)
    """
    return FIRST_TERMINATION + list(model.terminations()).index(termination)


def legend(model: Any) -> dict[int, str]:
    """All codes of a model with their sentences.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.outcome import legend
        >>> legend(Bungee())[0]
        'completed'
    """
    own = range(FIRST_TERMINATION, FIRST_TERMINATION + len(model.terminations()))
    return {int(c): sentence(model, c) for c in (*_SENTENCES, *own)}
