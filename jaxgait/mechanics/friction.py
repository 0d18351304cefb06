"""Friction laws of a contact that slides on a surface. Each law is a module with its own parameters.

    Coulomb(coefficient=0.6).force(velocity, normal)[0]

A law takes the relative contact velocity in m/s, the normal force in N (>= 0) and its own memory. It returns the
friction force in N on the sliding body, against the velocity, and the rate of the memory.

| law | friction force | memory | use it for |
|---|---|---|---|
| `Coulomb` | constant coefficient, smooth through zero velocity | none | sliding contacts; creeps under static load |
| `Stribeck` | coefficient falls from static to kinetic | none | the same, with breakaway |
| `Bristle` | elastic bristles that bend before they slip (LuGre) | deflection in m | carrying a static load |
| `Dahl` | bristles of constant stiffness | deflection in m | static loads under a normal force that never vanishes |
| `Incremental` | spring with a capped deflection | deflection in m | models with time steps of their own |

Subclasses of `FrictionLaw` (the first three) work in every contact, including those that lift off. `Incremental` is a
rule for time steps, not a differential equation.

Velocities are components along one tangent, or with ``axes=True`` have the tangential directions as their last axis.

`contact_force` is the whole force of a contact: that of a normal law and that of a friction law under it.
"""

from __future__ import annotations

import abc
import math
from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxgait.fields import Immutable
from jaxgait.mechanics import Real, RealArray, Scalar
from jaxgait.mechanics.contact import ImpactHertz, NormalLaw
from jaxgait.mechanics.linalg import norm
from jaxgait.parameters import ParameterError, choice, parameter
from jaxgait.precision import float64_default
from jaxgait.support.checks import is_concrete

Regularisation = Literal["arctan", "tanh", "algebraic"]
_SLOPES: dict[Regularisation, float] = {"arctan": 2.0 / math.pi, "tanh": 1.0, "algebraic": 1.0}
"""Slope of `sign` at rest."""
_ANY: dict[str, Any] = {"plausible": (0.0, math.inf)}
"""Plausible values depend on the model: a pad, a stud, a rigid foot."""
_SLOW = 0.1
"""Fraction of the Stribeck velocity below which `Incremental` slips along its spring."""


@float64_default
def sign(velocity: Real, slip_velocity: Real, regularisation: Regularisation = "arctan") -> RealArray:
    """Smooth sign of a velocity: odd, between -1 and 1.

    Args:
        velocity: in m/s.
        slip_velocity: width in m/s of the transition.
        regularisation: "arctan" (2/pi arctan s), "tanh" or "algebraic" (s / sqrt(1 + s^2)).

    Raises:
        ValueError: for an unknown regularisation.

    Examples:
        >>> from jaxgait.mechanics.friction import sign
        >>> [round(float(sign(v, 1e-3, "tanh")), 3) for v in (-0.1, 0.0, 1e-3)]
        [-1.0, 0.0, 0.762]
    """
    s = velocity / slip_velocity
    if regularisation == "arctan":
        return (2.0 / math.pi) * jnp.arctan(s)
    if regularisation == "tanh":
        return jnp.tanh(s)
    if regularisation == "algebraic":
        return s / jnp.sqrt(1.0 + s * s)
    raise ValueError(f"regularisation must be 'arctan', 'tanh' or 'algebraic', got {regularisation!r}")


@float64_default
def falling_coefficient(speed: Real, static: Real, kinetic: Real, stribeck_velocity: Real) -> RealArray:
    """Friction coefficient that falls from static to kinetic with the sliding speed in m/s (Gaussian).

    Examples:
        >>> from jaxgait.mechanics.friction import falling_coefficient
        >>> [round(float(falling_coefficient(v, 0.8, 0.6, 0.01)), 3) for v in (0.0, 0.01, 1.0)]
        [0.8, 0.674, 0.6]
    """
    return kinetic + (static - kinetic) * jnp.exp(-((speed / stribeck_velocity) ** 2))


@float64_default
class FrictionLaw(Immutable):
    """Base class of friction laws for any contact; subclass it for your own.

    The force must vanish with the normal force, and stay finite there.

    Examples:
        >>> from jaxgait.mechanics.friction import Bristle, FrictionLaw
        >>> law: FrictionLaw = Bristle(damping=1.0)
        >>> force, rate = law.force(0.1, 100.0, law.at_rest())  # sliding at 0.1 m/s under 100 N, bristles straight
        >>> print(force, rate)  # N against the velocity; m/s: the bristles bend with it
        -10.0 0.1
    """

    stiff: ClassVar[bool] = True
    """Whether the law makes a model stiff: True for regularised laws, which are steep at rest."""

    @abc.abstractmethod
    def force(
        self, velocity: Real, normal: Real, memory: Real | None = None, engaged: Real = 1.0, *, axes: bool = False
    ) -> tuple[RealArray, RealArray | None]:
        """Force in N on the sliding body, and the rate of the law's memory (None without one).

        Args:
            velocity: relative contact velocity in m/s.
            normal: normal force in N.
            memory: the law's state, initially `at_rest`.
            engaged: smooth switch from 0 (open contact) to 1 (closed), see `NormalLaw.engaged`.
            axes: whether the last axis of velocity and memory is that of the tangential directions.
        """

    def at_rest(self, *shape: int) -> RealArray | None:
        """Memory at rest of contacts whose velocities have this shape; None for a law without memory."""
        return None


class ContactForce(NamedTuple):
    """Force on a body that touches a surface."""

    normal: RealArray
    """Normal force in N, away from the surface."""
    tangential: RealArray
    """Friction force in N, along the surface."""
    memory_rate: RealArray | None
    """Rate of the friction law's memory; None without one."""


@float64_default
def normal_force(law: NormalLaw | ImpactHertz, depth: Real, rate: Real, approach: Real | None = None) -> RealArray:
    """Normal force in N of any law at a penetration in m and its rate in m/s.

    Args:
        law: of the normal force.
        depth: penetration in m.
        rate: its rate in m/s.
        approach: remembered speed in m/s at touch-down, for `ImpactHertz` only.

    Examples:
        >>> from jaxgait.mechanics.contact import HystereticHertz, ImpactHertz
        >>> from jaxgait.mechanics.friction import normal_force
        >>> stud = HystereticHertz(stiffness=1e6)
        >>> print(float(normal_force(stud, 0.01, 0.0)), float(normal_force(ImpactHertz(stud), 0.01, 0.0, 2.0)))  # N
        1000.0 1000.0
    """
    return law.force(depth, rate, approach) if isinstance(law, ImpactHertz) else law.force(depth, rate)


@float64_default
def contact_force(
    normal_law: NormalLaw | ImpactHertz,
    friction_law: FrictionLaw,
    depth: Real,
    rate: Real,
    slip: Real,
    memory: Real | None = None,
    *,
    approach: Real | None = None,
    gate: Real | None = None,
    axes: bool = False,
) -> ContactForce:
    """Force of a contact: that of its normal law, and that of its friction law under this normal force.

    Args:
        normal_law: law of the normal force; its switch tells friction with a memory whether the contact is closed.
        friction_law: law of the tangential force.
        depth: penetration in m.
        rate: its rate in m/s.
        slip: sliding velocity in m/s.
        memory: of the friction law, if it has one.
        approach: remembered speed in m/s at touch-down, for `ImpactHertz` only.
        gate: share, from 0 to 1, of the contact that a model lets act; None: all of it.
        axes: whether the last axis of slip and memory is that of the tangential directions.

    Examples:
        >>> from jaxgait.mechanics.contact import UnilateralSpring
        >>> from jaxgait.mechanics.friction import Bristle, Coulomb, contact_force
        >>> force = contact_force(UnilateralSpring(1e5), Coulomb(0.6), depth=1e-3, rate=0.0, slip=0.5)
        >>> print(round(float(force.normal)), round(float(force.tangential)), force.memory_rate)  # N
        100 -60 None
        >>> lifted = contact_force(UnilateralSpring(1e5), Bristle(), depth=-1e-3, rate=0.0, slip=0.5, memory=1e-4)
        >>> print(float(lifted.normal), round(float(lifted.memory_rate), 6))  # N, m/s: its bristles are released
        0.0 -0.005
    """
    normal = normal_force(normal_law, depth, rate, approach)
    engaged = 1.0 if memory is None else normal_law.engaged(depth)
    if gate is not None:
        normal, engaged = gate * normal, gate * engaged
    return ContactForce(normal, *friction_law.force(slip, normal, memory, engaged, axes=axes))


@float64_default
class _Breakaway(Immutable):
    """Laws with the coefficients `static` and `kinetic`, which check that friction does not grow at breakaway."""

    static: eqx.AbstractVar[Scalar]
    kinetic: eqx.AbstractVar[Scalar]

    def check_together(self, label: str) -> None:
        """Rejects a static coefficient below the kinetic one."""
        if not is_concrete((self.static, self.kinetic)):
            return
        static, kinetic = np.broadcast_arrays(np.asarray(self.static, float), np.asarray(self.kinetic, float))
        if (wrong := static < kinetic).any():
            i = int(np.argmax(wrong))
            member = f" (member {i})" if static.ndim else ""
            low, high = static.flat[i], kinetic.flat[i]
            raise ParameterError(f"{label}.static must not be below {label}.kinetic, got {low:g} and {high:g}{member}")


@float64_default
class Coulomb(FrictionLaw):
    """Regularised Coulomb friction: ``-mu N sign(v)``. Source: Threlfall, Mech. Mach. Theory 13 (1978) 475.

    Examples:
        >>> from jaxgait.mechanics.friction import Coulomb
        >>> force, memory = Coulomb(0.6).force(0.5, 100.0)  # sliding forward at 0.5 m/s under 100 N
        >>> print(round(float(force), 1), memory)
        -60.0 None
    """

    coefficient: Scalar = parameter(0.6, unit="1", doc="friction coefficient", bounds="nonnegative")
    slip_velocity: Scalar = parameter(
        1e-4, unit="m/s", doc="slip velocity over which friction sets in", bounds="positive", **_ANY
    )
    regularisation: Regularisation = choice("arctan", doc="shape of the transition from stick to slip")

    def force(
        self, velocity: Real, normal: Real, memory: Real | None = None, engaged: Real = 1.0, *, axes: bool = False
    ) -> tuple[RealArray, RealArray | None]:
        """Force in N, without memory. See `FrictionLaw.force`."""
        return _along(-self.coefficient * normal, velocity, self.slip_velocity, self.regularisation, axes), None


@float64_default
class Stribeck(_Breakaway, FrictionLaw):
    """Regularised friction that falls from static to kinetic with speed: ``-mu(|v|) N sign(v)``.

    Source: Stribeck's curve as a Gaussian, after Armstrong-Helouvry, Dupont and Canudas de Wit, Automatica 30 (1994)
    1083.

    Examples:
        >>> from jaxgait.mechanics.friction import Stribeck
        >>> pad = Stribeck(static=0.9, kinetic=0.6)
        >>> print([round(float(pad.force(v, 100.0)[0])) for v in (0.001, 0.5)])  # N: breaking away, sliding
        [-90, -60]
    """

    static: Scalar = parameter(0.8, unit="1", doc="friction coefficient at breakaway", bounds="nonnegative")
    kinetic: Scalar = parameter(0.6, unit="1", doc="friction coefficient while sliding", bounds="nonnegative")
    stribeck_velocity: Scalar = parameter(
        0.01, unit="m/s", doc="slip velocity of the change from static to kinetic friction", bounds="positive", **_ANY
    )
    slip_velocity: Scalar = parameter(
        1e-4, unit="m/s", doc="slip velocity over which friction sets in", bounds="positive", **_ANY
    )
    regularisation: Regularisation = choice("tanh", doc="shape of the transition from stick to slip")

    def force(
        self, velocity: Real, normal: Real, memory: Real | None = None, engaged: Real = 1.0, *, axes: bool = False
    ) -> tuple[RealArray, RealArray | None]:
        """Force in N, without memory. See `FrictionLaw.force`."""
        speed = norm(jnp.asarray(velocity)) if axes else velocity  # the coefficient is even in it
        coefficient = falling_coefficient(speed, self.static, self.kinetic, self.stribeck_velocity)
        return _along(-coefficient * normal, velocity, self.slip_velocity, self.regularisation, axes), None


@float64_default
class Bristle(_Breakaway, FrictionLaw):
    """Elastic bristles whose shear stiffness grows with the load (LuGre), for contacts that lift off and land.

    With the coefficient mu(|v|) of `Stribeck`, deflection z and the gate G (1: the contact is closed)

        w = v - |v| z sigma0 / mu,    z' = G w - (1 - G) z / release_time,    F = -N (sigma0 z + sigma1 G w)

    As the stiffness is proportional to the load, the law does not become stiff as the load vanishes; the gate releases
    the bristles of an open contact. A static load does not creep. Until the bristles are bent (some mu / sigma0 after
    fast sliding starts or reverses), the force exceeds the friction limit by up to sigma1 |v| N.

    Source: Canudas de Wit, Olsson, Astrom and Lischinsky, IEEE Trans. Autom. Control 40 (1995) 419, per unit load.

    Examples:
        >>> from jaxgait.mechanics.friction import Bristle
        >>> law = Bristle()
        >>> force, rate = law.force(0.0, 100.0, 1e-4)  # at rest, bristles bent by 0.1 mm
        >>> print(round(float(force), 1), float(rate), law.at_rest(2))
        -15.0 0.0 [0. 0.]
    """

    stiff: ClassVar[bool] = False

    static: Scalar = parameter(0.8, unit="1", doc="friction coefficient at breakaway", bounds="positive")
    kinetic: Scalar = parameter(0.6, unit="1", doc="friction coefficient while sliding", bounds="positive")
    stribeck_velocity: Scalar = parameter(
        0.01, unit="m/s", doc="slip velocity of the change from static to kinetic friction", bounds="positive", **_ANY
    )
    stiffness: Scalar = parameter(
        1500.0, unit="1/m", doc="shear stiffness of the bristles per load", bounds="positive", **_ANY
    )
    damping: Scalar = parameter(
        1.0, unit="s/m", doc="shear damping of the bristles per load", bounds="nonnegative", **_ANY
    )
    release_time: Scalar = parameter(
        0.02, unit="s", doc="relaxation time of the bristles of an open contact", bounds="positive", **_ANY
    )

    def force(
        self, velocity: Real, normal: Real, memory: Real | None = None, engaged: Real = 1.0, *, axes: bool = False
    ) -> tuple[RealArray, RealArray | None]:
        """Force in N and the rate in m/s of the deflection `memory` in m. See `FrictionLaw.force`."""
        velocity = jnp.asarray(velocity)
        velocity = velocity.astype(jnp.result_type(velocity, float))  # (integers, too)
        deflection = _required(memory, type(self))
        speed = _speed(velocity, axes)
        coefficient = falling_coefficient(speed, self.static, self.kinetic, self.stribeck_velocity)
        gate = _spread(jnp.broadcast_to(engaged, speed.shape), axes)
        micro = velocity - _spread(speed, axes) * deflection * _spread(self.stiffness / coefficient, axes)
        force = -_spread(normal, axes) * (self.stiffness * deflection + self.damping * gate * micro)
        return force, gate * micro - (1.0 - gate) * deflection / self.release_time

    def at_rest(self, *shape: int) -> RealArray | None:
        """Deflections in m of straight bristles: zero."""
        return jnp.zeros(shape)


@float64_default
class Dahl(Immutable):
    """Bristles of constant stiffness with a friction limit that may vary in time: a static load does not creep.

    With the limit mu N and z_s = mu N / stiffness, the deflection z relaxes towards +-z_s while sliding:

        w = v - |v| z / z_s,    z' = w - max(0, |z| / z_s - 1) z / release_time,    f = -(stiffness z + damping mu N w)

    If the limit falls (a pad melts), the excess deflection relaxes within `release_time`; if it rises (a pad
    solidifies), the force does not jump. The limit must not vanish: use `Bristle` for contacts that lift off. Until the
    bristles are bent, the force exceeds the limit by up to damping |v| mu N.

    Source: Dahl, A solid friction model, Aerospace Corporation TOR-0158(3107-18)-1 (1968).

    Examples:
        >>> from jaxgait.mechanics.friction import Dahl
        >>> pad = Dahl(coefficient=1.0, stiffness=1e4)
        >>> force, rate = pad.force(0.0, 100.0, 5e-3)  # at rest, bristles bent by 5 mm
        >>> print(float(force), float(rate), pad.at_rest(2))
        -50.0 0.0 [0. 0.]
    """

    stiff: ClassVar[bool] = False

    coefficient: Scalar = parameter(1.0, unit="1", doc="friction coefficient", bounds="positive")
    stiffness: Scalar = parameter(3.2e4, unit="N/m", doc="stiffness of the bristles", bounds="positive", **_ANY)
    damping: Scalar = parameter(10.0, unit="s/m", doc="damping of the bristles per force", bounds="nonnegative", **_ANY)
    release_time: Scalar = parameter(
        2e-3, unit="s", doc="relaxation time of excess deflection", bounds="positive", **_ANY
    )

    def force(self, velocity: Real, normal: Real, memory: Real | None = None) -> tuple[RealArray, RealArray]:
        """Force in N on the sliding body, and the rate in m/s of the deflection.

        Args:
            velocity: relative contact velocity in m/s, along one tangent.
            normal: normal force in N, > 0.
            memory: deflection in m.
        """
        velocity, deflection = jnp.asarray(velocity), _required(memory, type(self))
        limit = self.coefficient * normal
        slip = self.stiffness * deflection / limit  # z / z_s
        micro = velocity - jnp.abs(velocity) * slip
        excess = jnp.maximum(jnp.abs(slip) - 1.0, 0.0)
        force = -(self.stiffness * deflection + self.damping * limit * micro)
        return force, micro - excess * deflection / self.release_time

    def at_rest(self, *shape: int) -> RealArray:
        """Deflections in m of straight bristles: zero."""
        return jnp.zeros(shape)


@float64_default
class Incremental(_Breakaway):
    """Stick and slip in time steps: a spring of constant stiffness, set back to the friction limit as it slips.

    The spring is bent by ``z = z0 + v dt``. It sticks below the static limit, ``|z| < static N / stiffness``, with the
    force -stiffness z; else it slips with the force -mu(|v|) N e, and z becomes mu N / stiffness e. As in the source,
    the direction e of slip is that of the velocity, v / |v|. Below a tenth of the Stribeck velocity we take that of the
    spring, z / |z|, or a contact at rest whose load falls would lose its force or turn it round.

    Not a differential equation: the result depends on the step. While sliding, the force chatters between the kinetic
    and the static limit. Source: Chen, Yan, Jin 2003.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.mechanics.friction import Incremental
        >>> stud, normal, still = Incremental(stiffness=1e4, kinetic=0.7), jnp.array(100.0), jnp.zeros(2)
        >>> force, deflection = stud.step(jnp.array([0.1, 0.0]), normal, still, dt=0.01)
        >>> print(f"{force[0]:.0f} N at {1e3 * deflection[0]:.0f} mm")  # it sticks
        -10 N at 1 mm
        >>> force, _ = stud.step(jnp.array([5.0, 0.0]), normal, still, dt=0.01)
        >>> print(f"{force[0]:.0f} N")  # it slips: 0.7 of the load
        -70 N
    """

    static: Scalar = parameter(0.9, unit="1", doc="friction coefficient at breakaway", bounds="positive")
    kinetic: Scalar = parameter(0.7, unit="1", doc="friction coefficient while sliding", bounds="positive")
    stribeck_velocity: Scalar = parameter(
        0.006, unit="m/s", doc="slip velocity of the change from static to kinetic friction", bounds="positive", **_ANY
    )
    stiffness: Scalar = parameter(4.3e4, unit="N/m", doc="shear stiffness of a contact", bounds="positive", **_ANY)

    def step(
        self,
        velocity: Float[Array, "... axes"],
        normal: Float[Array, " ..."],
        deflection: Float[Array, "... axes"],
        dt: Real,
    ) -> tuple[Float[Array, "... axes"], Float[Array, "... axes"]]:
        """Force in N on the sliding body and the deflection in m at the end of a time step.

        Args:
            velocity: relative contact velocity in m/s, with the tangential directions as its last axis.
            normal: normal force in N.
            deflection: spring deflection in m at the beginning of the step.
            dt: time step in s.
        """
        trial = deflection + velocity * dt
        speed = norm(velocity)
        coefficient = falling_coefficient(speed, self.static, self.kinetic, self.stribeck_velocity)
        sticks = (self.stiffness * norm(trial) < self.static * normal)[..., None]
        slipping = -(coefficient * normal)[..., None] * _slip_direction(velocity, trial, _SLOW * self.stribeck_velocity)
        force = jnp.where(sticks, -self.stiffness * trial, slipping)
        return force, jnp.where(sticks, trial, -slipping / self.stiffness)


def _slip_direction(
    velocity: Float[Array, "... axes"], trial: Float[Array, "... axes"], slow: Real
) -> Float[Array, "... axes"]:
    """Unit vector along the velocity in m/s, below the speed `slow` along the trial deflection in m; zero at zero."""
    along = jnp.where((norm(velocity) < slow)[..., None], trial, velocity)
    size = norm(along)
    return along / jnp.where(size > 0.0, size, 1.0)[..., None]


def _along(
    strength: Real, velocity: Real, slip_velocity: Real, regularisation: Regularisation, axes: bool
) -> RealArray:
    """A force along the velocity that reaches `strength` in N (possibly negative) beyond the slip velocity."""
    if not axes:
        return strength * sign(velocity, slip_velocity, regularisation)
    velocity, strength = jnp.asarray(velocity), jnp.asarray(strength)
    if regularisation == "algebraic":
        square = jnp.sum(velocity * velocity, axis=-1)
        return strength[..., None] * velocity / jnp.sqrt(square + slip_velocity**2)[..., None]
    speed = norm(velocity)
    moving = speed > 0.0
    smooth = sign(speed, slip_velocity, regularisation) / jnp.where(moving, speed, 1.0)
    per_velocity = jnp.where(moving, smooth, _SLOPES[regularisation] / slip_velocity)
    return (strength * per_velocity)[..., None] * velocity


def _speed(velocity: RealArray, axes: bool) -> RealArray:
    return norm(velocity) if axes else jnp.abs(velocity)


def _spread(value: Real, axes: bool) -> RealArray:
    """A number per contact, shaped to multiply vectors."""
    return jnp.asarray(value)[..., None] if axes else jnp.asarray(value)


def _required(memory: Real | None, law: type) -> RealArray:
    if memory is None:
        raise TypeError(f"{law.__name__} has a memory: give its deflection in m, {law.__name__}().at_rest() at first")
    return jnp.asarray(memory)
