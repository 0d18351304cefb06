"""What the commands do: the Python API on what `jaxgait.arguments` reads, with a few lines of text for people."""

from __future__ import annotations

import dataclasses
import pathlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
import xarray as xr

from jaxgait import arguments as typed
from jaxgait import registry
from jaxgait.console import DONE, NOT_ALL, note, say, write_json
from jaxgait.ensembles import Members, ensemble, estimate, grid, people, product, single_strides, summary
from jaxgait.ensembles.members import constant
from jaxgait.measure import Measure, Measures, known
from jaxgait.model import Model
from jaxgait.motion_commands import check_takes_motion, driven, takes_motion
from jaxgait.outcome import COMPLETED_TEXT, Outcome
from jaxgait.parameters import parameters, with_parameters
from jaxgait.parts import parts
from jaxgait.records import model_record, run_record, scan_record
from jaxgait.run import Sampling, state_variables
from jaxgait.solve.schemes import schemes
from jaxgait.solve.solvers import SOLVERS


def mechanism(request: Any, defaults: Mapping[str, Any] | None = None) -> Model:
    """The model that a command asks for: its preset, driven by its motion, with the defaults, then what is set.

    Args:
        request: with `model`, `preset`, `motion` and `set`.
        defaults: parameters by name.

    Raises:
        ValueError: for unknown names, and for anything but a model under that name.
    """
    return _moved(request, request.motion, defaults or {})


def _moved(request: Any, motion: str | None, defaults: Mapping[str, Any]) -> Model:
    chosen = _preset(request)
    chosen = chosen if motion is None else driven(chosen, motion)
    return typed.changed(with_parameters(chosen, defaults), request.set)


def _preset(request: Any) -> Model:
    chosen = registry.model(request.model)
    if not isinstance(chosen, Model):
        raise ValueError(f"{request.model!r} is registered with jaxgait and no model: {type(chosen).__qualname__}")
    return chosen if request.preset is None else chosen.preset(request.preset)


def walkers(request: Any) -> tuple[Model, Members | None]:
    """The model that a scan asks for, and the members that its motions make; None for at most one motion.

    Args:
        request: with `model`, `preset`, `motion` (several), `each_stride` and `set`.

    Raises:
        ValueError: for unknown names, and where `each_stride` has no single motion to be of.
    """
    if request.each_stride and len(request.motion) != 1:
        raise ValueError(f"--each-stride is of one --motion, got {len(request.motion)}")
    if len(request.motion) < 2 and not request.each_stride:
        return _moved(request, next(iter(request.motion), None), {}), None
    model, then = _preset(request), lambda leg: typed.changed(leg, request.set)
    check_takes_motion(model)
    strides = request.each_stride
    found = single_strides(model, request.motion[0], then=then) if strides else people(model, request.motion, then=then)
    print(f"driven by {', '.join(map(str, found[1].labels[found[1].dims[0]][1]))} (dimension {found[1].dims[0]})")
    return found


def run(
    model: Model,
    start: Any,
    options: Mapping[str, Any],
    out: pathlib.Path | None,
    json: pathlib.Path | None = None,
) -> int:
    """One trajectory: shown, and saved if there are files for it."""
    from jaxgait.solve.simulate import simulate

    length = Sampling.of(model, *(options.get(name) for name in ("strides", "duration", "samples")))
    note(f"running {type(model).__name__}: {length}")
    data = simulate(model, initial_state=start, progress=sys.stderr.isatty(), **options)
    print(data)
    _save(data, out)
    write_json(json, run_record(data) | {"file": out})
    return DONE if data.attrs["status"] == Outcome.COMPLETED else NOT_ALL


def members(
    model: Model, axes: Mapping[str, np.ndarray], fixed: Mapping[str, Any], walking: Members | None = None
) -> Members:
    """The grid of some axes, for every one of the members that walk if there are such, all with the same start.

    Args:
        model: whose names they are.
        axes: values by name, in the unit of each.
        fixed: components of the initial state that all share.
        walking: members that differ in their motion.

    Raises:
        ParameterError: for names and values that the model does not have.
        ValueError: if nothing varies.
    """
    typed.starting(model, fixed)
    varied = [] if walking is None else [walking]
    varied += [grid(axes)] if axes else []
    if not varied:
        raise ValueError("nothing varies in this scan: give --over NAME=low:high:count, or several --motion")
    return constant(product(*varied), {f"initial.{name}": value for name, value in fixed.items()})


def scan(
    model: Model,
    chosen: Members,
    sampling: Mapping[str, Any],
    kept: Mapping[str, Any],
    options: Mapping[str, Any],
    out: pathlib.Path | None,
    json: pathlib.Path | None = None,
    dry_run: bool = False,
) -> int:
    """Many trajectories: how they ended is shown, and the result saved if there are files for it.

    With `dry_run` a few are run, to tell what all of them would take.
    """
    observe = kept["observe"] or possible_measures(model, sampling, kept["trajectories"])
    request = {**sampling, **kept, "observe": observe, **options}
    if dry_run:
        note(f"running a sample of {chosen.size} trajectories of {type(model).__name__}")
        found = estimate(model, chosen, **request)
        print("\n".join(found.lines()))
        write_json(json, dataclasses.asdict(found))
        return DONE
    note(f"running {chosen.size} trajectories of {type(model).__name__}")
    data = ensemble(model, chosen, **request)
    ended = summary(data)
    _print_outcomes(ended)
    print(data)
    _save(data, out)
    write_json(json, scan_record(data) | {"store": request.get("store"), "file": out} if json else None)
    return DONE if COMPLETED_TEXT in ended else NOT_ALL


def reproduce(
    experiments: Mapping[str, Any],
    folders: Mapping[str, pathlib.Path],
    json: pathlib.Path | None = None,
    left_out: Sequence[str] = (),
) -> int:
    """Runs experiments one after the other, each into its folder.

    Args:
        experiments: modules with a function `reproduce`, and if they like a `TITLE` (of their report) and `MINUTES` (of
            processor time that they take), by name.
        folders: by the same names.
        json: file for what was measured.
        left_out: what could not be loaded, and why.

    Raises:
        FileExistsError: if a folder holds another experiment's figures.
        OSError: if a folder cannot be written to.
    """
    for name, folder in folders.items():
        typed.folder_to_write(folder)
        typed.to_write(folder / "report.md")
        _own_folder(name, getattr(experiments[name], "TITLE", None), folder)
    found = {name: _reproduced(name, module, folders[name]) for name, module in experiments.items()}
    records = {
        name: {"folder": folders[name], "counts": report.counts(), "figures": [f.as_dict() for f in report.figures]}
        for name, report in found.items()
    }
    write_json(json, {"experiments": records, "left_out": left_out})
    return NOT_ALL if left_out or any(report.unmet for report in found.values()) else DONE


def _reproduced(name: str, module: Any, folder: pathlib.Path) -> Any:
    """The report of an experiment, which is announced before and summed up after."""
    minutes = getattr(module, "MINUTES", None)
    if minutes is not None:
        print(f"{name}: takes about {minutes:g} minutes of processor time; writes into {folder}", flush=True)
    report = module.reproduce(folder, progress=True)
    print(f"{name}: {report.counts()}; see {folder / 'report.md'}", flush=True)
    if report.unmet:
        say(f"{name}: unmet: {'; '.join(figure.what for figure in report.unmet)}")
    return report


def _own_folder(name: str, title: str | None, folder: pathlib.Path) -> None:
    """Finds out before the work whether a folder holds another experiment's figures, by the title of its report.

    The report of an experiment without a title is its own if the folder has its name.
    """
    if not (folder / "figures.json").exists():
        return
    report = folder / "report.md"
    there = report.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") if report.exists() else ""
    if there == title or (title is None and folder.name == name):
        return
    whose = f"the figures of {there!r}" if there else "another experiment's figures"
    raise FileExistsError(f"cannot write {name} to {folder}: it holds {whose}; give another folder: {folder / name}")


def reproduce_all(out: pathlib.Path, json: pathlib.Path | None = None) -> int:
    """Runs all experiments that can be loaded, each into a folder of its own name, and says which cannot."""
    found, missing = {}, []
    for name in registry.experiments():
        try:
            found[name] = registry.experiment(name)
        except ValueError as error:
            missing.append(str(error))
            say(f"left out: {error}")
    minutes = sum(getattr(module, "MINUTES", 0.0) for module in found.values())
    print(f"{len(found)} experiments: take about {minutes:.0f} minutes of processor time", flush=True)
    return reproduce(found, {name: out / name for name in found}, json, missing)


def view(
    file: pathlib.Path, variables: tuple[str, ...], out: pathlib.Path | None, members: int | None, serve: bool
) -> int:
    """A saved result: shown, and drawn if there is a file for the picture, the film or the page; a scan always is."""
    from jaxgait.plot import film
    from jaxgait.plot.explorer import is_run, opened
    from jaxgait.plot.style import kinds

    films = tuple(ending.removeprefix(".") for ending in film.WRITERS)
    typed.to_write(out, kinds=sorted({*kinds(), *films, "html"}))
    kind = "html" if out is None else out.suffix.removeprefix(".").lower()
    if kind != "html" and (serve or members is not None):
        raise ValueError(f"--{'serve' if serve else 'members'} is for pages, and {out} is a picture or a film")
    data = opened(file)
    chosen = typed.names(variables)
    if out is None and chosen and is_run(data):
        raise ValueError("--variables are drawn: give --out, the picture to write")
    # How the trajectories of a result ended; of other files nothing is known.
    _print_outcomes(summary(data) if "status" in data and "status_legend" in data.attrs else {})
    print(data)
    if serve:
        return _served(file, chosen, members)
    if out is not None:
        _draw(file, data, chosen, out, kind, members)
    elif not is_run(data):
        _page_beside(file, chosen, members)
    return DONE


def _draw(
    file: pathlib.Path, data: xr.Dataset, variables: tuple[str, ...], out: pathlib.Path, kind: str, members: int | None
) -> None:
    from jaxgait.plot import film
    from jaxgait.plot.histories import picture
    from jaxgait.plot.style import save

    if kind == "html":
        _explorer(file, variables, members).save(out)
    elif f".{kind}" in film.WRITERS:
        film.save(film.animate(data), out)
    else:
        save(picture(data, variables), out)
    print(f"wrote {out}")


def _page_beside(file: pathlib.Path, variables: tuple[str, ...], members: int | None) -> None:
    """Writes the page of a scan beside it; says why if there is none to write."""
    from jaxgait.plot.explorer import is_page

    out = file.with_suffix(".html")
    if out.exists() and not is_page(out):
        raise FileExistsError(f"{out} is there and was not written by this command: give --out, the page to write")
    typed.to_write(out)
    try:
        _explorer(file, variables, members).save(out)
    except (ValueError, ModuleNotFoundError) as error:
        if variables or members is not None:
            raise
        say(f"no page: {error}")
    else:
        print(f"wrote {out}: open it in a browser")


def _explorer(file: pathlib.Path, variables: tuple[str, ...], members: int | None) -> Any:
    """The page about a file; says what it simulates."""
    from jaxgait.plot import explorer

    if len(variables) > 1:
        raise ValueError(f"a page shows all variables, --variables names the one that colours it: got {len(variables)}")
    explorer.check_library()
    options: dict[str, Any] = {} if members is None else {"members": members}
    return explorer.explore(file, measure=next(iter(variables), None), say=say, **options)


def _served(file: pathlib.Path, variables: tuple[str, ...], members: int | None) -> int:
    from jaxgait.plot.explorer.serving import serve

    serve(_explorer(file, variables, members))
    return DONE


def shown(model: Model, json: pathlib.Path | None = None) -> int:
    """Lists what a model has, and writes it if there is a file for it."""
    print(listing(model))
    write_json(json, model_record(model))
    return DONE


def listing(model: Model) -> str:
    """What a model has, one a line, with units."""
    sections = {
        "": _parameters(model),
        "parts and choices (--set)": _choices(model),
        "parameter sets (--preset)": list(model.presets),
        "initial state": _start(model),
        "states and outputs": _variables(model),
        "measures": [f"{m.name:53} {m.unit:10} {m.long_name}{_needs(m)}" for m in known(model).values()],
        "events that end a run": list(model.terminations()),
        "events": list(getattr(model, "transitions", dict)()),
        "schemes (--scheme), the default first": _schemes(model),
        "solvers (--solver)": _solvers(model),
        "motion (--motion)": ["measured strides: see `jaxgait motion`"] if takes_motion(type(model)) else [],
    }
    return "\n".join("\n".join(_section(*section)) for section in sections.items() if section[1])


def _section(title: str, rows: list[str]) -> list[str]:
    return ["", f"{title}:", *rows] if title else rows


def _parameters(model: Model) -> list[str]:
    return [f"{n:28} {_short(p.value):>24} {p.unit:10} {p.doc}" for n, p in parameters(model).items()]


def _choices(model: Model) -> list[str]:
    found = {n: (p.present, f"of {', '.join(p.options)}", p.doc) for n, p in parts(model).items()}
    found |= {n: (str(value), "", "") for n, value in typed.choices(model).items() if n not in found}
    return [f"{n:28} {' '.join([f'{present:>24}', *filter(None, rest)])}" for n, (present, *rest) in found.items()]


def _start(model: Model) -> list[str]:
    units = {name: variable.unit for name, variable in model.variables.items()}
    found = state_variables(model.initial_state())
    return [f"{'initial.' + name:28} {_short(x):>24} {units.get(name, '')}".rstrip() for name, x in found.items()]


def _schemes(model: Model) -> list[str]:
    return [f"{s.__name__:28} {', '.join(field.name for field in dataclasses.fields(s))}" for s in schemes(model)]


def _solvers(model: Model) -> list[str]:
    """Of the schemes that take one."""
    taken = any("solver" in (field.name for field in dataclasses.fields(s)) for s in schemes(model))
    return [", ".join(SOLVERS)] if taken else []


def _variables(model: Model) -> list[str]:
    states = state_variables(jax.eval_shape(model.initial_state))
    return [
        f"{name:53} {variable.unit:10} {variable.long_name}{' (state)' if name in states else ''}"
        for name, variable in model.variables.items()
    ]


def _short(value: Any) -> str:
    array = np.asarray(value)
    if array.ndim == 0:
        return f"{array.item():.10g}" if array.dtype.kind == "f" else str(array)
    return np.array2string(array, precision=4, max_line_width=10**6)


def _needs(measure: Measure) -> str:
    """What a measure needs of a run, in brackets."""
    least = "1 stride" if measure.strides == 1 else f"{measure.strides} strides"
    strides = f"{least} or more" if measure.strides else ""
    samples = f"{measure.samples_per_stride} samples per stride" if measure.samples_per_stride else ""
    needs = ", ".join(need for need in (strides, samples) if need)
    return f" (needs {needs})" if needs else ""


def possible_measures(model: Model, request: Mapping[str, Any], trajectories: bool) -> Measures | None:
    """All measures of a model that a run sampled as requested allows; says which it leaves out, and why."""
    sampling = Sampling.of(model, **request)
    brought = tuple(known(model).values())
    possible = Measures(brought).possible(sampling).members
    taken = {*model.variables} if trajectories else set()
    kept = tuple(m for m in possible if m.name not in taken)
    for measure in brought:
        if measure not in possible:
            say(f"left out: {measure.name}{_needs(measure)}; runs are of {sampling}")
        elif measure not in kept:
            say(f"left out: {measure.name}, whose name the trajectories use")
    return Measures(kept) if kept else None


def _print_outcomes(ended: Mapping[str, int]) -> None:
    for outcome, count in ended.items():
        print(f"{count:8d}  {outcome}")


def _save(data: xr.Dataset, out: pathlib.Path | None) -> None:
    if out is not None:
        data.to_netcdf(out, engine="h5netcdf")
        print(f"wrote {out}")
