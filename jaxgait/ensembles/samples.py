"""Members that are drawn: samples of parameters, and clouds of initial states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from jaxgait.ensembles.addresses import INITIAL, initial_value
from jaxgait.ensembles.columns import Axes, named, numbers, units_of
from jaxgait.ensembles.members import SAMPLED, Members, along, check_memory
from jaxgait.ensembles.spacing import (
    SOBOL_LENGTH,
    Log,
    check_distribution,
    check_positive,
    is_distribution,
    ranges_text,
    sobol_points,
    spread,
)
from jaxgait.model import Model, as_model
from jaxgait.parameters import ParameterError
from jaxgait.precision import float64_default
from jaxgait.solve.checks import component_in_unit
from jaxgait.support import checks
from jaxgait.support.checks import by_name, shown


@by_name()
def latin_hypercube(over: Axes, count: int, *, seed: int = 0) -> Members:
    """Samples of a box of parameters, spread evenly along every axis; dimension `sample`.

    Args:
        over: ranges or distributions of the parameters, as for `sobol`.
        count: how many.
        seed: of the random numbers.

    Raises:
        ParameterError: as `sobol`.
        MemoryError: for more members than fit in memory.

    Examples:
        >>> from jaxgait import latin_hypercube
        >>> members = latin_hypercube({"mass": (40.0, 100.0)}, 4)
        >>> sorted((members.values["mass"] // 15).astype(int).tolist())  # one in each quarter of the range
        [2, 3, 5, 6]
    """
    from scipy.stats import qmc

    given, ranges = _ranges(over, count, seed)
    unit = qmc.LatinHypercube(len(ranges), rng=seed).random(count)
    return _sampled("latin_hypercube", given, ranges, unit, seed)


@by_name()
def sobol(over: Axes, count: int, *, seed: int = 0, skip: int = 0) -> Members:
    """Scrambled Sobol points in a box of parameters; dimension `sample`.

    Args:
        over: for each dotted name a range (lowest, highest), in which it is uniform; a `jaxgait.Log`, in which its
            logarithm is uniform; or a frozen distribution of `scipy.stats`, such as `scipy.stats.norm(loc=70, scale=5)`
            in the unit of the parameter. Parameters are independent; draw correlated ones yourself, for `zipped`.
            Distributions may have values that the model rejects: see `invalid` of `ensemble`, or truncate them, as by
            `scipy.stats.truncnorm`.
        count: how many points; best a power of two.
        seed: of the random numbers.
        skip: how many points of the sequence to skip: those of an earlier sample with this seed. If it equals `count`,
            both together have the points of one sample of twice the size (`jaxgait.ensembles.joined`).

    Raises:
        ParameterError: for impossible ranges, distributions, counts and seeds, and beyond the end of the sequence.
        MemoryError: for more members than fit in memory.

    Examples:
        >>> from jaxgait import sobol
        >>> members = sobol({"mass": (40.0, 100.0), "stiffness": (15.0, 40.0)}, 256)
        >>> print(members.dims, members.shape, round(float(members.values["mass"].mean()), 1))
        ('sample',) (256,) 70.0
    """
    given, ranges = _ranges(over, count, seed)
    if _count("skip", skip, 0) + count > SOBOL_LENGTH:
        raise ParameterError(f"skip and count must not exceed {SOBOL_LENGTH} points together, got {skip} and {count}")
    return _sampled("sobol", given, ranges, sobol_points(len(ranges), count, seed, skip), seed, skip)


@by_name()
@float64_default
def cloud(model: Model, spread: Axes, count: int, *, seed: int = 0) -> Members:
    """Initial states scattered normally about the model's own; dimension `start`.

    Args:
        model: its initial state is the centre.
        spread: standard deviations of components of the state, by name ("theta_b" or "initial.theta_b").
        count: how many.
        seed: of the random numbers.

    Raises:
        ParameterError: for unknown components, and for impossible spreads, counts and seeds.
        TypeError: for anything but a model.
        MemoryError: for more members than fit in memory.

    Examples:
        >>> from jaxgait import Bungee, cloud
        >>> members = cloud(Bungee(), {"v": 0.5}, 8)
        >>> print(members.dims, members.shape, list(members.values))
        ('start',) (8,) ['initial.v']
    """
    as_model(model)
    spreads = named(spread)
    _count("count", count)
    rng = np.random.default_rng(_count("seed", seed, 0))
    values = {}
    for name, sigma in spreads.items():
        component = name.removeprefix(INITIAL)
        middle = np.asarray(initial_value(model, component), dtype=float)
        width = _spread(name, component_in_unit(model, component, sigma))
        if INITIAL + component in values:
            raise ParameterError(f"the spread of {component!r} is given twice")
        check_memory((count,), [middle.size] * len(spreads), copies=2)
        values[INITIAL + component] = middle + width * rng.standard_normal((count, *middle.shape))
    return along("start", values)


def _count(name: str, value: Any, least: int = 1) -> int:
    try:
        return checks.count(name, value, least=least)
    except ValueError as error:
        raise ParameterError(str(error)) from error


def _spread(name: str, sigma: Any) -> float:
    number = numbers(name, [sigma])
    if number.shape != (1,) or not (np.isfinite(number[0]) and number[0] >= 0):
        raise ParameterError(f"the spread of {name!r} must be a finite number, not negative, got {shown(sigma)}")
    return float(number[0])


def _ranges(over: Axes, count: int, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """What was given by name, and the ranges and distributions that it means, in the units in which they were given."""
    _count("count", count)
    _count("seed", seed, 0)
    given, ranges = named(over), {}
    for name, pair in given.items():
        if is_distribution(pair):
            check_distribution(name, pair)
            ranges[name] = pair
            continue
        bounds = numbers(name, [*pair] if isinstance(pair, Log) else pair if np.ndim(pair) else [pair])
        if bounds.shape != (2,) or not np.isfinite(bounds).all() or not bounds[0] < bounds[1]:
            raise ParameterError(f"the range of {name!r} must be (lowest, highest), got {shown(pair)}")
        low, high = bounds.tolist()
        ranges[name] = Log(low, high) if isinstance(pair, Log) else (low, high)
        check_positive(name, ranges[name])
    check_memory((count,), [1] * len(ranges), copies=3)  # points in the unit box, scaled, and their labels
    return given, ranges


def _sampled(
    how: str, given: Mapping[str, Any], ranges: Mapping[str, Any], unit: np.ndarray, seed: int, skip: int = 0
) -> Members:
    """Members at points of the unit box, (members, parameters)."""
    values, units = dict(zip(ranges, spread([*ranges.values()], unit).T, strict=True)), units_of(given)
    after = f", skip={skip}" if skip else ""
    attrs = {SAMPLED: f"{how}({ranges_text(ranges, units)}, {len(unit)}, seed={seed}{after})"}
    return replace(along("sample", values), units=units, attrs=attrs)
