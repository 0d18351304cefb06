"""The goal of a search: an objective and limits, given as measures, their names, or functions of a run.

subject_to=["peak_flexion >= 60", "peak_force <= 2e3"]
subject_to=[at_least(lambda run: run["knee_angle"].min(), -0.1)]
subject_to=[at_least(lambda run: run["foot_height"], 0.0)]         # an array: every element of it
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxgait.measure import Measure, MeasureError, Measures, evaluated, known, observer
from jaxgait.model import Model
from jaxgait.optimization.space import finite_number
from jaxgait.parameters import parameters
from jaxgait.run import Run, Sampling
from jaxgait.support.units import QUANTITY, factor, unit_of, with_unit

Objective: TypeAlias = Callable[[Run], Any] | Measure | str
"""A measure, its name, or a function of a run."""

MAX_VIOLATION = 1e-8
"""Largest relative violation of a limit at the end of a search."""
MAGNITUDE_QUANTILE = 0.75
"""Quantile of a measure's magnitudes that counts as typical: near the limit they are small, single ones are huge."""
LEAST_MAGNITUDE = 1e-5
"""Least typical magnitude of a measure relative to its largest: below, most values may be rounding errors of zero."""
ROUNDING = 1e-13
"""A measure nowhere larger than this, in its unit, is zero with rounding errors: its magnitude is not known."""
_VALUE = "the value of a limit"
_COMPARED = re.compile(r"(>=|<=|=>|=<|==|=|>|<)")
_TURNED = {">=": "<=", "<=": ">=", "=>": "=<", "=<": "=>", ">": "<", "<": ">", "=": "=", "==": "=="}
_MEANT = {">=": (">=",), "=>": (">=",), ">": (">=",), "<=": ("<=",), "=<": ("<=",), "<": ("<=",)}
"""The signs of limits that a comparison means; both for an equality."""
_NAME = re.compile(r"[A-Za-z_]\S*")


@dataclass(frozen=True)
class Limit:
    """A lower or an upper limit of a measure, in its own unit; of an array, of every element.

    Examples:
        >>> from jaxgait.optimization.goals import Limit
        >>> limit = Limit("peak_rope_force", 3000.0, at_least=False)
        >>> print(limit.name, limit.sign, limit.scale)  # the slack is -(force - 3000 N), relative to 3000 N
        peak_rope_force -1.0 3000.0
    """

    what: Objective
    value: float
    """The limit's value in the unit of the measure."""
    at_least: bool = True
    element: int | None = None
    """Index of the limited element of a flattened array; None: all elements."""
    number: int | None = None
    """Which of several limits with the same text it is; None for the first."""
    magnitude: float | None = None
    """Typical magnitude of the measure within the bounds, in its unit, for a limit at zero; None: not known."""
    unit: str | None = None
    """Unit of the value, until `limit` has converted it to the measure's unit; None: the measure's."""

    @property
    def sign(self) -> float:
        """Sign s of the slack s (measure - value), which must not be negative."""
        return 1.0 if self.at_least else -1.0

    @property
    def scale(self) -> float:
        """Scale of the slack in the measure's unit: the magnitude of the value; of the measure for a value of zero."""
        return abs(self.value) or self.magnitude or 1.0

    @property
    def name(self) -> str:
        """What is limited, for messages."""
        what = self.what if isinstance(self.what, str) else name_of(self.what, "a function of the run")
        what = what if self.number is None else f"{what} ({self.number})"
        return what if self.element is None else f"{what}[{self.element}]"

    def __str__(self) -> str:
        return with_unit(f"{self.name} {'>=' if self.at_least else '<='} {self.value:g}", self.unit or "")


def at_least(what: Objective, value: Any) -> Limit:
    """The limit ``what >= value``, with the value in the unit of the measure, or labelled with another.

    Raises:
        jaxgait.parameters.ParameterError: for a value that is not a finite number.

    Examples:
        >>> from jaxgait.optimization.goals import at_least
        >>> limit = at_least("peak_flexion", 60.0)
        >>> print(limit.what, limit.value, limit.at_least)
        peak_flexion 60.0 True
    """
    return Limit(what, finite_number(value, _VALUE), unit=unit_of(value, _VALUE))


def at_most(what: Objective, value: Any) -> Limit:
    """The limit ``what <= value``, with the value in the unit of the measure, or labelled with another.

    Raises:
        jaxgait.parameters.ParameterError: for a value that is not a finite number.

    Examples:
        >>> from jaxgait.optimization.goals import at_most
        >>> at_most("peak_rope_force", 3000.0).at_least
        False
    """
    return replace(at_least(what, value), at_least=False)


def limit(condition: Limit | str, model: Model | None = None) -> Limit:
    """A limit in the unit of its measure, from a text such as "clearance >= 50 cm" or a `Limit`.

    Args:
        condition: the text or the limit; a number without a unit is in the measure's.
        model: the mechanism whose measures have units.

    Raises:
        ValueError: for anything else, for another unit than that of the measure, and for a unit without a model.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.optimization.goals import limit
        >>> limit("peak_flexion >= 60").value, limit("clearance >= 50 cm", Bungee()).value
        (60.0, 0.5)
    """
    one = condition if isinstance(condition, Limit) else _read(condition)
    if one.unit is None:
        return one
    if model is None:
        raise ValueError(
            f"the limit {str(condition)!r}: without a model, give the value in the measure's unit, as a number"
        )
    measure = known(model).get(one.what) if isinstance(one.what, str) else one.what
    try:
        scale = factor(one.unit, getattr(measure, "unit", one.unit), one.name, of="the value")
    except ValueError as error:
        raise ValueError(f"the limit {str(condition)!r}: {error}") from error
    return replace(one, value=scale * one.value, unit=None)


def _read(condition: Any) -> Limit:
    """A limit from a text, in the unit that it names."""
    parts = [part.strip() for part in _COMPARED.split(condition)] if isinstance(condition, str) else []
    if len(parts) == 3 and QUANTITY.fullmatch(parts[0]):  # "2 <= clearance"
        parts = [parts[2], _TURNED[parts[1]], parts[0]]
    found = QUANTITY.fullmatch(parts[2]) if len(parts) == 3 and parts[1] in (">=", "<=") else None
    if not found or not _NAME.fullmatch(parts[0]) or not np.isfinite(float(found[1])):
        what = "a limit is text such as 'peak_flexion >= 60' (>= or <=, and a number, in the measure's unit or another)"
        raise ValueError(f"{what}, or made by at_least or at_most, got {condition!r}{_rewritten(parts)}")
    return Limit(parts[0], float(found[1]), parts[1] == ">=", unit=found[2] or None)


def _rewritten(parts: list[str]) -> str:
    """What to write instead of a comparison that is not a limit."""
    kinds = "".join("q" if QUANTITY.fullmatch(x) else "n" if _NAME.fullmatch(x) else "?" for x in parts[::2])
    if kinds == "nq" and parts[1] not in (">=", "<="):
        each = [f"{parts[0]} {sign} {parts[2]}" for sign in _MEANT.get(parts[1], (">=", "<="))]
    elif kinds == "qnq" and parts[1] in _MEANT and parts[3] in _MEANT:
        below, name, above = parts[::2]
        each = [f"{name} {_TURNED[_MEANT[parts[1]][0]]} {below}", f"{name} {_MEANT[parts[3]][0]} {above}"]
    else:
        return ""
    return f": write {' and '.join(map(repr, each))}"


@dataclass(frozen=True)
class Goal:
    """Objective and limits as one `observe` function; hashable, so that programs are reused.

    Examples:
        >>> import numpy as np
        >>> from jaxgait import Bungee
        >>> from jaxgait.optimization.goals import Goal
        >>> goal = Goal.of(Bungee(), "peak_rope_force", ["clearance >= 2"])
        >>> print(goal.names, goal.units, goal.slack(np.array([2500.0, 3.0])))  # 1 m of slack, relative to 2 m
        ('objective', 'limited_0') ('N', 'm') [0.5]
    """

    measures: tuple[Callable[[Run], Any], ...]
    """The objective, then the limited measures."""
    limits: tuple[Limit, ...]
    sizes: tuple[int | None, ...] = ()
    """Number of elements of each limited array, None for a single number; empty: all are single numbers."""
    counts: bool = False
    """Whether integers and booleans count as real numbers, as they can in methods without gradients."""

    @classmethod
    def of(cls, model: Model, objective: Objective, limits: Sequence[Limit | str] = ()) -> Goal:
        """A goal with measures found by their names.

        Raises:
            jaxgait.measure.MeasureError: for an unknown measure.
            ValueError: for an invalid limit.
        """
        chosen = _numbered([limit(one, model) for one in limits])
        return cls(tuple(_found(model, what) for what in (objective, *(one.what for one in chosen))), chosen)

    def __call__(self, run: Run) -> dict[str, Array]:
        """The objective as "objective" and the limited measures (or arrays) as "limited_0", ..., in their units."""
        first, *others = self.measures
        pairs = enumerate(zip(others, self.limits, strict=True))
        found = {f"limited_{i}": self._real(f"the limited measure ({one.name})", m, run) for i, (m, one) in pairs}
        objective = self._real("the objective", first, run, "one real number")
        if objective.ndim:
            shape = objective.shape
            raise ValueError(f"the objective must be one real number of a run, got an array of the shape {shape}")
        return {"objective": objective, **found}

    def _real(self, what: str, function: Callable[[Run], Any], run: Run, wanted: str = "real numbers") -> Array:
        """Real numbers of a run, differentiable ones unless `counts`; messages call them `what`."""
        value = evaluated(what, function, run)
        if not isinstance(value, float | np.generic | np.ndarray | jax.Array):
            raise ValueError(f"{what} must be {wanted} of a run, got {type(value).__name__}")
        number = jnp.asarray(value)
        if not number.size:
            raise ValueError(f"{what} must be {wanted} of a run, got an array without any")
        if jnp.issubdtype(number.dtype, jnp.floating):
            return number
        if not (jnp.issubdtype(number.dtype, jnp.integer) or number.dtype == bool):
            raise ValueError(f"{what} must be {wanted} of a run, got {number.dtype}")
        if not self.counts:
            without = "methods without gradients take it, such as COBYQA, CMA-ES and, for fronts, NSGA-II"
            raise ValueError(f"{what} must be {wanted} of a run, got {number.dtype}: it has no gradient; {without}")
        return number.astype(float)

    def checked(self, sampling: Sampling) -> Goal:
        """The goal without the interval checks of its measures, see `Measure.checked`."""
        return replace(
            self, measures=tuple(m.checked(sampling) if isinstance(m, Measure) else m for m in self.measures)
        )

    def observed(self) -> Goal:
        """The goal without the values of its limits, on which its results do not depend: one program for all values."""
        return replace(self, limits=tuple(replace(one, value=0.0, magnitude=None) for one in self.limits))

    def sized(self, shapes: Mapping[str, tuple[int, ...]]) -> Goal:
        """The goal with the shapes of its results (see `names`), which defines the elements of limits on arrays."""
        found = (shapes[f"limited_{i}"] for i in range(len(self.limits)))
        return replace(self, sizes=tuple(math.prod(shape) if shape else None for shape in found))

    @functools.cached_property
    def bounds(self) -> tuple[Limit, ...]:
        """The limits, with those on arrays expanded to their elements: one per slack."""
        several = lambda one, size: [one] if size is None else [replace(one, element=i) for i in range(size)]
        return tuple(b for one, size in zip(self.limits, self.elements, strict=True) for b in several(one, size))

    @property
    def elements(self) -> tuple[int | None, ...]:
        """Number of elements of each limited array; None for a single number."""
        return self.sizes or (None,) * len(self.limits)

    def _each(self, items: Iterable[Any]) -> list[Any]:
        """One item per bound, from one per limit."""
        pairs = zip(items, self.elements, strict=True)
        return [x for x, size in pairs for _ in range(1 if size is None else size)]

    def with_magnitudes(self, values: Float[np.ndarray, "points values"]) -> Goal:
        """The goal whose limits at zero know the magnitude of their measure, from its values at several points."""
        if not len(values):
            return self
        sizes = self.magnitudes(values)[:, 1:]
        largest = sizes.max(axis=0)
        found = np.maximum(np.quantile(sizes, MAGNITUDE_QUANTILE, axis=0), LEAST_MAGNITUDE * largest)
        found = np.where(largest > ROUNDING, found, 0.0).tolist()
        typical = {one.what: magnitude for one, magnitude in zip(self.bounds, found, strict=True)}
        known = lambda one: one if one.value else replace(one, magnitude=typical[one.what])
        return replace(self, limits=tuple(map(known, self.limits)))

    def magnitudes(self, values: Float[np.ndarray, "points values"]) -> Float[np.ndarray, "points known"]:
        """Magnitudes of the objective and of the limited measures, in their units.

        Elements of an array, and scenarios, share the largest one.
        """
        found = np.abs(values[:, : 1 + len(self.bounds)])
        for k, one in enumerate(self.bounds, start=1):
            alike = [1 + i for i, other in enumerate(self.bounds) if other.what == one.what]
            found[:, k] = np.abs(values[:, alike]).max(axis=1)
        return found

    def flat(self) -> Goal:
        """The goal with limits on arrays expanded to their elements, each with its measure."""
        return Goal((self.measures[0], *self._each(self.measures[1:])), self.bounds)

    def slack_by_limit(self, slack: Float[np.ndarray, " slacks"]) -> dict[str, float]:
        """Slack of each limit in its own unit (for an array, the least), by the limit's text; from `slack`."""
        units, which = slack * [one.scale for one in self.bounds], np.array(self._each(range(len(self.limits))))
        return {str(one): float(units[which == k].min(initial=np.inf)) for k, one in enumerate(self.limits)}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the observables."""
        return ("objective", *(f"limited_{i}" for i in range(len(self.limits))))

    @property
    def early(self) -> frozenset[str]:
        """Names of the observables that are defined for early ends."""
        named = zip(self.names, self.measures, strict=True)
        return frozenset(name for name, m in named if getattr(m, "early", False))

    @property
    def watch(self) -> tuple[str, ...]:
        """Outputs whose extremes the measures read."""
        watched = (w for m in self.measures for w in getattr(m, "watch", ()))
        return tuple(dict.fromkeys(watched))

    @property
    def label(self) -> dict[str, str]:
        """Unit and long name of the objective; for a function the unit is empty."""
        first = self.measures[0]
        return {"units": self.units[0], "long_name": getattr(first, "long_name", name_of(first, "objective"))}

    @property
    def units(self) -> tuple[str, ...]:
        """Units of the objective and of each slack; empty for functions."""
        first, *others = (getattr(m, "unit", "") for m in self.measures)
        return (first, *self._each(others))

    def joined(self, results: Mapping[str, np.ndarray], suffix: str = "") -> Float[np.ndarray, "b values *n"]:
        """Results by name (see `names`, each with the suffix), in their units: the objective, then all bounds.

        Args:
            results: each with a leading axis over members; derivatives also with a last one over parameters.
            suffix: "" for values, "_gradient" for derivatives.
        """
        columns = [results[name + suffix] for name in self.names]
        last = columns[0].shape[-1:] if suffix else ()
        return np.concatenate([one.reshape(len(one), -1, *last) for one in columns], axis=1)

    @property
    def strides(self) -> int | None:
        """Number of strides that the measures need; None for functions, for which it is unknown."""
        if not all(isinstance(m, Measure) for m in self.measures):
            return None
        return max(cast(Measure, m).strides for m in self.measures)

    def slack(self, values: Float[np.ndarray, "*b values"]) -> Float[np.ndarray, "*b slacks"]:
        """Slacks of the `bounds`, relative to their `scale` (no dimension); negative if a bound is exceeded."""
        signs, at = self._signs
        return signs * (values[..., 1 : 1 + len(at)] - at)

    def met(self, values: Float[np.ndarray, "*b values"]) -> Bool[Any, "*b"]:
        """Whether the values, in the units of measures, violate no limit by more than `MAX_VIOLATION`."""
        return (self.slack(values) >= -MAX_VIOLATION).all(axis=-1)

    def slack_slopes(self, slopes: Float[np.ndarray, "*b values n"]) -> Float[np.ndarray, "*b slacks n"]:
        """Derivatives of `slack` by the unit box; no dimension."""
        signs, _ = self._signs
        return signs[:, None] * slopes[..., 1 : 1 + len(signs), :]

    @functools.cached_property
    def _signs(self) -> tuple[np.ndarray, np.ndarray]:
        """Signs of the slacks over their scales, and the values of the bounds."""
        return np.array([b.sign / b.scale for b in self.bounds]), np.array([b.value for b in self.bounds])


def _numbered(limits: Sequence[Limit]) -> tuple[Limit, ...]:
    """The limits, made distinct, because results name them by their texts, which are the same for all lambdas."""
    texts = [str(one) for one in limits]
    before = [texts[:i].count(text) for i, text in enumerate(texts)]
    return tuple(replace(one, number=n + 1) if n else one for one, n in zip(limits, before, strict=True))


def _found(model: Model, what: Objective) -> Callable[[Run], Any]:
    if isinstance(what, str) and what not in known(model) and what in parameters(model):
        made = f"make it a measure, Measure({what.rpartition('.')[2]!r}, lambda run: run.model.{what}, unit)"
        raise MeasureError(f"{what!r} is a parameter: limit it by its bounds in `over`, or {made}")
    if isinstance(what, str | Measure):
        return cast(Measures, observer(model, what)).members[0]
    if not callable(what):
        raise TypeError(f"a limit needs a measure, its name, or a function of a run, got {what!r}")
    return what


def name_of(what: Callable[[Run], Any], otherwise: str) -> str:
    """The name of a measure or a function; `otherwise` for lambdas and partial functions.

    Examples:
        >>> from jaxgait.optimization.goals import name_of
        >>> name_of(max, "a function"), name_of(lambda run: run["x"][-1], "a function")
        ('max', 'a function')
    """
    name = getattr(what, "name", getattr(what, "__name__", "<lambda>"))
    return otherwise if name == "<lambda>" else name
