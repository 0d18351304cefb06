"""The time and the memory of a scan, estimated from a sample of it."""

import pytest

from jaxgait.ensembles import StoreError, cost, ensemble, estimate
from jaxgait.ensembles.cost import duration
from tests.ensembles.small_scan import MEMBERS, lowest
from tests.oscillator import Oscillator

REQUEST = {"duration": 2.0, "samples": 10, "rtol": 1e-4, "observe": lowest, "retry": False, "workers": 1}


@pytest.mark.slow
def test_an_estimate_runs_a_sample_and_counts_the_blocks_of_a_store(tmp_path):
    place = tmp_path / "scan.zarr"
    found = estimate(Oscillator(), MEMBERS, **REQUEST, batch=8, store=place)
    assert not place.exists()
    assert (found.members, found.blocks, found.workers, found.done) == (42, 6, 1, 0)
    assert found.sample == found.block == 7 and found.seconds == pytest.approx(6 * found.sample_seconds)
    data = ensemble(Oscillator(), MEMBERS, **REQUEST, batch=8, store=place)
    assert found.result_bytes == sum(x.nbytes for x in data.data_vars.values())
    taken = sum(4096 * (1 if file.is_dir() else -(-file.stat().st_size // 4096)) for file in place.rglob("*"))
    assert found.disk_bytes == pytest.approx(taken, rel=0.3) and found.process_bytes > found.working_bytes
    assert found.disk_files == pytest.approx(sum(1 for _ in place.rglob("*")), rel=0.1)
    assert any(f"in {found.disk_files} files; " in line for line in found.lines())
    after = estimate(Oscillator(), MEMBERS, **REQUEST, batch=8, store=place)
    assert after.done == 6 and after.seconds == 0.0
    assert any("6 of 6 blocks are in the store" in line for line in after.lines())
    with pytest.raises(StoreError, match="holds another scan"):
        estimate(Oscillator(mass=80.0), MEMBERS, **REQUEST, batch=8, store=place)


@pytest.mark.slow
def test_the_first_blocks_of_a_process_do_not_count(monkeypatch):
    real, own = cost._timed, lambda *request: (real(*request)[0], next(times))
    monkeypatch.setattr(cost, "_timed", own)
    for given, counted in (([0.9, 0.1], 0.1), ([30.0], 30.0)):  # s; a long sample runs once
        times = iter(given)
        assert estimate(Oscillator(), {"mass": [60.0, 70.0]}, **REQUEST).sample_seconds == counted
    times, failing = iter([30.0, 0.2]), {"retry": True, "max_steps": 3}  # the first compiles the programs of retries
    found = estimate(Oscillator(), {"mass": [60.0, 70.0]}, **REQUEST | failing)
    assert found.sample_seconds == 0.2 and found.compile_seconds > 29.0


def test_arguments_are_those_of_ensemble():
    with pytest.raises(TypeError, match="sample"):
        estimate(Oscillator(), {"mass": [60.0]}, sample=3)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.123, "0.12 s"), (59.6, "60 s"), (5400.0, "1.5 h"), (200.0, "3.3 min"), (1.3e7, "150 d")]
)
def test_times_are_shown_in_a_suitable_unit(seconds, text):
    assert duration(seconds) == text
