"""Strides that cannot be a drive, with the message of each: for the tests and for the table of bad inputs in the docs.

`BAD` maps a name to a `Bad`: the bytes of a file, and a fragment of the one-line message that `read_drive` raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxgait.motion.drive import REFERENCE_GAITS, GaitDrive, gait_record, stride_drive
from jaxgait.motion.stride import Stride

Columns = dict[str, np.ndarray]
SPEED = 1.2562


class Bad(NamedTuple):
    """The bytes of a file and a fragment of its message."""

    raw: bytes
    message: str


def columns(gait: str = REFERENCE_GAITS[0]) -> Columns:
    """The columns of a good file: times and signals of an embedded gait without its load."""
    record = gait_record(gait)
    signals = {k: np.array(v) for k, v in record["mean_stride"].items() if not k.startswith("ground")}
    return {"time_s": np.linspace(0.0, record["period_T_s"], 101), **signals}


def fitted(signals: Columns, period: float, speed: float, **options: Any) -> GaitDrive:
    """The drive of even samples of one stride."""
    count = next(x.shape[0] for x in signals.values())
    return stride_drive(Stride("unnamed", np.arange(float(count)), signals, speed, period), **options)


def text(table: Columns, speed: str = f"# speed_m_s={SPEED}\n", delimiter: str = ",") -> str:
    """A file of the columns."""
    rows = (delimiter.join(f"{x:.6f}" for x in row) for row in zip(*table.values(), strict=True))
    return speed + delimiter.join(table) + "\n" + "\n".join(rows) + "\n"


def changed(**changes: Callable[[np.ndarray], np.ndarray]) -> bytes:
    """A good file with some columns computed from themselves."""
    return text({k: changes.get(k, lambda x: x)(x) for k, x in columns().items()}).encode()


def rows(change: Callable[[np.ndarray], np.ndarray]) -> bytes:
    """A good file with its rows taken by indices that are computed from those of all 101."""
    return text({k: x[change(np.arange(101))] for k, x in columns().items()}).encode()


def cell(row: int, name: str, content: str) -> bytes:
    """A good file with another content in one cell; rows count from 0."""
    lines = text(columns()).split("\n")
    cells = lines[row + 2].split(",")
    cells[list(columns()).index(name)] = content
    lines[row + 2] = ",".join(cells)
    return "\n".join(lines).encode()


def _half_empty() -> bytes:
    lines = text(columns()).split("\n")
    every_other = [line.rpartition(",")[0] + "," for line in lines[2:103:2]]
    return "\n".join([*lines[:2], *every_other, *lines[3:103:2]]).encode()


def _two() -> bytes:
    table = {k: np.append(x[:-1], x) for k, x in columns().items()}
    table["time_s"] = np.linspace(0.0, 2 * 1.127, 201)
    return text(table).encode()


GOOD = text(columns())
LINES = GOOD.split("\n")
DEGREES = np.degrees
T, N = 1.127, 101
_shuffle = lambda i: np.random.default_rng(0).permutation(i)
_uneven = lambda t: T * (t / T) ** 3
_progress = lambda x: x + SPEED * np.linspace(0.0, T, N)
_spike = lambda x: x + 0.9 * (np.arange(N) == 40)

BAD: dict[str, Bad] = {
    # Time.
    "uneven sampling": Bad(changed(time_s=_uneven), "s without a sample, where the others are"),
    "a gap of 20 samples": Bad(
        rows(lambda i: np.delete(i, np.s_[40:60])), "line 43, column hip_x_m: no value for 0.225 s, where gaps of up"
    ),
    "shuffled rows": Bad(rows(_shuffle), "column time_s: time goes back from"),
    "a row twice": Bad(rows(lambda i: np.insert(i, 7, 7)), "line 11, column time_s: time stands still at 0.07889"),
    "milliseconds": Bad(changed(time_s=lambda t: 1000 * t), "column time_s: a stride of 1127 s; milliseconds? divide"),
    "percent": Bad(changed(time_s=lambda t: 100 * t / T), "a stride of 100 s; percent of the stride? multiply by"),
    "frames": Bad(changed(time_s=lambda t: np.arange(200.0, 301.0)), "a stride of 100 s; percent of the stride?"),
    "frames at 200 Hz": Bad(
        text({k: np.interp(np.linspace(0, 100, 226), np.arange(101), x) for k, x in columns().items()}
             | {"time_s": np.arange(226.0)}).encode(),
        "a stride of 225 s; numbers of frames? divide by the frame rate",
    ),
    "time stands still": Bad(changed(time_s=lambda t: 0 * t), "line 4, column time_s: time stands still at 0"),
    "time backwards": Bad(changed(time_s=lambda t: -t), "line 4, column time_s: time goes back from 0 to -0.01127"),
    "times that contradict a comment": Bad(
        b"# T_s=1.1270\n" + changed(time_s=lambda t: 1.2 * t), "a stride of 1.352 s, a comment states T_s=1.127"
    ),
    # How many strides.
    "half a stride": Bad(rows(lambda i: i[:51]), "thigh_rad: the thigh ends at the other end of its swing: half"),
    "the other half": Bad(rows(lambda i: i[50:]), "half a stride"),
    "one and a half strides": Bad(
        text({k: np.append(x[:-1], x[:51]) for k, x in columns().items()}
             | {"time_s": np.linspace(0, 1.5 * T, 151)}).encode(),
        "half a stride (or one and a half)",
    ),
    "nine tenths of a stride": Bad(rows(lambda i: i[:90]), "does not close: a jump of"),
    "two strides": Bad(_two(), "the thigh swings 2 times: 2 strides; cut out one"),
    # Units, signs, columns.
    "hip in millimetres": Bad(
        changed(hip_x_m=lambda x: 1000 * x, hip_y_m=lambda y: 1000 * y), "range 41.28 m; walking has 0.001 to 0.4 m;"
    ),
    "hip height in millimetres": Bad(changed(hip_y_m=lambda y: 1000 * y), "millimetres? divide by 1000"),
    "hip height in centimetres": Bad(changed(hip_y_m=lambda y: 100 * y), "centimetres? divide by 100"),
    "hip height about its mean": Bad(changed(hip_y_m=lambda y: y - y.mean()), "about its mean? the height above"),
    "progression left in": Bad(changed(hip_x_m=_progress), "the progression still in it? subtract speed_m_s * time_s"),
    "degrees": Bad(changed(thigh_rad=DEGREES, knee_rad=DEGREES, ankle_rad=DEGREES), "degrees? multiply by pi/180"),
    "ankle in degrees": Bad(changed(ankle_rad=DEGREES), "column ankle_rad: lowest value -24.15 rad; walking has"),
    "knee of the opposite sign": Bad(changed(knee_rad=lambda x: -x), "of the opposite sign? multiply by -1"),
    "thigh of the opposite sign": Bad(changed(thigh_rad=lambda x: -x), "moves against the usual direction"),
    "ankle about 90 degrees": Bad(
        changed(ankle_rad=lambda x: x + np.pi / 2), "an offset of 90 degrees? subtract pi/2"
    ),
    "thigh from the horizontal": Bad(changed(thigh_rad=lambda x: x - np.pi / 2), "of -90 degrees? add pi/2"),
    "knee as the angle inside": Bad(changed(knee_rad=lambda x: np.pi - x), "180 degrees minus the flexion? subtract"),
    "time reversed": Bad(
        text({k: x if k == "time_s" else x[::-1] for k, x in columns().items()}).encode(),
        "column time_s: the stride runs backward in time (played so, ",
    ),
    "hip height upside down": Bad(
        changed(hip_y_m=lambda y: 1.82 - y), "with the reference gait); is it the height of the hip, at the times"
    ),
    "knee without motion": Bad(changed(knee_rad=lambda x: 0 * x), "column knee_rad: is 0 rad throughout; was it meas"),
    "hip without motion": Bad(changed(hip_y_m=lambda x: 0 * x + 0.92), "column hip_y_m: is 0.92 m throughout"),
    "all signals zero": Bad(
        text({k: x * (k == "time_s") for k, x in columns().items()}).encode(), "is 0 m throughout; was it measured"
    ),
    "a column twice under two names": Bad(
        text(columns() | {"ankle_rad": columns()["knee_rad"]}).encode(),
        "column ankle_rad: contains the same numbers as knee_rad",
    ),
    "thigh and knee exchanged": Bad(
        text(columns() | {"thigh_rad": columns()["knee_rad"], "knee_rad": columns()["thigh_rad"]}).encode(),
        "column thigh_rad: moves as a knee does, and knee_rad as a thigh: the columns look exchanged",
    ),
    "hip columns swapped": Bad(
        text(columns() | {"hip_x_m": columns()["hip_y_m"], "hip_y_m": columns()["hip_x_m"]}).encode(),
        "column hip_y_m: mean ",
    ),
    "an outlier": Bad(changed(thigh_rad=_spike), "line 43, column thigh_rad: "),
    "speed in km/h": Bad(GOOD.replace("=1.2562", "=4.52").encode(), "a walking speed of 4.52 m/s; km/h? divide by 3.6"),
    "speed in mm/s": Bad(GOOD.replace("=1.2562", "=1256").encode(), "a walking speed of 1256 m/s; mm/s? divide by"),
    "speed that the thigh cannot make": Bad(
        GOOD.replace("=1.2562", "=0.3").encode(), "speed times stride time is 0.338 m, where a thigh that swings by"
    ),
    "negative speed": Bad(GOOD.replace("=1.2562", "=-1").encode(), "speed must be a positive number, got -1"),
    "no speed": Bad(GOOD.replace("speed", "velocity").encode(), "no walking speed; write the line"),
    "speed in words": Bad(GOOD.replace("=1.2562", "=slow").encode(), "speed_m_s=slow is not a number"),
    "a speed with km/h": Bad(GOOD.replace("=1.2562", "=4.52 km/h").encode(), "4.52 km/h is not a number in m/s"),
    "two numbers for the speed": Bad(GOOD.replace("=1.2562", "=1,256.2").encode(), "speed_m_s=1,256.2 is not a number"),
    "load downward": Bad(
        text(columns() | {"ground_x_N": 100 * np.sin(np.arange(101.0)), "ground_y_N": -700 * columns()["hip_y_m"]}
             ).encode(),
        "column ground_y_N: ",
    ),
    # Text.
    "empty file": Bad(b"", "no samples: the file is empty"),
    "only blank lines": Bad(b"\n \n\n", "no samples: the file is empty"),
    "only comments": Bad(b"# speed_m_s=1.2\n", "no samples: the file is empty"),
    "header only": Bad("\n".join(LINES[:2]).encode(), "no samples: only a header line"),
    "one row": Bad("\n".join(LINES[:3]).encode(), "no samples: only one row of numbers (line 3)"),
    "nine rows": Bad("\n".join(LINES[:11]).encode(), "8 harmonics need at least 18 samples, got 9"),
    "no header": Bad("\n".join([LINES[0], *LINES[2:]]).encode(), "line 2: numbers where the names of the columns"),
    "a column is missing": Bad(GOOD.replace("knee_rad", "shin").encode(), "column knee_rad: no column 'knee_rad'"),
    "a shank instead of a knee": Bad(
        GOOD.replace("knee_rad", "shank_rad").encode(), "knee_rad is the angle of the thigh less that of the shank"
    ),
    "a name nearly right": Bad(GOOD.replace("knee_rad", "knee").encode(), "'knee_rad' if it is that, in rad (knee_deg"),
    "another unit": Bad(GOOD.replace("hip_y_m", "hip_y_mm").encode(), "convert 'hip_y_mm' to m and name it"),
    "a thigh in cm": Bad(b"# thigh_m=41\n" + GOOD.encode(), "thigh_m is 41.0, not a number between 0.05 and 1"),
    "a name twice": Bad(GOOD.replace("ankle_rad", "knee_rad").encode(), "this is the name of columns 5 and 6"),
    "too few cells": Bad("\n".join([*LINES[:5], "0,0,0.9", *LINES[6:]]).encode(), "line 6: 3 values under 6 column"),
    "too many cells": Bad("\n".join([*LINES[:5], LINES[5] + ",1", *LINES[6:]]).encode(), "line 6: 7 values under 6"),
    "half a column empty": Bad(_half_empty(), "line 3, column ankle_rad: 51 of 101 values are missing, this"),
    "a word": Bad(cell(7, "knee_rad", "abc"), "line 10, column knee_rad: 'abc' is not a number"),
    "a formula": Bad(cell(7, "hip_y_m", "=A3"), "line 10, column hip_y_m: '=A3' is not a number"),
    "an underscore": Bad(cell(7, "hip_y_m", "0_9"), "'0_9' is not a number"),
    "a very long cell": Bad(cell(7, "hip_y_m", "9x" * 50_000), "is not a number; write a number"),
    "infinite": Bad(cell(7, "time_s", "inf"), "line 10, column time_s: inf is not finite"),
    "an open quotation mark": Bad(cell(7, "time_s", '"0.07'), "line 10: 1 values under 6 column names"),
    "decimal commas between commas": Bad(GOOD.replace("0.", "0,").encode(), "values under 6 column names"),
    "decimal commas and points": Bad(
        GOOD.replace(",", ";").replace("0.9109", "0,9109").encode(), "use one kind, preferably the point"
    ),
    "UTF-16 without a mark": Bad(GOOD.encode("utf-16-le"), "is not a text file; export it as CSV"),
    "broken UTF-16": Bad(GOOD.encode("utf-16")[:-1], "is broken utf-16 text"),
    "binary": Bad(bytes(range(256)) * 8, "is not a text file; export it as CSV"),
    "a workbook": Bad(b"PK\x03\x04" + bytes(100), "is not a text file but an Excel or OpenDocument workbook"),
    "too large": Bad(b"#" * (16 * 2**20 + 1), "is larger than 16 MB; cut out what is needed"),
}  # fmt: skip
"""Files that `read_drive` raises for, by a name that states what is wrong with them."""
