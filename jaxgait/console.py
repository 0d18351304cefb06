"""What the command line says, and its exit codes. Imports nothing heavy: `jaxgait --help` needs no JAX."""

from __future__ import annotations

import sys
from collections.abc import Sequence

DONE, NOT_ALL, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes."""


def say(message: object) -> None:
    """One line on stderr."""
    print(f"jaxgait: {' '.join(str(message).split())}", file=sys.stderr)


def once(arguments: Sequence[str]) -> None:
    """Checks that no option is given twice: of two, all but the last would be dropped.

    Raises:
        ValueError: naming it.
    """
    options = [a.partition("=")[0].replace("_", "-") for a in arguments if a.startswith("--") and a != "--"]
    twice = sorted({option for option in options if options.count(option) > 1})
    if twice:
        raise ValueError(f"{twice[0]} is given twice: give it once, with all its values after it")
