"""C3D files that ezc3d alone would silently misread, and those that cannot be read."""

import struct

import ezc3d
import numpy as np
import pytest

from jaxgait.motion import MotionFormatError
from jaxgait.motion.readers import c3d_order, c3d_process, c3d_repair, read_recording
from tests.motion import walker
from tests.motion.measured import RAW, needs_raw

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


def as_integers(c3d, tmp_path) -> Bytes:
    """The file with unsigned integers instead of floats."""
    trial = ezc3d.c3d(str(c3d))
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
    return file


def test_unsigned_integers(c3d, tmp_path):
    found, right = as_integers(c3d, tmp_path).read(tmp_path / "walk.c3d"), read_recording(c3d)
    np.testing.assert_allclose(found.forces[0].force, right.forces[0].force, atol=0.051)


def test_a_single_event_without_the_dimension_of_events():
    texts = {"LABELS": {"value": ["Foot Strike"]}, "CONTEXTS": {"value": ["Right"]}}
    for times in (np.array([1.0, 2.5]), np.array([[1.0], [2.5]])):  # minutes and seconds
        found = c3d_process.events({"EVENT": texts | {"TIMES": {"value": times}}})
        assert found == [["right", "Foot Strike", 62.5]]


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


@pytest.mark.parametrize("names", [("CHANNEL",), ("CHANNEL", "CORNERS", "ORIGIN")])
def test_parameters_of_a_single_plate_may_lack_the_dimension_of_plates(c3d, tmp_path, names):
    """As files have it whose writer drops last dimensions of 1: ezc3d reads beyond the one of the channels."""
    trial = ezc3d.c3d(str(c3d))
    plate = trial["parameters"]["FORCE_PLATFORM"]
    for name in names:
        plate[name]["value"] = plate[name]["value"][..., 0]
    trial.write(str(tmp_path / "walk.c3d"))
    right, found = read_recording(c3d), read_recording(tmp_path / "walk.c3d")
    np.testing.assert_array_equal(found.forces[0].force, right.forces[0].force)
    np.testing.assert_array_equal(found.forces[0].point, right.forces[0].point)
    assert not found.warnings


def of_processor(intel: bytes, processor: int) -> bytes:
    """The file as DEC (85) or MIPS (86) processors write it, by the places of its numbers in the C3D format."""
    raw, mips = bytearray(intel), processor == 86

    def integers(at: int, count: int):
        values = struct.unpack_from(f"<{count}H", intel, at)
        struct.pack_into(f"{'>' if mips else '<'}{count}H", raw, at, *values)

    def floats(at: int, count: int):
        values = np.frombuffer(intel, "<f4", count, at)
        halves = (4.0 * values).astype("<f4").view("<u2").reshape(-1, 2)[:, ::-1]
        raw[at : at + 4 * count] = values.astype(">f4").tobytes() if mips else halves.tobytes()

    start, data, scale = 512 * (raw[0] - 1), *struct.unpack_from("<H", intel, 16), *struct.unpack_from("<f", intel, 12)
    integers(2, 5), floats(12, 1), integers(16, 2), floats(20, 1), integers(294, 5), floats(304, 18)
    raw[start + 3], at, step = processor, start + 4, 1
    while step:
        length, number = struct.unpack_from("bb", intel, at)
        after = at + 2 + abs(length)
        step = struct.unpack_from("<H", intel, after)[0] if length else 0
        if length:
            integers(after, 1)
        if length and number > 0:
            kind, count = struct.unpack_from("bB", intel, after + 2)
            first = after + 4 + count
            {2: integers, 4: floats}.get(kind, lambda *_: None)(first, int(np.prod([*intel[after + 4 : first]])))
        at = after + step
    begin = 512 * (data - 1)
    floats(begin, (len(raw) - begin) // 4) if scale < 0 else integers(begin, (len(raw) - begin) // 2)
    return bytes(raw)


@pytest.mark.slow
@pytest.mark.parametrize("processor", [85, 86])
@pytest.mark.parametrize("kind", ["floats", "integers", "with offsets"])
def test_files_of_other_processors_are_read_alike(c3d, tmp_path, processor, kind):
    file = as_integers(c3d, tmp_path) if kind == "integers" else Bytes(c3d)
    if kind == "with offsets":  # ezc3d would take their absolute values
        file.put("ANALOG:OFFSET", "h", 0, 0, -10, 0, 0, 0)
    right = file.read(tmp_path / "intel.c3d")
    (tmp_path / "walk.c3d").write_bytes(of_processor(bytes(file.raw), processor))
    found = read_recording(tmp_path / "walk.c3d")
    assert found.markers.keys() == right.markers.keys() and found.subject == right.subject
    for name, x in right.markers.items():
        np.testing.assert_array_equal(found.markers[name], x)
    np.testing.assert_array_equal(found.forces[0].force, right.forces[0].force)
    np.testing.assert_array_equal(found.forces[0].point, right.forces[0].point)
    np.testing.assert_array_equal(found.forces[0].time, right.forces[0].time)


@pytest.mark.parametrize("processor", [c3d_order.DEC, c3d_order.MIPS])
def test_events_in_the_header_of_another_processor_are_those_of_intel(c3d, tmp_path, processor):
    raw = bytearray(c3d.read_bytes())
    struct.pack_into("<5H", raw, 294, 6, 7, 12345, 18, 9)
    struct.pack_into("<18f", raw, 304, *np.linspace(0.1, 1.8, 18))
    (tmp_path / "walk.c3d").write_bytes(of_processor(bytes(raw), processor))
    assert c3d_order.as_intel(tmp_path / "walk.c3d", tmp_path).read_bytes()[:512] == raw[:512]


@needs_raw
@pytest.mark.parametrize("processor", [85, 86])
def test_a_measured_file_of_another_processor_is_read_alike(tmp_path, processor):
    """Of integers."""
    (tmp_path / "walk.c3d").write_bytes(of_processor((RAW / "Eb015pi.c3d").read_bytes(), processor))
    found, right = read_recording(tmp_path / "walk.c3d"), read_recording(RAW / "Eb015pi.c3d")
    for name, x in right.markers.items():
        np.testing.assert_array_equal(found.markers[name], x)
    for ours, theirs in zip(found.forces, right.forces, strict=True):
        np.testing.assert_array_equal(ours.force, theirs.force)
    assert found.subject == right.subject and found.rate == right.rate


def test_a_broken_file_of_another_processor_is_said_to_be_broken(c3d, tmp_path):
    raw = of_processor(c3d.read_bytes(), 86)
    (tmp_path / "walk.c3d").write_bytes(raw[:1100])
    with pytest.raises(MotionFormatError, match=r"walk\.c3d: is broken"):
        read_recording(tmp_path / "walk.c3d")


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
