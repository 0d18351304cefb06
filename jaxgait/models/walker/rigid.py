"""The round-foot walker with rigid feet: for time stepping with friction and impact, and as a hybrid system.

`round_feet` has the sketch, the coordinates and what all forms share.

`RigidWalker` can slip, bounce and fly; `RollingWalker` is the classical step-to-step model: the stance foot rolls
without slip, the heel strike is plastic, the old stance foot leaves at once.

Source: Duan et al. 2011 (see there); McGeer, Int. J. Robotics Res. 9 (1990) 62.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxgait.batches import each, of_worst
from jaxgait.kinds import Contact, Kinetics, Step, Transition
from jaxgait.mechanics import linalg
from jaxgait.model import Model, Numerics, Scalar, Variable, parameter
from jaxgait.models.walker import round_feet
from jaxgait.models.walker.round_feet import OBSERVABLES, PAPER, Foot, Generalised, RoundFeet, WalkerState
from jaxgait.parameters import ParameterError
from jaxgait.precision import float64_default
from jaxgait.roots import only_if
from jaxgait.support import checks

_SILENT = "chosen; the paper is silent"
TIPPING_ANGLE = math.pi / 4
"""Angle in rad of the stance leg beyond which the walker falls over."""
MIN_SWING = 0.74
"""Time without contact that makes the next contact a heel strike, not a bounce, in units of sqrt(leg length / gravity):
a third of a step (0.15 s of the paper's walker)."""
BOTH_DOWN = 1e-6
"""Sum of the leg angles in rad at which both feet are on the ground."""
PROBED_ANGLES = 33
"""Leg angles from the upright to the start at which the friction is compared with its limit."""
STICTION_SPEED = 1e-6
"""Slip velocity in m/s below which a foot at the friction cone sticks."""
CONE_TOLERANCE = 1e-12
"""Distance in N s to the friction cone within which an impulse lies on it."""


class RigidWalker(RoundFeet, Model):
    """The walker with rigid feet, Newton impacts and Coulomb friction, for `solve.time_stepping.TimeStepping`.

    A foot that swings forward is ignored until it is `clearance_angle` ahead of the other leg.

    Events are heel strikes and lift-offs: a foot that touches again within `separation` has bounced. Running totals
    cover what samples cannot show (see `amounts`).

    Examples:
        >>> from jaxgait.models import RigidWalker
        >>> walker = RigidWalker(friction=0.5)
        >>> print(walker.duration, walker.labels["foot"], walker.event_names()[0])
        50.0 (1, 2) foot 1 touches
        >>> y = walker.initial_state()
        >>> front, rear = walker.contacts(y)
        >>> print(front.friction, float(front.gap) < 1e-3, float(walker.separation) < 0.2)  # m, s
        0.5 True True
        >>> fall = walker.kinetics(y).solve(walker.kinetics(y).force)  # without contact
        >>> print(float(fall.y) < 0.0)  # m/s^2
        True
    """

    friction: Scalar = parameter(0.5, unit="1", doc="friction coefficient", bounds="nonnegative", source=PAPER)
    normal_restitution: Scalar = parameter(
        0.0, unit="1", doc="normal coefficient of restitution e_N", bounds="fraction", source=PAPER
    )
    tangent_restitution: Scalar = parameter(
        0.0, unit="1", doc="tangential coefficient of restitution e_T", bounds="fraction", source=PAPER
    )
    clearance_angle: Scalar = round_feet.clearance_angle(0.05, source=_SILENT)

    duration: ClassVar[float] = 50.0
    """Duration in s, some 120 steps: half of them to settle, half to evaluate."""
    labels: ClassVar[Mapping[str, Sequence[int]]] = {"foot": (1, 2)}
    measures: ClassVar[str] = "jaxgait.models.walker.measures:RIGID_MEASURES"
    scene: ClassVar[str] = "jaxgait.models.walker.scene:scene"
    variables: ClassVar[Mapping[str, Variable]] = {
        **OBSERVABLES,
        "slipped_1": Variable("m", "distance slipped by foot 1"),
        "slipped_2": Variable("m", "distance slipped by foot 2"),
        "impulse_1": Variable("N s", "sum of the normal impulses on foot 1"),
        "impulse_2": Variable("N s", "sum of the normal impulses on foot 2"),
        "flight_time": Variable("s", "time with both feet in the air"),
        "impact_work": Variable("J", "work of impacts"),
        "friction_work": Variable("J", "work of sliding friction"),
    }
    numerics: ClassVar[Numerics] = Numerics(stiff=True, dt=1e-4)

    @property
    def separation(self) -> Scalar:
        """Time in s within which a foot that touches again has bounced: `MIN_SWING`, as a time of this walker."""
        return MIN_SWING * jnp.sqrt(self.leg_length / self.gravity)

    def event_names(self) -> tuple[str, ...]:
        """Heel strike and lift-off of each foot."""
        return "foot 1 touches", "foot 1 leaves", "foot 2 touches", "foot 2 leaves"

    def outputs(self, t: Scalar, y: WalkerState) -> dict[str, Array]:
        """See `variables`."""
        del t
        return {name: jnp.asarray(x) for name, x in self.observables(y).items()}

    def terminations(self) -> Mapping[str, Callable[[Scalar, WalkerState], Bool[Array, ""]]]:
        """The run ends when the walker falls."""
        return {"fell": lambda t, y: jnp.asarray(self.fell(y))}

    def amounts(self, step: Step, dt: Scalar) -> dict[str, Array]:
        """What a step of `dt` s adds to slip, impulses, flight time and losses (see `variables`).

        A foot slips if its tangential impulse lies on the friction cone. That of a sticking foot does work only at its
        impact, and is counted there.
        """
        normal, tangent = step.impulses[::2], step.impulses[1::2]
        slips = [
            (jnp.abs(t) >= self.friction * n - CONE_TOLERANCE) & (n > 0.0) for n, t in zip(normal, tangent, strict=True)
        ]
        slid = [
            jnp.where(slipping & (jnp.abs(v) > STICTION_SPEED), jnp.abs(v), 0.0)
            for slipping, v in zip(slips, step.slips, strict=True)
        ]
        sliding = [jnp.where(slipping, w, 0.0) for slipping, w in zip(slips, step.work[1::2], strict=True)]
        friction = sliding[0] + sliding[1]
        touching = (normal[0] > 0.0) | (normal[1] > 0.0)
        return {
            "slipped_1": dt * slid[0],
            "slipped_2": dt * slid[1],
            "impulse_1": normal[0],
            "impulse_2": normal[1],
            "flight_time": dt * jnp.where(touching, 0.0, 1.0),
            "impact_work": sum(step.work) - friction,
            "friction_work": friction,
        }

    def validate(self) -> None:
        """Rejects impossible walkers and starts; warns where contact impulses need not be unique.

        Raises:
            ParameterError: naming what is impossible, and the start that would be right.
        """
        super().validate()
        self.check_start(self.clearance_angle)
        (limit, angle), mu = each(self, _least_friction_limit), np.asarray(self.friction)
        if np.any(mu > limit):
            mu, limit, angle = of_worst(mu - limit, mu, limit, angle)
            checks.warn_user(
                f"friction {mu:g} exceeds {limit:.3f}, beyond which contact impulses need not exist or be unique at a "
                f"leg angle of {angle:g} rad (Painleve's paradox)"
            )

    def initial_state(self) -> WalkerState:
        """The paper's start unless `start` differs."""
        return self.started()

    def kinetics(self, y: WalkerState) -> Kinetics:
        """Mass matrix, gravity and centrifugal forces."""
        inertia = self.inertia_at(y.theta_1, y.theta_2)
        return Kinetics(lambda force: inertia.solve(Generalised(*force)), self.forces(inertia, y))

    def contacts(self, y: WalkerState) -> tuple[Contact, Contact]:
        """Both feet."""
        lead = y.theta_1 - y.theta_2
        foot_1, foot_2 = self.feet(y)
        return (
            self._contact(foot_1, y.omega_1, lead, lambda one: (one, 0.0)),
            self._contact(foot_2, y.omega_2, -lead, lambda one: (0.0, one)),
        )

    def _contact(
        self, foot: Foot, omega: Scalar, lead: Scalar, legs: Callable[[Scalar], tuple[Scalar, Scalar]]
    ) -> Contact:
        """A foot as a contact; `legs` puts a value in the column of the foot's leg."""
        return Contact(
            gap=foot.gap,
            normal=Generalised(0.0, 1.0, *legs(foot.normal_arm)),
            tangent=Generalised(1.0, 0.0, *legs(foot.tangent_arm)),
            normal_rate=Generalised(0.0, 0.0, *legs(foot.centre * omega)),
            tangent_rate=Generalised(0.0, 0.0, *legs(-foot.normal_arm * omega)),
            friction=self.friction,
            normal_restitution=self.normal_restitution,
            tangent_restitution=self.tangent_restitution,
            enabled=~round_feet.swings_through(omega, lead, self.clearance_angle),
        )


def _least_friction_limit(walker: RigidWalker) -> tuple[Array, Array]:
    """The least `friction_limit` up to the larger angle at the start, and the angle in rad where it is."""
    largest = jnp.maximum(jnp.abs(walker.start.theta_1), jnp.abs(walker.start.theta_2))
    angles = largest * jnp.linspace(0.0, 1.0, PROBED_ANGLES)
    limits = jax.vmap(lambda angle: friction_limit(walker, angle))(angles)
    worst = jnp.argmin(limits)
    return limits[worst], angles[worst]


@float64_default
def friction_limit(walker: RoundFeet, theta: Scalar) -> Array:
    """Friction coefficient (a scalar, no dimension) above which contact impulses need not be unique: ``G_NN / |G_NT|``.

    Args:
        walker: its legs.
        theta: angle in rad of the leg on the ground; that of the other leg is opposite.

    Examples:
        >>> from jaxgait.models.walker.rigid import friction_limit
        >>> from jaxgait.models.walker.round_feet import RoundFeet
        >>> print(float(friction_limit(RoundFeet(), theta=0.2)) > 0.5)
        True
    """
    foot = walker.foot(WalkerState(*[0.0] * 8), theta, 0.0)
    normal, tangent = Generalised(0.0, 1.0, foot.normal_arm, 0.0), Generalised(1.0, 0.0, foot.tangent_arm, 0.0)
    inertia = walker.inertia_at(theta, -theta)
    to_normal, to_tangent = inertia.solve(normal), inertia.solve(tangent)
    return linalg.dot(normal, to_normal) / jnp.maximum(jnp.abs(linalg.dot(normal, to_tangent)), 1e-30)


class RollingState(NamedTuple):
    """Hip position x (m); angles (rad) and rates (rad/s) of the stance leg and of the swing leg."""

    x: Scalar
    stance: Scalar
    swing: Scalar
    stance_rate: Scalar
    swing_rate: Scalar


class HeelStrike(NamedTuple):
    """A plastic heel strike."""

    after: RollingState
    normal_impulse: Scalar
    """Normal impulse in N s on the landing foot."""
    tangent_impulse: Scalar
    trailing_rate: Scalar
    """Velocity in m/s with which the old stance foot leaves the ground; negative: it would not, and the walk ends."""
    energy_lost: Scalar
    """Energy lost in J."""


@float64_default
class RollingWalker(RoundFeet, Model):
    """The walker as a hybrid system: one phase (rolling on the stance foot), one event (heel strike, swaps the legs).

    A walk ends when the walker falls, when its stance foot leaves the ground, after which it would fly, and when the
    old stance foot does not leave it at heel strike, after which the walker would stand on both. Its gait is
    independent of friction, if the coefficient exceeds the largest impulse ratio.

    Examples:
        >>> from jaxgait.models import RollingWalker
        >>> walker = RollingWalker()
        >>> y = walker.initial_state()
        >>> normal, tangent = walker.stance_force(y)
        >>> print(0.0 < float(normal) < 2.0 * 9.8, walker.duration)  # N, s
        True 10.0
    """

    clearance_angle: Scalar = round_feet.clearance_angle(0.05, source=_SILENT)

    duration: ClassVar[float] = 10.0
    """Duration in s, some 24 steps."""
    measures: ClassVar[str] = "jaxgait.models.walker.measures:ROLLING_MEASURES"
    scene: ClassVar[str] = "jaxgait.models.walker.scene:scene"
    variables: ClassVar[Mapping[str, Variable]] = {
        "x": Variable("m", "hip position down the slope"),
        "stance": Variable("rad", "angle of the stance leg"),
        "swing": Variable("rad", "angle of the swing leg"),
        "stance_rate": Variable("rad/s", "angular velocity of the stance leg"),
        "swing_rate": Variable("rad/s", "angular velocity of the swing leg"),
        "hip_height": Variable("m", "hip height above the slope"),
        "swing_gap": Variable("m", "height of the swing foot"),
        "normal": Variable("N", "normal force on the stance foot"),
        "tangent": Variable("N", "tangential force on the stance foot, down the slope"),
        "kinetic_energy": Variable("J", "kinetic energy"),
        "potential_energy": Variable("J", "potential energy"),
        "energy": Variable("J", "mechanical energy"),
    }
    endings: ClassVar[Mapping[str, str]] = {
        "left the ground": "the normal force on the stance foot fell to zero: a rolling walker cannot fly",
        "double support": "both feet stay on the ground after a heel strike: a rolling walker stands on one",
    }
    numerics: ClassVar[Numerics] = Numerics(stiff=False, rtol=1e-9, atol=1e-10, max_step=0.01, max_steps=100_000)

    def validate(self) -> None:
        """Rejects impossible walkers; warns of a hip that is given at the start, though it follows from rolling.

        Raises:
            ParameterError: naming what is impossible, also a start so fast that the ground would have to pull.
        """
        super().validate()
        unused = ("y", "vx", "vy", "on_ground")
        checks.warn_unused(self.start, "start", unused, "the hip of a RollingWalker follows from its legs")
        self._check_pull()

    def _check_pull(self) -> None:
        normal = each(self, _load_at_start)
        worst = np.argmin(normal)
        if normal[worst] <= 0.0:
            member = f" (member {worst})" if len(normal) > 1 else ""
            raise ParameterError(
                f"the start of a RollingWalker{member} needs a ground that pulls its stance foot: the normal force is "
                f"{normal[worst]:.3g} N; take smaller angular velocities (start.omega_1, start.omega_2), or a "
                "RigidWalker, whose feet can leave the ground"
            )

    def outputs(self, t: Scalar, y: RollingState) -> dict[str, Array]:
        """See `variables`."""
        del t
        full = self.standing(y)
        normal, tangent = self.stance_force(y)
        kinetic, potential = self.energies(full)
        return {
            "hip_height": jnp.asarray(full.y),
            "swing_gap": jnp.asarray(self.feet(full)[1].gap),
            "normal": jnp.asarray(normal),
            "tangent": jnp.asarray(tangent),
            "kinetic_energy": jnp.asarray(kinetic),
            "potential_energy": jnp.asarray(potential),
            "energy": jnp.asarray(kinetic + potential),
        }

    def initial_state(self) -> RollingState:
        """Leg 1 of `start` on the ground; the hip follows from rolling."""
        y = self.start.state()
        return RollingState(y.x, y.theta_1, y.theta_2, y.omega_1, y.omega_2)

    def phases(self) -> Sequence[Callable[[Scalar, RollingState], RollingState]]:
        """Rolling on the stance foot."""
        return (self.roll,)

    def transitions(self) -> Mapping[str, Transition]:
        """Heel strike, and what ends a walk: a fall, a stance foot that leaves the ground, and one that does not.

        A leg that tips over loses the ground, too, shortly before the fall: that is a fall. A foot that leaves at the
        instant of its landing is not detected: that takes legs as fast as 6 rad/s.
        """
        ahead = lambda y: y.swing - y.stance > self.clearance_angle
        return {
            "heel strike": Transition(
                0,
                0,
                guard=lambda t, y: y.stance + y.swing,
                reset=lambda t, y: self.heel_strike(y).after,
                armed=lambda t, y: ahead(y),
            ),
            "fell": Transition(0, 0, guard=lambda t, y: jnp.asarray(self.balance(self.standing(y))), ends=True),
            "left the ground": Transition(
                0,
                0,
                guard=lambda t, y: jnp.asarray(self.stance_force(y)[0]),
                armed=lambda t, y: jnp.abs(y.stance) < TIPPING_ANGLE,
                ends=True,
            ),
            "double support": Transition(  # at the instant of a heel strike, after it
                0,
                0,
                guard=lambda t, y: y.stance + y.swing,
                armed=lambda t, y: ahead(y) | self._sinks(y),
                ends=True,
            ),
        }

    def standing(self, y: RollingState) -> WalkerState:
        """The full state, with leg 1 as the stance leg; the hip follows from rolling.

        Examples:
            >>> from jaxgait.models import RollingWalker
            >>> walker = RollingWalker()
            >>> full = walker.standing(walker.initial_state())
            >>> print(abs(float(walker.feet(full)[0].gap)) < 1e-12)  # m
            True
        """
        foot = self.foot(WalkerState(y.x, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), y.stance, y.stance_rate)
        return WalkerState(y.x, -foot.gap, y.stance, y.swing, -foot.slip, -foot.gap_rate, y.stance_rate, y.swing_rate)

    def roll(self, t: Scalar, y: RollingState) -> RollingState:
        """Vector field (SI units): the equations of motion projected on the two leg rates.

        With u = B w, B's first column being (-tangent_arm, -normal_arm, 1, 0): ``B^T M B w' = B^T (h - M B' w)``.

        Examples:
            >>> from jaxgait.models import RollingWalker
            >>> walker = RollingWalker()
            >>> y = walker.initial_state()
            >>> print(bool(walker.roll(0.0, y).stance == y.stance_rate))  # rad/s
            True
        """
        del t
        full = self.standing(y)
        inertia = self.inertia_at(y.stance, y.swing)
        foot, _ = self.feet(full)
        column = Generalised(-foot.tangent_arm, -foot.normal_arm, 1.0, 0.0)
        momentum = inertia.times(column)
        w2 = y.stance_rate**2
        bias = inertia.times(Generalised(foot.normal_arm * w2, -foot.centre * w2, 0.0, 0.0))
        load = Generalised(*(h - m for h, m in zip(self.forces(inertia, full), bias, strict=True)))
        a, b = linalg.solve2(
            [[linalg.dot(column, momentum), momentum.theta_2], [momentum.theta_2, inertia.leg]],
            [linalg.dot(column, load), load.theta_2],
        )
        return RollingState(full.vx, y.stance_rate, y.swing_rate, a, b)

    def heel_strike(self, y: RollingState) -> HeelStrike:
        """Plastic impact of the swing foot, without impulse on the trailing foot; the legs exchange roles.

        Examples:
            >>> from jaxgait.models import RollingWalker
            >>> walker = RollingWalker()
            >>> y = walker.initial_state()._replace(stance=-0.2, swing=0.2)
            >>> strike = walker.heel_strike(y)
            >>> print(float(strike.after.stance), float(strike.energy_lost) > 0.0)  # rad, J
            0.2 True
        """
        before = self.standing(y)
        inertia = self.inertia_at(y.stance, y.swing)
        trailing, landing = self.feet(before)
        normal = Generalised(0.0, 1.0, 0.0, landing.normal_arm)
        tangent = Generalised(1.0, 0.0, 0.0, landing.tangent_arm)
        to_normal, to_tangent = inertia.solve(normal), inertia.solve(tangent)
        cross = linalg.dot(normal, to_tangent)
        n, t = linalg.solve2(
            [[linalg.dot(normal, to_normal), cross], [cross, linalg.dot(tangent, to_tangent)]],
            [-landing.gap_rate, -landing.slip],
        )
        jump = [n * a + t * b for a, b in zip(to_normal, to_tangent, strict=True)]
        after = WalkerState(*before[:4], *(u + d for u, d in zip(before[4:], jump, strict=True)))
        leaving = after.vy + trailing.normal_arm * after.omega_1
        lost = self.energies(before)[0] - self.energies(after)[0]
        swapped = RollingState(y.x, y.swing, y.stance, after.omega_2, after.omega_1)
        return HeelStrike(swapped, n, t, leaving, lost)

    def stance_force(self, y: RollingState) -> tuple[Scalar, Scalar]:
        """Normal and tangential force in N on the rolling foot."""
        full, rates = self.standing(y), self.roll(0.0, y)
        inertia = self.inertia_at(y.stance, y.swing)
        foot, _ = self.feet(full)
        w2 = y.stance_rate**2
        ax = -foot.tangent_arm * rates.stance_rate + foot.normal_arm * w2
        ay = -foot.normal_arm * rates.stance_rate - foot.centre * w2
        load = inertia.times(Generalised(ax, ay, rates.stance_rate, rates.swing_rate))
        h = self.forces(inertia, full)
        return load.y - h.y, load.x - h.x

    def on_section(self, z: Float[Array, " 3"]) -> RollingState:
        """State just after a heel strike, from stance angle in rad, stance rate and swing rate in rad/s.

        Examples:
            >>> import jax.numpy as jnp
            >>> from jaxgait.models import RollingWalker
            >>> y = RollingWalker().on_section(jnp.array([0.2, -1.4, -1.1]))
            >>> print(float(y.stance), float(y.swing))  # rad, both feet on the ground
            0.2 -0.2
        """
        return RollingState(jnp.zeros_like(z[0]), z[0], -z[0], z[1], z[2])

    def section(self, y: RollingState) -> Float[Array, " 3"]:
        """Section coordinates (rad, rad/s, rad/s) of a state just after a heel strike, see `on_section`.

        NaN if both feet stay on the ground: no gait continues from there.

        Examples:
            >>> import jax.numpy as jnp
            >>> from jaxgait.models import RollingWalker
            >>> walker = RollingWalker()
            >>> print(walker.section(walker.on_section(jnp.array([0.2, -1.4, -1.1]))))  # rad, rad/s, rad/s
            [ 0.2 -1.4 -1.1]
        """
        return only_if(~self._sinks(y), jnp.stack([jnp.asarray(v) for v in (y.stance, y.stance_rate, y.swing_rate)]))

    def _sinks(self, y: RollingState) -> Bool[Array, ""]:
        """Whether the other foot is behind, on the ground, and comes down, so that it would sink into the ground."""
        behind = (jnp.abs(y.stance + y.swing) < BOTH_DOWN) & (y.swing < y.stance)
        return behind & (self.feet(self.standing(y))[1].gap_rate < 0.0)


def _load_at_start(walker: RollingWalker) -> Scalar:
    """Normal force in N on the stance foot."""
    return walker.stance_force(walker.initial_state())[0]
