"""`jaxgait reproduce`: runs experiments, each into its folder."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from jaxgait import registry
from jaxgait.cli import parsing
from jaxgait.cli.console import DONE, NOT_ALL, say, write_json
from jaxgait.cli.options import check_not_read
from jaxgait.support import checks


def experiment_or_all(name: str) -> Any:
    """The module of an experiment.

    Raises:
        ValueError: for an unknown name, with the nearest one or all that the command knows.
    """
    known = (*registry.experiments(), registry.ALL)
    if name not in known:
        hint = checks.nearest(name, known, limit=1, otherwise=f"there are {', '.join(known)}", cutoff=0.6)
        raise ValueError(f"no experiment {name!r}: {hint}")
    return registry.experiment(name)


def reproduce(
    experiments: Mapping[str, Any],
    folders: Mapping[str, pathlib.Path],
    json: pathlib.Path | None = None,
    left_out: Sequence[str] = (),
) -> int:
    """Runs experiments one after the other, each into the folder of its name, and writes their figures to `json`.

    Raises:
        FileExistsError: if a folder contains another experiment's figures.
        OSError: if a folder cannot be written to.
        ValueError: if `json` is the file of the figures in one of them.
    """
    own = [("out", folder / "figures.json") for folder in folders.values()]
    check_not_read([*own, *([("json", json)] if json is not None else [])], ())
    for name, folder in folders.items():
        parsing.make_folder(folder)
        parsing.check_output(folder / "report.md")
        _own_folder(name, getattr(experiments[name], "TITLE", None), folder)
    found = {name: _run_one(name, module, folders[name]) for name, module in experiments.items()}
    records = {
        name: {"folder": folders[name], "counts": report.counts(), "figures": [f.as_dict() for f in report.figures]}
        for name, report in found.items()
    }
    write_json(json, {"experiments": records, "left_out": left_out})
    return NOT_ALL if left_out or any(report.unmet for report in found.values()) else DONE


def reproduce_all(out: pathlib.Path, json: pathlib.Path | None = None) -> int:
    """Runs all experiments that can be loaded, each into a folder of its own name, and reports those that cannot."""
    found, missing = {}, []
    for name in registry.experiments():
        try:
            found[name] = registry.experiment(name)
        except ValueError as error:
            missing.append(str(error))
            say(f"left out: {error}")
    minutes = sum(getattr(module, "MINUTES", 0.0) for module in found.values())
    print(f"{len(found)} experiments take about {minutes:.0f} minutes of processor time", flush=True)
    return reproduce(found, {name: out / name for name in found}, json, missing)


def _run_one(name: str, module: Any, folder: pathlib.Path) -> Any:
    """Announces and runs an experiment, and prints a summary; returns its report."""
    minutes = getattr(module, "MINUTES", None)
    if minutes is not None:
        print(f"{name}: takes about {minutes:g} minutes of processor time; writes into {folder}", flush=True)
    report = module.reproduce(folder, progress=sys.stderr.isatty() or None)  # in a log: only the lines of long scans
    print(f"{name}: {report.counts()}; see {folder / 'report.md'}", flush=True)
    if report.unmet:
        say(f"{name}: unmet: {'; '.join(figure.what for figure in report.unmet)}")
    return report


def _own_folder(name: str, title: str | None, folder: pathlib.Path) -> None:
    """Checks that a folder does not contain another experiment's figures, by the title of its report.

    An experiment without a title owns the folder with its name.
    """
    if not (folder / "figures.json").exists():
        return
    report = folder / "report.md"
    titled = report.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") if report.exists() else ""
    if titled == title or (title is None and folder.name == name):
        return
    whose = f"the figures of {titled!r}" if titled else "another experiment's figures"
    raise FileExistsError(f"cannot write {name} to {folder}: it contains {whose}; give another folder: {folder / name}")
