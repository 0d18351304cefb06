"""`jaxgait view`: prints a saved result, and draws it as a picture, an animation or a page to explore."""

from __future__ import annotations

import pathlib
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import xarray as xr

from jaxgait.cli import parsing
from jaxgait.cli.console import DONE, NOT_ALL, note_when_slow, print_outcomes, say, write_json
from jaxgait.cli.listing import dataset_lines, run_lines, scan_lines
from jaxgait.cli.records import dataset_record, run_record, scan_record
from jaxgait.ensembles import summary
from jaxgait.ensembles.results import DAMAGED, members_dims, open_result
from jaxgait.parameters import ParameterError
from jaxgait.plot.explorer import check_library, explore, is_page, is_run
from jaxgait.plot.explorer.serving import serve as serve_page
from jaxgait.plot.film import WRITERS, animate
from jaxgait.plot.histories import STRIDE, picture
from jaxgait.plot.panels import check_there
from jaxgait.plot.studies import Study, study
from jaxgait.plot.style import check_side, kinds, save
from jaxgait.support.checks import first_few

RESULTS = (".nc", ".zarr")
"""Endings of the names of results; two that differ only in them have pages of their own."""


def view(request: Any) -> int:
    """Runs a `jaxgait.cli.commands.View`; the exit code is 1 for a store with damaged files.

    Raises:
        ValueError: for a file that is not a result, and for impossible requests.
    """
    file, out, members, json = request.file, request.out, request.members, request.json
    parsing.check_output(out, kinds={*kinds(), *WRITERS, "html"})
    if file.is_file() and is_page(file):
        raise ValueError(f"{file} is a page of the explorer: open it in a browser")
    kind = "html" if out is None else out.suffix.removeprefix(".").lower()
    if request.width is not None:
        if kind in (*WRITERS, "html"):
            raise ValueError("--width is that of a picture in print: give --out a picture name, such as figure.pdf")
        check_side("--width", request.width)
    data = selected(open_result(file), request.select, kind)
    chosen, over, found = parsing.names(request.variables), parsing.names(request.over), study(data)
    given = {"variables": chosen, "members": members is not None, "serve": request.serve, "over": over}
    given |= {"parameters": over and list(over) != [STRIDE]}
    if request.last is not None and over != (STRIDE,):
        raise ValueError(f"--last counts strides: give it with --over {STRIDE}")
    _check_followed(file, data, found, out, kind, [name for name, is_given in given.items() if is_given])
    check_there(data, chosen if out is not None and kind in kinds() else ())
    lines, record = _shown_by(data)
    if json is not None:
        write_json(json, record(data))
    with note_when_slow(f"reading {file} ..."):
        print_outcomes(summary(data) if _is_scan(data) else {}, data.attrs.get("precision", "float64"))
        print("\n".join(lines(data)))
    if request.serve:
        serve_page(_explorer(data, chosen, members))
    elif out is not None:
        with note_when_slow(_waiting(out, data)):
            if kind == "html":
                _explorer(data, chosen, members).save(out)
            elif kind in WRITERS:
                animate(data).save(out)
            else:
                of_study = data[list(chosen)] if chosen else data
                drawn = picture(data, chosen, over, last=request.last) if found is None else found.draw(of_study)
                save(drawn, out, width_mm=request.width)
        print(f"wrote {out}")
    elif found is not None:
        print(f"{file} is {found.name}: {_drawn_by(file)}")
    elif lines is not run_lines and (json is None or chosen or members is not None):  # the numbers alone need no page
        _page_next_to(file, data, chosen, members)
    return NOT_ALL if DAMAGED in data.encoding else DONE


def selected(data: xr.Dataset, texts: Sequence[str], kind: str = "png") -> xr.Dataset:
    """The members of a scan with one value along some of its dimensions, from texts such as "subject=anna" or "k=2e4".

    Raises:
        ParameterError: for other text, another dimension, and a value that no member has.
        ValueError: if the file to write is of another kind than a picture.
    """
    if texts and kind not in kinds():
        raise ValueError("--select chooses the members of a picture: give --out a picture name, such as scan.png")

    def index(name: str, value: str) -> int:
        if name not in data.dims or name not in data.coords:
            axes = ", ".join(str(dim) for dim in data.dims if dim in data.coords)
            has = f"has no dimension {name!r} of values, but {axes}" if axes else "has no axes: its members are a list"
            raise ParameterError(f"--select {name}={value}: the result {has}")
        marks = data[name].values
        if marks.dtype.kind in "fiu":
            wanted = parsing.number(value, f"--select {name}")
            same, near = np.isclose(marks, wanted, rtol=1e-6, atol=0.0), marks[np.argsort(np.abs(marks - wanted))[:2]]
            known = f"nearest: {', '.join(f'{mark:.7g}' for mark in near)}"
        else:
            same = np.array([str(mark) == value for mark in marks])
            known = f"only {first_few(list(map(str, marks)))}"
        if not same.any():
            raise ParameterError(f"--select {name}={value}: no member has it, {known}")
        return int(np.argmax(same))

    return data.isel(parsing.pairs(texts, "--select", "--select expects name=value", index))


def _check_followed(
    file: pathlib.Path, data: xr.Dataset, found: Study | None, out: pathlib.Path | None, kind: str, given: Sequence[str]
) -> None:
    """Checks that the file to draw, by its kind, can follow the given options."""
    of_any = ["variables"] if found is not None and found.of_any and kind in kinds() else []
    if found is not None and ({*given} - {*of_any} or (out is not None and kind in (*WRITERS, "html"))):
        raise ValueError(f"{file} is {found.name}, which has one picture and no page: {_drawn_by(file)}")
    if "over" in given and kind in (*WRITERS, "html"):
        raise ValueError("--over names the axes of a picture: give --out, such as scan.png")
    if "parameters" in given and is_run(data):
        raise ValueError(
            f"--over names parameters of a scan, and {file} is one run: leave it out, or give --over {STRIDE}"
        )
    if "serve" in given and out is not None:
        raise ValueError(f"--serve shows a page instead of writing {out}: leave --out out")
    if kind in WRITERS and not is_run(data):
        page = shlex.join(["jaxgait", "view", str(file)])
        raise ValueError(f"cannot write {out}: an animation shows one run, and {file} has many; `{page}` plays some")
    if "members" in given and kind != "html":
        raise ValueError(f"--members is for pages, and {out} is a picture or an animation")
    if "members" in given and is_run(data):
        raise ValueError(f"--members is for pages of scans, and {file} is one run")
    if "variables" in given and (kind in WRITERS or (kind == "html" and is_run(data))):
        raise ValueError("--variables names what a picture of a run draws: give --out a picture name, such as run.png")


def _is_scan(data: xr.Dataset) -> bool:
    return "status" in data and data["status"].ndim > 0 and "status_legend" in data.attrs


def _shown_by(data: xr.Dataset) -> tuple[Callable[..., Iterator[str]], Callable[..., dict[str, Any]]]:
    """The functions that print a result, and make the record that the command which wrote it gives with `--json`."""
    if _is_scan(data):
        return scan_lines, scan_record
    if is_run(data) and study(data) is None:  # a fit to a time history has a time, too
        return run_lines, run_record
    return dataset_lines, dataset_record


def _drawn_by(file: pathlib.Path) -> str:
    names = shlex.join(["jaxgait", "view", str(file), "--out", str(file.with_suffix(".png"))])
    return f"`{names}` draws it"


def _page_next_to(file: pathlib.Path, data: xr.Dataset, variables: tuple[str, ...], members: int | None) -> None:
    """Writes the page of a scan next to its file, or prints that this is not a scan."""
    try:
        members_dims(data)
    except ValueError as error:
        if variables or members is not None:
            raise
        say(f"no page: {error}")
        return
    others = [file.with_suffix(ending) for ending in RESULTS if ending != file.suffix]
    out = file.with_suffix(f"{file.suffix}.html" if any(other.exists() for other in others) else ".html")
    if out.exists() and not is_page(out):
        raise FileExistsError(f"{out} exists and was not written by this command: give --out, the page to write")
    parsing.check_output(out)
    with note_when_slow(_waiting(out, data)):
        _explorer(data, variables, members).save(out)
    print(f"wrote {out}: open it in a browser")


def _waiting(out: pathlib.Path, data: xr.Dataset) -> str:
    return f"drawing {out.name}" + (f", {data['status'].size} members ..." if _is_scan(data) else " ...")


def _explorer(data: xr.Dataset, variables: tuple[str, ...], members: int | None) -> Any:
    """The page for a result; prints what it simulates."""
    if len(variables) > 1:
        raise ValueError(f"a page shows all variables, --variables names one to colour it by: got {len(variables)}")
    check_library()
    options: dict[str, Any] = {} if members is None else {"members": members}
    return explore(data, measure=next(iter(variables), None), say=say, **options)
