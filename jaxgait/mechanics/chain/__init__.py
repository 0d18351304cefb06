"""Chains and trees of telescopic links in the plane and in space: the matrix method.

`tree` holds the table of links and the constant W; `elements` the matrices A, Lambda, D, H, ... as the paper names
them; `dynamics` inverse and forward dynamics in angles; `vectors` the same in link vectors, without singularities;
`symbolic` the equations as text.
"""

from jaxgait.mechanics.chain.elements import Planar as Planar
from jaxgait.mechanics.chain.elements import Spatial as Spatial
from jaxgait.mechanics.chain.elements import describe as describe
from jaxgait.mechanics.chain.tree import Chain as Chain
from jaxgait.mechanics.chain.tree import Link as Link
