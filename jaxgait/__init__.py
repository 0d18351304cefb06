"""jaxgait: a GPU-accelerated ensemble simulator for gait mechanics."""

from jaxgait.ensemble import ensemble as ensemble
from jaxgait.solve.simulate import simulate as simulate

__version__ = "0.1.0"
