"""The store: resumable byte for byte, and clear about everything that can go wrong with a disk."""

import dataclasses
import errno
import json
import multiprocessing
import os
import pathlib
import pickle
import random
import shutil
import signal
import threading
import time
import warnings

import diffrax
import jax
import jax.extend
import numpy as np
import pytest
import xarray as xr

from jaxgait import simulate, sobol
from jaxgait.ensembles import (
    StoreError,
    checksums,
    damaged,
    driver,
    ensemble,
    read_store,
    source,
    store,
    summary,
    workers,
)
from jaxgait.ensembles.fingerprint import differences
from jaxgait.ensembles.plan import run_task, task_of
from jaxgait.ensembles.results import DAMAGED, open_result
from jaxgait.ensembles.store import open_store, store_library
from jaxgait.model import Variable
from jaxgait.models.bungee.model import Bungee
from jaxgait.support import files, machine
from tests.ensembles.small_scan import MEMBERS, blocks_done, lowest, small_scan, small_scan_from_cache, write_from_table
from tests.oscillator import Oscillator

KILLS = 20
REQUEST = {"duration": 2.0, "samples": 10, "observe": lowest, "rtol": 1e-4, "retry": False, "batch": 1}
"""That of `small_scan`."""


def content(place):
    """All bytes of a scan; sessions.jsonl differs, because it lists when the scan ran."""
    files = [f for f in place.rglob("*") if f.is_file() and f.name != "sessions.jsonl" and f.parent.name != "tmp"]
    return {str(f.relative_to(place)): f.read_bytes() for f in files}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    place = tmp_path_factory.mktemp("whole") / "scan.zarr"
    small_scan(place)
    return place


@pytest.fixture
def copy(whole, tmp_path):
    return pathlib.Path(shutil.copytree(whole, tmp_path / "scan.zarr"))


def test_a_directory_without_a_store_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing\.zarr: no such store"):
        read_store(tmp_path / "missing.zarr")
    with pytest.raises(StoreError, match="is not a Zarr store: give the directory"):
        read_store(tmp_path)
    (tmp_path / "scan.nc").touch()
    with pytest.raises(FileNotFoundError, match=r"scan\.nc: a file; a store is a directory"):
        read_store(tmp_path / "scan.nc")


def test_unreadable_metadata_are_named(copy):
    metadata = (copy / "zarr.json").read_bytes()
    for unreadable in (b"", metadata[: len(metadata) // 2]):
        (copy / "zarr.json").write_bytes(unreadable)
        with pytest.raises(StoreError, match=r"scan\.zarr: zarr\.json is unreadable, .* repair=True \(--repair\)"):
            read_store(copy, check=False)


def test_the_store_contains_the_results_that_memory_would(whole):
    stored = read_store(whole).load()
    request = {"duration": 2.0, "samples": 10, "rtol": 1e-4, "observe": lowest, "retry": False}
    direct = ensemble(Bungee(), MEMBERS, **request, batch=1)
    for name in direct.data_vars:
        np.testing.assert_array_equal(stored[name], direct[name])
        assert stored[name].dims == direct[name].dims and stored[name].attrs == direct[name].attrs
    assert stored.mass.attrs["units"] == "kg" and summary(stored) == {"completed": 42}
    assert set(direct.attrs) - set(stored.attrs) == {"created", "efficiency"}
    assert direct.attrs["batch"] == stored.attrs["batch"] == 8  # padded
    xr.testing.assert_identical(xr.open_zarr(whole).load(), stored)


@pytest.mark.slow
def test_values_of_arrays_are_read_with_their_scan_and_arrays_may_be_empty(tmp_path):
    shapes = np.array([[1.0, 2.0], [3.0, 4.0]])
    request = {"duration": 0.1, "samples": 1, "observe": lambda run: {"late": run["x"][9:]}}
    ensemble(Oscillator(), {"shape": shapes}, **request, store=tmp_path / "scan.zarr")
    scan = read_store(tmp_path / "scan.zarr")
    np.testing.assert_array_equal(scan.shape_values, shapes)
    assert scan.late.shape == (2, 0)


@pytest.mark.slow
def test_histories_and_gradients_are_stored_too(tmp_path):
    kwargs = {
        "trajectories": True,
        "gradient": ["mass", "stiffness"],
        "members": {"mass": [60.0, 70.0, 80.0]},
        "batch": 2,
    }
    data = small_scan(tmp_path / "scan.zarr", **kwargs)
    assert not data.lowest_gradient.variable._in_memory, "a large store does not fit"
    assert data.x.dims == ("mass", "time") and data.x.shape == (3, 11)
    assert data.lowest_gradient.dims == ("mass", "parameter") and list(data.parameter.values) == ["mass", "stiffness"]
    np.testing.assert_array_equal(data.lowest, data.x.max("time"))


def kill_again_and_again(place, kills, target, args):
    """Runs `target(*args)` in one child process after the other and kills each at a random moment."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.ensembles.small_scan", "zarr", "dask.array"])
    rng = random.Random(0)
    for _ in range(kills):
        before = blocks_done(place)
        wanted = before + rng.randint(0, 2) if before < 24 else before  # on a busy machine it is killed late
        child = context.Process(target=target, args=args)
        child.start()
        while child.is_alive() and blocks_done(place) < wanted:
            time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.03))
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        assert child.exitcode == -signal.SIGKILL, f"the scan ended by itself, with the code {child.exitcode}"


def test_killed_at_any_moment_and_continued_gives_the_same_bytes(whole, tmp_path):
    """The whole protocol on disk, with the blocks' results from a table: a child starts in less than a second."""
    place, table = tmp_path / "scan.zarr", tmp_path / "table"
    plan = driver.plan_of({"model": Bungee(), "members": MEMBERS, **REQUEST})
    table.write_bytes(pickle.dumps((plan, {block: run_task(task_of(plan, block)) for block in range(plan.size)})))
    kill_again_and_again(place, KILLS // 3, write_from_table, (str(place), str(table)))
    small_scan(place)
    assert blocks_done(place) == 42 and content(place) == content(whole)


@pytest.mark.slow
def test_killed_with_everything_running(whole, tmp_path):
    place = tmp_path / "scan.zarr"
    kill_again_and_again(place, KILLS, small_scan_from_cache, (str(place), str(tmp_path / "cache")))
    small_scan(place)
    assert blocks_done(place) == 42 and content(place) == content(whole)


def test_any_reader_sees_whether_a_scan_is_complete(copy, whole):
    complete = lambda: xr.open_zarr(copy).attrs["complete"]
    assert complete() == 1
    cut(copy, 30)
    plan = driver.plan_of({"model": Bungee(), "members": MEMBERS, **REQUEST})
    with open_store(copy, plan) as store:
        assert complete() == 0 and checksums.damaged_labels(copy) == []
        assert len(store.missing) == 12
    assert complete() == 0  # interrupted
    with pytest.warns(UserWarning, match="12 members are still to be run: the scan was interrupted"):
        read_store(copy)
    small_scan(copy)
    assert complete() == 1 and content(copy) == content(whole)
    (copy / "lowest" / "c" / "0" / "0").unlink()
    with open_store(copy, plan, repair=True):
        assert complete() == 0


@pytest.mark.parametrize("left", [0, 12])
def test_a_store_of_an_early_version_without_the_mark_is_read_and_continued(copy, whole, left):
    if left:
        cut(copy, 42 - left)
    metadata = copy / "zarr.json"
    found = json.loads(metadata.read_text())
    del found["attributes"]["complete"]
    metadata.write_text(json.dumps(found, indent=2))
    assert checksums.damaged_labels(copy) == [] and "complete" not in read_store(copy, check=left == 0).attrs
    small_scan(copy)
    assert read_store(copy).attrs == read_store(whole).attrs


def test_a_store_becomes_a_netcdf_file(copy, tmp_path):
    xr.open_zarr(copy).to_netcdf(tmp_path / "scan.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "scan.nc", engine="h5netcdf") as found:
        assert found.attrs["complete"] == 1


def test_how_members_were_drawn_does_not_tell_scans_apart(tmp_path):
    """But it tells why their values differ."""
    place = tmp_path / "scan.zarr"
    drawn = lambda seed: sobol({"mass": (60.0, 80.0), "stiffness": (20.0, 30.0)}, 2, seed=seed)
    small_scan(place, members=drawn(0))
    alike = dataclasses.replace(drawn(0), attrs={})
    assert small_scan(place, members=alike).sampled.endswith("2, seed=0)")
    with pytest.raises(StoreError, match=r"sampled: sobol\(.* seed=0\) in the store, sobol\(.* seed=1\) now"):
        small_scan(place, members=drawn(1))
    with pytest.raises(StoreError, match=r"Differences: rtol: [^;]* now$"):
        small_scan(place, members=alike, rtol=1e-5)


def test_a_finished_scan_runs_nothing(copy, whole, monkeypatch):
    monkeypatch.setattr(workers, "run_task", None)
    small_scan(copy)
    assert content(copy) == content(whole)


@pytest.mark.slow
def test_another_cut_into_blocks_continues_with_the_store_s_own(copy, whole):
    cut(copy, 30)
    small_scan(copy, batch=None)
    assert content(copy) == content(whole)
    cut(copy, 30)
    with pytest.warns(UserWarning, match=r"has blocks of 1 members, which run together: not batch=8"):
        small_scan(copy, batch=8)
    assert content(copy) == content(whole)


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"model": Bungee(ground=51.0)}, "parameter ground: 50.0 in the store, 51.0 now"),
        ({"rtol": 1e-5}, "rtol: 0.0001 in the store, 1e-05 now"),
        ({"members": {**MEMBERS, "mass": np.linspace(40.0, 90.0, 6)}}, "values of mass: 6 values from 40 to 100"),
        ({"members": {"mass": MEMBERS["mass"]}}, "dimensions, stiffness: 7 in the store, (nothing) now"),
        ({"duration": 3.0}, "duration: 2.0 in the store, 3.0 now"),
        ({"observe": lambda run: {"lowest": run["x"].min()}}, "observe: lowest in the store, <lambda> now"),
        ({"variables": {"lowest": Variable("cm", "x")}}, "dimensions, lowest: (nothing) in the store, cm now"),
        (
            {"members": dict(reversed(MEMBERS.items()))},
            "order of the dimensions: mass, stiffness in the store, stiffness, mass now",
        ),
        ({"retry": True}, "Differences: retries: (nothing) in the store, tighter tolerance, stiff solver now$"),
        ({"precision": "float32"}, "precision: float64 in the store, float32 now"),
    ],
)
def test_another_scan_raises_and_the_difference_is_named(whole, changes, difference):
    before = content(whole)
    with pytest.raises(StoreError, match="holds another scan") as error:
        small_scan(whole, **changes)
    assert difference in f"{error.value}$" and content(whole) == before
    if "model" in changes:
        assert "source" not in str(error.value)


class Heavier(Bungee):
    def vector_field(self, t, y):
        return super().vector_field(t, y)._replace(v=2 * self._acceleration(y))


@pytest.mark.slow
def test_of_other_measures_only_their_names_are_listed(tmp_path):
    mass = {"mass": [60.0, 70.0]}
    scan = lambda *names: ensemble(Bungee(), mass, duration=2.0, observe=names, store=tmp_path / "scan.zarr")
    scan("clearance", "peak_rope_force")
    said = r"Differences: observe: \['clearance', 'peak_rope_force'\] in the store, \['clearance'\] now$"
    with pytest.raises(StoreError, match=said):
        scan("clearance")


def test_what_a_store_holds_already_is_said(copy, caplog):
    """In the log, which the command line shows on stderr."""
    cut(copy, 30)
    with caplog.at_level("INFO", logger="jaxgait"):
        small_scan(copy)
        assert f"{copy}: 30 of 42 blocks are kept from before, the others run" in caplog.messages
        small_scan(copy)
        assert f"{copy}: the scan is finished, so that nothing runs" in caplog.messages


def test_changed_equations_are_another_scan(whole):
    with pytest.raises(
        StoreError, match=r"Differences: model: jaxgait\.models\.bungee\.model\.Bungee in .*, Heavier now$"
    ):
        small_scan(whole, model=Heavier())


def test_of_another_model_nothing_else_is_named():
    stored, wanted = {"model": "Knee", "parameter k": 1.0, "rtol": 1e-4}, {"model": "Bungee", "rtol": 1e-5}
    assert differences(stored, wanted) == ["model: Knee in the store, Bungee now"]


def test_another_jax_continues(copy, whole, monkeypatch):
    """The identity of a scan is its content: neither versions nor what JAX makes of the equations."""
    cut(copy, 36)
    monkeypatch.setattr(jax, "__version__", "99.0")
    monkeypatch.setattr(diffrax, "__version__", "99.0")
    monkeypatch.setattr(jax.extend.core.Jaxpr, "__str__", lambda self: "another text")
    small_scan(copy)
    assert content(copy) == content(whole)


def test_what_cannot_be_compared_has_no_store(tmp_path):
    lock = threading.Lock()
    message = r"scan\.zarr cannot hold this scan: lock of observe: a lock cannot be compared with another"
    with pytest.raises(StoreError, match=message):
        small_scan(tmp_path / "scan.zarr", observe=lambda run: {"lowest": run["x"].max() if lock else 0.0})
    assert not [*tmp_path.iterdir()]


def test_a_changed_solver_is_another_scan(whole, tmp_path, monkeypatch):
    file = source._file
    changed = tmp_path / "tableaus.py"
    changed.write_text(file("jaxgait.solve.tableaus").read_text() + "\nORDER = 5\n")
    os.utime(changed, (0, 0))  # before this process began
    monkeypatch.setattr(source, "_file", lambda m: changed if m == "jaxgait.solve.tableaus" else file(m))
    with pytest.raises(
        StoreError, match=r"Differences: the source of jaxgait\.solve: changed since \(tableaus\.py\); .*jaxgait 0\.1"
    ):
        small_scan(whole)


def cut(place, lines):
    """Back to the state with so many finished blocks."""
    manifest = place / ".jaxgait" / "manifest.jsonl"
    manifest.write_text("".join(manifest.read_text().splitlines(keepends=True)[:lines]))


def test_a_truncated_line_is_ignored(copy, whole):
    cut(copy, 5)
    with open(copy / ".jaxgait" / "manifest.jsonl", "a") as manifest:
        manifest.write('{"block": 5, "sha2')
    small_scan(copy)
    assert content(copy) == content(whole)


def test_a_damaged_block_is_named_and_repaired_on_request(copy, whole):
    file = copy / "lowest" / "c" / "1" / "2"
    file.write_bytes(b"\0" * 8)
    with pytest.raises(StoreError, match=r"damaged: block 9.*other 41 blocks are good; repair=True"):
        small_scan(copy)
    small_scan(copy, repair=True)
    assert content(copy) == content(whole)
    file.unlink()
    with pytest.raises(StoreError, match="damaged: block 9"):
        small_scan(copy)


def test_after_a_repair_that_was_cut_short_damaged_blocks_have_not_run(copy, whole, monkeypatch):
    """They were read as good numbers without a checksum."""
    (copy / "lowest" / "c" / "1" / "2").write_bytes(np.float64(1e6).tobytes())
    with monkeypatch.context() as patch:
        interrupting(patch, KeyboardInterrupt(), after=0)
        with pytest.raises(KeyboardInterrupt, match="41 of 42 blocks are safe"):
            small_scan(copy, repair=True, workers=1)
    with pytest.warns(UserWarning, match=r"zarr: 1 member is still to be run: the scan was interrupted"):
        found = read_store(copy)
    assert found.status[1, 2] == -1 and np.isnan(found.lowest[1, 2]) and (found.status == 0).sum() == 41
    small_scan(copy)
    assert content(copy) == content(whole)


def test_a_disk_that_is_full_at_the_end_raises_how_to_continue(copy, whole, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    plan = driver.plan_of({"model": Bungee(), "members": MEMBERS, **REQUEST})
    said = "as complete: No space left .* 42 of 42 blocks are safe; free some disk space and run the same command"
    with monkeypatch.context() as patch, pytest.raises(StoreError, match=said), open_store(copy, plan):
        patch.setattr(store, "_moved_into", full)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt), open_store(copy, plan):
        patch.setattr(store, "_moved_into", full)
        raise KeyboardInterrupt  # this is what the caller sees
    small_scan(copy)
    assert content(copy) == content(whole)


def test_few_of_many_damaged_blocks_are_named(copy):
    for number in range(7):
        (copy / "lowest" / "c" / "1" / str(number)).unlink()
        (copy / "lowest" / "c" / "2" / str(number)).unlink()
    said = r"damaged: block 7, .*block 14 and 6 more, whose files fail their checksum\. The other 28 blocks are good"
    with pytest.raises(StoreError, match=said):
        small_scan(copy)
    with pytest.raises(
        StoreError, match=r"do not trust block 7, .*block 14 and 6 more, whose files fail their checksum"
    ):
        read_store(copy)


def test_damage_is_found_without_the_scan(copy):
    """By whoever only reads it; block 9's file of one result is empty, and lines of no block do not count."""
    assert damaged(copy) == []
    (copy / "lowest" / "c" / "1" / "2").write_bytes(b"\0" * 8)
    with open(copy / ".jaxgait" / "manifest.jsonl", "ab") as manifest:
        manifest.write(b'[1]\n{"block": 3}\n{"block": 99, "sha256": ""}\n\xff\n')
    assert damaged(copy) == [9]
    (unreadable := copy / "lowest" / "c" / "1" / "5").unlink()
    unreadable.mkdir()
    (copy / "mass" / "c" / "0").unlink()
    (copy / "mass" / "c" / "0").mkdir()
    assert damaged(copy) == [9, 12] and checksums.damaged_labels(copy) == ["mass/c/0"]
    (copy / ".jaxgait" / "manifest.jsonl").unlink()
    (copy / ".jaxgait" / "manifest.jsonl").mkdir()
    with pytest.raises(StoreError, match=r"cannot be checked: \.jaxgait/manifest\.jsonl is missing"):
        damaged(copy)


@pytest.mark.parametrize(
    ("place", "error", "message"),
    [
        ("typo", FileNotFoundError, "typo.zarr: no such store"),
        ("other", StoreError, r"\.jaxgait/plan\.json or zarr\.json is missing"),
        ("plan", StoreError, r"checked: \.jaxgait/plan\.json is missing or unreadable"),
        ("zarr", StoreError, r"or zarr\.json is missing or unreadable"),
    ],
)
def test_what_cannot_be_checked_is_not_without_damage(copy, place, error, message):
    if place == "other":
        shutil.rmtree(copy / ".jaxgait")
    elif place != "typo":
        (copy / {"plan": ".jaxgait/plan.json", "zarr": "zarr.json"}[place]).write_text("{")
    with pytest.raises(error, match=message):
        damaged(copy.with_name("typo.zarr") if place == "typo" else copy)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["zarr.json", "mass/zarr.json", "lowest/zarr.json", ".jaxgait/manifest.jsonl", ".jaxgait/labels.json"]
)
def test_missing_metadata_of_a_store_are_written_again(copy, whole, name):
    (copy / name).unlink()
    with pytest.raises(StoreError, match=rf"damaged: .*{name}.*repair=True"):
        small_scan(copy)
    small_scan(copy, repair=True)
    assert content(copy) == content(whole)


@pytest.mark.parametrize("harm", ["no manifest", "half a plan"])
def test_a_store_whose_blocks_cannot_be_checked_is_damaged(copy, whole, harm):
    lost = copy / ".jaxgait" / ("manifest.jsonl" if harm == "no manifest" else "plan.json")
    if harm == "no manifest":
        lost.unlink()
    else:
        lost.write_text(lost.read_text()[:40])
    with pytest.raises(
        StoreError, match=rf"damaged: without \.jaxgait/{lost.name}, its blocks cannot be checked; read"
    ):
        read_store(copy)
    np.testing.assert_array_equal(read_store(copy, check=False).lowest, read_store(whole).lowest)
    with pytest.warns(UserWarning, match="its blocks cannot be checked"):
        assert DAMAGED in open_result(copy).encoding


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["no folder", "no chunk", "other bytes"])
def test_a_damaged_coordinate_is_named_and_written_again(copy, whole, harm):
    chunk = copy / "mass" / "c" / "0"
    if harm == "no folder":
        shutil.rmtree(copy / "mass")
    elif harm == "no chunk":
        chunk.unlink()
    else:
        chunk.write_bytes(b"\0" * 48)
    assert checksums.damaged_labels(copy) == ["mass/c/0"]
    with pytest.raises(StoreError, match=r"damaged: .*mass/c/0; repair=True"):
        small_scan(copy)
    small_scan(copy, repair=True)
    assert content(copy) == content(whole) and checksums.damaged_labels(copy) == []


def test_coordinates_without_checksums_are_written_again(copy, whole):
    (copy / "mass" / "c" / "0").write_bytes(b"\0" * 48)
    (copy / ".jaxgait" / "labels.json").write_text('{"mass/c/0": ')
    assert checksums.damaged_labels(copy) == [".jaxgait/labels.json"] and checksums.damaged_labels(copy.parent) == []
    small_scan(copy, repair=True)
    assert content(copy) == content(whole)


@pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")
def test_changed_provenance_is_damage(copy, whole):
    """An edited tolerance would be believed; another program may add an array of its own."""
    metadata = copy / "zarr.json"
    read_store(copy)[["lowest"]].assign(half=lambda scan: scan.lowest / 2).drop_vars("lowest").to_zarr(copy, mode="a")
    assert checksums.damaged_labels(copy) == [] and "half" in read_store(copy)
    text = metadata.read_text()
    for old, new in (('"rtol": 0.0001', '"rtol": 1e-12'), ('"units": "kg"', '"units": "g"')):
        assert old in text
        metadata.write_text(text.replace(old, new))
        with pytest.raises(
            StoreError, match=r"damaged: do not trust zarr\.json, whose files fail their checksum; repair"
        ):
            read_store(copy)
        with pytest.raises(StoreError, match=r"damaged: zarr\.json; repair=True"):
            small_scan(copy)
    shutil.rmtree(copy / "half")
    small_scan(copy, repair=True)
    assert content(copy) == content(whole)


@pytest.mark.filterwarnings("ignore::zarr.errors.ZarrUserWarning")
def test_additions_to_a_store_are_no_damage_and_survive_a_repair(copy):
    """Attributes of the store and of its arrays, and arrays; the attributes of the scan must be there."""
    before, metadata = read_store(copy), copy / "zarr.json"
    before[["lowest"]].assign_attrs(note="mine").to_zarr(copy, mode="a")
    found = json.loads(metadata.read_text())
    found["consolidated_metadata"]["metadata"]["mass"]["attributes"]["seen"] = True
    metadata.write_text(json.dumps(found))
    assert checksums.damaged_labels(copy) == []
    small_scan(copy)
    xr.Dataset({"half": before.lowest / 2}).drop_vars(before.coords).to_zarr(copy, mode="a")  # with no attributes
    found = json.loads(metadata.read_text())
    found["attributes"]["note"] = "mine, too"
    found["consolidated_metadata"]["metadata"]["mass"]["attributes"] |= {"units": "cm", "seen": True}
    metadata.write_text(json.dumps(found))
    assert checksums.damaged_labels(copy) == ["zarr.json"]
    small_scan(copy, repair=True)
    after = read_store(copy)
    assert after.attrs == {**before.attrs, "note": "mine, too"}
    assert after.mass.attrs == {**before.mass.attrs, "seen": True}
    np.testing.assert_array_equal(after.half, before.lowest / 2)


def test_numbers_that_changed_on_the_disk_are_not_read_without_a_word(copy):
    """One flipped bit, a missing chunk, a damaged coordinate."""
    file = copy / "lowest" / "c" / "1" / "2"
    before = bytearray(file.read_bytes())
    before[-3] ^= 1
    file.write_bytes(before)
    (copy / "lowest" / "c" / "2" / "0").unlink()
    (copy / "mass" / "c" / "0").write_bytes(b"\0" * 48)
    with pytest.raises(StoreError, match=r"do not trust block 9, block 14, mass/c/0, whose files.*check=False\) reads"):
        read_store(copy)
    shutil.rmtree(copy / "mass")
    assert np.isnan(read_store(copy, check=False).lowest).sum() == 1


def test_blocks_of_an_unknown_plan_are_not_checked(copy):
    plan = copy / ".jaxgait" / "plan.json"
    contents = json.loads(plan.read_text())
    for odd in ({**contents, "blocks": [1]}, {**contents, "blocks": [0, 1]}, [1], {**contents, "dimensions": 3}):
        plan.write_text(json.dumps(odd))
        assert checksums.damage(copy) == ""
        with pytest.raises(StoreError, match="its blocks cannot be checked"):
            damaged(copy)


def test_a_disk_without_locks_warns(copy, monkeypatch):
    fcntl, closed = pytest.importorskip("fcntl"), []

    def none(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", none)
    monkeypatch.setattr(store.os, "close", lambda n, real=os.close: (closed.append(n), real(n)))
    with pytest.raises(StoreError, match=r"cannot be locked: .*; choose a disk that has file locks"):
        small_scan(copy)
    assert len(closed) == 1


def test_folders_need_not_be_flushed(tmp_path, monkeypatch):
    """As on Windows, where they cannot be opened."""
    real = os.open

    def denied(path, *how, **more):
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, *how, **more)

    monkeypatch.setattr(store.os, "open", denied)
    files.flush(tmp_path)
    store._write_file(tmp_path, tmp_path / "x", b"1")
    assert (tmp_path / "x").read_bytes() == b"1"


def test_a_block_is_flushed_before_its_line(tmp_path, monkeypatch):
    """With all folders that may be new: one that is lost takes the files along."""
    flush, append, flushed, lines = store.files.flush, store._append, [], []
    monkeypatch.setattr(store.files, "flush", lambda *paths: (flush(*paths), flushed.extend(paths)))
    monkeypatch.setattr(store, "_append", lambda *about: (append(*about), lines.append({*flushed})))
    place = tmp_path / "scan.zarr"
    small_scan(place, members={"mass": [60.0, 70.0], "stiffness": [20.0, 30.0]}, batch=2, workers=1)
    session, *blocks = lines
    assert ".jaxgait" in {path.name for path in session} and tmp_path in session
    for before, block in zip(blocks, ("0", "1"), strict=True):
        files = {*place.glob(f"*/c/{block}/*")} | {*place.glob(f"*/c/{block}/*/*")}
        files = {file for file in files if file.is_file()}
        folders = {folder for file in files for folder in file.parents if folder.is_relative_to(place)}
        assert len(files) > 5 and files | folders <= before


def test_two_processes_may_begin_a_store(tmp_path, whole, monkeypatch):
    """The slower one finds the store that the faster one made meanwhile."""
    place, template = tmp_path / "scan.zarr", store._write_template

    def overtaken(draft, *about):
        template(draft, *about)
        template(place, *about)

    monkeypatch.setattr(store, "_write_template", overtaken)
    small_scan(place)
    assert content(place) == content(whole) and list(tmp_path.iterdir()) == [place]


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (errno.ENOSPC, "free some disk space"),
        (errno.EROFS, "make the folder writable"),
        (errno.EFBIG, "allow larger files"),
        (errno.EIO, "fix this"),
    ],
)
def test_a_failing_disk_raises_and_finished_blocks_survive(tmp_path, whole, monkeypatch, code, advice):
    place = tmp_path / "scan.zarr"
    real, calls = os.fsync, []

    def failing(handle):
        calls.append(handle)
        if len(calls) > 150:
            raise OSError(code, os.strerror(code))
        real(handle)

    with monkeypatch.context() as patch:
        patch.setattr(store.os, "fsync", failing)
        with pytest.raises(
            StoreError, match=rf"could not be written.*[1-9]\d* of 42 blocks are safe; {advice}.*same command"
        ):
            small_scan(place)
    assert 0 < blocks_done(place) < 42
    small_scan(place)
    assert content(place) == content(whole)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk_for_real(tmp_path):
    """A tmpfs with room for half of the scan."""
    place = tmp_path / "tiny"
    place.mkdir()
    if os.system(f"mount -t tmpfs -o size=900k tmpfs {place} 2>/dev/null") != 0:
        pytest.skip("this machine mounts nothing")
    try:
        with pytest.raises(StoreError, match="free some disk space"):
            small_scan(place / "scan.zarr")
        os.system(f"mount -o remount,size=8m {place}")
        assert summary(small_scan(place / "scan.zarr")) == {"completed": 42}
        os.system(f"mount -o remount,ro {place}")
        with pytest.raises(StoreError, match="make the folder writable"):
            small_scan(place / "scan.zarr")
        with pytest.raises(StoreError, match=r"cannot be created.*make the folder writable"):
            small_scan(place / "other.zarr")
    finally:
        os.system(f"umount {place}")


def test_a_scan_too_large_for_the_disk_raises_before_it_starts(tmp_path):
    with pytest.raises(StoreError, match=r"needs .* TB and .* GB are free"):
        many = {name: np.linspace(40.0, 60.0, 300) for name in MEMBERS}
        small_scan(tmp_path / "scan.zarr", members=many, trajectories=True, samples=10_000_000)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("schema", "age"), [(3, "an older"), (99, "a newer")])
def test_another_schema_raises(copy, schema, age):
    plan = copy / ".jaxgait" / "plan.json"
    plan.write_text(json.dumps({**json.loads(plan.read_text()), "schema": schema}))
    (copy / ".jaxgait" / "labels.json").unlink()  # which that version need not have
    assert checksums.damaged_labels(copy) == []
    with pytest.raises(
        StoreError, match=rf"by {age} version \(jaxgait 0\.1.*schema {schema};.*: read it with `read_store`, finish"
    ):
        small_scan(copy)


def test_a_new_store_has_no_name_of_a_file(tmp_path):
    for name in ("scan.nc", "scan.zarr.json"):
        with pytest.raises(StoreError, match=r"a store is a folder: name it scan\.zarr, or write a file"):
            small_scan(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_other_files_and_folders_are_unchanged(tmp_path):
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(StoreError, match="the path of the store is empty: name a folder"):
        small_scan("")
    with pytest.raises(StoreError, match="exists and is not a scan"):
        small_scan(tmp_path)
    with pytest.raises(StoreError, match="exists and is not a scan"):
        small_scan(tmp_path / "mine.txt")
    assert (tmp_path / "mine.txt").read_text() == "precious" and len(list(tmp_path.iterdir())) == 1


def test_two_processes_do_not_write_in_one_store(copy):
    fcntl = pytest.importorskip("fcntl")
    with open(copy / ".jaxgait" / "lock", "r+") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(StoreError, match="is in use"):
            small_scan(copy)


def test_ctrl_c_while_a_store_is_checked_releases_it(copy, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checksums, "damaged_blocks", stopped)
        with pytest.raises(KeyboardInterrupt):
            small_scan(copy)
    small_scan(copy)


def interrupting(monkeypatch, error, after):
    real, calls = workers.run_task, []

    def task(*args):
        calls.append(args)
        if len(calls) > after:
            raise error
        return real(*args)

    monkeypatch.setattr(workers, "run_task", task)


def test_ctrl_c_saves_and_the_message_names_how_to_continue(tmp_path, whole, monkeypatch):
    place = tmp_path / "scan.zarr"
    with monkeypatch.context() as patch:
        interrupting(patch, KeyboardInterrupt(), after=7)
        with pytest.raises(KeyboardInterrupt, match=r"\d+ of 42 blocks are safe in .*same command"):
            small_scan(place, workers=1)
    assert blocks_done(place) == 7
    with pytest.warns(UserWarning, match=r"35 members are still to be run: the scan was interrupted"):
        assert (read_store(place).status == -1).sum() == 35, "readable while unfinished"
    with warnings.catch_warnings(), pytest.raises(UserWarning, match="35 members are still to be run"):
        warnings.simplefilter("error")
        open_result(place)
    small_scan(place)
    assert content(place) == content(whole)


@pytest.mark.parametrize("why", ["it is locked", "this system cannot tell"])
def test_readers_without_permission_to_write_call_no_running_scan_interrupted(copy, monkeypatch, why):
    fcntl, real = pytest.importorskip("fcntl"), os.open

    def only_reading(path, how, *more, **options):
        if how & (os.O_RDWR | os.O_WRONLY):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return real(path, how, *more, **options)

    def none(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    cut(copy, 7)
    with open(copy / ".jaxgait" / "lock", "r+") as writer, warnings.catch_warnings():
        warnings.simplefilter("error")
        if why == "it is locked":
            fcntl.flock(writer, fcntl.LOCK_EX)
        else:
            monkeypatch.setattr(fcntl, "flock", none)
        monkeypatch.setattr(os, "open", only_reading)
        assert open_result(copy).status.size == read_store(copy).status.size == 42
        if why == "it is locked":
            fcntl.flock(writer, fcntl.LOCK_UN)
            with pytest.raises(UserWarning, match="the scan was interrupted"):
                read_store(copy)


def test_a_scan_that_ends_while_its_store_is_opened_was_not_interrupted(copy, monkeypatch):
    """The manifest is read before the lock is seen."""
    manifest = (copy / ".jaxgait" / "manifest.jsonl").read_text()
    cut(copy, 7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        finish = lambda *_: bool((copy / ".jaxgait" / "manifest.jsonl").write_text(manifest))
        monkeypatch.setattr(store.locks, "is_free", finish)
        read_store(copy)


@pytest.mark.parametrize("removed", [0, 3, 38])
def test_members_without_a_line_are_still_to_be_run(copy, removed):
    """Whatever is in their place: a user can do nothing else about either."""
    cut(copy, 4)
    for block in range(42 - removed, 42):
        (copy / "status" / "c" / str(block // 7) / str(block % 7)).unlink()
    with pytest.warns(UserWarning, match=r"38 members are still to be run: the scan was interrupted; the call"):
        assert (read_store(copy).status == -1).sum() == removed


def test_a_member_with_a_status_has_all_its_results(tmp_path, monkeypatch):
    """Even if the process was killed before it recorded the block."""
    place, real = tmp_path / "scan.zarr", store._moved_into

    def killed(root, target, content, **how):
        if target.parent == root / "t_end" / "c" / "1":  # by name, the statuses would be in place by now
            raise KeyboardInterrupt
        real(root, target, content, **how)

    monkeypatch.setattr(store, "_moved_into", killed)
    with pytest.raises(KeyboardInterrupt):
        small_scan(place, members={"mass": [60.0, 70.0, 80.0], "stiffness": [20.0, 30.0]}, batch=2, workers=1)
    with pytest.warns(UserWarning, match="4 members are still to be run"):
        assert (read_store(place).status.values == [[0, 0], [-1, -1], [-1, -1]]).all()


def test_unfinished_blocks_at_the_edges_are_shorter(tmp_path):
    """Of 3 x 5 members in blocks of 2 x 2, of which the first is finished."""
    assert checksums.unfinished(tmp_path) == (0, 0), "not a store"
    (tmp_path / ".jaxgait").mkdir()
    plan = {"dimensions": {"mass": 3, "stiffness": 5}, "blocks": [2, 2], "results": {}}
    (tmp_path / ".jaxgait" / "plan.json").write_text(json.dumps(plan))
    (tmp_path / "zarr.json").write_text('{"consolidated_metadata": {"metadata": {}}}')
    (tmp_path / ".jaxgait" / "manifest.jsonl").write_text('{"block": 0, "sha256": ""}\n')
    assert checksums.unfinished(tmp_path) == (11, 0)
    for row, column in ((0, 2), (1, 1)):
        (tmp_path / "status" / "c" / str(row)).mkdir(parents=True)
        (tmp_path / "status" / "c" / str(row) / str(column)).touch()
    assert checksums.unfinished(tmp_path) == (7, 4)


def test_a_block_that_raises_stops_the_scan_and_names_itself(tmp_path, monkeypatch):
    interrupting(monkeypatch, FloatingPointError("boom"), after=3)
    with pytest.raises(RuntimeError, match=r"block 3 of 42 \(mass 0\.\.0, stiffness 3\.\.3\) could not run: boom"):
        small_scan(tmp_path / "scan.zarr", workers=1)
    assert blocks_done(tmp_path / "scan.zarr") == 3


@pytest.mark.slow
def test_measures_in_another_order_are_the_same_scan(tmp_path):
    ask = {"duration": 2.0, "samples": 10, "store": tmp_path / "scan.zarr"}
    ensemble(Bungee(), MEMBERS, observe=["peak_rope_force", "clearance"], **ask)
    before = content(ask["store"])
    ensemble(Bungee(), MEMBERS, observe=["clearance", "peak_rope_force"], **ask)
    assert content(ask["store"]) == before


@pytest.mark.slow
def test_results_are_in_the_order_of_the_model_and_of_the_request(tmp_path):
    ask = {"duration": 2.0, "samples": 10, "observe": ["peak_rope_force", "clearance"]}
    run = simulate(Bungee(), **ask)
    ask |= {"trajectories": True, "gradient": "stiffness"}
    scan = ensemble(Bungee(), {"mass": [60.0, 70.0]}, **ask)
    kept = ensemble(Bungee(), {"mass": [60.0, 70.0]}, **ask, store=tmp_path / "scan.zarr")
    wanted = [name for name in run if name in scan]
    for found in (scan, kept, open_result(tmp_path / "scan.zarr")):
        assert [name for name in found if name in wanted] == wanted
        assert list(found)[:5] == ["status", "t_end", "steps", "rejected_steps", "first_status"]
        assert list(found)[-2:] == ["peak_rope_force_gradient", "clearance_gradient"]


def test_the_error_of_a_truncated_file_names_the_store_and_the_repair(copy):
    file = copy / "lowest" / "c" / "1" / "2"
    file.write_bytes(file.read_bytes()[:3])
    with pytest.warns(UserWarning, match="do not trust block 9"), pytest.raises(ValueError, match=r"lowest.*--repair"):
        open_result(copy)


@pytest.mark.slow
def test_a_scan_with_a_store_has_several_blocks(tmp_path, monkeypatch):
    """On CPUs, so that an interruption loses little. All blocks have one length."""
    monkeypatch.setattr(machine, "on_cpu", lambda: True)
    request = {"model": Oscillator(), "members": {"mass": np.linspace(50.0, 80.0, 400)}, "workers": 2, "duration": 1.0}
    kept, free = driver.plan_of(request | {"store": tmp_path / "scan.zarr"}), driver.plan_of(request)
    assert (kept.block_shape, kept.size, free.block_shape, free.size) == ((31,), 13, (200,), 2)
    assert {task_of(kept, block).length for block in range(kept.size)} == {32}
    few = driver.plan_of(request | {"members": {"mass": np.linspace(50.0, 80.0, 24)}, "store": tmp_path / "scan.zarr"})
    assert few.size == 2
    assert driver.plan_of(request | {"workers": 50, "store": tmp_path / "scan.zarr"}).size == 50


def test_the_error_of_a_missing_library_names_the_package():
    with pytest.raises(ModuleNotFoundError, match=r'need no_such_library: pip install "jaxgait\[store\]"'):
        store_library("no_such_library")


def test_drafts_that_killed_processes_left_days_ago_are_removed(tmp_path):
    new, left, other = (files.draft_of(tmp_path / name) for name in ("scan", "scan", "other"))
    assert new != left
    for folder in (new, left, other):
        folder.mkdir()
    for folder in (left, other):
        os.utime(folder, (time.time() - 3 * 86400,) * 2)
    files.draft_of(tmp_path / "scan")
    assert new.exists() and not left.exists() and other.exists()
