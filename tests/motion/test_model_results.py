"""Angles, moments and powers of a body model among the trajectories, as Plug-in Gait writes them."""

import dataclasses

import numpy as np
import pytest

from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.walk import measure
from jaxgait.motion.readers import read_recording
from jaxgait.motion.readers.model_results import is_result
from tests.motion import walker

W = walker.walker()
TILT = 5.0
"""Forward tilt of the pelvis in deg."""
X = {
    "RPelvisAngles": np.full(W.time.size, TILT),
    "RHipAngles": np.degrees(W.thigh) + TILT,
    "RKneeAngles": np.degrees(W.knee),
    "RAnkleAngles": np.degrees(W.ankle),
    "RHipMoment": 500.0 * np.sin(W.time),
    "RHipPower": np.sin(W.time),
}
RESULTS = {k: np.column_stack([x, 0.0 * x + 3.0, 0.0 * x - 17.0]) for k, x in X.items()}
DEGREES = [*(["deg"] * 12), *(["N.mm/kg"] * 3), *(["W/kg"] * 3)]


def table(trajectories: dict, separator: str, delimiter: str = ",") -> str:
    labels = delimiter.join(["time", *(f"{k}{separator}{axis}" for k in trajectories for axis in "XYZ")])
    rows = np.column_stack([W.time, *trajectories.values()])
    return "\n".join([labels, *(delimiter.join(f"{x:.6f}" for x in row) for row in rows)]) + "\n"


def section(trajectories: dict, units: list[str], heading: str) -> str:
    lines = [heading, f"{W.rate:g}", ",," + ",,,".join(f"Jo:{k}" for k in trajectories)]
    lines += ["Frame,Sub Frame," + ",".join("X,Y,Z" for _ in trajectories), ",," + ",".join(units)]
    rows = np.concatenate([*trajectories.values()], axis=1)
    lines += [f"{i + 1},0," + ",".join(f"{x:.6f}" for x in row) for i, row in enumerate(rows)]
    return "\n".join(lines) + "\n"


def as_metres(trajectories: dict) -> walker.Walker:
    """For a file in mm that has these numbers."""
    return dataclasses.replace(W, markers={k: x / 1000.0 for k, x in trajectories.items()})


IN_MM = {k: 1000.0 * x for k, x in W.markers.items()}
FILES = {
    "dots.csv": (table(RESULTS, "."), False),
    "underscores.txt": (table(RESULTS, "_", "\t"), False),
    "markers.csv": (table(W.markers | RESULTS, "."), True),
    "angles.mot": ("inDegrees=yes\nendheader\n" + table(RESULTS, "_", "\t"), False),
    "angles.trc": (walker.trc(as_metres(RESULTS)), False),
    "markers.trc": (walker.trc(as_metres(IN_MM | RESULTS)), True),
    "outputs.csv": (section(RESULTS, DEGREES, "Model Outputs"), False),
    "exported.csv": (section(IN_MM | RESULTS, ["mm"] * 3 * len(IN_MM) + DEGREES, "Trajectories"), True),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_angles_of_plug_in_gait_are_read_as_angles_and_not_as_markers(name, tmp_path):
    """They were markers, beside which a body had no size, or which made no leg."""
    text, markers = FILES[name]
    (tmp_path / name).write_text(text)
    found = read_recording(tmp_path / name)
    assert set(found.markers) == (set(W.markers) if markers else set())
    for ours, right in (
        ("hip_flexion_r", W.thigh + np.radians(TILT)),
        ("knee_angle_r", W.knee),
        ("ankle_angle_r", W.ankle),
    ):
        np.testing.assert_allclose(found.angles[ours], right, atol=1e-5)
    np.testing.assert_allclose(found.angles["pelvis_tilt"], -np.radians(TILT), atol=1e-6)
    assert any("RKneeAngles" in line and "(knee_angle_r)" in line for line in found.notes)
    walk = measure([found], speed=None if markers else W.speed)
    alone = measure([dataclasses.replace(found, markers={})], speed=W.speed)
    for angle in ("thigh_rad", "knee_rad"):
        np.testing.assert_allclose(alone.mean[angle], walk.mean[angle], atol=np.radians(1.5))


def test_a_c3d_file_has_them_too(tmp_path):
    walker.c3d(W, tmp_path / "walk.c3d")
    found = read_recording(tmp_path / "walk.c3d")
    np.testing.assert_allclose(found.angles["knee_angle_r"], W.knee, atol=1e-6)


def test_angles_are_used_with_a_speed_where_markers_make_no_leg(tmp_path):
    unknown = {f"M{i}": x for i, x in enumerate(W.markers.values())}
    (tmp_path / "walk.csv").write_text(table(unknown | RESULTS, "."))
    found = read_recording(tmp_path / "walk.csv")
    with pytest.raises(MotionFormatError, match=r"--speed 1\.2\), and the joint angles of the file are used"):
        measure([found])
    assert measure([found], speed=W.speed).speed == W.speed


@pytest.mark.parametrize(
    ("name", "expected"),
    [("LKneeAngles", True), ("RAnkleMoment", True), ("GRF_force", True), ("LEFT_ANGLE", True), ("Power", True)]
    + [(name, False) for name in ("LTriangle", "RThighTriangle", "Quadrangle", "RECTANGLE", "LKNE")],
)
def test_results_of_a_model_are_told_from_markers_by_their_last_word(name, expected):
    assert is_result(name) == expected
