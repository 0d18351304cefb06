"""Gait measures on curves with known answers."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxgait.analysis import gait

PHASE = jnp.arange(0, 20, 0.01)


def test_correlation_of_known_shapes():
    t = jnp.linspace(0.0, 1.0, 1001)
    x = jnp.sin(2 * jnp.pi * t)
    np.testing.assert_allclose(gait.correlation(x, 3 * x + 2), 1.0, rtol=1e-12)
    np.testing.assert_allclose(gait.correlation(x, -x), -1.0, rtol=1e-12)
    np.testing.assert_allclose(gait.correlation(x, jnp.sin(2 * jnp.pi * t + 0.7)), np.cos(0.7), rtol=1e-12)


def test_correlation_weights_are_trapezoidal():
    x, y = jnp.array([0.0, 1.0, 4.0]), jnp.array([1.0, 0.0, 2.0])
    w = np.array([0.25, 0.5, 0.25])
    cov = np.sum(w * x * y) - np.sum(w * x) * np.sum(w * y)
    var = lambda z: np.sum(w * z**2) - np.sum(w * z) ** 2
    np.testing.assert_allclose(gait.correlation(x, y), cov / np.sqrt(var(x) * var(y)))


def test_correlation_of_whole_numbers():
    whole = jnp.array([0, 10, 40, 5]), jnp.array([1, 9, 30, 7])
    assert float(gait.correlation(*whole)) == pytest.approx(0.99794, abs=1e-6)
    np.testing.assert_array_equal(gait.correlation(*whole), gait.correlation(*(x.astype(float) for x in whole)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_constant_curve_correlates_with_nothing(dtype):
    wave = jnp.asarray(np.sin(np.linspace(0.0, 6.0, 101)), dtype)
    for value in (0.0, 0.1, 1.0 / 3.0, -1e5):
        for other in (wave, jnp.full(101, 0.3, dtype)):
            assert np.isnan(gait.correlation(jnp.full(101, value, dtype), other))
            assert np.isnan(gait.correlation(other, jnp.full(101, value, dtype)))
    shallow = dtype(1.0) + dtype(1e3 * np.finfo(dtype).eps) * wave
    assert float(gait.correlation(shallow, wave)) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_order_of_subharmonics(order):
    curve = jnp.sin(2 * jnp.pi * PHASE) + 0.1 * jnp.cos(2 * jnp.pi * PHASE / order)
    assert gait.subharmonic_order(gait.stride_table(curve, 100)[-9:]) == order


def test_irregular_and_nan_are_not_periodic():
    curve = jnp.sin(2 * jnp.pi * PHASE) + 0.1 * jnp.cos(PHASE)
    assert gait.subharmonic_order(gait.stride_table(curve, 100)[-9:]) == 0
    assert gait.subharmonic_order(gait.stride_table(curve * jnp.nan, 100)[-9:]) == gait.UNKNOWN


def test_small_differences_do_not_count():
    table = jnp.ones((9, 10)).at[::2].add(0.9 * gait.PERIODICITY_TOLERANCE)
    assert gait.subharmonic_order(table) == 1
    assert gait.subharmonic_order(2 * table) == 2


def test_amplitudes():
    curve = 0.3 + 2 * jnp.cos(2 * jnp.pi * PHASE + 1.0) + 0.5 * jnp.sin(jnp.pi * PHASE)
    frequency, amplitude = gait.spectrum(curve, 20)
    np.testing.assert_allclose(frequency[jnp.array([0, 10, 20, 40])], [0.0, 0.5, 1.0, 2.0])
    np.testing.assert_allclose(amplitude[jnp.array([0, 10, 20, 40])], [0.3, 0.5, 2.0, 0.0], atol=1e-12)


@pytest.mark.parametrize("samples", [10, 11])
def test_the_highest_amplitude(samples):
    highest = samples // 2
    curve = 3.0 * jnp.cos(2.0 * jnp.pi * highest * jnp.arange(samples, dtype=float) / samples)
    np.testing.assert_allclose(gait.spectrum(curve, 1)[1][highest], 3.0)


@pytest.mark.parametrize(
    ("order", "critical", "windows"),
    [
        ([2, 2, 1, 1, 1], 3.0, []),
        ([2, 0, 1, 1, 2], 3.0, [(5.0, 5.0)]),
        ([2, 1, 1, 2, 2], 2.0, [(4.0, 5.0)]),
        ([2, 1, 2, 1, 1], 4.0, [(1.0, 1.0)]),  # an island of period one at 2 is not the end of the subharmonics
        ([1, 1, 1, 1, 1], np.nan, []),
        ([1, 1, 1, 2, 0], np.nan, [(4.0, 5.0)]),
        ([2, 0, 3, 2, 4], np.nan, [(1.0, 5.0)]),
        ([np.nan, np.nan, 1, 1, 1], np.nan, []),  # the end of folding is not the end of subharmonics
        ([2, np.nan, 2, 1, 1], 4.0, [(1.0, 1.0)]),
        ([2, 1, np.nan, 1, 1], np.nan, [(1.0, 1.0)]),
        ([2, 2, 1, -1, 1], 3.0, []),  # -1: a failed member of an ensemble
        ([-1, -1, 1, 1, 1], np.nan, []),
    ],
)
def test_subharmonic_limit(order, critical, windows):
    value, again = gait.subharmonic_limit(np.arange(1.0, 6.0), np.array(order))
    np.testing.assert_equal(value, critical)
    assert again == windows


@pytest.mark.parametrize(
    ("values", "orders", "message"),
    [
        ([5.0, 4.0, 3.0, 2.0, 1.0], [1, 1, 1, 2, 2], "must be finite and increase, got .*5"),
        ([1.0, 3.0, 2.0, 4.0, 5.0], [2, 1, 2, 1, 1], "must be finite and increase"),
        ([1.0, 2.0, np.nan, 4.0, 5.0], [2, 2, 1, 1, 1], "must be finite and increase"),
        ([1.0, 2.0, 3.0, 4.0, 5.0], [2, 2, 1], r"one order per value, got the shapes \(3,\) and \(5,\)"),
    ],
)
def test_no_subharmonic_limit_of_bad_input(values, orders, message):
    with pytest.raises(ValueError, match=message):
        gait.subharmonic_limit(np.array(values), np.array(orders))


@pytest.mark.slow
def test_curves_and_tables_may_be_lists():
    assert float(gait.maximum([1, 2, 4])) == 4.0 and float(gait.minimum([1, 2, 4])) == 1.0
    assert float(gait.correlation([1, 2, 4], [2, 4, 8])) == pytest.approx(1.0)
    assert int(gait.subharmonic_order([[0.0, 1.0]] * 9)) == 1
    assert gait.stride_table([1, 2, 3], 2).tolist() == [[1.0, 2.0]]
    assert gait.spectrum([1, 0, -1, 0], 1)[1].tolist() == [0.0, 1.0, 0.0]
    assert gait.refined([1, 2], [1, 1], 2).tolist() == [1.0, 1.5]


def test_less_than_a_stride_raises():
    with pytest.raises(ValueError, match="less than one stride"):
        gait.stride_table(jnp.ones(5), 10)


def test_too_few_strides_for_a_subharmonic():
    with pytest.raises(ValueError, match="strides, got 2"):
        gait.subharmonic_order(jnp.zeros((2, 100)))
