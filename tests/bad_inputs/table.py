"""Runs every case in a plain interpreter (no run-time type checks, JAX's own settings): all messages, as JSON."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import io
import json
import pathlib
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

_MODULES = {
    "jaxgait": ("Measure", "Variable", "animate", "ensemble", "explore", "fit", "optimize", "simulate"),
    "jaxgait.ensembles": ("again", "cloud", "grid", "latin_hypercube", "product", "sobol", "summary", "zipped"),
    "jaxgait.ensembles.members": ("check_members",),
    "jaxgait.ensembles.store": ("read_store",),
    "jaxgait.ensembles.walks": ("people",),
    "jaxgait.analysis.attractors": ("basin", "bifurcation_diagram"),
    "jaxgait.analysis.continuation": ("bifurcation_curve", "continuation"),
    "jaxgait.analysis.floquet": ("floquet", "lyapunov_exponent"),
    "jaxgait.analysis.gait": ("correlation", "maximum", "refined", "spectrum", "stride_table", "subharmonic_order"),
    "jaxgait.calibration": ("over_time",),
    "jaxgait.models.bungee.model": ("Bungee",),
    "jaxgait.models.creeper.model": ("Creeper",),
    "jaxgait.models.creeper.chain": ("CreeperChain",),
    "jaxgait.models.exoskeleton.model": ("Exoskeleton",),
    "jaxgait.models.exoskeleton.tree": ("Chain", "RodLink"),
    "jaxgait.models.exoskeleton.walking": ("JoinedGait",),
    "jaxgait.models.creeper.inchworm": ("Inchworm",),
    "jaxgait.models.jumper.human": ("Jumper",),
    "jaxgait.models.jumper.robot": ("JumpingRobot",),
    "jaxgait.mechanics.anthropometry": ("segment",),
    "jaxgait.mechanics.friction": ("Dahl", "Stribeck"),
    "jaxgait.mechanics.spatial": ("Link", "hinge"),
    "jaxgait.models.tree.mjcf": ("from_mujoco",),
    "jaxgait.models.tree.parts": ("ContactPoint", "Spring"),
    "jaxgait.motion.capture.walk": ("measure",),
    "jaxgait.models.walker.measures": ("rolling_gait",),
    "jaxgait.plot.fronts": ("trade_offs",),
    "jaxgait.plot.histories": ("picture",),
    "jaxgait.plot.strides": ("over_stride",),
    "jaxgait.plot.style": ("save",),
    "jaxgait.parameters": ("parameter", "with_parameters"),
    "jaxgait.run": ("Sampling",),
    "jaxgait.solve.smooth": ("integrate",),
    "jaxgait.solve.time_stepping": ("march",),
    "jaxgait.solve.periodic": ("PoincareMap", "StroboscopicMap", "fixed_point", "orbit"),
    "jaxgait.parts": ("with_parts",),
    "jaxgait.models.prosthesis.model": ("Prosthesis",),
    "jaxgait.models.tree.model": ("TreeModel",),
    "jaxgait.models.prosthesis.parts": ("Lock", "Socket"),
    "jaxgait.models.jumper.spatial": ("SpatialJumper",),
    "jaxgait.models.walker.smooth": ("Walker",),
    "jaxgait.models.walker.rigid": ("RigidWalker", "RollingWalker"),
}


class Said(NamedTuple):
    """What came of one case: an exception or a warning (for a command an exit code), and its message."""

    kind: str
    message: str


def names(folder: pathlib.Path) -> dict[str, Any]:
    """What the calls know."""
    import diffrax
    import equinox as eqx
    import jax
    import numpy as np
    import xarray as xr

    from jaxgait.registry import model
    from tests.solve.test_tracing import Stack

    known: dict[str, Any] = {"diffrax": diffrax, "jax": jax, "np": np, "xr": xr, "nan": np.nan, "inf": np.inf}
    for module, wanted in _MODULES.items():
        known |= {name: getattr(importlib.import_module(module), name) for name in wanted}
    leg = known["Prosthesis"]()
    known["unloaded"] = eqx.tree_at(lambda d: d.load, leg.drive, None)
    known |= _trials()
    known["pole"] = known["Link"]("leg", None, known["hinge"]((0, 1, 0)), mass=5.0, com=(0.0, 0.0, -0.2))
    known["fallen"] = known["Bungee"]().initial_state()
    known["ounces"] = xr.DataArray(150.0, attrs={"units": "oz"})
    known["huge"] = np.linspace(1.0, 2.0, 10**6)
    known["lowest"] = lambda run: -run["x"].max()
    known |= {"known_model": model, "Stack": Stack}
    known["a_file"] = str(folder / "a_file.txt")
    return known


def _trials() -> dict[str, Any]:
    """Recordings of two people."""
    from jaxgait.motion.drive import reference_gait, synthetic_recording

    trial = synthetic_recording(reference_gait(), duration=3.0)
    people = {"anna": {"name": "anna", "mass_kg": 60.0}, "ben": {"name": "ben", "mass_kg": 95.0}}
    return {who: dataclasses.replace(trial, name=who, file=f"{who}.mot", subject=x) for who, x in people.items()}


def call(text: str, known: dict[str, Any]) -> Said:
    """The first warning or the exception of a call."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            eval(text, known)
        except Exception as error:
            message = str(error.args[0]) if isinstance(error, KeyError) else str(error)
            return Said(type(error).__name__, message)
    return Said(warned[0].category.__name__, str(warned[0].message)) if warned else Said("nothing", "")


def command(text: str, files: dict[str, str]) -> Said:
    """The exit code of a command and what it says on stderr."""
    from jaxgait import cli

    arguments = [re.sub(r"A_[A-Z]+", lambda found: files[found[0]], word) for word in text.split()]
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            cli.main(arguments)
    except SystemExit as stop:
        return Said(str(stop.code), _named(said.getvalue(), files))
    except Exception as error:
        return Said(f"traceback of {type(error).__name__}", str(error))
    return Said("0", said.getvalue())


def _named(text: str, files: dict[str, str]) -> str:
    for name, path in files.items():
        text = text.replace(path, name)
    return text.removeprefix("jaxgait: ").strip()


def _without_paths(said: Said, files: dict[str, str]) -> Said:
    return said._replace(message=_named(said.message, files))


def strides(folder: pathlib.Path) -> list[tuple[str, Said]]:
    """What `read_drive` says of every bad stride."""
    from jaxgait.motion.drive import read_drive
    from tests.motion.bad_strides import BAD

    found, file = [], folder / "stride.csv"
    for name, bad in BAD.items():
        file.write_bytes(bad.raw)
        said = call("read(file)", {"read": read_drive, "file": file})
        found.append((name, Said(said.kind, _named(said.message, {"stride.csv": str(file)}))))
    return found


def walks() -> list[tuple[str, Said]]:
    """What is said of bad walks and hybrid runs."""
    from tests import bad_walks

    known = bad_walks.names()
    return [(text, call(text, known)) for text, *_ in bad_walks.CASES]


def collect() -> dict[str, list[tuple[str, Said]]]:
    """What is said in all cases, by area."""
    from tests.bad_inputs.cases import CALLS, COMMANDS, CURVES

    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        (folder / "a_file.txt").write_text("a text\n")
        (folder / "a_folder").mkdir()
        files = {"A_FILE": str(folder / "a_file.txt"), "A_FOLDER": str(folder / "a_folder")}
        files["A_RUN"] = str(_a_run(folder))
        for name, text in CURVES.items():
            files[name] = str(folder / f"{name.lower()}.csv")
            pathlib.Path(files[name]).write_text(text)
        known = names(folder)
        found: dict[str, list[tuple[str, Said]]] = {
            area: [(text, _without_paths(call(text, known), files)) for text, *_ in cases]
            for area, cases in CALLS.items()
        }
        found |= {area: [(text, command(text, files)) for text, *_ in cases] for area, cases in COMMANDS.items()}
        return found | {"walks and gaits": walks(), "measured strides": strides(folder)}


def _a_run(folder: pathlib.Path) -> pathlib.Path:
    """A file like a result, without a run."""
    import numpy as np
    import xarray as xr

    path = folder / "run.nc"
    xr.Dataset({"x": ("time", np.zeros(3))}, coords={"time": np.arange(3.0)}).to_netcdf(path, engine="h5netcdf")
    return path


def main(write: Callable[[str], Any] = print) -> None:
    """Prints what all cases say as JSON."""
    import os

    os.environ["JAX_PLATFORMS"] = os.environ.get("JAX_PLATFORMS", "cpu")
    write(json.dumps(collect()))


if __name__ == "__main__":
    main()
