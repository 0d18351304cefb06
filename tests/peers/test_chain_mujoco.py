"""The planar chain against MuJoCo: hinges and slides, one slide for each mass of a link.

MuJoCo's coordinates are a constant linear map of ours (relative angles; each mass slides by its fraction of the
length), so its generalised forces and mass matrix are pulled back through that map.
"""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.models.exoskeleton import dynamics, formulations
from jaxgait.models.exoskeleton.elements import Planar
from jaxgait.models.exoskeleton.tree import Chain, RodLink

mujoco = pytest.importorskip("mujoco")

POINT = 1e-14  # kg m^2: MuJoCo wants some inertia of every body
AGREEMENT = 1e-11  # relative to the largest entry


def mjcf(chain):
    """The chain as an MJCF document, gravity along -y, everything in the x-y plane."""
    bodies = {0: []}

    def point(mass):
        return f'<inertial pos="0 0 0" mass="{max(mass, 1e-14)!r}" diaginertia="{POINT} {POINT} {POINT}"/>'

    def link(i):
        s, masses = chain.sign[i - 1], chain.masses[i - 1]
        inner = f'<joint name="h{i}" type="hinge" axis="0 0 1"/>' + point(float(masses[0]))
        for b, mass in enumerate(masses[1:], start=1):
            carried = "".join(map(link, bodies.get(i, []))) if b == len(masses) - 1 else ""
            slide = f'<joint name="s{i}_{b}" type="slide" axis="{s} 0 0"/>'
            inner += f"<body>{slide}{point(float(mass))}{carried}</body>"
        return f"<body>{inner}</body>"

    for i, p in enumerate(chain.parent, start=1):
        bodies.setdefault(p, []).append(i)
    return (
        '<mujoco><compiler angle="radian"/><option gravity="0 -9.81 0"><flag contact="disable"/></option>'
        f"<worldbody>{''.join(map(link, bodies[0]))}</worldbody></mujoco>"
    )


def linear_map(model, chain):
    """MuJoCo's coordinates from (phi, l)."""
    n, L = chain.size, np.zeros((model.nv, 2 * chain.size))
    for i in range(1, n + 1):
        row = model.joint(f"h{i}").dofadr[0]
        L[row, i - 1] = 1.0
        if chain.parent[i - 1]:
            L[row, chain.parent[i - 1] - 1] = -1.0
        for b in range(1, chain.masses.shape[1]):
            L[model.joint(f"s{i}_{b}").dofadr[0], n + i - 1] = chain.fractions[i - 1, b]
    return L


@pytest.mark.parametrize(("parent", "sign"), [((0, 1, 2, 3), (1, 1, 1, 1)), ((0, 1, 2, 3, 2), (1, 1, -1, -1, 1))])
def test_inverse_dynamics_and_mass_matrix(parent, sign):
    rng = np.random.default_rng(4)
    chain = Chain.from_links(
        [
            RodLink(p, tuple(rng.uniform(0.3, 2, 3)), (0.0, float(rng.uniform(0.3, 0.7)), 1.0), s)
            for p, s in zip(parent, sign, strict=True)
        ]
    )
    n = chain.size
    model = mujoco.MjModel.from_xml_string(mjcf(chain))
    data, L = mujoco.MjData(model), linear_map(model, chain)
    for _ in range(4):
        q = np.concatenate([rng.uniform(-2, 2, n), rng.uniform(0.4, 1.2, n)])
        rate, acceleration = rng.uniform(-2, 2, (2, 2 * n))
        data.qpos, data.qvel, data.qacc = L @ q, L @ rate, L @ acceleration
        mujoco.mj_inverse(model, data)
        theirs = L.T @ data.qfrc_inverse
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M) if _new_signature() else mujoco.mj_fullM(model, M, data.qM)
        ours = dynamics.inverse_dynamics(chain, *(Planar(*jnp.split(jnp.array(x), 2)) for x in (q, rate, acceleration)))
        mass = formulations.mass_matrix(chain, Planar(*jnp.split(jnp.array(q), 2)))
        np.testing.assert_allclose(np.concatenate(ours), theirs, rtol=0, atol=AGREEMENT * np.abs(theirs).max())
        np.testing.assert_allclose(mass, L.T @ M @ L, rtol=0, atol=AGREEMENT * np.abs(M).max())


def _new_signature():
    """Whether mj_fullM takes (model, data, result), as MuJoCo's newest releases do."""
    return mujoco.mj_fullM.__doc__.split("\n")[0].find("MjData") > 0
