"""Lines end just before a jump of the state, and begin again just after it."""

import numpy as np
import pytest
import xarray as xr

from jaxgait.models.walker.rigid import RollingWalker
from jaxgait.plot.explorer import explore
from jaxgait.plot.histories import histories
from jaxgait.plot.jumps import jumps, split_at_jumps
from jaxgait.solve.simulate import simulate
from tests.plot.explorer import unpacked


@pytest.fixture(scope="module")
def walk():
    return simulate(RollingWalker(), duration=1.0, samples=400)


@pytest.mark.slow
def test_lines_are_split_where_one_of_them_jumps(walk):
    line = split_at_jumps(walk, ["stance", "x"])
    gaps = np.flatnonzero(np.isnan(line.stance))
    assert len(gaps) == walk.sizes["event"] == 2 and np.isnan(line.x[gaps]).all()
    for side, at in (("before", gaps - 1), ("after", gaps + 1)):
        assert np.array_equal(line.time[at], walk.event_time)
        assert np.array_equal(line.stance[at], walk[f"stance_{side}"]) and line.stance.units == "rad"
    assert (np.diff(line.time) >= 0.0).all()
    for smooth in ("x", "hip_height"):
        assert split_at_jumps(walk, [smooth]).sizes["time"] == 401, "not split, as it does not jump"


def test_what_the_run_does_not_hold_is_extrapolated_from_both_sides(walk):
    member = walk.drop_vars([n for n in walk if str(n).endswith(("_before", "_after"))])
    names = ["x", "stance", "swing_rate"]
    for side in ("before", "after"):
        known, found = (getattr(jumps(run, names), side) for run in (walk, member))
        for name in names:
            np.testing.assert_allclose(found[name], known[name], atol=2e-2 * np.ptp(walk[name].values))
    assert not (jumps(member, names).before["x"] != jumps(member, names).after["x"]).any()
    assert split_at_jumps(member.assign_attrs(scheme="Smooth"), names).sizes["time"] == 401


def test_numbers_and_yes_or_no_are_split_too():
    run = sampled([0.44, 0.47], [True, True])
    run = run.assign(steps=run.x.astype(int), risen=run.x > 5.0)
    for name in ("steps", "risen"):
        line = split_at_jumps(run, [name])[name]
        assert np.isnan(line.values).sum() == 4 and set(line.values[:5]) == {0.0}


def sampled(events, jumping):
    """Of ten samples every 0.1 s, which rise by 1 per second, and by 5 at each event that jumps."""
    time = 0.1 * np.arange(10)
    x = time + 5.0 * sum(time > at + 1e-12 for at in np.compress(jumping, events))
    return xr.Dataset(
        {"x": ("time", x), "event_time": ("event", np.asarray(events))}, {"time": time}, {"scheme": "EventDriven"}
    )


@pytest.mark.parametrize(
    ("events", "jumping", "before", "after"),
    [
        ([0.44, 0.47], [True, True], [0.44, np.nan], [np.nan, 10.47]),  # nothing is known between them
        (
            [0.42, 0.44, 0.47, 0.65],
            [False, True, False, False],
            [0.42, *2 * [np.nan], 5.65],
            [*2 * [np.nan], 5.47, 5.65],
        ),
        ([0.42, 0.44, 0.47], 3 * [False], [0.42, 0.44, 0.47], [0.42, 0.44, 0.47]),
        ([0.3], [True], [0.3], [5.3]),  # 3 * 0.1 is a rounding error later, and before the jump
        ([0.44, 0.66], [True, True], [0.44, 5.66], [5.44, 10.66]),
        ([0.44, 0.54], [True, True], [0.44, 5.5], [5.5, 10.54]),  # one sample between them
        ([0.85], [True], [0.85], [5.9]),  # the last sample is the only one behind it
    ],
)
def test_histories_are_extrapolated_within_their_piece(events, jumping, before, after):
    run = sampled(events, jumping)
    found = jumps(run, ["x"])
    np.testing.assert_allclose(found.before["x"], before, rtol=1e-9)
    np.testing.assert_allclose(found.after["x"], after, rtol=1e-9)
    line = split_at_jumps(run, ["x"])
    assert np.nanmax(np.abs(np.diff(line["x"]))) < 0.2 and (np.diff(line.time) >= -1e-12).all()


def test_pictures_and_pages_do_not_join_what_jumps(walk):
    panel, smooth = histories(walk, ["stance", "x"]).axes
    drawn = panel.lines[0].get_ydata()
    assert np.isnan(drawn).sum() == 2 and np.nanmax(np.abs(np.diff(drawn))) < 2.0, "in degrees, from sample to sample"
    assert not np.isnan(smooth.lines[0].get_ydata()).any()
    ((_, film),) = unpacked(explore(walk).packed())["films"]
    assert film["jumps"]["sample"].size == 2
    np.testing.assert_allclose(film["jumps"]["before"]["time"], walk.event_time)
    np.testing.assert_allclose(film["jumps"]["after"]["stance"], np.degrees(walk.stance_after), rtol=1e-6)
