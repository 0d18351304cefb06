"""Sobol indices: those of the Ishigami function, which are known; rows that fail; what is asked in vain."""

import json
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from scipy import stats

from jaxgait.analysis.sensitivity import indices, sobol_indices
from jaxgait.ensembles.spacing import Log
from jaxgait.measure import Measure, table
from jaxgait.model import Model, Numerics, Scalar, Variable, parameter
from jaxgait.outcome import NoResult
from jaxgait.parameters import ParameterError
from tests.solve.test_time_stepping import Ball

FIRST, TOTAL = [0.3139, 0.4424, 0.0], [0.5576, 0.4424, 0.2437]
"""For a = 7, b = 0.1 (Ishigami and Homma 1990)."""
BOX = {name: (-np.pi, np.pi) for name in "xyz"}
QUICK = {"duration": 0.1, "samples": 1, "progress": False}


class At(NamedTuple):
    rest: Scalar


def ishigami(x, y, z):
    return jnp.sin(x) + 7.0 * jnp.sin(y) ** 2 + 0.1 * z**4 * jnp.sin(x)


def _value(run):
    return ishigami(run.model.x, run.model.y, run.model.z)


def _half(run):
    return jnp.where(run.model.x > 2.0, jnp.nan, run.model.y)


def _plane(run):
    return 2.0 * run.model.x + run.model.y


LOGARITHM = Measure("logarithm", lambda run: jnp.log(run.model.x * run.model.y), "1", "of the product")


class Function(Model):
    """Nothing moves; the measures are functions of the parameters."""

    x: Scalar = parameter(0.5, unit="m", doc="first", source="chosen")
    y: Scalar = parameter(0.5, unit="1", doc="second", source="chosen")
    z: Scalar = parameter(0.5, unit="1", doc="third", source="chosen")

    numerics: ClassVar[Numerics] = Numerics(stiff=False, rtol=1e-3, atol=1e-3)
    variables: ClassVar = {"rest": Variable("1", "what does not move")}
    measures: ClassVar = table(
        Measure("value", _value, "N", "Ishigami's function"),
        Measure("half", _half, "1", "undefined for large x"),
        Measure("nowhere", lambda run: jnp.nan * run.ts[0], "1", "undefined"),
        Measure("plane", _plane, "1", "linear"),
        Measure("count", lambda run: jnp.floor(4.0 * run.model.x).astype(int), "1", "an integer"),
    )

    @property
    def duration(self) -> Scalar:
        return 0.1

    def initial_state(self) -> At:
        return At(jnp.zeros(()))

    def vector_field(self, t, y):
        return At(0.0 * y.rest)


class Ending(Function):
    """Every run ends early, and two measures are defined there."""

    measures: ClassVar = table(
        Measure("first", lambda run: run.model.x, "1", "x", early=True),
        Measure("minus", lambda run: -jnp.floor(2.0 * run.model.x).astype(int), "1", "an integer, 0 or -1", early=True),
        Measure("plane", _plane, "1", "linear"),
    )

    def terminations(self):
        return {"over": lambda t, y: t > 0.05}


@pytest.fixture(scope="module")
def found():
    return sobol_indices(Function(), BOX, ["value", "half", "plane"], count=1024, **QUICK)


def test_known_indices_lie_in_their_intervals(found):
    one = found.sel(measure="value")
    for name, exact in (("first", FIRST), ("total", TOTAL)):
        np.testing.assert_allclose(one[name], exact, atol=0.05)
        low, high = one[f"{name}_interval"].values.T
        assert ((low <= np.array(exact)) & (np.array(exact) <= high)).all() and (high - low < 0.4).all()
    assert float(one["mean"]) == pytest.approx(3.5, abs=0.1) and one.measure_unit == "N"
    origin = found.attrs
    assert json.loads(origin["parameters"]) and origin["sampled"].endswith("count=1024, seed=0)")
    assert (origin["seed"], origin["resamples"], origin["confidence"]) == (0, 200, 0.95)
    assert {"model", "module", "contents", "scheme", "rtol", "precision", "jaxgait", "commit", "versions"} <= {*origin}
    assert not {"member_values", "status_legend", "efficiency"} & {*origin}, "of members, which it has not"
    assert found.attrs["members"] == 1024 * 5 and list(found.parameter_unit.values) == ["m", "1", "1"]


@pytest.mark.slow
def test_an_interval_below_zero_is_warned_of():
    with pytest.warns(UserWarning, match=r"of value, .* of z is -0\.12 \(-0\.23 to -0\.018\)\. Give a larger count"):
        sobol_indices(Function(), BOX, "value", count=256, **QUICK)


@pytest.mark.slow
def test_indices_of_part_of_the_sample_and_those_that_it_leaves_open_are_warned_of():
    rare = Measure("rare", lambda run: jnp.exp(4.0 * _half(run) * run.model.z), "1", "a few large values")
    with pytest.warns(UserWarning) as caught:
        sobol_indices(Function(), BOX, rare, count=64, **QUICK)
    left_out, open_ = (str(one.message) for one in caught if one.category is UserWarning)
    assert "of 64 rows, those with a member without a value (failed, ended early, not valid) are left" in left_out
    assert ": rare (2" in left_out
    assert "does not determine the Sobol indices of rare, which lie between 0 and 1: the total index of" in open_


def test_a_linear_measure_has_the_indices_that_its_slopes_say(found):
    one = found.sel(measure="plane")
    np.testing.assert_allclose(one.slope, [2.0, 1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(one.linear, [0.8, 0.2, 0.0], atol=1e-12)
    np.testing.assert_allclose(one["first"], one.linear, atol=0.05)
    np.testing.assert_allclose(one["total"], one.linear, atol=0.05)


def test_shares_of_an_infinite_variance_do_not_exist():
    with pytest.raises(ParameterError, match=r"of 'x' has no finite variance, .*: t\(df=2\.0, loc=0\.0, scale=1\.0\)"):
        sobol_indices(Function(), BOX | {"x": stats.t(2)}, "value", count=16, **QUICK)


@pytest.mark.slow
def test_ranges_may_be_pairs():
    by_name, pairs = (sobol_indices(Function(), o, "value", count=16, **QUICK) for o in (BOX, list(BOX.items())))
    np.testing.assert_array_equal(by_name.total, pairs.total)


@pytest.mark.slow
def test_ranges_may_be_logarithmic_and_labelled():
    """Of a product of two parameters, as of a sum of logarithms, each has half."""
    box = {"x": Log(*(xr.DataArray(x, attrs={"units": "km"}) for x in (1e-5, 1e-2))), "y": Log(1e-3, 1.0)}
    found = sobol_indices(Function(), box, LOGARITHM, count=256, **QUICK)
    np.testing.assert_allclose(found["first"], [[0.5, 0.5]], atol=0.05)
    np.testing.assert_allclose(found.linear, [[0.5, 0.5]], rtol=1e-6)
    np.testing.assert_allclose(found.slope, [[10.0**0.5, 1e3**0.5]], rtol=1e-6)
    assert float(found["mean"][0]) == pytest.approx(np.log(1e-2), abs=0.05)


@pytest.mark.slow
def test_parameters_may_have_distributions():
    """With the known indices of a sum, where a range is a uniform distribution, and of a product of normal factors."""
    factors = Measure("product", lambda run: run.model.x * run.model.z, "1", "of two")
    over = {"x": stats.norm(1.0, 0.5), "y": (-1.0, 1.0), "z": stats.norm(loc=2.0, scale=0.4)}
    found = sobol_indices(Function(), over, [factors, "plane"], count=512, **QUICK)
    both = 1.0 + 0.16 + 0.04  # variance of the product: of each factor times the other's mean, and their interaction
    np.testing.assert_allclose(found["first"][0], [1.0 / both, 0.0, 0.16 / both], atol=0.05)
    np.testing.assert_allclose(found["total"][0], [1.04 / both, 0.0, 0.2 / both], atol=0.05)
    np.testing.assert_allclose(found["first"][1], [0.75, 0.25, 0.0], atol=0.05)
    np.testing.assert_allclose(found["total"][1], [0.75, 0.25, 0.0], atol=0.05)
    np.testing.assert_allclose(found.linear[1], [0.75, 0.25, 0.0], rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(found["mean"], [2.0, 2.0], atol=0.05)
    np.testing.assert_allclose(found["deviation"], np.sqrt([both, 4.0 / 3.0]), rtol=0.05)
    assert found.over.values.tolist() == ["norm(loc=1.0, scale=0.5)", "(-1.0, 1.0)", "norm(loc=2.0, scale=0.4)"]


@pytest.mark.slow
def test_integers_have_indices_without_slopes_and_the_ensemble_may_have_a_store(tmp_path):
    over = {"x": (0.0, 1.0), "y": stats.norm(0.5, 0.1)}
    request = {"over": over, "count": 16, "store": tmp_path / "scan.zarr", **QUICK}
    for _ in range(2):
        one = sobol_indices(Function(), observe=["count", "plane"], **request)
        assert np.isnan(one.slope.sel(measure="count")).all() and one.total.sel(measure="count", parameter="x") > 0.9
        np.testing.assert_allclose(one.slope.sel(measure="plane"), [2.0, 1.0])


@pytest.mark.slow
def test_members_that_ended_early_count_where_the_measure_is_defined():
    box, run = {"x": (0.0, 1.0), "y": (0.0, 1.0)}, {"count": 16, "local": False} | QUICK
    found = sobol_indices(Ending(), box, ["first", "minus"], **run)
    assert found["rows"].values.tolist() == [16, 16] and (found.total.sel(parameter="x") > 0.9).all()
    with pytest.raises(NoResult, match="plane in only 0 of 16 rows"):
        sobol_indices(Ending(), box, ["plane"], **run)


def test_rows_with_a_member_that_failed_are_left_out(found):
    """A row succeeds if x of both samples is below 2: it then depends on y alone."""
    one, share = found.sel(measure="half"), (2.0 + np.pi) / (2.0 * np.pi)
    assert int(one["rows"]) == pytest.approx(1024 * share**2, rel=0.02)
    np.testing.assert_allclose(one["total"], [0.0, 1.0, 0.0], atol=0.05)


def test_the_estimators_are_those_of_scipy():
    a, b, c = np.random.default_rng(1).uniform(-np.pi, np.pi, (3, 2, 64))
    points = [np.array([a[0], b[0], c[0]]), np.array([a[1], b[1], c[1]])]
    mixed = [np.where(np.arange(3)[:, None] == i, points[1], points[0]) for i in range(3)]
    of = lambda x: np.asarray(ishigami(*x))
    f_a, f_b, f_ab = of(points[0]), of(points[1]), np.array([of(x) for x in mixed])
    theirs = stats.sobol_indices(func={"f_A": f_a[None], "f_B": f_b[None], "f_AB": f_ab[:, None]}, n=64)
    first, total = indices(f_a, f_b, f_ab)
    np.testing.assert_allclose(first, theirs.first_order, rtol=1e-10)
    np.testing.assert_allclose(total, theirs.total_order, rtol=1e-10)
    assert not np.any(indices(np.ones(4), np.ones(4), np.ones((2, 4))))
    rounded = np.float32(1.0) + np.finfo(np.float32).eps * np.tile([0, 1], 8).astype(np.float32)
    assert not np.any(indices(rounded, rounded[::-1], rounded[None]))


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"observe": ["nowhere"], "local": False},
            NoResult,
            "all members have nowhere in only 0 of 16 rows, 16 are needed",
        ),
        ({"observe": ["valu"]}, ValueError, "no measure 'valu': did you mean 'value'"),
        ({"observe": lambda run: {"x": run.ts[0]}}, TypeError, "needs measures or their names"),
        ({"over": {"w": (0.0, 1.0)}}, ValueError, "'w'"),
        ({"over": {"x": stats.multivariate_normal([1.0, 2.0])}}, ValueError, "among correlated parameters no division"),
        ({"over": {"x": (1.0, 0.0)}}, ValueError, "x"),
        ({"count": 8}, ValueError, "count must be a whole number, at least 16"),
        ({"gradient": ["x"]}, ValueError, "sobol_indices does not take gradient: it sets that itself"),
        ({"sample": 3}, ValueError, "sobol_indices has no argument 'sample': did you mean 'samples'"),
        ({"confidence": 2.0}, ValueError, "confidence must be a positive number below 1"),
    ],
)
def test_impossible_requests_are_named(changes, error, message):
    request = {"over": {"x": (0.0, 1.0)}, "observe": ["value"], "count": 16, **QUICK, **changes}
    with pytest.raises(error, match=message):
        sobol_indices(Function(), **request)


def test_a_scheme_without_derivatives_gives_indices_alone():
    request = {"observe": Measure("lowest", lambda run: run["y"].min(), "m", "lowest point"), "count": 16}
    box = {"height": (0.1, 0.2), "restitution": (0.2, 0.5)}
    found = sobol_indices(Ball(), box, **request, duration=0.02, samples=2, dt=1e-3)
    assert "slope" not in found and found.total.idxmax("parameter").item() == "height"
    with pytest.raises(ValueError, match="has no gradient"):
        sobol_indices(Ball(), box, **request, local=True, duration=0.02, samples=2, dt=1e-3)


def test_rounding_is_no_variance():
    """Of the same sum in another order, say; a deviation of a millionth is one."""
    first, second, mixed = (0.3 + 1e-16 * np.random.default_rng(i).integers(-1, 2, 64) for i in range(3))
    for index in indices(first, second, mixed[None]):
        np.testing.assert_array_equal(index, 0.0)
    first, second = (0.3 + 3e-7 * np.random.default_rng(i).normal(size=64) for i in range(2))
    assert indices(first, second, second[None])[0] > 0.5
