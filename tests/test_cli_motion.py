"""Measured motion on the command line: drives by name and by file, and the verdict on a stride."""

import re

import pytest

from jaxgait import cli
from jaxgait.motion.drive import REFERENCE_GAITS
from tests.motion.bad_strides import BAD, GOOD


@pytest.mark.parametrize("gait", REFERENCE_GAITS)
def test_every_embedded_gait_drives_the_knee(gait, capsys):
    cli.main(["run", "knee", "--motion", gait, "--strides", "10"])
    out = capsys.readouterr().out
    assert f"driven by {gait}: T = " in out
    assert re.search(r"status_text:\s+completed", out)


def test_a_setting_wins_over_the_height_that_suits_a_drive(capsys):
    cli.main(["run", "knee", "--motion", REFERENCE_GAITS[1], "--set", "height_offset=-0.15", "--list"])
    offset = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("height_offset"))
    assert float(offset.split()[1]) == -0.15


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "bungee", "--motion", "hbm07_0.98ms"], "Bungee is not driven by measured motion"),
        (["motion", "."], ".: is a folder; name a CSV file"),
        (["motion", "hbm07_0.98ms", "--out", "."], "cannot write .: it is a folder"),
        (["motion", "hbm07_0.98ms", "--speed=-1"], "speed must be a positive number, got -1"),
        (["motion", "hbm07_0.98ms", "--speed=3.5"], "check speed_m_s and time_s"),
        (["run", "knee", "--motion", "nobody"], "nobody: no such file, nor an embedded gait (there are rajagopal_1.2"),
    ],
)
def test_a_drive_that_cannot_be_is_one_line(arguments, message, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == cli.BAD_INPUT
    assert message in capsys.readouterr().err


def test_the_verdict_on_a_good_stride(tmp_path, capsys):
    path, picture = tmp_path / "my.csv", tmp_path / "my.png"
    path.write_text(GOOD)
    cli.main(["motion", str(path), "--out", str(picture)])
    out = capsys.readouterr().out
    assert "my: T = 1.1270 s, speed 1.256 m/s" in out
    assert "good for a drive: yes" in out
    assert "R2 -0.1175 m" in out
    assert picture.stat().st_size > 20_000


def test_the_verdict_on_a_bad_stride(tmp_path, capsys):
    path = tmp_path / "my.csv"
    path.write_bytes(BAD["knee of the opposite sign"].raw)
    with pytest.raises(SystemExit) as stop:
        cli.main(["motion", str(path)])
    captured = capsys.readouterr()
    assert "good for a drive: no" in captured.out
    assert stop.value.code == cli.BAD_INPUT
    assert captured.err.startswith(f"jaxgait: {path}, line 78, column knee_rad: lowest value")


def test_a_stride_of_ones_own_drives_the_knee(tmp_path, capsys):
    path = tmp_path / "my.csv"
    path.write_text(GOOD)
    cli.main(["run", "knee", "--motion", str(path), "--strides", "1"])
    out = capsys.readouterr().out
    assert "driven by my: T = 1.1270 s" in out
    assert re.search(r"status_text:\s+completed", out)


def test_embedded_gaits_are_listed_and_judged(capsys):
    cli.main(["motion"])
    listed = capsys.readouterr().out
    assert all(gait in listed for gait in REFERENCE_GAITS)
    cli.main(["motion", REFERENCE_GAITS[2]])
    assert "good for a drive: yes" in capsys.readouterr().out
