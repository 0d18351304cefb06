"""Memory and processors that limits of the process and control groups leave; folders stand for the groups."""

import resource
import subprocess
import sys
from types import SimpleNamespace

import jax
import pytest

from jaxgait.ensembles.plan import default_workers
from jaxgait.solve.dataset import made_by
from jaxgait.support import machine

TIGHT = """
import resource
resource.setrlimit(resource.{limit}, (6 << 30, 6 << 30))
import jax
jax.numpy.zeros(8).block_until_ready()  # reserves addresses
from jaxgait.support import machine
free = machine.free_memory()
assert free < 6 << 30, free
try:
    machine.fits_in_memory("members", 6 << 30, "scan fewer")
except MemoryError as error:
    print(error)
"""


STAT = "anon 100\ninactive_file 30\nactive_file 20\n"
SECOND = {
    "docker/memory.max": "1000\n",
    "docker/memory.current": "400\n",
    "docker/memory.stat": STAT,
    "docker/cpu.max": "150000 100000\n",
    "docker/job/memory.max": "max\n",
    "docker/job/memory.current": "300\n",
    "docker/job/cpu.max": "max 100000\n",
    "memory.stat": STAT,
}
FIRST = {
    "memory/slurm/memory.limit_in_bytes": "1000\n",
    "memory/slurm/memory.usage_in_bytes": "400\n",
    "memory/slurm/memory.stat": "inactive_file 5\ntotal_inactive_file 30\n",
    "memory/memory.limit_in_bytes": "9223372036854771712\n",
    "memory/memory.usage_in_bytes": "5000\n",
    "cpu/slurm/cpu.cfs_quota_us": "150000\n",
    "cpu/slurm/cpu.cfs_period_us": "100000\n",
    "cpu/cpu.cfs_quota_us": "-1\n",
    "cpu/cpu.cfs_period_us": "100000\n",
}
AT_THE_TOP = {
    "memory.max": "1000\n",
    "memory.current": "400\n",
    "memory.stat": STAT,
    "cpu.max": "150000 100000\n",
}
BOTH = {f"unified/{name}": text for name, text in AT_THE_TOP.items()}


def _groups(tmp_path, monkeypatch, own, files):
    for name, text in files.items():
        path = tmp_path / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "own").write_text(own)
    monkeypatch.setattr(machine, "GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(machine, "OWN_GROUPS", tmp_path / "own")


@pytest.mark.parametrize(
    ("own", "files"),
    [
        ("0::/docker/job\n", SECOND),
        ("4:memory:/slurm/step\n3:cpu,cpuacct:/slurm\n0::/\n", FIRST),
        ("0::/a/path/of/the/host\n", AT_THE_TOP),
        ("2:pids:/a\n0::/\n", BOTH),
    ],
    ids=["version 2", "version 1", "a container without its path", "both versions"],
)
def test_the_tightest_limit_counts(tmp_path, monkeypatch, own, files):
    _groups(tmp_path, monkeypatch, own, files)
    assert machine.free_memory() == 1000 - (400 - 30)  # its idle cache of files is free
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(8), raising=False)
    assert machine.processors() == 2  # of 1.5
    assert default_workers(1) == 2 and default_workers(2) == 1


@pytest.mark.parametrize(
    ("own", "files"),
    [("", {}), ("0::/\n", {"memory.max": "max\n", "memory.current": "4\n", "cpu.max": "max 100000\n"})],
    ids=["no groups", "no limits"],
)
def test_without_limits_those_of_the_machine_are_left(tmp_path, monkeypatch, own, files):
    _groups(tmp_path, monkeypatch, own, files)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(8), raising=False)
    assert machine.free_memory() > 1_000_000 and default_workers(1) == 8


def test_an_exceeded_limit_leaves_nothing(tmp_path, monkeypatch):
    _groups(tmp_path, monkeypatch, "0::/\n", {"memory.max": "100\n", "memory.current": "4000\n"})
    assert machine.free_memory() == 0


@pytest.mark.parametrize(("limit", "name"), [("RLIMIT_AS", "VmSize"), ("RLIMIT_DATA", "VmData")])
def test_a_limit_of_the_process_counts_what_is_reserved(tmp_path, monkeypatch, limit, name):
    (tmp_path / "status").write_text(f"Name:\tpython\n{name}:\t     400 kB\n")
    monkeypatch.setattr(machine, "STATUS", tmp_path / "status")
    monkeypatch.setattr(machine, "OWN_GROUPS", tmp_path / "none")
    limits = {getattr(resource, limit): (1000 * 1024, 2000 * 1024)}
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", lambda which: limits.get(which, unlimited))
    assert machine.free_memory() == 600 * 1024
    limits[getattr(resource, limit)] = (100 * 1024, 100 * 1024)  # (lowered below what is in use)
    assert machine.free_memory() == 0


@pytest.mark.slow
@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_a_tight_limit_is_named_in_advance(limit):
    command = [sys.executable, "-c", TIGHT.format(limit=limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "members need 6.44 GB of memory and" in done.stdout and done.stdout.strip().endswith("scan fewer")


def test_a_machine_with_a_gpu_computes_on_the_cpu_where_that_is_the_default_device(monkeypatch):
    kinds = {name: [SimpleNamespace(platform=name, device_kind=name)] * n for name, n in {"gpu": 2, "cpu": 1}.items()}
    monkeypatch.setattr(jax, "local_devices", lambda backend=None: kinds[backend or "gpu"])
    monkeypatch.setattr(machine, "processors", lambda: 4)
    assert (machine.devices(), default_workers(1), made_by()["device"]) == (kinds["gpu"], 1, "gpu")
    with jax.default_device("cpu"):
        assert (machine.devices(), default_workers(1), made_by()["device"]) == (kinds["cpu"], 4, "cpu")


def test_sizes_are_written_without_powers_of_ten():
    assert [machine.size_text(size) for size in (999, 999_900, 2e12)] == ["999 B", "1 MB", "2 TB"]
