"""Members that completed without what a measure needs do not vanish from a scan without a word."""

import warnings

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from jaxgait import Bungee, Measure, ensemble
from jaxgait.ensembles import gaps
from jaxgait.outcome import IncompleteRun

FALL = Measure("fall", lambda run: jnp.where(run["x"][-1] > 60.0, run.ts[-1], jnp.nan), "s", "time to 60 m", early=True)


def test_completed_runs_without_the_lowest_point_are_counted_once(monkeypatch):
    monkeypatch.setattr(gaps, "NUMBERS_PER_READ", 1)  # part by part, as a large store is read
    with pytest.warns(IncompleteRun) as caught:
        scan = ensemble(Bungee(), {"stiffness": [5.0, 15.0, 40.0]}, duration=7.0, observe=["clearance", FALL])
    assert [str(one.message) for one in caught] == [
        "not defined although the runs completed: clearance (2 of 3 members); a longer run may contain what is measured"
    ]
    assert np.isnan(scan.fall).any()
    assert [gaps.undefined(scan, name) for name in ("clearance", "status", "fall")] == [2, 0, 1]


def test_members_that_ended_early_and_partial_arrays_are_no_gaps():
    data = {"status": ("k", [0, 0, 10]), "order": ("k", [1, -1, -1]), "force": (("k", "leg"), [[1.0, np.nan]] * 3)}
    scan = xr.Dataset(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gaps.warn_of_gaps(scan, ["force"])
    assert gaps.undefined(scan, "order") == 1 and gaps.undefined(scan, "force") == 0
