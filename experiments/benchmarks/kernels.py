"""GPU resources of the mechanisms' kernels: registers and spills, by NVIDIA's assembler, for which no GPU is needed.

python -m experiments.benchmarks.kernels            writes kernels.json and KERNELS.md next to this file
"""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
from typing import Any

from jaxgait import precision
from jaxgait.native import ptx
from jaxgait.native.code import count
from jaxgait.native.looping import outermost
from jaxgait.native.reading import Unsupported
from jaxgait.report import table
from jaxgait.solve.smooth import REDUNDANT_CHECKS

from .mechanisms import MECHANISMS, member, values
from .rows import announce

ARCHITECTURES = ("sm_75", "sm_80", "sm_90")
PATH = pathlib.Path(__file__).with_name("kernels.json")


def rows(name: str, derivative: bool) -> list[dict[str, Any]]:
    """A row for each loop of a mechanism's member and processor; what is left to XLA has a reason in place of numbers.

    Args:
        name: of the mechanism.
        derivative: whether its final state is differentiated by one parameter.
    """
    with precision.use("float64"):
        loops = outermost(member(name, derivative), values(name, 1)[0], assured=REDUNDANT_CHECKS)
    found = []
    for i, loop in enumerate(loops):
        what = {"mechanism": name, "derivative": derivative, "loop": i}
        if isinstance(loop.code, str):
            found.append({**what, "left to XLA": loop.code})
            continue
        code = loop.code.threads
        try:
            _, text = ptx.written(code, ptx.BLOCK_THREADS[0], loop.shared, loop.sizes)
        except Unsupported as reason:
            found.append({**what, "left to XLA": str(reason)})
            continue
        what |= {"operations": count(code.statements), "arrays": len(code.memories)}
        found += [{**what, "processor": a, **ptx.resources(text, a)._asdict()} for a in ARCHITECTURES]
    return found


def page(result: dict[str, Any]) -> str:
    """The result as Markdown."""
    head = ("mechanism", "of", "operations", "processor", "registers", "stack", "stored", "loaded")
    cells = []
    for row in result["rows"]:
        kind = "value and derivative" if row["derivative"] else "value"
        if "left to XLA" in row:
            numbers = [f"left to XLA: {row['left to XLA']}", "", "", "", "", ""]
        else:
            numbers = [str(row[key]) for key in ("operations", "processor", *ptx.Resources._fields)]
        cells.append([row["mechanism"], kind, *numbers])
    about = (
        "# GPU kernels: registers and spills\n\n"
        "Written by `python -m experiments.benchmarks.kernels`: one thread per member, float64; a row for each loop of "
        "a member that is a kernel, for ensembles that differ in one parameter. A register has 4 bytes, and a thread "
        "has at most 255; what does not fit is stored in the thread's memory and loaded again (bytes in the program's "
        "text). "
        f"By ptxas {result['assembler']}, without a GPU.\n\n"
    )
    return about + table(head, cells) + "\n"


def assembler_version() -> str:
    """The release of NVIDIA's assembler, such as 13.0.88.

    Raises:
        FileNotFoundError: if it is missing.
    """
    text = subprocess.run([ptx.required_assembler(), "--version"], check=True, capture_output=True, text=True).stdout
    release = re.search(r"V([\d.]+)", text)
    return release[1] if release else text


def main() -> None:
    """Writes both files."""
    result: dict[str, Any] = {"assembler": assembler_version(), "rows": []}
    for derivative in (False, True):
        for name in MECHANISMS:
            announce(f"{name}, {'derivative' if derivative else 'value'}")
            result["rows"] += rows(name, derivative)
            PATH.write_text(json.dumps(result, indent=1) + "\n")
            PATH.with_name("KERNELS.md").write_text(page(result))


if __name__ == "__main__":
    main()
