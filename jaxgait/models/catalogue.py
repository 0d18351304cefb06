"""The models by name, as the command line and `jaxgait reproduce` know them; imported only when asked for."""

from __future__ import annotations

import importlib

from jaxgait.models.base import Model

MODELS = {
    "bungee": "jaxgait.models.bungee:Bungee",
    "creeper": "jaxgait.models.creeper:Creeper",
    "exoskeleton": "jaxgait.models.exoskeleton:Exoskeleton",
    "jumper": "jaxgait.models.jumper:Jumper",
    "knee": "jaxgait.models.prosthesis:Prosthesis",
    "walker": "jaxgait.models.walker:Walker",
}
"""Name to "module:class"."""


def model(name: str) -> Model:
    """A model with its default parameters.

    Raises:
        ValueError: for an unknown name.
    """
    if name not in MODELS:
        raise ValueError(f"no model {name!r}; there are {', '.join(MODELS)}")
    module, attribute = MODELS[name].split(":")
    return getattr(importlib.import_module(module), attribute)()
