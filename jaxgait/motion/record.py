"""A walk as a JSON file: Fourier series, key figures, segments and provenance.

    write_record(walk_record(walk), "walk.json")
    stride = record_stride(read_record("walk.json"), "walk.json")

The fields are those of the embedded gaits (`signals.<name>.{a0, a, b}` in SI units and rad, `period_T_s`, `speed_m_s`,
`segments`); files without a `schema` are read in the same way.
"""

from __future__ import annotations

import json
import pathlib
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any, TypeAlias

import numpy as np

from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.dynamics import MOMENTS, POWERS, TABLE, Dynamics
from jaxgait.motion.capture.maps import SIDES
from jaxgait.motion.capture.strides import StrideCurve, closed, jumps, unrepeated
from jaxgait.motion.capture.walk import LOADS, Walk, walk_stride
from jaxgait.motion.norms import GRAVITY, PERIOD, guess_time, inside
from jaxgait.motion.stride import LOAD, PERSON, SIGNALS, UNITS, Series, Stride, fourier, record_person, sampled
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
        ValueError: as in `motion.harmonics.check_harmonics`.

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
            "surface": walk.surface,
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
    """A judged stride as a record, with its person, if known, and the warnings of its measurement.

    Examples:
        >>> from jaxgait.motion.record import record_stride, stride_record
        >>> from jaxgait.motion.stride import embedded_stride
        >>> from jaxgait.motion.verdict import judge
        >>> record = stride_record(judge(embedded_stride("rajagopal_1.26ms"), harmonics=6))
        >>> print(record["n_harmonics"], round(record_stride(record).time[-1], 2))  # s
        6 1.13
    """
    stride, person = verdict.stride, verdict.stride.person
    known = "\n".join(stride.warnings)  # a walk was judged when it was measured
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
    """Mean joint moments and powers, as samples: the Fourier series of a load that jumps would ring."""
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
    """One stride; if it was dropped, the reason instead of its signals."""
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
        MotionFormatError: if it is not valid JSON, or not a record (naming the field).

    Examples:
        >>> from jaxgait.motion.embedded import gait_record
        >>> from jaxgait.motion.record import read_record, write_record
        >>> write_record(gait_record("rajagopal_1.26ms"), "walk.json")
        >>> list(read_record("walk.json")["signals"])
        ['hip_x_m', 'hip_y_m', 'thigh_rad', 'knee_rad', 'ankle_rad', 'ground_x_N', 'ground_y_N']
    """
    file = str(path)
    raw = content(path, MAX_BYTES, "a JSON file", "a walk has some hundred kB")
    try:
        record = json.loads(raw.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        what, line = f"is not valid JSON: {str(error)[:120]}", getattr(error, "lineno", None)
        raise MotionFormatError(what, "write it with `jaxgait motion`", file, line) from error
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
    for what, advice, field in _faults(record):
        raise MotionFormatError(what, advice, file, column=field)


_Faults: TypeAlias = Iterator[tuple[str, str, str | None]]
"""For each fault: what is wrong, how to correct it, and in which field. Only the first one is used."""


def _faults(record: Any) -> _Faults:
    if not isinstance(record, dict):
        yield "is not a walk: expected an object with fields", "see `jaxgait motion`", None
    if lacks := [name for name in ("period_T_s", "speed_m_s", "signals") if name not in record]:
        yield f"is not a walk: it lacks {', '.join(lacks)}", "`jaxgait motion` makes one from a recording", None
    if (schema := record.get("schema", SCHEMA)) != SCHEMA:
        yield f"the schema {str(schema)[:40]!r}", f"this version reads {SCHEMA!r}", "schema"
    yield from _clock_faults(record)
    yield from _signal_faults(record["signals"], "signals")
    count, stated = len(record["signals"]["knee_rad"]["a"]), record.get("n_harmonics")
    if stated not in (None, count):
        yield f"is {str(stated)[:40]}, but the series have {count}", "correct it, or leave it out", "n_harmonics"
    yield from _person_faults(record)
    yield from _jump_faults(record, "")
    if "strides" in record:
        yield from _stride_faults(record["strides"])
    if "dynamics" in record:
        yield from _dynamics_faults(record["dynamics"])


def _person_faults(record: Mapping[str, Any]) -> _Faults:
    """The person, the leg, and the gait from which the hip's path is taken."""
    source, lengths = _source(record), record.get("segments", {})
    if source.get("leg") not in (None, *SIDES):
        yield "expected right or left", "leave it out if it is not known", "source.leg"
    if not isinstance(source.get("assumed_path"), str | None):
        yield "expected the name of a gait", "leave it out if the path of the hip was recorded", "source.assumed_path"
    if not isinstance(lengths, dict):
        yield "expected an object with lengths", "leave it out if none is known", "segments"
    stated = {f"segments.{name}": (name, lengths[name]) for name in ("thigh_m", "shank_m") if name in lengths}
    masses = {"source.mass_kg": source.get("mass_kg"), "mass_kg": record.get("mass_kg")}
    stated |= {field: ("mass_kg", x) for field, x in masses.items() if x is not None}
    for field, (name, x) in stated.items():
        if not (_is_number(x) and inside(x, PERSON[name])):
            low, high = PERSON[name]
            yield f"expected a {'mass in kg' if name == 'mass_kg' else 'length in m'}", f"{low:g} to {high:g}", field


def _source(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields that describe the origin of a record; empty if it has none, or only text."""
    source = record.get("source")
    return source if isinstance(source, dict) else {}


def _clock_faults(part: Mapping[str, Any], where: str = "") -> _Faults:
    """Stride time and speed of a record or of one of its strides."""
    for name in ("period_T_s", "speed_m_s"):
        if not _is_number(part.get(name)) or part[name] <= 0:
            yield "expected a positive number", "write it in SI units", where + name
    period = part["period_T_s"]
    if not inside(period, PERIOD.possible):
        yield f"a stride of {period:.4g} s", guess_time(period, 0.0), f"{where}period_T_s"


def _jump_faults(part: Mapping[str, Any], where: str) -> _Faults:
    jumps = part.get("closure_removed", {})
    if not isinstance(jumps, dict) or not all(map(_is_number, jumps.values())):
        yield "expected an object with numbers", "leave it out if unknown", f"{where}closure_removed"


def _stride_faults(strides: Any) -> _Faults:
    if not isinstance(strides, list) or not strides or not all(isinstance(s, dict) for s in strides):
        yield "expected a list of strides", "leave it out if there are none", "strides"
    for i, stride in enumerate(strides):
        if "signals" in stride:
            where = f"strides[{i}]."
            yield from _clock_faults(stride, where)
            if not _is_number(stride.get("start_s", 0)):
                yield "expected a number", "write it in s", f"{where}start_s"
            yield from _signal_faults(stride["signals"], f"{where}signals")
            yield from _jump_faults(stride, where)


def _dynamics_faults(dynamics: Any) -> _Faults:
    curves = dynamics.get("mean") if isinstance(dynamics, dict) else None
    if not isinstance(curves, dict):
        yield "expected an object with mean curves", "leave it out if none are known", "dynamics.mean"
        return
    for name in (*MOMENTS, *POWERS):
        curve, field = curves.get(name), f"dynamics.mean.{name}"
        if not (isinstance(curve, list) and 2 <= len(curve) <= 100_000 and all(map(_is_number, curve))):
            yield "expected a list of numbers", "samples of one stride", field
            return
        if len(curve) != (samples := len(curves[MOMENTS[0]])):
            yield f"{len(curve)} samples, where {MOMENTS[0]} has {samples}", "give all curves the same times", field


def _signal_faults(signals: Any, where: str) -> _Faults:
    """The series of all signals."""
    if not isinstance(signals, dict):
        yield "expected an object with series", f"of {', '.join(SIGNALS)}", where
    counts = set()
    for name in [*SIGNALS, *(LOAD if LOAD.keys() & signals.keys() else ())]:
        series, field = signals.get(name), f"{where}.{name}"
        if not isinstance(series, dict) or not _is_number(series.get("a0")):
            yield "expected a series with a0, a and b", "a0 is a number", field
            return
        a, b = series.get("a"), series.get("b")
        if not (isinstance(a, list) and isinstance(b, list) and len(a) == len(b) > 0 and all(map(_is_number, a + b))):
            yield "expected a and b", "lists of equally many numbers", field
            return
        counts.add(len(a))
    if len(counts) > 1 or max(counts) > 200:
        what = f"series of {', '.join(map(str, sorted(counts)))} harmonics"
        yield what, "give all as many, at most 200", where


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def record_stride(record: Mapping[str, Any], file: str | None = None) -> Stride:
    """The mean stride of a record, sampled finely enough to recover its series.

    Examples:
        >>> from jaxgait.motion.embedded import gait_record
        >>> from jaxgait.motion.record import record_stride
        >>> stride = record_stride(gait_record("rajagopal_1.26ms"))
        >>> print(round(stride.time[-1], 3), round(stride.speed, 2))  # s, m/s
        1.127 1.26
    """
    return _sampled(record, record, file)


def record_strides(record: Mapping[str, Any], file: str | None = None) -> list[Stride]:
    """The kept strides of a record, one by one; empty if it has none.

    Examples:
        >>> from jaxgait.motion.embedded import gait_record
        >>> from jaxgait.motion.record import record_strides
        >>> record_strides(gait_record("rajagopal_1.26ms"))  # a mean only
        []
    """
    return [_sampled(s, record, file) for s in record.get("strides", ()) if "signals" in s]


def unrepeated_strides(record: Mapping[str, Any]) -> list[str]:
    """A warning about the kept strides of a record that do not repeat, judged by the drifts that were removed.

    Examples:
        >>> from jaxgait.motion.embedded import gait_record
        >>> from jaxgait.motion.record import unrepeated_strides
        >>> unrepeated_strides(gait_record("rajagopal_1.26ms"))  # a mean only
        []
    """
    kept = [s for s in record.get("strides", ()) if "signals" in s]
    return unrepeated((str(s.get("trial")), float(s.get("start_s", 0)), s.get("closure_removed", {})) for s in kept)


def _sampled(part: Mapping[str, Any], record: Mapping[str, Any], file: str | None) -> Stride:
    """The stride of `part`: a record as a whole, or one of its strides."""
    known = {k: part["signals"][k] for k in UNITS if k in part["signals"]}
    series = {k: Series(s["a0"], np.array(s["a"], float), np.array(s["b"], float)) for k, s in known.items()}
    harmonics = series["knee_rad"].a.size
    count = max(100, 4 * harmonics)
    source, curves = _source(record), {k: sampled(s, count) for k, s in series.items()}
    warnings = source.get("warnings")
    return Stride(
        str(record.get("name", "walk")),
        np.linspace(0.0, part["period_T_s"], count + 1),
        {k: np.append(x, x[0]) for k, x in curves.items()},
        part["speed_m_s"],
        file=file,
        person=record_person(record),
        harmonics=harmonics,
        assumed_path=source.get("assumed_path") or "",
        warnings=tuple(map(str, warnings)) if isinstance(warnings, list) else (),
        side=source.get("leg") or "",
    )
