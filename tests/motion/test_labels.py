"""Labels of columns in text files: what delimits them, and how they are told apart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgait.motion.readers import read_recording
from jaxgait.motion.readers.labels import unique
from jaxgait.motion.text import cells, distinct
from tests.motion import walker

W = walker.walker(duration=0.6)
TRC = walker.trc(W)


def _read(tmp_path, text, name="walk.trc"):
    path = tmp_path / name
    path.write_text(text)
    return read_recording(path)


QUOTED = 'time,"knee, right",hip_flexion_r,ankle_angle_r'


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("name", ["a.csv", "a.mot"])
def test_a_delimiter_in_quotation_marks_moves_no_column(tmp_path, delimiter, name):
    head = QUOTED.replace(",", delimiter)
    rows = [delimiter.join((f"{0.01 * i:.2f}", '"0.1"', "0.2", "0.3")) for i in range(30)]
    found = _read(tmp_path, "\n".join(["inDegrees=no", "endheader"] * (name == "a.mot") + [head, *rows]), name)
    named = {f"knee{delimiter} right": 0.1, "hip_flexion_r": 0.2, "ankle_angle_r": 0.3}
    assert {k: x[-1] for k, x in found.angles.items()} == {k.strip(): x for k, x in named.items()}
    assert not any("end early" in note for note in found.notes)


def test_blanks_in_quotation_marks_delimit_nothing(tmp_path):
    rows = [f"{0.01 * i:.2f}  0.1 0.2" for i in range(30)]
    found = _read(tmp_path, "\n".join(['time  "knee flexion" hip_flexion_r', *rows]), "a.txt")
    assert {k: x[-1] for k, x in found.angles.items()} == {"knee flexion": 0.1, "hip_flexion_r": 0.2}


def test_lines_in_quotation_marks_as_a_whole(tmp_path):
    """Spreadsheets with another delimiter write such ones."""
    rows = [f"{0.01 * i:.2f},0.1,0.2" for i in range(30)]
    lines = ["time,knee_flexion,hip_flexion_r", *rows]
    found, same = (_read(tmp_path, "\n".join(mark + x + mark for x in lines), "a.csv") for mark in ('"', ""))
    assert found.notes == same.notes and list(found.angles) == list(same.angles)
    np.testing.assert_array_equal(found.angles["hip_flexion_r"], same.angles["hip_flexion_r"])


def test_an_open_quotation_mark_ends_with_its_line():
    assert cells('0.01,"0.2,0.3', ",") == ["0.01", "0.2,0.3"]
    assert cells('"0.2,0.3', ",") == ["0.2,0.3"]


def test_rows_that_end_early_now_and_then_have_gaps(tmp_path):
    rows = [f"{0.01 * i:.2f},0.1" + ",0.2" * (i < 2 or i % 2) for i in range(32)]
    found = _read(tmp_path, "\n".join(["time,knee_flexion,hip_flexion_r", *rows]), "a.csv")
    assert np.isnan(found.angles["hip_flexion_r"]).sum() == 15
    assert "15 rows end early; their missing cells are gaps" in found.notes


def test_columns_without_a_label_of_their_own_are_noted(tmp_path):
    text = "time,knee_flexion,\n" + "".join(f"{0.01 * i:.2f},0.1,0.2\n" for i in range(30))
    found = _read(tmp_path, text, "a.csv")
    assert list(found.angles) == ["knee_flexion", "unnamed_3"]
    assert "1 columns without a name are called unnamed_..." in found.notes


def test_repeated_names_overwrite_none(tmp_path):
    assert unique(["RASI", "RASI_2", "RASI"], []) == ["RASI", "RASI_2", "RASI_3"]
    assert unique(["unnamed_2", "", "unnamed_2"], []) == ["unnamed_2", "unnamed_2_2", "unnamed_2_3"]
    names = list(W.markers)
    text = TRC.replace(f"\t{names[1]}\t", f"\t{names[0]}_2\t").replace(f"\t{names[2]}\t", f"\t{names[0]}\t")
    found = _read(tmp_path, text)
    assert len(found.markers) == len(names)
    for name, source in zip((names[0], f"{names[0]}_2", f"{names[0]}_3"), names, strict=False):
        np.testing.assert_allclose(found.markers[name], W.markers[source], atol=1e-8)


@given(st.lists(st.sampled_from(["a", "a_2", "a_3", "a_2_2", "b", ""]), max_size=9))
def test_names_all_differ(names):
    found = distinct(names)
    assert len(set(found)) == len(found) == len(names) and set(names) <= set(found)


def test_coordinates_in_the_words_of_opensim_4(tmp_path):
    lines = walker.mot(W, degrees=False).splitlines()
    at = lines.index("endheader") + 1
    time, *names = lines[at].split("\t")
    speed = ["/jointset/knee_r/knee_angle_r/speed", *(f"{20.0 + i}" for i in range(len(lines) - at - 1))]
    lines[at] = "\t".join([time, *(f"/jointset/joint_of/{n}/value" for n in names)])
    text = "\n".join([*lines[:at], *(f"{line}\t{x}" for line, x in zip(lines[at:], speed, strict=True))])
    found, same = _read(tmp_path, text, "states.sto"), _read(tmp_path, walker.mot(W, degrees=False), "ik.mot")
    assert list(found.angles) == list(same.angles)
    for name, angle in same.angles.items():
        np.testing.assert_array_equal(found.angles[name], angle)
    assert any("1 columns of other states" in note for note in found.notes)
