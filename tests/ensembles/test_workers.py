"""Beyond one core: a Dask cluster that loses a worker, several devices of one machine."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from jaxgait.ensembles import read_store, workers
from jaxgait.ensembles.store import Store
from tests.ensembles.small_scan import blocks_done, small_scan

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_killed_worker_costs_only_what_it_was_running(client, tmp_path):
    place, other = tmp_path / "cluster.zarr", tmp_path / "here.zarr"
    runs = []
    scan = threading.Thread(target=lambda: runs.append(small_scan(place, cluster=client)))
    scan.start()
    while blocks_done(place) < 2 and scan.is_alive():
        time.sleep(0.005)
    victim = next(iter(client.run(os.getpid).values()))
    os.kill(victim, signal.SIGKILL)
    scan.join()
    assert runs and blocks_done(place) == 42
    small_scan(other)
    here, there = read_store(other).load(), runs[0].load()
    for name in here.data_vars:
        np.testing.assert_array_equal(there[name], here[name])
    assert (place / ".jaxgait" / "manifest.jsonl").read_bytes() == (other / ".jaxgait" / "manifest.jsonl").read_bytes()


def test_a_closed_client_is_named(client):
    other = distributed.Client(client.scheduler.address)
    other.close()
    with pytest.raises(ConnectionError, match=r"the Dask client is closed: make another one"):
        workers.connected(other)
    assert workers.connected(client) is client


@pytest.mark.slow
def test_threads_wait_for_a_slow_disk(tmp_path, monkeypatch):
    """Results that wait to be written are in memory."""
    started, waiting = [], []
    run, write = workers.run_task, Store.write

    def slow(store, block, found):
        time.sleep(0.01)
        waiting.append(len(started) - len(waiting))
        write(store, block, found)

    monkeypatch.setattr(workers, "run_task", lambda task: started.append(task) or run(task))
    monkeypatch.setattr(Store, "write", slow)
    small_scan(tmp_path / "slow.zarr", workers=2)
    assert len(started) == len(waiting) == 42 and max(waiting) <= 8


def test_blocks_that_finish_while_another_raises_are_kept(tmp_path, monkeypatch):
    run, wait, started = workers.run_task, workers.wait, []

    def first_fails(task):
        started.append(task)
        if len(started) == 1:
            raise FloatingPointError("boom")
        return run(task)

    monkeypatch.setattr(workers, "run_task", first_fails)
    monkeypatch.setattr(workers, "wait", lambda futures, return_when: wait(futures))
    with pytest.raises(RuntimeError, match=r"block 0 of 42 .* could not run: boom"):
        small_scan(tmp_path / "scan.zarr", workers=1)
    assert blocks_done(tmp_path / "scan.zarr") == 1


def test_blocks_that_are_finished_when_one_fails_on_a_cluster_are_kept(client, tmp_path, monkeypatch):
    def some_explode(common, values):
        if values["mass"][0] < 41.0 and values["stiffness"][0] < 16.0:  # the first block, which ends before the others
            raise FloatingPointError("boom")
        return workers._run_remotely(common, values)  # that of the worker

    def patient(queue, block=True):
        while queue.queue.qsize() < 2:
            time.sleep(0.005)
        return next_batch(queue, block)

    next_batch = distributed.as_completed.next_batch
    monkeypatch.setattr(workers, "_run_remotely", some_explode)
    monkeypatch.setattr(distributed.as_completed, "next_batch", patient)
    with pytest.raises(RuntimeError, match=r"block 0 of 42 .* could not run: boom"):
        small_scan(tmp_path / "scan.zarr", cluster=client)
    assert blocks_done(tmp_path / "scan.zarr") > 0


def test_an_error_on_a_worker_is_raised_here(client, monkeypatch):
    def explode(common, values):
        raise FloatingPointError("boom")

    monkeypatch.setattr(workers, "_run_remotely", explode)
    with pytest.raises(RuntimeError, match=r"block \d+ of 42 .* could not run: boom"):
        small_scan(None, cluster=client.scheduler.address)


FOUR_DEVICES = """
import numpy as np
from jaxgait.ensembles import ensemble
from jaxgait.models.bungee.model import Bungee

def run(devices):
    request = dict(duration=3.0, samples=5, batch=32, retry=False)
    return ensemble(Bungee(), {"mass": np.linspace(40.0, 100.0, 64)}, devices=devices, **request)

one, four = run(1), run(4)
for name in one.data_vars:
    np.testing.assert_array_equal(one[name], four[name])
again = ensemble(Bungee(), {"mass": np.linspace(40.0, 100.0, 5)}, duration=3.0, devices=3, max_steps=3)
assert (again.retries > 0).all()
print("same bits")
"""


@pytest.mark.slow
def test_several_devices_give_the_bits_of_one():
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    done = subprocess.run(
        [sys.executable, "-c", FOUR_DEVICES], env=environment, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "same bits", done.stderr
