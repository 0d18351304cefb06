"""The table of promised figures: which of a benchmark's targets are shown, and by which bounds."""

import pytest

from experiments.benchmarks import targets
from experiments.benchmarks.rows import Target
from experiments.benchmarks.targets import Figure, Part


@pytest.fixture
def parts(monkeypatch):
    found = [
        Target("fast: ours over theirs", 9.0, 1.5, True),
        Target("slow: ours", 3.0, 1.0),
        Target("other", 1.0, 1.0),
    ]
    figures = (Figure("ours over theirs", 1.3), Figure("slow", 0.5, at_most=False))
    monkeypatch.setattr(targets, "PARTS", {"one": Part(lambda quick: ([], found), figures)})
    return found


def test_promises_have_their_own_bounds(parts):
    full, quick = (targets.measured("one", quick) for quick in (False, True))
    assert [(t.what, t.target, t.met) for t in full] == [
        ("fast: ours over theirs", 1.3, False),
        ("slow: ours", 0.5, True),
    ]
    assert [t.met for t in quick] == [None, None]
    assert targets.markdown(full).splitlines()[2:] == [
        "| fast: ours over theirs | <= 1.3 | 1.5 | NO |  |",
        "| slow: ours | >= 0.5 | 1 | yes |  |",
    ]


def test_a_promise_that_nothing_measures_raises(parts):
    parts.pop(1)
    with pytest.raises(LookupError, match="one has no target named with 'slow'"):
        targets.measured("one", False)
