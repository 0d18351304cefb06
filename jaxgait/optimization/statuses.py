"""The statuses of designs: codes of `jaxgait.outcome`, and one of searches; what they mean."""

from __future__ import annotations

from jaxgait import outcome
from jaxgait.model import Model
from jaxgait.outcome import INVALID, Outcome

UNSTABLE = -3
"""The status of a design whose gait is found but not stable."""
_UNSTABLE_TEXT = "the gait is not stable"


def sentence(model: Model, code: int, why: str = "") -> str:
    """The meaning of a status of a search: a code of `jaxgait.outcome`, `INVALID` or `UNSTABLE`.

    Args:
        model: the mechanism.
        code: the status.
        why: why the model rejects the design, for `INVALID`; see `jaxgait.ensembles.validity.rejection`.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.optimization.statuses import UNSTABLE, sentence
        >>> print(sentence(Bungee(), UNSTABLE), "/", sentence(Bungee(), 0))
        the gait is not stable / completed
    """
    if code == INVALID:
        return f"not a valid design: {why}".removesuffix(": ")
    return _UNSTABLE_TEXT if code == UNSTABLE else outcome.sentence(model, code)


def brief(model: Model, code: int) -> str:
    """The meaning of a status of a search in a few words; see `sentence`.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.optimization.statuses import brief
        >>> from jaxgait.outcome import Outcome
        >>> brief(Bungee(), Outcome.NOT_CONVERGED)
        'no periodic gait was found'
    """
    return "no periodic gait was found" if code == Outcome.NOT_CONVERGED else sentence(model, code).partition(" (")[0]


def meanings(*more: str) -> str:
    """What the statuses of a search mean, and more codes of this kind.

    Examples:
        >>> from jaxgait.optimization.statuses import meanings
        >>> meanings("-1: this start had stopped")[-29:]
        '; -1: this start had stopped)'
    """
    codes = ("0: completed", f"{INVALID}: not a valid design", f"{UNSTABLE}: {_UNSTABLE_TEXT}", *more)
    return f"how the run ended ({'; '.join(codes)})"
