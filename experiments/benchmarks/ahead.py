"""Compiles programs for a GPU without one: seconds and kernels, by XLA alone and with one kernel for each loop.

    EQX_ON_ERROR=nan python -m experiments.benchmarks.ahead [MECHANISM ...]     writes ahead.json and AHEAD.md

Needs the packages jax-cuda13-plugin, jax-cuda13-pjrt and nvidia-cuda-nvcc, of JAX's version. XLA does not look at the
kernels' own code: see `kernels`.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
import re
import sys
import time
from typing import Any

MEMBERS = 4096
PATH = pathlib.Path(__file__).with_name("ahead.json")
H100 = """
gpu_device_info {
  cuda_compute_capability { major: 9 minor: 0 }
  threads_per_block_limit: 1024 threads_per_warp: 32 threads_per_core_limit: 2048
  shared_memory_per_block: 49152 shared_memory_per_block_optin: 232448 shared_memory_per_core: 233472
  core_count: 132 fpus_per_core: 128 registers_per_core_limit: 65536 registers_per_block_limit: 65536
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  memory_bandwidth: 3352320000000 l2_cache_size: 52428800 clock_rate_ghz: 1.98 device_memory_size: 84942979072
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 8 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""
"""What XLA must know about a processor, as its `GpuTargetConfigProto`; figures from NVIDIA's data sheet."""
LAUNCHES = re.compile(r"= [^=]*? (fusion|custom-call|copy|sort|scatter|convolution|dot|rng[\w-]*)\(")
"""Instructions of a compiled program that are kernels."""
LOOPS = re.compile(r" while\(.*?condition=%?([\w.-]+), body=%?([\w.-]+)")


def prepare() -> None:
    """Sets what XLA reads from the environment, before JAX is imported."""
    package = importlib.util.find_spec("nvidia")
    folders = list(package.submodule_search_locations or ()) if package is not None else []
    tools = [str(path.parents[1]) for folder in folders for path in pathlib.Path(folder).glob("*/bin/ptxas")]
    if not tools or importlib.util.find_spec("jax_cuda13_plugin") is None:
        sys.exit("compiling for CUDA needs the packages jax-cuda13-plugin, jax-cuda13-pjrt and nvidia-cuda-nvcc")
    os.environ.setdefault("JAX_SKIP_CUDA_CONSTRAINTS_CHECK", "1")
    os.environ.setdefault("EQX_ON_ERROR", "nan")  # (errors that Python raises need a GPU to be compiled)
    flags = f"--xla_gpu_cuda_data_dir={tools[0]} --xla_gpu_autotune_level=0"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}"


def compiled(name: str, derivative: bool, kernels: bool) -> dict[str, Any]:
    """Compiles an ensemble for an H100.

    Args:
        name: of the mechanism.
        derivative: whether final states are differentiated by one parameter.
        kernels: whether loops become kernels, or are left to XLA.

    Returns:
        Seconds of tracing (with the kernels' PTX) and of XLA; kernels and loops of the program; kernels in the longest
        body of a loop, which are launched at every step.
    """
    import jax
    from jax.experimental import topologies
    from jax.sharding import SingleDeviceSharding

    from jaxgait import precision
    from jaxgait.native import looped
    from jaxgait.solve.smooth import REDUNDANT_CHECKS

    from .mechanisms import member

    with precision.use("float64"):
        one = member(name, derivative)
        run = jax.vmap(looped(one, assured=REDUNDANT_CHECKS) if kernels else one)
        topology = topologies.get_topology_desc(platform="cuda", target_config=H100, topology="1x1x1")
        where = SingleDeviceSharding(topology.devices[0])
        begin = time.perf_counter()
        traced = jax.jit(run).trace(jax.ShapeDtypeStruct((MEMBERS,), "float64", sharding=where))
        lowered = traced.lower(lowering_platforms=("cuda",))
        between = time.perf_counter()
        text = lowered.compile().as_text()
    end = time.perf_counter()
    counted = launches(text or "")
    return {"traced_s": between - begin, "compiled_s": end - between, **counted}


def launches(text: str) -> dict[str, int]:
    """Kernels and loops of a compiled program, and kernels of the longest round of a loop."""
    parts = re.findall(r"^(?:ENTRY )?%?([\w.-]+) \(.*?\) -> .*? \{\n(.*?)^\}", text, re.M | re.S)
    within = {name: len(LAUNCHES.findall(lines)) for name, lines in parts}
    rounds = [within[a] + within[b] for a, b in LOOPS.findall(text)]
    entry = re.search(r"^ENTRY %?([\w.-]+)", text, re.M)
    outside = within[entry[1]] if entry else 0
    return {"kernels": outside + sum(rounds), "loops": len(rounds), "kernels_per_step": max(rounds, default=0)}


def page(result: dict[str, Any]) -> str:
    """The result as Markdown."""
    from jaxgait.report import table

    head = ("mechanism", "of", "loops by", "tracing s", "compilation s", "kernels", "loops", "kernels per step")
    cells = []
    for row in result["rows"]:
        kind = "value and derivative" if row["derivative"] else "value"
        seconds = [f"{row[key]:.1f}" for key in ("traced_s", "compiled_s")]
        counts = [str(row[key]) for key in ("kernels", "loops", "kernels_per_step")]
        cells.append([row["mechanism"], kind, "kernels" if row["by_kernels"] else "XLA", *seconds, *counts])
    about = (
        "# Compilation for an H100, without one\n\n"
        f"Written by `python -m experiments.benchmarks.ahead` with jax {result['jax']}: {MEMBERS} members, float64; "
        "seconds of wall time, one after the other on a machine with other work. Tracing includes the kernels' PTX.\n\n"
    )
    return about + table(head, cells) + "\n"


def main() -> None:
    """Compiles the requested programs; writes the files after every row."""
    prepare()
    import jax

    from .mechanisms import MECHANISMS
    from .rows import announce

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mechanisms", nargs="*", default=list(MECHANISMS), metavar="MECHANISM")
    parser.add_argument("--derivative", action="store_true", help="with derivatives by one parameter")
    asked = parser.parse_args()
    table: dict[str, Any] = json.loads(PATH.read_text()) if PATH.exists() else {"rows": []}
    table["jax"] = jax.__version__
    for name in asked.mechanisms:
        for by_kernels in (True, False):
            what = {"mechanism": name, "derivative": asked.derivative, "by_kernels": by_kernels}
            announce(f"{name}, by {'kernels' if by_kernels else 'XLA'}")
            row = {**what, **compiled(name, asked.derivative, by_kernels)}
            others = [r for r in table["rows"] if {key: r[key] for key in what} != what]
            table["rows"] = sorted([*others, row], key=lambda r: (r["derivative"], r["mechanism"], not r["by_kernels"]))
            PATH.write_text(json.dumps(table, indent=1) + "\n")
            PATH.with_name("AHEAD.md").write_text(page(table))


if __name__ == "__main__":
    main()
