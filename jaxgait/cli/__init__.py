"""The command line: thin wrappers of Python functions, with names from the registry."""

from jaxgait.cli.interruptions import as_exits

with as_exits():  # until `main` handles signals
    from jaxgait.cli.program import main

__all__ = ["main"]
