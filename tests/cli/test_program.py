"""The command line as a user types it."""

import contextlib
import inspect
import io
import json
import re
import subprocess
import sys
from typing import get_args

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import jaxgait
from jaxgait import cli, registry
from jaxgait.cli import commands, listing, options
from jaxgait.cli.completion import with_names
from jaxgait.model import Model
from jaxgait.models.bungee.model import Bungee
from jaxgait.models.walker.rigid import RigidWalker
from jaxgait.motion.embedded import REFERENCE_GAITS
from jaxgait.motion.readers import read_recording
from jaxgait.optimization.methods import METHODS
from jaxgait.registry import model, models
from jaxgait.solve import simulate
from jaxgait.solve.schemes import SCHEMES
from jaxgait.solve.solvers import SOLVERS

COMPILED = {"exoskeleton", "jumper", "jumping-robot"}
"""Models that compile programs when they are made or listed."""
ENDED = xr.Dataset({"x": ("time", np.zeros(2))}, {"time": np.arange(2.0)}, {"status": 0})
"""As much of a run as the command line looks at."""


def test_a_platform_without_a_device_is_named(monkeypatch, capsys):
    def devices():
        raise AssertionError  # as for cuda on a computer without a GPU

    monkeypatch.setattr("jax.devices", devices)
    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    with pytest.raises(SystemExit) as stop:
        cli.main(["run", "bungee", "--list"])
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert stop.value.code == 2 and error.startswith("jaxgait: JAX finds no device for JAX_PLATFORMS=cuda: unset it")


def test_run_and_view(tmp_path, capsys):
    out, picture = tmp_path / "run.nc", tmp_path / "run.png"
    cli.main(["run", "bungee", "--set", "stiffness=27", "--duration", "0.2", "--samples", "4", "--out", str(out)])
    assert xr.open_dataset(out, engine="h5netcdf").attrs["model"] == "Bungee"
    cli.main(["view", str(out), "--variables", "x", "rope_force", "--out", str(picture)])
    assert picture.stat().st_size > 5000
    assert "wrote" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.main(["view", str(out), "--variables", "rope_forse", "--out", str(picture)])
    printed = capsys.readouterr()
    assert not printed.out and "no variable 'rope_forse': did you mean 'rope_force'" in printed.err
    for ending in ("csv", "sto"):
        table = tmp_path / f"run.{ending}"
        cli.main(["run", "bungee", "--duration", "0.2", "--samples", "4", "--out", str(table)])
        assert f"wrote {table}" in capsys.readouterr().out and "height" in table.read_text()
    found = tmp_path / "run.json"
    cli.main(["view", str(out), "--width", "8.5cm", "--out", str(tmp_path / "run.svg")])
    assert 'width="240.9' in (tmp_path / "run.svg").read_text()  # points
    cli.main(["view", str(out), "--json", str(found), "--out", str(tmp_path / "run.gif")])
    assert json.loads(found.read_text())["variables"]["x"]["unit"] == "m"
    assert (tmp_path / "run.gif").stat().st_size > 5000


def test_version(capsys):
    assert cli.main(["--version"]) is None and capsys.readouterr().out == f"jaxgait {jaxgait.__version__}\n"


def test_the_package_can_be_run():
    done = subprocess.run([sys.executable, "-m", "jaxgait", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"jaxgait {jaxgait.__version__}\n"


def test_list_shows_parameters_variables_and_measures_with_units(capsys):
    cli.main(["run", "knee", "--list"])
    shown = capsys.readouterr().out
    assert "damper.k" in shown and "N s/m" in shown
    assert re.search(r"^knee_angle +rad +knee flexion", shown, re.MULTILINE)
    assert re.search(
        r"^peak_flexion +deg +peak knee flexion.*\(needs 1 stride or more, 50 samples", shown, re.MULTILINE
    )


@pytest.mark.slow
def test_a_scan_observes_the_measures_of_the_model_with_their_units(tmp_path, capsys):
    out, map_ = tmp_path / "scan.nc", tmp_path / "map.png"
    over = ["--over", "mass=50,70", "stiffness=20,27", "--duration", "12", "--samples", "20", "--rtol", "1e-4"]
    cli.main(["scan", "bungee", *over, "--observe", "clearance", "--out", str(out)])
    data = xr.load_dataset(out, engine="h5netcdf")
    assert data.clearance.attrs == {
        "units": "m",
        "long_name": "smallest height above the ground (negative: the jumper hits it)",
    }
    assert "peak_rope_force" not in data and data.attrs["rtol"] == 1e-4
    cli.main(["view", str(out), "--out", str(map_)])
    assert map_.stat().st_size > 5000
    assert "4  completed" in capsys.readouterr().out


@pytest.mark.slow
def test_last_strides_of_a_run_are_written(tmp_path):
    whole, end, angles = tmp_path / "whole.nc", tmp_path / "end.nc", tmp_path / "end.mot"
    for out, last in ((whole, []), (end, ["--last", "1"]), (angles, ["--last", "1"])):
        cli.main(["run", "knee", "--strides", "2", "--out", str(out), *last])
    run, part = (xr.load_dataset(file, engine="h5netcdf") for file in (whole, end))
    assert part.sizes["time"] == 101 and part.equals(run.isel(time=slice(100, None)))
    assert part.rho == run.rho, "measures are of the whole run"
    assert read_recording(angles).time.size == 101


def test_a_run_without_its_beginning_says_so():
    run = jaxgait.simulate(Bungee(), duration=2.0, samples=4)
    assert next(listing.run_lines(run)) == "Bungee: completed, 2 s in 4 samples"
    assert (
        next(listing.run_lines(run.isel(time=slice(2, None))))
        == "Bungee: completed, 2 s, without the first 1 s, in 2 samples"
    )


def test_motion_lists_sources(capsys):
    cli.main(["motion"])
    assert "Apache-2.0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "bungee", "--set", "mas=3"], "mass"),
        (["run", "bungee", "--set", "mass=heavy"], "not a number"),
        (["run", "bungee", "--set", "mass"], "name=value"),
        (["run", "bungee", "--set", "mass=-3"], "positive"),
        (["run", "bungee", "--strides", "3"], "no period"),
        (["scan", "bungee", "--over", "mass"], "low:high:count"),
        (["motion", "nowhere.csv"], "nowhere.csv"),
        (["view", "nowhere.nc"], "no such file"),
        (["view", "a.nc", "b.nc"], "unexpected argument: b.nc: view shows one result, give one at a time"),
        (["optimize", "--over", "damper.k=4e4:1e4"], "low < high"),
        (["optimize", "--json", "."], "is a folder"),
        (["run", "bungee", "--out", "."], "is a folder"),
        (["run", "bungee", "--out", "fall.xls"], "its name must end in .csv, .mot, .nc or .sto"),
        (["run", "bungee", "--out", "fall.mot"], "OpenSim has no names for the joints of Bungee"),
        (["scan", "bungee", "--over", "mass=1,2", "--out", "/dev/null"], "not an ordinary file"),
        (["reproduce", "bungee", "--out", "/dev/null"], "cannot write"),
        (["scan", "bungee", "--over", "mass=1:2:3", "--set", "mass=2"], "--set and to --over"),
        (["scan", "bungee", "--over", "mass=1:2:3", "--over", "ground=1:2:3"], "--over is given twice"),
        (["scan", "bungee", "--over", "mass=40:100:1e6", "stiffness=15:40:1e6"], "GB are free"),
        (["scan", "bungee", "--over", "mass=60,70", "--observe", "clearence"], "did you mean 'clearance'"),
        (["run", "bungee", "--samples", "0"], "samples must be a whole number, at least 1"),
        (["run", "bungee", "--rtol", "10"], "below 1"),
        (["run", "knee", "--strides", "2", "--last", "1"], "give --out FILE, or leave --last out"),
        (["run", "knee", "--strides", "2", "--last", "3", "--out", "knee.nc"], "--last must be at most 2"),
        (["run", "knee", "--duration", "2", "--last", "1", "--out", "knee.nc"], "not counted in them: give --strides"),
        (["run", "bungee", "--last", "1", "--out", "fall.nc"], "not counted in them: Bungee has none"),
        (["run", "unicycle"], "unicycle"),
        (
            [],
            "give a command: run, scan, join, optimize, fit, motion, reproduce, bench, view, completion; see jaxgait ",
        ),
        (["run", "bungee", "--strides", "2.7"], "2.7"),
    ],
)
def test_mistakes_are_one_clear_line(arguments, message, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    output = capsys.readouterr().err
    assert stop.value.code == 2 and message in output
    assert output.count("\n") == 1


@pytest.mark.parametrize("content", [b"", b"not a file of numbers", b"\x89HDF\r\n\x1a\n"])
def test_view_of_other_files_is_one_clear_line(content, tmp_path, capsys):
    file = tmp_path / "other.nc"
    file.write_bytes(content)
    for path in (file, tmp_path):
        with pytest.raises(SystemExit) as stop:
            cli.main(["view", str(path)])
        output = capsys.readouterr().err
        assert stop.value.code == 2 and "not the result of a run or scan" in output and output.count("\n") == 1


@pytest.mark.slow
def test_what_does_not_reach_its_end_is_written_and_exits_with_1(tmp_path, monkeypatch, capsys):
    out = tmp_path / "run.nc"
    monkeypatch.setattr(Bungee, "numerics", Bungee.numerics._replace(max_steps=20))
    stiff = ["bungee", "--set", "gravity=9.81", "--duration", "40", "--samples", "4", "--out", str(out)]
    with pytest.raises(SystemExit) as stop:
        cli.main(["run", *stiff])
    assert stop.value.code == 1 and out.exists()
    output = capsys.readouterr()
    assert re.search(r"^jaxgait: Bungee gave up: .*, \d\.\d+ s into the run$", output.err, re.MULTILINE)
    assert re.search(r"^  clearance +- +smallest height.*\n(.*\n)*  -: not defined", output.out, re.MULTILINE)
    with pytest.raises(SystemExit) as stop:
        cli.main(["scan", *stiff, "--over", "mass=60,70"])
    assert stop.value.code == 1 and np.isnan(xr.load_dataset(out, engine="h5netcdf").clearance).all()
    assert "jaxgait: 0 of 2 trajectories of Bungee completed" in capsys.readouterr().err


def _experiment(report, **constants):
    def reproduce(folder, progress):
        assert not progress  # no bars in a log
        report.write(folder)
        return report

    return type("Experiment", (), {"reproduce": staticmethod(reproduce), **constants})


def test_unmet_figures_exit_with_1(tmp_path, monkeypatch, capsys):
    from jaxgait.report import Report

    report, found = Report("r"), tmp_path / "found.json"
    report.figure("a", "the answer", "1", 42, expected=42)
    monkeypatch.setattr(registry, "experiment", lambda name: _experiment(report, TITLE="r", MINUTES=3))
    cli.main(["reproduce", "bungee", "--out", str(tmp_path), "--json", str(found)])
    assert "bungee: takes about 3 minutes of processor time" in capsys.readouterr().out
    assert json.loads(found.read_text())["experiments"]["bungee"]["figures"][0]["met"] is True
    report.figure("b", "the question", "1", 41, expected=42)
    with pytest.raises(SystemExit) as stop:
        cli.main(["reproduce", "bungee", "--out", str(tmp_path)])
    assert stop.value.code == 1 and "jaxgait: bungee: unmet: the question\n" in capsys.readouterr().err


@pytest.mark.parametrize("constants", [{"TITLE": "another"}, {}])
def test_another_experiments_pages_are_not_written_over(constants, tmp_path, monkeypatch, capsys):
    from jaxgait.report import Report

    Report("r").write(tmp_path)
    before = (tmp_path / "report.md").read_text()
    monkeypatch.setattr(registry, "experiment", lambda name: _experiment(Report("another"), **constants))
    with pytest.raises(SystemExit) as stop:
        cli.main(["reproduce", "bungee", "--out", str(tmp_path)])
    output = capsys.readouterr().err
    hint = f"it contains the figures of 'r'; give another folder: {tmp_path / 'bungee'}"
    assert stop.value.code == 2 and hint in output
    assert (tmp_path / "report.md").read_text() == before
    cli.main(["reproduce", "bungee", "--out", str(tmp_path / "bungee")])
    cli.main(["reproduce", "bungee", "--out", str(tmp_path / "bungee")])  # its own may be written again


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_of_a_shell(shell, capsys):
    cli.main(["completion", shell])
    assert "dry-run" in capsys.readouterr().out


@pytest.fixture(scope="module")
def bash(tmp_path_factory):
    """What bash offers for the last of some words, in a folder with one file."""
    folder = tmp_path_factory.mktemp("completion")
    (folder / "walk.trc").touch()
    with contextlib.redirect_stdout(io.StringIO()) as script:
        cli.main(["completion", "bash"])
    (folder / "script").write_text(script.getvalue())
    typed = 'source ./script; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _jaxgait; echo "${COMPREPLY[@]}"'

    def offered(*words: str) -> list[str]:
        command = ["bash", "-c", typed, "bash", "jaxgait", *words]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder).stdout.split()

    return offered


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("scan --dry", ["--dry-run"]),
        ("run kn", ["knee"]),
        ("scan knee --dry", ["--dry-run"]),
        ("fit knee --scheme ", [scheme.__name__ for scheme in SCHEMES]),
        ("run knee --solver ", list(SOLVERS)),
        ("scan --solver Rodas knee --solver Rodas4", ["Rodas4"]),
        ("run knee --motion ", list(REFERENCE_GAITS)),
        ("scan knee --motion hbm07_0.98ms raj", ["rajagopal_1.26ms"]),
        ("reproduce k", ["knee", "knee-gaits"]),
        ("reproduce al", ["all"]),
        ("completion z", ["zsh"]),
        ("view wa", []),
    ],
)
def test_bash_completes_commands_options_and_names(words, offered, bash):
    assert bash(*words.split(" ")) == offered


def test_every_search_method_is_offered():
    assert get_args(commands.OptimizeMethod) == ("auto", *METHODS)


def test_bash_offers_files_where_there_is_nothing_else(capsys):
    cli.main(["completion", "bash"])
    assert "complete -o default -F _jaxgait jaxgait" in capsys.readouterr().out


def test_names_for_fish_need_no_escapes():
    """They are in double quotes there, after a table that is escaped already."""
    table = "COMPLETION_SPEC = {}"
    assert not set('"$\\') & set(with_names(table, "fish").removeprefix(table))


def test_help_needs_no_jax_and_shows_examples():
    none = "assert not {'jax', 'matplotlib', 'numpy', 'pandas', 'scipy'} & set(sys.modules)"
    code = f"import sys; from jaxgait import cli\ntry: cli.main(sys.argv[1:])\nfinally: {none}"
    for command in (["--help"], ["scan", "--help"]):
        done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True)
        assert "jaxgait scan" in done.stdout


def test_every_experiment_says_what_it_takes():
    for name in registry.own_experiments():
        module = registry.experiment(name)
        assert module.MINUTES > 0 and module.TITLE, name


def test_options_are_described_in_one_line_each():
    """The parser would break the lines of its help wherever the source does."""
    for module in (commands, options):
        broken = re.findall(r'^    (\w+): [^\n]*\n    """[^"\n]+\n', inspect.getsource(module), re.MULTILINE)
        assert not broken, broken


@pytest.mark.parametrize(
    "command", ["run", "scan", "join", "optimize", "fit", "motion", "reproduce", "bench", "view", "completion"]
)
def test_each_paragraph_of_a_commands_help_is_one_line(command, capsys):
    """The parser keeps the line breaks of the source before a backtick, for example."""
    with pytest.raises(SystemExit):
        cli.main([command, "--help"])
    about = re.split(r"\n\n[╭ ]", capsys.readouterr().out.partition("\n\n")[2])[0]
    assert about and not [text for text in about.split("\n\n") if "\n" in text]


def test_help_tells_the_exit_codes(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["--help"])
    assert stop.value.code == 0 and "Exit codes" in capsys.readouterr().out


@pytest.mark.parametrize("name", registry.own_experiments())
def test_every_experiment_can_be_loaded(name):
    assert callable(registry.experiment(name).reproduce)


def test_unknown_model_is_named():
    with pytest.raises(ValueError, match="bungee"):
        model("unicycle")


def test_models_are_found_by_class_name():
    from jaxgait import models

    assert models.Bungee is type(model("bungee"))
    with pytest.raises(AttributeError, match="Unicycle"):
        _ = models.Unicycle


@pytest.mark.slow
def test_a_search_for_the_smallest(tmp_path):
    found = tmp_path / "found.json"
    cli.main(
        "optimize bungee --minimize peak_rope_force --over stiffness=15:30 --duration 8 --starts 1 --iterations 3"
        f" --initial x=-25 --json {found}".split()
    )
    record = json.loads(found.read_text())
    forces = record["history"]["objective"][0]
    assert forces == sorted(forces, reverse=True) and record["objective"] == min(forces) > 0
    assert record["best"]["stiffness"] < record["start"]["stiffness"][0]


@pytest.mark.slow
def test_the_initial_state_and_the_steps(tmp_path):
    out = tmp_path / "run.nc"
    cli.main(f"run bungee --initial x=-20 v=1 --duration 1 --samples 4 --atol 1e-8 --max-step 0.1 --out {out}".split())
    data = xr.load_dataset(out, engine="h5netcdf")
    assert data.x[0] == -20 and data.v[0] == 1 and data.attrs["atol"] == 1e-8 and data.attrs["max_step_s"] == 0.1


def test_options_of_a_scheme(monkeypatch):
    given = {}
    monkeypatch.setattr(simulate, "simulate", lambda model, **options: given.update(options, model=model) or ENDED)
    steps = "--dt 1e-3 --duration 0.01 --samples 2 --scheme TimeStepping --precision float32"
    cli.main(["run", "rigid-walker", *steps.split()])
    assert isinstance(given["model"], RigidWalker) and given["dt"] == 1e-3 and given["samples"] == 2
    assert given["scheme"] == "TimeStepping" and given["precision"] == "float32" and "rtol" not in given


@pytest.mark.slow
def test_a_scan_over_and_from_initial_states(tmp_path):
    out = tmp_path / "scan.nc"
    cli.main(f"scan bungee --over initial.x=-30,-20 --initial v=2 --duration 1 --samples 4 --out {out}".split())
    data = xr.load_dataset(out, engine="h5netcdf")
    assert data["initial.x"].values.tolist() == [-30, -20] and data["initial.v"] == 2
    assert data["initial.v"].attrs == {"units": "m/s", "long_name": "velocity, downward, at the start"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] if n in COMPILED else []) for n in models()])
def test_every_model_of_the_catalogue_is_there_and_listed(name, capsys):
    chosen = model(name)
    chosen.validate()
    assert chosen.variables
    if isinstance(chosen, Model):
        assert listing.show(chosen) == 0
        shown = capsys.readouterr().out
        assert "states and outputs:" in shown and "initial state:" in shown


def _broadcasting(self, t, y):
    return y._replace(v=jnp.zeros(3) + jnp.zeros(2))


def _misshapen(self, t, y):
    return y._replace(v=jnp.zeros(3))


def _torn(self, t, y):
    raise ValueError("the rope is torn")


@pytest.mark.parametrize(
    ("equations", "message"),
    [
        (_broadcasting, r"TypeError: add got incompatible shapes .* \(in Jump.vector_field, line .*jnp.zeros\(2\)"),
        (_misshapen, r"Jump.vector_field must return the rates with the shape \(\) for .v, got \(3,\)$"),
        (_torn, r"ValueError: the rope is torn \(in Jump.vector_field, line .* of .*test_program.py: "),
    ],
)
def test_errors_in_equations_are_one_line_that_names_the_users_line(equations, message, monkeypatch, capsys):
    own = type("Jump", (Bungee,), {"vector_field": equations})
    monkeypatch.setattr(registry, "model", lambda name: own())
    with pytest.raises(SystemExit) as stop:
        cli.main(["run", "bungee", "--duration", "0.1", "--samples", "2"])
    said = capsys.readouterr().err.splitlines()
    assert stop.value.code == 2 and re.match(f"jaxgait: {message}", said[-1]) and "Traceback" not in "".join(said)


def test_errors_of_a_model_outside_its_equations_name_the_users_line(monkeypatch, capsys):
    own = type("Jump", (Bungee,), {"labels": property(lambda self: {"rope": 1 / 0})})
    monkeypatch.setattr(registry, "model", lambda name: own())
    with pytest.raises(SystemExit):
        cli.main(["run", "bungee", "--duration", "0.1", "--samples", "2"])
    assert re.search(r"ZeroDivisionError: .* \(line \d+ of .*test_program.py: .*1 / 0", capsys.readouterr().err)


def test_errors_of_jaxgait_itself_keep_their_traceback(monkeypatch):
    monkeypatch.setattr(simulate, "simulate", None)
    with pytest.raises(TypeError, match="not callable"):
        cli.main(["run", "bungee"])


def test_errors_keep_their_traceback_if_asked(monkeypatch):
    monkeypatch.setenv("JAXGAIT_TRACEBACK", "1")
    with pytest.raises(ValueError, match="mass"):
        cli.main(["run", "bungee", "--set", "mass=-3"])
