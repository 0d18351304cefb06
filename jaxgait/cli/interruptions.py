"""Ctrl-C and `kill`: a command stops immediately, and its exit code shows which of the two it was."""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Sent by Ctrl-C, and by `kill` and the schedulers of clusters."""
MAX_WAIT = 2.0
"""Seconds to wait for a call that ignores signals, such as a compilation."""
_RETRY_AFTER = 0.01
"""Seconds until a lost interruption is repeated."""
_LOST = 0
"""Sent to the watching thread for a lost interruption; not the number of any signal."""

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
    is raised once more), and none is raised during a long call of compiled code (after `MAX_WAIT`, the process exits).
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _last[0] = int(signal.SIGINT)
    _taken.clear()
    with contextlib.ExitStack() as restored:  # an interruption here must not skip the remaining cleanup
        woken, wakes = socket.socketpair()
        wakes.setblocking(False)
        watch = threading.Thread(target=_watch, args=(woken,), daemon=True)
        watch.start()
        for end in (woken.close, watch.join, wakes.close):
            restored.callback(end)
        restored.callback(signal.set_wakeup_fd, signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False))
        hook = sys.unraisablehook
        sys.unraisablehook = lambda lost: (
            wakes.send(bytes([_LOST])) if lost.exc_type is KeyboardInterrupt else hook(lost)
        )
        restored.callback(setattr, sys, "unraisablehook", hook)
        restored.enter_context(_handled_by(_interrupt))
        yield


@contextlib.contextmanager
def as_exits() -> Iterator[None]:
    """Both signals end the process: an exception during an import would leave half a module behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with _handled_by(lambda number, _: _leave(number)):
        yield


@contextlib.contextmanager
def _handled_by(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Hands signals that are not ignored to a function."""
    known = {number: signal.getsignal(number) for number in SIGNALS}
    before = {number: was for number, was in known.items() if was not in (signal.SIG_IGN, None)}
    try:
        for number in before:
            signal.signal(number, handler)
        yield
    finally:
        for number, was in before.items():
            signal.signal(number, was)


def _interrupt(number: int, _: FrameType | None) -> None:
    _last[0] = number
    _taken.set()
    raise KeyboardInterrupt


def _watch(woken: socket.socket) -> None:
    """Repeats lost signals, ends the process if the main thread handles none; returns when the other end is closed."""
    while received := woken.recv(64):
        if signals := [number for number in received if number in SIGNALS]:
            if not _taken.wait(MAX_WAIT):
                _leave(signals[0])
            _taken.clear()
            received += _pending(woken)  # several signals during one call are handled as one
        if _LOST in received:
            time.sleep(_RETRY_AFTER)
            _send(_last[0])


def _pending(woken: socket.socket) -> bytes:
    """What has arrived, without waiting."""
    woken.setblocking(False)
    try:
        return woken.recv(64)
    except BlockingIOError:
        return b""
    finally:
        woken.setblocking(True)


def _send(number: int) -> None:
    """Repeats a signal; a real one also ends a wait of the main thread."""
    main = threading.main_thread().ident
    if main is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, number)
    else:
        _thread.interrupt_main(signal.Signals(number))


def _leave(number: int) -> None:
    os.write(2, b"jaxgait: interrupted\n")
    os._exit(128 + number)
