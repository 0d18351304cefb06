"""Sections of the text files that Vicon Nexus exports, and the force plates among its `Devices`.

A heading is followed by the rate in Hz, the devices over their columns (`Force Plate 1 - Force`), the labels (`Frame`,
`Sub Frame`, `Fx`), the units, and several rows per frame:

    Devices
    1000
    ,,Force Plate 1 - Force,,,Force Plate 1 - Moment,,,Force Plate 1 - CoP,,
    Frame,Sub Frame,Fx,Fy,Fz,Mx,My,Mz,Cx,Cy,Cz
    ,,N,N,N,N.mm,N.mm,N.mm,mm,mm,mm

Nexus writes forces *on the plates*, in the axes of the laboratory: the vertical one of a standing person is negative
(gait laboratory of Warwick, https://warwick.ac.uk/fac/sci/fstm/gait_lab/forum2017; `getLocalReactionForce` of pyCGM2,
https://pycgm2.github.io, reverses it). Some files have the forces on the person; the sign under load decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jaxgait.motion.readers import labels
from jaxgait.motion.readers.clock import RATE_AGREEMENT
from jaxgait.motion.readers.sheet import Sheet, Source, first_data, read_sheet
from jaxgait.motion.recording import NOISE_FORCE, GroundReaction
from jaxgait.motion.text import cells, delimiter_of, distinct, trimmed
from jaxgait.support.checks import count_of, first_few

DEVICES, TRAJECTORIES, MODEL_OUTPUTS = "devices", "trajectories", "model outputs"
_NAMES = "events|devices|joints|model outputs|segments|trajectories"
_HEADING = re.compile(rf"\W*({_NAMES})(?:\W*|\W+\d.*|\W*\(.*|(?<=trajectories)\b.*)", re.IGNORECASE)
"""A rate or a remark in parentheses may follow, as in `Devices (1000 Hz)`; after `Trajectories`, any text."""
_RATE = re.compile(r'[\s"]*(\d+(?:[.,]\d+)?)\W*(?:hz)?\W*', re.IGNORECASE)
_CHANNEL = re.compile(r"(?P<kind>f|c|cop)_?(?P<axis>[xyz])", re.IGNORECASE)
_ALONE = "or delete the section Devices to use the markers alone"
_AGAIN = f"export the trial again, {_ALONE}"
MISSING_FRAMES = 1
"""Number of frames that may lack their forces at either end of the trajectories."""


class Frames(NamedTuple):
    """The frames of the trajectories."""

    rate: float
    """In Hz."""
    first: float
    last: float
    """Their numbers; NaN without any."""


class _Plate(NamedTuple):
    """The columns of a force plate by channel: `("f", "x")`."""

    device: str
    columns: dict[tuple[str, str], int]

    def three(self, kind: str) -> tuple[int, int, int] | None:
        """The columns of the force (f) or of the centre of pressure (c); None if one is missing."""
        found = [self.columns[kind, axis] for axis in labels.AXES if (kind, axis) in self.columns]
        return tuple(found) if len(found) == len(labels.AXES) else None  # type: ignore[return-value]


def sections(source: Source) -> dict[str, tuple[int, int]]:
    """Half-open ranges of lines of the sections, their headings included, by the heading in lower case.

    Examples:
        >>> from jaxgait.motion.readers.nexus import sections
        >>> from jaxgait.motion.readers.sheet import Source
        >>> sections(Source("walk.csv", ["Devices", "1000", "", "Trajectories,,,", "100"]))  # lines count from 0
        {'devices': (0, 3), 'trajectories': (3, 5)}
    """
    found = [(i, match[1].lower()) for i, line in enumerate(source.lines) if (match := _heading(line))]
    spans: dict[str, tuple[int, int]] = {}
    end = len(source.lines)
    for start, name in reversed(found):
        spans[name], end = (start, end), start
    return dict(reversed(spans.items()))


def _heading(line: str) -> re.Match[str] | None:
    return _HEADING.fullmatch(line) if line[:1].isalpha() or line[:1] in '" ' else None


def device_forces(
    source: Source, section: tuple[int, int], frames: Frames | None, notes: list[str]
) -> tuple[GroundReaction, ...]:
    """The forces of the plates on the person in N, with centres of pressure in m, in the axes of the laboratory.

    Their times are on the clock of the frames: frame 1 is at 0 s.

    Args:
        source: the file.
        section: the lines of its devices.
        frames: those of the trajectories; None if the file has none.
        notes: extended by what was assumed, and by what was not read.

    Raises:
        MotionFormatError: for plates without a rate, without units or with unknown ones, for rows that are missing or
            no numbers, and for a number of samples per frame that contradicts the rates.

    Examples:
        >>> from jaxgait.motion.readers.nexus import device_forces
        >>> from jaxgait.motion.readers.sheet import Source
        >>> lines = ["Devices", "200", ",,Plate 1 - Force,,,Plate 1 - CoP,,", "Frame,Sub Frame,Fx,Fy,Fz,Cx,Cy,Cz"]
        >>> lines += [",,N,N,N,mm,mm,mm", "1,0,5,0,-700,120,30,0", "1,1,5,0,-710,121,30,0"]
        >>> (plate,) = device_forces(Source("walk.csv", lines), (0, 7), None, notes := [])
        >>> print(plate.name, plate.time, plate.force[0], plate.point[0])  # s, N, m
        Plate 1 [0.    0.005] [ -5.  -0. 700.] [0.12 0.03 0.  ]
    """
    own = Source(source.file, source.lines[: section[1]])
    at = next((i for i in range(section[0], section[1]) if _is_labels(own.lines[i])), None)
    plates, others = ([], []) if at is None else _plates(own, at)
    if others:
        notes.append(f"not read of the devices: {first_few(others)}")
    if at is None or not plates:
        return ()
    rate, start = _rate(own, section[0], at), first_data(own, at + 1)
    units = _units(own, at, start, plates)
    sheet = read_sheet(own, start, _width(own, at, start))
    notes += sheet.notes
    time = _times(own, sheet, own.lines[at], rate, frames)
    names = distinct([plate.device for plate in plates], "{} ({})")
    found = [_force(sheet.values, plate, name, time, units, notes) for plate, name in zip(plates, names, strict=True)]
    return _on_the_person(found, notes)


def _row(line: str) -> list[str]:
    return trimmed(cells(line, delimiter_of(line)))


def _is_labels(line: str) -> bool:
    return sum(map(labels.is_clock, _row(line)[:2])) == 2


def _plates(source: Source, at: int) -> tuple[list[_Plate], list[str]]:
    """The force plates, from the line of labels and that of devices above it, and the names of other devices."""
    over, found, others = "", [], {}
    above = _row(source.lines[at - 1])
    for i, label in enumerate(_row(source.lines[at])):
        over = (above[i] if i < len(above) else "") or over
        device = over.rpartition(" - ")[0] or over
        if match := _CHANNEL.fullmatch(label):
            channel = match["kind"][0].lower(), match["axis"].lower()
            plate = next((p for p in found if p.device == device and channel not in p.columns), None)
            if plate is None:
                found.append(plate := _Plate(device, {}))
            plate.columns[channel] = i
        elif i > 1:
            others.setdefault(device, over)
    plates = [plate for plate in found if plate.three("f")]
    return plates, [over for device, over in others.items() if device not in {plate.device for plate in plates}]


def _rate(source: Source, start: int, labelled: int) -> float:
    """The rate of the devices in Hz, alone in a line under the heading."""
    for i in range(start + 1, labelled):
        if (match := _RATE.fullmatch(source.lines[i])) and (rate := float(match[1].replace(",", "."))) > 0.0:
            return rate
    raise source.error("the devices have no rate", f"write it in Hz in the line below 'Devices', {_ALONE}", start)


def _units(source: Source, labelled: int, start: int, plates: Sequence[_Plate]) -> dict[int, float]:
    """The units of the columns that are used, in N or m."""
    line = next((i for i in range(labelled + 1, start) if source.lines[i].strip()), None)
    if line is None:
        raise source.error("the devices have no line of units", f"write it below the labels: N, mm, {_ALONE}", labelled)
    row, found = _row(source.lines[line]), {}
    for plate in plates:
        for (kind, axis), i in plate.columns.items():
            stated, known = row[i] if i < len(row) else "", labels.FORCES if kind == "f" else labels.LENGTHS
            if labels.unit_of(stated) not in known:
                wrong = f"the unit {stated[:20]!r} is not known" if stated else "it has no unit"
                listed = "N or kN" if kind == "f" else "mm, cm or m"
                raise source.error(wrong, f"write {listed}, {_ALONE}", line, f"{plate.device} {kind.upper()}{axis}")
            found[i] = known[labels.unit_of(stated)]
    return found


def _width(source: Source, at: int, start: int) -> int:
    return max(len(_row(source.lines[at])), len(_row(source.lines[start])))


def _times(source: Source, sheet: Sheet, labelled: str, rate: float, frames: Frames | None) -> np.ndarray:
    """Times in s of the rows, from their frames and sub frames, which have to be complete."""
    where = {("sub" if "sub" in label.lower() else "frame"): i for i, label in enumerate(_row(labelled)[:2])}
    if len(where) < 2:
        advice = f"export them with 'Frame' and 'Sub Frame', {_ALONE}"
        raise source.error("the devices have no numbers of sub frames", advice)
    frame, sub = (sheet.values[:, where[name]] for name in ("frame", "sub"))
    if not (np.isfinite(frame).all() and np.isfinite(sub).all()):
        bad = int(np.argmin(np.isfinite(frame) & np.isfinite(sub)))
        raise source.error("no number of the frame or sub frame", _AGAIN, int(sheet.lines[bad]))
    sub = sub - sub.min()
    count = int(sub.max()) + 1
    sample = (frame - (1 if frame[0] >= 1 else 0)) * count + sub
    if np.any(np.diff(sample) != 1):
        bad = int(np.argmax(np.diff(sample) != 1)) + 1
        what = (
            f"frame {frame[bad]:g}, sub frame {sub[bad]:g} follows frame {frame[bad - 1]:g}, sub frame {sub[bad - 1]:g}"
        )
        raise source.error(f"{what}, where frames have {count} samples", _AGAIN, int(sheet.lines[bad]))
    _check_complete(source, sheet, frame, int(sub[-1]) + 1, count, rate, frames)
    return sample / (rate if frames is None else count * frames.rate)


def _check_complete(
    source: Source, sheet: Sheet, frame: np.ndarray, last: int, count: int, rate: float, frames: Frames | None
) -> None:
    """Checks the samples of the last frame, and those of all frames against the rates and the trajectories."""
    end = int(sheet.lines[-1])
    if last < count:
        raise source.error(f"frame {frame[-1]:g} has {last} of {count} sub frames: cut off?", _AGAIN, end)
    if frames is None:
        return
    if abs(rate / (count * frames.rate) - 1) > RATE_AGREEMENT:
        what = f"the devices have {count_of(count, 'sample', 'samples')} per frame and a rate of {rate:g} Hz"
        raise source.error(f"{what}, but the trajectories have {frames.rate:g} Hz", _AGAIN, end)
    if frame[-1] < frames.last - MISSING_FRAMES or frame[0] > frames.first + MISSING_FRAMES:
        what = f"the devices have frames {frame[0]:g} to {frame[-1]:g}"
        raise source.error(f"{what}, but the trajectories {frames.first:g} to {frames.last:g}: cut off?", _AGAIN, end)


def _force(
    values: Float[np.ndarray, "rows columns"],
    plate: _Plate,
    name: str,
    time: np.ndarray,
    units: Mapping[int, float],
    notes: list[str],
) -> GroundReaction:
    """The force of a plate as in the file, with its centre of pressure where somebody is on it."""
    in_si = lambda three: np.stack([units[i] * values[:, i] for i in three], axis=1)
    force = labels.with_unloaded_zeros(in_si(plate.three("f")), name, notes)
    three = plate.three("c")
    if three is None:
        notes.append(f"{name} has no centre of pressure: export its CoP (Cx, Cy, Cz) for joint moments")
        return GroundReaction(name, time, force, None)
    pressed = np.linalg.norm(force, axis=1) > NOISE_FORCE
    return GroundReaction(name, time, force, np.where(pressed[:, None], in_si(three), np.nan))


def _on_the_person(plates: Sequence[GroundReaction], notes: list[str]) -> tuple[GroundReaction, ...]:
    """The forces with the sign of those on the person: along the laboratory's vertical axis, positive under load."""
    every = np.concatenate([plate.force for plate in plates])
    loaded = every[np.linalg.norm(every, axis=1) > labels.HEAVY]
    if not loaded.size:
        return tuple(plates)
    mean = loaded.mean(axis=0)
    axis = int(np.argmax(np.abs(mean)))
    along = f"their {labels.AXES[axis]}, the vertical one under load, is {'negative' if mean[axis] < 0 else 'positive'}"
    if mean[axis] > 0:
        notes.append(f"forces of the devices are taken as those on the person: {along}")
        return tuple(plates)
    notes.append(f"forces of the devices are those on the plates, and are reversed: {along}")
    return tuple(plate._replace(force=-plate.force) for plate in plates)
