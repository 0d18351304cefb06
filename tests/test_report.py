"""Reports: what meets the specification, what agrees with the paper, and what is written."""

import json

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import jaxgait
from jaxgait.report import Figure, Report

KEYS = {"id", "what", "unit", "paper", "expected", "measured", "tolerance", "met", "agrees_with_paper", "note"}


def test_met_is_within_the_tolerance():
    assert Figure("a", "", "m", 1.02, expected=1.0, tolerance=0.05).met
    assert not Figure("a", "", "m", 1.1, expected=1.0, tolerance=0.05).met
    assert not Figure("a", "", "m", float("nan"), expected=1.0, tolerance=0.05).met
    assert Figure("a", "", "", "P2", expected="P2").met
    assert not Figure("a", "", "", "P1", expected="P2").met
    assert Figure("a", "", "m", 3.0).met is None


def test_agreement_with_the_paper_is_to_its_last_printed_digit():
    agrees = lambda measured, paper, **more: Figure("a", "", "m", measured, paper=paper, **more).agrees_with_paper
    assert agrees(0.33514, 0.3351) and not agrees(0.3352, 0.3351)
    assert agrees(1.56e4, "1.6e4") and not agrees(1.54e4, "1.6e4") and not agrees(1.56e4, "1.60e4")
    assert agrees(0.3360, 0.3351, paper_tolerance=1e-3)
    assert agrees("falls", "falls") is True and agrees("walks", "falls") is False
    assert agrees(False, True) is False and agrees(float("nan"), 1.0) is False
    assert agrees(1.0, None) is None and agrees(1.0, "a curve without numbers") is None
    assert agrees(1.0, "close to one", agrees=True) is True and agrees(1.0, "nan") is None


def contradicting() -> Report:
    """What the specification expects, where the paper states the opposite; one figure of each missing kind."""
    report = Report("A title", "An introduction.")
    report.figure("trend", "critical k falls", "", False, expected=False, paper=True, note="Its geometry is lost.")
    report.figure("both", "length", "m", 2.0, expected=2.0, tolerance=0.1, paper="2.0")
    report.figure("missed", "height", "m", 3.0, expected=2.0, tolerance=0.1, paper="a curve")
    return report


def test_inputs_are_counted_separately():
    report = Report("A title")
    report.figure("length", "length", "m", 2.0, expected=2.0, tolerance=0.1, paper=2.0)
    report.figure("mass", "mass", "kg", 70.0, expected=70.0, paper=70.0, input=True)
    report.figure("bodies", "bodies", "1", 15, paper=14, input=True)
    assert report.counts() == (
        "1 of 1 results meet the specification; 1 of 1 that the paper states agree with it; "
        "1 of 2 inputs are the paper's"
    )
    assert [row.as_dict().get("input", False) for row in report.figures] == [False, True, True]


def test_a_contradiction_of_the_paper_is_met_but_never_counted_as_agreement(tmp_path):
    report = contradicting()
    page = report.write(tmp_path).read_text()
    trend, both, missed = json.loads((tmp_path / "figures.json").read_text())
    assert set(trend) == KEYS
    assert (trend["met"], trend["agrees_with_paper"]) == (True, False)
    assert (both["met"], both["agrees_with_paper"], both["paper"]) == (True, True, 2.0)
    assert (missed["met"], missed["agrees_with_paper"], missed["paper"]) == (False, None, "a curve")
    assert report.counts() == "2 of 3 results meet the specification; 1 of 2 that the paper states agree with it"
    assert "critical k falls**: paper: yes; computed: no. Its geometry is lost." in page
    assert "height**: expected: 2 ± 0.1; computed: 3 m." in page


def test_an_id_names_one_figure():
    report, other = contradicting(), Report("Another")
    with pytest.raises(ValueError, match="two figures have the id 'both': 'length' and 'width'"):
        report.figure("both", "width", "m", 1.0)
    other.figure("trend", "trend of k", "", True)
    with pytest.raises(ValueError, match="'critical k falls' and 'trend of k'"):
        report.append(other)
    assert [figure.id for figure in report.figures] == ["trend", "both", "missed"]


def test_a_report_reads_as_a_paper_does(tmp_path):
    report = contradicting()
    report.section("More", "text")
    report.picture(tmp_path / "p.png", "What is seen")
    page = report.write(tmp_path).read_text()
    order = ("# A title", "An introduction.", report.counts(), "![What is seen](p.png)", "## More", "| result | unit |")
    order = (*order, f"Made by jaxgait {jaxgait.__version__} (commit ", "Machine: ")
    assert sorted(order, key=page.index) == list(order)


def test_figures_json_is_plain(tmp_path):
    report = Report("A title")
    report.figure("x", "a number", "N", np.float64(2.0), expected=np.float32(2.0), tolerance=0.1, paper=1.9)
    report.figure("y", "lost", "N", float("nan"))
    report.write(tmp_path)
    entries = json.loads((tmp_path / "figures.json").read_text())
    assert entries[0]["met"] is True and entries[1]["measured"] is None


@pytest.mark.parametrize("kind", [np.float64, np.asarray, jnp.asarray, xr.DataArray])
def test_scalars_of_any_library_become_plain(kind, tmp_path):
    report = Report("A title")
    report.figure("x", "a number", "N", kind(2.0), expected=kind(2.5), tolerance=kind(1.0), paper=kind(2.0))
    report.figure("y", "a flag", "", np.True_, expected=True)
    report.write(tmp_path)
    number, flag = json.loads((tmp_path / "figures.json").read_text())
    assert number["measured"] == 2.0 and number["met"] is True and flag["measured"] is True


def test_an_array_raises_an_error_that_names_the_figure():
    with pytest.raises(TypeError, match=r"figure 'x' takes one number.*\(3,\)"):
        Report("A title").figure("x", "three numbers", "N", np.zeros(3))


def test_stored_results_are_labelled(tmp_path):
    report, labelled = Report("A title"), {"units": "m", "long_name": "height"}
    coords = {"point": ["hip", "heel"]}
    names = ("point", ["taut", "slack"], {"long_name": "what happened"})  # text has no unit
    report.data(tmp_path / "a.nc", xr.Dataset({"y": ("point", [1.0, 2.0], labelled), "name": names}, coords))
    assert xr.open_dataset(tmp_path / "a.nc", engine="h5netcdf").y.attrs["units"] == "m"
    with pytest.raises(
        ValueError, match=r"a\.nc: y lacks the attribute 'long_name': set results\['y'\]\.attrs.*`variables`"
    ):
        report.data(tmp_path / "a.nc", xr.Dataset({"y": ("point", [1.0, 2.0], {"units": "m"})}, coords))
