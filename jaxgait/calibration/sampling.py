"""Samples of the parameters given the data, by the No-U-Turn sampler of blackjax.

The prior is uniform in the box of the fit (in the logarithm over `jaxgait.Log`), the noise independent and normal with
the standard deviations of the fit (estimated ones are treated as known). Chains move in the logits of the unit box;
each evaluation is an entire run with forward-mode derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array, Float
from scipy.special import logit

from jaxgait import precision
from jaxgait.calibration.fitted import Fit, column
from jaxgait.optimization.evaluate import Transient
from jaxgait.report import labels
from jaxgait.support import checks
from jaxgait.support.checks import first_few
from jaxgait.support.notes import note

MAX_RHAT = 1.1
"""Potential scale reduction above which chains do not agree (Gelman et al., Bayesian Data Analysis, chapter 11)."""
MAX_DISTANCE = 4.0
"""Largest distance in logits of a chain's start from the middle of the box, for parameters without standard error."""
LOWEST_LOG_DENSITY = -1e30
"""Logarithm of the density where a run fails; finite, because differences of infinities are NaN."""


def sample(fit: Fit, *, draws: int = 500, warmup: int = 300, chains: int = 4, seed: int = 0) -> xr.Dataset:
    """Draws from the distribution of the parameters given the data.

    Args:
        fit: a fit through the whole run (`gradient="run"`).
        draws: number of draws of each chain.
        warmup: number of preceding steps, which tune step length and scales.
        chains: number of chains; they start around the best fit, scattered by its standard errors.
        seed: seed of starts and chains.

    Warns:
        UserWarning: for parameters whose chains do not agree (`rhat` above 1.1): the draws are not those of the
            distribution.

    Returns:
        The parameters over (`chain`, `draw`) in their units ("parameter.ess" if one is called ess); over `parameter`
        `rhat` (1 if the chains agree) and `ess`, the effective number of independent draws; `divergent`, the divergent
        transitions.

    Raises:
        TypeError: for anything but a fit.
        ModuleNotFoundError: without blackjax.
        ValueError: for impossible counts, a fit that was not made through the run, and one with a robust loss.

    Examples:
        >>> from jaxgait import Bungee, fit, simulate, with_parameters
        >>> from jaxgait.calibration import sample
        >>> truth = simulate(with_parameters(Bungee(), {"stiffness": 26.0}), duration=10.0, samples=100)
        >>> found = fit(Bungee(), truth.height, over={"stiffness": (15.0, 40.0)}, output="height", noise=0.1,
        ...             duration=10.0, samples=100, starts=1)
        >>> drawn = sample(found, draws=20, warmup=20, chains=2)
        >>> print(drawn.stiffness.dims, round(float(drawn.stiffness.mean()), 1))  # N/m
        ('chain', 'draw') 26.0
    """
    checks.of_class("fit", fit, Fit, "such as jaxgait.fit returns")
    for name, value, least in (("draws", draws, 4), ("warmup", warmup, 20), ("chains", chains, 2), ("seed", seed, 0)):
        checks.count(name, value, least=least)
    if fit.problem.loss.robust:
        raise ValueError(f"sample needs normal noise, got a fit with the robust loss {fit.loss}: use its profiles")
    blackjax = checks.library("blackjax", "sampling needs", '"jaxgait[bayes]"')
    if not all(isinstance(group.runs, Transient) for group in fit.problem.groups):
        raise ValueError(f"sample needs a fit through whole runs, got one {fit.gradient}: fit with gradient='run'")
    note(f"sampling {chains} chains of {warmup + draws} steps, which may take minutes")
    settings = jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard")  # the library needs both
    with precision.use("float64"), settings[0], settings[1]:
        density = _log_density(fit)
        starts, keys = _starts(fit, chains, seed), jax.random.split(jax.random.key(seed), chains)

        def chain(key: Array, u: Array) -> tuple[Array, Array]:
            tuning, drawing = jax.random.split(key)
            tuned, _ = blackjax.window_adaptation(blackjax.nuts, density).run(tuning, u, num_steps=warmup)
            step = blackjax.nuts(density, **tuned.parameters).step

            def one(state: Any, key: Array) -> tuple[Any, tuple[Array, Array]]:
                state, info = step(key, state)
                return state, (state.position, info.is_divergent)

            return jax.lax.scan(one, tuned.state, jax.random.split(drawing, draws))[1]

        positions, divergent = jax.jit(jax.vmap(chain))(keys, starts)
        x = jax.nn.sigmoid(positions)
        diagnostics = blackjax.diagnostics.effective_sample_size(x), blackjax.diagnostics.potential_scale_reduction(x)
    ess, rhat = (np.atleast_1d(one) for one in diagnostics)
    _warn_of_chains(fit.best, rhat)
    return _labelled(fit, np.asarray(x), np.asarray(divergent), ess, rhat)


def _warn_of_chains(names: Iterable[str], rhat: Float[np.ndarray, " n"]) -> None:
    apart = [f"{name} (rhat {r:.2f})" for name, r in zip(names, rhat, strict=True) if not r <= MAX_RHAT]
    if apart:
        checks.warn_user(f"the chains do not agree on {first_few(apart)}: give more warmup and draws")


def _log_density(fit: Fit) -> Callable[[Array], Array]:
    """Logarithm of the density over the logits, up to a constant, with its gradient carried along the solve."""
    trials, groups = fit.problem.trials, fit.problem.groups
    matrices = [jnp.asarray(one.interpolation.matrix / one.noise[:, None]) for one in trials]
    data = [jnp.asarray(one.measured.values / one.noise) for one in trials]

    def weighted(x: Array) -> tuple[Array, Array]:
        """The weighted residuals of all trials at a point of the unit box, and their derivatives by it."""
        values, slopes = zip(*(group.traced(x) for group in groups), strict=True)
        own = [(one.group, (one.run, one.samples)) for one in trials]
        residuals = [m @ values[g][at] - y for m, y, (g, at) in zip(matrices, data, own, strict=True)]
        by_x = [m @ slopes[g][at] for m, (g, at) in zip(matrices, own, strict=True)]
        return jnp.concatenate(residuals), jnp.concatenate(by_x)

    def both(u: Array) -> tuple[Array, Array]:
        x = jax.nn.sigmoid(u)
        residual, slopes = weighted(x)
        log_density = -0.5 * residual @ residual + jnp.sum(jax.nn.log_sigmoid(u) + jax.nn.log_sigmoid(-u))
        slope = -residual @ slopes * x * (1.0 - x) + 1.0 - 2.0 * x
        valid = jnp.isfinite(log_density) & jnp.isfinite(slope).all()
        return jnp.where(valid, log_density, LOWEST_LOG_DENSITY), jnp.where(valid, slope, 0.0)

    density = jax.custom_vjp(lambda u: both(u)[0])
    density.defvjp(both, lambda slope, weight: (weight * slope,))
    return density


def _starts(fit: Fit, chains: int, seed: int) -> Float[np.ndarray, "chains n"]:
    space, best = fit.problem.space, np.array(list(fit.best.values()))
    x = space.spacing.unit(best)
    errors = np.array(list(fit.standard_error.values())) / space.spacing.slopes(x)
    scattered = x + np.nan_to_num(errors, posinf=1.0) * np.random.default_rng(seed).normal(size=(chains, len(x)))
    inside = np.clip(scattered, np.minimum(0.5 * x, 0.01), 1.0 - np.minimum(0.5 * (1.0 - x), 0.01))
    farthest = np.where(np.isfinite(errors), np.inf, MAX_DISTANCE)
    return np.clip(logit(inside), -farthest, farthest)


def _labelled(fit: Fit, x: np.ndarray, divergent: np.ndarray, ess: np.ndarray, rhat: np.ndarray) -> xr.Dataset:
    space = fit.problem.space
    values, over = space.physical(x), ("chain", "draw")
    columns: dict[str, Any] = {
        "divergent": (over, divergent, labels("", "whether the transition was divergent")),
        "rhat": ("parameter", rhat, labels("1", "potential scale reduction")),
        "ess": ("parameter", ess, labels("1", "effective sample size")),
    }
    taken = (*columns, *over, "parameter")
    columns |= {
        column(name, taken): (over, values[..., k], labels(space.units[k], name)) for k, name in enumerate(space.names)
    }
    return xr.Dataset(columns, {"parameter": space.names})
