"""The picture of a stride: a panel for every signal, in the units of its labels."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from jaxgait.motion.stride import embedded_stride
from jaxgait.motion.verdict import judge
from jaxgait.plot.motion import stride

PANELS = {"rajagopal_1.26ms": 7, "hbm07_0.98ms": 5}  # the first one's ground reaction was measured too


@pytest.mark.parametrize("name", PANELS)
def test_every_signal_has_a_panel(name):
    record = embedded_stride(name)
    figure = stride(judge(record))
    panels = [ax for ax in figure.axes if ax.get_ylabel()]
    assert len(panels) == PANELS[name]
    knee = next(ax for ax in panels if ax.get_ylabel() == "knee flexion (deg)")
    curves = {str(line.get_label()): np.asarray(line.get_ydata()) for line in knee.get_lines()}
    np.testing.assert_allclose(curves["samples"], np.degrees(record.signals["knee_rad"][:-1]))
    assert curves["jump between end and start"][0] == pytest.approx(curves["samples"][0])
    assert len(curves) == 3 and "usable as a drive" in figure.get_suptitle()
    figure.draw_without_rendering()
    for ax in panels:
        label = ax.yaxis.label.get_window_extent()
        assert label.height < 1.1 * ax.bbox.height, "labels fit their panels"
    plt.close(figure)
