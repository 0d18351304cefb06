"""Identities: the same in every process, and others after any change that could affect the program."""

import functools
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import threading
import time
import venv

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy import special

from jaxgait.mechanics.contact import KelvinVoigt, UnilateralSpring
from jaxgait.models import Bungee
from jaxgait.native import arrays, calls, compiled, dependencies, disk, identity, stored
from jaxgait.native.dependencies import foreign, opened
from jaxgait.native.identity import identity as identity_of
from jaxgait.support import libraries
from tests.native.programs import tower
from tests.unusual import UNUSUAL, unusual

X = jnp.linspace(0.1, 2.0, 16)


def recalled(function, *args):
    """The program that an earlier process left on disk for a function; None if there is none."""
    given = (args, {})
    found = stored._recalled(stored._name(function, given, ()), given)
    return found if isinstance(found, stored.Program) else None


MODULE = '''
"""A user's file."""
import functools
import os
import time
from datetime import datetime
import numpy as np
import optax
import jax.numpy as jnp
import {name}_law as law

FACTOR, UNUSED = 2.0, 1.0
TABLE = np.arange(3.0)
NAMES = {{"a": 1}}


def helper(x, power=2):
    return FACTOR * x**power


class Base:
    offset = 1.0

    def shift(self, x):
        return x + self.offset


class Spring(Base):
    def __init__(self, k):
        self.k = k

    def force(self, x):
        return -self.k * self.shift(x)


def vector_field(x):
    def inner(y):
        return helper(y) + TABLE[1]
    return inner(x) + NAMES["a"]


def closed(factor):
    return lambda x: factor * jnp.sin(x)


def by_module(x):
    return law.friction(x)


def late(x):
    from {name}_law import friction
    return friction(x)


def spring(x, law=Spring(3.0)):
    return law.force(x)


def reads(x):
    return x * float(open("nowhere").read())


def clock(x):
    return x * time.time()


def looks_up(x):
    return getattr(law, "friction")(x)


def handed_on(module, x):
    return module.friction(x)


def hands_on(x):
    return handed_on(law, x)


@functools.cache
def remembered():
    return FACTOR


def remembers(x):
    return x * remembered()


STEPS = (i for i in range(3))


def uses_up(x):
    return x * next(STEPS)


def today(x):
    return x * datetime.now().year


def chance(x):
    return x * np.random.rand()
'''
LAW = "def friction(x):\n    return 0.5 * x\n\n\ndef other(x):\n    return x\n"


def user(folder, text=MODULE, law=LAW, name="user_here"):
    """A user's module and another one that it imports."""
    found = None
    for module, content in ((f"{name}_law", law), (name, text.format(name=name))):
        path = folder / f"{module}.py"
        path.write_text(content)
        spec = importlib.util.spec_from_file_location(module, path)
        found = sys.modules[module] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found)
    return found


FUNCTIONS = ("vector_field", "by_module", "late", "spring", "closed")


def names(module):
    found = {name: identity_of(getattr(module, name)) for name in FUNCTIONS if name != "closed"}
    return {**found, "closed": identity_of(module.closed(2.0))}


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """Identities of the user's functions, wherever the file is."""
    return names(user(tmp_path_factory.mktemp("old")))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("UNUSED = 2.0, 1.0", "UNUSED = 2.0, 3.0", set()),
        ('"""A user\'s file."""', "# A comment\n\n\n", set()),
        ("FACTOR, UNUSED = 2.0", "FACTOR, UNUSED = 3.0", {"vector_field"}),
        ("FACTOR, UNUSED = 2.0", "FACTOR, UNUSED = 2", {"vector_field"}),
        ("FACTOR * x**power", "FACTOR + x**power", {"vector_field"}),
        ("power=2", "power=3", {"vector_field"}),
        ("np.arange(3.0)", "np.arange(4.0)", {"vector_field"}),
        ('NAMES = {{"a": 1}}', 'NAMES = {{"a": 2}}', {"vector_field"}),
        ("helper(y) + TABLE", "helper(y) - TABLE", {"vector_field"}),
        ("offset = 1.0", "offset = 1.5", {"spring"}),
        ("x + self.offset", "x - self.offset", {"spring"}),
        ("-self.k *", "self.k *", {"spring"}),
        ("Spring(3.0)", "Spring(4.0)", {"spring"}),
        ("jnp.sin(x)", "jnp.cos(x)", {"closed"}),
    ],
)
def test_identities_depend_on_all_that_affects_the_program_and_nothing_else(old, tmp_path, before, after, changed):
    new = names(user(tmp_path, MODULE.replace(before, after)))
    assert before in MODULE and None not in old.values()
    assert {name for name in FUNCTIONS if old[name] != new[name]} == changed


@pytest.mark.slow
@pytest.mark.usefixtures("without_bytecode")
def test_only_the_used_parts_of_a_module_matter(tmp_path):
    old = names(user(tmp_path))
    other, used = (
        names(user(tmp_path, law=LAW.replace(*change))) for change in (("return x\n", "pass\n"), ("0.5", "0.6"))
    )
    assert old == other
    assert {name for name in FUNCTIONS if old[name] != used[name]} == {"by_module", "late"}
    for name in ("looks_up", "hands_on"):  # all of it may be used
        laws = (LAW, LAW.replace("0.5", "0.6"), LAW.replace("return x\n", "pass\n"))
        assert len({identity_of(getattr(user(tmp_path, law=law), name)) for law in laws} - {None}) == 3


def test_values_in_closures_and_attributes_matter(tmp_path):
    module = user(tmp_path)
    assert identity_of(module.closed(2.0)) == identity_of(module.closed(2.0)) != identity_of(module.closed(2.5))
    assert identity_of(module.closed(X)) == identity_of(module.closed(X + 0.0)) != identity_of(module.closed(X + 1e-15))
    assert identity_of(functools.partial(module.helper, power=2)) != identity_of(
        functools.partial(module.helper, power=3)
    )
    assert identity_of(jax.jit(module.closed(2.0))) != identity_of(jax.jit(module.closed(3.0)))
    assert identity_of(module.Spring(1.0)) == identity_of(module.Spring(1.0)) != identity_of(module.Spring(2.0))
    assert identity_of({"b": 1, "a": 2}) != identity_of({"b": 1, "a": 3}) and identity_of({1, 2}) == identity_of(
        {2, 1}
    ) != identity_of({1, 3})
    assert len({identity_of(x) for x in (0.0, -0.0, 0, False, None, "0", (0.0,), [0.0])}) == 8
    module.helper = module.closed(1.0)  # what runs matters, not the file
    assert identity_of(module.vector_field) != identity_of(user(tmp_path).vector_field)


class Joined:
    """A body with those that it is joined to."""

    def __init__(self, mass):
        self.mass, self.others = mass, set()


def containing_itself(kind, x):
    """A value with a number in it that leads back to itself."""
    if kind == "list":
        found = [x]
        found.append(found)
    elif kind == "dict":
        found = {"x": x}
        found["self"] = (found, [found])
    else:
        found, other = Joined(x), Joined(2.0)
        found.others, other.others = {other}, {found}
    return found


ENCLOSED = {"list": lambda x: [x], "dict": lambda x: {"x": x}, "tuple": lambda x: (x,), "object": Joined}


def deep(kind, x):
    """A value in ten thousand others."""
    for _ in range(10_000):
        x = ENCLOSED[kind](x)
    return x


@pytest.mark.parametrize("kind", ["list", "dict"])
def test_values_that_contain_themselves_have_an_identity(kind):
    one, again, other = (containing_itself(kind, x) for x in (1.0, 1.0, 2.0))
    for own in (False, True):
        assert len({identity_of(lambda: one, own=own), identity_of(lambda: other, own=own)} - {None}) == 2
    assert identity_of(one) == identity_of(again) != identity_of([1.0, one])
    assert identity_of([one, one]) != identity_of([one, again])  # (what changes one, changes both)


def test_sets_in_their_own_elements_have_no_identity():
    one, other = containing_itself("set", 1.0), containing_itself("set", 2.0)
    assert identity_of(one) is None and identity_of(lambda: one) is None
    assert None not in (identity_of(one, own=True), identity_of(lambda: one, own=True))
    assert identity_of(one, own=True) != identity_of(other, own=True)  # by everything else


@pytest.mark.slow
@pytest.mark.parametrize("kind", ENCLOSED)
def test_values_may_be_deep(kind):
    whole = [deep(kind, x) for x in (1.0, 1.0, 2.0)]
    one, again, other = map(identity_of, whole)
    assert None not in (one, again, other) and one == again != other


@pytest.mark.parametrize("kind", [object, eqx.Module])  # (the second names the library of its metaclass as its module)
def test_classes_made_at_run_time_are_identified_by_their_members(kind):
    made = [type("Law", (kind,), {"force": force}) for force in (lambda self, x: 2.0 * x, lambda self, x: 3.0 * x)]
    assert identity_of(made[0]) != identity_of(made[1]) and None not in map(identity_of, made)


@pytest.mark.slow
@pytest.mark.parametrize("name", UNUSUAL)
def test_a_number_matters_wherever_it_is(name):
    (one, other, again), own = (
        [identity_of(unusual(name, k), own=own) for k in (2.0, 3.0, 2.0)] for own in (False, True)
    )
    assert one == again != other and own[0] == own[2] != own[1] and None not in own


def test_a_function_that_numpy_hides_has_no_identity():
    hidden = np.frompyfunc(lambda x: 2.0 * x, 1, 1)
    assert identity_of(hidden) is None and identity_of(lambda x: np.sin(x) * special.gamma(x)) is not None


@pytest.mark.parametrize("name", ["reads", "clock", "chance", "remembers", "uses_up", "today"])
def test_functions_that_depend_on_something_else_have_no_identity(tmp_path, name):
    assert identity_of(getattr(user(tmp_path), name)) is None


@pytest.mark.parametrize("name", ["reads", "clock", "remembers", "chance", "uses_up"])
def test_within_a_process_their_identity_is_everything_else(tmp_path, name):
    module = user(tmp_path, MODULE.replace("return x * ", "return FACTOR * x * "))
    function = getattr(module, name)
    before = identity_of(function, own=True)
    assert before is not None and before == identity_of(function, own=True)
    module.FACTOR = 3.0
    assert identity_of(function, own=True) not in (None, before)


def test_locks_keys_and_traced_values_have_no_identity():
    lock, key = threading.Lock(), jax.random.key(0)
    assert identity_of(lambda x: (x, lock)) is None and identity_of(lambda x: (x, key)) is None
    found = []
    jax.make_jaxpr(lambda x: [found.append(identity_of(lambda: x)), x][1])(1.0)
    assert found == [None]  # (a traced value)


def test_shapes_of_arguments_and_settings_matter():
    shape = jax.ShapeDtypeStruct((3,), float)
    assert (
        identity_of(shape)
        == identity_of(jax.ShapeDtypeStruct((3,), float))
        != identity_of(jax.ShapeDtypeStruct((4,), float))
    )
    before = identity_of(shape)
    with jax.default_matmul_precision("highest"):
        assert identity_of(shape) != before
    with jax.enable_x64(False):
        assert identity_of(shape) != before
    assert identity_of(shape) == before


def test_libraries_and_installed_distributions_matter(monkeypatch):
    before = identity_of(jnp.sin), identity_of(X)
    monkeypatch.setattr(identity, "scanned", lambda library: f"{library} 99")
    assert identity_of(jnp.sin) != before[0] and identity_of(X) != before[1]
    monkeypatch.setattr(libraries, "installed", lambda path: ("another one",))
    assert identity_of(X) != before[1]


def test_looking_for_libraries_does_not_matter(tmp_path, monkeypatch):
    (tmp_path / "lib-1.0.dist-info").mkdir()
    (tmp_path / "lib-1.0.dist-info" / "RECORD").write_text("lib.py,,\n")
    with opened() as files:
        monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
        assert libraries.is_installed(str(tmp_path / "lib.py"))
    assert not files


def bungee(model):
    return lambda x: model.vector_field(x, model.initial_state())


def changed(monkeypatch, what, to):
    """Whether the identity of a model's equations is another one where something is replaced."""
    before = identity_of(bungee(Bungee()))
    with monkeypatch.context() as patch:
        patch.setattr(what, to)
        after = identity_of(bungee(Bungee()))
    assert before is not None and after is not None and identity_of(bungee(Bungee())) == before
    return before != after


@pytest.mark.slow
def test_replaced_parts_of_this_package_or_of_libraries_matter(monkeypatch):
    assert changed(monkeypatch, "jaxgait.models.bungee.model.Bungee.outputs", lambda self, t, y: {})
    assert changed(monkeypatch, "jaxgait.mechanics.contact.UnilateralSpring.force", lambda self, *args: 0.0)
    assert changed(monkeypatch, "diffrax._integrate.loop", lambda **options: None)
    assert changed(monkeypatch, "diffrax.Tsit5.order", lambda self, terms: 3)
    assert changed(monkeypatch, "jaxgait.native.code.MAX_IN_REGISTERS", 65)
    assert changed(monkeypatch, "jaxgait.native.looping.read_loop", lambda *args: None)
    assert not changed(monkeypatch, "jaxgait.native.calls._known", {"kernel": "on disk"})
    with monkeypatch.context() as patch:
        before = identity_of(X)
        patch.setitem(arrays.RULES, "new", lambda *args: None)
        assert identity_of(X) not in (before, None)


def test_types_shapes_and_laws_of_models_matter():
    numbers = (70.0, jnp.float64(70.0), jnp.float32(70.0), np.float64(70.0))
    models = [*(Bungee(mass=x) for x in numbers), Bungee(rope=UnilateralSpring()), Bungee(rope=KelvinVoigt())]
    assert len({identity_of(bungee(model)) for model in models} - {None}) == 6
    masses = [jnp.zeros(shape) for shape in ((), (3,))]
    assert (
        len({identity_of(jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), m)) for m in masses} - {None})
        == 2
    )


@pytest.mark.slow
def test_models_have_an_identity_after_a_run():
    """Without one, every process traces its programs again: `jaxgait run knee` took 6 s instead of 3.

    In a process of its own: what checks types in tests stands before what is declared of a method.
    """
    code = (
        "from jaxgait import Prosthesis, registry, simulate; from jaxgait.native.identity import identity;"
        "simulate(Prosthesis(), strides=1, samples=4);"
        "print([name for name in registry.own_models() if identity(registry.model(name)) is None])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_what_draws_a_model_does_not_matter():
    made = [type("Jump", (Bungee,), {"scene": scene} if scene else {}) for scene in ("", "a:b", lambda model, run: 1.0)]
    assert len({identity_of(kind) for kind in made}) == 1 and identity_of(made[0]) is not None


def test_named_tuples_have_an_identity(tmp_path):
    """As most states are: programs of a user's own models were traced by every process."""
    text = "from typing import NamedTuple\nclass Pair(NamedTuple):\n    x: float\ndef first(x):\n    return Pair(x).x\n"
    assert identity_of(user(tmp_path, text).first) is not None


def test_a_file_of_this_package_that_changed_after_the_import_has_no_identity(monkeypatch):
    monkeypatch.setattr(dependencies, "_IMPORTED", 0)
    dependencies._package.cache_clear()
    assert identity_of(X) is None
    dependencies._package.cache_clear()


def test_a_library_that_changed_after_the_import_has_no_identity(monkeypatch):
    """After an update in a running notebook, what was traced with the old one was stored for the new one."""
    monkeypatch.setattr(identity, "scanned", dependencies.scanned.__wrapped__)
    assert identity_of(jnp.sin) is not None
    monkeypatch.setattr(dependencies, "_package", str)
    monkeypatch.setattr(dependencies, "_IMPORTED", 0)
    assert identity_of(jnp.sin) is None and identity_of(X) is None


FACTOR = 2.0


@jax.jit
def scaled(x):
    return FACTOR * x


def body(carry, _):
    return FACTOR * carry, None


@pytest.mark.parametrize("inner", [scaled, lambda x: jax.lax.scan(body, x, length=3)[0]])
def test_traces_are_new_after_a_change(cache, monkeypatch, inner):
    """JAX remembers what functions were: under another identity that would be wrong, in other processes, too."""
    function = lambda x: tower(0.1 * inner(x))
    before = compiled(function, X)(X)
    monkeypatch.setattr(sys.modules[__name__], "FACTOR", 3.0)
    ratio = inner(jnp.ones(())) * 0 + (1.5 if inner is scaled else 1.5**3)
    function_after = compiled(function, X)(X)
    np.testing.assert_allclose(function_after, tower(ratio * 0.1 * before_inner(X, inner)), rtol=1e-12)
    assert recalled(function, X) is not None
    monkeypatch.undo()
    np.testing.assert_array_equal(compiled(function, X)(X), before)


def before_inner(x, inner):
    return (2.0 if inner is scaled else 8.0) * x


def test_functions_with_side_effects_are_traced_each_time(cache):
    seen = []
    function = lambda x: tower(0.3 * x) + 0.0 * len([seen.append(1)])
    for count in (1, 2):
        compiled(function, X)
        assert len(seen) == count and recalled(function, X) is None


def noted(x, seen=[]):  # noqa: B006 (a state that stays)
    seen.append(1)
    return tower(0.3 * x)


def precise(x):
    jax.config.update("jax_default_matmul_precision", "highest")
    return tower(0.3 * x)


def patching(x, sinc=jnp.sinc):
    jnp.sinc = lambda x: 2.0 * sinc(x)
    return tower(0.3 * x)


@pytest.mark.parametrize(
    ("function", "undo"),
    [
        (noted, noted.__defaults__[0].clear),
        (precise, lambda: jax.config.update("jax_default_matmul_precision", None)),
        (patching, lambda: setattr(jnp, "sinc", patching.__defaults__[0])),
    ],
    ids=["its own state", "a setting", "a library"],
)
def test_what_a_function_changes_while_it_is_traced_is_changed_in_every_process(cache, function, undo):
    compiled(function, X)
    undo()  # as in a new process
    assert recalled(function, X) is None


class Counting(eqx.Module):
    def __call__(self, x, seen=[]):  # noqa: B006 (a state that stays)
        seen.append(1)
        return len(seen) * tower(0.3 * x)


def test_what_an_argument_changes_while_it_is_traced_is_changed_in_every_process(cache):
    call = lambda law, x: law(x)
    compiled(call, Counting(), X)
    Counting.__call__.__defaults__[0].clear()  # as in a new process
    assert recalled(call, Counting(), X) is None


def test_files_that_are_read_meanwhile_are_listed(tmp_path):
    (tmp_path / "table.csv").write_text("1.0")
    with opened() as files:
        np.loadtxt(tmp_path / "table.csv")
        importlib.util.find_spec("jaxgait.native")
    assert files == [str(tmp_path / "table.csv")]


def test_files_that_an_import_reads_do_not_matter(tmp_path, monkeypatch):
    """Python lists new folders of its path and writes bytecode; NumPy lists all of them to find its version."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.syspath_prepend(tmp_path)
    library = tmp_path / "site-packages"
    library.mkdir()
    (library / "library_of_this_test.py").write_text("from importlib import metadata\nmetadata.version('numpy')")
    (tmp_path / "own_of_this_test.py").write_text("import os\nos.listdir('/')")
    with opened() as files:
        monkeypatch.syspath_prepend(library)
        importlib.import_module("library_of_this_test")
    assert not files
    with opened() as files:
        importlib.import_module("own_of_this_test")
    assert files == ["/"]


def test_the_lines_of_a_traceback_do_not_matter(tmp_path):
    """Equinox formats errors while it traces; installed commands and other scripts need not end in .py."""
    script = tmp_path / "command"
    script.write_text(
        "import traceback\ntry:\n    1 / 0\nexcept ZeroDivisionError as e:\n    text = traceback.format_exc()"
    )
    found = {}
    with opened() as files:
        exec(compile(script.read_text(), str(script), "exec"), found)
    assert "    1 / 0" in found["text"]
    assert files == [str(script)]  # read here


RUN = """
import json, sys
import jax.numpy as jnp
sys.path.insert(0, sys.argv[1])
import user_there
from jaxgait.native import stored
made = []
before = stored._traced
stored._traced = lambda *args, **options: made.append(1) or before(*args, **options)
x = jnp.linspace(0.1, 2.0, 16)
results = [stored.compiled(f, x)(x).tolist() for f in (user_there.vector_field, user_there.spring, user_there.late)]
print(json.dumps([len(made), results]))
"""


@pytest.mark.slow
def test_a_second_process_traces_only_what_has_changed(tmp_path):
    env = {**os.environ, "JAXGAIT_CACHE": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(text, law=LAW):
        (tmp_path / "user_there.py").write_text(text.format(name="user_there"))
        (tmp_path / "user_there_law.py").write_text(law)
        done = subprocess.run(
            [sys.executable, "-c", RUN, tmp_path], capture_output=True, text=True, env=env, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    first = run(MODULE)
    changed = run(MODULE.replace("offset = 1.0", "offset = 2.0"), LAW.replace("0.5", "0.25"))
    assert (first[0], changed[0]) == (3, 2) and changed[1][0] == first[1][0]
    np.testing.assert_allclose(changed[1][1], np.array(first[1][1]) - 3.0, rtol=1e-6)
    np.testing.assert_allclose(changed[1][2], np.array(first[1][2]) / 2.0, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="makes symbolic links")
def test_libraries_in_a_folder_of_any_name_are_stored_and_found(tmp_path):
    """As after `pip install --target`: nothing had an identity, and every process traced and compiled again."""
    site, own = tmp_path / "site", tmp_path / "own"
    venv.create(tmp_path / "bare", symlinks=True)
    site.mkdir()
    own.mkdir()
    user(own, name="user_there")
    for folder in dict.fromkeys(p for p in sys.path if os.path.basename(p) == "site-packages" and os.path.isdir(p)):
        for entry in os.scandir(folder):
            if not (site / entry.name).exists():
                (site / entry.name).symlink_to(entry.path)
    folders = [str(site), str(pathlib.Path(dependencies.__file__).parents[2])]
    env = {**os.environ, "JAXGAIT_CACHE": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(folders)}
    command = [tmp_path / "bare" / "bin" / "python", "-c", RUN, own]
    counts = []
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, env=env, check=False)
        assert done.returncode == 0, done.stderr
        counts.append(json.loads(done.stdout)[0])
    assert counts == [3, 0]


DAMAGES = {
    "cut": lambda whole: whole[:-7],
    "changed": lambda whole: whole[:40] + bytes([whole[40] ^ 1]) + whole[41:],
    "empty": lambda whole: b"",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "damage"), [("index", "cut"), ("program", "changed"), ("kernel", "empty"), ("program", "gone")]
)
@pytest.mark.filterwarnings("ignore:jaxgait compiles a program again")
def test_a_damaged_file_is_traced_or_compiled_again(cache, kind, damage, monkeypatch):
    factor = 2.0 + hash((kind, damage)) / 2**70  # a kernel of its own, compiled for this folder
    function = lambda x: tower(factor * x)
    expected = np.asarray(compiled(function, X)(X))
    (path,) = cache.glob(f"{kind}-*")
    path.write_bytes(DAMAGES.get(damage, bytes)(path.read_bytes()))
    if damage == "gone":
        path.unlink()
    monkeypatch.setattr(calls, "_known", {})  # as in another process
    assert recalled(function, X) is None
    np.testing.assert_array_equal(compiled(function, X)(X), expected)
    monkeypatch.setattr(calls, "_known", {})
    assert recalled(function, X) is not None


def test_machine_code_is_stored_in_each_folder_that_programs_are(tmp_path, monkeypatch):
    for name in ("first", "second"):
        monkeypatch.setenv("JAXGAIT_CACHE", str(tmp_path / name))
        compiled(tower, X)
        assert len([*(tmp_path / name).glob("kernel-*")]) == 1 and recalled(tower, X) is not None


@pytest.mark.filterwarnings("ignore:jaxgait compiles a program again")
def test_an_undamaged_file_with_other_content_is_traced_again(cache):
    expected = np.asarray(compiled(tower, X)(X))
    for kind in ("index", "program"):
        (path,) = cache.glob(f"{kind}-*")
        disk.store(path.name, b"whole, but something else")
        assert recalled(tower, X) is None
        np.testing.assert_array_equal(compiled(tower, X)(X), expected)
        assert recalled(tower, X) is not None


def test_other_versions_and_processors_miss(cache, monkeypatch):
    compiled(tower, X)
    assert recalled(tower, X) is not None
    for target, name in (("importlib.metadata.version", "99"), ("llvmlite.binding.get_host_cpu_name", "another")):
        with monkeypatch.context() as patched:
            patched.setattr(target, lambda *_, name=name: name)
            disk._origin.cache_clear()
            assert recalled(tower, X) is None
        disk._origin.cache_clear()
    assert recalled(tower, X) is not None
    assert recalled(tower, X[:8]) is None and recalled(tower, X.astype(jnp.float32)) is None


def test_a_program_that_read_a_file_is_not_recalled(cache, tmp_path):
    (tmp_path / "factor.txt").write_text("3.0")
    library = functools.partial(np.loadtxt, tmp_path / "factor.txt")
    times = lambda x: tower(x) * float(library())
    found = compiled(times, X)(X)
    np.testing.assert_allclose(found, 3.0 * tower(X), rtol=1e-12)
    assert recalled(times, X) is None and list(cache.glob("program-*")) and not list(cache.glob("index-*"))


def test_programs_from_the_cache_of_jax_are_stored_with_their_code(cache, tmp_path):
    """A program that JAX loads from its cache lacks its code when it is serialised."""
    before = jax.config.jax_compilation_cache_dir, jax.config.jax_persistent_cache_min_compile_time_secs
    factor = time.time_ns() / 2**62  # that JAX has not seen before: its folder is chosen once for a process
    function = lambda x: jnp.sort(tower(factor * x))
    try:
        jax.config.update("jax_compilation_cache_dir", str(tmp_path / "jax"))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
        expected = np.asarray(compiled(function, X)(X))
        stored = {path.name.partition("-")[0]: path for path in cache.iterdir()}
        size = stored["program"].stat().st_size
        for path in cache.iterdir():
            path.unlink()
        compiled(function, X)
        (again,) = cache.glob("program-*")
        assert again.stat().st_size > 0.9 * size
        found = recalled(function, X)
        np.testing.assert_array_equal(found.compile()(X), expected)
    finally:
        jax.config.update("jax_compilation_cache_dir", before[0])
        jax.config.update("jax_persistent_cache_min_compile_time_secs", before[1])


class Line:
    """A line whose slope is the attribute set first."""

    def __init__(self, **coefficients):
        self.__dict__.update(coefficients)

    def __call__(self, x):
        slope, offset = self.__dict__.values()
        return slope * x + offset


def test_the_order_of_attributes_matters_in_own_classes():
    assert identity_of(Line(a=1.0, b=2.0)) == identity_of(Line(a=1.0, b=2.0)) is not None
    assert identity_of(Line(a=1.0, b=2.0)) != identity_of(Line(b=2.0, a=1.0))


def test_the_order_of_attributes_does_not_matter_in_classes_of_libraries():
    """Equinox 0.13.0 copies a function's attributes from a set: in another order in each process."""
    one, other = Bungee().vector_field, Bungee().vector_field
    state = dict(reversed(vars(other).items()))
    vars(other).clear()
    vars(other).update(state)
    assert list(vars(one)) != list(vars(other)) and identity_of(one) == identity_of(other) is not None


def test_functions_that_are_put_into_libraries_are_found_until_they_are_gone(monkeypatch):
    before = dict(foreign())
    for owner, name in ((optax, "own_function"), (optax.GradientTransformation, "own_method"), (optax, "adam")):
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, tower, raising=False)
            assert tower in [function for where, function in foreign() if where.endswith(f".{name}")]
        assert dict(foreign()) == before


def test_what_libraries_hold_is_looked_into_once(monkeypatch):
    before = list(foreign())
    monkeypatch.setattr(dependencies, "_is_foreign", None)
    assert list(foreign()) == before


def test_other_classes_of_the_process_do_not_matter():
    before = identity_of(Bungee())
    names: dict = {"Bungee": Bungee, "state": open}
    exec("class Unknown(Bungee):\n    def outputs(self, t, y): return {'x': state('x')}", names)
    assert names["Unknown"]().mass == Bungee().mass
    assert identity_of(Bungee()) == before is not None


def test_modules_that_keep_programs_exist():
    assert all(importlib.util.find_spec(name) for name in identity.CACHE_MODULES)
