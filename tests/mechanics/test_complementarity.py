"""Contact impulses: enumeration against projection, against the law itself, and known single contacts."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.mechanics.complementarity import contact_impulses, enumerated, projected

EXACT = 1e-10


def problems(contacts, count, seed=0):
    """Random well-posed problems (G symmetric positive definite and dominant, so that the solution is unique)."""
    rng = np.random.default_rng(seed)
    n = 2 * contacts
    A = rng.normal(size=(count, n, n))
    G = A @ A.transpose(0, 2, 1) * 0.1 + 2.0 * np.eye(n)
    return jnp.array(G), jnp.array(rng.normal(size=(count, n))), jnp.array(rng.uniform(0.05, 0.5, (count, contacts)))


@partial(jax.jit, static_argnums=0)
def solve(method, G, b, mu, closed):
    return jax.vmap(lambda G, b, mu, on: method(tuple(map(tuple, G)), tuple(b), tuple(mu), tuple(on)))(G, b, mu, closed)


@pytest.mark.parametrize("contacts", [1, 2, pytest.param(3, marks=pytest.mark.slow)])  # 3: 36 s to compile
def test_enumeration_and_projection_agree_and_obey_the_law(contacts):
    G, b, mu = problems(contacts, 200)
    closed = jnp.ones(mu.shape, dtype=bool)
    exact = solve(enumerated, G, b, mu, closed)
    P = np.stack(exact.impulses, axis=1)
    np.testing.assert_allclose(P, np.stack(solve(projected, G, b, mu, closed).impulses, axis=1), atol=1e-9)
    v = np.einsum("bij,bj->bi", G, P) + b
    PN, PT, vN, vT = P[:, ::2], P[:, 1::2], v[:, ::2], v[:, 1::2]
    assert PN.min() >= 0 and vN.min() > -EXACT
    np.testing.assert_allclose(PN * vN, 0.0, atol=EXACT)
    assert (np.abs(PT) - mu * PN).max() < EXACT
    sliding = np.abs(vT) > EXACT
    np.testing.assert_allclose(PT[sliding], (-mu * PN * np.sign(vT))[sliding], atol=EXACT)
    assert len(np.unique(exact.mode)) >= 4 ** min(contacts, 2) - 1


def test_open_contacts_carry_nothing():
    G, b, mu = problems(2, 200)
    closed = jnp.tile(jnp.array([False, True]), (200, 1))
    for method in (enumerated, projected):
        solution = solve(method, G, -jnp.abs(b), mu, closed)
        np.testing.assert_array_equal(solution.impulses[0], 0.0)
        assert (solution.impulses[2] > 0).all()


def test_sweeps_that_end_early_show_how_the_law_is_violated():
    """After the first sweep the body would still sink at 0.9 m/s."""
    found = projected([[1.0, 0.9], [0.9, 1.0]], [-1.0, 1.0], [1.0], [True], max_sweeps=1)
    np.testing.assert_allclose(found.impulses, [1.0, -1.0])
    assert float(found.violation) == pytest.approx(0.9)


def test_without_contacts_there_are_no_impulses():
    assert contact_impulses([], [], [], []).impulses == ()


def test_ties_are_broken_in_a_fixed_order():
    """At rest in touch every mode gives zero: separate comes first."""
    G, zero = ((1.0, 0.0), (0.0, 1.0)), (jnp.asarray(0.0), jnp.asarray(0.0))
    assert int(enumerated(G, zero, (0.3,), (True,)).mode) == 0


def test_many_contacts_go_to_projection():
    G, b, mu = problems(4, 3)
    solution = solve(contact_impulses, G, b, mu, jnp.ones(mu.shape, dtype=bool))
    assert (solution.mode == -1).all() and float(solution.violation.max()) < 1e-11


@pytest.mark.slow
def test_reverse_mode_through_sweeps_names_what_works():
    def impulse(speed):
        return projected([[1.0, 0.0], [0.0, 1.0]], [-speed, 5.0], [0.6], [True]).impulses[0]

    np.testing.assert_allclose(jax.jacfwd(impulse)(2.0), 1.0)
    with pytest.raises(RuntimeError, match="projected: use"):
        jax.grad(impulse)(2.0)
