"""Kernels of GPUs without a GPU: their assembly language, what takes them, and how programs for CUDA call them."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.native import explain, looped, ptx
from jaxgait.native.looping import LOOP
from jaxgait.native.lru_cache import LRUCache
from tests.native.test_looping import PROGRAMS

ARCHITECTURES = ("sm_75", "sm_80", "sm_90")
needs_assembler = pytest.mark.skipif(ptx.assembler() is None, reason="there is no ptxas (package nvidia-cuda-nvcc)")


@pytest.fixture(autouse=True)
def launched_by_xla(short_loops, monkeypatch):
    """Whichever version of JAX is installed."""
    monkeypatch.setenv("JAXGAIT_GPU_LAUNCH", "xla")


def lowered(function, *args):
    """The program for CUDA of a function of one member."""
    return jax.jit(jax.vmap(looped(function))).trace(*args).lower(lowering_platforms=("cuda",)).as_text()


def loop(function, *args):
    program = jax.make_jaxpr(jax.vmap(looped(function)))(*args)
    return next(e for e in program.jaxpr.eqns if e.primitive is LOOP)


def written(e):
    """PTX of a loop."""
    shared = e.params["shared"]
    sizes = [int(np.prod(v.aval.shape[0 if same else 1 :])) for v, same in zip(e.invars, shared, strict=True)]
    return ptx.written(e.params["code"].it.threads, e.params["members"], shared, sizes)[1]


@pytest.mark.slow
@needs_assembler
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_assembler_takes_all_kernels(name):
    """For every processor, nothing of small programs beyond the registers but arrays of their own."""
    function, args = PROGRAMS[name]
    text = written(loop(function, jnp.asarray(args)))
    for architecture in ARCHITECTURES:
        found = ptx.resources(text, architecture)
        assert (
            0 < found.registers <= (192 if name in ("scans", "a rebuilt array") else 128)
            and found.stored == found.loaded == 0
        )
        assert found.stack == 0 or name == "scans"


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_product_and_sum_is_rounded_or_fused_explicitly(name):
    """The assembler joins products and sums without a rounding of their own; all of ours have one."""
    function, args = PROGRAMS[name]
    text = written(loop(function, jnp.asarray(args)))
    assert not re.findall(r"\b(?:add|sub|mul)(?:\.ftz)?\.f\d\d", text)
    assert re.findall(r"\bfma\.rn\.f\d\d", text) or name in ("integer", "table", "extremes")


@needs_assembler
def test_the_assembler_finds_faults():
    with pytest.raises(ValueError, match=r"ptxas rejects the kernel for sm_90: .*sense"):
        ptx.resources(".version 6.3\n.target sm_75\n.address_size 64\nsense\n", "sm_90")


def test_programs_for_cuda_launch_one_kernel():
    x = jnp.asarray(PROGRAMS["memory"][1])
    text = lowered(PROGRAMS["memory"][0], jnp.concatenate([x] * 20))
    assert text.count("custom_call") == text.count("__gpu$xla.gpu.ptx") == 1 and "stablehlo.while" not in text
    assert "block_x = 64 : i32" in text and "grid_x = 3 : i32" in text and ".target sm_75" in text
    name = re.search(r'name = "(jaxgait_\w+)"', text)
    assert name is not None and f".visible .entry {name[1]}(" in text


def test_programs_for_cuda_are_left_to_xla_where_kernels_cannot():
    text = lowered(lambda x: jax.lax.while_loop(lambda y: y < 1.0, lambda y: y + jax.lax.erf(y), x), jnp.ones(3))
    assert "__gpu$xla.gpu.ptx" not in text and "stablehlo.while" in text


def test_a_fault_of_the_compiler_costs_only_speed(monkeypatch):
    def fails():
        raise RuntimeError("No available targets are compatible with triple")

    monkeypatch.setattr("jaxgait.native.ptx._machine", fails)
    monkeypatch.setattr("jaxgait.native.ptx._written", LRUCache(1))
    monkeypatch.setenv("JAXGAIT_CACHE", "off")
    with pytest.warns(RuntimeWarning, match="leaves a loop to XLA: RuntimeError\\('No available targets"):
        text = lowered(PROGRAMS["real"][0], jnp.ones(3))
    assert "custom_call" not in text and "stablehlo.while" in text


def test_programs_for_cuda_of_no_member_and_of_one():
    root = PROGRAMS["real"][0]
    assert "custom_call" not in lowered(root, jnp.ones(0))
    alone = jax.jit(looped(root)).trace(jnp.asarray(2.0)).lower(lowering_platforms=("cuda",)).as_text()
    assert "grid_x = 1 : i32" in alone


def test_programs_for_other_processors_are_those_of_xla():
    x = jnp.ones(3)
    text = jax.jit(jax.vmap(looped(PROGRAMS["real"][0]))).trace(x).lower(lowering_platforms=("tpu",)).as_text()
    assert "custom_call" not in text and "stablehlo.while" in text


def test_every_kernel_is_written_once(monkeypatch):
    e = loop(PROGRAMS["real"][0], jnp.ones(5))
    arguments = e.params["code"].it.threads, 5, e.params["shared"], [1] * len(e.invars)
    first = ptx.written(*arguments)
    monkeypatch.setattr("jaxgait.native.ptx._compiled", None)
    assert ptx.written(*arguments) == first


@needs_assembler
def test_explain_reports_the_resources_of_a_kernel():
    text = explain(PROGRAMS["memory"][0], 1.0, gpu="sm_90")
    assert re.search(r"1 arrays in memory; on sm_90 \d+ registers, 0 bytes of spill stores and 0 of spill loads$", text)
    table = jnp.arange(99.0) > 3.0  # (a constant of the kernel)
    fast = lambda y: jax.lax.while_loop(
        lambda y: y < 98.0, lambda y: y + jnp.exp(jnp.where(table[y.astype(int)], y, 1.0)), y
    )
    assert "1 arrays in memory; on sm_90" in explain(fast, jnp.ones(()), gpu="sm_90")
    erf = lambda x: jax.lax.while_loop(lambda y: y < 1.0, lambda y: y + jax.lax.erf(y), x)
    assert "on sm_90 left to XLA: erf" in explain(erf, 0.5, gpu="sm_90")


def test_explain_without_an_assembler_raises(monkeypatch):
    monkeypatch.setattr("jaxgait.native.ptx.assembler", lambda: None)
    with pytest.raises(FileNotFoundError, match="ptxas was not found: install nvidia-cuda-nvcc"):
        explain(PROGRAMS["memory"][0], 1.0, gpu="sm_90")
