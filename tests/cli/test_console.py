"""Messages of the command line, and what it checks before it parses."""

import json
import logging
import pathlib
import queue
import re
import subprocess
import sys
import time

import numpy as np
import pytest
from tqdm import tqdm

from jaxgait import cli
from jaxgait.cli import console
from jaxgait.support import files, notes
from jaxgait.support.notes import note


def test_messages_are_one_line_on_stderr(capsys):
    console.say(ValueError("two\nlines"))
    assert capsys.readouterr().err == "jaxgait: two lines\n"


def test_an_option_is_given_once():
    console.check_repeats(["scan", "bungee", "--over", "mass=1:2:3", "stiffness=1,2", "--duration", "-1"])
    for again in (["--over", "stiffness=1,2"], ["--over=stiffness=1,2"]):
        with pytest.raises(ValueError, match="--over is given twice"):
            console.check_repeats(["scan", "bungee", "--over", "mass=1:2:3", *again])


def test_notes_are_for_those_who_look(capsys, monkeypatch):
    with console.show_log():
        logging.getLogger("jaxgait.anything").info("compiling")
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        logging.getLogger("jaxgait.anything").info("compiling")
        assert capsys.readouterr().err == "jaxgait: compiling\n"
    logging.getLogger("jaxgait.anything").info("compiling")
    assert capsys.readouterr().err == ""


def test_a_long_wait_is_told_again(monkeypatch):
    monkeypatch.setattr(notes, "REMINDED_AFTER", 0.02)
    monkeypatch.setattr(notes, "note", (told := queue.Queue()).put)
    with notes.reminding("still compiling", time.perf_counter() - 40.0):
        assert re.fullmatch(r"still compiling, [4-9]\d s so far", told.get(timeout=30.0))


def test_python_calls_have_the_same_notes_unless_a_log_is_kept(capsys, monkeypatch, caplog):
    note("compiling")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    note("compiling")
    assert capsys.readouterr().err == "jaxgait: compiling\n"
    with caplog.at_level(logging.INFO, "jaxgait"):
        note("compiled")
    assert caplog.messages == ["compiled"] and capsys.readouterr().err == ""


OWN = {"run": "--out", "scan": "--over", "optimize": "--over", "fit": "--measured"}
"""The first option of its own, which comes before those that commands share."""


def test_help_shows_what_is_typed(capsys):
    """Not the parser's types and empty defaults."""
    for command in ("run", "scan", "join", "optimize", "fit", "motion", "view", "reproduce", "bench"):
        with pytest.raises(SystemExit) as stop:
            cli.main([command, "--help"])
        shown = capsys.readouterr().out
        assert stop.value.code == 0 and "None" not in shown and "default: )" not in shown
        assert not re.search(r"--no-(?!retry)|FLOAT", shown)
        options = re.findall(r"^\W{1,3}(--\w[\w-]+)", shown, re.MULTILINE)
        assert options.index(OWN.get(command, options[0])) == 0 and ("(default: False)" not in shown)


def test_help_of_the_program_has_a_sentence_for_each_command(capsys):
    with pytest.raises(SystemExit):
        cli.main(["--help"])
    commands = capsys.readouterr().out.partition("• run")[2]
    assert commands.count("•") == 9 and "Example" not in commands and "--" not in commands


def test_json_has_only_what_json_has(tmp_path):
    found = {"x": np.array([1.0, np.nan]), "n": np.int32(3), "path": tmp_path, "none": None, "flag": True, 2: (np.inf,)}
    wanted = {"x": [1.0, None], "n": 3, "path": str(tmp_path), "none": None, "flag": True, "2": [None]}
    assert files.plain(found) == wanted


def test_text_for_people_leaves_the_standard_output_to_json(capsys):
    with console.json_on_stdout(console.STDOUT):
        print("for people")
        console.write_json(console.STDOUT, {"x": 1.0})
    output = capsys.readouterr()
    assert json.loads(output.out) == {"x": 1.0} and output.err == "for people\n"


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("run bungee --samples 1e3", "--samples must be a whole number, got '1e3'"),
        ("motion walk.c3d --cutoff fast", "--cutoff must be a number, got 'fast'"),
        ("run bungee --duration 60kg", "--duration: the value is in 'kg', but this option in 's': give it in s, ms"),
        ("run bungee --dt fast", "--dt: 'fast' is not a number"),
        ("run bungee --mass 70", "unknown option --mass 70: a parameter is given as --set mass=70"),
        ("optimize --maximise rho", "unknown option --maximise rho: did you mean --maximize?"),
        ("fly", "no command 'fly': there are run, scan, join, optimize, fit, motion"),
        ("run bungee --precision half", "--precision must be one of float64, float32, got 'half'"),
        ("run bungee --mass=70", "unknown option --mass=70: a parameter is given as --set mass=70"),
        ("optimize knee --stride 3", "unknown option --stride 3: did you mean --strides?"),
        ("scan knee --ovr damper.k=1 --sett x=2", "unknown option --ovr damper.k=1 --sett x=2: did you mean --over?"),
        ("scan walker --list", "unknown option --list: did you mean --list of jaxgait run?"),
        ("scan walker --sett slope=1", "unknown option --sett slope=1: did you mean --set?"),
        ("run knee --over damper.k=1", "unknown option --over damper.k=1: did you mean --over of jaxgait"),
        ("reproduce --list", "reproduce needs one of bungee, creeper,"),
        ("scan --lst", "scan needs one of bungee, creeper,"),
        ("view --lst", "view needs PATH (NetCDF file or Zarr store"),
        ("scan knee --dt", "--dt needs a value; see jaxgait scan --help"),
        ("view", "view needs PATH (NetCDF file or Zarr store"),
        ("--version --json", "--version goes alone; see jaxgait --help"),
        ("--json - run bungee", "give a command before --json; see jaxgait --help"),
        (
            "run walker --store x",
            "unknown option --store x: a parameter is given as --set store=x; --store is an option of jaxgait scan",
        ),
        ("run walker --st 5", "unknown option --st 5: did you mean --strides? See jaxgait run --help"),
        (
            "run bungee --duration 20m",
            "--duration: the value is in 'm', but this option in 's': give it in s, ms; see jaxgait run",
        ),
    ],
)
def test_what_is_no_command_is_one_line(command, output, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(command.split())
    message = capsys.readouterr().err
    assert stop.value.code == 2 and message.startswith(f"jaxgait: {output}") and message.count("\n") == 1
    assert "--help" in message


@pytest.mark.slow
@pytest.mark.skipif(not pathlib.Path("/dev/full").exists(), reason="no such file here")
@pytest.mark.parametrize("command", ["--version", "motion --json -"])
def test_a_full_disk_behind_the_standard_output_is_one_line(command):
    run = f"{sys.executable} -m jaxgait {command} > /dev/full"
    done = subprocess.run(run, shell=True, check=False, stderr=subprocess.PIPE)
    message = b"jaxgait: cannot write to the standard output: No space left on device\n"
    assert done.returncode == 2 and done.stderr.endswith(message) and b"Traceback" not in done.stderr


@pytest.mark.slow
def test_a_command_runs_without_an_output_or_messages(tmp_path):
    """As from a service: `2>&-` leaves `sys.stderr` None, on which JAX and progress bars fail."""
    run = f"{sys.executable} -m jaxgait run bungee --duration 1 --samples 4 --out {tmp_path}/run.nc >&- 2>&-"
    assert subprocess.run(run, shell=True, check=False).returncode == 0 and (tmp_path / "run.nc").exists()
    shown = subprocess.run(f"{sys.executable} -m jaxgait --help >&-", shell=True, check=False, stderr=subprocess.PIPE)
    assert shown.returncode == 0 and not shown.stderr


def test_what_an_encoding_lacks_loses_no_results():
    """As on a cluster whose locale is plain ASCII."""
    run = f"PYTHONIOENCODING=ascii {sys.executable} -m jaxgait --help"
    shown = subprocess.run(run, shell=True, check=True, capture_output=True).stdout
    assert b"? run " in shown and shown.isascii()


def test_messages_are_above_a_progress_bar(capsys):
    with tqdm(total=2, file=sys.stderr) as bar:
        bar.update()
        console.say("compiled in 3 s")
    before, _, after = capsys.readouterr().err.partition("jaxgait: compiled in 3 s\n")
    assert before.endswith("\r") and after.startswith("\r")


PIPED = """
import pathlib
from jaxgait.cli.console import unbroken
with unbroken():
    for _ in range(10_000):
        print("a line of the results", flush=True)
    pathlib.Path("written").touch()
"""


def test_a_command_goes_on_without_a_reader(tmp_path):
    """As in `jaxgait scan ... --out scan.nc | head -1`."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    child = subprocess.Popen([sys.executable, "-c", PIPED], cwd=tmp_path, **pipes)
    assert child.stdout is not None and child.stderr is not None
    assert child.stdout.readline() == b"a line of the results\n"
    child.stdout.close()
    assert child.wait(timeout=60) == 0 and child.stderr.read() == b""
    assert (tmp_path / "written").exists()


def test_what_takes_long_is_said_also_in_a_log(capsys):
    with console.note_when_slow("drawing scan.png ...", after=0.01):
        time.sleep(0.2)
    with console.note_when_slow("drawing quickly ...", after=60.0):
        pass
    assert capsys.readouterr().err == "jaxgait: drawing scan.png ...\n"
