"""What a scan's identity sees of source code: what decides results, and neither words nor places."""

import ast
import collections
import dataclasses
import importlib.util
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor

import diffrax
import equinox as eqx
import jax
import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import CubicSpline

from jaxgait.ensembles import source
from jaxgait.ensembles.fingerprint import _model, differences
from jaxgait.ensembles.objects import Opaque
from jaxgait.ensembles.source import ARRANGEMENT, Sources
from jaxgait.ensembles.syntax import syntax, tree_of
from jaxgait.measure import Measure
from jaxgait.mechanics.friction import Stribeck
from jaxgait.models.bungee.measures import MEASURES
from jaxgait.models.bungee.model import Bungee
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.parts import with_parts
from tests.unusual import UNUSUAL, unusual

pytestmark = pytest.mark.usefixtures("without_bytecode")

MODULE = '''
import functools

import jax.numpy as jnp

from jaxgait.models.bungee.model import Bungee

FACTOR = 2.0
UNUSED = 1.0
GAIN = jnp.array([1.0, 2.0])


def helper(x):
    return FACTOR * x


class Hopper(Bungee):
    """A hopper."""

    gain = GAIN

    def vector_field(self, t, y):
        return super().vector_field(t, y)._replace(v=helper(y.v * self.gain[0]))


def peak(run):
    return {"peak": helper(jnp.max(run["x"]))}


def scaled(factor):
    return lambda run: {"peak": factor * jnp.max(run["x"])}


first = lambda run: {"peak": run["x"].max()}


class Excess:
    def __init__(self, level, again=False):
        self.level = level
        self.me = self if again else None

    def __call__(self, run):
        return {"peak": self.rest(run)}

    def rest(self, run):
        return jnp.max(run["x"]) - self.level


def times(factor):
    def decorate(observe):
        @functools.wraps(observe)
        def call(run):
            return {name: factor * x for name, x in observe(run).items()}

        return call

    return decorate


twice = times(2.0)(peak)
thrice = times(3.0)(peak)
'''


def module(folder, name, text=MODULE):
    """A file of a user's, imported."""
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    found = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def digests(*things):
    sources = Sources()
    for thing in things:
        sources.add(thing, "it")
    return sources.digests()


def changed(one, other):
    """Names of what differs, but for the order of everything, which always does."""
    found = {name for name in {**one, **other} if one.get(name) != other.get(name)}
    assert not found or ARRANGEMENT in found
    return found - {ARRANGEMENT}


def test_several_threads_read_source_at_once():
    """As of scans into stores on a thread each."""
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda kind: tree_of(kind, []), [Sources, Prosthesis, Bungee, Stribeck] * 8)]
    assert [tree.name for tree in found[-4:]] == ["Sources", "Prosthesis", "Bungee", "Stribeck"]


def test_a_renamed_file_changes_nothing(tmp_path):
    one, other = (module(tmp_path, name) for name in ("hopper_here", "hopper_there"))
    for name in ("Hopper", "peak", "first"):
        assert digests(getattr(one, name)) == digests(getattr(other, name)), name


def test_classes_made_at_run_time_are_identified_by_their_members():
    forces = [lambda self, x: 2.0 * x, eval("lambda self, x: 3.0 * x")]
    made = [digests(type("Law", (eqx.Module,), {"force": force, "power": n})) for n in (1, 2) for force in forces]
    assert all(one != other for i, one in enumerate(made) for other in made[:i])


TWICE = """
from jaxgait.models.bungee.model import Bungee

made = []
for gravity in (9.81, 1.62):
    if gravity > 2.0:

        class Hopper(Bungee):
            def vector_field(self, t, y):
                return super().vector_field(t, y)

        class Level:
            height = 1.0

    else:

        class Hopper(Bungee):
            def vector_field(self, t, y):
                return super().vector_field(t, y)._replace(v=0.0)

        class Level:
            height = 2.0

    made.append((Hopper, Level))
"""


def test_of_several_classes_of_a_name_in_a_file_each_is_identified_by_its_own_source(tmp_path):
    """`inspect` finds the first one: a store of one would have counted as one of the other."""
    (first, low), (second, high) = module(tmp_path, "hopper_twice", TWICE).made
    alone = module(tmp_path, "hopper_once", TWICE.replace("(9.81, 1.62)", "(1.62,)")).made[0]
    assert changed(digests(first), digests(second)) == {"source of Hopper"} and digests(second) == digests(alone[0])
    assert digests(low) != digests(high) == digests(alone[1])


@pytest.mark.parametrize("name", UNUSUAL)
def test_a_number_matters_wherever_it_is(name):
    found = []
    for k in (2.0, 3.0, 2.0):
        sources = Sources()
        sources.add(unusual(name, k), "observe")
        found.append(sources.digests())
    assert found[0] == found[2] != found[1]


def test_attributes_set_on_a_class_at_run_time_matter(tmp_path):
    """Its source does not show it, and a store would continue with the results of before, or not say what changed."""
    text = MODULE.replace("import functools", "import enum\nimport functools")
    text = text.replace("class Hopper", "class Kind(enum.Enum):\n    SOFT = 1\n\n\nclass Hopper")
    text = text.replace("gain = GAIN", "gain = GAIN\n    scale = -1.0\n    kind = Kind.SOFT")
    hopper = module(tmp_path, "hopper_set", text).Hopper
    before = digests(hopper)
    assert before["value of Hopper.scale"] == "-1.0" and not [
        name for name in before if name.startswith("value of Kind")
    ]
    hopper.scale = -2.0
    assert changed(before, digests(hopper)) == {"value of Hopper.scale"}
    assert differences(before, digests(hopper)) == ["value of Hopper.scale: -1.0 in the store, -2.0 now"]
    hopper.scale, hopper.gain = -1.0, np.array([1.0, 3.0])
    assert changed(before, digests(hopper)) == {"value of Hopper.gain"}
    hopper.gain = sys.modules["hopper_set"].GAIN
    hopper.steps, hopper.table = (1.0, 3.0), {"a": [2.0]}
    assert set(digests(hopper)) - set(before) == {"value of Hopper.steps", "value of Hopper.table.a"}
    del hopper.steps, hopper.table
    hopper.vector_field = lambda self, t, y: y
    assert "source of <lambda>" in digests(hopper)


def test_attributes_set_on_a_class_of_jaxgait_matter_too(monkeypatch):
    before = digests(Bungee)
    monkeypatch.setattr(Bungee, "duration", 2.0)
    name = "value of jaxgait.models.bungee.model.Bungee.duration"
    assert changed(before, digests(Bungee)) == {name} and digests(Bungee)[name] == "2.0"
    monkeypatch.setattr(Bungee, "initial_state", lambda self: None)
    assert "source of <lambda>" in digests(Bungee)


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        ("UNUSED = 1.0", "UNUSED = 3.0\n\n\ndef plot(run): ...", set()),
        ('"""A hopper."""', '"""A better hopper."""\n    # with a comment', set()),
        ("def helper(x):", "def helper(x: float) -> float:", set()),
        ("FACTOR = 2.0", "FACTOR = 3.0", {"value of FACTOR"}),
        ("FACTOR * x", "FACTOR + x", {"source of helper"}),
        ("[1.0, 2.0]", "[1.0, 3.0]", {"value of GAIN", "value of Hopper.gain"}),
        ("v=helper(y.v", "v=helper(y.x", {"source of Hopper"}),
        ('run["x"].max()', 'run["x"].min()', {"source of <lambda>"}),
        ("- self.level", "+ self.level", {"source of Excess"}),
        ("factor * x for", "factor + x for", {"source of peak (2)"}),
    ],
)
def test_digests_depend_on_everything_that_affects_a_result_and_on_nothing_else(tmp_path, before, after, names):
    one = module(tmp_path, "hopper_before")
    other = module(tmp_path, "hopper_after", MODULE.replace(before, after))
    old, new = (digests(m.Hopper, m.peak, m.first, m.Excess(1.0), m.twice) for m in (one, other))
    assert old != {} and changed(old, new) == names


@pytest.mark.parametrize("imported", ["import hopper_law as law", "from hopper_law import force"])
def test_imports_of_a_function_matter(tmp_path, imported):
    called = "force" if "from" in imported else "law.force"
    user = module(tmp_path, "hopper_late", f"def late(x):\n    {imported}\n    return {called}(x)\n")
    old, new = ({}, {})
    for factor, found in ((2.0, old), (3.0, new)):
        module(tmp_path, "hopper_law", f"FACTOR = {factor}\n\ndef force(x):\n    return FACTOR * x\n")
        found.update(digests(user.late))
    assert changed(old, new) == {"value of FACTOR"}


def test_constants_in_a_closure_matter(tmp_path):
    user = module(tmp_path, "hopper_closures")
    assert digests(user.scaled(2.0))["factor of it"] == "2.0"
    assert digests(user.scaled(2.0)) == digests(user.scaled(2.0)) != digests(user.scaled(3.0))
    curves = [np.arange(3.0), np.arange(3.0) + 1e-12]
    assert digests(user.scaled(curves[0])) != digests(user.scaled(curves[1]))
    assert digests(user.scaled(curves[0])) == digests(user.scaled(curves[0].copy()))


def test_attributes_of_objects_and_closures_of_decorators_matter(tmp_path):
    user = module(tmp_path, "hopper_objects")
    assert digests(user.Excess(1.0)) == digests(user.Excess(1.0)) != digests(user.Excess(2.0))
    assert digests(user.Excess(1.0).rest) != digests(user.Excess(2.0).rest)
    assert digests(user.Excess(1.0, again=True)) == digests(user.Excess(1.0, again=True))
    assert digests(user.twice) != digests(user.thrice)
    curves = [CubicSpline(np.arange(4.0), heights) for heights in (np.ones(4), np.zeros(4))]
    assert digests(user.scaled(curves[0])) != digests(user.scaled(curves[1]))


def test_functions_without_source_are_identified_by_their_bytecode():
    one, same, other = (eval(f"lambda run: run['x'] * {c}") for c in ("2", "2", "3"))
    assert digests(one) == digests(same) != digests(other)
    here, there = lambda run: run["x"].max(), lambda run: run["x"].min()  # on one line: no one can distinguish them
    assert digests(here) != digests(there)


def test_jaxgait_is_identified_by_files_and_their_imports():
    found = digests(MEASURES["clearance"].function)
    assert {"measures.py", "model.py"} == set(found["source of jaxgait.models.bungee"])
    assert "__init__.py" in found["source of jaxgait.mechanics"]
    assert not any("native" in name or "plot" in name or "ensembles" in name for name in found)
    assert found["it"] == "jaxgait.models.bungee.measures._clearance"


def test_an_exchanged_part_matters():
    normal, other = (
        _model(leg, Sources()) for leg in (Prosthesis(), with_parts(Prosthesis(), {"ground.friction": Stribeck()}))
    )
    assert normal["parameter ground.friction"] == 0.6 and "parameter ground.friction" not in other
    assert other["part ground.friction"] == "jaxgait.mechanics.friction.Stribeck"
    assert "parameter ground.friction.static" in other


def test_libraries_are_identified_by_name():
    assert {**digests(np.max), ARRANGEMENT: ""} == {"it": "numpy.max", ARRANGEMENT: ""}


def test_a_function_that_jaxgait_wraps_is_found(tmp_path):
    user = module(tmp_path, "hopper_wrapped")
    wrapped = Measure("peak", user.peak, "m", "largest x")
    assert "source of peak" in digests(wrapped.function) and "source of peak" in digests(wrapped)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1  # one", "x   =   1"),
        ('def f(x):\n    """Words."""\n    return x', "def f(x: int) -> int:\n    return (x)"),
        ("class A:\n    x: int = 1\n    '''Words.'''", "class A:\n    x: int = 1"),
        ('if x:\n    raise ValueError("no")', 'if x:\n    raise ValueError(f"never {x}")'),
        ('k = parameter(1.0, unit="m", doc="length")', 'k = parameter(1.0, unit="m", doc="a length", source="[1]")'),
    ],
)
def test_comments_texts_and_formatting_do_not_matter(one, other):
    assert syntax(ast.parse(one)) == syntax(ast.parse(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x = 1.0"),
        ("x = a + b", "x = b + a"),
        ("class A:\n    x: int = 1", "class A:\n    x: ClassVar = 1"),
        ("f('words')", "f('other words')"),
        ("if x:\n    raise ValueError", "if y:\n    raise ValueError"),
    ],
)
def test_everything_else_matters(one, other):
    assert syntax(ast.parse(one)) != syntax(ast.parse(other))


def test_default_arguments_and_attributes_of_functions_matter(tmp_path):
    text = "def measure(run, k={k}, *, c={c}):\n    return k * run['x'].max() + c\n\nK = {k}\nmeasure.gain = {gain}\n"
    text = text.replace("k={k}, *, c={c}", "k=K, *, c=C").replace("def ", "K, C = {k}, {c}\n\n\ndef ", 1)
    found = [
        digests(module(tmp_path, "hopper_defaults", text.format(k=k, c=c, gain=gain)).measure)
        for k, c, gain in ((1.0, 1.0, 1.0), (2.0, 1.0, 1.0), (1.0, 2.0, 1.0), (1.0, 1.0, 2.0))
    ]
    assert len({str(one) for one in found}) == 4
    made = [lambda run, k=k: k * run["x"].max() for k in (1.0, 5.0)]
    assert digests(made[0]) != digests(made[1])


def test_a_container_that_contains_itself_is_visited_once():
    class Laws(dict):
        pass

    laws = Laws(stiffness=2.0)
    laws.own = laws
    Sources().add(lambda run: laws["stiffness"] * run["x"].max(), "observe")


def observed(**functions):
    """What a scan with these measures depends on."""
    sources = Sources()
    for name, function in functions.items():
        sources.add(function, f"measure {name}")
    return sources.digests()


def double(x):
    return 2.0 * x


def triple(x):
    return 3.0 * x


def with_two(first, second):
    return lambda run: first(run["x"].min()) + second(run["x"].max())


def with_laws(laws):
    return lambda run: laws[0](run["x"].min()) + laws[1](run["x"].max())


def above(level):
    return lambda run: (run["x"] > level).sum()


@pytest.mark.parametrize(
    ("one", "other", "named"),
    [
        (
            {"a": double, "b": triple},
            {"a": triple, "b": double},
            "measure a: double in the store, triple now; measure b: triple in the store, double now",
        ),
        (
            {"a": with_two(double, triple)},
            {"a": with_two(triple, double)},
            "first of measure a: double in the store, triple now; second of measure a: triple in the store, double now",
        ),
        (
            {"a": with_laws([double, triple])},
            {"a": with_laws([triple, double])},
            "laws of measure a.0: double in the store, triple now; "
            "laws of measure a.1: triple in the store, double now",
        ),
        (
            {"a": above(50.0), "b": above(60.0), "c": above(50.0)},
            {"a": above(50.0), "b": above(60.0), "c": above(60.0)},
            "level of measure c: 50.0 in the store, 60.0 now",
        ),
        (
            {"a": lambda run, k=50.0: k, "b": lambda run, k=60.0: k},
            {"a": lambda run, k=60.0: k, "b": lambda run, k=50.0: k},
            "default k of measure a: 50.0 in the store, 60.0 now; default k of measure b: 60.0 in the store, 50.0 now",
        ),
    ],
)
def test_which_function_and_value_is_where_matters(one, other, named):
    """A store of a scan in which two were exchanged by mistake went on with the results of the mistake."""
    found = differences(observed(**one), observed(**other))
    assert "; ".join(found) == named and observed(**one) == observed(**one)


def test_functions_that_names_do_not_tell_apart_are_told_apart():
    a, b = (eval(f"lambda run: {k} * run['x'].max()") for k in (2.0, 3.0))
    one, other = observed(a=a, b=b, c=a), observed(a=a, b=b, c=b)
    assert differences(one, other) == ["which function and value is where: another one in the store"]


LAW = """
class Law:
    factor = 2.0

    def force(self, x):
        return self.factor * x


law = Law()


def observe(run):
    return law.force(run["x"])
"""


def test_a_changed_attribute_of_an_object_is_compared_with_that_of_its_class(tmp_path):
    user = module(tmp_path, "hopper_law", LAW)
    before = digests(user.observe)
    old = {name: x for name, x in before.items() if name != "value of law"}  # as early versions wrote it
    assert differences(old, before) == differences(before, old) == []
    user.Law.factor = 3.0
    assert differences(before, digests(user.observe)) == ["value of Law.factor: 2.0 in the store, 3.0 now"]
    user.Law.factor = 2.0
    user.law.factor = 5.0
    now = "['factor', 5.0] now"
    assert differences(before, digests(user.observe)) == [
        f"value of law: ['factor', 2.0] of its class Law in the store, {now}"
    ]


SLOTTED = """
class Law:
    __slots__ = ("k",)

    def __init__(self, k):
        self.k = k

    def force(self, x):
        return {n} * self.k * x
"""


def test_objects_count_by_their_content_and_their_class(tmp_path):
    """Whatever keeps their attributes, and whether or not they can be pickled."""

    def digests_of(*values):
        return [digests(lambda run, held=one: held) for one in values]

    made = [module(tmp_path, "hopper_slots", SLOTTED.format(n=n)).Law(k) for n, k in ((1, 1.0), (2, 1.0), (2, 3.0))]
    several = {
        "slots": made,
        "a lambda in a namespace": [types.SimpleNamespace(law=eval(f"lambda x: {k} * x")) for k in (1, 2)],
        "functions in a queue": [collections.deque(laws) for laws in ([double, triple], [triple, double])],
        "sets of functions": [{double}, {double, triple}],
        "dicts by function": [{double: 1.0, triple: 2.0}, {double: 2.0, triple: 1.0}],
        "a method of a dict": [{"a": k}.get for k in (1.0, 2.0)],
        "arrays of objects": [np.array([law, None], dtype=object) for law in (double, triple)],
        "tables": [pd.DataFrame({"a": [1.0], name: [2.0]}) for name in "bc"],
        "solvers": [Holder(solver) for solver in (diffrax.Tsit5(), diffrax.Dopri5())],
        "random keys": [jax.random.key(n) for n in (0, 1)],
    }
    for what, values in several.items():
        found, again = digests_of(*values), digests_of(*values)
        assert found == again, what
        assert all(one != other for i, one in enumerate(found) for other in found[:i]), what


@dataclasses.dataclass(frozen=True)
class Holder:
    solver: object


@pytest.mark.parametrize("hidden", [threading.Lock(), np.frompyfunc(double, 1, 1), (n for n in range(3))])
def test_what_has_no_content_that_can_be_compared_raises(hidden):
    with pytest.raises(Opaque, match=r"hidden of it: a \w+ cannot be compared with another, .*: leave it out"):
        digests(with_hidden(hidden))


def with_hidden(hidden):
    return lambda run: hidden


def test_lists_that_contain_themselves_have_an_end():
    held: list = [1.0]
    held.append(held)
    assert digests(with_laws(held)) == digests(with_laws(held))


def test_code_counts_as_it_runs_and_not_as_its_file_says_now(tmp_path):
    """A session that had begun with the old code wrote its results under the digest of the new one."""
    user = module(tmp_path, "hopper_edited")
    before = digests(user.peak, user.Excess(1.0), user.first)
    edited = (
        MODULE.replace("FACTOR * x", "FACTOR + x").replace("- self.level", "+ self.level").replace("max()", "min()")
    )
    (tmp_path / "hopper_edited.py").write_text(edited)
    now = digests(user.peak, user.Excess(1.0), user.first)
    again = module(tmp_path, "hopper_edited", edited)
    after = digests(again.peak, again.Excess(1.0), again.first)
    assert all(before[ARRANGEMENT] != one[ARRANGEMENT] for one in (now, after)) and now != after
    assert {"source of helper", "source of <lambda>"} <= changed(now, after)


def test_files_of_jaxgait_that_have_changed_since_they_were_imported_raise(tmp_path, monkeypatch):
    file, edited = source._file, tmp_path / "tableaus.py"
    edited.write_text(file("jaxgait.solve.tableaus").read_text())
    monkeypatch.setattr(source, "_file", lambda m: edited if m == "jaxgait.solve.tableaus" else file(m))
    sources = Sources()
    sources.add_module("jaxgait.solve.tableaus")
    with pytest.raises(Opaque, match=r"tableaus\.py has changed since it was imported, .*: start Python again"):
        sources.digests()


def test_parts_that_cannot_affect_a_trajectory_exist_and_are_left_out():
    assert all((source._ROOT / name).is_dir() or (source._ROOT / f"{name}.py").is_file() for name in source.NO_NUMBERS)
    found = source._closure(frozenset({"jaxgait.model"}))
    assert "jaxgait.fields" in found and "jaxgait.support.checks" not in found
