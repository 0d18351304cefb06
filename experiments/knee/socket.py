"""Beyond the paper: a compliant socket between the measured hip path and the leg."""

from __future__ import annotations

import pathlib
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import numpy as np
import xarray as xr

from jaxgait import ensemble
from jaxgait.ensembles import zipped
from jaxgait.models.prosthesis import pictures
from jaxgait.models.prosthesis.measures import MEASURES
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.models.prosthesis.parts import Socket
from jaxgait.motion.drive import REFERENCE_GAITS, gait_record
from jaxgait.plot.style import save
from jaxgait.report import Report, table

from .expected import RATIO

STRIDES = 14
OBSERVED = {**MEASURES, "order": replace(MEASURES["order"], strides=STRIDES)}  # the socket damps: settled by then
BODY_WEIGHT = gait_record(REFERENCE_GAITS[0])["mass_kg"] * 9.81
"""Body weight in N of the drive's subject."""
NAMES = ("socket.stiffness_y", "socket.load_share", "height_offset", "damper.k")
CASES = {
    "soft socket": (6.0e4, 0.0, -0.1175, 1.8e4),
    "soft and loaded": (1.0e4, 1.0, -0.1175, 1.8e4),
    "loaded, hip 7.5 mm higher": (1.0e4, 1.0, -0.110, 1.8e4),
    "loaded, hip 12.5 mm higher": (1.0e4, 1.0, -0.105, 1.8e4),
    "three times as stiff": (3.0e4, 1.0, -0.110, 1.8e4),
    "damper k = 14 kN/m": (1.0e4, 1.0, -0.110, 1.4e4),
    "damper k = 15.2 kN/m": (1.0e4, 1.0, -0.110, 1.52e4),
    "damper k = 24 kN/m": (1.0e4, 1.0, -0.110, 2.4e4),
}
"""Values of `NAMES` in SI units."""
DRAWN = 3
"""Cases in the picture."""


def compliant(leg: Prosthesis) -> Prosthesis:
    return eqx.tree_at(lambda p: p.socket, leg, Socket(), is_leaf=lambda x: x is None)


def study(report: Report, out: pathlib.Path, rigid: xr.Dataset, progress: bool) -> None:
    """Compares sockets with the paper's rigid hip (members 0, 1 and 4 of `rigid`: k = 14, 15.2 and 18 kN/m)."""
    leg = Prosthesis()
    values: dict[str, Any] = dict(zip(NAMES, np.array(list(CASES.values())).T, strict=True))
    values["damper.c"] = RATIO * values["damper.k"]
    options: dict[str, Any] = {"observe": OBSERVED, "trajectories": True, "retry": False, "rtol": 1e-5}
    data = ensemble(compliant(leg), zipped(values), strides=STRIDES, progress=progress, **options)
    soft = {label: data.isel(member=i) for i, label in enumerate(CASES)}
    hard = {f"rigid hip, k = {k:g} kN/m": rigid.isel(member=i) for i, k in ((4, 18), (0, 14), (1, 15.2))}
    first = next(iter(hard))
    drawn = {first: hard[first], **{label: soft[label] for label in list(soft)[:DRAWN]}}
    phase = np.linspace(0.0, 1.0, 101)
    load = np.stack(jax.vmap(lambda s: leg.drive.evaluate(s * leg.period).load)(phase))  # type: ignore[arg-type]
    shown = {label: run for label, run in drawn.items() if int(run.status) == 0}
    picture = pictures.ground_load(shown, float(leg.period), BODY_WEIGHT, load)
    report.picture(save(picture, out / "socket_forces.png"), "Ground reaction over a stride: rigid hip, and sockets")
    headings = ["variant", "rho", "period", "peak flexion (deg)", "peak force (BW)", "mean force (BW)"]
    rows = [_row(label, run) for label, run in {**hard, **soft}.items()]
    force = load[1] / BODY_WEIGHT
    rows.append(["measured, sound leg", "", "", "", *_loads(force)])
    report.section("A compliant socket", f"{table([*headings, 'loaded (% of stride)'], rows)}\n\n{ADVICE}")
    best = soft["loaded, hip 7.5 mm higher"]
    figures = {"rho": float(best.rho), "peak": _force(best).max(), "mean": _force(best).mean()}
    figures["loaded"] = _loaded(_force(best))
    units = {"rho": "1", "peak": "body weights", "mean": "body weights", "loaded": "% of the stride"}
    for name, value in figures.items():
        report.figure(f"knee.socket.{name}", f"compliant socket, hip 7.5 mm higher: {name}", units[name], value)


def _force(run: xr.Dataset) -> np.ndarray:
    """Ground force of the last five strides in body weights."""
    return (run.heel_force + run.toe_force).values[-500:] / BODY_WEIGHT


def _loaded(force: np.ndarray) -> float:
    """Share of the time in % with more than a tenth of the body weight."""
    return 100 * float(np.mean(force > 0.1))


def _row(label: str, run: xr.Dataset) -> list[str]:
    if int(run.status) != 0:
        return [label, f"ended early (status {int(run.status)})", *[""] * 5]
    gait = [f"{float(run.rho):.4f}", str(int(run.order) or "irregular"), f"{float(run.peak_flexion):.1f}"]
    return [label, *gait, *_loads(_force(run))]


def _loads(force: np.ndarray) -> list[str]:
    return [f"{force.max():.2f}", f"{force.mean():.2f}", f"{_loaded(force):.0f}"]


ADVICE = """Forces are read at 100 samples per stride, in body weights (BW) of the drive's subject (85 kg); a foot
counts as loaded above 0.1 BW. All sockets are chosen, not measured.

- **Rigid hip** (the paper's model): trust it for swing (peak flexion, rho, the ranking of dampers), where the ground
  does not act, and for comparisons with the paper. Do not trust its loads: millimetres of hip height set them.
- **A soft socket alone** cuts the peak to a third but carries nothing after a quarter of the stride: the path, not a
  weight, presses the foot down.
- **Loaded** with the measured ground reaction at the height that suits the rigid hip, the knee lands bent and buckles.
  That is a finding about height, not about the damper: a leg that is too long for its wearer is not safe.
- **Loaded, hip 7.5 mm higher**: the knee lands straight and the ground load follows the sound leg's to mid stance, as
  far as half of the stride. Trust this one for stance and loads. The second hump stays low and the foot leaves early,
  because this ankle is passive and too soft (10 N m/rad) to push off.
- **Rho and subharmonics**: rho changes by a thousandth at k = 18 kN/m, peak flexion rises by four degrees, and the
  order of the windows stays: period one at 18 and 24 kN/m, subharmonic or irregular at 15.2 and 14 kN/m. Conclusions
  on the damper from the rigid hip therefore carry over; those on forces do not."""
