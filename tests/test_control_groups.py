"""Limits of control groups of both versions, in folders like those of Linux."""

import pytest

from jaxgait import control_groups
from jaxgait.ensembles.plan import default_workers
from jaxgait.memory import free_memory

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
    monkeypatch.setattr(control_groups, "ROOT", tmp_path / "cgroup")
    monkeypatch.setattr(control_groups, "OWN", tmp_path / "own")


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
    assert control_groups.free_memory() == free_memory() == 1000 - (400 - 30)  # its idle cache of files is free
    assert control_groups.processors() == 1.5
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(8), raising=False)
    assert default_workers(1) == 2 and default_workers(2) == 1


@pytest.mark.parametrize(
    ("own", "files"),
    [("", {}), ("0::/\n", {"memory.max": "max\n", "memory.current": "4\n", "cpu.max": "max 100000\n"})],
    ids=["no groups", "no limits"],
)
def test_without_limits_those_of_the_machine_are_left(tmp_path, monkeypatch, own, files):
    _groups(tmp_path, monkeypatch, own, files)
    assert control_groups.free_memory() is None and control_groups.processors() is None
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(8), raising=False)
    assert free_memory() > 1_000_000 and default_workers(1) == 8


def test_an_exceeded_limit_leaves_nothing(tmp_path, monkeypatch):
    _groups(tmp_path, monkeypatch, "0::/\n", {"memory.max": "100\n", "memory.current": "4000\n"})
    assert control_groups.free_memory() == 0
