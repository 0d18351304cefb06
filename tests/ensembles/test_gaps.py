"""Members that completed without what a measure needs do not vanish from a scan without a word."""

import warnings
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from xarray.backends.zarr import ZarrArrayWrapper

from jaxgait import Bungee, Measure, Variable, ensemble
from jaxgait.cli.records import scan_record
from jaxgait.ensembles import gaps
from jaxgait.outcome import IncompleteRun
from tests.oscillator import Oscillator, Point
from tests.solve.test_event_driven import Bouncing

FALL = Measure("fall", lambda run: jnp.where(run["x"][-1] > 60.0, run.ts[-1], jnp.nan), "s", "time to 60 m", early=True)


@pytest.mark.slow
def test_completed_runs_without_the_lowest_point_are_counted_once(monkeypatch):
    monkeypatch.setattr(gaps, "NUMBERS_PER_READ", 1)  # part by part, as a large store is read
    with pytest.warns(IncompleteRun) as caught:
        scan = ensemble(Bungee(), {"stiffness": [5.0, 15.0, 40.0]}, duration=7.0, observe=["clearance", FALL])
    assert [str(one.message) for one in caught] == [
        "not defined although the runs completed: clearance (2 of 3 members); a longer run may contain what is measured"
    ]
    assert caught[0].filename == __file__ and np.isnan(scan.fall).any()
    assert gaps.undefined(scan.isel(stiffness=0), ["clearance"]) == {"clearance": 1}
    assert gaps.undefined(scan, ["clearance", "status", "fall"]) == {"clearance": 2, "status": 0, "fall": 1}


def test_members_that_end_in_their_own_ways_are_counted_with_the_measures_that_they_lack():
    last = [Measure(name, lambda run: run["x"][-1], "m", "position", early=name == "at") for name in ("last", "at")]
    members = {"limit": [0.5, 1e9]}
    with pytest.warns(IncompleteRun, match=r"^1 of 2 .* completed; 1: ended early: broke; these members have no last$"):
        ensemble(Oscillator(), members, duration=2.0, samples=4, observe=last)


class Pushed(Oscillator):
    variables: ClassVar = {**Oscillator.variables, "v": Variable("m/s", "velocity")}

    def vector_field(self, t, y):
        return Point(y.v, self.growth * y.x)


class Waiting(Pushed):
    def initial_state(self):
        return Point(1e30, 0.0)  # as the time of what never happens


@pytest.mark.slow
def test_members_that_grow_without_bound_are_counted(tmp_path):
    growth = {"growth": [1e3, -1.0, *[1e3] * 9]}
    said = r"^x of Pushed grows without bound in 10 members: a force may have the wrong sign$"
    for place in (None, tmp_path / "scan.zarr"):
        with pytest.warns(UserWarning, match=said) as caught:
            ensemble(Pushed(), growth, batch=8, store=place, progress=False)
        assert len(caught) == 1 and caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ensemble(Waiting(), {"growth": [0.0, 1e-30]}, progress=False)
        ensemble(Pushed(), {"initial.x": [1.0, 1e30]}, progress=False)


def test_members_that_ended_early_and_partial_arrays_are_no_gaps():
    data = {"status": ("k", [0, 0, 10]), "side": ("k", [1, -1, -1]), "force": (("k", "leg"), [[1.0, np.nan]] * 3)}
    scan = xr.Dataset(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the integer -1 of a function is a value
        gaps.warn_of_gaps(scan, ["force", "side"])
    assert gaps.undefined(scan, ["side", "force"]) == {"side": 0, "force": 0} and gaps.undefined(scan, []) == {}


def test_complex_results_lack_a_value_where_either_part_does():
    root = [1.0 + 1j, complex(0.0, np.nan), complex(np.nan, 0.0)]
    scan = xr.Dataset({"status": ("k", [0, 0, 0]), "root": ("k", root)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gaps.undefined(scan, ["root"]) == {"root": 2}


def test_a_store_is_read_once(tmp_path, monkeypatch):
    """Status for all results together, each result once, also for the numbers that `jaxgait view` prints."""
    columns = {name: ("k", np.zeros(4, int if name == "status" else float)) for name in ("status", "a", "b", "t_end")}
    attrs = {"status_legend": '{"0": "completed"}'}
    xr.Dataset(columns, attrs=attrs).to_zarr(tmp_path / "scan.zarr", consolidated=False)
    read = []
    whole = ZarrArrayWrapper.__getitem__
    monkeypatch.setattr(
        ZarrArrayWrapper, "__getitem__", lambda self, key: read.append(self._array.path) or whole(self, key)
    )
    for ask in (lambda scan: gaps.undefined(scan, ["a", "b"]), scan_record):
        ask(xr.open_zarr(tmp_path / "scan.zarr", chunks=None, consolidated=False))
        assert sorted(set(read)) == sorted(read) and {"status", "a", "b"} <= {*read}
        read.clear()


@pytest.mark.parametrize("speed", [-1.0, 0.0])
def test_members_that_start_at_or_beyond_an_event_are_noticed(speed):
    """They fall through the floor; the ball that starts above it bounces."""
    heights = {"height": [-0.1, 0.0, 0.04]}
    with pytest.warns(
        UserWarning, match="'bounce' was not above zero at the start, and lower at the end, in 2 members"
    ):
        scan = ensemble(Bouncing(speed=speed), heights, duration=0.1, samples=4, batch=2)
    assert (scan.status == 0).all() and (scan.h_end[:2] < -0.04).all() and scan.h_end[2] >= 0.0


@pytest.mark.slow
def test_a_member_that_starts_just_after_an_event_is_not_suspected(recwarn):
    """Its guard rises from zero."""
    rises = ensemble(Bouncing(height=0.0), {"speed": [0.5, 1.0]}, duration=0.15, samples=4)
    assert (rises.h_end != 0.0).all() and not [w for w in recwarn if "not above" in str(w.message)]
