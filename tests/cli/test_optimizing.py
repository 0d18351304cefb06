"""`jaxgait optimize`: limits, what it prints, its report."""

import ast
import dataclasses
import json
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from jaxgait import cli
from jaxgait.cli import following, page
from jaxgait.cli.commands import Optimize
from jaxgait.cli.design_page import (
    _distinct,
    _drawn,
    _largest_difference,
    _others,
    _scenarios,
    _whose,
    _without_slopes,
)
from jaxgait.cli.following import Sensitivities, improvement
from jaxgait.cli.optimizing import description, search
from jaxgait.cli.records import how_run
from jaxgait.cli.running import last_strides
from jaxgait.ensembles.members import as_members
from jaxgait.measure import Expected, Measure, MeasureError, table
from jaxgait.models import RigidWalker, RollingWalker
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.optimization.goals import Limit
from jaxgait.optimization.optimum import Optimum
from jaxgait.outcome import NoResult
from jaxgait.parameters import with_parameters
from jaxgait.plot.designs import before_and_after
from jaxgait.registry import model
from jaxgait.solve.simulate import simulate
from jaxgait.states import state_variables
from tests.optimization.minimax import searched
from tests.oscillator import Oscillator

ROPE = "optimize bungee --minimize peak_rope_force --over stiffness=15:60 --duration 20 --starts 2"


def rope_front():
    """A front as `jaxgait.optimization.front` returns it, of one parameter."""
    column = lambda dim, values, unit: (dim, np.array(values), {"units": unit, "long_name": "what it is"})
    data = {
        "stiffness": column("point", [60.0, 40.0, 27.1], "N/m"),
        "exchange_rate": column("point", [np.nan, 20.7, 12.6], "N/m"),
    }
    data |= {"clearance": column("point", [20.97, 12.23, 1.0], "m"), "tried.status": column("evaluation", [0] * 9, "1")}
    data["peak_rope_force"] = column("point", [1741.5, 1509.1, 1327.957080], "N")
    attrs = {"objectives": "clearance, peak_rope_force", "senses": "max, min", "parameters": "stiffness"}
    return xr.Dataset(data, attrs=attrs | {"method": "gradient", "gradient": "through the whole run"})


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A search with all that can follow; of the front, which the slow tests trace, only what was asked for."""
    folder, asked, drawn, real = tmp_path_factory.mktemp("rope"), [], [], page.save
    options = f"--subject-to clearance>=1 --json {folder}/b.json --report {folder}/r --show height acceleration"
    further = "--front maximize clearance --points 3 --sensitivities"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(following, "front", lambda *_, **request: asked.append(request) or rope_front())
        patch.setattr(page, "save", lambda figure, path: drawn.append(str(path)) or real(figure, path))
        cli.main([*ROPE.split(), *options.split(), *further.split()])
    (folder / "asked.txt").write_text(repr(asked[0]))
    (folder / "drawn.txt").write_text("\n".join(drawn))
    return folder


def test_a_search_under_limits_writes_its_record(done):
    record = json.loads((done / "b.json").read_text())
    assert {"start", "best", "objective", "history", "why_stopped"} <= record.keys()
    assert abs(record["limits"]["clearance >= 1"]) < 1e-5 and record["local"]["active"] == ["clearance >= 1"]
    assert record["model"] == "Bungee" and record["parameters"]["mass"]["unit"] == "kg"
    assert set(record["bounds"]) == set(record["best"]) and {"jaxgait", "commit", "command"} <= set(record["made_by"])


def test_the_report_is_one_page_that_needs_no_other_file(done):
    page = (done / "r" / "report.html").read_text()
    pictures = sorted(path.name for path in (done / "r").glob("*.png"))
    search = ["before_after.png", "convergence.png", "paths.png", "room.png", "slopes.png"]
    assert pictures == sorted([*search, "front.png", "sensitivities.png"])
    assert all((done / "r" / name).with_suffix(".pdf").read_bytes().startswith(b"%PDF") for name in pictures)
    assert "minimize peak_rope_force, subject to clearance &gt;= 1</h1>" in page
    assert "the first starts and at the best design (star), over the width" in page
    assert re.search(
        r"at the starts, largest difference: \S+% of the slope\. Next to the best design, where slopes", page
    )
    assert "Made by jaxgait 0" in page and "<th>before</th><th>after</th>" in page
    assert "<td>clearance</td><td>-10.4591</td><td>1</td><td>m</td>" in page
    assert page.count("data:image/png;base64,") == 7 and 'src="data' in page and "clearance &gt;= 1" in page
    assert "<li>optimum 0: 2 starts, objective" in page and "<th>optimum</th>" in page
    assert "How it was computed: runs of 20 s by Smooth, solver " in page
    assert "Not drawn: x, v, rope_force, drag_power, energy (--show NAME draws others)." in page


def test_every_picture_of_a_report_is_drawn_once(done):
    drawn = (done / "drawn.txt").read_text().splitlines()
    assert len(drawn) == len({*drawn}) == 2 * 7


def test_tables_of_a_report_scroll_by_themselves_on_a_narrow_screen(done):
    page = (done / "r" / "report.html").read_text()
    assert (
        page.count("<table>") == page.count('<div class="wide"><table>') > 3
        and ".wide, pre { overflow-x: auto }" in page
    )
    assert '<meta name="viewport"' in page


@pytest.mark.slow
def test_a_report_draws_the_history_of_the_objective_and_the_curves_of_the_scene():
    bungee, oscillator = model("bungee"), Oscillator()
    run = lambda one: simulate(one, duration=2.0, samples=5, progress=False)
    drawn = _drawn(run(bungee), bungee, "a function")
    assert list(drawn) == ["height", "rope"] and drawn.rope.attrs == {"long_name": "rope force", "units": "N"}
    states = list(state_variables(oscillator.initial_state()))[:2]
    assert list(_drawn(run(oscillator), oscillator, "excursion")) == states
    pulled = simulate(bungee, duration=8.0, samples=5, progress=False)
    drawn = _drawn(pulled, bungee, "peak_rope_force")
    assert list(drawn) == ["rope_force", "height", "rope"]
    names = _distinct([drawn, drawn])
    assert names == ["rope_force", "height"], "they are one"
    other = drawn.assign(rope=2.0 * drawn.rope)
    assert _distinct([drawn, other]) == list(drawn), "another quantity, which differs in one of the runs"
    left = "x, v, acceleration, drag_power, energy"
    assert _others(pulled, drawn[names]) == f" Not drawn: {left} (--show NAME draws others)."


def test_sensitivities_are_on_the_page_in_a_file_and_in_the_record(done):
    found = xr.open_dataset(done / "r" / "sensitivities.nc", engine="h5netcdf")
    assert found.measure.values.tolist() == ["peak_rope_force", "clearance"]
    assert {"mass", "gravity", "stiffness", "rope_length", "ground"} <= set(found.parameter.values.tolist())
    largest = np.abs(found.change).max("parameter")  # differences over 1 % bend a little
    assert float((np.abs(found.difference - found.change)[:, :5] / largest).max()) < 1e-3
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
    record = json.loads((done / "b.json").read_text())["front"]
    assert record["variables"]["clearance"]["values"] == found.clearance.values.tolist()
    assert record["variables"]["exchange_rate"]["values"][0] is None and record["attributes"] == found.attrs
    page = (done / "r" / "report.html").read_text()
    assert "<h2>Trade-off</h2>" in page and "<th>peak_rope_force (N)</th>" in page and "take more starts" not in page
    assert "<td>20.97</td><td>1741.5</td><td>60</td><td>–</td>" in page and "3 points from 9 runs" in page


def test_a_front_begins_at_the_optimum_and_where_the_search_began(done):
    asked, record = ast.literal_eval((done / "asked.txt").read_text()), json.loads((done / "b.json").read_text())
    starts = [record["best"], *({"stiffness": x} for x in record["start"]["stiffness"])]
    assert asked["starts"] == starts and asked["points"] == 3 and asked["duration"] == 20.0
    assert asked["minimize"] == ["peak_rope_force"] and asked["maximize"] == ["clearance"]
    assert asked["subject_to"] == ("clearance>=1",) and asked["over"] == {"stiffness": (15.0, 60.0)}


@pytest.mark.slow
def test_where_a_run_starts_can_be_searched(tmp_path, capsys):
    begun = "--over initial.v=-4:-1 --initial x=-28 --duration 12 --starts 1 --iterations 3 --sensitivities initial.v"
    request = f"optimize bungee --maximize peak_rope_force {begun} --json {tmp_path}/b.json --report {tmp_path}/r"
    cli.main(request.split())
    output, record = capsys.readouterr().out, json.loads((tmp_path / "b.json").read_text())
    assert " at initial.v=-4 m/s\n" in output and "  initial.v: peak_rope_force by " in output
    assert record["initial"] == {"x": -28.0, "v": -4.0} and record["units"] == {"initial.v": "m/s"}
    run = simulate(model("bungee"), initial_state=record["initial"], duration=12.0, observe="peak_rope_force")
    assert float(run.peak_rope_force) == pytest.approx(record["objective"], rel=1e-12)
    page = (tmp_path / "r" / "report.html").read_text()
    assert "<td>initial.v</td><td>0</td><td>-4</td><td>m/s</td><td>-4 to -1</td>" in page
    assert f"<td>{record['objective']:.6g}</td><td>N</td>" in page  # after the search


def test_a_second_objective_that_the_runs_do_not_give_is_found_out_first():
    with pytest.raises(MeasureError, match=r"order .* needs at least 20 strides, the run has 12"):
        following.Front.of(model("knee"), {"maximize": "rho", "strides": 12}, ["maximize order"], None)


def test_a_front_that_is_better_than_the_search_says_so():
    arguments, found = {"minimize": "peak_rope_force"}, searched()
    worse = dataclasses.replace(found, objective=1330.0)
    assert "reaches 1327.96, but the search ended at 1330" in improvement(rope_front(), arguments, worse)
    assert not improvement(rope_front(), arguments, dataclasses.replace(found, objective=1327.957))
    assert not improvement(rope_front(), {"maximize": "clearance"}, dataclasses.replace(found, objective=21.0))


@pytest.mark.slow
def test_what_a_search_found_is_written_before_what_follows(tmp_path, capsys):
    def failing(*_, **request):  # or killed, for its memory
        assert "best" in json.loads((tmp_path / "b.json").read_text()) and (tmp_path / "r" / "report.html").exists()
        patch.setattr(page, "save", lambda *_: 1 / 0)  # whatever is drawn now
        raise NoResult("no point met the limits")

    options = f"--json {tmp_path}/b.json --report {tmp_path}/r --front maximize clearance --iterations 1 --starts 1"
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as ended:
        patch.setattr(following, "front", failing)
        cli.main([*ROPE.replace(" --starts 2", "").split(), *options.split(), "--subject-to", "clearance>=1"])
    assert ended.value.code == 1 and "no point met the limits" in capsys.readouterr().err
    assert "best" in json.loads((tmp_path / "b.json").read_text()) and (tmp_path / "r" / "report.html").exists()


@pytest.mark.parametrize("is_printed", [True, False])
def test_a_follow_up_that_fails_ends_the_command_whatever_can_be_printed_then(monkeypatch, capsys, is_printed):
    def failing(*_, **request):
        if not is_printed:
            monkeypatch.setattr(Optimum, "as_dict", lambda self: 1 / 0)
        raise NoResult("no slopes")

    monkeypatch.setattr("jaxgait.optimization.optimize", lambda *_, **request: searched())
    monkeypatch.setattr(following, "sensitivities", failing)
    with pytest.raises(SystemExit) as ended:
        cli.main([*ROPE.split(), "--sensitivities", "--json", "-"])
    shown = capsys.readouterr()
    assert ended.value.code == 1 and shown.err.splitlines()[-1].endswith("no slopes")
    assert "best" in json.loads(shown.out) if is_printed else not shown.out


@pytest.mark.slow
def test_a_front_from_the_shell_has_as_many_points_as_asked_for(tmp_path, capsys):
    options = f"--subject-to clearance>=1 --front maximize clearance --points 3 --report {tmp_path}"
    cli.main([*ROPE.split(), *options.split()])
    found = xr.open_dataset(tmp_path / "front.nc", engine="h5netcdf")
    assert found.sizes["point"] == 3 and found.attrs["senses"] == "max, min"
    assert float(found.peak_rope_force.min()) == pytest.approx(1327.95708, rel=1e-6)
    output = capsys.readouterr().out
    assert re.search(r"front with clearance, 3 points: about \d+ runs, more where some fail", output)
    assert "take more starts" not in output
    assert "clearance=1 m, peak_rope_force=1327.96 N at stiffness=27.1012 N/m" in output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--subject-to clearence>=1", "has no measure 'clearence': did you mean 'clearance'"),
        ("--subject-to clearance", "a limit is text such as"),
        ("--report {}/out/opt --subject-to clearence>=1", "has no measure 'clearence'"),
        ("--report {}/out/opt --json {}/new/b.json --subject-to clearance", "a limit is text such as"),
        ("--method adam --subject-to clearance>=1", "adam does not support limits"),
        ("--gradient gait", "Bungee is not driven with a period"),
        ("--across mass=60,,90", "mass (in kg): '' is not a number"),
        ("--across mass", "--across expects name=low:high:count or name=a,b,c, got 'mass'"),
        ("--across stiffness=20,30", "'stiffness' is in `across` and also in `over` or `initial`"),
        ("--across mass=60,90 --set mass=70", "mass is given to --set and to --across: fix it or vary it"),
        ("--robust worst", "--robust needs scenarios: give --across NAME=a,b,c or several --motion"),
        ("--report /proc/nowhere", "cannot write to /proc/nowhere"),
        ("--front maximize clearance", "--front needs --report FOLDER"),
        ("--report {} --front clearance", "--front expects maximize MEASURE or minimize MEASURE, got 'clearance'"),
        ("--report {} --front minimize clearence", "has no measure 'clearence': did you mean 'clearance'"),
        ("--report {} --front maximize peak_rope_force", "peak_rope_force is the objective itself"),
        ("--report {} --front maximize clearance --points 1", "points must be a whole number, at least 2, got 1"),
        (
            "--report {} --front maximize clearance --across mass=60,90",
            "--front takes one scenario: leave out --front",
        ),
        ("--points 5", "--points needs --front"),
        ("--sensitivities stiffness massive", "Bungee has no parameter 'massive': did you mean 'mass'"),
        ("--sensitivities massive", "Bungee has no parameter 'massive': did you mean 'mass'"),
        (
            "--sensitivities linear_drag --set linear_drag=0",
            "no sensitivity to linear_drag can be computed: it is zero",
        ),
        ("--sensitivities mass --across mass=60,90", "to mass can be computed: it is varied between scenarios"),
    ],
)
def test_bad_requests_are_one_line(options, message, capsys, tmp_path):
    with pytest.raises(SystemExit) as ended:
        cli.main([*ROPE.split(), *options.replace("{}", str(tmp_path)).split()])
    assert ended.value.code == 2 and message in capsys.readouterr().err
    assert not any(tmp_path.iterdir()), "no folder for results stays"


def test_named_parameters_without_sensitivities_are_left_out_and_said():
    request = {"over": {"stiffness": (15.0, 60.0)}, "minimize": "peak_rope_force", "across": {"mass": [60.0, 90.0]}}
    request["across"] = as_members(request["across"])
    assert Sensitivities.of(model("bungee"), request, ["mass", "stiffness"]).by == ("mass", "stiffness")
    one = Sensitivities.of(model("bungee"), request, ["mass", "gravity"])
    attrs = {"gradient": "g", "lost": "", "disagree": "", "left_out": "mass (varied between scenarios)"}
    made = xr.Dataset(
        {"change": (("measure", "parameter"), [[1.0]])},
        {"measure": ["f"], "parameter": ["gravity"], "measure_unit": ("measure", ["N"])},
        attrs,
    )
    assert "  left out: mass (varied between scenarios)" in one.lines(made, searched())


def test_no_start_within_the_limits_is_no_fault_of_the_request(capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([*ROPE.split(), "--iterations", "2", "--subject-to", "clearance>=90"])
    assert ended.value.code == 1 and "no start met the limits" in capsys.readouterr().err


def test_slopes_of_zero_by_differences_do_not_divide():
    exact = np.array([[1.0, 2.0], [3.0, 0.0], [np.nan, 1.0]])
    assert _largest_difference(exact, 0.0 * exact) == "largest difference: 100.0% of the slope"
    assert _largest_difference(exact, 1.1 * exact) == "largest difference: 9.1% of the slope"
    assert _largest_difference(np.zeros((1, 1)), np.zeros((1, 1))) == "largest difference: 0.0% of the slope"


def test_a_slope_without_a_value_is_no_failed_run():
    slopes = np.array([[1.0, np.nan], [np.nan, np.nan], [2.0, 1.0], [np.inf, 0.0]])
    failed, undefined = (
        "1 of 4 starts have no slopes: their runs failed.",
        "2 of 4 starts have no finite slopes, although",
    )
    text = _without_slopes(np.array([True, False, True, True]), slopes)
    assert text.startswith(f" {failed} {undefined} their runs did not fail: a derivative is undefined there, or ")
    assert _without_slopes(np.array([False]), slopes[1:2]) == " 1 of 1 starts have no slopes: their runs failed."
    assert _without_slopes(np.array([True]), slopes[2:3]) == ""


def test_a_picture_before_and_after_names_the_scenario_or_the_walk():
    worst = "ground = 50, the worst of 3 scenarios at the best point"
    assert _whose(Oscillator(), searched(limited=True), 1) == worst
    alone = dataclasses.replace(searched(), scenarios=None)
    assert _whose(Prosthesis(), alone, None) == "walk rajagopal_1.26ms" and _whose(Oscillator(), alone, None) == ""


def test_of_a_run_that_ends_early_the_strides_before_its_end_are_drawn():
    time = np.linspace(0.0, 6.0, 601) * float(Oscillator().period)
    curve = lambda end: xr.Dataset(
        {"x": ("time", np.where(time <= end, np.cos(time), np.nan), {"units": "m"})}, {"time": time}, {"t_end_s": end}
    )
    whole, ended = (last_strides(curve(end), Oscillator(), 2) for end in (time[-1], time[310] + 0.6 * time[1]))
    assert whole.sizes["time"] == 201 and ended.sizes["time"] == 200 and np.isfinite(ended.x).all()
    figure = before_and_after(whole[["x"]], ended[["x"]], ["x"])
    assert figure.axes[0].get_legend_handles_labels()[1] == ["before", "after"]
    plt.close("all")


def test_a_search_of_the_knee_says_what_it_sets():
    knee = with_parameters(Prosthesis(), {"ground.steepness": 1e4})
    assert how_run(knee, {"strides": 12, "rtol": 1e-5}, ["ground.steepness"]) == (
        "runs of 12 strides by Smooth, solver Ros4, rtol 1e-05, atol 1e-08, ground.steepness = 10000 1/m"
    )
    fixed = {"duration": 2.0, "solver": None, "dt": 1e-3}
    assert how_run(RigidWalker(), fixed) == "runs of 2 s by TimeStepping, dt 0.001 s"
    assert (
        how_run(RollingWalker(), fixed | {"solver": "Tsit5"}) == "runs of 2 s by EventDriven, solver Tsit5, dt 0.001 s"
    )


def test_what_is_searched_is_not_said_to_be_set():
    told = lambda name: search(Optimize(model="knee", over=(f"{name}=1e4:2e4",), maximize="rho"), {}).runs
    assert "ground.steepness" in told("damper.k") and "ground.steepness" not in told("ground.steepness")


def test_scenarios_are_said_and_tabulated():
    found = searched(limited=True)
    lines = list(description(found))
    assert "  ground = 60: objective -0.3545, weight 0.133" in lines
    assert any(line.startswith("  optimum 0: 3 starts, objective -0.3545 at mass=") for line in lines)
    assert any(line.startswith("  start 2, optimum 0: converged") for line in lines)
    page = _scenarios(found)
    assert "<td>ground = 60</td><td>-0.3545</td><td>0.73</td><td>0.133</td>" in page and "right &gt;= 0.7" in page
    assert found.as_dict()["scenarios"]["scenario"] == ["ground = 40", "ground = 50", "ground = 60"]


@pytest.mark.slow
def test_a_robust_search_from_the_shell(tmp_path, capsys):
    options = f"--across mass=60,75,90 --subject-to clearance>=0 --json {tmp_path}/b.json --report {tmp_path}/r"
    cli.main([*ROPE.split(), *options.split()])
    record = json.loads((tmp_path / "b.json").read_text())
    assert "mass = 90: objective" in capsys.readouterr().out and record["scenarios"]["weight"] == [1 / 3] * 3
    assert record["parameters"]["mass"] == {"value": [60.0, 75.0, 90.0], "unit": "kg"}
    page = (tmp_path / "r" / "report.html").read_text()
    assert "<h2>Scenarios</h2>" in page and "starts ended at this design" in page
    assert float(page.split("largest difference: ")[1].split("%")[0]) < 1.0


@pytest.mark.slow
def test_what_runs_of_a_design_from_a_periodic_gait_do_is_said():
    found = dataclasses.replace(searched(), model=Oscillator(), best={"stiffness": 8.0})
    assert following.from_the_start(found, {}) == ("", True)  # its own runs show it
    found = dataclasses.replace(found, gradient="through the periodic gait (implicit differentiation)")
    who = "runs of the best design from the start (20 strides)"
    request = {"maximize": REACH, "strides": 12, "duration": None}
    assert following.from_the_start(reaching(found, 1.003), request) == (f"{who}: completed", True)
    across = {"limit": np.array([0.5, 1e9])}  # m
    each = xr.Dataset({"objective": ("limit", [1.0, 1.0])}).assign_coords(scenario=("limit", ["limit = 0.5", "none"]))
    found = dataclasses.replace(found, scenarios=each)
    reached, completed = following.from_the_start(found, {"maximize": REACH, "across": across, "initial": {"v": 0.1}})
    assert re.fullmatch(rf"{re.escape(who)}: (1 completed, )?1 [a-z ]*: broke(, 1 completed)?; .*", reached)
    assert reached.endswith("; the gait is periodic, but runs do not reach it from there") and not completed


REACH = Measure("reach", lambda run: run["x"].max(), "m", "reach")


def reaching(found, value):
    """The optimum of one scenario whose gait has the objective `value`."""
    return dataclasses.replace(found, scenarios=None, objective=value)


@pytest.mark.slow
def test_runs_that_reach_another_gait_than_the_best_one_are_told_from_it():
    gait = "through the periodic gait (implicit differentiation)"
    found = dataclasses.replace(searched(), model=Oscillator(), best={"stiffness": 8.0}, gradient=gait)
    limits = [Limit(REACH, 0.9, at_least=False), Limit(REACH, 1.001)]  # m; the runs have 1 m
    request = {"maximize": REACH, "subject_to": limits}
    reached, completed = following.from_the_start(reaching(found, 1.02), request)
    others = "objective 1 instead of 1.02, reach <= 0.9 is not met (1 m)"
    assert completed and reached == (
        "runs of the best design from the start (20 strides): completed; "
        f"they have not settled into the gait that was found, or reach another: {others}"
    )
    each = xr.Dataset({"objective": ("limit", [1.0, 0.98])}).assign_coords(scenario=("limit", ["firm", "soft"]))
    found = dataclasses.replace(found, scenarios=each)
    reached, _ = following.from_the_start(found, {"maximize": REACH, "across": {"limit": np.array([1e8, 1e9])}})
    assert reached.endswith(" reach another: objective 1 instead of 0.98 at soft")


class Expecting(Oscillator):
    """Expects to stay within 0.1 m."""

    measures = table(
        Measure("reach", lambda run: run["x"].max(), "m", "reach", expected=lambda _: Expected(0.0, 0.1, "(in a box)"))
    )


@pytest.mark.slow
@pytest.mark.parametrize("gradient", ["of entire runs", "through the periodic gait (implicit differentiation)"])
def test_a_best_design_that_is_not_realistic_is_said_after_any_search(gradient):
    found = dataclasses.replace(searched(), model=Expecting(), best={"stiffness": 8.0}, gradient=gradient)
    found = reaching(found, 1.0)
    reached, completed = following.from_the_start(found, {"maximize": REACH, "duration": 3.0})
    assert completed and reached.endswith("reach is 1 m, where 0 to 0.1 m are expected (in a box)")
    assert ("from the start" in reached) == gradient.startswith("through")


def test_a_best_design_whose_own_run_does_not_reach_its_end_is_no_success(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("jaxgait.optimization.optimize", lambda *_, **request: searched())
    folds = following.Reached("runs of the best design from the start (20 strides): 1 ended early: folded", False)
    monkeypatch.setattr("jaxgait.cli.optimizing.from_the_start", lambda *_: folds)
    with pytest.raises(SystemExit) as ended:
        cli.main([*ROPE.split(), "--json", f"{tmp_path}/b.json"])
    _, first, second, *_ = capsys.readouterr().out.splitlines()
    assert ended.value.code == 1 and first.startswith("best objective") and second.strip() == folds.sentence
    assert json.loads((tmp_path / "b.json").read_text())["from_the_start"] == folds.sentence
