"""`jaxgait scan`: a grid from the command line, into a store and a file, continued and refused."""

import numpy as np
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
    with pytest.raises(SystemExit, match=r"holds another scan.*\n  parameter ground: 50\.0 in the store, 60.0 now"):
        main([*command, "--set", "ground=60"])
    with pytest.raises(SystemExit, match="did you mean 'stiffness'"):
        main(["scan", "bungee", "--over", "stifness=1,2"])


def test_an_interruption_tells_how_to_continue(tmp_path, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    from jaxgait.ensemble import workers

    monkeypatch.setattr(workers, "run_task", interrupted)
    with pytest.raises(SystemExit, match=r"0 of . blocks are safe .* run the same command again to continue"):
        main([*GRID, "--store", str(tmp_path / "scan.zarr")])
