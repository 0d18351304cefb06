"""What the mechanisms' kernels take of a GPU does not grow: the table of `experiments.benchmarks.kernels`."""

import json

import pytest

from experiments.benchmarks import kernels
from experiments.benchmarks.mechanisms import MECHANISMS, member, values
from jaxgait.native import ptx
from jaxgait.solve.smooth import REDUNDANT_CHECKS
from tests.native.test_threads import same_bits

WHOLE = json.loads(kernels.PATH.read_text())
TABLE = WHOLE["rows"]
TAKEN = ("stack", "stored", "loaded")
LEAN = [("bungee", False)]

needs_assembler = pytest.mark.skipif(ptx.assembler() is None, reason="there is no ptxas (package nvidia-cuda-nvcc)")


def row_of(name, derivative):
    return [row for row in TABLE if (row["mechanism"], row["derivative"]) == (name, derivative)]


def allowed():
    """What counts as growth: other releases of the assembler, and of LLVM, give numbers of their own."""
    return 1.1 if kernels.assembler_version() == WHOLE["assembler"] else 1.5


def grows(name, derivative):
    found = kernels.rows(name, derivative)
    recorded = row_of(name, derivative)
    assert [row.get("left to XLA") for row in found] == [row.get("left to XLA") for row in recorded]
    for new, old in zip(found, recorded, strict=True):
        if "left to XLA" not in new:
            assert new["registers"] <= 255 and new["processor"] == old["processor"]
            assert all(new[key] <= allowed() * old[key] + 64 for key in TAKEN), (new, old)


def test_all_mechanisms_are_in_the_table():
    assert {(row["mechanism"], row["derivative"]) for row in TABLE} == {
        (n, d) for n in MECHANISMS for d in (False, True)
    }
    assert len(TABLE) > len(MECHANISMS) and not any("left to XLA" in row for row in TABLE)
    row = {"mechanism": "knee", "derivative": False, "left to XLA": "sin of a large array"}
    assert "| left to XLA: sin of a large array |" in kernels.page({"assembler": "13", "rows": [row]})


@needs_assembler
@pytest.mark.parametrize(("name", "derivative"), LEAN)
def test_a_small_kernel_does_not_grow(name, derivative):
    grows(name, derivative)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bungee", "knee", "creeper", "rolling walker"])
def test_kernels_on_this_processor_are_those_of_cpus(name, monkeypatch):
    """Thread after thread, bit for bit."""
    monkeypatch.setenv("JAXGAIT_CACHE", "off")
    same_bits(member(name), values(name, 9), assured=REDUNDANT_CHECKS)


@needs_assembler
@pytest.mark.slow
@pytest.mark.parametrize("derivative", [False, True])
@pytest.mark.parametrize("name", MECHANISMS)
def test_no_kernel_grows(name, derivative):
    grows(name, derivative)
