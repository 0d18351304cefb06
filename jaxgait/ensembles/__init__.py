"""Many trajectories: parameter sets, batches, statuses, gradients, the resumable store, clusters."""

from jaxgait.ensembles.cost import Estimate as Estimate
from jaxgait.ensembles.cost import estimate as estimate
from jaxgait.ensembles.driver import ensemble as ensemble
from jaxgait.ensembles.float32 import float32_error as float32_error
from jaxgait.ensembles.joining import joined as joined
from jaxgait.ensembles.labels import failed as failed
from jaxgait.ensembles.labels import summary as summary
from jaxgait.ensembles.members import Members as Members
from jaxgait.ensembles.members import grid as grid
from jaxgait.ensembles.members import product as product
from jaxgait.ensembles.members import zipped as zipped
from jaxgait.ensembles.recipe import again as again
from jaxgait.ensembles.results import open_result as open_result
from jaxgait.ensembles.samples import cloud as cloud
from jaxgait.ensembles.samples import latin_hypercube as latin_hypercube
from jaxgait.ensembles.samples import sobol as sobol
from jaxgait.ensembles.spacing import Log as Log
from jaxgait.ensembles.store import StoreError as StoreError
from jaxgait.ensembles.store import damaged as damaged
from jaxgait.ensembles.store import read_store as read_store
from jaxgait.ensembles.walks import people as people
from jaxgait.ensembles.walks import single_strides as single_strides
