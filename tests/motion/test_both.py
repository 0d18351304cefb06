"""Both legs of one person: one mass, a leg that cannot be measured, and recordings of any length."""

import dataclasses

import numpy as np
import pytest
import scipy.interpolate

from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.smoothing import REACH, sampled_at
from jaxgait.motion.capture.walk import measure, measure_both
from jaxgait.motion.capture.weight import person
from jaxgait.motion.norms import GRAVITY
from jaxgait.motion.recording import GroundReaction
from tests.motion import walker
from tests.motion.test_capture import recording


def plates(w: walker.Walker) -> tuple[GroundReaction, GroundReaction]:
    """A plate under each foot; the left one is loaded as the right one, half a stride later."""
    time, force, point = walker.pressed(w, 1000.0)
    late = (time + 0.5 * w.period) % w.period
    left = np.stack([np.interp(late, time, x) for x in force.T], axis=1)
    along = lambda name: np.stack([np.interp(time, w.time, x) for x in w.markers[name].T], axis=1)
    share = np.clip(late / (0.64 * w.period), 0.0, 1.0)[:, None]
    pressed = (along("LHEE") + share * (along("LTOE") - along("LHEE"))) * np.array([1.0, 0.0, 1.0])
    return GroundReaction("plate 1", time, force, point), GroundReaction("plate 2", time, left, pressed)


@pytest.mark.slow
def test_both_legs_have_the_mass_of_one_person():
    """A part of the left foot's first contact is off its plate, within the first stride of the right foot."""
    w = walker.walker(duration=5.0)
    right, left = plates(w)
    mass = measure_both([recording(w, forces=(right, left))])["left"].subject["mass_kg"]
    start = measure([recording(w, forces=(right,))]).kept[0].start
    partly = left._replace(force=left.force * (left.time > start + 0.1)[:, None])
    walks = measure_both([recording(w, forces=(right, partly))])
    assert walks["right"].kept[0].start == pytest.approx(start)
    assert walks["right"].subject == walks["left"].subject
    assert walks["left"].subject["mass_kg"] == pytest.approx(mass, rel=0.005)
    assert measure([recording(w, forces=(right, partly))]).subject["mass_kg"] == pytest.approx(mass, rel=0.005)


def test_the_mass_is_the_median_of_strides_in_which_no_contact_is_missing():
    """The force of the first falls to 0.4 of its mean, as where a foot is partly off the plates; the others differ."""
    walk = measure([recording(walker.walker(duration=6.0))])
    time, carried = np.arange(6000) / 1000.0, np.full(6000, 700.0)
    for stride, newton in zip(walk.kept, (600.0, 700.0, 760.0, 720.0), strict=True):
        carried[time >= stride.start] = newton
    dip = (time > walk.kept[0].start + 0.4) & (time < walk.kept[0].start + 0.6)
    carried[dip] = 0.4 * 540.0
    plate = GroundReaction("plate", time, carried[:, None] * walk.legs[0].axes.rotation[1], None)
    leg = dataclasses.replace(walk.legs[0], recording=dataclasses.replace(walk.legs[0].recording, forces=(plate,)))
    body, _ = person([leg.recording], [(leg, stride) for stride in walk.kept], None, None)
    assert body["mass_kg"] == pytest.approx(720.0 / GRAVITY, rel=1e-3)


def test_a_leg_without_a_whole_stride_does_not_hide_the_other_one():
    w = walker.walker(duration=4.0)
    short = dataclasses.replace(w, time=w.time[:170], markers={k: x[90:260] for k, x in w.markers.items()})
    walks = measure_both([recording(short)])
    assert list(walks) == ["right"]
    assert walks["right"].warnings[0].startswith("the left leg is not measured: no whole stride: 1 heel strike of the ")
    shorter = dataclasses.replace(short, time=short.time[:60], markers={k: x[:60] for k, x in short.markers.items()})
    with pytest.raises(MotionFormatError, match=r"no whole stride: . heel strikes? of the right leg"):
        measure_both([recording(shorter)])


def test_a_marker_that_is_never_seen_is_none():
    """As in files, whose readers leave it out: the foot has its heel."""
    w = walker.walker(duration=4.0)
    without = dataclasses.replace(w, markers={k: x for k, x in w.markers.items() if k != "LTOE"})
    unseen = dataclasses.replace(w, markers=w.markers | {"LTOE": np.full_like(w.markers["LTOE"], np.nan)})
    walks, expected = (measure_both([recording(one)]) for one in (unseen, without))
    for side in ("right", "left"):
        np.testing.assert_array_equal(walks[side].mean["ankle_rad"], expected[side].mean["ankle_rad"])
        assert walks[side].warnings == expected[side].warnings and walks[side].notes == expected[side].notes


@pytest.mark.parametrize(("degree", "derivative"), [(3, 0), (5, 0), (5, 2)])
def test_a_spline_through_the_frames_near_some_times_is_that_through_all(degree, derivative):
    clock = np.arange(3000) / 100.0
    track = np.cumsum(np.random.default_rng(2).standard_normal((clock.size, 2)), axis=0)
    track[1490:1495] = np.nan
    for time in (np.linspace(14.2, 15.3, 101), np.linspace(0.0, 1.0, 101), np.linspace(29.0, 30.5, 101)):
        found = sampled_at(clock, track, time, degree=degree, derivative=derivative)
        whole = np.full_like(found, np.nan)
        for a, b in ((0, 1490), (1495, 3000)):
            there = (time >= clock[a] - 1e-9) & (time <= clock[b - 1] + 1e-9)
            spline = scipy.interpolate.make_interp_spline(clock[a:b], track[a:b], k=degree)
            whole[there] = spline(time[there], nu=derivative)
        np.testing.assert_allclose(found, whole, rtol=1e-9, atol=1e-9 * np.nanmax(np.abs(whole)))


def test_the_work_for_a_stride_does_not_grow_with_the_recording(monkeypatch):
    fitted, fit = [], scipy.interpolate.make_interp_spline
    monkeypatch.setattr(
        scipy.interpolate, "make_interp_spline", lambda x, *a, **k: fitted.append(x.size) or fit(x, *a, **k)
    )
    w = walker.walker(duration=15.0)
    assert len(measure([recording(w, forces=plates(w))], mass=walker.MASS).dynamics.strides) > 9
    long = [size for size in fitted if size > 1.5 * w.period * w.rate + 2 * REACH]
    assert len(long) < 0.25 * len(fitted)  # those of a whole trial: the ankle over a plate, lags between markers
