"""Which scheme moves a model, what it takes, and what derivatives go through."""

import jax
import pytest

from jaxgait import simulate
from jaxgait.models import Bungee
from jaxgait.parameters import with_parameters
from jaxgait.run import Sampling
from jaxgait.solve.schemes import scheme_for, schemes
from jaxgait.solve.smooth import Smooth


def test_a_smooth_model_moves_smoothly():
    assert schemes(Bungee()) == [Smooth]
    assert scheme_for(Bungee(), "Smooth", rtol=1e-7) == scheme_for(Bungee(), Smooth.of(Bungee()), rtol=1e-7)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"scheme": "smooth"}, ValueError, "no scheme 'smooth': did you mean 'Smooth'?"),
        ({"dt": 1e-4}, ValueError, "Bungee is integrated by Smooth, with .*: there is no option 'dt'"),
    ],
    ids=str,
)
def test_what_does_not_suit_says_what_would(options, error, message):
    with pytest.raises(error, match=message):
        simulate(Bungee(), **options)


def _fall(mode):
    model = Bungee()
    sampling, scheme = Sampling.of(model, None, 1.0, 2), Smooth.of(model, mode=mode)
    return lambda mass: scheme.run(with_parameters(model, {"mass": mass}), sampling).y_end.x


def test_grad_in_forward_mode_says_what_to_do():
    with pytest.raises(RuntimeError, match=r'use jax.jacfwd .* Smooth.of\(model, mode="reverse"\)'):
        jax.grad(_fall("forward"))(70.0)


def test_both_modes_give_the_same_derivative():
    forward, reverse = jax.jacfwd(_fall("forward"))(70.0), jax.grad(_fall("reverse"))(70.0)
    assert float(forward) == pytest.approx(float(reverse), rel=1e-9) and forward != 0.0
