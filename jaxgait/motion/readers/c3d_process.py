"""Reads a C3D file with ezc3d into arrays: run as a script by `motion.readers.c3d`, in a process with limits.

    python -I c3d_process.py FILE FOLDER BYTES

Imports nothing of this package, so that it starts at once.
"""

import json
import pathlib
import sys

import ezc3d
import numpy as np

PEOPLE = {"mass_kg": (2.0, 300.0), "height_m": (0.4, 2.5)}
"""Plausible masses in kg and heights in m."""
UNREADABLE = 3
"""Exit code with a reason in the last line of the output."""


def limited(size: int) -> None:
    """Limits the address space in bytes, where the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def value(parameters, group: str, name: str, default=None):
    """The value of a parameter, or the default."""
    return parameters.get(group, {}).get(name, {}).get("value", default)


def text(parameters, group: str, name: str) -> list[str]:
    """A parameter of texts, in parts for long lists (LABELS, LABELS2, ...)."""
    parts, more = list(value(parameters, group, name, [])), 2
    while value(parameters, group, f"{name}{more}") is not None:
        parts += list(value(parameters, group, f"{name}{more}"))
        more += 1
    return [str(part) for part in parts]


def first(parameters, group: str, *names: str):
    """The first entry of the first of some parameters that has one."""
    for name in names:
        found = value(parameters, group, name)
        if found is not None and len(found):
            return found[0]
    return None


def subject(parameters) -> dict:
    """Name, mass in kg and height in m, from wherever vendors put them."""
    found = {}
    for group in ("SUBJECTS", "SUBJECT", "PROCESSING"):
        for key, names in (("mass_kg", ("BODYMASS", "Bodymass", "WEIGHT", "MASS")), ("height_m", ("HEIGHT", "Height"))):
            number = first(parameters, group, *names)
            if key not in found and isinstance(number, int | float | np.number):
                # Heights are in m, cm or mm; what no person has is a number of something else.
                sizes = [float(number) / unit for unit in ((1.0, 100.0, 1000.0) if key == "height_m" else (1.0,))]
                likely = [size for size in sizes if PEOPLE[key][0] <= size <= PEOPLE[key][1]]
                found |= {key: likely[0]} if likely else {}
        name = first(parameters, group, "NAMES", "NAME")
        if name and "name" not in found:
            found["name"] = str(name)[:80]
    return found


def events(parameters) -> list:
    """Side, label and time in s of the marked events."""
    times = value(parameters, "EVENT", "TIMES")
    labels, contexts = text(parameters, "EVENT", "LABELS"), text(parameters, "EVENT", "CONTEXTS")
    if times is None or np.ndim(times) != 2:
        return []
    seconds = 60.0 * np.asarray(times)[0] + np.asarray(times)[-1]
    count = min(len(labels), seconds.size)
    contexts = contexts + [""] * count
    return [[contexts[i].strip().lower(), labels[i].strip(), float(seconds[i])] for i in range(count)]


def read(file: str):
    """The file with its force plates; with a note without them, or against the standard, if it cannot be read so."""
    try:
        return ezc3d.c3d(file, extract_forceplat_data=True), []
    except Exception as error:
        reason = str(error).splitlines()[0][:150] if str(error) else type(error).__name__
    try:
        return ezc3d.c3d(file), [f"force plates cannot be used: {reason}"]
    except Exception:
        return ezc3d.c3d(file, ignore_bad_formatting=True), [f"the file is not as the standard wants it: {reason}"]


def main(file: str, folder: pathlib.Path) -> None:
    """Writes `found.json` and `arrays.npz`."""
    trial, notes = read(file)
    parameters, data = trial["parameters"], trial["data"]
    points = np.moveaxis(np.asarray(data["points"])[:3], 0, -1)
    points = np.swapaxes(points, 0, 1)
    arrays, plates = {"points": points.astype(float)}, []
    for plate in data.get("platform", []) or []:
        arrays[f"force{len(plates)}"] = np.nan_to_num(np.asarray(plate["force"], float).T)
        arrays[f"point{len(plates)}"] = np.asarray(plate["center_of_pressure"], float).T
        plates.append({"unit": str(plate.get("unit_position", ""))})
    rate = float(np.ravel(value(parameters, "POINT", "RATE", [trial["header"]["points"]["frame_rate"]]))[0])
    found = {
        "rate": rate,
        "first": int(trial["header"]["points"]["first_frame"]),
        "labels": text(parameters, "POINT", "LABELS"),
        "unit": str(first(parameters, "POINT", "UNITS") or ""),
        "analog_rate": float(np.ravel(value(parameters, "ANALOG", "RATE", [rate]))[0]) or rate,
        "plates": plates,
        "events": events(parameters),
        "subject": subject(parameters),
        "notes": notes,
    }
    (folder / "found.json").write_text(json.dumps(found), encoding="utf-8")
    np.savez(folder / "arrays.npz", **arrays)  # type: ignore[arg-type]


if __name__ == "__main__":
    limited(int(sys.argv[3]))
    try:
        main(sys.argv[1], pathlib.Path(sys.argv[2]))
    except (Exception, MemoryError) as fault:
        print((str(fault).splitlines() or [type(fault).__name__])[0])
        sys.exit(UNREADABLE)
