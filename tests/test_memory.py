"""Memory that the limits of the process leave."""

import resource
import subprocess
import sys

import pytest

from jaxgait import control_groups, memory

TIGHT = """
import resource
resource.setrlimit(resource.{limit}, (6 << 30, 6 << 30))
import jax
jax.numpy.zeros(8).block_until_ready()  # reserves addresses
from jaxgait import memory
free = memory.free_memory()
assert free < 6 << 30, free
try:
    memory.fits_in_memory("members", 6 << 30, "scan fewer")
except MemoryError as error:
    print(error)
"""


@pytest.mark.parametrize(("limit", "name"), [("RLIMIT_AS", "VmSize"), ("RLIMIT_DATA", "VmData")])
def test_a_limit_of_the_process_counts_what_is_reserved(tmp_path, monkeypatch, limit, name):
    (tmp_path / "status").write_text(f"Name:\tpython\n{name}:\t     400 kB\n")
    monkeypatch.setattr(memory, "STATUS", tmp_path / "status")
    monkeypatch.setattr(control_groups, "free_memory", lambda: None)
    limits = {getattr(resource, limit): (1000 * 1024, 2000 * 1024)}
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda which: limits.get(which, unlimited))
    assert memory.free_memory() == 600 * 1024
    limits[getattr(resource, limit)] = (100 * 1024, 100 * 1024)  # (lowered below what is in use)
    assert memory.free_memory() == 0


@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_a_tight_limit_is_named_in_advance(limit):
    command = [sys.executable, "-c", TIGHT.format(limit=limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "members need 6.44 GB of memory and" in done.stdout and done.stdout.strip().endswith("scan fewer")
