"""The progress of a scan, shown without a terminal."""

from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np

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
