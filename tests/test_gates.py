"""The table of gates: a row that fails is reported, and the script exits with 1."""

import numpy as np
import pytest

from experiments.reliability import gates, numerics, scans, stores
from experiments.reliability.rows import below, equal
from jaxgait import Bungee, ensemble


def test_rows():
    assert below("drift", 2e-9, 1e-8).holds and not below("drift", float("nan"), 1e-8).holds
    assert equal("bytes", 0, 0).holds and not equal("bytes", 1, 0).holds


def test_a_gate_that_fails_is_reported(monkeypatch, capsys, tmp_path):
    monkeypatch.setitem(gates.GATES, "drifts", lambda size: iter([equal("bytes that differ", size.kills, 0)]))
    with pytest.raises(SystemExit) as stop:
        gates.main(["--only", "drifts", "--kills", "3", "--page", str(tmp_path / "page.md")])
    assert stop.value.code == 1 and "| bytes that differ | 3 | 0 | **no** |" in capsys.readouterr().out
    assert (tmp_path / "page.md").read_text().startswith("# Measured reliability")


@pytest.mark.parametrize(("calls", "growth"), [(1, 0.0), (2, 0.0), (4, 1.0)])
def test_growth_of_memory_is_that_of_the_later_half(monkeypatch, calls, growth):
    run = []
    monkeypatch.setattr(scans, "_scan", lambda **_: run.append(1))
    monkeypatch.setattr(scans, "resident", lambda: 1e6 * len(run))
    (row,) = scans.repeated_calls(calls)
    assert len(run) == calls and row.measured.startswith(f"{growth:g}")


@pytest.mark.slow
@pytest.mark.parametrize("run", [scans.QUICK, stores.REQUEST])
def test_the_runs_of_the_gates_last_until_their_measure_has_a_value(run):
    slowest = ensemble(Bungee(), {"mass": [100.0], "stiffness": [15.0]}, **run)
    assert np.isfinite(slowest.clearance).all()


@pytest.mark.slow
def test_a_solver_of_lower_order_fails(monkeypatch):
    monkeypatch.setattr(numerics, "SOLVERS", {"Bosh3": numerics.SOLVERS["Bosh3"]})
    assert [row.holds for row in numerics.orders()] == [True]
    monkeypatch.setattr(numerics, "ORDERS", {"Bosh3": 4})
    assert [row.holds for row in numerics.orders()] == [False]
