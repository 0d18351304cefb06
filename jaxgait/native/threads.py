"""Structured code as a GPU kernel in LLVM's assembly language: one thread per member.

The code is that of CPUs with width one: small arrays are registers, large ones stay where JAX has them, member by
member. Functions of the C library are defined beside the kernel (`jaxgait.native.functions.library`).

User guide of the target: https://llvm.org/docs/NVPTXUsage.html
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Sequence

import jax

from jaxgait.native.code import Code, Unsupported
from jaxgait.native.functions.library import FUNCTIONS
from jaxgait.native.instructions import Writer
from jaxgait.native.loops import Emitter
from jaxgait.native.reading import Reader

BLOCK = 64
"""Threads per block: two warps, so that small ensembles spread over many processors."""
MAX_ARRAYS = 500
"""Largest number of arrays of a kernel: their addresses must fit into 4 KB of arguments."""
REGISTERS = ("ctaid.x", "ntid.x", "tid.x")
"""Of a thread: its block, threads per block, its number there."""


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
    read = [f"%r{i} = call i32 @llvm.nvvm.read.ptx.sreg.{name}()" for i, name in enumerate(REGISTERS)]
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
        *(f"declare i32 @llvm.nvvm.read.ptx.sreg.{name}()" for name in REGISTERS),
    ]
    return "\n".join([*lines, _member(code, shared, sizes)])


def _member(code: Code, shared: Sequence[bool], sizes: Sequence[int]) -> str:
    """A function of a member's number and the addresses of all arrays; other arguments as of `kernel`."""
    w = Writer()
    w.lines.append(f"define internal void @one_member(i64 %i, {_parameters(code)}) alwaysinline {{")
    w.label("run")
    emitter = Emitter(code, 1, w)
    emitter.stack()
    emitter.members("%i", shared, sizes)
    w.line("ret void")
    return _with_library("\n".join([*w.lines, "}"]), w.declared)


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
