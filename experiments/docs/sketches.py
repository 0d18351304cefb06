"""The sketches of the theory pages, drawn from the models' geometry by `python -m experiments.docs`."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Arc, Polygon, Rectangle, Wedge

import jaxgait
from jaxgait.mechanics import fourbar
from jaxgait.mechanics.planar import added, down
from jaxgait.models import Bungee, Jumper, Prosthesis
from jaxgait.models.exoskeleton import five_links
from jaxgait.models.jumper.human import HEEL_BEHIND_ANKLE
from jaxgait.models.prosthesis import KneeState
from jaxgait.plot.style import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, axis_label, style

from .drawing import (
    DARK,
    LIGHT,
    angle,
    arrow,
    bar,
    canvas,
    dashed,
    dimension,
    dot,
    ground,
    joint,
    label,
    moved,
    save_sketch,
    zigzag,
)
from .laws import contact
from .methods import solvers

DOWN = -0.5 * np.pi


def knee(path: pathlib.Path) -> pathlib.Path:
    """The leg, and its knee enlarged in the frame of the thigh."""
    leg = Prosthesis()
    t, flexion = 0.95, 0.75
    alpha = float(leg.hip(jnp.asarray(t)).thigh.value)
    psi = float(fourbar.psi_at(leg.linkage.bars, flexion))
    state = KneeState(*map(jnp.asarray, (alpha + psi, 0.4, 0.0, 0.0)))
    found = leg.leg(jnp.asarray(t), state)
    points = {name: _plain(p.position) - _plain(found.points["H"].position) for name, p in found.points.items()}
    figure, (left, right) = canvas((3.6, 5.0), 5.0, [(-0.4, 0.5, -1.02, 0.12), (-0.13, 0.115, -0.19, 0.065)])
    _leg(left, points, alpha, alpha - flexion, float(state.beta_1))
    _four_bar(right, leg, fourbar.close(leg.linkage.bars, fourbar.psi_at(leg.linkage.bars, 0.3)))
    return save_sketch(figure, path)


def _plain(v: Any) -> np.ndarray:
    return np.array([float(v.x), float(v.y)])


def _leg(ax: Any, p: Mapping[str, np.ndarray], alpha: float, shank: float, foot: float) -> None:
    ground(ax, (-0.38, -0.97), (0.48, -0.97), 0.025)
    bar(ax, p["H"], p["E"], LIGHT, 13)
    bar(ax, p["F"], p["K"], LIGHT, 10)
    for a, b, color in (("E", "B", DARK), ("A", "D", BLUE), ("B", "C", BLUE), ("D", "C", DARK), ("F", "D", DARK)):
        bar(ax, p[a], p[b], color, 3)
    bar(ax, p["heel"], p["toe"], DARK, 5)
    joint(ax, p["H"], p["A"], p["B"], p["C"], p["D"], p["K"], size=5)
    for point, below, text, radius, turn in (
        ("H", 0.3, r"$\alpha_1$", 0.24, alpha),
        ("F", 0.26, r"$\alpha_{11}$", 0.2, shank),
    ):
        dashed(ax, p[point], moved(p[point], 0.0, -below))
        angle(ax, p[point], radius, DOWN, DOWN + turn, text, 1.22)
    dashed(ax, p["K"], moved(p["K"], 0.32, 0.0))
    angle(ax, p["K"], 0.27, 0.0, foot, r"$\beta_1$", 1.15)
    for name, dx, dy, text in (
        ("H", 12, 8, "$H$"),
        ("E", 15, 3, "$E$"),
        ("K", -10, 8, "$K$"),
        ("heel", -14, 4, "heel"),
        ("toe", 0, 12, "toe"),
    ):
        label(ax, p[name], text, dx, dy)
    arrow(ax, (-0.36, -0.1), (-0.24, -0.1), DARK)
    arrow(ax, (-0.36, -0.1), (-0.36, 0.02), DARK)
    label(ax, (-0.22, -0.1), "$x$", 3, 0)
    label(ax, (-0.36, 0.04), "$y$", 0, 3)


def _four_bar(ax: Any, leg: Prosthesis, closed: fourbar.Closure) -> None:
    """The linkage with the cylinder, the thigh pointing down; A is the origin."""
    bars, damper = leg.linkage.bars, leg.damper
    A, B, C, D = np.zeros(2), _plain(closed.B), _plain(closed.C), _plain(closed.D)
    E = float(leg.linkage.l_AE) * _plain(down(bars.gamma1))
    F = D - float(leg.linkage.l_DF) * _plain(closed.CD)
    shank = _plain(added(closed.CD, down(-bars.gamma2)))
    G = -float(damper.thigh_arm) * _plain(down(bars.gamma1 - damper.thigh_tilt))
    end = float(damper.link_arm) * _plain(closed.AD)
    P = _plain(fourbar.instantaneous_centre(closed))
    bar(ax, moved(E, 0.0, 0.06), E, LIGHT, 22)
    bar(ax, F, F + 0.06 * shank, LIGHT, 18)
    for a, b, color, width in ((E, B, DARK, 5), (A, end, BLUE, 3), (A, D, BLUE, 5), (B, C, BLUE, 5), (D, C, DARK, 5)):
        bar(ax, a, b, color, width)
    bar(ax, A, G, DARK, 3)
    zigzag(ax, G, end, 0.003, 14, ORANGE)
    dashed(ax, A, P)
    dashed(ax, B, P)
    joint(ax, A, B, C, D, G, end, size=7)
    dot(ax, P, color=RED)
    dot(ax, E, F)
    names = {"A": (A, 12, 9), "B": (B, -13, 3), "C": (C, -13, -5), "D": (D, 14, 4), "E": (E, 14, 5), "F": (F, 15, 4)}
    for name, (point, dx, dy) in names.items():
        label(ax, point, f"${name}$", dx, dy)
    label(ax, P, "$P$", 13, 3, RED)
    label(ax, G, "$G$", -12, 8, ORANGE)
    label(ax, end, "$l$ ($k$, $c$)", -40, 16, ORANGE)
    for point, radius, along in ((A, 0.055, D), (B, 0.03, C - B)):
        dashed(ax, point, moved(point, 0.0, -1.3 * radius))
        angle(ax, point, radius, DOWN, DOWN + np.arctan2(along[0], -along[1]), "")
    label(ax, moved(A, 0.0, -0.055), r"$\theta_A - \alpha_1$", 26, -2, RED)
    label(ax, moved(B, 0.0, -0.03), r"$\psi$", 9, -4, RED)


def walker(path: pathlib.Path) -> pathlib.Path:
    """The walker in the axes of the slope, drawn on a slope that is steeper than its own."""
    length, radius, com, tilt = 0.4, 0.1, 0.1, -0.17
    theta = (0.3, -0.56)
    turn = np.array([[np.cos(tilt), -np.sin(tilt)], [np.sin(tilt), np.cos(tilt)]])
    at = lambda x, y: turn @ np.array([x, y])
    figure, (ax,) = canvas((6.0,), 4.6, [(-0.36, 0.42, -0.11, 0.5)])
    shank = length - radius
    hip = np.array([0.0, shank * np.cos(theta[0]) + radius])
    ground(ax, at(-0.34, 0.0), at(0.4, 0.0), 0.012)
    for i, angle_i in enumerate(theta):
        e = np.array([np.sin(angle_i), -np.cos(angle_i)])
        centre, mass = at(*(hip + shank * e)), at(*(hip + com * e))
        bar(ax, at(*hip), centre + radius * (turn @ e), BLUE if i == 0 else LIGHT, 6)
        middle = np.degrees(np.arctan2(*(turn @ e)[::-1]))
        ax.add_patch(
            Arc(
                (centre[0], centre[1]), 2 * radius, 2 * radius, theta1=middle - 42, theta2=middle + 42, lw=3, color=DARK
            )
        )
        dot(ax, mass, size=8)
        angle(ax, at(*hip), 0.19 + 0.03 * i, DOWN + tilt, DOWN + tilt + angle_i, rf"$\theta_{i + 1}$", 1.13)
    label(ax, at(*(hip + com * np.array([np.sin(0.3), -np.cos(0.3)]))), "$m, J$", 22, 4)
    dashed(ax, at(*hip), at(0.0, 0.0))
    joint(ax, at(*hip), size=9)
    label(ax, at(*hip), "$H(x, y)$", 0, 17)
    first = hip + shank * np.array([np.sin(theta[0]), -np.cos(theta[0])])
    dimension(ax, at(*first), at(first[0], first[1] - radius), "$R$", -10, 0)
    second = hip + shank * np.array([np.sin(theta[1]), -np.cos(theta[1])])
    low = at(second[0], second[1] - radius)
    dimension(ax, low, at(second[0], 0.0), "$g_{N2}$", -16, 0)
    aside = np.array([np.cos(theta[0]), np.sin(theta[0])]) * 0.1
    dimension(ax, at(*(hip + aside)), at(*(first + aside)), r"$l - R$", 20, 3)
    aside = -np.array([np.cos(theta[1]), np.sin(theta[1])]) * 0.03
    mass = hip + com * np.array([np.sin(theta[1]), -np.cos(theta[1])])
    dimension(ax, at(*(hip + aside)), at(*(mass + aside)), "$c$", -9, 4)
    origin = at(-0.36, 0.3)
    arrow(ax, origin, origin + turn @ [0.09, 0.0], DARK)
    arrow(ax, origin, origin + turn @ [0.0, 0.09], DARK)
    label(ax, origin + turn @ [0.1, 0.0], "$x$", 3, 0)
    label(ax, origin + turn @ [0.0, 0.1], "$y$", 0, 3)
    corner = at(0.12, 0.0)
    dashed(ax, corner, moved(corner, 0.3, 0.0))
    angle(ax, corner, 0.25, 0.0, tilt, r"$\gamma$", 1.1)
    arrow(ax, (0.36, 0.44), (0.36, 0.34), RED)
    label(ax, (0.36, 0.39), "$g$", 9, 0, RED)
    return save_sketch(figure, path)


def exoskeleton(path: pathlib.Path) -> pathlib.Path:
    """A posture of the five links, seen from the side."""
    model = five_links(mode="gait")
    ends = np.asarray(model.prescribed(jnp.asarray(0.2))["joints"])[:, :, [0, 2]]
    figure, (ax, aside) = canvas((3.8, 3.6), 4.8, [(-0.66, 0.4, -0.06, 1.45), (-0.2, 0.95, -0.35, 1.4)])
    ground(ax, (-0.6, 0.0), (0.35, 0.0), 0.025)
    colors = (BLUE, BLUE, GREEN, GREEN, DARK)
    shifts = ((-13, 2), (14, 4), (-13, 6), (-13, -4), (-13, 0))
    for i, ((a, b), color, shift) in enumerate(zip(ends, colors, shifts, strict=True)):
        _telescope(ax, a, b, color)
        dot(ax, *(a + f * (b - a) for f in np.asarray(model.fractions)[i]), size=5)
        label(ax, 0.5 * (a + b), str(i + 1), *shift)
    dashed(ax, ends[0, 0], moved(ends[0, 0], 0.3, 0.0))
    rise = ends[0, 1] - ends[0, 0]
    angle(ax, ends[0, 0], 0.2, 0.0, np.arctan2(rise[1], rise[0]), r"$\psi_1$", 1.2)
    arrow(ax, (-0.6, 1.2), (-0.45, 1.2), DARK)
    arrow(ax, (-0.6, 1.2), (-0.6, 1.35), DARK)
    label(ax, (-0.43, 1.2), "$x$", 3, 0)
    label(ax, (-0.6, 1.37), "$z$", 0, 3)
    _one_link(aside)
    return save_sketch(figure, path)


def _telescope(ax: Any, a: np.ndarray, b: np.ndarray, color: str) -> None:
    bar(ax, a, a + 0.6 * (b - a), color, 6)
    bar(ax, a + 0.4 * (b - a), b, color, 3)


def _one_link(ax: Any) -> None:
    """What one link is: three masses, length, moment and axial force, in space."""
    a, b, foot = np.array([0.05, 0.1]), np.array([0.55, 1.05]), np.array([0.55, -0.12])
    _telescope(ax, a, b, BLUE)
    dot(ax, a, a + 0.6 * (b - a), b, size=8)
    for p, text, dx in ((a, "$m_{i0}$", -22), (a + 0.6 * (b - a), "$m_{i1}$", -24), (b, "$m_{i2}$", -24)):
        label(ax, p, text, dx, 5)
    dashed(ax, b, foot)
    dashed(ax, a, foot)
    for end, text in ((moved(a, 0.42, 0.0), "$x$"), (moved(a, 0.2, 0.17), "$y$"), (moved(a, 0.0, 0.62), "$z$")):
        arrow(ax, a, end, GREY, width=1.0)
        label(ax, end, text, 6, 3, GREY)
    angle(ax, a, 0.3, 0.0, np.arctan2(foot[1] - a[1], foot[0] - a[0]), r"$\varphi_i$", 1.25)
    angle(ax, a, 0.42, np.arctan2(foot[1] - a[1], foot[0] - a[0]), np.arctan2(0.95, 0.5), r"$\psi_i$", 1.14)
    along = (b - a) / np.hypot(*(b - a))
    arrow(ax, b, b + 0.22 * along)
    arrow(ax, a, a - 0.22 * along)
    label(ax, b + 0.22 * along, "$F_i$", 11, 2, RED)
    label(ax, a - 0.22 * along, "$F_i$", 13, 0, RED)
    aside = np.array([along[1], -along[0]]) * 0.08
    dimension(ax, a + aside, b + aside, "$l_i$", 12, -5)


def creeper(path: pathlib.Path) -> pathlib.Path:
    """The two units between the walls of the vessel."""
    diameter, gap, length, between = 1.2, 0.3, 3.0, 1.9
    wall = 0.5 * diameter + gap
    figure, (ax,) = canvas((8.4,), 3.0, [(-1.9, 9.4, -1.75, 1.75)])
    for side in (1.0, -1.0):
        ground(ax, (-1.6, side * wall), (9.2, side * wall), 0.14, below=side < 0)
    for left, name, color, coil in ((0.0, "rear", BLUE, 1.0), (length + between, "front", GREEN, 0.35)):
        ax.add_patch(Rectangle((left, -0.5 * diameter), length, diameter, fc=LIGHT, ec=color, lw=2))
        for side in (0.5 * diameter, -wall):
            ax.add_patch(Rectangle((left + 1.05, side), 0.9, gap, fc=PURPLE, ec="none", alpha=coil))
        label(ax, (left + 0.5 * length, 0.0), f"{name} unit, $m_{name[0]}$")
    arrow(ax, (length, 0.0), (length + 0.55, 0.0), DARK, "-", 4)
    zigzag(ax, (length + 0.55, 0.0), (length + between, 0.0), 0.18, 5)
    dimension(ax, (length, -0.38), (length + between, -0.38), "gap $+\\, s(t)$", 0, -9)
    dimension(ax, (length + between, -0.4), (2 * length + between, -0.4), "$L$", -50, 9)
    dimension(ax, (0.35, -0.5 * diameter), (0.35, 0.5 * diameter), "$D$", 9, 0)
    dimension(ax, (8.55, 0.5 * diameter), (8.55, wall), "$h$", 9, 0)
    for y in (-0.45, 0.0, 0.45):
        arrow(ax, (9.1, y), (8.2, y), RED)
    label(ax, (8.9, 0.22), "$u(t)$", 0, 2, RED)
    arrow(ax, (length, 1.35), (length + 0.8, 1.35), DARK)
    label(ax, (length, 1.35), "$x, v$", -18, 0)
    dashed(ax, (length, -0.6), (length, 1.5))
    label(ax, (1.5, -1.35), r"pad: normal force $N$, friction $\mu_r(t)$", 0, 0, PURPLE)
    label(ax, (length + between + 1.5, -1.35), r"$\mu_f(t)$", 0, 0, PURPLE)
    return save_sketch(figure, path)


def jumper(path: pathlib.Path) -> pathlib.Path:
    """The crouch, and one stud."""
    model = Jumper()
    start = model.initial_state()
    bars = np.asarray(model.figure(jnp.zeros(()), start))
    figure, (ax, aside) = canvas((4.0, 3.4), 4.6, [(-0.5, 0.6, -0.08, 1.4), (-1.7, 1.9, -1.15, 3.0)])
    ground(ax, (-0.42, 0.0), (0.5, 0.0), 0.022)
    for i, (a, b) in enumerate(bars[1:], 1):
        bar(ax, a, b, GREEN if i > 5 else BLUE if i < 3 else DARK, 5)
    sole, ankle = model.sole, bars[0, 0]
    low, radius = ankle[1] - float(sole.drop), float(sole.radius)
    heel, toe = (ankle[0] - HEEL_BEHIND_ANKLE * model.stature, low + radius), (bars[0, 1, 0], low + radius)
    ax.add_patch(Polygon(np.stack([ankle, heel, toe]), closed=True, fc=BLUE, ec=BLUE, lw=3, joinstyle="round"))
    for position in np.asarray(sole.row_positions):
        ax.add_patch(Wedge((ankle[0] + position, low + radius), radius, 180, 360, color=PURPLE, zorder=4))
    label(ax, toe, "studs", 22, 4, PURPLE, 9)
    joint(ax, *bars[1:, 0], size=5)
    for i, text, dx, dy in (
        (1, "ankle", -24, 4),
        (2, "knee", 20, 4),
        (3, "hip", -16, -8),
        (6, "shoulder", -32, 4),
        (7, "elbow", -24, 0),
    ):
        label(ax, bars[i, 0], text, dx, dy, size=9)
    label(ax, bars[5, 1], "head", 18, 4, size=9)
    arrow(ax, (-0.47, 0.1), (-0.32, 0.1), DARK)
    arrow(ax, (-0.47, 0.1), (-0.47, 0.25), DARK)
    label(ax, (-0.3, 0.1), "$x$", 3, 0)
    label(ax, (-0.47, 0.27), "$z$", 0, 3)
    _stud(aside)
    return save_sketch(figure, path)


def _stud(ax: Any) -> None:
    """One hemisphere compressed by d."""
    centre, depth = np.array([0.0, 0.75]), 0.25
    ax.add_patch(Wedge((0.0, 0.75), 1.0, 180, 360, fc=PURPLE, alpha=0.35, ec=PURPLE))
    ax.plot([-1.3, 1.3], [0.75, 0.75], color=DARK, lw=3)
    ground(ax, (-1.5, 0.0), (1.6, 0.0), 0.1)
    dimension(ax, (1.25, 0.0), (1.25, -depth), "$d$", 10, 0)
    dashed(ax, (0.0, -depth), (1.4, -depth))
    arrow(ax, centre, centre + 0.99 * np.array([np.cos(-2.4), np.sin(-2.4)]), GREY, width=1.0)
    label(ax, centre + 0.5 * np.array([np.cos(-2.4), np.sin(-2.4)]), "$R$", -7, 6)
    arrow(ax, (0.0, 0.0), (0.0, 1.9))
    label(ax, (0.0, 1.9), "$F_N$", 14, 0, RED)
    arrow(ax, (0.0, 0.0), (-1.1, 0.0))
    label(ax, (-1.1, 0.0), "$F_T$", -4, 11, RED)
    arrow(ax, (0.2, 2.5), (1.1, 2.5), DARK)
    label(ax, (1.1, 2.5), "$v_T$", 13, 0)
    dot(ax, (0.0, 0.0))


def bungee(path: pathlib.Path) -> pathlib.Path:
    """The jump next to its time history, on one vertical scale."""
    model = Bungee()
    run = jaxgait.simulate(model, duration=40.0, samples=400)
    ledge, depth, low = -float(model.rope_length), float(model.ground), float(run.x.max())
    with style(axes__grid=False):
        figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 4.4), width_ratios=(1, 2.4), sharey=True)
    left.set(xlim=(-6, 9), ylim=(depth + 22, ledge - 10))
    left.axis("off")
    left.plot([-5.0, 0.0], [ledge, ledge], color=DARK, lw=4)
    for across, x, color in ((0.0, ledge, DARK), (3.0, 0.0, GREY), (6.0, low, BLUE)):
        left.plot(across, x, "o", ms=9, color=color)
    left.plot([0.0, 3.0], [ledge, 0], color=GREY, lw=1.2)
    zigzag(left, (6.0, 0.0), (6.0, low), 0.5, 9, BLUE)
    left.plot([3.0, 6.0], [0, 0], color=GREY, lw=1.2)
    for x, text in ((ledge, "ledge, $x = -h_1$"), (0, "taut, $x = 0$"), (depth, "ground, $x = h_2$")):
        left.text(-5.6, x - 2.5, text, fontsize=9)
    left.axhline(depth, color=DARK, lw=1.4)
    left.annotate("$x$", (-5.3, depth - 12), (-5.3, 12), arrowprops={"arrowstyle": "-|>", "color": DARK}, ha="center")
    right.plot(run.time, run.x, color=BLUE)
    right.axhline(depth, color=DARK, lw=1.4)
    right.axhline(0, color=GREY, lw=0.8, ls="--")
    right.annotate(
        f"clearance {depth - low:.2f} m",
        (float(run.x.idxmax()), low),
        (12, depth + 18),
        fontsize=9,
        arrowprops={"arrowstyle": "-", "color": GREY},
    )
    right.tick_params(labelleft=True)
    right.set(xlabel=axis_label("time", "s"), ylabel=axis_label("x, downward", "m"), xlim=(0, 40))
    return save_sketch(figure, path)


SKETCHES: Mapping[str, Callable[[pathlib.Path], pathlib.Path]] = {
    "knee": knee,
    "walker": walker,
    "exoskeleton": exoskeleton,
    "creeper": creeper,
    "jumper": jumper,
    "bungee": bungee,
    "contact": contact,
    "solvers": solvers,
}
"""Functions that draw sketches, by the theory page that shows them."""


def draw(folder: pathlib.Path, names: tuple[str, ...] = tuple(SKETCHES)) -> list[pathlib.Path]:
    """Draws sketches into a folder as SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    return [SKETCHES[name](folder / f"{name}.svg") for name in names]
