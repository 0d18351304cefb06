"""Named test problems that every solver's test uses, for states of named scalars.

Sources: Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I (1993); Hairer and Wanner, II (1996);
Prothero and Robinson, Math. Comput. 28 (1974) 145; Robertson in Numerical Analysis, an Introduction (1966) 178.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp


@dataclass(frozen=True)
class Problem:
    field: Callable[[Any, Any, Any], Any]
    """f(t, y, args)"""
    y0: dict[str, float]
    t1: float
    args: Any = None
    exact: Callable[[Any], dict[str, Any]] | None = None
    t0: float = 0.0

    @property
    def start(self):
        return {k: jnp.asarray(v) for k, v in self.y0.items()}

    def solve(self, solver, *, rtol=None, steps=None, ts=None, **keywords):
        """Final (or sampled) state by diffrax, with a fixed number of steps or adaptively with atol = rtol / 100."""
        controller = (
            diffrax.ConstantStepSize() if steps else diffrax.PIDController(rtol, keywords.pop("atol", rtol / 100))
        )
        dt0 = (self.t1 - self.t0) / steps if steps else keywords.pop("dt0", 1e-6)
        times = [jnp.asarray(t, dtype=float) for t in (self.t0, self.t1, dt0)]  # not constants of the program
        saveat = diffrax.SaveAt(t1=True) if ts is None else diffrax.SaveAt(ts=jnp.asarray(ts))
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(self.field),
            solver,
            *times,
            self.start,
            args=self.args,
            saveat=saveat,
            stepsize_controller=controller,
            **{"max_steps": 200_000, "adjoint": diffrax.ForwardMode(), **keywords},
        )
        return solution if ts is not None else jax.tree.map(lambda x: x[-1], solution.ys)

    def radau(self, rtol=1e-11, atol=1e-13):
        """Final state by SciPy's Radau with the exact Jacobian."""
        keys = list(self.y0)
        as_dict = lambda y: dict(zip(keys, y, strict=True))
        f = lambda t, y: list(self.field(t, as_dict(y), self.args).values())  # in NumPy, which is faster here
        J = jax.jit(jax.jacfwd(lambda t, y: jnp.stack(f(t, y)), argnums=1))
        y0 = np.array(list(self.y0.values()))
        run = solve_ivp(f, (self.t0, self.t1), y0, "Radau", rtol=rtol, atol=atol, jac=J)
        assert run.success
        return as_dict(run.y[:, -1])


SLOPE = 0.3
"""How far a measured order of convergence may lie below theory."""


def largest_error(got, wanted):
    return max(float(np.max(np.abs(np.asarray(got[k]) - np.asarray(wanted[k])))) for k in wanted)


def order_between(problem, solver, steps):
    """Order of convergence measured at the end between so many steps and four times as many."""
    errors = [largest_error(problem.solve(solver, steps=n), problem.exact(problem.t1)) for n in (steps, 4 * steps)]
    return np.log2(errors[0] / errors[1]) / 2


def largest_relative_error(got, wanted):
    return max(abs(float(got[k]) / float(wanted[k]) - 1.0) for k in wanted)


@functools.cache
def linear():
    """Damped oscillator with forcing: x'' + 0.4 x' + 4 x = 0, exact by its characteristic roots."""
    d, w = 0.2, np.sqrt(4 - 0.04)

    def exact(t):
        e, c, s = np.exp(-d * t), np.cos(w * t), np.sin(w * t)
        return {"x": e * (c + d / w * s), "v": -e * s * (w + d * d / w)}

    return Problem(
        lambda t, y, _: {"x": y["v"], "v": -0.4 * y["v"] - 4.0 * y["x"]}, {"x": 1.0, "v": 0.0}, 2.0, None, exact
    )


@functools.cache
def nonlinear():
    """Two coupled equations that depend on time, with the solution x = 1 / (2 + sin t), z = x exp(-t)."""

    def field(t, y, _):
        x, z = y["x"], y["z"]
        return {"x": -jnp.cos(t) * x * x, "z": -z - jnp.cos(t) * x * z}

    def exact(t):
        x = 1.0 / (2.0 + np.sin(t))
        return {"x": x, "z": x * np.exp(-t)}

    return Problem(field, {"x": 0.5, "z": 0.5}, 2.0, None, exact)


SMOOTH = pytest.mark.parametrize(
    "problem",
    [pytest.param(linear(), marks=pytest.mark.slow), nonlinear()],
    ids=["linear", "nonlinear"],
)
"""Problems on which every solver must have its order."""


def prothero_robinson(stiffness=1e6):
    """y' = -L (y - sin t) + cos t with y = sin t: methods of high order fall back to their stage order."""
    field = lambda t, y, L: {"y": -L * (y["y"] - jnp.sin(t)) + jnp.cos(t)}
    return Problem(field, {"y": 0.0}, 1.0, stiffness, lambda t: {"y": np.sin(t)})


def van_der_pol(mu=1e3, t1=2.0):
    """Relaxation oscillation in the scaled time of Hairer and Wanner II (eq. IV.10.2): stiffness mu^2."""
    field = lambda t, y, eps: {"x": y["v"], "v": ((1.0 - y["x"] ** 2) * y["v"] - y["x"]) / eps}
    return Problem(field, {"x": 2.0, "v": -0.66}, t1, mu**-2)


def robertson(t1=1e8):
    """Three reactions with rates from 0.04 to 3e7; mass is conserved."""

    def field(t, y, _):
        slow, fast, faster = 0.04 * y["a"], 1e4 * y["b"] * y["c"], 3e7 * y["b"] ** 2
        return {"a": fast - slow, "b": slow - fast - faster, "c": faster}

    return Problem(field, {"a": 1.0, "b": 0.0, "c": 0.0}, t1)


def two_sided_spring():
    """A mass between two springs: the slope of the force jumps at x = 0; exact by half periods."""
    soft, hard = 4.0, 100.0

    def exact(t):
        half = np.pi / np.sqrt(soft), np.pi / np.sqrt(hard)
        t = np.mod(t, sum(half))
        if t < half[0]:
            w = np.sqrt(soft)
            return {"x": np.sin(w * t) / w, "v": np.cos(w * t)}
        w = np.sqrt(hard)
        return {"x": -np.sin(w * (t - half[0])) / w, "v": -np.cos(w * (t - half[0]))}

    def field(t, y, _):
        return {"x": y["v"], "v": -jnp.where(y["x"] > 0.0, soft, hard) * y["x"]}

    return Problem(field, {"x": 0.0, "v": 1.0}, 5.0, None, exact)


def lorenz(rho=21.0, t1=1.0):
    """Lorenz's equations, the published GPU benchmark (Utkarsh et al., CMAME 419 (2024) 116591)."""

    def field(t, y, rho):
        x, v, z = y["x"], y["y"], y["z"]
        return {"x": 10.0 * (v - x), "y": x * (rho - z) - v, "z": x * v - (8.0 / 3.0) * z}

    return Problem(field, {"x": 1.0, "y": 0.0, "z": 0.0}, t1, rho)


def touching_mass():
    """A mass dropped on a stiff smooth floor that slides to rest by regularised friction: the papers' contact laws."""

    def field(t, y, p):
        k, mu = p["k"], p["mu"]
        normal = jnp.maximum(-k * y["y"] - 40.0 * y["vy"], 0.0) * 0.5 * (1.0 + jnp.tanh(-1e5 * y["y"]))
        return {
            "x": y["vx"],
            "y": y["vy"],
            "vx": -mu * normal * 2.0 / jnp.pi * jnp.arctan(1e3 * y["vx"]),
            "vy": normal - 9.81,
        }

    return Problem(field, {"x": 0.0, "y": 0.05, "vx": 1.0, "vy": 0.0}, 0.4, {"k": 1e5, "mu": 0.6})
