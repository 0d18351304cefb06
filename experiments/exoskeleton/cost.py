"""Time to derive and to evaluate the equations of motion, by method.

The times of a shared machine are indicative; what counts is how they grow with n.
"""

from __future__ import annotations

import pathlib
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

from jaxgait.models.exoskeleton import dynamics, formulations, vectors
from jaxgait.models.exoskeleton.elements import Planar, Spatial
from jaxgait.models.exoskeleton.symbolic import equations
from jaxgait.models.exoskeleton.tree import Chain
from jaxgait.plot.panels import legend
from jaxgait.plot.style import axis_label, save, style
from jaxgait.report import Report, table

from . import lagrange
from .expected import MATHEMATICA, MATHEMATICA_RECURRENCE

FORMS = ("closed form", "recurrence", "link vectors", "autodiff, loop", "autodiff, arrays")
SIZES = (1, 2, 3, 5, 10, 20, 50)
LOOP_SIZES = (1, 2, 3, 5, 10)
"""Unrolled programs take a minute to compile at n = 20."""
SPATIAL_SIZES = (2, 5)
MEMBERS = 1000
OTHER_MACHINE = "A different program on a different machine: only the ranking of the methods is compared."


class Cost(NamedTuple):
    """Seconds to trace and compile, microseconds per evaluation, temporary memory in KiB."""

    compile: float
    evaluate: float
    memory: float


def measure(f: Callable[..., Any], *args: Any, repeats: int = 5) -> Cost:
    """Compiles a function once, and evaluates it in rounds of which the best counts."""
    start = time.perf_counter()
    compiled = jax.jit(f).lower(*args).compile()
    seconds = time.perf_counter() - start
    jax.block_until_ready(compiled(*args))
    start = time.perf_counter()
    jax.block_until_ready(compiled(*args))
    count = int(np.clip(0.02 / (time.perf_counter() - start), 1, 500))
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(count):
            result = compiled(*args)
        jax.block_until_ready(result)
        best = min(best, (time.perf_counter() - start) / count)
    analysis = compiled.memory_analysis()
    return Cost(seconds, best * 1e6, getattr(analysis, "temp_size_in_bytes", 0) / 1024)


def setting(kind: type, n: int) -> tuple[Chain, Any, Any]:
    """A serial chain and a state; masses are random, so that no compilation cache helps."""
    rng = np.random.default_rng()
    chain = Chain(tuple(range(n)), (1,) * n, rng.uniform(0.5, 2.0, (n, 3)), np.tile([0.0, 0.5, 1.0], (n, 1)))
    q, rate = (kind(*(jnp.asarray(rng.uniform(0.3, 1.0, n)) for _ in kind._fields)) for _ in range(2))
    return chain, q, rate


def closed_form(chain: Chain, q: Any, rate: Any) -> tuple[jax.Array, Any]:
    """Mass matrix and bias by the paper's matrices."""
    return formulations.mass_matrix(chain, q), formulations.bias(chain, q, rate)


def recurrence(chain: Chain, q: Any) -> Any:
    """All matrices by the paper's recurrence."""
    matrices = None
    for n in range(1, chain.size + 1):
        part = Chain(chain.parent[:n], chain.sign[:n], chain.masses[:n], chain.fractions[:n])
        at = type(q)(*(x[:n] for x in q))
        matrices = dynamics.matrices(part, at) if matrices is None else formulations.attach(matrices, part, at)
    return matrices


def row(kind: type, n: int) -> dict[str, Cost]:
    chain, q, rate = setting(kind, n)
    force = jnp.ones((n, len(q)))
    factor = vectors.factorise(chain)
    out = {
        "closed form": measure(lambda q, r: closed_form(chain, q, r), q, rate),
        "link vectors": measure(lambda f: vectors.accelerations(factor, f, dynamics.G), force),
        "autodiff, arrays": measure(
            lambda q, r: lagrange.mass_matrix_and_bias(lagrange.energy_arrays, chain, q, r), q, rate
        ),
    }
    if kind is Planar and n <= max(LOOP_SIZES):
        out["recurrence"] = measure(lambda q: recurrence(chain, q), q)
    if n in LOOP_SIZES:
        out["autodiff, loop"] = measure(
            lambda q, r: lagrange.mass_matrix_and_bias(lagrange.energy_loop, chain, q, r), q, rate, repeats=2
        )
    return out


def ensemble_cost(n: int) -> float:
    """Microseconds per member of link-vector accelerations in space."""
    chain, _, _ = setting(Spatial, n)
    scale = jnp.linspace(0.8, 1.2, MEMBERS)
    masses = jnp.asarray(chain.masses)
    factors = jax.jit(
        jax.vmap(lambda s: vectors.factorise(Chain(chain.parent, chain.sign, s * masses, chain.fractions)))
    )(scale)
    force = jnp.ones((MEMBERS, n, 3))
    run = jax.vmap(lambda factor, f: vectors.accelerations(factor, f, dynamics.G))
    return measure(run, factors, force, repeats=2).evaluate / MEMBERS


def add_evaluation(report: Report, out: pathlib.Path) -> None:
    plane = {n: row(Planar, n) for n in SIZES}
    space = {n: row(Spatial, n) for n in SPATIAL_SIZES}
    members = {n: ensemble_cost(n) for n in SIZES}
    growth = plane[20]["closed form"].compile / plane[2]["closed form"].compile
    ratio = plane[10]["autodiff, loop"].compile / plane[10]["closed form"].compile
    report.figure("compile_growth", "compile time of the closed form, n = 20 over n = 2 (below 3)", "1", growth)
    report.figure("compile_growth_ok", "that ratio is below 3", "", bool(growth < 3), expected=True)
    report.figure("loop_ratio", "compile time, hand-written Lagrangian over closed form, n = 10 (above 5)", "1", ratio)
    report.figure("loop_ratio_ok", "that ratio is above 5", "", bool(ratio > 5), expected=True)
    headings = ["n", *FORMS, f"link vectors, {MEMBERS} members (µs each)"]
    lines = [_line(f"{n}, plane", costs, members.get(n)) for n, costs in plane.items()]
    lines += [_line(f"{n}, space", costs, None) for n, costs in space.items()]
    report.section(
        "Cost of evaluation",
        "Seconds to trace and compile / microseconds per evaluation / KiB of temporary memory. Closed form and "
        "autodiff give the mass matrix and the bias forces, the recurrence all matrices, the link vectors the "
        "accelerations (W factorised beforehand). Steep growth belongs to unrolled programs: a Lagrangian on arrays "
        "compiles in constant time too. What the closed form gives is clarity, the single terms, and the constant W."
        f"\n\n{table(headings, lines)}",
    )
    report.picture(
        _picture(plane, members, out / "cost.png"), "Compilation and evaluation time against the number of links."
    )


def _line(label: str, costs: dict[str, Cost], member: float | None) -> list[str]:
    cells = [
        f"{costs[x].compile:.2f} / {costs[x].evaluate:.1f} / {costs[x].memory:.1f}" if x in costs else "" for x in FORMS
    ]
    return [label, *cells, "" if member is None else f"{member:.2f}"]


def _picture(plane: dict[int, dict[str, Cost]], members: dict[int, float], path: pathlib.Path) -> pathlib.Path:
    with style():
        figure, axes = plt.subplots(1, 2, figsize=(9, 3.6))
        for name in FORMS:
            at = [n for n, costs in plane.items() if name in costs]
            axes[0].loglog(at, [plane[n][name].compile for n in at], "o-", ms=3, label=name)
            axes[1].loglog(at, [plane[n][name].evaluate for n in at], "o-", ms=3, label=name)
        axes[1].loglog(list(members), list(members.values()), "k--", label=f"link vectors, space, each of {MEMBERS}")
        for ax, title, label in zip(axes, ("compiling", "one evaluation"), ("s", "µs"), strict=True):
            ax.set(title=title, xlabel="links n", ylabel=axis_label("time", label))
            ax.set_xticks(SIZES, [str(n) for n in SIZES])
            ax.minorticks_off()
        legend(figure, ncols=3)
    return save(figure, path)


def add_composing(report: Report, out: pathlib.Path) -> None:
    """Compares the paper's matrices with SymPy's Lagrangian mechanics."""
    headings = ["links", "space", "matrices (s)", "SymPy Lagrange (s)", "ratio"]
    headings += ["paper: matrices", "recurrence", "Lagrange"]
    lines = []
    faster = []
    equations((0,), (1,))  # imports SymPy, which is not to be timed
    for (n, dimension), (slow, fast) in MATHEMATICA.items():
        ours = _seconds(lambda n=n, d=dimension: equations(tuple(range(n)), (1,) * n, d))
        theirs = _seconds(lambda n=n, d=dimension: lagrange.compose_with_sympy(n, d))
        where = "plane" if dimension == 2 else "space"
        between = MATHEMATICA_RECURRENCE.get((n, dimension), "")
        here = [f"{ours:.3f}", f"{theirs:.2f}", f"{theirs / ours:.0f}"]
        lines.append([str(n), where, *here, str(fast), str(between), str(slow)])
        for id, method, seconds, printed in (
            ("compose", "matrices", ours, fast),
            ("lagrange", "Lagrange", theirs, slow),
        ):
            links = f"{n} link{'s' * (n > 1)}, {where}"
            what, paper = f"deriving equations by {method}, {links}", f"{printed} s, in Mathematica"
            report.figure(f"{id}_{n}_{where}", what, "s", seconds, paper=paper, note=OTHER_MACHINE)
        faster.append(ours < theirs)
    what = "matrices are faster than Lagrange's method in all these cases"
    report.figure(
        "matrices_faster", what, "", all(faster), expected=True, paper=all(f < s for s, f in MATHEMATICA.values())
    )
    text = equations((0, 1), (1, 1)).latex()
    (out / "equations_2_links.tex").write_text(text + "\n")
    report.section(
        "Deriving the equations",
        "The paper's aim was to derive equations quickly; `chain.equations()` does so from the matrices. Times are "
        "those of this machine (SymPy) and the paper's (Mathematica), whose recurrence is slower than its direct "
        f"matrix method.\n\n{table(headings, lines)}\n\nTwo links, equal to eq. (4):\n\n$$\n{text}\n$$",
    )


def _seconds(f: Callable[[], Any]) -> float:
    start = time.perf_counter()
    f()
    return time.perf_counter() - start
