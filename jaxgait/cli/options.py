"""Groups of command-line options. Imports nothing heavy."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import tyro

from jaxgait import registry

C = TypeVar("C")
Positional = tyro.conf.Positional
ModelName = Annotated[str, tyro.conf.arg(metavar=f"{{{','.join(registry.models())}}}")]
Precision = Literal["float64", "float32"]
FRONT_POINTS = 7
"""Default number of points along a front."""


def _quantity(unit: str, metavar: str) -> tyro.constructors.PrimitiveConstructorSpec[float | None]:
    """How to read an option that is a number in a unit, or in the unit written after it."""

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


Seconds = Annotated[float | None, _quantity("s", "SECONDS"), tyro.conf.arg(help_behavior_hint="")]
Millimetres = Annotated[float | None, _quantity("mm", "MM"), tyro.conf.arg(help_behavior_hint="")]


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
    """A class decorator: the help shows `TEXT` instead of `{None}|STR`, and no default where there is none."""
    hints = get_type_hints(command, include_extras=True)
    for field in dataclasses.fields(command):  # pyright: ignore[reportArgumentType]
        hint = hints[field.name]
        described = any(hasattr(given, "metavar") for given in getattr(hint, "__metadata__", ()))
        if field.default in (None, ()) and not described:
            bare = get_args(hint)[0] if get_origin(hint) is Annotated else hint
            kinds = [kind for kind in get_args(bare) if kind not in (type(None), ...)]
            shown = _METAVARS.get(kinds[0]) or f"{{{','.join(map(str, get_args(kinds[0])))}}}"
            shown = f"[{shown} ...]" if field.default == () else shown
            hint = Annotated[hint, tyro.conf.arg(metavar=shown, help_behavior_hint="")]
        command.__annotations__[field.name] = hint
    return command


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
    front: tuple[str, ...] = ()
    """Second objective, maximize MEASURE or minimize MEASURE: adds the Pareto front to the report, and front.nc."""
    points: int | None = None
    """Points along the front, including both ends; 7 by default."""
    sensitivities: tuple[str, ...] | None = None
    """Adds the effects of a 1 % change of these parameters, or of all, to the report, and sensitivities.nc."""
