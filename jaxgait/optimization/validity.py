"""The statuses of designs that a search does not use."""

from __future__ import annotations

from jaxgait.outcome import INVALID

UNSTABLE = -3
"""The status of a design whose gait is found but not stable.

Those of other designs are codes of `jaxgait.outcome`; see `jaxgait.optimization.failures.sentence`.
"""


def status_text(*more: str) -> str:
    """What the statuses of a search mean, and more codes of this kind.

    Examples:
        >>> from jaxgait.optimization.validity import status_text
        >>> status_text("-1: this start had stopped")[-29:]
        '; -1: this start had stopped)'
    """
    codes = ("0: completed", f"{INVALID}: not a valid design", f"{UNSTABLE}: the gait is not stable", *more)
    return f"how the run ended ({'; '.join(codes)})"
