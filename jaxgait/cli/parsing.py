"""Parses command-line text (`name=value`, axes, bounds) and checks output files before work starts.

Values are in the unit of their parameter unless they are written with another one: "20kN/m", "0.5deg", "5,10mm".
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import pathlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, TypeVar

import equinox as eqx
import numpy as np

from jaxgait.cli import distributions
from jaxgait.cli.console import STDOUT
from jaxgait.ensembles.addresses import INITIAL, shape_of
from jaxgait.ensembles.labels import described_value
from jaxgait.ensembles.spacing import Log, check_positive
from jaxgait.fields import choices as alternatives
from jaxgait.fields import replaced
from jaxgait.model import Model
from jaxgait.parameters import ParameterError, parameter_info, parameters, with_parameters
from jaxgait.parts import parts, with_parts
from jaxgait.support import checks, files, machine
from jaxgait.support.units import AFTER_NUMBER, QUANTITY, alike, factor

M = TypeVar("M")
T = TypeVar("T")
_AXIS = "expects name=low:high:count or name=a,b,c"
_BOX = "--over expects name=low:high"
_LOG = "log:"
"""Before a range that is spread in the logarithm."""
_DECIMAL_COMMA = re.compile(r"\s*([-+]?\d+),(\d+(?:[eE][-+]?\d+)?\s*(?:[^\d,].*)?)")

_made: ContextVar[list[pathlib.Path] | None] = ContextVar("_made", default=None)
"""The folders that the command has made, each after its parents; None outside of `no_empty_folders`."""


def with_settings(model: M, texts: Sequence[str]) -> M:
    """The model with parameters, choices and parts set: "damper.k=2e4", "sole.rows=0.1,0.2", "friction=Stribeck".

    Raises:
        ParameterError: for malformed text, unknown or repeated names, and invalid values.
    """
    return _with_numbers(*exchanged(model, texts))


def exchanged(model: M, texts: Sequence[str]) -> tuple[M, dict[str, str]]:
    """The model with the parts and choices of `with_settings`, and the settings that remain.

    Numbers that are set for an exchanged part are applied with it, and do not remain.
    """
    found = pairs(texts, "--set", "--set expects name=value", lambda name, text: text)
    laws = {n for n in parts(model) if n not in choices(model)}
    exchange = {n: text for n, text in found.items() if n in laws and not _is_quantity(text)}
    model = with_parts(model, exchange)  # first: parts have choices of their own
    chosen = {name: text for name, text in found.items() if name in choices(model)}
    model = with_parts(model, {name: _choice(model, name, text) for name, text in chosen.items()})
    numbers = {n: text for n, text in found.items() if n not in exchange and n not in chosen}
    inside = {n: text for n, text in numbers.items() if n.startswith(tuple(f"{part}." for part in exchange))}
    return _with_numbers(model, inside), {n: text for n, text in numbers.items() if n not in inside}


def _with_numbers(model: M, texts: Mapping[str, str]) -> M:
    return with_parameters(model, {n: _setting(model, n, text) for n, text in texts.items()})


def _is_quantity(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return bool(QUANTITY.fullmatch(text))
    return True


def choices(model: Any, prefix: str = "") -> dict[str, Any]:
    """The static choices (booleans, integers, `Literal` alternatives) of a model and its parts, by dotted name."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(model):
        value, name = getattr(model, field.name), prefix + field.name
        if isinstance(value, eqx.Module):
            found |= choices(value, name + ".")
            continue
        known = isinstance(value, bool | int) or alternatives(type(model), field.name)
        if known and field.metadata.get("static") and not replaced(model, field):
            found[name] = value
    return found


def components(model: Model, texts: Sequence[str]) -> dict[str, Any]:
    """Components of the initial state, such as "x=0.1" or "initial.x=0.1" (`--list` shows both names), "state=0,1".

    Raises:
        ParameterError: for malformed text, unknown and repeated names.
    """

    def value(name: str, text: str) -> Any:
        single = not shape_of(model, INITIAL + name)
        row = _varied(model, INITIAL + name, [text] if single else text.split(","))
        return np.array(row[0] if single else row)

    plain = [text.removeprefix(INITIAL) for text in texts]
    return pairs(plain, "--initial", "--initial expects name=value", value)


def axes(model: Model, texts: Sequence[str], option: str = "--over") -> dict[str, np.ndarray]:
    """Grid axes, each (points,), from "damper.k=1e4:4e4:31", "damper.k=10:40:31kN/m" or "mass=50,60" after an option.

    Those of "damper.c=log:10:1e5:9" are spread in the logarithm.

    Raises:
        ParameterError: for malformed text, unknown and repeated names, and incompatible units.
        MemoryError: for an axis that does not fit in memory.
    """
    return pairs(texts, option, f"{option} {_AXIS}", lambda name, span: _axis(model, name, span, option))


def is_sampled(text: str) -> bool:
    """Whether text is "name=low:high" or "name=log:low:high", without a count, or "name=normal(mean,sd)"."""
    span = text.partition("=")[2]
    return distributions.is_written(span) or len(_parts(span)) == 2


def box(model: Model, texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Bounds in the parameters' units, from "damper.k=5e3:4e4", "damper.k=5:40kN/m" or "damper.k=5:40:kN/m".

    Those of "damper.c=log:10:1e5" are logarithmic (`jaxgait.Log`).

    Raises:
        ParameterError: for malformed text, unknown and repeated names, and incompatible units.
    """
    return pairs(texts, "--over", _BOX, lambda name, span: _bounds(model, name, span))


def sampled(model: Model, texts: Sequence[str]) -> dict[str, Any]:
    """Bounds as in `box`, and distributions of `scipy.stats`, from "damper.c=normal(1600,200)" (`distributions.KINDS`).

    Raises:
        ParameterError: as `box`, and for impossible distributions.
    """

    def one(name: str, span: str) -> Any:
        if not distributions.is_written(span):
            return _bounds(model, name, span)
        kind, texts = distributions.parsed(name, span)
        numbers = _varied(model, name, texts)
        if fault := kind.fault(*numbers):
            raise ParameterError(f"--over {name}={span}: {fault}")
        return kind.make(*numbers)

    return pairs(texts, "--over", _BOX, one)


def given(model: Model, texts: Sequence[str], curves: int) -> list[dict[str, float]]:
    """What is known of each of some curves, in its unit, from "mass=62,84kg" or "initial.v=0,1": a value for each.

    Raises:
        ParameterError: for malformed text, unknown and repeated names, incompatible units, another number of values.
    """

    def values(name: str, text: str) -> list[float]:
        found = _varied(model, name, text.split(","))
        if len(found) != curves:
            counted = checks.count_of(len(found), "value", "values"), checks.count_of(curves, "curve", "curves")
            raise ParameterError(f"--given {name}={text} has {counted[0]} for {counted[1]}: give one for each")
        return found

    known = pairs(texts, "--given", "--given expects name=a,b,...", values)
    return [{name: row[i] for name, row in known.items()} for i in range(curves)]


def check_not_fixed(fixed: Sequence[str], start: Sequence[str], varied: Sequence[str], option: str = "--over") -> None:
    """Checks that no parameter or component of the initial state is both fixed and varied.

    Raises:
        ParameterError: naming the one that is.
    """
    options = {text.partition("=")[0]: "--set" for text in fixed}
    options |= {INITIAL + text.removeprefix(INITIAL).partition("=")[0]: "--initial" for text in start}
    both = sorted(options.keys() & {text.partition("=")[0] for text in varied})
    if both:
        advice = "give it once" if option == "--given" else "fix it or vary it"
        raise ParameterError(f"{both[0]} is given to {options[both[0]]} and to {option}: {advice}")


def names(texts: Sequence[str]) -> tuple[str, ...]:
    """Names separated by commas or spaces; commas within brackets ("masses[1,0]") do not separate."""
    return tuple(name.strip() for text in texts for name in re.split(r",(?![^\[\]]*\])", text) if name.strip())


def number(text: str, label: str) -> float:
    """A finite number.

    Raises:
        ParameterError: for anything else.
    """
    try:
        value = float(text)
    except ValueError as error:
        comma = _DECIMAL_COMMA.fullmatch(text)
        hint = f"; write a decimal point, {comma[1]}.{comma[2]}" if comma else ""
        raise ParameterError(f"{label}: {text!r} is not a number{hint}") from error
    if not math.isfinite(value):
        raise ParameterError(f"{label}: must be finite, got {text!r}")
    return value


def quantities(texts: Sequence[str], unit: str, name: str) -> list[float]:
    """Finite numbers in a unit; another unit may be written after each of them, or after the last one for all.

    Raises:
        ParameterError: for text that is not a number, and for incompatible units.
    """
    label = name if unit == "1" else f"{name} (in {unit})"
    split = [(found[1], found[2].strip()) if (found := QUANTITY.fullmatch(x.strip())) else (x, "") for x in texts]
    *own, last = (given for _, given in split)
    if any(own) and not all([*own, last]):
        raise ParameterError(f"{label}: give every number a unit, or only the last one, got {', '.join(texts)}")
    try:
        scales = [factor(given or last or unit, unit, name, of="the value") for _, given in split]
    except ValueError as error:
        raise ParameterError(f"{name}={', '.join(texts)}: {error}") from error
    return [scale * number(x, label) for scale, (x, _) in zip(scales, split, strict=True)]


def check_output(path: pathlib.Path | None, *, kinds: Collection[str] = ()) -> None:
    """Checks that a file has one of the extensions `kinds` (empty: any) and can be written; creates its folder.

    Raises:
        OSError: if the file cannot be written.
        ValueError: for another extension.
    """
    if path is None:
        return
    files.local(path)
    if path.is_dir():
        raise IsADirectoryError(f"cannot write {path}: it is a folder, give the name of a file")
    if path.exists() and not path.is_file():
        raise OSError(f"cannot write {path}: it is not an ordinary file")
    if kinds and path.suffix.removeprefix(".").lower() not in kinds:
        raise ValueError(f"cannot write {path}: its name must end in {checks.listed([f'.{k}' for k in sorted(kinds)])}")
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(f"cannot write {path}: it is read-only")
    if not path.exists():
        make_folder(path.parent)


def check_json(path: pathlib.Path | None) -> None:
    """Like `check_output`, for JSON, where "-" means standard output."""
    if path != STDOUT:
        check_output(path)


@contextlib.contextmanager
def no_empty_folders() -> Iterator[None]:
    """Removes the folders made by `make_folder` in this block that are empty at its end, as after an error."""
    made: list[pathlib.Path] = []
    token = _made.set(made)
    try:
        yield
    finally:
        _made.reset(token)
        for folder in reversed(made):
            with contextlib.suppress(OSError):  # of a folder that is not empty
                folder.rmdir()


def make_folder(folder: pathlib.Path) -> None:
    """Creates a folder and checks that it is writable; see `no_empty_folders`.

    Raises:
        OSError: if it is not.
        ValueError: for an address.
    """
    if files.is_address(folder):
        raise ValueError(f"cannot write to {folder}: it is an address, give the name of a folder")
    try:
        if (made := _made.get()) is not None:
            made += [path.absolute() for path in (*reversed(folder.parents), folder) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".jaxgait.{os.getpid()}.probe"
        probe.touch()
        probe.unlink()
    except FileExistsError as error:
        raise FileExistsError(f"cannot write to {folder}: it is a file, not a folder") from error
    except OSError as error:
        raise OSError(f"cannot write to {folder}: {error.strerror or error}") from error


def pairs(texts: Sequence[str], option: str, wanted: str, value: Callable[[str, str], T]) -> dict[str, T]:
    """The values of `name=...` by name, each name once; `option` and `wanted` (the expected form) are for messages.

    Raises:
        ParameterError: for malformed text and repeated names.
    """
    found: dict[str, T] = {}
    for before, text in zip(["", *texts], texts, strict=False):
        name, equals, rest = text.partition("=")
        if not (equals and name and rest):
            is_unit = re.search(r"\d$", before) and alike(text)
            hint = f"; a unit follows without a space: {before}{text}" if is_unit else ""
            raise ParameterError(f"{wanted}, got {text!r}{hint}")
        if name in found:
            raise ParameterError(f"{option} names {name} twice")
        found[name] = value(name, rest)
    return found


def _setting(model: Any, name: str, text: str) -> Any:
    """A parameter's value: a number, or comma-separated numbers (rows separated by semicolons) for an array."""
    _check_law(model, name)
    info = parameter_info(model, name)
    rows = [row.split(",") if info.rank else [row] for row in (text.split(";") if info.rank > 1 else [text])]
    if len({len(row) for row in rows}) > 1:
        raise ParameterError(f"{name} (in {info.unit}): rows of different lengths, {text!r}")
    flat = np.array(quantities([x for row in rows for x in row], info.unit, name))
    if not info.rank:
        return float(flat[0])
    return (flat.reshape(len(rows), -1) if info.rank > 1 else flat).tolist()


def _check_law(model: Any, name: str) -> None:
    """Checks that a name is not a parameter of another law than the current one."""
    path, _, last = name.rpartition(".")
    part = parts(model).get(path)
    if part is None or name in parameters(model):
        return
    kinds = {law: option if isinstance(option, type) else type(option) for law, option in part.options.items()}
    fields = {law: dataclasses.fields(kind) for law, kind in kinds.items() if issubclass(kind, eqx.Module)}
    laws = [law for law, known in fields.items() if last in (f.name for f in known if "unit" in f.metadata)]
    if laws:
        which = f"{path} is {part.present}, without {last!r}; {checks.listed(laws)} has it"
        raise ParameterError(f"{which}: --set {path}={laws[0]} {name}=...")


def _varied(model: Model, name: str, texts: Sequence[str]) -> list[float]:
    """Values of a parameter, a component of the initial state or a number of the motion, in its unit."""
    part = parts(model).get(name)
    if part is not None and not all(map(_is_quantity, texts)):
        raise ParameterError(
            f"{name} is a part, not a number that can vary: run one command for each of {', '.join(part.options)}, "
            f"with --set {name}=..."
        )
    _check_law(model, name)
    shape_of(model, name)  # raises for unknown names
    return quantities(texts, described_value(model, name).get("units", "1"), name)


def _parts(span: str) -> list[str]:
    """The parts of a range such as "14:30", "14:30:17" or "log:14:30"; a unit after a colon belongs to the last one."""
    *parts, last = span.removeprefix(_LOG).split(":")
    if parts and re.match(AFTER_NUMBER, last) and last.lower() not in ("inf", "nan"):
        return [*parts[:-1], f"{parts[-1]} {last}"]
    return [*parts, last]


def _choice(model: Any, name: str, text: str) -> Any:
    """Parses a choice of the same type as the current one."""
    current = choices(model)[name]
    if isinstance(current, int) and not isinstance(current, bool):
        return _count(name, text)
    flags: dict[str, Any] = {"false": False, "true": True}
    options = flags if isinstance(current, bool) else parts(model)[name].options
    if text not in options:
        raise ParameterError(f"{name} must be one of {', '.join(options)}, got {text!r}")
    return options[text]


def _axis(model: Model, name: str, span: str, option: str) -> np.ndarray:
    if distributions.is_written(span):
        hint = "; a distribution needs a sample, --sobol N or --latin-hypercube N" if option == "--over" else ""
        raise ParameterError(f"{option} {_AXIS}, got {name}={span!r}{hint}")
    if ":" not in span:
        values = np.array(_varied(model, name, span.split(",")))
        if len({*values}) < len(values):
            raise ParameterError(f"{option} gives a value of {name} twice: {span}")
        return values
    parts = _parts(span)
    if len(parts) != 3:
        hint = "; --sobol N samples ranges low:high" if len(parts) == 2 and option == "--over" else ""
        raise ParameterError(f"{option} {_AXIS}, got {name}={span!r}{hint}")
    count = QUANTITY.fullmatch(parts[2])  # a unit after the count is that of the ends
    low, high = _varied(model, name, [parts[0], f"{parts[1]} {count[2]}".rstrip() if count else parts[1]])
    steps = _count(f"the count of {name}", count[1] if count else parts[2], least=2)
    if low == high:
        raise ParameterError(f"{name}={span!r} is not a range: give two different ends")
    machine.fits_in_memory(f"{steps} values of {name}", 8 * steps, "scan fewer")
    if not span.startswith(_LOG):
        return np.linspace(low, high, steps)
    check_positive(name, Log(low, high))
    return np.geomspace(low, high, steps)


def _count(label: str, text: str, least: int = 1) -> int:
    value = number(text, label)
    if value != int(value) or value < least:
        raise ParameterError(f"{label} must be a whole number, at least {least}, got {text!r}")
    return int(value)


def _bounds(model: Model, name: str, span: str) -> tuple[float, float]:
    if distributions.is_written(span):
        what = f"{_BOX}, got {name}={span!r}: a search has bounds"
        raise ParameterError(f"{what}; `jaxgait scan` samples distributions, with --sobol N or --latin-hypercube N")
    parts = _parts(span)
    if len(parts) != 2:
        raise ParameterError(f"{_BOX}, got {name}={span!r}")
    low, high = _varied(model, name, parts)
    return Log(low, high) if span.startswith(_LOG) else (low, high)
