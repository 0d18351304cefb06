"""Derivatives of correlation and peak flexion by the damper's k and c, against differences of whole runs."""

import jax.numpy as jnp
import numpy as np
import pytest

import jaxgait
from jaxgait.ensembles import zipped
from jaxgait.models.prosthesis import measures as knee
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.parameters import with_parameters

NAMES = ("damper.k", "damper.c")
STEP = 1e-3  # relative, of central differences
K, C = 1.8e4, 900.0  # period one
POINTS = np.array([[0, 1, -1, 0, 0], [0, 0, 0, 1, -1]])  # the point itself, then steps along k and along c
OPTIONS = dict(strides=20, rtol=1e-7, atol=1e-9, retry=False)
STEEPNESS = 1e4  # 1/m: touch-down within 0.1 mm, which the steps resolve; the paper's micrometre spoils tangents
AGREEMENT = 0.01  # relative


def observables(run):
    """Correlation, and the peak flexion in rad of the last stride."""
    simulated, _ = knee.curves(run)
    return {"rho": knee.correlation(run), "peak": jnp.max(simulated[-101:])}


@pytest.mark.slow
def test_gradients_of_a_periodic_gait():
    leg = with_parameters(Prosthesis(), {"ground.steepness": STEEPNESS})
    members = zipped({"damper.k": K * (1 + STEP * POINTS[0]), "damper.c": C * (1 + STEP * POINTS[1])})
    runs = jaxgait.ensemble(leg, members, observe=observables, gradient=NAMES, **OPTIONS)
    assert not runs["status"].any()
    for name in ("rho", "peak"):
        values = runs[name].values[1:].reshape(2, 2)
        differences = (values[:, 0] - values[:, 1]) / (2 * STEP * np.array([K, C]))
        np.testing.assert_allclose(runs[f"{name}_gradient"].values[0], differences, rtol=AGREEMENT)
