"""Files of studies are known for what they are, drawn by `jaxgait view`, and never taken for runs or scans."""

import numpy as np
import pytest
import xarray as xr

from jaxgait import cli
from jaxgait.plot.studies import gait_cycles, saved_fit, study
from jaxgait.plot.style import save

TIME = {"time": ("time", [0.0, 1.0, 2.0], {"units": "s"})}
CURVES = {n: ("time", [1.0, 0.5, 0.2], {"units": "m"}) for n in ("measured", "before", "fitted", "residual", "band")}
FRONT = {"speed": ("point", [1.0, 1.2]), "cost": ("point", [0.2, 0.3]), "mass": ("point", [60.0, 70.0])}
KNEE = {"knee_angle": (("stride", "percent"), [[0.0, 60.0, 0.0], [2.0, 62.0, np.nan]], {"units": "deg"})}
CYCLE = {"percent": [0.0, 70.0, 100.0], "side": ("stride", ["right", "left"]), "stride": [1, 2]}
FILES = {
    "a set of measured strides": xr.Dataset(KNEE, CYCLE),
    "a fit to a measured curve": xr.Dataset(CURVES, TIME, {"output": "height"}),
    "a front of the best compromises": xr.Dataset(
        FRONT, attrs={"objectives": "speed, cost", "senses": "max, min", "parameters": "mass", "method": "gradient"}
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_view_says_what_a_study_is_and_draws_it(name, tmp_path, capsys):
    file, picture = tmp_path / "study.nc", tmp_path / "study.png"
    FILES[name].to_netcdf(file, engine="h5netcdf")
    cli.main(["view", str(file)])
    printed = capsys.readouterr().out
    assert (
        f"{file} is {name}: `jaxgait view {file} --out {picture}` draws it" in printed and "histories:" not in printed
    )
    assert "xarray" not in printed
    assert list(tmp_path.iterdir()) == [file]
    cli.main(["view", str(file), "--out", str(picture)])
    assert picture.stat().st_size > 5000
    for other in (["--out", str(tmp_path / "a.html")], ["--out", str(tmp_path / "a.gif")], ["--variables", "mass"]):
        with pytest.raises(SystemExit) as stop:
            cli.main(["view", str(file), *other])
        printed = capsys.readouterr().err
        assert stop.value.code == 2 and f"is {name}, which has one picture and no page" in printed


def test_of_measured_strides_the_named_curves_are_drawn(tmp_path, monkeypatch):
    strides = xr.Dataset(KNEE, CYCLE)
    strides.assign(hip_angle=strides.knee_angle).to_netcdf(tmp_path / "walk.nc", engine="h5netcdf")
    drawn = []
    monkeypatch.setattr("jaxgait.cli.viewing.save", lambda figure, *_, **__: drawn.extend(figure.axes))
    cli.main(["view", str(tmp_path / "walk.nc"), "--variables", "hip_angle", "--out", str(tmp_path / "hip.pdf")])
    assert [ax.get_ylabel() for ax in drawn] == ["hip angle (deg)"]


def test_measured_strides_in_a_column_of_a_journal_have_a_tick_at_half_the_gait_cycle(tmp_path):
    strides = xr.Dataset(KNEE, CYCLE)
    figure = gait_cycles(strides.assign(hip_angle=strides.knee_angle))
    save(figure, tmp_path / "strides.png", width_mm=85)
    for ax in figure.axes:
        assert ax.get_xlim() == (0.0, 100.0) and 50.0 in ax.get_xticks()


def test_many_trials_are_drawn_in_rows_with_one_scale_for_each_quantity():
    data = xr.Dataset()
    for i in range(12):
        trial = xr.Dataset({n: (x[0], [y + i for y in x[1]], x[2]) for n, x in CURVES.items()}, TIME)
        trial = trial.rename({str(n): f"{n}[{i} kg]" for n in trial.variables})
        trial[f"fitted[{i} kg]"].attrs["output"] = "height" if i < 10 else "depth"
        data = data.merge(trial)
    figure = saved_fit(data)
    figure.draw_without_rendering()
    assert figure.get_figwidth() < 11.0, "one trial after the other would be 40 inches wide"
    upper, lower = figure.axes[::2], figure.axes[1::2]
    assert [ax.get_title(loc="right") for ax in upper] == [f"{i} kg" for i in range(12)]
    boxes = np.array([ax.get_position().bounds for ax in upper])
    assert len(set(boxes[:, 0].round(3))) == 3 and len(set(boxes[:, 1].round(3))) == 4
    for panels in (upper, lower):
        limits = [ax.get_ylim() for ax in panels]
        assert len({*limits[:10]}) == len({*limits[10:]}) == 1 and limits[0] != limits[-1]
    (legend,) = figure.legends
    names = ["measured", "fitted, with its 95 % band", "before"]
    assert [text.get_text() for text in legend.get_texts()] == names, "one for all"
    assert legend.get_window_extent().x1 < figure.bbox.x1


def test_a_fit_is_drawn_in_degrees_over_percent_of_the_stride_with_the_curve_before_on_top():
    phase = {"phase": ("phase", [0.0, 0.25, 0.5], {"units": "1"})}
    data = xr.Dataset({n: ("phase", x[1], {"units": "rad"}) for n, x in CURVES.items()}, phase)
    data["noise"] = data.band / 10.0
    data.fitted.attrs |= {"output": "knee_angle", "quantity": "knee flexion"}
    upper, lower = saved_fit(data).axes
    assert (upper.get_ylabel(), lower.get_xlabel()) == ("knee flexion (deg)", "stride (%)")
    assert [line.get_label().partition(",")[0] for line in upper.lines] == ["measured", "fitted", "before"]
    expected = np.transpose([[0.0, 25.0, 50.0], np.degrees(CURVES["fitted"][1])])
    for line in (*upper.lines, lower.lines[0]):
        np.testing.assert_allclose(line.get_xydata(), expected)
    band = lower.collections[0].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx(np.degrees(0.2))
    assert lower.collections[0].get_label() == "noise, two standard deviations"
    estimated = saved_fit(data.assign_attrs(noise_estimated=1.0)).axes[1].collections[0]
    assert estimated.get_label() == "misfit, two standard deviations"
    stuck = saved_fit(data.assign_attrs(minimum=0.0)).axes[0]  # its errors mean nothing
    assert stuck.lines[1].get_label() == "fitted; no band" and not stuck.collections


def test_a_run_and_a_scan_are_no_studies():
    assert study(xr.Dataset({"height": ("time", np.zeros(3))}, TIME)) is None
    assert study(xr.Dataset({"clearance": ("mass", np.zeros(2))}, {"mass": [60.0, 80.0]})) is None
