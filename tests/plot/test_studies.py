"""Files of studies are known for what they are, drawn by `jaxgait view`, and never taken for runs or scans."""

import numpy as np
import pytest
import xarray as xr

from jaxgait import cli
from jaxgait.plot.studies import study

TIME = {"time": ("time", [0.0, 1.0, 2.0], {"units": "s"})}
CURVES = {n: ("time", [1.0, 0.5, 0.2], {"units": "m"}) for n in ("measured", "before", "fitted", "residual", "band")}
FRONT = {"speed": ("point", [1.0, 1.2]), "cost": ("point", [0.2, 0.3]), "mass": ("point", [60.0, 70.0])}
FILES = {
    "a fit to a measured curve": xr.Dataset(CURVES, TIME, {"output": "height"}),
    "a front of the best compromises": xr.Dataset(
        FRONT, attrs={"objectives": "speed, cost", "senses": "max, min", "parameters": "mass", "method": "gradient"}
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_view_says_what_a_study_is_and_draws_it(name, tmp_path, capsys):
    file, picture = tmp_path / "study.nc", tmp_path / "study.png"
    FILES[name].to_netcdf(file, engine="h5netcdf")
    cli.main(["view", str(file)])
    printed = capsys.readouterr().out
    assert (
        f"{file} is {name}: `jaxgait view {file} --out {picture}` draws it" in printed and "histories:" not in printed
    )
    assert list(tmp_path.iterdir()) == [file]
    cli.main(["view", str(file), "--out", str(picture)])
    assert picture.stat().st_size > 5000
    for other in (["--out", str(tmp_path / "a.html")], ["--out", str(tmp_path / "a.gif")], ["--variables", "mass"]):
        with pytest.raises(SystemExit) as stop:
            cli.main(["view", str(file), *other])
        printed = capsys.readouterr().err
        assert stop.value.code == 2 and f"is {name}, which has one picture and no page" in printed


def test_a_run_and_a_scan_are_no_studies():
    assert study(xr.Dataset({"height": ("time", np.zeros(3))}, TIME)) is None
    assert study(xr.Dataset({"clearance": ("mass", np.zeros(2))}, {"mass": [60.0, 80.0]})) is None
