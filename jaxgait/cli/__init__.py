"""The command line: thin wrappers of Python functions; the registry provides the lists of names."""

from jaxgait.cli.program import main

__all__ = ["main"]
