"""`jaxgait optimize`: limits, what it prints, its report."""

import json

import numpy as np
import pytest
import xarray as xr

from jaxgait import cli
from jaxgait.design_report import _scenarios
from jaxgait.optimizing import description
from tests.optimization.minimax import searched

ROPE = "optimize bungee --minimize peak_rope_force --over stiffness=15:60 --duration 20 --starts 2"


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rope")
    options = f"--subject-to clearance>=1 --json {folder}/b.json --report {folder}/r"
    further = "--front maximize clearance --points 3 --sensitivities"
    cli.main([*ROPE.split(), *options.split(), *further.split()])
    return folder


def test_a_search_under_limits_writes_its_record(done):
    record = json.loads((done / "b.json").read_text())
    assert {"start", "best", "objective", "history", "why_stopped"} <= record.keys()
    assert abs(record["limits"]["clearance >= 1"]) < 1e-5 and record["local"]["active"] == ["clearance >= 1"]


def test_the_report_is_one_page_that_needs_no_other_file(done):
    page = (done / "r" / "report.html").read_text()
    pictures = sorted(path.name for path in (done / "r").glob("*.png"))
    search = ["before_after.png", "convergence.png", "paths.png", "room.png", "slopes.png"]
    assert pictures == sorted([*search, "front.png", "sensitivities.png"])
    assert page.count("data:image/png;base64,") == 7 and 'src="data' in page and "clearance &gt;= 1" in page


def test_sensitivities_are_on_the_page_in_a_file_and_in_the_record(done):
    """The peak force of a rope without drag is m g (1 + sqrt(1 + 2 k l / (m g))): stiffness counts as length does."""
    found = xr.open_dataset(done / "r" / "sensitivities.nc", engine="h5netcdf")
    assert found.measure.values.tolist() == ["peak_rope_force", "clearance"]
    assert {"mass", "gravity", "stiffness", "rope_length", "ground"} <= set(found.parameter.values.tolist())
    np.testing.assert_allclose(found.difference[:, :5], found.change[:, :5], rtol=2e-3, atol=1e-6)
    assert float(found.change.sel(measure="clearance", parameter="ground")) == pytest.approx(
        0.01 * float(found.value.sel(parameter="ground"))
    )
    page = (done / "r" / "report.html").read_text()
    assert "Gradient: through the whole run." in page and "Without influence: ground" not in page
    record = json.loads((done / "b.json").read_text())["sensitivities"]
    assert record["variables"]["change"]["values"] == found.change.values.tolist()
    assert record["variables"]["parameter"]["values"][0] == found.parameter.values[0]


def test_the_front_is_on_the_page_in_a_file_and_in_the_record(done):
    found = xr.open_dataset(done / "r" / "front.nc", engine="h5netcdf")
    record = json.loads((done / "b.json").read_text())
    assert found.sizes["point"] == 3 and found.attrs["senses"] == "max, min"
    assert float(found.peak_rope_force.min()) == pytest.approx(record["objective"], rel=1e-6)
    assert record["front"]["variables"]["clearance"]["values"] == found.clearance.values.tolist()
    page = (done / "r" / "report.html").read_text()
    assert "<h2>Trade-off</h2>" in page and f"<td>{float(found.clearance[0]):.6g}</td>" in page
    assert "take more starts" not in page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--subject-to clearence>=1", "has no measure 'clearence': did you mean 'clearance'"),
        ("--subject-to clearance", "a limit is a text such as"),
        ("--method adam --subject-to clearance>=1", "adam knows of no limits"),
        ("--gradient gait", "Bungee is not driven with a period"),
        ("--across mass=60,,90", "mass: '' is not a number"),
        ("--across mass", "--across wants name=low:high:count or name=a,b,c, got 'mass'"),
        ("--across stiffness=20,30", "'stiffness' is in `across` and is searched for or fixed too"),
        ("--across mass=60,90 --set mass=70", "mass is given to --set and to --across: fix it or vary it"),
        ("--robust worst", "robust needs scenarios: give across="),
        ("--report /proc/nowhere", "cannot write to /proc/nowhere"),
        ("--front maximize clearance", "--front needs --report FOLDER"),
        ("--report {} --front clearance", "--front wants maximize MEASURE or minimize MEASURE, got 'clearance'"),
        ("--report {} --front minimize clearence", "has no measure 'clearence': did you mean 'clearance'"),
        ("--report {} --front maximize peak_rope_force", "peak_rope_force is the objective itself"),
        ("--report {} --front maximize clearance --points 1", "points must be a whole number, at least 2, got 1"),
        ("--report {} --front maximize clearance --across mass=60,90", "--front is of one scenario"),
        ("--points 5", "--points are those of a front"),
        ("--sensitivities massive", "Bungee has no parameter 'massive': did you mean 'mass'"),
        ("--sensitivities linear_drag --set linear_drag=0", "there is no sensitivity to linear_drag: it is zero"),
        ("--sensitivities mass --across mass=60,90", "mass: it is varied from scenario to scenario"),
    ],
)
def test_bad_requests_are_one_line(options, message, capsys, tmp_path):
    with pytest.raises(SystemExit) as ended:
        cli.main([*ROPE.split(), *options.format(tmp_path).split()])
    assert ended.value.code == 2 and message in capsys.readouterr().err


def test_no_start_within_the_limits_is_no_fault_of_the_request(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([*ROPE.split(), "--iterations", "2", "--subject-to", "clearance>=90"])
    assert ended.value.code == 1 and "no start came within the limits" in capsys.readouterr().err


def test_scenarios_are_said_and_tabulated():
    found = searched(limited=True)
    lines = list(description(found))
    assert "  ground = 60: objective -0.354500, weight 0.133" in lines
    page = _scenarios(found)
    assert "<td>ground = 60</td><td>-0.3545</td><td>0.73</td><td>0.133</td>" in page and "right &gt;= 0.7" in page
    assert found.as_dict()["scenarios"]["scenario"] == ["ground = 40", "ground = 50", "ground = 60"]


@pytest.mark.slow
def test_a_robust_search_from_the_shell(tmp_path, capsys):
    options = f"--across mass=60,75,90 --subject-to clearance>=0 --json {tmp_path}/b.json --report {tmp_path}/r"
    cli.main([*ROPE.split(), *options.split()])
    record = json.loads((tmp_path / "b.json").read_text())
    assert "mass = 90: objective" in capsys.readouterr().out and record["scenarios"]["weight"] == [1 / 3] * 3
    page = (tmp_path / "r" / "report.html").read_text()
    assert "<h2>Scenarios</h2>" in page and "agree with differences of values within" in page
    assert float(page.split("largest disagreement: ")[1].split("%")[0]) < 1.0
