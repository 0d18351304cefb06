"""float64 unless asked: every public callable, whatever JAX's own setting."""

import functools
import importlib
import inspect
import os
import pathlib
import pickle
import pkgutil
import subprocess
import sys
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxgait
from jaxgait import ensemble, precision, simulate
from jaxgait.mechanics import fourbar
from jaxgait.model import Model, Numerics, parameter
from jaxgait.models.bungee.model import Bungee
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.parameters import with_parameters
from jaxgait.precision import float64_default
from jaxgait.solve.time_stepping import march

ALONE = {
    "jaxgait.analysis.equations.alone": "keeps the precision of the analysis that calls it",
    "jaxgait.analysis.equations.typical_sizes": "sizes in NumPy",
    "jaxgait.analysis.sensitivity": "NumPy, on ensembles that take a precision",
    "jaxgait.cli.parsing": "reads text",
    "jaxgait.calibration": "always computes in float64",
    "jaxgait.support.checks": "checks",
    "jaxgait.definition": "checks",
    "jaxgait.contents": "reads and makes models, computes nothing",
    "jaxgait.cli.running": "take --precision",
    "jaxgait.cli": "takes --precision",
    "jaxgait.ensembles": "takes a precision and passes it on to its parts",
    "jaxgait.mechanics.spatial.plane.is_planar": "asks for shapes",
    "jaxgait.models.exoskeleton.continuity.warn_of_jumps": "warns",
    "jaxgait.mechanics.spatial.tree.check_lengths": "counts",
    "jaxgait.mechanics.spatial.tree.of_planar_tree": "asks for types",
    "jaxgait.mechanics.spatial.tree.plus": "sums what others compute",
    "jaxgait.support.libraries": "reads names of files",
    "jaxgait.support.unpickled": "types",
    "jaxgait.measure": "reads runs by functions that are decorated",
    "jaxgait.cli.records": "reads results",
    "jaxgait.registry": "names",
    "jaxgait.elements": "names and values as they are",
    "jaxgait.fields": "types",
    "jaxgait.plausible": "checks numbers in NumPy",
    "jaxgait.parameters": "declares and checks numbers in NumPy",
    "jaxgait.models.exoskeleton.symbolic": "SymPy",
    "jaxgait.models.exoskeleton.tree.check_topology": "whole numbers",
    "jaxgait.models.exoskeleton.tree.children": "whole numbers",
    "jaxgait.models.exoskeleton.tree.descendants": "whole numbers",
    "jaxgait.models.exoskeleton.tree.subtrees": "whole numbers",
    "jaxgait.native": "keeps the precision of the user's program",
    "jaxgait.optimization": "always computes in float64",
    "jaxgait.models.creeper.design": "searches in float64",
    "jaxgait.models.exoskeleton.design.least_work": "searches in float64",
    "jaxgait.models.exoskeleton.measures.figures_of": "reads a run",
    "jaxgait.models.exoskeleton.measures.histories": "takes a precision",
    "jaxgait.models.jumper.design": "searches in float64",
    "jaxgait.models.prosthesis.leg": "sums what the leg computes",
    "jaxgait.models.walker.design": "searches in float64",
    "jaxgait.plot": "pictures",
    "jaxgait.models.tree.checks": "checks numbers in NumPy",
    "jaxgait.models.tree.inputs": "takes what it is given",
    "jaxgait.models.tree.parts.takes": "signatures only",
    "jaxgait.models.tree.naming": "names",
    "jaxgait.support.notes": "text",
    "jaxgait.support.forking": "checks the process",
    "jaxgait.outcome": "text",
    "jaxgait.kinds": "protocols",
    "jaxgait.support.commits": "names a version",
    "jaxgait.support.machine": "reads numbers of the system",
    "jaxgait.solve.schemes": "chooses",
    "jaxgait.solve.checks": "checks",
    "jaxgait.solve.forcing": "checks",
    "jaxgait.solve.guards": "checks of a run",
    "jaxgait.solve.names": "checks",
    "jaxgait.solve.tracing": "checks",
    "jaxgait.solve.derivatives": "identities",
    **{f"jaxgait.solve.samples.{x}": "parts of schemes" for x in ("snapshot", "at_first", "including_step")},
    **{f"jaxgait.solve.fixed.{x}": "parts of schemes, which are decorated" for x in ("Grid", "Progress", "division")},
    "jaxgait.solve.steps": "parts of schemes, which are decorated",
    **{f"jaxgait.models.{m}.pictures": "pictures" for m in ("exoskeleton", "jumper", "prosthesis", "walker")},
    "jaxgait.precision": "itself",
    "jaxgait.report": "text",
    "jaxgait.roots.Bracket": "keeps the precision of its numbers",
    "jaxgait.roots.Newton": "optimistix calls it inside a solve",
    "jaxgait.roots.by_secants": "keeps the precision of its numbers",
    "jaxgait.roots.improved": "keeps the precision of its arrays",
    "jaxgait.roots.many": "computes in NumPy",
    "jaxgait.roots.solved": "keeps the precision of its arrays",
    "jaxgait.run.usual_duration": "reads a number",
    "jaxgait.scheme.with_numbers": "moves numbers, computes none",
    "jaxgait.scheme.without_numbers": "takes the precision in force",
    "jaxgait.solve.dataset": "labels",
    "jaxgait.solve.dense": "diffrax calls it inside a solve",
    "jaxgait.solve.explicit": "diffrax calls it inside a solve",
    "jaxgait.solve.return_failures.step_of": "returns a function, which is decorated",
    "jaxgait.solve.periodic.search_rule": "keeps the precision of the search that calls it",
    "jaxgait.solve.periodic.iterated": "returns a function, which is decorated",
    "jaxgait.solve.time_resolution": "diffrax calls it inside a solve",
    "jaxgait.solve.rosenbrock": "diffrax calls it inside a solve",
    "jaxgait.solve.simulate.simulate": "takes a precision",
    "jaxgait.solve.tableaus": "constants",
    **{f"jaxgait.states.{x}": "names" for x in ("component_labelled", "described_component", "growth")},
    "jaxgait.states.blank": "keeps the precision of its numbers",
    "jaxgait.states.out_of_bounds": "compares numbers in NumPy",
    "jaxgait.solve.verner": "diffrax calls it inside a solve",
    "jaxgait.solve.step_monitor": "diffrax calls it inside a solve",
}
"""Public names, and all below them, that are not decorated, and why."""

EXCEPT = {
    "jaxgait.solve.step_monitor.located",
    "jaxgait.ensembles.samples.cloud",
    "jaxgait.ensembles.walks.people",
    "jaxgait.ensembles.walks.single_strides",
    "jaxgait.measure.last",
    "jaxgait.models.prosthesis.pictures.spectra",
    "jaxgait.plot.strides.order",
}
"""Decorated all the same."""


def public(name):
    return not any(part.startswith("_") for part in name.split("."))


def modules():
    names = [m.name for m in pkgutil.walk_packages(jaxgait.__path__, "jaxgait.") if public(m.name)]
    return {name: importlib.import_module(name) for name in names}


def functions_of(cls, name):
    """Public functions, methods and properties of a class and its bases in the package; those of `fields` check."""
    for base in (b for b in cls.__mro__ if b.__module__.startswith("jaxgait") and b.__module__ != "jaxgait.fields"):
        fields = inspect.get_annotations(base)
        for key, member in vars(base).items():
            found = inspect.getattr_static(cls, key)  # a number where a base has a property
            function = all(
                isinstance(f, property | staticmethod | classmethod) or inspect.isroutine(f) for f in (member, found)
            )
            if function and key not in fields and (key == "__call__" or not key.startswith("_")):
                yield f"{name}.{key}", found


def callables():
    """Name and object of every public function, method and property of the modules that use JAX."""
    for name, module in modules().items():
        if not {"jax", "jnp"} & set(vars(module)):
            continue  # NumPy, text, and sums of what others compute
        for key, member in vars(module).items():
            if not public(key) or getattr(member, "__module__", None) != name or getattr(member, "_is_protocol", False):
                continue
            if inspect.isclass(member):
                yield from functions_of(member, f"{name}.{key}")
            elif callable(member):
                yield f"{name}.{key}", member


def is_float64_default(member):
    function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
    return getattr(function, "__float64_default__", False)


def stands_alone(name):
    return any(name == prefix or name.startswith(prefix + ".") for prefix in ALONE) and name not in EXCEPT


def test_every_public_callable_is_decorated_or_listed_with_a_reason():
    found = dict(callables())
    assert len(found) > 500  # the walk has not gone blind
    assert not [n for n, member in found.items() if not stands_alone(n) and not is_float64_default(member)]
    assert not [n for n, member in found.items() if stands_alone(n) and is_float64_default(member)]
    assert not [
        a for a in ALONE if not any(n == a or n.startswith(a + ".") for n in [*found, *modules()])
    ]  # no entry is stale


# --- a plain call in a fresh Python ---------------------------------------------------------------------------------


def values(setting, table, path):
    """Runs a table of calls in a fresh Python, with JAX's default setting or with x64 on, and reads its results."""
    environment = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", **os.environ, "JAX_ENABLE_X64": setting}
    environment["JAX_COMPILATION_CACHE_DIR"] = jax.config.jax_compilation_cache_dir
    command = [sys.executable, "-m", "tests.plain_calls", str(path), table]
    subprocess.run(command, check=True, env=environment, cwd=pathlib.Path(__file__).parents[1])
    return dict(np.load(path))


@pytest.mark.parametrize("table", ["quick", pytest.param("slow", marks=pytest.mark.slow)])
def test_plain_calls_give_the_same_digits_whatever_jax_setting(table, tmp_path):
    default, wide = values("0", table, tmp_path / "default.npz"), values("1", table, tmp_path / "wide.npz")
    assert set(default) == set(wide) and len(default) > 40
    for name, x in default.items():
        assert x.dtype != np.float32, name
        np.testing.assert_array_equal(x, wide[name], err_msg=name)


# --- what the surroundings ask for ----------------------------------------------------------------------------------


@pytest.fixture
def jax_default():
    with jax.enable_x64(False):
        yield


KNEE = Prosthesis()


@pytest.mark.usefixtures("jax_default")
def test_a_block_of_use_is_followed():
    with precision.use("float32"):
        assert KNEE.initial_state().theta_b.dtype == jnp.float32
        assert fourbar.psi_at(KNEE.linkage.bars, 0.5).dtype == jnp.float32
    assert fourbar.psi_at(KNEE.linkage.bars, 0.5).dtype == jnp.float64
    assert not jax.config.jax_enable_x64


@pytest.mark.parametrize("order", [("float32", "float64"), ("float64", "float32")])
def test_a_table_of_numpy_has_the_precision_of_each_trace(order):
    """JAX took that of the first one, as long as its program lived: the next did not compile, or lost digits."""
    table, alive = np.linspace(0.0, 0.7, 5), []
    for kind in order:
        with precision.use(kind):
            alive.append(jax.jit(lambda x: x * jnp.sin(table)))
            found, exact = alive[-1](1.0), np.sin(table)
        assert found.dtype == kind
        np.testing.assert_allclose(found, exact, rtol=4 * np.finfo(kind).eps)


def test_a_search_for_nan_does_not_stop_runs():
    """They mark with it what is not there, such as events up to their largest number."""
    with jax.debug_nans(True):
        assert simulate(Bungee(), duration=1.0).attrs["status_text"] == "completed"
        assert jax.config.jax_debug_nans


@pytest.mark.usefixtures("jax_default")
@pytest.mark.parametrize(
    "transformed",
    [
        lambda f: jax.jit(f)(0.5),
        lambda f: jax.vmap(f)(jnp.ones(2)),
        lambda f: jax.grad(f)(0.5),
        lambda f: jax.eval_shape(f, 0.5),
        lambda f: jax.lax.map(f, jnp.ones(2)),
    ],
    ids=["jit", "vmap", "grad", "eval_shape", "map"],
)
def test_a_transformation_is_followed(transformed):
    assert transformed(functools.partial(fourbar.psi_at, KNEE.linkage.bars)).dtype == jnp.float32


@pytest.mark.parametrize("wide", [False, True], ids=["default", "x64"])
def test_arrays_of_float32_are_widened_and_dicts_keep_their_order(wide):
    @float64_default
    def seen(tree):
        return [(key, getattr(x, "dtype", type(x))) for key, x in tree.items()]

    with jax.enable_x64(wide):
        given = {"b": jnp.ones(2, np.float32), "a": np.ones(2, np.float32), 3: 0.5, "n": jnp.arange(2, dtype=np.int32)}
        f64 = np.dtype("float64")
        assert seen(given) == [("b", f64), ("a", f64), (3, float), ("n", np.dtype("int32"))]


@pytest.mark.usefixtures("jax_default")
def test_a_model_of_the_users_own_is_decorated_too():
    class Spring(Model):
        stiffness: float = parameter(2.0, unit="N/m", doc="stiffness")
        variables: ClassVar = {}
        numerics: ClassVar = Numerics(stiff=False)

        @property
        def duration(self):
            return jnp.asarray(1.0)

        def initial_state(self):
            return jnp.ones(2)

        def vector_field(self, t, y):
            return -self.stiffness * y

        def outputs(self, t, y):
            return {}

    spring = Spring()
    assert spring.initial_state().dtype == spring.duration.dtype == jnp.float64
    assert spring(0.0, jnp.float32([1, 2])).dtype == jnp.float64


def test_a_decorated_function_keeps_its_signature_and_type():
    assert pickle.loads(pickle.dumps(march)) is march
    assert list(inspect.signature(march).parameters)[:2] == ["model", "dt"]
    assert march.__module__ == "jaxgait.solve.time_stepping" and "summary per block" in (march.__doc__ or "")
    bound = Bungee().vector_field
    again = pickle.loads(pickle.dumps(bound))
    assert again(0.0, Bungee().initial_state()) == bound(0.0, Bungee().initial_state())
    assert hash(Bungee.vector_field) == hash(type(Bungee()).vector_field)


class Part(eqx.Module):
    length: float = parameter(1.0, unit="m", doc="a length")
    masses: tuple[float, ...] = parameter((1.0, 2.0), unit="kg", doc="masses")
    links: int = parameter(4, unit="1", doc="a declared integer")
    stiffness: float = parameter(8, unit="N/m", doc="a number whose default has no decimal point")
    perhaps: int | None = parameter(5, unit="1", doc="a declared integer, or none")
    count: int = 3


class Whole(eqx.Module):
    parts: tuple[Part, ...]
    named: dict[str, Part]
    table: np.ndarray = parameter(np.arange(3), unit="1", doc="a table")


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_declared_parameters_are_real_numbers_and_counts_stay_counts(dtype):
    part = Part(length=2, masses=(1, np.int64(2)))
    with precision.use(dtype):
        cast = precision.cast(Whole((part,), {"a": part}, np.arange(3)))
    for found in (cast.parts[0], cast.named["a"]):
        assert all(
            isinstance(x, jax.Array) and x.dtype == dtype for x in (found.length, *found.masses, found.stiffness)
        )
        assert (float(found.length), *map(float, found.masses)) == (2.0, 1.0, 2.0)
        assert (found.links, found.perhaps, found.count) == (4, 5, 3)
    assert cast.table.dtype == dtype


def test_undeclared_fields_are_unchanged():
    given = {"i": 3, "flag": True, "n": np.arange(2), "x": 1.5, "y": np.float32(2), "none": None}
    found = precision.cast(given)
    assert (found["i"], found["flag"], found["none"]) == (3, True, None)
    assert found["n"].dtype == np.int64 and found["x"].dtype == found["y"].dtype == jnp.float64


class Counted(Bungee):
    """A jumper who notes how often he is traced."""

    def vector_field(self, t, y):
        traced.append(type(self))  # (the model itself would be a value that is kept)
        return super().vector_field(t, y)


traced: list[type] = []


RUNS = {
    "simulate": lambda model: simulate(model, duration=1.0),
    "ensemble": lambda model: ensemble(model, {"mass": [60, 70]}, duration=1.0, trajectories=True),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_integers_for_parameters_compile_nothing_again(run):
    run(with_parameters(Counted(), {"stiffness": 20}))
    before = len(traced)  # (not cleared: programs follow what a user's own code refers to)
    found = run(with_parameters(Counted(), {"stiffness": 21}))
    expected = run(with_parameters(Counted(), {"stiffness": 21.0}))
    assert len(traced) == before > 0
    np.testing.assert_array_equal(found.x, expected.x)


SCRIPT = """
import cloudpickle, pickle, subprocess, sys
from typing import NamedTuple
import jax.numpy as jnp
from jaxgait.model import Model, Numerics, parameter

class Place(NamedTuple):
    x: float

class Mine(Model):
    rate: float = parameter(1.0, unit="1/s", doc="rate")
    variables = {}
    numerics = Numerics(stiff=False)
    duration = property(lambda self: 1.0)
    def vector_field(self, t, y): return Place(-self.rate * y.x)
    def initial_state(self): return Place(jnp.asarray(1.0))
    def outputs(self, t, y): return {}

sent = cloudpickle.dumps(Mine(rate=2.0)).hex()
read = f"import pickle; print(pickle.loads(bytes.fromhex('{sent}')).initial_state().x.dtype)"
print(subprocess.run([sys.executable, "-c", read], capture_output=True, text=True, check=True).stdout)
"""


@pytest.mark.slow
def test_a_model_of_a_script_can_go_to_another_process():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "float64", done.stderr


class Halved(Bungee):
    @functools.cached_property
    def half(self):
        return 0.5 * self.mass

    @functools.cached_property
    def _fifth(self):
        return 0.2 * self.mass


def test_a_cached_property_of_a_model_is_a_property():
    halved = Halved()
    assert halved.half == 35.0 and halved._fifth == 14.0 and with_parameters(halved, {"mass": 6.0}).half == 3.0
    assert jax.tree.structure(halved) == jax.tree.structure(Halved())
