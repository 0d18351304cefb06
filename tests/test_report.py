"""Reports: what counts as met, and what is written."""

import json

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from jaxgait.report import Figure, Report


def test_met_is_within_the_tolerance():
    assert Figure("a", "", "m", 1.02, expected=1.0, tolerance=0.05).met
    assert not Figure("a", "", "m", 1.1, expected=1.0, tolerance=0.05).met
    assert not Figure("a", "", "m", float("nan"), expected=1.0, tolerance=0.05).met
    assert Figure("a", "", "", "P2", expected="P2").met
    assert not Figure("a", "", "", "P1", expected="P2").met
    assert Figure("a", "", "m", 3.0).met is None


def test_figures_json_is_plain(tmp_path):
    report = Report("A title")
    report.figure("x", "a number", "N", np.float64(2.0), expected=np.float32(2.0), tolerance=0.1, paper=1.9)
    report.figure("y", "lost", "N", float("nan"))
    report.section("More", "text")
    page = report.write(tmp_path).read_text()
    entries = json.loads((tmp_path / "figures.json").read_text())
    assert set(entries[0]) == {"id", "what", "unit", "paper", "expected", "measured", "tolerance", "met"}
    assert entries[0]["met"] is True and entries[1]["measured"] is None
    assert "1 of 1" in page and "## More" in page


@pytest.mark.parametrize("kind", [np.float64, np.asarray, jnp.asarray, xr.DataArray])
def test_scalars_of_any_library_become_plain(kind, tmp_path):
    report = Report("A title")
    report.figure("x", "a number", "N", kind(2.0), expected=kind(2.5), tolerance=kind(1.0), paper=kind(2.0))
    report.figure("y", "a flag", "", np.True_, expected=True)
    report.write(tmp_path)
    number, flag = json.loads((tmp_path / "figures.json").read_text())
    assert number["measured"] == 2.0 and number["met"] is True and flag["measured"] is True


def test_more_than_a_number_is_refused_by_name():
    with pytest.raises(TypeError, match=r"figure 'x' takes one number.*\(3,\)"):
        Report("A title").figure("x", "three numbers", "N", np.zeros(3))
