"""Tests run in float64 with strict ranks and dtypes, headless pictures and a persistent compilation cache."""

import os
import pathlib

import matplotlib
import pytest

matplotlib.use("Agg")

import jax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update(
    "jax_compilation_cache_dir",
    os.environ.get("JAX_COMPILATION_CACHE_DIR", str(pathlib.Path(__file__).parents[1] / ".jax_cache")),
)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)


@pytest.fixture
def unaligned(monkeypatch):
    """Fitted legs keep the height of `with_drive`: for tests of other things than alignment, which takes seconds."""
    monkeypatch.setattr("jaxgait.models.prosthesis.fitting.aligned", lambda leg: leg)
