"""Which scheme moves a model, what it takes, and what derivatives go through."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import simulate
from jaxgait.ensembles import again
from jaxgait.kinds import Transition
from jaxgait.measure import Measure
from jaxgait.model import Model, Numerics, Variable, parameter
from jaxgait.models import Bungee
from jaxgait.outcome import IncompleteRun
from jaxgait.parameters import with_parameters
from jaxgait.run import Sampling
from jaxgait.solve.dataset import as_attribute, scheme_options
from jaxgait.solve.hybrid import EventDriven, hybrid
from jaxgait.solve.prescribed import Prescribed
from jaxgait.solve.schemes import scheme_for, schemes
from jaxgait.solve.smooth import Smooth
from jaxgait.solve.time_resolution import Resolving
from tests.solve.swing import Harmonic


class Ball(NamedTuple):
    h: float
    v: float


def test_a_smooth_model_moves_smoothly():
    assert schemes(Bungee()) == [Smooth]
    assert scheme_for(Bungee(), "Smooth", rtol=1e-7) == scheme_for(Bungee(), Smooth.of(Bungee()), rtol=1e-7)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"scheme": "smooth"}, ValueError, "no scheme 'smooth': did you mean 'Smooth'?"),
        ({"dt": 1e-4}, ValueError, "Bungee is integrated by Smooth, with .*: there is no option 'dt'"),
    ],
    ids=str,
)
def test_errors_of_unsuitable_schemes_name_suitable_ones(options, error, message):
    with pytest.raises(error, match=message):
        simulate(Bungee(), **options)


class Stepping(Harmonic):
    def advance(self, t, y, dt):
        return y


@pytest.mark.parametrize("scheme", ["Smooth", "EventDriven", "Marching"])
@pytest.mark.parametrize(
    ("hints", "message"),
    [
        ({"rtol": -1.0}, "rtol must be a positive number below 1, got -1.0"),
        ({"atol": 0.0}, "atol must be a positive number, got 0.0"),
        ({"max_step": 0.0}, "max_step must be a positive number of seconds, got 0.0"),
        ({"dt": -1e-3}, "dt must be a positive number of seconds, got -0.001"),
        ({"max_steps": 0}, "max_steps must be a whole number, at least 1, got 0"),
    ],
    ids=str,
)
def test_numerics_of_a_class_are_checked_by_every_scheme(scheme, hints, message):
    base = Bouncing if scheme == "EventDriven" else Stepping
    model = type("Hinted", (base,), {"numerics": Numerics(stiff=False, **hints)})()
    with pytest.raises(ValueError, match=f"Hinted.numerics.{message}"):
        scheme_for(model, scheme, rtol=1e-6 if scheme != "Marching" else None)


class Bouncing(Model):
    """It has a vector field, which its one phase calls, and a transition."""

    variables: ClassVar = {"h": Variable("m", "height"), "v": Variable("m/s", "velocity")}
    duration: ClassVar = 1.0

    def initial_state(self):
        return Ball(1.0, 0.0)

    def vector_field(self, t, y):
        return Ball(y.v, -9.8)

    def phases(self):
        return (self.vector_field,)

    def transitions(self):
        return {"bounce": Transition(0, 0, lambda t, y: y.h, reset=lambda t, y: Ball(-y.h, -0.8 * y.v))}


@pytest.mark.slow
def test_transitions_are_not_left_out_because_there_is_a_vector_field():
    assert schemes(Bouncing()) == [EventDriven, Smooth]
    run = simulate(Bouncing())
    assert run.attrs["scheme"] == "EventDriven" and run.sizes["event"] == 1 and float(run.h[-1]) > 0.0

    class Twin(Bouncing):  # replaces the inherited phases by one equation
        def vector_field(self, t, y):
            return Ball(y.v, -9.8)

    assert schemes(Twin()) == [Smooth, EventDriven]
    bounces = Measure("bounces", lambda run: run.happened("bounce").sum(), "1", "number of bounces")
    with pytest.raises(ValueError, match="only event-driven runs record transitions"):
        simulate(Twin(), observe=bounces)


class Thrown(Bouncing):
    """From the ground upwards; it ends where it lands, but only if it is fast."""

    speed: float = parameter(4.9, unit="m/s", doc="velocity at the start")

    def initial_state(self):
        return Ball(0.0, 1.0 * self.speed)

    def transitions(self):
        fast = lambda t, y: y.v < -self.least
        return {"landed": Transition(self.source, 0, lambda t, y: y.h, armed=fast, ends=True)}

    least: ClassVar = 0.0
    source: ClassVar = 0


class SmoothlyThrown(Thrown):
    def vector_field(self, t, y):
        return Ball(y.v, -9.8)


@pytest.mark.slow
@pytest.mark.parametrize("source", [[0], range(1), np.arange(1)], ids=str)
def test_phases_may_be_any_sequence(source):
    model = type("Listed", (Thrown,), {"source": source})()
    assert scheme_for(model, "Smooth").rtol > 0.0  # (the ends of all phases are compared)
    assert simulate(model, duration=0.5).attrs["status_text"] == "completed"


@pytest.mark.slow
def test_inherited_transitions_end_a_smooth_run_as_they_end_an_event_driven_one():
    with pytest.warns(IncompleteRun, match="ended early: landed"):
        exact, smooth = simulate(Thrown(), duration=2.0), simulate(SmoothlyThrown(), duration=2.0, max_step=1e-3)
    assert exact.attrs["scheme"] == "EventDriven" and smooth.attrs["scheme"] == "Smooth"
    assert exact.attrs["t_end_s"] == pytest.approx(1.0, abs=1e-9)  # and not at the start, where the height is zero
    assert smooth.attrs["t_end_s"] == pytest.approx(1.0, abs=2e-3)

    class Softly(SmoothlyThrown):
        least: ClassVar = 10.0

    assert simulate(Softly(), duration=1.5).attrs["status"] == 0  # not armed


def test_an_end_that_holds_in_one_phase_only_does_not_end_a_run_without_phases():
    class InFlight(SmoothlyThrown):
        def phases(self):
            return (self.vector_field, self.vector_field)

    with pytest.raises(ValueError, match=r"InFlight by Smooth has no phases, but 'landed' ends .*define terminations"):
        simulate(InFlight())
    assert scheme_for(InFlight(), "EventDriven")

    class Anywhere(InFlight):
        source: ClassVar = (0, 1)

    class Own(InFlight):
        def terminations(self):
            return {"landed": lambda t, y: y.h < 0.0}

    class Later(Own):
        def transitions(self):
            return super().transitions()

    with pytest.raises(ValueError, match="define terminations"):
        scheme_for(InFlight(), Smooth.of(InFlight()))
    assert scheme_for(Anywhere()) == scheme_for(Own()) == scheme_for(Later(), "Smooth")


def test_numbers_of_numpy_are_recorded_as_numbers_and_a_mode_can_be_changed_back():
    @dataclass(frozen=True)
    class Optional(Prescribed):
        option: Any = None

    assert [type(Optional(x).option) for x in (np.int64(500), jnp.asarray(1e-6))] == [int, float]
    control = diffrax.PIDController(rtol=np.float64(1e-6), atol=np.float64(1e-6), dtmax=jnp.asarray(0.1))
    assert as_attribute(control) == "PIDController(rtol=1e-06, atol=1e-06, dtmax=0.1)"
    assert EventDriven().in_mode("reverse").in_mode("forward") == EventDriven()


def test_stiff_event_driven_steps_resolve_the_events_too():
    class Stiff(Bouncing):
        numerics = Numerics(stiff=True, max_step=0.1)

    assert EventDriven.of(Stiff()).max_step == EventDriven.dt


def test_no_events_are_recorded_on_request():
    assert simulate(Bungee(), duration=5.0, max_events=0).attrs["max_events"] == 0


def _end(mode):
    model = Harmonic()
    sampling, scheme = Sampling.of(model, None, 1.0, 2), Smooth.of(model, differentiated=True, mode=mode)
    return lambda rate: scheme.run(with_parameters(model, {"rate": rate}), sampling).y_end.x


def test_the_error_of_grad_in_forward_mode_names_the_remedy():
    with pytest.raises(RuntimeError, match=r'use jax.jacfwd .* Smooth.of\(model, mode="reverse"\)'):
        jax.grad(_end("forward"))(6.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "derivative",
    [
        pytest.param(jax.hessian, marks=pytest.mark.slow),
        pytest.param(
            lambda f: jax.jit(jax.hessian(f)),
            marks=pytest.mark.skipif(
                jax.__version_info__ < (0, 10), reason="an internal TypeError of older versions of JAX comes first"
            ),
        ),
        pytest.param(lambda f: jax.jacrev(jax.grad(f)), marks=pytest.mark.slow),
    ],
)
def test_the_error_of_second_derivatives_names_those_that_work(derivative):
    """Whatever is jitted; `jax.jacfwd(jax.jacfwd(f))` gives -cos(rate) in forward mode."""
    for mode, message in (
        ("forward", r"second derivatives by jax.jacfwd\(jax.jacfwd\(f\)\)"),
        ("reverse", "in forward mode"),
    ):
        with pytest.raises(RuntimeError, match=message):
            derivative(_end(mode))(6.0)
    assert float(jax.jacfwd(jax.jacfwd(_end("forward")))(6.0)) == pytest.approx(-np.cos(6.0), rel=1e-3)


@pytest.mark.parametrize(
    "derivative", [jax.jacfwd, lambda f: jax.jacfwd(jax.jit(f)), lambda f: jax.jvp(f, (6.0,), (1.0,))]
)
def test_the_error_of_forward_derivatives_in_reverse_mode_names_the_remedy(derivative):
    with pytest.raises(RuntimeError, match=r"set it up in forward mode, Smooth.of\(model\)"):
        derivative(_end("reverse"))(6.0)


def _landed(mode):
    """The time in s at which a ball lands, of the height in m from which it falls."""
    scheme = EventDriven(dt=0.01, max_steps=256).in_mode(mode)
    return lambda height: hybrid(Bouncing(), events=1, t_end=2.0, y0=Ball(height, 0.0 * height), scheme=scheme).ts[0]


@pytest.mark.slow
def test_event_driven_solves_have_first_derivatives_only():
    """Those of event times hold to first order: second ones were wrong."""
    landed = _landed("forward")
    with pytest.raises(RuntimeError, match=r"take differences.*jax.lax.stop_gradient\(x\)"):
        jax.jacfwd(jax.jacfwd(landed))(1.225)
    frozen = lambda height: jax.jacfwd(landed)(jax.lax.stop_gradient(height)) * height
    assert float(jax.jacfwd(frozen)(1.225)) == pytest.approx(1.0 / 4.9, rel=1e-6), "as the message advises"


@pytest.mark.slow
def test_event_driven_solves_have_the_derivatives_of_their_mode():
    assert float(jax.grad(_landed("reverse"))(1.225)) == pytest.approx(1.0 / 4.9, rel=1e-6)
    for mode, derivative, message in (
        ("forward", jax.grad, "do not go through an event-driven solve"),
        ("reverse", jax.jacfwd, "EventDriven.of"),
        ("reverse", jax.hessian, "EventDriven.of"),
    ):
        with pytest.raises(RuntimeError, match=message):
            derivative(_landed(mode))(1.225)


@pytest.mark.slow
def test_both_modes_give_the_same_derivative():
    """Of cos(rate) at 1 s."""
    forward, reverse = jax.jit(jax.jacfwd(_end("forward")))(6.0), jax.jit(jax.grad(_end("reverse")))(6.0)
    assert float(forward) == pytest.approx(float(reverse), rel=1e-9)
    assert float(forward) == pytest.approx(-np.sin(6.0), rel=1e-4)


def test_the_options_of_solvers_and_controllers_are_recorded():
    usual = scheme_options(EventDriven.of(Bouncing()))
    assert usual["solver"] == "Dopri8" and usual["max_step_s"] == 0.01 and "controller" not in usual
    rough = Resolving(1e-2, 1e-3, dtmax=0.3)
    found = scheme_options(EventDriven.of(Bouncing(), controller=rough))
    assert found["controller"] == "Resolving(rtol=0.01, atol=0.001, dtmax=0.3)"
    run = simulate(Bouncing(), scheme=EventDriven.of(Bouncing(), controller=rough))
    with pytest.raises(ValueError, match=r"ran with controller='Resolving\(rtol=0.01.*which simulate does not accept"):
        again(run, model=Bouncing())
    early = simulate(Bouncing()).assign_attrs(controller="Resolving")  # as files of early versions have it
    assert again(early, model=Bouncing()).sizes["event"] == 1


def test_tolerances_of_event_driven_runs_are_those_of_smooth_ones():
    run = simulate(Bouncing(), samples=4, rtol=1e-4, atol=1e-5, max_step=0.05, dt=1e-3)
    assert [run.attrs[name] for name in ("rtol", "atol", "max_step_s", "dt_s")] == [1e-4, 1e-5, 0.05, 1e-3]
    same = again(run, model=Bouncing())
    assert same.attrs["steps"] == run.attrs["steps"] < simulate(Bouncing(), samples=4).attrs["steps"]
    with pytest.raises(ValueError, match="rtol must be at least"):
        simulate(Bouncing(), rtol=1e-10, precision="float32")
