"""Parts of scans joined to a whole: what must agree, what is recorded, what cannot be joined."""

import json
import shutil

import numpy as np
import pytest
import xarray as xr

from jaxgait import Bungee, Log, cloud, ensemble, product, sobol, with_parameters
from jaxgait.ensembles import StoreError, grid, joined, latin_hypercube, read_store, zipped
from jaxgait.ensembles.labels import summary
from jaxgait.ensembles.recipe import again
from jaxgait.measure import Measure
from jaxgait.parameters import ParameterError

MASSES = np.linspace(50.0, 80.0, 7)
RUN = {"duration": 2.0, "samples": 10, "progress": False}


def jumps(members, model=None, **run):
    return ensemble(model or Bungee(), members, **{**RUN, **run})


@pytest.fixture(scope="module")
def whole():
    return jumps({"mass": MASSES, "stiffness": [20.0, 30.0]})


@pytest.fixture(scope="module")
def odd():
    return jumps({"mass": MASSES[1::2], "stiffness": [20.0, 30.0]})


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    for i in range(2):
        jumps({"mass": MASSES[i::2], "stiffness": [20.0, 30.0]}, store=folder / f"part{i}.zarr")
    return [folder / f"part{i}.zarr" for i in range(2)]


@pytest.mark.slow
def test_parts_on_disk_and_in_memory_make_the_whole(whole, odd, stores, tmp_path):
    odd.to_netcdf(tmp_path / "odd.nc", engine="h5netcdf")
    for parts in (stores, [stores[0], odd], [tmp_path / "odd.nc", stores[0]], [str(p) for p in stores[::-1]]):
        found = joined(parts)
        for name in {**whole.data_vars, **whole.coords}:
            np.testing.assert_array_equal(found[name], whole[name], err_msg=f"{name} of {parts}")
        assert json.loads(found.attrs["parameters"])["gravity"] == json.loads(whole.attrs["parameters"])["gravity"]
        sources = json.loads(found.attrs["joined"])
        assert sum(one["members"] for one in sources) == 14 and found.attrs["rtol"] == whole.attrs["rtol"]
    assert [one["source"] for one in json.loads(joined(stores).attrs["joined"])] == [str(p) for p in stores]
    assert summary(found) == summary(whole)
    found.to_netcdf(tmp_path / "whole.nc", engine="h5netcdf")
    assert again(found.sel(mass=80.0, stiffness=30.0)) is not None


def test_a_joined_result_is_joined_again_with_all_its_sources(odd):
    alone = jumps({"mass": [90.0], "stiffness": [20.0, 30.0]}).assign_attrs(batch=64)  # as of a larger part
    found = joined([odd, alone])
    assert odd.batch != 64 and "batch" not in found.attrs, "how many ran together decides nothing"
    more = joined([found, jumps({"mass": [100.0], "stiffness": [20.0, 30.0]})])
    assert [one["members"] for one in json.loads(more.attrs["joined"])] == [6, 2, 2]
    wider = joined([odd, jumps({"mass": MASSES[1::2], "stiffness": [40.0]})])
    assert wider.stiffness.values.tolist() == [20.0, 30.0, 40.0]


def test_a_sample_goes_on_where_another_one_ended():
    box = {"mass": (50.0, 80.0), "stiffness": Log(15.0, 40.0)}
    twice, halves = sobol(box, 16, seed=3), [sobol(box, 8, seed=3), sobol(box, 8, seed=3, skip=8)]
    found = joined([jumps(half) for half in halves])
    for name in box:
        np.testing.assert_array_equal(found[name], twice.values[name])
    assert found.attrs["sampled"] == "; ".join(half.attrs["sampled"] for half in halves)
    assert halves[1].attrs["sampled"].endswith("seed=3, skip=8)")
    with pytest.raises(ParameterError, match="skip must be"):
        sobol(box, 8, skip=-1)
    with pytest.raises(ParameterError, match="must not exceed 1073741824 points together, got 1073741824 and 8"):
        sobol(box, 8, skip=1 << 30)
    with pytest.raises(ValueError, match=r"result 1 and result 2 have the same members, at mass=.*, stiffness="):
        joined([jumps(halves[0]), jumps(halves[0])])


def test_products_are_joined_along_the_dimension_that_differs():
    sample = sobol({"stiffness": (15.0, 40.0)}, 4)
    parts = [jumps(product(grid({"mass": [m]}), sample)) for m in (60.0, 80.0)]
    found = joined(parts)
    assert dict(found.sizes)["mass"] == 2 and found.stiffness.dims == ("sample",)
    other = jumps(product(grid({"mass": [90.0]}), latin_hypercube({"stiffness": (15.0, 40.0)}, 4)))
    with pytest.raises(ValueError, match=r"result 1 and result 3 cannot be joined along mass: stiffness is \["):
        joined([*parts, other])
    starts = [jumps(product(grid({"mass": [60.0]}), cloud(Bungee(), {"v": 0.5}, 3, seed=n))) for n in (1, 2)]
    assert joined(starts).sizes["start"] == 6


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda m: jumps(m, with_parameters(Bungee(), {"gravity": 9.81})), "parameter gravity: 10.0 and 9.81"),
        (lambda m: jumps(m, rtol=1e-5), "rtol: .* and 1e-05"),
        (lambda m: jumps(m, duration=3.0), "duration_s: 2.0 and 3.0"),
        (
            lambda m: jumps(m, observe=[Measure("x_max", lambda run: run["x"].max(), "m", "")]),
            r"result x_max: \(nothing\) and \{",
        ),
        (lambda m: jumps(m, precision="float32"), "and 'float32'|float64' and|rtol"),
        (lambda m: jumps(m).assign_attrs(commit="0123"), "commit: .* and '0123'; any_version=True joins them"),
        (lambda m: jumps(zipped({**m, "stiffness": [20.0]})), r"dimensions: \['mass', 'stiffness'\] and \['member'\]"),
        (
            lambda m: jumps(m).where(lambda x: x.mass > 0, drop=True),
            r"result 2 .* real numbers, as where.* isel\(mass=",
        ),
        (lambda m: jumps(m).drop_vars("mass"), "along mass: mass is .* and None"),
        (lambda m: jumps({**m, "stiffness": [20.0]}), "differ along mass or stiffness: give dim="),
        (lambda m: jumps({"mass": MASSES[1:2], "stiffness": [20.0, 30.0]}), "same members, at mass=55.0"),
    ],
)
def test_what_does_not_belong_together_is_named(odd, other, message):
    members = {"mass": [90.0]} | (
        {} if "differ along" in message or "member'" in message else {"stiffness": [20.0, 30.0]}
    )
    with pytest.raises(ValueError, match=message) as error:
        joined([odd, other(members)])
    assert len(str(error.value)) < 300


def test_other_versions_are_joined_if_told_to(odd):
    later = jumps({"mass": [90.0], "stiffness": [20.0, 30.0]}).assign_attrs(commit="0123")
    found = joined([odd, later], any_version=True)
    assert "commit" not in found.attrs and json.loads(found.attrs["joined"])[1]["commit"] == "0123"
    assert found.attrs["jaxgait"] == odd.attrs["jaxgait"]


@pytest.mark.slow
def test_stores_with_other_source_of_a_measure_are_told_apart(tmp_path):
    for i, factor in enumerate((2.0, 3.0)):
        own = Measure("reach", lambda run, factor=factor: factor * run["x"].max(), "m", "")
        jumps({"mass": [60.0 + i]}, observe=[own], store=tmp_path / f"{i}.zarr")
    with pytest.raises(ValueError, match=r"cannot be joined: .*: .*2\.0.* and .*3\.0"):
        joined([tmp_path / "0.zarr", tmp_path / "1.zarr"])


def test_damaged_and_unfinished_stores_are_not_joined(stores, tmp_path):
    copy = shutil.copytree(stores[1], tmp_path / "part1.zarr")
    next(file for file in (copy / "x_end" / "c").rglob("*") if file.is_file()).write_bytes(b"damaged!")
    with pytest.raises(StoreError, match="damaged"):
        joined([stores[0], copy])
    shutil.rmtree(copy)
    copy = shutil.copytree(stores[1], copy)
    (copy / ".jaxgait" / "manifest.jsonl").write_text("")
    for name in ("x_end", "status"):  # written but not confirmed by a checksum, then not even written
        with pytest.warns(UserWarning, match="interrupted"), pytest.raises(ValueError, match="6 members have not run"):
            joined([stores[0], copy])
        shutil.rmtree(copy / name / "c")


def test_the_only_part_and_parts_from_an_iterator_are_joined(whole, stores):
    alone = joined([stores[0]])
    assert alone.sizes == {"mass": 4, "stiffness": 2} and len(json.loads(alone.attrs["joined"])) == 1
    np.testing.assert_array_equal(joined(iter(stores)).x_end, whole.x_end)


def test_a_folder_without_our_records_is_told(stores, tmp_path):
    joined(stores).to_zarr(tmp_path / "merged.zarr")
    with pytest.warns(UserWarning, match="no records of jaxgait .* is not checked"):
        assert read_store(tmp_path / "merged.zarr").status.size == 14
    with pytest.warns(UserWarning, match="no records"), pytest.raises(StoreError, match="lacks jaxgait's own records"):
        joined([tmp_path / "merged.zarr"])


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ("scan.zarr", "takes a list of results"),
        ([], "takes a list of results"),
        ([3.0], "takes results of ensemble and paths, got 3.0"),
        ([xr.Dataset()], "result 1 is not the result of a scan"),
    ],
)
def test_other_things_are_rejected(results, message):
    with pytest.raises(TypeError, match=message):
        joined(results)


def test_an_empty_part_changes_nothing():
    scan = ensemble(Bungee(), {"mass": [60.0, 80.0]}, duration=3.0, samples=5)
    both = joined([scan.isel(mass=[0]), scan.isel(mass=[1]), scan.isel(mass=[])])
    assert both.mass.values.tolist() == [60.0, 80.0]
