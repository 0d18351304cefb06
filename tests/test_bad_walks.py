"""Bad input to walks, hybrid runs, gaits and models is named in one line, also in a plain interpreter."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import jaxgait
from tests.bad_walks import CASES

ROOT = pathlib.Path(jaxgait.__file__).parents[1]


@pytest.fixture(scope="module")
def raised():
    """What the calls raise under JAX's own settings and without run-time type checks, in one process."""
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, str(ROOT / "tests" / "bad_walks.py")]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("index", range(len(CASES)), ids=lambda i: CASES[i][0])
def test_bad_input_is_named(raised, index):
    _, kind, message = CASES[index]
    got, text = raised[index]
    assert got == kind and message in text and "\n" not in text
