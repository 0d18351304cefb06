"""Results of a store that changes after it was opened: it was moved, or is being filled."""

import pickle
import shutil

import numpy as np
import pytest

from jaxgait.ensembles import read_store
from tests.ensembles.small_scan import small_scan


@pytest.mark.slow
def test_results_follow_no_change_of_folder_and_know_that_their_store_is_gone(tmp_path, monkeypatch):
    small_scan(tmp_path / "scan.zarr")
    monkeypatch.chdir(tmp_path)
    results = [read_store("scan.zarr") for _ in range(2)]
    monkeypatch.chdir("/")
    assert (results[0].status == 0).all() and results[0].encoding["source"] == str(tmp_path / "scan.zarr")
    shutil.rmtree(tmp_path / "scan.zarr")
    with pytest.raises(FileNotFoundError, match=r"scan\.zarr was moved or deleted after it was opened"):
        pickle.loads(pickle.dumps(results[1])).status.load()


def test_a_store_that_is_being_filled_has_the_results_of_one_instant(tmp_path):
    """The block of the first two members is finished between opening the store and reading its results."""
    members = {"mass": np.linspace(40.0, 100.0, 3), "stiffness": np.array([15.0, 40.0])}
    small_scan(tmp_path / "scan.zarr", members=members, batch=2, trajectories=["x"])
    late = [tmp_path / "scan.zarr" / name for name in (".jaxgait/manifest.jsonl", "status/c/0/0")]
    manifest, status = (file.read_bytes() for file in late)
    late[0].write_bytes(b"".join(manifest.splitlines(keepends=True)[1:]))
    late[1].unlink()
    with pytest.warns(UserWarning, match="2 members are still to be run"):
        scan = read_store(tmp_path / "scan.zarr")
    late[0].write_bytes(manifest)
    late[1].write_bytes(status)
    assert (scan.status.values == [[-1, -1], [0, 0], [0, 0]]).all()
    for result in (scan.lowest, scan.x):  # a number and a time history
        assert result.isel(mass=0).isnull().all() and result.isel(mass=slice(1, 3)).notnull().all()
    assert (read_store(tmp_path / "scan.zarr").status == 0).all()
