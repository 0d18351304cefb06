"""Gradient search for design parameters: Adam in a box, several starts at once, every trajectory with a status.

Parameters are scaled to the unit box of their bounds; all starts go through one `ensemble` with gradients (forward mode
through the solve), one compiled program for the whole search. A start whose trajectory fails steps back half way to its
last good point.
"""

from __future__ import annotations

import contextlib
import difflib
import functools
import inspect
import json
import math
import pathlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import optax
import xarray as xr
from jaxtyping import Array, Float
from scipy.stats import qmc
from tqdm import tqdm

from jaxgait import checks, precision
from jaxgait.ensembles import ensemble, zipped
from jaxgait.ensembles.members import INITIAL, constant, shape_of
from jaxgait.measure import Measure, Measures, Observe, observer
from jaxgait.model import Model, as_model
from jaxgait.outcome import IncompleteRun, NoResult
from jaxgait.parameters import ImplausibleValue, ParameterError, parameter_info, with_parameters
from jaxgait.run import Run

Objective = Callable[[Run], Any]
Box = Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class Optimum:
    """What a search found."""

    model: Model
    """The model with the best parameters."""
    start: dict[str, list[float]]
    """Where the starts began, by parameter."""
    best: dict[str, float]
    objective: float
    """The objective at the best point."""
    why_stopped: list[str]
    """One sentence per start."""
    history: xr.Dataset
    """Parameters, objective, gradients and status over (`start`, `iteration`)."""

    def to_json(self, path: pathlib.Path | str) -> None:
        """Writes start, best, objective, history and why_stopped."""
        columns = {str(k): _plain(v.values) for k, v in self.history.data_vars.items()}
        record = {"start": self.start, "best": self.best, "objective": self.objective}
        text = json.dumps(record | {"history": columns, "why_stopped": self.why_stopped}, indent=1)
        pathlib.Path(path).write_text(text + "\n")


def optimize(
    model: Model,
    *,
    maximize: Objective | Measure | str | None = None,
    minimize: Objective | Measure | str | None = None,
    over: Box,
    initial: Mapping[str, Any] | None = None,
    starts: int | Sequence[Mapping[str, float]] = 4,
    iterations: int = 30,
    learning_rate: float = 0.06,
    tolerance: float = 1e-4,
    seed: int = 0,
    progress: bool | None = None,
    **run: Any,
) -> Optimum:
    """Makes an objective of a model's trajectory largest or smallest over some of its parameters, by gradients.

    Args:
        model: the mechanism; its other parameters stay as they are.
        maximize: a measure, by its name ("rho") or as it is, or a function from a `Run` to a scalar (JAX code).
        minimize: the same, to be made smallest, instead of `maximize`.
        over: bounds (low, high) by dotted parameter name.
        initial: components of the initial state that differ from the model's own, by name.
        starts: how many (the model's own values if they lie in the bounds, then Sobol points), or the points.
        iterations: at most so many steps.
        learning_rate: first step of Adam as a fraction of the box; it falls to a tenth of that along a cosine.
        tolerance: a start stops when its point moves less than this fraction of the box in three steps.
        seed: of the Sobol points.
        progress: show a progress bar; None: only on a terminal.
        run: what `jaxgait.ensemble` takes: strides, duration, rtol, precision, ...

    Returns:
        The best point over all starts, with the history of each.

    Raises:
        ParameterError: for unknown parameters, bounds that are no interval, starts outside them.
        TypeError: for anything but a model, an objective that is no function, and none or two of them.
        ValueError: for impossible counts and rates, and an objective that is not one real number.
        jaxgait.outcome.NoResult: if every trajectory of every start failed.
    """
    box = _Box(as_model(model), over)
    if (maximize is None) == (minimize is None):
        raise TypeError("give either maximize or minimize: a measure, its name, or a function of a run")
    objective, sign = (maximize, 1.0) if minimize is None else (minimize, -1.0)
    goal = "maximize" if minimize is None else "minimize"
    _check_search(goal, objective, iterations, learning_rate, tolerance, seed, run)
    x = box.points(model, starts, seed)
    observe, start = as_observable(model, cast(Any, objective)), {INITIAL + n: v for n, v in (initial or {}).items()}
    evaluate = functools.partial(_evaluate, model, box, observe, start, run)
    search = _Search(box, evaluate, sign, x, iterations, learning_rate, tolerance)
    for _ in tqdm(range(iterations), desc="optimize", disable=None if progress is None else not progress):
        if not search.advance():
            break
    return search.optimum(model)


def _check_search(
    goal: str, objective: Any, iterations: Any, learning_rate: Any, tolerance: Any, seed: Any, run: Mapping[str, Any]
) -> None:
    """Holds the arguments of a search against what it can use."""
    if not (callable(objective) or isinstance(objective, str)):
        raise TypeError(f"{goal} must be a measure, its name, or a function of a run, got {objective!r}")
    checks.count("iterations", iterations)
    checks.positive("learning_rate", learning_rate, below=1.0)
    checks.positive("tolerance", tolerance, below=1.0)
    checks.count("seed", seed, least=0)
    own = sorted({"members", "observe", "variables", "gradient", "trajectories", "store", "repair"} & set(run))
    if own:
        raise ValueError(f"optimize does not take {own[0]}: it says itself which trajectories to run and what to keep")
    unknown = sorted(set(run) - set(inspect.signature(ensemble).parameters))
    if unknown:
        near = difflib.get_close_matches(unknown[0], inspect.signature(ensemble).parameters, n=1)
        raise ValueError(f"optimize takes no {unknown[0]}" + (f": did you mean {near[0]}?" if near else ""))


def _plain(values: np.ndarray) -> list[Any]:
    """Lists for JSON, with None where a trajectory failed."""
    masked = values.astype(object)
    masked[~np.isfinite(values.astype(float))] = None
    return masked.tolist()


class _Box:
    """The bounds, and the map between them and the unit box."""

    def __init__(self, model: Model, over: Box):
        if not (isinstance(over, Mapping) and over):
            raise ParameterError(f"optimize needs at least one parameter in `over`, a dict of bounds, got {over!r}")
        bounds = [_bounds(model, name, pair) for name, pair in over.items()]
        self.names = list(over)
        self.low, self.high = (np.array([b[i] for b in bounds]) for i in (0, 1))
        with_parameters(model, dict(zip(self.names, self.low, strict=True))).validate()
        with_parameters(model, dict(zip(self.names, self.high, strict=True))).validate()

    @property
    def width(self) -> np.ndarray:
        return self.high - self.low

    def physical(self, x: np.ndarray) -> np.ndarray:
        return self.low + x * self.width

    def points(self, model: Model, starts: int | Sequence[Mapping[str, float]], seed: int) -> np.ndarray:
        """Starting points in the unit box, shape (starts, parameters)."""
        if isinstance(starts, Sequence) and not isinstance(starts, str):
            return self._given(starts)
        starts = checks.count("starts", starts)
        own = np.array([float(parameter_info(model, name).value) for name in self.names])
        own = (own - self.low) / self.width
        points = qmc.Sobol(len(self.names), rng=seed).random(1 << max(starts - 1, 1).bit_length())
        points = 0.1 + 0.8 * points  # off the walls, where a gradient can be cut off
        return np.vstack([own, points])[:starts] if ((own >= 0) & (own <= 1)).all() else points[:starts]

    def _given(self, starts: Sequence[Mapping[str, float]]) -> np.ndarray:
        """Starting points that the user gives, in the unit box."""
        if not starts:
            raise ParameterError("starts is empty: give a number, or at least one point")
        for start in starts:
            if not (isinstance(start, Mapping) and set(start) == set(self.names)):
                raise ParameterError(f"each start must be a dict of {', '.join(self.names)}, got {start!r}")
        given = np.array([[_real(start[name], f"the start of {name}") for name in self.names] for start in starts])
        x = (given - self.low) / self.width
        outside = np.argwhere((x < 0) | (x > 1))
        if outside.size:
            i, j = outside[0]
            span = f"{self.low[j]:g} to {self.high[j]:g}"
            raise ParameterError(f"the start {given[i, j]:g} of {self.names[j]} lies outside the bounds {span}")
        return x


def _bounds(model: Model, name: str, pair: Any) -> tuple[float, float]:
    """The bounds of one parameter."""
    info = parameter_info(model, name)
    if shape_of(model, name) != ():
        raise ParameterError(
            f"{name!r} is an array of the shape {shape_of(model, name)}: a search varies single numbers"
        )
    wanted = f"bounds of {name!r} must be (low, high) in {info.unit} with low < high, got {pair!r}"
    try:
        low, high = (_real(x, f"a bound of {name}") for x in pair)
    except (TypeError, ValueError) as error:
        raise ParameterError(wanted) from error
    if isinstance(pair, str) or not low < high:
        raise ParameterError(wanted)
    return low, high


def _real(value: Any, label: str) -> float:
    try:
        number = math.nan if isinstance(value, str | bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ParameterError(f"{label} must be a finite number, got {value!r}")
    return number


def _evaluate(
    model: Model, box: _Box, observe: Observe, start: Mapping[str, Any], run: Mapping[str, Any], x: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Objective, gradient (in the unit box) and status of all starts."""
    values = dict(zip(box.names, box.physical(x).T, strict=True))
    options: dict[str, Any] = {"retry": False, "progress": False, **run}
    with warnings.catch_warnings():
        # The bounds were checked before the search, and the history holds how every trajectory ended.
        warnings.simplefilter("ignore", ImplausibleValue)
        warnings.simplefilter("ignore", IncompleteRun)
        data = ensemble(model, constant(zipped(values), start), observe=observe, gradient=box.names, **options)
    gradient = data["objective_gradient"].sel(parameter=box.names).transpose("member", "parameter").values
    return data["objective"].values, gradient * box.width, data["status"].values


def as_observable(model: Model, objective: Objective | Measure | str) -> Observe:
    """The objective as an `observe` function with the result `objective`; equal for equal ones: programs are reused.

    Raises:
        jaxgait.measure.MeasureError: for a name that the model does not bring.
    """
    if isinstance(objective, str | Measure):
        (measure,) = cast(Measures, observer(model, objective)).members
        return Measures((replace(measure, name="objective"),))
    return _function(objective)


@functools.lru_cache
def _function(objective: Objective) -> Observe:
    return lambda run: {"objective": _one_number(objective(run))}


def _one_number(value: Any) -> Array:
    """An objective, if it is one.

    Raises:
        ValueError: for anything but one real number.
    """
    if not isinstance(value, float | np.floating | np.ndarray | jax.Array) or np.ndim(value) != 0:
        what = f"an array of the shape {np.shape(value)}" if np.ndim(value) else f"{type(value).__name__}"
        raise ValueError(f"the objective must be one real number of a run, got {what}")
    number = jnp.asarray(value)
    if not jnp.issubdtype(number.dtype, jnp.floating):
        raise ValueError(f"the objective must be one real number of a run, got {number.dtype}: it has no gradient")
    return number


@contextlib.contextmanager
def _optax() -> Iterator[None]:
    """Float64 for the search itself; optax's own step count needs JAX's usual promotion of integers."""
    with precision.use("float64"), jax.numpy_dtype_promotion("standard"):
        yield


class _Search:
    """The state of all starts."""

    def __init__(
        self,
        box: _Box,
        evaluate: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]],
        sign: float,
        x: Float[np.ndarray, "starts parameters"],
        iterations: int,
        learning_rate: float,
        tolerance: float,
    ):
        self.box, self.evaluate, self.sign, self.x, self.tolerance = box, evaluate, sign, x, tolerance
        self.first = x.copy()
        self.optimizer = optax.adam(optax.cosine_decay_schedule(learning_rate, iterations, alpha=0.1), b1=0.7, b2=0.9)
        with _optax():
            self.state: Any = self.optimizer.init(jnp.asarray(x))
        self.good = x.copy()
        self.why = ["the last iteration was reached"] * len(x)
        self.done = np.zeros(len(x), bool)
        self.steps: list[dict[str, np.ndarray]] = []

    def advance(self) -> bool:
        """Evaluates all starts and moves them; False when all have settled."""
        value, gradient, status = self.evaluate(self.x)
        record = {"x": self.x.copy(), "objective": value, "gradient": gradient, "status": status}
        self.steps.append(record)
        fine = np.isfinite(value) & np.isfinite(gradient).all(1)
        self.good[fine] = self.x[fine]
        better = np.where(fine[:, None], self.sign * gradient, 0.0)
        with _optax():
            step, self.state = self.optimizer.update(jnp.asarray(-better), self.state)
        moved = np.clip(self.x + np.asarray(step), 0.0, 1.0)
        moved = np.where(fine[:, None], moved, 0.5 * (self.x + self.good))
        moved[self.done] = self.x[self.done]
        self.x = moved
        self._settle(fine)
        return not self.done.all()

    def _settle(self, fine: np.ndarray) -> None:
        if len(self.steps) < 4:
            return
        recent = np.array([s["x"] for s in self.steps[-3:]] + [self.x])
        still = (np.ptp(recent, axis=0) < self.tolerance).all(1) & ~self.done
        for i in np.flatnonzero(still):
            edge = ((self.x[i] <= 0) | (self.x[i] >= 1)).any()
            self.why[i] = "settled on a bound" if edge else "settled"
            if not fine[i]:
                self.why[i] = "no trajectory near its start succeeded"
        self.done |= still

    def optimum(self, model: Model) -> Optimum:
        values = np.array([s["objective"] for s in self.steps])
        if not np.isfinite(values).any():
            codes = sorted({int(c) for s in self.steps for c in s["status"]})
            raise NoResult(f"every trajectory of every start failed (status codes {codes}): try other bounds")
        i, j = np.unravel_index(np.nanargmax(self.sign * values), values.shape)
        names = self.box.names
        best = dict(zip(names, map(float, self.box.physical(self.steps[i]["x"][j])), strict=True))
        start = {n: self.box.physical(self.first)[:, k].tolist() for k, n in enumerate(names)}
        return Optimum(
            with_parameters(model, best),
            start,
            best,
            float(values[i, j]),
            self.why,
            _labelled(self.history(), model, names),
        )

    def history(self) -> xr.Dataset:
        dims = ("start", "iteration")
        points = np.array([self.box.physical(s["x"]) for s in self.steps]).transpose(1, 0, 2)
        slopes = np.array([s["gradient"] / self.box.width for s in self.steps]).transpose(1, 0, 2)
        data: dict[str, Any] = {"objective": (dims, np.array([s["objective"] for s in self.steps]).T)}
        data["status"] = (dims, np.array([s["status"] for s in self.steps]).T)
        for k, name in enumerate(self.box.names):
            data[name] = (dims, points[:, :, k])
            data[f"objective_gradient[{name}]"] = (dims, slopes[:, :, k])
        return xr.Dataset(data)


def _labelled(history: xr.Dataset, model: Model, names: Sequence[str]) -> xr.Dataset:
    """The history with units and long names."""
    history["objective"].attrs |= {"units": "1", "long_name": "objective, in its own unit"}
    history["status"].attrs |= {"units": "1", "long_name": "how the trajectory ended (0: completed)"}
    for name in names:
        info = parameter_info(model, name)
        slope = {"units": f"per {info.unit}", "long_name": f"slope of the objective over {name}"}
        history[name].attrs |= {"units": info.unit, "long_name": info.doc}
        history[f"objective_gradient[{name}]"].attrs |= slope
    return history
