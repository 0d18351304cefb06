"""Columns of joint angles: their units, stated or by size, and columns beside them that are not read."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from jaxgait.exporting import export
from jaxgait.motion import MotionFormatError
from jaxgait.motion.capture.walk import measure
from jaxgait.motion.drive import reference_gait, synthetic_recording
from jaxgait.motion.naming import motion_drive
from jaxgait.motion.readers import read_recording
from jaxgait.motion.recording import GroundReaction
from tests.motion import walker

W = walker.walker(duration=0.6)
TRIAL = synthetic_recording(reference_gait())
UNCLEAR = "it is not clear whether"


def _read(tmp_path, text, name="a.csv"):
    path = tmp_path / name
    path.write_text(text)
    return read_recording(path)


def _table(tmp_path, columns, line=None, name="a.csv"):
    """A file with columns of numbers or text, and a line of units if there is one."""
    rows = pd.DataFrame(columns).to_csv(index=False).split("\n")
    return _read(tmp_path, "\n".join([rows[0], *([line] if line else []), *rows[1:]]), name)


def _angles(unit="{}", metre="{}", turn=1.0, length=1.0):
    """The columns of the trial; its angles times `turn`, its lengths times `length`."""
    is_length = lambda k: k in ("pelvis_tx", "pelvis_ty")
    return {"time": TRIAL.time} | {
        (metre if is_length(k) else unit).format(k): (length if is_length(k) else turn) * x
        for k, x in TRIAL.angles.items()
    }


def _same(found):
    for name, x in TRIAL.angles.items():
        np.testing.assert_allclose(found.angles[name], x, atol=1e-9, err_msg=name)


# --- stated units -----------------------------------------------------------------------------------------------------


def test_an_exported_recording_reads_back(tmp_path):
    """Its path of the pelvis was replaced by an assumed one."""
    force = np.column_stack([0.0 * TRIAL.time, 700.0 + TRIAL.time, 0.0 * TRIAL.time])
    plate = GroundReaction("ground_force", TRIAL.time, force, 0.1 + force / 7000.0)
    whole = dataclasses.replace(TRIAL, forces=(plate,))
    for name in ("x.csv", "x.mot", "x.sto"):
        export(whole, tmp_path / name)
        found = read_recording(tmp_path / name)
        _same(found)
        assert [*found.angles] == [*TRIAL.angles] and found.notes == found.warnings == ()
        (back,) = found.forces
        np.testing.assert_allclose(back.force, plate.force, atol=1e-9)
        np.testing.assert_allclose(back.point, plate.point, atol=1e-9)
        walk = measure([found])  # without a speed
        assert walk.assumed_path is None and walk.speed == pytest.approx(float(reference_gait().speed), rel=0.01)


@pytest.mark.parametrize(
    ("unit", "metre", "turn", "length"),
    [
        ("{} (deg)", "{} (m)", 180 / np.pi, 1.0),
        ("{} [\u00b0]", "{} [mm]", 180 / np.pi, 1e3),
        ("{}(Degrees)", "{}(cm)", 180 / np.pi, 1e2),
        ("{} (rad)", "{} (metres)", 1.0, 1.0),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.mot"])
def test_units_in_brackets_count_and_belong_to_no_name(unit, metre, turn, length, name, tmp_path):
    table = pd.DataFrame(_angles(unit, metre, turn, length))
    text = table.to_csv(index=False) if name == "a.csv" else "endheader\n" + table.to_csv(index=False, sep="\t")
    found = _read(tmp_path, text, name)
    _same(found)
    assert [*found.angles] == [*TRIAL.angles] and found.notes == ()


def test_lines_of_units_and_brackets_agree(tmp_path):
    line = ",".join(["s", *("mm" if k in ("pelvis_tx", "pelvis_ty") else "deg" for k in TRIAL.angles)])
    columns = _angles(turn=180 / np.pi, length=1e3)
    _same(_table(tmp_path, columns, line))
    _same(_table(tmp_path, _angles("{} (deg)", "{} (mm)", 180 / np.pi, 1e3), line))
    with pytest.raises(MotionFormatError, match="pelvis_tx: its label states m, the line of units mm; correct one"):
        _table(tmp_path, _angles(metre="{} (m)"), line)
    with pytest.raises(MotionFormatError, match="label states rad, the line of units m; correct one"):
        _table(tmp_path, _angles("{} (rad)"), "s," + ",".join("m" for _ in TRIAL.angles))
    with pytest.raises(MotionFormatError, match="hip_flexion_r: its label states rad, the header inDegrees=yes"):
        _read(tmp_path, "inDegrees=yes\nendheader\ntime\thip_flexion_r (rad)\n0.00\t0.1\n0.01\t0.2\n", "a.mot")
    with pytest.raises(MotionFormatError, match="column hip_flexion_r: m is no unit of an angle; write it in deg or"):
        _read(tmp_path, "time,hip_flexion_r (m)\n0.00,0.1\n0.01,0.2\n")
    with pytest.raises(MotionFormatError, match="column pelvis_ty: deg is no unit of a length; write it in m or mm"):
        _read(tmp_path, "time,pelvis_ty (deg)\n0.00,0.1\n0.01,0.2\n")


def test_times_and_forces_have_units_in_brackets(tmp_path):
    head = "Time [ms],RASI.X (mm),RASI.Y (mm),RASI.Z (mm),Fx (kN),Fy (kN),COPx (mm),COPy (mm)\n"
    found = _read(tmp_path, head + "".join(f"{10 * i},1,900,10,0.1,0.7,300,0\n" for i in range(5)))
    assert found.rate == 100.0
    np.testing.assert_allclose(found.markers["RASI"][0], [1e-3, 0.9, 0.01])
    np.testing.assert_allclose(found.forces[0].force[0], [100.0, 700.0, 0.0])
    np.testing.assert_allclose(found.forces[0].point[0], [0.3, 0.0, 0.0])


def test_the_unit_in_the_label_of_an_angle_counts(tmp_path):
    """Not the size: an ankle may move by less than 6.3 deg."""
    found = _read(tmp_path, "time,ankle_flexion_deg,knee_flexion (rad),hip_tilt\n0.00,5,1,9\n0.01,6,2,9\n")
    np.testing.assert_allclose(found.angles["ankle_flexion_deg"], np.radians([5, 6]))
    np.testing.assert_allclose(found.angles["knee_flexion"], [1, 2])  # as without a unit
    np.testing.assert_allclose(found.angles["hip_tilt"], np.radians([9, 9]))
    assert found.notes == ("angles are taken as degrees: the largest is 9",)
    with pytest.raises(MotionFormatError, match="column hip_flexion_l: 50 is no angle in radians"):
        _read(tmp_path, "time,hip_flexion_l (rad)\n0.00,5\n0.01,50\n")


# --- other quantities of joints ---------------------------------------------------------------------------------------

OTHERS = {
    "knee_flexion_velocity (deg/s)": 420.0,
    "knee_flexion_acceleration (deg/s^2)": 9e3,
    "knee_angle_rate (deg s^-1)": 420.0,
    "knee_angle_r_vel": 420.0,
    "knee_angle_r_u": 5.0,
    "hip_flexion_power (W/kg)": 9.0,
    "hip_flexion_moment (N m/kg)": 9.0,
    "hip_flexor_emg": 400.0,
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("stated", [True, False])
def test_rates_moments_and_powers_are_no_angles(name, stated, tmp_path):
    """A file with an angular velocity beyond 360 deg/s was refused."""
    other = OTHERS[name] * np.sin(20.0 * TRIAL.time)
    degrees = stated and "deg" in name
    angles = _angles("{} (deg)" if stated else "{}", turn=180 / np.pi if stated else 1.0)
    found = _table(tmp_path, angles | {name: other})
    _same(found)
    assert name in found.angles or "moment" in name
    np.testing.assert_allclose(found.angles.get(name, other), other)  # in the unit of its name
    rows = pd.DataFrame(_angles() | {name: other}).to_csv(index=False, sep="\t")
    _same(_read(tmp_path, "endheader\n" + rows, "a.mot"))
    if degrees:
        line = ",".join(["s", *("m" if "_t" in k and "tilt" not in k else "deg" for k in TRIAL.angles), "deg/s"])
        _same(_table(tmp_path, _angles(turn=180 / np.pi) | {name.partition(" ")[0]: other}, line))


def test_what_is_not_used_may_turn(tmp_path):
    crank = np.where(TRIAL.time > 0.95 * TRIAL.time[-1], 5e3, 1.0) * TRIAL.time
    angles = _angles("{} (deg)", turn=180 / np.pi)
    found = _table(tmp_path, angles | {"ankle_crank_rotation (deg)": crank, "subtalar_angle_r (deg)": crank})
    _same(found)
    np.testing.assert_allclose(found.angles["ankle_crank_rotation"], np.radians(crank))
    with pytest.raises(MotionFormatError, match=r"column ankle_angle_l: .* is no angle in degrees: beyond 360 in"):
        _table(tmp_path, angles | {"ankle_angle_l (deg)": crank})


def test_moments_are_no_angles(tmp_path):
    """Free moments of plates above 6.3 Nm are no reason to take angles for degrees."""
    lines = walker.mot(W, degrees=False).splitlines()
    at = lines.index("endheader") + 1
    lines = [*lines[:at], lines[at] + "\tground_torque_y", *(f"{line}\t9.5" for line in lines[at + 1 :])]
    found = _read(tmp_path, "\n".join(lines), "ik.mot")
    np.testing.assert_allclose(found.angles["hip_flexion_r"], W.thigh, atol=1e-9)
    assert "ground_torque_y" not in found.angles


# --- degrees or radians, by size --------------------------------------------------------------------------------------


def _by_size(tmp_path, columns, name="a.csv", stated=""):
    """Angles in the columns, in degrees or radians as the reader decides."""
    table = pd.DataFrame({"time": np.arange(300) / 100} | {k: x + np.zeros(300) for k, x in columns.items()})
    text = f"{stated}endheader\n" + table.to_csv(index=False, sep="\t")
    return _read(tmp_path, text if name == "a.mot" else table.to_csv(index=False), name)


SOME = np.arange(300) >= 278
"""A few rows."""
STANDING = {
    "a turned pelvis": {"hip_flexion_r": 3.0, "knee_angle_r": 4.2, "ankle_angle_r": 2.0, "pelvis_rotation": 90.0},
    "a turned hip": {"hip_flexion_r": 3.0, "knee_angle_r": 3.0, "pelvis_tilt": 5.0, "hip_rotation_r": 25.0},
    "a knee bent in few rows": {"hip_flexion_r": 5.0, "knee_angle_r": np.where(SOME, 50.0, 4.0)},
}


@pytest.mark.parametrize("name", ["a.csv", "a.mot"])
@pytest.mark.parametrize("what", STANDING)
def test_small_angles_in_degrees_are_no_radians(what, name, tmp_path):
    """A knee of 4.2 rad is bent by 240 deg: joints say so, whatever turns beside them, and however rarely they bend."""
    found = _by_size(tmp_path, STANDING[what], name)
    for k, x in STANDING[what].items():
        np.testing.assert_allclose(found.angles[k], np.radians(x + np.zeros(300)), err_msg=k)
    assert any("degrees" in note for note in found.notes)


UNSURE = {
    "a turned pelvis": (
        {"hip_flexion_r": 1.0, "knee_angle_r": 1.2, "pelvis_rotation": 90.0},
        rf"column pelvis_rotation: {UNCLEAR} angles are in degrees: up to 90 here, but 1.2 in knee_angle_r; state",
    ),
    "a turned hip": (
        {"knee_angle_r": 1.2, "hip_rotation_r": 25.0},
        rf"column hip_rotation_r: {UNCLEAR} angles are in degrees: up to 25 here",
    ),
    "an adducted hip": (
        {"knee_angle_r": 1.2, "hip_adduction_r": 5.0},
        rf"column hip_adduction_r: {UNCLEAR} angles are in degrees: up to 5 here",
    ),
    "some values": (
        {"hip_flexion_r": 0.5, "knee_angle_r": np.where(SOME, 50.0, 1.0)},
        rf"line 28\d, column knee_angle_r: {UNCLEAR} this is in degrees: 50 in 22 of 300 rows, at most 1 in the others",
    ),
}


@pytest.mark.parametrize("name", ["a.csv", "a.mot"])
@pytest.mark.parametrize("what", UNSURE)
def test_angles_that_contradict_each_other_do_not_decide_the_unit(what, name, tmp_path):
    columns, message = UNSURE[what]
    with pytest.raises(MotionFormatError, match=message) as error:
        _by_size(tmp_path, columns, name)
    assert error.value.advice.startswith("state the unit (knee_angle_r (deg), or inDegrees=yes in a MOT)")
    assert len(str(error.value)) - len(str(tmp_path)) < 300
    stated = _by_size(tmp_path, columns, "a.mot", "inDegrees=yes\n")
    np.testing.assert_allclose(stated.angles["knee_angle_r"], np.radians(columns["knee_angle_r"] + np.zeros(300)))


@pytest.mark.parametrize("name", ["a.csv", "a.mot"])
def test_no_angle_of_a_leg_is_refused_for_an_unclear_unit_of_others(name, tmp_path):
    found = _by_size(tmp_path, {"knee_flexion": np.where(SOME, 50.0, 1.0), "trunk_rotation": 25.0}, name)
    assert f"the largest is 50 (knee_flexion: {UNCLEAR} this is in degrees" in found.notes[0]
    assert "radians" in found.notes[0] and found.angles["knee_flexion"][0] == 1.0


@pytest.mark.parametrize("stated", ["", "inDegrees=no\n"])
@pytest.mark.parametrize("degrees", [True, False])
def test_some_absurd_values_do_not_decide_whether_angles_are_in_degrees(degrees, stated, tmp_path):
    """A spike of 57 in a knee in radians made degrees of all angles, without a word."""
    knee = np.degrees(W.knee) if degrees else W.knee
    head = {"a.csv": "time,knee_angle_r\n", "a.mot": f"{stated}endheader\ntime\tknee_angle_r\n"}
    for name, start in head.items():
        cell = "," if name == "a.csv" else "\t"
        rows = [f"{t:.3f}{cell}{x:.6f}" for t, x in zip(W.time, knee, strict=True)]
        (found,) = _read(tmp_path, start + "\n".join(rows) + "\n", name).angles.values()
        np.testing.assert_allclose(found, W.knee, atol=1e-5)
        for i in range(40, 44):  # a single one, and up to 7 % of them
            rows[i] = f"{W.time[i]:.3f}{cell}{57e3 if degrees else 57}"
            lines = [start.count("\n") + k + 1 for k in (40, i)]
            count = "1 row" if i == 40 else f"{i - 39} rows, the last on line {lines[1]}"
            what = f"57.* is no angle in {'degrees' if degrees else 'radians'}: beyond .* in {count};"
            if not degrees and (name == "a.csv" or not stated):
                what = f"{UNCLEAR} this is in degrees: 57 in {i - 39} of 60 rows, at most .* in the others; state the"
            with pytest.raises(MotionFormatError, match=f"line {lines[0]}, column knee_angle_r: {what}"):
                _read(tmp_path, start + "\n".join(rows) + "\n", name)


def test_a_joint_does_not_turn_by_a_whole_turn_but_a_heading_may(tmp_path):
    rows = lambda label, x: (
        f"\ntime\tknee_angle_r\t{label}\n"
        + "".join(f"{t:.3f}\t{k:.6f}\t{y:.6f}\n" for t, k, y in zip(W.time, W.knee, x, strict=True))
    )
    turned = 12.0 * W.time  # rad, of a treadmill in a circle
    for head, heading in (("inDegrees=no\nendheader", turned), ("endheader", 100.0 * turned)):
        found = _read(tmp_path, head + rows("pelvis_rotation", heading), "a.mot")
        np.testing.assert_allclose(found.angles["knee_angle_r"], W.knee, atol=1e-5)
        np.testing.assert_allclose(found.angles["pelvis_rotation"], heading, atol=1e-5)
    with pytest.raises(MotionFormatError, match=rf"column pelvis_rotation: {UNCLEAR} angles are in degrees"):
        _read(tmp_path, "endheader" + rows("pelvis_rotation", turned), "a.mot")  # or 7 deg, with a stiff knee
    with pytest.raises(MotionFormatError, match=r"column hip_flexion_r: .* is no angle in degrees: beyond 360 in"):
        _read(tmp_path, "inDegrees=yes\nendheader" + rows("hip_flexion_r", np.degrees(turned)), "a.mot")


# --- columns of text --------------------------------------------------------------------------------------------------


def test_columns_of_text_are_not_read(tmp_path):
    rows = '# a walk\ntime,leg,knee_angle_l (\u00b0),zero,condition\ns,,,,\n0.00,left,5,0,\n0.01,left,,0,"so, so"\n'
    found = _read(tmp_path, rows + "0.02,left,7,0,walk\n")
    assert found.notes[0] == "not read: text under leg, condition"
    np.testing.assert_allclose(found.angles["knee_angle_l"], np.radians([5, np.nan, 7]))
    assert [*found.angles] == ["knee_angle_l", "zero"]
    with pytest.raises(MotionFormatError, match="'bent' in column 2 is not a number"):
        _read(tmp_path, "time,leg,knee_angle_l\n0.00,left,5\n0.01,left,bent\n")
    with pytest.raises(MotionFormatError, match="no rows of numbers"):
        _read(tmp_path, "time,leg,knee_angle_l\n0.00,left,bent\n0.01,left,bent\n")


@pytest.mark.parametrize("others", [{"remark": "fine"}, {"EMG": 0.1}, {"remark": "fine", "EMG": 0.1}])
def test_numbers_with_a_unit_and_a_late_start_are_no_text(others, tmp_path):
    """Of the first 200 rows alone, a column of gaps below its unit looked like text."""
    columns = _angles(turn=180 / np.pi) | {"load": np.ones(TRIAL.frames)} | others
    late = np.arange(TRIAL.frames) < 210
    columns |= {k: np.where(late, np.nan, columns[k]) for k in ("pelvis_tx", "load")}
    units = {"time": "s", "pelvis_tx": "m", "pelvis_ty": "m", "load": "N", "remark": "", "EMG": "mV"}
    found = _table(tmp_path, columns, ",".join(units.get(k, "deg") for k in columns))
    np.testing.assert_allclose(found.angles["pelvis_tx"], columns["pelvis_tx"])
    np.testing.assert_allclose(found.angles["load"], columns["load"])
    assert found.notes == (("not read: text under remark",) if "remark" in others else ())


def test_text_beside_an_angle_is_not_read_either(tmp_path):
    found = _table(tmp_path, _angles() | {"angle_quality": "good", "pelvis_ty_note": "-"})
    _same(found)
    assert found.notes[0] == "not read: text under angle_quality"


@pytest.mark.parametrize("written", [str.upper, str.title, lambda name: name.replace("_", " ")])
@pytest.mark.parametrize("ending", [".csv", ".mot"])
def test_joint_angles_are_named_in_any_case(written, ending, tmp_path):
    angles = {written(name): np.degrees(x) for name, x in TRIAL.angles.items() if "pelvis" not in name}
    delimiter, head = {".csv": (",", ""), ".mot": ("\t", "inDegrees=yes\nendheader\n")}[ending]
    (tmp_path / f"walk{ending}").write_text(
        head + pd.DataFrame({"time": TRIAL.time} | angles).to_csv(index=False, sep=delimiter)
    )
    found = read_recording(tmp_path / f"walk{ending}")
    assert set(found.angles) == {"hip_flexion_r", "knee_angle_r", "ankle_angle_r"}
    np.testing.assert_allclose(found.angles["knee_angle_r"], TRIAL.angles["knee_angle_r"], atol=1e-9)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            {"knee_angle_r": "knee_flexion_r"},
            "knee_angle_r not found among hip_flexion_r, knee_flexion_r, ankle_angle_r",
        ),
        ({"knee_angle_r": "knee_flexion_r"}, "; is it 'knee_flexion_r' (knee_angle_r)? rename it"),
        (
            {"hip_flexion_r": "RHipAngles_X", "knee_angle_r": "RKneeAngles_X", "ankle_angle_r": "RAnkleAngles_X"},
            "; is it 'RHipAngles_X' (hip_flexion_r), 'RKneeAngles_X' (knee_angle_r), 'RAnkleAngles_X' (ankle_angle_r)?",
        ),
        ({"knee_angle_r": "bend"}, "; export the whole result of inverse kinematics, or name the columns so"),
    ],
)
def test_columns_that_may_be_joint_angles_under_another_name_are_named(names, message, tmp_path):
    """The optional columns of the pelvis were listed as missing, and no column was suggested."""
    angles = {names.get(name, name): x for name, x in TRIAL.angles.items() if "pelvis" not in name}
    with pytest.raises(MotionFormatError) as caught:
        measure([dataclasses.replace(TRIAL, angles=angles)], speed=1.25)
    assert message in str(caught.value) and "pelvis" not in str(caught.value)
    if "RKneeAngles_X" in names.values():  # also where the other leg is there
        left = {f"{name[:-1]}l": x for name, x in TRIAL.angles.items() if name.endswith("_r")}
        with pytest.raises(MotionFormatError, match=r"is it 'RHipAngles_X' \(hip_flexion_r\)"):
            measure([dataclasses.replace(TRIAL, angles=angles | left)], speed=1.25)
    if "knee_flexion_r" in names.values():  # the same of a file, which may be one of a stride as well
        pd.DataFrame({"time": TRIAL.time} | angles).to_csv(tmp_path / "walk.csv", index=False)
        with pytest.raises(MotionFormatError, match="of the joint angles that make one"):
            motion_drive(tmp_path / "walk.csv")
