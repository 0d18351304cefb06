"""Pictures of the knee draw what the data say."""

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

from jaxgait.models.prosthesis import pictures
from jaxgait.motion.drive import REFERENCE_GAITS, gait_record, reference_gait


def test_first_fall_is_where_a_curve_first_comes_down_through_a_level():
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert pictures.first_fall(x, np.array([3.0, 1.0, 4.0, 2.0, 0.0]), 2.0) == 1.5
    assert np.isnan(pictures.first_fall(x, np.array([3.0, 4.0, 4.0, np.nan, 0.0]), 2.0))  # it folds in between


def test_lines_over_k_are_not_cut():
    k, ratio = np.linspace(1e4, 4e4, 4), np.array([0.05])
    column = lambda values: (("k", "ratio"), np.array(values)[:, None])
    rho, peak = [0.6, 0.99, 0.98, 0.7], [66.0, 65.0, 63.0, 50.0]
    data = {"rho": column(rho), "status": column([0, 0, 0, 0])}
    data |= {f"peak_flexion{end}": column(peak) for end in ("", "_min", "_max")}
    figure = pictures.scan_lines(xr.Dataset(data, {"k": k, "ratio": ratio}), [0.05], {0.05: 2e4}, 64.0)
    for axis, values in zip(figure.axes, (peak, rho), strict=True):
        low, high = axis.get_ylim()
        assert low < min(values) and max(values) < high
    plt.close(figure)


def test_the_motion_of_the_hip_is_drawn_beside_its_samples():
    drive, samples = reference_gait(), gait_record(REFERENCE_GAITS[0])["mean_stride"]
    figure = pictures.hip_motion(drive, samples)
    fitted, measured = figure.axes[1].lines
    height = np.asarray(measured.get_ydata())
    np.testing.assert_allclose(np.asarray(fitted.get_ydata())[::2], height, atol=2e-3)
    assert figure.axes[4].get_ylabel() == "amplitude, hip height (mm)"
    plt.close(figure)


def test_paths_show_what_became_better_and_where_it_ended():
    values = np.array([0.5, 0.9, np.nan, 0.7, 0.95, 0.8, 0.94, np.nan])
    np.testing.assert_array_equal(pictures._improvements(values), [0, 1, 4, 6])
