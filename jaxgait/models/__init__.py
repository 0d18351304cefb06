"""The mechanisms, one file each: parameters, vector field, initial state, outputs.

`jaxgait.models.Bungee`, `Walker`, `Prosthesis`, `Exoskeleton`, `Jumper`, `Creeper`: imported when first asked for.
"""

import importlib
from typing import Any


def __getattr__(name: str) -> Any:
    """Finds a model by its class name in the catalogue."""
    from jaxgait.models.catalogue import MODELS

    for place in MODELS.values():
        module, attribute = place.split(":")
        if attribute == name:
            return getattr(importlib.import_module(module), attribute)
    raise AttributeError(f"module 'jaxgait.models' has no attribute {name!r}")
