"""What the commands make of what is typed, without running it."""

import types

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from jaxgait import Bungee, latin_hypercube, sobol
from jaxgait.cli import optimizing, running
from jaxgait.cli.running import possible_measures
from jaxgait.ensembles import grid
from jaxgait.measure import MeasureError, observer
from jaxgait.motion.drive import REFERENCE_GAITS
from jaxgait.parameters import ParameterError
from jaxgait.registry import model
from tests.oscillator import Oscillator


def request(model, **given):
    return types.SimpleNamespace(**{"model": model, "preset": None, "motion": None, "set": (), "initial": ()} | given)


def search(model, over, options, **given):
    nothing = {
        "maximize": None,
        "minimize": None,
        "motion": (),
        "each_stride": False,
        "across": (),
        "robust": None,
        "return_map": None,
    }
    return optimizing.search(request(model, over=over, **nothing | given), options)


def test_a_setting_replaces_the_default_of_a_search():
    wanted = request("knee", motion=(), each_stride=False, set=("ground.steepness=2e4",))
    chosen, several = running.walkers(wanted, {"ground.steepness": 1e4, "damper.c": 8e2})
    assert chosen.ground.steepness == 2e4 and chosen.damper.c == 8e2 and several is None


@pytest.mark.parametrize(("count", "strides"), [(1, "1 stride"), (2, "2 strides")])
def test_strides_are_counted(count, strides, monkeypatch, capsys):
    monkeypatch.setattr(running, "single_strides", lambda leg, *_, **__: (leg, grid({"cadence": np.ones(count)})))
    running.walkers(request("knee", motion=("anna.json",), each_stride=True))
    assert capsys.readouterr().out == f"driven by {strides} of anna.json (dimension stride)\n"


def test_the_search_that_a_model_brings_and_what_replaces_it():
    own = search(optimizing.searched_model(), (), {"strides": None, "rtol": None})
    assert own.arguments == {
        "maximize": "rho",
        "over": {"damper.k": (5e3, 4e4), "damper.c": (100.0, 3e3)},
        "strides": 12,
        "rtol": 1e-5,
        "initial": {},
        "across": None,
        "return_map": None,
    }
    assert own.model.ground.steepness == 1e4
    options = {"duration": 2.0, "rtol": 1e-4}
    other = search("knee", ("damper.k=10:20kN/m",), options, minimize="peak_flexion", initial=("beta_1=0.3",))
    assert other.arguments == {
        "minimize": "peak_flexion",
        "over": {"damper.k": (1e4, 2e4)},
        "duration": 2.0,
        "rtol": 1e-4,
        "initial": {"beta_1": 0.3},
        "across": None,
        "return_map": None,
    }


def test_a_setting_of_a_searched_parameter_is_the_first_start_of_a_search(capsys):
    bungee = lambda *settings: search("bungee", ("mass=40:90",), {}, minimize="clearance", set=settings)
    assert bungee("mass=50", "stiffness=20").model.mass == 50.0
    assert "the first start: mass=50" in capsys.readouterr().err
    with pytest.raises(ParameterError, match="--set mass=30: the start 30 of mass lies outside the bounds 40 to 90"):
        bungee("mass=30")
    with pytest.raises(ParameterError, match=r"damper.k is given to --set and to --over: fix it or vary it"):
        search("knee", (), {}, set=("damper.k=2e4",))  # which the model's own search varies


def test_motions_are_scenarios_of_a_search():
    """With the defaults of the search and the settings for every person, and every value of --across."""
    given = {"motion": REFERENCE_GAITS[:2], "across": ("ground.friction=0.5,0.6",), "set": ("damper.c=700",)}
    found = search("knee", ("damper.k=1e4:2e4",), {}, **given)
    across = found.arguments["across"]
    assert across.dims == ("subject", "ground.friction") and across.shape == (2, 2)
    assert found.model.damper.c == 700.0 and found.model.ground.steepness == 1e4


def test_presets_arrays_and_choices():
    knee = running.mechanism(request("knee", preset="R1", set=("lock.smoothing=arctan", "ankle=JointDampedAnkle")))
    assert knee.linkage.l_AE == 0.019 and knee.lock.smoothing == "arctan"
    assert type(knee.ankle).__name__ == "JointDampedAnkle"
    walker = running.mechanism(request("walker", preset="cheap", set=("friction=0.3",)))
    assert (walker.stiffness, walker.slip_velocity, walker.friction) == (3e5, 1e-3, 0.3)
    jumper = running.mechanism(request("jumper", set=("sole.rows=0.01,0.02",)))
    assert jumper.sole.rows == (0.01, 0.02)


def test_measures_that_the_sampling_forbids_are_named():
    found, left_out = possible_measures(model("knee"), {"strides": 3, "duration": None, "samples": None}, False)
    assert [m.name for m in found.members][:2] == ["rho", "peak_flexion"]
    assert "order" not in [m.name for m in found.members]
    why = "not measured (needs 20 strides or more, 50 samples per stride): there are 3 strides of 100 samples"
    assert left_out == {"order": why}
    none = possible_measures(Oscillator(), {"strides": None, "duration": 1.0, "samples": None}, False)
    assert none == (None, {})


@pytest.mark.slow
def test_a_scan_of_a_model_without_measures_points_to_time_histories(capsys):
    sampling = {"strides": None, "duration": 0.1, "samples": 4}
    for kept, said in ((False, "Oscillator has no measures: give --trajectories"), (["x"], "")):
        running.scan(
            Oscillator(), grid({"mass": [1.0, 2.0]}), sampling, {"trajectories": kept, "observe": ()}, {}, None
        )
        printed = capsys.readouterr()
        assert said in printed.err and ("measures" in printed.err) == bool(said)
        assert "" not in printed.out.splitlines()
    with pytest.raises(MeasureError, match=r"Oscillator has no measures, also not 'x': .*--trajectories"):
        observer(Oscillator(), ["x"])


def test_a_time_history_named_as_a_measure_is_kept_from_a_shell_and_measured_in_python():
    with pytest.raises(MeasureError, match=r"\(--trajectories height\) keeps in a scan; in Python, Measure\("):
        observer(Bungee(), ["height"])


def ranges(*over, **given):
    return request(
        "bungee", **{"over": over, "sobol": None, "latin_hypercube": None, "seed": None, "skip": None} | given
    )


def test_ranges_of_a_scan_are_sampled_and_other_axes_stay():
    model_, over = model("bungee"), ("mass=40:100", "stiffness=14:16:3", "initial.v=0:1cm/s", "drag=0.1,0.2")
    for option, python in {"sobol": sobol, "latin_hypercube": latin_hypercube}.items():
        found, others = running.sampled(model_, ranges(*over, **{option: 8, "seed": 3}))
        expected = python({"mass": (40.0, 100.0), "initial.v": (0.0, 0.01)}, 8, seed=3)
        assert others == ["stiffness=14:16:3", "drag=0.1,0.2"]
        for name, values in expected.values.items():
            np.testing.assert_array_equal(found.values[name], values)
    found, others = running.sampled(model_, ranges("mass=normal(70,5)", "stiffness=14:16", sobol=8))
    expected = sobol({"mass": stats.norm(70.0, 5.0), "stiffness": (14.0, 16.0)}, 8)
    np.testing.assert_array_equal(found.values["mass"], expected.values["mass"])
    found, _ = running.sampled(model_, ranges("mass=40:100", "initial.v=0:1cm/s", latin_hypercube=8, seed=3))
    assert running.sampled(model_, ranges(*over)) == (None, list(over))
    everything = running.members(model_, {"drag": np.array([0.1, 0.2])}, {"x": 1.0}, None, found)
    assert everything.dims == ("sample", "drag") and everything.shape == (8, 2)
    with pytest.raises(ParameterError, match="mass"):
        running.members(model_, {"mass": np.array([40.0, 50.0])}, {}, None, found)


def test_names_may_be_as_long_as_the_disk_allows(tmp_path, capsys):
    """No other file is looked for under a longer name."""
    out = tmp_path / f"{'x' * 245}.nc"
    running._save(xr.Dataset({"x": 1.0}), out)
    assert capsys.readouterr().out == f"wrote {out}\n"
