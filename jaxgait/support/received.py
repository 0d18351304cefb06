"""Classes of modules that came from another process, of which JAX does not know the fields.

cloudpickle takes the classes of a script or notebook along. It makes them empty, so that equinox registers them with
JAX as modules without fields of their own, and fills them afterwards: JAX would lose the values of the fields, and the
defaults of the class would be in force.
"""

from __future__ import annotations

import copyreg
import dataclasses
import types
import weakref
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax

# Fields of such classes would otherwise have copies of it, which `dataclasses` does not recognise.
copyreg.pickle(type(dataclasses.MISSING), lambda missing: "MISSING")

_known: weakref.WeakKeyDictionary[type, type | None] = weakref.WeakKeyDictionary()
"""What `whole` has found; None for the class itself."""


def whole(kind: type) -> type:
    """A class of modules, or else a subclass, of which JAX knows all fields.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.support.received import whole
        >>> whole(Bungee).__name__
        'Bungee'
    """
    if kind not in _known:
        bare, names = object.__new__(kind), {field.name for field in dataclasses.fields(kind)}
        for name in names:
            object.__setattr__(bare, name, 0)
        lost = names - vars(jax.tree.map(lambda leaf: leaf, bare)).keys()
        _known.setdefault(kind, _made_again(kind) if lost else None)
    return _known[kind] or kind


def _made_again(kind: type) -> type:
    """A subclass with the same fields, name and constructor; sent back, one of it is of the original class."""
    own: dict[str, Any] = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    own["__reduce__"] = lambda one: (_bare, (kind,), vars(one))
    if kind.__init__.__code__.co_filename != "<string>":  # not by `dataclass`
        own["__init__"] = kind.__init__
    return types.new_class(kind.__name__, (kind,), exec_body=lambda namespace: namespace.update(own))


def _bare(kind: Any) -> Any:
    """As `copyreg.__newobj__`, which takes no other class than that of what is pickled."""
    return kind.__new__(kind)


def with_whole_parts(owner: Any) -> None:
    """Gives the modules in the fields of a module, and in mappings there, the classes of which JAX knows all fields."""
    for value in vars(owner).values():
        for one in value.values() if isinstance(value, Mapping) else (value,):
            if isinstance(one, eqx.Module) and (kind := whole(type(one))) is not type(one):
                object.__setattr__(one, "__class__", kind)
