"""Machine code for ensembles on CPUs and GPUs.

XLA fuses elementwise operations into loops over the batch, one per stored result, and recomputes in each of them
whatever it needs. In the long straight-line code of a solver step (8000 operations on a few numbers) this repeats most
of the work, and takes minutes to compile. `native` takes an entire JAX program, after `vmap` and differentiation, and
replaces its straight-line parts by one loop each, in which every value is a vector register of several members,
computed once; LLVM compiles it to machine code, which XLA calls. Loops, branches, reductions and gathers are left to
XLA.

`looped` takes a function of one member, before `vmap`, and compiles each of its loops, with everything inside, to one
kernel. A member that finishes leaves its lane of a vector to the next one, so that none waits for another. On GPUs
every member is a thread of such a kernel.

There are two compilers because a program needs both. `native` sees the whole batch and compiles what is outside loops,
and loops with operations that `looped` lacks; it would pass a loop's values through memory between its iterations. They
share the instructions, the elementary functions and the calls.

    blocks, regions, kernel          straight-line code, its parts that become kernels, their LLVM code
    instructions                     LLVM instructions for vectors of members
    program, looping                 `native` and `looped`
    primitives, materialization      JAX's loops, branches, calls and run-time checks; values to compute once
    reading, arrays, folding, scans  from a JAX program of one member to structured code (`code`)
    passes, directions, accumulation   passes over that code
    loops, refilling                 its LLVM code for vectors of members
    ptx, launch                      its GPU kernel, and how that is launched
    functions                        elementary functions as arithmetic, with their accuracy
    calls, disk                      machine code of kernels, XLA's calls of it, and the cache on disk
    stored, identity, code_facts, dependencies   compiled programs, found on disk without tracing

Nothing here depends on mechanics, models or solvers.
"""

from jaxgait.native.looping import explain, looped
from jaxgait.native.primitives import assuming_finite
from jaxgait.native.program import native
from jaxgait.native.refilling import Lanes, lanes_of
from jaxgait.native.stored import Program, compiled, kept, program_for_all_values, program_of

__all__ = [
    "Lanes",
    "Program",
    "assuming_finite",
    "compiled",
    "explain",
    "kept",
    "lanes_of",
    "looped",
    "native",
    "program_for_all_values",
    "program_of",
]
