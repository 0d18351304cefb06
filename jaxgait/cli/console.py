"""Output of the command line: messages, JSON, usage errors, exit codes. Imports nothing heavy."""

from __future__ import annotations

import contextlib
import difflib
import logging
import os
import pathlib
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, TextIO

from jaxgait.support import files
from jaxgait.support.notes import PATIENCE, say

DONE, NOT_ALL, BAD_INPUT = 0, 1, 2
"""Exit codes."""
STDOUT = pathlib.Path("-")
"""Stands for the standard output as the name of a JSON file."""

_output: ContextVar[TextIO | None] = ContextVar("output", default=None)


def note(message: object) -> None:
    """Prints one line on stderr if that is a terminal."""
    if sys.stderr.isatty():
        say(message)


@contextlib.contextmanager
def note_when_slow(message: str, after: float = PATIENCE) -> Iterator[None]:
    """Prints on stderr, even if that is a log, what a command does, if it takes longer than `after`, in s."""
    timer = threading.Timer(after, say, [message])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class _Notes(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


def each_once() -> Callable[..., None]:
    """A `warnings.showwarning` that prints each message once, whatever code it comes from."""
    seen: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in seen:
            seen.add(str(message))
            say(message)

    return show


@contextlib.contextmanager
def show_log() -> Iterator[None]:
    """Shows the package's log (compilation, for example) as notes."""
    logger, handler = logging.getLogger("jaxgait"), _Notes()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


class _Unbroken:
    """A text stream that keeps working silently when its reader, such as `head`, has exited.

    Other failures, such as a full disk, raise an `OSError` that names the stream, unless it is the one for messages.
    """

    def __init__(self, stream: Any, name: str = "") -> None:
        self._stream = stream
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Writes some text."""
        return self._unless_closed(lambda: self._stream.write(text)) or len(text)

    def flush(self) -> None:
        """Writes buffered text."""
        self._unless_closed(self._stream.flush)

    def _unless_closed(self, act: Callable[[], Any]) -> Any:
        try:
            return act()
        except OSError as error:
            with open(os.devnull, "w") as nowhere:
                os.dup2(nowhere.fileno(), self._stream.fileno())  # also takes what is still buffered
            if self._name and not isinstance(error, BrokenPipeError):
                raise OSError(f"cannot write to {self._name}: {error.strerror or error}") from error
            return None


def open_streams() -> None:
    """Gives a process that was started without a standard output or error (`2>&-`) one that nobody reads.

    Characters that its encoding lacks (±, frames of help) become question marks instead of an error that loses results.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    if reconfigure := getattr(sys.stdout, "reconfigure", None):  # other programs' streams may lack it
        reconfigure(errors="replace")


@contextlib.contextmanager
def unbroken() -> Iterator[None]:
    """Keeps a command running, and writing its files, when the reader of its output exits.

    Raises:
        OSError: if the standard output cannot be written for another reason.
    """
    out: Any = _Unbroken(sys.stdout, "the standard output")
    errors: Any = _Unbroken(sys.stderr)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        yield


@contextlib.contextmanager
def json_on_stdout(path: pathlib.Path | None) -> Iterator[None]:
    """Sends all other text to stderr if the JSON file is the standard output."""
    if path != STDOUT:
        yield
        return
    token = _output.set(sys.stdout)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _output.reset(token)


def write_json(path: pathlib.Path | None, record: Any, *, quiet: bool = False) -> None:
    """Writes a record (see `files.plain`) as JSON to a file; "-" is the standard output, None writes nothing."""
    if path is None:
        return
    text = files.as_json(record)
    if path == STDOUT:
        (_output.get() or sys.stdout).write(text)
    else:
        files.text(path, text)
        if not quiet:
            print(f"wrote {path}")


_FRAME = re.compile("[─│╭╮╰╯]|-{3,}")
_TITLE = re.compile(
    r"^(Required options|Unrecognized options|Value error|Missing argument|Invalid choice|Parsing error)\s+"
)
_HELP = re.compile(r"\s*For full helptext, (?:run:?|see) (jaxgait[\w -]*?--help)\s*$")
_WORDS = {"INT": "a whole number", "FLOAT": "a number"}


def usage_error(text: str, arguments: Sequence[str] = ()) -> str:
    """Turns the framed multi-line error of the parser (tyro) for a command line into one line."""
    line = " ".join(_FRAME.sub(" ", text).split())
    found = _HELP.search(line)
    what = _TITLE.sub("", _HELP.sub("", line))
    matches = ((message, match) for pattern, message in _MESSAGES.items() if (match := re.search(pattern, what)))
    what = next((message(match, arguments) for message, match in matches), what)
    see = found[1] if found else "jaxgait --help"
    if arguments and not arguments[0].startswith("-") and not what.startswith("no command"):
        see = f"jaxgait {arguments[0]} --help"
    return f"{what} See {see}" if what.endswith("?") else f"{what.rstrip('. ')}; see {see}"


def _no_choice(found: re.Match[str], _: Sequence[str]) -> str:
    """The message for a value that is not among an option's choices."""
    known = found[3].replace("'", "")
    return f"{found[2]} must be one of {known}, got {found[1]!r}"


def _no_number(found: re.Match[str], _: Sequence[str]) -> str:
    """The message for an option's value that is not a number of the required kind."""
    option, *kinds, value = found.groups()
    return f"{option} must be {next(_WORDS[kind.upper()] for kind in kinds if kind)}, got {value!r}"


def _unknown(found: re.Match[str], arguments: Sequence[str]) -> str:
    """The message for unrecognised words, with the parser's suggestions."""
    words = re.sub(r" \(applied to [\w -]+\)", "", found[1]).replace(",", " ").split()
    text, given, command = found.string, " ".join(words), next(iter(arguments), "")
    some = re.search(r"Available subcommands: ((?:\w+, )*\w+)", text)
    if command.startswith("-"):
        return _without_command(command, arguments)
    if some:
        return f"no command {words[0]!r}: there are {some[1]}"
    option, _, value = words[0].partition("=")
    value = value or next((word for word in words[1:2] if "=" not in word and not word.startswith("--")), "")
    hints = re.split(r"Perhaps you meant:|Arguments similar to \S+:", text)[1:]
    offered = re.findall(r"(--(?!help\b)[\w-]+).*? in jaxgait ([\w-]+) --help", " ".join(hints))
    begun = lambda one: one[0] == option or (one[1] == command and one[0].startswith(option))
    alike = lambda one: (begun(one), difflib.SequenceMatcher(a=option, b=one[0]).ratio())
    near, where = max(offered, key=alike, default=("", ""))
    if near and (where == command or not value):  # otherwise a parameter with the name of another command's option
        return f"unknown option {given}: did you mean {near}{'' if where == command else f' of jaxgait {where}'}?"
    if option.startswith("--"):
        also = f"; {near} is an option of jaxgait {where}" if near else ""
        hint = f": a parameter is given as --set {option[2:]}={value}" if value else ""
        return f"unknown option {given}{hint}{also}"
    before = arguments[: arguments.index(words[0])] if words[0] in arguments else ()
    if len(before) > 1 and before[-2].startswith("--") and not before[-1].startswith("--"):
        several = "; several are for jaxgait scan and optimize" * (before[-2] == "--motion")
        return f"{before[-2]} takes one value, got {before[-1]} and {given}{several}"
    hint = f": a parameter is given as --set {words[0]}" if "=" in words[0] else ""
    if command == "view" and len(before) > 1:
        joins = "`jaxgait join` joins parts of a scan, and jaxgait.plot.histories.picture (Python) compares runs"
        hint = f": view shows one result, give one at a time; {joins}"
    return f"unexpected argument: {given}{hint}"


def _without_command(option: str, arguments: Sequence[str]) -> str:
    """The message for arguments that begin with an option."""
    if "--version" in arguments:
        return "--version goes alone"
    near = difflib.get_close_matches(option, ("--version", "--help"), n=1, cutoff=0.75)
    return f"unknown option {option}: did you mean {near[0]}?" if near else f"give a command before {option}"


def _missing(found: re.Match[str], _: Sequence[str]) -> str:
    """The message for a missing argument, given as its name or its choices in braces, and its description."""
    command, argument = found.groups()
    choices = re.match(r"\{(.*)\}", argument)
    if choices:
        return f"{command} needs one of {', '.join(name.strip() for name in choices[1].split(','))}"
    name, _, about = argument.partition(" ")
    about = re.sub("^[A-Z]+ ", "", about)  # the placeholder of an option's value
    return f"{command} needs {name}" + (f" ({about.rstrip('.')})" if about else "")


_MESSAGES: dict[str, Callable[[re.Match[str], Sequence[str]], str]] = {
    r"^Missing subcommand .*?\{(.*?)\}": lambda one, _: f"give a command: {one[1]}",
    r"^Missing value for argument '(-.*?)'": lambda one, _: f"{one[1]} needs a value",
    r"invalid choice '(.*?)' for argument '(.*?)'\. Expected one of \((.*?),?\)": _no_choice,
    r"Error parsing (\S+): (?:no type matching \S*\|(INT|FLOAT) could be instantiated from \[|"
    r"could not convert string to (float): |invalid literal for (int)\(\) with base 10: )'(.*?)'": _no_number,
    r"Error parsing (\S+): this option.*?: (.*?)(?: Argument helptext:.*)?$": lambda one, _: f"{one[1]}: {one[2]}",
    r"Unrecognized(?: or misplaced)? options: (.*?)(?:\s{2,}|$|Arguments (?:are|similar)|Perhaps|Available)": _unknown,
    r"Missing from jaxgait ([\w ]+): (.*?) \(required\)": _missing,
}
"""Patterns of the parser's errors, and the message for each; the first match counts."""


def check_repeats(arguments: Sequence[str]) -> None:
    """Checks that no option is given twice (the parser would keep only the last).

    Raises:
        ValueError: naming the repeated option.
    """
    options = [a.partition("=")[0].replace("_", "-") for a in arguments if a.startswith("--") and a != "--"]
    twice = sorted({option for option in options if options.count(option) > 1})
    if twice:
        raise ValueError(f"{twice[0]} is given twice: give it once, with all its values after it")


def print_outcomes(ended: Mapping[str, int], precision: str = "float64") -> None:
    """Prints how many trajectories ended in which way, and the precision unless it is float64."""
    for outcome, count in ended.items():
        print(f"{count:8d}  {outcome}")
    if precision != "float64":
        print(f"precision: {precision}")
