"""The walker with compliant feet, as one smooth vector field; `round_feet` has the sketch and the coordinates.

A foot that swings forward is ignored until it is ahead of the other one by a smooth gate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from jaxgait.mechanics.contact import HuntCrossley, NormalLaw
from jaxgait.mechanics.friction import Coulomb, FrictionLaw, contact_force
from jaxgait.model import Model, Numerics, Scalar, Variable, parameter
from jaxgait.models.walker import round_feet
from jaxgait.models.walker.round_feet import (
    OBSERVABLES,
    PAPER,
    BristledWalkerState,
    Foot,
    Generalised,
    RoundFeet,
    WalkerState,
)
from jaxgait.parameters import CHOSEN, choice, part

_CONTACT = ("stiffness", "dissipation", "smoothing_depth", "slip_velocity", "friction")
SETS: dict[str, dict[str, float]] = {
    name: dict(zip(_CONTACT, values, strict=True))
    for name, values in {
        "reference": (1e7, 200.0, 1e-7, 3e-4, 0.5),
        "recommended": (1e6, 50.0, 1e-6, 3e-4, 0.5),
        "cheap": (3e5, 50.0, 3.3e-6, 1e-3, 0.5),
        "borderline": (3e5, 20.0, 3.3e-6, 1e-3, 0.5),
        "too soft": (1e5, 50.0, 1e-5, 1e-3, 0.5),
    }.items()
}
"""Parameters of the default contact laws."""
MAX_START_PUSH = 5.0
"""Force in weights of the walker up to which the ground may push a foot at the start."""
MAX_GAIN = 1e-3
"""Energy, relative to the walker's weight times its leg length, that a foot may gain when it stops being ignored."""
MIN_GATE = 0.01
"""Share of its force from which a foot counts as no longer ignored."""


class Walker(RoundFeet, Model):
    """The walker with compliant feet (Hunt-Crossley) and regularised Coulomb friction: smooth, fast, differentiable.

    With the defaults, the period is that of the rigid walker within 0.03 %. Softer ground is cheaper but less accurate:
    the static sinkage 2 m g / stiffness should stay below 1e-4 m. With a `dissipation` of 50 s/m the impact is
    practically plastic. Other contact laws go into `normal` and `friction`.

    Examples:
        >>> from jaxgait.models import Walker
        >>> walker = Walker(stiffness=1e6)
        >>> print(type(walker.normal_law).__name__, walker.friction_law.coefficient, walker.duration)  # duration in s
        HuntCrossley 0.5 10.0
        >>> y = walker.initial_state()
        >>> (normal, friction), swing = walker.contact_forces(y)
        >>> print(round(float(normal), 1), round(float(friction), 1), round(float(swing[0]), 1))  # N
        20.4 1.0 0.0
    """

    friction: Scalar | FrictionLaw = parameter(
        0.5, unit="1", doc="friction coefficient", bounds="nonnegative", source=PAPER, standard="Coulomb"
    )
    stiffness: Scalar = parameter(
        1e6, unit="N/m", doc="contact stiffness", bounds="positive", of="normal", source=CHOSEN
    )
    dissipation: Scalar = parameter(
        50.0, unit="s/m", doc="Hunt-Crossley damping coefficient", bounds="nonnegative", of="normal", source=CHOSEN
    )
    smoothing_depth: Scalar = parameter(
        1e-6,
        unit="m",
        doc="depth over which contact sets in",
        plausible=(1e-9, 1e-2),
        bounds="positive",
        of="normal",
        source=CHOSEN,
    )
    slip_velocity: Scalar = parameter(
        3e-4,
        unit="m/s",
        doc="slip velocity over which friction sets in",
        bounds="positive",
        of="friction",
        source=CHOSEN,
    )
    clearance_angle: Scalar = round_feet.clearance_angle(0.15, of="scuffs", source=CHOSEN)
    clearance_width: Scalar = parameter(
        0.01, unit="rad", doc="smoothing of the clearance angle", bounds="positive", of="scuffs", source=CHOSEN
    )
    swing_rate: Scalar = parameter(
        0.1,
        unit="rad/s",
        doc="angular velocity over which swinging forward sets in",
        bounds="positive",
        of="scuffs",
        source=CHOSEN,
    )
    normal: NormalLaw | None = part(None, doc="law of the ground's normal force", standard="HuntCrossley")
    scuffs: bool = choice(False, doc="whether a foot that swings forward feels the ground, too")

    duration: ClassVar[float] = 10.0
    """Duration in s, some 24 steps, to settle on the periodic gait."""
    measures: ClassVar[str] = "jaxgait.models.walker.measures:MEASURES"
    scene: ClassVar[str] = "jaxgait.models.walker.scene:scene"
    presets: ClassVar[Mapping[str, Mapping[str, float]]] = SETS
    variables: ClassVar[Mapping[str, Variable]] = {
        **OBSERVABLES,
        "bristle_1": Variable("m", "deflection of the friction's bristle under foot 1"),
        "bristle_2": Variable("m", "deflection of the friction's bristle under foot 2"),
        "normal_1": Variable("N", "normal force on foot 1"),
        "normal_2": Variable("N", "normal force on foot 2"),
        "tangent_1": Variable("N", "friction force on foot 1"),
        "tangent_2": Variable("N", "friction force on foot 2"),
        "impact_power": Variable("W", "power of the normal forces (spring and impact loss)"),
        "friction_power": Variable("W", "power of the friction forces"),
    }
    endings: ClassVar[Mapping[str, str]] = {
        "scuffed": "a swing foot that was ignored is so deep in the ground that its spring would throw the walker up: "
        "give the ground's normal law more damping"
    }
    # Values need 1e-6 only, but then steps cross the contact layer too coarsely for derivatives: up to 30 % wrong.
    numerics: ClassVar[Numerics] = Numerics(stiff=True, rtol=1e-8, atol=1e-8, first_step=1e-6, max_step=0.02)

    @property
    def normal_law(self) -> NormalLaw:
        """The law of the normal force."""
        return self.normal or HuntCrossley(self.stiffness, self.dissipation, 1.0 / self.smoothing_depth)

    @property
    def friction_law(self) -> FrictionLaw:
        """The law of friction."""
        if isinstance(self.friction, FrictionLaw):
            return self.friction
        return Coulomb(self.friction, self.slip_velocity, "tanh")

    def validate(self) -> None:
        """Rejects walkers that cannot stand, and a start so deep in the ground that it throws the walker up.

        Raises:
            ParameterError: naming what is impossible, and the start that would be right.
        """
        super().validate()
        self.check_start(-np.inf if self.scuffs else self.clearance_angle, type(self)._pushes)

    def _pushes(self) -> Array:
        limit = MAX_START_PUSH * 2.0 * self.mass * self.gravity
        return jnp.stack([self.normal_law.force(-foot.gap, 0.0) > limit for foot in self.feet(self.started())])

    def initial_state(self) -> WalkerState | BristledWalkerState:
        """The paper's start unless `start` differs; the memory of friction, if any, at rest."""
        start, memory = self.started(), self.friction_law.at_rest()
        return start if memory is None else BristledWalkerState(*start, memory, memory)

    def vector_field(self, t: Scalar, y: WalkerState | BristledWalkerState) -> WalkerState | BristledWalkerState:
        """Velocities, accelerations, and the rates of friction's memory, if any."""
        del t
        inertia = self.inertia_at(y.theta_1, y.theta_2)
        feet = self.feet(y)
        forces, memory_rates = self._contacts(y, feet)
        load = self._generalised(feet, forces)
        total = Generalised(*(h + f for h, f in zip(self.forces(inertia, y), load, strict=True)))
        rates = (y.vx, y.vy, y.omega_1, y.omega_2, *inertia.solve(total))
        return WalkerState(*rates) if memory_rates[0] is None else BristledWalkerState(*rates, *memory_rates)

    def outputs(self, t: Scalar, y: WalkerState | BristledWalkerState) -> dict[str, Array]:
        """See `variables`."""
        del t
        feet = self.feet(y)
        (n1, t1), (n2, t2) = self._contacts(y, feet)[0]
        return {
            **self.observables(y),
            "normal_1": n1,
            "normal_2": n2,
            "tangent_1": t1,
            "tangent_2": t2,
            "impact_power": n1 * feet[0].gap_rate + n2 * feet[1].gap_rate,
            "friction_power": t1 * feet[0].slip + t2 * feet[1].slip,
        }

    def terminations(self) -> Mapping[str, Callable[[Scalar, Any], Bool[Array, ""]]]:
        """The walker may fall; and where its swing foot scuffs, ignoring the foot may not create energy."""
        return {"fell": lambda t, y: self.fell(y), "scuffed": self._scuffed}

    def contact_forces(self, y: WalkerState | BristledWalkerState) -> tuple[tuple[Scalar, Scalar], ...]:
        """Normal and tangential force in N on each foot."""
        return self._contacts(y, self.feet(y))[0]

    def _contacts(
        self, y: WalkerState | BristledWalkerState, feet: tuple[Foot, Foot]
    ) -> tuple[tuple[tuple[Scalar, Scalar], ...], list[Array | None]]:
        """Normal and tangential force in N on each foot, and the rates of friction's memory there."""
        law, lead, forces, rates = self.normal_law, y.theta_1 - y.theta_2, [], []
        memories = (getattr(y, "bristle_1", None), getattr(y, "bristle_2", None))
        for foot, omega, ahead, memory in zip(feet, (y.omega_1, y.omega_2), (lead, -lead), memories, strict=True):
            touch, gate = (-foot.gap, -foot.gap_rate, foot.slip), self._gate(omega, ahead)
            found = contact_force(law, self.friction_law, *touch, memory, gate=gate)
            forces.append((found.normal, found.tangential))
            rates.append(found.memory_rate)
        return tuple(forces), rates

    def _gate(self, omega: Scalar, lead: Scalar) -> Scalar:
        """Nearly 0 for a foot that swings forward and is not yet ahead of the other one, nearly 1 otherwise."""
        if self.scuffs:
            return 1.0
        behind = jax.nn.sigmoid((self.clearance_angle - lead) / self.clearance_width)
        return 1.0 - behind * jax.nn.sigmoid(omega / self.swing_rate)

    def _scuffed(self, t: Scalar, y: WalkerState | BristledWalkerState) -> Bool[Array, ""]:
        """Whether a foot that is no longer ignored is so deep in the ground that its spring releases much energy.

        This energy was never put in. How much of it the damping leaves is estimated from the force at the speed at
        which an undamped spring would throw the whole walker up.
        """
        del t
        law, lead, gains = self.normal_law, y.theta_1 - y.theta_2, []
        for foot, omega, ahead in zip(self.feet(y), (y.omega_1, y.omega_2), (lead, -lead), strict=True):
            gate, stored = self._gate(omega, ahead), law.energy(-foot.gap)
            undamped, thrown = law.force(-foot.gap, 0.0), law.force(-foot.gap, -jnp.sqrt(stored / self.mass))
            left = jnp.where(undamped > 0.0, thrown / undamped, 0.0)
            gains.append(jnp.where(gate > MIN_GATE, (1.0 - gate) * stored * left, 0.0))
        return jnp.maximum(*gains) > MAX_GAIN * 2.0 * self.mass * self.gravity * self.leg_length

    @staticmethod
    def _generalised(feet: tuple[Foot, Foot], forces: tuple[tuple[Scalar, Scalar], ...]) -> Generalised:
        (n1, t1), (n2, t2) = forces
        moments = (f.normal_arm * n + f.tangent_arm * t for f, (n, t) in zip(feet, forces, strict=True))
        return Generalised(t1 + t2, n1 + n2, *moments)
