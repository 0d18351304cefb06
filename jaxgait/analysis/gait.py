"""Analysis of a knee curve: correlation with a measured one, extremes, subharmonic order, critical stiffness.

All functions except `subharmonic_limit` are plain `jax.numpy` and may be vmapped, jitted and (`correlation`, `maximum`,
`minimum` and `refined`) differentiated. A *stride table* is a curve cut into strides: shape (strides,
samples per stride).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Real

from jaxgait.precision import float64_default
from jaxgait.support import checks
from jaxgait.support.checks import shown

Curve: TypeAlias = Real[Array | np.ndarray, " samples"] | Sequence[float | int]
"""Samples of a curve at equal intervals."""
Table: TypeAlias = Real[Array | np.ndarray, "strides phases"] | Sequence[Sequence[float | int]]
"""A stride table."""
REGULAR, IRREGULAR, UNKNOWN = 1, 0, -1
MAX_ORDER = 4
COMPARED_STRIDES = 2 * MAX_ORDER + 1
"""Number of last strides of a run from which its order is found."""
PERIODICITY_TOLERANCE = np.radians(0.5)
"""Largest difference in rad of two strides, at any phase, that count as equal (knee specification, section 7)."""
ROUNDINGS = 8.0
"""Standard deviation, in roundings of the root mean square, up to which a curve counts as constant."""


@float64_default
def stride_table(curve: Curve, samples_per_stride: int) -> Float[Array, "strides phases"]:
    """Cuts a curve (in its unit) sampled at equal phases into whole strides; the remaining samples are dropped.

    Raises:
        ValueError: for less than one stride, and for anything but a curve.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.analysis.gait import stride_table
        >>> stride_table(jnp.arange(9.0), 4).shape
        (2, 4)
    """
    curve = _samples("curve", curve)
    strides = curve.shape[0] // checks.count("samples_per_stride", samples_per_stride)
    if strides < 1:
        raise ValueError(f"{curve.shape[0]} samples are less than one stride of {samples_per_stride}")
    return curve[: strides * samples_per_stride].reshape(strides, samples_per_stride)


@float64_default
def correlation(x: Curve, y: Curve) -> Float[Array, ""]:
    """Gait correlation coefficient rho (no dimension) of two curves at the same equally spaced times.

    ``Cov(x, y) / sqrt(D(x) D(y))`` with time averages by the trapezoidal rule; 1 for equal shapes, -1 for opposite ones
    (Lü et al. 2020, eq. 25); NaN for a constant curve, which has no shape.

    Raises:
        ValueError: for curves of different lengths, and for anything but curves.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.analysis.gait import correlation
        >>> phase = jnp.linspace(0.0, 2.0 * jnp.pi, 101)
        >>> round(float(correlation(jnp.sin(phase), jnp.cos(phase - 1.0))), 4)
        0.8415
    """
    x, y = _pair("x", x, "y", y)
    weights = jnp.ones_like(x).at[jnp.array([0, -1])].set(0.5)
    weights = weights / jnp.sum(weights)
    mean = lambda values: jnp.sum(weights * values)
    dx, dy = x - mean(x), y - mean(y)
    (x_variance, x_rounding), (y_variance, y_rounding) = (
        (mean(d**2), (ROUNDINGS * jnp.finfo(a.dtype).eps) ** 2 * mean(a**2)) for d, a in ((dx, x), (dy, y))
    )
    constant = (x_variance <= x_rounding) | (y_variance <= y_rounding)
    return jnp.where(constant, jnp.nan, mean(dx * dy) / jnp.sqrt(x_variance * y_variance))


@float64_default
def subharmonic_order(
    table: Table,
    tolerance: float | Float[Array, ""] = float(PERIODICITY_TOLERANCE),
    most: int = MAX_ORDER,
) -> Int[Array, ""]:
    """The number of strides after which the motion repeats: 1 (period of the drive) to `most`; 0: irregular, -1: NaN.

    Strides are compared with those one to `most` strides later only. A motion that drifts by less than the tolerance
    per stride counts as repeating, like one that settles; `jaxgait.solve.periodic.fixed_point` tells whether there is a
    periodic gait.

    Args:
        table: the last strides of a run: more than `most`, better twice as many.
        tolerance: largest difference in the unit of the curve.
        most: the largest order to look for.

    Raises:
        ValueError: for too few strides, and for anything but a table.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.analysis.gait import subharmonic_order
        >>> every_other = jnp.tile(jnp.array([[0.0, 1.0], [0.0, 1.2]]), (5, 1))  # ten strides of two samples
        >>> int(subharmonic_order(every_other))
        2
    """
    table = _samples("table", table, ("strides", "phases"))
    if table.shape[0] <= checks.count("most", most, least=0):
        raise ValueError(f"the order needs more than {most} strides, got {table.shape[0]}")
    order = jnp.zeros((), jnp.int32)
    for m in range(most, 0, -1):
        order = jnp.where(jnp.max(jnp.abs(table[m:] - table[:-m])) <= tolerance, m, order)
    return jnp.where(jnp.isnan(table).any(), UNKNOWN, order)


@float64_default
def spectrum(curve: Curve, strides: int) -> tuple[Float[Array, " frequencies"], Float[Array, " frequencies"]]:
    """Amplitude spectrum of a curve over a whole number of strides.

    Args:
        curve: equally spaced samples, without the end point (the next stride's first).
        strides: number of strides that they span.

    Returns:
        Frequencies in multiples of the stride frequency, and amplitudes in the unit of the curve.

    Raises:
        ValueError: for anything but a curve and a number of strides.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.analysis.gait import spectrum
        >>> t = jnp.arange(200) / 100  # two strides, their end left out
        >>> frequencies, amplitudes = spectrum(jnp.sin(2 * jnp.pi * t) + 0.1 * jnp.sin(jnp.pi * t), 2)
        >>> print([round(float(x), 2) for x in frequencies[:3]], [round(float(x), 2) for x in amplitudes[:3]])
        [0.0, 0.5, 1.0] [0.0, 0.1, 1.0]
    """
    checks.count("strides", strides)
    curve = _samples("curve", curve)
    n = curve.shape[0]
    amplitude = jnp.abs(jnp.fft.rfft(curve)) * (2.0 / n)
    single = [0, n // 2] if n % 2 == 0 else [0]  # the mean and the highest frequency have no mirror image
    return jnp.arange(amplitude.shape[0], dtype=amplitude.dtype) / strides, amplitude.at[np.array(single)].divide(2.0)


@float64_default
def subharmonic_limit(
    parameter: Real[np.ndarray, " values"], order: Real[np.ndarray, " orders"]
) -> tuple[float, list[tuple[float, float]]]:
    """The value of a parameter above which no subharmonics occur, and the other ranges in which they occur.

    Args:
        parameter: increasing values, for example the damper's k in N/m at one c/k.
        order: subharmonic order at each (1: period of the drive; NaN or -1: unknown, e.g. of a member that folded;
            anything else: subharmonic or irregular). Unknown values interrupt ranges of either kind.

    Returns:
        The lower end of the widest contiguous range of period-one responses (NaN unless subharmonics lie directly below
        it), and the other ranges (first, last value) without period one. The widest range is taken, not the first, so
        that a single period-one value inside the subharmonic range does not count as its end.

    Raises:
        ValueError: for values that do not increase, and unless there is one order per value.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.analysis.gait import subharmonic_limit
        >>> subharmonic_limit(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([2, 2, 1, 1, 1]))
        (3.0, [])
    """
    parameter, order = np.asarray(parameter, dtype=float), np.asarray(order, dtype=float)
    if parameter.ndim != 1 or not parameter.size or parameter.shape != order.shape:
        raise ValueError(f"give one order per value, got the shapes {order.shape} and {parameter.shape}")
    if not (np.isfinite(parameter).all() and (np.diff(parameter) > 0.0).all()):
        raise ValueError(f"the values of the parameter must be finite and increase, got {shown(parameter)}")
    kind: Int[np.ndarray, " n"] = np.where(~(order >= 0), UNKNOWN, np.where(order == 1, REGULAR, IRREGULAR))
    ranges = np.split(np.arange(kind.size), np.flatnonzero(np.diff(kind)) + 1)
    span = lambda r: (float(parameter[r[0]]), float(parameter[r[-1]]))
    irregular = [span(r) for r in ranges if kind[r[0]] == IRREGULAR]
    calm = [r for r in ranges if kind[r[0]] == REGULAR]
    if not calm:
        return float("nan"), irregular
    first = max(calm, key=lambda r: parameter[r[-1]] - parameter[r[0]])[0]
    if first == 0 or kind[first - 1] != IRREGULAR:
        return float("nan"), irregular
    left_behind = float(parameter[first - 1])
    return float(parameter[first]), [s for s in irregular if s[1] != left_behind]


def _samples(name: str, values: Curve | Table, axes: tuple[str, ...] = ("samples",)) -> Array:
    """A user's curve or table, in any unit, as an array of floating-point numbers."""
    try:
        x = jnp.asarray(values)
    except (TypeError, ValueError):
        x = None
    if x is None or jnp.iscomplexobj(x) or x.ndim != len(axes) or not x.size:
        got = shown(values) if x is None or not x.ndim else f"the shape {x.shape}, {x.dtype.name}"
        raise ValueError(f"{name} must be real numbers of the shape ({', '.join(axes)}), got {got}")
    return x if jnp.issubdtype(x.dtype, jnp.floating) else x.astype(float)


def _pair(name: str, values: Curve, other: str, others: Curve) -> tuple[Array, Array]:
    """Two curves at the same times."""
    x, y = _samples(name, values), _samples(other, others)
    if x.shape != y.shape:
        what = f"{name} and {other} must have the same number of samples"
        raise ValueError(f"{what}, got the shapes {x.shape} and {y.shape}")
    return x, y


_EVEN = 0.5
"""Largest difference of neighbouring second differences on a smooth curve, relative to the middle one."""


@float64_default
def maximum(curve: Curve) -> Float[Array, ""]:
    """Largest value of a curve sampled at equal intervals, in its unit.

    Where the curve is smooth about its largest sample, the vertex of the parabola through that sample and its
    neighbours: exact to third order in the interval, for smooth curves. Next to a jump or a kink (where neighbouring
    second differences disagree) and at the ends it is the sample itself.

    Raises:
        ValueError: for anything but a curve.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.analysis.gait import maximum
        >>> t = jnp.linspace(0.0, 3.0, 31)
        >>> print(round(float(jnp.sin(t).max()), 6), round(float(maximum(jnp.sin(t))), 6))
        0.999574 0.999999
    """
    curve = _samples("curve", curve)
    if curve.shape[0] < 5:
        return jnp.max(curve)
    i = jnp.clip(jnp.argmax(curve), 2, curve.shape[0] - 3)
    left, middle, right = curve[i - 1], curve[i], curve[i + 1]
    bend = left - 2.0 * middle + right
    before = curve[i - 2] - 2.0 * left + middle
    after = middle - 2.0 * right + curve[i + 2]
    smooth = (jnp.abs(before - bend) <= -_EVEN * bend) & (jnp.abs(after - bend) <= -_EVEN * bend) & (bend < 0.0)
    rise = (right - left) ** 2 / (-8.0 * jnp.where(smooth, bend, -1.0))
    inside = smooth & (middle >= jnp.maximum(left, right))
    return jnp.maximum(jnp.max(curve), jnp.where(inside, middle + rise, middle))


@float64_default
def minimum(curve: Curve) -> Float[Array, ""]:
    """Least value of a curve sampled at equal intervals, in its unit; see `maximum`.

    Raises:
        ValueError: for anything but a curve.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.analysis.gait import minimum
        >>> round(float(minimum((jnp.linspace(0.0, 1.0, 8) - 0.5) ** 2)), 6)
        0.0
    """
    return -maximum(-_samples("curve", curve))


@float64_default
def refined(curve: Curve, slope: Curve, count: int) -> Float[Array, " values"]:
    """Values between samples at equal intervals, by the cubics with the curve's slopes, without the last sample.

    Args:
        curve: samples, in any unit.
        slope: derivatives at the samples, in that unit per interval.
        count: number of values per interval.

    Raises:
        ValueError: for anything but curves of one length and a count.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.analysis.gait import refined
        >>> t = jnp.arange(4.0)
        >>> print(refined(t**3, 3.0 * t**2, 2))
        [ 0.     0.125  1.     3.375  8.    15.625]
    """
    checks.count("count", count)
    curve, slope = _pair("curve", curve, "slope", slope)
    start, end, rise = slope[:-1, None], slope[1:, None], jnp.diff(curve)[:, None]
    s = jnp.arange(count)[None] / count
    cubic = s * (start + s * (3.0 * rise - 2.0 * start - end + s * (start + end - 2.0 * rise)))
    return (curve[:-1, None] + cubic).reshape(-1)
