import numpy as np
import pytest

from experiments.benchmarks import cpp, walker
from experiments.benchmarks.rows import Target, table
from jaxgait.solve.explicit import RK4


@pytest.mark.skipif(cpp.compiler() is None, reason="no g++")
@pytest.mark.parametrize("kind", [pytest.param("scalar", marks=pytest.mark.slow), "simd"])
def test_hand_written_walker_agrees(kind):
    """The benchmark's C++ program is an independent second opinion on the walker's equations: 2 ms of walking."""
    theirs = walker.hand_written(kind, 200, 3, 1).result
    ours = walker.fixed(lambda t, y, m: m.vector_field(t, y), RK4(), False, 200, 3, 1).result
    np.testing.assert_allclose(theirs, np.asarray(ours), rtol=1e-9, atol=1e-11)


def test_targets_say_whether_they_are_met():
    targets = [Target("a", 3.0, 2.0), Target("b", 3.0, 2.0, at_most=True), Target("c", 3.0, None, note="no g++")]
    assert [t.met for t in targets] == [False, True, None]
    text = table([], targets)
    assert "NO" in text and "not measured  no g++" in text
