"""Labels of columns in text files: what delimits them, and how they are classified."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.maps import find
from jaxgait.motion.readers import read_recording
from jaxgait.motion.readers.labels import COPY, length_unit, unique
from jaxgait.motion.readers.subjects import without_subject
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
    assert "15 rows end early; missing cells are gaps" in found.notes


def test_columns_without_a_label_of_their_own_are_noted(tmp_path):
    text = "time,knee_flexion,\n" + "".join(f"{0.01 * i:.2f},0.1,0.2\n" for i in range(30))
    found = _read(tmp_path, text, "a.csv")
    assert list(found.angles) == ["knee_flexion", "unnamed_3"]
    assert "1 column without a name is called unnamed_..." in found.notes


def test_repeated_names_overwrite_none(tmp_path):
    assert unique(["RASI", "RASI_2", "RASI"], []) == ["RASI", "RASI_2", "RASI_3"]
    assert unique(["unnamed_2", "", "unnamed_2"], []) == ["unnamed_2", "unnamed_2_2", "unnamed_2_3"]
    names = list(W.markers)
    text = TRC.replace(f"\t{names[1]}\t", f"\t{names[0]}_2\t").replace(f"\t{names[2]}\t", f"\t{names[0]}\t")
    found = _read(tmp_path, text)
    assert len(found.markers) == len(names)
    for name, source in zip((names[0], f"{names[0]}_2", f"{names[0]} (copy 2)"), names, strict=False):
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
    assert any("not read: 1 column of another state" in note for note in found.notes)


def test_markers_of_several_subjects_are_not_mixed(tmp_path):
    """Anna lacks a toe, and Ben walks beside her, or pushes something with one: it is not hers."""
    names = [f"Anna:{name}" for name in W.markers if name != "RTOE"]
    with pytest.raises(MotionFormatError, match=r"2 subjects: Anna \(RASI, .*\), Ben \(LASI, RTOE\); export the trial"):
        without_subject([*names, "Ben:RTOE", "Ben:LASI"], [], "walk.c3d")
    with pytest.raises(MotionFormatError, match=r"2 subjects: Anna \(.*\), one without a name \(RHEE\)"):
        without_subject([*names, "RHEE"], [], "walk.c3d")
    text = walker.vicon(W).replace("Jo:", "Anna:").replace("Anna:RTOE", "Jo:RTOE")
    found = _read(tmp_path, text, "walk.csv")
    assert "toe" not in find(found.markers, "right").roles and "Jo RTOE" in found.markers
    notes = []
    assert without_subject([*names, "Wand:TOE", "C1"], notes, "")[-2:] == ["Wand TOE", "C1"]
    assert notes == ["there are several subjects or objects: markers of Anna are used, and not those of Wand (TOE)"]
    custom = [f"{who}:{name}" for who in ("Anna", "Ben") for name in ("q1", "q2")]
    assert without_subject(custom, [], "") == ["Anna q1", "Anna q2", "Ben q1", "Ben q2"]
    assert without_subject(custom[:2], [], "") == ["q1", "q2"]


@pytest.mark.parametrize(
    ("others", "kept"),
    [
        (["RThigh:RTH1", "RThigh:RTH2"], ["RTH1", "RTH2"]),
        (["RThigh:RKNE", "LThigh:LKNE"], ["RThigh RKNE", "LKNE"]),  # Anna has a right knee
        (["Cluster:RTIB1", "Rollator:RTOE"], ["Cluster RTIB1", "Rollator RTOE"]),
        (["anna:RTOE", "ANNA:RHEE"], ["RTOE", "RHEE"]),
        (["Box:heel", "RTOE"], ["Box heel", "RTOE"]),
    ],
)
def test_objects_and_segments_are_no_subjects(others, kept):
    assert without_subject(["Anna:RASI", "Anna:RKNE", *others], [], "") == ["RASI", "RKNE", *kept]
    if "RTOE" not in others:
        parts = ["Pelvis:RASI", "RKNE", *(x for x in others if not x.lower().startswith("anna"))]
        assert without_subject(parts, [], "")[:2] == ["RASI", "RKNE"]


def test_a_repeated_name_is_no_other_marker():
    """As RTIB_2, the second RTIB would be the second marker of the shank."""
    notes = []
    names = unique(["RTIB", "RTIB", "RTOE", "RTOE"], notes, COPY)
    assert notes == ["repeated names, of which only the first is used: RTIB, RTOE"]
    roles = find([*names, "RASI", "LASI", "RPSI", "LPSI", "RKNE", "RANK", "RHEE"], "right").roles
    assert not any("copy" in str(value) for value in roles.values()) and roles["toe"] == "RTOE"


@pytest.mark.parametrize(
    ("word", "size"), [("inch", 0.0254), ("in", 0.0254), ("ft", 0.3048), ("feet", 0.3048), ("dm", 0.1), ("Meters", 1.0)]
)
def test_stated_units_of_length_are_believed(tmp_path, word, size):
    found = _read(tmp_path, walker.trc(W, unit=1 / size, digits=9).replace("\tmm\t", f"\t{word}\t"))
    np.testing.assert_allclose(found.markers["RKNE"], W.markers["RKNE"], atol=1e-6)
    assert not found.warnings


@pytest.mark.parametrize("word", ["unknown", "None", "n/a", "(unitless)", "not stated", ""])
def test_a_unit_that_is_not_stated_follows_from_the_body(word):
    note = "no unit of length is stated; by the size of the body (0.9345) it is m"
    assert length_unit(W.markers, word, "walk.trc") == (1.0, [note], [])


@pytest.mark.parametrize("word", ["meters (m)", "m;", "[m]", "m, Z up"])
def test_the_first_word_states_the_unit_of_length(word):
    assert length_unit(W.markers, word, "walk.trc") == (1.0, [], [])


def test_an_unknown_unit_of_length_is_named(tmp_path):
    with pytest.raises(MotionFormatError, match=r"'yd' is not known; write one of mm, cm, dm, m, in, ft"):
        _read(tmp_path, TRC.replace("\tmm\t", "\tyd\t"))
    found = _read(tmp_path, TRC.replace("\tmm\t", "\t22\t"))
    assert any("the unit '22.0' is not known; by the size of the body" in line for line in found.notes)


@pytest.mark.parametrize(
    ("second", "seconds", "metre", "metres"),
    [("[s]", 1.0, "[mm]", 1e3), ("(s)", 1.0, "(m)", 1.0), ("ms", 1e3, "mm", 1e3), ("sec", 1.0, "inch", 1 / 0.0254)],
)
def test_a_line_of_units_below_the_labels(tmp_path, second, seconds, metre, metres):
    labels, *rows = walker.csv(W).splitlines()
    size = np.array([seconds] + [metres] * labels.count(","))
    values = size * np.array([row.split(",") for row in rows], float)
    units = ",".join([second] + [metre] * labels.count(","))
    text = "\n".join([labels, units, *(",".join(f"{x:.8f}" for x in row) for row in values)])
    found = _read(tmp_path, text, "walk.csv")
    assert found.rate == 100 and not found.notes
    np.testing.assert_allclose(found.markers["RKNE"], W.markers["RKNE"], atol=1e-6)
    with pytest.raises(MotionFormatError, match="line 2: the line below the labels is not one of units: 'furlong'"):
        _read(tmp_path, text.replace(metre, "furlong"), "walk.csv")
    with pytest.raises(MotionFormatError) as error:
        _read(tmp_path, text.replace(metre, "furlong" * 50), "walk.csv")
    assert len(error.value.what) < 120


@pytest.mark.parametrize(("unit", "word"), [("in", "inches"), ("ft", "feet")])
def test_a_unit_that_makes_a_small_or_large_body_is_warned_of(unit, word):
    """Inches were taken as centimetres, and only a note said so."""
    size = {"in": 0.0254, "ft": 0.3048}[unit]
    metre, notes, warnings = length_unit({name: 0.95 * x / size for name, x in W.markers.items()}, None, "walk.csv")
    taken, body = {"in": (0.01, "0.35"), "ft": (1.0, "2.91")}[unit]
    assert metre == taken and not notes and len(warnings) == 1
    assert f", a body of {body} m; in {word} it is of 0.89 m: state the unit" in warnings[0]
    assert not length_unit(W.markers, None, "walk.csv")[2]


def test_markers_on_the_floor_of_the_laboratory_are_no_part_of_the_body():
    """With a marker 4 m away, inches were cm, and only a note said so; of feet, no unit was suggested."""
    far = np.tile([4.0, 0.0, 1.0], (W.time.size, 1))
    inches = {name: x / 0.0254 for name, x in (W.markers | {"corner": far}).items()}
    (warning,) = length_unit(inches, None, "walk.csv")[2]
    assert "it is cm, a body of 0.37 m; in inches it is of 0.93 m: state the unit" in warning
    with pytest.raises(MotionFormatError, match="not the size of a body in m, cm or mm; in feet it is: state the unit"):
        length_unit({name: x / 0.3048 for name, x in W.markers.items()}, None, "walk.csv")
