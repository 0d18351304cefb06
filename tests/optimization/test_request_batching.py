"""Searches side by side: answered in batches, in order, and ended when one fails."""

import numpy as np
import pytest

from jaxgait.optimization.request_batching import together


def counting(times):
    def search(ask):
        return [float(ask(np.array([[float(i)]]))) for i in range(times)]

    return search


def test_those_that_go_on_are_answered_together():
    rounds = []

    def answer(searches, questions):
        rounds.append(tuple(searches))
        return [10 * i + q[0, 0] for i, q in zip(searches, questions, strict=True)]

    assert together([counting(n) for n in (2, 0, 3)], answer) == [[0.0, 1.0], [], [20.0, 21.0, 22.0]]
    assert rounds == [(0, 2), (0, 2), (2,)]


def test_an_error_ends_all_of_them():
    def broken(searches, questions):
        raise OSError("no disk")

    with pytest.raises(OSError, match="no disk"):
        together([counting(1), counting(2)], broken)

    def faulty(ask):
        raise ValueError("a search went wrong")

    with pytest.raises(ValueError, match="a search went wrong"):
        together([counting(3), faulty], lambda searches, questions: [0.0] * len(searches))
