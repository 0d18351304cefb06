"""Loads on a tree of bodies: contact points, springs, torques, forces, prescribed joint motions.

Laws are modules with parameters of their own, or plain functions. Joints are named as in `Tree.velocity_names`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxgait.fields import Immutable
from jaxgait.mechanics import Scalar
from jaxgait.mechanics.contact import Hertz, HuntCrossley, HystereticHertz, KelvinVoigt, NormalLaw, UnilateralSpring
from jaxgait.mechanics.friction import Bristle, Coulomb, FrictionLaw, Stribeck
from jaxgait.parameters import ParameterError, parameter, part
from jaxgait.precision import float64_default
from jaxgait.support.checks import computed_at_once, is_concrete, shown

__all__ = [
    "ContactPoint",
    "Force",
    "Function",
    "JointDrive",
    "Limits",
    "LockedJoint",
    "Motor",
    "PrescribedJoint",
    "Rotor",
    "Spring",
    "Stop",
    "Torque",
]

ANY = (float("-inf"), float("inf"))
"""Bodies may have any size, so no value is implausible."""
PROBED_HEIGHT = 1.0
"""Height in m above the ground at which no contact has a force."""
NO_FORCE = 1e-3
"""Force in N that counts as none: smooth laws only tend to zero."""

NORMAL_LAWS = (KelvinVoigt(), Hertz(), HuntCrossley(), HystereticHertz(), UnilateralSpring())
FRICTION_LAWS = (Coulomb(), Stribeck(), Bristle())
"""Laws of contacts that are offered by name."""

if TYPE_CHECKING:
    Law = Any
else:
    Law = eqx.Module
"""A law of a contact: a module, which users may give as a function."""


@float64_default
class Function(eqx.Module):
    """A plain function as a law without parameters.

    Examples:
        >>> from jaxgait.models.tree.parts import Function
        >>> Function(lambda depth, rate: 1e4 * max(depth, 0.0))(0.02, 0.0)  # N
        200.0
    """

    function: Callable[..., Any] = eqx.field(static=True)

    def __call__(self, *args: Any) -> Any:
        """The function's result."""
        return self.function(*args)


@float64_default
def law(function: Any) -> Any:
    """Converts a field: any function that is not a module becomes a `Function`.

    Raises:
        ParameterError: for anything but a module, a function or None, and for classes.

    Examples:
        >>> from jaxgait.mechanics.contact import UnilateralSpring
        >>> from jaxgait.models.tree.parts import law
        >>> print(type(law(UnilateralSpring(1e4))).__name__, type(law(lambda depth, rate: 100.0)).__name__)
        UnilateralSpring Function
    """
    if isinstance(function, type):
        raise ParameterError(f"give an instance of the law, not the class: {function.__name__}(...)")
    if function is not None and not isinstance(function, eqx.Module) and not callable(function):
        raise ParameterError(f"a law must be one of jaxgait, an eqx.Module or a function, got {shown(function)}")
    return function if function is None or isinstance(function, eqx.Module) else Function(function)


@float64_default
class ContactPoint(Immutable):
    """A sphere or point of a body that may touch the level ground.

    The ground's force acts on the body at z = 0, straight below (or above) the centre of the ball, not at its lowest
    point or halfway down: where a contact is d deep, a horizontal force F has a moment that differs by F d.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.tree.parts import ContactPoint
        >>> sliding = lambda slip, normal: -0.5 * normal * jnp.sign(slip)
        >>> foot = ContactPoint("foot", lambda depth, rate: 1e4 * jnp.maximum(depth, 0.0), sliding)
        >>> print(foot.remembers, foot.stiff, float(foot.energy(0.01)))
        False True 0.0
        >>> force, _ = foot.forces(0.01, 0.0, jnp.array([0.3, 0.0]), jnp.zeros(2))
        >>> print(force)  # N
        [-50.  -0. 100.]
    """

    body: str = eqx.field(static=True)
    normal: Law = part(MISSING, doc="normal law", options=NORMAL_LAWS, converter=law)
    """Module with `force(depth, rate)`, as in `jaxgait.mechanics.contact`, or a function of these: normal force in N,
    >= 0 and none above the ground, from the penetration in m (negative there) and its rate in m/s."""
    friction: Law | None = part(None, doc="friction law", options=FRICTION_LAWS, converter=law)
    """Friction law of `jaxgait.mechanics.friction`, or a function of the sliding velocity (2,) in m/s and the normal
    force in N that returns the force (2,) in N on the body; None: frictionless."""
    position: tuple[Any, ...] | Any = parameter(
        (0.0, 0.0, 0.0), unit="m", doc="centre of the ball in the body's frame", plausible=ANY
    )
    radius: Scalar = parameter(0.0, unit="m", doc="radius of the ball", bounds="nonnegative", plausible=ANY)

    def __check_init__(self) -> None:
        """Checks that the laws can be called as in `forces`: some need more than a contact of this model provides."""
        if isinstance(self.normal, FrictionLaw) or not takes(self.normal, 2):
            laws = "a law of jaxgait.mechanics.contact with force(depth, rate), or a function of depth and rate"
            raise ParameterError(f"a ContactPoint cannot have the normal law {shown(self.normal)}: give {laws}")
        count, named = (4, {"axes": True}) if hasattr(self.friction, "at_rest") else (2, {})
        wrong = isinstance(self.friction, NormalLaw) or not takes(self.friction, count, **named)
        if self.friction is not None and wrong:
            laws = "Coulomb, Stribeck or Bristle of jaxgait.mechanics.friction, or a function of slip and normal force"
            raise ParameterError(f"a ContactPoint cannot have the friction {shown(self.friction)}: give {laws}")

    def check_together(self, label: str) -> None:
        """Rejects a law that pulls or pushes a body that is high above the ground, or pulls one that is in it.

        Examples:
            >>> from jaxgait.models.tree.parts import ContactPoint
            >>> ContactPoint("foot", lambda depth, rate: 1e4 * depth).check_together("foot")  # doctest: +ELLIPSIS
            Traceback (most recent call last):
                ...
            jaxgait.parameters.ParameterError: foot.normal must be zero above the ground, but 1 m above it the force ...
        """
        if not is_concrete(self.normal):
            return
        with computed_at_once():
            at = lambda depth: np.ravel(np.asarray(_called(self.normal, jnp.asarray(depth), jnp.asarray(0.0))))
            high, deep = at(-PROBED_HEIGHT), at(1e-3)
        if (wrong := ~(abs(high) < NO_FORCE)).any():
            raise ParameterError(
                f"{label}.normal must be zero above the ground, but {PROBED_HEIGHT:g} m above it the force is "
                f"{high[wrong][0]:g} N: use a law such as UnilateralSpring, or jnp.maximum(depth, 0.0) in your own"
            )
        if (deep < 0.0).any():
            raise ParameterError(f"{label}.normal must push, but 1 mm deep in the ground its force is {deep.min():g} N")

    def forces(
        self, depth: Scalar, rate: Scalar, slip: Float[Array, " 2"], memory: Float[Array, " 2"]
    ) -> tuple[Float[Array, " 3"], Float[Array, " 2"]]:
        """Force in N on the body in world axes, and the rate of the friction law's memory.

        Args:
            depth: penetration in m.
            rate: its rate in m/s.
            slip: sliding velocity in m/s.
            memory: of the friction law, e.g. deflections of bristles in m; ignored by laws without one.
        """
        normal = jnp.asarray(_called(self.normal, depth, rate))
        tangential, change = self._friction(depth, slip, normal, memory)
        return jnp.concatenate([jnp.asarray(tangential), normal[None]]), change

    def static_force(self, depth: Scalar) -> Float[Array, ""]:
        """Normal force in N at a penetration in m, at rest.

        Examples:
            >>> from jaxgait.mechanics.contact import UnilateralSpring
            >>> from jaxgait.models.tree.parts import ContactPoint
            >>> print(ContactPoint("foot", UnilateralSpring(1e4)).static_force(0.01))  # N
            100.0
        """
        return jnp.asarray(_called(self.normal, depth, 0.0))

    def _friction(self, depth: Scalar, slip: Array, normal: Array, memory: Array) -> tuple[Any, Any]:
        still = jnp.zeros_like(memory)
        if self.friction is None:
            return still, still
        if not hasattr(self.friction, "at_rest"):
            return _called(self.friction, slip, normal), still
        engaged = self.normal.engaged(depth) if hasattr(self.normal, "engaged") else jnp.where(depth > 0.0, 1.0, 0.0)
        force, change = self.friction.force(slip, normal, memory if self.remembers else None, engaged, axes=True)
        return force, still if change is None else change

    @property
    def remembers(self) -> bool:
        """Whether the friction law has a memory."""
        friction: Any = self.friction
        return hasattr(friction, "at_rest") and friction.at_rest(2) is not None

    @property
    def stiff(self) -> bool:
        """Whether the contact is too stiff for explicit solvers, as its laws declare by `stiff`.

        Without that, a friction law is, and a normal law is not, however hard: give a `solver` for stiff equations, if
        explicit steps become too small.
        """
        friction = self.friction is not None and getattr(self.friction, "stiff", True)
        return friction or getattr(self.normal, "stiff", False)

    def energy(self, depth: Scalar) -> Float[Array, ""]:
        """Elastic energy in J; zero if the normal law does not define it."""
        return jnp.asarray(self.normal.energy(depth)) if hasattr(self.normal, "energy") else jnp.zeros(())


@float64_default
class JointDrive(Immutable):
    """A drive at one joint coordinate, named as in `Tree.velocity_names`; by itself it has no force.

    Units are those of joints that turn: for one that slides, read m for rad, and N for N m.

    Examples:
        >>> from jaxgait.models.tree.parts import JointDrive, LockedJoint
        >>> lock = LockedJoint("knee")
        >>> print(isinstance(lock, JointDrive), lock.force(0.0, q=0.7, v=1.0), lock.energy(0.7))  # N m, J
        True 0.0 0.0
    """

    joint: str = eqx.field(static=True)

    def force(self, t: Scalar, q: Scalar, v: Scalar) -> Any:
        """Generalised force in N m (N if the joint slides) at a coordinate in rad (m) and its rate."""
        return 0.0

    def energy(self, q: Scalar) -> Scalar:
        """Elastic energy in J at a coordinate in rad (m)."""
        return 0.0


@float64_default
class Spring(JointDrive):
    """A spring with a damper: -stiffness (q - rest) - damping v.

    Examples:
        >>> from jaxgait.models.tree.parts import Spring
        >>> knee = Spring("knee", stiffness=100.0, damping=2.0, rest=0.5)
        >>> print(round(float(knee.force(0.0, q=0.7, v=1.0)), 6), round(float(knee.energy(0.7)), 6))  # N m, J
        -22.0 2.0
    """

    stiffness: Scalar = parameter(
        0.0, unit="N m/rad", doc="stiffness of the joint", bounds="nonnegative", plausible=ANY
    )
    damping: Scalar = parameter(0.0, unit="N m s/rad", doc="damping of the joint", bounds="nonnegative", plausible=ANY)
    rest: Scalar = parameter(0.0, unit="rad", doc="coordinate at rest", plausible=ANY)

    def force(self, t: Scalar, q: Scalar, v: Scalar) -> Scalar:
        """Generalised force in N m (N if the joint slides) at a coordinate in rad (m) and its rate."""
        return -self.stiffness * (q - self.rest) - self.damping * v

    def energy(self, q: Scalar) -> Scalar:
        """Elastic energy in J at a coordinate in rad (m)."""
        return 0.5 * self.stiffness * (q - self.rest) ** 2


@float64_default
class Stop(JointDrive):
    """Ends of a joint's range, each a spring and a damper that push and never pull: max(stiffness d + damping d', 0).

    d is how far the coordinate is beyond an end.

    Examples:
        >>> from jaxgait.models.tree.parts import Stop
        >>> knee = Stop("knee", lowest=0.0, highest=2.4, stiffness=500.0, damping=5.0)
        >>> [round(float(knee.force(0.0, q, v)), 6) for q, v in ((1.2, 3.0), (-0.1, -2.0), (-0.1, 20.0))]  # N m
        [0.0, 60.0, 0.0]
        >>> print(round(float(knee.energy(-0.1)), 6))  # J
        2.5
    """

    lowest: Scalar = parameter(MISSING, unit="rad", doc="lower end of the joint's range", plausible=ANY)
    highest: Scalar = parameter(MISSING, unit="rad", doc="upper end of the joint's range", plausible=ANY)
    stiffness: Scalar = parameter(
        MISSING, unit="N m/rad", doc="stiffness of the ends", bounds="positive", plausible=ANY
    )
    damping: Scalar = parameter(0.0, unit="N m s/rad", doc="damping of the ends", bounds="nonnegative", plausible=ANY)

    def check_together(self, label: str) -> None:
        """Rejects a range that ends before it begins.

        Examples:
            >>> from jaxgait.models.tree.parts import Stop
            >>> Stop("knee", lowest=0.2, highest=-0.2, stiffness=500.0).check_together("knee")  # doctest: +ELLIPSIS
            Traceback (most recent call last):
                ...
            jaxgait.parameters.ParameterError: ...
        """
        _check_order(self, label)

    def force(self, t: Scalar, q: Scalar, v: Scalar) -> Array:
        """Generalised force in N m (N if the joint slides) at a coordinate in rad (m) and its rate."""
        below, above = self.lowest - q, q - self.highest
        push = lambda depth, rate: jnp.where(
            depth > 0.0, jnp.maximum(self.stiffness * depth + self.damping * rate, 0), 0
        )
        return push(below, -v) - push(above, v)

    def energy(self, q: Scalar) -> Array:
        """Elastic energy in J at a coordinate in rad (m)."""
        beyond = jnp.maximum(jnp.maximum(self.lowest - q, q - self.highest), 0.0)
        return 0.5 * self.stiffness * beyond**2


@float64_default
class Limits(Immutable):
    """The least and the largest moment of a motor.

    Examples:
        >>> from jaxgait.models.tree.parts import Limits
        >>> print(Limits(-40.0, 60.0).highest)  # N m
        60.0
    """

    lowest: Scalar = parameter(MISSING, unit="N m", doc="least moment", plausible=ANY)
    highest: Scalar = parameter(MISSING, unit="N m", doc="largest moment", plausible=ANY)

    def check_together(self, label: str) -> None:
        """Rejects limits in the wrong order.

        Examples:
            >>> from jaxgait.models.tree.parts import Limits
            >>> Limits(30.0, -30.0).check_together("hip.limits")  # doctest: +ELLIPSIS
            Traceback (most recent call last):
                ...
            jaxgait.parameters.ParameterError: ...
        """
        _check_order(self, label)


@float64_default
class Motor(JointDrive):
    """A motor with constant commands, a moment or those of a servo: moment + stiffness (position - q) - damping v.

    A servo that holds a speed has the moment damping times speed. `Torque` has any law.

    Examples:
        >>> from jaxgait.models.tree.parts import Limits, Motor
        >>> hip = Motor("hip", stiffness=80.0, damping=2.0, position=0.5, limits=Limits(-30.0, 30.0))
        >>> [round(float(hip.force(0.0, q, 1.0)), 6) for q in (0.3, -0.5)]  # N m
        [14.0, 30.0]
    """

    moment: Scalar = parameter(0.0, unit="N m", doc="moment at the commanded position, at rest", plausible=ANY)
    stiffness: Scalar = parameter(0.0, unit="N m/rad", doc="moment per error of position", plausible=ANY)
    damping: Scalar = parameter(0.0, unit="N m s/rad", doc="loss of moment per speed", plausible=ANY)
    position: Scalar = parameter(0.0, unit="rad", doc="commanded position", plausible=ANY)
    limits: Limits | None = part(None, doc="limits of the moment", options=(Limits(-100.0, 100.0),))

    def force(self, t: Scalar, q: Scalar, v: Scalar) -> Scalar:
        """Generalised force in N m (N if the joint slides) at a coordinate in rad (m) and its rate."""
        wanted = self.moment + self.stiffness * (self.position - q) - self.damping * v
        return wanted if self.limits is None else jnp.clip(wanted, self.limits.lowest, self.limits.highest)


@float64_default
class Rotor(JointDrive):
    """The rotor of a motor that turns with a joint, geared up: its inertia adds to that of what the joint moves.

    The moment that accelerates it acts between the body and its parent; the momentum of its spin is neglected, as usual
    for large gear ratios ("armature" in MuJoCo and Pinocchio).

    Examples:
        >>> from jaxgait.models.tree.parts import Rotor
        >>> print(Rotor("knee", inertia=2e-5 * 50**2).inertia)  # kg m^2: geared up 50 times
        0.05
    """

    inertia: Scalar = parameter(
        MISSING,
        unit="kg m^2",
        doc="moment of inertia times the square of the gear ratio",
        bounds="nonnegative",
        plausible=ANY,
    )


@float64_default
class Torque(JointDrive):
    """A moment (force, if the joint slides) by any law.

    Examples:
        >>> from jaxgait.models.tree.parts import Torque
        >>> motor = Torque("hip", lambda t, q, v: 40.0 - 2.0 * v)  # N m
        >>> motor.force(0.0, 0.3, 5.0)
        30.0
    """

    law: Any = eqx.field(converter=law)
    """Function of the time in s, the joint's coordinate in rad (m) and its rate: N m (N) on the body beyond the joint,
    and back on its parent."""

    def force(self, t: Scalar, q: Scalar, v: Scalar) -> Any:
        """Generalised force in N m (N if the joint slides): what the law returns, which the model checks."""
        return _called(self.law, t, q, v)


@float64_default
class PrescribedJoint(JointDrive):
    """A joint coordinate that follows a prescribed motion, whatever moment that takes.

    Examples:
        >>> from jaxgait.models.tree.parts import PrescribedJoint
        >>> knee = PrescribedJoint("knee", lambda t: 0.5 * t**2)
        >>> print(*map(float, knee.at(2.0)))  # rad, rad/s, rad/s^2
        2.0 2.0 1.0
    """

    law: Any = eqx.field(converter=law)
    """Function of the time in s, twice differentiable: the coordinate in rad (m); `Sampled` goes through samples."""

    def at(self, t: Scalar) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]:
        """Coordinate in rad (m), its rate and its acceleration at a time in s."""

        def first(t: Array) -> tuple[Array, Array]:
            return jax.jvp(lambda t: jnp.asarray(self.law(t), dtype=t.dtype), (t,), (jnp.ones_like(t),))

        t = jnp.asarray(t, dtype=jnp.result_type(float))
        (q, v), (_, a) = jax.jvp(first, (t,), (jnp.ones_like(t),))
        return q, v, a


@float64_default
class Force(Immutable):
    """An external force at a point of a body; a push shorter than the steps may be missed (`max_step`).

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.tree.parts import Force
        >>> wind = Force("trunk", lambda t, position, velocity: jnp.array([-20.0, 0.0, 0.0]))  # N
        >>> print(wind.force(0.0, jnp.zeros(3), jnp.zeros(3)))
        [-20.   0.   0.]
    """

    body: str = eqx.field(static=True)
    law: Any = eqx.field(converter=law)
    """Function of the time in s, the point's position (3,) in m and velocity (3,) in m/s: force (3,) in N; all in world
    axes."""
    position: tuple[Any, ...] | Any = parameter(
        (0.0, 0.0, 0.0), unit="m", doc="point in the body's frame", plausible=ANY
    )

    def force(self, t: Scalar, position: Float[Array, " 3"], velocity: Float[Array, " 3"]) -> Array:
        """Force in N in world axes: what the law returns, which the model checks."""
        return jnp.asarray(_called(self.law, t, position, velocity), dtype=position.dtype)


@float64_default
class LockedJoint(JointDrive):
    """A joint coordinate that stays where it is, whatever force that takes, such as that of a foot on the ground.

    It has no velocity; an event may put it elsewhere, and an impact may free it (`TreeModel.after_impact`).

    Examples:
        >>> from jaxgait.models.tree.parts import LockedJoint
        >>> print(LockedJoint("knee").joint)
        knee
    """


def takes(law: Any, count: int, **named: Any) -> bool:
    """Whether a law can be called with this many arguments and these by name.

    Examples:
        >>> from jaxgait.models.tree.parts import takes
        >>> takes(lambda t, q, v: 40.0, 3), takes(lambda t: 40.0, 3)  # N m
        (True, False)
    """
    function = law.function if isinstance(law, Function) else getattr(law, "force", law)
    try:
        inspect.signature(function).bind(*range(count), **named)
    except TypeError:
        return False
    except ValueError:  # functions of C have no signature
        return True
    return True


def _check_order(ends: Any, label: str) -> None:
    """Rejects a range, `lowest` to `highest`, that ends before it begins; both may have a batch axis."""
    if is_concrete((ends.lowest, ends.highest)) and np.any(np.asarray(ends.lowest) > np.asarray(ends.highest)):
        raise ParameterError(
            f"{label}.lowest must not exceed {label}.highest, got {shown(ends.lowest)} and {shown(ends.highest)}"
        )


def _called(law: Any, *args: Any) -> Any:
    return law.force(*args) if hasattr(law, "force") else law(*args)
