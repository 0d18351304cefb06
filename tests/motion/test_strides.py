"""Single strides: outliers of the foot, drifts that closing hides, speeds that are given, and short strides."""

import dataclasses
import math

import numpy as np
import pytest

from jaxgait.motion import MotionFormatError, MotionWarning
from jaxgait.motion.capture.walk import measure
from jaxgait.motion.naming import motion_strides
from jaxgait.motion.record import check_record, record_strides, walk_record, write_record
from jaxgait.motion.recording import Mark, Recording
from tests.motion import walker

W = walker.walker(duration=5.2, seed=3)
CLEAN = measure([Recording("walk", "walk.trc", W.rate, W.time, markers=W.markers)])


def moved(marker: str, by: np.ndarray, w: walker.Walker = W, **options):
    markers = w.markers | {marker: w.markers[marker] + by}
    return measure([Recording("walk", "walk.trc", w.rate, w.time, markers=markers)], **options)


def during(stride, w: walker.Walker = W) -> np.ndarray:
    return ((w.time >= stride.start + 0.03) & (w.time < stride.start + stride.period - 0.03))[:, None]


def test_a_toe_marker_that_is_off_in_one_stride_biases_no_other():
    assert len(CLEAN.kept) == 3
    walk = moved("RTOE", 0.15 * during(CLEAN.kept[1]) * np.array([0.0, 1.0, 0.0]))
    assert [s.start for s in walk.kept] == pytest.approx([s.start for s in (CLEAN.kept[0], CLEAN.kept[2])], abs=0.01)
    assert "foot is " in walk.strides[1].reason and "off the median stride" in walk.strides[1].reason
    for name in ("foot_rad", "ankle_rad"):
        np.testing.assert_allclose(walk.mean[name], CLEAN.mean[name], atol=math.radians(1.5))


def test_the_next_stride_that_a_jump_of_a_marker_spoils_is_dropped_too():
    """The low-pass smears a jump at heel strike over the end of the stride before, which then does not repeat."""
    last = CLEAN.kept[2]
    after = (W.time >= last.start)[:, None]
    walk = moved("RTOE", 0.15 * after * np.array([0.0, 1.0, 0.0]))
    assert [s.start for s in walk.kept] == pytest.approx([CLEAN.kept[0].start], abs=0.01)
    assert walk.strides[1].reason.startswith("it does not repeat: ankle +") and "foot is" in walk.strides[2].reason
    assert walk.mean["foot_rad"].max() == pytest.approx(CLEAN.mean["foot_rad"].max(), abs=math.radians(1.5))


def test_two_strides_that_differ_are_warned_of():
    w = walker.walker(duration=4.2, seed=3)
    clean = moved("RTOE", np.zeros(3), w)
    assert len(clean.kept) == 2 and not any("strides differ" in line for line in clean.warnings)
    walk = moved("RTOE", 0.15 * during(clean.kept[1], w) * np.array([0.0, 1.0, 0.0]), w)
    assert any("the only two strides differ" in x and "off the other stride" in x for x in walk.warnings)


@pytest.fixture(scope="module")
def drifting():
    """The knee's markers drift 3 cm forward within one stride, and back within the next one."""
    one, other = CLEAN.kept[:2]
    knots = [one.start, other.start, other.start + other.period]
    shift = np.interp(W.time, knots, [0.0, 0.03, 0.0])[:, None] * np.array([1.0, 0.0, 0.0])
    markers = W.markers | {k: W.markers[k] + shift for k in ("RKNE", "RKNEM")}
    return measure([Recording("walk", "walk.trc", W.rate, W.time, markers=markers)])


def test_strides_that_do_not_repeat_are_recorded_and_warned_of(drifting, tmp_path):
    assert len(drifting.kept) == 3 and abs(drifting.jumps["knee_rad"]) < math.radians(1)
    record = walk_record(drifting)
    jumps = [math.degrees(s["closure_removed"]["knee_rad"]) for s in record["strides"]]
    assert jumps[0] > 7 and jumps[1] < -7 and abs(jumps[2]) < 1
    (line,) = [x for x in drifting.warnings if "do not repeat" in x]
    assert f"walk at {drifting.kept[0].start:.2f} s (knee {jumps[0]:+.1f} deg), walk at" in line
    assert not any("do not repeat" in x for x in CLEAN.warnings)
    write_record(record, tmp_path / "walk.json")
    with pytest.warns(MotionWarning, match=r"walk\.json: strides that do not repeat .* \(knee \+"):
        assert len(motion_strides(str(tmp_path / "walk.json"))) == 3


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("strides", 3, "column strides: expected a list of strides"),
        ("speed_m_s", -1.0, r"column strides\[0\]\.speed_m_s: expected a positive number"),
        ("signals", {}, r"column strides\[0\]\.signals\.hip_x_m: expected a series"),
        (
            "closure_removed",
            {"knee_rad": "9"},
            r"column strides\[0\]\.closure_removed: expected an object with numbers",
        ),
    ],
)
def test_a_wrong_stride_of_a_record_is_named(name, value, message):
    record = walk_record(CLEAN)
    first = record["strides"][0] | {name: value}
    wrong = record | {"strides": value if name == "strides" else [first, *record["strides"][1:]]}
    with pytest.raises(MotionFormatError, match=message):
        check_record(wrong, "walk.json")


@pytest.mark.parametrize(("speed", "where"), [(2.0, "warnings"), (1.3, "notes")])
def test_a_given_speed_is_that_of_single_strides_too(speed, where):
    walk = moved("RTOE", np.zeros(3), speed=speed)
    strides = record_strides(walk_record(walk))
    assert walk.speed == pytest.approx(speed) == np.mean([s.speed for s in strides])
    own = np.array([s.speed for s in CLEAN.kept])
    np.testing.assert_allclose([s.speed for s in strides], own * speed / own.mean(), rtol=1e-12)
    assert any(
        f"the given speed of {speed:.3f} m/s is used, also for single strides" in x for x in getattr(walk, where)
    )
    assert any("lengths of strides and steps with it" in x and "leave it out" in x for x in getattr(walk, where))
    with pytest.raises(ValueError, match="speed must be a positive number of m/s, got -1"):
        moved("RTOE", np.zeros(3), speed=-1.0)


@pytest.mark.parametrize("period", [0.42, 0.45, 0.48, 0.55])
def test_short_strides_are_not_taken_for_half_a_stride(period):
    fast = _at_period(period)
    assert fast.period == pytest.approx(period, rel=5e-3) and len(fast.kept) >= 3


def test_short_strides_next_to_a_marked_one_are_found():
    """One mark of the laboratory does not hide the heel strikes by the motion 0.48 s before and after it."""
    second = _at_period(0.48).kept[1].start
    walk = _at_period(0.48, marks=(Mark("right", "Foot Strike", second),))
    assert walk.events[0].sources[:3] == ("motion", "mark", "motion")
    assert walk.period == pytest.approx(0.48, rel=5e-3)


@pytest.mark.parametrize(
    ("side", "strike", "off"),
    [
        ("right", "Foot Strike", "Foot Off"),
        ("r", "HS", "TO"),
        ("", "RHS", "RTO"),
        ("general", "R FS", "R_FO"),
        ("", "Right Initial Contact", "toe-off right"),
        ("right", "Heel Contact 1", "Toe Off 1"),
        ("right leg", "Heel Strike FP2", "Foot Off (plate 2)"),
        ("R_leg", "STRIKE", "Toe Off"),
        ("", "Right leg contact", "toe off, right, by hand"),
        ("", "RightHeelStrike", "ToeOffRight"),
        ("RIGHT", "RHeelStrike2", "toeoff"),
    ],
)
def test_marks_are_known_by_their_usual_names(side, strike, off):
    at = 0.03 + W.period * np.arange(4)
    marks = (*(Mark(side, strike, t) for t in at), *(Mark(side, off, t + 0.7) for t in at), Mark("left", "LHS", 0.5))
    walk = _marked(marks)
    assert [s.start for s in walk.kept][:3] == pytest.approx(at[:3].tolist())
    assert [s.toe_off for s in walk.kept][:3] == pytest.approx(3 * [0.7 / W.period])
    assert not any("events of the file" in note for note in walk.notes)


def test_marks_that_are_not_understood_or_outside_of_the_record_are_named():
    marks = (Mark("", "HS", 0.5), Mark("left", "RHS", 0.6), Mark("right", "Heel Off", 0.7), Mark("", "start", 0.8))
    walk = _marked((*marks, Mark("", "start", 0.9), Mark("", "", 1.0), Mark("right", "FS", 5.9), Mark("r", "IC", -0.4)))
    assert walk.events[0].sources == CLEAN.events[0].sources
    unknown = "events of the file that are not understood: HS, left RHS, right Heel Off, start, 5 in all"
    outside = "events of the file outside of the record (0.00 to 5.19 s) are left out: at 5.90, -0.40 s"
    assert {unknown, outside} <= {*walk.notes}


def test_marks_that_are_set_twice_are_one_event():
    at = 0.03 + W.period * np.arange(4)
    walk = _marked((*(Mark("right", "HS", t) for t in at), Mark("right", "HS", at[1] + 0.01), Mark("left", "HS", 0.6)))
    assert walk.events[0].strikes[:4] == pytest.approx([at[0], at[1] + 0.005, at[2], at[3]])
    said = f"events of the right foot that are marked more than once are taken at their mean: at {at[1] + 0.005:.2f} s"
    assert said in walk.notes


def test_marks_of_the_record_before_it_was_cut_are_named_where_no_stride_is_found():
    frames = int(1.4 * W.period * W.rate)
    cut = Recording("cut", "cut.trc", W.rate, W.time[:frames], markers={k: x[:frames] for k, x in W.markers.items()})
    marks = tuple(Mark("right", "HS", 0.9 + i * W.period) for i in range(4))
    with pytest.raises(MotionFormatError, match=r"no .*stride.*events of the file outside of the record \(0\.00 to"):
        measure([dataclasses.replace(cut, marks=marks)])


@pytest.mark.parametrize(("late", "said"), [(-0.1, "100 ms before"), (0.0, ""), (0.1, "100 ms after")])
def test_marks_that_the_motion_contradicts_are_warned_of(late, said):
    """Up to 8 % of a stride, nothing else was said of them."""
    early = CLEAN.events[0].strikes
    strikes = early[0] + 0.038 + late + W.period * np.arange(len(early))
    offs = CLEAN.events[0].offs + 0.002 + late
    walk = _marked((*(Mark("right", "FS", t) for t in strikes), *(Mark("right", "FO", t) for t in offs)))
    found = [x for x in walk.warnings if "the laboratory's marks of the right foot come about" in x]
    assert [said in x for x in found] == ([True] if said else [])


def _marked(marks):
    return measure([Recording("walk", "walk.trc", W.rate, W.time, markers=W.markers, marks=marks)])


def test_impossibly_short_strides_raise_with_their_time():
    with pytest.raises(MotionFormatError, match=r"no stride is usable of \d+: at .* it takes 0\.35 s"):
        _at_period(0.35)


def test_a_standing_trial_as_a_walk_is_named():
    """Its heel is farthest forward here and there by noise alone."""
    draw = np.random.default_rng(0)
    still = {name: at[20] + draw.normal(scale=3e-4, size=at.shape) for name, at in W.markers.items()}  # m
    with pytest.raises(MotionFormatError, match=r"a standing trial\? give it with a walk, by --static"):
        measure([Recording("standing", "standing.trc", W.rate, W.time, markers=still)])


def test_reasons_are_as_many_as_a_message_holds():
    with pytest.raises(MotionFormatError, match=r"no stride is usable of \d+: at .* see --gap") as caught:
        _at_period(
            0.35, warnings=tuple(f"a warning of {n} words about a marker, its segment and a plate" for n in range(9))
        )
    assert len(str(caught.value)) <= 300


def _at_period(period: float, **options):
    """The walk in a time of which a stride takes so many s, at 200 Hz."""
    faster = walker.walker().period / period
    w = walker.walker(rate=200.0 / faster, duration=6.0)
    return measure([Recording("fast", "fast.trc", w.rate * faster, w.time / faster, markers=w.markers, **options)])
