"""The command line as a user types it."""

import sys

import pytest
import xarray as xr

from jaxgait import cli
from jaxgait.models.catalogue import MODELS, model


def test_run_and_view(tmp_path, capsys):
    out, picture = tmp_path / "run.nc", tmp_path / "run.png"
    cli.main(["run", "bungee", "--set", "stiffness=27", "--duration", "8", "--out", str(out)])
    assert xr.open_dataset(out, engine="h5netcdf").attrs["model"] == "Bungee"
    cli.main(["view", str(out), "--variables", "x", "rope_force", "--out", str(picture)])
    assert picture.stat().st_size > 5000
    assert "wrote" in capsys.readouterr().out


def test_list_shows_units(capsys):
    cli.main(["run", "knee", "--list"])
    shown = capsys.readouterr().out
    assert "damper.k" in shown and "N s/m" in shown


def test_scan_over_two_parameters(tmp_path):
    out = tmp_path / "scan.nc"
    over = ["--over", "mass=50:70:3", "stiffness=20,27"]
    cli.main(["scan", "bungee", *over, "--duration", "2", "--out", str(out)])
    data = xr.open_dataset(out, engine="h5netcdf")
    assert dict(data.sizes)["mass"] == 3 and data.sizes["stiffness"] == 2


def test_motion_lists_sources(capsys):
    cli.main(["motion"])
    assert "Apache-2.0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "bungee", "--set", "mas=3"], "mass"),
        (["run", "bungee", "--set", "mass=heavy"], "not a number"),
        (["run", "bungee", "--set", "mass"], "name=value"),
        (["run", "bungee", "--set", "mass=-3"], "positive"),
        (["run", "bungee", "--strides", "3"], "no period"),
        (["scan", "bungee", "--over", "mass"], "low:high:count"),
        (["motion", "nowhere.csv"], "nowhere.csv"),
        (["view", "nowhere.nc"], "no such file"),
        (["optimize", "--over", "damper.k=4e4:1e4"], "low < high"),
    ],
)
def test_mistakes_are_one_clear_line(arguments, message):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert message in str(stop.value.code)


@pytest.mark.skipif(sys.platform == "win32", reason="paths")
def test_place_that_cannot_be_written_is_said_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as stop:
        cli.main(["reproduce", "bungee", "--out", str(tmp_path / "file" / "out")])
    assert "cannot write" in str(stop.value.code)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_of_the_catalogue_is_there(name):
    chosen = model(name)
    chosen.validate()
    assert chosen.variables


@pytest.mark.parametrize("name", cli.EXPERIMENTS)
def test_every_experiment_can_be_loaded(name):
    assert callable(cli.experiment(name).reproduce)


def test_unknown_model_is_named():
    with pytest.raises(ValueError, match="bungee"):
        model("unicycle")


def test_models_are_found_by_class_name():
    from jaxgait import models

    assert models.Bungee is type(model("bungee"))
    with pytest.raises(AttributeError, match="Unicycle"):
        _ = models.Unicycle
