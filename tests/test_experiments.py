"""What the experiments select, they select by rules that know nothing of what is expected, which is written once."""

import pathlib
import tokenize

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

from experiments.knee import pictures as over_k
from experiments.knee import runs
from experiments.knee_gaits import branches, pictures
from tests.analysis.branches_by_hand import K, crossing, followed


def test_the_critical_line_passes_through_its_circles():
    members = range(len(branches.RATIOS))
    one = followed(lambda k: -2.0 + (k - K[0]) / 9e3, members)  # -1 by interpolation at 21 kN/m
    k, smallest = pictures._between(one, [crossing(2.04e4)])
    assert smallest[k == 2.04e4, 0] == -1.0 and smallest[k == 2.1e4, 1] == pytest.approx(-1.0)


def test_first_fall_is_where_a_curve_first_comes_down_through_a_level():
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert runs.first_fall(x, np.array([3.0, 1.0, 4.0, 2.0, 0.0]), 2.0) == 1.5
    assert np.isnan(runs.first_fall(x, np.array([3.0, 4.0, 4.0, np.nan, 0.0]), 2.0))  # it folds in between


def test_lines_over_k_are_not_cut():
    k, ratio = np.linspace(1e4, 4e4, 4), np.array([0.05])
    column = lambda values: (("k", "ratio"), np.array(values)[:, None])
    rho, peak = [0.6, 0.99, 0.98, 0.7], [66.0, 65.0, 63.0, 50.0]
    data = {"rho": column(rho), "status": column([0, 0, 0, 0])}
    data |= {f"peak_flexion{end}": column(peak) for end in ("", "_min", "_max")}
    figure = over_k.scan_lines(xr.Dataset(data, {"k": k, "ratio": ratio}), [0.05], {0.05: 2e4}, 64.0)
    for axis, values in zip(figure.axes, (peak, rho), strict=True):
        low, high = axis.get_ylim()
        assert low < min(values) and max(values) < high
    plt.close(figure)


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
