"""The embedded measured gaits: coefficients, mean strides, bodies, sources and licences."""

from __future__ import annotations

import functools
import importlib.resources
import json
from typing import Any

REFERENCE_GAITS = ("rajagopal_1.26ms", "opensim_subject01_1.13ms", "hbm07_0.98ms")
"""Embedded measured gaits: the reference (body size nearest the knee paper's subject) and two more subjects."""
EMBEDDED_SIDE = "right"
"""The measured leg, in all of them."""


def gait_record(name: str) -> dict[str, Any]:
    """The stored record of an embedded gait: coefficients, mean stride (101 samples), body, source, licence, citation.

    Raises:
        ValueError: for an unknown name.

    Examples:
        >>> from jaxgait.motion.drive import REFERENCE_GAITS
        >>> from jaxgait.motion.embedded import gait_record
        >>> gait_record(REFERENCE_GAITS[0])["height_m"]
        1.829
    """
    if name not in REFERENCE_GAITS:
        raise ValueError(f"no embedded gait {name!r}; there are {', '.join(REFERENCE_GAITS)}")
    return json.loads(_text())[name]


def joint_loads() -> dict[str, dict[str, list[float]]]:
    """Joint moments in Nm/kg and powers in W/kg over a stride (101 samples, to 0.001) of the gaits that have them.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.motion.embedded import joint_loads
        >>> for name, curves in joint_loads().items():
        ...     print(name, round(float(np.max(np.abs(curves["ankle_moment_Nm_kg"]))), 1))  # push-off
        rajagopal_1.26ms 1.6
        opensim_subject01_1.13ms 1.7
    """
    records = {name: gait_record(name) for name in REFERENCE_GAITS}
    return {name: record["joint_loads"] for name, record in records.items() if "joint_loads" in record}


@functools.cache
def _text() -> str:
    folder = importlib.resources.files("jaxgait.motion")
    return folder.joinpath("data", "reference_gaits.json").read_text(encoding="utf-8")
