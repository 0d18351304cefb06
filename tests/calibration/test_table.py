"""Measured curves from text files: headers, units, and errors with their place in the file."""

import numpy as np
import pytest

from jaxgait.calibration import read_curve
from jaxgait.models.bungee.model import Bungee
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.motion import MotionFormatError

ROWS = "0,80\n1,79\n2,70\n"


def read(tmp_path, text, model=None, output=None):
    path = tmp_path / "curve.csv"
    path.write_text(text)
    return read_curve(path, model or Bungee(), output)


@pytest.mark.parametrize(
    "header", ["time (s),height (m)", "time_s,height_m", "time [s], height [m]", "t (s);height (m)"]
)
def test_columns_are_known_by_their_names(header, tmp_path):
    found = read(tmp_path, f"# film 3\n{header}\n{ROWS}".replace(",", ";" if ";" in header else ","))
    assert found.output == "height" and found.curve.unit == "m" and found.curve.axis == "time"
    np.testing.assert_array_equal(found.curve.at, [0, 1, 2])
    np.testing.assert_array_equal(found.curve.values, [80, 79, 70])
    assert found.lines.tolist() == [3, 4, 5] and found.noise is None and not found.unused


def test_units_of_times_phases_and_deviations_are_converted(tmp_path):
    jump = read(tmp_path, "frame,time (ms),height sd (mm),height (cm)\n1,0,20,800\n2,500,30,790\n")
    np.testing.assert_allclose(jump.curve.at, [0.0, 0.5])
    assert jump.noise is not None
    np.testing.assert_allclose(jump.noise, [2.0, 3.0])  # in the unit of the curve
    assert jump.curve.unit == "cm" and jump.unused == ("frame",)
    assert jump.columns == ("time (ms)", "height (cm)", "height sd (mm)")
    knee = read(tmp_path, "stride (%),knee_angle (deg)\n0,5\n50,20\n100,5\n", Prosthesis())
    assert knee.curve.axis == "phase" and knee.curve.at.tolist() == [0.0, 0.5, 1.0]
    assert read(tmp_path, "time (s),height (m)\n0,80\n0,81\n1,79\n").curve.at.tolist() == [0.0, 0.0, 1.0]  # replicates


def test_the_output_says_what_a_laboratory_calls_otherwise(tmp_path):
    assert read(tmp_path, f"time (s),camera 2 (m)\n{ROWS}", output="height").output == "height"
    two = "time (s),x (m),height (m)\n0,-30,80\n1,-29,79\n"
    assert read(tmp_path, two, output="x").curve.values.tolist() == [-30, -29]
    deviations = "time (s),x (m),x sd (m),height (m),height sd (m)\n0,-30,1,80,2\n1,-29,1,79,2\n"
    np.testing.assert_array_equal(read(tmp_path, deviations, output="height").noise, [2, 2])


HEAD = "time (s),height (m)\n"


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("", None, None, "no samples: the file is empty; write a header line and rows"),
        (HEAD, None, None, "only a header line; write one row per sample"),
        (
            ROWS,
            1,
            None,
            "numbers where the names of the columns should be; write a header line first: time (s)",
        ),
        (f"time (s),heigth (m)\n{ROWS}", 1, "heigth (m)", "Bungee has no output 'heigth'; did you mean 'height'?"),
        (f"time (s),age (a)\n{ROWS}", 1, "age (a)", "Bungee has no output 'age'; it has x, v, height"),
        (f"time (s),height\n{ROWS}", 1, "height", "has no unit; name it 'height (m)' if that is its unit"),
        (f"time (s),height (kg)\n{ROWS}", 1, "height (kg)", "is in 'kg', but height in 'm': give it in m, cm, mm"),
        (f"time,height (m)\n{ROWS}", 1, "time", "has no unit; name it 'time (s)' or 'time (ms)'"),
        (
            f"time (min),height (m)\n{ROWS}",
            1,
            "time (min)",
            "is in 'min'; name it 'time (s)' or 'time (ms)', and",
        ),
        (f"stride,height (m)\n{ROWS}", 1, "stride", "has no unit; name it 'stride (1)' or 'stride (%)'"),
        (f"frame,height (m)\n{ROWS}", 1, None, "no column of times or phases among 'frame,"),
        (f"time (s),t (s)\n{ROWS}", 1, "t (s)", "2 columns of times or phases: 'time (s)' and 't (s)'; keep one"),
        (f"time (s),sd (m)\n{ROWS}", 1, None, "no column of values among"),
        ("time (s),x (m),height (m)\n0,1,2\n1,1,2\n", 1, None, "'x (m)', 'height (m)'; choose one by --output"),
        (HEAD + "0,80\n1,inf\n2,70\n", 3, "height (m)", "inf is not finite; fill the gap, or leave the whole row out"),
        (HEAD + "0,80\n\n1,\n", 4, "height (m)", "1 of 2 rows have gaps, this is the first"),
        (HEAD + "0,80\n1,high\n", 3, "height (m)", "'high' is not a number"),
        (HEAD + "0,80\n2,70\n1,79\n", 4, "time (s)", "the time goes back from 2 to 1; sort the rows by time"),
        (HEAD + "-1,80\n1,70\n", 2, "time (s)", "the time is -1 s; 0 is the start of the run: shift the times"),
        ("stride (1),height (m)\n0,80\n50,70\n", 3, "stride (1)", "the phase is 50 1; a stride goes from 0 to 1, or"),
        (
            "stride (%),height (m)\n0,80\n0.5,70\n1,80\n",
            4,
            "stride (%)",
            "the phase ends at 1 %; fractions of the stride? name it 'stride (1)'",
        ),
        ("time (s),height (m),sd (m)\n0,80,1\n1,70,0\n", 3, "sd (m)", "a standard deviation of 0; give a positive one"),
        ("time (s),height (m),sd (kg)\n0,80,1\n1,70,1\n", 1, "sd (kg)", "is in 'kg', but the values in 'm'"),
        ("time (s),height (m),sd\n0,80,1\n1,70,1\n", 1, "sd", "the column has no unit; name it 'sd (m)'"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_with_its_line(text, line, column, message, tmp_path):
    with pytest.raises(MotionFormatError) as caught:
        read(tmp_path, text)
    error = caught.value
    assert message in str(error) and "\n" not in str(error) and len(str(error)) < 300
    assert (error.line, error.column) == (line, column) and str(error.file).endswith("curve.csv")


def test_times_beyond_a_run_are_named_with_their_line(tmp_path):
    found = read(tmp_path, HEAD + ROWS)
    found.check_end(2.0)
    with pytest.raises(
        MotionFormatError, match=r"line 4, column time \(s\): 2 s lies beyond the end of the run, 1.5 s"
    ):
        found.check_end(1.5)


def test_an_unknown_output_says_what_there_is(tmp_path):
    with pytest.raises(ValueError, match="Bungee has no output 'heigth': did you mean 'height'"):
        read(tmp_path, HEAD + ROWS, output="heigth")
    with pytest.raises(MotionFormatError, match=r"several columns could be .* name one of them 'height \(m\)'"):
        read(tmp_path, "time (s),x (m),v (m/s)\n0,1,2\n1,1,2\n", output="height")
