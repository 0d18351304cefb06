"""C3D files of DEC and MIPS (SGI) processors, in a copy for Intel's.

DEC's floats have their halves swapped and are four times as large; MIPS is big-endian. Text and bytes are alike
(https://www.c3d.org/HTML/default.htm, Processor types).
"""

from __future__ import annotations

import pathlib
import shutil
import struct

import numpy as np

from jaxgait.motion import MotionFormatError

BLOCK = 512
"""Bytes of a block, in which positions are counted from 1."""
INTEL, DEC, MIPS = 84, 85, 86
"""Processors in the head of the parameters."""
_HEADER_INTEGERS = ((2, 5), (16, 2), (294, 5))
"""Where integers of 16 bits begin in the header, and how many follow: counts and frames, data and samples, events."""
_HEADER_FLOATS = ((12, 1), (20, 1), (304, 18))
"""The same of floats of 32 bits: the scale, the rate, the times of events."""
_VALUES_AT_ONCE = 2**20


def as_intel(path: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """The file itself, or a copy in the folder if another processor wrote it.

    Raises:
        MotionFormatError: for such a file with broken parameters.

    Examples:
        >>> import pathlib
        >>> from jaxgait.motion.readers.c3d_order import as_intel
        >>> _ = pathlib.Path("walk.c3d").write_bytes(bytes([2, 80]) + bytes(1022))
        >>> print(as_intel(pathlib.Path("walk.c3d"), pathlib.Path()))
        walk.c3d
    """
    with path.open("rb") as stream:
        stream.seek(max(0, _parameters_at(stream.read(1))))
        processor = stream.read(4)[3:]
    if processor not in (bytes([DEC]), bytes([MIPS])):
        return path
    copy = folder / "intel.c3d"
    shutil.copyfile(path, copy)
    try:
        _convert(np.memmap(copy, np.uint8, "r+"), processor[0])
    except (struct.error, IndexError, ValueError):
        raise MotionFormatError(
            "is broken: its parameters cannot be read", "export it as C3D again", str(path)
        ) from None
    return copy


def _parameters_at(start: bytes | np.ndarray) -> int:
    return BLOCK * (int(start[0]) - 1)


def _convert(raw: np.ndarray, processor: int) -> None:
    """Converts the bytes of a file in place."""
    turn = _Turn(raw, processor)
    for at, count in _HEADER_INTEGERS:
        turn.integers(at, count)
    for at, count in _HEADER_FLOATS:
        turn.floats(at, count)
    at = _parameters_at(raw) + 4
    data = BLOCK * (struct.unpack_from("<H", raw.data, 16)[0] - 1)
    while 0 < at < raw.size - 2:
        step = _convert_record(turn, at)
        if not step:
            break
        at += step
    raw[_parameters_at(raw) + 3] = INTEL
    if not 0 < data < raw.size:
        raise ValueError("no data")
    is_float = struct.unpack_from("<f", raw.data, 12)[0] < 0.0
    (turn.floats if is_float else turn.integers)(data, (raw.size - data) // (4 if is_float else 2))


def _convert_record(turn: _Turn, at: int) -> int:
    """Converts a group or a parameter; returns the number of bytes to the next one, 0 behind the last one."""
    length, number = struct.unpack_from("bb", turn.raw.data, at)
    if not (length and number):
        return 0
    after = at + 2 + abs(length)
    turn.integers(after, 1)
    step = struct.unpack_from("<H", turn.raw.data, after)[0]
    if number > 0:
        kind, dimensions = struct.unpack_from("bB", turn.raw.data, after + 2)
        first = after + 4 + dimensions
        count = int(np.prod(turn.raw[after + 4 : first], dtype=np.int64))
        if kind == 2:
            turn.integers(first, count)
        elif kind == 4:
            turn.floats(first, count)
    return step and after - at + step


class _Turn:
    """Converts numbers of a processor in bytes."""

    def __init__(self, raw: np.ndarray, processor: int):
        self.raw, self._processor = raw, processor

    def integers(self, at: int, count: int) -> None:
        """So many of 16 bits from a position on; those of DEC are Intel's."""
        if self._processor == MIPS:
            self._part(at, 2 * count).view("<u2").byteswap(inplace=True)

    def floats(self, at: int, count: int) -> None:
        """So many of 32 bits from a position on."""
        part = self._part(at, 4 * count)
        if self._processor == MIPS:
            part.view("<u4").byteswap(inplace=True)
            return
        for begin in range(0, count, _VALUES_AT_ONCE):
            some = part.view("<u4")[begin : begin + _VALUES_AT_ONCE]
            some.view("<f4")[:] = ((some << 16) | (some >> 16)).view("<f4") / np.float32(4.0)

    def _part(self, at: int, size: int) -> np.ndarray:
        if at < 0 or at + size > self.raw.size:
            raise IndexError("beyond the end")
        return self.raw[at : at + size]
