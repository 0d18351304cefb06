"""Converts C3D files of DEC and MIPS (SGI) processors to Intel's format, in a copy.

DEC's floats have their halves swapped and are four times as large; MIPS is big-endian. Text and single bytes are the
same (https://www.c3d.org/HTML/default.htm, Processor types).
"""

from __future__ import annotations

import math
import pathlib
import shutil
import struct
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from jaxgait.motion import MotionFormatError

BLOCK = 512
"""Bytes per block; blocks are counted from 1."""
INTEL, DEC, MIPS = 84, 85, 86
"""Codes of processors in the parameters' header."""
_HEADER_INTEGERS = ((2, 5), (16, 2), (294, 5))
"""Positions of 16-bit integers in the header, and how many follow: counts and frames, data and samples, events."""
_HEADER_FLOATS = ((12, 1), (20, 1), (304, 18))
"""The same for 32-bit floats: the scale, the rate, the times of events."""
_VALUES_AT_ONCE = 2**20


class Record(NamedTuple):
    """A group, or a parameter with its values, among the parameters of a file."""

    number: int
    """Number of its group; negative for a group itself."""
    name: str
    after: int
    """Position after its name, where the number of bytes to the next record is stored."""
    kind: int
    """Bytes per value: 1, 2 (integers) or 4 (floats), and -1 for text; 0 for a group."""
    count: int
    """Number of values."""
    first: int
    """Position of the first value."""


def records(raw: bytes | memoryview, at: int, integer: str = "<H") -> Iterator[Record]:
    """The groups and parameters in bytes from position `at` on; `integer` is the `struct` format of 16-bit integers.

    Raises:
        struct.error: if the bytes end within one.

    Examples:
        >>> from jaxgait.motion.readers.c3d_order import records
        >>> [(one.name, one.number) for one in records(bytes([5, 255]) + b"POINT" + bytes(3), at=0)]
        [('POINT', -1)]
    """
    while 0 <= at <= len(raw) - 2:
        length, number = struct.unpack_from("bb", raw, at)
        if not (length and number):
            return
        after = at + 2 + abs(length)
        (step,) = struct.unpack_from(integer, raw, after)
        kind, dimensions = struct.unpack_from("bB", raw, after + 2) if number > 0 else (0, 0)
        first = after + 4 + dimensions
        name = bytes(raw[at + 2 : after]).decode("latin-1").strip().upper()
        yield Record(number, name, after, kind, math.prod(raw[after + 4 : first]), first)
        if not step:
            return
        at = after + step


def as_intel(path: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """The file itself, or a converted copy in the folder if another processor wrote it.

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
    converter = _Converter(raw, processor)
    for at, count in _HEADER_INTEGERS:
        converter.integers(at, count)
    for at, count in _HEADER_FLOATS:
        converter.floats(at, count)
    data = BLOCK * (struct.unpack_from("<H", raw.data, 16)[0] - 1)
    for one in records(raw.data, _parameters_at(raw) + 4, ">H" if processor == MIPS else "<H"):
        converter.integers(one.after, 1)
        if one.kind in (2, 4):
            (converter.integers if one.kind == 2 else converter.floats)(one.first, one.count)
    raw[_parameters_at(raw) + 3] = INTEL
    if not 0 < data < raw.size:
        raise ValueError("no data")
    is_float = struct.unpack_from("<f", raw.data, 12)[0] < 0.0
    (converter.floats if is_float else converter.integers)(data, (raw.size - data) // (4 if is_float else 2))


class _Converter:
    """Converts numbers of another processor, within the bytes of a file."""

    def __init__(self, raw: np.ndarray, processor: int):
        self.raw, self._processor = raw, processor

    def integers(self, at: int, count: int) -> None:
        """Converts 16-bit integers from a position on; DEC's are like Intel's."""
        if self._processor == MIPS:
            self._part(at, 2 * count).view("<u2").byteswap(inplace=True)

    def floats(self, at: int, count: int) -> None:
        """Converts 32-bit floats from a position on."""
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
