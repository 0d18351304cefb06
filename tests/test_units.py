"""Units as text, and their conversion."""

import math

import pytest

from jaxgait.measure import Measure
from jaxgait.model import Model, Variable
from jaxgait.parameters import parameter
from jaxgait.units import alike, check, factor


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
        ("stride", "stride", 1.0),
    ],
)
def test_sizes(given, wanted, size):
    assert factor(given, wanted, "it") == pytest.approx(size, rel=1e-14)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [("N", "N/m"), ("deg", "1"), ("N/m s", "N s/m"), ("k", "kg"), ("10", "1"), ("m", ""), ("", "m")],
)
def test_other_quantities_and_unknown_units_are_errors(given, wanted):
    with pytest.raises(ValueError, match="it in "):
        factor(given, wanted, "it")


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


OTHERS = ["nm", "hPa", "kgf", "degC", "Nmm/rad", "Nms/rad"]


@pytest.mark.parametrize(
    "unit", ["1", "stride", "BW", "steps/min", "mmHg", "cmH2O", "N/(m kg)", "m, rad, 1", "Hz", "", *OTHERS]
)
def test_unusual_units_are_accepted(unit):
    check(unit, "it")
