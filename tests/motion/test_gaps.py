"""Gaps of one stride in columns: filled as those of markers, in files and tables alike."""

import numpy as np
import pandas as pd
import pytest

from jaxgait.motion import MotionFormatError, MotionWarning
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
