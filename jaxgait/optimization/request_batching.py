"""Runs library searches side by side, each in its own thread, and answers their requests in batches.

A library's search requests one point (or one population) at a time and waits. Here all active searches make their
requests, then all are answered together: sixty searches cost sixty lanes of one ensemble, not sixty successive solves.
Only one search runs at a time, in a fixed order, so the results do not depend on the threads.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")
Ask: TypeAlias = Callable[[Any], Any]
"""Called by a search with a question, usually points of shape (p, n); returns the answer: their evaluation."""
Answer: TypeAlias = Callable[[Sequence[int], Sequence[Any]], Sequence[Any]]
"""From the numbers of the waiting searches and their questions to one answer for each."""


class _Abandoned(BaseException):
    """Ends a search that will get no answer."""


class _Thread:
    """One search; it runs only while the driver waits for its next request."""

    def __init__(self, search: Callable[[Ask], Any]):
        self._in, self._out = queue.SimpleQueue(), queue.SimpleQueue()
        self.question: Any = None
        self.result: Any = None
        self._thread = threading.Thread(target=self._run, args=(search,), daemon=True)

    def _run(self, search: Callable[[Ask], Any]) -> None:
        try:
            self._out.put((None, search(self._ask), None))
        except _Abandoned:
            self._out.put((None, None, None))
        except BaseException as error:
            self._out.put((None, None, error))

    def _ask(self, question: Any) -> Any:
        self._out.put((question, None, None))
        answer = self._in.get()
        if isinstance(answer, _Abandoned):
            raise answer
        return answer

    def begin(self) -> None:
        """Runs until the first request."""
        self._thread.start()
        self._wait()

    def proceed(self, answer: Any) -> None:
        """Answers, and runs until the next request or the end."""
        self._in.put(answer)
        self._wait()

    def _wait(self) -> None:
        self.question, self.result, error = self._out.get()
        if self.question is None:
            self._thread.join()
        if error is not None:
            raise error

    def abandon(self) -> None:
        """Ends the search if it waits for an answer."""
        if self.question is not None:
            self._in.put(_Abandoned())
            self._thread.join()


def together(searches: Sequence[Callable[[Ask], T]], answer: Answer) -> list[T]:
    """Runs searches side by side; `answer` answers all requests of a round, and an error in it ends them all.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.optimization.request_batching import together
        >>> def answer(searches, questions):  # of all waiting searches, at once
        ...     return [float(10.0 * question.sum()) for question in questions]
        >>> one, two = np.array([1.0]), np.array([2.0])
        >>> together([lambda ask: ask(one) + ask(two), lambda ask: ask(two)], answer)
        [30.0, 20.0]
    """
    threads = [_Thread(search) for search in searches]
    try:
        for thread in threads:
            thread.begin()
        while asking := [i for i, thread in enumerate(threads) if thread.question is not None]:
            questions = [threads[i].question for i in asking]
            for i, found in zip(asking, answer(asking, questions), strict=True):
                threads[i].proceed(found)
        return [thread.result for thread in threads]
    finally:
        for thread in threads:
            thread.abandon()
