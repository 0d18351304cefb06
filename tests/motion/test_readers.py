"""Readers of recordings: what vendors write differently reads the same, and nothing crashes them."""

import dataclasses
import os
import pathlib
import subprocess
import sys
import time
import tracemalloc
import venv

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.reliability.damage import SEEDS, SMALL, mutated, mutated_c3d, survives
from jaxgait.motion import MotionFormatError
from jaxgait.motion.readers import c3d, read_recording
from jaxgait.motion.recording import Recording, with_forces
from tests.motion import walker
from tests.motion.measured import RAW, needs_raw

W = walker.walker(duration=0.6)
TRC, CSV, MOT = walker.trc(W), walker.csv(W), walker.mot(W)


def _read(tmp_path, text, name="walk.trc"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_recording(path)


def _same(recording: Recording, tolerance: float = 1e-8):
    assert recording.rate == 100 and recording.frames == W.time.size
    assert set(W.markers) <= set(recording.markers)
    for name, x in W.markers.items():
        np.testing.assert_allclose(recording.markers[name], x, atol=tolerance)


def _spaced(text: str) -> str:
    """Vendors that pad cells, put one tab between labels, and number coordinates from somewhere else."""
    lines = text.split("\n")
    lines[3] = "\t".join(cell for cell in lines[3].split("\t") if cell)
    lines[4] = lines[4].replace("X1\t", "X7\t")
    return "\n".join(lines[:5] + ["\t".join(f" {cell} " for cell in line.split("\t")) for line in lines[6:-1]])


def _doubled(text):
    lines = text.split("\n")
    lines[2] = lines[2].replace("\t", "\t\t")
    return "\n".join(lines)


VARIANTS = {
    "as it is": TRC,
    "Windows line ends": TRC.replace("\n", "\r\n"),
    "old Mac line ends": TRC.replace("\n", "\r"),
    "byte order mark": b"\xef\xbb\xbf" + TRC.encode(),
    "UTF-16": TRC.encode("utf-16"),
    "decimal commas": TRC.replace(".", ","),
    "no empty line under the labels": TRC.replace("\n\n", "\n"),
    "other spacing and numbering": _spaced(TRC),
    "wrong counts": TRC.replace(f"\t{W.time.size}\t{len(W.markers)}\tmm", "\t900\t3\tmm"),
    "tabs behind every row": TRC.replace("\n", "\t\t\n"),
    "times in whole milliseconds": walker.trc(W, time_digits=2),
    "metres under mm": walker.trc(W, unit=1.0, digits=9),
    "doubled tabs in the header": _doubled(TRC),
    "header without tabs": TRC.replace("\t", " ", 16),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_trc_of_every_vendor_reads_the_same(name, tmp_path):
    _same(_read(tmp_path, VARIANTS[name]))


@pytest.mark.parametrize(
    ("name", "text", "tolerance"),
    [
        ("walk.csv", CSV, 1e-7),
        ("walk.txt", walker.csv(W, "\t"), 1e-7),
        ("walk.csv", walker.csv(W, ";", comma=True), 1e-7),
        ("walk.txt", walker.csv(W, "  "), 1e-7),
        ("walk.csv", "% " + CSV.replace(".X", "_X_m").replace(".Y", "_Y_m").replace(".Z", "_Z_m"), 1e-7),
        ("walk.csv", walker.vicon(W), 1e-7),
        ("walk.tsv", walker.qualisys(W), 1e-7),
        ("walk.csv", walker.optitrack(W), 1e-7),
        ("walk.txt", walker.visual3d(W), 1e-7),
        ("walk.csv", TRC, 1e-8),
    ],
    ids=["csv", "tabs", "semicolons", "blanks", "units", "vicon", "qualisys", "optitrack", "visual3d", "trc as csv"],
)
def test_columns_of_every_kind_read_the_same(name, text, tolerance, tmp_path):
    _same(_read(tmp_path, text, name), tolerance)


@pytest.mark.parametrize("text", [walker.optitrack(W), walker.visual3d(W)], ids=["optitrack", "visual3d"])
def test_times_that_a_program_writes_are_used(text, tmp_path):
    assert not any("no times" in note for note in _read(tmp_path, text, "walk.txt").notes)


@pytest.mark.parametrize("start", ["PKNE.X,PKNE.Y,PKNE.Z,time\n", "MATLAB export\nx.X,x.Y,x.Z,time\n"])
def test_text_that_begins_as_the_name_of_a_format_is_text(start, tmp_path):
    assert _read(tmp_path, start + "1,2,3,0.00\n1,2,4,0.01\n", "a.csv").rate == pytest.approx(100.0)


def test_c3d_reads_back(tmp_path):
    walker.c3d(W, tmp_path / "walk.c3d")
    found = read_recording(tmp_path / "walk.c3d")  # single precision, in mm, z up
    _same(dataclasses.replace(found, markers={k: x[:, [0, 2, 1]] * [1, 1, -1] for k, x in found.markers.items()}), 1e-6)
    assert found.subject["name"] == "Jo"


@pytest.mark.parametrize("degrees", [True, False])
def test_angles_are_read_in_rad(degrees, tmp_path):
    found = _read(tmp_path, walker.mot(W, degrees), "ik.mot")
    np.testing.assert_allclose(found.angles["hip_flexion_r"], W.thigh, atol=1e-9)
    np.testing.assert_allclose(found.angles["pelvis_ty"], W.hip[:, 1] + 0.0661, atol=1e-9)


def test_what_stands_before_the_trajectories_is_not_dropped_without_a_word(tmp_path):
    text = walker.vicon(W)
    found = _read(tmp_path, "Events\n100\nSubject,Context\nJo,Left\n\n" + text, "walk.csv")
    _same(found, 1e-7)
    assert "not read: the sections Events" in found.notes
    assert "not read: 2 lines before the first section" in _read(tmp_path, "of Anna\n\n" + text, "walk.csv").notes
    assert not any("not read" in note for note in _read(tmp_path, text, "walk.csv").notes)


@pytest.mark.parametrize("count", [1, 3])
def test_first_rows_of_one_cell_are_named(tmp_path, count):
    lines = walker.mot(W, degrees=False).splitlines()
    at = lines.index("endheader") + 2
    lines[at : at + count] = [line.split("\t")[0] for line in lines[at : at + count]]
    with pytest.raises(MotionFormatError, match=rf"line {at + 1}: 1 cell where \d+ are expected; write NaN into gaps"):
        _read(tmp_path, "\n".join(lines), "ik.mot")


def test_gaps_are_nan(tmp_path):
    lines = TRC.split("\n")
    row = lines[10].split("\t")
    lines[10] = "\t".join([*row[:2], "", "", "", "0.0", "0.000", "0", *row[8:]])
    found = _read(tmp_path, "\n".join(lines))
    first, second = list(W.markers)[:2]
    assert np.isnan(found.markers[first][4]).all() and np.isnan(found.markers[second][4]).all()
    assert np.isfinite(found.markers[first][[3, 5]]).all()
    assert any("0, 0, 0" in note for note in found.notes)


def test_missing_frames_are_gaps_and_uneven_ones_are_resampled(tmp_path):
    lines = TRC.split("\n")
    found = _read(tmp_path, "\n".join(lines[:20] + lines[23:]))
    assert found.frames == W.time.size
    assert np.isnan(found.markers["RASI"][14:17]).all() and np.isfinite(found.markers["RASI"][[13, 17]]).all()
    assert found.warnings == ()  # not that it ends early
    assert _read(tmp_path, "\n".join(lines[:20] + lines[23:]).rstrip("\n")).frames == W.time.size  # no line end
    jitter = 0.002 * np.sin(np.arange(W.time.size) * 2.3)
    rows = [
        f"{W.time[i] + jitter[i]:.7f},{','.join(line.split(',')[1:])}" for i, line in enumerate(CSV.split("\n")[1:])
    ]
    found = _read(tmp_path, "\n".join([CSV.split("\n")[0], *rows]), "walk.csv")
    assert any("uneven" in note and "resampled" in note for note in found.notes)


@pytest.mark.parametrize("quaternions", [True, False])
def test_rotations_and_bones_are_no_markers(quaternions, tmp_path):
    plain = _read(tmp_path, walker.optitrack(W), "plain.csv")
    found = _read(tmp_path, walker.motive_skeleton(W, quaternions), "skeleton.csv")
    assert found.markers.keys() == plain.markers.keys() and not found.angles
    for name, x in plain.markers.items():
        np.testing.assert_array_equal(found.markers[name], x)
    assert "not read: columns labelled bone" in found.notes


def test_a_column_may_be_called_position(tmp_path):
    rows = [f"{0.01 * i:.2f},{0.1 * i:.1f},{i}" for i in range(20)]
    found = _read(tmp_path, "\n".join(["time,position,knee_angle_r_deg", *rows]), "plain.csv")
    assert {"position", "knee_angle_r_deg"} & {*found.angles} and found.rate == pytest.approx(100.0)
    assert not [note for note in found.notes if "not read" in note]


def test_every_second_frame_may_end_early_too(tmp_path):
    lines = TRC.split("\n")
    head, rows = lines[:6], [line for line in lines[6:] if line.strip()]
    numbered = [f"{2 * i + 1}\t{row.split(chr(9), 1)[1]}" for i, row in enumerate(rows)]
    whole, short = ("\n".join([*head, *part, ""]) for part in (numbered, numbered[: int(0.7 * len(rows))]))
    assert not [line for line in _read(tmp_path, whole).warnings if "ends early" in line]
    assert [line for line in _read(tmp_path, short).warnings if "ends early" in line]


def test_stated_and_found_units_are_reported(tmp_path):
    found = _read(tmp_path, VARIANTS["metres under mm"])
    assert "the header states mm" in found.warnings[0] and "taken as m" in found.warnings[0]
    assert any("it is m" in note for note in _read(tmp_path, CSV, "walk.csv").notes)
    notes = _read(tmp_path, VARIANTS["doubled tabs in the header"]).notes
    assert not [note for note in notes if "header" in note or "unit" in note]
    found = _read(tmp_path, VARIANTS["wrong counts"])
    assert found.warnings == (f"the file ends early: {W.time.size} of 900 frames are there",)
    assert "the header counts 3 markers" in found.notes[0]


@pytest.mark.parametrize("name", ["walk.trc", "walk.mot", "walk.tsv"])
def test_a_text_file_that_ends_early_is_warned_of_and_a_number_cut_in_half_is_not_used(name, tmp_path):
    whole = {"walk.trc": TRC, "walk.mot": MOT, "walk.tsv": walker.qualisys(W)}[name]
    lines = whole.split("\n")
    last = len(lines) - 22  # of the rows that remain
    short = "\n".join(lines[: last + 1])
    early = lambda frames: (f"the file ends early: {frames} of {W.time.size} frames are there",)
    told = lambda text: tuple(line.replace("rows", "frames") for line in _read(tmp_path, text, name).warnings)
    assert told(whole) == told(whole.rstrip("\n")) == ()
    assert told(short + "\n") == early(W.time.size - 20)
    for cut in (short[:-5], short[:-60]):  # within the last number, and before some others
        found = _read(tmp_path, cut, name)
        assert found.frames == W.time.size - 21 and told(cut) == early(found.frames)
        assert any(f"line {last + 1}, the last, " in note and "left out" in note for note in found.notes)
    two = whole.split("\n")[: len(lines) - W.time.size + 1]
    with pytest.raises(MotionFormatError, match="fewer than two whole rows of numbers; export all frames"):
        _read(tmp_path, "\n".join(two), name)


def test_an_excerpt_with_the_header_of_the_whole_trial_does_not_end_early(tmp_path):
    lines = TRC.split("\n")
    found = _read(tmp_path, "\n".join([*lines[:6], *lines[20:50]]) + "\n")
    assert found.warnings == () and f"counts {W.time.size} frames, the file has 30" in found.notes[0]


def _cell(text: str, line: int, column: int, content: str, delimiter: str = "\t") -> str:
    lines = text.split("\n")
    row = lines[line].split(delimiter)
    row[column] = content
    lines[line] = delimiter.join(row)
    return "\n".join(lines)


BROKEN = {
    "empty": ("walk.trc", "", "is empty"),
    "blank": ("walk.csv", " \n\n", "is empty"),
    "decimal commas between commas": (
        "walk.csv",
        CSV.replace(".", ","),
        "line 2: 134 cells under 133 labels; label every column; decimal commas need ';' or tabs between the cells",
    ),
    "whole seconds": (
        "a.csv",
        "time,knee_flexion\n" + "".join(f"{i // 100},{i}\n" for i in range(300)),
        "most frames have the time of the frame before",
    ),
    "a word": ("walk.trc", _cell(TRC, 12, 5, "oops"), "line 13: 'oops' in column 6 is not a number"),
    "a word in the first row": ("walk.trc", _cell(TRC, 6, 1, "oops"), "line 7: 'oops' in column 2 is not a number"),
    "no number in the first time": ("a.csv", "time,knee_flexion\n?,1\n0.1,2\n0.2,3", "line 2: '?' in column 1 is not"),
    "the same in a MOT": ("a.mot", "endheader\ntime knee_angle_r\nzero 1\n0.1 2\n0.2 3", "line 3: 'zero' in column 1"),
    "too many cells": ("walk.trc", _cell(TRC, 12, 5, "1\t2\t3"), "line 13: 70 cells where 68 are expected"),
    "no labels": ("walk.trc", "\n".join(TRC.split("\n")[6:]), "no line of labels"),
    "no rows": ("walk.trc", "\n".join(TRC.split("\n")[:6]), "no rows of numbers"),
    "time goes back": ("walk.trc", _cell(TRC, 12, 1, "9.0"), "time goes from 9 to 0.07"),
    "milliseconds": (
        "plate.csv",
        "\n".join(["time,Fx,Fy,Fz", *(f"{10 * i},1,0,700" for i in range(50))]),
        "line 3, column time: frames are 10 s apart, too far to show a walk; milliseconds? divide by 1000",
    ),
    "numbers of frames": (
        "plate.csv",
        "\n".join(["time,Fx,Fy,Fz", *(f"{i},1,0,700" for i in range(50))]),
        "name the column time_ms; numbers of frames? divide by their rate",
    ),
    "too uneven": ("walk.csv", _cell(CSV, 12, 0, "0.1042", ","), "too uneven"),
    "a picture": ("walk.trc", b"\x89PNG\r\n\x1a\n\x00\x00" + bytes(600), "is not a text file"),  # C3D: second byte P
    "a workbook": ("walk.csv", b"PK\x03\x04", "an Excel or OpenDocument workbook"),
    "no C3D": ("walk.c3d", TRC, "is not a C3D file"),
    "a short C3D": ("walk.c3d", b"\x02\x50" + bytes(600), "is not a C3D file"),
    "an empty C3D": ("walk.c3d", b"\x02\x50" + bytes(2000), "is broken"),
    "no body": ("walk.trc", walker.trc(W, unit=1e6), "which is not the size of a body in m, cm or mm"),
    "points and commas": ("walk.csv", walker.csv(W, ";") + "\n" + "1,0;" * 90 + "1,0", "decimal commas"),
    "no times": ("walk.csv", CSV.replace("time", "moment", 1), "no times and no rate"),
    "per cent of a stride": (
        "angles.txt",
        "ITEM\tknee_angle_r\n" + "".join(f"{i}\t{i % 7}\n" for i in range(101)),
        "if the 101 rows are per cent of one stride, time_s is percent / 100 * stride time",
    ),
    "prose": ("walk.txt", "Dear colleague,\nplease find attached\n", "no rows of numbers"),
    "a delimiter in a label": (
        "a.csv",
        "time,knee, right,hip_flexion_r,ankle_angle_r\n" + "".join(f"{0.01 * i:.2f},1,2,3\n" for i in range(30)),
        "line 2: 4 cells under 5 labels, as in 30 of 30 rows; write one label over every column (in quotation marks if",
    ),
    "nearly all rows too short": (
        "walk.trc",
        "\n".join(
            line if i in (0, 1, 2, 3, 4, 5, 9) else line.rpartition("\t")[0] for i, line in enumerate(TRC.split("\n"))
        ),
        "line 7: 67 cells under 68 labels, as in ",
    ),
    "a label too few": (
        "a.csv",
        "time,knee_flexion\n" + "".join(f"{0.01 * i:.2f},1,2\n" for i in range(30)),
        "line 2: 3 cells under 2 labels; label every column",
    ),
    "a marker more than labels": (
        "walk.trc",
        "\n".join(line + "\t1\t2\t3" * (i > 5) for i, line in enumerate(TRC.rstrip("\n").split("\n"))).replace(
            f"\t{len(W.markers)}\tmm", f"\t{len(W.markers) + 1}\tmm"
        ),
        f"line 4: {len(W.markers)} labels of markers, but the header counts {len(W.markers) + 1} and rows have more",
    ),
    "many columns": ("walk.csv", "t," * 30_000 + "\n" + "1," * 30_000 + "\n" + "2," * 30_000, "more than 20000 cells"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_one_line(name, tmp_path):
    file, content, message = BROKEN[name]
    with pytest.raises(MotionFormatError) as error:
        _read(tmp_path, content, file)
    text = str(error.value)
    assert text.startswith(str(tmp_path / file)) and message in text and "\n" not in text
    assert error.value.advice


def test_folders_missing_files_and_special_files(tmp_path):
    with pytest.raises(MotionFormatError, match="is a folder; name a C3D"):
        read_recording(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_recording(tmp_path / "nobody.trc")
    with pytest.raises(MotionFormatError, match="is not a regular file"):
        read_recording("/dev/null")


@pytest.mark.parametrize("name", ["walk.trc", "walk.c3d"])
def test_a_file_that_may_not_be_read(name, tmp_path, monkeypatch):
    (tmp_path / name).write_text(TRC)

    def forbidden(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(pathlib.Path, "open", forbidden)
    with pytest.raises(MotionFormatError, match="may not be read; ask its owner"):
        read_recording(tmp_path / name)


def test_oversized_files_are_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr("jaxgait.motion.readers.MAX_BYTES", 1000)
    monkeypatch.setattr("jaxgait.motion.readers.c3d.MAX_BYTES", 1000)
    with pytest.raises(MotionFormatError, match="is larger than"):
        _read(tmp_path, TRC)
    walker.c3d(W, tmp_path / "walk.c3d")
    with pytest.raises(MotionFormatError, match="is larger than"):
        read_recording(tmp_path / "walk.c3d")


def test_a_reader_that_hangs_is_stopped(tmp_path, monkeypatch):
    walker.c3d(W, tmp_path / "walk.c3d")
    (tmp_path / "slow.py").write_text("import time; time.sleep(60)")
    monkeypatch.setattr("jaxgait.motion.readers.c3d._CHILD", tmp_path / "slow.py")
    monkeypatch.setattr("jaxgait.motion.readers.c3d.BASE_TIMEOUT", 0.5)
    with pytest.raises(MotionFormatError, match=r"could not be read in 0\.5 s"):
        read_recording(tmp_path / "walk.c3d")


def test_a_large_file_has_time_in_proportion(tmp_path, monkeypatch):
    """Five minutes on two plates at 1 kHz have 28 MB, which take 7 s on a free processor and 25 s on a busy one."""

    def late(*_, timeout, **__):
        raise subprocess.TimeoutExpired("ezc3d", timeout)

    monkeypatch.setattr("jaxgait.motion.readers.c3d.subprocess.run", late)
    with pytest.raises(MotionFormatError, match=r"could not be read in 48 s; .* less busy"):
        c3d._extract(tmp_path / "walk.c3d", tmp_path / "walk.c3d", tmp_path, 28 * 10**6)


@pytest.mark.parametrize("code", ["import os; os.abort()", "import resource; x = bytes(2**40)"])
def test_a_reader_that_crashes_is_an_error(code, tmp_path, monkeypatch):
    walker.c3d(W, tmp_path / "walk.c3d")
    (tmp_path / "bad.py").write_text(code)
    monkeypatch.setattr("jaxgait.motion.readers.c3d._CHILD", tmp_path / "bad.py")
    with pytest.raises(MotionFormatError, match="is broken: the reader stopped with code"):
        read_recording(tmp_path / "walk.c3d")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import no_such_library", "ModuleNotFoundError: No module named 'no_such_library'"),
        ("print('half a line'); raise OSError(28, 'No space left')", "OSError: [Errno 28] No space left"),
        ("import sys; sys.exit(5)", "code 5"),
    ],
)
def test_a_reader_that_fails_does_not_blame_the_file(code, message, tmp_path, monkeypatch):
    walker.c3d(W, tmp_path / "walk.c3d")
    (tmp_path / "failing.py").write_text(code)
    monkeypatch.setattr("jaxgait.motion.readers.c3d._CHILD", tmp_path / "failing.py")
    with pytest.raises(MotionFormatError) as error:
        read_recording(tmp_path / "walk.c3d")
    assert error.value.what == f"cannot be read: the reader failed ({message})"
    assert "install ezc3d again" in error.value.advice


@pytest.mark.slow
def test_the_reader_finds_libraries_where_this_process_does(tmp_path):
    """As on clusters, where modules of the environment set PYTHONPATH: the interpreter itself has no libraries."""
    walker.c3d(W, tmp_path / "walk.c3d")
    venv.create(tmp_path / "bare", symlinks=os.name != "nt")
    python = tmp_path / "bare" / ("Scripts" if os.name == "nt" else "bin") / "python"
    code = "import sys; from jaxgait.motion.readers import read_recording; print(read_recording(sys.argv[1]).frames)"
    folders = os.pathsep.join(os.path.abspath(folder) for folder in sys.path)
    ran = subprocess.run(
        [python, "-c", code, tmp_path / "walk.c3d"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": folders},
        check=False,
    )
    assert (ran.stdout.strip(), ran.returncode) == (str(W.time.size), 0), ran.stderr
    isolated = subprocess.run([python, "-I", "-c", "import ezc3d"], capture_output=True, check=False)
    assert b"No module named 'ezc3d'" in isolated.stderr


def test_files_in_the_current_folder_are_no_libraries_of_the_reader(tmp_path, monkeypatch):
    walker.c3d(W, tmp_path / "walk.c3d")
    for name in ("ezc3d", "numpy", "resource", "struct"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('a file of the user')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", ".", *sys.path])
    assert read_recording("walk.c3d").frames == W.time.size


def test_forces_of_another_time_are_not_taken(tmp_path):
    markers, forces = _read(tmp_path, TRC), _read(tmp_path, walker.forces(W), "grf.mot")
    assert len(with_forces(markers, forces).forces) == 1
    late = Recording(
        "late", "late.mot", 100.0, W.time, forces=(forces.forces[0]._replace(time=forces.forces[0].time + 9),)
    )
    with pytest.raises(MotionFormatError, match=r"late.mot: its forces cover 9\.000 to"):
        with_forces(markers, late)
    with pytest.raises(MotionFormatError, match="contains no ground forces"):
        with_forces(markers, markers)


# --- whatever the bytes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SEEDS)
def test_mutated_files_are_read_or_raise(name, tmp_path):
    rng = np.random.default_rng(7)
    assert survives(tmp_path / name, SEEDS[name])
    for _ in range(60):
        survives(tmp_path / name, mutated(SEEDS[name], rng))


@pytest.mark.slow
@pytest.mark.parametrize("name", SEEDS)
def test_many_mutated_files_are_read_or_raise(name, tmp_path):
    rng = np.random.default_rng(11)
    slowest = 0.0
    for i in range(3500):
        start = time.process_time()
        data = mutated(SEEDS[name], rng)
        if i % 50 == 0:
            tracemalloc.start()
        survives(tmp_path / name, data)
        if i % 50 == 0:
            # The table of a small file is small compared with what Python needs for anything.
            assert tracemalloc.get_traced_memory()[1] < 100 * len(data) + 2**20
            tracemalloc.stop()
        slowest = max(slowest, time.process_time() - start)
    assert slowest < 5.0  # of the processor: other work on the machine does not count


@given(st.binary(max_size=400), st.sampled_from(["a.trc", "a.csv", "a.mot", "a.c3d"]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_read_or_raise(tmp_path, data, name):
    survives(tmp_path / name, data)


def _c3d_mutations(tmp_path, count: int) -> None:
    walker.c3d(SMALL, tmp_path / "seed.c3d")
    seed, rng = (tmp_path / "seed.c3d").read_bytes(), np.random.default_rng(3)
    for _ in range(count):
        survives(tmp_path / "walk.c3d", mutated_c3d(seed, rng))


def test_mutated_c3d_files_are_read_or_raise(tmp_path):
    _c3d_mutations(tmp_path, 6)


@pytest.mark.slow
def test_many_mutated_c3d_files_are_read_or_raise(tmp_path):
    _c3d_mutations(tmp_path, 300)


@given(
    st.integers(2, 12),
    st.integers(3, 5),
    st.sampled_from([25.0, 59.94, 100.0, 120.0, 250.0]),
    st.sampled_from([",", ";", "\t"]),
    st.booleans(),
    st.integers(0, 2**31),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read(tmp_path, frames, count, rate, delimiter, crlf, seed):
    rng = np.random.default_rng(seed)
    markers = {f"M{i}": rng.uniform(-0.2, 0.2, (frames, 3)) + np.array([0, 0.5 * i, 0]) for i in range(count)}
    w = walker.Walker(np.arange(frames) / rate, rate, markers, *([None] * 3), 1.0, 1.0, None, None)
    text = walker.csv(w, delimiter, comma=delimiter != ",")
    found = _read(tmp_path, text.replace("\n", "\r\n") if crlf else text, "w.csv")
    assert abs(found.rate - rate) < 1e-3 * rate
    for name, x in markers.items():
        np.testing.assert_allclose(found.markers[name] / 1.0, x, atol=1e-6)


# --- real files, and another reader -----------------------------------------------------------------------------------


@needs_raw
@pytest.mark.parametrize(
    ("name", "rate", "frames", "markers", "forces"),
    [
        ("bmc_Gait.c3d", 100, 487, 33, 2),
        ("Eb015pi.c3d", 50, 450, 26, 2),
        ("rajagopal_markers_walk.trc", 100, 238, 41, 0),
        ("subject01_static.trc", 60, 300, 49, 0),
        ("subject01_walk_free_01.trc", 60, 73, 41, 0),
        ("rajagopal_grf_walk.mot", 2000, 4778, 0, 2),
        ("subject01_walk1_grf.mot", 600, 1501, 0, 2),
        ("gatk_rawdata.txt", 100, 301, 6, 1),
        ("subject01_walk_IK.mot", 60, 151, 0, 0),
        ("std_subject01_walk1_ik.mot", 60, 73, 0, 0),
    ],
)
def test_measured_files(name, rate, frames, markers, forces):
    found = read_recording(RAW / name)
    assert (found.rate, found.frames, len(found.markers), len(found.forces)) == (rate, frames, markers, forces)


OPENSIM = """
import sys, json, opensim
t = opensim.TimeSeriesTableVec3(sys.argv[1]) if sys.argv[1].endswith("trc") else opensim.TimeSeriesTable(sys.argv[1])
names = list(t.getColumnLabels())
cell = lambda x: [x.get(i) for i in range(3)] if hasattr(x, "get") else x
rows = [t.getRowAtIndex(i) for i in (0, t.getNumRows() // 2, t.getNumRows() - 1)]
print("\\nJSON", json.dumps([names, t.getNumRows(), [[cell(r.getElt(0, j)) for j in range(len(names))] for r in rows]]))
"""


def _by_opensim(path: pathlib.Path):
    """Names, rows and three rows as OpenSim's own reader has them, in a process of its own; skips where it is not."""
    import json
    import os

    python = os.environ.get("JAXGAIT_OPENSIM_PYTHON", sys.executable)
    done = subprocess.run([python, "-c", OPENSIM, str(path)], capture_output=True, text=True, timeout=120, check=False)
    if "No module named 'opensim'" in done.stderr:
        pytest.skip("opensim is not installed (JAXGAIT_OPENSIM_PYTHON names a Python that has it)")
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("JSON"))
    return json.loads(line.removeprefix("JSON"))


@needs_raw
@pytest.mark.parametrize("name", ["rajagopal_markers_walk.trc", "subject01_static.trc"])
def test_markers_are_those_of_opensim(name):
    names, rows, values = _by_opensim(RAW / name)
    found = read_recording(RAW / name)
    assert rows == found.frames and names == list(found.markers)
    ours = np.stack([[found.markers[n][i] for n in names] for i in (0, rows // 2, rows - 1)])
    np.testing.assert_allclose(1e-3 * np.array(values, float), ours, atol=1e-9)


@needs_raw
def test_angles_are_those_of_opensim():
    names, rows, values = _by_opensim(RAW / "subject01_walk_IK.mot")
    found = read_recording(RAW / "subject01_walk_IK.mot")
    assert rows == found.frames and set(names) == set(found.angles)
    for j, n in enumerate(names):
        ours = found.angles[n][[0, rows // 2, rows - 1]]
        scale = 1.0 if "_t" in n and not n.endswith("tilt") else np.pi / 180
        np.testing.assert_allclose([scale * row[j] for row in values], ours, atol=1e-9)


def test_unlabelled_markers_behind_the_labelled_ones_are_noted(tmp_path):
    """Cortex writes as many of them as it saw in each frame."""
    lines = TRC.split("\n")
    extra = [line + "\t1\t2\t3" * (i % 3) for i, line in enumerate(lines[6:-1])]
    found = _read(tmp_path, "\n".join(lines[:6] + extra))
    _same(found)
    assert any("40 rows continue after the last label" in note for note in found.notes)


def test_frame_1_is_at_the_start(tmp_path):
    """So that frames without times are those of forces that start at 0 s, and of a C3D file."""
    lines = walker.csv(W).splitlines()
    head, rows = lines[0].split(",")[1:], [line.split(",", 1)[1] for line in lines[1:]]
    for first in (0, 1):
        text = "\n".join(
            [f"rate: {W.rate:g} Hz", ",".join(["Frame", *head]), *(f"{i},{r}" for i, r in enumerate(rows, first))]
        )
        assert _read(tmp_path, text, "walk.csv").time[0] == 0.0


def test_an_empty_cell_in_the_header_of_a_trc_file_moves_no_other(tmp_path):
    lines = walker.trc(W).splitlines()
    keys, values = (line.split("\t") for line in lines[1:3])
    values[keys.index("Units")] = ""
    found = _read(tmp_path, "\n".join([*lines[:2], "\t".join(values), *lines[3:]]), "walk.trc")
    assert found.rate == W.rate and not any("is not known" in note for note in found.notes)


def test_frames_of_a_trc_file_without_times(tmp_path):
    lines = walker.trc(W).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("1\t"))
    cells = [line.split("\t") for line in lines[at:]]
    blank = ["\t".join([row[0], "", *row[2:]]) for row in cells]
    found = _read(tmp_path, "\n".join([*lines[:at], *blank]), "walk.trc")
    np.testing.assert_allclose(found.time, W.time, atol=1e-9)
    assert "no times are written: (frame - 1) / DataRate is used" in found.notes


def test_a_trc_header_with_tabs_above_blanks(tmp_path):
    lines = walker.trc(W).splitlines()
    mixed = [*lines[:2], lines[2].replace("\t", " "), *lines[3:]]
    found, same = _read(tmp_path, "\n".join(mixed), "walk.trc"), _read(tmp_path, walker.trc(W), "walk.trc")
    np.testing.assert_array_equal(found.markers["RASI"], same.markers["RASI"])
    assert found.rate == same.rate and found.notes == same.notes


@pytest.mark.parametrize(
    "line",
    [
        "# frame rate: 100 Hz, analog rate: 1000 Hz",
        "# analog rate: 1000 Hz, frame rate: 100 Hz",
        "# sampling rate: 100 Hz, cutoff frequency: 6 Hz",
        "# low-pass frequency: none, frame rate: 100",
        "# camera rate 100, low-pass frequency 8",
        "# low-pass frequency 8\n# camera rate 100",
        "Capture Frame Rate,200,Export Frame Rate,100",
    ],
)
def test_the_rate_of_the_frames_is_no_other_one(tmp_path, line):
    head, *rows = CSV.rstrip("\n").split("\n")
    numbered = [f"{i},{row.partition(',')[2]}" for i, row in enumerate(rows, 1)]
    path = tmp_path / "walk.csv"
    path.write_text("\n".join([line, head.replace("time", "Frame", 1), *numbered]))
    assert read_recording(path).rate == 100.0
