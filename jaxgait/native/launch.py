"""Kernels of GPUs launched by NVIDIA's driver, where XLA may not accept PTX: a handler of XLA's typed interface.

XLA's custom call for PTX (`jaxgait.native.ptx`) is internal to it; this needs only its public interface (FFI) and the
driver's. The handler is machine code: it gets the stream from XLA, loads the PTX at the first call, and launches the
kernel. Kernels of libraries belong to no context, so that one handle serves all GPUs:
https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__LIBRARY.html
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
from collections.abc import Iterator, Sequence

import jax

from jaxgait.native import calls
from jaxgait.native.code import Unsupported

TESTED = ((0, 8), (0, 12))
"""The first and the last JAX whose XLA was seen to accept PTX, in programs compiled for an H100."""
SETTING = "JAXGAIT_GPU_LAUNCH"
LIBRARY = "libcuda.so.1"

FRAME = {"api": 16, "context": 24}
"""Offsets in XLA_FFI_CallFrame."""
API = {"XLA_FFI_Error_Create": 48, "XLA_FFI_Stream_Get": 80}
"""Offsets in XLA_FFI_Api."""
STREAM = {"context": 16, "stream": 24}
"""Offsets in XLA_FFI_Stream_Get_Args."""
ERROR = {"message": 16, "code": 24}
"""Offsets in XLA_FFI_Error_Create_Args."""
INTERNAL_ERROR = 13
"""XLA_FFI_Error_Code_INTERNAL."""

FUNCTIONS = {
    "cuLibraryLoadData": ("ptr, ptr, ptr, ptr, i32, ptr, ptr, i32", "load"),
    "cuLibraryGetKernel": ("ptr, ptr, ptr", "after.cuLibraryLoadData"),
    "cuLibraryUnload": ("ptr", "late"),
    "cuLaunchKernel": ("ptr, i32, i32, i32, i32, i32, i32, i32, ptr, ptr, ptr", "ready"),
}
"""Functions of the driver (CUDA 12 or later): LLVM types of their arguments, and the block that calls each."""
NO_OPTIONS = "ptr null, ptr null, i32 0"
MAX_MESSAGE = 128
"""Bytes of a message."""


def chosen() -> bool:
    """Whether the driver launches kernels: as the environment says, or where XLA may not accept PTX.

    Raises:
        ValueError: if JAXGAIT_GPU_LAUNCH is neither "xla" nor "driver".
    """
    wanted = os.environ.get(SETTING, "")
    if wanted not in ("", "xla", "driver"):
        raise ValueError(f'{SETTING} must be "xla" or "driver", got {wanted!r}')
    first, last = TESTED
    return wanted == "driver" or (not wanted and not first <= jax.__version_info__[:2] <= last)


def registered(name: str, text: str, arrays: int, results: int, blocks: int, threads: int) -> str:
    """Registers a handler with XLA that launches a kernel; returns its name.

    Args:
        name: of the kernel.
        text: its PTX.
        arrays: number of operands.
        results: number of results.
        blocks: number of thread blocks.
        threads: threads per block.

    Raises:
        Unsupported: where there is no driver, or its functions or XLA's interface are unknown.
    """
    if not calls.available():
        raise Unsupported("an unknown version of XLA's foreign function interface")
    return calls.registered(
        handler(name, text, arrays, results, blocks, threads), label="launch_", platform="CUDA", symbols=symbols()
    )


@functools.cache
def symbols() -> dict[str, int]:
    """Addresses of the driver's functions.

    Raises:
        Unsupported: where there is no driver, or one that lacks them.
    """
    try:
        library = ctypes.CDLL(LIBRARY)
        return {name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in FUNCTIONS}
    except (OSError, AttributeError) as reason:
        raise Unsupported(f"no driver of CUDA 12 or later ({reason})") from None


def handler(name: str, text: str, arrays: int, results: int, blocks: int, threads: int) -> str:
    """The handler in LLVM's assembly language, named KERNEL; arguments as for `registered`."""
    given = [*(f"%in{i}" for i in range(arrays)), *(f"%out{i}" for i in range(results))]
    lines = [
        *(f"declare i32 @{function}({types})" for function, (types, _) in FUNCTIONS.items()),
        "declare i32 @snprintf(ptr, i64, ptr, ...)",
        "@loaded = internal global ptr null",
        *(f"@name.{function} = internal constant {_string(function)}" for function in FUNCTIONS),
        f"@text = internal constant {_string(text)}",
        f"@entry = internal constant {_string(name)}",
        f"@format = internal constant {_string('jaxgait: %s of the CUDA driver returned %d')}",
        *calls.head(),
        *calls.pointers(arrays, results),
        *_stream(),
        *_loaded(),
        *_launched(given, blocks, threads),
        *_failed(),
        "}",
    ]
    return "\n".join(lines)


def _stream() -> list[str]:
    return [
        *calls.field("api", "%frame", FRAME["api"]),
        *calls.field("context", "%frame", FRAME["context"]),
        *_structure("question", STREAM["stream"] + 8),
        *_stored("question.context", "%question", STREAM["context"], "ptr %context"),
        *calls.field("get", "%api", API["XLA_FFI_Stream_Get"]),
        "  %fault = call ptr %get(ptr %question)",
        "  %has_fault = icmp ne ptr %fault, null",
        "  br i1 %has_fault, label %return_fault, label %see",
        "return_fault:",
        "  ret ptr %fault",
        "see:",
        *calls.field("stream", "%question", STREAM["stream"]),
    ]


def _loaded() -> list[str]:
    """Loads the kernel once; if two threads do so at once, the first one's is kept."""
    return [
        "  %before = load atomic ptr, ptr @loaded acquire, align 8",
        "  %there = icmp ne ptr %before, null",
        "  br i1 %there, label %ready, label %load",
        "load:",
        "  %library.at = alloca ptr",
        "  %kernel.at = alloca ptr",
        *_called("cuLibraryLoadData", f"ptr %library.at, ptr @text, {NO_OPTIONS}, {NO_OPTIONS}"),
        "  %library = load ptr, ptr %library.at",
        *_called("cuLibraryGetKernel", "ptr %kernel.at, ptr %library, ptr @entry"),
        "  %fresh = load ptr, ptr %kernel.at",
        "  %exchanged = cmpxchg ptr @loaded, ptr null, ptr %fresh acq_rel acquire, align 8",
        "  %earlier = extractvalue { ptr, i1 } %exchanged, 0",
        "  %first.one = extractvalue { ptr, i1 } %exchanged, 1",
        "  br i1 %first.one, label %ready, label %late",
        "late:",
        *_called("cuLibraryUnload", "ptr %library"),
        "  br label %ready",
        "ready:",
        "  %kernel = phi ptr [ %before, %see ], [ %fresh, %after.cuLibraryGetKernel ], "
        "[ %earlier, %after.cuLibraryUnload ]",
    ]


def _launched(given: Sequence[str], blocks: int, threads: int) -> list[str]:
    """Launches the kernel: the driver takes the addresses of its arguments, which are addresses of arrays."""
    grid = ", ".join(f"i32 {n}" for n in (blocks, 1, 1, threads, 1, 1, 0))
    return [
        f"  %values = alloca [{len(given)} x ptr]",
        f"  %parameters = alloca [{len(given)} x ptr]",
        *(line for i, x in enumerate(given) for line in _stored(f"value{i}", "%values", 8 * i, f"ptr {x}")),
        *(
            line
            for i in range(len(given))
            for line in _stored(f"parameter{i}", "%parameters", 8 * i, f"ptr %value{i}.at")
        ),
        *_called("cuLaunchKernel", f"ptr %kernel, {grid}, ptr %stream, ptr %parameters, ptr null"),
        "  ret ptr null",
    ]


def _failed() -> Iterator[str]:
    """Returns an error to XLA that names the driver's function and its error code."""
    phi = lambda kind, form: (
        f"phi {kind} " + ", ".join(f"[ {form.format(name)}, %{block} ]" for name, (_, block) in FUNCTIONS.items())
    )
    yield "failed:"
    yield f"  %number = {phi('i32', '%done.{}')}"
    yield f"  %function = {phi('ptr', '@name.{}')}"
    yield f"  %message = alloca [{MAX_MESSAGE} x i8]"
    yield (
        f"  %length = call i32 (ptr, i64, ptr, ...) @snprintf(ptr %message, i64 {MAX_MESSAGE}, ptr @format, "
        "ptr %function, i32 %number)"
    )
    yield from _structure("error", ERROR["code"] + 4)
    yield from _stored("error.message", "%error", ERROR["message"], "ptr %message")
    yield from _stored("error.code", "%error", ERROR["code"], f"i32 {INTERNAL_ERROR}")
    yield from calls.field("create", "%api", API["XLA_FFI_Error_Create"])
    yield "  %created = call ptr %create(ptr %error)"
    yield "  ret ptr %created"


def _called(function: str, arguments: str) -> list[str]:
    return [
        f"  %done.{function} = call i32 @{function}({arguments})",
        f"  %bad.{function} = icmp ne i32 %done.{function}, 0",
        f"  br i1 %bad.{function}, label %failed, label %after.{function}",
        f"after.{function}:",
    ]


def _structure(name: str, size: int) -> list[str]:
    """A structure of XLA's interface that holds its size, without extensions."""
    return [
        f"  %{name} = alloca [{-(-size // 8)} x i64], align 8",
        f"  store [{-(-size // 8)} x i64] zeroinitializer, ptr %{name}",
        f"  store i64 {size}, ptr %{name}",
    ]


def _stored(name: str, structure: str, offset: int, value: str) -> list[str]:
    return [f"  %{name}.at = getelementptr i8, ptr {structure}, i64 {offset}", f"  store {value}, ptr %{name}.at"]


def _string(text: str) -> str:
    data = text.encode() + b"\0"
    escaped = re.sub(rb"[^ !#-\[\]-~]", lambda m: b"\\%02X" % m[0][0], data)
    return f'[{len(data)} x i8] c"{escaped.decode()}"'
