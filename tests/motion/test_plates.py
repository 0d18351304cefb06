"""Force plates: what C3D files state about them comes back, and what is wrong with them is reported."""

import dataclasses
import re

import ezc3d
import jaxtyping
import numpy as np
import pytest

from jaxgait.motion import MotionFormatError, MotionWarning
from jaxgait.motion.capture import weight
from jaxgait.motion.capture.ground import load_of
from jaxgait.motion.capture.leg import Options
from jaxgait.motion.capture.leg_source import leg_of
from jaxgait.motion.capture.plates import all_foreign
from jaxgait.motion.capture.remarks import merged_lines
from jaxgait.motion.capture.walk import measure
from jaxgait.motion.naming import motion_drive
from jaxgait.motion.readers import read_recording
from jaxgait.motion.recording import GroundReaction, Recording, with_forces
from tests.motion import walker

W = walker.walker(duration=4.0)
TIME, FORCE, POINT = walker.pressed(W)
CARRIED = 2 * 418.0 / 9.81
"""Mass in kg of who presses so: that of the embedded gait, not `walker.MASS`."""


def recording(force=FORCE, point=POINT, markers=W.markers, **changes) -> Recording:
    return Recording(
        "walk", "walk.trc", W.rate, W.time, markers, forces=(GroundReaction("plate 1", TIME, force, point),), **changes
    )


@pytest.fixture(scope="module")
def c3d(tmp_path_factory):
    path = tmp_path_factory.mktemp("c3d") / "walk.c3d"
    walker.c3d(W, path)
    return path


def test_a_c3d_file_with_plates_gives_joint_moments(c3d):
    """Where a force fades from 10 to 5 N its centre of pressure counts, too; results of a model are no markers."""
    found = read_recording(c3d)
    up_is_y = np.array([[1.0, 0, 0], [0, 0, 1], [0, -1, 0]])
    np.testing.assert_allclose(found.markers["RKNE"] @ up_is_y.T, W.markers["RKNE"], atol=1e-6)
    assert set(found.markers) == set(W.markers)
    assert any("2 points are results of a model, not positions: RKneeAngles, RKneeMoment" in n for n in found.notes)
    walk = measure([found], mass=85.0)
    assert len(walk.dynamics.strides) == len(walk.kept) == 2
    direct = measure([recording()], mass=85.0).dynamics
    for name, ends in walk.dynamics.peaks.items():
        np.testing.assert_allclose(ends, direct.peaks[name], atol=0.3)
    expected = ("is usual", "cannot be compared")  # only the right foot is on a plate
    assert not [line for line in walk.warnings if not any(words in line for words in expected)]


def test_units_that_a_c3d_file_says_wrongly_are_those_of_its_plates_too(c3d, tmp_path):
    walker.c3d(W, tmp_path / "walk.c3d", label="m")
    wrong, right = read_recording(tmp_path / "walk.c3d"), read_recording(c3d)
    np.testing.assert_allclose(wrong.forces[0].point, right.forces[0].point, atol=1e-6)
    assert any("no body measures" in line and "taken as mm" in line for line in wrong.warnings)


@pytest.mark.parametrize(
    ("force", "moment", "size", "arm"),
    [("N", "Nmm", 1.0, 1.0), ("nt", "N.m", 1.0, 1e-3), ("kN", "kNmm", 1e-3, 1.0), ("kN", "Nm", 1e-3, 1.0)],
)
def test_the_units_of_the_channels_of_a_plate_count(c3d, tmp_path, force, moment, size, arm):
    rewritten(c3d, tmp_path / "walk.c3d", force, moment, size, arm)
    (right,), (found,) = read_recording(c3d).forces, read_recording(tmp_path / "walk.c3d").forces
    np.testing.assert_allclose(found.force, right.force, rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(found.point, right.point, atol=1e-4)


def test_a_unit_of_moments_that_the_plate_denies_is_not_believed(c3d, tmp_path):
    rewritten(c3d, tmp_path / "walk.c3d", "N", "Nm", 1.0, 1.0)
    found = read_recording(tmp_path / "walk.c3d")
    np.testing.assert_allclose(found.forces[0].point, read_recording(c3d).forces[0].point, atol=1e-4)
    assert any("plate 1: moments cannot be in Nm, as the file states" in note for note in found.notes)


@pytest.mark.parametrize(("unit", "size"), [("N", 1.0), ("kN", 1e-3), ("lbf", 1.0 / 4.4482216)])
@pytest.mark.parametrize(("kind", "length"), [(1, "mm"), (1, "cm"), (1, "m"), (3, "mm")])
def test_plates_with_a_centre_of_pressure_and_plates_with_four_sensors_are_read_alike(
    c3d, tmp_path, kind, length, unit, size
):
    """Types 1 (forces, centre of pressure, free moment) and 3 (eight forces at four sensors) of the C3D format."""
    as_kind(c3d, tmp_path / "walk.c3d", kind, unit, size, length)
    (right,), (found,) = read_recording(c3d).forces, read_recording(tmp_path / "walk.c3d").forces
    np.testing.assert_allclose(found.force, right.force, rtol=1e-5, atol=1e-3)
    np.testing.assert_allclose(found.point, right.point, atol=1e-4)


def test_a_plate_that_is_calibrated_from_volts_is_read_alike(c3d, tmp_path):
    """Type 4 of the C3D format: forces and moments are a matrix times the channels."""
    trial = ezc3d.c3d(str(c3d))
    plate, mixed = trial["parameters"]["FORCE_PLATFORM"], np.eye(6) + 0.1 * np.eye(6, k=1)
    channels = trial["data"]["analogs"][0]
    trial["data"]["analogs"] = (np.linalg.inv(mixed) @ channels)[None]
    trial["parameters"]["ANALOG"]["UNITS"]["value"] = ["V"] * 6
    plate["TYPE"]["value"] = np.array([4])
    trial.add_parameter("FORCE_PLATFORM", "CAL_MATRIX", mixed[:, :, None])
    trial.write(str(tmp_path / "walk.c3d"))
    (right,), (found,) = read_recording(c3d).forces, read_recording(tmp_path / "walk.c3d").forces
    np.testing.assert_allclose(found.force, right.force, rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(found.point, right.point, atol=1e-4)


def as_kind(c3d, path, kind: int, unit: str, size: float, length: str):
    """The file with its plate of forces and moments written as one of another type, in other units."""
    trial = ezc3d.c3d(str(c3d))
    fx, fy, fz, mx, my, mz = trial["data"]["analogs"][0]
    rise = float(trial["parameters"]["FORCE_PLATFORM"]["ORIGIN"]["value"][2, 0])  # of the surface above the sensor, mm
    mx, my = mx - rise * fy, my + rise * fx  # now about the middle of the surface
    if kind == 1:
        px, py = -my / np.where(fz == 0.0, 1.0, fz), mx / np.where(fz == 0.0, 1.0, fz)
        part = {"mm": 1.0, "cm": 0.1, "m": 1e-3}[length]
        free = mz - px * fy + py * fx
        columns = [size * fx, size * fy, size * fz, part * px, part * py, size * part * free]
        units = [unit] * 3 + [length] * 2 + [f"{unit}{length}"]
        origin = [0.0, 0.0, 0.0]
    else:
        a, b = 3000.0, 500.0  # half the distances in mm between the sensors, which are in the surface
        tilt, roll = mx / (4.0 * b), my / (4.0 * a)
        sensors = [0.25 * fz + tilt - roll, 0.25 * fz + tilt + roll, 0.25 * fz - tilt + roll, 0.25 * fz - tilt - roll]
        columns = [0.5 * fx - mz / (2.0 * b), 0.5 * fx + mz / (2.0 * b), 0.5 * fy, 0.5 * fy, *sensors]
        columns, units, origin = [size * x for x in columns], [unit] * 8, [a, b, 0.0]
    trial["data"]["analogs"] = np.stack(columns)[None]
    analog, plate = trial["parameters"]["ANALOG"], trial["parameters"]["FORCE_PLATFORM"]
    many = len(columns)
    for key, value in (("LABELS", [f"c{i}" for i in range(many)]), ("UNITS", units), ("SCALE", [1.0] * many)):
        analog[key]["value"] = value
    analog["OFFSET"]["value"], plate["TYPE"]["value"] = [0] * many, np.array([kind])
    plate["CHANNEL"]["value"] = 1 + np.arange(many)[:, None]
    plate["ORIGIN"]["value"] = np.array(origin)[:, None]
    trial.write(str(path))


def rewritten(c3d, path, force: str, moment: str, size: float, arm: float):
    """The file with channels of a plate in other units: `size` of forces, `arm` of moments over forces."""
    trial = ezc3d.c3d(str(c3d))
    channels = trial["data"]["analogs"]
    channels[0, :3] *= size
    channels[0, 3:] *= size * arm
    trial["data"]["analogs"] = channels
    trial["parameters"]["ANALOG"]["UNITS"]["value"] = [force] * 3 + [moment] * 3
    trial.write(str(path))


def test_a_c3d_file_that_ends_early_is_warned_of(c3d, tmp_path):
    data = c3d.read_bytes()
    (tmp_path / "walk.c3d").write_bytes(data[: int(0.9 * len(data))])
    (line,) = (line for line in read_recording(tmp_path / "walk.c3d").warnings)
    assert re.match(r"the file ends early: 3\d\d of 400 frames are there", line)
    with pytest.warns(MotionWarning, match=r"walk.c3d: the file ends early"):
        motion_drive(str(tmp_path / "walk.c3d"))
    (tmp_path / "walk.c3d").write_bytes(data[: int(0.4 * len(data))])
    with pytest.raises(MotionFormatError, match=r"no whole stride: .* the file ends early"):
        measure([read_recording(tmp_path / "walk.c3d")])


def test_forces_that_are_away_from_the_feet_give_no_mass():
    rest = GroundReaction("left plate", TIME, np.array([0.0, 836.0, 0.0]) - FORCE, None)  # both feet carry 836 N
    trial = recording()
    trial = dataclasses.replace(trial, forces=(*trial.forces, rest))
    away = trial.forces[0]._replace(point=POINT + np.array([0.0, 0.0, 3.0]))
    assert measure([trial]).subject["mass_kg"] == pytest.approx(CARRIED, rel=1e-3)
    walk = measure([dataclasses.replace(trial, forces=(away, rest))])
    assert any("from both feet" in line for line in walk.warnings)
    assert "mass_kg" not in walk.subject


def test_contacts_are_compared_with_the_feet_once_for_all_strides(monkeypatch):
    """Once for each stride, the time of a walk of many strides grew with their square."""
    asked = []
    monkeypatch.setattr(weight, "all_foreign", lambda leg: asked.append(leg) or all_foreign(leg))
    assert len(measure([recording()]).kept) > 1 and len(asked) == 1


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_a_plate_that_is_described_wrongly_is_warned_of(turns, tmp_path):
    walker.c3d(W, tmp_path / "walk.c3d", turns=turns)
    walk = measure([read_recording(tmp_path / "walk.c3d")], mass=85.0)
    assert any("from both feet: corners of the plate" in line for line in walk.warnings)


up = np.array([0.0, 1.0, 0.0])
QUARTER = np.array([[0, 0, 1.0], [0, 1, 0], [-1, 0, 0]])
MIDDLE = 0.5 * (W.markers["RHEE"] + W.markers["RTOE"]) * (1 - up)
HEEL = W.markers["RHEE"] * (1 - up)
NOISE = np.random.default_rng(0).normal(0.0, 12.0, FORCE.shape)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"force": FORCE + 20.0 * up}, r"plate 1 shows \+20 N while nobody is on it"),
        (
            {"force": FORCE + NOISE},
            "plate 1 has noise of 11 N .* while nobody is on it: 30 N are reached",
        ),
        ({"force": FORCE + 100.0 * up}, "plate 1 carries 100 N or more all the time"),
        ({"force": FORCE * np.array([-1, 1, -1])}, "propulsion comes before braking: plates rotated by"),
        ({"force": FORCE @ QUARTER}, r"forces are larger across the path \(\d+ N rms\) than along it"),
        ({"point": POINT + 0.5}, r"of 4 of 4 contacts on plate 1 is 0\.\d+ m or more from both feet"),
        ({"point": 2 * MIDDLE - POINT}, "the centre of pressure moves -.* mm forward of the ankle in stance"),
        ({"point": HEEL}, "the centre of pressure moves .* mm forward of the ankle in stance"),
        ({"point": POINT + np.array([0.07, 0, 0])}, r"is up to \d\d mm ahead of the toe marker of the right foot"),
        ({"point": POINT - np.array([0.07, 0, 0])}, r"is up to \d\d mm behind the heel of the right foot"),
        (
            {"point": POINT + np.array([0, 0, 0.1])},
            r"is up to 100 mm beside the line from heel to toe of the right foot",
        ),
        ({"point": POINT + 0.05 * up}, "the surface of the plates is 50 mm above the floor that heights are from"),
        ({"force": FORCE + np.roll(FORCE, 30, axis=0)}, r"a contact of \d\.\d+ s on plate 1, in strides of 1.13 s"),
    ],
)
def test_what_is_wrong_with_plates_is_said(changes, message):
    sound = measure([recording()], mass=85.0)
    assert not [line for line in sound.warnings if "plate" in line or "pressure goes" in line]
    walk = measure([recording(**changes)], mass=85.0)
    assert any(re.search(message, line) for line in walk.warnings), walk.warnings


@pytest.mark.slow
@pytest.mark.parametrize("least", [10.0, 50.0])
@pytest.mark.parametrize("written", [0.0, np.nan, 9.0])
def test_a_centre_of_pressure_that_faint_forces_lack_is_that_of_the_firm_ones(written, least):
    """Programs write it as 0, or not at all, below some force: moments were wrong by 1.4 Nm/kg, or missing."""
    faint = np.linalg.norm(FORCE, axis=1, keepdims=True) < least
    sound, found = (
        measure([recording(point=point)], mass=85.0).dynamics for point in (POINT, np.where(faint, written, POINT))
    )
    for name in sound.mean:
        np.testing.assert_allclose(found.mean[name], sound.mean[name], atol=0.05)


@pytest.mark.parametrize("point", [None, POINT])
def test_forces_in_other_axes_than_the_markers_are_warned_of(point):
    """OpenSim's forces, with y up, of a laboratory with z up were left out without a word."""
    up_is_z = walker.LABS["z up, walking along +x"]
    walk = measure([recording(point=point, markers=walker.turned(W, up_is_z).markers)], mass=85.0)
    said = "forces on plate 1 are mostly along y, and the body is upright along z: they are not used"
    assert sum(said in line for line in walk.warnings) == 1
    assert {*walk.events[0].sources} == {"motion"} and "ground_y_N" not in walk.mean


def test_forces_that_are_in_the_files_twice_count_once():
    trial, sound = recording(), measure([recording()], mass=85.0)
    (plate,) = trial.forces
    copy = plate._replace(name="filtered", time=TIME[::2], force=-1.01 * FORCE[::2], point=POINT[::2])
    other = Recording("grf", "grf.mot", 50.0, copy.time, forces=(copy,))
    walk = measure([with_forces(trial, other)], mass=85.0)
    assert sum("the forces on filtered are those on plate 1, and are used once" in x for x in walk.warnings) == 1
    np.testing.assert_allclose(walk.mean["ground_y_N"], sound.mean["ground_y_N"])
    late = plate._replace(name="left", time=TIME + 0.5 * W.period)
    assert len(measure([dataclasses.replace(trial, forces=(plate, late))]).legs[0].recording.forces) == 2


def test_forces_of_a_plate_that_is_not_zeroed_are_not_added_up():
    walk, sound = (measure([recording(FORCE + more * up)]) for more in (20.0, 0.0))
    assert walk.mean["ground_y_N"].max() == pytest.approx(sound.mean["ground_y_N"].max() + 20.0, abs=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("mass", [5.0, 40.0, 280.0])
def test_a_mass_that_the_plates_do_not_carry_is_warned_of(mass):
    walk = measure([recording()], mass=mass)
    assert sum("the plates carry" in line and f"but {mass:.3g} kg is given" in line for line in walk.warnings) == 1
    other = measure([recording(subject={"mass_kg": mass})])
    assert any(f"but {mass:.3g} kg is stated in the file" in line for line in other.warnings)
    assert not any("the plates carry" in line for line in measure([recording()], mass=80.0).warnings)


def test_a_mass_may_be_a_number_of_numpy(monkeypatch):
    """Such a mass was said not to be known, so that there were no moments."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # (the types of arguments are checked in tests)
    given = measure([recording()], mass=np.int64(80))
    stated = measure([recording(subject={"mass_kg": np.float32(80.0)})])
    for walk in (given, stated):
        assert walk.dynamics is not None and type(walk.subject["mass_kg"]) is float
    facts = {"mass_kg": " 72 ", "height_m": "", "name": 7, "session": "nan", "age": np.nan, "side": None}
    assert recording(subject=facts).subject == {"mass_kg": 72.0, "name": 7, "session": "nan"}
    assert type(recording(subject=facts).subject["name"]) is int
    with pytest.raises(MotionFormatError, match="mass_kg is '80 kg', not a number"):
        recording(subject={"mass_kg": "80 kg"})
    with pytest.raises(ValueError, match="mass must be between 2 and 300 kg, got '80'"):
        measure([recording()], mass="80")


@pytest.mark.parametrize("mass", [500.0, -70.0, 0.0, np.nan])
def test_a_mass_that_no_person_has_raises(mass):
    with pytest.raises(ValueError, match="mass must be between 2 and 300 kg, got"):
        measure([recording()], mass=mass)


def test_the_standing_trial_tells_the_mass():
    still = {k: np.repeat(x[:1], 400, axis=0) for k, x in W.markers.items()}
    stood = GroundReaction("plate 1", W.time, np.tile([0.0, 9.81 * 84.0, 0.0], (400, 1)), None)
    static = dataclasses.replace(recording(markers=still), forces=(stood,))
    walk = measure([recording()], options=Options(static=static))
    assert walk.subject["mass_kg"] == pytest.approx(84.0)
    assert walk.subject["mass_from"] == "ground forces of the standing trial" and walk.dynamics is not None
    half = dataclasses.replace(static, forces=(stood._replace(force=0.5 * stood.force),))  # one foot off the plate
    assert "mass_kg" not in measure([recording()], options=Options(static=half)).subject


def test_forces_of_another_time_are_warned_of():
    late = dataclasses.replace(recording(), forces=(recording().forces[0]._replace(time=TIME + 50.0),))
    said = "forces are from 50.00 to 53.99 s, frames from 0.00 to 3.99 s, and no force is used: two clocks?"
    assert said in measure([late]).warnings


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_plate_that_nobody_hits_is_nothing_to_speak_of():
    spare = GroundReaction("plate 2", TIME, np.zeros_like(FORCE), np.zeros_like(POINT))
    trial = recording()
    walk = measure([dataclasses.replace(trial, forces=(*trial.forces, spare))], mass=CARRIED)
    assert not [line for line in walk.warnings if "plate 2" in line]


def test_contacts_in_which_a_foot_is_not_seen_are_not_judged():
    hidden = {name: x.copy() for name, x in W.markers.items()}
    for name in [name for name in hidden if name.startswith("L") and name.endswith(("HEE", "TOE", "ANK"))]:
        hidden[name][len(hidden[name]) // 2 :] = np.nan
    walk = measure([recording(markers=hidden)], mass=CARRIED)
    assert not [line for line in walk.warnings if "from both feet" in line]


def test_the_time_between_two_contacts_counts_once():
    """On a plate that is not zeroed no force fades between them."""
    load = load_of(leg_of(recording(FORCE + 20.0 * up), "right"))
    assert load is not None and len(load.contacts) > 2
    between = np.convolve(FORCE[:, 1], np.ones(5), "same") == 0
    np.testing.assert_allclose(load.force[between, 1], 20.0, atol=1e-6)


def test_a_plate_is_not_doubted_for_a_foot_that_comes_and_goes():
    """A trial cut to one contact, whose faint samples are those of its beginning and its end."""
    share = np.linspace(0.04, 0.96, 700)
    force = np.outer(800.0 * np.sin(np.pi * share) ** 2, up)
    once = GroundReaction("plate 1", 1.0 + np.arange(700) / 1000.0, force, None)
    walk = measure([dataclasses.replace(recording(), forces=(once,))])
    assert not [line for line in walk.warnings if "zeroed" in line]


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_contacts_are_judged_by_their_own_plate_where_two_have_one_name():
    trial = recording()
    turned = trial.forces[0]._replace(force=0 * FORCE + np.array([0.0, 1.0, 9.0]))
    walk = measure([dataclasses.replace(trial, forces=(*trial.forces, turned))], mass=CARRIED)
    assert not [line for line in walk.warnings if "turned" in line]


def test_what_is_wrong_in_several_trials_is_said_once():
    """Other plates are other lines."""
    trials = [dataclasses.replace(recording(FORCE + more * up), name=f"walk {more}") for more in (20.0, 21.0, 22.0)]
    other = dataclasses.replace(trials[0], forces=(trials[0].forces[0]._replace(name="plate 12"),), name="other")
    warnings = [line for line in measure([*trials, other], mass=CARRIED).warnings if "is it zeroed" in line]
    shows = "plate {} shows +20 N while nobody is on it: is it zeroed?"
    assert warnings == [f"{shows.format(1)} (likewise in 2 more trials)", shows.format(12)]


def test_digits_within_names_of_markers_tell_warnings_apart():
    leg = leg_of(recording(), "right")
    lines = ["T10 moves by 3.5 mm", "T12 moves by 3.5 mm", "T10 moves by -4 mm"]
    assert merged_lines((leg, [line]) for line in lines) == [f"{lines[0]} (likewise in 1 more trial)", lines[1]]
    assert merged_lines([(leg, lines)]) == lines  # of one trial


def test_a_noisy_plate_is_not_used_for_events():
    """Noise that crosses the threshold all the time makes one contact of several strides."""
    w = walker.walker(duration=6.0)
    time, force, point = walker.pressed(w, 1000.0)
    noise = np.random.default_rng(0).normal(0.0, 40.0, force.shape)
    begins = (time > 0.2)[:, None]
    walk = measure(
        [
            Recording(
                "w",
                "w.trc",
                w.rate,
                w.time,
                w.markers,
                forces=(GroundReaction("1", time, (force + noise) * begins, point),),
            )
        ]
    )
    assert {*walk.events[0].sources} == {"motion"} and walk.period == pytest.approx(w.period, rel=0.01)
    assert any("in strides of 1.13 s, is not used: are both feet on the plate" in line for line in walk.warnings)


def test_a_contact_that_the_record_cuts_off_has_its_heel_strike():
    """The third heel strike is 40 ms before the end: two strides, the same from heel strike to heel strike."""
    w = walker.walker(duration=6.0)
    time, force, point = walker.pressed(w, 1000.0)
    end = 2 * w.period + 0.06
    part, ends = w.time <= end, time <= end
    markers = {k: x[part] for k, x in w.markers.items()}
    plate = GroundReaction("1", time[ends], force[ends], point[ends])
    walk = measure([Recording("w", "w.trc", w.rate, w.time[part], markers, forces=(plate,))])
    assert walk.events[0].sources[-1] == "force" and walk.events[0].strikes[-1] == pytest.approx(2 * w.period, abs=0.03)
