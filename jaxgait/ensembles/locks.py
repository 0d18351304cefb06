"""File locks: one process writes, and others see whether one does. The system releases the locks of dead processes."""

from __future__ import annotations

import contextlib
import os
import pathlib
import time
from collections.abc import Callable, Iterator

PATIENCE = 0.5
"""Seconds to wait for a lock: `is_free` holds it for a moment, a writer for the length of a scan."""
_PAUSE = 0.01
"""Seconds between two attempts."""


@contextlib.contextmanager
def exclusive(file: pathlib.Path) -> Iterator[None]:
    """Holds a file's lock, which keeps other processes out; does nothing on systems without such locks.

    Raises:
        BlockingIOError: if another process holds it.
        OSError: if the file cannot be opened for writing or its disk has no locks.
    """
    handle = os.open(file, os.O_RDWR)
    try:
        release = _take(handle)
        try:
            yield
        finally:
            release()
    finally:
        os.close(handle)


def is_free(file: pathlib.Path) -> bool:
    """Whether no process holds a file's lock; False if unknown (no permission to read, a disk without locks).

    Needs no permission to write; several processes may ask at the same time. A missing file is free.
    """
    try:
        import fcntl

        handle = os.open(file, os.O_RDONLY)
    except FileNotFoundError:
        return True
    except (ImportError, OSError):
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _take(handle: int) -> Callable[[], None]:
    """Locks an open file and returns a function that unlocks it: after a fork, closing it would not suffice."""
    try:
        import fcntl
    except ImportError:
        return lambda: None
    until = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lambda: fcntl.flock(handle, fcntl.LOCK_UN)
        except BlockingIOError:
            if time.monotonic() > until:
                raise
        time.sleep(_PAUSE)
