"""Mechanics for any model.

| module | contents |
|---|---|
| `friction` | friction laws: `Coulomb`, `Stribeck`, `Bristle` (LuGre), `Dahl`, `Incremental` |
| `contact` | normal contact laws: `KelvinVoigt`, `Hertz`, `HuntCrossley`, ... |
| `complementarity` | rigid impacts and dry friction as a complementarity problem |
| `spatial` | trees of rigid bodies in space and in the plane: kinematics, dynamics, energy |
| `kane`, `planar` | Kane's equations of planar bodies, planar vectors |
| `fourbar` | the four-bar linkage of a prosthetic knee |
| `linalg` | small linear algebra, unrolled |
| `anthropometry` | masses, lengths and inertias of body segments |

"Contact and friction" in the documentation compares the laws.

Types of real numbers in signatures are here. For static checkers they are `Any`, as unions of array types have no
arithmetic; in the tests jaxtyping checks shapes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jaxtyping import Array, ArrayLike, Float

if TYPE_CHECKING:
    Scalar = Real = RealArray = Any
else:
    Scalar = Float[ArrayLike, ""]
    Real = Float[ArrayLike, " ..."]
    RealArray = Float[Array, " ..."]
