"""Units as text, and their conversion."""

import math

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from jaxgait.measure import Measure
from jaxgait.model import Model, Variable
from jaxgait.parameters import parameter
from jaxgait.support.units import Partly, alike, check, factor, in_unit, ratio, seconds, unit_of


@pytest.mark.parametrize(
    ("given", "wanted", "size"),
    [
        ("kN/m", "N/m", 1e3),
        ("N/mm", "N/m", 1e3),
        ("N*s/mm", "N s/m", 1e3),
        ("Ns/m", "kg/s", 1.0),
        ("kg cm^2", "kg m^2", 1e-4),
        ("kg cm²", "kg m^2", 1e-4),
        ("N/mm^1.5", "N/m^1.5", 1e3**1.5),
        ("Nm/deg", "N m/rad", 180.0 / math.pi),
        ("deg/s", "rad/s", math.pi / 180.0),
        ("ms", "s", 1e-3),
        ("m*s", "s m", 1.0),
        ("g", "kg", 1e-3),
        ("g/cm^3", "kg/m^3", 1e3),
        ("mPa s", "Pa s", 1e-3),
        ("m/s2", "m/s^2", 1.0),
        ("m s^-2", "m/s^2", 1.0),
        ("%", "1", 0.01),
        ("/s", "1/s", 1.0),
        ("Nmm/rad", "N m/rad", 1e-3),
        ("kgf", "N", 9.80665),
        ("km/h", "m/s", 1.0 / 3.6),
        ("1/min", "1/s", 1.0 / 60.0),
        ("lb", "kg", 0.45359237),
        ("lbf/in", "N/m", 4.4482216152605 / 0.0254),
        ("ft", "in", 12.0),
        ("stride", "stride", 1.0),
        ("μm", "m", 1e-6),
        ("m⋅N", "N m", 1.0),
        ("m s⁻²", "m/s^2", 1.0),
        ("s⁻¹", "1/s", 1.0),
        ("mm/(kN/m)", "m/(N/m)", 1e-6),
        (ratio("mm", "kN/(m s)"), "m^2 s/N", 1e-6),
        (ratio(ratio("mm", "kN/m"), "g"), "m/(N/m)/kg", 1e-3),
    ],
)
def test_sizes(given, wanted, size):
    assert factor(given, wanted, "it", of="the value") == pytest.approx(size, rel=1e-14)


@pytest.mark.parametrize(
    ("by", "twice"), [("1", "N"), ("kg", "N/kg^2"), ("N/m", "m^2/N"), ("N s/m", "m^2/N/s^2"), ("m^2", "N/m^4")]
)
def test_ratios_are_units(by, twice):
    assert factor(ratio(ratio("kN", by), by), twice, "it", of="the value") == pytest.approx(1e3) and ratio("", by) == ""


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("N", "N/m"),
        ("deg", "1"),
        ("N/m s", "N s/m"),
        ("k", "kg"),
        ("10", "1"),
        ("m", ""),
        ("", "m"),
        ("kdegC", "degC"),
        ("kmin", "s"),
        ("m/(N", "m/N"),
    ],
)
def test_other_quantities_and_unknown_units_are_errors(given, wanted):
    with pytest.raises(ValueError, match="it in "):
        factor(given, wanted, "it", of="the value")


def test_the_message_names_units_of_the_same_quantity():
    with pytest.raises(ValueError, match="the value is in 'kg', but the length in 'm': give it in m, cm, mm"):
        factor("kg", "m", "the length", of="the value")
    assert alike("stride") == []


@pytest.mark.parametrize(
    ("unit", "meant"),
    [("kgg", "kg"), ("Kg", "kg"), ("N/metres", "m"), ("rads", "rad"), ("m, radd", "rad"), ("NM", "Nm")],
)
def test_a_misspelt_unit_of_a_declaration_is_an_error_where_it_is_declared(unit, meant):
    message = f"did you mean '{meant}'"
    with pytest.raises(ValueError, match=f"of the parameter 'mass of it' has an unknown .*{message}"):
        parameter(1.0, unit=unit, doc="mass of it")
    with pytest.raises(ValueError, match=f"the measure 'most' has an unknown .*{message}"):
        Measure("most", lambda run: run["x"].max(), unit, "largest x")
    methods = {"initial_state": lambda self: 0.0, "vector_field": lambda self, t, y: y, "duration": 1.0}
    with pytest.raises(ValueError, match=rf"variables\['x'\] of Own has an unknown .*{message}"):
        type("Own", (Model,), {**methods, "variables": {"x": Variable(unit, "position")}})


def test_a_unit_that_does_not_exist_is_an_error():
    with pytest.raises(ValueError, match=r"measure 'far' has an unknown 'furlong': known are 1, .*has the unit '1'"):
        Measure("far", lambda run: run["x"].max(), "m/furlong", "how far")


OTHERS = ["N m/kg", "W/kg", "1/s", "m^2", "kHz", "ml/(kg min)", "nm", "hPa", "kgf", "degC", "Nmm/rad", "Nms/rad"]
OTHERS += ["%BW", "% BW", "rpm", "bpm", "°C", "kWh", "Wb", "S", "person", "counts", "mph"]


@pytest.mark.parametrize(
    "unit", ["1", "stride", "BW", "steps/min", "mmHg", "cmH2O", "N/(m kg)", "m, rad, 1", "Hz", "", *OTHERS]
)
def test_unusual_units_are_accepted(unit):
    check(unit, "it")


def test_every_prefix_is_known():
    assert factor("daN", "N", "it", of="it") == 10.0 and factor("dm^2", "m^2", "it", of="it") == pytest.approx(0.01)
    assert factor("t", "kg", "it", of="it") == 1000.0


def kilonewtons(values):
    return xr.DataArray(values, attrs={"units": "kN"})


def test_labelled_values_are_converted_and_others_left_alone():
    assert in_unit(kilonewtons([1.0, 2.0]), "N", "force").tolist() == [1000.0, 2000.0]
    assert in_unit((kilonewtons(1.0), 500.0), "N", "force") == [1000.0, 500.0]
    column = pd.Series([0.1, 0.3])
    column.attrs["units"] = "kN"
    np.testing.assert_array_equal(in_unit(column, "kN", "force"), [0.1, 0.3])
    plain = [1.0, 2.0]
    assert in_unit(plain, "N", "force") is plain and unit_of(plain, "force") is None
    with pytest.raises(ValueError, match="force is in 'kN', but the model's in 'm': give it in m, cm, mm"):
        in_unit(kilonewtons(1.0), "m", "force")
    with pytest.raises(ValueError, match="force must be a number in N, not text: write 16000 instead of '16 kN'"):
        in_unit([500.0, "16 kN"], "N", "force")
    assert in_unit("16", "N", "force") == "16" and in_unit("soft", "N", "force") == "soft"  # others name them
    with pytest.raises(ValueError, match="units of force must be text such as 'kg', got"):
        unit_of(xr.DataArray(1.0, attrs={"units": 3}), "force")


@pytest.mark.parametrize("step", ["ns", "ms", "s"])
def test_times_that_xarray_has_read_as_differences_of_dates_are_in_seconds(step):
    two = xr.DataArray(np.timedelta64(2, "s").astype(f"timedelta64[{step}]"))
    assert seconds("duration", two) == 2.0 and seconds("duration", two.expand_dims("time")).tolist() == [2.0]


def test_a_list_has_one_unit():
    newtons = xr.DataArray(5.0, attrs={"units": "N"})
    assert unit_of([newtons, newtons], "force") == "N" and not isinstance(unit_of([newtons], "force"), Partly)
    with pytest.raises(ValueError, match=r"values of force have different units \('N' and 'kN'\): give all in one"):
        unit_of([kilonewtons(1.0), newtons], "force")


def test_some_values_of_a_list_may_have_a_unit_if_it_is_the_wanted_one():
    mixed = unit_of([[kilonewtons(1.0)], [kilonewtons(2.0), 7.0]], "force")
    assert mixed == "kN" and isinstance(mixed, Partly)
    numbers = xr.DataArray([1.0, 2.0, 7.0], attrs={"units": mixed})
    assert in_unit(numbers, "kN", "force").tolist() == [1.0, 2.0, 7.0]
    with pytest.raises(ValueError, match=r"values of force have different units \('kN' and no unit\): give all in one"):
        in_unit(numbers, "N", "force")
    with pytest.raises(ValueError, match="force is in 'kN', but the model's in 'm': give it in m, cm, mm"):
        in_unit(numbers, "m", "force")
