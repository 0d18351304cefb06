"""Gaps of one stride in columns: filled as those of markers, in files and tables alike."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

from jaxgait.motion import MotionFormatError, MotionWarning
from jaxgait.motion.capture.smoothing import MAX_GAP, fill
from jaxgait.motion.embedded import REFERENCE_GAITS
from jaxgait.motion.gaps import without_gaps
from jaxgait.motion.stride import embedded_stride, read_stride, table_stride


def test_gaps_are_filled_by_one_rule_in_files_and_tables(tmp_path):
    """Up to 0.2 s, whether values or rows are missing; one row was left out, two were, and three were an error."""
    gait = embedded_stride("rajagopal_1.26ms")
    whole = pd.DataFrame({"time_s": gait.time, **gait.signals})
    holed = whole.assign(knee_rad=whole.knee_rad.mask((whole.index >= 40) & (whole.index < 56)))
    for table, name in ((holed, "knee_rad"), (whole.drop(index=range(40, 56)), "all columns")):
        (tmp_path / "a.csv").write_text("# speed_m_s=1.26\n" + table.to_csv(index=False))
        remark = f"gaps are filled: {name} 0.18 s from 0.4508 s"
        with pytest.warns(MotionWarning, match=rf"a\.csv: {remark}"):
            read = read_stride(tmp_path / "a.csv")
        with pytest.warns(MotionWarning, match=f"table: {remark}"):
            given = table_stride(table, speed=1.26)
        for stride in (read, given):
            assert stride.time.size == 101
            np.testing.assert_allclose(stride.signals["knee_rad"], gait.signals["knee_rad"], atol=np.radians(5))
    for row, end in ((0, "start"), (100, "end")):
        with pytest.raises(MotionFormatError, match=f"knee_rad: no value at the {end} of the stride"):
            table_stride(whole.assign(knee_rad=whole.knee_rad.mask(whole.index == row)), speed=1.26)


@pytest.mark.parametrize(
    ("column", "rows", "message"),
    [
        ("time_s", [0], "no time at the start of the stride"),
        ("time_s", [98, 99, 100], "no time at the end of the stride"),
        ("time_s", list(range(101)), "no times; give the time of every row"),
    ],
)
def test_times_must_not_lack_at_the_ends(column, rows, message):
    gait = embedded_stride("rajagopal_1.26ms")
    table = pd.DataFrame({"time_s": gait.time, **gait.signals})
    table.loc[rows, column] = np.nan
    with pytest.raises(MotionFormatError, match=message):
        table_stride(table, speed=1.26)


def test_a_gap_of_a_force_is_interpolated_linearly():
    gait = embedded_stride("rajagopal_1.26ms")
    force = np.where(np.arange(101) < 50, 700.0, 0.0)
    force[48:52] = np.nan
    table = {"time_s": gait.time, **gait.signals, "ground_x_N": np.zeros(101), "ground_y_N": force}
    with pytest.warns(MotionWarning, match="ground_y_N"):
        filled = table_stride(table, speed=1.26).signals["ground_y_N"]
    np.testing.assert_allclose(filled[47:53], [700.0, 560.0, 420.0, 280.0, 140.0, 0.0], atol=1e-9)


@pytest.mark.slow
def test_the_error_of_a_filled_gap_is_as_the_docs_say():
    """In `docs/capture_reference.md`: with 0.3 degrees of noise, by the length of the gap in s: largest and median."""
    found = {0.1: [], 0.2: []}
    for seed, name in enumerate(REFERENCE_GAITS):
        gait = embedded_stride(name)
        noise = np.random.default_rng(seed).normal(0.0, np.radians(0.3), 101)
        knee, rate = gait.signals["knee_rad"] + noise, 100.0 / gait.time[-1]
        for seconds, errors in found.items():
            n = int(seconds * rate)
            for i in range(5, 95 - n):
                holed = np.where((np.arange(101) >= i) & (np.arange(101) < i + n), np.nan, knee)
                filled = fill(holed[:, None], rate, MAX_GAP).values[:, 0]
                errors.append(np.degrees(np.abs(filled - gait.signals["knee_rad"])[i : i + n].max()))
    for seconds, largest, median in ((0.1, 3.0, 1.0), (0.2, 7.0, 2.0)):
        assert max(found[seconds]) == pytest.approx(largest, abs=0.5)
        assert np.median(found[seconds]) == pytest.approx(median, abs=0.5)


@pytest.mark.parametrize("period", [0.9, 1.127, 1.5])
@pytest.mark.filterwarnings("error::jaxgait.motion.MotionWarning")
def test_times_that_are_rounded_to_hundredths_of_a_second_have_no_gaps(period):
    """At 101 times in 1.127 s, twelve rows seemed to be missing; in 0.9 s, times stood still."""
    gait = embedded_stride("rajagopal_1.26ms")
    time = np.linspace(0.0, period, 101)
    found = without_gaps(dataclasses.replace(gait, time=np.round(time, 2)))
    np.testing.assert_allclose(found.time - found.time[0], time, atol=2e-3)
    assert found.signals["knee_rad"] is gait.signals["knee_rad"]
