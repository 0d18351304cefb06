"""Types of real numbers in signatures.

For static checkers they are `Any`, as unions of array types have no arithmetic; in the tests jaxtyping checks shapes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jaxtyping import Array, ArrayLike, Float

if TYPE_CHECKING:
    Scalar = Real = RealArray = Any
else:
    Scalar = Float[ArrayLike, ""]
    Real = Float[ArrayLike, "..."]
    RealArray = Float[Array, "..."]
