"""Classes of modules that came from another process, whose fields JAX does not know.

cloudpickle sends the classes of a script or notebook along. It creates them empty, so that equinox registers them with
JAX as modules without fields of their own, and fills them afterwards: JAX would lose the values of the fields, and the
defaults of the class would apply.
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

from jaxgait.support.notes import without_library_warnings

# Fields of such classes would otherwise have copies of it, which `dataclasses` does not recognise.
copyreg.pickle(type(dataclasses.MISSING), lambda missing: "MISSING")

_known: weakref.WeakKeyDictionary[type, dict[int, type | None]] = weakref.WeakKeyDictionary()
"""Results of `whole` by the number of fields, because some classes are filled after their first instance is made; None
stands for the class itself."""


def whole(kind: type) -> type:
    """The class of modules itself if JAX knows all its fields, otherwise a subclass of which it does.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.support.unpickled import whole
        >>> whole(Bungee).__name__
        'Bungee'
    """
    found, count = _known.setdefault(kind, {}), len(kind.__dataclass_fields__)
    if count not in found:
        found.setdefault(count, _made_again(kind) if _loses_fields(kind) else None)
    return found[count] or kind


def _loses_fields(kind: type) -> bool:
    bare, names = object.__new__(kind), {field.name for field in dataclasses.fields(kind)}
    for name in names:
        object.__setattr__(bare, name, 0)
    return not names <= vars(jax.tree.map(lambda leaf: leaf, bare)).keys()


def _made_again(kind: type) -> type:
    """A subclass with the same fields, name and constructor; its instances are pickled as the original class's."""
    own: dict[str, Any] = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    own |= {"__init__": kind.__init__, "__reduce__": lambda one: (_bare, (kind,), vars(one))}
    with without_library_warnings():  # equinox assumes that a given constructor skips `__post_init__`
        return types.new_class(kind.__name__, (kind,), exec_body=lambda namespace: namespace.update(own))


def _bare(kind: Any) -> Any:
    """As `copyreg.__newobj__`, which only accepts the class of the pickled object itself."""
    return kind.__new__(kind)


def modules_in(value: Any) -> list[eqx.Module]:
    """The modules that a field holds, also in a mapping or sequence.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.support.unpickled import modules_in
        >>> [type(one).__name__ for one in modules_in({"jumper": Bungee(), "height": 80.0})]
        ['Bungee']
    """
    held = value.values() if isinstance(value, Mapping) else value if isinstance(value, tuple | list) else (value,)
    return [one for one in held if isinstance(one, eqx.Module)]


def with_whole_parts(owner: Any) -> None:
    """Gives the modules within a module, also in mappings and sequences, the classes of which JAX knows all fields."""
    for value in vars(owner).values():
        for one in modules_in(value):
            if (kind := whole(type(one))) is not type(one):
                object.__setattr__(one, "__class__", kind)
            if not hasattr(one, "__setstate__"):  # parts of this package have done so for theirs
                with_whole_parts(one)
