"""Parameter sets: what they contain, and errors."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

from jaxgait.ensembles import cloud, grid, latin_hypercube, product, sobol, zipped
from jaxgait.ensembles.conversion import in_own_units
from jaxgait.ensembles.members import Members, as_members, check_members, constant
from jaxgait.mechanics.spatial import Link, hinge
from jaxgait.models import RollingWalker
from jaxgait.models.tree import TreeModel
from jaxgait.parameters import ParameterError
from tests.oscillator import Oscillator


def test_a_grid_is_every_pair_with_the_last_axis_fastest():
    members = grid({"mass": [1, 2, 3], "stiffness": [4.0, 5.0]})
    assert members.dims == ("mass", "stiffness") and members.shape == (3, 2) and members.size == 6
    np.testing.assert_array_equal(members.values["mass"], [1, 1, 2, 2, 3, 3])
    np.testing.assert_array_equal(members.values["stiffness"], [4, 5, 4, 5, 4, 5])
    assert as_members({"mass": [1.0]}).dims == ("mass",)
    assert repr(members) == "<Members {'mass': 3, 'stiffness': 2} with values of mass, stiffness>"


def test_zipped_in_one_dimension():
    members = zipped({"mass": [1.0, 2.0], "stiffness": [3.0, 4.0]})
    assert members.dims == ("member",) and members.shape == (2,)
    assert members.labels["mass"][0] == ("member",)


def test_each_row_of_a_table_is_a_member():
    table = pd.DataFrame({"mass": [60.0, 70.0, 80.0], "stiffness": [20.0, 25.0, 30.0]}, index=[7, 8, 9])
    members = zipped(table)
    assert members.dims == ("member",) and members.values["mass"].tolist() == [60.0, 70.0, 80.0]
    assert members.labels["member"][1].tolist() == [7, 8, 9]
    assert "member" not in zipped(table.reset_index(drop=True)).labels  # a count labels nothing


def test_zipped_with_an_axis_that_is_not_a_parameter():
    k, ratio = np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2])
    k2, ratio2 = np.meshgrid(k, ratio, indexing="ij")
    members = zipped({"stiffness": k2, "mass": ratio2 * k2}, axes={"stiffness": k, "ratio": ratio})
    assert members.dims == ("stiffness", "ratio") and members.shape == (3, 2)
    np.testing.assert_allclose(members.values["mass"], [0.1, 0.2, 0.2, 0.4, 0.3, 0.6])
    assert set(members.labels) == {"stiffness", "ratio", "mass"}
    assert members.labels["mass"][0] == ("stiffness", "ratio")


def test_dicts_and_tables_are_sets_too():
    table = pd.DataFrame({"mass": [60.0, 70.0]}, index=pd.Index(["ann", "ben"], name="subject"))
    both = product(table, {"stiffness": [20.0, 25.0, 30.0]})
    assert both.dims == ("subject", "stiffness") and both.values["mass"].tolist() == [60.0] * 3 + [70.0] * 3
    for rows in (table, table.to_xarray()):
        assert as_members(rows).dims == ("subject",) and as_members(rows).size == 2


def test_labels_that_two_sets_share_are_kept_or_raise():
    days = lambda a, b: product(
        *(
            zipped(xr.Dataset({name: (name[0], [1.0, 2.0])}, {"day": ((), *day) if isinstance(day, list) else day}))
            for name, day in (("mass", a), ("stiffness", b))
        )
    )
    assert days("Monday", "Monday").labels["day"] == ((), "Monday")
    assert days([np.nan], [np.nan]).size == 4  # not known in either
    with pytest.raises(ParameterError, match="label given twice, with different values: 'day': drop it from one"):
        days("Monday", "Tuesday")


def test_vector_valued_parameters_vary_along_an_unlabelled_dimension():
    members = grid({"shape": np.ones((3, 2)), "mass": [1.0, 2.0]})
    assert members.shape == (3, 2) and members.values["shape"].shape == (6, 2)
    assert members.labels["shape_values"][0] == ("shape",)
    check_members(Oscillator(), members)


def test_constant_values_are_converted_as_those_that_vary():
    given = xr.DataArray([7e4], attrs={"units": "g"})
    shared = in_own_units(Oscillator(), constant(grid({"limit": [1.0, 2.0]}), {"mass": given[0]}))
    assert shared.values["mass"].tolist() == [70.0, 70.0] and shared.labels["mass"][1] == 70.0


M = np.array([60.0, 70.0])


def test_values_of_a_set_that_a_user_makes_are_floats():
    """Integers made a program with integers for parameters, whose derivatives do not exist."""
    for values in (M.astype(int), M.astype(np.float32)):
        made = Members(("a",), (2,), {"mass": values}, {}).values["mass"]
        assert made.dtype == np.float64 and made.tolist() == [60.0, 70.0]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: zipped({"mass": [1.0]}, axes={"m/k": [1.0]}), "must not contain '/'"),
        (lambda: grid({}), "at least one parameter"),
        (lambda: grid({"mass": []}), "would be empty"),
        (lambda: grid({"mass": 2.0}), "list of values"),
        (lambda: grid({"mass": ["a", "b"]}), "real numbers"),
        (lambda: grid({"mass": [True, False]}), "real numbers"),
        (lambda: grid({"mass": [1j]}), "real numbers"),
        (lambda: grid({"mass": [[1.0], [1.0, 2.0]]}), "must form an array"),
        (lambda: grid([("mass", [1.0]), ("mass", [2.0])]), "given twice: 'mass'"),
        (lambda: product(grid({"mass": [1.0]}), zipped({"mass": [2.0]})), "given twice: 'mass'"),
        (lambda: product(zipped({"mass": [1.0]}), zipped({"limit": [2.0]})), "dimension given twice: 'member'"),
        (lambda: zipped({"mass": [1.0, 2.0], "stiffness": [1.0]}), "equally long"),
        (lambda: zipped({"mass": [[1.0]]}, axes={"a": [1.0], "b": [1.0, 2.0]}), "must have the shape"),
        (lambda: zipped({"mass": [1.0, 2.0]}, axes={"mass": [1.0, 3.0]}), "does not label"),
        (lambda: Members(("a",), (1,), {"mass": M}, {}), r"per member \(1\), got an array of the shape \(2,\)"),
        (
            lambda: Members(("a",), (0,), {"mass": M[:0]}, {}),
            r"shape \(0,\) has no members: the ensemble would be empty",
        ),
        (lambda: Members(("a",), (2,), {"mass": M > 65.0}, {}), "real numbers"),
        (lambda: Members(("a", "b"), (1,), {}, {}), "one length for each of their dimensions"),
        (lambda: Members((), (), {"mass": M[:1]}, {}), "at least one"),
        (lambda: Members(("a",), (2,), {}, {"c": (("a",), M[:1])}), r"'c' has the shape \(1,\), which is not that"),
        (lambda: Members(("a",), (2,), {"mass": M}, {"mass": (("a",), M[::-1])}), "does not label"),
        (product, "at least one set"),
        (lambda: grid({"mass": stats.norm(1.0, 2.0)}), r"got a distribution \(rv_continuous_frozen\): sample it"),
        (
            lambda: sobol({"mass": stats.multivariate_normal([1.0, 2.0])}, 8),
            "of correlated parameters, draw the values",
        ),
        (
            lambda: sobol({("mass", "limit"): 1.0}, 8),
            r"got \('mass', 'limit'\); .* correlated ones too, are columns of",
        ),
    ],
)
def test_impossible_sets_raise(build, message):
    with pytest.raises(ParameterError, match=message):
        build()


def test_sets_that_do_not_fit_in_memory_raise_before_anything_is_allocated(monkeypatch):
    from jaxgait.support import machine

    monkeypatch.setattr(machine, "free_memory", lambda: 30_000_000)
    values = np.linspace(1.0, 2.0, 1001)
    for make in (
        lambda: grid({"mass": values, "stiffness": values}),  # 32 MB
        lambda: sobol({"mass": (1.0, 2.0)}, 1 << 20),
        lambda: latin_hypercube({"mass": (1.0, 2.0)}, 1 << 20),
        lambda: cloud(Oscillator(), {"x": 1.0}, 1 << 20),
    ):
        with pytest.raises(MemoryError, match=r"10\d+ members.* need .* GB of memory and 0.03 GB are free"):
            make()
    assert grid({"mass": values, "stiffness": values[:900]}).size == 900_900


@pytest.mark.slow
def test_a_label_with_the_name_of_a_result_raises_before_the_work():
    from jaxgait.ensembles import ensemble

    for name in ("status", "t_end", "promoted"):
        labelled = zipped({"mass": [1.0, 2.0]}, axes={name: [1.0, 2.0]})
        with pytest.raises(ParameterError, match=f"label '{name}', which is a result"):
            ensemble(Oscillator(), labelled, duration=1.0)
    axis = zipped({"mass": [1.0, 2.0]}, axes={"time": [1.0, 2.0]})
    sample = zipped(xr.Dataset({"mass": ("run", [1.0, 2.0])}, {"time": 5.0}))  # as after isel(time=-1)
    for members, advice in ((axis, "give it"), (sample, r"drop it, table\.drop_vars\('time'\), or give it")):
        with pytest.raises(ParameterError, match=f"label 'time', which is a dimension of the result '.*': {advice}"):
            ensemble(Oscillator(), members, duration=1.0, trajectories=True)


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ({"stifness": [1.0]}, "did you mean 'stiffness'"),
        ({"initial.vv": [1.0]}, "did you mean 'initial.v'"),
        ({"mass": [1.0, np.nan]}, r"^mass\[1\] .*finite, got nan kg$"),
        ({"stiffness": [1.0, 2.0], "mass": [1.0, -2.0, np.inf]}, r"^mass\[1\] .*positive, got -2 kg$"),
        ({"mass": [1.0, -2.0]}, "positive"),
        ({"initial.x": [np.inf]}, "must be finite"),
        ({"shape": [1.0, 2.0]}, r"array of shape \(2,\)"),
        ({"mass": [[1.0, 2.0]]}, "one number"),
        ({"links": [1, 2]}, "cannot vary"),
    ],
)
def test_impossible_axes_of_a_model_raise(axes, message):
    with pytest.raises(ParameterError, match=message):
        check_members(Oscillator(), grid(axes))


def test_empty_lists_of_text_raise():
    with pytest.raises(ParameterError, match="the values of 'mass' must be real numbers, got array"):
        grid({"mass": np.array([], dtype=str)})


@pytest.mark.parametrize("mass", [2, np.int32(2)])
def test_a_real_parameter_of_a_model_made_with_an_integer_can_vary(mass):
    check_members(Oscillator(mass=mass), grid({"mass": [1.0, 3.0]}))


def test_masked_members_are_named():
    scan = xr.Dataset({"status": ("x", [0, 0])}, {"x": [1.0, 2.0]}, {"member_values": '["x"]'})
    assert as_members(scan.isel(x=[1])).values["x"].tolist() == [2.0]
    with pytest.raises(ParameterError, match="members are masked, as by `where`: select some by isel or sel"):
        as_members(scan.where(scan.x > 1.0))


def test_a_parameter_of_the_start_that_a_component_replaces_is_an_error():
    swing = TreeModel([Link("bar", None, hinge((0, 1, 0)), mass=1.0, com=(0.0, 0.0, -0.5))], start={"bar": 0.1})
    both = {"start.bar": [0.1, 0.2], "initial.q[0]": [0.3, 0.4]}
    with pytest.raises(ParameterError, match=r"'start\.bar' has no effect, because 'initial\.q\[0\]' replaces what it"):
        check_members(swing, grid(both))
    with pytest.raises(ParameterError, match=r"'start\.theta_1' has no effect"):
        check_members(RollingWalker(), zipped({"start.theta_1": [0.2], "initial.stance": [0.2]}))
    check_members(swing, grid({"start.bar": [0.1, 0.2], "initial.v[0]": [0.3, 0.4]}))
    check_members(RollingWalker(), zipped({"start.theta_1": [0.2], "initial.stance_rate": [-1.5]}))
