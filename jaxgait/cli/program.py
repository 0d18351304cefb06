"""Simulate ensembles of gait mechanisms, optimise them with gradients, and reproduce papers.

Examples:
  jaxgait run knee --list                                    list a mechanism's parameters, outputs and measures
  jaxgait run knee --set damper.k=2e4 --strides 5 --out run.nc
  jaxgait view run.nc --out walk.gif
  jaxgait scan bungee --over mass=40:100:61 stiffness=15:40:51 --store scan.zarr --dry-run
  jaxgait optimize knee --over damper.k=1.2e4:3e4 --maximize rho --json best.json
  jaxgait fit bungee --measured jump.csv --over stiffness=15:40 rope_length=24:34 --report out/fit
  jaxgait reproduce bungee
  jaxgait completion bash                                    completion with the Tab key

`jaxgait COMMAND --help` shows a command's options, which are named like the arguments in Python; `--version` shows the
version. With `--json FILE` a command writes its results as JSON, with `--json -` to the standard output.

Exit codes: 0, success; 1, the work did not fully succeed (a run that did not reach its end, also one of the best design
of a search, a scan without a completed member, a store with damaged files, a search without a result, a fit that is not
a minimum or leaves parameters undetermined, a reproduction that misses the specification); 2, bad input or usage,
explained in one line; 130 and 143, interrupted by Ctrl-C and `kill`: what is in a store or a checkpoint is safe, and
the same command resumes from there.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import importlib
import inspect
import io
import os
import re
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any, Union

import tyro

from jaxgait import __version__, registry
from jaxgait.cli import console, interruptions
from jaxgait.cli.commands import Bench, Fit, Join, Motion, Optimize, Reproduce, Run, Scan, View
from jaxgait.cli.completion import Shell, with_names
from jaxgait.cli.options import Positional, check_files, check_values, with_home

PROGRAM = "jaxgait"
GARBAGE = 10_000
"""New objects after which Python collects garbage: imports and traces make many that stay, so that 700 are too few."""


@dataclasses.dataclass(frozen=True)
class Completion:
    """Print a script with which a shell completes commands, options and names.

    For bash, add `source <(jaxgait completion bash)` to ~/.bashrc. For zsh, write `jaxgait completion zsh` to a file
    named _jaxgait in a folder of $fpath. For fish, write `jaxgait completion fish` to the file
    jaxgait.fish in ~/.config/fish/completions.
    """

    shell: Positional[Shell]
    """Which shell."""

    def __call__(self) -> int:
        """Prints it."""
        script = io.StringIO()
        with contextlib.suppress(SystemExit), contextlib.redirect_stdout(script):
            _parse(["--tyro-print-completion", self.shell])
        print(with_names(script.getvalue(), self.shell))
        return 0


COMMANDS = {
    "run": Run,
    "scan": Scan,
    "join": Join,
    "optimize": Optimize,
    "fit": Fit,
    "motion": Motion,
    "reproduce": Reproduce,
    "bench": Bench,
    "view": View,
    "completion": Completion,
}


def _parse(arguments: Sequence[str]) -> Any:
    """The command that arguments name; `SystemExit` after help, a completion script and errors (on stderr)."""
    whole = not arguments or arguments[0].startswith("-")  # the help then lists all commands, each in one sentence
    about = lambda kind: (inspect.getdoc(kind) or "").partition("\n\n")[0] if whole else None
    named = (Annotated[kind, tyro.conf.subcommand(name, description=about(kind))] for name, kind in COMMANDS.items())
    any_command: Any = Union[*named]
    one_flag = (tyro.conf.FlagCreatePairsOff,)  # --list without --no-list
    return tyro.cli(any_command, prog=PROGRAM, args=arguments, description=__doc__, config=one_flag)


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the command `jaxgait`; for the exit codes see the module."""
    ours = arguments is None  # the process
    given = sys.argv[1:] if ours else arguments
    if ours:
        gc.set_threshold(GARBAGE)
    with interruptions.as_exits():
        console.open_streams()
        for fault in registry.faults():
            console.say(fault)
    interrupted = False
    with console.unbroken(), warnings.catch_warnings(), interruptions.as_exceptions():
        warnings.showwarning = console.each_once()
        try:
            code = _exit_code(given)
        except KeyboardInterrupt as interruption:
            console.say(interruption if interruption.args else "interrupted")
            interrupted, code = True, interruptions.code()
        _flush()
    if interrupted and ours:  # do not wait for running blocks
        os._exit(code)
    if code:
        sys.exit(code)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()


def _exit_code(arguments: list[str]) -> int:
    """Runs a command; an error that the user can fix becomes one line on stderr.

    For debugging, set the environment variable `JAXGAIT_TRACEBACK` to keep the traceback.
    """
    try:
        console.check_repeats(arguments)
        if arguments == ["--version"]:
            print(f"jaxgait {__version__}")
            return 0
        command = _read(arguments)
        with console.show_log(), console.json_on_stdout(getattr(command, "json", None)):
            code = command() if isinstance(command, Completion) else _run(command)
        sys.stdout.flush()
        return code
    except Exception as error:
        if interruptions.caused_by_signal(error):
            raise KeyboardInterrupt from error
        code, message = _code_of(error), _message_of(error)
        if os.environ.get("JAXGAIT_TRACEBACK") or not (code or message):
            raise
        console.say(message or error)
        return code or console.BAD_INPUT


def _run(command: Any) -> int:
    """Runs a command that needs JAX; folders made for its results do not stay if nothing was written into them."""
    check_files(command)
    console.note("loading JAX, a few seconds")
    with interruptions.as_exits():
        importlib.import_module("jaxgait.ensembles")
    from jaxgait.cli.parsing import check_json, no_empty_folders

    _check_devices()
    with no_empty_folders():
        check_json(command.json)
        return command() or 0


def _check_devices() -> None:
    """Checks that there is a device of the platforms that the environment asks for.

    Raises:
        ValueError: if there is none.
    """
    import jax

    try:
        found = bool(jax.devices())
    except (RuntimeError, AssertionError):  # for names that are not known, and for GPUs without one
        found = False
    if not found:
        raise ValueError(
            f"JAX finds no device for JAX_PLATFORMS={os.environ.get('JAX_PLATFORMS', '')}: unset it to compute on the "
            'CPU, or install JAX for the GPU (pip install "jax[cuda12]")'
        )


def _read(arguments: list[str]) -> Any:
    """Parses the command line; a `ValueError` explains invalid usage in one line."""
    errors = io.StringIO()
    try:
        with contextlib.redirect_stderr(errors):
            command = _parse(arguments)
        check_values(command, arguments)
        return with_home(command)
    except SystemExit as stop:
        if not stop.code:  # --help
            raise
    text = errors.getvalue()
    if re.search("Missing value for argument '[^-]", text) and len(arguments) > 1:  # an option where a name is due
        _read(arguments[:1])  # raises: its error says which names there are
    raise ValueError(console.usage_error(text, arguments))


def _message_of(error: Exception) -> str:
    """The message for an error in the code of a model: where it was raised; empty for others."""
    from jaxgait.support.checks import Place, own_line

    places = [note for note in getattr(error, "__notes__", ()) if isinstance(note, Place)]
    where = places[0] if places else own_line(error) if _code_of(error) is None else ""
    more = "set JAXGAIT_TRACEBACK=1 for the traceback"
    return f"{type(error).__name__}: {error} ({where}); {more}" if where else ""


def _code_of(error: Exception) -> int | None:
    """The exit code for an expected error; None for a bug."""
    from jaxgait.ensembles.store import StoreError
    from jaxgait.outcome import NoResult
    from jaxgait.solve.tracing import EquationError

    if isinstance(error, ValueError | OSError | ModuleNotFoundError | MemoryError | StoreError | EquationError):
        return console.BAD_INPUT
    return console.NOT_ALL if isinstance(error, NoResult) else None
