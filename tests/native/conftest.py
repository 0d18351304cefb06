"""What tests of kernels change in the compiler: which loops become kernels, and where programs are kept."""

import pytest


@pytest.fixture
def short_loops(monkeypatch):
    """Every loop becomes a kernel, however short."""
    monkeypatch.setattr("jaxgait.native.looping.MIN_OPERATIONS", 0)


@pytest.fixture
def small_shared_memory(monkeypatch):
    """Threads keep what members share in shared memory, however little it is."""
    monkeypatch.setattr("jaxgait.native.threads.LEAST_NUMBERS", 0)


@pytest.fixture
def no_cache(monkeypatch):
    """Programs and kernels are compiled by every process."""
    monkeypatch.setenv("JAXGAIT_CACHE", "off")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty folder for programs and kernels."""
    monkeypatch.setenv("JAXGAIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"
