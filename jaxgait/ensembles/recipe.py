"""How to rerun a member of a scan: its model, values and options, from the attributes of the scan."""

from __future__ import annotations

import json
import math
import os
import pathlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgait import precision as precisions
from jaxgait import registry
from jaxgait.contents import restored
from jaxgait.elements import array_of
from jaxgait.ensembles.addresses import INITIAL, model_of, parted
from jaxgait.ensembles.agreement import CAUSES, disagreement
from jaxgait.ensembles.driver import ensemble
from jaxgait.ensembles.labels import status_codes
from jaxgait.ensembles.members import MOTIONS, VALUES, zipped
from jaxgait.ensembles.results import check_coordinates, flat, is_run, members_dims, open_result, rebuilt
from jaxgait.ensembles.walks import recorded, recorded_motions
from jaxgait.model import Model
from jaxgait.outcome import IncompleteRun
from jaxgait.parameters import parameters
from jaxgait.scheme import Retry, Scheme
from jaxgait.solve.dataset import as_attribute, scheme_options
from jaxgait.solve.hybrid import EventDriven
from jaxgait.solve.schemes import scheme_for
from jaxgait.solve.simulate import simulate
from jaxgait.solve.smooth import MAX_EVENTS, Smooth
from jaxgait.states import state_variables, with_state_variables
from jaxgait.support import xr
from jaxgait.support.checks import by_name, of_class, warn_user
from jaxgait.support.notes import without_warnings

SETTABLE = ("solver", "rtol", "atol", "max_step", "max_steps", "dt", "max_events")
"""Options of schemes that `simulate` and the command line take."""
FREE = ("mode", "max_events")
"""Options of schemes that do not affect the results."""


@dataclass(frozen=True, eq=False)
class Recipe:
    """How to rerun any member of a scan."""

    model: Model
    """With the parameters that all members share."""
    known_as: str
    """Name of the model on the command line; empty without one."""
    values: dict[str, np.ndarray]
    """Values of all members by dotted name, (members, *shape of the parameter), in its unit."""
    options: dict[str, Any]
    """Arguments of `simulate`: sampling, precision, scheme and those of its options that are not the defaults."""
    retries: tuple[Retry, ...]
    """Further attempts, in order."""
    retried: np.ndarray
    """The attempt that gave the result of each member; 0: the first one."""
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    source: str | None
    """File that holds the scan."""
    motions: np.ndarray | None = None
    """Records of the motions that drive the members, (members,), if they differ."""
    scan: xr.Dataset | None = None
    """The scan itself, which states how the members ended."""

    def of(self, member: int) -> dict[str, Any]:
        """Values of one member by dotted name, in their units."""
        return {name: x[member] for name, x in self.values.items()}

    def member_model(self, member: int) -> Model:
        """The mechanism of one member."""
        own = parted(self.model, self.of(member))[0]
        if self.motions is None:
            return model_of(self.model, own)
        return model_of(restored(self.model, {"drive": self.motions[member]}), own)

    def runs(self, members: Sequence[int]) -> xr.Dataset:
        """Trajectories of some members, simulated together as one ensemble along `member`."""
        given = {name: x[list(members)] for name, x in self.values.items()}
        recorded: dict[str, Any] = {"max_events": MAX_EVENTS} if self._smooth_with_events() else {}
        with without_warnings(IncompleteRun):  # the page shows how each one ended
            return ensemble(
                self.model,
                zipped(given),
                trajectories=True,
                retry=bool(self.retries),
                progress=False,
                **self.options | recorded,
            )

    def run(self, member: int) -> xr.Dataset:
        """The trajectory of one member, the same as from the lines of code that a page shows for it.

        Warns:
            UserWarning: if it does not end as the scan states.
        """
        attempt = self.attempts()[int(self.retried[member])]
        run = simulate(self.member_model(member), **self.options | attempt | self._start(member))
        if other := self.disagreement(member, run):
            warn_user(f"the member does not end as in its scan: {other}; {CAUSES}")
        return run

    def disagreement(self, member: int, run: xr.Dataset) -> str:
        """How the ends of a member in its scan and in a new run differ; empty if they agree."""
        if self.scan is None:
            return ""
        scanned = self.scan
        # One dimension at a time: xarray cannot index several of a transposed dataset that is not loaded.
        for dim, i in zip(self.dims, np.unravel_index(member, self.shape), strict=True):
            scanned = scanned.isel({dim: i})
        return disagreement(scanned, run, _states(self.model), self.options["precision"])

    def _smooth_with_events(self) -> bool:
        scheme = scheme_for(self.model, self.options.get("scheme"))
        return isinstance(scheme, Smooth) and bool(self.model.events())

    def attempts(self) -> list[dict[str, Any]]:
        """Options of the first attempt and of each retry, beyond those of the scan."""
        usual = _default(self.model, self.options)
        return [{}, *(_changed(usual, r.scheme) | {"precision": r.precision} for r in self.retries)]

    def _start(self, member: int) -> dict[str, Any]:
        with precisions.use("float64"):  # otherwise JAX would round the start
            start = {n: jnp.asarray(x) for n, x in parted(self.model, self.of(member))[1].items()}
            y0 = self.member_model(member).initial_state()
            return {"initial_state": with_state_variables(y0, start)} if start else {}


def scan_recipe(scan: xr.Dataset, model: Model | None = None) -> Recipe:
    """How to rerun the members of a scan, by default with the model that its attributes name.

    Raises:
        ValueError: if the attributes do not suffice (unknown models, exchanged parts, special options of schemes), and
            for a scan without the values of its members.
    """
    dims = members_dims(scan)
    shared = xr.Dataset(attrs={n: x for n, x in scan.attrs.items() if n not in (VALUES, MOTIONS)})
    chosen = rebuilt(shared) if model is None else model
    options = _options(scan, chosen)
    asked: dict[str, Any] = {n: x for n, x in options.items() if n not in SAMPLING}
    scheme, reference = (scheme_for(chosen, **{**asked, "precision": p}) for p in (options["precision"], "float64"))
    shape = tuple(scan.sizes[d] for d in dims)
    retried = status_codes(flat(scan["retries"], dims) if "retries" in scan else np.zeros(math.prod(shape)))
    attempts = json.loads(scan.attrs.get("retries_legend", '{"0": "first attempt"}'))
    retries = scheme.retries(options["precision"], reference) if len(attempts) > 1 else ()
    if retried.max(initial=0) > len(retries):
        raise ValueError(f"the result has members of retry {retried.max()}, but this version has {len(retries)}")
    check_coordinates(scan)
    motions = recorded(scan)
    return Recipe(
        chosen, _known_as(chosen), _values(scan, chosen, dims, motions), options, retries, retried.clip(min=0), dims,
        shape, _source(scan),
        None if motions is None else _along(motions, scan, dims), scan,
    )  # fmt: skip


SAMPLING = ("strides", "duration", "samples")


@by_name("write again(scan.isel(mass=3)) or again(scan.sel(mass=70.0))")
def again(result: xr.Dataset | str | os.PathLike[str], *, model: Model | None = None) -> xr.Dataset:
    """Simulates a run, or one member of a scan, again.

    Args:
        result: a result of `simulate` or its file, or a member of a result of `ensemble` (by `sel` or `isel`).
        model: the mechanism; None: made from the attributes of the result.

    Returns:
        As `simulate` returns it.

    Raises:
        TypeError: for anything but a result.
        ValueError: for more than one member, for a member without its values, and if the attributes do not suffice.

    Warns:
        UserWarning: if the member does not end as the scan states.

    Examples:
        >>> from jaxgait import Bungee, ensemble
        >>> from jaxgait.ensembles import again
        >>> scan = ensemble(Bungee(), {"mass": [60.0, 80.0]}, duration=10.0, observe=["clearance"])
        >>> run = again(scan.sel(mass=80))
        >>> print(abs(float(run.height.min() - scan.clearance.sel(mass=80))) < 1e-2)  # m: samples miss the lowest point
        True
    """
    data = open_result(result)
    of_class("result", data, xr.Dataset, "as simulate and ensemble return it, or the path of its file")
    if is_run(data):
        return run_recipe(data, model).run(0)
    if "status" in data and data["status"].dims:
        dims = ", ".join(f"{d}=..." for d in members_dims(data))
        raise ValueError(f"select one member: again(scan.sel({dims})), or by its number scan.isel({dims})")
    arrays = {n for n in json.loads(data.attrs.get(VALUES, "[]")) if n in data.coords}
    own = {n: x.expand_dims("member") for n, x in data.coords.items() if x.ndim == 0 or n in arrays}
    if not own:
        raise ValueError("this holds no values of a member: select one without drop=True, such as scan.isel(mass=0)")
    return scan_recipe(data.expand_dims("member").assign_coords(own), model).run(0)


def _values(
    scan: xr.Dataset, model: Model, dims: tuple[str, ...], motions: xr.DataArray | None
) -> dict[str, np.ndarray]:
    names = [*parameters(model), *(INITIAL + n for n in _states(model))]
    known = {str(n): x for n, x in scan.coords.items()}  # without dimensions, too: fixed values of a part of a scan
    names += [n for n in known if n not in names and array_of(n) in names]  # elements of arrays
    if motions is not None:
        moving = recorded_motions(model, motions.values.ravel())
        for n, x in moving.items():
            extra = tuple(f"{n}_{i}" for i in range(x.ndim - 1))
            known[n] = xr.DataArray(x.reshape((*motions.shape, *x.shape[1:])), dims=motions.dims + extra)
        names += moving
    given = {n: known.get(f"{n}_values", known.get(n)) for n in names}
    found = {n: x for n, x in given.items() if x is not None}
    varied = {d for x in found.values() for d in x.dims}
    unknown = [d for d in dims if scan.sizes[d] > 1 and d not in varied] or ([] if varied & {*dims} else dims)
    if unknown:
        along = ", ".join(unknown)
        raise ValueError(f"the scan does not name the parameters of {type(model).__name__} that vary along {along}")
    return {n: _along(x, scan, dims) for n, x in found.items()}


def _states(model: Model) -> list[str]:
    return [*state_variables(jax.eval_shape(model.initial_state))]


def _along(x: xr.DataArray, scan: xr.Dataset, dims: tuple[str, ...]) -> np.ndarray:
    """A coordinate's values for all members, (members, ...), also if it lacks some of the dimensions."""
    return flat(x.expand_dims({d: scan.sizes[d] for d in dims if d not in x.dims}), dims)


def _options(scan: xr.Dataset, model: Model) -> dict[str, Any]:
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
    recorded = {f.name: attrs[n] for f in fields(usual) for n in (f.name, f"{f.name}_s") if n in attrs}
    return chosen | _differing(usual, recorded)


def _default(model: Model, options: Mapping[str, Any]) -> Scheme:
    return scheme_for(model, options.get("scheme"), precision=options.get("precision", "float64"))


def _changed(usual: Scheme, scheme: Scheme) -> dict[str, Any]:
    return _differing(usual, {n.removesuffix("_s"): x for n, x in scheme_options(scheme).items() if n != "scheme"})


def _differing(usual: Scheme, recorded: Mapping[str, Any]) -> dict[str, Any]:
    plain = {n.removesuffix("_s"): x for n, x in scheme_options(usual).items()}
    if isinstance(usual, EventDriven):  # early versions recorded tolerances as its controller
        plain.setdefault("controller", as_attribute(usual.control))
    bare = {n: str(x).partition("(")[0] for n, x in plain.items()}  # as in files of early versions
    found = {n: x for n, x in recorded.items() if n not in FREE and x not in (plain.get(n), bare.get(n))}
    for name, value in found.items():
        if name not in SETTABLE:
            raise ValueError(f"its scheme ran with {name}={value!r}, which simulate does not accept")
    if "dt" in found and "rtol" in recorded:  # then dt was a first step: alone, it makes steps constant
        found["rtol"] = recorded["rtol"]
    return found


def _source(data: xr.Dataset) -> str | None:
    """Name of the file that a result was read from."""
    source = data.encoding.get("source")
    return None if source is None else pathlib.Path(source).name


def _known_as(model: Model) -> str:
    return registry.known_as(type(model).__name__, type(model).__module__)


def run_recipe(run: xr.Dataset, model: Model | None = None) -> Recipe:
    """How to rerun a result of `simulate`: as a scan of one member, with its start unless it is the model's own.

    Raises:
        ValueError: if no `model` is given and the attributes do not suffice.
    """
    chosen = rebuilt(run) if model is None else model
    own = {n: np.asarray(x) for n, x in state_variables(chosen.initial_state()).items()}
    start = {n: np.asarray(run[n].values[0]) for n in own if n in run}
    rounding = lambda x: 16.0 * np.finfo(x.dtype).eps  # compiled programs differ in the last bits
    differing = [n for n, x in start.items() if not np.allclose(x, own[n], rtol=rounding(x), atol=rounding(x))]
    values = {INITIAL + n: start[n][None] for n in differing}
    return Recipe(
        chosen, _known_as(chosen), values, _options(run, chosen), (), np.zeros(1, dtype=int), (), (),
        _source(run),
    )  # fmt: skip
