"""Ctrl-C and `kill`: a command stops at once, and its exit code tells which of the two it was."""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Sent by Ctrl-C, and by `kill` and the schedulers of clusters."""
PATIENCE = 2.0
"""Seconds to wait for a call that ignores signals, such as a compilation."""
_RETRY_AFTER = 0.01
"""Seconds until a lost interruption is repeated."""

_last = [int(signal.SIGINT)]
_taken = threading.Event()


def code() -> int:
    """The exit code after the last interruption: 130 for Ctrl-C, 143 for `kill`."""
    return 128 + _last[0]


def caused_by_signal(error: BaseException | None) -> bool:
    """Whether an error results from an interruption, such as that of a lock whose release was interrupted."""
    return error is not None and (isinstance(error, KeyboardInterrupt) or caused_by_signal(error.__context__))


@contextlib.contextmanager
def as_exceptions() -> Iterator[None]:
    """Both signals raise KeyboardInterrupt in the main thread; ignored signals stay ignored.

    Python alone misses some: an exception in a callback, such as JAX's at each garbage collection, is dropped (here it
    is raised once more), and none is raised during a long call of compiled code (after `PATIENCE`, the process exits).
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _last[0] = int(signal.SIGINT)
    _taken.clear()
    hook, ours = sys.unraisablehook, _handled(_interrupt)
    woken, wakes = socket.socketpair()
    wakes.setblocking(False)
    waking = signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
    watch = threading.Thread(target=_watch, args=(woken,), daemon=True)
    watch.start()
    sys.unraisablehook = lambda lost: _repeat() if lost.exc_type is KeyboardInterrupt else hook(lost)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.set_wakeup_fd(waking)
        wakes.close()
        watch.join()
        woken.close()
        for number, handler in ours.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def as_exits() -> Iterator[None]:
    """Both signals end the process at once: an exception during the import of JAX would leave half a module behind."""
    before = _handled(lambda number, _: _leave(number)) if threading.current_thread() is threading.main_thread() else {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _handled(handler: Any) -> dict[int, Any]:
    """Sets a handler for the signals that are not ignored; returns the previous handlers."""
    known: dict[int, Any] = {int(number): signal.getsignal(number) for number in SIGNALS}
    before = {number: was for number, was in known.items() if was not in (signal.SIG_IGN, None)}
    for number in before:
        signal.signal(number, handler)
    return before


def _interrupt(number: int, _: FrameType | None) -> None:
    _last[0] = number
    _taken.set()
    raise KeyboardInterrupt


def _repeat() -> None:
    again = threading.Timer(_RETRY_AFTER, _send, (_last[0],))
    again.daemon = True
    again.start()


def _send(number: int) -> None:
    """Repeats the signal; a real one also ends a wait of the main thread."""
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, number)
    else:
        _thread.interrupt_main(signal.Signals(number))


def _watch(woken: socket.socket) -> None:
    """Ends the process if the main thread does not take a signal; returns when the other end is closed."""
    while received := woken.recv(1):
        if received[0] in SIGNALS:
            if not _taken.wait(PATIENCE):
                _leave(received[0])
            _taken.clear()
            _drain(woken)  # several signals during one call are taken as one


def _drain(woken: socket.socket) -> None:
    """Discards pending data."""
    woken.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while woken.recv(64):
            pass
    woken.setblocking(True)


def _leave(number: int) -> None:
    os.write(2, b"jaxgait: interrupted\n")
    os._exit(128 + number)
