"""Types of real numbers in signatures: jaxtyping's at run time, `Any` for static checkers.

Static checkers cannot do arithmetic with unions of array types; at run time (in the tests) jaxtyping checks the shapes.
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
