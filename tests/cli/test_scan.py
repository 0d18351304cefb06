"""`jaxgait scan`: a grid from the command line, into a store and a file, continued, or an error."""

import errno
import os
import pathlib
import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from jaxgait.cli import main
from jaxgait.cli.viewing import selected
from jaxgait.ensembles import joined, open_result
from jaxgait.parameters import ParameterError
from jaxgait.plot.histories import picture

GRID = ["scan", "bungee", "--over", "mass=60:80:3", "stiffness=15,20", "--duration", "2"]


def test_a_scan_goes_into_a_store_and_a_file(tmp_path, capsys):
    command = [*GRID, "--store", str(tmp_path / "scan.zarr"), "--out", str(tmp_path / "scan.nc")]
    main(command)
    assert "6  completed" in capsys.readouterr().out
    data = xr.load_dataset(tmp_path / "scan.nc", engine="h5netcdf")
    np.testing.assert_array_equal(data.mass, [60.0, 70.0, 80.0])
    assert data.x_end.dims == ("mass", "stiffness") and np.isfinite(data.x_end).all()
    main(command)
    output = stopped([*command, "--set", "ground=60"], 2, capsys)
    assert re.search(r"holds another scan.*: parameter ground: 50\.0 in the store, 60.0 now$", output)
    assert "did you mean 'stiffness'" in stopped(["scan", "bungee", "--over", "stifness=1,2"], 2, capsys)


def test_a_tilde_is_the_user_s_folder(tmp_path, monkeypatch):
    """Not a folder of that name here, which a careful user removes with everything at home."""
    (tmp_path / "here").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path / "here")
    main([*GRID, "--store=~/scan.zarr", "--out=~/scan.csv"])
    assert (tmp_path / "scan.csv").is_file() and not list(pathlib.Path().iterdir())
    assert joined(["~/scan.zarr"]).status.size == open_result("~/scan.zarr").status.size == 6


def test_the_members_of_a_scan_are_the_rows_of_a_table(tmp_path, capsys):
    main([*GRID, "--out", str(tmp_path / "scan.csv")])
    rows = pd.read_csv(tmp_path / "scan.csv")
    assert list(rows)[:4] == ["mass (kg)", "stiffness (N/m)", "status", "status_text"] and len(rows) == 6
    assert rows["stiffness (N/m)"].tolist() == [15.0, 20.0] * 3 and set(rows.status_text) == {"completed"}
    assert np.isfinite(rows["x_end (m)"]).all()
    output = stopped([*GRID, "--trajectories", "--out", str(tmp_path / "all.csv")], 2, capsys)
    assert "all.csv has one row for each member, without time histories: leave out --trajectories" in output


def test_a_table_that_cannot_be_written_is_saved_elsewhere(tmp_path, monkeypatch, capsys):
    (tmp_path / "spare").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "spare"))
    write = pathlib.Path.write_bytes

    def full(path, content):
        if path.parent == tmp_path:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, content)

    monkeypatch.setattr(pathlib.Path, "write_bytes", full)
    output = stopped([*GRID, "--out", str(tmp_path / "members.csv")], 2, capsys)
    assert "members.csv: No space left on device; instead, the result was saved to" in output
    (kept,) = (tmp_path / "spare").glob("*/members.nc")
    assert xr.load_dataset(kept, engine="h5netcdf").status.size == 6


def test_the_picture_of_one_value_of_a_further_dimension_is_selected(tmp_path, capsys):
    dims, own = ("subject", "k", "c"), np.arange(12.0).reshape(2, 3, 2)
    data = xr.Dataset({"rho": (dims, own, {"units": "1"}), "status": (dims, np.zeros(own.shape, int))})
    data = data.assign_coords(subject=np.array(["s01", "s02"], object), k=[1e4, 2e4, 3e4], c=[400.0, 800.0])
    np.testing.assert_array_equal(selected(data, ["subject=s02", "k=2e4"]).rho, own[1, 1])
    axes = picture(selected(data, ["subject=s02"]), ["rho"]).axes
    assert (axes[0].get_xlabel(), axes[0].get_ylabel()) == ("k", "c")
    plt.close("all")
    with pytest.raises(ValueError, match=r"needs one value of .*: select it, .* \(--select [a-z]+=VALUE\)"):
        picture(data, ["rho"])
    for text, why in {
        "subject=s03": "--select subject=s03: no member has it, only s01, s02",
        "k=29000": "no member has it, nearest: 30000, 20000",
        "mass=60": "the result has no dimension 'mass' of values, but subject, k, c",
        "subject": "--select expects name=value, got 'subject'",
    }.items():
        with pytest.raises(ParameterError, match=re.escape(why)):
            selected(data, [text])
    with pytest.raises(ParameterError, match="mass=60: the result has no axes: its members are a list"):
        selected(xr.Dataset({"status": ("sample", [0, 0])}, {"mass": ("sample", [60.0, 70.0])}), ["mass=60"])
    data.isel(subject=0, drop=True).to_netcdf(tmp_path / "scan.nc", engine="h5netcdf")
    why = "--select chooses the members of a picture: give --out a picture name"
    assert why in stopped(["view", str(tmp_path / "scan.nc"), "--select", "k=1e4"], 2, capsys)


def stopped(command, code, capsys):
    """The message of the command when it stops with that exit code."""
    with pytest.raises(SystemExit) as stop:
        main(command)
    assert stop.value.code == code
    return capsys.readouterr().err.strip()


def test_an_interruption_tells_how_to_continue(tmp_path, monkeypatch, capsys):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    from jaxgait.ensembles import workers

    monkeypatch.setattr(workers, "run_task", interrupted)
    output = stopped([*GRID, "--store", str(tmp_path / "scan.zarr")], 130, capsys)
    assert re.search(r"0 of . blocks are safe .* run the same command again to continue", output)


def test_a_block_that_cannot_run_is_one_line(monkeypatch, capsys):
    from jaxgait.ensembles import workers

    def broken(*arguments):
        raise RuntimeError("no space\non the device")

    monkeypatch.setattr(workers, "run_task", broken)
    output = stopped(GRID, 1, capsys)
    assert "jaxgait: block" in output and output.endswith("could not run: no space on the device")


def test_a_cluster_that_does_not_answer_is_one_line(monkeypatch, capsys):
    from jaxgait.ensembles import workers

    monkeypatch.setattr(workers, "_PATIENCE", 1)
    output = stopped([*GRID, "--cluster", "tcp://127.0.0.1:1"], 2, capsys)
    assert output.splitlines()[-1].startswith("jaxgait: no Dask scheduler answered at 'tcp://127.0.0.1:1' within 1 s")
    assert "Traceback" not in output


def test_an_interruption_without_a_store_says_what_is_lost(monkeypatch, capsys):
    from jaxgait.ensembles import workers

    monkeypatch.setattr(workers, "run_task", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    assert "0 of 1 block is done, which only a store (store=..., " in stopped(GRID, 130, capsys)


@pytest.mark.slow
def test_precision_and_damage_are_said(tmp_path, capsys):
    place = tmp_path / "scan.zarr"
    command = [*GRID, "--store", str(place)]
    main([*command, "--precision", "float32"])
    assert "precision: float32" in capsys.readouterr().out
    assert "precision: float32 in the store, float64 now" in stopped(command, 2, capsys)
    (place / "clearance" / "c" / "0" / "0").unlink()
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        main(["view", str(place), "--out", str(tmp_path / "scan.png")])
    shown = capsys.readouterr()
    assert "precision: float32" in shown.out and "damaged: do not trust block 0" in shown.err and stop.value.code == 1


@pytest.mark.slow
def test_a_sample_is_extended_and_its_parts_are_joined(tmp_path, capsys):
    sample = ["scan", "bungee", "--over", "mass=60:80", "--duration", "2", "--observe", "peak_rope_force", "--sobol"]
    first, more, both, whole = (str(tmp_path / f"{name}.nc") for name in ("first", "more", "both", "whole"))
    main([*sample, "4", "--out", first])
    main([*sample, "4", "--skip", "4", "--out", more])
    main([*sample, "8", "--out", both])
    capsys.readouterr()
    main(["join", first, more, "--out", whole])
    assert "8 members of 2 results" in capsys.readouterr().out
    joined, expected = (xr.load_dataset(path, engine="h5netcdf") for path in (whole, both))
    np.testing.assert_array_equal(joined.mass, expected.mass)
    np.testing.assert_array_equal(joined.peak_rope_force, expected.peak_rope_force)
    assert "have the same members" in stopped(["join", first, first, "--out", whole], 2, capsys)
    assert "--skip is that of a Sobol sample: give --sobol" in stopped([*GRID, "--skip", "4"], 2, capsys)
    hypercube = [*sample[:-1], "--latin-hypercube", "4", "--skip", "4"]
    assert "points of a Latin hypercube do not continue others" in stopped(hypercube, 2, capsys)
