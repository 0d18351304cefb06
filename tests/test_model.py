"""Errors for objects that are not models, and for what a model's class lacks."""

import inspect
import re
import warnings
from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait import Measure, Transition, ensemble, simulate
from jaxgait.ensembles.driver import plan_of
from jaxgait.measure import table
from jaxgait.model import Model, Variable, as_model
from jaxgait.models import Bungee, Prosthesis, RigidWalker, RollingWalker
from jaxgait.parameters import ParameterError, choice, parameter, parameters, with_parameters
from jaxgait.plausible import ImplausibleValue
from jaxgait.precision import cast, float64_default, use
from jaxgait.solve import checks
from jaxgait.solve.checks import check_equations as _check_equations
from jaxgait.solve.checks import warn_of_start

check_equations, cast_to_float64 = float64_default(_check_equations), float64_default(cast)


def test_a_model_is_a_model():
    model = Bungee()
    assert as_model(model) is model


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Bungee, r"an instance of the model, not the class: Bungee\(\)"),
        ("bungee", r"Bungee\(\) from jaxgait.models instead of 'bungee'"),
        ("knee", r"Prosthesis\(\) from jaxgait.models instead of 'knee'"),
        (None, "got None"),
        ({"mass": 70}, "something of type dict"),
        (Bungee().prepared(), "the Bungee itself"),
    ],
    ids=str,
)
def test_errors_for_other_objects_name_a_model(given, message):
    with pytest.raises(TypeError, match=message):
        as_model(given)


@pytest.mark.parametrize("given", [Bungee, None, "bungee"])
def test_only_instances_have_parameters(given):
    with pytest.raises((ParameterError, TypeError), match=r"only an instance|an instance of the model, not the class"):
        with_parameters(given, {"mass": 70.0})


def test_an_incomplete_class_raises_when_it_is_defined():
    with pytest.raises(TypeError, match=r"Hopper lacks duration, .*; variables, .*; how it moves: vector_field"):

        class Hopper(Model):
            def initial_state(self):
                return np.zeros(2)

    with pytest.raises(TypeError, match=r"Dropped lacks phases\(\), which its transitions number"):

        class Dropped(Bungee):
            def transitions(self):
                return {}


def test_a_method_that_should_be_a_property_is_named_when_the_class_is_defined():
    with pytest.raises(TypeError, match="duration of Hopper must not be a method: write @property above it"):

        class Hopper(_Branching):
            def duration(self):
                return 1.0


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("output", "outputs"),
        ("initialstate", "initial_state"),
        ("measure", "measures"),
        ("vectorfield", "vector_field"),
    ],
)
def test_a_name_that_is_nearly_one_of_a_model_s_is_warned_of_when_the_class_is_defined(name, meant):
    with pytest.warns(UserWarning, match=f"no simulation uses {name} of Near, .*: did you mean {meant}?"):
        near = type("Near", (Bungee,), {name: lambda self: {}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        type("Further", (near,), {name: lambda self: {}})  # its own by now
        type("Helped", (Bungee,), {name: lambda self: {}, meant: getattr(Bungee, meant)})
        type("Private", (Bungee,), {f"_{name}": lambda self: {}, "slope": lambda self: 0.0})


@pytest.mark.filterwarnings("error")
def test_a_helper_may_have_nearly_the_name_of_a_part_that_its_class_inherits():
    class Timed(RollingWalker):
        def phase(self, y):
            return jnp.arctan2(y.swing_rate, y.swing)

        def outputs(self, t, y):
            return {**super().outputs(t, y), **{name: self.phase(y) for name in ["angle"]}}

    class Measured(RigidWalker):
        contact = property(lambda self: 1.0)
        measures: ClassVar = table(Measure("held", lambda run: run.model.contact, "1", "share of contact"))


@pytest.mark.parametrize(("kind", "value"), [(float, 3.0), ("float", 3), ("Scalar", np.float64(3.0)), (Any, 3.0)])
def test_a_number_that_is_not_declared_is_warned_of_when_the_class_is_defined(kind, value):
    with pytest.warns(UserWarning, match=r"k of Plain is no parameter, .*: write k: float = parameter\(.*3.*ClassVar"):
        plain = type("Plain", (Bungee,), {"k": value, "__annotations__": {"k": kind}})
    assert "k" not in parameters(plain())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        type("Further", (plain,), {"x": None, "__annotations__": {"x": "float | None"}})


@pytest.mark.filterwarnings("error")
def test_counts_constants_choices_and_durations_are_no_undeclared_numbers():
    class Plain(Bungee):
        links: int = 3
        flag: bool = True
        constant: ClassVar[float] = 3.0
        order: Literal[0.5, 1.0] = choice(1.0, doc="order of the filter")  # type: ignore[valid-type]
        steps: float = eqx.field(default=2.0, static=True)
        duration: float = 2.0
        mass: float = parameter(80.0, unit="kg", doc="body mass")

    assert Plain().duration == 2.0


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("numerics", {"rtol": 1e-8}, r"numerics of Hopper must be Numerics\(...\), got {'rtol': 1e-08}"),
        ("variables", ["x"], r"variables of Hopper must be a dict by name, got \['x'\]"),
        ("measures", ["x"], r"measures of Hopper must be a dict by name, got \['x'\]"),
        ("labels", ["x"], r"labels of Hopper must be a dict by dimension, got \['x'\]"),
    ],
)
def test_attributes_of_another_form_raise_when_the_class_is_defined(name, given, message):
    with pytest.raises(TypeError, match=message):
        type("Hopper", (_Branching,), {name: given})


@pytest.mark.parametrize("default", [[1.0, 2.0], {"a": 1.0}, np.ones(2)])
def test_a_default_that_can_be_changed_names_the_field_and_the_class(default):
    with pytest.raises(
        TypeError, match=r"the default of table of Tabled must not be .*: write parameter\(\(1.0, 2.0\)"
    ):
        type("Tabled", (Bungee,), {"__annotations__": {"table": Any}, "table": default})
    constant = type("Constant", (Bungee,), {"__annotations__": {"table": ClassVar[Any]}, "table": default})
    assert constant.table is default


@pytest.mark.parametrize("group", ["events", "terminations"])
@pytest.mark.parametrize(
    ("given", "got"), [([lambda t, y: y[0]], "a list"), ({"rest": 0.0}, r"{'rest': 0.0}")], ids=["list", "number"]
)
def test_events_and_terminations_are_named_functions(group, given, got):
    model = type("Hopper", (_Misshapen,), {group: lambda self: given, "vector_field": lambda self, t, y: -y})()
    with pytest.raises(
        TypeError, match=rf"Hopper.{group} must return a dict of functions of \(t, y\) by name, got {got}"
    ):
        simulate(model)


@pytest.mark.parametrize("period", [None, 1.0])
@pytest.mark.parametrize(
    "duration",
    ["5 s", 0.0, float("nan"), property(lambda self: jnp.asarray(-1.0))],
    ids=["text", "zero", "nan", "property"],
)
def test_a_class_has_a_positive_duration(duration, period):
    model = type("Hopper", (_Branching,), {"duration": duration, "period": period})()
    with pytest.raises(
        ValueError, match=r"Hopper.duration must be a positive number of seconds, got ('5 s'|0|nan|.*-1)"
    ):
        simulate(model)


class _Branching(Model):
    variables: ClassVar = {"state": Variable("m", "position")}
    duration = 1.0

    def initial_state(self):
        return jax.numpy.zeros(2)

    def vector_field(self, t, y):
        return -y if y[0] > 0.0 else y


class _Misshapen(_Branching):
    def vector_field(self, t, y):
        return (y[1], -y[0])


class _Numpy(_Branching):
    def vector_field(self, t, y):
        return -np.sin(y)


class _Unborn(_Branching):
    def initial_state(self):
        return None


class _Imaginary(_Branching):
    def vector_field(self, t, y):
        return jax.lax.complex(y, -y)


class _Pair(NamedTuple):
    x: Any
    v: Any


class _Partial(_Branching):
    variables: ClassVar = {"x": Variable("m", "position"), "v": Variable("m/s", "velocity")}

    def initial_state(self):
        return _Pair(1.0, 0.0)

    def vector_field(self, t, y):
        return _Pair(y.v, None)


class _Poisoned(_Partial):
    k: float = parameter(-1.0, unit="1", doc="number without a square root")

    def initial_state(self):
        return _Pair(jax.numpy.sqrt(self.k), 0.0)

    def vector_field(self, t, y):
        return _Pair(y.v, -y.x)


def test_a_start_that_is_not_a_number_raises():
    with pytest.warns(UserWarning, match="NaN or infinite"):
        simulate(_Poisoned(), samples=2)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            _Branching(),
            r"vector_field needs a value .* 'return -y if y\[0\] > 0.0 else y'\): write jnp.where",
        ),
        (_Misshapen(), r"must return the rates as a .*, like the state, got a tuple"),
        (_Numpy(), r"vector_field needs a value .* 'return -np.sin\(y\)'\): write jnp.where"),
        (_Unborn(), r"initial_state must return the state at the start, got None"),
        (_Imaginary(), r"must return real rates, got complex ones"),
        (_Partial(), r"as a _Pair, like the state, got one with .v = None"),
    ],
    ids=["branches", "another structure", "numpy", "no state", "complex", "a part is lacking"],
)
def test_errors_in_equations_are_in_the_models_terms(model, message):
    with pytest.raises(TypeError, match=message):
        simulate(model)


class _Ball(_Partial):
    """Falls, and moves through phases, too."""

    def vector_field(self, t, y):
        return _Pair(y.v, -9.81)

    def phases(self):
        return (self.vector_field,)

    def transitions(self):
        return {"bounce": Transition(0, 0, lambda t, y: y.x)}


class _Computing(_Ball):
    """What its phases and transitions are made of is computed when they are asked for."""

    gravity: float = parameter(9.81, unit="m/s^2", doc="of the earth")

    def phases(self):
        g = jnp.square(self.gravity) / self.gravity
        return (lambda t, y: _Pair(y.v, -g),)

    def transitions(self):
        height = 0.5 * self.gravity
        return {"low": Transition(0, 0, lambda t, y: y.x + height, armed=lambda t, y: y.v < 0.0)}


def test_phases_and_transitions_may_compute_from_parameters():
    assert int(simulate(_Computing(), duration=0.1, scheme="EventDriven", samples=2, progress=False).status) == 0


def _ball(**changed):
    """A class of balls with other methods: of time and state, or what is returned by those without arguments."""
    bare = {name: (lambda self, found=found: found) for name, found in changed.items() if not callable(found)}
    return type("Ball", (_Ball,), {**changed, **bare})()


def _filled(self, t, y):
    """Rates put into an array of NumPy."""
    rates = np.zeros(2)
    rates[0] = y.v
    return _Pair(*rates)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            _ball(vector_field=lambda self, y, t: y.v),
            r"Ball.vector_field takes its arguments in the wrong order \(line",
        ),
        (_ball(outputs=lambda self, y, t: {"f": y.x}), r"Ball.outputs takes its arguments in the wrong order"),
        (
            _ball(vector_field=lambda self, y: y),
            r"vector_field must take two arguments, the time and the state, \(t, y\)",
        ),
        (_ball(vector_field=_filled), r"Ball.vector_field needs a value that is known only when .*rates\[0\] = y.v"),
        (_ball(phases=[lambda t, y: (y.v, y.x)]), r"phases\(\)\[0\] must return the rates as a _Pair, .* got a tuple"),
        (_ball(events={"low": lambda y, t: y.x}), r"events\(\)\['low'\] takes its arguments in the wrong order"),
        (
            _ball(terminations={"low": lambda t, y: y.x}),
            r"must return a condition, true or false, got one of type float",
        ),
        (_ball(phases=lambda self: self.vector_field), "Ball.phases must return a list .*, got a single function"),
        (_ball(phases={"fall": None}), r"Ball.phases must return a list or tuple of .*, got a dict of 'fall'"),
        (_ball(phases=[]), r"Ball.phases must return a list or tuple of functions of \(t, y\), got \[\]"),
        (_ball(transitions=[]), "Ball.transitions must return a dict of transitions by name, got a list"),
        (_ball(transitions={"a": (0, 0)}), r"transitions\(\)\['a'\] must be a Transition"),
        (_ball(initial_state=_Pair(True, 0.0)), r"Ball.initial_state must return numbers, got one of type bool for .x"),
        (_ball(transitions={"a": Transition(0, 0, lambda y, t: y.x)}), r"\['a'\].guard takes its arguments in"),
        (
            _ball(transitions={"a": Transition(0, 0, lambda t, y: y)}),
            r"\['a'\].guard must return one number, got a _Pair",
        ),
        (
            _ball(transitions={"a": Transition(0, 0, lambda t, y: y.x, reset=lambda t, y: y.x)}),
            r"\['a'\].reset must return the state after the event as a _Pair",
        ),
    ],
)
def test_functions_of_time_and_state_are_checked_by_name(model, message):
    with pytest.raises(TypeError, match=message):
        simulate(model, samples=2)


def test_other_mistakes_are_not_blamed_on_the_order_of_arguments():
    row = {"initial_state": lambda self: jnp.zeros(3), "vector_field": lambda self, t, y: -y * jnp.ones(2)}
    with pytest.raises(TypeError, match=r"incompatible shapes.*\(3,\)"):
        simulate(type("Row", (_Partial,), row)(), samples=2)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            _ball(transitions={"a": Transition(0, 1, lambda t, y: y.x)}),
            "target of the transition 'a' must be one of the",
        ),
        (_ball(transitions={"a": Transition((), 0, lambda t, y: y.x)}), "'a' can never happen: name the phases of its"),
        (_ball(transitions={"a": Transition("fall", 0, lambda t, y: y.x)}), "source of the .* 'a' .*, got fall"),
        (_ball(transitions={"a": Transition(0, [0], lambda t, y: y.x)}), r"target of the .* 'a' .*, got \[0\]"),
        (
            _ball(transitions={"completed": Transition(0, 0, lambda t, y: y.x, ends=True)}),
            "Ball must not name an ending 'completed': that is the status of other runs",
        ),
        (_ball(outputs=lambda self, t, y: {"x": y.v}), "must not use the name 'x': it is a component of the state"),
        (
            type(
                "Ball", (_Ball,), {"outputs": lambda *_: {"force": 1.0}, "variables": {"forse": Variable("N", "force")}}
            )(),
            "Ball.variables has no 'force' but 'forse', which no state or output has: misspelt?",
        ),
        (
            type("Ball", (_Ball,), {"variables": {**_Partial.variables, "load": Variable("N", "force")}})(),
            "Ball.variables has 'load', which is neither a component of the state nor an output: it has x, v",
        ),
        (type("Ball", (_Ball,), {"period": -1.0})(), "Ball.period must be a positive number of seconds, got -1.0"),
        (_ball(outputs=lambda self, t, y: {"time": t}), "must not use the name 'time': it is part of every result"),
    ],
)
def test_silent_mistakes_raise(model, message):
    with pytest.raises(ValueError, match=message):
        simulate(model, samples=2, scheme="EventDriven")


@pytest.mark.slow
@pytest.mark.parametrize(
    "others",
    [
        {"outputs": lambda self, t, y: {"load": t} if len(y) > 2 else {}},
        {"weight": eqx.field(default=lambda t: t), "__annotations__": {"weight": Any}},
        {"measures": {"load": Measure("load", lambda run: run["x"].max(), "N", "force")}},
        {
            "outputs": lambda self, t, y: {f"load{i}": t for i in range(2, len(self.weights))},
            "weights": parameter([1.0, 2.0], unit="kg", doc="masses"),
            "__annotations__": {"weights": Any},
        },
        {"outputs": lambda self, t, y: {n: t for n in ("loads", "load")[:1]}},
    ],
    ids=["of another state", "of a part", "of a measure", "of an array", "of several"],
)
def test_names_that_may_come_to_exist_can_be_described(others):
    variables = {**_Partial.variables, "load": Variable("N", "force")}
    simulate(type("Ball", (_Ball,), {"variables": variables, **others})(), duration=0.1, samples=2, scheme="Smooth")
    inherited = type("Leg", (type("Base", (_Ball,), {"variables": variables, **others}),), {})
    simulate(inherited(), duration=0.1, samples=2, scheme="Smooth")


class _Turning(_Partial):
    variables: ClassVar = {"x": Variable("rad", "angle"), "v": Variable("rad/s", "rate")}
    start: float = parameter(30.0, unit="deg", doc="angle at the start")

    def initial_state(self):
        return _Pair(self.start, 0.0)

    def vector_field(self, t, y):
        return _Pair(y.v, -y.x)


@pytest.mark.slow
def test_a_start_in_degrees_is_warned_of():
    options = {"duration": 0.1, "samples": 2}
    text = r"initial.x of _Turning \(angle\) is 30 rad, .*: degrees instead of rad"
    with pytest.warns(ImplausibleValue, match=text) as caught:
        simulate(_Turning(), **options)
    assert len(caught) == 1 and caught[0].filename == __file__
    with pytest.warns(ImplausibleValue, match=text) as caught:
        ensemble(_Turning(), {"initial.v": [0.0, 0.1]}, duration=0.1, progress=False)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(_Turning(start=0.5), **options)
        simulate(_Turning(), initial_state={"x": 0.5}, **options)
        plan_of({"model": _Turning(), "members": {"initial.x": [0.5]}, "duration": 0.1})
        warn_of_start(_ball(initial_state=lambda self: pytest.fail("has no angles")))


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"initial_state": lambda self: _Pair(jnp.float32(1.0), 0.0)}, r"Ball.initial_state returns float32 for .x"),
        (
            {"vector_field": lambda self, t, y: jax.tree.map(lambda x: jnp.asarray(x, jnp.float16), y)},
            r"Ball.vector_field returns float16 for .x",
        ),
        ({"phases": [lambda t, y: _Pair(y.v, jnp.float32(-9.81))]}, r"phases\(\)\[0\] returns float32 for .v"),
        (
            {"transitions": {"a": Transition(0, 0, lambda t, y: y.x, lambda t, y: _Pair(y.x, jnp.float32(0.0)))}},
            r"transitions\(\)\['a'\].reset returns float32 for .v",
        ),
    ],
    ids=["start", "rates", "rates of a phase", "reset"],
)
def test_numbers_with_too_few_digits_are_warned_of(changed, what, monkeypatch):
    model = cast_to_float64(_ball(**changed))
    for _ in range(2):
        with pytest.warns(UserWarning, match=f"{what}, and the run is in float64: its results have . digits") as caught:
            check_equations(model)
        assert len(caught) == 1
        monkeypatch.setattr(checks, "_check_equations", None)  # what is known is not found out again


def test_numbers_with_the_digits_of_the_run_are_not_warned_of(recwarn):
    with use("float32"):
        check_equations(cast(_ball(initial_state=lambda self: _Pair(jnp.float32(1.0), 0.0))))
    check_equations(cast_to_float64(_ball()))
    assert not [w for w in recwarn if issubclass(w.category, UserWarning)]


def test_components_of_the_state_with_one_name_are_an_error():
    start = lambda self: {"hip": {"x": 1.0}, "hip_x": 2.0}
    twice = type("Twice", (_Ball,), {"initial_state": start, "vector_field": lambda self, t, y: y})()
    with pytest.raises(ValueError, match="two components of the state of Twice have one name: it has hip_x"):
        simulate(twice, samples=2, scheme="Smooth")


_SPEED = {"speed": Variable("m/s", "speed")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("outputs", "declared", "message"),
    [
        (lambda *_: {"load": 1.0}, {}, "Ball.variables does not describe load, which has no unit in results: add it"),
        (lambda *_: {"speed": 1.0}, _SPEED, None),
        (lambda *_: {n: 1.0 for n in ("sped", "speed")[:1]}, _SPEED, "describe sped, .*: is it a misspelt 'speed'?"),
    ],
)
def test_an_output_that_no_variable_describes_is_noticed(outputs, declared, message):
    model = type("Ball", (_Ball,), {"outputs": outputs, "variables": {**_Partial.variables, **declared}})()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        simulate(model, duration=0.1, samples=2, scheme="Smooth")
    said = [str(one.message) for one in caught if "describe" in str(one.message)]
    assert len(said) == bool(message) and all(re.search(message, one) for one in said)


def test_a_name_that_only_a_method_has_comes_from_no_output():
    leg = {"foot": lambda self, y: y.x, "outputs": lambda self, t, y: {"foott": self.foot(y)}}
    model = type("Ball", (_Ball,), {**leg, "variables": {**_Partial.variables, "foot": Variable("m", "foot")}})()
    with pytest.raises(ValueError, match="no 'foott' but 'foot', which no state or output has: misspelt"):
        simulate(model, duration=0.1, samples=2, scheme="Smooth")


@pytest.mark.parametrize(
    ("state", "got"),
    [(np.zeros(2), r"an array of shape \(2,\)"), ([0.0, 1.0], "a list"), ({"x": 0.0}, "a dict of 'x'")],
)
def test_a_state_without_the_names_that_its_rates_read_is_named(state, got):
    model = type("Ball", (_Ball,), {"initial_state": lambda self: state})()
    message = (
        rf"Ball.vector_field \(line .*\) reads .v of the state, of which initial_state returns {got}: return a Named"
    )
    with pytest.raises(TypeError, match=message):
        simulate(model, duration=0.1, samples=2, scheme="Smooth")


class _Lawful(_Ball):
    """Its outputs are those of a plain function."""

    law: Any = eqx.field(default=lambda t, y: {"height": y.x})

    def outputs(self, t, y):
        return self.law(t, y)


@pytest.mark.slow
def test_models_with_other_functions_are_checked_again():
    simulate(_Lawful(), duration=0.1, samples=2, scheme="EventDriven")
    with pytest.raises(ValueError, match="must not use the name 'x'"):
        simulate(_Lawful(law=lambda t, y: {"x": y.v}), duration=0.1, samples=2, scheme="EventDriven")


class _Counting(_Ball):
    """A count and an array of indices are fields, but no parameters."""

    links: int = 3
    order: Any = eqx.field(default_factory=lambda: np.array([1, 0]))

    def vector_field(self, t, y):
        both = jnp.stack([y.v, y.x])
        return _Pair(both[self.order[1]] * len(range(self.links)), both[self.order[0]])


@pytest.mark.slow
def test_counts_and_indices_may_be_plain_fields():
    """Checks took them for numbers that are not known, and programs could not be found by arrays."""
    assert simulate(_Counting(), duration=0.1, samples=2).attrs["status"] == 0
    once = simulate(_Counting(links=1), duration=0.1, samples=2)
    assert float(simulate(_Counting(links=1, order=np.array([0, 1])), duration=0.1, samples=2).x[-1]) != once.x[-1]


def test_names_of_measures_are_checked_when_the_class_is_defined():
    top = Measure("top", lambda run: run["x"].max(), "m", "highest")
    with pytest.raises(TypeError, match=r"measures\['high'\] of Ball must be a Measure .*, got one named 'top'"):
        type("Ball", (_Ball,), {"measures": {"high": top}})
    with pytest.raises(TypeError, match=r"measures\['high'\] of Ball must be a Measure .*, got a function"):
        type("Ball", (_Ball,), {"measures": {"high": lambda run: run["x"].max()}})
    with pytest.raises(ValueError, match="a dimension of the measure 'height' must not be named 'sample': every"):
        Measure("height", lambda run: run["x"], "m", "height", dims=("sample",))
    with pytest.raises(ValueError, match="must not be named 'steps': every ensemble has a result of that name"):
        Measure("steps", lambda run: run["x"].max(), "1", "steps")


@pytest.mark.parametrize("name", ["y_end", "y_before", "y_gradient", "status", "time", "event"])
def test_variables_do_not_have_the_names_of_other_results(name):
    unit = Variable("m", "height")
    with pytest.raises(TypeError, match=f"variables of Ball must not use the name '{name}'"):
        type("Ball", (_Ball,), {"variables": {"y": unit, name: unit}})


@pytest.mark.parametrize(("own", "derived"), [("t", "t_end"), ("t_end", "t_end")])
def test_no_result_of_a_variable_has_the_name_of_another(own, derived):
    """The time of the end was overwritten by the end value of a component named `t`."""
    named = {**_Ball.variables, own: Variable("s", "clock")}
    why = "results have it anyway" if own == derived else f"results have '{derived}' anyway"
    with pytest.raises(TypeError, match=f"variables of Ball must not use the name '{own}': {why}"):
        type("Ball", (_Ball,), {"variables": named})
    with pytest.raises(ValueError, match=f"must not use the name '{own}'"):  # nor one that is not described
        simulate(_ball(outputs=lambda self, t, y: {own: t}), samples=2)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("x", "it is that of a variable"),
        ("x_end", "results have it anyway"),
        ("status", "results have it anyway"),
        ("member", "results have it anyway"),
        ("foot", "it is that of a dimension"),
    ],
)
def test_a_parameter_has_a_name_of_its_own(name, why):
    def made(base, **more):
        given = {"__annotations__": {name: float}, name: parameter(1.0, unit="m", doc="height"), **more}
        return type("Ball", (base,), given)

    loads = {**_Ball.variables, "load": Variable("N", "load", ("foot",))}
    text = f"Ball must not use the name '{name}' for a parameter: {why}"
    with pytest.raises(TypeError, match=text):
        made(_Ball, variables=loads)
    first = type("First", (_Ball,), {"__annotations__": {"y_0": float}, "y_0": parameter(1.0, unit="m", doc="height")})
    with pytest.raises(TypeError, match="'y_0' for a parameter"):  # also inherited
        type("Second", (first,), {"variables": {**_Ball.variables, "y_0": Variable("m", "height")}})
    if why.endswith("variable"):  # of one that is known only when it is asked for
        asked = made(_Ball, variables=property(lambda self: _Ball.variables))
        with pytest.raises(ValueError, match=text):
            simulate(asked(), samples=2)


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("m", r"variables\['height'\] of Ball must be a Variable, .*, got 'm'"),
        (Variable("m", "height", ("row")), "must be a Variable"),  # type: ignore[arg-type]
        (Variable("m", "height", ("time",)), "must not use the name 'time'"),
        (
            Variable("m", "height", reference_of="heigth"),
            "must name another of the variables, in the same unit, got 'h",
        ),
        (Variable("m", "height", ("row", "row")), r"must have different dimensions, got \('row', 'row'\)"),
    ],
)
def test_variables_are_checked_when_the_class_is_made(variable, message):
    with pytest.raises(TypeError, match=message):
        type("Ball", (_Ball,), {"variables": {"height": variable}})


class _Labelled(_Ball):
    variables: ClassVar = {"height": Variable("m", "height", ("foot",))}

    @property
    def labels(self):
        return {"foot": ("left", "right", "third")}

    def outputs(self, t, y):
        return {"height": jax.numpy.zeros(2)}


class _Nested(_Ball):
    def outputs(self, t, y):
        return {"feet": {"left": t}}


class _Described(_Ball):
    def outputs(self, t, y):
        return {"height": Variable("m", "height")}


class _Text(_Ball):
    def outputs(self, t, y):
        return {"height": "high"}


class _Status(_Ball):
    def outputs(self, t, y):
        return {"status": t}


class _Slashed(_Ball):
    def outputs(self, t, y):
        return {"m/s": t}


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (_Labelled, ValueError, "_Labelled.labels has 3 labels of 'foot', but 'height' has 2 values"),
        (_Nested, TypeError, "_Nested.outputs must return a dict of numbers and arrays by name"),
        (_Described, TypeError, "_Described.outputs: 'height' is a Variable: return its value"),
        (_Text, TypeError, "_Text.outputs: 'height' must be a number or an array of numbers, got 'high'"),
        (_Status, ValueError, "_Status.outputs must not use the name 'status'"),
        (_Slashed, ValueError, "_Slashed.outputs: names must not contain '/', which separates folders in files: 'm/s'"),
    ],
)
def test_outputs_that_results_cannot_contain_raise_before_a_run(model, error, message):
    with pytest.raises(error, match=message):
        simulate(model(), samples=2)


def test_unknown_fields_are_named_with_units():
    with pytest.raises(TypeError, match=r"Bungee has no field 'mas': did you mean mass \(kg\)\?"):
        Bungee(mas=70.0)
    with pytest.raises(TypeError, match=r"it has mass \(kg\), stiffness \(N/m\)"):
        Bungee(zzz=70.0)


def test_choices_are_not_axes():
    with pytest.raises(
        ParameterError, match=r"'ground.friction' must be real numbers, .*: to vary a choice or a part, run"
    ):
        ensemble(Prosthesis(), {"ground.friction": ["Coulomb", "Stribeck"]})


def test_parameters_are_declared_by_numbers_with_units():
    with pytest.raises(TypeError, match="the default of a parameter must be a number in kg, or several, got True"):
        parameter(True, unit="kg", doc="mass")
    with pytest.raises(TypeError, match=r'the unit of a parameter must be text, such as "kg".*, got 1'):
        unchecked: Any = inspect.unwrap(parameter)  # (the types of arguments are checked in tests)
        unchecked(70.0, unit=1, doc="mass")
    with pytest.raises(ValueError, match="must be any, nonnegative, positive or fraction, got 'postive'"):
        unchecked(70.0, unit="kg", doc="mass", bounds="postive")
    for pair in ((0.7, 1.55), [0.7, 1.55]):
        with pytest.raises(ValueError, match=r"or fraction, got .0.7, 1.55.; .* is plausible=\(lowest, highest\)"):
            unchecked(1.19, unit="rad", doc="angle of attack", bounds=pair)


@pytest.mark.parametrize("transform", [jax.jit, jax.grad, lambda f: lambda x: jax.vmap(f)(jnp.array([x]))])
def test_labelled_results_within_a_trace_raise(transform):
    run = lambda mass: simulate(Bungee(mass=mass), duration=1.0).x.values[-1]
    with pytest.raises(TypeError, match=r"simulate cannot run within jax\.jit.*: outside, call ensemble"):
        transform(run)(70.0)
    scan = lambda mass: ensemble(Bungee(), {"mass": jnp.array([mass, 80.0])}, duration=1.0).status.values[-1]
    with pytest.raises(TypeError, match=r"ensemble cannot run within jax\.jit"):
        transform(scan)(70.0)


def test_labelled_results_within_compiled_functions_without_arguments_raise():
    for run in (
        lambda _: simulate(Bungee(), duration=1.0).x.values[-1],
        lambda _: ensemble(Bungee(), {"mass": [70.0]}, duration=1.0).status.values[-1],
    ):
        with pytest.raises(TypeError, match=r"cannot run within jax\.jit"):
            jax.jit(run)(1.0)


def test_notebooks_show_the_parameters_as_a_table():
    text = Bungee(mass=81.25)._repr_html_()
    assert "<td>mass</td><td>81.25</td><td>kg</td><td>body mass</td>" in text and text.startswith("<details open>")
    assert Prosthesis()._repr_html_().count("<tr>") == 1 + len(parameters(Prosthesis()))
    several = with_parameters(Bungee(), {"mass": np.array([60.0, 70.0])})
    assert "<td>array([60., 70.])</td>" in several._repr_html_()


def test_a_value_without_a_declaration_does_not_hide_a_parameter():
    with pytest.raises(TypeError, match=r"mass of Heavy does not .*write mass: float = parameter\(90.0, ...\)"):

        class Heavy(Bungee):
            mass = 90.0

    with pytest.raises(TypeError, match=r"mass of Tall does not .*write mass: float = parameter\(90.0, ...\)$"):

        class Tall(Bungee):
            mass = parameter(90.0, unit="kg", doc="body mass")

    class Declared(Bungee):
        mass: float = parameter(90.0, unit="kg", doc="body mass")

    assert Declared().mass == 90.0
