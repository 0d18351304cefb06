"""Tables of numbers: what is read, from where, and how much memory it takes."""

import pathlib
import re
import sys
import tracemalloc

import numpy as np
import pandas as pd
import pytest

import jaxgait
from jaxgait.motion import MotionFormatError, MotionWarning
from jaxgait.motion.stride import SIGNALS, embedded_stride, read_stride, table_stride
from jaxgait.motion.table import MAX_BYTES, named_columns, read_chosen_columns
from jaxgait.motion.verdict import judge


def table(tmp_path, raw, required=("a", "b"), optional=()):
    path = tmp_path / "t.csv"
    path.write_bytes(raw)
    return read_chosen_columns(path, lambda header: named_columns(header, required, optional))


def test_columns_lines_and_remarks(tmp_path):
    read = table(tmp_path, b"# speed_m_s = 1.2; who=me\n\nb,word,a\n1,x,2\n# T_s=1.1\n3,y,4e-1\n\n5,z,-.5\n")
    np.testing.assert_array_equal(read.columns["a"], [2.0, 0.4, -0.5])
    np.testing.assert_array_equal(read.columns["b"], [1.0, 3.0, 5.0])
    np.testing.assert_array_equal(read.lines, [4, 6, 8])
    assert read.remarks == {"speed_m_s": ("1.2",), "who": ("me",), "T_s": ("1.1",)}


def test_remarks_keep_their_unit_and_lose_what_spreadsheets_append(tmp_path):
    read = table(tmp_path, b"# speed=4.5 km/h, T_s=1.1 who=me,,,\na,b,c\n1,x,2\n3,y,4\n", required=("a",), optional=())
    assert read.remarks == {"speed": ("4.5 km/h",), "T_s": ("1.1",), "who": ("me",)}


def test_remarks_that_contradict_each_other_are_no_number(tmp_path):
    read = table(tmp_path, b"# T_s=1.1\n# T_s=1.2\n# who=me\n# who=me\na,b,c\n1,x,2\n3,y,4\n", ("a",), ())
    assert read.remarks == {"T_s": ("1.1", "1.2"), "who": ("me",)}
    rows = "".join(f"{0.01 * i},0,0.9,0.1,0.2,0.3\n" for i in range(100))
    path = tmp_path / "stride.csv"
    path.write_text(f"# speed_m_s=1.1\n# speed_m_s=1.2\ntime_s,{','.join(SIGNALS)}\n{rows}")
    with pytest.raises(MotionFormatError, match=r"the comments state speed_m_s=1\.1 and 1\.2, which contradict"):
        read_stride(path)
    path.write_text(f"# speed_m_s=1.1 and shoes\ntime_s,{','.join(SIGNALS)}\n{rows}")
    with pytest.raises(MotionFormatError, match=r"speed_m_s=1\.1 and shoes is not a number in m/s"):
        read_stride(path)


def test_columns_that_are_not_read_decide_no_decimal_comma(tmp_path):
    read = table(tmp_path, b"datum;a;b\n12.03.2024;0,5;0,1\n12.03.2024;1,5;0,2\n")
    np.testing.assert_array_equal([*read.columns.values()], [[0.5, 1.5], [0.1, 0.2]])


@pytest.mark.parametrize("raw", [b"a,b\n0,1,\n1,2,,\n", b"a,b,,\n0,1\n1,2,\n"])
def test_delimiters_at_the_end_of_rows_are_no_columns(raw, tmp_path):
    np.testing.assert_array_equal([*table(tmp_path, raw).columns.values()], [[0.0, 1.0], [1.0, 2.0]])


def test_a_comma_in_a_name_delimits_nothing_between_tabs(tmp_path):
    assert set(table(tmp_path, b"a\tb, left\n1\t2\n3\t4\n", required=("a", "b, left")).columns) == {"a", "b, left"}


def test_a_delimiter_in_quotation_marks_is_text(tmp_path):
    for delimiter in (b",", b";", b" "):
        read = table(tmp_path, b'a "b; or, c" b\n1 "x, y" 2\n3 z 4\n'.replace(b" ", delimiter), required=("a", "b"))
        np.testing.assert_array_equal(read.columns["b"], [2.0, 4.0])


def test_optional_columns_come_together_or_not_at_all(tmp_path):
    assert set(table(tmp_path, b"a,b\n1,2\n3,4\n", optional=("c", "d")).columns) == {"a", "b"}
    assert set(table(tmp_path, b"a,b,c,d\n1,2,3,4\n3,4,5,6\n", optional=("c", "d")).columns) == {"a", "b", "c", "d"}
    with pytest.raises(MotionFormatError, match="no column 'd'"):
        table(tmp_path, b"a,b,c\n1,2,3\n3,4,5\n", optional=("c", "d"))


def test_an_error_knows_where_it_is(tmp_path):
    with pytest.raises(MotionFormatError) as caught:
        table(tmp_path, b"a;b\n1,5;2\n3;x\n")
    error = caught.value
    assert (error.line, error.column, error.what) == (3, "b", "'x' is not a number")
    assert str(error) == f"{error.file}, line 3, column b: 'x' is not a number; {error.advice}"


@pytest.mark.parametrize("gap", ["", "NaN", "nan", "NA", "n/a", "None", "NULL", "<NA>", "#N/A", "#N/A N/A", "#NV", "-"])
def test_rows_with_gaps_are_left_out_with_a_warning(gap, tmp_path):
    """What pandas takes for missing, dashes, and Excel's #N/A in other languages; in the first column, too."""
    rows = f"1,5;2\n{gap};3\n4;{gap}\n2,5;6\n3;7\n"
    with pytest.warns(MotionWarning, match=r"2 rows with gaps are left out \(lines 3, 4\)"):
        read = table(tmp_path, f"a;b\n{rows}".encode())
    np.testing.assert_array_equal(read.columns["a"], [1.5, 2.5, 3.0])
    np.testing.assert_array_equal(read.lines, [2, 5, 6])


@pytest.mark.slow
def test_memory_is_a_small_multiple_of_the_file(tmp_path):
    raw = b"a,b,c\n" + b"0.123456,7.891011,1.213141\n" * 60_000
    tracemalloc.start()
    table(tmp_path, raw)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 15 * len(raw)  # the buffer of `MAX_BYTES`, or a short line as a Python object


@pytest.mark.skipif(sys.platform == "win32", reason="special files")
def test_an_endless_file_is_not_read_to_its_end():
    with pytest.raises(MotionFormatError, match=f"larger than {MAX_BYTES // 2**20} MB"):
        read_chosen_columns(pathlib.Path("/dev/zero"), lambda header: named_columns(header, ("a",)))


def test_percent_of_the_cycle_and_joint_angles_are_told_how_to_become_a_stride(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gait = embedded_stride("hbm07_0.98ms")
    joints = {"hip": "thigh_rad", "knee": "knee_rad", "ankle": "ankle_rad"}
    columns = {"percent": np.linspace(0, 100, 101), **{k: np.degrees(gait.signals[v]) for k, v in joints.items()}}
    pd.DataFrame(columns).to_csv("lab.csv", index=False)
    with pytest.raises(MotionFormatError, match="no columns 'time_s', 'hip_x_m', ") as caught:
        read_stride("lab.csv")
    assert "'hip' 'hip_x_m'" not in caught.value.advice  # a joint angle is not a path
    for advice in (
        "time_s is percent / 100",
        "no path of the hip? name angles hip_flexion_r",
        "thigh_rad is hip flexion",
    ):
        assert advice in caught.value.advice
    assert len(str(caught.value)) <= 300
    page = (pathlib.Path(jaxgait.__file__).parents[1] / "docs" / "your_capture.md").read_text()
    (block,) = (b for b in re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE) if "lab.csv" in b)
    exec(block, {})
    stride = read_stride("stride.csv")
    assert judge(stride).usable and (stride.speed, stride.time[-1]) == (1.25, 1.15)
    np.testing.assert_allclose(stride.signals["knee_rad"], gait.signals["knee_rad"], atol=1e-12)


def test_tables_state_degrees_and_the_person(tmp_path):
    gait = embedded_stride("rajagopal_1.26ms")
    table = pd.DataFrame({"time_s": gait.time, **gait.signals})
    table = table.assign(knee_deg=np.degrees(table.knee_rad)).drop(columns="knee_rad")
    (tmp_path / "a.csv").write_text("# speed_m_s=1.26, thigh_m=0.41, shank_m=0.43 mass_kg=72\n" + table.to_csv())
    facts = {"thigh_m": 0.41, "shank_m": 0.43, "mass_kg": 72, "speed_m_s": 1.26}
    for stride in (read_stride(tmp_path / "a.csv"), table_stride({**table, **facts})):
        assert stride.person == (0.41, 0.43, 72.0)
        np.testing.assert_allclose(stride.signals["knee_rad"], gait.signals["knee_rad"], atol=1e-12)
    with pytest.warns(MotionWarning, match="table: mass_kg without thigh_m and shank_m: no leg is fitted"):
        assert table_stride(table, speed=1.26).person is table_stride({**table, "mass_kg": 72}, speed=1.26).person


@pytest.mark.parametrize(
    ("columns", "advice"),
    [
        (("time_s", "hip_x_m", "hip_y_m", "thigh_rad", "shank_rad", "ankle_rad"), "knee_rad is the angle of the thigh"),
        (("time_s", "hip_x_m", "hip_y_m", "thigh_deg", "shank_deg", "ankle_deg"), "knee_rad is the angle of the thigh"),
        (("time_s", "shank_rad"), "the angle of a shank alone moves no leg"),
        (
            ("time", "shank_angle", "thigh_angle"),
            "name the angles hip_flexion_r (thigh), knee_angle_r (thigh less shan",
        ),
    ],
)
def test_the_angle_of_a_shank_is_no_misspelt_ankle(columns, advice, tmp_path):
    """The advice was to rename shank_rad to ankle_rad, and to name joint angles that were not there."""
    pd.DataFrame(np.ones((3, len(columns))), columns=list(columns)).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(MotionFormatError) as caught:
        read_stride(tmp_path / "a.csv")
    assert caught.value.advice.startswith(advice) and "rename" not in caught.value.advice
    assert len(str(caught.value)) - len(str(tmp_path)) < 300
