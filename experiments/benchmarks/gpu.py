"""Everything that needs a GPU, in one call: speed against XLA alone and the CPU, and results against those of the CPU.

    python -m experiments.benchmarks.gpu [--quick] [--out DIR] [--parts PART ...]
    python -m experiments.benchmarks.gpu --join DIR DIR ... [--out DIR]    parts that ran apart, on GPUs of one kind

Writes gpu.json, GPU.md and GPU.png after every figure, so that a run that is cut off keeps what it has; ends with 2
where JAX finds no GPU, and with 1 where a result is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import datetime
import json
import os
import pathlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

from jaxgait import ensemble, precision
from jaxgait.models.prosthesis.model import Prosthesis
from jaxgait.native import looped, threads
from jaxgait.solve.explicit import Tsit5
from jaxgait.solve.rosenbrock import Ros4
from jaxgait.solve.smooth import REDUNDANT_CHECKS, Smooth

from . import gpu_page, knee, lorenz
from .mechanisms import MECHANISMS, member, values
from .rows import Target, announce

LEAST_ALLOWED: dict[precision.Precision, float] = {"float64": 1e-9, "float32": 1e-3}
"""Difference of a final state from the CPU's, relative to its largest component of all members, always allowed."""
ROUNDING_MARGIN = 30.0
"""Further difference allowed, as a multiple of what the CPU shows if the parameter is changed in its last digit.

Rounding differs between processors where XLA computes (which products and sums become one operation), and steps that
adapt themselves carry it on, up to their own tolerances.
"""
BATCH_ON_CPU = 64
"""Largest number of members that a core runs together, as `ensemble` chooses where the CPU is JAX's default device."""
REPEATS = 3
SPANS = {"duration": "s", "strides": "stride"}
"""What the spans of `MECHANISMS` count; none of them has several strides."""
MISSING = 2
WRONG = 1


@dataclasses.dataclass
class Found:
    """What was measured and compared, written to the files after every addition; `rows` have one form for each kind."""

    about: dict[str, Any]
    folder: pathlib.Path
    rows: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    targets: list[Target] = dataclasses.field(default_factory=list)

    def add(self, row: dict[str, Any]) -> None:
        """One more row."""
        self.rows.append(row)
        self._write()

    def judge(self, target: Target) -> None:
        """One more target."""
        self.targets.append(target)
        self._write()

    def _write(self) -> None:
        whole = {**self.about, "rows": self.rows, "targets": [t.as_dict() for t in self.targets]}
        gpu_page.write(whole, self.folder)

    @property
    def wrong(self) -> list[str]:
        """Names of the rows that do not agree with the CPU."""
        return [f"{row['mechanism']}, {row['precision']}" for row in self.rows if row.get("agrees") is False]


def seconds(run: Callable[..., Any], *args: Any, repeats: int = 5) -> tuple[float, float, Any]:
    """Seconds of compilation (with the first run) and of the best run after it, and the results."""
    begin = time.perf_counter()
    result = jax.block_until_ready(run(*args))
    first, best = time.perf_counter() - begin, np.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        result = jax.block_until_ready(run(*args))
        best = min(best, time.perf_counter() - begin)
    return first, best, result


# --- kernels, and XLA alone -------------------------------------------------------------------------------------------


class Timed(NamedTuple):
    """A program's best time in s and its first result."""

    seconds: float
    result: np.ndarray


def timed(
    found: Found, problem: str, members: int, code: str, run: Callable[..., Any], *args: Any, other: Timed | None = None
) -> Timed:
    """Adds a row for a program, with the difference of its results from those of another that does the same."""
    announce(f"{problem}: {code}")
    first, best, result = seconds(jax.jit(run), *args)
    end = np.asarray(jax.tree.leaves(result)[0], float)
    row = {"problem": problem, "members": members, "code": code, "seconds": best, "first_s": first}
    if other is not None:
        row["difference"] = float(np.max(np.abs(end - other.result)) / np.max(np.abs(other.result)))
    found.add(row)
    return Timed(best, end)


def lorenz_part(found: Found, quick: bool) -> None:
    """The published benchmark: fixed steps in float32."""
    members, problem = 2**13 if quick else 2**17, "Lorenz, 1000 fixed steps, float32"
    with precision.use("float32"):
        rho = jnp.linspace(0.0, 21.0, members, dtype=jnp.float32)
        ours = jax.vmap(looped(lorenz.member(Tsit5(), False, jnp.float32)))
        stock = jax.vmap(lorenz.member(diffrax.Tsit5(), False, jnp.float32))
        kernel = timed(found, problem, members, "one kernel", ours, rho)
        others = timed(found, problem, members, "diffrax, vmapped", stock, rho, other=kernel)
    ratio = others.seconds / kernel.seconds
    found.judge(Target(f"Lorenz, {members} members, ms", 3.0, 1e3 * kernel.seconds, True, full_size=not quick))
    found.judge(Target("Lorenz: vmapped diffrax over one kernel", 20.0, ratio, full_size=not quick))


def knee_part(found: Found, quick: bool, xla: bool = False) -> None:
    """One stride of the knee in float64, by the number of members; XLA alone takes minutes to compile it."""
    sizes, problem = (1056,) if quick else (1056, 8448, 33792), "knee, 1 stride, float64"
    with precision.use("float64"):
        settings = Smooth.of(Prosthesis(), solver=Ros4())
        one = lambda k, span, rtol: knee.angles(k, knee.RATIO * k, span, rtol, settings)
        batch = lambda run: jax.vmap(run, in_axes=(0, None, None))
        for members in sizes[-1:] if xla else sizes:
            args = knee.springs(members), jnp.asarray(1.0), jnp.asarray(1e-5)
            kernel = timed(found, problem, members, "one kernel", batch(looped(one, assured=REDUNDANT_CHECKS)), *args)
        if not xla:
            with shared_from(sys.maxsize):
                code = "one kernel, nothing in shared memory"
                timed(found, problem, members, code, batch(looped(one, assured=REDUNDANT_CHECKS)), *args, other=kernel)
            target = Target(f"knee, {members} members, ms", 150.0, 1e3 * kernel.seconds, True, full_size=not quick)
            found.judge(target)
            return
        others = timed(found, problem, members, "XLA", batch(one), *args, other=kernel)
    found.judge(Target("knee: XLA over one kernel", 20.0, others.seconds / kernel.seconds, full_size=not quick))


@contextlib.contextmanager
def shared_from(numbers: int) -> Iterator[None]:
    """Kernels that share at least this many numbers between all members keep them in shared memory."""
    before, threads.LEAST_NUMBERS = threads.LEAST_NUMBERS, numbers
    try:
        yield
    finally:
        threads.LEAST_NUMBERS = before


def kernels_part(found: Found, quick: bool) -> None:
    """The kernels of all mechanisms."""
    members = 1056 if quick else 33792
    with precision.use("float64"):
        for name in MECHANISMS:
            span = ", ".join(f"{x:g} {SPANS[what]}" for what, x in MECHANISMS[name].span.items())
            problem, x = f"{name}, {span}, float64", values(name, members)
            run = lambda name=name: jax.vmap(looped(member(name), assured=REDUNDANT_CHECKS))
            kernels = timed(found, problem, members, "kernels", run(), x)
            if name == "jumper":  # (which shares too few numbers)
                with shared_from(0):
                    timed(found, problem, members, "kernels, with shared memory", run(), x, other=kernels)


# --- against the CPU next to it ---------------------------------------------------------------------------------------


def scanned(found: Found, name: str, members: int, kind: precision.Precision = "float64") -> None:
    """Times `ensemble` on the GPU and on all cores of the CPU, from the call to labelled results."""
    announce(f"{name}, {members} members, {kind}: ensemble on both")
    mechanism = MECHANISMS[name]
    model, asked = mechanism.model(), {mechanism.parameters[0]: np.asarray(values(name, members))}
    run = lambda **more: ensemble(model, asked, **mechanism.span, precision=kind, progress=False, **more)
    first, least, _ = seconds(run, repeats=REPEATS)
    cores = os.cpu_count() or 1
    batch = min(BATCH_ON_CPU, -(-members // cores))
    with jax.default_device(jax.devices("cpu")[0]):
        first_cpu, least_cpu, _ = seconds(lambda: run(workers=cores, batch=batch), repeats=REPEATS)
    times = {"gpu_s": least, "cpu_s": least_cpu, "gpu_first_s": first, "cpu_first_s": first_cpu}
    found.add({"scan": name, "precision": kind, "members": members, "cores": cores, **times})


def scans(found: Found, quick: bool) -> None:
    """All mechanisms."""
    for name in MECHANISMS:
        scanned(found, name, 512 if quick else 8192)


def sizes(found: Found, quick: bool) -> None:
    """The knee, by the number of members."""
    for members in (64, 512) if quick else (64, 512, 4096, 16384, 65536):
        scanned(found, "knee", members)
    scanned(found, "knee", 512 if quick else 16384, "float32")


# --- results ----------------------------------------------------------------------------------------------------------


def compared(found: Found, kind: precision.Precision, derivative: bool, quick: bool) -> None:
    """All mechanisms on the GPU and on the CPU."""
    cpu = jax.devices("cpu")[0]
    members = 65 if quick else 257  # (the last block of threads has one member)
    with precision.use(kind):
        for name in MECHANISMS:
            announce(f"{name}, {kind}, {'derivative' if derivative else 'value'}")
            run = jax.jit(jax.vmap(looped(member(name, derivative), assured=REDUNDANT_CHECKS)))
            x = jnp.asarray(values(name, members), kind)
            reference = run(jax.device_put(x, cpu))
            perturbed = run(jax.device_put(jnp.nextafter(x, jnp.full_like(x, jnp.inf)), cpu))
            rounding = agreement(perturbed, reference, np.inf)["difference"]
            about = {"mechanism": name, "precision": kind, "derivative": derivative, "members": members}
            found.add({**about, **agreement(run(x), reference, allowed(kind, rounding)), "rounding": rounding})


def allowed(kind: precision.Precision, rounding: float) -> float:
    """The difference between GPU and CPU that is allowed; none where the CPU's own (`rounding`) is no number."""
    return max(LEAST_ALLOWED[kind], ROUNDING_MARGIN * rounding) if np.isfinite(rounding) else -np.inf


def agreement(ours: dict[str, Any], reference: dict[str, Any], allowed: float) -> dict[str, Any]:
    """How results on the GPU differ from those on the CPU.

    Args:
        ours: groups of results by name, with an axis over the members.
        reference: the same from the CPU.
        allowed: largest difference, over the largest size of a number among all members.

    Returns:
        The largest difference and whether it is allowed, with equal statuses; how many members ended as the CPU's.
    """
    groups = [(ours[g], reference[g]) for g in ("observed", "gradient") if g in ours]
    pairs = [(np.asarray(a[n], float), np.asarray(b[n], float)) for a, b in groups for n in b]
    same = np.asarray(ours["outcome"]["status"]) == np.asarray(reference["outcome"]["status"])
    worst = max((_difference(a, b) for a, b in pairs), default=0.0)
    return {"difference": worst, "same_status": float(same.mean()), "agrees": bool(worst <= allowed and same.all())}


def _difference(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference over the largest size; infinite where only one of the two is a number."""
    if not np.array_equal(np.isnan(a), np.isnan(b)):
        return float(np.inf)
    size = np.nanmax(np.abs(b), initial=0.0, where=~np.isnan(b))
    return float(np.nanmax(np.abs(a - b), initial=0.0, where=~np.isnan(b)) / max(size, np.finfo(float).tiny))


# --- the command ------------------------------------------------------------------------------------------------------


def gpu() -> Any | None:
    """The first GPU that JAX finds; None where there is none."""
    try:
        return jax.devices("gpu")[0]
    except RuntimeError:
        return None


PARTS: dict[str, Callable[[Found, bool], None]] = {
    "lorenz": lorenz_part,
    "knee": knee_part,
    "kernels": kernels_part,
    "scans": scans,
    "sizes": sizes,
    "float64": lambda found, quick: compared(found, "float64", False, quick),
    "float32": lambda found, quick: compared(found, "float32", False, quick),
    "derivatives": lambda found, quick: compared(found, "float64", True, quick),
    "xla": lambda found, quick: knee_part(found, quick, xla=True),
}


def main(arguments: list[str] | None = None) -> int:
    """Runs the requested parts; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes: a look whether all of it works")
    parser.add_argument(
        "--out", type=pathlib.Path, default=pathlib.Path(__file__).parent, help="folder for the results"
    )
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--join", nargs="+", type=pathlib.Path, help="folders of earlier runs to write as one")
    parser.add_argument("--note", action="append", default=[], help="what a reader of the page must know")
    asked = parser.parse_args(arguments)
    asked.out.mkdir(parents=True, exist_ok=True)
    if asked.join:
        runs = [json.loads((folder / "gpu.json").read_text()) for folder in asked.join]
        gpu_page.write(gpu_page.joined(runs, asked.note), asked.out)
        return 0
    device = gpu()
    if device is None:
        others = ", ".join(sorted({d.platform for d in jax.devices()}))
        print(f"no GPU: JAX finds only {others}; install jax[cuda13] on a machine with one", file=sys.stderr)
        return MISSING
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    about = {"gpu": device.device_kind, "jax": jax.__version__, "date": today, "notes": asked.note}
    found = Found(about, asked.out)
    for name in asked.parts:
        PARTS[name](found, asked.quick)
    print((asked.out / "GPU.md").read_text())
    if found.wrong:
        print(f"not as on the CPU: {'; '.join(found.wrong)}", file=sys.stderr)
    return WRONG if found.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
