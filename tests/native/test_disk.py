"""What is found on disk: by a second process, whole or not at all, and never what calls Python."""

import contextlib
import gc
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from warnings import catch_warnings, simplefilter

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.native import calls, compiled, disk, stored
from tests.native.programs import tower

X = jnp.linspace(0.1, 2.0, 16)


def names(folder, kind):
    return list(folder.glob(f"{kind}-*")) if folder.is_dir() else []


RUN = """
import json
import jax
settings = dict(jax.config.values)
import jaxgait
from jaxgait.models.bungee.model import Bungee
from jaxgait.native import calls, stored

def announced(what, function):
    def call(*args, **options):
        print(what)
        return function(*args, **options)
    return call

jax.stages.Lowered.compile = announced("program", jax.stages.Lowered.compile)
calls._compiled = announced("kernel", calls._compiled)
stored.opened = announced("trace", stored.opened)
run = jaxgait.simulate(Bungee(), duration=1.0)
scan = jaxgait.ensemble(Bungee(), {"mass": [60.0, 70.0]}, duration=1.0, observe=lambda run: {"lowest": run["x"].max()})
assert dict(jax.config.values) == settings
print(json.dumps([float(run.x[-1]), scan.lowest.values.tolist()]))
"""


def test_a_second_process_traces_and_compiles_nothing(cache):
    """Single operations on constants, which diffrax has computed while it is traced, are JAX's own affair."""
    env = {**os.environ, "JAXGAIT_CACHE": str(cache)}
    env.pop("JAX_COMPILATION_CACHE_DIR", None)
    outputs = []
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True, env=env, check=False)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout.splitlines())
    (*first, results), again = outputs
    assert first.count("program") == first.count("trace") == 2 and first.count("kernel") >= 2
    assert all(disk._OURS.fullmatch(path.name) for path in cache.iterdir())  # what may be deleted later
    assert again == [results]


LIBRARY = """
import scipy.linalg  # what is imported while a function is traced could be read by it
import jax.numpy as jnp
from jaxgait.native import compiled, stored
opened = stored.opened
stored.opened = lambda: print("trace") or opened()
turn = jnp.array([[0.6, -0.8], [0.8, 0.6]])
print(round(abs(complex(compiled(lambda x: jnp.linalg.eigvals(x).sum(), turn)(turn))), 6))
"""


@pytest.mark.slow
def test_a_program_from_disk_finds_the_linear_algebra_that_it_calls(cache):
    """JAX loads LAPACK where it lowers a call of it, which the second process never does."""
    env, outputs = {**os.environ, "JAXGAIT_CACHE": str(cache)}, []
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", LIBRARY], capture_output=True, text=True, env=env, check=False)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout.split())
    assert outputs == [["trace", "1.2"], ["1.2"]]


TWICE = """
import jax
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
import jax.numpy as jnp
from jaxgait.native import compiled
x = jnp.linspace(0.1, 2.0, 16)
function = lambda x: jnp.cumsum(jnp.sort(x * x)).sum()
print(float(compiled(function, x)(x)))
"""


@pytest.mark.slow
def test_a_program_from_the_cache_of_jax_is_stored_whole_or_not_at_all(tmp_path):
    """It comes without its machine code, and is compiled again by another name, once."""
    env = {**os.environ, "JAXGAIT_CACHE": str(tmp_path / "ours"), "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "jax")}
    outputs, stored = [], []
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", TWICE], capture_output=True, text=True, env=env, check=False)
        assert done.returncode == 0, done.stderr
        outputs.append(done.stdout)
        stored.append(len(names(tmp_path / "ours", "program")))
        for path in names(tmp_path / "ours", "program"):
            path.unlink()
    assert outputs[0] == outputs[1] == outputs[2]
    assert stored == [1, 1, 0]


def test_no_garbage_is_collected_while_tracing(cache):
    collecting = []

    def square(x):
        collecting.append(gc.isenabled())
        return x * x

    def fails(x):
        raise ValueError("no result")

    compiled(square, X)
    assert collecting == [False] and gc.isenabled()
    with pytest.raises(ValueError, match="no result"):
        compiled(fails, X)
    assert gc.isenabled()
    gc.disable()
    try:
        compiled(square, X[1:])
        assert not gc.isenabled()  # a user's own choice lasts
    finally:
        gc.enable()


def test_whoever_waits_is_reminded_with_and_without_a_cache(cache, monkeypatch):
    waits = []
    monkeypatch.setattr(stored, "reminding", lambda what, begun: waits.append(what) or contextlib.nullcontext())
    compiled(lambda x: x - 3.0, X)
    monkeypatch.setattr(disk, "folder", lambda: None)
    compiled(lambda x: x - 4.0, X)
    assert waits == ["still compiling"] * 4  # each traced and compiled


@pytest.mark.filterwarnings("ignore:jaxgait compiles a program again")
def test_a_damaged_file_is_compiled_again(cache):
    expected = compiled(tower, X)(X)
    (path,) = names(cache, "program")
    for damage in (lambda b: b[:-7], lambda b: b[:40] + bytes([b[40] ^ 1]) + b[41:], lambda b: b"", lambda b: b[:3]):
        whole = path.read_bytes()
        path.write_bytes(damage(whole))
        disk.warn.cache_clear()
        with pytest.warns(RuntimeWarning, match="its cache entry program-.* is unusable: it is damaged"):
            assert disk.load(path.name) is None and not path.exists()
        np.testing.assert_array_equal(compiled(tower, X)(X), expected)
        assert disk.load(path.name) is not None
    disk.store(path.name, b"whole, but no program")
    np.testing.assert_array_equal(compiled(tower, X)(X), expected)
    assert disk.load(path.name) != b"whole, but no program"


@pytest.mark.parametrize(("module", "warnings"), [("__main__", 0), ("tests.native.programs", 1)])
def test_a_class_of_another_script_is_no_reason_to_warn(cache, module, warnings):
    name = disk.key("index", module)
    disk.store(name, f"c{module}\nNoSuchState\n.".encode())  # a pickle of the class alone
    disk.warn.cache_clear()
    with catch_warnings(record=True) as caught:
        simplefilter("always")
        assert stored._recalled(name, (X,)) is None
    said = [one for one in caught if "is unusable" in str(one.message)]  # not those of other tests
    assert len(said) == warnings, [str(one.message) for one in caught]
    assert not (cache / name).exists()


@pytest.mark.parametrize("chosen", ["off", "0", "file"])
def test_without_a_folder_everything_works_and_nothing_is_promised(tmp_path, monkeypatch, chosen, caplog):
    caplog.set_level("INFO", "jaxgait")
    if chosen == "file":  # where a folder should be
        chosen = str(tmp_path / "file" / "below")
        (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("JAXGAIT_CACHE", chosen)
    np.testing.assert_allclose(compiled(lambda x: tower(x) + 3.0, X)(X), tower(X) + 3.0, rtol=1e-12)
    assert disk.load("anything") is None
    disk.store("anything", b"data")
    assert sorted(p.name for p in tmp_path.iterdir()) in ([], ["file"])
    promised = "it is not kept for later" if chosen in ("off", "0") else f"cannot be kept for later ({chosen}: "
    assert promised in caplog.text and disk.fault()


def test_the_folder_follows_jax(tmp_path, monkeypatch):
    monkeypatch.delenv("JAXGAIT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    before = jax.config.jax_compilation_cache_dir
    try:
        jax.config.update("jax_compilation_cache_dir", str(tmp_path / "jax"))
        assert disk.folder() == tmp_path / "jax" / "jaxgait"
        jax.config.update("jax_compilation_cache_dir", None)
        if sys.platform == "linux":
            assert disk.folder() == tmp_path / "own" / "jaxgait"
        for off in ("off", "None"):
            monkeypatch.setenv("JAXGAIT_CACHE", off)
            assert disk.folder() is None
    finally:
        jax.config.update("jax_compilation_cache_dir", before)


def test_writers_do_not_disturb_each_other(cache):
    data = [bytes([i]) * 200_000 for i in range(8)]

    def work(i):
        disk.store("same", data[i])
        return disk.load("same")

    with ThreadPoolExecutor(8) as pool:
        assert all(found in data for found in pool.map(work, range(8)))
    assert [path.name for path in cache.iterdir()] == ["same"]


def test_names_distinguish_texts_kinds_and_versions(monkeypatch):
    start = {disk.key("program", "a"), disk.key("program", "b"), disk.key("kernel", "a")}
    disk._origin.cache_clear()
    monkeypatch.setattr("importlib.metadata.version", lambda name: "99")
    assert len(start | {disk.key("program", "a")}) == 4
    disk._origin.cache_clear()


def test_least_recently_used_files_are_deleted_first(cache, monkeypatch):
    monkeypatch.setenv("JAXGAIT_CACHE_GB", "250e-9")
    cache.mkdir()
    mine = cache / "index-of-my-thesis"  # a folder of the user's
    mine.write_bytes(bytes(1000))
    os.utime(mine, (0, 0))
    a, b, c, d = (disk.key("kernel", text) for text in "abcd")
    for i, name in enumerate((a, b, c)):
        disk.store(name, bytes(50))
        os.utime(cache / name, (i, i))
    assert disk.load(a) is not None
    disk.store(d, bytes(50))
    assert {path.name for path in cache.iterdir()} == {a, c, d, mine.name}


@pytest.mark.parametrize("chosen", ["none", "-1", "0", "nan"])
def test_a_size_must_be_positive(cache, monkeypatch, chosen):
    monkeypatch.setenv("JAXGAIT_CACHE_GB", chosen)
    with pytest.raises(ValueError, match=f"JAXGAIT_CACHE_GB must be a positive number of gigabytes.*'{chosen}'"):
        disk.store("a", b"")


def calls_python(x):
    return tower(x) + jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


def prints(x):
    jax.debug.print("{}", x[0])
    return tower(x)


@pytest.mark.parametrize("function", [calls_python, prints])
def test_programs_that_call_python_are_never_stored(cache, function):
    found = compiled(function, X)(X)
    assert not names(cache, "program") and names(cache, "kernel")
    np.testing.assert_allclose(found, jax.jit(function)(X), rtol=1e-12)


def test_constants_are_part_of_a_program(cache):
    tables = [jnp.asarray(np.random.default_rng(seed).normal(size=5000)) for seed in (0, 1)]
    for table in tables:
        run = lambda i, table=table: tower(X) + table[i]
        i = jnp.arange(16) * 300
        np.testing.assert_allclose(compiled(run, i)(i), tower(X) + table[i], rtol=1e-12)


def test_machine_code_is_found(cache, monkeypatch):
    text = "define double @twice(double %x) {\n  %y = fadd double %x, %x\n  ret double %y\n}\n"
    code = calls._object_code(text)
    monkeypatch.setattr(calls, "_compiled", lambda *_: pytest.fail("compiled again"))
    assert calls._object_code(text) == code


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda x, y: 2.0 * x, lambda x, y: 2.0 * y),
        (lambda x, y: x, lambda x, y: y),
        (lambda x, y: (x, y), lambda x, y: (y, x)),
        (lambda x, y: (2.0 * x, y), lambda x, y: (2.0 * y, x)),
    ],
)
def test_programs_that_differ_only_in_the_argument_they_use_are_distinguished(cache, first, second):
    """What XLA is given of both is alike once arguments that are not used are dropped."""
    x, y = jnp.array([1.0, 2.0]), jnp.array([10.0, 20.0])
    for function in (first, second):
        for found, wanted in zip(compiled(function, x, y)(x, y), function(x, y), strict=True):
            np.testing.assert_array_equal(found, wanted)
