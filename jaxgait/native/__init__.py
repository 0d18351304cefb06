"""Machine code for ensembles on CPUs and GPUs.

XLA fuses elementwise operations into loops over the batch, one loop per stored result, and recomputes in every loop
whatever it needs. In the long straight-line programs of a solver step (8000 operations on a few numbers) this repeats
most of the work, and compiling it takes minutes. `native` takes an entire JAX program, after `vmap` and
differentiation, and replaces its straight-line parts by one loop each, in which every value is a vector register of
several members, computed once; LLVM compiles it to machine code, which XLA calls. Loops, branches, reductions and
gathers are left to XLA.

`looped` takes a function of one member, before `vmap`, and compiles each of its loops, with everything inside, to one
kernel; a member that is done leaves its lane of a vector to the next one, so that none waits for another. On GPUs every
member is a thread of such a kernel.

    blocks      the program as straight-line blocks, without calls and repetitions
    regions     selection of the parts of a block that become kernels
    instructions  operations on numbers of several members at once, in LLVM's language
    kernel      such a part as a loop over the members, in LLVM's language
    machine     its machine code
    disk        compiled programs, for later processes
    identity    identities of functions, by which their programs are found on disk without tracing
    facts, surroundings  facts about code, and about its surroundings
    stored      programs, compiled or loaded
    calls       calls of kernels by XLA
    primitives  the structure of JAX's loops, branches and calls, in all its versions
    checks      run-time checks of numbers, and their removal
    expansions  functions that processors lack, in arithmetic (the folder `functions`), with their accuracy; for GPUs
                also those of a C library
    rewriting   functions whose programs are rewritten before they run
    program     all of these together
    code        the computation of one member, number by number, with its loops
    reading     from a JAX program of one member to such code
    arrays      rules for operations on arrays
    integers    rules for division of integers
    linear      rules for linear systems
    directions  computations shared by many directions of derivatives, as a loop over them
    accumulation  factors that all directions share, multiplied once
    passes      the passes over the code of an entire loop
    pruning     removal of unused values
    fusing      products and sums as one operation
    loops       such code in LLVM's language, for vectors of members or for one
    scans       rules for loops over arrays
    refilling   loops with vectors whose members do not wait for each other
    lanes       how members share the lanes of a vector, and how many lanes do useful work
    threads     such code as a kernel of a GPU
    ptx         its assembly language, its launch by XLA, its use of a processor's resources
    driver      its launch by NVIDIA's driver, where XLA cannot
    members     the loops of one member as operations, which run over all members once they are batched
    once        prevents XLA from recomputing values, in programs that are not compiled here

Nothing here depends on mechanics, models or solvers.
"""

from jaxgait.native.lanes import Lanes, lanes_of
from jaxgait.native.members import explain, looped
from jaxgait.native.program import native
from jaxgait.native.stored import Program, compiled, general, kept, program_of

__all__ = [
    "Lanes",
    "Program",
    "compiled",
    "explain",
    "general",
    "kept",
    "lanes_of",
    "looped",
    "native",
    "program_of",
]
