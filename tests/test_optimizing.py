"""`jaxgait optimize`: limits, what it prints, its report."""

import json

import pytest

from jaxgait import cli
from jaxgait.design_report import _scenarios
from jaxgait.optimizing import description
from tests.optimization.minimax import searched

ROPE = "optimize bungee --minimize peak_rope_force --over stiffness=15:60 --duration 20 --starts 2"


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rope")
    cli.main([*ROPE.split(), "--subject-to", "clearance>=1", "--json", f"{folder}/b.json", "--report", f"{folder}/r"])
    return folder


def test_a_search_under_limits_writes_its_record(done):
    record = json.loads((done / "b.json").read_text())
    assert {"start", "best", "objective", "history", "why_stopped"} <= record.keys()
    assert abs(record["limits"]["clearance >= 1"]) < 1e-5 and record["local"]["active"] == ["clearance >= 1"]


def test_the_report_is_one_page_that_needs_no_other_file(done):
    page = (done / "r" / "report.html").read_text()
    pictures = sorted(path.name for path in (done / "r").glob("*.png"))
    assert pictures == ["before_after.png", "convergence.png", "paths.png", "room.png", "slopes.png"]
    assert page.count("data:image/png;base64,") == 5 and 'src="data' in page and "clearance &gt;= 1" in page
    assert "<li>basin 0: 2 starts, objective" in page and "<th>basin</th>" in page


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
    ],
)
def test_bad_requests_are_one_line(options, message, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([*ROPE.split(), *options.split()])
    assert ended.value.code == 2 and message in capsys.readouterr().err


def test_no_start_within_the_limits_is_no_fault_of_the_request(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([*ROPE.split(), "--iterations", "2", "--subject-to", "clearance>=90"])
    assert ended.value.code == 1 and "no start came within the limits" in capsys.readouterr().err


def test_scenarios_are_said_and_tabulated():
    found = searched(limited=True)
    lines = list(description(found))
    assert "  ground = 60: objective -0.354500, weight 0.133" in lines
    assert any(line.startswith("  basin 0: 3 starts, objective -0.3545 at mass=") for line in lines)
    assert any(line.startswith("  start 2, basin 0: converged") for line in lines)
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
