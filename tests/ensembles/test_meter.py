"""The progress of a scan, shown without a terminal."""

from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from jaxgait.ensembles import workers
from jaxgait.ensembles.plan import Plan
from jaxgait.ensembles.workers import Meter


def test_a_log_gets_a_line_after_a_minute_and_then_every_five(monkeypatch, capsys):
    clock = iter(np.arange(0.0, 1e6, 10.0)).__next__  # s: every look at it takes ten
    monkeypatch.setattr(workers, "time", SimpleNamespace(monotonic=clock))
    plan = Mock(spec=Plan, members=SimpleNamespace(size=200), size=100)
    for show, expected in ((None, 4), (False, 0)):
        with Meter(plan, show=show) as shown:
            for _ in range(100):
                shown.add(np.zeros(2, np.int32))
        lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("jaxgait:")]
        assert len(lines) == expected


@pytest.mark.parametrize("columns", [80, 40])
def test_failures_are_in_sight_however_narrow_the_terminal(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("LINES", "24")
    plan = Mock(spec=Plan, members=SimpleNamespace(size=123_456), size=1000)
    with Meter(plan, show=True) as shown:
        shown._bar.ncols = columns
        shown.add(np.ones(123, np.int32))
        line = str(shown._bar)
    assert line.startswith("123 failed,   0%") and "123/123456" in line and len(line) <= columns
    assert columns < 80 or line.endswith("1/1000 blocks]")
