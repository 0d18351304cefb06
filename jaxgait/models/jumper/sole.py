"""The flexible sole: small rubber hemispheres that press, stick, slip and lift off one by one."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxgait.fields import Immutable
from jaxgait.mechanics.contact import HystereticHertz, ImpactHertz, NormalLaw, hertz_stiffness
from jaxgait.mechanics.friction import (
    Bristle,
    Coulomb,
    FrictionLaw,
    Incremental,
    Stribeck,
    contact_force,
    normal_force,
)
from jaxgait.mechanics.linalg import stacked
from jaxgait.model import Scalar, parameter
from jaxgait.parameters import CHOSEN, ParameterError, part
from jaxgait.precision import float64_default

_PAPER = "Chen, Yan, Jin 2003"


class StudForces(NamedTuple):
    """Forces on the studs."""

    normal: Float[Array, " ..."]
    """Normal force in N, upward."""
    tangential: Float[Array, "... axes"]
    """Friction force in N."""
    bristle_rate: Float[Array, "... axes"] | None
    """Rate of the bristles in m/s, if any."""
    approach_rate: Float[Array, " ..."] | None = None
    """Rate of the remembered approach speeds in m/s^2 (`ImpactHertz` only)."""


@float64_default
class Sole(Immutable):
    """Rows of hemispheres under each foot, and the laws of their contact with the ground.

    Examples:
        >>> import jax.numpy as jnp
        >>> from jaxgait.models.jumper.sole import Sole
        >>> sole = Sole()
        >>> print(round(1e-6 * float(sole.stiffness), 2))  # MN/m^1.5: 4/3 E / (1 - nu^2) sqrt(R)
        1.75
        >>> forces = sole.forces(jnp.array([1e-3]), jnp.zeros(1), jnp.zeros((1, 1)), jnp.zeros((1, 1)))
        >>> print(round(float(forces.normal[0]), 1))  # N at 1 mm
        55.5
        >>> print(type(sole.normal_law).__name__, type(sole.friction_law).__name__, type(sole.stepped_law).__name__)
        HystereticHertz Bristle Incremental
        >>> bristles, approach = sole.memories(1, 1)
        >>> print(sole.row_positions.shape, bristles.shape, approach)
        (6,) (1, 1) None
        >>> stepped = sole.step(jnp.array([1e-3]), jnp.zeros(1), jnp.array([[0.1]]), bristles, dt=1e-4)
        >>> print(bool(stepped.tangential[0, 0] < 0.0))
        True
        >>> sole.validate()
    """

    modulus: Scalar = parameter(
        10e6, unit="Pa", doc="Young's modulus of the studs", bounds="positive", source=CHOSEN, of="normal"
    )
    poisson: Scalar = parameter(0.49, unit="1", doc="Poisson's ratio", bounds="nonnegative", source=CHOSEN, of="normal")
    radius: Scalar = parameter(0.010, unit="m", doc="radius of a stud", bounds="positive", source=CHOSEN)
    restitution: Scalar = parameter(
        0.5, unit="1", doc="coefficient of restitution", bounds="fraction", source=CHOSEN, of="normal"
    )
    approach_speed: Scalar = parameter(
        0.2,
        unit="m/s",
        doc="approach speed that restitution refers to (with ImpactHertz, the smallest one)",
        bounds="positive",
        source=CHOSEN,
        of="normal",
    )
    static_friction: Scalar = parameter(
        0.9, unit="1", doc="friction coefficient at breakaway", bounds="positive", source=CHOSEN, of="friction"
    )
    kinetic_friction: Scalar = parameter(
        0.7, unit="1", doc="friction coefficient while sliding", bounds="positive", source=CHOSEN, of="friction"
    )
    stribeck_velocity: Scalar = parameter(
        0.006,
        unit="m/s",
        doc="slip velocity of the change from static to kinetic friction",
        bounds="positive",
        source=_PAPER,
        of="friction",
    )
    bristle_stiffness: Scalar = parameter(
        1500.0,
        unit="1/m",
        doc="shear stiffness of the bristles per load",
        bounds="positive",
        source=CHOSEN,
        of="friction",
    )
    bristle_damping: Scalar = parameter(
        1.0,
        unit="s/m",
        doc="shear damping of the bristles per load",
        bounds="nonnegative",
        source=CHOSEN,
        of="friction",
    )
    release_time: Scalar = parameter(
        0.02,
        unit="s",
        doc="relaxation time of the bristles of a lifted stud",
        bounds="positive",
        source=CHOSEN,
        of="friction",
    )
    shear_stiffness: Scalar = parameter(
        4.3e4,
        unit="N/m",
        doc="shear stiffness of a stud in the incremental law",
        bounds="positive",
        source=CHOSEN,
        of="friction",
    )
    drop: Scalar = parameter(
        0.068, unit="m", doc="height of the ankle above the stud tips", bounds="positive", source=CHOSEN
    )
    rows: tuple[Scalar, ...] = parameter(
        (-0.045, -0.003, 0.039, 0.081, 0.123, 0.165),
        unit="m",
        doc="positions of the rows of studs ahead of the ankle",
        source=CHOSEN,
    )
    columns: tuple[Scalar, ...] = parameter(
        (-0.030, 0.030), unit="m", doc="positions of the columns of studs left of the foot's midline", source=CHOSEN
    )
    normal: NormalLaw | ImpactHertz | None = part(
        None, doc="law of a stud's normal force", standard="HystereticHertz", options=(HystereticHertz(), ImpactHertz())
    )
    friction: FrictionLaw | Incremental | None = part(
        None,
        doc="law of a stud's friction",
        standard="Bristle",
        options=(
            Bristle(0.9, 0.7, 0.006),
            Coulomb(0.7, 0.006, "algebraic"),
            Stribeck(0.9, 0.7, 0.006, 0.006, "algebraic"),
            Incremental(),
        ),
    )

    @property
    def stiffness(self) -> Scalar:
        """Hertz's constant in N/m^1.5 of one stud by default."""
        return hertz_stiffness(self.modulus, self.poisson, self.radius)

    @property
    def normal_law(self) -> NormalLaw | ImpactHertz:
        """The law of the normal force."""
        return self.normal or HystereticHertz(self.stiffness, self.restitution, self.approach_speed)

    @property
    def friction_law(self) -> FrictionLaw | Incremental:
        """The law of friction."""
        return self.friction or Bristle(
            self.static_friction,
            self.kinetic_friction,
            self.stribeck_velocity,
            self.bristle_stiffness,
            self.bristle_damping,
            self.release_time,
        )

    @property
    def stepped_law(self) -> Incremental:
        """The law of friction for time steps.

        Raises:
            ParameterError: if `friction` is another law.
        """
        if isinstance(self.friction, Incremental):
            return self.friction
        if self.friction is not None:
            raise ParameterError(f"time steps need sole.friction to be Incremental(...), got {self.friction!r}")
        return Incremental(self.static_friction, self.kinetic_friction, self.stribeck_velocity, self.shear_stiffness)

    @property
    def row_positions(self) -> Float[Array, " rows"]:
        """Positions of the rows ahead of the ankle in m."""
        return stacked(self.rows)

    def memories(self, *shape: int) -> tuple[Float[Array, " ..."] | None, Float[Array, " ..."] | None]:
        """Bristles in m and remembered approach speeds in m/s at rest; None for laws without that memory.

        Args:
            shape: of the studs' sliding velocities, the number of studs first.
        """
        law, normal = self.friction_law, self.normal_law
        bristle = jnp.zeros(shape) if isinstance(law, Incremental) else law.at_rest(*shape)
        return bristle, normal.at_rest(shape[0]) if isinstance(normal, ImpactHertz) else None

    def forces(
        self,
        depth: Float[Array, " ..."],
        rate: Float[Array, " ..."],
        velocity: Float[Array, "... axes"],
        bristle: Float[Array, "... axes"] | None,
        approach: Float[Array, " ..."] | None = None,
    ) -> StudForces:
        """Forces on single studs.

        Args:
            depth: compression in m.
            rate: its rate in m/s.
            velocity: sliding velocity of the foot's material at the contact, one or two axes, m/s.
            bristle: deflections in m, if any.
            approach: remembered approach speeds in m/s, for `ImpactHertz`.

        Raises:
            ParameterError: for a friction law that needs time steps.
        """
        law = self.friction_law
        if isinstance(law, Incremental):
            raise ParameterError("sole.friction is Incremental, which needs time steps: run scheme='Marching'")
        found = contact_force(self.normal_law, law, depth, rate, velocity, bristle, approach=approach, axes=True)
        return StudForces(*found, self._approach_rate(depth, rate, approach))

    def step(
        self,
        depth: Float[Array, " ..."],
        rate: Float[Array, " ..."],
        velocity: Float[Array, "... axes"],
        deflection: Float[Array, "... axes"] | None,
        dt: Scalar,
        approach: Float[Array, " ..."] | None = None,
    ) -> StudForces:
        """`forces` by the paper's incremental friction law over a time step `dt` in s."""
        law = self.stepped_law
        assert deflection is not None
        normal = normal_force(self.normal_law, depth, rate, approach)
        force, after = law.step(velocity, normal, deflection, dt)
        return StudForces(normal, force, (after - deflection) / dt, self._approach_rate(depth, rate, approach))

    def _approach_rate(
        self, depth: Float[Array, " ..."], rate: Float[Array, " ..."], approach: Float[Array, " ..."] | None
    ) -> Float[Array, " ..."] | None:
        """Rate in m/s^2 of the remembered approach speeds, if any."""
        law = self.normal_law
        return law.memory_rate(depth, rate, approach) if isinstance(law, ImpactHertz) else None

    def validate(self) -> None:
        """Rejects an impossible rubber or friction.

        Raises:
            ParameterError: naming the parameter and the bound.
        """
        own = {"poisson": 0.5, "restitution": 1.0} if self.normal is None else {}
        for name, upper in own.items():
            worst = float(np.max(np.asarray(getattr(self, name), dtype=float)))
            if worst > upper:
                raise ParameterError(f"sole.{name} must be at most {upper:g}, got {worst:g}")
        static, kinetic = np.broadcast_arrays(np.asarray(self.static_friction), np.asarray(self.kinetic_friction))
        if self.friction is None and (wrong := static < kinetic).any():
            got = f"got {static[wrong][0]:g} and {kinetic[wrong][0]:g}"
            raise ParameterError(f"sole.static_friction must not be below sole.kinetic_friction, {got}")
