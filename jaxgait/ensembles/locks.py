"""Locks of files: one process writes, and others see whether one does. The system releases those of dead processes."""

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
    """Keeps other processes out; does nothing on systems without such locks.

    Raises:
        BlockingIOError: if another process is in.
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
    """Whether no process keeps the others out; False if that is not known: no permission to read, a disk without locks.

    Needs no permission to write; several processes may ask at the same time. Nobody can lock a file that is missing.
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
    """Locks an open file; returns what unlocks it, because a copy in a forked process keeps it locked when closed."""
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
