"""The command line: thin wrappers of Python functions, with names from the registry."""

from jaxgait.cli.program import main

__all__ = ["main"]
