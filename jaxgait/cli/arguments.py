"""Values from texts typed on the command line: `name=value`, axes, boxes, and files to write."""

from __future__ import annotations

import dataclasses
import math
import os
import pathlib
import typing
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import equinox as eqx
import numpy as np

from jaxgait import checks
from jaxgait.cli.console import STDOUT
from jaxgait.ensembles.batch import starting
from jaxgait.ensembles.members import INITIAL
from jaxgait.model import Model
from jaxgait.parameters import ParameterError, parameter_info, with_parameters
from jaxgait.parts import parts, with_parts

M = TypeVar("M")
T = TypeVar("T")
_AXIS = "wants name=low:high:count or name=a,b,c"
_BOX = "--over wants name=low:high"


def changed(model: M, texts: Sequence[str]) -> M:
    """A model with parameters, choices and parts from texts: "damper.k=2e4", "sole.rows=0.1,0.2", "friction=Stribeck".

    Raises:
        ParameterError: for anything else, unknown names, names given twice, and values that are not what is asked for.
    """
    found = each(texts, "--set", "--set wants name=value", lambda name, text: text)
    laws = {n for n in parts(model) if n not in choices(model)}
    exchanged = {n: text for n, text in found.items() if n in laws and not _is_number(text)}
    model = with_parts(model, exchanged)  # first, for these bring parameters and choices of their own
    chosen = {name: text for name, text in found.items() if name in choices(model)}
    for name, text in chosen.items():
        model = _with_choice(model, name, name.split("."), text)
    numbers = {n: text for n, text in found.items() if n not in exchanged and n not in chosen}
    return with_parameters(model, {n: _setting(model, n, text) for n, text in numbers.items()})


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def choices(model: Any, prefix: str = "") -> dict[str, Any]:
    """The static choices of a model and its parts by dotted name: flags, whole numbers, and one of several texts."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(model):
        value, name = getattr(model, field.name), prefix + field.name
        if isinstance(value, eqx.Module):
            found |= choices(value, name + ".")
        elif field.metadata.get("static") and (isinstance(value, bool | int) or alternatives(type(model), field.name)):
            found[name] = value
    return found


def alternatives(kind: type, name: str) -> tuple[Any, ...]:
    """The alternatives of a static choice of a class, if its type lists them (`Literal`)."""
    try:
        hint = typing.get_type_hints(kind).get(name)
    except (NameError, TypeError):  # annotations of a user's own model need not be resolvable
        return ()
    return typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()


def components(texts: Sequence[str]) -> dict[str, Any]:
    """Components of the initial state from texts such as "x=0.1" or "state=0,1".

    Raises:
        ParameterError: for anything else, and for names given twice.
    """
    return each(texts, "--initial", "--initial wants name=value", _array)


def state(model: Model, texts: Sequence[str]) -> Any:
    """The initial state of a model with some components from texts; None if there are none.

    Raises:
        ParameterError: for anything but components of the state.
    """
    return starting(model, components(texts)) if texts else None


def axes(texts: Sequence[str], option: str = "--over") -> dict[str, np.ndarray]:
    """Axes of a grid from texts such as "damper.k=1e4:4e4:31" or "mass=50,60,80", given to an option.

    Raises:
        ParameterError: for anything else, and for names given twice.
        MemoryError: for an axis that does not fit in memory.
    """
    return each(texts, option, f"{option} {_AXIS}", lambda name, span: _axis(name, span, option))


def box(texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Bounds from texts such as "damper.k=5e3:4e4".

    Raises:
        ParameterError: for anything else, and for names given twice.
    """
    return each(texts, "--over", _BOX, _bounds)


def apart(fixed: Sequence[str], started: Sequence[str], varied: Sequence[str], option: str = "--over") -> None:
    """Checks whether a parameter, or a component of the initial state, is both fixed and varied.

    Raises:
        ParameterError: naming it.
    """
    options = {text.partition("=")[0]: "--set" for text in fixed}
    options |= {INITIAL + text.partition("=")[0]: "--initial" for text in started}
    both = sorted(options.keys() & {text.partition("=")[0] for text in varied})
    if both:
        raise ParameterError(f"{both[0]} is given to {options[both[0]]} and to {option}: fix it or vary it")


def names(texts: Sequence[str]) -> tuple[str, ...]:
    """Names separated by commas or spaces."""
    return tuple(name.strip() for text in texts for name in text.split(",") if name.strip())


def number(text: str, label: str) -> float:
    """A finite number.

    Raises:
        ParameterError: for anything else.
    """
    try:
        value = float(text)
    except ValueError as error:
        raise ParameterError(f"{label}: {text!r} is not a number") from error
    if not math.isfinite(value):
        raise ParameterError(f"{label}: must be finite, got {text!r}")
    return value


def to_write(path: pathlib.Path | None, *, kinds: Sequence[str] = ()) -> None:
    """Checks, before the work starts, that its result can be written to a file, and makes the folder.

    Args:
        path: the file; None: nothing is to be written.
        kinds: endings that its name may have; any if empty.

    Raises:
        OSError: if not, saying why.
        ValueError: for another ending.
    """
    if path is None:
        return
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder, give the name of a file")
    if path.exists() and not path.is_file():
        raise OSError(f"cannot write {path}: it is not an ordinary file")
    if kinds and path.suffix.removeprefix(".").lower() not in kinds:
        raise ValueError(f"cannot write {path}: its name must end in one of .{', .'.join(sorted(kinds))}")
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(f"cannot write {path}: it is read-only")
    if not path.exists():
        folder_to_write(path.parent)


def json_to_write(path: pathlib.Path | None) -> None:
    """The same for JSON, which may go to the standard output.

    Args:
        path: the file; "-" for the standard output; None: nothing is to be written.

    Raises:
        OSError: if it cannot be written, saying why.
    """
    if path != STDOUT:
        to_write(path)


def folder_to_write(folder: pathlib.Path) -> None:
    """Checks, before the work starts, that results can be written to a folder, and makes it.

    Raises:
        OSError: if not, saying why.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".jaxgait.{os.getpid()}.probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise OSError(f"cannot write to {folder}: {error.strerror or error}") from error


def each(texts: Sequence[str], option: str, wanted: str, value: Callable[[str, str], T]) -> dict[str, T]:
    """The values of `name=...` by name, each name once.

    Args:
        texts: as they are typed.
        option: what they are given to, for messages.
        wanted: what one looks like, for messages.
        value: reads name and text after it.

    Raises:
        ParameterError: for anything else, and for names given twice.
    """
    found: dict[str, T] = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        if not (equals and name and rest):
            raise ParameterError(f"{wanted}, got {text!r}")
        if name in found:
            raise ParameterError(f"{option} names {name} twice")
        found[name] = value(name, rest)
    return found


def _setting(model: Any, name: str, text: str) -> Any:
    """A parameter's value: one number, or numbers separated by commas (rows by semicolons) for an array."""
    info = parameter_info(model, name)
    label = f"{name} (in {info.unit})"
    if info.rank > 1:
        rows = [_row(label, row) for row in text.split(";")]
        if len({len(row) for row in rows}) > 1:
            raise ParameterError(f"{label}: rows of different lengths, {text!r}")
        return rows
    return _row(label, text) if info.rank else number(text, label)


def _row(label: str, text: str) -> list[float]:
    return [number(x, label) for x in text.split(",")]


def _array(name: str, text: str) -> Any:
    row = _row(f"initial.{name}", text)
    return np.array(row) if "," in text else np.array(row[0])


def _choice(name: str, text: str, module: Any, field: str) -> Any:
    """A choice from its text, of the type of the present one."""
    present, options = getattr(module, field), alternatives(type(module), field)
    if isinstance(present, bool):
        options, found = ("true", "false"), text == "true"
    elif isinstance(present, int):
        return _count(name, text)
    else:
        found = text
    if text not in options:
        raise ParameterError(f"{name} must be one of {', '.join(options)}, got {text!r}")
    return found


def _with_choice(module: Any, name: str, path: Sequence[str], text: str) -> Any:
    first, *rest = path
    inner = _with_choice(getattr(module, first), name, rest, text) if rest else _choice(name, text, module, first)
    return dataclasses.replace(module, **{first: inner})


def _axis(name: str, span: str, option: str) -> np.ndarray:
    if ":" not in span:
        return np.array([number(v, name) for v in span.split(",")])
    parts = span.split(":")
    if len(parts) != 3:
        raise ParameterError(f"{option} {_AXIS}, got {name}={span!r}")
    low, high = number(parts[0], name), number(parts[1], name)
    steps = _count(f"the count of {name}", parts[2])
    if low == high or steps == 1:
        raise ParameterError(f"{name}={span!r} is not a range: give two different ends and a count of 2 or more")
    checks.fits_in_memory(f"{steps} values of {name}", 8 * steps, "scan fewer")
    return np.linspace(low, high, steps)


def _count(label: str, text: str) -> int:
    value = number(text, label)
    if value != int(value) or value < 1:
        raise ParameterError(f"{label} must be a whole number, at least 1, got {text!r}")
    return int(value)


def _bounds(name: str, span: str) -> tuple[float, float]:
    parts = span.split(":")
    if len(parts) != 2:
        raise ParameterError(f"{_BOX}, got {name}={span!r}")
    return number(parts[0], name), number(parts[1], name)
