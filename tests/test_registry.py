"""A mechanism of another package: by name through the command line, and messages about bad registrations."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import xarray

import jaxgait
import jaxgait.cli
import jaxgait.registry

HOPPER = '''
"""A mass on a spring that leaves the ground."""

from typing import ClassVar, NamedTuple

import jax.numpy as jnp

from jaxgait.measure import Measure, table
from jaxgait.model import Model, Numerics, Scalar, Variable, parameter


class HopperState(NamedTuple):
    y: Scalar
    v: Scalar


class Hopper(Model):
    mass: Scalar = parameter(80.0, unit="kg", doc="body mass", bounds="positive")
    stiffness: Scalar = parameter(2e4, unit="N/m", doc="leg stiffness", bounds="positive")
    length: Scalar = parameter(1.0, unit="m", doc="leg length", bounds="positive")

    variables: ClassVar = {"y": Variable("m", "height"), "v": Variable("m/s", "velocity"), "leg": Variable("N", "leg")}
    numerics: ClassVar = Numerics(stiff=False)
    measures: ClassVar = table(
        Measure("lowest", lambda run: jnp.min(run["y"]), "m", "lowest point"),
        Measure("peak_force", lambda run: jnp.max(run["leg"]), "N", "largest force of the leg"),
    )
    presets: ClassVar = {"heavy": {"mass": 120.0}}
    duration = 2.0

    def initial_state(self):
        return HopperState(jnp.asarray(1.2), jnp.asarray(0.0))

    def vector_field(self, t, y):
        return HopperState(y.v, self.outputs(t, y)["leg"] / self.mass - 9.81)

    def outputs(self, t, y):
        return {"leg": self.stiffness * jnp.maximum(self.length - y.y, 0.0)}
'''

REPRODUCE = """
from jaxgait.models import Bungee
from jaxgait.report import Report
from my_hopper.hopper import Hopper


def reproduce(out, *, progress):
    out.mkdir(parents=True, exist_ok=True)
    report = Report("Hopping")
    report.figure("mass", "mass of the hopper", "kg", Hopper().mass, expected=80.0)
    report.write(out)
    return report
"""

GOOD = """[jaxgait.models]
my-hopper = my_hopper.hopper:Hopper

[jaxgait.experiments]
my-hopper = my_hopper.reproduce
"""
BAD = """[jaxgait.models]
bungee = my_hopper.hopper:Hopper
broken = my_hopper.broken:Hopper
missing = my_hopper.hopper:Jumper
no-class = my_hopper.hopper:HOPPER
no-model = my_hopper.hopper:HopperState
no-module = nowhere.hopper:Hopper

[jaxgait.experiments]
all = my_hopper.reproduce
silent = my_hopper.hopper
"""


def package(folder, entry_points):
    """A package with entry points, as an installer leaves it, in a folder of its own."""
    (folder / "my_hopper").mkdir()
    for name, text in {"__init__": "", "hopper": HOPPER, "reproduce": REPRODUCE, "broken": "1 / 0"}.items():
        (folder / "my_hopper" / f"{name}.py").write_text(text + "\nHOPPER = 3\n" * (name == "hopper"))
    info = folder / "my_hopper-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-hopper\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entry_points)


RUN_ALL = """
import contextlib, io, json, sys
from jaxgait import cli
outputs = []
for command in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main(command)
        except SystemExit as stop:
            code = stop.code
    outputs.append([code, out.getvalue(), err.getvalue()])
json.dump(outputs, sys.stdout)
"""


def outputs_of(folder, *commands):
    """Exit code, output and errors of commands, one after the other in a process that finds the package."""
    root = os.path.dirname(os.path.dirname(jaxgait.__file__))
    path = os.pathsep.join([str(folder), root, os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL],
        input=json.dumps([command.split() for command in commands]),
        env=os.environ | {"PYTHONPATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_a_mechanism_of_another_package_is_run_by_name(tmp_path):
    package(tmp_path, GOOD)
    help_, listed, run, scanned, again, searched, reproduced = outputs_of(
        tmp_path,
        "run --help",
        "run my-hopper --list",
        "run my-hopper --preset heavy --initial y=1.1 --duration 0.5 --rtol 1e-6 --samples 50 --out run.nc",
        "scan my-hopper --over mass=60:100:3 --initial y=1.1 --duration 0.5 --samples 50 --store scan.zarr",
        "scan my-hopper --over mass=60:100:3 --initial y=1.1 --duration 0.5 --samples 50 --store scan.zarr",
        "optimize my-hopper --minimize peak_force --over stiffness=1e4:3e4 --duration 0.5 --starts 1 --iterations 2",
        "reproduce my-hopper --out report",
    )
    assert [code for code, *_ in (help_, listed, run, scanned, again, searched, reproduced)] == [0] * 7
    assert "my-hopper" in help_[1] and "rolling-walker" in "".join(help_[1].split())
    assert "leg stiffness" in listed[1] and "peak_force" in listed[1] and "heavy" in listed[1]
    assert (
        "120" in xarray.open_dataset(tmp_path / "run.nc", engine="h5netcdf").attrs["parameters"]
        and "completed" in run[1]
    )
    assert "3  completed" in scanned[1] and again[1] == scanned[1]
    assert "best objective" in searched[1]
    assert json.loads((tmp_path / "report" / "figures.json").read_text())[0]["met"]


@pytest.mark.slow
def test_a_bad_registration_is_one_line_and_breaks_nothing_else(tmp_path):
    package(tmp_path, BAD)
    outputs = outputs_of(
        tmp_path,
        "run bungee --duration 1 --samples 5",
        *(f"run {name} --list" for name in ("broken", "missing", "no-class", "no-model", "no-module")),
        "reproduce silent",
    )
    taken = [line for line in outputs[0][2].splitlines() if "is taken by" in line]
    assert outputs[0][0] == 0 and "completed" in outputs[0][1] and len(taken) == 2
    assert "my_hopper.hopper:Hopper (entry point of jaxgait.models) is taken by jaxgait itself: ignored" in taken[0]
    for (code, _, error), wanted in zip(
        outputs[1:],
        [
            "'my_hopper.broken:Hopper', registered with jaxgait, cannot be imported: ZeroDivisionError",
            "cannot be imported: AttributeError: module 'my_hopper.hopper' has no attribute 'Jumper'",
            "must name a model class, got 3",
            "'my_hopper.hopper:HopperState', registered with jaxgait as 'no-model', ",
            "cannot be imported: ModuleNotFoundError: No module named 'nowhere'",
            "has no function reproduce(out, *, progress)",
        ],
        strict=True,
    ):
        assert code == 2 and wanted in error and len(error.splitlines()) == len(taken) + 1, error


_LATER = ("matplotlib", "optax", "pandas", "scipy", "sympy", "tqdm.notebook", "xarray", "zarr")
_LIGHT = {
    "import jaxgait": ("jax", "diffrax", "numpy", *_LATER),
    "import jaxgait.cli": ("jax", "diffrax", *_LATER),
    "from jaxgait import Prosthesis, ensemble, simulate; import jaxgait.ensembles": _LATER,
}


@pytest.mark.parametrize("statement", _LIGHT)
def test_imports_are_light(statement):
    """The help needs neither JAX nor xarray; what measures, pictures, files and recordings need comes with them."""
    code = f"import sys; {statement}; assert not {{*{_LIGHT[statement]}}} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_xarray_comes_with_the_first_result():

    from jaxgait.support import xr

    assert xr.Dataset is xarray.Dataset and {*xr.__all__} <= {*dir(xarray)}
    with pytest.raises(AttributeError, match="DataSet"):
        xr.DataSet  # noqa: B018


def test_checks_of_this_package_leave_other_packages_out():
    """With a package installed that registers a model and an experiment, three tests failed."""
    root = pathlib.Path(__file__).parents[1]
    files = [*(root / "tests").rglob("*.py"), *(root / "experiments").rglob("*.py")]
    found = [path.name for path in files if re.search(r"registry\.(models|experiments)\(\)", path.read_text())]
    assert len(files) > 100 and not found, f"use registry.own_models() or own_experiments() in {', '.join(found)}"


def test_a_prompt_completes_public_names_and_corrects_misspelt_ones():
    assert {"simulate", "ensemble", "Bungee", "models"} <= {*dir(jaxgait)} and "Bungee" in dir(jaxgait.models.bungee)
    assert {"Bungee", "SoftExtension", "SpatialJumper", "TreeModel"} <= {*dir(jaxgait.models)}
    there = {}
    exec("from jaxgait import *", there)
    exec("from jaxgait.models import *", there)
    assert there["simulate"] is jaxgait.simulate and there["RigidWalker"] is jaxgait.RigidWalker
    assert there["TreeModel"] is jaxgait.models.tree.TreeModel  # which is not on the command line
    with pytest.raises(AttributeError, match="no attribute 'simulat': did you mean 'simulate'"):
        jaxgait.simulat  # noqa: B018
    assert len(repr(jaxgait.Prosthesis())) < 200


def test_benchmarks_outside_of_a_checkout(monkeypatch, capsys):
    for name in [name for name in sys.modules if name.partition(".")[0] == "experiments"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "experiments", None)  # as if it were not there
    with pytest.raises(SystemExit, match="2"):
        jaxgait.cli.main(["bench", "--quick"])
    assert "needs a checkout of the repository" in capsys.readouterr().err


def test_a_class_that_a_forked_process_made_is_none_of_this_one():
    """Both go on counting from where they parted: a number alone would name another class here, or none."""

    class Leg(jaxgait.Bungee):
        pass

    session, number, name = jaxgait.registry.session_mark(Leg).split(" ")
    assert jaxgait.registry.made_here(f"{session} {number} {name}") == (Leg, False)
    assert jaxgait.registry.made_here(f"{session} {number} {name}less") == (None, False)
    assert jaxgait.registry.made_here(f"{session} {10**6} {name}") == (None, False)
