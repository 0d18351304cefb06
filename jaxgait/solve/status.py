"""How a trajectory ended: a code for arrays, a sentence for people."""

from __future__ import annotations

from jaxgait.model import Model

COMPLETED = 0
MAX_STEPS = 1
STEP_UNDERFLOW = 2
NONFINITE = 3
FIRST_TERMINATION = 10
"""Codes from here on are the model's own terminations, in the order of `Model.terminations`."""

COMPLETED_TEXT = "completed"
_SENTENCES = {
    COMPLETED: COMPLETED_TEXT,
    MAX_STEPS: "gave up: the step limit was reached (raise max_steps, or loosen the tolerances)",
    STEP_UNDERFLOW: "gave up: the step size shrank to nothing (the vector field is not finite or jumps here)",
    NONFINITE: "gave up: the state became NaN or infinite",
}


class IncompleteRun(UserWarning):
    """A trajectory did not reach its end."""


class NoResult(RuntimeError):
    """The work was begun, and nothing came of it: the input is valid, the computation failed."""


def sentence(model: Model, code: int) -> str:
    """What a status code means, for example "folded" for a model that can fold."""
    if code in _SENTENCES:
        return _SENTENCES[code]
    names = list(model.terminations())
    return f"ended early: {names[code - FIRST_TERMINATION]}"


def code(model: Model, termination: str) -> int:
    """The status code of one of the model's own terminations, by name."""
    return FIRST_TERMINATION + list(model.terminations()).index(termination)


def legend(model: Model) -> dict[int, str]:
    """All status codes of a model with their sentences."""
    own = range(FIRST_TERMINATION, FIRST_TERMINATION + len(model.terminations()))
    return {c: sentence(model, c) for c in (*_SENTENCES, *own)}
