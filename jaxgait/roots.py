"""Roots of equations: Newton's method inside a JAX program or over many members, and brackets around one number.

One rule improves an iterate (`improved`: value and exact Jacobian in one pass; steps that do not reduce the residual
are shortened). Two drivers apply it:

- `root`: inside a JAX program, by optimistix's loop; statuses, `jax.vmap`, derivatives of the root in both modes;
- `many`: over the members of an ensemble, outside JAX, for evaluations that are expensive or compiled separately
  (`jaxgait.native`); members retire when they have converged or failed.

`bisected` is optimistix's bisection. `Bracket` implements safeguarded secants (Illinois): 8 of them locate a root as
precisely as 50 halvings.

Derivatives are those of the implicit function, of any order (see `_implicit`):

    dx = -J(x, args)^-1 f_args(x, args) dargs.

First derivatives use the Jacobian of the search; its derivative is computed only for second ones. (optimistix's
`ImplicitAdjoint` raises an error for an entire batch if the Jacobian of one member is singular.)

Failures do not raise errors: see `Root.status`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optimistix
from jaxtyping import Array, Bool, Float, Int

from jaxgait.outcome import Outcome
from jaxgait.precision import float64_default

CONVERGED = int(Outcome.COMPLETED)

SHRINK, MIN_FRACTION = 0.4, 0.01
"""A step that does not reduce the residual is shortened by the first factor; a search ends below the second."""
MAX_HALVINGS = 60
"""Steps of `bisected`: enough to reach rounding in float64."""

Numbers: TypeAlias = Float[Any, "*members"]  # of NumPy or JAX
Points: TypeAlias = Float[Any, "*members n"]
Matrices: TypeAlias = Float[Any, "*members n n"]
Function: TypeAlias = Callable[[Float[Array, " n"], Any], Float[Array, " n"]]
"""Maps (point, args) to a residual with as many components as the point; NaN where it is not defined."""


class Root(NamedTuple):
    """The result of a search; under `vmap` and from `many` every field has a leading axis."""

    x: Points
    """The root, one Newton step beyond the point of `residual` and `jacobian`; NaN if not found."""
    jacobian: Matrices
    """Exact Jacobian at that point. Its own derivatives are not finite, as functions with events have no second ones;
    for those of a function that has them, differentiate `jax.jacfwd` of the function at the root."""
    residual: Numbers
    """Largest absolute component of the function at the best point."""
    steps: Int[Any, "*members"]
    """Evaluations of the function and its Jacobian."""
    status: Int[Any, "*members"]
    """`CONVERGED`; `Outcome.NOT_CONVERGED`: the residual stopped falling, or the maximum number of steps was reached;
    `Outcome.NONFINITE`: the function is not finite at the first guess."""
    singular: Bool[Any, "*members"] | bool = False
    """Whether the search ended because the Jacobian is singular to rounding."""


# --- Newton's method ----------------------------------------------------------------------------------------------


class Iterate(NamedTuple):
    """State of a search, of NumPy or JAX arrays with any leading axes."""

    x: Points
    """The best point so far."""
    jacobian: Matrices
    """Jacobian at `x`."""
    residual: Numbers
    """Residual at `x`; infinity until an evaluation is finite."""
    step: Points
    """Newton's step from `x`."""
    fraction: Numbers
    """The fraction of `step` to try next."""
    ended: Any
    """Whether the search has ended."""


class Rule(NamedTuple):
    """When a search has converged or failed."""

    tolerance: float
    """Largest absolute component of the residual at a root."""
    shorten: bool = True
    """Whether steps that do not reduce the residual are shortened; otherwise all steps are full ones."""
    max_step: float = float("inf")
    """A Newton step with a component larger than this ends the search (only if steps are not shortened)."""
    settled: float = 0.0
    """A Newton step whose components are all no larger than this ends the search as converged."""
    last: float = float("inf")
    """Largest component of the last step, from a point whose residual is small enough, relative to the larger of the
    point and 1; beyond it, the Jacobian is singular but for rounding errors, and there is no isolated root."""
    relative: float = float("inf")
    """Largest component of the next step, relative to the point, at which a small enough residual ends the search:
    a point of tiny numbers has small residuals everywhere."""
    noise: float = 0.0
    """What the function resolves, relative to the larger of a component and 1. A search that has ended, or reached its
    limit of steps, has converged if each component is below, as errors of a solver may keep it above the tolerance."""


def improved(it: Iterate, value: Points, jacobian: Matrices, rule: Rule) -> Iterate:
    """The search after an evaluation at ``x + fraction step``: the step is taken or shortened.

    Args:
        it: the search so far.
        value: value of the function at the point that was tried.
        jacobian: its Jacobian there.
        rule: when the search ends.
    """
    xp = it.x.__array_namespace__()
    tried = it.x + it.fraction[..., None] * it.step
    residual = xp.max(xp.abs(value), axis=-1)
    finite = xp.isfinite(residual) & xp.all(xp.isfinite(jacobian), axis=(-2, -1))
    taken = finite & ((residual < it.residual) | (not rule.shorten))
    newton = solved(xp, jacobian, -value)
    x, jacobian, best, step = (
        xp.where(xp.reshape(taken, taken.shape + (1,) * (new.ndim - taken.ndim)), new, old)
        for new, old in ((tried, it.x), (jacobian, it.jacobian), (residual, it.residual), (newton, it.step))
    )
    fraction = xp.where(taken, xp.ones_like(it.fraction), SHRINK * it.fraction)
    length = xp.max(xp.abs(step), axis=-1)
    lost = ~taken | ~(length <= rule.max_step) if not rule.shorten else (fraction < MIN_FRACTION) | ~xp.isfinite(best)
    near = best <= rule.tolerance
    if rule.relative < float("inf"):
        size = xp.max(xp.abs(x), axis=-1)
        zero = xp.finfo(x.dtype).eps * rule.tolerance  # (relative to a root at zero, no step would be small)
        far = length > rule.relative * xp.maximum(size, zero)
        near = near & ~(far & (length <= rule.last * xp.maximum(size, 1.0)))
    return Iterate(x, jacobian, best, step, fraction, lost | near | (length <= rule.settled))


def solved(xp: Any, matrix: Matrices, right: Points) -> Points:
    """Solution of linear equations; NaN where the matrix is singular to rounding, or not finite.

    Their units and those of the unknowns have no influence: columns are scaled, and how singular a matrix is, is
    measured by ``|A^-1| |A|`` (the condition number of Bauer and Skeel), which does not depend on the scales of rows.

    Args:
        xp: `numpy` or `jax.numpy`.
        matrix: any number of square matrices.
        right: a right-hand side for each.
    """
    size = xp.max(xp.abs(matrix), axis=-2, keepdims=True)
    size = xp.where(size > 0.0, size, 1.0)
    unit = xp.broadcast_to(xp.eye(matrix.shape[-1], dtype=matrix.dtype), matrix.shape)
    finite = xp.all(xp.isfinite(matrix), axis=(-2, -1))
    scaled = xp.where(finite[..., None, None], matrix / xp.where(xp.isfinite(size), size, 1.0), unit)
    if xp is np:  # its `solve` raises an error for all if one is exactly singular
        finite &= np.linalg.slogdet(scaled)[0] != 0.0
        scaled = np.where(finite[..., None, None], scaled, unit)
    found = xp.linalg.solve(scaled, xp.concatenate([right[..., None], unit], axis=-1))
    condition = xp.max(xp.sum(xp.abs(found[..., 1:]) @ xp.abs(scaled), axis=-1), axis=-1)
    regular = finite & (condition * xp.finfo(matrix.dtype).eps < 1.0)
    return xp.where(regular[..., None], found[..., 0] / size[..., 0, :], xp.nan)


def _begun(x: Points) -> Iterate:
    """A search before its first evaluation."""
    xp, n = x.__array_namespace__(), x.shape[-1]
    one = xp.ones(x.shape[:-1], dtype=x.dtype)
    matrix = xp.zeros((*x.shape, n), dtype=x.dtype)
    return Iterate(x, matrix, one * np.inf, xp.zeros_like(x), one, xp.zeros(one.shape, dtype=bool))


def _finished(it: Iterate, steps: Any, rule: Rule) -> Root:
    """The result of a search, after a last Newton step."""
    xp = it.x.__array_namespace__()
    length, size = xp.max(xp.abs(it.step), axis=-1), xp.maximum(xp.max(xp.abs(it.x), axis=-1), 1.0)
    near = it.ended & ((it.residual <= rule.tolerance) | (length <= rule.settled))
    if rule.noise > 0.0:
        value = (it.jacobian @ it.step[..., None])[..., 0]  # the negative one of the function at x
        near = near | xp.all(xp.abs(value) < rule.noise * xp.maximum(xp.abs(it.x), 1.0), axis=-1)
    near = near & xp.isfinite(it.residual)
    found = near & (length <= rule.last * size) & xp.isfinite(length)
    singular = xp.isfinite(it.residual) & (xp.isnan(length) | (near & ~found))
    status = xp.where(
        found, CONVERGED, xp.where(xp.isfinite(it.residual), int(Outcome.NOT_CONVERGED), int(Outcome.NONFINITE))
    )
    x = xp.where(found[..., None], it.x + it.step, xp.nan)
    return Root(x, xp.where(found[..., None, None], it.jacobian, xp.nan), it.residual, steps, status, singular)


class Newton(optimistix.AbstractRootFinder):
    """The rule of `improved` as a root finder of optimistix, for one point, (n,)."""

    rule: Rule = eqx.field(static=True)
    rtol: float = 0.0
    atol: float = 0.0
    norm: Callable[[Any], Array] = optimistix.max_norm

    def init(self, fn: Any, y: Array, *_: Any, **__: Any) -> Iterate:
        """The search before the first evaluation."""
        return _begun(y)

    def step(self, fn: Any, y: Array, args: Any, options: Any, state: Iterate, tags: Any) -> tuple[Array, Iterate, Any]:
        """One evaluation of value and Jacobian at `y`, and the next point to try."""

        def twice(x: Array) -> tuple[Array, tuple[Array, Any]]:
            value, aux = fn(x, args)
            return value, (value, aux)

        jacobian, (value, aux) = jax.jacfwd(twice, has_aux=True)(y)
        state = improved(state, value, jacobian, self.rule)
        return state.x + state.fraction * state.step, state, aux

    def terminate(self, fn: Any, y: Array, args: Any, options: Any, state: Iterate, tags: Any) -> tuple[Array, Any]:
        """Whether the search has ended; the state contains how."""
        return state.ended, optimistix.RESULTS.successful

    def postprocess(
        self, fn: Any, y: Array, aux: Any, args: Any, options: Any, state: Iterate, tags: Any, result: Any
    ) -> tuple[Array, Any, dict[str, Any]]:
        """Does nothing."""
        return y, aux, {}


@float64_default
def root(
    function: Function,
    x0: Float[Array, " n"],
    args: Any = None,
    *,
    tolerance: float,
    max_steps: int = 30,
    shorten: bool = True,
    last: float = float("inf"),
    relative: float = float("inf"),
) -> Root:
    """Solves ``function(x, args) = 0``; jittable, batchable by `jax.vmap`, differentiable in `args`.

    Derivatives are exact in both modes, second ones too, if the function has them.

    Args:
        function: of (x, args); values to differentiate by must come in `args`, not by closure.
        x0: first guess.
        args: any pytree.
        tolerance: largest component of the residual at which one more Newton step leads to the root.
        max_steps: largest number of evaluations of the function and its Jacobian.
        shorten: whether steps that do not reduce the residual are shortened.
        last: largest last step, see `Rule`.
        relative: largest step, relative to the point, at which a search may end, see `Rule`.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.roots import CONVERGED, root
        >>> found = root(lambda x, a: x**2 - a, jnp.array([1.0]), 2.0, tolerance=1e-6)
        >>> print(int(found.status) == CONVERGED, round(float(found.x[0]), 4))
        True 1.4142
    """
    rule, frozen = Rule(tolerance, shorten, last=last, relative=relative), jax.lax.stop_gradient(args)
    solution = optimistix.root_find(
        function, Newton(rule=rule), jax.lax.stop_gradient(x0), frozen, max_steps=max_steps, throw=False
    )
    at, steps = jax.lax.stop_gradient((solution.state, solution.stats["num_steps"]))
    found = _finished(at, steps, rule)
    here = jnp.where(found.status == CONVERGED, at.x, jax.lax.stop_gradient(x0))
    x = _implicit(here, at.jacobian, args, function=function) + at.step
    return found._replace(x=only_if(found.status == CONVERGED, x), jacobian=_without_slope(found.jacobian, x))


@jax.custom_jvp
def _without_slope(constant: Array, x: Points) -> Array:
    """The constant, with infinite derivatives with respect to what the point `x` depends on: unknown, and not zero.

    Where the constant is not used, they are zero, as they must be: JAX also propagates derivatives that are zero.
    """
    del x
    return constant


@_without_slope.defjvp
def _(primals: Any, tangents: Any) -> tuple[Array, Array]:
    constant, x = primals
    zero = 0.0 * jnp.sum(jnp.where(jnp.isfinite(constant), constant, 0.0))
    huge = jnp.finfo(constant.dtype).max + zero  # known only at run time: a compiler would make one factor of two
    infinite = lambda slope: slope * huge * huge
    return _without_slope(constant, x), infinite(jnp.broadcast_to(infinite(tangents[1]).sum(), constant.shape))


@eqx.filter_custom_jvp
def _implicit(x: Points, jacobian: Matrices, args: Any, *, function: Function) -> Points:
    """The constant `x`, with the derivatives of the root of `function` with respect to `args`, of any order.

    Args:
        x: the root; not differentiated.
        jacobian: Jacobian of the function there; not differentiated.
        args: second argument of the function.
        function: of (x, args).
    """
    del jacobian, args, function
    return x


@_implicit.def_jvp
def _(primals: Any, tangents: Any, *, function: Function) -> tuple[Points, Points]:
    x, matrix, args = primals
    x = _implicit(x, matrix, args, function=function)
    value = _slope(lambda args: function(x, args), (args,), (tangents[2],))
    return x, -jnp.linalg.solve(_jacobian(matrix, x, args, function=function), value)


@eqx.filter_custom_jvp
def _jacobian(matrix: Matrices, x: Points, args: Any, *, function: Function) -> Matrices:
    """The constant `matrix`, with the derivatives of the Jacobian of `function` at (x, args)."""
    del x, args, function
    return matrix


@_jacobian.def_jvp
def _(primals: Any, tangents: Any, *, function: Function) -> tuple[Matrices, Matrices]:
    matrix, x, args = primals
    return _jacobian(matrix, x, args, function=function), _slope(jax.jacfwd(function), (x, args), tangents[1:])


def _slope(function: Callable[..., Array], primals: Any, tangents: Any) -> Array:
    """The derivative of a function along tangents, or zero if it does not depend on what they change."""
    value, slope = eqx.filter_jvp(function, primals, tangents)
    return jnp.zeros_like(value) if slope is None else slope


@float64_default
def only_if(condition: Bool[Array, ""], x: Array) -> Array:
    """`x`, of any shape, or NaN; then its derivatives are NaN too, whereas those of `jnp.where` would be zero."""
    return x * jnp.where(condition, 1.0, jnp.nan)


Evaluate: TypeAlias = Callable[[Int[np.ndarray, " k"], Float[np.ndarray, "k n"]], tuple[np.ndarray, np.ndarray]]
"""Values (k, n) and Jacobians (k, n, n) of some members, by their numbers, at points (k, n)."""


def many(evaluate: Evaluate, x0: Float[np.ndarray, "members n"], rule: Rule, max_steps: int = 30) -> Root:
    """Solves for the roots of many members, in NumPy arrays; only active ones are evaluated.

    Args:
        evaluate: values and Jacobians of any number of members; it must return NaN at bad points, not raise an error.
        x0: first guesses.
        rule: when a search ends.
        max_steps: largest number of evaluations per member.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.roots import Rule, many
        >>> squares = np.array([4.0, 9.0])
        >>> def evaluate(members, x):  # x^2 - square and its Jacobian, for the active members
        ...     return x**2 - squares[members, None], 2.0 * x[:, :, None]
        >>> many(evaluate, np.ones((2, 1)), Rule(1e-9)).x[:, 0].round(6).tolist()
        [2.0, 3.0]
    """
    it = _begun(np.array(x0, dtype=float))
    steps = np.zeros(len(it.x), dtype=int)
    for _ in range(max_steps):
        going = np.flatnonzero(~it.ended)
        if not going.size:
            break
        now = Iterate(*(field[going] for field in it))
        value, jacobian = evaluate(going, now.x + now.fraction[:, None] * now.step)
        for field, new in zip(it, improved(now, np.asarray(value), np.asarray(jacobian), rule), strict=True):
            field[going] = new
        steps[going] += 1
    return _finished(it, steps, rule)


# --- one number between two ends ----------------------------------------------------------------------------------


@float64_default
def bisected(
    function: Callable[[Float[Array, ""], Any], Float[Array, ""]], lower: float, upper: float, args: Any = None
) -> Float[Array, ""]:
    """The zero of a function that is negative at one end and positive at the other, by halving (optimistix).

    Jittable, batchable, differentiable in `args` like `root`.

    Args:
        function: of (x, args), negative just above `lower` and positive just below `upper`; not evaluated there.
        lower: lower end.
        upper: upper end.
        args: any pytree.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.roots import bisected
        >>> round(float(bisected(lambda x, a: x**3 - a, 0.0, 3.0, 8.0)), 4)
        2.0
    """
    solver = optimistix.Bisection(rtol=0.0, atol=0.0, flip=False)
    frozen, ends = jax.lax.stop_gradient(args), {"lower": lower, "upper": upper}
    middle = jnp.asarray(0.5 * (lower + upper), dtype=float)
    x = optimistix.root_find(function, solver, middle, frozen, ends, max_steps=MAX_HALVINGS, throw=False).value
    equation = lambda x, args: jnp.reshape(function(x[0], args), (1,))
    x = jax.lax.stop_gradient(x)[None]
    jacobian = jax.lax.stop_gradient(jax.jacfwd(equation)(x, frozen))
    return _implicit(x, jacobian, args, function=equation)[0]


class Bracket(NamedTuple):
    """Two ends between which a function changes sign, in NumPy or JAX numbers; `right` was evaluated last."""

    left: Any
    f_left: Any
    """Value at `left`, halved whenever this end stays (Illinois), so that it does not stay indefinitely."""
    right: Any
    f_right: Any
    """Value at `right`."""

    @property
    def secant(self) -> Any:
        """Where the straight line through both ends is zero: the next point to evaluate."""
        difference = self.f_right - self.f_left
        xp = jnp if isinstance(difference, jax.Array) else np
        return self.right - self.f_right * (self.right - self.left) / xp.where(difference == 0.0, 1.0, difference)

    def crossed(self, value: Any) -> Any:
        """Whether the sign changes between the right end and a point with this value."""
        return (value > 0.0) != (self.f_right > 0.0)

    def narrowed(self, x: Any, value: Any) -> Bracket:
        """With one end replaced by a point between them."""
        crossed = self.crossed(value)
        xp = jnp if isinstance(crossed, jax.Array) else np
        left = xp.where(crossed, self.right, self.left)
        return Bracket(left, xp.where(crossed, self.f_right, 0.5 * self.f_left), x, value)


def by_secants(
    f: Callable[[Array], Array], right: Array, f_left: Array, f_right: Array, iterations: int
) -> Float[Array, ""]:
    """Root of `f` between 0 (where it is `f_left` > 0) and `right` (where it is not positive), by secants; same unit.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.roots import by_secants
        >>> fall = lambda t: 5.0 - 5.0 * t**2  # m above the ground, after t in s
        >>> print(by_secants(fall, jnp.array(2.0), jnp.array(5.0), jnp.array(-15.0), 20).round(9))  # s
        1.0
    """
    bracket = Bracket(jnp.zeros_like(right), f_left, right, f_right)
    return jax.lax.fori_loop(0, iterations, lambda _, b: b.narrowed(b.secant, f(b.secant)), bracket).right
