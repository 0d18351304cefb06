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
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import llvmlite.binding as llvm

from jaxgait.native.kernel import Kernel, assembly

FRAME = {"extension": 8, "stage": 32, "arguments": 72, "results": 112}
"""Offsets in XLA_FFI_CallFrame; the last two of the tables of pointers to buffers."""
BUFFER_DATA = 24
"""Offset of the data in XLA_FFI_Buffer."""
METADATA = 24
"""Offset in XLA_FFI_Metadata_Extension."""
VERSION, TRAITS = (24, 28), 32
"""Offsets in XLA_FFI_Metadata."""
EXECUTE = 3
"""The stage in which buffers are there."""

OPTIMISATION = 2

_engines: dict[str, Any] = {}
_lock = threading.Lock()


def call(avals: Sequence[Any], kernel: Kernel, inputs: Sequence[Any]) -> Sequence[jax.Array]:
    """Calls a kernel from a program that is being traced.

    Args:
        avals: shapes and dtypes of all values, by number.
        kernel: what to compute.
        inputs: its inputs.

    Returns:
        Its outputs.
    """
    name = _registered(assembly(kernel, [*_head(), *_pointers(kernel)]))
    results = [jax.ShapeDtypeStruct(avals[v].shape, avals[v].dtype) for v in kernel.outputs]
    arrays = [jnp.asarray(x, avals[v].dtype) for v, x in zip(kernel.inputs, inputs, strict=True)]
    return jax.ffi.ffi_call(name, results)(*arrays)


def _head() -> list[str]:
    """Beginning of the function: XLA may also ask it for its version, or call it in stages that it does not need."""
    major, minor = _version()
    fields = [(VERSION[0], major), (VERSION[1], minor), (TRAITS, 0)]
    described = [
        line
        for at, x in fields
        for line in (f"  %at{at} = getelementptr i8, ptr %metadata, i64 {at}", f"  store i32 {x}, ptr %at{at}")
    ]
    return [
        'define ptr @KERNEL(ptr %frame) "prefer-vector-width"="512" {',
        *_field("extension", "%frame", FRAME["extension"]),
        "  %asked = icmp ne ptr %extension, null",
        "  br i1 %asked, label %describe, label %work",
        "describe:",
        *_field("metadata", "%extension", METADATA),
        *described,
        "  ret ptr null",
        "work:",
        *_field("stage", "%frame", FRAME["stage"], "i32"),
        f"  %now = icmp eq i32 %stage, {EXECUTE}",
        "  br i1 %now, label %run, label %later",
        "later:",
        "  ret ptr null",
        "run:",
    ]


def _pointers(kernel: Kernel) -> list[str]:
    """Loads the addresses of all arrays."""
    lines = [*_field("arguments", "%frame", FRAME["arguments"]), *_field("results", "%frame", FRAME["results"])]
    for table, prefix, count in (("arguments", "in", len(kernel.inputs)), ("results", "out", len(kernel.outputs))):
        for i in range(count):
            lines += _field(f"{prefix}{i}.buffer", f"%{table}", 8 * i)
            lines += _field(f"{prefix}{i}", f"%{prefix}{i}.buffer", BUFFER_DATA)
    return lines


def _field(name: str, structure: str, offset: int, type: str = "ptr") -> list[str]:
    """Loads a field of a structure."""
    return [
        f"  %{name}.at = getelementptr i8, ptr {structure}, i64 {offset}",
        f"  %{name} = load {type}, ptr %{name}.at",
    ]


def _registered(text: str) -> str:
    """Makes machine code of a function and makes it known to XLA; returns its name, the same in every process."""
    name = "jaxgait_" + hashlib.sha256(text.encode()).hexdigest()[:32]
    with _lock:
        if name not in _engines:
            engine = llvm.create_mcjit_compiler(llvm.parse_assembly(text.replace("KERNEL", name)), _machine())
            engine.finalize_object()
            address = engine.get_function_address(name)
            jax.ffi.register_ffi_target(name, _capsule(address), platform="cpu")
            _engines[name] = engine  # keeps the code
    return name


def _capsule(address: int) -> Any:
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return make(address, None, None)


@functools.cache
def _version() -> tuple[int, int]:
    header = (pathlib.Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h").read_text()
    major, minor = (re.search(rf"#define XLA_FFI_API_{part} (\d+)", header) for part in ("MAJOR", "MINOR"))
    if major is None or minor is None or int(major[1]) != 0:
        raise RuntimeError(
            f"jax {jax.__version__} has another foreign function interface than version 0, which jaxgait knows"
        )
    return int(major[1]), int(minor[1])


@functools.cache
def _machine() -> llvm.TargetMachine:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=OPTIMISATION, jit=True
    )
