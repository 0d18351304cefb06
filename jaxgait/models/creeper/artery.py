"""Blood in an artery: the pulsating inflow and its forces on a cylinder that nearly fills the vessel.

      wall  ////////////////////////////////////////////
                     h   ______________
      u(t)   ->          | D           |   -> v            pipe diameter D + 2 h
                         |_____________|
            ////////////////////////////////////////////

    A_p u = q + A v                                   continuity, flow q in the gap
    q = pi D h^3 dp / (12 eta L) + pi D h v / 2       thin gap: pressure and shear flow
    p_d = C rho (u - v) |u - v| / 2                   dynamic pressure        | on the face that meets
    p_h = kappa rho a u                               pulse wave (Joukowsky)  | the flow only

Source: Zhao et al. 2010 (see `model`), eqs. (1)-(5), with fraction bars restored, the dynamic pressure of the relative
flow, and `dp` from continuity (the printed (4) adds the wave speed to the flow speed).
"""

from __future__ import annotations

import math
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxgait.fields import Immutable
from jaxgait.model import Scalar, parameter
from jaxgait.parameters import CHOSEN, ParameterError, choice
from jaxgait.precision import float64_default
from jaxgait.support.checks import shown

PAPER = "Zhao 2010"
SYSTOLE_END = 0.24
"""Duration in s of the forward flow."""
VALVE_CLOSURE = 0.27
"""Time in s at which the valve closes; there is no flow until the next beat."""
_VELOCITIES = (0.0, 20.0)
"""Plausible amplitudes in m/s: the paper's numbers are in cm/s."""
_PRINTED_RATE = 13.09  # rad/s, printed for both pieces: pi / 0.24


@float64_default
class Inflow(Immutable):
    """Mean velocity in the vessel over a heart beat, eq. (1): a forward lobe, a short back-flow, rest.

    The heart rate changes only the rest.

    Examples:
        >>> from jaxgait.models.creeper.artery import Inflow
        >>> flow = Inflow(amplitude=2.4, decay=0.0, direction=-1.0)
        >>> print(round(float(flow(0.12)), 6), float(flow(0.5)) + 0.0)  # m/s, in mid-systole and at rest
        -2.4 0.0
    """

    heart_period: Scalar = parameter(
        0.8, unit="s", doc="duration of a heartbeat", bounds="positive", plausible=(0.0, 10.0), source=PAPER
    )
    phase: Scalar = parameter(0.0, unit="s", doc="phase of the heartbeat at t = 0", source=CHOSEN)
    amplitude: Scalar = parameter(
        2.4,
        unit="m/s",
        doc="velocity amplitude V_1 of the forward flow",
        bounds="nonnegative",
        plausible=_VELOCITIES,
        source=PAPER,
    )
    back_amplitude: Scalar = parameter(
        0.343,
        unit="m/s",
        doc="velocity amplitude V_2 of the back-flow",
        bounds="nonnegative",
        plausible=_VELOCITIES,
        source=PAPER,
    )
    decay: Scalar = parameter(7.557, unit="1/s", doc="decay rate kappa of the flow", bounds="nonnegative", source=PAPER)
    direction: Scalar = parameter(
        -1.0, unit="1", doc="direction of the forward flow: +1 along the robot, -1 against it", source=CHOSEN
    )
    backflow: Literal["closed", "printed"] = choice("closed", doc="end of the back-flow: at the closure, or as printed")
    """"closed": the back-flow ends at zero; "printed": it ends with a jump at 0.27 s, at the printed frequency."""

    def beat(self, s: Scalar) -> Float[Array, ""]:
        """Velocity in m/s at a time `s` in [0, heart period) after the valve opened, positive out of the heart."""
        back = s - SYSTOLE_END
        rate = math.pi / (VALVE_CLOSURE - SYSTOLE_END) if self.backflow == "closed" else _PRINTED_RATE
        forward = s <= SYSTOLE_END
        local = jnp.where(forward, s, back)
        lobe = jnp.exp(-self.decay * local) * jnp.sin(jnp.where(forward, math.pi / SYSTOLE_END, rate) * local)
        return jnp.where(forward, self.amplitude, jnp.where(s <= VALVE_CLOSURE, -self.back_amplitude, 0.0)) * lobe

    def __call__(self, t: Scalar) -> Float[Array, ""]:
        """Flow velocity in m/s along the robot's forward axis at time `t` in s."""
        return self.direction * self.beat(jnp.mod(t + self.phase, self.heart_period))

    def validate(self) -> None:
        """Rejects a beat in which the valve does not close, and a flow that is neither along nor against the robot.

        Raises:
            ParameterError: naming the value and the bound.
        """
        shortest = float(np.min(self.heart_period))
        if shortest < VALVE_CLOSURE:
            raise ParameterError(
                f"inflow.heart_period must be at least {VALVE_CLOSURE:g} s (the valve closes), got {shortest:g} s"
            )
        if np.any(np.abs(self.direction) != 1.0):
            raise ParameterError(f"inflow.direction must be 1 or -1, got {shown(self.direction)}")


@float64_default
class Blood(Immutable):
    """A Newtonian liquid in an elastic vessel, and the pressures it exerts.

    Examples:
        >>> from jaxgait.models.creeper.artery import Blood
        >>> blood = Blood(density=1060.0, wave_speed=5.0)
        >>> print(float(blood.dynamic_pressure(2.0, 0.0)), float(blood.wave_pressure(2.0)))  # Pa
        2120.0 10600.0
    """

    density: Scalar = parameter(
        1060.0,
        unit="kg/m^3",
        doc="density rho of the blood",
        plausible=(500.0, 2000.0),
        bounds="positive",
        source=CHOSEN,
    )
    viscosity: Scalar = parameter(
        3.8e-3, unit="Pa s", doc="viscosity eta of the blood", plausible=(5e-4, 0.1), bounds="positive", source=CHOSEN
    )
    drag: Scalar = parameter(
        1.0, unit="1", doc="drag coefficient C of the blunt face", bounds="nonnegative", source=CHOSEN
    )
    wave_speed: Scalar = parameter(
        5.0, unit="m/s", doc="speed a of the pulse wave", bounds="nonnegative", source=CHOSEN
    )
    hammer: Scalar = parameter(
        1.0,
        unit="1",
        doc="share kappa_h of the pulse-wave pressure that acts (0: none)",
        bounds="nonnegative",
        source=PAPER,
    )

    def dynamic_pressure(self, u: Scalar, v: Scalar) -> Float[Array, ""]:
        """Pressure in Pa of the flow `u` on a face that moves with `v` (m/s)."""
        return 0.5 * self.drag * self.density * (u - v) * jnp.abs(u - v)

    def wave_pressure(self, u: Scalar) -> Scalar:
        """Pressure in Pa of the pulse wave of a flow `u` (m/s)."""
        return self.hammer * self.density * self.wave_speed * u

    def gap_pressure(self, u: Scalar, v: Scalar, diameter: Scalar, clearance: Scalar, length: Scalar) -> Scalar:
        """Pressure drop in Pa over a cylinder (m) moving with `v` in a flow `u` (m/s); positive: it pushes forward.

        From continuity of the flow through the gap.
        """
        pipe = math.pi * (diameter + 2.0 * clearance) ** 2 / 4.0
        gap_flow = pipe * u - math.pi * diameter**2 / 4.0 * v
        shear = math.pi * diameter * clearance * v / 2.0
        return 12.0 * self.viscosity * length * (gap_flow - shear) / (math.pi * diameter * clearance**3)
