"""Every mechanism brings a scene, made from its run alone."""

import numpy as np
import pytest
import xarray as xr

import jaxgait
from jaxgait import registry
from jaxgait.ensembles.results import rebuilt
from jaxgait.models.bungee.model import Bungee
from jaxgait.models.prosthesis import Prosthesis
from jaxgait.models.prosthesis.scene import cylinder
from jaxgait.models.walker import RigidWalker, RollingWalker
from jaxgait.parameters import with_parameters
from jaxgait.plot import scene


@pytest.fixture(scope="module")
def jump():
    return jaxgait.simulate(Bungee(mass=60.0), duration=4.0, samples=8)


@pytest.mark.slow
def test_the_model_is_made_from_the_attributes(jump):
    assert float(rebuilt(jump).mass) == 60.0
    member = jaxgait.ensemble(Bungee(), {"ground": [50.0, 80.0]}, duration=2.0, samples=4, trajectories=True)
    assert float(rebuilt(member.isel(ground=1)).ground) == 80.0
    with pytest.raises(ValueError, match="its coordinates lack the values of ground, which its members were given"):
        scene.scene(member.mean("ground", keep_attrs=True))


@pytest.mark.slow
def test_members_with_times_of_their_own_are_shown():
    scan = jaxgait.ensemble(Prosthesis(), {"cadence": [0.8, 1.0]}, strides=1, samples=20, trajectories=True)
    first, second = (scene.scene(scan.isel(cadence=i)).time for i in (0, 1))
    assert first[-1] == pytest.approx(second[-1] / 0.8)


def test_what_cannot_be_shown_is_said(jump):
    with pytest.raises(ValueError, match="is of the model 'Hopper', which is not registered here: register it"):
        scene.scene(jump.assign_attrs(model="Hopper"))
    with pytest.raises(
        ValueError, match="is of the model 'Bungee', which is not registered here"
    ):  # of another package
        scene.scene(jump.assign_attrs(module="my_package.jumps"))
    with pytest.raises(ValueError, match="cannot be made from its attributes"):
        scene.scene(jump.assign_attrs(parameters='{"wings": 2}'))
    with pytest.raises(ValueError, match="an animation shows one run over time"):
        scene.scene(jump.isel(time=0))
    with pytest.raises(ValueError, match=r"or several by title \({'before': run, 'after': other}\)"):
        scene.scene(jump.isel(time=0))
    with pytest.raises(ValueError, match=r"there are 2 runs along mass: select one, data\.isel\(mass=0\)"):
        scene.scene(xr.concat([jump, jump], "mass"))
    with pytest.raises(ValueError, match="Wingless has no scene to show"):
        scene.scene(jump, type("Wingless", (Bungee,), {"scene": ""})())
    with pytest.raises(TypeError, match=r"the scene of Bare must return a jaxgait\.plot\.scene\.Scene, got list"):
        scene.scene(jump, type("Bare", (Bungee,), {"scene": lambda self, run: []})())


def of_method(self, run):
    return scene.Scene(run.time.values, (), (), readouts={"mass": (self.mass, "kg")})


@pytest.mark.parametrize("draws", [of_method, staticmethod(of_method), f"{__name__}:of_method"])
def test_a_scene_may_be_a_method_a_function_or_its_name(jump, draws):
    drawn = type("Drawn", (Bungee,), {"scene": draws})
    assert scene.scene(jump, drawn(mass=50.0)).readouts["mass"] == (50.0, "kg")
    with pytest.raises(TypeError, match=r"scene of Drawn must be a function of model and run, .* got 3$"):
        type("Drawn", (Bungee,), {"scene": 3})


def test_a_scene_without_curves_gets_the_first_histories(jump):
    bare = lambda self, run: scene.Scene(run.time.values, (), ())
    drawn = type("Drawn", (Bungee,), {"scene": bare})()
    cut = jump.where(jump.time <= 2.0)
    found = scene.scene(cut, drawn)
    assert [curve.unit for curve in found.curves] == [jump[n].units for n in list(jump.data_vars)[: scene.OWN_CURVES]]
    assert [curve.name for curve in found.curves][:2] == [jump.x.long_name, jump.v.long_name]
    np.testing.assert_array_equal(found.curves[0].values["x"], jump.x[:5])
    measured = jump.v.assign_attrs(reference_of="x", long_name="measured position", units="rad")
    first = scene.scene(jump.assign(sought=measured), drawn).curves[0]
    assert list(first.values) == ["x", "sought"] and first.measured == ("sought",)
    np.testing.assert_allclose(first.values["sought"], np.degrees(jump.v))
    own = type("Own", (Bungee,), {"scene": lambda self, run: bare(self, run)._replace(curves=found.curves[:1])})()
    assert len(scene.scene(cut, own).curves) == 1
    part = type("Part", (Bungee,), {"scene": lambda self, run: scene.Scene(run.time.values[::2], (), ())})()
    assert scene.scene(jump, part).curves == (), "its samples are not those of the run"


def test_a_run_that_ended_early_stops_where_it_ended(jump):
    cut = jump.where(jump.time <= 2.0).assign_attrs(status_text="ended early: fell (on its face)")
    found = scene.scene(cut)
    assert found.time[-1] == 2.0 and found.ended == "fell"
    unknown_once = jump.where(jump.time != jump.time[3])
    assert scene.scene(unknown_once).time[-1] == 4.0
    assert scene._until_the_end(xr.Dataset({"lit": ("time", [True, False, True])})).sizes["time"] == 3


@pytest.mark.slow
def test_the_forces_of_a_rigid_walker_carry_its_weight():
    model = RigidWalker()
    found = scene.scene(jaxgait.simulate(model, duration=1.5, dt=1e-3))
    upward = sum(force.force[:, 1] for force in found.forces)
    assert len(found.forces) == 2 and upward.mean() == pytest.approx(2.0 * float(model.mass * model.gravity), rel=0.1)


def test_the_eye_sees_right_and_up():
    ahead, left, up = np.eye(3)
    np.testing.assert_allclose(scene.seen(np.stack([ahead, up]), 0.0, 0.0), np.eye(2), atol=1e-15)
    assert scene.seen(left, 0.0, 0.2)[1] > 0.0  # what is farther away appears higher from above
    assert scene.seen(left, 0.5, 0.0)[0] > 0.0  # seen from the front, the left is on the right


def test_outlines():
    a, b = np.array([[0.0, 0.0]]), np.array([[2.0, 0.0]])
    np.testing.assert_allclose(scene.tapered(a, b, (0.2, 0.1))[0], [(0, 0.1), (2, 0.05), (2, -0.05), (0, -0.1)])
    np.testing.assert_allclose(np.linalg.norm(scene.disc(b, 0.3) - b, axis=-1), 0.3)


def test_views_beside_each_other_have_one_size_and_keep_following():
    still, ahead = np.zeros((1, 2)), np.array([[1.0, 0.0], [3.0, 0.0]])
    views = [scene.View(still, (4.0, 1.0)), scene.View(ahead, (2.0, 2.0))]
    found = scene.alike([scene.Scene(np.arange(2.0), (), (view,)) for view in views])
    for one, own in zip(found, views, strict=True):
        assert one.views[0].span == (4.0, 2.0)
        np.testing.assert_array_equal(one.views[0].centre, own.centre)


@pytest.mark.slow
@pytest.mark.parametrize("name", registry.own_models())
def test_every_mechanism_has_a_scene_of_finite_shapes(name):
    found = scene.scene(jaxgait.simulate(registry.model(name), samples=20))
    assert found.views and len(found.shapes) > 3
    shapes = [getattr(s, "outline", getattr(s, "points", None)) for s in found.shapes]
    assert all(len(x) in (1, len(found.time)) and x.shape[-1] == 2 for x in shapes)
    assert np.isfinite(shapes[-1]).all()


@pytest.mark.slow
def test_the_drawn_cylinder_has_the_length_of_the_damper():
    model = with_parameters(Prosthesis(), {"damper.thigh_tilt": 0.4})
    run = jaxgait.simulate(model, strides=1, samples=20)
    upper, lower = cylinder(model, run)
    np.testing.assert_allclose(np.linalg.norm(upper - lower, axis=-1), run.damper_length, rtol=1e-12)


@pytest.mark.slow
def test_the_foot_of_a_walker_that_falls_reaches_its_force_and_the_other_one_is_said_to_pass_through_the_ground():
    steep, gentle = (RollingWalker(slope=slope) for slope in (0.13, 0.01))
    with pytest.warns(jaxgait.outcome.IncompleteRun):
        fall = jaxgait.simulate(steep, duration=3.0, samples=1000)
    shown = scene.scene(fall, steep)
    last = np.flatnonzero(np.isfinite(fall.x.values))[-1]
    feet = [shape.points[last] for shape in shown.shapes if isinstance(shape, scene.Limb) and shape.points.shape[1] > 2]
    contact = shown.forces[0].at[last]
    assert min(np.linalg.norm(foot - contact, axis=1).min() for foot in feet) < 0.02
    height, unit = shown.readouts["swing foot"]
    assert height[last] < -10.0 and unit.startswith("cm above the ground")
    walk = scene.scene(jaxgait.simulate(gentle, duration=1.0, samples=100), gentle)
    assert "swing foot" not in walk.readouts
