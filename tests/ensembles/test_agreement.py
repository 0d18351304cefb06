"""A run of a member is compared with the end that its scan states."""

import json

import numpy as np
import pytest
import xarray as xr

from jaxgait.ensembles.agreement import disagreement

LEGEND = {"status_legend": json.dumps({0: "completed", 1: "gave up", 10: "ended early: fell"})}
MEMBER = xr.Dataset({"status": 0, "t_end": 2.0, "q_end": ("joint", [1.0, 1e-15]), "x_end": 3.0}, attrs=LEGEND)
HISTORIES = {"q": (("time", "joint"), [[-4.0, 0.0], [1.0, -1e-15]], {"units": "rad"}), "x": ("time", [0.0, 3.0])}
RUN = xr.Dataset(HISTORIES, {"time": [0.0, 2.0]}, {"status": 0, "t_end_s": 2.0})


def compared(member=MEMBER, run=RUN, precision="float64", **ends):
    return disagreement(member.assign(ends), run, ["q", "x"], precision)


def test_differences_are_relative_to_the_range_of_the_motion():
    """Rounding is not a difference; neither is what nothing states."""
    assert compared() == compared(q_end=("joint", [1.003, 0.0])) == compared(x_end=np.nan) == ""
    assert disagreement(MEMBER.drop_vars("t_end"), RUN, ["x"]) == disagreement(MEMBER, RUN, []) == ""
    moved = ("joint", [1.02, 0.0])
    assert compared(q_end=moved) == "in the scan it ended at q = 1.02 rad (completed), now at q = 1 rad (completed)"
    assert compared(q_end=moved, precision="float32") == ""


def test_other_statuses_and_times_are_differences():
    fell = RUN.where(RUN.time < 1.0).assign_attrs(status=10, t_end_s=1.5)
    ended = "t_end = 1.5 s (ended early: fell)"
    assert compared(run=fell) == f"in the scan it ended at t_end = 2 s (completed), now at {ended}"
    assert compared(run=fell, status=10, t_end=1.5) == ""
    assert compared(run=fell, status=10, t_end=1.2).endswith(f"now at {ended}")


@pytest.mark.parametrize("status", [1, -1, np.nan])
def test_members_that_failed_or_have_no_status_are_not_compared(status):
    assert compared(status=status, x_end=9.0) == ""
