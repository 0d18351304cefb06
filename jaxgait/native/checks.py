"""Checks that a program makes of its numbers while it runs (`equinox.error_if`), and how to leave some of them out.

A check is a branch that calls Python to raise an error. XLA cannot keep a program on disk that calls Python, and if one
member of an ensemble raises an error, all are lost. Callers that guarantee a condition can remove its check, by its
message.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr


def passed(branches: Sequence[ClosedJaxpr], assured: Sequence[str]) -> ClosedJaxpr | None:
    """The branch that is taken if a check passes, if the branches are those of an assured check.

    Args:
        branches: of a branching operation.
        assured: beginnings of messages. Checks with any other are kept.
    """
    if not assured or len(branches) != 2:
        return None
    silent = [branch for branch in branches if not _callbacks(branch)]
    claims = [_messages(callback) for branch in branches for callback in _callbacks(branch)]
    known = bool(claims) and all(m and all(x.startswith(tuple(assured)) for x in m) for m in claims)
    return silent[0] if len(silent) == 1 and known else None


def _callbacks(branch: ClosedJaxpr) -> list[Any]:
    return [e.params.get("callback") for e in branch.jaxpr.eqns if e.primitive.name == "pure_callback"]


def _messages(callback: Any) -> list[str]:
    """Messages that a callback of equinox raises; none for other callbacks."""
    function: Any = getattr(callback, "callback_func", None)
    if getattr(function, "__module__", None) != "equinox._errors":
        return []
    return list(inspect.getclosurevars(function).nonlocals.get("msgs", []))
