"""Names that code uses: read from its bytes as `dis` reads them."""

import argparse
import dis
import inspect
import types

import pytest

from jaxgait.native import code_facts, identity, stored
from jaxgait.support.code_objects import codes


def _by_dis(code):
    path = []
    for step in dis.get_instructions(code):
        if step.opname == "EXTENDED_ARG":  # (only the beginning of the next instruction)
            continue
        if path and step.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            path.append(step.argval)
            continue
        if path:
            yield tuple(path)
        path = [step.argval] if step.opname in ("LOAD_GLOBAL", "LOAD_NAME") else []


@pytest.mark.parametrize("module", [argparse, dis, code_facts, identity, inspect, stored], ids=lambda m: m.__name__)
def test_names_are_those_of_dis(module):
    """Whole modules, as long as they are: their code is that of all functions and classes in them."""
    code = compile(inspect.getsource(module), module.__name__, "exec")
    found = code_facts.facts(code)
    nested = list(codes(code))
    assert found.paths == tuple(sorted({path for one in nested for path in _by_dis(one)}))
    assert len(found.paths) > 10 and any(len(path) > 1 for path in found.paths)
    assert {name for name, _, _ in found.imports} >= {"types", "collections.abc"} & {*vars(module)}


def test_names_beyond_the_first_256_keep_their_attributes():
    many = "\n".join(f"  a{i}.b{i}(a{i}.c.d)" for i in range(300))
    space = {}
    exec(f"def f():\n{many}\n  from os import path, sep\n  import json", space)
    found = code_facts.facts(space["f"].__code__)
    assert isinstance(space["f"], types.FunctionType)
    assert set(found.paths) == {(f"a{i}", *rest) for i in range(300) for rest in ((f"b{i}",), ("c", "d"))}
    assert found.imports == (("os", 0, "path"), ("os", 0, "sep"), ("json", 0, "")) and not found.elsewhere
