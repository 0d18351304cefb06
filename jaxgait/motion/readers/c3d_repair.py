"""Corrects, in a copy, valid C3D files that ezc3d would silently misread.

ezc3d rounds the analog samples per frame down, takes the absolute values of `ANALOG:OFFSET`, reads unsigned samples as
signed ones, changes the signs of all of `FORCE_PLATFORM:ORIGIN`, and reads beyond a `FORCE_PLATFORM:CHANNEL` that
lacks the dimension of the plates. What cannot be corrected is an error.
"""

from __future__ import annotations

import pathlib
import shutil
import struct
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from jaxgait.motion import MotionFormatError
from jaxgait.motion.readers.c3d_order import BLOCK, records

_TEXT, _INTEGER, _FLOAT = -1, 2, 4
"""Types of parameters: their bytes per value, and -1 for text."""
MAX_NUMBERED = 255
"""Largest number of values in one parameter: what is longer continues in others (OFFSET2)."""
MAX_POINT_RATE = 1e6
"""Highest rate of points in Hz: no camera has more."""
_FRAMES_AT_ONCE = 10_000
MAX_RATE_ROUNDING = 1e-3
"""Relative difference of the analog rate from that of the header, up to which it is due to rounding."""


class _Header(NamedTuple):
    """The integers of the header."""

    points: int
    analog: int
    """Analog values per frame, of all channels."""
    first: int
    last: int
    data: int
    """Number of the block with the first frame, from 1."""
    samples: int
    """Analog samples per frame and channel."""


class _Stored(NamedTuple):
    """A parameter: its type, its position in the file, and its values as bytes."""

    kind: int
    at: int
    raw: bytes


class _File(NamedTuple):
    """The head of a C3D file."""

    path: pathlib.Path
    header: _Header
    scale: float
    """Scale of the points; below 0 if data are floats."""
    rate: float
    """Rate of the points in Hz."""
    stored: Mapping[str, _Stored]
    """Parameters by their names, such as ANALOG:RATE."""

    def numbers(self, name: str) -> np.ndarray:
        """The values of a parameter; empty if it is missing or text."""
        found = self.stored.get(name)
        if found is None or found.kind not in (1, _INTEGER, _FLOAT):
            return np.zeros(0)
        if found.kind == _FLOAT:
            return _floats(found.raw).astype(float)
        whole = found.raw[: len(found.raw) // found.kind * found.kind]
        return np.frombuffer(whole, "<i2" if found.kind == _INTEGER else "i1").astype(float)

    def number(self, name: str) -> float:
        """The first value of a parameter; 0 if there is none."""
        values = self.numbers(name)[:1]
        return float(values[0]) if np.isfinite(values).all() and values.size else 0.0

    def error(self, what: str, advice: str = "export it as C3D again") -> MotionFormatError:
        return MotionFormatError(what, advice, str(self.path))


def corrected(
    path: pathlib.Path, folder: pathlib.Path, shown: pathlib.Path | None = None
) -> tuple[pathlib.Path, list[str]]:
    """A file that ezc3d reads correctly: the file itself, or a corrected copy in the folder; and warnings.

    Args:
        path: the file, of an Intel processor.
        folder: for the copy.
        shown: how errors name the file.

    Raises:
        MotionFormatError: for parameters of analog data that are missing or contradict the header.

    Examples:
        >>> import pathlib
        >>> from jaxgait.motion.readers.c3d_repair import corrected
        >>> _ = pathlib.Path("walk.c3d").write_bytes(bytes([2, 80]) + bytes(1022))  # nothing to correct
        >>> print(*corrected(pathlib.Path("walk.c3d"), pathlib.Path()))
        walk.c3d []
    """
    try:
        path = _with_number_of_plates(path, folder)
        head = _head(path)
    except (struct.error, IndexError):  # broken: ezc3d says how
        return path, []
    if head is None:
        return path, []
    head = head._replace(path=shown or path)
    rate, warnings = _analog_rate(head)
    offsets = _offsets(head)
    edits = [*rate, *_origins(head)]
    if not edits and offsets is None:
        return path, warnings
    copy = folder / "corrected.c3d"
    shutil.copyfile(path, copy)
    with copy.open("r+b") as stream:
        for at, raw in edits:
            stream.seek(at)
            stream.write(raw)
    if offsets is not None:
        _without_offsets(head, copy, offsets)
    return copy, warnings


def _with_number_of_plates(path: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """A copy in which the channels of a single plate have two dimensions, as in the standard; else the file itself.

    The byte of the second dimension takes the place of a zero after the parameters.
    """
    _, section, at = _parts(path)
    stored = dict(_parameters(section, 0))
    channel, used = stored.get("FORCE_PLATFORM:CHANNEL"), stored.get("FORCE_PLATFORM:USED")
    if channel is None or used is None or channel.kind != _INTEGER or used.raw[:2] != b"\1\0" or section[-1]:
        return path
    one = next(one for one in records(section, 0) if one.first == channel.at)
    if one.first != one.after + 5:  # more than one dimension
        return path
    changed = bytearray(section[: one.first] + b"\1" + section[one.first : -1])
    (step,) = struct.unpack_from("<H", section, one.after)
    struct.pack_into("<H", changed, one.after, step + 1 if step else 0)
    changed[one.after + 3] = 2
    copy = folder / "plate.c3d"
    shutil.copyfile(path, copy)
    with copy.open("r+b") as stream:
        stream.seek(at)
        stream.write(changed)
    return copy


def _parts(path: pathlib.Path) -> tuple[bytes, bytes, int]:
    """The first block of a file, and the bytes of its parameters with their position."""
    with path.open("rb") as stream:
        start = stream.read(BLOCK)
        at = BLOCK * (start[0] - 1)
        stream.seek(max(at, 0) + 4)
        (data,) = struct.unpack_from("<16xH", start)
        return start, stream.read(max(0, BLOCK * (data - 1) - at - 4)) if at > 0 else b"", at + 4


def _head(path: pathlib.Path) -> _File | None:
    """The head of a file; None if it has no parameters."""
    start, section, at = _parts(path)
    header = _Header(*struct.unpack_from("<2x4H6x2H", start))
    scale, rate = (float(_floats(start[i : i + 4])[0]) for i in (12, 20))
    stored = dict(_parameters(section, at))
    return _File(path, header, scale, rate, stored) if stored else None


def _parameters(section: bytes, start: int) -> Iterator[tuple[str, _Stored]]:
    """The parameters by name; `start` is the position of the section in the file. They may stand before their group."""
    every = [*records(section, 0)]
    groups = {-one.number: one.name for one in every if one.number < 0}
    return (
        (f"{groups[n]}:{name}", _Stored(kind, start + at, section[at : at + count * abs(kind)]))
        for n, name, _, kind, count, at in every
        if n in groups
    )


def _channels(head: _File) -> int:
    """Number of analog channels in the frames; 0 also for SHADOW's files, whose missing parameters ezc3d handles."""
    if not head.header.analog or any(name.startswith("SHADOW:") for name in head.stored):
        return 0
    return int(head.number("ANALOG:USED")) % 2**16


def _analog_rate(head: _File) -> tuple[list[tuple[int, bytes]], list[str]]:
    """The position and bytes of an ANALOG:RATE from which ezc3d gets the header's samples per frame; and warnings.

    ezc3d rounds the ratio of the rates down, and 999.999 Hz / 33.3333 Hz is just below 30 in single precision. Both
    lists are empty if ezc3d reads the rate correctly; there is a warning only if the rate contradicts the header.
    """
    used, header = _channels(head), head.header
    points = head.number("POINT:RATE") or head.rate
    stated = head.number("ANALOG:RATE")
    if not used or not 1.0 <= points <= MAX_POINT_RATE:
        return [], []
    if used * int(stated / points) % 2**16 == header.analog:
        return [], []
    parameter = head.stored.get("ANALOG:RATE")
    consistent = used * header.samples % 2**16 == header.analog
    if not consistent or parameter is None or parameter.kind != _FLOAT or len(parameter.raw) < 4:
        what = f"the parameter ANALOG:RATE is {f'{stated:g} Hz' if parameter else 'missing'}"
        counts = f"{header.samples} analog samples per frame at {points:g} Hz"
        raise head.error(f"{what}, but the header counts {counts} and {header.analog} values of {used} channels")
    rate = np.float32(points * header.samples)
    rate = rate if int(float(rate) / points) == header.samples else np.nextafter(rate, np.float32(np.inf))
    warnings = []
    if abs(stated - rate) > MAX_RATE_ROUNDING * rate:
        what = f"the parameter ANALOG:RATE is {stated:g} Hz, the header counts {header.samples} samples per frame"
        warnings = [f"{what} at {points:g} Hz: {float(rate):g} Hz is used"]
    return [(parameter.at, np.array([rate], "<f4").tobytes())], warnings


def _offsets(head: _File) -> np.ndarray | None:
    """The offset of each channel, to be subtracted from the samples, if ezc3d would use others; otherwise None."""
    used = _channels(head)
    if not used:
        return None
    names = ["ANALOG:OFFSET"]
    while f"ANALOG:OFFSET{len(names) + 1}" in head.stored:
        names.append(f"ANALOG:OFFSET{len(names) + 1}")
    if any(head.stored[name].kind == _FLOAT for name in names if name in head.stored):
        return None  # ezc3d raises an error for them
    offsets = np.concatenate([head.numbers(name) for name in names])
    if offsets.size < min(used, MAX_NUMBERED):
        there = f"has {offsets.size} values for {used} channels" if "ANALOG:OFFSET" in head.stored else "is missing"
        raise head.error(
            f"the parameter ANALOG:OFFSET {there}", "export it as C3D again, with the offset of each channel"
        )
    offsets, unsigned = offsets[:used], _is_unsigned(head)
    # A signed -32768 stands for 32768, as no sample needs -32768 as its offset.
    own = offsets % 2**16 if unsigned else np.where(offsets == -(2**15), 2**15, offsets)
    if np.array_equal(own, np.abs(offsets)) and not (unsigned and head.scale > 0):
        return None
    if own.size < used or head.header.analog % used:
        what = f"ANALOG:OFFSET has {own.size} values, but {used} channels have {head.header.analog} values per frame"
        raise head.error(what, "export it as C3D again, with 32-bit floats")
    return own


def _is_unsigned(head: _File) -> bool:
    stated = head.stored.get("ANALOG:FORMAT")
    return stated is not None and stated.kind == _TEXT and stated.raw.strip().upper().startswith(b"UNSIGNED")


def _without_offsets(head: _File, copy: pathlib.Path, offsets: np.ndarray) -> None:
    """Subtracts the offsets from the copy's samples, which become signed, and sets the parameters to zero."""
    with copy.open("r+b") as stream:
        for name, one in head.stored.items():
            if name.startswith("ANALOG:OFFSET"):
                stream.seek(one.at)
                stream.write(bytes(len(one.raw)))
    header, wide = head.header, "<u4" if head.scale < 0 else "<i2"
    width, start = 4 * header.points + header.analog, BLOCK * (header.data - 1)
    frames = (copy.stat().st_size - start) // (width * np.dtype(wide).itemsize)
    frames = min(frames, header.last - header.first + 1) if header.first <= header.last < 2**16 - 1 else frames
    if frames < 1:
        return
    samples = np.memmap(copy, wide, "r+", start, (frames, width))[:, 4 * header.points :]
    every = np.tile(offsets, header.analog // offsets.size)
    for begin in range(0, frames, _FRAMES_AT_ONCE):
        part = samples[begin : begin + _FRAMES_AT_ONCE]
        if head.scale < 0:
            with np.errstate(invalid="ignore"):  # gaps are NaN
                part[:] = (part.view("<f4") - every.astype("<f4")).view("<u4")
            continue
        moved = (part.view("<u2") if _is_unsigned(head) else part).astype(np.int32) - every.astype(np.int32)
        if np.any(moved != moved.astype(np.int16)):
            what = "analog samples less their offsets (ANALOG:OFFSET) exceed 16 bits"
            raise head.error(what, "export it as C3D again, with 32-bit floats")
        part[:] = moved


def _origins(head: _File) -> list[tuple[int, bytes]]:
    """Edits of positive az0 in plates of type 3: ezc3d would change the signs of the sensors' positions a, b, too."""
    kinds, origins = head.numbers("FORCE_PLATFORM:TYPE"), head.stored.get("FORCE_PLATFORM:ORIGIN")
    if origins is None or origins.kind != _FLOAT:
        return []
    rises = head.numbers("FORCE_PLATFORM:ORIGIN")[2::3]
    return [
        (origins.at + 4 * (3 * i + 2), np.array([-rise], "<f4").tobytes())
        for i, (kind, rise) in enumerate(zip(kinds, rises, strict=False))
        if kind == 3 and rise > 0
    ]


def _floats(raw: bytes) -> np.ndarray:
    return np.frombuffer(raw[: len(raw) // 4 * 4], "<f4")
