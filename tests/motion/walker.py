"""A synthetic walker with known planar angles, and the files that laboratories would have written of it."""

from __future__ import annotations

import dataclasses
import pathlib

import numpy as np

from jaxgait.motion.embedded import gait_record
from jaxgait.motion.recording import Recording

THIGH, SHANK = 0.42, 0.41
WIDTH, DEPTH = 0.25, 0.15
"""Of the pelvis: distance of the ASIS, and from their middle to that of the PSIS, in m."""
MASS = 70.0


@dataclasses.dataclass(frozen=True)
class Walker:
    """Markers in m (x forward, y up, z right) and what they must give back."""

    time: np.ndarray
    rate: float
    markers: dict[str, np.ndarray]
    thigh: np.ndarray
    knee: np.ndarray
    ankle: np.ndarray
    period: float
    speed: float
    hip: np.ndarray
    force: np.ndarray
    """Ground reaction on the right foot in N, forward and upward."""


def walker(rate: float = 100.0, duration: float = 4.0, treadmill: bool = False, seed: int | None = None) -> Walker:
    """A walker after the Fourier series of the embedded reference gait; `seed`: with 1 mm of noise on every marker."""
    record = gait_record("rajagopal_1.26ms")
    period, speed = record["period_T_s"], record["speed_m_s"]
    time = np.arange(int(duration * rate)) / rate
    signal = lambda name, t: _series(record["signals"][name], t, period)
    markers: dict[str, np.ndarray] = {}
    for side, sign, late in (("R", 1.0, 0.0), ("L", -1.0, 0.5 * period)):
        t = time + late
        way = (0.0 if treadmill else speed) * time + signal("hip_x_m", time)
        hip = np.stack([way, signal("hip_y_m", time)], axis=1)
        thigh, knee, ankle = (signal(k, t) for k in ("thigh_rad", "knee_rad", "ankle_rad"))
        _leg(markers, side, sign, hip, thigh, thigh - knee, thigh - knee + ankle)
        if side == "R":
            kept = hip, thigh, knee, ankle
    if seed is not None:
        noise = np.random.default_rng(seed)
        markers = {k: x + 1e-3 * noise.standard_normal(x.shape) for k, x in markers.items()}
    hip, thigh, knee, ankle = kept
    force = np.stack([signal("ground_x_N", time), np.maximum(0.0, signal("ground_y_N", time))], axis=1)
    stance = (time % period) < 0.64 * period
    return Walker(time, rate, markers, thigh, knee, ankle, period, speed, hip, force * stance[:, None])


def _series(series: dict, t: np.ndarray, period: float) -> np.ndarray:
    phase = 2 * np.pi * np.outer(t / period, np.arange(1, len(series["a"]) + 1))
    return series["a0"] + np.cos(phase) @ series["a"] + np.sin(phase) @ series["b"]


def _leg(
    markers: dict, side: str, sign: float, hip: np.ndarray, thigh: np.ndarray, shank: np.ndarray, foot: np.ndarray
):
    """Markers of one leg, and of its side of the pelvis, so that Harrington's regression gives the hip."""
    lateral = sign * (0.33 * WIDTH + 0.0073)
    middle = hip + np.array([0.24 * DEPTH + 0.0099, 0.30 * WIDTH + 0.0109])
    deep = lambda p, z: np.column_stack([p, np.full(p.shape[0], z)])
    along = lambda a: np.column_stack([np.sin(a), -np.cos(a)])
    ahead = lambda a: np.column_stack([np.cos(a), np.sin(a)])
    knee = hip + THIGH * along(thigh)
    ankle = knee + SHANK * along(shank)
    sole = ankle + 0.07 * along(foot)
    markers[f"{side}ASI"] = deep(middle, sign * WIDTH / 2)
    markers[f"{side}PSI"] = deep(middle - np.array([DEPTH, 0.0]), sign * 0.04)
    for name, centre in (("KNE", knee), ("ANK", ankle)):
        markers[f"{side}{name}"] = deep(centre, lateral + sign * 0.05)
        markers[f"{side}{name}M"] = deep(centre, lateral - sign * 0.05)
    markers[f"{side}HEE"] = deep(sole - 0.06 * ahead(foot) + 0.03 * along(foot + np.pi), lateral)
    markers[f"{side}TOE"] = deep(sole + 0.14 * ahead(foot) + 0.03 * along(foot + np.pi), lateral)
    shin = knee + 0.2 * along(shank)
    markers[f"{side}TIB"] = deep(shin + 0.03 * ahead(shank), lateral + sign * 0.06)
    markers[f"{side}TIAP"] = deep(shin - 0.05 * along(shank) + 0.05 * ahead(shank), lateral)
    markers[f"{side}TIAD"] = deep(shin + 0.08 * along(shank) - 0.03 * ahead(shank), lateral + sign * 0.02)


LABS = {
    "y up, walking along +x": np.eye(3),
    "z up, walking along +x": np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]]),
    "z up, walking along -y": np.array([[0, 0, -1.0], [-1.0, 0, 0], [0, 1.0, 0]]),
    "y up, walking along -x": np.diag([-1.0, 1.0, -1.0]),
    "x up, walking along z": np.array([[0, 1.0, 0], [0, 0, 1.0], [1.0, 0, 0]]),
}
"""Axes of laboratories: columns are forward, up and right of the walker."""


def turned(w: Walker, lab: np.ndarray) -> Walker:
    """The walker in the axes of a laboratory."""
    return dataclasses.replace(w, markers={k: x @ lab.T for k, x in w.markers.items()})


def trc(w: Walker, unit: float = 1000.0, digits: int = 6, newline: str = "\n", time_digits: int = 6) -> str:
    """A TRC file in mm."""
    names = list(w.markers)
    lines = ["PathFileType\t4\t(X/Y/Z)\twalk.trc"]
    lines += ["DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames"]
    lines += [f"{w.rate}\t{w.rate}\t{w.time.size}\t{len(names)}\tmm\t{w.rate}\t1\t{w.time.size}"]
    lines += ["Frame#\tTime\t" + "\t\t\t".join(names) + "\t\t"]
    lines += ["\t\t" + "\t".join(f"{a}{i + 1}" for i in range(len(names)) for a in "XYZ"), ""]
    table = unit * np.concatenate([w.markers[k] for k in names], axis=1)
    cell = lambda x: "" if np.isnan(x) else f"{x:.{digits}f}"
    for i, row in enumerate(table):
        lines.append(f"{i + 1}\t{w.time[i]:.{time_digits}f}\t" + "\t".join(map(cell, row)))
    return newline.join(lines) + newline


def csv(w: Walker, delimiter: str = ",", comma: bool = False) -> str:
    """A CSV file in m, with labels such as RASI.X."""
    lines = [delimiter.join(["time", *(f"{k}.{a}" for k in w.markers for a in "XYZ")])]
    table = np.column_stack([w.time, *w.markers.values()])
    cell = lambda x: f"{x:.7f}".replace(".", "," if comma else ".")
    return "\n".join([*lines, *(delimiter.join(map(cell, row)) for row in table)])


def vicon(w: Walker | Recording) -> str:
    """A CSV file as Vicon Nexus exports it: names over axes, units in a line of their own, no times."""
    lines = ["Trajectories", f"{w.rate:g}", ",," + ",,,".join(f"Jo:{k}" for k in w.markers)]
    lines += ["Frame,Sub Frame," + ",".join("X,Y,Z" for _ in w.markers), ",," + ",".join("mm,mm,mm" for _ in w.markers)]
    table = 1000.0 * np.concatenate(list(w.markers.values()), axis=1)
    cell = lambda x: "" if np.isnan(x) else f"{x:.4f}"
    lines += [f"{i + 1},0," + ",".join(map(cell, row)) for i, row in enumerate(table)]
    return "\n".join(lines) + "\n"


def nexus(found: Recording, on_the_plates: bool = True) -> str:
    """A CSV file as Vicon Nexus exports it, with force plates among the devices.

    Args:
        found: with markers and plates, whose samples per frame are a whole number.
        on_the_plates: whether forces are those on the plates, as Nexus has them, and not those on the person.
    """
    ratio, count = round(found.forces[0].time.size / found.frames), len(found.forces)
    outputs = [f"Force Plate {i + 1} - {what},," for i in range(count) for what in ("Force", "Moment", "CoP")]
    lines = ["Devices", f"{ratio * found.rate:g}", ",," + ",".join(outputs)]
    lines += ["Frame,Sub Frame" + ",Fx,Fy,Fz,Mx,My,Mz,Cx,Cy,Cz" * count, "," + ",N,N,N,N.mm,N.mm,N.mm,mm,mm,mm" * count]
    sign = -1.0 if on_the_plates else 1.0
    plates = [(sign * x.force, 0.0 * x.force, 1000.0 * np.nan_to_num(x.point)) for x in found.forces]
    for i, row in enumerate(np.concatenate([column for plate in plates for column in plate], axis=1)):
        lines.append(f"{i // ratio + 1},{i % ratio}," + ",".join(f"{x:.4f}" for x in row))
    whole = {k: x for k, x in found.markers.items() if "copy" not in k}
    return "\n".join(lines) + "\n\n" + vicon(dataclasses.replace(found, markers=whole))


def qualisys(w: Walker) -> str:
    """A TSV file as Qualisys exports it, without times."""
    lines = [f"NO_OF_FRAMES\t{w.time.size}", f"NO_OF_MARKERS\t{len(w.markers)}", f"FREQUENCY\t{w.rate:g}"]
    lines += ["DATA_INCLUDED\t3D", "MARKER_NAMES\t" + "\t".join(w.markers)]
    table = 1000.0 * np.concatenate(list(w.markers.values()), axis=1)
    return "\n".join([*lines, *("\t".join(f"{x:.4f}" for x in row) for row in table)]) + "\n"


def optitrack(w: Walker) -> str:
    """A CSV file as Motive exports it: lines of types, names, identifiers and quantities over the axes."""
    over = lambda first, texts: f",{first}," + ",".join(text for text in texts for _ in "XYZ")
    lines = [f"Format Version,1.23,Take Name,walk,Export Frame Rate,{w.rate:.6f},Length Units,Meters", ""]
    lines += [over("Type", ["Marker"] * len(w.markers)), over("Name", [f"Jo:{k}" for k in w.markers])]
    lines += [over("ID", [f"{i:016X}" for i in range(len(w.markers))]), over("", ["Position"] * len(w.markers))]
    lines += ["Frame,Time (Seconds)," + ",".join("X,Y,Z" for _ in w.markers)]
    table = np.concatenate(list(w.markers.values()), axis=1)
    lines += [f"{i},{w.time[i]:.6f}," + ",".join(f"{x:.7f}" for x in row) for i, row in enumerate(table)]
    return "\n".join(lines) + "\n"


def motive_skeleton(w: Walker, quaternions: bool) -> str:
    """An export of Motive with a bone that has the name of a marker, its rotation before its position."""
    kinds = ["Rotation"] * (4 if quaternions else 3) + ["Position"] * 3
    more = [
        ["Bone"] * len(kinds),
        ["Jo:RToe"] * len(kinds),
        ["1"] * len(kinds),
        kinds,
        [*"XYZW"[: len(kinds) - 3], *"XYZ"],
    ]
    lines = optitrack(w).splitlines()
    for i, cells in enumerate(more):
        at = lines[2 + i].split(",")
        lines[2 + i] = ",".join([*at[:2], *cells, *at[2:]])
    for i in range(7, len(lines)):
        at = lines[i].split(",")
        lines[i] = ",".join([*at[:2], *(f"{0.1 * k:.1f}" for k in range(len(kinds))), *at[2:]])
    return "\n".join(lines) + "\n"


def visual3d(w: Walker) -> str:
    """A text file as Visual3D exports it: lines of files, signals, types and folders over the components."""
    over = lambda first, text: f"\t{first}" + f"\t{text}" * 3 * len(w.markers)
    lines = [over("walk.c3d", "walk.c3d"), "\tTIME\t" + "\t".join(k for k in w.markers for _ in "XYZ")]
    lines += [over("FRAME_NUMBERS", "TARGET"), over("ORIGINAL", "PROCESSED")]
    lines += ["ITEM\t0" + "\tX\tY\tZ" * len(w.markers)]
    table = np.concatenate(list(w.markers.values()), axis=1)
    lines += [f"{i + 1}\t{w.time[i]:.5f}\t" + "\t".join(f"{x:.7f}" for x in row) for i, row in enumerate(table)]
    return "\n".join(lines) + "\n"


def mot(w: Walker, degrees: bool = True) -> str:
    """A MOT file of joint angles, whose hip is where gait2392 has it."""
    factor = 180 / np.pi if degrees else 1.0
    columns = {
        "time": w.time,
        "pelvis_tilt": 0 * w.time,
        "pelvis_tx": w.hip[:, 0] + 0.0707,
        "pelvis_ty": w.hip[:, 1] + 0.0661,
        "hip_flexion_r": factor * w.thigh,
        "knee_angle_r": -factor * w.knee,
        "ankle_angle_r": factor * w.ankle,
    }
    stated = "yes" if degrees else "no"
    head = f"Coordinates\nversion=1\nnRows={w.time.size}\nnColumns={len(columns)}\ninDegrees={stated}\nendheader\n"
    rows = "\n".join("\t".join(f"{x:.9f}" for x in row) for row in np.column_stack(list(columns.values())))
    return head + "\t".join(columns) + "\n" + rows + "\n"


def forces(w: Walker) -> str:
    """A MOT file of the ground reaction on the right foot, at ten times the rate, and its centre of pressure."""
    time = np.arange(w.time.size * 10) / (10 * w.rate)
    along = lambda x: np.interp(time, w.time, x)
    foot = 0.5 * (w.markers["RHEE"] + w.markers["RTOE"])
    columns = {"time": time, "ground_force_vx": along(w.force[:, 0]), "ground_force_vy": along(w.force[:, 1])}
    columns |= {"ground_force_vz": 0 * time, "ground_force_px": along(foot[:, 0]), "ground_force_py": 0 * time}
    columns |= {"ground_force_pz": along(foot[:, 2])}
    head = f"forces\nversion=1\nnRows={time.size}\nnColumns={len(columns)}\ninDegrees=yes\nendheader\n"
    rows = "\n".join("\t".join(f"{x:.6f}" for x in row) for row in np.column_stack(list(columns.values())))
    return head + "\t".join(columns) + "\n" + rows + "\n"


def pressed(w: Walker, rate: float | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times in s, the force in N on the right foot and its centre of pressure in m, from heel to toe."""
    time = np.arange(int(w.time.size * (rate or w.rate) / w.rate)) / (rate or w.rate)
    along = lambda x: np.stack([np.interp(time, w.time, column) for column in x.T], axis=1)
    share = np.clip((time % w.period) / (0.64 * w.period), 0.0, 1.0)[:, None]
    heel, toe = along(w.markers["RHEE"]), along(w.markers["RTOE"])
    point = (heel + share * (toe - heel)) * np.array([1.0, 0.0, 1.0])
    return time, np.column_stack([along(w.force), 0 * time]), point


def c3d(w: Walker, path: pathlib.Path, unit: float = 1000.0, label: str = "mm", turns: int = 0) -> None:
    """A C3D file with the angle and moment of a knee among its points, and a plate under the right foot at 1000 Hz.

    Args:
        w: the walker, z up in the file.
        path: of the file.
        unit: how many of the file's unit a metre has.
        label: what the file calls that unit.
        turns: by how many corners the plate is described wrongly.
    """
    import ezc3d

    lab = lambda x: x @ np.array([[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]]).T
    trial = ezc3d.c3d()
    point, analog, plate = (trial["parameters"][k] for k in ("POINT", "ANALOG", "FORCE_PLATFORM"))
    more = {"RKneeAngles": np.degrees(w.knee), "RKneeMoment": 6e4 * np.sin(w.time)}
    point["RATE"]["value"] = [w.rate]
    point["LABELS"]["value"] = [*w.markers, *more]
    point["UNITS"]["value"] = [label]
    points = np.ones((4, len(w.markers) + len(more), w.time.size))
    points[:3] = np.stack(
        [unit * lab(x).T for x in w.markers.values()] + [np.tile(x, (3, 1)) for x in more.values()], 1
    )
    trial["data"]["points"] = points
    trial.add_parameter("SUBJECTS", "NAMES", ["Jo"])
    _, force, at = pressed(w, 1000.0)
    corners = np.array([[6.0, -0.6, 0], [-1.0, -0.6, 0], [-1.0, 0.6, 0], [6.0, 0.6, 0]])
    own = np.diag([1.0, -1.0, -1.0])  # plates have z downward
    on_plate, arm = lab(force) @ own, (lab(at) - corners.mean(axis=0)) @ own - np.array([0, 0, 0.04])
    channels = np.column_stack([on_plate, unit * np.cross(arm, on_plate)])
    trial["data"]["analogs"] = channels.T[None]
    named = {"RATE": [1000.0], "LABELS": ["Fx", "Fy", "Fz", "Mx", "My", "Mz"], "UNITS": ["N"] * 6, "GEN_SCALE": [1.0]}
    for key, value in (named | {"SCALE": [1.0] * 6, "OFFSET": [0] * 6}).items():
        analog[key]["value"] = value
    for key, value in (("USED", [1]), ("TYPE", [2]), ("CHANNEL", 1 + np.arange(6)[:, None])):
        plate[key]["value"] = np.asarray(value, int)
    plate["CORNERS"]["value"] = unit * np.roll(corners, turns, axis=0).T[:, :, None]
    plate["ORIGIN"]["value"] = unit * np.array([[0.0], [0.0], [0.04]])
    trial.write(str(path))
