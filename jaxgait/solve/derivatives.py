"""Which derivatives a solve supports in either mode of differentiation, and what to use instead of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array

from jaxgait.scheme import Mode

T = TypeVar("T")

_FORWARD = (
    "jax.grad, jax.vjp and jax.hessian do not go through a solve in forward mode: use jax.jacfwd or jax.jvp (best for "
    "few parameters; second derivatives by jax.jacfwd(jax.jacfwd(f)))"
)
_OF_SMOOTH = (
    ', or set the solve up with Smooth.of(model, mode="reverse") or ensemble(..., gradient=[...]) for first '
    "derivatives by many parameters"
)
_EVENTS = (
    "an event-driven solve has first derivatives only (those of its event times hold to first order): take differences "
    "of them, as of jax.jacfwd(f)(x + h) and jax.jacfwd(f)(x - h). For first derivatives of what uses a Jacobian as a "
    "constant, as Newton's method does, stop the gradient at its argument: jax.jacfwd(f)(jax.lax.stop_gradient(x))"
)
_EVENTS_FORWARD = (
    "jax.grad, jax.vjp and jax.hessian do not go through an event-driven solve in forward mode: use jax.jacfwd or "
    'jax.jvp, or EventDriven.of(model).in_mode("reverse"), for first derivatives; it has no second ones'
)
_REVERSE = (
    "a solve in reverse mode has first derivatives by jax.grad, jax.jacrev and jax.vjp only: set it up in forward "
    "mode, Smooth.of(model) or EventDriven.of(model), for jax.jacfwd and jax.jvp, and for second derivatives of a "
    "smooth model by jax.jacfwd(jax.jacfwd(f))"
)


def forward_only(results: T, or_else: str = _OF_SMOOTH) -> T:
    """The results of a solve in forward mode, with a helpful error message if reverse mode reaches them.

    Args:
        results: of the solve.
        or_else: end of the message: what has derivatives in reverse mode instead, if anything has.

    Examples:
        >>> import jax
        >>> from jaxgait.solve.derivatives import forward_only
        >>> float(jax.jacfwd(jax.jacfwd(lambda x: forward_only(x**3)))(2.0))
        12.0
    """
    return eqxi.nondifferentiable_backward(results, msg=_FORWARD + or_else)  # JAX's own message is about while loops


def first_only(results: T) -> T:
    """The results of an event-driven solve in forward mode, with a helpful error message for all but first derivatives.

    Examples:
        >>> import jax
        >>> from jaxgait.solve.derivatives import first_only
        >>> float(jax.jacfwd(lambda x: first_only(x**3))(2.0))
        12.0
    """
    results = jax.tree.map(lambda leaf: _once(leaf) if eqx.is_inexact_array(leaf) else leaf, results)
    return eqxi.nondifferentiable_backward(results, msg=_EVENTS_FORWARD)


def first_or_nan(results: T) -> T:
    """The results of a solve in forward mode whose second derivatives are not known: these are NaN.

    For results that are computed even if they are not used, where an error would be pointless.

    Examples:
        >>> import jax
        >>> from jaxgait.solve.derivatives import first_or_nan
        >>> slope = jax.jacfwd(lambda x: first_or_nan(x**3))
        >>> print(slope(2.0), jax.jacfwd(slope)(2.0))
        12.0 nan
    """
    return jax.tree.map(lambda leaf: _first(leaf) if eqx.is_inexact_array(leaf) else leaf, results)


def nan_if_missing(values: T, end: Any, mode: Mode) -> T:
    """Results in which values that are NaN, such as times of events that did not happen, have derivatives that are NaN.

    Without this they would be zero, those of the constants that fill the array. What does not use a NaN has its
    derivative in either mode.

    Args:
        values: of the solve.
        end: what depends on all inputs, as the last state does: in reverse mode its inputs get the NaN.
        mode: of differentiation.

    Examples:
        >>> import jax
        >>> import jax.numpy as jnp
        >>> from jaxgait.solve.derivatives import nan_if_missing
        >>> padded = lambda x, mode: nan_if_missing(jnp.array([1.0, jnp.nan]).at[0].set(x), 2.0 * x, mode)
        >>> print(jax.jacfwd(padded)(3.0, "forward"), jax.jacrev(padded)(3.0, "reverse"))
        [ 1. nan] [ 1. nan]
        >>> print(jax.grad(lambda x: jnp.nansum(padded(x, "reverse")))(3.0))
        1.0
    """
    known = _known if mode == "forward" else lambda x: _linked(x, eqx.filter(end, eqx.is_inexact_array))
    return jax.tree.map(lambda leaf: known(leaf) if eqx.is_inexact_array(leaf) else leaf, values)


@jax.custom_jvp
def _known(x: Array) -> Array:
    return x


@_known.defjvp
def _(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return _known(primals[0]), tangents[0] * jnp.where(jnp.isnan(primals[0]), jnp.nan, 1.0)


@jax.custom_vjp
def _linked(x: Array, end: Any) -> Array:
    del end
    return x


def _linked_back(residuals: tuple[Array, Any], cotangent: Array) -> tuple[Array, Any]:
    missing, end = residuals
    used = jnp.any(missing & (cotangent != 0.0))
    return cotangent, jax.tree.map(lambda leaf: jnp.where(used, jnp.nan, jnp.zeros_like(leaf)), end)


_linked.defvjp(lambda x, end: (x, (jnp.isnan(x), end)), _linked_back)


def _identity(second: Callable[[Array], Any]) -> Callable[[Array], Array]:
    """The identity, with its first derivative; the second one is that of a function of the tangent."""

    @jax.custom_jvp
    def value(x: Array) -> Array:
        return x

    @jax.custom_jvp
    def tangent(x: Array) -> Array:
        return x

    @value.defjvp
    def _(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
        return value(primals[0]), tangent(tangents[0])

    @tangent.defjvp
    def _(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Any]:
        return tangent(primals[0]), second(tangents[0])

    return value


def _no_second(_: Array) -> Any:
    raise RuntimeError(_EVENTS)


_once, _first = _identity(_no_second), _identity(lambda tangent: jnp.nan * tangent)


def reverse_only(inputs: T) -> T:
    """The inputs of a solve in reverse mode, with a helpful error message for all but first derivatives by it.

    Examples:
        >>> import jax
        >>> from jaxgait.solve.derivatives import reverse_only
        >>> float(jax.grad(lambda x: reverse_only(x) ** 3)(2.0))
        12.0
    """
    return jax.tree.map(lambda leaf: _value.bind(leaf) if eqx.is_inexact_array(leaf) else leaf, inputs)


def _raise(*_: Any, **__: Any) -> Any:
    raise RuntimeError(_REVERSE)


_tangent = Primitive("reverse_only_tangent")
"""The identity of tangents: reverse mode transposes it; forward mode computes it, or batches it first."""
_tangent.def_impl(_raise)
_tangent.def_abstract_eval(lambda x: x)
mlir.register_lowering(_tangent, _raise)
batching.primitive_batchers[_tangent] = _raise
ad.deflinear2(_tangent, lambda cotangent, _: [eqxi.nondifferentiable_backward(cotangent, msg=_REVERSE)])

_value = Primitive("reverse_only")
"""The identity of values, whose tangents are `_tangent`."""
_value.def_impl(lambda x: x)
_value.def_abstract_eval(lambda x: x)
mlir.register_lowering(_value, lambda _, x: [x])
batching.primitive_batchers[_value] = lambda args, dims: (_value.bind(*args), dims[0])
ad.defjvp(_value, lambda tangent, _: _tangent.bind(tangent))
