"""The parts of a reproduction: in this process and in others, in order, timed, and written at the end."""

import json
import multiprocessing
import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor as Pool

import jax.numpy as jnp
import pytest
from tqdm import tqdm

from jaxgait import reproduction
from jaxgait.outcome import IncompleteRun, NoResult
from jaxgait.report import Report
from jaxgait.reproduction import parts


def slow(report, out):
    time.sleep(0.5)
    report.figure("slow", "the process of the first part", "", str(os.getpid()))
    (out / "slow.txt").write_text(type(tqdm.get_lock()).__name__)


def quick(report, out):
    report.figure("quick", "the digits of a plain array", "", jnp.ones(1).dtype.name, expected="float64")


def fails(report, out):
    raise ValueError("no such walker")


def dies(report, out):
    os._exit(3)


def warns(report, out):
    warnings.warn("2 of 3 walks fell", IncompleteRun, stacklevel=2)


def waits(report, out):
    time.sleep(60.0)


@pytest.fixture(params=[1, 2])
def processes(request, monkeypatch):
    monkeypatch.setattr(reproduction, "default_workers", lambda devices: request.param)
    return request.param


def test_parts_are_timed_and_the_report_is_written_at_the_end(tmp_path):
    report, out = Report("A title"), tmp_path / "new"
    with parts(report, out, 2, progress=False) as part:
        assert part.run("doubling", lambda x: 2 * x, 3) == 6
        part.run("a figure", report.figure, "a", "a number", "1", 1.0)
        assert not (out / "report.md").exists()
    assert "| doubling | 0 |\n| a figure | 0 |" in (out / "report.md").read_text()
    assert json.loads((out / "figures.json").read_text())[0]["id"] == "a"


def test_independent_parts_keep_their_order_and_compute_in_float64(processes, tmp_path):
    report = Report("A title")
    with parts(report, tmp_path, 2, progress=False) as part:
        part.add({"slow": slow, "quick": quick})
    assert [figure.id for figure in report.figures] == ["slow", "quick"] and report.figures[1].met
    assert (report.figures[0].measured == str(os.getpid())) == (processes == 1)
    locked_by = (tmp_path / "slow.txt").read_text()
    assert list(part.seconds) == ["slow", "quick"]
    assert processes == 1 or locked_by == "RLock"  # of threads: one of processes would leave a semaphore if terminated
    assert 0.5 <= part.seconds["slow"] < 5.0 and not multiprocessing.active_children()


@pytest.mark.slow
def test_warnings_of_a_part_are_those_of_the_caller(processes, tmp_path, capfd):
    with (
        pytest.warns(IncompleteRun, match="^2 of 3 walks fell$"),
        parts(Report("A title"), tmp_path, 1, progress=False) as part,
    ):
        part.add({"warns": warns})
    assert "walks fell" not in capfd.readouterr().err, "a process of its own would print it with a line of its code"


@pytest.mark.slow
def test_the_first_failure_stops_the_others(processes, tmp_path):
    begin = time.monotonic()
    with (
        pytest.raises(ValueError, match="no such walker"),
        parts(Report("A title"), tmp_path, 2, progress=False) as part,
    ):
        part.add({"fails": fails, "waits": waits})
    assert time.monotonic() - begin < 50.0 and not multiprocessing.active_children()
    assert not (tmp_path / "report.md").exists()


def one_process(workers, *arguments, **options):
    """A pool of one process, whatever `workers`: one that dies needs no other, and each takes seconds to start."""
    return Pool(1, *arguments, **options)


@pytest.mark.slow
def test_a_process_that_dies_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(reproduction, "default_workers", lambda devices: 2)
    monkeypatch.setattr(reproduction, "ProcessPoolExecutor", one_process)
    with (
        pytest.raises(NoResult, match=r"a process ended while 'dies' was running: out of memory, or .*__main__"),
        parts(Report("A title"), tmp_path, 1, progress=False) as part,
    ):
        part.add({"dies": dies})
