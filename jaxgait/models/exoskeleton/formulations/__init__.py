"""Trees of telescopic links in the plane and in space: the paper's matrix method.

`tree` has the table of links and the constant W; `elements` the matrices A, Lambda, D, H, ... as the paper names them;
`dynamics` inverse and forward dynamics in angles; `vectors` the same in link vectors, without singularities; `symbolic`
the equations as text.
"""

from jaxgait.models.exoskeleton.formulations.elements import Planar as Planar
from jaxgait.models.exoskeleton.formulations.elements import Spatial as Spatial
from jaxgait.models.exoskeleton.formulations.elements import describe as describe
from jaxgait.models.exoskeleton.formulations.tree import Chain as Chain
from jaxgait.models.exoskeleton.formulations.tree import Link as Link
