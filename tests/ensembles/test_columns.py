"""Tables as members: numbers of their columns, and labels of their rows that results keep."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from jaxgait import Bungee
from jaxgait.ensembles import cloud, ensemble, grid, product, sobol, zipped
from jaxgait.ensembles.conversion import in_own_units
from jaxgait.ensembles.members import check_members
from jaxgait.parameters import ParameterError
from jaxgait.support.checks import as_array
from tests.oscillator import Oscillator, peaks
from tests.throw import Throw

PEOPLE = pd.DataFrame(
    {"mass": [60.0, 70.0, 80.0], "stiffness": [20.0, 25.0, 30.0]},
    index=pd.Index(["anna", "ben", "cem"], name="subject"),
)


DATES = np.array(["2026-01-01", "2026-01-02"], "datetime64[ns]")


@pytest.mark.parametrize(
    "values",
    [PEOPLE, dict(PEOPLE), {"mass": PEOPLE.mass, "stiffness": [20.0, 25.0, 30.0]}, xr.Dataset.from_dataframe(PEOPLE)],
)
def test_the_index_of_a_table_labels_its_members(values):
    members = zipped(values)
    assert members.dims == ("subject",) and members.labels["subject"][1].tolist() == ["anna", "ben", "cem"]


@pytest.mark.slow
def test_results_of_a_shuffled_table_find_their_rows(tmp_path):
    rows = PEOPLE.iloc[[2, 0]].assign(stiffness=20.0)
    request = {"duration": 10.0, "observe": ["peak_rope_force"], "store": tmp_path / "scan.zarr"}
    scan = ensemble(Bungee(), zipped(rows), **request)
    again = ensemble(Bungee(), zipped(rows), **request)  # continued, nothing left to do
    back = PEOPLE.assign(force=again.peak_rope_force.to_series())
    assert back.force["cem"] == scan.peak_rope_force.values[0] and np.isnan(back.force["ben"])
    assert scan.to_dataframe().index.equals(rows.index)


@pytest.mark.parametrize(
    "index", [[7, 7, 3], [1.5, 2.5, 3.5], [True, False, True], pd.date_range("2026-01-01", periods=3), ["a", "a", "b"]]
)
def test_labels_of_any_kind_survive_files(index, tmp_path):
    members = zipped(PEOPLE.set_axis(index))
    labels = xr.Dataset(coords={"member": members.labels["member"]})
    labels.to_netcdf(tmp_path / "labels.nc", engine="h5netcdf")
    read = xr.load_dataset(tmp_path / "labels.nc", engine="h5netcdf")
    assert (read.member.values == labels.member.values).all()


def test_missing_numbers_of_a_table_are_nan():
    mixed = pd.DataFrame({"mass": [Decimal("60.5"), None, 80], "stiffness": pd.array([20, None, 30], dtype="Int64")})
    members = zipped(mixed)
    np.testing.assert_array_equal(members.values["mass"], [60.5, np.nan, 80.0])
    np.testing.assert_array_equal(members.values["stiffness"], [20.0, np.nan, 30.0])
    masked = np.ma.array([60.0, -999.0], mask=[False, True])
    for values in (masked, [masked[0], masked[1]]):
        with pytest.raises(ParameterError, match=r"mass\[1\] .*finite, got nan kg$"):
            check_members(Oscillator(), grid({"mass": values}))


def test_advice_for_an_index_with_the_name_of_a_parameter_works():
    named = PEOPLE[["mass"]].set_axis(pd.Index([20.0, 25.0, 30.0], name="stiffness"))
    with pytest.raises(ParameterError, match="label 'stiffness', but no values of it"):
        check_members(Bungee(), zipped(named))
    for members in (zipped(named.reset_index()), zipped(named.rename_axis("row"))):
        check_members(Bungee(), members)
    assert members.labels["row"][1].tolist() == [20.0, 25.0, 30.0]


def test_hidden_entries_keep_the_kind_of_the_others():
    half = lambda data: as_array(np.ma.array(data, mask=[False, True]))
    np.testing.assert_array_equal(half([60, 70]), [60.0, np.nan])
    np.testing.assert_array_equal(half(np.array([60, 70], np.uint8)), [60.0, np.nan])
    assert half(np.float32([60, 70])).dtype == np.float32
    np.testing.assert_array_equal(half(DATES), [DATES[0], np.datetime64("NaT")])
    assert half(DATES - DATES[0]).dtype == "timedelta64[ns]"
    assert half(["a", "b"]).tolist() == ["a", None] and half([True, False]).tolist() == [True, None]


def labelled(values, unit):
    return xr.DataArray(values, attrs={"units": unit})


def test_what_the_rows_of_a_dataset_share_is_a_value_or_raises():
    table = xr.Dataset({"mass": (("run", "stiffness"), [[60.0, 61.0], [80.0, 81.0]])}, {"stiffness": [20.0, 40.0]})
    chosen = table.assign_coords(run=["a", "b"], day="Monday").sel(stiffness=40.0)
    with pytest.raises(
        ParameterError, match=r"label 'stiffness', but no values of it: make it a variable, table\.reset_"
    ):
        check_members(Bungee(), zipped(chosen))
    members = zipped(chosen.reset_coords("stiffness"))
    check_members(Bungee(), members)
    np.testing.assert_array_equal(members.values["stiffness"], [40.0, 40.0])
    assert members.labels["run"][1].tolist() == ["a", "b"] and members.labels["day"] == ((), "Monday")


def test_labelled_dimensions_are_those_of_the_axes_of_their_names():
    mass = xr.DataArray([[60.0, 61.0], [70.0, 71.0]], {"age": [30, 40]}, ["age", "day"])
    axes = {"day": [1, 2], "age": [30, 40]}
    members = zipped({"mass": mass, "stiffness": mass.values}, axes=axes)
    assert members.values["mass"].tolist() == [60.0, 70.0, 61.0, 71.0]
    assert members.values["stiffness"].tolist() == [60.0, 61.0, 70.0, 71.0]
    arrays = xr.DataArray(np.ones((2, 3)), dims=["link", "day"])
    assert zipped({"masses": arrays}, axes={"day": [1, 2, 3]}).values["masses"].shape == (3, 2)
    series = pd.Series([60.0, 70.0], index=pd.Index([40, 30], name="age"))
    for values, rest in ((mass, axes | {"age": [40, 30]}), (series, {"age": [30, 40]})):
        with pytest.raises(ParameterError, match="values of 'mass' are labelled otherwise along 'age' than the axis"):
            zipped({"mass": values}, axes=rest)


def test_all_members_of_a_box_share_what_has_no_dimensions():
    table = xr.Dataset({"stiffness": ((), 0.02, {"units": "kN/m"}), "mass": (("a", "b"), np.ones((2, 3)))})
    members = in_own_units(Oscillator(), zipped(table, axes={"a": [1, 2], "b": [1, 2, 3]}))
    assert members.shape == (2, 3) and members.values["stiffness"].tolist() == [20.0] * 6


def test_labelled_values_are_converted_to_the_units_of_the_model():
    grams, odd = labelled([6e4, 7e4], "g"), 0.1 + np.arange(2)
    rows = xr.Dataset({"mass": ("who", [6e4, 7e4], {"units": "g"}), "stiffness": ("who", [20.0, 25.0])})
    cases = [grid({"mass": grams}), zipped({"mass": grams}, axes={"mass": grams}), zipped(rows)]
    for members in (in_own_units(Bungee(), one) for one in cases):
        assert members.values["mass"].tolist() == members.labels["mass"][1].tolist() == [60.0, 70.0]
    speeds = in_own_units(Bungee(), grid({"mass": labelled(odd, "kg"), "initial.v": labelled([50.0], "cm/s")}))
    assert speeds.values["mass"].tolist() == odd.tolist() and speeds.values["initial.v"].tolist() == [0.5, 0.5]
    drawn = in_own_units(Bungee(), sobol({"mass": labelled([6e4, 7e4], "g")}, 4)).values["mass"]
    assert (drawn > 59.9).all() and (drawn < 70.1).all()
    box = in_own_units(Bungee(), product(zipped({"mass": grams}), grid({"stiffness": labelled([0.02], "kN/m")})))
    assert box.values["mass"].tolist() == [60.0, 70.0] and box.values["stiffness"].tolist() == [20.0, 20.0]
    one, same = (cloud(Bungee(), {"v": x}, 2).values["initial.v"] for x in (labelled(50.0, "cm/s"), 0.5))
    assert one.tolist() == same.tolist()


def test_arrays_and_the_coordinates_of_their_values_are_converted():
    pushes = labelled(100.0 * np.ones((1, 2, 2)), "cm/s^2")
    members = in_own_units(Throw(), grid({"push": pushes}))
    assert (members.values["push"] == 1.0).all() and (members.labels["push_values"][1] == 1.0).all()


def test_a_scan_is_labelled_in_the_units_of_the_model():
    scan = ensemble(Oscillator(), {"mass": labelled([1000.0, 2000.0], "g")}, observe=peaks)
    again = ensemble(Oscillator(), {"mass": [scan.mass[0], 2.0]}, observe=peaks)
    assert scan.mass.values.tolist() == again.mass.values.tolist() == [1.0, 2.0] and scan.mass.attrs["units"] == "kg"


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (grid({"mass": labelled([150.0], "oz")}), "mass is in 'oz', but the model's in 'kg': give it in kg, g"),
        (grid({"initial.v": labelled([5.0], "m/s")}), "initial.v is in 'm/s', but the model declares no unit of it"),
        (grid({"mas": labelled([1.0], "g")}), "no parameter 'mas'"),
        (grid({"mass": [labelled(1.0, "s"), 2.0]}), "mass is in 's', but the model's in 'kg': give it in kg, g"),
        (grid({"mass": [labelled(1.0, "g"), 2.0]}), r"the values of mass have different units \('g' and no unit\)"),
    ],
)
def test_units_that_do_not_fit_raise(members, message):
    with pytest.raises(ParameterError, match=message):
        in_own_units(Oscillator(), members)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: zipped(PEOPLE.reset_index()),
            r"column 'subject' \(.*\) has text, such as 'anna'.*set_index\('subject'\)",
        ),
        (lambda: zipped(PEOPLE.assign(mass=["60", "70", "80"])), r"pandas\.to_numeric\(table\['mass'\]\)"),
        (lambda: zipped(PEOPLE.assign(mass=["60,5", "70", "80"])), 'a comma is no decimal point: .* decimal=","'),
        (lambda: zipped(pd.concat([PEOPLE, PEOPLE[["mass"]]], axis=1)), "parameter given twice: 'mass'"),
        (lambda: zipped(PEOPLE.assign(mass=True)), "column 'mass' .* has values of the type bool"),
        (lambda: zipped(PEOPLE.set_index("mass", append=True)), r"several levels \(subject, mass\).*reset_index"),
        (lambda: zipped({"mass": PEOPLE.mass, "stiffness": PEOPLE.stiffness[::-1]}), "different labels"),
        (lambda: grid(dict(PEOPLE)), "'mass' and 'stiffness' have the same rows, 'subject': give zipped"),
        (lambda: product({n: x for n, x in PEOPLE.to_xarray().items()}), "have the same rows, 'subject'"),
        (lambda: zipped(PEOPLE.rename_axis("a/b")), "the index of a table: names must not contain '/'"),
        (lambda: zipped(PEOPLE.set_axis([1.0, None, 3.0])), "label 'member' of the rows is missing"),
        (
            lambda: zipped(PEOPLE.set_axis(np.array(["1990", "2000", "2300"], "M8[s]"))),
            "a date 'member' of the rows is not between 1678 and 2261",
        ),
        (lambda: zipped(PEOPLE.set_axis([1, "a", 3])), "must be text, numbers or dates, got 1"),
        (
            lambda: check_members(Oscillator(), zipped(PEOPLE.rename_axis("limit"))),
            r"label 'limit', but no values of it.*reset_index\(\).*rename_axis\('row'\)",
        ),
        (lambda: zipped(PEOPLE.rename_axis("mass")), r"'mass' does not label .*rename_axis\('row'\)"),
        (lambda: zipped({"mass": np.ma.array(["60", "70"], mask=[0, 1])}), "must be real numbers"),
        (lambda: zipped({"mass": np.ma.array([True, False], mask=[0, 1])}), "must be real numbers"),
        (lambda: zipped({"mass": np.ma.array(DATES, mask=[0, 1])}), "must be real numbers"),
    ],
)
def test_impossible_tables_raise(build, message):
    with pytest.raises(ParameterError, match=message):
        build()
