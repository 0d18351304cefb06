"""Kernels as machine code, called by XLA through its typed foreign function interface (FFI).

XLA hands every call a frame, a C structure that holds tables of pointers to the buffers. Offsets below are those of
`xla/ffi/api/c_api.h`, which JAX ships (`jax.ffi.include_dir()`), version 0.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import pathlib
import re
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import jax
import jax.numpy as jnp
import llvmlite.binding as llvm

from jaxgait.native import disk
from jaxgait.native.kernel import Kernel, assembly

SIZE_OFFSET = 0
"""Offset of the size in every structure."""
FRAME = {"extension": 8, "stage": 32, "arguments": 72, "results": 112}
"""Offsets in XLA_FFI_CallFrame; the last two of the tables of pointers to buffers."""
BUFFER_DATA = 24
"""Offset of the data in XLA_FFI_Buffer."""
EXTENSION = {"type": 8, "next": 16, "metadata": 24}
"""Offsets in XLA_FFI_Extension_Base; the last one in XLA_FFI_Metadata_Extension."""
METADATA_TYPE = 1
"""XLA_FFI_Extension_Metadata."""
METADATA = {"major": 24, "minor": 28, "traits": 32}
"""Offsets in XLA_FFI_Metadata."""
EXECUTE_STAGE = 3
"""The stage in which buffers exist."""

PREFIX = "jaxgait_"
"""Prefix of the names of kernels."""

_known: dict[str, str] = {}
"""Registered kernels, with the names of their machine code on disk; never removed, as XLA keeps what is registered."""
_lock = threading.Lock()


def call(avals: Sequence[Any], kernel: Kernel, inputs: Sequence[Any]) -> Sequence[jax.Array]:
    """Calls a kernel from a program that is being traced.

    Args:
        avals: shapes and dtypes of all values, by number.
        kernel: what to compute.
        inputs: its inputs.

    Returns:
        Its outputs, which share no memory with its inputs: the last vector of members overlaps the one before and reads
        its inputs again.
    """
    name = registered(assembly(kernel, [*head(), *pointers(len(kernel.inputs), len(kernel.outputs))]))
    results = [jax.ShapeDtypeStruct(avals[v].shape, avals[v].dtype) for v in kernel.outputs]
    arrays = [jnp.asarray(x, avals[v].dtype) for v, x in zip(kernel.inputs, inputs, strict=True)]
    launch = jax.custom_jvp(jax.ffi.ffi_call(name, results, vmap_method="sequential", input_output_aliases={}))
    launch.defjvp(_differentiated)
    return launch(*arrays)


def _differentiated(*_: Any) -> Any:
    raise ValueError("what native has compiled cannot be differentiated: write native(jax.jacfwd(f))")


def head() -> list[str]:
    """Beginning of a kernel's function, which XLA may also call for its version, or in stages without work.

    XLA requests the version by an extension in the call frame's list. Extensions of unknown type or size are skipped.
    An attribute says that denormal numbers are flushed to zero, as in XLA's threads: LLVM would otherwise compare such
    numbers as integers.
    """
    version = _version()
    assert version is not None
    return [
        'define ptr @KERNEL(ptr %frame) "prefer-vector-width"="512" "denormal-fp-math"="preserve-sign,preserve-sign" {',
        *field("first", "%frame", FRAME["extension"]),
        "  br label %look",
        "look:",
        "  %extension = phi ptr [ %first, %0 ], [ %following, %other ]",
        "  %none = icmp eq ptr %extension, null",
        "  br i1 %none, label %work, label %check",
        "check:",
        *field("type", "%extension", EXTENSION["type"], "i32"),
        *field("size", "%extension", SIZE_OFFSET, "i64"),
        f"  %asked = icmp eq i32 %type, {METADATA_TYPE}",
        f"  %whole = icmp uge i64 %size, {EXTENSION['metadata'] + 8}",
        "  %both = and i1 %asked, %whole",
        "  br i1 %both, label %measure, label %other",
        "other:",
        *field("following", "%extension", EXTENSION["next"]),
        "  br label %look",
        "measure:",
        *field("metadata", "%extension", EXTENSION["metadata"]),
        *field("room", "%metadata", SIZE_OFFSET, "i64"),
        f"  %fits = icmp uge i64 %room, {METADATA['traits'] + 4}",
        "  br i1 %fits, label %describe, label %later",
        "describe:",
        *(line for field in zip(METADATA, (*version, 0), strict=True) for line in _written(*field)),
        "  ret ptr null",
        "work:",
        *field("stage", "%frame", FRAME["stage"], "i32"),
        f"  %now = icmp eq i32 %stage, {EXECUTE_STAGE}",
        "  br i1 %now, label %run, label %later",
        "later:",
        "  ret ptr null",
        "run:",
    ]


def _written(field: str, x: int) -> list[str]:
    return [f"  %{field} = getelementptr i8, ptr %metadata, i64 {METADATA[field]}", f"  store i32 {x}, ptr %{field}"]


def pointers(inputs: int, outputs: int) -> list[str]:
    """Loads the addresses of all arrays."""
    lines = [*field("arguments", "%frame", FRAME["arguments"]), *field("results", "%frame", FRAME["results"])]
    for table, prefix, count in (("arguments", "in", inputs), ("results", "out", outputs)):
        for i in range(count):
            lines += field(f"{prefix}{i}.buffer", f"%{table}", 8 * i)
            lines += field(f"{prefix}{i}", f"%{prefix}{i}.buffer", BUFFER_DATA)
    return lines


def field(name: str, structure: str, offset: int, type: str = "ptr") -> list[str]:
    """Loads a field of a structure."""
    return [
        f"  %{name}.at = getelementptr i8, ptr {structure}, i64 {offset}",
        f"  %{name} = load {type}, ptr %{name}.at",
    ]


def registered(
    text: str,
    optimised: bool = False,
    label: str = "",
    platform: str = "cpu",
    symbols: Mapping[str, int] = MappingProxyType({}),
) -> str:
    """Compiles a function and registers it with XLA; returns its name, the same in every process.

    Args:
        text: LLVM assembly of a function named KERNEL.
        optimised: see `address`.
        label: part of the name.
        platform: of the programs that call it.
        symbols: see `address`.
    """
    name = PREFIX + label + hashlib.sha256(f"{optimised}{text}".encode()).hexdigest()[:32]
    text = text.replace("KERNEL", name)
    with _lock:
        if name in _loaded and disk.folder() is not None:
            _object_code(text, optimised)  # stored again, should its folder have changed or lost it
        if name not in _known:
            found = address(name, text, optimised=optimised, symbols=symbols)
            _register(name, found, code_key(text, optimised), platform)
    return name


def stored_as(name: str) -> str:
    """The name on disk of the machine code of a registered kernel."""
    return _known[name]


def restored(name: str, key: str) -> bool:
    """Registers a kernel from its machine code on disk; returns whether that exists."""
    with _lock:
        if name not in _known:
            code = disk.load(key)
            if code is None:
                return False
            _register(name, linked(name, lambda: code), key)
    return True


def _register(name: str, start: int, key: str, platform: str = "cpu") -> None:
    jax.ffi.register_ffi_target(name, _capsule(start), platform=platform)
    _known[name] = key


def _capsule(address: int) -> Any:
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(address, None, None)


@functools.cache
def available() -> bool:
    """Whether this version of XLA's foreign function interface is supported; warns once if not."""
    version = _version()
    if version is None or version[0] != 0:
        known = "an unknown version" if version is None else f"version {version[0]}.{version[1]}"
        warnings.warn(
            f"jax {jax.__version__} has {known} of XLA's foreign function interface, jaxgait supports version 0: XLA "
            "compiles everything, with the same results but slower",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


@functools.cache
def _version() -> tuple[int, int] | None:
    """Major and minor version of the interface, None if unknown."""
    path = pathlib.Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    header = path.read_text() if path.is_file() else ""
    major, minor = (re.search(rf"#define XLA_FFI_API_{part} (\d+)", header) for part in ("MAJOR", "MINOR"))
    return None if major is None or minor is None else (int(major[1]), int(minor[1]))


# --- machine code: one target machine makes object code, one linker loads it; XLA never forgets a function -----------

OPTIMISATION_LEVEL = 2

_loaded: dict[str, Any] = {}
"""The loaded functions of this process."""
_linking = threading.Lock()


def address(name: str, text: str, *, optimised: bool = False, symbols: Mapping[str, int] = MappingProxyType({})) -> int:
    """The address of a function, compiled and loaded at most once.

    Args:
        name: of the function, unique for every text.
        text: a module in LLVM's assembly language that defines it. It may call functions of the C library.
        optimised: whether LLVM's passes run first: they pay off where there are loops.
        symbols: addresses of other functions that it calls.
    """
    return linked(name, lambda: _object_code(text, optimised), symbols)


def linked(name: str, code: Callable[[], bytes], symbols: Mapping[str, int] = MappingProxyType({})) -> int:
    """The address of a function from its object code, loaded at most once."""
    with _linking:
        if name not in _loaded:
            library = llvm.JITLibraryBuilder().add_object_img(code()).add_current_process()
            for symbol, where in symbols.items():
                library.import_symbol(symbol, where)
            _loaded[name] = library.export_symbol(name).link(_linker(), name)
        return _loaded[name][name]


def code_key(text: str, optimised: bool = False) -> str:
    """The name on disk of a module's object code."""
    return disk.key("loops" if optimised else "kernel", text)


def _object_code(text: str, optimised: bool = False) -> bytes:
    name = code_key(text, optimised)
    code = disk.load(name)
    if code is None:
        code = _compiled(text, optimised)
        disk.store(name, code)
    return code


def _compiled(text: str, optimised: bool) -> bytes:
    machine = _machine()
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    if optimised:
        optimise(machine, module)
    return machine.emit_object(module)


def optimise(machine: llvm.TargetMachine, module: llvm.ModuleRef) -> None:
    """Runs LLVM's passes, without vectorisation: the code is vectorised already."""
    options = llvm.create_pipeline_tuning_options(speed_level=OPTIMISATION_LEVEL)
    options.loop_vectorization = options.slp_vectorization = options.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


@functools.cache
def _machine() -> llvm.TargetMachine:
    _initialize()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=OPTIMISATION_LEVEL, jit=True
    )


@functools.cache
def _linker() -> llvm.LLJIT:
    _initialize()
    return llvm.create_lljit_compiler()


@functools.cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
