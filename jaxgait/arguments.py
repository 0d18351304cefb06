"""What users type on the command line, as values: `name=value`, axes, boxes, and files to write."""

from __future__ import annotations

import math
import os
import pathlib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from jaxgait import checks
from jaxgait.parameters import ParameterError, parameter_info

T = TypeVar("T")
_AXIS = "--over wants name=low:high:count or name=a,b,c"
_BOX = "--over wants name=low:high"


def settings(model: Any, texts: Sequence[str]) -> dict[str, float]:
    """Parameters from texts such as "damper.k=2e4".

    Raises:
        ParameterError: for anything else, unknown names, and names given twice.
    """

    def value(name: str, text: str) -> float:
        return number(text, f"{name} (in {parameter_info(model, name).unit})")

    return _each(texts, "--set", "--set wants name=value", value)


def axes(texts: Sequence[str]) -> dict[str, np.ndarray]:
    """Axes of a grid from texts such as "damper.k=1e4:4e4:31" or "mass=50,60,80".

    Raises:
        ParameterError: for anything else, and for names given twice.
        MemoryError: for an axis that does not fit in memory.
    """
    return _each(texts, "--over", _AXIS, _axis)


def box(texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Bounds from texts such as "damper.k=5e3:4e4".

    Raises:
        ParameterError: for anything else, and for names given twice.
    """
    return _each(texts, "--over", _BOX, _bounds)


def apart(fixed: Sequence[str], varied: Sequence[str]) -> None:
    """Finds out whether a parameter is both fixed and varied.

    Raises:
        ParameterError: naming it.
    """
    both = sorted({text.partition("=")[0] for text in fixed} & {text.partition("=")[0] for text in varied})
    if both:
        raise ParameterError(f"{both[0]} is given to --set and to --over: fix it or vary it")


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


def once(arguments: Sequence[str]) -> None:
    """Finds out whether an option is given twice: of two, all but the last would be dropped.

    Raises:
        ValueError: naming it.
    """
    options = [a.partition("=")[0].replace("_", "-") for a in arguments if a.startswith("--") and a != "--"]
    twice = sorted({option for option in options if options.count(option) > 1})
    if twice:
        raise ValueError(f"{twice[0]} is given twice: give it once, with all its values after it")


def to_write(path: pathlib.Path | None, *, kinds: Sequence[str] = ()) -> None:
    """Finds out before the work whether its result can be written to a file; makes the folder that is to hold it.

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
        raise OSError(f"cannot write {path}: it is no ordinary file")
    if kinds and path.suffix.removeprefix(".").lower() not in kinds:
        raise ValueError(f"cannot write {path}: its name must end in one of .{', .'.join(sorted(kinds))}")
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(f"cannot write {path}: it is read-only")
    folder_to_write(path.parent)


def folder_to_write(folder: pathlib.Path) -> None:
    """Finds out before the work whether results can be written to a folder, and makes it.

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


def _each(texts: Sequence[str], option: str, wanted: str, value: Callable[[str, str], T]) -> dict[str, T]:
    """The values of `name=...` by name, each name once."""
    found: dict[str, T] = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        if not (equals and name and rest):
            raise ParameterError(f"{wanted}, got {text!r}")
        if name in found:
            raise ParameterError(f"{option} names {name} twice")
        found[name] = value(name, rest)
    return found


def _axis(name: str, span: str) -> np.ndarray:
    if ":" not in span:
        return np.array([number(v, name) for v in span.split(",")])
    parts = span.split(":")
    if len(parts) != 3:
        raise ParameterError(f"{_AXIS}, got {name}={span!r}")
    low, high = number(parts[0], name), number(parts[1], name)
    steps = _count(name, parts[2])
    if low == high or steps == 1:
        raise ParameterError(f"{name}={span!r} is no range: give two different ends and a count of 2 or more")
    checks.fits_in_memory(f"{steps} values of {name}", 8 * steps, "scan fewer")
    return np.linspace(low, high, steps)


def _count(name: str, text: str) -> int:
    value = number(text, f"the count of {name}")
    if value != int(value) or value < 1:
        raise ParameterError(f"the count of {name} must be a whole number, at least 1, got {text!r}")
    return int(value)


def _bounds(name: str, span: str) -> tuple[float, float]:
    parts = span.split(":")
    if len(parts) != 2:
        raise ParameterError(f"{_BOX}, got {name}={span!r}")
    return number(parts[0], name), number(parts[1], name)
