"""Large scans: a bounded number of files, in blocks of several batches, and the room for them on the disk."""

import math
import os
import types

import numpy as np
import pytest

from jaxgait.ensembles import StoreError, ensemble
from jaxgait.ensembles import plan as plans
from jaxgait.ensembles.disk_space import disk_files
from jaxgait.ensembles.driver import plan_of
from jaxgait.ensembles.plan import TALLY, block_shape, run_task, stored_shape, task_of
from jaxgait.ensembles.store import finished
from tests.oscillator import Oscillator

MEMBERS = {"mass": np.linspace(50.0, 80.0, 61)}
REQUEST = {"duration": 1.0, "samples": 10, "observe": lambda run: {"lowest": run["x"].min()}}


@pytest.mark.parametrize("shape", [(160_000,), (400, 400), (100, 40, 40), (1_000_000,), (3, 7, 9973)])
def test_a_large_scan_has_a_bounded_number_of_blocks(shape):
    count = lambda blocks: math.prod(-(-n // b) for n, b in zip(shape, blocks, strict=True))
    found = stored_shape(shape, 256, member_bytes=60, workers=2)
    assert 64 <= count(found) <= 256 < count(block_shape(shape, 256))
    assert count(stored_shape(shape, 256, member_bytes=60, workers=64)) > 400 / 2, "enough for every worker"
    assert stored_shape(shape, 256, member_bytes=200_000, workers=2) == block_shape(shape, 256), "of whole histories"


def test_a_small_scan_keeps_its_blocks():
    assert stored_shape((400,), 32, member_bytes=60, workers=2) == block_shape((400,), 32)


@pytest.mark.slow
def test_a_batch_that_makes_many_blocks_is_noted(tmp_path, caplog):
    (tmp_path / "begun.zarr").mkdir()
    with caplog.at_level("INFO", logger="jaxgait"):
        for batch, name in ((None, "scan"), (2, "scan"), (1, "scan"), (1, "begun")):
            request = {"members": {"mass": np.linspace(50.0, 80.0, 400)}, "batch": batch, "workers": 1, **REQUEST}
            plan_of(request | {"model": Oscillator(), "store": tmp_path / f"{name}.zarr"})
    assert [message for message in caplog.messages if "batch" in message] == [
        "batch=1 divides the store into 400 blocks, each with a file for every result; where batch is not given, there "
        "are about 200"
    ]


@pytest.mark.slow
def test_a_block_of_several_batches_has_the_bytes_of_one(monkeypatch, tmp_path):
    request = {"model": Oscillator(), "members": MEMBERS, "workers": 1, **REQUEST}
    monkeypatch.setattr(plans, "MOST_STORED", 2)
    monkeypatch.setattr(plans, "LARGEST_BATCH", 8)
    monkeypatch.setattr(plans, "STORED_PER_WORKER", 2)
    several = plan_of(request | {"store": tmp_path / "scan.zarr"})
    assert (several.block_shape, several.batch, several.size) == ((31,), 8, 2)
    assert task_of(several, 0).length == 8
    one = plan_of(request | {"batch": 31})
    for block in range(2):
        parts, whole = run_task(task_of(several, block)), run_task(task_of(one, block))
        for name in whole.keys() - {TALLY}:
            assert parts[name].tobytes() == whole[name].tobytes(), name
        assert parts[TALLY][0] == whole[TALLY][0] <= parts[TALLY][1]
    store = ensemble(**request, store=tmp_path / "scan.zarr", progress=False)
    np.testing.assert_array_equal(store.lowest, ensemble(**request, progress=False).lowest)
    on_cluster = plan_of(request | {"store": tmp_path / "scan.zarr", "cluster": "tcp://scheduler:8786"})
    continued, _ = finished(tmp_path / "scan.zarr", on_cluster)
    assert (on_cluster.block_shape, continued.block_shape, continued.batch_length) == ((8,), (31,), 8)
    assert len([*(tmp_path / "scan.zarr" / "lowest" / "c").iterdir()]) == 2


@pytest.mark.slow
def test_members_that_fail_run_again_in_batches(monkeypatch, tmp_path):
    request = {"model": Oscillator(), "members": MEMBERS, "workers": 1, "max_steps": 3, **REQUEST}
    whole = ensemble(**request, batch=61, progress=False)
    assert (whole.retries > 0).any()
    monkeypatch.setattr(plans, "MOST_STORED", 1)
    monkeypatch.setattr(plans, "LARGEST_BATCH", 8)
    monkeypatch.setattr(plans, "STORED_PER_WORKER", 1)
    parts = ensemble(**request, store=tmp_path / "scan.zarr", progress=False)
    for name in ("status", "first_status", "retries", "lowest"):
        np.testing.assert_array_equal(parts[name], whole[name], err_msg=name)


def test_a_disk_without_room_for_the_files_is_noticed_before_the_work(monkeypatch, tmp_path):
    request = {"model": Oscillator(), "members": MEMBERS, "batch": 1, **REQUEST}
    need = disk_files(plan_of(request | {"store": tmp_path / "scan.zarr"}))
    assert need > 61 * 9
    blocks = dict.fromkeys(("f_blocks", "f_bfree", "f_bavail"), 10**6)
    found = types.SimpleNamespace(f_files=1000, f_favail=need - 1, f_frsize=4096, **blocks)
    monkeypatch.setattr(os, "statvfs", lambda _: found)
    with pytest.raises(StoreError, match=f"needs about {need} files and the disk has room for {need - 1} .inodes."):
        ensemble(**request, store=tmp_path / "scan.zarr", progress=False)
    assert not [*tmp_path.iterdir()]
    found.f_files = found.f_favail = 0  # as of disks without a table of files
    assert ensemble(**request, store=tmp_path / "scan.zarr", progress=False).status.size == 61
