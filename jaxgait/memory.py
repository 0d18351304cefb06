"""The memory that is free for this process, and whether something fits in it."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Iterator

from jaxgait import control_groups

UNKNOWN_MEMORY = 4 << 30
"""Bytes assumed free where the platform does not report them."""
STATUS = pathlib.Path("/proc/self/status")
"""What Linux says of this process."""


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

    They are those of the machine, and no more than a container or a batch system leaves, by control groups
    (`jaxgait.control_groups`) or by limits of the process (`ulimit -v`, `ulimit -d`).
    """
    left = control_groups.free_memory()
    return min([_free_of_machine(), *_left_by_limits(), *([] if left is None else [left])])


def _left_by_limits() -> Iterator[int]:
    """Bytes that each limit of the process leaves.

    They count addresses, of which JAX reserves more than it uses: what is reserved by now is taken as needed.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    for limit, name in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        most = resource.getrlimit(limit)[0]
        used = _amount(STATUS, name)
        if most != resource.RLIM_INFINITY and used is not None:
            yield max(0, most - used)


def _amount(path: pathlib.Path, name: str) -> int | None:
    """Bytes of a line such as "MemAvailable: 100 kB" of a file; None if there is none."""
    try:
        match = re.search(rf"^{name}:\s+(\d+) kB", path.read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(match[1]) * 1024 if match else None


def _free_of_machine() -> int:
    available = _amount(pathlib.Path("/proc/meminfo"), "MemAvailable")
    if available is not None:
        return available
    known = "SC_AVPHYS_PAGES" in os.sysconf_names
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if known else UNKNOWN_MEMORY
