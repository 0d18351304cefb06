"""What this process computes with: JAX's devices, and the memory and the processors that the machine leaves to it.

`/proc/meminfo` and the number of processors are those of the whole machine, also within a container. Containers and
batch systems limit both by control groups of Linux, of which both versions are read, and by limits of the process.
"""

from __future__ import annotations

import math
import os
import pathlib
import re
from collections.abc import Iterator
from typing import Any

import jax

UNKNOWN_MEMORY = 4 << 30
"""Bytes assumed free where the platform does not report them."""
STATUS = pathlib.Path("/proc/self/status")
"""What Linux says of this process."""
GROUPS = pathlib.Path("/sys/fs/cgroup")
"""Where control groups are; those of version 1 are in a folder for each controller."""
OWN_GROUPS = pathlib.Path("/proc/self/cgroup")
"""The groups of this process: lines of number, controllers (none in version 2) and path."""


def device() -> Any:
    """The device on which JAX computes: that of `jax.default_device`, otherwise the first one.

    Examples:
        >>> import jax
        >>> from jaxgait.support.machine import device
        >>> with jax.default_device(jax.devices("cpu")[0]):
        ...     print(device().platform)
        cpu
    """
    chosen = jax.config.jax_default_device  # type: ignore[attr-defined]  # None, a device, or the name of a platform
    return jax.local_devices(backend=chosen)[0] if chosen is None or isinstance(chosen, str) else chosen


def devices() -> list[Any]:
    """All devices of this process that are of the kind of `device`."""
    return jax.local_devices(backend=device().platform)


def on_cpu() -> bool:
    """Whether JAX computes on a CPU."""
    return device().platform == "cpu"


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
    """A number of bytes (no dimension) as text in B, kB, MB, GB or TB."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5:  # which is not written as 1e+03
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


def free_memory() -> int:
    """Bytes of memory that are free for this process, `UNKNOWN_MEMORY` where they are not reported.

    They are those of the machine, and no more than control groups or limits of the process (`ulimit -v`, `ulimit -d`)
    leave.
    """
    return min([_free_of_machine(), *_left_by_limits(), *_left_by_groups()])


def processors() -> int:
    """The number (no dimension) of processors that this process may use, by its affinity and the tightest quota.

    Examples:
        >>> from jaxgait.support.machine import processors
        >>> processors() >= 1
        True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min([cores, *(math.ceil(quota) for quota in _quotas())])


def _left_by_limits() -> Iterator[int]:
    """Bytes that each limit of the process leaves.

    They count addresses, of which JAX reserves more than it uses: all that are reserved now count as needed.
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
    match = re.search(rf"^{name}:\s+(\d+) kB", _text(path), re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def _free_of_machine() -> int:
    available = _amount(pathlib.Path("/proc/meminfo"), "MemAvailable")
    if available is not None:
        return available
    known = "SC_AVPHYS_PAGES" in getattr(os, "sysconf_names", ())
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if known else UNKNOWN_MEMORY


def _left_by_groups() -> Iterator[int]:
    """Bytes that the limit of each control group leaves, 0 if it is exceeded.

    The cache of files that have not been used recently counts as free: Linux frees it when memory is needed.
    """
    for folder in _folders("memory"):
        limit = _numbers(folder / "memory.max") or _numbers(folder / "memory.limit_in_bytes")
        used = _numbers(folder / "memory.current") or _numbers(folder / "memory.usage_in_bytes")
        if limit and used:
            yield max(0, limit[0] - max(0, used[0] - _idle_cache(folder)))


def _quotas() -> Iterator[float]:
    """The processors (no dimension) that each control group allows, also 1.5."""
    for folder in _folders("cpu"):
        quota = _numbers(folder / "cpu.max")
        if not quota:
            quota = [*_numbers(folder / "cpu.cfs_quota_us"), *_numbers(folder / "cpu.cfs_period_us")]
        if len(quota) == 2:
            yield quota[0] / quota[1]


def _folders(controller: str) -> Iterator[pathlib.Path]:
    """The groups of this process and those that contain them; within containers some are not visible."""
    for _, controllers, path in (line.split(":", 2) for line in _text(OWN_GROUPS).splitlines()):
        if not controllers:
            roots = GROUPS, GROUPS / "unified"  # the latter where both versions are in use
        elif controller in controllers.split(","):
            roots = (GROUPS / controller,)
        else:
            continue
        own = pathlib.PurePosixPath(path.lstrip("/"))
        yield from (root / group for root in roots for group in (own, *own.parents))


def _idle_cache(folder: pathlib.Path) -> int:
    """Bytes of files in memory that have not been used recently, of a group and those within it."""
    found = dict(re.findall(r"^(\w+) (\d+)$", _text(folder / "memory.stat"), re.MULTILINE))
    return int(found.get("total_inactive_file", found.get("inactive_file", 0)))


def _numbers(path: pathlib.Path) -> list[int]:
    """The positive numbers of a file; none where it is missing, or says that there is no limit ("max", -1)."""
    words = _text(path).split()
    return [int(word) for word in words] if words and all(map(str.isdecimal, words)) else []


def _text(path: pathlib.Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
