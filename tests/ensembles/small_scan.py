"""A scan of many quick blocks, run by child processes that the tests kill."""

import pathlib
import pickle

import numpy as np

from jaxgait.ensembles import ensemble
from jaxgait.ensembles.store import open_store
from jaxgait.models.bungee.model import Bungee

MEMBERS = {"mass": np.linspace(40.0, 100.0, 6), "stiffness": np.linspace(15.0, 40.0, 7)}


def lowest(run):
    return {"lowest": run["x"].max()}


def small_scan(store, **changes):
    request = {"duration": 2.0, "samples": 10, "rtol": 1e-4, "observe": lowest, "retry": False, "batch": 1, **changes}
    model = request.pop("model", Bungee())
    return ensemble(model, request.pop("members", MEMBERS), store=store, **request)


def small_scan_from_cache(store, cache):
    """The same in a fresh process, which finds its program compiled."""
    import jax

    jax.config.update("jax_compilation_cache_dir", cache)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    small_scan(store)


def write_from_table(store, table):
    """The scan again, but for the integration: blocks come from a pickled (plan, results by block)."""
    plan, results = pickle.loads(pathlib.Path(table).read_bytes())
    with open_store(store, plan) as opened:
        for block in opened.missing:
            opened.write(block, results[block])


def blocks_done(store):
    """Number of finished blocks of a store, each a line of its manifest."""
    manifest = store / ".jaxgait" / "manifest.jsonl"
    return len(manifest.read_text().splitlines()) if manifest.exists() else 0
