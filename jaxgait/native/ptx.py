"""Kernels of NVIDIA's GPUs: their code, its assembly language (PTX), how XLA launches them, what resources they need.

A kernel has one thread per member. The code is that of CPUs with width one: small arrays are registers, large ones stay
where JAX has them, member by member. Functions of the C library are defined next to the kernel
(`jaxgait.native.functions.library`).

LLVM writes PTX for the oldest processors that CUDA 13 supports; the driver compiles it for those present. XLA launches
it by an internal custom call (`xla/service/gpu/kernel_call.cc`; openxla/xla pull request 26236), whose arguments are
the addresses of operands and results. Where XLA may not know that call, the driver launches it
(`jaxgait.native.launch`).

User guide of the target: https://llvm.org/docs/NVPTXUsage.html
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import inspect
import math
import pathlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import llvmlite.binding as llvm
import numpy as np

from jaxgait.native import calls, disk, launch
from jaxgait.native.code import Code, Unsupported
from jaxgait.native.functions.library import FUNCTIONS
from jaxgait.native.instructions import Writer
from jaxgait.native.loops import Emitter
from jaxgait.native.lru_cache import LRUCache
from jaxgait.native.reading import Reader
from jaxgait.native.threads import Thread

BLOCK_THREADS = (64, 256)
"""Least and largest number of threads per block: two warps, so that small ensembles spread over many processors; and
as many threads as a processor has registers for. They start together and share what the instruction cache fetches."""
PROCESSORS = 128
"""Processors of a large GPU (an H100 or H200 has 132), each of which should have a block."""
MAX_ARRAYS = 500
"""Largest number of arrays of a kernel: their addresses must fit into 4 KB of arguments."""
POSITION = ("ctaid.x", "ntid.x", "tid.x")
"""Registers with a thread's block, its threads per block, and its number there."""


def kernel(code: Code, members: int, shared: Sequence[bool], sizes: Sequence[int]) -> str:
    """A kernel named KERNEL, for at least as many threads as there are members.

    Args:
        code: of one member.
        members: how many there are.
        shared: which operands are the same for all of them.
        sizes: numbers per member of each operand.

    Raises:
        Unsupported: for code that needs functions missing from our C library, or too many arrays.
    """
    arrays = len(code.operands) + len(code.results)
    if arrays > MAX_ARRAYS:
        raise Unsupported(f"{arrays} arrays, more than the {MAX_ARRAYS} of a GPU kernel")
    given = ", ".join(f"ptr %{name}" for name in _names(code))
    read = [f"%r{i} = call i32 @llvm.nvvm.read.ptx.sreg.{name}()" for i, name in enumerate(POSITION)]
    lines = [
        f"define ptx_kernel void @KERNEL({_parameters(code)}) {{",
        *(f"  {line}" for line in read),
        *(f"  %w{i} = zext i32 %r{i} to i64" for i in range(3)),
        "  %first = mul i64 %w0, %w1",
        "  %i = add i64 %first, %w2",
        f"  %there = icmp slt i64 %i, {members}",
        "  br i1 %there, label %run, label %done",
        "run:",
        f"  call void @one_member(i64 %i, {given})",
        "  br label %done",
        "done:",
        "  ret void",
        "}",
        *(f"declare i32 @llvm.nvvm.read.ptx.sreg.{name}()" for name in POSITION),
    ]
    return "\n".join([*lines, _member(code, shared, sizes)])


def _member(code: Code, shared: Sequence[bool], sizes: Sequence[int]) -> str:
    """A function of a member's number and the addresses of all arrays; other arguments as for `kernel`."""
    w = Writer()
    w.lines.append(f"define internal void @one_member(i64 %i, {_parameters(code)}) alwaysinline {{")
    w.label("run")
    thread = Thread(code, w, shared)
    thread.stack()
    thread.members("%i", shared, sizes)
    w.line("ret void")
    return _with_library("\n".join([*thread.tables, *w.lines, "}"]), w.declared)


def _parameters(code: Code) -> str:
    """Addresses of operands, which are read only, and of results, which do not overlap them."""
    return ", ".join(f"ptr noalias {'readonly ' if name[0] == 'i' else ''}%{name}" for name in _names(code))


def _names(code: Code) -> list[str]:
    return [*(f"in{i}" for i in range(len(code.operands))), *(f"out{i}" for i in range(len(code.results)))]


def _with_library(text: str, declared: set[str]) -> str:
    """A module with its declarations, and definitions of the functions of the C library that it calls."""
    called = {line: found[1] for line in declared if (found := re.match(r"declare double @(\w+)\(", line))}
    definitions = [_definition(name) for name in sorted(called.values())]
    rest = (declared - called.keys()).union(*(more for _, more in definitions))
    whole = "\n".join([text, *(definition for definition, _ in definitions), *sorted(rest), ""])
    # (under other names: LLVM treats those of the C library specially)
    return re.sub(r"@(\w+)\(", lambda m: f"@own.{m[1]}(" if m[1] in called.values() else m[0], whole)


@functools.cache
def _definition(name: str) -> tuple[str, frozenset[str]]:
    """A function of the C library as code, and its declarations."""
    if name not in FUNCTIONS:
        raise Unsupported(f"{name}, which has no implementation without a C library")
    function, reader, w = FUNCTIONS[name], Reader(), Writer()
    numbers = [jax.ShapeDtypeStruct((), "float64") for _ in inspect.signature(function).parameters]
    with jax.enable_x64(True):
        program = jax.make_jaxpr(function)(*numbers)
        operands = [reader.operand(aval, i, None) for i, aval in enumerate(program.in_avals)]
        (result,) = reader.inline(program, operands)
    given = [f"%x{i}" for i in range(len(numbers))]
    w.lines.append(f"define internal double @{name}({', '.join(f'double {x}' for x in given)}) noinline {{")
    w.label("run")
    emitter = Emitter(reader.code, 1, w)
    emitter.scope.names.update({int(v): x for v, x in zip(operands, given, strict=True)})  # type: ignore[call-overload]
    emitter.statements(reader.statements)
    w.line(f"ret double {emitter.scope.get(int(result))}")  # type: ignore[call-overload]
    return "\n".join([*w.lines, "}"]), frozenset(w.declared)


ARCHITECTURE = "sm_75"
TARGET = "__gpu$xla.gpu.ptx"
MAX_IN_THREAD = 16
"""Largest size of an array kept in registers; a thread has 255, each half a float64."""

_written = LRUCache(16)
"""Text of kernels by name."""


class Resources(NamedTuple):
    """Resources that each thread of a kernel needs."""

    registers: int
    stack: int
    stored: int
    """Bytes of spill stores and spill loads in the program's text."""
    loaded: int


def call(
    code: Code, members: int, shared: Sequence[bool], arrays: Sequence[jax.Array], results: Sequence[Any]
) -> Sequence[jax.Array]:
    """Launches a kernel from a program that is being traced.

    Args:
        code: of one member.
        members: how many there are.
        shared: which arrays are the same for all of them.
        arrays: the operands.
        results: shapes and dtypes.

    Raises:
        jaxgait.native.code.Unsupported: for code that is not possible in a GPU kernel.
    """
    lengths = [math.prod(x.shape[0 if same else 1 :]) for x, same in zip(arrays, shared, strict=True)]
    name, text = written(code, members, shared, lengths)
    threads = block_threads(members)
    blocks = -(-members // threads)
    if launch.chosen():
        handler = launch.registered(name, text, len(arrays), len(results), blocks, threads)
        return jax.ffi.ffi_call(handler, results, input_output_aliases={})(*arrays)
    numbers = {
        **{"grid_x": blocks, "grid_y": 1, "grid_z": 1},
        **{"block_x": threads, "block_y": 1, "block_z": 1, "shared_mem_bytes": 0},
    }
    called = jax.ffi.ffi_call(TARGET, results, input_output_aliases={})
    attributes: dict[str, Any] = {key: np.int32(n) for key, n in numbers.items()}
    return called(*arrays, name=name, kernel_type="ptx", kernel_data=text, **attributes)


def block_threads(members: int) -> int:
    """Threads per block for an ensemble: a power of two."""
    least, most = BLOCK_THREADS
    share = max(members // PROCESSORS, 1)
    return min(max(1 << share.bit_length() - 1, least), most)


def written(code: Code, members: int, shared: Sequence[bool], sizes: Sequence[int]) -> tuple[str, str]:
    """A kernel's name and its PTX; arguments as for `jaxgait.native.ptx.kernel`."""
    text = kernel(code, members, shared, sizes)
    name = f"jaxgait_{hashlib.sha256(text.encode()).hexdigest()[:32]}"
    return name, _written.get(lambda: name, lambda: _compiled(text.replace("KERNEL", name)))


def _compiled(text: str) -> str:
    key = disk.key(f"ptx-{ARCHITECTURE}", text)
    found = disk.load(key)
    if found is None:
        target, module = _machine(), llvm.parse_assembly(text)
        module.triple, module.data_layout = target.triple, str(target.target_data)
        calls.optimise(target, module)
        found = target.emit_assembly(module).encode()
        disk.store(key, found)
    return found.decode()


@functools.cache
def _machine() -> llvm.TargetMachine:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(
        cpu=ARCHITECTURE, opt=calls.OPTIMISATION_LEVEL
    )


# --- what a kernel takes ----------------------------------------------------------------------------------------------


@functools.cache
def assembler() -> str | None:
    """NVIDIA's assembler `ptxas`, of the package nvidia-cuda-nvcc or on the path; None if missing."""
    package = importlib.util.find_spec("nvidia")
    folders = list(package.submodule_search_locations or ()) if package is not None else []
    packed = [str(path) for folder in folders for path in sorted(pathlib.Path(folder).glob("*/bin/ptxas"))]
    return next(iter(packed), None) or shutil.which("ptxas")


def required_assembler() -> str:
    """NVIDIA's assembler, see `assembler`.

    Raises:
        FileNotFoundError: if it is missing, with what to install.
    """
    path = assembler()
    if path is None:
        raise FileNotFoundError("ptxas was not found: install nvidia-cuda-nvcc, or put ptxas on the path")
    return path


def resources(text: str, architecture: str) -> Resources:
    """The resources that the assembler reports for a kernel.

    Args:
        text: PTX of one kernel.
        architecture: of the processor, such as "sm_90".

    Raises:
        FileNotFoundError: if there is no assembler.
        ValueError: if it rejects the text.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "kernel.ptx"
        path.write_text(text)
        options = ["-v", f"-arch={architecture}", str(path), "-o", str(path.with_suffix(".cubin"))]
        done = subprocess.run([required_assembler(), *options], check=False, capture_output=True, text=True)
    if done.returncode:
        raise ValueError(f"ptxas rejects the kernel for {architecture}: {done.stderr.strip()[:500]}")
    number = lambda what: max((int(n) for n in re.findall(rf"(\d+) {what}", done.stderr)), default=0)
    stack = [number(f"bytes {kind}") for kind in ("stack frame", "spill stores", "spill loads")]
    return Resources(number("registers"), *stack)
