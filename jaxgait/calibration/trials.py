"""The trials of a fit: measured curves and what is known of each, checked, and the runs to compare them with."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from jaxtyping import Float

from jaxgait import precision
from jaxgait.calibration.conditions import Conditions, Given
from jaxgait.calibration.measured import CURVES, MeasuredCurve, MeasuredData, measured_curve
from jaxgait.calibration.problem import Curve, Output, Problem, TrialData, interpolation, simulated
from jaxgait.elements import array_of, within_arrays
from jaxgait.ensembles.addresses import INITIAL, model_of, own_value, parted
from jaxgait.ensembles.conversion import value_in_unit
from jaxgait.ensembles.members import check_members, zipped
from jaxgait.model import Model, as_model
from jaxgait.optimization.evaluate import Evaluator
from jaxgait.optimization.gait import PeriodicGait
from jaxgait.optimization.gradients import Task, evaluator_for
from jaxgait.optimization.recheck import Finer
from jaxgait.optimization.space import Space, given_start
from jaxgait.parameters import ParameterError
from jaxgait.plausible import ImplausibleValue
from jaxgait.run import Sampling
from jaxgait.support import checks
from jaxgait.support.notes import without_warnings
from jaxgait.support.units import factor

_EXAMPLE = 'write fit(model, measured, over={"mass": (60.0, 80.0)}, output="height")'


@dataclass(frozen=True, eq=False)
class Trial:
    """One of several measured curves of a fit, with what is known of it.

    Examples:
        >>> from jaxgait import Bungee, fit, simulate, with_parameters
        >>> from jaxgait.calibration import Trial
        >>> truth, run = with_parameters(Bungee(), {"stiffness": 26.0}), {"duration": 6.0, "samples": 60}
        >>> jump = lambda mass: simulate(with_parameters(truth, {"mass": mass}), **run).height
        >>> trials = [Trial(jump(mass), given={"mass": mass}, name=f"{mass:g} kg") for mass in (60.0, 80.0)]
        >>> found = fit(Bungee(), trials, over={"stiffness": (15.0, 40.0)}, output="height", noise=0.1, starts=1, **run)
        >>> print({name: one.curve.sizes["time"] for name, one in found.trials.items()})
        {'60 kg': 61, '80 kg': 61}
        >>> print(round(found.best["stiffness"], 3))  # N/m
        26.0
    """

    measured: MeasuredData
    """See `jaxgait.fit`."""
    _: KW_ONLY
    output: Output | None = None
    """The measured quantity; None: that of the call of `fit`."""
    noise: Any = None
    """Standard deviation of the measured values, in the unit of the curve; None: that of the call."""
    given: Mapping[str, Any] = field(default_factory=dict)
    """What is known of this trial: parameters by dotted name, components of the initial state ("initial.v") and numbers
    of the motion ("drive.thigh.a"), in their units or labelled with others."""
    model: Model | None = None
    """The mechanism of this trial, such as a leg with another drive; None: that of the call."""
    name: str | None = None
    """The label of its results; None: "trial 0", "trial 1", ..."""


class Checked(NamedTuple):
    """A trial whose arguments were checked."""

    name: str
    model: Model
    curve: MeasuredCurve
    output: Output
    noise: Float[np.ndarray, " points"]
    """One standard deviation per point, in the unit of the curve; up to a common factor if the noise is to be
    estimated."""
    estimated: bool
    """Whether the noise is to be estimated."""
    given: dict[str, Any]
    label: str
    """How errors name it; empty for the only curve."""

    @property
    def started(self) -> frozenset[str]:
        """The components of the initial state that are given, as full names."""
        return frozenset(INITIAL + name for name in parted(self.model, self.given)[1])


def checked(model: Model, space: Space, data: Any, output: Output | None, noise: Any) -> list[Checked]:
    """The trials of a call of `fit`, of which `data` is a curve, a trial or several trials.

    Raises:
        ParameterError: for impossible known values.
        TypeError: for anything but a model, a measured curve, an output.
        ValueError: for impossible data, units, noise and names.
    """
    trials = _listed(data)
    names, found = _names(trials), []
    for i, (trial, name) in enumerate(zip(trials, names, strict=True)):
        label = "" if len(trials) == 1 else name if trial.name is None else f"trial {i} ({name!r})"
        with _naming(label):
            found.append(_checked(model, space, trial, output, noise, name, label))
    return _weighted(found)


def _listed(data: Any) -> list[Any]:
    """The trials of a call, not checked yet."""
    if isinstance(data, list | tuple) and any(isinstance(one, (Trial, *CURVES)) for one in data):
        return list(data)
    if isinstance(data, list | tuple) and not data:
        raise ValueError("a fit needs at least one trial: write [Trial(curve), ...]")
    if isinstance(data, Iterator | dict):
        raise TypeError(
            f'several trials must be a list, got {type(data).__name__}: write [Trial(curve, name="first"), ...]'
        )
    return [data if isinstance(data, Trial) else Trial(data)]  # type: ignore[arg-type]


def _names(trials: list[Any]) -> list[str]:
    for i, trial in enumerate(trials):
        if not isinstance(trial, Trial):
            raise TypeError(f"trial {i} must be a Trial, got {type(trial).__name__}: write Trial(curve)")
        if trial.name is not None and not (isinstance(trial.name, str) and trial.name and "/" not in trial.name):
            raise ValueError(f"the name of trial {i} must be text without '/', got {trial.name!r}")
    names = [f"trial {i}" if trial.name is None else trial.name for i, trial in enumerate(trials)]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise ValueError(f"two trials have the name {twice!r}: give each its own")
    return names


@contextlib.contextmanager
def _naming(label: str) -> Iterator[None]:
    """Puts a label before messages of errors in a block; not of errors about files, which name the file."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if not label or type(error) not in (TypeError, ValueError, ParameterError):
            raise
        raise type(error)(f"{label}: {error}") from error


def _checked(
    model: Model, space: Space, trial: Trial, output: Output | None, noise: Any, name: str, label: str
) -> Checked:
    """Checks one trial; what it leaves open is as in the call."""
    output = output if trial.output is None else trial.output
    if output is None:
        raise TypeError(f"fit needs output: {_EXAMPLE}")
    curve = measured_curve(trial.measured)
    own = model if trial.model is None else _alike(trial.model, model, space)
    simulated(own, output, curve)
    noise = noise if trial.noise is None else trial.noise
    given = _given(own, space, trial.given)
    return Checked(name, own, curve, output, noise_of(noise, curve), noise is None, given, label)


def _alike(own: Any, model: Model, space: Space) -> Model:
    """The model of a trial, which must have the fitted parameters."""
    if type(as_model(own)) is not type(model):
        raise TypeError(
            f"its model must be of the type {type(model).__name__}, as that of the fit, got {type(own).__name__}"
        )
    with without_warnings(ImplausibleValue):  # the bounds were checked before
        Space(own, space.bounds)
    return own


def _given(model: Model, space: Space, given: Any) -> dict[str, Any]:
    """The known values of a trial as arrays, by name."""
    if not isinstance(given, Mapping):
        raise ParameterError(f'`given` must be a dict of known values such as {{"mass": 70.0}}, got {given!r}')
    for name in space.names:
        if name in given:
            raise ParameterError(f"{name!r} is in `given` and also in `over`: it is known or fitted")
        if (array := array_of(name)) in given:
            raise ParameterError(
                f"{array!r} is in `given` and its element {name!r} in `over`: give the known elements one by one"
            )
    values = {name: np.asarray(value_in_unit(model, name, x))[None] for name, x in given.items()}
    if values:
        check_members(model, zipped(values))
    return {name: np.asarray(x[0], float) for name, x in values.items()}


def noise_of(noise: Any, measured: MeasuredCurve) -> Float[np.ndarray, " points"]:
    """One standard deviation per point, in the unit of the curve; 1 if it will be estimated.

    Raises:
        ValueError: for anything but positive numbers, one or one per point, in a compatible unit.
    """
    size = len(measured.values)
    sigma = checks.as_array(1.0 if noise is None else _unlabelled(noise, measured))
    valid = (
        sigma.dtype.kind in "iuf" and sigma.shape in ((), (size,)) and bool((np.isfinite(sigma) & (sigma > 0)).all())
    )
    if not valid:
        raise ValueError(
            f"noise must be a positive number in {measured.unit}, or one for each of the {size} points, got {noise!r}"
        )
    return np.broadcast_to(sigma.astype(float), (size,)).copy()


def _unlabelled(noise: Any, measured: MeasuredCurve) -> Any:
    """The numbers of a labelled array in the unit of the curve; anything else as it is."""
    if not isinstance(noise, xr.DataArray):
        return noise
    at = noise.coords.get(measured.axis)
    if noise.dims not in ((), (measured.axis,)) or (noise.dims and at is not None and not _same(at, measured.at)):
        raise ValueError(
            f"noise must be a number or have the coordinate {measured.axis} of the measured curve, with the same "
            f"{len(measured.at)} values, got the dimensions {noise.dims} of {noise.size} values"
        )
    unit = noise.attrs.get("units", measured.unit)
    return noise.values * factor(str(unit), measured.unit, "the measured curve", of="the noise")


def _same(at: Any, other: np.ndarray) -> bool:
    return at.shape == other.shape and np.allclose(at, other, rtol=1e-9, atol=1e-12)


def _weighted(trials: list[Checked]) -> list[Checked]:
    """The trials; noise to be estimated has the same size in all of them, at first the range of the first curve.

    Residuals are then of order one in any unit, as a search expects.

    Raises:
        ValueError: if the relative weights of the trials are not known.
    """
    first, open_ones = trials[0], [one for one in trials if one.estimated]
    if not open_ones:
        return trials
    alone = "(a fit to it alone estimates its noise)"
    if len(open_ones) < len(trials):
        why = f"because its relative weight is unknown {alone}"
        raise ValueError(f"{open_ones[0].label} has no noise, but others have: give it, {why}")
    for one in trials[1:]:
        if one.output != first.output:
            raise ValueError(
                f"{one.label} measures another output than {first.label}: give the noise of each trial, because their "
                f"relative weights are unknown {alone.replace('to it', 'to each')}"
            )
    found, values = [], first.curve.values
    typical = float(np.ptp(values)) or float(np.abs(values).max()) or 1.0
    for one in trials:
        with _naming(one.label):
            size = factor(first.curve.unit, one.curve.unit, f"the curve of {one.name}", of=f"that of {first.name}")
            found.append(one._replace(noise=typical * size * one.noise))
    return found


# --- the runs ---------------------------------------------------------------------------------------------------------


def problem_of(
    model: Model,
    space: Space,
    trials: Sequence[Checked],
    x: Float[np.ndarray, "starts n"],
    *,
    gradient: str,
    initial: Mapping[str, Any],
    run: Mapping[str, Any],
    stability: float,
) -> Problem:
    """The problem of some trials; those with the same mechanism that only differ in known values run together.

    Args:
        model: the mechanism.
        space: the fitted parameters.
        trials: the trials.
        x: starts in the unit box (no dimension).
        gradient: as in `fit`.
        initial: components of the initial state by name, in their units, unless a trial gives them.
        run: further arguments of `jaxgait.ensemble`.
        stability: modulus of the largest Floquet multiplier at which a gait counts as failed.

    Raises:
        ValueError: for impossible gradients and runs.
    """
    ways: list[str] = []
    for one in trials:
        with _naming(one.label):
            ways.append(_gradient_for(gradient, one.curve))
    keys = [(id(one.model), one.curve.axis, one.started) for one in trials]
    groups: list[Conditions] = []
    data: dict[int, TrialData] = {}
    for key in dict.fromkeys(keys):
        chosen = [i for i, own in enumerate(keys) if own == key]
        group = _Group([trials[i] for i in chosen])
        with _naming(checks.listed([trials[i].label for i in chosen], "and")):
            runs = group.runs(space, x, ways[chosen[0]], initial, run)
        for k, i in enumerate(chosen):
            with _naming(trials[i].label):
                data[i] = group.data(k, space, runs, run, len(groups))
        groups.append(runs)
    return Problem(model, space, tuple(groups), tuple(data[i] for i in range(len(trials))), stability)


class _Group:
    """Trials with the same mechanism, whose runs share a program: a run for each set of known values."""

    def __init__(self, trials: Sequence[Checked]):
        self._trials, self._model = trials, trials[0].model
        given = dict.fromkeys(name for one in trials for name in one.given)
        names = [name for name in given if name == array_of(name) or array_of(name) not in given]
        with precision.use("float64"):
            own = {name: np.asarray(own_value(self._model, name)) for name in names}
        self._rows: list[dict[str, Any]] = []
        self._run: list[int] = []
        """Number of the run of each trial."""
        for one in trials:
            row = own | within_arrays(one.given, own)  # of an array that one trial gives, another may give elements
            same = [i for i, other in enumerate(self._rows) if all(np.array_equal(row[n], other[n]) for n in names)]
            self._run.append(same[0] if same else len(self._rows))
            self._rows += [] if same else [row]
        self._curves = [simulated(one.model, one.output, one.curve) for one in trials]
        self._observed = list(dict.fromkeys(observed for observed, _ in self._curves))

    def runs(
        self,
        space: Space,
        x: Float[np.ndarray, "starts n"],
        gradient: str,
        initial: Mapping[str, Any],
        run: Mapping[str, Any],
    ) -> Conditions:
        """The runs of all trials, from which each reads its curve; arguments as in `problem_of`."""
        first = self._trials[0]
        goal = Curve(tuple(self._observed), (), stride=first.curve.axis == "phase")
        own = lambda name: not {name, array_of(name)} & first.started  # the trial's array holds all its elements
        start = {name: value for name, value in given_start(self._model, initial).items() if own(name)}
        task = Task(self._model, space, goal, run, start, self._given())
        found = evaluator_for(task, gradient, x)
        found = found if isinstance(found, Conditions) else Conditions(found)
        found.finer = Finer.of(task) if isinstance(found.runs, PeriodicGait) else None
        return found

    def _given(self) -> Given | None:
        """The known values of the runs; None if there are none."""
        if not self._rows[0]:
            return None
        members = zipped({name: np.stack([row[name] for row in self._rows]) for name in self._rows[0]})
        named = [(run, one.name) for run, one in zip(self._run, self._trials, strict=True)]
        return Given(members, [", ".join(name for run, name in named if run == i) for i in range(len(self._rows))])

    def data(self, k: int, space: Space, runs: Conditions, run: Mapping[str, Any], group: int) -> TrialData:
        """The data of one trial, by its number in the group, and where its curve is among the results."""
        trial, (observed, scale) = self._trials[k], self._curves[k]
        known = {name: x if x.ndim else x.item() for name, x in trial.given.items() if name not in trial.started}
        with precision.use("float64"):
            model = model_of(trial.model, known) if known else trial.model
        read = interpolation(model, space, _sampling(model, trial.curve, runs.runs, run), trial.curve, scale)
        first = self._observed.index(observed) * read.matrix.shape[1]
        output = trial.output if isinstance(trial.output, str) else "curve"
        what = (trial.curve, read, trial.noise, model, trial.name, output, trial.given)
        return TrialData(*what, group=group, run=self._run[k], first=first)


def _gradient_for(gradient: str, measured: MeasuredCurve) -> str:
    if measured.axis == "phase":
        return gradient
    if gradient == "gait":
        raise ValueError("gradient='gait' needs data over the phase (over_phase): for data over time use 'run'")
    return "run" if gradient == "auto" else gradient


def _sampling(model: Model, measured: MeasuredCurve, evaluate: Evaluator, run: Mapping[str, Any]) -> Sampling:
    gait = isinstance(evaluate, PeriodicGait)
    strides, duration, samples = (run.get(name) for name in ("strides", "duration", "samples"))
    sampling = Sampling.of(model, 1 if gait else strides, None if gait else duration, samples)
    if measured.axis == "phase" and sampling.strides is None:
        raise ValueError("data over the phase need a run of whole strides: give strides instead of duration")
    return sampling
