"""Detects forked processes, in which JAX would wait without end for threads that a fork does not copy."""

from __future__ import annotations

import os
from collections.abc import Callable

try:  # JAX 0.8 to 0.12 have no public name for it
    from jax._src.xla_bridge import backends_are_initialized
except ImportError:  # then a forked process waits, as before
    backends_are_initialized: Callable[[], bool] = lambda: False

_lacking: list[int] = []
"""The number of this process if it lacks JAX's threads; else empty."""


def check_threads() -> None:
    """Checks that this process has JAX's threads.

    Raises:
        RuntimeError: in a process that was forked after JAX had started them, where a computation would never end.

    Examples:
        >>> from jaxgait.support.forking import check_threads
        >>> check_threads()
    """
    if _lacking:
        raise RuntimeError(
            "this process was forked after JAX had started its threads, which a fork does not copy: it would wait for "
            "them without end. Start processes by multiprocessing.get_context('spawn') or 'forkserver'"
        )


def _note() -> None:
    if backends_are_initialized():
        _lacking.append(os.getpid())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note)
