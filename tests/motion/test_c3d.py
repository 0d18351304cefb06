"""C3D files that ezc3d alone would silently misread, and those that cannot be read."""

import struct

import ezc3d
import numpy as np
import pytest

from jaxgait.motion import MotionFormatError
from jaxgait.motion.readers import c3d_process, c3d_repair, read_recording
from tests.motion import walker

W = walker.walker(duration=0.6)
SAMPLES = 10
"""Analog samples per frame."""


@pytest.fixture(scope="module")
def c3d(tmp_path_factory):
    path = tmp_path_factory.mktemp("c3d") / "walk.c3d"
    walker.c3d(W, path)
    return path


class Bytes:
    """The bytes of a C3D file, to be changed at the places of its parameters."""

    def __init__(self, path):
        self.head, self.raw = c3d_repair._head(path), bytearray(path.read_bytes())

    def put(self, name: str, form: str, *values):
        struct.pack_into(f"<{len(values)}{form}", self.raw, self.head.stored[name].at, *values)

    def rename(self, group: str, old: str, new: str):
        """In the record of a parameter: its name stands 2 bytes, its dimensions and type before the values."""
        at = self.raw.rindex(old.encode(), 0, self.head.stored[f"{group}:{old}"].at)
        self.raw[at : at + len(old)] = new.encode()

    def read(self, path):
        path.write_bytes(bytes(self.raw))
        return read_recording(path)


@pytest.mark.parametrize("rate", [99.9, 59.94, 33.3333, 250.0 / 3.0])
def test_analog_samples_per_frame_are_those_of_the_header(c3d, tmp_path, rate):
    """int(999.0 / 99.9) is 9 in single precision: ezc3d would read every frame from the second on at a wrong place."""
    right, file = read_recording(c3d), Bytes(c3d)
    file.put("POINT:RATE", "f", rate)
    file.put("ANALOG:RATE", "f", rate * SAMPLES)
    struct.pack_into("<f", file.raw, 20, rate)
    found = file.read(tmp_path / "walk.c3d")
    for name, x in right.markers.items():
        np.testing.assert_array_equal(found.markers[name], x)
    np.testing.assert_array_equal(found.forces[0].force, right.forces[0].force)
    np.testing.assert_allclose(found.forces[0].time, right.forces[0].time * 100.0 / rate, rtol=1e-6)
    assert not found.warnings


def test_an_analog_rate_that_the_header_denies(c3d, tmp_path):
    file = Bytes(c3d)
    file.put("ANALOG:RATE", "f", 500.0)
    found = file.read(tmp_path / "walk.c3d")
    np.testing.assert_array_equal(found.forces[0].force, read_recording(c3d).forces[0].force)
    (warning,) = found.warnings
    assert "ANALOG:RATE is 500 Hz" in warning and warning.endswith("1000 Hz is used")


@pytest.mark.parametrize("name", ["RATE", "OFFSET"])
def test_a_missing_parameter_of_the_analog_data_is_named(c3d, tmp_path, name):
    file = Bytes(c3d)
    file.rename("ANALOG", name, name[:-1] + "X")
    with pytest.raises(MotionFormatError, match=f"the parameter ANALOG:{name} is missing"):
        file.read(tmp_path / "walk.c3d")


def test_negative_offsets_are_subtracted(c3d, tmp_path):
    """Samples have the unit of forces here."""
    file, forces = Bytes(c3d), []
    for offset in (-10, 10):
        file.put("ANALOG:OFFSET", "h", 0, 0, offset, 0, 0, 0)
        forces.append(file.read(tmp_path / f"walk{offset}.c3d").forces[0].force[:, 2])
    np.testing.assert_allclose(np.subtract(*forces), -20.0, atol=1e-3)  # the plate's z is downward


def test_unsigned_integers(c3d, tmp_path):
    trial, right = ezc3d.c3d(str(c3d)), read_recording(c3d)
    trial["parameters"]["ANALOG"]["FORMAT"]["value"] = ["UNSIGNED"]
    trial.write(str(tmp_path / "walk.c3d"))
    file = Bytes(tmp_path / "walk.c3d")
    head, step = file.head, np.array([0.1, 0.1, 0.1, 100.0, 100.0, 100.0])
    width = 4 * head.header.points + head.header.analog
    start = 512 * (head.header.data - 1)
    frames = np.frombuffer(bytes(file.raw), "<f4", W.time.size * width, start).reshape(-1, width)
    points = frames[:, : -head.header.analog].reshape(W.time.size, -1, 4)
    analog = frames[:, -head.header.analog :].reshape(W.time.size, SAMPLES, 6)
    points = np.round(points * np.array([10.0, 10.0, 10.0, 0.0])).astype("<i2").reshape(W.time.size, -1)
    analog = (np.round(analog / step) + 40_000).astype("<u2").reshape(W.time.size, -1).view("<i2")
    file.raw[start:] = np.hstack([points, analog]).tobytes().ljust(len(file.raw) - start, b"\0")
    struct.pack_into("<f", file.raw, 12, 0.1)
    file.put("POINT:SCALE", "f", 0.1)
    file.put("ANALOG:SCALE", "f", *step)
    file.put("ANALOG:OFFSET", "H", *[40_000] * 6)
    found = file.read(tmp_path / "walk.c3d")
    np.testing.assert_allclose(found.forces[0].force, right.forces[0].force, atol=0.051)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_plates_with_four_sensors_below_their_surface(c3d, tmp_path, sign):
    """Type 3 of the C3D format: az0, the height of the sensors, has either sign; a and b keep theirs."""
    trial, (a, b, rise) = ezc3d.c3d(str(c3d)), (300.0, 200.0, 40.0)
    fx, fy, fz, mx, my, mz = trial["data"]["analogs"][0]  # moments about the point 40 mm below the surface
    tilt, roll = mx / (4.0 * b), my / (4.0 * a)
    sensors = [0.25 * fz + tilt - roll, 0.25 * fz + tilt + roll, 0.25 * fz - tilt + roll, 0.25 * fz - tilt - roll]
    columns = [0.5 * fx - mz / (2.0 * b), 0.5 * fx + mz / (2.0 * b), 0.5 * fy, 0.5 * fy, *sensors]
    trial["data"]["analogs"] = np.stack(columns)[None]
    analog, plate = trial["parameters"]["ANALOG"], trial["parameters"]["FORCE_PLATFORM"]
    for key, value in (("LABELS", [f"c{i}" for i in range(8)]), ("UNITS", ["N"] * 8), ("SCALE", [1.0] * 8)):
        analog[key]["value"] = value
    analog["OFFSET"]["value"], plate["TYPE"]["value"] = [0] * 8, np.array([3])
    plate["CHANNEL"]["value"] = 1 + np.arange(8)[:, None]
    plate["ORIGIN"]["value"] = np.array([[a], [b], [sign * rise]])
    trial.write(str(tmp_path / "walk.c3d"))
    (right,), (found,) = read_recording(c3d).forces, read_recording(tmp_path / "walk.c3d").forces
    np.testing.assert_allclose(found.point, right.point, atol=1e-4)


def test_big_endian_files_are_not_called_broken(c3d, tmp_path):
    file = Bytes(c3d)
    file.raw[512 * (file.raw[0] - 1) + 3] = 86
    with pytest.raises(MotionFormatError, match=r"is a big-endian C3D file .* not supported; convert it to the Intel"):
        file.read(tmp_path / "walk.c3d")


@pytest.mark.parametrize(
    ("words", "header", "first"),
    [([464, 1], 463, 65_999), ([201, 0], 200, 200), ([1, 0], 200, 200), ([], 200, 200), ([-5536, 0], 59_999, 59_999)],
)
def test_the_first_frame_may_exceed_16_bits(words, header, first):
    """TRIAL:ACTUAL_START_FIELD counts from 1; it counts only if the header, which counts from 0 here, agrees."""
    parameters = {"TRIAL": {"ACTUAL_START_FIELD": {"value": words}}}
    assert c3d_process.first_frame(parameters, header) == first


def test_subjects_of_a_file_are_not_mixed(tmp_path):
    trial = ezc3d.c3d()
    names = [f"{who}:{name}" for who in ("Anna", "Ben") for name in W.markers if (who, name) != ("Anna", "RTOE")]
    trial["parameters"]["POINT"]["RATE"]["value"] = [W.rate]
    trial["parameters"]["POINT"]["LABELS"]["value"] = names
    trial["parameters"]["POINT"]["UNITS"]["value"] = ["m"]
    trial["data"]["points"] = np.ones((4, len(names), W.time.size))
    trial.write(str(tmp_path / "walk.c3d"))
    with pytest.raises(MotionFormatError, match=r"2 subjects: Anna \(RASI, .*\), Ben \(RASI, .*\); export the trial"):
        read_recording(tmp_path / "walk.c3d")
