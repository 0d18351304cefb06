"""A row of the table of gates."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """What was measured of one gate."""

    what: str
    measured: str
    bound: str
    holds: bool


def below(what: str, measured: float, bound: float, unit: str = "") -> Row:
    """A figure that must not be larger than its bound.

    Args:
        what: in words.
        measured: figure, in `unit`.
        bound: largest value, in `unit`.
        unit: of both; none for a pure number.

    Example:
        >>> below("drift", 1e-9, 1e-8).holds
        True
    """
    return Row(what, f"{measured:.2g} {unit}".strip(), f"at most {bound:.2g} {unit}".strip(), bool(measured <= bound))


def equal(what: str, measured: object, wanted: object) -> Row:
    """A count or a fact that must be what is wanted.

    Args:
        what: in words.
        measured: found.
        wanted: the only value that holds.
    """
    return Row(what, str(measured), str(wanted), measured == wanted)
