"""What the commands do: the Python API on what `jaxgait.arguments` reads, with a few lines of text for people."""

from __future__ import annotations

import dataclasses
import pathlib
import sys
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
import xarray as xr

from jaxgait import arguments as typed
from jaxgait import registry
from jaxgait.console import DONE, NOT_ALL, say
from jaxgait.ensembles import Members, ensemble, grid, people, product, single_strides, summary
from jaxgait.ensembles.members import constant
from jaxgait.measure import Measure, Measures, known
from jaxgait.model import Model
from jaxgait.motion_commands import check_takes_motion, driven, takes_motion
from jaxgait.outcome import COMPLETED_TEXT, Outcome
from jaxgait.parameters import parameters, with_parameters
from jaxgait.parts import parts
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


def run(model: Model, start: Any, options: Mapping[str, Any], out: pathlib.Path | None) -> int:
    """One trajectory: shown, and saved if there is a file for it."""
    from jaxgait.solve.simulate import simulate

    data = simulate(model, initial_state=start, progress=sys.stderr.isatty(), **options)
    print(data)
    _save(data, out)
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
    """
    typed.starting(model, fixed)
    varied = [] if walking is None else [walking]
    varied += [grid(axes)] if axes or not varied else []
    return constant(product(*varied), {f"initial.{name}": value for name, value in fixed.items()})


def scan(
    model: Model,
    chosen: Members,
    sampling: Mapping[str, Any],
    kept: Mapping[str, Any],
    options: Mapping[str, Any],
    out: pathlib.Path | None,
) -> int:
    """Many trajectories: how they ended is shown, and the result saved if there is a file for it."""
    observe = kept["observe"] or possible_measures(model, sampling, kept["trajectories"])
    data = ensemble(model, chosen, **sampling, **{**kept, "observe": observe}, **options)
    ended = summary(data)
    _print_outcomes(ended)
    print(data)
    _save(data, out)
    return DONE if COMPLETED_TEXT in ended else NOT_ALL


def reproduce(experiments: Mapping[str, Any], folders: Mapping[str, pathlib.Path]) -> int:
    """Runs experiments one after the other, each into its folder.

    Args:
        experiments: modules with a function `reproduce`, by name.
        folders: by the same names.
    """
    for folder in folders.values():
        typed.folder_to_write(folder)
        typed.to_write(folder / "report.md")
    unmet = 0
    for name, module in experiments.items():
        report = module.reproduce(folders[name], progress=True)
        print(f"{name}: {report.counts()}; see {folders[name] / 'report.md'}")
        unmet += len(report.unmet)
        if report.unmet:
            say(f"{name}: unmet: {'; '.join(figure.what for figure in report.unmet)}")
    return NOT_ALL if unmet else DONE


def reproduce_all(out: pathlib.Path) -> int:
    """Runs all experiments that can be loaded, each into a folder of its own name, and says which cannot."""
    found, missing = {}, 0
    for name in registry.experiments():
        try:
            found[name] = registry.experiment(name)
        except ValueError as error:
            missing += 1
            say(f"left out: {error}")
    code = reproduce(found, {name: out / name for name in found})
    return NOT_ALL if missing else code


def view(file: pathlib.Path, variables: tuple[str, ...], out: pathlib.Path | None) -> int:
    """A saved result: shown, and drawn if there is a file for the picture or the film."""
    from jaxgait.plot import film
    from jaxgait.plot.histories import picture
    from jaxgait.plot.style import kinds, save

    films = tuple(ending.removeprefix(".") for ending in film.WRITERS)
    typed.to_write(out, kinds=sorted({*kinds(), *films}))
    data = saved(file)
    # How the trajectories of a result ended; of other files nothing is known.
    _print_outcomes(summary(data) if "status" in data and "status_legend" in data.attrs else {})
    print(data)
    if out is not None:
        if out.suffix.removeprefix(".").lower() in films:
            film.save(film.animate(data), out)
        else:
            save(picture(data, typed.names(variables)), out)
        print(f"wrote {out}")
    elif variables:
        raise ValueError("--variables are drawn: give --out, the picture to write")
    return DONE


def saved(path: pathlib.Path) -> xr.Dataset:
    """A result from its file.

    Raises:
        FileNotFoundError: if there is none.
        ValueError: for a file of another kind.
    """
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such file")
    try:
        return xr.open_zarr(path) if path.is_dir() else xr.open_dataset(path, engine="h5netcdf")
    except Exception as error:  # what these readers raise for a file of another kind is not theirs to choose
        kind = "Zarr store" if path.is_dir() else "NetCDF-4 file"
        raise ValueError(f"{path} is no result that can be shown: it is no readable {kind} ({error})") from error


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
