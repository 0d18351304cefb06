"""A recorded stride compared with its fit and with embedded measured gaits."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxgait.motion.embedded import REFERENCE_GAITS
from jaxgait.motion.stride import LOAD, UNITS, embedded_stride, sampled
from jaxgait.motion.verdict import DISPLAY, Verdict, travel
from jaxgait.plot.panels import legend
from jaxgait.plot.style import BLUE, GREEN, GREY, RED, axis_label, broken, style

NAMES = {
    "hip_x_m": "hip position minus speed x time",
    "hip_y_m": "hip height",
    "thigh_rad": "thigh angle, forward",
    "knee_rad": "knee flexion",
    "ankle_rad": "ankle dorsiflexion",
    "ground_x_N": "ground reaction, forward",
    "ground_y_N": "ground reaction, upward",
}
BAND = f"range of the {len(REFERENCE_GAITS)} embedded gaits (not norms)"
"""Legend of the grey band."""
SHIFTED = "(band shifted to this mean)"
"""Note on the band of the hip's height, which depends on leg length."""
PATH = ("hip_x_m", "hip_y_m")
"""Signals that are not measured where the path of the hip was not recorded."""
MAX_FINDINGS = 5
LONGEST = 28
"""Characters of a label that fit next to a panel of these pictures."""


def stride(verdict: Verdict) -> Figure:
    """Draws every signal of a stride: samples, Fourier fit, the band of the embedded gaits, and the jump at the end.

    The band of the hip's height is shifted to the stride's mean, because heights depend on leg length.

    Examples:
        >>> from jaxgait.motion.stride import embedded_stride
        >>> from jaxgait.motion.verdict import judge
        >>> from jaxgait.plot.motion import stride
        >>> figure = stride(judge(embedded_stride("rajagopal_1.26ms")))
        >>> figure.get_suptitle()
        'rajagopal_1.26ms: usable as a drive'
    """
    signals = [k for k in UNITS if k in verdict.signals]
    rows = len(signals) // 2 + 1
    with style():
        figure, axes = plt.subplots(rows, 2, figsize=(8.5, 2.2 * rows + 0.6), sharex=True)
        for ax, k in zip(axes.flat, signals, strict=False):
            _panel(ax, verdict, k)
        for ax in (axes[-1, 0], axes[-2, 1]):
            ax.tick_params(labelbottom=True)
            ax.set_xlabel(axis_label("stride", "%"))
        legend(figure, ncols=4)
        axes[-1, 1].axis("off")
        axes[-1, 1].text(0.0, 0.8, _summary(verdict), transform=axes[-1, 1].transAxes, fontsize=7.5, va="top")
        good, colour = ("usable", "black") if verdict.usable else ("not usable", RED)
        figure.suptitle(f"{verdict.stride.name}: {good} as a drive", fontsize=10, color=colour)
    return figure


def _panel(ax: Axes, verdict: Verdict, signal: str) -> None:
    unit, factor = DISPLAY[UNITS[signal]]
    report, samples = verdict.signals[signal], verdict.cycle.signals[signal]
    percent, count = np.linspace(0.0, 100.0, 201), samples.size
    is_assumed = bool(verdict.stride.assumed_path) and signal in PATH
    if signal not in LOAD and not is_assumed:  # which would lie within the band anyway
        low, high = band(signal, report.mean)
        ax.fill_between(percent, factor * low, factor * high, color=GREY, alpha=0.35, lw=0, label=BAND)
    ax.plot(100.0 * np.arange(count) / count, factor * samples, ".", color=BLUE, ms=3, label="samples")
    fit = sampled(report.series, 200)
    ax.plot(percent, factor * np.append(fit, fit[0]), color=GREEN, lw=1.2, label="fit")
    ends = factor * np.array([samples[0], samples[0] + report.jump])
    ax.plot([100.0, 100.0], ends, color=RED, lw=1.5, marker="_", ms=7, label="jump between end and start")
    ax.set_ylabel(broken(axis_label(NAMES[signal], unit), LONGEST), fontsize=7.5)
    title = f"fit within {factor * report.residual:.2g} {unit} (rms), jump {factor * abs(report.jump):.2g} {unit}"
    title += f"\n{SHIFTED}" if signal == "hip_y_m" else ""
    ax.set_title(assumed(verdict.stride.assumed_path) if is_assumed else title, fontsize=8)


def assumed(gait: str) -> str:
    """The title of a panel whose signal is that of an embedded gait.

    Examples:
        >>> from jaxgait.plot.motion import assumed
        >>> assumed("rajagopal_1.26ms")
        'assumed, not measured: that of rajagopal_1.26ms'
    """
    return f"assumed, not measured: that of {gait}"


def band(signal: str, mean: float) -> tuple[Float[np.ndarray, " 201"], Float[np.ndarray, " 201"]]:
    """Smallest and largest values of the embedded gaits over a stride, in their own unit.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.plot.motion import band
        >>> low, high = band("knee_rad", mean=0.4)
        >>> print(np.degrees([low.max(), high.max()]).round())  # deg
        [63. 66.]
    """
    curves = np.array(list(_curves(signal, mean)))
    return curves.min(axis=0), curves.max(axis=0)


def _curves(signal: str, mean: float) -> Iterator[np.ndarray]:
    for name in REFERENCE_GAITS:
        curve = embedded_stride(name).signals[signal]
        shift = mean - curve[:-1].mean() if signal == "hip_y_m" else 0.0
        yield np.interp(np.linspace(0.0, 1.0, 201), np.linspace(0.0, 1.0, curve.size), curve + shift)


def _summary(verdict: Verdict) -> str:
    v = verdict
    found = [f"{'wrong' if f.impossible else 'unusual'}: {f.signal or v.stride.name}: {f.what}" for f in v.findings]
    lines = [
        f"stride time {v.cycle.period:.4f} s, speed {v.stride.speed:.3f} m/s, {travel(v)}",
        f"{v.stride.time.size} samples, {v.harmonics} harmonics",
        *found[:MAX_FINDINGS],
        *([f"and {len(found) - MAX_FINDINGS} more"] if len(found) > MAX_FINDINGS else []),
    ]
    return "\n".join(textwrap.fill(line, 64, subsequent_indent="  ") for line in lines)
