"""Nonsmooth mechanics by time stepping: contact, impact and friction as complementarity on midpoint steps.

One step of length dt from (q, u), everything evaluated at the midpoint q + dt/2 u:

    M (u' - u) = h dt + W^T P,        (W + dt What)(u' - u) + dt What u + (1 + e) W u  =  G P + b   complementary to P,
    q' = q + dt/2 (u + u')

with the contact rows W = [W_N; W_T], their time derivatives What, Newton's restitution e and impulses P from
`jaxgait.mechanics.complementarity`. Events are not located: impacts of any number are resolved inside the step, at
first order in dt. A mechanism takes part by telling its inertia, forces and contacts
(`jaxgait.kinds.NonsmoothModel`).

Derivatives (forward and reverse) of a march are those of the discrete steps with the contact modes they took. They are
exact as long as no mode changes; where a contact opens, closes or changes between stick and slip, the moment of that
change is quantised to dt and its shift has no derivative here. Use `jaxgait.solve.hybrid` for derivatives across
events.

Source: Duan, Wang and Wang, Chin. J. Theor. Appl. Mech. 43 (2011) 765, section 2 (with its misprints corrected).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxgait import checks
from jaxgait.kinds import Contact, NonsmoothModel
from jaxgait.mechanics.complementarity import ContactSolution, contact_impulses
from jaxgait.mechanics.linalg import Scalar, Vector, dot
from jaxgait.model import State
from jaxgait.precision import float64_default
from jaxgait.solve.checks import check_kind, check_model, check_state

__all__ = ["Step", "march", "step"]

T = TypeVar("T")


class Step(NamedTuple):
    """What happened in one step."""

    t: Float[Array, ""]
    """Time in s at its end."""
    y: Any
    """State at its end."""
    impulses: tuple[Array, ...]
    """(N1, T1, N2, T2, ...) in N s."""
    slips: tuple[Array, ...]
    """Tangential velocity in m/s of each contact, mean of before and after."""
    work: tuple[Array, ...]
    """Work in J of each impulse (order of `impulses`): what friction and impacts take from the mechanism."""
    violation: Float[Array, ""]
    """Residual of the contact law, see `ContactSolution`."""


@float64_default
def step(model: NonsmoothModel, t: Scalar, y: State, dt: Scalar) -> Step:
    """One midpoint step from state `y` at time `t`, both of them scalars in SI units."""
    n = len(y) // 2
    q, u = y[:n], y[n:]
    middle = type(y)(*(qi + 0.5 * dt * ui for qi, ui in zip(q, u, strict=True)), *u)
    kinetics, contacts = model.kinetics(middle), model.contacts(middle)
    rows = [row for c in contacts for row in (c.normal, c.tangent)]
    drift = [
        [r + dt * d for r, d in zip(row, rate, strict=True)]
        for c in contacts
        for row, rate in ((c.normal, c.normal_rate), (c.tangent, c.tangent_rate))
    ]
    responses = [kinetics.solve(row) for row in rows]
    free = [a * dt for a in kinetics.solve(kinetics.force)]
    solution = _solve_contacts(contacts, rows, drift, responses, free, u, dt)
    change = [f + sum(P * r[i] for P, r in zip(solution.impulses, responses, strict=True)) for i, f in enumerate(free)]
    u_new = [ui + d for ui, d in zip(u, change, strict=True)]
    q_new = [qi + 0.5 * dt * ui for qi, ui in zip(middle[:n], u_new, strict=True)]
    mean = [0.5 * (a + b) for a, b in zip(u, u_new, strict=True)]
    velocities = [dot(row, mean) for row in rows]
    work = tuple(P * v for P, v in zip(solution.impulses, velocities, strict=True))
    return Step(t + dt, type(y)(*q_new, *u_new), solution.impulses, tuple(velocities[1::2]), work, solution.violation)


def _solve_contacts(
    contacts: Sequence[Contact],
    rows: Sequence[Vector],
    drift: Sequence[Vector],
    responses: Sequence[Vector],
    free: Vector,
    u: Vector,
    dt: Scalar,
) -> ContactSolution:
    """The complementarity problem of one step."""
    G = [[dot(left, response) for response in responses] for left in drift]
    restitution = [e for c in contacts for e in (c.normal_restitution, c.tangent_restitution)]
    b = [
        dot(left, free) + dot(left, u) + e * dot(row, u)  # dt What u + (1 + e) W u
        for left, row, e in zip(drift, rows, restitution, strict=True)
    ]
    closed = [(c.gap <= 0.0) & jnp.asarray(c.enabled) for c in contacts]
    return contact_impulses(G, b, [c.friction for c in contacts], closed)


@float64_default
def march(
    model: NonsmoothModel,
    dt: Scalar,
    blocks: int,
    steps_per_block: int,
    summarise: Callable[[Step], T] | None = None,
    y0: State | None = None,
    t0: Scalar = 0.0,
) -> T:
    """Marches through `blocks * steps_per_block` steps and returns one summary per block.

    Pure: it may be jitted, vmapped over the model's leaves or initial states, and differentiated. Times are `t0` plus a
    number of steps times `dt`, not sums: in float32 the last of a million is as exact as the first.

    Args:
        model: the mechanism.
        dt: step in s.
        blocks: how many summaries.
        steps_per_block: steps that go into each.
        summarise: turns the `Step`s of a block (every leaf with a leading axis `steps_per_block`) into what is kept of
            it; by default the last step is kept.
        y0: state at `t0`; the model's own initial state if None.
        t0: time in s at the start.

    Returns:
        The summaries, every leaf with a leading axis `blocks`.

    Raises:
        TypeError: for a model without inertia and contacts.
        ValueError: for an impossible count, step, time or state (as far as they are not traced).
        jaxgait.parameters.ParameterError: for impossible parameters.
    """
    blocks, steps_per_block = checks.count("blocks", blocks), checks.count("steps_per_block", steps_per_block)
    check_kind(model, NonsmoothModel, "inertia and contacts, such as RigidWalker()")
    check_model(model)
    checks.number("dt", dt, "s", above=0.0)
    checks.number("t0", t0, "s")
    start = model.initial_state()
    if y0 is not None:
        check_state("y0", y0, start)
        start = jax.tree.map(lambda z: jnp.asarray(z, dtype=float), y0)
    reduce = summarise or (lambda steps: jax.tree.map(lambda leaf: leaf[-1], steps))

    def time(index: Array) -> Array:
        return t0 + jnp.asarray(index, dtype=float) * dt

    def one(carry: tuple[Array, State], _: None) -> tuple[tuple[Array, State], Step]:
        index, y = carry
        after = step(model, time(index), y, dt)._replace(t=time(index + 1))
        return (index + 1, after.y), after

    def block(carry: tuple[Array, State], _: None) -> tuple[tuple[Array, State], T]:
        carry, steps = jax.lax.scan(one, carry, length=steps_per_block)
        return carry, reduce(steps)

    return jax.lax.scan(block, (jnp.asarray(0), start), length=blocks)[1]
