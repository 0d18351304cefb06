"""Warnings that are left out: in one thread, without a change of what the others are told."""

import contextlib
import io
import pathlib
import re
import threading
import warnings

import pytest

import jaxgait
from jaxgait.plausible import ImplausibleValue
from jaxgait.support import notes
from jaxgait.support.notes import warn_user, without_warnings


def test_warnings_are_left_out_in_one_thread_alone():
    filters = list(warnings.filters)
    other = threading.Thread(target=warn_user, args=("in grams?", ImplausibleValue))
    with pytest.warns() as caught, without_warnings(ImplausibleValue):
        with without_warnings(FutureWarning):
            assert warnings.filters[1:] == filters  # (pytest adds one)
            warn_user("in grams?", ImplausibleValue)
        warn_user("slow")
        other.start()
        other.join()
    assert [(one.category, str(one.message)) for one in caught] == [
        (UserWarning, "slow"),
        (ImplausibleValue, "in grams?"),
    ]
    with pytest.warns(ImplausibleValue):
        warn_user(ImplausibleValue("in grams?"))


def test_nothing_else_changes_the_filters_of_all_threads():
    """Where two threads do so at a time, they may stay changed: after two scans, Python was silent for good."""
    package = pathlib.Path(jaxgait.__file__).parent
    alone = {"support/notes.py", "optimization/methods.py", "cli/motion.py", "cli/program.py"}
    alone.add("reproduction.py")  # parts run in processes of their own
    files = {path.relative_to(package).as_posix(): path.read_text() for path in package.rglob("*.py")}
    changing = re.compile("^ +(with|filters =) .*catch_warnings", re.MULTILINE)
    assert {name for name, text in files.items() if changing.search(text)} == alone


class Cell(io.StringIO):
    """Stderr of a notebook's kernel, which is no terminal."""

    __module__ = "ipykernel.iostream"


@pytest.mark.parametrize(("stderr", "shown"), [(io.StringIO, False), (Cell, True)])
def test_whoever_waits_at_a_notebook_is_told_what_goes_on(stderr, shown, monkeypatch):
    monkeypatch.setattr(notes, "PATIENCE", 0.0)
    with contextlib.redirect_stderr(stderr()) as err:
        notes.note("compiling")
        with notes.waiting("walks", "walk", None, total=2) as bar:
            bar.update(2)
    text = err.getvalue()
    assert ("jaxgait: compiling" in text) == ("walks: 100%" in text) == shown == bool(text)
