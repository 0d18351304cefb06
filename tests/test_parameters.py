"""Declared parameters: addressing, replacing, errors."""

import dataclasses
import pickle
import re
import warnings
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from jaxgait.fields import Immutable
from jaxgait.mechanics.contact import KelvinVoigt, NormalLaw
from jaxgait.mechanics.friction import Dahl
from jaxgait.mechanics.spatial import Link, hinge
from jaxgait.model import Scalar, parameter
from jaxgait.models import Creeper, CreeperChain, Jumper, Prosthesis, RigidWalker
from jaxgait.models.prosthesis import parts
from jaxgait.models.tree import TreeModel
from jaxgait.parameters import ParameterError, check, check_single, parameters, part, with_parameters
from jaxgait.parts import with_parts
from jaxgait.plausible import ImplausibleValue, plausible_range, warn_implausible
from jaxgait.precision import cast
from jaxgait.solve.simulate import simulate


class Damper(eqx.Module):
    k: Scalar = parameter(1.8e4, unit="N/m", doc="stiffness", bounds="nonnegative")
    c: Scalar = parameter(900.0, unit="N s/m", doc="damping", bounds="nonnegative")


class Leg(eqx.Module):
    damper: Damper = Damper()
    mass: Scalar = parameter(2.0, unit="kg", doc="mass", bounds="positive")
    masses: tuple = parameter((1.0, 2.0), unit="kg", doc="masses", bounds="positive")
    tilt: Scalar = parameter(0.0, unit="rad", doc="tilt")
    spare: Damper | None = None
    law: str = eqx.field(static=True, default="linear")


def test_dotted_names_reach_nested_modules():
    assert list(parameters(Leg())) == ["damper.k", "damper.c", "mass", "masses", "tilt"]
    leg = with_parameters(Leg(), {"damper.k": 3.0, "masses": (4.0, 5.0)})
    assert leg.damper.k == 3.0 and leg.masses == (4.0, 5.0) and leg.damper.c == 900.0


@pytest.mark.parametrize(("name", "hint"), [("damper.q", "damper.k"), ("k", "damper.k"), ("mas", "mass")])
def test_unknown_name_suggests_the_nearest(name, hint):
    with pytest.raises(ParameterError, match=hint):
        with_parameters(Leg(), {name: 1.0})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("mass", 0.0, "positive, got 0 kg"),
        ("damper.k", -1.0, "nonnegative, got -1 N/m"),
        ("damper.c", float("nan"), "finite, got nan"),
        ("damper.c", np.array([1.0, np.inf]), r"finite, got inf N s/m at index \(1,\)"),
        ("masses", (1.0, -2.0), "positive, got -2 kg"),
        ("mass", "heavy", r"Leg.mass \(mass\) must be one number in kg, got 'heavy'"),
        ("mass", None, "one number in kg, got None"),
        ("mass", True, "one number in kg, got True"),
        ("mass", 1j, "one number in kg, got 1j"),
        ("mass", {"of": 1.0}, "one number in kg"),
        ("masses", 3.0, "a list of numbers in kg, got 3.0"),
        ("masses", ["a", "b"], "a list of numbers in kg, got .'a', 'b'"),
    ],
)
def test_impossible_values_are_named(name, value, message):
    with pytest.raises(ParameterError, match=message):
        check(with_parameters(Leg(), {name: value}))


class Foot(eqx.Module):
    sole: NormalLaw = part(KelvinVoigt(), doc="law of the sole")


class Feet(eqx.Module):
    by_name: dict[str, Foot]


def test_parts_in_a_dict_are_checked_like_others():
    check(Feet({"left": Foot()}))
    with pytest.raises(ParameterError, match=r"Feet\.by_name\.left\.sole must be .*, got 3\.0"):
        check(Feet({"left": Foot(3.0)}))  # type: ignore[arg-type]


def test_values_that_are_not_finite_are_rejected_at_once_unless_traced():
    for value in (np.nan, jnp.inf, np.array([60.0, np.nan])):
        with pytest.raises(ParameterError, match=r"Leg\.mass \(mass\) must be finite, got"):
            with_parameters(Leg(), {"mass": value})
    assert np.isnan(jax.jit(lambda mass: with_parameters(Leg(), {"mass": mass}).mass)(np.nan))


def test_batched_leaves_pass():
    check(with_parameters(Leg(), {"mass": jnp.linspace(1.0, 2.0, 3)}))


def test_lists_become_what_the_parameter_is():
    leg = with_parameters(Leg(), {"masses": [3.0, 4.0], "mass": [1.0, 2.0]})
    assert leg.masses == (3.0, 4.0) and isinstance(leg.mass, np.ndarray)
    assert with_parameters(Leg(), {"masses": np.array([3.0, 4.0])}).masses == (3.0, 4.0)
    assert isinstance(with_parameters(Leg(), {"mass": (1.0, 2.0)}).mass, np.ndarray)
    with pytest.raises(ParameterError, match=r"mass.*one number in kg.*one trajectory has one value"):
        check_single(leg)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("damper", "Leg.damper is a group of parameters: set damper.k, damper.c one by one"),
        ("law", r"Leg.law is a choice \('linear'\), not a parameter: make it with Leg\(law=...\)"),
        ("spare", r"Leg has no spare: make it with Leg\(spare=Damper\(...\)\)"),
        ("spare.k", r"Leg has no spare: make it with Leg\(spare=Damper\(...\)\)"),
    ],
)
def test_errors_explain_names_that_are_not_parameters(name, message):
    with pytest.raises(ParameterError, match=message):
        with_parameters(Leg(), {name: 1.0})


def test_values_that_are_not_parts_raise():
    leg = eqx.tree_at(lambda m: m.damper, Leg(), 3)
    with pytest.raises(ParameterError, match=r"Leg.damper must be a Damper\(...\), got 3"):
        check(leg)
    with pytest.raises(ParameterError, match=r"Leg.spare must be a Damper\(...\), got 'none'"):
        check(eqx.tree_at(lambda m: m.spare, Leg(), "none", is_leaf=lambda x: x is None))
    check(eqx.tree_at(lambda m: m.spare, Leg(), Damper(), is_leaf=lambda x: x is None))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "damper.k",
            18.0,
            r"Leg.damper.k \(stiffness\) is 18 N/m, out of its plausible range 180 to 1.8e\+06: N/mm inst",
        ),
        ("damper.c", 0.9, "N s/mm instead of N s/m"),
        ("mass", 2000.0, "g instead of kg"),
        ("tilt", 24.0, "degrees instead of rad"),
        ("tilt", -24.0, "degrees instead of rad"),
        ("mass", np.array([1.0, 500.0, 600.0]), r"is 500 kg \(2 of 3 values\)"),
    ],
)
def test_values_in_another_unit_are_warned_of_once(name, value, message):
    with pytest.warns(ImplausibleValue, match=message) as caught:
        check(with_parameters(Leg(), {name: value}))
    assert len(caught) == 1 and caught[0].filename == __file__


@pytest.mark.parametrize(
    ("model", "value"),
    [
        (Creeper(), {"gait.stroke": 0.1}),
        (CreeperChain(), {"robot.pads.friction_high": 0.051}),
        (with_parts(CreeperChain(), {"robot.pads.friction": Dahl()}), {}),
        (RigidWalker(), {"friction": 0.8}),
    ],
    ids=["stroke", "pads", "part", "friction"],
)
def test_warnings_of_models_name_the_line_of_the_caller(model, value):
    with pytest.warns(UserWarning) as caught, pytest.raises(ValueError, match="duration"):
        simulate(with_parameters(model, value), duration=-1.0)
    assert {one.filename for one in caught} == {__file__}


def test_what_is_plausible_follows_from_unit_and_default():
    assert plausible_range(3.0, "m", "positive") == (0.1, 90.0)
    assert plausible_range(-0.5, "m", "any") == (-15.0, 15.0)
    assert plausible_range(0.0, "m", "any") == (-100.0, 100.0)
    assert plausible_range(1e6, "1/m", "positive") == (1e3, 1e9)
    assert plausible_range((0.0, 1.0, 4.0), "kg", "nonnegative") == (0.01, 400.0)
    assert plausible_range(0.6, "1", "nonnegative") is None and plausible_range(0.0, "N", "any") is None


@pytest.mark.parametrize(("foot", "unit"), [(23.8, "cm"), (238.0, "mm")])
def test_lengths_in_cm_and_mm_are_told_apart(foot, unit):
    with pytest.warns(ImplausibleValue, match=f"0.00793 to 7.14: {unit} instead of m"):
        with_parameters(Prosthesis(), {"segments.foot": foot}).validate()


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        (Creeper(), "inflow.amplitude", 240.0),  # cm/s, as in the paper
        (Creeper(), "inflow.heart_period", 75.0),  # beats per minute
        (Creeper(), "gait.coil_delay", 20.0),  # ms
        (Jumper(), "knee.delay", 100.0),  # ms
    ],
)
def test_values_in_the_units_of_the_field_are_implausible(model, name, value):
    with pytest.warns(ImplausibleValue, match=re.escape(name)):
        check(with_parameters(model, {name: value}))


@pytest.mark.slow
def test_zero_and_the_defaults_of_all_models_are_plausible(recwarn):
    from jaxgait.registry import model, models

    check(with_parameters(Leg(), {"damper.c": 0.0}))
    for name in models():
        model(name).validate()
        assert all(info.doc and len(info.doc) > 3 for info in parameters(model(name)).values())
    assert not [w for w in recwarn if issubclass(w.category, ImplausibleValue)]


def test_a_scan_out_of_the_plausible_range_warns_once():
    from jaxgait.ensembles.members import check_members, grid
    from jaxgait.models.bungee.model import Bungee

    with pytest.warns(ImplausibleValue, match=r"Bungee.mass \(body mass\) is 40000 kg \(6 of 6 values\)") as caught:
        check_members(Bungee(), grid({"mass": [4e4, 5e4, 6e4], "stiffness": [20.0, 30.0]}))
    assert len(caught) == 1


def test_exchanged_coefficients_of_a_scan_are_warned_of_once():
    from jaxgait.ensembles.members import check_members, grid, zipped
    from jaxgait.ensembles.validity import valid_members

    leg, exchanged = Prosthesis(), {"damper.k": [1e4, 1666.0, 900.0], "damper.c": [500.0, 23799.0, 18000.0]}
    for check_all in (check_members, valid_members):
        with pytest.warns(ImplausibleValue, match=r"c / k = 23799 / 1666 is 14.3 s \(2 of 3 values\)") as caught:
            check_all(leg, zipped(exchanged))
        assert len(caught) == 1
    with pytest.warns(ImplausibleValue, match="exchanged"):
        check(with_parameters(leg, {"damper.k": 900.0, "damper.c": 18000.0}))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ImplausibleValue)
        check_members(leg, grid({"damper.c": np.geomspace(10.0, 9e4, 9), "damper.k": [1.4e4, 3e4]}))
        check_members(
            with_parameters(leg, {"damper.k": 900.0, "damper.c": 18000.0}), grid({"ankle.damping": [0.0, 0.2]})
        )
        check(with_parameters(leg, {"damper.k": 0.0}))
    with pytest.warns(ImplausibleValue) as caught:  # nearly without a spring: its own range, and no word of an exchange
        check_members(leg, grid({"damper.k": np.geomspace(10.0, 1e5, 9)}))
    assert [("N/mm" in str(one.message), "exchanged" in str(one.message)) for one in caught] == [(True, False)]


def test_parts_with_fields_that_are_no_parameters_are_checked():
    class Labelled(parts.Damper):
        oil: str = eqx.field(static=True, default="ISO VG 32")

    with pytest.warns(ImplausibleValue, match="exchanged"):
        check(with_parts(Prosthesis(), {"damper": Labelled(k=900.0, c=18000.0)}))


def test_masses_of_all_people_are_plausible():
    from jaxgait.models.prosthesis.fitting import REFERENCE_PERSON, fitted
    from jaxgait.motion.stride import PERSON

    for mass in PERSON["mass_kg"]:
        drive = dataclasses.replace(Prosthesis().drive, person=REFERENCE_PERSON._replace(mass=mass))
        with warnings.catch_warnings():
            warnings.simplefilter("error", ImplausibleValue)
            thigh = parameters(fitted(dataclasses.replace(Prosthesis(), drive=drive)))["masses.thigh"]
            warn_implausible("thigh", thigh.value, "kg", thigh.plausible)


@pytest.mark.slow
def test_an_angle_of_an_initial_state_beyond_a_full_turn_is_warned_of():
    from jaxgait import simulate
    from jaxgait.ensembles import grid
    from jaxgait.ensembles.members import check_members
    from jaxgait.model import Variable
    from tests.oscillator import Oscillator

    class Pendulum(Oscillator):
        variables: ClassVar = {
            "x": Variable("rad", "angle"),
            "v": Variable("rad/s", "rate"),
            "energy": Variable("J", "energy"),
        }

    message = r"initial.x of Pendulum \(angle\) is 30 rad.*: degrees instead of rad\? \(On the command line: 30deg\)"
    with pytest.warns(ImplausibleValue, match=message) as caught:
        simulate(Pendulum(), duration=0.1, samples=1, initial_state={"x": 30.0})
        check_members(Pendulum(), grid({"initial.x": [0.1, 30.0]}))
    assert sum(one.category is ImplausibleValue for one in caught) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(Pendulum(), duration=0.1, samples=1, initial_state={"x": 3.0})
        check(with_parameters(Leg(), {"tilt": 2 * np.pi}))  # the ends of the range are plausible


class Gains(eqx.Module):
    gain: float = 1.0


class Plain(eqx.Module):
    k: float = 3.0
    part: Gains = Gains()


@pytest.mark.parametrize("default", [[1.0, 2.0], np.array([1.0, 2.0]), jnp.array([1.0, 2.0]), (1.0, 2.0)])
def test_defaults_may_be_several_numbers(default):
    class Bar(eqx.Module):
        lengths: tuple = parameter(default, unit="m", doc="lengths of its parts")

    assert parameters(Bar())["lengths"].rank == 1
    for bar in (Bar((3.0, 4.0)), with_parameters(Bar(), {"lengths": (3.0, 4.0)})):
        assert type(bar.lengths) is type(Bar().lengths), "a tuple times 2 would be its repetition"
    np.testing.assert_array_equal(Bar().lengths, [1.0, 2.0])
    np.testing.assert_array_equal(with_parameters(Bar(), {"lengths": [3.0, 4.0]}).lengths, [3.0, 4.0])


def test_errors_for_plain_fields_explain_how_to_declare_parameters():
    with pytest.raises(
        ParameterError, match=r"Plain\.k is a plain field, .* in Plain, as k: Scalar = parameter\(3\.0, unit"
    ):
        with_parameters(Plain(), {"k": 2.0})
    with pytest.raises(
        ParameterError, match=r"Plain\.part\.gain is a plain field, not a parameter: declare it in Gains"
    ):
        with_parameters(Plain(), {"part.gain": 2.0})
    with pytest.raises(ParameterError, match=r"Plain has no parameter 'mass': it declares none \(see jaxgait\.model"):
        with_parameters(Plain(), {"mass": 2.0})


@pytest.mark.parametrize("number", [np.float64(0.4), np.float32(0.5), np.array(0.4), np.int64(1)])
def test_numbers_of_numpy_become_numbers(number):
    """A model may multiply named tuples by them."""
    value = with_parameters(Prosthesis(), {"segments.thigh": number}).segments.thigh
    assert type(value) in (int, float) and value == number


def test_labelled_values_are_converted_and_a_row_of_a_table_is_a_dict():
    knee = with_parameters(Prosthesis(), {"damper.k": xr.DataArray(20.0, attrs={"units": "kN/m"})})
    assert knee.damper.k == 2e4 and isinstance(knee.damper.k, float)
    assert with_parameters(Prosthesis(), {"damper.k": xr.DataArray(2e4)}).damper.k == 2e4
    assert with_parameters(Prosthesis(), pd.Series({"damper.k": 2e4, "damper.c": 300.0})).damper.c == 300.0
    with pytest.raises(ParameterError, match=r"damper\.k is in 'kN', but the model's in 'N/m'"):
        with_parameters(Prosthesis(), {"damper.k": xr.DataArray(20.0, attrs={"units": "kN"})})


class Stacked(Immutable):
    masses: jax.Array = parameter((1.0, 2.0, 3.0), unit="kg", doc="masses")
    counts: np.ndarray = parameter(((1, 2), (3, 4)), unit="1", doc="counts")
    lengths: tuple[float, ...] = parameter((1.0, 2.0), unit="m", doc="lengths")
    mass: float = parameter(70.0, unit="kg", doc="body mass")


def test_a_tuple_as_default_is_an_array_unless_the_field_is_a_tuple():
    one = Stacked()
    np.testing.assert_array_equal(2.0 * one.masses, [2.0, 4.0, 6.0])
    assert one.counts.shape == (2, 2) and one.lengths == (1.0, 2.0)
    assert cast(one).masses.dtype == cast(one).counts.dtype == jnp.zeros(()).dtype
    assert (
        isinstance(Stacked(masses=(1.0, 2.0)).masses, np.ndarray) and pickle.loads(pickle.dumps(one)).masses[2] == 3.0
    )
    assert Stacked().masses is not one.masses
    changed = with_parameters(one, {"masses": (4.0, 5.0, 6.0), "lengths": [1.0, 3.0], "counts[0,1]": 5})
    assert list(changed.masses) == [4.0, 5.0, 6.0] and changed.lengths == (1.0, 3.0) and changed.counts[0, 1] == 5


@pytest.mark.parametrize(
    ("name", "given", "wanted"),
    [
        ("mass", xr.DataArray(8e4, attrs={"units": "g"}), 80.0),
        ("mass", xr.DataArray(80.0), 80.0),
        ("masses", xr.DataArray([1e3, 2e3], attrs={"units": "g"}), [1.0, 2.0]),
        ("masses", pd.Series([1.0, 2.0]), [1.0, 2.0]),
        ("lengths", xr.DataArray([10.0, 20.0], attrs={"units": "cm"}), (0.1, 0.2)),
    ],
)
def test_constructors_take_labelled_values_as_with_parameters_does(name, given, wanted):
    made, changed = getattr(Stacked(**{name: given}), name), getattr(with_parameters(Stacked(), {name: given}), name)
    assert type(made) is type(changed) and np.allclose(made, changed, rtol=1e-15)
    np.testing.assert_allclose(made, wanted, rtol=1e-15)


def test_parts_that_are_plain_modules_have_their_parameters_as_declared():
    class Gains(eqx.Module):
        stiffness: jax.Array = parameter((3.0, 4.0), unit="N m/rad", doc="stiffness")
        target: float = parameter(0.5, unit="rad", doc="angle to hold")

        def __call__(self, t, q, v):
            return self.stiffness * (self.target - q)

    upper = Link("upper", None, hinge((0, 1, 0)), mass=1.0, com=(0.0, 0.0, -0.5))
    lower = Link("lower", "upper", hinge((0, 1, 0)), mass=1.0, com=(0.0, 0.0, -0.5))
    labelled = xr.DataArray(90.0, attrs={"units": "deg"})
    arm = TreeModel([upper, lower], drives={"gains": Gains(target=labelled)})
    assert arm.drives["gains"].target == pytest.approx(np.pi / 2, rel=1e-15)
    np.testing.assert_array_equal(2.0 * arm.drives["gains"].stiffness, [6.0, 8.0])


def test_constructors_reject_values_in_units_of_other_quantities():
    with pytest.raises(ValueError, match=r"Stacked.mass is in 'N', but the model's in 'kg'"):
        Stacked(mass=xr.DataArray(80.0, attrs={"units": "N"}))


class Doubled(Immutable):
    mass: float = parameter(80.0, unit="kg", doc="mass")
    arms: float = parameter(1.0, unit="m", doc="length, which the constructor leaves out")

    def __init__(self, half):
        self.mass = 2.0 * half


def test_a_field_that_a_constructor_leaves_out_is_a_parameter_like_others():
    assert jax.tree.leaves(Doubled(35.0)) == [70.0, 1.0]
    assert with_parameters(Doubled(35.0), {"arms": 0.9}).arms == 0.9
