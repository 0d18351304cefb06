"""Pictures of a fit: curve with band, residual, correlations, parameters within bounds, profile."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from jaxgait.calibration.fitted import Fit
from jaxgait.calibration.profile import Profile
from jaxgait.parameters import get_parameter
from jaxgait.plot.panels import named_artists
from jaxgait.plot.studies import Curves, draw_curves
from jaxgait.plot.style import BLUE, GREY, ORANGE, RED, axis_label, style
from jaxgait.support.units import with_unit

CHI_SQUARE_95 = 5.991
"""95 % quantile of chi-square of two degrees of freedom."""


def fitted(found: Fit, quantity: str = "", before: Float[np.ndarray, " points"] | None = None) -> Figure:
    """Measured and fitted curve with its 95 % band, the residual, and the correlation of the parameters' errors.

    If a fit did not reach a minimum, its errors are not known: there is no band and no correlation.

    `quantity` labels the axis instead of the long name of the output; `before` is the initial curve (`Fit.before`), in
    the unit of the measured one. Several trials are drawn in rows, those of one output at one scale. Angles are in
    degrees.

    Examples:
        >>> from jaxgait import Bungee, fit, simulate, with_parameters
        >>> from jaxgait.plot.fits import fitted
        >>> truth = simulate(with_parameters(Bungee(), {"stiffness": 26.0}), duration=10.0, samples=100)
        >>> found = fit(Bungee(), truth.height, over={"stiffness": (15.0, 40.0)}, output="height", noise=0.1,
        ...             duration=10.0, samples=100, starts=1)
        >>> fitted(found).axes[0].get_ylabel()
        'height above the ground (m)'
    """
    several = len(found.trials) > 1
    if len({one.output for one in found.trials.values()}) > 1:
        quantity = ""  # it would name only one of them
    trials = [
        Curves(
            name if several else "",
            one.curve if found.minimum else one.curve.assign(band=np.nan * one.curve.band),
            one.quantity if quantity in ("", one.output) else quantity,
            None if before is None else before[one.points],
            found.noise[one.points],
            found.noise_estimated,
        )
        for name, one in found.trials.items()
    ]
    with style():
        figure, panel = draw_curves(trials, side_panel=_has_region(found) or (found.minimum and len(found.best) > 2))
        if panel is not None:
            _correlations(figure, panel, found)
    return figure


def _has_region(found: Fit) -> bool:
    """Whether the joint region of two parameters is known: both are free and determined, at a minimum."""
    errors = np.array([found.standard_error[name] for name in found.best])
    return (
        found.minimum
        and len(errors) == 2
        and bool(np.isfinite(errors).all() and np.isfinite(found.correlation.values).all())
    )


def _correlations(figure: Figure, ax: Axes, found: Fit) -> None:
    if len(found.best) < 3:
        _region(ax, found)
        return
    names = list(found.best)
    values = np.where(np.tri(len(names), k=-1, dtype=bool), found.correlation.values, np.nan)[1:, :-1]
    image = ax.imshow(np.ma.masked_invalid(values), cmap="RdBu_r", vmin=-1.0, vmax=1.0)
    for (i, k), value in np.ndenumerate(values):
        if k <= i:
            text = f"{value:.2f}" if np.isfinite(value) else "–"
            ax.text(k, i, text, ha="center", va="center", fontsize=8, color="white" if abs(value) > 0.6 else "black")
    ax.set_xticks(range(len(names) - 1), names[:-1], rotation=40, ha="right")
    ax.set_yticks(range(len(names) - 1), names[1:])
    ax.grid(False)
    ax.set_title("correlation of the errors", fontsize=9)
    figure.colorbar(image, ax=ax, shrink=0.6)


def _region(ax: Axes, found: Fit) -> None:
    """The joint 95 % region of two parameters from their standard errors, in their units."""
    names = list(found.best)
    errors = np.array([found.standard_error[name] for name in names])
    share = float(found.correlation.values[0, 1])
    turn = np.linspace(0.0, 2 * np.pi, 181)
    unit = np.stack([np.cos(turn), share * np.cos(turn) + np.sqrt(max(0.0, 1 - share**2)) * np.sin(turn)])
    x, y = np.sqrt(CHI_SQUARE_95) * errors[:, None] * unit
    ax.fill(x, y, color=BLUE, alpha=0.3, lw=0)
    ax.plot(x, y, color=BLUE, lw=1.2)
    ax.plot(0.0, 0.0, "o", color=BLUE, ms=5)
    ax.set_xlabel(axis_label(f"{names[0]} - {found.best[names[0]]:.6g}", found.units[names[0]]))
    ax.set_ylabel(axis_label(f"{names[1]} - {found.best[names[1]]:.6g}", found.units[names[1]]))
    ax.set_title(f"joint 95 % region\ncorrelation of the errors {share:+.2f}", fontsize=9)
    ax.locator_params(nbins=5)
    ax.tick_params(axis="x", labelrotation=45)  # in print the panel is narrow


def bounded(found: Fit) -> Figure:
    """Each parameter within its bounds: initial value, and fitted value with its 95 % interval.

    Examples:
        >>> from jaxgait import Bungee, fit, simulate, with_parameters
        >>> from jaxgait.plot.fits import bounded
        >>> truth = simulate(with_parameters(Bungee(), {"stiffness": 26.0}), duration=10.0, samples=100)
        >>> found = fit(Bungee(), truth.height, over={"stiffness": (15.0, 40.0)}, output="height", noise=0.1,
        ...             duration=10.0, samples=100, starts=1)
        >>> bounded(found).savefig("bounds.png")
    """
    space, model = found.problem.space, found.problem.model
    with style():
        figure, ax = plt.subplots(figsize=(7.2, 0.9 + 0.55 * len(found.best)))
        for i, name in enumerate(found.best):
            scaled = lambda value, i=i, name=name: space.unit(found.best | {name: value})[i]
            own, interval = scaled(float(get_parameter(model, name))), np.array(found.interval(name))
            known = found.minimum and np.isfinite(interval).all()
            ends = np.clip(interval, space.low[i], space.high[i])  # within the bounds, a logarithm exists
            span = list(map(scaled, ends)) if known else (0.0, 1.0)
            ax.plot((0.0, 1.0), (i, i), color=GREY, lw=0.8, alpha=0.5)
            ax.plot(span, (i, i), color=BLUE, lw=3.0 if known else 1.2, ls="-" if known else ":")
            ax.plot(
                scaled(found.best[name]),
                i,
                "o",
                color=BLUE,
                ms=6,
                label="fitted, with its 95 % interval" if known else "fitted",
            )
            if 0.0 <= own <= 1.0:
                ax.plot(own, i, "D", mfc="none", color=ORANGE, ms=6, label="before")
            ends = with_unit(f"{space.low[i]:.5g} to {space.high[i]:.5g}", space.units[i])
            ax.text(1.02, i, ends, va="center", fontsize=8)
        ax.set_yticks(range(len(found.best)), list(found.best))
        ax.set_ylim(len(found.best) - 0.4, -0.6)
        ax.set_xlabel("position between the bounds; dotted: no interval")
        once = named_artists(figure)
        ax.legend(once.values(), once.keys(), loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
    return figure


def profiled(found: Profile) -> Figure:
    """The profile of a parameter compared with the parabola of its standard error, with its interval.

    Examples:
        >>> from jaxgait import Bungee, fit, simulate, with_parameters
        >>> from jaxgait.calibration import profile
        >>> from jaxgait.plot.fits import profiled
        >>> truth = simulate(with_parameters(Bungee(), {"stiffness": 26.0}), duration=10.0, samples=100)
        >>> found = fit(Bungee(), truth.height, over={"stiffness": (15.0, 40.0)}, output="height", noise=0.1,
        ...             duration=10.0, samples=100, starts=1)
        >>> profiled(profile(found, "stiffness", steps=4)).axes[0].get_xlabel()
        'stiffness (N/m)'
    """
    best = 0.5 * sum(found.laplace)
    with style():
        figure, ax = plt.subplots(figsize=(6.4, 4.0))
        value = found.curve["value"].values
        ax.plot(value, found.curve.rise, "o-", color=BLUE, ms=4, lw=1.3, label="profile")
        if np.isfinite(found.laplace).all() and found.laplace[1] > found.laplace[0]:
            x = np.linspace(value.min(), value.max(), 201)
            rise = found.threshold * ((x - best) / (found.laplace[1] - best)) ** 2
            ax.plot(x, rise, "--", color=GREY, lw=1.2, label="parabola of the standard error")
        ax.axhline(found.threshold, color=RED, lw=1.0)
        for end in found.interval:
            if np.isfinite(end):
                ax.axvline(end, color=BLUE, lw=0.8, ls=":")
        ax.set_ylim(-0.05 * found.threshold, 2.0 * found.threshold)
        ax.set_xlabel(axis_label(found.parameter, found.unit))
        ax.set_ylabel(found.curve.rise.attrs["long_name"])
        ax.set_title(f"red: the threshold of the {100.0 * found.level:g} % interval", loc="left", fontsize=8)
        ax.legend()
    return figure
