"""What the console shows of results: the numbers that a user looks for, in a few lines."""

import json
import re

import equinox as eqx
import numpy as np
import pytest
import xarray as xr

from jaxgait.cli.listing import MAX_HISTORIES, dataset_lines, listing, run_lines, scan_lines
from jaxgait.cli.parsing import with_settings
from jaxgait.cli.records import run_record, scan_record
from jaxgait.mechanics.spatial import Link, prismatic
from jaxgait.models import Bungee
from jaxgait.models.tree import TreeModel

ABOUT = {"units": "J", "long_name": "work done"}


def test_a_run_is_its_end_its_measures_and_the_ranges_of_its_histories():
    histories = {f"x{i}": ("time", [0.0, 2.0, 1.0], {"units": "m", "long_name": "position"}) for i in range(14)}
    measures = {"work": ((), -0.0, ABOUT), "fell_at": ((), np.nan, {"units": "s", "long_name": "time of the fall"})}
    attrs = {"model": "Walker", "status": 0, "status_text": "completed", "t_end_s": 2.0}
    lines = list(
        run_lines(xr.Dataset(histories | measures, {"time": [0.0, 1.0, 2.0]}, attrs), {"order": "not measured"})
    )
    assert lines[:2] == ["Walker: completed, 2 s in 2 samples", "measures:"]
    assert [line.split()[:3] for line in lines[2:4]] == [["work", "0", "J"], ["fell_at", "-", "time"]]
    assert lines[4].split() == ["order", "not", "measured"]
    assert lines[5] == "  -: not defined, because the run does not contain what they measure; a longer run may"
    assert lines[7].split() == ["x0", "0", "2", "1", "m", "position"] and len(lines) == 7 + MAX_HISTORIES + 1
    assert lines[-1].startswith("  and 2 more: ")


def test_long_names_keep_the_columns_together():
    run = {"peak_flexion_velocity": ((), 431.416, ABOUT), "rho": ((), 0.9, ABOUT), "x": ("time", [0.0, 1.0])}
    lines = [*run_lines(xr.Dataset(run, {"time": [0.0, 1.0]}))]
    assert lines[2].index("work done") == lines[3].index("work done") and lines[2].index("431") == lines[3].index("0.9")


def test_histories_of_arrays_are_those_of_their_components():
    q = (("time", "coordinate"), [[0.0, 1.0], [2.0, 3.0], [1.0, np.nan]], {"units": "m", "long_name": "coordinates"})
    at = {"time": [0.0, 1.0, 2.0], "coordinate": ["hip", "knee"]}
    lines = [line.split() for line in run_lines(xr.Dataset({"q": q}, at))]
    assert lines[-2:] == [["q[hip]", "0", "2", "1", "m", "coordinates"], ["q[knee]", *"133", "m", "coordinates"]]


def test_histories_of_angles_are_in_degrees_as_in_pictures_and_in_radians_in_the_record():
    of = lambda unit: ("time", [0.0, np.pi, 0.5 * np.pi], {"units": unit, "long_name": "knee"})
    run = xr.Dataset({"q": of("rad"), "rate": of("rad/s"), "k": of("N m/rad")}, {"time": [0.0, 1.0, 2.0]})
    shown = [line.split()[1:-1] for line in run_lines(run)][-3:]
    assert shown == [
        ["0", "180", "90", "deg"],
        ["0", "180", "90", "deg/s"],
        ["0", *["3.14159", "1.5708"], "N", "m/rad"],
    ]
    record = run_record(run)["variables"]["q"]
    assert (record["unit"], record["last"]) == ("rad", 0.5 * np.pi)


def test_a_scan_s_numbers_are_those_of_the_completed_members_as_in_its_map():
    """A measure that is defined for early ends, too, such as a number of steps."""
    hops = ("mass", [1.0, 5.5, 6.5, np.nan], {"units": "1", "long_name": "hops"})
    scan = xr.Dataset({"hops": hops, "status": ("mass", [4, 0, 0, 4])}, {"mass": [1.0, 2.0, 3.0, 4.0]})
    scan = scan.assign_attrs(status_legend=json.dumps({"0": "completed", "4": "ended early: fell"}))
    one = scan_record(scan)["results"]["hops"]
    assert (one["lowest"], one["mean"], one["highest"], one["early"]) == (5.5, 6.0, 6.5, 1)
    assert float(one["lowest_at"]["mass"]) == 2.0
    assert "    of the members that completed; 1 other has a value, too" in list(scan_lines(scan))
    early = scan.assign(status=("mass", [4, 4, 4, 4]))
    one = scan_record(early)["results"]["hops"]
    assert (one["lowest"], one["highest"], one["early"]) == (1.0, 6.5, 0), "only such have values"


def test_a_small_result_is_a_table_and_the_ranges_of_the_rest():
    best = {"best": ("parameter", [20.0, 1.5]), "unit": ("parameter", ["N/m", "m"])}
    curve = {"fitted": ("time", np.linspace(-1.0, 3.0, 40), {"units": "m", "long_name": "fitted curve"})}
    lines = list(dataset_lines(xr.Dataset(best | curve, {"parameter": ["stiffness", "length"]}, {"model": "Bungee"})))
    assert [line.split() for line in lines] == [
        ["Bungee"],
        ["parameter", "best", "unit"],
        ["stiffness", "20", "N/m"],
        ["length", "1.5", "m"],
        ["ranges:", "lowest", "highest"],
        ["fitted", "-1", "3", "m", "fitted", "curve"],
    ]


def test_parameters_that_are_arrays_are_written_as_they_are_set():
    body = Link("body", None, prismatic((0, 0, 1)), mass=1.0, inertia=np.diag([0.1, 0.2, 0.3]))
    leg = TreeModel([body])
    shown = {line.split()[0]: line.split()[1] for line in listing(leg).splitlines() if line.startswith("links.")}
    assert shown["links.body.inertia"] == "0.1,0,0;0,0.2,0;0,0,0.3" and shown["links.body.com"] == "0,0,0"
    assert (with_settings(leg, [f"{n}={x}" for n, x in shown.items()]).links["body"].inertia == body.inertia).all()


def test_a_scan_is_the_range_of_each_measure_and_where_its_extremes_are():
    data = {
        "work": ("mass", [3.0, np.nan, 1.0], ABOUT),
        "steps_taken": ("mass", [4, -1, 2], {"units": "1"}),
        "x_end": ("mass", [0.0, 0.0, 1.0]),
        "status": ("mass", [0, 10, 0]),
        "retries": ("mass", [0, 0, 0]),
    }
    attrs = {"status_legend": json.dumps({"0": "completed", "10": "ended early: fell"})}
    scan = xr.Dataset(data, {"mass": ("mass", [60.0, 70.0, 80.0], {"units": "kg"})}, attrs)
    title, *lines = scan_lines(scan)
    assert title.split() == ["results:", "lowest", "mean", "highest"]
    assert lines[0].split() == ["work", "1", "2", "3", "J", "work", "done"]
    assert lines[1].strip() == "lowest at mass=80 (steps_taken 2); highest at mass=60 (steps_taken 4)"
    assert lines[2].split() == ["steps_taken", "2", "3", "4"] and lines[3].strip() == "members: 2 (1), 4 (1)"
    assert lines[4].strip() == "lowest at mass=80; highest at mass=60" and len(lines) == 5
    assert next(iter(list(scan_lines(scan[["x_end", "status"]]))[1:])).split()[0] == "x_end"
    whole = scan.x_end.copy(data=[-0.0, -0.0, 1.0]).assign_attrs(units="1", long_name="")
    count = list(scan_lines(scan.assign(steps_taken=whole, status=0 * scan.status)))[4:]
    assert [line.split() for line in count[:2]] == [
        ["steps_taken", "0", "0.333333", "1"],
        ["members:", "0", "(2),", "1", "(1)"],
    ]
    gaps = list(scan_lines(scan.assign(status=0 * scan.status)))
    assert [line.strip() for line in gaps if "defined" in line] == [
        "undefined for 1 of 3 completed members",
        "undefined: these runs do not contain what is measured; longer ones may",
    ]
    endless = list(scan_lines(scan.assign(work=np.inf * scan.x_end.copy(data=[1.0, 1.0, -1.0]))))
    assert [line.strip() for line in endless if "finite" in line] == ["infinite for 2 of 2 completed members"]


def test_members_are_named_by_what_tells_them_apart():
    labels = {"subject": ["anna", "ben"], "drive.speed": ("subject", [1.2, 1.4]), "k": ("member", [1.0, 2.0])}
    data = {
        "rho": (("subject", "member"), [[0.9, 0.8], [0.7, 0.6]]),
        "status": (("subject", "member"), [[0, 0], [0, 0]]),
    }
    attrs = {"status_legend": json.dumps({"0": "completed"})}
    *_, where = scan_lines(xr.Dataset(data, labels, attrs))
    assert where.strip() == "lowest at subject=ben, k=2; highest at subject=anna, k=1"


class Broken(Bungee):
    """Its outputs, or its start, read what is not there."""

    start: bool = eqx.field(default=False, static=True)

    def initial_state(self):
        return self.nothing if self.start else super().initial_state()

    def outputs(self, t, y):
        return {"rope": y.nothing}


@pytest.mark.parametrize(("start", "where"), [(False, "outputs"), (True, "initial_state")])
def test_an_error_of_a_model_has_a_note_of_its_line(start, where):
    with pytest.raises(AttributeError, match="nothing") as error:
        listing(Broken(start=start))
    assert re.search(rf"in Broken\.{where}, line \d+ of .*test_listing\.py", "".join(error.value.__notes__))
