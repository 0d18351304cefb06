"""Measures: functions of a run with a name, a unit and the sampling that they need.

    RHO = Measure("rho", correlation, unit="1", long_name="gait correlation coefficient", strides=1)
    ensemble(knee, grid, strides=20, observe=["rho", "order"])      # by name: the model defines them
    ensemble(knee, grid, strides=20, observe=[RHO])                 # or the measures themselves

A measure rejects a run that lacks what it needs. Measures of members that did not complete are masked by status
(`mask`), because reductions over NaN are unreliable: on CPUs, JAX 0.10 gives -inf for a batched maximum of rows with
NaN in batches of 10, and NaN in batches of 2. (`jaxgait.native.looped` fixes this outside of reverse mode.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxgait.definition import RESERVED, RESERVED_RESULTS
from jaxgait.model import Model, Variable
from jaxgait.outcome import Outcome, failures
from jaxgait.precision import float64_default
from jaxgait.registry import load
from jaxgait.run import Run, Sampling
from jaxgait.support import units
from jaxgait.support.checks import NEED_A_VALUE, as_names, nearest, needs_a_value, not_in_files, shown

Observe: TypeAlias = Callable[[Run], Mapping[str, Array]]
"""A function from a run to observables by name."""
_NUMBERS = (jax.Array, np.ndarray, np.generic, float, int)


class MeasureError(ValueError):
    """A run lacks what a measure needs, or a model has no measure of that name."""


class TracedError(MeasureError, jax.errors.ConcretizationTypeError):
    """The code of a measure needs a number that is known only when the compiled program runs."""

    def __init__(self, message: str) -> None:
        Exception.__init__(self, message)  # without JAX's own advice


class Expected(NamedTuple):
    """The values of a measure that realistic runs of a model have.

    Examples:
        >>> from jaxgait.measure import Expected
        >>> Expected(0.0, 3.0, "(people walk at up to 3 m/s)").high  # m/s
        3.0
    """

    low: float
    high: float
    """Both in the unit of the measure."""
    why: str
    """The reason in parentheses, for the end of a sentence."""


@dataclass(frozen=True)
class Measure:
    """A function of a run, with its name, its unit and the sampling that it needs.

    Its value is NaN, or -1 if it is an integer, where it has none: pictures and tables show a gap there.

    Raises:
        MeasureError: for a name, also of a dimension, that every ensemble uses otherwise or that files cannot hold.
        ValueError: for a misspelt unit.
        TypeError: for anything but text for the name, the unit and the long name, a function, and lists of names.

    Examples:
        >>> from jaxgait import Measure
        >>> fastest = Measure("fastest", lambda run: run["v"].max(), "m/s", "largest speed downward")
        >>> print(fastest.name, fastest.variable.unit)
        fastest m/s
    """

    name: str
    function: Callable[[Run], Array]
    unit: str
    long_name: str
    strides: int = 0
    """Least number of whole strides that the run must span; 0: the run need not be counted in strides."""
    samples_per_stride: int = 0
    """Least number of samples per stride."""
    interval: float = math.inf
    """Longest time in s between samples."""
    watch: tuple[str, ...] = ()
    """Outputs whose extremes it uses (`Run.extremes`)."""
    early: bool = False
    """Whether it is defined for early ends, such as the time of a fall."""
    dims: tuple[str, ...] = ()
    """Names of its dimensions, if it is an array."""
    expected: Callable[[Any], Expected] | None = None
    """The values that realistic runs of a model have, if it is a number (see `jaxgait.ensembles.realism`)."""

    def __post_init__(self) -> None:
        """Rejects arguments in another order, names that are taken or given twice, and misspelt units."""
        if not (callable(self.function) and all(isinstance(x, str) for x in (self.name, self.unit, self.long_name))):
            example = "Measure('top', lambda run: run['x'].max(), 'm', 'largest height')"
            got = ", ".join(map(shown, (self.name, self.function, self.unit, self.long_name)))
            raise TypeError(f"a measure is made as in {example}, got {got}")
        units.check(self.unit, f"the measure {self.name!r}")
        for names in ("watch", "dims"):
            object.__setattr__(self, names, as_names(names, getattr(self, names)))
        if twice := next((dim for dim in self.dims if self.dims.count(dim) > 1), None):
            raise MeasureError(f"the measure {self.name!r} has the dimension {twice!r} twice: give each its own name")
        if wrong := not_in_files([self.name, *self.dims]):
            raise MeasureError(f"the measure {self.name!r}: {wrong}")
        ours = {self.name: "measure"} | dict.fromkeys(self.dims, f"dimension of the measure {self.name!r}")
        for name, whose in ours.items():
            if name in RESERVED:
                what = "result" if name in RESERVED_RESULTS else "dimension"
                raise MeasureError(f"a {whose} must not be named {name!r}: every ensemble has a {what} of that name")

    @property
    def variable(self) -> Variable:
        """Unit and long name."""
        return Variable(self.unit, self.long_name, self.dims)

    def check(self, sampling: Sampling) -> None:
        """Checks that a run sampled like this has what the measure needs.

        Raises:
            MeasureError: naming what is missing.

        Examples:
            >>> from jaxgait import Measure
            >>> from jaxgait.run import Sampling
            >>> order = Measure("order", lambda run: run["x"][0], "1", "strides until it repeats", strides=12)
            >>> order.check(Sampling(strides=5, samples=100))
            Traceback (most recent call last):
                ...
            jaxgait.measure.MeasureError: order (strides until it repeats) needs at least 12 strides, the run has 5
        """
        needs = f"{self.name} ({self.long_name}) needs"
        if (self.strides or self.samples_per_stride) and sampling.strides is None:
            raise MeasureError(
                f"{needs} a run of whole strides: give strides={self.strides or 1} or more instead of duration"
            )
        if self.strides > (sampling.strides or 0):
            raise MeasureError(f"{needs} at least {self.strides} strides, the run has {sampling.strides}")
        if sampling.strides is not None and sampling.samples < self.samples_per_stride:
            raise MeasureError(
                f"{needs} at least {self.samples_per_stride} samples per stride, the run has {sampling.samples}"
            )
        if self.interval < math.inf and not (sampling.interval or math.inf) <= self.interval:
            between = "unknown" if sampling.interval is None else f"{sampling.interval:.3g} s"
            raise MeasureError(
                f"{needs} samples at most {self.interval:g} s apart, they are {between} apart: give more samples"
            )

    def checked(self, sampling: Sampling) -> Measure:
        """The measure without its interval check, for programs in which the interval is not a known number.

        Raises:
            MeasureError: naming what a run sampled like this lacks.

        Examples:
            >>> from jaxgait import Bungee, Measure
            >>> from jaxgait.run import Sampling
            >>> fastest = Measure("fastest", lambda run: run["v"].max(), "m/s", "largest speed", interval=0.01)
            >>> print(fastest.checked(Sampling.of(Bungee(), None, duration=5.0, samples=1000)).interval)  # s
            inf
        """
        self.check(sampling)
        return replace(self, interval=math.inf)

    def __call__(self, run: Run) -> Array:
        """Its value for one run.

        Raises:
            MeasureError: if the run lacks what the measure needs, and for a time history.
            TracedError: if its code cannot be compiled; the message gives the line.

        Examples:
            >>> import jax.numpy as jnp
            >>> from jaxgait import Bungee, Measure
            >>> from jaxgait.models.bungee.model import BungeeState
            >>> from jaxgait.run import Run, Sampling, Trajectory
            >>> ts = jnp.array([0.0, 1.0, 2.0])
            >>> fall, end = BungeeState(-30.0 + 5.0 * ts**2, 10.0 * ts), BungeeState(jnp.array(-10.0), jnp.array(20.0))
            >>> run = Run(Bungee(), Trajectory(ts, fall, jnp.array(0), ts[-1], end, *ts[:2]), Sampling(None, 2, 2.0))
            >>> float(Measure("fastest", lambda run: run["v"].max(), "m/s", "largest speed downward")(run))
            20.0
        """
        self.check(run.sampling)
        value = evaluated(f"the measure {self.name!r}", self.function, run)
        if not self.dims and np.shape(value)[:1] == np.shape(run.ts):
            raise MeasureError(
                f"the measure {self.name!r} has {len(run.ts)} values, one per sample of the run: reduce them, as by "
                "max(), or keep a history with trajectories=['NAME'] (--trajectories); for an array of another kind, "
                "name its dimensions, such as dims=('foot',)"
            )
        return value


@dataclass(frozen=True)
class Measures:
    """Several measures as one `observe` function.

    Examples:
        >>> from jaxgait.measure import Measure, Measures
        >>> from jaxgait.run import Sampling
        >>> fastest = Measure("fastest", lambda run: run["v"].max(), "m/s", "largest speed", watch=("v",))
        >>> order = Measure("order", lambda run: run["x"][0], "1", "strides until it repeats", strides=12)
        >>> both = Measures((fastest, order))
        >>> print(both.variables["fastest"].unit, both.watch, set(both.early))
        m/s ('v',) set()
        >>> one_run = Sampling(None, samples=100)
        >>> possible = both.possible(one_run)
        >>> print([measure.name for measure in possible.checked(one_run).members])
        ['fastest']
    """

    members: tuple[Measure, ...]

    def __call__(self, run: Run) -> dict[str, Array]:
        """The values of all of them, by name."""
        return {m.name: m(run) for m in self.members}

    @property
    def variables(self) -> dict[str, Variable]:
        """Unit and long name of each."""
        return {m.name: m.variable for m in self.members}

    @property
    def early(self) -> frozenset[str]:
        """Names of those that are defined for early ends."""
        return frozenset(m.name for m in self.members if m.early)

    @property
    def watch(self) -> tuple[str, ...]:
        """Outputs whose extremes they read, each once."""
        return tuple(dict.fromkeys(name for m in self.members for name in m.watch))

    def checked(self, sampling: Sampling) -> Measures:
        """The measures without their interval checks, see `Measure.checked`."""
        return Measures(tuple(m.checked(sampling) for m in self.members))

    def possible(self, sampling: Sampling) -> Measures:
        """The measures for which a run sampled like this suffices."""
        return Measures(tuple(m for m in self.members if _fits(m, sampling)))


def table(*measures: Measure) -> dict[str, Measure]:
    """Measures by name, as `Model.measures` holds them.

    Examples:
        >>> from jaxgait.measure import Measure, table
        >>> fastest = Measure("fastest", lambda run: run["v"].max(), "m/s", "largest speed downward")
        >>> list(table(fastest))
        ['fastest']
    """
    return {m.name: m for m in measures}


def known(model: Model) -> dict[str, Measure]:
    """A model's measures, keyed by their names.

    Raises:
        ValueError: if the measures to which its class refers cannot be imported.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.measure import known
        >>> list(known(Bungee()))
        ['clearance', 'peak_rope_force']
    """
    measures = model.measures
    if isinstance(measures, str):  # "module:NAME", imported on demand: measures import models
        measures = load(measures, f"the measures of {type(model).__name__}")
    return dict(measures)


def observer(model: Model, observe: Any) -> Observe | None:
    """One function of a run from the argument `observe` (a function, measures, or names of measures).

    Raises:
        MeasureError: for an unknown name, with the nearest known ones.
        TypeError: for an argument of any other type.

    Examples:
        >>> from jaxgait import Bungee
        >>> from jaxgait.measure import observer
        >>> observer(Bungee(), "clearance").variables["clearance"].unit
        'm'
    """
    if observe is None or isinstance(observe, Measures):
        return observe
    if isinstance(observe, Measure | str):
        observe = [observe]
    if isinstance(observe, Mapping):
        observe = [replace(_named(model, one), name=name) for name, one in observe.items()]
    if isinstance(observe, Sequence):
        return _distinct(_named(model, one) for one in observe)
    if callable(observe):
        return cast(Observe, observe)
    raise TypeError(
        "observe must be a function of a run that returns a dict, measures, or names of measures, "
        f"got {type(observe).__name__} {shown(observe)}"
    )


def evaluated(what: str, function: Callable[[Run], Any], run: Run) -> Any:
    """The value of a user's function of a run, `what` for messages.

    Raises:
        TracedError: if its code cannot be compiled; the message gives the line.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait import Bungee
        >>> from jaxgait.measure import evaluated
        >>> from jaxgait.run import Run, Sampling, Trajectory
        >>> ts = jnp.array([0.0, 1.0, 2.0])
        >>> fall = Trajectory(ts, ts, jnp.array(0), ts[-1], ts[-1], jnp.array(9), jnp.array(0))
        >>> evaluated("the end", lambda run: float(run.ts[-1]), Run(Bungee(), fall, Sampling(None, 2, 2.0)))  # s
        2.0
    """
    try:
        return function(run)
    except NEED_A_VALUE as error:
        if isinstance(error, TracedError):
            raise
        raise TracedError(needs_a_value(what, error)) from error


def observed(observe: Observe, run: Run) -> dict[str, Array]:
    """What a function observes of a run by name, each in its unit; blanked if the run did not complete (see `mask`).

    A measure (or a function) that reads events of which not all are recorded is blanked, too.

    Raises:
        TypeError: for anything but numbers and arrays by name.
        ValueError: for a name that files cannot hold.
        TracedError: if its code cannot be compiled; the message gives the line.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait import Bungee
        >>> from jaxgait.measure import observed
        >>> from jaxgait.run import Run, Sampling, Trajectory
        >>> ts = jnp.array([0.0, 1.0, 2.0])
        >>> fell = Trajectory(ts, ts, jnp.array(10), jnp.array(1.5), jnp.array(1.5), jnp.array(9), jnp.array(0))
        >>> float(observed(lambda run: {"end": run.ts[-1]}, Run(Bungee(), fell, Sampling(None, 2, 2.0)))["end"])  # s
        nan
    """
    functions = [Measures((m,)) for m in observe.members] if isinstance(observe, Measures) else [observe]
    return {name: x for function in functions for name, x in _observed(function, run.view()).items()}


def _observed(observe: Observe, run: Run) -> dict[str, Array]:
    """What one function observes of its own view of a run; see `observed`."""
    found = evaluated("the function `observe`", observe, run)
    if not isinstance(found, Mapping):
        got = "one value: write {'name': ...}" if isinstance(found, _NUMBERS) else type(found).__name__
        raise TypeError(f"observe must return a dict of results by name, got {got}")
    for name, x in found.items():
        if not isinstance(name, str) or not isinstance(x, _NUMBERS):
            raise TypeError(f"observe must return numbers or arrays by name, got {shown(x)} for {name!r}")
    if wrong := not_in_files(found):
        raise ValueError(f"what observe returns: {wrong}")
    return mask(found, run.status_as_read, getattr(observe, "early", frozenset()))


def mask(values: Mapping[str, Array], status: Int[Array, ""], early: frozenset[str] = frozenset()) -> dict[str, Array]:
    """Observables of one run, blanked if it did not complete: NaN, or -1 for integers.

    Flags and unsigned integers, which can represent neither, become real numbers.

    Args:
        values: the observables by name, or derivatives of them, of any shape.
        status: how the run ended, a code of `jaxgait.outcome`.
        early: names of those defined for early ends (`Measures.early`), which the model's own terminations leave.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.measure import mask
        >>> fell = mask({"rho": jnp.array(0.9), "order": jnp.array(1)}, jnp.array(10))
        >>> print(fell["rho"], fell["order"])
        nan -1
    """
    completed, valid = status == Outcome.COMPLETED, ~failures(status)
    return {name: _blanked(jnp.asarray(x), valid if name in early else completed) for name, x in values.items()}


@float64_default
def last(history: Float[Array, "*times"]) -> Float[Array, ""]:
    """The last value of a time history, in its unit: that before an early end, after which samples are NaN.

    It may be differentiated. The state at the very end, between samples, is `run.trajectory.y_end`.

    Args:
        history: real numbers, (times,), such as `run["foot_x"]` in a measure for early ends.

    Returns:
        NaN if there is no value.

    Raises:
        ValueError: for several histories in one array, such as those of a vector.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.measure import last
        >>> float(last(jnp.array([80.0, 75.0, 60.0, jnp.nan])))  # the run ended after its third sample
        60.0
    """
    if jnp.ndim(history) != 1:
        several = "of several, jax.vmap(last, in_axes=1) takes the last value of each column"
        raise ValueError(f"last takes one time history, (times,), got the shape {jnp.shape(history)}: {several}")
    number = jnp.arange(history.shape[0])
    final = jnp.max(jnp.where(jnp.isnan(history), -1, number), initial=-1)
    return jnp.where(final >= 0, jnp.sum(jnp.where(number == final, history, 0.0)), jnp.nan)


def with_gaps(values: Any) -> np.ndarray:
    """Results, of any shape and in their unit, as real numbers; the integer -1 (no value) becomes NaN.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.measure import with_gaps
        >>> print(with_gaps(np.array([2, -1])), with_gaps(np.array([0.5, -1.0])))
        [ 2. nan] [ 0.5 -1. ]
    """
    x = np.asarray(values)
    return np.where(x == -1, np.nan, x) if x.dtype.kind == "i" else x.astype(float)


def _blanked(x: Array, completed: Bool[Array, ""]) -> Array:
    if jnp.issubdtype(x.dtype, jnp.inexact):
        return jnp.where(completed, x, jnp.nan)
    if jnp.issubdtype(x.dtype, jnp.signedinteger):
        return jnp.where(completed, x, jnp.asarray(-1, x.dtype))
    return jnp.where(completed, x.astype(float), jnp.nan)


def _fits(measure: Measure, sampling: Sampling) -> bool:
    try:
        measure.check(sampling)
    except MeasureError:
        return False
    return True


def _named(model: Model, one: Any) -> Measure:
    if isinstance(one, Measure):
        return one
    defined = known(model)
    if not isinstance(one, str):
        what = f"observe takes measures and names of measures, got {type(one).__name__} {shown(one)}"
        raise TypeError(what + ": give it alone, or as Measure(name, function, unit, long_name)" * callable(one))
    if one in defined:
        return defined[one]
    if not defined:
        how = "in Python, give a function of a run; a history is kept by trajectories=['NAME'] (--trajectories)"
        raise MeasureError(f"{type(model).__name__} has no measures, also not {one!r}: {how}")
    hint = nearest(one, defined, limit=2)
    if one in model.variables:
        unit = model.variables[one].unit
        kept = f"trajectories=[{one!r}] (--trajectories {one})"
        example = f"Measure('largest', lambda run: run[{one!r}].max(), {unit!r}, 'largest {one}')"
        hint = f"it is a time history, which {kept} keeps in a scan; in Python, {example} takes its largest value"
    raise MeasureError(f"{type(model).__name__} has no measure {one!r}: {hint}")


def _distinct(measures: Iterable[Measure]) -> Measures:
    members = tuple(measures)
    names = [m.name for m in members]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise MeasureError(f"measure given twice: {', '.join(twice)}")
    if not members:
        raise MeasureError("observe is empty: name at least one measure, or leave it out")
    return Measures(members)
