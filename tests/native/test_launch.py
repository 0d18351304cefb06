"""Kernels of GPUs launched by a driver: one of our own, which goes through all threads on this processor."""

import contextlib
import ctypes
import itertools
import math
import pathlib
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.native import calls, launch, looped, ptx
from jaxgait.native.code import Unsupported
from jaxgait.native.looping import LOOP
from jaxgait.native.ptx import kernel
from tests.native.test_calls import asked, empty, extension
from tests.native.test_looping import PROGRAMS
from tests.native.test_threads import evaluated, on_this_processor

LIBRARY, KERNEL, STREAM, CONTEXT, XLA_ERROR = 0x11B, 0x5EE, 0x57E, 0xC0, 0xBAD
INVALID = 218


@pytest.fixture(autouse=True)
def launched_by_driver(short_loops, no_cache, monkeypatch):
    monkeypatch.setenv(launch.SETTING, "driver")


POINTER: Any = ctypes.c_void_p
NUMBER = ctypes.c_int32


class Driver:
    """NVIDIA's driver as a handler sees it, and XLA: one kernel, whose threads run on this processor."""

    def __init__(self, run=None, fails=None):
        self.meanwhile = lambda: None
        self.run, self.fails, self.log, self.loaded, self.launched, self.error = run, fails, [], "", (), ""
        number, pointer = ctypes.CFUNCTYPE, POINTER
        eight = [pointer] + [ctypes.c_uint32] * 7 + [pointer] * 3
        load = number(NUMBER, *[pointer] * 4, ctypes.c_uint32, *[pointer] * 2, ctypes.c_uint32)(self.load)
        self.functions = {
            "cuLibraryLoadData": load,
            "cuLibraryGetKernel": number(NUMBER, *[pointer] * 3)(self.get),
            "cuLibraryUnload": number(NUMBER, pointer)(lambda _: self.called("cuLibraryUnload")),
            "cuLaunchKernel": number(NUMBER, *eight)(self.launch),
            "XLA_FFI_Stream_Get": number(pointer, pointer)(self.stream),
            "XLA_FFI_Error_Create": number(pointer, pointer)(self.create_error),
        }
        self.addresses = {name: ctypes.cast(f, POINTER).value for name, f in self.functions.items()}

    def called(self, name):
        self.log.append(name)
        return INVALID if name == self.fails else 0

    def load(self, library, text, *_):
        self.loaded = ctypes.string_at(text).decode()
        POINTER.from_address(library).value = LIBRARY
        return self.called("cuLibraryLoadData")

    def get(self, kernel, library, name):
        assert library == LIBRARY and f".entry {ctypes.string_at(name).decode()}(" in self.loaded
        POINTER.from_address(kernel).value = KERNEL
        self.meanwhile()
        return self.called("cuLibraryGetKernel")

    def launch(self, kernel, *rest):
        *grid, stream, parameters, extra = rest
        assert (kernel, stream, extra) == (KERNEL, STREAM, None)
        self.launched = tuple(grid)
        if self.run is not None:
            self.run(parameters, grid[0])
        return self.called("cuLaunchKernel")

    def stream(self, args):
        """As XLA: the caller gives the size of the structure."""
        size, _, context, _ = (ctypes.c_uint64.from_address(args + 8 * i).value for i in range(4))
        assert (size, context) == (32, CONTEXT)
        POINTER.from_address(args + launch.STREAM["stream"]).value = STREAM
        return XLA_ERROR if self.fails == "XLA_FFI_Stream_Get" else None

    def create_error(self, args):
        assert ctypes.c_uint64.from_address(args).value == 28
        self.error = ctypes.string_at(POINTER.from_address(args + 16).value).decode()
        assert NUMBER.from_address(args + 24).value == launch.INTERNAL_ERROR
        return XLA_ERROR

    def handle(self, handler, arguments, results):
        """Calls a handler as XLA does; what it returns."""
        api = (POINTER * 32)()
        for name, offset in launch.API.items():
            api[offset // 8] = self.addresses[name]
        buffers = [(POINTER * 8)() for _ in (*arguments, *results)]
        for buffer, x in zip(buffers, (*arguments, *results), strict=True):
            buffer[calls.BUFFER_DATA // 8] = x.ctypes.data
        addresses = [ctypes.addressof(b) for b in buffers]
        tables = [(POINTER * (len(t) + 1))(*t) for t in (addresses[: len(arguments)], addresses[len(arguments) :])]
        frame = (POINTER * 32)()
        frame[launch.FRAME["api"] // 8], frame[launch.FRAME["context"] // 8] = ctypes.addressof(api), CONTEXT
        frame[calls.FRAME["stage"] // 8] = calls.EXECUTE_STAGE
        for name, table in zip(("arguments", "results"), tables, strict=True):
            frame[calls.FRAME[name] // 8] = ctypes.addressof(table)
        return handler(ctypes.addressof(frame))


def made(text, name, fake):
    """A handler as machine code that calls our driver."""
    symbols = {f: fake.addresses[f] for f in launch.FUNCTIONS}
    address = calls.address(name, text.replace("KERNEL", name), symbols=symbols)
    return ctypes.CFUNCTYPE(POINTER, POINTER)(address)


PTX = '.version 6.3\n.target sm_75\n// "quoted" \\ and\tmore\n.visible .entry nothing() { ret; }\n'


BLOCK_THREADS = 64
NUMBERS = itertools.count()


def nothing(fake, arrays=1, results=1):
    """A handler for a kernel that does nothing."""
    text = launch.handler("nothing", PTX, arrays, results, 3, BLOCK_THREADS)
    return made(text, f"launch_nothing_{next(NUMBERS)}", fake)


def test_a_kernel_is_loaded_once_and_launched_on_the_stream_of_xla():
    fake, x, y = Driver(), np.zeros(3), np.zeros(3)
    handler = nothing(fake)
    assert fake.handle(handler, [x], [y]) is None and fake.handle(handler, [x], [y]) is None
    assert fake.loaded == PTX and fake.launched == (3, 1, 1, BLOCK_THREADS, 1, 1, 0)
    assert fake.log == ["cuLibraryLoadData", "cuLibraryGetKernel", "cuLaunchKernel", "cuLaunchKernel"]


def test_of_two_threads_that_load_at_once_one_unloads_its_copy():
    """The second one comes while the first one loads."""
    fake, x = Driver(), np.zeros(1)
    handler = nothing(fake)

    def interrupted():
        fake.meanwhile = lambda: None
        assert fake.handle(handler, [x], [x]) is None

    fake.meanwhile = interrupted
    assert fake.handle(handler, [x], [x]) is None
    assert fake.log.count("cuLibraryUnload") == 1 and fake.log.count("cuLaunchKernel") == 2


@pytest.mark.parametrize("function", ["cuLibraryLoadData", "cuLibraryGetKernel", "cuLaunchKernel"])
def test_errors_of_the_driver_become_errors_of_xla(function):
    fake, x = Driver(fails=function), np.zeros(1)
    assert fake.handle(nothing(fake), [x], [x]) == XLA_ERROR
    assert fake.error == f"jaxgait: {function} of the CUDA driver returned {INVALID}"


def test_an_error_of_xla_is_returned():
    fake, x = Driver(fails="XLA_FFI_Stream_Get"), np.zeros(1)
    assert fake.handle(nothing(fake), [x], [x]) == XLA_ERROR and fake.log == []


def test_metadata_are_filled_in_and_other_stages_do_nothing():
    fake, metadata = Driver(), empty()
    handler = nothing(fake)
    assert asked(handler, extension(metadata)) is None and asked(handler, stage=1) is None
    assert (metadata.major, metadata.minor, metadata.traits) == (*(calls._version() or ()), 0) and fake.log == []


def threads(inputs, **params):
    """Runs a loop by a handler; the driver has every thread of the kernel run on this processor."""
    code, members, shared = params["code"].it.threads, params["members"], params["shared"]
    operands = [np.ascontiguousarray(x) for x in inputs]
    sizes = [math.prod(x.shape[0 if same else 1 :]) for x, same in zip(operands, shared, strict=True)]
    avals: Any = LOOP.abstract_eval(*map(jax.typeof, inputs), **params)[0]
    results = [np.zeros(a.shape, a.dtype) for a in avals]
    where, count = np.array([0, BLOCK_THREADS, 0], np.int32), len(operands) + len(results)
    run = ctypes.CFUNCTYPE(None, *[POINTER] * count)(on_this_processor(kernel(code, members, shared, sizes), where))

    def execute(parameters, blocks):
        slots = (POINTER * count).from_address(parameters)
        given = [POINTER.from_address(slot).value for slot in slots]
        for where[0], where[2] in np.ndindex(blocks, BLOCK_THREADS):
            run(*given)

    fake, (name, text) = Driver(execute), ptx.written(code, members, shared, sizes)
    handler = launch.handler(name, text, len(operands), len(results), -(-members // BLOCK_THREADS), BLOCK_THREADS)
    assert fake.handle(made(handler, f"launch_{name}_{next(NUMBERS)}", fake), operands, results) is None
    assert fake.loaded == text
    return [jnp.asarray(x) for x in results]


@pytest.mark.parametrize("name", ["memory", "branches", "float32", "integer"])
def test_kernels_that_a_driver_launches_are_those_of_this_processor(name):
    function, args = PROGRAMS[name]
    args = jnp.tile(jnp.asarray(args), 8)
    program = jax.make_jaxpr(jax.vmap(looped(function)))(args)
    run = lambda loop: evaluated(program, [args], loop)
    vectors = run(lambda inputs, **params: LOOP.bind(*inputs, **params))
    for a, b in zip(run(threads), vectors, strict=True):
        np.testing.assert_array_equal(a, b)


def lowered(n):
    x = jnp.linspace(1.0, 2.0, n)
    return jax.jit(jax.vmap(looped(PROGRAMS["real"][0]))).trace(x).lower(lowering_platforms=("cuda",)).as_text()


def test_programs_for_cuda_call_a_handler_that_xla_knows(monkeypatch):
    fake, known = Driver(), {}
    monkeypatch.setattr(launch, "symbols", lambda: {f: fake.addresses[f] for f in launch.FUNCTIONS})
    monkeypatch.setattr(jax.ffi, "register_ffi_target", lambda name, _, platform: known.update({name: platform}))
    text = lowered(70)
    (target,) = re.findall(r"custom_call @(\w+)", text)
    assert known == {target: "CUDA"} and target.startswith("jaxgait_launch_") and "stablehlo.while" not in text


def test_without_a_driver_programs_are_left_to_xla(monkeypatch):
    monkeypatch.setattr(launch, "LIBRARY", "libnone.so.1")
    launch.symbols.cache_clear()
    with contextlib.suppress(Unsupported):
        launch.symbols()
        pytest.fail("there is no such driver")
    assert "custom_call" not in lowered(71) and "stablehlo.while" in lowered(71)


@pytest.mark.parametrize(
    ("setting", "version", "expected"),
    [
        *(("", (0, 12, 0), False), ("", (0, 7, 0), True), ("", (1, 0, 0), True)),
        *(("driver", (0, 10, 2), True), ("xla", (1, 0, 0), False)),
    ],
)
def test_when_the_driver_launches(monkeypatch, setting, version, expected):
    monkeypatch.setenv(launch.SETTING, setting)
    monkeypatch.setattr(jax, "__version_info__", version)
    assert launch.chosen() is expected


def test_an_unknown_setting_raises(monkeypatch):
    monkeypatch.setenv(launch.SETTING, "cuda")
    with pytest.raises(ValueError, match='JAXGAIT_GPU_LAUNCH must be "xla" or "driver", got \'cuda\''):
        launch.chosen()


def test_offsets_are_those_of_the_header():
    header = (pathlib.Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h").read_text()
    functions = re.findall(r"  _XLA_FFI_API_STRUCT_FIELD\((\w+)\);", header)
    start = 48  # size, extension, version of 24 bytes, internal
    assert all(start + 8 * functions.index(name) == offset for name, offset in launch.API.items())
