"""Machine code for ensembles on CPUs and GPUs.

XLA fuses elementwise operations into loops over the batch, one loop per stored result, and computes anew in every loop
whatever it needs. In the long straight-line programs of a solver step (8000 operations on a few numbers) this repeats
most of the work, and compiling it takes minutes. `native` takes a whole JAX program, after `vmap` and differentiation,
and replaces its straight-line parts by one loop each, in which every value is a vector register of several members,
computed once; LLVM makes machine code of it, which XLA calls. Loops, branches, reductions and gathers stay XLA's.

`looped` takes a function of one member, before `vmap`, and makes one kernel of each of its loops, all that is inside
included; a member that is done leaves its lane of a vector to the next one, so that none waits for another. On GPUs
every member is a thread of such a kernel.

    blocks      the program as straight-line blocks, without calls and repetitions
    regions     which parts of a block become a kernel
    instructions  operations on numbers of several members at once, in LLVM's language
    kernel      such a part as a loop over the members, in LLVM's language
    machine     its machine code
    disk        what was compiled, for the next process
    identity    what a function is, so that its program is found there without tracing
    facts, surroundings  facts about code, and about what surrounds it
    stored      programs, compiled or found
    calls       how XLA calls it
    primitives  what JAX's loops, branches and calls are made of, in all its versions
    checks      checks of numbers at run time that are left out
    expansions  functions that processors lack, in arithmetic (the folder `functions`), and how exact they are; for
                GPUs, that of a C library, too
    rewriting   functions whose programs are written again before they run
    program     all of it together
    code        what one member computes, number by number, with its loops
    reading     from a JAX program of one member to such code
    arrays      what happens to arrays on the way
    integers    division of integers on the way
    linear      linear systems on the way
    directions  what is done alike for many directions of derivatives, as a loop over them
    passes      the code of an entire loop, after all of this
    fusing      products and sums as one operation
    loops       such code in LLVM's language, for vectors of members or for one
    scans       loops over arrays on the way
    refilling   the same, with vectors whose members do not wait for each other
    lanes       how members share the lanes of a vector, and how much of that is work
    threads     such code as a kernel of a GPU
    ptx         its assembly language, how XLA launches it, what it takes of a processor
    driver      how NVIDIA's driver launches it, where XLA cannot
    members     the loops of one member as operations, over all members once they are batched
    once        values that XLA shall not compute again, in programs that do not come here

Nothing here knows of mechanics: no model and no solver knows of it.
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
