"""Laws exchanged in the models: other laws are simulated, scanned and differentiated like the models' own."""

from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

from jaxgait import ensemble
from jaxgait.mechanics.contact import HuntCrossley, KelvinVoigt, NoContact
from jaxgait.mechanics.friction import Bristle, Coulomb, Dahl, Incremental, Stribeck
from jaxgait.models.bungee.model import Bungee
from jaxgait.models.creeper.model import Creeper
from jaxgait.models.jumper.human import Jumper
from jaxgait.models.jumper.robot import JumpingRobot
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.models.walker.smooth import Walker
from jaxgait.outcome import Outcome
from jaxgait.parameters import ParameterError, parameters
from jaxgait.parts import parts, with_parts

STEP = 0.01
"""Of the finite differences, relative."""
SLOPE = 2e-2
"""Agreement of a derivative with central differences over `STEP`: their error and that of the solver."""


class Case(NamedTuple):
    """A model with other laws, a parameter of theirs, an output that feels it, and how long to wait for that."""

    model: Any
    changes: dict[str, Any]
    parameter: str
    output: str
    duration: float


FOOT = {"ground.normal": HuntCrossley(1e5, 0.5, 1e4), "ground.friction": Stribeck(0.4, 0.3, 0.1, 1e-2)}
STUD = (0.9, 0.7, 0.006)
CASES = {
    "knee, Hunt-Crossley heel and Stribeck": Case(Prosthesis(), FOOT, "ground.friction.kinetic", "knee_angle", 0.1),
    "knee, bristles": Case(
        Prosthesis(), {"ground.friction": Bristle(0.4, 0.3, 0.1, 500.0)}, "ground.friction.kinetic", "knee_angle", 0.1
    ),
    "jumper, bristles": Case(
        JumpingRobot(), {"sole.friction": Bristle(*STUD)}, "sole.friction.stiffness", "com_vx", 0.15
    ),
    "jumper, memoryless": Case(
        JumpingRobot(),
        {"sole.friction": Coulomb(0.7, 0.02, "algebraic")},
        "sole.friction.slip_velocity",
        "com_vx",
        0.15,
    ),
    "jumper, Stribeck": Case(
        JumpingRobot(),
        {"sole.friction": Stribeck(*STUD, 0.02, "algebraic")},
        "sole.friction.slip_velocity",
        "com_vx",
        0.15,
    ),
    "creeper, Dahl": Case(Creeper(), {"pads.friction": Dahl()}, "pads.friction.coefficient", "actuator_force", 0.1),
    "creeper, memoryless": Case(
        Creeper(), {"pads.friction": Coulomb(1.0, 5e-5, "tanh")}, "pads.friction.coefficient", "actuator_force", 0.1
    ),
    "walker, Kelvin-Voigt and Stribeck": Case(
        Walker(),
        {"normal": KelvinVoigt(1e5, 50.0, 1e4), "friction": Stribeck(0.1, 0.05, 0.1, 1e-2)},
        "friction.kinetic",
        "vx",
        0.1,
    ),
    "bungee, a damping rope": Case(Bungee(), {"rope": KelvinVoigt(20.0, 10.0, 1e3)}, "rope.damping", "x", 8.0),
}


QUICK = ("creeper, memoryless", "bungee")
"""Mechanisms whose derivatives compile in seconds; those of the others take a minute."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name.startswith(QUICK) else pytest.param(name, marks=pytest.mark.slow) for name in CASES]
)
def test_other_laws_are_simulated_scanned_and_differentiated(name):
    case = CASES[name]
    model = with_parts(case.model, case.changes)
    middle = parameters(model)[case.parameter].value
    values = middle * np.array([1.0 - STEP, 1.0, 1.0 + STEP])
    scan = ensemble(
        model,
        {case.parameter: values},
        duration=case.duration,
        samples=2,
        observe=lambda run: {"end": run[case.output][-1]},
        gradient=[case.parameter],
        rtol=1e-9,
        atol=1e-12,  # (differences of positions of millimetres show which steps the solver happened to take)
        progress=False,
    )
    assert (scan.status == Outcome.COMPLETED).all()
    ends = scan["end"].values
    slope = (ends[2] - ends[0]) / (values[2] - values[0])
    assert slope != 0.0
    assert float(scan["end_gradient"][1, 0]) == pytest.approx(slope, rel=SLOPE)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "name", "law", "grown"),
    [
        (Prosthesis(), "ground.friction", Bristle(), 2),
        (Prosthesis(), "ground.friction", Stribeck(), 0),
        (Walker(), "friction", Bristle(), 2),
        (Creeper(), "pads.friction", Coulomb(), -2),
        (Jumper(), "sole.friction", Stribeck(), -1),
        (Jumper(), "sole.normal", "ImpactHertz", 1),
    ],
)
def test_a_state_has_a_memory_only_if_its_law_has_one(model, name, law, grown):
    other = with_parts(model, {name: law})
    before, after = (jax.eval_shape(m.initial_state) for m in (model, other))
    assert len(jax.tree.leaves(after)) - len(jax.tree.leaves(before)) == grown
    rate = jax.eval_shape(other.vector_field, 0.0, after)
    assert jax.tree.structure(rate) == jax.tree.structure(after)


@pytest.mark.parametrize(
    ("model", "name", "forces"),
    [
        (Prosthesis(), "ground.normal", ("heel_force", "toe_force", "heel_friction", "toe_friction")),
        (Walker(), "normal", ("normal_1", "normal_2", "tangent_1", "tangent_2")),
    ],
)
def test_the_ground_can_be_switched_off(model, name, forces):
    """A leg in the air, a walker that falls through the slope."""
    aloft = with_parts(model, {name: NoContact()})
    aloft.validate()
    found = aloft.outputs(0.1, aloft.initial_state())
    assert not any(float(found[force]) for force in forces)


def test_without_its_rule_a_swing_foot_feels_the_ground():
    """In mid-swing the foot is some 0.05 mm deep: with the rule it passes, without it the foot is pushed."""
    walker = Walker()
    y = walker.initial_state()._replace(y=0.4 - 1e-4, theta_1=0.0, theta_2=0.0, omega_1=1.0, omega_2=-1.0)
    with_rule, without = (m.outputs(0.0, y)["normal_1"] for m in (walker, with_parts(walker, {"scuffs": True})))
    assert float(with_rule) < 1e-3 * float(without)
    assert "clearance_angle" not in parameters(with_parts(walker, {"scuffs": True}))


def test_a_rule_for_time_steps_is_no_vector_field():
    jumper = with_parts(Jumper(), {"sole.friction": Incremental()})
    with pytest.raises(ParameterError, match="needs time steps"):
        jax.eval_shape(lambda: jumper.vector_field(0.0, Jumper().initial_state()))
    other = with_parts(Jumper(), {"sole.friction": Bristle()})
    with pytest.raises(ParameterError, match=r"sole.friction to be Incremental"):
        jax.eval_shape(lambda: other.advance(0.0, Jumper().initial_state(), 1e-5))


@pytest.mark.parametrize(
    "model", [Prosthesis(), Walker(), Creeper(), Jumper(), Bungee()], ids=lambda m: type(m).__name__
)
def test_every_alternative_that_is_offered_fits(model):
    for name, part in parts(model).items():
        assert part.doc and part.present in part.options
        for option, value in part.options.items():
            changed = with_parts(model, {name: option if isinstance(value, type) else value})
            assert parts(changed)[name].present == option
