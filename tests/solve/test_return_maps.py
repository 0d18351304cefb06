"""States at the points of return maps, from which runs start."""

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

from jaxgait import simulate
from jaxgait.kinds import Transition
from jaxgait.models.walker.measures import rolling_gait
from jaxgait.models.walker.rigid import RollingWalker
from jaxgait.parameters import ParameterError, with_parameters
from jaxgait.solve.periodic import Coordinates, PoincareMap, StroboscopicMap, fixed_point
from tests.oscillator import Oscillator


@pytest.mark.slow
def test_a_run_that_starts_in_a_gait_repeats_from_the_first_step():
    walker, strikes = RollingWalker(slope=0.03), PoincareMap()
    gait = rolling_gait(walker, return_map=strikes)
    run = simulate(walker, duration=2.0, samples=4, initial_state=strikes.start(walker, gait.point.z))
    np.testing.assert_allclose(np.diff(run.event_time, prepend=0.0), gait.period, atol=1e-7)
    with pytest.raises(ValueError, match=r"or return_map.start\(model, z\) of the point z of a gait, got Array"):
        simulate(walker, duration=2.0, initial_state=gait.point.z)


@pytest.mark.slow
def test_a_driven_run_starts_in_its_gait_too():
    model, stride = Oscillator(), StroboscopicMap()
    found = fixed_point(stride, model, jnp.zeros(2))
    run = simulate(model, strides=1, samples=4, initial_state=stride.start(model, found.z), rtol=1e-9, atol=1e-11)
    last = [float(run[name][-1]) for name in model.initial_state()._fields]
    np.testing.assert_allclose(last, found.z, atol=1e-7)


def test_a_plain_call_compiles_once_and_checks_what_it_is_given():
    """Each took as long as the first one, a minute for a knee, since it compiled its program again."""
    traced = []

    class Damped(Oscillator):
        def vector_field(self, t, y):
            traced.append(1)
            return super().vector_field(t, y)

    stride, z = StroboscopicMap(), jnp.array([0.1, 0.0])
    first, compiled = stride(Damped(), z), len(traced)
    others = [stride(with_parameters(Damped(), {"damping": c}), z) for c in (0.1, 0.2)]
    assert compiled == len(traced) and not np.allclose(*others)
    np.testing.assert_allclose(first, jax.jit(lambda z: stride(Damped(), z))(z), atol=1e-4)
    with pytest.raises(ValueError, match="must be finite, got Array"):
        stride(Damped(), jnp.array([np.nan, 0.0]))
    with pytest.raises(ParameterError, match=r"Damped.damping \(.*\) must be one number in .*, got array"):
        stride(Damped(damping=np.array([0.1, 0.2])), z)


def test_the_longest_time_may_be_computed_from_a_period(monkeypatch):
    """A map is part of what its compiled programs are found by, where a JAX array was an error."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # (the types of arguments are checked in tests)
    longest = PoincareMap(max_time=3.0 * jnp.array(0.4)).max_time
    assert isinstance(longest, float) and longest == pytest.approx(1.2)


def test_points_from_which_no_run_can_start_are_named():
    walker = RollingWalker()
    with pytest.raises(ValueError, match=r"z must be finite, got .*nan.*: no gait was found"):
        PoincareMap().start(walker, jnp.array([0.2, jnp.nan, 0.3]))
    with pytest.raises(ValueError, match=r"a point has 2 numbers, those of the state, got the shape \(3,\)"):
        StroboscopicMap().start(Oscillator(), jnp.zeros(3))

    class Resting(RollingWalker):
        def phases(self):
            return (self.roll, self.roll)

        def transitions(self):
            return super().transitions() | {"rests": Transition(0, 1, lambda t, y: y.x)}

    point = Coordinates(lambda model, z: model.initial_state(), lambda model, y: jnp.stack([y.x]))
    with pytest.raises(ValueError, match="the section lies in phase 1, and runs start in phase 0"):
        PoincareMap(section="rests", coordinates=point).start(Resting(), jnp.zeros(1))
