"""The memory that is free for this process, and whether something fits in it."""

from __future__ import annotations

import os
import pathlib
import re

from jaxgait import control_groups

UNKNOWN_MEMORY = 4 << 30
"""Bytes assumed free where the platform does not report them."""


def fits_in_memory(objects: str, need: int, advice: str) -> None:
    """Checks that something fits in the free memory, before it is allocated.

    Args:
        objects: what is allocated, in the plural, for the message.
        need: its size in bytes.
        advice: what to do if it does not fit.

    Raises:
        MemoryError: if it does not fit.
    """
    free = free_memory()
    if need > free:
        raise MemoryError(f"{objects} need {need / 1e9:.3g} GB of memory and {free / 1e9:.3g} GB are free: {advice}")


def size_text(count: float | int) -> str:
    """A number of bytes (no dimension) as text in B, kB, MB or GB."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def free_memory() -> int:
    """Bytes of memory that are free for this process, `UNKNOWN_MEMORY` where they are not reported.

    They are those of the machine, and no more than a container or a batch system leaves (`jaxgait.control_groups`).
    """
    left = control_groups.free_memory()
    free = _free_of_machine()
    return free if left is None else min(free, left)


def _free_of_machine() -> int:
    try:
        match = re.search(r"MemAvailable:\s+(\d+) kB", pathlib.Path("/proc/meminfo").read_text())
    except OSError:
        match = None
    if match:
        return int(match[1]) * 1024
    known = "SC_AVPHYS_PAGES" in os.sysconf_names
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if known else UNKNOWN_MEMORY
