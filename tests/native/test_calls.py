"""The seam to XLA: what it asks of a kernel, versions, machine code."""

import ctypes
import itertools
import subprocess
import sys
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.native import calls, compiled, native
from jaxgait.native.instructions import Kind, Operation, Value
from jaxgait.native.kernel import Grid, Kernel, assembly
from tests.native.programs import tower

X = jnp.linspace(0.1, 2.0, 13)


@pytest.fixture(scope="module")
def handler():
    """A kernel that doubles one number, as XLA would call it."""
    number = Value(Kind.UNIFORM, np.dtype(float))
    kernel = Kernel(Grid(1, 1, (1, 1)), (Operation("add", (0, 0), 1, {}),), {0: number, 1: number}, {}, (0,), (1,))
    text = assembly(kernel, [*calls.head(), *calls.pointers(len(kernel.inputs), len(kernel.outputs))]).replace(
        "KERNEL", "doubles"
    )
    return ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(calls.address("doubles", text))


class Extension(ctypes.Structure):
    _fields_ = (
        *(("size", ctypes.c_size_t), ("type", ctypes.c_int), ("next", ctypes.c_void_p)),
        ("metadata", ctypes.c_void_p),
    )


class Metadata(ctypes.Structure):
    _fields_ = (
        *(("size", ctypes.c_size_t), ("version_size", ctypes.c_size_t), ("version_extension", ctypes.c_void_p)),
        *(("major", ctypes.c_int), ("minor", ctypes.c_int), ("traits", ctypes.c_uint32), ("type_id", ctypes.c_int64)),
    )


class Frame(ctypes.Structure):
    _fields_ = (("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("rest", ctypes.c_char * 200))


def asked(handler, *extensions, stage=0):
    """Calls the kernel in a stage without buffers, with a list of extensions."""
    for one, following in itertools.pairwise(extensions):
        one.next = ctypes.addressof(following)
    frame = Frame(ctypes.sizeof(Frame), ctypes.addressof(extensions[0]) if extensions else None)
    ctypes.c_int32.from_address(ctypes.addressof(frame) + calls.FRAME["stage"]).value = stage
    return handler(ctypes.addressof(frame))


def extension(metadata, **fields):
    start = {"size": 32, "type": calls.METADATA_TYPE, "metadata": ctypes.addressof(metadata)}
    return Extension(**{**start, **fields})


def empty(size=ctypes.sizeof(Metadata)):
    return Metadata(size=size, major=-7, minor=-7, traits=77)


def test_metadata_are_filled_in_anywhere_in_the_list(handler):
    for before in ([], [extension(empty(), type=9)]):
        metadata = empty()
        assert asked(handler, *before, extension(metadata)) is None
        assert (metadata.major, metadata.minor, metadata.traits) == (*calls._version(), 0)


@pytest.mark.parametrize("fields", [{"type": 2}, {"type": 0}, {"size": 24}, {"size": 31}])
def test_extensions_of_unknown_type_or_size_are_skipped(handler, fields):
    metadata = empty()
    assert asked(handler, extension(metadata, **fields)) is None
    assert (metadata.major, metadata.minor, metadata.traits) == (-7, -7, 77)


def test_metadata_that_are_too_small_are_skipped(handler):
    metadata = empty(size=32)
    assert asked(handler, extension(metadata)) is None
    assert (metadata.major, metadata.minor, metadata.traits) == (-7, -7, 77)


@pytest.mark.parametrize("version", [None, (1, 0)])
def test_an_unknown_interface_leaves_programs_to_xla_with_one_warning(monkeypatch, version):
    monkeypatch.setattr(calls, "_version", lambda: version)
    calls.available.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match="foreign function interface"):
            lowered = jax.jit(native(tower)).lower(X)
        assert "jaxgait_" not in lowered.as_text()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_allclose(compiled(tower, X)(X), tower(X), rtol=1e-12)
    finally:
        calls.available.cache_clear()


@pytest.mark.slow
def test_all_machine_code_can_be_released():
    script = """
import gc, jax.numpy as jnp
from jaxgait.native import calls, compiled
for n in (5, 6, 7):
    x = jnp.linspace(0.1, 0.2, n)
    compiled(lambda x: sum(jnp.sin(x * k) + jnp.tanh(x - k) for k in range(9)), x)(x).block_until_ready()
assert len(calls._loaded) == 3
calls._loaded.clear()
gc.collect()
calls._linker.cache_clear()
calls._machine.cache_clear()
gc.collect()
print("released")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "released\n"), done.stderr


@pytest.mark.parametrize("members", [1, 7, 8, 9, 23])
def test_outputs_have_memory_of_their_own(members):
    """Also where XLA may overwrite arguments: the last vector of a kernel reads some of its inputs twice."""
    x = jnp.linspace(0.1, 2.0, members)
    expected = np.asarray(tower(x))
    run = jax.jit(lambda x: jax.lax.fori_loop(0, 3, lambda _, y: native(tower)(y), x), donate_argnums=0)
    executable = run.lower(x).compile()
    text = executable.as_text()
    assert "jaxgait_" in text and "output_to_operand_aliasing" not in text
    np.testing.assert_allclose(executable(x), tower(tower(jnp.asarray(expected))), rtol=1e-12)
