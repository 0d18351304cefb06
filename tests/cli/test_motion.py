"""Measured motion on the command line: drives by name and by file, and the verdict on a stride."""

import dataclasses
import json
import re
import warnings
from unittest import mock

import pandas as pd
import pytest

from jaxgait import Prosthesis, cli
from jaxgait.cli import console, motion
from jaxgait.ensembles import people
from jaxgait.models.prosthesis import fitting
from jaxgait.motion import NotAligned
from jaxgait.motion.capture.walk import Walk
from jaxgait.motion.drive import REFERENCE_GAITS, reference_gait
from jaxgait.motion.embedded import gait_record
from jaxgait.motion.naming import motion_drive
from jaxgait.motion.readers import read_recording
from jaxgait.motion.record import write_record
from jaxgait.parameters import with_parameters
from tests.motion import walker
from tests.motion.bad_strides import BAD, GOOD


@pytest.mark.slow
@pytest.mark.parametrize("gait", REFERENCE_GAITS[1:])
def test_every_embedded_gait_drives_the_knee(gait, capsys):
    cli.main(["run", "knee", "--motion", gait, "--strides", "10"])
    out = capsys.readouterr().out
    assert f"driven by {gait}: T = " in out
    assert "Prosthesis: completed, " in out


@pytest.mark.slow
def test_a_setting_wins_over_the_height_that_suits_a_drive(capsys):
    cli.main(["run", "knee", "--motion", REFERENCE_GAITS[1], "--set", "height_offset=-0.15", "--list"])
    offset = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("height_offset"))
    assert float(offset.split()[1]) == -0.15


def test_a_leg_is_aligned_with_the_parts_it_is_given(tmp_path, monkeypatch):
    aligned_with = []
    monkeypatch.setattr(fitting, "aligned", lambda leg: aligned_with.append(float(leg.socket.load_share)) or leg)
    write_record(gait_record(REFERENCE_GAITS[0]), walk := tmp_path / "walk.json")
    cli.main(["run", "knee", "--motion", str(walk), "--set", "socket=Socket", "socket.load_share=0.5", "--list"])
    assert aligned_with == [0.5]


def test_trials_are_not_written_over_the_recordings(tmp_path):
    """Of several trials, walk.mot means walk_1.mot and walk_2.mot."""
    two_trials = mock.Mock(spec=Walk, trials=[None, None])
    with pytest.raises(ValueError, match=r"walk_2\.mot: this command reads it; give --out another name"):
        motion._write_table([two_trials], tmp_path / "walk.mot", [str(tmp_path / "walk_2.mot")])


def test_a_speed_may_have_another_unit(capsys):
    cli.main(["motion", "hbm07_0.98ms", "--speed", "3.6km/h"])
    assert "speed 1.000 m/s" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "bungee", "--motion", "hbm07_0.98ms"], "Bungee is not driven by measured motion"),
        (
            ["motion", "--leg", "left", "--out", "a.png"],
            "without files the embedded gaits are listed: leave --leg, --out",
        ),
        (["motion", "hbm07_0.98ms", "--cutoff", "6"], "is one stride, not a recording: leave --cutoff out"),
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
    assert stop.value.code == console.BAD_INPUT
    assert message in capsys.readouterr().err


def test_the_verdict_on_a_good_stride(tmp_path, capsys):
    path, picture = tmp_path / "my.csv", tmp_path / "my.png"
    path.write_text(GOOD)
    cli.main(["motion", str(path), "--out", str(picture)])
    out = capsys.readouterr().out
    assert "my: T = 1.1270 s, speed 1.256 m/s" in out
    assert "usable as a drive: yes" in out
    (line,) = (line for line in out.splitlines() if line.startswith("--motion adapts the knee "))
    assert re.search(r" \(parameter sets R1, R2, R3\): height_offset = (-0\.\d{4} m \(R\d(, R\d)?\)(, )?){2,3}$", line)
    assert picture.stat().st_size > 20_000


def test_a_parameter_that_changes_under_one_parameter_set_only(capsys, monkeypatch):
    driven, (first, *others) = Prosthesis.driven, Prosthesis.presets
    kept = float(Prosthesis().preset(first).height_offset)
    monkeypatch.setattr(Prosthesis, "driven", lambda self, d: self if self.height_offset == kept else driven(self, d))
    cli.main(["motion", REFERENCE_GAITS[1]])
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("--motion adapts"))
    gait = reference_gait(REFERENCE_GAITS[1])
    assert f": height_offset = {kept:.4f} m ({first}, unchanged), " in line
    for label in others:
        suits = float(driven(Prosthesis().preset(label), gait).height_offset)
        assert re.search(rf"{suits:.4f} m \([^)]*{label}[^)]*\)", line) and f"{label}, unchanged" not in line


def test_the_verdict_on_a_bad_stride(tmp_path, capsys):
    path = tmp_path / "my.csv"
    path.write_bytes(BAD["knee of the opposite sign"].raw)
    with pytest.raises(SystemExit) as stop:
        cli.main(["motion", str(path)])
    captured = capsys.readouterr()
    assert "usable as a drive: no" in captured.out
    assert stop.value.code == console.BAD_INPUT
    assert captured.err.startswith(f"jaxgait: {path}, line 78, column knee_rad: lowest value")
    with pytest.raises(SystemExit):
        cli.main(["motion", str(path), "--out", str(tmp_path / "my.json")])
    assert f"not written: {tmp_path / 'my.json'}, because my is not usable as a drive" in capsys.readouterr().out
    assert not (tmp_path / "my.json").exists()
    (tmp_path / "my.json").write_text("old")
    with pytest.raises(SystemExit):
        cli.main(["motion", str(path), "--out", str(tmp_path / "my.json")])
    assert "my is not usable as a drive; the file of this name is an older one\n" in capsys.readouterr().out
    assert (tmp_path / "my.json").read_text() == "old"


@pytest.mark.slow
def test_a_stride_of_ones_own_drives_the_knee(tmp_path, capsys):
    path = tmp_path / "my.csv"
    path.write_text(GOOD)
    cli.main(["run", "knee", "--motion", str(path), "--strides", "1", "--samples", "20"])
    out = capsys.readouterr().out
    assert "driven by my: T = 1.1270 s" in out and "not fitted to a person: segments and masses of the model" in out
    assert "Prosthesis: completed, " in out


def test_embedded_gaits_are_listed_and_judged(capsys):
    cli.main(["motion"])
    listed = capsys.readouterr().out
    assert all(gait in listed for gait in REFERENCE_GAITS)
    cli.main(["motion", REFERENCE_GAITS[2]])
    assert "usable as a drive: yes" in capsys.readouterr().out


def _recorded(tmp_path):
    w = walker.walker(duration=5.0, seed=4)
    (tmp_path / "walk.trc").write_text(walker.trc(w))
    (tmp_path / "walk_grf.mot").write_text(walker.forces(w))
    return w


@pytest.mark.slow
@pytest.mark.usefixtures("unaligned")
def test_both_legs_of_a_recording(tmp_path, capsys, monkeypatch):
    _recorded(tmp_path)
    files = [str(tmp_path / "walk.trc"), str(tmp_path / "walk_grf.mot"), "--leg", "both"]
    cli.main(["motion", *files, "--out", str(tmp_path / "jo.json"), "--json", str(tmp_path / "found.json")])
    output = capsys.readouterr().out
    assert "right leg, overground" in output and "left leg, overground" in output
    assert re.search(r"step length \(m\) +0\.7\d+ \+- \S+ +0\.\d+ \+- \S+ +[-+]\d\.\d %  +\d\.\d{3}\n", output)
    assert "<h2>Spatiotemporal parameters</h2>" in (tmp_path / "jo_right.html").read_text()
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["left"]["usable"] and found["spatiotemporal"]["left"]["cadence"]["mean"] == pytest.approx(
        106.5, abs=0.5
    )
    assert set(found["spatiotemporal"]["symmetry_index"]) == {"step_time", "step_length", "stance", "swing"}
    _, walkers = people(Prosthesis(), [reference_gait(), str(tmp_path / "jo_left.json")])
    assert walkers.labels["subject"][1].tolist() == [reference_gait().name, "jo_left"]
    monkeypatch.setattr(fitting, "aligned", None)  # a table is written without the search for the height of a knee
    cli.main(["motion", *files, "--out", str(tmp_path / "jo.csv")])
    assert "--motion adapts" not in capsys.readouterr().out
    table = pd.read_csv(tmp_path / "jo.csv")
    own = ["stride", "percent (%)", "hip_x (m)", "knee_angle (deg)", "ground_y (N)", "side", "trial", "start (s)"]
    cli.main(["motion", *files, "--out", str(tmp_path / "jo.mot")])
    assert {"knee_angle_r", "knee_angle_l"} <= set(read_recording(tmp_path / "jo.mot").angles)
    assert set(own) <= set(table.columns) and table.loc[100, ["stride", "percent (%)"]].tolist() == [1, 100.0]


@pytest.mark.parametrize(("leg", "json"), [("both", "a_left.json"), ("right", "a.html")])
def test_a_record_is_not_written_over_a_file_of_the_walk(leg, json, tmp_path, capsys):
    _recorded(tmp_path)
    file = tmp_path / "walk.trc"
    with pytest.raises(SystemExit) as stop:
        cli.main(["motion", str(file), "--leg", leg, "--out", str(tmp_path / "a.json"), "--json", str(tmp_path / json)])
    assert stop.value.code == console.BAD_INPUT and f"{json}: --out writes it" in capsys.readouterr().err
    assert not [*tmp_path.glob("a*")]


@pytest.mark.usefixtures("unaligned")
def test_one_leg_is_written_if_the_other_one_has_no_whole_stride(tmp_path, capsys):
    w = walker.walker(duration=4.0, seed=4)
    cut = dataclasses.replace(w, time=w.time[:170], markers={k: x[90:260] for k, x in w.markers.items()})
    (tmp_path / "short.trc").write_text(walker.trc(cut))
    arguments = ["motion", str(tmp_path / "short.trc"), "--leg", "both", "--out", str(tmp_path / "short.json")]
    cli.main([*arguments, "--json", str(tmp_path / "found.json")])
    printed = capsys.readouterr().out
    assert "warning: the left leg is not measured: no whole stride: 1 heel strike of" in printed
    assert {path.name for path in tmp_path.glob("short_*")} == {
        f"short_right.{kind}" for kind in ("json", "png", "html")
    }
    found = json.loads((tmp_path / "found.json").read_text())
    assert set(found) == {"right", "spatiotemporal"}
    assert "its angles repeat after" in printed  # the period is not the stride time, of which stance is a share
    stance = found["spatiotemporal"]["right"]["stance"]["mean"]
    assert f", toe-off at {stance:.1f}% from heel strike to heel strike" in printed


@pytest.mark.slow
@pytest.mark.parametrize("sets", [("R1", "R2", "R3"), ("R1",)], ids=["all", "one"])
def test_a_leg_that_is_not_aligned_is_marked_with_its_parameter_set(sets, tmp_path, capsys, monkeypatch):
    kept = [float(Prosthesis().preset(label).linkage.l_AD) for label in sets]

    def unaligned(leg):
        if float(leg.linkage.l_AD) not in kept:
            return leg
        warnings.warn(NotAligned("walk: the leg walks at no height_offset", "height_offset"), stacklevel=2)
        return leg

    said: list[str] = []
    _recorded(tmp_path)
    monkeypatch.setattr(fitting, "aligned", unaligned)
    monkeypatch.setattr(motion, "LONG", 100)
    monkeypatch.setattr(console, "note", said.append)
    cli.main(["motion", str(tmp_path / "walk.trc")])
    assert "measuring 500 frames: this takes some seconds" in said
    out = capsys.readouterr().out
    alike = f" ({', '.join(sets[1:])} alike)" if sets[1:] else ""
    assert f"warning: parameter set {sets[0]}{alike}: walk: the leg walks at no height_offset\n" in out
    (line,) = (line for line in out.splitlines() if line.startswith("--motion adapts"))
    (heights,) = (part for part in line.split("; ") if part.startswith("height_offset = "))
    marked = re.findall(r"-0\.\d{4} m \(([^)]*), not aligned\)", heights)
    assert ", ".join(marked).split(", ") == [*sets] and line.count("not aligned") == len(marked)


def test_a_large_file_is_announced_with_its_size(tmp_path, monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(console, "note", said.append)
    (path := tmp_path / "walk.csv").write_bytes(b" " * 5_600_000)
    with pytest.raises(SystemExit):
        cli.main(["motion", str(path)])
    assert f"reading {path}, 6 MB" in said


def test_a_file_in_the_user_s_folder_is_not_written_over(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        cli.main(["motion", "~/walk.csv", "--out=walk.csv"])
    assert "this command reads it" in capsys.readouterr().err


def test_a_recording_becomes_a_walk_and_drives_the_knee(tmp_path, capsys, monkeypatch):
    """At the height to which the leg is aligned; here a fixed lift replaces the search for it, which takes seconds."""
    lift = 0.004  # m
    raised = lambda leg: with_parameters(leg, {"height_offset": leg.height_offset + lift})
    monkeypatch.setattr(fitting, "aligned", raised)
    w, out = _recorded(tmp_path), tmp_path / "walk.json"
    files = [str(tmp_path / "walk.trc"), str(tmp_path / "walk_grf.mot")]
    cli.main(["motion", *files, "--leg", "right", "--mass", "70", "--out", str(out)])
    output = capsys.readouterr().out
    assert "500 frames at 100 Hz, 22 markers, 1 force plate\n" in output and "mass 70 kg (given)" in output
    assert re.search(r"strides: [34] kept, 0 dropped", output) and "heel strikes by ground force" in output
    assert re.search(r"  from single strides at most: thigh \d\.\d\d deg, .*, hip height \d\.\d mm", output)
    assert "body weights" in output and "usable as a drive: yes" in output
    assert re.search(r"joint moments in Nm/kg .*: hip [-+]\d+\.\d\d to [-+]\d+\.\d\d, knee .*, ankle ", output)
    assert (tmp_path / "walk.png").stat().st_size > 50_000
    page = (tmp_path / "walk.html").read_text()
    assert "<h2>Assumptions and processing</h2>\n<ul><li>" in page and "markers: plug_in_gait" in page
    assert "<li>note: " not in page and re.search("<h2>Warnings</h2>\n<ul><li>the centre of pressure", page)
    assert not re.search(r"""(?:src|href)=['"](?!data:)""", page), "it needs no other file"
    assert page.count("data:image/png;base64,") == 1 and "Made by jaxgait" in page
    cli.main(["run", "knee", "--motion", str(out), "--list"])  # another test runs a stride of one's own
    ran = capsys.readouterr().out
    assert f"driven by walk: T = {w.period:.3f}" in ran and "segments.shank = " in ran
    height = float(fitting.with_drive(Prosthesis(), motion_drive(str(out))).height_offset) + lift
    assert f"height_offset = {height:.4f} m" in ran
    listed = next(line for line in ran.splitlines() if line.startswith("height_offset"))
    assert float(listed.split()[1]) == pytest.approx(height, rel=1e-5)


@pytest.mark.usefixtures("unaligned")
def test_a_recording_drives_a_listing_at_once(tmp_path, capsys):
    _recorded(tmp_path)
    cli.main(["run", "knee", "--motion", str(tmp_path / "walk.trc"), "--set", "segments.thigh=0.4", "--list"])
    listed = capsys.readouterr().out
    thigh = next(line for line in listed.splitlines() if line.startswith("segments.thigh"))
    assert float(thigh.split()[1]) == 0.4  # what is set wins over what fits the person
    assert "body mass not known: masses of the model" in listed
    assert f"assumptions made in measuring it are listed by: jaxgait motion {tmp_path / 'walk.trc'}" in listed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--leg", "left", "--markers", "nobody.toml"], "jaxgait: nobody.toml: no such file\n"),
        (["--static", "nobody.trc"], "jaxgait: nobody.trc: no such file\n"),
        (["nobody.csv"], "jaxgait: nobody.csv: no such file\n"),
        (["hbm07_0.98ms"], "hbm07_0.98ms is an embedded gait, not a recording: give it alone; several files are of"),
        (["best.json"], "best.json is a saved walk, not a recording: give it alone"),
        (["--standing-knee", "keep"], "is about the standing trial: give it (--static), or leave"),
        (["--harmonics", "0"], "harmonics must be at least 1, got 0"),
        (["--harmonics", "60"], "harmonics must be at most 49, got 60"),
        (["--out", "walk.xyz"], "cannot write walk.xyz"),
    ],
)
def test_what_is_wrong_with_a_recording_is_one_line(options, message, tmp_path, capsys):
    _recorded(tmp_path)
    with pytest.raises(SystemExit) as stop:
        cli.main(["motion", str(tmp_path / "walk.trc"), *options])
    assert stop.value.code == console.BAD_INPUT
    printed = capsys.readouterr()
    assert message in printed.err and printed.err.count("\n") == 1 and not printed.out, "before anything is measured"


def test_a_stride_is_no_recording(tmp_path, capsys):
    (tmp_path / "my.csv").write_text(GOOD)
    for out in ("my.nc", "my.html"):
        with pytest.raises(SystemExit):
            cli.main(["motion", str(tmp_path / "my.csv"), "--out", str(tmp_path / out)])
        output = capsys.readouterr()
        assert "my.csv is one stride, not a recording; give .json, .mot, or a picture" in output.err
        assert output.out == "", "before anything is done"
    cli.main(["motion", str(tmp_path / "my.csv"), "--out", str(tmp_path / "my.mot")])
    assert "wrote" in capsys.readouterr().out and "knee_angle_r" in read_recording(tmp_path / "my.mot").angles
    (tmp_path / "again.mot").write_text((tmp_path / "my.mot").read_text())
    cli.main(["motion", str(tmp_path / "my.mot"), str(tmp_path / "again.mot"), "--out", str(tmp_path / "walk.mot")])
    wrote = [line for line in capsys.readouterr().out.splitlines() if "wrote" in line]
    assert wrote == [f"wrote {tmp_path / name}" for name in ("walk_1.mot", "walk_2.mot")], "a file for each trial"
    assert {path.name for path in tmp_path.glob("walk*")} == {"walk_1.mot", "walk_2.mot"}
    with pytest.raises(SystemExit) as stop:
        cli.main(["motion", str(tmp_path / "my.csv"), "--leg", "left", "--mass", "70", "--gap", "0.2"])
    assert stop.value.code == console.BAD_INPUT
    assert "is one stride, not a recording: leave --leg, --mass out" in capsys.readouterr().err
