"""Results are opened from any of their files; other files raise."""

import json
import sys

import numpy as np
import pytest
import xarray as xr

from jaxgait import Bungee, ensemble, parameter, simulate
from jaxgait.ensembles import failed, product, summary
from jaxgait.ensembles.members import as_members, check_members
from jaxgait.ensembles.results import open_result, rebuilt
from jaxgait.parameters import ParameterError
from tests.oscillator import Oscillator, peaks

MASSES = {"mass": np.linspace(60.0, 80.0, 8)}


@pytest.mark.slow
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


def test_data_without_a_model_are_not_said_to_be_of_the_model_none():
    """As those of `jaxgait.models.exoskeleton.histories`, which an animation shows with `model=`."""
    with pytest.raises(ValueError, match="the data do not state the model that they are of: give model="):
        rebuilt(xr.Dataset())


def test_a_class_of_the_running_script_is_not_taken_for_that_of_another(monkeypatch):
    monkeypatch.setattr(sys.modules["__main__"], "Jump", Bungee, raising=False)
    recorded = {"model": "Jump", "module": "__main__", "parameters": "{}", "contents": "{}"}
    with pytest.raises(ValueError, match=r"was made in another notebook or script: give it, model=Jump"):
        rebuilt(xr.Dataset(attrs=recorded))


CELL = """
class Jump(Bungee):
    wind: float = parameter(0.0, unit="m/s", doc="wind", plausible=(0.0, 50.0))
"""


def test_a_class_of_this_notebook_is_found_and_a_later_one_of_its_name_is_said():
    notebook = {"__name__": "__main__", "Bungee": Bungee, "parameter": parameter}
    exec(CELL, notebook)
    first = notebook["Jump"]
    run = simulate(first(mass=60.0, wind=3.0), duration=1.0, samples=2)
    found = rebuilt(run)
    assert type(found) is first and (found.mass, found.wind) == (60.0, 3.0)
    exec(CELL, notebook)
    with pytest.warns(UserWarning, match="the class Jump was made again since this run"):
        assert type(rebuilt(run)) is notebook["Jump"] is not first
    told = r"was made in another notebook or script: give it, model=Jump\(...\), in Python; commands know only"
    with pytest.raises(ValueError, match=told):
        rebuilt(run.assign_attrs(session_class="0123456789abcdef 0"))


def test_a_class_made_in_a_function_is_found():
    class Jump(Bungee): ...

    assert type(rebuilt(simulate(Jump(), duration=1.0, samples=2))) is Jump


SCAN = xr.Dataset(
    {"status": ("mass", [0, 1, 0, -1]), "t_end": ("mass", [2.0, 1.0, 2.0, np.nan])},
    {"mass": [60.0, 70.0, 80.0, 90.0]},
    {"status_legend": json.dumps({0: "completed", 1: "gave up: steps"})},
)


def test_statuses_are_counted_after_xarray_has_made_them_floats():
    assert summary(SCAN) == {"completed": 2, "gave up: steps": 1, "not run yet": 1}
    masked = SCAN.where(SCAN.mass != 60.0)
    assert summary(masked) == {"completed": 1, "gave up: steps": 1, "not run yet": 1, "masked (no status)": 1}
    assert failed(masked).mass.values.tolist() == [70.0] and failed(masked).sentence.values.tolist() == [
        "gave up: steps"
    ]
    for function in (summary, failed):
        with pytest.raises(ValueError, match=r"0\.5 is no code of a status or a retry: an average over members"):
            function(SCAN.isel(mass=slice(0, 2)).mean("mass", keep_attrs=True))


def test_failed_members_have_their_values_also_those_of_arrays():
    arrays = {
        "shape_values": (("mass", "shape_values_0"), np.arange(8.0).reshape(4, 2)),
        "day": "Monday",
        "time": [0.0, 1.0],
    }
    found = failed(SCAN.assign_coords(arrays).assign(x=(("mass", "time"), np.ones((4, 2)))))
    assert found.shape_values.values.tolist() == [[2.0, 3.0]] and found.day == "Monday"
    assert "x" not in found and "time" not in found.coords


def test_results_and_parts_of_them_are_members_again():
    shapes, legend = np.arange(6.0).reshape(3, 2), {"status_legend": '{"1": "gave up: steps"}'}
    scan = xr.Dataset(
        {"status": (("shape", "mass"), [[0, 1], [0, 0], [1, 0]])},
        {
            "mass": ("mass", [1.0, 2.0], {"units": "kg"}),
            "shape_values": (("shape", "shape_values_0"), shapes),
            "who": ("mass", ["a", "b"]),
            "day": "Monday",
            "time": [0.0, 1.0],
        },
        {"member_values": '["mass", "shape_values"]'} | legend,
    )
    whole, row, one, lost = map(
        as_members, (scan.transpose("mass", ...), scan.isel(shape=1), scan.isel(shape=1, mass=0), failed(scan))
    )
    assert whole.dims == ("mass", "shape") and whole.values["mass"].tolist() == [1.0] * 3 + [2.0] * 3
    np.testing.assert_array_equal(whole.values["shape"], [*shapes, *shapes])
    assert whole.labels.keys() == {"mass", "shape_values", "who", "day"} and whole.units == {"mass": "kg"}
    assert row.dims == ("mass",) and row.values["shape"].tolist() == [[2.0, 3.0]] * 2
    assert one.dims == ("member",) and one.values["mass"].tolist() == [1.0]
    assert lost.values["mass"].tolist() == [2.0, 1.0] and lost.values["shape"].tolist() == [[0.0, 1.0], [4.0, 5.0]]
    chosen = as_members(scan.drop_vars("day").stack(both=("mass", "shape")).isel(both=[1, 4]))
    assert chosen.dims == ("both",) and chosen.labels.keys() == {"mass", "shape_values", "who"}
    assert chosen.values["mass"].tolist() == [1.0, 2.0] and chosen.values["shape"].tolist() == [[2.0, 3.0], [2.0, 3.0]]
    check_members(Oscillator(), product(row, {"stiffness": [8.0]}))
    with pytest.raises(ParameterError, match=r"lacks 'mass', .* without drop=True"):
        as_members(scan.isel(mass=0, drop=True))
    with pytest.raises(ParameterError, match=r"give those that `people` made"):
        as_members(scan.assign_attrs(motions="{}"))


def test_one_member_or_run_is_counted_as_a_scan_of_one():
    member = SCAN.isel(mass=1)
    assert summary(member) == {"gave up: steps": 1} and failed(SCAN.isel(mass=0)).sizes["member"] == 0
    found = failed(member)
    assert found.t_end.values.tolist() == [1.0] and found.sentence.values.tolist() == ["gave up: steps"]
    run = xr.Dataset(attrs={"status": 1, "t_end_s": 1.0, "steps": 9, **SCAN.attrs})
    assert failed(run).steps.values.tolist() == [9] and summary(run) == {"gave up: steps": 1}
    with pytest.raises(ValueError, match="failed lists the statuses of a result of ensemble, got Dataset without them"):
        failed(SCAN.drop_vars("status"))
