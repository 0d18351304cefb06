"""How a member of a scan is run again: its model, what varies, and the options, from the attributes of the scan."""

from __future__ import annotations

import json
import os
import pathlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from jaxgait import precision as precisions
from jaxgait import registry
from jaxgait.ensembles import damaged, ensemble, zipped
from jaxgait.ensembles.batch import member_of
from jaxgait.ensembles.members import INITIAL
from jaxgait.ensembles.store import damaged_labels
from jaxgait.model import Model
from jaxgait.outcome import IncompleteRun
from jaxgait.parameters import parameters, with_parameters
from jaxgait.plot.explorer.table import flat, members_dims
from jaxgait.plot.scene import rebuilt
from jaxgait.run import state_variables
from jaxgait.scheme import Retry, Scheme
from jaxgait.solve.dataset import scheme_options
from jaxgait.solve.schemes import scheme_for
from jaxgait.solve.simulate import RECORDED, simulate
from jaxgait.solve.smooth import Smooth

__all__ = ["Recipe", "again", "opened", "recipe"]

SETTABLE = ("solver", "rtol", "atol", "max_step", "max_steps", "dt", "max_events")
"""Options of schemes that `simulate` and the command line take."""
NAMED = 8
"""Damaged blocks that are named."""
FREE = ("mode", "max_events")
"""Options of schemes that change no number of a member."""


@dataclass(frozen=True, eq=False)
class Recipe:
    """What runs any member of a scan again."""

    model: Model
    """With the parameters that hold for all members."""
    known_as: str
    """Name of the model on the command line; empty: it has none."""
    values: dict[str, np.ndarray]
    """What varies: by dotted name the values of all members, (members, *shape of the parameter), in its unit."""
    options: dict[str, Any]
    """Of `simulate`: sampling, precision, scheme and what is not its default."""
    retries: tuple[Retry, ...]
    """Further attempts, in their order."""
    retried: np.ndarray
    """Which of them gave the result of each member; 0: the first attempt did."""
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    source: str | None
    """File that holds the scan."""

    def of(self, member: int) -> dict[str, Any]:
        """Values of one member by dotted name, in their units."""
        return {name: x[member] for name, x in self.values.items()}

    def member_model(self, member: int) -> Model:
        """The mechanism of one member."""
        known = parameters(self.model)
        return with_parameters(self.model, {n: x for n, x in self.of(member).items() if n in known})

    def runs(self, members: Sequence[int]) -> xr.Dataset:
        """Trajectories of some members, simulated together as one ensemble along `member`."""
        given = {name: x[list(members)] for name, x in self.values.items()}
        recorded: dict[str, Any] = {"max_events": RECORDED} if self._smooth_with_events() else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", IncompleteRun)  # the page shows how each of them ended
            return ensemble(
                self.model,
                zipped(given),
                trajectories=True,
                retry=bool(self.retries),
                progress=False,
                **self.options | recorded,
            )

    def run(self, member: int) -> xr.Dataset:
        """The trajectory of one member, as its line gives it."""
        return simulate(self.member_model(member), **self.options | self._attempt(member) | self._start(member))

    def _smooth_with_events(self) -> bool:
        scheme = scheme_for(self.model, self.options.get("scheme"))
        return isinstance(scheme, Smooth) and bool(self.model.events())

    def _attempt(self, member: int) -> dict[str, Any]:
        """Options of the attempt that gave a member its result."""
        return self.attempts()[int(self.retried[member])]

    def attempts(self) -> list[dict[str, Any]]:
        """Options beyond those of the scan, of the first attempt and of each retry."""
        usual = _default(self.model, self.options)
        return [{}, *(_changed(usual, r.scheme) | {"precision": r.precision} for r in self.retries)]

    def _start(self, member: int) -> dict[str, Any]:
        with precisions.use("float64"):  # else JAX would round the start
            started = {n: jnp.asarray(x) for n, x in self.of(member).items() if n.startswith(INITIAL)}
            return {"initial_state": member_of(self.member_model(member), started)[1]} if started else {}


def recipe(scan: xr.Dataset, model: Model | None = None, source: str | os.PathLike[str] | None = None) -> Recipe:
    """What runs the members of a scan again.

    Args:
        scan: a result of `ensemble`.
        model: what was run; None: made from the attributes of the scan.
        source: file that holds the scan; None: as xarray remembers it.

    Raises:
        ValueError: if the attributes do not say it: another model, parts of its own, a scheme with options of its own.
    """
    dims = members_dims(scan)
    chosen = rebuilt(scan.drop_vars([n for n, x in scan.coords.items() if x.ndim == 0])) if model is None else model
    options = _options(scan, chosen)
    asked: dict[str, Any] = {n: x for n, x in options.items() if n not in SAMPLING}
    scheme, reference = (scheme_for(chosen, **{**asked, "precision": p}) for p in (options["precision"], "float64"))
    retried = flat(scan["retries"], dims) if "retries" in scan else np.zeros(_count(scan, dims), dtype=int)
    attempts = json.loads(scan.attrs.get("retries_legend", '{"0": "first attempt"}'))
    retries = scheme.retries(options["precision"], reference) if len(attempts) > 1 else ()
    if retried.max(initial=0) > len(retries):
        raise ValueError(f"the result has members of retry {retried.max()}, and this jaxgait has {len(retries)}")
    found = source or scan.encoding.get("source")
    return Recipe(
        chosen, _known_as(chosen), _values(scan, chosen, dims), options, retries, retried.clip(min=0), dims,
        tuple(scan.sizes[d] for d in dims), None if found is None else pathlib.Path(found).name,
    )  # fmt: skip


SAMPLING = ("strides", "duration", "samples")


def again(scan: xr.Dataset | str | os.PathLike[str], *, model: Model | None = None, **index: int) -> xr.Dataset:
    """Simulates one member of a scan: `again("scan.nc", mass=3, stiffness=5)`.

    Args:
        scan: a result of `ensemble`, or its file.
        model: what was run; None: made from the attributes of the scan.
        index: number of the member along each dimension of the scan; dotted names as `**{"damper.k": 3}`.

    Returns:
        As `simulate` returns it.

    Raises:
        ValueError: for a member that the scan does not have; if the attributes do not say how it was run.
    """
    data = scan if isinstance(scan, xr.Dataset) else opened(scan)
    made = recipe(data, model)
    if set(index) != set(made.dims):
        raise ValueError(f"a member has a number along {', '.join(made.dims)}, got {', '.join(index) or 'none'}")
    for dim, size in zip(made.dims, made.shape, strict=True):
        if not 0 <= index[dim] < size:
            raise ValueError(f"no member {dim}={index[dim]}: there are {size}, numbered from 0")
    return made.run(int(np.ravel_multi_index([index[d] for d in made.dims], made.shape)))


def opened(path: str | os.PathLike[str]) -> xr.Dataset:
    """A result from its file, lazily.

    Raises:
        FileNotFoundError: if there is none.
        ValueError: for a file of another kind.

    Warns:
        UserWarning: if blocks or coordinates of a store are not what was written.
    """
    place = pathlib.Path(path)
    if not place.exists():
        raise FileNotFoundError(f"{place}: no such file")
    bad = damaged(place) if place.is_dir() else []
    if bad:
        blocks = f"block {', '.join(map(str, bad[:NAMED]))}{', ...' if len(bad) > NAMED else ''}"
        warnings.warn(
            f"{place} is damaged: the files of {blocks} are not what was written, so do not trust what is shown of "
            "them; the command that wrote the scan runs them again with --repair (Python: repair=True)",
            stacklevel=1,  # said once, however often it is opened
        )
    labels = damaged_labels(place) if place.is_dir() else []
    if labels:
        warnings.warn(
            f"{place} is damaged: {', '.join(labels)} of its coordinates; the command that wrote the scan writes that "
            "again with --repair (Python: repair=True)",
            stacklevel=1,
        )
    try:
        return xr.open_zarr(place) if place.is_dir() else xr.open_dataset(place, engine="h5netcdf")
    except Exception as error:  # what these readers raise for a file of another kind is not theirs to choose
        kind = "Zarr store" if place.is_dir() else "NetCDF-4 file"
        raise ValueError(f"{place} is not a result that can be shown: it is not a readable {kind} ({error})") from error


def _count(scan: xr.Dataset, dims: Sequence[str]) -> int:
    return int(np.prod([scan.sizes[d] for d in dims]))


def _values(scan: xr.Dataset, model: Model, dims: tuple[str, ...]) -> dict[str, np.ndarray]:
    """What varies, by dotted name."""
    names = [*parameters(model), *(INITIAL + n for n in state_variables(jax.eval_shape(model.initial_state)))]
    found = {}
    for name in names:
        label = next((n for n in (f"{name}_values", name) if n in scan.coords and scan[n].ndim), None)
        if label is not None and set(scan[label].dims) & set(dims):
            over = scan[label].expand_dims({d: scan.sizes[d] for d in dims if d not in scan[label].dims})
            found[name] = flat(over, dims)
    if not found:
        raise ValueError(f"the scan does not say which parameters of {type(model).__name__} vary along {dims}")
    return found


def _options(scan: xr.Dataset, model: Model) -> dict[str, Any]:
    """How the scan was run, from its attributes, as `simulate` takes it."""
    attrs = {n: x.item() if isinstance(x, np.generic) else x for n, x in scan.attrs.items()}
    sampling = {"strides": attrs.get("strides"), "duration": attrs.get("duration_s")}
    sampling["samples"] = attrs.get("samples_per_stride", attrs.get("samples"))
    chosen = {
        **sampling,
        "precision": str(attrs.get("precision", "float64")).split(",")[0],
        "scheme": attrs.get("scheme"),
    }
    chosen = {n: x for n, x in chosen.items() if x is not None}
    usual = _default(model, chosen)
    if chosen.get("scheme") == type(scheme_for(model)).__name__:
        del chosen["scheme"]
    recorded = {n.removesuffix("_s"): attrs[n] for n in scheme_options(usual) if n in attrs and n != "scheme"}
    return chosen | _differing(usual, recorded)


def _default(model: Model, options: Mapping[str, Any]) -> Scheme:
    return scheme_for(model, options.get("scheme"), precision=options.get("precision", "float64"))


def _changed(usual: Scheme, scheme: Scheme) -> dict[str, Any]:
    return _differing(usual, {n.removesuffix("_s"): x for n, x in scheme_options(scheme).items() if n != "scheme"})


def _differing(usual: Scheme, recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Options that differ from the usual ones.

    Raises:
        ValueError: for one that `simulate` cannot be given.
    """
    plain = {n.removesuffix("_s"): x for n, x in scheme_options(usual).items()}
    found = {n: x for n, x in recorded.items() if n not in FREE and x != plain.get(n)}
    for name, value in found.items():
        if name not in SETTABLE:
            raise ValueError(f"its scheme ran with {name}={value!r}, which simulate does not take by itself")
    return found


def _known_as(model: Model) -> str:
    where = f"{type(model).__module__}:{type(model).__name__}"
    return next((name for name, place in registry.models().items() if place == where), "")


def of_run(run: xr.Dataset, model: Model | None = None) -> Recipe:
    """What runs a result of `simulate` again: a scan of one member, whose start varies if it is not the model's own.

    Args:
        run: result of `simulate`.
        model: what was run; None: made from the attributes of the run.

    Raises:
        ValueError: if the attributes do not say it.
    """
    chosen = rebuilt(run) if model is None else model
    own = {n: np.asarray(x) for n, x in state_variables(chosen.initial_state()).items()}
    start = {n: np.asarray(run[n].values[0]) for n in own if n in run}
    values = {INITIAL + n: x[None] for n, x in start.items() if not np.array_equal(x, own[n])}
    return Recipe(chosen, _known_as(chosen), values, _options(run, chosen), (), np.zeros(1, dtype=int), (), (), None)
