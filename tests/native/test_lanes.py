"""How members share lanes: computed by hand, and as programs report it, even from disk."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.native import looped
from jaxgait.native.refilling import TOGETHER, WARP_THREADS, Lanes, lanes_of
from jaxgait.native.stored import program_of
from tests.native.programs import root
from tests.native.test_looping import history


@pytest.mark.parametrize(
    ("lanes", "rounds", "iterations"),
    [
        (TOGETHER, [3, 1, 8], 24),
        (Lanes(2, False), [3, 1, 8, 2], 6 + 16),
        (Lanes(2, False), [3, 1, 8], 6 + 16),
        (Lanes(2, True), [3, 1, 8], 2 * 9),
        (Lanes(2, True), [5, 1, 1, 1, 1, 1], 2 * 5),
        (Lanes(8, True), [4, 2], 2 * 4),
        (Lanes(4, True), [], 0),
        (TOGETHER, [], 0),
    ],
)
def test_iterations_of_lanes_are_counted_by_hand(lanes, rounds, iterations):
    assert lanes.lane_iterations(rounds) == iterations


def test_many_even_members_leave_no_lane_idle():
    assert Lanes(8, True).lane_iterations([7] * 64) == Lanes(8, False).lane_iterations([7] * 64) == 7 * 64


@pytest.mark.slow
def test_programs_report_their_lanes_even_from_disk(short_loops, cache):
    together, kernels = jax.vmap(root), jax.vmap(looped(history))
    expected = {together: [TOGETHER] * 2, kernels: [Lanes(4, False), Lanes(8, True)]}
    for function, lanes in expected.items():
        for members, shared in zip((4, 20), lanes, strict=True):
            x = jnp.linspace(0.3, 1.2, members)
            first, again = program_of(function, x), program_of(function, x)
            np.testing.assert_array_equal(first.compile()(x)[0], again.compile()(x)[0])
            assert first.lanes == again.lanes == program_of(function, x).lanes == shared
    assert lanes_of('custom_call @__gpu$xla.gpu.ptx(%0) {name = "jaxgait_0123"}') == Lanes(WARP_THREADS, False)
