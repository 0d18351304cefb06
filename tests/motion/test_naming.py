"""Motion by name: strides, walks and recordings are distinguished by their contents."""

import equinox as eqx
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from jaxgait.exporting import export
from jaxgait.motion import MotionFormatError, MotionWarning
from jaxgait.motion.capture.maps import read_map
from jaxgait.motion.capture.walk import measure
from jaxgait.motion.drive import REFERENCE_GAITS, reference_gait, synthetic_recording
from jaxgait.motion.embedded import gait_record
from jaxgait.motion.naming import motion_drive, motion_strides, named_stride, recording_of
from jaxgait.motion.readers import read_recording
from jaxgait.motion.record import walk_record, write_record
from jaxgait.motion.recording import Recording
from jaxgait.motion.stride import SIGNALS, embedded_stride
from tests.motion import walker
from tests.motion.bad_strides import GOOD

W = walker.walker(duration=3.0)


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.trc", walker.trc(W)), ("a.csv", walker.csv(W)), ("a.mot", walker.mot(W)), ("a.txt", walker.csv(W, "\t"))],
)
def test_recordings_are_drives(name, text, tmp_path):
    (tmp_path / name).write_text(text)
    drive = motion_drive(str(tmp_path / name))
    assert drive.name == "a" and drive.period == pytest.approx(W.period, rel=0.01)
    assert drive.person is not None and 0.3 < drive.person.thigh < 0.5


def test_strides_are_told_from_recordings(tmp_path):
    (tmp_path / "stride.csv").write_text(GOOD)
    (tmp_path / "stride.tsv").write_text(GOOD.replace(",", "\t"))
    assert recording_of(tmp_path / "stride.csv") is None and recording_of(tmp_path / "stride.tsv") is None
    assert motion_drive(str(tmp_path / "stride.tsv")).period == motion_drive(str(tmp_path / "stride.csv")).period
    assert named_stride(str(tmp_path / "stride.csv")).person is None
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n2,3\n")
    assert recording_of(tmp_path / "notes.csv") is None  # the reader of strides reports what is wrong with it


def test_a_trial_of_joint_angles_may_have_a_column_in_the_words_of_a_stride(tmp_path):
    """And a stride may have kept the columns of the laboratory's table."""
    labels, *rows = walker.mot(W).partition("endheader\n")[2].splitlines()
    lines = [f"{labels}\tthigh_angle_r", *(f"{row}\t0.1" for row in rows)]
    (tmp_path / "walk.txt").write_text("\n".join(lines))
    assert motion_drive(str(tmp_path / "walk.txt")).period == pytest.approx(W.period, rel=0.01)
    names, first, *rest = (line for line in GOOD.splitlines() if not line.startswith("#"))
    lab = ",".join(f"{name}_r" for name in ("hip_flexion", "knee_angle", "ankle_angle"))
    lines = ["# speed_m_s=1.2", f"{names},{lab}", *(f"{row},30,20,10" for row in (first, *rest))]
    (tmp_path / "stride.csv").write_text("\n".join(lines))
    assert recording_of(tmp_path / "stride.csv") is None


@pytest.mark.parametrize("label", ["time_s,r_hip_x,r_hip_y,r_hip_z", "time_s,r_hip_x_m,r_hip_y_m,r_hip_z_m"])
def test_markers_are_no_stride_whatever_their_names(label, tmp_path):
    """The column time_s, which the reader of recordings asks for, and a hip: names that strides have, too."""
    unit = "_m" if label.endswith("_m") else ""
    names = "".join(f",{k}_{axis}{unit}" for k in W.markers for axis in "xyz")
    hip = np.column_stack([W.hip, 0 * W.time])
    rows = np.column_stack([W.time, hip, *W.markers.values()])
    lines = [label + names, *(",".join(f"{x:.7f}" for x in row) for row in rows)]
    (tmp_path / "walk.csv").write_text("\n".join(lines))
    found = recording_of(tmp_path / "walk.csv")
    assert found is not None and set(W.markers) < set(found.markers)


def test_strides_over_percent_of_the_gait_cycle_are_no_motion(tmp_path):
    """The advice was to name their columns as joint angles are named."""
    (tmp_path / "walk.trc").write_text(walker.trc(W))
    walk = measure([read_recording(tmp_path / "walk.trc")])
    export(walk, tmp_path / "walk.csv")
    for motion in (str(tmp_path / "walk.csv"), walk.to_dataset().to_dataframe()):
        with pytest.raises(MotionFormatError, match="holds the strides of a measured walk over percent"):
            motion_drive(motion)


def test_a_speed_that_is_told_wins():
    assert named_stride(REFERENCE_GAITS[0], speed=1.1).speed == 1.1


@pytest.mark.parametrize("name", ["nobody.json", "nobody.csv", "nobody"])
@pytest.mark.parametrize("read", [motion_drive, motion_strides])
def test_a_file_that_does_not_exist_is_named(read, name):
    with pytest.raises(FileNotFoundError, match=f"{name}: no such file, nor an embedded gait"):
        read(name)


def test_a_tilde_is_the_user_s_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "stride.csv").write_text(GOOD)
    (tmp_path / "walk.trc").write_text(walker.trc(W))
    (tmp_path / "map.toml").write_text('heel = "{S}_calcaneus"')
    write_record(gait_record(REFERENCE_GAITS[0]), "~/gait.json")
    assert motion_drive("~/stride.csv").name == "stride" and read_map("~/map.toml")
    assert motion_drive("~/gait.json").name == "gait" and motion_strides("~/walk.trc")


@pytest.mark.slow
def test_what_was_read_or_measured_drives_as_its_file_does(tmp_path):
    """Recordings, a walk, a stride, and its columns as a table of any kind."""
    w = walker.walker(duration=4.0)
    (tmp_path / "a.trc").write_text(walker.trc(w))
    (tmp_path / "a.mot").write_text(walker.forces(w))
    files = [tmp_path / "a.trc", str(tmp_path / "a.mot")]
    read = [read_recording(file) for file in files]
    same = [motion_drive(m) for m in (files, read, (files[0], read[1]), measure(read), measure(read[::-1]))]
    assert all(eqx.tree_equal(drive, same[0]) for drive in same[1:]) and same[0].load is not None
    left = motion_drive(files, side="left")
    assert eqx.tree_equal(left, motion_drive(measure(read, "left"))) and not eqx.tree_equal(left, same[0])
    write_record(walk_record(measure(read, "left")), tmp_path / "jo.json")
    assert motion_drive(tmp_path / "jo.json", side="left").name == "jo"  # two people's files may come from "a.trc"
    assert len(motion_strides(read)) == 2 and len(motion_strides(tmp_path / "jo.json")) == 3  # of the left leg
    stride = embedded_stride(REFERENCE_GAITS[0])
    table = {"time_s": stride.time, **stride.signals}
    frame = pd.DataFrame(table).assign(leg="right")
    frame.attrs["speed_m_s"] = stride.speed
    tables = (frame, xr.Dataset.from_dataframe(frame).assign_attrs(frame.attrs), {**table, "speed_m_s": stride.speed})
    for given in (stride, *tables):
        assert motion_drive(given).thigh.a == pytest.approx(reference_gait().thigh.a, abs=1e-3)


def test_warnings_point_at_the_line_of_the_user(tmp_path):
    """Also those of a reader, and through the decorators of a model."""
    (tmp_path / "a.trc").write_text(walker.trc(W))
    with pytest.warns(MotionWarning, match=r"a\.trc: ") as caught:
        motion_drive(tmp_path / "a.trc")
    with pytest.warns(MotionWarning) as more:
        motion_drive(measure([read_recording(tmp_path / "a.trc")]))
    lines = GOOD.splitlines()
    (tmp_path / "gap.csv").write_text("\n".join([*lines[:40], *lines[41:]]))
    with pytest.warns(MotionWarning, match=r"gaps are filled: all columns 0\.0113 s from") as gap:
        motion_drive(tmp_path / "gap.csv")
    assert {w.filename for w in (*caught, *more, *gap)} == {__file__}


@pytest.mark.parametrize(
    ("motion", "error", "message"),
    [
        (None, TypeError, "None is not a measured motion: give a name, a path, recordings, a Walk"),
        (np.zeros(3), TypeError, "is not a measured motion"),
        (
            [reference_gait()],
            TypeError,
            "is neither a path nor a recording: a list contains .*; `people`",
        ),
        ([], ValueError, "at least one recording"),
        ([REFERENCE_GAITS[0], "b.trc"], ValueError, "is an embedded gait, not a recording: give it alone"),
        (pd.DataFrame({"time_s": [0.0, 1.0]}), MotionFormatError, "table, column hip_x_m: no columns 'hip_x_m'"),
        ({k: [0.0, 1.0] for k in ("time_s", *SIGNALS)}, MotionFormatError, "table: no walking speed; set attrs"),
        (
            {k: [0.0, 1.0] for k in ("time_s", *SIGNALS)} | {"speed_m_s": "1.26"},
            MotionFormatError,
            "table: speed_m_s is '1.26', not a number; give it in m/s",
        ),
        ({k: "ab" for k in ("time_s", *SIGNALS)}, MotionFormatError, "column time_s: .* of shape"),
    ],
)
def test_what_is_no_motion_is_an_error(motion, error, message):
    with pytest.raises(error, match=message):
        motion_drive(motion)


@pytest.mark.parametrize("motion", [REFERENCE_GAITS[0], reference_gait(), embedded_stride(REFERENCE_GAITS[0])])
def test_one_stride_has_no_individual_ones(motion):
    with pytest.raises(MotionFormatError, match=f"{REFERENCE_GAITS[0]}: contains no individual strides"):
        motion_strides(motion)


def test_what_measured_walks_are_kept_in_is_no_motion():
    walk = measure([synthetic_recording(reference_gait())])
    with pytest.raises(TypeError, match=r"give one of them, such as walks\['right'\]"):
        motion_drive({"right": walk})
    with pytest.raises(TypeError, match="give the Walk itself"):
        motion_drive(walk.to_dataset())


@pytest.mark.parametrize("motion", [REFERENCE_GAITS[0], reference_gait(), embedded_stride(REFERENCE_GAITS[0])])
def test_a_side_is_for_recordings(motion):
    with pytest.raises(ValueError, match="is not a recording: leave side='left' out"):
        motion_drive(motion, side="left")


def test_a_walk_of_the_other_leg_is_not_taken_for_this_one():
    walk = measure([Recording("walk", "walk.trc", W.rate, W.time, markers=W.markers)])
    with pytest.raises(ValueError, match="walk is a walk of the right leg: leave side='left' out"):
        motion_drive(walk, side="left")


def test_python_warns_of_an_untypical_walk_as_the_command_line_does():
    """Running-like: the stride takes 0.7 s at twice the speed."""
    time = W.time * 0.7 / W.period
    fast = Recording("run", "run.trc", W.rate * W.period / 0.7, time, markers=W.markers)
    walk = measure([fast])
    assert any("a stride of 0.7" in line and "is unusual" in line for line in walk.warnings)
    assert not any("run.trc" in line for line in walk.warnings)
    with pytest.warns(MotionWarning) as found:
        motion_drive(walk)
    assert sum("is unusual" in str(w.message) and "a stride of" in str(w.message) for w in found) == 1
