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
    from jaxgait.kinds import Transition as Transition
    from jaxgait.measure import Measure as Measure
    from jaxgait.model import Model as Model
    from jaxgait.model import Numerics as Numerics
    from jaxgait.model import Variable as Variable
    from jaxgait.optimization import optimize as optimize
    from jaxgait.parameters import parameter as parameter
    from jaxgait.parameters import part as part
    from jaxgait.parameters import with_parameters as with_parameters
    from jaxgait.parts import with_parts as with_parts
    from jaxgait.plot.film import animate as animate
    from jaxgait.run import Run as Run
    from jaxgait.solve.simulate import simulate as simulate

__version__ = "0.1.0"
__getattr__ = lazy(
    __name__,
    ensembles="cloud ensemble grid latin_hypercube product sobol zipped",
    kinds="Transition",
    measure="Measure",
    model="Model Numerics Variable",
    optimization="optimize",
    parameters="parameter part with_parameters",
    parts="with_parts",
    run="Run",
    **{"plot.film": "animate", "solve.simulate": "simulate"},
)
