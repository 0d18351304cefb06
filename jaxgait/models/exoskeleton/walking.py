"""Prescribed walking: the paper's analytical gait for the links of an exoskeleton, with our choice of its free numbers.

With w = 2 pi / T and c = cos(w t), for a link of the stance leg (upper signs) or of the swing leg (lower signs):

    elevation   psi = pi/2 + j sin[f - (1 -+ c) pi/2]   for shanks, cosine for thighs; the torso stays upright
    azimuth     phi = j sin(w t)                        for shanks, cosine for thighs and the torso
    length      l = l* (1 + eps sin(w t))               for all links but the swing shank, which has a minus

T is one stride of two steps; 0 <= t <= T/2 is one step on one leg. All elevation rates vanish at 0 and T/2: the gait
stops and starts again at every step.

Source: Borisov & Chigarev, section 7, eq. (26). The paper gives no values of T, j, f, l*, eps: ours make consecutive
steps join (`joined_amplitudes`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxgait.fields import Immutable
from jaxgait.mechanics.linalg import stacked
from jaxgait.model import Scalar, parameter
from jaxgait.models.exoskeleton.elements import Spatial
from jaxgait.models.exoskeleton.tree import Real
from jaxgait.parameters import ParameterError
from jaxgait.precision import float64_default

_OURS = "our choice; the paper gives none"
_SWING = 0.28  # rad, of all elevations at the exchange
_PHASE = np.array([np.pi / 2, 0.3, 0.3, 0.45, 0.0])
_TORSO = 0.1  # rad
MAX_SWING = np.pi / 2
"""Largest amplitude in rad of a link of a `JoinedGait`: beyond it legs would point upwards."""
EXCHANGE_ROUNDING = 1e-6
"""Relative rounding of the times at which legs exchange their roles, in float32 too."""


class Role(NamedTuple):
    """The role of a link in the gait."""

    cosine: bool
    """Whether the formulas have a cosine (thighs, torso), not a sine (shanks)."""
    swings: bool
    """Whether it belongs to the swing leg."""
    tilts: bool = True
    """Whether its elevation changes; otherwise it stays upright."""
    shortens: bool = False
    """Whether its length first decreases (a minus before eps)."""


STANCE_SHANK = Role(cosine=False, swings=False)
STANCE_THIGH = Role(cosine=True, swings=False)
SWING_THIGH = Role(cosine=True, swings=True)
SWING_SHANK = Role(cosine=False, swings=True, shortens=True)
TORSO = Role(cosine=True, swings=False, tilts=False)
FIVE_ROLES = (STANCE_SHANK, STANCE_THIGH, SWING_THIGH, SWING_SHANK, TORSO)


@float64_default
def step_numbers(time: Float[np.ndarray, " samples"], stride_time: float) -> Int[np.ndarray, " samples"]:
    """Number of the step, from 0, at each of the times in s; at the instant of an exchange, of the step that ends.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.models.exoskeleton.walking import step_numbers
        >>> print(step_numbers(np.array([0.0, 0.9, 1.0, 1.8, 1.9]), stride_time=1.8))  # s
        [0 0 1 1 2]
    """
    return np.floor(np.asarray(time, dtype=float) / (0.5 * stride_time) * (1.0 - EXCHANGE_ROUNDING)).astype(int)


@float64_default
def joined_amplitudes(swing: Scalar, phase: Float[Real, " n"]) -> Float[Array, " n"]:
    """Amplitudes j in rad with which consecutive steps of the five-link gait join without a jump.

    At the exchange of roles each leg is the mirror image of the other:
    j_1 sin f_1 = j_2 cos f_2 = j_3 cos f_3 = j_4 sin f_4 = `swing` for the elevations, and j_2 = j_3 for the azimuths.
    So give both thighs the same phase, f_2 = f_3; otherwise the steps do not join.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.models.exoskeleton.walking import joined_amplitudes
        >>> phase = np.array([np.pi / 2, np.pi / 3, np.pi / 3, np.pi / 6, 0.0])
        >>> print(joined_amplitudes(0.2, phase).round(6))  # rad
        [0.2 0.4 0.4 0.4 0.1]
    """
    return _joined(jnp, swing, phase)


def _joined(xp: Any, swing: Scalar, phase: Float[Real, " n"]) -> Any:
    """`joined_amplitudes` by NumPy or `jax.numpy`."""
    at_exchange = xp.stack([xp.sin(phase[0]), xp.cos(phase[1]), xp.cos(phase[2]), xp.sin(phase[3])])
    return xp.concatenate([swing / at_exchange, xp.asarray(_TORSO, dtype=at_exchange.dtype)[None]])


@float64_default
class WalkingGait(Immutable):
    """The analytical gait; by default our five-link example.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.models.exoskeleton.walking import WalkingGait
        >>> gait = WalkingGait(stride_time=1.8, stretch=0.03)
        >>> gait.validate(5)
        >>> print(gait.coordinates(0.45, 0.5 * np.ones(5)).l.round(4))  # m: the swing shank shortens
        [0.515 0.515 0.515 0.485 0.515]
    """

    amplitude: Float[Real, "*batch n"] = parameter(
        _joined(np, _SWING, _PHASE),
        unit="rad",
        doc="angular amplitudes of the links",
        source=_OURS,
    )
    phase: Float[Real, "*batch n"] = parameter(_PHASE, unit="rad", doc="phase angles of the links", source=_OURS)
    stride_time: Scalar = parameter(1.8, unit="s", doc="stride time, two steps", bounds="positive", source=_OURS)
    stretch: Scalar = parameter(0.03, unit="1", doc="relative change of the links' lengths", source=_OURS)
    roles: tuple[Role, ...] = eqx.field(static=True, default=FIVE_ROLES)

    def coordinates(self, t: Scalar, rest_lengths: Float[Real, " n"]) -> Spatial:
        """Angles (rad) and lengths (m) of the links at time `t` in s."""
        quarter = jnp.pi / 2
        angle = 2 * jnp.pi * t / self.stride_time
        numbers = [_numbers(role) for role in self.roles]
        shift, side, tilts, grows = jnp.asarray(numbers, dtype=jnp.asarray(self.phase).dtype).T
        argument = self.phase + quarter * shift - (1 - side * jnp.cos(angle)) * quarter
        psi = quarter + self.amplitude * tilts * jnp.sin(argument)
        phi = self.amplitude * jnp.sin(angle + quarter * shift)
        return Spatial(phi, psi, rest_lengths * (1 + self.stretch * grows * jnp.sin(angle)))

    def validate(self, n: int) -> None:
        """Rejects a gait that does not fit `n` links.

        Raises:
            ParameterError: naming what does not fit.
        """
        if len(self.roles) != n:
            raise ParameterError(f"the gait has roles for {len(self.roles)} links, the exoskeleton has {n}")
        for name in ("amplitude", "phase"):
            shape = np.shape(getattr(self, name))
            if not shape or shape[-1] != n:
                raise ParameterError(f"gait.{name} must have one entry per link ({n}), got the shape {shape}")
        _check_stretch(self.stretch)


@float64_default
class JoinedGait(Immutable):
    """The analytical gait of five links by the six numbers left free where consecutive steps join; by default our own.

    Examples:
        >>> import numpy as np
        >>> from jaxgait.models.exoskeleton.walking import JoinedGait
        >>> gait = JoinedGait(swing=0.2)
        >>> gait.validate(5)
        >>> print(gait.by_link().amplitude.shape)
        (5,)
        >>> tilt = gait.coordinates(0.0, np.ones(5)).psi - np.pi / 2
        >>> print(abs(tilt[:4]).round(6))  # rad at the exchange
        [0.2 0.2 0.2 0.2]
    """

    swing: Scalar = parameter(_SWING, unit="rad", doc="amplitude of all elevations at the exchange", source=_OURS)
    stance_shank: Scalar = parameter(np.pi / 2, unit="rad", doc="phase angle of the stance shank", source=_OURS)
    thighs: Scalar = parameter(0.3, unit="rad", doc="phase angle of both thighs", source=_OURS)
    swing_shank: Scalar = parameter(0.45, unit="rad", doc="phase angle of the swing shank", source=_OURS)
    stride_time: Scalar = parameter(1.8, unit="s", doc="stride time, two steps", bounds="positive", source=_OURS)
    stretch: Scalar = parameter(0.03, unit="1", doc="relative change of the links' lengths", source=_OURS)

    def by_link(self) -> WalkingGait:
        """The same gait by link, with the amplitudes of `joined_amplitudes`."""
        phase = stacked((self.stance_shank, self.thighs, self.thighs, self.swing_shank, 0.0))
        return WalkingGait(joined_amplitudes(self.swing, phase), phase, self.stride_time, self.stretch)

    def coordinates(self, t: Scalar, rest_lengths: Float[Real, " n"]) -> Spatial:
        """Angles (rad) and lengths (m) of the links at time `t` in s."""
        return self.by_link().coordinates(t, rest_lengths)

    def validate(self, n: int) -> None:
        """Rejects a gait that does not fit `n` links, or needs amplitudes that no leg has.

        Raises:
            ParameterError: naming what does not fit.
        """
        if n != len(FIVE_ROLES):
            raise ParameterError(f"a JoinedGait has {len(FIVE_ROLES)} links, the exoskeleton has {n}")
        _check_stretch(self.stretch)
        for name, function in (("stance_shank", np.sin), ("thighs", np.cos), ("swing_shank", np.sin)):
            phase, swing = np.broadcast_arrays(getattr(self, name), self.swing)
            at_exchange = np.abs(function(phase))
            if (bad := np.abs(swing) > MAX_SWING * at_exchange).any():
                f, j, share = (x[bad].flat[0] for x in (phase, swing, at_exchange))
                raise ParameterError(
                    f"gait.{name}={f:g} rad would need an amplitude of {abs(j) / max(share, 1e-300):.3g} rad, beyond "
                    f"{MAX_SWING:.3g} rad: |{function.__name__}(gait.{name})| is {share:.3g} and must be at least "
                    f"{abs(j) / MAX_SWING:.3g} for gait.swing={j:g} rad"
                )


def _check_stretch(stretch: Any) -> None:
    if (np.abs(np.asarray(stretch)) >= 1).any():
        raise ParameterError(f"gait.stretch must lie in (-1, 1) so that lengths stay positive, got {stretch}")


def _numbers(role: Role) -> tuple[float, float, float, float]:
    return float(role.cosine), -1.0 if role.swings else 1.0, float(role.tilts), -1.0 if role.shortens else 1.0
