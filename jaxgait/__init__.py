"""jaxgait: a GPU-accelerated ensemble simulator for gait mechanics."""

from typing import TYPE_CHECKING

from jaxgait.registry import lazy

if TYPE_CHECKING:
    from jaxgait.ensembles import cloud as cloud
    from jaxgait.ensembles import ensemble as ensemble
    from jaxgait.ensembles import grid as grid
    from jaxgait.ensembles import latin_hypercube as latin_hypercube
    from jaxgait.ensembles import product as product
    from jaxgait.ensembles import sobol as sobol
    from jaxgait.ensembles import zipped as zipped
    from jaxgait.measure import Measure as Measure
    from jaxgait.optimization import optimize as optimize
    from jaxgait.run import Run as Run
    from jaxgait.solve.simulate import simulate as simulate

__version__ = "0.1.0"
__getattr__ = lazy(
    __name__,
    ensembles="cloud ensemble grid latin_hypercube product sobol zipped",
    measure="Measure",
    optimization="optimize",
    run="Run",
    **{"solve.simulate": "simulate"},
)
