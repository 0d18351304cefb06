"""What the command line says and writes, and its exit codes. Imports nothing heavy: `jaxgait --help` needs no JAX."""

from __future__ import annotations

import contextlib
import json
import logging
import math
import pathlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, TextIO

from jaxgait import files

DONE, NOT_ALL, BAD_INPUT = 0, 1, 2
"""Exit codes."""
STDOUT = pathlib.Path("-")
"""The standard output, where the name of a file for JSON is asked for."""

_output: ContextVar[TextIO | None] = ContextVar("output", default=None)


def say(message: object) -> None:
    """One line on stderr."""
    print(f"jaxgait: {' '.join(str(message).split())}", file=sys.stderr)


def note(message: object) -> None:
    """One line on stderr if somebody looks at it: nothing where it goes to a file or another program."""
    if sys.stderr.isatty():
        say(message)


class _Notes(logging.Handler):
    """What the package logs about its work, as notes."""

    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


@contextlib.contextmanager
def followed() -> Iterator[None]:
    """Shows as notes what the package logs, such as that it compiles."""
    logger, handler = logging.getLogger("jaxgait"), _Notes()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


@contextlib.contextmanager
def kept_for_json(path: pathlib.Path | None) -> Iterator[None]:
    """Keeps the standard output free for `write_json`, if JSON goes there: the text for people goes to stderr.

    Args:
        path: where JSON goes.
    """
    if path != STDOUT:
        yield
        return
    token = _output.set(sys.stdout)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _output.reset(token)


def write_json(path: pathlib.Path | None, record: Any) -> None:
    """Writes what a command found as JSON, whose numbers are finite or null.

    Args:
        path: file; "-" for the standard output; None: nothing is written.
        record: see `plain`.
    """
    if path is None:
        return
    text = json.dumps(plain(record), indent=1, allow_nan=False) + "\n"
    if path == STDOUT:
        (_output.get() or sys.stdout).write(text)
    else:
        files.text(path, text)
        print(f"wrote {path}")


def plain(value: Any) -> Any:
    """The same in what JSON has: arrays become lists, numbers that are not finite become None.

    Args:
        value: numbers, texts, None, paths, arrays and their scalars, and mappings and sequences of these.

    Example:
        >>> from jaxgait.cli.console import plain
        >>> plain({"x": (1.0, float("nan"))})
        {'x': [1.0, None]}
    """
    if isinstance(value, Mapping):
        return {str(name): plain(x) for name, x in value.items()}
    if hasattr(value, "tolist"):  # arrays and their scalars, of NumPy and of JAX
        value = value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(x) for x in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


_FRAME = re.compile("[─│╭╮╰╯]|-{3,}")
_TITLE = re.compile(
    r"^(Required options|Unrecognized options|Value error|Missing argument|Invalid choice|Parsing error)\s+"
)
_HELP = re.compile(r"\s*For full helptext, (?:run:?|see) (jaxgait[\w -]*?--help)\s*$")
_NUMBER = re.compile(
    r"Error parsing (\S+): (?:no type matching \S*\|(INT|FLOAT) could be instantiated from \[|"
    r"could not convert string to (float): |invalid literal for (int)\(\) with base 10: )'(.*?)'"
)
_UNKNOWN = re.compile(r"Unrecognized(?: or misplaced)? options: (.*?)(?:\s{2,}|$|Arguments are|Perhaps|Available)")
_MISSING = re.compile(r"Missing from jaxgait ([\w ]+): (.*?) \(required\)")
_KINDS = {"INT": "a whole number", "int": "a whole number", "FLOAT": "a number", "float": "a number"}


def usage(text: str) -> str:
    """What the library that reads the command line says in a frame of several lines, as one line.

    Args:
        text: what it printed.

    Example:
        >>> from jaxgait.cli.console import usage
        >>> usage("╭─ Invalid choice ─╮ │ invalid choice 'no' │ │ For full helptext, run jaxgait run --help │")
        "invalid choice 'no'; see jaxgait run --help"
    """
    said = " ".join(_FRAME.sub(" ", text).split())
    found = _HELP.search(said)
    what = _TITLE.sub("", _HELP.sub("", said))
    number, unknown, missing = _NUMBER.search(what), _UNKNOWN.search(what), _MISSING.search(what)
    if number:
        option, *kinds, value = number.groups()
        what = f"{option} must be {next(_KINDS[kind] for kind in kinds if kind)}, got {value!r}"
    elif unknown:
        what = _unknown(re.sub(r" \(applied to [\w -]+\)", "", unknown[1]).replace(",", " ").split(), what)
    elif missing:
        what = _missing(*missing.groups())
    return f"{what.rstrip('. ')}; see {found[1] if found else 'jaxgait --help'}"


def _unknown(words: Sequence[str], text: str) -> str:
    """The message for words that are not a command, option or value, with what the parser offers instead."""
    given = " ".join(words)
    near = re.search(r"Perhaps you meant: (--[\w-]+)", text)
    some = re.search(r"Available subcommands: ([\w, -]+)", text)
    if some:
        return f"no command {words[0]!r}: there are {some[1].strip()}"
    if near and near[1] != words[0]:
        return f"unknown option {given}: did you mean {near[1]}?"
    if words[0].startswith("--"):
        hint = f": a parameter is given as --set {words[0][2:]}={words[1]}" if len(words) > 1 else ""
        return f"unknown option {given}{hint}"
    return f"unexpected argument: {given}"


def _missing(command: str, argument: str) -> str:
    """The message for an argument that was not given: its name, or its values in braces, and what it is."""
    choices = re.match(r"\{(.*)\}", argument)
    if choices:
        return f"{command} needs one of {', '.join(name.strip() for name in choices[1].split(','))}"
    name, _, about = argument.partition(" ")
    return f"{command} needs {name}" + (f" ({about.rstrip('.')})" if about else "")


def once(arguments: Sequence[str]) -> None:
    """Checks that no option is given twice: of two, all but the last would be dropped.

    Raises:
        ValueError: naming it.
    """
    options = [a.partition("=")[0].replace("_", "-") for a in arguments if a.startswith("--") and a != "--"]
    twice = sorted({option for option in options if options.count(option) > 1})
    if twice:
        raise ValueError(f"{twice[0]} is given twice: give it once, with all its values after it")


def print_outcomes(ended: Mapping[str, int], precision: str = "float64") -> None:
    """Shows how many trajectories ended in which way, and the precision if it is not the usual one."""
    for outcome, count in ended.items():
        print(f"{count:8d}  {outcome}")
    if precision != "float64":
        print(f"precision: {precision}")
