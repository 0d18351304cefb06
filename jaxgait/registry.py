"""Mechanisms and experiments by name, as the command line knows them; each is imported when first asked for.

A mechanism is one folder of `jaxgait.models`, whose `__init__` names its models and experiments:

    MODELS = {"walker": "smooth:Walker", "rigid-walker": "rigid:RigidWalker"}     # name: module of the folder, class
    EXPERIMENTS = ("walker",)                                                     # folders of `experiments`

A package of your own brings models and experiments by entry points; nothing of jaxgait needs to change:

    [project.entry-points."jaxgait.models"]
    hopper = "my_package.hopper:Hopper"

    [project.entry-points."jaxgait.experiments"]
    hopper = "my_package.reproduce"                 # a module with reproduce(out, *, progress) -> jaxgait.report.Report
"""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import Any

GROUPS = ("jaxgait.models", "jaxgait.experiments")
"""Groups of entry points."""


def models() -> dict[str, str]:
    """All models: name to "module:class"."""
    own = {
        name: f"{folder.__name__}.{where}"
        for folder in _folders()
        for name, where in getattr(folder, "MODELS", {}).items()
    }
    return own | _brought(GROUPS[0], own)


def experiments() -> dict[str, str]:
    """All experiments: name to module, in the order of the mechanisms."""
    own = {name: _own_experiment(name) for folder in _folders() for name in getattr(folder, "EXPERIMENTS", ())}
    return own | _brought(GROUPS[1], own)


def model_class(name: str) -> type:
    """A model's class.

    Raises:
        ValueError: for an unknown name, with the nearest one; for a registration that leads nowhere.
    """
    return load(_known("model", name, models()))


def model(name: str) -> Any:
    """A model with its default parameters.

    Raises:
        ValueError: for an unknown name.
    """
    return model_class(name)()


def experiment(name: str) -> Any:
    """The module of an experiment, which has a function `reproduce`.

    Raises:
        ValueError: for an unknown name.
    """
    where = _known("experiment", name, experiments())
    return importlib.import_module(where) if ":" not in where else load(where)


def experiment_module(folder: str, module: str) -> Any:
    """A module of our own experiments: from the installed package, or from a checkout's `experiments` folder."""
    try:
        return importlib.import_module(f"jaxgait.experiments.{folder}.{module}")
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("jaxgait.experiments"):
            raise
    return importlib.import_module(f"experiments.{folder}.{module}")


def load(where: str) -> Any:
    """What "module:name" stands for.

    Raises:
        ValueError: if there is nothing.
    """
    module, _, attribute = where.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{where!r}, registered with jaxgait, cannot be imported: {error}") from error


def lazy(package: str, **public: str) -> Callable[[str], Any]:
    """A package's `__getattr__` that imports public names from its modules when they are first asked for.

    Args:
        package: its name.
        public: for each module the names that it gives, separated by spaces.
    """
    where = {name: module for module, names in public.items() for name in names.split()}

    def __getattr__(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{where[name]}"), name)

    return __getattr__


def _own_experiment(name: str) -> str:
    folder = f"experiments.{name.replace('-', '_')}.reproduce"
    return f"jaxgait.{folder}" if importlib.util.find_spec("jaxgait.experiments") else folder


@functools.cache
def _folders() -> tuple[Any, ...]:
    """The mechanisms' packages: light, their modules are imported later."""
    package = importlib.import_module("jaxgait.models")
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__) if info.ispkg)
    return tuple(importlib.import_module(f"{package.__name__}.{name}") for name in names)


def _brought(group: str, own: Mapping[str, str]) -> dict[str, str]:
    """What other packages register.

    Raises:
        ValueError: for a name that is taken.
    """
    found: dict[str, str] = {}
    for point in metadata.entry_points(group=group):
        if point.name in own or found.get(point.name, point.value) != point.value:
            raise ValueError(f"the name {point.name!r} of {point.value} ({group}) is taken: register it under another")
        found[point.name] = point.value
    return dict(sorted(found.items()))


def _known(what: str, name: str, all_of_them: Mapping[str, str]) -> str:
    if name in all_of_them:
        return all_of_them[name]
    near = difflib.get_close_matches(name, all_of_them, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(all_of_them)}"
    raise ValueError(f"no {what} {name!r}: {hint}")
