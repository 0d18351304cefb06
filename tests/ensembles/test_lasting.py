"""Results of a store that is no longer where it was opened."""

import pickle
import shutil

import pytest

from jaxgait.ensembles import read_store
from tests.ensembles.small_scan import small_scan


def test_results_follow_no_change_of_folder_and_know_that_their_store_is_gone(tmp_path, monkeypatch):
    small_scan(tmp_path / "scan.zarr")
    monkeypatch.chdir(tmp_path)
    results = [read_store("scan.zarr") for _ in range(2)]
    monkeypatch.chdir("/")
    assert (results[0].status == 0).all() and results[0].encoding["source"] == str(tmp_path / "scan.zarr")
    shutil.rmtree(tmp_path / "scan.zarr")
    with pytest.raises(FileNotFoundError, match=r"scan\.zarr was moved or deleted after it was opened"):
        pickle.loads(pickle.dumps(results[1])).status.load()
