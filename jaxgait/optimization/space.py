"""The box of a search, and the map between it and the unit box."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy
from jaxtyping import Float

from jaxgait import precision
from jaxgait.ensembles.addresses import INITIAL, is_start, own_value, shape_of
from jaxgait.ensembles.conversion import value_in_unit
from jaxgait.ensembles.labels import described_value
from jaxgait.ensembles.members import check_values
from jaxgait.ensembles.spacing import Log, Spacing, check_positive, is_distribution, range_text
from jaxgait.ensembles.validity import accepted, rejection
from jaxgait.model import Model
from jaxgait.parameters import ParameterError, ParameterInfo, check_value, in_own_unit, parameter_info
from jaxgait.plausible import warn_implausible
from jaxgait.support import checks

Box: TypeAlias = Mapping[str, Any]
"""Bounds (low, high) by dotted name (see `Space`), each in the unit of what it names, or labelled with another; as
`jaxgait.Log` for a search in the logarithm."""
Starts: TypeAlias = int | Sequence[Mapping[str, Any]]

_OFF_THE_WALLS = 0.1
"""Distance of Sobol points from each bound, as a fraction of the box, because gradients may break off there."""
NEAR_BOUND = 1e-5
"""Distance from a bound, as a fraction of the box, below which a design counts as on it."""
MAX_DRAWS = 64
"""Largest number of samples to draw starts from, of which the model may reject some points."""


def variable(model: Model, name: str) -> ParameterInfo:
    """A parameter, or a component of the initial state ("initial.v"), with the model's own value.

    Searches vary single numbers, and elements of arrays ("masses[1]", "initial.q[2]").

    Raises:
        ParameterError: for an unknown name.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.optimization.space import variable
        >>> print(variable(Bungee(), "mass").unit, variable(Bungee(), "initial.x").value)
        kg -30.0
    """
    if not is_start(model, name):
        return parameter_info(model, name)
    shape_of(model, name)  # raises an error for an unknown component
    label = described_value(model, name)
    with precision.use("float64"):
        own = np.asarray(own_value(model, name), float)
    return ParameterInfo(own, label.get("units", ""), label.get("long_name", "component of the initial state"))


def given_start(model: Model, initial: Mapping[str, Any] | None) -> dict[str, Any]:
    """Components of the initial state, given by their names in the state, by dotted name and in their units.

    Raises:
        ParameterError: for anything but a dict, and for impossible components and values.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.optimization.space import given_start
        >>> given_start(Bungee(), {"v": 3.0})
        {'initial.v': 3.0}
    """
    if not isinstance(initial, Mapping | None):
        what = "initial must be a dict of components of the initial state, such as {'v': 3.0}"
        raise ParameterError(f"{what}, got {checks.shown(initial)}")
    named = {f"{INITIAL}{name}": value for name, value in (initial or {}).items()}
    return {name: value_in_unit(model, name, value) for name, value in named.items()}


COLUMNS = frozenset(
    [
        *("start", "iteration", "point", "basin", "element", "scenario", "tried", "evaluation"),
        *("objective", "status", "allowed", "multiplier", "evaluations", "failed", "starts", "best_start", "squares"),
        *("remaining_slope", "exchange_rate"),
    ]
)
"""Names in the tables of a search besides those of its parameters."""


def search_space(model: Model, over: Box, *, starting: bool = False) -> Space:
    """The space of a search, whose tables have its parameters as columns; for the arguments see `Space`.

    Raises:
        ParameterError: as `Space`, and for a parameter whose name the tables use for something else.
    """
    space = Space(model, over, starting=starting)
    if taken := [name for name in space.names if name in COLUMNS]:
        raise ParameterError(
            f"{taken[0]!r} cannot be in `over`: tables of a search have this name; rename the parameter"
        )
    return space


class Space:
    """Bounds of some parameters of a model, and of components of its initial state; points are in the unit box."""

    def __init__(self, model: Model, over: Box, *, starting: bool = False):
        """`starting`: whether bounds may be of components of the initial state ("initial.v")."""
        if not (isinstance(over, Mapping) and over):
            raise ParameterError(f"a search needs at least one parameter in `over`, a dict of bounds, got {over!r}")
        bounds = [_bounds(model, name, pair, starting) for name, pair in over.items()]
        self.names = list(over)
        self.units = [variable(model, name).unit for name in over]
        self.bounds = dict(zip(self.names, bounds, strict=True))
        self.low, self.high = (np.array([b[i] for b in bounds]) for i in (0, 1))
        self.spacing = Spacing.of(bounds)

    @property
    def corners(self) -> Float[np.ndarray, "corners n"]:
        """Lowest and highest corner of the unit box (no dimension), and those that differ from either in one.

        The model may reject some of them.
        """
        first = np.eye(len(self.names) + 1)[:, 1:]
        return np.concatenate([first, 1.0 - first])

    def fixed(self, model: Model, initial: Mapping[str, Any] | None) -> dict[str, Any]:
        """Given components of the initial state by dotted name, in their units.

        An array may be given whole while some of its elements are searched over, which then replace the given ones.

        Raises:
            ParameterError: for a component that is searched over.
        """
        found = given_start(model, initial)
        both = sorted({*found} & {*self.names})
        if both:
            raise ParameterError(f"{both[0]!r} is in `over` and also in `initial`: use it in one of them")
        return found

    def physical(self, x: Float[np.ndarray, "*b n"]) -> Float[np.ndarray, "*b n"]:
        """Points in the parameters' units; those of the unit box are within the bounds to the last bit."""
        found = self.spacing(x)
        within = np.where(x == 1.0, self.high, np.minimum(found, self.high))
        return np.where(x <= 1.0, within, found)

    def unit(self, values: Mapping[str, Any]) -> Float[np.ndarray, "*b n"]:
        """Points given by the values of all parameters, by name and in their units, in the unit box."""
        return self.spacing.unit(np.stack([np.asarray(values[name], float) for name in self.names], axis=-1))

    def beginning_at(self, values: Float[np.ndarray, " n"]) -> Space:
        """A box of the same parameters whose lowest corner has the given values, in their units.

        For values that the bounds exclude, which may have no logarithm.
        """
        found, own = copy.copy(self), np.asarray(values, float)
        rate = None if self.spacing.rate is None else np.zeros_like(own)
        found.spacing = Spacing(own, np.ones_like(own), rate)
        found.low, found.high = own, own + 1.0
        found.bounds = dict(zip(self.names, zip(found.low.tolist(), found.high.tolist(), strict=True), strict=True))
        return found

    def named(self, x: Float[np.ndarray, " n"]) -> dict[str, float]:
        """One point of the unit box as parameters by name, in their units."""
        return dict(zip(self.names, map(float, self.physical(x)), strict=True))

    def columns(self, x: Float[np.ndarray, "b n"]) -> dict[str, Float[np.ndarray, " b"]]:
        """Several points of the unit box as parameters by name, in their units."""
        return dict(zip(self.names, self.physical(x).T, strict=True))

    @staticmethod
    def on_walls(x: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """A point of the unit box (no dimension), on the bounds that are nearer than `NEAR_BOUND`."""
        return np.where(x < NEAR_BOUND, 0.0, np.where(x > 1.0 - NEAR_BOUND, 1.0, x))

    def walls(self, x: Float[np.ndarray, " n"]) -> list[str]:
        """The bounds on which a point of the unit box (no dimension) lies, as "name = value", lower ones first."""
        low = [f"{name} = {self.low[i]:g}" for i, name in enumerate(self.names) if x[i] <= 0.0]
        return low + [f"{name} = {self.high[i]:g}" for i, name in enumerate(self.names) if x[i] >= 1.0]

    def points(self, model: Model, starts: Starts, seed: int) -> Float[np.ndarray, "starts n"]:
        """The given starting points; or the model's own values, if valid and within the bounds, then Sobol points.

        Raises:
            ValueError: for an impossible count.
            ParameterError: for invalid points, those outside the bounds, and if the model rejects almost all points.
        """
        if isinstance(starts, Sequence) and not isinstance(starts, str):
            return self._checked_starts(model, starts)
        starts = checks.count("starts", starts)
        own = self.unit({name: [float(variable(model, name).value)] for name in self.names})
        inside = bool(((own >= 0) & (own <= 1)).all()) and bool(accepted(model, self.columns(own))[0])
        points = found = own[: int(inside)]
        sample = scipy.stats.qmc.Sobol(len(self.names), rng=seed)
        for _ in range(MAX_DRAWS):
            points = _OFF_THE_WALLS + (1.0 - 2.0 * _OFF_THE_WALLS) * sample.random(1 << max(starts - 1, 1).bit_length())
            found = np.concatenate([found, points[accepted(model, self.columns(points))]])
            if len(found) >= starts:
                return found[:starts]
        why = f"the model rejects almost all points within the bounds ({rejection(model, self.columns(points))})"
        raise ParameterError(f"{why}: give `starts`, or other bounds")

    def _checked_starts(self, model: Model, starts: Sequence[Mapping[str, float]]) -> np.ndarray:
        if not starts:
            raise ParameterError("starts is empty: give a number, or at least one point")
        for start in starts:
            if not (isinstance(start, Mapping) and set(start) == set(self.names)):
                raise ParameterError(f"each start must be a dict of {', '.join(self.names)}, got {start!r}")
        units = dict(zip(self.names, self.units, strict=True))
        rows = [{name: in_own_unit(name, start[name], unit) for name, unit in units.items()} for start in starts]
        points = np.array([[finite_number(x, f"the start of {name}") for name, x in row.items()] for row in rows])
        x = self.spacing.unit(points)
        outside = np.argwhere(~((x >= 0) & (x <= 1)))
        if outside.size:
            i, j = outside[0]
            span = f"{self.low[j]:g} to {self.high[j]:g}"
            raise ParameterError(f"the start {points[i, j]:g} of {self.names[j]} lies outside the bounds {span}")
        if why := rejection(model, self.columns(x)):
            raise ParameterError(f"a start is not a valid design: {why}")
        return x


def _bounds(model: Model, name: str, pair: Any, starting: bool) -> tuple[float, float] | Log:
    info, start = variable(model, name), is_start(model, name)
    if start and not starting:
        instead = "declare a parameter that initial_state() returns"
        raise ParameterError(f"{name!r} is a component of the initial state, not a parameter: {instead}")
    if shape := shape_of(model, name):
        one = f"{name}[{','.join('0' * len(shape))}]"
        raise ParameterError(
            f"{name!r} is an array of shape {shape}: a search varies single numbers, such as its element {one!r}"
        )
    got = range_text(pair) if is_distribution(pair) else repr(pair)
    wanted = f"bounds of {name!r} must be (low, high) in {info.unit} with low < high, got {got}"
    logarithmic, pair = isinstance(pair, Log), in_own_unit(name, pair, info.unit)
    try:
        low, high = (finite_number(x, f"a bound of {name}") for x in pair)
    except (TypeError, ValueError) as error:
        raise ParameterError(wanted) from error
    if isinstance(pair, str) or not low < high:
        raise ParameterError(wanted)
    label = f"{type(model).__name__}.{name}"
    for bound in (low, high):  # rules between parameters do not concern single bounds: `accepted` checks designs
        check_value(label, bound, info)
    if start:
        _check_start(model, name, (low, high))
    warn_implausible(f"{label} ({info.doc})", (low, high), info.unit, info.plausible)
    bounds = Log(low, high) if logarithmic else (low, high)
    check_positive(name, bounds)
    return bounds


def _check_start(model: Model, name: str, bounds: tuple[float, float]) -> None:
    """Checks bounds of a component of the initial state, which may be impossible without others."""
    try:
        check_values(model, {name: np.array(bounds)})
    except ValueError as error:
        raise ParameterError(f"{name!r} cannot vary alone: {error}") from error


def finite_number(value: Any, label: str) -> float:
    """One finite real number, in any unit.

    Raises:
        ParameterError: for anything else.
    """
    number = checks.real(value)
    if number is None or not math.isfinite(number):
        raise ParameterError(f"{label} must be a finite number, got {value!r}")
    return number
