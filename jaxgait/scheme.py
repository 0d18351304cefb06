"""The interface of integration schemes (smooth, event-driven, time-stepping, ...).

A scheme turns a model, its sampling and a start into a `Trajectory`. The model must implement a protocol of
`jaxgait.kinds`; the schemes are in `jaxgait.solve`. Everything else works with any of them.
"""

from __future__ import annotations

import abc
import copy
import dataclasses
import enum
import itertools
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxgait.model import Model, State
from jaxgait.precision import Precision, float64_default
from jaxgait.run import Sampling, Trajectory
from jaxgait.support.checks import is_concrete
from jaxgait.support.units import seconds

T = TypeVar("T")

Mode = Literal["forward", "reverse"]
"""Direction in which a solve is differentiated."""


_TIMES = ("dt", "first_step", "max_step")
"""Options in s."""


class Retry(NamedTuple):
    """A further attempt at a failed member: its name, its scheme and its precision."""

    name: str
    scheme: Scheme
    precision: Precision


@float64_default
@dataclasses.dataclass(frozen=True)
class Scheme(abc.ABC):
    """How a mechanism's motion is computed; its fields are options.

    Hashable, because it is a static argument of compiled functions.
    """

    kind: ClassVar[type]
    """Protocol of `jaxgait.kinds` that a model must implement."""
    needs: ClassVar[str]
    """The methods of that protocol, for messages."""
    no_gradient: ClassVar[str] = ""
    """Why it cannot be differentiated, and what to do instead; empty if it can."""
    free_start: ClassVar[bool] = True
    """Whether a run may start from a state other than the model's own."""
    exact_ends: ClassVar[bool] = False
    """Whether derivatives include the time of an early end; otherwise that time is the end of a step."""

    def __post_init__(self) -> None:
        """Makes options that are numbers of NumPy or JAX, or labelled times, Python's; subclasses check them, too."""
        for name in (field.name for field in dataclasses.fields(self)):
            value = getattr(self, name)
            if name in _TIMES and hasattr(value, "attrs"):
                object.__setattr__(self, name, seconds(name, value))
            elif isinstance(value, np.generic | np.ndarray | jax.Array) and value.ndim == 0 and is_concrete(value):
                object.__setattr__(self, name, value.item())

    @classmethod
    def suits(cls, model: Any) -> bool:
        """Whether a model defines what the scheme needs."""
        return isinstance(model, cls.kind)

    @classmethod
    @abc.abstractmethod
    def of(
        cls, model: Any, *, differentiated: bool = False, precision: Precision | None = None, **options: Any
    ) -> Scheme:
        """The scheme with options that suit a model.

        Args:
            model: the mechanism.
            differentiated: whether the run will be differentiated.
            precision: of the run; by default the one in force.
            options: fields of the scheme; None keeps the default.

        Raises:
            ValueError: for impossible options.
        """

    @abc.abstractmethod
    def run(
        self,
        model: Any,
        sampling: Sampling,
        y0: State | None = None,
        *,
        watch: tuple[str, ...] = (),
        progress: bool = False,
    ) -> Trajectory:
        """One trajectory. Pure: it may be jitted and vmapped over models and starts; a failure is a status.

        Args:
            model: the mechanism; its leaves may be traced.
            sampling: when the run is sampled.
            y0: state at t = 0; by default the model's own.
            watch: outputs or components of the state whose extremes over all steps are recorded.
            progress: whether to draw a progress bar (single runs only), if the scheme can.
        """

    def complete_sampling(self, model: Any, sampling: Sampling) -> Sampling:
        """The sampling, completed by what the scheme derives from concrete parameters, such as its steps."""
        del model
        return sampling

    def retries(self, precision: Precision, reference: Any = None) -> tuple[Retry, ...]:
        """Further attempts at a failed member, in order; none by default.

        Args:
            precision: of the first attempt.
            reference: the same scheme for float64.
        """
        del precision, reference
        return ()

    def event_names(self, model: Any) -> tuple[str, ...]:
        """Names of the events that it records, in the order of `Events.kind`; none by default."""
        del model
        return ()

    def check_precision(self, precision: str) -> None:
        """Checks whether it can reach its tolerances in a precision.

        Raises:
            ValueError: if it cannot.
        """
        del precision

    def in_mode(self, mode: Mode) -> Scheme:
        """The scheme for a mode of differentiation, if that makes a difference."""
        known = {f.name for f in dataclasses.fields(self)}
        return dataclasses.replace(self, mode=mode) if "mode" in known else self

    @property
    def copies(self) -> int:
        """Roughly how many copies of the state it keeps in memory while it steps."""
        return 8

    def check_start(self, model: Model, argument: str) -> None:
        """Checks whether a run may start from another state.

        Args:
            model: the mechanism.
            argument: the user's argument or option, for the message.

        Raises:
            ValueError: if the motion prescribes its start.
        """
        if not self.free_start:
            raise ValueError(
                f"the motion of {type(model).__name__} is prescribed, including its start: leave out {argument}"
            )

    def check_gradient(self, model: Model) -> None:
        """Checks whether the scheme can be differentiated.

        Raises:
            ValueError: if not, with what to do instead.
        """
        if self.no_gradient:
            raise ValueError(f"{type(model).__name__} by {type(self).__name__} has no gradient: {self.no_gradient}")


class _Number(enum.Enum):
    """Placeholder for an extracted number."""

    EXTRACTED = "extracted"


def without_numbers(scheme: Scheme, sampling: Sampling) -> tuple[Scheme, Sampling, tuple[Float[Array, ""], ...]]:
    """A scheme and a sampling without their real numbers (tolerances, steps, times), and these, in their own units.

    One compiled program, whose inputs they are, then serves all their values. Integers stay, because they are counts.
    The numbers have the precision in force.
    """
    numbers = [x for options in (scheme, sampling) for x in _leaves(options) if isinstance(x, float)]
    placeholders = itertools.repeat(_Number.EXTRACTED)
    bare = _replaced(scheme, float, placeholders), _replaced(sampling, float, placeholders)
    return *bare, tuple(jnp.asarray(x, dtype=float) for x in numbers)


def with_numbers(scheme: Scheme, sampling: Sampling, numbers: Iterable[Any]) -> tuple[Scheme, Sampling]:
    """Restores what `without_numbers` extracted, possibly traced; `numbers` may be empty if nothing was."""
    remaining = iter(numbers)
    return _replaced(scheme, _Number, remaining), _replaced(sampling, _Number, remaining)


def _leaves(options: Any) -> list[Any]:
    return [x for f in dataclasses.fields(options) for x in jax.tree.leaves(getattr(options, f.name))]


def _replaced(options: T, kind: type, by: Iterator[Any]) -> T:
    """A copy with the leaves of one type replaced, without calling the constructor."""
    changed = copy.copy(options)
    for field in dataclasses.fields(options):  # type: ignore[arg-type]
        value = getattr(options, field.name)
        object.__setattr__(changed, field.name, jax.tree.map(lambda x: next(by) if isinstance(x, kind) else x, value))
    return changed
