"""What the experiments select, they select by rules that know nothing of what is expected, which is written once."""

import pathlib
import tokenize

import pytest

from experiments.knee_gaits import branches, pictures
from tests.analysis.branches_by_hand import K, crossing, followed


def test_the_critical_line_passes_through_its_circles():
    members = range(len(branches.RATIOS))
    one = followed(lambda k: -2.0 + (k - K[0]) / 9e3, members)  # -1 by interpolation at 21 kN/m
    k, smallest = pictures._between(one, [crossing(2.04e4)])
    assert smallest[k == 2.04e4, 0] == -1.0 and smallest[k == 2.1e4, 1] == pytest.approx(-1.0)


ROOT = pathlib.Path(__file__).parents[1]


def long_numbers(path: pathlib.Path) -> dict[str, int]:
    """Numbers of five or more digits in a file's code, with their first line."""
    with path.open("rb") as file:
        tokens = [t for t in tokenize.tokenize(file.readline) if t.type == tokenize.NUMBER]
    written = {t.string.lower(): t.start[0] for t in reversed(tokens)}
    return {n: line for n, line in written.items() if len(n.split("e")[0].replace(".", "").strip("0")) >= 5}


@pytest.mark.parametrize("table", sorted(ROOT.glob("experiments/*/expected.py")), ids=lambda p: p.parent.name)
def test_expected_values_are_written_once(table):
    """What a specification or a paper states stands in `expected.py`; reproductions and tests read it there."""
    paper, known = table.parent.name, long_numbers(table)
    readers = [*table.parent.glob("*.py"), *ROOT.glob("tests/papers/*.py"), *ROOT.glob(f"tests/models/{paper}/*.py")]
    again = [
        f"{number} ({path.relative_to(ROOT)}:{line}, {table.relative_to(ROOT)}:{known[number]})"
        for path in readers
        if path != table
        for number, line in long_numbers(path).items()
        if number in known
    ]
    assert not again, f"typed twice, import it from the table: {', '.join(again)}"
