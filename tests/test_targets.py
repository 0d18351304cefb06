"""The table of promised figures: which of a benchmark's targets are shown."""

import pytest

from experiments.benchmarks import targets
from experiments.benchmarks.rows import Target


@pytest.fixture
def found(monkeypatch):
    listed = [
        Target("fast: ours over theirs", 1.3, 1.5, True, promised=True),
        Target("slow: ours", 0.5, 1.0, promised=True),
        Target("other", 1.0, 1.0),
    ]
    monkeypatch.setattr(targets, "PARTS", {"one": targets.Part(lambda quick: ([], listed), 2)})
    return listed


def test_what_was_promised_is_shown(found):
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


def test_a_part_that_misses_a_promised_figure_raises(found):
    del found[1]
    with pytest.raises(LookupError, match="one measured 1 of 2 promised figures"):
        targets.measured("one", False)
