"""Random numbers and the clock in a user's code: a warning that names function, line and call."""

import datetime
import functools
import os
import random
import secrets
import sys
import time
import uuid
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from jaxgait import Bungee, Measure, ensemble
from jaxgait.native import compiled
from jaxgait.native.identity import identity

X = jnp.linspace(0.1, 2.0, 4)
RNG, PYTHONS, SEEDED = np.random.default_rng(0), random.Random(1), np.random.RandomState(2)
TABLE = pd.DataFrame({"stiffness": [1.0, 2.0], "who": ["anna", "ben"]})

NAMES_EARLIER_TRACES = jax.__version_info__ >= (0, 10)
"""Whether the lowered program shows that it reads a value of an earlier trace; in JAX 0.8, calling it raises."""


def helper():
    return random.random()


class Own:
    def __init__(self):
        self.noise = np.random.default_rng(3)

    def __call__(self, x):
        return x * self.noise.random()


def of_a_closure(rng):
    return lambda x: x * rng.normal()


READS = {
    "random.random()": lambda x: x * random.random(),
    "helper (test_randomness.py": lambda x: x * helper(),
    "random.gauss()": lambda x: x * random.gauss(0, 1),
    "random.uniform()": lambda x: x * PYTHONS.uniform(0, 1),
    "np.random.normal": lambda x: x * np.random.normal(),  # noqa: NPY002
    "RNG.random": lambda x: x * RNG.random(),
    "SEEDED.rand": lambda x: x * SEEDED.rand(),
    "draws from rng": of_a_closure(np.random.default_rng(4)),
    "a NumPy Generator": Own(),
    "default_rng() without a seed": lambda x: x * np.random.default_rng().random(),
    "time.time()": lambda x: x * time.time(),
    "time.perf_counter_ns()": lambda x: x * time.perf_counter_ns(),
    "datetime.now()": lambda x: x * datetime.datetime.now().second,
    "date.today()": lambda x: x * datetime.date.today().day,
    "os.urandom()": lambda x: x * len(os.urandom(3)),
    "secrets.randbits()": lambda x: x * secrets.randbits(3),
    "uuid.uuid4()": lambda x: x * (uuid.uuid4().int % 3),
}
HARMLESS = {
    "not called": lambda x: x * (2.0 if len(x) == 4 else helper()),
    "with a seed": lambda x: x * np.random.default_rng(0).normal() * random.Random(3).random(),
    "no reading": lambda x: x * datetime.timedelta(seconds=3).seconds,
    "a path": lambda x: x * len(os.path.basename("a/b")),
    "a table": lambda x: x * TABLE["stiffness"].iloc[1],
}


def heard(function):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compiled(function, X)
    return [str(one.message) for one in caught if "same number" in str(one.message)]


@pytest.mark.parametrize("name", READS)
def test_what_a_function_reads_once_is_named(name):
    (message,) = heard(READS[name])
    assert name in message and len(message) < 300


@pytest.mark.parametrize("name", HARMLESS)
def test_there_are_no_false_alarms(name):
    assert not heard(HARMLESS[name])


@pytest.mark.slow
def test_a_measure_of_a_scan_is_told_with_its_line():
    own = Measure("own", lambda run: run["x"].max() * random.random(), "m", "own")
    line = sys._getframe().f_lineno - 1
    with pytest.warns(UserWarning, match=rf"\(test_randomness.py, line {line}\) calls random.random\(\), once"):
        ensemble(Bungee(), {"mass": [60.0, 70.0]}, duration=2.0, observe=[own], progress=False)


def test_a_value_kept_for_the_next_call_is_noticed():
    total = [0.0]

    def integral(x):
        total[0] = total[0] + x
        return 2.0 * total[0]

    line = integral.__code__.co_firstlineno + 1
    told = rf"integral \(test_randomness.py, line {line}\) keeps a value beyond its call"
    with pytest.warns(UserWarning, match=told):
        compiled(integral, X)
    if NAMES_EARLIER_TRACES:
        with pytest.raises(TypeError, match=told):  # the program would read what an earlier trace left
            compiled(integral, X)


@pytest.mark.skipif(not NAMES_EARLIER_TRACES, reason="JAX counts the arguments only when the program is called")
def test_a_cache_of_traced_values_is_an_error():
    table = functools.lru_cache(lambda: jnp.linspace(0.0, 1.0, 4))
    compiled(lambda x: x * table(), X)
    with pytest.raises(TypeError, match=r"a function with a cache, as by functools.cache, must compute with NumPy"):
        compiled(lambda x: 2.0 * x * table(), X)


def test_a_profiler_of_the_user_keeps_running():
    calls = []
    sys.setprofile(lambda *event: calls.append(event))
    try:
        mine = sys.getprofile()
        assert not heard(READS["random.random()"])  # heard by it only
        assert sys.getprofile() is mine
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("name", [*READS, "a table"])
def test_no_such_function_is_known_to_later_processes(name):
    assert identity((READS | HARMLESS)[name]) is None


def test_a_changed_table_makes_another_program():
    table = pd.DataFrame({"stiffness": [1.0, 2.0]})
    of_table = lambda x: x * table["stiffness"].iloc[1]
    before = identity(of_table, own=True)
    assert before == identity(of_table, own=True)
    table.loc[1, "stiffness"] = 9.0
    assert before != identity(of_table, own=True)
