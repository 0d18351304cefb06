"""Reads a C3D file with ezc3d into arrays: a script that `motion.readers.c3d` runs in a process with limits.

    python c3d_process.py FILE FOLDER BYTES

It imports nothing of this package, in order to start quickly.
"""

import json
import pathlib
import struct
import sys

import ezc3d
import numpy as np

PEOPLE = {"mass_kg": (2.0, 300.0), "height_m": (0.4, 2.5)}
"""Plausible masses in kg and heights in m."""
UNREADABLE = 3
"""Exit code with a reason in the last line of the output, as in `motion.readers.c3d`."""


def limited(size: int) -> None:
    """Limits the address space in bytes, where the system can."""
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def value(parameters, group: str, name: str, default=None):
    """The value of a parameter, or the default."""
    return parameters.get(group, {}).get(name, {}).get("value", default)


def text(parameters, group: str, name: str) -> list[str]:
    """The texts of a parameter and of those that continue it (LABELS, LABELS2, ...)."""
    parts, more = list(value(parameters, group, name, [])), 2
    while value(parameters, group, f"{name}{more}") is not None:
        parts += list(value(parameters, group, f"{name}{more}"))
        more += 1
    return [str(part) for part in parts]


def first(parameters, group: str, *names: str):
    """The first entry of the first parameter that has one."""
    for name in names:
        found = value(parameters, group, name)
        if found is not None and len(found):
            return found[0]
    return None


def subject(parameters) -> dict:
    """Name, mass in kg and height in m, which vendors store in several places."""
    found = {}
    for group in ("SUBJECTS", "SUBJECT", "PROCESSING"):
        for key, names in (("mass_kg", ("BODYMASS", "Bodymass", "WEIGHT", "MASS")), ("height_m", ("HEIGHT", "Height"))):
            number = first(parameters, group, *names)
            if key not in found and isinstance(number, int | float | np.number):
                # Heights may be in m, cm or mm: the first unit that makes them plausible counts.
                sizes = [float(number) / unit for unit in ((1.0, 100.0, 1000.0) if key == "height_m" else (1.0,))]
                likely = [size for size in sizes if PEOPLE[key][0] <= size <= PEOPLE[key][1]]
                found |= {key: likely[0]} if likely else {}
        name = first(parameters, group, "NAMES", "NAME")
        if name and "name" not in found:
            found["name"] = str(name)[:80]
    return found


def events(parameters) -> list:
    """Side, label and time in s of the marked events."""
    times = np.asarray(value(parameters, "EVENT", "TIMES", []))
    labels, contexts = text(parameters, "EVENT", "LABELS"), text(parameters, "EVENT", "CONTEXTS")
    if times.shape[:1] != (2,):
        return []
    minutes, rest = times.reshape(2, -1)  # a single event may lack the second dimension
    seconds = 60.0 * minutes + rest
    count = min(len(labels), seconds.size)
    contexts = contexts + [""] * count
    return [[contexts[i].strip().lower(), labels[i].strip(), float(seconds[i])] for i in range(count)]


def computed(parameters, labels: list[str]) -> list[bool]:
    """Whether each point was computed by a model (angles, moments and the like), according to the file."""
    kinds = {"ANGLES", "FORCES", "MOMENTS", "POWERS", "SCALARS"} & set(parameters.get("POINT", {}))
    listed = {name.strip() for kind in kinds for name in text(parameters, "POINT", kind)} - {""}
    return [label.strip() in listed for label in labels]


CHANNELS = {1: (3, 2), 2: (3, 3), 3: (8, 0)}
"""By type of plate, how many channels of forces there are, and of coordinates (type 1) or moments (type 2) after them.

Type 4 is missing: its channels are calibrated from volts.
"""


def channels(parameters, plate: int) -> list[list[str]]:
    """The units of a plate's channels of forces, and those of its coordinates or moments."""
    numbers, types = value(parameters, "FORCE_PLATFORM", "CHANNEL"), value(parameters, "FORCE_PLATFORM", "TYPE")
    units = text(parameters, "ANALOG", "UNITS")
    forces, others = (0, 0) if numbers is None or types is None else CHANNELS.get(int(types[plate]), (0, 0))
    used = np.asarray(numbers, int)[: forces + others, plate].tolist() if forces else []
    stated = [units[n - 1] if 0 < n <= len(units) else "" for n in used]
    return [stated[:forces], stated[forces:]]


def first_frame(parameters, header: int) -> int:
    """The number of the first frame; `header` is that of the header, which has 16 bits. Both are counted from 0."""
    words = np.ravel(value(parameters, "TRIAL", "ACTUAL_START_FIELD", [])).astype(int) % 2**16
    actual = int(words[0] + 2**16 * words[1]) - 1 if words.size > 1 else header
    return actual if actual >= 0 and (actual - header) % 2**16 == 0 else header


def promised(file: str) -> int | None:
    """Number of frames that the header states; None if it is too large for the header."""
    with open(file, "rb") as stream:
        header = stream.read(512)
    start, end = struct.unpack_from("<HH", header, 6)
    return end - start + 1 if start <= end < 65535 else None


def read(file: str):
    """The file with its force plates; failing that, with a warning, without them, or else despite bad formatting."""
    try:
        return ezc3d.c3d(file, extract_forceplat_data=True), []
    except Exception as error:
        reason = str(error).splitlines()[0][:150] if str(error) else type(error).__name__
    try:
        return ezc3d.c3d(file), [f"force plates cannot be used: {reason}"]
    except Exception:
        return ezc3d.c3d(file, ignore_bad_formatting=True), [f"the file violates the C3D standard: {reason}"]


def problems(file: str, frames: int, rate: float, stated: float) -> list[str]:
    """Contradictions between the header, the data and the parameters; rates in Hz."""
    count, found = promised(file), []
    if count is not None and frames < count:
        found.append(f"the file ends early: {frames} of {count} frames are there")
    if stated > 0 and abs(stated - rate) > 0.01 * rate:
        found.append(f"the header states {stated:g} Hz, the parameter POINT:RATE {rate:g} Hz: the latter is used")
    return found


def content(file: str) -> tuple[dict, dict]:
    """The file's contents other than arrays, and its arrays."""
    trial, warnings = read(file)
    parameters, data = trial["parameters"], trial["data"]
    points = np.moveaxis(np.asarray(data["points"])[:3], 0, -1)
    points = np.swapaxes(points, 0, 1)
    arrays, plates = {"points": points.astype(float)}, data.get("platform", []) or []
    for i, plate in enumerate(plates):
        arrays[f"force{i}"] = np.asarray(plate["force"], float).T
        arrays[f"point{i}"] = np.asarray(plate["center_of_pressure"], float).T
        arrays[f"corners{i}"] = np.asarray(plate["corners"], float).T
        arrays[f"origin{i}"] = np.asarray(plate["origin"], float)
    stated = float(trial["header"]["points"]["frame_rate"])
    rate = float(np.ravel(value(parameters, "POINT", "RATE", [stated]))[0]) or stated
    labels = text(parameters, "POINT", "LABELS")
    found = {
        "rate": rate,
        "first": first_frame(parameters, int(trial["header"]["points"]["first_frame"])),
        "labels": labels,
        "computed": computed(parameters, labels),
        "unit": str(first(parameters, "POINT", "UNITS") or ""),
        "angle_unit": str(first(parameters, "POINT", "ANGLE_UNITS") or ""),
        "analog_rate": rate * max(1, round(np.shape(data["analogs"])[-1] / max(1, points.shape[0]))),
        "plates": len(plates),
        "channels": [channels(parameters, i) for i in range(len(plates))],
        "events": events(parameters),
        "subject": subject(parameters),
        "warnings": warnings + problems(file, points.shape[0], rate, stated),
    }
    return found, arrays


def write(folder: pathlib.Path, found: dict, arrays: dict) -> None:
    """Writes `found.json` and `arrays.npz`."""
    (folder / "found.json").write_text(json.dumps(found), encoding="utf-8")
    np.savez(folder / "arrays.npz", **arrays)


if __name__ == "__main__":
    limited(int(sys.argv[3]))
    try:
        parts = content(sys.argv[1])
    except ImportError:  # (of a library that is imported late)
        raise
    except (Exception, MemoryError) as fault:
        print((str(fault).splitlines() or [type(fault).__name__])[0])
        sys.exit(UNREADABLE)
    write(pathlib.Path(sys.argv[2]), *parts)
