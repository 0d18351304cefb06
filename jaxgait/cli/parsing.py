"""Parses command-line text (`name=value`, axes, bounds) and checks output files before work starts."""

from __future__ import annotations

import dataclasses
import math
import os
import pathlib
from collections.abc import Callable, Collection, Sequence
from typing import Any, TypeVar

import equinox as eqx
import numpy as np

from jaxgait import checks
from jaxgait.cli.console import STDOUT
from jaxgait.ensembles.batch import starting
from jaxgait.ensembles.members import INITIAL
from jaxgait.fields import choices as alternatives
from jaxgait.model import Model
from jaxgait.parameters import ParameterError, parameter_info, with_parameters
from jaxgait.parts import parts, with_parts

M = TypeVar("M")
T = TypeVar("T")
_AXIS = "expects name=low:high:count or name=a,b,c"
_BOX = "--over expects name=low:high"


def with_settings(model: M, texts: Sequence[str]) -> M:
    """The model with parameters, choices and parts set: "damper.k=2e4", "sole.rows=0.1,0.2", "friction=Stribeck".

    Raises:
        ParameterError: for malformed text, unknown or repeated names, and invalid values.
    """
    found = pairs(texts, "--set", "--set expects name=value", lambda name, text: text)
    laws = {n for n in parts(model) if n not in choices(model)}
    exchanged = {n: text for n, text in found.items() if n in laws and not _is_number(text)}
    model = with_parts(model, exchanged)  # first: parts have parameters and choices of their own
    chosen = {name: text for name, text in found.items() if name in choices(model)}
    for name, text in chosen.items():
        model = _with_choice(model, name, name, text)
    numbers = {n: text for n, text in found.items() if n not in exchanged and n not in chosen}
    return with_parameters(model, {n: _setting(model, n, text) for n, text in numbers.items()})


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def choices(model: Any, prefix: str = "") -> dict[str, Any]:
    """The static choices (flags, integers, `Literal` alternatives) of a model and its parts, by dotted name."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(model):
        value, name = getattr(model, field.name), prefix + field.name
        if isinstance(value, eqx.Module):
            found |= choices(value, name + ".")
        elif field.metadata.get("static") and (isinstance(value, bool | int) or alternatives(type(model), field.name)):
            found[name] = value
    return found


def components(texts: Sequence[str]) -> dict[str, Any]:
    """Components of the initial state, such as "x=0.1" or "state=0,1".

    Raises:
        ParameterError: for malformed text and repeated names.
    """
    found = pairs(texts, "--initial", "--initial expects name=value", _array)
    return {name.removeprefix(INITIAL): value for name, value in found.items()}  # as `--list` shows them


def state(model: Model, texts: Sequence[str]) -> Any:
    """The model's initial state with the given components; None without any.

    Raises:
        ParameterError: for malformed text and unknown components.
    """
    return starting(model, components(texts)) if texts else None


def axes(texts: Sequence[str], option: str = "--over") -> dict[str, np.ndarray]:
    """Grid axes, such as "damper.k=1e4:4e4:31" or "mass=50,60,80", given to an option.

    Raises:
        ParameterError: for malformed text and repeated names.
        MemoryError: for an axis that does not fit in memory.
    """
    return pairs(texts, option, f"{option} {_AXIS}", lambda name, span: _axis(name, span, option))


def box(texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Bounds, such as "damper.k=5e3:4e4".

    Raises:
        ParameterError: for malformed text and repeated names.
    """
    return pairs(texts, "--over", _BOX, _bounds)


def check_not_fixed(fixed: Sequence[str], start: Sequence[str], varied: Sequence[str], option: str = "--over") -> None:
    """Checks that no parameter or component of the initial state is both fixed and varied.

    Raises:
        ParameterError: naming the one that is.
    """
    options = {text.partition("=")[0]: "--set" for text in fixed}
    options |= {INITIAL + text.partition("=")[0]: "--initial" for text in start}
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


def check_output(path: pathlib.Path | None, *, kinds: Collection[str] = ()) -> None:
    """Checks that a file has one of the extensions `kinds` (empty: any) and can be written; creates its folder.

    Raises:
        OSError: if the file cannot be written.
        ValueError: for another extension.
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
        make_folder(path.parent)


def check_json(path: pathlib.Path | None) -> None:
    """Like `check_output`, for JSON, where "-" means standard output."""
    if path != STDOUT:
        check_output(path)


def make_folder(folder: pathlib.Path) -> None:
    """Creates a folder and checks that it is writable.

    Raises:
        OSError: if it is not.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".jaxgait.{os.getpid()}.probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise OSError(f"cannot write to {folder}: {error.strerror or error}") from error


def pairs(texts: Sequence[str], option: str, wanted: str, value: Callable[[str, str], T]) -> dict[str, T]:
    """The values of `name=...` by name, each name once; `option` and `wanted` (the expected form) are for messages.

    Raises:
        ParameterError: for malformed text and repeated names.
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
    """A parameter's value: a number, or comma-separated numbers (rows separated by semicolons) for an array."""
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
    """Parses a choice of the same type as the current one."""
    current = getattr(module, field)
    if isinstance(current, int) and not isinstance(current, bool):
        return _count(name, text)
    flags: dict[str, Any] = {"false": False, "true": True}
    options = flags if isinstance(current, bool) else {str(o): o for o in alternatives(type(module), field)}
    if text not in options:
        raise ParameterError(f"{name} must be one of {', '.join(options)}, got {text!r}")
    return options[text]


def _with_choice(module: Any, name: str, path: str, text: str) -> Any:
    first, _, rest = path.partition(".")
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
