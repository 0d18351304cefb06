"""Normal contact laws of a point on a surface. Each law is a module with its own parameters.

    KelvinVoigt(stiffness=1e5, damping=20.0).force(depth, rate)

`depth` is the penetration in m (positive inside the other body), `rate` its time derivative in m/s. Normal forces push
(>= 0). All laws take scalars or arrays of equal shape and are differentiable. Friction, and the whole force of a
contact (`contact_force`), are in `jaxgait.mechanics.friction`.

Touch-down is smoothed over a depth `1 / steepness` by a *smoothing*:

- ``"tanh"``: ``(1 + tanh s) / 2``, no force in the air beyond a few widths;
- ``"arctan"``: ``1/2 + arctan(s) / pi``, with a long tail;
- ``"softplus"``: the depth itself becomes ``softplus(s) / steepness``, the logistic function switches the damper.
"""

from __future__ import annotations

import abc
import math
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from jaxgait.fields import Immutable
from jaxgait.mechanics import Real, RealArray, Scalar
from jaxgait.parameters import choice, parameter
from jaxgait.precision import float64_default
from jaxgait.roots import bisected, only_if
from jaxgait.support.checks import is_concrete, shown

Smoothing = Literal["tanh", "arctan", "softplus"]
_ANY: dict[str, Any] = {"plausible": (0.0, math.inf)}
"""Plausible values depend on the model: a rope, a stud, a rigid foot."""


@float64_default
def step(s: Real, smoothing: Smoothing = "tanh") -> RealArray:
    """Smooth Heaviside step of a dimensionless number: 0 far below zero, 1/2 at zero, 1 far above.

    Raises:
        ValueError: for an unknown smoothing.

    Examples:
        >>> from jaxgait.mechanics.contact import step
        >>> print(step(-5.0).round(3), step(0.0), step(5.0).round(3))  # in the air, at touch-down, on the ground
        0.0 0.5 1.0
    """
    if smoothing == "tanh":
        return (1.0 + jnp.tanh(s)) / 2.0
    if smoothing == "arctan":
        return 0.5 + jnp.arctan(s) / math.pi
    if smoothing == "softplus":
        return jax.nn.sigmoid(s)
    raise ValueError(f"smoothing must be 'tanh', 'arctan' or 'softplus', got {smoothing!r}")


@float64_default
def smoothstep(s: Real) -> RealArray:
    """Smooth step of a dimensionless number: 0 below zero, 1 above one, in between a cubic with level ends.

    Examples:
        >>> from jaxgait.mechanics.contact import smoothstep
        >>> print(smoothstep(-1.0), smoothstep(0.5), smoothstep(2.0))
        0.0 0.5 1.0
    """
    s = jnp.clip(s, 0.0, 1.0)
    return s * s * (3.0 - 2.0 * s)


@float64_default
def softplus(x: Real) -> RealArray:
    """Smooth positive part ``log(1 + exp(x))`` of a dimensionless number.

    `jax.nn.softplus` with the logistic function as its derivative: JAX's own rule computes two exponentials.

    Examples:
        >>> from jaxgait.mechanics.contact import softplus
        >>> round(float(softplus(0.0)), 6)
        0.693147
    """
    return _softplus(jnp.asarray(x))


@jax.custom_jvp
def _softplus(x: RealArray) -> RealArray:
    return jnp.maximum(x, 0.0) + jnp.log1p(jnp.exp(-jnp.abs(x)))


@_softplus.defjvp
def _(primals: tuple[RealArray], tangents: tuple[RealArray]) -> tuple[RealArray, RealArray]:
    return _softplus(*primals), jax.nn.sigmoid(primals[0]) * tangents[0]


@float64_default
def penetration(depth: Real, steepness: Real, smoothing: Smoothing = "tanh") -> RealArray:
    """Effective depth in m of a contact spring: about `depth` inside, about zero outside.

    Args:
        depth: penetration in m.
        steepness: reciprocal of the smoothing depth in 1/m.
        smoothing: see the module's docstring.

    Examples:
        >>> from jaxgait.mechanics.contact import penetration
        >>> round(float(penetration(1e-3, 1e5)), 6)  # 1 mm is far more than the smoothing depth of 0.01 mm
        0.001
    """
    if smoothing == "softplus":
        return jnp.asarray(softplus(steepness * depth) / steepness)
    return depth * step(steepness * depth, smoothing)


@float64_default
class NormalLaw(Immutable):
    """Base class of normal contact laws: a force as a function of depth and its rate; subclass it for your own.

    Examples:
        >>> from jaxgait.mechanics.contact import KelvinVoigt, NormalLaw
        >>> law: NormalLaw = KelvinVoigt(stiffness=1e5)
        >>> depth = law.static_depth(700.0)  # under the weight of a person
        >>> print(f"{1e3 * depth:.0f} mm deep: {law.force(depth, 0.0):.0f} N, {law.energy(depth):.2f} J")
        7 mm deep: 700 N, 2.45 J
        >>> print(law.engaged(-depth), law.engaged(depth))
        0.0 1.0
    """

    @abc.abstractmethod
    def force(self, depth: Real, rate: Real) -> RealArray:
        """Normal force in N at a penetration in m and its rate in m/s, never pulling."""

    @abc.abstractmethod
    def energy(self, depth: Real) -> RealArray:
        """Elastic energy in J stored at a penetration in m, without smoothing (its share: docs/theory/contact.md)."""

    @abc.abstractmethod
    def static_depth(self, force: Real) -> RealArray:
        """Penetration in m at which the law carries a force in N at rest (without smoothing)."""

    @abc.abstractmethod
    def engaged(self, depth: Real) -> RealArray:
        """Smooth switch from 0 (open) to 1 (closed) at a penetration in m, for friction with a memory."""


@float64_default
class NoContact(NormalLaw):
    """No ground: no force at any depth.

    Examples:
        >>> from jaxgait.mechanics.contact import NoContact
        >>> law = NoContact()
        >>> print(law.force(0.01, 0.0), law.energy(0.01), law.engaged(0.01), law.static_depth(700.0))
        0.0 0.0 0.0 inf
    """

    def force(self, depth: Real, rate: Real) -> RealArray:
        """Zero N."""
        return jnp.zeros_like(depth + rate)

    def energy(self, depth: Real) -> RealArray:
        """Zero J."""
        return jnp.zeros_like(jnp.asarray(depth))

    def static_depth(self, force: Real) -> RealArray:
        """Infinite, in m."""
        return jnp.full_like(jnp.asarray(force), jnp.inf)

    def engaged(self, depth: Real) -> RealArray:
        """Always 0."""
        return jnp.zeros_like(jnp.asarray(depth))


@float64_default
class _PowerLaw(NormalLaw):
    """A law whose elastic force is ``k d^n``, with attributes of these names."""

    def energy(self: Any, depth: Real) -> RealArray:
        """Elastic energy in J at a depth in m."""
        return self.stiffness * _power(jnp.asarray(depth), self.exponent + 1.0) / (self.exponent + 1.0)

    def static_depth(self: Any, force: Real) -> RealArray:
        """Depth in m under a force in N."""
        depth = jnp.asarray(force / self.stiffness)
        return depth if self.exponent == 1.0 else depth ** (1.0 / self.exponent)

    def engaged(self: Any, depth: Real) -> RealArray:
        """The law's own switch, between 0 and 1."""
        return step(self.steepness * depth, self.smoothing)


@float64_default
class UnilateralSpring(_PowerLaw):
    """A one-sided linear spring without damping or smoothing: ``k max(d, 0)``.

    Examples:
        >>> from jaxgait.mechanics.contact import UnilateralSpring
        >>> rope = UnilateralSpring(20.0)
        >>> print(rope.force(-1.0, 0.0), rope.force(2.0, 0.0))  # N: slack, then stretched by 2 m
        0.0 40.0
        >>> print(rope.energy(2.0), rope.static_depth(40.0), rope.engaged(-1.0))
        40.0 2.0 0.0
    """

    stiffness: Scalar = parameter(1e5, unit="N/m", doc="stiffness of the spring", bounds="positive", **_ANY)
    exponent = 1.0

    def force(self, depth: Real, rate: Real) -> RealArray:
        """Force in N at a depth in m, whatever the rate."""
        return self.stiffness * jnp.maximum(depth, 0.0)

    def engaged(self, depth: Real) -> RealArray:
        """1 inside, 0 outside."""
        return jnp.where(jnp.asarray(depth) > 0.0, 1.0, 0.0)


@float64_default
class LinearSpring(Immutable):
    """A linear spring and damper that push and pull: ``k d + c d'``.

    For a contact that exists in one phase of a model only and ends in an event (see `jaxgait.kinds.Transition`): a law
    that switches there (``max(k d, 0)``) is not differentiable, and gradients through the event are wrong in the third
    digit. It pulls, so it is not a `NormalLaw`.

    Examples:
        >>> from jaxgait.mechanics.contact import LinearSpring
        >>> leg = LinearSpring(20e3)
        >>> print(leg.force(-1e-3, 0.0), leg.energy(-1e-3))  # N: it pulls, too; J
        -20.0 0.01
    """

    stiffness: Scalar = parameter(1e5, unit="N/m", doc="stiffness of the spring", bounds="positive")
    damping: Scalar = parameter(0.0, unit="N s/m", doc="damping of the spring", bounds="nonnegative")

    def force(self, depth: Real, rate: Real) -> RealArray:
        """Force in N at a depth in m and its rate in m/s."""
        return jnp.asarray(self.stiffness * depth + self.damping * rate)

    def energy(self, depth: Real) -> RealArray:
        """Elastic energy in J at a depth in m."""
        return jnp.asarray(0.5 * self.stiffness * depth**2)


@float64_default
class KelvinVoigt(_PowerLaw):
    """A spring and a damper in parallel: ``max(k d + c d', 0)``, smoothed at touch-down.

    Source: Lü et al., Chin. J. Theor. Appl. Mech. 52 (2020) 1157.

    Examples:
        >>> from jaxgait.mechanics.contact import KelvinVoigt
        >>> law = KelvinVoigt(stiffness=1e5, damping=20.0)
        >>> print(f"{law.force(1e-3, 0.1):.0f} N, {law.energy(1e-3):.2f} J")  # 1 mm deep, sinking at 0.1 m/s
        102 N, 0.05 J
        >>> print(f"{1e3 * law.static_depth(700.0):.0f} mm under 700 N, {law.engaged(0.0):.1f} at touch-down")
        7 mm under 700 N, 0.5 at touch-down
    """

    stiffness: Scalar = parameter(1e5, unit="N/m", doc="contact stiffness", bounds="positive", **_ANY)
    damping: Scalar = parameter(20.0, unit="N s/m", doc="contact damping", bounds="nonnegative", **_ANY)
    steepness: Scalar = parameter(1e6, unit="1/m", doc="reciprocal touch-down depth", bounds="positive", **_ANY)
    smoothing: Smoothing = choice("tanh", doc="smoothing at touch-down")
    exponent = 1.0

    def force(self, depth: Real, rate: Real) -> RealArray:
        """Normal force in N at a depth in m and its rate in m/s."""
        if self.smoothing == "softplus":
            elastic = self.stiffness * penetration(depth, self.steepness, "softplus")
            return jnp.maximum(elastic + self.damping * rate * self.engaged(depth), 0.0)
        return jnp.maximum(self.stiffness * depth + self.damping * rate, 0.0) * self.engaged(depth)


@float64_default
class Hertz(_PowerLaw):
    """Hertz's elastic contact with a linear damper: ``max(k d^n + c d', 0)``. Source: Hertz (1881).

    Examples:
        >>> from jaxgait.mechanics.contact import Hertz
        >>> law = Hertz(stiffness=1e6, damping=20.0)
        >>> depth = law.static_depth(1000.0)
        >>> print(f"{1e3 * depth:.0f} mm under 1 kN, {law.energy(depth):.0f} J")  # 2/5 of force times depth
        10 mm under 1 kN, 4 J
        >>> print(f"{law.force(depth, 1.0):.0f} N while it sinks at 1 m/s, {law.engaged(0.0):.1f}")
        1020 N while it sinks at 1 m/s, 0.5
    """

    stiffness: Scalar = parameter(1e6, unit="N/m^{exponent}", doc="Hertz's constant", bounds="positive", **_ANY)
    damping: Scalar = parameter(20.0, unit="N s/m", doc="contact damping", bounds="nonnegative", **_ANY)
    steepness: Scalar = parameter(1e6, unit="1/m", doc="reciprocal touch-down depth", bounds="positive", **_ANY)
    smoothing: Smoothing = choice("softplus", doc="smoothing at touch-down")
    exponent: float = eqx.field(static=True, default=1.5)
    """n: 3/2 for spheres; the stiffness is in N/m^n."""

    def force(self, depth: Real, rate: Real) -> RealArray:
        """Normal force in N at a depth in m and its rate in m/s."""
        elastic = self.stiffness * _power(penetration(depth, self.steepness, self.smoothing), self.exponent)
        return jnp.maximum(elastic + self.damping * rate * step(self.steepness * depth, self.smoothing), 0.0)


@float64_default
class HuntCrossley(_PowerLaw):
    """Hunt and Crossley's law: ``k d^n (1 + a d')``, continuous at touch-down.

    `hunt_crossley_dissipation` gives the dissipation for a restitution. Source: Hunt and Crossley, J. Appl. Mech. 42
    (1975) 440.

    Examples:
        >>> from jaxgait.mechanics.contact import HuntCrossley, hunt_crossley_dissipation
        >>> law = HuntCrossley(stiffness=5e4, dissipation=hunt_crossley_dissipation(0.5, 1.0))
        >>> depth = law.static_depth(100.0)
        >>> print(f"{1e3 * depth:.0f} mm, {law.force(depth, 0.0):.0f} N, {law.energy(depth):.1f} J")
        2 mm, 100 N, 0.1 J
        >>> print(law.engaged(-depth).round(3), law.engaged(depth).round(3))
        0.0 1.0
    """

    stiffness: Scalar = parameter(1e5, unit="N/m^{exponent}", doc="contact stiffness", bounds="positive", **_ANY)
    dissipation: Scalar = parameter(
        1.0, unit="s/m", doc="Hunt-Crossley damping coefficient", bounds="nonnegative", **_ANY
    )
    steepness: Scalar = parameter(1e6, unit="1/m", doc="reciprocal touch-down depth", bounds="positive", **_ANY)
    tension_width: Scalar = parameter(
        0.01, unit="1", doc="width over which the damping factor is kept above zero", bounds="positive"
    )
    smoothing: Smoothing = choice("softplus", doc="smoothing at touch-down")
    exponent: float = eqx.field(static=True, default=1.0)
    """n: 1 for a linear spring, 3/2 for spheres; the stiffness is in N/m^n."""

    def force(self, depth: Real, rate: Real) -> RealArray:
        """Normal force in N at a depth in m and its rate in m/s."""
        elastic = self.stiffness * _power(penetration(depth, self.steepness, self.smoothing), self.exponent)
        width = self.tension_width
        return jnp.asarray(elastic * width * softplus((1.0 + self.dissipation * rate) / width))


@float64_default
class HystereticHertz(_PowerLaw):
    """A rubber sphere on a plane: ``k d^1.5 max(0, 1 + a d')``, with a from the coefficient of restitution.

    Not smoothed: the force and its first derivative vanish at touch-down. See `hertz_stiffness` and
    `restitution_dissipation`, from Lankarani and Nikravesh, J. Mech. Design 112 (1990) 369.

    Examples:
        >>> from jaxgait.mechanics.contact import HystereticHertz
        >>> stud = HystereticHertz(stiffness=1e6, restitution=0.5, approach_speed=0.2)
        >>> depth = stud.static_depth(1000.0)
        >>> print(f"{1e3 * depth:.0f} mm, {stud.energy(depth):.0f} J, {stud.engaged(0.5e-4):.1f} at 0.05 mm")
        10 mm, 4 J, 0.5 at 0.05 mm
        >>> print([round(float(stud.force(depth, rate))) for rate in (0.1, -0.1)])  # N: loading, unloading
        [1281, 719]
    """

    stiffness: Scalar = parameter(1.75e6, unit="N/m^1.5", doc="Hertz's constant", bounds="positive", **_ANY)
    restitution: Scalar = parameter(0.5, unit="1", doc="coefficient of restitution", bounds="fraction")
    approach_speed: Scalar = parameter(
        0.2, unit="m/s", doc="approach speed that restitution refers to", bounds="positive"
    )
    engagement_depth: Scalar = parameter(
        1e-4, unit="m", doc="depth over which friction with a memory is engaged", bounds="positive"
    )
    exponent = 1.5

    def force(self, depth: Real, rate: Real) -> RealArray:
        """Normal force in N at a depth in m and its rate in m/s."""
        dissipation = restitution_dissipation(self.restitution, self.approach_speed)
        return _hysteretic_hertz(depth, rate, self.stiffness, dissipation)

    def engaged(self, depth: Real) -> RealArray:
        """A smooth step from 0 to 1 over the engagement depth."""
        return smoothstep(depth / self.engagement_depth)


@float64_default
class ImpactHertz(Immutable):
    """`HystereticHertz` whose restitution refers to the speed at touch-down.

    Its state, that speed, follows the approach speed in the air and stays constant on the ground. Only models that keep
    this state (the jumper's sole) can use it: it is not a `NormalLaw`. Source: Chen, Yan, Jin 2003.

    Examples:
        >>> from jaxgait.mechanics.contact import HystereticHertz, ImpactHertz
        >>> stud = ImpactHertz(HystereticHertz(stiffness=1e6))
        >>> speed = stud.at_rest()  # 0.2 m/s, the lowest approach speed
        >>> [float(stud.memory_rate(depth, 2.0, speed)) for depth in (-0.01, 0.01)]  # m/s^2: in the air, on the ground
        [900.0, 0.0]
        >>> depth = stud.static_depth(1000.0)
        >>> print(f"{1e3 * depth:.0f} mm: {stud.force(depth, 0.0, 2.0):.0f} N, {stud.engaged(depth):.0f}")
        10 mm: 1000 N, 1
    """

    steady: HystereticHertz = HystereticHertz()
    """Stiffness and restitution; its approach speed is the least remembered speed."""
    tracking_time: Scalar = parameter(
        2e-3, unit="s", doc="time within which the memory follows the speed in the air", bounds="positive"
    )

    def at_rest(self, *shape: int) -> RealArray:
        """Remembered speeds in m/s of contacts that were never in the air."""
        return jnp.full(shape, self.steady.approach_speed)

    def force(self, depth: Real, rate: Real, approach: Real) -> RealArray:
        """Normal force in N at a depth in m and its rate in m/s, after touch-down at a speed in m/s."""
        steady = self.steady
        dissipation = restitution_dissipation(steady.restitution, jnp.maximum(approach, steady.approach_speed))
        return _hysteretic_hertz(depth, rate, steady.stiffness, dissipation)

    def memory_rate(self, depth: Real, rate: Real, approach: Real) -> RealArray:
        """Rate of the remembered speed in m/s^2: zero on the ground."""
        follows = (jnp.maximum(rate, self.steady.approach_speed) - approach) / self.tracking_time
        return jnp.where(jnp.asarray(depth) > 0.0, 0.0, follows)

    def static_depth(self, force: Real) -> RealArray:
        """Depth in m under a force in N."""
        return self.steady.static_depth(force)

    def engaged(self, depth: Real) -> RealArray:
        """As in `HystereticHertz`."""
        return self.steady.engaged(depth)


@float64_default
def hunt_crossley_dissipation(restitution: Real, velocity: Real) -> RealArray:
    """Dissipation a in s/m with which `HuntCrossley` returns a restitution e, whatever its k and exponent.

    A free mass that lands at speed v leaves at e v if, with s = a v, ``ln((1 + s) / (1 - e s)) = s (1 + e)``. A body
    that lands on a spring under its own weight needs less.

    Args:
        restitution: e, above 0 and below 1 (otherwise the result is NaN).
        velocity: v in m/s.

    Examples:
        >>> from jaxgait.mechanics.contact import hunt_crossley_dissipation
        >>> round(float(hunt_crossley_dissipation(0.5, 1.0)), 4)
        1.4328
    """
    e, v = jnp.asarray(restitution, dtype=float), jnp.asarray(velocity, dtype=float)

    def excess(x: RealArray, e: RealArray) -> RealArray:  # x = e s; only its root between 0 and 1 counts
        return jnp.log1p(x / e) - jnp.log1p(-x) - x / e * (1.0 + e)

    def one(e: RealArray) -> RealArray:
        return only_if((e > 0.0) & (e < 1.0), bisected(excess, 0.0, 1.0, e))

    return jnp.vectorize(one)(e) / (e * v)


@float64_default
def hertz_stiffness(modulus: Real, poisson: Real, radius: Real) -> Real:
    """Hertz's constant in N/m^1.5 of an elastic sphere on a rigid plane, ``4 E sqrt(R) / (3 (1 - nu^2))``.

    Args:
        modulus: Young's modulus E in Pa.
        poisson: Poisson's ratio nu, above -1 and at most 1/2.
        radius: R of the sphere in m.

    Raises:
        ValueError: for another ratio (unless it is traced).

    Examples:
        >>> from jaxgait.mechanics.contact import hertz_stiffness
        >>> round(float(hertz_stiffness(5e6, 0.5, 0.01)))  # a rubber sphere of 1 cm
        888889
    """
    if is_concrete(poisson) and not np.all((np.asarray(poisson) > -1.0) & (np.asarray(poisson) <= 0.5)):
        raise ValueError(f"Poisson's ratio must be above -1 and at most 1/2, got {shown(poisson)}")
    return 4.0 * modulus * radius**0.5 / (3.0 * (1.0 - poisson**2))


@float64_default
def restitution_dissipation(restitution: Real, approach: Real) -> Real:
    """Hysteresis factor in s/m for a restitution: ``3 (1 - e^2) / (4 v)``.

    Derived for e near 1: small restitutions come out too large (0.73 for e = 0.5), at any speed v. Source: Lankarani
    and Nikravesh, J. Mech. Design 112 (1990) 369.

    Args:
        restitution: coefficient e.
        approach: speed v at touch-down in m/s.

    Examples:
        >>> from jaxgait.mechanics.contact import restitution_dissipation
        >>> float(restitution_dissipation(0.5, 1.0))
        0.5625
    """
    return 0.75 * (1.0 - restitution**2) / approach


def _hysteretic_hertz(depth: Real, rate: Real, stiffness: Real, dissipation: Real) -> RealArray:
    return stiffness * _power(jnp.asarray(depth), 1.5) * jnp.maximum(1.0 + dissipation * rate, 0.0)


def _power(depth: RealArray, exponent: float) -> RealArray:
    """Positive part of the depth to a power; its derivative is zero in the air and at the surface (n = 1: 1/2)."""
    if exponent == 1.0:
        return jnp.maximum(depth, 0.0)
    inside = depth > 0.0
    return jnp.where(inside, jnp.where(inside, depth, 1.0) ** exponent, 0.0)
