"""Every bad input is named in one line, before anything is computed; the docs quote what is said."""

import json
import os
import re
import subprocess
import sys

import pytest

from tests.bad_inputs import table
from tests.bad_inputs.cases import CALLS, COMMANDS


@pytest.fixture(scope="session")
def found():
    """What is said in all cases, in one plain process: no run-time type checks, JAX's own settings."""
    environment = os.environ | {"PYTHONPATH": f"{table.ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, str(table.__file__)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    areas = json.loads(done.stdout.splitlines()[-1])
    return {area: [(text, table.Said(*said)) for text, said in rows] for area, rows in areas.items()}


def test_every_bad_input_is_named_in_one_short_line(found):
    wrong = []
    for area, cases in (CALLS | COMMANDS).items():
        assert [text for text, *_ in cases] == [text for text, _ in found[area]]
        for (text, kind, fragment), (_, said) in zip(cases, found[area], strict=True):
            short = "\n" not in said.message and len(said.message) < 300
            if said.kind != kind or fragment not in said.message or not short:
                wrong.append(f"{text}: expected {kind}: {fragment!r}, got {said.kind}: {said.message!r}")
    assert not wrong, "\n".join(wrong)


def test_strides_and_walks_are_named_too(found):
    for area in ("measured strides", "walks and gaits"):
        assert len(found[area]) > 30
        for text, said in found[area]:
            assert said.kind != "nothing" and "\n" not in said.message, text


def test_the_page_of_the_docs_quotes_what_is_said(found):
    """Its tables of messages, where `...` stands for what varies."""
    page = (table.ROOT / "docs" / "bad_inputs.md").read_text().partition("\n## ")[2]
    quoted = re.findall(r"^\| `(.+?)` \|", page, re.MULTILINE)
    messages = [said.message for rows in found.values() for _, said in rows]
    patterns = {quote: re.compile(".*".join(map(re.escape, quote.split("...")))) for quote in quoted}
    unsaid = [quote for quote, pattern in patterns.items() if not any(map(pattern.search, messages))]
    assert len(quoted) > 50 and not unsaid, unsaid
