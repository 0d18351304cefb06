"""Members that the model rejects can be marked: they are not run, and change nothing for the others."""

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from jaxgait import Bungee, Measure, RollingWalker, cli
from jaxgait.ensembles import StoreError, cost, ensemble, estimate, failed, grid, summary, zipped
from jaxgait.ensembles.driver import check_run
from jaxgait.ensembles.members import check_members
from jaxgait.ensembles.validity import valid_members
from jaxgait.ensembles.workers import run_blocks
from jaxgait.outcome import INVALID, IncompleteRun
from jaxgait.parameters import ParameterError
from jaxgait.plot.explorer.selection import spread
from jaxgait.plot.table import table

MEMBERS = {"mass": [70.0, -3.0, np.nan, 80.0], "stiffness": [20.0, 25.0]}
REQUEST = {"duration": 10.0, "observe": ["peak_rope_force"], "batch": 2, "gradient": ["mass"]}
VALID = [0, 3]


def marked(**request):
    with pytest.warns(
        IncompleteRun,
        match=r"4 of 8 .* completed; 4: not valid: .*first: mass .* got -3 kg\); these .* no peak_rope_force$",
    ) as caught:
        scan = ensemble(Bungee(), MEMBERS, invalid="mark", **REQUEST, **request)
    assert len(caught) == 1
    return scan


def test_invalid_members_are_marked_and_change_no_other(tmp_path):
    scan = marked(workers=2)
    assert scan.status.values.tolist() == [[0, 0], [INVALID] * 2, [INVALID] * 2, [0, 0]]
    alone = ensemble(Bungee(), {**MEMBERS, "mass": [70.0, 80.0]}, **REQUEST)
    for name in ("peak_rope_force", "peak_rope_force_gradient", "t_end", "v_end"):
        assert (scan[name].values[VALID] == alone[name].values).all() and scan[name][1:3].isnull().all()
    assert summary(scan) == {"completed": 4, "not valid: the model rejects its values": 4}
    assert failed(scan).sentence.values[0] == "not valid: the model rejects its values"
    for _ in range(2):  # begun, and continued with nothing left to do
        xr.testing.assert_equal(marked(store=tmp_path / "scan.zarr").load(), scan)
    assert {*spread(table(scan), 8, "peak_rope_force")} <= {0, 1, 6, 7}  # what pictures and pages run again


@pytest.mark.slow
def test_trajectories_and_starts_of_invalid_members_are_missing(tmp_path):
    request = {"duration": 2.0, "samples": 10, "trajectories": True, "precision": "float32", "batch": 3}
    members = {"mass": [-1.0, 70.0, 80.0], "initial.v": [0.5, 1.0, np.nan]}
    store = tmp_path / "scan.zarr"
    with pytest.warns(IncompleteRun, match="5: not valid: "):
        scan = ensemble(Bungee(), grid(members), invalid="mark", store=store, **request).load()
    valid = scan.status == 0
    assert valid.values.tolist() == [[False] * 3, [True, True, False], [True, True, False]]
    accepted = {"mass": [70.0, 80.0], "initial.v": [0.5, 1.0]}
    alone = ensemble(Bungee(), accepted, **request)
    for name in ("x", "v", "x_end"):
        assert scan[name].dtype == np.float32 and scan[name].where(~valid).isnull().all()
        np.testing.assert_array_equal(scan[name][1:, :2], alone[name])
    np.testing.assert_array_equal(scan.v[1:, :2, 0], [[0.5, 1.0]] * 2)
    assert scan.time.equals(alone.time)
    with pytest.raises(ParameterError, match=r"mass\[0\] .* must be positive, got -1 kg"):
        ensemble(Bungee(), grid(members), store=store, **request)
    with pytest.raises(StoreError, match="holds another scan"):  # the members are others
        ensemble(Bungee(), accepted, store=store, **request)
    for invalid in ("mark", "raise"):  # valid members make no difference
        again = ensemble(Bungee(), accepted, store=tmp_path / "valid.zarr", invalid=invalid, **request)
        xr.testing.assert_equal(again.load(), alone)


def test_an_estimate_runs_valid_members_only():
    found = estimate(Bungee(), MEMBERS, invalid="mark", **{**REQUEST, "batch": 8})
    assert (found.members, found.sample) == (8, 4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workers", "most"),
    [(1, 6), (2, 3), (4, 3)],  # members of the busiest worker, of blocks of 3, 1, 0 and 2 valid ones
)
def test_the_time_of_a_scan_is_that_of_its_valid_members(workers, most):
    mass = np.array([60.0, 61.0, 62.0, 63.0, -1.0, -1.0, -1.0, -1.0, -1.0, 64.0, 65.0, -1.0])
    found = estimate(
        Bungee(), {"mass": mass}, duration=2.0, observe=["clearance"], invalid="mark", batch=3, workers=workers
    )
    assert (found.blocks, found.sample) == (4, 3)
    assert found.seconds == pytest.approx(most / found.sample * found.sample_seconds)


@pytest.mark.slow
def test_nothing_is_compiled_within_the_time_of_a_sample(compilations, monkeypatch):
    compiled = []

    def run(*args):
        before = len(compilations)
        yield from run_blocks(*args)
        compiled.append(len(compilations) - before)

    monkeypatch.setattr(cost, "run_blocks", run)
    mass = np.where(np.arange(40) % 4, -1.0, 70.0)  # 10 of them are valid: a sample of fewer lanes than a block
    request = {"duration": 1.5, "samples": 7, "observe": ["clearance"], "invalid": "mark", "workers": 2}
    assert estimate(Bungee(), {"mass": mass}, batch=16, **request).sample == 10
    assert compilations and compiled and not any(compiled)  # a short sample runs twice


def test_rules_between_parameters_mark_members():
    members = zipped({"leg_length": [0.4, 0.4, -1.0], "foot_radius": [0.1, 0.5, 0.1]})
    found, why = valid_members(RollingWalker(), members)
    assert found.tolist() == [True, False, False] and why.startswith("RollingWalker cannot stand: foot_radius (0.5 m)")


class Scalar(Bungee):
    """A model whose rule was written for single values."""

    def validate(self):
        super().validate()
        if self.stiffness > self.mass:
            raise ParameterError("k>m")


def test_rules_for_single_values_mark_members_and_raise():
    members = zipped({"mass": [60.0, 70.0, 80.0], "stiffness": [20.0, 90.0, 20.0]})
    found, why = valid_members(Scalar(), members)
    assert found.tolist() == [True, False, True] and why == "k>m"
    with pytest.raises(ParameterError, match="k>m"):
        check_members(Scalar(), members)
    check_members(Scalar(), zipped({"mass": [60.0, 70.0], "stiffness": [20.0, 25.0]}))


def test_searches_do_not_take_invalid():
    with pytest.raises(ValueError, match="fit does not take invalid"):
        check_run("fit", {"invalid": "mark"})


@pytest.mark.parametrize(
    ("members", "invalid", "message"),
    [
        ({"mass": [70.0, -3.0]}, "raise", r"^mass\[1\] .* must be positive, got -3 kg$"),
        ({"mass": [-1.0, -3.0]}, "mark", "accepts none of the 2 members; the first: mass .* got -1 kg"),
        ({"mas": [70.0]}, "mark", "did you mean 'mass'"),
        ({"mass": [[70.0, 60.0]]}, "mark", "needs one number for 'mass'"),
    ],
)
def test_members_that_cannot_be_marked_raise(members, invalid, message):
    with pytest.raises(ParameterError, match=message):
        ensemble(Bungee(), grid(members), duration=1.0, invalid=invalid)


@pytest.mark.slow
def test_the_command_line_marks_invalid_members(tmp_path, capsys):
    out = str(tmp_path / "scan.nc")
    command = ["scan", "bungee", "--over", "mass=-10,60,70", "--observe", "peak_rope_force", "--duration", "10"]
    cli.main([*command, "--invalid", "mark", "--out", out])
    assert "1  not valid" in (shown := capsys.readouterr()).out and "got -10 kg" in shown.err
    cli.main(["view", out, "--out", str(tmp_path / "scan.png")])


class Timer(Bungee):
    """The run is as long as the mass and the rope say."""

    @property
    def duration(self):
        return jnp.sqrt(self.mass - 60.0) - 1.0


@pytest.mark.slow
def test_members_whose_run_would_not_last_are_invalid():
    """Also where a measure needs to know the longest interval between samples."""
    fastest = Measure("fastest", lambda run: run["v"].max(), "m/s", "largest speed", interval=0.5)
    request = {"observe": [fastest], "samples": 10, "progress": False}
    masses = [64.0, 60.25, 50.0, 69.0]
    with pytest.warns(
        IncompleteRun, match=r"2 of 4 .*first: a run must last a positive time, got -0.5 s at mass = 60.25\)"
    ):
        scan = ensemble(Timer(), {"mass": masses}, invalid="mark", **request)
    assert scan.status.values.tolist() == [0, INVALID, INVALID, 0] and scan.t_end.values[[0, 3]].tolist() == [1.0, 2.0]
    alone = ensemble(Timer(), {"mass": [64.0, 69.0]}, **request)
    assert (scan.fastest.values[[0, 3]] == alone.fastest.values).all() and scan.fastest[1:3].isnull().all()
    for some, invalid, what in (
        (masses, "raise", r"got -0.5 s at mass = 60.25"),
        ([50.0], "mark", "got nan s at mass = 50"),
    ):
        with pytest.raises(ParameterError, match=what):
            ensemble(Timer(), {"mass": some}, invalid=invalid, **request)
