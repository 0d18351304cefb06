"""Damaged recordings: files of every format with bytes changed, cut out, doubled or swapped, or cut off.

The seeds are recordings of the tests' synthetic walker.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import numpy as np

from jaxgait.motion import MotionFormatError
from jaxgait.motion.readers import read_recording
from tests.motion import walker

from .rows import Row, equal

SMALL = walker.walker(rate=50.0, duration=0.24)
SEEDS = {
    "walk.trc": walker.trc(SMALL, digits=2).encode(),
    "walk.csv": walker.csv(SMALL).encode(),
    "vicon.csv": walker.vicon(SMALL).encode(),
    "walk.tsv": walker.qualisys(SMALL).encode(),
    "ik.mot": walker.mot(SMALL).encode(),
    "grf.sto": walker.forces(SMALL).encode(),
}
# fmt: off
TOKENS = [
    b"", b"\t", b",", b";", b"\n", b"\n\n", b"nan", b"1e308", b"-", b"1e-320", b"Frame#", b"endheader", b"\xff",
    b"\x00", b"time", b"DataRate", b"0", b"inf", b"9" * 40, b'"', b"#", b"%", b"mm", b"inDegrees=no", b"X",
    b"\xef\xbb\xbf",
]
# fmt: on
"""What is written over or between the bytes: separators, extreme numbers, words of headers."""


def mutated(seed: bytes, rng: np.random.Generator) -> bytes:
    """The text of a file with a few bytes changed, cut out, doubled or swapped, or cut off.

    Args:
        seed: the file.
        rng: decides what is changed.
    """
    data = bytearray(seed)
    for _ in range(int(rng.integers(1, 5))):
        at, to = sorted(int(i) for i in rng.integers(0, len(data) + 1, 2))
        near = min(len(data), at + int(rng.integers(0, 30)))
        kind = int(rng.integers(0, 7))
        if kind == 0 and at < len(data):
            data[at] = int(rng.integers(0, 256))
        elif kind == 1:
            data[at:near] = TOKENS[int(rng.integers(0, len(TOKENS)))]
        elif kind == 2:
            del data[at:near]
        elif kind == 3:
            data[at:at] = data[at:near]
        elif kind == 4:
            data = data[:to] if rng.random() < 0.3 else data
        elif kind == 5:
            data = bytearray(
                bytes(data).replace(b"\t", b" ") if rng.random() < 0.2 else bytes(data).replace(b".", b",", 40)
            )
        else:
            data[at:at] = TOKENS[int(rng.integers(0, len(TOKENS)))]
    return bytes(data)


def mutated_c3d(seed: bytes, rng: np.random.Generator) -> bytes:
    """A C3D file with a few bytes of its header and parameters changed, or cut off.

    Args:
        seed: the file.
        rng: decides what is changed.
    """
    data = bytearray(seed)
    for _ in range(int(rng.integers(1, 6))):
        data[int(rng.integers(2, min(len(data), 3000)))] = int(rng.integers(0, 256))
    return bytes(data[: int(rng.integers(1024, len(data)))] if rng.random() < 0.3 else data)


def survives(path: pathlib.Path, data: bytes) -> bool:
    """Whether the bytes are read as a consistent recording; otherwise the error must be one line that names the file.

    Args:
        path: file to write and read.
        data: its bytes.

    Raises:
        AssertionError: for an inconsistent recording, and for another error message.
        Exception: whatever else the reader raises.
    """
    path.write_bytes(data)
    try:
        found = read_recording(path)
    except MotionFormatError as error:
        assert str(error).startswith(str(path)) and "\n" not in str(error) and len(str(error)) < 1500
        return False
    assert np.isfinite(found.rate) and found.rate > 0 and np.isfinite(found.time).all()
    assert all(x.shape == (found.frames, 3) for x in found.markers.values())
    assert all(x.shape == (found.frames,) for x in found.angles.values())
    return True


def damaged_files(folder: pathlib.Path, count: int) -> Iterator[Row]:
    """Counts damaged files that are neither read nor an error of one line.

    Args:
        folder: for the files.
        count: files in all; a tenth of them are C3D, which a process of its own reads.
    """
    rng, bad, read = np.random.default_rng(11), 0, 0
    walker.c3d(SMALL, folder / "seed.c3d")
    c3d = (folder / "seed.c3d").read_bytes()
    each = -(-9 * count // (10 * len(SEEDS)))
    jobs = [(name, seed, mutated) for name, seed in SEEDS.items() for _ in range(each)]
    jobs += [("walk.c3d", c3d, mutated_c3d)] * (count // 10)
    for name, seed, change in jobs:
        try:
            read += survives(folder / name, change(seed, rng))
        except Exception:  # any other error is what this counts
            bad += 1
    what = f"{len(jobs)} damaged recordings in 7 formats, {read} of them readable"
    yield equal(f"{what}: crashes or errors of more than one line", bad, 0)
