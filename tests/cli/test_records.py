"""What `--json` holds: units, ranges, events, outcomes, and no number that JSON does not have."""

import json

import pytest

from jaxgait import Measure, cli, ensemble, simulate
from jaxgait.cli.records import model_record, run_record, scan_record
from jaxgait.models import CreeperChain, RollingWalker
from jaxgait.models.bungee.model import Bungee
from jaxgait.support.files import plain

STEPS = Measure("count", lambda run: run.trajectory.steps, "1", "accepted steps")
SHORT = {"duration": 9.0, "samples": 4, "rtol": 1e-4, "observe": ["clearance", STEPS]}


@pytest.fixture(scope="module")
def run():
    return simulate(Bungee(), **SHORT)


@pytest.fixture(scope="module")
def scan():
    return ensemble(Bungee(), {"mass": [60.0, 70.0, 80.0]}, **SHORT)


def test_a_run(run):
    record = plain(run_record(run))
    about = "smallest height above the ground (negative: the jumper hits it)"
    clearance = {"unit": "m", "long_name": about, "value": float(run.clearance)}
    assert list(record["measures"]) == ["clearance", "count"] and record["measures"]["clearance"] == clearance
    height = record["variables"]["height"]
    assert height["unit"] == "m" and height["first"] == run.height.values[0] and height["last"] == run.height.values[-1]
    assert height["lowest"] == run.height.values.min() and height["highest"] == run.height.values.max()
    assert record["attributes"]["status_text"] == "completed" and record["attributes"]["parameters"]["mass"] == 70.0
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_counts_are_whole_numbers(run, scan):
    value = plain(run_record(run))["measures"]["count"]["value"]
    assert isinstance(value, int) and value == run["count"].item()
    assert isinstance(plain(scan_record(scan))["results"]["count"]["highest"], int)
    missing = run.assign(count=run["count"].copy(data=-1))
    assert plain(run_record(missing))["measures"]["count"]["value"] is None


def test_an_early_end_has_a_last_value(run):
    run = run.assign(height=run.height.where(run.time < 6.0)).assign_attrs(note="[sic]")
    assert run_record(run)["variables"]["height"]["last"] == run.height.values[2]
    assert run_record(run)["attributes"]["note"] == "[sic]"


def test_a_scan(scan):
    scan = scan.assign(clearance=scan.clearance.where(scan.mass < 75))
    record = plain(scan_record(scan))
    assert record["attributes"]["member_values"] == ["mass"]
    assert record["members"] == 3 and record["outcomes"] == {"completed": 3}
    assert record["axes"]["mass"] == {"unit": "kg", "long_name": "body mass", "values": [60.0, 70.0, 80.0]}
    low, high = scan.clearance.values[:2].min(), scan.clearance.values[:2].max()
    clearance = record["results"]["clearance"]
    assert (clearance["lowest"], clearance["highest"]) == (low, high)
    assert clearance["lowest_at"] == {"mass": 70.0} and clearance["mean"] == pytest.approx((low + high) / 2)
    assert clearance["undefined"] == 1, "it completed, but the numbers leave it out"


def test_a_model():
    record = plain(model_record(Bungee()))
    assert record["parameters"]["mass"] == {"value": 70.0, "unit": "kg", "doc": "body mass"}
    assert record["measures"]["clearance"]["unit"] == "m" and "x" in record["initial_state"]
    assert record["parts"]["rope"]["value"] == "UnilateralSpring" and "Hertz" in record["parts"]["rope"]["options"]
    assert "rtol" in record["schemes"]["Smooth"] and "Verner8" in record["solvers"] and not record["endings"]
    assert record["events"] == ["taut", "lowest", "slack", "top"]


def test_a_model_with_endings_and_events():
    record = plain(model_record(RollingWalker()))
    assert record["endings"]["fell"] == {"status": 10, "meaning": "ended early: fell"}
    assert "heel strike" in record["events"] and list(record["schemes"]) == ["EventDriven"]


def test_the_schemes_of_a_model_without_solver():
    record = plain(model_record(CreeperChain()))
    assert record["schemes"] == {"Prescribed": []} and record["solvers"] == []
    assert record["parts"]["units"] == {"value": 2, "options": [], "doc": ""}


@pytest.mark.parametrize(
    "command", ["run bungee --list", "motion", "scan bungee --over mass=60,70 --duration 2 --samples 4 --dry-run"]
)
def test_json_alone_on_the_standard_output(command, capsys):
    cli.main([*command.split(), "--json", "-"])
    output = capsys.readouterr()
    assert json.loads(output.out) and output.err


def test_json_in_a_file(tmp_path, capsys):
    file = tmp_path / "run.json"
    cli.main(f"run bungee --duration 2 --samples 4 --json {file}".split())
    assert json.loads(file.read_text())["file"] is None and f"wrote {file}" in capsys.readouterr().out
