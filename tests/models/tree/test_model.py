"""Mechanisms assembled from bodies: against Lagrange's equations, MuJoCo, and the balances of mechanics."""

import dataclasses
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from experiments.exoskeleton.lagrange import dynamics
from jaxgait import ensemble, grid, simulate
from jaxgait.cli.parsing import with_settings
from jaxgait.ensembles import request
from jaxgait.ensembles.members import check_members
from jaxgait.ensembles.validity import accepted
from jaxgait.mechanics.contact import Hertz, ImpactHertz, LinearSpring, UnilateralSpring
from jaxgait.mechanics.friction import Coulomb, Dahl, Incremental
from jaxgait.mechanics.spatial import Link, Tree, ball, fixed, free, hinge, planar, prismatic, screws
from jaxgait.models.tree import (
    ContactPoint,
    Force,
    Limits,
    Motor,
    PrescribedJoint,
    Rotor,
    Spring,
    Stop,
    Torque,
    TreeModel,
    naming,
)
from jaxgait.models.tree.scene import ABOVE
from jaxgait.parameters import ParameterError, parameters, with_parameters
from jaxgait.parts import parts, with_parts
from jaxgait.plausible import ImplausibleValue
from jaxgait.plot import scene
from jaxgait.solve.rosenbrock import Ros4
from jaxgait.solve.schemes import scheme_for

G = 9.81
ROUND = 1e-11  # double-precision rounding through two bodies
SIDE, MASS = 0.2, 3.0
STIFFNESS, DAMPING = 2e4, 200.0


def rod(mass, length):
    return {"mass": mass, "com": (0.0, 0.0, -length / 2), "inertia": np.diag([mass * length**2 / 12] * 2 + [1e-4])}


def pendulum(**options):
    links = [
        Link("upper", None, hinge((0, 1, 0)), **rod(1.0, 0.5)),
        Link("lower", "upper", hinge((0, 1, 0)), offset=(0, 0, -0.5), **rod(0.7, 0.4)),
    ]
    return TreeModel(links, start={"upper": 1.0, "lower": -0.4}, duration=2.0, **options)


def test_names_are_read_from_one_structure(monkeypatch):
    """An ant had its bodies built two thousand times in every call."""
    built, build = [], Tree.build
    monkeypatch.setattr(Tree, "build", lambda *links, **more: built.append(links) or build(*links, **more))
    model = pendulum(drives={f"spring {i}": Spring("upper", stiffness=1.0) for i in range(20)})
    changed = with_parameters(model, {"links.upper.mass": 2.0})
    assert parameters(changed).keys() == parameters(model).keys() > {"start.upper", "drives.spring 19.stiffness"}
    assert changed.variables == model.variables
    assert len(built) <= 1


@pytest.mark.parametrize(
    ("base", "joints", "solver"), [(planar(), 9, "Ros4"), (free(), 3, "Ros4"), (free(), 4, "Tsit5")]
)
def test_implicit_steps_of_few_equations(base, joints, solver):
    """Linear equations for 12 velocities; for 10 coordinates and 9 velocities; for 11 and 10."""
    links = [Link("trunk", None, base, mass=5.0, inertia=np.eye(3))]
    links += [Link(f"leg {i}", links[-1].name, hinge((0, 1, 0)), **rod(1.0, 0.3)) for i in range(joints)]
    foot = {"foot": ContactPoint(links[-1].name, LinearSpring(1e4), Coulomb(0.8))}
    model = TreeModel(links, contacts=foot)
    assert type(scheme_for(model, values_only=True).solver).__name__.endswith(solver)
    assert isinstance(scheme_for(model).solver, Ros4)


def test_only_values_of_large_trees_take_explicit_steps(monkeypatch):
    """Of derivatives through explicit steps some were 1e51, and others had the wrong sign."""
    monkeypatch.setattr("jaxgait.models.tree.model.MAX_IMPLICIT", 1)
    model = pendulum(contacts={"foot": ContactPoint("lower", UnilateralSpring(1e4), Coulomb(0.8))})
    asked = dict.fromkeys(["scheme", "solver", "rtol", "atol", "max_step", "max_steps", "dt", "max_events"])
    solvers = [request._schemes(model, asked | {"precision": "float64"}, by, False)[0].solver for by in ((), ("mass",))]
    assert type(solvers[0]).__name__.endswith("Tsit5") and isinstance(solvers[1], Ros4)


@pytest.mark.slow
def test_two_links_obey_lagranges_equations():
    """The Lagrangian is written from the positions of the centres of mass alone."""

    def lagrangian(q, v):
        angle = jnp.cumsum(q)
        down = lambda a: jnp.stack([-jnp.sin(a), -jnp.cos(a)])
        first = lambda q: 0.25 * down(q[0])
        second = lambda q: 0.5 * down(q[0]) + 0.2 * down(q[0] + q[1])
        rates, total = jnp.cumsum(v), 0.0
        for k, (mass, length, position_of) in enumerate([(1.0, 0.5, first), (0.7, 0.4, second)]):
            r, u = jax.jvp(position_of, (q,), (v,))
            total += 0.5 * mass * (u @ u) + 0.5 * mass * length**2 / 12 * rates[k] ** 2 - mass * G * r[1]
        return total + 0.0 * angle[0]

    model = pendulum(drives={"knee": Spring("lower", stiffness=2.0, rest=0.3, damping=0.1)})
    q, v = jnp.array([0.7, -1.2]), jnp.array([0.9, 2.0])
    y = model.initial_state()._replace(q=q, v=v)
    found = dynamics(lagrangian, q, v)
    spring = jnp.array([0.0, -2.0 * (-1.2 - 0.3) - 0.1 * 2.0])
    np.testing.assert_allclose(
        model.vector_field(0.0, y).v, jnp.linalg.solve(found.mass, spring - found.bias), atol=ROUND
    )


def test_a_pendulum_conserves_its_energy_and_results_have_names():
    """A spring, a rotor, which makes the knee slower, and a stop, which it reaches."""
    drives = {"knee": Spring("lower", stiffness=2.0), "geared": Rotor("lower", 0.02)}
    run = simulate(pendulum(drives={**drives, "stop": Stop("lower", -0.5, 0.3, stiffness=100.0)}), samples=50)
    assert np.ptp(run.energy.values) < 1e-6 * float(run.kinetic_energy.max())
    assert 0.3 < run.lower_angle.max() < 0.6
    assert list(run.coordinate.values) == list(run.velocity.values) == ["upper", "lower"]
    np.testing.assert_allclose(run.q.sel(coordinate="lower")[0], -0.4)
    assert run.position.sel(body="lower").dims == ("time", "axis")
    shown = scene.scene(run, pendulum())
    upper, lower = (shape.points for shape in shown.shapes if isinstance(shape, scene.Limb))
    np.testing.assert_allclose(upper[:, 1], run.position.sel(body="lower", axis=["x", "z"]), atol=1e-12)
    np.testing.assert_array_equal(lower[:, 0], upper[:, 1])  # the lower one begins where the upper one ends


class StiffGround(UnilateralSpring):
    stiff: ClassVar[bool] = True


def test_a_contact_is_as_stiff_as_its_laws_declare():
    laws = [(UnilateralSpring(1e4), None), (StiffGround(1e9), None), (UnilateralSpring(1e4), Coulomb())]
    assert [ContactPoint("box", normal, friction).stiff for normal, friction in laws] == [False, True, True]


@pytest.mark.slow
def test_single_joints_and_contacts_are_results_with_their_units():
    model = hopper(lambda t: 0.2 * t)
    variables = {name: one.unit for name, one in model.variables.items()}
    assert (variables["q"], variables["joint_force"], pendulum().variables["q"].unit) == ("m, rad", "N, N m", "rad")
    y = model.initial_state()
    out = model.outputs(0.1, y._replace(q=y.q.at[1].set(0.4)))
    loads = model.loads(0.1, y._replace(q=y.q.at[1].set(0.4)))
    assert float(out["trunk_z"]) == 0.4 and float(out["hip_angle"]) == pytest.approx(0.02) and "leg_z_rate" in out
    np.testing.assert_array_equal([out["foot_friction"], out["foot_force"]], loads.contact[0, ::2])
    assert float(out["foot_force"]) > 0.0 and {*variables} - {*out} == {"q", "v", "memory"}
    units = [(variables[name], model.variables[name].long_name) for name in ("trunk_turn_y", "leg_z", "hip_rate")]
    assert units == [("rad", "turn_y of trunk"), ("m", "z of leg"), ("rad/s", "rate of the joint angle of hip")]
    named = naming.single_results(model.tree(), {"contact": ContactPoint("leg", KelvinVoigt())})
    assert list(named[2]) == [], "the forces of all contacts have the name"


@pytest.mark.slow
def test_members_and_maps_have_the_units_of_single_joints():
    scan = ensemble(
        pendulum(), {"initial.q[0]": [0.1, 0.2], "initial.v[1]": [0.0, 1.0]}, duration=0.1, samples=1,
        observe=lambda run: {"angle": run["upper_angle"][-1]},
    )  # fmt: skip
    labels = [(scan[name].units, scan[name].long_name) for name in ("initial.q[0]", "initial.v[1]")]
    assert labels == [
        ("rad", "joint angle of upper, at the start"),
        ("rad/s", "rate of the joint angle of lower, at the start"),
    ]
    degrees = xr.DataArray(30.0, attrs={"units": "deg"})
    run = simulate(pendulum(), initial_state={"q[1]": degrees}, duration=0.1, samples=2)
    assert float(run.lower_angle[0]) == pytest.approx(np.pi / 6)
    with pytest.raises(ValueError, match=r"has no 'lower': it is 'q\[1\]' or 'v\[1\]'"):
        simulate(pendulum(), initial_state={"lower": 0.3})
    with pytest.raises(ParameterError, match=r"it is 'initial\.q\[1\]' or 'initial\.v\[1\]'"):
        ensemble(pendulum(), {"initial.lower": [0.3]})


@pytest.mark.slow
def test_angles_in_degrees_are_noticed_wherever_they_are_given():
    degrees = r"degrees instead of rad\?"
    with pytest.warns(
        ImplausibleValue, match=rf"initial\.q\[1\] of TreeModel \(joint angle of lower\) is -40 rad.*{degrees}"
    ):
        simulate(pendulum(), initial_state={"q": [1.0, -40.0]}, duration=0.01, samples=1)
    with pytest.warns(
        ImplausibleValue, match=rf"initial\.q\[0\] of TreeModel .* is 30 rad \(2 of 2 values\).*{degrees}"
    ):
        check_members(pendulum(), grid({"initial.q[0]": [30.0, 60.0]}))
    sprung = pendulum(drives={"knee": Spring("lower", stiffness=5.0, rest=-45.0)})
    with pytest.warns(ImplausibleValue, match=rf"drives\.knee\.rest \(coordinate at rest\) is -45 rad.*{degrees}"):
        sprung.validate()
    sliding = hopper(lambda t: 0.0 * t)
    motor = {"motor": Motor("leg", moment=2.0, limits=Limits(0.0, 9.0)), "rotor": Rotor("leg", 1.0)}
    known = parameters(dataclasses.replace(sliding, drives={**sliding.drives, **motor}))
    named = (
        "spring.stiffness",
        "spring.damping",
        "spring.rest",
        "motor.moment",
        "motor.limits.lowest",
        "rotor.inertia",
    )
    assert [known[f"drives.{name}"].unit for name in named] == ["N/m", "N s/m", "m", "N", "N", "kg"]


@pytest.mark.slow
def test_a_start_deep_in_the_ground_is_an_error():
    deep = r"starts with corner 0 40 mm deep in the ground, which pushes with 27\.2 times its weight"
    with pytest.raises(ParameterError, match=deep):
        simulate(box(start={"box.z": SIDE / 2 - 0.04}), duration=0.01)
    with pytest.raises(ParameterError, match=r"deep in the ground \(member 1\)"):
        check_members(box(), grid({"initial.q[2]": [0.2, 0.06]}))
    with pytest.raises(ParameterError, match=deep):
        simulate(box(), initial_state={"q[2]": SIDE / 2 - 0.04}, duration=0.01)
    box(start={"box.z": SIDE / 2 - MASS * G / 4 / STIFFNESS}).validate_start({})  # at rest


@pytest.mark.slow
def test_what_nothing_keeps_from_infinite_acceleration_is_named():
    with pytest.raises(ParameterError, match=r"body 'a' has no inertia about its joint \(turn_y\): give it an inertia"):
        simulate(TreeModel([Link("a", None, hinge((0, 1, 0)), mass=1.0)]))
    along = Link("a", None, hinge((0, 1, 0)), mass=1.0, com=(0.0, 0.3, 0.0))
    with pytest.raises(ParameterError, match="body 'a' has no inertia"):
        TreeModel([along]).validate()
    with pytest.raises(ParameterError, match=r"body 'a' has no mass along its joint \(z\)"):
        TreeModel([Link("a", None, prismatic((0, 0, 1)), mass=0.0)]).validate()
    massless = Link("a", None, hinge((0, 1, 0)), mass=0.0)
    TreeModel([massless, Link("b", "a", hinge((1, 0, 0)), mass=1.0, com=(0.0, 0.0, -0.3))]).validate()
    TreeModel([Link("a", None, hinge((0, 1, 0)), mass=1.0)], drives={"a": PrescribedJoint("a", jnp.sin)}).validate()
    TreeModel([Link("a", None, hinge((0, 1, 0)), mass=1.0)], drives={"a": Rotor("a", 0.1)}).validate()
    two = Link("a", None, screws(("turn", (0, 1, 0)), ("turn", (1, 0, 0))), mass=1.0)
    with pytest.raises(ParameterError, match=r"body 'a' has no inertia about its joint \(turn_x\)"):
        TreeModel([two], drives={"a": Rotor("a.turn_y", 0.1)}).validate()
    with pytest.raises(ParameterError, match=r"the inertia of 'a' must be .* give np\.diag\(...\) of its moments"):
        Link("a", None, hinge((0, 1, 0)), mass=1.0, inertia=[0.1, 0.1, 0.1])
    with pytest.raises(ParameterError, match=r"drives\['x'\]: no joint 'ankle'; choose one of upper, lower"):
        pendulum(drives={"x": Spring("ankle")})


def test_a_link_has_a_mass_and_vectors_of_three_numbers():
    with pytest.raises(TypeError, match="the link 'px' needs a mass in kg: give mass"):
        Link("px", None, prismatic((1, 0, 0)))
    for name in ("com", "offset"):
        with pytest.raises(ParameterError, match=rf"the {name} of 'a' must have three numbers in m.*, got \(0, -0.2\)"):
            Link("a", None, hinge((0, 1, 0)), mass=1.0, **{name: (0, -0.2)})
    with pytest.raises(ParameterError, match="the rotation of 'a' must have 3 x 3 numbers, got"):
        Link("a", None, hinge((0, 1, 0)), mass=1.0, rotation=np.eye(2))
    many = jax.vmap(lambda x: Link("a", None, hinge((0, 1, 0)), mass=x, com=(0.0, 0.0, x)))(jnp.ones(3))
    assert many.mass.shape == (3,)


@pytest.mark.slow
def test_films_show_joint_angles_and_forces():
    model = hopper(lambda t: 0.2 * t)
    curves = {one.name: one for one in scene.scene(simulate(model, duration=0.01, samples=2), model).curves}
    assert list(curves) == ["joint angles", "positions", "normal forces", "energy"]
    assert curves["joint angles"].values["hip"][-1] == pytest.approx(np.degrees(0.002))


def test_every_number_is_a_parameter():
    model = pendulum(drives={"knee": Spring("lower", stiffness=2.0)})
    known = parameters(model)
    assert {"links.lower.mass", "links.upper.com", "drives.knee.stiffness", "gravity"} <= set(known)
    assert known["links.lower.mass"].unit == "kg"
    heavier = with_parameters(model, {"links.lower.mass": 1.4})
    assert heavier.links["lower"].mass == 1.4 and list(heavier.links) == ["upper", "lower"]
    with pytest.raises(ParameterError, match=r"no parameter 'links\.foot\.mass'"):
        with_parameters(model, {"links.foot.mass": 1.0})
    with pytest.raises(ParameterError, match=r"links\.lower\.mass .* must be nonnegative"):
        simulate(with_parameters(model, {"links.lower.mass": -1.0}))


def test_starts_are_parameters_with_the_units_of_their_joints():
    starts = {"start": {"box.z": 0.3, "box.q_w": 1}, "start_rates": {"box.v_z": 0.2, "box.w_x": 0.1}}
    units = {name: info.unit for name, info in parameters(box(**starts)).items() if name.startswith("start")}
    assert units == {
        **{"start.box.z": "m", "start.box.q_w": "1"},
        **{"start_rates.box.v_z": "m/s", "start_rates.box.w_x": "rad/s"},
    }
    assert {parameters(pendulum())[f"start.{name}"].unit for name in ("upper", "lower")} == {"rad"}
    raised = with_parameters(box(**starts), {"start.box.z": 0.5})
    assert raised.initial_state().q[2] == 0.5 and starts["start"]["box.z"] == 0.3
    with pytest.raises(ParameterError, match=r"TreeModel\.start has no 'box\.x': give it when the model is made"):
        with_parameters(raised, {"start.box.x": 1.0})


@pytest.mark.slow
def test_the_derivative_with_respect_to_the_start():
    h = 1e-4
    found = ensemble(
        pendulum(start_rates={"lower": 1}),  # an integer, as users may write it
        {"start.upper": np.array([1.0 - h, 1.0, 1.0 + h])},
        duration=0.1,
        observe=lambda run: {"angle": run["q"][-1, 1]},
        gradient=["start.upper", "start_rates.lower"],
    )
    slope = (found.angle[2] - found.angle[0]) / (2 * h)
    np.testing.assert_allclose(found.angle_gradient[1, 0], slope, rtol=1e-5)
    assert 0.09 < found.angle_gradient[1, 1] < 0.11  # rad per rad/s: about the duration


def test_the_laws_of_contacts_are_parts():
    found = parts(box())
    assert {"Hertz", "KelvinVoigt"} <= {*found["contacts.corner 0.normal"].options}
    assert list(found["contacts.corner 0.friction"].options) == ["none", "Coulomb", "Stribeck", "Bristle"]
    changed = with_parts(box(), {"contacts.corner 0.normal": "Hertz", "contacts.corner 1.friction": None})
    assert type(changed.contacts["corner 0"].normal) is Hertz and changed.contacts["corner 1"].friction is None
    assert parameters(changed)["contacts.corner 0.normal.stiffness"].unit == "N/m^1.5"
    assert type(changed.contacts["corner 1"].normal) is KelvinVoigt and list(changed.contacts) == list(box().contacts)
    own = with_parts(box(), {"contacts.corner 0.friction": friction})
    assert own.contacts["corner 0"].friction.function is friction
    with pytest.raises(ParameterError, match="cannot have the normal law"):
        with_parts(box(), {"contacts.corner 0.normal": ImpactHertz()})
    with pytest.raises(ParameterError, match=r"has no part 'contacts\.heel\.normal'"):
        with_parts(box(), {"contacts.heel.normal": Hertz()})
    shown = with_settings(box(), ["contacts.corner 0.normal=Hertz", "contacts.corner 0.normal.stiffness=2e6"])
    assert shown.contacts["corner 0"].normal.stiffness == 2e6


def test_an_unknown_field_names_the_fields_for_users():
    with pytest.raises(
        TypeError, match=r"TreeModel has no field 'mass': it has links, .*, duration \(s\), slope \(rad\)$"
    ):
        TreeModel([BALL], mass=1.0)


def test_a_tree_in_space_stands_on_its_ground():
    """The ground is a plane in perspective, and contacts are balls of their radius on it."""
    ball_on_ground = {"foot": ContactPoint("box", KelvinVoigt(), radius=0.15)}
    model = eqx.tree_at(lambda m: m.contacts, box(start={"box.y": 0.1, "box.z": 0.15}), ball_on_ground)
    run = simulate(model, duration=0.01, samples=2)
    shown = scene.scene(run, model)
    ground, foot = shown.shapes[:2]
    assert shown.ground is None and ground.edge == "none" and ground.outline.shape == (1, 4, 2)
    sizes = np.ptp(foot.outline, axis=1)
    np.testing.assert_allclose(sizes, 0.3, rtol=1e-6)
    below = foot.outline[0].mean(axis=0) - [0.0, 0.15 * np.cos(ABOVE)]  # where it stands, as seen
    low, high = ground.outline[0].min(axis=0), ground.outline[0].max(axis=0)
    assert (low < below).all() and (below < high).all() and not scene.cut_off(shown)


@pytest.mark.slow
def test_ensembles_and_gradients():
    h = 1e-4
    scan = ensemble(
        pendulum(drives={"knee": Spring("lower", stiffness=2.0)}),
        {"drives.knee.stiffness": np.array([2.0 - h, 2.0, 2.0 + h])},
        duration=0.3,
        samples=10,
        observe=lambda run: {"angle": run["q"][-1, 1]},
        gradient=["drives.knee.stiffness"],
    )
    assert (scan.status == 0).all()
    slope = (scan.angle[2] - scan.angle[0]) / (2 * h)
    np.testing.assert_allclose(scan.angle_gradient[1, 0], slope, rtol=1e-5)


class KelvinVoigt(eqx.Module):
    """A law as the library's are: a module with a method `force`."""

    stiffness: float = STIFFNESS
    damping: float = DAMPING

    def force(self, depth, rate):
        return jnp.where(depth > 0.0, jnp.maximum(self.stiffness * depth + self.damping * rate, 0.0), 0.0)


def friction(velocity, normal):
    return -0.6 * normal * velocity / jnp.sqrt(velocity @ velocity + 1e-6)


def box(**options):
    corners = [(x, y, -SIDE / 2) for x in (-SIDE / 2, SIDE / 2) for y in (-SIDE / 2, SIDE / 2)]
    contacts = {f"corner {i}": ContactPoint("box", KelvinVoigt(), friction, c) for i, c in enumerate(corners)}
    body = Link("box", None, free(), MASS, inertia=np.eye(3) * MASS * SIDE**2 / 6)
    return TreeModel([body], contacts=contacts, **options)


@pytest.mark.slow
def test_a_dropped_box_comes_to_rest_with_its_weight_carried():
    run = simulate(box(start={"box.z": 0.12}, duration=0.6), samples=60)
    assert run.status == 0
    last = run.isel(time=-1)
    force = last.contact_force
    np.testing.assert_allclose(force.sum("contact"), [0.0, 0.0, MASS * G], atol=1e-3 * MASS * G)
    np.testing.assert_allclose(force.sel(axis="z"), MASS * G / 4, rtol=1e-3)
    np.testing.assert_allclose(last.contact_depth, MASS * G / 4 / STIFFNESS, rtol=1e-3)
    before = run.sel(time=slice(0.0, 0.06))  # 0.02 m above the ground: free fall until 0.064 s
    np.testing.assert_allclose(before.com_velocity.sel(axis="z"), -G * before.time, atol=1e-9)


@pytest.mark.slow
def test_the_ground_changes_the_momenta():
    """Momentum and angular momentum of a tumbling box: d/dt by automatic differentiation are force and moment."""
    model = box(drives={"wind": Force("box", lambda t, r, v: -0.5 * v, (0.03, 0.0, 0.05))})
    rng = np.random.default_rng(0)
    q = np.array([0.0, 0.0, 0.09, 1.0, 0.1, -0.05, 0.2])
    q[3:] /= np.linalg.norm(q[3:])
    y = model.initial_state()._replace(q=jnp.asarray(q), v=jnp.asarray(rng.normal(size=6)))

    @jax.jit
    def rates(y):
        _, change = jax.jvp(lambda y: model.outputs(0.0, y), (y,), (model.vector_field(0.0, y),))
        return model.outputs(0.0, y), change, model.loads(0.0, y)

    out, change, loads = rates(y)
    R = np.asarray(loads.motion.world[0].R)
    arm = R @ np.array([0.03, 0.0, 0.05])
    wind = -0.5 * (R @ (np.asarray(y.v[3:]) + np.cross(y.v[:3], [0.03, 0.0, 0.05])))
    assert float(out["contact_depth"].max()) > 0.0
    force = np.asarray(out["contact_force"])
    np.testing.assert_allclose(change["momentum"], force.sum(0) + wind - [0.0, 0.0, MASS * G], atol=1e-9)
    corners = np.array([(x, y, -SIDE / 2) for x in (-SIDE / 2, SIDE / 2) for y in (-SIDE / 2, SIDE / 2)])
    points = corners @ R.T
    points[:, 2] = -q[2]  # forces act at the ground
    moment = np.cross(points, force).sum(0) + np.cross(arm, wind)
    np.testing.assert_allclose(change["angular_momentum"], moment, atol=1e-9)


def hopper(law):
    """A body on a telescopic leg that moves in the plane, and turns about its hip as prescribed."""
    links = [
        Link("trunk", None, planar(), 8.0, (0, 0, 0.1), np.diag([0.1, 0.2, 0.1])),
        Link("hip", "trunk", hinge((0, 1, 0)), 0.5, (0, 0, -0.1), np.diag([0.01, 0.01, 0.001])),
        Link("leg", "hip", prismatic((0, 0, 1)), 0.4, (0, 0, -0.3), np.diag([0.01, 0.01, 0.001])),
    ]
    return TreeModel(
        links,
        contacts={"foot": ContactPoint("leg", KelvinVoigt(), friction, (0, 0, -0.5))},
        drives={
            "hip": PrescribedJoint("hip", law),
            "spring": Spring("leg", stiffness=3e3, damping=5.0),
            "push": Torque("leg", lambda t, q, v: -20.0 * jnp.sin(10.0 * t) - 0.0 * q * v),
        },
        start={"trunk.z": 0.6},
        duration=0.4,
    )


@pytest.mark.slow
def test_a_hopper_is_mujocos():
    """The same bodies in MuJoCo: accelerations under the forces that the laws gave, with the hip's moment put in."""
    mujoco = pytest.importorskip("mujoco")
    model = hopper(lambda t: 0.2 * jnp.sin(3.0 * t))
    run = simulate(model, samples=40)
    assert run.status == 0 and float(run.contact_force.max()) > 8.9 * G  # it has landed
    np.testing.assert_allclose(run.q.sel(coordinate="hip"), 0.2 * np.sin(3.0 * run.time), atol=1e-6)
    body = lambda k, pos="0 0 0": f'<body name="{k}" pos="{pos}">'
    mass = lambda m, z, i: f'<inertial mass="{m}" pos="0 0 {z}" diaginertia="{i}"/>'
    slide = lambda axis: f'<joint type="slide" axis="{axis}"/>'
    turn = '<joint type="hinge" axis="0 1 0"/>'
    peer = mujoco.MjModel.from_xml_string(
        f'<mujoco><compiler balanceinertia="true"/><option gravity="0 0 -{G}"/><worldbody>{body("trunk")}'
        f"{slide('1 0 0')}{slide('0 0 1')}{turn}{mass(8.0, 0.1, '0.1 0.2 0.1')}{body('hip')}{turn}"
        f"{mass(0.5, -0.1, '0.01 0.01 0.001')}{body('leg')}{slide('0 0 1')}{mass(0.4, -0.3, '0.01 0.01 0.001')}"
        "</body></body></body></worldbody></mujoco>"
    )
    data = mujoco.MjData(peer)
    field = eqx.filter_jit(model.vector_field)
    for k in (0, 20, 40):
        at = run.isel(time=k)
        y = model.initial_state()._replace(q=jnp.asarray(at.q.values), v=jnp.asarray(at.v.values))
        data.qpos, data.qvel = at.q.values, at.v.values
        mujoco.mj_kinematics(peer, data)
        mujoco.mj_comPos(peer, data)
        foot = data.body("leg").xpos + data.body("leg").xmat.reshape(3, 3) @ [0.0, 0.0, -0.5]
        foot[2] = 0.0
        force, generalised = at.contact_force.sel(contact="foot").values, np.zeros(peer.nv)
        mujoco.mj_applyFT(peer, data, force, np.zeros(3), foot, data.body("leg").id, generalised)
        data.qfrc_applied = generalised + at.joint_force.values
        mujoco.mj_forward(peer, data)
        np.testing.assert_allclose(field(float(at.time), y).v, data.qacc, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"drives": {"a": Spring("ankle")}}, r"drives\['a'\]: no joint 'ankle'; choose one of upper, lower"),
        ({"drives": {"a": Force("foot", jnp.sin)}}, r"drives\['a'\]: no body 'foot'; choose one of upper, lower"),
        (
            {"contacts": {"toe": ContactPoint("foot", KelvinVoigt())}},
            r"contacts\['toe'\]: no body 'foot'; choose one of",
        ),
        ({"start": {"hip": 1.0}}, "start: no coordinate 'hip'; choose one of upper, lower"),
        ({"start_rates": {"hip": 1.0}}, "start_rates: no velocity 'hip'; choose one of upper, lower"),
    ],
)
def test_names_that_nothing_has(options, match):
    model = eqx.tree_at(
        lambda m: [getattr(m, k) for k in options],
        pendulum(),
        list(options.values()),
        is_leaf=lambda x: isinstance(x, dict),
    )
    with pytest.raises(ParameterError, match=match):
        model.validate()


def test_a_spring_on_a_free_base_raises_with_advice():
    with pytest.raises(ParameterError, match=r"drives\['spring'\]: 'box.w_x' is not a rate of a coordinate"):
        box(drives={"spring": Spring("box.w_x")}).validate()


@pytest.mark.parametrize(
    ("drive", "message"),
    [
        (Stop("lower", 0.5, -0.5, stiffness=100.0), r"drives\.x\.lowest must not exceed .*highest, got 0\.5 and -0\.5"),
        (Motor("lower", limits=Limits(5.0, -5.0)), r"drives\.x\.limits\.lowest must not exceed .*, got 5\.0 and -5\.0"),
        (Rotor("lower", -0.1), r"drives\.x\.inertia .* must be nonnegative"),
    ],
)
def test_ranges_of_joints_and_motors_end_after_they_begin(drive, message):
    with pytest.raises(ParameterError, match=message):
        pendulum(drives={"x": drive}).validate()


def test_bodies_of_the_same_name_are_rejected():
    with pytest.raises(ParameterError, match="two links are called 'upper'"):
        TreeModel([Link("upper", None, hinge((0, 1, 0)), **rod(1.0, 0.5))] * 2)


def test_parents_come_before_their_children():
    upper, lower = pendulum().links.values()
    with pytest.raises(ParameterError, match=r"links\['lower'\]: no body 'upper' before it; choose None, the world"):
        TreeModel([lower, upper])
    with pytest.raises(ParameterError, match=r"links\['lower'\]: no body 'top' before it; choose one of upper"):
        TreeModel([upper, Link("lower", "top", hinge((0, 1, 0)), mass=1.0)])


def turned(rotation):
    return Link("upper", None, hinge((0, 1, 0)), **rod(1.0, 0.5), rotation=rotation)


def test_a_rotation_with_the_digits_of_a_paper_is_one():
    turn = np.array([[np.cos(0.3), 0.0, np.sin(0.3)], [0.0, 1.0, 0.0], [-np.sin(0.3), 0.0, np.cos(0.3)]])
    TreeModel([turned(turn.round(4))]).validate()


SKEWED = (np.diag([1.0, -1.0, 1.0]), 1.1 * np.eye(3), np.zeros((3, 3)))
BALL = Link("b", None, ball(), **rod(1.0, 0.5))


def test_links_may_be_a_list_a_tuple_or_a_dict():
    links = [Link("upper", None, hinge((0, 1, 0)), **rod(1.0, 0.5))]
    for given in (links, tuple(links), {"upper": links[0]}):
        assert list(TreeModel(given).links) == ["upper"]


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"links": 5}, "links must be a list of Link, got 5"),
        ({"links": ["upper"]}, "links must be a list of Link"),
        ({"contacts": []}, r"contacts must be given by name, such as .* got \[\]"),
        ({"contacts": {"foot": "heel"}}, r"contacts\['foot'\] must be a ContactPoint, got 'heel'"),
        ({"drives": [Spring("upper")]}, "drives must be given by name"),
        ({"start": [1.0]}, "start and start_rates must be given by name"),
        ({"start_rates": {0: 1.0}}, "start and start_rates must be given by name"),
        *(({"links": [turned(r)]}, "body 'upper': its rotation must be orthonormal and right-handed") for r in SKEWED),
        *(
            ({"links": [BALL], "start": s}, "must be a quaternion of length 1")
            for s in ({"b.q_x": 1.0}, {"b.q_w": 0.0})
        ),
    ],
)
def test_parts_of_another_kind_are_rejected(options, match):
    with pytest.raises(ParameterError, match=match):
        TreeModel(**({"links": [Link("upper", None, hinge((0, 1, 0)), **rod(1.0, 0.5))]} | options)).validate()


def test_starts_of_runs_and_members_have_unit_quaternions():
    """They are normalised inside, so a wrong length would only show in what is stored."""
    model = TreeModel([BALL], duration=0.1)
    stretched = np.array([1.0, 0.2, 0.0, 0.0])
    with pytest.raises(ValueError, match=r"b\.q_w, _x, _y, _z must be a quaternion of length 1.* length 1\.02"):
        simulate(model, initial_state=model.initial_state()._replace(q=stretched))
    members = {"initial.q": np.stack([stretched / np.linalg.norm(stretched), stretched])}
    with pytest.raises(ValueError, match=r"b\.q_w, _x, _y, _z must be a quaternion of length 1.* length 1\.02"):
        ensemble(model, members, observe=_end)


def _end(run):
    return {"q": run["q"][-1]}


@pytest.mark.slow
def test_inertia_tensors_as_members():
    slim = np.diag([0.02, 0.02, 1e-4])
    tensors = np.stack([slim, 2.0 * slim, 3.0 * slim, 4.0 * slim])
    found = ensemble(
        pendulum(), {"links.upper.inertia": tensors}, duration=0.3, observe=lambda run: {"q": run["q"][-1]}
    )
    one = simulate(with_parameters(pendulum(), {"links.upper.inertia": tensors[2]}), duration=0.3)
    np.testing.assert_allclose(found.q.values[2], one.q.values[-1], rtol=1e-6)
    tensors[3, 2, 2] = 1.0
    batch = with_parameters(pendulum(), {"links.upper.mass": np.ones(4), "links.upper.inertia": tensors})
    with pytest.raises(ParameterError, match=r"principal moments 0\.08, 0\.08, 1 kg"):
        batch.validate()


@pytest.mark.parametrize("friction", [Dahl(), Incremental(stiffness=1e4)])
def test_a_friction_law_that_needs_a_permanent_load_raises(friction):
    with pytest.raises(ParameterError, match=rf"a ContactPoint cannot have the friction {type(friction).__name__}\("):
        ContactPoint("foot", UnilateralSpring(1e4), friction)


@pytest.mark.parametrize("normal", [ImpactHertz(), Coulomb(), None, lambda depth: 1e4 * depth])
def test_a_normal_law_takes_a_depth_and_its_rate(normal):
    with pytest.raises(ParameterError, match=r"cannot have the normal law .* with force\(depth, rate\)"):
        ContactPoint("foot", normal)


class Rubber(eqx.Module):
    grip: float = 0.5

    def force(self, slip, normal):
        return -self.grip * normal * jnp.tanh(slip / 0.01)


def test_a_friction_law_of_ones_own_needs_no_memory():
    contact = ContactPoint("foot", UnilateralSpring(1e4), Rubber())
    force, _ = contact.forces(0.01, 0.0, jnp.array([0.3, 0.0]), jnp.zeros(2))
    np.testing.assert_allclose(force, [-50.0, 0.0, 100.0])


def test_a_number_is_no_law():
    with pytest.raises(ParameterError, match=r"a law must be one of jaxgait, an eqx.Module or a function, got 0.5"):
        ContactPoint("foot", UnilateralSpring(1e4), 0.5)
    with pytest.raises(ParameterError, match=r"TreeModel\.contacts\.corner 0\.normal: a law must be one of jaxgait"):
        with_parts(box(), {"contacts.corner 0.normal": 0.5})


def test_axes_that_occur_again_are_numbered():
    euler = screws(("turn", (0, 0, 1)), ("turn", (1, 0, 0)), ("turn", (0, 0, 1)))
    model = TreeModel([Link("top", None, euler, mass=1.0)], start={"top.turn_z": 0.1, "top.turn_z_3": 0.3})
    assert model.labels["coordinate"] == ("top.turn_z", "top.turn_x", "top.turn_z_3")
    np.testing.assert_allclose(model.initial_state().q, [0.1, 0.0, 0.3])


@pytest.mark.parametrize("forces", [1.0, np.ones(1), np.ones(3)])
def test_a_drive_returns_all_generalised_forces(forces):
    two = [Link(name, parent, hinge((0, 1, 0)), **rod(1.0, 0.5)) for name, parent in (("a", None), ("b", "a"))]
    model = TreeModel(two, drives={"motor": lambda t, q, v: forces})
    with pytest.raises(ParameterError, match=r"drives\['motor'\] must return .* for each of a, b, shape \(2,\), got"):
        simulate(model)


def test_a_motion_is_prescribed_once_and_something_moves():
    still, moving = PrescribedJoint("a", lambda t: 0.1), Link("a", None, hinge((0, 1, 0)), mass=1.0)
    with pytest.raises(ParameterError, match="several drives prescribe the motion of 'a'"):
        TreeModel([moving], drives={"one": still, "two": still}).validate()
    with pytest.raises(ParameterError, match="all joints are fixed"):
        simulate(TreeModel([Link("a", None, fixed(), mass=1.0)]))
    with pytest.raises(ParameterError, match="at least one body"):
        TreeModel([])


@pytest.mark.parametrize(
    "normal",
    [
        lambda depth, rate: 1e4 * depth,
        LinearSpring(1e4),
        lambda depth, rate: 5.0,
        lambda depth, rate: jnp.maximum(1e4 * depth**1.5, 0.0),  # NaN in the air
    ],
)
def test_a_contact_has_no_force_high_above_the_ground(normal):
    falling = TreeModel([Link("body", None, free(), mass=1.0)], contacts={"foot": ContactPoint("body", normal)})
    with pytest.raises(ParameterError, match=r"contacts\.foot\.normal must be zero above the ground, but 1 m above it"):
        simulate(falling)


def test_a_contact_does_not_pull():
    pulled = {"foot": ContactPoint("body", lambda depth, rate: -1e4 * jnp.maximum(depth, 0.0))}
    with pytest.raises(ParameterError, match=r"contacts\.foot\.normal must push, but 1 mm deep in the ground .* -10 N"):
        simulate(TreeModel([Link("body", None, free(), mass=1.0)], contacts=pulled))


def test_a_prescribed_joint_has_its_start():
    swinging = PrescribedJoint("a", lambda t: 0.1 * t)
    for what in ("start", "start_rates"):
        bar = Link("a", None, hinge((0, 1, 0)), mass=1.0)
        with pytest.raises(ParameterError, match=f"'a' is prescribed, including its start: leave it out of {what}"):
            TreeModel([bar], drives={"motor": swinging}, **{what: {"a": 0.7}})


def test_contacts_are_checked_where_jax_traces_the_caller():
    def deepest(gravity):
        body = Link("body", None, free(), mass=1.0, inertia=np.eye(3))
        model = TreeModel([body], contacts={"foot": ContactPoint("body", UnilateralSpring(1e4))}, gravity=gravity)
        model.validate()
        return model.loads(0.0, model.initial_state()).depth[0]

    assert float(jax.jit(deepest)(9.8)) == 0.0


CART = [Link("cart", None, prismatic((1, 0, 0)), mass=2.0)]


@pytest.mark.parametrize(
    ("drive", "message"),
    [
        (Torque("cart", lambda t: 1.0), r"drives\['push'\].law must take \(t, q, v\)"),
        (Force("cart", lambda t, p: jnp.zeros(3)), r"drives\['push'\].law must take \(t, position, velocity\)"),
        (PrescribedJoint("cart", lambda: 1.0), r"drives\['push'\].law must take \(t\)"),
        (Torque("cart", lambda t, q, v: jnp.ones(2)), r"drives\['push'\] must return one number, shape \(\)"),
        (
            Force("cart", lambda t, p, v: 1.0),
            r"must return the force along x, y and z, shape \(3,\), got the shape \(\)",
        ),
    ],
)
def test_laws_of_drives_that_do_not_fit_are_named(drive, message):
    with pytest.raises(ParameterError, match=message):
        simulate(TreeModel(CART, drives={"push": drive}), duration=0.1, samples=2)


def test_units_of_bodies_that_are_probably_others_are_noticed():
    body = {"mass": 2.0, "com": (0.0, 0.0, -0.2), "inertia": np.diag([0.03, 0.03, 1e-3])}
    bar = lambda **other: TreeModel([Link("a", None, hinge((0, 1, 0)), **(body | other))])
    wrong = [
        ({"mass": 2000.0}, r"links\.a\.mass .* is 2000 kg, .*g instead of kg\?"),
        ({"com": (0.0, 0.0, -200.0)}, r"links\.a\.com .* is -200 m.*: mm instead of m\?"),
        ({"offset": (0.0, 0.0, -40.0)}, r"links\.a\.offset .* is -40 m.*: cm instead of m\?"),
        ({"inertia": np.diag([3e4, 3e4, 1e3])}, r"links\.a\.inertia puts the mass of 2 kg .* kg mm\^2 or kg cm\^2"),
        ({"inertia": np.diag([300.0, 300.0, 10.0])}, r"links\.a\.inertia puts the mass of 2 kg 12\.3 m"),
    ]
    for other, message in wrong:
        with pytest.warns(ImplausibleValue, match=message):
            bar(**other).validate()
    heavy = np.array([2000.0, 3000.0])
    with pytest.warns(ImplausibleValue, match=r"links\.a\.mass .* is 2000 kg \(2 of 2 values\)"):
        check_members(bar(), grid({"links.a.mass": heavy}))


@pytest.mark.parametrize("name", ["links.bob.com[2]", "links.bob.inertia[1,1]"])
def test_single_elements_of_bodies_are_checked_for_each_member(name):
    """Four members, whose batch axis is none of the three of a vector or tensor."""
    tensor = ((0.1, 0.0, 0.0), (0.0, 0.1, 0.0), (0.0, 0.0, 0.01))
    bob = Link("bob", None, hinge((0.0, 1.0, 0.0)), mass=1.0, com=(0.0, 0.0, -0.5), inertia=tensor)
    values = {"links.bob.com[2]": [-0.5, -0.4, -0.3, -0.2], "links.bob.inertia[1,1]": [0.1, 0.095, 0.1, 0.105]}[name]
    columns = {name: np.array(values)}
    assert accepted(TreeModel([bob]), columns).all()
    wrong = {"links.bob.com[2]": np.nan, "links.bob.inertia[1,1]": 0.2}[name]
    assert accepted(TreeModel([bob]), {name: np.array([*values[:3], wrong])}).tolist() == [True] * 3 + [False]
