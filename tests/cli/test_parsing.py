"""What users type: `name=value`, axes, boxes, files to write."""

import contextlib
import pathlib
from typing import Literal

import equinox as eqx
import numpy as np
import pytest

from jaxgait.cli import parsing
from jaxgait.ensembles.spacing import Log
from jaxgait.model import parameter
from jaxgait.models.bungee.model import Bungee
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.models.walker import Walker
from jaxgait.parameters import ParameterError
from jaxgait.registry import model


def test_settings_axes_and_boxes():
    assert parsing.with_settings(Bungee(), ["mass=60", "gravity=9.81"]) == Bungee(mass=60.0, gravity=9.81)
    assert parsing.components(Bungee(), ["x=-20", "initial.v=36km/s"]) == {"x": -20.0, "v": 36e3}
    found = parsing.axes(
        Bungee(), ["mass=40:100:4", "stiffness=20,27", "ground=1e2:5e1:2", "gravity=9.8", "rope_length=20:30:1e1"]
    )
    np.testing.assert_array_equal(found["mass"], [40, 60, 80, 100])
    np.testing.assert_array_equal(found["stiffness"], [20, 27])
    np.testing.assert_array_equal(found["ground"], [100, 50])
    np.testing.assert_array_equal(found["gravity"], [9.8])
    assert len(found["rope_length"]) == 10
    assert parsing.box(Prosthesis(), ["damper.k=1e4:3e4"]) == {"damper.k": (1e4, 3e4)}
    assert parsing.names(["rho,order", "peak_flexion"]) == ("rho", "order", "peak_flexion")


def test_logarithmic_axes_and_boxes():
    assert parsing.box(Prosthesis(), ["damper.c=log:0.1:10:kN s/m"]) == {"damper.c": (100.0, 1e4)}
    assert all(isinstance(one, Log) for one in parsing.box(Prosthesis(), ["damper.c=log:10:1e5"]).values())
    np.testing.assert_allclose(parsing.axes(Bungee(), ["mass=log:1:100:3kg"])["mass"], [1.0, 10.0, 100.0])
    assert parsing.is_sampled("mass=log:1:100") and not parsing.is_sampled("mass=log:1:100:3")
    with pytest.raises(ParameterError, match=r"must be positive, got Log\(-1, 10\)"):
        parsing.axes(Bungee(), ["initial.x=log:-1:10:3"])


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["mass"], "low:high:count"),
        (["mass="], "low:high:count"),
        (["=1:2:3"], "low:high:count"),
        (["mass=1:2"], "low:high:count"),
        (["mass=1:2:3:4"], "low:high:count"),
        (["mass=40:100:2.7"], "whole number, at least 2, got '2.7'"),
        (["mass=40:100:0"], "at least 2, got '0'"),
        (["mass=40:100:-3"], "at least 2, got '-3'"),
        (["mass=40:100:nan"], "must be finite, got 'nan'"),
        (["mass=40:100:1"], "at least 2, got '1'"),
        (["mass=40:40:5"], "not a range"),
        (["mass=40,,50"], "'' is not a number"),
        (["mass=40,inf"], "must be finite"),
        (["mass=40,heavy"], "'heavy' is not a number"),
        (["mass=40,50", "mass=60,70"], "names mass twice"),
    ],
)
def test_axes_that_are_none(texts, message):
    with pytest.raises(ValueError, match=message):
        parsing.axes(Bungee(), texts)


def test_a_decimal_comma_is_explained():
    for text, meant in (("mass=20,5", "20.5"), ("mass=20,5kg", "20.5kg"), ("mass=-1,5e2", "-1.5e2")):
        with pytest.raises(ParameterError, match=f"is not a number; write a decimal point, {meant}$"):
            parsing.with_settings(Bungee(), [text])
    with pytest.raises(ParameterError, match=r"write a decimal point, 0\.5deg"):
        parsing.components(Walker(), ["theta_1=0,5deg"])
    with pytest.raises(ParameterError) as error:
        parsing.with_settings(Bungee(), ["mass=2,3,4"])
    assert "decimal" not in str(error.value)


def test_a_unit_may_begin_with_a_stroke():
    for text in ("2 1/s", "2/s", "2 /s", "0.002 1/ms"):
        assert parsing.quantities([text], "1/s", "rate") == [2.0]
    for span in ("1:5/m", "1:5:1/m", "1:5:/m", "0.01:0.05:1/cm"):
        assert parsing.box(Prosthesis(), [f"ground.steepness={span}"]) == {"ground.steepness": (1.0, 5.0)}
    for span in ("1:5:3/m", "1:5:3 1/m", "0.01:0.05:3/cm"):
        np.testing.assert_allclose(
            parsing.axes(Prosthesis(), [f"ground.steepness={span}"])["ground.steepness"], [1, 3, 5]
        )


def test_an_axis_beyond_the_memory_is_not_made():
    with pytest.raises(MemoryError, match="1000000000000 values of mass need 8e\\+03 GB"):
        parsing.axes(Bungee(), ["mass=40:100:1e12"])


def test_values_with_units():
    """A unit applies to its number, after the last one to all; the values are in the parameter's unit."""
    knee = parsing.with_settings(Prosthesis(), ["damper.k=20kN/m", "damper.c=1.2 N*s/mm", "linkage.l_AE=1.9cm"])
    assert (knee.damper.k, knee.damper.c, knee.linkage.l_AE) == (2e4, 1200.0, pytest.approx(0.019))
    assert parsing.with_settings(Prosthesis(), ["ground.friction=60%"]).ground.friction == 0.6
    for text in ("stiffness=14:30:17N/cm", "stiffness=14:30N/cm:17", "stiffness=14N/cm:30N/cm:17"):
        np.testing.assert_allclose(parsing.axes(Bungee(), [text])["stiffness"], np.linspace(1400, 3000, 17))
    np.testing.assert_allclose(parsing.axes(Bungee(), ["initial.x=5,10cm"])["initial.x"], [0.05, 0.1])
    assert parsing.box(Bungee(), ["mass=500g:60kg"]) == {"mass": (0.5, 60.0)}
    assert parsing.box(Bungee(), ["rope_length=2400:3400:cm"]) == {"rope_length": (24.0, 34.0)}
    np.testing.assert_allclose(parsing.with_settings(Chosen(), ["table=1,2;3,4mm"]).table, [[1e-3, 2e-3], [3e-3, 4e-3]])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stiffness=20kN", "stiffness=20kN: the value is in 'kN', but stiffness in 'N/m': give it in N/m, kN/m, N/mm"),
        ("stiffness=20 furlong", "the value is in 'furlong', but stiffness in 'N/m'"),
        ("stiffness=5N/mm:10:3", "give every number a unit, or only the last one, got 5N/mm, 10"),
        ("stiffness=5N/mm,10", "give every number a unit, or only the last one, got 5N/mm, 10"),
        ("stiffness=5:N/mm", "expects name=low:high:count"),
        ("mas=5kg", "no parameter 'mas': did you mean 'mass'"),
    ],
)
def test_units_that_do_not_fit(text, message):
    with pytest.raises(ParameterError) as caught:
        parsing.axes(Bungee(), [text])
    assert message in str(caught.value)


@pytest.mark.parametrize("text", ["damper.k=1:2:3", "damper.k=1,2", "damper.k", "damper.k=a:b"])
def test_boxes_that_are_none(text):
    with pytest.raises(ValueError, match=r"damper\.k"):
        parsing.box(Prosthesis(), [text])


def test_a_parameter_is_fixed_or_varied():
    with pytest.raises(ValueError, match="mass is given to --set and to --over"):
        parsing.check_not_fixed(["gravity=9", "mass=3"], [], ["mass=1:2:3"])
    with pytest.raises(ValueError, match=r"initial\.x is given to --initial and to --over"):
        parsing.check_not_fixed([], ["x=3"], ["initial.x=1:2:3"])
    with pytest.raises(ValueError, match=r"initial\.x is given to --initial and to --over"):
        parsing.check_not_fixed([], ["initial.x=3"], ["initial.x=1:2:3"])
    with pytest.raises(ValueError, match="--initial names x twice"):
        parsing.components(Bungee(), ["x=3", "initial.x=4"])


class Part(eqx.Module):
    law: Literal["soft", "hard"] = eqx.field(static=True, default="soft")
    flag: bool = eqx.field(static=True, default=False)


class Chosen(Bungee):
    part: Part = Part()
    units: int = eqx.field(static=True, default=2)
    table: np.ndarray = parameter(np.zeros((2, 2)), unit="m", doc="a table")


def test_choices_and_arrays():
    model = parsing.with_settings(Chosen(), ["part.law=hard", "part.flag=true", "units=3", "table=1,2;3,4", "mass=60"])
    assert (model.part.law, model.part.flag, model.units, model.mass) == ("hard", True, 3, 60.0)
    np.testing.assert_array_equal(model.table, [[1, 2], [3, 4]])
    assert parsing.choices(Chosen()) == {"part.law": "soft", "part.flag": False, "units": 2}


def test_a_choice_of_a_law_that_was_exchanged_is_none():
    """`ground.smoothing` is that of the default law of `ground.normal`."""
    assert "ground.smoothing" in parsing.choices(Prosthesis())
    with pytest.raises(ParameterError, match=r"ground\.smoothing is a choice .*not a parameter"):
        parsing.with_settings(Prosthesis(), ["ground.normal=Hertz", "ground.smoothing=arctan"])


class Unresolved(Bungee):
    flag: bool = eqx.field(static=True, default=False)
    odd: "Missing" = eqx.field(static=True, default=None)  # pyright: ignore


def test_flags_need_no_annotations():
    assert parsing.with_settings(Unresolved(), ["flag=true"]).flag is True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("part.law=stiff", r"part\.law must be one of soft, hard, got 'stiff'"),
        ("part.flag=maybe", "must be one of false, true, got 'maybe'"),
        ("units=2.5", "units must be a whole number"),
        ("table=1,2;3,x", r"table \(in m\): 'x' is not a number"),
        ("table=1,2;3", r"table \(in m\): rows of different lengths, '1,2;3'"),
        ("mass=60,70", r"mass \(in kg\): '60,70' is not a number"),
        ("part.lav=hard", "no parameter 'part.lav'"),
    ],
)
def test_settings_that_are_none(text, message):
    with pytest.raises(ValueError, match=message):
        parsing.with_settings(Chosen(), [text])


def test_files_to_write_are_checked_before_the_work(tmp_path):
    file = tmp_path / "file"
    file.write_text("kept")
    parsing.check_output(file)
    parsing.check_output(tmp_path / "a" / "b" / "new.nc")
    assert file.read_text() == "kept" and not any((tmp_path / "a" / "b").iterdir())
    for path, message in [
        (pathlib.Path(""), "is a folder"),
        (tmp_path, "is a folder"),
        (file / "x.nc", "cannot write to"),
        (pathlib.Path("/dev/null"), "not an ordinary file"),
    ]:
        with pytest.raises(OSError, match=message):
            parsing.check_output(path)
    with pytest.raises(ValueError, match=r"must end in \.pdf or \.png"):
        parsing.check_output(tmp_path / "run.nc", kinds=("png", "pdf"))


def test_folders_of_a_command_that_fails_do_not_stay(tmp_path, monkeypatch):
    """A search with a faulty limit left an empty folder for its report."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept").mkdir()
    with contextlib.suppress(ValueError), parsing.no_empty_folders():
        for folder in ("out/opt/deep", "out/full", "kept", "kept/new"):
            parsing.make_folder(pathlib.Path(folder))
        (tmp_path / "out" / "full" / "run.nc").touch()
        raise ValueError("a faulty limit")
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}
    assert left == {"kept", "out", "out/full", "out/full/run.nc"}


def test_elements_of_arrays_are_named_with_their_indices():
    assert parsing.names(["mass,masses[1,0]", "lengths[2]"]) == ("mass", "masses[1,0]", "lengths[2]")
    assert parsing.box(model("exoskeleton"), ["lengths[1]=20:50cm"]) == {"lengths[1]": (0.2, 0.5)}
    assert parsing.with_settings(model("exoskeleton"), ["masses[1,0]=3"]).masses[1, 0] == 3.0
    assert parsing.components(model("creeper-chain"), ["initial.q[0]=0.01"]) == {"q[0]": 0.01}


def test_distributions_have_the_mean_and_the_deviation_that_are_written():
    texts = [
        "mass=normal(70,5)",
        "stiffness=lognormal(30,6)",
        "rope_length=truncnorm(30,2,28,31)",
        "linear_drag=uniform(0,1)",
    ]
    found = parsing.sampled(Bungee(), [*texts, "initial.v=normal(1,20cm/s)"])
    assert (found["mass"].mean(), found["mass"].std()) == (70.0, 5.0)
    assert (found["stiffness"].mean(), found["stiffness"].std()) == pytest.approx((30.0, 6.0), rel=1e-12)
    assert found["rope_length"].support() == pytest.approx((28.0, 31.0), rel=1e-12)
    assert found["rope_length"].kwds == {"loc": 30.0, "scale": 2.0}
    assert found["linear_drag"] == (0.0, 1.0)
    assert (found["initial.v"].mean(), found["initial.v"].std()) == (0.01, 0.2)


def test_a_unit_may_follow_a_distribution():
    for text in (
        "damper.c=normal(1.6,0.2kN s/m)",
        "damper.c=normal(1.6,0.2)kN s/m",
        "damper.c=normal(1600, 200 N s/m)",
    ):
        (found,) = parsing.sampled(Prosthesis(), [text]).values()
        assert (found.mean(), found.std()) == pytest.approx((1600.0, 200.0), rel=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mass=gauss(70,5)", r"'gauss' is no distribution; write normal\(mean,sd\), uniform\(low,high\), lognormal"),
        ("mass=normal(70)", r"write normal\(mean,sd\), with 2 numbers"),
        ("mass=truncnorm(70,5,60)", r"write truncnorm\(mean,sd,low,high\), with 4 numbers"),
        ("mass=normal(70,)", r"write normal\(mean,sd\)"),
        ("mass=normal(70,-5)", "the standard deviation must be positive, got -5"),
        ("mass=lognormal(-70,5)", "the mean must be positive, got -70"),
        ("mass=uniform(80,60)", "low must be below high, got 80 and 60"),
        ("mass=truncnorm(70,5,80,60)", "low must be below high"),
        ("mass=normal(heavy,5)", "'heavy' is not a number"),
        ("mass=normal(70,5m)", "mass"),
        ("mas=normal(70,5)", "mass"),
    ],
)
def test_what_is_wrong_with_a_distribution(text, message):
    with pytest.raises(ParameterError, match=message) as caught:
        parsing.sampled(Bungee(), [text])
    assert len(str(caught.value)) < 300


def test_distributions_are_of_samples_only():
    with pytest.raises(ParameterError, match="a distribution needs a sample, --sobol N or --latin-hypercube N"):
        parsing.axes(Bungee(), ["mass=normal(70,5)"])
    with pytest.raises(ParameterError, match="a search has bounds; `jaxgait scan` samples distributions"):
        parsing.box(Bungee(), ["mass=normal(70,5)"])
