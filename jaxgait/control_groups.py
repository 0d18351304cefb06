"""What Linux's control groups leave to this process: containers and batch systems limit memory and processors by them.

`/proc/meminfo` and the number of processors are those of the whole machine, also within a container. Both versions of
control groups are read; other systems have none.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Iterator

ROOT = pathlib.Path("/sys/fs/cgroup")
"""Where the groups are; those of version 1 are in a folder for each controller."""
OWN = pathlib.Path("/proc/self/cgroup")
"""The groups of this process: lines of number, controllers (none in version 2) and path."""


def free_memory() -> int | None:
    """Bytes that the tightest limit leaves, 0 if it is exceeded; None without a limit.

    The cache of files that have not been used recently counts as free: Linux frees it when memory is needed.

    Examples:
        >>> from jaxgait import control_groups
        >>> left = control_groups.free_memory()
        >>> left is None or left >= 0
        True
    """
    left = []
    for folder in _folders("memory"):
        limit = _numbers(folder / "memory.max") or _numbers(folder / "memory.limit_in_bytes")
        used = _numbers(folder / "memory.current") or _numbers(folder / "memory.usage_in_bytes")
        if limit and used:
            left.append(max(0, limit[0] - max(0, used[0] - _idle_cache(folder))))
    return min(left, default=None)


def processors() -> float | None:
    """The number (no dimension) of processors that the tightest quota allows, also 1.5; None without a quota.

    Examples:
        >>> from jaxgait import control_groups
        >>> quota = control_groups.processors()
        >>> quota is None or quota > 0.0
        True
    """
    allowed = []
    for folder in _folders("cpu"):
        quota = _numbers(folder / "cpu.max")
        if not quota:
            quota = [*_numbers(folder / "cpu.cfs_quota_us"), *_numbers(folder / "cpu.cfs_period_us")]
        if len(quota) == 2:
            allowed.append(quota[0] / quota[1])
    return min(allowed, default=None)


def _folders(controller: str) -> Iterator[pathlib.Path]:
    """The groups of this process and those that contain them; within containers some are not visible."""
    for _, controllers, path in (line.split(":", 2) for line in _text(OWN).splitlines()):
        if not controllers:
            roots = ROOT, ROOT / "unified"  # the latter where both versions are in use
        elif controller in controllers.split(","):
            roots = (ROOT / controller,)
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
