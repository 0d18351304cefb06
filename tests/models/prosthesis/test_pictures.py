"""Pictures of the knee show the data."""

import matplotlib.pyplot as plt
import numpy as np

from jaxgait.models.prosthesis import pictures
from jaxgait.motion.drive import REFERENCE_GAITS, gait_record, reference_gait


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
