"""Trees of rigid bodies in spatial vectors: joints, kinematics, recursive dynamics, points on bodies.

    tree = Tree.build(
        Link("trunk", parent=None, joint=free(), mass=10.0, com=(0, 0, 0.1), inertia=np.diag([0.2, 0.2, 0.1])),
        Link("thigh", parent="trunk", joint=hinge((0, 1, 0)), offset=(0, 0, -0.2), mass=..., com=..., inertia=...),
    )
    motion = kinematics(tree, q, v)                    # positions, velocities and joint maps of every body
    tau = inverse_dynamics(tree, motion, vdot)         # recursive Newton-Euler
    M = mass_matrix(tree, motion)                      # composite rigid bodies
    vdot, tau = hybrid_dynamics(tree, motion, ...)     # articulated bodies; some coordinates prescribed, others free
    flat = tree.in_plane()                             # moving in the x-z plane: the same in scalars, much faster

Conventions: spatial vectors are (6,) arrays, the angular part first, taken at the origin of the body and in its axes;
quaternions are (w, x, y, z); gravity points along -z of the world, or is a vector. `frames` converts orientations and
twists. Coordinates q, velocities v, their rates vdot, joint forces tau and the rows and columns of the mass matrix are
ordered body after body as in the tree, base first. The six velocities of a free base are its twist, and their entries
of tau the wrench on the base, moment first, at its origin and in its axes. All recursions are O(N) in the number of
bodies (the mass matrix: O(N depth)).

`Tree.in_plane` gives the planar form of a tree whose joints slide along x and z and turn about y: the same bodies,
coordinates and recursions in unrolled scalars (`plane`) instead of arrays (`space`).

Reference: R. Featherstone, Rigid Body Dynamics Algorithms, Springer 2008.
"""

from jaxgait.mechanics.spatial.checks import check_inertia, check_link, check_quaternions, check_rotation
from jaxgait.mechanics.spatial.dynamics import (
    Accelerations,
    forward_dynamics,
    hybrid_dynamics,
    inverse_dynamics,
    joint_wrenches,
    mass_matrix,
)
from jaxgait.mechanics.spatial.frames import (
    quaternion_of_rotation,
    rotation_of_rpy,
    rpy_of_rotation,
    to_body_axes,
    to_world_axes,
)
from jaxgait.mechanics.spatial.impact import Impact, plastic_impact
from jaxgait.mechanics.spatial.joints import Joint, ball, fixed, free, hinge, planar, prismatic, screws, universal
from jaxgait.mechanics.spatial.links import Link
from jaxgait.mechanics.spatial.points import (
    Feet,
    Momentum,
    Points,
    energy,
    feet,
    momentum,
    point_motion,
    point_wrenches,
)
from jaxgait.mechanics.spatial.tree import Motion, PlanarTree, Tree, kinematics
from jaxgait.mechanics.spatial.vectors import Placement, quaternion_about, rotation_about, rotation_of_quaternion

__all__ = [
    "Accelerations",
    "Feet",
    "Impact",
    "Joint",
    "Link",
    "Momentum",
    "Motion",
    "Placement",
    "PlanarTree",
    "Points",
    "Tree",
    "ball",
    "check_inertia",
    "check_link",
    "check_quaternions",
    "check_rotation",
    "energy",
    "feet",
    "fixed",
    "forward_dynamics",
    "free",
    "hinge",
    "hybrid_dynamics",
    "inverse_dynamics",
    "joint_wrenches",
    "kinematics",
    "mass_matrix",
    "momentum",
    "planar",
    "plastic_impact",
    "point_motion",
    "point_wrenches",
    "prismatic",
    "quaternion_about",
    "quaternion_of_rotation",
    "rotation_about",
    "rotation_of_quaternion",
    "rotation_of_rpy",
    "rpy_of_rotation",
    "screws",
    "to_body_axes",
    "to_world_axes",
    "universal",
]
