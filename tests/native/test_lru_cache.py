"""Caches in memory: they keep what was used last, and forget the rest."""

import gc

import jax.numpy as jnp
import pytest

from jaxgait.native import code_facts, kept, stored
from jaxgait.native.lru_cache import LRUCache


def test_what_was_not_used_for_longest_is_made_again():
    made, cache = [], LRUCache(2)
    for key in (1, 2, 1, 3, 1, 2):
        assert cache.get(lambda key=key: key, lambda key=key: made.append(key) or 10 * key) == 10 * key
    assert made == [1, 2, 3, 2] and len(cache) == 2


def test_a_value_has_the_key_of_after_it_was_made():
    settings, cache = {"version": 1}, LRUCache(2)
    assert cache.get(lambda: settings["version"], lambda: settings.update(version=2) or "new") == "new"
    assert cache.get(lambda: 2, lambda: "another") == "new"


def test_a_function_keeps_its_last_programs(monkeypatch):
    monkeypatch.setattr(stored, "_KEPT", 2)
    traced = []
    double = kept(lambda x: traced.append(x.shape) or 2.0 * x)
    programs = next(cell.cell_contents for cell in double.__closure__ if isinstance(cell.cell_contents, stored._Kept))
    for n in (1, 2, 2, 3, 3):
        assert double(jnp.ones(n)).shape == (n,)
    assert traced == [(1,), (2,), (3,)] and len(programs._programs) == 2


@pytest.mark.usefixtures("only_new_garbage")
def test_facts_about_code_are_forgotten_with_the_code():
    space = {}
    exec("def once(x):\n  return x.first + y.second", space)
    code = space.pop("once").__code__
    address = id(code)
    assert code_facts.facts(code) is code_facts.facts(code) and address in code_facts._known_facts
    del code
    gc.collect()
    assert address not in code_facts._known_facts
