"""Measured motion on the command line: drives by name and by file, and the verdict on a stride."""

import pytest

from jaxgait import cli
from jaxgait.motion.drive import REFERENCE_GAITS


@pytest.mark.parametrize("gait", REFERENCE_GAITS)
def test_every_embedded_gait_drives_the_knee(gait, capsys):
    cli.main(["run", "knee", "--motion", gait, "--strides", "10"])
    out = capsys.readouterr().out
    assert f"driven by {gait}: T = " in out
    assert "status_text:     completed" in out


def test_a_setting_wins_over_the_height_that_suits_a_drive(capsys):
    cli.main(["run", "knee", "--motion", REFERENCE_GAITS[1], "--set", "height_offset=-0.15", "--list"])
    offset = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("height_offset"))
    assert float(offset.split()[1]) == -0.15


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "bungee", "--motion", "hbm07_0.98ms"], "Bungee is not driven by measured motion"),
        (["run", "knee", "--motion", "nobody"], "nobody: no such file, nor an embedded gait (there are rajagopal_1.2"),
    ],
)
def test_a_drive_that_cannot_be_is_one_line(arguments, message, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code != 0
    assert message in f"{stop.value.code}{capsys.readouterr().err}"
