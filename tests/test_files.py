"""Files are written whole or not at all."""

import pathlib
import re
import shutil

import pytest
import xarray as xr

from jaxgait import files

DATA = xr.Dataset({"x": ("time", [1.0, 2.0])})


def test_an_old_file_is_replaced_and_a_link_kept(tmp_path):
    old, link = tmp_path / "old.txt", tmp_path / "link.txt"
    old.write_text("old")
    link.symlink_to(old)
    files.text(link, "new")
    assert old.read_text() == "new" and link.is_symlink() and sorted(tmp_path.iterdir()) == [link, old]


def test_what_fails_leaves_the_old_file_and_names_it(tmp_path, monkeypatch):
    old = tmp_path / "old.txt"
    old.write_text("old")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match=re.escape(f"cannot write {old}: No space left on device")):
        files.text(old, "new")
    assert old.read_text() == "old" and list(tmp_path.iterdir()) == [old]


def test_a_result_for_which_the_disk_has_no_room_is_kept_elsewhere(tmp_path, monkeypatch):
    """HDF5 must not find it out: the process would crash when it ends."""
    full, spare = tmp_path / "full", tmp_path / "spare"
    full.mkdir()
    spare.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spare))
    usage = shutil.disk_usage
    monkeypatch.setattr("shutil.disk_usage", lambda at: usage(at)._replace(free=0) if at == full else usage(at))
    with pytest.raises(OSError, match=r"cannot write .*x.nc: No space left.*; what was to be in it is in") as said:
        files.netcdf(full / "x.nc", DATA)
    assert xr.load_dataset(pathlib.Path(str(said.value).rpartition(" in ")[2])).equals(DATA) and not any(full.iterdir())


def test_a_result_that_fits_nowhere_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage._replace(free=0))
    with pytest.raises(OSError, match=r"No space left on device$"):
        files.netcdf(tmp_path / "x.nc", DATA)
    assert not any(tmp_path.iterdir())
