r"""The exoskeleton: telescopic links with point masses, walking as prescribed or driven by its actuators.

                 o head
                 |
                 | 5 torso
                 |
             hip o
                / \
       thigh 2 /   \ 3 swing thigh    links 3 and 4 hang (s = -1): their angles are read as for
         knee o     o knee             upright links
      shank 1 |      \
              |       \ 4 swing shank
        ankle o        o               x forward, y left, z up; the ankle is the ground joint
            /////

The model uses the paper's matrix method in link vectors (`vectors`), not the tree engine: W is constant
and factorised once, so an evaluation is two triangular solves, without velocity terms and without a singularity. A tree
would need three bodies per link and a constraint for the masses that slide in proportion to the length.

Each link has a moment actuator at its proximal joint (acting back on its parent) and an axial one that stretches it.

- `Exoskeleton.prescribed` is the paper's task: the actuators follow from a prescribed motion (inverse dynamics).
- As a `Model` it runs forward, in link vectors: the actuators apply those moments and forces, plus the tracking force
  -k^2 e - 2 k e' of the link vectors, without which the motion is violently unstable (axial forces turn with their
  rods: a perturbation grows by a factor of 10^4 in 0.3 s).

Source: Borisov & Chigarev, section 7 and figures 6-9. Masses and their positions are the paper's, lengths and numbers
of the gait are ours (the paper prints none). The ideal ankle moment needs a fixed base: the centre of pressure leaves
any real foot.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxgait.fields import python_integer
from jaxgait.mechanics.linalg import norm
from jaxgait.model import Model, Numerics, Scalar, Variable, derived, parameter
from jaxgait.models.exoskeleton import dynamics, vectors
from jaxgait.models.exoskeleton.continuity import warn_of_jumps
from jaxgait.models.exoskeleton.elements import Planar, Spatial
from jaxgait.models.exoskeleton.observables import PLANAR, SPATIAL
from jaxgait.models.exoskeleton.tree import Chain, Real, RodLink, mass_table
from jaxgait.models.exoskeleton.walking import JoinedGait, WalkingGait
from jaxgait.parameters import CHOSEN, ParameterError
from jaxgait.precision import float64_default

__all__ = ["Exoskeleton", "ExoskeletonState", "five_links", "four_links"]

_PAPER = "Borisov & Chigarev, section 7"
_LINK_MASSES = (2.91, 8.93, 8.93, 2.91, 28.93)
_ROD_FRACTIONS = (0.595, 0.545, 0.545, 0.595, 0.5)
_LENGTHS = (0.40, 0.40, 0.40, 0.40, 0.55)
LEG_PARENTS = (0, 1, 2, 3)
"""Parents of the paper's first four links: shank and thigh of the stance leg, thigh and shank of the swing leg."""
_PARENT, _SIGN = (*LEG_PARENTS, 2), (1, 1, -1, -1, 1)


class ExoskeletonState(NamedTuple):
    """Link vectors x_i = l_i u_i in m and their rates in m/s, both (n, d)."""

    x: Float[Array, "n d"]
    v: Float[Array, "n d"]


class Motion(NamedTuple):
    """Coordinates of all links, their rates and accelerations (rad, m, s)."""

    q: Any
    rate: Any
    acceleration: Any


@float64_default
def paper_table(split: str = "half", mirror_swing: bool = False) -> list[RodLink]:
    """The paper's five links.

    Args:
        split: reading of "half in the joints, half on the rod". "half": a quarter of the link's mass at each end and
            half on the rod; "distal": half at the far end and half on the rod.
        mirror_swing: whether the position of the rod's mass in the swing leg is measured from its far end (as in
            anatomy) instead of its proximal joint.

    Raises:
        ValueError: for another `split`.

    Examples:
        >>> from jaxgait.models.exoskeleton.model import paper_table
        >>> links = paper_table()
        >>> print(len(links), round(sum(sum(link.masses) for link in links), 3))  # links, kg
        5 52.61
    """
    shares = {"half": (0.25, 0.5, 0.25), "distal": (0.0, 0.5, 0.5)}
    if split not in shares:
        raise ValueError(f"split must be 'half' or 'distal', got {split!r}")
    links = []
    for p, s, m, n, l in zip(_PARENT, _SIGN, _LINK_MASSES, _ROD_FRACTIONS, _LENGTHS, strict=True):
        fraction = 1 - n if mirror_swing and s < 0 else n
        links.append(RodLink(p, tuple(m * share for share in shares[split]), (0.0, fraction, 1.0), s, l))
    return links


_MASSES, _FRACTIONS = mass_table(paper_table())


class Exoskeleton(Model):
    """A tree of telescopic links that walks; by default the paper's spatial five-link example.

    Build others with `Exoskeleton.from_links`, `five_links` and `four_links`.

    Examples:
        >>> from jaxgait.models import Exoskeleton
        >>> exoskeleton = Exoskeleton()
        >>> print(exoskeleton.labels["axis"], exoskeleton.chain.size, exoskeleton.period, exoskeleton.duration)  # s
        ('x', 'y', 'z') 5 1.8 1.8
        >>> motion = exoskeleton.motion(0.45)
        >>> print(motion.q.phi.shape, exoskeleton.landing().shape)
        (5,) (3,)
        >>> print(exoskeleton.has_legs, exoskeleton.measures)
        True jaxgait.models.exoskeleton.measures:MEASURES
    """

    masses: Float[Real, "*batch n b"] = parameter(
        _MASSES, unit="kg", doc="point masses of the links", bounds="nonnegative", source=_PAPER
    )
    fractions: Float[Real, "*batch n b"] = parameter(
        _FRACTIONS, unit="1", doc="positions of the point masses as fractions of the links", source=_PAPER
    )
    lengths: Float[Real, "*batch n"] = parameter(
        np.array(_LENGTHS),
        unit="m",
        doc="rest lengths of the links",
        bounds="positive",
        source="our choice; the paper gives none",
    )
    gravity: Scalar = parameter(
        9.81, unit="m/s^2", doc="gravitational acceleration", bounds="nonnegative", source=CHOSEN
    )
    tracking: Scalar = parameter(
        60.0, unit="1/s", doc="gain of the tracking (0: open loop)", bounds="nonnegative", source=CHOSEN
    )
    shortest: Scalar = parameter(
        0.2, unit="1", doc="relative length at which a link counts as collapsed", bounds="positive", source=CHOSEN
    )
    gait: WalkingGait | JoinedGait = eqx.field(default_factory=WalkingGait)
    parent: tuple[int, ...] = eqx.field(static=True, default=_PARENT)
    sign: tuple[int, ...] = eqx.field(static=True, default=_SIGN)
    exchange: tuple[int, ...] = eqx.field(static=True, default=(4, 3, 2, 1, 5))
    """Link that takes each link's part after a step; that of link 1 brings the next foot to the ground."""
    dimension: int = eqx.field(static=True, default=3, converter=python_integer)
    mode: str = eqx.field(static=True, default="literal")
    """literal: one foot is always the base, as in the formulas; gait: the legs exchange roles every T/2."""

    scene: ClassVar[str] = "jaxgait.models.exoskeleton.scene:scene"
    endings: ClassVar[Mapping[str, str]] = {
        "landed": 'the swing foot is on the ground; in the mode "gait" a run is one step, which is its default duration'
    }
    numerics: ClassVar[Numerics] = Numerics(stiff=False, rtol=1e-9, atol=1e-10, first_step=1e-3)

    @classmethod
    def from_links(cls, links: Sequence[RodLink], gait: WalkingGait | JoinedGait, **fields: Any) -> Exoskeleton:
        """An exoskeleton from a table of links (parent, masses, fractions, sign, length).

        Args:
            links: the table; parents come before their links.
            gait: the prescribed motion, with one role per link.
            fields: other fields, e.g. `dimension=2`, `exchange=...`.

        Examples:
            >>> import numpy as np
            >>> from jaxgait.models.exoskeleton.tree import RodLink
            >>> from jaxgait.models.exoskeleton.model import Exoskeleton
            >>> from jaxgait.models.exoskeleton.walking import STANCE_SHANK, WalkingGait
            >>> gait = WalkingGait(amplitude=np.array([0.2]), phase=np.array([1.5]), roles=(STANCE_SHANK,))
            >>> one = Exoskeleton.from_links([RodLink(0, [5.0], [1.0], length=0.9)], gait, dimension=2)
            >>> print(float(one.chain.total_mass), one.lengths)  # kg, m
            5.0 [0.9]
        """
        masses, fractions = mass_table(links)
        fields.setdefault("exchange", tuple(range(1, len(links) + 1)))
        return cls(
            masses=masses,
            fractions=fractions,
            lengths=np.array([x.length for x in links], dtype=float),
            gait=gait,
            parent=tuple(x.parent for x in links),
            sign=tuple(x.sign for x in links),
            **fields,
        )

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Unit, meaning and dimensions of everything that is observed.

        Examples:
            >>> from jaxgait.models import Exoskeleton
            >>> print([Exoskeleton(dimension=d).variables["angular_momentum"].dims for d in (2, 3)])
            [(), ('axis',)]
        """
        return PLANAR if self.dimension == 2 else SPATIAL

    @property
    def has_legs(self) -> bool:
        """Whether the first four links are two legs, numbered as in the paper's examples."""
        return self.parent[:4] == LEG_PARENTS

    @property
    def measures(self) -> str:
        """Where its measures are: those of a step need two legs."""
        return f"jaxgait.models.exoskeleton.measures:{'MEASURES' if self.has_legs else 'TREE_MEASURES'}"

    @property
    def labels(self) -> Mapping[str, Sequence[Any]]:
        """Numbers of the links, names of the axes and of the ends of a link."""
        axes = ("x", "y", "z")[: self.dimension]
        links = range(1, len(self.parent) + 1)
        return {"link": links, "axis": axes, "ground_axis": axes[:-1], "end": ("proximal", "far")}

    @property
    def chain(self) -> Chain:
        """The links as a `Chain`: W, rho, matrices, equations."""
        return Chain(self.parent, self.sign, self.masses, self.fractions)

    @property
    def period(self) -> Scalar:
        """Stride time T in s."""
        return self.gait.stride_time

    @property
    def duration(self) -> Scalar:
        """One stride in s; one step in the mode "gait"."""
        return self.gait.stride_time * (0.5 if self.mode == "gait" else 1.0)

    def validate(self) -> None:
        """Rejects impossible tables, masses, lengths and gaits; leaves may have a batch axis.

        Raises:
            ParameterError: naming what is impossible.

        Warns:
            UserWarning: in the mode "gait", of steps that do not join.
        """
        super().validate()
        n = len(self.parent)
        if type(self.dimension) is not int or self.dimension not in (2, 3) or self.mode not in ("literal", "gait"):
            raise ParameterError(
                f"dimension must be 2 or 3 and mode 'literal' or 'gait', got {self.dimension!r} and {self.mode!r}"
            )
        if np.shape(self.lengths)[-1:] != (n,):
            raise ParameterError(f"lengths must have one entry per link ({n}), got the shape {np.shape(self.lengths)}")
        if sorted(self.exchange) != list(range(1, n + 1)):
            raise ParameterError(f"exchange must be a permutation of the links 1..{n}, got {self.exchange}")
        if self.mode == "gait" and self.exchange[0] in self.parent:
            raise ParameterError(
                f"exchange must begin with the link whose far end lands, link {self.exchange[0]} carries others"
            )
        self.gait.validate(n)
        try:
            self.chain.validate()
        except ValueError as error:
            raise ParameterError(str(error)) from error
        if self.mode == "gait":
            warn_of_jumps(self)

    # The prescribed motion and its inverse dynamics.

    def motion(self, t: Scalar) -> Motion:
        """Prescribed coordinates, rates and accelerations at time `t` in s, with one foot as the base."""

        def coordinates(t: Scalar) -> Planar | Spatial:
            q = self.gait.coordinates(t, jnp.asarray(self.lengths))
            return q if self.dimension == 3 else Planar(q.psi, q.l)

        def first(t: Scalar) -> Any:
            return jax.jvp(coordinates, (t,), (jnp.ones_like(t),))

        t = jnp.asarray(t, dtype=jnp.asarray(self.lengths).dtype)
        (q, rate), (_, acceleration) = jax.jvp(first, (t,), (jnp.ones_like(t),))
        return Motion(q, rate, acceleration)

    def prescribed(self, t: Scalar, step: Scalar | None = None) -> dict[str, Array]:
        """Inverse dynamics: all variables of the prescribed motion at time `t` in s, by name (see `variables`).

        In the mode "gait" link 1 is always the stance shank. The coordinates of the links and their moments are those
        of each step, with y mirrored on every other one; vectors are in world axes, `joints` are positions in the
        world, centres of mass and of pressure are relative to the present foot.

        Args:
            t: time in s.
            step: number of the step from 0, for the instant of an exchange, when two steps meet; None: the later one.

        Examples:
            >>> from jaxgait.models import Exoskeleton
            >>> exoskeleton = Exoskeleton()
            >>> start = exoskeleton.prescribed(0.0)
            >>> weight = float(exoskeleton.chain.total_mass) * exoskeleton.gravity
            >>> print(start["M_psi"].shape, round(float(start["reaction"][2]) / weight, 2))
            (5,) 0.98
        """
        step, local = self._step(t, step)
        q, rate, acceleration = self.motion(local)
        x, v, a = vectors.motion(q, rate, acceleration)
        force = vectors.forces(self.chain, a, self.gravity)
        moment = dynamics.joint_moments(self.chain, vectors.generalised(q, force))
        power = jax.tree.map(jnp.multiply, moment, dynamics.relative_rates(self.chain, rate))
        seen = self._in_the_world(self._observed(x, v, force, a), step)
        names = ("phi", "l") if self.dimension == 2 else ("phi", "psi", "l")
        forces = {"phi": "M_phi", "psi": "M_psi", "l": "F"}
        return {
            **dict(zip(names, q, strict=True)),
            **{forces[n]: m for n, m in zip(names, moment, strict=True)},
            **{f"power_{n}": p for n, p in zip(names, power, strict=True)},
            **seen,
        }

    def _step(self, t: Scalar, step: Scalar | None) -> tuple[Array, Array]:
        """Number of the step (0 in the literal mode) and time in it."""
        t = jnp.asarray(t, dtype=jnp.asarray(self.lengths).dtype)
        if self.mode == "literal":
            return jnp.zeros_like(t), t
        half = self.gait.stride_time / 2
        step = jnp.floor(t / half) if step is None else jnp.asarray(step, dtype=t.dtype)
        return step, t - step * half

    def _in_the_world(self, seen: dict[str, Array], step: Array) -> dict[str, Array]:
        """Observables in the axes of this step, with y mirrored in every other step, converted to world axes."""
        if self.mode == "literal":
            return seen
        if self.dimension == 2:
            return seen | {"joints": seen["joints"] + step * self.landing()}
        odd = step % 2
        side, one = 1 - 2 * odd, jnp.ones_like(odd)

        def mirrored(name: str, *signs: Array) -> Array:
            return seen[name] * jnp.broadcast_to(jnp.stack(signs), seen[name].shape)

        return seen | {
            "joints": mirrored("joints", one, side, one) + (jnp.stack([step, odd, step]) * self.landing())[None, None],
            "com": mirrored("com", one, side, one),
            "reaction": mirrored("reaction", one, side, one),
            "pressure_point": mirrored("pressure_point", one, side),
            "torque": mirrored("torque", side, one, side),
            "angular_momentum": mirrored("angular_momentum", side, one, side),
        }

    def landing(self) -> Float[Array, " d"]:
        """Position in m where the swing foot lands, relative to the stance foot."""
        x = vectors.link_vectors(self.motion(self.gait.stride_time / 2).q)
        return vectors.joints(self.chain, x)[self.exchange[0] - 1, 1]

    def exchanged(self, y: ExoskeletonState) -> ExoskeletonState:
        """The same posture with the roles of the legs exchanged: the state in which the next step begins.

        Examples:
            >>> from jaxgait.models import Exoskeleton
            >>> exoskeleton = Exoskeleton()
            >>> y = exoskeleton.initial_state()
            >>> twice = exoskeleton.exchanged(exoskeleton.exchanged(y))
            >>> print(bool((twice.x == y.x).all()))
            True
        """
        order = np.array(self.exchange) - 1
        mirror = jnp.asarray((1.0, 1.0) if self.dimension == 2 else (1.0, -1.0, 1.0), dtype=y.x.dtype)
        return ExoskeletonState(y.x[order] * mirror[None], y.v[order] * mirror[None])

    # The forward model.

    @derived
    def _factor(self) -> vectors.Factor:
        """W, factorised."""
        return vectors.factorise(self.chain)

    def _accelerations(self, force: Array) -> Array:
        return vectors.accelerations(self._factor(), force, self.gravity)

    def state_at(self, t: Scalar) -> ExoskeletonState:
        """The state on the prescribed motion at time `t` in s, with one foot as the base."""
        x, v, _ = vectors.motion(*self.motion(t))
        return ExoskeletonState(x, v)

    def initial_state(self) -> ExoskeletonState:
        """The state on the prescribed motion at t = 0."""
        return self.state_at(0.0)

    def vector_field(self, t: Scalar, y: ExoskeletonState) -> ExoskeletonState:
        """Rates of the link vectors and their accelerations under the actuators."""
        return ExoskeletonState(y.v, self._accelerations(self.actuators(t, y)))

    def actuators(self, t: Scalar, y: ExoskeletonState) -> Float[Array, "n d"]:
        """Forces f (n, d) in N on the link vectors: the prescribed moments and axial forces, and tracking.

        Examples:
            >>> from jaxgait.models import Exoskeleton
            >>> exoskeleton = Exoskeleton()
            >>> print(exoskeleton.actuators(0.0, exoskeleton.initial_state()).shape)
            (5, 3)
        """
        x, v, a = vectors.motion(*self.motion(t))
        moment, axial = vectors.actuation(x, vectors.forces(self.chain, a, self.gravity))
        k = self.tracking
        correction = k**2 * (x - y.x) + 2 * k * (v - y.v)
        return vectors.link_forces(y.x, moment, axial) + self.chain.W @ correction

    def outputs(self, t: Scalar, y: ExoskeletonState) -> dict[str, Array]:
        """See `variables`."""
        force = self.actuators(t, y)
        x = vectors.link_vectors(self.motion(t).q)
        _, axial = vectors.actuation(y.x, force)
        return {
            **self._observed(y.x, y.v, force, self._accelerations(force)),
            "l": norm(y.x),
            "F": axial,
            "tracking_error": jnp.max(norm(y.x - x)),
        }

    def _observed(self, x: Array, v: Array, force: Array, acceleration: Array) -> dict[str, Array]:
        """The variables of both prescribed and forward motion."""
        moment, _ = vectors.actuation(x, force)
        reaction = vectors.ground_reaction(self.chain, acceleration, self.gravity)
        about_foot = jnp.sum(moment, axis=0)
        return {
            "torque": vectors.joint_torques(self.chain, moment),
            "reaction": reaction,
            "pressure_point": vectors.centre_of_pressure(reaction, about_foot),
            "joints": vectors.joints(self.chain, x),
            "power": jnp.sum(force * v),
            "energy": jnp.sum(jnp.stack(vectors.energies(self.chain, x, v, self.gravity))),
            "com": vectors.centre_of_mass(self.chain, x),
            "angular_momentum": vectors.angular_momentum(self.chain, x, v),
        }

    def terminations(self) -> Mapping[str, Callable[[Scalar, ExoskeletonState], Bool[Array, ""]]]:
        """A link collapsed; in the mode "gait" the swing foot landed (the next step starts from `exchanged`)."""
        ends = {"collapsed": lambda t, y: jnp.any(norm(y.x) < self.shortest * jnp.asarray(self.lengths))}
        if self.mode == "gait":
            ends["landed"] = lambda t, y: t > self.duration * (1 + 1e-9)
        return ends


@float64_default
def five_links(split: str = "half", mirror_swing: bool = False, **fields: Any) -> Exoskeleton:
    """The paper's five-link exoskeleton (figure 6): stance shank and thigh, swing thigh and shank, torso.

    Args:
        split: see `paper_table`.
        mirror_swing: see `paper_table`.
        fields: other fields of `Exoskeleton`, e.g. `dimension=2`, `mode="gait"`.

    Examples:
        >>> from jaxgait.models.exoskeleton.model import five_links
        >>> len(five_links(mode="gait").lengths)
        5
    """
    fields = {"exchange": (4, 3, 2, 1, 5), "gait": WalkingGait(), **fields}
    return Exoskeleton.from_links(paper_table(split, mirror_swing), **fields)


@float64_default
def four_links(**fields: Any) -> Exoskeleton:
    """The paper's planar four-link exoskeleton (figure 5): two legs without a torso, links 3 and 4 hanging.

    Examples:
        >>> from jaxgait.models.exoskeleton.model import four_links
        >>> legs = four_links()
        >>> print(len(legs.lengths), legs.dimension)
        4 2
    """
    full = WalkingGait()
    legs = dataclasses.replace(full, amplitude=full.amplitude[:4], phase=full.phase[:4], roles=full.roles[:4])
    fields = {"dimension": 2, "exchange": (4, 3, 2, 1), "gait": legs, **fields}
    return Exoskeleton.from_links(paper_table()[:4], **fields)
