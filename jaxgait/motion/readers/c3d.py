"""Reads C3D files with ezc3d, whose compiled code runs in a process with limited time and memory.

If a broken file crashes or hangs that process, this raises a `MotionFormatError`. It also does so if the process fails
for another reason, but then does not blame the file.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from jaxgait.motion import MotionFormatError
from jaxgait.motion.readers import labels
from jaxgait.motion.readers.c3d_order import as_intel
from jaxgait.motion.readers.c3d_repair import corrected
from jaxgait.motion.readers.model_results import is_result, model_angles
from jaxgait.motion.readers.stated_units import ANGLES, units_of
from jaxgait.motion.readers.subjects import without_subject
from jaxgait.motion.recording import NOISE_FORCE, GroundReaction, Mark, Recording
from jaxgait.support.checks import count_of, first_few

MAX_BYTES = 512 * 2**20
"""Largest file in bytes that is read."""
BASE_TIMEOUT = 20
"""Time in s allowed for reading, plus a second for every MB: ezc3d takes 0.25 s for a MB with force plates."""
_MOMENT_UNIT = re.compile(r"(?P<force>[a-z]+?)[\s.*·-]*(?P<length>mm|cm|m|in)")
UNREADABLE = 3
"""Exit code of the child process for a file that it cannot read; the last line of its output says why."""
BASE_MEMORY = 2 * 2**30
"""Address space in bytes that the reading process has besides 24 times the file's size."""
_RESULTS = "points are results of a model, not positions"
_CHILD = pathlib.Path(__file__).parent / "c3d_process.py"
_START = (
    "import json, runpy, sys; sys.path += json.load(sys.stdin); del sys.argv[0]; "
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)
"""Runs a script after appending the folders of `_search_path`, read from stdin, to those of Python's own modules."""


def read_c3d(path: pathlib.Path) -> Recording:
    """The recording of a file that begins as a C3D file.

    Raises:
        MotionFormatError: if it is broken or more than the limits allow, or if ezc3d cannot be used.
    """
    size = _check(path)
    with tempfile.TemporaryDirectory() as folder:
        source, warnings = corrected(as_intel(path, pathlib.Path(folder)), pathlib.Path(folder), path)
        _extract(path, source, pathlib.Path(folder), size)
        found = json.loads((pathlib.Path(folder) / "found.json").read_text(encoding="utf-8"))
        with np.load(pathlib.Path(folder) / "arrays.npz") as arrays:
            found["warnings"] += warnings
            return _recording(path, found, {k: arrays[k] for k in arrays.files})


def _check(path: pathlib.Path) -> int:
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise MotionFormatError(f"is larger than {MAX_BYTES // 2**20} MB", "cut out some strides", str(path))
    if size < 1024:
        raise MotionFormatError("is not a C3D file: it is too short", "export it as C3D again", str(path))
    return size


def _extract(path: pathlib.Path, source: pathlib.Path, folder: pathlib.Path, size: int) -> None:
    limit = BASE_MEMORY + 24 * size
    # Without Python's own search for libraries, which may miss what this process found (PYTHONPATH, user's folders).
    command = [sys.executable, "-I", "-S", "-c", _START, str(_CHILD), str(source.resolve()), str(folder), str(limit)]
    single = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    seconds = BASE_TIMEOUT + size // 10**6
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            timeout=seconds,
            env=os.environ | single,
            check=False,
            input=json.dumps(_search_path()).encode(),
        )
    except subprocess.TimeoutExpired:
        advice = "export it as C3D again, or wait until the machine is less busy"
        raise MotionFormatError(f"could not be read in {seconds} s", advice, str(path)) from None
    if done.returncode:
        raise _failure(done, str(path))


def _search_path() -> list[str]:
    """The folders in which this process finds libraries.

    Those that depend on the current folder are last: it may have changed since the libraries were imported here.
    """
    return sorted((folder for folder in sys.path if isinstance(folder, str)), key=lambda x: not os.path.isabs(x))


def _failure(done: subprocess.CompletedProcess[bytes], file: str) -> MotionFormatError:
    """Why the reading process failed: because of the file, or because it cannot work at all."""
    reason, error = (_last_line(stream) for stream in (done.stdout, done.stderr))
    if done.returncode == UNREADABLE and reason:
        return MotionFormatError(f"is broken: {reason}", "export it as C3D again", file)
    # Signals have negative codes, and exceptions of Windows large ones.
    if done.returncode not in range(1, 256) or "MemoryError" in error.partition(":")[0]:
        what = f"is broken: the reader stopped with code {done.returncode}"
        return MotionFormatError(what, "export it as C3D again", file)
    what = f"cannot be read: the reader failed ({error or f'code {done.returncode}'})"
    advice = "if other C3D files cannot be read either, install ezc3d again: pip install --force-reinstall ezc3d"
    return MotionFormatError(what, advice, file)


def _last_line(stream: bytes) -> str:
    lines = stream.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:200] if lines else ""


def _recording(path: pathlib.Path, found: dict[str, Any], arrays: dict[str, np.ndarray]) -> Recording:
    rate, points, notes = float(found["rate"]), arrays["points"], []
    if not (np.isfinite(rate) and rate > 0) or points.shape[0] < 2:
        what = f"{points.shape[0]} frames of points at {rate:g} Hz"
        raise MotionFormatError(what, "export a trial with marker trajectories", str(path))
    is_one = [known or is_result(label) for known, label in zip(found["computed"], found["labels"], strict=True)]
    names = _names(found["labels"], is_one, points.shape[1], notes, str(path))
    results = {name: points[:, i] for i, name in enumerate(names) if is_one[i : i + 1] == [True]}
    if results:
        what = count_of(len(results), "point is a result of a model, not a position", _RESULTS)
        notes.append(f"{what}: {first_few([*results])}")
    angles = model_angles(labels.gapped(results, []), _angle_unit(found["angle_unit"]), notes)
    markers = labels.gapped({k: points[:, i] for i, k in enumerate(names) if k not in results}, notes)
    unit, more, warnings = labels.length_unit(markers, found["unit"], str(path))
    forces = tuple(_plates(found, arrays, found["first"] / rate, unit, notes))
    time = found["first"] / rate + np.arange(points.shape[0]) / rate
    return Recording(
        name=path.stem,
        file=str(path),
        rate=rate,
        time=time,
        markers={k: unit * x for k, x in markers.items()},
        angles=angles,
        forces=forces,
        marks=tuple(Mark(*mark) for mark in found["events"]),
        subject=found["subject"],
        notes=(*notes, *more),
        warnings=(*found["warnings"], *warnings),
    )


def _angle_unit(stated: str) -> float:
    """The unit of angles in rad: degrees, unless radians are stated."""
    ((unit,), _) = units_of([stated])
    return ANGLES.get(unit, ANGLES["deg"])


def _names(named: list[str], computed: list[bool], points: int, notes: list[str], file: str) -> list[str]:
    """Distinct names of all points, without the subject; results of a model do not count as a subject's markers."""
    named = (named + [""] * points)[:points]
    results = {i for i, is_one in enumerate(computed[:points]) if is_one}
    own = iter(without_subject([name for i, name in enumerate(named) if i not in results], notes, file))
    plain = [name.rpartition(":")[2].strip() if i in results else next(own) for i, name in enumerate(named)]
    return labels.unique(plain, notes, labels.COPY)


def _plates(
    found: dict[str, Any], arrays: dict[str, np.ndarray], start: float, unit: float, notes: list[str]
) -> Iterator[GroundReaction]:
    """The forces in N and centres of pressure in m, by plate; `unit` is the file's unit of length in m."""
    for i in range(found["plates"]):
        name, force, point = f"plate {i + 1}", arrays[f"force{i}"], arrays[f"point{i}"]
        newton, arm = _units(name, found["channels"][i], unit, notes)
        force = labels.with_unloaded_zeros(newton * force, name, notes)
        pressed = np.linalg.norm(force, axis=1) > NOISE_FORCE  # the point of an unloaded plate is noise
        point = np.where(pressed[:, None], point, np.nan)
        if arm != 1.0 and pressed.any():
            corners, stated = arrays[f"corners{i}"], found["channels"][i][1][0].strip()
            middle, is_length = corners.mean(axis=0), stated.lower() in labels.LENGTHS
            what = "centres of pressure" if is_length else "moments"
            fixed = middle if is_length else _without_moments(force, corners, arrays[f"origin{i}"])
            moved = fixed + arm * (point - fixed)
            if np.median(np.linalg.norm(moved[pressed] - middle, axis=1)) < np.linalg.norm(corners[0] - corners[2]):
                point = moved
                notes.append(f"{name}: {what} are in {stated}, as the file states")
            else:
                notes.append(f"{name}: {what} cannot be in {stated}, as the file states: no foot would be on the plate")
        yield GroundReaction(name, start + np.arange(force.shape[0]) / found["analog_rate"], force, unit * point)


def _units(name: str, channels: list[list[str]], unit: float, notes: list[str]) -> tuple[float, float]:
    """The unit of a plate's forces in N, and that of its moment arms in the file's unit of length (of `unit` m)."""
    forces, others = channels
    stated = [text.strip().lower() for text in forces]
    force = _common([labels.FORCES.get(text) for text in stated])
    if force is None:
        listed = ", ".join(dict.fromkeys(forces))
        notes += [f"{name}: forces are taken to be in N, the file states {listed}"] if any(stated) else []
        return 1.0, 1.0
    arm = _common([_arm(text.strip().lower(), force) for text in others])
    size = 1.0 if arm is None else arm / unit
    return force, 1.0 if abs(size - 1.0) < 1e-3 else size


def _common(sizes: list[float | None]) -> float | None:
    """The only distinct value of a list; None if the values differ."""
    return next(iter(sizes), None) if len(set(sizes)) == 1 else None


def _arm(text: str, force: float) -> float | None:
    """The size in m of a unit of length, or of a unit of moments over one of forces (`force` N); None if unknown."""
    if text in labels.LENGTHS:
        return labels.LENGTHS[text]
    match = _MOMENT_UNIT.fullmatch(text)
    if match is None or match["force"] not in labels.FORCES or match["length"] not in labels.LENGTHS:
        return None
    return labels.FORCES[match["force"]] * labels.LENGTHS[match["length"]] / force


def _without_moments(force: np.ndarray, corners: np.ndarray, origin: np.ndarray) -> np.ndarray:
    """The centre of pressure if all moments were zero, in the units of the file.

    There, the force's line of action through the plate's sensor meets the surface.
    """
    x, y = corners[0] - corners[1], corners[0] - corners[3]
    z = np.cross(x, y)
    axes = np.stack([axis / np.linalg.norm(axis) for axis in (x, np.cross(z, x), z)])
    rise = (-origin if origin[2] > 0 else origin) @ axes  # from the sensor to the middle of the surface (z is down)
    with np.errstate(divide="ignore", invalid="ignore"):
        along = force * (rise @ axes[2] / (force @ axes[2]))[:, None]
    return corners.mean(axis=0) - rise + along
