"""The command line: thin functions over Python's, whose lists come from the registry."""

from jaxgait.cli.program import main

__all__ = ["main"]
