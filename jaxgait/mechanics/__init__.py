"""The laws of mechanics, for any mechanism.

| module | holds |
|---|---|
| `friction` | friction laws: `Coulomb`, `Stribeck`, `Bristle` (LuGre), `Dahl`, `Incremental` |
| `contact` | normal contact laws: `KelvinVoigt`, `Hertz`, `HuntCrossley`, ...; their smoothing at touch-down |
| `complementarity` | rigid impacts and dry friction as a complementarity problem |
| `spatial` | trees of rigid bodies in space and in the plane: kinematics, dynamics, energy |
| `kane`, `planar` | Kane's equations of planar bodies, vectors of the plane |
| `fourbar` | the four-bar linkage of a prosthetic knee |
| `linalg` | small linear algebra, unrolled |
| `anthropometry` | segment masses, lengths and inertias of a man |
| `smoothing`, `scalars` | the smooth positive part, types of numbers |

Which friction and normal law to choose: see "Contact and friction" in the documentation.
"""
