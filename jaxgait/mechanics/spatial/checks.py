"""Checks of the bodies of a tree: values that no rigid body has raise an error that names the body."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import ArrayLike, Float

from jaxgait.mechanics.spatial.links import Link, numbers
from jaxgait.precision import float64_default
from jaxgait.support.checks import is_concrete


@float64_default
def check_rotation(name: str, rotation: Float[ArrayLike, "... 3 3"]) -> None:
    """Rejects matrices (no dimension) that are not rotations; there may be a batch axis.

    Raises:
        ValueError: naming the body, for a matrix that is not orthonormal (to 0.001) and right-handed.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.mechanics.spatial import check_rotation
        >>> check_rotation("shank", np.diag([1.0, -1.0, 1.0]))
        Traceback (most recent call last):
            ...
        ValueError: body 'shank': its rotation must be orthonormal and right-handed, got [[1.0, 0.0, 0.0], ...
    """
    matrices = np.asarray(rotation, dtype=float).reshape(-1, 3, 3)
    close = np.abs(matrices @ matrices.swapaxes(1, 2) - np.eye(3)).max(axis=(1, 2)) < 1e-3  # not NaN
    wrong = ~(close & (np.linalg.det(np.where(close[:, None, None], matrices, np.eye(3))) > 0.0))
    if wrong.any():
        found = matrices[wrong][0].tolist()
        raise ValueError(f"body {name!r}: its rotation must be orthonormal and right-handed, got {found}")


@float64_default
def check_link(link: Link) -> None:
    """Rejects a link with numbers (SI units) that no rigid body has; traced ones are not checked.

    Raises:
        ValueError: see `check_inertia` and `check_rotation`.

    Examples:
        >>> from jaxgait.mechanics.spatial import Link, hinge
        >>> from jaxgait.mechanics.spatial.checks import check_link
        >>> check_link(Link("foot", None, hinge((0, 1, 0)), mass=-1.0))
        Traceback (most recent call last):
            ...
        ValueError: body 'foot': its mass must be nonnegative, got -1 kg
    """
    if is_concrete((link.mass, link.inertia)):
        check_inertia(link.name, np.asarray(link.mass), numbers(link.inertia, axes=2))
    if link.rotation is not None and is_concrete(link.rotation):
        check_rotation(link.name, numbers(link.rotation, axes=2))


@float64_default
def check_quaternions(names: Sequence[str], q: Float[ArrayLike, "... n"]) -> None:
    """Rejects coordinates whose quaternions are not of length 1 (to 0.5 %); there may be batch axes.

    Args:
        names: of the coordinates; those of a quaternion end in q_w, q_x, q_y, q_z.
        q: the coordinates, in m and rad.

    Raises:
        ValueError: naming the quaternion and its length.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.mechanics.spatial import check_quaternions
        >>> check_quaternions(["hip_q_w", "hip_q_x", "hip_q_y", "hip_q_z"], np.array([1.0, 0.5, 0.0, 0.0]))
        Traceback (most recent call last):
            ...
        ValueError: hip_q_w, _x, _y, _z must be a quaternion of length 1, give all four of it; got the length 1.118
    """
    x = np.asarray(q, dtype=float)
    for i, name in enumerate(names):
        length = np.linalg.norm(x[..., i : i + 4], axis=-1) if name.endswith("q_w") else np.ones(())
        if (wrong := ~(np.abs(length - 1.0) < 5e-3)).any():  # not NaN
            what = f"{name}, _x, _y, _z must be a quaternion of length 1, give all four of it"
            raise ValueError(f"{what}; got the length {length[wrong].flat[0]:.4g}")


@float64_default
def check_inertia(name: str, mass: Float[ArrayLike, " ..."], inertia: Float[ArrayLike, "... 3 3"]) -> None:
    """Rejects a mass in kg or an inertia tensor in kg m^2 that no rigid body can have; both may have a batch axis.

    Raises:
        ValueError: naming the body and the fault (mass, symmetry, or the triangle inequality of the moments).

    Examples:
        >>> import numpy as np
        >>> from jaxgait.mechanics.spatial import check_inertia
        >>> check_inertia("plate", 1.0, np.diag([1.0, 1.0, 2.0]))  # the boundary: a thin plate
        >>> check_inertia("foot", 1.0, np.diag([1.0, 1.0, 3.0]))
        Traceback (most recent call last):
            ...
        ValueError: body 'foot': its principal moments 1, 1, 3 kg m^2 belong to no rigid body: ...
    """
    masses, tensors = np.ravel(mass), np.asarray(inertia, dtype=float).reshape(-1, 3, 3)
    wrong = masses[~(np.isfinite(masses) & (masses >= 0.0))]
    if wrong.size:
        raise ValueError(f"body {name!r}: its mass must be nonnegative, got {wrong[0]:g} kg")
    rounding = max(1e-9, 8.0 * float(np.finfo(np.result_type(np.asarray(inertia), np.float32)).eps))
    slack = rounding * np.abs(tensors).max(axis=(1, 2))  # for thin plates and rods
    skewed = ~(np.abs(tensors - tensors.swapaxes(1, 2)).max(axis=(1, 2)) <= slack)  # also NaN
    if skewed.any():
        found = tensors[skewed][0].tolist()
        raise ValueError(f"body {name!r}: its inertia tensor must be finite and symmetric, got {found}")
    moments = np.linalg.eigvalsh(tensors)
    impossible = (moments[:, 0] < -slack) | (moments[:, 2] > moments[:, 0] + moments[:, 1] + slack)
    if impossible.any():
        found = ", ".join(f"{moment:.6g}" for moment in moments[impossible][0])
        raise ValueError(
            f"body {name!r}: its principal moments {found} kg m^2 belong to no rigid body: the largest may not exceed "
            "the sum of the other two"
        )
