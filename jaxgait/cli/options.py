"""Groups of command-line options. Imports nothing heavy."""

from __future__ import annotations

import dataclasses
import itertools
import os
import pathlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import tyro

from jaxgait import registry
from jaxgait.cli.console import STDOUT
from jaxgait.support import files

C = TypeVar("C")
Positional = tyro.conf.Positional
ModelName = Annotated[str, tyro.conf.arg(metavar=f"{{{','.join(registry.models())}}}")]
Precision = Literal["float64", "float32"]
FRONT_POINTS = 7
"""Default number of points along a front."""


def _quantity(unit: str, metavar: str) -> tyro.constructors.PrimitiveConstructorSpec[Any]:
    """Parser of an option's number, in its unit or in the unit written after it."""

    def read(texts: list[str]) -> float:
        try:
            return float(texts[0])
        except ValueError:
            from jaxgait.cli.parsing import quantities  # imports JAX

            return quantities(texts, unit, "this option")[0]

    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=read,
        is_instance=lambda x: isinstance(x, float),
        str_from_instance=lambda x: [str(x)],
    )


IN_SECONDS = _quantity("s", "SECONDS")
Seconds = Annotated[float | None, IN_SECONDS, tyro.conf.arg(help_behavior_hint="")]
Millimetres = Annotated[float | None, _quantity("mm", "MM"), tyro.conf.arg(help_behavior_hint="")]
Kilograms = Annotated[float | None, _quantity("kg", "KG"), tyro.conf.arg(help_behavior_hint="")]
MetresPerSecond = Annotated[float | None, _quantity("m/s", "M/S"), tyro.conf.arg(help_behavior_hint="")]


@dataclasses.dataclass(frozen=True, kw_only=True)
class JsonOutput:
    """Machine-readable output."""

    json: pathlib.Path | None = None
    """File for the results as JSON; "-" for the standard output, with all other text on stderr."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mechanism:
    """The mechanism and its settings."""

    model: Positional[ModelName]
    """Which mechanism."""
    preset: str | None = None
    """Parameter set of the model, by name."""
    set: tuple[str, ...] = ()
    """Parameters and choices (see `jaxgait run MODEL --list`): damper.k=2e4 or damper.k=20kN/m; arrays as name=1,2."""
    initial: tuple[str, ...] = ()
    """Components of the initial state, as name=value."""
    motion: str | None = None
    """Motion: walk (JSON), recording (C3D, TRC, MOT, STO, CSV, TSV, TXT), stride (CSV), or gait of `jaxgait motion`."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class DrivenMechanism(Mechanism):
    """A mechanism with one motion or several."""

    motion: tuple[str, ...] = ()
    """Measured motion, as for `jaxgait run`; several motions form the dimension `subject`."""
    each_stride: bool = False
    """Use every kept stride of the motion (dimension `stride`)."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Span:
    """Length and sampling of a run."""

    strides: int | None = None
    """Number of strides to run (models with a period)."""
    duration: Seconds = None
    """Length of the run in s, or in the unit written after it: 20, 500ms."""
    samples: int | None = None
    """Samples after the start: per stride (default 100) of a run counted in strides, else in total (default 1000)."""

    @property
    def sampling(self) -> dict[str, Any]:
        """As arguments of `simulate` and `ensemble`."""
        return {"strides": self.strides, "duration": self.duration, "samples": self.samples}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Steps:
    """The integration scheme and its options, named like the arguments of `simulate` and `ensemble`."""

    scheme: str | None = None
    """Integration scheme, if several suit the model (see `jaxgait run MODEL --list`)."""
    dt: Seconds = None
    """Step length in s, for schemes with fixed steps."""
    solver: str | None = None
    """Solver of smooth motion, such as Verner8 (see `jaxgait run MODEL --list`)."""
    rtol: float | None = None
    """Relative tolerance of adaptive steps."""
    atol: float | None = None
    """Absolute tolerance, in the units of the state."""
    max_step: Seconds = None
    """Longest step in s."""
    max_steps: int | None = None
    """Maximum number of steps of a trajectory."""
    max_events: int | None = None
    """Maximum number of events of a trajectory."""
    precision: Precision = "float64"
    """Floating-point precision of the computation."""

    @property
    def options(self) -> dict[str, Any]:
        """Those given, as arguments of `simulate` and `ensemble`."""
        return given(vars(self), [field.name for field in dataclasses.fields(Steps)])


_METAVARS: dict[Any, str] = {str: "TEXT", int: "INT", float: "NUMBER", pathlib.Path: "PATH"}
_METAVARS |= {tuple[str, ...]: "[TEXT ...]"}


def shown_plainly(command: type[C]) -> type[C]:
    """A class decorator for the help: `TEXT`, not `{None}|STR`; no default where there is none; own options first."""
    hints, own = get_type_hints(command, include_extras=True), list(command.__annotations__)
    for field in dataclasses.fields(command):  # pyright: ignore[reportArgumentType]
        hint = hints[field.name]
        if field.default in (None, ()) and not _has_metavar(hint):
            bare = get_args(hint)[0] if get_origin(hint) is Annotated else hint
            kinds = [kind for kind in get_args(bare) if kind not in (type(None), ...)]
            shown = _METAVARS.get(kinds[0]) or f"{{{','.join(map(str, get_args(kinds[0])))}}}"
            shown = f"[{shown} ...]" if field.default == () else shown
            hint = Annotated[hint, tyro.conf.arg(metavar=shown, help_behavior_hint="")]
        elif hint is float:
            hint = Annotated[hint, tyro.conf.arg(metavar=_METAVARS[float])]
        elif hint is bool:
            hint = Annotated[hint, tyro.conf.arg(help_behavior_hint="")]
        command.__annotations__[field.name] = hint
    fields = command.__dataclass_fields__  # pyright: ignore[reportAttributeAccessIssue]
    ordered = dict.fromkeys([*own, *fields])
    command.__dataclass_fields__ = {name: fields[name] for name in ordered}  # pyright: ignore[reportAttributeAccessIssue]
    return command


def _has_metavar(hint: Any) -> bool:
    return any(hasattr(given, "metavar") for given in getattr(hint, "__metadata__", ()))


SCHEME = tuple(field.name for field in dataclasses.fields(Steps) if field.name != "precision")
"""The options of an integration scheme, as arguments of `jaxgait.solve.schemes.scheme_for`."""
RUN = tuple(field.name for kind in (Span, Steps) for field in dataclasses.fields(kind))
"""The options that determine how a run is made, as arguments of `simulate`."""


def given(arguments: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Those of the named arguments that are given."""
    return {name: arguments[name] for name in names if arguments.get(name) is not None}


@dataclasses.dataclass(frozen=True, kw_only=True)
class FollowUpOptions:
    """What `jaxgait optimize` can add to a search."""

    report: pathlib.Path | None = None
    """Folder for a report: pictures (PNG, and PDF for print), and a page (report.html) that contains them all."""
    show: tuple[str, ...] = ()
    """With --report: outputs to draw before and after (see `jaxgait run MODEL --list`), by default a few."""
    front: tuple[str, ...] = ()
    """Second objective, maximize MEASURE or minimize MEASURE: adds the Pareto front to the report, and front.nc."""
    points: int | None = None
    """Points along the front, including both ends; 7 by default."""
    sensitivities: tuple[str, ...] | None = None
    """Adds the effects of a 1 % change of these parameters, or of all, to the report, and sensitivities.nc."""


def check_unused(command: Any, names: Collection[str], why: str) -> None:
    """Checks that none of the named options is given, which have no effect here; `why` begins the message.

    Raises:
        ValueError: naming those that are.
    """
    known = [field for field in dataclasses.fields(command) if field.name in names]
    unused = [_option(field.name) for field in known if getattr(command, field.name) != field.default]
    if unused:
        raise ValueError(f"{why}: leave {', '.join(unused)} out")


def with_home(command: Any) -> Any:
    """A command in whose paths a leading "~" is the user's folder: shells leave it as it is in --out=~/run.nc."""
    paths = {name: x for name, x in vars(command).items() if name in _READ or isinstance(x, pathlib.Path)}
    return dataclasses.replace(command, **{name: _with_home(x) for name, x in paths.items()})


def _with_home(paths: Any) -> Any:
    """A path, a text, or several of them, with the user's folder; None stays."""
    if isinstance(paths, tuple):
        return tuple(map(_with_home, paths))
    return os.path.expanduser(paths) if isinstance(paths, str) else paths and files.expanded(paths)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


_READ = ("file", "files", "measured", "motion", "static", "markers")  # a joined result may replace its first part
_WRITTEN = ("out", "store", "json", "checkpoint", "page")


def check_files(command: object) -> None:
    """Checks that a command reads no file twice, and writes none that it reads or writes for another option.

    Raises:
        ValueError: naming the file.
    """
    given = [getattr(command, name, None) or () for name in _READ]
    read = [[one] if isinstance(one, str | pathlib.Path) else one for one in given]
    for option, paths in zip(_READ, read, strict=True):
        if option == "motion" and hasattr(command, "measured"):
            continue  # a fit takes one for each curve, and a person may have several
        names = [pathlib.Path(path).resolve() for path in paths]
        if twice := [path for i, path in enumerate(paths) if names[i] in names[:i]]:
            raise ValueError(f"{twice[0]} is given twice, and would count twice: give it once")
    written = [(name, getattr(command, name, None)) for name in _WRITTEN]
    check_not_read([(name, path) for name, path in written if path not in (None, STDOUT)], itertools.chain(*read))


def check_not_read(written: Iterable[tuple[str, pathlib.Path]], read: Iterable[str | pathlib.Path]) -> None:
    """Checks that files to write, each after the name of its option, differ from files to read and from each other.

    Raises:
        ValueError: naming the file.
    """
    taken = {pathlib.Path(path).resolve(): "this command reads it" for path in read}
    for name, path in written:
        if why := taken.get(path.resolve()):
            raise ValueError(f"cannot write {path}: {why}; give --{name} another name")
        taken[path.resolve()] = f"--{name} writes it"


def check_values(command: Any, arguments: Sequence[str]) -> None:
    """Checks that options for several values have at least one: an empty variable of the shell gives none.

    Raises:
        ValueError: naming the first one.
    """
    several = [field.name for field in dataclasses.fields(command) if field.default == ()]
    empty = {_option(name) for name in several if not getattr(command, name)}
    for option, following in zip(arguments, [*arguments[1:], "--"], strict=True):
        if option.replace("_", "-") in empty and following.startswith("--"):
            raise ValueError(f"{option} needs a value")
