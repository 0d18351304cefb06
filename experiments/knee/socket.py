"""Beyond the paper: a compliant socket between the measured hip path and the leg, and the ground load then."""

from __future__ import annotations

import pathlib
from typing import Any

import equinox as eqx
import numpy as np
import xarray as xr

from jaxgait import ensemble
from jaxgait.analysis.knee import measures
from jaxgait.ensemble import zipped
from jaxgait.models.prosthesis import Prosthesis
from jaxgait.models.prosthesis_parameters import Socket
from jaxgait.plot import knee as pictures
from jaxgait.plot.style import save
from jaxgait.report import Report

STRIDES = 14
BODY_WEIGHT = 85.07 * 9.81
"""N, of the drive's subject."""
CASES = [(2.0e5, 0.0), (6.0e4, 0.0), (3.0e4, 200.0), (1.5e4, 500.0)]
"""Vertical stiffness in N/m and constant push in N: from nearly rigid to soft tissue under load."""


def compliant(leg: Prosthesis) -> Prosthesis:
    """The leg with a socket; its parameters are then scanned."""
    return eqx.tree_at(lambda p: p.socket, leg, Socket(), is_leaf=lambda x: x is None)


def study(report: Report, out: pathlib.Path, rigid: xr.Dataset, progress: bool) -> None:
    """Compares sockets with the paper's rigid hip at k = 1.8e4 N/m, c/k = 0.05 s."""
    stiffness, push = (np.array(x) for x in zip(*CASES, strict=True))
    members = zipped({"socket.stiffness_y": stiffness, "socket.preload": push})
    options: dict[str, Any] = {"observe": measures, "trajectories": True, "retry": False, "rtol": 1e-5}
    data = ensemble(compliant(Prosthesis()), members, strides=STRIDES, progress=progress, **options)
    labels = ["rigid hip (paper)", *(f"{k / 1e3:g} kN/m, {p:g} N" for k, p in CASES)]
    runs = [rigid.isel(member=4), *(data.isel(member=i) for i in range(len(CASES)))]
    shown = {label: run for label, run in zip(labels, runs, strict=True) if int(run.status) == 0}
    picture = save(pictures.ground_forces(shown, float(Prosthesis().period)), out / "socket_forces.png")
    report.picture(picture, "Ground forces over a stride: rigid hip, and sockets of falling stiffness")
    head = "| socket | rho | period | peak flexion (deg) | peak force (BW) | mean force (BW) | loaded (% of stride) |\n"
    rows = [_row(label, run) for label, run in zip(labels, runs, strict=True)]
    report.section("A compliant socket", head + "|---|---|---|---|---|---|---|\n" + "\n".join(rows) + "\n\n" + ADVICE)


def _row(label: str, run: xr.Dataset) -> str:
    if int(run.status) != 0:
        return f"| {label} | ended early (status {int(run.status)}) | | | | | |"
    force = (run.heel_force + run.toe_force).values[-500:] / BODY_WEIGHT
    loaded = 100 * np.mean(force > 0.02)
    return (
        f"| {label} | {float(run.rho):.4f} | {int(run.order) or 'irregular'} | {float(run.peak_flexion):.1f} "
        f"| {force.max():.2f} | {force.mean():.2f} | {loaded:.0f} |"
    )


ADVICE = """Forces are read at 100 samples per stride, in body weights of the drive's subject (85 kg). The rigid hip is
the paper's model: trust it for swing (peak flexion, rho, the ranking of dampers), where the ground does not act, and
not for loads, for a millimetre of hip height is a hundred newtons. A softer socket lowers the peak, as it should, but
it also unloads the foot: no stiffness and push tried here brings body weight over a normal stance, so that no variant
is to be trusted for the ground load yet. The stiffness is chosen, not measured."""
