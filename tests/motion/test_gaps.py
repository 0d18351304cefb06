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
        remark = f"gaps are filled by splines: {name} 0.18 s from 0.4508 s"
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
