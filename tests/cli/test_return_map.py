"""`jaxgait optimize --return-map`: the gait from one event to the next, on a ball whose gaits have a closed form."""

import json
import types
from typing import Any

import numpy as np
import pytest

from jaxgait import Bungee, Prosthesis
from jaxgait.cli import optimizing
from jaxgait.cli.optimizing import Request, return_map, run_search
from jaxgait.cli.options import FollowUpOptions
from jaxgait.solve.periodic import PoincareMap, StroboscopicMap
from tests.optimization.kicked import G, Kicked


def ball(**changes: Any) -> Request:
    """A search for the kick that makes the ball bounce fastest, by the command's own route from options."""
    asked = {"model": "ball", "maximize": None, "minimize": "bounce_time", "over": ("kick=1:3", "e=0.5:0.7")}
    asked |= {"set": (), "initial": (), "across": (), "robust": None, "motion": (), "each_stride": False}
    asked |= {"preset": None, "return_map": "bounce"}
    return optimizing.search(types.SimpleNamespace(**asked | changes), {"samples": 10})


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    monkeypatch.setattr("jaxgait.registry.model_class", lambda name: Kicked)
    monkeypatch.setattr("jaxgait.registry.model", lambda name: Kicked())


EFFORT = {"starts": 1, "method": "auto", "gradient": "auto"}
V = 1.0 / (1.0 - 0.5)
"""Speed of the fastest gait, of the least kick and restitution: v = kick / (1 - e), in m/s."""


@pytest.mark.slow
def test_the_gait_is_searched_as_in_python(tmp_path, capsys):
    assert run_search(ball(), EFFORT, tmp_path / "b.json", FollowUpOptions()) == 0
    record, said = json.loads((tmp_path / "b.json").read_text()), capsys.readouterr().out
    np.testing.assert_allclose([record["objective"], *record["gait"]], [2.0 * V / G, V], rtol=1e-6)
    assert "gradient: through the periodic gait" in said and "from the start (5 s): completed" in said


@pytest.mark.slow  # several programs of runs and maps are compiled
def test_follow_ups_and_the_report_are_of_the_gait(tmp_path, capsys):
    further = FollowUpOptions(report=tmp_path / "r", sensitivities=("kick",), front=("maximize", "highest"), points=2)
    assert run_search(ball(), EFFORT, tmp_path / "b.json", further) == 0
    said, page = capsys.readouterr().out, (tmp_path / "r" / "report.html").read_text()
    assert "kick: bounce_time by +0.004 s" in said and "2 points from" in said
    assert "central differences of gaits; at the starts, largest difference: 0.0% of the slope" in page
    assert "It starts in its own initial state before, and in the gait after." in page
    assert f"<td>{V**2 / (2.0 * G):g}</td><td>m</td>" in page


def test_a_map_is_integrated_as_the_runs_are():
    found = return_map(Kicked(), "bounce", {"rtol": 1e-7})
    assert isinstance(found, PoincareMap) and found.section == "bounce" and found.scheme_of(Kicked()).rtol == 1e-7
    assert isinstance(return_map(Prosthesis(), "period", {}), StroboscopicMap)


@pytest.mark.parametrize(
    ("model", "event", "message"),
    [
        (Kicked(), "bonce", "Kicked has no event 'bonce' to repeat from: did you mean 'bounce'?"),
        (Kicked(), "period", "Kicked has no event 'period' to repeat from: it has bounce"),
        (Prosthesis(), "heel strike", "Prosthesis has no event 'heel strike' to repeat from: it has period"),
        (Bungee(), "apex", "Bungee has no event 'apex' to repeat from: its motion has neither events nor a period"),
    ],
)
def test_an_event_that_a_model_does_not_have(model, event, message):
    with pytest.raises(ValueError) as error:
        return_map(model, event, {})
    assert str(error.value) == f"--return-map: {message}"
