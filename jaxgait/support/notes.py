"""Notes and warnings for the user.

Notes tell whoever is waiting, for example, that a program is being compiled: in the log, or else on a terminal or in a
notebook.

Within a block, our own warnings are suppressed by `without_warnings`, not by `warnings.catch_warnings`: the latter
changes the filters of all threads, and if two threads are in such blocks, it may leave them changed for good.
"""

from __future__ import annotations

import contextlib
import contextvars
import logging
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

PATIENCE = 3.0
"""Time in s after which a computation shows its progress."""
REMINDED_AFTER = 20.0
"""Interval in s between notes that a computation is still running."""
_BETWEEN = ("jaxgait", "equinox", "jaxtyping", "beartype")
"""Packages between the user's code and a warning."""
_left_out: contextvars.ContextVar[tuple[type[Warning], ...]] = contextvars.ContextVar("jaxgait_left_out", default=())
"""Warnings that `warn_user` currently suppresses in this thread."""
FILTERS = threading.RLock()
"""Held while all warnings are ignored, and by others that change the filters, which would later restore this state."""


def is_watched() -> bool:
    """Whether stderr is shown immediately: on a terminal, or below the cell of a notebook.

    Examples:
        >>> import contextlib, io
        >>> from jaxgait.support.notes import is_watched
        >>> with contextlib.redirect_stderr(io.StringIO()):
        ...     is_watched()
        False
    """
    if sys.stderr is None:
        return False
    return sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel.")  # of Jupyter, Colab, VS Code


def note(message: str) -> None:
    """Logs a message of the logger "jaxgait"; if nobody listens to it, prints it on stderr if that `is_watched`.

    Examples:
        >>> import logging
        >>> from jaxgait.support.notes import note
        >>> logging.getLogger("jaxgait").setLevel(logging.INFO)  # from here on, handlers of your own get all notes
        >>> note("compiling a new program")
        >>> logging.getLogger("jaxgait").setLevel(logging.NOTSET)
    """
    log = logging.getLogger("jaxgait")
    log.info(message)
    if not log.isEnabledFor(logging.INFO) and is_watched():
        say(message)


@contextlib.contextmanager
def reminding(what: str, begun: float) -> Iterator[None]:
    """Notes every `REMINDED_AFTER` seconds that something is still running, and for how long.

    Args:
        what: what is running, for the note.
        begun: when it began, in s of `time.perf_counter`.

    Examples:
        >>> import time
        >>> from jaxgait.support.notes import reminding
        >>> with reminding("still compiling", time.perf_counter()):
        ...     pass  # at once: no note
    """
    done = threading.Event()

    def remind() -> None:
        while not done.wait(REMINDED_AFTER):
            note(f"{what}, {time.perf_counter() - begun:.0f} s so far")

    threading.Thread(target=remind, daemon=True).start()
    try:
        yield
    finally:
        done.set()


def say(message: object) -> None:
    """Prints one line on stderr, above any progress bar.

    Examples:
        >>> import contextlib, sys
        >>> from jaxgait.support.notes import say
        >>> with contextlib.redirect_stderr(sys.stdout):
        ...     say("compiling")
        jaxgait: compiling
    """
    line = f"jaxgait: {' '.join(str(message).split())}"
    bars = sys.modules.get("tqdm")
    if bars is None:
        print(line, file=sys.stderr)
        return
    with bars.tqdm.external_write_mode(file=sys.stderr):
        print(line, file=sys.stderr)


def waiting(
    what: str, unit: str, progress: bool | None, *, total: int | None = None, patience: float | None = None
) -> Any:
    """A progress bar (tqdm), to be entered and updated, which shows only if a computation takes some seconds.

    Args:
        what: what is computed.
        unit: name of the parts that are counted.
        progress: whether to show it; None: if stderr `is_watched`.
        total: number of parts, if it is known.
        patience: time in s before it shows; None: `PATIENCE`.

    Examples:
        >>> from jaxgait.support.notes import waiting
        >>> with waiting("walks", "walk", progress=False) as bar:
        ...     print(bar.update(), bar.disable)
        None True
    """
    from tqdm import tqdm  # imported only here: most notes need none

    hidden = not (is_watched() if progress is None else progress)
    return tqdm(desc=what, unit=unit, total=total, disable=hidden, delay=PATIENCE if patience is None else patience)


@contextlib.contextmanager
def without_warnings(*kinds: type[Warning]) -> Iterator[None]:
    """Makes `warn_user` suppress warnings of some kinds in a block, in this thread only.

    Examples:
        >>> from jaxgait.support.notes import warn_user, without_warnings
        >>> with without_warnings(UserWarning):
        ...     warn_user("the walk is slow")  # no warning
    """
    before = _left_out.set((*_left_out.get(), *kinds))
    try:
        yield
    finally:
        _left_out.reset(before)


@contextlib.contextmanager
def without_library_warnings() -> Iterator[None]:
    """Ignores all warnings of all threads in a block, which should be short; one thread at a time.

    Examples:
        >>> import warnings
        >>> from jaxgait.support.notes import without_library_warnings
        >>> with without_library_warnings():
        ...     warnings.warn("this will change")  # no warning
    """
    with FILTERS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def warn_user(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warns at the line of the first caller outside this package: the user's, whatever calls are between.

    Examples:
        >>> import warnings
        >>> from jaxgait.support.notes import warn_user
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     warn_user("the walk is slow")
        >>> print(caught[0].message)
        the walk is slow
    """
    if issubclass(type(message) if isinstance(message, Warning) else category, _left_out.get()):
        return
    frame, level = sys._getframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
