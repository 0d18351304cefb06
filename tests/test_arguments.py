"""What users type: `name=value`, axes, boxes, files to write."""

import pathlib

import numpy as np
import pytest

from jaxgait import arguments
from jaxgait.models.bungee.model import Bungee


def test_settings_axes_and_boxes():
    assert arguments.settings(Bungee(), ["mass=60", "gravity=9.81"]) == {"mass": 60.0, "gravity": 9.81}
    found = arguments.axes(
        ["mass=40:100:4", "stiffness=20,27", "ground=1e2:5e1:2", "gravity=9.8", "rope_length=20:30:1e1"]
    )
    np.testing.assert_array_equal(found["mass"], [40, 60, 80, 100])
    np.testing.assert_array_equal(found["stiffness"], [20, 27])
    np.testing.assert_array_equal(found["ground"], [100, 50])
    np.testing.assert_array_equal(found["gravity"], [9.8])
    assert len(found["rope_length"]) == 10
    assert arguments.box(["damper.k=1e4:3e4"]) == {"damper.k": (1e4, 3e4)}
    assert arguments.names(["rho,order", "peak_flexion"]) == ("rho", "order", "peak_flexion")


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["mass"], "low:high:count"),
        (["mass="], "low:high:count"),
        (["=1:2:3"], "low:high:count"),
        (["mass=1:2"], "low:high:count"),
        (["mass=1:2:3:4"], "low:high:count"),
        (["mass=40:100:2.7"], "whole number, at least 1, got '2.7'"),
        (["mass=40:100:0"], "at least 1, got '0'"),
        (["mass=40:100:-3"], "at least 1, got '-3'"),
        (["mass=40:100:nan"], "must be finite, got 'nan'"),
        (["mass=40:100:1"], "no range"),
        (["mass=40:40:5"], "no range"),
        (["mass=40,,50"], "'' is not a number"),
        (["mass=40,inf"], "must be finite"),
        (["mass=40,heavy"], "'heavy' is not a number"),
        (["mass=40,50", "mass=60,70"], "names mass twice"),
    ],
)
def test_axes_that_are_none(texts, message):
    with pytest.raises(ValueError, match=message):
        arguments.axes(texts)


def test_an_axis_beyond_the_memory_is_not_made():
    with pytest.raises(MemoryError, match="1000000000000 values of mass need 8e\\+03 GB"):
        arguments.axes(["mass=40:100:1e12"])


@pytest.mark.parametrize("text", ["damper.k=1:2:3", "damper.k=1,2", "damper.k", "damper.k=a:b"])
def test_boxes_that_are_none(text):
    with pytest.raises(ValueError, match=r"damper\.k"):
        arguments.box([text])


def test_a_parameter_is_fixed_or_varied():
    with pytest.raises(ValueError, match="mass is given to --set and to --over"):
        arguments.apart(["gravity=9", "mass=3"], ["mass=1:2:3"])


def test_an_option_is_given_once():
    arguments.once(["scan", "bungee", "--over", "mass=1:2:3", "stiffness=1,2", "--duration", "-1"])
    for again in (["--over", "stiffness=1,2"], ["--over=stiffness=1,2"]):
        with pytest.raises(ValueError, match="--over is given twice"):
            arguments.once(["scan", "bungee", "--over", "mass=1:2:3", *again])


def test_files_to_write_are_checked_before_the_work(tmp_path):
    file = tmp_path / "file"
    file.write_text("kept")
    arguments.to_write(file)
    arguments.to_write(tmp_path / "a" / "b" / "new.nc")
    assert file.read_text() == "kept" and not any((tmp_path / "a" / "b").iterdir())
    for path, message in [
        (pathlib.Path(""), "is a folder"),
        (tmp_path, "is a folder"),
        (file / "x.nc", "cannot write to"),
        (pathlib.Path("/dev/null"), "no ordinary file"),
    ]:
        with pytest.raises(OSError, match=message):
            arguments.to_write(path)
    with pytest.raises(ValueError, match=r"must end in one of \.pdf, \.png"):
        arguments.to_write(tmp_path / "run.nc", kinds=("png", "pdf"))
