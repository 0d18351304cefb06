"""jaxgait: an ensemble simulator for gait mechanics, on CPUs and GPUs.

    from jaxgait import Prosthesis, animate, ensemble, optimize, simulate

    run = simulate(Prosthesis(), strides=3)                                        # an xarray Dataset with units
    scan = ensemble(Prosthesis(), {"damper.k": [1.5e4, 2e4]}, observe=["rho"])     # members, statuses, measures
    film = animate(run)

Models: Bungee, Creeper, CreeperChain, Exoskeleton, Inchworm, Jumper, JumpingRobot, Prosthesis, RigidWalker,
RollingWalker, SpatialJumper, Walker. Members of ensembles: cloud, grid, latin_hypercube, product, sobol, zipped.
Ranges of decades: Log. A mechanism of your own: Model, Variable, Numerics, Measure, Transition, parameter, part,
derived. Other parameters and laws: with_parameters, with_parts. Files for OpenSim, and CSV: export.
"""

from typing import TYPE_CHECKING

from jaxgait.registry import lazy

if TYPE_CHECKING:
    from jaxgait.calibration import fit as fit
    from jaxgait.ensembles import Log as Log
    from jaxgait.ensembles import cloud as cloud
    from jaxgait.ensembles import ensemble as ensemble
    from jaxgait.ensembles import grid as grid
    from jaxgait.ensembles import latin_hypercube as latin_hypercube
    from jaxgait.ensembles import product as product
    from jaxgait.ensembles import sobol as sobol
    from jaxgait.ensembles import zipped as zipped
    from jaxgait.exporting import export as export
    from jaxgait.kinds import Transition as Transition
    from jaxgait.measure import Measure as Measure
    from jaxgait.model import Model as Model
    from jaxgait.model import Numerics as Numerics
    from jaxgait.model import Variable as Variable
    from jaxgait.model import derived as derived
    from jaxgait.models.bungee.model import Bungee as Bungee
    from jaxgait.models.creeper.chain import CreeperChain as CreeperChain
    from jaxgait.models.creeper.inchworm import Inchworm as Inchworm
    from jaxgait.models.creeper.model import Creeper as Creeper
    from jaxgait.models.exoskeleton.model import Exoskeleton as Exoskeleton
    from jaxgait.models.jumper.human import Jumper as Jumper
    from jaxgait.models.jumper.robot import JumpingRobot as JumpingRobot
    from jaxgait.models.jumper.spatial import SpatialJumper as SpatialJumper
    from jaxgait.models.prosthesis.model import Prosthesis as Prosthesis
    from jaxgait.models.walker.rigid import RigidWalker as RigidWalker
    from jaxgait.models.walker.rigid import RollingWalker as RollingWalker
    from jaxgait.models.walker.smooth import Walker as Walker
    from jaxgait.optimization import optimize as optimize
    from jaxgait.parameters import parameter as parameter
    from jaxgait.parameters import part as part
    from jaxgait.parameters import with_parameters as with_parameters
    from jaxgait.parts import with_parts as with_parts
    from jaxgait.plot.explorer import explore as explore
    from jaxgait.plot.film import animate as animate
    from jaxgait.run import Run as Run
    from jaxgait.solve.simulate import simulate as simulate

__version__ = "0.1.0"
__getattr__ = lazy(
    __name__,
    calibration="fit",
    ensembles="Log cloud ensemble grid latin_hypercube product sobol zipped",
    exporting="export",
    kinds="Transition",
    measure="Measure",
    model="Model Numerics Variable derived",
    models="Bungee Creeper CreeperChain Exoskeleton Inchworm Jumper JumpingRobot "
    "Prosthesis RigidWalker RollingWalker SpatialJumper Walker",
    optimization="optimize",
    parameters="parameter part with_parameters",
    parts="with_parts",
    run="Run",
    **{"plot.film": "animate", "plot.explorer": "explore", "solve.simulate": "simulate"},
)
