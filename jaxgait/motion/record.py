"""A walk as a JSON file: Fourier series, key figures, segments and provenance.

    write_record(walk_record(walk), "walk.json")
    stride = record_stride(read_record("walk.json"), "walk.json")

The fields are those of the embedded gaits (`signals.<name>.{a0, a, b}` in SI units and rad, `period_T_s`, `speed_m_s`,
`segments`); files without a `schema` are read like those.
"""

from __future__ import annotations

import json
import math
import pathlib
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.dynamics import MOMENTS, POWERS, TABLE, Dynamics
from jaxgait.motion.capture.maps import SIDES
from jaxgait.motion.capture.strides import StrideCurve, closed, jumps, unrepeated
from jaxgait.motion.capture.walk import LOADS, Walk, walk_stride
from jaxgait.motion.capture.weight import HEAVIEST, LIGHTEST
from jaxgait.motion.norms import GRAVITY, PERIOD, guess_time, inside
from jaxgait.motion.stride import LOAD, SIGNALS, Series, Stride, fourier, record_person, sampled
from jaxgait.motion.text import content
from jaxgait.motion.verdict import Verdict
from jaxgait.support import files

SCHEMA = "jaxgait-motion/1"
MAX_BYTES = 16 * 2**20
CONVENTION = (
    "y(t) = a0 + sum_k a[k-1] cos(2 pi k t/T) + b[k-1] sin(2 pi k t/T), t = 0 at heel strike; x forward, y up, floor "
    "0; hip progression = speed_m_s t + hip_x_m(t); angles counter-clockwise for a walker in +x: thigh and shank from "
    "the downward vertical, foot from flat; knee = thigh - shank, ankle = foot - shank; SI units, rad"
)


def walk_record(walk: Walk, harmonics: int | None = None) -> dict[str, Any]:
    """The walk as a record.

    The number of harmonics is by default that of `choose_harmonics`.

    Raises:
        ValueError: as `motion.harmonics.check_harmonics`.

    Examples:
        >>> from jaxgait.motion.capture.walk import measure
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> from jaxgait.motion.record import walk_record
        >>> record = walk_record(measure([synthetic_recording(reference_gait())]), harmonics=6)
        >>> print(record["name"], record["n_harmonics"], round(record["period_T_s"], 2))
        rajagopal_1.26ms 6 1.13
    """
    count = walk_stride(walk, harmonics).harmonics
    assert count is not None, "a measured stride has its number of harmonics"
    return {
        "schema": SCHEMA,
        "name": walk.name,
        "source": {
            "leg": walk.side,
            **walk.subject,
            "surface": f"treadmill, belt {walk.belt:.3f} m/s" if walk.belt else "overground",
            "files": [leg.recording.file for leg in walk.legs],
            "rate_Hz": [leg.recording.rate for leg in walk.legs],
            "written_by": _writer(),
            "notes": list(walk.notes),
            "warnings": list(walk.warnings),
            **({} if walk.assumed_path is None else {"assumed_path": walk.assumed_path.gait}),
        },
        "convention": CONVENTION,
        "period_T_s": walk.period,
        "speed_m_s": walk.speed,
        "n_harmonics": count,
        "signals": {k: _series(curve, count) for k, curve in walk.mean.items()},
        "segments": walk.segments,
        "key_figures": key_figures(walk),
        "closure_removed": walk.jumps,
        **({} if walk.dynamics is None else {"dynamics": _dynamics_record(walk.dynamics)}),
        "strides": [_stride_record(s, count) for s in walk.strides],
    }


def stride_record(verdict: Verdict) -> dict[str, Any]:
    """A judged stride as a record, with its person, if one is known, and with what was said when it was measured.

    Examples:
        >>> from jaxgait.motion.record import record_stride, stride_record
        >>> from jaxgait.motion.stride import embedded_stride
        >>> from jaxgait.motion.verdict import judge
        >>> record = stride_record(judge(embedded_stride("rajagopal_1.26ms"), harmonics=6))
        >>> print(record["n_harmonics"], round(record_stride(record).time[-1], 2))  # s
        6 1.13
    """
    stride, person = verdict.stride, verdict.stride.person
    known = "\n".join(stride.warnings)  # of a walk, which was judged when it was measured
    found = [line for line, f in zip(verdict.lines(), verdict.findings, strict=True) if f.what not in known]
    mass = {} if person is None or person.mass is None else {"mass_kg": person.mass}
    return {
        "schema": SCHEMA,
        "name": stride.name,
        "source": {
            **({"leg": stride.side} if stride.side else {}),
            **mass,
            "files": [stride.file or stride.name],
            "written_by": _writer(),
            "warnings": [*stride.warnings, *found],
            **({"assumed_path": stride.assumed_path} if stride.assumed_path else {}),
        },
        "convention": CONVENTION,
        "period_T_s": verdict.cycle.period,
        "speed_m_s": stride.speed,
        "n_harmonics": verdict.harmonics,
        "signals": {k: _fit_record(report.series, report.residual) for k, report in verdict.signals.items()},
        **({} if person is None else {"segments": {"thigh_m": person.thigh, "shank_m": person.shank}}),
    }


def _writer() -> str:
    return f"jaxgait {version('jaxgait')}"


def _dynamics_record(found: Dynamics) -> dict[str, Any]:
    """Mean joint moments and powers, as samples because series of loads that jump would ring."""
    return {
        "convention": "Nm/kg and W/kg at even times, heel strike to heel strike; positive: hip and knee flexion, ankle "
        "dorsiflexion; powers positive where the leg gives energy, the hip's against the vertical",
        "mass_kg": found.mass,
        "segments": {name: {k: float(v) for k, v in part._asdict().items()} for name, part in found.body.items()},
        "table": TABLE,
        "n_strides": len(found.strides),
        "mean": {k: x.tolist() for k, x in found.mean.items()},
        "deviation": {k: x.tolist() for k, x in found.deviation.items()},
        "peaks": {k: list(ends) for k, ends in found.peaks.items()},
    }


def _series(curve: np.ndarray, harmonics: int) -> dict[str, Any]:
    open_curve = curve[:-1]
    series = fourier(open_curve, harmonics)
    left = float(np.sqrt(np.mean((open_curve - sampled(series, open_curve.size)) ** 2)))
    return _fit_record(series, left)


def _fit_record(series: Series, residual: float) -> dict[str, Any]:
    return {"a0": series.a0, "a": series.a.tolist(), "b": series.b.tolist(), "rms": residual}


def _stride_record(stride: StrideCurve, harmonics: int) -> dict[str, Any]:
    """One stride; its signals only if it was kept."""
    facts = {"trial": stride.trial, "start_s": stride.start, "period_T_s": stride.period}
    if stride.reason:
        return facts | {"dropped": stride.reason}
    signals = {k: _series(closed(x)[0], harmonics) for k, x in stride.signals.items()}
    return facts | {"speed_m_s": stride.speed, "signals": signals, "closure_removed": jumps(stride)}


def key_figures(walk: Walk) -> dict[str, Any]:
    """Key figures for comparison: times in s, lengths in m, angles in deg; phases as shares of the stride.

    Examples:
        >>> from jaxgait.motion.capture.walk import measure
        >>> from jaxgait.motion.drive import reference_gait, synthetic_recording
        >>> from jaxgait.motion.record import key_figures
        >>> figures = key_figures(measure([synthetic_recording(reference_gait())]))
        >>> print(figures["n_strides"], round(figures["knee_deg"][1]))  # strides, and the peak flexion in deg
        2 64
    """
    knee, mean = np.degrees(walk.mean["knee_rad"]), walk.mean
    span = lambda k: [float(np.degrees(mean[k]).min()), float(np.degrees(mean[k]).max())]
    figures = {
        "T_s": walk.period,
        "stride_time_s": walk.stride_time,
        "speed_m_s": walk.speed,
        "belt_speed_m_s": walk.belt,
        "n_strides": len(walk.kept),
        "n_dropped": len(walk.strides) - len(walk.kept),
        "hip_y_mean_m": float(mean["hip_y_m"][:-1].mean()),
        "hip_y_peak_to_peak_m": float(np.ptp(mean["hip_y_m"])),
        "hip_x_peak_to_peak_m": float(np.ptp(mean["hip_x_m"])),
        **{k.replace("_rad", "_deg"): span(k) for k in ("thigh_rad", "shank_rad", "knee_rad", "foot_rad", "ankle_rad")},
        "knee_peak_phase": float(np.argmax(knee) / (knee.size - 1)),
        "knee_at_HS_deg": float(knee[0]),
        "knee_stance_flexion_peak_deg": float(knee[5:35].max()),
        "toe_off_phase": walk.toe_off,
        "stride_sd_mean": {k: float(np.mean(x)) for k, x in walk.deviation.items()} or None,
    }
    weight = walk.subject.get("mass_kg")
    if LOADS[1] in mean and weight is not None:
        figures["ground_peak_body_weights"] = float(mean[LOADS[1]].max()) / (float(weight) * GRAVITY)
    return figures


def write_record(record: Mapping[str, Any], path: str | pathlib.Path) -> None:
    """Writes a record as JSON, after `check_record`.

    Raises:
        MotionFormatError: naming the first field that is wrong.

    Examples:
        >>> from jaxgait.motion.embedded import gait_record
        >>> from jaxgait.motion.record import read_record, write_record
        >>> write_record(gait_record("rajagopal_1.26ms"), "walk.json")
        >>> round(read_record("walk.json")["speed_m_s"], 2)
        1.26
    """
    check_record(record, str(path))
    files.text(path, json.dumps(record, indent=1, allow_nan=False) + "\n")


def read_record(path: str | pathlib.Path) -> dict[str, Any]:
    """Reads and checks a record.

    Raises:
        FileNotFoundError: if there is no such file.
        MotionFormatError: if it is not valid JSON or no record, naming the field.

    Examples:
        >>> from jaxgait.motion.embedded import gait_record
        >>> from jaxgait.motion.record import read_record, write_record
        >>> write_record(gait_record("rajagopal_1.26ms"), "walk.json")
        >>> list(read_record("walk.json")["signals"])
        ['hip_x_m', 'hip_y_m', 'thigh_rad', 'knee_rad', 'ankle_rad', 'ground_x_N', 'ground_y_N']
    """
    file = str(path)
    raw = content(pathlib.Path(path), MAX_BYTES, "a JSON file", "a walk has some hundred kB")
    try:
        record = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise MotionFormatError(
            f"is not valid JSON: {str(error)[:120]}", "write it with `jaxgait motion`", file, line
        ) from error
    check_record(record, file)
    return record


def check_record(record: Any, file: str | None = None) -> None:
    """Checks that a record has the fields of a drive: names, types, sizes and finite numbers.

    Raises:
        MotionFormatError: naming the first field that is wrong.

    Examples:
        >>> from jaxgait.motion.embedded import gait_record
        >>> from jaxgait.motion.record import check_record
        >>> record = gait_record("rajagopal_1.26ms")
        >>> check_record(record)
        >>> check_record({**record, "speed_m_s": "1.26"}, "walk.json")
        Traceback (most recent call last):
        MotionFormatError: walk.json, column speed_m_s: expected a positive number; write it in SI units
    """
    if not isinstance(record, dict):
        raise MotionFormatError("is not a walk: expected an object with fields", "see `jaxgait motion`", file)
    if lacks := [name for name in ("period_T_s", "speed_m_s", "signals") if name not in record]:
        what = f"is not a walk: it lacks {', '.join(lacks)}"
        raise MotionFormatError(what, "`jaxgait motion` makes one from a recording", file)
    schema = record.get("schema", SCHEMA)
    if schema != SCHEMA:
        raise MotionFormatError(
            f"the schema {str(schema)[:40]!r}", f"this version reads {SCHEMA!r}", file, None, "schema"
        )
    _check_clock(record, file)
    count = _check_signals(record.get("signals"), file)
    if record.get("n_harmonics") not in (None, count):
        what = f"is {str(record['n_harmonics'])[:40]}, but the series have {count}"
        raise MotionFormatError(what, "correct it, or leave it out", file, None, "n_harmonics")
    _check_source(record, file)
    _check_person(record, file)
    _check_jumps(record.get("closure_removed", {}), file, "closure_removed")
    if "strides" in record:
        _check_strides(record["strides"], file)
    if "dynamics" in record:
        _check_dynamics(record["dynamics"], file)


def _check_person(record: Mapping[str, Any], file: str | None) -> None:
    lengths = record.get("segments", {})
    if not isinstance(lengths, dict):
        raise MotionFormatError(
            "expected an object with lengths", "leave it out if none is known", file, None, "segments"
        )
    for name in ("thigh_m", "shank_m"):
        if name in lengths and not (_number(lengths[name]) and 0.05 < lengths[name] < 1.0):
            raise MotionFormatError("expected a length in m", "0.05 to 1", file, None, f"segments.{name}")
    for where, part in (("source.", _source(record)), ("", record)):
        mass = part.get("mass_kg")
        if mass is not None and not (_number(mass) and LIGHTEST <= mass <= HEAVIEST):
            raise MotionFormatError(
                "expected a mass in kg", f"{LIGHTEST:g} to {HEAVIEST:g}", file, None, f"{where}mass_kg"
            )


def _source(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields that describe the origin of a record; none if it states none, or only a text."""
    source = record.get("source")
    return source if isinstance(source, dict) else {}


def _check_source(record: Mapping[str, Any], file: str | None) -> None:
    if _source(record).get("leg") not in (None, *SIDES):
        raise MotionFormatError("expected right or left", "leave it out if it is not known", file, None, "source.leg")
    gait = _source(record).get("assumed_path")
    if not (gait is None or isinstance(gait, str)):
        advice = "leave it out if the path of the hip was recorded"
        raise MotionFormatError("expected the name of a gait", advice, file, None, "source.assumed_path")


def _check_clock(part: Mapping[str, Any], file: str | None, where: str = "") -> None:
    """Checks stride time and speed of a record or of one of its strides."""
    for name in ("period_T_s", "speed_m_s"):
        if not _number(part.get(name)) or part[name] <= 0:
            raise MotionFormatError("expected a positive number", "write it in SI units", file, None, where + name)
    period = part["period_T_s"]
    if not inside(period, PERIOD.possible):
        raise MotionFormatError(
            f"a stride of {period:.4g} s", guess_time(period, 0.0), file, None, f"{where}period_T_s"
        )


def _check_jumps(jumps: Any, file: str | None, where: str) -> None:
    if not isinstance(jumps, dict) or not all(map(_number, jumps.values())):
        raise MotionFormatError("expected an object with numbers", "leave it out if unknown", file, None, where)


def _check_strides(strides: Any, file: str | None) -> None:
    if not isinstance(strides, list) or not strides or not all(isinstance(s, dict) for s in strides):
        raise MotionFormatError("expected a list of strides", "leave it out if there are none", file, None, "strides")
    for i, stride in enumerate(strides):
        if "signals" not in stride:
            continue
        _check_clock(stride, file, f"strides[{i}].")
        if not _number(stride.get("start_s", 0)):
            raise MotionFormatError("expected a number", "write it in s", file, None, f"strides[{i}].start_s")
        _check_signals(stride["signals"], file, f"strides[{i}].signals")
        _check_jumps(stride.get("closure_removed", {}), file, f"strides[{i}].closure_removed")


def _check_dynamics(dynamics: Any, file: str | None) -> None:
    curves = dynamics.get("mean") if isinstance(dynamics, dict) else None
    if not isinstance(curves, dict):
        what, advice = "expected an object with mean curves", "leave it out if none are known"
        raise MotionFormatError(what, advice, file, None, "dynamics.mean")
    for name in (*MOMENTS, *POWERS):
        curve, where = curves.get(name), f"dynamics.mean.{name}"
        if not (isinstance(curve, list) and 2 <= len(curve) <= 100_000 and all(map(_number, curve))):
            raise MotionFormatError("expected a list of numbers", "samples of one stride", file, None, where)
        if len(curve) != len(curves[MOMENTS[0]]):
            what = f"{len(curve)} samples, where {MOMENTS[0]} has {len(curves[MOMENTS[0]])}"
            raise MotionFormatError(what, "give all curves the same times", file, None, where)


def _check_signals(signals: Any, file: str | None, where: str = "signals") -> int:
    """Checks the series of all signals, and returns their number of harmonics."""
    if not isinstance(signals, dict):
        raise MotionFormatError("expected an object with series", f"of {', '.join(SIGNALS)}", file, None, where)
    loads = [k for k in LOAD if k in signals]
    counts = set()
    for name in [*SIGNALS, *(LOAD if loads else ())]:
        series, which = signals.get(name), f"{where}.{name}"
        if not isinstance(series, dict) or not _number(series.get("a0")):
            raise MotionFormatError("expected a series with a0, a and b", "a0 is a number", file, None, which)
        a, b = series.get("a"), series.get("b")
        if not (isinstance(a, list) and isinstance(b, list) and len(a) == len(b) > 0 and all(map(_number, a + b))):
            raise MotionFormatError("expected a and b", "lists of equally many numbers", file, None, which)
        counts.add(len(a))
    if len(counts) > 1 or max(counts) > 200:
        what = f"series of {', '.join(map(str, sorted(counts)))} harmonics"
        raise MotionFormatError(what, "give all as many, at most 200", file, None, where)
    return max(counts)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def record_stride(record: Mapping[str, Any], file: str | None = None) -> Stride:
    """The mean stride of a record, sampled finely enough to recover its series.

    Examples:
        >>> from jaxgait.motion.embedded import gait_record
        >>> from jaxgait.motion.record import record_stride
        >>> stride = record_stride(gait_record("rajagopal_1.26ms"))
        >>> print(round(stride.time[-1], 3), round(stride.speed, 2))  # s, m/s
        1.127 1.26
    """
    return _sampled(record["signals"], record["period_T_s"], record["speed_m_s"], record, file)


def record_strides(record: Mapping[str, Any], file: str | None = None) -> list[Stride]:
    """The kept strides of a record, one by one; empty if it has none.

    Examples:
        >>> from jaxgait.motion.embedded import gait_record
        >>> from jaxgait.motion.record import record_strides
        >>> record_strides(gait_record("rajagopal_1.26ms"))  # a mean only
        []
    """
    kept = [s for s in record.get("strides", ()) if "signals" in s]
    return [_sampled(s["signals"], s["period_T_s"], s["speed_m_s"], record, file) for s in kept]


def unrepeated_strides(record: Mapping[str, Any]) -> list[str]:
    """A warning of the kept strides of a record that do not repeat, judged by the drifts that were removed.

    Examples:
        >>> from jaxgait.motion.embedded import gait_record
        >>> from jaxgait.motion.record import unrepeated_strides
        >>> unrepeated_strides(gait_record("rajagopal_1.26ms"))  # a mean only
        []
    """
    kept = [s for s in record.get("strides", ()) if "signals" in s]
    return unrepeated((str(s.get("trial")), float(s.get("start_s", 0)), s.get("closure_removed", {})) for s in kept)


def _sampled(
    signals: Mapping[str, Any], period: float, speed: float, record: Mapping[str, Any], file: str | None
) -> Stride:
    names = [*SIGNALS, *(k for k in LOAD if k in signals)]
    series = {
        k: Series(signals[k]["a0"], np.array(signals[k]["a"], float), np.array(signals[k]["b"], float)) for k in names
    }
    harmonics = series["knee_rad"].a.size
    count = max(100, 4 * harmonics)
    curves = {k: np.append(x, x[0]) for k, x in ((k, sampled(s, count)) for k, s in series.items())}
    time = np.linspace(0.0, period, count + 1)
    source = _source(record)
    warnings = source.get("warnings")
    return Stride(
        str(record.get("name", "walk")),
        time,
        curves,
        speed,
        file=file,
        person=record_person(record),
        harmonics=harmonics,
        assumed_path=source.get("assumed_path") or "",
        warnings=tuple(map(str, warnings)) if isinstance(warnings, list) else (),
        side=source.get("leg") or "",
    )
