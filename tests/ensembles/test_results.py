"""Results are opened from any of their files; other files raise."""

import sys

import numpy as np
import pytest
import xarray as xr

from jaxgait import Bungee, ensemble
from jaxgait.ensembles.results import open_result, rebuilt
from tests.oscillator import Oscillator, peaks

MASSES = {"mass": np.linspace(60.0, 80.0, 8)}


def test_a_store_is_opened_without_dask_which_takes_longer_than_the_reading(tmp_path):
    store = tmp_path / "scan.zarr"
    scan = ensemble(Oscillator(), MASSES, duration=2.0, observe=peaks, batch=2, store=store, progress=False)
    found = open_result(store)
    assert not found.chunks and open_result(found) is found
    np.testing.assert_array_equal(found.lowest, scan.lowest)


def test_a_run_in_a_file_is_that_run(tmp_path):
    run = xr.Dataset({"x": ("time", [0.0, 1.0])}, {"time": [0.0, 1.0]}, {"model": "Bungee"})
    run.to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    assert open_result(str(tmp_path / "run.nc")).identical(run)


def test_other_files_raise(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.nc: no such file"):
        open_result(tmp_path / "nothing.nc")
    (tmp_path / "run.nc").write_text("not a file of numbers")
    with pytest.raises(ValueError, match="is not a readable NetCDF-4 file"):
        open_result(tmp_path / "run.nc")
    (tmp_path / "best.json").write_text("{}")
    with pytest.raises(ValueError, match="is a record of numbers"):
        open_result(tmp_path / "best.json")


def test_a_class_of_the_running_script_is_not_taken_for_that_of_another(monkeypatch):
    monkeypatch.setattr(sys.modules["__main__"], "Jump", Bungee, raising=False)
    recorded = {"model": "Jump", "module": "__main__", "parameters": "{}", "contents": "{}"}
    with pytest.raises(ValueError, match=r"import its module, .* give model="):
        rebuilt(xr.Dataset(attrs=recorded))
