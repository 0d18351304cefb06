"""Chains of telescopic links against a Lagrangian written mass by mass, and against their own laws."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.models.exoskeleton import dynamics, formulations, vectors
from jaxgait.models.exoskeleton.elements import Planar, Spatial
from jaxgait.models.exoskeleton.tree import Chain, RodLink, mass_table
from tests.shared import flat

ROUNDING = 1e-12  # relative to the largest force: some tens of roundings of float64
SOLVE = 1e-9  # through the solution of a mass matrix of condition 1e4
SERIAL, TREE = (0, 1, 2, 3, 4, 5), (0, 1, 1, 2, 0, 3)
MIXED = (1, -1, 1, -1, -1, 1)


def table(parent, sign, seed=0):
    rng = np.random.default_rng(seed)
    return [
        RodLink(p, tuple(rng.uniform(0.2, 2.0, 3)), (0.0, rng.uniform(0.2, 0.8), 1.0), s)
        for p, s in zip(parent, sign, strict=True)
    ]


def state(kind, n, seed=1):
    """Coordinates, rates and accelerations, no link near the vertical."""
    rng = np.random.default_rng(seed)

    def draw(scale):
        return kind(*(rng.uniform(-scale, scale, n) for _ in kind._fields))

    return jax.tree.map(jnp.asarray, (draw(1.2)._replace(l=rng.uniform(0.4, 1.2, n)), draw(2.0), draw(3.0)))


_inverse_dynamics = eqx.filter_jit(dynamics.inverse_dynamics)


def inverse_dynamics(chain, q, rate, acceleration, gravity=dynamics.G):
    """`dynamics.inverse_dynamics`, compiled once for all chains of one tree."""
    return _inverse_dynamics(chain, q, rate, acceleration, jnp.asarray(gravity))


def lagrangian(chain, q, rate):
    """Kinetic minus potential energy, every mass placed by walking the tree link by link; no W, no rho."""

    def masses(q):
        c = jnp.ones_like(q.phi) if isinstance(q, Planar) else jnp.cos(q.psi)
        axes = [c * jnp.cos(q.phi), c * jnp.sin(q.phi)] + ([] if isinstance(q, Planar) else [jnp.sin(q.psi)])
        rods = jnp.asarray(chain.sign, float)[:, None] * q.l[:, None] * jnp.stack(axes, axis=1)
        ends = [jnp.zeros_like(rods[0])]
        for p, rod in zip(chain.parent, rods, strict=True):
            ends.append(ends[p] + rod)
        near_ends = jnp.stack([ends[p] for p in chain.parent])
        positions = near_ends[:, None] + jnp.asarray(chain.fractions)[:, :, None] * rods[:, None]
        return positions.reshape(-1, positions.shape[-1])

    r, v = jax.jvp(masses, (q,), (rate,))
    m = jnp.asarray(chain.masses).reshape(-1)
    return 0.5 * jnp.sum(m[:, None] * v * v) - dynamics.G * jnp.sum(m * r[:, -1])


def euler_lagrange(chain, q, rate, acceleration):
    """Generalised forces by differentiating the Lagrangian automatically."""

    def momentum(q, rate):
        return jax.grad(lambda r: lagrangian(chain, q, r))(rate)

    _, change = jax.jvp(momentum, (q, rate), (rate, acceleration))
    return jax.tree.map(jnp.subtract, change, jax.grad(lambda x: lagrangian(chain, x, rate))(q))


def near(a, b, tolerance=ROUNDING):
    a, b = np.asarray(a), np.asarray(b)
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * max(1.0, np.abs(b).max()))


@pytest.fixture(scope="module")
def tree():
    return Chain.from_links(table(TREE[:5], MIXED[:5]))


@pytest.mark.parametrize(
    ("kind", "parent", "sign"),
    [
        (Planar, SERIAL[:1], (1,)),
        (Planar, SERIAL, MIXED),
        (Planar, TREE, MIXED),
        (Spatial, SERIAL[:1], (-1,)),
        (Spatial, SERIAL[:5], MIXED[:5]),
        (Spatial, TREE[:5], MIXED[:5]),
    ],
)
def test_forces_equal_those_of_the_differentiated_lagrangian(kind, parent, sign):
    chain = Chain.from_links(table(parent, sign))

    @jax.jit
    @jax.vmap
    def both(q, rate, acceleration):
        ours = dynamics.inverse_dynamics(chain, q, rate, acceleration)
        return ours, euler_lagrange(chain, q, rate, acceleration)

    states = [state(kind, len(parent), seed) for seed in range(5)]
    ours, reference = both(*jax.tree.map(lambda *x: jnp.stack(x), *states))
    for i in range(5):
        near(*(np.concatenate([x[i] for x in force]) for force in (ours, reference)))


def test_mass_matrix_is_the_hessian_of_the_kinetic_energy(tree):
    for kind in (Planar, Spatial):
        q, rate, _ = state(kind, 5)

        @jax.jit
        def both(q, rate):
            return formulations.mass_matrix(tree, q), jax.hessian(lambda r: lagrangian(tree, q, r))(rate)

        M, hessian = both(q, rate)
        near(M, np.block([[np.asarray(x) for x in row] for row in hessian]))
        near(M, M.T)
        assert np.linalg.eigvalsh(M)[0] > 0


def test_symmetries_of_the_single_matrices(tree):
    q, _, _ = state(Planar, 5)
    matrices = eqx.filter_jit(dynamics.matrices)
    m = jax.device_get(matrices(tree, q))
    near(m.A[0], m.A[0].T)
    near(m.Lambda[1], m.Lambda[1].T)
    near(m.A[1], m.Lambda[0].T)
    near(m.D[0], -m.D[0].T)
    near(m.H[0], -m.D[1].T)
    near(m.H[0], m.A[0] / np.asarray(q.l)[None])
    near(m.H[1], -m.H[1].T)
    q, _, _ = state(Spatial, 5)
    m = jax.device_get(matrices(tree, q))
    for a, b in ((m.B[0], m.A[1]), (m.Lambda[0], m.A[2]), (m.Lambda[1], m.B[2])):
        near(a, b.T)


def test_determinant_of_the_spherical_mass_matrix(tree):
    q, _, _ = state(Spatial, 5)
    expected = np.linalg.det(tree.W) ** 3 * np.prod(np.asarray(q.l) ** 4 * np.cos(q.psi) ** 2)
    mass_matrix = jax.jit(lambda q: formulations.mass_matrix(tree, q))(q)
    np.testing.assert_allclose(np.linalg.det(mass_matrix), expected, rtol=1e-11)


def test_space_without_azimuth_is_the_plane_with_psi_as_the_angle(tree):
    q, rate, acceleration = state(Planar, 5)
    zero = jnp.zeros(5)
    lifted = [Spatial(zero, x.phi, x.l) for x in (q, rate, acceleration)]
    plane, space = inverse_dynamics(tree, q, rate, acceleration), inverse_dynamics(tree, *lifted)
    near(space.psi, plane.phi)
    near(space.l, plane.l)
    near(space.phi, zero)


def test_space_without_elevation_is_the_plane_without_gravity(tree):
    q, rate, acceleration = state(Planar, 5)
    zero = jnp.zeros(5)
    flat_on_ground = [Spatial(x.phi, zero, x.l) for x in (q, rate, acceleration)]
    plane = inverse_dynamics(tree, q, rate, acceleration, 0.0)
    space = inverse_dynamics(tree, *flat_on_ground)
    near(space.phi, plane.phi)
    near(space.l, plane.l)
    near(space.psi, dynamics.G * tree.rho * q.l)


@pytest.mark.parametrize("kind", [Planar, Spatial])
def test_link_vectors_and_angles_agree(tree, kind):
    q, rate, acceleration = state(kind, 5)

    @jax.jit
    def seen(q, rate, acceleration):
        force = dynamics.inverse_dynamics(tree, q, rate, acceleration)
        x, _, a = vectors.motion(q, rate, acceleration)
        f = vectors.forces(tree, a, dynamics.G)
        moment, axial = vectors.actuation(x, f)
        back = vectors.accelerations(vectors.factorise(tree), f, dynamics.G)
        return (
            force,
            x,
            a,
            f,
            moment,
            axial,
            back,
            {
                "link forces": vectors.link_forces(x, moment, axial),
                "coordinates": formulations.coordinates(x),
                "zenith": formulations.frame(q)[1] if kind is Spatial else None,
                "projected": formulations.projected(q, rate, back),
                "forward": formulations.forward_dynamics(tree, q, rate, force)[0],
            },
        )

    force, x, a, f, moment, axial, back, found = jax.device_get(seen(q, rate, acceleration))
    near(axial, force.l)
    near(moment if kind is Planar else moment[:, 2], force.phi)
    if kind is Spatial:
        axis = np.stack([np.sin(q.phi), -np.cos(q.phi), np.zeros(5)], axis=1)
        near(np.sum(moment * axis, axis=1), force.psi)
        near(np.sum(moment * found["zenith"], axis=1), force.phi / np.cos(q.psi))
        near(np.sum(moment * x, axis=1), 0 * axial)
    near(found["link forces"], f)
    near(flat(found["coordinates"]), flat(q))
    near(back, a, SOLVE)
    near(flat(found["projected"]), flat(acceleration), SOLVE)
    near(flat(found["forward"]), flat(acceleration), SOLVE)


@pytest.mark.parametrize("kind", [Planar, Spatial])
def test_energy_and_momentum_balances(tree, kind):
    q, rate, acceleration = state(kind, 5)

    def energy(q, rate):
        x, v = jax.jvp(vectors.link_vectors, (q,), (rate,))
        return sum(vectors.energies(tree, x, v, dynamics.G))

    def momenta(q, rate):
        """Momentum and moment of momentum about the ground joint, mass by mass."""
        r, v = jax.jvp(lambda q: vectors.mass_positions(tree, vectors.link_vectors(q)), (q,), (rate,))
        m = jnp.asarray(tree.masses)[:, :, None]
        turn = r[..., 0] * v[..., 1] - r[..., 1] * v[..., 0] if kind is Planar else jnp.cross(r, v)
        return jnp.sum(m * v, axis=(0, 1)), jnp.sum((m if kind is Spatial else m[..., 0]) * turn, axis=(0, 1))

    @jax.jit
    def seen(q, rate, acceleration):
        both = lambda q, rate: (energy(q, rate), momenta(q, rate))
        _, changes = jax.jvp(both, (q, rate), (rate, acceleration))
        return changes, vectors.ground_reaction(tree, vectors.motion(q, rate, acceleration)[2], 0.0)

    (change, (push, turn)), reaction = seen(q, rate, acceleration)
    force = inverse_dynamics(tree, q, rate, acceleration)
    near(change, sum(np.vdot(f, r) for f, r in zip(force, rate, strict=True)))
    near(reaction, push)
    turning = turn if kind is Planar else turn[2]
    weightless = inverse_dynamics(tree, q, rate, acceleration, 0.0)
    near(np.sum(weightless.phi), turning)


def test_joint_torques_are_moments_of_the_masses_beyond_the_joint(tree):
    q, rate, acceleration = state(Spatial, 5)

    @jax.jit
    def seen(q, rate, acceleration):
        x, _, a = vectors.motion(q, rate, acceleration)
        moment, _ = vectors.actuation(x, vectors.forces(tree, a, dynamics.G))
        places = [vectors.mass_positions(tree, x), vectors.joints(tree, x), vectors.mass_positions(tree, a)]
        return vectors.joint_torques(tree, moment), *places

    tau, r, ends, away = map(np.asarray, seen(q, rate, acceleration))
    pull = tree.masses[:, :, None] * (away + np.array([0.0, 0.0, dynamics.G]))
    for i in range(5):
        branch = [j for j in range(5) if j == i or (i == 0 and j in (1, 2, 3)) or (i == 1 and j == 3)]
        near(tau[i], np.cross(r[branch] - ends[i, 0], pull[branch]).sum((0, 1)))


def test_actuators_and_generalised_forces(tree):
    _, rate, moment = jax.device_get(state(Spatial, 5))
    carries = np.array([[float(p == i + 1) for p in tree.parent] for i in range(tree.size)])
    force = Spatial(*(m - carries @ m for m in moment[:2]), moment.l)
    seen = jax.jit(lambda force, rate: (dynamics.joint_moments(tree, force), dynamics.relative_rates(tree, rate)))
    found, relative = seen(force, rate)
    near(flat(found), flat(moment))
    work = sum(np.vdot(m, r) for m, r in zip(moment, relative, strict=True))
    near(work, sum(np.vdot(f, r) for f, r in zip(force, rate, strict=True)))
    near(force.phi[1], moment.phi[1] - moment.phi[3])


@pytest.mark.parametrize("kind", [Planar, Spatial])
def test_recurrence_attaches_links(kind):
    chain = Chain.from_links(table(TREE, MIXED))
    first = Chain(TREE[:1], MIXED[:1], chain.masses[:1], chain.fractions[:1])

    @jax.jit
    def both(q):
        """The matrices of all links, attached one after the other to the first, and as a whole."""
        attached = dynamics.matrices(first, kind(*(x[:1] for x in q)))
        for n in range(2, 7):
            longer = Chain(TREE[:n], MIXED[:n], chain.masses[:n], chain.fractions[:n])
            attached = formulations.attach(attached, longer, kind(*(x[:n] for x in q)))
        return attached, dynamics.matrices(chain, q), formulations.increment(chain, 6)[0]

    attached, closed, dw = both(state(kind, 6)[0])
    jax.tree.map(near, attached, closed)
    assert np.linalg.matrix_rank(dw) == 2


def test_increment_leaves_rows_of_other_branches_alone():
    chain = Chain.from_links(table((0, 1, 1), (1, 1, -1)))
    dw, drho = formulations.increment(chain, 3)
    assert not np.asarray(dw)[1].any() and not np.asarray(drho)[1]


@pytest.mark.parametrize("kind", [Planar, Spatial])
def test_flipping_a_sign_and_its_direction_changes_nothing(tree, kind):
    q, rate, acceleration = state(kind, 5)
    i = 2
    sign = tuple(-s if k == i else s for k, s in enumerate(tree.sign))
    other = Chain(tree.parent, sign, tree.masses, tree.fractions)
    flipped = [q._replace(phi=q.phi.at[i].add(jnp.pi)), rate, acceleration]
    if kind is Spatial:
        flipped = [x._replace(psi=x.psi.at[i].multiply(-1.0)) for x in flipped]
    before, after = inverse_dynamics(tree, q, rate, acceleration), inverse_dynamics(other, *flipped)
    if kind is Spatial:
        after = after._replace(psi=after.psi.at[i].multiply(-1.0))
    near(flat(before), flat(after))
    joints = jax.jit(
        lambda q, turned: [vectors.joints(c, vectors.link_vectors(x)) for c, x in ((tree, q), (other, turned))]
    )
    near(*joints(q, flipped[0]))


def test_renumbering_permutes_and_a_massless_leaf_is_has_no_effect(tree):
    order = np.array([4, 0, 2, 1, 3])  # parents still first
    new = {int(old) + 1: k + 1 for k, old in enumerate(order)} | {0: 0}
    renumbered = Chain(
        tuple(new[tree.parent[i]] for i in order),
        tuple(tree.sign[i] for i in order),
        tree.masses[order],
        tree.fractions[order],
    )
    states = state(Spatial, 5)
    permuted = [Spatial(*(x[order] for x in s)) for s in states]
    force, other = inverse_dynamics(tree, *states), inverse_dynamics(renumbered, *permuted)
    near(flat(other), np.concatenate([np.asarray(x)[order] for x in force]))
    masses, fractions = (
        np.concatenate([x, [row]]) for x, row in ((tree.masses, [0.0] * 3), (tree.fractions, [0.0, 0.5, 1.0]))
    )
    longer = Chain((*tree.parent, 2), (*tree.sign, 1), masses, fractions)
    extended = [Spatial(*(jnp.append(x, 0.7) for x in s)) for s in states]
    with_leaf = inverse_dynamics(longer, *extended)
    near(flat(Spatial(*(x[:5] for x in with_leaf))), flat(force))
    near([x[5] for x in with_leaf], np.zeros(3))


def test_any_number_of_masses_per_link():
    one = RodLink(0, (1.0, 2.0), (0.5, 1.0))
    split = RodLink(0, (0.4, 0.6, 1.5, 0.5), (0.5, 0.5, 1.0, 1.0))
    states = state(Planar, 1)
    near(*(flat(inverse_dynamics(Chain.from_links([x]), *states)) for x in (one, split)))
    masses, fractions = mass_table([one, split])
    assert masses.shape == fractions.shape == (2, 4)


def test_equations_as_text_give_the_same_numbers(tree):
    small = Chain.from_links(table((0, 1, 1), (1, -1, 1)))
    for kind, dimension in ((Planar, 2), (Spatial, 3)):
        written = small.equations(dimension)
        states = state(kind, 3)
        named = {"d" * k + c: x for k, s in enumerate(states) for c, x in s._asdict().items()}
        named |= small.moments._asdict()
        values = {f"{name}_{i + 1}": float(x[i]) for name, x in named.items() for i in range(3)}
        values["g"] = dynamics.G
        numbers = [float(x.subs({s: values[s.name] for s in x.free_symbols})) for x in written.left]
        near(numbers, flat(inverse_dynamics(small, *states)))
        assert len(str(written).splitlines()) == 3 * dimension
        assert r"\ddot{\varphi}_{1}" in written.latex()
    assert str(written.right[0]) == "Mphi_1 - Mphi_2 - Mphi_3"
    with pytest.raises(ValueError, match="dimension 2 or 3"):
        small.equations(4)


def test_vertical_links_raise_or_are_left_out(tree):
    q, rate, acceleration = state(Spatial, 5)
    q = q._replace(psi=q.psi.at[2].set(jnp.pi / 2))
    acceleration = acceleration._replace(phi=acceleration.phi.at[2].set(0.0))
    force = inverse_dynamics(tree, q, rate, acceleration)
    assert abs(float(force.phi[2])) < 1e-12
    with pytest.raises(ValueError, match=r"links \[3\] are vertical.*link vectors"):
        formulations.forward_dynamics(tree, q, rate, force)

    @jax.jit
    def forward(q, rate, force):
        whole, _ = formulations.forward_dynamics(tree, q, rate, force)
        return whole, formulations.forward_dynamics(tree, q, rate, force, drop_vertical=True)

    whole, (found, vertical) = forward(q, rate, force)
    assert np.isnan(flat(whole)).all()
    assert list(np.flatnonzero(vertical)) == [2]
    near(flat(found), flat(acceleration), SOLVE)


@pytest.mark.parametrize(
    ("links", "message"),
    [
        ([RodLink(1, (1.0,), (1.0,))], "link 1 has parent 1.*a cycle"),
        (
            [RodLink(0, (1.0,), (1.0,)), RodLink(3, (1.0,), (1.0,)), RodLink(2, (1.0,), (1.0,))],
            "link 2 has parent 3.*cycle",
        ),
        ([RodLink(0, (1.0,), (1.0,)), RodLink(5, (1.0,), (1.0,))], "link 2 has parent 5.*0 .ground. to 1"),
        ([RodLink(0, (1.0,), (1.0,), 2)], "sign 2"),
        ([RodLink(0, (1.0,), (1.0, 0.5))], "1 masses and 2 fractions"),
        ([RodLink(0, (-1.0,), (1.0,))], "link 1"),
        ([RodLink(0, (1.0,), (1.0,)), RodLink(1, (2.0,), (0.0,))], "link 2 is a massless leaf.*singular"),
        (
            [RodLink(0, (1.0,), (1.0,)), RodLink(1, (np.nan,), (1.0,))],
            "link 2 has .* a mass or fraction that is not finite",
        ),
        ([RodLink(0, (0.0,), (1.0,)), RodLink(1, (2.0,), (1.0,))], "moves without moving any mass"),
    ],
)
def test_impossible_tables_raise(links, message):
    with pytest.raises(ValueError, match=message):
        Chain.from_links(links)
