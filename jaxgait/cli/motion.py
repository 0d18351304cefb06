"""`jaxgait motion`, and the option `--motion` of other commands."""

from __future__ import annotations

import html
import math
import pathlib
import shlex
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from jaxgait import registry
from jaxgait.cli import console, parsing
from jaxgait.cli.console import STDOUT, write_json
from jaxgait.cli.gait_table import table_lines, table_record
from jaxgait.cli.options import check_not_read, check_unused
from jaxgait.exporting import ENDINGS, export
from jaxgait.model import Model
from jaxgait.motion import NotAligned
from jaxgait.motion.capture.dynamics import JOINTS, Dynamics
from jaxgait.motion.capture.joints import AUTO
from jaxgait.motion.capture.leg import Options
from jaxgait.motion.capture.maps import SIDES, read_map
from jaxgait.motion.capture.strides import jumps as jumps_of
from jaxgait.motion.capture.tables import stride_curves
from jaxgait.motion.capture.walk import LOADS, Walk, measure, measure_both, walk_stride
from jaxgait.motion.drive import verdict_drive
from jaxgait.motion.embedded import REFERENCE_GAITS, gait_record
from jaxgait.motion.harmonics import check_harmonics
from jaxgait.motion.naming import motion_drive, named_stride, trial_recordings
from jaxgait.motion.readers import read_recording
from jaxgait.motion.record import key_figures, stride_record, walk_record, write_record
from jaxgait.motion.verdict import Verdict, describe, judge
from jaxgait.parameters import ParameterError, parameters
from jaxgait.support import files
from jaxgait.support.checks import count_of
from jaxgait.support.units import with_unit

LARGE, LONG = 5 * 2**20, 10_000
"""File size in bytes and number of frames above which a note on the terminal announces the wait."""
RECORDS = (".json",)
PAGES = (".html",)
TABLES = (".nc", *ENDINGS)
MOTIONS = (".mot", ".sto")
OF_RECORDINGS = ("leg", "static", "standing_knee", "markers", "hip", "cutoff", "gap", "mass")
"""Options that have no effect on a stride, a saved walk, or an embedded gait."""
OF_MOTION = (*OF_RECORDINGS, "speed", "harmonics", "out")
"""Options that have no effect without files."""


def gaits() -> Iterator[str]:
    """Lines describing the embedded measured gaits and the models they drive."""
    for name in REFERENCE_GAITS:
        record = gait_record(name)
        yield f"{name:26} T = {record['period_T_s']:.3f} s, {record['speed_m_s']:.3f} m/s; {record['subject']}"
        yield f"{'':26} {record['licence']}; {record['citation']}"
    for name in registry.models():
        if takes_motion(registry.model_class(name)):
            yield f"Any of them drives the {name}: `jaxgait run {name} --motion NAME`"


def gait_records() -> dict[str, dict[str, Any]]:
    """The embedded measured gaits by name: stride time in s, speed in m/s, subject, licence and source."""
    facts = ("period_T_s", "speed_m_s", "subject", "licence", "citation")
    return {name: {fact: gait_record(name)[fact] for fact in facts} for name in REFERENCE_GAITS}


def _record(walk: Walk | None, verdict: Verdict) -> dict[str, Any]:
    """The JSON record: key figures of a walk (None for a given stride), and the verdict on its stride."""
    signals = {name: found._asdict() for name, found in verdict.signals.items()}
    findings = [{"what": f.what, "advice": f.advice, "impossible": f.impossible} for f in verdict.findings]
    judged = {"usable": verdict.usable, "signals": signals, "findings": findings, "period_T_s": verdict.cycle.period}
    return judged | ({} if walk is None else {"key_figures": key_figures(walk), "segments": walk.segments})


def show(request: Any) -> None:
    """Prints a recording's summary, the verdict on its stride, and how that changes models; writes requested files.

    Raises:
        ValueError: if the motion cannot drive a model.
    """
    from jaxgait.plot.style import kinds

    check_harmonics(request.harmonics)
    parsing.check_output(request.out, kinds=(*kinds(), *(ending[1:] for ending in (*RECORDS, *PAGES, *TABLES))))
    walks = _walks(request)
    if walks is None:
        _show_stride(request)
        return
    if request.json not in (None, STDOUT):
        check_not_read([*(("out", path) for path in _outputs(request)), ("json", request.json)], ())
    verdicts = {side: judge(walk_stride(walk, request.harmonics)) for side, walk in walks.items()}
    for side, walk in walks.items():
        print("\n".join([*summary(walk, verdicts[side]), describe(verdicts[side]), ""]))
    print("\n".join([*table_lines([*walks.values()]), ""]))
    if request.out is not None and request.out.suffix.lower() in TABLES:
        _write_table([*walks.values()], request.out, request.files)
    elif request.out is not None:
        for side, walk in walks.items():
            _write(_leg_file(request, side), walk, verdicts[side], request.harmonics)
    records = {side: _record(walk, verdicts[side]) for side, walk in walks.items()}
    found = records if request.leg == "both" else records[request.leg]
    write_json(request.json, found | {"spatiotemporal": table_record([*walks.values()])})
    _check_usable([*verdicts.values()])
    if request.out is None or request.out.suffix.lower() in (*RECORDS, *PAGES):  # aligning a leg takes seconds
        _show_changes([*verdicts.values()])


def _leg_file(request: Any, side: str) -> pathlib.Path:
    """The file of one leg: that of `--out`, with the side in its name if both legs are written."""
    return request.out.with_stem(f"{request.out.stem}_{side}") if request.leg == "both" else request.out


def _outputs(request: Any) -> list[pathlib.Path]:
    """The files that `_write` names after `--out`: one for each leg, and the page and picture of a record."""
    if request.out is None or request.out.suffix.lower() in TABLES:
        return []
    own = request.out.suffix
    endings = (own, ".png", ".html") if own.lower() in (*RECORDS, *PAGES) else (own,)
    return list(dict.fromkeys(_leg_file(request, side).with_suffix(end) for side in SIDES for end in endings))


def _show_stride(request: Any) -> None:
    """As `show`, for a stride in columns, a saved walk or an embedded gait."""
    from jaxgait.plot.motion import stride
    from jaxgait.plot.style import save

    file, out = request.files[0], request.out
    verdict = judge(named_stride(file, speed=request.speed), request.harmonics)
    check_unused(request, OF_RECORDINGS, f"{file} is one stride, not a recording")
    ending = "" if out is None else out.suffix.lower()
    if ending in RECORDS and pathlib.Path(file).suffix.lower() in RECORDS:
        raise ValueError(f"cannot write {out}: {file} is a saved walk already; give a picture, such as .png, or .mot")
    if ending in (*PAGES, *TABLES) and ending not in MOTIONS:
        advice = "give .json, .mot, or a picture, such as .png"
        raise ValueError(f"cannot write {out}: {file} is one stride, not a recording; {advice}")
    print(describe(verdict))
    for line in verdict.stride.warnings:
        print(f"warning when it was measured: {line}")
    if out is not None and ending in RECORDS:
        _write_drive(out, verdict, lambda: stride_record(verdict))
    elif out is not None and ending in MOTIONS:
        export(verdict_drive(verdict), out)
        print(f"wrote {out}")
    elif out is not None:
        print(f"wrote {save(stride(verdict), out)}")
    write_json(request.json, _record(None, verdict))
    _check_usable([verdict])
    _show_changes([verdict])


def _write_drive(out: pathlib.Path, verdict: Verdict, record: Callable[[], dict[str, Any]]) -> None:
    """Writes a drive's record; if it is unusable, prints that nothing was written, and whether an older file exists."""
    if verdict.usable:
        write_record(record(), out)
        print(f"wrote {out}")
    else:
        old = "; the file of this name is an older one" if out.exists() else ""
        print(f"not written: {out}, because {verdict.stride.name} is not usable as a drive{old}")


def _check_usable(verdicts: Sequence[Verdict]) -> None:
    """Checks that strides can drive a model."""
    for verdict in verdicts:
        if not verdict.usable:
            raise verdict.error()


def _show_changes(verdicts: Sequence[Verdict]) -> None:
    """Prints how strides change the models that they drive."""
    for verdict in verdicts:
        for name in registry.models():
            if takes_motion(registry.model_class(name)):
                print("\n".join([*([f"{verdict.stride.name}:"] if verdicts[1:] else []), *_adapted(name, verdict)]))


def _walks(request: Any) -> dict[str, Walk] | None:
    """The walks of recordings by side; None for an embedded gait, a stride or a saved walk."""
    for path in (path for path in map(pathlib.Path, request.files) if path.is_file()):
        if path.stat().st_size > LARGE:
            console.note(f"reading {path}, {path.stat().st_size / 1e6:.0f} MB")
    trials = trial_recordings(request.files)
    if trials is None:
        return None
    frames = sum(trial.frames for trial in trials)
    if frames > LONG:
        console.note(f"measuring {frames} frames: this takes some seconds")
    if request.static is None and request.standing_knee != AUTO:
        raise ValueError(
            "--standing-knee is about the standing trial: give it (--static), or leave --standing-knee out"
        )
    options = Options(
        own_map=None if request.markers is None else read_map(request.markers),
        static=None if request.static is None else read_recording(request.static),
        regression=request.hip,
        cutoff=None if request.cutoff == 0 else request.cutoff,
        max_gap=request.gap,
        standing_knee=request.standing_knee,
    )
    if request.leg == "both":
        return measure_both(trials, options, speed=request.speed, mass=request.mass)
    return {request.leg: measure(trials, request.leg, options, speed=request.speed, mass=request.mass)}


def summary(walk: Walk, verdict: Verdict) -> Iterator[str]:
    """Lines summarising a walk, without the warnings of its verdict, which `describe` shows."""
    judged = {line.removeprefix(f"{verdict.stride.file}: ") for line in verdict.lines()}
    yield from _facts(walk)
    yield from (f"note: {line}" for line in walk.notes)
    yield from (f"warning: {line}" for line in walk.warnings if line not in judged)
    yield ""


def _facts(walk: Walk) -> Iterator[str]:
    figures = key_figures(walk)
    for leg in walk.legs:
        r = leg.recording
        plates = count_of(len(r.forces), "force plate", "force plates")
        yield f"{r.file}: {r.frames} frames at {r.rate:g} Hz, {len(r.markers)} markers, {plates}"
    yield _person(walk)
    moved = abs(walk.period - walk.stride_time) > 1e-6
    repeats = f" from heel strike to heel strike; its angles repeat after {walk.period:.4f} s" if moved else ""
    speed = f"drive at {walk.speed:.3f} m/s ({walk.speed_source})"
    yield f"{walk.side} leg, {walk.surface}; {speed}, stride time {walk.stride_time:.4f} s{repeats}"
    yield from _strides(walk)
    yield "segments: " + ", ".join(f"{k[:-2].replace('_', ' ')} {v:.3f} m" for k, v in walk.segments.items())
    if LOADS[1] in walk.mean and "ground_peak_body_weights" in figures:
        yield f"ground force: up to {figures['ground_peak_body_weights']:.2f} body weights"
    if walk.dynamics is not None:
        yield from _peaks(walk.dynamics)


def _person(walk: Walk) -> str:
    known = [("mass", "kg"), ("height", "m")]
    values = [(name, walk.subject.get(f"{name}_{unit}"), unit) for name, unit in known]
    person = ", ".join(f"{name} {x:.4g} {unit}" for name, x, unit in values if x is not None)
    source = f" ({walk.subject['mass_from']})" if "mass_from" in walk.subject else ""
    return f"subject: {walk.subject.get('name', 'not named')}; {person or 'mass not known'}{source}"


def _strides(walk: Walk) -> Iterator[str]:
    """Lines with the events and the strides, and how far these repeat."""
    strikes = sum(e.strikes.size for e in walk.events)
    share = None if walk.toe_off is None else walk.toe_off * walk.period / walk.stride_time  # as stance in the table
    off = "" if share is None else f", toe-off at {share:.1%} from heel strike to heel strike"
    yield f"events: {count_of(strikes, 'heel strike', 'heel strikes')}{off}"
    yield f"strides: {len(walk.kept)} kept, {len(walk.strides) - len(walk.kept)} dropped"
    yield from (f"  dropped: {s.trial} at {s.start:.2f} s: {s.reason}" for s in walk.strides if s.reason)
    rise, joints = 1e3 * walk.jumps["hip_y_m"], ("thigh", "knee", "ankle")
    jumps = ", ".join(f"{k} {math.degrees(walk.jumps[f'{k}_rad']):+.2f} deg" for k in joints)
    yield f"removed a linear drift so that the mean stride closes: {jumps}, hip height {rise:+.1f} mm"
    if walk.kept[1:]:
        most = {k: max(abs(jumps_of(s)[k]) for s in walk.kept) for k in ("hip_y_m", *(f"{k}_rad" for k in joints))}
        sizes = ", ".join(f"{k} {math.degrees(most[f'{k}_rad']):.2f} deg" for k in joints)
        yield f"  from single strides at most: {sizes}, hip height {1e3 * most['hip_y_m']:.1f} mm"
    if walk.deviation:
        mean = {k: math.degrees(float(np.mean(walk.deviation[f"{k}_rad"]))) for k in joints}
        what = f"standard deviation between the {len(walk.kept)} strides (n - 1), averaged over the stride"
        yield f"{what}: {', '.join(f'{k} {x:.2g} deg' for k, x in mean.items())}"


def _peaks(dynamics: Dynamics) -> Iterator[str]:
    """Lines with the extremes of joint moments and powers."""
    ends = {k: f"{low:+.2f} to {high:+.2f}" for k, (low, high) in dynamics.peaks.items()}
    for kind, unit in (("moment", "Nm_kg"), ("power", "W_kg")):
        listed = ", ".join(f"{joint} {ends[f'{joint}_{kind}_{unit}']}" for joint in JOINTS)
        signs = "flexion and dorsiflexion positive" if kind == "moment" else "positive: the leg generates energy"
        yield f"joint {kind}s in {unit.replace('_', '/')} ({signs}): {listed}"


def _write_table(walks: Sequence[Walk], out: pathlib.Path, recordings: Sequence[str]) -> None:
    """Writes the kept strides over percent of the gait cycle (netCDF, CSV), or each trial over time (MOT, STO).

    Raises:
        ValueError: if the file of a trial is one of the recordings.
    """
    trials: dict[pathlib.Path, int | None] = {out: None}
    if out.suffix.lower() in MOTIONS and walks[0].trials[1:]:
        trials = {out.with_stem(f"{out.stem}_{i + 1}"): i for i in range(len(walks[0].trials))}
        check_not_read([("out", path) for path in trials], recordings)
    for path, trial in trials.items():
        if path.suffix.lower() == ".nc":
            files.netcdf(path, stride_curves(*walks))
        else:
            export({walk.side: walk for walk in walks}, path, trial=trial)
        print(f"wrote {path}")


def _write(out: pathlib.Path, walk: Walk, verdict: Verdict, harmonics: int | None) -> None:
    """Writes the file, in the format of its extension; next to the record of a walk, also its page and picture."""
    from jaxgait.plot.style import save
    from jaxgait.plot.walk import sheet

    ending = out.suffix.lower()
    is_picture = ending not in (*RECORDS, *PAGES)
    if ending in RECORDS:
        _write_drive(out, verdict, lambda: walk_record(walk, harmonics))
    drawn = save(sheet(walk, verdict), out if is_picture else out.with_suffix(".png"))
    print(f"wrote {drawn}")
    if not is_picture:
        page = out.with_suffix(".html")
        files.text(page, _page(walk, verdict, drawn))
        print(f"wrote {page}")


def _page(walk: Walk, verdict: Verdict, sheet: pathlib.Path) -> str:
    """A measured walk, with its sheet (PNG), as a self-contained HTML page."""
    from jaxgait.cli.page import embedded, listed, page

    parts = [
        listed(_facts(walk)),
        *(["<h2>Warnings</h2>", listed(walk.warnings)] if walk.warnings else []),
        embedded(sheet, "Summary of the walk."),
        f"<h2>Spatiotemporal parameters</h2><pre>{html.escape(chr(10).join(table_lines([walk])))}</pre>",
        f"<h2>Check of the mean stride</h2><pre>{html.escape(describe(verdict))}</pre>",
        "<h2>Assumptions and processing</h2>",
        listed(walk.notes),
    ]
    return page(walk.title, parts)


def _adapted(name: str, verdict: Verdict) -> Iterator[str]:
    """What a stride changes in a model: warnings first, each once, then a line with the values by parameter set."""
    drive, model = verdict_drive(verdict), registry.model(name)
    sets: dict[str, Any] = {label: model.preset(label) for label in model.presets} or {"": model}
    found, warned = {}, {}
    for label, before in sets.items():
        with warnings.catch_warnings(record=True) as caught:
            found[label] = _differences(before, before.driven(drive))
        for message in (w.message for w in caught):
            about = message.parameter if isinstance(message, NotAligned) else str(message)
            warned.setdefault(about, {})[label] = message
    for messages in warned.values():
        first, *others = messages
        alike = f" ({', '.join(others)} alike)" if others else ""
        yield f"warning: {f'parameter set {first}{alike}: ' if first else ''}{messages[first]}"
    own = {label: parameters(before) for label, before in sets.items()}
    changes = []
    for parameter in dict.fromkeys(p for changed in found.values() for p in changed):
        labels: dict[tuple[str, str], list[str]] = {}
        for label in (label for label in sets if parameter in own[label]):
            info, becomes = own[label][parameter], found[label].get(parameter)
            value = float(info.value) if becomes is None else becomes
            how = "not aligned" if label in warned.get(parameter, ()) else "unchanged" if becomes is None else ""
            labels.setdefault((with_unit(f"{value:.4f}", info.unit), how), []).append(label)
        changes.append(f"{parameter} = {_by_set(labels)}")
    which = f" (parameter sets {', '.join(sets)})" if len(sets) > 1 else ""
    if changes:
        yield f"--motion adapts the {name}{which}: {'; '.join(changes)}"


def _by_set(labels: dict[tuple[str, str], list[str]]) -> str:
    """Values of a parameter with remarks, such as "unchanged", and if there are several, with the sets of each."""
    among = len(labels) > 1
    remarks = {value: ", ".join([*own * among, *filter(None, [value[1]])]) for value, own in labels.items()}
    return ", ".join(size + (f" ({remark})" if remark else "") for (size, _), remark in remarks.items())


def _differences(before: Model, after: Model) -> dict[str, float]:
    """Scalar parameters that differ, with their new values."""
    old, new = parameters(before), parameters(after)
    return {n: float(p.value) for n, p in new.items() if not p.rank and n in old and p.value != old[n].value}


def takes_motion(kind: type) -> bool:
    """Whether a class of models can be driven by measured motion."""
    return getattr(kind, "driven", None) not in (None, Model.driven)


def check_takes_motion(model: Model) -> None:
    """Checks that measured motion can drive a model.

    Raises:
        ParameterError: if not, naming the models that it can drive.
    """
    if not takes_motion(type(model)):
        takers = [name for name in registry.models() if takes_motion(registry.model_class(name))]
        raise ParameterError(f"{type(model).__name__} is not driven by measured motion; {', '.join(takers)} can be")


def driven(model: Model, motion: str) -> Model:
    """The model driven by the named motion; prints what that changes."""
    check_takes_motion(model)
    drive = motion_drive(motion)
    if drive.person is not None:
        print(
            f"fitting {type(model).__name__} to {drive.name}; the first time, this takes some seconds to compile",
            flush=True,
        )
    moved = model.driven(drive)
    units = {name: info.unit for name, info in parameters(moved).items()}
    changed = [f"{n} = {x:.4f} {units[n]}" for n, x in _differences(model, moved).items()]
    unknown = drive.person is not None and drive.person.mass is None
    changed += ["body mass not known: masses of the model"] if unknown else []
    changed += ["not fitted to a person: segments and masses of the model"] if drive.person is None else []
    print(", ".join([f"driven by {drive.name}: T = {drive.period:.4f} s, {drive.speed:.3f} m/s", *changed]))
    if moved.driven_advice:
        print(moved.driven_advice)
    measured = motion not in REFERENCE_GAITS and pathlib.Path(motion).suffix.lower() not in RECORDS
    if drive.person is not None and measured:
        print(f"assumptions made in measuring it are listed by: {shlex.join(['jaxgait', 'motion', motion])}")
    return moved
