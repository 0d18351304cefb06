"""Readers of ground forces and of the units of columns: whatever the unit in the file, they become N, m and rad."""

import dataclasses

import numpy as np
import pytest

from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.walk import measure
from jaxgait.motion.readers import read_recording
from jaxgait.motion.readers.labels import classify, with_unloaded_zeros
from jaxgait.motion.recording import GroundReaction, with_forces
from tests.motion import walker
from tests.motion.test_capture import recording as walker_recording

W = walker.walker(duration=0.6)


def _read(tmp_path, text, name):
    path = tmp_path / name
    path.write_text(text)
    return read_recording(path)


def test_forces_are_told_from_markers_and_angles(tmp_path):
    found = _read(tmp_path, walker.forces(W), "grf.mot")
    (force,) = found.forces
    assert (force.name, found.rate, found.markers, found.angles) == ("ground_force", 1000, {}, {})
    np.testing.assert_allclose(force.force[::10, 1], W.force[:, 1], atol=1e-5)
    unloaded = np.abs(force.force).max(axis=1) == 0
    assert np.isnan(force.point[unloaded]).all() and np.isfinite(force.point[~unloaded]).all()


@pytest.mark.parametrize("row", [False, True])
@pytest.mark.parametrize(("force", "point"), [("N", "m"), ("kN", "mm"), ("kN", "cm"), ("lbf", "m")])
def test_forces_are_in_the_units_of_their_labels_or_of_a_row_of_units(tmp_path, force, point, row):
    newtons, metres = {"N": 1.0, "kN": 1e-3, "lbf": 1 / 4.4482216}[force], {"m": 1.0, "cm": 1e2, "mm": 1e3}[point]
    columns = [("Fx", force), ("Fy", force), ("Fz", force), ("COPx", point), ("COPy", point)]
    labels = ["time", *(name if row else f"{name}_{unit}" for name, unit in columns)]
    lines = [labels, ["s", *(unit for _, unit in columns)]] if row else [labels]
    values = np.tile([30.0 * newtons, 0.0, 700.0 * newtons, 0.25 * metres, 0.1 * metres], (50, 1))
    lines += [[f"{0.01 * i:.2f}", *map(repr, map(float, line))] for i, line in enumerate(values)]
    (plate,) = _read(tmp_path, "\n".join(map(",".join, lines)), "plate.csv").forces
    np.testing.assert_allclose(plate.force, np.tile([30.0, 0.0, 700.0], (50, 1)), rtol=1e-12)
    np.testing.assert_allclose(plate.point[:, :2], np.tile([0.25, 0.1], (50, 1)), rtol=1e-12)


def test_force_plates_as_qualisys_exports_them(tmp_path):
    names = [f"{what}_{axis}" for what in ("Force", "Moment", "COP") for axis in "XYZ"]
    lines = ["NO_OF_SAMPLES\t50", "FREQUENCY\t1000", "FORCE_PLATE_NAME\tForce-plate 1", "FORCE_PLATE_LENGTH\t600.000"]
    lines += ["\t".join(names), *["\t".join(["30", "0", "700", "1", "2", "3", "250", "100", "0"])] * 50]
    found = _read(tmp_path, "\n".join(lines), "walk_f_1.tsv")
    (plate,) = found.forces
    assert found.rate == 1000.0
    np.testing.assert_allclose([*plate.force[-1], *plate.point[-1]], [30.0, 0.0, 700.0, 0.25, 0.1, 0.0], rtol=1e-12)


def test_a_component_without_a_unit_has_that_of_the_others(tmp_path):
    lines = ["time,Fx (kN),Fy,Fz (kN),COPx (mm),COPy"] + [f"{0.01 * i:.2f},0.03,0,0.7,250,100" for i in range(50)]
    (plate,) = _read(tmp_path, "\n".join(lines), "plate.csv").forces
    np.testing.assert_allclose([*plate.force[-1], *plate.point[-1]], [30.0, 0.0, 700.0, 0.25, 0.1, 0.0], rtol=1e-12)


def test_a_plate_without_units_has_those_of_the_others(tmp_path):
    lines = ["time,1_vx_kN,1_vy,1_px_cm,1_pz,2_vx,2_vy,2_px,2_pz"]
    lines += [f"{0.01 * i:.2f},0.03,0.7,25,10,0.03,0.7,25,10" for i in range(50)]
    found = _read(tmp_path, "\n".join(lines), "walk.csv")
    for force in found.forces:
        np.testing.assert_allclose(force.force[9], [30, 700, 0])
        np.testing.assert_allclose(force.point[9], [0.25, 0, 0.1])
    assert "the force of 2 is taken to be in kN, like the others" in found.notes
    assert "the centre of pressure of 2 is taken to be in cm, like the others" in found.notes


@pytest.mark.parametrize("labels", ["1_vx_kN,1_vy_kN,2_vx_N,2_vy_N,3_vx,3_vy", "1_vx_kN,1_vy_N,1_vz,2_vx,2_vy,2_vz"])
def test_a_plate_without_units_among_different_units_is_an_error(tmp_path, labels):
    lines = [f"time,{labels}"] + [f"{0.01 * i:.2f},0.03,0.7,30,700,1,1" for i in range(50)]
    with pytest.raises(
        MotionFormatError, match=r"walk\.csv: columns of the force of . have no unit, and others are in N and kN"
    ):
        _read(tmp_path, "\n".join(lines), "walk.csv")


def test_angles_and_lengths_are_in_the_units_of_a_row_of_units(tmp_path):
    names = ("pelvis_tilt", "pelvis_tx", "hip_flexion_r", "knee_angle_r")
    values = np.tile([10.0, 950.0, 20.0, 0.5], (50, 1))
    lines = [["time", *names], ["s", "deg", "mm", "deg", "rad"]]
    lines += [[f"{0.01 * i:.2f}", *map(repr, map(float, line))] for i, line in enumerate(values)]
    found = _read(tmp_path, "\n".join(map(",".join, lines)), "ik.csv")
    right = (np.radians(10.0), 0.95, np.radians(20.0), 0.5)
    np.testing.assert_allclose([found.angles[name][9] for name in names], right, rtol=1e-12)


@pytest.mark.parametrize(
    ("line", "separator"), [("deg", ","), ("s,deg", ","), (",deg,deg", ","), ("deg deg", " "), ("deg", " ")]
)
def test_one_unit_of_angles_is_that_of_all_angles(tmp_path, line, separator):
    lines = [separator.join(("time", "hip_flexion_r", "knee_angle_r")), line]
    lines += [separator.join((f"{0.01 * i:.2f}", "2.0", "1.0")) for i in range(50)]
    found = _read(tmp_path, "\n".join(lines), "ik.csv")
    np.testing.assert_allclose([x[9] for x in found.angles.values()], np.radians([2.0, 1.0]))
    assert not found.notes


def test_one_unit_above_all_forces(tmp_path):
    lines = ["time,Fx,Fy,Fz", "kN"] + [f"{0.01 * i:.2f},0.03,0,0.7" for i in range(50)]
    (plate,) = _read(tmp_path, "\n".join(lines), "plate.csv").forces
    np.testing.assert_allclose(plate.force[9], [30.0, 0.0, 700.0])


def test_markers_in_different_units_are_an_error(tmp_path):
    text = walker.csv(W).replace("RKNE.X", "RKNE.X_mm").replace("RKNE.Y", "RKNE.Y_mm").replace("RASI.X", "RASI.X_m")
    with pytest.raises(MotionFormatError, match="line 1: markers are in m and mm; export all of them in one unit"):
        _read(tmp_path, text, "walk.csv")


def test_a_side_behind_the_name_is_no_rotation(tmp_path):
    """ASI_R.X is the right ASIS, pelvis_rx a rotation."""
    names = {name: f"{name[1:]}_{name[0]}" for name in W.markers}
    behind = dataclasses.replace(W, markers={names[k]: x for k, x in W.markers.items()})
    assert set(_read(tmp_path, walker.csv(behind), "walk.csv").markers) == set(names.values())


def test_units_between_blanks_must_be_complete(tmp_path):
    lines = ["time Fx Fy Fz COPx COPy", "kN kN kN mm mm"] + [f"{0.01 * i:.2f} 0.03 0 0.7 250 100" for i in range(50)]
    with pytest.raises(MotionFormatError, match="the line of units has 5 units for 6 columns"):
        _read(tmp_path, "\n".join(lines), "plate.txt")


@pytest.mark.slow
@pytest.mark.parametrize("lost", [5, 60])
def test_a_gap_of_a_force_is_not_an_unloaded_plate(tmp_path, lost):
    """Missing rows and empty cells leave no dent in the force; a plate may have blanks while nobody is on it."""
    w = walker.walker(duration=4.0)
    body = _read(tmp_path, walker.trc(w), "walk.trc")
    rows = walker.forces(w).splitlines()
    first = next(i for i, row in enumerate(rows) if row.startswith("1.329")) + 1
    empty = [",".join(row.split("\t")[:1] + [""] * 6) for row in rows]
    unloaded = [i for i, row in enumerate(rows[7:], 7) if float(row.split("\t")[2]) == 0.0]
    texts = {
        "missing": "\n".join(rows[:first] + rows[first + lost :]),
        "empty": "\n".join(rows[:first] + empty[first : first + lost] + rows[first + lost :]).replace(",", "\t"),
        "unloaded": "\n".join(empty[i] if i in unloaded else row for i, row in enumerate(rows)).replace(",", "\t"),
    }
    whole = measure([with_forces(body, _read(tmp_path, "\n".join(rows), "grf.mot"))], mass=70.0)
    for kind, text in texts.items():
        found = measure([with_forces(body, _read(tmp_path, text, "grf.mot"))], mass=70.0)
        strides = [s.load is not None and bool(np.isfinite(s.load).all()) for s in found.strides]
        assert strides == ([True, True] if kind == "unloaded" else [False, True]), kind
        assert found.period == pytest.approx(whole.period)
        np.testing.assert_allclose(found.mean["ground_y_N"], whole.mean["ground_y_N"], atol=10.0)
        message = (
            "is taken to be unloaded" if kind == "unloaded" else f"{lost} samples of ground_force have no force while"
        )
        assert any(message in note for note in found.notes)


@pytest.mark.parametrize("first", range(10))
def test_blanks_of_an_unloaded_plate_that_is_sampled_at_100_hz(first):
    """Its force may rise from nothing to 200 N from one sample to the next."""
    rows = np.array(
        [row.split("\t")[1:4] for row in walker.forces(walker.walker(duration=2.0)).splitlines()[7:]], float
    )[first::10]
    blank = np.linalg.norm(rows, axis=1) <= 20.0
    found = with_unloaded_zeros(np.where(blank[:, None], np.nan, rows), "plate", notes := [])
    np.testing.assert_array_equal(found, np.where(blank[:, None], 0.0, rows))
    assert notes == [f"{blank.sum()} samples of plate have no force: it is taken to be unloaded"]


def steps(w, shares):
    """The synthetic walk with the right foot's force on plates that bear these shares, (samples, plates), of it."""
    time, force, point = walker.pressed(w, 1000.0)
    plates = [
        GroundReaction(f"plate {i}", time, force * s[:, None], point) for i, s in enumerate(shares(time % w.period).T)
    ]
    return measure([walker_recording(w, forces=tuple(plates))], mass=walker.MASS)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.15, 0.5])
def test_a_foot_on_two_plates_makes_one_step(share):
    w = walker.walker(duration=5.0)
    handed = lambda t: 1.0 / (1.0 + np.exp(np.clip((t - share * 0.64 * w.period) / 0.02, -50, 50)))
    one = steps(w, lambda t: np.ones((t.size, 1)))
    parts = lambda t: np.tile([0.6, 0.4], (t.size, 1))  # each of them reaches 30 N later than both together
    for two, close in ((lambda t: np.stack([handed(t), 1.0 - handed(t)], axis=1), 0.02), (parts, 0.08)):
        found = steps(w, two)
        assert found.period == pytest.approx(one.period, abs=2e-3)
        for name in ("knee_rad", "ground_y_N"):
            np.testing.assert_allclose(found.mean[name], one.mean[name], atol=close * np.ptp(one.mean[name]))


def test_forces_that_outlast_the_markers_lose_no_moments():
    w = walker.walker(duration=5.0)
    time, force, point = walker.pressed(w, 1000.0)
    plate = GroundReaction("plate", time, force, point)
    short = walker_recording(w, forces=(plate,))
    frames = int(4.3 * w.period * w.rate)  # in stance
    cut = dataclasses.replace(
        short, time=short.time[:frames], markers={k: x[:frames] for k, x in short.markers.items()}
    )
    whole, less = measure([short], mass=walker.MASS), measure([cut], mass=walker.MASS)
    for name in ("knee_moment_Nm_kg", "ankle_moment_Nm_kg"):
        np.testing.assert_allclose(less.dynamics.mean[name], whole.dynamics.mean[name], atol=0.02)


def test_velocities_of_markers_are_no_forces(tmp_path):
    found = _read(
        tmp_path,
        "time,RHEE_x,RHEE_y,RHEE_z,RHEE_vx,RHEE_vy,RHEE_vz\n"
        + "".join(f"{0.01 * i:.2f},{10 * i},900,100,1000,0,0\n" for i in range(20)),
        "walk.csv",
    )
    assert not found.forces and list(found.markers) == ["RHEE"]


@pytest.mark.parametrize("name", ["com", "CentreOfMass", "body_cog"])
def test_velocities_of_the_centre_of_mass_are_no_ground_forces(name):
    found = classify(["time", *(f"{name}_v{axis}" for axis in "xyz"), "plate_vx", "plate_vy"], (), notes := [])
    assert list(found.forces) == ["plate"] and notes == [f"columns such as {name}_vx are velocities: not read ({name})"]


def test_markers_that_are_labelled_like_plates_are_markers(tmp_path):
    """RHEE_px and RHEE_vx are position and velocity, ground_force_px and ground_force_vx point and force."""
    names = ("RHEE", "RTOE", "RKNE")
    head = ",".join(f"{name}_{kind}{axis}" for name in (*names, "ground_force") for kind in "pv" for axis in "xyz")
    row = "10,50,100,9,9,9,20,40,110,9,9,9,30,520,120,9,9,9,0.1,0,0.2,1,700,0"
    text = "\n".join([f"time,{head}", *(f"{0.01 * i:.2f},{row}" for i in range(20))])
    found = _read(tmp_path, text.replace("RKNE_px", "RKNE_px_mm"), "walk.csv")
    assert list(found.markers) == list(names) and not found.angles
    np.testing.assert_allclose([found.markers[k][-1, 1] for k in names], [0.05, 0.04, 0.52])
    (plate,) = found.forces
    np.testing.assert_array_equal([*plate.force[0], *plate.point[0]], [1.0, 700.0, 0.0, 0.1, 0.0, 0.2])
    assert "columns such as RHEE_px are read as positions of markers (RHEE, RTOE, RKNE)" in found.notes
    assert "columns such as RHEE_vx are velocities: not read (RHEE, RTOE, RKNE)" in found.notes
    assert any("read as ground forces: ground_force; rename the columns if" in note for note in found.notes)


@pytest.mark.parametrize("names", ["Fx_right,Fy_right,Fz_right", "GRFxR,GRFyR,GRFzR", "FP1 CoP X,FP1 CoP Y,FP1 CoP Z"])
def test_columns_that_look_like_forces_are_not_left_out_silently(tmp_path, names):
    rows = "".join(f"{0.01 * i:.2f},{10 * i},900,100,1,700,0\n" for i in range(20))
    found = _read(tmp_path, f"time,RHEE_x,RHEE_y,RHEE_z,{names}\n" + rows, "walk.csv")
    assert not found.forces and any("not read as ground forces" in note for note in found.notes)


@pytest.mark.parametrize("name", ["left", "R", "belt1", "treadmill", "1", "ground_force", "r_foot"])
def test_plates_of_any_name_are_read(tmp_path, name):
    rows = "".join(f"{0.01 * i:.2f},{10 * i},900,100,1,700,0\n" for i in range(20))
    head = f"time,RHEE_x,RHEE_y,RHEE_z,{name}_vx,{name}_vy,{name}_vz\n"
    (plate,) = _read(tmp_path, head + rows, "walk.csv").forces
    np.testing.assert_array_equal(plate.force[0], [1.0, 700.0, 0.0])


def test_a_brush_of_the_other_foot_is_no_step():
    """On a second plate, without centres of pressure: noise before every other heel strike."""
    w = walker.walker(duration=5.0)
    time, force, _ = walker.pressed(w, 1000.0)
    brush = np.where((time % (2 * w.period) > 2 * w.period - 0.1)[:, None], [0.0, 45.0, 0.0], 0.0)
    plates = (GroundReaction("plate 1", time, force, None), GroundReaction("plate 2", time, brush, None))
    one, two = (measure([walker_recording(w, forces=plates[:n])], mass=walker.MASS) for n in (1, 2))
    assert two.period == one.period and two.events[0].strikes.tolist() == one.events[0].strikes.tolist()
