"""Families of periodic gaits: many branches at once, for return maps that are expensive to evaluate.

`continuation` walks one branch, point by point. Where one stride costs tens of thousands of stiff steps (the knee), it
pays to follow many branches side by side: the members of a family (say, dampers of different c/k) share one compiled
evaluation of the return map with its exact derivatives, always of the same number of lanes.

- `gaits` solves for the orbits of any members by Newton's method (multiple shooting: an orbit of m strides is m points,
  each of which is mapped to the next, so that no evaluation is longer than one stride);
- `follow` goes along a list of parameter values, with tangent prediction, halving the step where Newton fails;
- `crossings` locates where a branch loses or regains its stability, by safeguarded secants on a test function.

Derivatives with respect to point and parameter are exact for the steps taken; but an adaptive solver may take other
steps at a neighbouring point, so that the map itself is smooth only to the solver's tolerance. Hence `tolerance`, and
secants (which need the sign of the test function only) instead of its derivative.

Reference: Kuznetsov, Elements of Applied Bifurcation Theory, chapter 10.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from tqdm import tqdm

from jaxgait.analysis.floquet import BIFURCATIONS, Bifurcation, critical, floquet, test_values
from jaxgait.model import Scalar
from jaxgait.native import native
from jaxgait.precision import float64_default
from jaxgait.solve.periodic import linearised

__all__ = ["Crossing", "Family", "Gaits", "crossings", "follow", "gaits", "strides"]

HALVINGS = 3
"""How often `follow` halves a step before it gives a branch up."""
SECANTS = 10
"""Most steps of `crossings`."""


class Family(eqx.Module):
    """Members whose gaits are sought, over one parameter."""

    return_map: Any = eqx.field(static=True)
    """A `jaxgait.solve.periodic.ReturnMap`."""
    model: Any
    """What the members share."""
    vary: Callable[[Any, Any, Scalar], Any] = eqx.field(static=True)
    """The model of one member at one value of the parameter, from (model, member, value)."""
    members: Any
    """What distinguishes them: a pytree whose leaves have a leading axis."""
    tolerance: float = eqx.field(static=True, default=1e-9)
    """Residual at which a gait is found but for one last step of Newton's method, in the units of the point."""
    corrections: int = eqx.field(static=True, default=8)
    """Most Newton steps."""
    lanes: int = eqx.field(static=True, default=16)
    """How many evaluations run side by side; one program of this width is compiled."""


@float64_default
class Gaits(NamedTuple):
    """Solved gaits, one per entry of the leading axes; NaN where none was found."""

    parameter: Float[np.ndarray, ...]
    z: Float[np.ndarray, "... order n"]
    """The points of the orbit in turn."""
    jacobian: Float[np.ndarray, "... n n"]
    """Of the return map applied `order` times, at the first point."""
    rate: Float[np.ndarray, "... order n"]
    """Derivative of the points with respect to the parameter."""
    residual: Float[np.ndarray, ...]
    """Largest distance of a mapped point from the next one before the last step, also where it is too large; infinity
    where the motion does not return; NaN beyond the loss of a followed branch."""

    @property
    def multipliers(self) -> np.ndarray:
        """Floquet multipliers, the largest first."""
        return floquet(self.jacobian).multipliers


class Crossing(NamedTuple):
    """Where a branch gains or loses stability."""

    kind: Bifurcation
    member: int
    parameter: float
    width: float
    """Distance to the nearest gait on the other side; the place is known better than that where nothing jumps."""
    z: Float[np.ndarray, "order n"]
    multipliers: np.ndarray
    distance: float
    """From the multiplier that crosses to the unit circle: not small if it jumps across (a grazing contact)."""


@eqx.filter_jit
@native
def _lanes(family: Family, members: Any, p: Array, z: Array) -> tuple[Array, Array, Array]:
    """The next points, and their derivatives with respect to the points and to the parameter."""

    def derived(member: Any, x: Array) -> tuple[Array, Array]:
        return linearised(lambda _, x: family.return_map(family.vary(family.model, member, x[0]), x[1:]), None, x)

    value, slope = jax.vmap(derived)(members, jnp.concatenate([p[:, None], z], axis=1))
    return value, slope[:, :, 1:], slope[:, :, 0]


@float64_default
def strides(family: Family, who: np.ndarray, p: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, ...]:
    """One stride from every point of some orbits, in batches of `Family.lanes`.

    Args:
        family: return map and members.
        who: which member each orbit belongs to, (b,).
        p: value of the parameter for each, (b,).
        z: their points, (b, order, n).

    Returns:
        The next points (b, order, n), and their derivatives with respect to the points (b, order, n, n) and to the
        parameter (b, order, n).
    """
    count, order, n = z.shape
    who, p, z = np.repeat(who, order), np.repeat(p, order), z.reshape(count * order, n)
    parts = []
    for start in range(0, len(who), family.lanes):
        lane = np.minimum(np.arange(start, start + family.lanes), len(who) - 1)  # the last one fills up
        members = jax.tree.map(lambda leaf, lane=lane: jnp.asarray(leaf)[who[lane]], family.members)
        parts.append([np.asarray(a) for a in _lanes(family, members, jnp.asarray(p[lane]), jnp.asarray(z[lane]))])
    whole = (np.concatenate(part)[: len(who)] for part in zip(*parts, strict=True))
    return tuple(a.reshape(count, order, *a.shape[1:]) for a in whole)


@float64_default
def gaits(
    family: Family, who: Int[np.ndarray, " b"], parameter: np.ndarray, z: Float[np.ndarray, "b order n"]
) -> Gaits:
    """Solves for the gaits of some members by Newton's method.

    Args:
        family: return map and members.
        who: which member each gait belongs to.
        parameter: its value for each gait.
        z: first guesses; `order` points each.
    """
    who, p, z = np.asarray(who), np.broadcast_to(parameter, np.shape(who)).astype(float), np.array(z, dtype=float)
    count, order, n = z.shape
    found = Gaits(p, z, np.full((count, n, n), np.nan), np.full_like(z, np.nan), np.full(count, np.inf))
    pending = np.arange(count)
    for _ in range(family.corrections + 1):
        value, slope, pull = strides(family, who[pending], p[pending], z[pending])
        off = value - np.roll(z[pending], -1, axis=1)
        whole = np.isfinite(off).all(axis=(1, 2)) & np.isfinite(slope).all(axis=(1, 2, 3))
        pending, off, slope, pull = pending[whole], off[whole], slope[whole], pull[whole]
        found.residual[pending] = np.abs(off).max(axis=(1, 2), initial=0.0)
        inverse = np.linalg.inv(_cyclic(slope))
        change, rate = (-(inverse @ a.reshape(-1, order * n, 1)).reshape(-1, order, n) for a in (off, pull))
        found.jacobian[pending], found.rate[pending] = _round(slope), rate
        z[pending] += change  # the last step, too: the point is better than its residual was
        pending = pending[found.residual[pending] > family.tolerance]
        if not pending.size:
            break
    lost = ~(found.residual <= family.tolerance)
    for field in (found.z, found.jacobian, found.rate):
        field[lost] = np.nan
    return found


def _cyclic(slope: np.ndarray) -> np.ndarray:
    """Derivative of all distances (mapped point minus next point) of orbits with respect to all their points."""
    count, order, n, _ = slope.shape
    matrix = np.zeros((count, order, n, order, n))
    for i in range(order):
        matrix[:, i, :, i, :] += slope[:, i]
        matrix[:, i, :, (i + 1) % order, :] -= np.eye(n)
    return matrix.reshape(count, order * n, order * n)


def _round(slope: np.ndarray) -> np.ndarray:
    """Derivative once around the orbits: the product over their points."""
    product = slope[:, 0]
    for i in range(1, slope.shape[1]):
        product = slope[:, i] @ product
    return product


@float64_default
def follow(
    family: Family,
    who: Int[np.ndarray, " b"],
    values: Float[np.ndarray, " points"] | Float[np.ndarray, "points b"],
    z0: Float[np.ndarray, "b order n"],
    *,
    progress: bool = False,
) -> Gaits:
    """Follows the branches of some members along values of the parameter; a lost branch is NaN from there on.

    Args:
        family: return map and members.
        who: the members.
        values: where gaits are wanted, in the order in which they are gone through; the same for all, or one column
            per member.
        z0: first guesses at the first value.
        progress: show a progress bar.

    Returns:
        The gaits, with leading axes (points, b).
    """
    who = np.asarray(who)
    rows = np.broadcast_to(np.reshape(values, (len(values), -1)), (len(values), len(who)))
    steps = [gaits(family, who, rows[0], z0)]
    for row in tqdm(rows[1:], desc="branches", unit="value", disable=not progress):
        steps.append(_advance(family, who, steps[-1], row, HALVINGS))
    return Gaits(*(np.stack(field) for field in zip(*steps, strict=True)))


def _advance(family: Family, who: np.ndarray, last: Gaits, row: np.ndarray, halvings: int) -> Gaits:
    """The next gait of every branch, by way of intermediate ones where Newton does not reach it directly."""
    going = np.flatnonzero(np.isfinite(last.z).all(axis=(1, 2)))
    after = Gaits(row.astype(float), *(np.full_like(field, np.nan) for field in last[1:]))
    if not going.size:
        return after
    here = Gaits(*(field[going] for field in last))
    guess = here.z + here.rate * (row[going] - here.parameter)[:, None, None]
    _put(after, going, gaits(family, who[going], row[going], guess))
    missed = going[~np.isfinite(after.z[going]).all(axis=(1, 2))]
    if missed.size and halvings:
        middle = 0.5 * (last.parameter[missed] + row[missed])
        here = _advance(family, who[missed], Gaits(*(field[missed] for field in last)), middle, halvings - 1)
        _put(after, missed, _advance(family, who[missed], here, row[missed], halvings - 1))
    return after


def _put(whole: Gaits, where: np.ndarray, part: Gaits) -> None:
    for field, new in zip(whole, part, strict=True):
        field[where] = new


@float64_default
def crossings(
    family: Family, who: Int[np.ndarray, " b"], branches: Gaits, *, width: float, progress: bool = False
) -> list[Crossing]:
    """Locates every change of stability between neighbouring gaits of followed branches.

    Args:
        family: return map and members.
        who: the members, as given to `follow`.
        branches: result of `follow`.
        width: distance in the parameter at which a place is known well enough.
        progress: show a progress bar.
    """
    tests = test_values(branches.multipliers)
    at = lambda *place: Gaits(*(field[place] for field in branches))
    brackets = [
        _Bracket(int(who[lane]), int(kind), at(point, lane), at(point + 1, lane))
        for point, lane, kind in zip(*np.nonzero(np.sign(tests[:-1]) * np.sign(tests[1:]) < 0), strict=True)
    ]
    for count in tqdm(range(SECANTS), desc="bifurcations", unit="secant", disable=not progress):
        wide = [b for b in brackets if not b.done]
        if not wide:
            break
        tried = np.array([b.between(middle=count % 3 == 2) for b in wide])
        guesses = np.stack([b.guess(p) for b, p in zip(wide, tried, strict=True)])
        new = gaits(family, np.array([b.member for b in wide]), tried, guesses)
        for i, b in enumerate(wide):
            b.narrow(Gaits(*(field[i] for field in new)), width)
    return [c for c in (b.crossing() for b in brackets) if c is not None]


@float64_default
@dataclass
class _Bracket:
    """Two gaits of one branch between which a test function changes sign."""

    member: int
    kind: int
    left: Gaits
    right: Gaits
    done: bool = False

    def __post_init__(self) -> None:
        self.weights = [self._test(self.left), self._test(self.right)]

    def _test(self, one: Gaits) -> float:
        return float(test_values(one.multipliers)[self.kind])

    def between(self, middle: bool) -> float:
        """Where to look next: the secant's zero (Illinois), or the middle, so that a jump is located as well."""
        a, b = float(self.left.parameter), float(self.right.parameter)
        share = 0.5 if middle else self.weights[0] / (self.weights[0] - self.weights[1])
        return a + share * (b - a)

    def guess(self, p: float) -> np.ndarray:
        """The gait there, roughly."""
        a, b = self.left.parameter, self.right.parameter
        return self.left.z + (p - a) / (b - a) * (self.right.z - self.left.z)

    def narrow(self, new: Gaits, width: float) -> None:
        """Replaces one end; stops at a value without a gait."""
        g = self._test(new)
        ends = (float(self.left.parameter), float(self.right.parameter))
        nearest = min(abs(float(new.parameter) - end) for end in ends)
        self.done = not np.isfinite(g) or nearest <= width
        if not np.isfinite(g):
            return
        if np.sign(g) == np.sign(self.weights[0]):
            self.left, self.weights = new, [g, 0.5 * self.weights[1]]
        else:
            self.right, self.weights = new, [0.5 * self.weights[0], g]

    def crossing(self) -> Crossing | None:
        """The end that is nearer to the zero; None for a neutral saddle (two real multipliers, product 1)."""
        near, far = sorted((self.left, self.right), key=lambda one: abs(self._test(one)))
        multipliers, kind = near.multipliers, BIFURCATIONS[self.kind]
        goal = {"fold": 1.0, "period doubling": -1.0}.get(kind)
        distance = np.abs(np.abs(multipliers) - 1.0) if goal is None else np.abs(multipliers - goal)
        nearest = int(np.argmin(distance))
        if goal is None and critical(multipliers[nearest : nearest + 1]) != "Neimark-Sacker":
            return None
        p, width = float(near.parameter), abs(float(near.parameter - far.parameter))
        return Crossing(kind, self.member, p, width, near.z, multipliers, float(distance[nearest]))
