"""Many trajectories: parameter sets, batches, statuses, gradients, the resumable store, clusters."""

from jaxgait.ensemble.compare import float32_error as float32_error
from jaxgait.ensemble.driver import ensemble as ensemble
from jaxgait.ensemble.labels import failed as failed
from jaxgait.ensemble.labels import summary as summary
from jaxgait.ensemble.members import Members as Members
from jaxgait.ensemble.members import cloud as cloud
from jaxgait.ensemble.members import grid as grid
from jaxgait.ensemble.members import latin_hypercube as latin_hypercube
from jaxgait.ensemble.members import product as product
from jaxgait.ensemble.members import sobol as sobol
from jaxgait.ensemble.members import zipped as zipped
from jaxgait.ensemble.store import StoreError as StoreError
from jaxgait.ensemble.store import read_store as read_store
from jaxgait.run import Run as Run
