"""`jaxgait scan`: a grid from the command line, into a store and a file, continued, or an error."""

import re

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from jaxgait.cli import main

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


def test_the_members_of_a_scan_are_the_rows_of_a_table(tmp_path, capsys):
    main([*GRID, "--out", str(tmp_path / "scan.csv")])
    rows = pd.read_csv(tmp_path / "scan.csv")
    assert list(rows)[:4] == ["mass (kg)", "stiffness (N/m)", "status", "status_text"] and len(rows) == 6
    assert rows["stiffness (N/m)"].tolist() == [15.0, 20.0] * 3 and set(rows.status_text) == {"completed"}
    assert np.isfinite(rows["x_end (m)"]).all()
    output = stopped([*GRID, "--trajectories", "--out", str(tmp_path / "all.csv")], 2, capsys)
    assert "all.csv has one row for each member, without time histories: leave out --trajectories" in output


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
    assert "0 of 1 finished blocks are lost; a store (store=..., " in stopped(GRID, 130, capsys)


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
