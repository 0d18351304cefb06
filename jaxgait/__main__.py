"""`python -m jaxgait` is the command `jaxgait`."""

from jaxgait.cli import main

main()
