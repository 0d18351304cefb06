"""Measured curves in other units than they are given in."""

import pandas as pd
import pytest
import xarray as xr

from jaxgait.calibration.measured import measured_curve, over_phase, over_time


def in_units(values, unit):
    return xr.DataArray(values, attrs={"units": unit})


def test_labelled_times_phases_and_values_are_converted():
    curve = over_time(in_units([0.0, 500.0], "ms"), in_units([100.0, 200.0], "cm"), unit="m")
    assert curve.at.tolist() == [0.0, 0.5] and curve.values.tolist() == [1.0, 2.0] and curve.unit == "m"
    assert over_phase(in_units([0.0, 50.0], "%"), [1.0, 2.0], unit="deg").at.tolist() == [0.0, 0.5]
    time = ("time", [0.0, 500.0], {"units": "ms"})
    whole = measured_curve(xr.DataArray([1.0, 2.0], {"time": time}, attrs={"units": "cm"}))
    assert whole.at.tolist() == [0.0, 0.5] and whole.values.tolist() == [1.0, 2.0] and whole.unit == "cm"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: over_time([0, 1], in_units([1, 2], "deg"), unit="m"), "array is in 'deg', but `unit` in 'm': give it"),
        (
            lambda: over_time(in_units([0, 1], "m"), [1, 2], unit="m"),
            "the time is in 'm', but that of a",
        ),
        (lambda: over_time([0, 1], [1, 2], unit="meters"), "unknown 'meters': did you mean 'm'"),
        (lambda: over_time(pd.to_timedelta([0, 1], unit="s"), [1, 2], unit="m"), "time .* must be numbers"),
        (lambda: over_time([0, 1], [1 + 2j, 2], unit="m"), "values .* must be numbers"),
    ],
)
def test_contradictory_units_are_rejected(make, message):
    with pytest.raises(ValueError, match=message):
        make()
