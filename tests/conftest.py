"""Tests run in float64 with strict ranks, dtypes and annotations, headless pictures and a compilation cache."""

import functools
import gc
import importlib.util
import os
import pathlib
import pkgutil
import sys

import jax
import matplotlib
import pytest
from jax._src import traceback_util
from jaxtyping import install_import_hook

matplotlib.use("Agg")
# The tests compile far more than they compute. XLA's older emitters take half as long, and beside another worker one
# thread is enough. JAX 0.12 has no older ones, and ends at a flag that it does not know. `XLA_FLAGS= python -m pytest`
# tests the default ones.
if jax.__version_info__ < (0, 12):
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1")
# Compiling makes millions of small objects that stay: collecting garbage took 5 % of the time of the knee's tests.
gc.set_threshold(50_000, 20, 20)
# For each check within diffrax, equinox asks JAX of every frame on the stack whether its file belongs to JAX, and JAX
# asks the file system: 6 % of the time of tests that compile solvers.
if hasattr(traceback_util, "_path_starts_with"):
    traceback_util._path_starts_with = functools.cache(traceback_util._path_starts_with)

package = importlib.util.find_spec("jaxgait")
assert package is not None
modules = [module.name for module in pkgutil.iter_modules(package.submodule_search_locations)]
# Not `native`: a compiler calls millions of small functions, and checking each call took 30 % of that.
install_import_hook([f"jaxgait.{name}" for name in modules if name != "native"], "beartype.beartype")

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update(
    "jax_compilation_cache_dir",
    os.environ.get("JAX_COMPILATION_CACHE_DIR", str(pathlib.Path(__file__).parents[1] / ".jax_cache")),
)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Several processes (`-n 2`) take over each other's tests, which differ much in length, unless told otherwise.

    Not an option in `pyproject.toml`: without xdist (`-p no:xdist`, for a debugger) pytest would not know it.
    """
    if getattr(config.option, "numprocesses", None) and config.option.dist == "no":
        config.option.dist = "worksteal"


def pytest_sessionfinish():
    """At the end pytest collects garbage five times: a minute and more, if it looks at all that was compiled."""
    gc.freeze()


@pytest.fixture
def only_new_garbage():
    """For tests that collect garbage: not among the millions of objects that earlier tests compiled."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def without_bytecode(monkeypatch):
    """For modules that a test rewrites at once: bytecode stands for a source until this changes by a second."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


@pytest.fixture
def unaligned(monkeypatch):
    """Fitted legs keep the height of `with_drive`: for tests of other things than alignment, which takes seconds."""
    monkeypatch.setattr("jaxgait.models.prosthesis.fitting.aligned", lambda leg: leg)
