"""The choice of a model's scheme: by the methods that it defines, unless the user chooses one."""

from __future__ import annotations

import dataclasses
from typing import Any

from jaxgait.model import Model
from jaxgait.precision import Precision, in_force
from jaxgait.scheme import Scheme
from jaxgait.solve.checks import check_transitions
from jaxgait.solve.hybrid import EventDriven
from jaxgait.solve.marching import Marching
from jaxgait.solve.prescribed import Prescribed
from jaxgait.solve.smooth import Smooth
from jaxgait.solve.solvers import given_options, numerics_of
from jaxgait.solve.time_stepping import TimeStepping
from jaxgait.support import checks

SCHEMES: tuple[type[Scheme], ...] = (EventDriven, Smooth, TimeStepping, Marching, Prescribed)
"""All schemes; the first that suits a model is its default (see `schemes`)."""


def schemes(model: Model) -> list[type[Scheme]]:
    """The schemes that suit a model, its default first.

    A model with transitions and a vector field is event-driven, so that no transition is left out, unless a subclass
    adds the vector field to inherited transitions.

    Examples:
        >>> from jaxgait import RigidWalker
        >>> from jaxgait.solve.schemes import schemes
        >>> [scheme.__name__ for scheme in schemes(RigidWalker())]
        ['TimeStepping']
    """
    suitable = [scheme for scheme in SCHEMES if scheme.suits(model)]
    if EventDriven in suitable and _depth(model, "vector_field") < _depth(model, "transitions"):
        suitable.sort(key=lambda scheme: scheme is not Smooth)
    return suitable


def _depth(model: Model, method: str) -> int:
    """How far up among the base classes of a model a method is defined; beyond all of them if nowhere."""
    kinds = type(model).__mro__
    return next((i for i, kind in enumerate(kinds) if method in vars(kind)), len(kinds))


def scheme_for(
    model: Model,
    scheme: Scheme | type[Scheme] | str | None = None,
    *,
    differentiated: bool = False,
    values_only: bool = False,
    precision: Precision | None = None,
    **options: Any,
) -> Scheme:
    """The scheme for a model, with options that suit it.

    Args:
        model: the mechanism.
        scheme: a scheme, its class or its name; the model's default if None.
        differentiated: whether the run will be differentiated.
        values_only: whether it will certainly not be: see `Numerics.explicit_values`.
        precision: of the run; the one in force if None.
        options: fields of the scheme ("rtol", "dt", ...); None keeps the default.

    Raises:
        ValueError: for a scheme that does not suit the model, an option that it does not have, and impossible values.
        TypeError: for something that is not a scheme.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.solve.schemes import scheme_for
        >>> scheme_for(Bungee(), rtol=1e-6).rtol
        1e-06
    """
    chosen = given_options(options, model)
    if isinstance(scheme, Scheme):
        _check_suits(model, type(scheme))
        _check_endings(model, type(scheme))
        _check_options(model, type(scheme), chosen)
        changed = dataclasses.replace(scheme, **chosen)
        changed.check_precision(in_force() if precision is None else precision)
        return changed
    kind = _chosen(model, scheme)
    _check_endings(model, kind)
    _check_options(model, kind, chosen)
    if values_only and kind is Smooth and numerics_of(model).explicit_values:
        chosen = {"solver": "Tsit5"} | chosen
    return kind.of(model, differentiated=differentiated, precision=precision, **chosen)


def _chosen(model: Model, scheme: Any) -> type[Scheme]:
    if scheme is None:
        suitable = schemes(model)
        if not suitable:
            needs = checks.listed([s.needs for s in SCHEMES])
            raise ValueError(f"no scheme can integrate {type(model).__name__}: it needs {needs}")
        return suitable[0]
    if isinstance(scheme, str):
        named = {s.__name__: s for s in SCHEMES}
        if scheme not in named:
            hint = checks.nearest(scheme, named, limit=1, otherwise=f"there are {checks.listed(list(named), 'and')}")
            raise ValueError(f"no scheme {scheme!r}: {hint}")
        scheme = named[scheme]
    if not (isinstance(scheme, type) and issubclass(scheme, Scheme)):
        raise TypeError(f"scheme must be a scheme such as Smooth, its name or an instance, got {checks.shown(scheme)}")
    _check_suits(model, scheme)
    return scheme


def _check_suits(model: Model, kind: type[Scheme]) -> None:
    if not kind.suits(model):
        able = checks.listed([s.__name__ for s in schemes(model)]) or "nothing"
        raise ValueError(f"{kind.__name__} needs {kind.needs}: {type(model).__name__} is integrated by {able}")


def _check_endings(model: Any, kind: type[Scheme]) -> None:
    """Checks that a run without phases does not depend on them: `Model.terminations` are the ending transitions."""
    by = next((one for one in type(model).__mro__ if "terminations" in vars(one)), Model)
    if kind is EventDriven or by is not Model or not EventDriven.suits(model):
        return
    check_transitions(model)
    phases = set(range(len(model.phases())))
    for name, transition in model.transitions().items():
        if transition.ends and {*transition.sources} != phases:
            raise ValueError(
                f"{type(model).__name__} by {kind.__name__} has no phases, but {name!r} ends a run only in some of "
                f"them: define terminations() with a condition that holds in all of them"
            )


def _check_options(model: Model, kind: type[Scheme], options: dict[str, Any]) -> None:
    known = [f.name for f in dataclasses.fields(kind)]
    for name in options:
        if name not in known:
            takes = checks.listed(known, "and") or "no options"
            name_of = type(model).__name__
            raise ValueError(f"{name_of} is integrated by {kind.__name__}, with {takes}: there is no option {name!r}")
