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
"""What Ctrl-C, and what `kill` and the schedulers of clusters send."""
PATIENCE = 2.0
"""Seconds until a call that hears no signals, such as a compilation, is not waited for any longer."""
_LATER = 0.01
"""Seconds until an interruption that got lost is repeated."""

_last = [int(signal.SIGINT)]
_taken = threading.Event()


def code() -> int:
    """The exit code after the last interruption: 130 for Ctrl-C, 143 for `kill`."""
    return 128 + _last[0]


def hidden_in(error: BaseException | None) -> bool:
    """Whether an error came of an interruption, such as that of a lock that was being released when one came."""
    return error is not None and (isinstance(error, KeyboardInterrupt) or hidden_in(error.__context__))


@contextlib.contextmanager
def heard() -> Iterator[None]:
    """Both signals raise KeyboardInterrupt, wherever the main thread is; signals that are ignored stay ignored.

    Python alone misses some: an exception in a callback, such as JAX's at each garbage collection, is dropped, and in
    a long call of compiled code none is raised. The former is raised once more, after the latter the process ends.
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
def deadly() -> Iterator[None]:
    """Both signals end the process without more ado: while JAX is imported an exception leaves half a module behind."""
    before = _handled(lambda number, _: _leave(number)) if threading.current_thread() is threading.main_thread() else {}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _handled(handler: Any) -> dict[int, Any]:
    """Sets a handler of the signals that nobody ignores; returns those that were there."""
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
    again = threading.Timer(_LATER, _send, (_last[0],))
    again.daemon = True
    again.start()


def _send(number: int) -> None:
    """The signal once more; a real one ends the main thread's waiting, too."""
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
    """Reads what is there already."""
    woken.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while woken.recv(64):
            pass
    woken.setblocking(True)


def _leave(number: int) -> None:
    os.write(2, b"jaxgait: interrupted\n")
    os._exit(128 + number)
