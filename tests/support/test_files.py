"""Files are written whole or not at all."""

import errno
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import threading

import pytest
import xarray as xr

from jaxgait.support import files

DATA = xr.Dataset({"x": ("time", [1.0, 2.0])})


def test_an_old_file_is_replaced_and_a_link_kept(tmp_path):
    old, link = tmp_path / "old.featherstone", tmp_path / "link.featherstone"
    old.write_text("old")
    link.symlink_to(old)
    files.text(link, "new")
    assert old.read_text() == "new" and link.is_symlink() and sorted(tmp_path.iterdir()) == [link, old]
    with files.replacing(link) as draft:
        assert draft.suffix == ".featherstone"


def test_a_failure_leaves_the_old_file_and_names_it(tmp_path, monkeypatch):
    old = tmp_path / "old.txt"
    old.write_text("old")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match=re.escape(f"cannot write {old}: No space left on device")):
        files.text(old, "new")
    assert old.read_text() == "old" and list(tmp_path.iterdir()) == [old]


class OfAServer(OSError):
    """Made of other arguments than the system's errors, like those of `urllib`."""

    def __init__(self, address: str, number: int) -> None:
        super().__init__(f"{address} answered {number}")


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(errno.ENOENT, "No such file or directory", "input.txt"),
        OSError(errno.ENOSPC, "No space left on device", "another.txt"),
        ConnectionResetError(errno.ECONNRESET, "Connection reset by peer"),
        OfAServer("gait.example", 404),
    ],
    ids=["a missing input", "another disk", "a connection", "a server"],
)
def test_an_error_about_something_else_than_the_file_is_unchanged(tmp_path, error):
    with pytest.raises(type(error)) as raised, files.replacing(tmp_path / "x.txt"):
        raise error
    assert raised.value is error and not any(tmp_path.iterdir())


@pytest.mark.parametrize("named", [False, True])
def test_a_disk_that_is_full_while_a_draft_is_written_is_an_error_of_the_file(tmp_path, named):
    path = tmp_path / "x.txt"
    full = rf"^cannot write {re.escape(str(path))}: No space left on device$"
    with pytest.raises(OSError, match=full) as raised, files.replacing(path) as draft:
        raise OSError(errno.ENOSPC, "No space left on device", *([str(draft)] if named else []))
    assert raised.value.errno == errno.ENOSPC and not any(tmp_path.iterdir())


def test_an_error_about_the_file_may_be_made_of_any_arguments(tmp_path):
    error = OfAServer("gait.example", 507)
    error.errno = errno.ENOSPC
    expected = r"^cannot write .*x\.txt: gait.example answered 507$"
    with pytest.raises(OSError, match=expected) as raised, files.replacing(tmp_path / "x.txt"):
        raise error
    assert raised.value.errno == errno.ENOSPC and type(raised.value) is OSError


def test_a_result_too_large_for_the_disk_is_saved_elsewhere(tmp_path, monkeypatch):
    """HDF5 must not find it out: the process would crash when it ends."""
    full, spare = tmp_path / "full", tmp_path / "spare"
    full.mkdir()
    spare.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(spare))
    usage = shutil.disk_usage
    monkeypatch.setattr("shutil.disk_usage", lambda at: usage(at)._replace(free=0) if at == full else usage(at))
    with pytest.raises(OSError, match=r"cannot write .*x.nc: No space left.*; instead, the result") as error:
        files.netcdf(full / "x.nc", DATA)
    assert xr.load_dataset(pathlib.Path(str(error.value).rpartition(" to ")[2])).equals(DATA) and not any(
        full.iterdir()
    )


LIMITED = """
import resource, sys
import xarray as xr
from jaxgait.support import files
resource.setrlimit(resource.RLIMIT_FSIZE, (20480, 20480))
try:
    files.netcdf(sys.argv[1], xr.Dataset({"x": ("time", [0.0] * 10_000)}))
except OSError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="no such limits here")
def test_the_limit_of_a_process_is_found_before_hdf5_finds_it(tmp_path):
    path = tmp_path / "x.nc"
    done = subprocess.run([sys.executable, "-c", LIMITED, path], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"cannot write {path}: File too large\n", "")
    assert not any(tmp_path.iterdir())


def test_a_disk_that_reserves_no_room_is_written_all_the_same(tmp_path, monkeypatch):
    unsupported = lambda *_: (_ for _ in ()).throw(OSError(errno.EOPNOTSUPP, "not supported"))
    monkeypatch.setattr("os.posix_fallocate", unsupported, raising=False)
    files.netcdf(tmp_path / "x.nc", DATA)
    assert xr.load_dataset(tmp_path / "x.nc").equals(DATA)


def test_a_result_that_fits_nowhere_raises(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage._replace(free=0))
    with pytest.raises(OSError, match=r"No space left on device$"):
        files.netcdf(tmp_path / "x.nc", DATA)
    assert not any(tmp_path.iterdir())


def test_a_quota_that_hdf5_finds_exceeded_keeps_the_result_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    write = xr.Dataset.to_netcdf

    def exceeded(self, path, **options):
        if path.parent == tmp_path:
            raise RuntimeError("Unable to synchronously close file")
        write(self, path, **options)

    monkeypatch.setattr(xr.Dataset, "to_netcdf", exceeded)
    with pytest.raises(OSError, match=r"cannot write .*close file; instead, the result was saved to") as error:
        files.netcdf(tmp_path / "x.nc", DATA)
    assert xr.load_dataset(pathlib.Path(str(error.value).rpartition(" to ")[2])).equals(DATA)


def test_a_result_is_on_the_disk_before_it_replaces_the_old_one(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr("os.fsync", lambda _, real=os.fsync: (real(_), done.append("flushed")))
    monkeypatch.setattr("os.replace", lambda *at, real=os.replace: (real(*at), done.append("replaced")))
    files.netcdf(tmp_path / "x.nc", DATA)
    assert done[-2:] == ["flushed", "replaced"]


@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_permissions_are_kept(tmp_path, mode):
    old = tmp_path / ("x" * 250)  # as long as names may be
    files.text(old, "old")
    plain = tmp_path / "plain"
    plain.touch()
    assert old.stat().st_mode == plain.stat().st_mode
    old.chmod(mode)
    files.text(old, "new")
    assert old.read_text() == "new" and stat.S_IMODE(old.stat().st_mode) == mode


def test_a_read_only_file_is_unchanged_and_the_error_keeps_its_type(tmp_path, monkeypatch):
    old = tmp_path / "old.txt"
    old.write_text("old")
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write anything
    with pytest.raises(PermissionError, match=re.escape(f"cannot write {old}: it is read-only")) as error:
        files.text(old, "new")
    assert error.value.errno == errno.EACCES and old.read_text() == "old"
    with pytest.raises(FileNotFoundError, match=r"cannot write .*: No such file"):
        files.text(tmp_path / "none" / "x.txt", "new")


def test_a_file_in_a_folder_that_is_not_writable_is_written_in_place(tmp_path, monkeypatch):
    old, real = tmp_path / "old.txt", os.open
    old.write_text("old")

    def denied(path, *how, **more):
        if pathlib.Path(path).parent == tmp_path and pathlib.Path(path) != old:
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, *how, **more)

    monkeypatch.setattr("os.open", denied)
    number = old.stat().st_ino
    files.text(old, "new")
    assert old.read_text() == "new" and old.stat().st_ino == number
    with pytest.raises(PermissionError, match="Permission denied"):
        files.text(tmp_path / "x.txt", "new")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no such files here")
def test_special_files_are_written_in_place(tmp_path):
    fifo, got = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: got.append(fifo.read_text()))
    reader.start()
    files.text(fifo, "through")
    reader.join()
    files.text(os.devnull, "nowhere")
    with open(tmp_path / "opened", "w+") as file:
        files.text(f"/dev/fd/{file.fileno()}", "into it")
        assert file.read() == "into it"
    assert got == ["through"] and stat.S_ISFIFO(fifo.stat().st_mode) and stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_tilde_is_the_user_s_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    files.text("~/words.txt", "words")
    assert (tmp_path / "words.txt").read_text() == "words"


@pytest.mark.parametrize("address", ["s3://bucket/run.txt", pathlib.Path("s3://bucket/run.txt")])
def test_nothing_is_written_to_an_address(address, tmp_path, monkeypatch):
    """It would go to a folder "s3:" here."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"cannot write s3:/+bucket/run\.txt: it is an address"):
        files.text(address, "words")
    with pytest.raises(ValueError, match="it is an address"):
        files.in_its_folder(address)
    assert not list(tmp_path.iterdir())
