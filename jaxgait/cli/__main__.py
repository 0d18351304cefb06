"""`python -m jaxgait.cli` is the command `jaxgait`."""

from jaxgait.cli import main

main()
