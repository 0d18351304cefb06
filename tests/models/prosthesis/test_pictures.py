"""Pictures of the knee show the data."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

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


@pytest.mark.parametrize(("count", "size"), [(2, (7.2, 3.0)), (4, (10.8, 6.0))])
def test_spectra_of_many_runs_go_into_rows(count, size):
    angle = np.radians(30.0 * np.sin(2 * np.pi * np.arange(201) / 100.0))
    runs = {f"run {i}": xr.Dataset({"knee_angle": ("time", angle)}) for i in range(count)}
    figure = pictures.spectra(runs, 2, 100)
    shown = [ax for ax in figure.axes if ax.get_visible()]
    assert [ax.get_title() for ax in shown] == list(runs) and tuple(figure.get_size_inches()) == pytest.approx(size)
    assert [ax.get_ylabel() for ax in shown[::3]] == ["amplitude (deg)"] * len(shown[::3])
    plt.close(figure)


def test_knees_are_titled_with_how_they_ended():
    knee = ("time", np.radians(np.linspace(0.0, 60.0, 11)))
    run = xr.Dataset({"knee_angle": knee, "measured_knee_angle": knee}, {"time": np.linspace(0.0, 1.0, 11)})
    folded = run.assign_attrs(status=10, status_text="ended early: folded (at a dead point)", t_end_s=0.8)
    figure = pictures.knee_curves({"soft": run, "stiff": folded}, period=1.0)
    assert [ax.get_title() for ax in figure.axes] == ["soft", "stiff: ended early: folded, 0.8 s into the run"]
    plt.close(figure)


def test_no_flexion_and_no_peak_of_a_spectrum_is_cut_off():
    knee = np.radians(103.0) * np.sin(np.pi * np.arange(301) / 100.0) ** 2
    run = xr.Dataset(
        {"knee_angle": ("time", knee), "measured_knee_angle": ("time", knee)}, {"time": np.arange(301) / 100}
    )
    curves, amplitudes = pictures.knee_curves({"large": run}, 1.0), pictures.spectra({"large": 2.0 * run}, 3, 100)
    assert curves.axes[0].get_ylim()[1] > 103.0
    assert amplitudes.axes[0].get_ylim() == pytest.approx((0.01, 1.3 * 103.0))
    plt.close("all")


def test_maps_name_how_members_ended_that_did_not_complete():
    values = xr.Dataset(
        {name: (("k", "ratio"), [[0.95, 2.0], [np.nan, np.nan]]) for name in ("rho", "peak_flexion", "order")}
        | {"status": (("k", "ratio"), [[0, 1], [1, 10]])},
        {"k": [1e4, 2e4], "ratio": [0.01, 0.02]},
        {"status_legend": '{"0": "completed", "1": "step limit reached", "10": "ended early: folded (dead point)"}'},
    )
    figure = pictures.scan_maps(values)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["no value: ended early: folded", "no value: step limit reached"]
    figure.draw_without_rendering()
    assert [text.get_text() for text in figure.axes[5].get_yticklabels()] == list(pictures.PERIODS)
    for ax in figure.axes[:3]:
        shown = np.ma.getmaskarray(np.ma.asarray(ax.collections[0].get_array()))
        np.testing.assert_array_equal(shown.reshape(2, 2), [[False, True], [True, True]])
    plt.close(figure)
