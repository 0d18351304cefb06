"""Distributions of sampled parameters as text: "normal(1600,200)", in the unit of the parameter."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from jaxgait.parameters import ParameterError
from jaxgait.support.checks import listed

_WRITTEN = re.compile(r"\s*([A-Za-z_]\w*)\s*\(([^()]*)\)\s*(.*)", re.DOTALL)


class Kind(NamedTuple):
    """A distribution that can be written."""

    form: str
    """How it is written."""
    count: int
    """Number of its arguments, all in the unit of the parameter."""
    fault: Callable[..., str]
    """What is wrong with the arguments; empty if nothing."""
    make: Callable[..., Any]
    """The frozen distribution of `scipy.stats`, or the pair of bounds."""


def _positive_sd(mean: float, sd: float, *_: float) -> str:
    return "" if sd > 0 else f"the standard deviation must be positive, got {sd:g}"


def _ordered(low: float, high: float) -> str:
    return "" if low < high else f"low must be below high, got {low:g} and {high:g}"


def _normal(mean: float, sd: float) -> Any:
    from scipy import stats  # slow to import

    return stats.norm(loc=mean, scale=sd)


def _lognormal(mean: float, sd: float) -> Any:
    from scipy import stats

    variance = math.log1p((sd / mean) ** 2)
    return stats.lognorm(math.sqrt(variance), scale=mean * math.exp(-0.5 * variance))


def _truncnorm(mean: float, sd: float, low: float, high: float) -> Any:
    from scipy import stats

    return stats.truncnorm((low - mean) / sd, (high - mean) / sd, loc=mean, scale=sd)


KINDS = {
    "normal": Kind("normal(mean,sd)", 2, _positive_sd, _normal),
    "uniform": Kind("uniform(low,high)", 2, _ordered, lambda low, high: (low, high)),
    "lognormal": Kind(
        "lognormal(mean,sd)",
        2,
        lambda mean, sd: _positive_sd(mean, sd) or ("" if mean > 0 else f"the mean must be positive, got {mean:g}"),
        _lognormal,
    ),
    "truncnorm": Kind(
        "truncnorm(mean,sd,low,high)",
        4,
        lambda mean, sd, low, high: _positive_sd(mean, sd) or _ordered(low, high),
        _truncnorm,
    ),
}
"""By name. Mean and standard deviation are those of the values, for truncnorm before low and high cut the tails off."""


def is_written(span: str) -> bool:
    """Whether text is a distribution, or meant to be one: "normal(70,5)", but not "70,5" or "60:80"."""
    return bool(_WRITTEN.fullmatch(span))


def parsed(name: str, span: str) -> tuple[Kind, list[str]]:
    """The distribution of a parameter and the texts of its arguments: "normal(1600,200)", "normal(1.6,0.2kN s/m)".

    Args:
        name: of the parameter.
        span: the text, for which `is_written` holds.

    Raises:
        ParameterError: for an unknown distribution, and another number of arguments.
    """
    found = _WRITTEN.fullmatch(span)
    assert found is not None, "the text is a distribution"
    kind, inside, unit = found.groups()
    if kind not in KINDS:
        forms = listed([known.form for known in KINDS.values()])
        raise ParameterError(f"--over {name}={span}: {kind!r} is no distribution; write {forms}")
    known, texts = KINDS[kind], [text.strip() for text in inside.split(",")]
    if len(texts) != known.count or not all(texts):
        raise ParameterError(f"--over {name}={span}: write {known.form}, with {known.count} numbers")
    texts[-1] += f" {unit}" if unit else ""
    return known, texts
