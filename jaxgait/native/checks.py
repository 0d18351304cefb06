"""Run-time checks (`equinox.error_if`), and how to remove them.

A check is a branch that calls Python to raise an error. XLA cannot cache a program that calls Python, and one failing
member of an ensemble would lose all of them. Callers that guarantee a condition can remove its check by its message.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr


def passed(branches: Sequence[ClosedJaxpr], assured: Sequence[str]) -> ClosedJaxpr | None:
    """The branch without an error, if the branches are those of an assured check.

    Args:
        branches: of a branching operation.
        assured: beginnings of the messages of checks to remove.
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
    function: Any = getattr(callback, "callback_func", None)
    if getattr(function, "__module__", None) != "equinox._errors":
        return []
    return list(inspect.getclosurevars(function).nonlocals.get("msgs", []))
