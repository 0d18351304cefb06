"""What results record of a model, beyond its parameters, is enough to make it again; if not, that is an error."""

import dataclasses
import json
import sys
from typing import Any, ClassVar

import equinox as eqx
import jax
import numpy as np
import pytest
import xarray as xr

from jaxgait import ensemble, registry, simulate, with_parameters, with_parts
from jaxgait.contents import contents, restored
from jaxgait.ensembles import again, results
from jaxgait.ensembles.recipe import run_recipe, scan_recipe
from jaxgait.ensembles.results import open_result, rebuilt
from jaxgait.ensembles.walks import people
from jaxgait.mechanics.friction import Stribeck
from jaxgait.mechanics.spatial import Link, hinge
from jaxgait.model import Model, Variable
from jaxgait.models import Bungee, Creeper, Exoskeleton, Prosthesis
from jaxgait.models.creeper.artery import Inflow
from jaxgait.models.prosthesis.parts import Socket
from jaxgait.models.tree import Spring, Torque, TreeModel
from jaxgait.motion.drive import reference_gait
from jaxgait.motion.stride import Person
from jaxgait.parameters import parameter, parameters
from jaxgait.plot.explorer import explore
from jaxgait.plot.explorer.lines import lines
from jaxgait.run import Sampling
from jaxgait.solve.dataset import provenance
from jaxgait.solve.schemes import scheme_for


def stored(model):
    """The contents as read from a file."""
    return json.loads(json.dumps(contents(model)))


def same(a, b):
    leaves = [[np.asarray(x) for x in jax.tree.leaves(model)] for model in (a, b)]
    return jax.tree.structure(a) == jax.tree.structure(b) and all(map(np.array_equal, *leaves))


@pytest.mark.parametrize("name", registry.own_models())
def test_a_model_as_it_comes_has_no_contents(name):
    assert contents(registry.model(name)) == {}


def walker(**person):
    drive = reference_gait("hbm07_0.98ms")
    return Prosthesis().driven(dataclasses.replace(drive, person=Person(**person)) if person else drive)


class Tagged(eqx.Module):
    """Its fields have the names that records of arrays and mappings have."""

    array: float = 2.0
    mapping: str = "a"


class Outer:
    class Nested(eqx.Module):
        law: Tagged = Tagged()


class Lawful(Bungee):
    law: Any = None


CHANGED = {
    "a nested class": lambda: Lawful(law=Outer.Nested(Tagged(3.0, "b"))),
    "another walk": walker,
    "another person": lambda: walker(thigh=0.42, shank=0.44, mass=81.0),
    "a law": lambda: with_parts(Prosthesis(), {"ground.friction": Stribeck(static=0.9)}),
    "a part": lambda: with_parts(Prosthesis(), {"socket": Socket()}),
    "a choice": lambda: Creeper(inflow=Inflow(backflow="printed")),
    "an argument": lambda: Exoskeleton(dimension=2, mode="gait"),
}


@pytest.mark.usefixtures("unaligned")
@pytest.mark.parametrize("name", CHANGED)
def test_a_changed_model_is_made_from_its_record(name):
    model = CHANGED[name]()
    found = restored(type(model), stored(model))
    values = {n: p.value for n, p in parameters(model).items()}
    assert same(with_parameters(found, values), with_parameters(model, values)) and contents(model)


@pytest.mark.slow
@pytest.mark.usefixtures("unaligned")
def test_a_run_is_repeated_with_the_walk_that_drove_it(tmp_path):
    leg = walker()
    run = simulate(leg, strides=1, samples=20)
    run.to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    repeated = again(tmp_path / "run.nc")
    np.testing.assert_array_equal(repeated.theta_b.values, run.theta_b.values)
    assert lines(run_recipe(run))["python"].splitlines() == [
        "from jaxgait.ensembles import again",
        "run = again('result.nc')",
    ]
    assert float(rebuilt(run).period) == float(leg.period) != float(Prosthesis().period)


@pytest.mark.slow
def test_members_driven_by_several_walks_are_repeated_with_theirs(tmp_path):
    leg, walkers = people(Prosthesis(), ["rajagopal_1.26ms", "hbm07_0.98ms"])
    made = ensemble(leg, walkers, strides=1, samples=50, trajectories=True, progress=False)
    made.to_netcdf(tmp_path / "people.nc", engine="h5netcdf")
    scan = open_result(tmp_path / "people.nc")
    again_line = "run = again(open_result('people.nc').isel({'subject': {{#subject}}}))"
    assert lines(scan_recipe(scan))["python"].endswith(again_line)
    member = scan.isel(subject=1)
    repeated = again(member)
    np.testing.assert_allclose(repeated.theta_b, member.theta_b, rtol=1e-9, atol=1e-9)
    period = 1.1961
    assert float(rebuilt(member).period) == pytest.approx(period, abs=1e-4) != pytest.approx(float(leg.period))
    np.testing.assert_allclose(scan_recipe(scan).runs([0, 1]).theta_b[1], member.theta_b, rtol=1e-9, atol=1e-9)
    page = explore(scan, members=2)
    assert set(page.runs) == {0, 1} and (page.header["x"], page.rows.columns["subject"].names[1]) == (
        "subject",
        "hbm07_0.98ms",
    )
    bare = scan.drop_attrs().assign_attrs({n: x for n, x in scan.attrs.items() if n != "motions"})
    for reread in (lambda: scan_recipe(bare), lambda: rebuilt(bare.isel(subject=1))):
        with pytest.raises(ValueError, match="driven by different motions, which were not recorded"):
            reread()
    with pytest.raises(
        ValueError, match=r"has the motions of rajagopal_1\.26ms, hbm07_0\.98ms, not of jo: leave 'subj"
    ):
        again(scan.assign_coords(subject=["ann", "jo"]).isel(subject=1))
    with pytest.raises(
        ValueError, match=r"its drive\.period is not that of its motions, which are those of another result"
    ):
        again(scan.assign_coords(subject=scan.subject.values[::-1]).isel(subject=1))


class Leg(TreeModel):
    """A tree that makes itself, as it is registered for the command line."""

    def __init__(self):
        leg = Link("leg", None, hinge((0, 1, 0)), mass=2.0, com=(0.0, 0.0, -0.4))
        arm = Link("arm", None, hinge((0, 1, 0)), mass=2.0, com=(0.0, 0.0, -0.4))
        super().__init__([leg, arm], drives={"hip": Spring("leg", stiffness=5.0)}, start={"leg": 0.5, "arm": 0.1})


@pytest.mark.slow
def test_a_tree_with_default_contents_needs_no_record(monkeypatch):
    monkeypatch.setattr(registry, "models", lambda: {"leg": f"{__name__}:Leg"})
    run = simulate(with_parameters(Leg(), {"links.leg.mass": 3.0}), duration=0.1, samples=2)
    assert run.attrs["contents"] == "{}" and rebuilt(run).links["leg"].mass == 3.0
    monkeypatch.undo()
    assert rebuilt(run).links["leg"].mass == 3.0, "its module is loaded, though it is not registered"
    other = eqx.tree_at(lambda m: m.drives["hip"], Leg(), Torque("leg", lambda t, q, v: 1.0))
    with pytest.raises(ValueError, match="the Leg of this result cannot be made from its attributes"):
        rebuilt(result_of(other))


@pytest.mark.slow
def test_a_tree_is_made_from_its_record():
    """Its bodies are in the record, in their order; functions are not."""
    hip = {"hip": Spring("trunk", stiffness=5.0)}
    com = {"trunk": (0.0, 0.0, 0.2), "arm": (0.0, 0.0, -0.4)}
    links = [Link(n, p, hinge((0, 1, 0)), mass=2.0, com=com[n]) for n, p in (("trunk", None), ("arm", "trunk"))]
    model = with_parameters(TreeModel(links, drives=hip, start={"trunk": 0.2}), {"start.trunk": 0.4, "duration": 3.0})
    found = rebuilt(result_of(model))
    assert same(found, model) and list(found.links) == ["trunk", "arm"]
    member = result_of(model).assign_coords({"start.trunk": 0.7, "links.arm.mass": 9.0})
    assert (rebuilt(member).start["trunk"], rebuilt(member).links["arm"].mass) == (0.7, 9.0)
    driven = TreeModel(links, drives={"motor": Torque("arm", lambda t, q, v: 1.0)})
    with pytest.raises(ValueError, match=r"its drives\.motor\.law\.function .* was not recorded\): give it, model="):
        rebuilt(result_of(driven))
    repeated = again(simulate(driven, duration=0.1, samples=2), model=driven)
    assert repeated.attrs["status_text"] == "completed"


def test_a_tree_that_makes_itself_is_made_with_what_was_exchanged():
    stiffer = dict(Leg().drives, hip=Spring("arm", stiffness=7.0))
    other = eqx.tree_at(lambda m: (m.drives["hip"], m.start["leg"]), Leg(), (stiffer["hip"], 0.9))
    found = rebuilt(result_of(other))
    assert same(found, other) and found.drives["hip"].joint == "arm" and found.start["leg"] == 0.9
    assert contents(with_parameters(Leg(), {"start.leg": 0.9})) == {}


class Rod(eqx.Module):
    """A class of whose fields some have no default."""

    mass: float = parameter(dataclasses.MISSING, unit="kg", doc="mass", plausible=(0.0, 9.0))
    shape: str = eqx.field(static=True)


def test_fields_without_default_come_from_the_record():
    rod = with_parameters(restored(Rod, contents(Rod(2.0, "flat"))), {"mass": 2.0})
    assert (rod.mass, rod.shape) == (2.0, "flat")
    with pytest.raises(ValueError, match="its shape was not recorded"):
        restored(Rod, {})


def result_of(model):
    """As much of a result as tells from which model it came."""
    short = Sampling.of(model, None, duration=0.1, samples=2)
    return xr.Dataset(attrs=provenance(model, scheme_for(model), "float64", short))


class Law(eqx.Module):
    force: object = eqx.field(static=True, default=None)


@dataclasses.dataclass(frozen=True)
class Held:
    law: object = None


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (lambda: contents(Held(Law(np.sin))), r"its law.force \(sin\) was not recorded"),
        (lambda: contents(Held(Law(tuple(range(9999))))), r"its law \(too long\) was not recorded"),
        (lambda: {"law": {"class": "antigravity:Law"}}, "its law is a Law, which is not of jaxgait or tests"),
        (lambda: {"law": {"class": f"{__name__}:walker"}}, "its law is a walker, which is not of jaxgait or tests"),
        (lambda: {"law": {"class": f"{__name__}:Law", "power": 2}}, "unexpected keyword argument 'power'"),
        (lambda: {"law": {"class": f"{__name__}:Law"}}, "its law was recorded by another version"),
    ],
)
def test_records_that_cannot_be_restored_raise(record, message):
    with pytest.raises((ValueError, TypeError), match=message):
        restored(Held(), json.loads(json.dumps(record())))
    assert "antigravity" not in sys.modules


def test_a_result_of_an_unrecorded_part_asks_for_the_model():
    run = result_of(Bungee())
    run.attrs["contents"] = json.dumps({"mass": {"not recorded": "spring"}})
    with pytest.raises(ValueError, match=r"Bungee of this result .*its mass \(spring\) was not recorded\): give it"):
        rebuilt(run)


def test_a_result_that_lacks_a_parameter_asks_for_the_model(monkeypatch):
    class Decay(Model):
        slowing: float = parameter(dataclasses.MISSING, unit="1/s", doc="decay", plausible=(0.0, 9.0))
        variables: ClassVar = {"x": Variable("m", "position")}
        duration: ClassVar = 1.0

        def initial_state(self):
            return {"x": 1.0}

        def vector_field(self, t, y):
            return {"x": -self.slowing * y["x"]}

    monkeypatch.setattr(results, "recorded_class", lambda run: Decay)
    attrs = {"model": "Decay", "contents": "{}", "parameters": json.dumps({"slowing": 2.0})}
    assert rebuilt(xr.Dataset(attrs=attrs)).slowing == 2.0
    with pytest.raises(ValueError, match=r"its slowing was not recorded\): give it, model="):
        rebuilt(xr.Dataset(attrs=attrs | {"parameters": "{}"}))


def test_a_result_of_a_version_that_did_not_record_contents_asks_for_the_model():
    run = result_of(Bungee())
    del run.attrs["contents"]
    with pytest.raises(ValueError, match=r"its laws, choices and motion were not recorded.*: give it, model="):
        rebuilt(run)
