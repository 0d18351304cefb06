"""The motion of a member in the page's format: its scene and histories, thinned, rounded, packed into bytes."""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from jaxgait.ensembles.results import over_time
from jaxgait.model import Model
from jaxgait.plot.jumps import jumps, parted
from jaxgait.plot.references import references
from jaxgait.plot.scene import Body, Curve, Limb, Scene, arrow_scale, scene
from jaxgait.plot.strides import stride_time
from jaxgait.support.units import displayed

MAX_STEPS = 300
"""Largest number of steps from sample to sample that are played for a member."""
MAX_STRIDES = 3
"""Largest number of strides played, the last ones."""
RIGID_WITHIN = 1e-4
"""Change of shape, relative to its size, below which an outline counts as rigid: less than a tenth of a pixel."""
MAX_HISTORIES = 40
_SINGLE = np.finfo(np.float32)


class Pack:
    """Arrays in one block of bytes, with a header of their positions."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def floats(self, values: Any) -> dict[str, Any]:
        """Adds numbers in single precision, or in double if some exceed its range; returns a reference."""
        exact = np.abs(np.asarray(values, dtype="<f8"))
        exact_in_single = (exact == 0.0) | ~np.isfinite(exact) | ((exact >= _SINGLE.tiny) & (exact <= _SINGLE.max))
        return self._put("f4", np.asarray(values, dtype="<f4")) if exact_in_single.all() else self.doubles(values)

    def doubles(self, values: Any) -> dict[str, Any]:
        """Adds numbers in double precision."""
        return self._put("f8", np.asarray(values, dtype="<f8"))

    def bytes(self, values: Any) -> dict[str, Any]:
        """Adds integers from 0 to 255."""
        return self._put("u1", np.asarray(values, dtype="u1"))

    def points(self, values: Float[np.ndarray, " ..."]) -> dict[str, Any]:
        """Adds coordinates in m as 16-bit steps of their range (the largest is NaN), as differences along samples."""
        known = np.isfinite(values)
        low = float(values[known].min()) if known.any() else 0.0
        step = (float(values[known].max()) - low) / 65534.0 if known.any() else 0.0
        whole = np.where(known, np.round((np.where(known, values, low) - low) / (step or 1.0)), 65535.0).astype("<u2")
        steps = np.diff(whole, axis=0, prepend=np.zeros_like(whole[:1]))  # modulo 2^16, as the page adds them
        return self._put("d2", steps) | {"low": low, "step": step}

    def _put(self, kind: str, array: np.ndarray) -> dict[str, Any]:
        content = np.ascontiguousarray(array).tobytes()
        found = {"at": self._size, "kind": kind, "shape": list(array.shape)}
        padding = -len(content) % 8  # views need aligned bytes
        self._parts += [content, bytes(padding)]
        self._size += len(content) + padding
        return found

    def packed(self, header: dict[str, Any]) -> bytes:
        """The compressed block: length of the header (4 bytes), header, arrays."""
        text = json.dumps(header, allow_nan=False).encode()
        text += b" " * (-(len(text) + 4) % 8)
        content = b"".join([len(text).to_bytes(4, "little"), text, *self._parts])
        return gzip.compress(content, compresslevel=6, mtime=0)  # level 9: 3 % smaller in ten times as long


def one_run(runs: xr.Dataset, member: int) -> xr.Dataset:
    """One of several runs along `member`, in the form of `simulate`: over `time`, with the names of its events."""
    run = over_time(runs.isel(member=member))
    if "event_kind" in run:
        names = json.loads(run.event_kind.attrs["legend"])
        run = run.isel(event=np.flatnonzero(run.event_kind.values >= 0))
        found = np.array([names[str(k)] for k in run.event_kind.values.tolist()], dtype=str)
        run = run.drop_vars("event_kind").assign(event_name=("event", found))
    return run


def samples_to_play(own: int, strides: int | None) -> int:
    """Number of samples (per stride) of a member simulated for playback: as many as are played, if its scan has fewer.

    A multiple of those of the scan, such that its times are among them.
    """
    most = MAX_STEPS if strides is None else MAX_STEPS // min(strides, MAX_STRIDES)
    return own * max(1, most // own)


def frames(run: xr.Dataset, reached: float) -> Int[np.ndarray, " samples"]:
    """The samples to play of a run that ended at `reached` (s): of the last strides, or of all; always the last one."""
    last = max(1, int(np.searchsorted(run.time.values, reached * (1.0 + 1e-9), side="right")) - 1)
    length = min(last, MAX_STRIDES * int(run.attrs.get("samples_per_stride", last)))
    return np.append(np.arange(last - length, last, -(-length // MAX_STEPS)), last)


def playback(pack: Pack, run: xr.Dataset, model: Model) -> dict[str, Any]:
    """A member's motion: references to its time, shapes, forces, curves and histories.

    Raises:
        ValueError: for a mechanism without a scene.
    """
    shown = scene(run, model)
    take = frames(run, float(shown.time[-1]))
    time = pack.doubles(shown.time[take])
    return {
        "time": time,
        "seconds": float(np.ptp(shown.time[take])),
        "stride": stride_time(run),
        "ended": shown.ended,
        "shapes": [_shape(pack, s, take) for s in shown.shapes],
        "views": [
            {"centre": pack.floats(_taken(v.centre, take)), "span": [*map(float, v.span)], "title": v.title}
            for v in shown.views
        ],
        "ground": None if shown.ground is None else [float(shown.ground.height), float(shown.ground.slope)],
        "scale": float(shown.newtons_per_metre or arrow_scale(shown)),
        "forces": [
            {"at": pack.floats(_taken(f.at, take)), "force": pack.floats(_taken(f.force, take)), "colour": f.colour}
            for f in shown.forces
        ],
        "trails": [
            {"points": pack.floats(_taken(t.points, take)), "name": t.name, "colour": t.colour} for t in shown.trails
        ],
        "curves": [_curve(pack, c, shown, take, time) for c in shown.curves],
        "readouts": [
            {"name": n, "values": pack.floats(x[take]), "unit": unit} for n, (x, unit) in shown.readouts.items()
        ],
        "legend": dict(shown.legend),
        "histories": {n: pack.floats(displayed(run[n]).values[take]) for n in _histories(run)},
        "jumps": _jumps(pack, run, take),
    }


def _jumps(pack: Pack, run: xr.Dataset, take: Int[np.ndarray, " samples"]) -> dict[str, Any]:
    """Numbers of the first samples played after each jump, and the histories just before and after by name."""
    found = jumps(run, _histories(run))
    sample = np.searchsorted(take, found.sample)
    inside = np.flatnonzero((sample > 0) & (sample < take.size))
    packed = lambda side: {n: pack.floats(displayed(x).values[inside]) for n, x in side.items()}
    times = {"time": pack.doubles(found.time[inside])}
    return {
        "sample": pack.doubles(sample[inside]),
        "before": packed(found.before) | times,
        "after": packed(found.after) | times,
    }


def history_labels(run: xr.Dataset) -> dict[str, list[str]]:
    """Long name and unit of the histories of a run, by name."""
    shown = {n: displayed(run[n]).attrs for n in _histories(run)}
    return {n: [str(attrs.get(a, "")) for a in ("long_name", "units")] for n, attrs in shown.items()}


def measured_histories(run: xr.Dataset) -> dict[str, str]:
    """The measured references of the histories of a run, by the names of these."""
    return references(run[_histories(run)])


def _histories(run: xr.Dataset) -> list[str]:
    return [str(n) for n, x in run.data_vars.items() if x.dims == ("time",) and x.dtype.kind == "f"][:MAX_HISTORIES]


def _taken(values: np.ndarray, take: Int[np.ndarray, " samples"]) -> np.ndarray:
    return values[take] if len(values) > 1 else values


def _curve(
    pack: Pack, curve: Curve, shown: Scene, take: Int[np.ndarray, " samples"], time: dict[str, Any]
) -> dict[str, Any]:
    """A panel's lines, interrupted where they jump; most have the times of the film."""
    lines = {}
    for label, x in curve.values.items():
        across, values = parted(shown.time[take], x[take], shown.instants)
        own = time if across.size == take.size else pack.doubles(across)
        lines[label] = {"time": own, "values": pack.floats(values)}
    return {"name": curve.name, "unit": curve.unit, "values": lines, "measured": curve.measured}


def _shape(pack: Pack, shape: Limb | Body, take: Int[np.ndarray, " samples"]) -> dict[str, Any]:
    common = {"colour": shape.colour, "opacity": shape.opacity}
    if isinstance(shape, Limb):
        return {"points": pack.points(_taken(shape.points, take)), "width": float(shape.width)} | common
    outline = _taken(shape.outline, take)
    common["edge"] = shape.edge
    pose = rigid(outline)
    if pose is None:
        return {"outline": pack.points(outline)} | common
    return {"outline": pack.points(outline[:1]), "pose": pack.floats(pose)} | common


def rigid(outline: Float[np.ndarray, "samples points 2"]) -> Float[np.ndarray, "samples 3"] | None:
    """The motion of a rigid outline (in m): shift (right, up) in m and rotation in rad about the origin.

    The rotation is the least-squares one (Kabsch 1976, doi:10.1107/S0567739476001873, in the plane). None if the
    outline has a single sample or gaps, or changes its shape.
    """
    if len(outline) < 2 or not np.isfinite(outline).all():
        return None
    flat = outline @ np.array([1.0, 1.0j])
    middle = flat.mean(axis=1, keepdims=True)
    arms = flat - middle
    turn = (arms * arms[:1].conj()).sum(axis=1, keepdims=True)
    turn = turn / np.where(turn == 0.0, 1.0, np.abs(turn))
    if np.abs(arms - turn * arms[:1]).max() > RIGID_WITHIN * np.abs(arms).max():
        return None
    shift = (middle - turn * middle[:1])[:, 0]
    return np.stack([shift.real, shift.imag, np.angle(turn[:, 0])], axis=-1)
