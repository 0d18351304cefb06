"""The mechanisms, each in a folder with its parameters, equations, measures, pictures and searches.

`from jaxgait.models import Walker` finds any public model, imported on first use.
"""

from typing import Any


def __getattr__(name: str) -> Any:
    """Finds a model by its class name."""
    from jaxgait import registry

    for where in registry.models().values():
        if where.partition(":")[2] == name and where.startswith(__name__ + "."):
            return registry.load(where)
    raise AttributeError(f"module 'jaxgait.models' has no attribute {name!r}")
