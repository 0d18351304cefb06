"""Disk space: the bytes and files that a store takes, and those that its disk has left."""

from __future__ import annotations

import itertools
import math
import operator
import os
import pathlib
import shutil

from jaxgait.ensembles.labels import descriptions
from jaxgait.ensembles.plan import Plan
from jaxgait.support.machine import size_text

_UNIT = 4096
"""Allocation unit of most disks in bytes."""
_DESCRIPTION, _PER_RESULT = 20, 3
"""Files and folders of an empty store, each of one allocation unit, and those of each result before it has blocks."""


def disk_bytes(plan: Plan) -> int:
    """Rough disk space in bytes of the finished store of a plan: small files and folders take whole units."""
    units = disk_files(plan)
    for described in descriptions(plan).values():
        chunk = math.prod((*plan.block_shape, *described.shape)) * described.dtype.itemsize
        units += plan.size * (-(-chunk // _UNIT) - 1)
    return units * _UNIT


def disk_files(plan: Plan) -> int:
    """Rough number (no dimension) of the files and folders of the finished store of a plan."""
    count = _DESCRIPTION
    for described in descriptions(plan).values():
        grid = (*plan.blocks, *(1 for _ in described.shape))
        count += _PER_RESULT + sum(itertools.accumulate(grid[:-1], operator.mul)) + plan.size
    return count


def free_bytes(store: str | os.PathLike[str]) -> int:
    """Bytes free on the disk of a store, which need not exist yet."""
    return shutil.disk_usage(_existing(store)).free


def free_files(store: str | os.PathLike[str]) -> int | None:
    """How many more files the disk of a store can hold (no dimension); None where that is not limited, or unknown."""
    if not hasattr(os, "statvfs"):  # Windows
        return None
    found = os.statvfs(_existing(store))
    return found.f_favail if found.f_files else None


def lack(store: str | os.PathLike[str], plan: Plan) -> str:
    """What the disk lacks for a new store, as the end of a sentence; empty if the store fits."""
    members = math.prod(n * b for n, b in zip(plan.blocks, plan.block_shape, strict=True))
    need, free = members * plan.result_bytes, free_bytes(store)
    if need > free:
        what = f"the scan needs {size_text(need)} and {size_text(free)} are free"
        return f"{what}: scan fewer members, or keep observables instead of trajectories"
    files, left = disk_files(plan), free_files(store)
    if left is not None and files > left:
        what = f"the scan needs about {files} files and the disk has room for {left} (inodes)"
        return f"{what}: scan fewer members, run larger batches (batch=), or choose another disk"
    return ""


def _existing(store: str | os.PathLike[str]) -> pathlib.Path:
    """The path of a store or, if it does not exist yet, the nearest folder above it that does."""
    folder = pathlib.Path(store).absolute()
    while not folder.exists():
        folder = folder.parent
    return folder
