"""The mechanisms, each in a folder with its parameters, equations, measures, pictures and searches.

`from jaxgait.models import Walker` finds any public model, imported on first use, also `TreeModel`.
"""

from typing import Any

_OTHERS = ("tree.model:TreeModel", "creeper.chain:SoftExtension")  # not on the command line


def __getattr__(name: str) -> Any:
    """Finds a model by its class name, and `__all__` for `from jaxgait.models import *`."""
    from jaxgait import registry

    found = _models()
    if name == "__all__":
        return sorted(found)
    if name in found:
        return registry.load(found[name])
    raise AttributeError(f"module 'jaxgait.models' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_models()})


def _models() -> dict[str, str]:
    """Where each model of this package is, by its class name."""
    from jaxgait import registry

    own = registry.own_models().values()
    return {x.partition(":")[2]: x for x in (*own, *(f"{__name__}.{where}" for where in _OTHERS))}
