"""Motion by name: strides, walks and recordings are distinguished by their contents."""

import numpy as np
import pytest

from jaxgait.motion.drive import REFERENCE_GAITS
from jaxgait.motion.naming import motion_drive, motion_strides, named_stride, recording_of
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
    assert recording_of(tmp_path / "stride.csv") is None
    assert named_stride(str(tmp_path / "stride.csv")).person is None
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n2,3\n")
    assert recording_of(tmp_path / "notes.csv") is None  # the reader of strides reports what is wrong with it


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


def test_a_speed_that_is_told_wins():
    assert named_stride(REFERENCE_GAITS[0], speed=1.1).speed == 1.1


@pytest.mark.parametrize("name", ["nobody.json", "nobody.csv", "nobody"])
@pytest.mark.parametrize("read", [motion_drive, motion_strides])
def test_a_file_that_does_not_exist_is_named(read, name):
    with pytest.raises(FileNotFoundError, match=f"{name}: no such file, nor an embedded gait"):
        read(name)
