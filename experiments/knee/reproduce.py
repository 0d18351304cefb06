"""The knee's trajectories, its map over k and c/k, and its tuning by gradients, in one report."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import xarray as xr

from jaxgait.analysis import gait
from jaxgait.models.prosthesis import pictures
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.motion.drive import REFERENCE_GAITS, gait_record, reference_gait
from jaxgait.plot import film
from jaxgait.plot.style import save
from jaxgait.report import Report, table
from jaxgait.reproduction import parts

from . import expected, runs, socket, tune
from . import pictures as over_k

TITLE = "The four-bar prosthetic knee"
MINUTES = 2
INTRO = """The four-bar prosthetic knee of Lü et al., Chin. J. Theor. Appl. Mech. 52 (2020) 1157, driven by the embedded
measured hip (Rajagopal et al. 2016). The paper's tables are lost: sets R2 (numbers, gradients) and R3 (subharmonic
windows) are reconstructions, tuned against the features at c/k = 0.05 s, so that agreement there is no validation."""
CASES_R2 = [(1.4e4, 1.0), (1.52e4, 1.0), (1.4e4, 1.006), (1.52e4, 1.006), (1.8e4, 1.0)]
CASES_R3 = [(1.4e4, 1.0), (1.52e4, 1.0), (1.4e4, 1.006), (1.52e4, 1.006), (1.6e4, 1.0)]
K = np.linspace(1.0e4, 4.0e4, 61)
RATIOS = np.round(np.linspace(0.02, 0.10, 33), 4)
K_R3 = np.linspace(1.36e4, 1.66e4, 31)


def reproduce(out: pathlib.Path, *, progress: bool = True) -> Report:
    report, beyond = Report(TITLE, INTRO), Report("Beyond the paper")
    r2, r3 = Prosthesis(), Prosthesis().preset("R3")
    with parts(report, out, 7, progress) as part:
        tuning = part.start("optimisation (in parallel with the rest)", tune.tune, r2)
        one = part.run("time histories, set R2", runs.histories, r2, CASES_R2, progress)
        other = part.run("time histories, set R3", runs.histories, r3, CASES_R3, progress)
        scan = part.run("scan of k and c/k", runs.scan, r2, K, RATIOS, progress)
        windows = part.run("subharmonic windows, set R3", runs.scan, r3, K_R3, np.array([expected.RATIO]), progress)
        part.run("compliant socket", socket.study, beyond, out, one, progress)
        best, check = tuning()
        part.run("pictures", _pictures, report, out, r2, one, other, scan, windows, best)
        _numbers(report, one, other, scan)
        tune.describe(report, best, check)
        report.append(beyond)
        for name, data in {"histories_R2": one, "histories_R3": other, "scan_R2": scan, "scan_R3": windows}.items():
            report.data(out / f"{name}.nc", data)
        report.data(out / "optimisation.nc", best.history)
        best.to_json(out / "optimisation.json")
    return report


def _pictures(
    report: Report,
    out: pathlib.Path,
    leg: Prosthesis,
    one: xr.Dataset,
    other: xr.Dataset,
    scan: xr.Dataset,
    windows: xr.Dataset,
    best: Any,
) -> None:
    period = float(leg.period)

    def add(name: str, figure: Any, caption: str) -> None:
        report.picture(save(figure, out / f"{name}.png"), caption)

    subharmonic = {f"k = {k:g} N/m": other.isel(member=i) for i, (k, _) in enumerate(CASES_R3[:2])}
    lifted = {f"k = {k:g} N/m, hip lifted by {s:g}": other.isel(member=i + 2) for i, (k, s) in enumerate(CASES_R3[2:4])}
    add("figure_03_centrode", pictures.centrode(one.isel(member=4), expected.CENTRODE), "J-curve (Figure 3)")
    record = gait_record(REFERENCE_GAITS[0])
    add(
        "figure_07_hip",
        pictures.hip_motion(leg.drive, record["mean_stride"]),
        f"The measured motion of hip and thigh over a stride of {period:g} s, and its spectra (Figure 7; the paper "
        "averages 30 strides of its own subject, this is one stride of Rajagopal et al.)",
    )
    add(
        "figure_08_histories", pictures.knee_curves(subharmonic, period, 6), "Subharmonic responses, set R3 (Figure 8a)"
    )
    add("figure_08_spectra", pictures.spectra(subharmonic, 12, 100), "Their spectra (Figure 8b)")
    add("figure_09_histories", pictures.knee_curves(lifted, period, 6), "Lifting the hip, set R3 (Figure 9a)")
    add("figure_09_spectra", pictures.spectra(lifted, 12, 100), "Their spectra (Figure 9b)")
    regular = {"set R2, k = 18000 N/m": one.isel(member=4), "set R3, k = 16000 N/m": other.isel(member=4)}
    add("figure_10_histories", pictures.knee_curves(regular, period), "Period-one gait (Figure 10, left)")
    add("figure_10_spectra", pictures.spectra(regular, 12, 100), "Its spectrum (Figure 10, right): no subharmonics")
    add(
        "figure_11_windows",
        over_k.waterfall(K_R3, windows.frequency.values, windows.amplitude.isel(ratio=0).values),
        "Spectra against k at c/k = 0.05 s, set R3 (Figure 11)",
    )
    critical = {r: gait.subharmonic_limit(K, _orders(scan, r))[0] for r in (0.03, 0.05, 0.07, 0.1)}
    peak = float(np.degrees(one.measured_knee_angle.max()))
    lines = over_k.scan_lines(scan, list(critical), critical, peak)
    add(
        "figure_12_13_lines",
        lines,
        "Peak flexion and rho against k (Figures 12, 13), each panel with its own scale. Black: the measured peak. "
        "Red: where the peak reaches it, and critical k. Grey: folded",
    )
    add("map", pictures.scan_maps(scan, best.history), _map_caption(best))
    add("ground_forces", pictures.ground_forces(regular, period), "Ground forces of the last stride")
    report.picture(
        film.animate(_last_stride(one.isel(member=4), period), speed=0.5, fps=15).save(out / "walk.gif", dpi=95),
        "One stride of set R2, k = 18000 N/m (half speed). The contact is a spring of 100 kN/m: the load presses the "
        "foot into it (orange)",
    )


def _last_stride(run: xr.Dataset, period: float) -> xr.Dataset:
    return run.sel(time=slice(float(run.time[-1]) - period, None))


def _map_caption(best: Any) -> str:
    starts, evaluations = best.history.sizes["start"], best.history.sizes["iteration"] - 1
    return (
        "Correlation (colours clipped at 0.93), peak flexion and period over k and c/k; grey: folded. Red: gradient "
        f"searches from {starts} starts (circles) to their ends after at most {evaluations} evaluations (stars, open "
        "where the gait is not stable); the section Optimisation explains how each of them ended."
    )


def _orders(scan: xr.Dataset, ratio: float) -> np.ndarray:
    """Subharmonic orders along k; NaN where a member folded or failed."""
    return scan.sel(ratio=ratio, method="nearest").order.values


def _numbers(report: Report, one: xr.Dataset, other: xr.Dataset, scan: xr.Dataset) -> None:
    run = one.isel(member=4)
    curve = np.degrees(run.knee_angle.values[-101::5])
    error = float(np.max(np.abs(curve - np.array(expected.CURVE))))
    what, within = "knee angle over the last stride, largest deviation", expected.CURVE_TOLERANCE
    report.figure("knee.curve", what, "deg", error, expected=0.0, tolerance=within)
    last = slice(-500, None)
    heel, toe = run.heel_force.values[last], run.toe_force.values[last]
    for name, value in {"heel": heel.max(), "toe": toe.max(), "mean": (heel + toe).mean()}.items():
        what = {"mean": "mean ground force"}.get(name, f"largest {name} force")
        report.compare(f"knee.force.{name}", what, value, expected.FORCES[name])
    for (k, order, *_), rho, peak in expected.TABLE_R2:
        at = scan.sel(k=k, ratio=expected.RATIO, method="nearest")
        label, key = f"k = {k:g} N/m, c/k = 0.05 s (R2)", f"knee.R2.{k:g}"
        report.figure(f"{key}.order", f"period in strides, {label}", "1", int(at.order), **_order(k, order))
        report.compare(f"{key}.rho", f"rho, {label}", at.rho, rho)
        report.compare(f"{key}.peak", f"peak flexion at 100 samples per stride, {label}", at.sampled_peak, peak)
    report.figure(
        "knee.R2.15200.order",
        "period in strides, k = 15200 N/m, c/k = 0.05 s (R2)",
        "1",
        int(one.order.isel(member=1)),
        expected=2,
        paper=expected.paper_order(1.52e4),
        note=expected.OTHER_WINDOWS,
    )
    for ((k, order, *_), rho), member in zip(expected.TABLE_R3, (0, 1, 4), strict=True):
        at, label = other.isel(member=member), f"k = {k:g} N/m, c/k = 0.05 s (R3)"
        report.figure(f"knee.R3.{k:g}.order", f"period in strides, {label}", "1", int(at.order), **_order(k, order))
        report.compare(f"knee.R3.{k:g}.rho", f"rho, {label}", at.rho, rho)
    for data, name, wanted in ((one, "R2", (1, 1)), (other, "R3", (3, 1))):
        for member, order in zip((2, 3), wanted, strict=True):
            k = CASES_R2[member][0]
            what = f"period in strides, hip lifted by 1.006, k = {k:g} N/m ({name})"
            found = int(data.order.isel(member=member))
            report.figure(f"knee.lift.{name}.{k:g}", what, "1", found, expected=order, paper=1, note=expected.LIFTED)
    _drive(report)
    _tables(report, scan, float(np.degrees(one.measured_knee_angle.max())))


def _tables(report: Report, scan: xr.Dataset, measured_peak: float) -> None:
    """The paper's Tables 3 and 4 as computed."""
    rows3, rows4 = [], []
    for ratio, (rho, where) in expected.BEST.items():
        orders, line = _orders(scan, ratio), scan.sel(ratio=ratio, method="nearest")
        critical, windows = gait.subharmonic_limit(K, orders)
        again = ", ".join(f"{a:g}" if a == b else f"{a:g}-{b:g}" for a, b in windows) or "none"
        rows3.append([f"{ratio:g}", "none" if np.isnan(critical) else f"{critical:g}", again])
        rho_line = line.rho.where(line.status == 0)
        top, at = float(rho_line.max()), float(rho_line.idxmax())
        rows4.append([f"{ratio:g}", f"{top:.4f}", f"{at:g}"])
        lost = "Table 4 is lost; similar for all c/k"
        report.compare(f"knee.best.{ratio:g}", f"largest rho at c/k = {ratio:g} s", top, rho, paper=lost)
        report.compare(f"knee.best_k.{ratio:g}", f"k of the largest rho at c/k = {ratio:g} s", at, where)
        if ratio in expected.CRITICAL:
            paper = expected.PAPER_CRITICAL.get(ratio, "Table 3 is lost")
            what = f"critical k at c/k = {ratio:g} s"
            report.compare(f"knee.critical.{ratio:g}", what, critical, expected.CRITICAL[ratio], paper=paper)
    report.section("Table 3: critical k", table(["c/k (s)", "critical k (N/m)", "other k without period one"], rows3))
    report.section("Table 4: largest rho", table(["c/k (s)", "largest rho", "k (N/m)"], rows4))
    _features(report, scan, measured_peak)


def _order(k: float, order: int | str) -> dict[str, int | str | None]:
    return {"expected": order, "paper": expected.paper_order(k)}


def _drive(report: Report) -> None:
    """The strongest frequencies of the measured hip (the paper's Figure 7b, in Hz at T = 1 s)."""
    drive = reference_gait()
    for name, series, order in (("height of the hip", drive.hip_y, 2), ("thigh", drive.thigh, 1)):
        strongest = 1 + int(np.argmax(np.hypot(series.a, series.b)))
        what = f"strongest frequency of the measured {name}"
        report.figure(f"knee.drive.{name.split()[0]}", what, "1/stride", strongest, expected=order, paper=order)


def _features(report: Report, scan: xr.Dataset, measured_peak: float) -> None:
    """Whether the paper's statements in words hold here."""
    lines = {r: scan.sel(ratio=r, method="nearest") for r in (0.03, 0.04, 0.05, 0.07, 0.1)}
    rho = {r: line.rho.where(line.status == 0).values for r, line in lines.items()}
    peak = {r: line.peak_flexion.where(line.status == 0).values for r, line in lines.items()}
    critical = {r: gait.subharmonic_limit(K, _orders(scan, r))[0] for r in (0.03, 0.05, 0.07)}
    best = float(scan.rho.where(scan.status == 0).max())
    report.figure(
        "knee.best", "largest rho of the map", "1", best, paper=expected.PAPER_BEST, note=expected.OTHER_DRIVE
    )
    equal = [runs.first_fall(K, peak[r], measured_peak) for r in (0.03, 0.04, 0.05)]
    above = rho[0.05][critical[0.05] <= K]
    found = {
        "falling peak": peak[0.05][K == 3.2e4].item() < peak[0.05][K == 1e4].item(),
        "rise and fall": 0 < int(np.nanargmax(above)) < above.size - 1,
        "critical k": _falling(list(critical.values())),
        "equal peak": _falling(equal),
        "faster fall": _falling([_slope_after_maximum(rho[r]) for r in (0.03, 0.05, 0.07, 0.1)]),
        "minima": all(_has_minimum(rho[r][critical[r] > K]) for r in (0.03, 0.05)),
        "above 0.9": best > 0.9,
    }
    for i, (name, value) in enumerate(found.items()):
        what, want, note = expected.FEATURES[name]
        report.figure(f"knee.feature.{i}", what, "", value, expected=want, paper=True, note=note)


def _falling(values: list[float]) -> bool:
    """Whether every value is smaller than the one before; False if one is NaN."""
    return bool(np.all(np.diff(values) < 0.0))


def _slope_after_maximum(rho: np.ndarray) -> float:
    """Mean slope of rho from its maximum to the last damper that does not fold."""
    top, last = int(np.nanargmax(rho)), int(np.flatnonzero(np.isfinite(rho))[-1])
    return float((rho[last] - rho[top]) / (K[last] - K[top]))


def _has_minimum(values: np.ndarray) -> bool:
    """Whether a curve has an interior minimum."""
    return bool(np.any((values[1:-1] < values[:-2]) & (values[1:-1] < values[2:])))
