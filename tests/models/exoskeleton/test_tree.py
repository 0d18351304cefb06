"""The matrix method against the tree engine: the paper's five links as bodies with universal joints and slides.

The tree has angles relative to the parent and one slide for each mass of a link; its forces are pulled back to relative
angles and lengths z, the chain's through the map from z to absolute angles and lengths, or to link vectors.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.mechanics import spatial
from jaxgait.models.exoskeleton import dynamics, formulations, vectors
from jaxgait.models.exoskeleton.elements import Spatial
from jaxgait.models.exoskeleton.model import Exoskeleton
from tests.compiling import quickly_compiled

AGREEMENT = 1e-10  # relative to the largest entry
CHAIN = Exoskeleton().chain
N = CHAIN.size


def tree():
    """For each link a rod that turns and two masses that slide along it; the far one carries the next links."""
    links = []
    for i, (p, s) in enumerate(zip(CHAIN.parent, CHAIN.sign, strict=True), start=1):
        near, mid, far = map(float, CHAIN.masses[i - 1])
        slide = spatial.prismatic((s, 0, 0))
        links.append(spatial.Link(f"rod{i}", f"far{p}" if p else None, spatial.universal((0, 0, 1), (0, -1, 0)), near))
        links.append(spatial.Link(f"mid{i}", f"rod{i}", slide, mid))
        links.append(spatial.Link(f"far{i}", f"rod{i}", slide, far))
    return spatial.Tree.build(*links)


TREE = tree()


def coordinates_of_tree():
    """Linear map from z = (azimuths, elevations, lengths) to the coordinates of the tree."""
    L = np.zeros((TREE.nv, 3 * N))
    for i in range(N):
        L[4 * i, i] = L[4 * i + 1, N + i] = L[4 * i + 3, 2 * N + i] = 1.0
        L[4 * i + 2, 2 * N + i] = CHAIN.fractions[i, 1]
    return jnp.asarray(L)


L = coordinates_of_tree()


def link_vectors(z):
    """Axes of the rods, turned one after the other, times the lengths."""
    axes = []
    for i, p in enumerate(CHAIN.parent):
        c, s, cp, sp = jnp.cos(z[i]), jnp.sin(z[i]), jnp.cos(z[N + i]), jnp.sin(z[N + i])
        turn = jnp.array([[c * cp, -s, -c * sp], [s * cp, c, -s * sp], [sp, 0.0 * c, cp]])
        axes.append(axes[p - 1] @ turn if p else turn)
    return jnp.stack([R[:, 0] for R in axes]) * z[2 * N :, None]


def link_vectors_of_tree(motion, z):
    return jnp.stack([motion.world[3 * i].R[:, 0] * z[2 * N + i] for i in range(N)])


def angles(z):
    return jnp.concatenate(formulations.coordinates(link_vectors(z)))


def twice(function, z, rate, acceleration):
    """Value, rate and acceleration of a function of z, and its transposed derivative."""
    first = lambda z, rate: jax.jvp(function, (z,), (rate,))
    (x, v), (_, a) = jax.jvp(first, (z, rate), (rate, acceleration))
    return x, v, a, jax.vjp(function, z)[1]


@pytest.fixture(scope="module")
def state():
    rng = np.random.default_rng(2)
    z = np.concatenate([rng.uniform(-0.5, 0.5, N), rng.uniform(-0.6, 0.6, N), rng.uniform(0.3, 0.6, N)])
    return jnp.asarray(z), *jnp.asarray(rng.normal(size=(2, 3 * N)))


def close(got, wanted):
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=AGREEMENT * float(jnp.abs(wanted).max()))


@pytest.mark.slow
def test_inverse_dynamics(state):
    @quickly_compiled
    def both(z, rate, acceleration):
        motion = spatial.kinematics(TREE, L @ z, L @ rate)
        theirs = L.T @ spatial.inverse_dynamics(TREE, motion, L @ acceleration)
        q, v, a, back = twice(angles, z, rate, acceleration)
        ours = dynamics.inverse_dynamics(CHAIN, *(Spatial(*jnp.split(x, 3)) for x in (q, v, a)))
        places = link_vectors(z), link_vectors_of_tree(motion, z)
        return (back(jnp.concatenate(ours))[0], theirs), places

    forces, places = both(*state)
    close(*forces)
    close(*places)


@pytest.mark.slow
def test_forward_dynamics_in_link_vectors(state):
    """What the model computes: accelerations of the link vectors under forces on them."""
    force = jnp.asarray(np.random.default_rng(3).normal(size=(N, 3)) * 100.0)

    @jax.jit
    def both(z, rate):
        still = jnp.zeros(TREE.nv)
        motion = spatial.kinematics(TREE, L @ z, L @ rate)
        mass = L.T @ spatial.mass_matrix(TREE, motion) @ L
        given = jax.vjp(link_vectors, z)[1](force)[0]
        acceleration = jnp.linalg.solve(mass, given - L.T @ spatial.inverse_dynamics(TREE, motion, still))
        _, _, theirs, _ = twice(link_vectors, z, rate, acceleration)
        return vectors.accelerations(vectors.factorise(CHAIN), force, 9.81), theirs

    close(*both(*state[:2]))
