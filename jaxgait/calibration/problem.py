"""The residuals between simulated and measured curves at points of the unit box of the parameters.

Residuals are (simulated - measured) / noise, with an exact Jacobian (of the periodic gait, or through the run). Several
searches (`jaxgait.calibration.search`) run in parallel, with their points evaluated as one ensemble. The residuals of
several trials are concatenated.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from scipy.interpolate import CubicSpline

from jaxgait.calibration.conditions import Conditions
from jaxgait.calibration.losses import LEAST_SQUARES, Loss
from jaxgait.calibration.measured import MeasuredCurve
from jaxgait.model import Model
from jaxgait.optimization.evaluate import Evaluated, extent
from jaxgait.optimization.goals import Goal
from jaxgait.optimization.request_batching import together
from jaxgait.optimization.space import Space
from jaxgait.optimization.statuses import UNSTABLE
from jaxgait.parameters import with_parameters
from jaxgait.run import Run, Sampling
from jaxgait.support.checks import nearest
from jaxgait.support.notes import waiting
from jaxgait.support.units import factor

Output: TypeAlias = Callable[[Run], Any] | str
"""An output or component of the state by name, or a function of a run with one number per sample (JAX code)."""


@dataclass(frozen=True)
class NamedOutput:
    """An output by its name, in its own unit; equal for equal names, so that programs are reused."""

    name: str

    def __call__(self, run: Run) -> Float[Array, " times"]:
        """Its values at the samples of the run."""
        return run[self.name]


@dataclass(frozen=True)
class Curve(Goal):
    """Curves of a run, each in its own unit: of its last two strides (or the only one), or of the whole run."""

    stride: bool = True

    def __call__(self, run: Run) -> dict[str, Array]:
        """The curves at all samples, by `names`.

        Raises:
            ValueError: for an output that is not one number per sample.
        """
        return {name: self._one(measure(run), run) for name, measure in zip(self.names, self.measures, strict=True)}

    def _one(self, values: Any, run: Run) -> Array:
        if jnp.shape(values) != run.ts.shape:
            raise ValueError(
                f"the output must have the shape {run.ts.shape} of a run's samples, got {jnp.shape(values)}"
            )
        return values[-2 * run.sampling.samples - 1 :] if self.stride else values

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the observables."""
        return ("curve", *(f"curve_{i}" for i in range(1, len(self.measures))))

    @property
    def strides(self) -> int:
        """Number of strides that it needs."""
        return int(self.stride)


@dataclass(frozen=True, eq=False)
class Interpolation:
    """The linear map from the samples of a run to the points of the data, in the unit of the measured curve."""

    matrix: Float[np.ndarray, "points samples"]
    """A cubic spline through the samples, evaluated at the points, times the factor between the units."""
    coarse: Float[np.ndarray, "points samples"]
    """The same from every other sample, to estimate the error of interpolation."""
    earlier: Float[np.ndarray, "points samples"] | None = None
    """The same for the stride before, to see whether the gait has settled; None where there is none."""


def simulated(model: Model, output: Output, measured: MeasuredCurve) -> tuple[Callable[[Run], Any], float]:
    """The simulated curve of a run, and the factor (no dimension) that converts it to the unit of the measured one.

    Raises:
        ValueError: for an unknown output, and incompatible units.
        TypeError: for an output that is neither a name nor a function.
    """
    if callable(output):
        return output, 1.0
    if not isinstance(output, str):
        raise TypeError(f"output must be the name of an output or a function of a run, got {output!r}")
    if output not in model.variables:
        hint = nearest(output, model.variables, limit=2)
        raise ValueError(f"{type(model).__name__} has no output {output!r}: {hint}")
    if measured.knee and output != "knee_angle":
        raise ValueError(f"the data are the knee curve of a drive, got output={output!r}: give output='knee_angle'")
    unit = model.variables[output].unit
    return NamedOutput(output), 1.0 / factor(measured.unit, unit, output, of="the measured curve")


def interpolation(
    model: Model, space: Space, sampling: Sampling, measured: MeasuredCurve, scale: float
) -> Interpolation:
    """The interpolation from the samples of a run to the points of the data; `scale` has no dimension.

    Raises:
        ValueError: for times beyond the run, and times that depend on the parameters.
    """
    if measured.axis == "phase":
        grid = np.arange(sampling.samples + 1) / sampling.samples
    else:
        grid = _times(model, space, sampling)
        if measured.at[-1] > grid[-1] * (1.0 + 1e-12):
            raise ValueError(
                f"the data end at {measured.at[-1]:g} s, after the run ({grid[-1]:g} s): give a longer duration, or "
                "leave out the later points"
            )
    every_other = np.unique(np.append(np.arange(0, len(grid), 2), len(grid) - 1))
    coarse = np.zeros((len(measured.at), len(grid)))
    coarse[:, every_other] = _spline(grid[every_other], measured.at)
    fine, coarse = scale * _spline(grid, measured.at), scale * coarse
    if measured.axis == "time" or sampling.strides == 1:
        return Interpolation(fine, coarse)
    before = np.zeros((len(measured.at), sampling.samples))
    return Interpolation(np.hstack([before, fine]), np.hstack([before, coarse]), np.hstack([fine, before]))


def _times(model: Model, space: Space, sampling: Sampling) -> Float[np.ndarray, " times"]:
    columns = extent(model, space)
    designs = ({name: float(x[i]) for name, x in columns.items()} for i in range(len(columns[space.names[0]])))
    first, *others = (np.asarray(sampling.times(with_parameters(model, one))) for one in designs)
    if not all(np.allclose(first, other, rtol=1e-9) for other in others):
        raise ValueError(
            "the length of a run depends on the fitted parameters: give a duration, or data over the phase"
        )
    return first


def _spline(grid: np.ndarray, at: np.ndarray) -> Float[np.ndarray, "points samples"]:
    return CubicSpline(grid, np.eye(len(grid)))(at)


class Residuals(NamedTuple):
    """Weighted residuals at some points of the unit box, without dimension, with a leading axis over the points."""

    values: Float[np.ndarray, "*b points"]
    """(simulated - measured) / noise; NaN where the run failed."""
    slopes: Float[np.ndarray, "*b points n"]
    """Their derivatives by the coordinates of the unit box."""
    simulated: Float[np.ndarray, "*b points"]
    """The simulated curve at the points of the data, in the unit of the measured one."""
    coarse: Float[np.ndarray, "*b points"]
    """The same from every other sample of the run."""
    earlier: Float[np.ndarray, "*b points"]
    """The same for the stride before; where there is none, for the same stride."""
    status: Int[Any, "*b"]
    """How the runs ended, codes of `jaxgait.outcome`; of several, the first that failed."""
    multiplier: Float[Any, "*b"]
    """Modulus of the largest Floquet multiplier of the gait; NaN where no gait was solved for."""
    trial: Int[Any, "*b"]
    """Number of the trial with this status and multiplier."""
    memory: Any = None
    """At one point: its gaits, as guesses for the next ones, or None."""

    @property
    def valid(self) -> Bool[Any, "*b"]:
        """Whether a search may step to the points."""
        return np.isfinite(self.values).all(axis=-1) & np.isfinite(self.slopes).all(axis=(-2, -1))

    def at(self, k: int, memory: Any = None) -> Residuals:
        """The residuals at one of several points, by its number, with its gait."""
        return Residuals(*(field[k] for field in self[:-1]), memory=memory)

    @property
    def squares(self) -> Float[Any, "*b"]:
        """Chi-square: the sum of squares; infinite where the run failed. No dimension."""
        return np.where(self.valid, (self.values**2).sum(axis=-1), np.inf)

    @classmethod
    def joined(cls, parts: Sequence[Residuals]) -> Residuals:
        """The residuals of all trials at several points, from those of each."""
        fields = list(zip(*(one[:7] for one in parts), strict=True))
        values, slopes, found, coarse, earlier = (np.concatenate(field, axis=1) for field in fields[:5])
        status, multiplier = (np.stack(field, axis=1) for field in fields[5:])
        failed = ~np.stack([one.valid for one in parts], axis=1)
        last = np.argmax(np.nan_to_num(multiplier, nan=-np.inf), axis=1)
        trial = np.where(failed.any(axis=1), np.argmax(failed, axis=1), last)
        at = np.arange(len(trial)), trial
        return cls(values, slopes, found, coarse, earlier, status[at], multiplier[at], trial)


@dataclass(frozen=True, eq=False)
class TrialData:
    """The data of one trial, and how its curve is read from the results of the runs."""

    measured: MeasuredCurve
    interpolation: Interpolation
    noise: Float[np.ndarray, " points"]
    """Standard deviation of each measured value, in the unit of the curve."""
    model: Model
    """The mechanism before the fit, with the known parameters of the trial."""
    name: str = "trial 0"
    output: str = "curve"
    """The name of the measured output."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """What is known of it, by dotted name, in the units of the model."""
    group: int = 0
    """Number of its group of runs, with one program."""
    run: int = 0
    """Number of its run in the group."""
    first: int = 0
    """Number of its first sample among the results of the run."""

    @property
    def samples(self) -> slice:
        """Its samples among the results of the run."""
        return slice(self.first, self.first + self.interpolation.matrix.shape[1])

    def residuals(self, found: Evaluated) -> Residuals:
        """Its residuals at several points, from the results of its run there."""
        interpolation, samples = self.interpolation, found.values[:, self.samples]
        lost = np.equal(found.status, UNSTABLE)
        simulated = np.where(lost[:, None], np.nan, samples @ interpolation.matrix.T)
        slopes = np.einsum("ps,bsn->bpn", interpolation.matrix, found.slopes[:, self.samples])
        return Residuals(
            (simulated - self.measured.values) / self.noise,
            slopes / self.noise[:, None],
            simulated,
            samples @ interpolation.coarse.T,
            simulated if interpolation.earlier is None else samples @ interpolation.earlier.T,
            found.status,
            found.multiplier,
            np.zeros(len(simulated), int),
        )


@dataclass(frozen=True, eq=False)
class Problem:
    """A model, data, and the map from parameters to residuals."""

    model: Model
    """The mechanism before the fit."""
    space: Space
    groups: tuple[Conditions, ...]
    """The runs: those of one group share a program."""
    trials: tuple[TrialData, ...]
    stability: float = np.inf
    """Modulus of the largest Floquet multiplier at which a gait counts as failed."""
    loss: Loss = LEAST_SQUARES
    """What a search minimises."""

    @property
    def noise(self) -> Float[np.ndarray, " points"]:
        """Standard deviation of each measured value, trial after trial, in the unit of its curve."""
        return np.concatenate([trial.noise for trial in self.trials])

    @property
    def points(self) -> list[slice]:
        """The points of each trial among those of all."""
        ends = np.cumsum([0, *(len(trial.noise) for trial in self.trials)]).tolist()
        return [slice(*pair) for pair in itertools.pairwise(ends)]

    def of(self, trial: int) -> str:
        """The text " of NAME" for a trial, by its number; empty for the only one."""
        return f" of {self.trials[trial].name}" if len(self.trials) > 1 else ""

    def __call__(self, searches: Sequence[int], x: Float[np.ndarray, "b n"]) -> Residuals:
        """Residuals at points of the unit box (no dimension), requested by `searches`."""
        found = [group.each(np.asarray(searches), x).judged(self.stability) for group in self.groups]
        return Residuals.joined([one.residuals(found[one.group].at((slice(None), one.run))) for one in self.trials])

    def total(self, found: Residuals) -> Float[Any, "*b"]:
        """Chi-square, or the sum of another loss, of residuals; infinite where a run failed. No dimension."""
        return np.where(found.valid, self.loss.total(found.values), np.inf)

    def beginning_at(self, values: Float[np.ndarray, " n"]) -> Problem:
        """The problem in a box whose lowest corner has the given values of the parameters, in their units."""
        space = self.space.beginning_at(values)
        return replace(self, space=space, groups=tuple(group.within(space) for group in self.groups))

    def again(self, x: Float[np.ndarray, " n"], memory: Any) -> tuple[Residuals, str, str] | None:
        """Residuals at one point, from the gaits there, with the model's own tolerances; None if these are not finer.

        Also returns the finer tolerance in words, and as an argument.
        """
        finer = next((group.finer for group in self.groups if group.finer is not None), None)
        if finer is None:
            return None
        problem = replace(self, groups=tuple(group.with_own_tolerances(x) for group in self.groups))
        problem.recall({0: memory})
        return problem.at(x), finer.instead, finer.given

    def at(self, x: Float[np.ndarray, " n"]) -> Residuals:
        """Residuals at one point of the unit box, without dimension and leading axis."""
        return self([0], x[None]).at(0)

    def together(
        self, searches: Sequence[Callable[[AskFrom], Any]], title: str = "", progress: bool | None = False
    ) -> list[Any]:
        """Runs searches in parallel; each requests one point at a time, with a gait as a guess.

        Of several gaits at the same parameters, the one nearest to the guess is found: the gait of a rejected step must
        not serve as a guess.

        Args:
            searches: functions of an `AskFrom`.
            title: description for the progress bar.
            progress: whether to show a progress bar; None: on a terminal and in notebooks.
        """

        def answer(asking: Sequence[int], questions: Sequence[tuple[np.ndarray, Any]]) -> list[Residuals]:
            points, guesses = zip(*questions, strict=True)
            self.recall(dict(zip(asking, guesses, strict=True)))
            found = self(asking, np.stack(points))
            least.append(min([float(self.total(found).min()), *least[-1:]]))
            what = self.loss.objective.removeprefix("the ")
            bar.set_postfix_str(f"least {what} {least[-1]:.5g}, active searches: {len(asking)}", False)
            bar.update(len(asking))
            return [found.at(k, self.memory(i)) for k, i in enumerate(asking)]

        least: list[float] = []
        with waiting(title, "run", progress, patience=0.0) as bar:
            return together(searches, answer)

    def memory(self, search: int) -> Any:
        """The gaits of a search, group by group; None if there are none."""
        memories = [group.memory(search) for group in self.groups]
        return None if all(one is None for one in memories) else memories

    def recall(self, memories: Mapping[int, Any]) -> None:
        """Sets the guesses of searches; those with None keep theirs."""
        for i, group in enumerate(self.groups):
            group.recall({search: memory[i] for search, memory in memories.items() if memory is not None})


AskFrom: TypeAlias = Callable[[tuple[np.ndarray, Any]], Residuals]
"""From one point of the unit box, shape (n,), with the gait to guess from (or None), to the residuals there."""
