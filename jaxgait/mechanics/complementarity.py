"""Unilateral contact with Coulomb friction as a complementarity problem in impulses.

Contacts i = 1..n give 2n rows, normal and tangential in turn: (N1, T1, N2, T2, ...). With the impulses `P` (N s) and
the velocities `v` (m/s; after an impact: post + restitution * pre) the problem is

    v = G P + b,     0 <= v_N  complementary to  P_N >= 0,     -P_T in friction * P_N * Sgn(v_T)      for every contact.

`enumerated` tries every combination of the modes {separate, stick, slip forward, slip backward}: exact, without
branches, suitable for `jax.vmap`, 4^n small solves (n <= 3). `projected` sweeps through any number of contacts
(projected Gauss-Seidel). `contact_impulses` chooses between them. Matrices are those of `linalg`.

Of several solutions (possible with friction, even for one contact once ``G_NN < friction |G_NT|``, Painleve's paradox),
the first in the order separate, stick, slip forward, slip backward is taken.

Derivatives are those of the active modes. Where the modes change, the solution has a kink (stick to slip) or a jump (an
impact), and its derivative is that of the branch taken.

References: Glocker and Studer, Multibody Syst. Dyn. 13 (2005) 447; Jean, Comput. Methods Appl. Mech. Eng. 177 (1999)
235.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox.internal as eqxi
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Int

from jaxgait.mechanics import linalg
from jaxgait.mechanics.linalg import Entry, Matrix, Vector
from jaxgait.precision import float64_default

MAX_ENUMERATED = 3
"""Largest number of contacts for which the 4^n combinations are enumerated."""
_SEPARATE, _STICK, _FORWARD, _BACKWARD = range(4)
_SWEEPS = (
    "jax.grad, jax.vjp and jax.jacrev do not go through the sweeps of complementarity.projected: use jax.jacfwd or "
    "jax.jvp, or complementarity.enumerated (exact; for few contacts)"
)


class ContactSolution(NamedTuple):
    """Impulses of all contacts."""

    impulses: tuple[Array, ...]
    """(N1, T1, N2, T2, ...) in N s."""
    violation: Float[Array, ""]
    """Worst violation of the contact law in m/s (impulses weighted by the diagonal of G); 0 if exact."""
    mode: Int[Array, ""]
    """Combination of modes as a number in base 4, first contact first; -1 from `projected`.

    The digits, in order of precedence: 0 separate, 1 stick, 2 slip forward (v_T > 0, the impulse points backward),
    3 slip backward.
    """


@float64_default
def contact_impulses(
    G: Matrix, b: Vector, friction: Sequence[Entry], closed: Sequence[Bool[ArrayLike, ""]]
) -> ContactSolution:
    """Impulses that satisfy the contact law: by enumeration for up to 3 contacts, by projection beyond.

    Args:
        G: 2n by 2n matrix in 1/kg; it need not be symmetric.
        b: 2n velocities in m/s without any impulse.
        friction: n friction coefficients.
        closed: n flags; an open contact carries no impulse.

    Examples:
        >>> from jaxgait.mechanics.complementarity import contact_impulses
        >>> G, b = [[1.0, 0.0], [0.0, 1.0]], [-2.0, 0.5]  # one mass of 1 kg falls at 2 m/s and slides at 0.5 m/s
        >>> [round(float(x), 6) for x in contact_impulses(G, b, [0.6], [True]).impulses]  # N s: it stops and sticks
        [2.0, -0.5]
    """
    method = enumerated if len(friction) <= MAX_ENUMERATED else projected
    return method(G, b, friction, closed)


@float64_default
def enumerated(
    G: Matrix, b: Vector, friction: Sequence[Entry], closed: Sequence[Bool[ArrayLike, ""]]
) -> ContactSolution:
    """`contact_impulses` by trying all 4^n combinations of modes: impulses in N s, velocities in m/s.

    Examples:
        >>> from jaxgait.mechanics.complementarity import enumerated
        >>> G, b = [[1.0, 0.0], [0.0, 1.0]], [-2.0, 5.0]  # 1 kg falls at 2 m/s and slides at 5 m/s: too fast to stick
        >>> found = enumerated(G, b, [0.6], [True])
        >>> print([round(float(P), 6) for P in found.impulses], int(found.mode))  # N s: it slips forward
        [2.0, -1.2] 2
    """
    best: ContactSolution | None = None
    for number, modes in enumerate(itertools.product(range(4), repeat=len(friction))):
        impulses = _impulses(G, b, friction, modes)
        violation = _violation(G, b, friction, closed, modes, impulses)
        trial = ContactSolution(impulses, violation, jnp.asarray(number))
        best = trial if best is None else _better(trial, best)
    assert best is not None
    return best


def _better(trial: ContactSolution, best: ContactSolution) -> ContactSolution:
    """The later trial if it is strictly better (NaN is not)."""
    return jax.tree.map(lambda new, old: jnp.where(trial.violation < best.violation, new, old), trial, best)


def _impulses(G: Matrix, b: Vector, friction: Sequence[Entry], modes: Sequence[int]) -> tuple[Array, ...]:
    """Impulses in given modes: v_N = 0 unless separate, v_T = 0 if stuck, P_T = -+ friction P_N if slipping."""
    unknown = [2 * i + k for i, m in enumerate(modes) for k in range({_SEPARATE: 0, _STICK: 2}.get(m, 1))]
    slipping = [(i, m) for i, m in enumerate(modes) if m in (_FORWARD, _BACKWARD)]
    ratio = {2 * i: -friction[i] if m == _FORWARD else friction[i] for i, m in slipping}  # P_T / P_N
    matrix = [[G[r][c] + ratio[c] * G[r][c + 1] if c in ratio else G[r][c] for c in unknown] for r in unknown]
    solved = linalg.solve(matrix, [-b[r] for r in unknown], pivoting=False) if unknown else []
    impulses = [jnp.zeros_like(jnp.asarray(x)) for x in b]
    for row, value in zip(unknown, solved, strict=True):
        impulses[row] = value
        if row in ratio:
            impulses[row + 1] = ratio[row] * value
    return tuple(impulses)


def _violation(
    G: Matrix,
    b: Vector,
    friction: Sequence[Entry],
    closed: Sequence[Bool[ArrayLike, ""]],
    modes: Sequence[int],
    impulses: Vector,
) -> Array:
    worst = jnp.asarray(0.0)
    for i, mode in enumerate(modes):
        n, t = 2 * i, 2 * i + 1
        if mode == _SEPARATE:
            lack = jnp.where(closed[i], -_velocity(G, b, impulses, n), 0.0)
        else:
            lack = -impulses[n] * G[n][n]
            if mode == _STICK:
                lack = jnp.maximum(lack, (jnp.abs(impulses[t]) - friction[i] * impulses[n]) * G[t][t])
            else:
                sign = 1.0 if mode == _FORWARD else -1.0
                lack = jnp.maximum(lack, -sign * _velocity(G, b, impulses, t))
            lack = jnp.where(closed[i], lack, jnp.inf)
        worst = jnp.maximum(worst, lack)
    return worst


def _velocity(G: Matrix, b: Vector, impulses: Vector, row: int) -> Entry:
    return linalg.dot(G[row], impulses) + b[row]


@float64_default
def projected(
    G: Matrix,
    b: Vector,
    friction: Sequence[Entry],
    closed: Sequence[Bool[ArrayLike, ""]],
    *,
    tolerance: float = 1e-12,
    max_sweeps: int = 2000,
) -> ContactSolution:
    """`contact_impulses` by projected Gauss-Seidel sweeps, for a `G` with a positive diagonal.

    It ends when a sweep changes the velocities by at most `tolerance` in m/s or by rounding, or after `max_sweeps`. It
    has forward derivatives only.

    Raises:
        RuntimeError: for derivatives in reverse mode; it names those that work.

    Examples:
        >>> from jaxgait.mechanics.complementarity import projected
        >>> G, b = [[1.0, 0.0], [0.0, 1.0]], [-2.0, 5.0]  # 1 kg falls at 2 m/s and slides at 5 m/s
        >>> found = projected(G, b, [0.6], [True])
        >>> print([round(float(P), 6) for P in found.impulses], float(found.violation))
        [2.0, -1.2] 0.0
    """
    matrix = jnp.stack([jnp.stack([jnp.asarray(g) for g in row]) for row in G])
    offset, mu, on = (jnp.stack([jnp.asarray(z) for z in v]) for v in (b, friction, closed))
    diagonal = jnp.diagonal(matrix)
    least = jnp.maximum(tolerance, 8.0 * float(jnp.finfo(offset.dtype).eps) * jnp.max(jnp.abs(offset)))

    def corrected(P: Array, row: Any) -> Array:
        """Impulses of rows that would bring their velocities to zero."""
        return P[row] - (matrix[row] @ P + offset[row]) / diagonal[row]

    def visit(i: Int[Array, ""], P: Array) -> Array:
        n, t = 2 * i, 2 * i + 1
        normal = jnp.where(on[i], jnp.maximum(corrected(P, n), 0.0), 0.0)
        P = P.at[n].set(normal)
        limit = mu[i] * normal
        return P.at[t].set(jnp.clip(corrected(P, t), -limit, limit))

    def violation(P: Array) -> Array:
        normal, tangent = slice(0, None, 2), slice(1, None, 2)
        limit = mu * P[normal]
        pushing = jnp.where(on, jnp.maximum(corrected(P, normal), 0.0), 0.0)
        rubbing = jnp.clip(corrected(P, tangent), -limit, limit)
        return jnp.max(jnp.abs(jnp.stack([pushing, rubbing], axis=1).ravel() - P) * diagonal)

    def sweep(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        count, P, _ = carry
        new = jax.lax.fori_loop(0, mu.shape[0], visit, P)
        return count + 1, new, jnp.max(jnp.abs(new - P) * diagonal)

    def unfinished(carry: tuple[Array, Array, Array]) -> Bool[Array, ""]:
        return (carry[0] < max_sweeps) & (carry[2] > least)

    start = (jnp.asarray(0), jnp.zeros_like(offset), jnp.asarray(jnp.inf, offset.dtype))
    P = jax.lax.while_loop(unfinished, sweep, start)[1]
    # JAX's own message is about while loops.
    return eqxi.nondifferentiable_backward(ContactSolution(tuple(P), violation(P), jnp.asarray(-1)), msg=_SWEEPS)
