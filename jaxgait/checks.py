"""Checks of arguments of the entry points; errors name the argument, its value and what is valid."""

from __future__ import annotations

import math
import operator
import os
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.core import Tracer

__all__ = ["count", "fits_in_memory", "flag", "free_memory", "one_of", "positive"]

UNKNOWN_MEMORY = 4 << 30
"""Bytes assumed free where the platform does not report them."""


def is_concrete(tree: Any) -> bool:
    """Whether no leaf is traced by `jit`, `vmap` or a derivative."""
    return not any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(tree))


def count(name: str, value: Any, *, least: int = 1) -> int:
    """An integer of at least `least`.

    Raises:
        ValueError: for anything else, including strings, flags, fractions and traced values.
    """
    try:
        integer = least - 1 if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        integer = least - 1
    if integer < least:
        raise ValueError(f"{name} must be a whole number, at least {least}, got {shown(value)}")
    return integer


def number(name: str, value: Any, unit: str, *, above: float = -math.inf) -> None:
    """Checks one finite number above a limit, if it is concrete.

    Raises:
        ValueError: for anything else.
    """
    if not is_concrete(value):
        return
    real = _real(value)
    if real is None or not math.isfinite(real) or not real > above:
        wanted = "finite" if above == -math.inf else f"finite and above {above:g} {unit}"
        raise ValueError(f"{name} must be one number in {unit}, {wanted}, got {shown(value)}")


def positive(name: str, value: Any, unit: str = "", *, below: float = math.inf) -> float:
    """A finite number above zero (and below a limit); `unit` is for the message.

    Raises:
        ValueError: for anything else.
    """
    wanted = f"a positive number{f' of {unit}' if unit else ''}" + (f" below {below:g}" if below < math.inf else "")
    number = _real(value)
    if number is None or not (math.isfinite(number) and 0 < number < below):
        raise ValueError(f"{name} must be {wanted}, got {value!r}")
    return number


def flag(name: str, value: Any) -> bool:
    """True or False.

    Raises:
        ValueError: for anything else.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def one_of(name: str, value: Any, known: Sequence[str] | Mapping[str, Any]) -> str:
    """A value that must be one of several names.

    Raises:
        ValueError: for any other value, listing the names.
    """
    if value not in known:
        raise ValueError(f"{name} must be {' or '.join(map(repr, known))}, got {value!r}")
    return value


def fits_in_memory(what: str, need: int, advice: str) -> None:
    """Checks that something fits in the free memory, before it is allocated.

    Args:
        what: the object, in the plural, for the message.
        need: its size in bytes.
        advice: what to do if it does not fit.

    Raises:
        MemoryError: if it does not fit.
    """
    free = free_memory()
    if need > free:
        raise MemoryError(f"{what} need {need / 1e9:.3g} GB of memory and {free / 1e9:.3g} GB are free: {advice}")


def free_memory() -> int:
    """Free memory of this machine in bytes, `UNKNOWN_MEMORY` where it is not reported."""
    try:
        found = re.search(r"MemAvailable:\s+(\d+) kB", pathlib.Path("/proc/meminfo").read_text())
    except OSError:
        found = None
    if found:
        return int(found[1]) * 1024
    known = "SC_AVPHYS_PAGES" in os.sysconf_names
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if known else UNKNOWN_MEMORY


def shown(value: Any) -> str:
    """A value as error messages show it: on one short line; a traced one as "a traced value"."""
    return "a traced value" if not is_concrete(value) else " ".join(repr(value).split())[:60]


def _real(value: Any) -> float | None:
    """A real number, or a scalar array of one; None for flags, strings and anything else."""
    if isinstance(value, bool | np.bool_ | str | bytes) or np.ndim(value) != 0:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
