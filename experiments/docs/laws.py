"""Curves of the contact laws, by the laws themselves."""

from __future__ import annotations

import pathlib
from typing import Any

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from jaxgait.mechanics.contact import HuntCrossley, HystereticHertz, KelvinVoigt, UnilateralSpring, step
from jaxgait.mechanics.friction import Bristle, Coulomb, Stribeck
from jaxgait.plot.style import GREY, axis_label, style

from .drawing import save_sketch

DEEPEST, SPEED = 2e-3, 0.2
"""Depth in m and speed in m/s up to which the normal laws are drawn: a sine-shaped impact."""


def contact(path: pathlib.Path) -> pathlib.Path:
    """Normal forces over a press and release, smoothings, friction over velocity, and over displacement."""
    with style():
        figure, axes = plt.subplots(2, 2, figsize=(8.4, 6.2))
        _normal(axes[0, 0])
        _smoothings(axes[0, 1])
        _friction(axes[1, 0])
        _presliding(axes[1, 1])
    return save_sketch(figure, path)


def _normal(ax: Any) -> None:
    """Force against depth as a body presses in and is released."""
    phase = np.linspace(0.0, np.pi, 80)
    depth, rate = DEEPEST * np.sin(phase), SPEED * np.cos(phase)
    laws = {
        "UnilateralSpring": UnilateralSpring(5e4),
        "KelvinVoigt": KelvinVoigt(5e4, 150.0, 1e5),
        "HuntCrossley": HuntCrossley(5e4, 2.0, 1e5),
        "HystereticHertz": HystereticHertz(1.2e6, 0.5, SPEED),
    }
    for name, law in laws.items():
        ax.plot(1e3 * depth, law.force(jnp.asarray(depth), jnp.asarray(rate)), label=name)
    ax.set(title="normal laws: press and release", xlabel=axis_label("depth", "mm"), ylabel=axis_label("force", "N"))
    ax.legend(loc="upper left")


def _smoothings(ax: Any) -> None:
    s = np.linspace(-4.0, 4.0, 60)
    for name in ("tanh", "arctan", "softplus"):
        ax.plot(s, step(jnp.asarray(s), name), label=name)
    ax.set(title="smooth step at touch-down", xlabel="steepness x depth", ylabel="switch")
    ax.legend()


def _friction(ax: Any) -> None:
    v = np.linspace(-0.05, 0.05, 201)
    one = jnp.ones_like(v)
    laws = {
        "Coulomb, tanh": Coulomb(0.6, 2e-3, "tanh"),
        "Coulomb, arctan": Coulomb(0.6, 2e-3, "arctan"),
        "Stribeck": Stribeck(0.8, 0.6, 0.01, 1e-3),
    }
    for name, law in laws.items():
        ax.plot(v, law.force(jnp.asarray(v), one)[0], label=name)
    ax.set(title="friction over velocity", xlabel=axis_label("velocity", "m/s"), ylabel="force over normal force")
    ax.legend(loc="upper right")


def _presliding(ax: Any) -> None:
    """A body drawn to and fro by 3 mm: bristles bend before they slip, and remember."""
    law, dt, n = Bristle(0.8, 0.6, 0.01), 1e-4, 15000
    t = jnp.arange(n) * dt
    velocity = 0.0105 * jnp.sin(2.0 * jnp.pi * t / 0.9)

    def advance(z: jax.Array, v: jax.Array) -> tuple[jax.Array, jax.Array]:
        force, rate = law.force(v, 1.0, z)
        assert rate is not None
        return z + dt * rate, force

    _, force = jax.lax.scan(advance, jnp.zeros(()), velocity)
    rigid = Coulomb(0.7, 1e-4, "tanh").force(velocity, jnp.ones_like(velocity))[0]
    displacement = 1e3 * dt * np.cumsum(velocity)
    ax.plot(displacement[::80], force[::80], label="Bristle")
    ax.plot(displacement[::80], rigid[::80], "--", color=GREY, lw=1, label="Coulomb")
    ax.set(title="to and fro", xlabel=axis_label("displacement", "mm"), ylabel="force over normal force")
    ax.legend(loc="center")
