"""Mechanisms and experiments by name, as the command line knows them; each is imported on first use.

A mechanism is one folder of `jaxgait.models`, whose `__init__` names its models and experiments:

    MODELS = {"walker": "smooth:Walker", "rigid-walker": "rigid:RigidWalker"}     # name: module of the folder, class
    EXPERIMENTS = ("walker",)                                                     # folders of `experiments`

Your own package adds models and experiments by entry points:

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
import operator
import pathlib
import pkgutil
import sys
import uuid
import weakref
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import Any

GROUPS = ("jaxgait.models", "jaxgait.experiments")
"""Groups of entry points."""
ALL = "all"
"""Stands for all experiments; no experiment may have this name."""

_SESSION = uuid.uuid4().hex[:16]
"""Identifies this process or notebook."""
_made: list[tuple[str, weakref.ref[type]]] = []
"""All model classes of this process, with their names, in the order in which they were made."""
_numbers: weakref.WeakKeyDictionary[type, int] = weakref.WeakKeyDictionary()
"""Their positions in `_made`."""


def models() -> dict[str, str]:
    """All models: name to "module:class", without those in `faults`.

    Examples:
        >>> from jaxgait.registry import models
        >>> models()["knee"]
        'jaxgait.models.prosthesis.model:Prosthesis'
    """
    return own_models() | _brought(GROUPS[0])[0]


def experiments() -> dict[str, str]:
    """All experiments: name to module, in the order of the mechanisms, without those in `faults`.

    Examples:
        >>> from jaxgait.registry import experiments
        >>> sorted(experiments())[:3]
        ['bungee', 'creeper', 'exoskeleton']
    """
    return own_experiments() | _brought(GROUPS[1])[0]


def own_models() -> dict[str, str]:
    """The models of jaxgait itself, without those of other packages: name to "module:class".

    Examples:
        >>> from jaxgait.registry import own_models
        >>> own_models()["creeper-chain"]
        'jaxgait.models.creeper.chain:CreeperChain'
    """
    return {
        name: f"{folder.__name__}.{where}"
        for folder in _folders()
        for name, where in getattr(folder, "MODELS", {}).items()
    }


def own_experiments() -> dict[str, str]:
    """The experiments of jaxgait itself, without those of other packages: name to module.

    Examples:
        >>> from jaxgait.registry import own_experiments
        >>> own_experiments()["bungee"].endswith("experiments.bungee.reproduce")
        True
    """
    names = [name for folder in _folders() for name in getattr(folder, "EXPERIMENTS", ())]
    inside = "jaxgait." if importlib.util.find_spec("jaxgait.experiments") else ""
    return {name: f"{inside}experiments.{name.replace('-', '_')}.reproduce" for name in names}


def faults() -> list[str]:
    """Messages about registrations of other packages that are ignored because of a fault.

    Examples:
        >>> from jaxgait.registry import faults
        >>> faults()
        []
    """
    return [fault for group in GROUPS for fault in _brought(group)[1]]


def model_class(name: str) -> type:
    """A model's class.

    Raises:
        ValueError: for an unknown name, with the nearest one; for a registration of something that is not a class.

    Examples:
        >>> from jaxgait.registry import model_class
        >>> model_class("knee").__name__
        'Prosthesis'
    """
    where = _known("model", name, models())
    found = load(where)
    if not isinstance(found, type):
        raise ValueError(f"{where!r}, registered with jaxgait as {name!r}, must name a model class, got {found!r}")
    return found


def known_as(kind: str, module: str = "") -> str:
    """The name under which a model class (in a module, if one is given) is registered; empty if it is not.

    Examples:
        >>> from jaxgait.registry import known_as
        >>> known_as("Prosthesis"), known_as("Prosthesis", "my_package.legs")
        ('knee', '')
    """
    alike = [name for name, where in models().items() if where.partition(":")[2] == kind]
    return next((name for name in alike if not module or model_class(name).__module__ == module), "")


def remember(kind: type) -> None:
    """Remembers a model class, so that `made_here` finds it as long as it exists; `Model` does so for every subclass.

    Examples:
        >>> from jaxgait.registry import made_here, remember, session_mark
        >>> def kind():
        ...     class Leg: ...
        ...     return Leg
        >>> leg = kind()
        >>> remember(leg)
        >>> made_here(session_mark(leg))[0] is leg
        True
    """
    _numbers[kind] = len(_made)
    _made.append((f"{kind.__module__}:{kind.__qualname__}", weakref.ref(kind)))


def session_mark(kind: type) -> str:
    """What results record of a model class that no import finds, such as one of a notebook; empty for others.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.registry import session_mark
        >>> session_mark(Bungee)
        ''
    """
    module = kind.__module__
    if module != "__main__" and getattr(sys.modules.get(module), kind.__name__, None) is kind:
        return ""
    number = _numbers[kind]
    return f"{_SESSION} {number} {_made[number][0]}"


def made_here(mark: str) -> tuple[type | None, bool]:
    """The class with a `session_mark`, and whether it is a later one of its name, as from a cell that was run again.

    None for a mark of another process, and for a class that no longer exists.

    Examples:
        >>> from jaxgait.registry import made_here
        >>> made_here("of another session")
        (None, False)
    """
    session, _, rest = mark.partition(" ")
    number, _, of = rest.partition(" ")
    if session != _SESSION or int(number) >= len(_made) or _made[int(number)][0] != of:  # or of a forked process
        return None, False
    name, found = _made[int(number)]
    if "<locals>" in name:  # each call of a function makes a class of its own
        return found(), False
    later = [kind for other, made in _made[int(number) :] if other == name and (kind := made()) is not None]
    return (later[-1], later[-1] is not found()) if later else (None, False)


def model(name: str) -> Any:
    """A model with its default parameters.

    Raises:
        ValueError: for an unknown name; for a class that needs arguments, or lacks methods.

    Examples:
        >>> from jaxgait.registry import model
        >>> model("bungee").mass
        70.0
    """
    kind = model_class(name)
    try:
        return kind()
    except TypeError as error:
        raise ValueError(
            f"{models()[name]!r}, registered with jaxgait as {name!r}, cannot be constructed: {error}"
        ) from error


def experiment(name: str) -> Any:
    """The module of an experiment, which has a function `reproduce`.

    Raises:
        ValueError: for an unknown name, with the nearest one; for a module without `reproduce`.

    Examples:
        >>> from jaxgait.registry import experiment
        >>> experiment("kneee")
        Traceback (most recent call last):
            ...
        ValueError: no experiment 'kneee': did you mean 'knee'?
    """
    where = _known("experiment", name, experiments())
    found = load(where)
    if not callable(getattr(found, "reproduce", None)):
        raise ValueError(f"{where!r}, registered with jaxgait as {name!r}, has no function reproduce(out, *, progress)")
    return found


def benchmarks() -> Any:
    """The module behind `jaxgait bench`; benchmarks belong to a checkout and are not installed with the package.

    Raises:
        ModuleNotFoundError: outside a checkout, with how to get one.

    Examples:
        >>> from jaxgait.registry import benchmarks
        >>> benchmarks().__name__
        'experiments.benchmarks.bench'
    """
    try:
        return importlib.import_module("experiments.benchmarks.bench")
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "experiments":
            raise
    raise ModuleNotFoundError(
        "the benchmarks are not installed with the package: `jaxgait bench` needs a checkout of the repository,"
        " installed by `pip install -e .`",
        name="experiments",
    )


def load(where: str, given: str = "registered with jaxgait") -> Any:
    """Imports what "module" or "module:name" refers to; the name may be that of a nested class, "Outer.Inner".

    Args:
        where: module and name.
        given: where it is named, for the message.

    Raises:
        ValueError: if it does not exist or cannot be imported.

    Examples:
        >>> from jaxgait.registry import load
        >>> load("jaxgait.models.bungee.model:Bungee")().mass
        70.0
    """
    module, _, attribute = where.partition(":")
    try:
        found = importlib.import_module(module)
        return operator.attrgetter(attribute)(found) if attribute else found
    except Exception as error:  # importing a module may raise anything
        what = f"{type(error).__name__}: {error}"
        raise ValueError(f"{where!r}, {given}, cannot be imported: {what}") from error


def lazy(package: str, **public: str) -> Callable[[str], Any]:
    """A package's `__getattr__` that imports public names on first use; also makes `dir` list them.

    Args:
        package: the package's name.
        public: for each module its public names, separated by spaces.

    Raises:
        AttributeError: from the returned function, for any other name.

    Examples:
        >>> from jaxgait.registry import lazy
        >>> package_getattr = lazy("jaxgait", parameters="parameters with_parameters")
        >>> package_getattr("with_parameters").__module__
        'jaxgait.parameters'
    """
    where = {name: module for module, names in public.items() for name in names.split()}

    def __getattr__(name: str) -> Any:
        if name not in where:
            near = difflib.get_close_matches(name, where, 1)
            hint = f": did you mean {near[0]!r}?" if near else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")
        return getattr(importlib.import_module(f"{package}.{where[name]}"), name)

    own = vars(sys.modules[package])
    own.setdefault("__all__", sorted(where))  # what completion at a prompt and `import *` find
    own.setdefault("__dir__", lambda: sorted({*own, *where}))
    return __getattr__


@functools.cache
def _folders() -> tuple[Any, ...]:
    """The mechanisms' packages, without their modules, which take longer to import."""
    package = importlib.import_module("jaxgait.models")
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__) if info.ispkg)
    return tuple(importlib.import_module(f"{package.__name__}.{name}") for name in names)


@functools.cache
def _brought(group: str) -> tuple[dict[str, str], list[str]]:
    """The registrations of other packages, and messages about ignored ones."""
    own = own_models() if group == GROUPS[0] else {**own_experiments(), ALL: ""}
    found: dict[str, str] = {}
    faults = []
    for point in sorted(metadata.entry_points(group=group), key=lambda point: (point.name, point.value)):
        if point.name in own or found.get(point.name, point.value) != point.value:
            by = found.get(point.name) or "jaxgait itself"
            taken = f"the name {point.name!r} of {point.value} (entry point of {group}) is taken by {by}"
            faults.append(f"{taken}: ignored; register it under another name")
        else:
            found[point.name] = point.value
    return found, faults


def _known(what: str, name: str, all_of_them: Mapping[str, str]) -> str:
    if name in all_of_them:
        return all_of_them[name]
    if "=" in name:  # in a shell, an option with several values took the name, and the last value became the name
        raise ValueError(f"no {what} {name!r}: write its name first, before options that take several values")
    module, colon, own = name.partition(":")
    if what == "model" and (colon or name.endswith(".py")):
        module, own = pathlib.PurePath(module).name.removesuffix(".py"), own or "Model"
        line = f'{own.lower()} = "{module}:{own}"'
        raise ValueError(
            f"no {what} {name!r}: a class of your own needs a name, by an entry point of your package: {line} below "
            f'[project.entry-points."{GROUPS[0]}"] in pyproject.toml, and `pip install -e .`; then give {own.lower()}'
        )
    near = difflib.get_close_matches(name, all_of_them, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(all_of_them)}"
    raise ValueError(f"no {what} {name!r}: {hint}")
